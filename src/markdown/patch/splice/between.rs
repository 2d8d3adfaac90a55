//! What stands between two blocks of a spliced text: as it was where both stay, else as beside them.

use super::super::super::plain::{Kind, Node};
use super::super::super::write::{Mode, empty_line, joins_quote, separator};
use super::super::layout::{Holds, Place};
use super::{Around, Grain, Seen, Splice, family};

impl Splice<'_> {
    /// Writes what stands between a block and the one before it.
    pub(super) fn between(&mut self, at: usize) {
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
            let hides = self.layout.hides_blank && self.grain <= Grain::Apart;
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
            let is_bare_quote = parent.holds == Holds::Quote && parent.node.inline.is_empty() && !parent.kept;
            if is_bare_quote || self.shares_line(parent, seen.node) {
                return self.out.push_str(if self.out.ends_with(' ') { "" } else { " " });
            }
            match parent.holds {
                Holds::Indent => {
                    if !self.joins(previous, at) {
                        empty_line(&mut text, &parent.prefix);
                    }
                    text.push('\n');
                }
                Holds::Markers if self.grain < Grain::Root && self.opening(previous).is_some() => {
                    text = self.opening(previous).unwrap_or_default();
                }
                Holds::Markers => {
                    empty_line(&mut text, &parent.prefix);
                    text.push_str(&format!("\n{}<!-- children -->", parent.prefix));
                    empty_line(&mut text, &parent.prefix);
                    text.push('\n');
                }
                Holds::Quote if joins_quote(parent.node, seen.node) => text.push('\n'),
                Holds::Quote => text = format!("\n{}\n", seen.prefix.trim_end()),
            }
            text.push_str(&seen.prefix);
        }
        self.push_fresh(&text);
    }

    /// What begins the lines of a block. An item is indented as its list is, which may be by tabs where the text above the list is
    /// indented by spaces.
    pub(super) fn prefix(&self, node: &Node, was: Option<&Place>, around: &Around<'_>) -> String {
        let parent = around.parent.map(|parent| &self.seen[parent]);
        let lead = || {
            if !node.kind.is_item() || self.grain == Grain::Anew || !parent.is_none_or(|parent| parent.lays) {
                return None;
            }
            if let Some(was) = was {
                return self.layout.lead(was.at.start);
            }
            let is_item = |node: &Node| node.kind.is_item();
            if let Some(before) = around.before.map(|at| &self.seen[at]).filter(|seen| is_item(seen.node)) {
                return Some(before.prefix.clone());
            }
            let after = self.layout.places.get(&self.base(around.after.filter(|node| is_item(node))?)?)?;
            let is_sibling = after.parent == parent.and_then(|parent| self.base(parent.node));
            is_sibling.then(|| self.layout.lead(after.at.start)).flatten()
        };
        lead().unwrap_or_else(|| parent.map_or_else(String::new, |parent| parent.inner.clone()))
    }

    /// The lines that stood between a block and its first child.
    fn opening(&self, parent: usize) -> Option<String> {
        let parent = &self.seen[parent];
        let range = parent.was.filter(|_| parent.lays)?.open.clone()?;
        Some(self.layout.text[range].replace("\r\n", "\n"))
    }

    pub(super) fn close(&self, text: &mut String, parent: usize) {
        let parent = &self.seen[parent];
        let as_it_was = parent.was.filter(|_| parent.lays).and_then(|was| was.close.clone());
        if let (Some(range), true) = (as_it_was, self.grain < Grain::Root) {
            text.push_str(&self.layout.text[range].replace("\r\n", "\n"));
        } else if parent.holds == Holds::Markers {
            empty_line(text, &parent.prefix);
            text.push_str(&format!("\n{}<!-- /children -->", parent.prefix));
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
        if self.layout.hides_blank && b.blank > 0 && self.grain > Grain::Apart {
            return None;
        }
        let text = self.layout.text.get(self.layout.line_end(was_a)..was_b.at.start)?;
        // A definition that a formatter left out stands nowhere.
        if was_b.at.is_empty() && b.kept {
            return Some(text.to_owned());
        }
        // Beside a block that is of another kind now, only a blank line surely still separates.
        let stays = a.old.is_some() && b.old.is_some();
        let tight = text.matches('\n').count() < 2;
        if self.is_too_wide(text, b) {
            return None;
        }
        // A block that had no text of its own may share its line with the first one beneath it.
        if !a.node.inline.is_empty() && !text.contains('\n') {
            return None;
        }
        // What changed may be one with its neighbour now.
        let is_apart = match b.node.kind.is_item() {
            true => a.kept || b.parent != Some(previous) || self.joins(previous, at),
            false => a.kept && b.kept,
        };
        if tight && self.grain > Grain::Line && !is_apart {
            return None;
        }
        let separates = self.grain <= Grain::Apart && text.matches('\n').count() > 1;
        (stays || separates).then(|| text.to_owned())
    }

    /// Whether white space above a block that is another now says empty paragraphs: above what was hidden it said none.
    fn is_too_wide(&self, text: &str, seen: &Seen<'_>) -> bool {
        text.matches('\n').count() > 2 + seen.blank && self.grain > Grain::Line && !seen.kept
    }

    /// What stood between a block that has changed beneath and the sibling that still follows it.
    fn kept_after(&self, before: usize, at: usize) -> Option<String> {
        let (a, b) = (&self.seen[before], &self.seen[at]);
        if self.mode == Mode::Strict || !a.lays || b.old.is_none() || self.blank_in_base(b)? != b.blank {
            return None;
        }
        let text = self.layout.text.get(a.was?.end..b.was?.at.start)?;
        let plain = text.chars().all(|c| c.is_ascii_whitespace() || c == '>') && !self.is_too_wide(text, b);
        let lines = if self.grain > Grain::Line && !(a.kept && b.kept) { 2 } else { 1 };
        (plain && text.matches('\n').count() >= lines).then(|| text.replace("\r\n", "\n"))
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
}
