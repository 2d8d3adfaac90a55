//! The entries of a walk in the order of their paths, which come folder by folder. To sort all of them by their paths, most
//! of which begin alike, would take a tenth of a scan.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::vec::IntoIter;

use crate::model::{Entry, MirrorPath};

/// What is in one folder and is not listed itself, in the order of the names.
pub(super) struct Listing {
    pub(super) folder: MirrorPath,
    pub(super) entries: Vec<Entry>,
}

/// All entries in the order of their paths: `folders`, each listed, and what is in them.
pub(super) fn in_order(mut folders: Vec<Entry>, mut listings: Vec<Listing>) -> Vec<Entry> {
    listings.sort_by(|a, b| as_folders(a.folder.as_str(), b.folder.as_str()));
    let mut files = Vec::with_capacity(listings.iter().map(|listing| listing.entries.len()).sum());
    // The rest of each folder that the present one is in, the innermost last.
    let mut above: Vec<(MirrorPath, Peekable<IntoIter<Entry>>)> = Vec::new();
    for Listing { folder, entries } in listings {
        while let Some((outer, mut rest)) = above.pop() {
            if !folder.is_within(&outer) {
                files.extend(rest);
                continue;
            }
            while let Some(entry) = rest.next_if(|entry| is_before(&entry.path, &folder)) {
                files.push(entry);
            }
            above.push((outer, rest));
            break;
        }
        above.push((folder, entries.into_iter().peekable()));
    }
    above.into_iter().rev().for_each(|(_, rest)| files.extend(rest));
    folders.sort_by(|a, b| a.path.cmp(&b.path));
    let mut all = Vec::with_capacity(folders.len() + files.len());
    let mut files = files.into_iter().peekable();
    for folder in folders {
        while let Some(file) = files.next_if(|file| file.path < folder.path) {
            all.push(file);
        }
        all.push(folder);
    }
    all.extend(files);
    all
}

/// The order of the texts with a `/` after each; the root has none.
fn as_folders(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let shared = a.len().min(b.len());
    a[..shared].cmp(&b[..shared]).then_with(|| match (a.get(shared), b.get(shared)) {
        _ if shared == 0 => a.len().cmp(&b.len()),
        (None, Some(next)) => b'/'.cmp(next).then(Ordering::Less),
        (Some(next), None) => next.cmp(&b'/').then(Ordering::Greater),
        _ => Ordering::Equal,
    })
}

/// Whether a path comes before everything in a folder.
fn is_before(path: &MirrorPath, folder: &MirrorPath) -> bool {
    let (path, folder) = (path.as_str().as_bytes(), folder.as_str().as_bytes());
    let shared = path.len().min(folder.len());
    path[..shared].cmp(&folder[..shared]).then_with(|| path.get(shared).cmp(&Some(&b'/'))).is_lt()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::model::{EntryKind, Stamp};

    fn entry(path: &MirrorPath, kind: EntryKind) -> Entry {
        Entry { path: path.clone(), kind, stamp: Stamp::default() }
    }

    proptest! {
        #[test]
        fn all_come_in_the_order_of_their_paths(
            texts in prop::collection::btree_set("[-a ./]{0,3}(/[-ab .]{1,3}){0,4}", 0..40),
            seed in any::<u64>(),
        ) {
            let mut folders = BTreeSet::from([MirrorPath::root()]);
            let mut files = BTreeSet::new();
            for path in texts.iter().filter_map(|text| MirrorPath::new(text).ok()).filter(|path| !path.is_root()) {
                let mut up = path.parent();
                while let Some(folder) = up {
                    up = folder.parent();
                    folders.insert(folder);
                }
                files.insert(path);
            }
            files.retain(|path| !folders.contains(path));
            let mut expected: Vec<MirrorPath> = folders.iter().chain(&files).cloned().collect();
            expected.retain(|path| !path.is_root());
            expected.sort();
            let mut listings: Vec<Listing> = folders
                .iter()
                .map(|folder| {
                    let its = files.iter().filter(|path| path.parent().as_ref() == Some(folder));
                    let entries = its.map(|path| entry(path, EntryKind::File)).collect();
                    Listing { folder: folder.clone(), entries }
                })
                .collect();
            let mut listed: Vec<Entry> =
                folders.iter().filter(|path| !path.is_root()).map(|path| entry(path, EntryKind::Folder)).collect();
            // In any order, as several hands bring them.
            let turn = usize::try_from(seed % 41).unwrap();
            let by = turn % listings.len();
            listings.rotate_left(by);
            listed.reverse();
            let all: Vec<MirrorPath> = in_order(listed, listings).into_iter().map(|entry| entry.path).collect();
            prop_assert_eq!(all, expected);
        }
    }
}
