//! How tables stand in files: padded where espejo makes them, as they were typed where a person did.

use serde_json::{Value, json};

use super::super::{Allowed, parse, patch, render};
use super::{ids, read};

fn all(text: &str) -> Vec<Value> {
    parse(text, &[], &Allowed::all(), &mut ids())
}

#[test]
fn a_table_that_espejo_writes_is_padded() {
    for (typed, written) in [
        (
            "|Name|Amount|x|\n|-|-:|:-:|\n|Rent|**900**|a|\n|Food and drink||abcd|\n",
            "| Name           |  Amount |  x   |\n| -------------- | ------: | :--: |\n\
             | Rent           | **900** |  a   |\n| Food and drink |         | abcd |\n",
        ),
        // What takes two columns on a screen, what takes none, and what is one sign of many characters.
        (
            "| 中文 | a |\n| - | - |\n| 🙂 | e\u{301} |\n| 👩‍👩‍👧 | ñ |\n",
            "| 中文 | a   |\n| ---- | --- |\n| 🙂   | e\u{301}   |\n| 👩‍👩‍👧   | ñ   |\n",
        ),
        // Without a header.
        (
            "| | |\n| - | - |\n| one | two words |\n",
            "|     |           |\n| --- | --------- |\n| one | two words |\n",
        ),
        // A cell that is too wide stands out; the others stand below each other.
        (
            "| a | b |\n| - | - |\n| This is a sentence that has more than forty columns. | c |\n| d | e |\n",
            "| a   | b   |\n| --- | --- |\n| This is a sentence that has more than forty columns. | c   |\n| d   | e   |\n",
        ),
        // In an item.
        ("- item\n\n  |a|bcde|\n  |-|-|\n", "- item\n\n  | a   | bcde |\n  | --- | ---- |\n"),
    ] {
        let blocks = all(typed);
        assert_eq!(render(&blocks).text, written);
        assert_eq!(read(&format!("{written}\n"), &blocks), blocks);
        assert_eq!(render(&all(written)).text, written);
    }
}

fn says(block: &mut Value, row: usize, column: usize, text: &str) {
    block["content"]["rows"][row]["cells"][column]["content"] =
        json!([{"type": "text", "text": text, "styles": {}}]);
}

/// A change of the first block, a table, in the app: the file before and after.
#[track_caller]
fn comes_down(file: &str, change: impl Fn(&mut Value), after: &str) {
    let old = all(file);
    let mut new = old.clone();
    change(&mut new[0]);
    let patched = patch(file, &old, &new);
    assert_eq!(patched, after, "{file}");
    assert_eq!(read(&patched, &new), new);
    let crlf = patch(&file.replace('\n', "\r\n"), &old, &new);
    assert_eq!(crlf, after.replace('\n', "\r\n"));
}

#[test]
fn a_table_that_was_typed_keeps_its_form() {
    // As earlier versions wrote it: nothing is written where nothing changed, and another block's change leaves it.
    let file = "| Name | Amount |\n| --- | --: |\n| Rent | 900 |\n| Food | |\n\nText\n";
    let old = all(file);
    assert_eq!(read(file, &old), old);
    assert_eq!(patch(file, &old, &old), file);
    let mut new = old.clone();
    new[1]["content"][0]["text"] = json!("Other");
    assert_eq!(patch(file, &old, &new), file.replace("Text", "Other"));
    comes_down(file, |table| says(table, 1, 1, "1000"), &file.replace("900", "1000"));
    comes_down(file, |table| says(table, 2, 1, "30"), &file.replace("Food | |", "Food | 30 |"));
    let row = |table: &mut Value| table["content"]["rows"].as_array_mut().unwrap().remove(1);
    comes_down(file, |table| drop(row(table)), &file.replace("| Rent | 900 |\n", ""));
    let more = |table: &mut Value| {
        let mut row = table["content"]["rows"][1].clone();
        row["cells"][0]["content"][0]["text"] = json!("Heat");
        table["content"]["rows"].as_array_mut().unwrap().insert(2, row);
    };
    comes_down(file, more, &file.replace("| Food", "| Heat | 900 |\n| Food"));
    // A person's own padding has room, or has not.
    let file = "Name   | Amount\n------ | ------:\nRent   |     900\n";
    comes_down(file, |table| says(table, 1, 1, "1000"), &file.replace("    900", "   1000"));
    comes_down(file, |table| says(table, 1, 0, "Heat"), &file.replace("Rent", "Heat"));
    comes_down(file, |table| says(table, 1, 0, "He"), &file.replace("Rent", "He  "));
    comes_down(file, |table| says(table, 1, 0, "Heating"), &file.replace("Rent   |", "Heating |"));
    let wide = |table: &mut Value| {
        for row in table["content"]["rows"].as_array_mut().unwrap() {
            row["cells"].as_array_mut().unwrap().pop();
        }
        table["content"]["columnWidths"].as_array_mut().unwrap().pop();
    };
    comes_down(file, wide, "| Name |\n| ---- |\n| Rent |\n");
    // In an item, in a quote, with a bar in a cell.
    let file = "|a\\|b|c|\n|-|-|\n|`d\\|e`|f|\n";
    comes_down(file, |table| says(table, 1, 1, "g|h"), &file.replace("|f|", "|g\\|h|"));
}

#[test]
fn a_table_that_espejo_wrote_stays_padded() {
    let file = "| Name | Amount |\n| ---- | -----: |\n| Rent |    900 |\n| Food |     30 |\n";
    comes_down(file, |table| says(table, 1, 1, "9"), &file.replace("900", "  9"));
    comes_down(
        file,
        |table| says(table, 1, 0, "Heating"),
        "| Name    | Amount |\n| ------- | -----: |\n| Heating |    900 |\n| Food    |     30 |\n",
    );
}

#[test]
fn comments_in_cells_stay_here() {
    let file = "| Name | Amount |\n| --- | --- |\n| Rent <!-- mine --> | 900 %%mine too%% |\n";
    for allowed in [Allowed::all(), Allowed::documented()] {
        let sent = parse(file, &[], &allowed, &mut ids());
        let json = json!(sent).to_string();
        assert!(json.contains("Rent") && json.contains("900") && !json.contains("mine"), "{json}");
        assert_eq!(parse(file, &sent, &allowed, &mut ids()), sent);
        assert_eq!(patch(file, &sent, &sent), file);
        let mut other = sent.clone();
        other.push(all("Text\n").remove(0));
        other[1]["id"] = json!("another");
        assert_eq!(patch(file, &sent, &other), format!("{file}\nText\n"));
        let gone = patch(file, &sent, &[]);
        assert_eq!(gone.matches("mine").count(), 2, "{gone}");
    }
    comes_down(file, |table| says(table, 1, 0, "Heat"), &file.replace("Rent", "Heat"));
    comes_down(file, |table| says(table, 1, 1, "9"), &file.replace("900 %%mine too%%", "9 %%mine too%%  "));
    // What was sent as text once stays text.
    let text =
        |text: &str| text.replace("<!-- ", "<!&#45;- ").replace("%%m", "%\\%m").replace("o%%", "o%\\%");
    let base = all(&text(file));
    assert!(json!(base).to_string().contains("Rent <!-- mine -->"), "{}", json!(base));
    assert_eq!(read(file, &base), base);
    // So does a table that was text.
    let documented = parse(&text(file), &[], &Allowed::documented(), &mut ids());
    let mut raw = documented.clone();
    raw[0]["content"][0]["text"] = json!(file.trim_end());
    assert_eq!(read(file, &raw), raw);
}

/// Whether the table of a page is itself after a cell was edited and the table moved, with `also` changed in the same save.
fn keeps_itself(table: &str, cell: (&str, &str), to: usize, also: Option<(&str, &str)>) -> bool {
    let texts = ["The first of the texts", "- an item of a list", "The second of the texts\n\n> A quote"];
    let page = |table: &str, at: usize, texts: &[String]| {
        let mut parts: Vec<String> = texts.to_vec();
        parts.insert(at, table.to_owned());
        parts.join("\n\n") + "\n"
    };
    let plain: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let base = all(&page(table, 0, &plain));
    assert_eq!(base[0]["type"], "table");
    let other: Vec<String> = match also {
        Some((from, to)) => plain.iter().map(|text| text.replace(from, to)).collect(),
        None => plain,
    };
    let mut next = 0;
    let text = page(&table.replacen(cell.0, cell.1, 1), to, &other);
    let back = parse(&text, &base, &Allowed::all(), &mut || {
        next += 1;
        format!("new {next}")
    });
    let moved = back.iter().find(|block| block["type"] == "table").unwrap();
    moved["id"] == base[0]["id"]
}

#[test]
fn a_table_that_moves_with_an_edited_cell_is_itself_whatever_its_size() {
    let tables = [
        "| a | b |\n| - | - |\n| 1 | 2 |",
        "| a |\n| - |\n| 1 |\n| 2 |",
        "| Name | What is to be said of it |\n| - | - |\n| Rent | is paid on the first day of the month |\n| Food | 2 |",
        "| a | b |\n| - | - |\n| ab | abc |\n| x | y |\n| - | - |",
    ];
    for table in tables {
        let cells: Vec<&str> =
            table.split(['|', '\n']).map(str::trim).filter(|cell| cell.len() > 1).collect();
        for cell in cells.into_iter().chain(["1", "2"]).filter(|cell| table.contains(cell)) {
            for to in [1, 2, 3] {
                for also in [None, Some(("first", "very first")), Some(("an item of", "no item of"))] {
                    let itself = keeps_itself(table, (cell, "7 new"), to, also);
                    assert!(itself, "{table}\n{cell} {to} {also:?}");
                }
            }
        }
    }
}
