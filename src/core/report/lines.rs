//! What happens, a line each, and the messages that stay: told while the core works.

use crate::core::state::{Core, Line, Way};
use crate::model::{Code, ContentHash, MirrorPath};
use crate::store::ActKind;

impl Core<'_> {
    /// Reports one line about a change, which the log keeps.
    pub fn tell(&mut self, way: Way, path: &MirrorPath, what: impl Into<String>) {
        self.tell_change(way, path, what, (None, None));
    }

    /// As [`Core::tell`]. `texts`: what the file said before and after the change.
    pub fn tell_change(
        &mut self,
        way: Way,
        path: &MirrorPath,
        what: impl Into<String>,
        texts: (Option<ContentHash>, Option<ContentHash>),
    ) {
        let what = what.into();
        let kind = match way {
            Way::Up => Some(ActKind::Elsewhere),
            Way::Down => Some(ActKind::Came),
            Way::Aside => None,
        };
        if let Some(kind) = kind {
            self.store.note_elsewhere(kind, path, &what, self.now, texts);
        }
        self.tell_only(way, path, what);
    }

    /// Reports one line about a change that the log does not keep.
    pub fn tell_only(&mut self, way: Way, path: &MirrorPath, what: impl Into<String>) {
        self.state.lines.push(Line::Changed { way, path: path.clone(), what: what.into() });
    }

    /// Reports a message that stays until the user has seen it.
    pub fn notice(&mut self, code: Code, path: &MirrorPath, reason: impl Into<String>, action: &'static str) {
        let (path, reason) = (path.clone(), reason.into());
        self.state.lines.push(Line::Notice { code, path, reason, action });
    }
}
