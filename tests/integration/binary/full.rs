//! A disk that is full, on a small file system of the test's own: nothing is cut short or lost, it is told, and it heals.
//!
//! Mounting takes a user namespace. Where there is none, this says so and tries nothing.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::bench::{Bench, append, paragraph, words};

/// Set for the copy of this test that may mount.
const MAY_MOUNT: &str = "ESPEJO_TEST_MAY_MOUNT";

#[test]
#[expect(clippy::print_stderr, reason = "what was not tried is said")]
fn a_full_disk_loses_nothing_and_heals() {
    if std::env::var_os(MAY_MOUNT).is_some() {
        the_mirrors_disk_is_full();
        the_states_disk_is_full();
        return;
    }
    if !Command::new("unshare").args(["-rm", "true"]).status().is_ok_and(|status| status.success()) {
        eprintln!("not tried: a full disk, because `unshare -rm` is not possible here");
        return;
    }
    let output = Command::new("unshare")
        .arg("-rm")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "binary::full::a_full_disk_loses_nothing_and_heals", "--nocapture"])
        .env(MAY_MOUNT, "yes")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

fn bench() -> Bench {
    Bench::new(|world, space| {
        for n in 0..6 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
        }
    })
}

fn mount(at: &Path, size: &str) {
    fs::create_dir_all(at).unwrap();
    fs::set_permissions(at, fs::Permissions::from_mode(0o700)).unwrap();
    let options = format!("size={size},mode=700");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(at).status();
    assert!(mounted.unwrap().success());
}

/// Writes until nothing more fits.
fn fill(ballast: &Path) {
    let mut file = OpenOptions::new().create(true).append(true).open(ballast).unwrap();
    for size in [65_536, 4_096, 512, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
}

fn long(word: &str) -> String {
    format!("{word} ").repeat(12_000 / word.len())
}

fn the_mirrors_disk_is_full() {
    let bench = bench();
    mount(&bench.root(), "512k");
    let daemon = bench.run_in_step();
    let ballast = bench.root().join("ballast.bin");
    fill(&ballast);
    let before = bench.text("Page 2.md");
    let (two, three) = (bench.id("Page 2"), bench.id("Page 3"));
    bench.world().app_edit(&two, vec![paragraph("a", &long("flood"))]);
    bench.world().app_create(&bench.space, None, "Newcomer", vec![paragraph("a", &long("newcomer"))]);
    bench.ask("\"full-pass\"");
    // What a person still can do on a full disk goes up.
    append(&bench.page("Page 1.md"), "\nwritten all the same\n");
    bench.until("edits go up", || words(&bench.content("Page 1")).contains("all the same"));
    bench.until("it is told", || bench.attention().contains("Page 2.md"));
    assert_eq!(bench.text("Page 2.md"), before, "a file is cut short on a full disk");
    // Both sides of a page that cannot be written.
    bench.world().app_edit(&three, vec![paragraph("a", &format!("words {}", long("tide")))]);
    append(&bench.page("Page 3.md"), "\nmine\n");
    bench.until("what is on disk goes up", || words(&bench.content("Page 3")).contains("mine"));
    assert!(words(&bench.content("Page 3")).contains("tide") && bench.text("Page 3.md").contains("mine"));
    fs::remove_file(&ballast).unwrap();
    bench.ask("\"full-pass\"");
    bench.until_in_step();
    bench.until("nothing needs the user", || bench.attention().is_empty());
    let found = ["Page 2.md", "Page 3.md", "Newcomer.md"].map(|name| bench.text(name));
    assert!(found[0].contains("flood") && found[1].contains("tide") && found[1].contains("mine"));
    assert!(found[2].contains("newcomer"));
    bench.rest(daemon);
}

fn the_states_disk_is_full() {
    let bench = bench();
    mount(&bench.state(), "2m");
    let mut daemon = bench.run_in_step();
    let ballast = bench.state().join("ballast.bin");
    fill(&ballast);
    let two = bench.id("Page 2");
    bench.world().app_edit(&two, vec![paragraph("a", &long("flood"))]);
    for n in 0..6 {
        append(&bench.page(&format!("Page {n}.md")), &format!("\nmine {n}\n"));
    }
    // It goes on or gives up with a word; either way nothing may be lost.
    bench.until("it is told", || !daemon.is_running() || !bench.attention().is_empty());
    for n in 0..6 {
        assert!(bench.text(&format!("Page {n}.md")).contains(&format!("mine {n}")), "{}", bench.seen());
    }
    fs::remove_file(&ballast).unwrap();
    if !daemon.is_running() {
        // As systemd would.
        daemon = bench.run();
    }
    bench.until("every edit is sent", || {
        (0..6).all(|n| words(&bench.content(&format!("Page {n}"))).contains(&format!("mine {n}")))
    });
    bench.look_again();
    bench.until_in_step();
    assert!(bench.text("Page 2.md").contains("flood"));
    bench.rest(daemon);
}
