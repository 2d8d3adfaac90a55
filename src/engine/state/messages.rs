//! The messages to the user, while they are made and as they were shown last.

use crate::model::{Attention, Code, MirrorPath, Problem, Timestamp};

/// The messages to the user while the list is made.
#[derive(Debug, Default)]
pub(crate) struct Needs(pub(crate) Vec<Attention>);

impl Needs {
    /// The complete list, each message once.
    pub(crate) fn list(mut self) -> Vec<Attention> {
        self.0.sort();
        self.0.dedup();
        self.0
    }

    /// Adds one message.
    pub(crate) fn tell(&mut self, code: Code, path: &str, reason: &str, action: &str) {
        self.0.push(Attention::new(code, path, reason, action));
    }

    /// Adds a message about a file of a page or a canvas that cannot be sent as it is.
    pub(crate) fn tell_unsent(&mut self, path: &MirrorPath, problem: &Problem, of: &str) {
        let told = problem.attention(path.as_str(), of);
        self.tell(told.code, &told.path, &told.reason, &told.action);
    }
}

/// The last stored list, so that an equal one is not stored again.
#[derive(Debug, Default)]
pub(crate) struct AttentionList {
    pub(crate) shown: Vec<Attention>,
    /// The conflicts that have been logged. They are not in the list.
    pub(crate) conflicts: Vec<Attention>,
    pub(crate) written: bool,
    /// When the list was made.
    pub(crate) fresh: Option<Timestamp>,
    /// An event came since then.
    pub(crate) stirred: bool,
}

impl AttentionList {
    /// Notes an event that may start or end a message.
    pub(crate) fn stir(&mut self) {
        self.stirred = true;
    }

    /// Whether such a message is shown.
    pub(crate) fn is_any(&self, is_one: &dyn Fn(&Attention) -> bool) -> bool {
        self.shown.iter().any(is_one)
    }

    /// Removes messages that the user dismissed: the log does not report them as over.
    pub(crate) fn forget(&mut self, is_over: &dyn Fn(&Attention) -> bool) {
        self.shown.retain(|item| !is_over(item));
    }
}
