//! Pages as Markdown: blocks to text, text to blocks, and changes of blocks into a text that a person formatted.
//!
//! Pure: no file, clock or randomness; ids are handed in. The laws are those of the contract, section 2. Both sides
//! meet in the *plain tree* (`plain`), which holds what a Markdown file can say and nothing else: `lower` makes it
//! from blocks, `read` from text, `write` turns it into text. What a block is beyond its plain form it keeps through
//! `align`, which finds each block of a text in the base, and `build`, which changes only what was edited.

mod align;
mod allowed;
mod build;
mod carry;
mod certain;
mod check;
mod columns;
pub mod front_matter;
mod hugo;
mod likeness;
mod lower;
mod merge_marks;
mod near;
mod parse;
mod patch;
mod plain;
mod read;
mod settle;
mod shapes;
mod told;
mod unclosed;
mod write;

use std::ops::Range;

use serde_json::Value;

use crate::model::{BodyJson, ContentHash, LONG_BODY, has_inline_item, one_by_one, planted_fault};

use allowed::Known;

pub use allowed::Allowed;
pub use merge_marks::MergeMarks;
pub use told::{Difference, Told, settled, told};
pub use unclosed::Unclosed;

/// Draws an id for a new block: a UUID, version 4, as text.
pub type NewId<'a> = dyn FnMut() -> String + 'a;

/// A page as text, and where each block stands in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The Markdown; ends with a line end unless it is empty.
    pub text: String,
    /// One for each block, parents before their children.
    pub map: Vec<Span>,
}

/// Where a block stands in a rendered text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The block's id, where it has one.
    pub id: Option<String>,
    /// The bytes of its lines and of all beneath it; empty for a block that is only a blank line.
    pub range: Range<usize>,
}

/// Blocks to Markdown.
#[must_use]
pub fn render(blocks: &[Value]) -> Rendered {
    rendered(blocks, None)
}

/// Blocks to Markdown for a workspace in which there is no more than `allowed` and what they show: text that would be a link, a
/// fence or a table elsewhere is written as it was typed.
#[must_use]
pub fn render_for(blocks: &[Value], allowed: &Allowed) -> Rendered {
    planted_fault("printing", &|| format!("{blocks:?}"));
    rendered(blocks, Some(&Known::new(allowed, blocks)))
}

fn rendered(blocks: &[Value], terms: Option<&Known<'_>>) -> Rendered {
    let mut lowered = lower::lower(blocks);
    let mut ranges = vec![0..0; lowered.values.len()];
    let text = certain::written(&mut lowered, terms, &mut |index, range| ranges[index] = range);
    let id = |block: &Value| lower::id_of(block).map(str::to_owned);
    let map = lowered.values.iter().zip(ranges).map(|(block, range)| Span { id: id(block), range }).collect();
    Rendered { text, map }
}

/// The text that [`render`] writes for a page; of the blocks of a long one no more than one is held at a time, where that
/// can be.
///
/// # Errors
/// What is wrong with the JSON.
pub fn text_of(content: &BodyJson) -> serde_json::Result<String> {
    planted_fault("printing", &|| content.as_str().to_owned());
    match text_of_long(content.as_str().as_bytes(), |_| true) {
        Some(text) => Ok(text),
        None => Ok(render(&content.blocks()?).text),
    }
}

/// As [`text_of`], of the JSON of a long page as it came; `None` when it is short or unusual in any way, or not all of it
/// are blocks.
#[must_use]
pub fn text_of_long(json: &[u8], is_block: impl Fn(&Value) -> bool) -> Option<String> {
    lowered_alone(json, is_block).and_then(|page| certain::written_alone(&page))
}

/// `text` stands for `from`: as [`patch`], made for `to`. Where only `to` is long, no more than one of its blocks is held at
/// a time, if that can be; where both are, the blocks around the change.
///
/// # Errors
/// What is wrong with the JSON.
pub fn patched(text: &str, from: &BodyJson, to: &BodyJson) -> serde_json::Result<String> {
    planted_fault("splicing", &|| to.as_str().to_owned());
    if let Some(text) = near::patch_near(text, from, to) {
        return Ok(text);
    }
    let old = from.blocks()?;
    let to_json = to.as_str().as_bytes();
    let new = if from.as_str().len() < LONG_BODY { lowered_alone(to_json, |_| true) } else { None };
    match new.and_then(|new| patch::patch_alone(text, &old, &new)) {
        Some(text) => Ok(text),
        None => Ok(patch(text, &old, &to.blocks()?)),
    }
}

/// The tree of a long content; `None` when it is short, or unusual in any way.
fn lowered_alone(json: &[u8], is_block: impl Fn(&Value) -> bool) -> Option<lower::Alone> {
    let (mut blocks, mut whole) = (one_by_one(json)?, true);
    let known = std::iter::from_fn(|| {
        let block = blocks.next()?.filter(&is_block);
        whole &= block.is_some();
        block
    });
    let alone = lower::lower_one_by_one(known);
    whole.then_some(alone)
}

/// Markdown to blocks. `text` is a page's body without front matter; `base` are the last agreed blocks (none for a
/// new page), whose ids and props the text's blocks keep. Never fails: what has no block is kept as its text.
#[must_use]
pub fn parse(text: &str, base: &[Value], allowed: &Allowed, new_id: &mut NewId<'_>) -> Vec<Value> {
    planted_fault("reading", &|| text.to_owned());
    parse::parse(text, base, allowed, new_id)
}

/// As [`parse`], with the text taken at its word: what a formatter alone may have done to it is an edit as well.
#[must_use]
pub fn parse_literally(text: &str, base: &[Value], allowed: &Allowed, new_id: &mut NewId<'_>) -> Vec<Value> {
    parse::parse_literally(text, base, allowed, new_id)
}

/// As [`parse`], with the base given away: what the text leaves as it was is moved, which takes half the time.
#[must_use]
pub fn parse_taking(text: &str, base: Vec<Value>, allowed: &Allowed, new_id: &mut NewId<'_>) -> Vec<Value> {
    planted_fault("reading", &|| text.to_owned());
    parse::parse_taking(text, base, allowed, new_id)
}

/// As [`parse`], of a content to a content. Of a long base only the blocks around an edit are held as values, where that can
/// be.
///
/// # Errors
/// What is wrong with the JSON.
pub fn parse_content(
    text: &str,
    base: &BodyJson,
    allowed: &Allowed,
    new_id: &mut NewId<'_>,
) -> serde_json::Result<BodyJson> {
    planted_fault("reading", &|| text.to_owned());
    if base.as_str() == "[]" {
        let json = parse_new(text, allowed, new_id);
        return Ok(BodyJson::known(ContentHash::of(json.as_bytes()), json));
    }
    match near::parse_near(text, base, allowed, new_id) {
        Some(content) => Ok(content),
        None => Ok(BodyJson::of(&parse::parse_taking(text, base.blocks()?, allowed, new_id))),
    }
}

/// As [`parse`] without a base, printed: no more than one block is held as values at a time.
#[must_use]
pub fn parse_new(text: &str, allowed: &Allowed, new_id: &mut NewId<'_>) -> String {
    parse::parse_new(text, allowed, new_id)
}

/// What begins in a text, is never closed, and so holds all that follows it.
#[must_use]
pub fn unclosed(text: &str) -> Option<Unclosed<'_>> {
    planted_fault("checking", &|| text.to_owned());
    unclosed::unclosed(text)
}

/// The marks of a merge of git that are in a text outside of fenced code.
#[must_use]
pub fn merge_marks(text: &str) -> Option<MergeMarks> {
    merge_marks::merge_marks(text)
}

/// The number of places with such marks that a page has, given its rendered text.
#[must_use]
pub fn marks_of_page(rendered: &str) -> usize {
    merge_marks::marks_of_page(rendered)
}

/// The ids of the blocks that stand in a text as one line each.
pub fn stand_in_ids(text: &str) -> impl Iterator<Item = &str> {
    text.split("<!-- block: ").skip(1).map(|rest| {
        rest.split_once(" -->").and_then(|(inside, _)| inside.rsplit(' ').next()).unwrap_or_default()
    })
}

/// The inline items of blocks that have no Markdown, each with the label by which a text names it.
#[must_use]
pub fn inline_items(blocks: &[Value]) -> Vec<(String, Value)> {
    if !has_inline_item(blocks) {
        return Vec::new();
    }
    lower::lower(blocks).items.into_iter().map(|(label, item)| (label, item.clone())).collect()
}

/// The addresses in a text that have the form of an inline item's label (`#TYPE-` and 8 hex digits).
pub fn item_labels(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("](#").filter_map(|(at, _)| {
        let address = &text[at + 2..];
        Some(&address[..address.find(')')?]).filter(|label| lower::is_label(label))
    })
}

/// The line, counted from 1, of the first link of a text to this label; `None` if the text has it in code only.
#[must_use]
pub fn line_of_label(text: &str, label: &str) -> Option<usize> {
    told::line_of_link(text, label)
}

/// Adds what stand-ins of a text stand for to the base that it is read with. Empty paragraphs at the base's end stay there:
/// they show nowhere only where they are the last.
pub fn add_stand_ins(base: &mut Vec<Value>, stand_ins: impl IntoIterator<Item = Value>) {
    let mut stand_ins = stand_ins.into_iter().peekable();
    if stand_ins.peek().is_some() {
        let end = base.len() - lower::lower(base).trailing();
        base.splice(end..end, stand_ins);
    }
}

/// `text` stands for `old`; the result stands for `new`, with only the lines of changed blocks rewritten (law 4).
#[must_use]
pub fn patch(text: &str, old: &[Value], new: &[Value]) -> String {
    patch::patch(text, old, new, None)
}

/// As [`patch`], for a workspace: see [`render_for`].
#[must_use]
pub fn patch_for(text: &str, old: &[Value], new: &[Value], allowed: &Allowed) -> String {
    planted_fault("splicing", &|| format!("{new:?}"));
    patch::patch(text, old, new, Some(&Known::new(allowed, new)))
}

/// The same blocks as a copy: new ids at every level, everything else kept.
#[must_use]
pub fn with_new_ids(blocks: &[Value], new_id: &mut NewId<'_>) -> Vec<Value> {
    let mut out = blocks.to_vec();
    renew(&mut out, new_id);
    out
}

fn renew(blocks: &mut [Value], new_id: &mut NewId<'_>) {
    for block in blocks {
        let Value::Object(block) = block else { continue };
        if block.contains_key("id") {
            block.insert("id".to_owned(), Value::String(new_id()));
        }
        if let Some(Value::Array(children)) = block.get_mut("children") {
            renew(children, new_id);
        }
    }
}

/// Refuses a body that the editor could not load, or that holds something this workspace has not shown; blocks that
/// are as they were in `base` are not looked at.
///
/// # Errors
/// One sentence that names the block.
pub fn check_loadable(body: &[Value], base: &[Value], allowed: &Allowed) -> Result<(), String> {
    check::check_loadable(body, base, allowed)
}

#[cfg(test)]
mod tests;
