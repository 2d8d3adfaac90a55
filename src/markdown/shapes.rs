//! The well-known shapes of blocks that the API document does not describe, as block editors have them.
//!
//! Stage by stage: code fences and dividers. Whatever has another shape than the expected one is not for this file.

use serde_json::{Map, Value};

use super::allowed::Allowed;
use super::plain::{Inline, Kind, Node, What};

/// The plain form of an undocumented block; `None` when its shape is not the well-known one.
pub(super) fn lower(
    kind: &str,
    props: &Map<String, Value>,
    content: Option<&Value>,
) -> Option<(Kind, Inline)> {
    match kind {
        "codeBlock" => code(props, content),
        "divider" if is_nothing(content) => Some((Kind::Divider, Inline::default())),
        _ => None,
    }
}

fn code(props: &Map<String, Value>, content: Option<&Value>) -> Option<(Kind, Inline)> {
    let language = match props.get("language") {
        None => "",
        Some(Value::String(language)) => language.as_str(),
        Some(_) => return None,
    };
    let fits =
        !language.chars().any(|c| c.is_control() || c == '`' || c == '\\' || c == '&' || c == '\u{feff}');
    if !fits || language.trim() != language {
        return None;
    }
    let mut text = String::new();
    match content {
        None | Some(Value::Null) => {}
        Some(Value::String(code)) => text.push_str(code),
        Some(Value::Array(runs)) => {
            for run in runs {
                if run.get("type")?.as_str()? != "text" {
                    return None;
                }
                text.push_str(run.get("text")?.as_str()?);
            }
        }
        Some(_) => return None,
    }
    if text.contains(['\r', '\0']) {
        return None;
    }
    let language = if language == "text" { "" } else { language };
    let mut inline = Inline::default();
    inline.push(&text, 0, &What::Text);
    Some((Kind::Code(language.into()), inline))
}

fn is_nothing(content: Option<&Value>) -> bool {
    match content {
        None | Some(Value::Null) => true,
        Some(Value::Array(runs)) => runs.is_empty(),
        Some(_) => false,
    }
}

/// Props and content of a new block.
pub(super) fn create(object: &mut Map<String, Value>, node: &Node, allowed: &Allowed) {
    let kind = object.get("type").and_then(Value::as_str).unwrap_or("").to_owned();
    let seen = allowed.seen(&kind);
    let mut props = seen.map(|seen| seen.props.clone()).unwrap_or_default();
    if let Kind::Code(language) = &node.kind {
        let language = if language.is_empty() { "text" } else { language };
        props.insert("language".to_owned(), Value::from(language));
    }
    object.insert("props".to_owned(), Value::Object(props));
    if !seen.is_some_and(|seen| seen.no_content) {
        object.insert("content".to_owned(), Value::Array(plain_runs(&node.inline.text)));
    }
}

/// Changes a block of a well-known shape to what the node says.
pub(super) fn edit(object: &mut Map<String, Value>, old: &Node, node: &Node, _allowed: &Allowed) {
    if let Kind::Code(language) = &node.kind {
        if old.kind != node.kind {
            let language = if language.is_empty() { "text" } else { language };
            if let Value::Object(props) = object.entry("props").or_insert_with(|| Value::Object(Map::new())) {
                props.insert("language".to_owned(), Value::from(language));
            }
        }
        if old.inline != node.inline {
            object.insert("content".to_owned(), Value::Array(plain_runs(&node.inline.text)));
        }
    }
}

fn plain_runs(text: &str) -> Vec<Value> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut run = Map::new();
    run.insert("type".to_owned(), Value::from("text"));
    run.insert("text".to_owned(), Value::from(text));
    run.insert("styles".to_owned(), Value::Object(Map::new()));
    vec![Value::Object(run)]
}
