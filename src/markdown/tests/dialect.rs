//! The examples of `docs/markdown.md`: each is read and written back as it stands.

use std::path::Path;

use serde_json::json;

use super::super::{check_loadable, front_matter, render};
use super::{ids, norm, read};
use crate::markdown::{Allowed, parse};

/// The examples in boxes of this kind.
fn examples(kind: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/markdown.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        if ticks < 3 {
            continue;
        }
        let inside: Vec<&str> = lines.by_ref().take_while(|inside| *inside != &line[..ticks]).collect();
        if &line[ticks..] == kind {
            found.push(inside.join("\n") + "\n");
        }
    }
    found
}

#[test]
fn every_example_of_the_dialect_is_what_is_written_for_it() {
    let boxes = [("markdown", 6, Allowed::documented()), ("markdown-all", 2, Allowed::all())];
    for (kind, least, allowed) in boxes {
        let examples = examples(kind);
        assert!(examples.len() >= least, "{kind}: {}", examples.len());
        for example in examples {
            let blocks = parse(&example, &[], &allowed, &mut ids());
            assert_eq!(render(&blocks).text, example);
            check_loadable(&blocks, &[], &allowed).unwrap();
        }
    }
}

#[test]
fn what_may_not_be_created_stays_the_text_that_it_is() {
    for example in examples("markdown-text") {
        let blocks = read(&example, &[]);
        let lines: Vec<&str> =
            blocks.iter().map(|block| block["content"][0]["text"].as_str().unwrap()).collect();
        assert_eq!(lines.join("\n\n") + "\n", example);
        assert!(blocks.iter().all(|block| block["type"] == "paragraph"));
    }
}

#[test]
fn what_is_hidden_stays_in_the_file_and_is_not_sent() {
    let examples = examples("markdown-hidden");
    assert_eq!(examples.len(), 1);
    for example in examples {
        let (file, other) = example.split_once("\n----\n").unwrap();
        let blocks = read(&format!("{file}\n"), &[]);
        assert_eq!(render(&blocks).text, other);
        let mut new = blocks.clone();
        new[0]["content"][0]["text"] = json!("A paragraph with another word in question, as well.");
        let patched = super::super::patch(file, &blocks, &new);
        assert_eq!(patched, file.replace("a word", "another word"));
    }
}

#[test]
fn lines_that_mean_something_elsewhere_are_written_as_they_are() {
    let examples = examples("markdown-kept");
    assert_eq!(examples.len(), 2);
    for example in examples {
        assert_eq!(render(&read(&example, &[])).text, example);
    }
}

#[test]
fn spans_are_shown_as_the_example_has_them_and_stay_through_an_edit() {
    let examples = examples("markdown-spans");
    assert_eq!(examples.len(), 1);
    let base = super::tables::table("What 2026:2 / Rent:1x2 June 900 / July 910");
    assert_eq!(render(&base).text, examples[0]);
    let mut want = base.clone();
    want[0]["content"]["rows"][1]["cells"][2]["content"][0]["text"] = json!("950");
    assert_eq!(read(&examples[0].replace("900", "950"), &base), want);
    let typed = read(&examples[0].replace("|      | July", "| Heat | July"), &base);
    assert_eq!(super::tables::short(&typed), "What 2026:2 / Rent June 900 / Heat! July 910");
}

#[test]
fn both_halves_of_an_example_are_the_same_page() {
    for example in examples("markdown-same") {
        let (formatted, plain) = example.split_once("\n----\n").unwrap();
        let blocks = read(plain, &[]);
        assert_eq!(render(&blocks).text, plain);
        assert_eq!(read(formatted, &blocks), blocks);
        assert_eq!(norm(&read(formatted, &[])), norm(&blocks));
    }
}

#[test]
fn every_broken_front_matter_of_the_dialect_is_refused() {
    let examples = examples("yaml-refused");
    assert_eq!(examples.len(), 3);
    for example in examples {
        assert!(front_matter::split(&example).is_err(), "{example}");
    }
}
