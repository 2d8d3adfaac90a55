//! Three-way merge of page bodies: what the service and the user each changed since they last agreed, in one page.
//!
//! Blocks are matched by id, on every level: insertions, deletions, moves and edits of both sides live side by side.
//! Inside a block it goes by words, with styles carried along, and key by key in everything else. An edit beats a
//! deletion. Where both changed the same words or the same value, the service's version stands in the page and a
//! [`Collision`] tells of it; everything else in that block and on that page is merged all the same. Nothing
//! here knows which block types exist.

mod align;
mod place;
mod regions;
mod runs;
mod summary;
mod tree;
mod value;
mod versions;
mod words;

use serde_json::Value;

use crate::model::{Blocks, planted, planted_fault};

pub use summary::{Collision, collision_summary};
pub use versions::Versions;

/// A merged page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Merge {
    /// Its blocks.
    pub blocks: Blocks,
    /// Where both sides changed the same; empty when both sides' changes are all in `blocks`.
    pub collisions: Vec<Collision>,
}

/// Merges two versions of a page that was `base`.
#[must_use]
pub fn merge(base: &[Value], remote: &[Value], local: &[Value]) -> Merge {
    planted_fault("merging", &|| format!("{remote:?}{local:?}"));
    if remote == local || base == local {
        return Merge { blocks: remote.to_vec(), collisions: Vec::new() };
    }
    if base == remote {
        return Merge { blocks: local.to_vec(), collisions: Vec::new() };
    }
    merge_trees(base, remote, local)
}

/// The merge without its short cuts, which must not matter.
fn merge_trees(base: &[Value], remote: &[Value], local: &[Value]) -> Merge {
    let trees = tree::read(base, remote, local);
    let shape = place::shape(&trees);
    let mut builder = Builder { trees: &trees, shape: &shape, collisions: Vec::new() };
    let mut blocks = builder.build(&shape.roots);
    if planted("merge-drops-insertion") {
        let is_new = |block: &Value| base.iter().all(|old| old.get("id") != block.get("id"));
        if let Some(at) = blocks.iter().rposition(is_new) {
            blocks.remove(at);
        }
    }
    Merge { blocks, collisions: builder.collisions }
}

struct Builder<'a> {
    trees: &'a tree::Trees<'a>,
    shape: &'a place::Shape,
    collisions: Vec<Collision>,
}

impl Builder<'_> {
    fn build(&mut self, keys: &[tree::Key]) -> Blocks {
        let mut blocks = Vec::with_capacity(keys.len());
        for key in keys {
            let Some(mut block) = self.own(*key) else { continue };
            let mut children = self.build(&self.shape.children[*key]);
            if let Some(map) = block.as_object_mut() {
                match map.get_mut("children") {
                    Some(Value::Array(nested)) => *nested = std::mem::take(&mut children),
                    None | Some(Value::Null) if !children.is_empty() => {
                        map.insert("children".to_owned(), Value::Array(std::mem::take(&mut children)));
                    }
                    _ => {}
                }
            }
            blocks.push(block);
            // Whatever is no place for blocks has them after it.
            blocks.append(&mut children);
        }
        blocks
    }

    /// What the block says itself, in the merged page.
    fn own(&mut self, key: tree::Key) -> Option<Value> {
        let (base, remote, local) =
            (self.trees.base.get(key), self.trees.remote.get(key), self.trees.local.get(key));
        match (remote, local) {
            (Some(remote), Some(local)) => {
                let id = remote.value.get("id").and_then(Value::as_str).map(str::to_owned);
                let mut found = value::Found::within_block(id);
                let base = base.map(|node| node.value);
                let merged = value::merge_own(base, remote.value, local.value, &mut found);
                self.collisions.extend(found.collisions);
                Some(merged)
            }
            (Some(only), None) | (None, Some(only)) => Some(value::own(only.value)),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests;
