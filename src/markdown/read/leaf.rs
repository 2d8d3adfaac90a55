//! The leaves of a page: what the events of one paragraph, table or other block without blocks in it become.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

use super::super::plain::{Beside, Inline, Kind, Literal, Media, Node, Table, What, own_hash};
use super::super::shapes::is_sayable;
use super::block::{Holder, Leaf, Reader, read};
use super::hiding::{comments_with_lines, visible};
use super::inline::{Source, inline};
use super::mask::{Cover, keeps_lines};
use super::source::{lines, placeholder};
use super::trace::traced;

impl Reader<'_, '_> {
    pub(super) fn paragraph(&mut self, range: Range<usize>) {
        self.leaf = Leaf::None;
        if let Some(kind) = self.media() {
            let mut node = Node::new(kind, self.trimmed(range.clone()));
            self.seen = self.seen.max(node.at.end);
            node = or_text(node, self.source(&range));
            return self.add(node);
        }
        let at = self.trimmed(range.clone());
        if let Some(at) = self.math_at(&at) {
            return self.mathematics(at);
        }
        let note = self.covers.get(self.cover_behind(at.start));
        if let Some((place, Cover::Note)) = note.filter(|(place, _)| place.contains(&at.start)) {
            return self.note(place.clone(), at.start);
        }
        let mut node = self.text(Kind::Paragraph, range, true);
        self.seen = self.seen.max(node.at.end);
        if node.inline.is_empty() && node.beside.as_ref().is_some_and(|beside| !beside.hidden.is_empty()) {
            // Nothing but what is hidden: it is no block.
            let mut beside = node.beside.take().unwrap_or_default();
            let pieces: String =
                std::mem::take(&mut beside.hidden).into_iter().map(|(_, source)| source).collect();
            node = Node::new(Kind::Hidden(pieces.trim().into()), node.at);
            node.beside = Some(beside);
        }
        self.add(node);
    }

    /// A block of the text that was collected.
    pub(super) fn text(&mut self, kind: Kind, range: Range<usize>, exact: bool) -> Node {
        let at = self.trimmed(range);
        let lines = kind == Kind::Paragraph && self.keeps_lines(&at);
        let first = self.formulas.partition_point(|place| place.end <= at.start);
        let has_formula = self.formulas.get(first).is_some_and(|place| place.start < at.end);
        let (width, quoted) = if lines || has_formula { self.lead(&at) } else { (0, 0) };
        let source = Source {
            text: self.text,
            seen: self.masked,
            formulas: &self.formulas,
            percents: self.percents,
            lines,
            width,
            quoted,
        };
        let found = inline(source, &self.events, self.items, exact);
        if let Some(traces) = self.traces.take() {
            traces.extend(traced(source, &self.events, self.items, exact));
        }
        let mut node = Node::new(kind, at);
        node.inline = found.natural;
        node.literal = found.literal.map(|(inline, hidden)| {
            let (local, hidden_in_local) = found.local.unzip();
            let hidden_in_local = hidden_in_local.unwrap_or_default();
            Box::new(Literal { inline: Some(inline), local, hidden, hidden_in_local, ..Literal::default() })
        });
        if found.untitled.is_some() || !found.others.is_empty() {
            let literal = node.literal.get_or_insert_with(|| Box::new(Literal::default()));
            (literal.untitled, literal.others) = (found.untitled, found.others);
        }
        let mut beside = Beside { hidden: found.hidden, readings: found.readings, is_used: false };
        if has_formula {
            if node.inline.marks.len() == 1 && node.inline.marks.iter().all(|mark| mark.style == 0) {
                beside.readings.extend(unescaped(&node.inline.text));
            }
            // As it was read before mathematics was known.
            let before = read_plain(&self.source(&node.at), self.items);
            if let [only] = before.as_slice() {
                let literal = only.literal.as_ref().and_then(|literal| literal.inline.clone());
                beside.readings.extend([Some(only.inline.clone()), literal].into_iter().flatten());
            }
        }
        node.beside = (!beside.hidden.is_empty() || !beside.readings.is_empty()).then(|| Box::new(beside));
        node
    }

    /// Whether a paragraph has a line that means more to other programs.
    pub(super) fn keeps_lines(&self, at: &Range<usize>) -> bool {
        if !self.events.iter().any(|(event, _)| matches!(event, Event::SoftBreak | Event::HardBreak))
            || !self.text[at.clone()].contains(['!', ':', '?'])
            || !self.text[at.clone()].contains(['\n', '\r'])
        {
            return false;
        }
        let in_quote = self.frames.last().is_some_and(|frame| frame.holder == Holder::Quote);
        let source = self.source(at);
        let mut lines = source.split('\n').enumerate();
        lines.any(|(at, line)| keeps_lines(line.trim_start_matches([' ', '\t']), at == 0, in_quote))
    }

    /// The first cover that ends behind a place.
    pub(super) fn cover_behind(&self, at: usize) -> usize {
        self.covers.partition_point(|(place, _)| place.end <= at)
    }

    /// The mathematics that a block is.
    fn math_at(&self, at: &Range<usize>) -> Option<Range<usize>> {
        let is_it = |place: &Range<usize>| {
            place.end == at.end
                && at.start <= place.start
                && self.text[at.start..place.start].trim().is_empty()
        };
        let (place, cover) = self.covers.get(self.cover_behind(at.end.checked_sub(1)?))?;
        (*cover == Cover::Math && is_it(place)).then(|| place.clone())
    }

    /// Display mathematics: the very characters.
    pub(super) fn mathematics(&mut self, at: Range<usize>) {
        let source = self.source(&at);
        let mut node = Node::new(Kind::Paragraph, at.clone());
        node.inline = Inline::plain(&source);
        let before = read_plain(&source, self.items);
        let mut readings = Vec::new();
        if let [only] = before.as_slice()
            && only.kind == Kind::Paragraph
        {
            let literal = only.literal.as_ref().and_then(|literal| literal.inline.clone());
            readings.extend([Some(only.inline.clone()), literal].into_iter().flatten());
        }
        readings.extend(unescaped(&source));
        if !readings.is_empty() {
            node.beside = Some(Box::new(Beside { readings, ..Beside::default() }));
        }
        self.seen = self.seen.max(at.end);
        self.add(node);
    }

    /// A note of several paragraphs: the very characters, with its first paragraph.
    fn note(&mut self, place: Range<usize>, at: usize) {
        self.seen = self.seen.max(place.end);
        if place.start == at {
            let mut node = Node::new(Kind::Paragraph, place.clone());
            let source = self.source(&place);
            let comments = if source.starts_with("$$") { Vec::new() } else { comments_with_lines(&source) };
            let (text, hidden) = without(&source, comments);
            node.inline = Inline::plain(&text);
            let mut readings = Vec::new();
            if source.starts_with("$$") {
                readings.extend(unescaped(&source));
            } else if !hidden.is_empty() {
                readings.push(Inline::plain(&source));
            }
            if !readings.is_empty() {
                node.beside = Some(Box::new(Beside { hidden, readings, is_used: false }));
            }
            self.add(node);
        }
    }

    pub(super) fn heading(&mut self, range: Range<usize>) {
        let Leaf::Heading(level) = std::mem::replace(&mut self.leaf, Leaf::None) else { return };
        let node = self.text(Kind::Heading(level), range, false);
        self.seen = node.at.end;
        self.add(node);
    }

    pub(super) fn html(&mut self, range: Range<usize>) {
        let Leaf::Html(html) = std::mem::replace(&mut self.leaf, Leaf::None) else { return };
        let at = self.trimmed(range);
        if let Some(at) = self.math_at(&at) {
            return self.mathematics(at);
        }
        let text = lines(&html);
        self.seen = at.end;
        let kind = match text.as_str() {
            "" => return,
            "<!-- -->" => return,
            "<!-- children -->" => Kind::Open,
            "<!-- /children -->" => Kind::Close,
            "<!-- empty -->" => Kind::Paragraph,
            other => match placeholder(other) {
                Some(label) => Kind::Placeholder(label.into()),
                None => {
                    let (shown, hidden) = visible(other);
                    let is_hidden = shown.is_empty() && !hidden.is_empty();
                    let kind = if is_hidden { Kind::Hidden(text.as_str().into()) } else { Kind::Paragraph };
                    let mut node = Node::new(kind, at);
                    if !hidden.is_empty() {
                        let hidden = if is_hidden { Vec::new() } else { hidden };
                        node.beside = Some(Box::new(Beside {
                            hidden,
                            readings: vec![Inline::plain(&text)],
                            is_used: false,
                        }));
                    }
                    node.inline = Inline::plain(&shown);
                    return self.add(node);
                }
            },
        };
        self.add(Node::new(kind, at));
    }

    /// Code by its indentation. A line that stands for a block is that block all the same: it comes to stand so when a
    /// person writes a paragraph between it and the item that it was nested under.
    pub(super) fn indented(&mut self, range: Range<usize>) {
        let Leaf::Indented(lines) = std::mem::replace(&mut self.leaf, Leaf::None) else { return };
        let stands_for = |line: &str| placeholder(line.trim());
        if !lines.iter().any(|(line, _)| stands_for(line).is_some()) {
            let code = lines.into_iter().map(|(line, _)| line).collect();
            return self.code_from(self.indent(range.start), String::new(), code, range);
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

    /// The place of the indentation that makes code of a line: it goes with the code.
    fn indent(&self, at: usize) -> usize {
        let lead = &self.text[..at];
        match lead.strip_suffix('\t') {
            Some(lead) => lead.len(),
            None => at - (lead.len() - lead.trim_end_matches(' ').len()).min(4),
        }
    }

    pub(super) fn code(&mut self, language: String, code: String, range: Range<usize>) {
        self.code_from(range.start, language, code, range);
    }

    /// Code whose lines begin at `from`.
    fn code_from(&mut self, from: usize, language: String, mut code: String, range: Range<usize>) {
        let at = from..self.trimmed(range.clone()).end;
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

    pub(super) fn table(&mut self, range: Range<usize>) {
        let Leaf::Table(align) = std::mem::replace(&mut self.leaf, Leaf::None) else { return };
        // As it is read, with links as their source, with links to places on this machine as that, with comments as text, and
        // with the bare addresses that a formatter puts between angle brackets.
        let mut readings: [Vec<Vec<Inline>>; 6] = Default::default();
        let mut cell = 0;
        let (mut links, mut is_local, mut is_bare, mut hidden) = (false, false, false, Vec::new());
        let (mut told, mut surplus) = (range.start, String::new());
        for (at, (event, place)) in self.events.iter().enumerate() {
            match event {
                Event::End(TagEnd::TableHead | TagEnd::TableRow) => {
                    let line = self.text[told..].lines().next().unwrap_or_default();
                    if line.contains(|c: char| c != '|' && !c.is_whitespace()) {
                        let words: Vec<&str> =
                            line.split(['|', ' ', '\t']).filter(|word| !word.is_empty()).collect();
                        surplus.push_str(&format!("{}: {}\n", readings[0].len(), words.join(" ")));
                    }
                }
                Event::Start(Tag::TableHead | Tag::TableRow) => {
                    readings.iter_mut().for_each(|rows| rows.push(Vec::new()))
                }
                Event::Start(Tag::TableCell) => cell = at + 1,
                Event::End(TagEnd::TableCell) => {
                    told = place.end;
                    let found = inline(self.cell_source(), &self.events[cell..at], self.items, false);
                    links |= found.literal.is_some();
                    is_local |= found.local.is_some();
                    is_bare |= !found.others.is_empty();
                    hidden.extend(found.hidden.into_iter().map(|(_, source)| source));
                    let natural = found.natural;
                    let literal = found.literal.map_or_else(|| natural.clone(), |(inline, _)| inline);
                    let local = found.local.map_or_else(|| natural.clone(), |(inline, _)| inline);
                    let shown = found.readings.into_iter().next().unwrap_or_else(|| natural.clone());
                    let mut others = found.others.into_iter();
                    let bare = others.next().unwrap_or_else(|| natural.clone());
                    let bare_literal = others.next().unwrap_or_else(|| literal.clone());
                    let texts = [natural, literal, local, shown, bare, bare_literal];
                    for (rows, text) in readings.iter_mut().zip(texts) {
                        if let Some(row) = rows.last_mut() {
                            row.push(text);
                        }
                    }
                }
                _ => {}
            }
        }
        let [natural, literal, local, shown, bare, bare_literal] =
            readings.map(|rows| Box::new(as_table(rows, &align)));
        let mut node = Node::new(Kind::Table(natural), self.trimmed(range.clone()));
        self.seen = node.at.end;
        let whole = self.source(&range);
        let hides = !hidden.is_empty();
        let (text, hidden) = without(&whole, hidden);
        if hides {
            node.beside =
                Some(Box::new(Beside { hidden, readings: vec![Inline::plain(&whole)], is_used: false }));
        }
        if !surplus.is_empty() {
            // A row with more cells than the table has columns: no block holds the words in them.
            let said = own_hash(&node.kind, &Inline::plain(&surplus));
            node.literal = Some(Box::new(Literal { said: Some(said), ..Literal::default() }));
            node.kind = Kind::Paragraph;
            node.inline = Inline::plain(&text);
            return self.add(node);
        }
        node.literal = Some(Box::new(Literal {
            whole: Some(text),
            table: links.then_some(literal),
            local_table: is_local.then_some(local),
            other_tables: [(hides, shown), (is_bare, bare), (is_bare, bare_literal)]
                .into_iter()
                .filter_map(|(is_other, table)| is_other.then_some(*table))
                .collect(),
            ..Literal::default()
        }));
        self.add(node);
    }

    fn cell_source(&self) -> Source<'_> {
        let (seen, percents) = (self.masked, self.percents);
        Source {
            text: self.text,
            seen,
            formulas: &self.formulas,
            percents,
            lines: false,
            width: 0,
            quoted: 0,
        }
    }

    /// An image, or a link with the comment that says it is a file, that is a paragraph by itself where that is not
    /// the text of an item or a quote.
    pub(super) fn media(&self) -> Option<Kind> {
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

    pub(super) fn rule(&mut self, range: Range<usize>) {
        self.definitions_before(range.start);
        let at = self.trimmed(range.clone());
        self.seen = at.end;
        let mut node = Node::new(Kind::Divider, at);
        node.literal = Some(Box::new(Literal { whole: Some(self.source(&range)), ..Literal::default() }));
        self.add(node);
    }
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

/// Mathematics without the backslashes that a formatter puts before signs that Markdown knows, and that mean nothing there.
fn unescaped(text: &str) -> Option<Inline> {
    const SIGNS: [&str; 10] = ["\\_", "\\*", "\\[", "\\]", "\\<", "\\>", "\\#", "\\+", "\\-", "\\="];
    let plain = SIGNS.iter().fold(text.to_owned(), |text, sign| text.replace(sign, &sign[1..]));
    (plain != text).then(|| Inline::plain(&plain))
}

/// Rows of cells as a table.
fn as_table(mut rows: Vec<Vec<Inline>>, align: &[u8]) -> Table {
    rows.iter_mut().for_each(|row| row.resize(align.len(), Inline::default()));
    let header = rows.first().is_some_and(|row| row.iter().any(|cell| !cell.is_empty()));
    if !header && rows.len() > 1 {
        rows.remove(0);
    }
    Table { header, align: align.to_vec(), rows }
}

/// A text without these parts of it, each with the byte of what is left that it stood before.
fn without(whole: &str, parts: Vec<Box<str>>) -> (String, Vec<(usize, Box<str>)>) {
    let (mut text, mut found, mut rest) = (String::new(), Vec::new(), whole);
    for part in parts {
        let Some(at) = rest.find(&*part) else { continue };
        text.push_str(&rest[..at]);
        rest = &rest[at + part.len()..];
        found.push((text.len(), part));
    }
    text.push_str(rest);
    (text, found)
}

/// A text without the parser's other view of it, as it was read before there was one.
fn read_plain(text: &str, items: &BTreeSet<String>) -> Vec<Node> {
    let text = text.replace('$', "\u{1}");
    let mut nodes = read(&text, items);
    fn back(inline: &mut Inline) {
        inline.text = inline.text.replace('\u{1}', "$");
    }
    for node in &mut nodes {
        back(&mut node.inline);
        node.literal.iter_mut().filter_map(|literal| literal.inline.as_mut()).for_each(back);
    }
    nodes
}
