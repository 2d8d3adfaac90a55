//! Listens to what the engine logs: an ERROR is a fault of the engine's own, apart from the list of what concerns the user,
//! which has a target of its own.

use std::cell::RefCell;
use std::fmt::{self, Write};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

thread_local! {
    static HEARD: RefCell<Vec<(Level, String)>> = const { RefCell::new(Vec::new()) };
}

/// Runs `act` and keeps what is logged meanwhile on this thread.
pub(crate) fn listening<T>(act: impl FnOnce() -> T) -> T {
    drop(heard());
    tracing::subscriber::with_default(Listener, act)
}

/// What was logged since the last call.
pub(crate) fn heard() -> Vec<(Level, String)> {
    HEARD.with_borrow_mut(std::mem::take)
}

struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        target.starts_with("espejo") && target != "espejo::attention"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        HEARD.with_borrow_mut(|heard| heard.push((*event.metadata().level(), line.0)));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?} "),
            name => write!(self.0, "{name}={value:?} "),
        };
    }
}

#[test]
fn an_error_is_heard_and_nothing_else_is_taken_for_one() {
    listening(|| {
        tracing::info!(target: "espejo::engine", page = 3, "changed");
        tracing::error!(target: "espejo::engine", "stuck");
        tracing::error!(target: "espejo::attention", "the user must act");
        tracing::error!(target: "hyper", "not ours");
        let heard: Vec<String> = heard().iter().map(|(level, line)| format!("{level} {line}")).collect();
        assert_eq!(heard.join("|"), "INFO changed page=3 |ERROR stuck ");
    });
}
