//! The history: each version of a page that was seen, espejo's acts on it, and their retention. Each note is written in
//! the turn of its event, and none if nothing is new.

use crate::engine::state::history::{DAY_MS, believe};
use crate::engine::state::{Context, Engine, Pages, Parsed, Retention, Trees, Written};
use crate::markdown::{self, Allowed, front_matter};
use crate::model::{
    Agreed, Blocks, BodyJson, ContentHash, LocalFile, MirrorPath, Node, PageId, PendingUpdate, Timestamp,
    read_json, semantically_equal, undescribed,
};
use crate::store::{Act, ActKind, Side, Store, StoreError, Version, lineage};

/// How often expired versions are looked for.
const PURGE_EVERY_MS: i64 = 3_600_000;
/// The most versions deleted in one turn, which takes some milliseconds.
const PURGED_AT_ONCE: usize = 200;
/// How often bodies that nothing names any more are dropped. This walks over all of them.
const BODIES_EVERY_MS: i64 = DAY_MS;
/// The details of an act besides its kind and path.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    pub(crate) other: Option<String>,
    /// Before and after the act.
    pub(crate) bodies: (Option<ContentHash>, Option<ContentHash>),
    pub(crate) texts: (Option<ContentHash>, Option<ContentHash>),
}

/// These blocks of a page as its file would show them: in the words and marks of the last text that the user saved and
/// that reached the service, with its front matter. `None` if the history has no such text.
///
/// # Errors
/// [`StoreError`] when SQLite refuses.
pub fn in_own_words(store: &Store, page: &PageId, blocks: &Blocks) -> Result<Option<String>, StoreError> {
    let Some((text, body)) = store.last_sent(page)? else { return Ok(None) };
    // `log` reports an unreadable history. Here it costs only the formatting.
    let content = |hash| match store.content(hash) {
        Err(StoreError::Row(_)) => Ok(None),
        other => other,
    };
    let (Some(text), Some(json)) = (content(text)?, content(body)?) else { return Ok(None) };
    let (Ok(text), Ok(old)) = (String::from_utf8(text), read_json::<Blocks>(&json)) else {
        return Ok(None);
    };
    let Ok(split) = front_matter::split(&text) else { return Ok(None) };
    // Stand-ins may name another page's blocks, because the text was a copy's once.
    let body = if undescribed(&old).is_empty() && undescribed(blocks).is_empty() {
        markdown::patch(split.body, &old, blocks)
    } else {
        markdown::render(blocks).text
    };
    Ok(Some(text[..split.body_start].to_owned() + &body))
}

impl Engine {
    /// The time for deletions by age: a clock that has leapt ahead is believed a day later.
    #[must_use]
    pub fn believed_time(&self) -> Timestamp {
        self.pages.retention.believed.min(self.cx.now)
    }

    /// Deletes expired versions, a batch at a time, when there is nothing else to do.
    pub(crate) fn tend_history(&mut self) -> Result<(), StoreError> {
        self.settle_root()?;
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
        // An effect under way may name a body that no row names.
        if !more
            && self.cx.in_flight.flights.is_empty()
            && self.cx.in_flight.ready.is_none()
            && self.pages.retention.bodies_due <= self.cx.now
        {
            self.pages.retention.bodies_due = self.cx.now.plus_ms(BODIES_EVERY_MS);
            // A body that only an unwritten row names would be taken for unused.
            self.pages.trees.write_all_rows(&mut self.cx);
            self.cx.store.drop_unused_bodies();
            self.cx.store.drop_unused_contents()?;
        }
        Ok(())
    }
}

impl Context {
    /// Records that a fetch showed this body.
    pub(crate) fn saw_body(&mut self, node: &Node, content: &BodyJson) -> Result<(), StoreError> {
        let hash = Some(content.hash());
        if self.store.last_body(&node.id)? == hash {
            return Ok(());
        }
        let version = self.version(node, Side::Service, hash, None);
        self.store.add_version(&version, Some(content.as_str().as_bytes()), None);
        Ok(())
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
            title: node.remote.title.to_string(),
            body,
            text,
            sent: false,
        }
    }

    /// Records that a pending update has arrived. `node` is as it was before.
    pub(crate) fn sent_was(&mut self, node: &Node, sent: &PendingUpdate) -> Result<(), StoreError> {
        if sent.body != sent.before {
            let json = self.store.named_json(sent.body)?;
            let is_marked = sent.body == sent.local
                && self.store.mark_sent(&node.id, sent.text, json.as_str().as_bytes())?;
            if !is_marked {
                let version = self.version(node, Side::Merged, Some(sent.body), None);
                self.store.add_version(&version, Some(json.as_str().as_bytes()), None);
            }
            let bodies = (Some(sent.before), Some(sent.body));
            self.did(node, ActKind::Sent, Detail { bodies, ..Detail::default() });
        }
        let before = node.base.as_ref().map(|base| base.title.to_string());
        if sent.title.is_some() && sent.title != before {
            self.did(node, ActKind::Retitled, Detail { other: before, ..Detail::default() });
        }
        Ok(())
    }

    /// Records that a page was made for a file or a folder.
    pub(crate) fn made_was(&mut self, page: &PageId, path: &MirrorPath) {
        self.note_act(path.clone(), Some(page), ActKind::Made, Detail::default());
    }

    /// Keeps the bytes that a write will replace, for undo.
    pub(crate) fn keep_replaced(&mut self, bytes: &[u8]) {
        self.store.keep_for_undo(bytes);
    }

    /// Records an act on a page: undo starts from here.
    pub(crate) fn did(&mut self, node: &Node, kind: ActKind, more: Detail) {
        let known = node.file.as_ref().or(node.base.as_ref().map(|base| &base.path));
        let Some(path) = known.cloned() else { return };
        self.note_act(path, Some(&node.id), kind, more);
    }

    pub(crate) fn note_act(&mut self, path: MirrorPath, page: Option<&PageId>, kind: ActKind, more: Detail) {
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
        });
    }

    /// The exact blocks of a text that the user restored, if it is one.
    pub(crate) fn meaning_put_back(
        &self,
        text: ContentHash,
    ) -> Result<Option<crate::model::Blocks>, StoreError> {
        let json = self.store.meaning_of(text)?;
        json.map(|json| read_json(&json).map_err(|_| StoreError::Row("body"))).transpose()
    }

    /// The page's blocks instead of `blocks`, if the file says the same as the page although the base has neither: both
    /// sides made one change, or it was made and is not remembered. Read against the base, new content would be new
    /// twice.
    pub(crate) fn or_as_the_page(
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
    /// Records that a file was read. `is_sure`: it is certainly the file of the page that it is bound to, if it is
    /// bound to one.
    pub(crate) fn saw_file(
        &mut self,
        file: &LocalFile,
        bytes: &[u8],
        is_sure: bool,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let node = file.page.as_ref().and_then(|id| self.trees.pages.get(id)).cloned();
        // espejo's own writes and the base are known.
        if node.as_ref().and_then(|node| node.base.as_ref()).is_some_and(|base| base.text == file.hash) {
            return Ok(());
        }
        self.retention.keep_file(file, node.filter(|_| is_sure).as_ref(), bytes, cx)
    }

    /// Keeps the content of a page's file that is about to be replaced by a text that the user chose.
    pub(crate) fn keep_present(
        &mut self,
        path: &MirrorPath,
        bytes: &[u8],
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let Some(file) = self.trees.files.get(path).cloned() else { return Ok(()) };
        let node = file.page.as_ref().and_then(|id| self.trees.pages.get(id)).cloned();
        self.retention.keep_file(&file, node.as_ref(), bytes, cx)
    }

    /// Has an edit in the page's file read again against the page's new body.
    pub(crate) fn read_beside(&mut self, node: &Node) {
        let text = self.trees.file_of(node).and_then(|file| file.hash);
        if text.is_some() && node.base.as_ref().is_some_and(|base| base.text != text) {
            self.runtime(&node.id).parsed = None;
        }
    }
}

impl Retention {
    /// Keeps the content of a file, whether the user or espejo wrote it.
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
        cx.store.add_version(&version, None, Some(bytes));
        Ok(())
    }

    /// Gives the versions of a file from before it was a page's to its page.
    pub(crate) fn claim_past(&mut self, path: &MirrorPath, page: &PageId, cx: &mut Context) {
        if self.pageless.remove(path) {
            cx.store.claim_versions(path, page);
        }
    }

    /// Accepts the files of an older copy of the folder, because the user does.
    pub(crate) fn take_folder_as_it_is(&mut self, cx: &mut Context) {
        if self.folder_is_old.take().is_some() {
            cx.store.set_meta("folder_is_old", "no");
        }
    }

    /// When the next purge is due.
    pub(crate) fn next_purge(&self) -> Timestamp {
        self.due
    }
}

impl Trees {
    /// Records that a conflict copy was made of this text.
    pub(crate) fn copied_was(&self, page: &PageId, copy: &MirrorPath, text: ContentHash, cx: &mut Context) {
        let Some(node) = self.pages.get(page).cloned() else { return };
        let version = cx.version(&node, Side::Copy, None, Some(text));
        cx.store.add_version(&version, None, None);
        cx.did(&node, ActKind::Copied, Detail { other: Some(copy.to_string()), ..Detail::default() });
    }

    /// Records that a page is about to be forgotten because it, or its file, went to a trash.
    pub(crate) fn trashed_was(
        &self,
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
        cx.store.add_version(&version, json.as_deref().map(str::as_bytes), None);
        let kind = if side == Side::TrashHere { ActKind::TrashedHere } else { ActKind::TrashedThere };
        let more = Detail { bodies: (body, None), ..Detail::default() };
        if is_top {
            cx.did(&node, kind, more);
        }
        Ok(())
    }

    /// Records that a file was renamed because its page was, or was put back to where it was moved from.
    pub(crate) fn moved_was(&self, page: &PageId, from: &MirrorPath, reverts_move: bool, cx: &mut Context) {
        let Some(node) = self.pages.get(page).cloned() else { return };
        let kind = if reverts_move { ActKind::PutBack } else { ActKind::Renamed };
        cx.did(&node, kind, Detail { other: Some(from.to_string()), ..Detail::default() });
    }
}

/// Records that a page's file is written. The text before it was kept when the write was planned; without a base, what was
/// put aside for it is that text.
pub(crate) fn written_was(pages: &Pages, page: &PageId, path: &MirrorPath, what: &Written, cx: &mut Context) {
    let Some(mut node) = pages.trees.pages.get(page).cloned() else { return };
    let base = node.base.as_ref().map(|base| (base.body, base.text));
    if base.is_some_and(|(_, text)| text == Some(what.text)) {
        return;
    }
    let kind = if what.new { ActKind::Written } else { ActKind::Updated };
    node.file = Some(path.clone());
    // A file that comes back, or whose text was put aside, may be open in an editor that has the text from before it went.
    let before = match (base, text_aside(pages, page)) {
        (Some((body, text)), _) => (Some(body), text),
        (None, Some(aside)) => {
            cx.store.keep_body_json(&aside.content);
            (Some(aside.content.hash()), Some(aside.text))
        }
        (None, None) => match cx.store.keep_error(lineage::last_agreed(&cx.store, page)) {
            Some(Some((body, text))) if body != what.body => (Some(body), Some(text)),
            _ => (None, None),
        },
    };
    cx.store.note_written(page, what.body, what.text);
    if is_own_stamp(pages.trees.files.get(path), &node, what) {
        return;
    }
    let more =
        Detail { other: None, bodies: (before.0, Some(what.body)), texts: (before.1, Some(what.text)) };
    cx.did(&node, kind, more);
}

/// The text that the file of a page without a base had last.
pub(crate) fn text_aside<'a>(pages: &'a Pages, page: &PageId) -> Option<&'a Parsed> {
    pages.runtimes.get(page)?.parsed.as_deref()
}

/// Whether a write only replaced the page that a copied file named by its own: it is no change in the app.
fn is_own_stamp(file: Option<&LocalFile>, node: &Node, what: &Written) -> bool {
    let was_anothers = file.and_then(|file| file.claims.as_ref()).is_some_and(|id| *id != node.id);
    let is_same = |base: &Agreed| base.body == what.body && base.icon == what.icon;
    was_anothers && node.base.as_ref().is_some_and(is_same)
}
