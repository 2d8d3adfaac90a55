//! `espejo sync PATH`: checks now what a person names, syncs it, and says what came. Where a daemon or another sync runs already,
//! that one does it.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use super::{Args, by_whom};
use crate::cli::acts::{Told, Who};
use crate::cli::past::Past;
use crate::cli::progress::Screen;
use crate::cli::session::interrupted;
use crate::cli::{self, Exit, acts, here, items, output, session, when};
use crate::config::Config;
use crate::daemon::control::{self, Ask, Following, Listener, PullStep};
use crate::daemon::{self, Ended, Observer, Pull, PullState};
use crate::engine::{Activity, Checked, Engine, Pulled};
use crate::logging::escape;
use crate::model::{Attention, Event, Level, MirrorPath, Request, Timestamp, to_act_on};
use crate::store::{Act, ReadOnly, StoreError};

const LOOKS: &str = "{wide_bar:.green/dim} {pos}/{len} looks";

/// Checks, and says what came.
///
/// # Errors
/// One sentence, when a path is not in the mirror, nothing of the service is at it, or the service cannot be reached.
pub(super) async fn run(
    config: &Config,
    asked: &Args,
    screen: Screen<'_>,
    out: &mut dyn Write,
) -> Result<Exit> {
    let places = session::places(config, &asked.paths)?;
    session::refuse_in_pause(config)?;
    let Some(state) = ReadOnly::open(&config.state_dir)? else {
        bail!("there is no mirror yet: run espejo sync or espejo run first");
    };
    let before = state.store().newest_act()?;
    drop(state);
    let quiet = screen.quiet;
    let (pulled, ended) = look(config, &places, &screen).await?;
    let past = Past::open(config)?;
    let came = Came::read(&past, before, &places, &pulled)?;
    let needs = needs(config, &places)?;
    let failed = match ended {
        PullState::Failed(why) => Some(why),
        PullState::UnderWay | PullState::Over => None,
    };
    if asked.json {
        output::json(out, &as_json(&pulled, &past, &came, &needs, failed.as_deref())?)?;
    } else {
        for item in came.items.iter().filter(|_| !quiet) {
            writeln!(out, "{}", item_line(&past, item)?)?;
        }
        for (path, what) in came.stored.iter().filter(|_| !quiet) {
            writeln!(out, "{}", stored_line(path, what))?;
        }
        if failed.is_none() && !quiet {
            output::say(out, &last_line(&pulled, came.count()))?;
        }
        for item in &needs {
            output::need(out, item.level(), &item.path, &item.reason, &item.action)?;
        }
    }
    if let Some(why) = failed {
        bail!("{why}");
    }
    Ok(if to_act_on(&needs) > 0 { Exit::NeedsUser } else { Exit::Done })
}

/// The look itself, by the daemon that runs or by this process.
async fn look(config: &Config, places: &[MirrorPath], screen: &Screen<'_>) -> Result<(Pulled, PullState)> {
    let ask = Ask::Pull(places.iter().map(ToString::to_string).collect());
    let follow = async |following| follow(following, Bar::new(screen)).await;
    by_whom(config, &ask, follow, async || Box::pin(make(config, places, Bar::new(screen))).await).await
}

async fn follow(mut following: Following, bar: Bar) -> Result<(Pulled, PullState)> {
    let steps = async {
        loop {
            let (pulled, state) = following.next::<PullStep>().await?.tell();
            bar.show(&pulled);
            if state != PullState::UnderWay {
                return Ok((pulled, state));
            }
        }
    };
    tokio::select! {
        ended = steps => ended,
        () = interrupted() => bail!("interrupted; the running espejo finishes what it has started"),
    }
}

/// A look of our own. What a run sends anyway goes out meanwhile.
async fn make(config: &Config, places: &[MirrorPath], bar: Bar) -> Result<(Pulled, PullState)> {
    let mut opened = session::open(config, session::settings(config), &cli::variable)?;
    let now = (opened.clock)();
    opened.engine.handle(Event::Asked(Request::Pull(places.to_vec())), now)?;
    let number = opened.engine.last_pull();
    let mut watching = Watching { number, pull: Pull::new(now), state: PullState::UnderWay, bar };
    let (wishes, wished) = tokio::sync::mpsc::unbounded_channel();
    let _socket = control::listen(&config.state_dir, wishes, Listener::Sync);
    match Box::pin(opened.run(wished, interrupted(), &mut watching)).await? {
        Ended::Satisfied => {}
        Ended::Stopped => bail!("interrupted; run the same command again to continue"),
        Ended::FolderCame | Ended::ClockWasSet => {
            bail!("the folder appeared or was replaced meanwhile; run the same command again")
        }
    }
    Ok((watching.pull.pulled, watching.state))
}

struct Watching {
    number: u64,
    pull: Pull,
    state: PullState,
    bar: Bar,
}

impl Observer for Watching {
    fn turn(&mut self, engine: &Engine, _: &[Activity], now: Timestamp) -> Result<bool, StoreError> {
        if let Some(pulled) = engine.pulled(self.number) {
            self.state = self.pull.take_in(pulled, now);
            self.bar.show(&self.pull.pulled);
        }
        Ok(self.state == PullState::UnderWay)
    }

    fn wakeup(&self) -> Option<Duration> {
        Some(Duration::from_millis(100))
    }
}

/// How far it is, on a terminal; taken away when dropped.
struct Bar(Option<ProgressBar>);

impl Bar {
    fn new(screen: &Screen<'_>) -> Self {
        Self((screen.terminal && !screen.quiet).then(|| {
            let target = ProgressDrawTarget::stderr();
            let bar = screen.bars.add(ProgressBar::with_draw_target(None, target));
            if let Ok(style) = ProgressStyle::with_template(LOOKS) {
                bar.set_style(style);
            }
            bar
        }))
    }

    fn show(&self, pulled: &Pulled) {
        if let Some(bar) = &self.0 {
            let looked = pulled.checked.all();
            bar.set_length((looked + pulled.left) as u64);
            bar.set_position(looked as u64);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// What came, item by item.
struct Came {
    /// Of each item what was done to it, oldest first.
    items: Vec<Vec<Act>>,
    /// Stored files, and what became of each.
    stored: Vec<(String, String)>,
}

impl Came {
    /// What the log has since the act of the number `before`, and what `pulled` says of stored files.
    fn read(past: &Past<'_>, before: i64, places: &[MirrorPath], pulled: &Pulled) -> Result<Self> {
        let is_here = |path: &MirrorPath| is_meant(places, path);
        let mut items: BTreeMap<String, Vec<Act>> = BTreeMap::new();
        for act in past.store().acts_after(before)?.into_iter().rev() {
            let was_at = act.other.as_deref().and_then(|other| MirrorPath::new(other).ok());
            if is_here(&act.path) || was_at.is_some_and(|at| is_here(&at)) {
                let item = act.page.as_ref().map_or_else(|| act.path.to_string(), ToString::to_string);
                items.entry(item).or_default().push(act);
            }
        }
        let mut items: Vec<Vec<Act>> = items.into_values().collect();
        items.sort_by_key(|acts| acts.first().map(|act| act.number));
        let of_place = |path: &str| MirrorPath::new(path).is_ok_and(|path| is_here(&path));
        let stored = pulled.stored.iter().filter(|(path, _)| of_place(path)).cloned().collect();
        Ok(Self { items, stored })
    }

    fn count(&self) -> usize {
        self.items.len() + self.stored.len()
    }
}

/// Whether a path is one that was named, or beneath one.
fn is_meant(places: &[MirrorPath], path: &MirrorPath) -> bool {
    let drawn = |path: &str| path.strip_suffix(".svg").map(|stem| format!("{stem}.canvas"));
    places.iter().any(|place| {
        path.is_within(place)
            || path.as_str().strip_suffix(".md") == Some(place.as_str())
            || drawn(place.as_str()).as_deref() == Some(path.as_str())
    })
}

/// One line: who did what to which file, as `espejo log` says it. Of several acts the last says where the file is now.
fn item_line(past: &Past<'_>, acts: &[Act]) -> Result<String> {
    let told: Vec<Told> = acts.iter().map(acts::told).collect();
    let (Some(first), Some(last)) = (told.first(), acts.last()) else { return Ok(String::new()) };
    let mut verbs: Vec<&str> = told.iter().map(|told| told.verb).collect();
    verbs.dedup();
    let mut rest = String::new();
    for act in acts {
        if let Some((added, removed)) = acts::word_counts(past, act)? {
            rest.push_str(&format!("  {}", acts::counts(added, removed)));
        }
    }
    let mut details: Vec<String> = told.iter().filter_map(|told| told.detail.clone()).collect();
    details.dedup();
    if !details.is_empty() {
        rest.push_str(&output::paint(output::DIM, &format!("  ({})", details.join("; "))));
    }
    Ok(format!(
        "{} {} {}{rest}",
        first.who.name(),
        verbs.join(", "),
        escape(&here::shown(last.path.as_str()))
    ))
}

fn stored_line(path: &str, what: &str) -> String {
    let what = output::paint(output::DIM, &format!("  ({what})"));
    format!("{} changed {}{what}", Who::App.name(), escape(&here::shown(path)))
}

/// `Checked 12 pages; 2 changed.`
fn last_line(pulled: &Pulled, changed: usize) -> String {
    let Checked { pages, canvases, folders, lists } = pulled.checked;
    let some = |number: usize, one, many| (number > 0).then(|| output::count(number as u64, one, many));
    let looks = [
        some(pages, "page", "pages"),
        some(canvases, "canvas", "canvases"),
        some(folders, "folder of the storage", "folders of the storage"),
    ];
    let looks: Vec<String> = looks.into_iter().flatten().collect();
    let lists = some(lists, "list", "lists").filter(|_| looks.is_empty());
    let all: Vec<String> = lists.into_iter().chain(looks).collect();
    let what = match all.split_last() {
        None => {
            return if changed == 0 {
                "Nothing changed.".to_owned()
            } else {
                format!("{} changed.", output::grouped(changed as u64))
            };
        }
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    };
    let changed = match changed {
        0 => "nothing changed".to_owned(),
        changed => format!("{} changed", output::grouped(changed as u64)),
    };
    format!("Checked {what}; {changed}.")
}

/// What of this needs the user to act, of the mirror as a whole too.
fn needs(config: &Config, places: &[MirrorPath]) -> Result<Vec<Attention>> {
    let Some(state) = ReadOnly::open(&config.state_dir)? else { return Ok(Vec::new()) };
    let mut needs = items::concerns(&state)?;
    needs.retain(|need| {
        let is_here = MirrorPath::new(&need.path).is_ok_and(|path| is_meant(places, &path));
        need.level() == Level::Act && (need.path.is_empty() || is_here)
    });
    Ok(needs)
}

fn as_json(
    pulled: &Pulled,
    past: &Past<'_>,
    came: &Came,
    needs: &[Attention],
    failed: Option<&str>,
) -> Result<serde_json::Value> {
    let mut changes = Vec::new();
    for act in came.items.iter().flatten() {
        changes.push(acts::as_json(act, acts::word_counts(past, act)?));
    }
    let now = daemon::wall_now();
    for (path, what) in &came.stored {
        changes.push(json!({
            "number": null, "at": when::rfc3339(now), "who": Who::App.key(), "what": "changed", "detail": what,
            "path": path, "page": null, "words_added": null, "words_removed": null,
        }));
    }
    let Checked { pages, canvases, folders, lists } = pulled.checked;
    Ok(json!({
        "checked": { "pages": pages, "canvases": canvases, "folders": folders, "lists": lists },
        "left": pulled.left,
        "changed": came.count(),
        "changes": changes,
        "attention": needs.iter().map(output::attention_json).collect::<Vec<_>>(),
        "failed": failed,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check((pages, canvases, folders, lists): (usize, usize, usize, usize), changed: usize, told: &str) {
        let checked = Checked { pages, canvases, folders, lists };
        assert_eq!(last_line(&Pulled { checked, ..Pulled::default() }, changed), told);
    }

    #[test]
    fn the_last_line_counts_what_was_looked_at() {
        check((12, 0, 0, 1), 2, "Checked 12 pages; 2 changed.");
        check((1, 0, 0, 0), 0, "Checked 1 page; nothing changed.");
        check((0, 1, 2, 1), 1, "Checked 1 canvas and 2 folders of the storage; 1 changed.");
        check((0, 0, 0, 4), 0, "Checked 4 lists; nothing changed.");
        check((1_200, 3, 0, 4), 9, "Checked 1,200 pages and 3 canvases; 9 changed.");
    }

    #[test]
    fn what_was_named_is_the_file_the_folder_and_the_picture() {
        let places = |all: &[&str]| -> Vec<MirrorPath> {
            all.iter().map(|text| MirrorPath::new(text).unwrap()).collect()
        };
        let is = |all: &[&str], path: &str| is_meant(&places(all), &MirrorPath::new(path).unwrap());
        assert!(is(&["A/Pages/B.md"], "A/Pages/B.md"));
        assert!(!is(&["A/Pages/B.md"], "A/Pages/B/C.md"), "its subpages are others");
        assert!(is(&["A/Pages/B"], "A/Pages/B/C.md") && is(&["A/Pages/B"], "A/Pages/B.md"));
        assert!(is(&["A/Whiteboards/K.svg"], "A/Whiteboards/K.canvas"));
        assert!(!is(&["A/Pages/B", "A/X"], "A/Pages/Bee.md"));
    }
}
