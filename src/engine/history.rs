//! What is kept of the past: each version of a page as it is seen, what espejo did about it, and for how long. Each note
//! is written in the turn of the event that it is about, and none when nothing is new.

use std::collections::BTreeSet;

use super::Engine;
use super::context::Context;
use super::flight::Written;
use super::pages::Pages;
use super::trees::Trees;
use crate::markdown::{self, Allowed, front_matter};
use crate::model::{
    Blocks, BodyJson, ContentHash, Hold, LocalFile, MirrorPath, Node, PageId, PendingUpdate, Timestamp,
    read_json, semantically_equal, undescribed,
};
use crate::store::{Act, ActKind, Side, Store, StoreError, Version};

const DAY_MS: i64 = 86_400_000;
/// What is over is looked for this often.
const PURGE_EVERY_MS: i64 = 3_600_000;
/// As many versions go in one turn: some milliseconds.
const PURGED_AT_ONCE: usize = 200;
/// Bodies that nothing names any more are dropped this often; it takes a look at all of them.
const BODIES_EVERY_MS: i64 = DAY_MS;
/// The clock may have moved by this much since it was last seen without anybody wondering.
const LEAP_MS: i64 = 3 * DAY_MS;
/// Where it stands is noted this often.
const NOTE_EVERY_MS: i64 = DAY_MS / 4;

/// How long things are kept.
#[derive(Debug)]
pub(super) struct Retention {
    due: Timestamp,
    bodies_due: Timestamp,
    /// The time as far as it is believed.
    believed: Timestamp,
    /// Paths of versions that belong to no page yet.
    pub(super) pageless: BTreeSet<MirrorPath>,
    /// Since when the folder is an older copy than the one that was mirrored last.
    pub(super) folder_is_old: Option<Timestamp>,
}

/// What there is to say of an act besides what it was and where.
#[derive(Debug, Default)]
pub(super) struct Detail {
    pub(super) other: Option<String>,
    /// Before and after it.
    pub(super) bodies: (Option<ContentHash>, Option<ContentHash>),
    pub(super) texts: (Option<ContentHash>, Option<ContentHash>),
}

impl Retention {
    pub(super) fn new(store: &mut Store, now: Timestamp) -> Result<Self, StoreError> {
        let believed = believe(store, now)?;
        let folder_is_old = store.meta("folder_is_old")?.and_then(|at| at.parse().ok()).map(Timestamp);
        Ok(Self { due: now, bodies_due: now, believed, pageless: store.pageless_paths()?, folder_is_old })
    }
}

/// How far the clock is believed, for what is deleted by age. A clock that has leapt ahead by days since it was last
/// seen (a dead battery, a wrong date typed in) may leap back: what is old only by it stays for a day more.
fn believe(store: &mut Store, now: Timestamp) -> Result<Timestamp, StoreError> {
    let time = |text: Option<String>| text.and_then(|text| text.parse().ok()).map(Timestamp);
    let known = time(store.meta("clock_believed")?).filter(|known| *known <= now);
    let leapt = time(store.meta("clock_leapt")?).filter(|leapt| *leapt <= now);
    let since = known.map_or(i64::MAX, |known| now.since_ms(known));
    let is_leap = known.is_some() && since > LEAP_MS;
    if is_leap && leapt.is_none_or(|leapt| now.since_ms(leapt) < DAY_MS) {
        if leapt.is_none() {
            store.set_meta("clock_leapt", &now.0.to_string())?;
        }
        return Ok(known.unwrap_or(now));
    }
    if since >= NOTE_EVERY_MS {
        store.set_meta("clock_believed", &now.0.to_string())?;
        store.set_meta("clock_leapt", "")?;
    }
    Ok(now)
}

/// These blocks of a page as its file would say them: in the words and marks of the last text that a person saved and that
/// reached the service, with its front matter. `None` when the history has none.
///
/// # Errors
/// [`StoreError`] when SQLite refuses.
pub fn in_own_words(store: &Store, page: &PageId, blocks: &Blocks) -> Result<Option<String>, StoreError> {
    let Some((text, body)) = store.last_sent(page)? else { return Ok(None) };
    // What of the history cannot be read is told by `verify`; here it costs the formatting alone.
    let content = |hash| match store.content(hash) {
        Err(StoreError::Row(_)) => Ok(None),
        other => other,
    };
    let (Some(text), Some(json)) = (content(text)?, content(body)?) else { return Ok(None) };
    let (Ok(text), Ok(old)) = (String::from_utf8(text), read_json::<Blocks>(&json)) else {
        return Ok(None);
    };
    let Ok(split) = front_matter::split(&text) else { return Ok(None) };
    // Stand-ins may name another page's blocks: the text was a copy's once.
    let body = if undescribed(&old).is_empty() && undescribed(blocks).is_empty() {
        markdown::patch(split.body, &old, blocks)
    } else {
        markdown::render(blocks).text
    };
    Ok(Some(text[..split.body_start].to_owned() + &body))
}

impl Engine {
    /// The time for what is deleted by age: a clock that has leapt ahead is believed a day later.
    #[must_use]
    pub fn believed_time(&self) -> Timestamp {
        self.pages.retention.believed.min(self.cx.now)
    }

    /// Lets go of what has been kept for long enough, a little at a time, when there is nothing else to do.
    pub(super) fn tend_history(&mut self) -> Result<(), StoreError> {
        self.boards.settle_root(&self.pages.trees, &mut self.folder, &mut self.cx)?;
        if self.pages.retention.due > self.cx.now {
            return Ok(());
        }
        self.pages.retention.believed = believe(&mut self.cx.store, self.cx.now)?;
        let days = i64::from(self.cx.settings.pages.history_days);
        let before = self.believed_time().plus_ms(-days.saturating_mul(DAY_MS));
        let gone = self.cx.store.purge_history(before, PURGED_AT_ONCE)?;
        let more = gone == PURGED_AT_ONCE;
        self.pages.retention.due = self.cx.now.plus_ms(if more { 100 } else { PURGE_EVERY_MS });
        if gone > 0 {
            tracing::debug!(gone, "versions that are over are dropped");
        }
        // What is under way may name a body that no row names.
        if !more
            && self.cx.in_flight.flights.is_empty()
            && self.cx.in_flight.ready.is_none()
            && self.pages.retention.bodies_due <= self.cx.now
        {
            self.pages.retention.bodies_due = self.cx.now.plus_ms(BODIES_EVERY_MS);
            // What a row that is behind names would be taken for unused.
            self.pages.trees.write_all_rows(&mut self.cx)?;
            self.cx.store.drop_unused_bodies()?;
            self.cx.store.drop_unused_contents()?;
        }
        Ok(())
    }
}

impl Pages {
    /// A file was read whose text it has held before: after an older copy of the folder was put back, that is no edit.
    pub(super) fn hold_what_went_back(&mut self, page: &PageId, cx: &mut Context) -> Result<(), StoreError> {
        let Some(since) = self.retention.folder_is_old else { return Ok(()) };
        let Some(node) = self.trees.pages.get(page).cloned() else { return Ok(()) };
        let text = self.trees.file_of(&node).and_then(|file| file.hash);
        let agreed = node.base.as_ref().and_then(|base| base.text);
        if let Some(text) = text.filter(|text| Some(*text) != agreed)
            && cx.store.has_held(page, text, since)?
        {
            return self.park(page, Hold::WentBack, cx);
        }
        if node.parked.is_some_and(|parked| parked.hold == Hold::WentBack) {
            self.edit_page(page, |node| node.parked = None, cx)?;
        }
        Ok(())
    }
}

impl Context {
    /// A look showed this body.
    pub(super) fn saw_body(&mut self, node: &Node, content: &BodyJson) -> Result<(), StoreError> {
        let hash = Some(content.hash());
        if self.store.last_body(&node.id)? == hash {
            return Ok(());
        }
        let version = self.version(node, Side::Service, hash, None);
        self.store.add_version(&version, Some(content.as_str().as_bytes()), None)
    }

    fn version(
        &self,
        node: &Node,
        side: Side,
        body: Option<ContentHash>,
        text: Option<ContentHash>,
    ) -> Version {
        let path = node.file.as_ref().or(node.base.as_ref().map(|base| &base.path));
        Version {
            number: 0,
            page: Some(node.id.clone()),
            at: self.now,
            side,
            path: path.cloned(),
            title: node.remote.title.clone(),
            body,
            text,
            sent: false,
        }
    }

    /// What was sent has arrived. `node` is as it was before.
    pub(super) fn sent_was(&mut self, node: &Node, sent: &PendingUpdate) -> Result<(), StoreError> {
        if sent.body != sent.before {
            let json = self.store.named_json(sent.body)?;
            let is_marked = sent.body == sent.local
                && self.store.mark_sent(&node.id, sent.text, json.as_str().as_bytes())?;
            if !is_marked {
                let version = self.version(node, Side::Merged, Some(sent.body), None);
                self.store.add_version(&version, Some(json.as_str().as_bytes()), None)?;
            }
            let bodies = (Some(sent.before), Some(sent.body));
            self.did(node, ActKind::Sent, Detail { bodies, ..Detail::default() })?;
        }
        let before = node.base.as_ref().map(|base| base.title.clone());
        if sent.title.is_some() && sent.title != before {
            self.did(node, ActKind::Retitled, Detail { other: before, ..Detail::default() })?;
        }
        Ok(())
    }

    /// A page was made for a file, or a folder.
    pub(super) fn made_was(&mut self, page: &PageId, path: &MirrorPath) -> Result<(), StoreError> {
        self.note_act(path.clone(), Some(page), ActKind::Made, Detail::default())
    }

    /// Keeps the bytes that a write will replace, for undo.
    pub(super) fn keep_replaced(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.store.keep_for_undo(bytes)
    }

    /// Something was done about a page: undo starts from here.
    pub(super) fn did(&mut self, node: &Node, kind: ActKind, more: Detail) -> Result<(), StoreError> {
        let known = node.file.as_ref().or(node.base.as_ref().map(|base| &base.path));
        let Some(path) = known.cloned() else { return Ok(()) };
        self.note_act(path, Some(&node.id), kind, more)
    }

    pub(super) fn note_act(
        &mut self,
        path: MirrorPath,
        page: Option<&PageId>,
        kind: ActKind,
        more: Detail,
    ) -> Result<(), StoreError> {
        self.store.add_act(&Act {
            number: 0,
            at: self.now,
            kind,
            page: page.cloned(),
            path,
            other: more.other,
            body_before: more.bodies.0,
            body_after: more.bodies.1,
            text_before: more.texts.0,
            text_after: more.texts.1,
        })
    }

    /// The blocks that a text stands for exactly, if a person had it put back.
    pub(super) fn meaning_put_back(
        &self,
        text: ContentHash,
    ) -> Result<Option<crate::model::Blocks>, StoreError> {
        let json = self.store.meaning_of(text)?;
        json.map(|json| read_json(&json).map_err(|_| StoreError::Row("body"))).transpose()
    }

    /// What a file stands for when it says just what the page says, although the base knows neither: both sides made one
    /// change, or it was made and is not remembered. Read against the base, what is new in it would be new twice.
    pub(super) fn or_as_the_page(
        &mut self,
        node: &Node,
        text: &str,
        allowed: &Allowed,
        blocks: Blocks,
    ) -> Result<Blocks, StoreError> {
        let (Some(base), Some(remote)) = (&node.base, node.remote.body) else { return Ok(blocks) };
        if remote == base.body {
            return Ok(blocks);
        }
        let theirs = self.store.named_body(remote)?;
        let ids = &mut self.ids;
        let read = markdown::parse(text, &theirs, allowed, &mut || ids.next());
        Ok(if semantically_equal(&read, &theirs) { theirs } else { blocks })
    }
}

impl Pages {
    /// A file was read. `is_sure`: it is the file of the page that it is bound to, if it is bound to one.
    pub(super) fn saw_file(
        &mut self,
        file: &LocalFile,
        bytes: &[u8],
        is_sure: bool,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let node = file.page.as_ref().and_then(|id| self.trees.pages.get(id)).cloned();
        // What espejo wrote itself, or has been agreed on, is known.
        if node.as_ref().and_then(|node| node.base.as_ref()).is_some_and(|base| base.text == file.hash) {
            return Ok(());
        }
        self.retention.keep_file(file, node.filter(|_| is_sure).as_ref(), bytes, cx)
    }

    /// What the page's file holds is about to be replaced by a text that a person chose.
    pub(super) fn keep_present(
        &mut self,
        path: &MirrorPath,
        bytes: &[u8],
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let Some(file) = self.trees.files.get(path).cloned() else { return Ok(()) };
        let node = file.page.as_ref().and_then(|id| self.trees.pages.get(id)).cloned();
        self.retention.keep_file(&file, node.as_ref(), bytes, cx)
    }

    /// The page has another body: an edit in its file is read again beside it.
    pub(super) fn read_beside(&mut self, node: &Node) {
        let text = self.trees.file_of(node).and_then(|file| file.hash);
        if text.is_some() && node.base.as_ref().is_some_and(|base| base.text != text) {
            self.runtime(&node.id).parsed = None;
        }
    }
}

impl Retention {
    /// Keeps what a file holds, whoever wrote it.
    fn keep_file(
        &mut self,
        file: &LocalFile,
        node: Option<&Node>,
        bytes: &[u8],
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let page = node.map(|node| &node.id);
        if bytes.is_empty() || cx.store.last_text(page, &file.path)? == file.hash {
            return Ok(());
        }
        let version = match node {
            Some(node) => cx.version(node, Side::File, None, file.hash),
            None => Version {
                number: 0,
                page: None,
                at: cx.now,
                side: Side::File,
                path: Some(file.path.clone()),
                title: file.path.page_stem().unwrap_or_default().to_owned(),
                body: None,
                text: file.hash,
                sent: false,
            },
        };
        if node.is_none() {
            self.pageless.insert(file.path.clone());
        }
        cx.store.add_version(&version, None, Some(bytes))
    }

    /// A file is a page's: what was seen of it before is the page's past.
    pub(super) fn claim_past(
        &mut self,
        path: &MirrorPath,
        page: &PageId,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        if self.pageless.remove(path) {
            cx.store.claim_versions(path, page)?;
        }
        Ok(())
    }

    /// A person takes the files of an older copy of the folder as they are.
    pub(super) fn take_folder_as_it_is(&mut self, cx: &mut Context) -> Result<(), StoreError> {
        if self.folder_is_old.take().is_some() {
            cx.store.set_meta("folder_is_old", "no")?;
        }
        Ok(())
    }

    /// When there is more to let go of.
    pub(super) fn next_purge(&self) -> Timestamp {
        self.due
    }
}

impl Trees {
    /// A conflict copy was made of this text.
    pub(super) fn copied_was(
        &mut self,
        page: &PageId,
        copy: &MirrorPath,
        text: ContentHash,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let Some(node) = self.pages.get(page).cloned() else { return Ok(()) };
        let version = cx.version(&node, Side::Copy, None, Some(text));
        cx.store.add_version(&version, None, None)?;
        cx.did(&node, ActKind::Copied, Detail { other: Some(copy.to_string()), ..Detail::default() })
    }

    /// A page is about to be forgotten because it, or its file, went to a trash.
    pub(super) fn trashed_was(
        &mut self,
        page: &PageId,
        side: Side,
        is_top: bool,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let Some(node) = self.pages.get(page).cloned() else { return Ok(()) };
        let body = node.remote.body.or(node.base.as_ref().map(|base| base.body));
        let text = self.file_of(&node).and_then(|file| file.hash);
        let json = match body {
            Some(hash) => cx.store.body_json(hash)?,
            None => None,
        };
        let version = cx.version(&node, side, body, text);
        cx.store.add_version(&version, json.as_deref().map(str::as_bytes), None)?;
        let kind = if side == Side::TrashHere { ActKind::TrashedHere } else { ActKind::TrashedThere };
        let more = Detail { bodies: (body, None), ..Detail::default() };
        if is_top { cx.did(&node, kind, more) } else { Ok(()) }
    }

    /// A page's file is about to be recorded as written. The text before it was kept when the write was planned.
    pub(super) fn written_was(
        &mut self,
        page: &PageId,
        path: &MirrorPath,
        what: &Written,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let Some(mut node) = self.pages.get(page).cloned() else { return Ok(()) };
        let base = node.base.as_ref().map(|base| (base.body, base.text));
        if base.is_some_and(|(_, text)| text == Some(what.text)) {
            return Ok(());
        }
        let kind = if what.new { ActKind::Written } else { ActKind::Updated };
        node.file = Some(path.clone());
        cx.store.note_written(page, what.body, what.text)?;
        let more = Detail {
            other: None,
            bodies: (base.map(|(body, _)| body), Some(what.body)),
            texts: (base.and_then(|(_, text)| text), Some(what.text)),
        };
        cx.did(&node, kind, more)
    }

    /// A file was renamed because its page was, or put back where it was moved from.
    pub(super) fn moved_was(
        &mut self,
        page: &PageId,
        from: &MirrorPath,
        reverts_move: bool,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let Some(node) = self.pages.get(page).cloned() else { return Ok(()) };
        let kind = if reverts_move { ActKind::PutBack } else { ActKind::Renamed };
        cx.did(&node, kind, Detail { other: Some(from.to_string()), ..Detail::default() })
    }
}
