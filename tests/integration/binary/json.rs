//! `--json` of every command that reports has the shape that `docs/json.md` gives it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::bench::{Bench, append, paragraph, save, words};

/// What a value has: an object its keys, each with whether it may be missing; an array what is in it.
#[derive(Debug, Clone)]
enum Shape {
    Any,
    Object(BTreeMap<String, (bool, Shape)>),
    Array(Box<Shape>),
}

/// Reads `{a, b?: [{c}]}`.
struct Reader<'t>(&'t str);

impl Reader<'_> {
    fn takes(&mut self, c: char) -> bool {
        let rest = self.0.trim_start();
        let is_it = rest.starts_with(c);
        self.0 = if is_it { &rest[c.len_utf8()..] } else { rest };
        is_it
    }

    fn shape(&mut self) -> Shape {
        if self.takes('[') {
            let inner = self.shape();
            assert!(self.takes(']'), "{}", self.0);
            return Shape::Array(Box::new(inner));
        }
        if !self.takes('{') {
            return Shape::Any;
        }
        let mut keys = BTreeMap::new();
        while !self.takes('}') {
            let end = self.0.find(|c: char| !c.is_ascii_lowercase() && c != '_').expect("an end of a key");
            let key = self.0[..end].to_owned();
            assert!(!key.is_empty(), "{}", self.0);
            self.0 = &self.0[end..];
            let is_optional = self.takes('?');
            let inner = if self.takes(':') { self.shape() } else { Shape::Any };
            keys.insert(key, (is_optional, inner));
            let _last_has_no_comma = self.takes(',');
        }
        Shape::Object(keys)
    }
}

/// The shapes of the document, by command.
fn documented() -> BTreeMap<String, Shape> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.md");
    let text = fs::read_to_string(path).unwrap();
    let mut all = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').collect();
        let shape = Reader(cells[2].split('`').nth(1).unwrap()).shape();
        for command in cells[1].split('`').skip(1).step_by(2) {
            all.insert(command.to_owned(), shape.clone());
        }
    }
    all
}

fn differs(shape: &Shape, value: &Value, at: &str) -> Vec<String> {
    match (shape, value) {
        (Shape::Any, _) | (_, Value::Null) => Vec::new(),
        (Shape::Array(inner), Value::Array(all)) => {
            all.iter().flat_map(|one| differs(inner, one, &format!("{at}[]"))).collect()
        }
        (Shape::Object(keys), Value::Object(map)) => {
            let unknown = map.keys().filter(|key| !keys.contains_key(*key));
            let mut all: Vec<String> = unknown.map(|key| format!("{at}.{key} is not documented")).collect();
            for (key, (is_optional, inner)) in keys {
                match map.get(key) {
                    Some(value) => all.extend(differs(inner, value, &format!("{at}.{key}"))),
                    None if *is_optional => {}
                    None => all.push(format!("{at}.{key} is documented and not there")),
                }
            }
            all
        }
        (shape, value) => vec![format!("{at} is {value}, and documented as {shape:?}")],
    }
}

#[test]
fn every_report_for_programs_has_the_documented_shape() {
    let bench = Bench::with("[storage]\nmode = \"backup\"", |world, space| {
        for title in ["One", "Two", "Three"] {
            let toggle = super::bench::block("t", "toggleListItem", "fold", &serde_json::json!({}));
            world.app_create(space, None, title, vec![paragraph("a", "first words"), toggle]);
        }
        world.app_put_file(None, "a.txt", super::storage::bytes("words"));
    });
    bench.sync();
    let page = |name: &str| bench.page(name).display().to_string();
    // A conflict, a line that is taken for formatting, an edit that waits, and a file that is damaged.
    let id = bench.id("One");
    bench.world().app_edit(&id, vec![paragraph("a", "their words")]);
    save(&bench.page("One.md"), &bench.text("One.md").replace("first", "my"));
    save(&bench.page("Two.md"), &bench.text("Two.md").replace("+ fold", "- fold"));
    assert_eq!(bench.tell(&["sync"]).code, 3, "{}", bench.seen());
    append(&bench.page("Three.md"), "\nmine\n");
    let documented = documented();
    let export = bench.outside("export").display().to_string();
    let mut seen = 0;
    for (name, line) in [
        ("status", vec!["status"]),
        ("status PATH", vec!["status", &page("One.md"), &page("Three.md")]),
        ("list", vec!["list"]),
        ("diff", vec!["diff"]),
        ("resolve", vec!["resolve"]),
        ("approve", vec!["approve", "--dry-run"]),
        ("sync --dry-run", vec!["sync", "--dry-run"]),
        ("sync PATH", vec!["sync", &page("Three.md")]),
        ("log", vec!["log", &page("Three.md")]),
        ("undo", vec!["undo", &page("Three.md")]),
        ("restore", vec!["restore", &page("Three.md"), "--at", "0d"]),
        ("sync", vec!["sync"]),
        ("search", vec!["search", "words"]),
        ("export", vec!["export", &export]),
        ("doctor", vec!["doctor"]),
    ] {
        let told = bench.tell(&[line.as_slice(), &["--json"]].concat());
        let value: Value = serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{name}: {told:?}"));
        let is_empty = value.as_array().is_some_and(Vec::is_empty);
        assert!(!is_empty, "{name} shows nothing: {told:?}\n{}", bench.seen());
        let shape = documented.get(name).unwrap_or_else(|| panic!("docs/json.md lacks {name}"));
        assert_eq!(differs(shape, &value, name), Vec::<String>::new(), "{value:#}");
        seen += 1;
    }
    assert_eq!(seen, documented.len(), "{:?}", documented.keys());
    assert!(words(&bench.content("Three")).contains("first words"));
}
