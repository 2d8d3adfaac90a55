//! Pages grown from a number: quick enough for a million of them. Any tree of documented blocks, and in the wild form
//! everything that editors and other programs may have stored beside them.

use serde_json::{Map, Value, json};

use super::super::lower::lower;
use super::super::plain::Kind;
use super::formatted::Dice;
use crate::model::DOCUMENTED;

const PIECES: [&str; 110] = [
    "a",
    "word",
    "two words",
    "ñandú",
    "Straße",
    "中文",
    "日本",
    "العربية",
    "🙂",
    "👩‍👩‍👧",
    "e\u{301}",
    "\u{301}",
    "x1",
    "0",
    "3.5",
    " ",
    " ",
    " ",
    "  ",
    "    ",
    "\t",
    "\u{a0}",
    "\u{3000}",
    "\u{2003}",
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "\u{ad}",
    "\u{2028}",
    "\u{85}",
    "\u{b}",
    "\u{c}",
    "\u{1b}",
    "\0",
    "\r",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "*",
    "**",
    "***",
    "_",
    "__",
    "~",
    "~~",
    "~~~",
    "`",
    "``",
    "```",
    "[",
    "]",
    "(",
    ")",
    "](",
    "![",
    "[]()",
    "<",
    ">",
    "<u>",
    "</u>",
    "<br>",
    "<b>",
    "</p>",
    "<p>",
    "<div>",
    "<!--",
    "-->",
    "<!-- -->",
    "<!-- empty -->",
    "<!-- children -->",
    "<!-- /children -->",
    "<!-- block: a b -->",
    "<script>",
    "<?php",
    "<![CDATA[",
    "&",
    "&amp;",
    "&#10;",
    "&#x41;",
    "&copy",
    "\\",
    "\\\\",
    "\\*",
    "#",
    "##",
    "# ",
    "-",
    "- ",
    "+ ",
    "* ",
    "1.",
    "1. ",
    "12) ",
    "---",
    "===",
    "|",
    "|-|",
    "| a |",
    ":-:",
    "[x] ",
    "[ ] ",
    "[a]: /b",
    "https://a.example",
    "<https://a.example>",
    "!",
    ".",
    "。",
    "«",
    "$",
];

/// A page. `wild` mixes in what the API document does not describe.
pub(super) fn page(dice: &mut Dice, wild: bool) -> Vec<Value> {
    let mut grower = Grower { dice, wild, next: 0, left: 14 };
    let count = grower.dice.below(5);
    grower.blocks(count, 0)
}

struct Grower<'a> {
    dice: &'a mut Dice,
    wild: bool,
    next: u32,
    /// Blocks that may still be made.
    left: usize,
}

impl Grower<'_> {
    fn one_in(&mut self, count: usize) -> bool {
        self.dice.below(count) == 0
    }

    fn blocks(&mut self, count: usize, depth: usize) -> Vec<Value> {
        let mut out = Vec::new();
        // Runs of one kind are what lists are made of.
        let mut kind = self.dice.below(DOCUMENTED.len());
        for _ in 0..count.min(self.left) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            if self.one_in(2) {
                kind = self.dice.below(DOCUMENTED.len());
            }
            let mut block = if self.wild && self.one_in(4) {
                self.undescribed()
            } else {
                self.documented(DOCUMENTED[kind])
            };
            let children = if depth < 4 && self.one_in(3) { self.dice.below(3) } else { 0 };
            let children = self.blocks(children, depth + 1);
            if !(self.wild && children.is_empty() && self.one_in(30)) {
                block["children"] = Value::Array(children);
            }
            out.push(block);
        }
        out
    }

    fn id(&mut self) -> String {
        self.next += 1;
        format!("{:08x}", self.next.wrapping_mul(2_654_435_761))
    }

    fn documented(&mut self, kind: &str) -> Value {
        let mut props =
            json!({"textColor": "default", "backgroundColor": "default", "textAlignment": "left"});
        match kind {
            "heading" => props["level"] = json!(1 + self.dice.below(6)),
            "checkListItem" => props["checked"] = json!(self.one_in(2)),
            _ => {}
        }
        if self.wild {
            self.odd_props(&mut props, kind);
        }
        let content = if self.wild && self.one_in(25) {
            [json!("plain *text*"), Value::Null, json!("")][self.dice.below(3)].clone()
        } else {
            let count = self.dice.below(4);
            self.runs(count)
        };
        let mut block =
            json!({"id": self.id(), "type": kind, "props": props, "content": content, "children": []});
        if self.wild && self.one_in(20) {
            block["locked"] = json!({"by": 1.0});
        }
        if self.wild && self.one_in(40) {
            block["id"] = [json!(""), json!(7), json!("a b -->"), json!("same")][self.dice.below(4)].clone();
        }
        block
    }

    fn odd_props(&mut self, props: &mut Value, kind: &str) {
        if self.one_in(4) {
            props["textColor"] = json!("red");
        }
        if self.one_in(6) {
            props["textAlignment"] = json!("center");
        }
        if kind == "numberedListItem" && self.one_in(4) {
            props["start"] =
                [json!(1), json!(7), json!(0), json!(1.5), json!("3"), json!(-2), json!(999_999_999)]
                    [self.dice.below(7)]
                .clone();
        }
        if kind == "heading" && self.one_in(4) {
            props["level"] = [json!("2"), json!(9), json!(2.0), Value::Null][self.dice.below(4)].clone();
            props["isToggleable"] = json!(true);
        }
        if self.one_in(9) {
            props["unknown"] = json!([1, {"deep": null}]);
        }
    }

    fn text(&mut self) -> String {
        let count = self.dice.below(5);
        let mut text = String::new();
        for _ in 0..count {
            let calm = self.one_in(2);
            let at = if calm { self.dice.below(18) } else { self.dice.below(PIECES.len()) };
            text.push_str(PIECES[at]);
        }
        text
    }

    fn styles(&mut self) -> Value {
        let mut styles = Map::new();
        match self.dice.below(8) {
            0..4 => {}
            4 => {
                styles.insert("code".to_owned(), json!(true));
            }
            _ => {
                for key in ["bold", "italic", "underline", "strike"] {
                    if self.one_in(2) {
                        styles.insert(key.to_owned(), json!(true));
                    }
                }
            }
        }
        if self.wild && self.one_in(6) {
            let odd = [
                ("textColor", json!("red")),
                ("bold", json!(false)),
                ("superscript", json!(true)),
                ("code", json!(true)),
            ];
            let (key, value) = odd[self.dice.below(4)].clone();
            styles.insert(key.to_owned(), value);
        }
        Value::Object(styles)
    }

    fn run(&mut self) -> Value {
        json!({"type": "text", "text": self.text(), "styles": self.styles()})
    }

    fn runs(&mut self, count: usize) -> Value {
        let mut runs = Vec::new();
        for _ in 0..count {
            if !self.wild || !self.one_in(6) {
                runs.push(self.run());
                continue;
            }
            let text = self.text();
            let inner = vec![self.run()];
            runs.push(match self.dice.below(5) {
                0 | 1 => json!({"type": "link", "href": self.address(), "content": inner}),
                2 => json!({"type": "link", "href": self.address(), "content": text}),
                3 => json!({"type": "mention", "props": {"user": text}}),
                _ => json!({"type": "tag", "props": {}, "content": inner}),
            });
        }
        Value::Array(runs)
    }

    fn address(&mut self) -> String {
        let some = [
            "https://a.example/",
            "/b c",
            "",
            "<x>",
            "a(b",
            "mailto:a@b.c",
            "#top",
            "#mention-0123abcd",
            "a\nb",
            "x&amp;y",
        ];
        let first = some[self.dice.below(some.len())].to_owned();
        if self.one_in(3) { first + &self.text() } else { first }
    }

    fn undescribed(&mut self) -> Value {
        let (id, text) = (self.id(), self.text());
        match self.dice.below(9) {
            0 | 1 => self.table(&id),
            2 => {
                let language = ["text", "rust", "", "c++", "a b", "`"][self.dice.below(6)];
                let code = [text.clone(), format!("fn a() {{\n{text}\n\n}}"), format!("```\n{text}")];
                let code = &code[self.dice.below(3)];
                json!({"id": id, "type": "codeBlock", "props": {"language": language}, "content": [{"type": "text", "text": code, "styles": {}}]})
            }
            3 | 4 => {
                let kind = ["image", "video", "audio", "file"][self.dice.below(4)];
                let caption = if self.one_in(2) { self.text() } else { String::new() };
                json!({"id": id, "type": kind, "props": {"url": self.address(), "name": text, "caption": caption, "backgroundColor": "default"}})
            }
            5 => json!({"id": id, "type": "divider", "props": {}}),
            6 => json!({"id": id, "type": "database", "props": {"view": text}, "content": []}),
            7 => json!({"id": id, "type": "column list", "props": {}}),
            _ => json!({"id": id, "type": "board", "content": {"rows": [text]}}),
        }
    }

    fn table(&mut self, id: &str) -> Value {
        let (width, height) = (1 + self.dice.below(4), 1 + self.dice.below(4));
        let spans = self.one_in(2);
        // Some cells overlap or leave a gap.
        let odd = spans && self.one_in(6);
        let mut taken = vec![vec![false; width]; height];
        let mut rows = Vec::new();
        for row in 0..height {
            let mut cells = Vec::new();
            for column in 0..width {
                if taken[row][column] && !odd {
                    continue;
                }
                let (mut down, mut across) = (1, 1);
                if spans && self.one_in(3) {
                    down += self.dice.below(height - row);
                    let free = taken[row][column..].iter().take_while(|taken| !**taken).count();
                    across += self.dice.below(free.max(1));
                }
                for line in &mut taken[row..row + down] {
                    line[column..column + across].fill(true);
                }
                cells.push(self.cell(down, across));
            }
            rows.push(json!({"cells": cells}));
        }
        let mut content =
            json!({"type": "tableContent", "columnWidths": vec![Value::Null; width], "rows": rows});
        if self.one_in(2) {
            content["headerRows"] = json!(1);
        }
        json!({"id": id, "type": "table", "props": {"textColor": "default"}, "content": content})
    }

    fn cell(&mut self, down: usize, across: usize) -> Value {
        let count = self.dice.below(3);
        let runs = self.runs(count);
        let align = ["left", "left", "center", "right"][self.dice.below(4)];
        if self.one_in(6) && down * across == 1 {
            return runs;
        }
        json!({"type": "tableCell", "content": runs, "props": {"colspan": across, "rowspan": down,
            "backgroundColor": "default", "textColor": "default", "textAlignment": align}})
    }
}

/// A table by itself, whose cells stand in a grid and whose header has a word.
pub(super) fn spanned(dice: &mut Dice, id: &str) -> Value {
    loop {
        let mut grower = Grower { dice, wild: false, next: 0, left: 0 };
        let mut table = grower.table(id);
        table["children"] = json!([]);
        if matches!(lower(std::slice::from_ref(&table)).nodes[0].kind, Kind::Table(_)) {
            return table;
        }
    }
}

/// One step of work on a table: a cell said anew, a row gone, come, or moved. May leave no grid.
fn rework(table: &mut Value, dice: &mut Dice) {
    let Some(rows) = table["content"]["rows"].as_array_mut().filter(|rows| !rows.is_empty()) else { return };
    let at = dice.below(rows.len());
    match dice.below(6) {
        0 if rows.len() > 1 => drop(rows.remove(at)),
        1 => rows.insert(at, rows[at].clone()),
        2 => {
            let to = dice.below(rows.len());
            rows.swap(at, to);
        }
        _ => {
            let mut grower = Grower { dice, wild: false, next: 0, left: 0 };
            let runs = grower.runs(2);
            let Some(cells) = rows[at]["cells"].as_array_mut().filter(|cells| !cells.is_empty()) else {
                return;
            };
            let cell = grower.dice.below(cells.len());
            match &mut cells[cell] {
                Value::Object(cell) => drop(cell.insert("content".to_owned(), runs)),
                other => *other = runs,
            }
        }
    }
}

/// One step of work on a table, unless it would leave no grid.
pub(super) fn change_table(table: &mut Value, dice: &mut Dice) {
    let mut other = table.clone();
    rework(&mut other, dice);
    if matches!(lower(std::slice::from_ref(&other)).nodes[0].kind, Kind::Table(_)) {
        *table = other;
    }
}

/// A smaller page that is still wrong, as far as leaving things out finds one.
pub(super) fn shrunk(mut page: Vec<Value>, is_wrong: &dyn Fn(&[Value]) -> bool) -> Vec<Value> {
    loop {
        let smaller = lesser(&Value::Array(page.clone()))
            .into_iter()
            .filter_map(|value| value.as_array().cloned())
            .find(|page| is_wrong(page));
        match smaller {
            Some(smaller) => page = smaller,
            None => return page,
        }
    }
}

/// Everything that is one step smaller.
fn lesser(value: &Value) -> Vec<Value> {
    let mut out = Vec::new();
    match value {
        Value::Array(list) => {
            for at in 0..list.len() {
                let mut fewer = list.clone();
                fewer.remove(at);
                out.push(Value::Array(fewer));
                // What was beneath a block stands in its place.
                if let Some(Value::Array(children)) = list[at].get("children") {
                    let mut raised = list.clone();
                    raised.splice(at..=at, children.iter().cloned());
                    out.push(Value::Array(raised));
                }
            }
            for (at, item) in list.iter().enumerate() {
                for less in lesser(item) {
                    let mut other = list.clone();
                    other[at] = less;
                    out.push(Value::Array(other));
                }
            }
        }
        Value::Object(object) => {
            for (key, item) in object {
                if matches!(key.as_str(), "type" | "id" | "props") {
                    continue;
                }
                for less in lesser(item) {
                    let mut other = object.clone();
                    other.insert(key.clone(), less);
                    out.push(Value::Object(other));
                }
                if item == &json!(true) {
                    let mut other = object.clone();
                    other.shift_remove(key);
                    out.push(Value::Object(other));
                }
            }
        }
        Value::String(text) if text != "default" && text != "left" => {
            for (at, c) in text.char_indices() {
                out.push(json!(format!("{}{}", &text[..at], &text[at + c.len_utf8()..])));
            }
        }
        _ => {}
    }
    out
}

/// The page after a few changes: text said anew, blocks gone, come, moved, nested, or of another kind.
pub(super) fn changed(page: &[Value], dice: &mut Dice) -> Vec<Value> {
    let mut new = page.to_vec();
    let times = 1 + dice.below(3);
    for _ in 0..times {
        change(&mut new, dice);
    }
    new
}

fn change(list: &mut Vec<Value>, dice: &mut Dice) {
    if list.is_empty() {
        return;
    }
    let at = dice.below(list.len());
    if let Some(Value::Array(children)) = list[at].get_mut("children")
        && !children.is_empty()
        && dice.below(3) > 0
    {
        return change(children, dice);
    }
    match dice.below(7) {
        0 | 1 => {
            let mut grower = Grower { dice, wild: false, next: 0, left: 0 };
            let runs = grower.runs(2);
            if list[at]["type"] == "table" {
                rework(&mut list[at], dice);
            } else if list[at].get("content").is_some_and(Value::is_array) {
                list[at]["content"] = runs;
            }
        }
        2 => drop(list.remove(at)),
        3 => {
            let mut grower = Grower { dice, wild: false, next: 1000, left: 3 };
            let more = grower.blocks(2, 3);
            list.splice(at..at, more);
        }
        4 => {
            let to = dice.below(list.len());
            list.swap(at, to);
        }
        5 if at > 0 && list[at - 1].get("children").is_some() => {
            let block = list.remove(at);
            if let Some(Value::Array(children)) = list[at - 1].get_mut("children") {
                children.push(block);
            }
        }
        _ => {
            if list[at]["type"] == "paragraph" && list[at].get("content").is_some_and(Value::is_array) {
                list[at]["type"] = json!("bulletListItem");
            }
        }
    }
}
