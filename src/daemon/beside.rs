//! What a scan shows beside the items: names in one folder that differ in case or Unicode form only, and files in places that are not
//! synced. espejo itself makes no two such names; a user may, and then a copy of the mirror on a file system that takes them for one
//! name lacks a file.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::model::{
    DiskReply, Entry, EntryKind, IgnoreFile, IgnoreRules, MirrorPath, Outcome, RootState, is_tool_folder,
};
use crate::plan::ignore::is_in_no_place;
use crate::plan::naming::fold;

/// A fact and its remedy; `None` if there are no such names.
type Told = Option<(String, &'static str)>;

/// The most files that are named.
const NAMED_MOST: usize = 2_000;

/// What a scan found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) alike: Told,
    /// Files in places that are not synced.
    pub(super) unsynced: Vec<MirrorPath>,
}

/// What the last scan found, from the thread that made it.
#[derive(Debug)]
pub(super) struct Beside {
    /// The patterns of the config.
    ignore: Vec<String>,
    found: Mutex<Option<Found>>,
}

impl Beside {
    pub(super) fn new(ignore: Vec<String>) -> Self {
        Self { ignore, found: Mutex::default() }
    }

    /// Looks through the answer of a scan.
    pub(super) fn look(&self, outcome: &Outcome) {
        let Outcome::Disk(Ok(DiskReply::Scan(scan))) = outcome else { return };
        // A folder that is away shows nothing of what is in it.
        if scan.root != RootState::Ready {
            return;
        }
        let patterns = match &scan.ignore_file {
            IgnoreFile::Text(text, _) => text.as_str(),
            IgnoreFile::Absent | IgnoreFile::Unreadable(_) => "",
        };
        let rules = IgnoreRules::new(&self.ignore, patterns);
        let is_seen = |entry: &&Entry| !rules.ignores(&entry.path, entry.kind == EntryKind::Folder);
        let entries: Vec<&Entry> = scan.entries.iter().filter(is_seen).collect();
        let files = entries.iter().filter(|entry| entry.kind == EntryKind::File);
        let unsynced = files.map(|entry| &entry.path).filter(|path| is_in_no_place(path));
        let unsynced = unsynced.take(NAMED_MOST).cloned().collect();
        let found = Found { alike: told(&entries), unsynced };
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
    }

    /// What is to be told from now on, if a scan has ended since the last call.
    pub(super) fn news(&self) -> Option<Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn told(entries: &[&Entry]) -> Told {
    let all = alike(entries);
    let (one, other) = all.first()?;
    let more = match all.len() {
        1 => String::new(),
        many => format!(" (and {} more)", many - 1),
    };
    let reason = format!(
        "{one} and {} differ in upper and lower case or Unicode form only{more}: where the mirror is copied to macOS or Windows, one of them is lost",
        other.name()
    );
    Some((reason, "rename one of them"))
}

/// Each such name with the one before it, in the order of the paths.
fn alike<'a>(entries: &[&'a Entry]) -> Vec<(&'a MirrorPath, &'a MirrorPath)> {
    let mut known: BTreeMap<(Option<MirrorPath>, String), &MirrorPath> = BTreeMap::new();
    let mut all = Vec::new();
    let is_users =
        |path: &MirrorPath| !path.components().any(|part| part.starts_with('.') || is_tool_folder(part));
    for path in entries.iter().map(|entry| &entry.path).filter(|path| is_users(path)) {
        if let Some(before) = known.insert((path.parent(), fold(path.name())), path) {
            all.push((before, path));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Stamp;

    #[test]
    fn names_that_one_file_system_takes_for_one_are_found_in_their_folder() {
        let check = |paths: &[&str], expected: Option<&str>| {
            let entry = |path: &&str| Entry {
                path: MirrorPath::new(path).unwrap(),
                kind: EntryKind::File,
                stamp: Stamp::default(),
            };
            let entries: Vec<Entry> = paths.iter().map(entry).collect();
            let found = told(&entries.iter().collect::<Vec<_>>()).map(|(reason, _)| reason);
            assert_eq!(found.is_some(), expected.is_some(), "{paths:?}: {found:?}");
            assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()), "{paths:?}");
        };
        check(&["E/Pages/Notas.md", "E/Pages/notas.md"], Some("E/Pages/Notas.md and notas.md differ"));
        check(&["E/Pages/Caf\u{e9}.md", "E/Pages/Cafe\u{301}.md"], Some("Unicode form only:"));
        check(&["E/A", "E/a", "E/a/X.md", "E/a/x.md"], Some("Unicode form only (and 1 more): "));
        check(&["E/A/x.md", "E/B/X.md", "E/Pages/Notas", "E/Pages/Notas.md"], None);
        check(&["E/.x", "E/.X", "E/.y/a", "E/.y/A", "E/node_modules/a", "E/node_modules/A"], None);
    }
}
