//! What was begun and has not ended, and since when it has not been heard of. It only remembers; who looks for a daemon that
//! hangs asks it.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::model::{EffectId, Event, StorageEvent};

/// The effects under way. Time is the machine's running time: a suspend ages nothing.
#[derive(Default)]
pub(super) struct UnderWay {
    heard: BTreeMap<EffectId, Instant>,
}

impl UnderWay {
    pub(super) fn begin(&mut self, id: EffectId) {
        self.heard.insert(id, Instant::now());
    }

    pub(super) fn end(&mut self, id: EffectId) {
        self.heard.remove(&id);
    }

    /// Takes note of a sign of life, if `event` is one: a download says how far it is.
    pub(super) fn hear(&mut self, event: &Event) {
        if let Event::Storage(StorageEvent::Progress { id, .. }) = event
            && let Some(heard) = self.heard.get_mut(id)
        {
            *heard = Instant::now();
        }
    }

    /// The longest time for which one of them has not been heard of; zero when nothing is under way. An effect whose
    /// task failed never ends.
    pub(super) fn silence(&self) -> Duration {
        self.heard.values().min().map_or(Duration::ZERO, Instant::elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_silence_is_that_of_the_effect_not_heard_of_for_longest() {
        let mut all = UnderWay::default();
        let silence = |all: &UnderWay| all.silence().as_secs();
        let progress = |id| Event::Storage(StorageEvent::Progress { id: EffectId(id), got: 1 });
        assert_eq!(silence(&all), 0);
        all.begin(EffectId(1));
        tokio::time::advance(Duration::from_secs(60)).await;
        all.begin(EffectId(2));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(silence(&all), 65);
        // A sign of life of something else, and of what has ended, is none of it.
        all.hear(&progress(2));
        all.hear(&progress(7));
        all.hear(&Event::HintAll);
        assert_eq!(silence(&all), 65);
        all.hear(&progress(1));
        assert_eq!(silence(&all), 0);
        tokio::time::advance(Duration::from_secs(9)).await;
        all.begin(EffectId(3));
        all.end(EffectId(1));
        all.end(EffectId(2));
        assert_eq!(silence(&all), 0);
        all.hear(&progress(1));
        all.end(EffectId(3));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(silence(&all), 0);
    }
}
