//! The texts of files: parsing blocks out of them, writing pages into them, splicing changes.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::items::Verb;
use crate::engine::content::history::{in_own_words, text_aside, written_was};
use crate::engine::content::offload::{self, Patch, Printing};
use crate::engine::content::stale::go_back_to_ancestor;
use crate::engine::content::stand_ins::{blocks_in, items_in};
use crate::engine::content::writers;
use crate::engine::state::{
    Choice, Context, Folder, Offload, Pages, Parsed, Purpose, Question, Trees, Watching, Way, Written, named,
};
use crate::markdown::{self, Allowed, front_matter};
use crate::model::{
    Agreed, BodyJson, ContentHash, Effect, Expect, FileRead, Hold, LocalFile, MirrorPath, Node, PageId,
    Stamp, Work, Worked, WorkspaceId, block_ids, guarded, lines, planted, semantically_equal, undescribed,
};
use crate::plan::apart::Apart;
use crate::plan::place;
use crate::store::{PendingWrite, Store, StoreError, blocks_of};

/// About how much longer the JSON of a content is than its text.
pub(crate) const JSON_OF_TEXT: usize = 4;

/// The state of the work on a text that may be long.
enum Long<T> {
    /// The text is not long, or the work must be done here.
    No,
    /// This effect comes next, and nothing else until its answer is there.
    Asked(Box<(Effect, Purpose)>),
    /// The result of a job.
    Found(T),
}

impl Pages {
    /// Parses a file, given its former content.
    pub(crate) fn interpret(
        &mut self,
        page: &PageId,
        look: &FileRead,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let Some(node) = self.trees.pages.get(page).cloned() else { return Ok(()) };
        let Some(file) = self.trees.files.get(&look.path).cloned() else { return Ok(()) };
        let text_hash = ContentHash::of(&look.bytes);
        let Ok(text) = std::str::from_utf8(&look.bytes) else { return Ok(()) };
        let Ok(split) = front_matter::split(text) else { return Ok(()) };
        let mut node = node;
        if let Some(writing) = self.pending_writes.get(page).cloned() {
            self.end_writing(page, cx);
            // The last run was killed between this write and its record.
            let stands = writing.text == text_hash;
            if let Some(mut base) = node.base.clone()
                // If the file still has the text of the base, nothing was written.
                && (stands
                    || base.text != Some(text_hash) && cx.rests_on(&writing, base.body, split.body)?)
            {
                base.body = writing.body;
                // A base without a text: the write merged the body into edits that may not be sent.
                base.text = base.text.map(|_| writing.text);
                let is_merged = base.text.is_none();
                base.icon = writing.icon;
                if stands {
                    base.front_title = file.front_title.clone();
                }
                node.base = Some(base.clone());
                self.edit_page(page, |node| node.base = Some(base), cx);
                if stands && !is_merged {
                    return Ok(());
                }
            }
        }
        if node.base.as_ref().is_some_and(|base| base.text == Some(text_hash))
            && !self.pending_updates.contains_key(page)
        {
            // The content of the file is the base.
            if let Some(runtime) = self.runtimes.get_mut(page) {
                runtime.parsed = None;
            }
            return Ok(());
        }
        // Ids of new blocks in a pending update are used again, or a lost answer would double every new block.
        let identity = match (self.pending_updates.get(page), &node.base) {
            (Some(sent), _) => Some(sent.local),
            (None, Some(base)) => Some(base.body),
            (None, None) => node.remote.body,
        };
        let Some(base_hash) = identity else { return Ok(()) };
        let long = self.read_long(&node, &file, (text_hash, split.body), base_hash, cx)?;
        let content = match long {
            Long::Asked(first) => {
                cx.in_flight.ready = Some(*first);
                // The user saved again before the text was parsed: the former parsed content is out of date.
                self.runtime(page).parsed = None;
                return Ok(());
            }
            Long::Found(content) => content,
            Long::No => guarded(|| self.read_text(&node, &file, (text_hash, split.body), base_hash, cx))??,
        };
        // If the content means the same as the base or the service's body, that one is used: the hash is then equal
        // whatever the key order.
        let content = guarded(|| cx.as_known(&node, content))??;
        if go_back_to_ancestor(self, page, look, &content, cx)? {
            return self.interpret(page, look, cx);
        }
        self.offload.tell_differences(&node, &look.path, text, &split, &content, cx)?;
        self.runtime(page).parsed = Some(Box::new(Parsed { text: text_hash, content }));
        Ok(())
    }

    /// Has a long text parsed by a job, if its content depends only on its page's own blocks.
    fn read_long(
        &mut self,
        node: &Node,
        file: &LocalFile,
        (hash, text): (ContentHash, &str),
        before: ContentHash,
        cx: &mut Context,
    ) -> Result<Long<BodyJson>, StoreError> {
        let page = &node.id;
        let (agreed, remote) = (node.base.as_ref().map(|base| base.body), node.remote.body);
        if !self.offload.is_long(text.len() * JSON_OF_TEXT)
            || self.pending_updates.get(page).is_some_and(|sent| sent.text == hash)
            || file.copied_from_page.is_some()
            || agreed.is_some() && remote.is_some() && agreed != remote
            || cx.meaning_put_back(hash)?.is_some()
        {
            return Ok(Long::No);
        }
        let question = Question::Parsed { text: hash, before };
        match self.offload.worked_out(page, &question) {
            Some(Some(Worked::Body(content))) => return Ok(Long::Found(content)),
            None if cx.in_flight.ready.is_none() => {}
            _ => return Ok(Long::No),
        }
        let work = offload::Parsed {
            text: text.to_owned(),
            before: cx.store.named_json(before)?,
            stand_ins: blocks_in(&cx.store, &node.workspace, text, &[])?,
            allowed: self.allowed_in(&node.workspace, cx)?.with_items(items_in(
                &cx.store,
                &node.workspace,
                text,
            )?),
            ids: cx.ids.fork(),
        };
        Ok(Long::Asked(Box::new(offload::ask(page, question, work))))
    }

    pub(crate) fn materialise(
        &mut self,
        node: &Node,
        folder: &mut Folder,
        cx: &mut Context,
    ) -> Result<Choice, StoreError> {
        if !folder.watch.is_told() {
            // Its file may be one that was just seen and not read yet.
            return Ok(None);
        }
        if self.awaits_creation(node) {
            self.dirty.remove(&node.id);
            return Ok(None);
        }
        if self.adopt_by_place(node, folder, cx) {
            return Ok(None);
        }
        let Some(path) = self.trees.layout().belongs(node) else {
            self.dirty.remove(&node.id);
            return Ok(None);
        };
        let Some(body) = node.remote.body else { return Ok(None) };
        let content = cx.store.named_json(body)?;
        let is_long = self.offload.is_long(content.as_str().len()) && cx.store.last_sent(&node.id)?.is_none();
        let printing = is_long.then(|| Printing(content.clone()));
        let text = match self.offload.text_beside(&node.id, Question::Printing { body }, printing) {
            Long::Asked(first) => return Ok(Some(*first)),
            Long::Found(text) => text,
            Long::No => {
                // The file may have existed before: then it comes back as the user wrote it.
                let blocks = blocks_of(&content)?;
                let own = guarded(|| in_own_words(&cx.store, &node.id, &blocks))??;
                let allowed = self.allowed_in(&node.workspace, cx)?;
                match own {
                    Some(own) => own,
                    None => guarded(|| markdown::render_for(&blocks, &allowed).text)?,
                }
            }
        };
        let front_title = place::front_title_for(&path, &node.remote.title).or_else(|| {
            let front = front_matter::split(&text).ok()?.front?;
            front.title.filter(|written| **written == *node.remote.title).map(|_| node.remote.title.clone())
        });
        let icon = node.remote.icon.as_deref();
        let Ok(text) = named::set(&text, &node.id, front_title.as_deref(), icon, (&self.trees, &cx.store))
        else {
            self.park(&node.id, Hold::Unwritable("its Markdown cannot have front matter".to_owned()), cx);
            return Ok(None);
        };
        let written = Written {
            text: ContentHash::of(text.as_bytes()),
            body,
            icon: node.remote.icon.clone(),
            front_title,
            claims: Some(node.id.clone()),
            new: true,
            own: None,
        };
        let purpose = Purpose::Write { page: node.id.clone(), path: path.clone(), written };
        let stands = path.parent().is_some_and(|folder| self.trees.folders.contains(&folder));
        let expect = if stands { Expect::AbsentHere } else { Expect::Absent };
        Ok(Some((Effect::WriteFile { path, bytes: text.into_bytes(), expect }, purpose)))
    }

    /// Splices the service's body, title and icon into the bytes just read.
    pub(crate) fn splice(
        &mut self,
        page: &PageId,
        look: &FileRead,
        folder: &mut Folder,
        cx: &mut Context,
    ) -> Result<Choice, StoreError> {
        let Some(node) = self.trees.pages.get(page).cloned() else { return Ok(None) };
        let (Some(base), Some(file)) = (node.base.clone(), self.trees.file_of(&node).cloned()) else {
            return Ok(None);
        };
        let hash = ContentHash::of(&look.bytes);
        if file.path == look.path
            && file.hash == Some(hash)
            && base.text != Some(hash)
            && !self.trees.may(&node, Verb::Write, cx)
        {
            return self.merge_down(&node, (&base, &file), look, &mut folder.watch, cx);
        }
        if file.path != look.path || base.text != Some(hash) && !planted("splice-over-edit") {
            // The user saved in between: that edit comes first.
            if writers::waits(look, &self.trees, &mut folder.watch, cx)? {
                return Ok(None);
            }
            self.take_in_file(look, folder, cx)?;
            if !folder.watch.is_told() {
                folder.watch.scan_by(cx.now);
            }
            return Ok(None);
        }
        if let Some(copy) = self.trees.lost_copy_of(look, hash, cx)? {
            return Ok(Some(copy));
        }
        let Ok(text) = std::str::from_utf8(&look.bytes) else { return Ok(None) };
        let Ok(split) = front_matter::split(text) else { return Ok(None) };
        let body = node.remote.body.unwrap_or(base.body);
        let (from, to) = (cx.store.named_json(base.body)?, cx.store.named_json(body)?);
        if from != to {
            // The messages about the former text end. The new text gets its own.
            cx.store.drop_lasting_notices(look.path.as_str(), cx.now);
        }
        let mut out = text[..split.body_start].to_owned();
        let is_copy = file.claims.is_some() && file.claims == file.copied_from_page;
        let is_long = !is_copy && self.offload.is_long(from.as_str().len() + to.as_str().len());
        let work = is_long.then(|| Patch { text: split.body.to_owned(), from: from.clone(), to: to.clone() });
        match self.offload.text_beside(page, Question::Patch { text: hash, from: base.body, to: body }, work)
        {
            Long::Asked(first) => return Ok(Some(*first)),
            Long::Found(patched) => out.push_str(&patched),
            Long::No => {
                let (old, new) = (blocks_of(&from)?, blocks_of(&to)?);
                let allowed = self.allowed_in(&node.workspace, cx)?;
                out += &guarded(|| match is_copy && !undescribed(&new).is_empty() {
                    // The copy's stand-ins still name the original's blocks.
                    true => markdown::render_for(&new, &allowed).text,
                    false => markdown::patch_for(split.body, &old, &new, &allowed),
                })?;
            }
        }
        let own_icon = split.front.as_ref().and_then(|front| front.icon.as_ref());
        let front = (own_icon, split.front.is_some());
        let Some(fronted) = self.fronted(&node, (&base, &file), front, out, cx) else { return Ok(None) };
        let out = fronted.text;
        if from != to
            && let Ok(split) = front_matter::split(&out)
        {
            self.offload.tell_differences(&node, &look.path, &out, &split, &to, cx)?;
        }
        let written = Written {
            text: ContentHash::of(out.as_bytes()),
            body,
            icon: node.remote.icon.clone(),
            front_title: fronted.front_title,
            claims: fronted.claims,
            new: false,
            own: None,
        };
        if written.text == hash {
            self.written(page, &look.path, written, look.stamp, &mut folder.watch, cx);
            return Ok(None);
        }
        let writing = PendingWrite {
            page: page.clone(),
            text: written.text,
            body: written.body,
            icon: written.icon.clone(),
        };
        cx.keep_replaced(&look.bytes);
        if !planted("splice-not-noted") {
            cx.store.save_writing(&writing);
        }
        self.pending_writes.insert(page.clone(), writing);
        let purpose = Purpose::Write { page: page.clone(), path: look.path.clone(), written };
        let effect = Effect::WriteFile {
            path: look.path.clone(),
            bytes: out.into_bytes(),
            expect: Expect::Content(hash),
        };
        Ok(Some((effect, purpose)))
    }

    pub(crate) fn written(
        &mut self,
        page: &PageId,
        path: &MirrorPath,
        what: Written,
        stamp: Stamp,
        watch: &mut Watching,
        cx: &mut Context,
    ) {
        self.end_writing(page, cx);
        let says = what.own.as_ref().map_or(what.body, BodyJson::hash);
        let is_over_text = !what.new || text_aside(self, page).is_some();
        written_was(self, page, path, &Written { body: says, ..what.clone() }, cx);
        let Some(node) = self.trees.pages.get(page) else {
            watch.scan_by(cx.now);
            return;
        };
        let waited = self.trees.layout().waited_folder(node, path);
        let is_as_promised = node.base.is_none()
            && waited.is_none()
            && node.stem.as_deref() == path.page_stem()
            && self.trees.layout().belongs(node).as_ref() == Some(path);
        let file = LocalFile {
            path: path.clone(),
            page: Some(page.clone()),
            stamp,
            hash: Some(what.text),
            claims: what.claims.clone(),
            copied_from_page: None,
            front_title: what.front_title.clone(),
            problem: None,
            racy: true,
        };
        if is_over_text {
            self.runtime(page).saves.wrote(cx.now);
        }
        watch.last_seen.insert(path.clone(), stamp);
        self.save_file(file);
        self.trees.folders.extend(path.parent());
        let words = if what.new { "new page" } else { "updated from the service" };
        let mut differs = what.new;
        self.edit_page(
            page,
            |node| {
                node.file = Some(path.clone());
                node.missing_since = None;
                node.missing_from = None;
                differs |= node.base.as_ref().is_none_or(|base| base.body != what.body);
                match &mut node.base {
                    Some(base) => {
                        base.body = what.body;
                        // Content of the file beyond that is not in the base.
                        base.text = what.own.is_none().then_some(what.text);
                        base.icon.clone_from(&what.icon);
                        // The title just written may wait for the rename that goes with it.
                        base.front_title.clone_from(&what.front_title);
                    }
                    None => {
                        node.stem = path.page_stem().map(Into::into);
                        node.base = Some(Agreed {
                            parent: node.remote.parent.clone(),
                            title: node.remote.title.clone(),
                            icon: what.icon,
                            body: what.body,
                            text: Some(what.text),
                            front_title: what.front_title,
                            path: path.clone(),
                            folder_at: waited,
                        });
                    }
                }
            },
            cx,
        );
        if let Some(content) = what.own {
            self.runtime(page).parsed = Some(Box::new(Parsed { text: what.text, content }));
        }
        if differs {
            cx.log_activity(Way::Down, path, words);
        }
        if what.new && is_as_promised {
            // For other pages it existed already: its name was reserved, and its folder stood for it.
            self.mark_dirty_beneath(page, path);
        } else if what.new {
            self.mark_all_dirty();
        }
    }
}

impl Offload {
    /// A text that a job makes if it is long: then `work` is given.
    fn text_beside(
        &mut self,
        page: &PageId,
        question: Question,
        work: Option<impl Work + 'static>,
    ) -> Long<String> {
        let Some(work) = work else { return Long::No };
        match self.worked_out(page, &question) {
            Some(Some(Worked::Text(text))) => Long::Found(text),
            Some(_) => Long::No,
            None => Long::Asked(Box::new(offload::ask(page, question, work))),
        }
    }
}

impl Pages {
    /// Parses a text, given its former content.
    fn read_text(
        &self,
        node: &Node,
        file: &LocalFile,
        (text_hash, text): (ContentHash, &str),
        before: ContentHash,
        cx: &mut Context,
    ) -> Result<BodyJson, StoreError> {
        let page = &node.id;
        let mut base = cx.store.named_body(before)?;
        let items = items_in(&cx.store, &node.workspace, text)?;
        let allowed = self.allowed_in(&node.workspace, cx)?.with_items(items);
        let same_as_sent = self.pending_updates.get(page).is_some_and(|sent| sent.text == text_hash);
        let copied = file.copied_from_page.as_ref().filter(|_| base.is_empty());
        let blocks = if same_as_sent {
            base.clone()
        } else if let Some(original) =
            copied.and_then(|id| self.trees.pages.get(id)).and_then(|n| n.base.clone())
        {
            // The original may have other blocks by now, and the copy its former ones.
            let mut original = cx.store.named_body(original.body)?;
            let stand_ins = blocks_in(&cx.store, &node.workspace, text, &original)?;
            markdown::add_stand_ins(&mut original, stand_ins);
            let ids = &mut cx.ids;
            let parsed = markdown::parse_taking(text, original, &allowed, &mut || ids.next());
            markdown::with_new_ids(&parsed, &mut || ids.next())
        } else if let Some(blocks) = cx.meaning_put_back(text_hash)? {
            blocks
        } else {
            let stand_ins = blocks_in(&cx.store, &node.workspace, text, &base)?;
            let known = block_ids(&base).into_iter().map(str::to_owned).collect();
            markdown::add_stand_ins(&mut base, stand_ins);
            let ids = &mut cx.ids;
            let read = markdown::parse_taking(text, base, &allowed, &mut || ids.next());
            cx.with_returned(node, file, (text_hash, text), before, &known, read)?
        };
        let mut blocks = cx.or_as_the_page(node, text, &allowed, blocks)?;
        if planted("unknown-blocks-dropped") {
            blocks.retain(|block| undescribed(std::slice::from_ref(block)).is_empty());
        }
        Ok(BodyJson::of(&blocks))
    }

    /// What may be created in a workspace: what the API describes, what the config names, and what its pages are
    /// known to have had.
    pub(crate) fn allowed_in(&self, workspace: &WorkspaceId, cx: &Context) -> Result<Allowed, StoreError> {
        if let Some(allowed) = self.allowed.get(workspace) {
            return Ok(allowed.clone());
        }
        allowed_in(&cx.store, workspace, &cx.settings.pages.blocks)
    }

    /// Ends the pending write to a page's file, if there is one.
    pub(crate) fn end_writing(&mut self, page: &PageId, cx: &mut Context) {
        if self.pending_writes.remove(page).is_some() {
            cx.store.delete_writing(page);
        }
    }
}

impl Context {
    /// The known content instead of `content`, if it means the same.
    fn as_known(&self, node: &Node, content: BodyJson) -> Result<BodyJson, StoreError> {
        let agreed = node.base.as_ref().map(|base| base.body);
        for known in agreed.into_iter().chain(node.remote.body.filter(|body| Some(*body) != agreed)) {
            if known == content.hash() {
                break;
            }
            let there = self.store.named_json(known)?;
            let is_equal = match Apart::of(there.as_str(), content.as_str()) {
                Some(apart) => apart.is_equal(),
                None => semantically_equal(&blocks_of(&there)?, &blocks_of(&content)?),
            };
            if is_equal {
                return Ok(there);
            }
        }
        Ok(content)
    }

    /// Whether a text is one that was written but not recorded, and edited since. It has every word that the write
    /// brought, and none that the write removed, so that no word of the service is taken for the user's, or for
    /// deleted. If the edit touched what the write brought, runs of words decide: the text must have more runs that
    /// only the new body has than runs that only the old body has.
    fn rests_on(&self, writing: &PendingWrite, base: ContentHash, text: &str) -> Result<bool, StoreError> {
        let lines = |body| Ok::<_, StoreError>(lines(&self.store.named_body(body)?));
        let (before, after) = (lines(base)?, lines(writing.body)?);
        if has_all_of(&counted(&before), &counted(&after), &counted(text)) {
            return Ok(true);
        }
        let (before, after, now) = (runs(&before), runs(&after), runs(text));
        let shared =
            |one: &BTreeSet<Run<'_>>, other| one.difference(other).filter(|run| now.contains(*run)).count();
        Ok(shared(&after, &before) > shared(&before, &after))
    }
}

/// What may be created in a workspace: what the API describes, what the config names, and what its pages showed.
///
/// # Errors
/// [`StoreError`] when the state cannot be read.
pub fn allowed_in(store: &Store, workspace: &WorkspaceId, named: &[String]) -> Result<Allowed, StoreError> {
    let mut allowed = Allowed::named(named);
    match store.learned(workspace)? {
        Some(summary) => allowed.take_up(&summary).map_err(|_| StoreError::Row("learned"))?,
        None => store.each_stand_in(workspace, |block| {
            allowed.learn(std::slice::from_ref(&block));
        })?,
    }
    Ok(allowed)
}

/// Whether the front matter of a file must change. Its title is what the name cannot say, or what the user wrote there
/// and is true.
pub(crate) fn front_is_stale(file: &LocalFile, path: &MirrorPath, node: &Node, trees: &Trees) -> bool {
    let is_anothers = named::page_in(file, trees).is_some_and(|claims| *claims != node.id);
    is_anothers || file.front_title != place::wanted_front_title(file, path, &node.remote.title)
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// A run of words that is seldom typed twice by chance.
type Run<'t> = [&'t str; 3];

/// The runs within a line or a cell: what follows may be another block in one of the texts.
fn runs(text: &str) -> BTreeSet<Run<'_>> {
    let of = |line| words(line).windows(3).map(|run| [run[0], run[1], run[2]]).collect::<Vec<_>>();
    text.split(['\n', '|']).flat_map(of).collect()
}

/// The number of times that each word is in a text.
fn counted(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for word in words(text) {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

/// Whether every word that came is there, and every word that went is not; `false` if no word came or went.
fn has_all_of(
    before: &BTreeMap<&str, usize>,
    after: &BTreeMap<&str, usize>,
    now: &BTreeMap<&str, usize>,
) -> bool {
    let count = |words: &BTreeMap<&str, usize>, word| words.get(word).copied().unwrap_or(0);
    let mut changed = before.keys().chain(after.keys()).filter_map(|word| {
        let (was, is) = (count(before, word), count(after, word));
        (was != is).then(|| if is > was { count(now, word) >= is } else { count(now, word) <= is })
    });
    changed.next().is_some_and(|first| first && changed.all(|same| same))
}
