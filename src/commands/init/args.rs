//! What may be typed after `init`: an answer to each question.

use std::path::PathBuf;

/// Set up espejo and write the config; asks for what it needs
///
/// Asks for address, token, workspaces and folder, tests the token at once, and says how long the first sync will
/// take. Every question has an option, so init can also run unattended. If you run it again, it changes the settings
/// that you name and keeps the rest of the config, including comments.
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  espejo init\n  espejo init --yes --base-url https://example.com/api/v1 --token-stdin < token\n  espejo init --yes --root ~/Notes --storage two-way"
)]
pub struct Args {
    /// The service's address, as the app's settings show it
    #[arg(long, value_name = "URL", value_hint = clap::ValueHint::Url)]
    pub base_url: Option<String>,
    /// Read the access token from this file, and name the file in the config
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "token_stdin")]
    pub token_file: Option<PathBuf>,
    /// Read the access token from stdin, and store it beside the config in a file that only you can read
    #[arg(long)]
    pub token_stdin: bool,
    /// Slugs, ids or names of the workspaces to mirror, or `all`
    #[arg(long, value_name = "SLUG,…", value_delimiter = ',')]
    pub workspaces: Vec<String>,
    /// Folder to mirror into
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub root: Option<PathBuf>,
    /// Personal files: not synced, backed up, or synced in both directions
    #[arg(long, value_enum)]
    pub storage: Option<StorageChoice>,
    /// Install and start the user service
    #[arg(long, conflicts_with = "no_service")]
    pub service: bool,
    /// Do not install the user service
    #[arg(long)]
    pub no_service: bool,
    /// Do not ask: use the values of the config, then the defaults, for missing options
    #[arg(short, long)]
    pub yes: bool,
}

/// `--storage` of `init`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum StorageChoice {
    /// Do not sync them
    Off,
    /// Download them; upload nothing
    Backup,
    /// Download them, and upload new and changed files
    TwoWay,
}
