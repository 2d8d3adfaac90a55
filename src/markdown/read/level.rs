//! What a list of siblings means once all of them are read: children markers, quotes, and numbers.

use super::super::plain::{Beside, DEPTH_MAX, Inline, Kind, Literal, Node};

/// Puts what stands between `<!-- children -->` and `<!-- /children -->` beneath the block before it. Markers
/// without a partner or without such a block stay as text.
pub(super) fn fold(nodes: Vec<Node>, depth: usize) -> Vec<Node> {
    if !nodes.iter().any(|node| matches!(node.kind, Kind::Open | Kind::Close)) {
        return nodes;
    }
    let partner = partners(&nodes, depth);
    let mut levels: Vec<Vec<Node>> = vec![Vec::new()];
    for (at, mut node) in nodes.into_iter().enumerate() {
        let paired = partner[at];
        let top = levels.len() - 1;
        match node.kind {
            Kind::Open if paired => {
                // What is hidden between a block and what is beneath it is beneath it as well.
                let shown = levels[top].iter().rposition(|node| !node.is_hidden()).map_or(0, |last| last + 1);
                let hidden = levels[top].split_off(shown);
                levels.push(hidden);
            }
            Kind::Close if paired && top > 0 => {
                let mut children = levels.pop().unwrap_or_default();
                numbers(&mut children);
                if let Some(owner) = levels.last_mut().and_then(|level| level.last_mut()) {
                    owner.end = node.end;
                    owner.children.extend(children);
                }
            }
            Kind::Open | Kind::Close => {
                let text = if node.kind == Kind::Open { "<!-- children -->" } else { "<!-- /children -->" };
                node.kind = Kind::Paragraph;
                node.inline = Inline::plain(text);
                levels[top].push(node);
            }
            _ => levels[top].push(node),
        }
    }
    // Every pushed level was paired, so one is left.
    levels.into_iter().next().unwrap_or_default()
}

/// Which markers have a partner, and an owner that is really a block.
fn partners(nodes: &[Node], depth: usize) -> Vec<bool> {
    let mut paired = vec![false; nodes.len()];
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut owner = false;
    for (at, node) in nodes.iter().enumerate() {
        match node.kind {
            Kind::Open => {
                open.push((at, owner && depth + open.len() + 1 < DEPTH_MAX));
                owner = false;
            }
            Kind::Close => {
                if let Some((from, fits)) = open.pop() {
                    paired[from] = fits;
                    paired[at] = fits;
                }
                owner = true;
            }
            Kind::Hidden(_) => {}
            _ => owner = !node.blank,
        }
    }
    paired
}

/// Turns what stands in a block quote into quotes: each paragraph is one, anything else lies beneath the last one.
/// Its lines begin with its sign.
pub(super) fn quotes(nodes: Vec<Node>, at: std::ops::Range<usize>, text: &str) -> Vec<Node> {
    let mut out: Vec<Node> = Vec::new();
    // What is hidden before a quote's first words is in its line.
    let mut early = Vec::new();
    for mut node in nodes {
        if node.blank {
            continue;
        }
        if node.is_hidden() && out.is_empty() {
            early.push(node);
            continue;
        }
        let end = node.end;
        if node.kind == Kind::Paragraph && node.literal.as_ref().is_none_or(|literal| literal.whole.is_none())
        {
            node.kind = Kind::Quote;
            if let (Some(first), Some(last)) = (early.first(), early.last()) {
                let (start, end) = (first.at.start, last.at.end);
                let apart = text.get(end..node.at.start).is_some_and(|gap| gap.matches('\n').count() > 1);
                node.at.start = start;
                node.beside = led(std::mem::take(&mut early), node.beside);
                if let (true, Some(beside)) = (apart, &mut node.beside) {
                    add_line(&mut beside.hidden);
                }
            }
            let line = text[..node.at.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
            if let Some(sign) = text[line..node.at.start].rfind('>') {
                node.at.start = line + sign;
            }
            out.push(node);
            continue;
        }
        if out.is_empty() {
            out.push(Node::new(Kind::Quote, at.start..at.start + 1));
        }
        if let Some(owner) = out.last_mut() {
            owner.end = end;
            owner.children.push(node);
        }
    }
    if out.is_empty() {
        out.push(Node::new(Kind::Quote, at));
    }
    if let Some(first) = out.first_mut() {
        only_hidden(first, early);
    }
    out
}

/// Gives a block whose text is nothing but what is hidden that as its own.
pub(super) fn only_hidden(node: &mut Node, hidden: Vec<Node>) {
    let mut beside = node.beside.take().unwrap_or_default();
    for (at, other) in hidden.into_iter().enumerate() {
        let Kind::Hidden(source) = other.kind else { continue };
        let source = if at == 0 { source } else { format!("\n{source}").into() };
        beside.hidden.push((node.inline.text.len(), source));
        node.end = node.end.max(other.end);
        if node.inline.is_empty() {
            node.at.end = node.at.end.max(other.at.end);
            beside.readings.extend(other.beside.into_iter().flat_map(|beside| beside.readings));
        }
    }
    node.beside = (!beside.hidden.is_empty() || !beside.readings.is_empty()).then(|| Box::new(*beside));
}

/// Adds a blank line behind the last of what is hidden on the lines before a text.
fn add_line(hidden: &mut [(usize, Box<str>)]) {
    if let Some((_, source)) = hidden.iter_mut().rev().find(|(at, source)| *at == 0 && source.ends_with('\n'))
    {
        *source = format!("{source}\n").into();
    }
}

/// What stands beside a block's text, with what is hidden on the lines before it.
pub(super) fn led(hidden: Vec<Node>, beside: Option<Box<Beside>>) -> Option<Box<Beside>> {
    if hidden.is_empty() {
        return beside;
    }
    let mut beside = beside.unwrap_or_default();
    let lines = hidden.into_iter().filter_map(|node| match node.kind {
        Kind::Hidden(source) => Some((0, format!("{source}\n").into())),
        _ => None,
    });
    beside.hidden.splice(..0, lines);
    Some(beside)
}

/// Leaves the empty paragraphs at the end of a page out: they show nowhere, whatever says them.
pub(crate) fn end(nodes: &mut Vec<Node>) {
    let shown =
        nodes.iter().rposition(|node| !node.is_void() && !node.is_hidden()).map_or(0, |last| last + 1);
    let mut at = 0;
    nodes.retain(|node| {
        at += 1;
        at <= shown || node.is_hidden()
    });
}

/// Settles what the numbers of ordered lists say: an item only has a `start` when it is the first of its run and
/// its number is not the one it would get anyway.
pub(super) fn numbers(nodes: &mut [Node]) {
    let mut next = None;
    let mut literal = false;
    for node in nodes {
        if node.is_hidden() {
            continue;
        }
        if !matches!(node.kind, Kind::Number(_)) {
            next = None;
            continue;
        }
        let said = node.number;
        // What stands between two items of one Markdown list begins a new count in the editor.
        if node.list_first || next.is_none() {
            literal = next.is_none() && said != 1;
        }
        let start = match next {
            Some(_) => None,
            None if said == 1 => None,
            None => Some(said),
        };
        node.kind = Kind::Number(start);
        if literal {
            let other = node.literal.get_or_insert_with(|| Box::new(Literal::default()));
            other.prefix.get_or_insert_with(|| format!("{said}. "));
        } else if let Some(other) = &mut node.literal {
            other.prefix = None;
        }
        next = Some(start.or(next).unwrap_or(1) + 1);
    }
}
