//! Whatever people do to a file, reading, merging and writing in turns ends in agreement: no word is lost, and nothing is
//! made twice.

use proptest::prelude::*;

use super::*;

/// What a person does to one node, or beside it.
#[derive(Debug, Clone)]
enum Act {
    Drag([i64; 2]),
    DragGroup([i64; 2]),
    Remove,
    RemoveGroup {
        alone: bool,
    },
    Rewrite,
    Resize,
    /// A copy at this distance, with the id of its original or another one.
    Copy([i64; 2], bool),
    Add([i64; 2]),
    AddGroup([i64; 4]),
    Reverse,
}

fn act() -> impl Strategy<Value = Act> {
    let by = || [-1_500_i64..1_500, -1_500_i64..1_500];
    prop_oneof![
        4 => by().prop_map(Act::Drag),
        2 => by().prop_map(Act::DragGroup),
        1 => Just(Act::Remove),
        1 => any::<bool>().prop_map(|alone| Act::RemoveGroup { alone }),
        1 => Just(Act::Rewrite),
        1 => Just(Act::Resize),
        2 => (by(), any::<bool>()).prop_map(|(by, with_id)| Act::Copy(by, with_id)),
        2 => by().prop_map(Act::Add),
        1 => [-2_000_i64..3_000, -2_000_i64..3_000, 50_i64..1_500, 50_i64..1_500].prop_map(Act::AddGroup),
        1 => Just(Act::Reverse),
    ]
}

fn people_do(text: &str, acts: &[(usize, Act)]) -> String {
    edited(text, |nodes| {
        for (turn, (at, act)) in acts.iter().enumerate() {
            let at = at % nodes.len().max(1);
            let Some(own) = nodes.get(at).cloned() else { continue };
            let group = (0..=at).rev().find(|at| nodes[*at]["type"] == "group");
            let inside = group.map_or(0..0, |group| {
                let rest = nodes[group + 1..].iter().take_while(|node| node["type"] != "group");
                group..group + 1 + rest.count()
            });
            let new = format!("new-{turn}");
            match act {
                Act::Drag(by) => shift(&mut nodes[at], *by),
                Act::DragGroup(by) => nodes[inside].iter_mut().for_each(|node| shift(node, *by)),
                Act::Remove => drop(nodes.remove(at)),
                Act::RemoveGroup { alone: true } => drop(group.map(|group| nodes.remove(group))),
                Act::RemoveGroup { alone: false } => drop(nodes.drain(inside)),
                Act::Rewrite => nodes[at]["text"] = json!(format!("rewritten {turn}")),
                Act::Resize => nodes[at]["width"] = json!(321),
                Act::Copy(by, with_id) => {
                    let mut copy = own;
                    shift(&mut copy, *by);
                    if !with_id {
                        copy["id"] = json!(new);
                    }
                    nodes.push(copy);
                }
                Act::Add([x, y]) => nodes.push(text_node(&new, *x, *y, &format!("words {turn}"))),
                Act::AddGroup(area) => nodes.insert(0, group_node(&new, *area)),
                Act::Reverse => nodes.reverse(),
            }
        }
    })
}

/// One turn of an engine, with a service that does what it is asked.
fn turn(world: &mut World, text: &str, made: &mut usize) -> String {
    let file = world.read(text);
    let before = world.clone();
    let mut targets: Vec<(String, Option<Elements>)> = Vec::new();
    for (slide, (id, base)) in file.slides.iter().zip(world.slides.clone()) {
        let SlideState::Here(local) = &slide.state else {
            assert_eq!(slide.state, SlideState::Removed, "{text}");
            targets.push((id.as_str().to_owned(), base));
            continue;
        };
        let merged = canvas::merge(Surface::Slide, &slide.base, &slide.base, local, false);
        assert!(merged.collisions.is_empty());
        for op in &merged.ops {
            match op {
                Op::Update { id: element, fields } => {
                    let known = world.base(id.as_str()).iter_mut();
                    known
                        .filter(|e| id_of(e) == element.as_str())
                        .for_each(|e| *e = canvas::changed(e, fields));
                }
                Op::Delete { id: element } => {
                    world.base(id.as_str()).retain(|e| id_of(e) != element.as_str())
                }
                Op::Create { node, fields, .. } => {
                    *made += 1;
                    let mut element = Value::Object(fields.clone());
                    element["id"] = json!(format!("made-{made}"));
                    let aliases = world.aliases.entry(id.clone()).or_default();
                    aliases.insert(node.clone(), id_of(&element).to_owned());
                    world.base(id.as_str()).push(element);
                }
            }
        }
        targets.push((id.as_str().to_owned(), Some(merged.target)));
    }
    let targets: Vec<(&str, Option<Elements>)> =
        targets.iter().map(|(id, elements)| (id.as_str(), elements.clone())).collect();
    let out = before.write(text, &targets);
    for new in &file.new_slides {
        *made += 1;
        let id = format!("slide-{made}");
        world.groups.insert(new.node.clone(), id.clone());
        world.slides.push((slide_id(&id), Some(vec![])));
    }
    if out != text {
        world.written = Some(out.clone());
    }
    out
}

/// The words in a file's text nodes, in order.
fn words(text: &str) -> Vec<String> {
    let nodes = nodes_of(text).into_iter().filter(|node| node["type"] == "text");
    let mut words: Vec<String> = nodes.map(|node| node["text"].as_str().unwrap().to_owned()).collect();
    words.sort();
    words
}

proptest! {
    #[test]
    fn whatever_people_do_ends_in_agreement(
        counts in prop::collection::vec(0_usize..4, 0..5),
        places in prop::collection::vec([-300_i64..1_200, -200_i64..700], 16),
        acts in prop::collection::vec((0_usize..30, act()), 1..6),
        knows_written: bool,
    ) {
        let mut places = places.into_iter().cycle();
        let mut number = 0;
        let slides = counts.iter().enumerate().map(|(slide, count)| {
            let elements = (0..*count).map(|index| {
                number += 1;
                let [x, y] = places.next().unwrap();
                let kind = ["text", "rectangle", "image"][number % 3];
                element(&format!("e{}", if index == 2 { 0 } else { number }), kind, x, y, &format!("element {number}"))
            });
            (["s0", "s1", "s2", "s3", "s4"][slide], elements.collect())
        });
        let mut world = World::new(slides.collect());
        let written = world.file();
        let before = people_do(&written, &acts);
        world.written = knows_written.then(|| written.clone());
        let removed: Vec<String> = world.read(&before).slides.iter()
            .filter(|slide| slide.state == SlideState::Removed)
            .flat_map(|slide| slide.base.iter().map(|element| element["content"].as_str().unwrap().to_owned()))
            .collect();

        let mut text = before.clone();
        let mut made = 0;
        for _ in 0..8 {
            text = turn(&mut world, &text, &mut made);
        }
        let file = world.read(&text);
        prop_assert!(file.is_clean(), "{file:?}\n{before}\n{text}");
        prop_assert_eq!(world.settled(&text), text.clone());
        // Nothing of it depends on ids that were given in between.
        world.groups.clear();
        world.aliases.clear();
        prop_assert!(world.read(&text).is_clean(), "{before}\n{text}");
        let (was, is) = (words(&before), words(&text));
        for word in &was {
            // The words of an image are the service's.
            let is_theirs = word.starts_with("**image**") || word.starts_with("rewritten");
            prop_assert!(is_theirs || is.contains(word), "{word} is lost\n{before}\n{text}");
        }
        let count = |all: &[String], word: &String| all.iter().filter(|other| *other == word).count();
        for word in &is {
            let is_back = removed.iter().any(|back| word.contains(back.as_str())) || word.starts_with("**image**");
            prop_assert!(is_back || count(&is, word) <= count(&was, word), "{word} is there twice\n{before}\n{text}");
        }
    }
}
