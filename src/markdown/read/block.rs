//! The block events of a page to nodes with their places in the text.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::super::plain::{DEPTH_MAX, Inline, Kind, Literal, Media, Node, Table, What, number};
use super::super::shapes::is_sayable;
use super::inline::inline;
use super::level;
use super::source::{is_inline, level_of, lines, placeholder, strip};

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

fn read_ended(text: &str, items: &BTreeSet<String>) -> Vec<Node> {
    let skip = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut reader = Reader {
        text,
        items,
        frames: vec![Frame::new(Holder::Root, 0..text.len())],
        events: Vec::new(),
        leaf: Leaf::None,
        firsts: Vec::new(),
        seen: skip,
        definitions: text.contains("]:"),
    };
    for (event, range) in Parser::new_ext(&text[skip..], OPTIONS).into_offset_iter() {
        reader.event(event, range.start + skip..range.end + skip);
    }
    reader.finish()
}

/// What holds blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Holder {
    Root,
    Quote,
    Item,
}

struct Frame {
    holder: Holder,
    at: Range<usize>,
    nodes: Vec<Node>,
    /// The list item itself.
    item: Option<Node>,
    /// Blank lines before it.
    blank: usize,
    /// The list item has its own text, empty or not.
    filled: bool,
}

impl Frame {
    fn new(holder: Holder, at: Range<usize>) -> Self {
        Self { holder, at, nodes: Vec::new(), item: None, blank: 0, filled: false }
    }
}

/// The leaf that is being collected.
#[derive(Debug, Clone, PartialEq)]
enum Leaf {
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

struct Reader<'t, 'k> {
    text: &'t str,
    items: &'k BTreeSet<String>,
    frames: Vec<Frame>,
    events: Vec<(Event<'t>, Range<usize>)>,
    leaf: Leaf,
    /// For each open list, whether its first item is still to come.
    firsts: Vec<bool>,
    /// Everything before this byte has been accounted for.
    seen: usize,
    definitions: bool,
}

impl<'t> Reader<'t, '_> {
    fn event(&mut self, event: Event<'t>, range: Range<usize>) {
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
            if self.leaf == Leaf::None {
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
        // At the end of a page an empty paragraph shows nowhere, whatever says it.
        nodes.truncate(nodes.iter().rposition(|node| !node.is_void()).map_or(0, |last| last + 1));
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
        if self.leaf == Leaf::Paragraph(true) {
            let end = self.events.last().map_or(self.seen, |(_, range)| range.end);
            let start = self.events.first().map_or(self.seen, |(_, range)| range.start);
            self.paragraph(start..end.max(start));
        }
    }

    fn paragraph(&mut self, range: Range<usize>) {
        self.leaf = Leaf::None;
        if let Some(kind) = self.media() {
            let mut node = Node::new(kind, self.trimmed(range.clone()));
            self.seen = self.seen.max(node.at.end);
            node = or_text(node, self.source(&range));
            return self.add(node);
        }
        let (inline, literal) = inline(self.text, &self.events, self.items, true);
        let mut node = Node::new(Kind::Paragraph, self.trimmed(range));
        node.inline = inline;
        node.literal = literal.map(|inline| Box::new(Literal { inline: Some(inline), ..Literal::default() }));
        self.seen = self.seen.max(node.at.end);
        self.add(node);
    }

    fn heading(&mut self, range: Range<usize>) {
        let Leaf::Heading(level) = std::mem::replace(&mut self.leaf, Leaf::None) else { return };
        let (inline, literal) = inline(self.text, &self.events, self.items, false);
        let mut node = Node::new(Kind::Heading(level), self.trimmed(range));
        node.inline = inline;
        node.literal = literal.map(|inline| Box::new(Literal { inline: Some(inline), ..Literal::default() }));
        self.seen = node.at.end;
        self.add(node);
    }

    fn html(&mut self, range: Range<usize>) {
        let Leaf::Html(html) = std::mem::replace(&mut self.leaf, Leaf::None) else { return };
        let text = lines(&html);
        let at = self.trimmed(range);
        self.seen = at.end;
        let kind = match text.as_str() {
            "<!-- -->" => return,
            "<!-- children -->" => Kind::Open,
            "<!-- /children -->" => Kind::Close,
            "<!-- empty -->" => Kind::Paragraph,
            other => match placeholder(other) {
                Some(label) => Kind::Placeholder(label.into()),
                None => {
                    let mut node = Node::new(Kind::Paragraph, at);
                    node.inline = Inline::plain(&text);
                    // Marked as whole so that it never becomes the text of a list item or quote.
                    return self.add(node);
                }
            },
        };
        self.add(Node::new(kind, at));
    }

    /// Code by its indentation. A line that stands for a block is that block all the same: it comes to stand so when a
    /// person writes a paragraph between it and the item that it was nested under.
    fn indented(&mut self, range: Range<usize>) {
        let Leaf::Indented(lines) = std::mem::replace(&mut self.leaf, Leaf::None) else { return };
        let stands_for = |line: &str| placeholder(line.trim());
        if !lines.iter().any(|(line, _)| stands_for(line).is_some()) {
            let code = lines.into_iter().map(|(line, _)| line).collect();
            return self.code(String::new(), code, range);
        }
        let mut code = String::new();
        let mut at = 0..0;
        for (line, place) in lines {
            if let Some(label) = stands_for(&line) {
                if !code.trim().is_empty() {
                    self.code(String::new(), std::mem::take(&mut code), at.clone());
                }
                code.clear();
                let place = self.trimmed(place);
                self.seen = place.end;
                self.add(Node::new(Kind::Placeholder(label.into()), place));
            } else if !code.is_empty() || !line.trim().is_empty() {
                at = if code.is_empty() { place } else { at.start..place.end };
                code.push_str(&line);
            }
        }
        if !code.trim().is_empty() {
            self.code(String::new(), code, at);
        }
    }

    fn code(&mut self, language: String, mut code: String, range: Range<usize>) {
        let at = self.trimmed(range.clone());
        self.seen = at.end;
        if code.contains('\r') {
            code = code.replace("\r\n", "\n").replace('\r', "\n");
        }
        if code.ends_with('\n') {
            code.pop();
        }
        let whole = self.source(&range);
        let mut node = Node::new(Kind::Code(language.into()), at);
        node.inline.push(&code.replace('\0', "\u{fffd}"), 0, &What::Text);
        self.add(or_text(node, whole));
    }

    fn table(&mut self, range: Range<usize>) {
        let Leaf::Table(align) = std::mem::replace(&mut self.leaf, Leaf::None) else { return };
        let mut rows: [Vec<Vec<Inline>>; 2] = [Vec::new(), Vec::new()];
        let mut cell = 0;
        let mut links = false;
        let (mut told, mut surplus) = (range.start, false);
        for (at, (event, place)) in self.events.iter().enumerate() {
            match event {
                Event::End(TagEnd::TableHead | TagEnd::TableRow) => {
                    let line = self.text[told..].lines().next().unwrap_or_default();
                    surplus |= line.contains(|c: char| c != '|' && !c.is_whitespace());
                }
                Event::Start(Tag::TableHead | Tag::TableRow) => {
                    rows.iter_mut().for_each(|rows| rows.push(Vec::new()))
                }
                Event::Start(Tag::TableCell) => cell = at + 1,
                Event::End(TagEnd::TableCell) => {
                    told = place.end;
                    let (text, literal) = inline(self.text, &self.events[cell..at], self.items, false);
                    links |= literal.is_some();
                    let literal = literal.unwrap_or_else(|| text.clone());
                    for (rows, text) in rows.iter_mut().zip([text, literal]) {
                        if let Some(row) = rows.last_mut() {
                            row.push(text);
                        }
                    }
                }
                _ => {}
            }
        }
        let [natural, literal] = rows.map(|mut rows| {
            rows.iter_mut().for_each(|row| row.resize(align.len(), Inline::default()));
            let header = rows.first().is_some_and(|row| row.iter().any(|cell| !cell.is_empty()));
            if !header && rows.len() > 1 {
                rows.remove(0);
            }
            Box::new(Table { header, align: align.clone(), rows })
        });
        let mut node = Node::new(Kind::Table(natural), self.trimmed(range.clone()));
        self.seen = node.at.end;
        let whole = self.source(&range);
        if surplus {
            // A row with more cells than the table has columns: no block holds the words in them.
            node.kind = Kind::Paragraph;
            node.inline = Inline::plain(&whole);
            return self.add(node);
        }
        let table = links.then_some(literal);
        node.literal = Some(Box::new(Literal { whole: Some(whole), table, ..Literal::default() }));
        self.add(node);
    }

    /// An image, or a link with the comment that says it is a file, that is a paragraph by itself where that is not
    /// the text of an item or a quote.
    fn media(&self) -> Option<Kind> {
        let frame = self.frames.last()?;
        let own =
            frame.holder == Holder::Root || frame.item.is_some() && (frame.filled || !frame.nodes.is_empty());
        if !own {
            return None;
        }
        let (inside, file) = match self.events.as_slice() {
            [inside @ .., (Event::InlineHtml(html), _)] if &**html == "<!-- file -->" => (inside, true),
            inside => (inside, false),
        };
        let (first, range) = inside.first()?;
        let (dest_url, title) = match first {
            Event::Start(Tag::Image { dest_url, title, .. }) if !file => (dest_url, title),
            Event::Start(Tag::Link { dest_url, title, .. }) if file => (dest_url, title),
            _ => return None,
        };
        if inside.last()?.1 != *range {
            return None;
        }
        let mut name = String::new();
        for (event, _) in inside {
            match event {
                Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => name.push_str(text),
                Event::SoftBreak | Event::HardBreak => name.push(' '),
                Event::Start(Tag::Image { .. }) if file => return None,
                _ => {}
            }
        }
        let media = Media { file, url: dest_url.to_string(), name, caption: title.to_string() };
        Some(Kind::Media(Box::new(media)))
    }

    fn rule(&mut self, range: Range<usize>) {
        self.definitions_before(range.start);
        let at = self.trimmed(range.clone());
        self.seen = at.end;
        let mut node = Node::new(Kind::Divider, at);
        node.literal = Some(Box::new(Literal { whole: Some(self.source(&range)), ..Literal::default() }));
        self.add(node);
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
        item.end = frame.nodes.last().map_or(item.at.end, |node| node.end.max(item.at.end));
        item.children = level::fold(frame.nodes, depth);
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
    fn add(&mut self, node: Node) {
        let blank = self.blank_before(node.at.start);
        let Some(frame) = self.frames.last_mut() else { return };
        if let Some(item) = &mut frame.item
            && frame.nodes.is_empty()
            && node.kind == Kind::Paragraph
            && node.children.is_empty()
            && !frame.filled
        {
            item.inline = node.inline;
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
        if let Some(last) = frame.nodes.last()
            && last.kind != Kind::Open
            && !matches!(node.kind, Kind::Open | Kind::Close)
        {
            let at = last.end;
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
        let mut line = bytes.iter().rposition(|b| matches!(b, b'\n' | b'\r')).map_or(0, |i| i + 1);
        let mut count = 0;
        while line > 0 {
            let mut end = line - 1;
            if bytes[end] == b'\n' && end > 0 && bytes[end - 1] == b'\r' {
                end -= 1;
            }
            let from = bytes[..end].iter().rposition(|b| matches!(b, b'\n' | b'\r')).map_or(0, |i| i + 1);
            if !bytes[from..end].iter().all(|b| matches!(b, b' ' | b'\t')) {
                break;
            }
            count += 1;
            line = from;
        }
        count
    }

    /// Link reference definitions make no event; they are kept as the text of a paragraph.
    fn definitions_before(&mut self, at: usize) {
        if !self.definitions || self.seen >= at {
            return;
        }
        let gap = &self.text[self.seen..at];
        let Some(open) = gap.find('[') else { return };
        if !gap[open..].contains("]:") {
            return;
        }
        let start = self.seen + open;
        let end = self.seen + gap.trim_end_matches(['>', ' ', '\t', '\n', '\r']).len();
        self.seen = at;
        let mut node = Node::new(Kind::Paragraph, start..end.max(start));
        node.inline = Inline::plain(&self.source(&node.at.clone()));
        self.add(node);
    }

    /// The source of a construct without the prefixes of what it stands in.
    fn source(&self, range: &Range<usize>) -> String {
        let source = lines(&self.text[range.clone()]);
        let from = self.text[..range.start].rfind(['\n', '\r']).map_or(0, |i| i + 1);
        let lead = &self.text[from..range.start];
        let quoted = self.frames.iter().filter(|frame| frame.holder == Holder::Quote).count();
        let width = lead.chars().count();
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

    fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        let end = range.start + self.text[range.clone()].trim_end_matches([' ', '\t', '\n', '\r']).len();
        range.start..end
    }
}

/// Whether a node without text is there for what is beneath it alone.
fn is_mere_holder(node: &Node) -> bool {
    let holds = matches!(node.kind, Kind::Quote | Kind::Bullet | Kind::Number(_) | Kind::Toggle);
    holds && node.inline.is_empty()
}

/// A node that can also be read as the text `whole`, or that text where no block says it exactly.
fn or_text(mut node: Node, whole: String) -> Node {
    if !is_sayable(&node.kind) {
        node.kind = Kind::Paragraph;
        node.inline = Inline::plain(&whole);
        return node;
    }
    node.literal = Some(Box::new(Literal { whole: Some(whole), ..Literal::default() }));
    node
}

/// More blank lines than this are not counted.
const MAX_BLANK: usize = 1 << 20;
