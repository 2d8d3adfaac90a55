//! One test for each thing that people do.

use super::*;

#[test]
fn a_written_file_has_each_slide_as_a_group_with_its_elements() {
    let text = sample().file();
    let file = sample().read(&text);
    assert!(file.is_clean() && file.only_here.is_empty() && !file.aliased, "{file:?}");
    assert_eq!(ids(&text), ["s1", "a", "b", "s2", "c", "d", "s3", "e"]);
    assert_eq!(place(&text, "s3"), [0, 2 * STEP, 960, 540]);
    assert_eq!(place(&text, "e"), [100, 2 * STEP + 300, 200, 100]);
    let labels: Vec<Value> = nodes_of(&text).iter().filter_map(|node| node.get("label").cloned()).collect();
    assert_eq!(labels, ["1", "2", "3"]);
    // Low slides keep a distance that one can see.
    let low = World { size: Size { width: 300.0, height: 100.0 }, ..sample() };
    assert_eq!(place(&low.file(), "s2"), [0, 180, 300, 100]);
    assert_eq!(sample().settled(&text), text);
}

#[test]
fn edits_on_a_slide_are_those_of_a_whiteboard() {
    #[track_caller]
    fn check(edit: impl FnOnce(&mut Vec<Value>), slide: &str, id: &str, expected: Value) {
        let file = sample().read(&edited(&sample().file(), edit));
        assert_eq!(changes(&file, slide), [(id.to_owned(), expected)]);
        let others = file.slides.iter().filter(|other| other.id.as_str() != slide);
        assert!(others.into_iter().all(|other| local(&file, other.id.as_str()).is_clean()), "{file:?}");
        assert!(file.put_back.is_empty() && file.moves.is_empty());
    }
    check(|n| node(n, "a")["text"] = json!("uno"), "s1", "a", json!({ "content": "uno" }));
    check(|n| shift(node(n, "e"), [5, -7]), "s3", "e", json!({ "x": 105, "y": 293 }));
    check(|n| node(n, "b")["width"] = json!(77), "s1", "b", json!({ "width": 77 }));
    check(|n| node(n, "e")["color"] = json!("4"), "s3", "e", json!({ "style": { "color": "#bbf7d0" } }));
    let style = json!({ "style": { "bold": true } });
    check(|n| node(n, "a")["espejo"] = style.clone(), "s1", "a", style.clone());

    let text = edited(&sample().file(), |nodes| {
        nodes.retain(|node| id_of(node) != "b");
        nodes.push(text_node("n", 300, STEP + 200, "new"));
    });
    let file = sample().read(&text);
    assert_eq!(local(&file, "s1").gone.iter().collect::<Vec<_>>(), ["b"]);
    let [(id, fields)] = local(&file, "s2").new.as_slice() else { panic!("{file:?}") };
    assert_eq!(
        (id.as_str(), &fields["type"], &fields["x"], &fields["y"]),
        ("n", &json!("text"), &json!(300), &json!(200))
    );
    // What waits to be sent stays where it is.
    let mut world = sample();
    let merged = world.merged(&file, "s1");
    assert!(matches!(merged.ops.as_slice(), [Op::Delete { id }] if id.as_str() == "b"), "{merged:?}");
    let mut targets = world.all();
    targets[0].1 = Some(merged.target);
    assert_eq!(world.write(&text, &targets), text);
    // Once it is made, the file gets its id.
    world.aliases.insert(slide_id("s2"), Aliases::from([("n".to_owned(), "f".to_owned())]));
    let mut made = element("f", "text", 300, 200, "new");
    (made["width"], made["height"]) = (json!(100), json!(50));
    world.base("s2").push(made);
    world.base("s1").retain(|element| id_of(element) != "b");
    assert!(world.read(&text).is_clean() && local(&world.read(&text), "s2").aliased);
    assert_eq!(ids(&world.settled(&text)), ["s1", "a", "s2", "c", "d", "f", "s3", "e"]);
}

#[test]
fn a_moved_group_is_no_edit_and_its_place_is_the_users() {
    let mut world = sample();
    let moved = edited(&world.file(), |nodes| shift_all(nodes, &["s2", "c", "d"], [1200, -STEP]));
    assert!(world.read(&moved).is_clean());
    assert_eq!(world.settled(&moved), moved);
    // Something changes in the app: what is in the group stays in it, and the group stays.
    world.base("s2")[0]["content"] = json!("drei");
    world.base("s2").push(element("f", "text", 1, 2, "new"));
    let out = world.settled(&moved);
    assert_eq!((place(&out, "s2"), place(&out, "f")), ([1200, 0, 960, 540], [1201, 2, 200, 100]));
    // A slide comes first: the others make room, one below the other. Once written, nothing else tells where the group was.
    world.written = Some(out.clone());
    let mut targets = world.all();
    targets.insert(0, ("s0", Some(vec![])));
    let out = world.write(&out, &targets);
    let places = ["s0", "s1", "s2", "s3"].map(|id| place(&out, id));
    assert_eq!(places.map(|[x, y, ..]| [x, y]), [[0, 0], [0, STEP], [1200, 0], [0, 3 * STEP]]);
    assert_eq!(place(&out, "e"), [100, 3 * STEP + 300, 200, 100]);

    // A grid, with two slides at each other's places.
    let world = sample();
    let grid = edited(&world.file(), |nodes| {
        shift_all(nodes, &["s1", "a", "b"], [0, STEP]);
        shift_all(nodes, &["s2", "c", "d"], [0, -STEP]);
    });
    assert!(world.read(&grid).is_clean());
    assert_eq!(world.settled(&grid), grid);
    let mut targets = world.all();
    targets.insert(0, ("s0", Some(vec![])));
    let out = world.write(&grid, &targets);
    assert_eq!((place(&out, "s1")[1], place(&out, "s2")[1], place(&out, "s3")[1]), (STEP, 0, 3 * STEP));
    assert_eq!(place(&out, "s0")[..2], [1095, 0], "the place of the first slide is taken");
}

#[test]
fn a_group_stays_where_it_was_moved_and_leaves_a_column_that_espejo_chose() {
    let world = sample();
    let aside = edited(&world.file(), |nodes| {
        shift_all(nodes, &["s2", "c", "d"], [1200, 0]);
        nodes.push(text_node("n", 500, 100 + 3 * STEP, "a note in the way"));
    });
    let mut targets = world.all();
    targets.insert(0, ("s0", Some(vec![])));
    let out = world.write(&aside, &targets);
    assert_eq!(["s2", "s3"].map(|id| place(&out, id)[..2].to_owned()), [[1200, STEP], [1095, 3 * STEP]]);
    // The same once it is written where it is.
    let kept = World { written: Some(aside.clone()), ..world.clone() };
    assert_eq!(place(&kept.write(&aside, &targets), "s2")[..2], [1200, STEP]);
    // It is below the others again when its number leaves the note alone.
    let again = World { written: Some(out.clone()), ..world.clone() };
    let out = again.write(&out, &again.all());
    assert_eq!(["s2", "s3"].map(|id| place(&out, id)[..2].to_owned()), [[1200, STEP], [0, 2 * STEP]]);

    // The format changes in the app, and nothing in a slide tells that it did not move.
    let mut empty = World::new(vec![("s1", vec![]), ("s2", vec![])]);
    empty.written = Some(empty.file());
    let text = edited(&empty.file(), |nodes| shift(node(nodes, "s2"), [5000, 7]));
    empty.size = Size { width: 400.0, height: 800.0 };
    assert!(empty.read(&text).is_clean());
    let out = empty.settled(&text);
    assert_eq!((place(&out, "s1"), place(&out, "s2")), ([0, 0, 400, 800], [5000, STEP + 7, 400, 800]));
}

#[test]
fn a_group_at_fractions_of_a_pixel_is_no_edit() {
    let world = sample();
    let text = edited(&world.file(), |nodes| {
        for id in ["s1", "a", "b"] {
            let node = node(nodes, id);
            node["x"] = json!(node["x"].as_f64().unwrap() - 33.3);
            node["y"] = json!(node["y"].as_f64().unwrap() + 0.5);
        }
    });
    assert!(world.read(&text).is_clean());
    assert_eq!(world.settled(&text), text);
    let mut more = world.clone();
    more.base("s1").push(element("n", "text", 7, -7, "new"));
    assert!(more.read(&world.write(&text, &more.all())).is_clean());
}

#[test]
fn a_resized_group_and_one_that_is_gone_come_back() {
    let world = sample();
    // From the right lower corner, and from the left upper one.
    for resize in [[0, 0, 300, 40], [-60, -20, 60, 20], [30, 0, -30, 0]] {
        let text = edited(&world.file(), |nodes| {
            let [x, y, width, height] = resize;
            let group = node(nodes, "s1");
            shift(group, [x, y]);
            group["width"] = json!(960 + width);
            group["height"] = json!(540 + height);
        });
        let file = world.read(&text);
        assert_eq!(file.put_back, ["slide 1 has the size of its presentation; its group is changed back"]);
        assert!(file.slides.iter().all(|slide| local(&file, slide.id.as_str()).is_clean()), "{file:?}");
        assert_eq!(nodes_of(&world.settled(&text)), nodes_of(&world.file()));
        // The same with nothing known of what was written.
        let text = World { written: None, ..world.clone() }.settled(&text);
        assert_eq!(nodes_of(&text), nodes_of(&world.file()));
    }
    // The group goes alone, also after it was moved with what is in it.
    for by in [[0, 0], [1300, 0]] {
        let text = edited(&world.file(), |nodes| {
            shift_all(nodes, &["s1", "a", "b"], by);
            nodes.retain(|node| id_of(node) != "s1");
            node(nodes, "b")["text"] = json!("zwei");
        });
        let file = world.read(&text);
        assert_eq!(file.put_back, ["the group of slide 1 was removed without its nodes; it is restored"]);
        assert_eq!(changes(&file, "s1"), [("b".to_owned(), json!({ "content": "zwei" }))]);
        let mut targets = world.all();
        targets[0].1 = Some(world.merged(&file, "s1").target);
        let out = world.write(&text, &targets);
        assert_eq!(place(&out, "s1"), [by[0], by[1], 960, 540]);
        assert_eq!(changes(&world.read(&out), "s1").len(), 1);
    }
}

#[test]
fn nodes_that_were_dragged_away_do_not_take_their_group_along() {
    let world = sample();
    let text = edited(&world.file(), |nodes| {
        nodes.retain(|node| id_of(node) != "s3");
        shift(node(nodes, "e"), [0, -STEP]);
    });
    let file = world.read(&text);
    assert_eq!(file.moves.iter().map(|moved| moved.element.as_str()).collect::<Vec<_>>(), ["e"]);
    assert_eq!(place(&world.settled(&text), "s3"), [0, 2 * STEP, 960, 540]);
}

#[test]
fn a_name_of_a_group_stays_and_a_number_is_rewritten() {
    let world = sample();
    let text = edited(&world.file(), |nodes| {
        node(nodes, "s1")["label"] = json!("Welcome");
        node(nodes, "s2")["label"] = json!(" 2 ");
        node(nodes, "s3")["color"] = json!("5");
    });
    assert!(world.read(&text).is_clean());
    assert_eq!(world.settled(&text), text);
    let label = |text: &str, id: &str| node(&mut nodes_of(text), id)["label"].clone();
    let mut targets = world.all();
    targets.rotate_left(1);
    let out = world.write(&text, &targets);
    assert_eq!(
        (label(&out, "s2"), label(&out, "s3"), label(&out, "s1")),
        (json!("1"), json!("2"), json!("Welcome"))
    );
    assert!(out.contains("\"color\":\"5\""), "{out}");
    // Another number is no order of slides.
    let text = edited(&world.file(), |nodes| {
        node(nodes, "s2")["label"] = json!("1");
        node(nodes, "s3").as_object_mut().unwrap().remove("label");
    });
    let put_back = world.read(&text).put_back;
    assert_eq!(
        put_back,
        ["slides cannot be reordered through the API; the label of slide 2 is changed back"]
    );
    let out = world.settled(&text);
    assert_eq!((label(&out, "s2"), label(&out, "s3")), (json!("2"), json!("3")));
}

#[test]
fn a_group_around_cards_of_a_slide_stays_here() {
    let world = sample();
    // Within a slide, and around parts of two.
    for area in [[0, 0, 600, 200], [-100, 400, 1200, 500], [960, 0, 50, 50]] {
        let text = edited(&world.file(), |nodes| nodes.insert(0, group_node("g", area)));
        let file = world.read(&text);
        assert!(file.is_clean(), "{file:?}");
        assert_eq!(file.only_here, [OnlyHere { node: "g".to_owned(), what: LocalOnly::Group }]);
        // Only what lies in a slide with all of it is on its picture and goes along with it.
        let inside = usize::from(area == [0, 0, 600, 200]);
        assert_eq!((local(&file, "s1").strays, local(&file, "s2").strays), (inside, 0));
        assert_eq!(world.settled(&text), text);
    }
}

#[test]
fn a_group_beside_the_slides_is_a_new_slide_at_the_end() {
    let mut world = sample();
    let mut text = edited(&world.file(), |nodes| {
        nodes.push(group_node("under", [1450, 50, 200, 200]));
        nodes.push(group_node("g", [1200, 0, 400, 300]));
        nodes.push(text_node("n", 1250, 20, "new"));
        nodes.push(text_node("far", 2400, 200, "outside"));
        nodes.push(group_node("first", [3000, 0, 400, 300]));
        node(nodes, "first")["label"] = json!("1");
    });
    let file = world.read(&text);
    let new = |node: &str, nodes| NewSlide { node: node.to_owned(), nodes };
    assert_eq!(file.new_slides, [new("first", 0), new("g", 1)], "by their numbers, then by their places");
    assert!(file.slides.iter().all(|slide| local(&file, slide.id.as_str()).is_clean()), "{file:?}");
    let only = |node: &str, what| OnlyHere { node: node.to_owned(), what };
    assert_eq!(file.only_here, [only("under", LocalOnly::Group), only("far", LocalOnly::Outside)]);
    assert_eq!(world.settled(&text), text, "what waits to be made stays as it is");
    // A slide from the app does not cover it.
    let below = edited(&text, |nodes| nodes.push(group_node("below", [10, 3 * STEP + 10, 500, 300])));
    let mut more = world.all();
    more.push(("s9", Some(vec![])));
    let out = world.write(&below, &more);
    assert_eq!(place(&out, "s9")[..2], [1095, 3 * STEP]);
    let mut known = world.clone();
    known.slides.push((slide_id("s9"), Some(vec![])));
    assert_eq!(known.read(&out).new_slides.len(), 3);

    // The slide is made, then what lies in it; at last the file gets the ids and the size.
    world.slides.push((slide_id("s4"), None));
    world.groups.insert("g".to_owned(), "s4".to_owned());
    let file = world.read(&text);
    assert_eq!((local(&file, "s4").new.len(), file.aliased), (1, true));
    let fields = local(&file, "s4").new[0].1.clone();
    assert_eq!((&fields["x"], &fields["y"], &fields["content"]), (&json!(50), &json!(20), &json!("new")));
    let mut made = Value::Object(fields);
    made["id"] = json!("f");
    world.slides[3].1 = Some(vec![made]);
    world.aliases.insert(slide_id("s4"), Aliases::from([("n".to_owned(), "f".to_owned())]));
    text = world.settled(&text);
    assert_eq!((place(&text, "s4"), place(&text, "f")), ([1200, 0, 960, 540], [1250, 20, 100, 50]));
    world.groups.clear();
    world.aliases.clear();
    let file = world.read(&text);
    assert!(local(&file, "s4").is_clean() && file.new_slides == [new("first", 0)], "{file:?}");
}

#[test]
fn a_new_slide_whose_size_would_cover_another_is_laid_out() {
    let mut world = sample();
    let text = edited(&world.file(), |nodes| {
        nodes.push(group_node("g", [-300, 0, 200, 100]));
        nodes.push(text_node("n", -290, 10, "new"));
        nodes.push(text_node("note", 20, 3 * STEP + 100, "outside"));
    });
    world.slides.push((slide_id("s4"), Some(vec![])));
    world.groups.insert("g".to_owned(), "s4".to_owned());
    let out = world.settled(&text);
    // Not over the note, which would become a part of the slide; what is in the group comes along.
    assert_eq!(
        (place(&out, "s4"), place(&out, "n")),
        ([1095, 3 * STEP, 960, 540], [1105, 3 * STEP + 10, 100, 50])
    );
    assert_eq!(place(&out, "note"), place(&text, "note"));
    world.written = Some(out.clone());
    world.groups.clear();
    let file = world.read(&out);
    assert_eq!((local(&file, "s4").new.len(), file.only_here.len()), (1, 1), "{file:?}");
}

#[test]
fn a_slide_that_is_removed_with_its_nodes_is_told_and_comes_back() {
    let world = sample();
    let text = edited(&world.file(), |nodes| nodes.retain(|node| !["s2", "c", "d"].contains(&id_of(node))));
    let file = world.read(&text);
    assert_eq!(slide(&file, "s2").state, SlideState::Removed);
    assert!(local(&file, "s1").is_clean() && local(&file, "s3").is_clean() && !file.is_clean());
    assert_eq!(nodes_of(&world.settled(&text)), nodes_of(&world.file()));
    // It comes back where its user had it, unless something else stands there by now.
    let mut moved = world.clone();
    let at = edited(&world.file(), |nodes| shift_all(nodes, &["s2", "c", "d"], [2000, 9]));
    moved.written = Some(at.clone());
    assert_eq!(place(&moved.settled(&text), "c"), place(&at, "c"));
    let taken = edited(&text, |nodes| nodes.push(text_node("n", 2100, STEP + 50, "mine")));
    assert_eq!(place(&moved.settled(&taken), "s2"), [0, STEP, 960, 540]);
    let taken = edited(&text, |nodes| nodes.push(text_node("n", 100, STEP + 50, "mine")));
    assert_eq!(place(&world.settled(&taken), "s2"), [1095, STEP, 960, 540]);
    // Where that is allowed, it is gone, and the others close up.
    let mut targets = world.all();
    targets.remove(1);
    let out = world.write(&text, &targets);
    assert_eq!(ids(&out), ["s1", "a", "b", "s3", "e"]);
    assert_eq!(place(&out, "s3"), [0, STEP, 960, 540]);
}

#[test]
fn a_node_that_did_not_move_from_its_group_stays_in_its_slide() {
    // The text sticks out, and the group is moved so that it lies in another slide.
    let world = sample();
    let text = edited(&world.file(), |nodes| shift_all(nodes, &["s2", "c", "d"], [-970, -STEP]));
    let file = world.read(&text);
    assert!(file.is_clean() && file.moves.is_empty(), "{file:?}");
    assert_eq!(world.settled(&text), text);
    // Made wider, so that its middle gets into another slide, it did not move.
    let wide = edited(&world.file(), |nodes| {
        shift_all(nodes, &["s3", "e"], [1010, -STEP]);
        node(nodes, "c")["width"] = json!(600);
    });
    let file = world.read(&wide);
    assert_eq!(changes(&file, "s2"), [("c".to_owned(), json!({ "width": 600 }))]);
    assert!(file.moves.is_empty() && local(&file, "s3").is_clean(), "{file:?}");
    // Moved a little there, it is an edit of its own slide, and moved out of all slides as well.
    for by in [[4, 0], [3000, 0]] {
        let text = edited(&text, |nodes| shift(node(nodes, "c"), by));
        let file = world.read(&text);
        assert_eq!(changes(&file, "s2"), [("c".to_owned(), json!({ "x": 900 + by[0] }))]);
        assert!(file.moves.is_empty() && file.only_here.is_empty());
    }
}

#[test]
fn a_node_moved_into_a_slide_that_left_is_its_own_slides() {
    let mut world = sample();
    world.gone = Some(slide_id("s2"));
    let text = edited(&world.file(), |nodes| shift(node(nodes, "a"), [0, STEP]));
    let file = world.read(&text);
    assert!(file.moves.is_empty() && local(&file, "s2").new.is_empty(), "{file:?}");
    assert_eq!(changes(&file, "s1"), [("a".to_owned(), json!({ "y": 20 + STEP }))]);
    // The app moved it, too: that place stays, and the file is kept beside it, as for any other field.
    let mut remote = world.slides[0].1.clone().unwrap();
    remote[0]["y"] = json!(72);
    let merged = canvas::merge(Surface::Slide, &slide(&file, "s1").base, &remote, local(&file, "s1"), false);
    assert_eq!((merged.collisions.len(), &merged.ops[..]), (1, &[][..]));
    let targets: Vec<_> = vec![("s1", Some(merged.target)), ("s3", world.slides[2].1.clone())];
    assert_eq!(place(&world.write(&text, &targets), "a"), [10, 72, 200, 100]);
}

#[test]
fn a_node_in_another_slide_is_made_there_and_then_removed_here() {
    let mut world = sample();
    world.base("s1")[0]["x"] = json!(10.4);
    let text = edited(&world.file(), |nodes| shift(node(nodes, "a"), [0, STEP]));
    let file = world.read(&text);
    let to = Destination::Slide(slide_id("s2"));
    let moved = Move { node: "a".to_owned(), element: "a".to_owned(), from: slide_id("s1"), to };
    assert_eq!(file.moves, [moved]);
    assert!(local(&file, "s1").is_clean(), "nothing is removed before it is made: {file:?}");
    let mut expected = world.base("s1")[0].clone();
    for key in ["id", "slide_id", "z_index"] {
        expected.as_object_mut().unwrap().shift_remove(key);
    }
    assert_eq!(local(&file, "s2").new, [("a".to_owned(), expected.as_object().unwrap().clone())]);
    assert_eq!(world.settled(&text), text, "its node stays where it was put");
    // The service's changes to the slides are written meanwhile, and its node goes along with the slide that it is in.
    let mut targets = world.all();
    targets.insert(0, ("s0", Some(vec![])));
    let out = world.write(&text, &targets);
    assert_eq!(place(&out, "a"), [10, 20 + 2 * STEP, 200, 100]);
    assert_eq!(ids(&out).iter().filter(|id| *id == "a").count(), 1);

    // What changed of it on either side is merged where it still is, and its node has both.
    let wider = edited(&text, |nodes| node(nodes, "a")["width"] = json!(150));
    let file = world.read(&wider);
    assert_eq!(changes(&file, "s1"), [("a".to_owned(), json!({ "width": 150 }))]);
    let mut remote = world.slides[0].1.clone().unwrap();
    remote[0]["content"] = json!("uno");
    let base = &slide(&file, "s1").base;
    let merged = canvas::merge(Surface::Slide, base, &remote, local(&file, "s1"), false);
    let mut targets = world.all();
    targets[0].1 = Some(merged.target);
    let out = world.write(&wider, &targets);
    let file = world.read(&out);
    let fields = &local(&file, "s2").new[0].1;
    assert_eq!(
        (&fields["content"], &fields["width"], &fields["y"]),
        (&json!("uno"), &json!(150), &json!(20))
    );

    // Made: now it is gone from its slide.
    expected["id"] = json!("f");
    world.base("s2").push(expected);
    world.aliases.insert(slide_id("s2"), Aliases::from([("a".to_owned(), "f".to_owned())]));
    let file = world.read(&text);
    assert!(file.moves.is_empty() && local(&file, "s2").is_clean(), "{file:?}");
    let merged = world.merged(&file, "s1");
    assert!(matches!(merged.ops.as_slice(), [Op::Delete { id }] if id.as_str() == "a"), "{merged:?}");
    let mut targets = world.all();
    targets[0].1 = Some(merged.target);
    let out = world.write(&text, &targets);
    assert_eq!(ids(&out), ["s1", "b", "s2", "c", "d", "f", "s3", "e"]);
}

#[test]
fn a_node_in_another_slide_that_cannot_be_made_there_is_put_back() {
    let mut odd = sample();
    odd.base("s1")[0]["rotation"] = json!(30);
    for (world, id, slide, by) in [(sample(), "d", "s2", -STEP), (odd, "a", "s1", STEP)] {
        let text = edited(&world.file(), |nodes| {
            shift(node(nodes, id), [1, by]);
            node(nodes, id)["width"] = json!(150);
        });
        let file = world.read(&text);
        assert!(
            file.moves.is_empty() && file.slides.iter().all(|s| local(&file, s.id.as_str()).new.is_empty())
        );
        assert_eq!(changes(&file, slide), [(id.to_owned(), json!({ "width": 150 }))]);
        assert_eq!(local(&file, slide).put_back.len(), 1);
        assert_eq!(place(&world.settled(&text), id), place(&world.file(), id));
    }
}

#[test]
fn a_node_in_a_new_slide_waits_for_the_slide() {
    let mut world = sample();
    let text = edited(&world.file(), |nodes| {
        nodes.push(group_node("g", [2000, 0, 960, 540]));
        shift(node(nodes, "a"), [2000, 0]);
    });
    let file = world.read(&text);
    assert_eq!(
        file.moves.iter().map(|moved| &moved.to).collect::<Vec<_>>(),
        [&Destination::NewSlide("g".to_owned())]
    );
    assert!(file.slides.iter().all(|slide| local(&file, slide.id.as_str()).is_clean()), "{file:?}");
    assert_eq!(world.settled(&text), text);
    world.slides.push((slide_id("s4"), Some(vec![])));
    world.groups.insert("g".to_owned(), "s4".to_owned());
    let file = world.read(&text);
    assert_eq!(local(&file, "s4").new.len(), 1);
    assert_eq!(
        file.moves.iter().map(|moved| &moved.to).collect::<Vec<_>>(),
        [&Destination::Slide(slide_id("s4"))]
    );
}

#[test]
fn a_node_outside_every_group_stays_and_is_told() {
    let world = sample();
    let text = edited(&world.file(), |nodes| nodes.insert(1, text_node("n", -400, 20, "a note")));
    let file = world.read(&text);
    assert!(file.is_clean(), "{file:?}");
    assert_eq!(file.only_here, [OnlyHere { node: "n".to_owned(), what: LocalOnly::Outside }]);
    assert_eq!(world.settled(&text), text);
}

#[test]
fn another_order_of_nodes_is_put_right_with_the_next_write() {
    let mut world = sample();
    let text = edited(&world.file(), |nodes| {
        nodes.reverse();
        nodes.push(text_node("n", -400, 20, "a note"));
    });
    assert!(world.read(&text).is_clean());
    assert_eq!(world.settled(&text), text);
    world.base("s3")[0]["content"] = json!("vier");
    let out = world.settled(&text);
    assert_eq!(ids(&out), ["s1", "n", "a", "b", "s2", "c", "d", "s3", "e"]);
}

#[test]
fn slides_that_come_go_and_change_their_order_in_the_app_take_unsent_edits_along() {
    let mut world = sample();
    let text = edited(&world.file(), |nodes| {
        node(nodes, "e")["text"] = json!("vier");
        nodes.push(text_node("n", 10, 2 * STEP + 400, "new"));
        nodes.push(json!({ "id": "l", "type": "link", "url": "https://a", "x": 5, "y": 2 * STEP + 5, "width": 9, "height": 9 }));
        nodes.push(text_node("odd", 10, STEP + 400, "odd"));
        node(nodes, "odd")["x"] = json!("no number");
    });
    let file = world.read(&text);
    assert_eq!(
        (changes(&file, "s3").len(), local(&file, "s3").new.len(), local(&file, "s3").strays),
        (1, 1, 1)
    );
    let unsent = |file: &PresentationFile| (local(file, "s3").clone(), file.only_here.clone());
    let target = Some(world.merged(&file, "s3").target);
    let s2 = world.slides[1].1.clone();
    for targets in [
        vec![
            ("s0", Some(vec![])),
            ("s1", world.slides[0].1.clone()),
            ("s2", s2.clone()),
            ("s3", target.clone()),
        ],
        vec![("s2", s2.clone()), ("s3", target.clone())],
        vec![("s3", target.clone()), ("s2", s2), ("s1", world.slides[0].1.clone())],
        // One that could not be compared stays as it is, and goes along all the same.
        vec![("s3", None), ("s1", world.slides[0].1.clone()), ("s2", None)],
    ] {
        let out = world.write(&text, &targets);
        let mut now = world.clone();
        now.slides = targets
            .iter()
            .map(|(id, _)| {
                (
                    slide_id(id),
                    world.all().into_iter().find(|(own, _)| own == id).map_or(Some(vec![]), |own| own.1),
                )
            })
            .collect();
        now.written = Some(out.clone());
        assert_eq!(unsent(&now.read(&out)), unsent(&file), "{out}");
        let order: Vec<&str> = targets.iter().map(|(id, _)| *id).collect();
        let groups = nodes_of(&out).into_iter().filter(|node| node["type"] == "group");
        let groups: Vec<Value> = groups.collect();
        assert_eq!(groups.iter().map(id_of).collect::<Vec<_>>(), order);
        let heights: Vec<i64> = groups.iter().map(|node| node["y"].as_i64().unwrap()).collect();
        assert_eq!(heights, (0..).map(|n| n * STEP).take(order.len()).collect::<Vec<_>>());
    }
    // The presentation gets another format.
    world.size = Size { width: 1080.0, height: 1080.0 };
    assert_eq!(world.read(&text).put_back, Vec::<String>::new());
    let out = world.write(&text, &[("s1", None), ("s2", None), ("s3", target)]);
    assert_eq!(place(&out, "s3"), [0, 2700, 1080, 1080]);
    assert_eq!(world.read(&out).put_back, Vec::<String>::new());
    assert_eq!(unsent(&world.read(&out)), unsent(&file));
}
