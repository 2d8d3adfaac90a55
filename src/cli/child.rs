//! The programs that espejo starts. None of them gets the access token, and one that was started for the user's sake while
//! espejo runs may not hold up the next.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::service::token;

/// How often a child with a limit is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How long a child may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// A program that is to be started. The environment is espejo's, without the token: an editor's plug-in or a mail script has no
/// use for it, and some programs write their environment into reports.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_remove(token::VARIABLE);
    command
}

/// As [`command`], for a program that [`end_after`] may have to end: it and what it starts are a group of their own.
pub fn group(program: impl AsRef<OsStr>) -> Command {
    let mut command = command(program);
    command.process_group(0);
    command
}

/// How a child of [`group`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Itself(ExitStatus),
    /// It took longer than it may, and was ended with all that it had started.
    Late,
}

/// Waits until a child of [`group`] ends, and ends it after `limit`.
///
/// # Errors
/// When it cannot be waited for.
pub fn end_after(mut child: Child, limit: Duration) -> io::Result<End> {
    if let Some(status) = wait(&mut child, limit)? {
        return Ok(End::Itself(status));
    }
    let pid = Pid::from_child(&child);
    // It has not been waited for, so its number is still its own. One that has just ended cannot be signalled.
    kill_process_group(pid, Signal::TERM).ok();
    if wait(&mut child, GRACE)?.is_none() {
        kill_process_group(pid, Signal::KILL).ok();
        child.wait()?;
    }
    Ok(End::Late)
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let mut waited = Duration::ZERO;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if waited >= limit {
            return Ok(None);
        }
        thread::sleep(LOOK);
        waited += LOOK;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn shell(script: &str) -> Child {
        group("sh").args(["-c", script]).spawn().unwrap()
    }

    #[test]
    fn a_child_ends_by_itself_or_is_ended() {
        let short = Duration::from_millis(60);
        let long = Duration::from_secs(60);
        assert_eq!(end_after(shell("exit 7"), long).unwrap(), End::Itself(ExitStatus::from_raw(7 << 8)));
        assert_eq!(end_after(shell("sleep 600 & wait"), short).unwrap(), End::Late);
    }
}
