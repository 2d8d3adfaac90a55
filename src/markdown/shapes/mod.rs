//! The well-known shapes of blocks that the API document does not describe, as block editors have them.
//!
//! Tables, code fences, media and dividers. Whatever has another shape than the expected one stays a placeholder.

mod grid;
mod table;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::allowed::Allowed;
use super::lower::Walk;
use super::plain::{Inline, Kind, Media, Node, What};

/// The plain form of an undocumented block; `None` when its shape is not the well-known one.
pub(super) fn lower<'a>(
    kind: &str,
    props: &Map<String, Value>,
    content: Option<&'a Value>,
    walk: &mut Walk<'a>,
) -> Option<(Kind, Inline)> {
    match kind {
        "codeBlock" => code(props, content),
        "table" => Some((Kind::Table(Box::new(table::lower(content, walk)?)), Inline::default())),
        "image" | "video" | "audio" | "file" if is_nothing(content) => {
            Some((media(props, kind == "file")?, Inline::default()))
        }
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
    let kind = Kind::Code(language.into());
    is_sayable(&kind).then_some((kind, inline))
}

/// Whether a line of Markdown can say it exactly. What is read is asked too, so that both sides agree.
pub(super) fn is_sayable(kind: &Kind) -> bool {
    let odd = |text: &str| text.chars().any(|c| c.is_control() || c == '\u{feff}');
    match kind {
        Kind::Code(language) => !odd(language) && language.trim() == &**language,
        Kind::Media(media) => {
            let edged = |text: &str| text.trim() != text;
            [&media.url, &media.name, &media.caption].into_iter().all(|text| !odd(text) && !edged(text))
        }
        _ => true,
    }
}

fn is_nothing(content: Option<&Value>) -> bool {
    match content {
        None | Some(Value::Null) => true,
        Some(Value::Array(runs)) => runs.is_empty(),
        Some(_) => false,
    }
}

/// An image, video, sound or file whose name, address and caption can stand in one line.
fn media(props: &Map<String, Value>, file: bool) -> Option<Kind> {
    let text = |key: &str| match props.get(key) {
        None => Some(String::new()),
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => None,
    };
    let (url, name, caption) = (text("url")?, text("name")?, text("caption")?);
    let kind = Kind::Media(Box::new(Media { file, url, name, caption }));
    is_sayable(&kind).then_some(kind)
}

/// The type for a new block that shows this.
fn media_type(media: &Media, allowed: &Allowed) -> &'static str {
    if media.file {
        return "file";
    }
    let kind = guess(media);
    if allowed.block(kind) { kind } else { "image" }
}

/// What kind of media an address leads to, by how it ends.
pub(super) fn guess(media: &Media) -> &'static str {
    let path = media.url.split(['?', '#']).next().unwrap_or("");
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    match ending.as_str() {
        "mp4" | "webm" | "mov" | "ogv" => "video",
        "mp3" | "wav" | "ogg" | "m4a" | "flac" => "audio",
        _ => "image",
    }
}

/// Whether an address is a place on this machine, which no other machine can follow. What begins with a slash is a place of the app.
pub(super) fn is_local(url: &str) -> bool {
    let scheme = url.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| {
        scheme.len() > 1
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    });
    match scheme {
        Some(scheme) => scheme.eq_ignore_ascii_case("file"),
        None => !url.is_empty() && !url.starts_with(['#', '?', '/']),
    }
}

/// Whether a block for this may be made.
pub(super) fn creatable(media: &Media, allowed: &Allowed) -> bool {
    !is_local(&media.url) && allowed.block(media_type(media, allowed))
}

fn tell(props: &mut Map<String, Value>, media: &Media) {
    for (key, text) in [("name", &media.name), ("url", &media.url), ("caption", &media.caption)] {
        if !text.is_empty() || props.contains_key(key) {
            props.insert(key.to_owned(), Value::from(text.as_str()));
        }
    }
}

/// Type, props and content of a new block.
pub(super) fn create(
    object: &mut Map<String, Value>,
    node: &Node,
    allowed: &Allowed,
    items: &BTreeMap<String, &Value>,
) {
    if let Kind::Media(media) = &node.kind {
        object.insert("type".to_owned(), Value::from(media_type(media, allowed)));
    }
    let kind = object.get("type").and_then(Value::as_str).unwrap_or("").to_owned();
    let seen = allowed.seen(&kind);
    let mut props = seen.map(|seen| seen.props.clone()).unwrap_or_default();
    // The keys are those seen here; how the block that was seen is coloured or aligned is its own affair.
    for (key, default) in
        [("textColor", "default"), ("backgroundColor", "default"), ("textAlignment", "left")]
    {
        if let Some(value) = props.get_mut(key) {
            *value = Value::from(default);
        }
    }
    // A title, a description or another file's id is that block's; a name of a setting may be everybody's.
    let is_setting = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase());
    for value in props.values_mut().filter(|value| value.as_str().is_some_and(|text| !is_setting(text))) {
        *value = Value::from("");
    }
    if let Kind::Code(language) = &node.kind {
        let language = if language.is_empty() { "text" } else { language };
        props.insert("language".to_owned(), Value::from(language));
    }
    if let Kind::Media(media) = &node.kind {
        for key in ["name", "url", "caption"] {
            props.insert(key.to_owned(), Value::from(""));
        }
        props.shift_remove("previewWidth");
        tell(&mut props, media);
    }
    object.insert("props".to_owned(), Value::Object(props));
    if let Kind::Table(table) = &node.kind {
        object.insert("content".to_owned(), table::create(table, items));
        return;
    }
    if !seen.is_some_and(|seen| seen.no_content) {
        object.insert("content".to_owned(), Value::Array(plain_runs(&node.inline.text)));
    }
}

/// Changes a block of a well-known shape to what the node says.
pub(super) fn edit(
    object: &mut Map<String, Value>,
    old: &Node,
    node: &Node,
    items: &BTreeMap<String, &Value>,
) {
    if let Kind::Media(media) = &node.kind
        && let Value::Object(props) = object.entry("props").or_insert_with(|| Value::Object(Map::new()))
    {
        tell(props, media);
    }
    if let (Kind::Table(was), Kind::Table(now)) = (&old.kind, &node.kind) {
        let content = object.get("content").cloned().unwrap_or(Value::Null);
        object.insert("content".to_owned(), table::edit(&content, was, now, items));
    }
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
