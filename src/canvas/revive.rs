//! Elements that were deleted, back into a canvas file as new nodes: from there they travel like any new node.

use serde_json::{Value, json};

use super::json as spans;
use super::node::{View, type_of};
use super::patch::patch;
use super::read::{Aliases, OWN_KEY, parse};
use crate::model::{Surface, id_of, is_creatable};

/// The file with a node for a deleted element, at the end. What JSON Canvas cannot say of it stands in our own key, so
/// that it is made again as it was. An element of a type that the API cannot make becomes its words.
///
/// # Errors
/// One sentence: why the file cannot be read, or that the element is there.
pub fn revive(text: &str, surface: Surface, element: &Value) -> Result<String, String> {
    let id = id_of(element);
    if parse(text)?.0.iter().any(|node| id_of(node) == id) {
        return Err(format!("the node {id} is in the file"));
    }
    let node = View::of(element).node(id);
    let mut own = serde_json::Map::new();
    if is_creatable(surface, type_of(element)) {
        own.insert("type".to_owned(), json!(type_of(element)));
    }
    if let Some(style) = element.get("style").and_then(Value::as_object).filter(|style| !style.is_empty()) {
        let known = super::check::STYLE_KEYS;
        let kept = style.iter().filter(|(key, _)| known.contains(&key.as_str()));
        own.insert("style".to_owned(), kept.map(|(key, value)| (key.clone(), value.clone())).collect());
    }
    // The element goes in as it is said, then our key beside it: `patch` writes the line in the file's own manner.
    let out = patch(text, &[], std::slice::from_ref(element), &Aliases::new())?;
    let with = format!("{},\"{OWN_KEY}\":{}}}", &node[..node.len() - 1], Value::Object(own));
    Ok(spans::replaced_once(&out, &node, &with))
}
