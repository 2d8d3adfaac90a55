//! The paths that the last walk met. The next walk meets the same names in the same order and takes their paths from here:
//! they are neither made nor dropped with each scan, and are compared by their addresses.

use std::collections::BTreeMap;
use std::ffi::CStr;

use crate::model::MirrorPath;

/// The names in each folder as the file system listed them.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<MirrorPath, Box<[MirrorPath]>>);

impl Names {
    /// The names in one folder, before it is listed again.
    pub(super) fn of(&self, folder: &MirrorPath) -> Met<'_> {
        Met { known: self.0.get(folder).map_or(&[], |names| names), ..Met::default() }
    }

    /// How many names the last walk met.
    pub(super) fn count(&self) -> usize {
        self.0.values().map(|names| names.len()).sum()
    }

    /// Takes in a walk over `folders`. `changed`: the names in those of them in which they are not the same as before.
    pub(super) fn walked<'a>(
        &mut self,
        changed: Vec<(MirrorPath, Box<[MirrorPath]>)>,
        folders: impl Iterator<Item = &'a MirrorPath>,
    ) {
        self.0.extend(changed);
        let mut folders: Vec<&MirrorPath> = folders.collect();
        if self.0.len() > folders.len() {
            folders.sort_unstable();
            self.0.retain(|folder, _| folders.binary_search(&folder).is_ok());
        }
    }
}

/// The names of a folder that is being listed.
#[derive(Debug, Default)]
pub(super) struct Met<'a> {
    known: &'a [MirrorPath],
    /// How many of the known names were met, or are gone.
    at: usize,
    /// All names until now, once one of them is not the known one.
    changed: Option<Vec<MirrorPath>>,
}

impl Met<'_> {
    /// The path of the next name in `folder`. `None`: it is no path of the mirror.
    pub(super) fn next(&mut self, folder: &MirrorPath, name: &CStr, room: &mut String) -> Option<MirrorPath> {
        let is_it = |path: &&MirrorPath| path.is_named_in(folder, name.to_bytes());
        let ahead = &self.known[self.at..];
        if let Some(path) = ahead.first().filter(is_it) {
            self.at += 1;
            self.changed.iter_mut().for_each(|names| names.push(path.clone()));
            return Some(path.clone());
        }
        let changed = self.changed.get_or_insert_with(|| self.known[..self.at].to_vec());
        let path = match ahead.get(1).filter(is_it) {
            // The name before it is gone.
            Some(path) => {
                self.at += 2;
                path.clone()
            }
            None => folder.join_in(name.to_str().ok()?, room).ok()?,
        };
        changed.push(path.clone());
        Some(path)
    }

    /// The names, if they are not the same as before.
    pub(super) fn changed(self) -> Option<Box<[MirrorPath]>> {
        let are_gone = self.at < self.known.len();
        let changed = self.changed.or_else(|| are_gone.then(|| self.known[..self.at].to_vec()));
        changed.map(Vec::into_boxed_slice)
    }
}
