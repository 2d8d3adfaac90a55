//! Files of presentations as people's programs read and change them: groups on one large sheet, each with the cards in it.

use std::collections::{BTreeMap, BTreeSet};

use espejo::model::{CanvasId, MirrorPath};
use serde_json::{Value, json};

use super::nodes::{Nodes, Said, new_node, nodes_in, obsidian, parsed};
use super::people::is_deck_file;
use super::verbs::Canvas;
use crate::luck::Luck;
use crate::words::{Ledger, words_in};

/// Where something is drawn: left, top, width and height.
type Frame = [f64; 4];

/// The groups of a file, by their ids.
pub(super) type Groups = BTreeMap<String, Frame>;

/// The place of a node in a group that is not its own slide's.
pub(super) const THERE: [&str; 2] = ["x there", "y there"];
/// The size of a slide that is made through the API.
const SIZE: [i64; 2] = [960, 540];
/// What lies between two slides.
const GAP: i64 = 135;

/// Which slide each element is or was on.
#[derive(Debug, Default)]
pub(crate) struct Homes {
    of: BTreeMap<String, String>,
    slides: BTreeSet<String>,
}

impl Homes {
    /// These elements are on a canvas.
    pub(super) fn learn(&mut self, canvas: &CanvasId, elements: &[Value]) {
        if canvas.deck().is_none() {
            return;
        }
        self.slides.insert(canvas.own_id().to_owned());
        let ids = elements.iter().filter_map(|element| element["id"].as_str());
        self.of.extend(ids.map(|id| (id.to_owned(), canvas.own_id().to_owned())));
    }

    /// Whether an element was on another slide.
    pub(super) fn is_foreign(&self, id: &str, slide: &str) -> bool {
        self.of.get(id).is_some_and(|home| home != slide)
    }

    /// Whether a group is a slide's.
    pub(super) fn has_slide(&self, id: &str) -> bool {
        self.slides.contains(id)
    }
}

/// What a file said: of a presentation's, the places of nodes are those from the corner of their slide's group on, and each node
/// says which group it is in.
#[derive(Debug, Clone, Default)]
pub(super) struct Sheet {
    pub(super) nodes: Nodes,
    pub(super) groups: Groups,
    /// The groups that the file has.
    pub(super) there: BTreeSet<String>,
    /// The groups that are gone or have another size. They say no more where they are.
    resized: BTreeSet<String>,
}

impl Sheet {
    /// What a file says that can be read. `before`: what it said before. A group that is gone or has another size says nothing
    /// about where its nodes are.
    pub(super) fn of(path: &MirrorPath, bytes: &[u8], homes: &Homes, before: Option<&Self>) -> Option<Self> {
        let doc = parsed(bytes)?;
        let mut nodes = nodes_in(&doc);
        if !is_deck_file(path) {
            return Some(Self { nodes, ..Self::default() });
        }
        let drawn = groups_of(&doc);
        let there = drawn.keys().cloned().collect();
        let (mut groups, mut resized) = (drawn.clone(), BTreeSet::new());
        for (id, was) in before.iter().flat_map(|before| &before.groups) {
            if drawn.get(id).is_none_or(|now| now[2..] != was[2..]) {
                groups.insert(id.clone(), *was);
                resized.insert(id.clone());
            }
        }
        for (id, said) in &mut nodes {
            let number = |key: &str| said[key].as_f64();
            let frame = (|| Some([number("x")?, number("y")?, number("width")?, number("height")?]))();
            let around = frame.and_then(|frame| group_at(&drawn, centre(frame), homes));
            let home = homes.of.get(id).filter(|home| groups.contains_key(*home));
            if let (Some(frame), Some([left, top, ..])) =
                (frame, home.or(around.as_ref()).and_then(|group| groups.get(group)))
            {
                said.insert("x", json!(frame[0] - left));
                said.insert("y", json!(frame[1] - top));
            }
            // Dragged into another group, its element is made where it lies in that one.
            let other = around.as_ref().filter(|around| home.is_some_and(|home| home != *around));
            if let (Some(frame), Some([left, top, ..])) = (frame, other.and_then(|other| groups.get(other))) {
                said.insert(THERE[0], json!(frame[0] - left));
                said.insert(THERE[1], json!(frame[1] - top));
            }
            said.insert("in", json!(around));
        }
        // A group that is gone or was resized is still known where it was, until espejo writes the file.
        Some(Self { nodes, groups: if before.is_some() { groups } else { drawn }, there, resized })
    }

    /// The nodes of slides whose groups were resized, and moved with some of their nodes: what moved, the group with these nodes or
    /// the others, is not known any more. `before`: what the file said before.
    pub(super) fn adrift<'a>(&'a self, before: &Nodes, homes: &'a Homes) -> BTreeSet<&'a String> {
        let at = |said: &Said| [said.get("x").cloned(), said.get("y").cloned()];
        let of = |id: &String| homes.of.get(id).filter(|home| self.resized.contains(*home));
        let moved =
            self.nodes.iter().filter(|(id, said)| before.get(*id).is_some_and(|was| at(was) != at(said)));
        let moved: BTreeSet<&String> = moved.filter_map(|(id, _)| of(id)).collect();
        self.nodes.keys().filter(|id| of(id).is_some_and(|home| moved.contains(home))).collect()
    }

    /// The nodes of slides whose groups went along with all their nodes. A group that stands where a slide's stood is that one,
    /// in an earlier text that has the id which the group had before it was a slide.
    pub(super) fn lost_slides<'a>(
        &'a self,
        now: &[u8],
        homes: &'a Homes,
    ) -> impl Iterator<Item = (&'a String, &'a Said)> {
        let doc = parsed(now).unwrap_or_default();
        let (drawn, left) = (groups_of(&doc), nodes_in(&doc));
        // Its home is no slide of this file where it is a copy of another presentation's element.
        let is_on = move |slide: &str, id: &String, said: &Said| {
            let home = homes.of.get(id).filter(|home| self.groups.contains_key(*home));
            home.map_or_else(|| said.get("in") == Some(&json!(slide)), |home| home == slide)
        };
        let is_earlier = |frame: &Frame| drawn.iter().any(|(id, now)| !homes.has_slide(id) && now == frame);
        let gone: Vec<&String> = self
            .groups
            .iter()
            .filter(|(slide, frame)| {
                homes.has_slide(slide) && !drawn.contains_key(*slide) && !is_earlier(frame)
            })
            .map(|(slide, _)| slide)
            .filter(|slide| {
                !self.nodes.iter().any(|(id, said)| is_on(slide, id, said) && left.contains_key(id))
            })
            .collect();
        self.nodes.iter().filter(move |(id, said)| gone.iter().any(|slide| is_on(slide, id, said)))
    }
}

/// The groups of a file.
pub(super) fn groups_of(doc: &Value) -> Groups {
    let groups = doc["nodes"].as_array().into_iter().flatten().filter(|node| node["type"] == "group");
    let groups = groups.filter_map(|group| Some((group["id"].as_str()?.to_owned(), frame_of(group)?)));
    groups.collect()
}

/// The group around a point: a slide's, or else the largest.
fn group_at(groups: &Groups, point: [f64; 2], homes: &Homes) -> Option<String> {
    let around = groups.iter().filter(|(_, frame)| contains(**frame, point));
    let rank = |(id, [_, _, width, height]): &(&String, &Frame)| (homes.has_slide(id), width * height);
    let best = around.max_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap());
    best.map(|(id, _)| id.clone())
}

fn frame_of(node: &Value) -> Option<Frame> {
    let number = |key: &str| node[key].as_f64();
    Some([number("x")?, number("y")?, number("width")?, number("height")?])
}

fn centre([x, y, width, height]: Frame) -> [f64; 2] {
    [x + width / 2.0, y + height / 2.0]
}

fn contains([left, top, width, height]: Frame, [x, y]: [f64; 2]) -> bool {
    (left..=left + width).contains(&x) && (top..=top + height).contains(&y)
}

/// Why a write takes away what is the user's: the name of a group, or the place of one that was moved.
pub(super) fn changes_layout(before: &[u8], after: &[u8], homes: &Homes) -> Option<String> {
    let (before, after) = (parsed(before)?, parsed(after)?);
    let groups = |doc: &Value| -> BTreeMap<String, (Frame, String)> {
        let nodes = doc["nodes"].as_array().cloned().unwrap_or_default().into_iter();
        let groups = nodes.filter(|node| node["type"] == "group").filter_map(|group| {
            let label = group["label"].as_str().unwrap_or_default().to_owned();
            Some((group["id"].as_str()?.to_owned(), (frame_of(&group)?, label)))
        });
        groups.filter(|(id, _)| homes.has_slide(id)).collect()
    };
    let after = groups(&after);
    for (id, (was, label)) in groups(&before) {
        let Some((is, now)) = after.get(&id) else { continue };
        let is_name = !label.is_empty() && label.parse::<u32>().is_err();
        if is_name && label != *now {
            return Some(format!("the group {id} was called {label:?}, and is {now:?} now"));
        }
        let [x, y, width, height] = was;
        let gap = (height / 4.0).round().max(80.0);
        let is_laid_out = x >= 0.0 && x % (width + gap) == 0.0 && y % (height + gap) == 0.0;
        if was[2..] == is[2..] && was[..2] != is[..2] && !is_laid_out {
            return Some(format!("the group {id}, which a person had moved, stands elsewhere"));
        }
    }
    None
}

/// A new file, with groups or without.
pub(super) fn new_file(luck: &mut Luck, ledger: &mut Ledger) -> Vec<u8> {
    let mut nodes = Vec::new();
    for _ in 0..luck.below(4) {
        add_slide(&mut nodes, luck, ledger);
    }
    if nodes.is_empty() && luck.chance(50) {
        nodes.push(new_node(luck, ledger));
    }
    obsidian(&json!({ "nodes": nodes, "edges": [] }))
}

/// What a presentation's file says after a person's edit; `None` where there is nothing for it.
pub(super) fn edited(bytes: &[u8], act: Canvas, luck: &mut Luck, ledger: &mut Ledger) -> Option<Vec<u8>> {
    let mut doc = parsed(bytes)?;
    let mut nodes = doc["nodes"].as_array().cloned().unwrap_or_default();
    let slides = slides_in(&nodes);
    let texts: Vec<usize> = (0..nodes.len()).filter(|at| nodes[*at]["type"] == "text").collect();
    let text = (!texts.is_empty()).then(|| *luck.pick(&texts));
    let slide = (!slides.is_empty()).then(|| *luck.pick(&slides));
    match act {
        Canvas::AddNode => {
            let node = new_node(luck, ledger);
            nodes.push(node);
            let at = nodes.len() - 1;
            match slide {
                Some(slide) => put_into(&mut nodes, at, slide, luck),
                None => nodes[at]["x"] = json!(-2_000),
            }
        }
        Canvas::MoveNode => {
            let at = text?;
            match slides.iter().find(|slide| is_in(&nodes, at, **slide)) {
                Some(slide) => put_into(&mut nodes, at, *slide, luck),
                None => shift(&mut nodes[at], [luck.between(-50, 50), luck.between(-50, 50)]),
            }
        }
        Canvas::DragNode => {
            let at = text?;
            let others: Vec<usize> =
                slides.iter().copied().filter(|slide| !is_in(&nodes, at, *slide)).collect();
            let to = (!others.is_empty()).then(|| *luck.pick(&others))?;
            put_into(&mut nodes, at, to, luck);
        }
        Canvas::NodeOutside => {
            let mut node = new_node(luck, ledger);
            node["x"] = json!(left_of(&nodes) - 900);
            nodes.push(node);
        }
        Canvas::DuplicateNode => {
            let mut copy = nodes[text?].clone();
            words_in(copy.to_string().as_bytes()).into_iter().for_each(|word| ledger.copy(word));
            copy["id"] = json!(format!("{:016x}", luck.next()));
            shift(&mut copy, [20, 30]);
            nodes.push(copy);
        }
        Canvas::AddGroup => {
            let frame = frame_of(&nodes[text?])?.map(|side| side as i64);
            let [x, y, width, height] = frame;
            let id = format!("g{:016x}", luck.next());
            let group = json!({ "id": id, "type": "group", "label": "Grupo", "x": x - 10, "y": y - 10, "width": width + 20, "height": height + 20 });
            nodes.insert(0, group);
        }
        Canvas::NewSlide => add_slide(&mut nodes, luck, ledger),
        Canvas::CopySlide => {
            let slide = slide?;
            let distance = [0, below(&nodes) - top_of(&nodes[slide])];
            for at in std::iter::once(slide).chain(members(&nodes, slide)).collect::<Vec<_>>() {
                let mut copy = nodes[at].clone();
                // Not every node has its words in its text.
                words_in(copy.to_string().as_bytes()).into_iter().for_each(|word| ledger.copy(word));
                copy["id"] = json!(format!("{:016x}", luck.next()));
                shift(&mut copy, distance);
                nodes.push(copy);
            }
        }
        Canvas::RemoveSlide => {
            let slide = slide?;
            let gone: Vec<usize> = std::iter::once(slide).chain(members(&nodes, slide)).collect();
            let mut at = 0;
            nodes.retain(|_| {
                at += 1;
                !gone.contains(&(at - 1))
            });
        }
        Canvas::MoveSlide => {
            let slide = slide?;
            let distance = if luck.chance(80) {
                [right_of(&nodes) + luck.between(50, 400) - left(&nodes[slide]), luck.between(-300, 300)]
            } else {
                [luck.between(-400, 400), luck.between(-400, 400)]
            };
            move_slide(&mut nodes, slide, distance);
        }
        Canvas::GridSlides => {
            let columns = luck.between(2, 3);
            for (slide, number) in slides.into_iter().zip(0..) {
                let [x, y, width, height] = frame_of(&nodes[slide])?.map(|side| side as i64);
                let to = [(number % columns) * (width + 60), (number / columns) * (height + 60)];
                // Each moves with what lies in it before the next one comes there.
                move_slide(&mut nodes, slide, [to[0] - x, 20_000 + to[1] - y]);
            }
            nodes.iter_mut().for_each(|node| {
                if node["y"].as_i64().is_some_and(|y| y > 15_000) {
                    shift(node, [0, -20_000]);
                }
            });
        }
        Canvas::ResizeSlide => {
            let group = &mut nodes[slide?];
            let more = luck.between(-200, 200);
            let (width, x) = (group["width"].as_i64()?, group["x"].as_i64()?);
            group["width"] = json!((width + more).max(50));
            if luck.chance(30) {
                group["x"] = json!(x - more);
            }
        }
        Canvas::Ungroup => drop(nodes.remove(slide?)),
        Canvas::NameSlide => {
            nodes[slide?]["label"] = json!(luck.pick(&["Portada", "Números", "¿Y ahora?", "7"]));
        }
        Canvas::ReorderNodes => {
            for at in (1..nodes.len()).rev() {
                let other = usize::try_from(luck.below(at as u64 + 1)).ok()?;
                nodes.swap(at, other);
            }
        }
        _ => return super::nodes::edited(bytes, act, luck, ledger),
    }
    doc["nodes"] = json!(nodes);
    if !doc["edges"].is_array() {
        doc["edges"] = json!([]);
    }
    Some(obsidian(&doc))
}

/// The groups that lie in no other one.
fn slides_in(nodes: &[Value]) -> Vec<usize> {
    let frames: Vec<(usize, Frame)> = (0..nodes.len())
        .filter(|at| nodes[*at]["type"] == "group")
        .filter_map(|at| Some((at, frame_of(&nodes[at])?)))
        .collect();
    let area = |frame: &Frame| frame[2] * frame[3];
    let is_inner = |at: usize, frame: &Frame| {
        frames.iter().any(|(other, around)| {
            *other != at && area(around) > area(frame) && contains(*around, centre(*frame))
        })
    };
    frames.iter().filter(|(at, frame)| !is_inner(*at, frame)).map(|(at, _)| *at).collect()
}

fn is_in(nodes: &[Value], at: usize, group: usize) -> bool {
    let frames = frame_of(&nodes[at]).zip(frame_of(&nodes[group]));
    frames.is_some_and(|(node, group)| contains(group, centre(node)))
}

/// What lies in a group.
fn members(nodes: &[Value], group: usize) -> Vec<usize> {
    let slides = slides_in(nodes);
    (0..nodes.len()).filter(|at| !slides.contains(at) && is_in(nodes, *at, group)).collect()
}

fn move_slide(nodes: &mut [Value], slide: usize, distance: [i64; 2]) {
    for at in std::iter::once(slide).chain(members(nodes, slide)).collect::<Vec<_>>() {
        shift(&mut nodes[at], distance);
    }
}

/// A node lies somewhere in a group.
fn put_into(nodes: &mut [Value], at: usize, group: usize, luck: &mut Luck) {
    let Some([x, y, width, height]) = frame_of(&nodes[group]).map(|frame| frame.map(|side| side as i64))
    else {
        return;
    };
    nodes[at]["x"] = json!(x + luck.between(0, (width / 2).max(1)));
    nodes[at]["y"] = json!(y + luck.between(0, (height / 2).max(1)));
}

fn shift(node: &mut Value, distance: [i64; 2]) {
    for (key, distance) in ["x", "y"].into_iter().zip(distance) {
        if let Some(was) = node[key].as_f64() {
            node[key] = json!(was.round() as i64 + distance);
        }
    }
}

fn left(node: &Value) -> i64 {
    node["x"].as_f64().unwrap_or_default() as i64
}

fn top_of(node: &Value) -> i64 {
    node["y"].as_f64().unwrap_or_default() as i64
}

fn left_of(nodes: &[Value]) -> i64 {
    nodes.iter().map(left).min().unwrap_or_default()
}

fn right_of(nodes: &[Value]) -> i64 {
    nodes
        .iter()
        .map(|node| left(node) + node["width"].as_f64().unwrap_or_default() as i64)
        .max()
        .unwrap_or_default()
}

/// A place below everything.
fn below(nodes: &[Value]) -> i64 {
    let ends = nodes.iter().map(|node| top_of(node) + node["height"].as_f64().unwrap_or_default() as i64);
    ends.max().map_or(0, |end| end + GAP)
}

/// A new group below everything, with some cards in it.
fn add_slide(nodes: &mut Vec<Value>, luck: &mut Luck, ledger: &mut Ledger) {
    let like = slides_in(nodes).first().and_then(|slide| frame_of(&nodes[*slide]));
    let [width, height] = like.map_or(SIZE, |[_, _, width, height]| [width as i64, height as i64]);
    let (y, id) = (below(nodes), format!("{:016x}", luck.next()));
    nodes.push(json!({ "id": id, "type": "group", "x": 0, "y": y, "width": width, "height": height }));
    let slide = nodes.len() - 1;
    for _ in 0..luck.below(3) {
        nodes.push(new_node(luck, ledger));
        let at = nodes.len() - 1;
        put_into(nodes, at, slide, luck);
    }
}
