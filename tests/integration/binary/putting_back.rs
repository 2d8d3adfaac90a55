//! What a person has put back or let through by name: what is replaced, what is kept, and which file a name means.

use std::fs;
use std::path::Path;

use super::bench::{Bench, Told, paragraph, save, save_bytes, side_by_side};

fn bench() -> Bench {
    Bench::new(|world, space| {
        for n in 0..4 {
            let blocks = vec![paragraph("a", &format!("first line of {n}")), paragraph("b", "second line")];
            world.app_create(space, None, &format!("Page {n}"), blocks);
        }
    })
}

/// Runs `restore` on these paths; it must end with this code.
#[track_caller]
fn restore(bench: &Bench, code: i32, paths: &[&Path]) -> Told {
    let mut arguments = vec!["restore"];
    arguments.extend(paths.iter().map(|path| path.to_str().unwrap()));
    let told = bench.tell(&arguments);
    assert_eq!(told.code, code, "{arguments:?}: {told:?}\n{}", bench.seen());
    told
}

#[test]
fn bytes_that_are_no_text_are_replaced_only_by_name_and_kept() {
    side_by_side([true, false], |beside_daemon| {
        let bench = bench();
        let daemon = bench.run_in_step();
        let (one, two) = (bench.text("Page 1.md"), bench.text("Page 2.md"));
        let odd = b"caf\xe9, written in Latin-1\n";
        save_bytes(&bench.page("Page 1.md"), odd);
        save(&bench.page("Page 2.md"), "");
        bench.until("both are told", || {
            let told = bench.attention();
            told.contains("Page 1.md") && told.contains("Page 2.md")
        });
        if !beside_daemon {
            assert_eq!(daemon.stop().code(), Some(0));
        }
        let told = restore(&bench, 3, &[]);
        assert!(
            told.out.contains("Page 1.md is not UTF-8 text and stays as it is; espejo restore"),
            "{told:?}"
        );
        assert!(told.out.contains("Page 2.md is restored"), "{told:?}");
        assert_eq!(fs::read(bench.page("Page 1.md")).unwrap(), odd);
        assert_eq!(bench.text("Page 2.md"), two);
        // Above it is not by name.
        let told = restore(&bench, 3, &[&bench.page("")]);
        assert!(told.out.contains("stays as it is"), "{told:?}");
        let told = restore(&bench, 0, &[&bench.page("Page 1")]);
        assert!(
            told.out.contains("Page 1.md is restored") && told.out.contains("is kept in .espejo/trash"),
            "{told:?}"
        );
        assert_eq!(bench.text("Page 1.md"), one);
        let days: Vec<_> = fs::read_dir(bench.root().join(".espejo/trash")).unwrap().flatten().collect();
        assert_eq!(days.len(), 1);
        let kept = days[0].path().join("Equipo/Pages/Page 1.md");
        assert_eq!(fs::read(kept).unwrap(), odd);
    });
}

#[test]
fn a_reader_who_stops_reading_stops_no_act() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let texts: Vec<_> = (0..4).map(|n| bench.text(&format!("Page {n}.md"))).collect();
    for n in 0..4 {
        save(&bench.page(&format!("Page {n}.md")), "");
    }
    bench.until("all are told", || (0..4).all(|n| bench.attention().contains(&format!("Page {n}.md"))));
    assert_eq!(daemon.stop().code(), Some(0));
    // The other end of the pipe is closed before a word is said.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = bench.espejo(&["restore"]).stdout(writer).status().unwrap();
    assert_eq!(ended.code(), Some(0));
    let now: Vec<_> = (0..4).map(|n| bench.text(&format!("Page {n}.md"))).collect();
    assert_eq!(now, texts);
}

#[test]
fn a_file_is_named_by_whatever_way_leads_to_it_and_only_in_its_own_mirror() {
    let bench = bench();
    bench.sync();
    let log = |folder: &Path, typed: &Path| {
        Told::of(bench.espejo(&["log"]).arg(typed).current_dir(folder).output().unwrap())
    };
    let named = Path::new("Equipo/Pages/Page 1.md");
    fs::remove_file(bench.root().join(named)).unwrap();
    let link = bench.outside("link");
    std::os::unix::fs::symlink(bench.root(), &link).unwrap();
    let other = bench.outside("other");
    fs::create_dir_all(other.join(".espejo")).unwrap();
    fs::create_dir_all(other.join("Equipo/Pages")).unwrap();
    // One that is gone: through a link, in a folder that was reached by one, and from the root.
    assert_eq!(log(bench.home(), &link.join(named)).code, 0);
    assert_eq!(log(&link.join("Equipo"), Path::new("Pages/Page 1.md")).code, 0);
    assert_eq!(log(bench.home(), named).code, 0);
    assert_eq!(log(&other, named).code, 0);
    save(&other.join(".espejo/marker"), "another mirror's\n");
    for folder in [other.clone(), other.join("Equipo/Pages")] {
        let told = log(&folder, named);
        assert_eq!(told.code, 1, "{told:?}");
        assert!(told.err.contains("is not in the mirror"), "{told:?}");
    }
    // The root itself is everything, and no file.
    assert_eq!(log(bench.home(), &bench.root()).code, 0);
    let told = Told::of(bench.espejo(&["status"]).arg(bench.root()).output().unwrap());
    assert!(told.code == 0 && told.out.contains("items"), "{told:?}");
    let diff = bench.tell(&["diff", link.to_str().unwrap()]);
    assert!(diff.code == 0 && diff.out.contains("-first line of 1"), "{diff:?}");
}

#[test]
fn a_put_that_expects_another_text_changes_nothing() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let say = |line: &str| {
        use std::io::{Read, Write};
        let mut stream = std::os::unix::net::UnixStream::connect(bench.state().join("control")).unwrap();
        stream.write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    };
    let files = bench.files();
    let wrong = espejo::model::ContentHash::of(b"something else").to_hex();
    for (put, why) in [
        (
            format!(
                r#"{{"put":{{"path":"Equipo/Pages/Page 1.md","expect":"{wrong}","text":"x","body":null}}}}"#
            ),
            "has just changed",
        ),
        (
            r#"{"put":{"path":"Equipo/Pages/Page 1.md","expect":null,"text":"x","body":null}}"#.to_owned(),
            "exists already",
        ),
        (
            r#"{"put":{"path":"Equipo/Pages/Nope.md","expect":"00","text":"x","body":null}}"#.to_owned(),
            "no SHA-256",
        ),
        (
            format!(
                r#"{{"put":{{"path":"Equipo/Pages/Nope.md","expect":"{wrong}","text":"x","body":null}}}}"#
            ),
            "does not exist",
        ),
        (
            r#"{"put":{"path":".espejo/marker","expect":null,"text":"x","body":null}}"#.to_owned(),
            "is not a page's file",
        ),
        (r#"{"put":{"path":"../x.md","expect":null,"text":"x","body":null}}"#.to_owned(), ""),
        (
            r#"{"name":{"from":"Equipo/Pages/Page 1.md","to":"Equipo/Pages/Page 2.md"}}"#.to_owned(),
            "exists already",
        ),
    ] {
        let told = say(&put);
        assert!(told.contains(why) && told.trim() != "ok" && told.lines().count() == 1, "{put}: {told}");
    }
    assert_eq!(bench.files(), files);
    bench.rest(daemon);
}
