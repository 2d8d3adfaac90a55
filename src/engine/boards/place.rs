//! The paths of canvas files: a whiteboard beside its workspace's pages, a slide by its number in its presentation's
//! folder.

use std::collections::BTreeSet;

use super::disk::CanvasScan;
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::trees::Trees;
use crate::model::{CanvasId, CanvasNode, DeckId, DeckNode, MirrorPath, Presence, Settings, WorkspaceId};
use crate::plan::{ignore, naming};

/// The folder of a workspace that holds its whiteboards.
pub const WHITEBOARDS: &str = "Whiteboards";
/// The folder at the root that holds presentations.
pub(in super::super) const PRESENTATIONS: &str = "Presentations";
pub(super) const ENDING: &str = ".canvas";
/// The most bytes of a file name before [`ENDING`], so that the mark of a conflict copy has room too.
pub(super) const ROOM: usize = 200;

/// The meaning of a path in the mirror for canvases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spot {
    /// A file directly in a workspace's whiteboards.
    Board(WorkspaceId),
    /// A file directly in a folder of presentations.
    InDeck(MirrorPath),
    /// A folder of presentations.
    DeckFolder,
}

/// The stem of a canvas file's name.
pub(super) fn stem_of(path: &MirrorPath) -> &str {
    path.name().strip_suffix(ENDING).unwrap_or(path.name())
}

/// The name of a slide's file: its number among so many.
pub(super) fn slide_stem(slides: usize, order: usize) -> String {
    let digits = slides.to_string().len().max(2);
    format!("{:0digits$}", order + 1)
}

/// Whether a file of this name is a synced canvas: no conflict copy, and no leftover of a program.
pub(in super::super) fn is_canvas_name(name: &str) -> bool {
    let stem = name.strip_suffix(ENDING).unwrap_or("");
    !stem.is_empty()
        && !ignore::is_ignored(name)
        && !naming::is_conflict_copy(name)
        && !ignore::is_foreign_conflict(name)
}

impl Boards {
    /// The path of a canvas's file according to the service; `None` while it is unknown.
    pub(in super::super) fn canvas_place(&self, node: &CanvasNode, trees: &Trees) -> Option<MirrorPath> {
        match &node.id {
            CanvasId::Board(_) => {
                let folder = trees.boards_root(node.workspace.as_ref()?)?;
                if let Some(file) = &node.file
                    && file.parent().as_ref() == Some(&folder)
                    && naming::still_says(stem_of(file), &node.name)
                {
                    return Some(file.clone());
                }
                let taken = self.names_in(&folder, Some(&node.id));
                let stem = naming::choose(&node.name, &|key| taken.contains(key), ROOM).stem;
                folder.join(&format!("{stem}{ENDING}")).ok()
            }
            CanvasId::Slide(deck, _) => {
                let stem = slide_stem(self.slides_of(deck).count(), node.order);
                self.deck_folder(deck)?.join(&format!("{stem}{ENDING}")).ok()
            }
        }
    }
}

impl Trees {
    /// `<workspace>/Whiteboards`.
    pub(super) fn boards_root(&self, workspace: &WorkspaceId) -> Option<MirrorPath> {
        let folder = &self.workspaces.get(workspace)?.folder;
        MirrorPath::root().join(folder).ok()?.join(WHITEBOARDS).ok()
    }

    pub(super) fn spot_of(&self, path: &MirrorPath, is_folder: bool, settings: &Settings) -> Option<Spot> {
        // Called for each file in each scan, so it does not allocate, and tells most files by their ending.
        if !is_folder && !path.as_str().ends_with(ENDING) {
            return None;
        }
        let mut rest = path.components();
        let spot = (rest.next()?, rest.next()?, rest.next());
        if rest.next().is_some() {
            return None;
        }
        match spot {
            (PRESENTATIONS, name, None) if is_folder && settings.boards.presentations => {
                (!ignore::is_ignored_folder(name) && !self.ignoring.ignores(path, true))
                    .then_some(Spot::DeckFolder)
            }
            (PRESENTATIONS, folder, Some(name)) if !is_folder && settings.boards.presentations => {
                let ours = !ignore::is_ignored_folder(folder) && is_canvas_name(name);
                ours.then(|| path.parent().map(Spot::InDeck)).flatten()
            }
            (space, WHITEBOARDS, Some(name)) if !is_folder && settings.boards.whiteboards => {
                let space = self.workspaces.values().find(|node| node.folder == space)?;
                is_canvas_name(name).then(|| Spot::Board(space.seen.id.clone()))
            }
            _ => None,
        }
    }
}

impl Boards {
    /// A presentation's folder.
    pub(in super::super) fn deck_folder(&self, deck: &DeckId) -> Option<MirrorPath> {
        decks_root()?.join(self.decks.get(deck)?.folder.as_deref()?).ok()
    }

    /// The presentation with this folder.
    pub(super) fn deck_at(&self, folder: &MirrorPath) -> Option<&DeckNode> {
        if folder.parent() != decks_root() {
            return None;
        }
        self.decks.values().find(|deck| deck.folder.as_deref() == Some(folder.name()))
    }

    /// The slides of a presentation, according to the last lists.
    pub(super) fn slides_of(&self, deck: &DeckId) -> impl Iterator<Item = &CanvasNode> {
        let there = |node: &&CanvasNode| !matches!(node.presence, Presence::Gone);
        let deck = deck.clone();
        self.canvases.values().filter(move |node| node.id.deck() == Some(&deck)).filter(there)
    }

    /// Folded stems of canvas files in a folder, except those of `own`.
    fn names_in(&self, folder: &MirrorPath, own: Option<&CanvasId>) -> BTreeSet<String> {
        let up = |path: &MirrorPath| path.as_str().rfind('/').unwrap_or(0);
        let inside = |path: &&MirrorPath| !path.is_root() && path.as_str()[..up(path)] == *folder.as_str();
        let files = self.files.values().filter(|file| file.canvas.as_ref() != own || own.is_none());
        let files = files.map(|file| &file.path).filter(inside);
        let there = self.scan.there.keys().filter(inside).filter(|path| {
            path.name().ends_with(ENDING)
                && !self.files.get(*path).is_some_and(|file| file.canvas.as_ref() == own && own.is_some())
        });
        let promised = self.canvases.values().filter(|node| Some(&node.id) != own);
        let promised = promised.filter_map(|node| node.file.as_ref()).filter(inside);
        files.chain(there).chain(promised).map(|path| naming::fold(stem_of(path))).collect()
    }

    /// Folded names that a presentation's folder cannot have. During the first comparison, an existing folder is used
    /// again.
    pub(super) fn deck_names(&self, root: &MirrorPath, own: Option<&DeckId>) -> BTreeSet<String> {
        let promised = self.decks.values().filter(|deck| Some(&deck.seen.id) != own);
        let promised = promised.filter_map(|deck| deck.folder.as_deref()).map(naming::fold);
        let bootstrap = self.bootstrap;
        let own = own.and_then(|id| self.decks.get(id)).and_then(|deck| deck.folder.clone());
        let there = self.scan.there.keys().filter(|path| {
            !bootstrap && path.parent().as_ref() == Some(root) && Some(path.name()) != own.as_deref()
        });
        promised.chain(there.map(|path| naming::fold(path.name()))).collect()
    }

    /// The new folder of a renamed presentation.
    pub(super) fn renamed_deck_folder(&self, deck: &DeckNode) -> Option<MirrorPath> {
        let root = decks_root()?;
        let taken = self.deck_names(&root, Some(&deck.seen.id));
        root.join(&naming::choose(&deck.seen.name, &|key| taken.contains(key), ROOM).stem).ok()
    }
}

impl CanvasScan {
    /// The path of a conflict copy beside a canvas file.
    pub(super) fn canvas_conflict_path(&self, beside: &MirrorPath, cx: &Context) -> Option<MirrorPath> {
        let folder = beside.parent()?;
        let mut names: BTreeSet<String> = cx
            .store
            .conflicts()
            .unwrap_or_default()
            .iter()
            .filter(|conflict| conflict.path.parent().as_ref() == Some(&folder))
            .map(|conflict| naming::fold(stem_of(&conflict.path)))
            .collect();
        let there = self.there.keys().filter(|path| path.parent().as_ref() == Some(&folder));
        names.extend(there.map(|path| naming::fold(stem_of(path))));
        let when = super::super::place::wall_time(cx.now, cx.settings.utc_offset_seconds);
        let name = naming::conflict_copy(stem_of(beside), when, &|key| names.contains(key), ROOM + 40);
        folder.join(&format!("{}{ENDING}", name.strip_suffix(".md").unwrap_or(&name))).ok()
    }
}

/// The name that a canvas's file states.
pub(super) fn stem_said(path: &MirrorPath) -> String {
    crate::plan::naming::title_of(stem_of(path))
}

pub(super) fn decks_root() -> Option<MirrorPath> {
    MirrorPath::root().join(PRESENTATIONS).ok()
}
