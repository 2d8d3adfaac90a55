//! What people's hands and editors do to files that is easily taken for something else.

use serde_json::{Value, json};

use super::super::{Allowed, add_stand_ins, parse, patch, render};
use super::tables::table;
use super::{ids, read};

fn block(id: &str, kind: &str, text: &str) -> Value {
    let runs = json!([{"type": "text", "text": text, "styles": {}}]);
    let props = json!({"textColor": "default", "backgroundColor": "default", "textAlignment": "left"});
    json!({"id": id, "type": kind, "props": props, "content": runs, "children": []})
}

/// Each block as `id type text`, `+` for a new id.
fn shape(blocks: &[Value]) -> Vec<String> {
    let one = |block: &Value| {
        let id = block["id"].as_str().unwrap();
        let id = if id.starts_with("00000000") { "+" } else { id };
        let text = block["content"][0]["text"].as_str().unwrap_or_default();
        format!("{id} {} {text}", block["type"].as_str().unwrap())
    };
    blocks.iter().map(one).collect()
}

fn text_of(block: &Value) -> &str {
    block["content"][0]["text"].as_str().unwrap()
}

#[test]
fn the_items_of_a_numbered_list_may_change_places() {
    let item = |id: &str, text: &str| block(id, "numberedListItem", text);
    let base = vec![item("a", "one thing"), item("b", "two things"), item("c", "three things")];
    assert_eq!(render(&base).text, "1. one thing\n2. two things\n3. three things\n");
    let check = |text: &str, expected: &[&str]| assert_eq!(shape(&read(text, &base)), expected, "{text:?}");
    let (a, b, c) =
        ("a numberedListItem one thing", "b numberedListItem two things", "c numberedListItem three things");
    check("2. two things\n1. one thing\n3. three things\n", &[b, a, c]);
    check("2. two things\n3. three things\n", &[b, c]);
    check("3. three things\n", &[c]);
    check("2. two new things\n3. three things\n", &["b numberedListItem two new things", c]);
    check("1. one thing\n\n\n2. two things\n3. three things\n", &[a, "+ paragraph ", b, c]);
    let todo = "+ checkListItem also";
    check("1. one thing\n2. [ ] also\n3. two things\n4. three things\n", &[a, todo, b, c]);
}

#[test]
fn a_list_that_begins_above_1_is_a_list_and_a_year_is_a_sentence() {
    let check = |text: &str, expected: &[&str]| assert_eq!(shape(&read(text, &[])), expected, "{text:?}");
    check("3. one\n4. two\n", &["+ numberedListItem one", "+ numberedListItem two"]);
    check("2) one\n3) two\n", &["+ numberedListItem one", "+ numberedListItem two"]);
    check("007. one\n", &["+ numberedListItem one"]);
    check("1986. What a year\n", &["+ paragraph 1986. What a year"]);
    check("1) one\n2) two\n", &["+ numberedListItem one", "+ numberedListItem two"]);
    // What was sent as text once is that text still when the file is read again, with another line.
    let base = vec![block("a", "paragraph", "3. one")];
    assert_eq!(shape(&read("3. one\n4. two\n", &base)), ["a paragraph 3. one", "+ paragraph 4. two"]);
}

#[test]
fn the_indent_of_code_is_no_formatting() {
    let code = |text: &str| {
        let content = json!([{"type": "text", "text": text, "styles": {}}]);
        vec![
            json!({"id": "c", "type": "codeBlock", "props": {"language": "yaml"}, "content": content, "children": []}),
        ]
    };
    let fence = |text: &str| vec![block("c", "paragraph", &format!("```yaml\n{text}\n```"))];
    for page in [&code as &dyn Fn(&str) -> Vec<Value>, &fence] {
        let (wide, small) = (page("a:\n        b:  1"), page("a:\n    b: 1"));
        let file = "```yaml\na:\n        b:  1\n```\n";
        let edited = file.replace("        b:  1", "    b: 1");
        assert_eq!(text_of(&read(&edited, &wide)[0]), text_of(&small[0]), "it goes up");
        let shown = patch(file, &wide, &small);
        assert_eq!(text_of(&read(&shown, &small)[0]), text_of(&small[0]));
        assert_ne!(shown, file, "and comes down");
    }
}

#[test]
fn a_row_with_more_cells_than_columns_is_text_with_all_its_words() {
    let allowed = Allowed::all();
    let text = "| Flag | Meaning |\n| --- | --- |\n| `-a|-b` | choose |\n";
    let blocks = parse(text, &[], &allowed, &mut ids());
    assert_eq!(shape(&blocks), [format!("+ paragraph {}", text.trim_end())]);
    assert_eq!(parse(text, &blocks, &allowed, &mut ids()), blocks);
    for whole in [
        "| a | b |\n| --- | --- |\n| c | d |  \n",
        "| a | b\n| --- | ---\n| c | d\n",
        "a | b\n-|-\nc | d |\n",
    ] {
        assert_eq!(parse(whole, &[], &allowed, &mut ids())[0]["type"], "table", "{whole:?}");
    }
}

#[test]
fn colours_of_a_row_stay_with_it_while_another_one_goes_or_comes() {
    let mut base = table("h1 h2 / a1 a2 / b1 b2");
    for (row, colour) in [(1, "green"), (2, "blue")] {
        for cell in base[0]["content"]["rows"][row]["cells"].as_array_mut().unwrap() {
            cell["props"]["backgroundColor"] = json!(colour);
        }
    }
    let colours = |text: &str| {
        let read = read(text, &base);
        let rows = read[0]["content"]["rows"].as_array().unwrap().clone();
        let first = |row: &Value| row["cells"][0]["props"]["backgroundColor"].as_str().unwrap().to_owned();
        rows.iter().map(first).collect::<Vec<_>>()
    };
    let shown = render(&base).text;
    assert_eq!(colours(&shown), ["red", "green", "blue"]);
    let gone: String =
        shown.lines().filter(|line| !line.contains("a1")).map(|line| format!("{line}\n")).collect();
    assert_eq!(colours(&gone.replace("b2", "b2 and more")), ["red", "blue"]);
    let come = shown.replace("| a1  | a2  |", "| x1 | x2 |\n| a1 | a2 and more |");
    assert_eq!(colours(&come), ["red", "default", "green", "blue"]);
}

#[test]
fn a_block_that_moved_and_was_edited_is_itself_whatever_came_into_its_place() {
    let base = vec![
        block("a", "paragraph", "The first paragraph stays."),
        block("b", "paragraph", "Nobody knew of this again today."),
        block("c", "paragraph", "The last paragraph stays as well."),
    ];
    let text = "The first paragraph stays.\n\nSomething else entirely\n\nThe last paragraph stays as well.\n\n\
                Nobody knew of this new thing today.\n";
    let expected = [
        "a paragraph The first paragraph stays.",
        "+ paragraph Something else entirely",
        "c paragraph The last paragraph stays as well.",
        "b paragraph Nobody knew of this new thing today.",
    ];
    assert_eq!(shape(&read(text, &base)), expected);
}

#[test]
fn a_block_that_moved_and_was_edited_beside_one_that_is_alike_is_itself() {
    let base = vec![
        block("a", "paragraph", "Minutes of Monday in short"),
        block("b", "paragraph", "What stays as it is"),
        block("c", "paragraph", "Minutes of Tuesday in short"),
        block("d", "paragraph", "The end of it"),
    ];
    let text = "Minutes of last Monday in short\n\nMinutes of Tuesday in very short\n\nWhat stays as it is\n\n\
                Something new\n\nThe end of it\n";
    let expected = [
        "a paragraph Minutes of last Monday in short",
        "c paragraph Minutes of Tuesday in very short",
        "b paragraph What stays as it is",
        "+ paragraph Something new",
        "d paragraph The end of it",
    ];
    assert_eq!(shape(&read(text, &base)), expected);
}

#[test]
fn a_new_block_has_the_settings_of_its_kind_and_nobody_else_s_words() {
    let base = vec![
        json!({"id": "c", "type": "codeBlock", "props": {"language": "rust", "theme": "dark", "title": "main.rs", "wrap": true},
            "content": [], "children": []}),
        block("b", "paragraph", "Text"),
    ];
    let text = format!("{}\n```python\nx\n```\n", render(&base).text);
    let blocks = read(&text, &base);
    let expected = json!({"language": "python", "theme": "dark", "title": "", "wrap": true});
    assert_eq!(blocks[2]["props"], expected);
}

#[test]
fn a_picture_over_the_line_of_a_film_is_a_picture() {
    let film = json!({"id": "v", "type": "video", "props": {"name": "clip", "url": "https://h/a.mp4", "caption": ""}, "children": []});
    let image = json!({"id": "i", "type": "image", "props": {"name": "", "url": "https://h/i.png", "caption": ""}, "children": []});
    let base = vec![film, image];
    let text = render(&base).text;
    let blocks = read(&text.replace("![clip](https://h/a.mp4)", "![photo](https://h/b.png)"), &base);
    assert_eq!((blocks[0]["type"].as_str(), blocks[1]["id"].as_str()), (Some("image"), Some("i")));
    let blocks = read(&text.replace("a.mp4", "b.webm"), &base);
    assert_eq!(blocks[0]["id"], "v", "another film is the same block");
}

#[test]
fn an_address_in_angle_brackets_leads_to_a_mailbox() {
    let blocks = parse("Ask <ana@acme.example> now\n", &[], &Allowed::all(), &mut ids());
    assert_eq!(blocks[0]["content"][1]["href"], "mailto:ana@acme.example");
    let blocks = parse("See <https://acme.example> now\n", &[], &Allowed::all(), &mut ids());
    assert_eq!(blocks[0]["content"][1]["href"], "https://acme.example");
}

#[test]
fn what_is_pasted_from_another_page_moves_no_empty_paragraph() {
    let mut empty = block("e", "paragraph", "");
    empty["content"] = json!([]);
    let database = json!({"id": "db", "type": "database", "props": {}, "children": []});
    let base = vec![block("a", "paragraph", "Text"), empty];
    let mut with = base.clone();
    add_stand_ins(&mut with, [database]);
    let ids_of = |blocks: &[Value]| blocks.iter().map(|block| block["id"].clone()).collect::<Vec<_>>();
    let blocks = read("Text\n\n<!-- block: database db -->\n", &with);
    assert_eq!(ids_of(&blocks), ["a", "db", "e"]);
    let mut same = base.clone();
    add_stand_ins(&mut same, []);
    assert_eq!(same, base);
}
