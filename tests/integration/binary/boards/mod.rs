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
mod past;
mod presentations;
mod removals;
mod stale;
mod up;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use espejo::emulator::World;
use espejo::model::{BoardId, CanvasId, DeckId, WorkspaceId};
use serde_json::{Value, json};

use super::bench::{Bench, DEADLINE, Daemon, Told, save, within};

/// From the upper edge of a slide of [`deck`] to the next one's.
const STEP: i64 = 675;
const ON: &str = "[whiteboards]\nenabled = true\n[presentations]\nenabled = true\n";

/// A service with whiteboards and presentations, mirrored.
pub(super) fn bench(fill: impl FnOnce(&mut World, &WorkspaceId)) -> Bench {
    Bench::with(ON, fill)
}

/// The whiteboard [`kick_off`] alone, and the ids of its elements.
pub(super) fn one_board() -> (Bench, CanvasId, Vec<String>) {
    let mut made = None;
    let bench = bench(|world, space| made = Some(kick_off(world, space)));
    let (board, ids) = made.unwrap();
    (bench, board, ids)
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

    /// A file in the folder of presentations: `Pitch.canvas`, `Pitch.html`.
    pub(super) fn deck_file(&self, name: &str) -> PathBuf {
        self.root().join("Presentations").join(name)
    }

    /// The groups of a presentation's file, as they follow each other there.
    #[track_caller]
    pub(super) fn groups(&self, path: &Path) -> Vec<Value> {
        let nodes = self.canvas(path)["nodes"].as_array().cloned().unwrap_or_default();
        nodes.into_iter().filter(|node| node["type"] == "group").collect()
    }

    /// The ids of the slides of a presentation's file, as their groups follow each other there.
    #[track_caller]
    pub(super) fn slide_ids(&self, path: &Path) -> Vec<String> {
        self.groups(path).iter().map(|group| group["id"].as_str().unwrap().to_owned()).collect()
    }

    /// The nodes of a slide in a presentation's file, with their places on the slide.
    #[track_caller]
    pub(super) fn slide_nodes(&self, path: &Path, slide: &str) -> Vec<Value> {
        let nodes = self.canvas(path)["nodes"].as_array().cloned().unwrap_or_default();
        let Some(group) = nodes.iter().find(|node| node["id"] == slide) else {
            panic!("{} has no group {slide}\n{}", path.display(), self.seen())
        };
        let inside = nodes.iter().filter(|node| is_inside(node, group)).cloned();
        inside.map(|node| shifted(node, group, -1)).collect()
    }

    /// The texts of each slide of a presentation's file, as their groups follow each other there; nothing while there is no
    /// such file.
    pub(super) fn slide_texts(&self, path: &Path) -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let canvas: Value = serde_json::from_str(&text).unwrap_or_default();
        let nodes = canvas["nodes"].as_array().cloned().unwrap_or_default();
        let texts = |group: &Value| {
            let inside = nodes.iter().filter(|node| is_inside(node, group));
            inside.map(|node| node["text"].as_str().unwrap_or_default().to_owned()).collect()
        };
        nodes.iter().filter(|node| node["type"] == "group").map(texts).collect()
    }

    /// Changes the nodes of one slide of a presentation's file, which have their places on the slide meanwhile.
    #[track_caller]
    pub(super) fn edit_slide(&self, path: &Path, slide: &CanvasId, edit: impl FnOnce(&mut Vec<Value>)) {
        self.edit_canvas(path, |nodes| {
            let at = nodes.iter().position(|node| node["id"] == slide.own_id()).expect("the slide's group");
            let group = nodes[at].clone();
            let (inside, mut others): (Vec<_>, Vec<_>) =
                nodes.drain(..).partition(|node| is_inside(node, &group));
            let mut inside: Vec<Value> = inside.into_iter().map(|node| shifted(node, &group, -1)).collect();
            edit(&mut inside);
            let next = others.iter().position(|node| *node == group).expect("it is no node of its own") + 1;
            others.splice(next..next, inside.into_iter().map(|node| shifted(node, &group, 1)));
            *nodes = others;
        });
    }

    /// A canvas file's nodes by id.
    #[track_caller]
    pub(super) fn nodes(&self, path: &Path) -> BTreeMap<String, Value> {
        let list = self.canvas(path)["nodes"].as_array().cloned().unwrap_or_default();
        let pairs = list.iter().map(|node| (node["id"].as_str().unwrap().to_owned(), node.clone()));
        pairs.collect()
    }

    #[track_caller]
    pub(super) fn canvas(&self, path: &Path) -> Value {
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|e| panic!("{}: {e}\n{}", path.display(), self.seen()));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}\n{text}", path.display()))
    }

    /// Changes a canvas file as a program does that reads all of it and writes it anew, in its own key order.
    #[track_caller]
    pub(super) fn edit_canvas(&self, path: &Path, edit: impl FnOnce(&mut Vec<Value>)) {
        let mut canvas = self.canvas(path);
        edit(canvas["nodes"].as_array_mut().unwrap());
        save(path, &as_obsidian(&canvas));
    }

    /// Removes a group and what stands in it.
    #[track_caller]
    pub(super) fn remove_slide(&self, path: &Path, slide: &CanvasId) {
        self.edit_slide(path, slide, Vec::clear);
        self.edit_canvas(path, |nodes| nodes.retain(|node| node["id"] != slide.own_id()));
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

/// The node with this id.
#[track_caller]
pub(super) fn node_of<'n>(nodes: &'n mut [Value], id: &str) -> &'n mut Value {
    nodes.iter_mut().find(|node| node["id"] == id).expect("its node")
}

/// A group as large as a slide of [`deck`], where espejo puts the slide with this number, from 0.
pub(super) fn group(id: &str, number: i64) -> Value {
    json!({ "id": id, "type": "group", "x": 0, "y": number * STEP, "width": 960, "height": 540 })
}

/// A text node on the slide with this number, from 0.
pub(super) fn on_slide(id: &str, number: i64, text: &str) -> Value {
    json!({ "id": id, "type": "text", "x": 40, "y": number * STEP + 40, "width": 250, "height": 60, "text": text })
}

/// A presentation's file with a slide of each text.
pub(super) fn talk_of(texts: &[&str]) -> String {
    let slide = |(number, text): (i64, &&str)| {
        [group(&format!("g{number}"), number), on_slide(&format!("n{number}"), number, text)]
    };
    json!({ "nodes": (0..).zip(texts).flat_map(slide).collect::<Vec<_>>() }).to_string()
}

/// Whether a node's middle is in a group.
fn is_inside(node: &Value, group: &Value) -> bool {
    let number = |value: &Value, key: &str| value[key].as_i64().unwrap_or_default();
    let is_between = |at: &str, side: &str| {
        let middle = 2 * number(node, at) + number(node, side);
        let start = 2 * number(group, at);
        (start..=start + 2 * number(group, side)).contains(&middle)
    };
    node["type"] != "group" && is_between("x", "width") && is_between("y", "height")
}

/// A node at its place from a group's corner on, or, from such a place, in the file.
fn shifted(mut node: Value, group: &Value, times: i64) -> Value {
    for key in ["x", "y"] {
        if let (Some(at), Some(corner)) = (node[key].as_i64(), group[key].as_i64()) {
            node[key] = json!(at + times * corner);
        }
    }
    node
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

/// A presentation with a slide of each text; its slides in their order.
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
