//! `espejo restore FOLDER`: the pages of a folder as they were at a time, or those that were deleted last.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use anyhow::{Result, bail};

use crate::cli::past::{Past, base_path, words_of};
use crate::cli::report::Report;
use crate::cli::{Exit, WrongUsage, output, put, terminal, when};
use crate::config::Config;
use crate::logging::escape;
use crate::model::{MirrorPath, Put, Timestamp, folder_of};
use crate::store::{Side, Version};

/// More pages than this are put back after a question only.
const ASKED_ABOVE: usize = 10;
/// Deletions with no longer a pause between them are one.
const TOGETHER_MS: i64 = 600_000;

/// What becomes of a page.
enum Fate {
    /// Its page is gone at the service.
    New,
    /// Its file is gone, its page is not.
    Back,
    /// Its file says something else.
    Changed,
    /// Nothing: it is as it was.
    Same,
    /// It cannot be put back, and why.
    Stays(String),
}

struct Step {
    place: MirrorPath,
    fate: Fate,
    put: Option<Put>,
}

/// The pages of `folder` as they were at `at`.
///
/// # Errors
/// One sentence, when nothing can be put back.
pub(super) async fn as_of(
    config: &Config,
    past: &Past<'_>,
    folder: &MirrorPath,
    at: Timestamp,
    yes: bool,
    out: &mut Report<'_>,
) -> Result<Exit> {
    let mut there = past.store().versions_as_of(at)?;
    there.retain(|version| !is_trashed(version));
    for version in &mut there {
        version.path = place_of(past, version)?;
    }
    there.retain(|version| is_in(folder, version));
    if there.is_empty() {
        bail!("the history has no page in {folder} as of {}", when::local(at));
    }
    let places: BTreeSet<MirrorPath> = there.iter().filter_map(|version| version.path.clone()).collect();
    let steps = steps(past, there)?;
    let exit = carry_out(config, folder, steps, yes, out).await?;
    let files = past.loaded.pages.values().filter_map(|node| node.file.as_ref());
    let later = files.filter(|file| is_of(folder, file) && !places.contains(*file)).count();
    if later > 0 {
        let pages = output::count(later as u64, "newer page", "newer pages");
        writeln!(out, "{pages}, or with another name then: unchanged")?;
    }
    Ok(exit)
}

/// The pages of `folder` that were deleted last, all of one go; `None` when there are none.
///
/// # Errors
/// One sentence, when they cannot be put back.
pub(super) async fn last_deleted(
    config: &Config,
    past: &Past<'_>,
    folder: &MirrorPath,
    yes: bool,
    out: &mut Report<'_>,
) -> Result<Option<Exit>> {
    let is_gone = |version: &Version| version.path.as_ref().is_some_and(|path| past.page_at(path).is_none());
    let mut gone: Vec<Version> = past.store().trashed_versions()?;
    gone.retain(|version| is_in(folder, version) && is_gone(version));
    gone.sort_by_key(|version| version.at);
    // The last ones, as far back as no pause between two of them is too long.
    let pause = gone.windows(2).rposition(|two| two[1].at.since_ms(two[0].at) > TOGETHER_MS);
    let first = pause.map_or(0, |at| at + 1);
    // A page that was deleted twice in this time comes back as it was the last time.
    let last: BTreeMap<MirrorPath, Version> =
        gone.drain(first..).filter_map(|version| Some((version.path.clone()?, version))).collect();
    if last.is_empty() {
        return Ok(None);
    }
    let steps = steps(past, last.into_values().collect())?;
    carry_out(config, folder, steps, yes, out).await.map(Some)
}

/// Where a version's page was: the service shows a page before it has a file, and then it had its first place soon after.
fn place_of(past: &Past<'_>, version: &Version) -> Result<Option<MirrorPath>> {
    let (None, Some(page)) = (&version.path, &version.page) else { return Ok(version.path.clone()) };
    let later = past.store().versions_of(page)?.into_iter().filter(|later| later.number > version.number);
    let first = later.filter_map(|version| version.path).next();
    Ok(first.or_else(|| past.loaded.pages.get(page).and_then(base_path).cloned()))
}

/// What becomes of each page, parents before their subpages.
fn steps(past: &Past<'_>, versions: Vec<Version>) -> Result<Vec<Step>> {
    let mut steps: BTreeMap<MirrorPath, (i64, Step)> = BTreeMap::new();
    for version in versions {
        let node = version.page.as_ref().and_then(|page| past.loaded.pages.get(page));
        let Some(place) = node.and_then(base_path).or(version.path.as_ref()).cloned() else { continue };
        if steps.get(&place).is_some_and(|(number, _)| *number > version.number) {
            continue;
        }
        let step = step(past, &version, &place, node.is_some())?;
        steps.insert(place, (version.number, step));
    }
    Ok(steps.into_values().map(|(_, step)| step).collect())
}

fn step(past: &Past<'_>, version: &Version, place: &MirrorPath, is_known: bool) -> Result<Step> {
    let stays = |why: String| Step { place: place.clone(), fate: Fate::Stays(why), put: None };
    let present = match past.present(place) {
        Ok(present) => present,
        Err(error) => return Ok(stays(format!("{error:#}"))),
    };
    let other = past.page_at(place).filter(|other| Some(&other.id) != version.page.as_ref());
    if other.is_some() && version.page.is_some() {
        // What was put back before is a new page, and says the same.
        let now = present.as_ref().map(|present| words_of(&present.blocks));
        if now == Some(past.words(version)?) {
            return Ok(Step { place: place.clone(), fate: Fate::Same, put: None });
        }
        return Ok(stays("another page is in its place now".to_owned()));
    }
    let put = match past.put(version, place, present.as_ref()) {
        Ok(put) => put,
        Err(error) => return Ok(stays(format!("{error:#}"))),
    };
    let is_same =
        matches!((&put, &present), (Put::Text { text, .. }, Some(present)) if *text == present.text);
    let fate = match (is_same, &present, is_known) {
        (true, ..) => Fate::Same,
        (_, Some(_), _) => Fate::Changed,
        (_, None, true) => Fate::Back,
        (_, None, false) => Fate::New,
    };
    Ok(Step { place: place.clone(), fate, put: (!is_same).then_some(put) })
}

async fn carry_out(
    config: &Config,
    folder: &MirrorPath,
    steps: Vec<Step>,
    yes: bool,
    out: &mut Report<'_>,
) -> Result<Exit> {
    let many = steps.iter().filter(|step| step.put.is_some()).count();
    if many > ASKED_ABOVE && !yes {
        ask(folder, &steps, many, out)?;
    }
    let mut changes = put::Changes::new(config);
    let (mut done, mut same, mut left, mut running) = (0, 0, 0, false);
    for Step { place, fate, put } in steps {
        let name = output::name(&place);
        if let Fate::Same = fate {
            same += 1;
            out.add(&place, "unchanged", None, None);
            continue;
        }
        if let Fate::Stays(why) = &fate {
            writeln!(out, "{name} is not restored: {}", escape(why))?;
            out.add(&place, "not restored", None, Some(why));
            left += 1;
            continue;
        }
        let Some(put) = put else { continue };
        match changes.make(put).await {
            Ok(by_daemon) => running = by_daemon,
            Err(error) => {
                let why = format!("{error:#}");
                writeln!(out, "{name} is not restored: {}", escape(&why))?;
                out.add(&place, "not restored", None, Some(&why));
                left += 1;
                continue;
            }
        }
        done += 1;
        writeln!(out, "{name} {}", told(&fate))?;
        out.add(&place, "restored", None, Some(told(&fate)));
    }
    let mut sum = format!("{} restored", output::count(done, "page", "pages"));
    if same > 0 {
        sum.push_str(&format!(", {same} unchanged"));
    }
    if left > 0 {
        sum.push_str(&format!(", {left} not restored"));
    }
    writeln!(out, "{sum}")?;
    if done > 0 {
        writeln!(out, "  {}", put::then(running))?;
    }
    Ok(if left > 0 { Exit::NeedsUser } else { Exit::Done })
}

fn told(fate: &Fate) -> &'static str {
    match fate {
        Fate::New => "is restored as a new page, with a new id",
        Fate::Back => "is back",
        Fate::Changed => "is restored; its old text is in its history",
        Fate::Same | Fate::Stays(_) => "stays",
    }
}

/// Shows what would be done and asks once.
fn ask(folder: &MirrorPath, steps: &[Step], changes: usize, out: &mut Report<'_>) -> Result<()> {
    for step in steps.iter().filter(|step| step.put.is_some()) {
        writeln!(out, "{} {}", output::name(&step.place), told(&step.fate))?;
    }
    let alone = format!("{changes} pages of {folder} would be restored; add --yes to do so");
    if out.is_json() {
        return Err(WrongUsage(alone).into());
    }
    terminal::agreed(&format!("Restore {changes} pages?"), &alone, "nothing was restored")
}

fn is_trashed(version: &Version) -> bool {
    matches!(version.side, Side::TrashHere | Side::TrashThere)
}

fn is_in(folder: &MirrorPath, version: &Version) -> bool {
    version.path.as_ref().is_some_and(|path| is_of(folder, path))
}

/// Whether a page is the folder's own, or beneath it.
fn is_of(folder: &MirrorPath, page: &MirrorPath) -> bool {
    page.is_within(folder) || folder_of(page).as_ref() == Some(folder)
}
