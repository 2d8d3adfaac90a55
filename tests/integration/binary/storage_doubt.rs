//! An upload whose answer nobody heard, as espejo was killed: the service has the file, and before the next run looks,
//! something happens to it on either side. Whatever that is, it happens to one file.

use std::fs;
use std::os::unix::fs::MetadataExt;

use espejo::emulator::{Fault, Matcher};
use espejo::model::{FileId, FolderId};

use super::bench::{Bench, side_by_side};
use super::storage::{bytes, files, stored, text};
use super::storage_send::{docs_and_three, there, write};

/// What happens meanwhile, how, and the files that both sides hold in the end besides what was there before.
type Case = (&'static str, fn(&Doubt), &'static [(&'static str, &'static str)]);

/// The same for `Docs/a.txt`, and the name that it has in the end.
type NewVersion = (&'static str, fn(&Bench), Option<&'static str>);

/// A file that the service has by an upload of which espejo knows no end.
struct Doubt {
    bench: Bench,
    id: FileId,
    docs: FolderId,
}

/// `Docs/new.txt` is uploaded, and espejo killed before the answer.
fn killed(content: &str) -> Doubt {
    let bench = docs_and_three();
    let docs = bench.world().storage_folders().find(|folder| folder.name == "Docs").unwrap().id.clone();
    bench.world().app_make_folder(None, "Other");
    bench.sync();
    bench.world().fail_next(Matcher::Route("POST".into(), "/storage".into()), Fault::Delay(60_000));
    write(&bench, "Docs/new.txt", content.as_bytes());
    let daemon = bench.run();
    let find =
        || bench.world().storage_files().find(|file| file.filename == "new.txt").map(|file| file.id.clone());
    bench.until("the file is there", || find().is_some());
    let id = find().unwrap();
    daemon.kill();
    bench.note("killed");
    Doubt { bench, id, docs }
}

impl Doubt {
    fn local(&self, path: &str) -> std::path::PathBuf {
        stored(&self.bench, path)
    }

    /// Waits until both sides hold exactly this besides what was there before, and sees that it stays so.
    #[track_caller]
    fn ends(&self, expected: &[(&str, &str)], what: &str) {
        let bench = &self.bench;
        let _daemon = bench.run();
        let old = ["a.txt", "b.txt", "c.txt"];
        let here = || {
            let mut all: Vec<(String, String)> = files(&bench.root().join("Storage"))
                .into_iter()
                .filter(|(path, _)| {
                    !path.ends_with(".pdf") && !old.iter().any(|name| path.ends_with(&format!("/{name}")))
                })
                .map(|(path, held)| (path, String::from_utf8(held).unwrap()))
                .collect();
            all.sort();
            all
        };
        let expected: Vec<(String, String)> =
            expected.iter().map(|(path, held)| ((*path).to_owned(), (*held).to_owned())).collect();
        let there_too = || {
            let mut all: Vec<String> = there(bench)
                .into_iter()
                .filter(|line| {
                    !line.contains(".pdf: ") && !old.iter().any(|name| line.starts_with(&format!("{name}: ")))
                })
                .collect();
            all.sort();
            all
        };
        let mut lines: Vec<String> = expected
            .iter()
            .map(|(path, held)| format!("{}: {held}", path.rsplit('/').next().unwrap()))
            .collect();
        lines.sort();
        bench.until(what, || {
            let storage = &bench.status()["storage"];
            here() == expected && there_too() == lines && storage["local_only"].as_u64() == Some(0)
        });
        bench.until("nothing needs anybody", || bench.attention().is_empty());
        // It stays so.
        bench.look_again();
        bench.sync_any();
        assert_eq!((here(), there_too()), (expected, lines), "{}", bench.seen());
        let posts = bench.writes().iter().filter(|line| **line == "POST /storage").count();
        assert!(posts <= 2, "{}", bench.seen());
    }
}

#[test]
fn an_upload_in_doubt_whose_file_was_renamed_moved_or_deleted_here_is_that_file() {
    let cases: [Case; 6] = [
        (
            "renamed",
            |at| fs::rename(at.local("Docs/new.txt"), at.local("Docs/old.txt")).unwrap(),
            &[("Docs/old.txt", "words")],
        ),
        (
            "moved",
            |at| fs::rename(at.local("Docs/new.txt"), at.local("Other/new.txt")).unwrap(),
            &[("Other/new.txt", "words")],
        ),
        ("deleted", |at| fs::remove_file(at.local("Docs/new.txt")).unwrap(), &[]),
        ("edited", |at| write(&at.bench, "Docs/new.txt", b"other words"), &[("Docs/new.txt", "other words")]),
        (
            "replaced by a file of the same size",
            |at| {
                write(&at.bench, "Docs/new.tmp~", b"sword");
                fs::rename(at.local("Docs/new.tmp~"), at.local("Docs/new.txt")).unwrap();
            },
            &[("Docs/new.txt", "sword")],
        ),
        (
            "renamed and edited",
            |at| {
                fs::rename(at.local("Docs/new.txt"), at.local("Docs/old.txt")).unwrap();
                write(&at.bench, "Docs/old.txt", b"other words");
            },
            &[("Docs/old.txt", "other words")],
        ),
    ];
    side_by_side(cases, |(name, act, expected)| {
        let doubt = killed("words");
        act(&doubt);
        doubt.bench.note(name);
        doubt.ends(expected, name);
    });
}

#[test]
fn an_upload_in_doubt_whose_file_or_folder_was_changed_in_the_app_is_that_file() {
    let cases: [Case; 5] = [
        (
            "its folder renamed",
            |at| {
                assert!(at.bench.world().app_change_folder(&at.docs, |folder| folder.name = "Papers".into()))
            },
            &[("Papers/new.txt", "words")],
        ),
        (
            "its folder moved",
            |at| {
                let other =
                    at.bench.world().storage_folders().find(|it| it.name == "Other").unwrap().id.clone();
                assert!(at.bench.world().app_change_folder(&at.docs, |folder| folder.parent = Some(other)));
            },
            &[("Other/Docs/new.txt", "words")],
        ),
        (
            "renamed",
            |at| assert!(at.bench.world().app_change_file(&at.id, |file| file.filename = "named.txt".into())),
            &[("Docs/named.txt", "words")],
        ),
        (
            "deleted here and then replaced in the app",
            |at| {
                fs::remove_file(at.local("Docs/new.txt")).unwrap();
                assert!(at.bench.world().app_replace_file(&at.id, bytes("the new content of the app")));
            },
            &[("Docs/new.txt", "the new content of the app")],
        ),
        (
            "deleted here and then replaced in the app by as many bytes",
            |at| {
                fs::remove_file(at.local("Docs/new.txt")).unwrap();
                assert!(at.bench.world().app_replace_file(&at.id, bytes("sword")));
            },
            &[("Docs/new.txt", "sword")],
        ),
    ];
    side_by_side(cases, |(name, act, expected)| {
        let doubt = killed("words");
        act(&doubt);
        doubt.bench.note(name);
        doubt.ends(expected, name);
    });
}

#[test]
fn what_happens_to_an_upload_in_doubt_after_the_restart_happens_to_one_file() {
    let cases: [Case; 3] = [
        (
            "renamed",
            |at| fs::rename(at.local("Docs/new.txt"), at.local("Docs/old.txt")).unwrap(),
            &[("Docs/old.txt", "words")],
        ),
        ("deleted", |at| fs::remove_file(at.local("Docs/new.txt")).unwrap(), &[]),
        (
            "deleted here and then replaced in the app",
            |at| {
                fs::remove_file(at.local("Docs/new.txt")).unwrap();
                assert!(at.bench.world().app_replace_file(&at.id, bytes("the new content of the app")));
            },
            &[("Docs/new.txt", "the new content of the app")],
        ),
    ];
    side_by_side(cases, |(name, act, expected)| {
        let doubt = killed("words");
        let daemon = doubt.bench.run();
        let path = doubt.local("Docs/new.txt");
        let object = fs::metadata(&path).unwrap().ino();
        doubt.bench.until("it is in step", || {
            doubt
                .bench
                .list()
                .iter()
                .any(|row| row["path"] == "Storage/Docs/new.txt" && row["state"] == "synced")
        });
        assert_eq!(fs::metadata(&path).unwrap().ino(), object, "it is not fetched");
        daemon.kill();
        act(&doubt);
        doubt.bench.note(name);
        doubt.ends(expected, name);
    });
}

#[test]
fn a_new_version_in_doubt_is_the_file_whatever_happens_to_it() {
    let cases: [NewVersion; 3] = [
        ("nothing", |_| {}, Some("a.txt")),
        (
            "renamed",
            |bench| fs::rename(stored(bench, "Docs/a.txt"), stored(bench, "Docs/z.txt")).unwrap(),
            Some("z.txt"),
        ),
        ("deleted", |bench| fs::remove_file(stored(bench, "Docs/a.txt")).unwrap(), None),
    ];
    side_by_side(cases, |(what, act, expected)| {
        let bench = docs_and_three();
        bench.sync();
        bench.world().fail_next(Matcher::Route("POST".into(), "/storage".into()), Fault::Delay(60_000));
        write(&bench, "Docs/a.txt", b"the newer version");
        let daemon = bench.run();
        bench.until("it is there", || there(&bench).contains(&"a.txt: the newer version".into()));
        daemon.kill();
        act(&bench);
        let _daemon = bench.run();
        let newer = || {
            let mut lines = there(&bench);
            lines.retain(|line| line.contains("newer version") || line.starts_with("a.txt"));
            lines
        };
        let expected: Vec<String> =
            expected.iter().map(|name| format!("{name}: the newer version")).collect();
        bench.until(what, || {
            newer() == expected && bench.status()["storage"]["local_only"].as_u64() == Some(0)
        });
        bench.until("nothing needs anybody", || bench.attention().is_empty());
        bench.sync_any();
        assert_eq!(newer(), expected, "{what} {}", bench.seen());
        if let Some(line) = expected.first() {
            let name = line.split(':').next().unwrap();
            assert_eq!(text(&bench, &format!("Docs/{name}")), "the newer version");
        }
    });
}

#[test]
fn an_upload_in_doubt_whose_folder_was_trashed_since_keeps_no_sync_from_its_end() {
    let doubt = killed("words");
    let bench = &doubt.bench;
    assert!(bench.world().app_change_folder(&doubt.docs, |folder| folder.trashed = true));
    bench.forget_requests();
    assert_eq!(bench.tell(&["sync"]).code, 3, "{}", bench.seen());
    let told = bench.attention();
    assert!(told.contains("Docs/new.txt: not uploaded: its folder does not exist at the service"), "{told}");
    assert_eq!((text(bench, "Docs/new.txt"), bench.writes()), ("words".into(), Vec::new()));
    bench.tell(&["approve", "--yes"]);
    bench.tell(&["sync"]);
    assert_eq!(
        (text(bench, "Docs/new.txt"), bench.writes()),
        ("words".into(), Vec::new()),
        "{}",
        bench.seen()
    );
    // The folder is restored: the file is the one that was uploaded.
    assert!(bench.world().app_change_folder(&doubt.docs, |folder| folder.trashed = false));
    bench.sync();
    assert_eq!((there(bench).len(), files(&stored(bench, "Docs")).len()), (13, 4), "{}", bench.seen());
    assert_eq!(bench.writes(), Vec::<String>::new());
}
