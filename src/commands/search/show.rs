//! How results look, for people and for programs.

use std::io::{self, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use serde_json::json;

use super::{Asked, Results, Shown};
use crate::cli::output;
use crate::cli::output::{DIM, NAME, paint};
use crate::search::Piece;

/// A word that was searched for: readable on light and on dark.
const HIT: Style = AnsiColor::Magenta.on_default().bold();
const INDENT: &str = "    ";
/// Longer lines are hard to read, however wide the terminal.
const COLUMNS_MAX: usize = 100;

pub(super) fn json(results: &Results, out: &mut dyn Write) -> Result<()> {
    let one = |shown: &Shown| {
        let snippet: String = shown.snippet.iter().map(|piece| piece.text.as_str()).collect();
        json!({
            "kind": shown.kind,
            "id": shown.id,
            "title": shown.title,
            "path": shown.path,
            "snippet": Some(snippet).filter(|text| !text.is_empty()),
            "marks": marks(&shown.snippet),
            "rank": shown.rank,
            "workspace": shown.workspace_name,
            "workspace_id": shown.workspace,
            "parent_id": shown.parent,
        })
    };
    let all: Vec<_> = results.shown.iter().map(one).collect();
    output::json(out, &all)
}

/// Where the words that were searched for stand in a snippet: beginning and end, in characters.
fn marks(snippet: &[Piece]) -> Vec<[usize; 2]> {
    let mut at = 0;
    let mut all = Vec::new();
    for piece in snippet {
        let end = at + piece.text.chars().count();
        if piece.hit {
            all.push([at, end]);
        }
        at = end;
    }
    all
}

/// The files alone, one a line, for other programs: what has none is left out.
pub(super) fn files(results: &Results, root: &Path, out: &mut dyn Write) -> io::Result<()> {
    for path in results.shown.iter().filter_map(|shown| shown.path.as_ref()) {
        writeln!(out, "{}", root.join(path).display())?;
    }
    Ok(())
}

pub(super) fn people(
    results: &Results,
    asked: &Asked,
    terminal: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let columns =
        if terminal { output::terminal_columns().unwrap_or(80).min(COLUMNS_MAX) } else { usize::MAX };
    for (index, shown) in results.shown.iter().enumerate() {
        if index > 0 && terminal {
            writeln!(out)?;
        }
        writeln!(out, "{}", head(shown, columns))?;
        for line in wrap(&shown.snippet, columns.saturating_sub(INDENT.len())) {
            let line: String = line
                .iter()
                .map(|piece| {
                    if piece.hit {
                        paint(HIT, &piece.text)
                    } else {
                        crate::logging::escape(&piece.text).to_string()
                    }
                })
                .collect();
            writeln!(out, "{INDENT}{}", line.trim_end())?;
        }
    }
    if results.shown.is_empty() {
        let elsewhere = if asked.remote { "" } else { "; --remote asks the service" };
        writeln!(out, "{}", paint(DIM, &format!("nothing found{elsewhere}")))?;
    }
    if results.more {
        let most = usize::from(crate::model::HITS_MAX);
        let mend = if asked.remote && asked.limit >= most {
            "add words to narrow it down"
        } else {
            "use --limit for more"
        };
        writeln!(out, "{}", paint(DIM, &format!("top {} shown; {mend}", results.shown.len())))?;
    }
    for note in &results.notes {
        writeln!(out, "{}", paint(DIM, note))?;
    }
    Ok(())
}

/// The file, with its name in bold; where there is none, the title and what it is.
fn head(shown: &Shown, columns: usize) -> String {
    let kind = if shown.kind == "page" { String::new() } else { shown.kind.clone() };
    let Some(path) = &shown.path else {
        let place = shown.workspace_name.as_ref().map_or_else(String::new, |name| format!(" in {name}"));
        let what = if shown.kind == "page" { "page" } else { &kind };
        return format!(
            "{}  {}",
            paint(NAME, &shown.title),
            paint(DIM, &format!("{what}{place}, not mirrored"))
        );
    };
    let stem = super::texts::stem(path);
    let mut rest = kind;
    if stem != shown.title && shown.kind != "slide" {
        let comma = if rest.is_empty() { "" } else { ", " };
        rest = format!("{rest}{comma}“{}”", shown.title);
    }
    let room = columns
        .saturating_sub(if rest.is_empty() { 0 } else { output::columns(&rest) + 2 })
        .max(columns.min(40));
    let short = output::shortened(path, room);
    let (folder, name) = short
        .rsplit_once('/')
        .map_or(("", short.as_str()), |(_, name)| short.split_at(short.len() - name.len()));
    let rest = if rest.is_empty() { rest } else { format!("  {}", paint(DIM, &rest)) };
    format!("{}{}{rest}", paint(DIM, folder), paint(NAME, name))
}

/// The pieces in lines of at most this many columns, broken at blanks.
fn wrap(pieces: &[Piece], columns: usize) -> Vec<Vec<Piece>> {
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    let mut line: Vec<Piece> = Vec::new();
    let mut used = 0;
    for piece in pieces {
        for word in piece.text.split_inclusive(' ') {
            let width = output::columns(word.trim_end());
            if used > 0 && used + width > columns && line.last().is_some_and(|last| last.text.ends_with(' '))
            {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            used += output::columns(word);
            line.push(Piece { text: word.to_owned(), hit: piece.hit });
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str, hit: bool) -> Piece {
        Piece { text: text.to_owned(), hit }
    }

    #[test]
    fn lines_break_at_blanks_and_lose_nothing() {
        for (pieces, columns, expected) in [
            (&[][..], 10, &[][..]),
            (&[piece("uno dos tres", false)], 8, &["uno dos ", "tres"]),
            (&[piece("uno ", false), piece("dos", true), piece(", tres", false)], 8, &["uno dos, ", "tres"]),
            (&[piece("interminablemente largo", false)], 5, &["interminablemente ", "largo"]),
            (&[piece("uno dos", false)], usize::MAX, &["uno dos"]),
        ] {
            let lines: Vec<String> = wrap(pieces, columns)
                .iter()
                .map(|line| line.iter().map(|one| one.text.as_str()).collect())
                .collect();
            assert_eq!(lines, expected);
        }
    }

    #[test]
    fn marks_are_counted_in_characters() {
        let pieces =
            [piece("año: ", false), piece("reunión", true), piece(" · ", false), piece("Plan", true)];
        let text: Vec<char> = pieces.iter().flat_map(|piece| piece.text.chars()).collect();
        let marked = marks(&pieces).into_iter().map(|[from, to]| text[from..to].iter().collect::<String>());
        assert_eq!(marked.collect::<Vec<_>>(), ["reunión", "Plan"]);
    }

    fn shown(kind: &str, path: Option<&str>, title: &str) -> Shown {
        Shown {
            kind: kind.to_owned(),
            id: None,
            title: title.to_owned(),
            path: path.map(str::to_owned),
            workspace: None,
            workspace_name: Some("Equipo".to_owned()),
            parent: None,
            snippet: Vec::new(),
            rank: 1.0,
        }
    }

    #[test]
    fn heads_name_the_file_or_what_it_is() {
        for (one, columns, expected) in [
            (shown("page", Some("Equipo/Pages/Plan.md"), "Plan"), 80, "Equipo/Pages/Plan.md"),
            (shown("page", Some("Equipo/Pages/a_b.md"), "a/b"), 80, "Equipo/Pages/a_b.md  “a/b”"),
            (
                shown("slide", Some("Presentations/Pitch.canvas"), "Pitch"),
                80,
                "Presentations/Pitch.canvas  slide",
            ),
            (shown("message", None, "Chat"), 80, "Chat  message in Equipo, not mirrored"),
            (shown("page", None, "x\u{1b}[2J"), 80, "x\\u{1b}[2J  page in Equipo, not mirrored"),
            (
                shown("page", Some("Equipo/Pages/Very/long/way/to/get/Plan.md"), "Plan"),
                30,
                "…/Very/long/way/to/get/Plan.md",
            ),
        ] {
            let mut plain = anstream::StripStream::new(Vec::new());
            plain.write_all(head(&one, columns).as_bytes()).unwrap();
            assert_eq!(String::from_utf8(plain.into_inner()).unwrap(), expected);
        }
    }
}
