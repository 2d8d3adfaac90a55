//! The search at the service: by the daemon that runs, or by an engine of our own that does nothing else. Either way it
//! is a request like any other under the one limiter.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};

use super::{Asked, Results, Shown};
use crate::cli::{items, output, session};
use crate::config::Config;
use crate::daemon::control;
use crate::daemon::{self, Clock};
use crate::engine::Engine;
use crate::engine::polling::{Class, Pace};
use crate::mirror::lock::Lock;
use crate::model::{Event, Found, Hit, Outcome, Request, Search, WorkspaceId};
use crate::search::{Piece, Query, snippet};
use crate::service::{Client, Timeouts, token};
use crate::store::ReadOnly;

/// How many characters the service's snippets have at most (API document, "Search").
const SNIPPET: usize = 140;
/// A wait that is longer is spoken of.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) async fn search(
    config: &Config,
    asked: &Asked,
    typed: &str,
    query: &Query,
    variable: &dyn Fn(&str) -> Option<OsString>,
    aside: &mut dyn Write,
) -> Result<Results> {
    session::refuse_in_pause(config)?;
    let Some(mut state) = ReadOnly::open(&config.state_dir)? else {
        bail!("there is no mirror yet: run espejo sync or espejo run first");
    };
    let names = state.workspace_names()?;
    if names.is_empty() {
        bail!("no workspace is mirrored yet: run espejo sync or espejo run first");
    }
    let here = items::all_rows(&mut state)?.into_iter().filter(|row| row.state != "deleted");
    let mirrored: BTreeMap<String, String> = here.filter_map(|row| row.id.zip(row.path)).collect();
    drop(state);
    // Which kinds are wanted is chosen here, so all of them are asked for then.
    let limit = if asked.kinds.is_empty() { u8::try_from(asked.limit)? } else { crate::model::HITS_MAX };
    let mut own = None;
    let mut all: Vec<(String, Hit)> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut notes = Vec::new();
    for id in names.keys() {
        let workspace = WorkspaceId::new(id).map_err(|bad| anyhow!("{bad}"))?;
        let search = Search { workspace, words: typed.to_owned(), limit };
        let found = async {
            if let Some(found) = control::search(&config.state_dir, &search).await? {
                return Ok(found);
            }
            if own.is_none() {
                own = Some(Own::open(config, variable)?);
            }
            match &mut own {
                Some(own) => own.search(search.clone()).await,
                None => Ok(Found::default()),
            }
        };
        let Found { hits, skipped } = patiently(config, found, aside).await?;
        notes.extend(skipped);
        // What belongs to no workspace is found in every one.
        all.extend(
            hits.into_iter()
                .filter(|hit| seen.insert((hit.kind.clone(), hit.id.clone())))
                .map(|hit| (id.clone(), hit)),
        );
    }
    all.retain(|(_, hit)| asked.kinds.is_empty() || asked.kinds.contains(&hit.kind));
    all.sort_by(|(_, a), (_, b)| b.rank.total_cmp(&a.rank).then_with(|| a.title.cmp(&b.title)));
    let more = all.len() >= asked.limit;
    all.truncate(asked.limit);
    let shown = |(workspace, hit): (String, Hit)| {
        let belongs = matches!(hit.kind.as_str(), "page" | "board" | "whiteboard");
        Shown {
            path: mirrored.get(&hit.id).cloned(),
            workspace_name: names.get(&workspace).filter(|_| belongs).cloned(),
            workspace: belongs.then_some(workspace),
            snippet: hit.snippet.map(|text| pieces(text, query)).unwrap_or_default(),
            kind: hit.kind,
            id: Some(hit.id),
            title: hit.title,
            parent: hit.parent,
            rank: hit.rank,
        }
    };
    Ok(Results { shown: all.into_iter().map(shown).collect(), more, notes })
}

/// Waits for an answer, and says what for when it takes longer than a person expects.
async fn patiently(
    config: &Config,
    found: impl Future<Output = Result<Found>>,
    aside: &mut dyn Write,
) -> Result<Found> {
    tokio::pin!(found);
    tokio::select! {
        biased;
        found = &mut found => return found,
        () = tokio::time::sleep(PATIENCE) => {}
    }
    let now = daemon::wall_now();
    let log = ReadOnly::open(&config.state_dir)?.map(|state| state.request_log()).transpose()?;
    let pace = Pace::new(config.requests_per_minute, log.unwrap_or_default(), now);
    let wait = pace.earliest(Class::Asked, 1, false, now).since_ms(now);
    let limit = config.requests_per_minute;
    match wait {
        0 => writeln!(aside, "the search waits for the service's answer")?,
        _ => writeln!(
            aside,
            "the search waits for the request limit ({limit} a minute), about {} more",
            output::duration(wait)
        )?,
    }
    found.await
}

/// The service cuts its snippets where they are full.
fn pieces(text: String, query: &Query) -> Vec<Piece> {
    let is_cut = text.chars().count() >= SNIPPET;
    let mut pieces = snippet(&text, query);
    if is_cut && pieces.last().is_some_and(|last| last.text != "…") {
        pieces.push(Piece { text: "…".to_owned(), hit: false });
    }
    pieces
}

/// An engine that searches and does nothing else.
struct Own {
    client: Client,
    engine: Engine,
    clock: Clock,
    _lock: Lock,
}

impl Own {
    fn open(config: &Config, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let token = token::find(variable, config.token_file.as_deref())?;
        let client = Client::by(&session::way(config), &config.base_url, token, Timeouts::default())?;
        let (mut engine, clock, _lock) = session::hold(config)?.engine(config)?;
        engine.do_only_what_is_asked();
        Ok(Self { client, engine, clock, _lock })
    }

    async fn search(&mut self, search: Search) -> Result<Found> {
        self.engine.handle(Event::Asked(Request::Search(Box::new(search))), (self.clock)())?;
        loop {
            while let Some((id, effect)) = self.engine.next_effect((self.clock)())? {
                // A look at the folder is left unanswered: nothing that this run does rests on one.
                if effect.is_request() {
                    let outcome = Outcome::Service(self.client.perform(&effect).await);
                    self.engine.handle(Event::Done { id, outcome }, (self.clock)())?;
                }
            }
            if let Some(found) = self.engine.take_found().pop() {
                return found.map_err(|why| anyhow!("{why}"));
            }
            let now = (self.clock)();
            let wait = self.engine.next_wakeup(now).map_or(1_000, |at| at.since_ms(now)).clamp(1, 1_000);
            tokio::time::sleep(std::time::Duration::from_millis(wait.unsigned_abs())).await;
        }
    }
}
