//! An edit of a long page on either side: where it differs in one place, only the blocks around that place are read as
//! values. Together the blocks of a page take twenty times the room of their JSON.
//!
//! What comes of it is right when the whole text says what its tree says; where that is not so, or what lies around could
//! bear on the place, the page is read as a whole.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use super::allowed::Allowed;
use super::certain;
use super::lower::{Alone, lower_one_by_one, lower_unlabelled};
use super::parse::parse_taking;
use super::patch::{Blocks, bears_on_more, patch, patch_window};
use super::plain::{Kind, Node};
use super::write::write;
use super::{NewId, text_of};
use crate::model::{BodyJson, ContentHash, LONG_BODY, parts, read_json};

/// Blocks that are read with those that differ, on either side: a list or a quote may go on into its neighbour.
const AROUND: usize = 2;

/// What `text` stands for, given a long base; `None` when it must be read as a whole.
pub(super) fn parse_near(
    text: &str,
    base: &BodyJson,
    allowed: &Allowed,
    new_id: &mut NewId<'_>,
) -> Option<BodyJson> {
    if !allowed.items().is_empty() {
        // What the page's own tree says is not all that this text may name.
        return None;
    }
    let (tree, allowed, parts) = lowered(base, allowed)?;
    let (printed, starts) = printed(&tree);
    let (_, core, _) = unframed(text);
    if printed == core {
        return says(text, &tree).then(|| base.clone());
    }
    let (blocks, from, to) = place(&tree.nodes, &starts, &printed, core)?;
    let around = tree.nodes.get(blocks.clone())?;
    if around.iter().any(bears_on_more) || core[from..to].contains("<!--") {
        return None;
    }
    drop((printed, starts));
    let before = values(parts.get(blocks.clone())?)?;
    let is_unlabelled = lower_unlabelled(&before, &mut false).is_some();
    let after = parse_taking(&core[from..to], before, &allowed, new_id);
    let new = joined(&parts[..blocks.start], &after, &parts[blocks.end..])?;
    drop(parts);
    says(text, &replaced(tree, blocks, is_unlabelled, &after, &new)?).then_some(new)
}

/// `text` stands for `from`, made for `to`: only the lines around the blocks that differ are made anew. `None` when that
/// cannot be.
pub(super) fn patch_near(text: &str, from: &BodyJson, to: &BodyJson) -> Option<String> {
    if from.as_str().len() < LONG_BODY {
        return None;
    }
    let [before, after] = [from, to].map(|content| parts::elements(content.as_str().as_bytes()));
    let (before, after) = (before?.ok()?, after?.ok()?);
    let head = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let tails = before[head..].iter().rev().zip(after[head..].iter().rev());
    let tail = tails.take_while(|(one, other)| one == other).count();
    let size = |parts: &[&[u8]]| parts.iter().map(|part| part.len()).sum::<usize>();
    if size(&before[head..before.len() - tail]) + size(&after[head..after.len() - tail]) < LONG_BODY {
        let [was, now] =
            [&before, &after].map(|parts| move |range| Some(Cow::Owned(values(parts.get(range)?)?)));
        let both = (&Blocks { count: before.len(), some: &was }, &Blocks { count: after.len(), some: &now });
        if let Some(text) = patch_window(text, both, (head, tail), None) {
            return Some(text);
        }
    }
    let (tree, ..) = lowered(from, &Allowed::documented())?;
    let (printed, starts) = printed(&tree);
    let (lead, text, trail) = unframed(text);
    let tail = tail.saturating_sub(AROUND);
    let first = before_list(&tree.nodes, head.saturating_sub(AROUND));
    let (last, new_last) = (before.len() - tail, after.len() - tail);
    if size(before.get(first..last)?) >= LONG_BODY && text == printed {
        // As values they would take twenty times the room, and there are no lines of a person's to keep.
        drop((tree, printed, starts));
        let written = text_of(to).ok()?;
        let core = written.trim_end_matches('\n');
        return (!core.is_empty()).then(|| [lead, core, trail].concat());
    }
    let start_of = |at: usize| tree.nodes.get(at).and_then(|node| starts.get(node.index)).copied();
    let (start, end) =
        (start_of(first).filter(|_| first > 0).unwrap_or(0), start_of(last).unwrap_or(printed.len()));
    let (kept_head, kept_tail) = (&printed[..start], &printed[end..]);
    let middle = text.strip_prefix(kept_head)?.strip_suffix(kept_tail)?;
    if tree.nodes.get(first..last)?.iter().any(bears_on_more) || middle.contains("<!--") {
        return None;
    }
    let (before, after) = (values(before.get(first..last)?)?, values(after.get(first..new_last)?)?);
    let lines = middle.trim_end_matches('\n');
    let patched = patch(&format!("{lines}\n"), &before, &after, None);
    let patched = patched.trim_end_matches('\n');
    let result = [lead, kept_head, patched, &middle[lines.len()..], kept_tail, trail].concat();
    drop((printed, starts));
    let is_unlabelled = lower_unlabelled(&before, &mut false).is_some();
    drop(before);
    says(&result, &replaced(tree, first..last, is_unlabelled, &after, to)?).then_some(result)
}

fn values(parts: &[&[u8]]) -> Option<Vec<Value>> {
    parts.iter().map(|part| read_json(part)).collect::<Result<_, _>>().ok()
}

/// The tree of `new`, made of the tree of the page before: only the blocks in `range` differ, and `after` are the new ones.
/// Where those before had labels, or the new ones bear on the rest, all of `new` is read.
fn replaced(
    mut tree: Alone,
    range: Range<usize>,
    is_unlabelled: bool,
    after: &[Value],
    new: &BodyJson,
) -> Option<Alone> {
    if is_unlabelled && tree.replace(range, after) {
        return Some(tree);
    }
    drop(tree);
    lowered(new, &Allowed::documented()).map(|(tree, ..)| tree)
}

/// What is written for a page, without the line ends after it, and where each node begins there.
fn printed(page: &Alone) -> (String, Vec<usize>) {
    let mut starts = vec![0; page.ids.len()];
    let mut text = write(&page.nodes, &mut |index, range| starts[index] = range.start).text;
    text.truncate(text.trim_end_matches('\n').len());
    (text, starts)
}

/// Whether a text says what the tree of a page says. What is written for the tree without a doubt says it, and is not read.
fn says(text: &str, page: &Alone) -> bool {
    let is_written = || {
        let written = write(&page.nodes, &mut |_, _| {});
        !written.doubtful && unframed(&written.text).1 == unframed(text).1
    };
    is_written() || certain::says(text, page)
}

/// A text between the line ends before and after it, which say nothing: the line after front matter is one.
fn unframed(text: &str) -> (&str, &str, &str) {
    let rest = text.trim_start_matches('\n');
    let core = rest.trim_end_matches('\n');
    (&text[..text.len() - rest.len()], core, &rest[core.len()..])
}

/// The first item of the list that a block is an item of: the editor counts on through a list, and looks at the number of
/// its first item only.
fn before_list(nodes: &[Node], mut at: usize) -> usize {
    while at > 0 && nodes.get(at).is_some_and(|node| matches!(node.kind, Kind::Number(_))) {
        at -= 1;
    }
    at
}

/// The tree of a long content, what may be made beside it, and the JSON of each block.
fn lowered<'c>(content: &'c BodyJson, allowed: &Allowed) -> Option<(Alone, Allowed, Vec<&'c [u8]>)> {
    let json = content.as_str().as_bytes();
    if json.len() < LONG_BODY {
        return None;
    }
    let parts = parts::elements(json)?.ok()?;
    let (mut allowed, mut whole) = (allowed.clone(), true);
    let alone = lower_one_by_one(parts.iter().map_while(|part| {
        let block: Option<Value> = read_json(part).ok();
        whole &= block.is_some();
        allowed.learn(block.as_slice());
        block
    }));
    whole.then_some((alone, allowed, parts))
}

/// The blocks around the one place where `text` differs from what was written for them, and the part of `text` that stands
/// in their place.
fn place(
    nodes: &[Node],
    starts: &[usize],
    printed: &str,
    text: &str,
) -> Option<(Range<usize>, usize, usize)> {
    let alike = |one: &u8, other: &u8| one == other;
    let (old, new) = (printed.as_bytes(), text.as_bytes());
    let head = old.iter().zip(new).take_while(|(one, other)| alike(one, other)).count();
    let tails = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = tails.take_while(|(one, other)| alike(one, other)).count();
    let start_of = |at: usize| nodes.get(at).and_then(|node| starts.get(node.index)).copied();
    let first = nodes.partition_point(|node| starts[node.index] <= head).saturating_sub(1 + AROUND);
    let first = before_list(nodes, first);
    let last = nodes.partition_point(|node| starts[node.index] < old.len() - tail) + AROUND;
    let last = last.min(nodes.len());
    let from = if first == 0 { 0 } else { start_of(first)? };
    let end = start_of(last).unwrap_or(old.len());
    let to = (new.len() + end).checked_sub(old.len())?;
    let is_sound = from <= head && end >= old.len() - tail && from <= to;
    (is_sound && text.is_char_boundary(from) && text.is_char_boundary(to)).then_some((first..last, from, to))
}

/// The content of these blocks; `None` if one of them is no text.
fn joined(head: &[&[u8]], between: &[Value], tail: &[&[u8]]) -> Option<BodyJson> {
    let between: Vec<String> = between.iter().map(Value::to_string).collect();
    let between = between.iter().map(String::as_bytes);
    let all = || head.iter().copied().chain(between.clone()).chain(tail.iter().copied());
    let mut json = String::with_capacity(all().map(|part| part.len() + 1).sum::<usize>() + 2);
    json.push('[');
    for part in all() {
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(str::from_utf8(part).ok()?);
    }
    json.push(']');
    json.shrink_to_fit();
    Some(BodyJson::known(ContentHash::of(json.as_bytes()), json))
}
