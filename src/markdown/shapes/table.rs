//! Tables, as GFM has them: block editors' rows of cells, to a plain table and back.
//!
//! GFM has no spans: a cell shows in the first place of its span, and the places that it hides show empty (`grid`).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::carry;
use super::super::lower::{Walk, settle_breaks};
use super::super::plain::{Inline, Table};
use super::grid::{Match, Place, grid, pair, spread};

/// The plain form of a table's content. What a span hides is shown empty, so every row has the same width.
pub(in super::super) fn lower<'a>(content: Option<&'a Value>, walk: &mut Walk<'a>) -> Option<Table> {
    let content = content?.as_object()?;
    if content.get("type")?.as_str()? != "tableContent" {
        return None;
    }
    let header = match content.get("headerRows") {
        None | Some(Value::Null) => false,
        Some(count) => count.as_u64()? > 0,
    };
    let was = content.get("rows")?.as_array()?;
    let places = grid(was)?;
    let mut rows = Vec::with_capacity(was.len());
    let mut aligns: Vec<Align> = vec![Align::Unknown; places.first()?.len()];
    for (row, places) in was.iter().zip(&places) {
        let mut cells = Vec::with_capacity(places.len());
        for (place, known) in places.iter().zip(&mut aligns) {
            let Place::Cell(index, _) = *place else {
                cells.push(Inline::default());
                continue;
            };
            let cell = row.get("cells")?.get(index)?;
            let mut inline = walk.content(runs_value(cell))?;
            settle_breaks(&mut inline, false);
            cells.push(inline);
            let align = cell.get("props").and_then(|props| props.get("textAlignment")?.as_str());
            let align = match align {
                Some("center") => b'c',
                Some("right") => b'r',
                _ => b' ',
            };
            *known = match *known {
                Align::Unknown => Align::All(align),
                Align::All(other) if other == align => Align::All(align),
                _ => Align::Mixed,
            };
        }
        rows.push(cells);
    }
    // An empty first row is how GFM says that there is no header.
    if header && rows[0].iter().all(Inline::is_empty) {
        return None;
    }
    let align = aligns.into_iter().map(|align| if let Align::All(align) = align { align } else { b' ' });
    Some(Table { header, align: align.collect(), rows })
}

/// How the cells of a column are aligned.
#[derive(Clone, Copy)]
enum Align {
    Unknown,
    All(u8),
    Mixed,
}

/// The runs of a cell, in whichever of its three forms.
fn runs_value(cell: &Value) -> Option<&Value> {
    if cell.is_object() { cell.get("content") } else { Some(cell) }
}

/// Content for a new table.
pub(in super::super) fn create(table: &Table, items: &BTreeMap<String, &Value>) -> Value {
    let rows: Vec<Value> = table
        .rows
        .iter()
        .map(|row| {
            let cells: Vec<Value> =
                row.iter().zip(&table.align).map(|(cell, align)| new_cell(cell, *align, items)).collect();
            json!({ "cells": cells })
        })
        .collect();
    let mut content = Map::new();
    content.insert("type".to_owned(), json!("tableContent"));
    content.insert("columnWidths".to_owned(), json!(vec![Value::Null; table.align.len()]));
    if table.header {
        content.insert("headerRows".to_owned(), json!(1));
    }
    content.insert("rows".to_owned(), Value::Array(rows));
    Value::Object(content)
}

fn new_cell(inline: &Inline, align: u8, items: &BTreeMap<String, &Value>) -> Value {
    let runs = carry::fresh(inline, items);
    let align = alignment(align);
    json!({
        "type": "tableCell",
        "content": runs,
        "props": {
            "colspan": 1, "rowspan": 1, "backgroundColor": "default", "textColor": "default", "textAlignment": align
        }
    })
}

fn alignment(align: u8) -> &'static str {
    match align {
        b'c' => "center",
        b'r' => "right",
        _ => "left",
    }
}

/// Changes a table's content from what `old` says to what `new` says; rows and columns that stay keep their cells.
pub(in super::super) fn edit(
    content: &Value,
    old: &Table,
    new: &Table,
    items: &BTreeMap<String, &Value>,
) -> Value {
    let (Some(object), Some(was)) = (content.as_object(), content.get("rows").and_then(Value::as_array))
    else {
        return create(new, items);
    };
    let Some(before) = grid(was) else { return create(new, items) };
    let rows = pair(&old.rows, &new.rows);
    let turned = |table: &Table| -> Vec<Vec<Inline>> {
        (0..table.align.len()).map(|at| table.rows.iter().map(|row| row[at].clone()).collect()).collect()
    };
    let columns = if old.align.len() == new.align.len() {
        (0..new.align.len()).map(|at| Match { from: Some(at), sure: true }).collect()
    } else {
        pair(&turned(old), &turned(new))
    };
    let after = spread(&before, (old, new), &rows, &columns);
    let one = |at: usize, column: usize, span: (usize, usize)| {
        let (cell, align) = (&new.rows[at][column], new.align[column]);
        let from = rows[at].from.zip(columns[column].from);
        let Some((o, c)) = from else { return new_cell(cell, align, items) };
        let Place::Cell(index, old_span) = before[o][c] else { return new_cell(cell, align, items) };
        let Some(past) = was[o].get("cells").and_then(|cells| cells.get(index)) else {
            return new_cell(cell, align, items);
        };
        let align = (old.align[c] != align).then_some(align);
        let edited = edit_cell(past, &old.rows[o][c], cell, align, items);
        if span == old_span { edited } else { spanning(edited, old_span, span) }
    };
    let built: Vec<Value> = after
        .iter()
        .enumerate()
        .map(|(at, places)| {
            let past = rows[at].from.and_then(|from| was.get(from)?.as_object());
            let mut fresh = past.cloned().unwrap_or_default();
            let cells = places.iter().enumerate().filter_map(|(column, place)| match place {
                Place::Cell(_, span) => Some(one(at, column, *span)),
                Place::Hidden => None,
            });
            fresh.insert("cells".to_owned(), cells.collect());
            Value::Object(fresh)
        })
        .collect();
    let mut out = object.clone();
    if let Some(Value::Array(widths)) = object.get("columnWidths") {
        let widths = columns
            .iter()
            .map(|column| column.from.and_then(|at| widths.get(at)).cloned().unwrap_or(Value::Null));
        out.insert("columnWidths".to_owned(), Value::Array(widths.collect()));
    }
    if new.header && !old.header {
        out.insert("headerRows".to_owned(), json!(1));
    } else if old.header && !new.header {
        out.shift_remove("headerRows");
    }
    out.insert("rows".to_owned(), Value::Array(built));
    Value::Object(out)
}

fn edit_cell(
    past: &Value,
    old: &Inline,
    new: &Inline,
    align: Option<u8>,
    items: &BTreeMap<String, &Value>,
) -> Value {
    if old == new && align.is_none() {
        return past.clone();
    }
    let before: &[Value] = match runs_value(past) {
        Some(Value::Array(runs)) => runs,
        Some(text @ Value::String(_)) => std::slice::from_ref(text),
        _ => &[],
    };
    let runs = Value::Array(carry::runs(before, old, new, items));
    let Some(object) = past.as_object() else { return runs };
    let mut cell = object.clone();
    cell.insert("content".to_owned(), runs);
    if let (Some(align), Some(Value::Object(props))) = (align, cell.get_mut("props")) {
        props.insert("textAlignment".to_owned(), json!(alignment(align)));
    }
    Value::Object(cell)
}

/// The cell with another span; the number that stays keeps its form.
fn spanning(mut cell: Value, old: (usize, usize), new: (usize, usize)) -> Value {
    if let Some(Value::Object(props)) = cell.get_mut("props") {
        for (key, was, is) in [("rowspan", old.0, new.0), ("colspan", old.1, new.1)] {
            if was != is {
                props.insert(key.to_owned(), json!(is));
            }
        }
    }
    cell
}
