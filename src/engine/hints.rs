//! What a hint asks for: one file to be read where that tells enough, a scan otherwise.
//!
//! A scan and what is told from it cost as much as there is; an edit of one file should cost what one file costs. A read
//! tells enough when a complete look could only say the same: the file is at the place of its page, and says so by
//! its id, or is the very object that it was.

use super::Engine;
use crate::markdown::front_matter;
use crate::model::{DiskError, FileLook, MirrorPath, PageId};
use crate::plan::ignore;

/// What a program leaves behind while it saves is no page, and a folder of such a name is rare: it is come upon this much
/// later.
const LEFTOVERS_MS: i64 = 60_000;

impl Engine {
    /// Something may have happened at this path.
    pub(super) fn hinted(&mut self, path: MirrorPath) {
        let settle_ms = self.settings.pages.settle_ms;
        if let Some(below) = self.below_pages(&path) {
            if below.split('/').any(ignore::is_ignored_folder) {
                // Never entered, and never a page.
                return;
            }
            if ignore::is_ignored(path.name()) && !self.trees.folders.contains(&path) {
                return self.watch.scan_by(self.now.plus_ms(LEFTOVERS_MS));
            }
        }
        if self.is_a_pages_file(&path) {
            self.watch.peek(&path, self.now, settle_ms);
        } else {
            self.watch.hint(path, self.now, settle_ms);
        }
    }

    fn is_a_pages_file(&self, path: &MirrorPath) -> bool {
        let file = self.trees.files.get(path).filter(|file| file.hash.is_some());
        let node = file.and_then(|file| self.trees.pages.get(file.page.as_ref()?));
        // Until the files of a scan have been told, it is gone for those who go by the scan.
        self.root.is_ready()
            && self.watch.is_told()
            && node.is_some_and(|node| node.file.as_ref() == Some(path) && node.missing_since.is_none())
            && !self.watch.arrivals.contains_key(path)
    }

    /// Whether what came of a read at a hint alone leaves in doubt which page's file it is, or where that is now.
    pub(super) fn tells_too_little(&self, result: &Result<FileLook, DiskError>) -> bool {
        match result {
            Ok(look) => !self.is_at_home(look),
            Err(error) => !matches!(error, DiskError::Changed(_) | DiskError::RootNotReady(_)),
        }
    }

    fn is_at_home(&self, look: &FileLook) -> bool {
        let known = self.trees.files.get(&look.path).filter(|_| self.is_a_pages_file(&look.path));
        known.is_some_and(|known| {
            let claims = claims(&look.bytes);
            let is_as_before = known.claims.is_none() && known.stamp.object() == look.stamp.object();
            if claims.is_some() { claims == known.page } else { is_as_before }
        })
    }
}

/// The page that a file names.
fn claims(bytes: &[u8]) -> Option<PageId> {
    let split = front_matter::split(std::str::from_utf8(bytes).ok()?).ok()?;
    split.front?.id.as_deref().and_then(|id| PageId::new(id).ok())
}
