//! `espejo sync --dry-run`: the real engine on a copy of the state, with the real looks; every act is written down and
//! answered as if it had been done, so that what follows from it is shown too.

mod boards;
mod stored;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::cli::permits::Purse;
use crate::cli::progress::{Progress, Screen};
use crate::cli::session::interrupted;
use crate::cli::waits::Waits;
use crate::cli::{Exit, items, output, permits, session};
use crate::config::Config;
use crate::daemon::{self, Pass, PassState};
use crate::engine::Engine;
use crate::logging::escape;
use crate::mirror::{Mirror, marker};
use crate::model::{
    Attention, DiskReply, Effect, Event, Outcome, PageId, PageMeta, Request, RootState, Scan, ServiceReply,
    Stamp, to_act_on,
};
use crate::service::{Client, Timeouts, token};
use crate::store::{ReadOnly, Store};
use stored::Stored;

/// Says what a sync would do.
///
/// # Errors
/// One sentence, when the looks cannot be made.
pub(super) async fn run(
    config: &Config,
    variable: &dyn Fn(&str) -> Option<OsString>,
    screen: Screen<'_>,
    as_json: bool,
    out: &mut dyn Write,
) -> Result<Exit> {
    session::refuse_in_pause(config)?;
    let token = token::find(variable, config.token_file.as_deref())?;
    let client = Client::by(&session::way(config), &config.base_url, token, Timeouts::default())?;
    let had_state = permits::has_state(config);
    // Before there is anything to leave behind.
    let interrupted = interrupted();
    let copy = Scratch::new()?;
    let mut purse = Purse::default();
    let ended = tokio::select! {
        ended = pretend_all(config, &client, &copy, screen, as_json, &mut purse, out) => {
            purse.close(config).await;
            ended
        }
        // A request is still on its way: what was borrowed counts until it must have come.
        () = interrupted => Err(anyhow::anyhow!("interrupted; nothing was changed")),
    };
    let made = purse.made_lately();
    if !had_state && made > 0 {
        // So that the first run counts them. Without the note, the service may refuse some of its requests.
        if let Err(error) = permits::note(config, made) {
            tracing::debug!(%error, "the requests of the dry run are not noted");
        }
    }
    ended
}

async fn pretend_all(
    config: &Config,
    client: &Client,
    copy: &Scratch,
    screen: Screen<'_>,
    as_json: bool,
    purse: &mut Purse,
    out: &mut dyn Write,
) -> Result<Exit> {
    let mut told = Told { names: BTreeMap::new(), changes: Vec::new(), as_json };
    if let Some(mut state) = ReadOnly::open(&config.state_dir)? {
        state.copy_to(&copy.0)?;
        let rows = items::all_rows(&mut state)?.into_iter();
        told.names = rows.filter_map(|row| Some((row.id?, row.path?))).collect();
    }
    let opened = Store::open(&copy.0)?;
    if opened.set_aside.is_some() {
        // What a sync would do hangs on what can only be compared by one.
        let state = config.state_dir.display();
        bail!("the state in {state} is damaged; espejo sync sets it aside and compares everything again");
    }
    let mut store = opened.store;
    let known = store.meta("mirror_id")?;
    let text = std::fs::read_to_string(config.root.join(marker::FOLDER).join(marker::FILE)).ok();
    let id = known.or_else(|| text.as_deref().and_then(marker::id).map(ToOwned::to_owned));
    let first = id.is_none();
    let mirror = Mirror::open(&config.root, id.as_deref().unwrap_or("none"), false)?;
    let clock = daemon::real_clock();
    if let Some((boot, zero)) = daemon::machine_start(&clock) {
        store.settle_clock(&boot, zero)?;
    }
    let mut stored = Stored::default();
    let mut engine = Engine::open(store, session::settings(config), daemon::fresh_seed(), clock())?;
    engine.handle(Event::Asked(Request::FullPass), clock())?;
    let mut progress = Progress::new(screen.bars, screen.terminal, screen.quiet);
    let mut waits = Waits::new(screen.bars, screen.quiet);
    let mut pass = Pass::new(config.pages.delete_grace_ms, clock());
    loop {
        while let Some((id, effect)) = engine.next_effect(clock())? {
            let outcome = match &effect {
                look if is_look(look) => {
                    purse.take(config).await?;
                    Outcome::Service(client.perform(&effect).await)
                }
                Effect::Scan if first => {
                    let scan = Scan { root: RootState::Ready, ..Scan::default() };
                    Outcome::Disk(Ok(DiskReply::Scan(stored.shown(scan))))
                }
                Effect::Scan => Outcome::Disk(mirror.perform(&effect).map(|reply| match reply {
                    DiskReply::Scan(scan) => DiskReply::Scan(stored.shown(scan)),
                    other => other,
                })),
                Effect::Storage(act) => {
                    if let Some(line) = stored.line_of(act) {
                        screen.bars.suspend(|| told.line(line, out))?;
                    }
                    match stored.pretend(act, id.0) {
                        Some(outcome) => outcome,
                        None if effect.is_request() => {
                            purse.take(config).await?;
                            stored.learn(client.perform(&effect).await)
                        }
                        None => Outcome::Disk(mirror.perform(&effect)),
                    }
                }
                Effect::ReadFile(_) => Outcome::Disk(mirror.perform(&effect)),
                act => {
                    if let Some(line) = line_of(act) {
                        screen.bars.suspend(|| told.line(line, out))?;
                    }
                    pretend(act, id.0)
                }
            };
            engine.handle(Event::Done { id, outcome }, clock())?;
        }
        let now = clock();
        let summary = engine.summary(now)?;
        if progress.is_due(now) {
            progress.show(&summary, now);
        }
        if summary.pass_is_over {
            progress.finish();
            told.end(&summary.attention, out)?;
            return Ok(if to_act_on(&summary.attention) == 0 { Exit::Done } else { Exit::NeedsUser });
        }
        if let Some(stopped) = daemon::stopped(&summary) {
            anyhow::bail!("{}; {}", stopped.reason, stopped.action);
        }
        waits.tell(&summary.attention, pass.ends_at);
        let happened = engine.take_activities();
        if pass.take_in(summary, &happened, now) == PassState::Stuck {
            let why = pass.summary.attention.iter().find(|item| item.path.is_empty());
            let why = why.map_or("there was no progress for too long", |item| item.reason.as_str());
            anyhow::bail!("not everything could be checked: {why}; run espejo sync again later");
        }
        let wait = engine.next_wakeup(now).map_or(1_000, |at| at.since_ms(now)).clamp(1, 1_000);
        tokio::time::sleep(std::time::Duration::from_millis(wait.unsigned_abs())).await;
    }
}

/// What would be done, as it is told.
struct Told {
    /// The paths of items, by their ids.
    names: BTreeMap<String, String>,
    changes: Vec<String>,
    as_json: bool,
}

impl Told {
    /// One change, a line each on the way; its ids become the paths of what they name.
    fn line(&mut self, line: String, out: &mut dyn Write) -> Result<()> {
        let words = line.split(' ').map(|word| self.names.get(word).map_or(word, String::as_str));
        let line = words.collect::<Vec<_>>().join(" ");
        if !self.as_json {
            writeln!(out, "{}", escape(&line))?;
        }
        self.changes.push(line);
        Ok(())
    }

    fn end(&self, attention: &[Attention], out: &mut dyn Write) -> Result<()> {
        if self.as_json {
            let change = |line: &String| {
                let (way, what) = line.split_once(' ').unwrap_or(("", line));
                json!({ "to": if way == "up" { "service" } else { "folder" }, "what": what.trim_start() })
            };
            let changes: Vec<Value> = self.changes.iter().map(change).collect();
            let attention: Vec<Value> = attention.iter().map(output::attention_json).collect();
            return output::json(out, &json!({ "changes": changes, "attention": attention }));
        }
        for item in attention {
            output::need(out, item.level(), &item.path, &item.reason, &item.action)?;
        }
        let words = match self.changes.len() as u64 {
            0 => "nothing to do".to_owned(),
            acts => {
                format!("{} would be made; nothing was changed", output::count(acts, "change", "changes"))
            }
        };
        Ok(writeln!(out, "{words}")?)
    }
}

/// Whether the service is only asked what it has of pages and canvases.
fn is_look(effect: &Effect) -> bool {
    match effect {
        Effect::ListWorkspaces | Effect::ListPages { .. } | Effect::FetchPage(_) => true,
        Effect::Board(effect) => !effect.is_write(),
        _ => false,
    }
}

fn line_of(act: &Effect) -> Option<String> {
    Some(match act {
        Effect::CreatePage { title, .. } => format!("up    create page {title}"),
        Effect::UpdatePage { id, title, content } => match (title, content) {
            (Some(title), None) => format!("up    rename {id} to {title}"),
            _ => format!("up    update {id}"),
        },
        Effect::TrashPage(id) => format!("up    trash {id}"),
        Effect::Board(effect) => boards::line_of(effect),
        Effect::WriteFile { path, .. } => format!("down  write {path}"),
        Effect::Rename { from, to } => format!("down  rename {from} to {to}"),
        Effect::TrashFile { path, .. } => format!("down  move {path} to .espejo/trash"),
        _ => return None,
    })
}

fn pretend(act: &Effect, number: u64) -> Outcome {
    match act {
        Effect::CreatePage { workspace, parent, title } => {
            let meta = |id| PageMeta {
                id,
                workspace: workspace.clone(),
                parent: parent.clone(),
                title: title.clone(),
                icon: None,
                position: 0.0,
            };
            match PageId::new(&format!("dry-run-{number}")) {
                Ok(id) => Outcome::Service(Ok(ServiceReply::Meta(meta(id)))),
                Err(error) => Outcome::Service(Err(crate::model::ServiceError::Garbled(error.to_string()))),
            }
        }
        Effect::UpdatePage { id, title, .. } => match crate::model::WorkspaceId::new("dry-run") {
            Ok(workspace) => Outcome::Service(Ok(ServiceReply::Meta(PageMeta {
                id: id.clone(),
                workspace,
                parent: None,
                title: title.clone().unwrap_or_default(),
                icon: None,
                position: 0.0,
            }))),
            Err(error) => Outcome::Service(Err(crate::model::ServiceError::Garbled(error.to_string()))),
        },
        Effect::TrashPage(_) => Outcome::Service(Ok(ServiceReply::Trashed)),
        Effect::Board(effect) => Outcome::Service(boards::pretend(effect, number).map(ServiceReply::Board)),
        Effect::WriteFile { bytes, .. } => {
            let stamp = Stamp { size: bytes.len() as u64, inode: number, ..Stamp::default() };
            Outcome::Disk(Ok(DiskReply::Written(stamp)))
        }
        _ => Outcome::Disk(Ok(DiskReply::Finished)),
    }
}

/// A folder for the copy of the state, which no other user may read, removed at the end.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let name = daemon::fresh_tag(8);
        let path: &Path = &std::env::temp_dir().join(format!("espejo-dry-run-{name}"));
        let made = DirBuilder::new().mode(0o700).create(path);
        made.with_context(|| format!("no scratch folder at {}", path.display()))?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing in it matters; the system empties its temporary folder.
        drop(std::fs::remove_dir_all(&self.0));
    }
}
