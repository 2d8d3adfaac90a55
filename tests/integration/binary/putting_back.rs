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
    let history = |folder: &Path, typed: &Path| {
        Told::of(bench.espejo(&["history"]).arg(typed).current_dir(folder).output().unwrap())
    };
    let named = Path::new("Equipo/Pages/Page 1.md");
    fs::remove_file(bench.root().join(named)).unwrap();
    let link = bench.outside("link");
    std::os::unix::fs::symlink(bench.root(), &link).unwrap();
    let other = bench.outside("other");
    fs::create_dir_all(other.join(".espejo")).unwrap();
    fs::create_dir_all(other.join("Equipo/Pages")).unwrap();
    // One that is gone: through a link, in a folder that was reached by one, and from the root.
    assert_eq!(history(bench.home(), &link.join(named)).code, 0);
    assert_eq!(history(&link.join("Equipo"), Path::new("Pages/Page 1.md")).code, 0);
    assert_eq!(history(bench.home(), named).code, 0);
    assert_eq!(history(&other, named).code, 0);
    save(&other.join(".espejo/marker"), "another mirror's\n");
    for folder in [other.clone(), other.join("Equipo/Pages")] {
        let told = history(&folder, named);
        assert_eq!(told.code, 1, "{told:?}");
        assert!(told.err.contains("is not in the mirror"), "{told:?}");
    }
    // The root itself is everything, and no page.
    let told = history(bench.home(), &bench.root());
    assert!(told.code == 1 && told.err.contains("is the mirror itself"), "{told:?}");
    let diff = bench.tell(&["diff", link.to_str().unwrap()]);
    assert!(diff.code == 0 && diff.out.contains("-first line of 1"), "{diff:?}");
}
