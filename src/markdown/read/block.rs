//! The block events of a page to nodes with their places in the text.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::super::plain::{Beside, DEPTH_MAX, Inline, Kind, Literal, Node, number};
use super::inline::extent;
use super::level;
use super::mask::{Cover, mask};
use super::source::{columns, is_inline, level_of, lines, strip};
use super::tables;
use super::trace::Traced;

/// Reads a page's text. `items` are the labels of inline items that the page may hold.
pub(crate) fn read(text: &str, items: &BTreeSet<String>) -> Vec<Node> {
    if text.ends_with(']') {
        // The parser sees an empty to-do only when a line end follows; a file may lack its last one.
        return read_ended(&format!("{text}\n"), items);
    }
    read_ended(text, items)
}

/// What is read beyond CommonMark.
pub(crate) const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// Reads a text whose first block's words are traced as well.
pub(crate) fn read_traced(text: &str, items: &BTreeSet<String>) -> (Vec<Node>, Vec<Traced>) {
    let mut traces = Vec::new();
    let nodes = read_with(text, items, Some(&mut traces));
    (nodes, traces)
}

fn read_ended(text: &str, items: &BTreeSet<String>) -> Vec<Node> {
    read_with(text, items, None)
}

fn read_with(text: &str, items: &BTreeSet<String>, traces: Option<&mut Vec<Traced>>) -> Vec<Node> {
    if let Some((parted, places)) = tables::parted(text) {
        let mut nodes = read_masked(&parted, items, traces);
        tables::put_back(&mut nodes, &places);
        return nodes;
    }
    read_masked(text, items, traces)
}

fn read_masked(text: &str, items: &BTreeSet<String>, traces: Option<&mut Vec<Traced>>) -> Vec<Node> {
    let skip = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let masked = mask(text);
    let seen = &masked.text[skip..];
    let (used, notes) = if text.contains("]:") { definitions(seen, skip) } else { Default::default() };
    let mut reader = Reader {
        text,
        masked: (!matches!(masked.text, Cow::Borrowed(_))).then_some(&*masked.text),
        formulas: masked.formulas.clone(),
        covers: masked.covers.clone(),
        used,
        items,
        frames: vec![Frame::new(Holder::Root, 0..text.len())],
        events: Vec::new(),
        leaf: Leaf::None,
        firsts: Vec::new(),
        seen: skip,
        definitions: notes,
        percents: text.contains("%%"),
        traces,
    };
    // As many as there are lines of usual length: to grow a long list is to copy it.
    reader.frames[0].nodes.reserve(text.len() / 64);
    for (event, range) in Parser::new_ext(seen, OPTIONS).into_offset_iter() {
        reader.event(event, range.start + skip..range.end + skip);
    }
    reader.finish()
}

/// The places of the reference definitions that links and pictures of a text use, and whether it has any.
fn definitions(text: &str, skip: usize) -> (Vec<Range<usize>>, bool) {
    let parser = Parser::new_ext(text, OPTIONS).into_offset_iter();
    let places: BTreeMap<String, Range<usize>> = parser
        .reference_definitions()
        .iter()
        .map(|(label, definition)| (folded(label), definition.span.start + skip..definition.span.end + skip))
        .collect();
    if places.is_empty() {
        return (Vec::new(), false);
    }
    let mut used: Vec<Range<usize>> = parser
        .filter_map(|(event, _)| match event {
            Event::Start(Tag::Link { link_type, id, .. } | Tag::Image { link_type, id, .. }) => {
                matches!(link_type, LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut)
                    .then(|| places.get(&folded(&id)).cloned())
                    .flatten()
            }
            _ => None,
        })
        .collect();
    used.sort_unstable_by_key(|range| range.start);
    used.dedup();
    (used, true)
}

/// A label as it is compared.
pub(crate) fn folded(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// What holds blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Holder {
    Root,
    Quote,
    Item,
}

pub(super) struct Frame {
    pub(super) holder: Holder,
    pub(super) at: Range<usize>,
    pub(super) nodes: Vec<Node>,
    /// The list item itself.
    pub(super) item: Option<Node>,
    /// Blank lines before it.
    pub(super) blank: usize,
    /// The list item has its own text, empty or not.
    pub(super) filled: bool,
}

impl Frame {
    fn new(holder: Holder, at: Range<usize>) -> Self {
        Self { holder, at, nodes: Vec::new(), item: None, blank: 0, filled: false }
    }
}

/// The leaf that is being collected.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Leaf {
    None,
    /// A paragraph; `true` when the list item leaves its tags out.
    Paragraph(bool),
    Heading(u8),
    Html(String),
    Code(String, String),
    /// Code by its indentation, line by line with their places.
    Indented(Vec<(String, Range<usize>)>),
    /// With the alignment of each column.
    Table(Vec<u8>),
}

pub(super) struct Reader<'t, 'k> {
    pub(super) text: &'t str,
    /// The text that the parser sees, where that is another one, of the same length.
    pub(super) masked: Option<&'t str>,
    /// Mathematics within lines.
    pub(super) formulas: Vec<Range<usize>>,
    /// What is covered in that text.
    pub(super) covers: Vec<(Range<usize>, Cover)>,
    /// The places of reference definitions that are used.
    pub(super) used: Vec<Range<usize>>,
    pub(super) items: &'k BTreeSet<String>,
    pub(super) frames: Vec<Frame>,
    pub(super) events: Vec<(Event<'k>, Range<usize>)>,
    pub(super) leaf: Leaf,
    /// For each open list, whether its first item is still to come.
    pub(super) firsts: Vec<bool>,
    /// Everything before this byte has been accounted for.
    pub(super) seen: usize,
    pub(super) definitions: bool,
    /// There is a `%%` somewhere.
    pub(super) percents: bool,
    /// Where the words of the first block with any are traced.
    pub(super) traces: Option<&'k mut Vec<Traced>>,
}

impl<'k> Reader<'_, 'k> {
    fn event(&mut self, event: Event<'k>, range: Range<usize>) {
        match (&mut self.leaf, &event) {
            (Leaf::Table(_), Event::End(TagEnd::Table)) => return self.table(range),
            (Leaf::Table(_), _) => return self.events.push((event, range)),
            (Leaf::Html(html), Event::Html(text)) => return html.push_str(text),
            (Leaf::Html(_), Event::End(TagEnd::HtmlBlock)) => return self.html(range),
            (Leaf::Code(_, code), Event::Text(text)) => return code.push_str(text),
            (Leaf::Code(language, code), Event::End(TagEnd::CodeBlock)) => {
                let (language, code) = (std::mem::take(language), std::mem::take(code));
                self.leaf = Leaf::None;
                return self.code(language, code, range);
            }
            (Leaf::Indented(code), Event::Text(text)) => return code.push((text.to_string(), range)),
            (Leaf::Indented(_), Event::End(TagEnd::CodeBlock)) => return self.indented(range),
            (Leaf::Paragraph(false), Event::End(TagEnd::Paragraph)) => return self.paragraph(range),
            (Leaf::Heading(_), Event::End(TagEnd::Heading(_))) => return self.heading(range),
            _ => {}
        }
        if is_inline(&event) {
            if matches!(self.leaf, Leaf::None) {
                self.open_leaf(Leaf::Paragraph(true), range.start);
            }
            if let Event::TaskListMarker(on) = event {
                if let Some(item) = self.frames.last_mut().and_then(|frame| frame.item.as_mut()) {
                    item.kind = Kind::Check(on);
                    item.at.end = item.at.end.max(range.end);
                }
                self.seen = self.seen.max(range.end);
                return;
            }
            self.events.push((event, range));
            return;
        }
        self.close_implicit();
        match event {
            Event::Start(Tag::Paragraph) => self.open_leaf(Leaf::Paragraph(false), range.start),
            Event::Start(Tag::Heading { level, .. }) => {
                self.open_leaf(Leaf::Heading(level_of(level)), range.start)
            }
            Event::Start(Tag::HtmlBlock) => self.open_leaf(Leaf::Html(String::new()), range.start),
            Event::Start(Tag::CodeBlock(kind)) => {
                let leaf = match kind {
                    CodeBlockKind::Fenced(info) => Leaf::Code(info.trim().to_owned(), String::new()),
                    CodeBlockKind::Indented => Leaf::Indented(Vec::new()),
                };
                self.open_leaf(leaf, range.start);
            }
            Event::Start(Tag::Table(aligns)) => {
                let aligns = aligns.iter().map(|align| match align {
                    Alignment::Center => b'c',
                    Alignment::Right => b'r',
                    Alignment::Left | Alignment::None => b' ',
                });
                self.open_leaf(Leaf::Table(aligns.collect()), range.start);
            }
            Event::Start(Tag::BlockQuote(_)) => {
                self.definitions_before(range.start);
                self.seen = range.start;
                let mut frame = Frame::new(Holder::Quote, range);
                frame.blank = self.blank_before(frame.at.start);
                self.frames.push(frame);
            }
            Event::End(TagEnd::BlockQuote(_)) => self.close_quote(range.end),
            Event::Start(Tag::List(_)) => self.firsts.push(true),
            Event::End(TagEnd::List(_)) => {
                self.firsts.pop();
            }
            Event::Start(Tag::Item) => self.open_item(range),
            Event::End(TagEnd::Item) => self.close_item(range.end),
            Event::Rule => self.rule(range),
            // Extensions that bring other blocks are off.
            _ => {}
        }
    }

    fn finish(mut self) -> Vec<Node> {
        self.close_implicit();
        self.definitions_before(self.text.len());
        while self.frames.len() > 1 {
            self.close_quote(self.text.len());
        }
        let mut nodes = self.frames.pop().map_or_else(Vec::new, |frame| level::fold(frame.nodes, 0));
        level::end(&mut nodes);
        level::numbers(&mut nodes);
        number(&mut nodes);
        nodes
    }

    fn open_leaf(&mut self, leaf: Leaf, start: usize) {
        self.definitions_before(start);
        self.seen = self.seen.max(start);
        self.leaf = leaf;
        self.events.clear();
    }

    /// Ends a paragraph whose tags a tight list item leaves out.
    fn close_implicit(&mut self) {
        if matches!(self.leaf, Leaf::Paragraph(true)) {
            let mut end = self.events.last().map_or(self.seen, |(_, range)| range.end);
            if self.text[end..].starts_with("[]") {
                let ends = self.events.iter().map(|event| extent(self.text, event).end);
                end = ends.max().unwrap_or(end);
            }
            let start = self.events.first().map_or(self.seen, |(_, range)| range.start);
            self.paragraph(start..end.max(start));
        }
    }

    fn open_item(&mut self, range: Range<usize>) {
        self.definitions_before(range.start);
        let first = self.firsts.last_mut().is_some_and(|first| std::mem::replace(first, false));
        // The range counts the columns of its indentation as bytes: where a tab is as wide as several, it begins in what stands
        // before that.
        let rest = &self.text[range.start..];
        let rest = rest.trim_start_matches([' ', '\t', '\n', '\r', '>']);
        let start = self.text.len() - rest.len();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let kind = match rest.as_bytes().first() {
            Some(b'+') => Kind::Toggle,
            Some(b'0'..=b'9') => Kind::Number(None),
            _ => Kind::Bullet,
        };
        let mut item = Node::new(kind, start..start + digits + 1);
        item.number = rest[..digits].parse().unwrap_or(1);
        item.list_first = first;
        let marker =
            rest.get(..=digits).filter(|marker| digits > 0 && *marker != format!("{}.", item.number));
        item.literal = marker
            .map(|marker| Box::new(Literal { prefix: Some(format!("{marker} ")), ..Literal::default() }));
        let mut frame = Frame::new(Holder::Item, range);
        frame.blank = self.blank_before(start);
        self.seen = self.seen.max(item.at.end);
        frame.item = Some(item);
        self.frames.push(frame);
    }

    fn close_item(&mut self, end: usize) {
        self.definitions_before(end);
        let depth = self.frames.len() - 1;
        let Some(frame) = self.frames.pop() else { return };
        let Some(mut item) = frame.item else { return };
        let mut nodes = frame.nodes;
        if !frame.filled && !nodes.is_empty() && nodes.iter().all(Node::is_hidden) {
            level::only_hidden(&mut item, std::mem::take(&mut nodes));
        }
        item.end = nodes.last().map_or(item.at.end, |node| node.end.max(item.at.end));
        item.children = level::fold(nodes, depth);
        level::numbers(&mut item.children);
        self.push_node(item, frame.blank);
    }

    fn close_quote(&mut self, end: usize) {
        self.definitions_before(end);
        let depth = self.frames.len() - 1;
        let Some(frame) = self.frames.pop() else { return };
        let mut nodes = level::fold(frame.nodes, depth);
        level::numbers(&mut nodes);
        for (at, node) in level::quotes(nodes, self.trimmed(frame.at), self.text).into_iter().enumerate() {
            self.push_node(node, if at == 0 { frame.blank } else { 0 });
        }
    }

    /// Adds a block to what is open: the first paragraph of an item is the item's own text.
    pub(super) fn add(&mut self, node: Node) {
        let blank = self.blank_before(node.at.start);
        let Some(frame) = self.frames.last_mut() else { return };
        if let Some(item) = &mut frame.item
            && frame.nodes.iter().all(Node::is_hidden)
            && node.kind == Kind::Paragraph
            && node.children.is_empty()
            && !frame.filled
        {
            item.inline = node.inline;
            item.beside = level::led(std::mem::take(&mut frame.nodes), node.beside);
            let prefix = item.literal.take().and_then(|literal| literal.prefix);
            item.literal = node.literal;
            if prefix.is_some() {
                item.literal.get_or_insert_with(|| Box::new(Literal::default())).prefix = prefix;
            }
            item.at.end = node.at.end;
            frame.filled = true;
            return;
        }
        self.push_node(node, blank);
    }

    fn push_node(&mut self, mut node: Node, blank: usize) {
        let depth = self.frames.len() - 1;
        let Some(frame) = self.frames.last_mut() else { return };
        if let Some(last) = frame.nodes.iter().rfind(|node| !node.is_hidden())
            && last.kind != Kind::Open
            && !matches!(node.kind, Kind::Open | Kind::Close)
        {
            let at = frame.nodes.last().map_or(last.end, |last| last.end);
            for _ in 1..blank.min(MAX_BLANK) {
                let mut empty = Node::new(Kind::Paragraph, at..at);
                empty.blank = true;
                frame.nodes.push(empty);
            }
        }
        if depth + 1 < DEPTH_MAX {
            return frame.nodes.push(node);
        }
        let beneath = std::mem::take(&mut node.children);
        // What only holds the rest says nothing here: else so many signs in a row would make as many blocks.
        if beneath.is_empty() || !is_mere_holder(&node) {
            frame.nodes.push(node);
        }
        if frame.nodes.is_empty() {
            frame.nodes = beneath;
        } else {
            frame.nodes.extend(beneath);
        }
    }

    /// Blank lines directly above the line that holds byte `at`, where something stands above it in what is open.
    fn blank_before(&self, at: usize) -> usize {
        if self.frames.last().is_none_or(|frame| frame.nodes.is_empty()) {
            return 0;
        }
        let bytes = &self.text.as_bytes()[..at];
        let line = bytes.iter().rposition(|b| matches!(b, b'\n' | b'\r')).map_or(0, |i| i + 1);
        let is_blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
        let from = line - bytes[..line].iter().rev().take_while(|b| is_blank(b)).count();
        let blank = &bytes[from..line];
        let ends = blank.iter().filter(|b| matches!(b, b'\n' | b'\r')).count();
        let pairs = blank.windows(2).filter(|pair| *pair == b"\r\n").count();
        // The first one ends what stands above.
        (ends - pairs).saturating_sub(usize::from(from > 0))
    }

    /// Link reference definitions make no event; they are kept as the text of a paragraph.
    pub(super) fn definitions_before(&mut self, at: usize) {
        if self.seen >= at || !self.definitions && self.covers.is_empty() {
            return;
        }
        let is_next = |reader: &Self| {
            let from = reader.covers.partition_point(|(place, _)| place.start < reader.seen);
            let mut covers = reader.covers[from..].iter().take_while(|(place, _)| place.end <= at);
            covers.find(|(_, cover)| *cover == Cover::Comment).map(|(place, _)| place.clone())
        };
        while let Some(place) = is_next(self) {
            self.defined(place.start);
            self.seen = place.end;
            self.add(Node::new(Kind::Hidden(self.source(&place).into()), place));
        }
        self.defined(at);
    }

    /// Reference definitions before a place: they are hidden. Those that are used are text where links are.
    fn defined(&mut self, at: usize) {
        if !self.definitions || self.seen >= at {
            return;
        }
        let gap = &self.text[self.seen..at];
        let Some(open) = gap.find('[') else { return };
        if !gap[open..].contains("]:") {
            return;
        }
        let start = self.seen + open;
        // The lines behind the last definition hold nothing but the signs of quotes; its own may end in `>`.
        let mut rest = gap;
        while let Some((above, last)) = rest.rsplit_once(['\n', '\r'])
            && is_empty_line(last)
        {
            rest = above;
        }
        let end = start.max(self.seen + rest.trim_end().len());
        self.seen = at;
        let first = self.used.partition_point(|place| place.start < start);
        let used: Vec<Range<usize>> =
            self.used[first..].iter().take_while(|place| place.start < end).cloned().collect();
        let mut from = start;
        for place in used {
            self.unused(from..place.start);
            let place = self.trimmed(place);
            from = place.end;
            self.hidden_definition(place, true);
        }
        self.unused(from..end);
    }

    /// Definitions that are not used. An empty line parts them: it may stand for an empty paragraph.
    fn unused(&mut self, place: Range<usize>) {
        // Empty where a used definition reaches to its end or beyond it.
        let Some(text) = self.text.get(place.clone()) else { return };
        let mut at = 0;
        while let Some(open) = text[at..].find('[') {
            let start = at + open;
            let lines = text[start..].split_inclusive('\n').take_while(|line| !is_empty_line(line));
            at = start + lines.map(str::len).sum::<usize>();
            let own = self.trimmed(place.start + start..place.start + at);
            self.hidden_definition(own, false);
        }
    }

    fn hidden_definition(&mut self, place: Range<usize>, is_used: bool) {
        let source = self.source(&place);
        let readings = vec![Inline::plain(&source)];
        let mut node = Node::new(Kind::Hidden(source.into()), place);
        node.beside = Some(Box::new(Beside { readings, is_used, ..Beside::default() }));
        self.add(node);
    }

    /// The source of a construct without the prefixes of what it stands in.
    pub(super) fn source(&self, range: &Range<usize>) -> String {
        let source = lines(&self.text[range.clone()]);
        let (width, quoted) = self.lead(range);
        let mut out = String::new();
        for (at, line) in source.split('\n').enumerate() {
            let mut line = line;
            if at > 0 {
                out.push('\n');
                line = strip(line, width, quoted);
            }
            out.push_str(line);
        }
        out
    }

    /// How wide what stands before a place on its line is, and how many quotes it is in.
    pub(super) fn lead(&self, range: &Range<usize>) -> (usize, usize) {
        let from = self.text[..range.start].rfind(['\n', '\r']).map_or(0, |i| i + 1);
        let quoted = self.frames.iter().filter(|frame| frame.holder == Holder::Quote).count();
        let lead = &self.text[from..range.start];
        // The parser has a text begin behind the backslash of its first character.
        let lead = lead.strip_suffix('\\').unwrap_or(lead);
        // Further lines of a task are indented as those of any item.
        let marker = ["[ ]", "[x]", "[X]"].iter().find_map(|marker| lead.trim_end().strip_suffix(marker));
        (columns(marker.unwrap_or(lead)), quoted)
    }

    pub(super) fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        let end = range.start + self.text[range.clone()].trim_end_matches([' ', '\t', '\n', '\r']).len();
        range.start..end
    }
}

/// Whether a node without text is there for what is beneath it alone.
fn is_mere_holder(node: &Node) -> bool {
    let holds = matches!(node.kind, Kind::Quote | Kind::Bullet | Kind::Number(_) | Kind::Toggle);
    holds && node.inline.is_empty()
}

/// Whether a line holds no more than the signs of quotes.
fn is_empty_line(line: &str) -> bool {
    line.trim_matches(['>', ' ', '\t', '\r', '\n']).is_empty()
}

/// More blank lines than this are not counted.
const MAX_BLANK: usize = 1 << 20;
