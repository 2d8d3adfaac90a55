//! Nothing that a file can hold, and no change of the app beside it, makes a step panic. Documents of every kind, with bytes and
//! lines cut, doubled and swapped, are read, printed, told, spliced and read back. `ESPEJO_CASES` sets how many, `ESPEJO_FROM`
//! the seed; `ESPEJO_DOCUMENTS=DIR` takes the Markdown beneath a folder as well.

use std::path::Path;

use serde_json::{Value, json};

use super::corpus;
use crate::markdown::{
    Allowed, front_matter, marks_of_page, merge_marks, parse, parse_content, patch_for, patched, render,
    render_for, settled, told, unclosed,
};
use crate::model::tests::{cases, first};
use crate::model::{BodyJson, guarded};

/// Each line is a document with one construct whose place is computed from a tag's or an event's range.
const CONSTRUCTS: &[&str] = &[
    "See [foo] here.\n\n[foo]: <https://example.org/a>\n",
    "[foo]: <>\n\n[foo]\n",
    "> Mira [la guía][g].\n>\n> [g]: <https://example.org/á>\n> \n\nfin\n",
    "Lee [la guía “Añil”](guia.md)<!-- revisar --> con calma.\n",
    "<!-- uno --><!-- dos -->[añil](guia.md)<!-- tres --> y `código`<!-- ñ -->\n",
    "1986. Un año <!-- ¿cuál? -->[así](a.md)\n1987. otro\n",
    "a %%oculto é%% b %%\nvarias\n%% c\n",
    "| a | b |\n|:--|--:|\n| é<!-- x --> | [l](m.md) |\n",
    "$$\n\\alpha é\n\nx\n$$\n\n- $$ y $$\n",
    ":::note é\ntexto\n:::\n\n!!! tip \"Ñ\"\n    cuerpo\n",
    "Término\n: definición <!-- é -->\n\n[^1]: Nota ñ\n    más\n\ntexto[^1]\n",
    "> [!NOTE] Título é\n> - uno\n>   <!-- c -->\n>   - dos\n",
    "---\ntitle: ñ\nid: \"x\"\n---\n<u>é<b>x</u></b> \\\né  \n&amp;&#x1F600;\n",
    "- [ ] é\n  <!-- children -->\n\n  hijo\n\n  <!-- /children -->\n+ plegable\n\n  dentro\n",
    "<!-- block: table 0000 --> <!-- empty -->\n\n![é](a.png \"t\")<!-- file -->\n\n```ñ\n<!-- x -->\n```\n",
];

struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most.max(1) as u64).unwrap()
    }
}

fn documents() -> Vec<String> {
    let mut all: Vec<String> = CONSTRUCTS.iter().map(|text| (*text).to_owned()).collect();
    all.push(CONSTRUCTS.concat());
    all.extend(corpus::documents().iter().map(|(_, blocks)| render(blocks).text));
    if let Some(folder) = std::env::var_os("ESPEJO_DOCUMENTS") {
        beneath(Path::new(&folder), &mut all);
    }
    all
}

fn beneath(folder: &Path, all: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            beneath(&path, all);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            all.extend(std::fs::read_to_string(path));
        }
    }
}

/// A part of a document of a few thousand bytes: long ones would take all the time.
fn part(text: &str, random: &mut Random) -> String {
    const MOST: usize = 3_000;
    let from = text.floor_char_boundary(random.below(text.len().saturating_sub(MOST) + 1));
    text[from..text.floor_char_boundary(from + MOST)].to_owned()
}

fn mutated(mut text: String, other: &str, random: &mut Random) -> String {
    for _ in 0..random.below(4) {
        let place = |text: &str, random: &mut Random| text.floor_char_boundary(random.below(text.len() + 1));
        let (a, b) = (place(&text, random), place(&text, random));
        let (a, b) = (a.min(b), b.max(a));
        let b = if random.below(2) == 0 { text.ceil_char_boundary((a + 1).min(text.len())) } else { b };
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let (i, j) = (random.below(lines.len()), random.below(lines.len()));
        text = match random.below(8) {
            0 => [&text[..a], &text[b..]].concat(),
            1 => [&text[..b], &text[a..]].concat(),
            2 => [&text[..a], other, &text[a..]].concat(),
            3 if !lines.is_empty() => {
                lines.remove(i);
                lines.concat()
            }
            4 if !lines.is_empty() => {
                lines.insert(j, lines[i]);
                lines.concat()
            }
            5 if !lines.is_empty() => {
                lines.swap(i, j);
                lines.concat()
            }
            6 => text.replace('\n', ["\r\n", "\r", "\n\n", "\n> "][random.below(4)]),
            _ => [
                &text[..a],
                ["[", "]:", "<", ">", "`", "<!--", "-->", "%%", "$$", "é", "\\", "\t", "\u{feff}", "|", "*"]
                    [random.below(15)],
                &text[a..],
            ]
            .concat(),
        };
    }
    text
}

/// A change of the app to one block.
fn changed(blocks: &[Value], random: &mut Random) -> Vec<Value> {
    let mut out = blocks.to_vec();
    if out.is_empty() {
        return vec![json!({"id": "n", "type": "paragraph", "props": {}, "content": [], "children": []})];
    }
    let at = random.below(out.len());
    match random.below(4) {
        0 => drop(out.remove(at)),
        1 => {
            let to = random.below(out.len());
            out.swap(at, to);
        }
        _ => match out[at]["content"].as_array_mut().and_then(|runs| runs.first_mut()) {
            Some(run) if run["text"].is_string() => {
                let text = run["text"].as_str().unwrap().to_owned();
                let place = text.floor_char_boundary(random.below(text.len() + 1));
                run["text"] = json!([&text[..place], " ñu ", &text[place..]].concat());
            }
            _ => out[at]["content"] = json!([{"type": "text", "text": "é", "styles": {"bold": true}}]),
        },
    }
    out
}

fn all_steps(text: &str, random: &mut Random) {
    for allowed in [Allowed::documented(), Allowed::all()] {
        let ids = || {
            let mut next = 0;
            move || {
                next += 1;
                format!("b{next}")
            }
        };
        let body = front_matter::split(text).map_or(text, |split| split.body);
        drop(front_matter::set(text, Some("x"), Some("ñ: #"), Some("🪞")));
        let blocks = parse(body, &[], &allowed, &mut ids());
        let shown = render_for(&blocks, &allowed).text;
        drop(parse(&shown, &blocks, &allowed, &mut ids()));
        drop(told(body, &blocks));
        drop(settled(body, &blocks, &allowed));
        if let Some(open) = unclosed(body) {
            assert!(open.line > 0);
        }
        assert!(merge_marks(body).is_none_or(|marks| marks.line > 0));
        assert!(marks_of_page(&shown) <= shown.len());
        let remote = changed(&blocks, random);
        let spliced = patch_for(body, &blocks, &remote, &allowed);
        drop(parse(&spliced, &remote, &allowed, &mut ids()));
        let (old, new) = (BodyJson::of(&blocks), BodyJson::of(&remote));
        patched(body, &old, &new).unwrap();
        parse_content(&spliced, &old, &allowed, &mut ids()).unwrap();
    }
}

#[test]
fn no_text_and_no_change_makes_a_step_panic() {
    let documents = documents();
    let from = first();
    for seed in from..from + u64::from(cases(200)) {
        let mut random = Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let text = part(&documents[random.below(documents.len())], &mut random);
        let other = part(&documents[random.below(documents.len())], &mut random);
        let other = &other[..other.floor_char_boundary(40)];
        let text = mutated(text, other, &mut random);
        let steps = guarded(|| all_steps(&text, &mut random));
        assert!(steps.is_ok(), "seed {seed}: {text:?}");
    }
}

/// The smallest stack in use: that of the threads for blocking work.
const STACK: usize = 2 << 20;

#[test]
fn what_is_nested_without_end_is_read_on_the_smallest_stack() {
    let deep = |sign: &str, of: &str, count: usize| sign.repeat(count) + of + "\n";
    let items = |count: usize| (0..count).map(|n| " ".repeat(2 * n) + "- x\n").collect::<String>();
    let texts = [
        deep(">", " x", 20_000),
        deep("> ", "- x", 2_000),
        deep("- ", "x", 3_000),
        deep("1. > + ", "x", 1_000),
        deep("[", "x", 20_000),
        deep("![", "x](y)", 5_000),
        deep("**a *b ", "x", 5_000),
        deep("<u>", "x", 20_000),
        deep("<!-- children -->\n\n", "x", 2_000),
        deep("\\(", "x", 20_000),
        items(600),
    ];
    for text in texts {
        let begun = text[..20].to_owned();
        let read =
            std::thread::Builder::new().stack_size(STACK).spawn(move || all_steps(&text, &mut Random(7)));
        assert!(read.unwrap().join().is_ok(), "{begun}");
    }
}

#[test]
fn a_definition_in_angle_brackets_and_a_comment_behind_a_local_link_stay() {
    let patched = |text: &str, block: usize, more: &str| {
        let blocks = super::read(text, &[]);
        let mut remote = blocks.clone();
        let runs = remote[block]["content"].as_array_mut().unwrap();
        let last = runs.last_mut().unwrap();
        let said = last["text"].as_str().unwrap().to_owned() + more;
        last["text"] = json!(said);
        patch_for(text, &blocks, &remote, &Allowed::documented())
    };
    let text = "Mira [la guía][g] antes de salir.\n\n[g]: <https://example.org/guia>\n";
    let after = patched(text, 0, " Hoy.");
    assert!(
        after.contains("salir. Hoy.\n") && after.contains("\n[g]: <https://example.org/guia>\n"),
        "{after}"
    );
    let text = "Lee [la guía “Añil”](guia.md)<!-- revisar --> con calma.\n";
    let after = patched(text, 0, " Ya.");
    assert!(after.ends_with("[la guía “Añil”](guia.md)<!-- revisar --> con calma. Ya.\n"), "{after}");
    assert_eq!(super::read("[foo]: <>\n\n[foo]\n", &[]).len(), 2);
}
