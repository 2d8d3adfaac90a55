//! Says which file is which item's after a complete scan. One rule for every kind.
//!
//! Evidence, the strongest first: what the file says, the file object, the path, equal bytes. What a file says counts only
//! where the item has no file of its own. The object counts at a path that is no other item's: at another item's path a file is
//! an edit of that item, as programs save by renaming. What no evidence decides is new, and the item's file is missing.
//!
//! Items and files are matched one to one, so no item has two files, and a copy never becomes a second owner.

use std::collections::BTreeMap;

use crate::core::keys::ItemKey;
use crate::model::{ContentHash, FileObject, MirrorPath, Stamp, planted};

/// Files smaller than this may have equal bytes without being the same file, unless they have the same name.
const TRIVIAL_BYTES: u64 = 32;

/// An item, as it was known before the scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The item. No two have the same key.
    pub key: ItemKey,
    /// The path of its file, or the last one of a missing file. Without a file, the path at which its file would be written.
    pub path: MirrorPath,
    /// Its file at the last read or write: the stamp, and the hash of the bytes if they were read; `None` without a file.
    pub file: Option<(Stamp, Option<ContentHash>)>,
}

/// A file as the scan found it. Leftovers of programs, as backups and conflict copies, are not among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its path. No two have the same path.
    pub path: MirrorPath,
    /// Its metadata.
    pub stamp: Stamp,
    /// The hash of its bytes. Files whose path and stamp are not the known ones must have been read.
    pub hash: Option<ContentHash>,
    /// The item that it names by an id in its front matter, by an id in its canvas, or by half of the item's elements.
    pub says: Option<ItemKey>,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The file of this item.
    Is(ItemKey),
    /// A new file that names this item, which has another one.
    CopyOf(ItemKey),
    /// A new file.
    New,
}

/// Says what each of the `seen` files is, in their order. An item that no verdict names has no file. The result for a file
/// does not depend on the order of the inputs. Files that the scan could not reach must be among the seen ones, unchanged.
#[must_use]
pub fn identify(known: &[Known], seen: &[Seen]) -> Vec<Verdict> {
    let mut matching = Matching::new(known, seen);
    if planted("identity-by-path") {
        matching.by_path();
    } else {
        matching.by_what_they_say();
        matching.by_object();
        matching.by_path();
        matching.by_bytes();
    }
    let verdict = |(file, item): (&Seen, &Option<usize>)| match (item, file.says) {
        (Some(k), _) => Verdict::Is(known[*k].key),
        (None, Some(named)) => Verdict::CopyOf(named),
        (None, None) => Verdict::New,
    };
    seen.iter().zip(&matching.known_of).map(verdict).collect()
}

/// Whether two observations (a stamp, and the hash if the file was read) are of one file. File systems reuse inode
/// numbers, so further evidence is needed: a known birth, equal content, or an equal modification time. The latter
/// stays equal when a program edits in place and restores the time.
#[must_use]
pub fn is_same_file(one: (Stamp, Option<ContentHash>), other: (Stamp, Option<ContentHash>)) -> bool {
    let is_dated_alike = one.0.born_ns != 0 || one.0.modified_ns == other.0.modified_ns;
    one.0.object() == other.0.object() && (is_dated_alike || has_bytes(one, other))
}

fn has_bytes(one: (Stamp, Option<ContentHash>), other: (Stamp, Option<ContentHash>)) -> bool {
    let is_untouched = one.0.size == other.0.size && one.0.modified_ns == other.0.modified_ns;
    is_untouched || one.1.is_some() && one.1 == other.1
}

impl Known {
    fn is_same_file(&self, file: &Seen) -> bool {
        self.file.is_some_and(|known| is_same_file(known, (file.stamp, file.hash)))
    }

    fn has_bytes(&self, file: &Seen) -> bool {
        self.file.is_some_and(|known| has_bytes(known, (file.stamp, file.hash)))
    }
}

/// A matching of items and files under construction, by their indices.
struct Matching<'a> {
    known: &'a [Known],
    seen: &'a [Seen],
    /// The items and the files in the order of their paths. All rules try them in this order.
    known_order: Vec<usize>,
    seen_order: Vec<usize>,
    /// The file at the path of each item that has one.
    home: Vec<Option<usize>>,
    /// The item that has its file at the path of each file; of several, the one with that file object, or else the first.
    owner: Vec<Option<usize>>,
    /// The matching.
    seen_of: Vec<Option<usize>>,
    known_of: Vec<Option<usize>>,
}

impl<'a> Matching<'a> {
    fn new(known: &'a [Known], seen: &'a [Seen]) -> Self {
        let mut known_order: Vec<usize> = (0..known.len()).collect();
        known_order.sort_by_key(|k| (&known[*k].path, known[*k].key));
        let mut seen_order: Vec<usize> = (0..seen.len()).collect();
        seen_order.sort_by_key(|s| &seen[*s].path);
        let (mut home, mut owner) = (vec![None; known.len()], vec![None; seen.len()]);
        let mut ahead = seen_order.iter().copied().peekable();
        for k in known_order.iter().copied().filter(|k| known[*k].file.is_some()) {
            while ahead.next_if(|s| seen[*s].path < known[k].path).is_some() {}
            if let Some(s) = ahead.peek().copied().filter(|s| seen[*s].path == known[k].path) {
                home[k] = Some(s);
                let is_it = |k: usize| known[k].is_same_file(&seen[s]);
                if owner[s].is_none_or(|other| !is_it(other) && is_it(k)) {
                    owner[s] = Some(k);
                }
            }
        }
        let (seen_of, known_of) = (vec![None; known.len()], vec![None; seen.len()]);
        Self { known, seen, known_order, seen_order, home, owner, seen_of, known_of }
    }

    fn pair(&mut self, k: usize, s: usize) {
        self.seen_of[k] = Some(s);
        self.known_of[s] = Some(k);
    }

    /// Matches the items that files name, each with the best of these files, unless the item has a file of its own.
    fn by_what_they_say(&mut self) {
        let keys: BTreeMap<ItemKey, usize> = self.known.iter().map(|item| item.key).zip(0..).collect();
        let mut naming: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for s in &self.seen_order {
            if let Some(k) = self.seen[*s].says.and_then(|named| keys.get(&named)) {
                naming.entry(*k).or_default().push(*s);
            }
        }
        for (k, files) in naming {
            let best = files.into_iter().min_by_key(|s| self.rank(k, *s));
            if let Some(best) = best.filter(|best| !self.has_its_own(k, *best)) {
                self.pair(k, best);
            }
        }
    }

    /// The rank of a file among those that name one item; the least is best, and of equal ones the first.
    fn rank(&self, k: usize, s: usize) -> impl Ord + use<> {
        let (item, file) = (&self.known[k], &self.seen[s]);
        let is_anothers = self.owner[s].is_some_and(|owner| owner != k);
        (file.path != item.path, !item.is_same_file(file), !item.has_bytes(file), is_anothers)
    }

    /// Whether an item has a file of its own beside the one that names it: a file at its path that names no item. A file that
    /// came there after the item's own one left is another one.
    fn has_its_own(&self, k: usize, naming: usize) -> bool {
        let its = |home: &usize| *home != naming && self.owner[*home] == Some(k);
        self.home[k].filter(its).is_some_and(|home| {
            let (item, there) = (&self.known[k], &self.seen[home]);
            let has_left = !item.is_same_file(there) && item.is_same_file(&self.seen[naming]);
            there.says.is_none() && !has_left
        })
    }

    /// Matches files that are the same file object: at their own paths, then at paths that are no other item's. A path becomes
    /// free when the file of its item is found elsewhere, so a row of renames is followed from its end.
    fn by_object(&mut self) {
        for k in self.known_order.clone() {
            let is_it = |s: &usize| self.known_of[*s].is_none() && self.known[k].is_same_file(&self.seen[*s]);
            if let Some(s) = self.home[k].filter(|_| self.seen_of[k].is_none()).filter(is_it) {
                self.pair(k, s);
            }
        }
        let mut objects: BTreeMap<FileObject, Vec<usize>> = BTreeMap::new();
        for k in self.known_order.iter().filter(|k| self.seen_of[**k].is_none()) {
            if let Some((stamp, _)) = self.known[*k].file {
                objects.entry(stamp.object()).or_default().push(*k);
            }
        }
        for s in self.seen_order.clone() {
            let mut next = Some(s);
            while let Some((k, s)) = next.and_then(|s| Some((self.moved_to(s, &objects)?, s))) {
                self.pair(k, s);
                next = self.home[k];
            }
        }
    }

    /// The item that moved to the path of a file.
    fn moved_to(&self, s: usize, objects: &BTreeMap<FileObject, Vec<usize>>) -> Option<usize> {
        let is_free = self.owner[s].is_none_or(|owner| self.seen_of[owner].is_some());
        let kin =
            objects.get(&self.seen[s].stamp.object()).filter(|_| is_free && self.known_of[s].is_none())?;
        let is_it = |k: &usize| self.seen_of[*k].is_none() && self.known[*k].is_same_file(&self.seen[s]);
        kin.iter().copied().find(is_it)
    }

    /// Matches files at the paths of items without another file: edits of those items.
    fn by_path(&mut self) {
        for k in self.known_order.clone() {
            let s = self.home[k].filter(|s| self.known_of[*s].is_none() && self.seen_of[k].is_none());
            if let Some(s) = s {
                self.pair(k, s);
            }
        }
    }

    /// Matches files with exactly the bytes of one missing file, if no other file has them.
    fn by_bytes(&mut self) {
        let mut bytes: BTreeMap<ContentHash, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for k in (0..self.known.len()).filter(|k| self.seen_of[*k].is_none()) {
            if let Some((Stamp { size: 1.., .. }, Some(hash))) = self.known[k].file {
                bytes.entry(hash).or_default().0.push(k);
            }
        }
        for s in (0..self.seen.len()).filter(|s| self.known_of[*s].is_none()) {
            // A file that names an item says itself what it is a copy of.
            if let (Some(hash), None) = (self.seen[s].hash, self.seen[s].says) {
                bytes.entry(hash).or_default().1.push(s);
            }
        }
        for (missing, found) in bytes.into_values() {
            if let ([k], [s]) = (&*missing, &*found) {
                let (item, file) = (&self.known[*k], &self.seen[*s]);
                if file.stamp.size >= TRIVIAL_BYTES || item.path.name() == file.path.name() {
                    self.pair(*k, *s);
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
