//! `espejo search`: offline over everything mirrored, or at the service with `--remote`; shown alike.

mod local;
mod remote;
mod show;
mod texts;

use std::io::IsTerminal;

use anyhow::Result;

use crate::cli::{self, Call, Exit, WrongUsage, session};
use crate::config::Config;
use crate::model::HITS_MAX;
use crate::search::{Piece, Query};

/// Others' work goes first.
const NICE: i32 = 15;

/// Search all mirrored items, offline; --remote asks the service
///
/// Words match by their Spanish stems (reuniones finds reunión), with or without accents. Write "two words" for a phrase,
/// OR between words, and -word to exclude a word. Matches in titles come first, then matches in texts, then words that
/// only start with the search word: road finds roadmap. Put the query in single quotes, as in 'plan -obra', or after --.
/// The search covers pending edits. The exit code is 0 even if nothing is found. --remote is refused
/// during a pause.
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  espejo search roadmap\n  espejo search '\"plan de obra\" OR presupuesto' --kind page --limit 5\n  espejo search --json -- -borrador reunión\n  espejo search -l roadmap | xargs -d '\\n' wc -w\n  espejo search --remote roadmap"
)]
pub struct Args {
    /// Words to search for
    #[arg(value_name = "WORDS", required = true)]
    pub words: Vec<String>,
    /// Search at the service, including items that are not mirrored; one request for each workspace
    #[arg(long)]
    pub remote: bool,
    /// Maximum number of results; at most 50 with --remote
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = most_results)]
    pub limit: u16,
    /// Only this kind; can be repeated
    #[arg(long, value_name = "KIND")]
    pub kind: Vec<Kind>,
    /// Print only the paths of the files, one per line
    #[arg(short = 'l', long, conflicts_with = "json")]
    pub files: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Update the search index; the daemon starts this beside itself
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::Args)]
#[command(hide = true, after_help = "Example:  espejo index")]
pub struct Index {}

/// What can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// A page.
    Page,
    /// A whiteboard.
    Whiteboard,
    /// A presentation.
    Presentation,
    /// A slide; not with --remote.
    Slide,
    /// A stored file; not with --remote.
    File,
    /// A board of cards; only with --remote.
    Board,
    /// Mail; only with --remote.
    Mail,
    /// A message; only with --remote.
    Message,
}

impl Kind {
    /// The word for it, here and at the service.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Whiteboard => "whiteboard",
            Self::Presentation => "presentation",
            Self::Slide => "slide",
            Self::File => "file",
            Self::Board => "board",
            Self::Mail => "mail",
            Self::Message => "message",
        }
    }
}

/// How many results a search shows at most.
fn most_results(typed: &str) -> Result<u16, String> {
    let number = typed.parse().ok().filter(|number| (1..=1000).contains(number));
    number.ok_or_else(|| "it takes a number from 1 to 1000".to_owned())
}

/// What is searched for, and how it is shown.
#[derive(Debug, Default)]
struct Asked {
    words: Vec<String>,
    remote: bool,
    limit: usize,
    kinds: Vec<String>,
    json: bool,
    files: bool,
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
pub async fn run(args: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let config = &call.config()?;
    let asked = &Asked {
        words: args.words.clone(),
        remote: args.remote,
        limit: usize::from(args.limit),
        kinds: args.kind.iter().map(|kind| kind.name().to_owned()).collect(),
        json: args.json,
        files: args.files,
    };
    let (terminal, out) = (std::io::stdout().is_terminal(), &mut *call.out);
    let (variable, aside) = (&cli::variable, &mut std::io::stderr());
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

/// Brings the index up to date after a sync, unless a daemon runs, which does that itself.
pub fn keep_up_after_sync(config: &Config) {
    if !session::is_running(&config.state_dir)
        && let Err(error) = local::keep_up(config)
    {
        // The next search does it.
        tracing::debug!("the search index stays as it is: {error:#}");
    }
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
