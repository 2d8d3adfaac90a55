//! Where the cells of a table stand: each in the first place of its span, over the places that the span hides.
//!
//! Knows nothing of text beyond whether a cell has any; `table` reads and makes the cells.

use std::ops::Range;

use serde_json::Value;

use super::super::align::{best_path, increasing_pairs};
use super::super::plain::{Inline, Table};

/// Most places that spans may hide in one table: a few bytes can claim millions.
const HIDDEN_MAX: usize = 100_000;
/// Most pairs of lines that are compared by what they have in common.
const WINDOW_MAX: usize = 1 << 14;

/// A place of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A cell: its number within the row's `cells`, and how many rows and columns it spans.
    Cell(usize, (usize, usize)),
    /// Hidden by the span of a cell above or to the left.
    Hidden,
}

/// A table's places, row by row, all of one width; `None` when cells overlap, leave a gap or reach out of the table.
pub(super) fn grid(rows: &[Value]) -> Option<Vec<Vec<Place>>> {
    // For each column, how many of the coming rows are hidden there.
    let mut below: Vec<usize> = Vec::new();
    let mut hidden = 0usize;
    let mut out = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let mut cells = row.get("cells")?.as_array()?.iter().enumerate();
        let mut places = Vec::with_capacity(below.len());
        loop {
            if let Some(left) = below.get_mut(places.len()).filter(|left| **left > 0) {
                *left -= 1;
                places.push(Place::Hidden);
                continue;
            }
            let Some((index, cell)) = cells.next() else { break };
            let (down, across) = (span(cell, "rowspan")?, span(cell, "colspan")?);
            hidden = hidden.saturating_add(down.saturating_mul(across) - 1);
            if hidden > HIDDEN_MAX || down > rows.len() - at {
                return None;
            }
            let columns = places.len()..places.len() + across;
            if at == 0 {
                below.resize(columns.end, 0);
            }
            for left in below.get_mut(columns)? {
                // A span from above stands in the way.
                if *left > 0 {
                    return None;
                }
                *left = down - 1;
            }
            places.push(Place::Cell(index, (down, across)));
            places.resize(places.len() + across - 1, Place::Hidden);
        }
        if places.is_empty() || places.len() != below.len() {
            return None;
        }
        out.push(places);
    }
    Some(out)
}

/// One of a cell's spans; `None` for what is no count.
fn span(cell: &Value, key: &str) -> Option<usize> {
    match cell.get("props").and_then(|props| props.get(key)) {
        None | Some(Value::Null) => Some(1),
        Some(Value::Number(number)) => {
            // The service may give a count as `2.0`.
            let count = number.as_u64().map(|count| count.to_string()).unwrap_or_else(|| number.to_string());
            let count = count.strip_suffix(".0").unwrap_or(&count);
            count.parse().ok().filter(|&count| count > 0)
        }
        Some(_) => None,
    }
}

/// The old line that a new one is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    /// Its number, unless the line is new.
    pub from: Option<usize>,
    /// Whether nothing else could have been meant.
    pub sure: bool,
}

/// For each new line its old one: equal ones in order, and what lies between two of them one to one.
pub(super) fn pair(old: &[Vec<Inline>], new: &[Vec<Inline>]) -> Vec<Match> {
    let mut found = vec![Match { from: None, sure: true }; new.len()];
    let mut same = increasing_pairs(old, new);
    // Lines that are alike (those that a span hides) pair crosswise as well as straight.
    if old.len() == new.len() && old.iter().zip(new).filter(|(a, b)| a == b).count() >= same.len() {
        same.clear();
    }
    let (mut from_o, mut from_n) = (0, 0);
    for (o, n) in same.into_iter().chain([(old.len(), new.len())]) {
        let (rows, columns) = (o - from_o, n - from_n);
        if rows == columns || rows * columns > WINDOW_MAX {
            for at in 0..rows.min(columns) {
                found[from_n + at] = Match { from: Some(from_o + at), sure: rows == columns };
            }
        } else {
            // Some came or went beside those that were edited: what they still have in common tells which.
            let weight = |i: usize, j: usize| 1 + 4 * in_common(&old[from_o + i], &new[from_n + j]);
            best_path(rows, columns, weight, |i, j| {
                found[from_n + j] = Match { from: Some(from_o + i), sure: false };
            });
        }
        if n < new.len() {
            found[n] = Match { from: Some(o), sure: true };
        }
        (from_o, from_n) = (o + 1, n + 1);
    }
    found
}

/// How many places of two lines hold the same words.
fn in_common(old: &[Inline], new: &[Inline]) -> u32 {
    let same = old.iter().zip(new).filter(|(a, b)| a == b && !a.is_empty()).count();
    u32::try_from(same).unwrap_or(u32::MAX / 8).min(u32::MAX / 8)
}

/// The places of an edited table: a span stays where its cell stays and everything it hides is empty. One that hides
/// a typed word is dissolved, and so is one that would leave a row without a cell, which editors refuse.
pub(super) fn spread(
    grid: &[Vec<Place>],
    (old, new): (&Table, &Table),
    rows: &[Match],
    columns: &[Match],
) -> Vec<Vec<Place>> {
    let mut spans = Vec::new();
    for (row, line) in grid.iter().enumerate() {
        for (column, place) in line.iter().enumerate() {
            if let Place::Cell(_, (down, across)) = *place
                && (down, across) != (1, 1)
                && let Some((high, sure)) = reach(rows, &(row..row + down))
                && let Some((wide, surely)) = reach(columns, &(column..column + across))
            {
                let (was, is) = (&old.rows[row][column], &new.rows[high.start][wide.start]);
                let others = new.rows[high.clone()].iter().flat_map(|row| &row[wide.clone()]).skip(1);
                if (sure && surely || was == is && !is.is_empty()) && others.clone().all(Inline::is_empty) {
                    spans.push((high, wide));
                }
            }
        }
    }
    let whole = |spans: &[(Range<usize>, Range<usize>)], row: usize| {
        let starts_here = |span: &(Range<usize>, Range<usize>)| span.0.start == row;
        let over = spans.iter().filter(|span| span.0.contains(&row));
        !over.clone().any(starts_here) && over.map(|span| span.1.len()).sum::<usize>() == columns.len()
    };
    for (row, from) in rows.iter().enumerate() {
        let was = from.from.is_some_and(|from| grid[from].iter().all(|place| *place == Place::Hidden));
        if !was && whole(&spans, row) {
            spans.retain(|span| !span.0.contains(&row));
        }
    }
    let mut out = vec![vec![Place::Cell(0, (1, 1)); columns.len()]; rows.len()];
    for (high, wide) in spans {
        out[high.clone()].iter_mut().for_each(|line| line[wide.clone()].fill(Place::Hidden));
        out[high.start][wide.start] = Place::Cell(0, (high.len(), wide.len()));
    }
    out
}

/// From the new line of the first old one to the new line of the last that is left; `None` when the first is gone.
fn reach(lines: &[Match], old: &Range<usize>) -> Option<(Range<usize>, bool)> {
    let first = lines.iter().position(|line| line.from == Some(old.start))?;
    let last = lines.iter().rposition(|line| line.from.is_some_and(|from| old.contains(&from)))?;
    Some((first..last + 1, lines[first].sure))
}
