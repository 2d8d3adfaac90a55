//! A pager for what may be longer than a screen, as git has it: `$PAGER`, else `less`. Where stdout is no terminal, or there is
//! no pager, the text is written as it is.

use std::io::{self, IsTerminal, Write};
use std::process::{Child, Stdio};

use anyhow::Result;

use super::{child, env, output};

/// What `less` does: it ends by itself where all fits one screen, keeps colours, and leaves the text there.
const LESS: &str = "FRX";
/// The pager where none is named; without it the text is shown all the same.
const USUAL: &str = "if command -v less >/dev/null; then exec less; else exec cat; fi";

/// Runs `write` on a pager, or on `out` where there is none. A reader who leaves the pager has seen enough.
///
/// # Errors
/// As `write`; and when the pager cannot be waited for.
pub fn through<T: Default>(
    out: &mut (dyn Write + Send),
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T>,
) -> Result<T> {
    let Some(mut pager) = start() else { return write(out) };
    let written = match pager.stdin.take() {
        Some(stdin) if output::paints() => write(&mut io::BufWriter::new(stdin)),
        Some(stdin) => {
            let plain: Box<dyn Write + Send> = Box::new(io::BufWriter::new(stdin));
            write(&mut anstream::StripStream::new(plain))
        }
        None => write(out),
    };
    pager.wait()?;
    match written {
        Err(error) if output::is_closed_pipe(&error) => Ok(T::default()),
        written => written,
    }
}

fn start() -> Option<Child> {
    let is_able = env("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    if !io::stdout().is_terminal() || !is_able {
        return None;
    }
    let named = env("PAGER");
    if named.as_deref().is_some_and(|pager| pager.trim().is_empty() || pager == "cat") {
        return None;
    }
    let mut command = child::command("sh");
    command.arg("-c").arg(named.as_deref().unwrap_or(USUAL));
    if env("LESS").is_none() {
        command.env("LESS", LESS);
    }
    command.stdin(Stdio::piped()).spawn().ok()
}
