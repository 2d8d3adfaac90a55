//! The three versions of a page as trees over one set of keys: who is who.
//!
//! A block is known by its id. Blocks whose id is missing, or is not alone, are matched as well as can be: first those
//! that did not change, in their order and then wherever they are, then those that stand in the same stretch in
//! the same number and are of one type.

use std::collections::BTreeMap;

use serde_json::Value;

use super::align::align;
use super::value::{canonical, own};

/// Names a block in all three trees.
pub(super) type Key = usize;

/// A block in one of the trees.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    /// The block, with everything nested in it.
    pub(super) value: &'a Value,
    /// The block that it is nested in.
    pub(super) parent: Option<Key>,
}

/// One version of the page.
#[derive(Debug, Default)]
pub(super) struct Tree<'a> {
    /// By key.
    pub(super) nodes: Vec<Option<Node<'a>>>,
    /// Every key, in the order of the page: a block before what is nested in it.
    pub(super) order: Vec<Key>,
}

impl<'a> Tree<'a> {
    /// The block of this key, if this version has it.
    pub(super) fn get(&self, key: Key) -> Option<Node<'a>> {
        self.nodes.get(key).copied().flatten()
    }
}

/// The three versions.
#[derive(Debug)]
pub(super) struct Trees<'a> {
    pub(super) base: Tree<'a>,
    pub(super) remote: Tree<'a>,
    pub(super) local: Tree<'a>,
    /// Keys are below this.
    pub(super) count: usize,
}

/// A block before it has a key.
struct Found<'a> {
    value: &'a Value,
    /// Its parent's place in the list.
    parent: Option<usize>,
    id: Option<String>,
}

/// Reads the three versions.
pub(super) fn read<'a>(base: &'a [Value], remote: &'a [Value], local: &'a [Value]) -> Trees<'a> {
    let sides = [base, remote, local].map(|blocks| {
        let mut list = Vec::new();
        list_blocks(blocks, None, &mut list);
        list
    });
    // The places of each id in each version; blocks without an id share a name that is none.
    let mut names: BTreeMap<Option<&str>, [Vec<usize>; 3]> = BTreeMap::new();
    for (side, list) in sides.iter().enumerate() {
        for (at, found) in list.iter().enumerate() {
            names.entry(found.id.as_deref()).or_default()[side].push(at);
        }
    }
    let mut keys = Keys { count: 0, of: [0, 1, 2].map(|side| vec![None; sides[side].len()]) };
    for (name, places) in &names {
        if name.is_some() && places.iter().all(|places| places.len() <= 1) {
            let key = keys.next();
            for (side, places) in places.iter().enumerate() {
                places.iter().for_each(|at| keys.of[side][*at] = Some(key));
            }
        } else {
            keys.match_alike(&sides, places);
        }
    }
    let tree = |side: usize| {
        let mut tree = Tree { nodes: vec![None; keys.count], order: Vec::new() };
        for (found, key) in sides[side].iter().zip(&keys.of[side]) {
            if let Some(key) = *key {
                let parent = found.parent.and_then(|at| keys.of[side][at]);
                tree.nodes[key] = Some(Node { value: found.value, parent });
                tree.order.push(key);
            }
        }
        tree
    };
    Trees { base: tree(0), remote: tree(1), local: tree(2), count: keys.count }
}

/// The blocks nested in a block.
pub(super) fn children(block: &Value) -> &[Value] {
    block.get("children").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn list_blocks<'a>(blocks: &'a [Value], parent: Option<usize>, list: &mut Vec<Found<'a>>) {
    for value in blocks {
        let id = match value.get("id") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.is_empty() => None,
            Some(id) => Some(id.to_string()),
        };
        list.push(Found { value, parent, id });
        let at = list.len() - 1;
        list_blocks(children(value), Some(at), list);
    }
}

struct Keys {
    count: usize,
    /// For each version, the key of each block in its list.
    of: [Vec<Option<Key>>; 3],
}

impl Keys {
    fn next(&mut self) -> Key {
        self.count += 1;
        self.count - 1
    }

    /// Gives keys to blocks that no id tells apart: `places` in the three lists.
    fn match_alike(&mut self, sides: &[Vec<Found<'_>>; 3], places: &[Vec<usize>; 3]) {
        let mut numbers = BTreeMap::new();
        let contents: [Vec<u32>; 3] = [0, 1, 2].map(|side| {
            let number = |at: &usize| {
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                *numbers.entry(canonical(&own(sides[side][*at].value))).or_insert(next)
            };
            places[side].iter().map(number).collect()
        });
        for at in &places[0] {
            self.of[0][*at] = Some(self.next());
        }
        for side in [1, 2] {
            let kind = |side: usize, at: usize| {
                let value = sides[side][places[side][at]].value;
                (value.is_object(), value.get("type"))
            };
            let pairs = pair(&contents[0], &contents[side], |x, y| kind(0, x) == kind(side, y));
            for (x, y) in pairs {
                self.of[side][places[side][y]] = self.of[0][places[0][x]];
            }
        }
        // What both put in alike is one block.
        let new = |side: usize, keys: &Self| -> Vec<usize> {
            (0..places[side].len()).filter(|at| keys.of[side][places[side][*at]].is_none()).collect()
        };
        let (in_remote, in_local) = (new(1, self), new(2, self));
        for at in &in_remote {
            self.of[1][places[1][*at]] = Some(self.next());
        }
        let pick =
            |side: usize, new: &[usize]| -> Vec<u32> { new.iter().map(|at| contents[side][*at]).collect() };
        for (x, y) in align(&pick(1, &in_remote), &pick(2, &in_local)) {
            self.of[2][places[2][in_local[y]]] = self.of[1][places[1][in_remote[x]]];
        }
        for at in in_local {
            if self.of[2][places[2][at]].is_none() {
                self.of[2][places[2][at]] = Some(self.next());
            }
        }
    }
}

/// Pairs of places of one block in two lists of contents.
fn pair(a: &[u32], b: &[u32], same_type: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let mut pairs = align(a, b);
    let (mut used_a, mut used_b) = (vec![false; a.len()], vec![false; b.len()]);
    for (x, y) in &pairs {
        (used_a[*x], used_b[*y]) = (true, true);
    }
    // Unchanged, but elsewhere.
    let mut loose: BTreeMap<u32, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    (0..a.len()).filter(|x| !used_a[*x]).for_each(|x| loose.entry(a[x]).or_default().0.push(x));
    (0..b.len()).filter(|y| !used_b[*y]).for_each(|y| loose.entry(b[y]).or_default().1.push(y));
    let mut elsewhere = Vec::new();
    for (from, to) in loose.into_values() {
        elsewhere.extend(from.into_iter().zip(to));
    }
    for (x, y) in &elsewhere {
        (used_a[*x], used_b[*y]) = (true, true);
    }
    // Changed in place: as many as there were between two that stayed.
    let mut changed = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (x, y) in pairs.iter().copied().chain([(a.len(), b.len())]) {
        let left_a: Vec<usize> = (i..x).filter(|at| !used_a[*at]).collect();
        let left_b: Vec<usize> = (j..y).filter(|at| !used_b[*at]).collect();
        if left_a.len() == left_b.len() {
            changed.extend(left_a.into_iter().zip(left_b).filter(|(x, y)| same_type(*x, *y)));
        }
        (i, j) = (x + 1, y + 1);
    }
    pairs.extend(elsewhere);
    pairs.extend(changed);
    pairs
}
