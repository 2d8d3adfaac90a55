//! A long page that was edited in one place is read around that place, and stands for what it stands for read as a whole.

use serde_json::{Value, json};

use super::super::lower::{Alone, lower_one_by_one, lower_unlabelled};
use super::super::near::{parse_near, patch_near};
use super::super::plain::same_trees;
use super::super::{Allowed, parse_content, parse_taking, patch, patched, text_of};
use super::ids;
use crate::model::{BodyJson, LONG_BODY};

const KINDS: [&str; 9] = [
    "paragraph",
    "numberedListItem",
    "numberedListItem",
    "numberedListItem",
    "heading",
    "bulletListItem",
    "checkListItem",
    "quote",
    "table",
];

fn block(at: usize) -> Value {
    let kind = KINDS[at % KINDS.len()];
    let mut props = json!({"textColor": "default", "backgroundColor": "default", "textAlignment": "left"});
    match kind {
        "heading" => props["level"] = json!(2),
        "checkListItem" => props["checked"] = json!(at.is_multiple_of(2)),
        _ => {}
    }
    let run = |text: String| json!([{"type": "text", "text": text, "styles": {}}]);
    let content = match kind {
        "table" => json!({"type": "tableContent", "columnWidths": [null, null], "rows": [
            {"cells": [run(format!("a {at}")), run("b".to_owned())]}, {"cells": [run("c".to_owned()), run(format!("d {at}"))]}]}),
        _ => run(format!("Block {at} of a page, with words enough that it counts as a long one.")),
    };
    let children = if kind == "bulletListItem" { json!([block(1_000_000 * KINDS.len())]) } else { json!([]) };
    let children = match children {
        Value::Array(mut inner) if !inner.is_empty() => {
            inner[0]["id"] = json!(format!("{at}-inner"));
            Value::Array(inner)
        }
        other => other,
    };
    json!({"id": format!("{at:06}"), "type": kind, "props": props, "content": content, "children": children})
}

fn page() -> BodyJson {
    let content = BodyJson::of(&(0..2_700).map(block).collect::<Vec<_>>());
    assert!(content.as_str().len() > LONG_BODY, "{} bytes", content.as_str().len());
    content
}

/// Reads `text` both ways; whether only a part of it was read as blocks.
fn check(name: &str, base: &BodyJson, text: &str) -> bool {
    let allowed = Allowed::documented();
    let whole = BodyJson::of(&parse_taking(text, base.blocks().unwrap(), &allowed, &mut ids()));
    let near = parse_near(text, base, &allowed, &mut ids());
    if let Some(near) = &near {
        assert!(*near == whole, "{name}: read as something else than the whole");
    }
    let chosen = parse_content(text, base, &allowed, &mut ids()).unwrap();
    let same = |one: &BodyJson| one.blocks().unwrap().len() == whole.blocks().unwrap().len();
    assert!(same(&chosen), "{name}");
    near.is_some()
}

#[test]
fn an_edit_in_one_place_is_read_around_it_as_in_the_whole() {
    let base = page();
    let text = text_of(&base).unwrap();
    let line = |at: usize| format!("Block {at} of a page, with words enough that it counts as a long one.");
    assert!(check("nothing", &base, &text));
    for at in [2, 1_352] {
        let (old, new) = (line(at), line(at).replace("words", "other **bold** words"));
        if !text.contains(&old) {
            continue;
        }
        assert!(check(&format!("a word in {at}"), &base, &text.replace(&old, &new)), "block {at} as a whole");
        let edited = text.replace(&old, &new);
        // The line after front matter, and a last line without its end.
        let framed = format!("\n{}", edited.trim_end());
        assert!(check(&format!("a word in {at}, framed"), &base, &framed), "framed block {at} as a whole");
        check(&format!("{at} cut in two"), &base, &text.replace(&old, &old.replace("page, ", "page,\n\n")));
        check(&format!("{at} left out"), &base, &text.replace(&format!("{old}\n"), ""));
        check(&format!("{at} is another kind"), &base, &text.replace(&old, &format!("# {old}")));
        check(&format!("a fence in {at}"), &base, &text.replace(&old, &format!("{old}\n\n```\n{old}")));
        check(&format!("a comment in {at}"), &base, &text.replace(&old, &format!("<!-- {old} -->")));
        check(&format!("{at} twice"), &base, &text.replace(&old, &format!("{old}\n\n{old}")));
    }
    check("a line before all", &base, &format!("A line before.\n\n{text}"));
    check("a line after all", &base, &format!("{text}\nA line after.\n"));
    check("the second half gone", &base, &text[..text.len() / 2]);
    check("two places", &base, &text.replace(&line(9), "one").replace(&line(2_646), "other"));
    check("a fence that is never closed", &base, &format!("\n{text}\n```\ncode\n\n\n"));
    check("a cell", &base, &text.replace("| a 8 ", "| a eight "));
    check("a definition for a link", &base, &text.replace(&line(9), "[link]\n\n[link]: https://a.example"));
}

/// Makes `text` for `new` both ways.
fn check_patch(name: &str, base: &BodyJson, text: &str, new: &BodyJson) {
    let whole = patch(text, &base.blocks().unwrap(), &new.blocks().unwrap());
    let made = patched(text, base, new).unwrap();
    let differ = made.lines().zip(whole.lines()).find(|(one, other)| one != other);
    assert!(made == whole, "{name}: {differ:?}");
}

#[test]
fn a_long_page_is_patched_as_in_the_whole() {
    let base = page();
    let text = text_of(&base).unwrap();
    for at in [2, 1_352] {
        let mut blocks = base.blocks().unwrap();
        blocks[at] = json!({"id": "new", "type": "paragraph", "props": {}, "content": [
            {"type": "text", "text": "Written in the app.", "styles": {}}], "children": []});
        let new = BodyJson::of(&blocks);
        check_patch(&format!("{at} is another"), &base, &text, &new);
        blocks.remove(at);
        let new = BodyJson::of(&blocks);
        check_patch(&format!("{at} is gone"), &base, &text, &new);
        // A person's own lines stay as they are.
        let own = text.replace("Block 9 of", "Block  9 of");
        check_patch(&format!("{at} is gone, beside own lines"), &base, &own, &new);
        let framed = format!("\n{}", text.trim_end());
        check_patch(&format!("{at} is gone, framed"), &base, &framed, &new);
        assert!(patch_near(&framed, &base, &new).is_some(), "framed block {at} as a whole");
    }
}

#[test]
fn a_long_page_that_is_rewritten_is_printed_anew() {
    let base = page();
    let text = text_of(&base).unwrap();
    let line = |at: usize| {
        json!({"id": format!("other-{at}"), "type": "paragraph", "props": {}, "content": [
        {"type": "text", "text": format!("Line {at} of another page."), "styles": {}}], "children": []})
    };
    let blocks = base.blocks().unwrap();
    let some = |others: usize| (0..others).map(line).collect::<Vec<_>>();
    for (name, new) in [
        ("one line is left", some(1)),
        ("a short page", some(40)),
        ("another long page", some(9_000)),
        ("the last blocks stay", [some(40), blocks[2_690..].to_vec()].concat()),
    ] {
        let new = BodyJson::of(&new);
        for text in [text.clone(), format!("\n{}", text.trim_end())] {
            check_patch(name, &base, &text, &new);
            assert!(patch_near(&text, &base, &new).is_some(), "{name}: as a whole");
        }
        // A person's own lines are not printed anew.
        check_patch(name, &base, &text.replace("Block 2698 of", "Block  2698 of"), &new);
    }
}

#[test]
fn a_page_without_a_base_is_printed_a_block_at_a_time() {
    let text = text_of(&page()).unwrap();
    let allowed = Allowed::all();
    let content = parse_content(&text, &BodyJson::of(&[]), &allowed, &mut ids()).unwrap();
    assert!(content == BodyJson::of(&parse_taking(&text, Vec::new(), &allowed, &mut ids())));
}

#[test]
fn a_tree_in_which_blocks_are_replaced_is_that_of_the_new_page() {
    let plain = |kind: &str, text: &str| json!({"id": "x", "type": kind, "props": {}, "content": text, "children": []});
    let mut number = plain("numberedListItem", "counted");
    number["props"]["start"] = json!(7);
    let pool = [
        plain("paragraph", "words"),
        plain("paragraph", ""),
        number,
        plain("heading", "words"),
        plain("unheard", "of"),
        json!({"id": "y", "type": "paragraph", "content": [{"type": "mention", "of": 7}], "children": []}),
    ];
    let tree = |blocks: &[Value]| lower_one_by_one(blocks.iter().cloned());
    let flags = |tree: &Alone| tree.nodes.iter().map(|node| node.blank).collect::<Vec<_>>();
    let mut replaced = 0;
    // Every page of four blocks, of which the middle two give way to none, one or two others.
    for page in 0..pool.len().pow(4) {
        let at = |place: u32| pool[page / pool.len().pow(place) % pool.len()].clone();
        let page: Vec<Value> = (0..4).map(at).collect();
        for other in 0..=pool.len() * (pool.len() + 1) {
            let after: Vec<Value> =
                [other.checked_sub(1).map(|it| it % pool.len()), (other / pool.len()).checked_sub(1)]
                    .into_iter()
                    .flatten()
                    .filter_map(|it| pool.get(it).cloned())
                    .collect();
            let whole = tree(&[&page[..1], &after, &page[3..]].concat());
            let mut near = tree(&page);
            if lower_unlabelled(&page[1..3], &mut false).is_some() && near.replace(1..3, &after) {
                replaced += 1;
                let same = same_trees(&near.nodes, &whole.nodes) && flags(&near) == flags(&whole);
                assert!(same && near.items == whole.items, "{page:?} with {after:?}");
            }
        }
    }
    assert!(replaced > 10_000, "{replaced}");
}
