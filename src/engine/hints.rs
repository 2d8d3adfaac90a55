//! What a hint asks for: one file to be read where that tells enough, a scan otherwise.
//!
//! A scan and what is told from it cost as much as there is; an edit of one file should cost what one file costs. A read
//! tells enough when a complete look could only say the same: the file is at the place of its page, and says so by
//! its id, or is the very object that it was.

use super::context::Context;
use super::folder::{Folder, SCAN_AT_LATEST_MS};
use super::storage;
use super::trees::Trees;
use crate::markdown::front_matter;
use crate::model::{DiskError, FileRead, IGNORE_FILE, MirrorPath, PageId};
use crate::plan::ignore;

/// What a program leaves behind while it saves is no page, and a folder of such a name is rare: it is come upon this much
/// later.
const LEFTOVERS_MS: i64 = 60_000;

impl Folder {
    /// Something may have happened at this path.
    pub(super) fn hinted(&mut self, path: MirrorPath, trees: &Trees, cx: &Context) {
        let settle_ms = cx.settings.pages.settle_ms;
        if trees.ignoring.ignores_file(&path) && path.as_str() != IGNORE_FILE {
            // Where it went, if it went, is told of by another hint.
            return;
        }
        if is_in_storage(&path) {
            // No page and no canvas is there, and storage goes by what it finds: a download of hours must not keep
            // them waiting for a moment of rest.
            self.watch.stirred = cx.now;
            return self.watch.scan_by(cx.now.plus_ms(settle_ms.max(SCAN_AT_LATEST_MS)));
        }
        if let Some(below) = trees.layout().below_pages(&path) {
            if below.split('/').any(ignore::is_ignored_folder) {
                // Never entered, and never a page.
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
        // Until the files of a scan have been told, it is gone for those who go by the scan.
        self.root.is_ready()
            && self.watch.is_told()
            && node.is_some_and(|node| node.file.as_ref() == Some(path) && node.missing_since.is_none())
            && !self.watch.candidates.contains_key(path)
    }

    /// Whether what came of a read at a hint alone leaves in doubt which page's file it is, or where that is now.
    pub(super) fn tells_too_little(&self, result: &Result<FileRead, DiskError>, trees: &Trees) -> bool {
        match result {
            Ok(look) => !self.is_at_home(look, trees),
            Err(error) => !matches!(error, DiskError::Changed(_) | DiskError::RootNotReady(_)),
        }
    }

    fn is_at_home(&self, look: &FileRead, trees: &Trees) -> bool {
        let known = trees.files.get(&look.path).filter(|_| self.is_a_pages_file(&look.path, trees));
        known.is_some_and(|known| {
            let claims = claims(&look.bytes);
            let is_as_before = known.claims.is_none() && known.stamp.object() == look.stamp.object();
            if claims.is_some() { claims == known.page } else { is_as_before }
        })
    }
}

/// Whether a path is below the storage folder.
fn is_in_storage(path: &MirrorPath) -> bool {
    path.as_str().strip_prefix(storage::FOLDER).is_some_and(|rest| rest.starts_with('/'))
}

/// The page that a file names.
fn claims(bytes: &[u8]) -> Option<PageId> {
    let split = front_matter::split(std::str::from_utf8(bytes).ok()?).ok()?;
    split.front?.id.as_deref().and_then(|id| PageId::new(id).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::model::{
        DiskReply, Effect, EffectId, Event, Outcome, RootState, Scan, ServiceError, Settings, Timestamp,
    };
    use crate::store::Store;

    const BEGIN: i64 = 1_000_000;

    /// Whatever the engine wants to be done: scans find an empty folder, and the service is away.
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

    /// Of two minutes in which something is written at `path` all the time: how many scans are made, and for how many of
    /// the seconds everything else is taken to be at rest.
    fn written_without_rest(path: &str) -> (usize, usize) {
        let mut engine =
            Engine::open(Store::in_memory().unwrap(), Settings::default(), [7; 32], Timestamp(BEGIN))
                .unwrap();
        let (mut scans, mut quiet) = (0, 0);
        let mut asked = Vec::new();
        for now in (BEGIN..BEGIN + 120_000).step_by(100) {
            asked.append(&mut go_on(&mut engine, now));
            scans += asked.len();
            // While the scan is under way, too.
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
