//! Where each block of the merged page stands: which blocks live, what they are nested in, and in what order.

use super::align::longest_increasing;
use super::tree::{Key, Tree, Trees};
use super::value::is_own_equal;

/// The shape of the merged page.
#[derive(Debug)]
pub(super) struct Shape {
    /// What is not nested in anything.
    pub(super) roots: Vec<Key>,
    /// What is nested in each block, by key.
    pub(super) children: Vec<Vec<Key>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Remote,
    Local,
}

/// Decides the shape.
pub(super) fn shape(trees: &Trees<'_>) -> Shape {
    let lives: Vec<bool> = (0..trees.count).map(|key| lives(trees, key)).collect();
    let parents = parents(trees, &lives);
    let [base, remote, local] = [&trees.base, &trees.remote, &trees.local].map(|tree| siblings(tree, &lives));
    // A block counts among the siblings of a version only where its parent in the merged page is the same.
    let at_home = |lists: &Siblings, group: usize, parent: Option<Key>| -> Vec<Key> {
        let keep = |key: &Key| lives[*key] && parents[*key] == parent;
        lists.groups.get(group).map(|keys| keys.iter().copied().filter(keep).collect()).unwrap_or_default()
    };
    let merge = |group: usize, parent: Option<Key>| {
        order(
            &at_home(&base, group, parent),
            &at_home(&remote, group, parent),
            &at_home(&local, group, parent),
        )
    };
    let roots = merge(trees.count, None);
    let children =
        (0..trees.count).map(|key| if lives[key] { merge(key, Some(key)) } else { Vec::new() }).collect();
    Shape { roots, children }
}

/// A block lives unless one side deleted it and the other did not edit it.
fn lives(trees: &Trees<'_>, key: Key) -> bool {
    match (trees.base.get(key), trees.remote.get(key), trees.local.get(key)) {
        (_, Some(_), Some(_)) => true,
        (Some(was), Some(now), None) | (Some(was), None, Some(now)) => !is_own_equal(was.value, now.value),
        (None, remote, local) => remote.is_some() || local.is_some(),
        (Some(_), None, None) => false,
    }
}

/// The block that each living block is nested in: the side that moved it says so, and remote where both did.
fn parents(trees: &Trees<'_>, lives: &[bool]) -> Vec<Option<Key>> {
    let raw = |tree: &Tree<'_>, key| tree.get(key).map(|node| node.parent);
    let mut whose: Vec<Whose> = (0..trees.count)
        .map(|key| match (raw(&trees.base, key), raw(&trees.remote, key), raw(&trees.local, key)) {
            (_, None, _) => Whose::Local,
            (was, theirs, ours) if ours.is_some() && was == theirs => Whose::Local,
            _ => Whose::Remote,
        })
        .collect();
    let remote = living_parents(&trees.remote, lives);
    let local = living_parents(&trees.local, lives);
    let parent = |whose: &[Whose], key: Key| match whose[key] {
        Whose::Remote => remote[key],
        Whose::Local => local[key],
    };
    // Moves of both sides can make a ring, which neither tree has alone: there remote's places stand.
    let mut safe = vec![false; trees.count];
    for start in (0..trees.count).filter(|key| lives[*key]) {
        let mut path: Vec<Key> = Vec::new();
        let mut on_path = std::collections::BTreeSet::new();
        let mut at = Some(start);
        while let Some(key) = at.filter(|key| !safe[*key]) {
            if !on_path.insert(key) {
                // The local move of what remote moved something into gives way.
                let from = path.iter().position(|other| *other == key).unwrap_or(0);
                let ring = &path[from..];
                let after = |at: usize| ring[(at + 1) % ring.len()];
                let is = |key: Key, side: Whose| whose[key] == side;
                let gives_way = (0..ring.len())
                    .find(|at| is(ring[*at], Whose::Remote) && is(after(*at), Whose::Local))
                    .map(after);
                let Some(key) = gives_way else { break };
                whose[key] = Whose::Remote;
                // Everything from here on may lead elsewhere now.
                path.clear();
                on_path.clear();
                at = Some(start);
                continue;
            }
            path.push(key);
            at = parent(&whose, key);
        }
        path.into_iter().for_each(|key| safe[key] = true);
    }
    (0..trees.count).map(|key| parent(&whose, key)).collect()
}

/// The nearest living block that each block of a version is nested in.
fn living_parents(tree: &Tree<'_>, lives: &[bool]) -> Vec<Option<Key>> {
    let mut nearest = vec![None; lives.len()];
    for key in &tree.order {
        let parent = tree.get(*key).and_then(|node| node.parent);
        nearest[*key] = parent.and_then(|parent| if lives[parent] { Some(parent) } else { nearest[parent] });
    }
    nearest
}

/// The living blocks of a version by their nearest living parent, in order; those of none come last. What was nested
/// in a deleted block stands in its place.
struct Siblings {
    groups: Vec<Vec<Key>>,
}

fn siblings(tree: &Tree<'_>, lives: &[bool]) -> Siblings {
    let parents = living_parents(tree, lives);
    let mut groups = vec![Vec::new(); lives.len() + 1];
    for key in tree.order.iter().filter(|key| lives[**key]) {
        groups[parents[*key].unwrap_or(lives.len())].push(*key);
    }
    Siblings { groups }
}

/// Merges the order of one block's children. What neither side moved divides the lists; between, remote's come
/// first.
fn order(base: &[Key], remote: &[Key], local: &[Key]) -> Vec<Key> {
    if remote == local {
        return remote.to_vec();
    }
    let in_base = Places::new(base);
    let in_remote = Places::new(remote);
    let in_local = Places::new(local);
    let stays_in_remote = stays(remote, &in_base);
    let stays_in_local = stays(local, &in_base);
    let is_anchor = |key: Key| stays_in_remote.has(key) && stays_in_local.has(key);
    // Whether local says where it stands: it alone has it, or it alone moved it.
    let is_locals = |key: Key| {
        !in_remote.has(key) || (stays_in_remote.has(key) && in_local.has(key) && !stays_in_local.has(key))
    };
    let mut merged = Vec::with_capacity(remote.len() + local.len());
    let gaps =
        |list: &[Key]| -> Vec<Vec<Key>> { list.split(|key| is_anchor(*key)).map(<[Key]>::to_vec).collect() };
    let anchors: Vec<Key> = remote.iter().copied().filter(|key| is_anchor(*key)).collect();
    let mut anchors = anchors.into_iter();
    for (theirs, ours) in gaps(remote).into_iter().zip(gaps(local)) {
        let theirs: Vec<Key> = theirs.into_iter().filter(|key| !is_locals(*key)).collect();
        interleave(&theirs, &ours, is_locals, &mut merged);
        merged.extend(anchors.next());
    }
    merged
}

/// Puts together what stands between two anchors: what both put there in one order divides it again.
fn interleave(theirs: &[Key], ours: &[Key], is_locals: impl Fn(Key) -> bool, merged: &mut Vec<Key>) {
    let places = Places::new(theirs);
    let shared: Vec<(usize, usize)> =
        ours.iter().enumerate().filter_map(|(j, key)| Some((places.get(*key)?, j))).collect();
    let firsts: Vec<usize> = shared.iter().map(|(i, _)| *i).collect();
    let (mut i, mut j) = (0, 0);
    let dividers = longest_increasing(&firsts).into_iter().map(|at| shared[at]);
    for (x, y) in dividers.chain([(theirs.len(), ours.len())]) {
        merged.extend(&theirs[i..x]);
        merged.extend(ours[j..y].iter().filter(|key| is_locals(**key)));
        merged.extend(theirs.get(x));
        (i, j) = (x + 1, y + 1);
    }
}

/// The keys of `list` that stand in the order in which `before` had them.
fn stays(list: &[Key], before: &Places) -> Places {
    let shared: Vec<(Key, usize)> = list.iter().filter_map(|key| Some((*key, before.get(*key)?))).collect();
    let places: Vec<usize> = shared.iter().map(|(_, place)| *place).collect();
    let kept: Vec<Key> = longest_increasing(&places).into_iter().map(|at| shared[at].0).collect();
    Places::new(&kept)
}

/// Where each key stands in a list.
struct Places(std::collections::BTreeMap<Key, usize>);

impl Places {
    fn new(list: &[Key]) -> Self {
        Self(list.iter().enumerate().map(|(at, key)| (*key, at)).collect())
    }

    fn get(&self, key: Key) -> Option<usize> {
        self.0.get(&key).copied()
    }

    fn has(&self, key: Key) -> bool {
        self.0.contains_key(&key)
    }
}
