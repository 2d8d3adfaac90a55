//! What a person added to a slide in the file only, as elements for the slide's picture: links and files as a box with
//! their name, groups as a frame, edges as a line.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::area::Area;
use super::survey::{Node, Role, Survey};
use crate::canvas::colour::Colour;
use crate::canvas::node::type_of;
use crate::model::{Elements, id_of};

const BOX: &str = "#f1f5f9";
const LINE: &str = "#94a3b8";
const FONT_SIZE: f64 = 14.0;

/// Those of one slide, with places from its corner on. `copies`: text nodes that the API cannot create.
pub(super) fn extras(survey: &Survey<'_>, slide: usize, copies: &BTreeMap<usize, String>) -> Elements {
    let group = survey.slides.get(slide);
    let Some([left, top]) = group.and_then(|group| group.origin) else { return Elements::new() };
    let mut all = Elements::new();
    for (index, node) in survey.nodes.iter().enumerate() {
        let is_extra = copies.contains_key(&index) || matches!(node.role, Role::Local(..));
        let Some(area) = Area::of(&node.value).filter(|_| is_extra && survey.slide_of(node) == Some(slide))
        else {
            continue;
        };
        let area = Area { origin: [area.origin[0] - left, area.origin[1] - top], ..area };
        let text = |key: &str| node.value.get(key).and_then(Value::as_str).unwrap_or_default();
        match type_of(&node.value) {
            "group" => all.extend(frame(area, text("label"), text("color"))),
            "link" => all.push(boxed(area, text("url"))),
            "file" => all.push(boxed(area, text("file").rsplit('/').next().unwrap_or_default())),
            _ => all.push(boxed(area, text("text"))),
        }
    }
    let ends: BTreeMap<&str, &Node<'_>> = (survey.nodes.iter())
        .filter(|node| survey.slide_of(node) == Some(slide) && !matches!(node.role, Role::Group(_)))
        .map(|node| (id_of(&node.value), node))
        .collect();
    for edge in &survey.edges {
        let text = |key: &str| edge.get(key).and_then(Value::as_str).unwrap_or_default();
        let end = |node: &str, side: &str| Some(side_of(Area::of(&ends.get(text(node))?.value)?, text(side)));
        // An edge to another slide has one end on neither picture.
        let (Some(from), Some(to)) = (end("fromNode", "fromSide"), end("toNode", "toSide")) else { continue };
        let from = [from[0] - left, from[1] - top];
        let size = [to[0] - left - from[0], to[1] - top - from[1]];
        all.push(element("connector", Area { origin: from, size }, "", &json!({})));
        if !text("label").is_empty() {
            all.push(words(Area { origin: from, size }.centre(), text("label")));
        }
    }
    all
}

fn element(kind: &str, area: Area, content: &str, style: &Value) -> Value {
    let ([x, y], [width, height]) = (area.origin, area.size);
    json!({ "type": kind, "x": x, "y": y, "width": width, "height": height, "content": content, "style": style })
}

fn boxed(area: Area, name: &str) -> Value {
    element("rectangle", area, name, &json!({ "color": BOX, "stroke": LINE, "fontSize": FONT_SIZE }))
}

fn frame(area: Area, label: &str, colour: &str) -> Vec<Value> {
    let line = Colour::canvas(colour).map_or_else(|| LINE.to_owned(), Colour::hex);
    let mut all = vec![element("rectangle", area, "", &json!({ "color": "transparent", "stroke": line }))];
    if !label.is_empty() {
        all.push(words([area.origin[0] + 8.0, area.origin[1] + 6.0], label));
    }
    all
}

fn words(origin: [f64; 2], text: &str) -> Value {
    // As wide as it takes: the picture ends at the slide's edge.
    element("text", Area { origin, size: [1e4, FONT_SIZE] }, text, &json!({ "fontSize": FONT_SIZE }))
}

/// Where an edge meets a node; without a side, in its middle.
fn side_of(area: Area, side: &str) -> [f64; 2] {
    let ([x, y], [right, bottom], [middle, centre]) = (area.origin, area.end(), area.centre());
    match side {
        "left" => [x, centre],
        "right" => [right, centre],
        "top" => [middle, y],
        "bottom" => [middle, bottom],
        _ => [middle, centre],
    }
}
