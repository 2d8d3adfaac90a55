//! The YAML block at a page's top: reads the keys that are espejo's, and changes nothing else. An `id` may be
//! another program's (Dendron, Docusaurus): then espejo's own stands under `espejo-id`.
//!
//! YAML is read as events, so that a value's own text counts (`012` stays `012`) and anchors expand to nothing. It
//! is written by hand, line by line; the user's keys, comments, order and line ends stay byte for byte.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use yaml_rust2::parser::{Event, Parser};
use yaml_rust2::scanner::{Marker, TScalarStyle};

use super::hugo;

/// What espejo keeps in front matter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FrontMatter {
    /// The key `id`: the page's id at the service, or another program's.
    pub id: Option<String>,
    /// The key `espejo-id`: the page's id, beside another program's.
    pub own_id: Option<String>,
    /// The exact title, where the file name cannot say it.
    pub title: Option<String>,
    /// The page's emoji.
    pub icon: Option<String>,
}

impl FrontMatter {
    /// The id that counts, of whichever program it is.
    #[must_use]
    pub fn named(&self) -> Option<&str> {
        self.own_id.as_deref().or(self.id.as_deref())
    }
}

/// A text in its two parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split<'a> {
    /// What the front matter says; `None` when there is none.
    pub front: Option<FrontMatter>,
    /// Everything after the closing line.
    pub body: &'a str,
    /// The byte at which the body starts.
    pub body_start: usize,
}

impl Split<'_> {
    /// How many lines of `text`, which was split, stand above the body.
    #[must_use]
    pub fn lines_above(&self, text: &str) -> usize {
        text.get(..self.body_start).unwrap_or_default().matches('\n').count()
    }
}

/// Front matter that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the front matter is broken in line {line}: {why}")]
pub struct BadFrontMatter {
    /// The line in the file, counted from 1.
    pub line: usize,
    /// What is wrong, without a full stop.
    pub why: String,
}

/// The keys that are espejo's, in the order they are written in: the id's, unless it is another program's, then the others.
const KEYS: [&str; 4] = ["id", OWN_ID, "title", "icon"];
/// The key of the page's id where `id` is another program's.
const OWN_ID: &str = "espejo-id";

/// Takes a page's text apart. Front matter is a YAML mapping between two `---` lines at the very top (`...` closes it
/// as well); a page that merely starts with a divider has none. TOML between two `+++` lines is Hugo's: its title counts.
///
/// # Errors
/// [`BadFrontMatter`] when it looks like front matter but is never closed, is not YAML, has a key twice or an anchor,
/// or when one of espejo's keys is no text.
pub fn split(text: &str) -> Result<Split<'_>, BadFrontMatter> {
    if let Some((title, body)) = hugo::find(text) {
        let front = FrontMatter { title, ..FrontMatter::default() };
        return Ok(Split { front: Some(front), body: &text[body..], body_start: body });
    }
    let whole = Split { front: None, body: text, body_start: 0 };
    let Some(block) = Block::find(text)? else { return Ok(whole) };
    let entries = match block.entries(text)? {
        Some(entries) => entries,
        None => return Ok(whole),
    };
    let mut front = FrontMatter::default();
    for entry in &entries {
        let value = || match &entry.value {
            Ok(value) => Ok(value.clone()),
            Err(()) => {
                Err(BadFrontMatter { line: entry.line + 2, why: format!("{} must be text", entry.key) })
            }
        };
        match entry.key.as_str() {
            "id" => front.id = value()?,
            OWN_ID => front.own_id = value()?,
            "title" => front.title = value()?,
            "icon" => front.icon = value()?,
            _ => {}
        }
    }
    Ok(Split { front: Some(front), body: &text[block.body..], body_start: block.body })
}

/// Whether a text begins as front matter does, whatever stands in it: other programs do not look closely.
pub(super) fn looks_so(text: &str) -> bool {
    !matches!(Block::find(text), Ok(None))
}

/// As [`set_beside`], where an `id` is no other program's.
///
/// # Errors
/// As [`set_beside`].
pub fn set(
    text: &str,
    id: Option<&str>,
    title: Option<&str>,
    icon: Option<&str>,
) -> Result<String, BadFrontMatter> {
    set_beside(text, id, title, icon, &|_| true)
}

/// Sets or removes espejo's keys; every other byte stays. Makes the block where there is none, and drops it when
/// nothing is left in it. An `id` that is not espejo's according to `is_ours` stays, and the page's id goes beside it.
/// Nothing is written between lines of `+++`.
///
/// # Errors
/// As [`split`]; also when another title stands between lines of `+++`, or a key of espejo's has to change in a mapping written in
/// braces.
pub fn set_beside(
    text: &str,
    id: Option<&str>,
    title: Option<&str>,
    icon: Option<&str>,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<String, BadFrontMatter> {
    if let Some((own, _)) = hugo::find(text) {
        return match title.is_none_or(|title| own.as_deref() == Some(title)) {
            true => Ok(text.to_owned()),
            false => Err(BadFrontMatter {
                line: 1,
                why: "its title stands between lines of +++, in which espejo writes nothing; change it there"
                    .to_owned(),
            }),
        };
    }
    let now = split(text)?;
    let block = if now.front.is_some() { Block::find(text)? } else { None };
    let front = now.front.unwrap_or_default();
    let others = front.id.as_deref().filter(|now| !now.is_empty() && Some(*now) != id && !is_ours(now));
    let is_beside = front.own_id.is_some() || others.is_some();
    let wanted = [(if is_beside { OWN_ID } else { "id" }, id), ("title", title), ("icon", icon)];
    let Some(block) = block else { return Ok(made(text, wanted)) };
    let says = |front: FrontMatter| {
        let (own, other) = if is_beside { (front.own_id, front.id) } else { (front.id, None) };
        [own, front.title, front.icon, other]
    };
    let meant = [id, title, icon, front.id.as_deref().filter(|_| is_beside)].map(|v| v.map(str::to_owned));
    if says(front) == meant {
        return Ok(text.to_owned());
    }
    // Read again before it counts: what a value says can hang on the line that follows it (a block of text without
    // a line, for one), and a key that stays as the user wrote it is worth less than one that says the same.
    let is_meant = |text: &str| match split(text) {
        Ok(split) => says(split.front.unwrap_or_default()) == meant,
        Err(_) => false,
    };
    let kept = replaced(text, block, wanted, true)?;
    if is_meant(&kept) {
        return Ok(kept);
    }
    let rewritten = replaced(text, block, wanted, false)?;
    if is_meant(&rewritten) {
        return Ok(rewritten);
    }
    let why = "espejo's keys cannot be changed in it; write one key to a line".to_owned();
    Err(BadFrontMatter { line: 1, why })
}

/// The keys that are to be in front matter, each with its value.
type Wanted<'a> = [(&'static str, Option<&'a str>); 3];

/// The text with espejo's keys as wanted. With `keep`, a key that says so already stays as the user wrote it.
fn replaced(text: &str, block: Block, wanted: Wanted<'_>, keep: bool) -> Result<String, BadFrontMatter> {
    let eol = if text[..block.start].ends_with("\r\n") { "\r\n" } else { "\n" };
    let old = yaml_lines(&text[block.start..block.end]);
    let entries = block.entries(text)?.unwrap_or_default();
    // What takes whose lines' place, all in the lines as they were: a line means something else once another is gone.
    let mut changes = Vec::new();
    // espejo's own id stands below another program's.
    let id = entries.iter().find(|entry| entry.key == KEYS[0]);
    let mut place = id.map_or(0, |entry| value_end(&old, entry.line));
    for (key, value) in wanted {
        let Some(entry) = entries.iter().find(|entry| entry.key == key) else {
            changes.extend(value.map(|value| (place..place, format!("{key}: {}{eol}", scalar(value)))));
            continue;
        };
        if entry.flow {
            let why = format!("{key} cannot be changed inside braces; write one key to a line");
            return Err(BadFrontMatter { line: entry.line + 2, why });
        }
        place = value_end(&old, entry.line);
        let same = keep && matches!((&entry.value, value), (Ok(Some(old)), Some(new)) if old == new);
        if !same {
            let line =
                value.map(|value| format!("{key}: {}{}{eol}", scalar(value), comment(old[entry.line])));
            changes.push((entry.line..place, line.unwrap_or_default()));
        }
    }
    changes.sort_by_key(|(lines, _)| (lines.start, lines.end));
    let mut lines = Vec::new();
    let mut at = 0;
    for (instead, line) in changes {
        lines.extend(old[at..instead.start].iter().map(|&line| line.to_owned()));
        lines.push(line);
        at = instead.end;
    }
    lines.extend(old[at..].iter().map(|&line| line.to_owned()));
    let bom = if text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    if lines.iter().all(|line| line.trim().is_empty()) {
        let rest = &text[block.body..];
        let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).unwrap_or(rest);
        let bare = format!("{bom}{rest}");
        // A body that would be taken for front matter keeps an empty one before it.
        if matches!(split(&bare), Ok(Split { front: None, .. })) {
            return Ok(bare);
        }
    }
    if wanted.iter().all(|(_, value)| value.is_none()) && entries_of(&lines.concat(), 2)?.is_none() {
        // Comments alone would be taken for a heading between dividers: a key without a value says nothing either.
        lines.push(format!("id:{eol}"));
    }
    Ok(format!("{}{}{}", &text[..block.start], lines.concat(), &text[block.end..]))
}

/// A new block before the text.
fn made(text: &str, wanted: Wanted<'_>) -> String {
    if wanted.iter().all(|(_, value)| value.is_none()) {
        return text.to_owned();
    }
    let body = text.trim_start_matches('\u{feff}');
    let bom = &text[..text.len() - body.len()];
    let eol = if body.contains("\r\n") { "\r\n" } else { "\n" };
    let mut out = format!("{bom}---{eol}");
    for (key, value) in wanted {
        if let Some(value) = value {
            // Writing to a String cannot fail.
            let _ = write!(out, "{key}: {}{eol}", scalar(value));
        }
    }
    out.push_str("---");
    out.push_str(eol);
    if !body.is_empty() && !body.starts_with(['\n', '\r']) {
        out.push_str(eol);
    }
    out + body
}

/// Where the block stands: its YAML, and what follows its closing line.
#[derive(Debug, Clone, Copy)]
struct Block {
    start: usize,
    end: usize,
    body: usize,
}

impl Block {
    fn find(text: &str) -> Result<Option<Self>, BadFrontMatter> {
        let skip = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let mut lines = text[skip..].split_inclusive('\n');
        let Some(first) = lines.next().filter(|first| first.ends_with('\n') && first.trim_end() == "---")
        else {
            return Ok(None);
        };
        let start = skip + first.len();
        let mut at = start;
        for line in lines {
            if matches!(line.trim_end(), "---" | "...") {
                return Ok(Some(Self { start, end: at, body: at + line.len() }));
            }
            at += line.len();
        }
        if is_begun(&text[start..]) {
            return Err(BadFrontMatter { line: 1, why: "no line of three dashes ends it".to_owned() });
        }
        Ok(None)
    }

    fn entries(&self, text: &str) -> Result<Option<Vec<Entry>>, BadFrontMatter> {
        entries_of(&text[self.start..self.end], 2)
    }
}

/// A key at the top level of the mapping.
#[derive(Debug, Clone)]
struct Entry {
    key: String,
    /// The scalar's text; `Ok(None)` for null; an error for a list or mapping.
    value: Result<Option<String>, ()>,
    /// Counted from 0 in the block.
    line: usize,
    flow: bool,
}

/// The entries of a YAML mapping; `None` when it is something else, which makes it no front matter.
fn entries_of(yaml: &str, first_line: usize) -> Result<Option<Vec<Entry>>, BadFrontMatter> {
    if yaml.trim().is_empty() {
        return Ok(Some(Vec::new()));
    }
    let looks_like_keys =
        yaml.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).is_some_and(is_key_line);
    let bad = |line: usize, why: String| BadFrontMatter { line, why };
    if yaml.len() > 1 << 20 {
        return if looks_like_keys {
            Err(bad(first_line, "it is larger than a megabyte".to_owned()))
        } else {
            Ok(None)
        };
    }
    if let Some(line) = yaml.lines().position(is_document_marker) {
        let why = "a line of dashes or dots with more text starts a second document in it";
        return if looks_like_keys { Err(bad(line + first_line, why.to_owned())) } else { Ok(None) };
    }
    let mut reader =
        Reader { yaml, depth: 0, key: None, entries: Vec::new(), is_mapping: false, anchor: None };
    // Pulled one by one: the parser's own loop calls itself for every level of nesting.
    let mut parser = Parser::new_from_str(yaml);
    loop {
        match parser.next_token() {
            Ok((Event::StreamEnd, _)) => break,
            Ok((event, mark)) => reader.event(&event, &mark),
            Err(error) if looks_like_keys => {
                return Err(bad(error.marker().line() + first_line - 1, error.info().to_owned()));
            }
            Err(_) => return Ok(None),
        }
    }
    if !reader.is_mapping {
        return Ok(None);
    }
    if let Some(line) = reader.anchor {
        return Err(bad(line + first_line, "it contains an anchor or an alias".to_owned()));
    }
    let mut entries = reader.entries;
    entries.retain(|entry| !entry.key.is_empty());
    let mut seen = BTreeSet::new();
    if let Some(twice) = entries.iter().find(|entry| !seen.insert(entry.key.as_str())) {
        return Err(bad(twice.line + first_line, format!("{} occurs twice", twice.key)));
    }
    Ok(Some(entries))
}

/// Whether what follows a first line of dashes was meant as front matter although nothing closes it: a key stands in
/// the very next line, or is one of espejo's.
fn is_begun(rest: &str) -> bool {
    let blank = |line: &&str| line.trim().is_empty();
    let first = rest.lines().find(|line| !blank(line) && !line.starts_with('#'));
    let own =
        |line: &str| KEYS.iter().any(|key| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')));
    let next = rest.lines().next().is_some_and(|line| !blank(&line));
    first.is_some_and(|line| is_key_line(line) && (next || own(line)))
}

/// Whether YAML begins or ends a document here: it does even within a block of text, as nothing indents the line
/// (YAML 1.2, 9.1.2).
fn is_document_marker(line: &str) -> bool {
    let rest = line.strip_prefix("---").or_else(|| line.strip_prefix("..."));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn is_key_line(line: &str) -> bool {
    let key = line.trim_start_matches(['"', '\'']);
    let name = key.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')).count();
    let rest: String = key.chars().skip(name).collect();
    let rest = rest.trim_start_matches(['"', '\'']).trim_start();
    name > 0 && (rest == ":" || rest.starts_with(": ") || rest.starts_with(":\t"))
}

struct Reader<'y> {
    yaml: &'y str,
    depth: usize,
    key: Option<(String, usize, bool)>,
    entries: Vec<Entry>,
    is_mapping: bool,
    /// The line of the first anchor or alias.
    anchor: Option<usize>,
}

impl Reader<'_> {
    fn event(&mut self, event: &Event, mark: &Marker) {
        if let Event::Alias(_)
        | Event::Scalar(_, _, 1.., _)
        | Event::SequenceStart(1.., _)
        | Event::MappingStart(1.., _) = event
        {
            self.anchor.get_or_insert(mark.line().saturating_sub(1));
        }
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                if self.depth == 0 {
                    self.is_mapping = matches!(event, Event::MappingStart(..));
                } else if self.depth == 1 {
                    self.value(Err(()), mark);
                }
                self.depth += 1;
            }
            Event::MappingEnd | Event::SequenceEnd => self.depth = self.depth.saturating_sub(1),
            Event::Scalar(text, style, ..) if self.depth == 1 && self.is_mapping => {
                if self.key.is_none() {
                    let line = mark.line().saturating_sub(1);
                    let flow = mark.col() > 0 || self.yaml.trim_start().starts_with('{');
                    self.key = Some((text.clone(), line, flow));
                } else {
                    let null = *style == TScalarStyle::Plain
                        && matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL");
                    self.value(Ok((!null).then(|| text.clone())), mark);
                }
            }
            Event::Alias(_) if self.depth == 1 => self.value(Err(()), mark),
            _ => {}
        }
    }

    fn value(&mut self, value: Result<Option<String>, ()>, mark: &Marker) {
        match self.key.take() {
            Some((key, line, flow)) => self.entries.push(Entry { key, value, line, flow }),
            // A key that is no scalar: remembered without a name.
            None => self.key = Some((String::new(), mark.line().saturating_sub(1), false)),
        }
    }
}

/// The lines of YAML as its parser counts them, with their ends: a carriage return by itself ends one, too.
fn yaml_lines(yaml: &str) -> Vec<&str> {
    let mut rest = yaml;
    let mut lines = Vec::new();
    while let Some(at) = rest.find(['\n', '\r']) {
        let (line, behind) = rest.split_at(at + if rest[at..].starts_with("\r\n") { 2 } else { 1 });
        lines.push(line);
        rest = behind;
    }
    lines.extend((!rest.is_empty()).then_some(rest));
    lines
}

/// The line after a key's value: further lines of a value are indented, and a comment is only part of it inside
/// quotes or a block.
fn value_end(lines: &[&str], key: usize) -> usize {
    let value = lines[key].split_once(':').map_or("", |(_, value)| value.trim());
    let holds_any = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => closing(value, quote, quote == '"').is_none(),
        first => matches!(first, Some('|' | '>')),
    };
    let mut end = key + 1;
    for (at, line) in lines.iter().enumerate().skip(key + 1) {
        if !holds_any && line.trim_start().starts_with('#') {
            break;
        }
        if line.starts_with([' ', '\t']) && !line.trim().is_empty() {
            end = at + 1;
        } else if !line.trim().is_empty() {
            break;
        }
    }
    end
}

/// The comment at the end of a line, with the space before it.
fn comment(line: &str) -> String {
    let line = line.trim_end();
    let value = line.split_once(':').map_or("", |(_, value)| value.trim_start());
    let rest = match value.chars().next() {
        Some('"') => closing(value, '"', true),
        Some('\'') => closing(value, '\'', false),
        Some('|' | '>') => None,
        _ => value.find(" #").map(|at| &value[at..]),
    };
    rest.filter(|rest| rest.trim_start().starts_with('#')).unwrap_or("").to_owned()
}

fn closing(value: &str, quote: char, escapes: bool) -> Option<&str> {
    let mut escaped = false;
    for (at, c) in value.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if escapes && c == '\\' {
            escaped = true;
        } else if c == quote {
            return Some(&value[at + c.len_utf8()..]);
        }
    }
    None
}

/// A text as a YAML scalar: bare where that is safe for every reader, else in double quotes as JSON has it.
fn scalar(text: &str) -> String {
    let safe_char = |c: char| {
        c.is_alphanumeric()
            || matches!(c, ' ' | '-' | '_' | '.' | ',' | '(' | ')' | '/' | '!' | '?' | '\'' | '+' | '=')
    };
    let word = |text: &str| {
        matches!(
            text.to_ascii_lowercase().as_str(),
            "y" | "n" | "yes" | "no" | "true" | "false" | "on" | "off" | "null" | "nan" | "inf"
        )
    };
    let bare = text.chars().next().is_some_and(char::is_alphanumeric)
        && text.chars().all(safe_char)
        && text.chars().any(char::is_alphabetic)
        && !text.ends_with(' ')
        && !word(text)
        && !is_number_like(text);
    if bare {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') =>
            {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Whether some YAML reader takes it for a number or a date: `1e5`, `0x1f`, `1_000`, `2024-01-01`.
fn is_number_like(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| {
            c.is_ascii_hexdigit() || matches!(c, '_' | '.' | 'x' | 'o' | '+' | '-' | 'T' | 'Z' | ' ' | ':')
        })
        && !is_uuid(text)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.bytes().enumerate().all(|(at, b)| matches!(at, 8 | 13 | 18 | 23) == (b == b'-'))
}
