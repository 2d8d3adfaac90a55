//! The past of pages: kept from both sides, listed, compared, put back; and espejo's own acts taken back.

use std::fs;

use serde_json::Value;

use super::agreement::is_conflict_copy;
use super::bench::{Bench, Told, append, block, paragraph, save, side_by_side, words};

const DAY_MS: i64 = 86_400_000;

fn bench() -> Bench {
    Bench::new(|world, space| {
        for n in 0..4 {
            let blocks = vec![paragraph("a", &format!("first line of {n}")), paragraph("b", "second line")];
            world.app_create(space, None, &format!("Page {n}"), blocks);
        }
        let coloured = block("c", "paragraph", "in red", &serde_json::json!({ "textColor": "red" }));
        let odd = block("x", "embed", "", &serde_json::json!({ "board": "b-1" }));
        let blocks = vec![paragraph("a", "plain"), coloured, odd, paragraph("z", "end")];
        world.app_create(space, None, "Coloured", blocks);
    })
}

/// Runs a command on a page's file; it must end with this code, and say no more than one line when it fails.
#[track_caller]
fn on(bench: &Bench, code: i32, command: &str, page: &str, more: &[&str]) -> Told {
    let path = bench.page(page);
    let mut arguments = vec![command];
    if !page.is_empty() {
        arguments.push(path.to_str().unwrap());
    }
    arguments.extend(more);
    let told = bench.tell(&arguments);
    assert_eq!(told.code, code, "{arguments:?}: {told:?}\n{}", bench.seen());
    if code == 1 {
        assert_eq!(told.err.lines().count(), 1, "{told:?}");
    }
    told
}

/// Side, words added and words removed of each version, oldest first.
#[track_caller]
fn versions(bench: &Bench, page: &str) -> Vec<String> {
    let mut all: Vec<String> = history(bench, page)
        .iter()
        .map(|v| {
            let sent = if v["sent"] == true { " sent" } else { "" };
            format!("{}{sent} +{} -{}", v["side"].as_str().unwrap(), v["words_added"], v["words_removed"])
        })
        .collect();
    all.reverse();
    all
}

/// The versions that `log PATH --json` tells, newest first, each once.
#[track_caller]
fn history(bench: &Bench, page: &str) -> Vec<Value> {
    let told = on(bench, 0, "log", page, &["--json"]).out;
    let mut entries: Vec<Value> = serde_json::from_str(&told).expect("one JSON array");
    entries.retain(|entry| !entry["version"].is_null());
    // What renames a page brings no text.
    entries.retain(|entry| !matches!(entry["what"].as_str(), Some("renamed" | "put back")));
    // A page is made, then its text is sent.
    entries.dedup_by(|older, newer| older["what"] == "added" && older["version"] == newer["version"]);
    for entry in &mut entries {
        let version = entry["version"].take();
        for key in ["hash", "side", "sent"] {
            entry[key] = version[key].clone();
        }
    }
    entries
}

/// What names a version, counted from the oldest.
fn number(bench: &Bench, page: &str, at: usize) -> String {
    let all = history(bench, page);
    all[all.len() - 1 - at]["hash"].as_str().unwrap().to_owned()
}

/// Runs something against the state itself, while nothing else does.
fn in_state(bench: &Bench, sql: &str) {
    let db = rusqlite::Connection::open(bench.state().join("espejo.sqlite3")).unwrap();
    db.execute_batch(sql).unwrap();
}

#[test]
fn versions_of_both_sides_are_kept_and_none_when_nothing_changed() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let page = bench.id("Page 1");
    bench
        .world()
        .app_edit(&page, vec![paragraph("a", "first line of 1"), paragraph("b", "edited in the app")]);
    bench.look_again();
    bench.until("it comes down", || bench.text("Page 1.md").contains("edited in the app"));
    append(&bench.page("Page 1.md"), "\nthird line\n");
    bench.until("it goes up", || words(&bench.content("Page 1")).contains("third line"));
    bench.until_in_step();
    let expected = ["service +6 -0", "service +4 -2", "file sent +2 -0"];
    assert_eq!(versions(&bench, "Page 1.md"), expected);
    // Without the ending too, and relative to the root.
    assert_eq!(versions(&bench, "Page 1"), expected);
    let size = bench.status()["history"].clone();
    assert!(size["bytes"].as_u64().unwrap() > 100 && size["versions"] == 7, "{size}");
    assert!(bench.tell(&["status"]).out.contains("history    7 versions in "));
    // Looks, touches, a formatter, full passes: nothing is new.
    let text = bench.text("Page 2.md");
    save(&bench.page("Page 2.md"), &text);
    bench.look_again();
    bench.until_in_step();
    assert_eq!(bench.status()["history"], size);
    bench.rest(daemon);
    assert_eq!(bench.status()["history"], size);
}

#[test]
fn a_file_has_a_past_before_it_is_a_page() {
    let bench = bench();
    bench.sync();
    bench.world().set_token("tok-another-one");
    let daemon = bench.run();
    bench.until("the token is refused", || bench.attention().contains("nothing is sent"));
    for text in ["one\n", "one two\n", "one two three\n"] {
        save(&bench.page("New.md"), text);
        bench.until("it is seen", || {
            history(&bench, "New.md").first().is_some_and(|entry| entry["hash"] == hash_of(text))
        });
    }
    let expected = ["file +1 -0", "file +1 -0", "file +1 -0"];
    assert_eq!(versions(&bench, "New.md"), expected);
    daemon.stop();
    save(&bench.outside("token"), "tok-another-one\n");
    bench.sync();
    assert_eq!(words(&bench.content("New")), "one two three\n");
    assert_eq!(versions(&bench, "New.md"), ["file +1 -0", "file +1 -0", "file sent +3 -0"]);
    assert!(history(&bench, "New.md").iter().all(|v| v["page"] == bench.id("New").to_string()));
}

fn hash_of(text: &str) -> String {
    espejo::model::ContentHash::of(text.as_bytes()).to_hex()
}

#[test]
fn diff_shows_edits_that_are_not_sent_and_nothing_else() {
    let bench = bench();
    bench.sync();
    assert_eq!(on(&bench, 0, "diff", "", &[]).out, "");
    let text = bench.text("Page 1.md");
    append(&bench.page("Page 1.md"), "\nthird line\n");
    // What means nothing new is no difference.
    let other = bench.text("Page 2.md").replace('\n', "\r\n");
    save(&bench.page("Page 2.md"), &other);
    save(&bench.page("New.md"), "a new file\n");
    fs::remove_file(bench.page("Page 3.md")).unwrap();
    fs::rename(bench.page("Page 0.md"), bench.page("Renamed.md")).unwrap();
    // Beside a state that has not seen any of it.
    let told = on(&bench, 0, "diff", "", &[]);
    assert!(told.out.contains("+++ b/Equipo/Pages/Page 1.md\n"), "{}", told.out);
    assert!(told.out.contains(" second line\n+\n+third line\n"), "{}", told.out);
    assert!(told.out.contains("+++ /dev/null\n") && told.out.contains("-first line of 3\n"), "{}", told.out);
    assert!(!told.out.contains("Page 2") && !told.out.contains('\u{1b}'), "{}", told.out);
    assert_eq!(on(&bench, 0, "diff", "Page 2.md", &[]).out, "");
    // One that patch(1) takes.
    let one = on(&bench, 0, "diff", "Page 1.md", &[]).out;
    let file = bench.outside("Page 1.md");
    save(&file, &text);
    save(&bench.outside("the.diff"), &one);
    let patch =
        std::process::Command::new("patch").arg("-s").arg(&file).arg(bench.outside("the.diff")).status();
    if patch.is_ok_and(|status| status.success()) {
        assert_eq!(fs::read_to_string(&file).unwrap(), bench.text("Page 1.md"));
    }
    let first = number(&bench, "Page 1.md", 0);
    assert_eq!(
        on(&bench, 0, "diff", "Page 1.md", &["--at", &first]).out.lines().skip(2).collect::<Vec<_>>(),
        one.lines().skip(2).collect::<Vec<_>>()
    );
    bench.tell(&["sync"]);
    assert_eq!(on(&bench, 0, "diff", "", &[]).out, "");
    let told = on(&bench, 0, "diff", "Page 1.md", &["--at", &first]);
    assert!(told.out.contains("+third line"), "{}", told.out);
}

#[test]
fn a_version_is_put_back_with_what_markdown_cannot_say() {
    side_by_side([true, false], |beside_daemon| {
        let bench = bench();
        let daemon = bench.run_in_step();
        let before = bench.content("Coloured");
        let text = bench.text("Coloured.md");
        save(&bench.page("Coloured.md"), "everything is gone\n");
        bench.until("it is sent", || words(&bench.content("Coloured")) == "everything is gone\n");
        bench.until_in_step();
        let daemon = if beside_daemon {
            Some(daemon)
        } else {
            assert_eq!(daemon.stop().code(), Some(0));
            None
        };
        // Words that nobody has seen yet are kept before they are replaced.
        append(&bench.page("Coloured.md"), "\nand more\n");
        let first = number(&bench, "Coloured.md", 0);
        let told = on(&bench, 0, "restore", "Coloured.md", &["--at", &first]);
        assert!(
            told.out.contains("is restored as it was on") && told.out.contains("espejo undo"),
            "{told:?}"
        );
        assert_eq!(body_of(&bench.text("Coloured.md")), body_of(&text));
        if daemon.is_none() {
            bench.sync();
        }
        bench.until("it is sent as an edit", || bench.content("Coloured") == before);
        bench.until_in_step();
        assert!(history(&bench, "Coloured.md").iter().any(|v| v["side"] == "file" && v["words_added"] == 2));
        assert_eq!(on(&bench, 0, "restore", "Coloured.md", &["--at", &first]).out.lines().count(), 1);
        match daemon {
            Some(daemon) => bench.rest(daemon),
            None => bench.rests(),
        }
    });
}

/// A file's text without its front matter.
fn body_of(text: &str) -> &str {
    text.strip_prefix("---\n")
        .and_then(|rest| rest.split_once("---\n"))
        .map_or(text, |(_, body)| body)
        .trim_start()
}

#[test]
fn versions_are_found_by_number_hash_and_time() {
    let bench = bench();
    bench.sync();
    for text in ["one\n", "two\n"] {
        save(&bench.page("Page 1.md"), text);
        bench.sync();
    }
    // An hour between them, as if.
    in_state(
        &bench,
        "UPDATE history_versions SET at = at - 3600000 *
           (SELECT count(*) FROM history_versions l WHERE l.page = history_versions.page
            AND l.number > history_versions.number)",
    );
    let all = history(&bench, "Page 1.md");
    let shown = |at: &str| on(&bench, 0, "diff", "Page 1.md", &["--at", at]).out;
    let hash = all[1]["hash"].as_str().unwrap();
    for at in
        [&all[1]["number"].to_string(), &format!("#{}", all[1]["number"]), hash, &hash[..8], "30 minutes ago"]
    {
        assert!(shown(at).contains("-one\n+two\n"), "{at}: {}", shown(at));
    }
    assert!(shown("90 minutes").contains("-first line of 1"), "{}", shown("90 minutes"));
    for (at, why) in [
        ("5 days", "the oldest version of Equipo/Pages/Page 1.md is from"),
        ("987654321", "is neither a change nor a version of"),
        ("whenever", "is neither a change nor a version of"),
    ] {
        for command in ["diff", "restore"] {
            let told = on(&bench, 1, command, "Page 1.md", &["--at", at]);
            assert!(told.err.contains(why), "{told:?}");
        }
    }
    let told = on(&bench, 1, "diff", "Nowhere.md", &["--at", "1"]);
    assert!(told.err.contains("no version of Equipo/Pages/Nowhere.md"), "{told:?}");
    // A number is the change that undo takes back, and restore gives the text after it.
    let of_two = history(&bench, "Page 2.md")[0]["number"].to_string();
    let told = on(&bench, 1, "restore", "Page 1.md", &["--at", &of_two]);
    assert!(told.err.contains("is not about Equipo/Pages/Page 1.md"), "{told:?}");
    let told = bench.tell(&["log", "/etc/passwd"]);
    assert!(told.code == 1 && told.err.contains("is not in the mirror"), "{told:?}");
    assert_eq!(bench.tell(&["diff", "--at", "1"]).code, 2);
}

#[test]
fn a_trashed_page_comes_back_as_a_new_one_and_says_so() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let (by_us, by_them) = (bench.id("Coloured"), bench.id("Page 2"));
    let before = bench.content("Coloured");
    fs::remove_file(bench.page("Coloured.md")).unwrap();
    bench.world().app_trash(&by_them);
    bench.look_again();
    bench.until("both are gone", || bench.is_trashed(&by_us) && !bench.page("Page 2.md").exists());
    bench.until_in_step();
    for (page, side) in [("Coloured", "trash-there"), ("Page 2", "trash-here")] {
        let file = format!("{page}.md");
        assert_eq!(history(&bench, &file)[0]["side"], side);
        let last = history(&bench, &file)[0]["hash"].as_str().unwrap().to_owned();
        // Without --at it is the last version, too.
        let at = ["--at", last.as_str()];
        let told = on(&bench, 0, "restore", &file, if page == "Coloured" { &at } else { &[] });
        assert!(told.out.contains("is restored as a new page"), "{told:?}");
    }
    bench.until("they are new pages", || {
        ["Coloured", "Page 2"].iter().all(|page| bench.count(page) == 1 && !bench.content(page).is_empty())
    });
    bench.until_in_step();
    assert!(bench.is_trashed(&by_us) && bench.id("Coloured") != by_us && bench.id("Page 2") != by_them);
    assert_eq!(words(&bench.content("Page 2")), "first line of 2\nsecond line\n");
    // With its colours; with ids of its own, because the trashed page may be brought back in the app.
    let without_ids = |blocks: &[Value]| -> Vec<Value> {
        blocks
            .iter()
            .cloned()
            .map(|mut block| {
                block["id"] = Value::Null;
                block
            })
            .collect()
    };
    let after = bench.content("Coloured");
    assert_eq!(without_ids(&after), without_ids(&before));
    assert!(after.iter().all(|block| !before.iter().any(|old| old["id"] == block["id"])));
    // The past of both is listed under the one path.
    assert!(history(&bench, "Coloured.md").len() >= 3, "{:?}", versions(&bench, "Coloured.md"));
    bench.rest(daemon);
}

#[test]
fn held_deletions_and_spoilt_files_are_put_back() {
    side_by_side([true, false], |beside_daemon| {
        let bench = Bench::with("max_deletes = 2", |world, space| {
            for n in 0..20 {
                let page = world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
                world.app_create(space, Some(&page), "Below", vec![paragraph("a", "below")]);
            }
        });
        let daemon = bench.run_in_step();
        let text = bench.text("Page 0.md").replace("words", "words of *mine*");
        save(&bench.page("Page 0.md"), &text);
        bench.until("it is sent", || words(&bench.content("Page 0")).contains("mine"));
        bench.until_in_step();
        let files = bench.files();
        bench.forget_requests();
        for n in 0..10 {
            fs::remove_file(bench.page(&format!("Page {n}.md"))).unwrap();
            if n % 2 == 0 {
                fs::remove_dir_all(bench.page(&format!("Page {n}"))).unwrap();
            }
        }
        save(&bench.page("Page 12.md"), "");
        bench.until("both are told", || {
            let told = bench.attention();
            told.contains("deletions are on hold") && told.contains("Page 12.md")
        });
        let daemon = if beside_daemon {
            Some(daemon)
        } else {
            assert_eq!(daemon.stop().code(), Some(0));
            None
        };
        // One page with what is beneath it, then all the rest.
        let told = on(&bench, 0, "restore", "Page 0", &[]);
        assert_eq!(told.out.matches("is restored").count(), 2, "{told:?}");
        let told = on(&bench, 0, "restore", "", &[]);
        assert!(told.out.contains("Page 12.md") && told.out.contains("Page 9.md"), "{told:?}");
        let texts = |files: std::collections::BTreeMap<String, super::bench::Seen>| {
            files
                .into_iter()
                .map(|(path, seen)| (path, String::from_utf8(seen.bytes).unwrap()))
                .collect::<Vec<_>>()
        };
        assert_eq!(texts(bench.files()), texts(files));
        if daemon.is_none() {
            bench.sync();
        }
        bench.until("nothing needs the user", || bench.attention().is_empty());
        bench.until_in_step();
        assert_eq!(bench.writes(), Vec::<String>::new());
        let told = on(&bench, 1, "restore", "", &[]);
        assert!(told.err.contains("waiting to be restored"), "{told:?}");
        let told = on(&bench, 1, "restore", "Page 3.md", &[]);
        assert!(told.err.contains("--at NUMBER"), "{told:?}");
        match daemon {
            Some(daemon) => bench.rest(daemon),
            None => bench.rests(),
        }
    });
}

#[test]
fn undo_takes_back_what_was_sent_and_what_came_and_twice_brings_it_again() {
    let bench = bench();
    assert!(bench.tell(&["undo"]).err.contains("there is no mirror yet"));
    let daemon = bench.run_in_step();
    let told = bench.tell(&["undo"]);
    assert!(told.code == 1 && told.err.contains("cannot be undone here (the app added"), "{told:?}");
    let undo = |what: &str| {
        let would = on(&bench, 0, "undo", "", &["--dry-run"]);
        assert!(would.out.contains(what), "{would:?}");
        let told = on(&bench, 0, "undo", "", &[]);
        assert!(told.out.contains(what), "{told:?}");
    };
    let before = bench.content("Coloured");
    let text = bench.text("Coloured.md");
    save(&bench.page("Coloured.md"), &text.replace("in red", "in blue").replace("plain", "simple"));
    let in_blue = || words(&bench.content("Coloured")).contains("in blue");
    bench.until("it is sent", in_blue);
    bench.until_in_step();
    undo("you edited Equipo/Pages/Coloured.md");
    bench.until("it is taken back, colours and all", || bench.content("Coloured") == before);
    bench.until_in_step();
    undo("you undid a change in Equipo/Pages/Coloured.md");
    bench.until("it is there again", in_blue);
    bench.until_in_step();
    // What was changed since stays; it is not sent before the undo.
    assert_eq!(bench.tell(&["pause"]).code, 0);
    append(&bench.page("Coloured.md"), "\nwritten since\n");
    undo("you undid a change in Equipo/Pages/Coloured.md");
    assert_eq!(bench.tell(&["resume"]).code, 0);
    bench.until("the newer words stay", || {
        words(&bench.content("Coloured")) == "plain\nin red\n\nend\nwritten since\n"
    });
    bench.until_in_step();
    // A change of others.
    let page = bench.id("Page 1");
    let old = bench.content("Page 1");
    bench.world().app_edit(&page, vec![paragraph("a", "theirs"), paragraph("b", "second line")]);
    bench.look_again();
    bench.until("it comes down", || bench.text("Page 1.md").contains("theirs"));
    bench.until_in_step();
    undo("the app edited Equipo/Pages/Page 1.md");
    bench.until("it is taken back on both sides", || bench.content("Page 1") == old);
    bench.until_in_step();
    bench.rest(daemon);
}

#[test]
fn undo_takes_back_names_and_says_where_it_cannot() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let undo = || on(&bench, 0, "undo", "", &[]);
    let refused = |why: &str| {
        let told = on(&bench, 1, "undo", "", &[]);
        assert!(told.err.contains(why), "{told:?}");
        told.err
    };
    // Ours, then theirs.
    fs::rename(bench.page("Page 1.md"), bench.page("Ours.md")).unwrap();
    bench.until("it is renamed", || bench.count("Ours") == 1);
    bench.until_in_step();
    undo();
    bench.until("it has its name again", || bench.count("Page 1") == 1 && bench.page("Page 1.md").exists());
    bench.until_in_step();
    let page = bench.id("Page 2");
    bench.world().app_rename(&page, "Theirs");
    bench.look_again();
    bench.until("the file follows", || bench.page("Theirs.md").exists());
    bench.until_in_step();
    undo();
    bench
        .until("both have the name again", || bench.count("Page 2") == 1 && bench.page("Page 2.md").exists());
    bench.until_in_step();
    save(&bench.page("Made.md"), "made\n");
    bench.until("it is a page", || {
        bench.titled("Made").is_some_and(|id| !bench.record(&id).content.is_empty())
    });
    bench.until_in_step();
    // Its text was sent last, and before that the page was made.
    let page = bench.id("Page 3");
    fs::remove_file(bench.page("Page 3.md")).unwrap();
    bench.until("its page is trashed", || bench.is_trashed(&page));
    bench.until_in_step();
    let told = refused("the API cannot restore a page from the trash");
    // What it says can be typed.
    let command =
        told.split("with espejo ").nth(1).or_else(|| told.split("page with espejo ").nth(1)).unwrap();
    let line = format!(
        "{} --config {} {}",
        env!("CARGO_BIN_EXE_espejo"),
        bench.outside("config.toml").display(),
        command
    );
    let status =
        std::process::Command::new("sh").arg("-c").arg(line).current_dir(bench.root()).status().unwrap();
    assert!(status.success(), "{told}");
    bench.until("it is back", || bench.count("Page 3") == 1 && !bench.content("Page 3").is_empty());
    bench.until_in_step();
    assert!(!bench.files().keys().any(|path| is_conflict_copy(path)));
    bench.rest(daemon);
}

#[test]
fn versions_are_kept_as_long_as_the_config_says() {
    let bench = Bench::with("history_days = 10", |world, space| {
        world.app_create(space, None, "Page", vec![paragraph("a", "zero")]);
    });
    bench.sync();
    for text in ["one\n", "two\n", "three\n"] {
        save(&bench.page("Page.md"), text);
        bench.sync();
    }
    assert_eq!(history(&bench, "Page.md").len(), 4);
    in_state(&bench, &format!("UPDATE history_versions SET at = at - {} WHERE number <= 2", 9 * DAY_MS));
    bench.sync();
    assert_eq!(history(&bench, "Page.md").len(), 4);
    in_state(&bench, &format!("UPDATE history_versions SET at = at - {} WHERE number <= 2", 2 * DAY_MS));
    bench.sync();
    assert_eq!(history(&bench, "Page.md").len(), 2);
    // However old, the newest stays, and can be put back.
    in_state(&bench, &format!("UPDATE history_versions SET at = at - {}", 1_000 * DAY_MS));
    bench.sync();
    let left = history(&bench, "Page.md");
    assert_eq!((left.len(), left[0]["hash"].as_str()), (1, Some(&*hash_of("three\n"))));
    save(&bench.page("Page.md"), "four\n");
    bench.sync();
    on(&bench, 0, "restore", "Page.md", &["--at", left[0]["hash"].as_str().unwrap()]);
    assert_eq!(bench.text("Page.md"), "three\n");
}

#[test]
fn a_clock_that_leaps_ahead_is_believed_a_day_later() {
    let bench = Bench::with("history_days = 10\ntrash_days = 10", |world, space| {
        for n in 0..12 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "zero")]);
        }
    });
    bench.sync();
    save(&bench.page("Page 1.md"), "one\n");
    bench.sync();
    // Everything that espejo knows is of a year ago: the clock has leapt, or the machine was off.
    let year = 365 * DAY_MS;
    in_state(
        &bench,
        &format!(
            "UPDATE history_versions SET at = at - {year};
             UPDATE meta SET value = value - {year} WHERE key IN ('clock_believed', 'clock_leapt') AND value <> ''"
        ),
    );
    let day = |days: i64| {
        let at = espejo::daemon::wall_now().plus_ms(-days * DAY_MS);
        jiff::Timestamp::from_millisecond(at.0).unwrap().strftime("%Y-%m-%d").to_string()
    };
    let trashed = bench.root().join(".espejo/trash").join(day(366)).join("Equipo/Gone.md");
    fs::create_dir_all(trashed.parent().unwrap()).unwrap();
    save(&trashed, "thrown away the day before\n");
    let versions = |count: usize| assert_eq!(history(&bench, "Page 1.md").len(), count, "{}", bench.seen());
    for _ in 0..2 {
        bench.sync();
        versions(2);
        assert!(trashed.exists());
    }
    // It stands for a day: then it is the time.
    in_state(&bench, &format!("UPDATE meta SET value = value - {DAY_MS} - 1 WHERE key = 'clock_leapt'"));
    let daemon = bench.run_in_step();
    bench.until("what is over goes", || !trashed.exists());
    versions(1);
    assert_eq!(daemon.stop().code(), Some(0));
    // Set back: nothing is older than it was.
    in_state(&bench, &format!("UPDATE meta SET value = value + {year} WHERE key = 'clock_believed'"));
    save(&bench.page("Page 1.md"), "two\n");
    bench.sync();
    versions(2);
}
