//! The barrier: whether the absence of an item may be believed while parts of the folder cannot be read. One rule for pages,
//! canvases and stored files.
//!
//! What is in the way at a path (a link, a pipe, a device, a folder) is the item that was there, unreadable: the item and
//! what was last seen beneath it count as present, and nothing else waits. A folder that cannot be listed, or a name that is
//! no path of the mirror, may hide anything: such a place is *unsettled*, and no absence counts until it can be read, is
//! gone, is ignored, or was approved by its path.

use std::collections::BTreeSet;

use crate::model::{FileObject, Hides, MirrorPath, Scan, Timestamp, Unreadable, planted};

/// An item that a scan did not find.
#[derive(Debug, Clone, Copy)]
pub struct Absent<'a> {
    /// The path at which it was last seen.
    pub last: Option<&'a MirrorPath>,
    /// Its file object; `None` if it is no longer known.
    pub object: Option<FileObject>,
}

/// The places that the user approved, each with the object that was there, without its device, which changes when a machine
/// restarts. Without an object, what the next scan finds at the path or beneath it.
pub type Approved = BTreeSet<(MirrorPath, Option<FileObject>)>;

/// What the last scan could not read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Barrier {
    found: Vec<Unreadable>,
    approved: Approved,
    /// The last time at which a place became readable, disappeared or was approved. An item that it hid may be on the way
    /// to its own place, so grace times begin again from here.
    cleared: Timestamp,
    /// The last time at which the user approved removals. A missing file may be back since the last scan.
    removals_approved: Timestamp,
    /// Whether a scan of this run has been taken in.
    is_begun: bool,
}

impl Barrier {
    /// The barrier with the approvals of an earlier run.
    #[must_use]
    pub fn remembered(approved: Approved) -> Self {
        Self { approved, ..Self::default() }
    }

    /// Takes in what a scan that began at `scanned` could not read. A file that could not be read stays in the barrier
    /// while it is seen at its place. Returns whether the approvals changed, which are to be stored.
    pub fn take_in(&mut self, scan: &Scan, scanned: Timestamp) -> bool {
        let is_there = |item: &Unreadable| {
            let at = scan.entries.binary_search_by(|entry| entry.path.cmp(&item.path)).ok();
            let object = at.map(|at| scan.entries[at].stamp.object());
            item.hides == Hides::Its && object.is_some() && object == item.object
        };
        let approved = scan.unreadable.iter().filter(|item| self.is_approved(item));
        let approved: Approved = approved.map(approval_of).collect();
        let is_new = approved != self.approved;
        self.approved = approved;
        let mut found = scan.unreadable.clone();
        found.retain(|item| !self.is_settled(item));
        found.extend(self.found.iter().filter(|item| is_there(item)).cloned());
        if self.found.iter().any(|item| !found.contains(item)) {
            self.cleared = scanned;
        }
        (self.found, self.is_begun) = (found, true);
        is_new
    }

    /// Whether a place was approved and says nothing of any item. What was in a folder that cannot be listed stays there.
    fn is_settled(&self, item: &Unreadable) -> bool {
        item.hides != Hides::Anything && self.is_approved(item)
    }

    fn is_approved(&self, item: &Unreadable) -> bool {
        self.approved.iter().any(|(path, object)| match object {
            Some(_) => *path == item.path && *object == portable(item.object),
            None => item.path.is_within(path),
        })
    }

    /// Adds a file that turned out to be unreadable after the scan.
    pub fn add(&mut self, item: Unreadable) {
        if !self.found.contains(&item) {
            self.found.push(item);
        }
    }

    /// Removes the files, selected by path, that could not be read and are known now. Returns whether there were any.
    pub fn lift(&mut self, is_known: impl Fn(&MirrorPath) -> bool, now: Timestamp) -> bool {
        let before = self.found.len();
        self.found.retain(|item| item.hides != Hides::Its || !is_known(&item.path));
        let is_lifted = self.found.len() < before;
        if is_lifted {
            self.cleared = now;
        }
        is_lifted
    }

    /// All that could not be read, without what was approved and hides nothing any more.
    #[must_use]
    pub fn found(&self) -> &[Unreadable] {
        &self.found
    }

    /// What the user approved, to be stored.
    #[must_use]
    pub fn approved(&self) -> &Approved {
        &self.approved
    }

    /// The user approves removals at `now`: no absence counts before a scan after that. The places that are `meant` hide
    /// nothing from now on; before the first scan of a run, those that it finds at and beneath `asked`. Returns whether
    /// there is anything to store.
    pub fn approve(
        &mut self,
        asked: &[MirrorPath],
        is_meant: impl Fn(&MirrorPath) -> bool,
        now: Timestamp,
    ) -> bool {
        self.removals_approved = now;
        let before = self.approved.len();
        if !self.is_begun {
            self.approved.extend(asked.iter().map(|path| (path.clone(), None)));
        }
        let meant = self.found.iter().filter(|item| is_meant(&item.path));
        let meant: Approved = meant.map(approval_of).collect();
        if !meant.is_empty() {
            self.cleared = now;
        }
        self.approved.extend(meant);
        let mut found = std::mem::take(&mut self.found);
        found.retain(|item| !self.is_settled(item));
        self.found = found;
        self.approved.len() != before
    }

    /// All grace times begin again at `now`.
    pub fn begin_again(&mut self, now: Timestamp) {
        self.cleared = now;
    }

    /// The time from which a scan ends the grace time of an item that is missing since `since`. A place may have hidden it
    /// until it was cleared.
    #[must_use]
    pub fn grace_end(&self, since: Timestamp, grace_ms: i64) -> Timestamp {
        since.max(self.cleared).plus_ms(grace_ms).max(self.removals_approved)
    }

    /// Whether `path` lies in a place that could not be read. Its items count as present.
    #[must_use]
    pub fn covers(&self, path: &MirrorPath) -> bool {
        !planted("unreadable-hides-nothing") && self.found.iter().any(|item| item.covers(path))
    }

    /// The place that may hide a missing item. Until it can be read, the missing item does not count as gone.
    #[must_use]
    pub fn hides(&self, item: Absent<'_>) -> Option<&Unreadable> {
        if planted("unreadable-hides-nothing") {
            return None;
        }
        let covers = |place: &&Unreadable| item.last.is_some_and(|last| place.covers(last));
        let may_hide = |place: &&Unreadable| match place.hides {
            Hides::Anything | Hides::Name => !self.is_approved(place),
            Hides::Its => item.object.is_none() || portable(place.object) == portable(item.object),
            Hides::Beneath => false,
        };
        self.found.iter().find(covers).or_else(|| self.found.iter().find(may_hide))
    }
}

fn approval_of(item: &Unreadable) -> (MirrorPath, Option<FileObject>) {
    (item.path.clone(), portable(item.object))
}

/// A file object without its device, which changes when a machine restarts.
fn portable(object: Option<FileObject>) -> Option<FileObject> {
    object.map(|(_, inode, born)| (0, inode, born))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Entry, EntryKind, Stamp};

    const ITS: FileObject = (1, 10, 5);
    const OTHER: FileObject = (1, 11, 5);

    fn at(path: &str) -> MirrorPath {
        MirrorPath::new(path).unwrap()
    }

    fn place(path: &str, hides: Hides, object: FileObject) -> Unreadable {
        Unreadable { path: at(path), why: "shut".to_owned(), hides, object: Some(object) }
    }

    fn scan(unreadable: &[Unreadable]) -> Scan {
        Scan { unreadable: unreadable.to_vec(), ..Scan::default() }
    }

    fn hides(barrier: &Barrier, last: &str, object: Option<FileObject>) -> bool {
        barrier.hides(Absent { last: Some(&at(last)), object }).is_some()
    }

    #[test]
    fn an_unsettled_place_hides_anything_and_what_is_in_the_way_only_what_was_there() {
        let mut barrier = Barrier::default();
        barrier.take_in(&scan(&[]), Timestamp(100));
        assert!(!hides(&barrier, "a/x.md", None));
        barrier.take_in(&scan(&[place("b", Hides::Anything, OTHER)]), Timestamp(200));
        assert!(hides(&barrier, "a/x.md", Some(ITS)) && barrier.covers(&at("b/y.md")));
        assert!(!barrier.covers(&at("a/x.md")));
        barrier.take_in(&scan(&[place("b", Hides::Beneath, OTHER)]), Timestamp(300));
        assert!(hides(&barrier, "b/y.md", Some(ITS)) && barrier.covers(&at("b")));
        assert!(!hides(&barrier, "a/x.md", Some(ITS)) && !hides(&barrier, "a/x.md", None));
        // A file that cannot be read is the missing one if it is its object, or if that is not known.
        barrier.take_in(&scan(&[place("b", Hides::Its, ITS)]), Timestamp(400));
        assert!(hides(&barrier, "a/x.md", Some(ITS)) && hides(&barrier, "a/x.md", None));
        assert!(!hides(&barrier, "a/x.md", Some(OTHER)) && !barrier.covers(&at("b")));
    }

    #[test]
    fn an_approval_of_a_place_holds_while_the_same_object_is_there() {
        let found = [place("b", Hides::Anything, ITS)];
        let mut barrier = Barrier::default();
        barrier.take_in(&scan(&found), Timestamp(100));
        let of = |name: &'static str| move |path: &MirrorPath| *path == at(name);
        assert!(!barrier.approve(&[at("c")], of("c"), Timestamp(150)));
        assert!(hides(&barrier, "a/x.md", None));
        assert!(barrier.approve(&[at("b")], of("b"), Timestamp(200)));
        assert!(!hides(&barrier, "a/x.md", None));
        assert!(hides(&barrier, "b/y.md", None) && barrier.covers(&at("b/y.md")), "it is still there");
        assert_eq!(barrier.grace_end(Timestamp(100), 10), Timestamp(210));
        let mut barrier = Barrier::remembered(barrier.approved().clone());
        assert!(!barrier.take_in(&scan(&found), Timestamp(300)));
        assert!(!hides(&barrier, "a/x.md", None));
        // Another one at its path is not approved.
        assert!(barrier.take_in(&scan(&[place("b", Hides::Anything, OTHER)]), Timestamp(400)));
        assert!(hides(&barrier, "a/x.md", None) && barrier.approved().is_empty());
        // What stands in the way of an item hides it no longer.
        barrier.take_in(&scan(&[place("b", Hides::Beneath, OTHER)]), Timestamp(420));
        assert!(barrier.approve(&[], of("b"), Timestamp(430)) && !barrier.covers(&at("b/y.md")));
        // Approved while nothing ran.
        let mut barrier = Barrier::default();
        assert!(barrier.approve(&[at("b")], of("b"), Timestamp(500)));
        let deep = [place("b/c", Hides::Anything, ITS)];
        assert!(barrier.take_in(&scan(&deep), Timestamp(600)) && !hides(&barrier, "a/x.md", None));
        assert!(!barrier.take_in(&scan(&deep), Timestamp(700)) && !hides(&barrier, "a/x.md", None));
    }

    #[test]
    fn grace_times_begin_again_when_a_place_can_be_read() {
        let mut barrier = Barrier::default();
        barrier.take_in(&scan(&[place("b", Hides::Anything, ITS)]), Timestamp(100));
        assert_eq!(barrier.grace_end(Timestamp(50), 10), Timestamp(60));
        barrier.take_in(&scan(&[]), Timestamp(500));
        assert_eq!(barrier.grace_end(Timestamp(50), 10), Timestamp(510));
    }

    #[test]
    fn a_file_that_cannot_be_read_stays_while_it_is_there() {
        let mut barrier = Barrier::default();
        barrier.add(place("a/new.md", Hides::Its, ITS));
        let entry = |object: FileObject| Entry {
            path: at("a/new.md"),
            kind: EntryKind::File,
            stamp: Stamp { device: object.0, inode: object.1, born_ns: object.2, ..Stamp::default() },
        };
        let with = |object| Scan { entries: vec![entry(object)], ..Scan::default() };
        barrier.take_in(&with(ITS), Timestamp(100));
        assert!(hides(&barrier, "a/x.md", Some(ITS)));
        barrier.take_in(&with(OTHER), Timestamp(200));
        assert!(!hides(&barrier, "a/x.md", Some(ITS)));
        barrier.add(place("a/new.md", Hides::Its, ITS));
        assert!(barrier.lift(|path| *path == at("a/new.md"), Timestamp(300)));
        assert!(barrier.found().is_empty());
    }
}
