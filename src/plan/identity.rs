//! Assigns page files to pages after a complete scan of the mirror.
//!
//! There are three kinds of evidence, strongest first: the `id` in a file's front matter; the file object (device,
//! inode and birth; never the inode alone, because file systems reuse it at once for git and tar); the former path.
//! Seen files are matched to known files one to one, so that no page has two files and a copy never becomes a second
//! owner. The caller judges whether the scan was complete, and what to do about a page whose file vanished.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{ContentHash, MirrorPath, PageId, Stamp, planted};

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

/// Files smaller than this may have equal content without being the same file, unless they have the same name: for
/// example a line of a template.
const TRIVIAL_BYTES: u64 = 32;

/// Assigns the `seen` files to the `known` ones. The result for a file does not depend on the order of the inputs.
/// Known files that the scan could not reach must be among the seen ones, unchanged.
#[must_use]
pub fn identify(known: &[KnownFile], seen: &[SeenFile]) -> Identities {
    let mut matching = Matching::new(known, seen);
    if planted("identity-by-path") {
        matching.at_home();
        return matching.finish();
    }
    matching.by_claim();
    matching.at_home();
    matching.by_object();
    matching.by_content();
    matching.finish()
}

impl KnownFile {
    /// Whether `file` has this file's inode and birth.
    fn is_object(&self, file: &SeenFile) -> bool {
        self.stamp.object() == file.stamp.object()
    }

    /// Whether `file` is this file, at any path.
    fn is_same_file(&self, file: &SeenFile) -> bool {
        is_same_file((self.stamp, self.hash), (file.stamp, file.hash))
    }

    /// Whether `file` has this file's content, as far as stamps and hashes show.
    fn is_content(&self, file: &SeenFile) -> bool {
        is_same_content((self.stamp, self.hash), (file.stamp, file.hash))
    }
}

/// Whether two observations (a stamp, and the hash if the file was read) are of one file. File systems reuse inode
/// numbers, so further evidence is needed: a known birth, equal content, or an equal modification time. The latter
/// stays equal when a program edits in place and restores the time.
#[must_use]
pub fn is_same_file(one: (Stamp, Option<ContentHash>), other: (Stamp, Option<ContentHash>)) -> bool {
    let is_dated_alike = one.0.born_ns != 0 || one.0.modified_ns == other.0.modified_ns;
    one.0.object() == other.0.object() && (is_dated_alike || is_same_content(one, other))
}

fn is_same_content(one: (Stamp, Option<ContentHash>), other: (Stamp, Option<ContentHash>)) -> bool {
    let untouched = one.0.size == other.0.size && one.0.modified_ns == other.0.modified_ns;
    untouched || (one.1.is_some() && one.1 == other.1)
}

/// A one-to-one matching between known and seen files under construction, by their indices.
struct Matching<'a> {
    known: &'a [KnownFile],
    seen: &'a [SeenFile],
    /// Indices of both in the order of their paths. All rules try the files in this order.
    known_order: Vec<usize>,
    seen_order: Vec<usize>,
    /// Whether each known file is its page's file: the first of the known files with that page.
    is_owner: Vec<bool>,
    /// For each known file, the seen file at its path; if several known files have one path, only the first has it.
    home: Vec<Option<usize>>,
    /// For each seen file, the first known file at its path.
    known_there: Vec<Option<usize>>,
    /// For each seen file, the known file of the page that it claims.
    claimed: Vec<Option<usize>>,
    /// The matching.
    seen_of: Vec<Option<usize>>,
    known_of: Vec<Option<usize>>,
}

impl<'a> Matching<'a> {
    fn new(known: &'a [KnownFile], seen: &'a [SeenFile]) -> Self {
        let mut known_order: Vec<usize> = (0..known.len()).collect();
        known_order.sort_by_key(|k| &known[*k].path);
        let mut seen_order: Vec<usize> = (0..seen.len()).collect();
        seen_order.sort_by_key(|s| &seen[*s].path);
        let (mut owners, mut is_owner) = (BTreeMap::new(), vec![false; known.len()]);
        for k in &known_order {
            if let Some(page) = &known[*k].page {
                is_owner[*k] = *owners.entry(page).or_insert(*k) == *k;
            }
        }
        let (mut home, mut known_there) = (vec![None; known.len()], vec![None; seen.len()]);
        let mut ahead = seen_order.iter().copied().peekable();
        for same_place in known_order.chunk_by(|a, b| known[*a].path == known[*b].path) {
            let (k, path) = (same_place[0], &known[same_place[0]].path);
            while ahead.next_if(|s| seen[*s].path < *path).is_some() {}
            while let Some(s) = ahead.next_if(|s| seen[*s].path == *path) {
                home[k] = home[k].or(Some(s));
                known_there[s] = Some(k);
            }
        }
        let claimed = |(file, there): (&SeenFile, &Option<usize>)| {
            let page = file.claims.as_ref()?;
            // This is nearly always the answer, and it is cheaper than the map.
            let is_there = |k: &usize| is_owner[*k] && known[*k].page.as_ref() == Some(page);
            there.filter(is_there).or_else(|| owners.get(page).copied())
        };
        let claimed = seen.iter().zip(&known_there).map(claimed).collect();
        let (seen_of, known_of) = (vec![None; known.len()], vec![None; seen.len()]);
        Self { known, seen, known_order, seen_order, is_owner, home, known_there, claimed, seen_of, known_of }
    }

    /// The page whose file `k` is.
    fn page(&self, k: usize) -> Option<&'a PageId> {
        self.known[k].page.as_ref().filter(|_| self.is_owner[k])
    }

    /// Whether a page's file was known at the path of `s`.
    fn is_a_pages_place(&self, s: usize) -> bool {
        self.known_there[s].is_some_and(|k| self.page(k).is_some())
    }

    fn pair(&mut self, k: usize, s: usize) {
        self.seen_of[k] = Some(s);
        self.known_of[s] = Some(k);
    }

    /// Rank of `s` as a match for `k`; the least is best. Criteria in order: its own path, the same file object, the
    /// same bytes, a path that is no other page's, the same name, the nearest folder.
    fn rank(&self, k: usize, s: usize) -> impl Ord + use<'a> {
        let (known, file) = (&self.known[k], &self.seen[s]);
        let shared = known.path.components().zip(file.path.components()).take_while(|(a, b)| a == b).count();
        (
            file.path != known.path,
            !known.is_same_file(file),
            !known.is_content(file),
            self.is_a_pages_place(s),
            known.path.name() != file.path.name(),
            usize::MAX - shared,
            &file.path,
        )
    }

    /// Matches each known page that files claim with the best of these files.
    fn by_claim(&mut self) {
        let mut claimants: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for s in 0..self.seen.len() {
            if let Some(k) = self.claimed[s] {
                claimants.entry(k).or_default().push(s);
            }
        }
        for (k, files) in claimants {
            let best = match *files {
                [only] => Some(only),
                _ => files.into_iter().min_by_key(|s| self.rank(k, *s)),
            };
            let Some(best) = best else { continue };
            // A file at the page's path that names no page is still the page's, unless the file object that was there is
            // the one with the claim.
            let stays = self.home[k].is_some_and(|home| {
                let (known, there, found) = (&self.known[k], &self.seen[home], &self.seen[best]);
                let left = !known.is_object(there) && known.is_same_file(found);
                there.path != found.path && there.claims.is_none() && !left
            });
            if !stays {
                self.pair(k, best);
            }
        }
    }

    /// Matches files that are at their known path. Files that name another page are included: if that page had no better
    /// file, an earlier rule would have matched it. Such a file was copied over the page's file, and the path decides.
    fn at_home(&mut self) {
        for k in 0..self.known.len() {
            let Some(s) = self.home[k].filter(|s| self.known_of[*s].is_none()) else { continue };
            if self.seen_of[k].is_none() {
                self.pair(k, s);
            }
        }
    }

    /// Matches files that are the same file object as a vanished one.
    fn by_object(&mut self) {
        let objects = self.unmatched_objects();
        for s in self.seen_order.clone() {
            let file = &self.seen[s];
            if self.known_of[s].is_some() {
                continue;
            }
            let kin = objects.get(&file.stamp.object()).map_or(&[][..], Vec::as_slice);
            let free =
                kin.iter().filter(|k| self.seen_of[**k].is_none() && self.known[**k].is_same_file(file));
            if let Some(k) = free.min_by_key(|k| self.rank(**k, s)) {
                self.pair(*k, s);
            }
        }
    }

    /// Matches files whose content is exactly that of one vanished file, if no other file has it.
    fn by_content(&mut self) {
        let mut hashes: BTreeMap<ContentHash, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for (k, known) in self.known.iter().enumerate().filter(|(k, _)| self.seen_of[*k].is_none()) {
            if let Some(hash) = known.hash.filter(|_| known.stamp.size > 0) {
                hashes.entry(hash).or_default().0.push(k);
            }
        }
        for (s, file) in self.seen.iter().enumerate().filter(|(s, _)| self.known_of[*s].is_none()) {
            // A file that names a page with a present file states itself what it is a copy of.
            if let (Some(hash), None) = (file.hash, self.claimed[s]) {
                hashes.entry(hash).or_default().1.push(s);
            }
        }
        for (gone, found) in hashes.into_values() {
            if let ([k], [s]) = (&*gone, &*found) {
                let (known, file) = (&self.known[*k], &self.seen[*s]);
                if known.stamp.size >= TRIVIAL_BYTES || known.path.name() == file.path.name() {
                    self.pair(*k, *s);
                }
            }
        }
    }

    /// The unmatched known files by their file objects.
    fn unmatched_objects(&self) -> BTreeMap<(u64, u64, i64), Vec<usize>> {
        let mut objects: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for k in self.known_order.iter().filter(|k| self.seen_of[**k].is_none()) {
            objects.entry(self.known[*k].stamp.object()).or_default().push(*k);
        }
        objects
    }

    fn finish(self) -> Identities {
        // If several files claim an unknown id, one keeps the claim: a file that was there before, else the file at
        // the path where the page's file would be, else the first.
        let mut firsts: BTreeMap<&PageId, (bool, bool, usize)> = BTreeMap::new();
        for (order, s) in self.seen_order.iter().enumerate() {
            if let (Some(page), None) = (&self.seen[*s].claims, self.claimed[*s]) {
                let is_page = self.known_of[*s].is_some_and(|k| self.page(k).is_some());
                let candidate = (self.known_of[*s].is_none(), !self.seen[*s].is_awaited, order);
                if !is_page {
                    let first = firsts.entry(page).or_insert(candidate);
                    *first = candidate.min(*first);
                }
            }
        }
        let firsts: BTreeSet<usize> =
            firsts.into_values().map(|(_, _, order)| self.seen_order[order]).collect();
        let verdict = |(s, file): (usize, &SeenFile)| {
            let k = self.known_of[s];
            let from = k.map(|k| &self.known[k].path).filter(|path| **path != file.path).cloned();
            match (k.and_then(|k| self.page(k)), &file.claims) {
                (Some(page), _) => match from {
                    Some(from) => Verdict::Moved { page: page.clone(), from },
                    None => Verdict::Same(page.clone()),
                },
                (None, Some(page)) if self.claimed[s].is_some() || !firsts.contains(&s) => {
                    Verdict::Copy { of: page.clone(), from }
                }
                (None, claims) => Verdict::New { claims: claims.clone(), from },
            }
        };
        let verdicts = self.seen.iter().enumerate().map(verdict).collect();
        let (mut vanished, mut forgotten) = (Vec::new(), Vec::new());
        for (k, known) in self.known.iter().enumerate().filter(|(k, _)| self.seen_of[*k].is_none()) {
            match self.page(k) {
                Some(page) => vanished.push((page.clone(), known.path.clone())),
                None => forgotten.push(known.path.clone()),
            }
        }
        Identities { verdicts, vanished, forgotten }
    }
}

#[cfg(test)]
#[path = "identity_tests.rs"]
pub(crate) mod tests;
