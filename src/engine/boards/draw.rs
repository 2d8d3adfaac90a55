//! Generated files: a picture beside each canvas, a page that shows a presentation, a dashboard's magnets. They are
//! written when what they show has changed, and a changed one is moved to the trash before it is drawn anew. A file that
//! is not ours is left alone.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::Engine;
use super::{Choice, Purpose, on_disk};
use crate::canvas;
use crate::engine::Way;
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::model::{
    CanvasId, CanvasNode, ContentHash, DeckId, DiskError, DiskReply, Effect, Elements, Expect, MirrorPath,
    PageId, Presence,
};
use crate::store::{Drawn, StoreError};

/// Changes when what is drawn of the same elements does.
const STYLE: &str = "1";
/// What every generated file says of itself.
const MARK: &str = "drawn by espejo";
const SHOW: &str = "index.html";

/// What stands at a path, and what it is made from.
#[derive(Debug, Clone)]
enum Drawing {
    Canvas(CanvasId),
    Show(DeckId),
    MagnetFile(PageId),
    MagnetPicture(PageId),
}

impl Engine {
    /// The next act on generated files, if one is due.
    pub(super) fn next_drawing(&mut self) -> Result<Choice, StoreError> {
        self.notice_changed_pages();
        if !self.boards.draw_due || self.cx.now < self.boards.draw_retry || !self.folder.watch.is_told() {
            return Ok(None);
        }
        let wanted = self.drawings();
        let is_ignored = |path: &MirrorPath| self.pages.trees.ignoring.ignores_file(path);
        let mut drawn = self.boards.drawn.iter();
        let unwanted = drawn.find(|(path, _)| !wanted.contains_key(*path) && !is_ignored(path));
        if let Some((path, drawn)) = unwanted.map(|(path, drawn)| (path.clone(), *drawn)) {
            let effect = Effect::TrashFile { path: path.clone(), expect: drawn.hash };
            return Ok(Some(on_disk(effect, Purpose::TrashDrawn { path })));
        }
        if let Some(path) = self.boards.replaced.pop_first()
            && let Some(drawn) = self.boards.drawn.get(&path).copied()
        {
            let effect = Effect::TrashFile { path: path.clone(), expect: drawn.hash };
            return Ok(Some(on_disk(effect, Purpose::TrashDrawn { path })));
        }
        let suspect = self.boards.suspects.iter().find(|path| wanted.contains_key(*path)).cloned();
        if let Some(path) = suspect {
            return Ok(Some(on_disk(Effect::ReadFile(path.clone()), Purpose::CheckDrawn { path })));
        }
        for (path, (drawing, source)) in wanted {
            let known = self.boards.drawn.get(&path).copied();
            if known.is_some_and(|drawn| drawn.source == source) || self.boards.not_ours.contains_key(&path) {
                continue;
            }
            let text = self.boards.draw(&drawing, &self.cx)?;
            let hash = ContentHash::of(text.as_bytes());
            if let Some(drawn) = known.filter(|drawn| drawn.hash == hash) {
                self.boards.save_drawn(&path, Some(Drawn { source, ..drawn }), &mut self.cx)?;
                continue;
            }
            let expect =
                known.map_or_else(|| self.boards.nothing_at(&path), |drawn| Expect::Content(drawn.hash));
            let effect = Effect::WriteFile { path: path.clone(), bytes: text.into_bytes(), expect };
            return Ok(Some(on_disk(effect, Purpose::Draw { path, source, hash })));
        }
        self.boards.draw_due = false;
        Ok(None)
    }

    /// Dashboards' files are beside their pages' files, and follow them.
    fn notice_changed_pages(&mut self) {
        let changes = std::mem::replace(&mut self.boards.drawn_at_change, self.pages.trees.changes);
        self.boards.draw_due |= changes != self.pages.trees.changes && !self.boards.dashboards.is_empty();
    }

    /// Every generated file that there should be.
    fn drawings(&self) -> BTreeMap<MirrorPath, (Drawing, ContentHash)> {
        let mut all = BTreeMap::new();
        let beside = |path: &MirrorPath, ending: &str| {
            let stem = path.name().rsplit_once('.').map_or(path.name(), |(stem, _)| stem);
            path.parent()?.join(&format!("{stem}{ending}")).ok()
        };
        for node in self.boards.canvases.values() {
            let Some(path) = node.file.as_ref().filter(|_| node.base.is_some()) else { continue };
            // While it stands elsewhere for a moment, its picture waits.
            if self.canvas_place(node).is_some_and(|place| place != *path) {
                continue;
            }
            if let (Some(remote), Some(place)) = (node.remote, beside(path, ".svg")) {
                let source = self.boards.source_of(node, remote);
                all.insert(place, (Drawing::Canvas(node.id.clone()), source));
            }
        }
        for (id, deck) in &self.boards.decks {
            let mut slides: Vec<&CanvasNode> = self.boards.slides_of(id).collect();
            slides.sort_by_key(|node| node.order);
            let Some(folder) = self.boards.deck_folder(id) else { continue };
            // A folder that was renamed must not be made anew beneath the page that shows it.
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
                let source = node.remote.map(|remote| self.boards.source_of(node, remote));
                parts.push_str(&format!(" {source:?}"));
            }
            if let Ok(place) = folder.join(SHOW) {
                all.insert(place, (Drawing::Show(id.clone()), ContentHash::of(parts.as_bytes())));
            }
        }
        if self.cx.settings.boards.dashboards {
            for (page, nevera) in &self.boards.dashboards {
                let Some(file) = self.pages.trees.pages.get(page).and_then(|node| node.file.clone()) else {
                    continue;
                };
                let source = ContentHash::of(format!("{STYLE} {nevera}").as_bytes());
                if let (Some(file), Some(picture)) = (beside(&file, ".canvas"), beside(&file, ".svg")) {
                    all.insert(file, (Drawing::MagnetFile(page.clone()), source));
                    all.insert(picture, (Drawing::MagnetPicture(page.clone()), source));
                }
            }
        }
        all.retain(|path, _| !self.pages.trees.ignoring.ignores_file(path));
        all
    }

    pub(super) fn drawn(
        &mut self,
        path: &MirrorPath,
        source: ContentHash,
        hash: ContentHash,
        result: Result<DiskReply, DiskError>,
    ) -> Result<(), StoreError> {
        match result {
            Ok(DiskReply::Written(stamp)) => {
                self.boards.now_there(path, stamp);
                self.boards.save_drawn(path, Some(Drawn { source, hash, stamp }), &mut self.cx)
            }
            Err(DiskError::Changed(_) | DiskError::Exists(_)) => {
                self.boards.suspects.insert(path.clone());
                Ok(())
            }
            Err(DiskError::Missing(_)) if self.boards.drawn.contains_key(path) => {
                self.boards.save_drawn(path, None, &mut self.cx)
            }
            Err(error) => {
                // Where its folder is missing, a scan tells what became of that.
                self.boards.draw_retry = self.cx.now.plus_ms(10_000);
                self.disk_failed(path, &error);
                Ok(())
            }
            Ok(reply) => {
                self.folder.watch.disk_reply_is_wrong(&reply, self.cx.now);
                Ok(())
            }
        }
    }

    /// Something at a generated file's place is not what was written there.
    pub(super) fn drawing_checked(
        &mut self,
        path: &MirrorPath,
        result: Result<DiskReply, DiskError>,
    ) -> Result<(), StoreError> {
        self.boards.suspects.remove(path);
        let known = self.boards.drawn.get(path).copied();
        match result {
            Ok(DiskReply::File(look)) => {
                let hash = ContentHash::of(&look.bytes);
                if let Some(drawn) = known.filter(|drawn| drawn.hash == hash) {
                    return self.boards.save_drawn(
                        path,
                        Some(Drawn { stamp: look.stamp, ..drawn }),
                        &mut self.cx,
                    );
                }
                let ours = known.is_some() || String::from_utf8_lossy(&look.bytes).contains(MARK);
                if !ours {
                    self.boards.not_ours.insert(path.clone(), look.stamp);
                    return Ok(());
                }
                if known.is_some() {
                    let what = "its picture was changed here; espejo draws it again, and your version is in .espejo/trash";
                    self.cx.say(Way::Aside, path, what);
                }
                // The next round trashes what is there, by its own content, and draws.
                let source = ContentHash::of(b"");
                self.boards.save_drawn(
                    path,
                    Some(Drawn { source, hash, stamp: look.stamp }),
                    &mut self.cx,
                )?;
                self.boards.replaced.insert(path.clone());
                Ok(())
            }
            Err(DiskError::Missing(_)) => self.boards.save_drawn(path, None, &mut self.cx),
            Err(error) => {
                self.boards.draw_retry = self.cx.now.plus_ms(10_000);
                self.disk_failed(path, &error);
                Ok(())
            }
            Ok(reply) => {
                self.folder.watch.disk_reply_is_wrong(&reply, self.cx.now);
                Ok(())
            }
        }
    }

    pub(super) fn drawing_trashed(
        &mut self,
        path: &MirrorPath,
        result: &Result<DiskReply, DiskError>,
    ) -> Result<(), StoreError> {
        match result {
            // A person has changed it since: it is theirs now.
            Ok(_) | Err(DiskError::Missing(_) | DiskError::Changed(_) | DiskError::NotOrdinary(_)) => {
                self.boards.there.remove(path);
                self.boards.save_drawn(path, None, &mut self.cx)
            }
            Err(error) => {
                self.boards.draw_retry = self.cx.now.plus_ms(10_000);
                self.disk_failed(path, error);
                Ok(())
            }
        }
    }
}

impl Boards {
    fn save_drawn(
        &mut self,
        path: &MirrorPath,
        drawn: Option<Drawn>,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        cx.store.save_drawn(path, drawn)?;
        match drawn {
            Some(drawn) => drop(self.drawn.insert(path.clone(), drawn)),
            None => drop(self.drawn.remove(path)),
        }
        Ok(())
    }

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
                let magnets = self.dashboards.get(page).map(canvas::magnets).unwrap_or_default();
                // JSON has no comments: the mark is a key that other programs leave alone.
                let mark = format!("{{\n\t\"espejo\":{},", json!({ "note": MARK }));
                return Ok(canvas::render(&magnets).replacen('{', &mark, 1));
            }
            Drawing::MagnetPicture(page) => {
                let magnets = self.dashboards.get(page).map(canvas::magnets).unwrap_or_default();
                canvas::board(&magnets)
            }
        };
        Ok(format!("{}\n<!-- {MARK}; changes to this file are not kept -->\n", text.trim_end()))
    }

    /// After a scan: generated files that are gone or look changed.
    pub(super) fn check_drawn_stamps(&mut self) {
        let Some(there) = Some(&self.there) else { return };
        let gone: Vec<MirrorPath> =
            self.drawn.keys().filter(|path| !there.contains_key(*path)).cloned().collect();
        let odd: Vec<MirrorPath> = self
            .drawn
            .iter()
            .filter(|(path, drawn)| there.get(*path).is_some_and(|(_, stamp)| *stamp != drawn.stamp))
            .map(|(path, _)| path.clone())
            .collect();
        let freed: Vec<MirrorPath> = self
            .not_ours
            .iter()
            .filter(|(path, stamp)| there.get(*path).map(|(_, now)| now) != Some(stamp))
            .map(|(path, _)| path.clone())
            .collect();
        self.draw_due |= !gone.is_empty() || !odd.is_empty() || !freed.is_empty();
        for path in gone {
            self.drawn.remove(&path);
        }
        for path in freed {
            self.not_ours.remove(&path);
        }
        self.suspects.extend(odd);
    }

    pub(super) fn drawings_moved(
        &mut self,
        from: &MirrorPath,
        to: &MirrorPath,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let moved: Vec<(MirrorPath, MirrorPath)> =
            self.drawn.keys().filter_map(|path| Some((path.clone(), path.rebase(from, to)?))).collect();
        for (old, new) in moved {
            if let Some(drawn) = self.drawn.get(&old).copied() {
                self.save_drawn(&old, None, cx)?;
                self.save_drawn(&new, Some(drawn), cx)?;
            }
        }
        self.draw_due = true;
        Ok(())
    }

    /// A look at a page showed its magnets.
    pub(in super::super) fn board_saw_page(
        &mut self,
        page: &PageId,
        nevera: Option<Value>,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        if !cx.settings.boards.dashboards || self.dashboards.get(page) == nevera.as_ref() {
            return Ok(());
        }
        cx.store.save_dashboard(page, nevera.as_ref())?;
        match nevera {
            Some(nevera) => drop(self.dashboards.insert(page.clone(), nevera)),
            None => drop(self.dashboards.remove(page)),
        }
        self.draw_due = true;
        Ok(())
    }

    /// Other files may be drawn than until now.
    pub(in super::super) fn all_drawings_are_due(&mut self) {
        self.draw_due = true;
    }
}
