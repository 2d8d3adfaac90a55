//! Blocks as the app's editor makes and changes them.

use espejo::model::{Blocks, BodyJson};
use serde_json::{Value, json};

use crate::luck::Luck;
use crate::script::App;
use crate::text::sentence;
use crate::words::{Ledger, Word, words_in};

/// The blocks of a request.
pub(crate) fn sent(content: &BodyJson) -> Blocks {
    content.blocks().expect("espejo sends JSON")
}

/// A page's first content: what a team's page looks like, with a few blocks that the API document does not describe.
pub(crate) fn first_content(luck: &mut Luck, ledger: &mut Ledger) -> Blocks {
    let count = luck.below(7);
    (0..count).map(|_| new_block(luck, ledger, 0)).collect()
}

fn new_block(luck: &mut Luck, ledger: &mut Ledger, depth: u32) -> Value {
    let mut id = block_id(luck);
    while !ledger.mint(&id) {
        id = block_id(luck);
    }
    let mut fresh = || ledger.text().to_string();
    let text = |luck: &mut Luck, fresh: &mut dyn FnMut() -> String| {
        let word = fresh();
        sentence(&word, luck)
    };
    let run = |text: String| json!({ "type": "text", "text": text, "styles": {} });
    let looks = json!({ "textColor": "default", "backgroundColor": "default", "textAlignment": "left" });
    let (kind, props, content) = match luck.below(16) {
        0 => {
            let rows: Vec<Value> = (0..2)
                .map(|_| {
                    let (left, right) = (run(text(luck, &mut fresh)), run(text(luck, &mut fresh)));
                    json!({ "cells": [[left], [right]] })
                })
                .collect();
            let table = json!({ "type": "tableContent", "columnWidths": [null, null], "rows": rows });
            ("table", json!({ "textColor": "default" }), table)
        }
        1 => ("database", json!({ "view": 1.0, "source": format!("db {}", fresh()) }), json!([])),
        2 => ("divider", json!({}), Value::Null),
        3 => (
            "heading",
            with(&looks, "level", json!(luck.between(1, 3))),
            json!([run(text(luck, &mut fresh))]),
        ),
        4 | 5 => ("bulletListItem", looks, json!([run(text(luck, &mut fresh))])),
        6 => ("numberedListItem", looks, json!([run(text(luck, &mut fresh))])),
        7 | 8 => (
            "checkListItem",
            with(&looks, "checked", json!(luck.chance(50))),
            json!([run(text(luck, &mut fresh))]),
        ),
        9 => ("toggleListItem", looks, json!([run(text(luck, &mut fresh))])),
        10 => (
            "quote",
            json!({ "textColor": "default", "backgroundColor": "red" }),
            json!([run(text(luck, &mut fresh))]),
        ),
        11 => {
            let strong = json!({ "type": "text", "text": fresh(), "styles": { "bold": true } });
            (
                "paragraph",
                looks,
                json!([run("Very ".to_owned()), strong, run(format!(" {}", text(luck, &mut fresh)))]),
            )
        }
        12 => ("paragraph", with(&looks, "textColor", json!("blue")), json!([run(text(luck, &mut fresh))])),
        _ => ("paragraph", looks, json!([run(text(luck, &mut fresh))])),
    };
    let nests = kind.ends_with("ListItem") && depth < 2 && luck.chance(35);
    let children: Vec<Value> = if nests {
        (0..luck.between(1, 2)).map(|_| new_block(luck, ledger, depth + 1)).collect()
    } else {
        Vec::new()
    };
    let mut block =
        json!({ "id": id, "type": kind, "props": props, "content": content, "children": children });
    if block["content"].is_null()
        && let Some(map) = block.as_object_mut()
    {
        map.shift_remove("content");
    }
    block
}

/// A picture with a width.
fn image(luck: &mut Luck, ledger: &mut Ledger) -> Value {
    let mut id = block_id(luck);
    while !ledger.mint(&id) {
        id = block_id(luck);
    }
    let url = format!("https://pictures.example/{}.png", &id[..8]);
    let props = json!({ "backgroundColor": "default", "textAlignment": "left", "name": "foto.png", "url": url,
        "caption": "", "showPreview": true, "previewWidth": luck.between(90, 600) });
    json!({ "id": id, "type": "image", "props": props, "children": [] })
}

fn with(props: &Value, key: &str, value: Value) -> Value {
    let mut props = props.clone();
    props[key] = value;
    props
}

fn block_id(luck: &mut Luck) -> String {
    let (high, low) = (luck.next(), luck.next());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        low >> 52,
        low & 0xffff_ffff_ffff
    )
}

/// The content after a person in the app did `act`; `None` when there is no place for it.
pub(crate) fn edited(content: &[Value], act: App, luck: &mut Luck, ledger: &mut Ledger) -> Option<Blocks> {
    let mut blocks = content.to_vec();
    let places = places(&blocks);
    match act {
        App::InsertWord | App::ChangeWord | App::DeleteWord | App::StaleEditor | App::OpenEditor => {
            let runs: Vec<(Vec<usize>, usize)> =
                places.iter().flat_map(|place| runs_at(&blocks, place)).collect();
            if runs.is_empty() {
                return edited(content, App::InsertBlock, luck, ledger).filter(|_| act == App::InsertWord);
            }
            let (place, number) = luck.pick(&runs).clone();
            let run = &mut block_at(&mut blocks, &place)?["content"][number]["text"];
            let text = reworded(run.as_str()?, act, luck, ledger)?;
            *run = Value::String(text);
        }
        App::InsertBlock | App::InsertImage => {
            let block =
                if act == App::InsertImage { image(luck, ledger) } else { new_block(luck, ledger, 1) };
            let (list, at) = some_gap(&mut blocks, &places, luck)?;
            list.insert(at, block);
        }
        App::DeleteBlock | App::MoveBlock | App::Nest => {
            if places.is_empty() || blocks.len() < 2 {
                return None;
            }
            let place = luck.pick(&places).clone();
            let taken = take(&mut blocks, &place)?;
            if act == App::MoveBlock {
                let places = self::places(&blocks);
                let (list, at) = some_gap(&mut blocks, &places, luck)?;
                list.insert(at, taken);
            } else if act == App::Nest {
                let hosts: Vec<Vec<usize>> = self::places(&blocks)
                    .into_iter()
                    .filter(|place| is_text(block_at(&mut blocks, place)))
                    .collect();
                if hosts.is_empty() {
                    return None;
                }
                let host = luck.pick(&hosts).clone();
                block_at(&mut blocks, &host)?["children"].as_array_mut()?.push(taken);
            }
        }
        App::Tick => {
            let boxes: Vec<Vec<usize>> = places
                .into_iter()
                .filter(|place| {
                    block_at(&mut blocks, place).is_some_and(|block| block["type"] == "checkListItem")
                })
                .collect();
            if boxes.is_empty() {
                return None;
            }
            let place = luck.pick(&boxes).clone();
            let checked = &mut block_at(&mut blocks, &place)?["props"]["checked"];
            *checked = Value::Bool(checked != &Value::Bool(true));
        }
        App::Style => {
            let texts: Vec<Vec<usize>> =
                places.into_iter().filter(|place| is_text(block_at(&mut blocks, place))).collect();
            if texts.is_empty() {
                return None;
            }
            let place = luck.pick(&texts).clone();
            let block = block_at(&mut blocks, &place)?;
            if luck.chance(50) {
                block["props"]["textColor"] = json!(luck.pick(&["red", "green", "default"]));
            } else {
                let run = block["content"].as_array_mut()?.first_mut()?;
                run["styles"] =
                    luck.pick(&[json!({ "italic": true }), json!({ "strike": true }), json!({})]).clone();
            }
        }
        _ => return None,
    }
    Some(blocks)
}

fn is_text(block: Option<&mut Value>) -> bool {
    block.is_some_and(|block| block["content"].is_array() && block["type"] != "database")
}

fn reworded(text: &str, act: App, luck: &mut Luck, ledger: &mut Ledger) -> Option<String> {
    let mut parts: Vec<String> = text.split(' ').map(str::to_owned).collect();
    // Edge spaces belong to the neighbouring run: the words between them are what a person clicks on.
    let inner: Vec<usize> = (0..parts.len()).filter(|place| !parts[*place].is_empty()).collect();
    if inner.is_empty() {
        return None;
    }
    let place = *luck.pick(&inner);
    match act {
        App::ChangeWord => parts[place] = ledger.text().to_string(),
        App::DeleteWord if inner.len() > 2 => drop(parts.remove(place)),
        App::DeleteWord => return None,
        _ => parts.insert(place, ledger.text().to_string()),
    }
    Some(parts.join(" "))
}

/// Where every block is: the numbers to follow through `children`.
fn places(blocks: &[Value]) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        found.push(vec![number]);
        let children = block["children"].as_array().map_or(&[][..], Vec::as_slice);
        found.extend(places(children).into_iter().map(|mut place| {
            place.insert(0, number);
            place
        }));
    }
    found
}

fn list_at<'a>(blocks: &'a mut Blocks, above: &[usize]) -> Option<&'a mut Blocks> {
    match above {
        [] => Some(blocks),
        [first, rest @ ..] => list_at(blocks.get_mut(*first)?["children"].as_array_mut()?, rest),
    }
}

fn block_at<'a>(blocks: &'a mut Blocks, place: &[usize]) -> Option<&'a mut Value> {
    let (last, above) = place.split_last()?;
    list_at(blocks, above)?.get_mut(*last)
}

fn take(blocks: &mut Blocks, place: &[usize]) -> Option<Value> {
    let (last, above) = place.split_last()?;
    let list = list_at(blocks, above)?;
    (*last < list.len()).then(|| list.remove(*last))
}

/// A list of blocks and a place in it: before or after some block, or in the empty page.
fn some_gap<'a>(
    blocks: &'a mut Blocks,
    places: &[Vec<usize>],
    luck: &mut Luck,
) -> Option<(&'a mut Blocks, usize)> {
    if places.is_empty() {
        return Some((blocks, 0));
    }
    let place = luck.pick(places);
    let (last, above) = place.split_last()?;
    Some((list_at(blocks, above)?, *last + usize::from(luck.chance(50))))
}

/// The text runs of the block at `place`, by number.
fn runs_at(blocks: &[Value], place: &[usize]) -> Vec<(Vec<usize>, usize)> {
    let (mut list, mut block) = (blocks, &Value::Null);
    for number in place {
        block = &list[*number];
        list = block["children"].as_array().map_or(&[][..], Vec::as_slice);
    }
    let runs = block["content"].as_array().map_or(&[][..], Vec::as_slice);
    (0..runs.len())
        .filter(|number| runs[*number]["type"] == "text")
        .map(|number| (place.to_vec(), number))
        .collect()
}

/// Every followed word of a content, whatever kind of block it is in.
pub(crate) fn all_words(content: &[Value]) -> Vec<Word> {
    words_in(serde_json::to_string(content).unwrap_or_default().as_bytes())
}

/// The followed words that a file must show, in its order: text before what is nested under it. A block that the API
/// document does not describe may stand for itself by its id (`stands_in`), without its words.
pub(crate) fn shown_words(content: &[Value], stands_in: &dyn Fn(&str) -> bool) -> Vec<Word> {
    let mut words = Vec::new();
    for block in content {
        let is_documented = is_documented(block);
        if is_documented || !block["id"].as_str().is_some_and(stands_in) {
            words.extend(words_in(block["content"].to_string().as_bytes()));
        }
        words.extend(shown_words(block["children"].as_array().map_or(&[][..], Vec::as_slice), stands_in));
    }
    words
}

/// The followed words of each block's own text.
pub(crate) fn texts(content: &[Value]) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    for block in content {
        found.push(words_in(block["content"].to_string().as_bytes()));
        found.extend(texts(block["children"].as_array().map_or(&[][..], Vec::as_slice)));
    }
    found
}

/// Every block that the API document does not describe, with the words in it; what is nested under it stands in files
/// by itself.
pub(crate) fn undescribed(content: &[Value]) -> Vec<(String, Vec<Word>)> {
    let mut found = Vec::new();
    for block in content {
        if !is_documented(block) {
            let mut alone = block.clone();
            alone["children"] = Value::Null;
            let words = words_in(alone.to_string().as_bytes());
            found.extend(block["id"].as_str().map(|id| (id.to_owned(), words)));
        }
        found.extend(undescribed(block["children"].as_array().map_or(&[][..], Vec::as_slice)));
    }
    found
}

fn is_documented(block: &Value) -> bool {
    let kind = block["type"].as_str().unwrap_or("");
    ["paragraph", "heading", "quote"].contains(&kind) || kind.ends_with("ListItem")
}

#[test]
fn a_person_in_the_app_keeps_the_blocks_whole() {
    let (mut luck, mut ledger) = (Luck::new(3, 0), Ledger::default());
    let mut content = first_content(&mut luck, &mut ledger);
    for (number, (act, ..)) in App::ALL.iter().cycle().take(2_000).enumerate() {
        if let Some(after) = edited(&content, *act, &mut luck, &mut ledger) {
            content = after;
        }
        for place in places(&content) {
            let block = block_at(&mut content, &place).unwrap();
            assert!(block["id"].is_string() && block["props"].is_object() && block["children"].is_array());
            assert!(
                block.get("content").is_none_or(|inner| inner.is_array() || block["type"] == "table"),
                "{number}"
            );
        }
        let mut words = all_words(&content);
        words.sort_unstable();
        assert!(words.windows(2).all(|pair| pair[0] != pair[1]), "a word twice after {act}");
    }
    assert!(places(&content).len() > 20);
}
