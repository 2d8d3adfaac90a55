//! Which block of a text is which: ids through moves, splits, joins, copies and nesting, and placeholder lines.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::{Allowed, check_loadable, render};
use super::{ids, read};
use crate::markdown::with_new_ids;

fn props() -> Value {
    json!({"textColor": "default", "backgroundColor": "default", "textAlignment": "left"})
}

fn block(id: &str, kind: &str, text: &str, children: Vec<Value>) -> Value {
    let runs =
        if text.is_empty() { json!([]) } else { json!([{"type": "text", "text": text, "styles": {}}]) };
    json!({"id": id, "type": kind, "props": props(), "content": runs, "children": children})
}

fn database(id: &str) -> Value {
    json!({"id": id, "type": "database", "props": {"view": 1.0, "of": {"deep": [1, null]}}, "extra": true, "children": []})
}

fn page() -> Vec<Value> {
    vec![
        block("a", "paragraph", "The first paragraph of the page.", vec![]),
        database("db"),
        block(
            "l",
            "bulletListItem",
            "An item with things beneath",
            vec![block("m", "bulletListItem", "Beneath it", vec![]), database("inner")],
        ),
        block("z", "paragraph", "The last paragraph says goodbye.", vec![]),
    ]
}

/// Each block as `id` or `id(children)`; ids that are new as `+`.
fn shape(blocks: &[Value]) -> String {
    let one = |block: &Value| {
        let id = block["id"].as_str().unwrap();
        let id = if id.starts_with("00000000") { "+" } else { id };
        let children = shape(block["children"].as_array().unwrap());
        if children.is_empty() { id.to_owned() } else { format!("{id}({children})") }
    };
    blocks.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn all_ids(blocks: &[Value], out: &mut Vec<String>) {
    for block in blocks {
        out.push(block["id"].as_str().unwrap().to_owned());
        all_ids(block["children"].as_array().unwrap(), out);
    }
}

/// The edited text of the page reads as `want`, loads, and has no id twice.
#[track_caller]
fn edits(edit: impl Fn(String) -> String, want: &str) -> Vec<Value> {
    let base = page();
    let before = render(&base).text;
    let text = edit(before.clone());
    assert_ne!(text, before);
    let blocks = read(&text, &base);
    assert_eq!(shape(&blocks), want, "{text}");
    check_loadable(&blocks, &base, &Allowed::documented()).unwrap();
    let mut ids = Vec::new();
    all_ids(&blocks, &mut ids);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    blocks
}

const DB: &str = "<!-- block: database db -->\n\n";

#[test]
fn a_placeholder_is_moved_deleted_and_copied() {
    let moved = edits(|text| text.replace(DB, "") + "\n" + DB, "a l(m inner) z db");
    assert_eq!(moved[3], database("db"));
    edits(|text| text.replace(DB, ""), "a l(m inner) z");
    edits(
        |text| text.replace(DB, "").replace("- An item", &format!("{DB}- An item")) + "\nNew\n",
        "a db l(m inner) z +",
    );
    let copied = edits(|text| text + "\n" + DB, "a db l(m inner) z +");
    let mut copy = copied[4].clone();
    copy["id"] = json!("db");
    assert_eq!(copy, database("db"));
    edits(|text| text.replace(DB, &format!("{DB}{DB}{DB}")), "a db + + l(m inner) z");
    edits(
        |text| {
            text.replace("\n\n  <!-- block: database inner -->", "") + "\n<!-- block: database inner -->\n"
        },
        "a db l(m) z inner",
    );
    edits(|text| text.replace(DB, &format!("- A\n\n  {DB}")), "a +(db) l(m inner) z");
    // A new paragraph before it, four columns deep or more, does not turn it into code.
    edits(|text| text.replace(DB, &format!("New\n\n    {}", DB)), "a + db l(m inner) z");
    edits(
        |text| text.replace(DB, &format!("    one\n    {}\n    two\n\n", DB.trim_end())),
        "a + db + l(m inner) z",
    );
}

#[test]
fn a_placeholder_that_names_nothing_stays_in_its_file() {
    for line in ["<!-- block: database unknown -->", "<!-- block: board db -->", "<!-- a comment -->"] {
        edits(|text| format!("{text}\n{line}\n"), "a db l(m inner) z");
        edits(|text| format!("{line}\n\n{text}"), "a db l(m inner) z");
        // What was sent as a text before stays one.
        let blocks = [page(), vec![block("c", "paragraph", line, vec![])]].concat();
        let text = format!("{}\n{line}\n", render(&page()).text);
        assert_eq!(read(&text, &blocks), blocks);
    }
    let beneath = "<!-- block: database unknown -->\n\n<!-- children -->\n\nBeneath\n\n<!-- /children -->\n";
    let blocks = edits(|text| format!("{text}\n{beneath}"), "a db l(m inner) z +");
    assert_eq!(blocks[4]["content"][0]["text"], "Beneath");
}

#[test]
fn a_split_and_a_join_keep_the_id_on_one_half() {
    edits(|text| text.replace("first paragraph", "first\n\nparagraph"), "+ a db l(m inner) z");
    edits(|text| text.replace("The last", "The\n\nlast"), "a db l(m inner) + z");
    edits(|text| text.replace("says goodbye", "says\n\ngoodbye"), "a db l(m inner) z +");
    let joined = edits(
        |text| {
            text.replace(DB, "")
                .replace("of the page.\n\n- An item with things", "of the page. An item with things")
        },
        "a m inner z",
    );
    assert_eq!(
        joined[0]["content"][0]["text"],
        "The first paragraph of the page. An item with things beneath"
    );
}

#[test]
fn nesting_changes_and_ids_stay() {
    edits(|text| text.replace("  - Beneath it\n\n  <!--", "- Beneath it\n\n  <!--"), "a db l m(inner) z");
    edits(|text| text.replace("\nThe last", "\n  The last"), "a db l(m inner z)");
    edits(|text| text.replace("The first", "- The first").replace(DB, ""), "a l(m inner) z");
    edits(|text| text.replace("- An item", "1. An item"), "a db l m inner z");
    edits(
        |text| {
            text.replace("- An item", "## An item")
                .replace("  - Beneath", "- Beneath")
                .replace("  <!-- block: database inner -->\n\n", "")
        },
        "a db l m z",
    );
}

#[test]
fn a_pasted_copy_gets_new_ids_at_every_level() {
    let text = render(&page()).text;
    let blocks = edits(|before| format!("{before}\n{text}"), "a db l(m inner) z + + +(+ +) +");
    let mut kept = vec![blocks[5].clone(), blocks[6]["children"][1].clone()];
    kept[0]["id"] = json!("db");
    kept[1]["id"] = json!("inner");
    assert_eq!(kept, [database("db"), database("inner")]);
}

#[test]
fn a_copy_has_new_ids_and_nothing_else_new() {
    let mut base = page();
    base.push(json!({"type": "paragraph", "content": [], "children": "odd"}));
    base.push(json!("not a block"));
    let copy = with_new_ids(&base, &mut ids());
    assert_eq!(shape(&copy[..4]), "+ + +(+ +) +");
    assert_eq!(copy[4..], base[4..]);
    fn same(a: &[Value], b: &[Value]) {
        for (a, b) in a.iter().zip(b) {
            let (mut x, mut y) = (a.clone(), b.clone());
            for block in [&mut x, &mut y] {
                block["id"] = json!("");
                block["children"] = json!([]);
            }
            assert_eq!(x, y);
            same(a["children"].as_array().unwrap(), b["children"].as_array().unwrap());
        }
    }
    same(&copy[..4], &base[..4]);
}

/// The body is refused with these words in the reason.
#[track_caller]
fn refuses(change: impl Fn(&mut Vec<Value>), why: &str) {
    let base = page();
    let mut body = base.clone();
    change(&mut body);
    let error = check_loadable(&body, &base, &Allowed::documented()).unwrap_err();
    assert!(error.contains(why), "{error}");
}

#[test]
fn what_would_not_load_is_refused() {
    check_loadable(&page(), &page(), &Allowed::documented()).unwrap();
    check_loadable(&[], &page(), &Allowed::documented()).unwrap();
    refuses(|body| body.push(block("new", "callout", "x", vec![])), "callout");
    refuses(|body| body.push(block("a", "paragraph", "x", vec![])), "two blocks have the id \"a\"");
    refuses(|body| body.push(block("m", "paragraph", "x", vec![])), "two blocks have the id \"m\"");
    refuses(|body| body.push(database("db")), "two blocks have the id \"db\"");
    refuses(|body| body.push(block("", "paragraph", "x", vec![])), "no id");
    refuses(|body| body.push(json!("text")), "not an object");
    for (key, why) in [
        ("id", "no id"),
        ("type", "no type"),
        ("props", "no props"),
        ("content", "no content"),
        ("children", "no children"),
    ] {
        refuses(
            |body| {
                let mut new = block("new", "paragraph", "x", vec![]);
                new.as_object_mut().unwrap().shift_remove(key);
                body.push(new);
            },
            why,
        );
        // Beneath another block as well, and when a block of the base is edited so.
        refuses(
            |body| {
                let mut new = block("new", "paragraph", "x", vec![]);
                new.as_object_mut().unwrap().shift_remove(key);
                body[3]["children"].as_array_mut().unwrap().push(new);
            },
            why,
        );
    }
    let runs = |content: Value| move |body: &mut Vec<Value>| body[0]["content"] = content.clone();
    refuses(runs(json!([{"type": "text", "text": "x", "styles": {"code": true, "bold": true}}])), "code");
    refuses(runs(json!([{"type": "text", "text": "x", "styles": {"glow": true}}])), "glow");
    refuses(runs(json!([{"type": "text", "text": "x"}])), "no styles");
    refuses(runs(json!([{"type": "text", "styles": {}}])), "no text");
    refuses(runs(json!([{"text": "x", "styles": {}}])), "no type");
    refuses(runs(json!([{"type": "mention", "props": {}}])), "mention");
    refuses(runs(json!([{"type": "link", "href": "https://a.example", "content": []}])), "link");
    refuses(runs(json!("text")), "no content array");
    refuses(|body| body[2]["children"] = json!({}), "no children");
}

#[test]
fn what_the_base_has_may_stay_however_odd() {
    let mut base = page();
    base.push(json!({"id": "odd", "type": "paragraph"}));
    base.push(json!({"id": "both", "type": "paragraph", "props": {}, "children": [],
        "content": [{"type": "text", "text": "x", "styles": {"code": true, "bold": true}}]}));
    base.push(block("twin", "paragraph", "one", vec![]));
    base.push(block("twin", "paragraph", "two", vec![]));
    let mut body = base.clone();
    body.swap(0, 3);
    body[0]["content"][0]["text"] = json!("edited");
    check_loadable(&body, &base, &Allowed::documented()).unwrap();
}

#[test]
fn a_file_without_its_last_line_end_says_the_same() {
    let mut to_do = block("t", "checkListItem", "", vec![]);
    to_do["props"]["checked"] = json!(false);
    for last in [to_do, block("b", "bulletListItem", "", vec![]), block("q", "quote", "]", vec![])] {
        let base = vec![block("a", "paragraph", "A", vec![]), last];
        assert_eq!(read(render(&base).text.trim_end(), &base), base);
    }
}

#[test]
fn columns_stand_in_their_list_and_nothing_beside_them() {
    let block = |id: &str, kind: &str, children: Vec<Value>| {
        let content = if kind == "paragraph" { json!([]) } else { Value::Null };
        let mut block =
            json!({"id": id, "type": kind, "props": {}, "content": content, "children": children});
        if content.is_null() {
            block.as_object_mut().unwrap().shift_remove("content");
        }
        block
    };
    let text = |id: &str| block(id, "paragraph", Vec::new());
    let column = |id: &str, inside: &[&str]| block(id, "column", inside.iter().map(|id| text(id)).collect());
    let list = |columns: Vec<Value>| vec![block("list", "columnList", columns)];
    let base = list(vec![column("one", &["a"]), column("two", &["b"])]);
    let check = |body: &[Value], base: &[Value], expected: Option<&str>| {
        let told = check_loadable(body, base, &Allowed::documented()).err();
        assert_eq!(told.as_deref().map(|told| told.split(';').next().unwrap()), expected);
    };
    check(&list(vec![column("two", &["b", "c"]), column("one", &["a"])]), &base, None);
    let beside = list(vec![column("one", &["a"]), text("c"), column("two", &["b"])]);
    check(&beside, &base, Some("a block is beside the columns of a page"));
    check(&[text("c"), column("one", &["a"])], &base, Some("a column is outside its column list"));
    // What the service has itself goes along as it is.
    check(&beside, &beside, None);
    // What is written beside columns goes into the one before it, or the first.
    let text = render(&base).text;
    let written = |at: Option<usize>| {
        let at = at.unwrap();
        let edited = format!("{}Typed.\n\n{}", &text[..at], &text[at..]);
        let blocks = read(&edited, &base);
        check(&blocks, &base, None);
        assert_eq!(read(&edited, &blocks), blocks, "{edited}");
        let inside = |column: &Value| column["children"].as_array().unwrap().len();
        blocks[0]["children"].as_array().unwrap().iter().map(inside).collect::<Vec<_>>()
    };
    assert_eq!(written(text.find("<!-- block: column one -->")), [2, 1]);
    assert_eq!(written(text.find("<!-- block: column two -->")), [2, 1]);
    assert_eq!(written(text.rfind("<!-- /children -->")), [1, 2]);
}
