//! Puts a text together: the old lines of what stayed, new lines for what changed.

use serde_json::Value;

use super::super::allowed::Known;
use super::super::lower::shown;
use super::super::plain::{Kind, Node};
use super::super::write::{Line, Mode, line, separator};
use super::cells;
use super::layout::{Holds, Layout, Place};

/// How much of the old text is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grain {
    /// The lines of every block that did not change.
    Line,
    /// The same, but what a formatter wiped out (toggles, blank lines) is said again.
    Plain,
    /// Only blocks at the top of which nothing changed, down to the last one beneath them.
    Root,
}

/// A visible block of the new page.
struct Seen<'a> {
    node: &'a Node,
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
        Self { layout, new, grain, mode, recounts: false, terms, seen: Vec::new(), out: String::new() }
    }

    /// Numbers the items behind one that gets another number anew, where they went on from it.
    pub(super) fn recounting(self, recounts: bool) -> Self {
        Self { recounts, ..self }
    }

    /// The new text.
    pub(super) fn run(mut self) -> String {
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
        let mut blank = 0;
        for node in nodes {
            let base = self.base(node);
            let old = base.and_then(|base| self.layout.places.get(&base));
            if node.blank && old.is_none() {
                blank += 1;
                continue;
            }
            let at = self.see(node, base, old, parent, before, blank);
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
        parent: Option<usize>,
        before: Option<usize>,
        blank: usize,
    ) -> usize {
        let prefix = parent.map_or(String::new(), |parent| self.seen[parent].inner.clone());
        let stays = old.is_some_and(|old| self.same_parent(old, parent));
        let was = base.map(|base| &self.layout.nodes[base]);
        let same = was.is_some_and(|was| was.same_own(node))
            && (self.grain != Grain::Root || self.whole(node, parent));
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
            parent,
            before,
            blank,
            old: old.filter(|_| stays),
            was: old.filter(|_| stays),
            kept: false,
            lays: false,
            inner: prefix.clone(),
            prefix,
            holds: if node.kind.is_item() { Holds::Indent } else { Holds::Markers },
            marker: String::new(),
            number,
        };
        let family_stays = was.is_some_and(|was| family(&was.kind) == family(&node.kind));
        match seen.old {
            Some(old) if family_stays => {
                let recounted = self.recounted(&seen, old);
                let number = recounted.unwrap_or(number);
                seen.number = number;
                let renumbered = matches!(node.kind, Kind::Number(_))
                    && (recounted.is_some() || !self.number_stands(&seen, old));
                let as_toggle =
                    node.kind == Kind::Toggle && !old.marker.starts_with('+') && self.grain != Grain::Line;
                seen.kept = same && !renumbered && !as_toggle && self.holds_apart(node, old);
                seen.inner.clone_from(&old.inner);
                seen.holds = old.holds;
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
                if as_toggle {
                    seen.marker.replace_range(..1, "+");
                }
                seen.lays = seen.old.is_some();
            }
            _ => {
                seen.old = None;
                if node.kind.is_item() {
                    seen.marker = self.marker_like(&seen);
                    seen.inner = format!("{}{:width$}", seen.prefix, "", width = seen.marker.len());
                }
                if let Some(was) = seen.was.filter(|was| was.holds == seen.holds && was.inner == seen.inner) {
                    seen.lays = was.holds != Holds::Quote;
                }
            }
        }
        self.seen.push(seen);
        self.seen.len() - 1
    }

    /// Whether an item without text still keeps its first child from being its text: that takes a comment in its line,
    /// unless its child is the one it had.
    fn holds_apart(&self, node: &Node, old: &Place) -> bool {
        let Some(child) = node.children.first() else { return true };
        if !node.kind.is_item() || !node.inline.is_empty() || child.kind.is_item() {
            return true;
        }
        let text = self.layout.text;
        let line = text[old.at.start..].split(['\n', '\r']).next().unwrap_or("");
        let before = self.base(child).and_then(|base| Some((self.layout.places.get(&base)?, base)));
        line.contains("<!--")
            || before.is_some_and(|(place, base)| {
                place.order == old.order + 1 && self.layout.nodes[base].kind == child.kind
            })
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
        runs_on
            || old.number == start.unwrap_or(1)
            || !old.list_first && start.is_none() && self.follows(seen, old)
    }

    /// The number of an item that went on from one, or repeated it, which has another number now.
    fn recounted(&self, seen: &Seen, old: &Place) -> Option<u64> {
        let before = self.shown(seen.before).filter(|_| self.recounts && seen.blank == 0)?;
        let was = before.was.filter(|_| matches!(before.node.kind, Kind::Number(_)))?.number;
        let step = old.number.checked_sub(was).filter(|step| *step <= 1)?;
        (before.number != was).then_some(before.number + step)
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
            (Kind::Toggle, like) if self.grain == Grain::Line && self.layout.hides_toggles => {
                like.unwrap_or_else(|| "- ".to_owned())
            }
            (Kind::Toggle, _) => "+ ".to_owned(),
            (_, Some(like)) => like,
            (_, None) => "- ".to_owned(),
        }
    }

    /// Whether a block's whole tree at the top of the page is as it was.
    fn whole(&self, node: &Node, parent: Option<usize>) -> bool {
        let mut at = parent;
        let mut top = node;
        while let Some(parent) = at {
            top = self.seen[parent].node;
            at = self.seen[parent].parent;
        }
        let index = self.base(top);
        let is = |index: usize| match self.layout.lowered.values.get(index) {
            Some(value) => (self.new.is)(top.index, value),
            None => top.is_hidden(),
        };
        index.is_some_and(is)
    }

    /// Writes what stands between a block and the one before it.
    fn between(&mut self, at: usize) {
        let Some(previous) = at.checked_sub(1) else { return self.head(at) };
        if let Some(text) = self.kept_between(previous, at) {
            self.out.push_str(&text);
            return;
        }
        let mut text = String::new();
        let seen = &self.seen[at];
        let mut closing = previous;
        if seen.parent != Some(previous) {
            // Close what the block before stood in, up to its sibling.
            while Some(closing) != seen.before {
                let Some(parent) = self.seen[closing].parent else { break };
                self.close(&mut text, parent);
                closing = parent;
            }
            let before = self.seen[closing].node;
            let mut lines = String::new();
            let hides = self.layout.hides_blank && self.grain == Grain::Line;
            separator(&mut lines, before, seen.node, if hides { 0 } else { seen.blank }, &seen.prefix);
            // What was just closed, or shown loosely, needs a blank line.
            if !text.is_empty() && !lines.starts_with("\n\n") {
                lines.insert(0, '\n');
            }
            if let Some(was) = self.kept_after(closing, at) {
                lines = was;
            }
            text.push_str(&lines);
            if let Some(like) = self.borrowed(at, previous) {
                text = like;
            }
            if let Some(was) = seen.was
                && let Some(lead) = self.layout.lead(was.at.start)
            {
                text.truncate(text.rfind('\n').map_or(0, |at| at + 1));
                text.push_str(&lead);
            }
        } else {
            let parent = &self.seen[previous];
            match parent.holds {
                Holds::Indent => text.push_str("\n\n"),
                Holds::Markers if self.grain != Grain::Root && self.opening(previous).is_some() => {
                    text = self.opening(previous).unwrap_or_default();
                }
                Holds::Markers => {
                    text = format!("\n\n{0}<!-- children -->\n\n", parent.prefix);
                }
                Holds::Quote => text = format!("\n{}\n", seen.prefix.trim_end()),
            }
            if parent.holds == Holds::Indent && self.joins(previous, at) {
                text.pop();
            }
            text.push_str(&seen.prefix);
        }
        self.push_fresh(&text);
    }

    /// The lines that stood between a block and its first child.
    fn opening(&self, parent: usize) -> Option<String> {
        let parent = &self.seen[parent];
        let range = parent.was.filter(|_| parent.lays)?.open.clone()?;
        Some(self.layout.text[range].replace("\r\n", "\n"))
    }

    fn close(&self, text: &mut String, parent: usize) {
        let parent = &self.seen[parent];
        let as_it_was = parent.was.filter(|_| parent.lays).and_then(|was| was.close.clone());
        if let (Some(range), true) = (as_it_was, self.grain != Grain::Root) {
            text.push_str(&self.layout.text[range].replace("\r\n", "\n"));
        } else if parent.holds == Holds::Markers {
            text.push_str("\n\n");
            text.push_str(&parent.prefix);
            text.push_str("<!-- /children -->");
        }
    }

    /// Whether an item's first child may follow without a blank line.
    fn joins(&self, parent: usize, child: usize) -> bool {
        let (parent, child) = (self.seen[parent].node, self.seen[child].node);
        let interrupts = match child.kind {
            Kind::Number(start) => start.is_none() && !child.inline.is_empty(),
            Kind::Check(_) => true,
            _ => child.kind.is_item() && !child.inline.is_empty(),
        };
        let follows_marker = parent.inline.is_empty() && !matches!(parent.kind, Kind::Check(_));
        child.kind.is_item() && (interrupts || follows_marker)
    }

    /// What stood between two blocks that still follow each other.
    fn kept_between(&self, previous: usize, at: usize) -> Option<String> {
        let (a, b) = (&self.seen[previous], &self.seen[at]);
        let (was_a, was_b) = (a.was?, b.was?);
        if was_a.order + 1 != was_b.order || self.blank_in_base(b)? != b.blank {
            return None;
        }
        if self.layout.hides_blank && b.blank > 0 && self.grain != Grain::Line {
            return None;
        }
        let text = self.layout.text.get(self.layout.line_end(was_a)..was_b.at.start)?;
        // Beside a block that is of another kind now, only a blank line surely still separates.
        let stays = a.old.is_some() && b.old.is_some();
        let tight = text.matches('\n').count() < 2;
        if tight && !a.kept && b.parent == Some(previous) && !self.joins(previous, at) && !interrupts(a, b) {
            return None;
        }
        // Two paragraphs may be one now.
        if tight && self.mode == Mode::Strict && !(a.kept && b.kept) && !b.node.kind.is_item() {
            return None;
        }
        let separates = self.grain == Grain::Line && text.matches('\n').count() > 1;
        (stays || separates).then(|| text.to_owned())
    }

    /// What stood between a block that has changed beneath and the sibling that still follows it.
    fn kept_after(&self, before: usize, at: usize) -> Option<String> {
        let (a, b) = (&self.seen[before], &self.seen[at]);
        if self.mode == Mode::Strict || !a.lays || b.old.is_none() || self.blank_in_base(b)? != b.blank {
            return None;
        }
        let text = self.layout.text.get(a.was?.end..b.was?.at.start)?;
        let plain = text.chars().all(|c| c.is_ascii_whitespace() || c == '>');
        (plain && text.contains('\n')).then(|| text.replace("\r\n", "\n"))
    }

    /// Empty paragraphs that blank lines say before a block in the base.
    fn blank_in_base(&self, seen: &Seen) -> Option<usize> {
        Some(self.layout.places.get(&self.base(seen.node)?)?.blank)
    }

    /// White space between siblings, taken from beside the place where a block came or went.
    fn borrowed(&self, at: usize, previous: usize) -> Option<String> {
        let seen = &self.seen[at];
        if seen.blank > 0 || seen.before != Some(previous) {
            return None;
        }
        let tight_fits = family(&seen.node.kind) == family(&self.seen[previous].node.kind)
            && seen.node.kind.is_item()
            && self.seen[previous].node.children.is_empty();
        let text = self.layout.text;
        let after = self.seen[previous].was.and_then(|old| {
            let next = self.layout.places.get(self.layout.order.get(old.order + 1)?)?;
            (next.parent == old.parent).then(|| text.get(self.layout.line_end(old)..next.at.start))?
        });
        let before = seen.was.and_then(|old| {
            let last = self.layout.places.get(self.layout.order.get(old.order.checked_sub(1)?)?)?;
            (last.parent == old.parent).then(|| text.get(self.layout.line_end(last)..old.at.start))?
        });
        [after, before].into_iter().flatten().find_map(|between| {
            let lines = between.find(['\n', '\r'])?;
            let between = &between[lines..];
            let newlines = between.matches('\n').count();
            let plain = between.chars().all(|c| c.is_ascii_whitespace()) && between.ends_with(&*seen.prefix);
            (plain && newlines <= 2 && (newlines == 2 || tight_fits)).then(|| between.replace("\r\n", "\n"))
        })
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
        let text = self.cells(seen, &write).unwrap_or_else(|| write(seen.node));
        self.push_fresh(&text);
    }

    /// The lines of a table of which some cells changed.
    fn cells(&self, seen: &Seen, write: &dyn Fn(&Node) -> String) -> Option<String> {
        let old = seen.old.filter(|_| self.grain == Grain::Line && self.mode == Mode::Minimal)?;
        let was = &self.layout.nodes[self.base(seen.node)?];
        if !matches!(was.kind, Kind::Table(_)) {
            return None;
        }
        let source = &self.layout.text[old.at.start..self.layout.line_end(old)];
        cells::spliced(source, &write(was), was, seen.node, &seen.prefix)
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

/// Whether a block may follow the text that it is beneath without a blank line, whatever that text is.
fn interrupts(above: &Seen, node: &Seen) -> bool {
    let kinds = matches!(
        node.node.kind,
        Kind::Quote | Kind::Heading(_) | Kind::Code(_) | Kind::Divider | Kind::Hidden(_)
    );
    kinds && !above.node.inline.is_empty()
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
