//! The lives of the process: how it dies, and how it starts again with what its state holds.

use espejo::engine::Engine;
use espejo::model::{Moves, PageSettings, Settings, StorageSettings};

use crate::checks::Failure;
use crate::disk::Job;
use crate::run::{Due, Run, stopped};
use crate::stored;

/// An act on disk may be unrecorded for so long: its answer travels, and a commit follows it.
pub(crate) const UNRECORDED_MS: i64 = 5;

impl Run {
    /// The process is gone, and with it all it had in memory. What was on its way may still get there, or not.
    pub(crate) fn die(&mut self) {
        let Some(engine) = self.engine.take() else { return };
        self.note(format_args!("! the process dies"));
        self.checks.fates.forget_failures();
        self.stored.checks.forget_failures();
        self.folder.parts.values_mut().for_each(|part| part.is_ours = false);
        self.checks.hands.died();
        self.evidence.died(self.now_ms);
        self.checks.canvas.died();
        self.store = Some(engine.into_store());
        self.passing = false;
        self.crashes += 1;
        self.life += 1;
        let on_the_way: Vec<(i64, u64)> = self
            .queue
            .iter()
            .filter(|(_, due)| matches!(due, Due::Arrive { .. }))
            .map(|(key, _)| *key)
            .collect();
        for key in on_the_way {
            if self.luck.chance(50) {
                self.queue.remove(&key);
            }
        }
        if let Some((id, mut job)) = self.disk.pop_front()
            && matches!(job, Job::Act(_))
            && self.luck.chance(50)
        {
            let done = job.step(&mut self.folder).is_some_and(|result| result.is_ok());
            let fate = if done { "done all the same" } else { "refused" };
            self.note(format_args!("  {fate} ({})", id.0));
            self.disk_acted(Some(&job).filter(|_| done));
        }
        self.disk.clear();
        self.folder.touched.clear();
        // Longer than any request is under way.
        let pause = self.luck.between(1_000, 30_000);
        self.later(pause, Due::Start);
    }

    pub(crate) fn start(&mut self) -> Result<(), Failure> {
        let Some(mut store) = self.store.take() else { return Ok(()) };
        let counted = self.stored.copies.start(&mut store, &self.folder.root, self.now_ms + self.clock_ms);
        counted.map_err(|error| stopped("the count of runs", &error))?;
        self.note(format_args!("! the process starts"));
        let settings = Settings {
            boards: self.scene.board_settings(),
            storage: StorageSettings { mode: stored::mode(&self.scene), workspace: None, max_download: None },
            modes: self.modes(),
            requests_per_minute: self.scene.budget,
            // In some scenes the search is watched although there are few pages.
            watch_from: if self.scene.seed.is_multiple_of(4) { 2 } else { 30 },
            pages: PageSettings {
                delete_grace_ms: i64::from(self.scene.grace_ms),
                moves: if self.scene.recreate == 1 { Moves::Recreate } else { Moves::PutBack },
                ..PageSettings::default()
            },
            ..Settings::default()
        };
        if self.clock_ms > self.engine_ms {
            self.checks.fates.leapt(&mut self.ledger);
        }
        self.engine_ms = self.clock_ms;
        let mut engine = Engine::open(store, settings, self.luck.bytes(), self.engine_now())
            .map_err(|error| stopped("open", &error))?;
        if self.scene.beside == 1 {
            // However short a text is.
            engine.work_beside(0);
        }
        self.engine = Some(engine);
        self.listen()?;
        self.pump()
    }
}
