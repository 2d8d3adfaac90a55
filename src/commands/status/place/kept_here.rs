//! What is not synced, and why.

use anyhow::{Result, bail};

use super::About;
use crate::cli::unmirrored::Kind;
use crate::cli::{ignored, output, unmirrored};
use crate::config::Config;
use crate::core::report::view;
use crate::core::report::view::StoredView;
use crate::model::MirrorPath;
use crate::store::{ReadOnly, StoreError, TOO_LARGE};

/// Which pattern keeps what is at `place` out of the mirror, if one does.
pub(super) fn ignored(config: &Config, place: &MirrorPath) -> Option<String> {
    let is_folder = config.root.join(place.as_str()).is_dir();
    let pattern = ignored::rules(config).pattern_for(place, is_folder)?;
    Some(format!("it is ignored by {}: it is not sent, fetched or deleted", pattern.sentence()))
}

/// Why a stored file that belongs at `place` is not fetched, if it is not for its size.
pub(super) fn too_large(
    config: &Config,
    state: &mut ReadOnly,
    place: &MirrorPath,
) -> Result<Option<String>, StoreError> {
    let apart = state.apart()?;
    let is_it = |item: &&StoredView| {
        item.id.as_ref().is_some_and(|id| apart.get(id) == Some(&TOO_LARGE))
            && item.path.as_ref() == Some(place)
    };
    Ok(view::stored(state)?.iter().find(is_it).map(|item| {
        format!(
            "it is not fetched: it has {}, more than max_download_mb = {}; raise max_download_mb in [storage] to fetch it",
            output::bytes(item.size.unwrap_or(0)),
            config.storage.max_download_mb
        )
    }))
}

/// What the config keeps here of a workspace that is mirrored down only; an empty text for anything else.
pub(super) fn down_only(state: &ReadOnly, place: &MirrorPath) -> Result<&'static str, StoreError> {
    let is_in = state.down_only()?.iter().any(|folder| place.components().next() == Some(folder));
    Ok(if is_in { "; changes made here stay here, because the config has mode = \"down\"" } else { "" })
}

/// Why nothing of what is at `place` is at the service, and what changes that.
pub(super) fn not_mirrored(config: &Config, place: MirrorPath, state: Option<&ReadOnly>) -> Result<About> {
    let shown = crate::logging::escape(place.as_str()).to_string();
    let kind =
        match std::fs::symlink_metadata(config.root.join(place.as_str())).map(|found| found.file_type()) {
            Err(_) => bail!("{shown} is not mirrored; espejo list shows what is"),
            Ok(kind) if kind.is_symlink() => Kind::Link,
            Ok(kind) if kind.is_dir() => Kind::Folder,
            Ok(kind) if kind.is_file() => Kind::File,
            Ok(_) => Kind::Other,
        };
    if let Some(state) = state {
        if state.is_drawn(&place)? {
            let why = "it is a picture that espejo draws, and is never sent".to_owned();
            return Ok(About::unsynced(place, "drawn", why));
        }
        if let Some(need) = state.attention()?.into_iter().find(|need| need.path == place.as_str()) {
            return Ok(About::unsynced(place, "held", need.reason));
        }
        if !down_only(state, &place)?.is_empty() {
            let why = "it stays here, because the config has mode = \"down\" for its workspace".to_owned();
            return Ok(About::unsynced(place, "down", why));
        }
    }
    let spaces = state.map(ReadOnly::workspace_folders).transpose()?.unwrap_or_default();
    let spaces: Vec<String> = spaces.into_iter().map(|(_, folder)| folder).collect();
    let why = unmirrored::cause(&place, kind, config, &spaces);
    Ok(About::unsynced(place, "unmirrored", why))
}
