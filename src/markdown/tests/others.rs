//! Markdown that other people and programs wrote: small cases, each with its right outcome, as data.
//!
//! `tests/fixtures/markdown/others/cases.json` holds them. A case reads a text, changes a page in the app, rewrites the file, or
//! writes the file of a second machine; `expect` names what must hold afterwards.

use serde_json::{Value, json};

use super::super::{Allowed, front_matter, parse, patch_for, render_for, told};
use super::ids;

/// Cases that do not hold yet. One that holds must leave this list.
const OPEN: [&str; 0] = [];

fn cases() -> Vec<Value> {
    serde_json::from_str(include_str!("../../../tests/fixtures/markdown/others/cases.json")).unwrap()
}

/// What a case left behind.
struct Outcome {
    file: String,
    blocks: Vec<Value>,
    base: Vec<Value>,
    told: Vec<String>,
}

fn body(text: &str) -> &str {
    front_matter::split(text).map_or(text, |split| split.body)
}

fn text_of(block: &Value) -> String {
    let runs = block["content"].as_array().into_iter().flatten();
    let own = |run: &Value| run["text"].as_str().unwrap_or_default().to_owned();
    runs.map(|run| match run["content"].as_array() {
        Some(inner) => inner.iter().map(own).collect(),
        None => own(run),
    })
    .collect()
}

/// All blocks, parents before their children.
fn each<'a>(blocks: &'a [Value], out: &mut Vec<&'a Value>) {
    for block in blocks {
        out.push(block);
        each(block["children"].as_array().map_or(&[], |list| list), out);
    }
}

pub(super) fn texts(blocks: &[Value]) -> Vec<String> {
    let mut all = Vec::new();
    each(blocks, &mut all);
    all.into_iter().map(text_of).collect()
}

/// Does to the blocks what the app did.
fn edit(blocks: &mut Vec<Value>, change: &Value) {
    let begins = |block: &Value| text_of(block).starts_with(change["block"].as_str().unwrap());
    if change["delete"] == true {
        blocks.retain(|block| !begins(block));
    }
    for block in blocks.iter_mut() {
        if begins(block)
            && let Some(word) = change["append"].as_str()
        {
            let runs = block["content"].as_array_mut().unwrap();
            match runs.last_mut().filter(|run| run["type"] == "text" && run["styles"] == json!({})) {
                Some(run) => run["text"] = json!(run["text"].as_str().unwrap().to_owned() + word),
                None => runs.push(json!({"type": "text", "text": word, "styles": {}})),
            }
        }
        if let Value::Array(children) = &mut block["children"] {
            edit(children, change);
        }
    }
}

fn run(case: &Value) -> Outcome {
    let allowed = if case["blocks"] == "documented" { Allowed::documented() } else { Allowed::all() };
    let text = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
    let input = text("input");
    let mut new_id = ids();
    let mut read = |text: &str, base: &[Value]| parse(body(text), base, &allowed, &mut new_id);
    let base = read(&input, &[]);
    let (mut file, mut blocks) = (input.clone(), base.clone());
    match case["kind"].as_str().unwrap() {
        "read" => {}
        "second" => {
            file = render_for(&blocks, &allowed).text;
            assert_eq!(read(&file, &blocks), blocks, "the second machine sends nothing");
        }
        "base" | "rewritten" => {
            file = if case["rewritten"].is_null() { input.clone() } else { text("rewritten") };
            blocks = read(&file, &base);
        }
        "remote" => {
            for change in case["edits"].as_array().unwrap() {
                edit(&mut blocks, change);
            }
            let start = input.len() - body(&input).len();
            file = input[..start].to_owned() + &patch_for(body(&input), &base, &blocks, &allowed);
            assert_eq!(read(&file, &blocks), blocks, "{file}");
        }
        other => panic!("no kind of case: {other}"),
    }
    let told_of = if case["kind"] == "second" { &input } else { &file };
    let mut told: Vec<String> = told(body(told_of), &blocks).iter().map(ToString::to_string).collect();
    told.sort();
    if let Some([from, to]) = case["then"].as_array().map(Vec::as_slice) {
        file = file.replacen(from.as_str().unwrap(), to.as_str().unwrap(), 1);
        blocks = read(&file, &blocks);
    }
    Outcome { file, blocks, base, told }
}

/// What does not hold of a case.
fn complaints(case: &Value) -> Vec<String> {
    let Outcome { file, blocks, base, told } = run(case);
    let expect = &case["expect"];
    let list = |key: &str| -> Vec<String> {
        match &expect[key] {
            Value::String(one) => vec![one.clone()],
            Value::Array(all) => all.iter().map(|one| one.as_str().unwrap().to_owned()).collect(),
            _ => Vec::new(),
        }
    };
    let mut wrong = Vec::new();
    let mut claim = |holds: bool, what: &str| {
        if !holds {
            wrong.push(what.to_owned());
        }
    };
    claim(list("file").iter().all(|want| *want == file), "file");
    claim(list("file_has").iter().all(|want| file.contains(want.as_str())), "file_has");
    claim(!list("file_lacks").iter().any(|lack| file.contains(lack.as_str())), "file_lacks");
    let mut lines = file.lines();
    claim(list("lines_kept").iter().all(|want| lines.any(|line| line == want)), "lines_kept");
    let texts = texts(&blocks);
    claim(expect["texts"].is_null() || list("texts") == texts, "texts");
    claim(!list("texts_lack").iter().any(|lack| texts.iter().any(|text| text.contains(lack))), "texts_lack");
    let mut all = Vec::new();
    each(&blocks, &mut all);
    let types: Vec<&str> = all.iter().map(|block| block["type"].as_str().unwrap()).collect();
    claim(expect["types"].is_null() || list("types") == types, "types");
    claim(expect["exact"] != true || blocks == base, "exact");
    let writes = expect["writes"].as_u64().map(|count| (count > 0) == (blocks != base));
    claim(writes.unwrap_or(true), "writes");
    claim(expect["told"] != true || !told.is_empty(), "told");
    claim(!list("told_lacks").iter().any(|lack| told.iter().any(|told| told.contains(lack))), "told_lacks");
    if wrong.is_empty() {
        return wrong;
    }
    vec![format!("{}: {wrong:?}\n{file}\n{texts:?}\n{types:?}\n{told:?}", case["name"])]
}

#[test]
fn what_others_wrote_keeps_its_words_and_its_lines() {
    let cases = cases();
    assert!(cases.len() >= 42);
    let mut wrong = Vec::new();
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let found = std::panic::catch_unwind(|| complaints(case));
        let found = found.unwrap_or_else(|_| vec![format!("{name}: it panics")]);
        match (OPEN.contains(&name), found.is_empty()) {
            (true, true) => wrong.push(format!("{name} holds: it leaves the list")),
            (false, false) => wrong.extend(found),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n----\n"));
}
