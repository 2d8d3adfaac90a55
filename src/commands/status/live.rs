//! `status --watch`: the screen anew every second, in place, until q or Ctrl-C. Where stdout is no terminal, the screen is
//! written when it has changed, without anything that moves a cursor.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};

use super::{View, screen, terminal};
use crate::cli::{Exit, output};
use crate::config::Config;

const EVERY: Duration = Duration::from_secs(1);
/// The other screen, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Shows it until told to stop.
///
/// # Errors
/// One sentence, when the terminal cannot be written to.
pub(super) async fn watch(config: &Config, unit: Option<&str>, out: &mut dyn Write) -> Result<Exit> {
    let mut stopped = Stop::new()?;
    let Some(_) = terminal::size() else { return follow(config, unit, &mut stopped, out).await };
    let keys = terminal::Keys::take(true).context("the terminal cannot be used")?;
    let mut screen = Screen::open(out)?;
    let mut last;
    loop {
        last = lines(config, unit, terminal::size().map(|(columns, _)| columns));
        screen.draw(&last)?;
        if stopped.within(EVERY, keys.is_some()).await {
            break;
        }
    }
    drop(screen);
    drop(keys);
    // What was seen last stays where the next prompt comes.
    for line in last {
        writeln!(out, "{line}")?;
    }
    Ok(Exit::Done)
}

async fn follow(
    config: &Config,
    unit: Option<&str>,
    stopped: &mut Stop,
    out: &mut dyn Write,
) -> Result<Exit> {
    let mut shown = Vec::new();
    loop {
        let now = lines(config, unit, None);
        if now != shown {
            if !shown.is_empty() {
                writeln!(out)?;
            }
            for line in &now {
                writeln!(out, "{line}")?;
            }
            out.flush()?;
            shown = now;
        }
        if stopped.within(EVERY, false).await {
            return Ok(Exit::Done);
        }
    }
}

/// The screen, or why there is none at this moment: who watches wants to see it come back.
fn lines(config: &Config, unit: Option<&str>, width: Option<usize>) -> Vec<String> {
    match View::take(config, unit) {
        Ok(view) => screen::lines(&view, width),
        Err(error) => vec![output::paint(output::BAD, &format!("{error:#}"))],
    }
}

/// The terminal's other screen, left when this is dropped.
struct Screen<'a> {
    out: &'a mut dyn Write,
}

impl<'a> Screen<'a> {
    fn open(out: &'a mut dyn Write) -> Result<Self> {
        raw(ENTER)?;
        Ok(Self { out })
    }

    fn draw(&mut self, lines: &[String]) -> Result<()> {
        let (_, rows) = terminal::size().unwrap_or((80, 24));
        raw("\x1b[H")?;
        let room = rows.saturating_sub(2).max(1);
        let shown = if lines.len() > room { room - 1 } else { lines.len() };
        for line in &lines[..shown] {
            write!(self.out, "{line}")?;
            self.out.flush()?;
            raw("\x1b[K\r\n")?;
        }
        if shown < lines.len() {
            let more = output::count((lines.len() - shown) as u64, "line more", "lines more");
            write!(self.out, "{}", output::paint(output::DIM, &format!("… {more}: espejo status")))?;
            self.out.flush()?;
            raw("\x1b[K\r\n")?;
        }
        write!(self.out, "{}", output::paint(output::DIM, "q ends"))?;
        self.out.flush()?;
        raw("\x1b[K\x1b[J")
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        drop(raw(LEAVE));
    }
}

/// Moves of the cursor, past what takes colour out: they belong on any terminal.
fn raw(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// What ends it: a key, or a signal.
struct Stop {
    signals: [tokio::signal::unix::Signal; 3],
}

impl Stop {
    fn new() -> Result<Self> {
        let on = |kind| signal(kind);
        Ok(Self {
            signals: [on(SignalKind::interrupt())?, on(SignalKind::terminate())?, on(SignalKind::hangup())?],
        })
    }

    /// Whether it is to end; `false` when it is time to look again.
    async fn within(&mut self, time: Duration, keys: bool) -> bool {
        let [int, term, hangup] = &mut self.signals;
        tokio::select! {
            _ = int.recv() => true,
            _ = term.recv() => true,
            _ = hangup.recv() => true,
            pressed = tokio::task::spawn_blocking(key), if keys => {
                matches!(pressed, Ok(Err(_) | Ok(Some(b'q' | b'Q' | 3 | 4))) | Err(_))
            }
            () = tokio::time::sleep(time), if !keys => false,
        }
    }
}

/// The next key; `None` when there was none for a second.
fn key() -> std::io::Result<Option<u8>> {
    let mut byte = [0];
    // The terminal was told how long to wait.
    let read = rustix::io::read(std::io::stdin(), &mut byte)?;
    Ok((read == 1).then_some(byte[0]))
}
