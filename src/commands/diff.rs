//! `espejo diff`: what is in the files and not yet at the service, or a version beside the file, as a unified diff.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::canvas::lines;
use crate::cli::canvases::{Canvases, is_canvas};
use crate::cli::past::name_of;
use crate::cli::past::{Past, base_path, is_of};
use crate::cli::{Call, Exit, kept, output, pager, versions};
use crate::config::Config;
use crate::core::content::compared;
use crate::core::content::naming::is_stored;
use crate::core::items::Local;
use crate::core::plan::policy::Kind;
use crate::daemon;
use crate::markdown::{self, front_matter};
use crate::model::{Blocks, ContentHash, MirrorPath, Node, StorageMode};
use serde_json::{Value, json};

/// Show pending edits, or compare a file with an earlier version
///
/// Prints a unified diff: `-` is the service's version (with --at, the earlier version), `+` is the file. Changes of
/// formatting without a change of meaning are not shown. Of a whiteboard or presentation, each line is a node.
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  espejo diff\n  espejo diff ~/Workspace/Acme/Pages/Roadmap.md --at 14:30"
)]
pub struct Args {
    /// Only this file or folder, and what is beneath it
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub path: Option<PathBuf>,
    /// A number or hash from `espejo log PATH`, or a time: 14:30, yesterday, 2026-05-31, 2h
    #[arg(long, value_name = "NUMBER|TIME", requires = "path")]
    pub at: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Shows the difference.
///
/// # Errors
/// One sentence, when a path or a version is not known, or something cannot be read.
pub fn run(args: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let config = &call.config()?;
    if args.json {
        return show(config, args, call.out);
    }
    pager::through(call.out, |out| show(config, args, out))
}

fn show(config: &Config, args: &Args, out: &mut (dyn Write + Send)) -> Result<Exit> {
    let (path, at) = (args.path.as_deref(), args.at.as_deref());
    let terminal = std::io::stdout().is_terminal();
    // A place may be a page that does not differ.
    let past = if path.is_none() { Past::open_differing(config)? } else { Past::open(config)? };
    let place = match at {
        Some(_) => path.map(|path| past.one_place(path)).transpose()?,
        None => path.map(|path| past.place(path)).transpose()?,
    };
    let mut page = Page { out, terminal, files: args.json.then(Vec::new) };
    match (place, at) {
        (None, Some(_)) => bail!("--at needs the PATH of a page"),
        (Some(place), Some(at)) if is_stored(&place) => {
            let kept = kept::find(config, &past, &place, Some(at))?;
            let old = std::fs::read(&kept.file)?;
            page.bytes(&place, &kept.told(), (old, past.bytes(&place).ok()))?;
        }
        (Some(place), Some(at)) => {
            let versions = past.versions(&place)?;
            let version = versions::find(&past, &versions, at, &place, daemon::wall_now())?;
            let here = past.page_at(&place).and_then(base_path).cloned().unwrap_or(place);
            let (old, new) = if is_canvas(&here) {
                let file = Canvases::open(&past)?.file(&here)?;
                as_lines(past.text(version)?, file.map(|file| file.text))
            } else {
                let present = past.present(&here)?;
                let old = past.as_file(version, present.as_ref())?;
                (Some(old), present.map(|present| present.text))
            };
            let name = format!("{here} ({})", &name_of(version).to_hex()[..8]);
            page.show(&name, old.as_deref(), here.as_str(), new.as_deref())?;
        }
        (place, None) => {
            place.iter().try_for_each(|place| past.known(place))?;
            unsent(config, &past, place.as_ref(), &mut page)?;
        }
    }
    if let Some(files) = page.files {
        output::json(page.out, &files)?;
    }
    Ok(Exit::Done)
}

/// Every edit that the service does not have, at a place or anywhere.
fn unsent(config: &Config, past: &Past<'_>, place: Option<&MirrorPath>, page: &mut Page<'_>) -> Result<()> {
    let rules = crate::cli::ignored::rules(config);
    let wanted =
        |path: &MirrorPath| place.is_none_or(|place| is_of(place, path)) && !rules.ignores(path, false);
    let mut nodes: Vec<&Node> = past.loaded.pages.values().filter(|node| node.base.is_some()).collect();
    nodes.sort_by_key(|node| base_path(node));
    let (says_more, mut stamps) = (past.says_more()?, crate::mirror::Stamps::open(&config.root));
    for node in nodes {
        let (Some(base), Some(path)) = (&node.base, base_path(node)) else { continue };
        if !wanted(path) {
            continue;
        }
        let is_agreed = |hash: Option<ContentHash>| hash.is_some() && hash == base.text;
        let known = past.loaded.files.get(path);
        let known = known.filter(|file| !(file.racy && file.stamp.is_coarse()) && is_agreed(file.hash));
        if base.path == *path
            && !says_more.contains(&node.id)
            && known.is_some_and(|file| stamps.of(path) == Some(file.stamp))
        {
            continue;
        }
        let bytes = match crate::mirror::peek(&config.root, path) {
            Ok(bytes) => bytes,
            Err(crate::model::DiskError::Missing(_)) => {
                let old = past.agreed_text(node)?.unwrap_or_default();
                page.show(path.as_str(), Some(&old), path.as_str(), None)?;
                continue;
            }
            Err(error) => {
                page.say(&format!("{error}"))?;
                continue;
            }
        };
        if base.path != *path {
            page.say(&format!("renamed: {} is {path} now", base.path))?;
        }
        let Ok(text) = std::str::from_utf8(&bytes) else {
            page.say(&format!("{path} is not UTF-8 text, so it is not sent"))?;
            continue;
        };
        if is_agreed(Some(ContentHash::of(&bytes))) {
            if says_more.contains(&node.id) {
                tell(path, text, &past.body(base.body)?, page)?;
            }
            continue;
        }
        let Some(present) = past.present(path)? else { continue };
        let agreed = past.body(base.body)?;
        // The text as it would be without an edit: formatting that means nothing new is no difference.
        let old = present.front().to_owned() + &markdown::patch(present.body(), &present.blocks, &agreed);
        page.show(path.as_str(), Some(&old), path.as_str(), Some(&present.text))?;
        tell(path, &present.text, &present.blocks, page)?;
    }
    for file in past.loaded.files.values().filter(|file| file.page.is_none() && wanted(&file.path)) {
        if let Ok(bytes) = crate::mirror::peek(&config.root, &file.path) {
            let text = String::from_utf8_lossy(&bytes);
            page.show(file.path.as_str(), None, file.path.as_str(), Some(&text))?;
        }
    }
    unsent_items(config, past, &wanted, page)?;
    for folder in strange_folders(config, past).iter().filter(|folder| wanted(folder)) {
        page.say(&format!(
            "{folder}/ belongs to no workspace, so its files are not sent; create the workspace in the app, or move the files into the folder of a workspace"
        ))?;
    }
    Ok(())
}

/// The same of canvases and stored files.
fn unsent_items(
    config: &Config,
    past: &Past<'_>,
    wanted: &dyn Fn(&MirrorPath) -> bool,
    page: &mut Page<'_>,
) -> Result<()> {
    let mut stamps = crate::mirror::Stamps::open(&config.root);
    if !past.has_differing_items(|path, stamp| stamps.of(path) == Some(stamp))? {
        return Ok(());
    }
    let canvases = Canvases::open(past)?;
    let is_sent = config.storage.mode == StorageMode::TwoWay;
    for item in canvases.items().all().filter(|item| !item.is_ignored) {
        let Local::Here(fact) = &item.local else { continue };
        let agreed = item.base.as_ref().and_then(|base| base.text);
        if !wanted(&fact.path) || item.kind == Kind::Folder {
            continue;
        }
        if item.kind.is_stored() {
            if is_sent && (fact.hash.is_none() || fact.hash != agreed) {
                page.say(&format!("{}: not uploaded yet", fact.path))?;
            }
            continue;
        }
        let Some(file) = canvases.file(&fact.path)? else { continue };
        if agreed == Some(file.hash) {
            continue;
        }
        let last = canvases.versions(&fact.path)?.into_iter().rfind(|version| version.sent);
        let old = match last.map(|version| past.text(&version)).transpose()?.flatten() {
            Some(text) => Some(text),
            None => compared::agreed_text(past.store(), canvases.items(), item)?,
        };
        let (old, new) = as_lines(old, Some(file.text));
        page.show(fact.path.as_str(), old.as_deref(), fact.path.as_str(), new.as_deref())?;
    }
    Ok(())
}

/// Two texts of a canvas, a node a line: what a program only wrote otherwise is no difference.
fn as_lines(old: Option<String>, new: Option<String>) -> (Option<String>, Option<String>) {
    let said = |text: &Option<String>| text.as_deref().and_then(lines);
    match (said(&old), said(&new)) {
        (Some(old), Some(new)) => (Some(old), Some(new)),
        _ => (old, new),
    }
}

/// Folders at the top of the mirror that are no workspace's and not espejo's own.
fn strange_folders(config: &Config, past: &Past<'_>) -> Vec<MirrorPath> {
    let Ok(entries) = std::fs::read_dir(&config.root) else { return Vec::new() };
    let names = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let is_known = |name: &str| {
        name.starts_with('.')
            || ["Presentations", "Storage"].contains(&name)
            || past.loaded.workspaces.values().any(|workspace| workspace.folder == name)
    };
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut all: Vec<MirrorPath> =
        names.filter(|name| !is_known(name)).filter_map(|name| MirrorPath::new(&name).ok()).collect();
    all.sort();
    all
}

/// What a file says and its page will not.
fn tell(path: &MirrorPath, text: &str, blocks: &Blocks, page: &mut Page<'_>) -> Result<()> {
    let Ok(split) = front_matter::split(text) else { return Ok(()) };
    let above = split.lines_above(text);
    for mut told in markdown::told(split.body, blocks) {
        told.line += above;
        page.say(&format!("{path}: {told}"))?;
    }
    Ok(())
}

/// Where differences are shown.
struct Page<'a> {
    out: &'a mut dyn Write,
    terminal: bool,
    /// What a program is told instead of a person.
    files: Option<Vec<Value>>,
}

impl Page<'_> {
    fn say(&mut self, line: &str) -> Result<()> {
        if let Some(files) = &mut self.files {
            files.push(json!({ "path": null, "diff": null, "note": line }));
            return Ok(());
        }
        Ok(writeln!(self.out, "{}", output::paint(output::ODD, line))?)
    }

    /// The difference of a stored file: of its lines where both are text, else of its sizes.
    fn bytes(&mut self, place: &MirrorPath, was: &str, both: (Vec<u8>, Option<Vec<u8>>)) -> Result<()> {
        let (old, new) = both;
        let sizes = (old.len() as u64, new.as_ref().map(|new| new.len() as u64));
        let texts = (String::from_utf8(old), new.map(String::from_utf8).transpose());
        match (texts, sizes) {
            ((Ok(old), Ok(new)), _) if !old.contains('\0') => {
                self.show(&format!("{place} ({was})"), Some(&old), place.as_str(), new.as_deref())
            }
            (_, (old, Some(new))) => {
                self.say(&format!("{place}: {} then, {} now", output::bytes(old), output::bytes(new)))
            }
            (_, (old, None)) => self.say(&format!("{place}: {} then, no file now", output::bytes(old))),
        }
    }

    /// One file's difference; nothing when there is none.
    fn show(&mut self, old_name: &str, old: Option<&str>, path: &str, new: Option<&str>) -> Result<()> {
        if old == new {
            return Ok(());
        }
        let name = |side: &str, name: &str, text: Option<&str>| match text {
            Some(_) => format!("{side}/{name}"),
            None => "/dev/null".to_owned(),
        };
        let (old_name, new_name) = (name("a", old_name, old), name("b", path, new));
        let diff = similar::TextDiff::from_lines(old.unwrap_or_default(), new.unwrap_or_default());
        let text = diff.unified_diff().context_radius(3).header(&old_name, &new_name).to_string();
        if let Some(files) = &mut self.files {
            files.push(json!({ "path": path, "diff": text, "note": null }));
            return Ok(());
        }
        for (at, line) in text.split_inclusive('\n').enumerate() {
            if !self.terminal {
                self.out.write_all(line.as_bytes())?;
                continue;
            }
            let line = line.strip_suffix('\n').unwrap_or(line);
            let style = match line.as_bytes().first() {
                _ if at < 2 => output::NAME,
                Some(b'+') => output::GOOD,
                Some(b'-') => output::BAD,
                Some(b'@') => output::DIM,
                _ => anstyle::Style::new(),
            };
            writeln!(self.out, "{}", output::paint(style, line))?;
        }
        Ok(())
    }
}
