//! Which elements of two sequences belong together, in order: what diffs are made of.
//!
//! Elements are numbers; equal numbers are equal elements. First what both begin and end with, then what occurs once
//! on both sides (patience), then the longest common subsequence where the rest is small. What is large and has
//! nothing unique is left unmatched, so the time stays near-linear whatever the input.

use std::collections::BTreeMap;

/// Most cells of the table for a longest common subsequence.
const TABLE_MAX: usize = 1 << 18;

/// How often a range may be split at unique elements before the rest is left to the table.
const DEPTH_MAX: usize = 64;

/// Pairs of indices of equal elements, ascending in both.
pub(super) fn align(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut ranges = vec![(0, a.len(), 0, b.len(), 0)];
    while let Some((mut a0, mut a1, mut b0, mut b1, depth)) = ranges.pop() {
        while a0 < a1 && b0 < b1 && a[a0] == b[b0] {
            pairs.push((a0, b0));
            (a0, b0) = (a0 + 1, b0 + 1);
        }
        while a0 < a1 && b0 < b1 && a[a1 - 1] == b[b1 - 1] {
            (a1, b1) = (a1 - 1, b1 - 1);
            pairs.push((a1, b1));
        }
        if a0 == a1 || b0 == b1 {
            continue;
        }
        let anchors = if depth < DEPTH_MAX { unique_pairs(&a[a0..a1], &b[b0..b1]) } else { Vec::new() };
        if anchors.is_empty() {
            pairs.extend(table(&a[a0..a1], &b[b0..b1]).into_iter().map(|(i, j)| (a0 + i, b0 + j)));
            continue;
        }
        let (mut i, mut j) = (a0, b0);
        for (x, y) in anchors.into_iter().map(|(x, y)| (a0 + x, b0 + y)) {
            pairs.push((x, y));
            ranges.push((i, x, j, y, depth + 1));
            (i, j) = (x + 1, y + 1);
        }
        ranges.push((i, a1, j, b1, depth + 1));
    }
    pairs.sort_unstable();
    pairs
}

/// The longest ascending chain of elements that occur exactly once on each side.
fn unique_pairs(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let mut places: BTreeMap<u32, ([usize; 2], [usize; 2])> = BTreeMap::new();
    for (side, elements) in [a, b].into_iter().enumerate() {
        for (at, element) in elements.iter().enumerate() {
            let (counts, last) = places.entry(*element).or_default();
            counts[side] += 1;
            last[side] = at;
        }
    }
    let mut pairs: Vec<(usize, usize)> = places
        .into_values()
        .filter(|(counts, _)| *counts == [1, 1])
        .map(|(_, [in_a, in_b])| (in_a, in_b))
        .collect();
    pairs.sort_unstable();
    let seconds: Vec<usize> = pairs.iter().map(|(_, in_b)| *in_b).collect();
    longest_increasing(&seconds).into_iter().map(|at| pairs[at]).collect()
}

/// The longest common subsequence by its table; nothing when the table would be too large.
fn table(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    if (a.len() + 1).saturating_mul(width) > TABLE_MAX {
        return Vec::new();
    }
    // `lengths[i * width + j]` is the length for `a[i..]` and `b[j..]`.
    let mut lengths = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i * width + j] = if a[i] == b[j] {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let mut pairs = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// The indices of a longest strictly increasing subsequence.
pub(super) fn longest_increasing(values: &[usize]) -> Vec<usize> {
    // `ends[n]` is the index of the least value that ends a subsequence of length `n + 1`.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(values.len());
    for (at, value) in values.iter().enumerate() {
        let length = ends.partition_point(|end| values[*end] < *value);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut chain = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(index) = at {
        chain.push(index);
        at = before[index];
    }
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(text: &str) -> Vec<u32> {
        text.chars().map(u32::from).collect()
    }

    #[test]
    fn what_stays_is_found() {
        let check = |a: &str, b: &str, common: &str| {
            let chars: Vec<char> = a.chars().collect();
            let found: String = align(&numbers(a), &numbers(b)).into_iter().map(|(i, _)| chars[i]).collect();
            assert_eq!(found, common, "{a} {b}");
        };
        check("", "abc", "");
        check("abc", "abc", "abc");
        check("abc", "axc", "ac");
        check("abcd", "bcda", "bcd");
        check("xaxbx", "xbxax", "xbx");
        check("aaaa", "aa", "aa");
        check("ababab", "bababa", "babab");
        check("aab", "abb", "ab");
    }

    #[test]
    fn large_and_repetitive_input_takes_no_long_time() {
        let a: Vec<u32> = (0..200_000).map(|n| n % 7).collect();
        let b: Vec<u32> = (0..200_000).map(|n| n % 5).collect();
        align(&a, &b);
        let reversed: Vec<u32> = (0..200_000).rev().collect();
        assert_eq!(align(&(0..200_000).collect::<Vec<u32>>(), &reversed).len(), 1);
    }

    proptest! {
        #![proptest_config(crate::model::tests::config())]

        #[test]
        fn pairs_are_equal_and_ascend(a in prop::collection::vec(0..6_u32, 0..20), b in prop::collection::vec(0..6_u32, 0..20)) {
            let pairs = align(&a, &b);
            prop_assert!(pairs.iter().all(|(i, j)| a[*i] == b[*j]));
            prop_assert!(pairs.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
            let chain = longest_increasing(&a.iter().map(|n| *n as usize).collect::<Vec<_>>());
            prop_assert!(chain.windows(2).all(|w| w[0] < w[1] && a[w[0]] < a[w[1]]));
        }
    }
}
