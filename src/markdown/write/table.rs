//! Tables to lines, padded so that the bars of a column stand below each other.

use unicode_width::UnicodeWidthStr;

use super::super::plain::{Inline, Table};
use super::bare;
use super::block::has_escape;
use super::inline::{Escapes, Place, write_inline};

/// No column is padded to more than this: a cell that is wider stands out of its column, and the rows without it stay
/// readable.
const WIDTH_MAX: usize = 40;
/// What the line below the header needs at least.
const WIDTH_MIN: usize = 3;

/// The columns that a text takes where it is shown with characters of one width.
pub(in super::super) fn wide(text: &str) -> usize {
    text.width()
}

/// A cell's text.
pub(in super::super) fn cell(inline: &Inline, escapes: Escapes) -> String {
    let mut text = String::new();
    write_inline(&mut text, inline, Place::Cell, "", escapes);
    if escapes == Escapes::Minimal && has_escape(&inline.text, &text) {
        return bare::cell(inline).unwrap_or(text);
    }
    text
}

/// Writes a table; GFM wants a header, so a table without one has an empty one.
pub(super) fn rows(out: &mut String, table: &Table, prefix: &str, escapes: Escapes) {
    let head = if table.header { None } else { Some(vec![String::new(); table.align.len()]) };
    let body = table.rows.iter().map(|row| row.iter().map(|one| cell(one, escapes)).collect());
    let rows: Vec<Vec<String>> = head.into_iter().chain(body).collect();
    let widths = widths(&rows, table.align.len());
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            out.push('\n');
            out.push_str(prefix);
        }
        out.push('|');
        for ((text, align), width) in row.iter().zip(&table.align).zip(&widths) {
            padded(out, text, *align, *width);
        }
        if at == 0 {
            out.push('\n');
            out.push_str(prefix);
            out.push('|');
            table.align.iter().zip(&widths).for_each(|(align, width)| rule(out, *align, *width));
        }
    }
}

fn widths(rows: &[Vec<String>], columns: usize) -> Vec<usize> {
    let mut widths = vec![WIDTH_MIN; columns];
    for (text, width) in rows.iter().flat_map(|row| row.iter().zip(0..)) {
        let own = wide(text);
        if own <= WIDTH_MAX {
            widths[width] = widths[width].max(own);
        }
    }
    widths
}

fn padded(out: &mut String, text: &str, align: u8, width: usize) {
    let room = width.saturating_sub(wide(text));
    let before = match align {
        b'c' => room / 2,
        b'r' => room,
        _ => 0,
    };
    out.push_str(&format!(" {:before$}{text}{:after$} |", "", "", after = room - before));
}

fn rule(out: &mut String, align: u8, width: usize) {
    let (first, last) = match align {
        b'c' => (':', ':'),
        b'r' => ('-', ':'),
        b'l' => (':', '-'),
        _ => ('-', '-'),
    };
    out.extend([' ', first]);
    out.extend(std::iter::repeat_n('-', width - 2));
    out.extend([last, ' ', '|']);
}
