//! Carries elements into a canvas file that is there: only what must change does, every other byte stays.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::{Map, Value};

use super::json::{self, Member};
use super::node::{GEOMETRY, Kind, View, absolute, file_of, relative, render, rounded, type_of};
use super::read::{Aliases, Keys, MARK, OWN_KEY, element_id, is_blank, parse, said_colour, same_colour};
use crate::model::{id_of, planted_fault};

/// A file that is valid becomes one that says `target`. `base` names the elements that were the file's before: nodes of
/// those that `target` lacks go, with the edges at them. Other nodes stay.
///
/// # Errors
/// One sentence: why the text cannot be read.
pub fn patch(text: &str, base: &[Value], target: &[Value], aliases: &Aliases) -> Result<String, String> {
    planted_fault("splicing", &|| format!("{target:?}"));
    if is_blank(text) {
        return Ok(render(target));
    }
    if let Some(unmarked) = text.strip_prefix(MARK) {
        return Ok(format!("{MARK}{}", patch(unmarked, base, target, aliases)?));
    }
    parse(text)?;
    let drawn: Vec<Drawn<'_>> = target.iter().map(Drawn::new).collect();
    let wanted: BTreeMap<&str, usize> =
        target.iter().enumerate().map(|(at, element)| (id_of(element), at)).collect();
    let known: BTreeMap<&str, &Value> =
        base.iter().chain(target).map(|element| (id_of(element), element)).collect();
    let mut keys = Keys::default();
    let (mut said, mut removed) = (BTreeSet::new(), BTreeSet::new());
    let says = |_: usize, node: &Value| {
        let raw = id_of(node);
        let key = keys.next(raw);
        let id = element_id(&key, &known, aliases);
        let is_first = !said.contains(id) && !removed.contains(raw);
        match wanted.get(id).filter(|_| is_first) {
            Some(at) => {
                said.insert(id.to_owned());
                // Edges at a node that was copied with its id are the original's.
                Says::Target { at: *at, leads_edges: key == raw }
            }
            None if known.contains_key(id) && is_first => {
                removed.insert(raw.to_owned());
                Says::Gone
            }
            None => Says::Stray([0; 2]),
        }
    };
    Ok(splice(text, &drawn, Order::IsTheirs, says))
}

/// A node that the file is to have.
#[derive(Debug, Clone)]
pub(super) struct Drawn<'a> {
    /// Its id in the file.
    pub(super) id: Cow<'a, str>,
    /// What it says; its place is from `origin` on.
    pub(super) view: View,
    pub(super) origin: [f64; 2],
    /// `None` for a slide's group.
    pub(super) element: Option<&'a Value>,
}

impl<'a> Drawn<'a> {
    pub(super) fn new(element: &'a Value) -> Self {
        Self { id: id_of(element).into(), view: View::of(element), origin: [0.0; 2], element: Some(element) }
    }

    /// The node, as a line of a new file.
    pub(super) fn node(&self) -> String {
        let [x, y, width, height] = self.view.place;
        let [left, top] = self.origin;
        self.view.node_at(&self.id, [absolute(x, left), absolute(y, top), width, height])
    }
}

/// What a node of the file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// It says what the target has at this index. `leads_edges`: edges that name its id are its own.
    Target { at: usize, leads_edges: bool },
    /// It is to go.
    Gone,
    /// It is not espejo's: it stays, so far from where it is.
    Stray([i64; 2]),
}

/// Whether the order of the nodes is reason enough to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// It is put right.
    IsTheirs,
    /// It is put right when something else is written.
    IsNoReason,
}

/// The text of a valid file with `target` in it; `says` tells of each node, by its index and value, what it is.
pub(super) fn splice(
    text: &str,
    target: &[Drawn<'_>],
    order: Order,
    mut says: impl FnMut(usize, &Value) -> Says,
) -> String {
    let top = json::members(text, &json::whole(text));
    let Some(nodes) = last(&top, "nodes").filter(|member| text[member.value.clone()].starts_with('[')) else {
        return with_nodes(text, &top, target);
    };
    let mut list = Nodes { text, head: Vec::new(), runs: BTreeMap::new(), order: Vec::new() };
    let mut renamed = BTreeMap::new();
    let mut removed = BTreeSet::new();
    let spans = json::values(text, &nodes.value);
    let mut in_place = Vec::new();
    for (index, span) in spans.iter().enumerate() {
        let node: Value = serde_json::from_str(&text[span.clone()]).unwrap_or_default();
        let raw = id_of(&node);
        let said = says(index, &node);
        let drawn = if let Says::Target { at, .. } = said { target.get(at) } else { None };
        match (said, drawn) {
            (Says::Target { leads_edges, .. }, Some(drawn)) => {
                let edits = node_edits(text, span, &node, raw, drawn);
                if drawn.id != raw && leads_edges {
                    renamed.insert(raw.to_owned(), drawn.id.clone().into_owned());
                }
                list.known(&drawn.id, span, &edits);
                in_place.extend(edits);
            }
            (Says::Gone, _) => drop(removed.insert(raw.to_owned())),
            (_, _) => {
                let distance = if let Says::Stray(distance) = said { distance } else { [0; 2] };
                let edits = shift_edits(text, span, &node, distance);
                list.stray(span, &edits);
                in_place.extend(edits);
            }
        }
    }
    let fresh = target.iter().any(|drawn| !list.runs.contains_key(drawn.id.as_ref()));
    let in_order: Vec<&str> =
        target.iter().map(|drawn| drawn.id.as_ref()).filter(|id| list.runs.contains_key(*id)).collect();
    let is_in_order = list.order == in_order;
    if order == Order::IsNoReason && !fresh && removed.is_empty() && in_place.is_empty() {
        return text.to_owned();
    }
    let mut edits = if !fresh && removed.is_empty() && is_in_order {
        in_place
    } else {
        let inside = nodes.value.start + 1..nodes.value.end - 1;
        vec![(inside, list.rebuilt(target, &spans, &nodes.value))]
    };
    if let Some(edges) = last(&top, "edges").filter(|member| text[member.value.clone()].starts_with('[')) {
        edits.extend(edge_edits(text, &edges.value, &renamed, &removed));
    }
    json::replaced(text, edits)
}

/// Of equal keys the last counts, as in every parser.
pub(super) fn last<'a>(members: &'a [Member], key: &str) -> Option<&'a Member> {
    members.iter().rev().find(|member| member.key == key)
}

/// An object without nodes gets them, first.
fn with_nodes(text: &str, top: &[Member], target: &[Drawn<'_>]) -> String {
    if target.is_empty() {
        return text.to_owned();
    }
    let whole = file_of(target.iter().map(Drawn::node));
    if let Some(odd) = last(top, "nodes") {
        let own = json::members(&whole, &json::whole(&whole));
        let list = last(&own, "nodes").map_or("[]", |member| &whole[member.value.clone()]);
        return json::replaced(text, vec![(odd.value.clone(), list.to_owned())]);
    }
    let Some(first) = top.first() else { return whole };
    let own = json::members(&whole, &json::whole(&whole));
    let nodes = last(&own, "nodes").map_or("", |member| &whole[member.whole.clone()]);
    json::replaced(text, vec![(first.whole.start..first.whole.start, format!("{nodes},\n\t"))])
}

/// The nodes of a file, each known one in a run with the strays that follow it.
struct Nodes<'a> {
    text: &'a str,
    head: Vec<String>,
    runs: BTreeMap<String, Vec<String>>,
    order: Vec<String>,
}

impl Nodes<'_> {
    fn known(&mut self, id: &str, span: &Range<usize>, edits: &[(Range<usize>, String)]) {
        self.runs.insert(id.to_owned(), vec![edited(self.text, span, edits)]);
        self.order.push(id.to_owned());
    }

    fn stray(&mut self, span: &Range<usize>, edits: &[(Range<usize>, String)]) {
        let node = edited(self.text, span, edits);
        match self.order.last().and_then(|id| self.runs.get_mut(id)) {
            Some(run) => run.push(node),
            None => self.head.push(node),
        }
    }

    /// Everything between the brackets, anew, with the file's own white space.
    fn rebuilt(&mut self, target: &[Drawn<'_>], spans: &[Range<usize>], array: &Range<usize>) -> String {
        let mut all = std::mem::take(&mut self.head);
        for drawn in target {
            match self.runs.remove(drawn.id.as_ref()) {
                Some(run) => all.extend(run),
                None => all.push(drawn.node()),
            }
        }
        // Runs whose element goes are removed nodes; their strays never hung on them.
        let (before, between, after) = match spans {
            [] => ("\n\t\t".to_owned(), ",\n\t\t".to_owned(), "\n\t".to_owned()),
            [first, rest @ ..] => {
                let before = self.text[array.start + 1..first.start].to_owned();
                let between = match rest.first() {
                    Some(second) => self.text[first.end..second.start].to_owned(),
                    None => format!(",{before}"),
                };
                let end = spans.last().map_or(first.end, |span| span.end);
                (before, between, self.text[end..array.end - 1].to_owned())
            }
        };
        if all.is_empty() { String::new() } else { format!("{before}{}{after}", all.join(&between)) }
    }
}

/// A node of the text with its edits made.
fn edited(text: &str, span: &Range<usize>, edits: &[(Range<usize>, String)]) -> String {
    let own = edits.iter();
    let own = own.map(|(range, new)| (range.start - span.start..range.end - span.start, new.clone()));
    json::replaced(&text[span.clone()], own.collect())
}

/// What must change in one node that goes along with its slide's group.
fn shift_edits(
    text: &str,
    span: &Range<usize>,
    node: &Value,
    distance: [i64; 2],
) -> Vec<(Range<usize>, String)> {
    let mut edit = Editor { members: json::members(text, span), span: span.clone(), edits: Vec::new() };
    for (key, distance) in ["x", "y"].into_iter().zip(distance).filter(|(_, distance)| *distance != 0) {
        let Some(value) = node.get(key) else { continue };
        #[expect(clippy::cast_precision_loss, reason = "distances between groups are exact numbers")]
        let moved = relative(value, -(distance as f64), None);
        edit.set(key, moved.to_string());
    }
    edit.edits
}

/// What must change in one node so that it says what is drawn.
fn node_edits(
    text: &str,
    span: &Range<usize>,
    node: &Value,
    raw: &str,
    drawn: &Drawn<'_>,
) -> Vec<(Range<usize>, String)> {
    let view = &drawn.view;
    let mut edit = Editor { members: json::members(text, span), span: span.clone(), edits: Vec::new() };
    if drawn.id != raw {
        edit.set("id", json::quoted(&drawn.id));
    }
    let [left, top] = drawn.origin;
    for ((key, whole), origin) in GEOMETRY.into_iter().zip(view.place).zip([left, top, 0.0, 0.0]) {
        let says = node.get(key).map(|value| relative(value, origin, Some(whole)));
        if says.as_ref().and_then(rounded) != Some(whole) {
            edit.set(key, absolute(whole, origin).to_string());
        }
    }
    if type_of(node) != view.kind.type_name() {
        edit.set("type", json::quoted(view.kind.type_name()));
    }
    let (key, words) = view.kind.words();
    if node.get(key).and_then(Value::as_str) != Some(words) {
        edit.set(key, json::quoted(words));
    }
    // The colour of a group is its user's: the API cannot set a slide's background.
    let Some(element) = drawn.element.filter(|_| !matches!(view.kind, Kind::Group(_))) else {
        return edit.edits;
    };
    let said = said_colour(node, raw).unwrap_or_default();
    if !same_colour(said, view.colour, type_of(element)) {
        match view.colour {
            Some(colour) => edit.set("color", json::quoted(&colour.hex())),
            None => edit.remove(text, "color"),
        }
    }
    if let Some(own) = node.get(OWN_KEY).and_then(Value::as_object)
        && let Some(own) = own_of(own, element)
    {
        edit.set(OWN_KEY, own.to_string());
    }
    edit.edits
}

/// Our own key brought up to date, if it says something that is no longer so.
fn own_of(own: &Map<String, Value>, element: &Value) -> Option<Value> {
    let mut new = own.clone();
    if own.get("type").is_some_and(|kind| *kind != type_of(element)) {
        new.insert("type".to_owned(), Value::from(type_of(element)));
    }
    if let Some(style) = new.get_mut("style").and_then(Value::as_object_mut) {
        let is = element.get("style");
        style.retain(|key, _| key == "color" || is.and_then(|is| is.get(key)).is_some());
        for (key, value) in style.iter_mut().filter(|(key, _)| *key != "color") {
            if let Some(is) = is.and_then(|is| is.get(key)) {
                *value = is.clone();
            }
        }
    }
    (new != *own).then_some(Value::Object(new))
}

struct Editor {
    members: Vec<Member>,
    span: Range<usize>,
    edits: Vec<(Range<usize>, String)>,
}

impl Editor {
    fn set(&mut self, key: &str, value: String) {
        match last(&self.members, key) {
            Some(member) => self.edits.push((member.value.clone(), value)),
            None => {
                let end = self.members.last().map_or(self.span.start + 1, |member| member.whole.end);
                let comma = if self.members.is_empty() { "" } else { "," };
                // Several new keys at one place follow each other in the order they came.
                self.edits.push((end..end, format!("{comma}{}:{value}", json::quoted(key))));
            }
        }
    }

    fn remove(&mut self, text: &str, key: &str) {
        let Some(at) = self.members.iter().rposition(|member| member.key == key) else { return };
        let range = match (at.checked_sub(1), self.members.get(at + 1)) {
            (Some(before), _) => self.members[before].whole.end..self.members[at].whole.end,
            (None, Some(next)) => self.members[at].whole.start..next.whole.start,
            (None, None) => self.members[at].whole.clone(),
        };
        debug_assert!(range.end <= text.len());
        self.edits.push((range, String::new()));
    }
}

/// Edges follow their nodes: to their new ids, or away.
fn edge_edits(
    text: &str,
    at: &Range<usize>,
    renamed: &BTreeMap<String, String>,
    removed: &BTreeSet<String>,
) -> Vec<(Range<usize>, String)> {
    let mut edits = Vec::new();
    let spans = json::values(text, at);
    let mut kept = Vec::new();
    let mut any_gone = false;
    for span in &spans {
        let mut own = Vec::new();
        let mut gone = false;
        for member in json::members(text, span) {
            if !matches!(member.key.as_str(), "fromNode" | "toNode") {
                continue;
            }
            let end: String = serde_json::from_str(&text[member.value.clone()]).unwrap_or_default();
            gone |= removed.contains(&end);
            if let Some(id) = renamed.get(&end) {
                own.push((member.value, json::quoted(id)));
            }
        }
        any_gone |= gone;
        if !gone {
            let moved =
                own.iter().map(|(r, new)| (r.start - span.start..r.end - span.start, new.clone())).collect();
            kept.push(json::replaced(&text[span.clone()], moved));
            edits.extend(own);
        }
    }
    if !any_gone {
        return edits;
    }
    let inside = at.start + 1..at.end - 1;
    let (Some(first), Some(end)) = (spans.first(), spans.last()) else { return edits };
    let between = spans.get(1).map_or(",", |second| &text[first.end..second.start]);
    let inner = if kept.is_empty() {
        String::new()
    } else {
        let (before, after) = (&text[inside.start..first.start], &text[end.end..inside.end]);
        format!("{before}{}{after}", kept.join(between))
    };
    vec![(inside, inner)]
}
