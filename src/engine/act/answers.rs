//! The answers to disk effects: what each changes, and what a refusal means.

use crate::engine::content::faults::or_hold;
use crate::engine::observe::old_paths::{old_path_freed, old_path_save_written};
use crate::engine::on_core;
use crate::engine::state::{Context, Engine, Flight, Folder, Held, Pages, Purpose, retry};
use crate::model::{DiskError, DiskReply, MirrorPath, Side};
use crate::store::StoreError;

impl Engine {
    /// Applies the answer to a disk effect.
    pub(crate) fn disk_done(
        &mut self,
        flight: Flight,
        result: Result<DiskReply, DiskError>,
    ) -> Result<(), StoreError> {
        let tick = self.cx.tick;
        if let Some(page) = flight.purpose.page().cloned() {
            self.pages.mark_dirty(&page);
            if !matches!(flight.purpose, Purpose::ReadToSplice { .. } | Purpose::ReadToCopy { .. }) {
                let runtime = self.pages.runtime(&page);
                runtime.acted = tick;
                if result.is_ok() {
                    runtime.failing.count = 0;
                    self.pages.held.remove(&page);
                }
            }
        }
        if let Purpose::Core(of) = flight.purpose {
            return on_core::core_disk_done(self, of, result);
        }
        if let Purpose::Dashboard(path, act) = &flight.purpose {
            let (trees, folder) = (&mut self.pages.trees, &mut self.folder);
            self.dashboards.answered((path, *act), result, trees, folder, &mut self.cx);
            return Ok(());
        }
        match (flight.purpose.clone(), result) {
            (Purpose::Scan, Ok(DiskReply::Scan(scan))) => self.scan_done(&flight, scan)?,
            (Purpose::Scan, Err(error)) => {
                self.folder.root.state = Some(Err(error.to_string()));
                self.folder.watch.scan_by(self.cx.now.plus_ms(10_000));
            }
            (Purpose::Read { path }, Ok(DiskReply::File(look))) => {
                self.read_done(&path, Ok(look), flight.sent_at)?;
            }
            (Purpose::Read { path }, Err(error)) => self.read_done(&path, Err(error), flight.sent_at)?,
            (Purpose::ReadToSplice { page, .. }, Ok(DiskReply::File(look))) => {
                // The file may have another text by now, and a job for that text may be in `ready` already.
                let spliced = self.pages.splice(&page, &look, &mut self.folder, &mut self.cx);
                let choice = or_hold(&mut self.pages, &page, Side::Service, spliced, &mut self.cx)?;
                self.cx.in_flight.ready = choice.or(self.cx.in_flight.ready.take());
            }
            (Purpose::ReadToCopy { page, path, summary }, Ok(DiskReply::File(look))) => {
                self.pages.keep_present(&path, &look.bytes, &mut self.cx)?;
                self.cx.in_flight.ready = self.pages.trees.copy_of(&page, &path, &look, summary, &self.cx);
            }
            (Purpose::Write { page, path, written }, Ok(DiskReply::Written(stamp))) => {
                self.pages.written(&page, &path, written, stamp, &mut self.folder.watch, &mut self.cx);
            }
            (Purpose::WriteCopy { page, copy, beside, text, summary }, Ok(DiskReply::Written(_))) => {
                self.pages.runtime(&page).copied = Some(Box::new(text));
                self.pages.trees.copied_was(&page, &copy, text, &mut self.cx);
                self.pages.trees.record_conflict(&copy, &beside, text, summary, &mut self.cx)?;
            }
            (Purpose::SetAside { page, from, to, then_gone }, Ok(DiskReply::Finished)) => {
                self.pages.set_aside(&page, &from, &to, then_gone, &mut self.folder.watch, &mut self.cx)?;
            }
            (Purpose::Relocate { page, from, to, reverts_move }, Ok(DiskReply::Finished)) => {
                self.pages.relocated(&page, &from, &to, reverts_move, &mut self.folder.watch, &mut self.cx);
            }
            (Purpose::MoveFolder { page, from, to }, Ok(DiskReply::Finished)) => {
                self.pages.folder_moved(&page, &from, &to, &mut self.folder.watch, &mut self.cx)?;
            }
            (Purpose::TrashFile { page, path }, Ok(DiskReply::Finished)) => {
                self.pages.file_trashed(&page, &path, &mut self.folder.watch, &mut self.cx)?;
            }
            (Purpose::OldPathSave(save), Ok(DiskReply::Written(_))) => {
                old_path_save_written(&mut self.pages, save, &mut self.folder, &mut self.cx);
            }
            (Purpose::OldPathSave(save), Ok(DiskReply::Finished)) => {
                old_path_freed(&mut self.pages, &save, &mut self.cx);
            }
            (Purpose::ReadAsked, Ok(DiskReply::File(look))) => self.asked_read(Ok(look))?,
            (Purpose::ReadAsked, Err(error)) => self.asked_read(Err(error))?,
            (Purpose::Asked, result) => self.asked_done(result)?,
            (Purpose::RemoveFolder { path }, Ok(DiskReply::Finished)) => {
                self.pages.trees.folders.remove(&path);
                if let Some(up) = path.parent() {
                    self.pages.trees.tidy_folder(&up, &mut self.cx);
                }
            }
            (purpose, Err(error)) => {
                self.pages.disk_act_failed(&purpose, &error, &mut self.folder, &mut self.cx);
            }
            (_, Ok(reply)) => {
                self.folder.watch.disk_reply_is_wrong(&reply, self.cx.now);
            }
        }
        Ok(())
    }
}

impl Pages {
    pub(crate) fn disk_act_failed(
        &mut self,
        purpose: &Purpose,
        error: &DiskError,
        folder: &mut Folder,
        cx: &mut Context,
    ) {
        let Some(page) = purpose.page().cloned() else { return };
        if matches!(purpose, Purpose::Write { .. }) && error.changed_nothing() {
            // A later read of the file must not take this text for its basis. A read that fails says nothing of a write.
            self.end_writing(&page, cx);
        }
        folder.disk_failed(&MirrorPath::root(), error, &mut self.trees, cx.now);
        let failures = {
            let runtime = self.runtime(&page);
            runtime.failing.count += 1;
            runtime.failing.count
        };
        self.put_off(&page, cx.now.plus_ms(retry::after_disk(error).wait_ms(failures)));
        if matches!(
            error,
            DiskError::Denied(..) | DiskError::Full(..) | DiskError::NotOrdinary(_) | DiskError::Io(..)
        ) {
            self.hold(&page, Some(Held::Disk(error.to_string())));
        }
    }
}
