//! Messages to the user about storage, and the numbers of its progress.

use std::collections::BTreeMap;

use super::local::Local;
use super::send::Uploads;
use super::{Direction, Runtime, Storage};
use crate::engine::attention::Needs;
use crate::engine::beside::beside;
use crate::engine::flight::InFlight;
use crate::engine::refused::code_of;
use crate::model::{Code, FileNode, MirrorPath, Refusal, Seen, StorageMode, Timestamp};
use crate::plan::filenames;
use crate::plan::stored::Decision;

/// The progress of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StorageSummary {
    /// Files whose content is on disk.
    pub files: usize,
    /// Their size in bytes.
    pub bytes: u64,
    /// Files that left one side and stay on the other.
    pub held: usize,
    /// Files that the service lists.
    pub listed: usize,
    /// Their size in bytes.
    pub listed_bytes: u64,
    /// Bytes of running downloads.
    pub arriving: u64,
    /// Folders still to be listed in this pass (or at all, without a pass).
    pub folders_left: usize,
    /// Files that wait for their upload, or for their move to the service's trash.
    pub sending: usize,
    /// Whether nothing is left to do except polling and items that need the user.
    pub is_settled: bool,
    /// Files whose bytes were compared in the running deep check.
    pub checked: usize,
}

impl Storage {
    /// The number of known files.
    pub(in crate::engine) fn size(&self) -> usize {
        self.files.len()
    }

    pub(super) fn is_troubled(&self, node: &FileNode) -> bool {
        let runtime = self.of(&node.remote.id);
        runtime.trouble.is_some() || runtime.hidden
    }

    pub(in crate::engine) fn summary(&self, in_flight: &InFlight, now: Timestamp) -> StorageSummary {
        let mut summary = StorageSummary::default();
        if !self.is_on() {
            return StorageSummary { is_settled: true, ..summary };
        }
        let deep = self.lists.pass.filter(|pass| pass.deep).map(|pass| pass.since);
        for ((id, node), runtime) in beside(&self.files, &self.runtimes, |(other, _), (id, _)| other.cmp(id))
        {
            let runtime = runtime.map_or(&self.nothing, |(_, runtime)| runtime);
            if self.apart.contains_key(id) {
                continue;
            }
            if node.seen == Seen::Listed && node.replaced_by.is_none() {
                summary.listed += 1;
                summary.listed_bytes += node.remote.size;
            }
            if let Some(base) = &node.base {
                let is_here = !(runtime.local.is_missing() || runtime.local == Local::Away);
                summary.held += usize::from(self.is_leaving(node) || !is_here);
                if !node.is_renewed() && node.seen == Seen::Listed && is_here {
                    summary.files += 1;
                    summary.bytes += base.size;
                    summary.checked += usize::from(deep.is_some_and(|since| runtime.checked > since));
                }
            }
            summary.arriving += runtime.got;
        }
        summary.folders_left = self.lists.unwalked(&self.tree);
        let candidates =
            self.uploads.candidates.values().filter(|candidate| candidate.refused.is_none()).count();
        let leaving = self.queue.requests.of(Decision::TrashThere).count();
        summary.sending = if self.mode == StorageMode::TwoWay { candidates + leaving } else { 0 };
        summary.is_settled = self.is_settled(in_flight, now, &summary);
        summary
    }

    fn is_settled(&self, in_flight: &InFlight, now: Timestamp, summary: &StorageSummary) -> bool {
        let waits = |id| self.files.get(id).is_none_or(|node| self.is_troubled(node));
        if !self.rests.is_over(Direction::Reading, now) {
            // Downloaded files are still placed.
            let here =
                self.sight.at.0 > 0 && (self.uploads.strays_are_old || !self.queue.dirty.iter().all(waits));
            return in_flight.stored().next().is_none() && !here;
        }
        let disk_is_full = !self.rests.is_over(Direction::Disk, now);
        let sending_rests = !self.rests.is_over(Direction::Sending, now);
        let trashing_rests = !self.rests.is_over(Direction::Trashing, now);
        let wanted = !disk_is_full && !self.queue.requests.of(Decision::Fetch).all(waits)
            || !trashing_rests && !self.queue.requests.of(Decision::TrashThere).all(waits)
            || !self.queue.requests.of(Decision::Confirm).all(waits);
        let to_check = self.lists.pass.filter(|pass| pass.deep).is_some_and(|pass| {
            self.files.keys().any(|id| {
                let runtime = self.of(id);
                !self.apart.contains_key(id) && runtime.local == Local::Same && runtime.checked <= pass.since
            })
        });
        let suspects = self
            .stirring()
            .any(|(_, runtime)| matches!(runtime.local, Local::Suspect(_)) && runtime.trouble.is_none());
        in_flight.stored().next().is_none()
            && self.sight.at.0 > 0
            && summary.folders_left == 0
            && (!self.tree.folders_active || self.tree.folders_trouble.is_some())
            && self.queue.dirty.iter().all(waits)
            && self.queue.compared.is_empty()
            && !wanted
            && !suspects
            && !to_check
            && self.uploads.ready.is_none()
            && !self.uploads.strays_are_old
            && (self.mode != StorageMode::TwoWay
                || sending_rests
                || summary.sending == self.uploads.too_soon(now)
                || self.no_workspace)
            // The outcome of an upload into a folder that is not listed is unknown until the folder is listed.
            && self.uploads.creations.unconfirmed(|upload| self.tree.is_listed(upload.folder.as_ref())).is_empty()
    }

    /// The number of waiting lists and link requests.
    pub(super) fn looks_left(&self, now: Timestamp) -> usize {
        self.queue.requests.looks_left() + self.lists.walks_due(now)
    }

    /// The earliest time at which an act may become possible.
    pub(in crate::engine) fn next_due(&self, now: Timestamp) -> Timestamp {
        let far = now.plus_ms(3_600_000);
        if !self.is_on() {
            return far;
        }
        let walks = self.lists.walk_times();
        let acts =
            self.queue.act_at.iter().filter(|(id, _)| self.queue.dirty.contains(*id)).map(|(_, at)| *at);
        let retries = self.stirring().filter(|(id, _)| self.queue.requests.get(id).is_some());
        let retries = retries.map(|(_, runtime)| runtime.failing.until);
        let candidates = self.uploads.candidates.iter().filter(|(_, candidate)| candidate.refused.is_none());
        let candidates = candidates.map(|(path, candidate)| {
            let rested = Timestamp(candidate.stamp.modified_ns / 1_000_000).plus_ms(2_000);
            candidate.failing.until.max(self.uploads.again.due(path)).max(rested)
        });
        let suspects = self.stirring().filter_map(|(_, runtime)| match runtime.local {
            Local::Suspect(stamp) => {
                Some(Timestamp(stamp.modified_ns / 1_000_000).plus_ms(1_000).max(runtime.failing.until))
            }
            _ => None,
        });
        let confirmations = self.queue.requests.of(Decision::Confirm);
        let confirmations = confirmations.map(|id| self.of(id).missed_at.plus_ms(5_000));
        let refused = self.uploads.next_refused();
        let all = walks.chain(acts).chain(retries).chain(candidates).chain(suspects).chain(confirmations);
        let all = all.chain(refused);
        // Work that is already due waits for an answer or a permit, not for time.
        all.filter(|at| *at > now).fold(far, Timestamp::min)
    }

    /// Whether any request waits only for a permit.
    pub(in crate::engine) fn wants_look(&self, now: Timestamp) -> bool {
        self.is_on()
            && self.rests.is_over(Direction::Reading, now)
            && (self.lists.walks_due(now) > 0
                || self.queue.requests.looks().any(|id| !self.of(id).failing.waits(now)))
    }

    /// Adds a message for each problem that needs the user: path, cause, and remedy.
    pub(in crate::engine) fn needs(
        &self,
        now: Timestamp,
        next: &dyn Fn(&Refusal) -> String,
        needs: &mut Needs,
    ) {
        if !self.is_on() {
            return;
        }
        let rests = [
            (Direction::Reading, "stored files are not checked: the service forbids it"),
            (Direction::Sending, "stored files are not uploaded: the service forbids it"),
            (Direction::Trashing, "stored files are not moved to the service's trash: it forbids it"),
        ];
        for (rest, what) in rests {
            if let Some(refusal) = self.rests.0.get(&rest) {
                needs.tell(
                    Code::StorageForbidden,
                    super::FOLDER,
                    &format!("{what}: {}", refusal.said),
                    &format!("check the plan and the token's scopes; {}", next(refusal)),
                );
            }
        }
        self.needs_of_large(needs);
        if let Some(refusal) = self.rests.0.get(&Direction::Disk)
            && refusal.rests(now)
        {
            needs.tell(
                Code::DiskFull,
                super::FOLDER,
                &format!("downloads wait: {}", refusal.said),
                "free some space; downloads then continue",
            );
        }
        if let Some(why) = &self.tree.folders_trouble {
            needs.tell(
                Code::NotWritten,
                super::FOLDER,
                &format!("a folder cannot be created or moved: {why}"),
                "espejo retries",
            );
        }
        if let Some((leaving, all)) = self.guarding.guards.leaving {
            needs.tell(
                Code::RemovalsHeld,
                super::FOLDER,
                &format!(
                    "no stored file is removed here: {leaving} of {all} stored files left the service's lists at once"
                ),
                "check the app; espejo approve removes them; if you get access again, they stay",
            );
        }
        for folder in self.guarding.guards.emptied.iter().filter(|_| self.guarding.guards.leaving.is_none()) {
            let place = self.tree.place_of(folder.as_ref()).unwrap_or_else(super::names::storage_root);
            needs.tell(
                Code::RemovalsHeld,
                place.as_str(),
                "the service suddenly lists nothing in it: its files stay",
                "check the app; espejo approve removes them; if you get access again, they stay",
            );
        }
        if let (Some(why), StorageMode::TwoWay) = (&self.guarding.guards.missing, self.mode) {
            needs.tell(
                Code::DeletionsHeld,
                super::FOLDER,
                &format!("nothing is moved to the service's trash: {why}"),
                "put the files back, from a copy or from the app, or run espejo approve",
            );
        }
        let mut waiting = self.uploads.candidates.values().filter(|candidate| candidate.refused.is_none());
        if self.mode == StorageMode::TwoWay && self.no_workspace && waiting.next().is_some() {
            needs.tell(
                Code::NoWorkspace,
                super::FOLDER,
                "nothing is uploaded: there is no workspace to count uploads for",
                "name a workspace that is not frozen as workspace in [storage]",
            );
        }
        for (folder, walk) in &self.lists.walks {
            if let Some(why) = &walk.trouble {
                let place = self.tree.place_of(folder.as_ref()).unwrap_or_else(super::names::storage_root);
                needs.tell(
                    Code::Unclear,
                    place.as_str(),
                    &format!("not all of it can be listed: {why}"),
                    "nothing is removed; tell the service's operator if this continues",
                );
            }
        }
        let told =
            self.stirring().filter(|(id, runtime)| runtime.is_told_of() && !self.apart.contains_key(*id));
        for (id, runtime) in told {
            if let Some(node) = self.files.get(id) {
                self.need_of(node, runtime, next, needs);
            }
        }
        self.needs_of_disks(needs);
        let renamed = self.refused_under_a_new_name();
        for (path, candidate) in &self.uploads.candidates {
            if let Some(refusal) = candidate.told_trouble() {
                let reason = format!("not uploaded: {}", refusal.said);
                let mend = format!("nothing to do: {}", next(refusal));
                needs.tell(Code::Failing, path.as_str(), &reason, &mend);
            }
            let refused = candidate.refused.as_ref().filter(|_| self.mode == StorageMode::TwoWay);
            let Some(unsent) = refused else { continue };
            let (why, mend) = (unsent.to_string(), unsent.mend());
            let by_service = candidate.by_service.as_ref().filter(|r| r.retry_at != Refusal::NEVER);
            let code = match by_service.map(|refusal| code_of(refusal.class)) {
                Some(Code::Failing) => Code::Failing,
                _ if self.uploads.returned.contains_key(path) => Code::WentBack,
                _ => Code::NotUploaded,
            };
            let mend = by_service.map_or_else(|| mend.to_owned(), |r| format!("{mend}; {}", next(r)));
            match renamed.get(path) {
                None => needs.tell(code, path.as_str(), &format!("not uploaded: {why}"), &mend),
                Some(from) => needs.tell(
                    code,
                    path.as_str(),
                    &format!("not uploaded: {why}; the service keeps it as {}", below_storage(from)),
                    &format!("{mend}; or put it back"),
                ),
            }
        }
        for path in self.uploads.local_only.keys().filter(|path| filenames::is_conflict_copy(path.name())) {
            needs.tell(
                Code::KeptBeside,
                path.as_str(),
                "your version of a stored file, kept beside the service's one and not sent",
                "copy what you need from it, then delete it (with mode = \"two-way\" you can also rename it, and it is uploaded)",
            );
        }
    }

    fn needs_of_disks(&self, needs: &mut Needs) {
        let mut folders: BTreeMap<&MirrorPath, usize> = BTreeMap::new();
        for folder in self.sight.away.values() {
            *folders.entry(folder).or_default() += 1;
        }
        for (folder, count) in folders {
            let (files, their) = if count == 1 { ("stored file", "its") } else { ("stored files", "their") };
            needs.tell(
                Code::DiskAway,
                folder.as_str(),
                &format!("{count} {files} that belong here cannot be read: {their} disk is not mounted"),
                "mount it; if they are lost for good, run espejo approve with this folder",
            );
        }
    }

    fn need_of(
        &self,
        node: &FileNode,
        runtime: &Runtime,
        next: &dyn Fn(&Refusal) -> String,
        needs: &mut Needs,
    ) {
        let path = node.base.as_ref().map(|base| base.path.clone()).or_else(|| self.wanted_file(node));
        let shown = path.as_ref().map_or(node.remote.filename.as_str(), MirrorPath::as_str);
        if let Some(why) = &runtime.trouble {
            match &runtime.refused {
                Some(refusal) => {
                    let mend = format!("put it back; {}", next(refusal));
                    needs.tell(code_of(refusal.class), shown, &why.to_string(), &mend)
                }
                None => needs.tell(Code::Failing, shown, &why.to_string(), "espejo retries"),
            }
        }
        if runtime.hidden && node.base.is_some() && node.seen != Seen::Listed {
            needs.tell(
                Code::Unlisted,
                shown,
                "the service no longer lists it, but still shows it: the file stays",
                "espejo approve removes the file",
            );
        }
        // What a scan found in the way of items of every kind has been told.
        if runtime.local == Local::Odd && !needs.is_told(Code::InTheWay, shown) {
            needs.tell(
                Code::InTheWay,
                shown,
                "something that is not a file is in its place",
                "move it away; espejo then fetches the file",
            );
        }
    }

    /// Files that were moved or renamed to paths from which they cannot be uploaded: the present path and the path at
    /// the service.
    fn refused_under_a_new_name(&self) -> BTreeMap<MirrorPath, MirrorPath> {
        if self.mode != StorageMode::TwoWay
            || self.uploads.candidates.values().all(|new| new.refused.is_none())
        {
            return BTreeMap::new();
        }
        let missing = self.files.values().filter(|node| self.of(&node.remote.id).local.is_missing());
        // It may also have been renamed in the app.
        let there = |node: &FileNode| node.base.as_ref()?.path.parent()?.join(&node.remote.filename).ok();
        missing.filter_map(|node| Some((self.renamed_to(node)?, there(node)?))).collect()
    }
}

impl Uploads {
    /// The number of files that wait only for the time of their next upload: they have changed again soon after one, or
    /// uploads of them failed and the user is told.
    fn too_soon(&self, now: Timestamp) -> usize {
        let waits = |(path, candidate): (&MirrorPath, &super::send::Candidate)| {
            let fails = candidate.told_trouble().is_some() && candidate.rests(now);
            candidate.refused.is_none() && (fails || self.again.due(path) > now)
        };
        self.candidates.iter().filter(|item| waits(*item)).count()
    }
}

/// A path in the storage, as the app shows it.
fn below_storage(path: &MirrorPath) -> &str {
    path.as_str().split_once('/').map_or(path.as_str(), |(_, rest)| rest)
}
