//! A fault in one item never stops the others: a planted panic in each pure step holds one page of ten.

use std::fs;

use espejo::model::{Blocks, CanvasId, Code, Level, PageId};
use espejo::store::Store;
use serde_json::{Value, json};

use super::small::{Bed, engine};

const PAGES: usize = 10;

fn paragraph(id: &str, text: &str) -> Value {
    let content = json!([{ "type": "text", "text": text, "styles": {} }]);
    json!({ "id": id, "type": "paragraph", "props": {}, "content": content, "children": [] })
}

fn blocks(n: usize, more: &str) -> Blocks {
    vec![
        paragraph(&format!("a{n}"), &format!("words {n}")),
        paragraph(&format!("b{n}"), &format!("more {more}")),
    ]
}

/// Where the fault shows.
#[derive(Clone, Copy, PartialEq)]
enum At {
    /// The page has it before it is mirrored.
    First,
    /// A person types it into the file.
    File,
    /// A person types it in the app.
    App,
    /// The same block is changed on both sides.
    Both,
}

fn check(step: &str, at: At, size: usize) {
    let fault = format!("fault in {step}. {}", "long ".repeat(size));
    let mut bed = Bed::empty();
    let ids: Vec<PageId> = (0..PAGES)
        .map(|n| {
            let more = if n == 0 && at == At::First { &*fault } else { "" };
            bed.create(&format!("Page {n}"), blocks(n, more))
        })
        .collect();
    let mut first = engine(Store::open(&bed.state()).unwrap().store, 100_000, bed.now());
    let whole = if at == At::First { PAGES - 1 } else { PAGES };
    bed.run(&mut first, |bed, engine| engine.summary(bed.now()).unwrap().mirrored == whole);
    assert_eq!(first.summary(bed.now()).unwrap().mirrored, whole, "{step}");
    let pages = bed.pages();
    let file = |n: usize| pages.join(format!("Page {n}.md"));
    let edit = |n: usize, more: &str| {
        let text = fs::read_to_string(file(n)).unwrap();
        fs::write(file(n), format!("{}\nMine {n}. {more}\n", text.trim_end())).unwrap();
    };
    for n in 1..PAGES {
        edit(n, "");
    }
    if matches!(at, At::File | At::Both) {
        edit(0, &fault);
    }
    for (n, id) in ids.iter().enumerate() {
        let more = if n > 0 {
            "theirs"
        } else if at == At::App {
            &*fault
        } else {
            "its own"
        };
        if n > 0 || matches!(at, At::App | At::Both) {
            bed.world.app_edit(id, blocks(n, more));
        }
    }
    let before = (fs::read(file(0)).ok(), bed.content(&ids[0]));
    let settled = |bed: &Bed| {
        (1..PAGES).all(|n| {
            let text = fs::read_to_string(bed.pages().join(format!("Page {n}.md"))).unwrap();
            let page = bed.content(&ids[n]).to_string();
            [&text, &page].iter().all(|all| all.contains(&format!("Mine {n}.")) && all.contains("theirs"))
        })
    };
    let told = |engine: &espejo::engine::Engine, bed: &Bed| {
        let all = engine.summary(bed.now()).unwrap().attention;
        let act: Vec<_> = all.into_iter().filter(|item| item.level() == Level::Act).collect();
        act.iter().map(|item| (item.code, item.path.clone())).collect::<Vec<_>>()
    };
    let expected =
        vec![(Code::Internal, if at == At::First { "Page 0" } else { "Equipo/Pages/Page 0.md" }.to_owned())];
    first.handle(espejo::model::Event::HintAll, bed.now()).unwrap();
    bed.run(&mut first, |bed, engine| settled(bed) && told(engine, bed) == expected);
    assert!(settled(&bed), "{step}: nine pages sync");
    assert_eq!(told(&first, &bed), expected, "{step}");
    assert_eq!((fs::read(file(0)).ok(), bed.content(&ids[0])), before, "{step}: both sides stay");
    // A restart tries again, and changes nothing.
    drop(first.into_store());
    let mut second = engine(Store::open(&bed.state()).unwrap().store, 100_000, bed.now());
    let until = bed.now().plus_ms(60_000);
    bed.run(&mut second, |bed, _| bed.now() >= until);
    assert_eq!(told(&second, &bed), expected, "{step}, after a restart");
    assert_eq!(
        (fs::read(file(0)).ok(), bed.content(&ids[0])),
        before,
        "{step}: both sides stay after a restart"
    );
    // The page is mended in the app, the file by a person: it syncs again.
    bed.world.app_edit(&ids[0], blocks(0, "mended"));
    if matches!(at, At::File | At::Both) {
        fs::write(file(0), "words 0\n\nmore its own\n\nmended too\n").unwrap();
    }
    second.handle(espejo::model::Event::HintAll, bed.now()).unwrap();
    let mended = |bed: &Bed| {
        fs::read_to_string(bed.pages().join("Page 0.md")).is_ok_and(|text| text.contains("mended"))
    };
    bed.run(&mut second, |bed, engine| mended(bed) && told(engine, bed).is_empty());
    assert!(mended(&bed) && told(&second, &bed).is_empty(), "{step}: {:?}", told(&second, &bed));
}

#[test]
fn a_fault_in_a_pure_step_holds_its_page_and_no_other() {
    for (step, at) in [
        ("printing", At::First),
        ("reading", At::File),
        ("checking", At::File),
        ("splicing", At::App),
        ("merging", At::Both),
    ] {
        check(step, at, 0);
    }
}

#[test]
fn a_fault_in_a_picture_or_a_canvas_holds_that_one_and_no_other() {
    for step in ["drawing", "printing", "reading", "merging"] {
        let mut bed = Bed::empty();
        let boards: Vec<CanvasId> = ["Bad", "Good"].map(|name| bed.board(name)).to_vec();
        let at_first = matches!(step, "drawing" | "printing");
        let fault = format!("fault in {step}.");
        let sticky = |text: &str| json!({ "type": "sticky", "content": text });
        let ids: Vec<String> = boards
            .iter()
            .zip([if at_first { &*fault } else { "fine" }, "fine"])
            .map(|(board, text)| bed.world.app_put_element(board, sticky(text)).unwrap())
            .collect();
        let mut engine = engine(Store::in_memory().unwrap(), 100_000, bed.now());
        let file = |bed: &Bed, name: &str| bed.pages().parent().unwrap().join("Whiteboards").join(name);
        bed.run(&mut engine, |bed, _| file(bed, "Good.svg").exists());
        if !at_first {
            let path = file(&bed, "Bad.canvas");
            bed.run(&mut engine, |_, _| path.exists());
            let text = fs::read_to_string(&path).unwrap();
            // Read from the file, or merged with what the app wrote.
            if step == "reading" {
                fs::write(&path, text.replace("fine", &fault)).unwrap();
            } else {
                bed.world.app_edit_element(&boards[0], &ids[0], json!({ "content": fault }));
            }
        }
        bed.world.app_edit_element(&boards[1], &ids[1], json!({ "content": "theirs" }));
        engine.handle(espejo::model::Event::HintAll, bed.now()).unwrap();
        engine.handle(espejo::model::Event::Asked(espejo::model::Request::FullPass), bed.now()).unwrap();
        let is_told = |engine: &espejo::engine::Engine, bed: &Bed| {
            let all = engine.summary(bed.now()).unwrap().attention;
            let faults = all.iter().filter(|item| item.code == Code::Internal);
            faults.map(|item| item.path.clone()).collect::<Vec<_>>()
        };
        let theirs = |bed: &Bed| {
            fs::read_to_string(file(bed, "Good.canvas")).is_ok_and(|text| text.contains("theirs"))
        };
        bed.run(&mut engine, |bed, engine| theirs(bed) && !is_told(engine, bed).is_empty());
        assert!(theirs(&bed), "{step}: the other canvas syncs");
        let told = is_told(&engine, &bed);
        assert!(told.len() == 1 && told[0].contains("Bad"), "{step}: {told:?}");
    }
}
