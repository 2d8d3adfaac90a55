//! Every code of `docs/attention.md` as a real state of the program: what `status`, the log and the exit code make of it, and
//! that the document says the same.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use espejo::emulator::{Contents, Fault, Matcher, World};
use espejo::model::{Code, Level, WorkspaceId};
use serde_json::{Value, json};

use super::bench::{Bench, Daemon, append, paragraph, save, side_by_side, words};
use super::boards::kick_off;
use super::networks::{proxy_with_a_login, serve_from};
use super::sick::limited;
use super::state::copy;
use super::storage::{BACKUP, bytes, stored};
use super::storage_kills::take_for_unchanged;
use super::storage_send::{BOTH, write};

const CANVASES: &str = "[whiteboards]\nenabled = true\n[presentations]\nenabled = true\n";

/// Codes that no test of a user can bring about, and why. It may only become shorter: what is made here has no place in it.
const NOT_MADE: &[(Code, &str)] = &[
    (Code::DiskFull, "it takes a disk of its own; tried where a test may mount one, in `sick`"),
    (Code::Internal, "it takes a fault of the program; `faults` plants one in each pure step"),
    (Code::DiskAway, "it takes a disk of its own that is taken away"),
    (
        Code::NotWritten,
        "it takes a folder that may not be written to, and whoever is root may write everywhere",
    ),
];
const NOT_MADE_MOST: usize = 4;

/// How a state comes about.
struct Case {
    code: Code,
    /// What mends it, as `status` says it, digits aside.
    mend: &'static str,
    /// What the config's `[pages]` has, and what goes on.
    config: &'static str,
    make: fn(&Bench),
    /// Whether a daemon runs meanwhile, or one pass is made after it.
    runs: bool,
    /// Starts the daemon; `None` where it cannot be started so.
    start: fn(&Bench) -> Option<Daemon>,
}

fn fill(world: &mut World, space: &WorkspaceId) {
    for n in 0..12 {
        world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
    }
    let folder = world.app_create(space, None, "Folder", vec![]);
    world.app_create(space, Some(&folder), "Inner", vec![paragraph("a", "words")]);
    let mut toggle = paragraph("t", "fold");
    toggle["type"] = json!("toggleListItem");
    world.app_create(space, None, "Toggle", vec![toggle]);
    kick_off(world, space);
    world.app_create_board(space, "Other");
    world.app_put_file(None, "a.txt", bytes("theirs"));
    world.app_put_file(None, "b.txt", bytes("theirs"));
}

/// A program that never reads again saves its old text over a line of the app, so many times.
fn save_old_text(bench: &Bench, times: usize) {
    let (id, old) = (bench.id("Page 1"), bench.text("Page 1.md"));
    let inode = || fs::metadata(bench.page("Page 1.md")).unwrap().ino();
    let mut before = inode();
    let theirs = [bench.content("Page 1"), vec![paragraph("c", "a line of theirs")]].concat();
    bench.world().app_edit(&id, theirs);
    bench.look_again();
    for n in 0..times {
        // Told without opening the file: that would be a program that reads it.
        bench.until("the file has it", || inode() != before);
        before = inode();
        save(&bench.page("Page 1.md"), &format!("{}\nmine {n}\n", old.trim_end()));
        bench.until("it is sent", || words(&bench.content("Page 1")).contains(&format!("mine {n}")));
    }
    bench.until("it is told", || bench.attention().contains("old"));
}

fn pages(bench: &Bench) -> Vec<espejo::model::PageId> {
    bench.world().visible_pages(&bench.space).iter().map(|page| page.id.clone()).collect()
}

fn fail(bench: &Bench, method: &str, path: &str, fault: Fault) {
    bench.world().fail_randomly(Matcher::Route(method.to_owned(), path.to_owned()), fault, 1_000);
}

fn status(status: u16) -> Fault {
    Fault::Status { status, retry_after: None }
}

const APP: &str = "check the app; espejo approve removes the files; if you get access again, they stay";
const IN_THE_WAY: &str = "put the file or folder back, or ignore it; espejo approve with this path sends what was there to the service's trash";
const OPERATOR: &str = "nothing is lost; tell the service's operator if this continues";

fn cases() -> Vec<Case> {
    let pass = |code, mend, make| Case { code, mend, config: "", make, runs: false, start: in_step };
    let runs = |code, mend, make| Case { code, mend, config: "", make, runs: true, start: in_step };
    let with = |config, case: Case| Case { config, ..case };
    vec![
        pass(
            Code::TokenRefused,
            "create a new access token in the app's settings and run espejo init: a running espejo uses the token within # \
             minutes",
            |bench| bench.world().set_token("tok-another-0123456789"),
        ),
        Case {
            start: |bench| {
                let proxy = format!("proxy = {:?}", proxy_with_a_login());
                serve_from(bench, "https://service.invalid/api/v1", &proxy);
                Some(bench.run())
            },
            ..runs(
                Code::CannotConnect,
                "put them into the proxy's address, as in proxy = \"http://NAME:PASSWORD@HOST:PORT\" in the config, or in HTTPS_PROXY",
                |_| {},
            )
        },
        runs(
            Code::FolderUnusable,
            "restore the folder; to start again, move the state folder away (espejo status names it)",
            |bench| fs::rename(bench.root(), bench.outside("away")).unwrap(),
        ),
        pass(Code::DeletionsHeld, "restore the files, or run espejo approve", |bench| {
            (0..12).for_each(|n| fs::remove_file(bench.page(&format!("Page {n}.md"))).unwrap());
        }),
        pass(Code::CreationsHeld, "remove the files, or run espejo approve", |bench| {
            (0..101).for_each(|n| save(&bench.page(&format!("New {n}.md")), "words"));
        }),
        runs(Code::RemovalsHeld, APP, |bench| {
            for id in pages(bench) {
                bench.world().app_hide(&id, true);
            }
            bench.ask("\"full-pass\"");
        }),
        runs(
            Code::WorkspaceGone,
            "ask for access, or remove the folder and its workspace from the config",
            |bench| {
                bench.world().app_leave_workspace(&bench.space);
                bench.ask("\"full-pass\"");
            },
        ),
        pass(
            Code::NotSent,
            "repair the file (or run espejo approve, if you intend this); the service's version is safe",
            |bench| save(&bench.page("Page 1.md"), ""),
        ),
        pass(Code::Refused, "edit the file or the page; espejo retries at ##:##:##", |bench| {
            bench.world().fail_randomly(Matcher::Method("PATCH".to_owned()), status(400), 1_000);
            append(&bench.page("Page 1.md"), "\nmine\n");
        }),
        with(
            BOTH,
            pass(Code::WentBack, "delete it, or run espejo approve to send it", |bench| {
                write(bench, "mine.txt", b"mine");
                bench.tell(&["sync"]);
                let old = bench.outside("old");
                copy(&bench.root(), &old);
                fs::remove_file(stored(bench, "mine.txt")).unwrap();
                bench.tell(&["sync"]);
                fs::remove_dir_all(bench.root()).unwrap();
                copy(&old, &bench.root());
            }),
        ),
        pass(
            Code::FolderOlder,
            "espejo restore restores the newer texts; espejo approve accepts the files as they are",
            older_folder,
        ),
        runs(Code::Unwritable, "edit the file or the page; espejo then retries", |bench| {
            let id = bench.id("Page 1");
            save(&bench.page("Page 1.md"), &format!("---\n{{id: {id}, tags: [a]}}\n---\nwords\n"));
            bench.until_in_step();
            bench.world().app_rename(&id, "a/b");
            bench.look_again();
        }),
        pass(
            Code::Conflict,
            "espejo resolve shows it; settle it with --mine, --theirs, --both or --edit",
            |bench| {
                let id = bench.id("Page 1");
                bench.world().app_edit(&id, vec![paragraph("a", "theirs")]);
                save(&bench.page("Page 1.md"), &bench.text("Page 1.md").replace("words", "mine"));
            },
        ),
        pass(Code::UnknownWorkspace, "correct its name in the config, or ask for access", |bench| {
            append(&bench.outside("config.toml"), "[[workspace]]\nslug = \"nowhere\"\n");
        }),
        pass(Code::BadPattern, "fix the line", |bench| {
            save(&bench.root().join(".espejoignore"), "Secret.md\n[z-a].md\n");
        }),
        pass(Code::Unlisted, "espejo approve removes the file", |bench| {
            fail(bench, "GET", "/pages", Fault::ShortList);
        }),
        pass(Code::UnknownPages, "run espejo approve to create new pages for them", |bench| {
            for n in 0..12 {
                let text = format!("---\nid: 00000000-0000-4000-8000-{n:012}\n---\nwords\n");
                save(&bench.page(&format!("Strange {n}.md")), &text);
            }
        }),
        pass(Code::Unreadable, "rename it", |bench| {
            save(&bench.root().join("Equipo/Pages").join(OsStr::from_bytes(b"caf\xe9.md")), "words");
        }),
        with(
            BOTH,
            pass(Code::NotUploaded, "put it into a .zip file, or keep it here only", |bench| {
                write(bench, "page.html", b"<p>words")
            }),
        ),
        with(
            BACKUP,
            pass(
                Code::StorageForbidden,
                "check the plan and the token's scopes; espejo retries at ##:##:##",
                |bench| bench.world().set_scope("storage:read", false),
            ),
        ),
        with(
            "[[workspace]]\nslug = \"Equipo\"\nmode = \"two-way\"\n",
            pass(
                Code::RenamedWorkspace,
                "nothing to do; you can write its new name into the config",
                |bench| {
                    bench.world().app_rename_workspace(&bench.space, "Acme");
                },
            ),
        ),
        with(
            BOTH,
            pass(
                Code::NoWorkspace,
                "name a workspace that is not frozen as workspace in [storage]",
                |bench| {
                    bench.world().app_freeze_workspace(&bench.space, true);
                    write(bench, "new.txt", b"mine");
                },
            ),
        ),
        with(
            BACKUP,
            pass(Code::InTheWay, IN_THE_WAY, |bench| {
                fs::remove_file(stored(bench, "a.txt")).unwrap();
                fs::create_dir(stored(bench, "a.txt")).unwrap();
            }),
        ),
        with(
            BACKUP,
            pass(
                Code::KeptBeside,
                "copy what you need from it, then delete it (with mode = \"two-way\" you can also rename it, and it is uploaded)",
                |bench| write(bench, "a.txt", b"mine!!"),
            ),
        ),
        runs(Code::Outage, "nothing to do: espejo retries, and edits are pending", |bench| {
            bench.world().fail_randomly(Matcher::Any, Fault::LostBefore, 1_000);
            append(&bench.page("Page 1.md"), "\nmine\n");
        }),
        runs(Code::Failing, "nothing to do: espejo retries at ##:##:##", |bench| {
            bench.world().fail_randomly(Matcher::Method("PATCH".to_owned()), status(500), 1_000);
            append(&bench.page("Page 1.md"), "\nmine\n");
        }),
        runs(Code::Unclear, OPERATOR, |bench| {
            fail(bench, "GET", "/pages", Fault::SpoiltEntry);
            bench.ask("\"full-pass\"");
        }),
        pass(Code::ReadOnly, "edits are pending until the workspace is writable again", |bench| {
            bench.world().app_freeze_workspace(&bench.space, true);
            append(&bench.page("Page 1.md"), "\nmine\n");
        }),
        pass(Code::Frozen, "nothing to do: no edit is pending", |bench| {
            bench.world().app_freeze_workspace(&bench.space, true);
        }),
        Case {
            start: |bench| {
                let beneath = limited("3 > /proc/sys/user/max_inotify_watches")?;
                Some(bench.run_beneath(&beneath.iter().map(String::as_str).collect::<Vec<_>>()))
            },
            ..runs(
                Code::NotWatched,
                "sysctl fs.inotify.max_user_watches=###### (in /etc/sysctl.d for good); espejo tries again within ## minutes",
                |_| {},
            )
        },
        pass(Code::PutBack, "move it in the app, or set moves = \"recreate\" in [pages]", |bench| {
            fs::rename(bench.page("Page 1.md"), bench.page("Folder/Page 1.md")).unwrap()
        }),
        pass(Code::CameBack, "delete the files of its subpages too, if you intend this", |bench| {
            fs::remove_file(bench.page("Folder.md")).unwrap();
        }),
        runs(Code::Overwritten, "reload the page in the app", |bench| {
            let (id, old) = (bench.id("Page 1"), bench.content("Page 1"));
            append(&bench.page("Page 1.md"), "\nmine\n");
            bench.until("it is sent", || words(&bench.content("Page 1")).contains("mine"));
            bench.until_in_step();
            // Exactly the old text could be an older read.
            bench.world().app_edit(&id, [old, vec![paragraph("t", "typed")]].concat());
            bench.look_again();
        }),
        runs(Code::StaleSave, "nothing to do; espejo undo ## removes them", |bench| save_old_text(bench, 1)),
        runs(
            Code::StaleEditor,
            "reload the file in that program; espejo then writes what the page has",
            |bench| save_old_text(bench, 3),
        ),
        pass(
            Code::Difference,
            "espejo resolve FILE --mine sends the line as it is; --theirs writes the service's line into the file",
            |bench| save(&bench.page("Toggle.md"), &bench.text("Toggle.md").replace("+ fold", "- fold")),
        ),
        pass(Code::AlikeNames, "rename one of them", |bench| save(&bench.page("page 1.md"), "mine\n")),
        pass(Code::OnlyHere, "insert it in the app, or put it into Storage and use its address", |bench| {
            append(&bench.page("Page 1.md"), "\n![a picture](picture.png)\n");
        }),
        with(
            BACKUP,
            pass(Code::Damaged, "check the disk", |bench| {
                let path = stored(bench, "a.txt");
                let time = fs::metadata(&path).unwrap().modified().unwrap();
                write(bench, "a.txt", b"thEirs");
                fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
                take_for_unchanged(bench, "a.txt");
                bench.tell(&["sync", "--deep"]);
            }),
        ),
        with(
            "[storage]\nmode = \"backup\"",
            pass(Code::OddSize, "nothing, unless the file is incomplete in the app too", |bench| {
                let id = bench.world().app_put_file(None, "odd.txt", bytes("what it holds"));
                bench.world().app_change_file(&id, |file| file.told_size = Some(3));
            }),
        ),
        with(
            "[storage]\nmode = \"backup\"\nmax_download_mb = 1",
            pass(
                Code::NotFetched,
                "nothing to do; espejo list shows them as too large, and a higher max_download_mb in [storage] fetches them",
                |bench| {
                    bench.world().app_put_file(None, "large.bin", Contents::Bytes(vec![b'x'; 1_500_000]));
                },
            ),
        ),
        pass(
            Code::StaysHere,
            "nothing to do; espejo diff shows the differences, and mode = \"two-way\" sends them",
            |bench| {
                append(&bench.outside("config.toml"), "[[workspace]]\nslug = \"equipo\"\nmode = \"down\"\n");
                append(&bench.page("Page 1.md"), "\nmine\n");
            },
        ),
        pass(Code::StateOlder, "nothing to do, if you restored a backup of the state", |bench| {
            copy(&bench.state(), &bench.outside("old state"));
            bench.tell(&["sync"]);
            fs::remove_dir_all(bench.state()).unwrap();
            fs::rename(bench.outside("old state"), bench.state()).unwrap();
        }),
        with(
            CANVASES,
            pass(Code::NoPicture, "rename the file", |bench| {
                save(&bench.board_file("Later.svg"), "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
                let node =
                    json!({ "id": "n", "type": "text", "text": "", "x": 0, "y": 0, "width": 9, "height": 9 });
                save(&bench.board_file("Later.canvas"), &json!({ "nodes": [node] }).to_string());
            }),
        ),
        pass(Code::Earlier, "move it in the app, or set moves = \"recreate\" in [pages]", |bench| {
            fs::rename(bench.page("Page 1.md"), bench.page("Folder/Page 1.md")).unwrap();
            bench.tell(&["sync"]);
            let db = rusqlite::Connection::open(bench.state().join("espejo.sqlite3")).unwrap();
            assert_eq!(
                db.execute("UPDATE notices SET code = ''", []).unwrap(),
                1,
                "as it was before there were codes"
            );
        }),
    ]
}

fn in_step(bench: &Bench) -> Option<Daemon> {
    Some(bench.run_in_step())
}

/// The folder as it was before its last edit.
fn older_folder(bench: &Bench) {
    let old = bench.outside("old");
    copy(&bench.root(), &old);
    append(&bench.page("Page 1.md"), "\nedited since\n");
    bench.tell(&["sync"]);
    fs::remove_dir_all(bench.root()).unwrap();
    copy(&old, &bench.root());
}

/// The row of a code in the document: its level, and what to do.
fn document() -> BTreeMap<&'static str, (&'static str, &'static str)> {
    let text = include_str!("../../../docs/attention.md");
    let row = |line: &'static str| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let code = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
        let (level, _, mend) = (cells.next()?, cells.next()?, cells.next()?);
        Some((code, (level, mend)))
    };
    text.lines().filter_map(row).collect()
}

/// The words after `espejo` in a text that are commands.
fn commands(text: &str) -> Vec<String> {
    let names = text
        .split("espejo ")
        .skip(1)
        .map(|rest| rest.chars().take_while(char::is_ascii_lowercase).collect::<String>());
    let real = ["approve", "init", "resolve", "restore"];
    names.filter(|name| real.contains(&name.as_str())).collect()
}

fn told(bench: &Bench, code: Code) -> Option<Value> {
    let status = bench.status();
    if code == Code::Conflict {
        return status["conflicts"].get(0).cloned();
    }
    let all = status["attention"].as_array().cloned().unwrap_or_default();
    all.into_iter().find(|item| item["code"] == code.name())
}

fn check(case: &Case) {
    let name = case.code.name();
    let bench = Bench::with(case.config, fill);
    let first = bench.tell(&["sync"]);
    assert_eq!(first.code, 0, "{name}: {first:?}\n{}", bench.seen());
    let log = if case.runs {
        let Some(daemon) = (case.start)(&bench) else {
            return;
        };
        (case.make)(&bench);
        bench.until(name, || told(&bench, case.code).is_some());
        bench.until("it is logged", || bench.log().contains(&format!("[{name}]")));
        daemon.kill();
        bench.log()
    } else {
        (case.make)(&bench);
        let pass = bench.tell(&["sync", "-v"]);
        // What stops everything is the end of a pass, too.
        let exit = match case.code.level() {
            Level::Act if case.code.stops_all() => 1,
            Level::Act => 3,
            Level::Waiting => 1,
            Level::Note => 0,
        };
        assert_eq!(pass.code, exit, "{name}: {pass:?}\n{}", bench.seen());
        pass.err
    };
    let Some(item) = told(&bench, case.code) else { panic!("{name} is not told: {log}\n{}", bench.seen()) };
    let level = case.code.level();
    // The document.
    let (level_there, mend_there) = document()[name];
    assert_eq!(level_there, level.name(), "{name}");
    // The log.
    let line = log.lines().find(|line| line.ends_with(&format!("[{name}]")));
    let line = line.unwrap_or_else(|| panic!("{name} is not logged: {log}"));
    let sign = match level {
        Level::Act => Some("error: "),
        Level::Waiting => Some("warning: "),
        Level::Note => None,
    };
    let has = |sign: &str| line.contains(&format!(" {sign}"));
    assert_eq!(
        (has("error: "), has("warning: ")),
        (sign == Some("error: "), sign == Some("warning: ")),
        "{name}: {line}"
    );
    // The exit code: of what has to be acted on, and of nothing else.
    let shown = bench.tell(&["status"]);
    let acts = told_acts(&bench);
    assert_eq!(shown.code, if acts { 3 } else { 0 }, "{name}: {shown:?}");
    assert!(acts || level != Level::Act, "{name}");
    // The mend.
    if case.code != Code::Conflict {
        assert_eq!(item["level"], level.name(), "{name}");
    }
    let action = item["action"].as_str().unwrap_or(case.mend);
    let plain: String = action.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
    assert!(!action.is_empty() && log.contains(action), "{name}: {action:?} is in the log");
    assert_eq!(plain, case.mend, "{name}");
    for command in commands(action) {
        assert!(commands(mend_there).contains(&command), "{name}: {command} is not in {mend_there:?}");
    }
}

fn told_acts(bench: &Bench) -> bool {
    let status = bench.status();
    let acts = |item: &Value| item["level"] == "act";
    status["attention"].as_array().is_some_and(|all| all.iter().any(acts))
        || status["conflicts"].as_array().is_some_and(|all| !all.is_empty())
}

#[test]
fn every_code_comes_about_as_the_document_says() {
    let cases = cases();
    for code in Code::ALL {
        let made = cases.iter().filter(|case| case.code == *code).count();
        let named = NOT_MADE.iter().filter(|(other, _)| other == code).count();
        assert_eq!(made + named, 1, "{}: made here, or named with the reason", code.name());
    }
    assert!(NOT_MADE.len() <= NOT_MADE_MOST, "it may only become shorter");
    // Not all at once: a machine that is busy is slow to say what it has seen.
    for some in cases.chunks(6) {
        side_by_side(some, check);
    }
}
