//! The laws over generated pages. `ESPEJO_CASES` sets how many; the default keeps `cargo test` quick.

use proptest::prelude::*;

use super::super::certain::written_alone;
use super::super::lower::{lower, lower_one_by_one};
use super::super::patch::patch_alone;
use super::super::plain::{number, same_trees};
use super::super::{Allowed, patch, render};
use super::generate::page;
use super::{ids, norm, read};
use crate::markdown::parse;
use crate::model::tests::config;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_was_written_reads_back(blocks in page()) {
        let text = render(&blocks).text;
        let mut allowed = Allowed::documented();
        allowed.learn(&serde_json::json!([{"type": "quote", "props": {"textAlignment": "left"}}]).as_array().unwrap().clone());
        let back = parse(&text, &[], &allowed, &mut ids());
        let mut want = lower(&blocks).nodes;
        while want.last().is_some_and(|node| node.is_void()) {
            want.pop();
        }
        let mut have = lower(&back).nodes;
        number(&mut have);
        prop_assert!(same_trees(&want, &have), "{text}\n{want:#?}\n{have:#?}");
        let again = render(&back).text;
        prop_assert_eq!(again, text);
    }

    #[test]
    fn a_page_is_written_from_one_block_at_a_time(blocks in page()) {
        let text = render(&blocks).text;
        prop_assert_eq!(written_alone(&lower_one_by_one(blocks.into_iter())), Some(text));
    }

    #[test]
    fn with_base_nothing_changes(blocks in page()) {
        let text = render(&blocks).text;
        prop_assert_eq!(&read(&text, &blocks), &blocks);
        prop_assert_eq!(&read(&(text + "\n"), &blocks), &blocks);
    }

    #[test]
    fn a_patch_stands_for_the_new_blocks(old in page(), new in page()) {
        let text = render(&old).text;
        let patched = patch(&text, &old, &new);
        prop_assert_eq!(norm(&read(&patched, &new)), norm(&new));
        let alone = lower_one_by_one(new.iter().cloned());
        let patched = patch_alone(&text, &old, &alone).unwrap();
        prop_assert_eq!(norm(&read(&patched, &new)), norm(&new));
    }
}

#[test]
fn signs_without_end_are_no_blocks_without_end() {
    for sign in ["> ", "- ", "+ ", "1. ", "> - ", "* 7) "] {
        let text = format!("{}word\n\nafter\n", sign.repeat(20_000));
        let blocks = read(&text, &[]);
        let said = serde_json::to_string(&blocks).unwrap();
        assert!(said.matches("\"children\"").count() < 120, "{sign:?}: so many blocks slow everything down");
        assert!(said.contains("word\"") && said.contains("\"after\""), "{sign:?}");
        assert_eq!(read(&text, &blocks), blocks, "{sign:?}");
        let again = render(&blocks).text;
        assert_eq!(read(&again, &blocks), blocks, "{sign:?}");
        assert_eq!(norm(&read(&again, &[])), norm(&blocks), "{sign:?}");
    }
}
