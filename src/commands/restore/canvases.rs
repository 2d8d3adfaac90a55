//! Canvas files that are missing here and not removed at the service yet: `espejo restore` writes them anew from the state.

use std::io::Write;

use anyhow::{Result, bail};

use crate::cli::output;
use crate::cli::put::Changes;
use crate::cli::report::Report;
use crate::config::Config;
use crate::core::content::compared;
use crate::core::items::{Local, rows};
use crate::model::{DiskError, MirrorPath, Put};
use crate::store::ReadOnly;

/// A missing canvas file: its path, and the text that states what the file and the service last agreed on.
pub(super) struct Missing {
    path: MirrorPath,
    text: String,
}

/// The missing canvas files at these places or beneath them; all of them if there are no places.
///
/// # Errors
/// When the state cannot be read.
pub(super) fn missing(config: &Config, places: &[MirrorPath]) -> Result<Vec<Missing>> {
    let Some(state) = ReadOnly::open(&config.state_dir)? else { return Ok(Vec::new()) };
    let is_meant = |path: &MirrorPath| places.is_empty() || places.iter().any(|place| path.is_within(place));
    let items = rows::items(state.store())?;
    let mut all = Vec::new();
    for item in items.all().filter(|item| item.is_listed() && !item.kind.is_stored()) {
        if let Local::Gone { last, .. } = &item.local
            && is_meant(&last.path)
            && let Some(text) = compared::agreed_text(state.store(), &items, item)?
        {
            all.push(Missing { path: last.path.clone(), text });
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

/// Writes these files anew, except those that are back. Returns their number, and whether a daemon goes on with them.
///
/// # Errors
/// One sentence, when one cannot be written.
pub(super) async fn write_anew(
    config: &Config,
    changes: &mut Changes<'_>,
    missing: Vec<Missing>,
    out: &mut Report<'_>,
) -> Result<(usize, bool)> {
    let (mut back, mut running) = (0, false);
    for Missing { path, text } in missing {
        match crate::mirror::peek(&config.root, &path) {
            Ok(_) => continue,
            Err(DiskError::Missing(_)) => {}
            Err(error) => bail!("{error}"),
        }
        let name = output::name(&path);
        out.add(&path, "restored", None, None);
        running = changes.make(Put::Text { path, expect: None, text, body: None, why: None }).await?;
        back += 1;
        writeln!(out, "{name} is restored")?;
    }
    Ok((back, running))
}
