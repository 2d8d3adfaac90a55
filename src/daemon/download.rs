//! One download: bytes from a signed link into a temporary file. Reading and writing take turns, so that what is held in
//! memory is one piece, however large the file is; the writing is done on a thread that may block.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};

use crate::mirror::Mirror;
use crate::mirror::lock::Lock;
use crate::mirror::part::PartFile;
use crate::model::{
    DiskError, DownloadError, Downloaded, EffectId, Event, Link, MirrorPath, Part, StorageEvent,
};
use crate::service::Downloader;

/// What is gathered before it is written.
const PIECE: usize = 256 << 10;
/// How often the engine is told how far it is, in bytes.
const TELL_EVERY: u64 = 1 << 20;
/// What is there of a file is read again before more of it is asked for, which may take long: one file at a time, so that threads
/// are left for edits.
static OPENING: Semaphore = Semaphore::const_new(1);

/// Who a download works with.
pub(super) struct Tools {
    pub(super) downloader: Arc<Downloader>,
    pub(super) mirror: Arc<Mirror>,
    /// Held by each write until it is done, whatever becomes of the download.
    pub(super) lock: Arc<Lock>,
    /// Where to tell how far it is.
    pub(super) news: mpsc::UnboundedSender<Event>,
}

/// What is fetched.
pub(super) struct Order {
    pub(super) id: EffectId,
    pub(super) link: Link,
    pub(super) part: Part,
    pub(super) size: u64,
}

/// Fetches what is missing of a file.
pub(super) async fn fetch(tools: Tools, order: Order) -> Result<Downloaded, DownloadError> {
    let Order { id, link, part, size } = order;
    let mirror = Arc::clone(&tools.mirror);
    let opening = OPENING.acquire().await;
    let mut open = blocking(&tools, move || mirror.open_part(&part, size)).await?;
    drop(opening);
    let mut whole = None;
    if open.len() < size || size == 0 {
        let mut incoming = match tools.downloader.open(&link, open.len(), size).await {
            Err(DownloadError::WrongSize { .. }) if !open.is_empty() => {
                // What is on disk is no beginning of it: all of it is asked for.
                open = restart(&tools, open).await?;
                tools.downloader.open(&link, 0, size).await.map_err(|error| with(error, 0))?
            }
            other => other.map_err(|error| with(error, open.len()))?,
        };
        if incoming.from != open.len() {
            open = restart(&tools, open).await?;
        }
        whole = incoming.whole;
        let mut told = open.len();
        let mut piece = Vec::new();
        loop {
            let next = incoming.next().await;
            let broken = next.is_err();
            let ended = matches!(next, Ok(None));
            if let Ok(Some(bytes)) = &next {
                piece.extend_from_slice(bytes);
            }
            let came = open.len() + piece.len() as u64;
            if came > size {
                restart(&tools, open).await?;
                return Err(DownloadError::WrongSize { got: came, size });
            }
            if !piece.is_empty() && (piece.len() >= PIECE || broken || ended) {
                let bytes = std::mem::take(&mut piece);
                open = write(&tools, open, bytes).await?;
                if open.len() >= told + TELL_EVERY || broken {
                    told = open.len();
                    // The loop may have ended; then the answer is not needed.
                    drop(tools.news.send(Event::Storage(StorageEvent::Progress { id, got: told })));
                }
            }
            match next {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => return Err(with(error, open.len())),
            }
        }
    }
    if open.len() < size {
        let got = open.len();
        if whole == Some(size) {
            return Err(DownloadError::Broken { why: format!("it ended after {got} of {size} bytes"), got });
        }
        // An end that was announced as one: the server has less than the service says.
        restart(&tools, open).await?;
        return Err(DownloadError::WrongSize { got, size });
    }
    blocking(&tools, move || open.finish()).await.map(|hash| Downloaded { hash })
}

/// Says how much of the file is here.
fn with(error: DownloadError, here: u64) -> DownloadError {
    match error {
        DownloadError::Broken { why, .. } => DownloadError::Broken { why, got: here },
        other => other,
    }
}

async fn write(tools: &Tools, mut open: PartFile, bytes: Vec<u8>) -> Result<PartFile, DownloadError> {
    let mirror = Arc::clone(&tools.mirror);
    blocking(tools, move || mirror.write_part(&mut open, &bytes).map(|()| open)).await
}

async fn restart(tools: &Tools, mut open: PartFile) -> Result<PartFile, DownloadError> {
    let mirror = Arc::clone(&tools.mirror);
    blocking(tools, move || mirror.restart_part(&mut open).map(|()| open)).await
}

async fn blocking<T: Send + 'static>(
    tools: &Tools,
    act: impl FnOnce() -> Result<T, DiskError> + Send + 'static,
) -> Result<T, DownloadError> {
    let lock = Arc::clone(&tools.lock);
    let run = move || {
        let done = act();
        drop(lock);
        done
    };
    match tokio::task::spawn_blocking(run).await {
        Ok(done) => Ok(done?),
        Err(error) => Err(DownloadError::Disk(DiskError::Io(MirrorPath::root(), error.to_string()))),
    }
}
