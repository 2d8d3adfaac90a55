//! Changes to files that the user requested with a command. espejo makes them as the user would: it reads the file,
//! keeps its content, and replaces it only if it is what the user saw. The consequences are those of any edit by the
//! user.

use crate::engine::content::history::Detail;
use crate::engine::on_core::{self, with_saves_of_core};
use crate::engine::state::{Engine, Purpose, Trees};
use crate::model::{
    Body, ContentHash, DiskError, DiskReply, Effect, Expect, FileRead, MirrorPath, PageId, Put,
};
use crate::plan::saves::Saves;
use crate::plan::{ignore, naming};
use crate::store::{ActKind, StoreError};

impl Engine {
    /// From now on only requested changes are made, and no request is sent.
    pub fn do_only_what_is_asked(&mut self) {
        self.commands.asked.only = true;
    }

    /// The result of each [`Put`] since the last call, in the order in which they were requested: done, or one sentence
    /// that says why not.
    pub fn take_told(&mut self) -> Vec<Result<(), String>> {
        std::mem::take(&mut self.commands.asked.told)
    }

    pub(crate) fn put(&mut self, put: Put) {
        self.commands.asked.waiting.push_back(put);
        self.folder.watch.scan_by(self.cx.now);
    }

    pub(crate) fn next_asked(&mut self) -> Option<(Effect, Purpose)> {
        if let Some(Err(why)) = &self.folder.root.state {
            let why = format!("nothing is written: {why}");
            for _ in self.commands.asked.waiting.drain(..) {
                self.commands.asked.told.push(Err(why.clone()));
            }
        }
        if !self.folder.root.is_ready() {
            return None;
        }
        while let Some(put) = self.commands.asked.waiting.front() {
            if let Some(why) = refusal(put) {
                self.tell_asked(Err(why));
                continue;
            }
            return Some(match put {
                Put::Text { path, .. } => (Effect::ReadFile(path.clone()), Purpose::ReadAsked),
                Put::Name { from, to } => {
                    (Effect::Rename { from: from.clone(), to: to.clone() }, Purpose::Asked)
                }
                Put::Away { path, expect } => {
                    (Effect::TrashFile { path: path.clone(), expect: *expect }, Purpose::Asked)
                }
            });
        }
        None
    }

    fn tell_asked(&mut self, what: Result<(), String>) {
        self.commands.asked.waiting.pop_front();
        self.commands.asked.before = None;
        self.commands.asked.told.push(what);
        // A user's change like any other: a scan sees it.
        self.folder.watch.scan_by(self.cx.now);
    }

    /// Receives the present content of the file before a text is written to it.
    pub(crate) fn asked_read(&mut self, result: Result<FileRead, DiskError>) -> Result<(), StoreError> {
        let Some(Put::Text { path, expect, text, body, .. }) = self.commands.asked.waiting.front().cloned()
        else {
            return Ok(());
        };
        let hash = ContentHash::of(text.as_bytes());
        let write = match (result, expect) {
            (Ok(look), _) if look.bytes == text.as_bytes() => {
                if let Some(blocks) = body {
                    self.take_at_its_word(&look, &blocks)?;
                }
                self.tell_asked(Ok(()));
                return Ok(());
            }
            (Ok(look), Some(expect)) if ContentHash::of(&look.bytes) == expect => {
                if !is_canvas(&path) {
                    self.pages.take_in_file(&look, &mut self.folder, &mut self.cx)?;
                    self.pages.keep_present(&path, &look.bytes, &mut self.cx)?;
                }
                self.cx.store.keep_for_undo(&look.bytes);
                self.commands.asked.before = Some(expect);
                Expect::Content(expect)
            }
            (Err(DiskError::Missing(_)), None) => Expect::Absent,
            (Ok(_), Some(_)) => {
                self.tell_asked(Err(format!("{path} has just changed; check it and try again")));
                return Ok(());
            }
            (Ok(_), None) => {
                self.tell_asked(Err(format!("{path} exists already")));
                return Ok(());
            }
            (Err(error), _) => {
                self.tell_asked(Err(error.to_string()));
                return Ok(());
            }
        };
        if let Some(blocks) = body {
            self.cx.store.keep_meaning(hash, Body::json(&blocks).as_bytes(), self.cx.now);
        }
        let page = self.pages.trees.files.get(&path).and_then(|file| file.page.clone());
        if let Some(page) = page {
            // A user chose it, whatever it lacks.
            self.pages.runtime(&page).saves = Saves::chosen(hash);
        }
        with_saves_of_core(self, &path, |saves| *saves = Saves::chosen(hash));
        let effect = Effect::WriteFile { path, bytes: text.into_bytes(), expect: write };
        self.cx.in_flight.ready = Some((effect, Purpose::Asked));
        Ok(())
    }

    /// Handles the end of the change itself.
    pub(crate) fn asked_done(&mut self, result: Result<DiskReply, DiskError>) -> Result<(), StoreError> {
        let Some(put) = self.commands.asked.waiting.front().cloned() else { return Ok(()) };
        if let Err(error) = result {
            self.folder.disk_failed(put.path(), &error, &mut self.pages.trees, self.cx.now);
            self.tell_asked(Err(error.to_string()));
            return Ok(());
        }
        match &put {
            Put::Away { path, .. } => match self.pages.trees.page_of(path) {
                Some(page) => put_away(self, &page, path),
                None => self.pages.copy_put_away(path, &mut self.cx)?,
            },
            Put::Text { path, text, why, .. } => {
                if is_canvas(path) {
                    on_core::core_command_wrote(self, path)?;
                }
                self.end_differences(path)?;
                let texts = (self.commands.asked.before, Some(ContentHash::of(text.as_bytes())));
                let page = self.pages.trees.page_of(path);
                let more = Detail { texts, other: why.clone(), ..Detail::default() };
                self.cx.note_act(path.clone(), page.as_ref(), ActKind::Restored, more);
            }
            Put::Name { from, to } => {
                let page = self.pages.trees.page_of(from);
                let more = Detail { other: Some(from.to_string()), ..Detail::default() };
                self.cx.note_act(to.clone(), page.as_ref(), ActKind::NamedBack, more);
            }
        }
        self.tell_asked(Ok(()));
        Ok(())
    }
}

/// A page's file went to the mirror's trash because a user takes the page back: no guard holds the deletion.
fn put_away(engine: &mut Engine, page: &PageId, path: &MirrorPath) {
    let (now, watch) = (engine.cx.now, &mut engine.folder.watch);
    engine.pages.file_vanished(page, path, now, watch, &mut engine.cx);
    engine.pages.trees.forget_file(path, watch, &mut engine.cx);
    engine.pages.trees.tidy_after(path, &mut engine.cx);
    engine.pages.edit_page(page, |node| node.approved = true, &mut engine.cx);
}

impl Trees {
    fn page_of(&self, path: &MirrorPath) -> Option<PageId> {
        self.files.get(path).and_then(|file| file.page.clone())
    }
}

/// Why a change may not be requested; `None` if it may.
fn refusal(put: &Put) -> Option<String> {
    let names = match put {
        Put::Text { path, .. } | Put::Away { path, .. } => vec![path],
        Put::Name { from, to } => vec![from, to],
    };
    let is_its = |path: &MirrorPath| {
        let is_copy = matches!(put, Put::Away { .. }) && naming::is_conflict_copy(path.name());
        is_copy || ignore::is_page_file(path.name()) || is_canvas(path)
    };
    let odd = names.into_iter().find(|path| !is_its(path));
    odd.map(|odd| format!("{odd} is not a page's file"))
}

/// Whether a path is, by its name, a canvas file's.
fn is_canvas(path: &MirrorPath) -> bool {
    crate::core::content::naming::may_be_items(path)
}
