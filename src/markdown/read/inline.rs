//! The inline events of one block to styled text.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{CowStr, Event, LinkType, Tag, TagEnd};

use super::super::lower::{is_label, push_text, settle_breaks};
use super::super::plain::{BOLD, CODE, ITALIC, ITEM, Inline, Link, Mark, STRIKE, UNDERLINE, What};
use super::super::shapes::is_local;
use super::hiding::hidden;
use super::source::{one_space, strip};

/// Events with their places in the text.
pub(super) type Events<'t> = [(Event<'t>, Range<usize>)];

/// Where a block's events come from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// The page's text.
    pub text: &'a str,
    /// The text that the events are of, where that is another one, of the same length.
    pub seen: Option<&'a str>,
    /// Mathematics within lines of the page.
    pub formulas: &'a [Range<usize>],
    /// The page has a `%%` somewhere.
    pub percents: bool,
    /// The block keeps its lines.
    pub lines: bool,
    /// How wide what stands before the block's first line is.
    pub width: usize,
    /// How many quotes it is in.
    pub quoted: usize,
}

impl Source<'_> {
    /// Whether a place is in display mathematics, which keep their lines.
    pub(super) fn in_display(&self, at: usize) -> bool {
        let first = self.formulas.partition_point(|place| place.end <= at);
        let place = self.formulas.get(first).filter(|place| place.start <= at);
        place.is_some_and(|place| self.text[..place.start].ends_with("$$"))
    }
}

/// Which links are read as their source.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Literal {
    None,
    /// Those to places on this machine.
    Local,
    All,
}

/// What is hidden in a text: each with the byte that it stands before.
pub(super) type Pieces = Vec<(usize, Box<str>)>;

/// What the events of a block say.
#[derive(Default)]
pub(super) struct Found {
    /// Its text.
    pub natural: Inline,
    /// The text with links as their source, where that differs, and what is hidden in it.
    pub literal: Option<(Inline, Pieces)>,
    /// The text with links to places on this machine as their source, where that differs, and what is hidden in it.
    pub local: Option<(Inline, Pieces)>,
    /// See [`super::super::plain::Literal`].
    pub untitled: Option<Inline>,
    /// See [`super::super::plain::Literal`].
    pub others: Vec<Inline>,
    /// What is hidden in it: see [`super::super::plain::Beside`].
    pub hidden: Vec<(usize, Box<str>)>,
    /// What the text was read as before comments were hidden and lines were kept.
    pub readings: Vec<Inline>,
}

/// Reads the events of a block.
pub(super) fn inline(source: Source<'_>, events: &Events, items: &BTreeSet<String>, exact: bool) -> Found {
    let underlines = underlines(events);
    let hidden = hidden(source.text, source.seen.unwrap_or(source.text), events, source.percents);
    let build = |literal: Literal, hidden: &[Range<usize>], lines: bool| {
        let source = Source { lines: source.lines && lines, ..source };
        let builder = Builder { literal, hidden, ..Builder::new(source, items, &underlines) };
        builder.run(events, exact)
    };
    let (natural, pieces) = build(Literal::None, &hidden, true);
    let mut found = Found { natural, hidden: pieces, ..Found::default() };
    if found.natural.has_link() {
        found.literal = Some(build(Literal::All, &hidden, true));
        let is_local = |mark: &Mark| matches!(&mark.what, What::Link(link) if is_local(&link.href));
        if found.natural.marks.iter().any(is_local) {
            found.local = Some(build(Literal::Local, &hidden, true));
        }
    }
    others(source, events, &hidden, &underlines, items, exact, &mut found);
    if !hidden.is_empty() {
        found.readings.push(build(Literal::None, &[], true).0);
        found.readings.push(build(Literal::All, &[], true).0);
    }
    if source.lines {
        found.readings.push(build(Literal::None, &[], false).0);
        found.readings.push(build(Literal::All, &[], false).0);
    }
    found
}

/// Adds the readings with titled links as links, and with addresses between angle brackets as bare ones.
fn others(
    source: Source<'_>,
    events: &Events,
    hidden: &[Range<usize>],
    underlines: &BTreeSet<usize>,
    items: &BTreeSet<String>,
    exact: bool,
    found: &mut Found,
) {
    let has = |is: &dyn Fn(&Event) -> bool| events.iter().any(|(event, _)| is(event));
    let titled = has(
        &|event| matches!(event, Event::Start(Tag::Link { link_type: LinkType::Inline, title, .. }) if !title.is_empty()),
    );
    let bare = has(&|event| {
        matches!(event, Event::Start(Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. }))
    });
    let read = |untitled: bool, bare: bool, literal: Literal| {
        let builder = Builder { literal, hidden, untitled, bare, ..Builder::new(source, items, underlines) };
        builder.run(events, exact).0
    };
    if titled {
        found.untitled = Some(read(true, false, Literal::None));
    }
    if bare {
        found.others.extend([read(false, true, Literal::None), read(false, true, Literal::All)]);
        if titled {
            found.others.push(read(true, true, Literal::None));
        }
    }
}

/// The events that open or close a `<u>` that has its partner.
pub(super) fn underlines(events: &Events) -> BTreeSet<usize> {
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

pub(super) struct Builder<'a> {
    pub(super) source: Source<'a>,
    /// What is left out.
    pub(super) hidden: &'a [Range<usize>],
    /// What was left out, with its place in the text.
    pub(super) pieces: Vec<(usize, Box<str>)>,
    items: &'a BTreeSet<String>,
    pub(super) underlines: &'a BTreeSet<usize>,
    pub(super) literal: Literal,
    /// A link with a title is a link without it.
    pub(super) untitled: bool,
    /// An address between angle brackets is its text.
    pub(super) bare: bool,
    pub(super) out: Inline,
    depth: [u32; 5],
    pub(super) link: What,
    /// Byte places of line breaks whose style is that of the text before or after them.
    belongs: Vec<(usize, bool)>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        source: Source<'a>,
        items: &'a BTreeSet<String>,
        underlines: &'a BTreeSet<usize>,
    ) -> Self {
        Self {
            source,
            hidden: &[],
            pieces: Vec::new(),
            items,
            underlines,
            literal: Literal::None,
            untitled: false,
            bare: false,
            out: Inline::default(),
            depth: [0; 5],
            link: What::Text,
            belongs: Vec::new(),
        }
    }

    fn run(mut self, events: &Events, exact: bool) -> (Inline, Vec<(usize, Box<str>)>) {
        if let (Some((_, first)), Some((_, last))) = (events.first(), events.last()) {
            self.out.text.reserve(last.end.saturating_sub(first.start));
        }
        let mut at = 0;
        while at < events.len() {
            at = self.event(events, at);
        }
        self.settle(exact);
        (self.out, self.pieces)
    }

    /// Leaves out what is hidden, once.
    fn hide(&mut self, place: &Range<usize>) {
        let from = place.start;
        if self.hidden[..self.pieces.len()].last().is_some_and(|last| last.start >= from) {
            return;
        }
        let source = &self.source.text[place.clone()];
        let mut lines = source.split('\n').map(|line| line.trim_end_matches('\r'));
        let first = lines.next().unwrap_or("").to_owned();
        let whole = lines.fold(first, |all, line| all + "\n" + line.trim_start_matches([' ', '\t', '>']));
        self.pieces.push((self.out.text.len(), whole.into()));
    }

    /// A text as it stands in the source, in parts around what is hidden.
    fn words(&mut self, text: &str, range: &Range<usize>) {
        let is_source = text.len() == range.len();
        let source = self.source.text;
        let text = if self.source.seen.is_some() && is_source {
            source.get(range.clone()).unwrap_or(text)
        } else {
            text
        };
        if self.hidden.is_empty() || !is_source {
            return self.text(text);
        }
        let mut from = range.start;
        let first = self.hidden.partition_point(|place| place.end <= from);
        for place in self.hidden[first..].iter().take_while(|place| place.start < range.end) {
            if place.start > from {
                self.text(&text[from - range.start..place.start - range.start]);
            }
            self.hide(place);
            from = place.end.min(range.end);
        }
        self.text(&text[from - range.start..]);
    }

    /// The line end of a block that keeps its lines, with the white space that the next line begins with.
    fn line(&mut self, events: &Events, at: usize) {
        let next = events.get(at + 1).map_or(0, |(_, range)| range.start);
        let text = self.source.text;
        let from = text[..next].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let lead = text.get(from..next).unwrap_or("");
        let kept = strip(lead, self.source.width, self.source.quoted);
        let kept = if kept.chars().all(|c| c == ' ') { kept } else { "" };
        self.text("\n");
        self.text(kept);
    }

    pub(super) fn event(&mut self, events: &Events, at: usize) -> usize {
        let (event, range) = &events[at];
        let first = self.hidden.partition_point(|place| place.end <= range.start);
        let over = |place: &&Range<usize>| place.start <= range.start && range.end <= place.end;
        if let Some(place) = self.hidden.get(first).filter(|_| !range.is_empty()).filter(over) {
            self.hide(place);
            return if matches!(event, Event::Start(_)) { skip(events, at) } else { at + 1 };
        }
        match event {
            Event::Text(text) => self.words(text, range),
            Event::Code(code) => {
                let style = self.style() | CODE;
                let source = self.source.text.get(range.clone()).unwrap_or_default();
                let code = if source.contains("\r\n") { one_space(source, code) } else { (&**code).into() };
                push_text(&mut self.out, &code, style, &self.link);
            }
            Event::SoftBreak | Event::HardBreak
                if self.source.lines || self.source.in_display(range.start) =>
            {
                self.line(events, at);
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
            Event::Start(Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. }) if self.bare => {
                self.literal(range.start + 1..range.end.saturating_sub(1));
                return skip(events, at);
            }
            Event::Start(Tag::Link { link_type: LinkType::Email, dest_url, title, .. }) => {
                return self.link(events, at, &format!("mailto:{dest_url}"), title);
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                // A footnote is no link, and the title of a definition stays there.
                if id.starts_with('^') {
                    self.literal(range.clone());
                    return skip(events, at);
                }
                let title = if *link_type == LinkType::Inline && !self.untitled { title } else { "" };
                return self.link(events, at, dest_url, title);
            }
            Event::End(TagEnd::Link) => self.link = What::Text,
            Event::Start(Tag::Image { link_type, dest_url, title, .. }) => {
                let end = skip(events, at);
                match *link_type {
                    LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut => {
                        // The definition stays in the file, so the text says where the picture is.
                        let inner = events[at + 1..end.saturating_sub(1)].iter().map(|(_, range)| range.end);
                        self.literal(range.start..inner.max().unwrap_or(range.start + 2));
                        self.text(&address(dest_url, title));
                    }
                    _ => self.literal(range.clone()),
                }
                return end;
            }
            Event::TaskListMarker(_) | Event::Start(_) | Event::End(_) => {}
            _ => self.literal(range.clone()),
        }
        at + 1
    }

    fn link(&mut self, events: &Events, at: usize, href: &str, title: &str) -> usize {
        let range = extent(self.source.text, &events[at]);
        let end = skip(events, at);
        if is_label(href) && self.items.contains(href) {
            self.out.push(ITEM.encode_utf8(&mut [0; 4]), 0, &What::Item(href.into()));
            return end;
        }
        let empty = events[at + 1..end - 1].iter().all(|(event, _)| !says_something(event));
        // A label of nothing that the page holds is no address either.
        if self.literal == Literal::All
            || self.literal == Literal::Local && is_local(href)
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

    /// The source itself without what is hidden in it, its lines joined by spaces.
    fn literal(&mut self, range: Range<usize>) {
        let mut from = range.start;
        let hidden = self.hidden;
        let first = hidden.partition_point(|place| place.end <= range.start);
        let inside = hidden[first..].iter().take_while(|place| place.start < range.end);
        for place in inside.filter(|place| range.start < place.start && place.end < range.end) {
            self.joined(from..place.start);
            self.hide(place);
            from = place.end;
        }
        self.joined(from..range.end);
    }

    fn joined(&mut self, range: Range<usize>) {
        let source = self.source.text.get(range).unwrap_or("");
        if !source.contains(['\n', '\r']) {
            return self.text(source);
        }
        let mut lines = source.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or("").to_owned();
        let joined = lines.fold(first, |all, line| all + " " + line.trim_start_matches(['>', ' ']));
        self.text(&joined);
    }

    pub(super) fn style(&self) -> u8 {
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
    pub(super) fn settle(&mut self, exact: bool) {
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

/// The place of a link or a picture: the parser leaves out the empty brackets behind the text that is its label.
pub(super) fn extent(text: &str, (event, range): &(Event<'_>, Range<usize>)) -> Range<usize> {
    let is_collapsed = matches!(
        event,
        Event::Start(
            Tag::Link { link_type: LinkType::Collapsed, .. }
                | Tag::Image { link_type: LinkType::Collapsed, .. }
        )
    );
    let rest = text.get(range.end..).unwrap_or_default();
    let has_brackets = is_collapsed && rest.starts_with("[]") && !text[range.clone()].ends_with("[]");
    range.start..range.end + if has_brackets { 2 } else { 0 }
}

/// What follows the text of a picture.
fn address(href: &str, title: &str) -> String {
    let is_simple = !href.is_empty() && !href.contains([' ', '(', ')', '<', '>']);
    let href = if is_simple { href.to_owned() } else { format!("<{href}>") };
    let title = if title.is_empty() { String::new() } else { format!(" \"{}\"", title.replace('"', "\\\"")) };
    format!("]({href}{title})")
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
