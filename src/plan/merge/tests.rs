//! Tests of the merge: stories as tables, in a notation of one line for each block.

mod laws;
mod seeded;
mod stories;

use serde_json::{Map, Value, json};

/// Reads a page: a line for each block, two spaces of indentation for each level, `id[key=value,…]: text`.
/// The key `type` is the type, others are props. In the text `*` turns bold on and off, `_` italic, backticks code,
/// and `<href|text>` is a link.
pub(super) fn page(text: &str) -> Vec<Value> {
    let mut stack: Vec<Vec<Value>> = vec![Vec::new()];
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let depth = (line.len() - line.trim_start().len()) / 2;
        while stack.len() > depth + 1 {
            close(&mut stack);
        }
        assert_eq!(stack.len(), depth + 1, "{line:?} is too deep");
        if let Some(last) = stack.last_mut() {
            last.push(block(line.trim_start()));
        }
        stack.push(Vec::new());
    }
    while stack.len() > 1 {
        close(&mut stack);
    }
    stack.pop().unwrap()
}

fn close(stack: &mut Vec<Vec<Value>>) {
    let nested = stack.pop().unwrap();
    if let Some(parent) = stack.last_mut().and_then(|blocks| blocks.last_mut()) {
        parent["children"] = Value::Array(nested);
    }
}

fn block(line: &str) -> Value {
    let (head, text) = line.split_once(':').unwrap();
    let (id, settings) = head.strip_suffix(']').and_then(|head| head.split_once('[')).unwrap_or((head, ""));
    let mut kind = "paragraph";
    let mut props = Map::new();
    for (key, value) in settings.split(',').filter_map(|setting| setting.split_once('=')) {
        if key == "type" {
            kind = value;
        } else {
            props.insert(key.to_owned(), value.parse::<i64>().map_or_else(|_| json!(value), |n| json!(n)));
        }
    }
    json!({"id": id, "type": kind, "props": props, "content": runs(text.strip_prefix(' ').unwrap_or(text)), "children": []})
}

/// Reads a line of text.
pub(super) fn runs(text: &str) -> Vec<Value> {
    let mut runs: Vec<Value> = Vec::new();
    let mut on = Map::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let style = match c {
            '*' => "bold",
            '_' => "italic",
            '`' => "code",
            '<' => {
                let link: String = chars.by_ref().take_while(|c| *c != '>').collect();
                let (href, text) = link.split_once('|').unwrap();
                runs.push(json!({"type": "link", "href": href, "content": self::runs(text)}));
                continue;
            }
            c => {
                match runs.last_mut() {
                    Some(run) if run.get("styles") == Some(&Value::Object(on.clone())) => {
                        let text = format!("{}{c}", run["text"].as_str().unwrap());
                        run["text"] = json!(text);
                    }
                    _ => runs.push(json!({"type": "text", "text": c.to_string(), "styles": on})),
                }
                continue;
            }
        };
        if on.remove(style).is_none() {
            on.insert(style.to_owned(), json!(true));
        }
    }
    runs
}

/// Writes a page as [`page`] reads it.
pub(super) fn show(blocks: &[Value]) -> String {
    let mut text = String::new();
    show_at(blocks, 0, &mut text);
    text
}

fn show_at(blocks: &[Value], depth: usize, text: &mut String) {
    for block in blocks {
        let id = block["id"].as_str().unwrap_or("?");
        let mut settings: Vec<String> = Vec::new();
        if block["type"] != "paragraph" {
            settings.push(format!("type={}", block["type"].as_str().unwrap_or("?")));
        }
        for (key, value) in block["props"].as_object().into_iter().flatten() {
            settings
                .push(format!("{key}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
        }
        let settings = if settings.is_empty() { String::new() } else { format!("[{}]", settings.join(",")) };
        let content = match &block["content"] {
            Value::Array(runs) => show_runs(runs),
            Value::Null => "-".to_owned(),
            other => other.to_string(),
        };
        let line = format!("{}{id}{settings}: {content}", "  ".repeat(depth));
        text.push_str(line.trim_end());
        text.push('\n');
        show_at(block["children"].as_array().map_or(&[], Vec::as_slice), depth + 1, text);
    }
}

/// Writes a line of text as [`runs`] reads it.
pub(super) fn show_runs(runs: &[Value]) -> String {
    runs.iter()
        .map(|run| {
            if let Some(href) = run["href"].as_str() {
                return format!("<{href}|{}>", show_runs(run["content"].as_array().unwrap()));
            }
            let mut text = run["text"].as_str().map_or_else(|| run.to_string(), str::to_owned);
            for (style, mark) in [("code", '`'), ("italic", '_'), ("bold", '*')] {
                if run["styles"][style] == true {
                    text = format!("{mark}{text}{mark}");
                }
            }
            text
        })
        .collect()
}
