//! What the service would refuse or drop, told before anything is sent (API document, "Limits" and "style keys").

use serde_json::Value;

/// The keys of a style that the service keeps.
pub(super) const STYLE_KEYS: [&str; 12] = [
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

const BOUND: f64 = 100_000.0;
const STYLE_TEXT_MAX: usize = 100;

/// Why a number cannot stand at this key of a node.
pub(super) fn number(node: &str, key: &str, value: &Value) -> Result<(), String> {
    let Some(number) = value.as_f64().filter(|n| n.is_finite()) else {
        return Err(format!("the node {} has {} as its {key}; write a number", shown(node), shape(value)));
    };
    if number.abs() > BOUND {
        return Err(format!(
            "the node {} has {key} {value}; the service takes numbers from -100000 to 100000",
            shown(node)
        ));
    }
    if matches!(key, "width" | "height") && number <= 0.0 {
        return Err(format!("the node {} has {key} {value}; make it greater than 0", shown(node)));
    }
    Ok(())
}

/// Why a style's key cannot have this value.
pub(super) fn style(node: &str, key: &str, value: &Value) -> Result<(), String> {
    if !STYLE_KEYS.contains(&key) {
        return Err(format!(
            "the node {} has the style key {}, which the service does not know; it knows {}",
            shown(node),
            shown(key),
            STYLE_KEYS.join(", ")
        ));
    }
    match value {
        Value::String(text) if text.chars().count() > STYLE_TEXT_MAX => Err(format!(
            "the node {} has a style value for {key} of more than {STYLE_TEXT_MAX} characters; shorten it",
            shown(node)
        )),
        Value::String(_) | Value::Number(_) | Value::Bool(_) => Ok(()),
        other => Err(format!(
            "the node {} has {} for the style key {key}; write a text, a number, true or false",
            shown(node),
            shape(other)
        )),
    }
}

/// Words from the file, short and on one line.
pub(super) fn shown(text: &str) -> String {
    let mut out: String = text.chars().filter(|c| !c.is_control()).take(40).collect();
    if text.chars().count() > 40 {
        out.push('…');
    }
    out
}

pub(super) fn shape(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number that cannot be used",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
