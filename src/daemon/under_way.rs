//! What was begun and has not ended: since when it has not been heard of, for who looks for a daemon that hangs, and what it
//! writes, so that a hint about that comes after its answer.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::model::{Effect, EffectId, Event, MirrorPath, StorageEvent};

/// The effects under way. Time is the machine's running time: a suspend ages nothing.
#[derive(Default)]
pub(super) struct UnderWay {
    heard: BTreeMap<EffectId, Instant>,
    /// The files of pages that are being written, each with whether there was a hint about it.
    writes: BTreeMap<EffectId, (MirrorPath, bool)>,
}

impl UnderWay {
    pub(super) fn begin(&mut self, id: EffectId, effect: &Effect) {
        self.heard.insert(id, Instant::now());
        if let Effect::WriteFile { path, .. } = effect {
            self.writes.insert(id, (path.clone(), false));
        }
    }

    /// The hint that was held back until this effect's answer, if there was one.
    pub(super) fn end(&mut self, id: EffectId) -> Option<Event> {
        self.heard.remove(&id);
        let (path, is_hinted) = self.writes.remove(&id)?;
        is_hinted.then_some(Event::Hint(path))
    }

    /// Holds back a hint about a file that is being written. Mostly it is about that write: before its answer the file
    /// is unknown and would need a scan of the whole folder, afterwards a look at the file is enough.
    pub(super) fn hold(&mut self, event: Event) -> Option<Event> {
        let write = match &event {
            Event::Hint(hinted) => self.writes.values_mut().find(|(path, _)| path == hinted),
            _ => None,
        };
        let Some((_, is_hinted)) = write else { return Some(event) };
        *is_hinted = true;
        None
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
        all.begin(EffectId(1), &Effect::Scan);
        tokio::time::advance(Duration::from_secs(60)).await;
        all.begin(EffectId(2), &Effect::Scan);
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
        all.begin(EffectId(3), &Effect::Scan);
        all.end(EffectId(1));
        all.end(EffectId(2));
        assert_eq!(silence(&all), 0);
        all.hear(&progress(1));
        all.end(EffectId(3));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(silence(&all), 0);
    }

    #[tokio::test]
    async fn a_hint_about_a_file_comes_after_the_answer_of_its_write() {
        let path = |name: &str| MirrorPath::new(name).unwrap();
        let write = |name: &str| Effect::WriteFile {
            path: path(name),
            bytes: Vec::new(),
            expect: crate::model::Expect::Absent,
        };
        let mut all = UnderWay::default();
        all.begin(EffectId(1), &write("a.md"));
        all.begin(EffectId(2), &write("b.md"));
        assert_eq!(all.hold(Event::Hint(path("a.md"))), None);
        assert_eq!(all.hold(Event::Hint(path("a.md"))), None);
        assert_eq!(all.hold(Event::Hint(path("c.md"))), Some(Event::Hint(path("c.md"))));
        assert_eq!(all.hold(Event::HintAll), Some(Event::HintAll));
        assert_eq!(all.end(EffectId(1)), Some(Event::Hint(path("a.md"))));
        assert_eq!(all.end(EffectId(2)), None);
        assert_eq!(all.hold(Event::Hint(path("a.md"))), Some(Event::Hint(path("a.md"))));
    }
}
