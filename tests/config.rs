//! The config as it is found and read on a real disk. What its text may say is tested beside the code.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene has failed")]

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use espejo::config::{Config, ConfigError};
use tempfile::TempDir;

/// A home directory, and an environment that points there.
struct Home {
    dir: TempDir,
    env: BTreeMap<&'static str, String>,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let env = BTreeMap::from([("HOME", dir.path().display().to_string())]);
        Self { dir, env }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    fn write(&self, below: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        put(&path, text.as_ref());
        path
    }

    fn set(&mut self, name: &'static str, below: &str) {
        self.env.insert(name, self.path(below).display().to_string());
    }

    fn load(&self, named: Option<&Path>) -> Result<Config, ConfigError> {
        Config::load(named, &|name| self.env.get(name).cloned())
    }
}

#[expect(clippy::disallowed_methods, reason = "a test sets its scene; nobody reads it meanwhile")]
fn put(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
}

fn text(host: &str) -> String {
    format!("base_url = \"https://{host}\"\nroot = \"~/Workspace\"\n")
}

#[test]
fn the_config_is_found_in_order() {
    let mut home = Home::new();
    home.set("CONFIGURATION_DIRECTORY", "unit");
    home.write("unit/config.toml", text("unit"));
    assert_eq!(home.load(None).unwrap().base_url, "https://unit");

    home.write(".config/espejo/config.toml", text("home"));
    assert_eq!(home.load(None).unwrap().base_url, "https://home");

    home.set("XDG_CONFIG_HOME", "xdg");
    assert_eq!(home.load(None).unwrap().base_url, "https://unit", "nothing is in the XDG place yet");
    home.write("xdg/espejo/config.toml", text("xdg"));
    assert_eq!(home.load(None).unwrap().base_url, "https://xdg");

    let named = home.write("elsewhere.toml", text("named"));
    let config = home.load(Some(&named)).unwrap();
    assert_eq!(config.base_url, "https://named");
    assert_eq!(config.root, home.path("Workspace"));
    assert_eq!(config.state_dir, home.path(".local/state/espejo"));
}

#[test]
fn a_config_that_is_not_there_is_said_where() {
    let home = Home::new();
    let expected = home.path(".config/espejo/config.toml").display().to_string();
    let refusal = home.load(None).unwrap_err().to_string();
    assert!(refusal.starts_with(&format!("there is no config at {expected};")), "{refusal}");

    let named = home.path("none.toml");
    let refusal = home.load(Some(&named)).unwrap_err().to_string();
    assert!(refusal.starts_with(&format!("the config {} cannot be read: ", named.display())), "{refusal}");

    let refusal = Config::load(None, &|_| None).unwrap_err().to_string();
    assert!(refusal.contains("neither HOME nor XDG_CONFIG_HOME is set"), "{refusal}");
}

#[test]
fn refusals_name_the_whole_path_and_the_line() {
    let home = Home::new();
    let path = home.write(".config/espejo/config.toml", text("h") + "[pages]\nmax_delete = 7\n");
    let expected = format!(
        "{} line 4: there is no key \"max_delete\" in [pages]; did you mean \"max_deletes\"?",
        path.display()
    );
    assert_eq!(home.load(None).unwrap_err().to_string(), expected);

    home.write(".config/espejo/config.toml", b"base_url = \"https://h\"\nroot = \"~/caf\xe9\"\n");
    let expected = format!("{} line 2: this is not UTF-8 text; save the file as UTF-8", path.display());
    assert_eq!(home.load(None).unwrap_err().to_string(), expected);
}

#[test]
fn links_do_not_hide_that_places_lie_within_each_other() {
    let home = Home::new();
    home.write("state/.keep", "");
    symlink(home.path("state"), home.path("looks-apart")).unwrap();
    let with = |root: &str| {
        let named = home.write(
            "config.toml",
            format!("base_url = \"https://h\"\nroot = \"~/{root}\"\nstate_dir = \"~/state\"\n"),
        );
        home.load(Some(&named)).map(|config| config.root)
    };
    for root in ["looks-apart", "looks-apart/new/mirror"] {
        let refusal = with(root).unwrap_err().to_string();
        assert!(refusal.contains("must not contain each other"), "{refusal}");
    }

    symlink(home.path(""), home.path("me")).unwrap();
    let refusal = with("me").unwrap_err().to_string();
    assert!(refusal.contains("root must be a separate folder"), "{refusal}");

    symlink(home.path("big-disk"), home.path("Workspace")).unwrap();
    assert_eq!(with("Workspace").unwrap(), home.path("Workspace"), "what the user wrote is kept");
}
