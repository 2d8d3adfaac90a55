//! What espejo promises, as code: checked while a run goes on, against nothing but what people and the world did.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use espejo::model::{ANSWER_MAX_MS, Blocks, Effect, MirrorPath, PageId, StorageEffect, semantically_equal};

use crate::blocks::all_words;
use crate::canvas::{self, CanvasChecks};
use crate::fates::Fates;
use crate::folder::Folder;
use crate::hands::Hands;
use crate::service::Service;
use crate::stored;
use crate::users::is_conflict_copy;
use crate::words::{Ledger, Word, words_in};

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Which promise.
    pub(crate) check: &'static str,
    /// How.
    pub(crate) what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.check, self.what)
    }
}

/// A broken promise as the result of a check.
pub(crate) fn broken<T>(check: &'static str, what: impl Into<String>) -> Result<T, Failure> {
    Err(Failure { check, what: what.into() })
}

/// A look at a page that was answered to the engine.
#[derive(Debug, Clone)]
struct Look {
    content: Blocks,
    words: BTreeSet<Word>,
    answered_ms: i64,
    delivered_ms: Option<i64>,
}

/// What the checks remember.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    looks: BTreeMap<PageId, Vec<(u64, Look)>>,
    /// Words that the service lost because somebody wrote between a look and the write that rested on it.
    pub(crate) slipped_between: u32,
    /// Requests that asked for a change.
    pub(crate) writes: u32,
    /// Acts on the disk.
    pub(crate) disk_acts: u32,
    /// What goes away and what comes back.
    pub(crate) fates: Fates,
    /// What people did.
    pub(crate) hands: Hands,
    /// Everything about canvases.
    pub(crate) canvas: CanvasChecks,
}

/// A write must follow its look within this time, or it was not made on it.
const LOOK_TO_WRITE_MS: i64 = 5_000;

impl Checks {
    /// The engine asks for an effect: is it within its fences?
    pub(crate) fn asked(&mut self, effect: &Effect) -> Result<(), Failure> {
        let paths: Vec<&MirrorPath> = match effect {
            Effect::WriteFile { path, .. } | Effect::TrashFile { path, .. } | Effect::RemoveFolder(path) => {
                vec![path]
            }
            Effect::Rename { from, to } => vec![from, to],
            Effect::Storage(effect) => {
                self.writes +=
                    u32::from(effect.is_request() && !only_reads(&Effect::Storage(effect.clone())));
                self.disk_acts += u32::from(!stored::checks::fences(effect)?.is_empty());
                return Ok(());
            }
            _ => Vec::new(),
        };
        if effect.is_request() {
            self.writes += u32::from(!only_reads(effect));
        }
        self.disk_acts += u32::from(!paths.is_empty());
        for path in paths {
            if matches!(effect, Effect::Rename { .. } | Effect::RemoveFolder(_))
                && path.is_within(&stored::people::root())
            {
                continue;
            }
            let parts: Vec<&str> = path.components().collect();
            let within =
                parts.len() >= 2 && parts[1] == "Pages" && !parts.iter().any(|part| part.starts_with('.'));
            if canvas::may_touch(effect, path) {
                continue;
            }
            if !within {
                return broken("fences", format!("{path} is none of its business: {effect:?}"));
            }
            let is_page = parts.len() > 2 && path.page_stem().is_some();
            let touches_file = matches!(effect, Effect::WriteFile { .. } | Effect::TrashFile { .. });
            if touches_file && !is_page {
                return broken("fences", format!("{path} is no page: {effect:?}"));
            }
            let takes_copy = matches!(effect, Effect::TrashFile { .. }) && is_conflict_copy(path);
            if takes_copy {
                return broken("fences", format!("{path} is the user's to remove"));
            }
        }
        Ok(())
    }

    /// The service read a page out to the request `number`.
    pub(crate) fn looked(&mut self, number: u64, id: &PageId, content: &Blocks, now_ms: i64) {
        let words = all_words(content).into_iter().collect();
        let look = Look { content: content.clone(), words, answered_ms: now_ms, delivered_ms: None };
        self.looks.entry(id.clone()).or_default().push((number, look));
    }

    /// That answer reached the engine.
    pub(crate) fn delivered(&mut self, number: u64, id: &PageId, now_ms: i64) {
        for (_, look) in self.looks.get_mut(id).into_iter().flatten().filter(|(of, _)| *of == number) {
            look.delivered_ms = Some(now_ms);
        }
    }

    /// What the engine saw of a page last, and when.
    pub(crate) fn last_look(&self, id: &PageId) -> Option<(&BTreeSet<Word>, i64)> {
        let looks = self.looks.get(id)?.iter().rev();
        looks.filter_map(|(_, look)| Some((&look.words, look.delivered_ms?))).next()
    }

    /// Whether this is just what the engine saw last of a page.
    pub(crate) fn was_seen_last(&self, id: &PageId, content: &Blocks) -> bool {
        let looks = self.looks.get(id).into_iter().flatten().rev();
        looks
            .map(|(_, look)| look)
            .find(|look| look.delivered_ms.is_some())
            .is_some_and(|look| look.content == *content)
    }

    /// A PATCH that was asked at `asked_ms` is about to replace `before` with `after`: does it rest on a look?
    pub(crate) fn replaces(
        &mut self,
        id: &PageId,
        (before, after): (&Blocks, &Blocks),
        asked_ms: i64,
        ledger: &mut Ledger,
    ) -> Result<(), Failure> {
        let known = self.looks.get(id).map_or(&[][..], Vec::as_slice);
        let look = known
            .iter()
            .rev()
            .map(|(_, look)| look)
            .find(|look| look.delivered_ms.is_some_and(|at| at <= asked_ms));
        let Some(look) = look else {
            return broken("guard", format!("a PATCH of {id} without a look at it"));
        };
        // Exactly the text from before espejo's last request may be an older read: what came after it is sent again.
        let may_lag = self.fates.is_old(id, before);
        if semantically_equal(before, after) && look.content == *before && !may_lag {
            return broken("calm", format!("a PATCH of {id} that changes nothing"));
        }
        let waited = asked_ms - look.delivered_ms.unwrap_or(asked_ms);
        if waited > LOOK_TO_WRITE_MS {
            return broken("guard", format!("a PATCH of {id}, {waited} ms after the look that it rests on"));
        }
        let old = asked_ms - look.answered_ms;
        if old > LOOK_TO_WRITE_MS + ANSWER_MAX_MS {
            return broken("guard", format!("a PATCH of {id} on what the service said {old} ms before"));
        }
        let kept: BTreeSet<Word> = all_words(after).into_iter().collect();
        for word in all_words(before) {
            if !kept.contains(&word) && !look.words.contains(&word) && !ledger.may_vanish(word) {
                // Nobody can prevent this: the service has no precondition on writes.
                ledger.forget(word);
                self.slipped_between += 1;
            }
        }
        Ok(())
    }
}

/// Whether every word that somebody typed and nobody took away is somewhere: in a page, in a file, or behind a line of a
/// file that stands for a block. `in_hand` are texts that a person is about to write. In the end (`is_over`) the
/// blocks themselves must be there, not lines that stand for them.
pub(crate) fn nothing_lost(
    folder: &Folder,
    service: &Service,
    in_hand: &[&[u8]],
    ledger: &Ledger,
    is_over: bool,
) -> Result<(), Failure> {
    let mut there = vec![false; ledger.texts() + 1];
    let held = in_hand.iter().flat_map(|text| words_in(text));
    for word in folder.words().chain(service.words()).chain(held) {
        if let Word::Text(number) = word
            && let Some(place) = there.get_mut(number as usize)
        {
            *place = true;
        }
    }
    let mut missing: Vec<Word> =
        ledger.owed().filter(|word| matches!(word, Word::Text(number) if !there[*number as usize])).collect();
    if !missing.is_empty() && !is_over {
        // A file in the trash stands for its blocks as well: the state keeps them.
        let things = folder.things.values().chain(folder.trash.iter().map(|(_, thing)| thing));
        let files = things.map(|thing| thing.bytes.as_slice());
        for text in files.chain(in_hand.iter().copied()) {
            let stood_for = service.stand_ins().words_of(text);
            missing.retain(|word| !stood_for.contains(word));
        }
    }
    let missing: Vec<String> = missing.iter().map(Word::to_string).collect();
    if missing.is_empty() { Ok(()) } else { broken("lost", missing.join(" ")) }
}

/// Whether a request changes nothing at the service.
pub(crate) fn only_reads(effect: &Effect) -> bool {
    if let Effect::Board(effect) = effect {
        return !effect.is_write();
    }
    matches!(
        effect,
        Effect::ListPages { .. }
            | Effect::ListWorkspaces
            | Effect::FetchPage(_)
            | Effect::Search(_)
            | Effect::Storage(StorageEffect::List(_) | StorageEffect::AskLink(_))
    )
}
