//! The command line: what may be typed, and the help that says so. It parses and does nothing; a command that is not
//! built does not stand here.

mod help;
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
Try it without an account:  espejo demo
More about a command:       espejo help COMMAND
Exit codes: 0 done, 1 failed, 2 wrong usage or config, 3 done but something needs attention.";

/// Syncs a workspace with ordinary files on your disk, in both directions, all the time.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(name = "espejo", version, about, after_help = AFTER_HELP, max_term_width = 100)]
#[command(help_template = help::template())]
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
    /// Print only errors and what needs attention
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print more; repeat it for all details
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Format of the log on stderr: text, or one JSON object per line
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
    /// Try espejo with a sample workspace, without an account
    ///
    /// Starts a small service inside this program with a sample workspace, mirrors it into a folder, shows it in your
    /// browser too, and suggests what to try. No data leaves this machine. Ctrl-C ends the demo.
    #[command(after_help = "Example:  espejo demo --dir ~/espejo-demo")]
    Demo {
        /// Folder of the demo; a second demo in it goes on where the first ended [default: a new temporary folder]
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Set up espejo and write the config; asks for what it needs
    ///
    /// Asks for address, token, workspaces and folder, tests the token at once, and says how long the first sync will
    /// take. Every question has an option, so init can also run unattended. If you run it again, it changes the settings
    /// that you name and keeps the rest of the config, including comments.
    #[command(
        after_help = "Examples:\n  espejo init\n  espejo init --yes --base-url https://example.com/api/v1 --token-stdin < token\n  espejo init --yes --root ~/Notes --storage two-way"
    )]
    Init(Init),
    /// Run the daemon: sync until stopped
    ///
    /// Runs in the foreground and logs to stderr, for systemd or a terminal. SIGTERM and Ctrl-C stop it cleanly; SIGHUP
    /// reloads the config. Only one espejo can use a state directory at a time.
    #[command(after_help = "Examples:\n  espejo run --config ~/work.toml\n  espejo run --log-format json")]
    Run,
    /// Sync once in both directions, then exit; for cron
    ///
    /// Checks everything on both sides, syncs the differences and shows the progress. The exit code is 3 if something
    /// needs attention; `espejo status` lists it.
    #[command(after_help = "Examples:\n  espejo sync --dry-run\n  espejo sync --quiet && echo all is well")]
    Sync {
        /// Show what would be done, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Check the service for changes now, and list them
    ///
    /// A file is checked alone. A folder is checked with everything in it, including new items. Without PATH, espejo checks
    /// the lists and every item whose check is overdue; `espejo status` shows how many. pull keeps the request limit, and your
    /// edits never wait for it. The exit code is 1 if the service cannot be reached, and 3 if one of these items needs
    /// attention.
    #[command(
        after_help = "Examples:\n  espejo pull\n  espejo pull ~/Workspace/Acme/Pages/Roadmap.md\n  espejo pull ~/Workspace/Presentations/Pitch.canvas --json"
    )]
    Pull {
        /// Files and folders of the mirror: pages, canvases, presentations, stored files
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the sync state, pending edits and what needs attention
    #[command(
        after_help = "Examples:\n  espejo status\n  espejo status --watch\n  espejo status --json | jq .attention"
    )]
    Status {
        /// Print the result as JSON
        #[arg(long, conflicts_with = "watch")]
        json: bool,
        /// Refresh every second; q or Ctrl-C ends it
        #[arg(short, long)]
        watch: bool,
    },
    /// Stop all requests to the service until `espejo resume`
    ///
    /// espejo still follows the folder. Edits made during the pause are merged and sent after `espejo resume`. A pause
    /// survives restarts. `espejo status` shows when it began and which edits are pending.
    #[command(after_help = "Example:  espejo pause")]
    Pause,
    /// Continue after `espejo pause`
    #[command(after_help = "Example:  espejo resume")]
    Resume,
    /// Find what is wrong with the set-up, and say how to fix it
    ///
    /// Checks the config, the token, the service and its areas, the clock, the folder, the disk, the system's limits, the
    /// state and the service unit. It changes nothing, and sends at most six requests within the limit. The exit code is 1
    /// if a check fails, 3 if a check needs attention, and 0 otherwise.
    #[command(after_help = "Examples:\n  espejo doctor\n  espejo doctor --json")]
    Doctor {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Run espejo as a systemd user service, starting at login
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Service {
        /// What to do.
        #[command(subcommand)]
        what: ServiceCommand,
    },
    /// List all mirrored items: kind, id, path, state, checks
    #[command(after_help = "Examples:\n  espejo list\n  espejo list ~/Workspace/Acme/Pages/Roadmap --json")]
    List {
        /// Only this file or folder, and what is beneath it
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        path: Option<PathBuf>,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Explain one file: its next check, or why it is not synced
    ///
    /// The service does not announce changes, so espejo checks pages, at most 60 a minute: a page that changes often is checked
    /// often, a page without changes seldom, and every page within a time that depends on the number of pages.
    #[command(after_help = "Example:  espejo why ~/Workspace/Acme/Pages/Roadmap.md")]
    Why {
        /// The file
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        path: PathBuf,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Release what is on hold; lists it and asks first
    ///
    /// Changes that look like an accident are on hold: many deletions at once, or a side that is suddenly empty.
    /// `espejo status` shows them with the reason. approve lists what it would do, with counts, and asks before it does it;
    /// without a terminal it does nothing unless you add --yes, and ends with 2. If `espejo status` reports that a line of a
    /// file is taken for formatting, `espejo approve FILE` sends the line as the file has it.
    #[command(
        after_help = "Examples:\n  espejo approve --dry-run\n  espejo approve ~/Workspace/Acme/Pages/Old\n  espejo approve --yes"
    )]
    Approve {
        /// Only these files and folders [default: everything on hold]
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
        /// Show what would be done, and change nothing
        #[arg(long, conflicts_with = "yes")]
        dry_run: bool,
        /// Print the result as JSON, and ask nothing
        #[arg(long)]
        json: bool,
    },
    /// Clear notes about past events
    ///
    /// Clears notes of events (put back, came back, overwritten …); without dismiss they disappear after a day. If `espejo
    /// status` reports that a line of a file is taken for formatting, `espejo dismiss FILE` writes the service's line into the
    /// file and keeps the old text in the history; `espejo approve FILE` sends the file's line instead. dismiss does not
    /// clear messages that need attention.
    #[command(after_help = "Examples:\n  espejo dismiss\n  espejo dismiss ~/Workspace/Acme/Pages/Roadmap.md")]
    Dismiss {
        /// Only these files and folders [default: all notes of events]
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
    },
    /// List conflicts: pages where both sides changed the same words
    ///
    /// The page has the service's version. Your version is in a file beside it, `Title.conflict-YYYYMMDD-HHMMSS.md`, which is
    /// never synced. To settle a conflict, use `espejo resolve`, or edit the page and delete the conflict file.
    #[command(after_help = "Example:  espejo conflicts")]
    Conflicts {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Settle a conflict with your version, the service's, or both
    ///
    /// Changes the page's file, which is then sent like any edit, and moves the conflict copy to .espejo/trash. The file's
    /// old text is kept in its history. A canvas loses no node.
    #[command(
        group = clap::ArgGroup::new("way").required(true),
        after_help = "Examples:\n  espejo resolve ~/Workspace/Acme/Pages/Roadmap.md --mine\n  espejo resolve Roadmap.md --edit"
    )]
    Resolve {
        /// The page's or canvas's file, or the conflict copy itself
        #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
        path: PathBuf,
        /// Use your version where both sides changed the same words
        #[arg(long, group = "way")]
        mine: bool,
        /// Keep the file as it is now, with the service's version
        #[arg(long, group = "way")]
        theirs: bool,
        /// Keep both versions: the service's paragraph, then yours
        #[arg(long, group = "way")]
        both: bool,
        /// Open both versions, between markers, in $VISUAL or $EDITOR
        #[arg(long, group = "way")]
        edit: bool,
    },
    /// Show pending edits, or compare a file with an earlier version
    ///
    /// Prints a unified diff: `-` is the service's version (with --at, the earlier version), `+` is the file. Changes of
    /// formatting without a change of meaning are not shown.
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
    /// List the versions of a page, from both sides, newest first
    ///
    /// Each line shows the version's number, when and where espejo saw it, its hash, and how many words were added and
    /// removed. Versions are kept for history_days (config); the newest version of each page is always kept.
    #[command(
        after_help = "Examples:\n  espejo history ~/Workspace/Acme/Pages/Roadmap.md\n  espejo history ~/Workspace/Acme/Pages/Roadmap.md --json"
    )]
    History {
        /// The page's file; it may be deleted
        #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
        path: PathBuf,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Restore deleted files, or an earlier version of a page or folder
    ///
    /// With --at, restore writes that version into the file; without --at, it restores files whose deletion is on hold, a page
    /// that was deleted, and the pages of a folder that were deleted last. The file's old text is kept in the history, and the restored text is sent like
    /// any edit. A page that is in the service's trash is restored as a new page. A file that is not UTF-8 is replaced only if
    /// you name it; the old file is kept in .espejo/trash.
    #[command(
        after_help = "Examples:\n  espejo restore ~/Workspace/Acme/Pages/Roadmap.md --at 14:30\n  espejo restore ~/Workspace/Acme/Pages/Old"
    )]
    Restore {
        /// A page's file, or a folder (its name without .md) [default: everything on hold]
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
        /// A version's number or hash from `espejo history`, or a time: 14:30, 2026-05-31, 2h
        #[arg(long, value_name = "VERSION|TIME", requires = "paths")]
        at: Option<String>,
        /// Restore more than ten pages of a folder without asking
        #[arg(long)]
        yes: bool,
    },
    /// Show what espejo did, newest first
    ///
    /// Each line shows who changed which file and how many words, with a permanent number; `espejo undo NUMBER` undoes that
    /// entry. `you` stands for a change in the folder, `the app` for a change at the service. The last 2,000 entries are kept.
    #[command(
        after_help = "Examples:\n  espejo log\n  espejo log ~/Workspace/Acme/Pages/Roadmap.md --since 2d\n  espejo log --follow"
    )]
    Log {
        /// Only this file or folder, and what is beneath it
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        path: Option<PathBuf>,
        /// Only entries since this time: 14:30, 2026-05-31, 2h
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Print the result as JSON
        #[arg(long, conflicts_with = "follow")]
        json: bool,
        /// Show the last entries, then each new one, until Ctrl-C
        #[arg(short, long)]
        follow: bool,
    },
    /// Undo the last change, a change by number, or a file's last one
    ///
    /// undo removes an edit that was sent or received from the file, and the result is sent like any edit; later changes stay.
    /// A page that you added goes to the service's trash with its file, unless the app has changed it since.
    /// Before it changes anything, undo says which changes it cannot undo and what you can do instead. With --since, it lists
    /// the changes and asks once.
    #[command(
        after_help = "Examples:\n  espejo undo --dry-run\n  espejo undo 42\n  espejo undo ~/Workspace/Acme/Pages/Roadmap.md\n  espejo undo --since 14:00"
    )]
    Undo {
        /// A number from `espejo log`, or a file [default: the last change]
        #[arg(value_name = "NUMBER|PATH", value_hint = ValueHint::FilePath)]
        what: Option<PathBuf>,
        /// All changes since this time: 14:30, 2026-05-31, 2h; with PATH, only in that file or folder
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Show what would be undone, word by word, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// With --since: do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Search all mirrored items, offline; --remote asks the service
    ///
    /// Words match by their Spanish stems (reuniones finds reunión), with or without accents. Write "two words" for a phrase,
    /// OR between words, and -word to exclude a word. Matches in titles come first, then matches in texts, then words that
    /// only start with the search word: road finds roadmap. Put the query in single quotes, as in 'plan -obra', or after --.
    /// The search covers pending edits. The exit code is 0 even if nothing is found. --remote is refused
    /// during a pause.
    #[command(
        after_help = "Examples:\n  espejo search roadmap\n  espejo search '\"plan de obra\" OR presupuesto' --kind page --limit 5\n  espejo search --json -- -borrador reunión\n  espejo search -l roadmap | xargs -d '\\n' wc -w\n  espejo search --remote roadmap"
    )]
    Search {
        /// Words to search for
        #[arg(value_name = "WORDS", required = true)]
        words: Vec<String>,
        /// Search at the service, including items that are not mirrored; one request for each workspace
        #[arg(long)]
        remote: bool,
        /// Maximum number of results; at most 50 with --remote
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = most_results)]
        limit: u16,
        /// Only this kind; can be repeated
        #[arg(long, value_name = "KIND")]
        kind: Vec<Kind>,
        /// Print only the paths of the files, one per line
        #[arg(short = 'l', long, conflicts_with = "json")]
        files: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Export everything to a folder: the raw JSON and the files
    ///
    /// The export contains the API's JSON, one file for each page, whiteboard, presentation and stored file, the files of the
    /// mirror, a manifest and SHA256SUMS. You need neither espejo nor a network to read it. export also works while the daemon
    /// runs. The exit code is 3 if something could not be exported; export names it.
    #[command(
        after_help = "Examples:\n  espejo export ~/espejo-2026-05-31\n  espejo export /media/usb/workspace --json"
    )]
    Export {
        /// A new or empty folder outside the mirror
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare the mirror with the service, and restore what is missing
    ///
    /// Checks everything as `espejo sync` does. With --deep, verify reads every stored file and compares it with the hash from
    /// its download; a damaged file goes to the mirror's trash and is fetched again. verify also lists links between pages
    /// (Markdown links and wikilinks) that lead to no file, with file and line, and does not change them.
    #[command(after_help = "Examples:\n  espejo verify\n  espejo verify --deep")]
    Verify {
        /// Read every stored file, not only its size
        #[arg(long)]
        deep: bool,
    },
    /// Convert blocks to Markdown and back, from stdin to stdout
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Convert {
        /// Which way.
        #[command(subcommand)]
        way: Convert,
    },
    /// Print shell completions
    #[command(
        after_help = "Examples:\n  espejo completions bash > ~/.local/share/bash-completion/completions/espejo\n  espejo completions fish > ~/.config/fish/completions/espejo.fish"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Update the search index; the daemon starts this beside itself
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
    /// Convert blocks (JSON) to Markdown
    ///
    /// Reads a block array, a page object with `content`, or an API answer with `data`, and prints Markdown.
    /// With --base and --onto, it prints FILE.md with only the lines of changed blocks rewritten.
    #[command(
        after_help = "Examples:\n  espejo convert to-markdown < page.json > Page.md\n  espejo convert to-markdown --base old.json --onto Page.md < new.json"
    )]
    ToMarkdown {
        /// The blocks that belong to the file of --onto
        #[arg(long, value_name = "BLOCKS", value_hint = ValueHint::FilePath, requires = "onto")]
        base: Option<PathBuf>,
        /// The Markdown file to merge the changes into; it is read, not written
        #[arg(long, value_name = "FILE.md", value_hint = ValueHint::FilePath, requires = "base")]
        onto: Option<PathBuf>,
    },
    /// Convert Markdown to blocks (JSON)
    ///
    /// Reads Markdown, with or without front matter, and prints a block array. With --base, blocks keep the ids and props of
    /// those blocks. Only documented block types and the types in the base are created, unless --blocks names more.
    #[command(
        after_help = "Examples:\n  espejo convert from-markdown < Page.md\n  espejo convert from-markdown --base old.json --blocks table < Page.md"
    )]
    FromMarkdown {
        /// The blocks that the text was made from
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
    /// Whether it changes something, and so goes on to its end when its output is not read.
    #[must_use]
    pub fn acts(&self) -> bool {
        match self {
            Self::Sync { dry_run } | Self::Undo { dry_run, .. } | Self::Approve { dry_run, .. } => !dry_run,
            Self::Init(_)
            | Self::Run
            | Self::Pause
            | Self::Resume
            | Self::Service { .. }
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
