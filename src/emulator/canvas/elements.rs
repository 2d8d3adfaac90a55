//! Elements: what may be sent of one, what it becomes, and how one is changed (API document, "Whiteboard element").

use serde_json::{Map, Value, json};

use crate::emulator::http::{Refusal, refuse};

/// The keys of a style that are kept.
const STYLE_KEYS: [&str; 12] = [
    "color",
    "fill",
    "stroke",
    "fontSize",
    "fontFamily",
    "bold",
    "italic",
    "underline",
    "textAlign",
    "lineHeight",
    "letterSpacing",
    "opacity",
];

/// Types whose text can be changed.
const WITH_TEXT: [&str; 4] = ["sticky", "text", "rectangle", "ellipse"];

const BOUND: f64 = 100_000.0;

/// A new element's fields, before defaults.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub(super) numbers: Map<String, Value>,
    pub(super) content: Option<String>,
    pub(super) style: Option<Map<String, Value>>,
}

impl Sent {
    /// Reads what may be sent of an element, whether new or known.
    pub(super) fn read(body: &Map<String, Value>) -> Result<Self, Refusal> {
        let mut sent = Self::default();
        for key in ["x", "y", "width", "height"] {
            let Some(value) = body.get(key) else { continue };
            let number = value.as_f64().filter(|n| n.is_finite() && n.abs() <= BOUND);
            let is_size = matches!(key, "width" | "height");
            if number.is_none_or(|n| is_size && n <= 0.0) {
                return refuse(400, format!("{key} is not a valid number"));
            }
            sent.numbers.insert(key.to_owned(), value.clone());
        }
        match body.get("content") {
            None => {}
            Some(Value::String(text)) => sent.content = Some(text.clone()),
            Some(_) => return refuse(400, "content must be a string"),
        }
        match body.get("style") {
            None => {}
            Some(Value::Object(style)) => sent.style = Some(cleaned(style)),
            Some(_) => return refuse(400, "style must be an object"),
        }
        Ok(sent)
    }

    fn is_nothing(&self) -> bool {
        self.numbers.is_empty() && self.content.is_none() && self.style.is_none()
    }

    /// A new element, without the id of what it is on.
    pub(super) fn into_element(mut self, id: &str, kind: &str, defaults: [i64; 4], z_index: i64) -> Value {
        let mut number = |key: &str, default: i64| self.numbers.remove(key).unwrap_or_else(|| json!(default));
        let [x, y, width, height] = defaults;
        json!({
            "id": id,
            "type": kind,
            "x": number("x", x),
            "y": number("y", y),
            "width": number("width", width),
            "height": number("height", height),
            "content": self.content.unwrap_or_default(),
            "style": self.style.unwrap_or_default(),
            "z_index": z_index,
        })
    }
}

/// The keys that are kept, with values that are allowed.
fn cleaned(style: &Map<String, Value>) -> Map<String, Value> {
    let allowed = |value: &Value| match value {
        Value::String(text) => text.chars().count() <= 100,
        Value::Number(_) | Value::Bool(_) => true,
        _ => false,
    };
    style
        .iter()
        .filter(|(key, value)| STYLE_KEYS.contains(&key.as_str()) && allowed(value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// What a PATCH is refused with before anybody looks whether the element is there.
pub(super) fn read_update(body: &Map<String, Value>) -> Result<Sent, Refusal> {
    let sent = Sent::read(body)?;
    if sent.is_nothing() { refuse(400, "Nothing to change was sent") } else { Ok(sent) }
}

/// Whether an element takes a text.
pub(super) fn has_text(element: &Value) -> bool {
    element["type"].as_str().is_some_and(|kind| WITH_TEXT.contains(&kind))
}

/// Changes an element that was found and takes what is sent.
pub(super) fn update(element: &mut Value, sent: Sent) {
    for (key, value) in sent.numbers {
        element[key.as_str()] = value;
    }
    if let Some(content) = sent.content {
        element["content"] = json!(content);
    }
    for (key, value) in sent.style.into_iter().flatten() {
        if !element["style"].is_object() {
            element["style"] = json!({});
        }
        element["style"][key.as_str()] = value;
    }
}

/// An element as lists and answers show it: with the id of what it is on, second.
pub(super) fn shown(element: &Value, owner_key: &str, owner: &str) -> Value {
    let mut out = Map::new();
    for (key, value) in element.as_object().into_iter().flatten() {
        out.insert(key.clone(), value.clone());
        if key == "id" {
            out.insert(owner_key.to_owned(), json!(owner));
        }
    }
    Value::Object(out)
}

/// Back to front; equal ones by age.
pub(super) fn in_order(elements: &[Value]) -> Vec<&Value> {
    let mut all: Vec<&Value> = elements.iter().collect();
    all.sort_by(|a, b| z_index(a).total_cmp(&z_index(b)));
    all
}

pub(super) fn z_index(element: &Value) -> f64 {
    element["z_index"].as_f64().unwrap_or(0.0)
}

/// The code of a 400 that carries one (API document, "Errors").
pub(super) const NOT_EDITABLE: &str = "content_not_editable";
