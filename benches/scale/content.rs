//! What pages, names and files of the workspace say, made from a number: the same for each run, like what teams write. No
//! dictionary is kept: beside some hundred common words there are thousands made of syllables, and a few are used mostly.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::blocks::paragraph;

/// Stands in the first block of every page.
pub(crate) const WORDS: &str = "as it was made";
const COMMON: &str = "the of and to in for is on that by this with we it not or be are from at as all have new more an was \
    will home can us about if page my has search free but our one other do no information time they site he up may what \
    which their news out use any there see only so his when contact here business who web also now help get pm view online \
    de la el en los que del se las por un para con no una su al lo como más o pero sus le ya este sí porque esta entre \
    cuando muy sin sobre también me hasta hay donde quien desde todo nos durante reunión proyecto equipo cliente semana \
    decisión revisión versión propuesta entrega presupuesto próximo año mañana después información también café diseño \
    roadmap budget meeting notes owner status risk review launch customer contract deadline decision question answer draft \
    Übersicht Größe für über naïve façade résumé déjà coöperate jalapeño Zürich São Ångström";
static WORDS_IN_USE: LazyLock<Vec<&str>> = LazyLock::new(|| COMMON.split_whitespace().collect());
const SYLLABLES: [&str; 40] = [
    "ra", "te", "mi", "so", "lu", "ca", "de", "ri", "no", "ta", "per", "con", "tion", "ver", "sal", "ment",
    "gra", "pro", "fi", "bo", "ción", "dad", "tro", "que", "lla", "ño", "pla", "ster", "ing", "ful", "der",
    "ham", "ly", "va", "ne", "ou", "ia", "es", "ar", "um",
];
const VOCABULARY: u64 = 24_000;
const MOST_BLOCKS: f64 = 2_000.0;
const MOST_BYTES: f64 = 3e6;
const HEADS: [&str; 16] = [
    "Reunión",
    "Notes",
    "Propuesta",
    "Übersicht",
    "Café",
    "Roadmap",
    "Análisis",
    "Q&A",
    "Plan",
    "Diseño",
    "Résumé",
    "Budget",
    "Año",
    "Interview",
    "São Paulo",
    "Decisions",
];

/// Numbers by chance, the same for the same beginning (splitmix64).
pub(crate) struct Luck(u64);

impl Luck {
    pub(crate) fn of(kind: u64, n: usize) -> Self {
        Self((kind << 48) ^ (n as u64).wrapping_mul(0xd129_0d3f_43a5_1b27))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    /// From 0 to 1, never 0.
    fn share(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// A word; the second is half as frequent as the first, and so on.
    fn word(&mut self) -> String {
        let rank = (VOCABULARY as f64).powf(self.share()) as usize;
        match WORDS_IN_USE.get(rank) {
            Some(word) => (*word).to_owned(),
            None => {
                let mut made = Luck::of(9, rank);
                (0..2 + made.below(3)).map(|_| SYLLABLES[made.below(SYLLABLES.len())]).collect()
            }
        }
    }

    fn words(&mut self, count: usize) -> String {
        let words: Vec<String> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }

    /// A sentence of some words; most are short.
    fn sentence(&mut self) -> String {
        let count = 3 + (self.below(6) * self.below(6));
        self.words(count)
    }
}

/// A page's title: two pages never have the same.
pub(crate) fn title(n: usize) -> String {
    let mut luck = Luck::of(1, n);
    let count = luck.below(3);
    let (head, words) = (HEADS[luck.below(HEADS.len())], luck.words(count));
    if words.is_empty() { format!("{head} {n:05}") } else { format!("{head} {words} {n:05}") }
}

/// How many blocks a page has: half have up to five, one in fifteen more than 30, one in 200 more than 300.
fn blocks_of(n: usize) -> usize {
    let share = Luck::of(2, n).share();
    (share.powf(-0.85) * 3.0 - 2.0).min(MOST_BLOCKS) as usize
}

/// A page's content: a fifth of the pages have blocks that the API document does not describe.
pub(crate) fn page(n: usize) -> Vec<Value> {
    let mut luck = Luck::of(3, n);
    let first = format!("Line 0 of page {n}, {WORDS}: {}", luck.sentence());
    let mut content = vec![paragraph(&format!("{n}-0"), &first)];
    let is_mixed = n % 5 == 2;
    for at in 1..blocks_of(n).max(1 + 3 * usize::from(is_mixed)) {
        let id = format!("{n}-{at}");
        let odd = is_mixed && (at <= 3 || luck.below(8) == 0);
        content.push(if odd { undescribed(&mut luck, &id) } else { described(&mut luck, &id, 0) });
    }
    content
}

fn described(luck: &mut Luck, id: &str, depth: usize) -> Value {
    let kinds = ["paragraph", "bulletListItem", "numberedListItem", "checkListItem", "heading", "quote"];
    let kind = kinds[[0, 0, 0, 0, 1, 1, 1, 2, 3, 4, 4, 5][luck.below(12)]];
    let mut props = json!({ "backgroundColor": "default", "textColor": "default", "textAlignment": "left" });
    match kind {
        "heading" => props["level"] = json!(1 + luck.below(3)),
        "checkListItem" => props["checked"] = json!(luck.below(2) == 0),
        _ => {}
    }
    let nested = kind.ends_with("ListItem") && depth < 2 && luck.below(6) == 0;
    let count = if nested { 1 + luck.below(3) } else { 0 };
    let children: Vec<Value> =
        (0..count).map(|at| described(luck, &format!("{id}-{at}"), depth + 1)).collect();
    json!({ "id": id, "type": kind, "props": props, "content": runs(luck), "children": children })
}

/// One run mostly; else one in bold, italics or code between two others, or a link.
fn runs(luck: &mut Luck) -> Value {
    let run = |text: String, styles: Value| json!({ "type": "text", "text": text, "styles": styles });
    let before = luck.sentence();
    if luck.below(4) > 0 {
        return json!([run(before, json!({}))]);
    }
    let marked = luck.words(2);
    let between = match luck.below(4) {
        0 => run(marked, json!({ "bold": true })),
        1 => run(marked, json!({ "italic": true })),
        2 => run(marked, json!({ "code": true })),
        _ => {
            let href = format!("https://example.com/{}", luck.below(10_000));
            json!({ "type": "link", "href": href, "content": [run(marked, json!({}))] })
        }
    };
    json!([run(before + " ", json!({})), between, run(format!(" {}", luck.sentence()), json!({}))])
}

/// Tables, code, pictures, columns, embeds and dividers.
fn undescribed(luck: &mut Luck, id: &str) -> Value {
    let text = |text: String| json!([{ "type": "text", "text": text, "styles": {} }]);
    match luck.below(8) {
        0 | 1 => {
            let (width, height) = (2 + luck.below(4), 2 + luck.below(8));
            let mut cells = || (0..width).map(|_| text(luck.words(2))).collect::<Vec<Value>>();
            let rows: Vec<Value> = (0..height).map(|_| json!({ "cells": cells() })).collect();
            let content =
                json!({ "type": "tableContent", "columnWidths": vec![Value::Null; width], "rows": rows });
            json!({ "id": id, "type": "table", "props": { "textColor": "default" }, "content": content, "children": [] })
        }
        2 | 3 => {
            let lines: Vec<String> = (0..1 + luck.below(20)).map(|_| luck.sentence()).collect();
            let props = json!({ "language": "rust" });
            json!({ "id": id, "type": "codeBlock", "props": props, "content": text(lines.join("\n")), "children": [] })
        }
        4 | 5 => {
            let (url, name) = (format!("https://example.com/images/{id}.png"), luck.words(2));
            let props = json!({ "url": url, "name": name, "caption": luck.sentence(), "backgroundColor": "default",
                "showPreview": true, "previewWidth": 512 });
            json!({ "id": id, "type": "image", "props": props, "children": [] })
        }
        6 => {
            let column = |id: String, inner: Value| json!({ "id": id, "type": "column", "props": { "width": 1 }, "children": [inner] });
            let columns: Vec<Value> = (0..2)
                .map(|at| column(format!("{id}-{at}"), paragraph(&format!("{id}-{at}-0"), &luck.sentence())))
                .collect();
            json!({ "id": id, "type": "columnList", "props": {}, "children": columns })
        }
        _ => {
            let url = format!("https://example.com/embed/{}", luck.below(1_000_000));
            json!({ "id": id, "type": "embed", "props": { "url": url, "height": 320 }, "children": [] })
        }
    }
}

/// A stored file's name.
pub(crate) fn file_name(n: usize) -> String {
    let endings = ["pdf", "png", "docx", "csv", "jpg", "zip", "txt"];
    let mut luck = Luck::of(4, n);
    let words = luck.words(2);
    format!("{words} {n:05}.{}", endings[luck.below(endings.len())])
}

/// A stored file's size: one in twenty is empty, most are small, few have megabytes; some 33 kB on average.
pub(crate) fn file_bytes(n: usize) -> u64 {
    let mut luck = Luck::of(5, n);
    if luck.below(20) == 0 {
        return 0;
    }
    MOST_BYTES.powf(1.0 - luck.share().sqrt() * 0.9) as u64
}

/// What a note on a whiteboard says.
pub(crate) fn note(board: usize, at: usize) -> String {
    Luck::of(6, board * 100 + at).sentence()
}
