//! The stored files and folders of `espejo list`, with their sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use super::{Item, Table};
use crate::cli::items::Outlook;
use crate::cli::when::rfc3339;
use crate::cli::{here, output};
use crate::core::items::Listing;
use crate::core::report::view::StoredView;
use crate::model::{MirrorPath, Timestamp};

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
    stored: &[StoredView],
    apart: &BTreeMap<String, &'static str>,
    told: &BTreeSet<String>,
) -> Vec<Row> {
    let mut rows: Vec<Row> = stored.iter().map(of_item).collect();
    for row in &mut rows {
        row.state = row.id.as_ref().and_then(|id| apart.get(id)).copied().unwrap_or(row.state);
        // A local change is in no row of the state: what cannot be sent is known by its message.
        if row.state == "synced" && row.path.as_ref().is_some_and(|path| told.contains(path.as_str())) {
            row.state = "problem";
        }
    }
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

fn of_item(item: &StoredView) -> Row {
    let state = match (item.presence, item.is_folder) {
        (None, _) if item.is_sending => "sending",
        (None, _) => "local only",
        (Some(Listing::Listed), true) if item.was_here => "synced",
        (Some(Listing::Listed), false) if item.is_current => "synced",
        (Some(Listing::Listed), _) => "incoming",
        _ => "leaving",
    };
    Row {
        kind: if item.is_folder { "folder" } else { "file" },
        id: item.id.clone(),
        path: item.path.clone(),
        title: item.name.clone(),
        size: item.size.filter(|_| !item.is_folder),
        state,
        checked_at: item.checked_at,
        next_check: None,
        why: item.unsent.as_ref().map(ToString::to_string),
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
        let shown = self.path.as_ref().map_or_else(|| self.title.clone(), |path| here::shown(path.as_str()));
        let size = self.size.map_or_else(String::new, |size| format!("  {}", output::bytes(size)));
        let after = if self.kind == "folder" { "/" } else { &size };
        table.line(out, (style, self.state), (self.checked_at, self.next_check), (&shown, after))
    }
}
