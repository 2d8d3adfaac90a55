//! What a file says and its page does not: taken for a formatter's work, or out of the API's reach. Nothing of it is sent, so a
//! person is told of the line.

use std::fmt;

use pulldown_cmark::{Event, LinkType, Parser, Tag};
use serde_json::Value;

use super::allowed::{Allowed, Known};
use super::build::{collapsed, is_rewrapped};
use super::lower::lower;
use super::parse::{matched_with_hidden, parse_literally, stands_literally_for};
use super::patch::patch_until;
use super::plain::{CODE, Inline, Kind, Node, What};
use super::read::OPTIONS;
use super::shapes::is_local;

/// A line of a text that says something else than its page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Counted from 1.
    pub line: usize,
    /// What it is.
    pub what: Difference,
}

/// How a text differs from its page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// No toggle of the page is one in the file.
    Toggle,
    /// Every bullet of the page is a toggle in the file.
    Bullet,
    /// None of the page's empty paragraphs is in the file.
    Blank,
    /// A list begins with another number here than there.
    Number(u64, u64),
    /// White space that was joined or styled, in a line of which nothing else is left.
    Space,
    /// Code that has another style as well: the app knows none.
    Code,
    /// A picture whose address is a place on this machine.
    Picture(String),
    /// A link to a file of this machine that is no page.
    Link(String),
    /// A to-do that has a number here.
    Task(u64),
    /// A line that would stand for a block, and stands for none of this workspace.
    Stray,
}

impl Difference {
    /// Whether it is over only when file and page agree; the rest is told once.
    #[must_use]
    pub fn lasts(&self) -> bool {
        matches!(
            self,
            Self::Toggle | Self::Bullet | Self::Blank | Self::Number(..) | Self::Space | Self::Code
        )
    }

    /// What a person can do about it.
    #[must_use]
    pub fn mend(&self) -> &'static str {
        match self {
            Self::Toggle | Self::Bullet | Self::Blank | Self::Space => {
                "espejo resolve FILE --mine sends the line as it is; --theirs writes the service's line into the file"
            }
            Self::Number(..) => "nothing to do; the app uses its own first number",
            Self::Code => "nothing to do; the app shows it as code",
            Self::Task(_) => "nothing to do; a to-do has no number in the app",
            Self::Picture(_) => "insert it in the app, or put it into Storage and use its address",
            Self::Link(_) => "put the file into Storage and use its address",
            Self::Stray => "remove the line, or copy it from a page of this workspace",
        }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line;
        match &self.what {
            Difference::Toggle => {
                write!(f, "line {line} is taken for formatting: it is still a toggle at the service")
            }
            Difference::Bullet => {
                write!(f, "line {line} is taken for formatting: it is still a bullet at the service")
            }
            Difference::Blank => {
                write!(
                    f,
                    "line {line} is taken for formatting: the service still has an empty paragraph before it"
                )
            }
            Difference::Number(here, there) => {
                write!(
                    f,
                    "line {line} is taken for formatting: its list begins with {here} here and with {there} at the service"
                )
            }
            Difference::Space => {
                write!(f, "line {line} is taken for formatting: its white space is unchanged at the service")
            }
            Difference::Code => {
                write!(f, "line {line} has code with another style: at the service it is only code")
            }
            Difference::Task(number) => {
                write!(
                    f,
                    "line {line} is a to-do with the number {number}: at the service it is only a to-do"
                )
            }
            Difference::Picture(url) => {
                write!(f, "the picture {url} in line {line} is only on this machine, and is sent as text")
            }
            Difference::Link(url) => {
                write!(
                    f,
                    "the file {url} in line {line} is only on this machine, and its link is sent as text"
                )
            }
            Difference::Stray => {
                write!(
                    f,
                    "line {line} stands for a block that does not exist in this workspace: it stays in this file"
                )
            }
        }
    }
}

/// What `text` says and the blocks that it stands for do not.
#[must_use]
pub fn told(text: &str, blocks: &[Value]) -> Vec<Told> {
    let mut found = Vec::new();
    local(text, &mut found);
    if may_differ(text, blocks) {
        let documented = Allowed::documented();
        let (nodes, ..) = matched_with_hidden(text, lower(blocks), &Known::new(&documented, blocks));
        let real = lower(blocks);
        let mut there = Vec::with_capacity(real.values.len());
        collect(&real.nodes, &mut there);
        walk(text, &nodes, &there, &mut found);
    }
    found.sort_by_key(|told| told.line);
    found
}

/// The text with what its page says where it was taken for a formatter's work; every other line stays as it is, where that can
/// be. `blocks` are what the text stands for.
#[must_use]
pub fn settled(text: &str, blocks: &[Value], allowed: &Allowed) -> String {
    // Blocks that are new at its word have no part in the result.
    let mut ids = 0u64;
    let mut id = || {
        ids += 1;
        format!("at its word {ids}")
    };
    let said = parse_literally(text, blocks, allowed, &mut id);
    let terms = Known::new(allowed, blocks);
    patch_until(text, &said, blocks, Some(&terms), true, |text| {
        stands_literally_for(text, blocks) && !told(text, blocks).iter().any(|told| told.what.lasts())
    })
}

/// Whether a text could hide a difference at all; most have nothing of the kind and are not read for it.
fn may_differ(text: &str, blocks: &[Value]) -> bool {
    fn is(blocks: &[Value], ask: &dyn Fn(&Value) -> bool) -> bool {
        blocks.iter().any(|block| {
            ask(block) || block.get("children").and_then(Value::as_array).is_some_and(|list| is(list, ask))
        })
    }
    let is_kind = |block: &Value, kind: &str| block.get("type").is_some_and(|own| own == kind);
    let starts = |line: &str, sign: char| line.trim_start_matches([' ', '\t', '>']).starts_with(sign);
    let numbers = || {
        text.lines()
            .any(|line| line.trim_start_matches([' ', '\t', '>']).starts_with(|c: char| c.is_ascii_digit()))
    };
    text.contains('`') && text.contains(['*', '_', '~', '<', '['])
        || has_lone_space(text)
        || is(blocks, &|block| !is_kind(block, "codeBlock") && has_wide_space(block))
        || is(blocks, &|block| has_line_end(block))
        || text.contains("<!-- block:")
        || !text.lines().any(|line| starts(line, '+'))
            && is(blocks, &|block| is_kind(block, "toggleListItem"))
        || text.lines().any(|line| starts(line, '+')) && is(blocks, &|block| is_kind(block, "bulletListItem"))
        || is(blocks, &|block| is_kind(block, "paragraph") && is_void(block))
        || numbers()
            && is(blocks, &|block| is_kind(block, "numberedListItem") || is_kind(block, "checkListItem"))
}

fn is_void(block: &Value) -> bool {
    block
        .get("content")
        .and_then(Value::as_array)
        .is_none_or(|runs| runs.iter().all(|run| run.get("text").is_some_and(|text| text == "")))
}

fn collect<'a>(nodes: &'a [Node], there: &mut Vec<&'a Node>) {
    for node in nodes {
        there.push(node);
        collect(&node.children, there);
    }
}

/// Whether a text has white space as an entity, or alone between two tags.
fn has_lone_space(text: &str) -> bool {
    text.contains("&#") || text.contains("> <")
}

/// Whether a block has a line end and a sign by which its lines may mean something elsewhere.
fn has_line_end(block: &Value) -> bool {
    let runs = || block.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts = || runs().filter_map(|run| run.get("text")?.as_str());
    texts().any(|text| text.contains('\n')) && texts().any(|text| text.contains([':', '!', '?']))
}

/// Whether a block has white space that a formatter joins: two spaces or tabs side by side, in one run or where two runs meet.
fn has_wide_space(block: &Value) -> bool {
    let is_blank = |c: char| matches!(c, ' ' | '\t');
    let mut blank = false;
    block.get("content").and_then(Value::as_array).into_iter().flatten().any(|run| {
        let text = run.get("text").and_then(Value::as_str).unwrap_or_default();
        text.chars().any(|c| std::mem::replace(&mut blank, is_blank(c)) && is_blank(c))
    })
}

/// Whether two texts differ in white space alone: in the spaces that a formatter joins, or in the style of white space that is
/// an entity or stands between two tags.
fn is_space(text: &str, node: &Node, real: &Node) -> bool {
    let is_joined = || node.inline.text != real.inline.text;
    let is_styled = || node.inline != real.inline && text.get(node.at.clone()).is_some_and(has_lone_space);
    let is_same = || collapsed(&node.inline).text == collapsed(&real.inline).text;
    node.kind == real.kind && (is_joined() || is_styled()) && is_same() || is_rewrapped(real, node)
}

/// Whether a text has code with another style.
fn has_styled_code(inline: &Inline) -> bool {
    inline
        .marks
        .iter()
        .any(|mark| mark.style & CODE != 0 && (mark.style != CODE || matches!(mark.what, What::Link(_))))
}

fn walk(text: &str, nodes: &[Node], there: &[&Node], found: &mut Vec<Told>) {
    let mut counting = false;
    for node in nodes {
        let mut tell = |what| found.push(Told { line: line_of(text, node.at.start), what });
        let real = node.base.and_then(|index| there.get(index));
        if node.blank {
            // One that is not in the text stands where the block after it does.
            let is_there = text[node.at.start..].trim_start_matches([' ', '\t']).starts_with(['\n', '\r']);
            if node.base.is_some() && !is_there && !text[node.at.start..].is_empty() {
                tell(Difference::Blank);
            }
            counting = false;
            continue;
        }
        if has_styled_code(&node.inline) && real.is_some_and(|real| real.inline != node.inline) {
            tell(Difference::Code);
        }
        if real.is_some_and(|real| is_space(text, node, real)) {
            tell(Difference::Space);
        }
        match (&node.kind, real.map(|real| &real.kind)) {
            (Kind::Bullet, Some(Kind::Toggle)) => tell(Difference::Toggle),
            (Kind::Bullet, Some(Kind::Bullet)) if text[node.at.start..].starts_with('+') => {
                tell(Difference::Bullet);
            }
            (Kind::Number(_), Some(Kind::Number(start))) if !counting => {
                let there = start.unwrap_or(1);
                if node.number != there {
                    tell(Difference::Number(node.number, there));
                }
            }
            (Kind::Check(_), _) if is_numbered(text, node) => {
                tell(Difference::Task(node.number));
            }
            (Kind::Hidden(source), _) if source.starts_with("<!-- block:") => tell(Difference::Stray),
            _ => {}
        }
        if !node.is_hidden() {
            counting = matches!(node.kind, Kind::Number(_));
        }
        walk(text, &node.children, there, found);
    }
}

/// Whether a number begins an item.
fn is_numbered(text: &str, node: &Node) -> bool {
    text.get(node.at.start..).is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()))
}

/// Pictures and files of this machine.
fn local(text: &str, found: &mut Vec<Told>) {
    if !["](", "]:", "![[", "<img"].iter().any(|sign| text.contains(sign)) {
        return;
    }
    let mut code = Vec::new();
    let mut tell = |at: usize, what| found.push(Told { line: line_of(text, at), what });
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(Tag::Image { dest_url, .. }) if is_local(&dest_url) => {
                tell(range.start, Difference::Picture(dest_url.to_string()));
            }
            // A link between pages is not told; a footnote is no link, and a mailbox no place on this machine.
            Event::Start(Tag::Link { dest_url, id, link_type, .. })
                if link_type != LinkType::Email
                    && is_local(&dest_url)
                    && !is_page(&dest_url)
                    && !id.starts_with('^') =>
            {
                tell(range.start, Difference::Link(dest_url.to_string()));
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                for source in sources(&html).filter(|source| is_local(source)) {
                    tell(range.start, Difference::Picture(source.to_owned()));
                }
            }
            Event::Code(_) | Event::Start(Tag::CodeBlock(_)) => code.push(range),
            _ => {}
        }
    }
    for (at, _) in text.match_indices("![[") {
        let Some((name, _)) = text[at + 3..].split_once("]]") else { continue };
        let name = name.split(['|', '#']).next().unwrap_or_default();
        let in_code =
            code.get(code.partition_point(|place| place.end <= at)).is_some_and(|place| place.contains(&at));
        if !in_code && is_media(name) {
            tell(at, Difference::Picture(name.to_owned()));
        }
    }
}

/// See [`super::line_of_label`].
pub(super) fn line_of_link(text: &str, address: &str) -> Option<usize> {
    let mut events = Parser::new_ext(text, OPTIONS).into_offset_iter();
    let is_it = |event: &Event<'_>| matches!(event, Event::Start(Tag::Link { dest_url, .. }) if &**dest_url == address);
    events.find(|(event, _)| is_it(event)).map(|(_, range)| line_of(text, range.start))
}

/// The addresses of the pictures in HTML.
fn sources(html: &str) -> impl Iterator<Item = &str> {
    html.split("<img").skip(1).filter_map(|tag| {
        let tag = tag.split('>').next()?;
        let value = tag.split_once("src=")?.1;
        let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''));
        match quote {
            Some(quote) => value.get(1..)?.split(quote).next(),
            None => value.split([' ', '/']).next(),
        }
    })
}

/// Whether a name is that of a picture, a video or a sound.
fn is_media(name: &str) -> bool {
    const ENDS: [&str; 14] = [
        "avif", "bmp", "flac", "gif", "jpeg", "jpg", "m4a", "mov", "mp3", "mp4", "ogg", "png", "svg", "webp",
    ];
    let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    !name.contains('\n') && end.is_some_and(|end| ENDS.contains(&end.as_str()))
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Whether an address on this machine is one of a page.
fn is_page(url: &str) -> bool {
    let path = url.split(['#', '?']).next().unwrap_or("");
    path.ends_with('/')
        || path.rsplit('/').next().is_some_and(|name| !name.contains('.') || name.ends_with(".md"))
}
