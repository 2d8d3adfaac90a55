//! The journal: a row for each act that is not known to be done, of any kind. It is stored before the act leaves.
//!
//! An answer or a read confirms or refutes the row ([`crate::core::plan::confirm`]). A row that was confirmed stays while reads
//! may be older than the act: it is laid over them. The next try of an act that fails stands in its row.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::keys::{Digest, ItemKey, Seq};
use crate::core::plan::confirm;
use crate::model::{ContentHash, Fields, MirrorPath, Schedule, Timestamp, Unconfirmed};

/// Waits after a request that the service did not carry out.
const LATER: Schedule = Schedule::new(1_000, 300_000);
/// Waits after a creation without an answer: longer than the lists that tell whether it was carried out.
const CREATED: Schedule = Schedule::new(8_000, 300_000);
/// Waits after a request that the service refused as it is.
const REFUSED: Schedule = Schedule::new(60_000, REFUSED_MOST_MS);
const REFUSED_MOST_MS: i64 = 3_600_000;
/// Number of failures in a row after which the user is told.
pub const TOLD_AFTER: u32 = 3;

/// An act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Act {
    /// Its number, which orders it with the reads.
    pub sent: Seq,
    /// The item that it changes.
    pub item: ItemKey,
    /// The part of the item.
    pub part: Part,
    /// What it does.
    pub deed: Deed,
    /// What is known of it.
    pub state: ActState,
    /// Its failures in a row.
    pub failing: Failing,
}

/// The part of an item that an act changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Part {
    /// The item itself.
    Item,
    /// An element, by the id that the file has for it.
    Element(String),
    /// An older version of a stored file, by its id.
    Version(String),
    /// Its file.
    File,
}

/// What an act does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Deed {
    /// It makes something. Sent twice, it makes two.
    Create {
        /// What is asked for.
        fields: Fields,
        /// The ids that were known before.
        known: BTreeSet<String>,
        /// The element that it takes the place of.
        instead_of: Option<String>,
        /// The result, once it is known.
        made: Option<Value>,
    },
    /// It changes fields.
    Change {
        /// The whole before.
        before: Value,
        /// The changed fields.
        after: Fields,
    },
    /// It removes something.
    Remove {
        /// The whole before.
        before: Value,
    },
    /// It writes a text into the file.
    Write {
        /// The path of the file.
        path: MirrorPath,
        /// Hash of the text.
        text: ContentHash,
        /// The content that is agreed on then.
        content: Digest,
        /// Whether the text states exactly this content, without edits that are still to be sent.
        is_whole: bool,
    },
}

/// What is known of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActState {
    /// It has left, and its answer may still come.
    Sent,
    /// Its answer is lost.
    Unconfirmed(Unconfirmed),
    /// It was carried out.
    Done {
        /// The time of the answer; without one, of the read that showed it.
        at: Timestamp,
        /// Whether a read has shown it.
        shown: bool,
    },
    /// It was not carried out.
    Failed,
}

/// Failures of an act in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// Their number.
    pub count: u32,
    /// The time of the next try.
    pub until: Timestamp,
    /// The service's message.
    pub said: String,
    /// Whether the service refused the act as it is.
    pub is_refused: bool,
}

impl Failing {
    /// Whether the user is told.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.is_refused || self.count >= TOLD_AFTER
    }
}

impl Act {
    /// Whether it is unknown what became of it.
    #[must_use]
    pub fn is_in_doubt(&self) -> bool {
        matches!(self.state, ActState::Sent | ActState::Unconfirmed(_))
    }

    /// Counts one more failure.
    pub fn fails(&mut self, said: String, is_refused: bool, now: Timestamp) {
        let failing = &mut self.failing;
        failing.count = if failing.is_refused == is_refused { failing.count + 1 } else { 1 };
        let schedule = match (&self.deed, self.state) {
            _ if is_refused => REFUSED,
            (Deed::Create { .. }, ActState::Unconfirmed(_)) => CREATED,
            _ => LATER,
        };
        failing.until = now.plus_ms(schedule.wait_ms(failing.count));
        (failing.said, failing.is_refused) = (said, is_refused);
    }

    /// Whether it makes an item.
    #[must_use]
    pub fn makes_item(&self) -> bool {
        self.part == Part::Item && matches!(self.deed, Deed::Create { .. })
    }

    /// Whether its next try is later.
    #[must_use]
    pub fn rests(&self, now: Timestamp) -> bool {
        self.state == ActState::Failed && self.failing.until > now
    }

    /// Whether it is an upload that the service refuses as it is. One may be megabytes: it is sent again after its wait, when its
    /// file changes, or when a user names its path, and not by each pass or start.
    #[must_use]
    pub fn is_refused_upload(&self) -> bool {
        let is_upload = matches!(&self.deed, Deed::Create { fields, .. } if fields.contains_key("hash"));
        is_upload && self.failing.is_refused
    }

    /// Takes in what a read that was requested at `asked_at` shows of it.
    pub fn confirm(&mut self, shows: confirm::Shows, asked_at: Timestamp) -> confirm::Verdict {
        let what = match self.deed {
            Deed::Create { .. } => confirm::What::Create,
            Deed::Change { .. } | Deed::Write { .. } => confirm::What::Change,
            Deed::Remove { .. } => confirm::What::Remove,
        };
        let Some(state) = self.state.known() else { return confirm::Verdict::Foreign };
        let verdict = confirm::confirm(what, state, shows, asked_at);
        match verdict {
            confirm::Verdict::Confirmed(state) | confirm::Verdict::InDoubt(state) => {
                self.state = state.into()
            }
            confirm::Verdict::Refuted => self.state = ActState::Failed,
            confirm::Verdict::Lags | confirm::Verdict::Foreign => {}
        }
        verdict
    }
}

impl ActState {
    /// The state, unless nothing was carried out.
    fn known(self) -> Option<confirm::State> {
        Some(match self {
            Self::Sent => confirm::State::Sent,
            Self::Unconfirmed(doubt) => confirm::State::Unconfirmed(doubt),
            Self::Done { at, shown } => confirm::State::Done { at, shown },
            Self::Failed => return None,
        })
    }

    /// Whether a read has shown the act, or there is nothing to show.
    #[must_use]
    pub fn is_shown(self) -> bool {
        matches!(self, Self::Failed | Self::Done { shown: true, .. })
    }

    /// Whether the row says nothing of reads any more.
    #[must_use]
    pub fn is_over(self, now: Timestamp) -> bool {
        self.known().is_none_or(|state| confirm::is_over(state, now))
    }

    /// When the item is to be read for this act, in milliseconds from now.
    #[must_use]
    pub fn read_again_in(self, now: Timestamp) -> Option<i64> {
        confirm::read_again_in(self.known()?, now)
    }
}

impl From<confirm::State> for ActState {
    fn from(state: confirm::State) -> Self {
        match state {
            confirm::State::Sent => Self::Sent,
            confirm::State::Unconfirmed(doubt) => Self::Unconfirmed(doubt),
            confirm::State::Done { at, shown } => Self::Done { at, shown },
        }
    }
}

/// The rows, by their numbers.
#[derive(Debug, Default)]
pub struct Journal {
    rows: BTreeMap<Seq, Act>,
    /// The rows that the store does not have yet.
    pub(super) unsaved: BTreeSet<Seq>,
}

impl Journal {
    /// The stored rows. The answers of an earlier run are lost; a clock that was set back makes no wait longer.
    #[must_use]
    pub fn loaded(acts: Vec<Act>, now: Timestamp) -> Self {
        let mut all = Self::default();
        for mut act in acts {
            match &mut act.state {
                // Sent twice, it does no harm.
                ActState::Sent if matches!(act.part, Part::Version(_)) => act.state = ActState::Failed,
                ActState::Sent => act.state = ActState::Unconfirmed(Unconfirmed { since: now, looks: 0 }),
                ActState::Unconfirmed(doubt) => doubt.since = doubt.since.min(now),
                ActState::Done { at, .. } => *at = (*at).min(now),
                ActState::Failed => {
                    let most = if act.is_refused_upload() { REFUSED_MOST_MS } else { 0 };
                    act.failing.until = act.failing.until.min(now.plus_ms(most));
                }
            }
            all.put(act);
        }
        all
    }

    /// A row.
    #[must_use]
    pub fn get(&self, sent: Seq) -> Option<&Act> {
        self.rows.get(&sent)
    }

    /// All rows, the oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Act> {
        self.rows.values()
    }

    /// The rows of an item, the oldest first.
    pub fn of(&self, item: ItemKey) -> impl Iterator<Item = &Act> {
        self.rows.values().filter(move |act| act.item == item)
    }

    /// The last row of a part of an item.
    #[must_use]
    pub fn of_part(&self, item: ItemKey, part: &Part) -> Option<&Act> {
        self.rows.values().rev().find(|act| act.item == item && act.part == *part)
    }

    /// Stores a row.
    pub fn put(&mut self, act: Act) {
        self.unsaved.insert(act.sent);
        self.rows.insert(act.sent, act);
    }

    /// Changes a row.
    pub fn edit(&mut self, sent: Seq, change: impl FnOnce(&mut Act)) {
        if let Some(act) = self.rows.get_mut(&sent) {
            change(act);
            self.unsaved.insert(sent);
        }
    }

    /// Removes a row.
    pub fn remove(&mut self, sent: Seq) -> Option<Act> {
        self.unsaved.insert(sent);
        self.rows.remove(&sent)
    }

    /// Removes the rows that are not wanted.
    pub fn retain(&mut self, is_wanted: impl Fn(&Act) -> bool) {
        let over: Vec<Seq> = self.rows.values().filter(|act| !is_wanted(act)).map(|act| act.sent).collect();
        over.into_iter().for_each(|sent| drop(self.remove(sent)));
    }
}
