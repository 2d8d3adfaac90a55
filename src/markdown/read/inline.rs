//! The inline events of one block to styled text.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{CowStr, Event, LinkType, Tag, TagEnd};

use super::super::lower::{is_label, push_text, settle_breaks};
use super::super::plain::{BOLD, CODE, ITALIC, ITEM, Inline, Link, Mark, STRIKE, UNDERLINE, What};
use super::super::shapes::is_local;
use super::source::strip;

/// Events with their places in the text.
pub(super) type Events<'t> = [(Event<'t>, Range<usize>)];

/// Where a block's events come from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// The page's text.
    pub text: &'a str,
    /// The events are of another text, of the same length.
    pub masked: bool,
    /// The page has a `%%` somewhere.
    pub percents: bool,
    /// The block keeps its lines.
    pub lines: bool,
    /// How wide what stands before the block's first line is.
    pub width: usize,
    /// How many quotes it is in.
    pub quoted: usize,
}

/// Which links are read as their source.
#[derive(Clone, Copy, PartialEq)]
enum Literal {
    None,
    /// Those to places on this machine.
    Local,
    All,
}

/// A text, and what is hidden in it: see [`super::super::plain::Beside`].
pub(super) type Reading = (Inline, Vec<(usize, Box<str>)>);

/// What the events of a block say.
#[derive(Default)]
pub(super) struct Found {
    /// Its text.
    pub natural: Inline,
    /// The text with links as their source, where that differs, and what is hidden in it.
    pub literal: Option<Reading>,
    /// The text with links to places on this machine as their source, where that differs, and what is hidden in it.
    pub local: Option<Reading>,
    /// What is hidden in it: see [`super::super::plain::Beside`].
    pub hidden: Vec<(usize, Box<str>)>,
    /// What the text was read as before comments were hidden and lines were kept.
    pub readings: Vec<Inline>,
}

/// Reads the events of a block.
pub(super) fn inline(source: Source<'_>, events: &Events, items: &BTreeSet<String>, exact: bool) -> Found {
    let underlines = underlines(events);
    let hidden = hidden(source.text, events, source.percents);
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

/// Whether a tag of HTML is a comment that a person wrote.
fn is_comment(html: &str) -> bool {
    const MARKS: [&str; 4] = ["empty", "file", "children", "/children"];
    if html == "<!-- -->" {
        return false;
    }
    let inside = html.strip_prefix("<!--").map(|html| html.trim_end_matches("-->").trim());
    inside.is_some_and(|inside| !MARKS.contains(&inside) && !inside.starts_with("block:"))
}

/// The places in a block that Markdown hides: comments, and what stands between two `%%` beside white space. White space is
/// not doubled by what is hidden in it.
fn hidden(text: &str, events: &Events, hides_text: bool) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = events
        .iter()
        .filter(|(event, _)| matches!(event, Event::InlineHtml(html) if is_comment(html)))
        .map(|(_, range)| range.clone())
        .collect();
    if places.is_empty() && !hides_text {
        return places;
    }
    let (Some(first), Some(last)) = (events.first(), events.iter().map(|(_, range)| range.end).max()) else {
        return places;
    };
    let block = first.1.start..last;
    if text.get(block.clone()).is_some_and(|text| text.contains("%%")) {
        percents(text, events, &block, &mut places);
    }
    places.iter_mut().for_each(|place| with_white_space(text, &block, place));
    places
}

/// Takes white space into a place that would be doubled without it: a line that holds nothing else goes with its line end.
fn with_white_space(text: &str, block: &Range<usize>, place: &mut Range<usize>) {
    const BLANK: [char; 2] = [' ', '\t'];
    let (head, rest) = (&text[block.start..place.start], &text[place.end..block.end]);
    let spaces = rest.len() - rest.trim_start_matches(BLANK).len();
    let line_end = ["\n", "\r\n", "\r"].iter().find(|end| rest[spaces..].starts_with(**end));
    let ends = rest.is_empty() || line_end.is_some() || rest.starts_with("\\\n") || rest.starts_with("\\\r");
    if !ends {
        let before = text[..place.start].chars().next_back();
        match before {
            // One space stands on both sides of it; more of them are the text's own.
            Some(' ' | '\t') if !head.trim_end_matches(BLANK).is_empty() => place.end += spaces.min(1),
            before if before.is_none_or(char::is_whitespace) => place.end += spaces,
            _ => {}
        }
        return;
    }
    let lead = head.trim_end_matches([' ', '\t', '>']);
    let line = lead.strip_suffix('\n').map(|line| line.trim_end_matches('\r'));
    match (line, line_end) {
        (_, Some(end)) if lead.is_empty() => place.end += spaces + end.len(),
        // A break before it is written on the line above.
        (Some(line), _) if !line.ends_with(['\\', ' ']) => place.start = block.start + line.len(),
        _ => place.start = block.start + head.trim_end_matches(BLANK).len(),
    }
}

/// Whether `%%` behind this text may begin a comment.
pub(crate) fn opens_comment(before: &str) -> bool {
    let opens = |c: char| c.is_whitespace() || matches!(c, '(' | '[' | '{' | '"' | '\'');
    before.chars().next_back().is_none_or(opens)
}

/// Adds the pairs of `%%`.
fn percents(text: &str, events: &Events, block: &Range<usize>, places: &mut Vec<Range<usize>>) {
    let is_text = |at: usize| {
        events.iter().any(|(event, range)| {
            matches!(event, Event::Text(text) if text.len() == range.len())
                && range.contains(&at)
                && at + 2 <= range.end
        })
    };
    let ends = |c: Option<char>| {
        c.is_none_or(|c| c.is_whitespace() || c.is_ascii_punctuation() && !matches!(c, '%' | '`'))
    };
    let mut open: Option<usize> = None;
    let mut at = block.start;
    while let Some(next) = text[at..block.end].find("%%").map(|offset| at + offset) {
        at = next + 2;
        if !is_text(next) || places.iter().any(|place| place.contains(&next)) {
            continue;
        }
        if let Some(from) = open {
            let closes = ends(text[at..block.end].chars().next());
            let fits = |range: &Range<usize>| {
                range.end <= from
                    || range.start >= at
                    || range.start >= from && range.end <= at
                    || range.start <= from && range.end >= at
            };
            if closes && events.iter().all(|(event, range)| matches!(event, Event::Text(_)) || fits(range)) {
                places.push(from..at);
                open = None;
                continue;
            }
        }
        if open.is_none() && opens_comment(&text[..next]) {
            open = Some(next);
        }
    }
    places.sort_unstable_by_key(|place| place.start);
}

/// A text of HTML without its comments, and the comments with their places in it.
pub(super) fn visible(text: &str) -> (String, Vec<(usize, Box<str>)>) {
    let (mut shown, mut hidden) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(from) = rest.find("<!--") {
        let Some(len) = rest[from + 4..].find("-->").map(|at| at + 7) else { break };
        let comment = &rest[from..from + len];
        shown.push_str(&rest[..from]);
        rest = &rest[from + len..];
        if !is_comment(comment) {
            shown.push_str(comment);
            continue;
        }
        let mut source = comment.to_owned();
        let spaces = rest.len() - rest.trim_start_matches([' ', '\t', '\n']).len();
        if spaces > 0 && (shown.is_empty() || shown.ends_with([' ', '\n'])) {
            source.push_str(&rest[..spaces]);
            rest = &rest[spaces..];
        }
        hidden.push((shown.len(), source.into()));
    }
    shown.push_str(rest);
    let kept = shown.trim_end().len();
    shown.truncate(kept);
    hidden.iter_mut().for_each(|(at, _)| *at = kept.min(*at));
    (shown, hidden)
}

/// The comments in the source of a table's cell, or of a note.
pub(crate) fn comments(text: &str) -> Vec<Box<str>> {
    places_of_comments(text).into_iter().map(|place| text[place].into()).collect()
}

/// As [`comments`], with the white space before one that ends its line, and with the line end of one that is its line.
pub(super) fn comments_with_lines(text: &str) -> Vec<Box<str>> {
    let widened = |place: Range<usize>| {
        let (before, after) = (&text[..place.start], &text[place.end..]);
        if !after.is_empty() && !after.starts_with('\n') {
            return text[place].into();
        }
        let before = before.trim_end_matches([' ', '\t']);
        text[before.trim_end_matches('\n').len()..place.end].into()
    };
    places_of_comments(text).into_iter().map(widened).collect()
}

fn places_of_comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(['<', '%']).map(|at| from + at) {
        let rest = &text[at..];
        let len = if let Some(inside) = rest.strip_prefix("<!--") {
            inside.find("-->").map(|end| end + 7).filter(|len| is_comment(&rest[..*len]))
        } else if let Some(inside) = rest.strip_prefix("%%").filter(|_| opens_comment(&text[..at])) {
            inside.find("%%").map(|end| end + 4)
        } else {
            None
        };
        from = at + len.unwrap_or(1);
        found.extend(len.map(|len| at..at + len));
    }
    found
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
    source: Source<'a>,
    /// What is left out.
    hidden: &'a [Range<usize>],
    /// What was left out, with its place in the text.
    pieces: Vec<(usize, Box<str>)>,
    items: &'a BTreeSet<String>,
    underlines: &'a BTreeSet<usize>,
    literal: Literal,
    out: Inline,
    depth: [u32; 5],
    link: What,
    /// Byte places of line breaks whose style is that of the text before or after them.
    belongs: Vec<(usize, bool)>,
}

impl<'a> Builder<'a> {
    fn new(source: Source<'a>, items: &'a BTreeSet<String>, underlines: &'a BTreeSet<usize>) -> Self {
        Self {
            source,
            hidden: &[],
            pieces: Vec::new(),
            items,
            underlines,
            literal: Literal::None,
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
        let text =
            if self.source.masked && is_source { source.get(range.clone()).unwrap_or(text) } else { text };
        if self.hidden.is_empty() || !is_source {
            return self.text(text);
        }
        let mut from = range.start;
        for place in self.hidden {
            if place.end <= from || place.start >= range.end {
                continue;
            }
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

    fn event(&mut self, events: &Events, at: usize) -> usize {
        let (event, range) = &events[at];
        let over =
            |place: &&Range<usize>| place.start <= range.start && range.end <= place.end && !range.is_empty();
        if let Some(place) = self.hidden.iter().find(over) {
            self.hide(place);
            return if matches!(event, Event::Start(_)) { skip(events, at) } else { at + 1 };
        }
        match event {
            Event::Text(text) => self.words(text, range),
            Event::Code(code) => {
                let style = self.style() | CODE;
                push_text(&mut self.out, code, style, &self.link);
            }
            Event::SoftBreak | Event::HardBreak if self.source.lines => self.line(events, at),
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
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                // A footnote is no link, and the title of a definition stays there.
                if id.starts_with('^') {
                    self.literal(range.clone());
                    return skip(events, at);
                }
                let title = if *link_type == LinkType::Inline { title } else { "" };
                return self.link(events, at, dest_url, title);
            }
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
        for place in hidden.iter().filter(|place| range.start < place.start && place.end < range.end) {
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
