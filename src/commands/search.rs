//! `espejo search`: offline over everything mirrored, or at the service with `--remote`; shown alike.

mod local;
mod remote;
mod show;
mod texts;

use std::ffi::OsString;
use std::io::Write;

use anyhow::Result;

use super::WrongUsage;
use crate::cli::Exit;
use crate::config::Config;
use crate::model::HITS_MAX;
use crate::search::{Piece, Query};

/// Others' work goes first.
const NICE: i32 = 15;

/// What was asked for.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The words, as the shell gave them.
    pub words: Vec<String>,
    /// Whether the service is asked.
    pub remote: bool,
    /// How many results at most.
    pub limit: usize,
    /// Only these kinds; all when empty.
    pub kinds: Vec<String>,
    /// Whether one JSON value is printed and nothing else.
    pub json: bool,
    /// Whether the paths of files are printed and nothing else.
    pub files: bool,
}

/// One result, from either side.
#[derive(Debug, Clone, PartialEq)]
struct Shown {
    kind: String,
    id: Option<String>,
    title: String,
    path: Option<String>,
    workspace: Option<String>,
    workspace_name: Option<String>,
    parent: Option<String>,
    snippet: Vec<Piece>,
    rank: f64,
}

/// All that was found.
#[derive(Debug, Default)]
struct Results {
    shown: Vec<Shown>,
    /// Whether there are more than were asked for.
    more: bool,
    /// What else a person should know, a line each.
    notes: Vec<String>,
}

/// Searches. Nothing found is no failure. A long wait is told of `aside`.
///
/// # Errors
/// [`WrongUsage`] for a query that is none; one sentence when there is no mirror, or the service does not answer.
pub async fn run(
    config: &Config,
    asked: &Asked,
    variable: &dyn Fn(&str) -> Option<OsString>,
    terminal: bool,
    out: &mut dyn Write,
    aside: &mut dyn Write,
) -> Result<Exit> {
    let typed = asked.words.join(" ");
    let query = Query::new(&typed).map_err(WrongUsage::because)?;
    check_kinds(asked)?;
    let results = if asked.remote {
        if asked.limit > usize::from(HITS_MAX) {
            let why = format!("--remote gives at most {HITS_MAX} results; lower --limit, or search offline");
            return Err(WrongUsage(why).into());
        }
        remote::search(config, asked, typed.trim(), &query, variable, aside).await?
    } else {
        local::search(config, asked, &query)?
    };
    if asked.json {
        show::json(&results, out)?;
    } else if asked.files {
        show::files(&results, &config.root, out)?;
    } else {
        show::people(&results, asked, terminal, out)?;
    }
    Ok(Exit::Done)
}

/// Brings the index up to date for searches to come, and lets everything else go first.
///
/// # Errors
/// One sentence, when state or index cannot be used.
pub fn keep_up(config: &Config) -> Result<Exit> {
    // Where that is not allowed it only takes its share.
    let _its_share = rustix::process::nice(NICE);
    local::keep_up(config)?;
    Ok(Exit::Done)
}

/// What is mirrored and what the service's search knows are not the same kinds.
fn check_kinds(asked: &Asked) -> Result<(), WrongUsage> {
    let (others, mend): (&[&str], _) = if asked.remote {
        (&["slide", "file"], "the service cannot search for it; omit --remote")
    } else {
        (&["board", "mail", "message"], "it is not mirrored; use --remote")
    };
    match asked.kinds.iter().find(|kind| others.contains(&kind.as_str())) {
        Some(kind) => Err(WrongUsage(format!("--kind {kind}: {mend}"))),
        None => Ok(()),
    }
}
