//! Files in places of the mirror's folder that are not synced, such as a note beside the workspaces or a picture among the pages.
//! `status` counts them and `list` names them, so that nobody takes them for saved at the service. What is hidden, ignored, of a tool or a
//! temporary file is left out, and the storage, whose files `list` names anyway.

use super::unmirrored::{self, Kind};
use crate::config::Config;
use crate::engine::machine::UNSYNCED;
use crate::model::{MirrorPath, read_json};
use crate::store::{ReadOnly, StoreError};

/// Each of them with the reason, by path, as the last scan showed them. None before a workspace is known.
///
/// # Errors
/// [`StoreError`] when the state cannot be read.
pub fn find(config: &Config, state: &ReadOnly) -> Result<Vec<(MirrorPath, String)>, StoreError> {
    let noted = state.meta(UNSYNCED)?.unwrap_or_default();
    let noted: Vec<String> = read_json(noted.as_bytes()).unwrap_or_default();
    let spaces: Vec<String> = state.workspace_folders()?.into_iter().map(|(_, folder)| folder).collect();
    let mut all = Vec::new();
    if noted.is_empty() || spaces.is_empty() {
        return Ok(all);
    }
    for path in noted.iter().filter_map(|path| MirrorPath::new(path).ok()) {
        if !state.is_drawn(&path)? {
            let why = unmirrored::cause(&path, Kind::File, config, &spaces);
            all.push((path, why));
        }
    }
    Ok(all)
}
