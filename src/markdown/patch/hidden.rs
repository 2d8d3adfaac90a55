//! What Markdown hides in a text that is spliced: it stays in the file, beside the blocks that it was beside.
//!
//! A comment belongs to the block that it touches from above, else to the one before it; inside a block it stays between the
//! words that it was between. Where its block is gone it stays at the nearest one that is left.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::super::carry::origins;
use super::super::plain::{ITEM, Inline, Kind, Node, What};
use super::super::read::labels;

/// What is hidden inside a block: the byte of the block's text that it stands before, and how it is written.
pub(super) type Piece = (usize, Box<str>);

/// What is hidden between the lines of blocks.
#[derive(Debug, Clone)]
pub(super) struct Between {
    /// The name that it goes by among the ids of blocks; none for what has no lines of its own yet.
    pub name: Option<String>,
    /// As it is written.
    pub source: Box<str>,
    /// Empty paragraphs between it and what stands before it.
    pub blank: usize,
    /// It stands right above the next block.
    pub touches: bool,
    /// Where it is, from the inside to the outside.
    pub spots: Vec<Spot>,
}

/// A place in a list of siblings.
#[derive(Debug, Clone, Default)]
pub(super) struct Spot {
    /// The block that the siblings are beneath.
    pub parent: Option<usize>,
    /// The siblings.
    pub siblings: Rc<[usize]>,
    /// How many of them stand before it.
    pub at: usize,
}

impl Spot {
    /// The siblings before it, the nearest first.
    fn before(&self) -> impl Iterator<Item = &usize> {
        self.siblings.get(..self.at).unwrap_or(&[]).iter().rev()
    }

    /// The siblings after it, the nearest first.
    fn after(&self) -> impl Iterator<Item = &usize> {
        self.siblings.get(self.at..).unwrap_or(&[]).iter()
    }
}

/// All that a text hides.
#[derive(Debug, Clone, Default)]
pub(super) struct Hidden {
    /// Between blocks, in the order of the text.
    pub between: Vec<Between>,
    /// Inside of blocks, by the block's index: each with the byte of the block's text that it stands before.
    pub inside: BTreeMap<usize, (Spot, Vec<Piece>)>,
    /// In the cells of tables.
    pub cells: Vec<Box<str>>,
}

impl Hidden {
    /// Whether there is nothing that a new tree has to take in: cells are spliced by themselves.
    pub(super) fn is_empty(&self) -> bool {
        self.between.is_empty() && self.inside.is_empty()
    }

    /// Everything as it is written.
    pub(super) fn sources(&self) -> impl Iterator<Item = &str> {
        let inside = self.inside.values().flat_map(|(_, pieces)| pieces).map(|(_, source)| &**source);
        let cells = self.cells.iter().map(|source| &**source);
        self.between.iter().map(|one| &*one.source).chain(inside).chain(cells)
    }

    /// Puts it into a tree; `old` are the nodes that the text stood for, `name` tells blocks of the tree by their ids, `found`
    /// those of the text. The names of what came, which is indexed from `count` on.
    pub(super) fn bring(
        &self,
        nodes: &mut Vec<Node>,
        old: &[Node],
        count: usize,
        found: &dyn Fn(&Node) -> Option<usize>,
    ) -> Vec<Option<String>> {
        let mut left = BTreeSet::new();
        let mut between = self.between.clone();
        self.inside(nodes, old, found, &mut left);
        for (_, (spot, pieces)) in self.inside.iter().filter(|(index, _)| !left.contains(*index)) {
            between.extend(pieces.iter().map(|(_, source)| Between {
                name: None,
                source: source.trim().into(),
                blank: 0,
                touches: false,
                spots: vec![spot.clone()],
            }));
        }
        let mut there = BTreeSet::new();
        survivors(nodes, found, &mut there);
        let mut wanted = Wanted::default();
        let mut names = Vec::new();
        for one in between {
            let mut node = Node::new(Kind::Hidden(one.source.clone()), 0..0);
            node.index = count + names.len();
            names.push(one.name.clone());
            wanted.add(&one, node, &there);
        }
        wanted.place(nodes, None, found);
        names
    }

    /// Puts what is hidden inside of blocks between the same words of their new text.
    fn inside(
        &self,
        nodes: &mut [Node],
        old: &[Node],
        found: &dyn Fn(&Node) -> Option<usize>,
        left: &mut BTreeSet<usize>,
    ) {
        for node in nodes {
            if let Some(index) = found(node)
                && let Some((_, pieces)) = self.inside.get(&index)
                && node.kind.has_text()
                && !(matches!(node.kind, Kind::Heading(_))
                    && pieces.iter().any(|(_, source)| source.contains('\n')))
            {
                left.insert(index);
                node.inline =
                    with_pieces(&node.inline, &moved(pieces, &old[index].inline.text, &node.inline.text));
            }
            self.inside(&mut node.children, old, found, left);
        }
    }
}

/// A text with what is hidden in it.
pub(super) fn with_pieces(inline: &Inline, pieces: &[Piece]) -> Inline {
    let mut out = Inline::default();
    let mut pieces = pieces.iter().peekable();
    let mut from = 0;
    let mut sign = [0; 4];
    let sign = &*ITEM.encode_utf8(&mut sign);
    for (text, mark) in inline.stretches() {
        let mut at = 0;
        while let Some((place, source)) = pieces.next_if(|(place, _)| *place < from + text.len()) {
            let cut = text.floor_char_boundary(place.saturating_sub(from)).max(at);
            out.push(&text[at..cut], mark.style, &mark.what);
            out.push(sign, 0, &What::Hidden(source.clone()));
            at = cut;
        }
        out.push(&text[at..], mark.style, &mark.what);
        from += text.len();
    }
    pieces.for_each(|(_, source)| out.push(sign, 0, &What::Hidden(source.clone())));
    out
}

/// The places of what is hidden, after a text was changed.
pub(super) fn moved(pieces: &[Piece], old: &str, new: &str) -> Vec<Piece> {
    if old == new {
        return pieces.to_vec();
    }
    let (a, b): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let origin = origins(&a, &b);
    let starts: Vec<usize> = new.char_indices().map(|(at, _)| at).chain([new.len()]).collect();
    let old_starts: Vec<usize> = old.char_indices().map(|(at, _)| at).collect();
    // For each old character, the one that it is in the new text: what stays keeps its order.
    let kept: Vec<(usize, usize)> =
        origin.iter().enumerate().filter_map(|(new, old)| old.map(|old| (old, new))).collect();
    let place = |at: usize| {
        let char_at = old_starts.partition_point(|start| *start < at);
        // Behind the nearest character before it that is still there, else before the nearest one after it.
        let after = kept.partition_point(|(old, _)| *old < char_at);
        let behind = after.checked_sub(1).and_then(|before| kept.get(before)).map(|(_, new)| new + 1);
        let ahead = || kept.get(after).map(|(_, new)| *new);
        starts[behind.or_else(ahead).unwrap_or(0)]
    };
    let mut out: Vec<Piece> = pieces.iter().map(|(at, source)| (place(*at), source.clone())).collect();
    out.sort_by_key(|(at, _)| *at);
    out
}

/// The blocks of the base that are still there.
pub(super) fn survivors(nodes: &[Node], found: &dyn Fn(&Node) -> Option<usize>, there: &mut BTreeSet<usize>) {
    for node in nodes {
        there.extend(found(node));
        survivors(&node.children, found, there);
    }
}

/// Whether a text of a block or beneath it has one of these labels.
pub(super) fn uses(node: &Node, gone: &BTreeSet<String>) -> bool {
    !gone.is_empty()
        && (!labels(&node.inline.text).is_disjoint(gone)
            || node.children.iter().any(|child| uses(child, gone)))
}

/// What is to be put where.
#[derive(Default)]
struct Wanted {
    before: BTreeMap<usize, Vec<Node>>,
    after: BTreeMap<usize, Vec<(usize, Node)>>,
    /// As the first beneath a block, or of the page.
    first: BTreeMap<Option<usize>, Vec<Node>>,
}

impl Wanted {
    fn add(&mut self, one: &Between, node: Node, there: &BTreeSet<usize>) {
        let is_there = |index: &&usize| there.contains(*index);
        for (depth, spot) in one.spots.iter().enumerate() {
            let touched = spot.after().next().filter(|_| one.touches && depth == 0).filter(is_there);
            if let Some(next) = touched {
                return self.before.entry(*next).or_default().push(node);
            }
            if let Some((steps, last)) = spot.before().enumerate().find(|(_, index)| is_there(index)) {
                // Empty paragraphs are blocks: behind one that stays no other is counted.
                let blank = if depth == 0 && steps < one.blank { 0 } else { one.blank };
                return self.after.entry(*last).or_default().push((blank, node));
            }
            if let Some(parent) = spot.parent.as_ref().filter(is_there) {
                return self.first.entry(Some(*parent)).or_default().push(node);
            }
            if let Some(next) = spot.after().find(is_there) {
                return self.before.entry(*next).or_default().push(node);
            }
        }
        self.first.entry(None).or_default().push(node);
    }

    fn place(
        &mut self,
        nodes: &mut Vec<Node>,
        parent: Option<usize>,
        found: &dyn Fn(&Node) -> Option<usize>,
    ) {
        let mut out = self.first.remove(&parent).unwrap_or_default();
        let mut rest = std::mem::take(nodes).into_iter().peekable();
        while let Some(mut node) = rest.next() {
            let index = found(&node);
            if index.is_some() {
                self.place(&mut node.children, index, found);
            }
            out.extend(index.and_then(|index| self.before.remove(&index)).unwrap_or_default());
            out.push(node);
            for (blank, hidden) in index.and_then(|index| self.after.remove(&index)).unwrap_or_default() {
                for _ in 0..blank {
                    out.extend(rest.next_if(Node::is_void));
                }
                out.push(hidden);
            }
        }
        *nodes = out;
    }
}
