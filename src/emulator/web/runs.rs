//! A block's text after a person has typed in it: what stayed keeps its styles, what is new has those of the text before it.

use serde_json::{Value, json};

/// The runs of a block whose plain text is `text` now. Items that are no text runs stay where nothing before them in the
/// text has changed, and go with the text around them otherwise.
pub(super) fn retyped(runs: &[Value], text: &str) -> Vec<Value> {
    let before: Vec<(char, &Value)> = runs
        .iter()
        .filter_map(|run| Some((run, run.get("text")?.as_str()?)))
        .flat_map(|(run, text)| text.chars().map(move |c| (c, run)))
        .collect();
    let after: Vec<char> = text.chars().collect();
    let same = |(old, new): &(&(char, &Value), &char)| old.0 == **new;
    let front = before.iter().zip(&after).take_while(same).count();
    let room = before.len().min(after.len()) - front;
    let back = before.iter().rev().zip(after.iter().rev()).take(room).take_while(same).count();
    let typed_like = front.checked_sub(1).or((!before.is_empty()).then_some(0)).map(|at| before[at].1);
    let styles = |run: Option<&Value>| run.and_then(|run| run.get("styles")).cloned().unwrap_or(json!({}));
    let mut out: Vec<(Value, String)> = Vec::new();
    let mut put = |styles: Value, c: char| match out.last_mut() {
        Some((last, text)) if *last == styles => text.push(c),
        _ => out.push((styles, c.to_string())),
    };
    before[..front].iter().for_each(|(c, run)| put(styles(Some(run)), *c));
    after[front..after.len() - back].iter().for_each(|c| put(styles(typed_like), *c));
    before[before.len() - back..].iter().for_each(|(c, run)| put(styles(Some(run)), *c));
    out.into_iter().map(|(styles, text)| json!({ "type": "text", "text": text, "styles": styles })).collect()
}
