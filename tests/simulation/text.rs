//! What a person does to the text of a file: words and paragraphs, without knowing what a block is.

use std::collections::BTreeSet;

use espejo::markdown::{self, Allowed};

use crate::luck::Luck;
use crate::script::Edit;
use crate::words::Word;

/// The text after `edit`, or `None` when there is no place for it. `word` is the new word, should one be needed.
pub(crate) fn edited(text: &str, edit: Edit, word: &str, luck: &mut Luck) -> Option<String> {
    let (front, body) = split_front(text);
    let crlf = body.contains("\r\n");
    let plain = body.replace("\r\n", "\n");
    let mut parts = paragraphs(&plain);
    match edit {
        Edit::Resave => return Some(text.to_owned()),
        Edit::Reformat => return reformatted(front, &plain, crlf, luck),
        Edit::AppendParagraph => parts.push(sentence(word, luck)),
        Edit::InsertParagraph => {
            let place = luck.below(parts.len() as u64 + 1);
            parts.insert(usize::try_from(place).ok()?, sentence(word, luck));
        }
        Edit::DeleteParagraph => {
            let place = some_place(&parts, luck, |_| true)?;
            if parts.len() < 2 {
                return None;
            }
            parts.remove(place);
        }
        Edit::MoveParagraph => {
            let place = some_place(&parts, luck, |_| true)?;
            let moved = parts.remove(place);
            let to = luck.below(parts.len() as u64 + 1);
            parts.insert(usize::try_from(to).ok()?, moved);
        }
        Edit::InsertWord | Edit::ChangeWord | Edit::DeleteWord => {
            let place = some_place(&parts, luck, |part| !inner_words(part).is_empty())?;
            parts[place] = with_word(&parts[place], edit, word, luck)?;
        }
        Edit::InsertItem => {
            let place = some_place(&parts, luck, |part| !items(part).is_empty())?;
            parts[place] = with_item(&parts[place], word, luck)?;
        }
        Edit::TickBox => {
            let place = some_place(&parts, luck, |part| part.contains("- [ ] ") || part.contains("- [x] "))?;
            parts[place] = ticked(&parts[place], luck)?;
        }
        Edit::RetitleHeading => {
            let place = some_place(&parts, luck, |part| part.starts_with('#') && !part.contains('\n'))?;
            let level = parts[place].split(' ').next()?.to_owned();
            parts[place] = format!("{level} About {word}");
        }
    }
    let mut body = parts.join("\n\n");
    body.push('\n');
    Some(format!("{front}{}", if crlf { body.replace('\n', "\r\n") } else { body }))
}

/// A text without one to three of its parts, and with them again, at its end or where they were. Only parts that mean the same
/// wherever they stand: a numbered list counts on from its neighbours, and an indented part is inside of another.
pub(crate) fn cut_and_pasted(text: &str, luck: &mut Luck) -> Option<(String, String)> {
    let (front, body) = split_front(text);
    let parts = paragraphs(body);
    let is_numbered =
        |part: &String| part.lines().any(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    if body.contains('\r') || parts.len() < 2 || parts.iter().any(is_numbered) {
        return None;
    }
    let is_whole = |at: usize| {
        let is_inside = |part: &String| part.starts_with([' ', '\t']);
        let part = &parts[at];
        let opens = ["```", "~~~", "$$", "<details"].iter().any(|sign| part.contains(sign));
        !opens && !part.trim().is_empty() && !is_inside(part) && !parts.get(at + 1).is_some_and(is_inside)
    };
    let from = usize::try_from(luck.below(parts.len() as u64)).ok()?;
    let most = usize::try_from(luck.between(1, 3)).ok()?;
    let to = (from..parts.len().min(from + most)).take_while(|at| is_whole(*at)).last()? + 1;
    let mut left = parts.clone();
    let cut: Vec<String> = left.drain(from..to).collect();
    let is_front = |parts: &[String]| parts.first().is_none_or(|part| part.trim_start().starts_with("---"));
    if is_front(&left) || is_front(&cut) {
        return None;
    }
    let mut pasted = left.clone();
    let is_undo = luck.chance(40) || cut[0].starts_with('\n');
    let place = if is_undo { from } else { pasted.len() };
    pasted.splice(place..place, cut);
    let whole = |parts: Vec<String>| format!("{front}{}\n", parts.join("\n\n"));
    Some((whole(left), whole(pasted)))
}

/// Front matter with its fences, and the rest. What stands between two dividers is none unless it begins with a key.
pub(crate) fn split_front(text: &str) -> (&str, &str) {
    if !text.starts_with("---\n") && !text.starts_with("---\r\n") {
        return ("", text);
    }
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        at += line.len();
        if number > 0 && line.trim_end() == "---" {
            return text.split_at(at);
        }
        let key = line.trim_end().split_once(':').map(|(key, _)| key);
        if number == 1 && key.is_none_or(|key| key.contains(' ')) {
            return ("", text);
        }
    }
    ("", text)
}

/// The words of blocks that an edit made one text, as a paragraph that was moved from above does to what was nested under
/// it.
pub(crate) fn joined(before: &[u8], after: &[u8]) -> Vec<Word> {
    let texts = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let mut ids = 0;
        let mut fresh = || {
            ids += 1;
            format!("fresh-{ids}")
        };
        let blocks = markdown::parse(split_front(&text).1, &[], &Allowed::documented(), &mut fresh);
        crate::blocks::texts(&blocks)
    };
    let was = texts(before);
    let place = |word: &Word| was.iter().position(|words| words.contains(word));
    let is_joined = |words: &Vec<Word>| {
        let places: BTreeSet<usize> = words.iter().filter_map(place).collect();
        places.len() > 1
    };
    texts(after).into_iter().filter(is_joined).flatten().collect()
}

/// A sentence that holds `word`.
pub(crate) fn sentence(word: &str, luck: &mut Luck) -> String {
    const BEFORE: [&str; 6] = ["We saw", "El informe", "Notes on", "Nobody knew", "1.5 of", "Über"];
    const AFTER: [&str; 6] =
        ["again today.", "está *casi* listo.", "(see below)", "and more", "— ok", "at 10:30"];
    format!("{} {word} {}", luck.pick(&BEFORE), luck.pick(&AFTER))
}

/// Runs of lines between blank lines; more blank lines than one are kept as empty parts.
fn paragraphs(body: &str) -> Vec<String> {
    let trimmed = body.trim_end_matches('\n');
    if trimmed.is_empty() { Vec::new() } else { trimmed.split("\n\n").map(str::to_owned).collect() }
}

/// A paragraph that a person would touch by hand and `fits` accepts.
fn some_place(parts: &[String], luck: &mut Luck, fits: impl Fn(&str) -> bool) -> Option<usize> {
    let free: Vec<usize> = parts
        .iter()
        .enumerate()
        .filter(|(_, part)| is_prose(part) && fits(part))
        .map(|(place, _)| place)
        .collect();
    if free.is_empty() { None } else { Some(*luck.pick(&free)) }
}

/// Nothing that spans paragraphs or stands for something else.
fn is_prose(part: &str) -> bool {
    !part.trim().is_empty() && !["<!--", "```", "~~~", "|"].iter().any(|sign| part.contains(sign))
}

/// The byte ranges of words that stand between spaces.
fn inner_words(part: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    for piece in part.split_inclusive([' ', '\n']) {
        let word = piece.trim_end();
        if word.len() > 1 && word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'w' || b.is_ascii_digit())
        {
            found.push((start, start + word.len()));
        }
        start += piece.len();
    }
    found.retain(|(from, to)| part[*from..*to].bytes().any(|b| b.is_ascii_alphabetic()));
    found
}

fn with_word(part: &str, edit: Edit, word: &str, luck: &mut Luck) -> Option<String> {
    let words = inner_words(part);
    let (from, to) = *luck.pick(&words);
    match edit {
        Edit::InsertWord => Some(format!("{}{word} {}", &part[..from], &part[from..])),
        Edit::ChangeWord => Some(format!("{}{word}{}", &part[..from], &part[to..])),
        // A word at the end of a line, or alone, stays: what is left would be another construct.
        _ => part[to..].starts_with(' ').then(|| format!("{}{}", &part[..from], &part[to + 1..])),
    }
}

/// The lines that begin a list item: number, and the marker with its indent.
fn items(part: &str) -> Vec<(usize, String)> {
    part.lines()
        .enumerate()
        .filter_map(|(number, line)| {
            let indent = line.len() - line.trim_start().len();
            let marker = ["- [ ] ", "- [x] ", "- ", "+ ", "* "]
                .into_iter()
                .find(|marker| line[indent..].starts_with(marker))?;
            Some((number, format!("{}{marker}", &line[..indent])))
        })
        .collect()
}

fn with_item(part: &str, word: &str, luck: &mut Luck) -> Option<String> {
    let all = items(part);
    let (number, marker) = luck.pick(&all);
    let mut lines: Vec<String> = part.lines().map(str::to_owned).collect();
    // Before the item, so that what is nested under it stays so.
    lines.insert(*number, format!("{marker}New {word} item"));
    Some(lines.join("\n"))
}

fn ticked(part: &str, luck: &mut Luck) -> Option<String> {
    let places: Vec<usize> =
        part.match_indices("- [ ] ").chain(part.match_indices("- [x] ")).map(|(at, _)| at + 3).collect();
    if places.is_empty() {
        return None;
    }
    let at = *luck.pick(&places);
    let mark = if part[at..].starts_with('x') { " " } else { "x" };
    Some(format!("{}{mark}{}", &part[..at], &part[at + 1..]))
}

fn reformatted(front: &str, body: &str, crlf: bool, luck: &mut Luck) -> Option<String> {
    let changed = match luck.below(4) {
        0 if !body.contains("```") => body.replace("\n- ", "\n* "),
        1 => {
            return Some(format!(
                "{front}{}",
                if crlf { body.to_owned() } else { body.replace('\n', "\r\n") }
            ));
        }
        2 => body.trim_end_matches('\n').to_owned(),
        _ => body.replace("**", "__"),
    };
    Some(format!("{front}{changed}"))
}

#[test]
fn a_person_changes_what_was_meant_and_nothing_else() {
    let check = |text: &str, edit: Edit, expected: Option<&str>| {
        let mut luck = Luck::new(7, 0);
        assert_eq!(edited(text, edit, "w9x", &mut luck).as_deref(), expected, "{edit} of {text:?}");
    };
    check("---\nid: a\n---\nOne\n", Edit::ChangeWord, Some("---\nid: a\n---\nw9x\n"));
    check("One\r\n", Edit::InsertWord, Some("w9x One\r\n"));
    check("One two\n", Edit::DeleteWord, Some("two\n"));
    check("One\n", Edit::DeleteParagraph, None);
    check("<!-- block: table t1 -->\n", Edit::InsertWord, None);
    check("- [ ] a\n- [ ] b\n", Edit::TickBox, Some("- [x] a\n- [ ] b\n"));
    check("  - a\n", Edit::InsertItem, Some("  - New w9x item\n  - a\n"));
    check("## Old\n", Edit::RetitleHeading, Some("## About w9x\n"));
    check("", Edit::MoveParagraph, None);
}
