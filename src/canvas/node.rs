//! What a node of a canvas file says of an element, and how a new one is written.
//!
//! Geometry is whole numbers, since JSON Canvas has no others; the colour is hex; everything that can hold a text is a
//! text node. What that leaves out is kept beside the file, by id.

use serde_json::Value;

use super::colour::{Colour, STICKY};
use super::json::quoted;
use crate::model::{id_of, planted_fault};

/// The keys of a node's place, in the order they are written.
pub(super) const GEOMETRY: [&str; 4] = ["x", "y", "width", "height"];

/// What a node says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct View {
    pub(super) kind: Kind,
    /// In the order of [`GEOMETRY`].
    pub(super) place: [i64; 4],
    pub(super) colour: Option<Colour>,
    /// Whether its text is not the element's to change.
    pub(super) locked: bool,
}

/// The types of node that elements and slides become.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Text(String),
    Link(String),
    /// A slide, with its label.
    Group(String),
}

impl Kind {
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Link(_) => "link",
            Self::Group(_) => "group",
        }
    }

    /// The key that holds the words, and the words.
    pub(super) fn words(&self) -> (&'static str, &str) {
        match self {
            Self::Text(text) => ("text", text),
            Self::Link(url) => ("url", url),
            Self::Group(label) => ("label", label),
        }
    }
}

/// Whether the API can change the text of an element of this type.
pub(super) fn has_text(kind: &str) -> bool {
    matches!(kind, "sticky" | "text" | "rectangle" | "ellipse")
}

/// An element's type.
#[must_use]
pub fn type_of(element: &Value) -> &str {
    element.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// A text of the element's style.
pub(super) fn style_text<'a>(element: &'a Value, key: &str) -> Option<&'a str> {
    element.get("style")?.get(key)?.as_str()
}

/// The colour that the element shows as its own.
pub(super) fn colour_of(element: &Value) -> Option<Colour> {
    let kind = type_of(element);
    let own = style_text(element, "color").and_then(Colour::css);
    let filled = || {
        let fill = style_text(element, "fill").filter(|_| matches!(kind, "rectangle" | "ellipse"));
        fill.and_then(Colour::css)
    };
    own.or_else(filled).or((kind == "sticky").then_some(STICKY))
}

/// The whole numbers that a file has for an element's place and size.
#[must_use]
pub fn place_of(element: &Value) -> [i64; 4] {
    View::of(element).place
}

impl View {
    pub(super) fn of(element: &Value) -> Self {
        let kind = type_of(element);
        let content = element.get("content").and_then(Value::as_str).unwrap_or_default();
        let locked = !has_text(kind);
        let words = if !locked {
            Kind::Text(content.to_owned())
        } else if kind == "embed" && is_web_address(content) {
            Kind::Link(content.to_owned())
        } else if content.is_empty() {
            Kind::Text(format!("**{kind}**"))
        } else {
            Kind::Text(format!("**{kind}**\n\n{content}"))
        };
        let place = GEOMETRY.map(|key| {
            let whole = element.get(key).and_then(rounded).unwrap_or(0);
            if matches!(key, "width" | "height") { whole.max(1) } else { whole }
        });
        Self { kind: words, place, colour: colour_of(element), locked }
    }

    /// The node, as a line of a new file.
    pub(super) fn node(&self, id: &str) -> String {
        self.node_at(id, self.place)
    }

    /// The same at another place.
    pub(super) fn node_at(&self, id: &str, [x, y, width, height]: [i64; 4]) -> String {
        let (key, words) = self.kind.words();
        let colour = self.colour.map_or_else(String::new, |c| format!(",\"color\":\"{}\"", c.hex()));
        format!(
            "{{\"id\":{},\"type\":\"{}\",\"{key}\":{},\"x\":{x},\"y\":{y},\"width\":{width},\"height\":{height}{colour}}}",
            quoted(id),
            self.kind.type_name(),
            quoted(words),
        )
    }
}

/// A canvas file that says these elements and nothing else.
#[must_use]
pub fn render(elements: &[Value]) -> String {
    planted_fault("printing", &|| format!("{elements:?}"));
    file_of(elements.iter().map(|element| View::of(element).node(id_of(element))))
}

/// A canvas file with these nodes and nothing else.
pub(super) fn file_of(nodes: impl Iterator<Item = String>) -> String {
    let mut out = String::from("{\n\t\"nodes\":[");
    let mut is_empty = true;
    for node in nodes {
        out.push_str(if is_empty { "\n\t\t" } else { ",\n\t\t" });
        out.push_str(&node);
        is_empty = false;
    }
    out.push_str(if is_empty { "],\n\t\"edges\":[]\n}\n" } else { "\n\t],\n\t\"edges\":[]\n}\n" });
    out
}

/// The whole numbers up to here are exact in every program.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A coordinate of a node, from that of the group it is in. `said` is what the file would say for it: where the group
/// stands at a fraction of a pixel, a distance of less than one from `said` comes from rounding and counts as `said`.
#[expect(clippy::cast_possible_truncation, reason = "whole numbers that both types hold exactly")]
pub(super) fn relative(value: &Value, origin: f64, said: Option<i64>) -> Value {
    if origin == 0.0 {
        return value.clone();
    }
    let is_whole = origin.fract() == 0.0;
    if let (Some(whole), true) = (value.as_i64(), is_whole) {
        return Value::from(whole.saturating_sub(origin as i64));
    }
    let Some(number) = value.as_f64() else { return value.clone() };
    // Without the noise that the subtraction of two fractions leaves.
    let distance = ((number - origin) * 1e6).round() / 1e6;
    match said.filter(|_| !is_whole) {
        #[expect(clippy::cast_precision_loss, reason = "compared by a pixel")]
        Some(said) if (distance - said as f64).abs() < 1.0 => Value::from(said),
        _ if distance.fract() == 0.0 && distance.abs() < EXACT => Value::from(distance as i64),
        _ => serde_json::Number::from_f64(distance).map_or_else(|| value.clone(), Value::from),
    }
}

/// The whole number that a file has for a place in a group.
#[expect(clippy::cast_possible_truncation, reason = "clamped to what both types hold exactly")]
#[expect(clippy::cast_precision_loss, reason = "a fraction of a group so far out has no meaning")]
pub(super) fn absolute(place: i64, origin: f64) -> i64 {
    if origin.fract() == 0.0 {
        return place.saturating_add(origin.clamp(-EXACT, EXACT) as i64);
    }
    (place as f64 + origin).round().clamp(-EXACT, EXACT) as i64
}

/// A number as a whole one: halves go away from zero.
#[expect(clippy::cast_possible_truncation, reason = "clamped to what both types hold exactly")]
pub(super) fn rounded(value: &Value) -> Option<i64> {
    if let Some(whole) = value.as_i64().filter(|n| n.unsigned_abs() <= EXACT as u64) {
        return Some(whole);
    }
    let number = value.as_f64().filter(|n| !n.is_nan())?;
    Some(number.round().clamp(-EXACT, EXACT) as i64)
}

fn is_web_address(text: &str) -> bool {
    (text.starts_with("https://") || text.starts_with("http://"))
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}
