//! Long work on a worker thread: a page of thousands of blocks is read and printed while other work goes on.
//!
//! Nothing waits for a particular job. A page without the answer asks the question, and is decided again when the
//! answer is there. An answer is valid for exactly its question, which names the inputs by their hashes, so a page that
//! changes meanwhile gets no stale answer.

use std::collections::BTreeSet;

use crate::engine::content::faults::hold_failed_job;
use crate::engine::state::ids::Ids;
use crate::engine::state::{Context, Engine, Pages, Purpose, Question, Watching};
use crate::markdown::{self, Allowed};
use crate::model::{
    Blocks, BodyJson, Effect, Fault, Job, MergedBody, PageId, Work, Worked, planted, semantically_equal,
    undescribed,
};
use crate::plan::merge::{self, Merge, Versions};
use crate::store::Checkpoint;

impl Engine {
    /// Offloads work on bodies of at least `from` bytes of JSON. The driver must then perform [`Effect::Work`].
    pub fn work_beside(&mut self, from: usize) {
        self.pages.offload.from = Some(from);
    }

    /// The checkpoint of the state's log, if one is due: the driver of a store that leaves them to it
    /// ([`Store::checkpoint_beside`](crate::store::Store::checkpoint_beside)) performs it.
    #[must_use]
    pub fn due_checkpoint(&self) -> Option<Checkpoint> {
        self.cx.store.due_checkpoint()
    }
}

impl Pages {
    /// Receives the answer of a job: its page is decided again.
    pub(crate) fn worked(
        &mut self,
        page: PageId,
        question: Question,
        worked: Result<Option<Worked>, Fault>,
        watch: &Watching,
        cx: &mut Context,
    ) {
        let Ok(worked) = worked else { return hold_failed_job(self, &page, &question, cx) };
        if let Question::Parsed { .. } = question
            && cx.in_flight.ready.is_none()
            && let Some(path) = self.trees.pages.get(&page).and_then(|node| node.file.clone())
            && !watch.is_unread(&path)
        {
            // Before other files are read: their parsed contents would be held for long.
            cx.in_flight.ready = Some((Effect::ReadFile(path.clone()), Purpose::Read { path }));
        }
        self.mark_dirty(&page);
        self.offload.found.insert(page, (question, worked));
    }

    /// Drops answers that will not be used: the page is not to be decided, and its file not to be read.
    pub(crate) fn forget_worked(&mut self, watch: &Watching) {
        if self.offload.found.is_empty() {
            return;
        }
        let Pages { trees, dirty, request_queue, offload, .. } = self;
        let is_unread = |page: &PageId| {
            let file = trees.pages.get(page).and_then(|node| node.file.as_ref());
            file.is_some_and(|path| watch.is_unread(path))
        };
        let is_used = |page: &PageId| {
            dirty.contains(page) || is_unread(page) || request_queue.pressing().contains_key(page)
        };
        offload.found.retain(|page, _| is_used(page));
    }
}

/// The effect that has a question answered by a job.
pub(crate) fn ask(page: &PageId, question: Question, work: impl Work + 'static) -> (Effect, Purpose) {
    (Effect::Work(Job::new(work)), Purpose::Work { page: page.clone(), question })
}

/// See [`Question::Parsed`].
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) text: String,
    pub(crate) before: BodyJson,
    /// The blocks behind the stand-ins of the text, of this page or another.
    pub(crate) stand_ins: Blocks,
    pub(crate) allowed: Allowed,
    pub(crate) ids: Ids,
}

impl Work for Parsed {
    fn run(&self) -> Option<Worked> {
        let mut ids = self.ids.clone();
        if self.stand_ins.is_empty() {
            let new_id = &mut || ids.next();
            let content = markdown::parse_content(&self.text, &self.before, &self.allowed, new_id);
            return Some(Worked::Body(content.ok()?));
        }
        let mut before = self.before.blocks().ok()?;
        let own: BTreeSet<String> = undescribed(&before).into_iter().map(|(id, _)| id.to_owned()).collect();
        let is_own = |block: &serde_json::Value| block["id"].as_str().is_some_and(|id| own.contains(id));
        let stand_ins = self.stand_ins.iter().filter(|block| !is_own(block));
        markdown::add_stand_ins(&mut before, stand_ins.cloned());
        let blocks = markdown::parse_taking(&self.text, before, &self.allowed, &mut || ids.next());
        Some(Worked::Body(BodyJson::of(&blocks)))
    }
}

/// See [`Question::Printing`].
#[derive(Debug)]
pub(crate) struct Printing(pub(crate) BodyJson);

impl Work for Printing {
    fn run(&self) -> Option<Worked> {
        Some(Worked::Text(markdown::text_of(&self.0).ok()?))
    }
}

/// See [`Question::Patch`].
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) text: String,
    pub(crate) from: BodyJson,
    pub(crate) to: BodyJson,
}

impl Work for Patch {
    fn run(&self) -> Option<Worked> {
        Some(Worked::Text(markdown::patched(&self.text, &self.from, &self.to).ok()?))
    }
}

/// See [`Question::Merge`].
#[derive(Debug)]
pub(crate) struct Merging {
    pub(crate) base: BodyJson,
    pub(crate) remote: BodyJson,
    pub(crate) local: BodyJson,
}

impl Merging {
    pub(crate) fn question(&self) -> Question {
        Question::Merge { base: self.base.hash(), remote: self.remote.hash(), local: self.local.hash() }
    }

    /// The size of the longest version, in bytes of JSON.
    pub(crate) fn size(&self) -> usize {
        [&self.base, &self.remote, &self.local].map(|body| body.as_str().len()).into_iter().max().unwrap_or(0)
    }

    /// Merges the versions here and now.
    pub(crate) fn merged(&self) -> serde_json::Result<MergedBody> {
        let versions = Versions::read(&self.base, &self.remote, &self.local)?;
        let Merge { mut blocks, collisions } =
            merge::merge(&versions.base, &versions.remote, &versions.local);
        if !collisions.is_empty() && planted("collision-keeps-local") {
            blocks.clone_from(&versions.local);
        }
        let is_news = !semantically_equal(&blocks, &versions.remote);
        Ok(MergedBody {
            content: is_news.then(|| versions.print(&blocks)),
            blocks: versions.without_stand_ins(&blocks),
            base: versions.without_stand_ins(&versions.base),
            remote: versions.without_stand_ins(&versions.remote),
            collision: collisions.first().map(merge::collision_summary),
            is_partial: versions.has_stand_ins(),
        })
    }
}

impl Work for Merging {
    fn run(&self) -> Option<Worked> {
        Some(Worked::Merge(Box::new(self.merged().ok()?)))
    }
}
