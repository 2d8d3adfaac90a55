//! What other programs need for a look over the same tree when nothing has changed, where they are installed: `rclone check`
//! and `unison` against a copy of it, a scan of `syncthing`'s. None of them leaves anything in the mirror.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bed::Bed;
use crate::process::Process;
use crate::served::Running;
use crate::{median, ms, tell};

const ROUNDS: usize = 3;
const KEY: &str = "bench";

pub(crate) fn all(bed: &Bed) {
    println!("other programs on the same tree, nothing changed (medians of {ROUNDS})");
    let work = tempfile::tempdir().unwrap();
    let copy = work.path().join("copy");
    let copied = Command::new("cp").arg("-a").arg(bed.root()).arg(&copy).status();
    assert!(copied.unwrap().success(), "the mirror cannot be copied");
    for options in [&["check"][..], &["check", "--size-only"]] {
        let mut check = Command::new("rclone");
        check.args(options).arg(bed.root()).arg(&copy).arg("--config").arg(work.path().join("rclone.conf"));
        compare(&format!("rclone {}", options.join(" ")), &mut check);
    }
    let mut unison = Command::new("unison");
    unison.args(["-batch", "-silent", "-ui", "text"]).arg(bed.root()).arg(&copy);
    compare("unison", unison.env("UNISON", work.path().join("unison")).env("HOME", work.path()));
    syncthing(work.path(), &copy);
}

/// The command over and over; the first time is not counted, for it may build what the others use.
fn compare(name: &str, command: &mut Command) {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    match command.output() {
        Err(_) => return println!("  {name}: not installed"),
        Ok(first) if !first.status.success() => {
            return println!("  {name}: failed: {}", String::from_utf8_lossy(&first.stderr).trim());
        }
        Ok(_) => {}
    }
    let this = Process(std::process::id());
    let before = this.children_cpu_ms();
    let took = (0..ROUNDS).map(|_| {
        let begin = Instant::now();
        assert!(command.output().unwrap().status.success(), "{name} failed");
        ms(begin.elapsed())
    });
    let took = median(took.collect());
    tell(&format!("{name}, whole process"), took, "ms", None);
    tell("its CPU", (this.children_cpu_ms() - before) / ROUNDS as f64, "ms", None);
}

fn syncthing(work: &Path, copy: &Path) {
    let home = work.join("syncthing");
    let mut generate = Command::new("syncthing");
    generate.args(["generate", "--no-default-folder", "--skip-port-probing"]).arg("--home").arg(&home);
    let output = match generate.env("HOME", work).output() {
        Err(_) => return println!("  syncthing: not installed"),
        Ok(output) => output,
    };
    if !output.status.success() {
        return println!("  syncthing: failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let mut serve = Command::new("syncthing");
    serve.args(["serve", "--no-browser", "--no-restart", "--no-upgrade", "--gui-apikey", KEY]);
    serve.arg(format!("--gui-address=127.0.0.1:{port}")).arg("--home").arg(&home).env("HOME", work);
    // It starts itself once more to watch over it, unless it is told that somebody does.
    serve.env("STMONITORED", "yes");
    let serving = serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let serving = Running(serving);
    let process = Process(serving.id());
    if !holds_within(Duration::from_secs(30), || ask(port, "GET", "/rest/system/ping", "").is_some()) {
        return println!("  syncthing: it does not answer");
    }
    let folder = serde_json::json!({
        "id": "bench", "path": copy, "type": "sendonly", "fsWatcherEnabled": false, "rescanIntervalS": 0,
    });
    ask(port, "POST", "/rest/config/folders", &folder.to_string());
    let is_idle = || {
        let status = ask(port, "GET", "/rest/db/status?folder=bench", "").unwrap_or_default();
        let status: serde_json::Value = serde_json::from_str(&status).unwrap_or_default();
        status["state"] == "idle" && status["localFiles"].as_u64().is_some_and(|files| files > 0)
    };
    if !holds_within(Duration::from_secs(300), is_idle) {
        return println!("  syncthing: its first scan does not end");
    }
    let before = process.cpu_ms();
    let took = (0..ROUNDS).map(|_| {
        let begin = Instant::now();
        // It answers when the scan is over.
        assert!(ask(port, "POST", "/rest/db/scan?folder=bench", "").is_some(), "syncthing does not scan");
        ms(begin.elapsed())
    });
    let took = median(took.collect());
    tell("a scan of syncthing's daemon", took, "ms", None);
    tell("its CPU", (process.cpu_ms() - before) / ROUNDS as f64, "ms", None);
    tell("its resident memory", process.resident_mb(), "MB", None);
}

fn holds_within(time: Duration, holds: impl Fn() -> bool) -> bool {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    false
}

/// The body of syncthing's answer, if it is one of success.
fn ask(port: u16, method: &str, path: &str, body: &str) -> Option<String> {
    let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: localhost\r\nX-API-Key: {KEY}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).ok()?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.split_whitespace().nth(1).is_some_and(|status| status.starts_with('2')).then(|| body.to_owned())
}
