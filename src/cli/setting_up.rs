//! What may be typed after `init` and `service`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

/// The answers to what `init` asks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub struct Init {
    /// The service's address, as the app's settings show it
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub base_url: Option<String>,
    /// Take the access token from this file, and have the config name it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "token_stdin")]
    pub token_file: Option<PathBuf>,
    /// Read the access token from stdin, and keep it in a file beside the config that only you can read
    #[arg(long)]
    pub token_stdin: bool,
    /// Slugs, ids or names of the workspaces to mirror, or `all`
    #[arg(long, value_name = "SLUG,…", value_delimiter = ',')]
    pub workspaces: Vec<String>,
    /// The folder to mirror into
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub root: Option<PathBuf>,
    /// Your personal files: not at all, down only, or both ways
    #[arg(long, value_enum)]
    pub storage: Option<StorageChoice>,
    /// Install and start the user service
    #[arg(long, conflicts_with = "no_service")]
    pub service: bool,
    /// Do not install the user service
    #[arg(long)]
    pub no_service: bool,
    /// Ask nothing: take what the config has, then the defaults, for what no option says
    #[arg(short, long)]
    pub yes: bool,
}

/// `--storage` of `init`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StorageChoice {
    /// Leave them alone
    Off,
    /// Download them; nothing goes up
    Backup,
    /// Also upload what is new or changed here
    TwoWay,
}

/// What `service` can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum ServiceCommand {
    /// Write the systemd user unit for this program and start it
    #[command(after_help = "Example:  espejo service install")]
    Install {
        /// Replace a unit that was edited; the old one is kept beside it
        #[arg(long)]
        force: bool,
    },
    /// Stop it, and remove the unit
    #[command(after_help = "Example:  espejo service uninstall")]
    Uninstall {
        /// Remove a unit that was edited; it is kept under another name
        #[arg(long)]
        force: bool,
    },
}
