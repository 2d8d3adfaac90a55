//! What people's hands did to files: no edit is sent that nobody made, and no deletion before its grace is over.

use std::collections::{BTreeMap, BTreeSet};

use espejo::model::PageId;

use crate::checks::{Failure, broken};
use crate::words::{Ledger, Word};

/// After this time a look at the folder has come by, also where no hint did: a PATCH may rest on an older one.
pub(crate) const LOOKED_BY_THEN_MS: i64 = 300_000;

/// What these checks remember.
#[derive(Debug, Default)]
pub(crate) struct Hands {
    /// When a person last did something to a file with this word.
    touched: BTreeMap<Word, i64>,
    /// Since when a person's doing has left a word in no page's file.
    gone: BTreeMap<Word, Absence>,
    /// Absences that ended for less than a second, and since when a person's doing left the word in no file again.
    again: BTreeMap<Word, i64>,
    /// Absences that ended, as the watcher has said, and that no look at the folder may have seen ended.
    ended: BTreeMap<Word, Absence>,
    /// When the last PATCH of a page's content that was carried out had been asked for.
    pushed: BTreeMap<PageId, i64>,
    /// When somebody last renamed a page in the app.
    pub(crate) retitled_ms: i64,
    /// Pages in which somebody put old text back: what is restored there was typed long before.
    restored: BTreeSet<PageId>,
}

/// A word is, or was a moment ago, in no page's file.
#[derive(Debug)]
struct Absence {
    since_ms: i64,
    /// How many looks at the folder have ended since it is back. Where hints get lost, who is back for less than a whole
    /// look has not been away and back, but away all the time, for all that anybody can know.
    back: Option<u8>,
    back_ms: i64,
}

impl Hands {
    /// A person did something: `handled` are the words in all that it was done to, `was` and `is` those in all pages'
    /// files before and after. `told`: the watcher says so for certain.
    pub(crate) fn did(
        &mut self,
        handled: impl IntoIterator<Item = Word>,
        (was, is): (&BTreeSet<Word>, &BTreeSet<Word>),
        told: bool,
        now_ms: i64,
    ) {
        self.touched.extend(handled.into_iter().map(|word| (word, now_ms)));
        for (_, absence) in self.gone.iter_mut().filter(|(word, _)| is.contains(word)) {
            absence.back.get_or_insert_with(|| {
                absence.back_ms = now_ms;
                0
            });
        }
        if told {
            self.ended.extend(self.gone.extract_if(.., |_, absence| absence.back.is_some()));
        }
        for word in was.difference(is) {
            let before = self.ended.get(word).filter(|before| now_ms - before.back_ms < 1_000);
            match before {
                Some(before) => drop(self.again.insert(*word, before.since_ms)),
                None => drop(self.again.remove(word)),
            }
            let absence = Absence { since_ms: now_ms, back: None, back_ms: 0 };
            self.gone.entry(*word).or_insert(absence).back = None;
        }
    }

    /// Whether a person did something to a file with this word since then.
    pub(crate) fn has_touched(&self, word: Word, since_ms: i64) -> bool {
        self.touched.get(&word).is_some_and(|at| *at >= since_ms)
    }

    /// A look at the folder has ended. The second one since a word came back had begun when it was back already.
    pub(crate) fn scanned(&mut self) {
        for absences in [&mut self.gone, &mut self.ended] {
            for looks in absences.values_mut().filter_map(|absence| absence.back.as_mut()) {
                *looks += 1;
            }
            absences.retain(|_, absence| absence.back.is_none_or(|looks| looks < 2));
        }
    }

    /// The process died, and what the watcher had said to it is not known any more.
    pub(crate) fn died(&mut self) {
        for (word, before) in std::mem::take(&mut self.ended) {
            self.gone.entry(word).and_modify(|absence| absence.since_ms = before.since_ms).or_insert(before);
        }
    }

    /// The machine slept: nobody could look.
    pub(crate) fn slept(&mut self, asleep_ms: i64) {
        self.touched.values_mut().for_each(|at| *at += asleep_ms);
    }

    /// Somebody put old text back in a page in the app.
    pub(crate) fn put_back(&mut self, id: &PageId) {
        self.restored.insert(id.clone());
    }

    /// Files that could not be read can be: an edit of these words that was made meanwhile is seen only now.
    pub(crate) fn unsealed(&mut self, words: impl IntoIterator<Item = Word>, now_ms: i64) {
        for word in words {
            self.touched.entry(word).and_modify(|at| *at = now_ms);
        }
    }

    /// A PATCH of a page's content that was asked for at `asked_ms` is carried out; `words` are those before and after,
    /// `filed` those in all pages' files, `served` those of the service. A word that a person took out of the file stands
    /// in none of them. One that was typed and taken out before it was sent may leave its empty block behind.
    pub(crate) fn pushed(
        &mut self,
        id: &PageId,
        (words, filed, served): (&BTreeSet<Word>, &BTreeSet<Word>, &BTreeSet<Word>),
        asked_ms: i64,
        recreates: bool,
    ) -> Result<(), Failure> {
        let last = match self.pushed.insert(id.clone(), asked_ms) {
            // A file that moved is made a page anew with what its old page held.
            None if recreates => return Ok(()),
            last => last.unwrap_or(0),
        };
        let is_erased = |word: &Word| !filed.contains(word) && !served.contains(word);
        let mut touched = self.touched.iter().filter(|(_, at)| **at >= last - LOOKED_BY_THEN_MS);
        let is_asked_for = touched.any(|(word, _)| words.contains(word) || is_erased(word));
        if words.is_disjoint(filed) || is_asked_for || self.restored.contains(id) {
            return Ok(());
        }
        broken("invented", format!("a PATCH of {id}, and nobody has touched its file since the last"))
    }

    /// A DELETE of a page with these words was asked for at `asked_ms`; `filed` are the words in all pages' files. Returns
    /// the stated rule that allows it, if one does.
    pub(crate) fn deleted(
        &self,
        id: &dyn std::fmt::Display,
        words: &BTreeSet<Word>,
        filed: &BTreeSet<Word>,
        (asked_ms, grace_ms): (i64, i64),
        ledger: &Ledger,
    ) -> Result<Option<&'static str>, Failure> {
        let own = |word: &&Word| !ledger.may_be_twice(**word);
        let kept: Vec<&Word> = words.iter().filter(own).filter(|word| !ledger.may_vanish(**word)).collect();
        let is_there = |word: &&Word| {
            filed.contains(word) && !self.gone.contains_key(word) && !self.ended.contains_key(word)
        };
        if !kept.is_empty() && kept.iter().all(is_there) {
            return broken(
                "absence",
                format!("a DELETE of {id}, whose file nobody has removed: {kept:?} of {words:?}"),
            );
        }
        let away = words.iter().filter(own).filter_map(|word| Some((word, self.gone.get(word)?)));
        let early = |(_, absence): &(&Word, &Absence)| {
            absence.back.is_none() && asked_ms - absence.since_ms < grace_ms
        };
        let early: Vec<_> = away.filter(early).collect();
        let is_again = |word: &Word| self.again.get(word).is_some_and(|since| asked_ms - since >= grace_ms);
        match early.iter().map(|(_, absence)| asked_ms - absence.since_ms).min() {
            None => Ok(None),
            Some(_) if early.iter().all(|(word, _)| is_again(word)) => {
                Ok(Some("removed again within a second"))
            }
            Some(age) => broken("guard", format!("a DELETE of {id}, {age} ms after its file went")),
        }
    }
}
