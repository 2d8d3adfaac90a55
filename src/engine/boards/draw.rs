//! Generated files: a picture beside each canvas, a page that shows a presentation, a dashboard's magnets. They are
//! written when their source has changed. A changed one is moved to the trash before it is drawn again. A file that
//! is not espejo's is left alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Choice, Purpose, on_disk};
use crate::canvas;
use crate::engine::Way;
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::folder::{Folder, Watching};
use crate::engine::trees::Trees;
use crate::model::{
    CanvasId, CanvasNode, ContentHash, DeckId, DiskError, DiskReply, Effect, Elements, Expect, MirrorPath,
    PageId, Presence, Settings, Stamp, Timestamp, guarded,
};
use crate::store::{Drawn, StoreError};

/// The version of the drawing style: a new version draws all pictures again.
const STYLE: &str = "1";
/// The mark in each generated file.
const MARK: &str = "drawn by espejo";
const SHOW: &str = "index.html";

/// The state of the generated files and their sources.
#[derive(Debug, Default)]
pub(in crate::engine) struct Drawings {
    pub(super) drawn: BTreeMap<MirrorPath, Drawn>,
    pub(super) dashboards: BTreeMap<PageId, Value>,
    /// Whether pictures may have to be drawn.
    pub(super) draw_due: bool,
    /// The count of page changes at the last check for drawings.
    pub(super) drawn_at_change: u64,
    /// Generated files that may differ from the written ones.
    pub(super) suspects: BTreeSet<MirrorPath>,
    /// Generated files that were changed; they are trashed before they are drawn again.
    pub(super) replaced: BTreeSet<MirrorPath>,
    /// Files of the user at the paths of generated ones.
    pub(super) not_ours: BTreeMap<MirrorPath, Stamp>,
    pub(super) draw_retry: Timestamp,
    /// Pictures that could not be drawn by a fault of espejo, each with the source that it failed for.
    pub(super) faulty: BTreeMap<MirrorPath, ContentHash>,
}

/// The kind of a generated file, with its source.
#[derive(Debug, Clone)]
enum Drawing {
    Canvas(CanvasId),
    Show(DeckId),
    MagnetFile(PageId),
    MagnetPicture(PageId),
}

impl Boards {
    /// The next act on generated files, if one is due.
    pub(super) fn next_drawing(
        &mut self,
        trees: &Trees,
        watch: &Watching,
        cx: &mut Context,
    ) -> Result<Choice, StoreError> {
        self.drawings.notice_changed_pages(trees, cx);
        if !self.drawings.draw_due || cx.now < self.drawings.draw_retry || !watch.is_told() {
            return Ok(None);
        }
        let wanted = self.drawings(trees, &cx.settings);
        let is_ignored = |path: &MirrorPath| trees.ignoring.ignores_file(path);
        let mut drawn = self.drawings.drawn.iter();
        let unwanted = drawn.find(|(path, _)| !wanted.contains_key(*path) && !is_ignored(path));
        if let Some((path, drawn)) = unwanted.map(|(path, drawn)| (path.clone(), *drawn)) {
            let effect = Effect::TrashFile { path: path.clone(), expect: drawn.hash };
            return Ok(Some(on_disk(effect, Purpose::TrashDrawn { path })));
        }
        if let Some(path) = self.drawings.replaced.pop_first()
            && let Some(drawn) = self.drawings.drawn.get(&path).copied()
        {
            let effect = Effect::TrashFile { path: path.clone(), expect: drawn.hash };
            return Ok(Some(on_disk(effect, Purpose::TrashDrawn { path })));
        }
        let suspect = self.drawings.suspects.iter().find(|path| wanted.contains_key(*path)).cloned();
        if let Some(path) = suspect {
            return Ok(Some(on_disk(Effect::ReadFile(path.clone()), Purpose::CheckDrawn { path })));
        }
        for (path, (drawing, source)) in wanted {
            let known = self.drawings.drawn.get(&path).copied();
            if known.is_some_and(|drawn| drawn.source == source)
                || self.drawings.not_ours.contains_key(&path)
                || self.drawings.faulty.get(&path) == Some(&source)
            {
                continue;
            }
            let Ok(text) = guarded(|| self.draw(&drawing, cx)) else {
                self.drawings.faulty.insert(path, source);
                continue;
            };
            self.drawings.faulty.remove(&path);
            let text = text?;
            let hash = ContentHash::of(text.as_bytes());
            if let Some(drawn) = known.filter(|drawn| drawn.hash == hash) {
                self.drawings.save_drawn(&path, Some(Drawn { source, ..drawn }), cx);
                continue;
            }
            // What it is drawn from is in the same folder: a missing folder was renamed.
            let expect = known.map_or(Expect::AbsentHere, |drawn| Expect::Content(drawn.hash));
            let effect = Effect::WriteFile { path: path.clone(), bytes: text.into_bytes(), expect };
            return Ok(Some(on_disk(effect, Purpose::Draw { path, source, hash })));
        }
        self.drawings.draw_due = false;
        Ok(None)
    }

    /// All generated files that should exist.
    fn drawings(&self, trees: &Trees, settings: &Settings) -> BTreeMap<MirrorPath, (Drawing, ContentHash)> {
        let mut all = BTreeMap::new();
        let beside = |path: &MirrorPath, ending: &str| {
            let stem = path.name().rsplit_once('.').map_or(path.name(), |(stem, _)| stem);
            path.parent()?.join(&format!("{stem}{ending}")).ok()
        };
        for node in self.canvases.values() {
            let Some(path) = node.file.as_ref().filter(|_| node.base.is_some()) else { continue };
            // While the file is at another path, its picture waits.
            if self.canvas_place(node, trees).is_some_and(|place| place != *path) {
                continue;
            }
            if let (Some(remote), Some(place)) = (node.remote, beside(path, ".svg")) {
                let source = self.source_of(node, remote);
                all.insert(place, (Drawing::Canvas(node.id.clone()), source));
            }
        }
        for (id, deck) in &self.decks {
            let mut slides: Vec<&CanvasNode> = self.slides_of(id).collect();
            slides.sort_by_key(|node| node.order);
            let Some(folder) = self.deck_folder(id) else { continue };
            // A renamed folder must not be created again beneath the page that shows it.
            let is_there = |node: &&CanvasNode| {
                let up = node.file.as_ref().and_then(MirrorPath::parent);
                node.remote.is_some() && up.as_ref() == Some(&folder)
            };
            let ready = !slides.is_empty() && slides.iter().all(is_there);
            if !ready || deck.presence != Presence::Listed || deck.named.as_ref() != Some(&deck.seen.name) {
                continue;
            }
            let mut parts = format!("{STYLE} {}", deck.seen.name);
            for node in &slides {
                let source = node.remote.map(|remote| self.source_of(node, remote));
                parts.push_str(&format!(" {source:?}"));
            }
            if let Ok(place) = folder.join(SHOW) {
                all.insert(place, (Drawing::Show(id.clone()), ContentHash::of(parts.as_bytes())));
            }
        }
        if settings.boards.dashboards {
            for (page, nevera) in &self.drawings.dashboards {
                let Some(file) = trees.pages.get(page).and_then(|node| node.file.clone()) else {
                    continue;
                };
                let source = ContentHash::of(format!("{STYLE} {nevera}").as_bytes());
                if let (Some(file), Some(picture)) = (beside(&file, ".canvas"), beside(&file, ".svg")) {
                    all.insert(file, (Drawing::MagnetFile(page.clone()), source));
                    all.insert(picture, (Drawing::MagnetPicture(page.clone()), source));
                }
            }
        }
        all.retain(|path, _| !trees.ignoring.ignores_file(path));
        all
    }

    pub(super) fn drawn(
        &mut self,
        path: &MirrorPath,
        drawn: impl FnOnce(Stamp) -> Drawn,
        result: Result<DiskReply, DiskError>,
        trees: &mut Trees,
        folder: &mut Folder,
        cx: &mut Context,
    ) {
        match result {
            Ok(DiskReply::Written(stamp)) => {
                self.scan.now_there(path, stamp);
                self.drawings.save_drawn(path, Some(drawn(stamp)), cx);
            }
            Err(DiskError::Changed(_) | DiskError::Exists(_)) => {
                self.drawings.suspects.insert(path.clone());
            }
            Err(DiskError::Missing(_)) if self.drawings.drawn.contains_key(path) => {
                self.drawings.save_drawn(path, None, cx);
            }
            Err(error) => {
                // If its folder is missing, a scan shows where that went.
                self.drawings.draw_retry = cx.now.plus_ms(10_000);
                folder.disk_failed(path, &error, trees, cx.now);
            }
            Ok(reply) => {
                folder.watch.disk_reply_is_wrong(&reply, cx.now);
            }
        }
    }

    pub(super) fn drawing_trashed(
        &mut self,
        path: &MirrorPath,
        result: &Result<DiskReply, DiskError>,
        trees: &mut Trees,
        folder: &mut Folder,
        cx: &mut Context,
    ) {
        match result {
            // The user has changed it since: it is the user's file now.
            Ok(_) | Err(DiskError::Missing(_) | DiskError::Changed(_) | DiskError::NotOrdinary(_)) => {
                self.scan.there.remove(path);
                self.drawings.save_drawn(path, None, cx);
            }
            Err(error) => {
                self.drawings.draw_retry = cx.now.plus_ms(10_000);
                folder.disk_failed(path, error, trees, cx.now);
            }
        }
    }
}

impl Drawings {
    /// Makes drawings due after page changes, because dashboards' files are beside their pages' files and move with
    /// them.
    fn notice_changed_pages(&mut self, trees: &Trees, cx: &mut Context) {
        let changes = std::mem::replace(&mut self.drawn_at_change, trees.changes);
        if changes == trees.changes || self.dashboards.is_empty() {
            return;
        }
        let gone = self.dashboards.keys().filter(|page| !trees.pages.contains_key(*page));
        for page in gone.cloned().collect::<Vec<_>>() {
            self.board_saw_page(&page, None, cx);
        }
        self.draw_due = true;
    }

    /// Takes in a read of a generated file's path, whose content may differ from what was written.
    pub(super) fn drawing_checked(
        &mut self,
        path: &MirrorPath,
        result: Result<DiskReply, DiskError>,
        trees: &mut Trees,
        folder: &mut Folder,
        cx: &mut Context,
    ) {
        self.suspects.remove(path);
        let known = self.drawn.get(path).copied();
        match result {
            Ok(DiskReply::File(look)) => {
                let hash = ContentHash::of(&look.bytes);
                if let Some(drawn) = known.filter(|drawn| drawn.hash == hash) {
                    self.save_drawn(path, Some(Drawn { stamp: look.stamp, ..drawn }), cx);
                    return;
                }
                let ours = known.is_some() || String::from_utf8_lossy(&look.bytes).contains(MARK);
                if !ours {
                    self.not_ours.insert(path.clone(), look.stamp);
                    return;
                }
                if known.is_some() {
                    let what = "its picture was changed here; espejo draws it again, and your version is in .espejo/trash";
                    cx.log_activity(Way::Aside, path, what);
                }
                // The next pass over the drawings trashes the present file, by its own content, and draws.
                let source = ContentHash::of(b"");
                self.save_drawn(path, Some(Drawn { source, hash, stamp: look.stamp }), cx);
                self.replaced.insert(path.clone());
            }
            Err(DiskError::Missing(_)) => self.save_drawn(path, None, cx),
            Err(error) => {
                self.draw_retry = cx.now.plus_ms(10_000);
                folder.disk_failed(path, &error, trees, cx.now);
            }
            Ok(reply) => {
                folder.watch.disk_reply_is_wrong(&reply, cx.now);
            }
        }
    }
}

impl Boards {
    fn source_of(&self, node: &CanvasNode, remote: ContentHash) -> ContentHash {
        let size = node.id.deck().and_then(|deck| self.decks.get(deck));
        let size = size.map(|deck| (deck.seen.width, deck.seen.height));
        ContentHash::of(format!("{STYLE} {:?} {size:?} {}", remote.0, node.background).as_bytes())
    }

    fn draw(&self, drawing: &Drawing, cx: &Context) -> Result<String, StoreError> {
        let text = match drawing {
            Drawing::Canvas(id) => {
                let Some(node) = self.canvases.get(id) else { return Ok(String::new()) };
                let elements = cx.elements_at(node.remote)?;
                match id.deck().and_then(|deck| self.decks.get(deck)) {
                    Some(deck) => {
                        canvas::slide(&elements, deck.seen.width, deck.seen.height, &node.background)
                    }
                    None => canvas::board(&elements),
                }
            }
            Drawing::Show(id) => {
                let Some(deck) = self.decks.get(id) else { return Ok(String::new()) };
                let mut slides: Vec<&CanvasNode> = self.slides_of(id).collect();
                slides.sort_by_key(|node| node.order);
                let elements: Vec<Elements> =
                    slides.iter().map(|node| cx.elements_at(node.remote)).collect::<Result<_, _>>()?;
                let shown: Vec<canvas::Shown<'_>> = slides
                    .iter()
                    .zip(&elements)
                    .map(|(node, elements)| canvas::Shown { elements, background: &node.background })
                    .collect();
                canvas::show(&deck.seen.name, deck.seen.width, deck.seen.height, &shown)
            }
            Drawing::MagnetFile(page) => {
                let magnets = self.drawings.dashboards.get(page).map(canvas::magnets).unwrap_or_default();
                // JSON has no comments, so the mark is a key that other programs ignore.
                let mark = format!("{{\n\t\"espejo\":{},", json!({ "note": MARK }));
                return Ok(canvas::render(&magnets).replacen('{', &mark, 1));
            }
            Drawing::MagnetPicture(page) => {
                let magnets = self.drawings.dashboards.get(page).map(canvas::magnets).unwrap_or_default();
                canvas::board(&magnets)
            }
        };
        Ok(format!("{}\n<!-- {MARK}; changes to this file are not kept -->\n", text.trim_end()))
    }

    /// After a scan, marks generated files that are gone or look changed.
    pub(super) fn check_drawn_stamps(&mut self) {
        let Some(there) = Some(&self.scan.there) else { return };
        let gone: Vec<MirrorPath> =
            self.drawings.drawn.keys().filter(|path| !there.contains_key(*path)).cloned().collect();
        let odd: Vec<MirrorPath> = self
            .drawings
            .drawn
            .iter()
            .filter(|(path, drawn)| there.get(*path).is_some_and(|(_, stamp)| *stamp != drawn.stamp))
            .map(|(path, _)| path.clone())
            .collect();
        let freed: Vec<MirrorPath> = self
            .drawings
            .not_ours
            .iter()
            .filter(|(path, stamp)| there.get(*path).map(|(_, now)| now) != Some(stamp))
            .map(|(path, _)| path.clone())
            .collect();
        self.drawings.draw_due |= !gone.is_empty() || !odd.is_empty() || !freed.is_empty();
        for path in gone {
            self.drawings.drawn.remove(&path);
        }
        for path in freed {
            self.drawings.not_ours.remove(&path);
        }
        self.drawings.suspects.extend(odd);
    }
}

impl Drawings {
    fn save_drawn(&mut self, path: &MirrorPath, drawn: Option<Drawn>, cx: &mut Context) {
        cx.store.save_drawn(path, drawn);
        match drawn {
            Some(drawn) => drop(self.drawn.insert(path.clone(), drawn)),
            None => drop(self.drawn.remove(path)),
        }
    }

    pub(super) fn drawings_moved(&mut self, from: &MirrorPath, to: &MirrorPath, cx: &mut Context) {
        let moved: Vec<(MirrorPath, MirrorPath)> =
            self.drawn.keys().filter_map(|path| Some((path.clone(), path.rebase(from, to)?))).collect();
        for (old, new) in moved {
            if let Some(drawn) = self.drawn.get(&old).copied() {
                self.save_drawn(&old, None, cx);
                self.save_drawn(&new, Some(drawn), cx);
            }
        }
        self.draw_due = true;
    }

    /// Takes in a page's magnets from a fetch.
    pub(in super::super) fn board_saw_page(
        &mut self,
        page: &PageId,
        nevera: Option<Value>,
        cx: &mut Context,
    ) {
        if !cx.settings.boards.dashboards || self.dashboards.get(page) == nevera.as_ref() {
            return;
        }
        cx.store.save_dashboard(page, nevera.as_ref());
        match nevera {
            Some(nevera) => drop(self.dashboards.insert(page.clone(), nevera)),
            None => drop(self.dashboards.remove(page)),
        }
        self.draw_due = true;
    }

    /// Makes drawings due, because the set of generated files may have changed.
    pub(in super::super) fn all_drawings_are_due(&mut self) {
        self.draw_due = true;
    }
}
