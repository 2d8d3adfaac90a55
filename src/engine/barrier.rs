//! The places of the folder that could not be read, and the items that wait for them. The rule is
//! [`crate::plan::barrier`].

use std::collections::BTreeMap;

use super::Engine;
use super::attention::Needs;
use super::context::Context;
use super::folder::{Folder, Root};
use super::trees::Trees;
use crate::model::{Code, Hides, MirrorPath, Node, Scan, Timestamp, Unreadable};
use crate::plan::barrier::{Absent, Barrier};
use crate::store::{Store, StoreError};

/// Key in the state: since when folders cannot be read, as times and paths in JSON.
const UNREADABLE: &str = "unreadable_since";
/// Key in the state: when something last became readable again. An earlier version wrote `no` while something was
/// unreadable.
const READABLE: &str = "readable_since";

/// Key in the state: the objects with names that cannot be read, as inodes, births and times in JSON.
const NAMES: &str = "unreadable_names";

/// Number of the waiting items that are named.
const NAMED: usize = 3;

/// An object's inode, birth, and the time by which its name was known.
type Named = (u64, i64, Option<i64>);

/// The barrier of an earlier run. A time in the future, from a clock that was set back, becomes now.
pub(super) fn remembered(store: &Store, now: Timestamp) -> Result<Barrier, StoreError> {
    let text = store.meta(UNREADABLE)?.unwrap_or_default();
    let since: Vec<(i64, String)> = serde_json::from_str(&text).unwrap_or_default();
    let since = since.into_iter().filter_map(|(at, path)| Some((MirrorPath::new(&path).ok()?, at)));
    let mut since: BTreeMap<MirrorPath, Timestamp> =
        since.map(|(path, at)| (path, Timestamp(at).min(now))).collect();
    let cleared = store.meta(READABLE)?.unwrap_or_default();
    if cleared == "no" {
        since.insert(MirrorPath::root(), Timestamp::default());
    }
    let cleared = Timestamp(cleared.parse().unwrap_or(0)).min(now);
    let names = store.meta(NAMES)?.and_then(|text| serde_json::from_str::<Vec<Named>>(&text).ok());
    let named_by = |(inode, born, by): Named| ((0, inode, born), by.map(|at| Timestamp(at).min(now)));
    Ok(Barrier::remembered(since, cleared, names.map(|all| all.into_iter().map(named_by).collect())))
}

impl Engine {
    /// Reports what cannot be read, with the remedy, and what waits for it.
    pub(super) fn needs_of_barrier(&self, needs: &mut Needs) {
        let found = self.folder.root.barrier.found();
        if found.is_empty() {
            return;
        }
        let mut waiting: Vec<Vec<&MirrorPath>> = vec![Vec::new(); found.len()];
        let pages = self.folder.watch.missing.keys().filter_map(|id| self.pages.trees.pages.get(id));
        let pages =
            pages.filter_map(|node| Some((node.missing_from.as_ref()?, self.folder.hides_page(node)?)));
        let stored = self.storage.hidden(&self.folder.root.barrier);
        let stored = stored.filter_map(|(node, _, by)| Some((&node.base.as_ref()?.path, by)));
        for (path, by) in pages.chain(self.boards.hidden_canvases(&self.folder.root)).chain(stored) {
            if let Some(at) = found.iter().position(|item| item == by) {
                waiting[at].push(path);
            }
        }
        for (item, paths) in found.iter().zip(&waiting) {
            let (reason, mend) = match item.hides {
                Hides::Named(_) => {
                    (format!("{}; the file with this name is not mirrored", item.why), "rename it")
                }
                Hides::File(_) | Hides::Anything => {
                    (format!("it cannot be read: {}", item.why), "make it readable")
                }
            };
            if paths.is_empty() {
                needs.tell(Code::Unreadable, item.path.as_str(), &reason, mend);
                continue;
            }
            let reason = format!("{reason}; {}", what_waits(paths));
            let mend =
                format!("{mend}; if you deleted the missing files, run espejo approve with their paths");
            needs.tell(Code::Unreadable, item.path.as_str(), &reason, &mend);
        }
    }
}

impl Folder {
    /// Takes files that have been read since out of the barrier.
    pub(super) fn lift_barrier(&mut self, trees: &Trees, cx: &mut Context) {
        let files = &trees.files;
        if !self.root.barrier.lift(|path| files.contains_key(path), cx.now) {
            return;
        }
        self.watch.scan_by(cx.now.plus_ms(cx.settings.pages.delete_grace_ms));
        self.root.save_barrier(cx);
    }
}

impl Root {
    /// Applies what a scan that began at `sent_at` could not read.
    pub(super) fn take_in_unreadable(&mut self, scan: &Scan, sent_at: Timestamp, cx: &mut Context) {
        if self.barrier.take_in(scan, sent_at) {
            self.save_barrier(cx);
        }
    }

    fn save_barrier(&self, cx: &mut Context) {
        let barrier = &self.barrier;
        let since: Vec<(i64, &str)> =
            barrier.since().iter().map(|(path, at)| (at.0, path.as_str())).collect();
        cx.store.set_meta(UNREADABLE, &serde_json::json!(since).to_string());
        cx.store.set_meta(READABLE, &barrier.cleared().0.to_string());
        let names = barrier.names().into_iter().flatten();
        let names: Vec<Named> =
            names.map(|((_, inode, born), by)| (*inode, *born, by.map(|at| at.0))).collect();
        cx.store.set_meta(NAMES, &serde_json::json!(names).to_string());
    }
}

impl Folder {
    /// What may hide the missing file of a page, unless the user said that the file is gone. A page whose file became
    /// another page misses no file.
    pub(super) fn hides_page(&self, node: &Node) -> Option<&Unreadable> {
        let since = node.missing_since.filter(|_| !node.approved)?;
        let last = node.missing_from.as_ref()?;
        let object = self.watch.missing.get(&node.id).map(|file| file.stamp.object());
        self.root.barrier.hides(Absent { last: Some(last), object, since })
    }
}

/// Names missing items that may be in an unreadable place.
fn what_waits(paths: &[&MirrorPath]) -> String {
    let mut names: Vec<&str> = paths.iter().take(NAMED).map(|path| path.as_str()).collect();
    let more = paths.len().saturating_sub(NAMED);
    let last = if more > 0 { format!("{more} more") } else { names.pop().unwrap_or_default().to_owned() };
    let names = if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) };
    match paths {
        [_] => format!("{names} is missing and may be there, so it stays at the service"),
        _ => format!("{names} are missing and may be there, so they stay at the service"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_named_and_counted() {
        let paths = ["a.md", "b.md", "c.md", "d.md", "e.md"].map(|path| MirrorPath::new(path).unwrap());
        let all: Vec<&MirrorPath> = paths.iter().collect();
        for (number, names) in [
            (1, "a.md is missing"),
            (2, "a.md and b.md are missing"),
            (3, "a.md, b.md and c.md are missing"),
            (4, "a.md, b.md, c.md and 1 more are missing"),
            (5, "a.md, b.md, c.md and 2 more are missing"),
        ] {
            let told = what_waits(&all[..number]);
            assert!(told.starts_with(names), "{told}");
        }
    }

    #[test]
    fn what_could_not_be_read_is_known_in_the_next_run() {
        let mut store = Store::in_memory().unwrap();
        let now = Timestamp(1_000);
        assert_eq!(remembered(&store, now).unwrap(), Barrier::default());
        let path = MirrorPath::new("a \"b\"\n/c").unwrap();
        store.set_meta(UNREADABLE, &serde_json::json!([(700, path.as_str()), (2_000, "z")]).to_string());
        store.set_meta(READABLE, "5000");
        store.set_meta(NAMES, "[[7,8,null],[9,8,3000]]");
        let barrier = remembered(&store, now).unwrap();
        assert_eq!(barrier.since().get(&path), Some(&Timestamp(700)));
        assert_eq!((barrier.since().len(), barrier.cleared()), (2, now), "a clock that was set back");
        let names = [((0, 7, 8), None), ((0, 9, 8), Some(now))];
        assert_eq!(barrier.names(), Some(&names.into_iter().collect()));
        // As an earlier version wrote it.
        store.set_meta(UNREADABLE, "");
        store.set_meta(READABLE, "no");
        assert_eq!(
            remembered(&store, now).unwrap().since().keys().collect::<Vec<_>>(),
            [&MirrorPath::root()]
        );
    }
}
