//! Whiteboards and presentations through the real binary: what comes down, what goes up, what is put back.

mod bulk;
mod copies;
mod down;
mod failing;
mod faults;
mod gone;
mod kept;
mod moved;
mod new;
mod removals;
mod up;

use std::collections::BTreeMap;
use std::path::PathBuf;

use espejo::emulator::World;
use espejo::model::{BoardId, CanvasId, DeckId, WorkspaceId};
use serde_json::{Value, json};

use super::bench::{Bench, DEADLINE, Daemon, Told, save, within};

const ON: &str = "[whiteboards]\nenabled = true\n[presentations]\nenabled = true\n";

/// A service with whiteboards and presentations, mirrored.
pub(super) fn bench(fill: impl FnOnce(&mut World, &WorkspaceId)) -> Bench {
    Bench::with(ON, fill)
}

/// The whiteboard [`kick_off`] and two empty ones, so that it is not all there is.
pub(super) fn three_boards() -> (Bench, CanvasId) {
    let mut board = None;
    let bench = bench(|world, space| {
        board = Some(kick_off(world, space).0);
        world.app_create_board(space, "Other");
        world.app_create_board(space, "Third");
    });
    (bench, board.unwrap())
}

/// A whiteboard `Kick-off` with a sticky note, a text, an ellipse and an image; its canvas and their ids.
pub(super) fn kick_off(world: &mut World, space: &WorkspaceId) -> (CanvasId, Vec<String>) {
    let board = CanvasId::Board(world.app_create_board(space, "Kick-off"));
    let ids = [
        json!({ "type": "sticky", "x": 10.4, "y": 20.5, "content": "one", "style": { "fontSize": 18 } }),
        json!({ "type": "text", "x": 300, "y": 20, "width": 120, "height": 40.25, "content": "two" }),
        json!({ "type": "ellipse", "x": -50, "y": 300, "content": "three", "style": { "color": "rgb(255, 0, 0)" } }),
        json!({ "type": "media", "x": 600, "y": 0, "content": "photo.png", "style": { "src": "x" } }),
    ]
    .map(|element| world.app_put_element(&board, element).unwrap());
    (board, ids.to_vec())
}

impl Bench {
    pub(super) fn board_file(&self, name: &str) -> PathBuf {
        self.root().join("Equipo/Whiteboards").join(name)
    }

    pub(super) fn deck_file(&self, path: &str) -> PathBuf {
        self.root().join("Presentations").join(path)
    }

    /// A canvas file's nodes by id.
    #[track_caller]
    pub(super) fn nodes(&self, path: &std::path::Path) -> BTreeMap<String, Value> {
        let list = self.canvas(path)["nodes"].as_array().cloned().unwrap_or_default();
        let pairs = list.iter().map(|node| (node["id"].as_str().unwrap().to_owned(), node.clone()));
        pairs.collect()
    }

    #[track_caller]
    pub(super) fn canvas(&self, path: &std::path::Path) -> Value {
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|e| panic!("{}: {e}\n{}", path.display(), self.seen()));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}\n{text}", path.display()))
    }

    /// Changes a canvas file as a program does that reads all of it and writes it anew, in its own key order.
    #[track_caller]
    pub(super) fn edit_canvas(&self, path: &std::path::Path, edit: impl FnOnce(&mut Vec<Value>)) {
        let mut canvas = self.canvas(path);
        edit(canvas["nodes"].as_array_mut().unwrap());
        save(path, &as_obsidian(&canvas));
    }

    pub(super) fn elements(&self, canvas: &CanvasId) -> Vec<Value> {
        self.world().elements_of(canvas).to_vec()
    }

    pub(super) fn element(&self, canvas: &CanvasId, id: &str) -> Value {
        self.elements(canvas).into_iter().find(|element| element["id"] == id).unwrap_or_default()
    }

    /// Method, last part of the path and body of every request for a change.
    pub(super) fn changes(&self) -> Vec<(String, Value)> {
        let world = self.world();
        let line = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        world
            .log()
            .writes()
            .map(|entry| (format!("{} {}", entry.method, line(&entry.path)), entry.json()))
            .collect()
    }

    /// Waits until nothing is left to do: a sync ends, `list` shows nothing but what is in step.
    #[track_caller]
    pub(super) fn until_canvases_rest(&self) {
        let mut odd = Vec::new();
        let rest = within(DEADLINE, &mut || {
            odd = self.list().into_iter().filter(|row| row["state"] != "synced").collect();
            odd.is_empty()
        });
        assert!(rest, "{odd:?}\n{}", self.seen());
    }

    #[track_caller]
    pub(super) fn run_canvases(&self) -> Daemon {
        let told = self.sync_any();
        assert!(matches!(told.code, 0 | 3), "{told:?}");
        let daemon = self.run();
        let socket = self.state().join("control");
        self.until("the daemon listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
        self.sync_any();
        self.until_canvases_rest();
        self.forget_requests();
        daemon
    }

    #[track_caller]
    pub(super) fn sync_any(&self) -> Told {
        let told = self.tell(&["sync"]);
        assert!(matches!(told.code, 0 | 3), "{told:?}\n{}", self.seen());
        told
    }

    /// One more pass neither sends nor writes anything.
    #[track_caller]
    pub(super) fn canvases_rest(&self) {
        // A daemon that was stopped may still have had a picture to draw, and nothing to send.
        self.forget_requests();
        self.sync_any();
        let files = self.files();
        self.sync_any();
        assert_eq!(self.changes(), [], "{}", self.seen());
        for (path, seen) in self.files() {
            assert_eq!(files.get(&path), Some(&seen), "{path} was written\n{}", self.seen());
        }
    }
}

/// JSON as Obsidian's canvas writes it: tabs, one node a line, its own key order, whole numbers.
pub(super) fn as_obsidian(canvas: &Value) -> String {
    let line = |item: &Value| {
        let mut keys: Vec<&String> = item.as_object().unwrap().keys().collect();
        keys.sort_by_key(|key| {
            ["id", "x", "y", "width", "height", "color", "type", "text"].iter().position(|k| k == *key)
        });
        let parts: Vec<String> =
            keys.iter().map(|key| format!("{}:{}", json!(key), item[key.as_str()])).collect();
        format!("\t\t{{{}}}", parts.join(","))
    };
    let list =
        |key: &str| canvas[key].as_array().into_iter().flatten().map(line).collect::<Vec<_>>().join(",\n");
    format!("{{\n\t\"nodes\":[\n{}\n\t],\n\t\"edges\":[\n{}\n\t]\n}}", list("nodes"), list("edges"))
}

pub(super) fn deck(world: &mut World, name: &str, texts: &[&str]) -> (DeckId, Vec<CanvasId>) {
    let deck = world.app_create_deck(name, 960.0, 540.0);
    for at in 1..texts.len() {
        world.app_insert_slide(&deck, at).unwrap();
    }
    let slides: Vec<CanvasId> =
        world.slides_of(&deck).into_iter().map(|slide| CanvasId::Slide(deck.clone(), slide)).collect();
    for (slide, text) in slides.iter().zip(texts) {
        world
            .app_put_element(slide, json!({ "type": "text", "content": text, "style": { "fontSize": 32 } }))
            .unwrap();
    }
    (deck, slides)
}

pub(super) fn board_id(canvas: &CanvasId) -> BoardId {
    match canvas {
        CanvasId::Board(id) => id.clone(),
        CanvasId::Slide(..) => panic!("a slide is no board"),
    }
}
