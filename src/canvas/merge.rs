//! Three-way merge of a canvas, by element and by field: what to ask of the service, and what the file shall say then.
//!
//! A field that only one side changed is that side's; changed alike it is agreed; changed differently the service's
//! value stays and the collision is told, so that the caller keeps the local file beside. A changed element beats its
//! deletion, on either side.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::check::shown;
use super::node::{GEOMETRY, rounded, type_of};
use super::read::{Change, Local};
use crate::model::{ElementId, Elements, Fields, Surface, id_of, is_creatable, planted, planted_fault};

/// One request that carries a local change up.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// PATCH with just these fields.
    Update {
        /// Which.
        id: ElementId,
        /// What changes.
        fields: Fields,
    },
    /// POST.
    Create {
        /// The id that the file has for it.
        node: String,
        /// What it shall be.
        fields: Fields,
        /// The element that it takes the place of: edited here, removed there.
        instead_of: Option<String>,
    },
    /// DELETE, for good.
    Delete {
        /// Which.
        id: ElementId,
    },
}

impl Op {
    /// The id that the file has, or had, for what it is about.
    #[must_use]
    pub fn about(&self) -> &str {
        match self {
            Self::Update { id, .. } | Self::Delete { id } => id.as_str(),
            Self::Create { node, .. } => node,
        }
    }
}

/// What a merge comes to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Merged {
    /// What the service lacks.
    pub ops: Vec<Op>,
    /// What the file shall say of elements, new nodes aside, which it says already.
    pub target: Elements,
    /// The base once the file says `target`: the service's elements, except where `ops` are still to go.
    pub base: Elements,
    /// What both sides changed differently, one line each.
    pub collisions: Vec<String>,
    /// What comes back or stays although the file says otherwise, each a sentence.
    pub notes: Vec<String>,
}

/// Merges. `permanent`: elements that the API cannot make again may be deleted.
#[must_use]
pub fn merge(surface: Surface, base: &[Value], remote: &[Value], local: &Local, permanent: bool) -> Merged {
    planted_fault("merging", &|| format!("{remote:?}"));
    let known: BTreeMap<&str, &Value> = base.iter().map(|element| (id_of(element), element)).collect();
    let mut out = Merged { notes: local.put_back.clone(), ..Merged::default() };
    let mut deletes = Vec::new();
    for theirs in remote {
        let id = id_of(theirs);
        let Some(before) = known.get(id) else {
            out.target.push(theirs.clone());
            out.base.push(theirs.clone());
            continue;
        };
        if local.gone.contains(id) {
            match keep_reason(surface, before, theirs, permanent) {
                Some(why) => {
                    out.notes.push(why);
                    out.target.push(theirs.clone());
                    out.base.push(theirs.clone());
                }
                None => {
                    out.base.push((*before).clone());
                    deletes.extend(ElementId::new(id).ok().map(|id| Op::Delete { id }));
                }
            }
            continue;
        }
        match local.changed.get(id) {
            None => {
                out.target.push(theirs.clone());
                out.base.push(theirs.clone());
            }
            Some(change) => out.merge_fields(before, theirs, change),
        }
    }
    for before in base.iter().filter(|before| remote.iter().all(|theirs| id_of(theirs) != id_of(before))) {
        let Some(change) = local.changed.get(id_of(before)) else { continue };
        if is_creatable(surface, type_of(before)) {
            let ours = changed(before, &change.fields);
            out.ops.push(Op::Create {
                node: change.node.clone(),
                fields: creation(&ours),
                instead_of: Some(id_of(before).to_owned()),
            });
            out.target.push(ours);
            out.base.push(before.clone());
        } else {
            out.notes.push(format!(
                "the node {} was removed in the app; the API cannot create it again",
                shown(&change.node)
            ));
        }
    }
    for (node, fields) in &local.new {
        out.ops.push(Op::Create { node: node.clone(), fields: fields.clone(), instead_of: None });
    }
    out.ops.append(&mut deletes);
    out
}

/// Why an element whose node is gone stays, if it does.
fn keep_reason(surface: Surface, before: &Value, theirs: &Value, permanent: bool) -> Option<String> {
    let kind = type_of(theirs);
    let id = shown(id_of(theirs));
    if !same_element(before, theirs) {
        return Some(format!("the node {id} was removed here and changed in the app; it is restored"));
    }
    let may = permanent || is_creatable(surface, kind);
    (!may).then(|| {
        format!(
            "the node {id} has the type {kind}, which the API cannot create again; it is restored (allow_permanent_deletes in the config allows removing it)"
        )
    })
}

/// Whether nothing that a person sees of an element has changed.
fn same_element(a: &Value, b: &Value) -> bool {
    ["type", "x", "y", "width", "height", "content", "style"]
        .iter()
        .all(|key| same(key, a.get(key), b.get(key)))
}

impl Merged {
    fn merge_fields(&mut self, before: &Value, theirs: &Value, change: &Change) {
        let mut wanted = Fields::new();
        let (mut target, mut base) = (theirs.clone(), theirs.clone());
        for (path, ours) in leaves(&change.fields) {
            let (was, is) = (at(before, &path), at(theirs, &path));
            if same(&path[0], is, Some(ours)) {
                continue;
            }
            if !same(&path[0], was, is) && !planted("element-collision-overwrites") {
                self.collisions.push(format!(
                    "{} of {}: here {}, in the app {}",
                    path.join("."),
                    shown(id_of(theirs)),
                    words(Some(ours)),
                    words(is)
                ));
                continue;
            }
            put(&mut wanted, &path, ours);
            set(&mut target, &path, Some(ours));
            set(&mut base, &path, was);
        }
        if !wanted.is_empty() && planted("element-sent-whole") {
            let place =
                GEOMETRY.iter().filter_map(|key| Some(((*key).to_owned(), before.get(*key)?.clone())));
            wanted.extend(place);
        }
        if let (false, Ok(id)) = (wanted.is_empty(), ElementId::new(id_of(theirs))) {
            self.ops.push(Op::Update { id, fields: wanted });
        }
        self.target.push(target);
        self.base.push(base);
    }
}

/// An element with these fields changed, style by key.
#[must_use]
pub fn changed(element: &Value, fields: &Fields) -> Value {
    let mut out = element.clone();
    for (path, value) in leaves(fields) {
        set(&mut out, &path, Some(value));
    }
    out
}

/// Everything about an element that a POST can say.
#[must_use]
pub fn creation(element: &Value) -> Fields {
    let mut fields = Fields::new();
    for key in ["type", "x", "y", "width", "height", "content", "style"] {
        let Some(value) = element.get(key) else { continue };
        if key == "style" && value.as_object().is_none_or(Map::is_empty) {
            continue;
        }
        fields.insert(key.to_owned(), value.clone());
    }
    fields
}

/// An element as a POST with these fields asked for it. What the app has changed since is not in it, and neither are the style's
/// defaults, which may be such a change.
#[must_use]
pub fn as_asked(element: &Value, fields: &Fields) -> Value {
    let mut out = element.clone();
    if let Some(all) = out.as_object_mut() {
        all.shift_remove("style");
        all.extend(fields.clone());
    }
    out
}

/// Whether an element is what a POST with these fields made: for one whose answer was lost.
#[must_use]
pub fn was_made_of(element: &Value, fields: &Fields) -> bool {
    fields.iter().all(|(key, value)| has(element, key, value))
}

/// Those of the fields of a PATCH that an element has as they were sent: for one whose answer was lost.
#[must_use]
pub fn arrived(element: &Value, fields: &Fields) -> Fields {
    let there = fields.iter().filter(|(key, value)| has(element, key, value));
    there.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Whether an element has a field as it was sent.
fn has(element: &Value, key: &str, value: &Value) -> bool {
    match (key, value) {
        // The service adds defaults to a style.
        ("style", Value::Object(style)) => {
            style.iter().all(|(key, value)| at(element, &["style".to_owned(), key.clone()]) == Some(value))
        }
        _ => same(key, element.get(key), Some(value)),
    }
}

/// The single values in some fields, each with its path: `style` by key.
fn leaves(fields: &Fields) -> Vec<(Vec<String>, &Value)> {
    let mut all = Vec::new();
    for (key, value) in fields {
        match value {
            Value::Object(style) if key == "style" => {
                all.extend(style.iter().map(|(sub, value)| (vec![key.clone(), sub.clone()], value)));
            }
            _ => all.push((vec![key.clone()], value)),
        }
    }
    all
}

fn at<'a>(element: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(element, |value, key| value.get(key))
}

fn put(fields: &mut Fields, path: &[String], value: &Value) {
    match path {
        [key] => drop(fields.insert(key.clone(), value.clone())),
        [key, sub] => {
            let inner = fields.entry(key.clone()).or_insert_with(|| json!({}));
            inner[sub.as_str()] = value.clone();
        }
        _ => {}
    }
}

fn set(element: &mut Value, path: &[String], value: Option<&Value>) {
    let (Some(last), Some(above)) = (path.last(), path.len().checked_sub(1)) else { return };
    let mut inner = element;
    for key in &path[..above] {
        if !inner.get(key).is_some_and(Value::is_object) {
            inner[key.as_str()] = json!({});
        }
        inner = &mut inner[key.as_str()];
    }
    let Some(map) = inner.as_object_mut() else { return };
    match value {
        Some(value) => drop(map.insert(last.clone(), value.clone())),
        None => drop(map.shift_remove(last)),
    }
}

/// Whether a field says the same: places as a file can say them, everything else exactly.
fn same(key: &str, a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) if GEOMETRY.contains(&key) => {
            a == b || a.as_f64() == b.as_f64() || either_whole(a, b)
        }
        (None | Some(Value::Null), None | Some(Value::Null)) => true,
        (Some(Value::Object(map)), None) | (None, Some(Value::Object(map))) => map.is_empty(),
        (a, b) => a == b,
    }
}

/// A fraction and the whole number that a file has for it.
fn either_whole(a: &Value, b: &Value) -> bool {
    (a.is_i64() || b.is_i64()) && rounded(a) == rounded(b)
}

fn words(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => format!("“{}”", shown(text)),
        Some(value) => shown(&value.to_string()),
    }
}
