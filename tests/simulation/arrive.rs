//! What a request does when it reaches the service, and whether it may.

use std::collections::BTreeSet;

use espejo::emulator::PageRecord;
use espejo::model::{
    Blocks, Effect, EffectId, MirrorPath, Outcome, PageId, PageSettings, ServiceReply, StorageEffect,
    Timestamp,
};

use crate::blocks::{all_words, sent};
use crate::checks::{Failure, broken, only_reads};
use crate::folder::Thing;
use crate::run::{Due, Run};
use crate::users::Deed;
use crate::words::{Word, words_in};

/// A note is young for ten minutes, and a move counts after the grace time and the wait for its turn.
const YOUNG_MS: i64 = 900_000;

/// A file that a program keeps open is read this long after its last write at the latest.
const OPEN_MOST_MS: i64 = 10_000;
/// And this long after its first write that was not sent.
const OPEN_LONGEST_MS: i64 = 60_000;

impl Run {
    /// Whether a file that moves may make a new page.
    pub(crate) fn recreates(&self) -> bool {
        self.scene.recreate == 1 || self.now_ms - self.page_made_ms < YOUNG_MS
    }

    pub(crate) fn arrive(
        &mut self,
        life: u32,
        id: EffectId,
        effect: &Effect,
        asked_ms: i64,
    ) -> Result<(), Failure> {
        if let Effect::TrashPage(id) = effect {
            self.before_deletion(id, asked_ms)?;
        }
        if let Effect::Storage(StorageEffect::Trash(id)) = effect {
            self.before_stored_deletion(id, asked_ms)?;
        }
        self.deletes_nothing_out_of_sight(effect)?;
        let before_canvas = match effect {
            Effect::Board(effect) => self.before_canvas(effect, asked_ms)?,
            _ => Vec::new(),
        };
        let before = match effect {
            Effect::UpdatePage { id, .. } => self.service.world.page(id).map(|page| page.content.clone()),
            _ => None,
        };
        let answered = self.service.answer(effect, Timestamp(self.now_ms));
        if answered.is_false_list {
            // A stored file that it lacks may be forgotten, with what is known of its downloads.
            self.stored.checks.forget_failures();
        }
        if answered.is_false_list {
            self.list_was_false();
        }
        if let (Effect::ListPages { .. }, Ok(_)) = (effect, &answered.result) {
            let at = (self.now_ms, i64::from(self.scene.lag_ms));
            self.checks.fates.listed(!answered.is_false_list, &self.service, at);
        }
        if answered.over_budget && !self.some_clock_jumped() {
            return broken("budget", format!("more than {} requests in a minute", self.scene.limit()));
        }
        if let Effect::Storage(effect) = effect {
            self.stored_arrived(effect, answered.result.as_ref().ok(), answered.applied)?;
        }
        let mut looked = None;
        if answered.applied {
            match effect {
                Effect::UpdatePage { id, content: Some(after), .. } => {
                    let (before, after) = (before.unwrap_or_default(), &sent(after));
                    self.checks.replaces(id, (&before, after), asked_ms, &mut self.ledger)?;
                    let filed = self.words_of_pages();
                    let words = all_words(&before).into_iter().chain(all_words(after)).collect();
                    let recreates = self.recreates();
                    let served = self.service.words().collect();
                    // Where reads lag, a text is sent again after a kill: the read says that it was not carried out.
                    let is_same = all_words(&before) == all_words(after);
                    let is_again = self.scene.lag_ms > 0 && self.crashes > 0 && is_same;
                    let asked_for =
                        self.checks.hands.pushed(id, (&words, &filed, &served), asked_ms, recreates);
                    if !is_again {
                        asked_for?;
                    }
                    self.not_emptied(id, (&before, after))?;
                    self.not_half(id, (&before, after))?;
                    self.returning.pushed(id, after)?;
                    let is_known = self.checks.was_seen_last(id, &before);
                    self.checks.fates.pushed(id, &before, after, self.now_ms, is_known);
                }
                Effect::CreatePage { .. } => {
                    let recreates = self.recreates();
                    self.page_made_ms = self.now_ms;
                    if let Some(page) = self.service.newest() {
                        let title = self.service.world.page(&page).map(|page| page.title.clone());
                        let like = |other: &&PageRecord| recreates && Some(&other.title) == title.as_ref();
                        let alike = self.service.active().into_iter().filter(like);
                        self.remade.extend(alike.map(|page| page.id.clone()).collect::<Vec<_>>());
                        self.order += 1;
                        self.checks.looked(self.order, &page, &Vec::new(), self.now_ms);
                        looked = Some((self.order, page));
                    }
                }
                Effect::FetchPage(page) => {
                    if let Ok(ServiceReply::Page(seen)) = &answered.result {
                        self.order += 1;
                        self.checks.looked(self.order, page, &seen.telling, self.now_ms);
                        looked = Some((self.order, page.clone()));
                    }
                }
                Effect::Board(effect) => self.after_canvas(effect, &before_canvas, asked_ms)?,
                _ => {}
            }
            self.note_made(effect);
            if !only_reads(effect) {
                self.tell_of_request(effect);
                self.note(format_args!("  carried out ({})", id.0));
                self.mark_changed();
            }
        }
        let travel = self.luck.between(2, 120) + answered.delay_ms;
        let asked = Some(effect.clone());
        let outcome = Outcome::Service(answered.result);
        self.later(travel, Due::Answer { life, id, outcome, looked, asked });
        if life == self.life && answered.applied && !only_reads(effect) {
            self.dies_of_change();
        }
        Ok(())
    }

    /// A DELETE arrives: is it one that may be?
    fn before_deletion(&mut self, id: &PageId, asked_ms: i64) -> Result<(), Failure> {
        let there = self.service.world.page(id).is_some_and(|page| page.trashed.is_none() && !page.hidden);
        if !there {
            return Ok(());
        }
        let mut fates = std::mem::take(&mut self.checks.fates);
        let most = PageSettings::default().max_deletes;
        let look = self.checks.last_look(id);
        let found = fates.deletes(id, look, (asked_ms, self.now_ms, most), &self.service, &self.ledger);
        self.checks.fates = fates;
        found?;
        let content = self.service.world.page(id).map(|page| all_words(&page.content)).unwrap_or_default();
        let words: BTreeSet<Word> = content.into_iter().collect();
        let filed = self.words_of_pages();
        // A clock that leapt ends every grace time. A page that was made anew for a file that moved has what its old page had.
        let left: Vec<&Word> = words.intersection(&filed).collect();
        let mut others = self.service.active().into_iter().map(|page| &page.id).filter(|other| *other != id);
        let is_made_anew = |other: &PageId| {
            let there = self.service.words_of(other);
            !left.is_empty() && left.iter().all(|word| there.contains(word))
                || words.iter().all(|word| there.contains(word))
        };
        let recreates = self.scene.recreate == 1;
        if self.clock_jumped || recreates || !words.is_empty() && others.any(is_made_anew) {
            return Ok(());
        }
        let grace_ms = i64::from(self.scene.grace_ms);
        let rule = self.checks.hands.deleted(id, &words, &filed, (asked_ms, grace_ms), &self.ledger)?;
        rule.into_iter().for_each(|rule| self.checks.canvas.allow(rule));
        Ok(())
    }

    /// A PATCH that empties a page: not because its file was emptied, which may be an accident, unless somebody let it.
    fn not_emptied(&self, id: &PageId, (before, after): (&Blocks, &Blocks)) -> Result<(), Failure> {
        if !after.is_empty() || all_words(before).is_empty() || self.checks.fates.is_approved() {
            return Ok(());
        }
        let Some(page) = self.service.world.page(id) else { return Ok(()) };
        let is_emptied = |path: &MirrorPath, bytes: &[u8]| {
            path.page_stem() == Some(&page.title) && bytes.iter().all(u8::is_ascii_whitespace)
        };
        match self.folder.things.iter().find(|(path, thing)| is_emptied(path, &thing.bytes)) {
            Some((path, _)) => broken("guard", format!("{path} was emptied, and its page {id} with it")),
            None => Ok(()),
        }
    }

    /// A PATCH of the half that a program has written, while it pauses with the file open: it would remove the other half.
    fn not_half(&self, id: &PageId, (before, after): (&Blocks, &Blocks)) -> Result<(), Failure> {
        // An edit waits a minute for a program that has its file open, and longer while the folder is away.
        let was_away = self.now_ms - self.returning.away_until_ms < OPEN_LONGEST_MS;
        if self.some_clock_jumped() || was_away {
            return Ok(());
        }
        let sent = all_words(after);
        for due in self.queue.values() {
            let Due::Deed(Deed::WriteOn(open, _, whole)) = due else { continue };
            let is_it =
                |thing: &&Thing| thing.stamp.object() == open.object() && whole.starts_with(&thing.bytes);
            // After ten seconds without a write, as after a sleep of the machine, what is open is sent as it is.
            let is_new = |half: &&Thing| half.stamp.rested_ms(self.folder.clock()) < OPEN_MOST_MS;
            let Some(half) = self.folder.things.values().find(is_it).filter(is_new) else { continue };
            let whole = words_in(whole);
            let is_lost = |word: &Word| {
                let is_about_to_be = whole.contains(word) && !half.words.contains(word);
                is_about_to_be && !sent.contains(word) && !self.ledger.may_be_twice(*word)
            };
            if let Some(word) = all_words(before).into_iter().find(is_lost) {
                return broken(
                    "half",
                    format!("a PATCH of {id} removes {word}, which its file is about to have"),
                );
            }
        }
        Ok(())
    }
}
