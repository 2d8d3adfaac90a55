//! A canvas file, compared with the elements that it was written from: what the user changed.
//!
//! The comparison is with what the node *said*, so that a program which rounds, reorders keys or drops unknown ones has
//! changed nothing. `espejo` in a node is the one key of our own: `{"type": …, "style": {…}}`, for what JSON Canvas
//! cannot say; where it is absent, what was there stays.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::check::{self, shape, shown};
use super::colour::{Colour, STICKY};
use super::merge::changed;
use super::node::{GEOMETRY, View, colour_of, has_text, rounded, type_of};
use crate::model::{Elements, Fields, Surface, id_of, is_creatable, planted, planted_fault};

/// The key of a node that says what JSON Canvas cannot.
pub(super) const OWN_KEY: &str = "espejo";

/// For ids in a file that are not the element's own (nodes made by the user): the element's.
pub type Aliases = BTreeMap<String, String>;

/// Elements of other canvases, by id: what nodes that bear their ids are copies of.
pub type Origins = BTreeMap<String, Value>;

/// What a file says that its base does not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Local {
    /// Changed fields of elements of the base, by element id; of `style` only the changed keys.
    pub changed: BTreeMap<String, Change>,
    /// Nodes that are no elements yet, in their order.
    pub new: Vec<(String, Fields)>,
    /// Elements of the base that the file lacks.
    pub gone: BTreeSet<String>,
    /// The file's elements in its order.
    pub order: Vec<String>,
    /// Changes that the API cannot make, each a sentence; the file gets its old words back.
    pub put_back: Vec<String>,
    /// The types of nodes that are copies of elements that the API cannot create; they stay in the file only.
    pub copies: Vec<String>,
    /// Groups, files, links and edges, which stay in the file only.
    pub strays: usize,
    /// Whether ids in the file wait to be replaced by the elements' own.
    pub aliased: bool,
}

/// What changed of one element.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    /// The id that the file has for it.
    pub node: String,
    /// The fields.
    pub fields: Fields,
}

impl Local {
    /// Whether the file says nothing of its own.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.changed.is_empty() && self.new.is_empty() && self.gone.is_empty() && self.put_back.is_empty()
    }

    /// The elements that the file has, as it says them; a new one has its node's id. `base`: what the file was read against.
    #[must_use]
    pub fn said(&self, base: &[Value]) -> Elements {
        let there = base.iter().filter(|element| !self.gone.contains(id_of(element)));
        let known = there.map(|element| match self.changed.get(id_of(element)) {
            Some(change) => changed(element, &change.fields),
            None => element.clone(),
        });
        let new = self.new.iter().map(|(node, fields)| {
            let mut fields = fields.clone();
            fields.insert("id".to_owned(), json!(node));
            Value::Object(fields)
        });
        known.chain(new).collect()
    }
}

/// Reads a file against its base. A new node that bears the id of an element, of this canvas or of another, is a copy
/// of that: what JSON Canvas cannot say of it is the element's.
///
/// # Errors
/// One sentence: why nothing of this file can be sent.
pub fn read(
    text: &str,
    surface: Surface,
    base: &[Value],
    aliases: &Aliases,
    origins: &Origins,
) -> Result<Local, String> {
    planted_fault("reading", &|| text.to_owned());
    let (nodes, edges) = parse(text)?;
    let known: BTreeMap<&str, &Value> = base.iter().map(|element| (id_of(element), element)).collect();
    let mut local = Local { strays: edges.len(), ..Local::default() };
    let twins = Twins::new(&nodes, &known, aliases);
    let mut seen = BTreeSet::new();
    let mut keys = Keys::default();
    for node in &nodes {
        let said = id_of(node);
        let key = keys.next(said);
        let raw = key.as_str();
        if raw.is_empty() {
            return Err("a node has no id; give it a unique id".to_owned());
        }
        let id = element_id(raw, &known, aliases);
        match known.get(id).filter(|_| seen.insert(id.to_owned())) {
            Some(element) => {
                local.aliased |= id != raw;
                local.order.push(id.to_owned());
                let mut change = Change { node: raw.to_owned(), fields: Fields::new() };
                compare(node, element, raw, &mut change.fields, &mut local.put_back)?;
                if !change.fields.is_empty() {
                    local.changed.insert(id.to_owned(), change);
                }
            }
            None if type_of(node) == "text" => {
                let copied = known.get(element_id(said, &known, aliases)).copied();
                let origin = copied.or_else(|| origins.get(said)).or_else(|| twins.of(node));
                match origin.map(type_of).filter(|kind| !has_text(kind)) {
                    Some(kind) => local.copies.push(kind.to_owned()),
                    None => local.new.push((raw.to_owned(), new_element(node, raw, surface, origin)?)),
                }
            }
            None => local.strays += 1,
        }
    }
    local.gone = known.keys().filter(|id| !seen.contains(**id)).map(|id| (*id).to_owned()).collect();
    let there: Vec<&str> = base.iter().map(id_of).filter(|id| seen.contains(*id)).collect();
    if local.order != there {
        let why = "the order of elements cannot be changed through the API; the order is changed back";
        local.put_back.push(why.to_owned());
    }
    Ok(local)
}

/// What a person sees of a text node, its place aside.
type Look<'a> = (&'a str, Option<i64>, Option<i64>, Option<[u8; 3]>);

/// The elements of a file by what their nodes look like. Obsidian gives the duplicate of a node an id of its own: the look
/// is all that says of what it is one.
pub(super) struct Twins<'a>(Vec<(Look<'a>, &'a Value)>);

impl<'a> Twins<'a> {
    fn new(nodes: &'a [Value], known: &BTreeMap<&str, &'a Value>, aliases: &Aliases) -> Self {
        Self::among(nodes.iter().filter_map(|node| {
            let element = *known.get(element_id(id_of(node), known, aliases))?;
            Some((node, element))
        }))
    }

    /// Those of nodes with their elements.
    pub(super) fn among(nodes: impl Iterator<Item = (&'a Value, &'a Value)>) -> Self {
        Self(nodes.filter_map(|(node, element)| Some((look_of(node)?, element))).collect())
    }

    /// The element that a new node looks like. Where elements of several types look so, it is none of them.
    pub(super) fn of(&self, node: &Value) -> Option<&'a Value> {
        let look = look_of(node)?;
        let mut alike = self.0.iter().filter(|(other, _)| *other == look).map(|(_, element)| *element);
        let first = alike.next()?;
        alike.all(|other| type_of(other) == type_of(first)).then_some(first)
    }
}

fn look_of(node: &Value) -> Option<Look<'_>> {
    if type_of(node) != "text" {
        return None;
    }
    let text = node.get("text").and_then(Value::as_str).unwrap_or_default();
    let size = |key| node.get(key).and_then(rounded);
    let colour = said_colour(node, "").ok()?.map(|colour| colour.rgb);
    Some((text, size("width"), size("height"), colour))
}

/// The base of a file, with the first of the `shown` elements of each id that the file has and the base lacks. They are of
/// a write whose end was not noted, and of the service: after a kill, or when an old copy was put back. A node with an alias
/// stands for that element unless that one has a node of its own.
#[must_use]
pub fn known<'a>(
    text: &str,
    base: &[Value],
    aliases: &Aliases,
    shown: impl IntoIterator<Item = &'a Value>,
) -> Vec<Value> {
    let mut all = base.to_vec();
    // Only a node counts: an edge or a word that names an element must not make it look deleted.
    let nodes = parse(text).unwrap_or_default().0;
    let there: BTreeSet<&str> = nodes.iter().map(id_of).collect();
    let is_itself = |id| aliases.get(id).is_none_or(|other| there.contains(other.as_str()));
    for element in shown {
        let id = id_of(element);
        if there.contains(id) && is_itself(id) && all.iter().all(|known| id_of(known) != id) {
            all.push(element.clone());
        }
    }
    all
}

/// The ids of a file's nodes that no element of its base bears.
#[must_use]
pub fn strange_ids(text: &str, base: &[Value], aliases: &Aliases) -> BTreeSet<String> {
    let known: BTreeMap<&str, &Value> = base.iter().map(|element| (id_of(element), element)).collect();
    let nodes = parse(text).unwrap_or_default().0;
    let ids = nodes.iter().filter(|node| type_of(node) == "text").map(id_of);
    ids.filter(|id| !known.contains_key(element_id(id, &known, aliases))).map(str::to_owned).collect()
}

/// The ids of a file's nodes and edges.
#[must_use]
pub fn ids_in(text: &str) -> BTreeSet<String> {
    let (nodes, edges) = parse(text).unwrap_or_default();
    nodes.iter().chain(&edges).map(|said| id_of(said).to_owned()).collect()
}

/// Names for a file's nodes: their ids, and the id with a number where a node was copied with its id.
#[derive(Debug, Default)]
pub(super) struct Keys(BTreeMap<String, usize>);

impl Keys {
    pub(super) fn next(&mut self, raw: &str) -> String {
        let count = self.0.entry(raw.to_owned()).or_default();
        *count += 1;
        if *count == 1 || raw.is_empty() { raw.to_owned() } else { format!("{raw} #{count}") }
    }
}

/// The element that an id of the file means.
pub(super) fn element_id<'a>(raw: &'a str, known: &BTreeMap<&str, &Value>, aliases: &'a Aliases) -> &'a str {
    if known.contains_key(raw) { raw } else { aliases.get(raw).map_or(raw, String::as_str) }
}

/// The byte order mark that programs on Windows begin a text with. It says nothing, and stays where it is.
pub(super) const MARK: char = '\u{feff}';

/// Whether a file holds nothing at all.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.trim_start_matches(MARK).trim().is_empty()
}

/// The nodes and edges of a file; an empty file is an empty canvas.
pub(super) fn parse(text: &str) -> Result<(Vec<Value>, Vec<Value>), String> {
    if is_blank(text) {
        return Ok(Default::default());
    }
    let text = text.strip_prefix(MARK).unwrap_or(text);
    let value: Value = match serde_json::from_str(text) {
        Err(_) if planted("spoilt-file-read-as-empty") => return Ok(Default::default()),
        read => read.map_err(|error| format!("it is not valid JSON: {error}"))?,
    };
    let Value::Object(mut map) = value else {
        return Err("it is not JSON Canvas: it must be an object with nodes".to_owned());
    };
    let mut list = |key: &str| match map.remove(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => match items.iter().find(|item| !item.is_object()) {
            None => Ok(items),
            Some(other) => Err(format!("it is not JSON Canvas: its {key} contain {}", shape(other))),
        },
        Some(other) => Err(format!("it is not JSON Canvas: its {key} is {}", shape(&other))),
    };
    Ok((list("nodes")?, list("edges")?))
}

/// The fields of an element that its node says otherwise.
pub(super) fn compare(
    node: &Value,
    element: &Value,
    raw: &str,
    fields: &mut Fields,
    put_back: &mut Vec<String>,
) -> Result<(), String> {
    let view = View::of(element);
    for (key, was) in GEOMETRY.into_iter().zip(view.place) {
        let Some(value) = node.get(key) else {
            return Err(format!("the node {} has no {key}", shown(raw)));
        };
        if rounded(value) != Some(was) {
            check::number(raw, key, value)?;
            fields.insert(key.to_owned(), value.clone());
        }
    }
    let (key, words) = view.kind.words();
    let said = node.get(key).and_then(Value::as_str);
    let kind = type_of(element);
    if said != Some(words) || type_of(node) != view.kind.type_name() {
        match said {
            Some(said) if !view.locked && type_of(node) == view.kind.type_name() => {
                fields.insert("content".to_owned(), json!(said));
            }
            _ if view.locked => put_back.push(format!(
                "the node {} has the type {kind}, whose text the API cannot change; it is changed back",
                shown(raw)
            )),
            _ => put_back.push(format!("the node {} must stay a text node; it is changed back", shown(raw))),
        }
    }
    let mut style = Map::new();
    compare_colour(node, element, raw, &mut style, put_back)?;
    compare_own(node, element, raw, &mut style, put_back)?;
    if !style.is_empty() {
        fields.insert("style".to_owned(), Value::Object(style));
    }
    Ok(())
}

fn compare_colour(
    node: &Value,
    element: &Value,
    raw: &str,
    style: &mut Map<String, Value>,
    put_back: &mut Vec<String>,
) -> Result<(), String> {
    let said = said_colour(node, raw)?;
    let was = colour_of(element);
    if same_colour(said, was, type_of(element)) {
        return Ok(());
    }
    match said {
        Some(colour) => drop(style.insert("color".to_owned(), json!(colour.hex()))),
        None if type_of(element) == "sticky" => drop(style.insert("color".to_owned(), json!(STICKY.hex()))),
        None => put_back.push(format!(
            "the node {} lost its colour, which the API cannot remove; give it another colour",
            shown(raw)
        )),
    }
    Ok(())
}

/// Whether a node's colour says what the element's colour is. A sticky note without one is yellow.
pub(super) fn same_colour(said: Option<Colour>, is: Option<Colour>, kind: &str) -> bool {
    let plain =
        |colour: Option<Colour>| colour.or((kind == "sticky").then_some(STICKY)).map(|colour| colour.rgb);
    plain(said) == plain(is)
}

pub(super) fn said_colour(node: &Value, raw: &str) -> Result<Option<Colour>, String> {
    match node.get("color") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => match Colour::canvas(text) {
            Some(colour) => Ok(Some(colour)),
            None => Err(format!(
                "the node {} has the colour {}; write \"1\" to \"6\" or \"#RRGGBB\"",
                shown(raw),
                shown(text)
            )),
        },
        Some(other) => Err(format!("the node {} has {} as its color", shown(raw), shape(other))),
    }
}

/// Our own key, where the node has it.
fn compare_own(
    node: &Value,
    element: &Value,
    raw: &str,
    style: &mut Map<String, Value>,
    put_back: &mut Vec<String>,
) -> Result<(), String> {
    let Some(own) = own_of(node, raw)? else { return Ok(()) };
    if let Some(kind) = own.get("type").filter(|kind| **kind != type_of(element)) {
        put_back.push(format!(
            "the node {} cannot become {} through the API; it is changed back",
            shown(raw),
            kind.as_str().map_or_else(|| shape(kind).to_owned(), shown)
        ));
    }
    for (key, value) in style_of(own, raw)? {
        // The node's own colour is seen by everyone and is what a person changes.
        if key != "color" && element.get("style").and_then(|style| style.get(key)) != Some(value) {
            check::style(raw, key, value)?;
            style.insert(key.clone(), value.clone());
        }
    }
    Ok(())
}

fn own_of<'a>(node: &'a Value, raw: &str) -> Result<Option<&'a Map<String, Value>>, String> {
    match node.get(OWN_KEY) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(own)) => Ok(Some(own)),
        Some(other) => Err(format!("the node {} has {} as its {OWN_KEY}", shown(raw), shape(other))),
    }
}

fn style_of<'a>(
    own: &'a Map<String, Value>,
    raw: &str,
) -> Result<impl Iterator<Item = (&'a String, &'a Value)>, String> {
    match own.get("style") {
        None | Some(Value::Null) => Ok(None.into_iter().flatten()),
        Some(Value::Object(style)) => Ok(Some(style).into_iter().flatten()),
        Some(other) => Err(format!("the node {} has {} as its style", shown(raw), shape(other))),
    }
}

/// The element that a new node shall become: a copy of `origin`, where it is one, but for what the node says otherwise.
pub(super) fn new_element(
    node: &Value,
    raw: &str,
    surface: Surface,
    origin: Option<&Value>,
) -> Result<Fields, String> {
    let colour = said_colour(node, raw)?;
    let own = own_of(node, raw)?;
    let copied = origin.map(type_of).filter(|kind| is_creatable(surface, kind));
    let kind = match (own.and_then(|own| own.get("type")), copied) {
        (None, Some(kind)) => kind,
        (None, None) => match (surface, colour) {
            (Surface::Board, _) => "sticky",
            (Surface::Slide, None) => "text",
            (Surface::Slide, Some(_)) => "rectangle",
        },
        (Some(Value::String(kind)), _) if is_creatable(surface, kind) => kind,
        (Some(other), _) => {
            let kind = other.as_str().map_or_else(|| shape(other).to_owned(), shown);
            let may = if surface == Surface::Board {
                "sticky, text, rectangle or ellipse"
            } else {
                "text, rectangle or ellipse"
            };
            return Err(format!(
                "the new node {} cannot become {kind}; the API can create {may}",
                shown(raw)
            ));
        }
    };
    let mut fields = Fields::new();
    fields.insert("type".to_owned(), json!(kind));
    for key in GEOMETRY {
        let Some(value) = node.get(key) else { return Err(format!("the node {} has no {key}", shown(raw))) };
        let exact = origin.and_then(|origin| origin.get(key));
        let value = exact.filter(|exact| rounded(exact) == rounded(value)).unwrap_or(value);
        check::number(raw, key, value)?;
        fields.insert(key.to_owned(), value.clone());
    }
    let text = match node.get("text") {
        None | Some(Value::Null) => "",
        Some(Value::String(text)) => text,
        Some(other) => return Err(format!("the node {} has {} as its text", shown(raw), shape(other))),
    };
    fields.insert("content".to_owned(), json!(text));
    let mut style = origin.map(|origin| copied_style(origin, colour, kind)).unwrap_or_default();
    for (key, value) in own.map(|own| style_of(own, raw)).transpose()?.into_iter().flatten() {
        check::style(raw, key, value)?;
        style.insert(key.clone(), value.clone());
    }
    if let Some(colour) = colour {
        let exact = colour_of(&json!({ "type": kind, "style": &style }));
        if !same_colour(Some(colour), exact, "") {
            style.insert("color".to_owned(), json!(colour.hex()));
        }
    }
    if !style.is_empty() {
        fields.insert("style".to_owned(), Value::Object(style));
    }
    Ok(fields)
}

/// The style of a copied element, as far as the service takes it, without the colour if the copy says another or none.
fn copied_style(origin: &Value, said: Option<Colour>, kind: &str) -> Map<String, Value> {
    let mut style = origin.get("style").and_then(Value::as_object).cloned().unwrap_or_default();
    style.retain(|key, value| check::style("", key, value).is_ok());
    if !same_colour(said, colour_of(origin), kind) {
        style.retain(|key, _| key != "color" && (said.is_some() || key != "fill"));
    }
    style
}
