//! What people do to a presentation's file, and what is made of it.

mod agreement;
mod damaged;
mod laws;
mod pages;
mod table;
mod whose;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::canvas::{self, Merged, Op};
use crate::model::{Surface, id_of};

const SIZE: Size = Size { width: 960.0, height: 540.0 };
/// From one slide's upper edge to the next one's.
const STEP: i64 = 675;

/// A presentation as an engine would know it.
#[derive(Debug, Clone)]
struct World {
    size: Size,
    /// The slides, each with what it was when both sides last agreed.
    slides: Vec<(SlideId, Option<Elements>)>,
    /// The slide that left the service.
    gone: Option<SlideId>,
    shown: BTreeMap<SlideId, Elements>,
    aliases: BTreeMap<SlideId, Aliases>,
    groups: Aliases,
    origins: Origins,
    written: Option<String>,
}

fn slide_id(id: &str) -> SlideId {
    SlideId::new(id).unwrap()
}

fn element(id: &str, kind: &str, x: i64, y: i64, content: &str) -> Value {
    json!({ "id": id, "slide_id": "s", "type": kind, "x": x, "y": y, "width": 200, "height": 100, "content": content,
        "style": { "fontSize": 18.0 }, "z_index": 0 })
}

/// Three slides; the text on the second one sticks out to the right.
fn sample() -> World {
    let mut world = World::new(vec![
        ("s1", vec![element("a", "text", 10, 20, "one"), element("b", "rectangle", 300, 20, "two")]),
        ("s2", vec![element("c", "text", 900, 40, "three"), element("d", "image", 40, 40, "d.png")]),
        ("s3", vec![element("e", "ellipse", 100, 300, "four")]),
    ]);
    world.written = Some(world.file());
    world
}

impl World {
    fn new(slides: Vec<(&str, Elements)>) -> Self {
        Self {
            size: SIZE,
            slides: slides.into_iter().map(|(id, elements)| (slide_id(id), Some(elements))).collect(),
            gone: None,
            shown: BTreeMap::new(),
            aliases: BTreeMap::new(),
            groups: Aliases::new(),
            origins: Origins::new(),
            written: None,
        }
    }

    fn with<T>(&self, act: impl FnOnce(&Known<'_>) -> T) -> T {
        let (none, nothing) = (Aliases::new(), Elements::new());
        let slides: Vec<KnownSlide<'_>> = (self.slides.iter())
            .map(|(id, base)| KnownSlide {
                id,
                base: base.as_deref(),
                shown: self.shown.get(id).unwrap_or(&nothing),
                aliases: self.aliases.get(id).unwrap_or(&none),
                is_there: self.gone.as_ref() != Some(id),
            })
            .collect();
        act(&Known {
            size: self.size,
            slides: &slides,
            written: self.written.as_deref(),
            groups: &self.groups,
            origins: &self.origins,
        })
    }

    fn read(&self, text: &str) -> PresentationFile {
        self.with(|known| read(text, known)).unwrap()
    }

    /// The file with these slides; one without elements stays as it is.
    fn write(&self, text: &str, targets: &[(&str, Option<Elements>)]) -> String {
        let ids: Vec<SlideId> = targets.iter().map(|(id, _)| slide_id(id)).collect();
        let targets: Vec<SlideTarget<'_>> = ids
            .iter()
            .zip(targets)
            .map(|(id, (_, elements))| SlideTarget { id, elements: elements.as_deref() })
            .collect();
        self.with(|known| write(text, known, &targets, None)).unwrap()
    }

    /// The elements of each slide, as the service would list them.
    fn all(&self) -> Vec<(&str, Option<Elements>)> {
        self.slides.iter().map(|(id, base)| (id.as_str(), base.clone())).collect()
    }

    /// The file as espejo writes it.
    fn file(&self) -> String {
        self.write("", &self.all())
    }

    /// What the file becomes when the service shows what is agreed, so that only what is put back changes.
    fn settled(&self, text: &str) -> String {
        self.write(text, &self.all())
    }

    fn base(&mut self, id: &str) -> &mut Elements {
        self.slides.iter_mut().find(|(slide, _)| slide.as_str() == id).unwrap().1.as_mut().unwrap()
    }

    /// Merges one slide of a file, with nothing changed at the service.
    fn merged(&self, file: &PresentationFile, id: &str) -> Merged {
        let slide = slide(file, id);
        canvas::merge(Surface::Slide, &slide.base, &slide.base, local(file, id), false)
    }
}

fn slide<'a>(file: &'a PresentationFile, id: &str) -> &'a SlideFile {
    file.slides.iter().find(|slide| slide.id.as_str() == id).unwrap()
}

#[track_caller]
fn local<'a>(file: &'a PresentationFile, id: &str) -> &'a Local {
    let state = &slide(file, id).state;
    let SlideState::Here(local) = state else { panic!("{id} is {state:?}") };
    local
}

/// The text after a program changed it.
fn edited(text: &str, edit: impl FnOnce(&mut Vec<Value>)) -> String {
    let mut canvas: Value = serde_json::from_str(text).unwrap();
    edit(canvas["nodes"].as_array_mut().unwrap());
    canvas.to_string()
}

#[track_caller]
fn node<'a>(nodes: &'a mut [Value], id: &str) -> &'a mut Value {
    nodes.iter_mut().find(|node| id_of(node) == id).unwrap()
}

fn nodes_of(text: &str) -> Vec<Value> {
    let canvas: Value = serde_json::from_str(text).unwrap();
    canvas["nodes"].as_array().unwrap().clone()
}

fn ids(text: &str) -> Vec<String> {
    nodes_of(text).iter().map(|node| id_of(node).to_owned()).collect()
}

/// Where a node stands, and its size.
#[track_caller]
fn place(text: &str, id: &str) -> [i64; 4] {
    let nodes = nodes_of(text);
    let node = nodes.iter().find(|node| id_of(node) == id).unwrap();
    ["x", "y", "width", "height"].map(|key| node[key].as_i64().unwrap())
}

fn shift(node: &mut Value, [x, y]: [i64; 2]) {
    node["x"] = json!(node["x"].as_i64().unwrap() + x);
    node["y"] = json!(node["y"].as_i64().unwrap() + y);
}

fn shift_all(nodes: &mut [Value], ids: &[&str], by: [i64; 2]) {
    for id in ids {
        shift(node(nodes, id), by);
    }
}

fn text_node(id: &str, x: i64, y: i64, text: &str) -> Value {
    json!({ "id": id, "type": "text", "text": text, "x": x, "y": y, "width": 100, "height": 50 })
}

fn group_node(id: &str, [x, y, width, height]: [i64; 4]) -> Value {
    json!({ "id": id, "type": "group", "x": x, "y": y, "width": width, "height": height })
}

/// The fields that an engine would send of one slide's changed elements.
fn changes(file: &PresentationFile, id: &str) -> Vec<(String, Value)> {
    let changed = local(file, id).changed.iter();
    changed.map(|(id, change)| (id.clone(), Value::Object(change.fields.clone()))).collect()
}
