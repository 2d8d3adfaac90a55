//! The read-only view of whiteboards and presentations, for `status` and `list`.

use super::{Grave, ItemRow, ReadOnly, StoreError};
use crate::model::{CanvasFile, CanvasId, CanvasNode, DeckNode, MirrorPath, Presence};

/// Counts that `status` shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BoardCounts {
    /// Whiteboards whose file and elements have a base.
    pub whiteboards: u64,
    /// Presentations with a folder that holds all their slides.
    pub presentations: u64,
    /// Slides whose file and elements have a base.
    pub slides: u64,
    /// Whiteboards and slides that the service lists and that are not mirrored yet.
    pub unmirrored: u64,
    /// Whiteboards, slides and new files with a pending change for the other side.
    pub pending: u64,
}

impl ReadOnly {
    /// The counts of whiteboards and presentations for `status`.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn board_counts(&mut self) -> Result<BoardCounts, StoreError> {
        let mut counts = BoardCounts::default();
        let down = self.down_only()?;
        let is_sent = |row: &ItemRow| {
            let top = row.path.as_deref().and_then(|path| path.split('/').next());
            !down.iter().any(|folder| Some(folder.as_str()) == top)
        };
        for row in self.canvases()? {
            let mirrored = matches!(row.state, "synced" | "changed" | "deleted" | "problem");
            match row.kind {
                "whiteboard" if row.id.is_some() => counts.whiteboards += u64::from(mirrored),
                "slide" if row.id.is_some() => counts.slides += u64::from(mirrored),
                "presentation" => counts.presentations += u64::from(row.path.is_some()),
                _ => {}
            }
            match row.state {
                "incoming" if row.kind != "presentation" => counts.unmirrored += 1,
                "changed" | "deleted" | "new" if is_sent(&row) => counts.pending += 1,
                _ => {}
            }
        }
        Ok(counts)
    }

    /// Elements permanently deleted from the canvas whose file is at `path`, newest first.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn graves(&self, path: &MirrorPath) -> Result<Vec<Grave>, StoreError> {
        self.store().graves(path)
    }

    /// Whether espejo generates a file: a picture, or the view of a dashboard or a presentation.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn is_drawn(&self, path: &MirrorPath) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM board_drawn WHERE path = ?1)";
        Ok(self.store().db.prepare_cached(sql)?.query_row([path.as_str()], |row| row.get(0))?)
    }

    /// All whiteboards, presentations and slides, in no order.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn canvases(&mut self) -> Result<Vec<ItemRow>, StoreError> {
        let loaded = self.store_mut().load_boards()?;
        let apart = self.apart()?;
        let there = |presence| presence != Presence::Gone;
        let mut rows: Vec<ItemRow> = Vec::new();
        for deck in loaded.decks.values().filter(|deck| there(deck.presence)) {
            let mirrored = deck.listed_at.0 > 0 && deck.missing_since.is_none();
            rows.push(ItemRow {
                kind: "presentation",
                id: Some(deck.seen.id.to_string()),
                workspace: None,
                path: deck.folder.as_ref().map(|folder| format!("Presentations/{folder}")),
                title: deck.seen.name.clone(),
                state: if mirrored { "synced" } else { "incoming" },
                checked_at: Some(deck.listed_at).filter(|at| at.0 > 0),
            });
        }
        for node in loaded.canvases.values().filter(|node| there(node.presence)) {
            let file = node.file.as_ref().and_then(|path| loaded.files.get(path));
            let deck = node.id.deck().and_then(|deck| loaded.decks.get(deck));
            rows.push(ItemRow {
                kind: kind_of(&node.id),
                id: Some(node.id.own_id().to_owned()),
                workspace: node.workspace.as_ref().map(ToString::to_string),
                path: node.file.as_ref().or(node.missing_from.as_ref()).map(ToString::to_string),
                title: deck.map_or_else(|| node.name.clone(), |deck: &DeckNode| deck.seen.name.clone()),
                state: apart.get(node.id.own_id()).copied().unwrap_or_else(|| state_of(node, file)),
                checked_at: Some(node.poll.last).filter(|at| at.0 > 0),
            });
        }
        rows.extend(loaded.files.values().filter(|file| file.canvas.is_none()).map(|file| ItemRow {
            kind: if file.path.as_str().starts_with("Presentations/") { "slide" } else { "whiteboard" },
            id: None,
            workspace: None,
            path: Some(file.path.to_string()),
            title: file.path.name().trim_end_matches(".canvas").to_owned(),
            state: if file.problem.is_some() { "problem" } else { "new" },
            checked_at: None,
        }));
        for mut row in self.core_items()? {
            if let Some(word) = row.id.as_ref().and_then(|id| apart.get(id)) {
                row.state = word;
            }
            rows.push(row);
        }
        Ok(rows)
    }
}

fn kind_of(id: &CanvasId) -> &'static str {
    match id {
        CanvasId::Board(_) => "whiteboard",
        CanvasId::Slide(..) => "slide",
    }
}

fn state_of(node: &CanvasNode, file: Option<&CanvasFile>) -> &'static str {
    let Some(base) = &node.base else { return "incoming" };
    match file {
        Some(file) if file.problem.is_some() => "problem",
        None => "deleted",
        Some(file) if file.hash != base.text => "changed",
        _ if node.remote != Some(base.elements) => "incoming",
        _ => "synced",
    }
}
