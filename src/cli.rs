//! The command line: what may be typed, and the help that says so. It parses and does nothing; a command that is not
//! built does not stand here.

mod setting_up;
mod usage;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
pub use setting_up::{Init, ServiceCommand, StorageChoice};
pub use usage::sentence;

/// How a run ends (contract section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: done.
    Done,
    /// 1: failed.
    Failed,
    /// 2: wrong usage or config. `clap` ends with the same number.
    Usage,
    /// 3: done, but something needs the user.
    NeedsUser,
}

impl Exit {
    /// The number that the shell sees.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NeedsUser => 3,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

const AFTER_HELP: &str = "\
Try it in a minute, without an account:  espejo demo
Exit codes: 0 done, 1 failed, 2 wrong usage or config, 3 done but something needs you.";

/// Keeps a workspace on disk as ordinary files, both ways, all the time.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(name = "espejo", version, about, after_help = AFTER_HELP, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// What goes for every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "For every command")]
pub struct Global {
    /// Read this config instead of ~/.config/espejo/config.toml
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Say only what needs you
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// How log lines on stderr are written: for people, or one JSON object a line
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text", hide_default_value = true)]
    pub log_format: LogFormat,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LogFormat {
    /// For people; in the journal with its priorities.
    #[default]
    #[value(help = None)]
    Text,
    /// One JSON object a line: time, level, target, message, fields.
    #[value(help = None)]
    Json,
}

/// The commands.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Try espejo in a minute: a sample workspace, mirrored live, without an account
    ///
    /// Starts a small service inside this program, fills it with a sample workspace, mirrors it into a folder and says
    /// what to try. Nothing leaves this machine. Ctrl-C ends it.
    #[command(after_help = "Example:  espejo demo --dir /tmp/espejo-demo")]
    Demo {
        /// The folder to mirror into; without it, a new one that the demo names
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Set espejo up: address, token, workspaces, folder; writes the config
    ///
    /// Asks what it needs to know, tries the token at once, and says what the first mirror will take. Every question has
    /// an option, so that it runs unattended too. Run again, it changes what you say and keeps the rest of the config,
    /// comments included.
    #[command(
        after_help = "Examples:\n  espejo init\n  espejo init --yes --base-url https://example.com/api/v1 --token-stdin < token\n  espejo init --yes --root ~/Notes --storage two-way"
    )]
    Init(Init),
    /// Mirror until told to stop: the daemon
    ///
    /// Runs in the foreground and logs to stderr, which suits systemd and a terminal alike. SIGTERM and Ctrl-C end it
    /// cleanly. Only one may run on the same state.
    #[command(after_help = "Examples:\n  espejo run --config ~/work.toml\n  espejo run --log-format json")]
    Run,
    /// Mirror once, both ways, and end: for cron
    ///
    /// Looks at everything on both sides, settles what differs, shows how far it is. Ends with 3 when something
    /// needs you; `espejo status` says what.
    #[command(after_help = "Examples:\n  espejo sync --dry-run\n  espejo sync --quiet && echo all is well")]
    Sync {
        /// Say what would be done, and do none of it
        #[arg(long)]
        dry_run: bool,
    },
    /// Look at the service now, and say what came
    ///
    /// A page's file is looked at alone; a folder with all that is beneath it, and with what is new there. Without PATH, the
    /// lists and everything that is late: what was not looked at for longer than the schedule means it to be (`espejo status`
    /// says how much that is). It keeps the request limit, and an edit of yours never waits for it. Ends with 1 when the
    /// service cannot be reached, with 3 when something of this needs you.
    #[command(
        after_help = "Examples:\n  espejo pull\n  espejo pull ~/Workspace/Acme/Pages/Roadmap.md\n  espejo pull ~/Workspace/Presentations/Pitch --json"
    )]
    Pull {
        /// Files and folders of the mirror: pages, canvases, presentations, stored files
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
        /// Print one JSON value and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Is everything safe? What is mirrored, how fresh, what waits, what needs you
    #[command(
        after_help = "Examples:\n  espejo status\n  espejo status --watch\n  espejo status --json | jq .attention"
    )]
    Status {
        /// Print one JSON value and nothing else
        #[arg(long, conflicts_with = "watch")]
        json: bool,
        /// Show it anew every second, until q or Ctrl-C
        #[arg(short, long)]
        watch: bool,
    },
    /// Leave the service alone until `espejo resume`: nothing is asked, nothing is sent
    ///
    /// The folder is followed all the while; what you edit goes out after `espejo resume`, merged as always. A pause
    /// outlives restarts. `espejo status` says since when it lasts and what waits.
    #[command(after_help = "Example:  espejo pause")]
    Pause,
    /// Go on after `espejo pause`
    #[command(after_help = "Example:  espejo resume")]
    Resume,
    /// What is wrong with this set-up, and what mends it
    ///
    /// Looks at the config, the token, the service and its areas, the clock, the folder, the disk, the system's limits,
    /// the state and the service unit. It changes nothing and asks the service at most six times, within the limit.
    /// Ends with 1 when something fails, with 3 when something is to be looked at, otherwise with 0.
    #[command(after_help = "Examples:\n  espejo doctor\n  espejo doctor --json")]
    Doctor {
        /// Print one JSON value and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Have systemd run espejo for you, starting at login
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Service {
        /// What to do.
        #[command(subcommand)]
        what: ServiceCommand,
    },
    /// Every mirrored item: kind, id, path, state, last checked, next check
    #[command(after_help = "Examples:\n  espejo list\n  espejo list ~/Workspace/Acme/Pages/Roadmap --json")]
    List {
        /// Only this file or folder, and what is beneath it
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        path: Option<PathBuf>,
        /// Print one JSON value and nothing else
        #[arg(long)]
        json: bool,
    },
    /// When a page is looked at next at the service, and why then
    ///
    /// The service does not say what changed, so espejo asks, 60 times a minute at the most: often where somebody is at
    /// work, seldom where nothing has moved for long, and everywhere within a time that depends on how much there is.
    #[command(after_help = "Example:  espejo why ~/Workspace/Acme/Pages/Roadmap.md")]
    Why {
        /// The file
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        path: PathBuf,
        /// Print one JSON value and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Go on with what a guard holds back
    ///
    /// A guard holds what looks like an accident: many deletions at once, a side that is suddenly empty. `espejo status`
    /// names what is held and why. Where it says that a line of a file is taken for formatting, naming the file sends what the
    /// file says.
    #[command(after_help = "Examples:\n  espejo approve ~/Workspace/Acme/Pages/Old\n  espejo approve")]
    Approve {
        /// Only these files and folders; without any, everything that is held
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
    },
    /// Put away notes, and settle a line that was taken for formatting with the service's version
    ///
    /// A note of what happened (put back, came back, overwritten …) goes for good; by itself it goes after a day. Where `espejo
    /// status` says that a line of a file is taken for formatting, naming the file takes the service's version into it, and what
    /// the file held is kept in its history; `espejo approve FILE` sends the file's version instead. What needs you is not put
    /// away.
    #[command(after_help = "Examples:\n  espejo dismiss\n  espejo dismiss ~/Workspace/Acme/Pages/Roadmap.md")]
    Dismiss {
        /// Only these files and folders; without any, all notes of what happened
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
    },
    /// What collided: where your version of a page was kept beside the service's
    ///
    /// The page holds the service's version; yours stands beside it as `Title.conflict-YYYYMMDD-HHMMSS.md` and is
    /// never synced. `espejo resolve` settles a conflict; so does editing the page and removing the copy.
    #[command(after_help = "Example:  espejo conflicts")]
    Conflicts {
        /// Print one JSON value and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Settle a conflict: with your version, the service's, both, or by hand
    ///
    /// Changes the page's file, from where it travels like any edit, and moves the conflict copy to .espejo/trash. What the
    /// file held before is kept in its history. A canvas never loses a node by this.
    #[command(
        group = clap::ArgGroup::new("way").required(true),
        after_help = "Examples:\n  espejo resolve ~/Workspace/Acme/Pages/Roadmap.md --mine\n  espejo resolve Roadmap.md --edit"
    )]
    Resolve {
        /// The page's or canvas's file, or the conflict copy itself
        #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
        path: PathBuf,
        /// Where both changed the same words, your version
        #[arg(long, group = "way")]
        mine: bool,
        /// The file as it is now, with the service's words
        #[arg(long, group = "way")]
        theirs: bool,
        /// Where they differ, the service's paragraph and then yours
        #[arg(long, group = "way")]
        both: bool,
        /// A file with both versions between markers, opened in $VISUAL or $EDITOR
        #[arg(long, group = "way")]
        edit: bool,
    },
    /// Edits that are not at the service yet; or, with --at, a version of a page beside its file
    ///
    /// A unified diff: `-` is what the service has (or the version), `+` is what the file has. Formatting that changes no
    /// meaning is no difference.
    #[command(
        after_help = "Examples:\n  espejo diff\n  espejo diff ~/Workspace/Acme/Pages/Roadmap.md --at 14:30"
    )]
    Diff {
        /// Only this file or folder, and what is beneath it
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        path: Option<PathBuf>,
        /// A version's number or hash from `espejo history`, or a time: 14:30, 2026-05-31, 2h
        #[arg(long, value_name = "VERSION|TIME", requires = "path")]
        at: Option<String>,
    },
    /// Every version of a page that was seen, from either side, newest first
    ///
    /// A line says the version's number, when and where it was seen, its hash, and how many words it added and removed.
    /// Versions are kept for history_days (config); the newest of each page is always kept.
    #[command(
        after_help = "Examples:\n  espejo history ~/Workspace/Acme/Pages/Roadmap.md\n  espejo history ~/Workspace/Acme/Pages/Roadmap.md --json"
    )]
    History {
        /// The page's file; one that is gone can be named as well
        #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
        path: PathBuf,
        /// Print one JSON value and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Put a version of a page back into its file; without --at, put back deleted files that are not deleted at the service
    ///
    /// The text goes into the file, what the file held is kept in the history, and it then travels like any edit. A page
    /// that went to the trash comes back as a new page. A file that is no UTF-8 text is replaced only where it is named, and
    /// kept in .espejo/trash.
    #[command(
        after_help = "Examples:\n  espejo restore ~/Workspace/Acme/Pages/Roadmap.md --at 14:30\n  espejo restore ~/Workspace/Acme/Pages/Old"
    )]
    Restore {
        /// A page's file, or a folder (its name without .md); everything that is held when there is none
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
        /// A version's number or hash from `espejo history`, or a time: 14:30, 2026-05-31, 2h
        #[arg(long, value_name = "VERSION|TIME", requires = "paths")]
        at: Option<String>,
        /// Put more than ten pages of a folder back without a question
        #[arg(long)]
        yes: bool,
    },
    /// What espejo did, newest first: who, what, which file, how many words
    ///
    /// Each line begins with a number that stays the same; `espejo undo NUMBER` takes that entry back. `you` is a change in
    /// the folder, `the app` one at the service. The last 2,000 entries are kept.
    #[command(
        after_help = "Examples:\n  espejo log\n  espejo log ~/Workspace/Acme/Pages/Roadmap.md --since 2d\n  espejo log --follow"
    )]
    Log {
        /// Only this file or folder, and what is beneath it
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        path: Option<PathBuf>,
        /// Only what was done since this time: 14:30, 2026-05-31, 2h
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Print one JSON value and nothing else
        #[arg(long, conflicts_with = "follow")]
        json: bool,
        /// Show the last entries, then each new one, until Ctrl-C
        #[arg(short, long)]
        follow: bool,
    },
    /// Take back what espejo did: the last change, one of the log, a file's last one, or all since a time
    ///
    /// An edit that was sent or carried in is taken out of the file again, and that travels like any edit; what was
    /// changed since stays. What cannot be taken back is said before anything is done, with what can be done instead. With
    /// --since, the changes are listed and one question is asked.
    #[command(
        after_help = "Examples:\n  espejo undo --dry-run\n  espejo undo 42\n  espejo undo ~/Workspace/Acme/Pages/Roadmap.md\n  espejo undo --since 14:00"
    )]
    Undo {
        /// A number of `espejo log`, or a file; the last change where there is none
        #[arg(value_name = "NUMBER|PATH", value_hint = ValueHint::FilePath)]
        what: Option<PathBuf>,
        /// Everything since this time: 14:30, 2026-05-31, 2h; with a PATH, in that file or folder
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Show what would be taken back, word by word, and do nothing
        #[arg(long)]
        dry_run: bool,
        /// With --since: without a question
        #[arg(short, long)]
        yes: bool,
    },
    /// Find words in everything mirrored, offline; with --remote ask the service
    ///
    /// Words by their Spanish stems (reuniones finds reunión), with or without accents; "two words" in a row, OR between
    /// words, -word to leave out. Titles come first, then texts, then what only begins so: road finds roadmap. Put the query in single quotes, as in 'plan
    /// -obra', or after --. What espejo has not sent yet is found as well. Nothing found is no failure: the exit code is 0.
    /// In a pause, --remote is refused.
    #[command(
        after_help = "Examples:\n  espejo search roadmap\n  espejo search '\"plan de obra\" OR presupuesto' --kind page --limit 5\n  espejo search --json -- -borrador reunión\n  espejo search -l roadmap | xargs -d '\\n' wc -w\n  espejo search --remote roadmap"
    )]
    Search {
        /// What to look for
        #[arg(value_name = "WORDS", required = true)]
        words: Vec<String>,
        /// Ask the service: all kinds, also what is not mirrored; one request for each workspace
        #[arg(long)]
        remote: bool,
        /// How many results at most; --remote gives 50 at most
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = most_results)]
        limit: u16,
        /// Only this kind; may be repeated
        #[arg(long, value_name = "KIND")]
        kind: Vec<Kind>,
        /// Print the paths of the files alone, one a line
        #[arg(short = 'l', long, conflicts_with = "json")]
        files: bool,
        /// Print one JSON value and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Write everything into a folder of its own: the raw JSON, and the files
    ///
    /// The JSON is as the API gave it, one file for each page, whiteboard, presentation and stored file; beside it the files of
    /// the mirror, a manifest and SHA256SUMS. Needs no network and no espejo to be read; works while the daemon runs.
    /// Ends with 3 when something could not be in it, and says what.
    #[command(
        after_help = "Examples:\n  espejo export ~/espejo-2026-05-31\n  espejo export /media/usb/workspace --json"
    )]
    Export {
        /// A folder that does not exist yet, or is empty; outside of the mirror
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Print one JSON value and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Check the mirror against its state and the service, and repair what is missing
    ///
    /// Looks at everything as `espejo sync` does. With --deep every stored file is read and compared with the hash that was
    /// made when it was downloaded; a damaged one goes to the mirror's trash and is fetched again. Links between pages
    /// (Markdown links and wikilinks) that lead to no file are listed with file and line; nothing rewrites them.
    #[command(after_help = "Examples:\n  espejo verify\n  espejo verify --deep")]
    Verify {
        /// Read every stored file, not only its size
        #[arg(long)]
        deep: bool,
    },
    /// Turn blocks into Markdown and back, from stdin to stdout, without config or network
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Convert {
        /// Which way.
        #[command(subcommand)]
        way: Convert,
    },
    /// Print the completions of a shell
    #[command(
        after_help = "Examples:\n  espejo completions bash > ~/.local/share/bash-completion/completions/espejo\n  espejo completions fish > ~/.config/fish/completions/espejo.fish"
    )]
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// Bring the search index up to date: what the daemon has done beside it
    #[command(hide = true, after_help = "Example:  espejo index")]
    Index,
    /// Print the manual page
    #[command(after_help = "Example:  espejo man > ~/.local/share/man/man1/espejo.1")]
    Man,
}

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

/// The two ways to convert.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Convert {
    /// Blocks JSON to Markdown
    ///
    /// Reads a block array, a page object with `content`, or an API answer with `data`, and prints Markdown.
    /// With --base and --onto it prints FILE.md with only the lines of changed blocks rewritten.
    #[command(
        after_help = "Examples:\n  espejo convert to-markdown < page.json > Page.md\n  espejo convert to-markdown --base old.json --onto Page.md < new.json"
    )]
    ToMarkdown {
        /// The blocks that the file of --onto stands for
        #[arg(long, value_name = "BLOCKS", value_hint = ValueHint::FilePath, requires = "onto")]
        base: Option<PathBuf>,
        /// The Markdown file to carry the change into; it is read, not written
        #[arg(long, value_name = "FILE.md", value_hint = ValueHint::FilePath, requires = "base")]
        onto: Option<PathBuf>,
    },
    /// Markdown to blocks JSON
    ///
    /// Reads Markdown, front matter allowed, and prints a block array. With --base, ids and props carry over from those
    /// blocks. Only documented block types, and those of the base, are created unless --blocks names more.
    #[command(
        after_help = "Examples:\n  espejo convert from-markdown < Page.md\n  espejo convert from-markdown --base old.json --blocks table < Page.md"
    )]
    FromMarkdown {
        /// The blocks that the text came from
        #[arg(long, value_name = "BLOCKS", value_hint = ValueHint::FilePath)]
        base: Option<PathBuf>,
        /// Undocumented block types that may be created, or `all`
        #[arg(long, value_name = "TYPE,…", value_delimiter = ',')]
        blocks: Vec<String>,
        /// Print the JSON indented
        #[arg(long)]
        pretty: bool,
    },
}

impl Command {
    /// Whether it changes something, and so goes on to its end when nobody reads what it says.
    #[must_use]
    pub fn acts(&self) -> bool {
        match self {
            Self::Sync { dry_run } | Self::Undo { dry_run, .. } => !dry_run,
            Self::Init(_)
            | Self::Run
            | Self::Pause
            | Self::Resume
            | Self::Service { .. }
            | Self::Approve { .. }
            | Self::Dismiss { .. }
            | Self::Pull { .. }
            | Self::Resolve { .. }
            | Self::Restore { .. }
            | Self::Export { .. }
            | Self::Index
            | Self::Verify { .. } => true,
            Self::Demo { .. }
            | Self::Status { .. }
            | Self::Doctor { .. }
            | Self::List { .. }
            | Self::Why { .. }
            | Self::Conflicts { .. }
            | Self::Diff { .. }
            | Self::History { .. }
            | Self::Log { .. }
            | Self::Search { .. }
            | Self::Convert { .. }
            | Self::Completions { .. }
            | Self::Man => false,
        }
    }
}

/// How many results a search shows at most.
fn most_results(typed: &str) -> Result<u16, String> {
    let number = typed.parse().ok().filter(|number| (1..=1000).contains(number));
    number.ok_or_else(|| "it takes a number from 1 to 1000".to_owned())
}

#[cfg(test)]
mod tests;
