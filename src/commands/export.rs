//! `espejo export`: everything in a folder of its own, readable without espejo. The JSON is what the state holds of the
//! API's answers, at one moment; the files are the mirror's. The folder appears under its name when it is complete.

mod bundle;
mod items;
mod place;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use crate::cli::when::rfc3339;
use crate::cli::{Call, Exit, WrongUsage, output, progress};
use crate::config::Config;
use crate::daemon;
use crate::mirror::{self, Mirror};
use crate::model::{DiskError, DiskReply, Effect, EntryKind, Level, MirrorPath, RootState};
use crate::store::ReadOnly;
use bundle::Bundle;

const README: &str = include_str!("export/README.txt");
/// A file that is being written to is copied anew this often.
const TRIES: usize = 5;

/// What could not be exported: where it stands and why, or what is known by its name only.
#[derive(Debug, Default)]
struct Gaps {
    unread: Vec<Value>,
    missing: Vec<(String, String)>,
}

/// Export everything to a folder: the raw JSON and the files
///
/// The export contains the API's JSON, one file for each page, whiteboard, presentation and stored file, the files of the
/// mirror, a manifest and SHA256SUMS. You need neither espejo nor a network to read it. export also works while the daemon
/// runs. The exit code is 3 if something could not be exported; export names it.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
#[command(
    after_help = "Examples:\n  espejo export ~/espejo-2026-05-31\n  espejo export /media/usb/workspace --json"
)]
pub struct Args {
    /// A new or empty folder outside the mirror
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Writes the export.
///
/// # Errors
/// [`WrongUsage`] for a folder that may not be used; one sentence when something cannot be read or written. Nothing is
/// left behind then.
pub fn run(args: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let (config, screen) = (&call.config()?, &call.screen());
    let (as_json, out) = (args.json, &mut *call.out);
    let target = place::check(&args.dir, config).map_err(WrongUsage::because)?;
    let Some(mut state) = ReadOnly::open(&config.state_dir)? else {
        bail!("there is no mirror yet: run espejo sync or espejo run first");
    };
    state.hold()?;
    let mut bundle = Bundle::begin(target)?;
    let mut gaps = Gaps::default();
    let bar = bar(screen);
    bundle.put("README.txt", README.as_bytes())?;
    let counts = items::write(&mut state, &mut bundle, &mut gaps, &bar)?;
    let files = copy_files(config, &state, &mut bundle, &mut gaps, &bar)?;
    bar.finish_and_clear();
    let bytes = bundle.bytes();
    let missing: Vec<Value> =
        gaps.missing.iter().map(|(path, why)| json!({ "path": path, "reason": why })).collect();
    let made_at = rfc3339(daemon::wall_now());
    let summary = json!({
        "espejo": env!("CARGO_PKG_VERSION"),
        "made_at": made_at,
        "items": counts,
        "files": files,
        "bytes": bytes,
        "known_by_name_only": gaps.unread,
        "missing": missing,
    });
    let dir = bundle.finish(&summary)?;
    let whole = gaps.unread.is_empty() && gaps.missing.is_empty();
    if as_json {
        let mut told = summary;
        told["dir"] = json!(dir.display().to_string());
        output::json(out, &told)?;
    } else if !screen.quiet || !whole {
        tell(&dir, &counts, files, bytes, &gaps, out)?;
    }
    Ok(if whole { Exit::Done } else { Exit::NeedsUser })
}

fn bar(screen: &progress::Screen<'_>) -> ProgressBar {
    if !screen.terminal || screen.quiet {
        return ProgressBar::hidden();
    }
    let bar = screen.bars.add(ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr()));
    if let Ok(style) = ProgressStyle::with_template("{bar:30.green/dim} {pos}/{len}  {msg}") {
        bar.set_style(style);
    }
    bar
}

/// Copies every file of the mirror but what is espejo's own; how many there are.
fn copy_files(
    config: &Config,
    state: &ReadOnly,
    bundle: &mut Bundle,
    gaps: &mut Gaps,
    bar: &ProgressBar,
) -> Result<u64> {
    let id = state.meta("mirror_id")?.unwrap_or_default();
    let mut absent = |why: String| gaps.missing.push((config.root.display().to_string(), why));
    let scan = match Mirror::open(&config.root, &id, false).and_then(|mirror| mirror.perform(&Effect::Scan)) {
        Ok(DiskReply::Scan(scan)) => scan,
        Ok(_) => return Ok(0),
        Err(error) => {
            absent(error.to_string());
            return Ok(0);
        }
    };
    match &scan.root {
        RootState::Ready => {}
        RootState::Missing => absent("the mirror's folder does not exist".to_owned()),
        RootState::NoMarker | RootState::OtherMirror => {
            absent("it belongs to another mirror (see .espejo)".to_owned());
        }
        RootState::Unreadable(why) => absent(why.clone()),
    }
    if scan.root != RootState::Ready {
        return Ok(0);
    }
    for entry in scan.entries.iter().filter(|entry| entry.kind == EntryKind::Other) {
        gaps.missing.push((
            entry.path.to_string(),
            "it is a link or a device, which espejo does not follow".to_owned(),
        ));
    }
    for odd in &scan.unreadable {
        gaps.missing.push((odd.path.to_string(), odd.why.clone()));
    }
    let files: Vec<&MirrorPath> =
        scan.entries.iter().filter(|entry| entry.kind == EntryKind::File).map(|entry| &entry.path).collect();
    bar.set_length(files.len() as u64);
    bar.set_position(0);
    bar.set_message("files");
    let mut copied = 0;
    for path in files {
        let name = format!("files/{path}");
        let mut tries = 0;
        let result = loop {
            tries += 1;
            match bundle.copy(&name, |to| mirror::copy_out(&config.root, path, to))? {
                Err(DiskError::Changed(_)) if tries < TRIES => {}
                other => break other,
            }
        };
        match result {
            Ok(()) => copied += 1,
            // Moved or deleted since the look: it is where it is now, or gone, and its page is in the JSON.
            Err(error) => gaps.missing.push((path.to_string(), error.to_string())),
        }
        bar.inc(1);
    }
    Ok(copied)
}

fn tell(dir: &Path, counts: &Value, files: u64, bytes: u64, gaps: &Gaps, out: &mut dyn Write) -> Result<()> {
    for (path, why) in gaps.missing.iter().take(10) {
        output::need(
            out,
            Level::Act,
            path,
            &format!("not in the export: {why}"),
            "fix this and export again",
        )?;
    }
    if gaps.missing.len() > 10 {
        writeln!(out, "and {} more, in manifest.json", output::grouped(gaps.missing.len() as u64 - 10))?;
    }
    if !gaps.unread.is_empty() {
        let number = output::count(gaps.unread.len() as u64, "item is", "items are");
        let why = format!("{number} without content: not mirrored yet");
        output::need(out, Level::Act, "", &why, "run espejo sync, then export again")?;
    }
    let number = |key: &str| counts[key].as_u64().unwrap_or(0);
    let said: Vec<String> = [
        ("pages", "page", "pages"),
        ("whiteboards", "whiteboard", "whiteboards"),
        ("presentations", "presentation", "presentations"),
        ("storage_files", "stored file", "stored files"),
    ]
    .into_iter()
    .filter(|(key, ..)| *key == "pages" || number(key) > 0)
    .map(|(key, one, many)| output::count(number(key), one, many))
    .collect();
    writeln!(out, "{}", output::paint(output::NAME, &dir.display().to_string()))?;
    let files = output::count(files, "file", "files");
    output::say(out, &format!("{}; {files}, {}", said.join(", "), output::bytes(bytes)))?;
    writeln!(
        out,
        "{}",
        output::paint(output::DIM, "to check every byte, run in it: sha256sum -c SHA256SUMS")
    )?;
    Ok(())
}
