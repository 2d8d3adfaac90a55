//! Text as it was typed: a link, a fence or a table that is kept as text, because there are no such blocks where the page is read,
//! needs no escapes there.

use super::super::allowed::Known;
use super::super::parse::read_alone;
use super::super::plain::{Kind, Node, What};
use super::escape::is_plain;

/// What a text has that is more than text elsewhere.
const SIGNS: [&str; 12] =
    ["](", "```", "~~~", "---", "***", "___", "- -", "* *", "_ _", "|", "<http", "<mailto:"];

/// Whether a block's text, written as it is, reads back as just that without any base.
pub(super) fn is_typed(node: &Node, terms: &Known<'_>) -> bool {
    let text = &node.inline.text;
    if is_plain(text) || !node.kind.has_text() || !SIGNS.iter().any(|sign| text.contains(sign)) {
        return false;
    }
    let plain = node.inline.marks.iter().all(|mark| mark.style == 0 && matches!(mark.what, What::Text));
    // A sign that is no comment here could begin one that ends further down.
    let percents = text.contains("%%");
    let edged = percents || text.trim() != text || text.contains('\r') || text.starts_with('\u{feff}');
    if !plain || edged || !matches!(node.kind, Kind::Paragraph) && text.contains('\n') {
        return false;
    }
    let marker = match node.kind {
        Kind::Heading(level) => format!("{} ", "#".repeat(usize::from(level))),
        Kind::Bullet => "- ".to_owned(),
        Kind::Number(_) => "1. ".to_owned(),
        Kind::Check(on) => if on { "- [x] " } else { "- [ ] " }.to_owned(),
        Kind::Toggle => "+ ".to_owned(),
        Kind::Quote => "> ".to_owned(),
        _ => String::new(),
    };
    let is_same = |other: &Node| {
        let kinds = matches!((&node.kind, &other.kind), (Kind::Number(_), Kind::Number(_)))
            || node.kind == other.kind;
        kinds && other.inline == node.inline && other.children.is_empty() && other.beside.is_none()
    };
    matches!(read_alone(&format!("{marker}{text}\n"), terms).as_slice(), [only] if is_same(only))
}

/// Writes it.
pub(super) fn as_typed(out: &mut String, text: &str, prefix: &str) {
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
            out.push_str(if line.is_empty() { prefix.trim_end() } else { prefix });
        }
        out.push_str(line);
    }
}
