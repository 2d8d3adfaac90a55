//! What an edit keeps besides the words: each case is a page, its file as a person left it, what is sent, another machine's file,
//! and what `status` says.

use serde_json::{Value, json};

use super::super::{Allowed, check_loadable, parse, patch_for, render_for, told};
use super::{ids, tables};

/// A page, and its file after an edit.
struct Edit<'a> {
    page: Vec<Value>,
    file: &'a str,
    /// The other machine's file, which was as espejo wrote it.
    other: &'a str,
}

/// Checks an edit in a workspace where there is everything; what is sent.
#[track_caller]
fn sent(edit: &Edit<'_>) -> Vec<Value> {
    let (all, page) = (Allowed::all(), &edit.page);
    let mut next = 0;
    let mut new_id = || {
        next += 1;
        format!("new {next}")
    };
    let sent = parse(edit.file, page, &all, &mut new_id);
    check_loadable(&sent, page, &all).unwrap();
    assert_eq!(parse(edit.file, &sent, &all, &mut ids()), sent, "silent afterwards");
    assert_eq!(patch_for(edit.file, &sent, &sent, &all), edit.file, "the file stays");
    let other = patch_for(&render_for(page, &all).text, page, &sent, &all);
    assert_eq!(other, edit.other, "the other machine's file");
    assert_eq!(parse(&other, &sent, &all, &mut ids()), sent, "silent there as well");
    assert_eq!(told(edit.file, &sent), [], "what status says");
    assert_eq!(told(&other, &sent), [], "what status says there");
    sent
}

fn block(id: &str, kind: &str, text: &str, colour: &str) -> Value {
    json!({"id": id, "type": kind, "props": {"textColor": "default", "backgroundColor": colour, "textAlignment": "left"},
        "content": [{"type": "text", "text": text, "styles": {}}], "children": []})
}

/// Id, background and text.
fn short(block: &Value) -> String {
    let text: String =
        block["content"].as_array().unwrap().iter().map(|run| run["text"].as_str().unwrap()).collect();
    let of = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    format!("{} {} {text}", of(&block["id"]), of(&block["props"]["backgroundColor"]))
}

#[test]
fn a_table_that_moves_with_an_edited_cell_keeps_its_widths_and_colours() {
    let mut page = tables::table("Item Cost / Rent 900");
    page.push(block("a", "paragraph", "Text below it", "default"));
    let file = "Text below it\n\n| Item | Cost |\n| ---- | ---- |\n| Rent | 1000 |\n";
    let mut want = page.clone();
    want[0]["content"]["rows"][1]["cells"][1]["content"][0]["text"] = json!("1000");
    want.swap(0, 1);
    let sent = sent(&Edit { page, file, other: file });
    assert_eq!(sent, want);
    assert_eq!(sent[1]["content"]["columnWidths"], json!([100, 101]));
    assert_eq!(sent[1]["content"]["rows"][1]["cells"][1]["props"]["backgroundColor"], "red");
}

#[test]
fn what_is_joined_and_what_is_split_keep_their_colours() {
    let mut item = block("a", "checkListItem", "Call Ana", "blue");
    item["props"]["checked"] = json!(true);
    let rest = "about the very long plan that nobody has read so far";
    let page = vec![item, block("b", "paragraph", rest, "default")];
    let file = format!("- [x] Call Ana {rest}\n");
    let back = sent(&Edit { page, file: &file, other: &file });
    assert_eq!(back.iter().map(short).collect::<Vec<_>>(), [format!("a blue Call Ana {rest}")]);
    assert_eq!(back[0]["props"]["checked"], true);

    let page = vec![block("a", "paragraph", "One sentence here. Another there.", "red")];
    let file = "One sentence here.\n\nAnother there.\n";
    let back = sent(&Edit { page, file, other: file });
    assert_eq!(
        back.iter().map(short).collect::<Vec<_>>(),
        ["a red One sentence here.", "new 1 red Another there."]
    );
}

#[test]
fn what_is_made_without_a_page_before_is_whole() {
    let made = |file: &str, other: &str| sent(&Edit { page: Vec::new(), file, other });
    // A titled shortcut is a link as the full form is.
    let back = made("[a]\n\n[a]: https://a.example 'b'\n", "[a](https://a.example)\n");
    assert_eq!(back[0]["content"][0]["href"], "https://a.example");
    // A bare CR ends a line.
    let back = made(
        "One\r<!-- children -->\r\rTwo\r\r<!-- /children -->\r\rThree\r",
        "One\n\n<!-- children -->\n\nTwo\n\n<!-- /children -->\n\nThree\n",
    );
    assert_eq!((back.len(), back[0]["children"].as_array().unwrap().len()), (2, 1));
    // A bar in a cell gains no backslash.
    let table = "| a    |\n| ---- |\n| c\\|d |\n";
    let back = made(table, table);
    assert_eq!(back[0]["content"]["rows"][1]["cells"][0]["content"][0]["text"], "c|d");
    // A quote has what the API says that it has.
    let back = made("> a\n", "> a\n");
    assert_eq!(back[0]["props"]["textAlignment"], "left");
}
