//! Links and downloads: a link is requested just before its use, several downloads run at once, and each kind of
//! failure has its own wait.

use super::reasons::Trouble;
use super::{Direction, Fetched, Storage, Task, Turn, effect};
use crate::engine::retry::TOLD_AFTER;
use crate::model::{
    AttachmentId, DownloadError, Downloaded, Effect, FileId, Part, Seen, ServiceError, ServiceReply,
    StorageEffect, StorageReply, Timestamp, planted,
};
use crate::plan::stored::Decision;

/// The most downloads at once, pending link requests included.
const AT_ONCE: usize = 4;
/// A link that expires within this time is not used for a new download, in milliseconds.
const LINK_MARGIN_MS: i64 = 15_000;
/// Minimum wait before a GET of a file that left its list, in milliseconds.
const SECOND_LOOK_MS: i64 = 5_000;
/// Wait before the next GET of a file that a GET shows and no list does, in milliseconds.
const HIDDEN_RETRY_MS: i64 = 600_000;
/// Unusable links in a row before the problem needs the user, because time does not end it.
const BAD_LINKS: u32 = 2;

impl Storage {
    /// The next download whose link is known.
    pub(super) fn next_download(&self, cx: &Turn<'_>) -> Option<(Effect, Task)> {
        if !self.rests.is_over(Direction::Disk, cx.now) || fetching(cx) >= AT_ONCE {
            return None;
        }
        let linked = self.stirring().find(|(id, runtime)| {
            runtime.is_linked(cx.now)
                && self.is_ready(cx, id)
                && self.queue.requests.get(id) == Some(Decision::Fetch)
        });
        let (id, link) = linked.and_then(|(id, runtime)| Some((id.clone(), runtime.link.clone()?.0)))?;
        let remote = &self.files.get(&id)?.remote;
        let part = Part::of(&id, &remote.attachment, remote.size);
        let task =
            Task::Download { file: id.clone(), attachment: remote.attachment.clone(), size: remote.size };
        Some((effect(StorageEffect::Download { link, part, size: remote.size }), task))
    }

    /// Alternates between lists and links, so that files come early and their number is known soon.
    pub(super) fn next_walk_or_link(&mut self, cx: &Turn<'_>) -> Option<(Effect, Task)> {
        self.queue.turn = !self.queue.turn;
        match (self.next_folder(cx), self.queue.turn) {
            (Some(folder), true) => Some(Task::list(folder)),
            (folder, _) => self.next_link(cx).or_else(|| folder.map(Task::list)),
        }
    }

    /// The next link request: the files of one folder together, in the service's order.
    fn next_link(&self, cx: &Turn<'_>) -> Option<(Effect, Task)> {
        // A link is requested when it can be used.
        let linked = self
            .stirring()
            .filter(|(id, runtime)| runtime.is_linked(cx.now) && !cx.in_flight.is_file_busy(id));
        if fetching(cx) + linked.count() >= AT_ONCE || !self.rests.is_over(Direction::Disk, cx.now) {
            return None;
        }
        let id = self
            .queue
            .requests
            .of(Decision::Fetch)
            .find(|id| !self.of(id).is_linked(cx.now) && self.is_ready(cx, id));
        id.map(|id| (effect(StorageEffect::AskLink(id.clone())), Task::Link(id.clone())))
    }

    /// The next GET of a file that left its list.
    pub(super) fn next_confirmation(&self, cx: &Turn<'_>) -> Option<(Effect, Task)> {
        let id = self.queue.requests.of(Decision::Confirm).find_map(|id| {
            let due = self.of(id).missed_at.plus_ms(SECOND_LOOK_MS) <= cx.now;
            let folder = self.files.get(id).and_then(|node| node.remote.folder.as_ref());
            let folder_is_gone =
                folder.filter(|id| self.tree.folders.get(*id).is_none_or(|node| !node.listed));
            // It may have moved with its folder, which another list will show.
            let looked_round = folder_is_gone.is_none_or(|id| {
                self.lists
                    .all_walked_since(self.tree.folders_missed.get(id).copied().unwrap_or(0), &self.tree)
            });
            (due && looked_round && self.is_ready(cx, id)).then(|| id.clone())
        })?;
        Some((effect(StorageEffect::AskLink(id.clone())), Task::Link(id)))
    }

    pub(super) fn link_answered(
        &mut self,
        cx: &mut Turn<'_>,
        id: &FileId,
        result: Result<ServiceReply, ServiceError>,
    ) {
        let now = cx.now;
        let Some(node) = self.files.get(id).cloned() else { return };
        match result {
            Ok(ServiceReply::Storage(StorageReply::Link { file, link, good_for_ms })) if file.id == *id => {
                // Its position and its other fields come with its folder's list.
                let (position, rest) = (node.remote.position, node.remote.rest.clone());
                let elsewhere = node.remote.folder != file.folder;
                let home = file.folder.clone();
                let home_is_listed = self.tree.is_listed(home.as_ref());
                self.take_in_file(cx, &crate::model::StorageFile { position, rest, ..file });
                // Only the list of its own folder can show its absence.
                let is_astray = node.seen == Seen::Listed && elsewhere && !home_is_listed;
                if is_astray {
                    self.edit_file(cx, id, |node| node.seen = Seen::Unlisted);
                    self.runtime(id).missed_at = now;
                }
                if node.seen != Seen::Listed || is_astray {
                    // The list contradicts the GET, unless the file moved.
                    let mut is_hidden = !elsewhere;
                    if home_is_listed {
                        self.edit_file(cx, id, |node| {
                            node.seen = Seen::Listed;
                            node.seen_at = now;
                        });
                        self.lists.walk_by(home.as_ref(), now, cx.tick);
                    } else if let Some(home) = home.filter(|_| elsewhere) {
                        // It moved into a folder that no list has shown. That folder may disappear before a list
                        // shows it.
                        is_hidden = self.tree.folders_missed.insert(home, cx.tick).is_some();
                        self.lists.walk_everything_by(now, cx.tick);
                    }
                    // Limits the requests about lists and GETs that contradict each other.
                    let runtime = self.runtime(id);
                    runtime.is_back();
                    runtime.hidden = is_hidden;
                    if is_hidden {
                        runtime.failing.until = now.plus_ms(HIDDEN_RETRY_MS);
                    }
                }
                let runtime = self.runtime(id);
                runtime.link = Some(Box::new((link, now.plus_ms((good_for_ms - LINK_MARGIN_MS).max(1_000)))));
                if node.seen == Seen::Listed {
                    runtime.failing.until = Timestamp::default();
                }
            }
            Err(ServiceError::NotFound(_)) => {
                // It is in its list, but a GET does not find it: it may have no stored content. It counts as gone
                // only if its list lacks it too.
                if node.seen == Seen::Listed {
                    self.file_fails(cx, id, 5, true, Trouble::NoContent);
                    self.lists.walk_by(node.remote.folder.as_ref(), now, cx.tick);
                    return;
                }
                self.edit_file(cx, id, |node| {
                    node.seen = Seen::Gone;
                    node.seen_at = now;
                })
            }
            other => {
                let no_link = || ServiceError::Garbled("an answer that fits no link".to_owned());
                let error = other.err().unwrap_or_else(no_link);
                self.file_fails(cx, id, 0, false, Trouble::NoLink(error));
            }
        }
    }

    pub(super) fn downloaded(
        &mut self,
        cx: &mut Turn<'_>,
        id: &FileId,
        attachment: &AttachmentId,
        size: u64,
        result: Result<Downloaded, DownloadError>,
    ) {
        use DownloadError::{BadLink, Broken, Disk, Refused, WrongSize};
        let Some(remote) = self.files.get(id).map(|node| node.remote.clone()) else { return };
        if remote.attachment != *attachment || remote.size != size {
            return;
        }
        let runtime = self.runtime(id);
        let error = match result {
            Ok(Downloaded { hash }) => {
                runtime.fetched = Some(Box::new(Fetched { attachment: attachment.clone(), size, hash }));
                runtime.link = None;
                runtime.failing.count = 0;
                runtime.refused_links = 0;
                runtime.trouble = None;
                runtime.got = size;
                return self.settle_lost_upload(cx, id, hash);
            }
            Err(error) => error,
        };
        // The link is used again only if it was not at fault.
        runtime.link = runtime.link.take().filter(|_| matches!(error, Broken { .. } | Disk(_)));
        let more = match &error {
            Refused(_) => {
                runtime.refused_links += 1;
                (runtime.refused_links > TOLD_AFTER).then_some(3)
            }
            WrongSize { .. } => {
                runtime.got = 0;
                self.lists.walk_by(remote.folder.as_ref(), cx.now, cx.tick);
                Some(2)
            }
            BadLink(_) => Some(3),
            Broken { got, .. } => {
                // The received bytes are kept: while more of them arrive, the download continues soon.
                if *got > runtime.got_before {
                    runtime.failing.count = 0;
                }
                (runtime.got, runtime.got_before) = (*got, *got);
                Some(0)
            }
            Disk(error) => {
                self.rests.disk_fails(error, cx.now);
                Some(0)
            }
        };
        let at_once = matches!(error, BadLink(_)) && self.of(id).failing.count + 1 >= BAD_LINKS;
        if planted("download-retried-at-once") && matches!(error, Broken { .. }) {
            return;
        }
        if let Some(more) = more {
            self.file_fails(cx, id, more, at_once, Trouble::NotDownloaded(error));
        }
    }
}

/// The downloads and link requests under way.
fn fetching(cx: &Turn<'_>) -> usize {
    cx.in_flight.stored().filter(|task| matches!(task, Task::Download { .. } | Task::Link(_))).count()
}
