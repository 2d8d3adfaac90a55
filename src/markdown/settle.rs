//! Which of a text's readings holds: the one that the base has, else the one that is allowed.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::Parser;

use super::align::Flat;
use super::allowed::{Allowed, Known};
use super::build::in_one_line;
use super::parse::each;
use super::plain::{Beside, Inline, Kind, Node, Table, What, own_hash};
use super::read::{definitions, labels, read};
use super::shapes::is_local;
use super::write::write_for;

/// Chooses between what a block says and what it was read as before comments were hidden and lines kept: that holds where the
/// base has it, as often as the base has it.
pub(super) fn settle_readings(nodes: &mut [Node], hashes: impl Iterator<Item = u64>) {
    let mut left: BTreeMap<u64, isize> = BTreeMap::new();
    hashes.for_each(|hash| *left.entry(hash).or_insert(0) += 1);
    each(nodes, &mut |node| {
        if node.beside.is_none() {
            // What is read as code or as a link may be text in the base.
            let as_text = |kind: &Kind, inline: &Inline| Some(own_hash(kind, inline));
            let literal = node.literal.as_deref();
            let whole = literal.and_then(|literal| literal.whole.as_deref());
            let whole = whole.and_then(|whole| as_text(&Kind::Paragraph, &Inline::plain(whole)));
            let inline = literal.and_then(|literal| as_text(&node.kind, literal.inline.as_ref()?));
            let own = own_hash(&node.kind, &node.inline);
            let is_left = |hash: &u64| left.get(hash).is_some_and(|left| *left > 0);
            let said = [Some(own), whole, inline].into_iter().flatten().find(is_left);
            *left.entry(said.unwrap_or(own)).or_insert(0) -= 1;
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

/// Chooses between the natural and the literal reading of constructs without a documented block: the one that the
/// base has, else the one that is allowed. Gives the definitions of the base that the text does without: see [`settle_links`].
pub(super) fn settle_literals(nodes: &mut Vec<Node>, old: &[Flat], allowed: &Known<'_>) -> Vec<Inline> {
    // A block that keeps its lines may be wrapped in another way by a formatter that changed an address in it as well.
    let in_lines = old.iter().map(|flat| flat.node).filter(|node| node.inline.text.contains('\n'));
    let in_one = in_lines.map(|node| own_hash(&node.kind, &in_one_line(&node.inline)));
    let hashes: BTreeSet<u64> = old.iter().map(|flat| flat.hash).chain(in_one).collect();
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
    let texts = OnceCell::new();
    let said = |key: u64| {
        let all: &BTreeMap<u64, &Inline> = texts.get_or_init(|| constructs(old));
        all.get(&key).copied()
    };
    part_definitions(nodes, &said);
    each(nodes, &mut |node| {
        let table = node.literal.as_ref().and_then(|literal| literal.said);
        if let Some(key) = table.filter(|_| !hashes.contains(&own_hash(&node.kind, &node.inline)))
            && let (Some(text), None) = (said(key), &node.beside)
        {
            node.inline = text.clone();
        }
        let Kind::Hidden(source) = &node.kind else { return };
        if let Some(text) = definition(source).and_then(&said) {
            (node.kind, node.inline, node.beside) = (Kind::Paragraph, text.clone(), None);
        }
    });
    let has_links = allowed.get().link();
    let unneeded =
        if has_links { Vec::new() } else { settle_links(nodes, old, &hashes, allowed.is_literal()) };
    each(nodes, &mut |node| {
        if let Some(literal) = &mut node.literal
            && let Some(untitled) = literal.untitled.take()
            && addresses(&untitled).all(|href| known.contains(href))
            && has_links
            && !hashes.contains(&own_hash(&node.kind, &node.inline))
        {
            node.inline = untitled;
        }
    });
    if !has_links {
        publish_definitions(nodes, &hashes);
    }
    settle_level(nodes, &hashes, allowed.get(), &said);
    unneeded
}

/// The texts of the base that stand for a construct without a block, by what they are read as: a formatter writes the same
/// construct otherwise.
fn constructs<'a>(old: &[Flat<'a>]) -> BTreeMap<u64, &'a Inline> {
    let texts = old.iter().filter(|flat| flat.node.kind == Kind::Paragraph).map(|flat| &flat.node.inline);
    let is_plain =
        |inline: &&Inline| inline.marks.iter().all(|mark| mark.style == 0 && mark.what == What::Text);
    let may_be_one = |inline: &&Inline| {
        let text = &inline.text;
        text.starts_with(['[', '!', '`', '~', '*', '-', '_']) || text.contains('|') && text.contains('\n')
    };
    let found = texts.filter(is_plain).filter(may_be_one).filter_map(|inline| {
        let nodes = read(&inline.text, &BTreeSet::new());
        let [only] = nodes.as_slice() else { return None };
        let key = match &only.kind {
            Kind::Hidden(source) => definition(source)?,
            kind => {
                let literal = only.literal.as_ref()?;
                literal.said.or_else(|| literal.whole.as_ref().map(|_| own_hash(kind, &only.inline)))?
            }
        };
        Some((key, inline))
    });
    found.collect()
}

/// Parts definitions on lines that follow each other, which are one where no link uses them, if the base has any of them by
/// itself.
fn part_definitions<'a>(nodes: &mut Vec<Node>, said: &dyn Fn(u64) -> Option<&'a Inline>) {
    for at in (0..nodes.len()).rev() {
        part_definitions(&mut nodes[at].children, said);
        let Kind::Hidden(source) = &nodes[at].kind else { continue };
        let (place, lines) = (nodes[at].at.clone(), source.split('\n'));
        // A line may end in two bytes. Where the lines are indented they stay one.
        let ends = source.matches('\n').count();
        let end = match place.len().checked_sub(source.len()) {
            Some(0) => 1,
            Some(more) if more == ends => 2,
            _ => continue,
        };
        if ends == 0 || !lines.clone().any(|line| definition(line).and_then(said).is_some()) {
            continue;
        }
        let mut from = place.start;
        let part = |line: &str| {
            let mut node = Node::new(Kind::Hidden(line.into()), from..from + line.len());
            let readings = vec![Inline::plain(line)];
            node.beside = Some(Box::new(Beside { readings, ..Beside::default() }));
            from = node.at.end + end;
            node
        };
        let parts: Vec<Node> = lines.map(part).collect();
        nodes.splice(at..=at, parts);
    }
}

/// Where links are text, a text of the base stands for one that says the same links otherwise: a formatter wrote references
/// out, or put an address between angle brackets. Gives the definitions of the base that are gone from the text, for the
/// formatter wrote out all that used them; a text that is taken at its word has none.
fn settle_links(nodes: &mut [Node], old: &[Flat], hashes: &BTreeSet<u64>, is_literal: bool) -> Vec<Inline> {
    let mut defined = String::new();
    each(nodes, &mut |node| match &node.kind {
        Kind::Hidden(source) if source.starts_with('[') => defined.push_str(&format!("\n\n{source}")),
        Kind::Paragraph if node.inline.text.starts_with('[') && node.inline.text.contains("]:") => {
            defined.push_str(&format!("\n\n{}", node.inline.text));
        }
        _ => {}
    });
    let mut defined: BTreeMap<String, String> = definitions(&defined).into_iter().collect();
    let of_base = old.iter().map(|flat| flat.node).filter(|node| !is_literal && is_definition(node));
    let gone: BTreeMap<String, &Inline> = of_base
        .filter_map(|node| Some((definitions(&node.inline.text).pop()?.0, &node.inline)))
        .filter(|(label, _)| !defined.contains_key(label))
        .collect();
    defined.extend(gone.iter().map(|(label, inline)| (label.clone(), inline.text.clone())));
    let mut unneeded = BTreeSet::new();
    let documented = Allowed::documented();
    let known = Known::new(&documented, &[]);
    let texts = OnceCell::new();
    let as_links = || {
        let texts = old.iter().map(|flat| flat.node).filter(|node| node.inline.text.contains('['));
        let found = texts.filter(|node| node.kind.has_text()).filter_map(|node| {
            let mut alone = Node::new(Kind::Paragraph, 0..0);
            alone.inline = node.inline.clone();
            let mut text = write_for(&[alone], Some(&known), &mut |_, _| {}).text;
            let used = labels(&node.inline.text);
            let lines = used.iter().filter_map(|label| defined.get(label));
            lines.for_each(|line| text.push_str(&format!("\n{line}\n")));
            let first = read(&text, &BTreeSet::new()).into_iter().next()?;
            first.inline.has_link().then(|| (own_hash(&node.kind, &first.inline), (&node.inline, used)))
        });
        found.collect::<BTreeMap<u64, (&Inline, BTreeSet<String>)>>()
    };
    each(nodes, &mut |node| {
        let Some(literal) = &mut node.literal else { return };
        let inline = literal.untitled.as_ref().unwrap_or(&node.inline);
        let is_said = |inline: &Inline| hashes.contains(&own_hash(&node.kind, inline));
        let is_known = is_said(&node.inline) || literal.inline.as_ref().is_some_and(is_said);
        if !inline.has_link() || is_known {
            return;
        }
        if let Some((text, used)) = texts.get_or_init(as_links).get(&own_hash(&node.kind, inline)) {
            unneeded.extend(used.iter().filter(|label| gone.contains_key(*label)).cloned());
            node.inline = (*text).clone();
            (literal.inline, literal.local, literal.untitled) = (None, None, None);
            literal.others.clear();
            if let Some(beside) = &mut node.beside {
                beside.place_in(&node.inline, &[]);
            }
        }
    });
    gone.into_iter().filter(|(label, _)| unneeded.contains(label)).map(|(_, inline)| inline.clone()).collect()
}

/// Puts the definitions among some siblings where `place` says, if all others are in that order: where a definition stands means
/// nothing.
pub(super) fn place_definitions(nodes: &mut Vec<Node>, place: &dyn Fn(&Node) -> Option<usize>) {
    if !nodes.iter().any(is_definition) || nodes.iter().filter_map(place).is_sorted() {
        return;
    }
    let (mut moving, mut others) = (Vec::new(), Vec::with_capacity(nodes.len()));
    for node in std::mem::take(nodes) {
        match place(&node).filter(|_| is_definition(&node)) {
            Some(at) => moving.push((at, others.len(), node)),
            None => others.push(node),
        }
    }
    let places: Vec<(usize, usize)> =
        others.iter().enumerate().filter_map(|(index, node)| Some((place(node)?, index))).collect();
    let is_ordered = places.is_sorted();
    moving.sort_by_key(|(at, from, _)| if is_ordered { (*at, *at) } else { (*from, *from) });
    let mut moving = moving.into_iter().peekable();
    for (index, node) in others.into_iter().enumerate() {
        let next = places.partition_point(|(_, other)| *other < index);
        let next = places.get(next).map_or(usize::MAX, |(at, _)| *at);
        let comes =
            |(at, from, _): &(usize, usize, Node)| if is_ordered { *at < next } else { *from <= index };
        while let Some((.., definition)) = moving.next_if(comes) {
            nodes.push(definition);
        }
        nodes.push(node);
    }
    nodes.extend(moving.map(|(.., definition)| definition));
}

/// Whether a block is the text of a reference definition on one line.
pub(super) fn is_definition(node: &Node) -> bool {
    let text = &node.inline.text;
    let is_plain = node.inline.marks.iter().all(|mark| mark.style == 0 && mark.what == What::Text);
    node.kind == Kind::Paragraph
        && node.children.is_empty()
        && text.starts_with('[')
        && !text.starts_with("[^")
        && !text.contains('\n')
        && is_plain
        && definition(text).is_some()
}

/// What a reference definition says, as one number.
fn definition(source: &str) -> Option<u64> {
    let parser = Parser::new(source.starts_with('[').then_some(source)?);
    let (label, definition) = parser.reference_definitions().iter().next()?;
    let said = format!("[{label}]: <{}> {:?}", definition.dest, definition.title);
    Some(own_hash(&Kind::Hidden(said.into()), &Inline::default()))
}

/// Makes text of the definitions that links use which are new and text themselves: they would lead nowhere without.
fn publish_definitions(nodes: &mut [Node], hashes: &BTreeSet<u64>) {
    let is_used = |node: &Node| node.beside.as_ref().is_some_and(|beside| beside.is_used);
    let (mut fresh, mut any) = (String::new(), false);
    each(nodes, &mut |node| {
        any |= is_used(node);
        let text = node.literal.as_ref().and_then(|literal| literal.inline.as_ref());
        if let Some(text) = text.filter(|text| !hashes.contains(&own_hash(&node.kind, text))) {
            fresh.push_str(&text.text.to_lowercase());
            fresh.push('\n');
        }
        if let Kind::Table(_) = &node.kind {
            fresh.push_str(
                node.literal.as_ref().and_then(|literal| literal.whole.as_deref()).unwrap_or_default(),
            );
        }
    });
    if !any {
        return;
    }
    each(nodes, &mut |node| {
        let Kind::Hidden(source) = &node.kind else { return };
        let label = source.split_once("]:").map_or("", |(label, _)| label).to_lowercase();
        if is_used(node) && fresh.contains(&format!("{label}]")) {
            let text = node.beside.take().and_then(|beside| beside.readings.into_iter().next());
            node.kind = Kind::Paragraph;
            node.inline = text.unwrap_or_default();
        }
    });
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

fn settle_level<'a>(
    nodes: &mut [Node],
    hashes: &BTreeSet<u64>,
    allowed: &Allowed,
    said: &dyn Fn(u64) -> Option<&'a Inline>,
) {
    let mut list_is_text = false;
    let lists = lists_of_base(nodes, hashes);
    for (node, is_list) in nodes.iter_mut().zip(lists) {
        settle_level(&mut node.children, hashes, allowed, said);
        if node.list_first || !matches!(node.kind, Kind::Number(_)) {
            list_is_text = false;
        }
        let Some(literal) = node.literal.take() else { continue };
        let has = |kind: &Kind, inline: &Inline| hashes.contains(&own_hash(kind, inline));
        if let Some(whole) = &literal.whole {
            let text = Inline::plain(whole);
            let natural = has(&node.kind, &node.inline);
            let is_said = has(&Kind::Paragraph, &text);
            if !natural && (is_said || !creatable(&node.kind, allowed)) {
                let other = said(own_hash(&node.kind, &node.inline)).filter(|_| !is_said);
                node.kind = Kind::Paragraph;
                node.inline = other.cloned().unwrap_or(text);
            } else if !natural {
                let as_kind = |table: Table| Kind::Table(Box::new(table));
                let by_base =
                    literal.other_tables.into_iter().map(as_kind).find(|other| has(other, &node.inline));
                let told = literal.table.map(Kind::Table);
                let told = told.filter(|told| !allowed.link() || has(told, &node.inline));
                let local = literal.local_table.map(Kind::Table);
                node.kind = by_base.or(told).or(local).unwrap_or_else(|| node.kind.clone());
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
        if !has(&node.kind, &node.inline)
            && let Some(other) = literal
                .others
                .into_iter()
                .find(|other| has(&node.kind, other) || has(&node.kind, &in_one_line(other)))
        {
            node.inline = other;
            continue;
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
