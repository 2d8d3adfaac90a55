//! Where in a text each stretch of a block's words stands: what a splice keeps of a block that changed.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{Event, Parser};

use super::super::plain::{Inline, What};
use super::block::{OPTIONS, folded};
use super::hiding::hidden;
use super::inline::{Builder, Events, Literal, Source, extent, underlines};
use super::mask::mask;

/// One way in which a block is read, with the place of each of its parts.
#[derive(Debug, Clone)]
pub(crate) struct Traced {
    /// What it says, without what is hidden in it.
    pub inline: Inline,
    /// Parts without parts, in the order of the text.
    pub steps: Vec<Step>,
    /// Emphasis, underlines and links, after what they are in; the first is the block itself.
    pub spans: Vec<Span>,
}

/// A part of a block's source.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// The bytes that it says.
    pub out: Range<usize>,
    /// Its bytes in the text.
    pub source: Range<usize>,
    /// Both are the same bytes.
    pub exact: bool,
    /// The innermost span that it is in.
    pub span: usize,
}

/// What holds parts.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    /// What it is in.
    pub parent: usize,
    /// The bytes that it says.
    pub out: Range<usize>,
    /// Its bytes in the text, with its signs.
    pub source: Range<usize>,
    /// The style of a text in it.
    pub style: u8,
    /// What a text in it is.
    pub what: What,
}

impl Traced {
    /// A text that says itself.
    pub(crate) fn verbatim(text: &str) -> Self {
        let whole = 0..text.len();
        let root = Span { parent: 0, out: whole.clone(), source: whole.clone(), style: 0, what: What::Text };
        let step = Step { out: whole.clone(), source: whole, exact: true, span: 0 };
        Self { inline: Inline::plain(text), steps: vec![step], spans: vec![root] }
    }
}

/// All ways in which the events of a block can be read.
pub(super) fn traced(
    source: Source<'_>,
    events: &Events,
    items: &BTreeSet<String>,
    exact: bool,
) -> Vec<Traced> {
    let underlines = underlines(events);
    let places = hidden(source.text, source.seen.unwrap_or(source.text), events, source.percents);
    let none: &[Range<usize>] = &[];
    let mut found = Vec::new();
    for literal in [Literal::None, Literal::Local, Literal::All] {
        for lines in [source.lines, false] {
            for hidden in [places.as_slice(), none] {
                let source = Source { lines, ..source };
                let mut builder = Builder::new(source, items, &underlines);
                (builder.literal, builder.hidden) = (literal, hidden);
                found.extend(trace(builder, events, exact));
                if places.is_empty() {
                    break;
                }
            }
            if !source.lines {
                break;
            }
        }
    }
    // What a formatter made of an address or a title.
    for (untitled, bare) in [(true, false), (false, true), (true, true)] {
        let mut builder = Builder::new(source, items, &underlines);
        (builder.untitled, builder.bare, builder.hidden) = (untitled, bare, &places);
        found.extend(trace(builder, events, exact));
    }
    found
}

/// `None` where underlines and other spans are not within each other.
fn trace(mut builder: Builder<'_>, events: &Events, exact: bool) -> Option<Traced> {
    let text = builder.source.text;
    let whole = events.first()?.1.start..events.iter().map(|(_, range)| range.end).max()?;
    let mut spans = vec![Span { parent: 0, out: 0..0, source: whole, style: 0, what: What::Text }];
    let mut steps: Vec<Step> = Vec::new();
    let mut open: Vec<(usize, bool)> = vec![(0, false)];
    let mut at = 0;
    while at < events.len() {
        let (event, range) = &events[at];
        let (from, pieces) = (builder.out.text.len(), builder.pieces.len());
        let next = builder.event(events, at);
        let to = builder.out.text.len();
        let (inside, _) = *open.last()?;
        let is_one = next == at + 1 && from == to && builder.pieces.len() == pieces;
        let is_underline = is_one && builder.underlines.contains(&at);
        let is_end = matches!(event, Event::End(_));
        let is_close = is_underline && matches!(event, Event::InlineHtml(html) if html.starts_with("</"));
        if is_one && (is_end || is_close) {
            let (span, was_underline) = open.pop().filter(|(span, _)| *span > 0)?;
            if was_underline != is_underline {
                return None;
            }
            spans[span].out.end = to;
            spans[span].source.end = spans[span].source.end.max(range.end);
        } else if is_one && (is_underline || matches!(event, Event::Start(_))) {
            open.push((spans.len(), is_underline));
            let (style, what) = (builder.style(), builder.link.clone());
            let source = extent(text, &events[at]);
            spans.push(Span { parent: inside, out: from..from, source, style, what });
        } else if matches!(event, Event::Text(text) if text.len() == range.len()) {
            words(builder.hidden, range, from..to, inside, &mut steps);
        } else if to > from || builder.pieces.len() > pieces {
            let end = events[at..next].iter().map(|event| extent(text, event).end).max()?;
            steps.push(Step { out: from..to, source: range.start..end, exact: false, span: inside });
        }
        at = next;
    }
    if open.len() != 1 {
        return None;
    }
    builder.settle(exact);
    spans[0].out.end = builder.out.text.len();
    Some(Traced { inline: builder.out, steps, spans })
}

/// Adds the parts of a text that stands in the source as it is, around what is hidden in it.
fn words(
    hidden: &[Range<usize>],
    range: &Range<usize>,
    out: Range<usize>,
    span: usize,
    steps: &mut Vec<Step>,
) {
    let mut from = range.start;
    let mut said = out.start;
    let first = hidden.partition_point(|place| place.end <= range.start);
    for place in hidden[first..].iter().take_while(|place| place.start < range.end) {
        let (start, end) = (place.start.max(from), place.end.min(range.end));
        if start > from {
            steps.push(Step { out: said..said + start - from, source: from..start, exact: true, span });
            said += start - from;
        }
        steps.push(Step { out: said..said, source: start..end, exact: false, span });
        from = end;
    }
    if range.end > from {
        let exact = out.end.checked_sub(said) == Some(range.end - from);
        steps.push(Step { out: said..out.end, source: from..range.end, exact, span });
    }
}

/// The reference definitions of a text: the label of each, and a line that says the same.
pub(crate) fn definitions(text: &str) -> Vec<(String, String)> {
    if !text.contains("]:") {
        return Vec::new();
    }
    let masked = mask(text);
    let parser = Parser::new_ext(&masked.text, OPTIONS);
    let found = parser.reference_definitions().iter().filter_map(|(label, definition)| {
        let own = text.get(definition.span.clone())?;
        let line = if own.contains(['\n', '\r']) {
            format!("[{label}]: <{}>", definition.dest)
        } else {
            own.to_owned()
        };
        Some((folded(label), line))
    });
    found.collect()
}

/// What stands between brackets in a text, as labels are compared.
pub(crate) fn labels(text: &str) -> BTreeSet<String> {
    let inside = text.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
    inside.map(|(label, _)| folded(label)).collect()
}
