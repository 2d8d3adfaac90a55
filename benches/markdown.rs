//! How quick the converter is: `cargo bench --bench markdown`. Prints blocks per second over a page of 20,000 blocks,
//! and parsing as a multiple of the Markdown parser's own pass over the same text.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench reads the clock and prints")]

use std::hint::black_box;
use std::time::Instant;

use espejo::markdown::{Allowed, parse, patch, render};
use pulldown_cmark::{Options, Parser};
use serde_json::{Value, json};

fn page(count: usize) -> Vec<Value> {
    (0..count)
        .map(|at| {
            let kind = ["paragraph", "bulletListItem", "paragraph", "heading", "checkListItem"][at % 5];
            let mut props =
                json!({"textColor": "default", "backgroundColor": "default", "textAlignment": "left"});
            match kind {
                "heading" => props["level"] = json!(2),
                "checkListItem" => props["checked"] = json!(false),
                _ => {}
            }
            let text = format!("Line {at} of a page with some words, ");
            json!({"id": format!("{at:08}"), "type": kind, "props": props, "content": [
                {"type": "text", "text": text, "styles": {}},
                {"type": "text", "text": "bold ones", "styles": {"bold": true}},
                {"type": "text", "text": " too.", "styles": {}}], "children": []})
        })
        .collect()
}

fn best(mut act: impl FnMut()) -> f64 {
    let time = |act: &mut dyn FnMut()| {
        let start = Instant::now();
        act();
        start.elapsed().as_secs_f64()
    };
    (0..7).map(|_| time(&mut act)).fold(f64::MAX, f64::min)
}

fn main() {
    let count = 20_000;
    let blocks = page(count);
    let text = render(&blocks).text;
    let edited = text.replace("Line 777 ", "Line seven hundred ");
    let mut new = blocks.clone();
    new[777]["content"][0]["text"] = json!("Changed elsewhere ");
    let mut next = 0;
    let mut id = || {
        next += 1;
        next.to_string()
    };
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let pass =
        best(|| Parser::new_ext(&text, options).into_offset_iter().for_each(|event| drop(black_box(event))));
    let rendering = best(|| drop(black_box(render(&blocks))));
    let with_base = best(|| drop(black_box(parse(&edited, &blocks, &Allowed::documented(), &mut id))));
    let without = best(|| drop(black_box(parse(&text, &[], &Allowed::documented(), &mut id))));
    let patching = best(|| drop(black_box(patch(&text, &blocks, &new))));
    for (name, seconds) in [
        ("render", rendering),
        ("parse with base", with_base),
        ("parse without base", without),
        ("patch", patching),
    ] {
        println!(
            "{name}: {:.0} blocks/s, {:.1} x the parser's own pass",
            count as f64 / seconds,
            seconds / pass
        );
    }
}
