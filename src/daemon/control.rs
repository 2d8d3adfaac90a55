//! The daemon's ear: a socket in the state directory that takes one line of JSON. The answer is one line, `ok` or a
//! refusal; to a sync it is a line of JSON for each step of the pass, the last of which says how it ended.

mod place;
mod steps;

use std::path::{Path, PathBuf};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

pub use steps::{PullStep, Step};

use crate::daemon::{News, PassState, PullState, Wish};
use crate::mirror::lock::Lock;
use crate::model::{ContentHash, Found, Lent, MirrorPath, Put, Request, Search, WorkspaceId, read_json};

/// How the answer of a daemon begins that can do nothing.
const WAITS: &str = "espejo waits: ";
/// How the answer to [`Ask::Lend`] begins.
const LENT: &str = "lent from ";
/// A daemon that says nothing within this time is busy, and waits for nothing.
const SAYS_WITHIN: Duration = Duration::from_millis(150);
/// Longer requests are not ours.
const LINE_BYTES_MAX: u64 = 1 << 28;
/// After a failed `accept` the next one waits so long: doubled with each that fails in a row, up to the second.
const ACCEPT_WAIT_MIN: Duration = Duration::from_millis(20);
const ACCEPT_WAIT_MAX: Duration = Duration::from_secs(1);

/// What became of a wish for requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loan {
    /// They may be made within half a minute, and are given back then; `None`: nothing counts them yet.
    Given(Option<Lent>),
    /// Not before this many milliseconds have passed.
    Later(i64),
}

/// What can be asked of a running daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// Let through what guards hold: these places, or everything when empty.
    Approve(Vec<String>),
    /// Look at everything once; answered when it is taken in.
    FullPass,
    /// Look at everything once; answered with [`Step`]s until it has ended.
    Sync,
    /// Look now at what is at these places; answered with [`PullStep`]s until it has ended.
    Pull(Vec<String>),
    /// Put a text into a file; answered when that is done.
    Put {
        /// The file, from the root.
        path: String,
        /// The SHA-256 of what it must hold, in hex; none where there must be no file.
        expect: Option<String>,
        /// What it shall hold.
        text: String,
        /// The body that the text stands for exactly, where that is known.
        body: Option<Vec<serde_json::Value>>,
        /// The command that the user gave, for the log.
        #[serde(default)]
        why: Option<String>,
    },
    /// Give a file another name; answered when that is done.
    Name {
        /// The file, from the root.
        from: String,
        /// Its name then, from the root.
        to: String,
    },
    /// Put a settled conflict copy into the mirror's trash; answered when that is done.
    Away {
        /// The copy, from the root.
        path: String,
        /// The SHA-256 of what it must hold, in hex.
        expect: String,
    },
    /// Ask and send nothing until [`Ask::Resume`].
    Pause,
    /// The end of a pause.
    Resume,
    /// Let this many requests be made elsewhere; answered with the number of the first, or with how many milliseconds that
    /// would take.
    Lend(u32),
    /// The end of a loan.
    GiveBack {
        /// The number of the first request that was lent.
        first: u64,
        /// How many were lent.
        slots: u32,
        /// How many of them were made.
        made: u32,
    },
    /// As a sync, and read every stored file to compare it with what was downloaded.
    DeepSync,
    /// Search at the service; answered with what is found, as one line of JSON.
    Search {
        /// Which workspace.
        workspace: String,
        /// What for.
        words: String,
        /// How many results at most.
        limit: u8,
    },
}

/// The socket's file, removed when dropped.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.task.abort();
        // Only a convenience: a stale socket refuses connections and is replaced at the next start.
        drop(std::fs::remove_file(&self.path));
    }
}

/// Who listens at a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    /// A daemon, which runs until it is stopped.
    Daemon,
    /// A sync, which ends by itself.
    Sync,
}

impl Listener {
    /// What it answers to an empty line.
    const fn reply(self) -> &'static str {
        match self {
            Self::Daemon => "ok\n",
            Self::Sync => "sync\n",
        }
    }
}

/// What becomes of what is asked.
#[derive(Debug, Clone)]
enum Ear {
    /// The loop hears it.
    Wishes(mpsc::UnboundedSender<Wish>, Listener),
    /// The daemon waits for this to end, and can do nothing.
    Waits(String),
}

/// Listens until dropped. Without a socket (its disk knows none, say) the daemon runs all the same.
#[must_use]
pub fn listen(state_dir: &Path, wishes: mpsc::UnboundedSender<Wish>, who: Listener) -> Option<Socket> {
    listen_with(state_dir, Ear::Wishes(wishes, who))
}

/// Listens in place of a loop that cannot run until `why` has ended, and says so to all who ask.
#[must_use]
pub fn say_why(state_dir: &Path, why: &str) -> Option<Socket> {
    listen_with(state_dir, Ear::Waits(why.replace('\n', " ")))
}

fn listen_with(state_dir: &Path, ear: Ear) -> Option<Socket> {
    let path = place::file(state_dir);
    // The lock is ours, so whatever is there was left behind.
    drop(std::fs::remove_file(&path));
    let listener = match place::bind(state_dir) {
        Ok(listener) => listener,
        // It is tried again every few seconds.
        Err(error) if matches!(ear, Ear::Waits(_)) => {
            tracing::debug!(path = %path.display(), %error, "no control socket");
            return None;
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "no control socket: other espejo commands cannot reach this one; set state_dir in the config to a folder on a local disk");
            return None;
        }
    };
    let accept = move |cx: &mut TaskContext<'_>| listener.poll_accept(cx).map_ok(|(stream, _)| stream);
    Some(Socket { path, task: tokio::spawn(serve(accept, ear)) })
}

/// Answers every connection. An `accept` that fails, mostly because too many files are open, is repeated after a wait.
async fn serve(mut accept: impl FnMut(&mut TaskContext<'_>) -> Poll<std::io::Result<UnixStream>>, ear: Ear) {
    let mut wait = ACCEPT_WAIT_MIN;
    loop {
        match std::future::poll_fn(&mut accept).await {
            Ok(stream) => {
                wait = ACCEPT_WAIT_MIN;
                let ear = ear.clone();
                tokio::spawn(async move {
                    if let Err(error) = answer(stream, &ear).await {
                        tracing::debug!(%error, "a control connection failed");
                    }
                });
            }
            Err(error) => {
                // Once for failures in a row.
                if wait == ACCEPT_WAIT_MIN {
                    tracing::warn!(%error, "the control socket cannot accept a connection now; espejo retries");
                }
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(ACCEPT_WAIT_MAX);
            }
        }
    }
}

async fn answer(mut stream: UnixStream, ear: &Ear) -> Result<()> {
    let (read, mut write) = stream.split();
    let mut line = String::new();
    BufReader::new(read.take(LINE_BYTES_MAX)).read_line(&mut line).await?;
    let wishes = match ear {
        Ear::Waits(why) => return Ok(write.write_all(format!("{WAITS}{why}\n").as_bytes()).await?),
        // An empty line asks who listens, and whether the daemon waits.
        Ear::Wishes(_, who) if line.trim().is_empty() => {
            return Ok(write.write_all(who.reply().as_bytes()).await?);
        }
        Ear::Wishes(wishes, _) => wishes,
    };
    let (ask, request) = match read_ask(&line) {
        Ok(understood) => understood,
        Err(error) => return Ok(write.write_all(format!("{error:#}\n").as_bytes()).await?),
    };
    let (news, mut told) = mpsc::unbounded_channel();
    wishes.send(Wish { request, news }).context("the daemon is stopping")?;
    let waits = matches!(
        ask,
        Ask::Sync
            | Ask::Pull(_)
            | Ask::DeepSync
            | Ask::Put { .. }
            | Ask::Name { .. }
            | Ask::Away { .. }
            | Ask::Lend(_)
            | Ask::Search { .. }
    );
    while let Some(one) = told.recv().await {
        match one {
            News::Told(Ok(())) => return Ok(write.write_all(b"ok\n").await?),
            News::Told(Err(why)) => {
                return Ok(write.write_all(format!("{}\n", why.replace('\n', " ")).as_bytes()).await?);
            }
            News::Found(Ok(found)) => {
                let line = serde_json::to_string(&found)?;
                return Ok(write.write_all(format!("{line}\n").as_bytes()).await?);
            }
            News::Found(Err(why)) => {
                return Ok(write.write_all(format!("{}\n", why.replace('\n', " ")).as_bytes()).await?);
            }
            News::Lent(lent) => {
                return Ok(write.write_all(format!("{LENT}{}\n", lent.first).as_bytes()).await?);
            }
            News::Taken if !waits => return Ok(write.write_all(b"ok\n").await?),
            News::Taken => {}
            News::Pull(pulled, state) => {
                let line = serde_json::to_string(&PullStep::of(&pulled, &state))?;
                write.write_all(format!("{line}\n").as_bytes()).await?;
                if state != PullState::UnderWay {
                    return Ok(());
                }
            }
            News::Pass(pass, state) => {
                let line = serde_json::to_string(&Step::of(&pass, state))?;
                write.write_all(format!("{line}\n").as_bytes()).await?;
                if state != PassState::UnderWay {
                    return Ok(());
                }
            }
        }
    }
    Ok(write.write_all(b"the daemon is stopping\n").await?)
}

/// What a line asks for.
///
/// # Errors
/// One sentence, when it is no line of another espejo.
pub fn read_ask(line: &str) -> Result<(Ask, Request)> {
    let ask: Ask = read_json(line.as_bytes())?;
    let request = match &ask {
        Ask::FullPass | Ask::Sync => Request::FullPass,
        Ask::DeepSync => Request::DeepPass,
        Ask::Pause => Request::Pause,
        Ask::Resume => Request::Resume,
        Ask::Lend(slots) => Request::Lend(*slots),
        Ask::GiveBack { first, slots, made } => {
            Request::GiveBack(Lent { first: *first, slots: *slots }, *made)
        }
        Ask::Approve(paths) => Request::Approve(places(paths)?),
        Ask::Pull(paths) => Request::Pull(places(paths)?),
        Ask::Put { path, expect, text, body, why } => Request::Put(Box::new(Put::Text {
            path: MirrorPath::new(path)?,
            expect: expect
                .as_deref()
                .map(|hex| ContentHash::from_hex(hex).context("no SHA-256"))
                .transpose()?,
            text: text.clone(),
            body: body.clone(),
            why: why.clone(),
        })),
        Ask::Search { workspace, words, limit } => Request::Search(Box::new(Search {
            workspace: WorkspaceId::new(workspace)?,
            words: words.clone(),
            limit: *limit,
        })),
        Ask::Away { path, expect } => Request::Put(Box::new(Put::Away {
            path: MirrorPath::new(path)?,
            expect: ContentHash::from_hex(expect).context("no SHA-256")?,
        })),
        Ask::Name { from, to } => {
            Request::Put(Box::new(Put::Name { from: MirrorPath::new(from)?, to: MirrorPath::new(to)? }))
        }
    };
    Ok((ask, request))
}

fn places(paths: &[String]) -> Result<Vec<MirrorPath>> {
    Ok(paths.iter().map(|path| MirrorPath::new(path)).collect::<Result<_, _>>()?)
}

/// What was asked ended before it was done.
#[derive(Debug, thiserror::Error)]
#[error("the running espejo stopped before it was done; run the same command again")]
pub struct HungUp;

/// What the daemon that runs with this state was asked for, as it goes: a pass, or a pull.
#[derive(Debug)]
pub struct Following {
    lines: BufReader<UnixStream>,
}

impl Following {
    /// Asks for a pass (`ask` is [`Ask::Sync`] or [`Ask::DeepSync`]) or for a check of places; `None` when no daemon listens.
    ///
    /// # Errors
    /// One sentence, when it hangs up at once.
    pub async fn start(state_dir: &Path, ask: &Ask) -> Result<Option<Self>> {
        // What else refuses the connection (a stale socket, no permission) shows when the state is opened.
        let Ok(mut stream) = place::connect(state_dir).await else { return Ok(None) };
        send(&mut stream, ask).await?;
        Ok(Some(Self { lines: BufReader::new(stream) }))
    }

    /// The next step, when there is one.
    ///
    /// # Errors
    /// One sentence, when the daemon ends or refuses.
    pub async fn next<T: serde::de::DeserializeOwned>(&mut self) -> Result<T> {
        let mut line = String::new();
        // A daemon that is killed resets the connection.
        let read = self.lines.read_line(&mut line).await.unwrap_or(0);
        match serde_json::from_str(&line) {
            Ok(step) => Ok(step),
            Err(_) if read == 0 || line.trim() == "the daemon is stopping" => Err(HungUp.into()),
            Err(_) if line.starts_with(WAITS) => anyhow::bail!("{}", line.trim()),
            Err(_) => anyhow::bail!("the running espejo refuses: {}; is it of another version?", line.trim()),
        }
    }
}

/// Who listens at this state's socket, or why a daemon there can do nothing now; `None` without a listener. A process that holds
/// the lock and does not listen is another command, or could make no socket.
#[must_use]
pub fn listener(state_dir: &Path) -> Option<Result<Listener, String>> {
    use std::io::{BufRead, BufReader, Write};
    let mut stream = place::connect_and_wait(state_dir).ok()?;
    let mut line = String::new();
    let asked = stream
        .set_read_timeout(Some(SAYS_WITHIN))
        .and_then(|()| stream.write_all(b"\n"))
        .and_then(|()| BufReader::new(stream).read_line(&mut line));
    match line.trim_end().strip_prefix(WAITS) {
        Some(why) => Some(Err(why.to_owned())),
        None if asked.is_ok() && line == Listener::Sync.reply() => Some(Ok(Listener::Sync)),
        // One that is busy says nothing in time.
        None => Some(Ok(Listener::Daemon)),
    }
}

/// Whether a daemon listens at this state's socket, also one that can do nothing now.
#[must_use]
pub fn is_daemon(state_dir: &Path) -> bool {
    matches!(listener(state_dir), Some(Ok(Listener::Daemon) | Err(_)))
}

/// Asks the daemon that runs with this state for requests.
///
/// # Errors
/// One sentence, when none listens or it refuses.
pub async fn borrow(state_dir: &Path, slots: u32) -> Result<Loan> {
    let reply = say(state_dir, &Ask::Lend(slots)).await?;
    let first = reply.strip_prefix(LENT).and_then(|first| first.parse().ok());
    match (first, reply.parse()) {
        (Some(first), _) => Ok(Loan::Given(Some(Lent { first, slots }))),
        (None, Ok(wait)) => Ok(Loan::Later(wait)),
        (None, Err(_)) => anyhow::bail!("the running espejo refuses: {reply}; is it of another version?"),
    }
}

/// Gives requests back to the daemon that runs with this state.
///
/// # Errors
/// One sentence, when none listens or it refuses.
pub async fn give_back(state_dir: &Path, lent: &Lent, made: u32) -> Result<()> {
    let Lent { first, slots } = *lent;
    ask(state_dir, &Ask::GiveBack { first, slots, made }).await
}

/// A search at the service by the daemon that runs; `None` when no daemon listens.
///
/// # Errors
/// One sentence, when it refuses, ends, or the service does not answer it.
pub async fn search(state_dir: &Path, search: &Search) -> Result<Option<Found>> {
    let Ok(mut stream) = place::connect(state_dir).await else { return Ok(None) };
    let ask = Ask::Search {
        workspace: search.workspace.to_string(),
        words: search.words.clone(),
        limit: search.limit,
    };
    send(&mut stream, &ask).await?;
    let mut line = String::new();
    let read = BufReader::new(stream).read_line(&mut line).await.unwrap_or(0);
    match serde_json::from_str(&line) {
        Ok(found) => Ok(Some(found)),
        Err(_) if read == 0 => anyhow::bail!("the running espejo stopped before it was done; search again"),
        Err(_) if line.starts_with("unknown variant") => {
            anyhow::bail!("the running espejo is of another version; restart it")
        }
        Err(_) => anyhow::bail!("{}", line.trim()),
    }
}

/// Asks the daemon that runs with this state.
///
/// # Errors
/// One sentence, when none listens or it refuses.
pub async fn ask(state_dir: &Path, ask: &Ask) -> Result<()> {
    match say(state_dir, ask).await?.as_str() {
        "ok" => Ok(()),
        "" => anyhow::bail!("the running espejo closed the connection; see its log"),
        other if matches!(ask, Ask::Put { .. } | Ask::Name { .. }) => anyhow::bail!("{other}"),
        other => anyhow::bail!("the running espejo refuses: {other}"),
    }
}

/// Says one thing, and gives the line that comes back.
async fn say(state_dir: &Path, ask: &Ask) -> Result<String> {
    let Ok(mut stream) = place::connect(state_dir).await else {
        let process = Lock::holder(state_dir).map_or_else(String::new, |pid| format!(" (process {pid})"));
        anyhow::bail!(
            "a sync or another espejo command is using {}{process}; try again when it has ended",
            state_dir.display()
        );
    };
    send(&mut stream, ask).await?;
    let mut reply = String::new();
    // A daemon that ends may reset the connection, which says no more than that it ends.
    BufReader::new(stream).read_line(&mut reply).await.map_err(hung_up)?;
    Ok(reply.trim().to_owned())
}

async fn send(stream: &mut UnixStream, ask: &Ask) -> Result<()> {
    stream.write_all(format!("{}\n", serde_json::to_string(ask)?).as_bytes()).await.map_err(hung_up)
}

/// A sentence alone: an error beneath it would be taken for one of stdout's, and a closed pipe there for success.
fn hung_up(error: std::io::Error) -> anyhow::Error {
    anyhow::anyhow!("the running espejo closed the connection ({error}); see its log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_daemon_that_hangs_up_is_not_taken_for_a_reader_who_has_seen_enough() {
        let dir = tempfile::tempdir().unwrap();
        let listener = place::bind(dir.path()).unwrap();
        // More than the socket's buffer takes, so that the loss is met while it is written.
        let ask_much = Ask::Approve(vec!["x".repeat(1 << 22)]);
        let hang_up = async { drop(listener.accept().await) };
        let (told, ()) = tokio::join!(ask(dir.path(), &ask_much), hang_up);
        let error = told.unwrap_err();
        assert!(error.to_string().starts_with("the running espejo closed the connection"), "{error:#}");
        assert!(error.downcast_ref::<std::io::Error>().is_none(), "{error:#}");
    }

    #[tokio::test]
    async fn a_failed_accept_does_not_make_the_socket_deaf() {
        let dir = tempfile::tempdir().unwrap();
        let listener = place::bind(dir.path()).unwrap();
        let mut failures = 3;
        let accept = move |cx: &mut TaskContext<'_>| {
            if failures > 0 {
                failures -= 1;
                return Poll::Ready(Err(std::io::Error::from_raw_os_error(24)));
            }
            listener.poll_accept(cx).map_ok(|(stream, _)| stream)
        };
        let (wishes, mut wished) = mpsc::unbounded_channel::<Wish>();
        let server = tokio::spawn(serve(accept, Ear::Wishes(wishes, Listener::Daemon)));
        let daemon = async {
            let wish = wished.recv().await.unwrap();
            assert_eq!(wish.request, Request::Pause);
            wish.news.send(News::Taken).unwrap();
        };
        let (told, ()) = tokio::join!(ask(dir.path(), &Ask::Pause), daemon);
        told.unwrap();
        server.abort();
    }
}
