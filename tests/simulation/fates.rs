//! The promises about what goes away and what comes back: deletions on either side, retries, and old text that an open
//! editor puts over a push.

use std::collections::{BTreeMap, BTreeSet};

use espejo::model::{Blocks, Effect, PageId, ServiceError, StorageEffect};
use espejo::plan::evidence::{self, Ids};

use crate::blocks::{all_words, sent};
use crate::checks::{Failure, broken};
use crate::folder::Folder;
use crate::service::Service;
use crate::stored::key_of as stored_key_of;
use crate::words::{Ledger, Word};

/// A DELETE rests on looks at most this old, and on older ones by this much for each page that goes with it: looks at
/// many take their time.
const LOOK_TO_DELETE_MS: (i64, i64) = (75_000, 12_000);
/// A DELETE rests on a list that was answered at most three seconds before, and an answer may take nine: a page that came
/// to stand beneath the one that is deleted goes with it.
const LIST_TO_DELETE_MS: i64 = 13_000;
/// Deletions within this time are one deletion.
const TOGETHER_MS: i64 = 60_000;
/// What failed is not asked again sooner.
const PATIENCE_MS: i64 = 400;
/// For this long after a push espejo promises to notice that its opposite was put back.
const PUT_BACK_MS: i64 = 590_000;

/// What was pushed to a page last.
#[derive(Debug)]
struct Push {
    before: Blocks,
    after: Blocks,
    at_ms: i64,
    /// The words that went with the text that was put back over it, until that has been looked at.
    put_back: Option<BTreeSet<Word>>,
    again: bool,
}

/// What these checks remember.
#[derive(Debug, Default)]
pub(crate) struct Fates {
    /// Words that stood in a file at some time.
    filed: BTreeSet<Word>,
    /// Pages that were in the trash or hidden at some time.
    pub(crate) was_gone: BTreeSet<PageId>,
    trashed: Vec<(i64, usize)>,
    /// When pages were made, moved or brought back in the app.
    joined: BTreeMap<PageId, i64>,
    /// When the pages were listed last, and when they were listed rightly.
    listed_ms: i64,
    truly_listed_ms: i64,
    /// The pages that were there when they were listed last, and that nobody was shown.
    unseen: BTreeSet<PageId>,
    is_approved: bool,
    /// A person approved by path, too, what is kept as it may be elsewhere.
    pub(crate) is_approved_by_path: bool,
    failed: BTreeMap<String, i64>,
    /// When the first of the failures came since the last success, and how many there were.
    out: Option<(i64, u32)>,
    pushes: BTreeMap<PageId, Push>,
}

impl Fates {
    /// These words stand in a file now.
    pub(crate) fn filed(&mut self, words: &[Word]) {
        self.filed.extend(words);
    }

    /// A person lets all deletions through that wait; from now on any number may go.
    pub(crate) fn approved(&mut self) {
        self.is_approved = true;
    }

    /// Whether a person has.
    pub(crate) fn is_approved(&self) -> bool {
        self.is_approved
    }

    /// An answer came: what failed needs a rest. If all failed for a while, all of it is due at once when a request succeeds.
    pub(crate) fn answered(&mut self, effect: &Effect, error: Option<&ServiceError>, now_ms: i64) {
        let key = key_of(effect);
        let is_upload = matches!(effect, Effect::Storage(StorageEffect::Upload { .. }));
        match error {
            Some(ServiceError::Unreachable(_) | ServiceError::Lost(_) | ServiceError::Server { .. }) => {
                let (_, count) = self.out.get_or_insert((now_ms, 0));
                *count += 1;
                self.failed.insert(key, now_ms);
            }
            // Its folder is gone, or the service refuses the file.
            Some(ServiceError::NotFound(_) | ServiceError::Rejected { .. }) if is_upload => {
                self.failed.insert(key, now_ms);
            }
            error => {
                self.failed.remove(&key);
                if let Some((since_ms, 2..)) = self.out.take_if(|_| error.is_none()) {
                    self.failed.retain(|_, at| *at < since_ms);
                }
            }
        }
    }

    /// A new process remembers no failures, and a pass that is asked for tries everything again at once.
    pub(crate) fn forget_failures(&mut self) {
        self.failed.clear();
    }

    /// There is news of what a request failed for.
    pub(crate) fn forget_failure(&mut self, key: &str) {
        self.failed.remove(key);
    }

    /// The engine asks for an effect.
    pub(crate) fn asked(
        &mut self,
        effect: &Effect,
        folder: &Folder,
        service: &Service,
        ledger: &Ledger,
        now_ms: i64,
    ) -> Result<(), Failure> {
        if effect.is_request()
            && let Some(at) = self.failed.get(&key_of(effect)).filter(|at| now_ms - **at < PATIENCE_MS)
        {
            return broken(
                "calm",
                format!("{} asked again {} ms after it failed", key_of(effect), now_ms - at),
            );
        }
        if let Effect::UpdatePage { id, content: Some(content), .. } = effect {
            let content = &sent(content);
            let there = service.world.page(id).map_or(&[][..], |page| &page.content);
            let is_ours = |id: &&str| ids_of(there).iter().filter(|known| *known == id).count() < 2;
            let mut seen = BTreeSet::new();
            if let Some(id) = ids_of(content).into_iter().filter(is_ours).find(|id| !seen.insert(*id)) {
                return broken("loadable", format!("the block id {id} twice in {effect:?}"));
            }
        }
        // Who approves lets the file of a page go that a list lacked all the time.
        if let Effect::TrashFile { path, .. } = effect
            && !self.is_approved
            && let Some(file) = folder.file(path)
        {
            let own = |word: &&Word| !ledger.may_be_twice(**word) && !ledger.may_vanish(**word);
            let words: Vec<Word> = file.words.iter().filter(own).copied().collect();
            let whole = |id: &&PageId| words.iter().all(|word| service.words_of(id).contains(word));
            let there = service.active().into_iter().map(|page| &page.id).find(whole);
            // A file that moved is the page that was made anew, and its old one is there for a while longer. Somebody may
            // have taken the words out of the new one before it went; the file names it, or has its name, all the same.
            let text = String::from_utf8_lossy(&file.bytes);
            let names = |id: &PageId| text.lines().any(|line| line == format!("id: {id}"));
            let called = |id: &PageId| {
                service.world.page(id).is_some_and(|page| path.page_stem() == Some(&page.title))
            };
            // espejo may have been killed before it heard that its own deletion was carried out.
            let gone: BTreeSet<PageId> = self.was_gone.iter().cloned().chain(service.trashed()).collect();
            let is_another = gone.iter().any(|id| whole(&id) || names(id) || called(id));
            if let Some(id) = there.filter(|_| !words.is_empty() && !is_another) {
                return broken("absence", format!("{path} is trashed, and its page {id} was never gone"));
            }
        }
        Ok(())
    }

    /// Somebody in the app gave a page its place.
    pub(crate) fn joined(&mut self, id: &PageId, now_ms: i64) {
        self.joined.insert(id.clone(), now_ms);
    }

    /// The pages were listed, as they were a while ago (`lag_ms`) or not at all.
    pub(crate) fn listed(&mut self, is_true: bool, service: &Service, (now_ms, lag_ms): (i64, i64)) {
        let hidden = service.active().into_iter().filter(|page| page.hidden);
        self.unseen = hidden.map(|page| page.id.clone()).collect();
        self.listed_ms = now_ms;
        if is_true {
            self.truly_listed_ms = now_ms - lag_ms;
        }
    }

    /// A DELETE is about to be carried out: `look` is what the engine saw of the page last, and when.
    pub(crate) fn deletes(
        &mut self,
        id: &PageId,
        look: Option<(&BTreeSet<Word>, i64)>,
        (asked_ms, now_ms, most): (i64, i64, usize),
        service: &Service,
        ledger: &Ledger,
    ) -> Result<(), Failure> {
        let Some((seen, at_ms)) = look else {
            return broken("guard", format!("a DELETE of {id} without a look at it"));
        };
        let family = service.family(id);
        let parts = i64::try_from(family.len()).unwrap_or(i64::MAX);
        let oldest = LOOK_TO_DELETE_MS.0 + LOOK_TO_DELETE_MS.1 * parts;
        if asked_ms - at_ms > oldest {
            return broken(
                "guard",
                format!("a DELETE of {id}, {} ms after the look at it", asked_ms - at_ms),
            );
        }
        if asked_ms - self.listed_ms > LIST_TO_DELETE_MS {
            let late_ms = asked_ms - self.listed_ms;
            return broken("guard", format!("a DELETE of {id}, {late_ms} ms after a list of the pages"));
        }
        let stand_ins = service.stand_ins();
        let only_there = |word: &&Word| {
            !self.filed.contains(word) && !stand_ins.holds(**word) && !ledger.may_vanish(**word)
        };
        if let Some(word) = seen.iter().find(only_there) {
            return broken(
                "edit beats deletion",
                format!("{id} is deleted with {word}, which no file has had"),
            );
        }
        self.trashed.retain(|(when, _)| now_ms - when < TOGETHER_MS);
        // What comes to stand beneath it between the list and the DELETE, nobody can know, nor what no list shows.
        let is_news = |id: &PageId| self.joined.get(id).is_some_and(|at| *at > self.truly_listed_ms);
        let shown = family.iter().filter(|part| !self.unseen.contains(*part)).count().max(1);
        let known = if family.iter().any(is_news) { 1 } else { shown };
        self.trashed.push((now_ms, known));
        let sum: usize = self.trashed.iter().map(|(_, pages)| pages).sum();
        if sum > most && !self.is_approved {
            return broken("guard", format!("{sum} pages deleted within a minute, and nobody approved it"));
        }
        Ok(())
    }

    /// A PATCH replaced a page's content. `is_known`: by what espejo had seen of it, with nothing in between.
    pub(crate) fn pushed(
        &mut self,
        id: &PageId,
        before: &Blocks,
        after: &Blocks,
        at_ms: i64,
        is_known: bool,
    ) {
        // The same text is taken for an old one only once, whoever brought it back then.
        let was_back = |push: &Push| push.put_back.is_some() || push.again || push.before == *before;
        let again = !is_known || self.pushes.get(id).is_some_and(was_back);
        let push = Push { before: before.clone(), after: after.clone(), at_ms, put_back: None, again };
        self.pushes.insert(id.clone(), push);
    }

    /// The content that an editor which was open before the last push to some page still has, with or without a word that
    /// was typed in it since, if it may save it now and be noticed.
    pub(crate) fn old_text(
        &mut self,
        number: usize,
        (service, ledger): (&Service, &mut Ledger),
        now_ms: i64,
    ) -> Option<(PageId, Blocks)> {
        let fits = |(id, push): &(&PageId, &mut Push)| {
            let page = service.world.page(id);
            !push.again
                && now_ms - push.at_ms < PUT_BACK_MS / 2
                && page.is_some_and(|page| page.trashed.is_none() && page.content == push.after)
        };
        let mut pushes: Vec<(&PageId, &mut Push)> = self.pushes.iter_mut().filter(fits).collect();
        let count = pushes.len().max(1);
        let (id, push) = pushes.get_mut(number % count)?;
        let kept: BTreeSet<Word> = all_words(&push.before).into_iter().collect();
        let lost: BTreeSet<Word> =
            all_words(&push.after).into_iter().filter(|word| !kept.contains(word)).collect();
        let mut content = push.before.clone();
        // Without words to lose, what was typed is an edit like any other, and the rest is not told from it.
        if !lost.is_empty()
            && number / count % 2 == 1
            && let Some(typed) =
                content.iter_mut().rev().find_map(|block| block["content"].as_array_mut()?.last_mut())
            && let Some(text) = typed["text"].as_str()
        {
            let word = ledger.text();
            ledger.typed(&[word]);
            typed["text"] = format!("{text} {word}").into();
        }
        push.put_back = Some(lost);
        Some(((*id).clone(), content))
    }

    /// Whether this may be what a page said before the last push to it, worked on since.
    pub(crate) fn is_old(&self, id: &PageId, content: &Blocks) -> bool {
        self.pushes.get(id).is_some_and(|push| {
            let versions = [push.before.clone(), push.after.clone()];
            push.before == *content || evidence::ancestor(&versions, content, |_| Ids::Kept).is_some()
        })
    }

    /// Somebody changed a page in the app: what was put back in it before, or will be, can no longer be told.
    pub(crate) fn changed_in_app(&mut self, id: &PageId, ledger: &mut Ledger) {
        let Some(push) = self.pushes.get_mut(id) else { return };
        push.again = true;
        push.put_back.take().into_iter().flatten().for_each(|word| ledger.forget(word));
    }

    /// The clock leapt while espejo was down: what was pushed before it was pushed long ago.
    pub(crate) fn leapt(&mut self, ledger: &mut Ledger) {
        // And what was deleted before it.
        self.trashed.clear();
        for push in self.pushes.values_mut() {
            push.again = true;
            push.put_back.take().into_iter().flatten().for_each(|word| ledger.forget(word));
        }
    }

    /// The engine has seen a page: in time, if old text was put back in it?
    pub(crate) fn seen(&mut self, id: &PageId, now_ms: i64, ledger: &mut Ledger) {
        if self.pushes.get(id).is_some_and(|push| now_ms - push.at_ms > PUT_BACK_MS) {
            self.changed_in_app(id, ledger);
        }
    }
}

/// What tells one request from another.
fn key_of(effect: &Effect) -> String {
    match effect {
        Effect::FetchPage(id) => format!("GET {id}"),
        Effect::UpdatePage { id, .. } => format!("PATCH {id}"),
        Effect::TrashPage(id) => format!("DELETE {id}"),
        Effect::CreatePage { parent, title, .. } => format!("POST {title:?} under {parent:?}"),
        Effect::ListPages { workspace, .. } => format!("the pages of {workspace}"),
        Effect::Storage(effect) => stored_key_of(effect),
        Effect::Search(search) => format!("a search for {}", search.words),
        Effect::Board(effect) => format!("{effect:?}"),
        _ => "the workspaces".to_owned(),
    }
}

fn ids_of(content: &[serde_json::Value]) -> Vec<&str> {
    content
        .iter()
        .flat_map(|block| {
            let nested = ids_of(block["children"].as_array().map_or(&[][..], Vec::as_slice));
            block["id"].as_str().into_iter().chain(nested)
        })
        .collect()
}
