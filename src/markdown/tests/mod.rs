//! The laws of the converter, over the corpus, over generated pages, and over examples.

mod certain;
mod corpus;
mod dialect;
mod edits;
mod formatted;
mod formatters;
mod formulas;
mod front_matter;
mod generate;
mod grow;
mod habits;
mod identity;
mod inputs;
mod kept;
mod laws;
mod mutated;
mod near;
mod one_line;
mod others;
mod padded;
mod people;
mod rewritten;
mod scale;
mod spliced;
mod styles;
mod suite;
mod tables;
mod told;
mod typed;
mod window;

use serde_json::{Value, json};

use super::{Allowed, parse};

/// Ids that no test document has.
pub(super) fn ids() -> impl FnMut() -> String {
    let mut next = 0;
    move || {
        next += 1;
        format!("00000000-0000-4000-8000-{next:012}")
    }
}

/// Reads a text beside a base.
pub(super) fn read(text: &str, base: &[Value]) -> Vec<Value> {
    parse(text, base, &Allowed::documented(), &mut ids())
}

/// A document without ids, empty runs, styles that are off, and borders between equal runs.
pub(super) fn norm(blocks: &[Value]) -> Value {
    Value::Array(blocks.iter().map(norm_block).collect())
}

fn norm_block(block: &Value) -> Value {
    let mut block = block.clone();
    if let Value::Object(object) = &mut block {
        object.shift_remove("id");
        for (key, value) in object.iter_mut() {
            match key.as_str() {
                "content" => *value = norm_runs(value),
                "children" => *value = norm(value.as_array().map_or(&[], |list| list)),
                _ => {}
            }
        }
    }
    block
}

fn norm_runs(runs: &Value) -> Value {
    let Value::Array(runs) = runs else { return runs.clone() };
    let mut out: Vec<Value> = Vec::new();
    for run in runs {
        let mut run = run.clone();
        if run["type"] == "link" {
            run["content"] = norm_runs(&run["content"]);
        }
        if run["type"] == "text" {
            if let Some(Value::Object(styles)) = run.get_mut("styles") {
                styles.retain(|_, value| *value == json!(true) || value.is_string());
            }
            if run["text"] == "" {
                continue;
            }
            if let Some(last) = out.last_mut()
                && last["type"] == "text"
                && last["styles"] == run["styles"]
            {
                let text = format!("{}{}", last["text"].as_str().unwrap(), run["text"].as_str().unwrap());
                last["text"] = json!(text);
                continue;
            }
        }
        out.push(run);
    }
    Value::Array(out)
}

/// Without the empty paragraphs at the page's end.
pub(super) fn without_end(blocks: &[Value]) -> &[Value] {
    let shown = blocks.iter().rposition(|block| {
        block["type"] != "paragraph"
            || !block["children"].as_array().is_none_or(Vec::is_empty)
            || norm_runs(&block["content"]) != json!([])
    });
    &blocks[..shown.map_or(0, |last| last + 1)]
}
