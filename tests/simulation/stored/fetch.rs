//! What runs beside the line of disk effects: downloads, which take their time and go wrong in the middle, and hashes, which
//! look twice.

use std::collections::VecDeque;

use espejo::emulator::DownloadRequest;
use espejo::model::{
    ContentHash, DiskError, DiskReply, DownloadError, Downloaded, Effect, EffectId, Event, Link, MirrorPath,
    Outcome, Part, RootState, Stamp, StorageEffect, StorageEvent, StoredReply, Timestamp,
};

use crate::checks::Failure;
use crate::disk::look;
use crate::run::{Due, Run};
use crate::service::Weather;

/// A growing file is synced this often; after a kill the rest of it is not trusted.
const STEP: u64 = 4 << 20;

/// What goes wrong with one download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadDownload {
    Refused(u16),
    Failing,
    BreaksOff,
    WrongSize,
    /// It takes longer than its link is good for.
    Slow,
}

impl BadDownload {
    /// Some of them, by a number.
    pub(crate) fn some(number: u32, count: u32) -> VecDeque<Self> {
        let all = [
            Self::BreaksOff,
            Self::Refused(403),
            Self::BreaksOff,
            Self::Refused(404),
            Self::Failing,
            Self::WrongSize,
            Self::Slow,
        ];
        let kind = |at: u32| all[usize::try_from((number / 7 * at + number) % 7).unwrap_or(0)];
        (0..count).map(kind).collect()
    }
}

/// An effect that runs beside the others.
#[derive(Debug, Clone)]
pub(crate) enum Beside {
    Fetch { link: Link, part: Part, size: u64, is_open: bool, breaks_off: bool },
    Hash { path: MirrorPath, before: Option<(Stamp, Vec<u8>)> },
}

/// What becomes of a step.
enum Next {
    On(i64),
    Fetched(Result<Downloaded, DownloadError>),
    Hashed(Result<DiskReply, DiskError>),
}

impl Run {
    /// The next bit of an effect that runs beside the others.
    pub(crate) fn beside_step(&mut self, life: u32, id: EffectId, mut beside: Beside) -> Result<(), Failure> {
        let next = match &mut beside {
            Beside::Fetch { link, part, size, is_open, breaks_off } => {
                match self.fetch_step(id, (link, part, *size), is_open, breaks_off)? {
                    Ok(Some(delay)) => Next::On(delay),
                    Ok(None) => Next::Fetched(Ok(self.fetched(part))),
                    Err(error) => {
                        if matches!(error, DownloadError::Broken { .. }) {
                            self.stored.checks.download_failed(part, self.now_ms);
                        }
                        Next::Fetched(Err(error))
                    }
                }
            }
            Beside::Hash { path, before } => match (look(&self.folder, path), before.take()) {
                (Err(error), _) => Next::Hashed(Err(error)),
                (Ok(found), None) => {
                    *before = Some(found);
                    Next::On(self.luck.between(0, 40))
                }
                (Ok((stamp, bytes)), Some((first, _))) => Next::Hashed(if stamp == first {
                    Ok(DiskReply::Storage(StoredReply::Hashed(stamp, ContentHash::of(&bytes))))
                } else {
                    Err(DiskError::Changed(path.clone()))
                }),
            },
        };
        let answer = match next {
            Next::On(delay) => {
                self.later(delay, Due::Beside { life, id, beside });
                return Ok(());
            }
            Next::Fetched(result) => Outcome::Download(result),
            Next::Hashed(result) => Outcome::Disk(result),
        };
        let travel = self.luck.between(0, 3);
        self.later(travel, Due::Answer { life, id, outcome: answer, looked: None, asked: None });
        Ok(())
    }

    /// The machine slept: the connection of a download is gone.
    pub(crate) fn beside_slept(&self, life: u32, id: EffectId, beside: Beside) -> Due {
        match beside {
            Beside::Fetch { part, .. } => {
                let got = self.folder.parts.get(&part).map_or(0, |part| part.got);
                let error = DownloadError::Broken { why: "the connection was reset".to_owned(), got };
                let outcome = Outcome::Download(Err(error));
                Due::Answer { life, id, outcome, looked: None, asked: None }
            }
            other => Due::Beside { life, id, beside: other },
        }
    }

    fn fetched(&mut self, part: &Part) -> Downloaded {
        let bytes = self.folder.parts.get(part).map_or(&[][..], |part| &part.bytes);
        Downloaded { hash: ContentHash::of(bytes) }
    }

    /// `None` when all of it is here, else when it goes on.
    fn fetch_step(
        &mut self,
        id: EffectId,
        (link, part, size): (&Link, &Part, u64),
        is_open: &mut bool,
        breaks_off: &mut bool,
    ) -> Result<Result<Option<i64>, DownloadError>, Failure> {
        if let Some(error) = self.cannot_write() {
            return Ok(Err(DownloadError::Disk(error)));
        }
        if !*is_open {
            *is_open = true;
            return Ok(self.open_link((link, part, size), breaks_off).map(Some));
        }
        let Some(here) = self.folder.parts.get_mut(part) else {
            let error = DiskError::Missing(MirrorPath::root());
            return Ok(Err(DownloadError::Disk(error)));
        };
        here.got = size.min(here.got + (size / 4).max(1 << 18));
        let got = here.got;
        if *breaks_off && size > 0 {
            here.got = got.min(size - 1);
            let got = here.got;
            self.tell(Event::Storage(StorageEvent::Progress { id, got }))?;
            return Ok(Err(DownloadError::Broken { why: "the connection was closed".to_owned(), got }));
        }
        if got < size {
            self.tell(Event::Storage(StorageEvent::Progress { id, got }))?;
            return Ok(Ok(Some(self.luck.between(20, 2_000))));
        }
        Ok(Ok(None))
    }

    fn cannot_write(&self) -> Option<DiskError> {
        if self.folder.root != RootState::Ready {
            return Some(DiskError::RootNotReady(format!("{:?}", self.folder.root)));
        }
        let place = MirrorPath::root();
        if self.folder.full {
            return Some(DiskError::Full(place, "the disk is full".to_owned()));
        }
        self.folder.read_only.then(|| DiskError::Denied(place, "permission denied".to_owned()))
    }

    /// The answer begins; when its bytes come.
    fn open_link(
        &mut self,
        (link, part, size): (&Link, &Part, u64),
        breaks_off: &mut bool,
    ) -> Result<i64, DownloadError> {
        let here = self.folder.parts.entry(part.clone()).or_default();
        if !std::mem::replace(&mut here.is_ours, true) {
            here.got = here.got.saturating_sub(1) / STEP * STEP;
        }
        let got = here.got;
        if got == size && size > 0 {
            return Ok(0);
        }
        let broken = |why: &str| DownloadError::Broken { why: why.to_owned(), got };
        if self.service.is(Weather::Unreachable) {
            return Err(broken("no route to host"));
        }
        let mut delay = self.luck.between(5, 300);
        match self.service.bad_downloads.pop_front() {
            Some(BadDownload::Refused(status)) => return Err(DownloadError::Refused(status)),
            Some(BadDownload::Failing) => return Err(broken("the server failed with status 503")),
            Some(BadDownload::WrongSize) => {
                here_or(&mut self.folder.parts, part).got = 0;
                return Err(DownloadError::WrongSize { got: size + 1, size });
            }
            Some(BadDownload::BreaksOff) => *breaks_off = true,
            Some(BadDownload::Slow) => delay = 700_000,
            None => {}
        }
        let (path, query) = link.expose().split_once('?').unwrap_or((link.expose(), ""));
        let request =
            DownloadRequest { path: path.to_owned(), query: query.to_owned(), ..DownloadRequest::default() };
        let response = self.service.world.download(&request, Timestamp(self.now_ms));
        if response.status >= 400 {
            return Err(DownloadError::Refused(response.status));
        }
        let whole = self.stored.bodies.known(&response.body).map(|number| self.stored.bodies.size(number));
        let here = here_or(&mut self.folder.parts, part);
        if whole != Some(size) {
            here.got = 0;
            return Err(DownloadError::WrongSize { got: whole.unwrap_or(0), size });
        }
        here.bytes = response.body;
        Ok(delay)
    }
}

fn here_or<'a>(parts: &'a mut super::disk::Parts, part: &Part) -> &'a mut super::disk::PartFile {
    parts.entry(part.clone()).or_default()
}

/// What a person sees of an outcome that only stored files have.
pub(crate) fn brief(outcome: &Outcome) -> Option<String> {
    use espejo::model::{ServiceReply, StorageReply};
    Some(match outcome {
        Outcome::Service(Ok(ServiceReply::Storage(reply))) => match reply {
            StorageReply::Listing(listing) => {
                format!("lists {} folders, {} files", listing.folders.len(), listing.files.len())
            }
            StorageReply::Link { file, .. } => format!("a link for {:?}", file.filename),
            StorageReply::Uploaded(file) => format!("uploaded as {:?} {}", file.filename, file.id),
            StorageReply::Trashed => "trashed".to_owned(),
        },
        Outcome::Disk(Ok(DiskReply::Storage(reply))) => match reply {
            StoredReply::Hashed(..) => "hashed".to_owned(),
            StoredReply::Placed(_) => "placed".to_owned(),
        },
        Outcome::Download(Ok(_)) => "downloaded".to_owned(),
        Outcome::Download(Err(error)) => format!("fails: {error}"),
        _ => return None,
    })
}

/// What runs beside the line of disk effects.
pub(crate) fn beside(effect: &Effect) -> Option<Beside> {
    Some(match effect {
        Effect::Storage(StorageEffect::Download { link, part, size }) => Beside::Fetch {
            link: link.clone(),
            part: part.clone(),
            size: *size,
            is_open: false,
            breaks_off: false,
        },
        Effect::Storage(StorageEffect::Hash(path)) => Beside::Hash { path: path.clone(), before: None },
        _ => return None,
    })
}

/// An effect of storage in a few words.
pub(crate) fn brief_effect(effect: &StorageEffect) -> String {
    match effect {
        StorageEffect::List(folder) => format!("list stored files in {folder:?}"),
        StorageEffect::AskLink(id) => format!("get a link for {id}"),
        StorageEffect::Upload { folder, filename, bytes, .. } => {
            let start = String::from_utf8_lossy(bytes.get(..6).unwrap_or(b"")).into_owned();
            format!("POST stored {filename:?} [{start}] in {folder:?}")
        }
        StorageEffect::Trash(id) => format!("DELETE stored {id}"),
        StorageEffect::Hash(path) | StorageEffect::MakeFolder(path) => format!("{} {path}", effect.name()),
        StorageEffect::Place { to, instead_of, .. } => {
            format!("place a download at {to}{}", if instead_of.is_some() { ", replacing" } else { "" })
        }
        StorageEffect::Discard { path, .. } => format!("discard {path}"),
        other => other.name().to_owned(),
    }
}
