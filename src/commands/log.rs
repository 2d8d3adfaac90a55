//! `espejo log`: what espejo did, newest first, a line each, with the number by which `espejo undo` takes it back. Of one page,
//! each line has its version too.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::acts::{Filter, Told, Who};
use crate::cli::past::{Past, name_of};
use crate::cli::word_diff::changed_words;
use crate::cli::{Call, Exit, acts, here, output, pager, versions, when};
use crate::config::Config;
use crate::logging::escape;
use crate::model::folder_of;
use crate::store::{Act, ActKind, ReadOnly, Side, Version};

/// Entries that are shown where no number and no time was asked for.
const SHOWN: usize = 50;
/// Lines that stand above what is followed.
const SHOWN_BEFORE: usize = 10;
/// Pages that were deleted together are so within this time.
const TOGETHER_MS: i64 = 10_000;
/// How often a log that is followed is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Show what espejo did, newest first, and the versions of a page
///
/// Each line shows who changed which file and how many words, with a permanent number: `espejo undo NUMBER` takes the
/// change back, and `espejo restore PATH --at NUMBER` gives the text after it. `you` stands for a change in the folder,
/// `the app` for a change at the service. With the PATH of a page or canvas, each line shows the hash of its version, and
/// versions that no change of the log brought are listed too. The last 2,000 entries are kept, versions for history_days (config).
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  espejo log -n 20\n  espejo log ~/Workspace/Acme/Pages/Roadmap.md --since yesterday\n  espejo log --follow"
)]
pub struct Args {
    /// Only this file or folder, and what is beneath it
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub path: Option<PathBuf>,
    /// Only entries since this time: 14:30, yesterday, 2026-05-31, 2h
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// At most so many entries [default: 50, or all with --since or --json]
    #[arg(short, long, value_name = "N")]
    pub number: Option<usize>,
    /// Print the result as JSON
    #[arg(long, conflicts_with = "follow")]
    pub json: bool,
    /// Show the last entries, then each new one, until Ctrl-C
    #[arg(short, long)]
    pub follow: bool,
}

/// Shows the log once.
///
/// # Errors
/// One sentence, when the state cannot be read.
pub fn run(args: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let config = &call.config()?;
    if args.json {
        return once(config, args, call.out);
    }
    pager::through(call.out, |out| once(config, args, out))
}

/// A change, a version, or a change with its version.
struct Entry<'a> {
    act: Option<&'a Act>,
    version: Option<&'a Version>,
    /// What was sent of the change, if that is another one.
    sent: Option<&'a Act>,
    /// How many pages beneath it were deleted with it.
    beneath: usize,
    /// Words that the version has and lacks beside the one before it, if the change brought it.
    changed: Option<(usize, usize)>,
}

impl Entry<'_> {
    /// Words that came and went. Texts are read for it, so it is asked for what is shown only.
    fn words(&self, past: &Past<'_>) -> Result<Option<(usize, usize)>> {
        let of = |act: Option<&Act>| Ok(act.map(|act| acts::word_counts(past, act)).transpose()?.flatten());
        let own = of(self.act)?.or(self.changed);
        if own.is_some() { Ok(own) } else { of(self.sent) }
    }
}

fn once(config: &Config, args: &Args, out: &mut dyn Write) -> Result<Exit> {
    let past = Past::open(config)?;
    let filter = Filter::new(&past, args.path.as_deref(), args.since.as_deref())?;
    let acts = acts::filtered(&past, &filter)?;
    let versions = filter.page().map_or_else(|| Ok(Vec::new()), |place| past.versions(place))?;
    let mut all = entries(&past, &acts, &versions, &filter)?;
    if !args.json {
        join(&past, &mut all)?;
    }
    if all.is_empty() && !args.json {
        let since = if args.since.is_some() { " since then" } else { " there yet" };
        writeln!(out, "nothing was done{since}")?;
        return Ok(Exit::Done);
    }
    let usual = if args.since.is_some() || args.json { all.len() } else { SHOWN };
    let older = all.len().saturating_sub(args.number.unwrap_or(usual));
    all.truncate(all.len() - older);
    if args.json {
        let rows = all.iter().map(|entry| as_json(&past, entry)).collect::<Result<Vec<Value>>>()?;
        output::json(out, &rows)?;
        return Ok(Exit::Done);
    }
    count_trees(&past, &mut all)?;
    let width = width_of(acts.iter());
    for entry in &all {
        line(&past, entry, width, out)?;
    }
    if older > 0 && args.number.is_none() {
        let more = output::count(older as u64, "older entry", "older entries");
        writeln!(out, "{more}; espejo log -n {} shows all", all.len() + older)?;
    }
    Ok(Exit::Done)
}

/// The changes, newest first, each with its version, and among them the versions that no change brought.
fn entries<'a>(
    past: &Past<'_>,
    acts: &'a [Act],
    versions: &'a [Version],
    filter: &Filter,
) -> Result<Vec<Entry<'a>>> {
    let (mut all, mut changed, mut before) = (Vec::with_capacity(acts.len()), BTreeMap::new(), Vec::new());
    for version in versions {
        let words = past.words(version)?;
        changed.insert(version.number, changed_words(&before, &words));
        before = words;
    }
    for act in acts {
        let version = versions::after(act, versions);
        let brought = version.filter(|version| versions::brought(act, version));
        let changed = brought.and_then(|version| changed.get(&version.number).copied());
        all.push(Entry { act: Some(act), version, sent: None, beneath: 0, changed });
    }
    for version in versions.iter().filter(|version| filter.is_since(version.at)) {
        if !acts.iter().any(|act| versions::brought(act, version)) {
            let changed = changed.get(&version.number).copied();
            all.push(Entry { act: None, version: Some(version), sent: None, beneath: 0, changed });
        }
    }
    // Of one moment the changes come first: they are what followed.
    all.sort_by_key(|entry| {
        let at = entry.act.map(|act| act.at).or(entry.version.map(|version| version.at));
        std::cmp::Reverse((at, entry.act.map(|act| act.number)))
    });
    Ok(all)
}

/// What a person did once is one line: a new page and its text, or a command and the change that it sent.
fn join(past: &Past<'_>, all: &mut Vec<Entry<'_>>) -> Result<()> {
    let mut at = 0;
    while at < all.len() {
        let sent = all[at].act.filter(|act| act.kind == ActKind::Sent && act.page.is_some());
        let is_its =
            |entry: &Entry<'_>| entry.act.is_some_and(|act| sent.is_some_and(|sent| act.page == sent.page));
        let first = all[at + 1..].iter().position(is_its).map(|found| at + 1 + found);
        let act = first.and_then(|first| all[first].act);
        let Some((first, (sent, act))) = first.zip(sent.zip(act)) else {
            at += 1;
            continue;
        };
        if !acts::is_sent_for(past, sent, act)? {
            at += 1;
            continue;
        }
        let Entry { act, version, .. } = all.remove(at);
        let first = &mut all[first - 1];
        (first.version, first.sent) = (version, act);
    }
    Ok(())
}

/// A page that was deleted with the pages beneath it is one line, which says how many they are.
fn count_trees(past: &Past<'_>, all: &mut [Entry<'_>]) -> Result<()> {
    let is_deletion = |act: &Act| matches!(act.kind, ActKind::TrashedHere | ActKind::TrashedThere);
    if !all.iter().filter_map(|entry| entry.act).any(is_deletion) {
        return Ok(());
    }
    let trashed = past.store().trashed_versions()?;
    for entry in all {
        let Some(act) = entry.act.filter(|act| is_deletion(act)) else { continue };
        let Some(folder) = folder_of(&act.path) else { continue };
        let is_beneath = |version: &&Version| {
            version.at.since_ms(act.at).abs() < TOGETHER_MS
                && version.path.as_ref().is_some_and(|path| path.is_within(&folder))
        };
        entry.beneath = trashed.iter().filter(is_beneath).count();
    }
    Ok(())
}

/// Shows the last lines, oldest first, and then each new one, until Ctrl-C.
///
/// # Errors
/// As for [`run`].
pub async fn follow(args: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let (config, out) = (&call.config()?, &mut *call.out);
    let mut last = 0;
    let mut is_first = true;
    loop {
        // All pages are read for a new entry only.
        if is_first || has_newer(config, last)? {
            let past = Past::open(config)?;
            let filter = Filter::new(&past, args.path.as_deref(), args.since.as_deref())?;
            let mut new = past.store().acts_after(last)?;
            last = new.first().map_or(last, |act| act.number);
            new.retain(|act| filter.takes(act));
            if is_first && (args.since.is_none() || args.number.is_some()) {
                new.truncate(args.number.unwrap_or(SHOWN_BEFORE));
            }
            let width = width_of(new.iter());
            for act in new.iter().rev() {
                let entry = Entry { act: Some(act), version: None, sent: None, beneath: 0, changed: None };
                line(&past, &entry, width, out)?;
            }
        }
        is_first = false;
        out.flush()?;
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Done),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

/// Whether anything was done after the act of this number.
fn has_newer(config: &Config, number: i64) -> Result<bool> {
    // Where the state is gone, reading it says so.
    let Some(state) = ReadOnly::open(&config.state_dir)? else { return Ok(true) };
    Ok(!state.store().acts_after(number)?.is_empty())
}

fn width_of<'a>(acts: impl Iterator<Item = &'a Act>) -> usize {
    acts.map(|act| act.number.to_string().len() + 1).max().unwrap_or(2).max(3)
}

/// Who did what, as a change says it, or as a version that no change brought does.
fn told(entry: &Entry<'_>) -> Told {
    if let Some(act) = entry.act {
        let told = acts::told(act);
        let beneath = (entry.beneath > 0).then(|| {
            format!("with {}", output::count(entry.beneath as u64, "page beneath it", "pages beneath it"))
        });
        let both: Vec<String> = beneath.into_iter().chain(told.detail).collect();
        return Told { detail: (!both.is_empty()).then(|| both.join("; ")), ..told };
    }
    let (who, verb) = match entry.version.map(|version| version.side) {
        Some(Side::Service) | None => (Who::App, "edited"),
        Some(Side::File) => (Who::You, "saved"),
        Some(Side::Merged) => (Who::Espejo, "merged"),
        Some(Side::Copy) => (Who::Espejo, "kept your version of"),
        Some(Side::TrashHere | Side::TrashThere) => (Who::Espejo, "kept the last text of"),
    };
    Told { who, verb, detail: None }
}

fn line(past: &Past<'_>, entry: &Entry<'_>, width: usize, out: &mut dyn Write) -> Result<()> {
    let Told { who, verb, detail } = told(entry);
    let number = entry.act.map_or_else(String::new, |act| format!("#{}", act.number));
    let at = entry.act.map(|act| act.at).or(entry.version.map(|version| version.at)).unwrap_or_default();
    let hash = entry.version.map(|version| {
        let hash = &name_of(version).to_hex()[..8];
        format!("  {}", output::paint(output::DIM, hash))
    });
    let path = entry.act.map(|act| &act.path).or(entry.version.and_then(|version| version.path.as_ref()));
    let mut rest = String::new();
    if let Some((added, removed)) = entry.words(past)? {
        rest.push_str(&format!("  {}", acts::counts(added, removed)));
    }
    if let Some(detail) = detail {
        rest.push_str(&output::paint(output::DIM, &format!("  ({})", escape(&detail))));
    }
    writeln!(
        out,
        "{}  {}{}  {:<7}  {verb} {}{rest}",
        output::paint(output::NAME, &format!("{number:>width$}")),
        output::paint(output::DIM, &when::local(at)),
        hash.unwrap_or_default(),
        who.name(),
        path.map_or_else(String::new, |path| escape(&here::shown(path.as_str())).to_string()),
    )?;
    Ok(())
}

fn as_json(past: &Past<'_>, entry: &Entry<'_>) -> Result<Value> {
    let Told { who, verb, detail } = told(entry);
    let words = entry.words(past)?;
    let mut value = match entry.act {
        Some(act) => acts::as_json(act, words),
        None => {
            let version = entry.version;
            json!({
                "number": null,
                "at": version.map(|version| when::rfc3339(version.at)),
                "who": who.key(), "what": verb, "detail": detail,
                "path": version.and_then(|version| version.path.as_ref()).map(ToString::to_string),
                "page": version.and_then(|version| version.page.as_ref()).map(ToString::to_string),
                "words_added": words.map(|(added, _)| added),
                "words_removed": words.map(|(_, removed)| removed),
            })
        }
    };
    if let Some(version) = entry.version {
        value["version"] = json!({
            "hash": name_of(version).to_hex(),
            "side": match version.side {
                Side::Service => "service",
                Side::File => "file",
                Side::Merged => "merged",
                Side::Copy => "conflict-copy",
                Side::TrashHere => "trash-here",
                Side::TrashThere => "trash-there",
            },
            "sent": version.sent || version.side == Side::Merged,
            "title": version.title,
        });
    }
    Ok(value)
}
