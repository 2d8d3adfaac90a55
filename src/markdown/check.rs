//! The last look before a body goes to the service (law 6): it must load in the editor and invent nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::allowed::Allowed;
use super::columns::Columns;
use crate::model::{DOCUMENTED, every_place};

/// See [`super::check_loadable`].
pub(super) fn check_loadable(body: &[Value], base: &[Value], allowed: &Allowed) -> Result<(), String> {
    let mut known = allowed.clone();
    known.learn(base);
    let mut before = BTreeMap::new();
    let mut loose = Vec::new();
    remember(base, &mut before, &mut loose);
    let mut ids = BTreeSet::new();
    let columns = Columns::of(base);
    for (above, block) in every_place(body) {
        check_block(block, &before, &loose, &known)?;
        columns.check(above, block)?;
        if let Some(id) = block.get("id").and_then(Value::as_str)
            && !ids.insert(id)
            && before.get(id).is_none_or(|blocks: &Vec<&Value>| blocks.len() < 2)
        {
            return Err(format!("two blocks have the id {id:?}"));
        }
    }
    Ok(())
}

fn remember<'a>(
    blocks: &'a [Value],
    out: &mut BTreeMap<&'a str, Vec<&'a Value>>,
    loose: &mut Vec<&'a Value>,
) {
    for block in blocks {
        match block.get("id").and_then(Value::as_str) {
            Some(id) => out.entry(id).or_default().push(block),
            None => loose.push(block),
        }
        if let Some(Value::Array(children)) = block.get("children") {
            remember(children, out, loose);
        }
    }
}

/// Whether two blocks are the same but for what is beneath them.
fn same_own(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let own = |object: &Map<String, Value>| object.keys().filter(|key| *key != "children").count();
            own(a) == own(b)
                && a.iter().all(|(key, value)| {
                    if key == "children" {
                        b.get(key).is_none_or(|other| other.is_array() == value.is_array())
                    } else {
                        b.get(key) == Some(value)
                    }
                })
        }
        (a, b) => a == b,
    }
}

fn check_block(
    block: &Value,
    before: &BTreeMap<&str, Vec<&Value>>,
    loose: &[&Value],
    known: &Allowed,
) -> Result<(), String> {
    let id = block.get("id").and_then(Value::as_str);
    let past = id.and_then(|id| before.get(id)).map_or(loose, |blocks| blocks.as_slice());
    if past.iter().any(|past| same_own(past, block)) {
        return Ok(());
    }
    let name = || id.map_or_else(|| "a block without an id".to_owned(), |id| format!("the block {id:?}"));
    let Some(object) = block.as_object() else { return Err(format!("{} is not an object", name())) };
    if id.is_none_or(str::is_empty) {
        return Err("a changed block has no id".to_owned());
    }
    let Some(kind) = object.get("type").and_then(Value::as_str) else {
        return Err(format!("{} has no type", name()));
    };
    if !known.block(kind) {
        return Err(format!("{} is of the type {kind:?}, which this workspace has not used", name()));
    }
    if !object.get("props").is_some_and(Value::is_object) {
        return Err(format!("{} has no props", name()));
    }
    if !object.get("children").is_some_and(Value::is_array)
        && !past.iter().any(|past| past.get("children").is_none())
    {
        return Err(format!("{} has no children array", name()));
    }
    match object.get("content") {
        Some(Value::Array(runs)) => {
            // An inline item that was stored goes along as it is, odd as it may be.
            let old = |run: &Value| {
                run.get("type").is_some_and(|kind| kind != "text") && stored(run, before, loose)
            };
            let checked =
                runs.iter().try_for_each(|run| match check_runs(std::slice::from_ref(run), known, false) {
                    Err(_) if old(run) => Ok(()),
                    checked => checked,
                });
            checked.map_err(|why| format!("{}: {why}", name()))
        }
        Some(_) if !DOCUMENTED.contains(&kind) => Ok(()),
        None if !DOCUMENTED.contains(&kind) => Ok(()),
        _ => Err(format!("{} has no content array", name())),
    }
}

/// Whether the base has this very inline item.
fn stored(item: &Value, before: &BTreeMap<&str, Vec<&Value>>, loose: &[&Value]) -> bool {
    let mut blocks = before.values().flatten().chain(loose);
    let is_item = |runs: &Value| runs.as_array().is_some_and(|runs| runs.contains(item));
    blocks.any(|block| block.get("content").is_some_and(is_item))
}

/// Whether runs that were made or edited load in the editor.
pub(super) fn check_runs(runs: &[Value], known: &Allowed, in_link: bool) -> Result<(), String> {
    for run in runs {
        let Some(kind) = run.get("type").and_then(Value::as_str) else {
            return Err("a piece of its text has no type".to_owned());
        };
        if !known.inline(kind) || in_link && kind != "text" {
            return Err(format!("its text holds a {kind:?}, which this workspace has not used there"));
        }
        if kind == "link" {
            if !run.get("href").is_some_and(Value::is_string) {
                return Err("a link has no address".to_owned());
            }
            match run.get("content") {
                Some(Value::Array(runs)) => check_runs(runs, known, true)?,
                _ => return Err("a link has no text".to_owned()),
            }
        }
        if kind != "text" {
            continue;
        }
        if !run.get("text").is_some_and(Value::is_string) {
            return Err("a run has no text".to_owned());
        }
        let Some(styles) = run.get("styles").and_then(Value::as_object) else {
            return Err("a run has no styles".to_owned());
        };
        if let Some(style) = styles.keys().find(|key| !known.style(key)) {
            return Err(format!("a run has the style {style:?}, which this workspace has not used"));
        }
        let code = styles.get("code") == Some(&Value::Bool(true));
        if code && (styles.len() > 1 || in_link) {
            return Err("a run has code together with another style, which the editor refuses".to_owned());
        }
    }
    Ok(())
}
