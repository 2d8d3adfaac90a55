//! Which parts of a sequence each of two sides changed, and where both changed the same part.

use std::ops::Range;

/// A part of three sequences: base, remote, local.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Region {
    /// Who changed it.
    pub(super) by: By,
    pub(super) base: Range<usize>,
    pub(super) remote: Range<usize>,
    pub(super) local: Range<usize>,
}

/// Who changed a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// Nobody: the three ranges have one length and belong together element by element.
    Nobody,
    /// The remote side only.
    Remote,
    /// The local side only.
    Local,
    /// Both, in ranges of the base that overlap, or by putting something in at one place.
    Both,
}

/// A change: this range of the base became that range of a side. Where the base's is empty, something was put in.
#[derive(Debug, Clone)]
struct Hunk {
    base: Range<usize>,
    side: Range<usize>,
}

/// Divides three sequences of these lengths, given the pairs of elements that each side has kept. Changes side by side
/// do not overlap: what was put in beside a changed element is a region of its own.
pub(super) fn regions(
    lengths: [usize; 3],
    in_remote: &[(usize, usize)],
    in_local: &[(usize, usize)],
) -> Vec<Region> {
    let [base, remote, local] = lengths;
    let (theirs, ours) = (hunks(in_remote, base, remote), hunks(in_local, base, local));
    let (mut theirs, mut ours) = (theirs.into_iter().peekable(), ours.into_iter().peekable());
    let mut regions = Vec::new();
    // How far each sequence is used up.
    let mut at = [0, 0, 0];
    let kept = |at: &mut [usize; 3], until: usize, regions: &mut Vec<Region>| {
        let length = until - at[0];
        let [base, remote, local] = at.map(|start| start..start + length);
        *at = [base.end, remote.end, local.end];
        if length > 0 {
            regions.push(Region { by: By::Nobody, base, remote, local });
        }
    };
    loop {
        // The next change of either side, and every change that overlaps what is gathered so far.
        let mut reach: Option<Range<usize>> = None;
        let mut changes: [Vec<Hunk>; 2] = [Vec::new(), Vec::new()];
        loop {
            let fits = |hunk: &&Hunk| reach.as_ref().is_none_or(|reach| overlap(reach, &hunk.base));
            let order = |hunk: &Hunk| (hunk.base.start, hunk.base.end);
            let (hunk, side) = match (theirs.peek().filter(fits), ours.peek().filter(fits)) {
                (Some(a), Some(b)) if order(a) <= order(b) => (theirs.next(), 0),
                (_, Some(_)) => (ours.next(), 1),
                (Some(_), None) => (theirs.next(), 0),
                (None, None) => break,
            };
            let Some(hunk) = hunk else { break };
            let so_far = reach.get_or_insert_with(|| hunk.base.clone());
            so_far.end = so_far.end.max(hunk.base.end);
            changes[side].push(hunk);
        }
        let Some(base) = reach else { break };
        kept(&mut at, base.start, &mut regions);
        let remote = at[1]..at[1] + length(&base, &changes[0]);
        let local = at[2]..at[2] + length(&base, &changes[1]);
        let by = match (changes[0].is_empty(), changes[1].is_empty()) {
            (false, true) => By::Remote,
            (true, _) => By::Local,
            (false, false) => By::Both,
        };
        at = [base.end, remote.end, local.end];
        regions.push(Region { by, base, remote, local });
    }
    kept(&mut at, base, &mut regions);
    regions
}

/// Whether two changed ranges have an element in common. Two things put in at one place overlap too.
fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => a.start == b.start,
        (true, false) => b.start < a.start && a.start < b.end,
        (false, true) => a.start < b.start && b.start < a.end,
        (false, false) => a.start < b.end && b.start < a.end,
    }
}

/// How many elements of a side stand for this range of the base.
fn length(base: &Range<usize>, hunks: &[Hunk]) -> usize {
    let replaced: usize = hunks.iter().map(|hunk| hunk.base.len()).sum();
    let written: usize = hunks.iter().map(|hunk| hunk.side.len()).sum();
    base.len() - replaced + written
}

/// What a side changed: the gaps between the pairs that it kept.
fn hunks(pairs: &[(usize, usize)], base_length: usize, side_length: usize) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (next_i, next_j) in pairs.iter().copied().chain([(base_length, side_length)]) {
        if i < next_i || j < next_j {
            hunks.push(Hunk { base: i..next_i, side: j..next_j });
        }
        (i, j) = (next_i + 1, next_j + 1);
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::merge::align::align;

    #[test]
    fn changes_are_told_apart() {
        let check = |base: &str, remote: &str, local: &str, expected: &str| {
            let numbers = |text: &str| text.chars().map(u32::from).collect::<Vec<_>>();
            let [b, r, l] = [base, remote, local].map(numbers);
            let found: Vec<String> = regions([b.len(), r.len(), l.len()], &align(&b, &r), &align(&b, &l))
                .into_iter()
                .map(|region| {
                    let part = |text: &str, range: Range<usize>| text[range].to_owned();
                    let (r, l) = (part(remote, region.remote), part(local, region.local));
                    let b = part(base, region.base);
                    match region.by {
                        By::Nobody => b,
                        By::Remote => format!("[{b}>{r}]"),
                        By::Local => format!("({b}>{l})"),
                        By::Both => format!("{{{b}>{r}|{l}}}"),
                    }
                })
                .collect();
            assert_eq!(found.join(" "), expected, "{base} {remote} {local}");
        };
        check("abc", "abc", "abc", "abc");
        check("abc", "xbc", "aby", "[a>x] b (c>y)");
        check("abc", "xc", "aby", "[ab>x] (c>y)");
        check("abc", "axc", "ayc", "a {b>x|y} c");
        check("abcd", "xcd", "ayd", "{abc>xc|ay} d");
        check("ab", "axb", "ayb", "a {>x|y} b");
        check("ab", "axb", "yb", "(a>y) [>x] b");
        check("ab", "axb", "ay", "a [>x] (b>y)");
        check("abc", "axc", "abyc", "a [b>x] (>y) c");
        check("abc", "x", "abyc", "{abc>x|abyc}");
        check("abc", "", "abyc", "{abc>|abyc}");
        check("", "x", "y", "{>x|y}");
        check("abcdef", "abxef", "bcdefy", "(a>) b [cd>x] ef (>y)");
    }
}
