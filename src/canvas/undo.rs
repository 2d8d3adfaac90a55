//! One change of a canvas file taken back, with what was changed since left as it is; and what of a canvas is text.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Map, Value};

use super::json;
use super::patch::last;
use super::read::{Aliases, MARK, is_blank, parse};
use crate::model::id_of;

/// A canvas file without a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenBack {
    /// The file's text.
    pub text: String,
    /// Whether some of the change was changed again since, and stays.
    pub stays: bool,
}

/// Takes the change from `before` to `after` back in `present`, node by node and within a node key by key. Of what it does not
/// touch every byte stays. `aliases`: ids that `present` may have in the place of those of `before` and `after`.
///
/// # Errors
/// One sentence: why one of the texts cannot be read.
pub fn take_back(present: &str, before: &str, after: &str, aliases: &Aliases) -> Result<TakenBack, String> {
    let mark = if present.starts_with(MARK) { "\u{feff}" } else { "" };
    let present = present.strip_prefix(MARK).unwrap_or(present);
    let present = if is_blank(present) { "{\"nodes\":[],\"edges\":[]}" } else { present };
    parse(present)?;
    let (was, became) = (parse(before)?, parse(after)?);
    let lists = [("nodes", was.0, became.0), ("edges", was.1, became.1)];
    let top = json::members(present, &json::whole(present));
    let (mut edits, mut missing, mut stays) = (Vec::new(), Vec::new(), false);
    for (name, was, became) in lists {
        let member = last(&top, name).filter(|member| present[member.value.clone()].starts_with('['));
        let spans = member.map(|member| json::values(present, &member.value)).unwrap_or_default();
        let mut list = List::new(present, spans);
        stays |= list.take_back(&named(was, aliases, &list), &named(became, aliases, &list));
        match member {
            Some(member) if list.is_changed => edits.push((member.value.clone(), list.text())),
            None if !list.rows.is_empty() => missing.push((name, list.text())),
            _ => {}
        }
    }
    let mut text = json::replaced(present, edits);
    for (name, list) in missing {
        let start = json::whole(&text).start + 1;
        let comma = if json::members(&text, &json::whole(&text)).is_empty() { "" } else { "," };
        text.insert_str(start, &format!("\n\t\"{name}\":{list}{comma}"));
    }
    Ok(TakenBack { text: format!("{mark}{text}"), stays })
}

/// The words of a canvas's nodes and edges, in the file's order; none of a text that is no canvas.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let Ok((nodes, edges)) = parse(text) else { return Vec::new() };
    let said = |row: &Value| {
        let texts = ["text", "label", "url", "file"].map(|key| row.get(key).and_then(Value::as_str));
        texts.into_iter().flatten().flat_map(str::split_whitespace).map(str::to_owned).collect::<Vec<_>>()
    };
    nodes.iter().chain(&edges).flat_map(said).collect()
}

/// What a canvas file says, a node or an edge a line, however a program wrote it; `None` of a text that is no canvas.
#[must_use]
pub fn lines(text: &str) -> Option<String> {
    const FIRST: [&str; 10] = ["id", "type", "text", "label", "url", "file", "x", "y", "width", "height"];
    let (nodes, edges) = parse(text).ok()?;
    let line = |row: Value| {
        let mut row = row.as_object().cloned().unwrap_or_default();
        let mut out = Map::new();
        let first = FIRST.iter().filter_map(|key| row.shift_remove_entry(*key));
        out.extend(first.collect::<Vec<_>>());
        row.sort_keys();
        out.extend(row);
        for number in out.values_mut() {
            // Programs write whole numbers with and without a point.
            if let Some(whole) = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 1e9)
            {
                #[expect(clippy::cast_possible_truncation, reason = "a whole number within these bounds")]
                let whole = whole as i64;
                *number = Value::from(whole);
            }
        }
        Value::Object(out).to_string() + "\n"
    };
    Some(nodes.into_iter().chain(edges).map(line).collect())
}

/// Whether two canvas files differ only in where things stand and how large they are.
#[must_use]
pub fn is_only_moved(one: &str, other: &str) -> bool {
    let still = |text: &str| {
        let mut top: Value = serde_json::from_str(text.strip_prefix(MARK).unwrap_or(text)).ok()?;
        for node in top.get_mut("nodes").and_then(Value::as_array_mut)? {
            let node = node.as_object_mut()?;
            for key in super::node::GEOMETRY {
                node.remove(key);
            }
        }
        Some(top)
    };
    still(one).is_some_and(|one| Some(one) == still(other))
}

/// Rows under the ids that the present file has for them.
fn named(mut rows: Vec<Value>, aliases: &Aliases, present: &List<'_>) -> Vec<Value> {
    for row in &mut rows {
        for key in ["id", "fromNode", "toNode"] {
            let Some(id) = row.get(key).and_then(Value::as_str) else { continue };
            let own = aliases.get(id).filter(|_| key != "id" || present.at(id).is_none());
            if let Some(own) = own.cloned() {
                row[key] = Value::String(own);
            }
        }
    }
    rows
}

/// The nodes or the edges of the present file.
struct List<'a> {
    rows: Vec<(Value, std::borrow::Cow<'a, str>)>,
    is_changed: bool,
}

impl<'a> List<'a> {
    fn new(text: &'a str, spans: Vec<Range<usize>>) -> Self {
        let row = |span: Range<usize>| {
            let raw = &text[span];
            (serde_json::from_str(raw).unwrap_or_default(), raw.into())
        };
        Self { rows: spans.into_iter().map(row).collect(), is_changed: false }
    }

    fn at(&self, id: &str) -> Option<usize> {
        self.rows.iter().position(|(row, _)| id_of(row) == id)
    }

    fn put(&mut self, at: usize, row: Value) {
        let raw = row.to_string().into();
        self.rows[at] = (row, raw);
        self.is_changed = true;
    }

    /// Makes the rows of `was` out of those of `became`. Returns whether some stay otherwise.
    fn take_back(&mut self, was: &[Value], became: &[Value]) -> bool {
        let mut stays = false;
        let mut seen = BTreeSet::new();
        for row in was.iter().chain(became) {
            let id = id_of(row);
            if id.is_empty() || !seen.insert(id.to_owned()) {
                continue;
            }
            let (old, new) = (find(was, id), find(became, id));
            if old == new {
                continue;
            }
            let at = self.at(id);
            let now = at.map(|at| self.rows[at].0.clone());
            match (old, new, at.zip(now)) {
                (None, None, _) | (None, Some(_), None) => {}
                // It was added, and is as it was then.
                (None, Some(new), Some((at, now))) if now == *new => {
                    self.rows.remove(at);
                    self.is_changed = true;
                }
                (None, Some(_), Some(_)) => stays = true,
                (Some(old), None, None) => self.insert(was, old),
                (Some(old), None, Some((_, now))) => stays |= now != *old,
                (Some(_), Some(_), None) => stays = true,
                (Some(old), Some(new), Some((at, now))) => {
                    let (row, is_mixed) = keys_back(&now, old, new);
                    stays |= is_mixed;
                    if row != now {
                        self.put(at, row);
                    }
                }
            }
        }
        stays
    }

    /// Puts a row behind those that stood before it.
    fn insert(&mut self, was: &[Value], row: &Value) {
        let before = was.iter().take_while(|other| id_of(other) != id_of(row));
        let behind = before.filter_map(|other| self.at(id_of(other))).max();
        let at = behind.map_or(0, |at| at + 1);
        self.rows.insert(at, (row.clone(), row.to_string().into()));
        self.is_changed = true;
    }

    /// The list, a row a line.
    fn text(&self) -> String {
        if self.rows.is_empty() {
            return "[]".to_owned();
        }
        let rows: Vec<&str> = self.rows.iter().map(|(_, raw)| raw.as_ref()).collect();
        format!("[\n\t\t{}\n\t]", rows.join(",\n\t\t"))
    }
}

/// A row with the keys of `old` where it still says what `new` does; whether it says something else for one of them.
fn keys_back(now: &Value, old: &Value, new: &Value) -> (Value, bool) {
    let nothing = Map::new();
    let map = |row: &'_ Value| row.as_object().cloned().unwrap_or_default();
    let (mut out, old, new) = (map(now), map(old), new.as_object().unwrap_or(&nothing));
    let mut stays = false;
    for key in old.keys().chain(new.keys()) {
        let (was, became, is) = (old.get(key), new.get(key), out.get(key));
        if was == became || is == was {
            continue;
        }
        if is != became {
            stays = true;
            continue;
        }
        match was.cloned() {
            Some(was) => drop(out.insert(key.clone(), was)),
            None => drop(out.shift_remove(key)),
        }
    }
    (Value::Object(out), stays)
}

fn find<'a>(rows: &'a [Value], id: &str) -> Option<&'a Value> {
    rows.iter().find(|row| id_of(row) == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "{\n\t\"nodes\":[\n\t\t{\"id\":\"a\",\"text\":\"one\",\"x\":0},\n\t\t{\"id\":\"b\",\"text\":\"two\",\"x\":5}\n\t],\n\t\"edges\":[]\n}\n";

    #[track_caller]
    fn back(present: &str, after: &str, aliases: &Aliases) -> (Vec<(String, String, i64)>, bool) {
        let taken = take_back(present, BEFORE, after, aliases).unwrap();
        let nodes = parse(&taken.text).unwrap().0;
        let word = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let said =
            nodes.iter().map(|row| (word(row, "id"), word(row, "text"), row["x"].as_i64().unwrap_or(-1)));
        (said.collect(), taken.stays)
    }

    fn rows(list: &[(&str, &str, i64)]) -> Vec<(String, String, i64)> {
        list.iter().map(|(id, text, x)| ((*id).to_owned(), (*text).to_owned(), *x)).collect()
    }

    #[test]
    fn a_change_is_taken_back_and_what_came_later_stays() {
        let none = Aliases::new();
        // A text changed, a node removed, a node added.
        let after = BEFORE.replace("one", "ONE").replace(
            ",\n\t\t{\"id\":\"b\",\"text\":\"two\",\"x\":5}",
            ",{\"id\":\"c\",\"text\":\"new\",\"x\":9}",
        );
        assert_eq!(back(&after, &after, &none), (rows(&[("a", "one", 0), ("b", "two", 5)]), false));
        assert_eq!(take_back(&after, BEFORE, BEFORE, &none).unwrap().text, after, "nothing to take back");
        // The node was moved since: its text goes back, its place stays.
        let moved = after.replace("\"x\":0", "\"x\":70");
        assert_eq!(back(&moved, &after, &none), (rows(&[("a", "one", 70), ("b", "two", 5)]), false));
        // The text was changed again, and the added node was: both stay.
        let again = after.replace("ONE", "1").replace("new", "newer");
        assert_eq!(
            back(&again, &after, &none),
            (rows(&[("a", "1", 0), ("b", "two", 5), ("c", "newer", 9)]), true)
        );
        // The added node has its element's id by now.
        let own: Aliases = [("c".to_owned(), "e7".to_owned())].into();
        let renamed = after.replace("\"c\"", "\"e7\"");
        assert_eq!(back(&renamed, &after, &own), (rows(&[("a", "one", 0), ("b", "two", 5)]), false));
        assert!(take_back("{", BEFORE, &after, &none).is_err());
    }

    #[test]
    fn bytes_of_untouched_nodes_stay_and_missing_lists_are_made() {
        let after = BEFORE.replace("one", "ONE");
        let present = after.replace("\"x\":5", "\"x\": 5.0 ");
        let taken = take_back(&present, BEFORE, &after, &Aliases::new()).unwrap();
        assert!(taken.text.contains("\"x\": 5.0 ") && taken.text.contains("one"), "{}", taken.text);
        let emptied = take_back("", BEFORE, "{}", &Aliases::new()).unwrap().text;
        assert_eq!(parse(&emptied).unwrap().0.len(), 2);
        let bare = take_back("{\"k\":1}", BEFORE, "{}", &Aliases::new()).unwrap().text;
        assert_eq!((parse(&bare).unwrap().0.len(), bare.contains("\"k\":1")), (2, true));
    }

    #[test]
    fn a_program_that_writes_otherwise_says_the_same() {
        let value: Value = serde_json::from_str(BEFORE).unwrap();
        let other = serde_json::to_string_pretty(&value).unwrap().replace("\"x\": 5", "\"x\": 5.0");
        assert_ne!(other, BEFORE);
        assert_eq!(lines(&other), lines(BEFORE));
        assert_eq!(lines(BEFORE).unwrap().lines().next(), Some("{\"id\":\"a\",\"text\":\"one\",\"x\":0}"));
        assert_eq!(lines("{"), None);
    }

    #[test]
    fn a_move_is_no_other_text() {
        assert!(is_only_moved(BEFORE, &BEFORE.replace("\"x\":5", "\"x\":77")));
        assert!(!is_only_moved(BEFORE, &BEFORE.replace("two", "2")));
        assert!(!is_only_moved("", ""));
        assert_eq!(words(BEFORE), ["one", "two"]);
    }
}
