//! A text as the Markdown parser is to see it: what is no Markdown is covered, byte for byte, so that every place stays.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

use super::block::OPTIONS;
use super::formula;

/// What is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cover {
    /// A comment between two lines of `%%`.
    Comment,
    /// Display mathematics: the lines of one paragraph from `$$` to `$$`, seen as a paragraph where they stand alone, and as a
    /// block of HTML where they touch other lines: that ends a paragraph and is ended by its own last line.
    Math,
    /// A footnote, an admonition or a definition of several paragraphs, whose further ones are indented.
    Note,
}

/// A text with its covers.
pub(crate) struct Masked<'t> {
    /// As long as the text itself.
    pub text: Cow<'t, str>,
    /// In the order of the text.
    pub covers: Vec<(Range<usize>, Cover)>,
    /// Mathematics within lines, in the order of the text.
    pub formulas: Vec<Range<usize>>,
}

/// Covers comments between lines of `%%`, display mathematics and the brackets of footnotes, and makes every line end one
/// that the parser knows.
pub(crate) fn mask(text: &str) -> Masked<'_> {
    let mut masked = blocks(text);
    if let Some((covered, formulas)) = formula::cover(&masked.text) {
        masked.text = Cow::Owned(covered);
        masked.formulas = formulas;
    }
    masked
}

/// Covers what takes whole lines.
fn blocks(text: &str) -> Masked<'_> {
    let mut masked = Masked { text: Cow::Borrowed(text), covers: Vec::new(), formulas: Vec::new() };
    let bare = text.contains('\r') && has_bare_return(text);
    if bare {
        masked.text = Cow::Owned(with_line_ends(text));
    }
    const SIGNS: [&str; 8] = ["%%", "$$", "[^", "!!! ", "??? ", "???+ ", "=== ", ": "];
    if !SIGNS.iter().any(|sign| begins_a_line(&masked.text, sign)) {
        return masked;
    }
    let lines = lines(&masked.text);
    let code = code(&masked.text);
    let is_code = |at: usize| {
        code.get(code.partition_point(|range| range.end <= at)).is_some_and(|range| range.contains(&at))
    };
    let mut bytes = masked.text.as_bytes().to_vec();
    let mut covers = Vec::new();
    let mut touching = false;
    let mut endless = BTreeSet::new();
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        if is_code(line.at) {
            at += 1;
            continue;
        }
        if let Some((last, stands)) = comment(&lines, at, &is_code, &mut endless) {
            if stands == Stands::InParagraph {
                at = last + 1;
                continue;
            }
            cover(&mut bytes, &lines[at..=last], b' ');
            covers.push((line.at..lines[last].end(), Cover::Comment));
            at = last + 1;
            continue;
        }
        let alone =
            |at: Option<usize>| at.and_then(|at| lines.get(at)).is_none_or(|line| line.text.is_empty());
        if let Some(last) = math(&lines, at) {
            let is_alone = alone(at.checked_sub(1)) && alone(Some(last + 1));
            if is_alone || may_touch(&lines[at..=last], &lines[..at]) {
                let place = line.at..lines[last].end();
                cover(&mut bytes, &lines[at..=last], b'x');
                if !is_alone {
                    bytes[place.start..place.start + 2].copy_from_slice(b"<?");
                    bytes[place.end - 2..place.end].copy_from_slice(b"?>");
                    touching = true;
                }
                covers.push((place, Cover::Math));
                at = last + 1;
                continue;
            }
        }
        if alone(at.checked_sub(1))
            && let Some(last) = note(&lines, at).or_else(|| wide_math(&lines, at))
        {
            for deeper in lines[at..=last].iter().filter(|line| !line.text.is_empty()) {
                bytes[deeper.at + line.lead.len() - deeper.lead.len()..deeper.end()].fill(b'x');
            }
            covers.push((line.at..lines[last].end(), Cover::Note));
            at = last + 1;
            continue;
        }
        if is_note(line.text) {
            bytes[line.at] = b'x';
        }
        at += 1;
    }
    if let Ok(mut text) = String::from_utf8(bytes) {
        if touching {
            let blocks = html(&text);
            covers.retain(|(place, cover): &(Range<usize>, Cover)| {
                let touches = *cover == Cover::Math && text[place.clone()].starts_with("<?");
                let is_block = !touches || blocks.binary_search(&place.end).is_ok();
                if !is_block {
                    text.replace_range(place.clone(), &masked.text[place.clone()]);
                }
                is_block
            });
        }
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

/// Characters that may stand before a line's first one.
const LEAD: [char; 4] = [' ', '\t', '>', '\u{feff}'];

fn begins_a_line(text: &str, sign: &str) -> bool {
    let begins = |at: usize| {
        let before = text[..at].trim_end_matches(LEAD);
        before.is_empty() || before.ends_with('\n')
    };
    text.contains(sign) && text.match_indices(sign).any(|(at, _)| begins(at))
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut from = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let rest = line.trim_start_matches(LEAD);
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

/// Where a comment that begins a line stands.
#[derive(PartialEq)]
enum Stands {
    Alone,
    /// Within one paragraph, which tells it by itself.
    InParagraph,
}

/// The last line of the comment that begins a line with `%%`: it ends with that. `endless` are the leads of lines of which none
/// further down ends a comment.
fn comment<'t>(
    lines: &[Line<'t>],
    at: usize,
    is_code: &dyn Fn(usize) -> bool,
    endless: &mut BTreeSet<&'t str>,
) -> Option<(usize, Stands)> {
    let first = &lines[at];
    if first.text.strip_prefix("%%")?.contains("%%") {
        return None;
    }
    let ends = |other: &Line| other.text.ends_with("%%") && other.lead == first.lead && !is_code(other.at);
    // Where no line ends one, none ends another below it.
    if endless.contains(first.lead) {
        return None;
    }
    let Some(last) = lines[at + 1..].iter().position(ends).map(|last| at + 1 + last) else {
        endless.insert(first.lead);
        return None;
    };
    let is_words = |line: &Line| {
        !is_code(line.at)
            && line.text.starts_with(|c: char| !matches!(c, '#' | '>' | '-' | '+' | '*' | '0'..='9'))
    };
    let alone = first.text == "%%" && lines[last].text == "%%";
    let alone = alone || !lines[at + 1..last].iter().all(is_words);
    Some((last, if alone { Stands::Alone } else { Stands::InParagraph }))
}

/// The last line of a block of several paragraphs that begins in a line: the first one says what it is, the others are
/// indented by four columns.
fn note(lines: &[Line<'_>], at: usize) -> Option<usize> {
    let first = &lines[at];
    let paragraph = lines[at..].iter().take_while(|line| !line.text.is_empty()).count();
    let begins = |sign: &&str| first.text.starts_with(*sign);
    let defines = |line: &Line| line.text.starts_with(": ");
    let is_one = is_note(first.text)
        || ["!!! ", "??? ", "???+ ", "=== \""].iter().any(begins)
        || !is_item(first.text) && lines[at..at + paragraph].iter().any(defines);
    if !is_one || first.lead.contains(['>', '\t', '\u{feff}']) {
        return None;
    }
    let is_deeper = |line: &Line| {
        let lead = line.lead.strip_prefix(first.lead);
        lead.is_some_and(|lead| !lead.contains('>') && (lead.starts_with("    ") || lead.contains('\t')))
    };
    let even = lines[at..at + paragraph].iter().all(|line| line.lead.starts_with(first.lead));
    let mut count = paragraph;
    loop {
        let rest = lines[at + count..].iter().take_while(|line| line.text.is_empty() || is_deeper(line));
        count += rest.count();
        // The parser has a line right below go on in the last paragraph: the next note, mostly.
        let is_below = !lines[at + count - 1].text.is_empty();
        if !is_below || !lines.get(at + count).is_some_and(goes_on) {
            break;
        }
        count += 1;
    }
    let last = at + lines[at..at + count].iter().rposition(|line| !line.text.is_empty())?;
    (last >= at + paragraph && even).then_some(last)
}

/// The last line of mathematics with empty lines in them: signs alone on their lines, and no Markdown between.
fn wide_math(lines: &[Line<'_>], at: usize) -> Option<usize> {
    let first = &lines[at];
    if first.text != "$$" || first.lead.contains(['>', '\t']) {
        return None;
    }
    let is_inside = |line: &&Line| {
        let is_other = line.text.starts_with(['#', '`', '~', '>']) || line.text.contains("<!--");
        !is_other && !line.text.contains("$$") && (line.text.is_empty() || line.lead.starts_with(first.lead))
    };
    let count = lines[at + 1..].iter().take_while(is_inside).count();
    let last = lines.get(at + 1 + count).filter(|last| last.text == "$$" && last.lead == first.lead)?;
    let inside = &lines[at + 1..=at + count];
    let is_followed = lines.get(at + count + 2).is_some_and(goes_on);
    let is_formula = inside.iter().any(|line| line.text.contains(['\\', '^', '_', '=', '{']));
    (is_formula && !is_followed && last.at > first.at).then_some(at + 1 + count)
}

/// Whether a line right below a paragraph is one of its lines.
fn goes_on(line: &Line<'_>) -> bool {
    let text = format!("x\n{}\n", line.text);
    let first = Parser::new_ext(&text, OPTIONS).into_offset_iter().next();
    let is_one = |(event, range): (Event<'_>, Range<usize>)| {
        event == Event::Start(Tag::Paragraph) && range.end + 1 >= text.len()
    };
    !line.text.is_empty() && !line.lead.contains('>') && first.is_some_and(is_one)
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

/// Whether mathematics may stand right beside other lines: in no quote, in one container, behind no line that ends with a break
/// or whose paragraph keeps its lines.
fn may_touch(math: &[Line<'_>], before: &[Line<'_>]) -> bool {
    let lead = math[0].lead;
    let mut paragraph = before.iter().rev().take_while(|line| !line.text.is_empty());
    let is_break = |line: &Line| line.text.ends_with('\\') || line.text.ends_with("<br>");
    !lead.contains('>')
        && math.iter().all(|line| line.lead.starts_with(lead))
        && !before.last().is_some_and(is_break)
        && !paragraph.any(|line| keeps_lines(line.text, true, false) || keeps_lines(line.text, false, false))
}

/// Where the blocks of HTML of a text end.
fn html(text: &str) -> Vec<usize> {
    let events = Parser::new_ext(text, OPTIONS).into_offset_iter();
    events
        .filter(|(event, _)| matches!(event, Event::Start(Tag::HtmlBlock)))
        .map(|(_, range)| range.start + text[range].trim_end().len())
        .collect()
}

/// Whether a text is written as it is, from its first byte to its last: display mathematics, or a note of several paragraphs.
pub(crate) fn is_verbatim(text: &str) -> bool {
    let lines = lines(text);
    let plain = lines.iter().skip(1).all(|line| !line.lead.contains('>'));
    let edged = text.trim() == text && !text.contains(['\r', '\0', '\u{feff}']);
    let trailing = text.split('\n').any(|line| line.ends_with([' ', '\t']));
    let last = || match text.starts_with("$$") {
        true => math(&lines, 0).or_else(|| wide_math(&lines, 0)),
        false => note(&lines, 0),
    };
    edged && plain && !trailing && last().is_some_and(|last| last + 1 == lines.len())
}

/// Whether a line begins an item of a list: that is no term.
fn is_item(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let signs: &[char] = if rest.len() < line.len() { &['.', ')'] } else { &['-', '+', '*'] };
    rest.strip_prefix(signs).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
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
    // `key:: value` of Logseq and Dataview.
    let property = || {
        let key = line.split_once("::").filter(|(_, value)| value.is_empty() || value.starts_with(' '));
        key.is_some_and(|(key, _)| {
            !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
        })
    };
    // The times of a task and the drawers of Org mode, which Logseq has.
    let time = || {
        let is_time =
            |sign: &&str| line.strip_prefix(*sign).is_some_and(|rest| rest.starts_with([' ', '[', '<']));
        !is_first && ["SCHEDULED:", "DEADLINE:", "CLOSED:", "CLOCK:"].iter().any(is_time)
    };
    let drawer = || {
        let name = line.trim_end().strip_prefix(':').and_then(|rest| rest.strip_suffix(':'));
        !is_first && name.is_some_and(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase()))
    };
    is_first && in_quote && callout()
        || time()
        || drawer()
        || is_first && admonition()
        || line.starts_with(":::")
        || !is_first && (line.starts_with(": ") || property())
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
