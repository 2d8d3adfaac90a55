//! Stored files that espejo leaves alone on both sides, because the user excludes their path, or files of their size.

use super::names::{FolderTree, storage_root};
use super::{Storage, Turn, local::Local};
use crate::engine::attention::Needs;
use crate::engine::ignoring::Ignoring;
use crate::model::{Code, FileId, FileNode, FolderId, MirrorPath, Seen, StoredFile};
use crate::store::{IGNORED, TOO_LARGE};

/// Why a file is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Apart {
    /// It is ignored.
    Ignored,
    /// It is larger than the config's limit for downloads, which is the value in bytes.
    TooLarge(u64),
}

impl Apart {
    /// The word that `list` shows.
    pub(in crate::engine) fn word(self) -> &'static str {
        match self {
            Self::Ignored => IGNORED,
            Self::TooLarge(_) => TOO_LARGE,
        }
    }
}

/// Deeper folders must be in each other.
const DEPTH_MAX: usize = 200;

impl Storage {
    /// All files that have a base.
    pub(in crate::engine) fn agreed(&self) -> impl Iterator<Item = (&FileId, &StoredFile)> {
        self.files.values().filter_map(|node| Some((&node.remote.id, node.base.as_ref()?)))
    }

    /// The files that are left alone, and why.
    pub(in crate::engine) fn apart(&self) -> impl Iterator<Item = (&FileId, &Apart)> {
        self.apart.iter()
    }

    /// Adds a message about files that are not downloaded.
    pub(super) fn needs_of_large(&self, needs: &mut Needs) {
        let large = self.apart.iter().filter_map(|(id, apart)| match apart {
            Apart::TooLarge(most) => Some((self.files.get(id)?.remote.size, *most)),
            Apart::Ignored => None,
        });
        let large: Vec<(u64, u64)> = large.collect();
        let Some((_, most)) = large.first() else { return };
        let files = if large.len() == 1 { "1 stored file is" } else { "some stored files are" };
        let bytes: u64 = large.iter().map(|(size, _)| size).sum();
        needs.tell(
            Code::NotFetched,
            super::FOLDER,
            &format!(
                "{files} not fetched, of {:.1} MB in all: larger than max_download_mb = {}",
                bytes as f64 / 1_000_000.0,
                most / 1_000_000
            ),
            "nothing to do; espejo list shows them as too large, and a higher max_download_mb in [storage] fetches them",
        );
    }

    /// Drops a base whose file is no longer on disk, so that it is downloaded again.
    pub(in crate::engine) fn let_go(&mut self, cx: &mut Turn<'_>, id: &FileId) {
        self.edit_file(cx, id, |node| node.base = None);
        let runtime = self.runtime(id);
        runtime.local = Local::Unknown;
        runtime.damaged = false;
    }

    /// Whether a file is left alone, on disk and at the service; records the result.
    pub(super) fn stays_apart(&mut self, cx: &Turn<'_>, node: &FileNode) -> bool {
        let is_nothing = node.base.is_none() && node.seen != Seen::Listed;
        let is_ignored = !is_nothing && !cx.trees.ignoring.is_empty() && self.is_ignored(cx, node);
        let large = cx.settings.storage.max_download.filter(|most| is_too_large(node, *most));
        let apart = if is_ignored { Some(Apart::Ignored) } else { large.map(Apart::TooLarge) };
        match apart {
            Some(apart) => drop(self.apart.insert(node.remote.id.clone(), apart)),
            None => drop(self.apart.remove(&node.remote.id)),
        }
        apart.is_some()
    }

    /// Whether a file is ignored at its present path, or at the path where it belongs.
    fn is_ignored(&self, cx: &Turn<'_>, node: &FileNode) -> bool {
        let is_ignored = |path: &MirrorPath| cx.trees.ignoring.ignores_file(path);
        let belongs = || {
            let folder = self.tree.folder_would_be(node.remote.folder.as_ref())?;
            folder.join(node.stem.as_deref().unwrap_or(&node.remote.filename)).ok()
        };
        node.base.as_ref().is_some_and(|base| is_ignored(&base.path))
            || belongs().is_some_and(|path| is_ignored(&path))
    }
}

impl FolderTree {
    /// The ignored folders.
    pub(in crate::engine) fn ignored_folders(&self, ignoring: &Ignoring) -> impl Iterator<Item = &FolderId> {
        let is_any = !ignoring.is_empty();
        self.folders.keys().filter(move |id| {
            let place = if is_any { self.folder_would_be(Some(id)) } else { None };
            place.is_some_and(|place| ignoring.ignores(&place, true))
        })
    }

    /// The path of a folder, or the one that it would have if it were not ignored.
    fn folder_would_be(&self, folder: Option<&FolderId>) -> Option<MirrorPath> {
        let mut names = Vec::new();
        let mut at = folder;
        let mut path = storage_root();
        while let Some(node) = at.and_then(|id| self.folders.get(id)).filter(|_| names.len() < DEPTH_MAX) {
            if let Some(here) = &node.at {
                path = here.clone();
                break;
            }
            names.push(node.stem.as_deref().unwrap_or(&node.remote.name));
            at = node.remote.parent.as_ref();
        }
        names.into_iter().rev().try_fold(path, |path, name| path.join(name).ok())
    }
}

/// Whether a file would have to be downloaded, and is larger than the limit.
fn is_too_large(node: &FileNode, most: u64) -> bool {
    let is_here = node.base.as_ref().is_some_and(StoredFile::is_seen) && !node.is_renewed();
    node.seen == Seen::Listed && node.remote.size > most && !is_here && node.replaced_by.is_none()
}
