//! Laws over generated pages: two people do many things to one page at once. Every word is unique, so each can be
//! followed.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::runs::merge_runs;
use super::super::value::merge_styles;
use super::super::{Merge, merge, merge_trees};
use super::{runs, show_runs};

/// A page and what two sides do to it.
#[derive(Debug, Clone)]
struct Story {
    base: Vec<Value>,
    remote: Vec<Value>,
    local: Vec<Value>,
    /// Whether a side moved blocks.
    remote_moved: bool,
    local_moved: bool,
}

/// One act: what, and three numbers that say where.
pub(super) type Act = (u8, u16, u16, u16);

const MOVES: std::ops::Range<u8> = 6..9;

fn words_of(value: &Value, words: &mut Vec<String>) {
    match value {
        Value::String(text) => words.extend(text.split_whitespace().map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| words_of(item, words)),
        Value::Object(map) => {
            for (_, value) in map.iter().filter(|(key, _)| matches!(&***key, "text" | "content" | "children"))
            {
                words_of(value, words);
            }
        }
        _ => {}
    }
}

pub(super) fn words(blocks: &[Value]) -> BTreeSet<String> {
    let mut words = Vec::new();
    blocks.iter().for_each(|block| words_of(block, &mut words));
    words.into_iter().collect()
}

pub(super) fn text_block(id: &str, words: &[String]) -> Value {
    let content = if words.is_empty() { json!([]) } else { json!([run(&words.join(" "), &json!({}))]) };
    json!({"id": id, "type": "paragraph", "props": {"textColor": "default"}, "content": content, "children": []})
}

fn run(text: &str, styles: &Value) -> Value {
    json!({"type": "text", "text": text, "styles": styles})
}

/// A text as styled words.
fn read(block: &Value) -> Vec<(String, Value)> {
    let mut words = Vec::new();
    for run in block["content"].as_array().unwrap() {
        for word in run["text"].as_str().unwrap().split_whitespace() {
            words.push((word.to_owned(), run["styles"].clone()));
        }
    }
    words
}

/// Writes styled words; the space belongs to the word before it.
fn write(block: &mut Value, words: &[(String, Value)]) {
    let mut runs: Vec<Value> = Vec::new();
    for (at, (word, styles)) in words.iter().enumerate() {
        let text = if at + 1 == words.len() { word.clone() } else { format!("{word} ") };
        match runs.last_mut() {
            Some(last) if last["styles"] == *styles => {
                last["text"] = json!(format!("{}{text}", last["text"].as_str().unwrap()));
            }
            _ => runs.push(run(&text, styles)),
        }
    }
    block["content"] = json!(runs);
}

/// Every block in the order of the page, with the way to it.
fn ways(blocks: &[Value]) -> Vec<Vec<usize>> {
    fn walk(blocks: &[Value], way: &mut Vec<usize>, ways: &mut Vec<Vec<usize>>) {
        for (at, block) in blocks.iter().enumerate() {
            way.push(at);
            ways.push(way.clone());
            walk(block["children"].as_array().map_or(&[], Vec::as_slice), way, ways);
            way.pop();
        }
    }
    let mut all = Vec::new();
    walk(blocks, &mut Vec::new(), &mut all);
    all
}

fn siblings<'a>(blocks: &'a mut Vec<Value>, way: &[usize]) -> &'a mut Vec<Value> {
    match way {
        [] | [_] => blocks,
        [first, rest @ ..] => siblings(blocks[*first]["children"].as_array_mut().unwrap(), rest),
    }
}

fn pick(blocks: &[Value], number: u16) -> Option<Vec<usize>> {
    let ways = ways(blocks);
    if ways.is_empty() { None } else { Some(ways[usize::from(number) % ways.len()].clone()) }
}

/// Does one thing to a page; new words and ids start with `who`.
pub(super) fn act(blocks: &mut Vec<Value>, who: &str, number: usize, (kind, a, b, c): Act) {
    let new = format!("{who}{number}");
    let Some(way) = pick(blocks, a) else {
        blocks.push(text_block(&new, &[format!("{new}w")]));
        return;
    };
    let at = *way.last().unwrap();
    let list = siblings(blocks, &way);
    match kind {
        0..=3 => {
            let mut words = read(&list[at]);
            let place = usize::from(b) % (words.len() + 1);
            match kind {
                0 => words.insert(place, (format!("{new}w"), json!({}))),
                _ if words.is_empty() => {}
                1 => {
                    words.remove(place % words.len());
                }
                2 => {
                    let place = place % words.len();
                    words[place].0 = format!("{new}w");
                }
                _ => {
                    let end = (place + 1 + usize::from(c) % 3).min(words.len());
                    let style = ["bold", "italic", "strike"][usize::from(c) % 3];
                    for (_, styles) in words.iter_mut().take(end).skip(place) {
                        styles[style] = json!(true);
                    }
                }
            }
            write(&mut list[at], &words);
        }
        4 => {
            let block = text_block(&new, &[format!("{new}w"), format!("{new}v")]);
            if b % 3 == 0 {
                list[at]["children"].as_array_mut().unwrap().push(block);
            } else {
                list.insert(at + usize::from(b % 2), block);
            }
        }
        5 => {
            let block = list.remove(at);
            if b % 2 == 0 {
                // What was nested comes out.
                let nested = block["children"].as_array().cloned().unwrap_or_default();
                list.splice(at..at, nested);
            }
        }
        6..9 => {
            let block = list.remove(at);
            match pick(blocks, b) {
                Some(to) if c % 2 == 0 => {
                    let at = *to.last().unwrap();
                    siblings(blocks, &to)[at]["children"].as_array_mut().unwrap().push(block);
                }
                Some(to) => siblings(blocks, &to).insert(*to.last().unwrap(), block),
                None => blocks.push(block),
            }
        }
        9 => list[at]["props"]["textColor"] = json!(["red", "blue", "green"][usize::from(b) % 3]),
        10 => list[at]["props"][["level", "checked"][usize::from(b) % 2]] = json!(c % 3),
        _ => list[at]["type"] = json!(["heading", "quote", "paragraph"][usize::from(b) % 3]),
    }
}

fn pages() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec((0..4_u8, 0..8_usize), 0..9).prop_map(|lines| {
        let mut blocks = Vec::new();
        for (number, (place, length)) in lines.into_iter().enumerate() {
            let words: Vec<String> = (0..length).map(|n| format!("b{number}x{n}")).collect();
            let block = text_block(&format!("b{number}"), &words);
            match pick(&blocks, u16::try_from(number).unwrap() * 7) {
                Some(way) if place == 0 => {
                    let at = *way.last().unwrap();
                    siblings(&mut blocks, &way)[at]["children"].as_array_mut().unwrap().push(block);
                }
                _ => blocks.push(block),
            }
        }
        blocks
    })
}

fn acts(most: usize) -> impl Strategy<Value = Vec<Act>> {
    prop::collection::vec((0..12_u8, any::<u16>(), any::<u16>(), any::<u16>()), 0..=most)
}

fn stories() -> impl Strategy<Value = Story> {
    stories_with(2)
}

/// Of what both put in and one of them moved, nobody can know who did; here there is no such thing.
fn stories_without_shared_acts() -> impl Strategy<Value = Story> {
    stories_with(0)
}

fn stories_with(shared: usize) -> impl Strategy<Value = Story> {
    (pages(), acts(shared), acts(6), acts(6)).prop_map(|(base, both, theirs, ours)| {
        // What both did alike, as after an answer that was lost; then what each did.
        let mut shared = base.clone();
        both.iter().enumerate().for_each(|(n, one)| act(&mut shared, "s", n, *one));
        let (mut remote, mut local) = (shared.clone(), shared);
        theirs.iter().enumerate().for_each(|(n, one)| act(&mut remote, "r", n, *one));
        ours.iter().enumerate().for_each(|(n, one)| act(&mut local, "l", n, *one));
        let moved = |acts: &[Act]| acts.iter().chain(&both).any(|act| MOVES.contains(&act.0) || act.0 == 5);
        Story { remote_moved: moved(&theirs), local_moved: moved(&ours), base, remote, local }
    })
}

/// Every block by its id, without what is nested in it, and the id of its parent.
pub(super) fn index(blocks: &[Value]) -> BTreeMap<String, (Value, Option<String>)> {
    fn walk(blocks: &[Value], parent: Option<&str>, found: &mut BTreeMap<String, (Value, Option<String>)>) {
        for block in blocks {
            let mut own = block.clone();
            own["children"] = json!([]);
            let id = block["id"].as_str().unwrap();
            let before = found.insert(id.to_owned(), (own, parent.map(str::to_owned)));
            assert!(before.is_none(), "{id} stands twice");
            walk(block["children"].as_array().unwrap(), Some(id), found);
        }
    }
    let mut found = BTreeMap::new();
    walk(blocks, None, &mut found);
    found
}

fn order(blocks: &[Value]) -> Vec<String> {
    ways(blocks)
        .iter()
        .map(|way| {
            let mut blocks = blocks.to_vec();
            siblings(&mut blocks, way)[*way.last().unwrap()]["id"].as_str().unwrap().to_owned()
        })
        .collect()
}

proptest! {
    #![proptest_config(crate::model::tests::config())]

    #[test]
    fn one_sided_and_equal_changes_are_taken_whole(story in stories()) {
        let Story { base, remote, local, .. } = story;
        for side in [remote, local] {
            let short = [merge(&base, &side, &base), merge(&base, &base, &side), merge(&base, &side, &side)];
            let long = [merge_trees(&base, &side, &base), merge_trees(&base, &base, &side), merge_trees(&base, &side, &side)];
            for merged in short.into_iter().chain(long) {
                prop_assert_eq!(merged, Merge { blocks: side.clone(), collisions: Vec::new() });
            }
        }
    }

    #[test]
    fn every_block_is_there_once_if_nobody_deleted_it(story in stories()) {
        let Story { base, remote, local, .. } = story;
        let merged = merge(&base, &remote, &local);
        let [was, theirs, ours, found] = [&base, &remote, &local, &merged.blocks].map(|side| index(side));
        for id in was.keys().chain(theirs.keys()).chain(ours.keys()) {
            let own = |side: &BTreeMap<String, (Value, Option<String>)>| side.get(id).map(|(own, _)| own.clone());
            let (b, r, l) = (own(&was), own(&theirs), own(&ours));
            let lives = match (&b, &r, &l) {
                (None, _, _) | (_, Some(_), Some(_)) => true,
                (was, Some(_), None) => *was != r,
                (was, None, Some(_)) => *was != l,
                (Some(_), None, None) => false,
            };
            prop_assert_eq!(found.contains_key(id), lives, "{}", id);
            if !lives {
                continue;
            }
            // What only one side changed is as that side has it, to the last key.
            let expected = match (b, r, l) {
                (_, Some(only), None) | (_, None, Some(only)) => Some(only),
                (was, theirs, ours) if was == ours || theirs == ours => theirs,
                (was, theirs, ours) if was == theirs => ours,
                _ => None,
            };
            if let Some(expected) = expected {
                prop_assert_eq!(&found[id].0, &expected);
            }
            // And so is its place, if the block that it was in lives.
            let parent = |side: &BTreeMap<String, (Value, Option<String>)>| side.get(id).map(|(_, parent)| parent.clone());
            let (b, r, l) = (parent(&was), parent(&theirs), parent(&ours));
            if r == l && r.as_ref().is_some_and(|parent| parent.as_ref().is_none_or(|p| found.contains_key(p))) {
                prop_assert_eq!(Some(found[id].1.clone()), r, "parent of {}, before {:?}", id, b);
            }
        }
    }

    #[test]
    fn no_word_is_lost(story in stories()) {
        let Story { base, remote, local, .. } = story;
        let merged = merge(&base, &remote, &local);
        let [was, theirs, ours, found] = [&base, &remote, &local, &merged.blocks].map(|side| words(side));
        let collided: BTreeSet<String> = merged.collisions.iter()
            .flat_map(|c| [&c.remote, &c.local]).flat_map(|text| text.split_whitespace()).map(str::to_owned).collect();
        for word in theirs.difference(&was) {
            prop_assert!(found.contains(word), "the service's {} is not in the page", word);
        }
        for word in ours.difference(&was) {
            prop_assert!(found.contains(word) || collided.contains(word), "the user's {} is lost", word);
        }
        for word in was.iter().filter(|word| theirs.contains(*word) && ours.contains(*word)) {
            prop_assert!(found.contains(word), "{} was deleted by nobody", word);
        }
        // And none is made up, or glued together, or doubled.
        let mut all = Vec::new();
        merged.blocks.iter().for_each(|block| words_of(block, &mut all));
        for word in &all {
            prop_assert!(theirs.contains(word) || ours.contains(word), "{} was written by nobody", word);
        }
        prop_assert_eq!(all.len(), found.len());
    }

    #[test]
    fn styles_stay_on_their_words(story in stories()) {
        let Story { base, remote, local, .. } = story;
        let merged = merge(&base, &remote, &local);
        let styles = |blocks: &[Value]| -> BTreeMap<String, Value> {
            index(blocks).into_values().flat_map(|(own, _)| read(&own)).collect()
        };
        let [was, theirs, ours, found] = [&base, &remote, &local, &merged.blocks].map(|side| styles(side));
        for (word, style) in &found {
            if let (Some(b), Some(r), Some(l)) = (was.get(word), theirs.get(word), ours.get(word)) {
                let mut union = r.clone();
                l.as_object().unwrap().iter().for_each(|(key, value)| union[key] = value.clone());
                let _ = b;
                // These acts only add styles, so nothing is in the way of anything.
                prop_assert_eq!(style, &union, "{}", word);
            }
        }
    }

    #[test]
    fn who_moves_nothing_leaves_the_order_to_the_other(story in stories_without_shared_acts()) {
        let merged = merge(&story.base, &story.remote, &story.local);
        let found = index(&merged.blocks);
        let kept = |side: &[Value], all: &[Value]| -> (Vec<String>, Vec<String>) {
            let inside = index(side);
            let only = |list: Vec<String>| list.into_iter().filter(|id| inside.contains_key(id) && found.contains_key(id)).collect();
            (only(order(side)), only(order(all)))
        };
        if !story.local_moved {
            let (theirs, all) = kept(&story.remote, &merged.blocks);
            prop_assert_eq!(theirs, all);
        }
        if !story.remote_moved {
            let (ours, all) = kept(&story.local, &merged.blocks);
            prop_assert_eq!(ours, all);
        }
    }

    #[test]
    fn changes_of_different_words_both_live(
        owners in prop::collection::vec(prop::collection::vec(0..4_u8, 0..9), 1..5)
    ) {
        let page = |by: &[u8]| -> Vec<Value> {
            owners.iter().enumerate().map(|(number, owners)| {
                let words: Vec<String> = owners.iter().enumerate().map(|(n, owner)| {
                    let who = if by.contains(owner) { *owner } else { 0 };
                    format!("{}{number}x{n}", ["b", "r", "l", "b"][usize::from(who)])
                }).collect();
                text_block(&format!("b{number}"), &words)
            }).collect()
        };
        let merged = merge(&page(&[]), &page(&[1]), &page(&[2]));
        prop_assert_eq!(merged, Merge { blocks: page(&[1, 2]), collisions: Vec::new() });
    }

    #[test]
    fn texts_of_any_kind_merge(base in text(), remote in text(), local in text()) {
        let [was, theirs, ours] = [&base, &remote, &local].map(|text| runs(text));
        let text = |b: &[Value], r: &[Value], l: &[Value]| {
            let merged = merge_runs([b, r, l], merge_styles);
            (show_runs(&merged.runs), merged.collided)
        };
        for (side, shown) in [(&theirs, &remote), (&ours, &local)] {
            let shown = show_runs(&runs(shown));
            prop_assert_eq!(text(&was, side, &was), (shown.clone(), false));
            prop_assert_eq!(text(&was, &was, side), (shown.clone(), false));
            prop_assert_eq!(text(&was, side, side), (shown, false));
        }
        let merged = merge_runs([&was, &theirs, &ours], merge_styles);
        // No letter that neither side has, and without a collision each that only one side has.
        let letters = |runs: &[Value]| -> BTreeSet<char> {
            let mut words = Vec::new();
            runs.iter().for_each(|run| words_of(run, &mut words));
            words.concat().chars().filter(|c| c.is_alphanumeric()).collect()
        };
        let (was, theirs, ours, found) = (letters(&was), letters(&theirs), letters(&ours), letters(&merged.runs));
        prop_assert!(found.iter().all(|c| theirs.contains(c) || ours.contains(c)));
        prop_assert!(theirs.difference(&was).all(|c| found.contains(c)));
        prop_assert!(merged.collided || ours.difference(&was).all(|c| found.contains(c)));
        // What the editor refuses is not made.
        for run in &merged.runs {
            let styles = run["styles"].as_object();
            prop_assert!(styles.is_none_or(|styles| styles.len() < 2 || !styles.contains_key("code")), "{}", run);
        }
    }

    #[test]
    fn nothing_breaks_on_odd_pages(
        base in prop::collection::vec(odd(), 0..5), remote in prop::collection::vec(odd(), 0..5), local in prop::collection::vec(odd(), 0..5)
    ) {
        let merged = merge(&base, &remote, &local);
        let count = |blocks: &[Value]| ways(blocks).len();
        // At least what one side has and the other cannot have deleted.
        prop_assert!(count(&merged.blocks) + count(&base) >= count(&remote).max(count(&local)));
        if base.is_empty() {
            let [theirs, ours, found] = [&remote, &local, &merged.blocks].map(|side| words(side));
            let told: String = merged.collisions.iter().map(|c| format!("{} ", c.local)).collect();
            for word in theirs.union(&ours) {
                prop_assert!(found.contains(word) || told.contains(&**word), "{}", word);
            }
        }
        for side in [&remote, &local] {
            prop_assert_eq!(&merge(&base, side, side).blocks, side);
        }
    }
}

/// Texts of few letters and much between them, in the notation of the stories.
fn text() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "a",
        "b",
        "c",
        "dd",
        "e1",
        " ",
        " ",
        " ",
        "  ",
        ", ",
        ".",
        "\n",
        "-",
        "->",
        "'",
        "3.5",
        "https://x.y/z ",
        "我",
        "茶",
        "👩‍👧",
        "🇪🇸",
        "e\u{301}",
        "\u{200d}",
        "*a b*",
        "_b_ ",
        "`c`",
        "*_c_*",
        "<h|link>.",
        "<h|*link*>.",
        "<i|link>.",
    ]);
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

/// Blocks as nobody should send them: ids missing, doubled and of other types, texts for arrays, no objects at all.
fn odd() -> impl Strategy<Value = Value> {
    let id = prop::sample::select(vec![
        json!(null),
        json!(""),
        json!("a"),
        json!("b"),
        json!("c"),
        json!(1),
        json!({"x": 1}),
    ]);
    let content = prop::sample::select(vec![
        json!(null),
        json!("word"),
        json!([]),
        json!([run("uno dos", &json!({}))]),
        json!([run("uno tres", &json!({"bold": true}))]),
        json!([7, "x"]),
        json!({"type": "tableContent", "rows": [{"cells": [[run("celda", &json!({}))], ["otra"]]}]}),
        json!({"rows": 1}),
        json!([{"type": "link", "href": "h", "content": [run("enlace", &json!({"code": true}))]}, {"type": "link"}]),
    ]);
    let leaf = (id, content, any::<u8>()).prop_map(|(id, content, bits)| {
        let mut block = json!({});
        if bits & 1 == 0 {
            block["id"] = id;
        }
        if bits & 2 == 0 {
            block["type"] = json!(["paragraph", "image"][usize::from(bits >> 6 & 1)]);
        }
        if bits & 4 == 0 {
            block["content"] = content;
        }
        if bits & 8 == 0 {
            block["children"] = json!(null);
        }
        if bits & 48 == 48 { json!("text") } else { block }
    });
    leaf.prop_recursive(3, 12, 4, |inner| {
        (inner.clone(), prop::collection::vec(inner, 0..4)).prop_map(|(mut block, nested)| {
            if block.is_object() {
                block["children"] = json!(nested);
            }
            block
        })
    })
}
