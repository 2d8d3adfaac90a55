//! How far a pass or a pull of the daemon is, as lines of JSON on its socket, and back.

use serde::{Deserialize, Serialize};

use crate::daemon::{Pass, PassState, PullState};
use crate::engine::{Checked, Pulled, StorageSummary, Summary};
use crate::model::{Attention, Code, Timestamp};

/// How far a pass of the daemon is, as a line of its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    mirrored: usize,
    held: usize,
    listed: usize,
    looked: usize,
    requests_last_minute: usize,
    left_ms: i64,
    conflicts: usize,
    /// Path, reason, action and code.
    attention: Vec<(String, String, String, String)>,
    sent: u64,
    received: u64,
    stored: Stored,
    paused: Option<i64>,
    misdirected: bool,
    ends_at: i64,
    ended: Option<String>,
}

/// Personal storage in a [`Step`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    files: usize,
    bytes: u64,
    held: usize,
    listed: usize,
    listed_bytes: u64,
    arriving: u64,
    folders_left: usize,
    checked: usize,
}

impl Stored {
    fn of(summary: &StorageSummary) -> Self {
        let StorageSummary {
            files, bytes, held, listed, listed_bytes, arriving, folders_left, checked, ..
        } = *summary;
        Self { files, bytes, held, listed, listed_bytes, arriving, folders_left, checked }
    }

    fn tell(&self) -> StorageSummary {
        let Self { files, bytes, held, listed, listed_bytes, arriving, folders_left, checked } = *self;
        let rest = StorageSummary::default();
        StorageSummary { files, bytes, held, listed, listed_bytes, arriving, folders_left, checked, ..rest }
    }
}

const ENDS: [(&str, PassState); 3] =
    [("over", PassState::Over), ("stopped", PassState::Stopped), ("stuck", PassState::Stuck)];

impl Step {
    pub(super) fn of(pass: &Pass, state: PassState) -> Self {
        let summary = &pass.summary;
        let needs = summary.attention.iter();
        Self {
            mirrored: summary.mirrored,
            held: summary.held,
            listed: summary.listed,
            looked: summary.looked,
            requests_last_minute: summary.requests_last_minute,
            left_ms: summary.pass_left_ms,
            conflicts: summary.conflicts,
            attention: needs
                .map(|n| (n.path.clone(), n.reason.clone(), n.action.clone(), n.code.name().to_owned()))
                .collect(),
            sent: pass.sent,
            received: pass.received,
            stored: Stored::of(&summary.storage),
            paused: summary.paused.map(|at| at.0),
            misdirected: summary.misdirected,
            ends_at: pass.ends_at.0,
            ended: ENDS.iter().find(|(_, end)| *end == state).map(|(name, _)| (*name).to_owned()),
        }
    }

    /// Takes the step into a pass of one's own; how the pass stands then.
    pub fn tell(self, pass: &mut Pass) -> PassState {
        let end = ENDS.iter().find(|(name, _)| self.ended.as_deref() == Some(*name));
        let state = end.map_or(PassState::UnderWay, |(_, state)| *state);
        let needs = self.attention.into_iter();
        pass.summary = Summary {
            mirrored: self.mirrored,
            held: self.held,
            listed: self.listed,
            looked: self.looked,
            requests_last_minute: self.requests_last_minute,
            pass_left_ms: self.left_ms,
            conflicts: self.conflicts,
            attention: needs
                .map(|(path, reason, action, code)| Attention::new(Code::named(&code), path, reason, action))
                .collect(),
            pass_is_over: state == PassState::Over,
            storage: self.stored.tell(),
            paused: self.paused.map(Timestamp),
            misdirected: self.misdirected,
            ..Summary::default()
        };
        (pass.sent, pass.received) = (self.sent, self.received);
        pass.ends_at = Timestamp(self.ends_at);
        state
    }
}

/// How far a pull of the daemon is, as a line of its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PullStep {
    pages: usize,
    canvases: usize,
    folders: usize,
    lists: usize,
    left: usize,
    /// Path, and what became of it.
    stored: Vec<(String, String)>,
    over: bool,
    failed: Option<String>,
}

impl PullStep {
    pub(super) fn of(pulled: &Pulled, state: &PullState) -> Self {
        let Checked { pages, canvases, folders, lists } = pulled.checked;
        Self {
            pages,
            canvases,
            folders,
            lists,
            left: pulled.left,
            stored: pulled.stored.clone(),
            over: *state == PullState::Over,
            failed: match state {
                PullState::Failed(why) => Some(why.clone()),
                _ => None,
            },
        }
    }

    /// How far it is, and how it stands then.
    #[must_use]
    pub fn tell(self) -> (Pulled, PullState) {
        let Self { pages, canvases, folders, lists, left, stored, over, failed } = self;
        let checked = Checked { pages, canvases, folders, lists };
        let state = match failed {
            Some(why) => PullState::Failed(why),
            None if over => PullState::Over,
            None => PullState::UnderWay,
        };
        (Pulled { checked, left, stored, ..Pulled::default() }, state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_says_the_same_on_the_other_side() {
        let states = [PassState::UnderWay, PassState::Over, PassState::Stopped, PassState::Stuck];
        for state in states {
            let mut pass = Pass::new(0, Timestamp(0));
            pass.summary = Summary {
                mirrored: 3,
                held: 1,
                listed: 5,
                looked: 4,
                requests_last_minute: 7,
                pass_left_ms: 1_000,
                conflicts: 2,
                paused: Some(Timestamp(4)),
                pass_is_over: state == PassState::Over,
                attention: vec![Attention::new(Code::Refused, "a", "b\nc", "d")],
                ..Summary::default()
            };
            (pass.sent, pass.received, pass.ends_at) = (8, 9, Timestamp(18));
            pass.summary.storage = StorageSummary {
                files: 10,
                bytes: 11,
                held: 17,
                listed: 12,
                listed_bytes: 13,
                arriving: 14,
                folders_left: 15,
                checked: 16,
                ..StorageSummary::default()
            };
            let line = serde_json::to_string(&Step::of(&pass, state)).unwrap();
            assert_eq!(line.lines().count(), 1);
            let mut told = Pass::new(0, Timestamp(0));
            let step: Step = serde_json::from_str(&line).unwrap();
            assert_eq!(step.tell(&mut told), state);
            assert_eq!((told.summary, told.sent, told.received), (pass.summary, 8, 9));
            assert_eq!(told.ends_at, Timestamp(18));
        }
    }

    #[test]
    fn a_step_of_a_pull_says_the_same_on_the_other_side() {
        let pulled = Pulled {
            checked: Checked { pages: 1, canvases: 2, folders: 3, lists: 4 },
            left: 5,
            stored: vec![("Storage/a".to_owned(), "downloaded".to_owned())],
            ..Pulled::default()
        };
        for state in [PullState::UnderWay, PullState::Over, PullState::Failed("why".to_owned())] {
            let line = serde_json::to_string(&PullStep::of(&pulled, &state)).unwrap();
            let step: PullStep = serde_json::from_str(&line).unwrap();
            assert_eq!(step.tell(), (pulled.clone(), state));
        }
    }
}
