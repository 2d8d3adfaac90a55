//! The frame around the questions of `init`.

use cliclack::{Theme, ThemeState};

/// How questions look: as cliclack has it, but for what is refused, which would be yellow and so vanish on a white terminal.
pub(super) struct Frame;

impl Theme for Frame {
    fn format_footer_with_message(&self, state: &ThemeState, message: &str) -> String {
        struct Usual;
        impl Theme for Usual {}
        match state {
            ThemeState::Error(why) => format!("└  {why}\n"),
            _ => Usual.format_footer_with_message(state, message),
        }
    }
}
