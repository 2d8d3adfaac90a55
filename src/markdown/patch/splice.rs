//! Puts a text together: the old lines of what stayed, new lines for what changed.

mod between;

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;

use super::super::allowed::Known;
use super::super::lower::shown;
use super::super::plain::{Inline, Kind, Node};
use super::super::read::labels;
use super::super::settle::is_definition;
use super::super::write::{Line, Mode, fits_in_quote, holds_in_quote, line, shares_line};
use super::cells;
use super::hidden::{survivors, uses};
use super::layout::{Holds, Layout, Place};
use super::words::Block;

/// How much of the old text is kept, from the most to the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grain {
    /// The lines of every block that did not change, and what stands between blocks.
    Line,
    /// The same, but a blank line parts what changed from its neighbours.
    Apart,
    /// The same, but what a formatter wiped out (toggles, blank lines) is said again.
    Plain,
    /// Only blocks at the top of which nothing changed, down to the last one beneath them.
    Root,
    /// The same, but the list or the quotes that a block at the top stands in are written anew with it, as on a new page.
    Anew,
}

/// A visible block of the new page.
struct Seen<'a> {
    node: &'a Node,
    /// What it stands beneath at the top of the page, or itself.
    top: &'a Node,
    /// Its parent among the seen.
    parent: Option<usize>,
    /// The sibling before it among the seen.
    before: Option<usize>,
    /// Empty paragraphs between the two.
    blank: usize,
    /// Where it is in the old text, whether its lines are kept or not.
    old: Option<&'a Place>,
    /// Where it was in the old text, also when it is written as something else now.
    was: Option<&'a Place>,
    /// Its lines are kept.
    kept: bool,
    /// What is beneath it is laid out as it was in the old text.
    lays: bool,
    /// What begins its lines.
    prefix: String,
    /// What begins its children's lines, and how it holds them.
    inner: String,
    holds: Holds,
    /// The list marker of an item.
    marker: String,
    number: u64,
    /// Its number is another one because the item that began its list is gone.
    recounted: bool,
}

/// What stands around a block of the new page.
struct Around<'n> {
    /// See [`Seen::top`].
    top: &'n Node,
    /// Its parent and the sibling before it, among the seen.
    parent: Option<usize>,
    before: Option<usize>,
    /// Empty paragraphs between it and the sibling before it.
    blank: usize,
    /// For a new block, the next sibling that was there.
    after: Option<&'n Node>,
}

/// The page that the text shall say.
pub(super) struct Page<'a> {
    /// Its tree.
    pub nodes: &'a [Node],
    /// The id of a block, by `Node::index`.
    pub id: &'a dyn Fn(usize) -> Option<&'a str>,
    /// Whether a block is this one, with all beneath it.
    pub is: &'a dyn Fn(usize, &Value) -> bool,
}

/// One try.
pub(super) struct Splice<'a> {
    layout: &'a Layout<'a>,
    new: &'a Page<'a>,
    grain: Grain,
    mode: Mode,
    /// A list that begins with another number goes on from that.
    recounts: bool,
    terms: Option<&'a Known<'a>>,
    /// The blocks at the top that are written anew.
    anew: BTreeSet<usize>,
    seen: Vec<Seen<'a>>,
    out: String,
}

impl<'a> Splice<'a> {
    /// Prepares a try.
    pub(super) fn new(
        layout: &'a Layout<'a>,
        new: &'a Page<'a>,
        grain: Grain,
        mode: Mode,
        terms: Option<&'a Known<'a>>,
    ) -> Self {
        let (anew, seen) = (BTreeSet::new(), Vec::new());
        Self { layout, new, grain, mode, recounts: false, terms, anew, seen, out: String::new() }
    }

    /// Numbers the items behind one that gets another number anew, where they went on from it.
    pub(super) fn recounting(self, recounts: bool) -> Self {
        Self { recounts, ..self }
    }

    /// The new text.
    pub(super) fn run(mut self) -> String {
        if self.grain == Grain::Anew {
            self.anew = self.tops_anew();
        }
        self.level(shown(self.new.nodes), None);
        for at in 0..self.seen.len() {
            self.between(at);
            self.own(at);
        }
        self.tail();
        self.out
    }

    /// The place in the base of a block of the new page: by id.
    fn base(&self, node: &Node) -> Option<usize> {
        let id = (self.new.id)(node.index)?;
        self.layout.ids.get(id).copied()
    }

    fn level(&mut self, nodes: &'a [Node], parent: Option<usize>) {
        let mut before: Option<usize> = None;
        let (mut blank, mut next) = (0, 0);
        for (at, node) in nodes.iter().enumerate() {
            let top = parent.map_or(node, |parent| self.seen[parent].top);
            let base = self.base(node).filter(|_| !self.anew.contains(&top.index));
            let old = base.and_then(|base| self.layout.places.get(&base));
            if node.blank && old.is_none() {
                blank += 1;
                continue;
            }
            next = next.max(at + 1);
            if old.is_none() {
                let is_new = |node: &Node| self.base(node).is_none();
                next += nodes[next..].iter().take_while(|node| is_new(node)).count();
            }
            let around =
                Around { top, parent, before, blank, after: nodes.get(next).filter(|_| old.is_none()) };
            let at = self.see(node, base, old, &around);
            self.level(&node.children, Some(at));
            before = Some(at);
            blank = 0;
        }
    }

    fn see(
        &mut self,
        node: &'a Node,
        base: Option<usize>,
        old: Option<&'a Place>,
        around: &Around<'a>,
    ) -> usize {
        let Around { top, parent, before, blank, .. } = *around;
        let stays = old.is_some_and(|old| self.same_parent(old, parent));
        let prefix = self.prefix(node, old.filter(|_| stays), around);
        let was = base.map(|base| &self.layout.nodes[base]);
        let same = was.is_some_and(|was| was.same_own(node)) && (self.grain < Grain::Root || self.whole(top));
        let number = match (node.kind.clone(), self.shown(before)) {
            (Kind::Number(Some(start)), _) => start,
            (Kind::Number(None), Some(before))
                if blank == 0 && matches!(before.node.kind, Kind::Number(_)) =>
            {
                before.number + 1
            }
            _ => 1,
        };
        let mut seen = Seen {
            node,
            top,
            parent,
            before,
            blank,
            old: old.filter(|_| stays),
            was: old.filter(|_| stays),
            kept: false,
            lays: false,
            inner: prefix.clone(),
            prefix,
            holds: match node.kind.is_item() {
                true => Holds::Indent,
                false if holds_in_quote(node, self.terms) => Holds::Quote,
                false => Holds::Markers,
            },
            marker: String::new(),
            number,
            recounted: false,
        };
        let family_stays = was.is_some_and(|was| family(&was.kind) == family(&node.kind));
        match seen.old {
            Some(old) if family_stays => {
                let recounted = self.recounted(&seen, old).or_else(|| self.now_first(&seen, old));
                let number = recounted.unwrap_or(number);
                seen.number = number;
                seen.recounted = recounted.is_some();
                let renumbered = matches!(node.kind, Kind::Number(_))
                    && (recounted.is_some() || !self.number_stands(&seen, old));
                let as_toggle =
                    node.kind == Kind::Toggle && !old.marker.starts_with('+') && self.grain > Grain::Apart;
                let as_bullet =
                    node.kind == Kind::Bullet && old.marker.starts_with('+') && self.grain > Grain::Apart;
                // Beneath a quote that had nothing beneath it.
                let is_new = node.kind == Kind::Quote && old.holds == Holds::Markers && old.open.is_none();
                let new_holds = (seen.holds, format!("{}> ", seen.prefix));
                seen.kept = same && !renumbered && !as_toggle && !as_bullet && self.holds_apart(node, old);
                seen.inner.clone_from(&old.inner);
                seen.holds = old.holds;
                if let (true, (Holds::Quote, inner)) = (is_new, new_holds) {
                    (seen.holds, seen.inner) = (Holds::Quote, inner);
                }
                let outgrows = old.holds == Holds::Quote && self.outgrows_quote(node, base);
                if outgrows {
                    (seen.holds, seen.inner) = (Holds::Markers, seen.prefix.clone());
                }
                seen.marker.clone_from(&old.marker);
                if renumbered {
                    let digits = old.marker.bytes().take_while(u8::is_ascii_digit).count();
                    seen.marker = format!("{number}{}", &old.marker[digits..]);
                    // The text moves with the marker's width; so do the lines beneath it.
                    seen.inner = format!("{}{:width$}", seen.prefix, "", width = seen.marker.len());
                    seen.old = seen.old.filter(|_| seen.marker.len() == old.marker.len());
                } else if matches!(node.kind, Kind::Number(_)) {
                    seen.number = old.number;
                }
                if as_toggle || as_bullet {
                    seen.marker.replace_range(..1, if as_toggle { "+" } else { "-" });
                }
                seen.lays = seen.old.is_some() && !outgrows;
            }
            _ => {
                seen.old = None;
                if node.kind.is_item() {
                    seen.marker = self.marker_like(&seen);
                    seen.inner = format!("{}{:width$}", seen.prefix, "", width = seen.marker.len());
                }
                if seen.holds == Holds::Quote {
                    seen.inner = format!("{}> ", seen.prefix);
                }
                if let Some(was) = seen.was.filter(|was| was.holds == seen.holds && was.inner == seen.inner) {
                    seen.lays = was.holds != Holds::Quote;
                }
            }
        }
        self.seen.push(seen);
        self.seen.len() - 1
    }

    /// Whether a block has come beneath a quote, or changed there, that cannot stand inside of it.
    fn outgrows_quote(&self, node: &Node, base: Option<usize>) -> bool {
        let is_new = |child: &Node| {
            let place = self.base(child).and_then(|base| self.layout.places.get(&base));
            place.is_none_or(|place| place.parent != base)
        };
        // Text that was a construct may be none any more.
        let is_other = |child: &Node| {
            let was = self.base(child).map(|base| &self.layout.nodes[base]);
            self.grain > Grain::Line && was.is_none_or(|was| !was.same_own(child))
        };
        let comes = |child: &&Node| !child.is_hidden() && (is_new(child) || is_other(child));
        node.children.iter().filter(comes).any(|child| !fits_in_quote(child, self.terms))
    }

    /// Whether an item without text still keeps its first child from being its text: that takes a comment in its line,
    /// unless its child is the one it had.
    fn holds_apart(&self, node: &Node, old: &Place) -> bool {
        let Some(child) = node.children.first() else { return true };
        let is_calm = !node.inline.is_empty() || child.kind.is_item() || shares_line(node, child, self.terms);
        if !node.kind.is_item() || is_calm {
            return true;
        }
        let line = self.first_line(old);
        let before = self.base(child).and_then(|base| Some((self.layout.places.get(&base)?, base)));
        line.contains("<!--")
            || before.is_some_and(|(place, base)| {
                place.order == old.order + 1 && self.layout.nodes[base].kind == child.kind
            })
    }

    /// The first of a block's lines in the old text.
    fn first_line(&self, old: &Place) -> &'a str {
        self.layout.text[old.at.start..].split(['\n', '\r']).next().unwrap_or("")
    }

    /// Whether a block that is written behind `parent` stands on the line of its marker.
    fn shares_line(&self, parent: &Seen<'a>, node: &Node) -> bool {
        let has_comment = parent.kept && parent.old.is_some_and(|old| self.first_line(old).contains("<!--"));
        parent.holds == Holds::Indent && shares_line(parent.node, node, self.terms) && !has_comment
    }

    /// Whether a block stands beneath the same block as in the old text, laid out as it was.
    fn same_parent(&self, old: &Place, parent: Option<usize>) -> bool {
        match (old.parent, parent) {
            (None, None) => true,
            (Some(was), Some(now)) => {
                let now = &self.seen[now];
                now.lays && self.base(now.node) == Some(was)
            }
            _ => false,
        }
    }

    /// Whether the number in the old text still says what it should.
    fn number_stands(&self, seen: &Seen, old: &Place) -> bool {
        let Kind::Number(start) = seen.node.kind else { return true };
        let runs_on = seen.blank == 0
            && self.shown(seen.before).is_some_and(|before| matches!(before.node.kind, Kind::Number(_)));
        // The first number of a list is told where it differs, and stays.
        let is_told = old.list_first && start.is_none() && self.grain <= Grain::Apart;
        runs_on
            || is_told
            || old.number == start.unwrap_or(1)
            || !old.list_first && start.is_none() && self.follows(seen, old)
    }

    /// The number of an item that went on from one, or repeated it, which has another number now.
    fn recounted(&self, seen: &Seen, old: &Place) -> Option<u64> {
        let before = self.shown(seen.before).filter(|_| seen.blank == 0)?;
        let was = before.was.filter(|_| matches!(before.node.kind, Kind::Number(_)))?;
        let is_led = self.recounts || before.recounted;
        let step = old.number.checked_sub(was.number).filter(|step| is_led && *step <= 1)?;
        (before.number != was.number).then_some(before.number + step)
    }

    /// The number of an item that was further down in its list and is the first now.
    fn now_first(&self, seen: &Seen, old: &Place) -> Option<u64> {
        let Kind::Number(start) = seen.node.kind else { return None };
        let has_lead = self
            .shown(seen.before)
            .is_some_and(|before| seen.blank == 0 && matches!(before.node.kind, Kind::Number(_)));
        let number = start.unwrap_or(1);
        let is_other = !has_lead && !old.list_first && old.number != number;
        (is_other && self.was_led(old)).then_some(number)
    }

    /// Whether a numbered item stood right before an item in the old text: else its number never went on from another.
    fn was_led(&self, old: &Place) -> bool {
        let is_sibling = |index: &&usize| {
            let place = self.layout.places.get(index);
            place.is_some_and(|place| place.parent == old.parent) && !self.layout.nodes[**index].is_hidden()
        };
        let before = self.layout.order[..old.order].iter().rev().find(is_sibling);
        before.is_some_and(|index| matches!(self.layout.nodes[*index].kind, Kind::Number(_)))
    }

    /// The nearest sibling from this one back that is no comment.
    fn shown(&self, mut at: Option<usize>) -> Option<&Seen<'a>> {
        while let Some(seen) = at.map(|at| &self.seen[at]) {
            if !seen.node.is_hidden() {
                return Some(seen);
            }
            at = seen.before;
        }
        None
    }

    /// Whether what stood before it in the old text still does.
    fn follows(&self, seen: &Seen, old: &Place) -> bool {
        let before = seen.before.and_then(|before| self.seen[before].old);
        before.is_some_and(|before| before.order < old.order && before.parent == old.parent)
    }

    /// A marker in the style of the siblings.
    fn marker_like(&self, seen: &Seen) -> String {
        let near = seen
            .before
            .map(|before| &self.seen[before])
            .filter(|near| family(&near.node.kind) == family(&seen.node.kind));
        let after = || {
            let order = seen.before.and_then(|before| self.seen[before].old).map_or(0, |old| old.order + 1);
            let index = self.layout.order.get(order)?;
            let place = self.layout.places.get(index)?;
            let same = family(&self.layout.nodes[*index].kind) == family(&seen.node.kind);
            let parent = seen.parent.and_then(|parent| self.base(self.seen[parent].node));
            (same && place.parent == parent).then(|| place.marker.clone())
        };
        let like = near.map(|near| near.marker.clone()).or_else(after);
        match (&seen.node.kind, like) {
            (Kind::Number(_), Some(like)) => {
                let digits = like.bytes().take_while(u8::is_ascii_digit).count();
                format!("{}{}", seen.number, &like[digits..])
            }
            (Kind::Number(_), None) => format!("{}. ", seen.number),
            (Kind::Toggle, Some(like)) if like.starts_with('+') => like,
            (Kind::Toggle, like) if self.grain <= Grain::Apart && self.layout.hides_toggles => {
                like.unwrap_or_else(|| "- ".to_owned())
            }
            (Kind::Toggle, _) => "+ ".to_owned(),
            (_, Some(like)) => like,
            (_, None) => "- ".to_owned(),
        }
    }

    /// Whether a block at the top of the page is as it was, with all beneath it.
    fn whole(&self, top: &Node) -> bool {
        let index = self.base(top);
        let is = |index: usize| match self.layout.lowered.values.get(index) {
            Some(value) => (self.new.is)(top.index, value),
            None => top.is_hidden(),
        };
        index.is_some_and(is)
    }

    /// The blocks at the top that are not as they were, or lose a definition that they use, with the items or quotes that each
    /// follows or that follow it.
    fn tops_anew(&self) -> BTreeSet<usize> {
        let joins = |node: &Node| node.kind.is_item() || node.kind == Kind::Quote || node.is_hidden();
        let runs = shown(self.new.nodes).chunk_by(|one, next| joins(one) && joins(next));
        let gone = self.gone_labels();
        let stays = |node: &Node| self.whole(node) && !uses(node, &gone);
        runs.filter(|run| !run.iter().all(stays)).flatten().map(|node| node.index).collect()
    }

    /// The labels of the definitions that are none any more.
    fn gone_labels(&self) -> BTreeSet<String> {
        let mut there = BTreeSet::new();
        let same = |node: &Node| self.base(node).filter(|base| self.layout.nodes[*base].same_own(node));
        survivors(self.new.nodes, &same, &mut there);
        let all = self.layout.nodes.iter().enumerate();
        let gone = all.filter(|(index, node)| is_definition(node) && !there.contains(index));
        gone.filter_map(|(_, node)| node.inline.text.split_once("]:"))
            .flat_map(|(label, _)| labels(&format!("{label}]")))
            .collect()
    }

    /// Writes what stands before the first block.
    fn head(&mut self, at: usize) {
        let first = self.layout.order.first().and_then(|index| self.layout.places.get(index));
        let text = self.layout.text;
        let end = first.map_or(0, |first| first.at.start);
        let head = &text[..end];
        let bom = if text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
        let same = self.seen[at].old.is_some_and(|old| old.order == 0);
        let blank = head.trim_start_matches('\u{feff}').chars().all(|c| matches!(c, '\n' | '\r' | ' '));
        let head = if same || blank { head } else { bom };
        self.out.push_str(head.trim_end_matches(' '));
        if let Some(lead) = self.seen[at].was.and_then(|was| self.layout.lead(was.at.start)) {
            self.out.push_str(&lead);
        }
    }

    /// Writes a block's own lines.
    fn own(&mut self, at: usize) {
        let seen = &self.seen[at];
        if let (Some(old), true) = (seen.old, seen.kept) {
            self.out.push_str(&self.layout.text[old.at.start..self.layout.line_end(old)]);
            return;
        }
        let first = seen.parent.is_none() && seen.before.is_none() && seen.blank == 0;
        let write = |node: &Node| {
            let mut text = String::new();
            let at = Line { prefix: &seen.prefix, marker: &seen.marker, first, terms: self.terms };
            line(&mut text, node, at, self.mode);
            text
        };
        if let Some(text) = self.words(seen) {
            return self.out.push_str(&text);
        }
        let text = self.cells(seen, &write).unwrap_or_else(|| write(seen.node));
        self.push_fresh(&text);
    }

    /// The lines of a block of which some words changed.
    fn words(&self, seen: &Seen) -> Option<String> {
        let old = seen.old.filter(|_| self.grain <= Grain::Apart && self.mode == Mode::Minimal)?;
        let was = &self.layout.nodes[self.base(seen.node)?];
        if !was.kind.has_text() || !seen.node.kind.has_text() {
            return None;
        }
        let own = old.at.start..self.layout.line_end(old);
        let inner = match seen.node.kind {
            Kind::Quote => format!("{}> ", seen.prefix),
            _ if seen.node.kind.is_item() => {
                format!("{}{:width$}", seen.prefix, "", width = seen.marker.len())
            }
            _ => seen.prefix.clone(),
        };
        let block = Block {
            text: self.layout.text,
            own,
            old: was,
            new: seen.node,
            marker: (&old.marker, &seen.marker),
            inner: &inner,
            is_cell: false,
            items: &self.layout.items,
            definitions: self.layout.definitions(),
        };
        let text = block.spliced()?;
        Some(if self.layout.eol == "\n" {
            text
        } else {
            text.replace("\r\n", "\n").replace('\n', self.layout.eol)
        })
    }

    /// The lines of a table of which some cells changed.
    fn cells(&self, seen: &Seen, write: &dyn Fn(&Node) -> String) -> Option<String> {
        let old = seen.old.filter(|_| self.grain <= Grain::Apart && self.mode == Mode::Minimal)?;
        let was = &self.layout.nodes[self.base(seen.node)?];
        if !matches!(was.kind, Kind::Table(_)) {
            return None;
        }
        let source = &self.layout.text[old.at.start..self.layout.line_end(old)];
        let words = |line: &str, own: Range<usize>, was: &Inline, now: &Inline| {
            let [old, new] = [was, now].map(|inline| {
                let mut node = Node::new(Kind::Paragraph, 0..0);
                node.inline = inline.clone();
                node
            });
            let block = Block {
                text: line,
                own,
                old: &old,
                new: &new,
                marker: ("", ""),
                inner: "",
                is_cell: true,
                items: &self.layout.items,
                definitions: self.layout.definitions(),
            };
            block.spliced()
        };
        cells::spliced(source, &write(was), (was, seen.node), &seen.prefix, &words)
    }

    /// Writes what stands after the last block.
    fn tail(&mut self) {
        let text = self.layout.text;
        let last_old = self.layout.order.last().and_then(|index| self.layout.places.get(index));
        let Some(last) = self.seen.len().checked_sub(1) else {
            // Nothing is left to show.
            return;
        };
        let same = self.seen[last].was.zip(last_old).is_some_and(|(now, was)| now.order == was.order);
        if let (true, Some(was)) = (same, last_old) {
            self.out.push_str(&text[self.layout.line_end(was)..]);
            return;
        }
        let mut closing = String::new();
        let mut at = last;
        while let Some(parent) = self.seen[at].parent {
            self.close(&mut closing, parent);
            at = parent;
        }
        let end = &text[self.layout.end..];
        if end.bytes().all(|b| b.is_ascii_whitespace()) && self.layout.end > 0 {
            self.push_fresh(&closing);
            return self.out.push_str(end);
        }
        if text.is_empty() || text.ends_with(['\n', '\r']) {
            closing.push('\n');
        }
        self.push_fresh(&closing);
    }

    fn push_fresh(&mut self, text: &str) {
        if self.layout.eol == "\n" {
            self.out.push_str(text);
        } else {
            self.out.push_str(&text.replace('\n', self.layout.eol));
        }
    }
}

/// Kinds that a marker can stand for alike.
fn family(kind: &Kind) -> u8 {
    match kind {
        Kind::Bullet | Kind::Check(_) => 1,
        Kind::Toggle => 2,
        Kind::Number(_) => 3,
        Kind::Quote => 4,
        _ => 0,
    }
}
