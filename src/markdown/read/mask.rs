//! A text as the Markdown parser is to see it: what is no Markdown is covered, byte for byte, so that every place stays.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

use super::block::OPTIONS;

/// What is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cover {
    /// A comment between two lines of `%%`.
    Comment,
    /// Display mathematics: the lines of one paragraph from `$$` to `$$`.
    Math,
}

/// A text with its covers.
pub(super) struct Masked<'t> {
    /// As long as the text itself.
    pub text: Cow<'t, str>,
    /// In the order of the text.
    pub covers: Vec<(Range<usize>, Cover)>,
}

/// Covers comments between lines of `%%`, display mathematics and the brackets of footnotes, and makes every line end one
/// that the parser knows.
pub(super) fn mask(text: &str) -> Masked<'_> {
    let mut masked = Masked { text: Cow::Borrowed(text), covers: Vec::new() };
    let bare = text.contains('\r') && has_bare_return(text);
    if bare {
        masked.text = Cow::Owned(with_line_ends(text));
    }
    let (percents, dollars, notes) = (text.contains("%%"), text.contains("$$"), text.contains("[^"));
    if !percents && !dollars && !notes {
        return masked;
    }
    let lines = lines(&masked.text);
    let is_line = |sign: &str| lines.iter().any(|line| line.text.starts_with(sign));
    if !(percents && is_line("%%") || dollars && is_line("$$") || notes && is_line("[^")) {
        return masked;
    }
    let code = code(&masked.text);
    let is_code = |at: usize| code.iter().any(|range| range.contains(&at));
    let mut bytes = masked.text.as_bytes().to_vec();
    let mut covers = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        if is_code(line.at) {
            at += 1;
            continue;
        }
        if line.text == "%%"
            && let Some(end) = lines[at + 1..]
                .iter()
                .position(|other| other.text == "%%" && other.lead == line.lead && !is_code(other.at))
        {
            let last = at + 1 + end;
            cover(&mut bytes, &lines[at..=last], b' ');
            covers.push((line.at..lines[last].end(), Cover::Comment));
            at = last + 1;
            continue;
        }
        let alone =
            |at: Option<usize>| at.and_then(|at| lines.get(at)).is_none_or(|line| line.text.is_empty());
        if let Some(last) = math(&lines, at)
            && alone(at.checked_sub(1))
            && alone(Some(last + 1))
        {
            cover(&mut bytes, &lines[at..=last], b'x');
            covers.push((line.at..lines[last].end(), Cover::Math));
            at = last + 1;
            continue;
        }
        if is_note(line.text) {
            bytes[line.at] = b'x';
        }
        at += 1;
    }
    if let Ok(text) = String::from_utf8(bytes) {
        masked.text = Cow::Owned(text);
        masked.covers = covers;
    }
    masked
}

/// A line without what it stands in.
struct Line<'t> {
    /// Indentation and quote signs.
    lead: &'t str,
    /// Where the rest begins.
    at: usize,
    /// The rest, without white space at its end.
    text: &'t str,
}

impl Line<'_> {
    fn end(&self) -> usize {
        self.at + self.text.len()
    }
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut from = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let rest = line.trim_start_matches([' ', '\t', '>', '\u{feff}']);
            let lead = &line[..line.len() - rest.len()];
            let at = from + lead.len();
            from += line.len();
            Line { lead, at, text: rest.trim_end_matches([' ', '\t', '\n', '\r']) }
        })
        .collect()
}

/// Where code and HTML are: nothing in them is covered.
fn code(text: &str) -> Vec<Range<usize>> {
    let is_code =
        |event: &Event| matches!(event, Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock) | Event::Code(_));
    let events = Parser::new_ext(text, OPTIONS).into_offset_iter();
    events.filter(|(event, _)| is_code(event)).map(|(_, range)| range).collect()
}

/// The last line of the mathematics that begin in a line.
fn math(lines: &[Line<'_>], at: usize) -> Option<usize> {
    let first = &lines[at];
    let inside = first.text.strip_prefix("$$")?;
    if let Some(end) = inside.find("$$") {
        return (end + 2 == inside.len() && end > 0).then_some(at);
    }
    for (offset, line) in lines[at + 1..].iter().enumerate() {
        if line.text.is_empty() || line.lead.contains('>') != first.lead.contains('>') {
            return None;
        }
        if let Some(end) = line.text.find("$$") {
            return (end + 2 == line.text.len()).then_some(at + 1 + offset);
        }
    }
    None
}

/// Whether a text is written as display mathematics, from its first byte to its last.
pub(crate) fn is_math(text: &str) -> bool {
    let lines = lines(text);
    let plain = lines.iter().skip(1).all(|line| !line.lead.contains('>'));
    let edged = text.trim() == text && !text.contains(['\r', '\0', '\u{feff}']);
    let trailing = text.split('\n').any(|line| line.ends_with([' ', '\t']));
    edged
        && plain
        && !trailing
        && text.starts_with("$$")
        && math(&lines, 0).is_some_and(|last| last + 1 == lines.len())
}

/// Whether a line begins as the text of a footnote.
fn is_note(line: &str) -> bool {
    let label = line.strip_prefix("[^").and_then(|rest| rest.split_once("]:")).map(|(label, _)| label);
    label.is_some_and(|label| !label.is_empty() && !label.contains([' ', '\t', '[', ']']))
}

/// Whether a line means something to programs that know more than `CommonMark`, so that its paragraph keeps its lines: a
/// callout's first line in a quote, an admonition, a definition, a footnote.
pub(crate) fn keeps_lines(line: &str, is_first: bool, in_quote: bool) -> bool {
    let callout = || {
        let name = line.strip_prefix("[!").and_then(|rest| rest.split_once(']')).map(|(name, _)| name);
        name.is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        })
    };
    let admonition = || ["!!! ", "??? ", "???+ "].iter().any(|sign| line.starts_with(sign));
    is_first && in_quote && callout()
        || is_first && admonition()
        || line.starts_with(":::")
        || !is_first && line.starts_with(": ")
        || is_note(line)
}

/// How much of a line's start is the sign that makes its paragraph keep its lines: it is written as it is.
pub(crate) fn sign(line: &str) -> usize {
    if line.starts_with("[!") || line.starts_with("[^") {
        return line.find(']').map_or(0, |at| at + 1);
    }
    line.len() - line.trim_start_matches([':', '!', '?']).len()
}

fn cover(bytes: &mut [u8], lines: &[Line<'_>], with: u8) {
    for line in lines {
        bytes[line.at..line.end()].fill(with);
    }
}

fn has_bare_return(text: &str) -> bool {
    let bytes = text.as_bytes();
    (0..bytes.len()).any(|at| bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
}

fn with_line_ends(text: &str) -> String {
    let mut rest = text.chars().peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(c) = rest.next() {
        out.push(if c == '\r' && rest.peek() != Some(&'\n') { '\n' } else { c });
    }
    out
}
