//! Three-way merge of JSON: key by key, arrays element by element, text by words, and one block's own values.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::align::align;
use super::regions::{By, regions};
use super::runs::{are_runs, merge_runs};
use super::summary::Collision;

/// What a block's text can be: the keys that only make sense together.
const UNIT: [&str; 3] = ["type", "props", "content"];

/// Types whose text has no styles and nothing inline; the editor refuses others.
const PLAIN: &str = "codeBlock";

/// The collisions found so far, and the place that is being looked at.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) collisions: Vec<Collision>,
    /// The id of the block.
    block: Option<String>,
    path: Vec<String>,
}

impl Found {
    /// Nothing yet, in the block of this id.
    pub(super) fn within_block(block: Option<String>) -> Self {
        Self { block, ..Self::default() }
    }

    fn collide(&mut self, base: Option<&Value>, remote: Option<&Value>, local: Option<&Value>) {
        let show = |value: Option<&Value>| value.map(shown).unwrap_or_default();
        self.collisions.push(Collision {
            block: self.block.clone(),
            place: self.path.join("."),
            base: show(base),
            remote: show(remote),
            local: show(local),
        });
    }

    fn within<T>(&mut self, part: impl Into<String>, act: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(part.into());
        let result = act(self);
        self.path.pop();
        result
    }
}

/// A block without the blocks nested in it: an array under `children` is empty, everything else is as it was.
pub(super) fn own(block: &Value) -> Value {
    let Some(map) = block.as_object() else { return block.clone() };
    let copy = |(key, value): (&String, &Value)| {
        let nested = key == "children" && value.is_array();
        (key.clone(), if nested { Value::Array(Vec::new()) } else { value.clone() })
    };
    Value::Object(map.iter().map(copy).collect())
}

/// Whether two blocks are equal, the blocks nested in them aside.
pub(super) fn is_own_equal(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a == b };
    a.len() == b.len()
        && a.iter().all(|(key, value)| match b.get(key) {
            Some(Value::Array(_)) if key == "children" && value.is_array() => true,
            other => other == Some(value),
        })
}

/// Merges what one block says itself; the blocks nested in it are not looked at.
pub(super) fn merge_own(base: Option<&Value>, remote: &Value, local: &Value, found: &mut Found) -> Value {
    if is_own_equal(remote, local) || base.is_some_and(|base| is_own_equal(base, local)) {
        return own(remote);
    }
    if base.is_some_and(|base| is_own_equal(base, remote)) {
        return own(local);
    }
    let (base, remote, local) = (base.map(own), own(remote), own(local));
    match (&remote, &local) {
        (Value::Object(theirs), Value::Object(ours)) => {
            let empty = Map::new();
            let was = base.as_ref().and_then(Value::as_object);
            Value::Object(merge_block(was.unwrap_or(&empty), theirs, ours, found))
        }
        _ => merge_values(base.as_ref(), Some(&remote), Some(&local), found).unwrap_or(remote),
    }
}

type Object = Map<String, Value>;

fn merge_block(base: &Object, remote: &Object, local: &Object, found: &mut Found) -> Object {
    let same_unit = |a: &Object, b: &Object| UNIT.iter().all(|key| a.get(*key) == b.get(*key));
    let changed_type = |side: &Object| side.get("type") != base.get("type");
    if content_kind(remote) != content_kind(local) {
        // A table's content under a paragraph's type would break the page: one side's type, props and content.
        let from = if same_unit(base, local) {
            remote
        } else if same_unit(base, remote) {
            local
        } else {
            found.collide(Some(&unit(base)), Some(&unit(remote)), Some(&unit(local)));
            remote
        };
        return merge_but(&UNIT, from, base, remote, local, found);
    }
    if remote.get("type") != local.get("type") && changed_type(remote) && changed_type(local) {
        // Two new types: remote's, with the props that belong to it.
        found.within("type", |found| found.collide(base.get("type"), remote.get("type"), local.get("type")));
        return merge_but(&["type", "props"], remote, base, remote, local, found);
    }
    let before = found.collisions.len();
    let merged = merge_objects(base, remote, local, found);
    let is_plain = |block: &Object| are_plain(block.get("content"));
    let turned = remote.get("type") != local.get("type");
    if turned && merged.get("type").and_then(Value::as_str) == Some(PLAIN) && !is_plain(&merged) {
        found.collisions.truncate(before);
        found.collide(Some(&unit(base)), Some(&unit(remote)), Some(&unit(local)));
        return merge_but(&UNIT, remote, base, remote, local, found);
    }
    if is_even(remote) && is_even(local) && !is_even(&merged) {
        // A column from one side and a row from the other: each row has its cells, and together they are no table.
        found.collisions.truncate(before);
        found.collide(Some(&unit(base)), Some(&unit(remote)), Some(&unit(local)));
        return merge_but(&UNIT, remote, base, remote, local, found);
    }
    merged
}

/// Whether all rows of a table are as wide as its list of column widths says, or as each other where it says nothing.
/// What is no table is.
fn is_even(block: &Object) -> bool {
    let Some(content) = block.get("content").and_then(Value::as_object) else { return true };
    let Some(rows) = content.get("rows").and_then(Value::as_array) else { return true };
    let across = |cell: &Value| cell["props"]["colspan"].as_u64().unwrap_or(1);
    let down = |cell: &Value| cell["props"]["rowspan"].as_u64().unwrap_or(1);
    let mut widths = vec![0_u64; rows.len()];
    for (at, row) in rows.iter().enumerate() {
        for cell in row["cells"].as_array().into_iter().flatten() {
            let reach = usize::try_from(down(cell)).unwrap_or(usize::MAX);
            widths.iter_mut().skip(at).take(reach).for_each(|width| *width += across(cell));
        }
    }
    let told = content.get("columnWidths").and_then(Value::as_array).map(|widths| widths.len() as u64);
    let first = widths.first().copied();
    widths.iter().all(|width| Some(*width) == first) && told.is_none_or(|told| Some(told) == first)
}

/// Merges two objects, with the values of `keys` all from one of them.
fn merge_but(
    keys: &[&str],
    from: &Object,
    base: &Object,
    remote: &Object,
    local: &Object,
    found: &mut Found,
) -> Object {
    let adopt = |side: &Object| -> Object {
        let mut adopted = Object::new();
        for (key, value) in side {
            match from.get(key) {
                Some(theirs) if keys.contains(&&**key) => adopted.insert(key.clone(), theirs.clone()),
                None if keys.contains(&&**key) => None,
                _ => adopted.insert(key.clone(), value.clone()),
            };
        }
        for (key, value) in from.iter().filter(|(key, _)| keys.contains(&&***key)) {
            adopted.entry(key.clone()).or_insert_with(|| value.clone());
        }
        adopted
    };
    merge_objects(&adopt(base), &adopt(remote), &adopt(local), found)
}

/// What a block's `content` is made of.
#[derive(PartialEq, Eq)]
enum ContentKind<'a> {
    Absent,
    Runs,
    Object(Option<&'a str>),
    Other,
}

fn content_kind(block: &Object) -> ContentKind<'_> {
    match block.get("content") {
        None => ContentKind::Absent,
        Some(Value::Array(_)) => ContentKind::Runs,
        Some(Value::Object(map)) => ContentKind::Object(map.get("type").and_then(Value::as_str)),
        Some(_) => ContentKind::Other,
    }
}

fn are_plain(content: Option<&Value>) -> bool {
    let is_plain = |run: &Value| {
        let unstyled = run.get("styles").and_then(Value::as_object).is_none_or(Map::is_empty);
        run.get("type").and_then(Value::as_str) == Some("text") && unstyled
    };
    content.and_then(Value::as_array).is_none_or(|runs| runs.iter().all(is_plain))
}

fn unit(block: &Object) -> Value {
    let keys = UNIT.iter().filter_map(|key| Some(((*key).to_owned(), block.get(*key)?.clone())));
    Value::Object(keys.collect())
}

/// Merges two changes of the styles of a text. Also returns whether they collide.
pub(super) fn merge_styles(base: &Value, remote: &Value, local: &Value) -> (Option<Value>, bool) {
    let mut found = Found::default();
    let merged = merge_values(Some(base), Some(remote), Some(local), &mut found);
    (merged, !found.collisions.is_empty())
}

/// Merges two changes of a value that may be absent. Where both changed it and there is no part to tell them apart by,
/// it is a collision and the result is remote's.
pub(super) fn merge_values(
    base: Option<&Value>,
    remote: Option<&Value>,
    local: Option<&Value>,
    found: &mut Found,
) -> Option<Value> {
    if remote == local || base == local {
        return remote.cloned();
    }
    if base == remote {
        return local.cloned();
    }
    match (remote, local) {
        (Some(Value::Object(theirs)), Some(Value::Object(ours))) => {
            let empty = Map::new();
            let was = base.and_then(Value::as_object).unwrap_or(&empty);
            Some(Value::Object(merge_objects(was, theirs, ours, found)))
        }
        (Some(Value::Array(theirs)), Some(Value::Array(ours))) => {
            let was = base.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let named_content = found.path.last().is_some_and(|key| key == "content");
            let text = |array: &[Value]| array.is_empty() || are_runs(array);
            if named_content || (text(was) && text(theirs) && text(ours)) {
                let merged = merge_runs([was, theirs, ours], merge_styles);
                if merged.collided {
                    found.collide(base, remote, local);
                }
                return Some(Value::Array(merged.runs));
            }
            Some(Value::Array(merge_arrays(was, theirs, ours, found)))
        }
        _ => {
            found.collide(base, remote, local);
            remote.cloned()
        }
    }
}

/// Key by key; in remote's order, then what local put in.
fn merge_objects(base: &Object, remote: &Object, local: &Object, found: &mut Found) -> Object {
    let mut merged = Object::new();
    let added = local.keys().filter(|key| !remote.contains_key(*key));
    for key in remote.keys().chain(added) {
        let values = [base, remote, local].map(|side| side.get(key));
        let value = found.within(key, |found| merge_values(values[0], values[1], values[2], found));
        if let Some(value) = value {
            merged.insert(key.clone(), value);
        }
    }
    merged
}

/// Element by element, as far as they can be told apart by being equal.
fn merge_arrays(base: &[Value], remote: &[Value], local: &[Value], found: &mut Found) -> Vec<Value> {
    let mut numbers = BTreeMap::new();
    let mut number = |value| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(canonical(value)).or_insert(next)
    };
    let [b, r, l] = [base, remote, local].map(|side| side.iter().map(&mut number).collect::<Vec<u32>>());
    let mut merged = Vec::new();
    for region in regions([b.len(), r.len(), l.len()], &align(&b, &r), &align(&b, &l)) {
        let (was, theirs, ours) = (&base[region.base], &remote[region.remote], &local[region.local]);
        match region.by {
            By::Nobody | By::Remote => merged.extend_from_slice(theirs),
            By::Local => merged.extend_from_slice(ours),
            By::Both if theirs == ours => merged.extend_from_slice(theirs),
            By::Both => merge_stretch(was, theirs, ours, &mut merged, found),
        }
    }
    merged
}

/// Two changes of one stretch: merged element by element if their number did not change, both put in if there was
/// nothing before, and a collision otherwise.
fn merge_stretch(
    base: &[Value],
    remote: &[Value],
    local: &[Value],
    merged: &mut Vec<Value>,
    found: &mut Found,
) {
    let are_parts = |side: &[Value]| side.iter().all(|value| value.is_object() || value.is_array());
    if base.len() == remote.len() && base.len() == local.len() {
        for ((b, r), l) in base.iter().zip(remote).zip(local) {
            let place = merged.len().to_string();
            merged.extend(found.within(place, |found| merge_values(Some(b), Some(r), Some(l), found)));
        }
    } else if base.is_empty() && are_parts(remote) && are_parts(local) {
        merged.extend_from_slice(remote);
        merged.extend(local.iter().filter(|value| !remote.contains(value)).cloned());
    } else {
        let whole = |side: &[Value]| Value::Array(side.to_vec());
        found.within(merged.len().to_string(), |found| {
            found.collide(Some(&whole(base)), Some(&whole(remote)), Some(&whole(local)));
        });
        merged.extend_from_slice(remote);
    }
}

/// A text that is equal for equal values, whatever the order of their keys.
pub(super) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut sorted: Vec<(&String, &Value)> = map.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in sorted {
                text.push_str(&Value::String(key.clone()).to_string());
                write_canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}

/// A value as people read it: the words in it, or its JSON if it has none.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => {
            let mut words = Vec::new();
            gather(value, &mut words);
            if words.is_empty() && !value.as_array().is_some_and(Vec::is_empty) {
                value.to_string()
            } else {
                words.join(" ")
            }
        }
        other => other.to_string(),
    }
}

fn gather(value: &Value, words: &mut Vec<String>) {
    const SILENT: [&str; 5] = ["type", "styles", "textColor", "backgroundColor", "textAlignment"];
    match value {
        Value::String(text) => words.extend((!text.is_empty()).then(|| text.clone())),
        Value::Array(items) if are_runs(items) => words.push(items.iter().map(shown_run).collect()),
        Value::Array(items) => items.iter().for_each(|item| gather(item, words)),
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| !SILENT.contains(&&***key))
            .for_each(|(_, value)| gather(value, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A run's text, and a link's with its address.
fn shown_run(run: &Value) -> String {
    match (run.get("text").and_then(Value::as_str), run.get("content").and_then(Value::as_array)) {
        (Some(text), _) => text.to_owned(),
        (None, Some(inner)) => {
            let text: String = inner.iter().map(shown_run).collect();
            match run.get("href").and_then(Value::as_str) {
                Some(href) if href != text => format!("{text} ({href})"),
                _ => text,
            }
        }
        (None, None) => shown(run),
    }
}
