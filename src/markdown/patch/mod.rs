//! Changes of blocks into a text that a person formatted: only the lines of changed blocks are rewritten (law 4).
//!
//! The text is taken apart into the lines of its blocks and what stands between them. What belongs to unchanged
//! blocks is put together again byte for byte; the rest is written anew in the style of its surroundings. The result
//! is read back, and a coarser splice is tried until it says exactly what it should; the last one is a new rendering.

mod cells;
mod hidden;
mod layout;
mod splice;
mod window;
mod words;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

use super::allowed::Known;
use super::certain::{says, written, written_alone};
use super::front_matter;
use super::lower::{Alone, Lowered, id_of, lower};
use super::parse::stands_for;
use super::plain::{Inline, Kind, Node, What};
use super::settle::place_definitions;
use super::write::Mode;
use layout::Layout;
use splice::{Grain, Page, Splice};
pub(super) use window::{Blocks, bears_on_more, patch_window};

/// A text of so many bytes is spliced around the change alone, where that can be.
const LONG: usize = 1 << 16;

/// See [`super::patch`].
pub(super) fn patch(text: &str, old: &[Value], new: &[Value], terms: Option<&Known<'_>>) -> String {
    let head = old.iter().zip(new).take_while(|(one, other)| same_values(one, other)).count();
    if head == old.len() && head == new.len() {
        return text.to_owned();
    }
    if text.len() >= LONG {
        let tails = old[head..].iter().rev().zip(new[head..].iter().rev());
        let tail = tails.take_while(|(one, other)| same_values(one, other)).count();
        let [was, now] = [old, new].map(|all| move |range| all.get(range).map(Cow::Borrowed));
        let both = (&Blocks { count: old.len(), some: &was }, &Blocks { count: new.len(), some: &now });
        if let Some(result) = patch_window(text, both, (head, tail), terms) {
            return result;
        }
    }
    patch_until(text, old, new, terms, false, |result| stands_for(result, new))
}

/// Whether two values are equal. Where the keys of both are in the same order none is looked up, which takes a third of the time.
fn same_values(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let is_same = |((key, value), (beside, next)): ((&String, &Value), (&String, &Value))| {
                let found = if key == beside { Some(next) } else { other.get(key) };
                found.is_some_and(|found| same_values(value, found))
            };
            one.len() == other.len() && one.iter().zip(other).all(is_same)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_values(one, other))
        }
        _ => one == other,
    }
}

/// As [`patch`], with a word of its own on which result is right. With `recounts`, the items of a list whose first number
/// changes are numbered anew.
pub(super) fn patch_until(
    text: &str,
    old: &[Value],
    new: &[Value],
    terms: Option<&Known<'_>>,
    recounts: bool,
    is_right: impl Fn(&str) -> bool,
) -> String {
    if is_right(text) && !lets_a_line_go(old, new) {
        return text.to_owned();
    }
    let layout = Layout::of(text, old);
    let result = layout.as_ref().and_then(|layout| splice(layout, new, terms, recounts, is_right));
    result.unwrap_or_else(|| {
        let anew = as_before(text, &written(&mut lower(new), terms, &mut |_, _| {}));
        match &layout {
            Some(layout) => with_hidden(layout, anew, true),
            None => anew,
        }
    })
}

/// Whether a block is none any more whose line would be hidden: that of a reference definition, or of a block that stands in the
/// text by its name alone. The line goes with it.
fn lets_a_line_go(old: &[Value], new: &[Value]) -> bool {
    let is_definition = |block: &&Value| {
        let text = block.pointer("/content/0/text").and_then(Value::as_str);
        text.is_some_and(|text| text.starts_with('[') && text.contains("]:"))
    };
    let is_there = |block: &Value| new.iter().any(|other| id_of(other) == id_of(block));
    old.iter().filter(is_definition).any(|block| !is_there(block)) || lets_a_name_go(old, &lower(new).nodes)
}

/// As [`lets_a_line_go`], for blocks that stand in the text by their names.
fn lets_a_name_go(old: &[Value], new: &[Node]) -> bool {
    fn names<'n>(nodes: &'n [Node], found: &mut BTreeSet<&'n str>) {
        for node in nodes {
            if let Kind::Placeholder(name) = &node.kind {
                found.insert(name);
            }
            names(&node.children, found);
        }
    }
    let Lowered { nodes: old, .. } = lower(old);
    let (mut was, mut is) = (BTreeSet::new(), BTreeSet::new());
    names(&old, &mut was);
    names(new, &mut is);
    !was.is_subset(&is)
}

/// The finest splice for these blocks that is right.
fn splice(
    layout: &Layout<'_>,
    new: &[Value],
    terms: Option<&Known<'_>>,
    recounts: bool,
    is_right: impl Fn(&str) -> bool,
) -> Option<String> {
    let Lowered { mut nodes, values, .. } = lower(new);
    let id = |index: usize| id_of(values.get(index)?);
    // A formatter may have put definitions elsewhere: there they stay.
    place_definitions(&mut nodes, &|node| {
        let base = layout.ids.get(id(node.index)?)?;
        layout.places.get(base).map(|place| place.order)
    });
    let names = brought(layout, &mut nodes, values.len(), &id);
    let page = Page {
        nodes: &nodes,
        id: &|index| named(index, &id, values.len(), &names),
        is: &|index, was| values.get(index).is_some_and(|value| same_values(value, was)),
    };
    spliced(layout, &page, terms, recounts, is_right)
}

/// Puts what the text hides into the tree of the new page; its names.
fn brought<'a>(
    layout: &Layout<'_>,
    nodes: &mut Vec<Node>,
    count: usize,
    id: &dyn Fn(usize) -> Option<&'a str>,
) -> Vec<Option<String>> {
    if layout.hidden.is_empty() {
        return Vec::new();
    }
    let found = |node: &Node| layout.ids.get(id(node.index)?).copied();
    let old = lower_texts(layout);
    layout.hidden.bring(nodes, &old, count, &found)
}

/// The nodes of the text without what is hidden in their lines.
fn lower_texts(layout: &Layout<'_>) -> Vec<Node> {
    let mut nodes = layout.nodes.clone();
    for index in layout.hidden.inside.keys() {
        let mut inline = Inline::default();
        for (text, mark) in layout.nodes[*index].inline.stretches() {
            if !matches!(mark.what, What::Hidden(_)) {
                inline.push(text, mark.style, &mark.what);
            }
        }
        nodes[*index].inline = inline;
    }
    nodes
}

/// The id of a block of the new page, or the name of what is hidden in it.
fn named<'a>(
    index: usize,
    id: &dyn Fn(usize) -> Option<&'a str>,
    count: usize,
    names: &'a [Option<String>],
) -> Option<&'a str> {
    match index.checked_sub(count) {
        Some(hidden) => names.get(hidden)?.as_deref(),
        None => id(index),
    }
}

/// The text with what the old one hid: what has found no place stands at the end. A text that is written anew has none of it,
/// whatever is alike there.
fn with_hidden(layout: &Layout<'_>, mut text: String, is_anew: bool) -> String {
    let bare = |text: &str| text.replace([' ', '\t', '\n', '\r', '>'], "");
    let there = if is_anew { String::new() } else { bare(&text) };
    let mut seen = 0;
    for source in layout.hidden.sources() {
        let source = source.trim();
        let own = bare(source);
        match there[seen..].find(&own).or_else(|| there.contains(&own).then_some(0)) {
            Some(at) => seen = (seen + at).min(there.len()),
            None => {
                let end = if text.is_empty() || text.ends_with('\n') { "" } else { layout.eol };
                [end, layout.eol, source, layout.eol].iter().for_each(|part| text.push_str(part));
            }
        }
    }
    text
}

const TRIES: [(Grain, Mode); 7] = [
    (Grain::Line, Mode::Minimal),
    (Grain::Apart, Mode::Minimal),
    (Grain::Apart, Mode::Strict),
    (Grain::Plain, Mode::Strict),
    (Grain::Root, Mode::Strict),
    (Grain::Anew, Mode::Minimal),
    (Grain::Anew, Mode::Strict),
];

/// As [`patch`], for a page whose blocks were let go: it is right when its tree is. `None` when they are needed.
pub(super) fn patch_alone(text: &str, old: &[Value], new: &Alone) -> Option<String> {
    if says(text, new) && !lets_a_name_go(old, &new.nodes) {
        return Some(text.to_owned());
    }
    if let Some(layout) = Layout::of(text, old) {
        // What is beneath a block at the top cannot be compared.
        let mut nodes = if layout.hidden.is_empty() { Vec::new() } else { new.nodes.clone() };
        let id = |index: usize| new.ids.get(index)?.as_deref();
        let names = brought(&layout, &mut nodes, new.ids.len(), &id);
        let page = Page {
            nodes: if layout.hidden.is_empty() { &new.nodes } else { &nodes },
            id: &|index| named(index, &id, new.ids.len(), &names),
            is: &|_, _| false,
        };
        if let Some(result) = spliced(&layout, &page, None, false, |result| says(result, new)) {
            return Some(result);
        }
        return Some(with_hidden(&layout, as_before(text, &written_alone(new)?), true));
    }
    Some(as_before(text, &written_alone(new)?))
}

/// The finest splice that is right.
fn spliced<'a>(
    layout: &'a Layout<'a>,
    page: &'a Page<'a>,
    terms: Option<&'a Known<'a>>,
    recounts: bool,
    is_right: impl Fn(&str) -> bool,
) -> Option<String> {
    let splice = |(grain, mode)| Splice::new(layout, page, grain, mode, terms).recounting(recounts).run();
    let mut tries = TRIES.into_iter().map(splice);
    tries.find_map(|result| {
        Some(with_hidden(layout, unmistaken(layout.text, result), false)).filter(|result| is_right(result))
    })
}

/// A page that is written anew, with the line ends of the text before.
fn as_before(text: &str, whole: &str) -> String {
    let ended = text.is_empty() || text.ends_with(['\n', '\r']);
    let whole = if ended { whole } else { whole.trim_end_matches('\n') };
    let crlf = text.contains("\r\n");
    let bom = if text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    bom.to_owned() + &if crlf { whole.replace('\n', "\r\n") } else { whole.to_owned() }
}

/// A divider that has come to stand at the top, above another, is taken for the beginning of front matter: by espejo or by
/// other programs. Asterisks are a divider as well. Where it looked like that before it stays as it was written.
fn unmistaken(before: &str, after: String) -> String {
    const RULE: &str = "---";
    let top = after.len() - after.trim_start_matches('\u{feff}').len();
    if !front_matter::looks_so(&after) || front_matter::looks_so(before) {
        return after;
    }
    [&after[..top], "***", &after[top + RULE.len()..]].concat()
}
