//! `espejo restore`: puts a version of a page back into its file, or undoes here what a guard holds.

mod canvases;
mod folder;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::past::{Past, base_path, may_have_versions};
use super::{approve, output, put, revive, when};
use crate::cli::Exit;
use crate::config::Config;
use crate::core::report::view;
use crate::daemon;
use crate::engine::says_trashed;
use crate::logging::escape;
use crate::model::{LocalFile, MirrorPath, Node, Put};
use crate::store::{Act, ActKind, ReadOnly, Version};

/// Restores.
///
/// # Errors
/// One sentence, when there is nothing to restore or it cannot be written.
pub async fn run(
    config: &Config,
    paths: &[PathBuf],
    at: Option<&str>,
    yes: bool,
    out: &mut dyn Write,
) -> Result<Exit> {
    let past = Past::open(config)?;
    let now = daemon::wall_now();
    if let ([typed], Some(at)) = (paths, at.and_then(|at| when::parse(at, now)))
        && let Some(place) = folder_at(config, &past, typed)?
    {
        return folder::as_of(config, &past, &place, at, yes, out).await;
    }
    let place = |path: &PathBuf| if at.is_some() { past.one_place(path) } else { past.place(path) };
    let places = paths.iter().map(place).collect::<Result<Vec<MirrorPath>>>()?;
    for place in &places {
        if is_trashed_there(config, &past, place)? {
            bail!(
                "{place} is in the service's trash, from where the API can restore nothing: restore it in the app, and it comes back"
            );
        }
    }
    if let [place] = places.as_slice()
        && place.name().ends_with(".canvas")
        && (at.is_some() || canvases::missing(config, &places)?.is_empty())
    {
        return revive::run(config, place, at, out).await;
    }
    match (places.as_slice(), at) {
        ([place], Some(at)) => version(config, &past, place, at, out).await,
        (_, Some(_)) => bail!("--at needs the PATH of one page"),
        (places, None) => {
            if let ([typed], [place]) = (paths, places)
                && !holds_something(&past, place)
                && let Some(place) = folder_at(config, &past, typed)?
                && let Some(exit) = folder::last_deleted(config, &past, &place, yes, out).await?
            {
                return Ok(exit);
            }
            if let [place] = places
                && let Some(newest) = newest_of_deleted(config, &past, place)?
            {
                return version(config, &past, place, &newest.to_string(), out).await;
            }
            held(config, &past, places, out).await
        }
    }
}

/// Whether the last that was done to a whiteboard, a presentation or a stored file, or beneath this folder of some, was to move
/// it to the service's trash.
fn is_trashed_there(config: &Config, past: &Past<'_>, place: &MirrorPath) -> Result<bool> {
    if place.is_root() || config.root.join(place.as_str()).symlink_metadata().is_ok() {
        return Ok(false);
    }
    let is_of = |act: &Act| place.is_within(&act.path) || act.path.is_within(place);
    let last = past.store().acts_after(0)?.into_iter().find(is_of);
    let what = last.filter(|act| act.kind == ActKind::Elsewhere).and_then(|act| act.other);
    Ok(what.is_some_and(|what| says_trashed(&what)))
}

/// What was typed, where it is a folder: its name has no ending, and pages are, or were, beneath it.
fn folder_at(config: &Config, past: &Past<'_>, typed: &Path) -> Result<Option<MirrorPath>> {
    let Some(place) = daemon::place_in(&config.root, typed) else { return Ok(None) };
    if place.page_stem().is_some() || place.name().ends_with(".canvas") {
        return Ok(None);
    }
    Ok(past.store().is_above_versions(&place)?.then_some(place))
}

/// Whether a page at or beneath a place can be put back without its history.
fn holds_something(past: &Past<'_>, place: &MirrorPath) -> bool {
    past.loaded.pages.values().any(|node| {
        is_held(past, node) && base_path(node).is_some_and(|path| place.is_root() || covers(place, path))
    })
}

/// Whether a page's file is gone, and its page is not, or the file cannot be a page as it is.
fn is_held(past: &Past<'_>, node: &Node) -> bool {
    let file = node.file.as_ref().and_then(|path| past.loaded.files.get(path));
    let is_odd = file.is_some_and(|file| file.problem.is_some()) || went_back(past, node, file);
    node.base.is_some() && (node.file.is_none() || is_odd)
}

/// Whether a page's file has an earlier version, from an older copy of the folder.
fn went_back(past: &Past<'_>, node: &Node, file: Option<&LocalFile>) -> bool {
    let is_earlier = |text, since| past.store().has_held(&node.id, text, since).unwrap_or(false);
    let text = file.and_then(|file| file.hash);
    text.zip(past.older_since).is_some_and(|(text, since)| {
        node.base.as_ref().is_some_and(|base| base.text != Some(text)) && is_earlier(text, since)
    })
}

/// Whether a stored file at or beneath a place is missing on one side.
fn is_stored_missing(config: &Config, place: &MirrorPath) -> Result<bool> {
    let Some(state) = ReadOnly::open(&config.state_dir)? else { return Ok(false) };
    let missing = approve::stored(&view::stored(&state)?, &config.root);
    Ok(missing.iter().any(|path| path.is_within(place)))
}

/// The number of the last version of a page that was deleted on both sides.
fn newest_of_deleted(config: &Config, past: &Past<'_>, place: &MirrorPath) -> Result<Option<i64>> {
    let is_there = config.root.join(place.as_str()).symlink_metadata().is_ok();
    if place.is_root() || past.page_at(place).is_some() || is_there {
        return Ok(None);
    }
    Ok(past.versions(place)?.last().map(|version| version.number))
}

/// Puts one version back.
async fn version(
    config: &Config,
    past: &Past<'_>,
    place: &MirrorPath,
    at: &str,
    out: &mut dyn Write,
) -> Result<Exit> {
    let versions = past.versions(place)?;
    let version = past.find(&versions, at, place, daemon::wall_now())?;
    let node = past.page_at(place).or_else(|| past.loaded.pages.get(version.page.as_ref()?));
    let here = node.and_then(base_path).or(version.path.as_ref()).unwrap_or(place).clone();
    let present = past.present(&here)?;
    let put = past.put(version, &here, present.as_ref())?;
    if let (Put::Text { text, .. }, Some(present)) = (&put, &present)
        && *text == present.text
    {
        writeln!(out, "{} already has this text", escape(here.as_str()))?;
        return Ok(Exit::Done);
    }
    let is_new = node.is_none() && present.is_none();
    let running = put::carry_out(config, put).await?;
    writeln!(out, "{} is restored as it was {}", output::paint(output::NAME, here.as_str()), was(version))?;
    if is_new {
        writeln!(out, "  its page is gone at the service: it is restored as a new page, with a new id")?;
    } else if present.is_some() {
        writeln!(out, "  its old text is kept: espejo undo restores it, espejo history lists it")?;
    }
    writeln!(out, "  {}", then(running))?;
    Ok(Exit::Done)
}

fn was(version: &Version) -> String {
    format!("on {} (#{})", when::local(version.at), version.number)
}

/// What becomes of a change to a file.
pub(super) fn then(running: bool) -> &'static str {
    if running {
        "the running espejo sends the change like any edit"
    } else {
        "the next espejo sync or espejo run sends the change like any edit"
    }
}

/// Puts back the files that were deleted, and not yet at the service, and those that cannot be pages as they are.
async fn held(config: &Config, past: &Past<'_>, places: &[MirrorPath], out: &mut dyn Write) -> Result<Exit> {
    let everything = places.is_empty() || places.iter().any(MirrorPath::is_root);
    let mut nodes: Vec<(&MirrorPath, &Node)> = past
        .loaded
        .pages
        .values()
        .filter(|node| is_held(past, node))
        .filter_map(|node| Some((base_path(node)?, node)))
        .filter(|(path, _)| everything || places.iter().any(|place| covers(place, path)))
        .collect();
    nodes.sort_by_key(|(path, _)| *path);
    let canvases = canvases::missing(config, if everything { &[] } else { places })?;
    if nodes.is_empty() && canvases.is_empty() {
        match places {
            [place, ..] if !everything && is_stored_missing(config, place)? => bail!(
                "{place} is still at the service, and espejo restore puts back pages and canvases only: put it back from a \
                 copy or from the app; espejo approve removes it there too"
            ),
            [place, ..] if !everything && !may_have_versions(place) => {
                bail!(
                    "nothing is on hold at {place}, and only pages have versions; what was replaced or removed here is in .espejo/trash"
                )
            }
            [place, ..] if !everything => bail!(
                "nothing is on hold at {place}; to restore an older version: espejo history {0}, then espejo restore {0} --at NUMBER",
                output::shell_word(&config.root.join(place.as_str()).to_string_lossy())
            ),
            _ => bail!("no page or canvas is waiting to be restored; espejo status shows what is on hold"),
        }
    }
    let (mut back, mut running) = canvases::write_anew(config, canvases, out).await?;
    let mut left = 0;
    for (path, node) in nodes {
        let present = match crate::mirror::peek(&config.root, path) {
            Ok(bytes) => Some(bytes),
            Err(crate::model::DiskError::Missing(_)) => None,
            Err(error) => bail!("{error}"),
        };
        if node.file.is_none() && present.is_some() {
            // It has come back by itself.
            continue;
        }
        let Some(text) = past.agreed_text(node)? else { continue };
        // No command could give such bytes back, so they are not replaced by the way.
        let odd = present.as_deref().filter(|bytes| std::str::from_utf8(bytes).is_err());
        let name = output::paint(output::NAME, path.as_str());
        if let Some(bytes) = odd {
            if !places.contains(path) {
                let typed = escape(&output::shell_word(&config.root.join(path.as_str()).to_string_lossy()));
                writeln!(
                    out,
                    "{name} is not UTF-8 text and stays as it is; espejo restore {typed} replaces it and keeps its \
                     bytes in .espejo/trash"
                )?;
                left += 1;
                continue;
            }
            past.keep(path, bytes)?;
        }
        let (path, expect) = (path.clone(), present.as_deref().map(crate::model::ContentHash::of));
        running = put::carry_out(config, Put::Text { path, expect, text, body: None }).await?;
        back += 1;
        writeln!(out, "{name} is restored")?;
        if odd.is_some() {
            writeln!(out, "  the old file was not UTF-8 text: it is kept in .espejo/trash")?;
        }
    }
    if back == 0 && left == 0 {
        writeln!(out, "everything is restored already")?;
    } else if back > 0 && !running {
        writeln!(out, "  the next espejo sync or espejo run sees it")?;
    }
    Ok(if left > 0 { Exit::NeedsUser } else { Exit::Done })
}

/// Whether `place` is the page at `path`, or above it.
fn covers(place: &MirrorPath, path: &MirrorPath) -> bool {
    path.is_within(place) || crate::model::folder_of(place).is_some_and(|folder| path.is_within(&folder))
}
