//! Text that looks like Markdown stays text: the fewest backslashes and entities that CommonMark and GFM need.
//!
//! Looks at one block's text at a time. What a character may begin depends on where it stands, so the rules come in
//! two kinds: at the start of a line, and anywhere.

use std::fmt::Write as _;

use super::super::plain::{BOLD, CODE, ITALIC, Inline, STRIKE, What};
use super::super::read::{keeps_lines, opens_comment};
use super::bare::is_element;
use super::inline::{Escapes, Place};

/// What a block's text holds altogether; a mark that has no partner anywhere needs no escape.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scan {
    /// Nothing is escaped but what would not be text elsewhere.
    pub(super) bare: bool,
    stars: bool,
    pub(super) underscores: bool,
    percents: bool,
    dollars: bool,
    tildes: bool,
    ticks: bool,
    brackets: bool,
    definition: bool,
    /// Addresses are taken apart.
    addresses: bool,
    angle_close: bool,
}

/// Whether the text can be written as it is, wherever in a line it stands.
pub(super) fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return true };
    let begins = (first.is_ascii_alphabetic() || first >= 0xc3) && !text.starts_with('\u{feff}');
    begins && last > b' ' && bytes.iter().all(|&b| !SPECIAL[b as usize]) && !text.contains("%%")
}

const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let marks = b"*_~`[]<&\\!|";
    let mut i = 0;
    while i < marks.len() {
        table[marks[i] as usize] = true;
        i += 1;
    }
    let mut control = 0;
    while control < 32 {
        table[control] = control != b'\t' as usize;
        control += 1;
    }
    table[127] = true;
    table
};

impl Scan {
    /// Looks at all of a block's text. A strict look finds partners everywhere.
    pub(super) fn of(inline: &Inline, escapes: Escapes) -> Self {
        if escapes == Escapes::Bare {
            return Self { bare: true, ..Self::default() };
        }
        if escapes == Escapes::Strict {
            return Self {
                bare: false,
                stars: true,
                underscores: true,
                percents: true,
                dollars: true,
                tildes: true,
                ticks: true,
                brackets: true,
                definition: true,
                addresses: true,
                angle_close: true,
            };
        }
        let (mut stars, mut underscores, mut tildes, mut ticks) = (0, 0, 0, 0);
        // Styles, breaks and links bring tags and comments of their own.
        let angle_close = inline.marks.len() > 1 || inline.text.contains('\n');
        let mut scan = Self { angle_close, ..Self::default() };
        for (text, mark) in inline.stretches() {
            scan.angle_close |= mark.style != 0;
            if mark.style & (BOLD | ITALIC) != 0 {
                stars += 2;
            }
            if mark.style & STRIKE != 0 {
                tildes += 2;
            }
            if matches!(mark.what, What::Hidden(_)) {
                scan.angle_close = true;
                continue;
            }
            if !matches!(mark.what, What::Text) {
                scan.brackets = true;
                scan.angle_close = true;
            }
            if let What::Link(link) = &mark.what {
                // A tick in the text could find its partner in an address.
                ticks += link.href.matches('`').count() + link.title.matches('`').count();
            }
            if mark.style & CODE != 0 {
                ticks += 2;
                continue;
            }
            let mut before = 0;
            for &byte in text.as_bytes() {
                if byte != before {
                    match byte {
                        b'*' => stars += 1,
                        b'_' => underscores += 1,
                        b'~' => tildes += 1,
                        b'`' => ticks += 1,
                        _ => {}
                    }
                }
                match byte {
                    b'(' | b'[' if before == b']' => scan.brackets = true,
                    b':' if before == b']' => scan.definition = true,
                    b'>' => scan.angle_close = true,
                    _ => {}
                }
                before = byte;
            }
        }
        scan.percents = inline.text.contains("%%");
        scan.dollars = inline.text.matches('$').nth(1).is_some();
        scan.stars = stars > 1;
        scan.underscores = underscores > 1;
        scan.tildes = tildes > 1;
        scan.ticks = ticks > 1;
        scan
    }
}

/// Where a stretch of text stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    /// It begins a line of the source, nothing of the same block before it.
    pub line_start: bool,
    /// That line is the block's first.
    pub first_line: bool,
    /// It ends a line of the source.
    pub line_end: bool,
    /// Nothing of the block follows; else what ends the line is a backslash or a tag.
    pub block_end: bool,
    /// A delimiter of emphasis opens at its start.
    pub mark_before: bool,
    /// A delimiter of emphasis closes at its end.
    pub mark_after: bool,
    /// It is the text of a link.
    pub in_link: bool,
    /// A link or an inline item follows at once.
    pub link_after: bool,
}

/// Writes `text`, which holds no line break.
pub(super) fn escape(out: &mut String, text: &str, scan: &Scan, site: Site, place: Place) {
    let edged = site.mark_before && text.starts_with(char::is_whitespace)
        || site.mark_after && text.ends_with(char::is_whitespace)
        || site.line_end && text.ends_with('#');
    if is_plain(text) && !edged {
        out.push_str(text);
        return;
    }
    let mut skip = 0;
    if site.line_start && place.is_block() {
        skip = line_start(out, text, site, place);
    }
    // The rest of a run whose first character is escaped touches that one.
    let site = Site { line_start: site.line_start && skip == 0, ..site };
    let bytes = text.as_bytes();
    let last = text.char_indices().next_back().map_or(0, |(at, _)| at);
    let hash_end = if place == Place::Heading && site.line_end { closing_hash(text) } else { usize::MAX };
    for (at, c) in text.char_indices() {
        if at < skip {
            continue;
        }
        let edge_start = at == 0 && (site.line_start || site.mark_before);
        let edge_end = at == last && (site.line_end || site.mark_after);
        let after = bytes.get(at + c.len_utf8()).copied();
        let bare = match c {
            ' ' | '\t' => !(edge_start || edge_end),
            '\u{feff}' => !edge_start,
            c if c.is_control() => c > '\u{7f}' && !c.is_whitespace(),
            c if c.is_whitespace() => !(edge_start && site.mark_before || edge_end && site.mark_after),
            _ => true,
        };
        if !bare {
            // Writing to a String cannot fail.
            let _ = write!(out, "&#{};", c as u32);
            continue;
        }
        let escaped = match c {
            '<' if scan.bare => is_unknown_tag(text, at, site.line_start),
            '|' => place == Place::Cell,
            '\\' if scan.bare => at == last && site.line_end,
            _ if scan.bare => false,
            '\\' => after.is_none_or(|b| b.is_ascii_punctuation() || b < b' ' || b == 0xc2 || at + 1 == last),
            '*' => scan.stars && touches(text, at, b'*', site),
            '_' => scan.underscores && touches(text, at, b'_', site) && !inside_word(text, at),
            '~' => scan.tildes && touches(text, at, b'~', site),
            '`' => scan.ticks,
            '[' => {
                scan.brackets
                    || site.in_link
                    || scan.definition
                        && site.first_line
                        && site.line_start
                        && at == 0
                        && !keeps_lines(text, true, false)
            }
            ']' => site.in_link,
            '!' => at == last && site.link_after,
            '<' => {
                after.is_none_or(|b| b.is_ascii_alphabetic() || matches!(b, b'/' | b'!' | b'?'))
                    && (scan.angle_close || site.line_start && at == 0 || after.is_none())
            }
            '&' => is_entity(&bytes[at..]),
            '%' => scan.percents && after == Some(b'%') && opens_comment(&text[..at]),
            '$' => scan.dollars,
            // What is no address is read as any other text.
            ':' => scan.addresses && text[at..].starts_with("://"),
            '.' => scan.addresses && text[..at].ends_with("www"),
            '#' => at == hash_end,
            _ => false,
        };
        if escaped {
            out.push('\\');
        }
        out.push(c);
    }
}

/// Escapes what would begin a block; gives how many bytes of `text` are written.
fn line_start(out: &mut String, text: &str, site: Site, place: Place) -> usize {
    let bytes = text.as_bytes();
    let blank = |at: usize| bytes.get(at).is_none_or(|b| matches!(b, b' ' | b'\t'));
    let only = |set: &[u8]| bytes.iter().all(|b| set.contains(b));
    let run = |byte: u8| bytes.iter().take_while(|&&b| b == byte).count();
    let Some(&first) = bytes.first() else { return 0 };
    let needed = match first {
        b'#' => run(b'#') <= 6 && blank(run(b'#')),
        b'>' => true,
        b'-' => blank(1) || only(b"- \t") || !site.first_line && only(b"-:| \t"),
        b'+' => blank(1),
        b'*' => blank(1) || only(b"* \t"),
        b'_' => only(b"_ \t"),
        b'=' => !site.first_line && only(b"= \t"),
        b':' | b'|' => !site.first_line && only(b"-:| \t"),
        b'`' => run(b'`') >= 3,
        b'~' => run(b'~') >= 3,
        b'[' => place == Place::Item && site.first_line && is_task(bytes),
        b'0'..=b'9' => {
            let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
            if digits <= 9 && matches!(bytes.get(digits), Some(b'.' | b')')) && blank(digits + 1) {
                out.push_str(&text[..digits]);
                out.push('\\');
                out.push_str(&text[digits..=digits]);
                return digits + 1;
            }
            false
        }
        _ => false,
    };
    if !needed {
        return 0;
    }
    out.push('\\');
    out.push_str(&text[..1]);
    1
}

fn is_task(bytes: &[u8]) -> bool {
    bytes.len() >= 3 && matches!(bytes[1], b' ' | b'x' | b'X' | b'\t') && bytes[2] == b']'
}

/// Whether a run of `mark` around `at` touches anything but white space: only then can it open or close.
fn touches(text: &str, at: usize, mark: u8, site: Site) -> bool {
    let bytes = text.as_bytes();
    let from = bytes[..at].iter().rposition(|&b| b != mark).map_or(0, |i| i + 1);
    let to = bytes[at..].iter().position(|&b| b != mark).map_or(bytes.len(), |i| at + i);
    // White space at the edge of a stretch may become an entity, which is punctuation.
    let open = match text[..from].chars().next_back() {
        Some(c) => stays_blank(c) && from > c.len_utf8(),
        None => site.line_start && !site.mark_before,
    };
    let close = match text[to..].chars().next() {
        Some(c) => stays_blank(c) && text.len() - to > c.len_utf8(),
        None => site.block_end && !site.mark_after,
    };
    !(open && close)
}

/// White space that is written as it is.
fn stays_blank(c: char) -> bool {
    c == '\t' || c.is_whitespace() && !c.is_control()
}

/// Whether a run of underscores has letters or digits on both sides.
fn inside_word(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches('_').chars().next_back();
    let after = text[at..].trim_start_matches('_').chars().next();
    before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric)
}

fn is_entity(bytes: &[u8]) -> bool {
    let body = bytes[1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'#').count();
    body > 0 && bytes.get(1 + body).is_none_or(|&b| b == b';')
}

/// The last `#` of a heading's text when it would close the heading.
fn closing_hash(text: &str) -> usize {
    let body = text.trim_end_matches('#');
    let closes = body.len() < text.len() && (body.is_empty() || body.ends_with([' ', '\t']));
    if closes { text.len() - 1 } else { usize::MAX }
}

/// Whether a tag of no known element stands here: readers of Markdown would not show it. Alone in its line it is a component
/// of a program that knows it.
pub(super) fn is_unknown_tag(text: &str, at: usize, line_start: bool) -> bool {
    let rest = &text[at + 1..];
    let name = rest.strip_prefix('/').unwrap_or(rest);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return name.starts_with(['!', '?']);
    }
    let end =
        name.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))).unwrap_or(name.len());
    let is_address = name[end..].starts_with([':', '@']);
    let is_alone = line_start && text[..at].trim().is_empty() && text.trim_end().ends_with('>');
    !is_address && !is_alone && !is_element(&name[..end])
}
