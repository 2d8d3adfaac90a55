//! The page of a presentation, and what of a file is on its pictures.

use super::*;

fn page(name: &str, size: Size, slides: &[(&Elements, &Elements, Option<&str>)]) -> String {
    let ground = json!({ "color": "#102030" });
    let slides: Vec<SlidePicture<'_>> = slides
        .iter()
        .map(|(elements, extras, name)| SlidePicture { elements, extras, background: &ground, name: *name })
        .collect();
    html(name, size, &slides)
}

#[test]
fn a_page_has_a_section_for_each_slide_and_a_sheet_of_its_size() {
    let (world, none) = (sample(), Elements::new());
    let slides: Vec<&Elements> = world.slides.iter().filter_map(|(_, base)| base.as_ref()).collect();
    let text = page("Pitch & more", SIZE, &[(slides[0], &none, None), (slides[1], &none, Some("<End>"))]);
    assert!(text.contains("@page{size:960px 540px;margin:0}"), "{text}");
    assert!(text.contains("<title>Pitch &amp; more</title>") && text.contains("<html lang=\"en\">"));
    assert_eq!(text.matches("<section id=").count(), 2);
    assert!(
        text.contains("Slide 1 of 2</h2>")
            && text.contains("Slide 2 of 2: <span lang=\"\">&lt;End&gt;</span></h2>")
    );
    assert_eq!((text.matches(" viewBox=\"0 0 960 540\"").count(), text.matches("#102030").count()), (2, 2));
    assert!(text.contains(">one<") && text.contains("ArrowRight"));
    // Names inside one picture are not those of the next.
    let names: Vec<&str> =
        text.split("<clipPath id=\"").skip(1).filter_map(|part| part.split('"').next()).collect();
    let apart: std::collections::BTreeSet<&&str> = names.iter().collect();
    assert!(names.len() > 1 && names.len() == apart.len(), "{names:?}");
    let empty = page("Empty", Size { width: f64::NAN, height: -3.0 }, &[]);
    assert!(empty.contains("no slides") && empty.contains("@page{size:1px 1px;margin:0}"), "{empty}");
}

#[test]
fn a_page_fetches_nothing_and_runs_no_word_of_a_slide() {
    for hostile in
        ["</section></svg><script>alert(1)</script>", "\" onload=\"alert(1)", "https://x.example/a.png"]
    {
        let elements = vec![element("a", "text", 0, 0, hostile), element(hostile, hostile, 0, 0, hostile)];
        let text = page(hostile, SIZE, &[(&elements, &elements, Some(hostile))]);
        assert_eq!(text.matches("<script>").count(), 1, "{text}");
        assert!(!text.contains("onload=\"") && !text.contains("<img") && !text.contains("<link"), "{text}");
        let tags: String = text.split('<').map(|part| part.split('>').next().unwrap_or_default()).collect();
        assert!(!tags.contains("src=") && !tags.contains("href=") && !tags.contains("x.example"), "{tags}");
        assert!(text.contains("default-src 'none'"));
    }
}

#[test]
fn what_a_person_adds_to_a_slide_is_on_its_picture() {
    let mut world = sample();
    let mut canvas: Value = serde_json::from_str(&world.file()).unwrap();
    let nodes = canvas["nodes"].as_array_mut().unwrap();
    let link = |id: &str, y: i64| json!({ "id": id, "type": "link", "url": "https://a.example", "x": 100, "y": y, "width": 80, "height": 40 });
    nodes.push(link("l", STEP + 300));
    nodes.push(link("outside", 5 * STEP));
    nodes.push(json!({ "id": "f", "type": "file", "file": "Notes/Plan.md", "x": 300, "y": STEP + 300, "width": 80, "height": 40 }));
    nodes.push(group_node("g", [90, STEP + 290, 300, 60]));
    node(nodes, "g")["label"] = json!("Sources");
    canvas["edges"] = json!([
        { "id": "1", "fromNode": "l", "fromSide": "right", "toNode": "f", "toSide": "left", "label": "see" },
        { "id": "2", "fromNode": "l", "toNode": "a" },
        { "id": "3", "fromNode": "c", "toNode": "nowhere" }
    ]);
    let text = canvas.to_string();
    let file = world.read(&text);
    assert!(file.is_clean() && slide(&file, "s1").extras.is_empty(), "{file:?}");
    let whats: Vec<&LocalOnly> = file.only_here.iter().map(|only| &only.what).collect();
    use LocalOnly::{Edge, File, Group, Link};
    assert_eq!(whats, [&Link, &Link, &File, &Group, &Edge, &Edge, &Edge]);
    let extras = &slide(&file, "s2").extras;
    let words: Vec<&str> = extras.iter().filter_map(|extra| extra["content"].as_str()).collect();
    assert_eq!(words, ["https://a.example", "Plan.md", "", "Sources", "", "see"]);
    let line = extras.iter().find(|extra| extra["type"] == "connector").unwrap();
    assert_eq!(
        ["x", "y", "width", "height"].map(|key| line[key].as_f64().unwrap()),
        [180.0, 320.0, 120.0, 0.0]
    );
    let base = world.slides[1].1.clone().unwrap();
    let drawn = page("Pitch", SIZE, &[(&base, extras, None)]);
    assert!(
        drawn.contains(">Plan.md<") && drawn.contains(">Sources<") && drawn.contains("<line x1=\"180\""),
        "{drawn}"
    );
    // They go along when the group moves to another place, and the edges stay.
    let mut targets = world.all();
    targets.insert(0, ("s0", Some(vec![])));
    let out = world.write(&text, &targets);
    world.slides.insert(0, (slide_id("s0"), Some(vec![])));
    assert_eq!(place(&out, "outside"), place(&text, "outside"));
    assert_eq!(slide(&world.read(&out), "s2").extras, *extras);
}
