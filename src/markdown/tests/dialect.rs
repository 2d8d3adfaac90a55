//! The examples of `docs/markdown.md`: each is read and written back as it stands.

use std::path::Path;

use super::super::{check_loadable, render};
use super::read;
use crate::markdown::Allowed;

#[test]
fn every_example_of_the_dialect_is_what_is_written_for_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/markdown.md");
    let text = std::fs::read_to_string(path).unwrap();
    let examples: Vec<&str> =
        text.split("```markdown\n").skip(1).map(|rest| rest.split("```\n").next().unwrap()).collect();
    assert!(examples.len() >= 6, "{}", examples.len());
    for example in examples {
        let blocks = read(example, &[]);
        assert_eq!(render(&blocks).text, *example);
        check_loadable(&blocks, &[], &Allowed::documented()).unwrap();
    }
}
