//! The folder to mirror into: where it is, what is in it, and what becomes of that.

use std::path::Path;

use anyhow::{Result, bail};

use super::adopt::{self, Lost};
use super::talk::{self, Talk};
use super::text::Text;
use super::{Args, Around};
use crate::cli::{WrongUsage, output};
use crate::config::Config;
use crate::engine::PAGES;
use crate::mirror::marker;
use crate::store::ReadOnly;

/// Folders within folders in which files are counted.
const DEPTH_MOST: usize = 64;

/// The folder, checked with the whole config; gives the config as it will be, and what of the folder's mirror is to be put back.
pub(super) fn folder(
    said: &Args,
    known: Option<String>,
    text: &mut Text,
    place: &Path,
    around: &Around<'_>,
    talk: &mut Talk<'_>,
) -> Result<(Config, Option<Lost>)> {
    let default = known.unwrap_or_else(|| "~/Workspace".to_owned());
    let mut named = match &said.root {
        Some(root) => {
            let root =
                root.to_str().ok_or_else(|| WrongUsage("the folder's path is not UTF-8".to_owned()))?;
            Some(whole(root, around.env)?)
        }
        None => (!talk.asks).then(|| default.clone()),
    };
    loop {
        let root = match named.take() {
            Some(root) => root,
            None => whole(&talk::line("Folder to mirror into", Some(&default), |_| Ok(()))?, around.env)?,
        };
        text.set("", "root", root.as_str())?;
        let config = match Config::check(text.as_str(), place, around.env) {
            Ok(config) => config,
            Err(error) if talk.asks && said.root.is_none() => {
                talk.refuse(&error.to_string())?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(why) = belongs_elsewhere(&config)? {
            if talk.asks && said.root.is_none() {
                talk.refuse(&format!("{why}."))?;
                continue;
            }
            bail!(WrongUsage(why));
        }
        let lost = match adopt::look(&config) {
            Err(error) if error.is::<WrongUsage>() && talk.asks && said.root.is_none() => {
                talk.refuse(&format!("{error}."))?;
                continue;
            }
            looked => looked?,
        };
        let happens = match &lost {
            Some(lost) => Some(lost.sentence(&config.root)),
            None => what_happens(&config.root, config.requests_per_minute)?,
        };
        if let Some(words) = happens {
            talk.warn(&words)?;
            if talk.asks && !talk::yes("Mirror into it?", true)? {
                if said.root.is_some() {
                    bail!("init was cancelled; nothing was written");
                }
                continue;
            }
        }
        return Ok((config, lost));
    }
}

/// Why this state cannot be used with this root, if so: it is another folder's.
fn belongs_elsewhere(config: &Config) -> Result<Option<String>> {
    let Some(state) = ReadOnly::open(&config.state_dir)? else { return Ok(None) };
    let (Some(id), Some(before)) = (state.meta("mirror_id")?, state.meta("root")?) else { return Ok(None) };
    let found = std::fs::read_to_string(config.root.join(marker::FOLDER).join(marker::FILE));
    // Where a disk is only not mounted, the root is the same. A folder that was moved has its marker with it.
    let is_its_own = found.is_ok_and(|text| marker::id(&text) == Some(id.as_str()));
    if is_its_own || Path::new(&before) == config.root {
        return Ok(None);
    }
    let (root, state) = (config.root.display(), config.state_dir.display());
    Ok(Some(format!(
        "{root} cannot be the root, because the state in {state} belongs to {before}: move that folder to {root} first, or, to start again, move {state} away"
    )))
}

/// What becomes of the Markdown files in the folder.
fn new_pages(root: &Path, per_minute: u32) -> String {
    let spaces = std::fs::read_dir(root).into_iter().flatten().flatten();
    let notes: u64 = spaces.map(|space| notes_beneath(&space.path().join(PAGES), 0)).sum();
    if notes == 0 {
        return "Markdown files in a workspace's Pages folder become new pages.".to_owned();
    }
    // One request makes a page, and one fills it.
    let minutes = (2 * notes).div_ceil(u64::from(per_minute.max(1)));
    format!(
        "{} in Pages folders become new pages where they equal none, which takes up to {}.",
        output::count(notes, "Markdown file", "Markdown files"),
        output::count(minutes, "minute", "minutes")
    )
}

/// The number of Markdown files in a folder and beneath it. What cannot be read counts when it can.
fn notes_beneath(folder: &Path, depth: usize) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let shown = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    shown
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEPTH_MOST => notes_beneath(&entry.path(), depth + 1),
            Ok(kind) if kind.is_file() => u64::from(entry.path().extension().is_some_and(|end| end == "md")),
            _ => 0,
        })
        .sum()
}

/// What happens to a folder that has something in it.
fn what_happens(root: &Path, per_minute: u32) -> Result<Option<String>> {
    let entries = match std::fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => bail!(WrongUsage(format!("{} cannot be used as the folder: {error}", root.display()))),
    };
    let number = entries.count() as u64;
    let place = root.display();
    if root.join(marker::FOLDER).join(marker::FILE).exists() {
        return Ok(Some(format!(
            "{place} was mirrored before. espejo uses it again: a file that equals its page is kept, both versions of a file that differs are kept, and nothing is deleted."
        )));
    }
    Ok((number > 0).then(|| {
        let new = new_pages(root, per_minute);
        format!(
            "{place} is not empty ({} in it). espejo overwrites and deletes nothing: a file that equals its page becomes that page's file, a file that differs is kept beside it. {new} Files outside the workspaces' folders are not touched.",
            output::count(number, "entry", "entries")
        )
    }))
}

/// A path that was typed, which is meant from here and knows `~`, as in a shell.
fn whole(typed: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<String> {
    let typed = typed.trim();
    if typed == "~" || typed.starts_with("~/") {
        return Ok(typed.to_owned());
    }
    Ok(short(&std::path::absolute(typed)?, env))
}

/// A path as the config shows it: from `~` where it lies in the home directory.
pub(super) fn short(path: &Path, env: &dyn Fn(&str) -> Option<String>) -> String {
    let home = env("HOME").filter(|home| home.len() > 1);
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(rest) => Path::new("~").join(rest).display().to_string(),
        None => path.display().to_string(),
    }
}
