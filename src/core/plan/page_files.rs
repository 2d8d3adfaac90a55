//! Assigns page files to pages after a complete scan of the mirror, by [`crate::core::plan::identify`]: an id in the front matter is
//! what a file says. The caller judges whether the scan was complete, and what to do about a page whose file vanished.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::keys::ItemKey;
use crate::core::plan::identify::{self, Known, Seen};
use crate::model::{ContentHash, MirrorPath, PageId, Stamp};

/// A file as it was known before the scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFile {
    /// Its path.
    pub path: MirrorPath,
    /// Its page; `None` while it has none.
    pub page: Option<PageId>,
    /// Its metadata at the last read or write.
    pub stamp: Stamp,
    /// Hash of its content at that time.
    pub hash: Option<ContentHash>,
}

/// A page file as the scan found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    /// Its path.
    pub path: MirrorPath,
    /// Its metadata.
    pub stamp: Stamp,
    /// The id in its front matter; `None` if there is none, or if the file was not read because its path and stamp
    /// are unchanged. All other files must have been read.
    pub claims: Option<PageId>,
    /// Whether the page that it claims has no file, and its file would be written at this path.
    pub is_awaited: bool,
    /// Hash of its content, if it was read.
    pub hash: Option<ContentHash>,
}

/// The identity of a seen file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The file of this page, at its known path. Its front matter may name another page, after a copy over it: the
    /// file still belongs to this page.
    Same(PageId),
    /// The file of this page, at another path than before.
    Moved {
        /// The page.
        page: PageId,
        /// Its path before.
        from: MirrorPath,
    },
    /// Not yet a page: made from a file that names this page, and not that page's file.
    Copy {
        /// The page named in its front matter.
        of: PageId,
        /// Its path before, if the file was known and has moved.
        from: Option<MirrorPath>,
    },
    /// Not yet a page.
    New {
        /// An id in its front matter that no known file has; at most one file gets the claim to each id.
        claims: Option<PageId>,
        /// Its path before, if the file was known and has moved.
        from: Option<MirrorPath>,
    },
}

/// The result for all known and all seen files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identities {
    /// One verdict for each seen file, in the order of the input.
    pub verdicts: Vec<Verdict>,
    /// Pages whose file was not found, each once, with its last path; in the order of the known files.
    pub vanished: Vec<(PageId, MirrorPath)>,
    /// Paths of known files without a page that were not found.
    pub forgotten: Vec<MirrorPath>,
}

/// Assigns the `seen` files to the `known` ones. The result for a file does not depend on the order of the inputs.
/// Known files that the scan could not reach must be among the seen ones, unchanged.
#[must_use]
pub fn identify(known: &[KnownFile], seen: &[SeenFile]) -> Identities {
    let owners = owners(known);
    let page = |k: usize| known[k].page.as_ref().filter(|page| owners.get(page) == Some(&k));
    let (items, files) = as_items(known, seen, &owners);
    let found = identify::identify(&items, &files);
    let is_claimed = |s: usize| files[s].says.is_some();
    let known_of = |s: usize| match found[s] {
        identify::Verdict::Is(key) => usize::try_from(key.0).ok(),
        identify::Verdict::CopyOf(_) | identify::Verdict::New => None,
    };
    // If several files claim an unknown id, one keeps the claim: a file that was there before, else the file at
    // the path where the page's file would be, else the first.
    let mut firsts: BTreeMap<&PageId, (bool, bool, &MirrorPath, usize)> = BTreeMap::new();
    for (s, file) in seen.iter().enumerate() {
        if let (Some(claims), false) = (&file.claims, is_claimed(s)) {
            let is_page = known_of(s).is_some_and(|k| page(k).is_some());
            let candidate = (known_of(s).is_none(), !file.is_awaited, &file.path, s);
            if !is_page {
                let first = firsts.entry(claims).or_insert(candidate);
                *first = candidate.min(*first);
            }
        }
    }
    let firsts: BTreeSet<usize> = firsts.into_values().map(|(.., s)| s).collect();
    let verdict = |(s, file): (usize, &SeenFile)| {
        let k = known_of(s);
        let from = k.map(|k| &known[k].path).filter(|path| **path != file.path).cloned();
        match (k.and_then(page), &file.claims) {
            (Some(page), _) => match from {
                Some(from) => Verdict::Moved { page: page.clone(), from },
                None => Verdict::Same(page.clone()),
            },
            (None, Some(page)) if is_claimed(s) || !firsts.contains(&s) => {
                Verdict::Copy { of: page.clone(), from }
            }
            (None, claims) => Verdict::New { claims: claims.clone(), from },
        }
    };
    let verdicts = seen.iter().enumerate().map(verdict).collect();
    let (mut vanished, mut forgotten) = (Vec::new(), Vec::new());
    let matched: BTreeSet<usize> = (0..seen.len()).filter_map(known_of).collect();
    for (k, file) in known.iter().enumerate().filter(|(k, _)| !matched.contains(k)) {
        match page(k) {
            Some(page) => vanished.push((page.clone(), file.path.clone())),
            None => forgotten.push(file.path.clone()),
        }
    }
    Identities { verdicts, vanished, forgotten }
}

/// The known file of each page: of several, the first by its path.
fn owners(known: &[KnownFile]) -> BTreeMap<&PageId, usize> {
    let mut owners: BTreeMap<&PageId, usize> = BTreeMap::new();
    for (k, file) in known.iter().enumerate() {
        let Some(page) = &file.page else { continue };
        let first = owners.entry(page).or_insert(k);
        if file.path < known[*first].path {
            *first = k;
        }
    }
    owners
}

/// The files as items, whose keys are the indices of the known ones.
fn as_items(
    known: &[KnownFile],
    seen: &[SeenFile],
    owners: &BTreeMap<&PageId, usize>,
) -> (Vec<Known>, Vec<Seen>) {
    let key = |k: usize| ItemKey(u32::try_from(k).unwrap_or(u32::MAX));
    let items = known.iter().enumerate().map(|(k, file)| {
        let KnownFile { path, stamp, hash, .. } = file;
        Known { key: key(k), path: path.clone(), file: Some((*stamp, *hash)) }
    });
    let files = seen.iter().map(|SeenFile { path, stamp, claims, hash, .. }| {
        let says = claims.as_ref().and_then(|page| owners.get(page)).map(|k| key(*k));
        Seen { path: path.clone(), stamp: *stamp, hash: *hash, says }
    });
    (items.collect(), files.collect())
}

#[cfg(test)]
pub(crate) mod tests;
