//! Many stored files, killed ten times on the way: all of them byte-equal in the end, no link asked for in vain, no token on
//! the way to a download, and little memory. `ESPEJO_TEST_STORAGE=full` plays it in full size: 500 files up to 40 MB; `many` plays
//! 5,000 files up to 300 kB.

use std::collections::BTreeMap;
use std::time::Duration;

use espejo::emulator::{Contents, World};
use espejo::model::{FileId, FolderId, WorkspaceId};

use super::bench::{Bench, DEADLINE};
use super::down::draws;
use super::storage::{BACKUP, files, links, lists, stored};

const KILLS: usize = 10;

struct Size {
    files: usize,
    folders: usize,
    largest: u64,
}

fn size() -> Size {
    match std::env::var("ESPEJO_TEST_STORAGE").as_deref() {
        Ok("full") => Size { files: 500, folders: 60, largest: 40_000_000 },
        Ok("many") => Size { files: 5_000, folders: 60, largest: 300_000 },
        _ => Size { files: 90, folders: 20, largest: 9_000_000 },
    }
}

fn fill(world: &mut World, size: &Size) {
    let mut draw = draws(11);
    let names = ["Docs", "Docs", "..", "CON", "...", "Fotos 2026", "a/b", "DOCS"];
    // Five deep: each level's folders hang beneath those of the level above.
    let mut levels: Vec<Vec<Option<FolderId>>> = vec![vec![None]];
    for n in 0..size.folders {
        let level = 1 + n * 5 / size.folders;
        if levels.len() <= level {
            levels.push(Vec::new());
        }
        let above = levels[level - 1].clone();
        let parent = above[draw(above.len())].clone();
        let name = names.get(n).map_or_else(|| format!("Carpeta {n}"), |name| (*name).to_owned());
        let folder = world.app_make_folder(parent.as_ref(), &name);
        levels[level].push(Some(folder));
    }
    assert_eq!(levels.len(), 6);
    let folders: Vec<Option<FolderId>> = levels.concat();
    let long = "x".repeat(255);
    let hostile = [
        "..",
        ".",
        "CON",
        "...",
        "../../x",
        "same.bin",
        "same.bin",
        "SAME.bin",
        long.as_str(),
        "a\\b",
        ".env",
    ];
    for n in 0..size.files {
        let folder = if n < hostile.len() { None } else { folders[draw(folders.len())].clone() };
        let name =
            hostile.get(n).map_or_else(|| format!("archivo {}.bin", n % 40), |name| (*name).to_owned());
        let len = match n % 25 {
            0 => 0,
            1 => 1,
            2 => size.largest,
            3..=6 => draw(usize::try_from(size.largest).unwrap()) as u64,
            _ => draw(60_000) as u64,
        };
        world.app_put_file(folder.as_ref(), &name, Contents::Made { seed: n as u64 + 1, len });
    }
}

/// A summary of bytes that is quick to make and to compare.
fn mark(bytes: &[u8]) -> (usize, u64) {
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (bytes.len(), sum)
}

fn marks_there(bench: &Bench) -> Vec<(usize, u64)> {
    let world = bench.world();
    let mut marks: Vec<(usize, u64)> = world.storage_files().map(|file| mark(&file.bytes())).collect();
    marks.sort_unstable();
    marks
}

fn marks_here(bench: &Bench) -> Vec<(usize, u64)> {
    let mut marks: Vec<(usize, u64)> =
        files(&bench.root().join("Storage")).values().map(|bytes| mark(bytes)).collect();
    marks.sort_unstable();
    marks
}

#[test]
fn killed_ten_times_every_stored_file_is_there_byte_for_byte() {
    let size = size();
    let bench = Bench::with(BACKUP, |world: &mut World, _: &WorkspaceId| fill(world, &size));
    let mut interrupted = 0;
    for kill in 1..=KILLS {
        let mut daemon = bench.run();
        let part = size.files * kill / (KILLS + 2);
        bench.until_within(DEADLINE * 10, "some files are there", || {
            !daemon.is_running() || bench.world().downloads().entries().len() >= part
        });
        std::thread::sleep(Duration::from_millis(7 * kill as u64));
        daemon.kill();
        interrupted += 1;
    }
    assert_eq!(interrupted, KILLS);
    let daemon = bench.run();
    bench.until_within(DEADLINE * 10, "everything is there", || {
        let status = bench.status();
        status["storage"]["files"].as_u64() == Some(size.files as u64)
            && status["storage"]["to_come"]["files"] == 0
    });
    let peak = daemon.peak_memory();
    bench.note(&format!("peak {peak}"));
    // Seven megabytes and a half as a rule, and what is known of each file. A download kept in memory would add the largest
    // file's nine, or forty.
    assert!(peak < (15 << 20) + 4_000 * size.files as u64, "{peak} bytes of memory");
    assert!(daemon.stop().success());
    assert!(marks_there(&bench) == marks_here(&bench), "{}", bench.seen());
    assert_eq!(bench.world().downloads_with_a_token(), 0);
    // Once for each file; again only for what a kill cut off: four that were linked, under way or whole, and what it had just placed.
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for line in bench.requests().iter().filter(|line| line.starts_with("GET /storage/")) {
        *asked.entry(line.clone()).or_default() += 1;
    }
    let again: usize = asked.values().map(|times| times - 1).sum();
    assert!(again <= KILLS * 8, "{again} links were asked for again");
    assert_eq!(asked.len(), size.files);
    bench.forget_requests();
    let downloads = bench.world().downloads().entries().len();
    bench.sync();
    assert_eq!((lists(&bench), links(&bench)), (size.folders + 1, 0));
    assert_eq!(bench.world().downloads().entries().len(), downloads);
    let parts = files(&bench.root().join(".espejo/downloads"));
    assert!(parts.is_empty(), "{:?}", parts.keys());
    assert!(!stored(&bench, "../../x").exists());
}

#[test]
fn a_damaged_or_missing_file_is_found_by_a_deep_sync_and_comes_back() {
    let mut file: Option<FileId> = None;
    let bench = Bench::with(BACKUP, |world, _| {
        file = Some(world.app_put_file(None, "a.bin", Contents::Made { seed: 1, len: 100_000 }));
        world.app_put_file(None, "b.bin", Contents::Made { seed: 2, len: 100_000 });
    });
    bench.sync();
    let told = bench.tell(&["sync", "--deep"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.out.contains("compared with the service; 2 stored files read, 200 kB"), "{told:?}");
    assert_eq!(bench.world().downloads().entries().len(), 2);
    // Bytes that change without a trace in the file's times: what a failing disk does.
    let path = stored(&bench, "a.bin");
    let good = std::fs::read(&path).unwrap();
    let base = std::fs::metadata(&path).unwrap();
    let mut bad = good.clone();
    bad[50_000] ^= 1;
    std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), &bad).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(base.modified().unwrap()).unwrap();
    take_for_unchanged(&bench, "a.bin");
    std::fs::remove_file(stored(&bench, "b.bin")).unwrap();
    let told = bench.tell(&["sync", "--deep"]);
    assert!(matches!(told.code, 0 | 3), "{told:?}");
    assert!(std::fs::read(&path).unwrap() == good, "{told:?} {}", bench.seen());
    assert!(stored(&bench, "b.bin").exists());
    assert!(super::storage::trash(&bench).values().any(|kept| *kept == bad), "the damaged one is kept");
}

/// Makes the state believe that the file's present stamp is the one it wrote down: a change of bytes on the disk itself
/// leaves no other trace.
pub(super) fn take_for_unchanged(bench: &Bench, name: &str) {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(stored(bench, name)).unwrap();
    let changed = meta.ctime() * 1_000_000_000 + meta.ctime_nsec();
    let db = rusqlite::Connection::open(bench.state().join("espejo.sqlite3")).unwrap();
    let sql = "UPDATE items SET json = json_set(json, '$.local.Here.stamp[4]', ?1) WHERE kind = 'file' AND name = ?2";
    assert_eq!(db.execute(sql, rusqlite::params![changed, name]).unwrap(), 1);
}
