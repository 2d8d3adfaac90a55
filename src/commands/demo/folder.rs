//! The folder of a demo: the mirror in `Workspace`, and beside it, in `.demo`, what the demo keeps for the next run (service and
//! state) and what is written anew in each (config and token).

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::config::is_of_the_system;
use crate::daemon;
use crate::emulator::{World, sample};
use crate::mirror::lock::Lock;

/// The same sample, with the same ids, every time.
const SEED: u64 = 2026;
/// Marks a folder that a demo made, so that it may be taken up again.
const OWN: &str = ".demo";
const MIRROR: &str = "Workspace";
/// How often the service is saved, at most: what a kill may take from it.
const SAVED_EVERY: Duration = Duration::from_secs(1);

/// A folder that is a demo's own.
pub(super) struct Folder {
    /// The whole folder, as the user named it.
    pub(super) dir: PathBuf,
    own: PathBuf,
}

impl Folder {
    /// The folder at `dir`, or a new temporary one.
    ///
    /// # Errors
    /// One sentence, when it holds anything else, cannot be used, or another demo runs in it.
    pub(super) fn open(dir: Option<&Path>) -> Result<Self> {
        let dir = match dir {
            Some(dir) => usable(dir)?,
            None => std::env::temp_dir().join(format!("espejo-demo-{}", daemon::fresh_tag(6))),
        };
        let folder = Self { own: dir.join(OWN), dir };
        if Lock::is_held(&folder.state()) {
            bail!("another demo runs in {}; name another folder with --dir", folder.dir.display());
        }
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder.own);
        if let Err(error) = made {
            bail!("{} cannot be used: {error}; name another folder with --dir", folder.dir.display());
        }
        Ok(folder)
    }

    /// Where the mirror is.
    pub(super) fn mirror(&self) -> PathBuf {
        self.dir.join(MIRROR)
    }

    fn state(&self) -> PathBuf {
        self.own.join("state")
    }

    /// The service as the last demo here left it, or the sample.
    ///
    /// # Errors
    /// One sentence, when what was saved cannot be read.
    pub(super) fn service(&self) -> Result<Service> {
        let file = self.own.join("service.json");
        let (world, steps, is_new) = match std::fs::read(&file) {
            Ok(bytes) => {
                let (world, steps) = World::from_saved(&bytes).map_err(|why| {
                    let file = file.display();
                    anyhow::anyhow!("{file} cannot be used: {why}; name a new folder with --dir")
                })?;
                (world, steps, false)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (sample::world(SEED), 0, true),
            Err(error) => return Err(error).with_context(|| format!("{} cannot be read", file.display())),
        };
        Ok(Service { file, world, steps, is_new })
    }

    /// Writes the config and the token of this run, and says where the config is.
    pub(super) fn config(&self, base_url: &str, token: &str, limit: usize) -> Result<PathBuf> {
        let (config, token_file) = (self.own.join("config.toml"), self.own.join("token"));
        replace(&token_file, token.as_bytes())?;
        let quoted = |path: &Path| toml_edit::Value::from(path.display().to_string()).to_string();
        let text = format!(
            "base_url = {base_url:?}\nroot = {}\nstate_dir = {}\ntoken_file = {}\n\n[limits]\nrequests_per_minute = {limit}\n\n[pages]\nsettle_ms = 150\n\n[storage]\nmode = \"two-way\"\n",
            quoted(&self.mirror()),
            quoted(&self.state()),
            quoted(&token_file),
        );
        replace(&config, text.as_bytes())?;
        Ok(config)
    }
}

/// The service of a demo, and where it is kept.
pub(super) struct Service {
    file: PathBuf,
    /// What it holds.
    pub(super) world: World,
    /// How many steps its colleagues have made.
    pub(super) steps: u64,
    /// Whether no demo ran here before.
    pub(super) is_new: bool,
}

/// Keeps a running service in its file.
pub(super) struct Keeper {
    file: PathBuf,
    world: Arc<Mutex<World>>,
    /// How many steps the colleagues have made.
    pub(super) steps: std::cell::Cell<u64>,
    kept: std::cell::RefCell<Option<Value>>,
}

impl Keeper {
    pub(super) fn new(file: PathBuf, world: Arc<Mutex<World>>, steps: u64) -> Self {
        Self { file, world, steps: steps.into(), kept: None.into() }
    }

    /// Saves the service whenever it has changed, without end.
    pub(super) async fn keep(&self) {
        loop {
            tokio::time::sleep(SAVED_EVERY).await;
            // The disk may be full for a while; the last save says so to the user.
            drop(self.save());
        }
    }

    /// Saves the service if it has changed.
    ///
    /// # Errors
    /// When its file cannot be written.
    pub(super) fn save(&self) -> Result<()> {
        let (state, bytes) = {
            let world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
            let state = world.app_state();
            if self.kept.borrow().as_ref() == Some(&state) {
                return Ok(());
            }
            (state, world.to_saved(self.steps.get())?)
        };
        replace(&self.file, &bytes)?;
        self.kept.replace(Some(state));
        Ok(())
    }
}

impl Service {
    /// The world, and a way to make its keeper once it is served.
    pub(super) fn into_parts(self) -> (World, impl FnOnce(Arc<Mutex<World>>) -> Keeper) {
        let Self { file, world, steps, .. } = self;
        (world, move |shared| Keeper::new(file, shared, steps))
    }
}

/// Writes a file that only its owner reads; a kill leaves the old one or the new one.
fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let whole = || -> std::io::Result<()> {
        let new = path.with_extension("new");
        let mut file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        std::fs::rename(&new, path)
    };
    whole().with_context(|| format!("{} cannot be written", path.display()))
}

/// A folder that may be filled with the sample: not the root of a disk, nor the home directory or what is around it,
/// nor a folder of the system.
fn usable(dir: &Path) -> Result<PathBuf> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let dir = std::path::absolute(dir)?;
    let home = std::env::home_dir().map(|home| real(&home));
    if dir.parent().is_none()
        || is_of_the_system(&real(&dir))
        || home.is_some_and(|home| home.starts_with(real(&dir)))
    {
        bail!("the demo does not write into {}; choose an empty folder with --dir", dir.display());
    }
    let is_empty = std::fs::read_dir(&dir).map_or(true, |mut entries| entries.next().is_none());
    if !is_empty && !dir.join(OWN).is_dir() {
        bail!("{} is not empty; name an empty or a new folder with --dir", dir.display());
    }
    Ok(dir)
}
