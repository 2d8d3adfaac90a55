//! The largest maps, built anew after a burst: insertions one by one leave the nodes of a map a third empty.

use std::collections::BTreeMap;
use std::mem;

use super::Engine;

/// Builds the maps with an entry for each page or page file anew. It takes some milliseconds for ten thousand
/// pages.
pub fn pack(engine: &mut Engine) {
    packed(&mut engine.pages.trees.pages);
    packed(&mut engine.pages.trees.files);
    packed(&mut engine.pages.runtimes);
}

/// What is in order becomes a map of full nodes.
pub(super) fn packed<K: Ord, V>(map: &mut BTreeMap<K, V>) {
    *map = mem::take(map).into_iter().collect();
}
