//! The terminal that a person types into, taken over for a while and always given back as it was.

use std::io::{self, IsTerminal, Stdin, Write};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

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

/// From now on SIGTERM and SIGHUP end the process with the terminal behind stdin as it is now and its cursor shown: what
/// waits for a key in a library never hears of them.
///
/// # Errors
/// When the terminal or the signals cannot be had.
pub fn give_back_at_the_end() -> io::Result<()> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Ok(());
    }
    let before = tcgetattr(&stdin)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let inside = runtime.enter();
    let (mut terminate, mut hang_up) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
    drop(inside);
    std::thread::Builder::new().name("terminal".to_owned()).spawn(move || {
        let number = runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => SignalKind::terminate(),
                _ = hang_up.recv() => SignalKind::hangup(),
            }
        });
        let _unseen = io::stderr().write_all(b"\x1b[?25h\r\n");
        // Last, because a question that the signal interrupted may take keys again meanwhile. After a hang-up the terminal
        // is gone.
        let _gone = tcsetattr(&stdin, OptionalActions::Now, &before);
        // By the signal itself, so that a waiting process sees which it was.
        let _ended = signal_hook::low_level::emulate_default_handler(number.as_raw_value());
    })?;
    Ok(())
}

/// Whether there is a terminal to ask on.
#[must_use]
pub fn can_ask() -> bool {
    io::stdin().is_terminal()
}

/// Asks one question before something is done; no is the default.
///
/// # Errors
/// `alone` where there is no terminal to ask on, and `nothing` where the answer is no or there is none.
pub fn agreed(question: &str, alone: &str, nothing: &str) -> anyhow::Result<()> {
    if !can_ask() {
        anyhow::bail!("{alone}");
    }
    match cliclack::confirm(question).initial_value(false).interact() {
        Ok(true) => Ok(()),
        Ok(false) => anyhow::bail!("{nothing}"),
        Err(error) => anyhow::bail!("{nothing}: {error}"),
    }
}

/// How many columns and lines the terminal behind stdout has; `None` where there is none.
#[must_use]
pub fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some((usize::from(size.ws_col), usize::from(size.ws_row))).filter(|(columns, _)| *columns > 0)
}
