//! The same for stored files: what an act would do, in one line, and an answer as if it had been done.

use std::collections::BTreeMap;

use crate::cli::output;
use crate::model::{
    AttachmentId, DiskReply, Downloaded, Entry, EntryKind, FileId, Link, MirrorPath, Outcome, Part, Rest,
    Scan, ServiceReply, Stamp, StorageEffect, StorageFile, StorageReply, StoredReply,
};

/// What was pretended of personal storage, so that later looks show it.
#[derive(Default)]
pub(super) struct Stored {
    listed: BTreeMap<FileId, StorageFile>,
    arriving: BTreeMap<Part, u64>,
    made: Vec<Entry>,
}

impl Stored {
    pub(super) fn line_of(&self, act: &StorageEffect) -> Option<String> {
        Some(match act {
            StorageEffect::Upload { filename, bytes, .. } => {
                format!("up    upload {filename} ({})", output::bytes(bytes.len() as u64))
            }
            StorageEffect::Trash(id) => {
                let name = self.listed.get(id).map_or(id.as_str(), |file| file.filename.as_str());
                format!("up    trash stored file {name}")
            }
            StorageEffect::Place { part, to, .. } => {
                let size = self.arriving.get(part).copied().unwrap_or(0);
                format!("down  download {to} ({})", output::bytes(size))
            }
            StorageEffect::Discard { path, .. } => format!("down  move {path} to .espejo/trash"),
            _ => return None,
        })
    }

    /// Answers an act, and a request whose answer is known; `None` for a look that is really made.
    pub(super) fn pretend(&mut self, act: &StorageEffect, number: u64) -> Option<Outcome> {
        let made = |path: &MirrorPath, kind, size| {
            let stamp = Stamp { inode: number, size, ..Stamp::default() };
            Entry { path: path.clone(), kind, stamp }
        };
        Some(match act {
            StorageEffect::List(_) | StorageEffect::Hash(_) => return None,
            StorageEffect::AskLink(id) => {
                let file = self.listed.get(id)?.clone();
                let link = Link::new(String::new());
                let reply = StorageReply::Link { file, link, good_for_ms: 600_000 };
                Outcome::Service(Ok(ServiceReply::Storage(reply)))
            }
            StorageEffect::Upload { folder, filename, bytes, .. } => {
                let id = format!("dry-run-{number}");
                let file = StorageFile {
                    id: FileId::new(&id).ok()?,
                    folder: folder.clone(),
                    attachment: AttachmentId::new(&id).ok()?,
                    filename: filename.clone(),
                    size: bytes.len() as u64,
                    position: 0.0,
                    rest: Rest::default(),
                };
                Outcome::Service(Ok(ServiceReply::Storage(StorageReply::Uploaded(file))))
            }
            StorageEffect::Trash(_) => Outcome::Service(Ok(ServiceReply::Storage(StorageReply::Trashed))),
            StorageEffect::Download { part, size, .. } => {
                self.arriving.insert(part.clone(), *size);
                Outcome::Download(Ok(Downloaded { hash: crate::model::ContentHash([0; 32]) }))
            }
            StorageEffect::Place { part, to, .. } => {
                let entry = made(to, EntryKind::File, self.arriving.remove(part).unwrap_or(0));
                let stamp = entry.stamp;
                self.made.push(entry);
                Outcome::Disk(Ok(DiskReply::Storage(StoredReply::Placed(stamp))))
            }
            StorageEffect::MakeFolder(path) => {
                self.made.push(made(path, EntryKind::Folder, 0));
                Outcome::Disk(Ok(DiskReply::Finished))
            }
            StorageEffect::Discard { .. } | StorageEffect::Sweep(_) => Outcome::Disk(Ok(DiskReply::Finished)),
        })
    }

    pub(super) fn learn(&mut self, result: Result<ServiceReply, crate::model::ServiceError>) -> Outcome {
        if let Ok(ServiceReply::Storage(StorageReply::Listing(listing))) = &result {
            self.listed.extend(listing.files.iter().map(|file| (file.id.clone(), file.clone())));
        }
        Outcome::Service(result)
    }

    /// A scan with what was pretended in it.
    pub(super) fn shown(&self, mut scan: Scan) -> Scan {
        scan.entries.retain(|entry| !self.made.iter().any(|made| made.path == entry.path));
        scan.entries.extend(self.made.iter().cloned());
        scan.entries.sort_by(|a, b| a.path.cmp(&b.path));
        scan
    }
}
