//! What is written without a thought to its surroundings: code, addresses, titles.

use super::inline::Place;

pub(super) fn code_span(out: &mut String, text: &str, place: Place) {
    let mut longest = 0;
    let mut run = 0;
    let mut has_single = [false; 4];
    for byte in text.bytes().chain([b' ']) {
        if byte == b'`' {
            run += 1;
        } else {
            if run > 0 && run < 4 {
                has_single[run] = true;
            }
            longest = longest.max(run);
            run = 0;
        }
    }
    let ticks = (1..4).find(|&n| !has_single[n]).unwrap_or(longest + 1);
    let spaced = text.starts_with(' ') && text.ends_with(' ') && text.contains(|c| c != ' ');
    let pad = spaced || text.starts_with('`') || text.ends_with('`');
    out.extend(std::iter::repeat_n('`', ticks));
    if pad {
        out.push(' ');
    }
    if place == Place::Cell {
        out.push_str(&text.replace('|', "\\|"))
    } else {
        out.push_str(text)
    }
    if pad {
        out.push(' ');
    }
    out.extend(std::iter::repeat_n('`', ticks));
}

/// The words shown for an inline item: the type out of its label.
pub(super) fn item_text(label: &str) -> &str {
    label.trim_start_matches('#').rsplit_once('-').map_or(label, |(kind, _)| kind)
}

pub(super) fn balanced(href: &str) -> bool {
    let mut depth = 0;
    for byte in href.bytes() {
        match byte {
            b'\\' => return false,
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if !(0..30).contains(&depth) {
            return false;
        }
    }
    depth == 0
}

/// A link's address as CommonMark reads it back.
pub(super) fn destination(out: &mut String, href: &str, place: Place) {
    let simple =
        !href.is_empty() && !href.starts_with('<') && !href.contains([' ', '\u{7f}']) && balanced(href);
    if !simple {
        out.push('<');
    }
    let bytes = href.as_bytes();
    for (at, c) in href.char_indices() {
        let after = bytes.get(at + 1);
        let escaped = match c {
            '\\' => after.is_none_or(|b| b.is_ascii_punctuation()),
            '<' | '>' => !simple,
            '&' => {
                href[at + 1..].bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'#').count() > 0
                    && href[at + 1..]
                        .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '#')
                        .starts_with(';')
            }
            '|' => place == Place::Cell,
            _ => false,
        };
        if escaped {
            out.push('\\');
        }
        out.push(c);
    }
    if !simple {
        out.push('>');
    }
}

/// A link's title in double quotes; line breaks in it become entities.
pub(super) fn title(out: &mut String, title: &str, place: Place) {
    out.push('"');
    for c in title.chars() {
        match c {
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '"' | '\\' | '&' => {
                out.push('\\');
                out.push(c);
            }
            '|' if place == Place::Cell => out.push_str("\\|"),
            c => out.push(c),
        }
    }
    out.push('"');
}
