//! The laws over very many grown pages. `ESPEJO_DOCUMENTS` sets how many, `ESPEJO_SEED` where to begin; the default
//! keeps `cargo test` quick, and a million are run in release before a version is made. `ESPEJO_DUMP_GROWN` names a
//! file for the documented ones and their Markdown, so that another reader can be asked what it shows.

use std::io::Write as _;

use serde_json::{Value, json};

use super::super::check_loadable;
use super::super::lower::lower;
use super::super::plain::same_trees;
use super::super::write::write;
use super::formatted::Dice;
use super::{grow, ids, read, without_end};
use crate::markdown::{Allowed, parse, parse_taking, patch, read as reader, render};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

pub(super) fn bytes(blocks: &[Value]) -> String {
    serde_json::to_string(blocks).unwrap()
}

/// What is wrong with one page, if anything is.
fn wrong(blocks: &[Value], wild: bool) -> Option<String> {
    let lowered = lower(blocks);
    // As the writer has it, without a second look.
    let text = write(&lowered.nodes, &mut |_, _| {}).text;
    let items = lowered.items.keys().cloned().collect();
    let have = reader::read(&text, &items);
    let shown = lowered.nodes.len() - lowered.trailing();
    if !same_trees(&lowered.nodes[..shown], &have) {
        return Some(format!("not read as written\n{text}"));
    }
    if render(blocks).text != text {
        return Some("rendered otherwise".to_owned());
    }
    for changed in [text.clone(), format!("{text}\n"), format!("\u{feff}{}", text.replace('\n', "\r\n"))] {
        let back = read(&changed, blocks);
        if bytes(&back) != bytes(blocks) {
            return Some(format!("not the same beside the base\n{changed:?}\n{}", json!(back)));
        }
    }
    let mut allowed = Allowed::documented();
    if !wild {
        allowed.learn(&[json!({"type": "quote", "props": {"textAlignment": "left"}})]);
    }
    let alone = parse(&text, &[], &allowed, &mut ids());
    if let Err(why) = check_loadable(&alone, &[], &allowed) {
        return Some(format!("without a base: {why}"));
    }
    if !wild && !same_pages(without_end(blocks), &alone) {
        return Some(format!("another page without a base\n{text}\n{}", json!(alone)));
    }
    let again = render(&alone).text;
    let twice = parse(&again, &[], &allowed, &mut ids());
    // What a stand-in for a block of another page leaves behind may be an empty paragraph at the end, which is not written.
    if !same_pages(without_end(&alone), without_end(&twice)) {
        return Some(format!("unstable without a base\n{again}\n{}\n{}", json!(alone), json!(twice)));
    }
    None
}

/// Whether two pages are alike up to ids, and up to what no Markdown can say of a run: NUL, and the style of a line
/// end or carriage return among others.
fn same_pages(a: &[Value], b: &[Value]) -> bool {
    fn keys(blocks: &[Value], out: &mut Vec<Value>) {
        for block in blocks {
            let mut own = block.clone();
            for key in ["id", "content", "children"] {
                own.as_object_mut().unwrap().shift_remove(key);
            }
            out.push(own);
            keys(block["children"].as_array().unwrap(), out);
        }
    }
    let mut both = [Vec::new(), Vec::new()];
    keys(a, &mut both[0]);
    keys(b, &mut both[1]);
    both[0] == both[1] && same_trees(&lower(a).nodes, &lower(b).nodes)
}

/// What is wrong with a change from one page to another, if anything is.
fn wrong_change(old: &[Value], new: &[Value]) -> Option<String> {
    let text = render(old).text;
    let patched = patch(&text, old, new);
    let back = read(&patched, new);
    if bytes(&back) != bytes(new) {
        return Some(format!("a patch that says something else\n{text}\n----\n{patched}\n{}", json!(back)));
    }
    // The same change made by hand.
    let hand = render(new).text;
    let allowed = Allowed::documented();
    let back = parse(&hand, old, &allowed, &mut ids());
    if let Err(why) = check_loadable(&back, old, &allowed) {
        return Some(format!("after an edit: {why}\n{hand}"));
    }
    if bytes(&parse_taking(&hand, old.to_vec(), &allowed, &mut ids())) != bytes(&back) {
        return Some(format!("the base given away makes another page\n{hand}"));
    }
    let again = read(&render(&back).text, &back);
    (again != back).then(|| format!("unstable after an edit\n{hand}"))
}

#[test]
fn grown_pages_come_back() {
    let count = number("ESPEJO_DOCUMENTS", 2_000);
    let first = number("ESPEJO_SEED", 1);
    let mut failures = Vec::new();
    let mut dumped = std::env::var_os("ESPEJO_DUMP_GROWN").map(|path| std::fs::File::create(path).unwrap());
    for seed in first..first + count {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let wild = seed % 2 == 0;
        let page = grow::page(&mut dice, wild);
        if let Some(file) = dumped.as_mut().filter(|_| !wild) {
            writeln!(file, "{}", json!({"name": seed, "blocks": page, "text": render(&page).text})).unwrap();
        }
        let is_wrong = |page: &[Value]| wrong(page, wild).is_some();
        if is_wrong(&page) {
            let page = grow::shrunk(page, &is_wrong);
            failures.push(format!("seed {seed}: {}\n{}", wrong(&page, wild).unwrap(), json!(page)));
        } else if seed % 4 < 2 {
            let other = grow::changed(&page, &mut dice);
            if let Some(why) = wrong_change(&page, &other) {
                failures.push(format!("seed {seed}: {why}\n{}\n{}", json!(page), json!(other)));
            }
        }
        if failures.len() >= 8 {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n================\n"));
}
