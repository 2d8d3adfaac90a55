//! Files that a program or a person spoilt.

use super::*;

#[test]
fn a_file_that_is_no_canvas_is_one_clear_error() {
    let world = sample();
    let no_id = edited(&world.file(), |nodes| nodes.push(json!({ "type": "group", "x": 0 })));
    let no_node_id = edited(&world.file(), |nodes| nodes.push(json!({ "id": 7, "type": "text" })));
    for (text, why) in [
        ("{\"nodes\":[", "it is not valid JSON: "),
        ("[]", "it is not JSON Canvas: it must be an object with nodes"),
        ("{\"nodes\":[3]}", "it is not JSON Canvas: its nodes contain a number"),
        (no_id.as_str(), "a group has no id; give it a unique id"),
        (no_node_id.as_str(), "a node has no id; give it a unique id"),
    ] {
        let told = world.with(|known| read(text, known)).unwrap_err();
        assert!(told.starts_with(why), "{told}");
        assert_eq!(world.with(|known| write(text, known, &[], None)).unwrap_err(), told);
        assert!(world.with(|known| strange_ids(text, known)).is_empty());
    }
}

#[test]
fn a_node_in_two_groups_is_in_the_one_on_top() {
    let world = sample();
    let text = edited(&world.file(), |nodes| {
        // The third slide is drawn over the first one.
        shift_all(nodes, &["s3", "e"], [100, -2 * STEP]);
        nodes.push(text_node("n", 500, 200, "new"));
    });
    let file = world.read(&text);
    let new = |id: &str| local(&file, id).new.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>();
    assert_eq!((new("s1"), new("s3")), (vec![], vec!["n"]));
    assert!(local(&file, "s1").is_clean() && file.moves.is_empty(), "{file:?}");
    // With the groups the other way round it is in the first.
    let text = edited(&text, |nodes| {
        let at = nodes.iter().position(|node| id_of(node) == "s1").unwrap();
        let group = nodes.remove(at);
        nodes.push(group);
    });
    assert_eq!(local(&world.read(&text), "s1").new.len(), 1);
}

#[test]
fn of_groups_with_one_id_the_one_in_its_place_is_the_slide() {
    let world = sample();
    let text = edited(&world.file(), |nodes| {
        nodes.insert(0, group_node("s2", [3000, 0, 960, 540]));
        nodes.insert(1, text_node("n", 3100, 20, "new"));
    });
    let file = world.read(&text);
    assert_eq!(file.new_slides, [NewSlide { node: "s2 #2".to_owned(), nodes: 1 }]);
    assert!(file.slides.iter().all(|slide| local(&file, slide.id.as_str()).is_clean()), "{file:?}");
    assert_eq!(world.settled(&text), text);
}

#[test]
fn a_fault_in_one_slide_leaves_the_others() {
    let world = sample();
    for (key, value) in [("color", json!("no colour")), ("x", json!(null)), ("height", json!("tall"))] {
        let text = edited(&world.file(), |nodes| {
            node(nodes, "a")[key] = value;
            node(nodes, "e")["text"] = json!("vier");
        });
        let file = world.read(&text);
        assert!(
            matches!(&slide(&file, "s1").state, SlideState::Faulty(why) if why.contains("node a")),
            "{file:?}"
        );
        assert_eq!(changes(&file, "s3").len(), 1);
        let targets =
            [("s1", None), ("s2", world.slides[1].1.clone()), ("s3", Some(world.merged(&file, "s3").target))];
        assert_eq!(world.write(&text, &targets), text);
    }
}

#[test]
fn a_group_without_a_place_gets_one() {
    let world = sample();
    for (key, value) in [
        ("x", json!(null)),
        ("y", json!("a")),
        ("width", json!([])),
        ("x", json!(1e300)),
        ("type", json!("text")),
    ] {
        let text = edited(&world.file(), |nodes| node(nodes, "s2")[key] = value);
        let file = world.read(&text);
        assert!(
            file.slides.iter().all(|slide| local(&file, slide.id.as_str()).is_clean()),
            "{key}: {file:?}"
        );
        assert_eq!(nodes_of(&world.settled(&text)), nodes_of(&world.file()), "{key}");
    }
    // With nothing known of what was written, its nodes tell.
    let text = edited(&world.file(), |nodes| node(nodes, "s2")["y"] = json!(null));
    let out = World { written: None, ..world.clone() }.settled(&text);
    assert_eq!(nodes_of(&out), nodes_of(&world.file()));
}

#[test]
fn an_empty_file_gets_everything_and_a_byte_order_mark_stays() {
    let world = sample();
    for empty in ["", " \n", "{}", "{\"nodes\":null}", "{\"edges\":[]}", "{\"nodes\":[ ]}", "\u{feff}"] {
        let out = world.write(empty, &world.all());
        assert!(world.read(&out).is_clean(), "{empty:?} became {out}");
    }
    let marked = format!("\u{feff}{}", world.file());
    assert!(world.read(&marked).is_clean());
    assert_eq!(world.settled(&marked), marked);
    let fewer = world.write(&marked, &world.all()[..1]);
    assert!(fewer.starts_with('\u{feff}') && !fewer.contains("\"s2\""), "{fewer}");
}
