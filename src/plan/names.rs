//! An index of the names that exist in folders or are promised to pages, so that no lookup walks over a folder's
//! files or a page's siblings.
//!
//! A key is a hash of the folder and the folded name. If two names share a hash, one of them gets a number.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::naming;
use crate::model::{MirrorPath, Node, PageId, WorkspaceId};

/// The names that exist in folders or are promised there.
#[derive(Debug, Default, PartialEq)]
pub struct Names {
    /// For each key, the number of files and other entries of a folder with this name.
    here: BTreeMap<u64, u32>,
    /// For each key, the pages without a file to which the name is promised.
    promised: BTreeMap<u64, BTreeSet<PageId>>,
}

impl Names {
    /// Builds the index.
    pub fn anew<'a>(
        pages: impl Iterator<Item = &'a Node>,
        paths: impl Iterator<Item = &'a MirrorPath>,
    ) -> Self {
        let mut names = Self::default();
        pages.for_each(|node| names.promise(node));
        paths.for_each(|path| names.add(path));
        names
    }

    /// Adds the name of the entry at a path.
    pub fn add(&mut self, path: &MirrorPath) {
        if let Some(key) = key_here(path) {
            *self.here.entry(key).or_default() += 1;
        }
    }

    /// Removes what [`Names::add`] added for the same path.
    pub fn remove(&mut self, path: &MirrorPath) {
        let Some(key) = key_here(path) else { return };
        match self.here.get_mut(&key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.here.remove(&key)),
        }
    }

    /// Adds the names that are promised to a page without a file.
    pub fn promise(&mut self, node: &Node) {
        for key in promised_to(node) {
            self.promised.entry(key).or_default().insert(node.id.clone());
        }
    }

    /// Removes what [`Names::promise`] added for the same node.
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

    /// Whether a folded name exists in a folder, or is promised to a sibling of `node`. The file of `node` itself,
    /// which was added `times` times, does not count.
    pub fn is_taken(&self, folder: &MirrorPath, folded: &str, node: &Node, times: u32) -> bool {
        let key = hash(&(folder.as_str(), folded));
        let own = if node.file.as_ref().and_then(key_here) == Some(key) { times } else { 0 };
        let here = self.here.get(&key).copied().unwrap_or(0);
        let mut promised = self.promised_to(&node.workspace, node.remote.parent.as_ref(), folded);
        here > own || promised.any(|page| *page != node.id)
    }

    /// The pages below `parent` to which a folded name is promised.
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
