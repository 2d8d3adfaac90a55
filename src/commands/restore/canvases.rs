//! Canvas files that are missing here and not removed at the service yet, which `espejo restore` writes anew from the state, and
//! former versions of canvases.

use std::io::Write;

use anyhow::{Context, Result, bail};

use crate::cli::canvases::{Canvases, made_anew};
use crate::cli::past::{Past, name_of};
use crate::cli::put::{self, Changes};
use crate::cli::report::Report;
use crate::cli::{Exit, acts, output, versions, when};
use crate::config::Config;
use crate::core::content::compared;
use crate::core::items::Local;
use crate::core::items::rows;
use crate::daemon;
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

/// Puts one version of a canvas back; `None`: the last one.
///
/// # Errors
/// One sentence, when there is none or its file cannot be written.
pub(super) async fn version(
    config: &Config,
    past: &Past<'_>,
    place: &MirrorPath,
    at: Option<&str>,
    out: &mut Report<'_>,
) -> Result<Exit> {
    let canvases = Canvases::open(past)?;
    let here = canvases.place_now(place)?;
    let versions = canvases.versions(&here)?;
    let version = match at {
        Some(at) => versions::find(past, &versions, at, &here, daemon::wall_now())?,
        None => versions.last().with_context(|| format!("the history has no version of {here}"))?,
    };
    let text = past.text(version)?.with_context(|| format!("version #{} is empty", version.number))?;
    let file = canvases.file(&here)?;
    if file.as_ref().is_some_and(|file| file.text == text) {
        writeln!(out, "{} already has this text", output::name(&here))?;
        out.add(&here, "unchanged", None, None);
        return Ok(Exit::Done);
    }
    let is_new = file.is_none() && canvases.at(&here).is_none_or(|item| !item.is_listed());
    let anew = file.as_ref().map_or(0, |file| made_anew(&text, &file.text));
    let expect = file.map(|file| file.hash);
    let put = Put::Text { path: here.clone(), expect, text, body: None, why: None };
    let running = put::carry_out(config, put).await?;
    let was = format!("on {} ({})", when::local(version.at), &name_of(version).to_hex()[..8]);
    writeln!(out, "{} is restored as it was {was}", output::name(&here))?;
    out.add(&here, if is_new { "restored as a new canvas" } else { "restored" }, None, Some(&was));
    if is_new {
        writeln!(out, "  it is gone at the service: it is made anew, with new ids")?;
    } else {
        if anew > 0 {
            writeln!(out, "  {}: {}", acts::ANEW, output::count(anew as u64, "node", "nodes"))?;
        }
        writeln!(out, "  its old text is kept: espejo undo restores it, espejo log PATH lists it")?;
    }
    writeln!(out, "  {}", put::then(running))?;
    Ok(Exit::Done)
}
