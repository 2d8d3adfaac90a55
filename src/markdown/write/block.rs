//! Blocks to lines: markers, indentation, and what stands between two blocks.

use std::borrow::Cow;

use super::super::allowed::Known;
use super::super::plain::{Inline, Kind, Node, What};
use super::super::read;
use super::bare;
use super::inline::{Escapes, Place, write_inline};
use super::solid::{destination, title};
use super::table::rows;

/// How eagerly text is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As little as CommonMark needs.
    Minimal,
    /// Everything that could mean something beside the user's own text.
    Strict,
}

/// Where a block's own lines stand.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    /// Begins each of its lines but the first.
    pub prefix: &'a str,
    /// The marker of a list item, with the space behind it (`- `, `12. `).
    pub marker: &'a str,
    /// It is the first thing on the page.
    pub first: bool,
    /// What there can be where the page is read; without it, everything.
    pub terms: Option<&'a Known<'a>>,
}

/// A written forest.
pub(crate) struct Written {
    /// The text; ends with a line end unless it is empty.
    pub text: String,
    /// Something in it is not surely read as it was meant: it wants a second look.
    pub doubtful: bool,
}

/// Told each node's index and the bytes of its own lines and of its subtree.
type Tell<'a> = dyn FnMut(usize, std::ops::Range<usize>) + 'a;

/// Writes a forest.
pub(crate) fn write(nodes: &[Node], tell: &mut Tell<'_>) -> Written {
    write_for(nodes, None, tell)
}

/// Writes a forest for where there are no more than these constructs.
pub(crate) fn write_for(nodes: &[Node], terms: Option<&Known<'_>>, tell: &mut Tell<'_>) -> Written {
    let out = String::with_capacity(64 * nodes.len());
    let mut page = Page { out, doubtful: false, want: None, terms, tell };
    page.level(nodes, "", 0);
    if !page.out.is_empty() {
        page.out.push('\n');
    }
    Written { text: page.out, doubtful: page.doubtful }
}

/// Whether a text is what is written for a forest; stops at the first block where it is not.
pub(crate) fn is_text_of(nodes: &[Node], text: &str, terms: &Known<'_>) -> bool {
    let out = String::with_capacity(text.len() + 64);
    let tell = &mut |_, _| {};
    let mut page = Page { out, doubtful: false, want: Some((text, 0)), terms: Some(terms), tell };
    page.level(nodes, "", 0);
    if !page.out.is_empty() {
        page.out.push('\n');
    }
    page.out == text
}

/// Nesting beyond this is looked at twice.
const DEPTH_CALM: usize = 6;

struct Page<'a, 't> {
    out: String,
    terms: Option<&'a Known<'a>>,
    doubtful: bool,
    /// The text that it is compared with, and how much of it is known to be alike.
    want: Option<(&'a str, usize)>,
    tell: &'a mut Tell<'t>,
}

impl Page<'_, '_> {
    fn level(&mut self, nodes: &[Node], prefix: &str, depth: usize) {
        let shown = if depth == 0 {
            nodes.iter().rposition(|node| !node.is_void()).map_or(0, |last| last + 1)
        } else {
            nodes.len()
        };
        let spoken = nodes[..shown].iter().rposition(|node| !node.is_void()).unwrap_or(0);
        self.doubtful |= depth > DEPTH_CALM;
        let mut number = 0;
        let mut before: Option<&Node> = None;
        let (mut blank, mut in_callout) = (0, false);
        for (at, node) in nodes.iter().enumerate() {
            number = next_number(number, &node.kind);
            if at >= shown {
                (self.tell)(node.index, self.out.len()..self.out.len());
                continue;
            }
            if before.is_some() && at < spoken && node.is_void() {
                blank += 1;
                (self.tell)(node.index, self.out.len()..self.out.len());
                continue;
            }
            in_callout &= before.is_some_and(|before| self.goes_on(before, node)) && blank == 0;
            if let Some(before) = before {
                self.doubtful |= blank > 0;
                match in_callout {
                    true => self.out.push_str(&format!("\n{prefix}>\n{prefix}")),
                    false => separator(&mut self.out, before, node, blank, prefix),
                }
            }
            in_callout |= is_callout(node);
            let start = self.out.len();
            let marker = marker(&node.kind, number);
            let first = depth == 0 && start == 0;
            let mode = if node.strict { Mode::Strict } else { Mode::Minimal };
            self.doubtful |=
                line(&mut self.out, node, Line { prefix, marker: &marker, first, terms: self.terms }, mode);
            if !node.children.is_empty() {
                self.children(node, prefix, marker.len(), depth);
            }
            (self.tell)(node.index, start..self.out.len());
            if depth == 0
                && let Some((want, alike)) = &mut self.want
            {
                if want.as_bytes().get(*alike..self.out.len()) != self.out.as_bytes().get(*alike..) {
                    return;
                }
                *alike = self.out.len();
            }
            before = Some(node);
            blank = 0;
        }
    }

    /// Whether a quote is a further paragraph of the callout that the one before it is in.
    fn goes_on(&self, before: &Node, node: &Node) -> bool {
        let is_inside = |node: &Node| node.children.is_empty() || holds_in_quote(node, self.terms);
        let is_words = |node: &Node| node.kind == Kind::Quote && !node.inline.is_empty() && is_inside(node);
        is_words(before) && is_words(node) && !is_callout(node)
    }

    fn children(&mut self, node: &Node, prefix: &str, indent: usize, depth: usize) {
        if node.kind.is_item() {
            let inner = format!("{prefix}{:indent$}", "");
            if shares_line(node, &node.children[0], self.terms) {
                self.out.push(' ');
            } else {
                if !joins(node, &node.children[0]) {
                    empty_line(&mut self.out, prefix);
                }
                self.out.push('\n');
                self.out.push_str(&inner);
            }
            return self.level(&node.children, &inner, depth + 1);
        }
        self.doubtful = true;
        if holds_in_quote(node, self.terms) {
            let inner = format!("{prefix}> ");
            if node.inline.is_empty() {
                self.out.push(' ');
                return self.level(&node.children, &inner, depth + 1);
            }
            self.out.push('\n');
            if !joins_quote(node, &node.children[0]) {
                self.out.push_str(inner.trim_end());
                self.out.push('\n');
            }
            self.out.push_str(&inner);
            return self.level(&node.children, &inner, depth + 1);
        }
        for line in [Some("<!-- children -->"), None] {
            empty_line(&mut self.out, prefix);
            self.out.push('\n');
            self.out.push_str(prefix);
            self.out.push_str(line.unwrap_or_default());
        }
        self.level(&node.children, prefix, depth + 1);
        empty_line(&mut self.out, prefix);
        for part in ["\n", prefix, "<!-- /children -->"] {
            self.out.push_str(part);
        }
    }
}

/// Writes the line end, blank lines and prefix between two siblings with `blank` empty paragraphs between them.
pub(crate) fn separator(out: &mut String, before: &Node, after: &Node, blank: usize, prefix: &str) {
    let tight = blank == 0 && same_list(&before.kind, &after.kind) && is_tight(before);
    let lines = if tight { 1 } else { 2 + blank };
    for _ in 1..lines {
        empty_line(out, prefix);
    }
    out.push('\n');
    out.push_str(prefix);
}

/// Ends a line, and writes an empty one without its end: in a quote it has the quote's sign.
pub(crate) fn empty_line(out: &mut String, prefix: &str) {
    out.push('\n');
    if prefix.contains('>') {
        out.push_str(prefix.trim_end());
    }
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
/// paragraph, which the box of a to-do is as well, nor can a number other than 1.
fn joins(node: &Node, child: &Node) -> bool {
    let interrupts = match child.kind {
        Kind::Number(start) => start.is_none() && !child.inline.is_empty(),
        Kind::Check(_) => true,
        _ => child.kind.is_item() && !child.inline.is_empty(),
    };
    let follows_marker = node.inline.is_empty() && !matches!(node.kind, Kind::Check(_));
    child.kind.is_item() && (interrupts || follows_marker)
}

/// Whether a block may be the first beneath an item without text: it is never taken for the item's text.
fn begins_item(node: &Node, terms: Option<&Known<'_>>) -> bool {
    // A rule behind a marker may be one with it.
    let is_construct = || !node.inline.text.starts_with(['-', '*', '_']) && bare::is_construct(node, terms);
    match node.kind {
        Kind::Heading(_) | Kind::Code(_) | Kind::Table(_) | Kind::Quote => true,
        Kind::Paragraph => is_construct(),
        _ => node.kind.is_item(),
    }
}

/// Whether an item's first child stands on the line of its marker.
pub(crate) fn shares_line(node: &Node, child: &Node, terms: Option<&Known<'_>>) -> bool {
    let is_bare = node.inline.is_empty() && node.kind.is_item() && !matches!(node.kind, Kind::Check(_));
    is_bare && !child.kind.is_item() && begins_item(child, terms)
}

/// Whether what is beneath a quote can stand inside of it: a paragraph there would be another quote. Lists, code, tables and
/// what is not the text of a paragraph when it is read are surely none.
pub(crate) fn holds_in_quote(node: &Node, terms: Option<&Known<'_>>) -> bool {
    let are_apart = node.children.windows(2).all(|pair| {
        let are_quotes = matches!((&pair[0].kind, &pair[1].kind), (Kind::Quote, Kind::Quote));
        !are_quotes && !pair[1].is_void()
    });
    // The parser has what follows a quote go on in an empty item at its end.
    let mut last = node;
    while let Some(child) = last.children.last() {
        last = child;
    }
    let ends_empty = last.kind.is_item() && last.inline.is_empty();
    let fit = node.children.iter().all(|child| fits_in_quote(child, terms));
    node.kind == Kind::Quote && are_apart && !ends_empty && fit
}

/// Whether a block can stand inside of the quote that it is beneath.
pub(crate) fn fits_in_quote(child: &Node, terms: Option<&Known<'_>>) -> bool {
    match &child.kind {
        Kind::Bullet | Kind::Number(_) | Kind::Check(_) | Kind::Toggle => true,
        Kind::Heading(_) | Kind::Code(_) | Kind::Table(_) | Kind::Divider | Kind::Quote => true,
        Kind::Hidden(source) => source.starts_with('['),
        Kind::Paragraph => bare::is_construct(child, terms),
        _ => false,
    }
}

/// Whether a quote is a callout by its first line.
fn is_callout(node: &Node) -> bool {
    node.kind == Kind::Quote
        && read::keeps_lines(&node.inline.text, true, true)
        && node.inline.text.starts_with("[!")
}

/// Whether the first of what is beneath a quote follows its text without an empty line.
pub(crate) fn joins_quote(node: &Node, child: &Node) -> bool {
    let is_html = node.inline.text.lines().last().is_some_and(|line| line.contains('<'));
    !node.inline.is_empty() && !is_html && joins(node, child)
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

fn marker(kind: &Kind, number: u64) -> Cow<'static, str> {
    match kind {
        Kind::Number(_) => format!("{}. ", number.min(999_999_999)).into(),
        Kind::Toggle => "+ ".into(),
        Kind::Bullet | Kind::Check(_) => "- ".into(),
        _ => "".into(),
    }
}

/// Writes a block's own lines, without what is beneath it; `true` when they want a second look.
pub(crate) fn line(out: &mut String, node: &Node, at: Line, mode: Mode) -> bool {
    let start = out.len();
    if mode == Mode::Strict {
        return line_with(out, node, at, Escapes::Strict);
    }
    let doubtful = line_with(out, node, at, Escapes::Minimal);
    if node.kind.has_text()
        && has_escape(&node.inline.text, &out[start..])
        && let Some(text) = bare::line(node, at)
    {
        out.truncate(start);
        out.push_str(&text);
        return true;
    }
    doubtful
}

/// Whether a written text has more backslashes than the text itself.
pub(super) fn has_escape(text: &str, written: &str) -> bool {
    let count = |text: &str| text.bytes().filter(|b| *b == b'\\').count();
    count(written) > count(text)
}

/// As [`line`], with one way of escaping.
pub(super) fn line_with(out: &mut String, node: &Node, at: Line, escapes: Escapes) -> bool {
    let text =
        |out: &mut String, place, prefix: &str| write_inline(out, &node.inline, place, prefix, escapes);
    match &node.kind {
        Kind::Heading(level) => {
            out.extend(std::iter::repeat_n('#', usize::from(*level)));
            if node.inline.is_empty() {
                return true;
            }
            out.push(' ');
            return text(out, Place::Heading, "");
        }
        Kind::Bullet | Kind::Number(_) | Kind::Toggle | Kind::Check(_) => {
            return item(out, node, at, escapes);
        }
        Kind::Quote => {
            out.push('>');
            if !node.inline.is_empty() {
                out.push(' ');
                return text(out, Place::Quote, &format!("{}> ", at.prefix));
            }
        }
        Kind::Code(language) => fence(out, language, &node.inline.text, at.prefix),
        Kind::Divider => out.push_str(if at.first { "***" } else { "---" }),
        Kind::Placeholder(label) => {
            out.push_str("<!-- block: ");
            out.push_str(label);
            out.push_str(" -->");
        }
        Kind::Hidden(source) => bare::as_typed(out, source, at.prefix),
        Kind::Paragraph if node.inline.is_empty() => out.push_str("<!-- empty -->"),
        Kind::Media(media) => {
            out.push_str(if media.file { "[" } else { "![" });
            write_inline(out, &Inline::plain(&media.name), Place::Label, "", Escapes::Strict);
            out.push_str("](");
            destination(out, &media.url, Place::Label);
            if !media.caption.is_empty() {
                out.push(' ');
                title(out, &media.caption, Place::Label);
            }
            out.push_str(if media.file { ")<!-- file -->" } else { ")" });
        }
        Kind::Table(table) => rows(out, table, at.prefix, escapes),
        Kind::Paragraph if is_verbatim(&node.inline) => bare::as_typed(out, &node.inline.text, at.prefix),
        Kind::Paragraph | Kind::Open | Kind::Close => return text(out, Place::Paragraph, at.prefix),
    }
    true
}

/// Whether a text is written as it is: display mathematics, in which Markdown has no say, and notes of several paragraphs.
fn is_verbatim(inline: &Inline) -> bool {
    (inline.text.starts_with("$$") || inline.text.contains("\n\n"))
        && inline.marks.iter().all(|mark| mark.style == 0 && matches!(mark.what, What::Text))
        && read::is_verbatim(&inline.text)
}

fn item(out: &mut String, node: &Node, at: Line, escapes: Escapes) -> bool {
    out.push_str(at.marker);
    if let Kind::Check(on) = node.kind {
        out.push_str(if on { "[x] " } else { "[ ] " });
    }
    if !node.inline.is_empty() {
        let inner = format!("{}{:width$}", at.prefix, "", width = at.marker.len());
        let place = if matches!(node.kind, Kind::Check(_)) { Place::Paragraph } else { Place::Item };
        return write_inline(out, &node.inline, place, &inner, escapes);
    }
    // Else the first child would be its text, or readers would disagree on whose line it is.
    let is_check = matches!(node.kind, Kind::Check(_));
    let apart = |child: &Node| !begins_item(child, at.terms) || is_check && !joins(node, child);
    if node.children.first().is_some_and(apart) {
        out.push_str("<!-- empty -->");
    } else {
        out.truncate(out.trim_end_matches(' ').len());
    }
    true
}

fn fence(out: &mut String, language: &str, code: &str, prefix: &str) {
    // What stands behind backticks may hold none.
    let sign = if language.contains('`') { '~' } else { '`' };
    let mut longest = 2;
    for line in code.split('\n') {
        longest = longest.max(line.trim_start().chars().take_while(|&c| c == sign).count());
    }
    let fence = |out: &mut String| out.extend(std::iter::repeat_n(sign, longest + 1));
    fence(out);
    if language.starts_with(sign) {
        out.push(' ');
    }
    for c in language.chars() {
        if matches!(c, '\\' | '&') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('\n');
    if !code.is_empty() {
        for line in code.split('\n') {
            match line.is_empty() {
                true if prefix.contains('>') => out.push_str(prefix.trim_end()),
                true => {}
                false => {
                    out.push_str(prefix);
                    out.push_str(line);
                }
            }
            out.push('\n');
        }
    }
    out.push_str(prefix);
    fence(out);
}
