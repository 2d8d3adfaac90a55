//! What the daemon tells systemd, seen on a socket: ready, alive, reading its config again, stopping.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use espejo::emulator::{Window, World};
use rustix::process::Signal;

use super::bench::{Bench, paragraph};

#[test]
fn systemd_is_told_of_every_turn_of_the_daemons_life() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Page", vec![paragraph("a", "words")]);
    });
    let place = bench.outside("notify");
    life(&bench, UnixDatagram::bind(&place).unwrap(), place.to_str().unwrap());
    // The same on an abstract socket, as containers have it.
    let name = format!("espejo-test-{}", std::process::id());
    let place = SocketAddr::from_abstract_name(&name).unwrap();
    life(&bench, UnixDatagram::bind_addr(&place).unwrap(), &format!("@{name}"));
}

fn life(bench: &Bench, socket: UnixDatagram, place: &str) {
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let until = |line: &str| {
        let mut told: Vec<String> = Vec::new();
        bench.until(line, || {
            let mut buffer = [0; 4_096];
            if let Ok(length) = socket.recv(&mut buffer) {
                told.extend(String::from_utf8_lossy(&buffer[..length]).lines().map(str::to_owned));
            }
            told.iter().any(|one| one.starts_with(line))
        });
        told
    };
    // Three watchdog periods of 0.2 s each are seen, so it is fed also when nothing happens.
    let daemon = bench.run_under(&[("NOTIFY_SOCKET", place), ("WATCHDOG_USEC", "200000")]);
    until("READY=1");
    until("STATUS=1 of 1 pages mirrored, 0 pending");
    for _ in 0..3 {
        until("WATCHDOG=1");
    }
    daemon.signal(Signal::HUP);
    let told = until("RELOADING=1");
    assert!(
        told.iter()
            .any(|line| line.strip_prefix("MONOTONIC_USEC=").is_some_and(|at| at.parse::<u64>().is_ok())),
        "{told:?}"
    );
    until("READY=1");
    until("WATCHDOG=1");
    daemon.signal(Signal::TERM);
    until("STOPPING=1");
    assert_eq!(daemon.ended().code(), Some(0));
}

#[test]
fn systemd_is_told_how_long_the_first_mirror_still_takes() {
    let mut world = World::new(7);
    world.set_limit(None, Window::SlidingLog);
    let space = world.add_workspace("Equipo", "equipo");
    for n in 0..150 {
        world.app_create(&space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
    }
    let bench = Bench::over(world, space, 60, "");
    let place = bench.outside("notify");
    let socket = UnixDatagram::bind(&place).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let daemon = bench.run_under(&[("NOTIFY_SOCKET", place.to_str().unwrap())]);
    let mut told = String::new();
    bench.until("the time left is told", || {
        let mut buffer = [0; 4_096];
        if let Ok(length) = socket.recv(&mut buffer) {
            told.push_str(&String::from_utf8_lossy(&buffer[..length]));
            told.push('\n');
        }
        told.lines().any(|line| {
            line.starts_with("STATUS=")
                && line.contains(" of 150 pages mirrored, ")
                && line.contains(" left, ")
        })
    });
    let line = told.lines().find(|line| line.contains(" left, ")).unwrap();
    let left = line.split(", ").nth(1).unwrap();
    // Some of 150 pages at 60 requests a minute.
    assert!(left.contains("min") || left.ends_with(" s left"), "{line}");
    assert_eq!(daemon.stop().code(), Some(0));
}

/// The units name only what the program understands, and reload and watch it.
#[test]
fn the_units_fit_the_program() {
    for name in ["espejo.service", "espejo@.service"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/systemd").join(name);
        let unit = std::fs::read_to_string(path).unwrap();
        let value = |key: &str| {
            unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).unwrap_or_default()
        };
        let words: Vec<&str> = value("ExecStart").split_whitespace().skip(1).collect();
        use clap::Parser;
        let parsed = espejo::commands::Cli::try_parse_from(std::iter::once("espejo").chain(words)).unwrap();
        assert!(matches!(parsed.command, Some(espejo::commands::Command::Run(_))), "{name}");
        assert_eq!(value("Type"), "notify", "{name}");
        assert_eq!(value("ExecReload"), "/bin/sh -c \"kill -HUP ${MAINPID}\"", "{name}");
        assert_eq!(value("RestartPreventExitStatus"), espejo::cli::Exit::Usage.code().to_string(), "{name}");
        assert!(!value("WatchdogSec").is_empty(), "{name}");
    }
}

/// What the package names is there or is made for it, and its scripts leave people's things alone.
#[test]
fn the_package_holds_what_is_there_and_removes_nothing_of_anybodys() {
    let project = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(project.join(path)).unwrap();
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let package = &manifest["package"]["metadata"]["deb"];
    let script = read("packaging/build-deb");
    for asset in package["assets"].as_array().unwrap() {
        let source = asset[0].as_str().unwrap();
        let is_made = source
            .strip_prefix("target/package/")
            .is_some_and(|made| script.contains(&format!(" >\"$made/{made}\"")));
        let is_there = source == "target/release/espejo" || project.join(source).exists();
        assert!(is_made || is_there, "{source}");
    }
    // The pages for users that the README links to are where its links lead.
    let readme = read("README.md");
    let links = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    for page in links.filter(|link| link.starts_with("docs/") && link.ends_with(".md")) {
        let placed = format!("usr/share/doc/espejo/{page}");
        let is_placed =
            package["assets"].as_array().unwrap().iter().any(|asset| asset[1].as_str() == Some(&placed));
        assert!(is_placed, "{placed}");
    }
    let unit = read("packaging/systemd/espejo.service");
    assert!(unit.contains("\nExecStart=%h/.cargo/bin/espejo run\n"), "the script looks for this line");
    for name in ["postinst", "prerm", "postrm"] {
        let script = read(&format!("packaging/deb/{name}"));
        let words: Vec<&str> = script.lines().filter(|line| !line.starts_with('#')).collect();
        let words = words.join("\n");
        for never in ["rm ", "rmdir", "find ", "/etc/espejo", "/var/lib", "enable", "disable"] {
            assert!(!words.contains(never), "{name} says {never}");
        }
    }
    // The container hands in what the config and the token are looked for by.
    let container = read("packaging/container/Containerfile");
    for name in ["CONFIGURATION_DIRECTORY=", "STATE_DIRECTORY=", "CREDENTIALS_DIRECTORY="] {
        assert!(container.contains(name), "{name}");
    }
}
