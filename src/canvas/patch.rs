//! Carries elements into a canvas file that is there: only what must change does, every other byte stays.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::{Map, Value};

use super::json::{self, Member};
use super::node::{GEOMETRY, View, render, rounded, type_of};
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
    let top = json::members(text, &json::whole(text));
    let Some(nodes) = last(&top, "nodes").filter(|member| text[member.value.clone()].starts_with('[')) else {
        return Ok(with_nodes(text, &top, target));
    };
    let wanted: BTreeMap<&str, &Value> = target.iter().map(|element| (id_of(element), element)).collect();
    let known: BTreeMap<&str, &Value> =
        base.iter().chain(target).map(|element| (id_of(element), element)).collect();
    let mut list = Nodes { text, head: Vec::new(), groups: BTreeMap::new(), order: Vec::new() };
    let mut renamed = BTreeMap::new();
    let mut removed = BTreeSet::new();
    let spans = json::values(text, &nodes.value);
    let mut in_place = Vec::new();
    let mut keys = Keys::default();
    for span in &spans {
        let node: Value = serde_json::from_str(&text[span.clone()]).unwrap_or_default();
        let raw = node.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let key = keys.next(&raw);
        let id = element_id(&key, &known, aliases).to_owned();
        let first = !list.groups.contains_key(&id) && !removed.contains(&raw);
        if let (Some(element), true) = (wanted.get(id.as_str()), first) {
            let edits = node_edits(text, span, &node, &raw, element);
            // Edges at a node that was copied with its id are the original's.
            if id != raw && key == raw {
                renamed.insert(raw.clone(), id.clone());
            }
            list.known(&id, span, &edits);
            in_place.extend(edits);
        } else if known.contains_key(id.as_str()) && first {
            removed.insert(raw);
        } else {
            list.stray(span);
        }
    }
    let fresh = target.iter().any(|element| !list.groups.contains_key(id_of(element)));
    let in_order: Vec<&str> = target.iter().map(id_of).filter(|id| list.groups.contains_key(*id)).collect();
    let mut edits = if !fresh && removed.is_empty() && list.order == in_order {
        in_place
    } else {
        let inside = nodes.value.start + 1..nodes.value.end - 1;
        vec![(inside, list.rebuilt(target, &spans, &nodes.value))]
    };
    if let Some(edges) = last(&top, "edges").filter(|member| text[member.value.clone()].starts_with('[')) {
        edits.extend(edge_edits(text, &edges.value, &renamed, &removed));
    }
    Ok(json::replaced(text, edits))
}

/// Of equal keys the last counts, as in every parser.
fn last<'a>(members: &'a [Member], key: &str) -> Option<&'a Member> {
    members.iter().rev().find(|member| member.key == key)
}

/// An object without nodes gets them, first.
fn with_nodes(text: &str, top: &[Member], target: &[Value]) -> String {
    if target.is_empty() {
        return text.to_owned();
    }
    let whole = render(target);
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

/// The nodes of a file, each known one with the strays that follow it.
struct Nodes<'a> {
    text: &'a str,
    head: Vec<String>,
    groups: BTreeMap<String, Vec<String>>,
    order: Vec<String>,
}

impl Nodes<'_> {
    fn known(&mut self, id: &str, span: &Range<usize>, edits: &[(Range<usize>, String)]) {
        let moved = edits
            .iter()
            .map(|(range, new)| (range.start - span.start..range.end - span.start, new.clone()))
            .collect();
        let node = json::replaced(&self.text[span.clone()], moved);
        self.groups.insert(id.to_owned(), vec![node]);
        self.order.push(id.to_owned());
    }

    fn stray(&mut self, span: &Range<usize>) {
        let node = self.text[span.clone()].to_owned();
        match self.order.last().and_then(|id| self.groups.get_mut(id)) {
            Some(group) => group.push(node),
            None => self.head.push(node),
        }
    }

    /// Everything between the brackets, anew, with the file's own white space.
    fn rebuilt(&mut self, target: &[Value], spans: &[Range<usize>], array: &Range<usize>) -> String {
        let mut all = std::mem::take(&mut self.head);
        for element in target {
            match self.groups.remove(id_of(element)) {
                Some(group) => all.extend(group),
                None => all.push(View::of(element).node(id_of(element))),
            }
        }
        // Groups whose element goes are removed nodes; their strays never hung on them.
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

/// What must change in one node so that it says its element.
fn node_edits(
    text: &str,
    span: &Range<usize>,
    node: &Value,
    raw: &str,
    element: &Value,
) -> Vec<(Range<usize>, String)> {
    let view = View::of(element);
    let mut edit = Editor { members: json::members(text, span), span: span.clone(), edits: Vec::new() };
    if raw != id_of(element) {
        edit.set("id", json::quoted(id_of(element)));
    }
    for (key, whole) in GEOMETRY.into_iter().zip(view.place) {
        if node.get(key).and_then(rounded) != Some(whole) {
            edit.set(key, whole.to_string());
        }
    }
    if type_of(node) != view.kind.type_name() {
        edit.set("type", json::quoted(view.kind.type_name()));
    }
    let (key, words) = view.kind.words();
    if node.get(key).and_then(Value::as_str) != Some(words) {
        edit.set(key, json::quoted(words));
    }
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
