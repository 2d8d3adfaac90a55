//! The generated files of dashboard pages: their magnets as a canvas and as a picture, beside the page's file. They are
//! written when their source has changed. A changed one is moved to the trash before it is drawn again. A file that is not
//! espejo's is left alone.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::canvas;
use crate::core::content::picture::{CHANGED, MARK, is_marked, marked};
use crate::engine::state::dashboards::Act;
use crate::engine::state::{Choice, Context, Dashboards, Folder, Purpose, Trees, Watching, Way};
use crate::model::{
    ContentHash, DiskError, DiskReply, Effect, Expect, MirrorPath, PageId, Scan, Timestamp, guarded,
};
use crate::store::{Drawn, Store, StoreError};

/// The version of the drawing style: a new version draws all files again.
const STYLE: &str = "1";
/// The wait after a file that could not be written.
const AGAIN_MS: i64 = 10_000;

/// What a generated file shows.
#[derive(Debug, Clone)]
enum Form {
    Canvas(PageId),
    Picture(PageId),
}

impl Dashboards {
    pub(crate) fn open(store: &Store) -> Result<Self, StoreError> {
        let (magnets, drawn) = (store.dashboards()?, store.drawn()?);
        Ok(Self { magnets, drawn, is_due: true, ..Self::default() })
    }

    /// Applies a page's magnets from a fetch.
    pub(crate) fn page_fetched(&mut self, page: &PageId, magnets: Option<Value>, cx: &mut Context) {
        if !cx.settings.boards.dashboards || self.magnets.get(page) == magnets.as_ref() {
            return;
        }
        cx.store.save_dashboard(page, magnets.as_ref());
        match magnets {
            Some(magnets) => drop(self.magnets.insert(page.clone(), magnets)),
            None => drop(self.magnets.remove(page)),
        }
        self.is_due = true;
    }

    /// Whether nothing is to be drawn now. A failed drawing is tried again later.
    pub(crate) fn are_drawn(&self, now: Timestamp) -> bool {
        !self.is_due || self.again_at > now
    }

    /// What is ignored has changed.
    pub(crate) fn mark_due(&mut self) {
        self.is_due = true;
    }

    /// Applies a scan: generated files may be gone or changed.
    pub(crate) fn scanned(&mut self, scan: &Scan, cx: &mut Context) {
        let stamp_of = |path: &MirrorPath| {
            let at = scan.entries.binary_search_by(|entry| entry.path.cmp(path)).ok()?;
            scan.entries.get(at).map(|entry| entry.stamp)
        };
        let changed = self.drawn.iter().filter(|(path, drawn)| stamp_of(path) != Some(drawn.stamp));
        let changed: Vec<MirrorPath> = changed.map(|(path, _)| path.clone()).collect();
        let before = self.not_ours.len();
        self.not_ours.retain(|path, stamp| stamp_of(path) == Some(*stamp));
        self.is_due |= !changed.is_empty() || self.not_ours.len() < before;
        for path in changed {
            match stamp_of(&path) {
                Some(_) => drop(self.suspects.insert(path)),
                None => self.save(&path, None, cx),
            }
        }
    }

    /// The next act on a generated file, if one is due.
    pub(crate) fn next(&mut self, trees: &Trees, watch: &Watching, cx: &mut Context) -> Choice {
        self.notice_changed_pages(trees, cx);
        if !self.is_due || cx.now < self.again_at || !watch.is_told() {
            return None;
        }
        let wanted = self.wanted(trees, cx);
        let is_ignored = |path: &MirrorPath| trees.ignoring.ignores_file(path);
        let unwanted = self.drawn.keys().find(|path| !wanted.contains_key(*path) && !is_ignored(path));
        let unwanted = unwanted.cloned().or_else(|| self.replaced.pop_first());
        if let Some((path, drawn)) = unwanted.and_then(|path| self.drawn.get_key_value(&path)) {
            let effect = Effect::TrashFile { path: path.clone(), expect: drawn.hash };
            return Some((effect, Purpose::Dashboard(path.clone(), Act::Trash)));
        }
        if let Some(path) = self.suspects.iter().find(|path| wanted.contains_key(*path)).cloned() {
            let purpose = Purpose::Dashboard(path.clone(), Act::Check);
            return Some((Effect::ReadFile(path), purpose));
        }
        for (path, (form, source)) in wanted {
            let known = self.drawn.get(&path).copied();
            if known.is_some_and(|drawn| drawn.source == source)
                || self.not_ours.contains_key(&path)
                || self.faulty.get(&path) == Some(&source)
            {
                continue;
            }
            let Ok(text) = guarded(|| self.draw(&form)) else {
                self.faulty.insert(path, source);
                continue;
            };
            self.faulty.remove(&path);
            let hash = ContentHash::of(text.as_bytes());
            if let Some(drawn) = known.filter(|drawn| drawn.hash == hash) {
                self.save(&path, Some(Drawn { source, ..drawn }), cx);
                continue;
            }
            // The page's file is in the same folder: a missing folder was renamed.
            let expect = known.map_or(Expect::AbsentHere, |drawn| Expect::Content(drawn.hash));
            let effect = Effect::WriteFile { path: path.clone(), bytes: text.into_bytes(), expect };
            return Some((effect, Purpose::Dashboard(path, Act::Draw(source, hash))));
        }
        self.is_due = false;
        None
    }

    /// The files lie beside their pages' files, and move with them.
    fn notice_changed_pages(&mut self, trees: &Trees, cx: &mut Context) {
        let before = std::mem::replace(&mut self.at_change, trees.changes);
        if before == trees.changes || self.magnets.is_empty() {
            return;
        }
        let gone = self.magnets.keys().filter(|page| !trees.pages.contains_key(*page));
        for page in gone.cloned().collect::<Vec<_>>() {
            self.page_fetched(&page, None, cx);
        }
        self.is_due = true;
    }

    /// All generated files that should exist, each with the hash of its source.
    fn wanted(&self, trees: &Trees, cx: &Context) -> BTreeMap<MirrorPath, (Form, ContentHash)> {
        let magnets = self.magnets.iter().filter(|_| cx.settings.boards.dashboards);
        let all = magnets.filter_map(|(page, magnets)| {
            let file = trees.pages.get(page)?.file.as_ref()?;
            let beside = |ending: &str| file.parent()?.join(&format!("{}{ending}", file.page_stem()?)).ok();
            let source = ContentHash::of(format!("{STYLE} {magnets}").as_bytes());
            let canvas = (beside(".canvas")?, (Form::Canvas(page.clone()), source));
            Some([canvas, (beside(".svg")?, (Form::Picture(page.clone()), source))])
        });
        all.flatten().filter(|(path, _)| !trees.ignoring.ignores_file(path)).collect()
    }

    fn draw(&self, form: &Form) -> String {
        let elements = |page| self.magnets.get(page).map(canvas::magnets).unwrap_or_default();
        match form {
            Form::Canvas(page) => {
                // JSON has no comments, so the mark is a key that other programs ignore.
                let mark = format!("{{\n\t\"espejo\":{},", json!({ "note": MARK }));
                canvas::render(&elements(page)).replacen('{', &mark, 1)
            }
            Form::Picture(page) => marked(&canvas::board(&elements(page))),
        }
    }

    fn save(&mut self, path: &MirrorPath, drawn: Option<Drawn>, cx: &mut Context) {
        cx.store.save_drawn(path, drawn);
        match drawn {
            Some(drawn) => drop(self.drawn.insert(path.clone(), drawn)),
            None => drop(self.drawn.remove(path)),
        }
    }

    /// Applies the answer to an act on a generated file.
    pub(crate) fn answered(
        &mut self,
        (path, act): (&MirrorPath, Act),
        result: Result<DiskReply, DiskError>,
        trees: &mut Trees,
        folder: &mut Folder,
        cx: &mut Context,
    ) {
        if act == Act::Check {
            self.suspects.remove(path);
        }
        let known = self.drawn.get(path).copied();
        match (act, result) {
            (Act::Draw(source, hash), Ok(DiskReply::Written(stamp))) => {
                self.save(path, Some(Drawn { source, hash, stamp }), cx);
            }
            (Act::Draw(..), Err(DiskError::Changed(_) | DiskError::Exists(_))) => {
                self.suspects.insert(path.clone());
            }
            (Act::Check, Ok(DiskReply::File(read))) => {
                let hash = ContentHash::of(&read.bytes);
                if let Some(drawn) = known.filter(|drawn| drawn.hash == hash) {
                    self.save(path, Some(Drawn { stamp: read.stamp, ..drawn }), cx);
                } else if known.is_some() || is_marked(&read.bytes) {
                    if known.is_some() {
                        cx.log_activity(Way::Aside, path, CHANGED);
                    }
                    // The next check trashes the present file, by its own content, and draws.
                    let source = ContentHash::of(b"");
                    self.save(path, Some(Drawn { source, hash, stamp: read.stamp }), cx);
                    self.replaced.insert(path.clone());
                } else {
                    self.not_ours.insert(path.clone(), read.stamp);
                }
            }
            // The user has changed or removed it since.
            (Act::Trash, Ok(_) | Err(DiskError::Changed(_) | DiskError::NotOrdinary(_))) => {
                self.save(path, None, cx);
            }
            (_, Err(DiskError::Missing(_))) if known.is_some() => self.save(path, None, cx),
            (_, Err(error)) => {
                self.again_at = cx.now.plus_ms(AGAIN_MS);
                folder.disk_failed(path, &error, trees, cx.now);
            }
            (_, Ok(reply)) => {
                folder.watch.disk_reply_is_wrong(&reply, cx.now);
            }
        }
    }
}
