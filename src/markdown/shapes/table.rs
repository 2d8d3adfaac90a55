//! Tables, as GFM has them: block editors' rows of cells, to a plain table and back.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::align::increasing_pairs;
use super::super::carry;
use super::super::lower::{Walk, settle_breaks};
use super::super::plain::{Inline, Table};

/// The plain form of a table's content. Cells that a span hides are shown empty, so every row has the same width.
pub(in super::super) fn lower<'a>(content: Option<&'a Value>, walk: &mut Walk<'a>) -> Option<Table> {
    let content = content?.as_object()?;
    if content.get("type")?.as_str()? != "tableContent" {
        return None;
    }
    let header = match content.get("headerRows") {
        None | Some(Value::Null) => false,
        Some(count) => count.as_u64()? > 0,
    };
    let mut rows = Vec::new();
    let mut aligns: Vec<Option<u8>> = Vec::new();
    for row in content.get("rows")?.as_array()? {
        let mut cells = Vec::new();
        for cell in row.get("cells")?.as_array()? {
            let props = cell.get("props");
            let span = |key| props.and_then(|props| props.get(key)?.as_u64()).unwrap_or(1);
            if span("colspan") != 1 || span("rowspan") != 1 {
                return None;
            }
            let mut inline = walk.content(runs_value(cell))?;
            settle_breaks(&mut inline, false);
            let align = props.and_then(|props| props.get("textAlignment")?.as_str());
            let align = match align {
                Some("center") => b'c',
                Some("right") => b'r',
                _ => b' ',
            };
            match aligns.get_mut(cells.len()) {
                Some(known) if *known != Some(align) => *known = None,
                Some(_) => {}
                None => aligns.push(Some(align)),
            }
            cells.push(inline);
        }
        rows.push(cells);
    }
    let width = rows.first()?.len();
    if width == 0 || rows.iter().any(|row| row.len() != width) {
        return None;
    }
    // An empty first row is how GFM says that there is no header.
    if header && rows[0].iter().all(Inline::is_empty) {
        return None;
    }
    let align = aligns.into_iter().map(|align| align.unwrap_or(b' ')).collect();
    Some(Table { header, align, rows })
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
    let rows = pair(&old.rows, &new.rows);
    let turned = |table: &Table| -> Vec<Vec<Inline>> {
        (0..table.align.len()).map(|at| table.rows.iter().map(|row| row[at].clone()).collect()).collect()
    };
    let columns = if old.align.len() == new.align.len() {
        (0..new.align.len()).map(Some).collect()
    } else {
        pair(&turned(old), &turned(new))
    };
    let built: Vec<Value> = new
        .rows
        .iter()
        .zip(&rows)
        .map(|(row, from)| {
            let before = from.and_then(|from| was.get(from));
            let mut fresh = before.and_then(Value::as_object).cloned().unwrap_or_default();
            let cells: Vec<Value> = row
                .iter()
                .enumerate()
                .map(|(at, cell)| {
                    let place = from.zip(columns[at]);
                    let past = place.and_then(|(row, column)| was.get(row)?.get("cells")?.get(column));
                    match (past, place) {
                        (Some(past), Some((row, column))) => {
                            let turned = old.align[column] != new.align[at];
                            edit_cell(
                                past,
                                &old.rows[row][column],
                                cell,
                                turned.then_some(new.align[at]),
                                items,
                            )
                        }
                        _ => new_cell(cell, new.align[at], items),
                    }
                })
                .collect();
            fresh.insert("cells".to_owned(), Value::Array(cells));
            Value::Object(fresh)
        })
        .collect();
    let mut out = object.clone();
    if let Some(Value::Array(widths)) = object.get("columnWidths") {
        let widths =
            columns.iter().map(|from| from.and_then(|from| widths.get(from)).cloned().unwrap_or(Value::Null));
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

/// For each new line its old one: equal ones in order, and what lies between two of them one to one.
fn pair(old: &[Vec<Inline>], new: &[Vec<Inline>]) -> Vec<Option<usize>> {
    let mut found = vec![None; new.len()];
    let same = increasing_pairs(old, new);
    let (mut from_o, mut from_n) = (0, 0);
    for (o, n) in same.into_iter().chain([(old.len(), new.len())]) {
        let count = (o - from_o).min(n - from_n);
        for at in 0..count {
            found[from_n + at] = Some(from_o + at);
        }
        if n < new.len() {
            found[n] = Some(o);
        }
        (from_o, from_n) = (o + 1, n + 1);
    }
    found
}
