//! The laws of canvas files: there and back, only what changed, and never a word lost.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::model::{Elements, Surface, id_of};

fn element(id: &str, kind: &str, content: &str) -> Value {
    json!({ "id": id, "whiteboard_id": "b", "type": kind, "x": 10.4, "y": -20.5, "width": 200, "height": 99.9,
        "content": content, "style": { "fontSize": 18.0 }, "z_index": 0 })
}

fn some() -> Elements {
    let mut ellipse = element("e3", "ellipse", "three");
    ellipse["style"] = json!({ "color": "rgba(255, 0, 0, 0.5)", "opacity": 0.50 });
    vec![
        element("e1", "sticky", "one"),
        element("e2", "text", "two"),
        ellipse,
        element("e4", "media", "a.png"),
    ]
}

fn local(text: &str, base: &[Value]) -> Local {
    read(text, Surface::Board, base, &Aliases::new(), &Origins::new()).unwrap()
}

fn edited(edit: impl FnOnce(&mut Vec<Value>)) -> String {
    let mut canvas: Value = serde_json::from_str(&render(&some())).unwrap();
    edit(canvas["nodes"].as_array_mut().unwrap());
    canvas.to_string()
}

#[test]
fn a_written_file_says_nothing_new() {
    let clean = local(&render(&some()), &some());
    assert!(clean.is_clean(), "{clean:?}");
    assert_eq!(clean.order, ["e1", "e2", "e3", "e4"]);
    assert!(local(&render(&[]), &[]).is_clean());
    for empty in ["", " \n", "{}", "{\"nodes\":null}"] {
        assert!(local(empty, &[]).is_clean(), "{empty:?}");
    }
}

#[test]
fn a_byte_order_mark_says_nothing_and_stays() {
    let text = format!("\u{feff}{}", render(&some()));
    assert!(local(&text, &some()).is_clean());
    assert_eq!(patch(&text, &some(), &some(), &Aliases::new()).unwrap(), text);
    let fewer = patch(&text, &some(), &some()[..2], &Aliases::new()).unwrap();
    assert!(fewer.starts_with('\u{feff}') && local(&fewer, &some()[..2]).is_clean(), "{fewer}");
    assert!(local("\u{feff}\r\n", &[]).is_clean() && is_blank("\u{feff}"));
}

#[test]
fn changed_fields_are_found_and_no_others() {
    #[track_caller]
    fn check(edit: impl FnOnce(&mut Vec<Value>), id: &str, expected: Value) {
        let found = local(&edited(edit), &some());
        let changes: Vec<(&String, Value)> =
            found.changed.iter().map(|(id, change)| (id, Value::Object(change.fields.clone()))).collect();
        assert_eq!(changes, [(&id.to_owned(), expected)], "{found:?}");
        assert!(found.new.is_empty() && found.gone.is_empty() && found.put_back.is_empty(), "{found:?}");
    }
    check(|n| n[0]["text"] = json!("uno"), "e1", json!({ "content": "uno" }));
    check(|n| n[0]["x"] = json!(11), "e1", json!({ "x": 11 }));
    check(|n| n[0]["x"] = json!(10.75), "e1", json!({ "x": 10.75 }));
    check(|n| n[3]["width"] = json!(5), "e4", json!({ "width": 5 }));
    check(|n| n[0]["color"] = json!("#BBF7D0"), "e1", json!({ "style": { "color": "#bbf7d0" } }));
    check(|n| n[2]["color"] = json!("1"), "e3", json!({ "style": { "color": "#fecaca" } }));
    check(|n| n[1]["color"] = json!("6"), "e2", json!({ "style": { "color": "#ddd6fe" } }));
    check(
        |n| n[1]["espejo"] = json!({ "type": "text", "style": { "fontSize": 18.0, "bold": true } }),
        "e2",
        json!({ "style": { "bold": true } }),
    );
}

#[test]
fn a_geometry_that_was_rounded_is_no_move() {
    for number in [json!(10), json!(10.0), json!(10.4), json!(10.49), json!(9.5)] {
        assert!(local(&edited(|n| n[0]["x"] = number.clone()), &some()).is_clean(), "{number}");
    }
    for number in [json!(-21), json!(-20.5), json!(-20.6)] {
        assert!(local(&edited(|n| n[0]["y"] = number.clone()), &some()).is_clean(), "{number}");
    }
}

#[test]
fn new_nodes_are_what_they_say_and_the_rest_stays_in_the_file() {
    let node = |more: Value| {
        let mut node =
            json!({ "id": "n", "type": "text", "text": "t", "x": 0, "y": 1, "width": 2, "height": 3 });
        for (key, value) in more.as_object().unwrap() {
            node[key.as_str()] = value.clone();
        }
        json!({ "nodes": [node] }).to_string()
    };
    #[track_caller]
    fn check(surface: Surface, text: &str, kind: &str, style: Option<Value>) {
        let found = read(text, surface, &[], &Aliases::new(), &Origins::new()).unwrap();
        let (_, fields) = &found.new[0];
        assert_eq!((fields["type"].as_str(), fields.get("style").cloned()), (Some(kind), style), "{text}");
    }
    check(Surface::Board, &node(json!({})), "sticky", None);
    check(Surface::Board, &node(json!({ "color": "2" })), "sticky", Some(json!({ "color": "#fed7aa" })));
    check(Surface::Slide, &node(json!({})), "text", None);
    check(
        Surface::Slide,
        &node(json!({ "color": "#abc" })),
        "rectangle",
        Some(json!({ "color": "#aabbcc" })),
    );
    check(Surface::Board, &node(json!({ "espejo": { "type": "ellipse" } })), "ellipse", None);
    let exact = json!({ "color": "#ff0000", "espejo": { "type": "text", "style": { "color": "red" } } });
    check(Surface::Board, &node(exact), "text", Some(json!({ "color": "red" })));
    for kind in ["file", "link", "group"] {
        let found = local(&node(json!({ "type": kind })), &[]);
        assert_eq!((found.new.len(), found.strays), (0, 1), "{kind}");
    }
    assert!(
        read(
            &node(json!({ "espejo": { "type": "sticky" } })),
            Surface::Slide,
            &[],
            &Aliases::new(),
            &Origins::new()
        )
        .is_err()
    );
}

#[test]
fn a_node_copied_with_its_id_is_a_new_one_and_is_named_once() {
    let text = edited(|nodes| {
        let mut twin = nodes[0].clone();
        twin["text"] = json!("twin");
        nodes.push(twin);
    });
    let found = local(&text, &some());
    assert_eq!(found.new[0].0, "e1 #2");
    let names = Aliases::from([("e1 #2".to_owned(), "e9".to_owned())]);
    let mut all = some();
    all.push(element("e9", "sticky", "twin"));
    let out = patch(&text, &all, &all, &names).unwrap();
    assert!(read(&out, Surface::Board, &all, &names, &Origins::new()).unwrap().is_clean(), "{out}");
    assert_eq!(out.matches("\"e1\"").count(), 1, "{out}");
}

#[test]
fn a_copied_node_is_of_the_kind_and_style_that_it_was_copied_from() {
    let mut all = some();
    all[2]["style"]["shadow"] = json!("the service ignores it");
    let origins: Origins = all.iter().map(|element| (id_of(element).to_owned(), element.clone())).collect();
    let made = |text: &str, surface: Surface| read(text, surface, &[], &Aliases::new(), &origins).unwrap();
    let found = made(&render(&all), Surface::Board);
    assert_eq!(found.new.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["e1", "e2", "e3"]);
    for ((_, fields), from) in found.new.iter().zip(some()) {
        assert_eq!(*fields, creation(&from), "all of it, the fractions too");
    }
    assert_eq!(found.copies, ["media"]);

    // What the copy says otherwise is its own.
    let text = edited(|nodes| {
        nodes[0]["x"] = json!(7);
        nodes[1]["text"] = json!("zwei");
        nodes[2]["color"] = json!("4");
        nodes[2]["espejo"] = json!({ "type": "rectangle", "style": { "bold": true } });
    });
    let found = made(&text, Surface::Board);
    assert_eq!((&found.new[0].1["x"], &found.new[0].1["y"]), (&json!(7), &json!(-20.5)));
    assert_eq!((&found.new[1].1["type"], &found.new[1].1["content"]), (&json!("text"), &json!("zwei")));
    let style = json!({ "opacity": 0.50, "bold": true, "color": "#bbf7d0" });
    assert_eq!((&found.new[2].1["type"], &found.new[2].1["style"]), (&json!("rectangle"), &style));

    // Slides have no sticky notes: what has words is what a new node is there.
    let found = made(&render(&all), Surface::Slide);
    let kinds: Vec<_> = found.new.iter().map(|(_, fields)| &fields["type"]).collect();
    assert_eq!(kinds, ["rectangle", "text", "ellipse"]);

    // The same within one canvas; there is still one picture.
    let text = edited(|nodes| nodes.extend(nodes.clone()));
    let found = local(&text, &some());
    let kinds: Vec<_> = found.new.iter().map(|(id, fields)| (id.as_str(), &fields["type"])).collect();
    assert_eq!(kinds, [("e1 #2", &json!("sticky")), ("e2 #2", &json!("text")), ("e3 #2", &json!("ellipse"))]);
    assert_eq!(found.copies.len(), 1);
    assert_eq!(
        patch(&text, &some(), &some(), &Aliases::new()).unwrap(),
        text,
        "a held node stays in the file"
    );
}

#[test]
fn a_patch_changes_its_own_values_only() {
    let text = "{ \"edges\" : [ {\"id\":\"x\", \"fromNode\":\"e1\",\"toNode\":\"n1\"} ,\n {\"id\":\"y\",\"fromNode\":\"e2\",\"toNode\":\"e1\"}],\n\
        \"mine\": 1.50,\t\"nodes\" :[\r\n\
        {\"height\":100,\"id\":\"e1\",\"k\":[1 ,2],\"type\":\"text\",\"text\":\"one\",\"x\":10,\"y\":-21,\"width\":200,\"color\":\"3\"} ,\r\n\
        {\"id\":\"g\",\"type\":\"group\",\"x\":0,\"y\":0,\"width\":1,\"height\":1} ,\r\n\
        {\"id\":\"e2\",\"type\":\"text\",\"text\":\"two\",\"x\":10,\"y\":-21,\"width\":200,\"height\":100} ,\r\n\
        {\"id\":\"n1\",\"type\":\"text\",\"text\":\"new\",\"x\":0,\"y\":0,\"width\":1,\"height\":1}\r\n] }\n";
    let base = vec![element("e1", "sticky", "one"), element("e2", "text", "two")];
    assert_eq!(patch(text, &base, &base, &Aliases::new()).unwrap(), text, "nothing to do is nothing done");
    let mut target = base.clone();
    target[0]["content"] = json!("uno");
    target[0]["x"] = json!(77.2);
    target[0]["style"]["color"] = json!("#bfdbfe");
    let expected = text
        .replace("\"text\":\"one\",\"x\":10", "\"text\":\"uno\",\"x\":77")
        .replace("\"color\":\"3\"", "\"color\":\"#bfdbfe\"");
    assert_eq!(patch(text, &base, &target, &Aliases::new()).unwrap(), expected);
    let names = Aliases::from([("n1".to_owned(), "e7".to_owned())]);
    let mut made = element("e7", "text", "new");
    (made["x"], made["y"], made["width"], made["height"]) = (json!(0), json!(0), json!(1), json!(1));
    let with_new = [base.clone(), vec![made]].concat();
    let out = patch(text, &with_new, &with_new, &names).unwrap();
    assert_eq!(out, text.replace("\"n1\"", "\"e7\""));
    // A removed element takes its line and the edges at it along.
    let out = patch(text, &base, &base[1..], &Aliases::new()).unwrap();
    assert!(
        !out.contains("\"e1\"")
            && out.contains("\"g\"")
            && out.contains("\"n1\"")
            && !out.contains("fromNode"),
        "{out}"
    );
    assert!(serde_json::from_str::<Value>(&out).is_ok(), "{out}");
}

#[test]
fn files_without_nodes_get_them() {
    for text in [
        "",
        "{}",
        "{ }",
        "{\"edges\":[]}",
        "{\n\t\"x\": {\"y\":[]}\n}",
        "{\"nodes\":null,\"edges\":[]}",
        "{\"nodes\":[ ]}",
    ] {
        let out = patch(text, &[], &some(), &Aliases::new()).unwrap();
        assert!(local(&out, &some()).is_clean(), "{text:?} became {out}");
        let nothing = patch(text, &[], &[], &Aliases::new()).unwrap();
        assert!(local(&nothing, &[]).is_clean(), "{text:?} became {nothing}");
    }
}

#[test]
fn fields_merge_one_by_one() {
    let merged = |theirs: Value, edit: fn(&mut Vec<Value>)| {
        let mut remote = some();
        for (key, value) in theirs.as_object().unwrap() {
            remote[0][key.as_str()] = value.clone();
        }
        merge(Surface::Board, &some(), &remote, &local(&edited(edit), &some()), false)
    };
    let both = merged(json!({ "x": 5 }), |n| n[0]["text"] = json!("uno"));
    assert_eq!(both.ops.len(), 1);
    assert!(both.collisions.is_empty());
    assert_eq!((&both.target[0]["x"], &both.target[0]["content"]), (&json!(5), &json!("uno")));
    assert_eq!(both.base[0]["content"], json!("one"), "what is still to go is not agreed on");
    let alike = merged(json!({ "content": "uno", "x": 5.4 }), |n| {
        n[0]["text"] = json!("uno");
        n[0]["x"] = json!(5);
    });
    assert!(alike.ops.is_empty() && alike.collisions.is_empty(), "{alike:?}");
    let collide = merged(json!({ "content": "eins" }), |n| n[0]["text"] = json!("uno"));
    assert!(collide.ops.is_empty());
    assert_eq!(collide.collisions, ["content of e1: here “uno”, in the app “eins”"]);
    assert_eq!(collide.target[0]["content"], "eins");
    let style = merged(json!({ "style": { "fontSize": 30 } }), |n| n[0]["color"] = json!("1"));
    assert_eq!(style.target[0]["style"], json!({ "fontSize": 30, "color": "#fecaca" }));
}

#[test]
fn an_element_that_only_an_edge_or_a_word_names_is_not_taken_for_deleted() {
    let text = "{\"nodes\":[{\"id\":\"e1\",\"text\":\"\\\"e2\\\"\",\"k\":\"e3\"}],\"edges\":[{\"fromNode\":\"e4\"}]}";
    let none = Aliases::new();
    assert_eq!(known(text, &[], &none, &some()), some()[..1]);
    // It was made anew in the place of one that was removed in the app, which an earlier write had brought.
    let anew = Aliases::from([("e1".to_owned(), "e9".to_owned())]);
    assert_eq!(known(text, &[], &anew, &some()), some()[..0]);
}

#[test]
fn an_edit_beats_a_deletion_on_either_side() {
    let gone = edited(|nodes| drop(nodes.remove(0)));
    let mut remote = some();
    let quiet = merge(Surface::Board, &some(), &remote, &local(&gone, &some()), false);
    assert!(matches!(quiet.ops.as_slice(), [Op::Delete { id }] if id.as_str() == "e1"));
    remote[0]["content"] = json!("changed");
    let back = merge(Surface::Board, &some(), &remote, &local(&gone, &some()), false);
    assert!(back.ops.is_empty() && back.target.len() == 4 && back.notes[0].contains("changed in the app"));
    let moved = edited(|nodes| {
        nodes[2]["x"] = json!(1);
        nodes[3]["x"] = json!(1);
    });
    let left = merge(Surface::Board, &some(), &some()[..2], &local(&moved, &some()), false);
    let [Op::Create { node, fields, instead_of: Some(old) }] = left.ops.as_slice() else {
        panic!("{left:?}")
    };
    assert_eq!(
        (node.as_str(), old.as_str(), &fields["x"], &fields["style"]["opacity"]),
        ("e3", "e3", &json!(1), &json!(0.5))
    );
    assert!(left.notes[0].contains("e4"), "an image cannot be made again: {:?}", left.notes);
}

#[test]
fn what_the_api_cannot_make_again_is_only_deleted_where_that_is_allowed() {
    let gone = edited(|nodes| drop(nodes.remove(3)));
    let found = local(&gone, &some());
    assert!(merge(Surface::Board, &some(), &some(), &found, false).ops.is_empty());
    assert_eq!(merge(Surface::Board, &some(), &some(), &found, true).ops.len(), 1);
    // A sticky note cannot be made on a slide.
    let gone = local(&edited(|nodes| drop(nodes.remove(0))), &some());
    assert!(merge(Surface::Slide, &some(), &some(), &gone, false).ops.is_empty());
}

#[test]
fn pictures_hold_no_script_whatever_the_text() {
    for hostile in [
        "</text></svg><script>alert(1)</script>",
        "\" onload=\"alert(1)",
        "' style='background:url(https://x)",
        "]]><!--",
        "\u{0}\u{8}\u{1b}[31m",
    ] {
        let mut all = some();
        for element in &mut all {
            element["content"] = json!(hostile);
            element["type"] = json!(hostile);
            element["style"] =
                json!({ "fontFamily": hostile, "color": hostile, "stroke": hostile, "textAlign": hostile });
        }
        all[0]["type"] = json!("sticky");
        let text = board(&all);
        // Between tags, words are words.
        let tags: String = text.split('<').map(|part| part.split('>').next().unwrap_or_default()).collect();
        assert!(!tags.contains("url(http") && !tags.contains("onload=\""), "{text}");
        assert!(!text.contains("<script>alert") && !text.contains("onload=\""), "{text}");
        assert!(text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'), "{text:?}");
    }
}

#[test]
fn a_revived_element_is_made_again_as_it_was() {
    let text = edited(|nodes| nodes.truncate(1));
    let out = revive(&text, Surface::Board, &some()[2]).unwrap();
    let found = local(&out, &some()[..1]);
    let fields = &found.new[0].1;
    assert_eq!((&fields["type"], &fields["content"]), (&json!("ellipse"), &json!("three")));
    assert_eq!(fields["style"], some()[2]["style"]);
    assert!(revive(&out, Surface::Board, &some()[2]).is_err());
    assert!(revive("{", Surface::Board, &some()[2]).is_err());
    let words = local(&revive(&text, Surface::Board, &some()[3]).unwrap(), &some()[..1]);
    assert_eq!(words.new[0].1["type"], "sticky");
}

/// Any JSON number that a service may send as a place.
fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-100_000_i64..100_000).prop_map(Value::from),
        (-1e5_f64..1e5).prop_map(Value::from),
        Just(json!(0.5)),
        Just(serde_json::from_str("1.500").unwrap()),
    ]
}

fn any_element() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![
        Just("sticky"),
        Just("text"),
        Just("rectangle"),
        Just("ellipse"),
        Just("media"),
        Just("embed"),
        Just("odd")
    ];
    let colour = prop_oneof![
        Just(json!({})),
        Just(json!({ "color": "#bbf7d0" })),
        Just(json!({ "color": "tomato", "bold": true })),
        Just(json!({ "fill": "#00000080" }))
    ];
    (kind, number(), number(), number(), number(), ".{0,12}", colour).prop_map(|(kind, x, y, w, h, content, style)| {
        json!({ "type": kind, "x": x, "y": y, "width": w, "height": h, "content": content, "style": style, "z_index": 0 })
    })
}

fn canvas() -> impl Strategy<Value = Elements> {
    prop::collection::vec(any_element(), 0..8).prop_map(|mut all| {
        for (index, element) in all.iter_mut().enumerate() {
            element["id"] = json!(format!("id-{index}"));
        }
        all
    })
}

/// What a program may do to a file without meaning anything.
fn resaved(text: &str, how: u8) -> String {
    let value: Value = serde_json::from_str(text).unwrap();
    match how % 3 {
        0 => value.to_string(),
        1 => serde_json::to_string_pretty(&value).unwrap(),
        _ => text.replace('\n', "\r\n"),
    }
}

proptest! {
    #[test]
    fn whatever_is_written_reads_back_as_nothing_new(all in canvas(), how: u8) {
        let text = resaved(&render(&all), how);
        let found = local(&text, &all);
        prop_assert!(found.is_clean(), "{found:?}");
        prop_assert_eq!(patch(&text, &all, &all, &Aliases::new()).unwrap(), text);
    }

    #[test]
    fn a_patch_says_its_target_and_keeps_strays(from in canvas(), to in canvas(), how: u8, shift in 0_usize..4) {
        let mut canvas: Value = serde_json::from_str(&render(&from)).unwrap();
        canvas["nodes"].as_array_mut().unwrap().insert(from.len() / 2, json!({ "id": "g", "type": "group", "x": 0, "y": 0, "width": 1, "height": 1 }));
        let text = resaved(&canvas.to_string(), how);
        // Some elements stay with another content, some go, some come, in another order.
        let mut to: Elements = to.into_iter().skip(shift).collect();
        to.reverse();
        let out = patch(&text, &from, &to, &Aliases::new()).unwrap();
        let found = local(&out, &to);
        prop_assert!(found.is_clean(), "{found:?}\n{out}");
        prop_assert_eq!(found.strays, 1);
        prop_assert_eq!(found.order, to.iter().map(|e| id_of(e).to_owned()).collect::<Vec<_>>());
    }

    #[test]
    fn a_merge_ends_in_agreement_and_sends_nothing_twice(base in canvas(), remote in canvas(), mine in canvas(), skip in 0_usize..3) {
        let remote: Elements = remote.into_iter().skip(skip).collect();
        let names = Aliases::new();
        let text = patch(&render(&base), &base, &mine, &names).unwrap();
        let base = known(&text, &base, &names, &remote);
        let found = read(&text, Surface::Board, &base, &names, &Origins::new()).unwrap_or_default();
        let merged = merge(Surface::Board, &base, &remote, &found, false);
        // The service does what it is asked, but for what it makes anew.
        let mut after = remote.clone();
        for op in &merged.ops {
            match op {
                Op::Update { id, fields } => {
                    for element in after.iter_mut().filter(|e| id_of(e) == id.as_str()) {
                        *element = changed(element, fields);
                    }
                }
                Op::Delete { id } => after.retain(|e| id_of(e) != id.as_str()),
                Op::Create { .. } => {}
            }
        }
        let unmade: Vec<&str> = merged.ops.iter().filter_map(|op| match op { Op::Create { node, .. } => Some(node.as_str()), _ => None }).collect();
        let there: Elements = merged.target.iter().filter(|e| !unmade.contains(&id_of(e))).cloned().collect();
        prop_assert_eq!(&there, &after);
        // With everything agreed on, nothing is left.
        let out = patch(&text, &base, &there, &names).unwrap();
        let again = read(&out, Surface::Board, &there, &names, &Origins::new()).unwrap();
        let rest = merge(Surface::Board, &there, &after, &again, false);
        prop_assert!(rest.ops.iter().all(|op| matches!(op, Op::Create { .. })), "{rest:?}");
    }

    #[test]
    fn nothing_panics_whatever_the_file_holds(text in "[\\[\\]{}\",:a1 nodesidxy\\-.]{0,60}", all in canvas()) {
        let _odd = read(&text, Surface::Slide, &all, &Aliases::new(), &Origins::new());
        let _odd = patch(&text, &all, &all, &Aliases::new());
    }

    #[test]
    fn pictures_are_well_formed(all in canvas()) {
        let svg = board(&all);
        prop_assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        prop_assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
        prop_assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}

#[test]
fn a_node_that_obsidian_duplicated_is_of_the_kind_and_style_of_the_one_it_looks_like() {
    let duplicate = |edit: &dyn Fn(&mut Value)| {
        edited(|nodes| {
            for at in [1, 2] {
                let mut twin = nodes[at].clone();
                twin["id"] = json!(format!("n{at}"));
                twin["x"] = json!(900);
                edit(&mut twin);
                nodes.push(twin);
            }
        })
    };
    let found = local(&duplicate(&|_| ()), &some());
    let made: Vec<_> = found.new.iter().map(|(_, fields)| (&fields["type"], fields.get("style"))).collect();
    let base = some();
    let like = |at: usize| (&base[at]["type"], creation(&base[at]).get("style").cloned());
    for (at, (kind, style)) in [1, 2].into_iter().zip(made) {
        assert_eq!((kind, style.cloned()), like(at));
    }
    assert_eq!(found.new[1].1["x"], json!(900));
    // What looks otherwise is a new note, and so is what two of different types look like.
    for edit in [&(|node: &mut Value| node["width"] = json!(77)) as &dyn Fn(&mut Value), &|node| {
        node["text"] = json!("other words")
    }] {
        let found = local(&duplicate(edit), &some());
        assert!(found.new.iter().all(|(_, fields)| fields["type"] == "sticky"), "{:?}", found.new);
    }
    let mut base = some();
    let mut alike = base[1].clone();
    (alike["id"], alike["type"]) = (json!("e9"), json!("ellipse"));
    base.push(alike);
    let mut canvas: Value = serde_json::from_str(&render(&base)).unwrap();
    let nodes = canvas["nodes"].as_array_mut().unwrap();
    let mut twin = nodes[1].clone();
    twin["id"] = json!("n");
    nodes.push(twin);
    let found = local(&canvas.to_string(), &base);
    assert_eq!(found.new[0].1["type"], "sticky", "two types look like it");
}
