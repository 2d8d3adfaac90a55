//! Text to blocks: reads the text, finds each block's past in the base, and builds what is new.

use std::collections::BTreeSet;

use serde_json::Value;

use super::NewId;
use super::align::{Flat, align};
use super::allowed::{Allowed, Known};
use super::build::{Builder, Built};
use super::lower::{Lowered, ids, lower, shown, stand_in};
use super::plain::{Beside, Census, Inline, Kind, Node, number, own_hash, same_trees};
use super::read::{end, read};
use super::settle::{place_definitions, settle_literals, settle_readings};
use super::write::is_text_of;

/// See [`super::parse`].
pub(super) fn parse(text: &str, base: &[Value], allowed: &Allowed, new_id: &mut NewId<'_>) -> Vec<Value> {
    let lowered = lower(base);
    if is_written(&lowered, text, &Known::new(allowed, base)) {
        return base.to_vec();
    }
    copied(text, lowered, base, &Known::new(allowed, base), new_id)
}

/// See [`super::parse_literally`].
pub(super) fn parse_literally(
    text: &str,
    base: &[Value],
    allowed: &Allowed,
    new_id: &mut NewId<'_>,
) -> Vec<Value> {
    copied(text, lower(base), base, &Known::literally(allowed, base), new_id)
}

fn copied<'a>(
    text: &str,
    lowered: Lowered<'a>,
    base: &[Value],
    known: &Known<'a>,
    new_id: &mut NewId<'_>,
) -> Vec<Value> {
    let (built, lowered) = built(text, lowered, known, new_id);
    let mut blocks = built.copied(&lowered.values);
    lowered.columns(base).settle(&mut blocks);
    blocks
}

/// Whether reading `text` beside `blocks` gives exactly those.
pub(super) fn stands_for(text: &str, blocks: &[Value]) -> bool {
    stands(text, blocks, &Known::new(&Allowed::documented(), blocks))
}

/// The same with the text taken at its word.
pub(super) fn stands_literally_for(text: &str, blocks: &[Value]) -> bool {
    stands(text, blocks, &Known::literally(&Allowed::documented(), blocks))
}

fn stands(text: &str, blocks: &[Value], known: &Known<'_>) -> bool {
    let lowered = lower(blocks);
    if is_written(&lowered, text, known) {
        return true;
    }
    let mut ids = 0u64;
    let mut id = || {
        ids += 1;
        format!("new block {ids}")
    };
    let (built, lowered) = built(text, lowered, known, &mut id);
    built.is_base(lowered.nodes.iter().map(|node| node.index)) || {
        let mut said = built.copied(&lowered.values);
        lowered.columns(blocks).settle(&mut said);
        said == blocks
    }
}

/// See [`super::parse_taking`].
pub(super) fn parse_taking(
    text: &str,
    base: Vec<Value>,
    allowed: &Allowed,
    new_id: &mut NewId<'_>,
) -> Vec<Value> {
    let lowered = lower(&base);
    if is_written(&lowered, text, &Known::new(allowed, &base)) {
        return base;
    }
    let (built, lowered) = built(text, lowered, &Known::new(allowed, &base), new_id);
    let columns = lowered.columns(&base);
    let mut blocks = built.taken(base);
    columns.settle(&mut blocks);
    blocks
}

/// As [`super::parse`] without a base, printed.
pub(super) fn parse_new(text: &str, allowed: &Allowed, new_id: &mut NewId<'_>) -> String {
    let known = Known::new(allowed, &[]);
    let (nodes, lowered) = matched(text, lower(&[]), &known);
    Builder::new(text, &lowered, &known, new_id).page_alone(&nodes)
}

/// Whether a text is the base as it is written.
fn is_written(base: &Lowered, text: &str, terms: &Known<'_>) -> bool {
    !base.values.is_empty() && is_text_of(&base.nodes, text, terms)
}

fn built<'a>(
    text: &str,
    lowered: Lowered<'a>,
    known: &Known<'a>,
    new_id: &mut NewId<'_>,
) -> (Built, Lowered<'a>) {
    let (nodes, lowered) = matched(text, lowered, known);
    let built = Builder::new(text, &lowered, known, new_id).page(&nodes);
    (built, lowered)
}

/// The tree of a text with each node's block of the base. The base's tree may be bent to the text where a formatter
/// wipes out what the dialect says: bullets for toggles, and blank lines.
pub(super) fn matched<'a>(text: &str, lowered: Lowered<'a>, allowed: &Known<'a>) -> (Vec<Node>, Lowered<'a>) {
    let (mut nodes, lowered, census) = matched_with_hidden(text, lowered, allowed);
    if census.hidden {
        drop_hidden(&mut nodes);
    }
    if census.literals && !allowed.is_literal() {
        place_definitions(&mut nodes, &|node| node.base);
    }
    (nodes, lowered)
}

/// As [`matched`], with what Markdown hides, and with what the text held.
pub(super) fn matched_with_hidden<'a>(
    text: &str,
    mut lowered: Lowered<'a>,
    allowed: &Known<'a>,
) -> (Vec<Node>, Lowered<'a>, Census) {
    for (label, item) in allowed.items() {
        lowered.items.entry(label.clone()).or_insert(item);
    }
    let items = lowered.labels();
    let mut nodes = read(text, &items);
    let mut census = Census::of(&nodes);
    if census.placeholders {
        settle_placeholders(&mut nodes, &mut lowered);
        census = Census::of(&nodes);
    }
    let held = Census::of(&lowered.nodes);
    let as_bullet = &mut |node: &mut Node| {
        if node.kind == Kind::Toggle {
            node.kind = Kind::Bullet;
        }
    };
    if held.toggles > 0 && census.toggles == 0 && !allowed.is_literal() {
        each(&mut lowered.nodes, as_bullet);
    }
    // One sign in all of the file where the page has bullets: a formatter made them alike.
    let is_whole = held.bullets > 1 && census.bullets == 0 && census.toggles >= held.bullets;
    let signs_are_one = is_whole && !allowed.is_literal();
    if signs_are_one {
        each(&mut lowered.nodes, as_bullet);
        each(&mut nodes, as_bullet);
    }
    let mut old = Vec::with_capacity(lowered.values.len());
    flatten(shown(&lowered.nodes), 0, &mut old);
    if census.beside {
        settle_readings(&mut nodes, old.iter().map(|flat| flat.hash));
    }
    if census.literals {
        for inline in settle_literals(&mut nodes, &old, allowed) {
            let mut definition = Node::new(Kind::Paragraph, text.len()..text.len());
            definition.inline = inline;
            nodes.push(definition);
        }
    }
    end(&mut nodes);
    let count = number(&mut nodes);
    let mut new = Vec::with_capacity(count);
    flatten(&nodes, 0, &mut new);
    let blanks_are_gone = held.blanks && !census.blanks && !allowed.is_literal();
    if blanks_are_gone {
        // An empty paragraph that holds others is not one of those that come back between their neighbours.
        let is_empty = |node: &Node| node.kind == Kind::Paragraph && node.inline.is_empty();
        let holds = |flat: &&mut Flat<'_>| is_empty(flat.node) && !flat.node.children.is_empty();
        old.iter_mut().chain(&mut new).filter(holds).for_each(|flat| flat.hash = !flat.hash);
    }
    let found = align(&old, &new);
    let mut places: Vec<Option<usize>> = vec![None; count];
    for (flat, o) in new.iter().zip(found) {
        places[flat.node.index] = o.map(|o| old[o].node.index);
    }
    each(&mut nodes, &mut |node| node.base = places.get(node.index).copied().flatten());
    if signs_are_one {
        let is_toggle = |index: usize| {
            lowered
                .values
                .get(index)
                .is_some_and(|block| block.get("type").is_some_and(|kind| kind == "toggleListItem"))
        };
        each(&mut nodes, &mut |node| {
            if node.kind == Kind::Bullet && node.base.is_none_or(is_toggle) {
                node.kind = Kind::Toggle;
            }
        });
        each(&mut lowered.nodes, &mut |node| {
            if node.kind == Kind::Bullet && is_toggle(node.index) {
                node.kind = Kind::Toggle;
            }
        });
    }
    if blanks_are_gone {
        let roots = shown(&lowered.nodes);
        nodes = unhide(nodes, roots);
    }
    (nodes, lowered, census)
}

/// Finds what placeholders stand for: blocks of the base that are written so, or could be should nothing else read
/// back. The others become the text that they are.
fn settle_placeholders(nodes: &mut Vec<Node>, lowered: &mut Lowered) {
    let is_placeholder = |node: &Node| matches!(node.kind, Kind::Placeholder(_));
    let mut labels = BTreeSet::new();
    collect_labels(&lowered.nodes, &mut labels);
    let mut strange = BTreeSet::new();
    each(nodes, &mut |node| {
        if let Kind::Placeholder(label) = &node.kind
            && !labels.contains(&**label)
        {
            strange.insert(label.to_string());
        }
    });
    if strange.is_empty() {
        return;
    }
    let ids = ids(&lowered.values);
    let values = &lowered.values;
    each(&mut lowered.nodes, &mut |node| {
        let label = stand_in(values[node.index], node.index, &ids);
        if !is_placeholder(node) && strange.remove(&label) {
            node.kind = Kind::Placeholder(label.into());
            node.inline = Inline::default();
            node.blank = false;
        }
    });
    each(nodes, &mut |node| {
        if let Kind::Placeholder(label) = &node.kind
            && strange.contains(&**label)
        {
            // It stands for nothing here: a comment like any other.
            let source = format!("<!-- block: {label} -->");
            node.beside =
                Some(Box::new(Beside { readings: vec![Inline::plain(&source)], ..Beside::default() }));
            node.kind = Kind::Hidden(source.into());
        }
    });
    hoist(nodes);
}

/// Puts what is beneath a comment behind it.
fn hoist(nodes: &mut Vec<Node>) {
    let mut out = Vec::with_capacity(nodes.len());
    for mut node in std::mem::take(nodes) {
        hoist(&mut node.children);
        let beneath = if node.is_hidden() { std::mem::take(&mut node.children) } else { Vec::new() };
        if !beneath.is_empty() {
            node.end = node.at.end;
        }
        out.push(node);
        out.extend(beneath);
    }
    *nodes = out;
}

fn collect_labels(nodes: &[Node], out: &mut BTreeSet<String>) {
    for node in nodes {
        if let Kind::Placeholder(label) = &node.kind {
            out.insert(label.to_string());
        }
        collect_labels(&node.children, out);
    }
}

fn flatten<'a>(nodes: &'a [Node], depth: usize, out: &mut Vec<Flat<'a>>) {
    for node in nodes {
        if node.is_hidden() {
            continue;
        }
        out.push(Flat { node, hash: own_hash(&node.kind, &node.inline), depth });
        flatten(&node.children, depth + 1, out);
    }
}

/// Does something to every node.
pub(super) fn each(nodes: &mut [Node], act: &mut dyn FnMut(&mut Node)) {
    for node in nodes {
        act(node);
        each(&mut node.children, act);
    }
}

/// Whether blocks say just what a text does, whatever a formatter may have wiped out of it.
#[cfg(test)]
pub(super) fn says_as_read(text: &str, blocks: &[Value]) -> bool {
    let mut lowered = lower(blocks);
    let mut have = read(text, &lowered.labels());
    settle_placeholders(&mut have, &mut lowered);
    let mut old = Vec::new();
    flatten(shown(&lowered.nodes), 0, &mut old);
    settle_readings(&mut have, old.iter().map(|flat| flat.hash));
    let documented = Allowed::documented();
    settle_literals(&mut have, &old, &Known::new(&documented, blocks));
    drop_hidden(&mut have);
    end(&mut have);
    // The style in which a line ends is not visible.
    let mut plain = |node: &mut Node| super::lower::settle_breaks(&mut node.inline, false);
    each(&mut have, &mut plain);
    each(&mut lowered.nodes, &mut plain);
    same_trees(shown(&lowered.nodes), &have)
}

/// What a text says by itself, where there are no more than these constructs.
pub(super) fn read_alone(text: &str, terms: &Known<'_>) -> Vec<Node> {
    let mut nodes = read(text, &BTreeSet::new());
    settle_literals(&mut nodes, &[], terms);
    nodes
}

/// What a text says beside these nodes, where there are no more than these constructs; without `terms`, where there are all.
pub(super) fn reading(
    text: &str,
    nodes: &[Node],
    items: &BTreeSet<String>,
    terms: Option<&Known<'_>>,
) -> Vec<Node> {
    let mut have = read(text, items);
    if Census::of(&have).literals {
        let mut old = Vec::new();
        flatten(shown(nodes), 0, &mut old);
        settle_literals(&mut have, &old, terms.unwrap_or(&Known::new(&Allowed::all(), &[])));
    }
    have
}

/// Leaves out what Markdown hides.
fn drop_hidden(nodes: &mut Vec<Node>) {
    nodes.retain(|node| !node.is_hidden());
    nodes.iter_mut().for_each(|node| drop_hidden(&mut node.children));
}

/// Whether a text says what these nodes say, beside them as its base.
pub(super) fn says_beside(text: &str, nodes: &[Node], items: &BTreeSet<String>) -> bool {
    let mut have = read(text, items);
    let census = Census::of(&have);
    if census.beside || census.literals {
        let mut old = Vec::new();
        flatten(shown(nodes), 0, &mut old);
        settle_readings(&mut have, old.iter().map(|flat| flat.hash));
        settle_literals(&mut have, &old, &Known::new(&Allowed::all(), &[]));
    }
    drop_hidden(&mut have);
    end(&mut have);
    same_trees(shown(nodes), &have)
}

/// How many of the first of some blocks these nodes say, or of the last: the nodes of a part of a page whose blocks are among
/// them. `None` where they say anything else.
pub(super) fn said_by(mut nodes: Vec<Node>, blocks: &[Value], is_end: bool) -> Option<usize> {
    let lowered = lower(blocks);
    let census = Census::of(&nodes);
    if census.beside || census.literals {
        let mut old = Vec::new();
        flatten(&lowered.nodes, 0, &mut old);
        settle_readings(&mut nodes, old.iter().map(|flat| flat.hash));
        settle_literals(&mut nodes, &old, &Known::new(&Allowed::documented(), blocks));
    }
    drop_hidden(&mut nodes);
    end(&mut nodes);
    let others = lowered.nodes.len().checked_sub(nodes.len())?;
    let said = if is_end { &lowered.nodes[others..] } else { &lowered.nodes[..nodes.len()] };
    same_trees(said, &nodes).then_some(nodes.len())
}

/// Puts the base's empty paragraphs back between neighbours that still are neighbours.
fn unhide(nodes: Vec<Node>, old: &[Node]) -> Vec<Node> {
    let mut places = Vec::new();
    collect(old, &mut places);
    let mut used = BTreeSet::new();
    collect_used(&nodes, &mut used);
    places.iter_mut().for_each(|gap| gap.1.retain(|index| !used.contains(index)));
    places.sort_unstable_by_key(|place| place.0);
    restore(nodes, &places)
}

fn collect_used(nodes: &[Node], out: &mut BTreeSet<usize>) {
    for node in nodes {
        out.extend(node.base);
        collect_used(&node.children, out);
    }
}

/// For each node of the base that blank lines follow: its index, theirs, and its next sibling's.
type Gap = (usize, Vec<usize>, usize);

fn collect(old: &[Node], out: &mut Vec<Gap>) {
    let mut last: Option<usize> = None;
    let mut gap = Vec::new();
    for node in old {
        if node.blank {
            gap.push(node.index);
        } else {
            if let (Some(last), false) = (last, gap.is_empty()) {
                out.push((last, std::mem::take(&mut gap), node.index));
            }
            last = Some(node.index);
            collect(&node.children, out);
        }
    }
}

fn restore(nodes: Vec<Node>, gaps: &[Gap]) -> Vec<Node> {
    if gaps.is_empty() {
        return nodes;
    }
    let mut out: Vec<Node> = Vec::with_capacity(nodes.len());
    for mut node in nodes {
        node.children = restore(std::mem::take(&mut node.children), gaps);
        let before = out.iter().rfind(|node| !node.is_hidden()).and_then(|last| last.base);
        if let (Some(before), Some(after)) = (before, node.base)
            && let Ok(at) = gaps.binary_search_by_key(&before, |gap| gap.0)
            && gaps[at].2 == after
        {
            for &index in &gaps[at].1 {
                let mut empty = Node::new(Kind::Paragraph, node.at.start..node.at.start);
                empty.blank = true;
                empty.base = Some(index);
                out.push(empty);
            }
        }
        out.push(node);
    }
    out
}
