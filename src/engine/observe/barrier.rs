//! The places of the folder that could not be read, and the items that wait for them. The rule is
//! [`crate::plan::barrier`].

use crate::engine::on_core::{core_hidden, core_paths};
use crate::engine::state::folder::APPROVED;
use crate::engine::state::{Context, Engine, Folder, Needs, Root, Trees};
use crate::model::{
    Code, Entry, EntryKind, FileObject, Hides, MirrorPath, Node, Scan, Timestamp, Unreadable,
};
use crate::plan::barrier::{Absent, Approved};
use crate::store::Store;

/// Number of the waiting items that are named.
const NAMED: usize = 3;

/// Adds to a scan what stands in the way of an item: something that is neither file nor folder at its path or above it,
/// and a folder at the path of its file.
pub(crate) fn find_in_the_way(engine: &Engine, scan: &mut Scan) {
    let is_odd = |entry: &&Entry| match entry.kind {
        EntryKind::File => false,
        EntryKind::Folder => entry.path.name().contains('.'),
        EntryKind::Other => true,
    };
    let mut odd = scan.entries.iter().filter(is_odd).peekable();
    if odd.peek().is_none() {
        return;
    }
    let items = paths_of_items(engine);
    let found = odd.filter_map(|entry| {
        let from = |path: &str| items.get(items.partition_point(|item| item.as_str() < path));
        let is_its = from(entry.path.as_str()).is_some_and(|item| *item == entry.path);
        let beneath = || from(&format!("{}/", entry.path));
        let why = match entry.kind {
            EntryKind::Other if is_its || beneath().is_some_and(|item| item.is_within(&entry.path)) => {
                "a link, or something else that is no ordinary file, stands in its place"
            }
            EntryKind::Folder if is_its => "a folder stands in its place",
            _ => return None,
        };
        let (path, object) = (entry.path.clone(), Some(entry.stamp.object()));
        Some(Unreadable { path, why: why.to_owned(), hides: Hides::Beneath, object })
    });
    scan.unreadable.extend(found.collect::<Vec<_>>());
}

/// The paths at which items have their files, or were last seen, in order.
fn paths_of_items(engine: &Engine) -> Vec<MirrorPath> {
    let missing = engine.pages.trees.pages.values().filter_map(|node| node.missing_from.as_ref());
    let mut paths: Vec<MirrorPath> = missing.chain(core_paths(engine)).cloned().collect();
    paths.extend(engine.mirrored().map(|(path, ..)| path));
    paths.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
    paths
}

impl Engine {
    /// Reports what cannot be read, with the remedy, and what waits for it.
    pub(crate) fn needs_of_barrier(&self, needs: &mut Needs) {
        let found = self.folder.root.barrier.found();
        if found.is_empty() {
            return;
        }
        let mut waiting: Vec<Vec<&MirrorPath>> = vec![Vec::new(); found.len()];
        let pages = self.folder.watch.missing.keys().filter_map(|id| self.pages.trees.pages.get(id));
        let pages =
            pages.filter_map(|node| Some((node.missing_from.as_ref()?, self.folder.hides_page(node)?)));
        for (path, by) in pages.chain(core_hidden(self)) {
            if let Some(at) = found.iter().position(|item| item == by) {
                waiting[at].push(path);
            }
        }
        for (item, paths) in found.iter().zip(&waiting) {
            let (reason, mend) = match item.hides {
                Hides::Beneath => {
                    let mend = "put the file or folder back, or ignore it; espejo approve with this path sends what was there to the service's trash";
                    needs.tell(Code::InTheWay, item.path.as_str(), &item.why, mend);
                    continue;
                }
                Hides::Name => {
                    (format!("{}; the file with this name is not mirrored", item.why), "rename it")
                }
                Hides::Its | Hides::Anything => {
                    (format!("it cannot be read: {}", item.why), "make it readable")
                }
            };
            if paths.is_empty() {
                needs.tell(Code::Unreadable, item.path.as_str(), &reason, mend);
                continue;
            }
            let reason = format!("{reason}; {}", what_waits(paths));
            let mend = format!(
                "{mend}, or ignore it; if you deleted the missing files, run espejo approve with this path"
            );
            needs.tell(Code::Unreadable, item.path.as_str(), &reason, &mend);
        }
    }
}

impl Folder {
    /// Takes files that have been read since out of the barrier.
    pub(crate) fn lift_barrier(&mut self, trees: &Trees, cx: &mut Context) {
        let files = &trees.files;
        if !self.root.barrier.lift(|path| files.contains_key(path), cx.now) {
            return;
        }
        self.watch.scan_by(cx.now.plus_ms(cx.settings.pages.delete_grace_ms));
    }
}

impl Root {
    /// Applies what a scan that began at `sent_at` could not read.
    pub(crate) fn take_in_unreadable(&mut self, scan: &Scan, sent_at: Timestamp, cx: &mut Context) {
        if self.barrier.take_in(scan, sent_at) {
            keep(self.barrier.approved(), &mut cx.store);
        }
    }
}

/// Stores what was approved.
pub(crate) fn keep(approved: &Approved, store: &mut Store) {
    let approved: Vec<(&str, Option<FileObject>)> =
        approved.iter().map(|(path, object)| (path.as_str(), *object)).collect();
    store.set_meta(APPROVED, &serde_json::json!(approved).to_string());
}

impl Folder {
    /// What may hide the missing file of a page, unless the user said that the file is gone. A page whose file became
    /// another page misses no file.
    pub(crate) fn hides_page(&self, node: &Node) -> Option<&Unreadable> {
        node.missing_since.filter(|_| !node.approved)?;
        let last = node.missing_from.as_ref()?;
        let object = self.watch.missing.get(&node.id).map(|file| file.stamp.object());
        self.root.barrier.hides(Absent { last: Some(last), object })
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
    use crate::engine::state::folder::remembered;
    use crate::plan::barrier::Barrier;

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
    fn what_was_approved_is_known_in_the_next_run() {
        let mut store = Store::in_memory().unwrap();
        assert_eq!(remembered(&store).unwrap(), Barrier::default());
        let path = MirrorPath::new("a \"b\"\n/c").unwrap();
        let approved: Approved = [(path.clone(), Some((0, 7, 8))), (path, None)].into();
        keep(&approved, &mut store);
        assert_eq!(remembered(&store).unwrap().approved(), &approved);
    }
}
