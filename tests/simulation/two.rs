//! Two machines that mirror one workspace with one token: each has a folder, a state, a process, people and bad luck of its
//! own, and its share of the requests. What they share is the service, what people have typed, and the record.
//!
//! One machine at a time is the run; the other waits in it. They take turns by what happens first.

use std::mem::swap;

use crate::checks::Failure;
use crate::luck::Luck;
use crate::run::{Due, Run};
use crate::script::{Act, Scene, Step};
use crate::service::Service;

/// Gives a scene its second machine. What one machine moves or keeps out makes no new pages, which the other's checks would
/// not know.
pub(crate) fn draw(scene: &mut Scene) {
    scene.two = 1;
    (scene.recreate, scene.ignores, scene.down) = (0, 0, 0);
}

impl Run {
    /// Adds the second machine, whose process begins.
    pub(crate) fn add_machine(&mut self) -> Result<(), Failure> {
        let service = Service::new(self.scene.seed, 1);
        let mut other = Self::machine(self.scene, Luck::new(self.scene.seed, 27), service, false)?;
        other.number = 1;
        self.other = Some(Box::new(other));
        self.turn_to(1);
        self.start()?;
        self.turn_to(0);
        Ok(())
    }

    /// Makes this machine the run.
    pub(crate) fn turn_to(&mut self, number: usize) {
        if number == self.number {
            return;
        }
        let Some(mut other) = self.other.take() else { return };
        swap(&mut self.service, &mut other.service);
        swap(&mut self.ledger, &mut other.ledger);
        swap(&mut self.stored.bodies, &mut other.stored.bodies);
        swap(&mut self.trace, &mut other.trace);
        swap(&mut self.tally, &mut other.tally);
        swap(&mut self.steps, &mut other.steps);
        swap(self, &mut *other);
        let now_ms = other.now_ms;
        self.other = Some(other);
        self.set_now(now_ms);
        self.hear_news();
    }

    /// Makes the machine the run in whose world something happens next.
    pub(crate) fn turn_to_next(&mut self) {
        let next = |run: &Self| {
            let (due, wake) = run.next_times();
            due.min(wake)
        };
        if let Some(other) = self.other.as_deref()
            && next(other) < next(self)
        {
            self.turn_to(other.number);
        }
    }

    /// Turns to the machine where a step is taken.
    pub(crate) fn turn_to_place_of(&mut self, step: &Step) {
        let is_at_folder = !matches!(step.act, Act::App(_) | Act::AppStored(_) | Act::AppCanvas(_));
        if is_at_folder && self.other.is_some() {
            self.turn_to(((step.a ^ step.b) & 1) as usize);
        }
    }

    /// Does the same with each machine.
    pub(crate) fn each(
        &mut self,
        mut act: impl FnMut(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        act(self)?;
        if self.other.is_none() {
            return Ok(());
        }
        let number = self.number;
        self.turn_to(1 - number);
        let done = act(self);
        self.turn_to(number);
        done
    }

    /// All texts on the other machine: its files and its trash, and what people hold in hand there.
    pub(crate) fn texts_of_other(&self) -> impl Iterator<Item = &[u8]> {
        self.other.iter().flat_map(|other| {
            let trash = other.folder.trash.iter().map(|(_, thing)| thing);
            let things = other.folder.things.values().chain(trash);
            things.map(|thing| thing.bytes.as_slice()).chain(other.in_hand_texts())
        })
    }

    /// Whether the clock of one of the machines was set forward: how long its last requests are ago, it cannot tell.
    pub(crate) fn some_clock_jumped(&self) -> bool {
        self.clock_jumped || self.other.as_deref().is_some_and(|other| other.clock_jumped)
    }

    /// The machine is switched off for so long.
    pub(crate) fn switch_off(&mut self, off_ms: i64) {
        if self.engine.is_none() {
            return;
        }
        self.die();
        self.queue.retain(|_, due| !matches!(due, Due::Start));
        self.later(off_ms, Due::Start);
    }

    /// A machine that is switched off is switched on.
    pub(crate) fn switch_on(&mut self) {
        let before = self.queue.len();
        self.queue.retain(|_, due| !matches!(due, Due::Start));
        if self.queue.len() < before {
            self.later(1_000, Due::Start);
        }
    }
}
