//! Presentations as folders: their names, the removal of a presentation whose folder was deleted, and of the folder
//! of a presentation that is gone at the service.

use std::collections::{BTreeMap, BTreeSet};

use super::super::pace::Class;
use super::place;
use super::push::FRESH_MS;
use super::refused::Rejected;
use super::remove::canvas_there;
use super::targets::List;
use super::{Area, Choice, Purpose, board, on_disk};
use crate::core::guard::Missing;
use crate::engine::Way;
use crate::engine::activity::DECK_TRASHED;
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::folder::{Folder, Watching};
use crate::engine::pages::Pages;
use crate::engine::removals::{self, may_be_gone};
use crate::engine::retry::Fails;
use crate::engine::trees::Trees;
use crate::model::{
    BoardEffect, CanvasId, CanvasItem, CanvasNode, Code, DeckId, DeckNode, Effect, MirrorPath, Presence,
    ServiceError, ServiceReply, Stamp, Timestamp,
};
use crate::plan::existence::{Existence, There};
use crate::plan::guard::Kind;
use crate::plan::naming;
use crate::store::StoreError;

/// The most age of a slide's fetch when its presentation is removed, in milliseconds: this, and [`LOOK_MS`] for each
/// slide.
const LOOKS_MS: i64 = 60_000;
const LOOK_MS: i64 = 2_000;

/// The folders of presentations that a scan found at other paths, and new folders.
#[derive(Debug, Default)]
pub(super) struct DeckFolders {
    /// For each folder in Presentations that belongs to no presentation, the time of its first scan.
    pub(super) new_folders: BTreeMap<MirrorPath, Timestamp>,
    /// The folders of presentations that now have other names, identified by their file objects.
    pub(super) moved_folders: BTreeMap<DeckId, MirrorPath>,
    /// The folder of each presentation as the last scan that found it showed it, under any name: it may be renamed while
    /// it is in a folder that cannot be read.
    pub(super) last_seen: BTreeMap<DeckId, Stamp>,
    /// The stored form of these folders.
    pub(super) kept_folders: String,
}

impl Boards {
    /// Records the presentations whose folders are missing according to a scan.
    pub(super) fn note_missing_decks(
        &mut self,
        hidden: &dyn Fn(&MirrorPath) -> bool,
        trees: &Trees,
        watch: &mut Watching,
        cx: &mut Context,
    ) {
        let ids: Vec<DeckId> = self.decks.keys().cloned().collect();
        for id in ids {
            let Some(folder) = self.deck_folder(&id) else { continue };
            let mirrored = self.slides_of(&id).any(|node| node.base.is_some());
            let files = self.slides_of(&id).any(|node| node.file.is_some());
            let is_moved = self.deck_folders.moved_folders.contains_key(&id);
            let is_hidden = hidden(&folder) || trees.ignoring.ignores(&folder, true);
            let is_there = self.scan.there.contains_key(&folder) || is_moved || is_hidden;
            let (now, tick) = (cx.now, cx.tick);
            if is_there || !mirrored || files {
                self.edit_deck(&id, |deck| deck.missing_since = None, cx);
            } else {
                if self.decks.get(&id).is_some_and(|deck| deck.missing_since.is_none()) {
                    self.lists.missed.insert(id.clone(), tick);
                    watch.scan_by(now.plus_ms(cx.settings.pages.delete_grace_ms));
                }
                self.edit_deck(&id, |deck| deck.missing_since = deck.missing_since.or(Some(now)), cx);
            }
        }
    }

    /// The next request for a presentation whose folder was deleted: a fetch of each slide, a list of them, the
    /// removal.
    pub(super) fn next_deck_removal(&mut self, pages: &Pages, folder: &Folder, cx: &mut Context) -> Choice {
        let due: Vec<DeckId> = self
            .decks
            .values()
            .filter(|deck| is_deleted_here(self, deck, folder, cx))
            .map(|deck| deck.seen.id.clone())
            .collect();
        self.lists.decks_held =
            self.removal_held(pages, &folder.root, cx).filter(|_| missing_decks(self, cx).gone > 0);
        if due.is_empty()
            || !self.scan.boards_are_quiet(&folder.watch, cx.now)
            || self.rejected.is_closed(&Area::Presentations, &pages.trees, cx)
        {
            return None;
        }
        for id in due {
            let approved = self.decks.get(&id).is_some_and(|deck| deck.approved);
            if self.lists.decks_held.is_some() && !approved {
                // After this wait of unknown length, the earlier fetches are too old.
                self.lists.missed.remove(&id);
                continue;
            }
            if cx.missing_here(There::Same) == Existence::ComesBack {
                self.deck_returns(&id, "the config says that deleted files come back", &pages.trees, cx);
                continue;
            }
            let busy = cx.in_flight.flights.values().any(|flight| {
                matches!(&flight.purpose, crate::engine::Purpose::Board(purpose) if **purpose == Purpose::TrashDeck { deck: id.clone() })
            });
            if busy {
                continue;
            }
            if self.rejected.deck_waits(&id, cx.now) {
                continue;
            }
            let missed = *self.lists.missed.entry(id.clone()).or_insert(cx.tick);
            let slides = self.slides_of(&id).filter(|node| node.base.is_some());
            let slides: Vec<CanvasId> = slides.map(|node| node.id.clone()).collect();
            let oldest_ms = LOOKS_MS + LOOK_MS * i64::try_from(slides.len()).unwrap_or(0);
            let seen = |slide| {
                // Fetched since the folder went missing, and not long ago, for any number of slides.
                let runtime = self.runtimes.get(slide).filter(|runtime| runtime.seen > missed)?;
                (cx.now.since_ms(runtime.seen_at) <= oldest_ms).then_some(runtime.seen)
            };
            if let Some(unseen) = slides.iter().find(|slide| seen(slide).is_none()) {
                if cx.in_flight.is_canvas_busy(unseen)
                    || self.waits_for_time(unseen, cx.now)
                    || self.waits_for_list(unseen)
                {
                    continue;
                }
                return self.look_at_canvas(unseen, Class::Edit, cx);
            }
            // The list comes last, because it shows a slide that was added in the app during the fetches.
            let last = slides.iter().filter_map(seen).max().unwrap_or(missed);
            let listed_at = self.decks.get(&id).map(|deck| deck.listed_at).unwrap_or_default();
            let is_listed = self.lists.slides_at.get(&id).is_some_and(|at| *at > last);
            if !is_listed || cx.now.since_ms(listed_at) > FRESH_MS {
                self.lists.slides_due.insert(id.clone(), cx.now);
                continue;
            }
            let is_changed = |node: &CanvasNode| {
                // A slide that never had a file was added in the app meanwhile.
                node.presence != Presence::Listed
                    || node.base.is_none()
                    || canvas_there(node) == There::Changed
            };
            let there = if self.slides_of(&id).any(is_changed) { There::Changed } else { There::Same };
            if cx.missing_here(there) == Existence::ComesBack {
                self.deck_returns(
                    &id,
                    "it was deleted here and changed in the app; its folder comes back",
                    &pages.trees,
                    cx,
                );
                continue;
            }
            if !cx.pace.allows(Class::Edit, 1, false, cx.now) {
                return None;
            }
            // Recorded before it is sent: with or without an answer, the presentation may be gone.
            cx.deletions.note(&mut cx.store, (Kind::Presentation, [id.as_str()]), true, cx.now);
            return Some(board(BoardEffect::TrashDeck(id.clone()), Purpose::TrashDeck { deck: id }));
        }
        None
    }

    fn deck_returns(&mut self, deck: &DeckId, why: &str, trees: &Trees, cx: &mut Context) {
        if let Some(folder) = self.deck_folder(deck) {
            cx.notice(Code::CameBack, folder.as_str(), why.to_owned(), "delete it in the app");
            cx.log_activity(Way::Aside, &folder, "its folder comes back");
        }
        self.rejected.deck_trouble.remove(deck);
        self.edit_deck(
            deck,
            |node| {
                node.missing_since = None;
                node.approved = false;
            },
            cx,
        );
        let slides: Vec<CanvasId> = self.slides_of(deck).map(|node| node.id.clone()).collect();
        for slide in slides {
            self.canvas_returns(&slide, None, trees, cx);
        }
    }

    pub(super) fn deck_trashed(
        &mut self,
        deck: &DeckId,
        result: Result<ServiceReply, ServiceError>,
        trees: &Trees,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let gone = may_be_gone(&result);
        cx.deletions.note(&mut cx.store, (Kind::Presentation, [deck.as_str()]), gone, cx.now);
        match result {
            Ok(_) => {
                if let Some(folder) = self.deck_folder(deck) {
                    cx.log_activity(Way::Up, &folder, DECK_TRASHED);
                }
                let slides: Vec<CanvasId> =
                    self.canvases.keys().filter(|id| id.deck() == Some(deck)).cloned().collect();
                for slide in slides {
                    self.release_files(&slide, cx);
                    self.forget_canvas(&slide, cx)?;
                }
                self.forget_deck(deck, cx);
            }
            Err(error @ (ServiceError::Forbidden(_) | ServiceError::Rejected { .. })) => {
                self.deck_returns(deck, &format!("{error}; its folder comes back"), trees, cx);
            }
            Err(ServiceError::NotFound(_)) => {
                self.lists.decks_due = cx.now;
                let tick = cx.tick;
                let again = self.lists.missed.insert(deck.clone(), tick);
                let twice = again.is_some() && !self.lists.not_trashed.insert(deck.clone());
                if twice {
                    self.lists.not_trashed.remove(deck);
                    let why = "the service shows it, but does not let you delete it; its folder is restored";
                    self.deck_returns(deck, why, trees, cx);
                }
            }
            Err(_) => {
                self.rejected.deck_failed(deck, Fails::EachTime, cx);
            }
        }
        Ok(())
    }

    /// Renames the folders of presentations to their names, reverts renames by the user, and removes empty ones.
    pub(super) fn settle_deck_folders(
        &mut self,
        trees: &Trees,
        Folder { root, watch, .. }: &Folder,
        cx: &mut Context,
    ) -> Choice {
        // A conflict copy may have kept the folder of a presentation that is gone. Without it, that folder is no new
        // presentation.
        while let Some(folder) = cx.conflicts.settled_in.pop_first() {
            let is_left = self.deck_folders.new_folders.contains_key(&folder)
                && !self.scan.there.keys().any(|path| *path != folder && path.is_within(&folder));
            if is_left {
                self.deck_folders.new_folders.remove(&folder);
                self.scan.there.remove(&folder);
                return Some(on_disk(Effect::RemoveFolder(folder), Purpose::RemoveFolder));
            }
        }
        let ids: Vec<DeckId> = self.decks.keys().cloned().collect();
        for id in ids {
            let (Some(node), Some(folder)) = (self.decks.get(&id).cloned(), self.deck_folder(&id)) else {
                continue;
            };
            // A folder that cannot be read, or that has an unreadable name, is there.
            let is_hidden = root.barrier.covers(&folder) || self.hides_deck(&node, root);
            if is_hidden || trees.ignoring.ignores(&folder, true) {
                continue;
            }
            if node.presence == Presence::Gone {
                if self.canvases.keys().any(|canvas| canvas.deck() == Some(&id))
                    || self.drawings.drawn.keys().any(|path| path.is_within(&folder))
                {
                    continue;
                }
                self.forget_deck(&id, cx);
                if self.scan.there.remove(&folder).is_some() {
                    return Some(on_disk(Effect::RemoveFolder(folder), Purpose::RemoveFolder));
                }
                continue;
            }
            if node.presence != Presence::Listed
                || !self.scan.boards_are_quiet(watch, cx.now)
                || self.rejected.deck_waits(&id, cx.now)
            {
                continue;
            }
            if let Some(from) = self.folder_moved_to(&id) {
                let purpose = Purpose::RenameFolder {
                    deck: id,
                    from: from.clone(),
                    to: folder.clone(),
                    reverts_move: true,
                };
                return Some(on_disk(Effect::Rename { from, to: folder }, purpose));
            }
            if node.named.as_ref() == Some(&node.seen.name) {
                continue;
            }
            let stays = naming::still_says(folder.name(), &node.seen.name);
            let to = if stays { None } else { self.renamed_deck_folder(&node) };
            if to.as_ref().is_some_and(|to| trees.ignoring.ignores(to, true)) {
                continue;
            }
            match to.filter(|_| self.scan.there.contains_key(&folder)) {
                Some(to) => {
                    let purpose = Purpose::RenameFolder {
                        deck: id,
                        from: folder.clone(),
                        to: to.clone(),
                        reverts_move: false,
                    };
                    return Some(on_disk(Effect::Rename { from: folder, to }, purpose));
                }
                None => {
                    let to = if stays { None } else { self.renamed_deck_folder(&node) };
                    self.edit_deck(
                        &id,
                        |deck| {
                            deck.named = Some(deck.seen.name.clone());
                            if let Some(to) = to {
                                deck.folder = Some(to.name().to_owned());
                            }
                        },
                        cx,
                    );
                }
            }
        }
        None
    }

    pub(super) fn deck_folder_renamed(
        &mut self,
        deck: &DeckId,
        (from, to): (&MirrorPath, &MirrorPath),
        reverts_move: bool,
        trees: &Trees,
        watch: &mut Watching,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let moved: Vec<(MirrorPath, MirrorPath)> =
            self.files.keys().filter_map(|path| Some((path.clone(), path.rebase(from, to)?))).collect();
        // The pending creation of a slide from one of these files moves with it.
        self.follow_board_creations(&moved, cx);
        self.scan.untracked_moved(&moved);
        for (old, new) in moved {
            if let Some(file) = self.files.get(&old).cloned() {
                self.forget_canvas_file(&old, cx);
                self.bind_file(crate::model::CanvasFile { path: new, ..file }, cx);
            }
        }
        let there: Vec<MirrorPath> =
            self.scan.there.keys().filter(|path| path.is_within(from)).cloned().collect();
        for path in there {
            if let (Some(entry), Some(new)) = (self.scan.there.remove(&path), path.rebase(from, to)) {
                self.scan.there.insert(new, entry);
            }
        }
        self.drawings.drawings_moved(from, to, cx);
        self.rejected.deck_trouble.remove(deck);
        self.deck_folders.new_folders.remove(from);
        self.edit_deck(
            deck,
            |node| {
                node.folder = Some(to.name().to_owned());
                // The app may have renamed it again since this name was chosen.
                if naming::still_says(to.name(), &node.seen.name) {
                    node.named = Some(node.seen.name.clone());
                }
                node.missing_since = None;
            },
            cx,
        );
        self.deck_folders.moved_folders.remove(deck);
        self.bind_missed_slides(trees, cx);
        self.mark_deck_dirty(deck);
        watch.scan_by(cx.now);
        if reverts_move {
            let why = "a presentation cannot be renamed or moved through the API; its folder is renamed back";
            cx.log_activity(Way::Aside, to, why);
            cx.notice(Code::PutBack, to.as_str(), why.to_owned(), "rename it in the app");
            return Ok(());
        }
        cx.log_activity(Way::Down, to, format!("renamed from {}", from.name()));
        Ok(())
    }
}

impl Boards {
    /// Whether the folder of a presentation is missing, with all slides in it.
    pub(super) fn is_deck_missing(&self, deck: &DeckId) -> bool {
        self.decks.get(deck).is_some_and(|deck| deck.missing_since.is_some())
    }

    /// Deletes the state of a presentation and the pending creations in it, because no list would show their result.
    fn forget_deck(&mut self, deck: &DeckId, cx: &mut Context) {
        self.creations.end(&mut cx.store, &CanvasItem::slide_key(deck));
        self.decks.remove(deck);
        self.rejected.deck_trouble.remove(deck);
        let lists = &mut self.lists;
        lists.slides_due.remove(deck);
        lists.slides_at.remove(deck);
        lists.missed.remove(deck);
        let list = List::Slides(deck.clone());
        lists.trouble.remove(&list);
        lists.held.remove(&list);
        lists.resting.remove(&list);
        lists.emptied.remove(&super::looks::Emptied::Slides(deck.clone()));
        cx.store.delete_deck(deck);
    }

    /// The folder that holds a presentation's files although its own folder is gone, or its own folder under another
    /// name.
    pub(super) fn folder_moved_to(&self, deck: &DeckId) -> Option<MirrorPath> {
        let folder = self.deck_folder(deck).filter(|folder| !self.scan.there.contains_key(folder))?;
        // One of its files may be in the folder of another presentation.
        let is_free = |other: &MirrorPath| {
            *other != folder
                && other.parent() == place::decks_root()
                && self.deck_at(other).is_none()
                && self.scan.there.contains_key(other)
        };
        let of_files = self.slides_of(deck).filter_map(|node| node.file.as_ref()?.parent());
        of_files.chain(self.deck_folders.moved_folders.get(deck).cloned()).find(is_free)
    }
}

/// The presentations whose folders are gone, for the guard.
pub(super) fn missing_decks(boards: &Boards, cx: &Context) -> Missing {
    let decks = boards.decks.values();
    let live = decks.filter(|deck| deck.folder.is_some() && deck.presence == Presence::Listed);
    let is_gone = |deck: &DeckNode| deck.missing_since.is_some() && !deck.approved;
    let all = live.clone().count();
    let gone: BTreeSet<&str> = live.filter(|deck| is_gone(deck)).map(|deck| deck.seen.id.as_str()).collect();
    removals::missing((Kind::Presentation, gone), all, &cx.deletions, cx.now)
}

/// Whether the folder of a presentation was deleted, certainly and for longer than the grace time.
fn is_deleted_here(boards: &Boards, deck: &DeckNode, folder: &Folder, cx: &Context) -> bool {
    let is_elsewhere = || boards.scan.elsewhere.keys().any(|canvas| canvas.deck() == Some(&deck.seen.id));
    deck.presence == Presence::Listed
        && folder.is_absence_over(deck.missing_since, &cx.settings)
        && !boards.hides_deck(deck, &folder.root)
        && (deck.approved || !is_elsewhere() && !boards.may_be_unread())
}

/// Whether the removal of a presentation is neither held, refused nor made yet.
pub(super) fn is_removal_pending(
    boards: &Boards,
    deck: &DeckNode,
    trees: &Trees,
    folder: &Folder,
    cx: &Context,
) -> bool {
    let failing = boards.rejected.deck_trouble.get(&deck.seen.id);
    is_deleted_here(boards, deck, folder, cx)
        && (deck.approved || boards.lists.decks_held.is_none())
        && failing.is_none_or(|(failing, _)| !failing.is_told())
        && !boards.rejected.is_closed(&Area::Presentations, trees, cx)
}

impl Rejected {
    /// Records the failure of an act on a whole presentation: the next one waits.
    pub(super) fn deck_failed(&mut self, deck: &DeckId, why: Fails, cx: &mut Context) {
        let before = self.deck_trouble.get(deck).map(|(failing, _)| *failing).unwrap_or_default();
        let failing = cx.failed_again(before);
        self.deck_trouble.insert(deck.clone(), (failing, why));
    }

    fn deck_waits(&self, deck: &DeckId, now: Timestamp) -> bool {
        self.deck_trouble.get(deck).is_some_and(|(failing, _)| failing.waits(now))
    }
}
