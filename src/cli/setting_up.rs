//! What may be typed after `init` and `service`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

/// The answers to what `init` asks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub struct Init {
    /// The service's address, as the app's settings show it
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub base_url: Option<String>,
    /// Read the access token from this file, and name the file in the config
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "token_stdin")]
    pub token_file: Option<PathBuf>,
    /// Read the access token from stdin, and store it beside the config in a file that only you can read
    #[arg(long)]
    pub token_stdin: bool,
    /// Slugs, ids or names of the workspaces to mirror, or `all`
    #[arg(long, value_name = "SLUG,…", value_delimiter = ',')]
    pub workspaces: Vec<String>,
    /// Folder to mirror into
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StorageChoice {
    /// Do not sync them
    Off,
    /// Download them; upload nothing
    Backup,
    /// Download them, and upload new and changed files
    TwoWay,
}

/// What `service` can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum ServiceCommand {
    /// Write the systemd user unit for this program and start it
    #[command(after_help = "Example:  espejo service install")]
    Install {
        /// Replace an edited unit; the old one is kept beside it
        #[arg(long)]
        force: bool,
    },
    /// Stop the service and remove its unit
    #[command(after_help = "Example:  espejo service uninstall")]
    Uninstall {
        /// Remove an edited unit; it is kept under another name
        #[arg(long)]
        force: bool,
    },
}
