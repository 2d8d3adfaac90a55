//! Text to blocks: reads the text, finds each block's past in the base, and builds what is new.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::NewId;
use super::align::{Flat, align};
use super::allowed::{Allowed, Known};
use super::build::{Builder, Built};
use super::lower::{Lowered, ids, lower, shown, stand_in};
use super::plain::{Beside, Census, Inline, Kind, Node, What, number, own_hash, same_trees};
use super::read::{end, read};
use super::shapes::is_local;
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

fn copied(
    text: &str,
    lowered: Lowered<'_>,
    base: &[Value],
    known: &Known<'_>,
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
    known: &Known<'_>,
    new_id: &mut NewId<'_>,
) -> (Built, Lowered<'a>) {
    let (nodes, lowered) = matched(text, lowered, known);
    let built = Builder::new(text, &lowered, known, new_id).page(&nodes);
    (built, lowered)
}

/// The tree of a text with each node's block of the base. The base's tree may be bent to the text where a formatter
/// wipes out what the dialect says: bullets for toggles, and blank lines.
pub(super) fn matched<'a>(text: &str, lowered: Lowered<'a>, allowed: &Known<'_>) -> (Vec<Node>, Lowered<'a>) {
    let (mut nodes, lowered, census) = matched_with_hidden(text, lowered, allowed);
    if census.hidden {
        drop_hidden(&mut nodes);
    }
    (nodes, lowered)
}

/// As [`matched`], with what Markdown hides, and with what the text held.
pub(super) fn matched_with_hidden<'a>(
    text: &str,
    mut lowered: Lowered<'a>,
    allowed: &Known<'_>,
) -> (Vec<Node>, Lowered<'a>, Census) {
    let items = lowered.labels();
    let mut nodes = read(text, &items);
    let mut census = Census::of(&nodes);
    if census.placeholders {
        settle_placeholders(&mut nodes, &mut lowered);
        census = Census::of(&nodes);
    }
    let held = Census::of(&lowered.nodes);
    if held.toggles && !census.toggles && !allowed.is_literal() {
        each(&mut lowered.nodes, &mut |node| {
            if node.kind == Kind::Toggle {
                node.kind = Kind::Bullet;
            }
        });
    }
    let mut old = Vec::with_capacity(lowered.values.len());
    flatten(shown(&lowered.nodes), 0, &mut old);
    if census.beside {
        settle_readings(&mut nodes, old.iter().map(|flat| flat.hash));
    }
    if census.literals {
        settle_literals(&mut nodes, &old, allowed);
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

/// Chooses between what a block says and what it was read as before comments were hidden and lines kept: that holds where the
/// base has it, as often as the base has it.
fn settle_readings(nodes: &mut [Node], hashes: impl Iterator<Item = u64>) {
    let mut left: BTreeMap<u64, isize> = BTreeMap::new();
    hashes.for_each(|hash| *left.entry(hash).or_insert(0) += 1);
    each(nodes, &mut |node| {
        if node.beside.is_none() {
            *left.entry(own_hash(&node.kind, &node.inline)).or_insert(0) -= 1;
        }
    });
    each(nodes, &mut |node| {
        let Some(beside) = &mut node.beside else { return };
        let mut takes = |kind: &Kind, inline: &Inline| {
            left.get_mut(&own_hash(kind, inline)).filter(|left| **left > 0).is_some_and(|left| {
                *left -= 1;
                true
            })
        };
        let literal = node.literal.as_ref().and_then(|literal| literal.inline.as_ref());
        if !matches!(node.kind, Kind::Hidden(_))
            && (takes(&node.kind, &node.inline) || literal.is_some_and(|inline| takes(&node.kind, inline)))
        {
            return;
        }
        let was_text = matches!(node.kind, Kind::Hidden(_) | Kind::Table(_));
        let kind = if was_text { Kind::Paragraph } else { node.kind.clone() };
        if let Some(reading) = beside.readings.iter().find(|reading| takes(&kind, reading)) {
            node.inline = reading.clone();
            (node.kind, node.literal, node.beside) = (kind, None, None);
        }
    });
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

/// Whether a text says what these nodes say, where there are no more than these constructs.
pub(super) fn says_for(text: &str, nodes: &[Node], items: &BTreeSet<String>, terms: &Known<'_>) -> bool {
    let mut have = read(text, items);
    if Census::of(&have).literals {
        let mut old = Vec::new();
        flatten(shown(nodes), 0, &mut old);
        settle_literals(&mut have, &old, terms);
    }
    same_trees(shown(nodes), &have)
}

/// Leaves out what Markdown hides.
fn drop_hidden(nodes: &mut Vec<Node>) {
    nodes.retain(|node| !node.is_hidden());
    nodes.iter_mut().for_each(|node| drop_hidden(&mut node.children));
}

/// Whether a text says what these nodes say, beside them as its base.
pub(super) fn says_beside(text: &str, nodes: &[Node], items: &BTreeSet<String>) -> bool {
    let mut have = read(text, items);
    if Census::of(&have).beside {
        let mut old = Vec::new();
        flatten(shown(nodes), 0, &mut old);
        settle_readings(&mut have, old.iter().map(|flat| flat.hash));
    }
    drop_hidden(&mut have);
    end(&mut have);
    same_trees(shown(nodes), &have)
}

/// Chooses between the natural and the literal reading of constructs without a documented block: the one that the
/// base has, else the one that is allowed.
fn settle_literals(nodes: &mut [Node], old: &[Flat], allowed: &Known<'_>) {
    let hashes: BTreeSet<u64> = old.iter().map(|flat| flat.hash).collect();
    let mut known = BTreeSet::new();
    old.iter().for_each(|flat| known.extend(addresses(&flat.node.inline)));
    // A link that the base has leads somewhere, wherever that is.
    each(nodes, &mut |node| {
        if let Some(literal) = &mut node.literal
            && addresses(&node.inline).all(|href| !is_local(href) || known.contains(href))
        {
            literal.local = None;
        }
    });
    settle_level(nodes, &hashes, allowed.get());
}

/// Where the links of a text lead.
fn addresses(inline: &Inline) -> impl Iterator<Item = &str> {
    inline.marks.iter().filter_map(|mark| match &mark.what {
        What::Link(link) => Some(link.href.as_str()),
        _ => None,
    })
}

/// A list that begins above this is a sentence.
const NUMBER_MAX: u64 = 999;

fn settle_level(nodes: &mut [Node], hashes: &BTreeSet<u64>, allowed: &Allowed) {
    let mut list_is_text = false;
    let lists = lists_of_base(nodes, hashes);
    for (node, is_list) in nodes.iter_mut().zip(lists) {
        settle_level(&mut node.children, hashes, allowed);
        if node.list_first || !matches!(node.kind, Kind::Number(_)) {
            list_is_text = false;
        }
        let Some(literal) = node.literal.take() else { continue };
        let has = |kind: &Kind, inline: &Inline| hashes.contains(&own_hash(kind, inline));
        if let Some(whole) = &literal.whole {
            let text = Inline::plain(whole);
            let natural = has(&node.kind, &node.inline);
            if !natural && (has(&Kind::Paragraph, &text) || !creatable(&node.kind, allowed)) {
                node.kind = Kind::Paragraph;
                node.inline = text;
            } else if !natural {
                let shown = literal.shown.map(Kind::Table).filter(|shown| has(shown, &node.inline));
                let told = literal.table.map(Kind::Table);
                let told = told.filter(|told| !allowed.link() || has(told, &node.inline));
                node.kind = shown.or(told).unwrap_or_else(|| node.kind.clone());
            }
            continue;
        }
        if let Some(prefix) = &literal.prefix {
            let told = |inline: &Inline| {
                let mut text = Inline::plain(prefix);
                text.append(inline);
                text
            };
            let texts: Vec<Inline> =
                [Some(&node.inline), literal.inline.as_ref()].into_iter().flatten().map(told).collect();
            let natural = has(&node.kind, &node.inline)
                || literal.inline.as_ref().is_some_and(|inline| has(&node.kind, inline));
            let was_text = !natural && texts.iter().any(|text| has(&Kind::Paragraph, text));
            // A sentence may begin with a year.
            let is_year = node.list_first && !is_list && !natural && node.number > NUMBER_MAX;
            if was_text || is_year || list_is_text && !is_list {
                list_is_text = true;
                let by_base = texts.iter().position(|text| has(&Kind::Paragraph, text));
                let pick = by_base.unwrap_or(if allowed.link() { 0 } else { texts.len() - 1 });
                node.kind = Kind::Paragraph;
                if let Some(beside) = &mut node.beside {
                    if let (1, Some(inline)) = (pick, &literal.inline) {
                        beside.place_in(inline, &literal.hidden);
                    }
                    beside.hidden.iter_mut().for_each(|(at, _)| *at += prefix.len());
                }
                node.inline = texts.into_iter().nth(pick).unwrap_or_default();
                continue;
            }
            if !natural && !allowed.start() {
                node.kind = Kind::Number(None);
            }
        }
        if let Some(inline) = literal.inline
            && !has(&node.kind, &node.inline)
        {
            // A link to a place on this machine leads nowhere at the service.
            let local = literal.local.filter(|local| allowed.link() || has(&node.kind, local));
            let is_text = has(&node.kind, &inline) || !allowed.link();
            let (reading, hidden) = match local {
                Some(local) if !is_text || has(&node.kind, &local) => (local, &literal.hidden_in_local),
                _ if is_text => (inline, &literal.hidden),
                _ => continue,
            };
            if let Some(beside) = &mut node.beside {
                beside.place_in(&reading, hidden);
            }
            node.inline = reading;
        }
    }
}

/// For each node, whether the ordered list that it is in has an item that the base has as one that counts on.
fn lists_of_base(nodes: &[Node], hashes: &BTreeSet<u64>) -> Vec<bool> {
    let counts_on = |node: &Node| {
        let inlines = [Some(&node.inline), node.literal.as_ref().and_then(|literal| literal.inline.as_ref())];
        let has = |inline: &Inline| hashes.contains(&own_hash(&Kind::Number(None), inline));
        matches!(node.kind, Kind::Number(_)) && inlines.into_iter().flatten().any(has)
    };
    let starts = |node: &Node| node.list_first && matches!(node.kind, Kind::Number(_));
    let mut found = Vec::with_capacity(nodes.len());
    for list in nodes.chunk_by(|_, next| !starts(next)) {
        let is_list = list.iter().any(counts_on);
        found.extend(list.iter().map(|_| is_list));
    }
    found
}

/// Whether blocks of this kind may be made.
fn creatable(kind: &Kind, allowed: &Allowed) -> bool {
    match kind {
        Kind::Code(_) => allowed.block("codeBlock"),
        Kind::Divider => allowed.block("divider"),
        Kind::Table(_) => allowed.block("table"),
        Kind::Media(media) => super::shapes::creatable(media, allowed),
        _ => true,
    }
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
