//! Changes of a long text: only the lines around what changed are taken apart and read back.
//!
//! The text is cut where a paragraph or a heading begins behind one empty line while nothing is open: what stands above such a
//! place has no bearing on what stands below it, but for reference definitions. From the nearer end up to the change each part
//! must say its blocks, so the parts of the change are sure. Where any of this does not hold, the whole text is spliced.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value;

use super::super::allowed::Known;
use super::super::lower::{lower, lower_unlabelled, shown};
use super::super::parse::{said_by, stands_for};
use super::super::plain::{Kind, Node};
use super::super::read::{folded, labels, read};
use super::{Layout, lets_a_line_go, splice};

/// The blocks of a page, of which a part is asked for at a time.
pub(in super::super) struct Blocks<'a> {
    /// How many there are.
    pub count: usize,
    /// Some of them; `None` where they cannot be read.
    pub some: &'a dyn Fn(Range<usize>) -> Option<Cow<'a, [Value]>>,
}

/// `text` stands for `old`, made for `new`: the two are alike in their first `head` and their last `tail` blocks.
pub(in super::super) fn patch_window(
    text: &str,
    (old, new): (&Blocks<'_>, &Blocks<'_>),
    (head, tail): (usize, usize),
    terms: Option<&Known<'_>>,
) -> Option<String> {
    let cut = Cut::of(text);
    let changed = head.min(old.count - tail)..old.count - tail;
    let (place, blocks) = cut.window(old, changed)?;
    let now = blocks.start..(blocks.end + new.count).checked_sub(old.count)?;
    let (before, after) = ((old.some)(blocks)?, (new.some)(now)?);
    // Where blocks have labels, these are unique in the page. Toggles and empty paragraphs hang on the rest of the text.
    let is_calm = |blocks: &[Value]| {
        let nodes = lower_unlabelled(blocks, &mut false);
        nodes.is_some_and(|nodes| !nodes.iter().any(bears_on_more))
    };
    let lines = text[place.clone()].trim_end_matches(['\n', '\r']);
    let is_plus = |line: &str| line.trim_start_matches([' ', '\t', '>']).starts_with('+');
    if !is_calm(&before) || !is_calm(&after) || lines.lines().any(is_plus) {
        return None;
    }
    let used = cut.definitions_for(lines, &place);
    let part = format!("{lines}\n{used}");
    let is_right = |text: &str| stands_for(text, &after);
    let result = if is_right(&part) && !lets_a_line_go(&before, &after) {
        part
    } else {
        splice(&Layout::of(&part, &before)?, &after, terms, false, is_right)?
    };
    let result = result.strip_suffix(&used)?.trim_end_matches(['\n', '\r']);
    let rest = &text[place.start + lines.len()..];
    (!result.is_empty()).then(|| [&text[..place.start], result, rest].concat())
}

/// Whether what is said of such a block hangs on the rest of the page: bullets are taken for toggles, and blank lines for
/// blocks, by whether a text has any.
pub(in super::super) fn bears_on_more(node: &Node) -> bool {
    node.kind == Kind::Toggle || node.blank || node.is_void() || node.children.iter().any(bears_on_more)
}

/// A text in parts.
struct Cut<'t> {
    text: &'t str,
    /// Where the parts begin, and the end of the text.
    places: Vec<usize>,
    /// The lines of reference definitions, by label.
    definitions: BTreeMap<String, Range<usize>>,
}

impl<'t> Cut<'t> {
    fn of(text: &'t str) -> Self {
        let mut cut = Self { text, places: vec![0], definitions: BTreeMap::new() };
        let mut end: Option<&str> = None;
        let (mut at, mut empty) = (0, 0);
        for line in text.split_inclusive('\n') {
            let bare = line.trim_matches([' ', '\t', '>', '\r', '\n']);
            if end.is_some_and(|end| closes(bare, end)) {
                end = None;
            } else if end.is_none() {
                if empty == 1 && line.starts_with(|c: char| c.is_alphabetic() || c == '#') {
                    cut.places.push(at);
                }
                end = opens(bare);
                if let Some((label, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]:")) {
                    cut.definitions.entry(folded(label)).or_insert(at..at + line.len());
                }
            }
            empty = if line.trim().is_empty() { empty + 1 } else { 0 };
            at += line.len();
        }
        cut.places.push(text.len());
        cut
    }

    /// The parts of some blocks and of their neighbours, and the blocks of these parts: what would run on into a neighbour, or be
    /// taken for a part of it, shows there.
    fn window(&self, old: &Blocks<'_>, changed: Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
        let mut count = old.count;
        while count > 0 && shown(&lower(&(old.some)(count - 1..count)?).nodes).is_empty() {
            count -= 1;
        }
        let wanted = changed.start.saturating_sub(1)..(changed.end + 1).min(count);
        let parts = self.places.len() - 1;
        if parts < 3 || wanted.start >= wanted.end {
            return None;
        }
        let place = |part: usize| self.places[part];
        let (text, blocks) = if wanted.start <= count - wanted.end {
            let (mut first, mut part, mut at) = (None, 0, 0);
            while at < wanted.end {
                let end = at + self.says(part, old, at, false)?;
                if end > wanted.start {
                    first.get_or_insert((place(part), at));
                }
                (part, at) = (part + 1, end);
            }
            let (from, first) = first?;
            (from..place(part), first..at)
        } else {
            let (mut last, mut part, mut at) = (None, parts, count);
            while at > wanted.start {
                part = part.checked_sub(1)?;
                let start = at.checked_sub(self.says(part, old, at, true)?)?;
                if start < wanted.end {
                    last.get_or_insert((place(part + 1), at));
                }
                at = start;
            }
            let (to, last) = last?;
            (place(part)..to, at..last)
        };
        // What shows nowhere goes with the last block that does.
        let end = if text.end == self.text.len() { old.count } else { blocks.end };
        (blocks.end <= count && (end == blocks.end || blocks.end == count))
            .then_some((text, blocks.start..end))
    }

    /// How many blocks a part says: the ones that begin, or end, with the block `at`.
    fn says(&self, part: usize, old: &Blocks<'_>, at: usize, is_end: bool) -> Option<usize> {
        let place = *self.places.get(part)?..*self.places.get(part + 1)?;
        let own = self.text[place.clone()].trim_end_matches(['\n', '\r']);
        let nodes = read(&format!("{own}\n{}", self.definitions_for(own, &place)), &BTreeSet::new());
        // No more than these: what is hidden may be text there.
        let most = nodes.len();
        let range = if is_end { at.saturating_sub(most)..at } else { at..(at + most).min(old.count) };
        said_by(nodes, &(old.some)(range)?, is_end)
    }

    /// The reference definitions that a part of the text uses and does not hold, behind an empty line.
    fn definitions_for(&self, text: &str, place: &Range<usize>) -> String {
        if self.definitions.is_empty() {
            return String::new();
        }
        let used = labels(text);
        let lines = used.iter().filter_map(|label| self.definitions.get(label));
        let outside = lines.filter(|line| !place.contains(&line.start));
        outside.fold(String::new(), |all, line| all + "\n" + self.text[line.clone()].trim_end() + "\n")
    }
}

/// What ends that which a line begins, where the line does not end it itself.
fn opens(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit() || "-*+.)> \t".contains(c));
    for sign in ["`", "~"] {
        let run = &rest[..rest.len() - rest.trim_start_matches(sign).len()];
        if run.len() > 2 && !(sign == "`" && rest[run.len()..].contains('`')) {
            return Some(run);
        }
    }
    if line == "<!-- children -->" {
        return Some("<!-- /children -->");
    }
    if let Some((_, comment)) = line.rsplit_once("<!--")
        && !comment.contains("-->")
    {
        return Some("-->");
    }
    let is_half = |sign: &&&str| rest.strip_prefix(**sign).is_some_and(|rest| !rest.contains(**sign));
    ["%%", "$$"].iter().find(is_half).copied()
}

/// Whether a line ends what ends so.
fn closes(line: &str, end: &str) -> bool {
    if end.starts_with(['`', '~']) {
        return line.starts_with(end) && line.trim_matches(|c| end.starts_with(c)).is_empty();
    }
    line.contains(end)
}
