//! The stored files and folders of `espejo list`, with their sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use super::{Item, Table, rfc3339};
use crate::commands::output;
use crate::commands::why::Outlook;
use crate::model::{FileNode, FolderNode, MirrorPath, Seen, Timestamp};
use crate::store::StoredStorage;

/// One line.
pub(super) struct Row {
    kind: &'static str,
    id: Option<String>,
    path: Option<MirrorPath>,
    title: String,
    size: Option<u64>,
    state: &'static str,
    checked_at: Option<Timestamp>,
    /// When a folder is listed next.
    next_check: Option<Timestamp>,
    why: Option<String>,
}

/// Every folder and file, by path. `apart`: the states of some ids. `told`: the paths that `status` reports.
pub(super) fn rows(
    stored: &StoredStorage,
    apart: &BTreeMap<String, &'static str>,
    told: &BTreeSet<String>,
) -> Vec<Row> {
    let files = stored.files.values().filter(|node| node.replaced_by.is_none());
    let all = stored.folders.values().map(of_folder).chain(files.map(|node| of_file(stored, node)));
    let mut rows: Vec<Row> = all.collect();
    for row in &mut rows {
        row.state = row.id.as_ref().and_then(|id| apart.get(id)).copied().unwrap_or(row.state);
        // A local change is in no row of the state: what cannot be sent is known by its message.
        if row.state == "synced" && row.path.as_ref().is_some_and(|path| told.contains(path.as_str())) {
            row.state = "problem";
        }
    }
    rows.extend(stored.local_only.values().map(|item| {
        let sent = stored.uploads.contains(&item.path);
        Row {
            kind: "file",
            id: None,
            path: Some(item.path.clone()),
            title: item.path.name().to_owned(),
            size: Some(item.size),
            state: if sent { "sending" } else { "local only" },
            checked_at: None,
            next_check: None,
            why: item.why.as_ref().map(ToString::to_string),
        }
    }));
    rows.sort_by(|a, b| (&a.path, &a.title).cmp(&(&b.path, &b.title)));
    rows
}

/// A file in a place that is not synced.
pub(super) fn unsynced(path: MirrorPath, why: String) -> Row {
    Row {
        kind: "file",
        id: None,
        title: path.name().to_owned(),
        path: Some(path),
        size: None,
        state: "not synced",
        checked_at: None,
        next_check: None,
        why: Some(why),
    }
}

fn of_folder(node: &FolderNode) -> Row {
    Row {
        kind: "folder",
        id: Some(node.remote.id.to_string()),
        path: node.at.clone(),
        title: node.remote.name.clone(),
        size: None,
        state: match (node.listed, node.at.is_some()) {
            (true, true) => "synced",
            (true, false) => "incoming",
            (false, _) => "leaving",
        },
        checked_at: Some(node.poll.last).filter(|at| at.0 > 0),
        next_check: None,
        why: None,
    }
}

fn of_file(stored: &StoredStorage, node: &FileNode) -> Row {
    let current = node
        .base
        .as_ref()
        .is_some_and(|base| base.attachment == node.remote.attachment && base.size == node.remote.size);
    // Where it is, or will be.
    let coming = || {
        let folder = match &node.remote.folder {
            None => MirrorPath::new("Storage").ok(),
            Some(id) => stored.folders.get(id).and_then(|folder| folder.at.clone()),
        };
        folder.and_then(|folder| folder.join(node.stem.as_deref()?).ok())
    };
    Row {
        kind: "file",
        id: Some(node.remote.id.to_string()),
        path: node.base.as_ref().map(|base| base.path.clone()).or_else(coming),
        title: node.remote.filename.clone(),
        size: Some(node.remote.size),
        state: match (node.seen, current) {
            (Seen::Listed, true) => "synced",
            (Seen::Listed, false) => "incoming",
            _ => "leaving",
        },
        checked_at: Some(node.seen_at).filter(|at| at.0 > 0),
        next_check: None,
        why: None,
    }
}

impl Row {
    pub(super) fn is_within(&self, place: &MirrorPath) -> bool {
        self.path.as_ref().is_some_and(|path| path.is_within(place))
    }

    /// Notes when the schedule has its turn.
    pub(super) fn foretold(&mut self, outlooks: &BTreeMap<String, Outlook>) {
        self.next_check = self.id.as_ref().and_then(|id| outlooks.get(id)).and_then(|outlook| outlook.next);
    }

    pub(super) fn item(&self) -> Item<'_> {
        Item {
            kind: self.kind,
            id: self.id.as_deref(),
            workspace_id: None,
            path: self.path.as_ref().map(MirrorPath::as_str),
            title: &self.title,
            state: self.state,
            checked_at: self.checked_at.map(rfc3339),
            next_check_at: self.next_check.map(rfc3339),
            size_bytes: self.size,
            why: self.why.as_deref(),
        }
    }

    pub(super) fn write(&self, table: &Table, out: &mut dyn Write) -> io::Result<()> {
        let style = match self.state {
            "synced" => output::GOOD,
            "problem" => output::BAD,
            _ => output::ODD,
        };
        let shown = self.path.as_ref().map_or(self.title.as_str(), MirrorPath::as_str);
        let size = self.size.map_or_else(String::new, |size| format!("  {}", output::bytes(size)));
        let after = if self.kind == "folder" { "/" } else { &size };
        table.line(out, (style, self.state), (self.checked_at, self.next_check), (shown, after))
    }
}
