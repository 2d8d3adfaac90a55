//! Two versions of a canvas file in one. Nothing of the first is taken away.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::read::{MARK, is_blank, parse};
use crate::model::id_of;

/// Whose nodes stay where both versions have one of the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The second version's.
    Second,
    /// Both: the second version's as a new node beside the first's.
    Both,
}

/// How far the second version's node stands from the first's, where both stay.
const BESIDE: f64 = 40.0;

/// The first file with the nodes and edges of the second that it does not have.
///
/// # Errors
/// One sentence: why one of them cannot be read.
pub fn resolve(first: &str, second: &str, keep: Keep) -> Result<String, String> {
    let (mut nodes, mut edges) = parse(first)?;
    let (others, other_edges) = parse(second)?;
    let mut taken: BTreeSet<String> =
        nodes.iter().chain(&others).map(|node| id_of(node).to_owned()).collect();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut is_changed = false;
    for other in others {
        let id = id_of(&other).to_owned();
        if nodes.iter().any(|node| *node == other || is_like(node, &other)) {
            continue;
        }
        is_changed = true;
        match nodes.iter_mut().find(|node| id_of(node) == id) {
            Some(node) if keep == Keep::Second => *node = other,
            Some(_) => nodes.push(beside(other, &mut taken, &mut names)),
            None => nodes.push(other),
        }
    }
    for mut edge in other_edges {
        if edges.iter().any(|one| id_of(one) == id_of(&edge)) {
            continue;
        }
        for end in ["fromNode", "toNode"] {
            if let Some(name) = edge[end].as_str().and_then(|id| names.get(id)) {
                edge[end] = json!(name);
            }
        }
        let is_there = |end: &str| nodes.iter().any(|node| Some(id_of(node)) == edge[end].as_str());
        if is_there("fromNode") && is_there("toNode") {
            is_changed = true;
            edges.push(edge);
        }
    }
    if !is_changed {
        return Ok(first.to_owned());
    }
    let text = first.strip_prefix(MARK).unwrap_or(first);
    let mut top = if is_blank(text) { json!({}) } else { serde_json::from_str(text).unwrap_or_default() };
    top["nodes"] = Value::Array(nodes);
    top["edges"] = Value::Array(edges);
    let mut out = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b"\t");
    let mut writer = serde_json::Serializer::with_formatter(&mut out, format);
    serde::Serialize::serialize(&top, &mut writer).map_err(|error| error.to_string())?;
    String::from_utf8(out).map(|text| text + "\n").map_err(|error| error.to_string())
}

/// Whether two nodes differ in nothing but their ids: one that was new here has another id at the service.
fn is_like(one: &Value, other: &Value) -> bool {
    let own = |node: &Value| {
        let mut map = node.as_object().cloned().unwrap_or_default();
        map.remove("id");
        map
    };
    own(one) == own(other)
}

/// The node under a free id, a little to the right and below.
fn beside(mut node: Value, taken: &mut BTreeSet<String>, names: &mut BTreeMap<String, String>) -> Value {
    let id = id_of(&node).to_owned();
    let mut number = 2;
    let mut name = format!("{id}-{number}");
    while !taken.insert(name.clone()) {
        number += 1;
        name = format!("{id}-{number}");
    }
    for key in ["x", "y"] {
        if let Some(at) = node[key].as_f64() {
            node[key] = json!((at + BESIDE).round() as i64);
        }
    }
    node["id"] = json!(name);
    names.insert(id, name);
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canvas(nodes: &[(&str, &str)]) -> String {
        let node =
            |(id, text): &(&str, &str)| json!({ "id": id, "type": "text", "text": text, "x": 0, "y": 0 });
        json!({ "nodes": nodes.iter().map(node).collect::<Vec<_>>(), "edges": [] }).to_string()
    }

    fn said(text: &str) -> Vec<(String, String)> {
        let nodes = parse(text).unwrap().0;
        let word = |node: &Value, key: &str| node[key].as_str().unwrap().to_owned();
        nodes.iter().map(|node| (word(node, "id"), word(node, "text"))).collect()
    }

    #[test]
    fn no_node_of_either_version_is_lost() {
        let (first, second) =
            (canvas(&[("a", "theirs"), ("n", "new")]), canvas(&[("a", "mine"), ("m", "own")]));
        let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect()
        };
        let mine = resolve(&first, &second, Keep::Second).unwrap();
        assert_eq!(said(&mine), pairs(&[("a", "mine"), ("n", "new"), ("m", "own")]));
        let both = resolve(&first, &second, Keep::Both).unwrap();
        assert_eq!(said(&both), pairs(&[("a", "theirs"), ("n", "new"), ("a-2", "mine"), ("m", "own")]));
        assert!(both.contains("\"x\": 40"), "{both}");
        // A new node that got an id of the service is not there twice.
        let renamed = resolve(&canvas(&[("e1", "own")]), &canvas(&[("m", "own")]), Keep::Both).unwrap();
        assert_eq!(said(&renamed), pairs(&[("e1", "own")]));
        assert!(resolve("{", &second, Keep::Both).is_err());
    }
}
