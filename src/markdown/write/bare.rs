//! Text without escapes: what reads back as the same text wherever the page can be read needs none. Links to files of this
//! machine, footnotes, pictures within a line, HTML and formulas are such text, and so is what has no block where the page is
//! read.
//!
//! It is tried on one block at a time, and read again: only what comes back as it was counts.

use std::collections::BTreeSet;

use super::super::allowed::{Allowed, Known};
use super::super::parse::read_alone;
use super::super::plain::{Inline, Kind, Node, What};
use super::super::read::read;
use super::block::{Line, line_with};
use super::inline::{Escapes, Place, write_inline};

/// What is read behind the block that is tried: nothing in it may reach that far.
const BEHIND: &str = "behind it";

/// A block's own lines without escapes, if they read back as the block.
pub(super) fn line(node: &Node, at: Line) -> Option<String> {
    // A sign that is no comment here could begin one that ends further down, and a year is a list elsewhere.
    if node.inline.text.contains("%%") || node.inline.text.split('\n').any(is_numbered) {
        return None;
    }
    let marker = match node.kind {
        Kind::Bullet | Kind::Check(_) => "- ",
        Kind::Number(_) => "1. ",
        Kind::Toggle => "+ ",
        _ => "",
    };
    let alone = Line { prefix: "", marker, first: false, terms: at.terms };
    let ways = [raw as fn(&Node, Line) -> Option<String>, escaped_by_none];
    ways.iter().find_map(|way| {
        let tried = way(node, alone)?;
        says(&tried, node, at.terms).then(|| way(node, at))?
    })
}

/// The lines of a plain text as they are.
fn raw(node: &Node, at: Line) -> Option<String> {
    let text = &node.inline.text;
    let is_plain = node.inline.marks.iter().all(|mark| mark.style == 0 && matches!(mark.what, What::Text));
    let is_edged =
        text.trim() != text || text.ends_with('\\') || text.contains('\r') || text.starts_with('\u{feff}');
    if !is_plain || is_edged || has_unknown_tag(text) {
        return None;
    }
    let mut out = String::new();
    match node.kind {
        Kind::Heading(level) => out.push_str(&format!("{} ", "#".repeat(usize::from(level)))),
        Kind::Check(on) => out.push_str(&format!("{}[{}] ", at.marker, if on { 'x' } else { ' ' })),
        Kind::Quote => out.push_str("> "),
        _ => out.push_str(at.marker),
    }
    let inner = match node.kind {
        Kind::Quote => format!("{}> ", at.prefix),
        _ => format!("{}{:width$}", at.prefix, "", width = at.marker.len()),
    };
    as_typed(&mut out, text, &inner);
    Some(out)
}

fn escaped_by_none(node: &Node, at: Line) -> Option<String> {
    let mut out = String::new();
    line_with(&mut out, node, at, Escapes::Bare);
    Some(out)
}

/// Whether a paragraph's text is that of another construct, as which it is written and read: code, a table, a rule.
pub(super) fn is_construct(node: &Node, terms: Option<&Known<'_>>) -> bool {
    let alone = Line { prefix: "", marker: "", first: false, terms };
    let text = raw(node, alone).filter(|text| says(text, node, terms));
    let is_one = |node: &Node| matches!(node.kind, Kind::Code(_) | Kind::Table(_) | Kind::Divider);
    text.is_some_and(|text| matches!(read(&text, &BTreeSet::new()).as_slice(), [only] if is_one(only)))
}

/// Whether a block's lines read back as the block, without any base.
fn says(lines: &str, node: &Node, terms: Option<&Known<'_>>) -> bool {
    let (wanted, hidden) = visible(&node.inline);
    let is_same = |other: &Node| {
        let kinds = matches!((&node.kind, &other.kind), (Kind::Number(_), Kind::Number(_)));
        let pieces = other.beside.as_ref().map_or(0, |beside| beside.hidden.len());
        (kinds || node.kind == other.kind)
            && other.inline == wanted
            && other.children.is_empty()
            && pieces == hidden
    };
    // A list beneath an item may touch it.
    let touched = format!("{lines}\n   - {BEHIND}\n");
    let is_touched = node.kind.is_item() && !node.children.is_empty();
    let is_behind = |other: &Node| other.kind == Kind::Paragraph && other.inline.text == BEHIND;
    let text = format!("{lines}\n\n{BEHIND}\n");
    let again = |text: &str| match terms {
        Some(terms) => read_alone(text, terms),
        None => read_alone(text, &Known::new(&Allowed::all(), &[])),
    };
    let is_apart =
        |text: &str| matches!(again(text).as_slice(), [only, last] if is_same(only) && is_behind(last));
    is_apart(&text) && !(is_touched && again(&touched).iter().any(|only| only.children.is_empty()))
}

/// Whether a line begins as an item of a numbered list.
fn is_numbered(line: &str) -> bool {
    let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.trim_start().len() && rest.starts_with(['.', ')'])
}

/// A text without what is hidden in it, and how many pieces that is.
fn visible(inline: &Inline) -> (Inline, usize) {
    let mut out = Inline::default();
    let mut hidden = 0;
    for (text, mark) in inline.stretches() {
        match mark.what {
            What::Hidden(_) => hidden += 1,
            _ => out.push(text, mark.style, &mark.what),
        }
    }
    (out, hidden)
}

/// A cell's text without escapes, if it reads back as that text.
pub(super) fn cell(inline: &Inline) -> Option<String> {
    if inline.text.contains("%%") {
        return None;
    }
    let mut text = String::new();
    write_inline(&mut text, inline, Place::Cell, "", Escapes::Bare);
    let nodes = read_alone(&format!("| a |\n| - |\n| {text} |\n"), &Known::new(&Allowed::all(), &[]));
    let [Node { kind: Kind::Table(table), .. }] = nodes.as_slice() else { return None };
    let says =
        matches!(table.rows.as_slice(), [_, row] if matches!(row.as_slice(), [only] if only == inline));
    says.then_some(text)
}

/// Writes lines as they were typed.
pub(super) fn as_typed(out: &mut String, text: &str, prefix: &str) {
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
            out.push_str(if line.is_empty() { prefix.trim_end() } else { prefix });
        }
        out.push_str(line);
    }
}

/// Whether a text has a tag within a line that readers of Markdown would not show.
fn has_unknown_tag(text: &str) -> bool {
    text.lines().any(|line| {
        let is_alone = line.trim_start().starts_with('<') && line.trim_end().ends_with('>');
        line.match_indices('<').any(|(at, _)| {
            line[at + 1..].starts_with(['!', '?'])
                || !is_alone && super::escape::is_unknown_tag(line, at, false)
        })
    })
}

/// Whether HTML has an element of this name.
pub(super) fn is_element(name: &str) -> bool {
    ELEMENTS.binary_search(&name.to_ascii_lowercase().as_str()).is_ok()
}

/// In the order of the alphabet.
const ELEMENTS: [&str; 117] = [
    "a",
    "abbr",
    "address",
    "area",
    "article",
    "aside",
    "audio",
    "b",
    "base",
    "bdi",
    "bdo",
    "big",
    "blockquote",
    "body",
    "br",
    "button",
    "canvas",
    "caption",
    "center",
    "circle",
    "cite",
    "code",
    "col",
    "colgroup",
    "data",
    "datalist",
    "dd",
    "del",
    "details",
    "dfn",
    "dialog",
    "div",
    "dl",
    "dt",
    "em",
    "embed",
    "fieldset",
    "figcaption",
    "figure",
    "font",
    "footer",
    "form",
    "g",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "i",
    "iframe",
    "img",
    "input",
    "ins",
    "kbd",
    "label",
    "legend",
    "li",
    "link",
    "main",
    "map",
    "mark",
    "meta",
    "meter",
    "nav",
    "noscript",
    "object",
    "ol",
    "optgroup",
    "option",
    "output",
    "p",
    "param",
    "path",
    "picture",
    "pre",
    "progress",
    "q",
    "rect",
    "rp",
    "rt",
    "ruby",
    "s",
    "samp",
    "script",
    "section",
    "select",
    "small",
    "source",
    "span",
    "strike",
    "strong",
    "style",
    "sub",
    "summary",
    "sup",
    "svg",
    "table",
    "tbody",
    "td",
    "template",
    "textarea",
    "tfoot",
    "th",
    "thead",
    "time",
    "tr",
    "track",
    "tt",
    "u",
    "ul",
    "var",
    "video",
];
