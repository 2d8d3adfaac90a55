//! What turns one sequence into another.

use std::collections::BTreeMap;

use similar::DiffOp;
use similar::algorithms::{Capture, Compact, Replace, myers};

/// The operations that turn `old` into `new` (Myers' algorithm).
#[must_use]
pub fn edits<T: Ord>(old: &[T], new: &[T]) -> Vec<DiffOp> {
    // The algorithm sees numbers, whatever the items are: it is in the program once, and not for each type again. The
    // library's shorter way brings four other algorithms with it, for each type.
    let mut numbers: BTreeMap<&T, usize> = BTreeMap::new();
    let all: Vec<usize> = old
        .iter()
        .chain(new)
        .map(|item| {
            let next = numbers.len();
            *numbers.entry(item).or_insert(next)
        })
        .collect();
    let (old, new) = all.split_at(old.len());
    let mut found = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff(&mut found, old, 0..old.len(), new, 0..new.len());
    found.into_inner().into_inner().into_ops()
}
