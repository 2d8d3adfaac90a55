//! A change of a table into the lines that a person typed: cells that stay keep their bytes.
//!
//! A table that stands as espejo writes it is written anew, padded. Any other keeps its rows and its spaces; only where its
//! columns or its header change it is written anew as well.

use std::ops::Range;

use super::super::align::increasing_pairs;
use super::super::plain::{Inline, Kind, Node, Table};
use super::super::read::comments;
use super::super::write::{Escapes, cell, wide};

/// How a cell's text is changed in its place in a line, where that can be.
type Words<'a> = dyn Fn(&str, Range<usize>, &Inline, &Inline) -> Option<String> + 'a;

/// The lines `source` of a table that was `old`, changed to what `new` says; `own` is how espejo writes `old` there. `None`
/// where they cannot be kept.
pub(super) fn spliced(
    source: &str,
    own: &str,
    (old, new): (&Node, &Node),
    prefix: &str,
    words: &Words<'_>,
) -> Option<String> {
    let (Kind::Table(old), Kind::Table(new)) = (&old.kind, &new.kind) else { return None };
    let source = source.replace("\r\n", "\n");
    if source == own || old.header != new.header || old.align != new.align {
        return None;
    }
    let lines: Vec<&str> = source.split('\n').collect();
    let first = if old.header { 0 } else { 2 };
    let line_of = |row: usize| if row == 0 { first } else { row + 1 + usize::from(!old.header) };
    if lines.len() != line_of(old.rows.len() - 1) + 1 {
        return None;
    }
    let mut out = lines[..2].join("\n");
    let from = pairs(old, new);
    for (at, row) in new.rows.iter().enumerate() {
        let text = match from[at] {
            Some(was) => changed(lines[line_of(was)], &old.rows[was], row, &old.align, words)?,
            None => format!("{prefix}{}", fresh(row)),
        };
        if old.header && at == 0 {
            out = [&text, lines[1]].join("\n");
        } else {
            out.push('\n');
            out.push_str(&text);
        }
    }
    Some(out)
}

/// For each new row, the old one that it is.
fn pairs(old: &Table, new: &Table) -> Vec<Option<usize>> {
    let mut from = vec![None; new.rows.len()];
    let (mut from_o, mut from_n) = (0, 0);
    let ends = [(old.rows.len(), new.rows.len())];
    for (o, n) in increasing_pairs(&old.rows, &new.rows).into_iter().chain(ends) {
        // Rows that were changed in their place.
        for at in 0..(o - from_o).min(n - from_n) {
            from[from_n + at] = Some(from_o + at);
        }
        if let Some(same) = from.get_mut(n) {
            *same = Some(o);
        }
        (from_o, from_n) = (o + 1, n + 1);
    }
    if old.header {
        // The header is the first row, whatever else is like it.
        from.iter_mut().filter(|from| **from == Some(0)).for_each(|from| *from = None);
        from[0] = Some(0);
    }
    from
}

fn fresh(row: &[Inline]) -> String {
    row.iter().fold("|".to_owned(), |line, one| {
        let text = cell(one, Escapes::Minimal);
        let space = if text.is_empty() { "" } else { " " };
        format!("{line} {text}{space}|")
    })
}

/// A line with the cells that changed.
fn changed(line: &str, old: &[Inline], new: &[Inline], align: &[u8], words: &Words<'_>) -> Option<String> {
    let places = places(line);
    let mut out = line.to_owned();
    for at in (0..new.len()).rev().filter(|&at| old[at] != new[at]) {
        // A row may lack its last cells.
        let place = places.get(at)?.clone();
        let before = &line[place.clone()];
        let start = place.start + before.len() - before.trim_start().len();
        let own = start..start + before.trim().len();
        let text = words(line, own, &old[at], &new[at]).unwrap_or_else(|| {
            let text = cell(&new[at], Escapes::Minimal);
            comments(before).iter().fold(text, |text, source| format!("{text} {source}"))
        });
        let text = in_place(before, text.trim_start(), align[at]);
        out.replace_range(place, &text);
    }
    Some(out)
}

/// A cell with another text: as wide as before where that is possible.
fn in_place(before: &str, text: &str, align: u8) -> String {
    let was = before.trim();
    let one = before.len().min(1);
    let rest = before.len().saturating_sub(one).max(one);
    let (lead, trail) = match before.find(was) {
        Some(at) if !was.is_empty() => (at, before.len() - at - was.len()),
        _ if align == b'r' => (rest, one),
        _ => (one, rest),
    };
    let all = lead + trail + wide(was);
    let (lead, trail) = match align {
        b'r' => (all.saturating_sub(wide(text) + trail).max(lead.min(1)), trail),
        _ => (lead, all.saturating_sub(wide(text) + lead).max(trail.min(1))),
    };
    format!("{:lead$}{text}{:trail$}", "", "")
}

/// What stands between the bars of a line.
fn places(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let bars = (0..bytes.len()).filter(|&at| bytes[at] == b'|' && (at == 0 || bytes[at - 1] != b'\\'));
    let start = line.len() - line.trim_start_matches([' ', '\t', '>']).len();
    let end = line.trim_end().len();
    let mut from = start;
    let mut found = Vec::new();
    for bar in bars {
        if bar > start {
            found.push(from..bar);
        }
        from = bar + 1;
    }
    if from < end {
        found.push(from..end);
    }
    found
}
