//! Names that stand in folders or are promised in them, found without a walk over a folder's files or a page's siblings.
//!
//! A name is kept as a hash of where it is and of its folded form. Of two that share a hash, one gets a number.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::naming;
use crate::model::{MirrorPath, Node, PageId, WorkspaceId};

/// Which names stand in folders or are promised there.
#[derive(Debug, Default, PartialEq)]
pub struct Names {
    /// How many files and other entries of a folder have a name.
    here: BTreeMap<u64, u32>,
    /// The pages without a file that a name is promised to.
    promised: BTreeMap<u64, BTreeSet<PageId>>,
}

impl Names {
    /// All of it noted anew.
    pub fn anew<'a>(
        pages: impl Iterator<Item = &'a Node>,
        paths: impl Iterator<Item = &'a MirrorPath>,
    ) -> Self {
        let mut names = Self::default();
        pages.for_each(|node| names.promise(node));
        paths.for_each(|path| names.add(path));
        names
    }

    /// Something stands at a path.
    pub fn add(&mut self, path: &MirrorPath) {
        if let Some(key) = key_here(path) {
            *self.here.entry(key).or_default() += 1;
        }
    }

    /// Takes back what [`Names::add`] noted of the same path.
    pub fn remove(&mut self, path: &MirrorPath) {
        let Some(key) = key_here(path) else { return };
        match self.here.get_mut(&key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.here.remove(&key)),
        }
    }

    /// Notes the names that a page without a file is promised.
    pub fn promise(&mut self, node: &Node) {
        for key in promised_to(node) {
            self.promised.entry(key).or_default().insert(node.id.clone());
        }
    }

    /// Takes back what [`Names::promise`] noted of the same node.
    pub fn withdraw(&mut self, node: &Node) {
        for key in promised_to(node) {
            if let Some(pages) = self.promised.get_mut(&key) {
                pages.remove(&node.id);
                if pages.is_empty() {
                    self.promised.remove(&key);
                }
            }
        }
    }

    /// Whether a folded name stands in a folder, other than as the file of `node`, which was added so many times, or is
    /// promised to a sibling of it.
    pub fn is_taken(&self, folder: &MirrorPath, folded: &str, node: &Node, times: u32) -> bool {
        let key = hash(&(folder.as_str(), folded));
        let own = if node.file.as_ref().and_then(key_here) == Some(key) { times } else { 0 };
        let here = self.here.get(&key).copied().unwrap_or(0);
        let mut promised = self.promised_to(&node.workspace, node.remote.parent.as_ref(), folded);
        here > own || promised.any(|page| *page != node.id)
    }

    /// The pages below `parent` that a folded name is promised to.
    pub fn promised_to<'a>(
        &'a self,
        workspace: &WorkspaceId,
        parent: Option<&PageId>,
        folded: &str,
    ) -> impl Iterator<Item = &'a PageId> + use<'a> {
        self.promised.get(&key_promised(workspace, parent, folded)).into_iter().flatten()
    }
}

fn key_here(path: &MirrorPath) -> Option<u64> {
    let folder = path.parent()?;
    Some(hash(&(folder.as_str(), naming::fold(path.page_stem()?).as_str())))
}

fn key_promised(workspace: &WorkspaceId, parent: Option<&PageId>, folded: &str) -> u64 {
    hash(&(workspace.as_str(), parent.map(PageId::as_str), folded))
}

fn promised_to(node: &Node) -> impl Iterator<Item = u64> {
    let agreed = node.base.as_ref().and_then(|base| base.path.page_stem());
    let stems = agreed.into_iter().chain(node.stem.as_deref()).filter(|_| node.file.is_none());
    stems.map(|stem| key_promised(&node.workspace, node.remote.parent.as_ref(), &naming::fold(stem)))
}

fn hash(name: &impl Hash) -> u64 {
    let mut hash = DefaultHasher::new();
    name.hash(&mut hash);
    hash.finish()
}
