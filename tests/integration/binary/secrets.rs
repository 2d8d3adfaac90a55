//! What other programs and other users of the machine may not learn: the token, and what the mirror holds.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::bench::{Bench, DEADLINE, TOKEN, Told, paragraph, save};
use super::sick::chmod;

/// Programs that write down their environment, first in PATH.
fn witnesses(bench: &Bench, names: &[&str]) -> String {
    let bin = bench.outside("bin");
    fs::create_dir(&bin).unwrap();
    for name in names {
        let script = format!(
            "#!/bin/sh\nenv > \"$HOME/{name}.part\"\nmv \"$HOME/{name}.part\" \"$HOME/{name}.env\"\n"
        );
        save(&bin.join(name), &script);
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

#[test]
fn no_program_that_espejo_starts_is_given_the_token() {
    let bench = Bench::with("\n[notify]\ndesktop = true\ncommand = [\"mailer\"]\n", |world, space| {
        for n in 0..14 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "some words")]);
        }
    });
    let names = ["mailer", "notify-send", "systemctl", "loginctl"];
    let path = witnesses(&bench, &names);
    let environment = [("PATH", path.as_str()), ("ESPEJO_TOKEN", TOKEN), ("KEPT", "yes"), ("USER", "ana")];
    let tell = |arguments: &[&str]| {
        let mut command = bench.espejo(arguments);
        Told::of(command.envs(environment).output().unwrap())
    };
    bench.sync();
    let installed = tell(&["service", "install"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let daemon = bench.run_under(&environment);
    bench.until("it runs", || bench.status()["state"] == "running");
    bench.until_in_step();
    for n in 2..14 {
        fs::remove_file(bench.page(&format!("Page {n}.md"))).unwrap();
    }
    let seen = |name: &str| -> Option<BTreeMap<String, String>> {
        let text = fs::read_to_string(bench.outside(&format!("{name}.env"))).ok()?;
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        Some(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    };
    for name in ["mailer", "notify-send"] {
        bench.until(name, || seen(name).is_some());
    }
    for name in ["mailer", "notify-send", "systemctl", "loginctl"] {
        let seen = seen(name).unwrap_or_else(|| panic!("{name} was not started\n{}", bench.seen()));
        assert_eq!(seen.get("KEPT").map(String::as_str), Some("yes"), "{name}: {seen:?}");
        assert_eq!(seen.get("ESPEJO_TOKEN"), None, "{name}");
        assert!(!seen.values().any(|value| value.contains(TOKEN)), "{name}: {seen:?}");
    }
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn a_command_that_never_ends_is_ended_and_holds_up_no_later_message() {
    let hangs = "cat >> $HOME/told; test -e $HOME/once && exit; touch $HOME/once; sleep 1000";
    let pages = format!("\n[notify]\ncommand = [\"sh\", \"-c\", {hangs:?}]\n");
    let bench = Bench::with(&pages, |world, space| {
        for n in 0..3 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "some words")]);
        }
    });
    let daemon = bench.run_in_step();
    let told = || fs::read_to_string(bench.outside("told")).unwrap_or_default().lines().count();
    save(&bench.page("Page 1.md"), "");
    bench.until("the first is told", || told() == 1);
    save(&bench.page("Page 2.md"), "");
    bench.until_within(2 * DEADLINE, "the hanging command is named", || {
        let log = bench.log();
        log.contains("sh did not end within 30 s") && log.contains("[notify]")
    });
    bench.until("the second is told", || told() == 2);
    assert_eq!(daemon.stop().code(), Some(0));
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_espejo_creates_is_the_users_alone_and_what_is_there_stays() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Page", vec![paragraph("a", "some words")]);
    });
    let starter = ["sh", "-c", "umask 022; exec \"$@\"", "sh"];
    let daemon = bench.run_beneath(&starter);
    bench.until_in_step();
    assert_eq!(daemon.stop().code(), Some(0));
    for made in [bench.root(), bench.state()] {
        assert_eq!(mode(&made), 0o700, "{}", made.display());
    }
    let doctor = |who: &str| {
        let told = bench.tell(&["doctor"]);
        assert!(told.code == 0 && told.out.replace('\n', " ").contains(who), "{who}: {told:?}");
    };
    chmod(bench.home(), 0o755);
    doctor("only you can read");
    // A root that is there may be shared on purpose: it stays as it is.
    chmod(&bench.root(), 0o755);
    bench.sync();
    assert_eq!(mode(&bench.root()), 0o755);
    doctor("every user of this machine can read");
    doctor(&format!("chmod 700 {}", bench.root().display()));
    chmod(&bench.root(), 0o750);
    doctor("the members of the group");
    chmod(&bench.root(), 0o755);
    chmod(bench.home(), 0o700);
    doctor("only you can read");
}
