//! Generated pages: any tree of documented blocks, with text that likes to be taken for something else.

use proptest::prelude::*;
use serde_json::{Value, json};

/// Text of a run.
pub(super) fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zñé]{1,6}",
        2 => Just(" ".to_owned()),
        1 => Just("  ".to_owned()),
        2 => prop::sample::select(vec![
            "*", "**", "_", "__", "~", "~~", "`", "``", "```", "[", "]", "(", ")", "](", "![", "<", ">", "<u>", "</u>",
            "<br>", "<!--", "-->", "<!-- children -->", "&", "&amp;", "&#10;", "\\", "\n", "\n\n", "#", "##", "-", "+", "1.",
            "2)", "---", "===", "|", "|-|", ":-:", "\t", "\u{a0}", "\u{3000}", "。", "中文", "🙂", "\u{200b}", "!", ".", "[x] ",
            "[ ] ", "[a]: /b", "https://a.example", "\u{301}", "«", "\r", "$", "^", "@", ":", "=", "~~~", "    ", "\u{feff}", "0",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn styles() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => Just(json!({})),
        1 => Just(json!({"code": true})),
        3 => prop::collection::vec(any::<bool>(), 4).prop_map(|on| {
            let keys = ["bold", "italic", "underline", "strike"];
            Value::Object(keys.iter().zip(on).filter(|(_, on)| *on).map(|(key, _)| ((*key).to_owned(), json!(true))).collect())
        }),
    ]
}

fn runs() -> impl Strategy<Value = Value> {
    let run =
        (text(), styles()).prop_map(|(text, styles)| json!({"type": "text", "text": text, "styles": styles}));
    prop::collection::vec(run, 0..4).prop_map(Value::Array)
}

fn kind() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        3 => Just(("paragraph", json!({}))),
        1 => (1..=6).prop_map(|level| ("heading", json!({"level": level}))),
        2 => Just(("bulletListItem", json!({}))),
        2 => Just(("numberedListItem", json!({}))),
        1 => any::<bool>().prop_map(|on| ("checkListItem", json!({"checked": on}))),
        1 => Just(("toggleListItem", json!({}))),
        1 => Just(("quote", json!({}))),
    ]
}

fn block(children: impl Strategy<Value = Vec<Value>>) -> impl Strategy<Value = Value> {
    (kind(), runs(), children, any::<u32>()).prop_map(|((kind, own), runs, children, id)| {
        let mut props = json!({"textColor": "default", "backgroundColor": "default", "textAlignment": "left"});
        for (key, value) in own.as_object().unwrap() {
            props[key] = value.clone();
        }
        json!({"id": format!("{id:08x}"), "type": kind, "props": props, "content": runs, "children": children})
    })
}

/// A page of documented blocks with default props.
pub(super) fn page() -> impl Strategy<Value = Vec<Value>> {
    let leaf = block(Just(Vec::new()));
    let tree = leaf.prop_recursive(3, 12, 3, |inner| block(prop::collection::vec(inner, 0..3)));
    prop::collection::vec(tree, 0..5)
}
