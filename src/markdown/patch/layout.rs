//! A user's text taken apart: which lines belong to which block, and how each is indented.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use serde_json::Value;

use super::super::allowed::{Allowed, Known};
use super::super::lower::{Lowered, lower};
use super::super::parse::matched_with_hidden;
use super::super::plain::{Census, Kind, Node};
use super::super::read::definitions;
use super::hidden::{Between, Hidden, Piece, Spot, moved, with_pieces};

/// How a block that is no list item holds its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// A list item: by indentation.
    Indent,
    /// Between the two comments.
    Markers,
    /// Inside the block quote.
    Quote,
}

/// One block's place in the text.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Its own lines, from its marker to the end of its text.
    pub at: Range<usize>,
    /// Its place among all that is visible.
    pub order: usize,
    /// What begins the lines of its children.
    pub inner: String,
    /// How it holds its children.
    pub holds: Holds,
    /// The end of its last line and of all beneath it.
    pub end: usize,
    /// The lines between its own and those of its first child, where comments hold its children.
    pub open: Option<Range<usize>>,
    /// What stands behind the last of its children, up to the end of the closing comment's line.
    pub close: Option<Range<usize>>,
    /// Its list marker with the space behind it.
    pub marker: String,
    /// The number in the marker.
    pub number: u64,
    /// The block it is beneath, by index in the base.
    pub parent: Option<usize>,
    /// It is the first of its Markdown list.
    pub list_first: bool,
    /// Empty paragraphs that blank lines say before it.
    pub blank: usize,
}

/// A text beside the blocks it stands for.
pub(super) struct Layout<'a> {
    /// The text.
    pub text: &'a str,
    /// The plain tree of the blocks.
    pub lowered: Lowered<'a>,
    /// Places by index in the base; blank lines and what shows nowhere have none.
    pub places: BTreeMap<usize, Place>,
    /// Indexes in the order of the text.
    pub order: Vec<usize>,
    /// The base's nodes by index: the node, and whether it says its blank line in the text.
    pub nodes: Vec<Node>,
    /// Indexes of blocks by id; only ids that are there once.
    pub ids: BTreeMap<String, usize>,
    /// A formatter took the blank lines out that stand for empty paragraphs.
    pub hides_blank: bool,
    /// A formatter turned every `+` into another bullet.
    pub hides_toggles: bool,
    /// The end of the last block's last line, closing comments included.
    pub end: usize,
    /// The line end that most lines have.
    pub eol: &'static str,
    /// Whether Markdown hides anything in the text.
    hides: bool,
    /// What it is.
    pub hidden: Hidden,
    /// The labels of inline items.
    pub items: BTreeSet<String>,
    definitions: OnceCell<Vec<(String, String)>>,
}

impl<'a> Layout<'a> {
    /// `None` when the text does not show every block of `old` in its place.
    pub(super) fn of(text: &'a str, old: &'a [Value]) -> Option<Self> {
        let documented = Allowed::documented();
        let (nodes, ..) = matched_with_hidden(text, lower(old), &Known::new(&documented, old));
        let lowered = lower(old);
        let mut flat = Vec::new();
        collect(&lowered.nodes, &mut flat);
        let mut ids: BTreeMap<String, usize> = BTreeMap::new();
        let mut twice = Vec::new();
        for (index, block) in lowered.values.iter().enumerate() {
            if let Some(id) = block.get("id").and_then(Value::as_str)
                && ids.insert(id.to_owned(), index).is_some()
            {
                twice.push(id.to_owned());
            }
        }
        twice.iter().for_each(|id| {
            ids.remove(id);
        });
        let (holds, held) = (Census::of(&nodes), Census::of(&lowered.nodes));
        let hides_blank = holds.blanks && !text_has_blank(&nodes, text);
        let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let items = lowered.labels();
        let mut layout = Self {
            text,
            lowered,
            places: BTreeMap::new(),
            order: Vec::new(),
            nodes: flat,
            ids,
            hides_blank,
            hides_toggles: held.toggles > 0 && holds.toggles == 0,
            end: 0,
            eol,
            hides: holds.hidden || holds.beside,
            hidden: Hidden::default(),
            items,
            definitions: OnceCell::new(),
        };
        layout.level(&nodes, "", None, &[])?;
        layout.end = nodes.last().map_or(0, |last| layout.behind(last.end.max(last.at.end)));
        Some(layout)
    }

    /// The reference definitions of the text: the label of each, and its line.
    pub(super) fn definitions(&self) -> &[(String, String)] {
        self.definitions.get_or_init(|| definitions(self.text))
    }

    /// Lays out siblings; `above` are the places of what they are beneath, from the outside to the inside.
    fn level(&mut self, nodes: &[Node], prefix: &str, parent: Option<usize>, above: &[Spot]) -> Option<()> {
        let visible: Rc<[usize]> =
            if self.hides { nodes.iter().filter_map(|node| node.base).collect() } else { Rc::new([]) };
        let mut passed = 0;
        let mut blank = 0;
        for (at, node) in nodes.iter().enumerate() {
            if node.blank {
                passed += usize::from(node.base.is_some());
                blank += 1;
                continue;
            }
            let spot = |at| Spot { parent, siblings: Rc::clone(&visible), at };
            let index = if let Kind::Hidden(source) = &node.kind {
                let mut spots = vec![spot(passed)];
                spots.extend(above.iter().rev().cloned());
                self.hide(node, source, spots, blank, &nodes[at + 1..])
            } else {
                let index = node.base?;
                passed += 1;
                if let Some(beside) = node.beside.as_ref().filter(|beside| !beside.hidden.is_empty()) {
                    self.hide_inside(index, node, spot(passed), &beside.hidden);
                }
                index
            };
            let marker = if node.kind.is_item() { self.marker(node) } else { String::new() };
            let holds = self.holds(node);
            let child = node.children.iter().find(|child| !child.blank);
            let inner = child.and_then(|child| self.lead(child.at.start));
            let inner = inner.unwrap_or_else(|| self.inner(node, prefix, &marker));
            let place = Place {
                at: node.at.clone(),
                order: self.order.len(),
                inner: inner.clone(),
                holds,
                end: self.behind(node.end.max(node.at.end)),
                open: self.opening(node, holds),
                close: self.closing(node, holds),
                marker,
                number: node.number,
                parent,
                list_first: node.list_first,
                blank,
            };
            blank = 0;
            self.order.push(index);
            if self.places.insert(index, place).is_some() {
                return None;
            }
            if node.children.is_empty() {
                continue;
            }
            let mut beneath = Vec::new();
            if self.hides {
                beneath.extend_from_slice(above);
                beneath.push(spot(passed));
            }
            self.level(&node.children, &inner, Some(index), &beneath)?;
        }
        Some(())
    }

    /// Takes in what is hidden inside of a block.
    fn hide_inside(&mut self, index: usize, node: &Node, spot: Spot, pieces: &[Piece]) {
        if matches!(node.kind, Kind::Table(_)) {
            return self.hidden.cells.extend(pieces.iter().map(|(_, source)| source.clone()));
        }
        // The text may say the block otherwise, as a formatter left it: the places are those in the block's own text.
        let own = &mut self.nodes[index];
        let pieces = moved(pieces, &node.inline.text, &own.inline.text);
        own.inline = with_pieces(&own.inline, &pieces);
        self.hidden.inside.insert(index, (spot, pieces));
    }

    /// Takes in what is hidden; its index.
    fn hide(&mut self, node: &Node, source: &str, spots: Vec<Spot>, blank: usize, rest: &[Node]) -> usize {
        let index = self.nodes.len();
        let name = format!("\0hidden {index}");
        self.nodes.push(Node::new(node.kind.clone(), 0..0));
        self.ids.insert(name.clone(), index);
        let touches = self.touches(node, rest);
        self.hidden.between.push(Between { name: Some(name), source: source.into(), blank, touches, spots });
        index
    }

    /// Whether no blank line parts what is hidden from the next block: other comments may stand between the two.
    fn touches(&self, hidden: &Node, rest: &[Node]) -> bool {
        let mut above = hidden;
        for next in rest {
            let gap = self.text.get(above.at.end..next.at.start);
            if gap.is_none_or(|gap| gap.matches('\n').count() != 1) {
                return false;
            }
            if !next.is_hidden() {
                return true;
            }
            above = next;
        }
        false
    }

    /// The marker of an item with the white space behind it, as wide as its content is indented.
    fn marker(&self, node: &Node) -> String {
        let rest = &self.text[node.at.start..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let sign = &rest[..(digits + 1).min(rest.len())];
        let spaces = rest[sign.len()..].bytes().take_while(|&b| b == b' ').count();
        let ended =
            rest[sign.len() + spaces..].starts_with(['\n', '\r']) || rest.len() == sign.len() + spaces;
        let spaces = if ended || !(1..=4).contains(&spaces) { 1 } else { spaces };
        format!("{sign}{:spaces$}", "")
    }

    fn holds(&self, node: &Node) -> Holds {
        if node.kind.is_item() {
            return Holds::Indent;
        }
        match node.children.iter().find(|child| !child.blank) {
            Some(child) if node.kind == Kind::Quote => {
                let between = self.text.get(node.at.end..child.at.start).unwrap_or("");
                if between.contains("<!-- children -->") { Holds::Markers } else { Holds::Quote }
            }
            _ => Holds::Markers,
        }
    }

    fn inner(&self, node: &Node, prefix: &str, marker: &str) -> String {
        if node.kind.is_item() {
            // A list may be indented more than what it is beneath.
            let lead = self.lead(node.at.start);
            format!("{}{:width$}", lead.as_deref().unwrap_or(prefix), "", width = marker.len())
        } else {
            prefix.to_owned()
        }
    }

    fn opening(&self, node: &Node, holds: Holds) -> Option<Range<usize>> {
        let child = node.children.iter().find(|child| !child.blank).filter(|_| holds == Holds::Markers)?;
        let from = self.behind(node.at.end);
        let to = self.text[..child.at.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let is_plain = self.text.get(from..to).is_some_and(|text| is_only(text, "<!-- children -->"));
        is_plain.then_some(from..to)
    }

    fn closing(&self, node: &Node, holds: Holds) -> Option<Range<usize>> {
        let child = node.children.iter().rfind(|child| !child.blank).filter(|_| holds == Holds::Markers)?;
        let range = self.behind(child.end.max(child.at.end))..self.behind(node.end);
        let is_plain = self.text.get(range.clone()).is_some_and(|text| is_only(text, "<!-- /children -->"));
        is_plain.then_some(range)
    }

    /// The end of a block's last line: white space behind its text is the line's.
    pub(super) fn line_end(&self, place: &Place) -> usize {
        let end = self.behind(place.at.end);
        // White space that makes code of what stands behind a marker is the code's.
        let next = self.order.get(place.order + 1).and_then(|index| self.places.get(index));
        next.map_or(end, |next| if next.at.start >= place.at.end { end.min(next.at.start) } else { end })
    }

    /// Behind the white space that follows a place on its line.
    fn behind(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        at + rest.len() - rest.trim_start_matches([' ', '\t']).len()
    }

    /// What stands before a block on its line, when that is only indentation and quote signs.
    pub(super) fn lead(&self, at: usize) -> Option<String> {
        let from = self.text[..at].rfind(['\n', '\r']).map_or(0, |i| i + 1);
        let lead = self.text[from..at].trim_start_matches('\u{feff}');
        lead.chars().all(|c| matches!(c, ' ' | '\t' | '>')).then(|| lead.to_owned())
    }
}

/// Whether a text is this one comment among white space and quote signs.
fn is_only(text: &str, comment: &str) -> bool {
    text.split_once(comment).is_some_and(|(before, after)| {
        [before, after].iter().all(|part| part.chars().all(|c| c.is_ascii_whitespace() || c == '>'))
    })
}

fn collect(nodes: &[Node], out: &mut Vec<Node>) {
    for node in nodes {
        let mut own = Node::new(node.kind.clone(), 0..0);
        own.inline = node.inline.clone();
        own.index = node.index;
        own.blank = node.blank;
        out.push(own);
        collect(&node.children, out);
    }
}

/// Whether any blank-line paragraph of the tree really has its blank line.
fn text_has_blank(nodes: &[Node], text: &str) -> bool {
    let mut before: Option<&Node> = None;
    let mut blank = 0;
    for node in nodes {
        if text_has_blank(&node.children, text) {
            return true;
        }
        if node.blank {
            blank += 1;
            continue;
        }
        if let (Some(before), true) = (before, blank > 0) {
            let between = text.get(before.end..node.at.start).unwrap_or("");
            if between.matches('\n').count() > 2 {
                return true;
            }
        }
        before = Some(node);
        blank = 0;
    }
    false
}
