//! Where things are: the home directory, the XDG and systemd directories, and the paths of the config made whole.
//!
//! systemd's directories win over XDG's where the unit sets them, except that a config in the user's own place is
//! found before the unit's. The environment is handed in; only [`real`], [`read`] and [`Places::find_config`] look at the disk.

use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use super::error::ConfigError;
use super::file::FileConfig;
use super::reader::Located;

/// No config is larger; a pipe may have no end.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Folders of the system, with all that is in them.
const SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/sbin",
    "/sys",
    "/usr",
    "/Library",
    "/System",
    "/private/etc",
];
/// What is in them may well be a mirror, they themselves not.
const AROUND: &[&str] = &[
    "/dev/shm",
    "/home",
    "/media",
    "/mnt",
    "/opt",
    "/root",
    "/run",
    "/srv",
    "/tmp",
    "/var",
    "/var/lib",
    "/var/tmp",
    "/Applications",
    "/Users",
    "/Volumes",
    "/private/tmp",
    "/private/var",
];

/// Directories that the environment names; only absolute ones count, as the XDG specification asks.
pub(super) struct Places {
    home: Option<PathBuf>,
    configs: Vec<PathBuf>,
    state: Option<PathBuf>,
}

/// The config's paths: absolute, without `.` and `..`, and apart from each other.
pub(super) struct Whole {
    pub(super) root: PathBuf,
    pub(super) state_dir: PathBuf,
    pub(super) token_file: Option<PathBuf>,
    pub(super) ca_file: Option<PathBuf>,
}

impl Places {
    pub(super) fn new(env: &dyn Fn(&str) -> Option<String>) -> Self {
        // systemd joins several directories with colons; the first is the one to use.
        let directory = |name: &str| {
            let value = env(name)?;
            let path = PathBuf::from(value.split(':').next().unwrap_or_default());
            path.is_absolute().then_some(path)
        };
        let home = directory("HOME");
        let under = |xdg: &str, default: &str| {
            directory(xdg).or_else(|| home.as_ref().map(|home| home.join(default)))
        };
        let configs = [
            under("XDG_CONFIG_HOME", ".config").map(|path| path.join("espejo/config.toml")),
            directory("CONFIGURATION_DIRECTORY").map(|path| path.join("config.toml")),
        ];
        let state = directory("STATE_DIRECTORY")
            .or_else(|| under("XDG_STATE_HOME", ".local/state").map(|path| path.join("espejo")));
        Self { configs: configs.into_iter().flatten().collect(), state, home }
    }

    /// The first of the usual config files, there or not.
    pub(super) fn usual(&self) -> Option<PathBuf> {
        self.configs.first().cloned()
    }

    /// The first of the usual config files that exists.
    pub(super) fn find_config(&self) -> Result<PathBuf, ConfigError> {
        // A file that is there but may not be looked at is taken, so that reading it says what is wrong.
        let exists = |path: &&PathBuf| path.try_exists().unwrap_or(true);
        self.configs.iter().find(exists).cloned().ok_or_else(|| {
            let mut looked: Vec<_> = self.configs.iter().map(|path| path.display().to_string()).collect();
            looked.dedup();
            let looked = if looked.is_empty() {
                "$XDG_CONFIG_HOME/espejo/config.toml (neither HOME nor XDG_CONFIG_HOME is set)".to_owned()
            } else {
                looked.join(" or ")
            };
            ConfigError::Missing { looked }
        })
    }

    /// Makes the paths of a config whole and refuses places that would harm each other. `real` says where a path
    /// really leads; comparing is done on that, keeping what the user wrote.
    pub(super) fn resolve(
        &self,
        file: &FileConfig,
        name: &str,
        real: &dyn Fn(&Path) -> PathBuf,
    ) -> Result<Whole, ConfigError> {
        let root = self.expand("root", &file.root, name)?;
        let state_dir = match &file.state_dir {
            Some(state_dir) => self.expand("state_dir", state_dir, name)?,
            None => self.state.clone().ok_or_else(|| {
                ConfigError::whole(name, "state_dir is missing and HOME is not set; add state_dir = \"/…\"")
            })?,
        };
        let token_file = match &file.token_file {
            Some(token_file) => Some(self.expand("token_file", token_file, name)?),
            None => None,
        };
        let ca_file = match &file.ca_file {
            Some(ca_file) => Some(self.expand("ca_file", ca_file, name)?),
            None => None,
        };

        let home = self.home.as_deref().map(real);
        let (real_root, real_state) = (real(&root), real(&state_dir));
        // `/home/ana`, `/home` and `/` are all too much: what a mirror holds, espejo may move and trash.
        let too_wide = |path: &Path| {
            path.parent().is_none() || home.as_deref().is_some_and(|home| home.starts_with(path))
        };
        let root_at = |what: String| ConfigError::at(name, file.root.line, what);
        let in_home =
            home.as_deref().is_some_and(|home| home.parent().is_some() && real_root.starts_with(home));
        if is_of_the_system(&real_root) && !in_home {
            return Err(root_at(format!(
                "root must be a separate folder, not a system folder like {}; write it as in root = \"~/Workspace\"",
                root.display()
            )));
        }
        let state_line = file.state_dir.as_ref().map_or(file.root.line, |state_dir| state_dir.line);
        if too_wide(&real_root) {
            return Err(root_at(format!(
                "root must be a separate folder, not {}; write it as in root = \"~/Workspace\"",
                root.display()
            )));
        }
        if too_wide(&real_state) {
            let what = format!("state_dir must be a separate folder, not {}", state_dir.display());
            return Err(ConfigError::at(name, state_line, what));
        }
        if real_root.starts_with(&real_state) || real_state.starts_with(&real_root) {
            return Err(root_at(format!(
                "root ({}) and state_dir ({}) must not contain each other; choose another root",
                root.display(),
                state_dir.display()
            )));
        }
        // The inner one's files would be the outer one's pages, and the other way round, without end.
        let is_mirror = |path: &&Path| path.join(".espejo/marker").is_file();
        if let Some(outer) = real_root.ancestors().skip(1).find(is_mirror) {
            return Err(root_at(format!(
                "root ({}) is inside the mirror {}; choose a folder outside it",
                root.display(),
                outer.display()
            )));
        }
        if let (Some(path), Some(written)) = (&token_file, &file.token_file)
            && real(path).starts_with(&real_root)
        {
            let what = "token_file must be outside root, so that the token is never synced";
            return Err(ConfigError::at(name, written.line, what));
        }
        Ok(Whole { root, state_dir, token_file, ca_file })
    }

    /// An absolute path, `~` replaced. The value is never shown: a user may have pasted the token here.
    fn expand(&self, key: &str, written: &Located<String>, name: &str) -> Result<PathBuf, ConfigError> {
        let refuse = |what: String| Err(ConfigError::at(name, written.line, what));
        let text = written.value.as_str();
        if text.chars().any(char::is_control) {
            return refuse(format!("{key} must not contain control characters"));
        }
        let path = if let Some(rest) = text.strip_prefix('~') {
            if !rest.is_empty() && !rest.starts_with('/') {
                return refuse(format!("{key} may begin with ~/ but not with another user's ~name"));
            }
            let Some(home) = &self.home else {
                return refuse(format!("{key} begins with ~, but HOME is not set; write the path from /"));
            };
            home.join(rest.trim_start_matches('/'))
        } else {
            PathBuf::from(text)
        };
        if !path.is_absolute() {
            return refuse(format!("{key} must be a path that begins with / or ~/"));
        }
        if path.components().any(|part| part == Component::ParentDir) {
            return refuse(format!("{key} must not contain .. components; write the full path"));
        }
        Ok(path.components().collect())
    }
}

/// Whether a folder belongs to the system, so that no mirror may fill it.
#[must_use]
pub fn is_of_the_system(path: &Path) -> bool {
    let within = |folder: &&&str| path.starts_with(folder);
    let around = AROUND.iter().filter(within).map(|folder| path == Path::new(folder));
    around.max().unwrap_or_else(|| SYSTEM.iter().any(|folder| path.starts_with(folder)))
}

/// All that a config file holds, if that is not endless.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let kind = path.metadata()?.file_type();
    if kind.is_char_device() || kind.is_block_device() || kind.is_socket() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(CONFIG_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > CONFIG_BYTES_MAX {
        return Err(io::Error::other("it is too large for a config"));
    }
    Ok(bytes)
}

/// Where `path` really leads: symbolic links followed as far as the path exists.
#[must_use]
pub fn real(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return real.components().chain(rest.components()).collect();
        }
    }
    path.to_owned()
}
