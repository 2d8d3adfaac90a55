//! `espejo doctor`: well when all is well, and for each thing that is not the level, the words and the mend.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use espejo::emulator::{Fault, Matcher, Window, World};
use serde_json::Value;

use super::super::bench::{Bench, Told, bare, paragraph, save};

fn bench() -> Bench {
    Bench::with("\n[whiteboards]\nenabled = true\n[storage]\nenabled = true\n", |world, space| {
        world.app_create(space, None, "One", vec![paragraph("a", "words")]);
    })
}

/// What the doctor says, each as `level check: what → mend`, and its exit code.
fn says(bench: &Bench) -> (i32, Vec<String>) {
    let told = bench.tell(&["doctor", "--json"]);
    let value: Value = serde_json::from_str(&told.out).unwrap_or_else(|error| panic!("{error}: {told:?}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = value["checks"].as_array().unwrap().iter().map(|one| {
        format!(
            "{} {}: {} → {}",
            text(&one["level"]),
            text(&one["check"]),
            text(&one["what"]),
            text(&one["mend"])
        )
    });
    (told.code, lines.filter(|line| !line.contains("search: the service does not show it")).collect())
}

#[track_caller]
fn check(bench: &Bench, level: &str, area: &str, words: &str, mend: &str) {
    let (code, lines) = says(bench);
    let found = lines.iter().any(|line| {
        line.starts_with(&format!("{level} {area}: ")) && line.contains(words) && line.contains(mend)
    });
    assert!(found, "{level} {area}: {words} → {mend}\n{lines:#?}");
    assert!(if level == "fail" { code == 1 } else { code != 0 }, "{code}\n{lines:#?}");
}

#[test]
fn when_all_is_well_the_doctor_says_so_and_changes_nothing() {
    let bench = bench();
    // Before the first run: nothing is made by looking.
    let (_, lines) = says(&bench);
    assert!(lines.iter().all(|line| line.starts_with("ok ")), "{lines:#?}");
    assert!(!bench.state().exists() && !bench.root().exists());
    let daemon = bench.run_in_step();
    let before = bench.files();
    bench.forget_requests();
    let (_, lines) = says(&bench);
    assert!(lines.iter().all(|line| line.starts_with("ok ")), "{lines:#?}");
    for words in [
        "espejo runs, process ",
        "is intact, version ",
        "agree on the time",
        "pages, whiteboards, presentations",
    ] {
        assert!(lines.iter().any(|line| line.contains(words)), "{words}\n{lines:#?}");
    }
    assert_eq!((bench.writes(), bench.files()), (Vec::new(), before));
    let told = bench.tell(&["doctor"]);
    assert!(told.out.starts_with("espejo ") && told.out.contains("ok    config"), "{told:?}");
    bench.rest(daemon);
}

#[test]
fn a_config_or_token_that_is_not_there_or_broken_is_told_with_its_mend() {
    let home = tempfile::tempdir().unwrap();
    let told = Told::of(bare(home.path()).arg("doctor").output().unwrap());
    assert!(told.code == 1 && told.out.contains("there is no config at"), "{told:?}");
    assert!(told.out.contains("→ run espejo init") && told.out.contains("watches"), "{told:?}");
    assert!(fs::read_dir(home.path()).unwrap().next().is_none(), "something was made");

    let bench = bench();
    let (config, token) = (bench.outside("config.toml"), bench.outside("token"));
    let text = fs::read_to_string(&config).unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    check(&bench, "fail", "token", "others can read the token", "espejo init");
    fs::remove_file(&token).unwrap();
    check(&bench, "fail", "token", "cannot be read", "espejo init");
    save(&config, &text.replace("base_url", "base_ulr"));
    check(&bench, "fail", "config", "did you mean \"base_url\"", "fix it");
    let mut command = bench.espejo(&["doctor"]);
    save(&config, &text);
    let told = Told::of(command.env("ESPEJO_TOKEN", super::super::bench::TOKEN).output().unwrap());
    assert!(
        told.code == 3 && told.out.contains("warn  token") && told.out.contains("ESPEJO_TOKEN"),
        "{told:?}"
    );
}

#[test]
fn what_the_service_refuses_is_told_by_area() {
    let bench = bench();
    bench.world().set_scope("whiteboards:read", false);
    check(&bench, "fail", "areas", "whiteboards: the service forbids it", "scope whiteboards:read");
    check(&bench, "fail", "areas", "", "or [whiteboards] enabled = false in the config");
    bench.world().set_scope("whiteboards:read", true);
    bench.world().app_freeze_workspace(&bench.space, true);
    // That is the service's matter: it ends no script for ever.
    let (code, lines) = says(&bench);
    assert_eq!(code, 0, "{lines:#?}");
    assert!(
        lines.iter().any(|line| line.starts_with("ok workspaces: ") && line.contains("1 of them frozen")),
        "{lines:#?}"
    );
    bench.world().app_freeze_workspace(&bench.space, false);
    bench.world().fail_next(Matcher::Any, Fault::Status { status: 401, retry_after: None });
    check(&bench, "fail", "service", "refuses the token", "new access token");
    bench.world().fail_next(Matcher::Any, Fault::Page(404));
    check(&bench, "fail", "service", "not an answer of the API", "correct base_url");
    bench.world().app_leave_workspace(&bench.space);
    check(&bench, "fail", "workspaces", "sees no workspace", "ask for access");
}

#[test]
fn a_service_that_is_away_is_told_of_in_seconds() {
    let bench = bench();
    let config = bench.outside("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    save(&config, &text.replace(&bench.base_url(), "http://127.0.0.1:9/api/v1"));
    check(&bench, "fail", "service", "cannot be reached", "edits are pending meanwhile");
    // One that takes the request and never answers is not waited for either.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/api/v1", silent.local_addr().unwrap());
    save(&config, &text.replace(&bench.base_url(), &address));
    check(&bench, "fail", "service", "cannot be reached (no answer)", "check the network");
}

#[test]
fn folder_and_state_that_are_not_as_they_should_be_are_told() {
    let bench = bench();
    save(&bench.root(), "a file");
    check(&bench, "fail", "folder", "is not a folder", "another root");
    fs::remove_file(bench.root()).unwrap();
    bench.sync();
    let marker = bench.root().join(".espejo/marker");
    let text = fs::read_to_string(&marker).unwrap();
    save(&marker, &text.replace("id: ", "id: f"));
    check(&bench, "fail", "folder", "belongs to another mirror", "correct root");
    fs::remove_file(&marker).unwrap();
    check(&bench, "fail", "folder", "has lost its marker", "espejo init");
    save(&marker, &text);
    fs::rename(bench.root(), bench.outside("away")).unwrap();
    check(&bench, "fail", "folder", "is missing, so nothing is written", "is its disk mounted");
    fs::rename(bench.outside("away"), bench.root()).unwrap();
    fs::set_permissions(bench.state(), fs::Permissions::from_mode(0o755)).unwrap();
    check(&bench, "warn", "state", "other users of this machine can read", "chmod 700");
    fs::set_permissions(bench.state(), fs::Permissions::from_mode(0o700)).unwrap();
    bench.tell(&["pause"]);
    check(&bench, "warn", "daemon", "has been paused since", "espejo resume");
    let database = bench.state().join("espejo.sqlite3");
    let whole = fs::read(&database).unwrap();
    super::super::bench::save_bytes(&database, b"not a database at all, but long enough to be looked at");
    let spoilt = fs::read(&database).unwrap();
    check(&bench, "fail", "state", "is damaged", "rebuilds it");
    assert_eq!(fs::read(&database).unwrap(), spoilt, "the doctor mends nothing");
    super::super::bench::save_bytes(&database, &whole);
}

#[test]
fn a_unit_that_leads_nowhere_is_told() {
    let bench = bench();
    let folder = bench.outside(".config/systemd/user");
    fs::create_dir_all(&folder).unwrap();
    save(&folder.join("espejo.service"), "[Service]\nExecStart=/nowhere/espejo run\n");
    check(&bench, "fail", "unit", "starts /nowhere/espejo, which does not exist", "espejo service install");
}

#[test]
fn the_doctor_and_the_daemon_together_stay_within_the_limit() {
    let mut world = World::new(7);
    let space = world.add_workspace("Equipo", "equipo");
    for n in 0..60 {
        world.app_create(&space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
    }
    world.set_limit(Some(24), Window::SlidingLog);
    let bench = Bench::over(world, space, 24, "\n[whiteboards]\nenabled = true\n");
    let daemon = bench.run();
    bench.until("the first mirror has begun", || !bench.requests().is_empty());
    // The background leaves some room; what is over is told and not sent.
    let mut refused = 0;
    for _ in 0..4 {
        let (_, lines) = says(&bench);
        refused += lines.iter().filter(|line| line.contains("this minute's requests are used up")).count();
    }
    assert!(refused > 0, "there is room for all?\n{}", bench.seen());
    daemon.kill();
    // Without a daemon the log in the state is what counts.
    let (_, lines) = says(&bench);
    assert!(lines.iter().any(|line| line.contains("this minute's requests are used up")), "{lines:#?}");
    assert_eq!(bench.world().log().answered(429), 0, "{}", bench.seen());
    assert!(bench.world().log().most_in_any_minute() <= 24);
}

#[test]
fn a_small_limit_is_kept_and_what_was_not_asked_for_it_is_said() {
    let bench = bench();
    bench.write_config(4, "\n[whiteboards]\nenabled = true\n[storage]\nenabled = true\n");
    drop(espejo::store::Store::open(&bench.state()).unwrap());
    let (_, lines) = says(&bench);
    let told =
        |start: &str, words: &str| lines.iter().any(|line| line.starts_with(start) && line.contains(words));
    assert!(told("ok areas: ", "pages, whiteboards can be read"), "{lines:#?}");
    assert!(told("warn areas: ", "4 requests a minute are too few"), "{lines:#?}");
    assert_eq!(bench.requests().len(), 3);
}

#[test]
fn looks_count_only_the_requests_that_they_made() {
    let bench = bench();
    bench.sync();
    let counted = || bench.status()["requests_last_minute"].as_u64().unwrap();
    let refused = Fault::Status { status: 500, retry_after: None };
    bench.world().fail_next(Matcher::Any, refused.clone());
    let before = counted();
    bench.forget_requests();
    // It ends with the first answer.
    bench.tell(&["doctor"]);
    assert_eq!((counted() - before, bench.requests().len()), (1, 1));
    // Beside a daemon that may make sixty a minute: twelve times six would be more.
    bench.write_config(60, "\n[whiteboards]\nenabled = true\n");
    let daemon = bench.run_in_step();
    bench.world().fail_randomly(Matcher::Route("GET".to_owned(), "/workspaces".to_owned()), refused, 1_000);
    for _ in 0..12 {
        check(&bench, "fail", "service", "the service failed with status 500", "wait");
    }
    drop(daemon);
}
