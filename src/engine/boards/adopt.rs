//! During the first comparison after the state was lost: which files and folders that belong to nothing are those of
//! canvases and presentations. The nodes in a file show its canvas, and then its name does.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::super::Way;
use super::disk::{CanvasScan, read_canvas_file};
use super::place::{self, Spot, stem_of};
use super::{Choice, Purpose, on_disk};
use crate::canvas::{self, Aliases, Origins};
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::trees::Trees;
use crate::model::{
    CanvasFile, CanvasId, CanvasNode, ContentHash, DeckId, DeckNode, Effect, Elements, MirrorPath, Presence,
    Problem, guarded, id_of,
};
use crate::plan::adoption::{Adoption, TITLED};
use crate::plan::naming::{choose, still_says};
use crate::store::{PendingCanvasWrite, StoreError};

impl Boards {
    /// Binds the files without a canvas in a canvas's folder to the canvases whose files they are. Returns whether this one
    /// got its file, or has to wait until the others of its folder are fetched.
    pub(super) fn takes_up(
        &mut self,
        node: &CanvasNode,
        trees: &Trees,
        cx: &mut Context,
    ) -> Result<bool, StoreError> {
        let Some(home) = home_of(self, node, trees).filter(|home| !self.scan.taken_up.contains(home)) else {
            return Ok(false);
        };
        let files = self.files.values().filter(|file| file.canvas.is_none()).map(|file| &file.path);
        let files =
            files.filter(|path| path.parent().as_ref() == Some(&home) && !self.is_canvas_asked_for(path));
        let files: Vec<(MirrorPath, String)> =
            files.map(|path| (path.clone(), stem_of(path).to_owned())).collect();
        if files.is_empty() {
            return Ok(false);
        }
        let waiting = self.canvases.values().filter(|other| {
            let is_sibling = other.workspace == node.workspace && other.id.deck() == node.id.deck();
            is_sibling
                && other.file.is_none()
                && other.base.is_none()
                && other.presence == Presence::Listed
                && !trees.ignoring.canvases.contains(&other.id)
        });
        let waiting: Vec<&CanvasNode> = waiting.collect();
        let is_fetched = waiting.iter().all(|other| is_looked_at(self, other));
        // Until then only a file with half of its nodes is a canvas's.
        let mut shown = Vec::new();
        for other in waiting.iter().filter(|other| is_fetched || other.id == node.id) {
            let elements = cx.elements_at(other.remote)?;
            for (path, stem) in &files {
                let nodes = self.scan.nodes_in(path, &elements);
                let is_half = nodes >= elements.len().div_ceil(2).max(1);
                if is_half || is_fetched && nodes > 0 {
                    // A copy under another name may have more of them.
                    let is_named = is_half && still_says(stem, &title_of(self, other));
                    shown.push(((!is_named, Reverse(nodes)), other.id.clone(), path.clone()));
                }
            }
        }
        shown.sort();
        let mut shown: Vec<_> = shown.into_iter().map(|(_, canvas, path)| (canvas, path)).collect();
        let pairs: BTreeMap<CanvasId, MirrorPath> = if is_fetched {
            let items = waiting.iter().map(|other| (other.id.clone(), title_of(self, other))).collect();
            Adoption { items, files, shown }.pairs(TITLED, &|_, _| true)
        } else {
            shown.truncate(1);
            shown.into_iter().collect()
        };
        let is_taken = pairs.contains_key(&node.id);
        for (canvas, path) in pairs {
            if let Some(file) = self.files.get(&path).cloned() {
                self.bind_file(CanvasFile { canvas: Some(canvas), hash: None, ..file }, cx);
                self.scan.unread.insert(path, cx.now);
            }
        }
        if is_fetched {
            self.scan.taken_up.insert(home);
        } else {
            self.dirty.insert(node.id.clone());
        }
        Ok(is_taken || !is_fetched)
    }

    /// Chooses a folder for each listed presentation without one. During the first comparison this is an
    /// existing folder without one, if there is one; where the names alone do not tell which, the slides are fetched first.
    pub(super) fn choose_deck_folders(&mut self, trees: &Trees, cx: &mut Context) -> Result<(), StoreError> {
        let Some(root) = place::decks_root() else { return Ok(()) };
        let mut nameless: Vec<DeckNode> = self
            .decks
            .values()
            .filter(|deck| deck.folder.is_none() && deck.presence == Presence::Listed)
            .filter(|deck| !self.awaits_deck_creation(deck))
            .cloned()
            .collect();
        if nameless.is_empty() || self.bootstrap && !self.scan.scanned {
            return Ok(());
        }
        let mut pairs = BTreeMap::new();
        if self.bootstrap {
            let is_deck = |path: &MirrorPath| {
                trees.spot_of(path, true, &cx.settings) == Some(Spot::DeckFolder)
                    && self.deck_at(path).is_none()
                    && !self.is_canvas_asked_for(path)
            };
            let there = self.scan.there.iter().filter(|(path, (is_folder, _))| *is_folder && is_deck(path));
            let files: Vec<(MirrorPath, String)> =
                there.map(|(path, _)| (path.clone(), path.name().to_owned())).collect();
            let says = |deck: &DeckNode, name: &str| still_says(name, &deck.seen.name);
            let is_clear = files
                .iter()
                .all(|(_, name)| nameless.iter().filter(|deck| says(deck, name)).count() == 1)
                && nameless.iter().all(|deck| files.iter().filter(|(_, name)| says(deck, name)).count() <= 1);
            let shown = if is_clear {
                Vec::new()
            } else if let Some(shown) = folders_shown(self, &nameless, &files, cx)? {
                shown
            } else {
                return Ok(());
            };
            let items = nameless.iter().map(|deck| (deck.seen.id.clone(), deck.seen.name.clone())).collect();
            pairs = Adoption { items, files, shown }.pairs(TITLED, &|_, _| true);
        }
        // A name that is another's already is no longer free.
        nameless.sort_by_key(|deck| !pairs.contains_key(&deck.seen.id));
        for mut deck in nameless {
            if let Some(folder) = pairs.get(&deck.seen.id) {
                self.deck_folders.new_folders.remove(folder);
                deck.named = still_says(folder.name(), &deck.seen.name).then(|| deck.seen.name.clone());
                deck.folder = Some(folder.name().to_owned());
            } else {
                let taken = self.deck_names(&root, None);
                deck.folder = Some(choose(&deck.seen.name, &|key| taken.contains(key), place::ROOM).stem);
                deck.named = Some(deck.seen.name.clone());
            }
            self.save_deck(deck, cx);
        }
        Ok(())
    }
}

impl CanvasScan {
    /// How many of these elements a file without a canvas has.
    fn nodes_in(&self, path: &MirrorPath, elements: &Elements) -> usize {
        let ids = self.untracked.get(path).map(|file| &file.ids);
        ids.map_or(0, |ids| elements.iter().filter(|element| ids.contains(id_of(element))).count())
    }
}

/// The folder that a canvas's file belongs to.
pub(super) fn home_of(boards: &Boards, node: &CanvasNode, trees: &Trees) -> Option<MirrorPath> {
    match &node.id {
        CanvasId::Board(_) => trees.boards_root(node.workspace.as_ref()?),
        CanvasId::Slide(deck, _) => boards.deck_folder(deck),
    }
}

/// What the name of a canvas's file says: the name of a whiteboard, the number of a slide.
fn title_of(boards: &Boards, node: &CanvasNode) -> String {
    match node.id.deck() {
        Some(deck) => place::slide_stem(boards.slides_of(deck).count(), node.order),
        None => node.name.clone(),
    }
}

/// Whether a canvas is fetched, as far as that is possible.
fn is_looked_at(boards: &Boards, node: &CanvasNode) -> bool {
    node.remote.is_some()
        || node.presence != Presence::Listed
        || boards.runtimes.get(&node.id).is_some_and(|runtime| runtime.unreadable.is_some())
}

/// The folders with slides of presentations, those with most of their nodes first; `None` until the slides are known.
fn folders_shown(
    boards: &Boards,
    decks: &[DeckNode],
    folders: &[(MirrorPath, String)],
    cx: &Context,
) -> Result<Option<Vec<(DeckId, MirrorPath)>>, StoreError> {
    let is_known = |deck: &DeckNode| {
        let id = &deck.seen.id;
        boards.lists.slides_at.contains_key(id)
            && boards.slides_of(id).all(|slide| is_looked_at(boards, slide))
    };
    if !boards.scan.unread.is_empty() || !decks.iter().all(is_known) {
        return Ok(None);
    }
    let mut shown = Vec::new();
    for deck in decks {
        let mut elements = Elements::new();
        for slide in boards.slides_of(&deck.seen.id) {
            elements.extend(cx.elements_at(slide.remote)?);
        }
        for (folder, name) in folders {
            let files = boards.scan.untracked.keys().filter(|path| path.parent().as_ref() == Some(folder));
            let nodes: usize = files.map(|path| boards.scan.nodes_in(path, &elements)).sum();
            if nodes > 0 {
                let said = still_says(name, &deck.seen.name);
                shown.push(((Reverse(nodes), !said), deck.seen.id.clone(), folder.clone()));
            }
        }
    }
    shown.sort();
    Ok(Some(shown.into_iter().map(|(_, deck, folder)| (deck, folder)).collect()))
}

impl Boards {
    /// Takes a file and a canvas that were never compared for one if they are equal, else keeps both.
    pub(super) fn adopt_canvas(
        &mut self,
        node: &CanvasNode,
        file: &CanvasFile,
        hash: ContentHash,
        cx: &mut Context,
    ) -> Result<Choice, StoreError> {
        let kept = self.runtimes.get(&node.id).and_then(|runtime| runtime.text.clone());
        let Some((_, text)) = kept.filter(|(of, _)| *of == hash) else {
            return Ok(read_canvas_file(&file.path));
        };
        let Some(elements) = node.remote else { return Ok(None) };
        let remote = cx.store.elements(elements)?;
        let surface = node.id.surface();
        let Ok(read) = guarded(|| canvas::read(&text, surface, &remote, &Aliases::new(), &Origins::new()))
        else {
            return hold_canvas(self, file, Problem::Internal, cx);
        };
        let clean = read.is_ok_and(|local| local.is_clean() && local.gone.is_empty());
        if clean {
            cx.log_activity(Way::Aside, &file.path, "found in the folder, equal to its canvas");
            self.canvas_says(&node.id, PendingCanvasWrite { text: hash, elements, whole: true }, cx);
            return Ok(None);
        }
        // Different versions are both kept.
        let Some(to) = self.scan.canvas_conflict_path(&file.path, cx) else { return Ok(None) };
        let purpose = Purpose::SetAside { canvas: node.id.clone(), from: file.path.clone(), to: to.clone() };
        Ok(Some(on_disk(Effect::Rename { from: file.path.clone(), to }, purpose)))
    }
}

/// Holds a file for a problem that shows only beside its canvas.
pub(super) fn hold_canvas<T>(
    boards: &mut Boards,
    file: &CanvasFile,
    problem: Problem,
    cx: &mut Context,
) -> Result<Option<T>, StoreError> {
    boards.save_canvas_file(CanvasFile { problem: Some(problem), ..file.clone() }, cx);
    Ok(None)
}
