//! Which block of the base each block of a text is: the sequence diff behind ids, props and moves.
//!
//! Both trees are walked in preorder; nesting is not part of the question, so an indented block stays itself. First
//! what is alike in order (unique content as anchors, then the longest common subsequence between them), then what
//! moved, then what was edited. Linear but for sorting, whatever the input: the quadratic steps only look at small
//! windows.

use std::collections::BTreeMap;
use std::ops::Range;

use super::likeness::{Words, likeness};
use super::plain::{Kind, Node};
use super::shapes;

/// A node as the alignment sees it.
pub(super) struct Flat<'a> {
    /// The node.
    pub node: &'a Node,
    /// Of its own lines.
    pub hash: u64,
    /// Its level.
    pub depth: usize,
}

/// Most cells of a dynamic programming table.
const TABLE_MAX: usize = 1 << 18;
/// Most pairs that are compared by their words in one window.
const PAIRS_MAX: usize = 1 << 12;
/// As alike as an edit of a text in its place is.
const ALIKE: u32 = 350;
/// As alike as an edit of a text in another place is: there, other texts may have as many words in common by chance.
const VERY_ALIKE: u32 = 600;
/// More alike than any two texts.
const JOINED: u32 = 1100;
/// Fewer bytes than this say nothing in another place.
const SHORT: usize = 8;

/// For each of `new`, its place in `old`. No place is given twice.
pub(super) fn align(old: &[Flat], new: &[Flat]) -> Vec<Option<usize>> {
    let mut found = vec![None; new.len()];
    in_order(old, new, &mut found);
    let ordered: Vec<(usize, usize)> = pairs(&found);
    let mut used = vec![false; old.len()];
    ordered.iter().for_each(|&(o, _)| used[o] = true);
    moved(old, new, &mut found, &mut used);
    moved_and_edited(old, new, &ordered, &mut found, &mut used);
    edited(old, new, &ordered, &mut found, &mut used);
    found
}

fn pairs(found: &[Option<usize>]) -> Vec<(usize, usize)> {
    found.iter().enumerate().filter_map(|(n, o)| Some(((*o)?, n))).collect()
}

/// Empty text says nothing about which block it is.
fn is_weak(flat: &Flat) -> bool {
    flat.node.inline.is_empty() && flat.node.kind.has_text() || flat.node.kind == Kind::Divider
}

fn in_order(old: &[Flat], new: &[Flat], found: &mut [Option<usize>]) {
    let mut todo = vec![(0..old.len(), 0..new.len())];
    while let Some((mut o, mut n)) = todo.pop() {
        let same = |a: usize, b: usize| old[a].hash == new[b].hash && old[a].depth == new[b].depth;
        while !o.is_empty() && !n.is_empty() && same(o.start, n.start) {
            found[n.start] = Some(o.start);
            o.start += 1;
            n.start += 1;
        }
        while !o.is_empty() && !n.is_empty() && same(o.end - 1, n.end - 1) {
            o.end -= 1;
            n.end -= 1;
            found[n.end] = Some(o.end);
        }
        if o.is_empty() || n.is_empty() {
            continue;
        }
        if o.len() * n.len() <= TABLE_MAX {
            longest(old, new, o, n, found);
            continue;
        }
        let mut anchors = increasing(unique(old, new, &o, &n));
        if anchors.is_empty() {
            anchors = increasing(by_occurrence(old, new, &o, &n));
            anchors.iter().for_each(|&(a, b)| found[b] = Some(a));
            continue;
        }
        let (mut from_o, mut from_n) = (o.start, n.start);
        for (a, b) in anchors {
            found[b] = Some(a);
            todo.push((from_o..a, from_n..b));
            (from_o, from_n) = (a + 1, b + 1);
        }
        todo.push((from_o..o.end, from_n..n.end));
    }
}

/// Pairs of what is there once on each side, in the order of `new`.
fn unique(old: &[Flat], new: &[Flat], o: &Range<usize>, n: &Range<usize>) -> Vec<(usize, usize)> {
    let once = |flats: &[Flat], range: &Range<usize>| {
        let mut seen: Vec<(u64, usize)> =
            range.clone().filter(|&i| !is_weak(&flats[i])).map(|i| (flats[i].hash, i)).collect();
        seen.sort_unstable();
        let mut single = Vec::with_capacity(seen.len());
        for chunk in seen.chunk_by(|a, b| a.0 == b.0) {
            if let [one] = chunk {
                single.push(*one);
            }
        }
        single
    };
    let (a, b) = (once(old, o), once(new, n));
    let mut out = Vec::new();
    let mut at = 0;
    for (hash, place) in b {
        while at < a.len() && a[at].0 < hash {
            at += 1;
        }
        if at < a.len() && a[at].0 == hash {
            out.push((a[at].1, place));
        }
    }
    out.sort_unstable_by_key(|pair| pair.1);
    out
}

/// Pairs the k-th of each content with the k-th, in the order of `new`.
fn by_occurrence(old: &[Flat], new: &[Flat], o: &Range<usize>, n: &Range<usize>) -> Vec<(usize, usize)> {
    let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for i in o.clone().rev() {
        places.entry(old[i].hash).or_default().push(i);
    }
    n.clone().filter_map(|i| Some((places.get_mut(&new[i].hash)?.pop()?, i))).collect()
}

/// The longest run of pairs that increases on both sides; the pairs come in the order of the second.
fn increasing(pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut tails: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; pairs.len()];
    for (at, pair) in pairs.iter().enumerate() {
        let place = tails.partition_point(|&tail| pairs[tail].0 < pair.0);
        before[at] = if place == 0 { usize::MAX } else { tails[place - 1] };
        if place == tails.len() { tails.push(at) } else { tails[place] = at }
    }
    let mut out = Vec::with_capacity(tails.len());
    let mut at = tails.last().copied().unwrap_or(usize::MAX);
    while at != usize::MAX {
        out.push(pairs[at]);
        at = before[at];
    }
    out.reverse();
    out
}

/// Equal elements in order, by hash where they are unique and one by one at both ends.
pub(super) fn increasing_pairs<T: PartialEq>(old: &[T], new: &[T]) -> Vec<(usize, usize)> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (rest_o, rest_n) = (&old[head..], &new[head..]);
    let tail = rest_o.iter().rev().zip(rest_n.iter().rev()).take_while(|(a, b)| a == b).count();
    let (rows, columns) = (rest_o.len() - tail, rest_n.len() - tail);
    let mut pairs: Vec<(usize, usize)> = (0..head).map(|at| (at, at)).collect();
    if rows * columns <= TABLE_MAX {
        let weight = |i: usize, j: usize| u32::from(rest_o[i] == rest_n[j]);
        best_path(rows, columns, weight, |i, j| pairs.push((head + i, head + j)));
    }
    pairs.extend((0..tail).map(|at| (head + rows + at, head + columns + at)));
    pairs
}

/// The heaviest common subsequence of a small window: content counts, and the same level a little.
fn longest(old: &[Flat], new: &[Flat], o: Range<usize>, n: Range<usize>, found: &mut [Option<usize>]) {
    let weight = |a: usize, b: usize| {
        if old[a].hash != new[b].hash {
            return 0;
        }
        (if is_weak(&old[a]) { 2 } else { 8 }) + u32::from(old[a].depth == new[b].depth)
    };
    best_path(
        o.len(),
        n.len(),
        |i, j| weight(o.start + i, n.start + j),
        |i, j| found[n.start + j] = Some(o.start + i),
    );
}

/// Picks pairs, increasing on both sides, with the largest sum of weights.
pub(super) fn best_path(
    rows: usize,
    columns: usize,
    weight: impl Fn(usize, usize) -> u32,
    mut take: impl FnMut(usize, usize),
) {
    let width = columns + 1;
    let mut best = vec![0u32; (rows + 1) * width];
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            let paired = weight(i, j);
            let skip = best[(i + 1) * width + j].max(best[i * width + j + 1]);
            let pair = if paired > 0 { paired + best[(i + 1) * width + j + 1] } else { 0 };
            best[i * width + j] = skip.max(pair);
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < rows && j < columns {
        let here = best[i * width + j];
        let paired = weight(i, j);
        if paired > 0 && here == paired + best[(i + 1) * width + j + 1] {
            take(i, j);
            i += 1;
            j += 1;
        } else if here == best[(i + 1) * width + j] {
            i += 1;
        } else {
            j += 1;
        }
    }
}

/// What is alike but out of order.
fn moved(old: &[Flat], new: &[Flat], found: &mut [Option<usize>], used: &mut [bool]) {
    let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    // A divider is known in another place if no other one can be meant.
    let divider = |flats: &[Flat], is_free: &dyn Fn(usize) -> bool| {
        let mut free = (0..flats.len()).filter(|&i| flats[i].node.kind == Kind::Divider && is_free(i));
        free.next().filter(|_| free.next().is_none())
    };
    let dividers = divider(old, &|i| !used[i]).zip(divider(new, &|i| found[i].is_none()));
    for i in (0..old.len()).rev().filter(|&i| !used[i]) {
        if !is_weak(&old[i]) || dividers.is_some_and(|(gone, _)| gone == i) {
            places.entry(old[i].hash).or_default().push(i);
        }
    }
    if places.is_empty() {
        return;
    }
    for i in 0..new.len() {
        if found[i].is_none()
            && let Some(place) = places.get_mut(&new[i].hash).and_then(Vec::pop)
        {
            found[i] = Some(place);
            used[place] = true;
        }
    }
}

/// What moved out of its window, was changed a little, and has nothing like it where it was: whatever came into its place
/// would be taken for it.
fn moved_and_edited(
    old: &[Flat],
    new: &[Flat],
    ordered: &[(usize, usize)],
    found: &mut [Option<usize>],
    used: &mut [bool],
) {
    let gone: Vec<usize> = (0..old.len()).filter(|&i| !used[i]).collect();
    let fresh: Vec<usize> = (0..new.len()).filter(|&j| found[j].is_none()).collect();
    if fresh.len() < 2 || gone.len() * fresh.len() > PAIRS_MAX {
        return;
    }
    let a: Vec<Words> = gone.iter().map(|&i| Words::of(old[i].node)).collect();
    let b: Vec<Words> = fresh.iter().map(|&j| Words::of(new[j].node)).collect();
    let rooms: Vec<usize> = gone.iter().map(|&i| ordered.partition_point(|pair| pair.0 < i)).collect();
    let halls: Vec<usize> = fresh.iter().map(|&j| ordered.partition_point(|pair| pair.1 < j)).collect();
    let like = |i: usize, j: usize| {
        if is_compatible(old[gone[i]].node, new[fresh[j]].node) { likeness(&a[i], &b[j]) } else { 0 }
    };
    // What has something like it in its own window stays there, each with one.
    let (mut stays, mut is_there) = (vec![false; a.len()], vec![false; b.len()]);
    for room in rooms.chunk_by(PartialEq::eq) {
        let from = rooms.partition_point(|other| *other < room[0]);
        let (first, end) =
            (halls.partition_point(|hall| *hall < room[0]), halls.partition_point(|hall| *hall <= room[0]));
        let weight = |i: usize, j: usize| match like(from + i, first + j) {
            like if like >= ALIKE => like + bonus(&old[gone[from + i]], &new[fresh[first + j]]),
            _ => 0,
        };
        best_path(room.len(), end - first, weight, |i, j| {
            (stays[from + i], is_there[first + j]) = (true, true);
        });
    }
    let free: Vec<usize> = (0..b.len()).filter(|&j| !is_there[j]).collect();
    let mut candidates = Vec::new();
    for i in (0..a.len()).filter(|&i| a[i].len >= SHORT && !stays[i]) {
        let far = free.iter().filter(|&&j| rooms[i] != halls[j]);
        candidates.extend(far.map(|&j| (like(i, j), j, i)).filter(|found| found.0 >= VERY_ALIKE));
    }
    take_best(candidates, &gone, &fresh, found, used);
}

/// What was changed in place, window by window between the blocks that were not, and then anywhere.
fn edited(
    old: &[Flat],
    new: &[Flat],
    ordered: &[(usize, usize)],
    found: &mut [Option<usize>],
    used: &mut [bool],
) {
    let (mut from_o, mut from_n) = (0, 0);
    let mut left: (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for &(o, n) in ordered.iter().chain([&(old.len(), new.len())]) {
        let gone: Vec<usize> = (from_o..o).filter(|&i| !used[i]).collect();
        let fresh: Vec<usize> = (from_n..n).filter(|&i| found[i].is_none()).collect();
        let largest = gone.len().max(fresh.len());
        // Large windows are cut into pieces of the same share.
        let pieces = if gone.len() * fresh.len() > PAIRS_MAX { largest.div_ceil(64) } else { 1 };
        for piece in 0..pieces {
            let cut = |list: &[usize]| {
                list[list.len() * piece / pieces..list.len() * (piece + 1) / pieces].to_vec()
            };
            in_window(old, new, &cut(&gone), &cut(&fresh), found, used);
        }
        left.0.extend(gone.into_iter().filter(|&i| !used[i]));
        left.1.extend(fresh.into_iter().filter(|&i| found[i].is_none()));
        (from_o, from_n) = (o + 1, n + 1);
    }
    if left.0.len() * left.1.len() <= PAIRS_MAX {
        anywhere(old, new, &left.0, &left.1, found, used);
    }
}

fn in_window(
    old: &[Flat],
    new: &[Flat],
    gone: &[usize],
    fresh: &[usize],
    found: &mut [Option<usize>],
    used: &mut [bool],
) {
    if gone.is_empty() || fresh.is_empty() {
        return;
    }
    let a: Vec<Words> = gone.iter().map(|&i| Words::of(old[i].node)).collect();
    let b: Vec<Words> = fresh.iter().map(|&i| Words::of(new[i].node)).collect();
    let even = gone.len() == fresh.len();
    let mut weights = Vec::with_capacity(a.len() * b.len());
    for i in 0..a.len() {
        for j in 0..b.len() {
            let (x, y) = (&old[gone[i]], &new[fresh[j]]);
            let like = if is_joined(x.node, y.node) { JOINED } else { likeness(&a[i], &b[j]) };
            let fits = like >= ALIKE || even && i == j && (gone.len() == 1 || x.node.kind == y.node.kind);
            weights.push(if fits && is_compatible(x.node, y.node) { like + bonus(x, y) } else { 0 });
        }
    }
    best_path(
        a.len(),
        b.len(),
        |i, j| weights[i * b.len() + j],
        |i, j| {
            found[fresh[j]] = Some(gone[i]);
            used[gone[i]] = true;
        },
    );
}

/// Whether an item goes on with the text of what stood below it: it is that item, however long the rest is.
fn is_joined(old: &Node, new: &Node) -> bool {
    let (was, is) = (&old.inline.text, &new.inline.text);
    old.kind.is_item()
        && old.kind == new.kind
        && !was.is_empty()
        && is.strip_prefix(was.as_str()).is_some_and(|rest| rest.starts_with([' ', '\n']))
}

/// What speaks for a pair besides its words.
fn bonus(old: &Flat, new: &Flat) -> u32 {
    20 * u32::from(old.node.kind == new.node.kind) + 10 * u32::from(old.depth == new.depth) + 1
}

/// What moved and was changed as well: only with many words in common.
fn anywhere(
    old: &[Flat],
    new: &[Flat],
    gone: &[usize],
    fresh: &[usize],
    found: &mut [Option<usize>],
    used: &mut [bool],
) {
    if gone.is_empty() || fresh.is_empty() {
        return;
    }
    let a: Vec<Words> = gone.iter().map(|&i| Words::of(old[i].node)).collect();
    let b: Vec<Words> = fresh.iter().map(|&i| Words::of(new[i].node)).collect();
    let fits = |i: usize, j: usize| is_compatible(old[gone[i]].node, new[fresh[j]].node);
    // One that went and one that came may have less in common: there is no other.
    let said = |words: &Words| words.len > 0;
    let rivals = |j: usize| (0..a.len()).filter(|&i| said(&a[i]) && fits(i, j)).count();
    let heirs = |i: usize| (0..b.len()).filter(|&j| said(&b[j]) && fits(i, j)).count();
    let (rivals, heirs): (Vec<usize>, Vec<usize>) =
        ((0..b.len()).map(rivals).collect(), (0..a.len()).map(heirs).collect());
    let mut candidates = Vec::new();
    for i in 0..a.len() {
        for j in (0..b.len()).filter(|&j| fits(i, j)) {
            let alone = rivals[j] == 1 && heirs[i] == 1;
            let says = a[i].len >= SHORT || alone && !old[gone[i]].node.kind.has_text();
            let like = likeness(&a[i], &b[j]);
            if says && like >= if alone { ALIKE } else { VERY_ALIKE } {
                candidates.push((like, j, i));
            }
        }
    }
    take_best(candidates, gone, fresh, found, used);
}

/// Of pairs with how alike they are, the best first, and none twice.
fn take_best(
    mut candidates: Vec<(u32, usize, usize)>,
    gone: &[usize],
    fresh: &[usize],
    found: &mut [Option<usize>],
    used: &mut [bool],
) {
    candidates.sort_unstable_by_key(|&(like, j, i)| (std::cmp::Reverse(like), j, i));
    for (_, j, i) in candidates {
        if found[fresh[j]].is_none() && !used[gone[i]] {
            found[fresh[j]] = Some(gone[i]);
            used[gone[i]] = true;
        }
    }
}

/// Whether one can be an edit of the other. Empty paragraphs that are blank lines are never edits.
fn is_compatible(old: &Node, new: &Node) -> bool {
    if let (Kind::Media(a), Kind::Media(b)) = (&old.kind, &new.kind) {
        return a.file == b.file && shapes::guess(a) == shapes::guess(b);
    }
    old.kind.has_text() && new.kind.has_text()
        || !matches!(old.kind, Kind::Placeholder(_))
            && std::mem::discriminant(&old.kind) == std::mem::discriminant(&new.kind)
}
