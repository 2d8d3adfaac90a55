//! The rename that is under way in the folder. It is recorded before it leaves. If the process dies before its answer
//! comes, the first scan of the next run shows whether it was carried out, and stands for the answer.

use serde::{Deserialize, Serialize};

use crate::engine::state::{Context, Engine, Flight, Purpose};
use crate::model::{DiskReply, EffectId, EntryKind, MirrorPath, Outcome, PageId, Scan, planted};
use crate::store::StoreError;

/// The key in `meta` of the rename under way, as JSON. There is at most one, because acts on disk follow one another.
const UNDER_WAY: &str = "rename";

/// A rename by espejo.
#[derive(Debug, Serialize, Deserialize)]
struct Rename {
    from: MirrorPath,
    to: MirrorPath,
    of: Renamed,
}

/// What is renamed, and why.
#[derive(Debug, Serialize, Deserialize)]
enum Renamed {
    Page { page: PageId, reverts_move: bool },
    PageAside { page: PageId, then_gone: bool },
    PageFolder { page: PageId },
}

impl Rename {
    /// The rename that an effect is; `None` for all other effects.
    fn of(purpose: &Purpose) -> Option<Self> {
        let (from, to, of) = match purpose {
            Purpose::Relocate { page, from, to, reverts_move } => {
                (from, to, Renamed::Page { page: page.clone(), reverts_move: *reverts_move })
            }
            Purpose::SetAside { page, from, to, then_gone } => {
                (from, to, Renamed::PageAside { page: page.clone(), then_gone: *then_gone })
            }
            Purpose::MoveFolder { page, from, to } => (from, to, Renamed::PageFolder { page: page.clone() }),
            _ => return None,
        };
        Some(Self { from: from.clone(), to: to.clone(), of })
    }

    fn purpose(self) -> Purpose {
        let Self { from, to, of } = self;
        match of {
            Renamed::Page { page, reverts_move } => Purpose::Relocate { page, from, to, reverts_move },
            Renamed::PageAside { page, then_gone } => Purpose::SetAside { page, from, to, then_gone },
            Renamed::PageFolder { page } => Purpose::MoveFolder { page, from, to },
        }
    }

    /// Whether a scan shows that it was carried out. The new path was free before it, so what is there came from the old
    /// one, also if a program has saved it anew since.
    fn is_done(&self, scan: &Scan) -> bool {
        let is_there = |path: &MirrorPath| scan.entries.iter().any(|entry| entry.path == *path);
        is_there(&self.to) && !is_there(&self.from) && !scan.covers(&self.from)
    }
}

impl Context {
    /// Records a rename before it leaves.
    pub(crate) fn note_rename(&mut self, purpose: &Purpose) {
        if let Some(rename) = Rename::of(purpose).filter(|_| !planted("rename-not-noted")) {
            self.store.set_meta(UNDER_WAY, &serde_json::json!(rename).to_string());
        }
    }

    /// Records the answer to a rename.
    pub(crate) fn rename_answered(&mut self, purpose: &Purpose) {
        if Rename::of(purpose).is_some() {
            self.store.set_meta(UNDER_WAY, "");
        }
    }
}

impl Engine {
    /// Answers the rename that was under way when the last run ended, if the first scan of this run shows it carried out.
    pub(crate) fn finish_rename(&mut self, scan: &Scan) -> Result<(), StoreError> {
        let Some(text) = self.cx.store.meta(UNDER_WAY)?.filter(|text| !text.is_empty()) else {
            return Ok(());
        };
        self.cx.store.set_meta(UNDER_WAY, "");
        let rename = serde_json::from_str::<Rename>(&text).ok().filter(|rename| rename.is_done(scan));
        let Some(rename) = rename.filter(|_| !self.folder.root.changed) else { return Ok(()) };
        // The folder of the subpages of a renamed page follows it if it is known to be there.
        let folders = scan.entries.iter().filter(|entry| entry.kind == EntryKind::Folder);
        self.pages.trees.folders = folders.map(|entry| entry.path.clone()).collect();
        self.cx.in_flight.last_effect += 1;
        let id = EffectId(self.cx.in_flight.last_effect);
        let flight = Flight {
            purpose: rename.purpose(),
            tick: self.cx.tick,
            sent_at: self.cx.now,
            is_repeatable: false,
        };
        self.cx.in_flight.flights.insert(id, flight);
        self.done(id, Outcome::Disk(Ok(DiskReply::Finished)))
    }
}
