//! Which node is which element: ids, copies, kills, and two versions of a file.

use super::*;

#[test]
fn the_same_id_on_two_slides_is_two_nodes_with_ids_of_their_own() {
    let mut world = World::new(vec![
        ("s1", vec![element("a", "text", 10, 20, "one"), element("s2", "text", 10, 200, "like a slide")]),
        ("s2", vec![element("a", "text", 10, 20, "other")]),
    ]);
    let text = world.file();
    world.written = Some(text.clone());
    assert_eq!(ids(&text), ["s1", "a", "s1/s2", "s2", "s2/a"]);
    let file = world.read(&edited(&text, |nodes| node(nodes, "s2/a")["text"] = json!("zwei")));
    assert_eq!(changes(&file, "s2"), [("a".to_owned(), json!({ "content": "zwei" }))]);
    assert!(local(&file, "s1").is_clean() && !local(&file, "s2").aliased);
    // Each can go without the other one.
    for (gone, slide, other) in [("a", "s1", "s2"), ("s2/a", "s2", "s1")] {
        let text = edited(&text, |nodes| nodes.retain(|node| id_of(node) != gone));
        let file = world.read(&text);
        assert_eq!(local(&file, slide).gone.iter().collect::<Vec<_>>(), ["a"], "{gone}");
        assert!(local(&file, other).is_clean(), "{file:?}");
        let mut targets = world.all();
        targets[usize::from(slide == "s2")].1 = Some(world.merged(&file, slide).target);
        assert_eq!(world.write(&text, &targets), text);
    }
    // The first one leaves with its slide, and the other one keeps its id.
    let targets = world.all();
    assert_eq!(ids(&world.write(&text, &targets[1..])), ["s2", "s2/a"]);
}

#[test]
fn an_id_that_a_persons_node_has_is_not_given_again() {
    let mut world = sample();
    let text = edited(&world.file(), |nodes| nodes.push(text_node("f", -500, 0, "a note")));
    world.base("s1").push(element("f", "text", 5, 5, "from the app"));
    let out = sample().write(&text, &world.all());
    assert_eq!(ids(&out).iter().filter(|id| id.ends_with('f')).collect::<Vec<_>>(), ["s1/f", "f"]);
    world.written = Some(out.clone());
    let file = world.read(&out);
    assert!(file.is_clean() && file.only_here.len() == 1, "{file:?}");
}

#[test]
fn an_id_from_before_counts_only_while_the_slides_own_is_not_there() {
    let mut world = sample();
    world.written = None;
    world.groups.insert("g".to_owned(), "s3".to_owned());
    let text = edited(&world.file(), |nodes| nodes.insert(0, group_node("g", [3000, 0, 960, 540])));
    let file = world.read(&text);
    assert_eq!(file.new_slides, [NewSlide { node: "g".to_owned(), nodes: 0 }]);
    assert!(file.slides.iter().all(|slide| local(&file, slide.id.as_str()).is_clean()), "{file:?}");
}

#[test]
fn a_copy_is_made_once_and_the_original_is_the_one_that_did_not_move() {
    let mut world = sample();
    let text = edited(&world.file(), |nodes| {
        let mut twin = node(nodes, "a").clone();
        shift(&mut twin, [0, STEP + 200]);
        nodes.insert(0, twin);
        let mut picture = node(nodes, "d").clone();
        shift(&mut picture, [300, 0]);
        picture["id"] = json!("p");
        nodes.push(picture);
    });
    let file = world.read(&text);
    assert!(local(&file, "s1").is_clean() && file.moves.is_empty(), "{file:?}");
    let [(key, fields)] = local(&file, "s2").new.as_slice() else { panic!("{file:?}") };
    assert_eq!((key.as_str(), &fields["style"]), ("a #2", &json!({ "fontSize": 18.0 })));
    assert_eq!(
        file.only_here,
        [OnlyHere { node: "p".to_owned(), what: LocalOnly::Copy("image".to_owned()) }]
    );
    let mut made = Value::Object(fields.clone());
    made["id"] = json!("f");
    world.base("s2").push(made);
    world.aliases.insert(slide_id("s2"), Aliases::from([("a #2".to_owned(), "f".to_owned())]));
    assert!(world.read(&text).is_clean());
    assert_eq!(ids(&world.settled(&text)), ["s1", "a", "b", "s2", "c", "d", "f", "s3", "e", "p"]);
    // A copy of the whole file is new slides with copies of what was in them.
    let copy = World {
        origins: world.base("s1").iter().map(|e| (id_of(e).to_owned(), e.clone())).collect(),
        ..World::new(vec![])
    };
    let text = sample().file();
    assert_eq!(
        copy.read(&text).new_slides.iter().map(|new| new.node.as_str()).collect::<Vec<_>>(),
        ["s1", "s2", "s3"]
    );
    let strange = copy.with(|known| strange_ids(&text, known));
    assert_eq!(strange.iter().map(String::as_str).collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
    let made = World {
        groups: Aliases::from([("s1".to_owned(), "t1".to_owned())]),
        slides: vec![(slide_id("t1"), Some(vec![]))],
        ..copy
    };
    let kinds: Vec<_> =
        local(&made.read(&text), "t1").new.iter().map(|(_, fields)| fields["type"].clone()).collect();
    assert_eq!(kinds, ["text", "rectangle"]);
}

#[test]
fn what_a_write_brought_before_a_kill_is_known_from_the_service() {
    let mut world = sample();
    let before = world.clone();
    world.base("s1").push(element("f", "text", 400, 300, "new"));
    world.slides.push((slide_id("s4"), Some(vec![element("g", "text", 1, 1, "five")])));
    let text = before.write(&before.file(), &world.all());
    let mut after = before.clone();
    after.slides.push((slide_id("s4"), None));
    let shown = world.slides.iter().map(|(id, elements)| (id.clone(), elements.clone().unwrap()));
    after.shown = shown.collect();
    let file = after.read(&text);
    assert!(file.is_clean(), "{file:?}");
    assert_eq!((slide(&file, "s1").base.len(), slide(&file, "s4").base.len()), (3, 1));
    // A slide that the file never had is not a removed one.
    assert_eq!(slide(&after.read(&before.file()), "s4").state, SlideState::Unwritten);
    after.slides[3].1 = Some(vec![]);
    assert_eq!(slide(&after.read(&before.file()), "s4").state, SlideState::Unwritten);
}

#[test]
fn a_bound_counts_for_what_is_sent() {
    let world = sample();
    let far = edited(&world.file(), |nodes| shift_all(nodes, &["s1", "a", "b"], [5_000_000, -7_000_000_000]));
    assert!(world.read(&far).is_clean());
    assert_eq!(world.settled(&far), far);
    let text = edited(&far, |nodes| {
        shift(node(nodes, "a"), [1, 0]);
        node(nodes, "e")["width"] = json!(200_000);
    });
    let file = world.read(&text);
    assert_eq!(changes(&file, "s1"), [("a".to_owned(), json!({ "x": 11 }))]);
    assert!(
        matches!(&slide(&file, "s3").state, SlideState::Faulty(why) if why.contains("200000")),
        "{file:?}"
    );
}

#[test]
fn the_id_of_the_presentation_is_written_with_something_else() {
    let world = sample();
    let file = world.file();
    let write_all = |world: &World, text: &str| {
        world.with(|known| {
            let targets: Vec<SlideTarget<'_>> =
                world.slides.iter().map(|(id, base)| SlideTarget { id, elements: base.as_deref() }).collect();
            write(text, known, &targets, Some("p-1")).unwrap()
        })
    };
    assert_eq!(write_all(&world, &file), file);
    let mut news = world.clone();
    news.base("s1")[0]["content"] = json!("uno");
    let theirs = file.replacen("{\n", "{\n\t\"mine\":[1.50],\n", 1);
    let out = write_all(&news, &theirs);
    assert_eq!(canvas::claim(&out).as_deref(), Some("p-1"));
    assert!(out.contains("\"mine\":[1.50]") && news.read(&out).is_clean(), "{out}");
    assert_eq!(canvas::claim(&write_all(&world, "")).as_deref(), Some("p-1"));
}

#[test]
fn a_revived_element_is_a_new_node_of_its_slide() {
    let world = sample();
    let mut gone = element("c", "ellipse", 955, -90, "back");
    gone["style"] = json!({ "bold": true });
    let text = world.file();
    let revive = |id: &str, element: &Value| world.with(|known| revive(&text, known, &slide_id(id), element));
    let out = revive("s3", &gone).unwrap();
    let file = world.read(&out);
    let [(key, fields)] = local(&file, "s3").new.as_slice() else { panic!("{file:?}") };
    // Another slide has an element of this id.
    assert_eq!(
        (key.as_str(), &fields["type"], &fields["style"]),
        ("s3/c", &json!("ellipse"), &json!({ "bold": true }))
    );
    assert_eq!((&fields["x"], &fields["y"]), (&json!(860), &json!(-50)), "its middle is within the slide");
    assert!(revive("s2", &gone).unwrap_err().contains("is in the file"));
    assert!(revive("s9", &gone).is_err());
}

#[test]
fn two_versions_with_groups_at_other_places_can_be_put_together() {
    let world = sample();
    let mine = edited(&world.file(), |nodes| {
        shift_all(nodes, &["s2", "c", "d"], [1200, -STEP]);
        node(nodes, "c")["text"] = json!("mine");
        nodes.push(text_node("n", 1300, 300, "new"));
    });
    let copy = world.with(|known| aligned(&mine, &world.file(), known)).unwrap();
    let whole = canvas::resolve(&world.file(), &copy, canvas::Keep::Second).unwrap();
    let file = world.read(&whole);
    assert_eq!(changes(&file, "s2"), [("c".to_owned(), json!({ "content": "mine" }))]);
    assert_eq!((local(&file, "s2").new.len(), place(&whole, "n")), (1, [100, STEP + 300, 100, 50]));
    assert_eq!(place(&whole, "s2"), place(&world.file(), "s2"));
}

#[test]
fn a_node_with_its_own_id_in_its_own_group_is_no_copy_that_was_made_of_it_in_another_slide() {
    let mut world = sample();
    // It was dragged into the second slide and made there, and came back on the first one, where the app had changed it.
    world.base("s2").push(element("f", "text", 30, 300, "one"));
    world.aliases.insert(slide_id("s2"), Aliases::from([("a".to_owned(), "f".to_owned())]));
    let text = world.file();
    assert!(world.read(&text).is_clean());
    // A person removes the one on the second slide.
    let file = world.read(&edited(&text, |nodes| nodes.retain(|node| id_of(node) != "f")));
    assert!(file.moves.is_empty() && local(&file, "s1").is_clean(), "{file:?}");
    assert_eq!(local(&file, "s2").gone.iter().collect::<Vec<_>>(), ["f"]);
    // An earlier text, in which it has the id of the one that it was made of.
    let earlier = edited(&text, |nodes| {
        nodes.retain(|node| id_of(node) != "a");
        node(nodes, "f")["id"] = json!("a");
    });
    let file = world.read(&earlier);
    assert!(local(&file, "s2").is_clean(), "{file:?}");
    assert_eq!(local(&file, "s1").gone.iter().collect::<Vec<_>>(), ["a"]);
}
