//! The inline events of one block to styled text.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{CowStr, Event, LinkType, Tag, TagEnd};

use super::super::lower::{is_label, push_text, settle_breaks};
use super::super::plain::{BOLD, CODE, ITALIC, ITEM, Inline, Link, Mark, STRIKE, UNDERLINE, What};

/// Events with their places in the text.
pub(super) type Events<'t> = [(Event<'t>, Range<usize>)];

/// What the events of a block say, and what they say with links as their source, where that differs.
pub(super) fn inline(
    text: &str,
    events: &Events,
    items: &BTreeSet<String>,
    exact: bool,
) -> (Inline, Option<Inline>) {
    let underlines = underlines(events);
    let natural = Builder::new(text, items, &underlines, false).run(events, exact);
    if !natural.has_link() {
        return (natural, None);
    }
    let literal = Builder::new(text, items, &underlines, true).run(events, exact);
    (natural, Some(literal))
}

/// The events that open or close a `<u>` that has its partner.
fn underlines(events: &Events) -> BTreeSet<usize> {
    let mut pairs = BTreeSet::new();
    let mut open = Vec::new();
    for (at, (event, _)) in events.iter().enumerate() {
        if let Event::InlineHtml(html) = event {
            if html.eq_ignore_ascii_case("<u>") {
                open.push(at);
            } else if html.eq_ignore_ascii_case("</u>")
                && let Some(from) = open.pop()
            {
                pairs.extend([from, at]);
            }
        }
    }
    pairs
}

struct Builder<'a> {
    source: &'a str,
    items: &'a BTreeSet<String>,
    underlines: &'a BTreeSet<usize>,
    literal_links: bool,
    out: Inline,
    depth: [u32; 5],
    link: What,
    /// Byte places of line breaks whose style is that of the text before or after them.
    belongs: Vec<(usize, bool)>,
}

impl<'a> Builder<'a> {
    fn new(
        source: &'a str,
        items: &'a BTreeSet<String>,
        underlines: &'a BTreeSet<usize>,
        literal_links: bool,
    ) -> Self {
        Self {
            source,
            items,
            underlines,
            literal_links,
            out: Inline::default(),
            depth: [0; 5],
            link: What::Text,
            belongs: Vec::new(),
        }
    }

    fn run(mut self, events: &Events, exact: bool) -> Inline {
        let mut at = 0;
        while at < events.len() {
            at = self.event(events, at);
        }
        self.settle(exact);
        self.out
    }

    fn event(&mut self, events: &Events, at: usize) -> usize {
        let (event, range) = &events[at];
        match event {
            Event::Text(text) => self.text(text),
            Event::Code(code) => {
                let style = self.style() | CODE;
                push_text(&mut self.out, code, style, &self.link);
            }
            Event::SoftBreak => {
                if is_break(events.get(at + 1)) {
                    self.belongs.push((self.out.text.len(), false));
                    self.text("\n");
                    return at + 2;
                }
                self.text(" ");
            }
            Event::HardBreak => self.text("\n"),
            Event::InlineHtml(html) | Event::Html(html) => {
                if is_line_break(html) {
                    if matches!(events.get(at + 1), Some((Event::SoftBreak, _))) {
                        self.belongs.push((self.out.text.len(), true));
                        self.text("\n");
                        return at + 2;
                    }
                    self.text("\n");
                } else if self.underlines.contains(&at) {
                    if html.starts_with("</") { self.leave(3) } else { self.enter(3) }
                } else if !matches!(&**html, "<!-- -->" | "<!-- empty -->") {
                    self.literal(range.clone());
                }
            }
            Event::Start(Tag::Strong) => self.enter(0),
            Event::End(TagEnd::Strong) => self.leave(0),
            Event::Start(Tag::Emphasis) => self.enter(1),
            Event::End(TagEnd::Emphasis) => self.leave(1),
            Event::Start(Tag::Strikethrough) => self.enter(2),
            Event::End(TagEnd::Strikethrough) => self.leave(2),
            Event::Start(Tag::Link { link_type: LinkType::Email, dest_url, title, .. }) => {
                return self.link(events, at, &format!("mailto:{dest_url}"), title);
            }
            Event::Start(Tag::Link { dest_url, title, .. }) => return self.link(events, at, dest_url, title),
            Event::End(TagEnd::Link) => self.link = What::Text,
            Event::Start(Tag::Image { .. }) => {
                self.literal(range.clone());
                return skip(events, at);
            }
            Event::TaskListMarker(_) | Event::Start(_) | Event::End(_) => {}
            _ => self.literal(range.clone()),
        }
        at + 1
    }

    fn link(&mut self, events: &Events, at: usize, href: &str, title: &str) -> usize {
        let range = events[at].1.clone();
        let end = skip(events, at);
        if is_label(href) && self.items.contains(href) {
            self.out.push(ITEM.encode_utf8(&mut [0; 4]), 0, &What::Item(href.into()));
            return end;
        }
        let empty = events[at + 1..end - 1].iter().all(|(event, _)| !says_something(event));
        // A label of nothing that the page holds is no address either.
        if self.literal_links
            || is_label(href)
            || empty
            || !title.is_empty()
            || href.chars().any(char::is_control)
        {
            self.literal(range);
            return end;
        }
        self.link = What::Link(Box::new(Link { href: href.to_owned(), title: title.to_owned() }));
        at + 1
    }

    fn text(&mut self, text: &str) {
        let style = self.style();
        push_text(&mut self.out, text, style, &self.link);
    }

    /// The source itself, its lines joined by spaces.
    fn literal(&mut self, range: Range<usize>) {
        let source = self.source.get(range).unwrap_or("");
        let mut lines = source.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or("").to_owned();
        let joined = lines.fold(first, |all, line| all + " " + line.trim_start_matches(['>', ' ']));
        self.text(&joined);
    }

    fn style(&self) -> u8 {
        let bit = |at: usize, bit: u8| if self.depth[at] > 0 { bit } else { 0 };
        bit(0, BOLD) | bit(1, ITALIC) | bit(2, STRIKE) | bit(3, UNDERLINE)
    }

    fn enter(&mut self, at: usize) {
        self.depth[at] += 1;
    }

    fn leave(&mut self, at: usize) {
        self.depth[at] = self.depth[at].saturating_sub(1);
    }

    /// Gives line breaks the style that their spelling says.
    fn settle(&mut self, exact: bool) {
        if !self.out.text.contains('\n') {
            return;
        }
        settle_breaks(&mut self.out, false);
        if !exact {
            return;
        }
        for (at, before) in std::mem::take(&mut self.belongs) {
            restyle(&mut self.out, at, before);
        }
    }
}

/// Gives the break at byte `at` the style of its neighbour, where it stands alone between two texts.
fn restyle(inline: &mut Inline, at: usize, before: bool) {
    let bytes = inline.text.as_bytes();
    let alone = at > 0 && at + 1 < bytes.len() && bytes[at - 1] != b'\n' && bytes[at + 1] != b'\n';
    if !alone {
        return;
    }
    let mark_at = |place: usize| {
        let mut end = 0;
        inline.marks.iter().find(|mark| {
            end += mark.len;
            place < end
        })
    };
    let neighbour = mark_at(if before { at - 1 } else { at + 1 });
    let (Some(own), Some(neighbour)) = (mark_at(at), neighbour) else { return };
    if own.what != What::Text || own.style == neighbour.style {
        return;
    }
    let style = neighbour.style;
    let mut out = Inline::default();
    let mut from = 0;
    for Mark { len, style: old, what } in &inline.marks {
        let text = &inline.text[from..from + len];
        if (from..from + len).contains(&at) {
            out.push(&text[..at - from], *old, what);
            out.push("\n", style, what);
            out.push(&text[at - from + 1..], *old, what);
        } else {
            out.push(text, *old, what);
        }
        from += len;
    }
    *inline = out;
}

fn says_something(event: &Event) -> bool {
    match event {
        Event::Text(_) | Event::Code(_) | Event::HardBreak | Event::SoftBreak => true,
        Event::InlineHtml(html) => !matches!(&**html, "<!-- -->" | "<!-- empty -->" | "<u>" | "</u>"),
        Event::Start(Tag::Image { .. }) => true,
        _ => false,
    }
}

fn is_break(event: Option<&(Event, Range<usize>)>) -> bool {
    matches!(event, Some((Event::InlineHtml(html), _)) if is_line_break(html))
}

fn is_line_break(html: &CowStr) -> bool {
    matches!(&**html, "<br>" | "<br/>" | "<br />" | "<BR>")
}

/// The place behind the end of what starts at `at`.
fn skip(events: &Events, at: usize) -> usize {
    let mut depth = 0usize;
    for (offset, (event, _)) in events[at..].iter().enumerate() {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + offset + 1;
        }
    }
    events.len()
}
