//! Passes that people ask for, and how far everything is.

use espejo::engine::Summary;
use espejo::model::{Event, Request};

use crate::checks::Failure;
use crate::run::{Due, Run, stopped};

impl Run {
    /// Asks for a look at everything, as a person does.
    pub(crate) fn ask_for_pass(&mut self) -> Result<(), Failure> {
        self.passing = true;
        self.checks.fates.forget_failures();
        self.tell(Event::Asked(Request::FullPass))
    }

    /// The driver ends a pass that is over.
    pub(crate) fn end_pass(&mut self) -> Result<(), Failure> {
        if self.passing && !self.is_under_way() && self.summary()?.is_some_and(|summary| summary.pass_is_over)
        {
            self.passing = false;
            self.note(format_args!("= the pass is over"));
            if let Some(engine) = &mut self.engine {
                engine.end_pass();
            }
        }
        Ok(())
    }

    /// Whether an effect of the running process has no answer yet: then no pass is over.
    fn is_under_way(&self) -> bool {
        let is_ours = |due: &Due| match due {
            Due::Arrive { life, .. } | Due::Answer { life, .. } | Due::Beside { life, .. } => {
                *life == self.life
            }
            _ => false,
        };
        !self.disk.is_empty() || self.queue.values().any(is_ours)
    }

    /// Where everything stands, while the process is alive.
    pub(crate) fn summary(&self) -> Result<Option<Summary>, Failure> {
        let summary = self.engine.as_ref().map(|engine| engine.summary(self.engine_now()));
        summary.transpose().map_err(|error| stopped("summary", &error))
    }
}
