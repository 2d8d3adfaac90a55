//! The terminal that a person types into, taken over for a while and always given back as it was.

use std::io::{self, IsTerminal, Stdin};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// Keys come one by one, unseen, and Ctrl-C is one of them; until this is dropped.
#[derive(Debug)]
pub struct Keys {
    stdin: Stdin,
    before: Termios,
}

impl Keys {
    /// Takes the terminal behind stdin over; `None` where there is none. With `ticking`, a read ends after a second
    /// without a key.
    ///
    /// # Errors
    /// When the terminal refuses.
    pub fn take(ticking: bool) -> io::Result<Option<Self>> {
        let stdin = io::stdin();
        if !stdin.is_terminal() {
            return Ok(None);
        }
        let before = tcgetattr(&stdin)?;
        let mut quiet = before.clone();
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        quiet.special_codes[SpecialCodeIndex::VMIN] = u8::from(!ticking);
        quiet.special_codes[SpecialCodeIndex::VTIME] = if ticking { 10 } else { 0 };
        tcsetattr(&stdin, OptionalActions::Now, &quiet)?;
        Ok(Some(Self { stdin, before }))
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _gone = tcsetattr(&self.stdin, OptionalActions::Now, &self.before);
    }
}

/// How many columns and lines the terminal behind stdout has; `None` where there is none.
#[must_use]
pub fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some((usize::from(size.ws_col), usize::from(size.ws_row))).filter(|(columns, _)| *columns > 0)
}
