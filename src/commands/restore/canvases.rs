//! Canvas files that are missing here and not removed at the service yet: `espejo restore` writes them anew from the state.

use std::io::Write;

use anyhow::{Result, bail};

use super::super::{output, put};
use crate::canvas;
use crate::config::Config;
use crate::model::{CanvasNode, ContentHash, DiskError, MirrorPath, Presence, Put};
use crate::store::ReadOnly;

/// A missing canvas file: its path, and the elements of which the file and the service last agreed.
pub(super) struct Missing {
    path: MirrorPath,
    elements: ContentHash,
}

/// The missing canvas files at these places or beneath them; all of them if there are no places.
///
/// # Errors
/// When the state cannot be read.
pub(super) fn missing(config: &Config, places: &[MirrorPath]) -> Result<Vec<Missing>> {
    let Some(mut state) = ReadOnly::open(&config.state_dir)? else { return Ok(Vec::new()) };
    let is_meant = |path: &MirrorPath| places.is_empty() || places.iter().any(|place| path.is_within(place));
    let of = |node: CanvasNode| {
        let is_missing = node.file.is_none() && node.presence == Presence::Listed;
        let (path, base) = (node.missing_from?, node.base?);
        (is_missing && is_meant(&path)).then_some(Missing { path, elements: base.elements })
    };
    let mut all: Vec<Missing> = state.boards()?.canvases.into_values().filter_map(of).collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

/// Writes these files anew, except those that are back. Returns their number, and whether a daemon goes on with them.
///
/// # Errors
/// One sentence, when one cannot be written.
pub(super) async fn write_anew(
    config: &Config,
    missing: Vec<Missing>,
    out: &mut dyn Write,
) -> Result<(usize, bool)> {
    let Some(state) = ReadOnly::open(&config.state_dir)? else { return Ok((0, false)) };
    let (mut back, mut running) = (0, false);
    for Missing { path, elements } in missing {
        match crate::mirror::peek(&config.root, &path) {
            Ok(_) => continue,
            Err(DiskError::Missing(_)) => {}
            Err(error) => bail!("{error}"),
        }
        let text = canvas::render(&state.store().elements(elements)?);
        let name = output::paint(output::NAME, path.as_str());
        running = put::carry_out(config, Put::Text { path, expect: None, text, body: None }).await?;
        back += 1;
        writeln!(out, "{name} is restored")?;
    }
    Ok((back, running))
}
