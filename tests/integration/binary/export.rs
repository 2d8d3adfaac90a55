//! Export through the real binary: the bytes that the API gave, the files, the sums; and that nothing half-made is left.

use std::fs;
use std::path::Path;
use std::process::Command;

use espejo::emulator::{Contents, HttpRequest};
use espejo::model::{CanvasId, Timestamp};
use serde_json::{Value, json};

use super::bench::{Bench, Told, append, paragraph, save, save_bytes};

const ALL_ON: &str =
    "[whiteboards]\nenabled = true\n[presentations]\nenabled = true\n[storage]\nenabled = true\n";

fn bench() -> Bench {
    Bench::with(ALL_ON, |world, space| {
        let odd: Vec<Value> = serde_json::from_str(
            r#"[{"type":"paragraph","id":"z","props":{"n":1.50,"b":123456789012345678901234567890},"content":[{"styles":{},"type":"text","text":"¿Ñandú? \u0007"}],"children":[]},
                {"id":"k","type":"kanban","props":{"x":null},"content":[],"children":[],"extra":[1e2]}]"#,
        )
        .unwrap();
        let top = world.app_create(space, None, "Top", odd);
        let below = world.app_create(space, Some(&top), "Below / {here}", vec![paragraph("a", "words")]);
        world.app_set_icon(&below, Some("🚲"));
        let magnets = json!({ "imanes": [{ "id": "m", "tipo": "reloj", "x": 0, "y": 0, "w": 2.50, "h": 2 }], "textos": {} });
        world.app_set_nevera(&top, Some(magnets));
        let board = CanvasId::Board(world.app_create_board(space, "Kick-off"));
        let media = r#"{"type":"media","x":10.40,"content":"a","style":{"z":[1,{}]}}"#;
        world.app_put_element(&board, serde_json::from_str(media).unwrap());
        let deck = world.app_create_deck("Pitch", 960.0, 540.0);
        let slide = CanvasId::Slide(deck.clone(), world.slides_of(&deck).remove(0));
        world.app_put_element(&slide, json!({ "type": "text", "content": "cifras" }));
        world.app_put_file(None, "informe.bin", Contents::Bytes((0..200_000_u32).map(|n| n as u8).collect()));
    })
}

/// The bytes of `data` in the service's answer.
fn data(bench: &Bench, path: &str, query: &str) -> String {
    let mut world = bench.world();
    let request = HttpRequest {
        method: "GET".to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        authorization: Some(format!("Bearer {}", world.token())),
        body: Vec::new(),
    };
    let body = String::from_utf8(world.answer(&request, Timestamp(0)).body).unwrap();
    body.strip_prefix("{\"data\":").unwrap().strip_suffix('}').unwrap().to_owned()
}

fn sums_hold(dir: &Path) {
    let told = Command::new("sha256sum")
        .args(["--strict", "--quiet", "-c", "SHA256SUMS"])
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(told.status.success(), "{told:?}");
}

#[track_caller]
fn export(bench: &Bench, dir: &Path) -> Told {
    bench.tell(&["export", dir.to_str().unwrap()])
}

fn manifest(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("manifest.json")).unwrap()).unwrap()
}

/// Everything beside the export that an export may have left.
fn leftovers(bench: &Bench) -> Vec<String> {
    let names = fs::read_dir(bench.outside("")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains("unfinished")).collect()
}

/// The same fields and values; numbers may be written in another way.
#[track_caller]
fn equal(kept: &Value, theirs: &Value) {
    let (kept, theirs) = (kept.as_object().unwrap(), theirs.as_object().unwrap());
    assert!(kept.keys().all(|key| theirs.contains_key(key)), "{kept:?}");
    for (key, value) in theirs {
        let number = value.as_f64().is_some() && value.as_f64() == kept[key].as_f64();
        assert!(number || *value == kept[key], "{key}: {value} and {}", kept[key]);
    }
}

#[test]
fn an_export_is_what_the_api_gave_and_what_the_files_hold() {
    let bench = bench();
    bench.sync();
    save(&bench.page("Top.conflict-20260101-000000.md"), "mine\n");
    save_bytes(&bench.root().join("Equipo/Pages/a\\b.png"), b"\x00\xff");
    let dir = bench.outside("out");
    bench.forget_requests();
    let told = export(&bench, &dir);
    assert_eq!((told.code, told.err.as_str()), (0, ""), "{told:?}");
    assert!(told.out.contains("2 pages, 1 whiteboard, 1 presentation, 1 stored file"), "{told:?}");
    assert_eq!(bench.requests(), Vec::<String>::new());
    sums_hold(&dir);
    let read = |path: String| fs::read_to_string(dir.join(&path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    for title in ["Top", "Below / {here}"] {
        let id = bench.id(title);
        assert_eq!(read(format!("api/pages/{id}.json")), data(&bench, &format!("/pages/{id}"), "") + "\n");
    }
    let space = &bench.space;
    let boards: Vec<Value> =
        serde_json::from_str(&data(&bench, "/whiteboards", &format!("workspace_id={space}"))).unwrap();
    let board = boards[0]["id"].as_str().unwrap();
    let text = read(format!("api/whiteboards/{board}.json"));
    let elements = data(&bench, &format!("/whiteboards/{board}/elements"), "");
    assert!(text.ends_with(&format!(",\"elements\":{elements}}}\n")) && text.contains("10.40"), "{text}");
    let decks: Vec<Value> = serde_json::from_str(&data(&bench, "/presentations", "")).unwrap();
    let deck = decks[0]["id"].as_str().unwrap();
    let text = read(format!("api/presentations/{deck}.json"));
    let slides = data(&bench, &format!("/presentations/{deck}/slides"), "");
    assert!(text.contains(&format!(",\"slides\":{slides},\"elements\":{{")), "{text} {slides}");
    let slide = serde_json::from_str::<Value>(&slides).unwrap()[0]["id"].as_str().unwrap().to_owned();
    let elements = data(&bench, &format!("/presentations/{deck}/slides/{slide}/elements"), "");
    assert!(text.contains(&format!("\"{slide}\":{elements}")), "{text}");
    // Every field of the rest, also those that espejo does not work with.
    let whole: Value = serde_json::from_str(&text).unwrap();
    equal(&whole["presentation"], &decks[0]);
    let whole: Value = serde_json::from_str(&read(format!("api/whiteboards/{board}.json"))).unwrap();
    equal(&whole["whiteboard"], &boards[0]);
    let spaces: Vec<Value> = serde_json::from_str(&data(&bench, "/workspaces", "")).unwrap();
    equal(&serde_json::from_str(&read(format!("api/workspaces/{space}.json"))).unwrap(), &spaces[0]);
    let stored: Value = serde_json::from_str(&data(&bench, "/storage", "")).unwrap();
    let file = stored["files"][0]["id"].as_str().unwrap();
    equal(
        &serde_json::from_str(&read(format!("api/storage/files/{file}.json"))).unwrap(),
        &stored["files"][0],
    );
    // The mirror's files, whoever made them, and nothing of espejo's own.
    for (path, seen) in bench.files() {
        if !path.starts_with(".espejo") {
            assert!(dir.join("files").join(&path).is_file(), "{path} {seen:?}");
        }
    }
    assert!(!dir.join("files/.espejo").exists());
    assert_eq!(fs::read(dir.join("files/Storage/informe.bin")).unwrap().len(), 200_000);
    let manifest = manifest(&dir);
    let entries = manifest["contents"].as_array().unwrap();
    let page = entries.iter().find(|entry| entry["title"] == "Top").unwrap();
    assert_eq!(page["file"], "files/Equipo/Pages/Top.md");
    assert!(page["last_seen"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{page}");
    for entry in entries {
        let size = fs::metadata(dir.join(entry["path"].as_str().unwrap())).unwrap().len();
        assert_eq!(entry["size"].as_u64(), Some(size), "{entry}");
    }
    assert_eq!(manifest["espejo"], env!("CARGO_PKG_VERSION"));
    assert!(read("README.txt".to_owned()).contains("api/pages/ID.json"));
    assert!(leftovers(&bench).is_empty());
}

#[test]
fn an_export_goes_only_where_nothing_is() {
    let bench = bench();
    let early = export(&bench, &bench.outside("early"));
    assert_eq!(early.code, 1, "{early:?}");
    bench.sync();
    let full = bench.outside("full");
    fs::create_dir(&full).unwrap();
    save(&full.join("theirs"), "x");
    let file = bench.outside("file");
    save(&file, "x");
    let link = bench.outside("link");
    std::os::unix::fs::symlink(bench.root(), &link).unwrap();
    for (dir, why) in [
        (full.clone(), "is not empty"),
        (file.clone(), "is not a folder"),
        (bench.root().join("out"), "is in the mirror"),
        (bench.root(), "is in the mirror"),
        (link.join("out"), "is in the mirror"),
        (bench.state().join("out"), "is in the state folder"),
        (bench.outside("none/out"), "cannot be created"),
        (bench.outside(""), "is not empty"),
    ] {
        let told = export(&bench, &dir);
        assert_eq!((told.code, told.out.as_str(), told.err.lines().count()), (2, "", 1), "{dir:?}: {told:?}");
        assert!(told.err.contains(why), "{dir:?}: {told:?}");
    }
    assert_eq!(
        (fs::read_dir(&full).unwrap().count(), fs::read_to_string(&file).unwrap()),
        (1, "x".to_owned())
    );
    assert!(leftovers(&bench).is_empty());
    let empty = bench.outside("empty");
    fs::create_dir(&empty).unwrap();
    let told = bench.tell(&["export", empty.to_str().unwrap(), "--json"]);
    assert_eq!(told.code, 0, "{told:?}");
    let said: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((&said["items"]["pages"], &said["known_by_name_only"]), (&json!(2), &json!([])));
    sums_hold(&empty);
}

#[test]
fn what_is_not_there_is_said() {
    let bench = bench();
    bench.sync();
    let away = bench.outside("away");
    fs::rename(bench.root(), &away).unwrap();
    let dir = bench.outside("out");
    let told = export(&bench, &dir);
    assert_eq!(told.code, 3, "{told:?}");
    assert!(told.out.contains("folder does not exist"), "{told:?}");
    sums_hold(&dir);
    let manifest = manifest(&dir);
    assert_eq!((&manifest["items"]["pages"], manifest["missing"].as_array().unwrap().len()), (&json!(2), 1));
    fs::rename(&away, bench.root()).unwrap();
    // A page that is known by its name only.
    {
        let mut world = bench.world();
        let space = bench.space.clone();
        let id = world.app_create(&space, None, "Unread", vec![paragraph("a", "x")]);
        world.fail_randomly(espejo::emulator::Matcher::Page(id), espejo::emulator::Fault::Page(502), 1_000);
    }
    let daemon = bench.run();
    bench.until("it is known", || bench.list().iter().any(|row| row["title"] == "Unread"));
    let dir = bench.outside("second");
    let told = export(&bench, &dir);
    assert_eq!(told.code, 3, "{told:?}");
    assert!(told.out.contains("1 item is without content"), "{told:?}");
    let manifest: Value = serde_json::from_slice(&fs::read(dir.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["known_by_name_only"][0]["title"], "Unread");
    drop(daemon);
}

#[test]
fn a_kill_leaves_nothing_that_looks_complete() {
    let bench = bench();
    bench.sync();
    for n in 0..200 {
        save(&bench.page(&format!("Page {n}.md")), &"palabra ".repeat(200));
    }
    assert_eq!(bench.tell(&["sync"]).code, 3);
    assert_eq!(bench.tell(&["approve", "--yes"]).code, 0);
    bench.sync();
    let dir = bench.outside("out");
    let mut killed = 0;
    for wait_for in [1, 20, 100] {
        let mut child = bench.espejo(&["export", dir.to_str().unwrap()]).spawn().unwrap();
        let written = || {
            leftovers(&bench).iter().any(|name| {
                let pages = fs::read_dir(bench.outside(name).join("api/pages"));
                pages.is_ok_and(|pages| pages.count() >= wait_for)
            })
        };
        while !written() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for name in leftovers(&bench) {
            killed += usize::from(!dir.exists());
            fs::remove_dir_all(bench.outside(&name)).unwrap();
        }
        if dir.exists() {
            // It was quicker than the kill: then it is whole.
            sums_hold(&dir);
            fs::remove_dir_all(&dir).unwrap();
        }
    }
    assert!(killed > 0, "no kill came in the middle");
    // Beside a daemon, with edits going on.
    let daemon = bench.run();
    bench.until("it runs", || bench.status()["state"] == "running");
    append(&bench.page("Page 7.md"), "\nmás\n");
    let told = export(&bench, &dir);
    assert_eq!(told.code, 0, "{told:?}");
    sums_hold(&dir);
    assert_eq!(manifest(&dir)["items"]["pages"], 202);
    assert_eq!(daemon.stop().code(), Some(0));
}
