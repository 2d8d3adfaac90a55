//! Blocks to lines: markers, indentation, and what stands between two blocks.

use super::super::plain::{Inline, Kind, Node, Table};
use super::inline::{Place, destination, title, write_inline};

/// How eagerly text is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As little as CommonMark needs.
    Minimal,
    /// Everything that could mean something beside the user's own text.
    Strict,
}

/// Where a block's own lines stand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// Begins each of its lines but the first.
    pub prefix: &'a str,
    /// The marker of a list item, with the space behind it (`- `, `12. `).
    pub marker: &'a str,
    /// It is the first thing on the page.
    pub first: bool,
}

/// Writes a forest; `span` is told each node's index and the bytes of its own lines and of its subtree.
pub(crate) fn write(nodes: &[Node], span: &mut dyn FnMut(usize, std::ops::Range<usize>)) -> String {
    let mut out = String::new();
    level(&mut out, nodes, "", true, span);
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn level(
    out: &mut String,
    nodes: &[Node],
    prefix: &str,
    root: bool,
    span: &mut dyn FnMut(usize, std::ops::Range<usize>),
) {
    let shown = if root {
        nodes.iter().rposition(|node| !node.is_void()).map_or(0, |last| last + 1)
    } else {
        nodes.len()
    };
    let mut number = 0;
    let mut before: Option<&Node> = None;
    let mut blank = 0;
    for (at, node) in nodes.iter().enumerate() {
        number = next_number(number, &node.kind);
        if at >= shown {
            span(node.index, out.len()..out.len());
            continue;
        }
        if before.is_some() && node.is_void() && nodes[at + 1..shown].iter().any(|next| !next.is_void()) {
            blank += 1;
            span(node.index, out.len()..out.len());
            continue;
        }
        if let Some(before) = before {
            separator(out, before, node, blank, prefix);
        }
        let start = out.len();
        let marker = marker(&node.kind, number);
        let first = root && start == 0;
        line(out, node, Line { prefix, marker: &marker, first }, Mode::Minimal);
        if !node.children.is_empty() {
            children(out, node, prefix, marker.len(), span);
        }
        span(node.index, start..out.len());
        before = Some(node);
        blank = 0;
    }
}

fn children(
    out: &mut String,
    node: &Node,
    prefix: &str,
    indent: usize,
    span: &mut dyn FnMut(usize, std::ops::Range<usize>),
) {
    if node.kind.is_item() {
        let inner = format!("{prefix}{:indent$}", "");
        let tight = joins(node, &node.children[0]);
        out.push_str(if tight { "\n" } else { "\n\n" });
        out.push_str(&inner);
        level(out, &node.children, &inner, false, span);
        return;
    }
    for line in ["\n\n", prefix, "<!-- children -->\n\n", prefix] {
        out.push_str(line);
    }
    level(out, &node.children, prefix, false, span);
    for line in ["\n\n", prefix, "<!-- /children -->"] {
        out.push_str(line);
    }
}

/// Writes the line end, blank lines and prefix between two siblings with `blank` empty paragraphs between them.
pub(crate) fn separator(out: &mut String, before: &Node, after: &Node, blank: usize, prefix: &str) {
    let tight = blank == 0 && same_list(&before.kind, &after.kind) && is_tight(before);
    let lines = if tight { 1 } else { 2 + blank };
    out.extend(std::iter::repeat_n('\n', lines));
    out.push_str(prefix);
}

/// Whether two kinds share one Markdown list.
fn same_list(a: &Kind, b: &Kind) -> bool {
    let family = |kind: &Kind| match kind {
        Kind::Bullet | Kind::Check(_) => 1,
        Kind::Toggle => 2,
        Kind::Number(_) => 3,
        _ => 0,
    };
    family(a) != 0 && family(a) == family(b)
}

/// Whether an item's first child can follow its text without a blank line: an empty item cannot interrupt a
/// paragraph, nor can a number other than 1.
fn joins(node: &Node, child: &Node) -> bool {
    let interrupts = match child.kind {
        Kind::Number(start) => start.is_none() && !child.inline.is_empty(),
        Kind::Check(_) => true,
        _ => child.kind.is_item() && !child.inline.is_empty(),
    };
    child.kind.is_item() && (interrupts || node.inline.is_empty())
}

/// Whether an item and all beneath it have no blank line.
fn is_tight(node: &Node) -> bool {
    let mut before: Option<&Node> = None;
    for child in &node.children {
        let joined = before.map_or_else(|| joins(node, child), |before| same_list(&before.kind, &child.kind));
        if !child.kind.is_item() || !joined || !is_tight(child) {
            return false;
        }
        before = Some(child);
    }
    true
}

fn next_number(before: u64, kind: &Kind) -> u64 {
    match kind {
        Kind::Number(Some(start)) => *start,
        Kind::Number(None) => before + 1,
        _ => 0,
    }
}

fn marker(kind: &Kind, number: u64) -> String {
    match kind {
        Kind::Number(_) => format!("{}. ", number.min(999_999_999)),
        Kind::Toggle => "+ ".to_owned(),
        Kind::Bullet | Kind::Check(_) => "- ".to_owned(),
        _ => String::new(),
    }
}

/// Writes a block's own lines, without what is beneath it.
pub(crate) fn line(out: &mut String, node: &Node, at: Line, mode: Mode) {
    let strict = mode == Mode::Strict;
    match &node.kind {
        Kind::Heading(level) => {
            out.extend(std::iter::repeat_n('#', usize::from(*level)));
            if !node.inline.is_empty() {
                out.push(' ');
                write_inline(out, &node.inline, Place::Heading, "", strict);
            }
        }
        Kind::Bullet | Kind::Number(_) | Kind::Toggle | Kind::Check(_) => item(out, node, at, strict),
        Kind::Quote => {
            out.push('>');
            if !node.inline.is_empty() {
                out.push(' ');
                let inner = format!("{}> ", at.prefix);
                fresh(out, node, Place::Paragraph, &inner, strict);
            }
        }
        Kind::Code(language) => fence(out, language, &node.inline.text, at.prefix),
        Kind::Divider => out.push_str(if at.first { "***" } else { "---" }),
        Kind::Placeholder(label) => {
            out.push_str("<!-- block: ");
            out.push_str(label);
            out.push_str(" -->");
        }
        Kind::Paragraph if node.inline.is_empty() => out.push_str("<!-- empty -->"),
        Kind::Media(media) => {
            out.push_str("![");
            write_inline(out, &Inline::plain(&media.name), Place::Label, "", true);
            out.push_str("](");
            destination(out, &media.url, Place::Label);
            if !media.caption.is_empty() {
                out.push(' ');
                title(out, &media.caption, Place::Label);
            }
            out.push(')');
        }
        Kind::Table(table) => rows(out, table, at.prefix, strict),
        Kind::Paragraph | Kind::Open | Kind::Close => {
            fresh(out, node, Place::Paragraph, at.prefix, strict);
        }
    }
}

fn item(out: &mut String, node: &Node, at: Line, strict: bool) {
    out.push_str(at.marker);
    if let Kind::Check(on) = node.kind {
        out.push_str(if on { "[x] " } else { "[ ] " });
    }
    if !node.inline.is_empty() {
        let inner = format!("{}{:width$}", at.prefix, "", width = at.marker.len());
        let place = if matches!(node.kind, Kind::Check(_)) { Place::Paragraph } else { Place::Item };
        fresh(out, node, place, &inner, strict);
    } else if node.children.first().is_some_and(|child| !child.kind.is_item()) {
        out.push_str("<!-- empty -->");
    } else {
        out.truncate(out.trim_end_matches(' ').len());
    }
}

/// Writes the text so that the writer sees a line of its own.
fn fresh(out: &mut String, node: &Node, place: Place, prefix: &str, strict: bool) {
    write_inline(out, &node.inline, place, prefix, strict);
}

fn rows(out: &mut String, table: &Table, prefix: &str, strict: bool) {
    let row = |out: &mut String, cells: &[Inline]| {
        out.push('|');
        for cell in cells {
            out.push(' ');
            write_inline(out, cell, Place::Cell, "", strict);
            if !cell.is_empty() {
                out.push(' ');
            }
            out.push('|');
        }
    };
    let blank = vec![Inline::default(); table.align.len()];
    let (head, body) =
        if table.header { (&table.rows[0], &table.rows[1..]) } else { (&blank, &table.rows[..]) };
    row(out, head);
    out.push('\n');
    out.push_str(prefix);
    out.push('|');
    for align in &table.align {
        out.push_str(match align {
            b'c' => " :-: |",
            b'r' => " --: |",
            b'l' => " :-- |",
            _ => " --- |",
        });
    }
    for cells in body {
        out.push('\n');
        out.push_str(prefix);
        row(out, cells);
    }
}

fn fence(out: &mut String, language: &str, code: &str, prefix: &str) {
    let mut longest = 2;
    for line in code.split('\n') {
        longest = longest.max(line.trim_start().bytes().take_while(|&b| b == b'`').count());
    }
    let ticks = longest + 1;
    out.extend(std::iter::repeat_n('`', ticks));
    out.push_str(language);
    out.push('\n');
    if !code.is_empty() {
        for line in code.split('\n') {
            if !line.is_empty() {
                out.push_str(prefix);
                out.push_str(line);
            }
            out.push('\n');
        }
    }
    out.push_str(prefix);
    out.extend(std::iter::repeat_n('`', ticks));
}
