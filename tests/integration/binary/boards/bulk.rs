//! Forty whiteboards and twenty presentations of everything there is: all of it valid, and a second pass silent.

use espejo::emulator::World;
use espejo::model::{CanvasId, WorkspaceId};
use serde_json::{Value, json};

use super::bench;

/// A number below `bound` from a sequence.
fn draw(state: &mut u64, bound: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % bound
}

const TEXTS: [&str; 12] = [
    "",
    "plain words",
    "two\nlines\r\nand a third",
    "</text><script>alert(1)</script>",
    "\"quotes\" & <angles> \\ backslash",
    "emoji 👩‍👩‍👧‍👦 🇪🇸 and e\u{301}",
    "עברית العربية",
    "]]> <!-- --> <![CDATA[x]]>",
    "\u{0}\u{1}\u{b}control\u{7f}",
    "日本語の長い文章が続いています、どこでも折り返せるように。",
    "a_very_long_word_without_any_place_to_break_it_so_that_it_must_be_broken_somewhere_or_run_out_of_its_box",
    "\u{202e}turned\u{2066}",
];

fn element(state: &mut u64) -> Value {
    let kinds = ["sticky", "text", "rectangle", "ellipse", "media", "embed", "connector", "table", "frame"];
    let kind = kinds[draw(state, 9) as usize];
    let number = |state: &mut u64| match draw(state, 6) {
        0 => json!(-99_999.5),
        1 => json!(draw(state, 2_000) as f64 / 7.0),
        2 => serde_json::from_str("1.50").unwrap(),
        _ => json!(draw(state, 4_000) as i64 - 2_000),
    };
    let size = |state: &mut u64| match draw(state, 6) {
        0 => json!(0.2),
        1 => json!(100_000),
        _ => json!(draw(state, 400) as i64 + 1),
    };
    let styles = [
        json!({}),
        json!({ "color": "#bbf7d0" }),
        json!({ "color": "rgba(10,20,30,.4)", "opacity": 0.5, "bold": true }),
        json!({ "color": "javascript:alert(1)", "fontFamily": "'x\" onload=\"alert(1)", "fontSize": "huge" }),
        json!({ "color": "url(https://example.com/x)", "textAlign": "center", "lineHeight": 0, "letterSpacing": 1e9 }),
        json!({ "stroke": "tomato", "fill": "hsl(200 50% 50%)", "underline": true, "italic": true, "unknown": { "a": [1] } }),
    ];
    let (text, style) = (TEXTS[draw(state, 12) as usize], styles[draw(state, 6) as usize].clone());
    json!({
        "type": kind, "x": number(state), "y": number(state), "width": size(state), "height": size(state),
        "content": text, "style": style,
    })
}

fn fill(world: &mut World, space: &WorkspaceId) {
    let mut state = 7;
    for n in 0..40 {
        let name = ["Board", "con", "a/b", "..", "", "Sin título", "ÑANDÚ", "x.svg"][n % 8];
        let board = CanvasId::Board(world.app_create_board(space, name));
        let count = if n == 0 { 400 } else { draw(&mut state, 12) };
        for _ in 0..count {
            world.app_put_element(&board, element(&mut state));
        }
    }
    for n in 0..20 {
        let size = [(960.0, 540.0), (1080.0, 1080.0), (595.0, 842.0)][n % 3];
        let deck = world.app_create_deck(["Talk", "Talk", "<b>", ".hidden"][n % 4], size.0, size.1);
        for at in 1..=draw(&mut state, 4) {
            world.app_insert_slide(&deck, at as usize);
        }
        for slide in world.slides_of(&deck) {
            let ground = ["#fff", "navy", "</style>", "7"][n % 4];
            world.app_set_background(&deck, &slide, json!({ "color": ground }));
            for _ in 0..draw(&mut state, 6) {
                world.app_put_element(&CanvasId::Slide(deck.clone(), slide.clone()), element(&mut state));
            }
        }
    }
}

/// What JSON Canvas 1.0 asks of a file.
#[track_caller]
fn check_valid(path: &str, text: &str) -> Value {
    let canvas: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut ids = std::collections::BTreeSet::new();
    for node in canvas["nodes"].as_array().unwrap() {
        assert!(ids.insert(node["id"].as_str().expect("an id").to_owned()), "{path}: an id twice");
        for key in ["x", "y", "width", "height"] {
            assert!(node[key].is_i64(), "{path}: {key} is {}", node[key]);
        }
        assert!(node["width"].as_i64() >= Some(1) && node["height"].as_i64() >= Some(1), "{path}: {node}");
        match node["type"].as_str() {
            Some("text") => assert!(node["text"].is_string(), "{path}"),
            Some("group") => assert!(node["label"].is_string(), "{path}"),
            Some("link") => assert!(node["url"].is_string(), "{path}"),
            other => panic!("{path}: {other:?}"),
        }
        if let Some(colour) = node.get("color") {
            let colour = colour.as_str().unwrap();
            let hex = colour.len() == 7
                && colour.starts_with('#')
                && colour[1..].bytes().all(|b| b.is_ascii_hexdigit());
            assert!(hex || ["1", "2", "3", "4", "5", "6"].contains(&colour), "{path}: {colour}");
        }
    }
    canvas
}

#[test]
fn all_kinds_of_canvases_are_mirrored_right_and_a_second_pass_is_silent() {
    let bench = bench(fill);
    bench.sync_any();
    let files = bench.files();
    let canvases: Vec<_> = files.iter().filter(|(path, _)| path.ends_with(".canvas")).collect();
    assert_eq!(canvases.len(), 40 + 20, "{}", bench.seen());
    let mut nodes = 0;
    for (path, seen) in &canvases {
        let canvas = check_valid(path, std::str::from_utf8(&seen.bytes).unwrap());
        nodes += canvas["nodes"].as_array().unwrap().len();
        let is_deck = path.starts_with("Presentations/");
        let picture = path.replace(".canvas", if is_deck { ".html" } else { ".svg" });
        let drawn =
            String::from_utf8(files.get(&picture).unwrap_or_else(|| panic!("no {picture}")).bytes.clone())
                .unwrap();
        assert!(drawn.starts_with(if is_deck { "<!DOCTYPE html>" } else { "<svg " }), "{picture}");
        // The page of a presentation has one script, which is espejo's own.
        let (pictures, scripts) = match drawn.split_once("<main>").filter(|_| is_deck) {
            Some((_, rest)) => (rest.split_once("</main>").unwrap().0, 1),
            None => (drawn.as_str(), 0),
        };
        assert_eq!(drawn.matches("<script").count(), scripts, "{picture}");
        for bad in
            ["<script", "onload=\"", "href", "url(http", "<image", "<foreignObject", "@import", "NaN", "inf"]
        {
            assert!(!pictures.contains(bad), "{picture} holds {bad}");
        }
    }
    let all: usize = {
        let world = bench.world();
        // A slide is a node as well.
        world.whiteboards().map(|board| board.elements.len()).sum::<usize>()
            + world
                .presentations()
                .flat_map(|deck| &deck.slides)
                .map(|slide| 1 + slide.elements.len())
                .sum::<usize>()
    };
    assert_eq!(nodes, all);
    bench.canvases_rest();
}

#[test]
fn thirty_slides_do_not_starve_pages() {
    let mut page = None;
    let mut world = World::new(3);
    let space = world.add_workspace("Equipo", "equipo");
    let id = world.app_create(&space, None, "Alive", vec![super::super::bench::paragraph("a", "words")]);
    page.replace(id);
    for _ in 0..2 {
        let texts: Vec<String> = (0..30).map(|n| n.to_string()).collect();
        super::deck(&mut world, "Long", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    }
    world.set_limit(None, espejo::emulator::Window::SlidingLog);
    let bench = super::Bench::over(world, space, 600, super::ON);
    let daemon = bench.run();
    bench.until("all is mirrored", || {
        bench.files().keys().filter(|path| path.ends_with(".canvas")).count() == 2
    });
    bench.until_canvases_rest();
    bench.forget_requests();
    bench.world().app_edit(&page.unwrap(), vec![super::super::bench::paragraph("a", "new words")]);
    bench.sync_any();
    assert!(bench.text("Alive.md").contains("new words"));
    let requests = bench.requests();
    let first = requests.iter().position(|line| line.starts_with("GET /pages/")).expect("a look at the page");
    assert!(first < 12, "the page waits for {first} others: {requests:?}");
    drop(daemon);
}
