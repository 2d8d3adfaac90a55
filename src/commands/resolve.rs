//! `espejo resolve`: settles a conflict. The file of the page or canvas gets what was chosen, then the copy goes to the
//! mirror's trash: a kill in between leaves a conflict that is settled once more.

mod edit;
mod page;

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::past::Past;
use super::{WrongUsage, output, put, restore};
use crate::canvas::{self, Keep};
use crate::cli::Exit;
use crate::config::Config;
use crate::core::content::compared;
use crate::core::items::rows;
use crate::daemon;
use crate::logging::escape;
use crate::mirror;
use crate::model::{ContentHash, DiskError, MirrorPath, Put};
use crate::store::Conflict;

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

impl Way {
    /// The way of the command line, where one of the four was given.
    #[must_use]
    pub fn of(mine: bool, theirs: bool, both: bool) -> Self {
        match (mine, theirs, both) {
            (true, ..) => Self::Mine,
            (_, true, _) => Self::Theirs,
            (_, _, true) => Self::Both,
            _ => Self::Edit,
        }
    }
}

/// Both versions of a conflict, as they are now.
struct Sides {
    conflict: Conflict,
    copy: String,
    copy_hash: ContentHash,
    /// The file's text; `None` where the file is gone.
    file: Option<String>,
}

/// Settles the conflicts at a path.
///
/// # Errors
/// One sentence, when there is none there, it cannot be settled so, or a file cannot be written.
pub async fn run(
    config: &Config,
    path: &Path,
    way: Way,
    editor: Option<&str>,
    out: &mut dyn Write,
) -> Result<Exit> {
    let past = Past::open(config)?;
    let conflicts = conflicts_at(config, &past, path)?;
    if let ([_, another, ..], false) = (conflicts.as_slice(), way == Way::Theirs) {
        let typed = output::shell_word(&config.root.join(another.path.as_str()).to_string_lossy());
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
        if let Some(change) = change(config, &past, &sides, way, editor)? {
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
        let name = output::paint(output::NAME, sides.conflict.page_path.as_str());
        writeln!(out, "{name}: settled {}", settled(way))?;
        writeln!(out, "  {} is in .espejo/trash now", escape(sides.conflict.path.name()))?;
    }
    if page.as_ref().is_some_and(|page| page.page_stem().is_some()) {
        writeln!(out, "  the file's old text is kept: espejo history lists it")?;
    }
    if page.is_some() {
        writeln!(out, "  {}", restore::then(running))?;
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
    let Some(exact) = daemon::place_in(&config.root, typed) else {
        bail!("{} is not in the mirror {}", typed.display(), config.root.display());
    };
    let place = past.one_place(typed)?;
    let mut all = past.store().conflicts()?;
    all.retain(|conflict| {
        [&conflict.path, &conflict.page_path].iter().any(|one| **one == exact || **one == place)
    });
    if all.is_empty() {
        bail!("{place} has no conflict; espejo conflicts lists them");
    }
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
    Ok(Some(Put::Text { path: path.clone(), expect, text, body }))
}

fn canvas_fault(text: &str) -> Option<String> {
    canvas::resolve(text, "", Keep::Second).err()
}
