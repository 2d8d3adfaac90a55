//! Which file is which page, after a complete look at the mirror.
//!
//! Three kinds of evidence, strongest first: the `id` in a file's front matter; that it is the same file object
//! (device, inode and birth, never the inode alone, which git and tar are given again at once); the path it had. Files
//! are matched to what was known before one to one, so that no page has two files and a copy never becomes a second
//! owner. Whether the look was complete, and what to do about a page whose file vanished, is the caller's to judge.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{ContentHash, MirrorPath, PageId, Stamp, folder_of};

/// A file as it was known before the look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFile {
    /// Where it was.
    pub path: MirrorPath,
    /// Its page; `None` while it has none yet.
    pub page: Option<PageId>,
    /// Its metadata when it was last read or written.
    pub stamp: Stamp,
    /// What it held then.
    pub hash: Option<ContentHash>,
}

/// A page file as the look found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    /// Where it is.
    pub path: MirrorPath,
    /// Its metadata.
    pub stamp: Stamp,
    /// The id in its front matter; `None` when there is none, and when the file was not read because its path and
    /// stamp are those it had before. Every other file must have been read.
    pub claims: Option<PageId>,
    /// Whether the page that it claims has no file, and would have it here.
    pub is_awaited: bool,
    /// What it holds, if it was read.
    pub hash: Option<ContentHash>,
}

/// What a seen file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The file of this page, where it was. Its front matter may name another page, after a copy over it: the file's
    /// page is this one.
    Same(PageId),
    /// The file of this page, and it was elsewhere before.
    Moved {
        /// Which page.
        page: PageId,
        /// Where it was.
        from: MirrorPath,
    },
    /// Not yet a page, made from a file that names this page and is not its file.
    Copy {
        /// The page named in its front matter.
        of: PageId,
        /// Where the same file was before, if it was known and has moved.
        from: Option<MirrorPath>,
    },
    /// Not yet a page.
    New {
        /// An id in its front matter that no known file has; at most one file is told so for each id.
        claims: Option<PageId>,
        /// Where the same file was before, if it was known and has moved.
        from: Option<MirrorPath>,
    },
}

/// What a look says about everything known and everything seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identities {
    /// One for each seen file, in their order.
    pub verdicts: Vec<Verdict>,
    /// Pages whose file is nowhere, each once, with the place it had; in the order of the known files.
    pub vanished: Vec<(PageId, MirrorPath)>,
    /// Places of known files without a page that are nowhere.
    pub forgotten: Vec<MirrorPath>,
}

/// Files smaller than this may well be equal without being the same, unless they have the same name: a line of a
/// template.
const TRIVIAL_BYTES: u64 = 32;

/// Tells which of the `seen` files is which of the `known` ones. Both may come in any order; what is said of a file does
/// not depend on it. Known files that the look could not reach must be among the seen ones, as they were.
#[must_use]
pub fn identify(known: &[KnownFile], seen: &[SeenFile]) -> Identities {
    let mut matching = Matching::new(known, seen);
    matching.by_claim();
    matching.at_home(KnownFile::is_object);
    matching.over_another();
    matching.at_home(|_, _| true);
    matching.by_object();
    matching.by_content();
    matching.by_folder();
    matching.finish()
}

impl KnownFile {
    /// Whether `file` has the inode and birth that this one had.
    fn is_object(&self, file: &SeenFile) -> bool {
        self.stamp.object() == file.stamp.object()
    }

    /// Whether `file` is this one, wherever it is now.
    fn is_same_file(&self, file: &SeenFile) -> bool {
        is_same_file((self.stamp, self.hash), (file.stamp, file.hash))
    }

    /// Whether `file` holds what this one held, as far as the looks tell.
    fn is_content(&self, file: &SeenFile) -> bool {
        is_same_content((self.stamp, self.hash), (file.stamp, file.hash))
    }
}

/// Whether two looks, each a stamp and the hash if it was read, saw one file: an inode number alone is handed out
/// again, so either the birth is known, or the content has to agree, or the time of the last change: a program that
/// edits in place and puts the old time back leaves that.
#[must_use]
pub fn is_same_file(one: (Stamp, Option<ContentHash>), other: (Stamp, Option<ContentHash>)) -> bool {
    let is_dated_alike = one.0.born_ns != 0 || one.0.modified_ns == other.0.modified_ns;
    one.0.object() == other.0.object() && (is_dated_alike || is_same_content(one, other))
}

fn is_same_content(one: (Stamp, Option<ContentHash>), other: (Stamp, Option<ContentHash>)) -> bool {
    let untouched = one.0.size == other.0.size && one.0.modified_ns == other.0.modified_ns;
    untouched || (one.1.is_some() && one.1 == other.1)
}

/// A one-to-one matching in the making between known and seen files, by their indices.
struct Matching<'a> {
    known: &'a [KnownFile],
    seen: &'a [SeenFile],
    /// Both, in the order of their paths: the order in which everything is tried.
    known_order: Vec<usize>,
    seen_order: Vec<usize>,
    /// Whether each known file is its page's: the first of those that have the page.
    is_owner: Vec<bool>,
    /// For each known file, what is seen at its place; of several known files at one place for the first only.
    home: Vec<Option<usize>>,
    /// For each seen file, the first known one at its place.
    known_there: Vec<Option<usize>>,
    /// For each seen file, the known one whose page it claims.
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
            // Nearly always, and much sooner known.
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

    /// Whether a page's file was known at the place of `s`.
    fn is_a_pages_place(&self, s: usize) -> bool {
        self.known_there[s].is_some_and(|k| self.page(k).is_some())
    }

    fn pair(&mut self, k: usize, s: usize) {
        self.seen_of[k] = Some(s);
        self.known_of[s] = Some(k);
    }

    /// How well `s` fits `k`, best least: its own place, the same file object, the same bytes, a place that is no other
    /// page's, the same name, the nearest folder.
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

    /// Each known page that files claim goes to the best of them.
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
            // A file at the page's place that names no page is still the page's, unless the very file that stood
            // there is seen elsewhere and still says so, or what says so has replaced another page's file, or this one
            // was another page's.
            let stays = self.home[k].is_some_and(|home| {
                let (known, there, found) = (&self.known[k], &self.seen[home], &self.seen[best]);
                let left = !known.is_object(there)
                    && (known.is_same_file(found)
                        || self.is_a_pages_place(best)
                        || self.was_elsewhere(there));
                there.path != found.path && there.claims.is_none() && !left
            });
            if !stays {
                self.pair(k, best);
            }
        }
    }

    /// Whether a file is, beyond doubt, that of a page which had it at another place: the same object, or what it held
    /// and that place holds no more.
    fn was_elsewhere(&self, file: &SeenFile) -> bool {
        let is_same = |k: usize, known: &KnownFile| {
            file.stamp.born_ns != 0 && known.is_object(file)
                || known.stamp.size >= TRIVIAL_BYTES && known.is_content(file) && self.has_left(k)
        };
        let mut others = self.known.iter().enumerate().filter(|(_, known)| known.path != file.path);
        others.any(|(k, known)| self.page(k).is_some() && is_same(k, known))
    }

    /// Whether what `k` held is no more where it was.
    fn has_left(&self, k: usize) -> bool {
        self.home[k].is_none_or(|home| !self.known[k].is_content(&self.seen[home]))
    }

    /// Files that are where they were, as far as `fits`. One that names another page is among them: had that page no
    /// better file, or this one's page another, it would be settled by now; so it was copied over, and what counts is
    /// the place.
    fn at_home(&mut self, fits: impl Fn(&KnownFile, &SeenFile) -> bool) {
        for k in 0..self.known.len() {
            let Some(s) = self.home[k].filter(|s| self.known_of[*s].is_none()) else { continue };
            if self.seen_of[k].is_none() && fits(&self.known[k], &self.seen[s]) {
                self.pair(k, s);
            }
        }
    }

    /// Page files without an id that were moved over others, or swapped: only if nothing speaks against it, since a
    /// program that saves by renaming must not turn one page into another.
    fn over_another(&mut self) {
        let objects = self.unmatched_objects();
        for s in self.seen_order.clone() {
            let file = &self.seen[s];
            if self.known_of[s].is_some() || file.claims.is_some() || self.known_there[s].is_none() {
                continue;
            }
            let [k] = objects.get(&file.stamp.object()).map_or(&[][..], Vec::as_slice) else { continue };
            let known = &self.known[*k];
            // Without a birth the number may be another's by now, but not with the time and the content as well, and
            // this content nowhere where it was.
            let is_dated_alike = known.stamp.modified_ns == file.stamp.modified_ns;
            let certain = (known.stamp.born_ns != 0 || is_dated_alike && self.has_left(*k))
                && known.is_content(file)
                && self.page(*k).is_some();
            if certain && self.seen_of[*k].is_none() {
                self.pair(*k, s);
            }
        }
    }

    /// Files that are the same file object as a vanished one.
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

    /// Files that hold exactly what one vanished file held, if no other does.
    fn by_content(&mut self) {
        let mut hashes: BTreeMap<ContentHash, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for (k, known) in self.known.iter().enumerate().filter(|(k, _)| self.seen_of[*k].is_none()) {
            if let Some(hash) = known.hash.filter(|_| known.stamp.size > 0) {
                hashes.entry(hash).or_default().0.push(k);
            }
        }
        for (s, file) in self.seen.iter().enumerate().filter(|(s, _)| self.known_of[*s].is_none()) {
            // A file that names a page whose file is there says itself what it is a copy of.
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

    /// Files that were replaced in a folder that moved: where their neighbours went under the same names, they went.
    fn by_folder(&mut self) {
        let mut moves: BTreeMap<MirrorPath, BTreeSet<MirrorPath>> = BTreeMap::new();
        for (k, s) in self.seen_of.iter().enumerate().filter_map(|(k, s)| Some((k, (*s)?))) {
            let (from, to) = (&self.known[k].path, &self.seen[s].path);
            if from == to {
                continue;
            }
            let up = from.parent().zip(to.parent()).filter(|_| from.name() == to.name());
            let own = folder_of(from).zip(folder_of(to));
            for (from, to) in up.into_iter().chain(own).filter(|(from, to)| from != to) {
                moves.entry(from).or_default().insert(to);
            }
        }
        for k in self.known_order.clone() {
            if self.seen_of[k].is_some() {
                continue;
            }
            let path = &self.known[k].path;
            // The deepest folder that is known to have gone to one place.
            let above = std::iter::successors(path.parent(), MirrorPath::parent);
            let went = above.filter_map(|from| moves.get(&from).map(|to| (from, to))).next();
            let Some((from, to)) = went.filter(|(_, to)| to.len() == 1) else { continue };
            let at = to.first().and_then(|to| path.rebase(&from, to));
            let Some(s) = at.and_then(|at| self.seen_at(&at)) else { continue };
            if self.known_of[s].is_none() && self.seen[s].claims.is_none() {
                self.pair(k, s);
            }
        }
    }

    /// What is seen at a place.
    fn seen_at(&self, path: &MirrorPath) -> Option<usize> {
        let at = self.seen_order.partition_point(|s| self.seen[*s].path < *path);
        self.seen_order.get(at).copied().filter(|s| self.seen[*s].path == *path)
    }

    /// The known files that are not matched, by their file objects.
    fn unmatched_objects(&self) -> BTreeMap<(u64, u64, i64), Vec<usize>> {
        let mut objects: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for k in self.known_order.iter().filter(|k| self.seen_of[**k].is_none()) {
            objects.entry(self.known[*k].stamp.object()).or_default().push(*k);
        }
        objects
    }

    fn finish(self) -> Identities {
        // Of several files that claim an unknown id one keeps the claim: one that was there before, or the one where the
        // page's file would be, or the first.
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
mod tests;
