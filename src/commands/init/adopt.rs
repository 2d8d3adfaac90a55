//! A mirror that lost its marker, as `git clean -fdx` takes it: `init` on its folder compares the files with the state and puts the
//! marker back. Writing stopped without it, because a folder without a marker may be a disk that is not mounted.

use std::path::Path;

use anyhow::{Result, bail};

use crate::cli::{WrongUsage, items, output};
use crate::config::Config;
use crate::core::report::view;
use crate::mirror;
use crate::model::{ContentHash, MirrorPath};
use crate::store::ReadOnly;

/// The mirror of this state, whose folder is there without its marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lost {
    mirror_id: String,
    same: u64,
    changed: u64,
    missing: u64,
}

impl Lost {
    /// What the comparison found, and what comes of it.
    pub(super) fn sentence(&self, root: &Path) -> String {
        let all = self.same + self.changed + self.missing;
        let files = output::count(all, "file", "files");
        let found = format!(
            "{} has lost its marker .espejo/marker, as after git clean. espejo uses the folder again: of {files} of the mirror",
            root.display()
        );
        if self.is_whole() {
            return format!("{found} all are as they were.");
        }
        format!(
            "{found} {} are as they were, {} differ and {} are missing. So it counts as an older copy: no page of a missing file is deleted, and no file with an earlier version is sent, until espejo approve.",
            self.same, self.changed, self.missing
        )
    }

    /// Puts the marker back.
    ///
    /// # Errors
    /// One sentence, when it cannot be written.
    pub(super) fn adopt(&self, root: &Path) -> Result<()> {
        Ok(mirror::put_marker_back(root, &self.mirror_id, !self.is_whole())?)
    }

    fn is_whole(&self) -> bool {
        self.changed + self.missing == 0
    }
}

/// Looks for a mirror without its marker.
///
/// # Errors
/// [`WrongUsage`] where nothing of the mirror is in the folder; one sentence when the state cannot be read.
pub(super) fn look(config: &Config) -> Result<Option<Lost>> {
    let Some(mut state) = ReadOnly::open(&config.state_dir)? else { return Ok(None) };
    let (Some(mirror_id), Some(before)) = (state.meta("mirror_id")?, state.meta("root")?) else {
        return Ok(None);
    };
    let is_lost =
        Path::new(&before) == config.root && config.root.is_dir() && !mirror::has_marker(&config.root);
    if !is_lost {
        return Ok(None);
    }
    let mut lost = Lost { mirror_id, same: 0, changed: 0, missing: 0 };
    let mut compare = |path: &MirrorPath, is_same: &dyn Fn(&Path) -> bool| {
        let file = config.root.join(path.as_str());
        let count = match std::fs::symlink_metadata(&file) {
            Err(_) => &mut lost.missing,
            Ok(_) if is_same(&file) => &mut lost.same,
            Ok(_) => &mut lost.changed,
        };
        *count += 1;
    };
    for file in state.load()?.files.values() {
        let holds = |there: &Path| {
            let bytes = std::fs::read(there).ok();
            bytes.is_some_and(|bytes| file.hash == Some(ContentHash::of(&bytes)))
        };
        compare(&file.path, &holds);
    }
    for row in items::all_rows(&mut state)?.iter().filter(|row| row.kind != "page") {
        if let Some(path) = row.path.as_deref().and_then(|path| MirrorPath::new(path).ok()) {
            compare(&path, &|_| true);
        }
    }
    for stored in view::stored(&state)?.iter().filter(|item| item.was_here && !item.is_folder) {
        if let Some(path) = &stored.path {
            compare(path, &|there| there.metadata().is_ok_and(|meta| Some(meta.len()) == stored.size));
        }
    }
    if lost.same + lost.changed == 0 && lost.missing > 0 {
        bail!(WrongUsage(format!(
            "{} holds nothing of the mirror and has no marker .espejo/marker: is its disk mounted? To start again in an empty folder, move {} away",
            config.root.display(),
            config.state_dir.display()
        )));
    }
    Ok(Some(lost))
}
