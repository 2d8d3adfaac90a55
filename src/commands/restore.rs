//! `espejo restore`: puts a version of a page back into its file, or undoes here what a guard holds.

mod canvases;
mod folder;
mod revive;
mod stored;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::cli::canvases::is_canvas;
use crate::cli::past::name_of;
use crate::cli::past::{Past, base_path, may_have_versions};
use crate::cli::report::Report;
use crate::cli::{Call, Exit, kept, output, put, versions, when};
use crate::commands::approve;
use crate::config::Config;
use crate::core::content::naming::is_stored;
use crate::core::report::view;
use crate::daemon;
use crate::engine::says_trashed;
use crate::logging::escape;
use crate::model::{LocalFile, MirrorPath, Node, Put};
use crate::store::{Act, ActKind, ReadOnly};

/// Restore deleted files, or an earlier version of a file or folder
///
/// With --at, restore writes that version into the file; without --at, it restores files whose deletion is on hold, a page
/// or canvas that was deleted, the pages of a folder that were deleted last, elements that were removed from a canvas, and a
/// stored file as .espejo/trash has it. Elements and canvases that are gone at the service are made anew, with new ids. The file's old text is kept in the history, and the
/// restored text is sent like any edit. A page that is in the service's trash is restored as a new page. A file that is not
/// UTF-8 is replaced only if you name it; the old file is kept in .espejo/trash. `--at 45` gives the text after change 45 of
/// `espejo log`; `espejo undo 45` takes that change back.
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  espejo restore ~/Workspace/Acme/Pages/Roadmap.md --at 14:30\n  espejo restore ~/Workspace/Acme/Pages/Old"
)]
pub struct Args {
    /// A file, or a folder of pages (its name without .md) [default: everything on hold]
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// A number or hash from `espejo log PATH`, or a time: 14:30, yesterday, 2026-05-31, 2h
    #[arg(long, value_name = "NUMBER|TIME", requires = "paths")]
    pub at: Option<String>,
    /// Restore more than ten pages of a folder without asking
    #[arg(short, long)]
    pub yes: bool,
    /// Print the result as JSON, and ask nothing
    #[arg(long)]
    pub json: bool,
}

/// Restores.
///
/// # Errors
/// One sentence, when there is nothing to restore or it cannot be written.
pub async fn run(args: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let config = &call.config()?;
    let mut report = Report::new(call.out, args.json);
    let exit = restore(config, args, &mut report).await?;
    report.end()?;
    Ok(exit)
}

async fn restore(config: &Config, args: &Args, out: &mut Report<'_>) -> Result<Exit> {
    let (paths, at, yes) = (args.paths.as_slice(), args.at.as_deref(), args.yes);
    let past = Past::open(config)?;
    let now = daemon::wall_now();
    if let ([typed], Some(at)) = (paths, at.and_then(|at| when::parse(at, now)))
        && let Some(place) = folder_at(config, &past, typed)?
    {
        return folder::as_of(config, &past, &place, at, yes, out).await;
    }
    let place = |path: &PathBuf| if at.is_some() { past.one_place(path) } else { past.place(path) };
    let places = paths.iter().map(place).collect::<Result<Vec<MirrorPath>>>()?;
    let has_copy = |place: &MirrorPath| is_stored(place) && !kept::all(config, place).is_empty();
    for place in places.iter().filter(|place| !is_canvas(place)) {
        if !has_copy(place) && is_trashed_there(config, &past, place)? {
            bail!(
                "{place} is in the service's trash, from where the API can restore nothing: restore it in the app, and it comes back"
            );
        }
    }
    if let [place] = places.as_slice()
        && is_canvas(place)
        && (at.is_some() || canvases::missing(config, &places)?.is_empty())
    {
        let is_there = config.root.join(place.as_str()).symlink_metadata().is_ok();
        return match at {
            None if is_there => revive::run(config, place, out).await,
            at => canvases::version(config, &past, place, at, out).await,
        };
    }
    if let [place] = places.as_slice()
        && is_stored(place)
        && (at.is_some() || has_copy(place) && !is_stored_missing(config, place)?)
    {
        return stored::run(config, &past, place, at, out);
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
                return version(config, &past, place, &newest, out).await;
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

/// The hash of the last version of a page that was deleted on both sides.
fn newest_of_deleted(config: &Config, past: &Past<'_>, place: &MirrorPath) -> Result<Option<String>> {
    let is_there = config.root.join(place.as_str()).symlink_metadata().is_ok();
    if place.is_root() || is_canvas(place) || past.page_at(place).is_some() || is_there {
        return Ok(None);
    }
    Ok(past.versions(place)?.last().map(|version| name_of(version).to_hex()))
}

/// Puts one version back.
async fn version(
    config: &Config,
    past: &Past<'_>,
    place: &MirrorPath,
    at: &str,
    out: &mut Report<'_>,
) -> Result<Exit> {
    let versions = past.versions(place)?;
    let version = versions::find(past, &versions, at, place, daemon::wall_now())?;
    let node = past.page_at(place).or_else(|| past.loaded.pages.get(version.page.as_ref()?));
    let here = node.and_then(base_path).or(version.path.as_ref()).unwrap_or(place).clone();
    let present = past.present(&here)?;
    let put = past.put(version, &here, present.as_ref())?;
    if let (Put::Text { text, .. }, Some(present)) = (&put, &present)
        && *text == present.text
    {
        writeln!(out, "{} already has this text", escape(here.as_str()))?;
        out.add(&here, "unchanged", None, None);
        return Ok(Exit::Done);
    }
    let is_new = node.is_none() && present.is_none();
    let running = put::carry_out(config, put).await?;
    let hash = &name_of(version).to_hex()[..8];
    let was = format!("on {} ({hash})", when::local(version.at));
    writeln!(out, "{} is restored as it was {was}", output::name(&here))?;
    out.add(&here, if is_new { "restored as a new page" } else { "restored" }, None, Some(&was));
    if is_new {
        writeln!(out, "  its page is gone at the service: it is restored as a new page, with a new id")?;
    } else if present.is_some() {
        writeln!(out, "  its old text is kept: espejo undo restores it, espejo log PATH lists it")?;
    }
    writeln!(out, "  {}", put::then(running))?;
    Ok(Exit::Done)
}

/// Puts back the files that were deleted, and not yet at the service, and those that cannot be pages as they are.
async fn held(config: &Config, past: &Past<'_>, places: &[MirrorPath], out: &mut Report<'_>) -> Result<Exit> {
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
                "nothing is on hold at {place}; to restore an older version: espejo log {0}, then espejo restore {0} --at NUMBER",
                past.typed(place)
            ),
            _ => bail!("no page or canvas is waiting to be restored; espejo status shows what is on hold"),
        }
    }
    let mut changes = put::Changes::new(config);
    let (mut back, mut running) = canvases::write_anew(config, &mut changes, canvases, out).await?;
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
        let name = output::name(path);
        if let Some(bytes) = odd {
            if !places.contains(path) {
                let typed = escape(&past.typed(path));
                writeln!(
                    out,
                    "{name} is not UTF-8 text and stays as it is; espejo restore {typed} replaces it and keeps its \
                     bytes in .espejo/trash"
                )?;
                out.add(path, "not restored", None, Some("it is not UTF-8 text"));
                left += 1;
                continue;
            }
            past.keep(path, bytes)?;
        }
        let (path, here, expect) =
            (path.clone(), path.clone(), present.as_deref().map(crate::model::ContentHash::of));
        running = changes.make(Put::Text { path, expect, text, body: None, why: None }).await?;
        back += 1;
        writeln!(out, "{name} is restored")?;
        out.add(&here, "restored", None, None);
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
