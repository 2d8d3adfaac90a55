//! Canvas files as people's programs read and write them, without espejo's own code: nodes by id, what each says, and
//! Obsidian's way of writing them down.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::verbs::Canvas;
use crate::folder::Thing;
use crate::luck::Luck;
use crate::words::{Ledger, Word, words_in};

/// What a node says, leaf by leaf: place, size, words, colour.
pub(crate) type Said = BTreeMap<&'static str, Value>;

/// The nodes of a file, by id.
pub(crate) type Nodes = BTreeMap<String, Said>;

/// What the six colours of JSON Canvas are in the app's palette (docs/canvas.md).
const PRESETS: [&str; 6] = ["#fecaca", "#fed7aa", "#fde68a", "#bbf7d0", "#bfdbfe", "#ddd6fe"];
/// A sticky note without a colour has this one.
pub(super) const PLAIN: &str = "#fde68a";

/// A file that can be read, and is not empty.
pub(crate) fn parsed(bytes: &[u8]) -> Option<Value> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    value.is_object().then_some(value)
}

/// Whether a file can be read and has nodes.
pub(super) fn has_nodes(file: &Thing) -> bool {
    nodes_of(&file.bytes).is_some_and(|nodes| !nodes.is_empty())
}

/// The nodes of a file that can be read.
pub(crate) fn nodes_of(bytes: &[u8]) -> Option<Nodes> {
    Some(nodes_in(&parsed(bytes)?))
}

/// The nodes of a file. Where two slides have elements of one id, a node says its slide before it.
pub(super) fn nodes_in(doc: &Value) -> Nodes {
    let mut nodes = Nodes::new();
    for node in doc["nodes"].as_array().into_iter().flatten() {
        if matches!(node["type"].as_str(), Some("text" | "link")) {
            let id = node["id"].as_str().unwrap_or_default();
            nodes.insert(id.rsplit('/').next().unwrap_or_default().to_owned(), said(node));
        }
    }
    nodes
}

/// The ids of all nodes and groups of a file that can be read.
pub(crate) fn ids_of(bytes: &[u8]) -> impl Iterator<Item = String> {
    let doc = parsed(bytes).unwrap_or_default();
    let groups = super::slides::groups_of(&doc).into_keys();
    groups.chain(nodes_in(&doc).into_keys())
}

/// The words of a file's links.
pub(super) fn links_of(bytes: &[u8]) -> Vec<Word> {
    let doc = parsed(bytes).unwrap_or_default();
    let nodes = doc["nodes"].as_array().into_iter().flatten();
    let links = nodes.filter(|node| node["type"] == "link").filter_map(|node| node["url"].as_str());
    links.flat_map(|url| words_in(url.as_bytes())).collect()
}

/// What a node says.
pub(crate) fn said(node: &Value) -> Said {
    let colour = match node["color"].as_str() {
        Some(text) => match text.parse::<usize>() {
            Ok(preset) => json!(PRESETS[(preset - 1) % 6]),
            Err(_) => json!(text.to_ascii_lowercase()),
        },
        None => Value::Null,
    };
    let words = if node["type"] == "link" { &node["url"] } else { &node["text"] };
    let number = |key: &str| json!(node[key].as_f64().map(f64::round));
    BTreeMap::from([
        ("x", number("x")),
        ("y", number("y")),
        ("width", number("width")),
        ("height", number("height")),
        ("content", words.clone()),
        ("color", colour),
    ])
}

/// A file as Obsidian writes it: a line for each node, tabs, and an order of keys of its own.
pub(crate) fn obsidian(doc: &Value) -> Vec<u8> {
    let line = |item: &Value| {
        let mut out = Map::new();
        let map = item.as_object().cloned().unwrap_or_default();
        for key in ["type", "text", "url", "id", "x", "y", "width", "height"] {
            if let Some(value) = map.get(key) {
                out.insert(key.to_owned(), value.clone());
            }
        }
        for (key, value) in map {
            out.entry(key).or_insert(value);
        }
        format!("\t\t{}", Value::Object(out))
    };
    let list = |key: &str| {
        let items: Vec<String> = doc[key].as_array().into_iter().flatten().map(line).collect();
        if items.is_empty() { "[]".to_owned() } else { format!("[\n{}\n\t]", items.join(",\n")) }
    };
    format!("{{\n\t\"nodes\":{},\n\t\"edges\":{}\n}}", list("nodes"), list("edges")).into_bytes()
}

/// A new node, with a word of its own.
pub(crate) fn new_node(luck: &mut Luck, ledger: &mut Ledger) -> Value {
    let word = ledger.text();
    let mut node = json!({
        "id": format!("{:016x}", luck.next()),
        "type": "text",
        "text": format!("Idea {word}"),
        "x": luck.between(-500, 500),
        "y": luck.between(-500, 500),
        "width": luck.between(100, 400),
        "height": luck.between(60, 300),
    });
    match luck.below(6) {
        0 => node["color"] = json!(luck.between(1, 6).to_string()),
        1 => node["color"] = json!("#34aadc"),
        2 => node["espejo"] = json!({ "type": "ellipse", "style": { "stroke": "#334155" } }),
        _ => {}
    }
    node
}

/// The text of a new file.
pub(crate) fn new_file(luck: &mut Luck, ledger: &mut Ledger) -> Vec<u8> {
    let nodes: Vec<Value> = (0..luck.below(4)).map(|_| new_node(luck, ledger)).collect();
    if nodes.is_empty() {
        return b"{}".to_vec();
    }
    obsidian(&json!({ "nodes": nodes, "edges": [] }))
}

/// What a file says after a person's edit; `None` where there is nothing for it.
pub(crate) fn edited(bytes: &[u8], act: Canvas, luck: &mut Luck, ledger: &mut Ledger) -> Option<Vec<u8>> {
    let mut doc = parsed(bytes)?;
    for key in ["nodes", "edges"] {
        if !doc[key].is_array() {
            doc[key] = json!([]);
        }
    }
    let nodes = doc["nodes"].as_array_mut()?;
    let texts: Vec<usize> = (0..nodes.len()).filter(|at| nodes[*at]["type"] == "text").collect();
    let at = (!texts.is_empty()).then(|| *luck.pick(&texts));
    match act {
        Canvas::AddNode => nodes.push(new_node(luck, ledger)),
        Canvas::MoveNode => {
            let node = &mut nodes[at?];
            node["x"] = json!(luck.between(-900, 900));
            if luck.chance(70) {
                node["y"] = json!(luck.between(-900, 900));
            }
        }
        Canvas::ResizeNode => nodes[at?]["width"] = json!(luck.between(50, 700)),
        Canvas::RetextNode => {
            let node = &mut nodes[at?];
            let text = node["text"].as_str()?;
            // What names a type is not the person's to change: it would be put back, and the word with it.
            if text.starts_with("**") {
                return None;
            }
            let word = ledger.text();
            node["text"] = match luck.below(3) {
                0 => json!(format!("Otra {word}")),
                1 => json!(format!("{word} {text}")),
                _ => json!(format!("{text} y {word}")),
            };
        }
        Canvas::RecolourNode => {
            let node = &mut nodes[at?];
            node["color"] = if luck.chance(50) {
                json!(luck.between(1, 6).to_string())
            } else {
                json!(luck.pick(&["#ff0000", "#00AA11", "#123456"]))
            };
        }
        Canvas::DeleteNode => drop(nodes.remove(at?)),
        Canvas::DuplicateNode => {
            let mut copy = nodes[at?].clone();
            copy["id"] = json!(format!("{:016x}", luck.next()));
            copy["x"] = json!(luck.between(-900, 900));
            crate::words::words_in(copy.to_string().as_bytes())
                .into_iter()
                .for_each(|word| ledger.copy(word));
            nodes.push(copy);
        }
        Canvas::AddGroup => {
            let (from, to) = (nodes[at?]["id"].clone(), nodes[*luck.pick(&texts)]["id"].clone());
            let id = format!("{:016x}", luck.next());
            nodes.push(json!({ "id": format!("g{id}"), "type": "group", "label": "Grupo", "x": 0, "y": 0, "width": 900, "height": 900 }));
            let edge =
                json!({ "id": id, "fromNode": from, "fromSide": "right", "toNode": to, "toSide": "left" });
            doc["edges"].as_array_mut()?.push(edge);
        }
        _ => {}
    }
    Some(obsidian(&doc))
}

/// Elements as a canvas file would say them, by id.
pub(crate) fn shown(elements: &[Value]) -> Nodes {
    nodes_of(espejo::canvas::render(elements).as_bytes()).unwrap_or_default()
}
