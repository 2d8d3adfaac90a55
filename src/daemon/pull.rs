//! Pulls that a client waits for: how far each is, and whether it has ended. It only counts and compares.

use tokio::sync::mpsc;

use super::News;
use crate::engine::{Engine, Pulled};
use crate::model::Timestamp;

/// What gets no further for so long is given up: a refusal of the service lasts a minute, and may come in the middle.
const PATIENCE_MS: i64 = 120_000;
/// How often a waiting client is told how far its pull is.
const NEWS_EVERY_MS: i64 = 100;

/// How a pull stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullState {
    /// It goes on.
    UnderWay,
    /// Everything was looked at, and the folder follows.
    Over,
    /// It will not end by itself, and why.
    Failed(String),
}

/// One pull, from the moment it was asked for.
#[derive(Debug, Clone)]
pub struct Pull {
    /// How far it was at the last look.
    pub pulled: Pulled,
    moved_at: Timestamp,
}

impl Pull {
    /// A pull asked for at `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self { pulled: Pulled::default(), moved_at: now }
    }

    /// Takes in how far it is now.
    pub fn take_in(&mut self, pulled: Pulled, now: Timestamp) -> PullState {
        if pulled != self.pulled {
            self.moved_at = now;
        }
        self.pulled = pulled;
        if let Some(place) = &self.pulled.unknown {
            return PullState::Failed(format!(
                "nothing from the service is mirrored at {place}; espejo list shows what is mirrored"
            ));
        }
        match &self.pulled.failed {
            Some(why) => PullState::Failed(why.clone()),
            None if self.pulled.is_over => PullState::Over,
            None if now.since_ms(self.moved_at) >= PATIENCE_MS => {
                let minutes = PATIENCE_MS / 60_000;
                PullState::Failed(format!("there was no answer for {minutes} minutes; try again later"))
            }
            None => PullState::UnderWay,
        }
    }
}

/// Who waits for a pull of a daemon.
struct Waiting {
    number: u64,
    pull: Pull,
    told_at: Timestamp,
    news: mpsc::UnboundedSender<News>,
}

/// All pulls of a daemon.
#[derive(Default)]
pub(super) struct Pulls(Vec<Waiting>);

impl Pulls {
    pub(super) fn is_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// A client waits for the pull that the engine was asked for last.
    pub(super) fn begin(&mut self, engine: &Engine, news: mpsc::UnboundedSender<News>, now: Timestamp) {
        self.0.push(Waiting {
            number: engine.last_pull(),
            pull: Pull::new(now),
            told_at: Timestamp::default(),
            news,
        });
    }

    /// Tells waiting clients how far their pulls are, and drops the pulls that have ended or that no client waits for.
    pub(super) fn follow(&mut self, engine: &mut Engine, now: Timestamp) {
        self.0.retain_mut(|waiting| {
            if now.since_ms(waiting.told_at) < NEWS_EVERY_MS {
                return true;
            }
            waiting.told_at = now;
            let Some(pulled) = engine.pulled(waiting.number) else { return false };
            let state = waiting.pull.take_in(pulled, now);
            let goes_on = state == PullState::UnderWay;
            let is_heard =
                waiting.news.send(News::Pull(Box::new(waiting.pull.pulled.clone()), state)).is_ok();
            if !(goes_on && is_heard) {
                engine.end_pull(waiting.number);
            }
            goes_on && is_heard
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Checked;
    use crate::model::MirrorPath;

    #[test]
    fn a_pull_waits_while_something_moves_and_says_why_it_ends() {
        let at = |pages, is_over| Pulled {
            checked: Checked { pages, ..Checked::default() },
            is_over,
            ..Pulled::default()
        };
        let mut pull = Pull::new(Timestamp(0));
        assert_eq!(pull.take_in(at(1, false), Timestamp(1)), PullState::UnderWay);
        assert_eq!(pull.take_in(at(1, false), Timestamp(PATIENCE_MS)), PullState::UnderWay);
        assert_eq!(pull.take_in(at(2, false), Timestamp(PATIENCE_MS + 1)), PullState::UnderWay);
        let stuck = pull.take_in(at(2, false), Timestamp(2 * PATIENCE_MS + 1));
        assert!(
            matches!(&stuck, PullState::Failed(why) if why.starts_with("there was no answer")),
            "{stuck:?}"
        );
        assert_eq!(pull.take_in(at(3, true), Timestamp(2 * PATIENCE_MS + 2)), PullState::Over);
        let away = Pulled { failed: Some("it is away".to_owned()), ..at(3, false) };
        assert_eq!(pull.take_in(away, Timestamp(0)), PullState::Failed("it is away".to_owned()));
        let unknown = Pulled { unknown: Some(MirrorPath::new("Nowhere.md").unwrap()), ..at(0, false) };
        let told = pull.take_in(unknown, Timestamp(0));
        assert!(matches!(&told, PullState::Failed(why) if why.contains("Nowhere.md")), "{told:?}");
    }
}
