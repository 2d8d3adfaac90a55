//! The laws of a presentation's file, with any slides.

use proptest::prelude::*;

use super::*;

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (-2_000_i64..2_000).prop_map(Value::from),
        2 => (-2e3_f64..2e3).prop_map(Value::from),
        1 => prop_oneof![Just(json!(1e300)), Just(json!(-9_007_199_254_740_993_i64)), Just(json!(0.5)), Just(json!(-100_000))],
    ]
}

fn side() -> impl Strategy<Value = Value> {
    prop_oneof![
        (1_i64..1_500).prop_map(Value::from),
        (0.1_f64..1e3).prop_map(Value::from),
        Just(json!(100_000))
    ]
}

/// An element; there are so few ids that slides share them.
fn any_element() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![
        Just("text"),
        Just("rectangle"),
        Just("ellipse"),
        Just("image"),
        Just("embed"),
        Just("group")
    ];
    let id = prop_oneof![4 => (0..9_u8).prop_map(|n| format!("e{n}")), 1 => (0..6_u8).prop_map(|n| format!("s{n}"))];
    let style = prop_oneof![
        Just(json!({})),
        Just(json!({ "color": "tomato", "bold": true })),
        Just(json!({ "fill": "#0008" }))
    ];
    (id, kind, number(), number(), side(), side(), ".{0,8}", style).prop_map(|(id, kind, x, y, w, h, content, style)| {
        json!({ "id": id, "type": kind, "x": x, "y": y, "width": w, "height": h, "content": content, "style": style })
    })
}

fn elements() -> impl Strategy<Value = Elements> {
    prop::collection::vec(any_element(), 0..7).prop_map(|mut all: Elements| {
        let mut seen = std::collections::BTreeSet::new();
        all.retain(|element| seen.insert(id_of(element).to_owned()));
        all
    })
}

fn world() -> impl Strategy<Value = World> {
    let sides = prop_oneof![Just((960.0, 540.0)), Just((1080.0, 1080.5)), Just((300.0, 100.0))];
    (sides, prop::collection::vec(elements(), 0..6)).prop_map(|((width, height), slides)| {
        let ids = ["s0", "s1", "s2", "s3", "s4", "s5"];
        let mut world = World::new(ids.into_iter().zip(slides).collect());
        world.size = Size { width, height };
        world
    })
}

/// What programs do without meaning anything: other white space, another order of keys and nodes.
fn resaved(text: &str, how: u8) -> String {
    let mut value: Value = serde_json::from_str(text).unwrap();
    if how & 4 != 0 {
        value["nodes"].as_array_mut().unwrap().reverse();
    }
    match how % 3 {
        0 => value.to_string(),
        1 => serde_json::to_string_pretty(&value).unwrap(),
        _ => serde_json::to_string_pretty(&value).unwrap().replace('\n', "\r\n"),
    }
}

/// Moves some groups, each with its nodes.
fn rearranged(world: &World, text: &str, by: &[[i64; 2]]) -> String {
    let mut whose: BTreeMap<String, usize> = BTreeMap::new();
    let mut slide = 0;
    for node in nodes_of(text) {
        // A written file has each group before its elements.
        slide = world.slides.iter().position(|(id, _)| id.as_str() == id_of(&node)).unwrap_or(slide);
        whose.insert(id_of(&node).to_owned(), slide);
    }
    edited(text, |nodes| {
        for node in nodes {
            shift(node, by.get(whose[id_of(node)]).copied().unwrap_or_default());
        }
    })
}

fn distances() -> impl Strategy<Value = Vec<[i64; 2]>> {
    let one = prop_oneof![Just([0, 0]), [-3_000_i64..3_000, -3_000_i64..3_000], Just([700_000_000, -5])];
    prop::collection::vec(one, 6)
}

#[track_caller]
fn ids_are_unique(text: &str) -> bool {
    let ids = ids(text);
    let apart: std::collections::BTreeSet<&String> = ids.iter().collect();
    apart.len() == ids.len()
}

/// What a file says of each slide, element by element, from its group on.
fn said(world: &World, text: &str) -> Vec<Elements> {
    world.read(text).slides.iter().map(|slide| slide.base.clone()).collect()
}

proptest! {
    #[test]
    fn what_is_written_reads_back_as_nothing_new(world in world(), how: u8, knows_written: bool) {
        let written = world.file();
        let world = World { written: knows_written.then(|| written.clone()), ..world };
        prop_assert!(ids_are_unique(&written), "{written}");
        let text = resaved(&written, how);
        let file = world.read(&text);
        prop_assert!(file.is_clean() && file.only_here.is_empty() && !file.aliased, "{file:?}\n{text}");
        prop_assert_eq!(said(&world, &text), world.slides.iter().map(|(_, base)| base.clone().unwrap()).collect::<Vec<_>>());
        prop_assert_eq!(world.settled(&text), text);
    }

    #[test]
    fn groups_may_stand_anywhere_with_what_is_in_them(world in world(), by in distances(), how: u8, knows_written: bool) {
        let written = world.file();
        let text = resaved(&rearranged(&world, &written, &by), how);
        let world = World { written: knows_written.then_some(written), ..world };
        let file = world.read(&text);
        prop_assert!(file.is_clean() && file.moves.is_empty(), "{file:?}\n{text}");
        prop_assert_eq!(world.settled(&text), text);
    }

    #[test]
    fn a_write_says_its_target_and_keeps_what_is_the_users(
        from in world(), to in world(), by in distances(), turn in 0_usize..6, how: u8, knows_written: bool,
    ) {
        let written = from.file();
        let mut canvas: Value = serde_json::from_str(&rearranged(&from, &written, &by)).unwrap();
        let strays = [
            json!({ "id": "link", "type": "link", "url": "https://a", "x": 10, "y": 20, "width": 30, "height": 40 }),
            json!({ "id": "note", "type": "text", "text": "a note", "x": -90_000, "y": 0, "width": 30, "height": 40 }),
        ];
        canvas["nodes"].as_array_mut().unwrap().splice(0..0, strays);
        canvas["mine"] = json!({ "kept": true });
        let text = resaved(&canvas.to_string(), how);
        let from = World { written: knows_written.then_some(written), size: to.size, ..from };
        // Some slides change, some go, some come, in another order.
        let mut targets = to.all();
        if !targets.is_empty() {
            let turn = turn % targets.len();
            targets.rotate_left(turn);
        }
        let out = from.write(&text, &targets);
        let after = World {
            slides: targets.iter().map(|(id, elements)| (slide_id(id), elements.clone())).collect(),
            written: Some(out.clone()),
            ..from.clone()
        };
        let file = after.read(&out);
        prop_assert!(ids_are_unique(&out), "{out}");
        prop_assert!(file.is_clean(), "{file:?}\n{text}\n{out}");
        prop_assert_eq!(said(&after, &out), targets.iter().map(|(_, elements)| elements.clone().unwrap()).collect::<Vec<_>>());
        let only: Vec<&str> = file.only_here.iter().map(|only| only.node.as_str()).collect();
        prop_assert!(only.len() == 2 && only.contains(&"link") && only.contains(&"note"), "{only:?}\n{out}");
        prop_assert!(out.contains("\"kept\""), "{}", out);
        prop_assert_eq!(after.write(&out, &targets), out.clone(), "once is enough");
    }

    #[test]
    fn an_edit_is_found_on_its_slide_and_on_no_other(world in world(), by in distances(), which in 0_usize..40) {
        let written = world.file();
        let text = rearranged(&world, &written, &by);
        let world = World { written: Some(written), ..world };
        let all: Vec<(&SlideId, &Value)> = world.slides.iter()
            .flat_map(|(id, base)| base.iter().flatten().map(move |element| (id, element)))
            .filter(|(_, element)| ["text", "rectangle", "ellipse"].contains(&element["type"].as_str().unwrap()))
            .collect();
        prop_assume!(!all.is_empty());
        let (slide_id, element) = all[which % all.len()];
        // Each text of the sample may occur more than once, so the node is found by its id.
        let full = format!("{}/{}", slide_id.as_str(), id_of(element));
        let names = ids(&text);
        let id = if names.contains(&full) { full } else { id_of(element).to_owned() };
        let text = edited(&text, |nodes| node(nodes, &id)["text"] = json!("quite another text"));
        let file = world.read(&text);
        for slide in &file.slides {
            let expected = if slide.id == *slide_id { vec![id_of(element).to_owned()] } else { vec![] };
            let changed: Vec<String> = changes(&file, slide.id.as_str()).into_iter().map(|(id, _)| id).collect();
            prop_assert_eq!(changed, expected);
        }
    }

    #[test]
    fn a_page_is_well_formed(world in world(), name in ".{0,12}") {
        let pictures: Vec<SlidePicture<'_>> = world.slides.iter()
            .map(|(_, base)| SlidePicture { elements: base.as_deref().unwrap(), extras: &[], background: &Value::Null, name: Some(&name) })
            .collect();
        let text = html(&name, world.size, &pictures);
        for tag in ["section", "svg", "text", "h2", "div"] {
            let opened = text.matches(&format!("<{tag} ")).count() + text.matches(&format!("<{tag}>")).count();
            prop_assert_eq!(opened, text.matches(&format!("</{tag}>")).count(), "{}", tag);
        }
        prop_assert!(!text.contains("NaN") && !text.contains("inf\""));
    }

    #[test]
    fn nothing_panics_whatever_the_file_holds(text in "[\\[\\]{}\",:a1 nodesidxy\\-.]{0,60}", world in world(), spoil in any::<(u16, u8)>()) {
        let odd = World { written: Some(text.clone()), ..world.clone() };
        let file = world.file();
        let mut canvas: Value = serde_json::from_str(&file).unwrap();
        let nodes = canvas["nodes"].as_array_mut().unwrap();
        let count = nodes.len().max(1);
        if let Some(node) = nodes.get_mut(usize::from(spoil.0) % count) {
            let key = ["x", "y", "width", "height", "type", "label"][usize::from(spoil.1) % 6];
            node[key] = [json!(null), json!(-1e308), json!("group"), json!([])][usize::from(spoil.1) / 6 % 4].clone();
        }
        for text in [text.as_str(), canvas.to_string().as_str()] {
            odd.with(|known| {
                let _odd = read(text, known);
                let targets: Vec<SlideTarget<'_>> =
                    world.slides.iter().map(|(id, base)| SlideTarget { id, elements: base.as_deref() }).collect();
                if let Ok(out) = write(text, known, &targets, Some("p")) {
                    assert!(serde_json::from_str::<Value>(&out).is_ok(), "{out}");
                }
            });
        }
    }
}
