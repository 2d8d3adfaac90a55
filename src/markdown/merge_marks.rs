//! The marks that a merge of git leaves in a text: both versions of a place, for a person to choose from.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::read::OPTIONS;

const OURS: &str = "<<<<<<< ";
const MIDDLE: &str = "=======";
const THEIRS: &str = ">>>>>>> ";

/// The places of a text that a merge left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeMarks {
    /// The line of the first mark, counted from 1.
    pub line: usize,
    /// The number of places.
    pub places: usize,
}

/// See [`super::merge_marks`].
pub(super) fn merge_marks(text: &str) -> Option<MergeMarks> {
    // Most texts have nothing of the kind, and are not parsed for it.
    if !text.contains(OURS) || !text.contains(THEIRS) {
        return None;
    }
    let (mut found, mut begun, mut is_halfway) = (None::<MergeMarks>, None, false);
    for (number, line) in lines_outside_fences(text) {
        if line.starts_with(OURS) {
            (begun, is_halfway) = (Some(number), false);
        } else if line == MIDDLE {
            is_halfway = begun.is_some();
        } else if line.starts_with(THEIRS) && is_halfway {
            let line = found.map(|marks| marks.line).or(begun).unwrap_or(number);
            found = Some(MergeMarks { line, places: found.map_or(0, |marks| marks.places) + 1 });
            (begun, is_halfway) = (None, false);
        }
    }
    found
}

/// See [`super::marks_of_page`].
pub(super) fn marks_of_page(rendered: &str) -> usize {
    // Marks that were sent became part of a paragraph or a heading, with backslashes where Markdown needs them.
    let has_mark = |line: &str| line.contains('<') && line.replace('\\', "").contains(OURS);
    lines_outside_fences(rendered).filter(|(_, line)| has_mark(line)).count()
}

/// The lines of a text that are in no fenced code, with their numbers, counted from 1.
fn lines_outside_fences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_fence =
        |event: &Event<'_>| matches!(event, Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))));
    let fences: Vec<Range<usize>> = Parser::new_ext(text, OPTIONS)
        .into_offset_iter()
        .filter_map(|(event, range)| is_fence(&event).then_some(range))
        .collect();
    let mut at = 0;
    let lines = text.split_inclusive('\n').enumerate().map(move |(index, line)| {
        at += line.len();
        (at - line.len(), index + 1, line.trim_end_matches(['\n', '\r']))
    });
    lines.filter(move |(at, ..)| !fences.iter().any(|fence| fence.contains(at))).map(|(_, n, line)| (n, line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::{Allowed, parse, render_for};

    const OPEN: &str = "a\n\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n";

    #[test]
    fn marks_of_a_merge_are_found_and_nothing_else() {
        let check = |text: &str, expected: Option<(usize, usize)>| {
            let found = merge_marks(text).map(|marks| (marks.line, marks.places));
            assert_eq!(found, expected, "{text:?}");
        };
        check(OPEN, Some((3, 1)));
        check(&OPEN.replace('\n', "\r\n"), Some((3, 1)));
        check(OPEN.trim_end(), Some((3, 1)));
        check(&OPEN.replace("=======", "||||||| base\nwas\n======="), Some((3, 1)));
        check(&format!("{OPEN}\nb\n\n{OPEN}"), Some((3, 2)));
        check(&format!("```\ncode\n```\n{OPEN}"), Some((6, 1)));
        for sound in [
            "",
            "A heading\n=======\n\n> > > quoted\n",
            "<<<<<<< HEAD\nours\n>>>>>>> branch\n",
            "=======\n<<<<<<< HEAD\n>>>>>>> branch\n",
            ">>>>>>> branch\n=======\n<<<<<<< HEAD\n",
            "<<<<<<< HEAD\nours\n========\ntheirs\n>>>>>>> branch\n",
            "a <<<<<<< HEAD\n=======\n>>>>>>> branch\n",
        ] {
            check(sound, None);
        }
        check(&format!("```\n{OPEN}```\n"), None);
        check(&format!("~~~~ text\n{OPEN}\n~~~~\n"), None);
        check("- a\n\n  ```\n<<<<<<< HEAD\n=======\n>>>>>>> branch\n", Some((4, 1)));
    }

    #[test]
    fn marks_that_were_sent_are_counted_in_their_page() {
        let sent = |text: &str| {
            let mut count = 0;
            let mut id = || {
                count += 1;
                format!("b{count}")
            };
            let (none, blocks) = (Allowed::default(), parse(text, &[], &Allowed::default(), &mut id));
            marks_of_page(&render_for(&blocks, &none).text)
        };
        assert_eq!(sent(OPEN), 1);
        assert_eq!(sent(&format!("{OPEN}\nb\n\n{OPEN}")), 2);
        assert_eq!(sent("a\n\n<<<<<<< HEAD\n\nours\n\n=======\n\n>>>>>>> x\n"), 1);
        assert_eq!(sent(&format!("```\n{OPEN}```\n")), 0);
        assert_eq!(sent("a < b\n"), 0);
    }
}
