//! A page's text that surely reads back: what was written is read again where there is any doubt.
//!
//! The writer is meant to be exact, and its tests say that it is. Should it be wrong about some text all the same, no
//! word may be lost over it: a block that reads back as something else is written with every escape, and if that does
//! not help, as the one-line comment that stands for a block.

use std::collections::BTreeSet;

use super::allowed::Known;
use super::lower::{Alone, Lowered, shown, stand_in};
use super::parse::{each, read_alone, reading, says_beside};
use super::plain::{Kind, Node, same_trees};
use super::read::{end, labels};
use super::settle::is_definition;
use super::write::{Written, write, write_for};

/// Blocks that are looked at one by one before all of a page is written with every escape.
const ROUNDS: usize = 16;

/// Writes a page; its nodes change where they could not be written as they were. `tell` as for [`write`]; what it
/// was told last counts.
pub(super) fn written(
    lowered: &mut Lowered,
    terms: Option<&Known<'_>>,
    tell: &mut dyn FnMut(usize, std::ops::Range<usize>),
) -> String {
    if let Some(text) = terms.and_then(|terms| with_definitions(&lowered.nodes, terms, tell)) {
        return text;
    }
    let Written { text, doubtful } = write_for(&lowered.nodes, terms, tell);
    if !doubtful || other_reading(&text, &lowered.nodes, &lowered.labels(), terms).is_none() {
        return text;
    }
    mend(lowered);
    write(&lowered.nodes, tell).text
}

/// Writes a page in which links are text with its reference definitions as definitions; `None` where the page does not read back
/// from that text alone. A definition that no link uses would be hidden, so it is escaped.
fn with_definitions(
    nodes: &[Node],
    terms: &Known<'_>,
    tell: &mut dyn FnMut(usize, std::ops::Range<usize>),
) -> Option<String> {
    let mut used = BTreeSet::new();
    if terms.get().link() || !take_labels(nodes, &mut used) {
        return None;
    }
    let is_used = |node: &Node| {
        let label = node.inline.text.split_once("]:").map(|(label, _)| format!("{label}]"));
        label.is_some_and(|label| labels(&label).is_subset(&used))
    };
    [false, true].into_iter().find_map(|only_used| {
        let mut hiding = nodes.to_vec();
        each(&mut hiding, &mut |node| {
            if is_definition(node) && (is_used(node) || !only_used) {
                node.kind = Kind::Hidden(node.inline.text.as_str().into());
            }
        });
        let text = write_for(&hiding, Some(terms), tell).text;
        let mut have = read_alone(&text, terms);
        end(&mut have);
        same_trees(shown(nodes), &have).then_some(text)
    })
}

/// Takes up what stands between brackets in all texts but reference definitions; whether there is one.
fn take_labels(nodes: &[Node], used: &mut BTreeSet<String>) -> bool {
    let mut there = false;
    for node in nodes {
        match is_definition(node) {
            true => there = true,
            false => used.extend(labels(&node.inline.text)),
        }
        there |= take_labels(&node.children, used);
    }
    there
}

/// Writes a page whose blocks were let go; `None` when it has to be mended, for which they are needed.
pub(super) fn written_alone(page: &Alone) -> Option<String> {
    let Written { text, doubtful } = write(&page.nodes, &mut |_, _| {});
    (!doubtful || says(&text, page)).then_some(text)
}

/// Whether a text says what the tree of a page says.
pub(super) fn says(text: &str, page: &Alone) -> bool {
    says_beside(text, &page.nodes, &page.items)
}

/// Changes nodes until the page reads back, from the mildest change to the hardest.
fn mend(lowered: &mut Lowered) {
    let items = lowered.labels();
    let mut odd = BTreeSet::new();
    alone_odd(&lowered.nodes, &items, &mut odd);
    harden(lowered, &odd);
    for round in 0..ROUNDS + 2 {
        let text = write(&lowered.nodes, &mut |_, _| {}).text;
        let Some(at) = first_difference(&text, lowered) else { return };
        // What is read wrongly may be the fault of what stands below it. In the end it is everybody's.
        let which =
            if round < ROUNDS { BTreeSet::from([at, at + 1]) } else { (0..lowered.values.len()).collect() };
        harden(lowered, &which);
    }
}

/// Blocks whose own lines do not read back by themselves.
fn alone_odd(nodes: &[Node], items: &BTreeSet<String>, odd: &mut BTreeSet<usize>) {
    for node in nodes {
        let mut alone = node.clone();
        alone.children.clear();
        let alone = [alone];
        let written = write(&alone, &mut |_, _| {});
        if written.doubtful
            && !alone[0].is_void()
            && !same_trees(&reading(&written.text, &alone, items, None), &alone)
        {
            odd.insert(node.index);
        }
        alone_odd(&node.children, items, odd);
    }
}

/// One step harder for each of the blocks: every escape, then a stand-in.
pub(super) fn harden(lowered: &mut Lowered, which: &BTreeSet<usize>) {
    let values = &lowered.values;
    let ids = super::lower::ids(values);
    each(&mut lowered.nodes, &mut |node| {
        if !which.contains(&node.index) || matches!(node.kind, Kind::Placeholder(_)) {
            return;
        }
        if node.strict || !node.kind.has_text() {
            let label = stand_in(values[node.index], node.index, &ids);
            let mut other = Node::new(Kind::Placeholder(label.into()), 0..0);
            other.index = node.index;
            other.children = std::mem::take(&mut node.children);
            *node = other;
        } else {
            node.strict = true;
        }
    });
    super::lower::mark_blank_all(&mut lowered.nodes);
}

/// The first block, in preorder, at which the text reads as something else than the tree.
fn first_difference(text: &str, lowered: &Lowered) -> Option<usize> {
    let have = other_reading(text, &lowered.nodes, &lowered.labels(), None)?;
    let mut at = 0;
    difference(shown(&lowered.nodes), &have, &mut at);
    Some(at.min(lowered.values.len().saturating_sub(1)))
}

/// What the text reads as, if that is something else than the tree.
fn other_reading(
    text: &str,
    nodes: &[Node],
    items: &BTreeSet<String>,
    terms: Option<&Known<'_>>,
) -> Option<Vec<Node>> {
    let have = reading(text, nodes, items, terms);
    (!same_trees(shown(nodes), &have)).then_some(have)
}

/// Walks both trees as far as they agree; `at` is left at the first block that does not.
fn difference(want: &[Node], have: &[Node], at: &mut usize) -> bool {
    for (index, node) in want.iter().enumerate() {
        *at = node.index;
        let Some(other) = have.get(index) else { return true };
        if !node.same_own(other) || difference(&node.children, &other.children, at) {
            return true;
        }
    }
    want.len() != have.len()
}
