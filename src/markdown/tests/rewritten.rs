//! What formatters rewrite in a file and keep its meaning, applied to every document of the suite: no rewriting is an edit.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use serde_json::{Value, json};

use super::super::{Allowed, parse, patch_for, render_for};
use super::ids;
use super::suite::{documents, leaves};

/// A part of a text, and what takes its place.
type Change = (Range<usize>, String);

fn events(text: &str) -> Vec<(Event<'_>, Range<usize>)> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(text, options).into_offset_iter().collect()
}

/// What begins a further line of the paragraph that holds a place: the signs of quotes, and white space for a list's marker.
fn lead(text: &str, at: usize) -> String {
    let line = &text[text[..at].rfind('\n').map_or(0, |at| at + 1)..];
    let mut out = String::new();
    let mut rest = line;
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let width = match rest.as_bytes() {
            [b'>' | b' ' | b'\t', ..] => {
                out.push_str(&rest[..1]);
                rest = &rest[1..];
                continue;
            }
            [b'-' | b'*' | b'+', b' ', ..] => 2,
            _ if digits > 0 && rest[digits..].starts_with(". ") => digits + 2,
            _ => return out,
        };
        out.push_str(&" ".repeat(width));
        rest = &rest[width..];
    }
}

/// Each paragraph on one line.
fn joined(text: &str) -> Vec<Change> {
    // Behind a tag a line end is white space of HTML.
    let is_break = |event: &Event<'_>, at: usize| *event == Event::SoftBreak && !text[..at].ends_with('>');
    let breaks = events(text).into_iter().filter(|(event, range)| is_break(event, range.start));
    let place = |(_, range): (Event<'_>, Range<usize>)| {
        let line = text[range.end..].lines().next().unwrap_or_default();
        range.start..range.end + line.len() - line.trim_start_matches([' ', '\t', '>']).len()
    };
    breaks.map(place).map(|place| (place, " ".to_owned())).collect()
}

/// A line end before every fourth word of a paragraph, where a word stands there that is no sign.
fn wrapped(text: &str) -> Vec<Change> {
    let mut out = Vec::new();
    let (mut words, mut inside) = (0, false);
    for (event, range) in events(text) {
        match event {
            Event::Start(Tag::Paragraph) => (words, inside) = (0, true),
            Event::End(TagEnd::Paragraph) => inside = false,
            Event::Text(_) if inside && !text[range.clone()].contains(['$', '[', '!', '%']) => {
                for (at, _) in text[range.clone()].match_indices(' ') {
                    let next = &text[range.start + at + 1..range.end];
                    words += 1;
                    if words % 4 == 0
                        && next.starts_with(|c: char| c.is_ascii_lowercase())
                        && !next.contains("::")
                    {
                        out.push((
                            range.start + at..range.start + at + 1,
                            format!("\n{}", lead(text, range.start)),
                        ));
                    }
                }
            }
            _ => {}
        }
    }
    out
}

/// Bare addresses between angle brackets.
fn bracketed(text: &str) -> Vec<Change> {
    let mut out = Vec::new();
    let mut links = 0;
    for (event, range) in events(text) {
        match event {
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::CodeBlock(_)) => links += 1,
            Event::End(TagEnd::Link | TagEnd::Image | TagEnd::CodeBlock) => links -= 1,
            Event::Text(_) if links == 0 => {
                for (at, _) in text[range.clone()].match_indices("https://") {
                    let from = range.start + at;
                    let word =
                        text[from..range.end].split([' ', '\n', ')', '"', '|', '*', ']']).next().unwrap();
                    let word = word.trim_end_matches(['.', ',', ':', ';', '?', '!', '_']);
                    let is_apart = text[..from].ends_with([' ', '\n', '(']) || from == 0;
                    // In front matter and mathematics it is no address.
                    if is_apart && word.len() > 8 && !word.contains(['$', '<', '\\']) {
                        out.push((from..from + word.len(), format!("<{word}>")));
                    }
                }
            }
            _ => {}
        }
    }
    out
}

/// The reference definitions of a text: where each stands, and how a formatter writes it.
fn definitions(text: &str) -> Vec<Change> {
    let parser = Parser::new(text);
    let all = parser.reference_definitions().iter().filter(|(label, _)| !label.starts_with('^'));
    let mut found: Vec<Change> = all
        .map(|(label, definition)| {
            let title = definition.title.as_ref().map(|title| format!(" \"{title}\"")).unwrap_or_default();
            (definition.span.clone(), format!("[{label}]: <{}>{title}", definition.dest))
        })
        .collect();
    found.sort_by_key(|(place, _)| place.start);
    found
}

/// References with their address and title in their place.
fn inlined(text: &str) -> Vec<Change> {
    let mut out: Vec<Change> = Vec::new();
    let events = events(text);
    for (at, (event, range)) in events.iter().enumerate() {
        let Event::Start(Tag::Link { link_type, dest_url, title, id }) = event else { continue };
        let is_reference =
            matches!(link_type, LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut);
        // A footnote is no link.
        if !is_reference || id.starts_with('^') || out.last().is_some_and(|(last, _)| last.end > range.start)
        {
            continue;
        }
        let inside = events[at + 1..].iter().take_while(|(_, place)| *place != *range);
        let end = inside.map(|(_, place)| place.end).max().unwrap_or(range.start + 1);
        let title = if title.is_empty() { String::new() } else { format!(" \"{title}\"") };
        out.push((range.clone(), format!("{}]({dest_url}{title})", &text[range.start..end])));
    }
    out
}

/// Backslashes before signs of Markdown in display mathematics.
fn escaped(text: &str) -> Vec<Change> {
    let signs: Vec<usize> = text.match_indices("$$").map(|(at, _)| at).collect();
    let mut out = Vec::new();
    for pair in signs.chunks_exact(2) {
        let inside = pair[0] + 2..pair[1];
        // Between two formulas there is Markdown.
        if text[inside.clone()].contains("\n\n") || text[inside.clone()].contains('`') {
            return Vec::new();
        }
        for (at, sign) in text[inside.clone()].match_indices(['_', '*', '[', '<', '=']) {
            let at = inside.start + at;
            if !text[..at].ends_with('\\') {
                out.push((at..at + 1, format!("\\{sign}")));
            }
        }
    }
    out
}

/// A space more at the start of each cell.
fn padded(text: &str) -> Vec<Change> {
    let mut out = Vec::new();
    for (event, range) in events(text) {
        if let Event::Start(Tag::TableHead | Tag::TableRow) = event {
            let row = &text[range.clone()];
            let bars = row.match_indices('|').filter(|(at, _)| !row[..*at].ends_with('\\'));
            let places = bars.map(|(at, _)| range.start + at + 1).filter(|at| !text[*at..].starts_with('\n'));
            out.extend(places.map(|at| (at..at, " ".to_owned())));
        }
    }
    out
}

fn with(text: &str, changes: &[Change]) -> String {
    let mut out = text.to_owned();
    for (place, new) in changes.iter().rev() {
        out.replace_range(place.clone(), new);
    }
    out
}

type Rewriting = (&'static str, fn(&str) -> Vec<Change>, usize);

/// Each with how many documents it changes at least.
const REWRITINGS: [Rewriting; 8] = [
    ("joined", joined, 10),
    ("wrapped", wrapped, 20),
    ("bracketed", bracketed, 2),
    ("definitions", definitions, 4),
    ("inlined", inlined, 4),
    ("escaped", escaped, 3),
    ("padded", padded, 5),
    (
        "line ends",
        |text| text.match_indices('\n').map(|(at, _)| (at..at + 1, "\r\n".to_owned())).collect(),
        60,
    ),
];

#[test]
fn no_rewriting_of_a_document_is_an_edit() {
    let mut wrong = Vec::new();
    for (name, rewrite, least) in REWRITINGS {
        let mut changed = 0;
        for (document, text) in documents() {
            let changes = rewrite(&text);
            let rewritten = with(&text, &changes);
            // Where other readers see something else it is no formatter's work; an address alone is a link to some of them.
            if rewritten == text
                || name != "bracketed" && name != "escaped" && leaves(&rewritten) != leaves(&text)
            {
                continue;
            }
            changed += 1;
            for allowed in [Allowed::documented(), Allowed::all()] {
                let base = parse(&text, &[], &allowed, &mut ids());
                // One place of a file in espejo's own bytes is changed by a person.
                if changes.len() < 3 && render_for(&base, &allowed).text == text {
                    continue;
                }
                let back = parse(&rewritten, &base, &allowed, &mut ids());
                if back != base {
                    let differs = back.iter().zip(&base).find(|(a, b)| a != b);
                    let [is, was] = differs.map_or_else(Default::default, |(a, b)| {
                        [a, b].map(|block| block["content"].to_string())
                    });
                    wrong.push(format!("{name} {document}, links {}:\n{is}\n{was}", allowed.link()));
                }
            }
        }
        if changed < least {
            wrong.push(format!("{name}: {changed} documents"));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n========\n"));
}

/// Whether a workspace has the blocks that the API does not describe, links among them.
#[derive(Clone, Copy)]
pub(super) enum Links {
    Text,
    Blocks,
}

impl Links {
    pub(super) fn allowed(self) -> Allowed {
        match self {
            Self::Text => Allowed::documented(),
            Self::Blocks => Allowed::all(),
        }
    }
}

#[test]
fn a_construct_that_is_written_otherwise_is_no_edit() {
    for (links, text, rewritten) in [
        // Where there are no such blocks they are text.
        (Links::Text, "Uno\n\n***\n\nDos\n", "Uno\n\n---\n\nDos\n"),
        (Links::Text, "~~~js\nx\n~~~\n", "```js\nx\n```\n"),
        (Links::Text, "| a | b |\n|---|---|\n| x | yy |\n", "| a   | b   |\n| --- | --- |\n| x   | yy  |\n"),
        (Links::Text, "![a](https://e.org/a.png 'T')\n", "![a](<https://e.org/a.png> \"T\")\n"),
        (Links::Text, "Ver [a].\n\n[a]: https://e.org 'T'\n", "Ver [a].\n\n[a]: <https://e.org> \"T\"\n"),
        (
            Links::Blocks,
            "__Una__[^1].\n\n[^1]: Ver https://e.org y\nmás.\n",
            "__Una__[^1].\n\n[^1]: Ver <https://e.org> y más.\n",
        ),
        (Links::Blocks, "| a |\n|---|\n| https://e.org |\n", "| a |\n| --- |\n| <https://e.org> |\n"),
        (Links::Blocks, "$$\n[x] < y_1\n$$\n", "$$\n\\[x\\] \\< y\\_1\n$$\n"),
        (Links::Blocks, "$$\na\nb\n$$\n\n$$\nc\nd\n$$\n", "$$ a b $$\n\n$$ c d $$\n"),
        (Links::Blocks, "$$\na\n\n= b_1\n$$\n", "$$\na\n\n\\= b\\_1\n$$\n"),
        // A bar in code parts cells, so a row has more of them than the table has columns.
        (Links::Blocks, "|a|b|\n|-|-|\n|*x*|`y|z`|\n", "| a   | b   |\n| --- | --- |\n| _x_ | `y  | z`  |\n"),
    ] {
        let base = parse(text, &[], &links.allowed(), &mut ids());
        assert_eq!(parse(rewritten, &base, &links.allowed(), &mut ids()), base, "{rewritten}");
    }
    // Another construct is an edit.
    let base = parse("```js\nx\n```\n", &[], &Allowed::documented(), &mut ids());
    assert_ne!(parse("```ts\nx\n```\n", &base, &Allowed::documented(), &mut ids()), base);
    let base = parse("|a|\n|-|\n|x|y|\n", &[], &Allowed::all(), &mut ids());
    assert_ne!(parse("| a |\n| - |\n| x | z |\n", &base, &Allowed::all(), &mut ids()), base);
}

/// A file of a workspace where links are text, what a formatter makes of it, a word that the app adds to the text that begins so,
/// and the formatted file afterwards.
const WITHOUT_DEFINITIONS: [(&str, &str, &str, &str); 4] = [
    // Definitions go as the links are written out.
    (
        "Ver [uno] y [otro][2].\n\n[uno]: https://e.org/1\n[2]: <https://e.org/2> \"Dos\"\n\nFin.\n",
        "Ver [uno](https://e.org/1) y [otro](https://e.org/2 \"Dos\").\n\nFin.\n",
        "Fin.",
        "Ver [uno](https://e.org/1) y [otro](https://e.org/2 \"Dos\").\n\nFin. más\n",
    ),
    (
        "[![i][i]][u] ya\n\n[i]: https://e.org/i.svg\n[u]: https://e.org\n\n* a\n",
        "[![i](https://e.org/i.svg)](https://e.org) ya\n\n- a\n",
        "a",
        "[![i](https://e.org/i.svg)](https://e.org) ya\n\n- a más\n",
    ),
    // They are gathered at the end.
    (
        "Ver [b].\n\n[b]: https://e.org/b\n\nY [a].\n\n[a]: https://e.org/a\n\nFin.\n",
        "Ver [b].\n\nY [a].\n\nFin.\n\n[a]: https://e.org/a\n[b]: https://e.org/b\n",
        "Y",
        "Ver [b].\n\nY [a]. más\n\nFin.\n\n[a]: https://e.org/a\n[b]: https://e.org/b\n",
    ),
    // One is moved, the other goes.
    (
        "[a] y `[b]`, [c]\n\n[a]: https://e.org/a\n\n[c]: https://e.org/c\n\nFin.\n",
        "[a] y `[b]`, [c](https://e.org/c)\n\nFin.\n\n[a]: https://e.org/a\n",
        "Fin.",
        "[a] y `[b]`, [c](https://e.org/c)\n\nFin. más\n\n[a]: https://e.org/a\n",
    ),
];

#[test]
fn definitions_that_a_formatter_moves_or_writes_out_are_no_edit() {
    let allowed = Allowed::documented();
    for (text, rewritten, begins, after) in WITHOUT_DEFINITIONS {
        let base = parse(text, &[], &allowed, &mut ids());
        assert_eq!(parse(rewritten, &base, &allowed, &mut ids()), base, "{rewritten}");
        let mut new = base.clone();
        let is_it = |block: &&mut Value| {
            block["content"][0]["text"].as_str().is_some_and(|text| text.starts_with(begins))
        };
        let block = new.iter_mut().find(is_it).unwrap();
        let runs = block["content"].as_array_mut().unwrap();
        runs.push(json!({"type": "text", "text": " más", "styles": {}}));
        let spliced = patch_for(rewritten, &base, &new, &allowed);
        assert_eq!(spliced, after);
        assert_eq!(parse(&spliced, &new, &allowed, &mut ids()), new);
    }
    // A person who deletes a definition that is used deletes it at the service, and one who moves a paragraph moves it.
    let base = parse("Ver [a].\n\n[a]: https://e.org/a\n\nFin.\n", &[], &allowed, &mut ids());
    assert_eq!(parse("Ver [a].\n\nFin.\n", &base, &allowed, &mut ids()).len(), 2);
    let moved = parse("Fin.\n\nVer [a].\n\n[a]: https://e.org/a\n", &base, &allowed, &mut ids());
    assert_eq!(moved, [base[2].clone(), base[0].clone(), base[1].clone()]);
}
