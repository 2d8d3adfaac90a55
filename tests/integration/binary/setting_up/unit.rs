//! `espejo service` with a systemctl that only writes down what it is told.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::super::bench::{Bench, Told, append, bare, save};

struct Unit {
    bench: Bench,
}

impl Unit {
    fn new() -> Self {
        let unit = Self { bench: Bench::new(|_, _| {}) };
        fs::create_dir(unit.bench.outside("bin")).unwrap();
        unit
    }

    /// Puts a program into the only folder of PATH: a shell's `case` of its arguments.
    fn program(&self, name: &str, cases: &str) {
        let path = self.bench.outside("bin").join(name);
        let log = self.bench.outside("told");
        save(
            &path,
            &format!("#!/bin/sh\necho \"{name} $*\" >> '{}'\ncase \"$*\" in\n{cases}\nesac\n", log.display()),
        );
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn tell(&self, words: &[&str]) -> Told {
        let mut command = self.bench.espejo(words);
        command.env("PATH", self.bench.outside("bin")).env("USER", "ana");
        Told::of(command.output().unwrap())
    }

    /// What the programs were told since the last call.
    fn told(&self) -> Vec<String> {
        let log = self.bench.outside("told");
        let text = fs::read_to_string(&log).unwrap_or_default();
        save(&log, "");
        text.lines().map(str::to_owned).collect()
    }

    fn path(&self) -> PathBuf {
        self.bench.outside(".config/systemd/user/espejo.service")
    }
}

#[test]
fn the_user_service_is_installed_and_removed_and_an_edited_unit_is_kept() {
    let unit = Unit::new();
    unit.program("systemctl", "*is-active*) exit 3;;");
    unit.program("loginctl", "*) echo Linger=no;;");
    let told = unit.tell(&["service", "install"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(
        told.out.contains("installed and started: ") && told.out.contains("loginctl enable-linger"),
        "{told:?}"
    );
    assert_eq!(
        unit.told(),
        [
            "systemctl --user daemon-reload",
            "systemctl --user daemon-reload",
            "systemctl --user enable --now espejo.service",
            "systemctl --user restart espejo.service",
            "loginctl show-user --property=Linger ana",
        ]
    );
    let text = fs::read_to_string(unit.path()).unwrap();
    let config = unit.bench.outside("config.toml");
    let start = format!("ExecStart={} run --config {}\n", env!("CARGO_BIN_EXE_espejo"), config.display());
    assert!(text.contains(&start), "{text}");
    assert!(!text.contains(super::super::bench::TOKEN));

    // Again is the same; an edited one stays.
    assert_eq!(unit.tell(&["service", "install"]).code, 0);
    assert_eq!(fs::read_to_string(unit.path()).unwrap(), text);
    append(&unit.path(), "\n[Service]\nNice=7\n");
    for what in ["install", "uninstall"] {
        let told = unit.tell(&["service", what]);
        assert!(
            told.code == 1 && told.err.contains("was edited") && told.err.contains("--force"),
            "{told:?}"
        );
    }
    assert!(fs::read_to_string(unit.path()).unwrap().contains("Nice=7"));
    assert_eq!(unit.tell(&["service", "install", "--force"]).code, 0);
    assert_eq!(fs::read_to_string(unit.path()).unwrap(), text);
    let kept = unit.path().with_file_name("espejo.service.old");
    assert!(fs::read_to_string(kept).unwrap().contains("Nice=7"));

    unit.told();
    let told = unit.tell(&["service", "uninstall"]);
    assert!(told.code == 0 && told.out.contains("the config and the token are kept"), "{told:?}");
    assert_eq!(
        unit.told(),
        ["systemctl --user disable --now espejo.service", "systemctl --user daemon-reload"]
    );
    assert!(!unit.path().exists() && unit.bench.outside("token").exists() && config.exists());
    let told = unit.tell(&["service", "uninstall"]);
    assert!(told.code == 0 && told.out.starts_with("no unit is installed"), "{told:?}");
}

#[test]
fn where_the_service_cannot_be_installed_nothing_is_and_the_reason_is_said() {
    let check = |unit: &Unit, code: i32, words: &str| {
        let told = unit.tell(&["service", "install"]);
        assert!(told.code == code && told.err.contains(words), "{words}: {told:?}");
        assert_eq!(told.err.lines().count(), 1, "{told:?}");
        assert!(!unit.path().exists(), "{words}");
    };
    let unit = Unit::new();
    check(&unit, 1, "systemd is not installed");
    unit.program("systemctl", "*) echo 'Failed to connect to bus: No medium found' >&2; exit 1;;");
    check(&unit, 1, "does not answer (Failed to connect to bus: No medium found); log in as this user");
    unit.program("systemctl", "*is-active*) exit 3;;");
    // A token in this shell's environment is none of the service's.
    fs::remove_file(unit.bench.outside("token")).unwrap();
    check(&unit, 2, "the service would find no token");
    save(&unit.bench.outside("config.toml"), "nonsense = 1\n");
    check(&unit, 2, "nonsense");
}

#[test]
fn a_unit_that_does_not_start_says_where_to_look() {
    let unit = Unit::new();
    unit.program(
        "systemctl",
        "*enable*) echo 'Job for espejo.service failed.' >&2; exit 1;;\n*is-active*) exit 3;;",
    );
    let told = unit.tell(&["service", "install"]);
    assert!(
        told.code == 1 && told.err.contains("does not start: Job for espejo.service failed."),
        "{told:?}"
    );
    assert!(told.err.contains("journalctl --user -u espejo"), "{told:?}");
}

#[test]
fn a_unit_that_is_installed_and_does_not_run_is_told_and_ends_with_3() {
    let unit = Unit::new();
    unit.program("systemctl", "*is-active*) exit 3;;");
    unit.program("loginctl", "*) echo Linger=no;;");
    let without = unit.tell(&["status"]);
    assert!(without.code == 0 && without.out.contains("espejo run"), "{without:?}");
    assert_eq!(unit.tell(&["service", "install"]).code, 0);
    let stopped = unit.tell(&["status"]);
    assert!(stopped.code == 3 && stopped.out.contains("systemctl --user start espejo"), "{stopped:?}");
    assert!(!stopped.out.contains("espejo run"), "{stopped:?}");
    let daemon = unit.bench.run();
    unit.bench.until("it runs", || unit.bench.status()["state"] == "running");
    assert_eq!(unit.tell(&["status"]).code, 0);
    drop(daemon);
}

#[test]
fn each_config_has_a_unit_of_its_own_and_none_takes_anothers_place() {
    let unit = Unit::new();
    unit.program("systemctl", "*is-active*) exit 3;;");
    unit.program("loginctl", "*) echo Linger=yes;;");
    assert_eq!(unit.tell(&["service", "install"]).code, 0);
    let first = fs::read_to_string(unit.path()).unwrap();
    // The same with a config of another name.
    let bench = &unit.bench;
    let text = fs::read_to_string(bench.outside("config.toml")).unwrap();
    let work = bench.outside("work.toml");
    save(&work, &text.replace(bench.state().to_str().unwrap(), bench.outside("state 2").to_str().unwrap()));
    let tell = |config: &Path, words: &[&str]| {
        let mut command = bare(bench.home());
        command.env("PATH", bench.outside("bin")).env("USER", "ana").arg("--config").arg(config).args(words);
        Told::of(command.output().unwrap())
    };
    unit.told();
    let told = tell(&work, &["service", "install"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.out.contains("journalctl --user -fu espejo-work"), "{told:?}");
    let calls = unit.told();
    assert!(calls.contains(&"systemctl --user enable --now espejo-work.service".to_owned()), "{calls:?}");
    assert!(!calls.iter().any(|call| call.ends_with(" espejo.service")), "{calls:?}");
    assert_eq!(fs::read_to_string(unit.path()).unwrap(), first);
    let second = fs::read_to_string(unit.path().with_file_name("espejo-work.service")).unwrap();
    assert!(second.contains(&format!("run --config {}\n", work.display())), "{second}");
    let stopped = tell(&work, &["status"]);
    assert!(stopped.code == 3 && stopped.out.contains("systemctl --user start espejo-work"), "{stopped:?}");
    // A config of the same name in another folder has no unit of its own.
    fs::create_dir(bench.outside("other")).unwrap();
    let same = bench.outside("other/work.toml");
    fs::copy(&work, &same).unwrap();
    for what in ["install", "uninstall"] {
        let refused = tell(&same, &["service", what, "--force"]);
        assert!(refused.code == 1 && refused.err.contains("with another config"), "{refused:?}");
    }
    assert_eq!(tell(&work, &["service", "uninstall"]).code, 0);
    assert!(unit.path().exists() && !unit.path().with_file_name("espejo-work.service").exists());
}
