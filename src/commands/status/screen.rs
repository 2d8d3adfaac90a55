//! The one screen of `status`: first whether everything is safe, then the numbers, then what needs a person.

use super::{View, slowed};
use crate::cli::{here, output, when};
use crate::config::Config;
use crate::model::{Code, Level, StorageMode, and_others, by_cause};
use crate::store::StorageCounts;

/// Columns of the bar of the first sync.
const BAR: u64 = 20;
/// Where values begin.
const INDENT: usize = 13;

/// The screen's lines, each at most `width` columns wide where there is a terminal.
pub(super) fn lines(view: &View<'_>, width: Option<usize>) -> Vec<String> {
    let mut page = Page { width: width.unwrap_or(usize::MAX), lines: Vec::new() };
    let (style, verdict) = verdict(view);
    page.wrapped("", &verdict, 2, |line| output::paint(style.bold(), line));
    let (config, counts, boards, storage) = (view.config, &view.counts, view.boards, &view.storage);
    fetching(view, &mut page);
    // What the user has to do comes first: a low window shows it too.
    acts(view, &mut page);
    page.row("folder", &config.root.display().to_string());
    page.row(
        "daemon",
        &match (view.running, view.paused, view.unit) {
            (true, _, _) if view.is_command => "not running; a sync or another command is running".to_owned(),
            (true, None, _) => "running".to_owned(),
            (true, Some(_), _) => "running, and paused: continue with espejo resume".to_owned(),
            (false, None, Some(unit)) => format!("not running: systemctl --user start {unit}"),
            (false, Some(_), Some(unit)) => {
                format!("not running, and paused: espejo resume, then systemctl --user start {unit}")
            }
            (false, None, None) => "not running: espejo run, or espejo service install".to_owned(),
            (false, Some(_), None) => "not running, and paused: espejo resume, then espejo run".to_owned(),
        },
    );
    let mut pages = format!("{} mirrored", output::grouped(counts.mirrored));
    if counts.unmirrored > 0 {
        pages.push_str(&format!(", {} to come", output::grouped(counts.unmirrored)));
    }
    page.row("pages", &pages);
    if boards.whiteboards + boards.slides + boards.unmirrored > 0 {
        let mut line = output::count(boards.whiteboards, "whiteboard", "whiteboards");
        line.push_str(&format!(", {}", output::count(boards.presentations, "presentation", "presentations")));
        line.push_str(&format!(" with {}", output::count(boards.slides, "slide", "slides")));
        if boards.unmirrored > 0 {
            line.push_str(&format!("; {} to come", output::grouped(boards.unmirrored)));
        }
        page.row("canvases", &line);
    }
    if config.storage.enabled {
        page.row("storage", &storage_words(config, storage));
    }
    if view.unsynced > 0 {
        let files = output::count(view.unsynced as u64, "file", "files");
        page.row("not synced", &format!("{files} in places that are not synced: espejo list names them"));
    }
    // While pages are to come, it would say of a few that all were looked at.
    if let (Some(oldest), Some(median), 0) = (counts.oldest_look, counts.median_look, counts.unmirrored) {
        let within = |at| output::duration(view.now.since_ms(at).max(1_000));
        let (half, all) = (within(median), within(oldest));
        page.row(
            "checked",
            &if half == all {
                format!("all pages within {all}")
            } else {
                format!("half of the pages within {half}, all within {all}")
            },
        );
    }
    if let Some(late) = view.late.words(view.now) {
        page.row("late", &late);
    }
    if let Some(noticed) = view.noticed {
        page.row("noticed", &super::noticed_words(noticed));
    }
    page.row(
        "requests",
        &format!("{} of {} in the last minute", counts.requests_last_minute, config.requests_per_minute),
    );
    if let Some(at) = counts.refused_at.filter(|_| slowed(counts, view.now)) {
        let ago = output::ago(view.now.since_ms(at));
        page.row(
            "pace",
            &format!("slowed: the service refused a request {ago}, so others may be using this token"),
        );
    }
    if counts.history.versions > 0 {
        let versions = output::count(counts.history.versions, "version", "versions");
        let days = output::count(u64::from(config.pages.history_days), "day", "days");
        page.row(
            "history",
            &format!("{versions} in {}, kept for {days}", output::bytes(counts.history.bytes)),
        );
    }
    waiting(view, &mut page);
    concerns(view, Level::Waiting, &mut page);
    concerns(view, Level::Note, &mut page);
    page.lines
}

/// The first line, where the folder is, and what the user has to do.
pub(super) fn glance(view: &View<'_>, width: Option<usize>) -> Vec<String> {
    let mut page = Page { width: width.unwrap_or(usize::MAX), lines: Vec::new() };
    let (style, verdict) = verdict(view);
    page.wrapped("", &verdict, 2, |line| output::paint(style.bold(), line));
    page.row("folder", &view.config.root.display().to_string());
    fetching(view, &mut page);
    acts(view, &mut page);
    page.row("more", "espejo status, espejo log, espejo --help");
    page.lines
}

/// What the user has to do, and nothing else.
pub(super) fn acts_alone(view: &View<'_>, width: Option<usize>) -> Vec<String> {
    let mut page = Page { width: width.unwrap_or(usize::MAX), lines: Vec::new() };
    acts(view, &mut page);
    page.lines
}

/// One line of few words: what the user has to do first.
pub(super) fn short(view: &View<'_>) -> String {
    let mut parts = Vec::new();
    let some = |number: u64, what: &str| (number > 0).then(|| format!("{} {what}", output::grouped(number)));
    let verb = if view.needs() == 1 { "needs attention" } else { "need attention" };
    parts.extend(some(view.needs() as u64, verb));
    match (view.running, view.paused.is_some()) {
        (_, true) => parts.push("paused".to_owned()),
        (false, false) => parts.push("not running".to_owned()),
        (true, false) if view.attention.iter().any(|item| item.code == Code::Outage) => {
            parts.push("waiting for the service".to_owned());
        }
        (true, false) => {}
    }
    parts.extend(some(view.on_the_way(), "pending"));
    parts.extend(some(view.to_come(), "to come"));
    if parts.is_empty() { "in sync".to_owned() } else { parts.join(", ") }
}

/// How far the first sync is, or what the app added lately, and how long the rest takes, as each page takes a request.
fn fetching(view: &View<'_>, page: &mut Page) {
    let (there, left) = (view.counts.mirrored, view.counts.unmirrored);
    if left == 0 || !view.running || view.paused.is_some() {
        return;
    }
    let all = there + left;
    let filled = usize::try_from(there * BAR / all.max(1)).unwrap_or(0);
    let width = usize::try_from(BAR).unwrap_or(0);
    let bar = format!("{:░<width$}", "█".repeat(filled));
    let minutes = left.div_ceil(u64::from(view.config.requests_per_minute.max(1)));
    let time = output::duration(i64::try_from(minutes * 60_000).unwrap_or(i64::MAX));
    let counts = format!("{} of {} pages", output::grouped(there), output::grouped(all));
    page.row(
        "fetching",
        &format!(
            "{bar} {counts}; about {time} left at {} requests a minute",
            view.config.requests_per_minute
        ),
    );
}

/// What the user has to do, conflicts too.
fn acts(view: &View<'_>, page: &mut Page) {
    concerns(view, Level::Act, page);
    for conflict in &view.conflicts {
        page.need(Level::Act, conflict.page_path.as_str(), &conflict.cause(), conflict.mend());
    }
}

fn concerns(view: &View<'_>, wanted: Level, page: &mut Page) {
    for (item, others) in by_cause(&view.attention) {
        if item.level() == wanted {
            page.need(wanted, &and_others(&item.path, others), &item.reason, &item.action);
        }
    }
}

/// The first line: is everything safe?
fn verdict(view: &View<'_>) -> (anstyle::Style, String) {
    let (come, way) = (view.to_come(), view.on_the_way());
    let mut doing = Vec::new();
    if come > 0 {
        doing.push(format!("{} to come", output::grouped(come)));
    }
    if way > 0 {
        doing.push(format!("{} pending", output::count(way, "change", "changes")));
    }
    let doing = doing.join(", ");
    if view.needs() > 0 {
        return (output::ODD, format!("{}; nothing is lost", output::needs(view.needs())));
    }
    if let Some(since) = view.paused {
        let pending = match way {
            0 => String::new(),
            _ => format!("; {} pending until espejo resume", output::count(way, "change", "changes")),
        };
        return (output::ODD, format!("paused since {}{pending}", when::local(since)));
    }
    // What the app has changed meanwhile is unknown, so nothing is known to be in sync.
    if view.running && view.attention.iter().any(|item| item.code == Code::Outage) {
        let doing = if doing.is_empty() { String::new() } else { format!(": {doing}") };
        return (output::ODD, format!("waiting for the service{doing}"));
    }
    match (view.running, doing.is_empty()) {
        // Nothing is known to be missing as long as nothing is listed.
        (true, true) if view.is_first_look => {
            (output::GOOD, "catching up: the first sync is in progress".to_owned())
        }
        (true, true) if view.is_command => (output::GOOD, "a sync or another command is running".to_owned()),
        (true, true) => (output::GOOD, "everything is in sync".to_owned()),
        (true, false) => (output::GOOD, format!("catching up: {doing}")),
        (false, _)
            if !view.begun
                && let Some(unit) = view.unit =>
        {
            (output::ODD, format!("nothing is mirrored yet: systemctl --user start {unit}"))
        }
        (false, _) if !view.begun => (output::ODD, "nothing is mirrored yet: start espejo run".to_owned()),
        (false, true) if view.is_first_look => {
            (output::ODD, "not running: the first sync continues when espejo runs again".to_owned())
        }
        (false, true) => (
            output::ODD,
            "not running: everything was in sync when espejo stopped; changes since then are not synced"
                .to_owned(),
        ),
        (false, false) => (output::ODD, format!("not running: {doing}, when espejo runs again")),
    }
}

fn waiting(view: &View<'_>, page: &mut Page) {
    let all = view.on_the_way();
    if all == 0 {
        return;
    }
    page.row("pending", &output::count(all, "change", "changes"));
    for item in &view.waiting {
        let most = page.width.saturating_sub(INDENT + 2 + output::columns(item.what)).max(16);
        let path = output::shortened(&here::shown(&item.path), most);
        let what = output::paint(output::DIM, item.what);
        page.lines.push(format!("{:INDENT$}{}  {what}", "", crate::logging::escape(&path)));
    }
    // Canvases and stored files are counted, and only pages are named.
    if all > view.waiting.len() as u64 {
        let rest = format!("and {} more: espejo list", output::grouped(all - view.waiting.len() as u64));
        page.lines.push(format!("{:INDENT$}{}", "", output::paint(output::DIM, &rest)));
    }
}

/// `312 files, 1.2 GB; 188 to come, 2.2 GB; 3 local only`.
fn storage_words(config: &Config, storage: &StorageCounts) -> String {
    let mut words = output::count(storage.files, "file", "files");
    words.push_str(&format!(", {}", output::bytes(storage.bytes)));
    if storage.missing > 0 {
        let (files, bytes) = (output::grouped(storage.missing), output::bytes(storage.missing_bytes));
        words.push_str(&format!("; {files} to come, {bytes}"));
    }
    if storage.local_only > 0 {
        words.push_str(&format!("; {} local only", output::grouped(storage.local_only)));
    }
    if config.storage.mode == StorageMode::TwoWay {
        words.push_str("; both ways");
    }
    words
}

/// Lines that are being written.
struct Page {
    width: usize,
    lines: Vec<String>,
}

impl Page {
    /// `  name       value`, the value under itself where it is too long.
    fn row(&mut self, name: &str, value: &str) {
        let name = format!("  {name:<width$}", width = INDENT - 2);
        self.wrapped(&name, value, INDENT, |line| crate::logging::escape(line).to_string());
    }

    /// What needs a person: where, why, and what mends it.
    fn need(&mut self, level: Level, place: &str, why: &str, mend: &str) {
        let place = here::shown(place);
        let place = output::shortened(&place, self.width.saturating_sub(2).max(16));
        self.lines.push(format!("{} {}", output::mark(level), output::paint(output::NAME, &place)));
        self.wrapped("    ", why, 4, |line| crate::logging::escape(line).to_string());
        self.wrapped("  → ", mend, 4, |line| crate::logging::escape(line).to_string());
    }

    /// `first`, then `text`; further lines begin at column `indent`.
    fn wrapped(&mut self, first: &str, text: &str, indent: usize, paint: impl Fn(&str) -> String) {
        let mut lead = first.to_owned();
        for line in output::wrap(text, self.width.saturating_sub(output::columns(first).max(indent)).max(20))
        {
            self.lines.push(format!("{lead}{}", paint(&line)));
            lead = " ".repeat(indent);
        }
    }
}
