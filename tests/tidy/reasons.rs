//! No text that a user reads decides anything: in `engine` and `plan` none of the names that such texts have is compared.

use crate::none;
use crate::source::{Source, sources};
use crate::untested;

/// Names of variables, fields and methods that hold or make what a user reads.
const TEXTS: [&str; 9] =
    ["why", "reason", "said", "sentence", "message", "mend", "action", "summary", "to_string"];

/// What only turns a text into another view of it.
const VIEWS: [&str; 6] = [".as_deref()", ".as_str()", ".as_ref()", ".clone()", ")", "?"];

/// What compares.
const COMPARES: [&str; 8] =
    ["==", "!=", ".eq(", ".ne(", ".starts_with(", ".ends_with(", ".contains(", ".cmp("];

#[test]
fn no_text_that_a_user_reads_is_compared() {
    let core = |source: &&Source| {
        ["src/engine/", "src/plan/"].iter().any(|folder| source.path.starts_with(folder))
            && !source.path.contains("tests")
    };
    let complaints = sources().iter().filter(core).flat_map(|source| {
        let found = compared(untested(source)).into_iter();
        found.map(|line| format!("{}: a text that a user reads is compared: {line}", source.path))
    });
    none(complaints.collect());
}

/// The lines of code in which a text is compared.
fn compared(code: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, _) in code.match_indices(|c: char| is_word(c)) {
        let (before, from) = code.split_at(at);
        let word = from.split(|c: char| !is_word(c)).next().unwrap_or_default();
        if before.ends_with(is_word) || !TEXTS.contains(&word) {
            continue;
        }
        let after = from[word.len()..].trim_start_matches("()");
        if is_compared(before, after) {
            let begin = before.rfind('\n').map_or(0, |at| at + 1);
            found.push(code[begin..].lines().next().unwrap_or_default().trim());
        }
    }
    found
}

/// Whether what stands between `before` and `after` is one side of a comparison.
fn is_compared(before: &str, mut after: &str) -> bool {
    // `Some(&parked.why)` and `held.why` from their beginning.
    let start = before.trim_end_matches(|c: char| c.is_alphanumeric() || "_.&*(".contains(c)).trim_end();
    while let Some(rest) = VIEWS.iter().find_map(|view| after.trim_start().strip_prefix(view)) {
        after = rest;
    }
    let after = after.trim_start();
    start.ends_with("==")
        || start.ends_with("!=")
        || start.ends_with("match")
        || before.ends_with("match ")
        || COMPARES.iter().any(|sign| after.starts_with(sign))
}

#[test]
fn comparisons_of_texts_are_found_however_they_are_written() {
    for code in [
        "why == EMPTIED || other",
        "other || why.ends_with(UNCLOSED)",
        "held.filter(|held| Some(&held.why) != area.as_ref())",
        "if area == Some(&parked.why) {",
        "parked.why.as_deref() == Some(WENT_BACK)",
        "error.to_string().starts_with(REJECTED)",
        "match refusal.said.as_str() {",
    ] {
        assert_eq!(compared(code), [code]);
    }
    for code in ["let why = a == b;", "tell(why, a == b)", "why: parked.why.clone(),", "wherefore == why_not"]
    {
        assert!(compared(code).is_empty(), "{code}");
    }
}
