//! `espejo resolve`: lists what collided or differs, and settles one. The file of the page or canvas gets what was chosen, then the
//! conflict copy goes to the mirror's trash: a kill in between leaves a conflict that is settled once more.

mod difference;
mod edit;
mod listing;
mod page;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::canvas::{self, Keep};
use crate::cli::past::Past;
use crate::cli::{self, Call, Exit, WrongUsage, output, put, session};
use crate::config::Config;
use crate::core::content::compared;
use crate::core::items::rows;
use crate::logging::escape;
use crate::mirror;
use crate::model::{ContentHash, DiskError, MirrorPath, Put};
use crate::store::Conflict;

/// List what collided or differs, and settle it
///
/// Without an option, resolve lists the conflicts (pages and canvases where both sides changed the same words) and the lines
/// that espejo took for formatting. After a conflict the file has the service's version, and your version is in a file beside
/// it, `Title.conflict-YYYYMMDD-HHMMSS.md`, which is never synced. An option settles what is at PATH: the file is changed and
/// then sent like any edit, and the conflict copy moves to .espejo/trash. The file's old text is kept in its history. A canvas
/// loses no node. For a line that was taken for formatting, --mine sends the file's line, --theirs takes the service's.
/// The exit code of a list is 3 if there is a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Args)]
#[command(
    group = clap::ArgGroup::new("way").requires("path"),
    after_help = "Examples:\n  espejo resolve\n  espejo resolve ~/Workspace/Acme/Pages/Roadmap.md --mine\n  espejo resolve Roadmap.md --edit"
)]
pub struct Args {
    /// The page's or canvas's file, or the conflict copy itself; to list, also a folder
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub path: Option<PathBuf>,
    /// Use your version where both sides changed the same words
    #[arg(long, group = "way")]
    pub mine: bool,
    /// Use the service's version
    #[arg(long, group = "way")]
    pub theirs: bool,
    /// Keep both versions: the service's paragraph, then yours
    #[arg(long, group = "way")]
    pub both: bool,
    /// Open both versions, between markers, in $VISUAL or $EDITOR
    #[arg(long, group = "way")]
    pub edit: bool,
    /// Print the list as JSON
    #[arg(long, conflicts_with = "way")]
    pub json: bool,
}

impl Args {
    /// How it is to be settled; `None` to list.
    #[must_use]
    pub fn way(&self) -> Option<Way> {
        let ways = [
            (self.mine, Way::Mine),
            (self.theirs, Way::Theirs),
            (self.both, Way::Both),
            (self.edit, Way::Edit),
        ];
        ways.into_iter().find(|(is_asked, _)| *is_asked).map(|(_, way)| way)
    }
}

/// How a conflict is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The copy's words where both changed the same.
    Mine,
    /// The file as it is.
    Theirs,
    /// Both where they differ.
    Both,
    /// By hand, in an editor.
    Edit,
}

/// Both versions of a conflict, as they are now.
struct Sides {
    conflict: Conflict,
    copy: String,
    copy_hash: ContentHash,
    /// The file's text; `None` where the file is gone.
    file: Option<String>,
}

/// Lists, or settles what is at a path.
///
/// # Errors
/// One sentence, when there is nothing there, it cannot be settled so, or a file cannot be written.
pub async fn run(args: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let config = &call.config()?;
    let Some((path, way)) = args.path.as_deref().zip(args.way()) else {
        return listing::run(config, args.path.as_deref(), args.json, call.out);
    };
    let past = Past::open(config)?;
    let conflicts = conflicts_at(config, &past, path)?;
    if conflicts.is_empty() {
        return difference::settle(config, &past.one_place(path)?, way, call.out).await;
    }
    let editor = cli::env("VISUAL").or_else(|| cli::env("EDITOR")).filter(|editor| !editor.trim().is_empty());
    settle(config, &past, conflicts, way, editor.as_deref(), call.out).await
}

async fn settle(
    config: &Config,
    past: &Past<'_>,
    conflicts: Vec<Conflict>,
    way: Way,
    editor: Option<&str>,
    out: &mut dyn Write,
) -> Result<Exit> {
    if let ([_, another, ..], false) = (conflicts.as_slice(), way == Way::Theirs) {
        let typed = past.typed(&another.path);
        let number = conflicts.len();
        return Err(WrongUsage(format!(
            "{} has {number} conflict copies; resolve them one by one, as in espejo resolve {}",
            another.page_path,
            escape(&typed)
        ))
        .into());
    }
    let mut running = false;
    let mut page = None;
    for conflict in conflicts {
        let sides = Sides::read(config, conflict)?;
        if let Some(change) = change(config, past, &sides, way, editor)? {
            running |= put::carry_out(config, change).await.with_context(|| match way {
                Way::Edit => format!("your text is kept in {}", edit::place(config, &sides).display()),
                _ => format!("{} stays as it is", sides.conflict.page_path),
            })?;
            page = Some(sides.conflict.page_path.clone());
        }
        let away = Put::Away { path: sides.conflict.path.clone(), expect: sides.copy_hash };
        put::carry_out(config, away).await?;
        if way == Way::Edit {
            edit::forget(config, &sides)?;
        }
        let name = output::name(&sides.conflict.page_path);
        writeln!(out, "{name}: settled {}", settled(way))?;
        writeln!(out, "  {} is in .espejo/trash now", escape(sides.conflict.path.name()))?;
    }
    if page.as_ref().is_some_and(|page| page.page_stem().is_some()) {
        writeln!(out, "  the file's old text is kept: espejo log PATH lists it")?;
    }
    if page.is_some() {
        writeln!(out, "  {}", put::then(running))?;
    }
    Ok(Exit::Done)
}

fn settled(way: Way) -> &'static str {
    match way {
        Way::Mine => "with your version",
        Way::Theirs => "with the service's version",
        Way::Both => "with both versions",
        Way::Edit => "as you edited it",
    }
}

/// The conflicts of a page or canvas, or the one of a copy.
fn conflicts_at(config: &Config, past: &Past<'_>, typed: &Path) -> Result<Vec<Conflict>> {
    let exact = session::place(config, typed)?;
    let place = past.one_place(typed)?;
    let mut all = past.store().conflicts()?;
    all.retain(|conflict| {
        [&conflict.path, &conflict.page_path].iter().any(|one| **one == exact || **one == place)
    });
    Ok(all)
}

impl Sides {
    fn read(config: &Config, conflict: Conflict) -> Result<Self> {
        let bytes = mirror::peek(&config.root, &conflict.path).with_context(|| {
            format!(
                "the copy {} cannot be read; if it was deleted, the conflict disappears at the next scan",
                conflict.path
            )
        })?;
        let copy_hash = ContentHash::of(&bytes);
        let text = |bytes: Vec<u8>, path: &MirrorPath| {
            String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{path} is not UTF-8 text; repair it first"))
        };
        let copy = text(bytes, &conflict.path)?;
        let file = match mirror::peek(&config.root, &conflict.page_path) {
            Ok(bytes) => Some(text(bytes, &conflict.page_path)?),
            Err(DiskError::Missing(_)) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Self { conflict, copy, copy_hash, file })
    }

    fn is_canvas(&self) -> bool {
        self.conflict.page_path.name().ends_with(".canvas")
    }
}

/// What is to be written into the file; `None` where it stays.
fn change(
    config: &Config,
    past: &Past<'_>,
    sides: &Sides,
    way: Way,
    editor: Option<&str>,
) -> Result<Option<Put>> {
    let path = &sides.conflict.page_path;
    let (text, body) = match (way, sides.is_canvas()) {
        (Way::Theirs, _) => return Ok(None),
        (Way::Edit, true) => (edit::merged(config, sides, editor, canvas_fault)?, None),
        (Way::Edit, false) => (edit::merged(config, sides, editor, page::fault)?, None),
        (_, true) => {
            let keep = if way == Way::Mine { Keep::Second } else { Keep::Both };
            let file = sides.file.as_deref().unwrap_or_default();
            let items = rows::items(past.store())?;
            let copy = compared::aligned(past.store(), &items, items.at(path), &sides.copy, file)?;
            let text = copy.and_then(|copy| canvas::resolve(file, &copy, keep));
            (text.map_err(|why| anyhow::anyhow!("{path} and its copy cannot be merged: {why}"))?, None)
        }
        (_, false) => page::joined(past, sides, way == Way::Mine)?,
    };
    if sides.file.as_deref() == Some(text.as_str()) {
        return Ok(None);
    }
    let expect = sides.file.as_deref().map(|file| ContentHash::of(file.as_bytes()));
    Ok(Some(Put::Text {
        path: path.clone(),
        expect,
        text,
        body,
        why: Some(format!("resolved {}", settled(way))),
    }))
}

fn canvas_fault(text: &str) -> Option<String> {
    canvas::resolve(text, "", Keep::Second).err()
}
