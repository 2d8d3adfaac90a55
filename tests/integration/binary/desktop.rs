//! What reaches people and programs besides the folder: messages on the desktop, and logs as JSON.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::bench::{Bench, append, paragraph, save};

fn bench(pages: &str) -> Bench {
    Bench::with(pages, |world, space| {
        for n in 0..14 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "some words")]);
        }
    })
}

/// A `notify-send` that writes down what it is told, a message a line.
fn desk(bench: &Bench) -> String {
    let bin = bench.outside("bin");
    fs::create_dir(&bin).unwrap();
    let script = "#!/bin/sh\nprintf '%s' \"$*\" | tr '\\n' '~' >> \"$HOME/told\"; echo >> \"$HOME/told\"\n";
    save(&bin.join("notify-send"), script);
    fs::set_permissions(bin.join("notify-send"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

fn told(bench: &Bench) -> Vec<String> {
    fs::read_to_string(bench.outside("told")).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn conflicts_and_held_deletions_are_told_on_the_desktop_once() {
    let bench = bench("\n[notify]\ndesktop = true\n");
    let path = desk(&bench);
    bench.run_in_step().stop();
    // Both sides change the same words while nobody looks.
    append(&bench.page("Page 1.md"), "");
    save(&bench.page("Page 1.md"), &bench.text("Page 1.md").replace("some", "my"));
    let id = bench.id("Page 1");
    let daemon = bench.run_under(&[("PATH", &path)]);
    bench.until("the edit is sent", || super::bench::words(&bench.content("Page 1")).contains("my"));
    bench.until_in_step();
    assert_eq!(told(&bench), Vec::<String>::new(), "an edit is no news");
    save(&bench.page("Page 1.md"), &bench.text("Page 1.md").replace("my", "your"));
    bench.world().app_edit(&id, vec![paragraph("a", "their words")]);
    bench.until("the collision is told", || !told(&bench).is_empty());
    let line = told(&bench).remove(0);
    assert!(
        line.starts_with(
            "--app-name=espejo -- espejo: 1 thing needs attention Equipo/Pages/Page 1.md: both sides"
        ),
        "{line}"
    );
    assert_eq!(daemon.stop().code(), Some(0));
    // What was told, or there at the start, is not told again; what is new is.
    let daemon = bench.run_under(&[("PATH", &path)]);
    bench.until("it runs", || bench.status()["state"] == "running");
    bench.until_in_step();
    for n in 2..14 {
        fs::remove_file(bench.page(&format!("Page {n}.md"))).unwrap();
    }
    bench.until("the held deletions are told", || told(&bench).len() > 1);
    let line = told(&bench).remove(1);
    assert!(line.contains("1 thing needs attention deletions are on hold: "), "{line}");
    assert_eq!(daemon.stop().code(), Some(0));
    assert_eq!(told(&bench).len(), 2, "{:?}", told(&bench));
}

#[test]
fn a_command_is_given_what_needs_the_user_as_json() {
    let bench = bench("\n[notify]\ncommand = [\"sh\", \"-c\", \"cat >> $HOME/told; exit 7\"]\n");
    bench.run_in_step().stop();
    let daemon = bench.run();
    bench.until("it runs", || bench.status()["state"] == "running");
    bench.until_in_step();
    for n in 2..14 {
        fs::remove_file(bench.page(&format!("Page {n}.md"))).unwrap();
    }
    bench.until("the held deletions are told", || !told(&bench).is_empty());
    let message: Value = serde_json::from_str(&told(&bench)[0]).unwrap();
    assert_eq!(message["title"], "espejo: 1 thing needs attention");
    let [thing] = message["attention"].as_array().unwrap().as_slice() else { panic!("{message}") };
    assert_eq!((&thing["code"], &thing["path"]), (&Value::from("deletions-held"), &Value::from("")));
    assert!(thing["reason"].as_str().unwrap().contains("deletions are on hold"), "{message}");
    assert!(thing["action"].as_str().unwrap().contains("espejo approve"), "{message}");
    bench.until("the failure is in the log", || bench.log().contains("the command of [notify] failed"));
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn a_desktop_that_is_not_there_harms_nothing() {
    let bench = bench("\n[notify]\ndesktop = true\n");
    bench.run_in_step().stop();
    let empty = bench.outside("empty");
    fs::create_dir(&empty).unwrap();
    let daemon = bench.run_under(&[("PATH", empty.to_str().unwrap())]);
    bench.until("it runs", || bench.status()["state"] == "running");
    bench.until_in_step();
    for n in 2..14 {
        fs::remove_file(bench.page(&format!("Page {n}.md"))).unwrap();
    }
    bench.until("it is said how to mend it", || bench.log().contains("notify-send does not run"));
    append(&bench.page("Page 1.md"), "\nstill at work\n");
    bench.until("it goes on", || super::bench::words(&bench.content("Page 1")).contains("still at work"));
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn programs_read_the_log_as_json() {
    let bench = bench("");
    let daemon = bench.run_beneath(&["sh", "-c", "exec \"$@\" --log-format json", "sh"]);
    bench.until_in_step();
    bench.until("something is logged", || bench.log().lines().count() > 1);
    assert_eq!(daemon.stop().code(), Some(0));
    for line in bench.log().lines() {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(value["time"].as_str().is_some_and(|at| at.parse::<jiff::Timestamp>().is_ok()), "{line}");
        assert_eq!(value["level"], "info", "{line}");
        assert!(!value["message"].as_str().unwrap().is_empty(), "{line}");
    }
    // An end with an error as well.
    fs::remove_file(bench.outside("token")).unwrap();
    let ended = bench.tell(&["run", "--log-format", "json"]);
    let value: Value = serde_json::from_str(ended.err.trim_end()).unwrap();
    assert_eq!((ended.code, &value["level"]), (2, &Value::from("error")), "{ended:?}");
}

#[test]
fn what_begins_and_what_is_over_reaches_the_log_with_its_code() {
    let bench = bench("");
    let daemon = bench.run_beneath(&["sh", "-c", "exec \"$@\" --log-format json", "sh"]);
    bench.until_in_step();
    // Each line about what concerns the user: its level, its code, whether it is over, and its path.
    let lines = || -> Vec<(String, String, bool, String)> {
        let log = bench.log();
        let values = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let told = values.filter(|value| value["target"] == "espejo::attention");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        told.map(|value| {
            let fields = &value["fields"];
            let over = fields["over"].as_bool().unwrap_or(false);
            (text(&value["level"]), text(&fields["code"]), over, text(&fields["path"]))
        })
        .collect()
    };
    let mut expected: Vec<(String, String, bool, String)> = Vec::new();
    let mut until = |level: &str, code: &str, over: bool, path: &str| {
        expected.push((level.to_owned(), code.to_owned(), over, path.to_owned()));
        bench.until(&format!("{code}, over: {over}"), || lines().len() >= expected.len());
        assert_eq!(lines(), expected);
    };
    let first = "Equipo/Pages/Page 1.md";
    let text = bench.text("Page 1.md");
    save(&bench.page("Page 1.md"), "");
    until("error", "not-sent", false, first);
    save(&bench.page("Page 1.md"), &text);
    until("info", "not-sent", true, first);

    let kept: Vec<(String, String)> =
        (2..14).map(|n| format!("Page {n}.md")).map(|name| (name.clone(), bench.text(&name))).collect();
    for (name, _) in &kept {
        fs::remove_file(bench.page(name)).unwrap();
    }
    until("error", "deletions-held", false, "");
    for (name, text) in &kept {
        save(&bench.page(name), text);
    }
    until("info", "deletions-held", true, "");

    bench.world().app_freeze_workspace(&bench.space, true);
    bench.ask("\"full-pass\"");
    until("info", "frozen", false, "Equipo");
    bench.world().app_freeze_workspace(&bench.space, false);
    bench.ask("\"full-pass\"");
    bench.until("it is thawed", || !bench.attention().contains("read-only"));

    let token = bench.world().token().to_owned();
    bench.world().set_token("another");
    bench.ask("\"full-pass\"");
    until("error", "token-refused", false, "");
    bench.world().set_token(&token);
    daemon.signal(rustix::process::Signal::HUP);
    bench.until("it is taken up again", || bench.attention().is_empty());
    assert_eq!(bench.tell(&["status"]).code, 0);
    assert!(daemon.stop().success());
}
