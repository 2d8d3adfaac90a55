//! The largest maps, built anew after a burst: insertions one by one leave the nodes of a map a third empty.

use crate::engine::schedule::watch::packed;
use crate::engine::state::Engine;

/// Builds the maps with an entry for each page or page file anew. It takes some milliseconds for ten thousand
/// pages.
pub fn pack(engine: &mut Engine) {
    packed(&mut engine.pages.trees.pages);
    packed(&mut engine.pages.trees.files);
    packed(&mut engine.pages.runtimes);
}
