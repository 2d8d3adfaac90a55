//! What a hint leads to: a read of one file if that says enough, otherwise a scan.
//!
//! The cost of a scan and of identification grows with the number of files; an edit of one file should cost what one
//! file costs. A read says enough if a complete scan could only say the same: the file is at the place of its page, and
//! names it by its id or is the same file object as before.

use crate::core::content::naming;
use crate::engine::state::folder::SCAN_AT_LATEST_MS;
use crate::engine::state::{Context, Folder, Trees, named};
use crate::markdown::front_matter;
use crate::model::{DiskError, FileRead, IGNORE_FILE, MirrorPath, PageId};
use crate::plan::ignore;

/// Temporary files of programs that save are not pages, and folders with such names are rare. They are scanned this
/// much later.
const LEFTOVERS_MS: i64 = 60_000;

impl Folder {
    /// Handles a hint: something may have happened at this path.
    pub(crate) fn hinted(&mut self, path: MirrorPath, trees: &Trees, cx: &Context) {
        let settle_ms = cx.settings.pages.settle_ms;
        if trees.ignoring.ignores_file(&path) && path.as_str() != IGNORE_FILE {
            // If the file was moved, another hint names its new path.
            return;
        }
        if naming::is_stored(&path) {
            // No page and no canvas is there, and storage relies on scans. A download of hours must not keep pages and
            // canvases waiting for a quiet moment.
            self.watch.stirred = cx.now;
            return self.watch.scan_by(cx.now.plus_ms(settle_ms.max(SCAN_AT_LATEST_MS)));
        }
        if let Some(below) = trees.layout().below_pages(&path) {
            if below.split('/').any(ignore::is_ignored_folder) {
                // Such a folder is never entered, and its files are never pages.
                return;
            }
            if ignore::is_ignored(path.name()) && !trees.folders.contains(&path) {
                return self.watch.scan_by(cx.now.plus_ms(LEFTOVERS_MS));
            }
        }
        if self.is_a_pages_file(&path, trees) {
            self.watch.read_targeted(&path, cx.now, settle_ms);
        } else {
            self.watch.hint(path, cx.now, settle_ms);
        }
    }

    fn is_a_pages_file(&self, path: &MirrorPath, trees: &Trees) -> bool {
        let file = trees.files.get(path).filter(|file| file.hash.is_some());
        let node = file.and_then(|file| trees.pages.get(file.page.as_ref()?));
        // Until the files of a scan are identified, the file is gone for code that relies on the scan.
        self.root.is_ready()
            && self.watch.is_told()
            && node.is_some_and(|node| node.file.as_ref() == Some(path) && node.missing_since.is_none())
            && !self.watch.candidates.contains_key(path)
    }

    /// Whether a targeted read leaves in doubt which page's file this is, or where that file is now.
    pub(crate) fn tells_too_little(&self, result: &Result<FileRead, DiskError>, trees: &Trees) -> bool {
        match result {
            Ok(look) => !self.is_at_home(look, trees),
            Err(error) => !matches!(error, DiskError::Changed(_) | DiskError::RootNotReady(_)),
        }
    }

    fn is_at_home(&self, look: &FileRead, trees: &Trees) -> bool {
        let known = trees.files.get(&look.path).filter(|_| self.is_a_pages_file(&look.path, trees));
        known.is_some_and(|known| {
            let claims = claims(&look.bytes).filter(|id| named::is_pages(id.as_str(), trees));
            let is_as_before =
                named::page_in(known, trees).is_none() && known.stamp.object() == look.stamp.object();
            if claims.is_some() { claims == known.page } else { is_as_before }
        })
    }
}

/// The page that a file names.
fn claims(bytes: &[u8]) -> Option<PageId> {
    let split = front_matter::split(std::str::from_utf8(bytes).ok()?).ok()?;
    split.front?.named().and_then(|id| PageId::new(id).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::state::Engine;
    use crate::model::{
        DiskReply, Effect, EffectId, Event, Outcome, RootState, Scan, ServiceError, Settings, Timestamp,
    };
    use crate::store::Store;

    const BEGIN: i64 = 1_000_000;

    /// Answers every request as if the service were away. Returns the scans, which are still to be answered.
    fn go_on(engine: &mut Engine, now: i64) -> Vec<EffectId> {
        let mut scans = Vec::new();
        while let Some((id, effect)) = engine.next_effect(Timestamp(now)).unwrap() {
            if effect == Effect::Scan {
                scans.push(id);
            } else {
                let away = Err(ServiceError::Unreachable("no route".to_owned()));
                engine.handle(Event::Done { id, outcome: Outcome::Service(away) }, Timestamp(now)).unwrap();
            }
        }
        scans
    }

    fn scanned(engine: &mut Engine, id: EffectId, now: i64) {
        let scan = Scan { root: RootState::Ready, clock: Timestamp(now), ..Scan::default() };
        let outcome = Outcome::Disk(Ok(DiskReply::Scan(scan)));
        engine.handle(Event::Done { id, outcome }, Timestamp(now)).unwrap();
    }

    /// Two minutes in which something is written at `path` all the time: the number of scans, and the number of seconds
    /// in which the folder is quiet.
    fn written_without_rest(path: &str) -> (usize, usize) {
        let mut engine =
            Engine::open(Store::in_memory().unwrap(), Settings::default(), [7; 32], Timestamp(BEGIN))
                .unwrap();
        let (mut scans, mut quiet) = (0, 0);
        let mut asked = Vec::new();
        for now in (BEGIN..BEGIN + 120_000).step_by(100) {
            asked.append(&mut go_on(&mut engine, now));
            scans += asked.len();
            // Also while the scan is under way.
            engine.handle(Event::Hint(MirrorPath::new(path).unwrap()), Timestamp(now + 20)).unwrap();
            asked.drain(..).for_each(|id| scanned(&mut engine, id, now + 50));
            asked = go_on(&mut engine, now + 60);
            quiet += usize::from(now % 1_000 == 0 && engine.folder.watch.is_quiet(Timestamp(now + 60)));
        }
        (scans, quiet)
    }

    #[test]
    fn what_is_written_without_rest_in_storage_keeps_no_page_waiting_and_is_still_found() {
        let (scans, quiet) = written_without_rest("Storage/Películas/long.mkv.part");
        assert!(scans >= 50, "{scans} scans");
        assert!(quiet >= 100, "{quiet} of 120 seconds at rest");
        assert_eq!(written_without_rest("Equipo/Pages/Plan.md").1, 0);
    }

    #[test]
    fn what_is_written_last_in_storage_while_a_scan_is_under_way_is_found_by_the_next() {
        let mut engine =
            Engine::open(Store::in_memory().unwrap(), Settings::default(), [7; 32], Timestamp(BEGIN))
                .unwrap();
        let asked = go_on(&mut engine, BEGIN);
        engine.handle(Event::Hint(MirrorPath::new("Storage/a").unwrap()), Timestamp(BEGIN + 10)).unwrap();
        asked.into_iter().for_each(|id| scanned(&mut engine, id, BEGIN + 20));
        assert_eq!(go_on(&mut engine, BEGIN + 1_900), []);
        assert_eq!(go_on(&mut engine, BEGIN + 2_100).len(), 1);
    }
}
