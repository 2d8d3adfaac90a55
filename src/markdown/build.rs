//! Matched nodes to blocks: untouched ones as they were, edited ones from what they were, new ones from nothing.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::allowed::Known;
use super::carry;
use super::check::check_runs;
use super::lower::{Lowered, start};
use super::plain::{Inline, Kind, Node, same_trees};
use super::read::{keeps_lines, read};
use super::shapes;
use super::write::{write, write_for};
use super::{NewId, with_new_ids};
use crate::model::block_ids;

/// Builds a page.
pub(super) struct Builder<'a, 'n, 'i> {
    lowered: &'a Lowered<'a>,
    /// The base's nodes by index.
    old: Vec<&'a Node>,
    labels: BTreeMap<&'a str, usize>,
    allowed: &'a Known<'a>,
    /// The base's own; collected when the first new block needs an id.
    ids: OnceCell<BTreeSet<&'a str>>,
    new_id: &'n mut NewId<'i>,
    plan: Vec<Whole>,
    /// The text that the page is read from.
    text: &'a str,
    /// Whether it differs from espejo's own in one line only.
    one_line: OnceCell<bool>,
}

/// A page as it will be. A `null` among its blocks stands for the next whole block, so that what stays as it was is
/// moved or copied only once, and by its owner.
pub(super) struct Built {
    blocks: Vec<Value>,
    wholes: Vec<Whole>,
    /// The end of what is beneath each block of the base, by index.
    ends: Vec<usize>,
}

enum Whole {
    /// The base's block of this index and all beneath it.
    Old(usize),
    /// A copy.
    New(Value),
}

impl Built {
    /// Whether it is the base itself, given the indexes of the base's top blocks.
    pub(super) fn is_base(&self, roots: impl ExactSizeIterator<Item = usize>) -> bool {
        let whole = |(whole, root): (&Whole, usize)| matches!(whole, Whole::Old(index) if *index == root);
        self.blocks.len() == roots.len()
            && self.blocks.iter().all(Value::is_null)
            && self.wholes.len() == roots.len()
            && self.wholes.iter().zip(roots).all(whole)
    }

    /// The blocks, with copies of what stays.
    pub(super) fn copied(self, values: &[&Value]) -> Vec<Value> {
        let mut wholes = self.wholes.into_iter().map(|whole| match whole {
            Whole::Old(index) => values[index].clone(),
            Whole::New(value) => value,
        });
        let mut blocks = self.blocks;
        fill(&mut blocks, &mut wholes);
        blocks
    }

    /// The blocks, with what stays taken out of the base.
    pub(super) fn taken(self, mut base: Vec<Value>) -> Vec<Value> {
        let mut found: Vec<Option<Value>> = vec![None; self.ends.len()];
        let mut wanted = vec![false; self.ends.len()];
        for whole in &self.wholes {
            if let Whole::Old(index) = whole {
                wanted[*index] = true;
            }
        }
        take(&mut base, &self.ends, &wanted, 0, &mut found);
        let mut wholes = self.wholes.into_iter().map(|whole| match whole {
            Whole::Old(index) => found[index].take().unwrap_or_default(),
            Whole::New(value) => value,
        });
        let mut blocks = self.blocks;
        fill(&mut blocks, &mut wholes);
        blocks
    }
}

fn fill(blocks: &mut [Value], wholes: &mut dyn Iterator<Item = Value>) {
    for block in blocks {
        if block.is_null() {
            *block = wholes.next().unwrap_or_default();
        } else if let Some(Value::Array(children)) = block.get_mut("children") {
            fill(children, wholes);
        }
    }
}

/// Takes the wanted blocks out of a list whose first block has the index `next`.
fn take(list: &mut [Value], ends: &[usize], wanted: &[bool], mut next: usize, found: &mut [Option<Value>]) {
    for block in list {
        if wanted[next] {
            found[next] = Some(block.take());
        } else if ends[next] > next + 1
            && let Some(Value::Array(children)) = block.get_mut("children")
        {
            take(children, ends, wanted, next + 1, found);
        }
        next = ends[next];
    }
}

impl<'a, 'n, 'i> Builder<'a, 'n, 'i> {
    /// A builder beside the base that `lowered` comes from.
    pub(super) fn new(
        text: &'a str,
        lowered: &'a Lowered<'a>,
        allowed: &'a Known<'a>,
        new_id: &'n mut NewId<'i>,
    ) -> Self {
        let mut old = Vec::with_capacity(lowered.values.len());
        collect(&lowered.nodes, &mut old);
        let mut labels = BTreeMap::new();
        for node in &old {
            if let Kind::Placeholder(label) = &node.kind {
                labels.insert(&**label, node.index);
            }
        }
        Self {
            lowered,
            old,
            labels,
            allowed,
            ids: OnceCell::new(),
            new_id,
            plan: Vec::new(),
            text,
            one_line: OnceCell::new(),
        }
    }

    /// The blocks of a page whose nodes know their past.
    pub(super) fn page(mut self, nodes: &[Node]) -> Built {
        let mut blocks = self.level(nodes);
        // What stands at the end of the base and shows nowhere stays at the end.
        let shown = self.lowered.nodes.len() - self.lowered.trailing();
        for node in &self.lowered.nodes[shown..] {
            self.stays(node.index, &mut blocks);
        }
        let mut ends = vec![0; self.old.len()];
        for node in self.old.iter().rev() {
            ends[node.index] = node.children.last().map_or(node.index + 1, |last| ends[last.index]);
        }
        Built { blocks, wholes: self.plan, ends }
    }

    /// The JSON of a page that has no base; no more than one of its blocks is held at a time.
    pub(super) fn page_alone(mut self, nodes: &[Node]) -> String {
        let (mut json, mut blocks) = (String::from("["), Vec::new());
        for node in nodes {
            self.block(node, None, &mut blocks);
            let mut wholes = self.plan.drain(..).filter_map(|whole| match whole {
                Whole::New(value) => Some(value),
                Whole::Old(_) => None,
            });
            fill(&mut blocks, &mut wholes);
            for block in blocks.drain(..) {
                if json.len() > 1 {
                    json.push(',');
                }
                json.push_str(&block.to_string());
            }
        }
        json.push(']');
        json.shrink_to_fit();
        json
    }

    fn stays(&mut self, index: usize, out: &mut Vec<Value>) {
        self.plan.push(Whole::Old(index));
        out.push(Value::Null);
    }

    fn level(&mut self, nodes: &[Node]) -> Vec<Value> {
        let mut blocks = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            let past = if node.base.is_none() { self.split_from(nodes, at) } else { None };
            self.block(node, past, &mut blocks);
        }
        blocks
    }

    /// The block of the base that a new block was split from: its neighbour had the words.
    fn split_from(&self, nodes: &[Node], at: usize) -> Option<usize> {
        let node = &nodes[at];
        if !node.kind.has_text() || node.inline.is_empty() {
            return None;
        }
        let text = node.inline.text.as_str();
        let had = |other: &Node, is_tail: bool| {
            let index = other.base?;
            let old = self.old[index];
            let was = old.inline.text.as_str();
            let left = was.len().saturating_sub(other.inline.text.len());
            let has = if is_tail { was.ends_with(text) } else { was.starts_with(text) };
            (old.kind.has_text() && has && left >= text.len()).then_some(index)
        };
        let before = at.checked_sub(1).and_then(|before| had(&nodes[before], true));
        before.or_else(|| had(nodes.get(at + 1)?, false))
    }

    fn block(&mut self, node: &Node, past: Option<usize>, out: &mut Vec<Value>) {
        let Some(index) = node.base else { return self.created(node, past, out) };
        let old = self.old[index];
        let value = self.lowered.values[index];
        if self.is_untouched(node) {
            return self.stays(index, out);
        }
        if old.sealed {
            self.stays(index, out);
            return out.extend(self.level(&node.children));
        }
        let children = self.level(&node.children);
        let same = self.says_the_same(old, node);
        let mut object = Map::new();
        for (key, entry) in value.as_object().into_iter().flatten() {
            let is_children = key == "children";
            object.insert(key.clone(), if is_children { Value::Null } else { entry.clone() });
        }
        if !same {
            self.edit(&mut object, old, node);
        }
        if object.contains_key("children") || !children.is_empty() || !same {
            object.insert("children".to_owned(), Value::Array(children));
        }
        out.push(Value::Object(object));
    }

    /// Whether the block and everything beneath it are the base's, in the base's order.
    fn is_untouched(&self, node: &Node) -> bool {
        let Some(old) = node.base.map(|index| self.old[index]) else { return false };
        node.children.len() == old.children.len()
            && (old.same_own(node) || self.says_the_same(old, node))
            && node.children.iter().zip(&old.children).all(|(child, was)| child.base == Some(was.index))
            && node.children.iter().all(|child| self.is_untouched(child))
    }

    /// Whether the block's own lines say what the base's block says, or what its rendered form reads back as, or
    /// what a formatter leaves of it by joining spaces and tabs.
    fn says_the_same(&self, old: &Node, node: &Node) -> bool {
        if old.same_own(node) {
            return true;
        }
        let no_longer = node.inline.text.len() <= old.inline.text.len();
        // No formatter joins white space in code.
        let is_code = matches!(old.kind, Kind::Code(_))
            || ["```", "~~~"].iter().any(|fence| old.inline.text.starts_with(fence));
        let is_joined = || collapsed(&old.inline) == collapsed(&node.inline);
        if !self.allowed.is_literal() && old.kind == node.kind && no_longer && !is_code && is_joined() {
            // A formatter shows in more than one line.
            return !self.is_one_line();
        }
        if !self.allowed.is_literal() && is_rewrapped(old, node) {
            return !(self.is_one_place() && differs_by_one_line_end(&old.inline, &node.inline));
        }
        let mut alone = old.clone();
        alone.children.clear();
        let items = self.lowered.labels();
        let back = read(&write(std::slice::from_ref(&alone), &mut |_, _| {}).text, &items);
        let mut own = node.clone();
        own.children.clear();
        !same_trees(&back, &[alone]) && same_trees(&back, &[own])
    }

    /// Whether the text is the base as espejo writes it but for one line: a person changed that.
    fn is_one_line(&self) -> bool {
        let is_one = |own: &str| {
            let (a, b): (Vec<&str>, Vec<&str>) = (own.lines().collect(), self.text.lines().collect());
            let mut changed = a.iter().zip(&b).filter(|(a, b)| a != b);
            a.len() == b.len()
                && changed.next().is_some_and(|(a, _)| has_wide_gap(a))
                && changed.next().is_none()
        };
        *self.one_line.get_or_init(|| self.is_own(is_one))
    }

    /// Whether something holds of the base as espejo writes it, for this workspace or for any.
    fn is_own(&self, holds: impl Fn(&str) -> bool) -> bool {
        let ways = [Some(self.allowed), None];
        ways.into_iter().any(|terms| holds(&write_for(&self.lowered.nodes, terms, &mut |_, _| {}).text))
    }

    /// Whether the text is the base as espejo writes it but for lines that follow each other, which a person changed.
    fn is_one_place(&self) -> bool {
        self.is_own(|own| {
            let (a, b): (Vec<&str>, Vec<&str>) = (own.lines().collect(), self.text.lines().collect());
            let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            let tails = a[head..].iter().rev().zip(b[head..].iter().rev());
            let tail = tails.take_while(|(a, b)| a == b).count();
            // One line end came or went.
            a.len().abs_diff(b.len()) == 1 && a[head..a.len() - tail].iter().all(|line| !line.is_empty())
        })
    }

    /// Changes a block's own keys so that it says what the node says.
    fn edit(&mut self, object: &mut Map<String, Value>, old: &Node, node: &Node) {
        if object.get("id").and_then(Value::as_str).is_none_or(str::is_empty) {
            let id = self.id();
            object.insert("id".to_owned(), id);
        }
        if !node.kind.has_text() {
            shapes::edit(object, old, node, &self.lowered.items);
            return;
        }
        if old.kind != node.kind {
            object.insert("type".to_owned(), Value::from(type_of(&node.kind)));
        }
        let props = object.entry("props").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(props) = props {
            if old.kind != node.kind {
                retype(props, &old.kind, &node.kind, self.allowed);
            }
        } else {
            *props = Value::Object(props_of(&node.kind, self.allowed));
        }
        let runs = match object.get("content") {
            Some(Value::Array(runs))
                if old.inline == node.inline && check_runs(runs, self.allowed.get(), false).is_ok() =>
            {
                runs.clone()
            }
            Some(Value::Array(runs)) => carry::runs(runs, &old.inline, &node.inline, &self.lowered.items),
            Some(text @ Value::String(_)) => {
                carry::runs(std::slice::from_ref(text), &old.inline, &node.inline, &self.lowered.items)
            }
            _ => carry::fresh(&node.inline, &self.lowered.items),
        };
        object.insert("content".to_owned(), Value::Array(runs));
        object.entry("children").or_insert_with(|| Value::Array(Vec::new()));
    }

    fn created(&mut self, node: &Node, past: Option<usize>, out: &mut Vec<Value>) {
        if let Kind::Placeholder(label) = &node.kind {
            return self.copied(label, node, out);
        }
        let children = self.level(&node.children);
        let id = self.id();
        let mut object = Map::with_capacity(5);
        object.insert("id".to_owned(), id);
        object.insert("type".to_owned(), Value::from(type_of(&node.kind)));
        if node.kind.has_text() {
            let past = past.map(|index| (self.old[index], self.lowered.values[index]));
            let mut props = props_of(&node.kind, self.allowed);
            let own = past.and_then(|(_, value)| value.get("props")?.as_object());
            for key in ["textColor", "backgroundColor", "textAlignment"] {
                if let (Some(prop), Some(was)) = (props.get_mut(key), own.and_then(|own| own.get(key))) {
                    prop.clone_from(was);
                }
            }
            object.insert("props".to_owned(), Value::Object(props));
            let runs = match past.and_then(|(old, value)| Some((old, value.get("content")?.as_array()?))) {
                Some((old, runs)) => carry::runs(runs, &old.inline, &node.inline, &self.lowered.items),
                None => carry::fresh(&node.inline, &self.lowered.items),
            };
            object.insert("content".to_owned(), Value::Array(runs));
        } else {
            shapes::create(&mut object, node, self.allowed.get(), &self.lowered.items);
        }
        object.insert("children".to_owned(), Value::Array(children));
        out.push(Value::Object(object));
    }

    /// A placeholder that stands a second time is a copy.
    fn copied(&mut self, label: &str, node: &Node, out: &mut Vec<Value>) {
        // Those that name nothing were turned into text before.
        let Some(&index) = self.labels.get(label) else { return out.extend(self.level(&node.children)) };
        let value = self.lowered.values[index];
        let sealed = self.old[index].sealed;
        let mut block = if sealed { value.clone() } else { shallow(value) };
        block = with_new_ids(std::slice::from_ref(&block), &mut || self.unused()).pop().unwrap_or_default();
        if sealed {
            self.plan.push(Whole::New(block));
            out.push(Value::Null);
            return out.extend(self.level(&node.children));
        }
        let children = self.level(&node.children);
        if let Value::Object(object) = &mut block
            && (object.contains_key("children") || !children.is_empty())
        {
            object.insert("children".to_owned(), Value::Array(children));
        }
        out.push(block);
    }

    fn id(&mut self) -> Value {
        Value::String(self.unused())
    }

    /// An id that the base does not have.
    fn unused(&mut self) -> String {
        let (values, roots) = (&self.lowered.values, &self.lowered.nodes);
        let known =
            || roots.iter().flat_map(|node| block_ids(std::slice::from_ref(values[node.index]))).collect();
        let ids = self.ids.get_or_init(known);
        loop {
            let id = (self.new_id)();
            if !ids.contains(id.as_str()) {
                return id;
            }
        }
    }
}

fn collect<'a>(nodes: &'a [Node], out: &mut Vec<&'a Node>) {
    for node in nodes {
        out.push(node);
        collect(&node.children, out);
    }
}

fn shallow(value: &Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(
            object
                .iter()
                .map(|(key, entry)| {
                    let empty = key == "children" && entry.is_array();
                    (key.clone(), if empty { Value::Array(Vec::new()) } else { entry.clone() })
                })
                .collect(),
        ),
        other => other.clone(),
    }
}

/// Whether more than one space stands between two words of a line. Beside an underline's tag, beside white space as an entity
/// and in a table's row, white space is joined by some formatters where nothing else is to be done.
fn has_wide_gap(line: &str) -> bool {
    let text = line.trim_start();
    let is_row = text.starts_with('|') && text.ends_with('|');
    let is_entity = |word: &str| word.ends_with(';') && word.contains("&#");
    !is_row
        && text.match_indices("  ").any(|(at, _)| {
            let (before, after) = (&text[..at], text[at..].trim_start_matches([' ', '\t']));
            let word = &before[before.rfind([' ', '\t']).map_or(0, |at| at + 1)..];
            let is_edge = word.is_empty() || after.is_empty() || after.starts_with("&#") || is_entity(word);
            let is_tag = |tag: &&str| before.ends_with(*tag) || after.starts_with(*tag);
            !is_edge && !["<u>", "</u>"].iter().any(is_tag)
        })
}

/// The text with white space joined as a formatter joins it.
pub(super) fn collapsed(inline: &Inline) -> Inline {
    let mut out = Inline::default();
    let mut space = false;
    for (text, mark) in inline.stretches() {
        if mark.style & super::plain::CODE != 0 {
            out.push(text, mark.style, &mark.what);
            space = false;
            continue;
        }
        for c in text.chars() {
            let blank = matches!(c, ' ' | '\t');
            if !(blank && space) {
                let c = if blank { ' ' } else { c };
                out.push(c.encode_utf8(&mut [0; 4]), mark.style, &mark.what);
            }
            space = blank;
        }
    }
    out
}

/// Whether a block whose lines mean something elsewhere has the same words with other line ends: a formatter wrapped it.
pub(super) fn is_rewrapped(old: &Node, node: &Node) -> bool {
    let keeps = |text: &str| {
        let lines = text.split('\n').enumerate();
        text.starts_with("$$")
            || lines
                .into_iter()
                .any(|(at, line)| keeps_lines(line.trim_start(), at == 0, old.kind == Kind::Quote))
    };
    old.kind == node.kind
        && old.inline.text.contains('\n')
        && old.inline.text != node.inline.text
        && keeps(&old.inline.text)
        && collapsed(&in_one_line(&old.inline)) == collapsed(&in_one_line(&node.inline))
}

/// The text with its line ends as spaces.
pub(super) fn in_one_line(inline: &Inline) -> Inline {
    Inline { text: inline.text.replace('\n', " "), marks: inline.marks.clone() }
}

fn differs_by_one_line_end(old: &Inline, node: &Inline) -> bool {
    let (a, b) = (old.text.as_bytes(), node.text.as_bytes());
    a.len() == b.len() && a.iter().zip(b).filter(|(a, b)| a != b).count() == 1
}

/// The API's name of a kind.
pub(super) fn type_of(kind: &Kind) -> &'static str {
    match kind {
        Kind::Heading(_) => "heading",
        Kind::Bullet => "bulletListItem",
        Kind::Number(_) => "numberedListItem",
        Kind::Check(_) => "checkListItem",
        Kind::Toggle => "toggleListItem",
        Kind::Quote => "quote",
        Kind::Code(_) => "codeBlock",
        Kind::Divider => "divider",
        Kind::Media(_) => "image",
        Kind::Table(_) => "table",
        Kind::Paragraph | Kind::Placeholder(_) | Kind::Hidden(_) | Kind::Open | Kind::Close => "paragraph",
    }
}

/// The props of a new text block.
fn props_of(kind: &Kind, allowed: &Known<'_>) -> Map<String, Value> {
    let mut props = Map::with_capacity(4);
    props.insert("textColor".to_owned(), Value::from("default"));
    props.insert("backgroundColor".to_owned(), Value::from("default"));
    if *kind != Kind::Quote || allowed.get().quote_alignment() {
        props.insert("textAlignment".to_owned(), Value::from("left"));
    }
    own_props(&mut props, kind, allowed);
    props
}

fn own_props(props: &mut Map<String, Value>, kind: &Kind, allowed: &Known<'_>) {
    match kind {
        Kind::Heading(level) => {
            props.insert("level".to_owned(), Value::from(*level));
        }
        Kind::Check(on) => {
            props.insert("checked".to_owned(), Value::Bool(*on));
        }
        Kind::Number(Some(number)) if allowed.get().start() => {
            props.insert("start".to_owned(), Value::from(*number));
        }
        Kind::Number(None) if start(props.get("start")).is_some() => {
            props.shift_remove("start");
        }
        _ => {}
    }
}

/// Changes props from one kind's to another's; what both have, and unknown props, stay.
fn retype(props: &mut Map<String, Value>, old: &Kind, new: &Kind, allowed: &Known<'_>) {
    if std::mem::discriminant(old) != std::mem::discriminant(new) {
        match old {
            Kind::Heading(_) => {
                props.shift_remove("level");
                props.shift_remove("isToggleable");
            }
            Kind::Check(_) => {
                props.shift_remove("checked");
            }
            Kind::Number(_) => {
                props.shift_remove("start");
            }
            _ => {}
        }
        if *new == Kind::Quote && !allowed.get().quote_alignment() {
            props.shift_remove("textAlignment");
        }
        if *old == Kind::Quote && !props.contains_key("textAlignment") {
            props.insert("textAlignment".to_owned(), Value::from("left"));
        }
    }
    own_props(props, new, allowed);
}
