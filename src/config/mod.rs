//! The config file: what the user chose, read, checked and with every path made whole.
//!
//! Every refusal is one sentence that names the file, the line and the mend. What is here knows no defaults of its own for
//! pages: those are [`model::Settings`]'s. It neither opens the token file nor makes a folder; it only reads.

mod error;
mod file;
mod places;
mod reader;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use error::ConfigError;
use file::FileConfig;
use places::Places;
pub use places::{is_of_the_system, real};

use crate::model::{self, PageSettings, StorageMode, StorageSettings, WorkspaceMode};

/// The most requests in a minute that the service allows (API document, "Limits").
const SERVICE_REQUESTS_PER_MINUTE: u32 = 60;

/// Everything the user chose (contract section 5), checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The service's address, `https`, or `http` to loopback, without a trailing `/`, user name, query or fragment.
    pub base_url: String,
    /// The mirror's root: absolute, neither within nor around `state_dir`, neither `/` nor the home directory.
    pub root: PathBuf,
    /// Where state is kept: absolute.
    pub state_dir: PathBuf,
    /// The file that holds the token, if the config names one: absolute, outside the root.
    pub token_file: Option<PathBuf>,
    /// The proxy to the service, if the config names one; it may hold a password.
    pub proxy: Option<String>,
    /// Certificate authorities besides the system's, if the config names a file: absolute.
    pub ca_file: Option<PathBuf>,
    /// Slugs, ids or names of the workspaces to mirror; empty for all.
    pub workspaces: Vec<String>,
    /// Which way workspaces go, by slug; those of `workspaces` that are not named go both ways.
    pub modes: BTreeMap<String, WorkspaceMode>,
    /// Patterns of what is never synced, in gitignore's syntax, each of which can be read.
    pub ignore: Vec<String>,
    /// Most requests in any 60 seconds.
    pub requests_per_minute: u32,
    /// `[pages]`.
    pub pages: PageSettings,
    /// `[whiteboards]`.
    pub whiteboards: Whiteboards,
    /// `[presentations]`.
    pub presentations: Presentations,
    /// `[storage]`.
    pub storage: Storage,
    /// `[notify]`.
    pub notify: Notify,
    /// One sentence for each choice that is allowed but probably not meant.
    pub warnings: Vec<String>,
}

/// `[whiteboards]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whiteboards {
    /// Whether whiteboards are mirrored.
    pub enabled: bool,
}

/// `[presentations]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Presentations {
    /// Whether presentations are mirrored.
    pub enabled: bool,
    /// Whether espejo may remove items that cannot be restored: slides, and elements the API cannot create.
    pub allow_permanent_deletes: bool,
}

/// `[storage]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    /// Whether storage files are mirrored.
    pub enabled: bool,
    /// Which way.
    pub mode: StorageMode,
    /// Slug, id or name of the workspace that uploads count for; without it, the first that is not frozen.
    pub workspace: Option<String>,
    /// Larger files are not fetched, in millions of bytes; 0 for no bound.
    pub max_download_mb: u32,
}

/// `[notify]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notify {
    /// Whether conflicts, and what a guard holds, are also told on the desktop.
    pub desktop: bool,
    /// A program and its arguments that are given the same as JSON; empty for none.
    pub command: Vec<String>,
}

impl Notify {
    /// Whether anything is told at all.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.desktop || !self.command.is_empty()
    }
}

impl Config {
    /// A config with these places and every default.
    #[must_use]
    pub fn new(base_url: String, root: PathBuf, state_dir: PathBuf) -> Self {
        let model::Settings { workspaces, modes, ignore, requests_per_minute, pages, boards, .. } =
            model::Settings::default();
        Self {
            base_url,
            root,
            state_dir,
            token_file: None,
            proxy: None,
            ca_file: None,
            workspaces,
            modes,
            ignore,
            requests_per_minute,
            pages,
            whiteboards: Whiteboards { enabled: boards.whiteboards },
            presentations: Presentations {
                enabled: boards.presentations,
                allow_permanent_deletes: boards.permanent_deletes,
            },
            storage: Storage {
                enabled: true,
                mode: StorageMode::Backup,
                workspace: None,
                max_download_mb: 0,
            },
            notify: Notify::default(),
            warnings: Vec::new(),
        }
    }

    /// Finds, reads and checks the config file. `path` is what `--config` named; without it, the first that exists of
    /// `$XDG_CONFIG_HOME/espejo/config.toml` and systemd's `$CONFIGURATION_DIRECTORY/config.toml` is taken.
    /// `env` answers for environment variables.
    ///
    /// Places are compared as they really are, symbolic links followed, so that neither a linked root nor a linked
    /// state directory ends up inside the other.
    ///
    /// # Errors
    /// [`ConfigError`], one sentence, when there is no such file or anything in it is not as it must be.
    pub fn load(path: Option<&Path>, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let places = Places::new(env);
        let path = match path {
            Some(path) => path.to_owned(),
            None => places.find_config()?,
        };
        let name = path.display().to_string();
        let text = Self::text_of(&path)?;
        Self::build(FileConfig::parse(&text, &name)?, &name, &places, &places::real)
    }

    /// What the config file at `path` says, which may be a pipe, but nothing that has no end.
    ///
    /// # Errors
    /// [`ConfigError`], one sentence, when it cannot be read or is no text.
    pub fn text_of(path: &Path) -> Result<String, ConfigError> {
        let name = path.display().to_string();
        let bytes = places::read(path).map_err(|error| ConfigError::unreadable(&name, &error))?;
        String::from_utf8(bytes).map_err(|cause| {
            let line = 1 + cause.as_bytes()[..cause.utf8_error().valid_up_to()]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count();
            ConfigError::at(&name, line, "this is not UTF-8 text; save the file as UTF-8")
        })
    }

    /// The config file that [`Config::load`] would read.
    ///
    /// # Errors
    /// [`ConfigError::Missing`] when none was named and there is none at the usual places.
    pub fn find(path: Option<&Path>, env: &dyn Fn(&str) -> Option<String>) -> Result<PathBuf, ConfigError> {
        path.map_or_else(|| Places::new(env).find_config(), |path| Ok(path.to_owned()))
    }

    /// The place of a new config if the user names none; `None` without a home.
    #[must_use]
    pub fn usual_place(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
        Places::new(env).usual()
    }

    /// A service's address as the client wants it.
    ///
    /// # Errors
    /// One sentence that says why it is refused; it never shows the address.
    pub fn address(text: &str) -> Result<String, String> {
        file::check_base_url(text)
    }

    /// As [`Config::load`] with another text than the file at `path` has: what it would say of it.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn check(text: &str, path: &Path, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        Self::build(FileConfig::parse(text, &name)?, &name, &Places::new(env), &places::real)
    }

    /// Reads a config from `text`; `name` is what refusals call it. Pure: nothing is looked up on disk.
    ///
    /// # Errors
    /// [`ConfigError`], one sentence, when anything in it is not as it must be.
    pub fn parse(text: &str, name: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        Self::build(FileConfig::parse(text, name)?, name, &Places::new(env), &Path::to_path_buf)
    }

    /// What the engine is told.
    #[must_use]
    pub fn settings(&self) -> model::Settings {
        model::Settings {
            workspaces: self.chosen(),
            modes: self.modes.clone(),
            ignore: self.ignore.clone(),
            requests_per_minute: self.requests_per_minute,
            pages: self.pages.clone(),
            boards: model::BoardSettings {
                whiteboards: self.whiteboards.enabled,
                presentations: self.presentations.enabled,
                dashboards: self.whiteboards.enabled,
                permanent_deletes: self.presentations.allow_permanent_deletes,
            },
            storage: StorageSettings {
                mode: if self.storage.enabled { self.storage.mode } else { StorageMode::Off },
                workspace: self.storage.workspace.clone(),
                max_download: Some(u64::from(self.storage.max_download_mb) * 1_000_000)
                    .filter(|most| *most > 0),
            },
            ..model::Settings::default()
        }
    }

    /// The workspaces to mirror: none for all. One that has a `[[workspace]]` need not stand in the list as well.
    fn chosen(&self) -> Vec<String> {
        let mut all = self.workspaces.clone();
        let more = self.modes.keys().filter(|slug| !all.is_empty() && !all.contains(slug));
        let more: Vec<String> = more.cloned().collect();
        all.extend(more);
        all
    }

    /// Whether the service is on this machine, as the emulator is.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        reqwest::Url::parse(&self.base_url).is_ok_and(|url| file::is_loopback(&url))
    }

    fn build(
        file: FileConfig,
        name: &str,
        places: &Places,
        real: &dyn Fn(&Path) -> PathBuf,
    ) -> Result<Self, ConfigError> {
        let whole = places.resolve(&file, name, real)?;
        let mut config = Self::new(file.base_url, whole.root, whole.state_dir);
        config.token_file = whole.token_file;
        config.ca_file = whole.ca_file;
        config.proxy = file.proxy;
        config.workspaces = file.workspaces;
        config.modes = file.modes;
        config.ignore = file.ignore;
        config.requests_per_minute = file.requests_per_minute;
        config.pages = file.pages;
        config.whiteboards = file.whiteboards;
        config.presentations = file.presentations;
        config.storage = file.storage;
        config.notify = file.notify;
        if config.requests_per_minute > SERVICE_REQUESTS_PER_MINUTE && !config.is_loopback() {
            config.warnings.push(format!(
                "{name}: requests_per_minute is {}, but the service allows {SERVICE_REQUESTS_PER_MINUTE} and refuses the rest",
                config.requests_per_minute
            ));
        }
        Ok(config)
    }
}
