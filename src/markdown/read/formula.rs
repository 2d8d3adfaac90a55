//! What stands within a line and is no Markdown: mathematics between dollars, and bare addresses.
//!
//! Both are covered as `mask` covers blocks. A wrong reading of a price as mathematics would cost a person's emphasis, so
//! dollars that hold emphasis are mathematics only where they also hold a sign that prose does not have.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Parser, Tag, TagEnd};

use super::block::OPTIONS;
use super::source::is_inline;

/// Covers mathematics and the signs of addresses in the text of paragraphs, headings, items and cells. The places of the
/// mathematics, in their order; nothing where nothing is covered.
pub(super) fn cover(text: &str) -> Option<(String, Vec<Range<usize>>)> {
    if !may_hold_any(text) {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    let mut found = Vec::new();
    for leaf in leaves(text) {
        let from = found.len();
        mathematics(text, &leaf, &mut found);
        for place in &found[from..] {
            fill(text, place, &mut bytes);
        }
        addresses(text, &leaf, &mut bytes);
    }
    // Only whole characters were covered.
    let covered = String::from_utf8(bytes).ok().filter(|covered| covered != text)?;
    Some((covered, found))
}

/// Signs that mean something to the parser.
const SIGNS: [char; 8] = ['\\', '*', '_', '~', '&', '<', '[', '!'];

/// Whether there could be anything to cover: most texts have no dollars and no such address, and are not read for it.
fn may_hold_any(text: &str) -> bool {
    let has_address = || {
        let rests = text.match_indices("://").filter_map(|(at, _)| text.get(at..));
        rests
            .chain(text.match_indices("www.").filter_map(|(at, _)| text.get(at..)))
            .any(|rest| rest.split(char::is_whitespace).next().is_some_and(|word| word.contains(['_', '~'])))
    };
    let has_mathematics = || {
        let mut rest = text.split("\n\n").filter(|part| part.contains('$'));
        rest.any(|part| {
            let inner = part.split_once('$').and_then(|(_, rest)| rest.rsplit_once('$'));
            inner.is_some_and(|(inner, _)| inner.contains(SIGNS) || inner.contains('\n'))
        })
    };
    text.contains('$') && has_mathematics()
        || (text.contains("://") || text.contains("www.")) && has_address()
}

/// The text of one paragraph, heading, item or cell.
#[derive(Default)]
struct Leaf {
    place: Range<usize>,
    /// Code, and what else ends mathematics.
    solid: Vec<Range<usize>>,
    /// Where emphasis and links begin and end.
    marks: Vec<usize>,
    in_cell: bool,
}

fn leaves(text: &str) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    let mut leaf = Leaf::default();
    let (mut in_code, mut in_cell) = (false, false);
    // The end of what is skipped, and of the event before.
    let (mut skipped, mut before) = (0, 0);
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        if in_code || !is_inline(&event) {
            match event {
                Event::Start(Tag::CodeBlock(_)) => in_code = true,
                Event::End(TagEnd::CodeBlock) => in_code = false,
                Event::Start(Tag::TableCell) => in_cell = true,
                Event::End(TagEnd::TableCell) => in_cell = false,
                _ => {}
            }
            if !leaf.place.is_empty() {
                leaves.push(std::mem::take(&mut leaf));
            }
            continue;
        }
        if leaf.place.is_empty() {
            leaf.place = range.clone();
            leaf.in_cell = in_cell;
        }
        leaf.place.end = leaf.place.end.max(range.end);
        if range.start < skipped {
            continue;
        }
        match event {
            Event::Start(Tag::Image { .. })
            | Event::Start(Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. }) => {
                skipped = range.end;
                leaf.solid.push(range.clone());
            }
            Event::Start(Tag::Link { .. } | Tag::Strong | Tag::Emphasis | Tag::Strikethrough) => {
                leaf.marks.extend([range.start, range.end.saturating_sub(1)]);
                before = range.start;
                continue;
            }
            // Behind a link's text is its address.
            Event::End(TagEnd::Link) => leaf.solid.push(before.min(range.end)..range.end),
            Event::Code(_) => leaf.solid.push(range.clone()),
            Event::InlineHtml(html) if is_ours(&html) => leaf.solid.push(range.clone()),
            _ => {}
        }
        before = range.end;
    }
    if !leaf.place.is_empty() {
        leaves.push(leaf);
    }
    leaves
}

/// Whether HTML within a line is more than text: a comment, a break, an underline.
fn is_ours(html: &str) -> bool {
    ["<!--", "<br", "<BR", "<u>", "</u>"].iter().any(|tag| html.starts_with(tag))
}

/// The first of some places, in their order, that ends behind `at`.
fn next_place(places: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    places.get(places.partition_point(|place| place.end <= at))
}

/// What is longer between its dollars is no mathematics: else each dollar of a long text would be read to its end.
const LONGEST: usize = 4_000;

/// Adds the mathematics of a text.
fn mathematics(text: &str, leaf: &Leaf, found: &mut Vec<Range<usize>>) {
    let Some(own) = text.get(leaf.place.clone()).filter(|own| own.contains('$')) else { return };
    let mut marks = leaf.marks.clone();
    marks.sort_unstable();
    let dollars = dollars(own, leaf);
    // For each place in them, the next that can close one, and the next pair.
    let mut next = vec![(usize::MAX, usize::MAX); dollars.len() + 1];
    for (at, one) in dollars.iter().enumerate().rev() {
        let (single, double) = next[at + 1];
        next[at] = (if one.closes { at } else { single }, if one.double { at } else { double });
    }
    let mut at = 0;
    while let Some(open) = dollars.get(at) {
        at += 1;
        // The first that could close it does, or none.
        let (single, double) = next[at];
        let Some(close) = dollars.get(if open.double { double } else { single }) else { continue };
        let is_pair = close.double == open.double && (open.double || open.opens);
        if !is_pair || close.at - open.at > LONGEST {
            continue;
        }
        let inside = open.end()..close.at;
        let is_solid = next_place(&leaf.solid, inside.start).is_some_and(|place| place.start < inside.end);
        let has_mark = marks.get(marks.partition_point(|mark| *mark < inside.start));
        let has_mark = has_mark.is_some_and(|mark| *mark < inside.end);
        if is_solid || !is_mathematics(text, &inside, open, has_mark, leaf.in_cell) {
            continue;
        }
        at = dollars.partition_point(|other| other.at <= close.at);
        let inner = &text[inside.clone()];
        if inner.contains(SIGNS) || inner.contains("%%") || open.double && inner.contains('\n') {
            found.push(inside);
        }
    }
}

/// One dollar, or two side by side.
struct Dollars {
    at: usize,
    double: bool,
    /// A letter or digit stands before it.
    in_word: bool,
    opens: bool,
    closes: bool,
}

impl Dollars {
    fn end(&self) -> usize {
        self.at + 1 + usize::from(self.double)
    }
}

/// The dollars of a text that no backslash stands before, outside of code.
fn dollars(own: &str, leaf: &Leaf) -> Vec<Dollars> {
    let mut found = Vec::new();
    let mut chars = own.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((offset, c)) = chars.next() {
        let at = leaf.place.start + offset;
        if next_place(&leaf.solid, at).is_some_and(|place| place.start <= at) {
            before = Some(c);
            continue;
        }
        match c {
            '\\' => before = chars.next().map(|(_, c)| c),
            '$' => {
                let double = chars.next_if(|(_, next)| *next == '$').is_some();
                let after = chars.peek().map(|(_, c)| *c);
                found.push(Dollars {
                    at,
                    double,
                    in_word: before.is_some_and(char::is_alphanumeric),
                    opens: after.is_some_and(|c| !c.is_whitespace()),
                    closes: before.is_some_and(|c| !c.is_whitespace())
                        && !after.is_some_and(|c| c.is_ascii_digit()),
                });
                before = Some('$');
            }
            c => before = Some(c),
        }
    }
    found
}

/// Whether what stands between dollars is mathematics.
fn is_mathematics(text: &str, inside: &Range<usize>, open: &Dollars, has_mark: bool, in_cell: bool) -> bool {
    let Some(inner) = text.get(inside.clone()).filter(|inner| !inner.trim().is_empty()) else { return false };
    let after_backslash = |c: char| c.is_ascii_alphabetic() || "{}|,;:!\\ ".contains(c);
    let is_command = |(at, _): (usize, &str)| inner[at + 1..].starts_with(after_backslash);
    let has_sign = inner.contains(['^', '{']) || inner.match_indices('\\').any(is_command);
    let is_prose = has_mark && !has_sign && inner.contains(char::is_whitespace);
    // A bar parts cells wherever it stands.
    let is_refused = is_prose || open.in_word && !has_sign || in_cell && inner.contains('|');
    !is_refused
}

/// Covers what is no white space, line by line without what the lines stand in.
fn fill(text: &str, place: &Range<usize>, bytes: &mut [u8]) {
    let mut at = place.start;
    for (number, line) in text[place.clone()].split_inclusive('\n').enumerate() {
        let lead = if number == 0 { 0 } else { line.len() - line.trim_start_matches([' ', '\t', '>']).len() };
        for (offset, c) in line.char_indices().filter(|(offset, c)| *offset >= lead && !c.is_whitespace()) {
            bytes[at + offset..at + offset + c.len_utf8()].fill(b'x');
        }
        at += line.len();
    }
}

/// Characters at which a bare address ends, for one is seldom written with them.
const ENDS: [char; 9] = ['<', '>', '`', '"', '*', '&', '\\', '|', '['];

/// Covers the signs of bare addresses, apart from those at their ends.
fn addresses(text: &str, leaf: &Leaf, bytes: &mut [u8]) {
    let Some(own) = text.get(leaf.place.clone()).filter(|own| own.contains(['_', '~'])) else { return };
    let mut from = 0;
    while let Some(offset) =
        ["https://", "http://", "www."].iter().filter_map(|sign| own[from..].find(sign)).min()
    {
        let start = from + offset;
        let word = own[start..].split(|c: char| c.is_whitespace() || ENDS.contains(&c)).next();
        let word = word.and_then(|word| word.split("~~").next()).unwrap_or_default();
        from = start + word.len().max(1);
        let at = leaf.place.start + start;
        let in_word = own[..start].chars().next_back().is_some_and(char::is_alphanumeric);
        let is_solid = next_place(&leaf.solid, at).is_some_and(|place| place.start < at + word.len());
        if in_word || is_solid {
            continue;
        }
        let inner = word.trim_end_matches(['?', '!', '.', ',', ':', ';', '*', '_', '~', '\'', ')', ']']);
        for (offset, _) in inner.match_indices(['_', '~']) {
            bytes[at + offset] = b'x';
        }
    }
}
