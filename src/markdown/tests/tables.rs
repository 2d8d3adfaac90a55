//! Tables with spans: shown as plain tables, edited as such, and what becomes of each span.

use serde_json::{Value, json};

use super::super::lower::lower;
use super::super::plain::{Kind, Node};
use super::super::{check_loadable, render};
use super::formatted::Dice;
use super::{grow, ids, read};
use crate::markdown::{Allowed, parse};

/// Rows between slashes, cells between spaces: `text`, `text:2` over two columns, `text:1x2` over two rows, `-` empty.
pub(super) fn table(short: &str) -> Vec<Value> {
    let cell = |short: &str| {
        let (text, span) = short.split_once(':').unwrap_or((short, "1"));
        let (across, down) = span.split_once('x').unwrap_or((span, "1"));
        let count = |text: &str| text.parse::<u64>().unwrap();
        let text = if text == "-" { "" } else { text };
        let runs: Vec<Value> = (!text.is_empty())
            .then(|| json!({"type": "text", "text": text, "styles": {}}))
            .into_iter()
            .collect();
        json!({"type": "tableCell", "content": runs, "props": {"colspan": count(across), "rowspan": count(down),
            "backgroundColor": "red", "textColor": "default", "textAlignment": "left"}})
    };
    let row = |short: &str| json!({"cells": short.split_whitespace().map(cell).collect::<Vec<_>>()});
    let rows: Vec<Value> = short.split('/').map(row).collect();
    let width = lower(&[block(json!({"type": "tableContent", "rows": rows}))])
        .nodes
        .first()
        .and_then(|node| Some(rows_of(node)?[0].len()))
        .unwrap_or(1);
    let widths: Vec<usize> = (0..width).map(|at| 100 + at).collect();
    vec![block(json!({"type": "tableContent", "columnWidths": widths, "headerRows": 1, "rows": rows}))]
}

fn block(content: Value) -> Value {
    json!({"id": "t", "type": "table", "props": {"textColor": "default"}, "content": content, "children": []})
}

/// The same notation; `!` behind a cell that is none of the base's.
pub(super) fn short(blocks: &[Value]) -> String {
    assert_eq!(blocks.len(), 1);
    let cell = |cell: &Value| {
        let runs = cell["content"].as_array().unwrap();
        let text: String = runs.iter().map(|run| run["text"].as_str().unwrap()).collect();
        let text = if text.is_empty() { "-" } else { &text };
        let span =
            match (cell["props"]["colspan"].as_u64().unwrap(), cell["props"]["rowspan"].as_u64().unwrap()) {
                (1, 1) => String::new(),
                (across, 1) => format!(":{across}"),
                (across, down) => format!(":{across}x{down}"),
            };
        format!("{text}{span}{}", if cell["props"]["backgroundColor"] == "red" { "" } else { "!" })
    };
    let row = |row: &Value| row["cells"].as_array().unwrap().iter().map(cell).collect::<Vec<_>>().join(" ");
    let rows = blocks[0]["content"]["rows"].as_array().unwrap();
    rows.iter().map(row).collect::<Vec<_>>().join(" / ")
}

fn rows_of(node: &Node) -> Option<&Vec<Vec<super::super::plain::Inline>>> {
    match &node.kind {
        Kind::Table(table) => Some(&table.rows),
        _ => None,
    }
}

/// The words of every place of the grid.
fn grid(blocks: &[Value]) -> String {
    let lowered = lower(blocks);
    let rows = rows_of(&lowered.nodes[0]).unwrap_or_else(|| panic!("no grid: {}", json!(blocks)));
    let cell = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let row = |row: &Vec<super::super::plain::Inline>| {
        row.iter().map(|inline| cell(&inline.text)).collect::<Vec<_>>().join(" ")
    };
    rows.iter().map(row).collect::<Vec<_>>().join(" / ")
}

/// A plain table's text with these words.
fn text(grid: &str) -> String {
    render(&table(grid)).text
}

#[test]
fn spans_stay_where_the_edit_leaves_them_and_no_word_is_lost() {
    // What is stored; the grid that it shows; that grid after an edit; what is stored then.
    let title = "T:2 c / d e f";
    let tall = "A:1x2 b / c / d e";
    let cases = [
        (title, "T - c / d e f", "T - c / d e f", title),
        (title, "T - c / d e f", "New - c / d e f", "New:2 c / d e f"),
        (title, "T - c / d e f", "T - c / d e g", "T:2 c / d e g"),
        (title, "T - c / d e f", "T - g / d e f", "T:2 g / d e f"),
        // A word typed where the span hides is a cell of its own.
        (title, "T - c / d e f", "T x c / d e f", "T x! c / d e f"),
        (tall, "A b / - c / d e", "A b / x c / d e", "A b / x! c / d e"),
        // Rows and columns come and go, outside and inside.
        (title, "T - c / d e f", "T - c / d e f / x y z", "T:2 c / d e f / x! y! z!"),
        (title, "T - c / d e f", "T - c / x y z / d e f", "T:2 c / x! y! z! / d e f"),
        (title, "T - c / d e f", "T - c z / d e f z", "T:2 c z! / d e f z!"),
        (title, "T - c / d e f", "z T - c / z d e f", "z! T:2 c / z! d e f"),
        (title, "T - c / d e f", "T - - c / d z e f", "T:3 c / d z! e f"),
        (title, "T - c / d e f", "T z - c / d z e f", "T z! -! c / d z! e f"),
        (title, "T - c / d e f", "T c / d f", "T c / d f"),
        (title, "T - c / d e f", "- c / e f", "-! c / e f"),
        (title, "T - c / d e f", "d e f", "d e f"),
        (tall, "A b / - c / d e", "A b / d e", "A b / d e"),
        (tall, "A b / - c / d e", "A b / - x / - c / d e", "A:1x3 b / x! / c / d e"),
        (tall, "A b / - c / d e", "- c / d e", "-! c / d e"),
        // Where it is not clear which row is left, an empty place is no reason to span it.
        ("a b / T:2 / x -", "a b / T - / x -", "a b / xy -", "a b / xy -!"),
        // A row that would be left without a cell.
        ("A:1x2 b / c", "A b / - c", "A / -", "A / -!"),
        ("a b / A:1x2 c / d", "a b / A c / - d", "a / A / -", "a / A / -!"),
        // Both ways, many rows alike beneath one cell, and two rows edited.
        (
            "a b c / A:2x2 c / d / e f g",
            "a b c / A - c / - - d / e f g",
            "a b c / B - c / - - d / e f h",
            "a b c / B:2x2 c / d / e f h",
        ),
        ("a b / A:2x3 / / ", "a b / A - / - - / - -", "x b / B - / - - / - -", "x b / B:2x3 /  / "),
    ];
    for (stored, shown, typed, want) in cases {
        let base = table(stored);
        assert_eq!(grid(&base), shown);
        assert_eq!(render(&base).text, text(shown), "{stored}");
        let back = read(&text(typed), &base);
        assert_eq!(short(&back), want, "{stored} -> {typed}");
        assert_eq!(grid(&back), typed, "{stored} -> {typed}");
        assert_eq!((&back[0]["id"], &back[0]["props"]), (&base[0]["id"], &base[0]["props"]));
        if stored == want {
            assert_eq!(back, base);
        }
        let widths = back[0]["content"]["columnWidths"].as_array().unwrap();
        assert_eq!(widths.len(), typed.split('/').next().unwrap().split_whitespace().count());
        // Without the base it is a plain table of the same words.
        let alone = parse(&text(shown), &[], &Allowed::all(), &mut ids());
        assert_eq!(short(&alone).replace('!', ""), shown);
    }
}

#[test]
fn what_is_no_grid_is_one_line() {
    for odd in [
        "a:2 / b c d",
        "a:1x2 b / c d",
        "a b / c",
        "a:1x3 b / c",
        "a:0 b / c d",
        "a:1x2 b / c:2",
        "a:9999999 / b",
    ] {
        assert!(render(&table(odd)).text.starts_with("<!-- block: table t -->"), "{odd}");
        assert_eq!(read(&render(&table(odd)).text, &table(odd)), table(odd));
    }
    let mut float = table("T:2 / a b");
    float[0]["content"]["rows"][0]["cells"][0]["props"]["colspan"] = json!(2.0);
    assert_eq!(render(&float).text, text("T - / a b"));
    let back = read(&text("T - / a c"), &float);
    assert_eq!(back[0]["content"]["rows"][0], float[0]["content"]["rows"][0]);
}

#[test]
fn any_table_turned_into_any_other_keeps_each_word_and_remains_a_grid() {
    for seed in 0..u64::from(crate::model::tests::cases(1_000)) {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut base = vec![grow::spanned(&mut dice, "t")];
        // Another table, the same one after some work, or that work on what the file shows of it.
        let way = dice.below(3);
        let other = if way == 0 {
            vec![grow::spanned(&mut dice, "t")]
        } else {
            let shown = || parse(&render(&base).text, &[], &Allowed::all(), &mut ids());
            let mut other = if way == 1 { base.clone() } else { shown() };
            (0..1 + dice.below(2)).for_each(|_| grow::change_table(&mut other[0], &mut dice));
            other
        };
        base[0]["content"]["rows"][0]["kept"] = json!(1.0);
        let typed = render(&other).text;
        let back = read(&typed, &base);
        let what = format!("seed {seed}\n{}\n{typed}\n{}", render(&base).text, json!(back));
        assert_eq!(grid(&back), grid(&other), "{what}");
        assert_eq!(lower(&back).nodes[0].inline, lower(&other).nodes[0].inline);
        check_loadable(&back, &base, &Allowed::documented()).unwrap();
        assert_eq!(read(&render(&back).text, &back), back, "{what}");
        assert_eq!(read(&render(&base).text, &base), base, "{what}");
        let rows = |blocks: &[Value]| blocks[0]["content"]["rows"].as_array().unwrap().clone();
        let is_bare = |row: &Value| row["cells"].as_array().unwrap().is_empty();
        assert!(rows(&base).iter().any(is_bare) || !rows(&back).iter().any(is_bare), "{what}");
    }
}
