//! The daemon's ear: a socket in the state directory that takes one line of JSON and answers with one.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};

use crate::daemon::Wish;
use crate::model::{MirrorPath, Request};

const FILE: &str = "control";
/// Longer requests are not ours.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// What can be asked of a running daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// Let through what guards hold: these places, or everything when empty.
    Approve(Vec<String>),
    /// Look at everything once.
    FullPass,
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

/// Listens until dropped. Without a socket (the path is too long, say) the daemon runs all the same.
#[must_use]
pub fn listen(state_dir: &Path, wishes: mpsc::UnboundedSender<Wish>) -> Option<Socket> {
    let path = state_dir.join(FILE);
    // The lock is ours, so whatever is there was left behind.
    drop(std::fs::remove_file(&path));
    let listener = UnixListener::bind(&path).and_then(|listener| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map(|()| listener)
    });
    let listener = match listener {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "no control socket: espejo approve needs the daemon stopped");
            return None;
        }
    };
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let wishes = wishes.clone();
            tokio::spawn(async move {
                if let Err(error) = answer(stream, &wishes).await {
                    tracing::debug!(%error, "a control connection ended badly");
                }
            });
        }
    });
    Some(Socket { path, task })
}

async fn answer(mut stream: UnixStream, wishes: &mpsc::UnboundedSender<Wish>) -> Result<()> {
    let (read, mut write) = stream.split();
    let mut line = String::new();
    BufReader::new(read.take(LINE_BYTES_MAX)).read_line(&mut line).await?;
    let reply = match serde_json::from_str::<Ask>(&line).map_err(anyhow::Error::from).and_then(request_of) {
        Ok(request) => {
            let (told, taken) = oneshot::channel();
            wishes.send((request, told)).context("the daemon is stopping")?;
            taken.await.map_or_else(|_| "the daemon is stopping".to_owned(), |()| "ok".to_owned())
        }
        Err(error) => format!("{error:#}"),
    };
    write.write_all(format!("{reply}\n").as_bytes()).await?;
    Ok(())
}

fn request_of(ask: Ask) -> Result<Request> {
    Ok(match ask {
        Ask::FullPass => Request::FullPass,
        Ask::Approve(paths) => {
            Request::Approve(paths.iter().map(|path| MirrorPath::new(path)).collect::<Result<_, _>>()?)
        }
    })
}

/// Asks the daemon that runs with this state.
///
/// # Errors
/// One sentence, when none listens or it refuses.
pub async fn ask(state_dir: &Path, ask: &Ask) -> Result<()> {
    let path = state_dir.join(FILE);
    let mut stream = UnixStream::connect(&path)
        .await
        .with_context(|| format!("the running espejo does not answer at {}; restart it", path.display()))?;
    stream.write_all(format!("{}\n", serde_json::to_string(ask)?).as_bytes()).await?;
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply).await?;
    match reply.trim() {
        "ok" => Ok(()),
        "" => anyhow::bail!("the running espejo hung up; look at its log"),
        other => anyhow::bail!("the running espejo refuses: {other}"),
    }
}
