//! A change of a long text is made around it alone, and comes out as in the whole.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::super::parse::stands_for;
use super::super::patch::{Blocks, patch_until, patch_window};
use super::super::{Allowed, parse, patch, patched};
use super::ids;
use super::suite::documents;
use crate::model::{BodyJson, LONG_BODY};

/// What the parts around the change come to; `None` where the whole text is wanted.
fn near(text: &str, old: &[Value], new: &[Value]) -> Option<String> {
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let tails = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = tails.take_while(|(one, other)| one == other).count();
    let [was, now] = [old, new].map(|all| move |range| all.get(range).map(Cow::Borrowed));
    let both = (&Blocks { count: old.len(), some: &was }, &Blocks { count: new.len(), some: &now });
    patch_window(text, both, (head, tail), None)
}

fn whole(text: &str, old: &[Value], new: &[Value]) -> String {
    patch_until(text, old, new, None, false, |result| stands_for(result, new))
}

fn paragraph(text: &str) -> Value {
    json!({"id": "new", "type": "paragraph", "props": {}, "content": [{"type": "text", "text": text, "styles": {}}], "children": []})
}

/// What the app may do to a block.
fn changes(old: &[Value], at: usize) -> Vec<(&'static str, Vec<Value>)> {
    let with = |act: &dyn Fn(&mut Vec<Value>)| {
        let mut new = old.to_vec();
        act(&mut new);
        new
    };
    let run = || json!({"type": "text", "text": " palabra", "styles": {}});
    vec![
        (
            "a word",
            with(&|new| new[at]["content"].as_array_mut().into_iter().for_each(|runs| runs.push(run()))),
        ),
        ("gone", with(&|new| drop(new.remove(at)))),
        ("one before", with(&|new| new.insert(at, paragraph("Una [nota] <!-- abierta")))),
        ("a fence before", with(&|new| new.insert(at, paragraph("```")))),
        ("two gone", with(&|new| drop(new.drain(at..(at + 2).min(old.len()))))),
        ("an item", with(&|new| new[at]["type"] = json!("bulletListItem"))),
        (
            "moved to the end",
            with(&|new| {
                let block = new.remove(at);
                new.push(block);
            }),
        ),
    ]
}

#[test]
fn a_change_is_made_around_it_as_in_the_whole() {
    let (mut done, mut wrong) = (0, Vec::new());
    for part in documents().chunks(3) {
        let name = &part[0].0;
        let text = part.iter().map(|(_, text)| format!("{}\n\n", text.trim())).collect::<String>();
        for allowed in [Allowed::documented(), Allowed::all()] {
            let old = parse(&text, &[], &allowed, &mut ids());
            for at in (0..old.len()).step_by(3) {
                for (change, new) in changes(&old, at) {
                    let Some(result) = near(&text, &old, &new) else { continue };
                    done += 1;
                    let other = whole(&text, &old, &new);
                    if !stands_for(&result, &new) || result != other {
                        wrong.push(format!("{name} {at}, {change}: {result}\n--\n{other}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {done}:\n{}", wrong.len(), wrong.join("\n========\n"));
    assert!(done > 1_000, "{done}");
}

#[test]
fn a_long_text_is_spliced_around_a_change_at_any_place() {
    let allowed = Allowed::all();
    let part = "# Parte\n\nTexto con [a], $a_{i}$ y\nmás <!-- aquí -->.\n\n* uno\n* dos\n\n```sh\n# no\n\nes texto\n```\n\n";
    let text = format!("{}[a]: https://example.org 'T'\n", part.repeat(1_000));
    let old = parse(&text, &[], &allowed, &mut ids());
    for at in [1, 2_001, 4_991] {
        let mut new = old.clone();
        new[at]["content"]
            .as_array_mut()
            .unwrap()
            .push(json!({"type": "text", "text": " más", "styles": {}}));
        let result = near(&text, &old, &new).unwrap();
        let differ = text.lines().zip(result.lines()).filter(|(one, other)| one != other).count();
        assert!(differ == 1 && result.len() == text.len() + " más".len(), "{at}: {differ} lines");
        assert!(patch(&text, &old, &new) == result && stands_for(&result, &new), "{at}");
        let [from, to] = [&old, &new].map(|blocks| BodyJson::of(blocks));
        assert!(from.as_str().len() > LONG_BODY);
        assert!(patched(&text, &from, &to).unwrap() == result, "{at}");
    }
}
