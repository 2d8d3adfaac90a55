//! The barrier: decides whether the absence of an item may be believed while parts of the folder cannot be read. One
//! rule for pages, canvases and stored files.
//!
//! A *name* that cannot be read is known by its file object. It hides the item with this object, and items whose
//! object is not known. A folder with such a name also hides the items last seen beneath it, because a file in it may
//! have been saved as another object. A new name also hides the items of its folder, and of folders that left it, that
//! are missing since the scan that found it, because one of them may have been saved anew before. A *folder* that cannot
//! be read hides the items last seen beneath it. It also hides each item that went missing since the folder became
//! unreadable, because that item may have been moved into it. Nothing else is hidden.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{EntryKind, FileObject, Hides, MirrorPath, Scan, Timestamp, Unreadable, planted};

/// An item that a scan did not find.
#[derive(Debug, Clone, Copy)]
pub struct Absent<'a> {
    /// The path at which it was last seen.
    pub last: Option<&'a MirrorPath>,
    /// Its file object; `None` if it is no longer known.
    pub object: Option<FileObject>,
    /// Start of its absence.
    pub since: Timestamp,
}

/// For each object with an unreadable name, the start of the scan after the one that found it first; `None` until then.
/// Without the device of the object, which changes when a machine restarts.
pub type Names = BTreeMap<FileObject, Option<Timestamp>>;

/// What the last scan could not read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Barrier {
    found: Vec<Unreadable>,
    /// For each unreadable folder and each of `renamed`, the start of this state.
    since: BTreeMap<MirrorPath, Timestamp>,
    /// Folders that have a name now that cannot be read, by their last path. The object is not known after a restart.
    renamed: BTreeMap<MirrorPath, Option<FileObject>>,
    /// For each object with an unreadable name, when it was known; `None` if no scan of this run or an earlier one has
    /// been taken in.
    named_by: Option<Names>,
    /// The folders of the last scan, in its order.
    folders: Vec<(MirrorPath, FileObject)>,
    /// The last time at which an unreadable item became readable or disappeared. An item that it hid may be on the
    /// way to its place, so grace times begin again from here.
    cleared: Timestamp,
    /// The last time at which the user approved removals. A missing file may be back since the last scan.
    approved: Timestamp,
    /// Whether a scan of this run has been taken in.
    is_begun: bool,
}

impl Barrier {
    /// The barrier as an earlier run stored it: the start of each folder's unreadable state, the time at which an item
    /// last became readable again, and the objects with unreadable names.
    #[must_use]
    pub fn remembered(
        since: BTreeMap<MirrorPath, Timestamp>,
        cleared: Timestamp,
        named_by: Option<Names>,
    ) -> Self {
        Self { since, cleared, named_by, ..Self::default() }
    }

    /// Takes in what a scan that began at `scanned` could not read. A file that could not be read stays in the
    /// barrier while it is seen at its place. Returns whether there is new state to store.
    pub fn take_in(&mut self, scan: &Scan, scanned: Timestamp) -> bool {
        // Changes of the folder before the first scan of a run are unknown: each missing item may be in it.
        let begins = if self.is_begun { scanned } else { Timestamp::default() };
        let is_there = |item: &Unreadable| {
            let at = scan.entries.binary_search_by(|entry| entry.path.cmp(&item.path)).ok();
            at.is_some_and(|at| item.hides == Hides::File(scan.entries[at].stamp.object()))
        };
        let mut found = scan.unreadable.clone();
        found.iter_mut().for_each(|item| self.remember_within(item));
        found.extend(self.found.iter().filter(|item| is_there(item)).cloned());
        let folders = found.iter().filter(|item| item.hides == Hides::Anything);
        let shut: BTreeSet<&MirrorPath> = folders.map(|item| &item.path).collect();
        let renamed = self.renamed_in(scan, &shut);
        // Nothing is known of a folder beneath one that cannot be read: it may be unreadable still.
        let beneath = self.since.keys().filter(|path| shut.iter().any(|folder| path.is_within(folder)));
        let since: BTreeMap<MirrorPath, Timestamp> = shut
            .iter()
            .copied()
            .chain(beneath)
            .chain(renamed.keys())
            .map(|path| (path.clone(), self.since.get(path).copied().unwrap_or(begins)))
            .collect();
        let is_cleared = self.since.keys().any(|path| !since.contains_key(path))
            || !objects(&self.found).is_subset(&objects(&found));
        if is_cleared {
            self.cleared = scanned;
        }
        let by = |object: &FileObject| match &self.named_by {
            Some(known) => known.get(object).and_then(|by| by.or(Some(scanned))),
            // It may have had the name for long.
            None => Some(Timestamp::default()),
        };
        let named_by = Some(named(&found).map(portable).map(|object| (object, by(&object))).collect());
        let is_new = is_cleared || since != self.since || named_by != self.named_by;
        self.named_by = named_by;
        (self.is_begun, self.found, self.since, self.renamed) = (true, found, since, renamed);
        self.keep_folders(scan);
        is_new
    }

    /// Remembers the folders of a scan. Usually they are the same again, and nothing is copied.
    fn keep_folders(&mut self, scan: &Scan) {
        let folders = || {
            let folders = scan.entries.iter().filter(|entry| entry.kind == EntryKind::Folder);
            folders.map(|entry| (&entry.path, portable(entry.stamp.object())))
        };
        if !self.folders.iter().map(|(path, object)| (path, *object)).eq(folders()) {
            self.folders = folders().map(|(path, object)| (path.clone(), object)).collect();
        }
    }

    /// Adds the objects that earlier scans found at and beneath the same name: a file in a folder with such a name may
    /// have been saved as another object.
    fn remember_within(&self, item: &mut Unreadable) {
        let Hides::Named(now) = &mut item.hides else { return };
        for earlier in &self.found {
            if let Hides::Named(objects) = &earlier.hides
                && !objects.is_disjoint(now)
            {
                now.extend(objects);
            }
        }
    }

    /// The folders that have a name in this scan that cannot be read. `shut` are those that cannot be read at their paths.
    fn renamed_in(
        &self,
        scan: &Scan,
        shut: &BTreeSet<&MirrorPath>,
    ) -> BTreeMap<MirrorPath, Option<FileObject>> {
        let odd: BTreeSet<FileObject> = named(&scan.unreadable).map(portable).collect();
        if odd.is_empty() {
            return BTreeMap::new();
        }
        let known = self.renamed.iter().map(|(path, object)| (path.clone(), *object));
        // The state names the folders of an earlier run without their objects.
        let earlier = self.since.keys().filter(|_| !self.is_begun).map(|path| (path.clone(), None));
        let now = self.folders.iter().map(|(path, object)| (path.clone(), Some(*object)));
        let is_away = |path: &MirrorPath| {
            !shut.contains(path) && scan.entries.binary_search_by(|entry| entry.path.cmp(path)).is_err()
        };
        earlier
            .chain(known)
            .chain(now)
            .filter(|(path, object)| object.is_none_or(|object| odd.contains(&object)) && is_away(path))
            .collect()
    }

    /// Adds an item that turned out to be unreadable after the scan.
    pub fn add(&mut self, item: Unreadable) {
        if !self.found.contains(&item) {
            self.found.push(item);
        }
    }

    /// Removes the files, selected by path, that could not be read and are known now. Returns whether there is new
    /// state to store.
    pub fn lift(&mut self, is_known: impl Fn(&MirrorPath) -> bool, now: Timestamp) -> bool {
        let before = self.found.len();
        self.found.retain(|item| !matches!(item.hides, Hides::File(_)) || !is_known(&item.path));
        let is_lifted = self.found.len() < before;
        if is_lifted {
            self.cleared = now;
        }
        is_lifted
    }

    /// All items that could not be read.
    #[must_use]
    pub fn found(&self) -> &[Unreadable] {
        &self.found
    }

    /// For each unreadable folder, and each folder that has an unreadable name now, the start of this state.
    #[must_use]
    pub fn since(&self) -> &BTreeMap<MirrorPath, Timestamp> {
        &self.since
    }

    /// The objects with unreadable names; `None` before the first scan of all.
    #[must_use]
    pub fn names(&self) -> Option<&Names> {
        self.named_by.as_ref()
    }

    /// The last time at which an item became readable again.
    #[must_use]
    pub fn cleared(&self) -> Timestamp {
        self.cleared
    }

    /// The user approves removals at `now`: no absence counts before a scan after that.
    pub fn approve(&mut self, now: Timestamp) {
        self.approved = now;
    }

    /// The time from which a scan ends the grace time of an item that is missing since `since`. An unreadable item may
    /// have hidden it until [`Barrier::cleared`].
    #[must_use]
    pub fn grace_end(&self, since: Timestamp, grace_ms: i64) -> Timestamp {
        since.max(self.cleared).plus_ms(grace_ms).max(self.approved)
    }

    /// Whether `path` lies in a folder that could not be read. Its items count as present.
    #[must_use]
    pub fn covers(&self, path: &MirrorPath) -> bool {
        !planted("unreadable-hides-nothing") && self.found.iter().any(|item| item.covers(path))
    }

    /// The unreadable item that may hide a missing item. Until it can be read, the missing item does not count as
    /// gone.
    #[must_use]
    pub fn hides(&self, item: Absent<'_>) -> Option<&Unreadable> {
        if planted("unreadable-hides-nothing") {
            return None;
        }
        self.found.iter().find(|unreadable| match &unreadable.hides {
            Hides::Named(objects) => {
                let is_its = |object: FileObject| objects.iter().any(|its| portable(*its) == object);
                let was_in = |(path, object): (&MirrorPath, &Option<FileObject>)| {
                    item.last.is_some_and(|last| last.is_within(path)) && object.is_none_or(is_its)
                };
                // A file may have been saved anew before it got such a name, if no scan came in between.
                let is_new = |its: &FileObject| {
                    let by = self.named_by.as_ref().and_then(|names| names.get(&portable(*its)));
                    by.is_some_and(|by| by.is_none_or(|by| item.since < by))
                };
                // The folder that has this name now, if an earlier scan shows which one it is.
                let is_known = self.renamed.values().any(|object| object.is_some_and(is_its));
                let is_beside = item.last.is_some_and(|last| {
                    let parent = last.parent();
                    parent.as_ref() == Some(&unreadable.path)
                        || !is_known && self.has_left(last, &unreadable.path)
                });
                objects.iter().any(|its| is_same(*its, item.object))
                    || self.renamed.iter().any(was_in)
                    || is_beside && objects.iter().any(is_new)
            }
            Hides::File(its) => is_same(*its, item.object),
            Hides::Anything => {
                let is_since = self.since.get(&unreadable.path).is_none_or(|since| item.since >= *since);
                is_since || item.last.is_some_and(|last| unreadable.covers(last))
            }
        })
    }

    /// Whether the item last seen at `last` was in a folder within `folder` that is no longer there.
    fn has_left(&self, last: &MirrorPath, folder: &MirrorPath) -> bool {
        let beneath = last.components().nth(folder.components().count()).filter(|_| last.is_within(folder));
        let entry = beneath.and_then(|name| folder.join(name).ok());
        let is_there =
            |path: &MirrorPath| self.folders.binary_search_by(|(known, _)| known.cmp(path)).is_ok();
        entry.is_some_and(|entry| entry != *last && !is_there(&entry))
    }
}

/// Whether a file object may be the item's.
fn is_same(its: FileObject, item: Option<FileObject>) -> bool {
    item.is_none_or(|item| portable(its) == portable(item))
}

/// A file object without its device, which changes when a machine restarts.
fn portable((_, inode, born): FileObject) -> FileObject {
    (0, inode, born)
}

/// The objects with a name that cannot be read.
fn named(found: &[Unreadable]) -> impl Iterator<Item = FileObject> {
    found
        .iter()
        .filter_map(|item| if let Hides::Named(objects) = &item.hides { Some(objects) } else { None })
        .flatten()
        .copied()
}

/// The objects of names and files that cannot be read.
fn objects(found: &[Unreadable]) -> BTreeSet<FileObject> {
    let files = found
        .iter()
        .filter_map(|item| if let Hides::File(object) = item.hides { Some(object) } else { None });
    named(found).chain(files).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Entry, Stamp};

    const ITS: FileObject = (1, 10, 5);
    const OTHER: FileObject = (1, 11, 5);

    fn at(path: &str) -> MirrorPath {
        MirrorPath::new(path).unwrap()
    }

    fn name(folder: &str, objects: &[FileObject]) -> Unreadable {
        Unreadable {
            path: at(folder),
            why: "a name".to_owned(),
            hides: Hides::Named(objects.iter().copied().collect()),
        }
    }

    fn folder(path: &str) -> Unreadable {
        Unreadable { path: at(path), why: "shut".to_owned(), hides: Hides::Anything }
    }

    fn scan(unreadable: &[Unreadable]) -> Scan {
        Scan { unreadable: unreadable.to_vec(), ..Scan::default() }
    }

    #[test]
    fn what_cannot_be_read_hides_what_may_be_in_it_and_nothing_else() {
        // The second of two scans could not read something; the item was last seen at a/x.md.
        let check = |found: &[Unreadable], object: Option<FileObject>, since: i64, expected: bool| {
            let mut barrier = Barrier::default();
            barrier.take_in(&scan(&[]), Timestamp(100));
            let entries = vec![Entry { path: at("a"), kind: EntryKind::Folder, stamp: Stamp::default() }];
            barrier.take_in(&Scan { entries, ..scan(found) }, Timestamp(200));
            let item = Absent { last: Some(&at("a/x.md")), object, since: Timestamp(since) };
            assert_eq!(barrier.hides(item).is_some(), expected, "{found:?} {object:?} {since}");
        };
        check(&[], Some(ITS), 250, false);
        check(&[], None, 250, false);
        // A name is known by its object, wherever it is and however long it has been unreadable.
        check(&[name("a", &[ITS])], Some(ITS), 250, true);
        check(&[name("z", &[ITS])], Some(ITS), 150, true);
        check(&[name("z", &[OTHER, ITS])], Some(ITS), 250, true);
        check(&[name("z", &[OTHER])], Some(ITS), 250, false);
        check(&[name("a", &[OTHER])], None, 150, true);
        check(&[name("", &[OTHER])], Some(ITS), 150, false);
        check(&[name("a", &[(9, ITS.1, ITS.2)])], Some(ITS), 250, true);
        check(&[name("z", &[(ITS.0, ITS.1, 6)])], Some(ITS), 250, false);
        // A folder hides what was in it, and what has been missing since it became unreadable.
        check(&[folder("a")], Some(ITS), 150, true);
        check(&[folder("z")], Some(ITS), 150, false);
        check(&[folder("z")], Some(ITS), 200, true);
        check(&[folder("z")], None, 150, false);
        check(&[folder("")], Some(ITS), 150, true);
        check(&[name("a", &[OTHER]), folder("z")], Some(ITS), 250, true);
    }

    #[test]
    fn a_new_name_that_cannot_be_read_may_be_a_missing_file_beside_it_that_was_saved_anew() {
        let mut barrier = Barrier::default();
        let path = at("a/x.md");
        let item = |since| Absent { last: Some(&path), object: Some(ITS), since: Timestamp(since) };
        barrier.take_in(&scan(&[]), Timestamp(100));
        barrier.take_in(&scan(&[name("a", &[OTHER])]), Timestamp(200));
        assert!(barrier.hides(item(150)).is_some() && barrier.hides(item(210)).is_some());
        barrier.take_in(&scan(&[name("a", &[OTHER])]), Timestamp(300));
        assert!(barrier.hides(item(210)).is_some(), "it was missing in the scan that found the name");
        assert!(barrier.hides(item(310)).is_none(), "it was there beside the name");
        assert!(barrier.hides(Absent { last: Some(&at("b/x.md")), ..item(210) }).is_none());
        let beneath = at("a/b/c/x.md");
        assert!(
            barrier.hides(Absent { last: Some(&beneath), ..item(210) }).is_some(),
            "a/b may have the name"
        );
        // The next run knows which names are new, and what was missing when they were.
        let next = |found| {
            let mut next = Barrier::remembered(BTreeMap::new(), Timestamp(0), barrier.names().cloned());
            next.take_in(&scan(&[name("a", found)]), Timestamp(400));
            next
        };
        assert!(next(&[OTHER]).hides(item(210)).is_some() && next(&[OTHER]).hides(item(410)).is_none());
        assert!(next(&[OTHER, (1, 12, 5)]).hides(item(410)).is_some());
        // What the first run of all finds may have been there for long.
        let mut next = Barrier::remembered(BTreeMap::new(), Timestamp(0), None);
        next.take_in(&scan(&[name("a", &[OTHER])]), Timestamp(400));
        assert!(next.hides(item(410)).is_none());
    }

    #[test]
    fn since_when_a_folder_is_unreadable_outlives_the_run() {
        let item = |since| Absent { last: None, object: Some(ITS), since: Timestamp(since) };
        let mut barrier = Barrier::default();
        assert!(barrier.take_in(&scan(&[]), Timestamp(100)), "no name is unreadable: that is to be stored");
        assert!(barrier.take_in(&scan(&[folder("z")]), Timestamp(200)));
        assert!(!barrier.take_in(&scan(&[folder("z")]), Timestamp(300)));
        assert!(barrier.hides(item(150)).is_none() && barrier.hides(item(250)).is_some());
        // The next run knows the barrier. It does not know of a folder that became unreadable in between.
        let mut next =
            Barrier::remembered(barrier.since().clone(), barrier.cleared(), barrier.names().cloned());
        assert!(next.hides(item(250)).is_none(), "nothing is decided before the first scan");
        next.take_in(&scan(&[folder("z")]), Timestamp(400));
        assert!(next.hides(item(150)).is_none() && next.hides(item(250)).is_some());
        let mut next = Barrier::remembered(BTreeMap::new(), Timestamp(0), None);
        next.take_in(&scan(&[folder("z")]), Timestamp(400));
        assert!(next.hides(item(150)).is_some());
        // A folder above it is unreadable for a time.
        let mut above = barrier.clone();
        above.take_in(&scan(&[folder("")]), Timestamp(310));
        assert!(above.take_in(&scan(&[folder("z")]), Timestamp(320)));
        assert!(above.hides(item(150)).is_none() && above.hides(item(250)).is_some());
        // Once it can be read, grace times begin again.
        assert_eq!(barrier.cleared(), Timestamp(0));
        assert!(barrier.take_in(&scan(&[name("z", &[ITS])]), Timestamp(500)));
        assert_eq!((barrier.cleared(), barrier.since().len()), (Timestamp(500), 0));
        // A name that is new, and that it is known since, are to be stored.
        assert!(barrier.take_in(&scan(&[name("y", &[ITS, OTHER])]), Timestamp(600)));
        assert!(barrier.take_in(&scan(&[name("y", &[OTHER])]), Timestamp(650)));
        assert!(!barrier.take_in(&scan(&[name("y", &[OTHER])]), Timestamp(660)));
        assert_eq!(barrier.cleared(), Timestamp(500));
        assert!(barrier.take_in(&scan(&[name("y", &[(1, 12, 5)])]), Timestamp(700)));
        assert_eq!(barrier.cleared(), Timestamp(700));
    }

    #[test]
    fn what_is_beneath_a_folder_that_cannot_be_read_is_taken_to_be_there() {
        let mut barrier = Barrier::default();
        barrier.take_in(&scan(&[folder("a/b"), name("c", &[OTHER])]), Timestamp(100));
        for (path, expected) in
            [("a/b", true), ("a/b/x.md", true), ("a/bc", false), ("a", false), ("c/x.md", false)]
        {
            assert_eq!(barrier.covers(&at(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_folder_whose_name_cannot_be_read_hides_what_was_in_it() {
        let (device, inode, born_ns) = ITS;
        let stamp = Stamp { device, inode, born_ns, ..Stamp::default() };
        let entries = vec![Entry { path: at("a/b"), kind: EntryKind::Folder, stamp }];
        let there = Scan { entries, ..Scan::default() };
        let hides = |barrier: &Barrier, last: &str| {
            let item = Absent { last: Some(&at(last)), object: Some(OTHER), since: Timestamp(400) };
            barrier.hides(item).is_some()
        };
        let mut barrier = Barrier::default();
        barrier.take_in(&there, Timestamp(100));
        let odd = scan(&[name("a", &[ITS])]);
        for time in [200, 300, 350] {
            assert_eq!(barrier.take_in(&odd, Timestamp(time)), time < 350);
            // The file was saved as another object meanwhile.
            assert!(hides(&barrier, "a/b/x.md") && hides(&barrier, "a/b") && !hides(&barrier, "a/bc/x.md"));
            assert_eq!(barrier.since().get(&at("a/b")), Some(&Timestamp(200)));
        }
        // The next run knows it too, until the folder is back or no name is left that cannot be read.
        let next =
            || Barrier::remembered(barrier.since().clone(), barrier.cleared(), barrier.names().cloned());
        for (seen, expected) in [(&odd, true), (&there, false), (&scan(&[]), false)] {
            let mut next = next();
            assert_eq!(next.take_in(seen, Timestamp(500)), !expected);
            assert_eq!(hides(&next, "a/b/x.md"), expected);
        }
        // A scan showed the file beneath the name before it was saved as another object.
        let saved = (1, 13, 5);
        barrier.take_in(&scan(&[name("a", &[ITS, saved])]), Timestamp(400));
        assert!(barrier.take_in(&odd, Timestamp(500)), "since when the other object has been known");
        assert!(!barrier.take_in(&odd, Timestamp(510)));
        let item = Absent { last: Some(&at("c/x.md")), object: Some(saved), since: Timestamp(400) };
        assert!(barrier.hides(item).is_some());
        let other = scan(&[name("a", &[(1, 12, 5)])]);
        assert!(barrier.take_in(&other, Timestamp(600)));
        assert!(hides(&barrier, "a/b/x.md"), "the new name may be that of another folder at a/b");
    }

    #[test]
    fn a_file_that_cannot_be_read_hides_its_object_while_it_is_there() {
        let (path, shut) = (at("a/new.md"), Hides::File(ITS));
        let seen = |object: FileObject| {
            let (device, inode, born_ns) = object;
            let stamp = Stamp { device, inode, born_ns, ..Stamp::default() };
            let entries = vec![Entry { path: at("a/new.md"), kind: EntryKind::File, stamp }];
            Scan { entries, ..Scan::default() }
        };
        let hides = |barrier: &Barrier, object| {
            let item = Absent { last: Some(&at("a/x.md")), object, since: Timestamp(150) };
            barrier.hides(item).is_some()
        };
        let mut barrier = Barrier::default();
        barrier.take_in(&seen(ITS), Timestamp(100));
        for _ in 0..2 {
            barrier.add(Unreadable { path: path.clone(), why: "shut".to_owned(), hides: shut.clone() });
        }
        assert!(!barrier.take_in(&seen(ITS), Timestamp(200)));
        assert!(hides(&barrier, Some(ITS)) && hides(&barrier, None) && !hides(&barrier, Some(OTHER)));
        assert!(!barrier.covers(&path) && barrier.found().len() == 1);
        // It is another file now, or it was read: grace times begin again.
        let mut read = barrier.clone();
        assert!(barrier.take_in(&seen(OTHER), Timestamp(300)));
        assert!(!read.lift(|other| *other != path, Timestamp(300)));
        assert!(read.lift(|other| *other == path, Timestamp(300)));
        for barrier in [barrier, read] {
            assert_eq!((barrier.cleared(), barrier.found()), (Timestamp(300), &[][..]));
        }
    }
}
