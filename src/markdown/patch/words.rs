//! A change of a block's words into the lines that a person typed: what means the same keeps its bytes.
//!
//! The old lines are read with the place of each part, the words that changed are written anew in their place, and the result
//! is read again. Only what says just the new words counts.

use std::collections::BTreeSet;
use std::mem::discriminant;
use std::ops::Range;

use super::super::carry::origins;
use super::super::plain::{CODE, Inline, Kind, Node, What};
use super::super::read::{Step, Traced, columns, read_traced, strip};
use super::super::write::{Escapes, Place, write_inline};

/// A block whose lines are to say something else.
pub(super) struct Block<'a> {
    /// The text, and the block's own lines in it.
    pub text: &'a str,
    pub own: Range<usize>,
    /// What it says, and what it is to say.
    pub old: &'a Node,
    pub new: &'a Node,
    /// The marker of an item, as it was and as it is to be.
    pub marker: (&'a str, &'a str),
    /// What begins further lines of its text.
    pub inner: &'a str,
    /// It is a cell of a table.
    pub is_cell: bool,
    /// Labels of inline items.
    pub items: &'a BTreeSet<String>,
    /// Reference definitions of the text: the label of each, and its line.
    pub definitions: &'a [(String, String)],
}

impl Block<'_> {
    /// The new lines; `None` where the words cannot be changed in their place.
    pub(super) fn spliced(&self) -> Option<String> {
        // A cell is read as a heading: no block begins in it either.
        let lead = if self.is_cell { "# " } else { "" };
        let local = Local::of(self.text, self.own.clone(), lead);
        let definitions = self.definitions_for(&local.text);
        let read = |lines: &str| read_traced(&format!("{lines}\n\n{definitions}"), self.items);
        let (nodes, traces) = read(&local.text);
        let first = nodes.first().filter(|first| first.children.is_empty())?;
        let (old, new) = (visible(&self.old.inline), visible(&self.new.inline));
        let is_old = |traced: &Traced| as_sent(&traced.inline) == old;
        let trace = traces.into_iter().find(is_old).or_else(|| {
            let own = local.text.trim_end();
            Some(Traced::verbatim(own)).filter(|traced| is_old(traced) && !own.contains('\r'))
        })?;
        let opening = self.opening(local.text.get(lead.len()..trace.spans.first()?.source.start)?)?;
        let changes = Changes::of(&trace, &old, &new)?;
        let says = |lines: &str| {
            let (now, traces) = read(lines);
            let Some(other) = now.first().filter(|_| now.len() == nodes.len()) else { return false };
            let is_number = matches!((&self.new.kind, &other.kind), (Kind::Number(_), Kind::Number(_)));
            // The text of a construct that has no block is read as that construct.
            let is_construct =
                !first.kind.has_text() && discriminant(&first.kind) == discriminant(&other.kind);
            let stays = self.old.kind == self.new.kind && (other.kind == first.kind || is_construct);
            let words = traces.iter().any(|traced| as_sent(&traced.inline) == new)
                || lines.trim_end() == new.text && new.marks.len() < 2;
            (is_number || stays || other.kind == self.new.kind)
                && other.children.is_empty()
                && pieces(first) == pieces(other)
                && words
        };
        let ways =
            [Way::Typed, Way::With(Escapes::Bare), Way::With(Escapes::Minimal), Way::With(Escapes::Strict)];
        let sides = if changes.hide() { &[Side::Here, Side::End][..] } else { &[Side::Here] };
        for (way, side) in sides.iter().flat_map(|side| ways.map(|way| (way, *side))) {
            let write = |prefix: &str| {
                let hidden = changes.hidden(&local.text, prefix);
                changes.written(way, self.place(), prefix, side, &hidden, trace.spans.first()?.source.end)
            };
            let tried = local.with(&[lead, &opening].concat(), &trace, &write("")?, false);
            if says(&tried) {
                return Some(local.with(&opening, &trace, &write(self.inner)?, true));
            }
        }
        None
    }

    fn place(&self) -> Place {
        match self.new.kind {
            _ if self.is_cell => Place::Cell,
            Kind::Heading(_) => Place::Heading,
            Kind::Quote => Place::Quote,
            Kind::Bullet | Kind::Number(_) | Kind::Toggle => Place::Item,
            _ => Place::Paragraph,
        }
    }

    /// What stands before the words.
    fn opening(&self, was: &str) -> Option<String> {
        let marker = match was.strip_prefix(self.marker.0.trim_end()) {
            Some(rest) if self.marker.0 != self.marker.1 => format!("{}{}", self.marker.1.trim_end(), rest),
            _ => was.to_owned(),
        };
        match (&self.old.kind, &self.new.kind) {
            (Kind::Check(false), Kind::Check(true)) => Some(marker.replacen("[ ]", "[x]", 1)),
            (Kind::Check(true), Kind::Check(false)) => {
                Some(marker.replacen("[x]", "[ ]", 1).replacen("[X]", "[ ]", 1))
            }
            (Kind::Heading(from), Kind::Heading(to)) if from != to => {
                let signs = "#".repeat(usize::from(*from));
                was.contains(&signs).then(|| marker.replacen(&signs, &"#".repeat(usize::from(*to)), 1))
            }
            (old, new) => (discriminant(old) == discriminant(new)).then_some(marker),
        }
    }

    /// The definitions that a text may use.
    fn definitions_for(&self, text: &str) -> String {
        if self.definitions.is_empty() || !text.contains('[') {
            return String::new();
        }
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let used = self.definitions.iter().filter(|(label, _)| text.contains(&format!("[{label}]")));
        used.map(|(_, line)| format!("{line}\n")).collect()
    }
}

/// What is hidden in a block, as it is written.
fn pieces(node: &Node) -> Vec<&str> {
    let beside = node.beside.iter().flat_map(|beside| &beside.hidden);
    beside.map(|(_, source)| source.trim()).collect()
}

/// What the service can hold of a text: code has no other style there, and a link has no code.
fn as_sent(inline: &Inline) -> Inline {
    let mut out = Inline::default();
    for (text, mark) in inline.stretches() {
        let style = match (mark.style & CODE, &mark.what) {
            (0, _) => mark.style,
            (_, What::Link(_)) => mark.style & !CODE,
            _ => CODE,
        };
        out.push(text, style, &mark.what);
    }
    out
}

fn visible(inline: &Inline) -> Inline {
    let mut out = Inline::default();
    for (text, mark) in inline.stretches() {
        if !matches!(mark.what, What::Hidden(_)) {
            out.push(text, mark.style, &mark.what);
        }
    }
    out
}

/// A block's lines without the indentation and the quotes that it stands in, behind what its text begins with here.
struct Local<'a> {
    whole: &'a str,
    text: String,
    /// Where each line begins here, and in the whole text.
    lines: Vec<(usize, usize)>,
}

impl<'a> Local<'a> {
    fn of(whole: &'a str, own: Range<usize>, first: &str) -> Self {
        let before = &whole[..own.start];
        let lead = &before[before.rfind(['\n', '\r']).map_or(0, |at| at + 1)..];
        let (width, quoted) = (columns(lead), lead.matches('>').count());
        let mut local = Self { whole, text: first.to_owned(), lines: Vec::new() };
        let mut at = own.start;
        for (number, line) in whole[own].split_inclusive('\n').enumerate() {
            let inner = if number == 0 { line } else { strip(line, width, quoted) };
            local.lines.push((local.text.len(), at + line.len() - inner.len()));
            local.text.push_str(inner);
            at += line.len();
        }
        local
    }

    /// The place in the whole text of a place here.
    fn there(&self, at: usize) -> usize {
        let line = self.lines.partition_point(|(start, _)| *start <= at).saturating_sub(1);
        self.lines.get(line).map_or(at, |(start, there)| there + at - start)
    }

    /// The lines with the changes, here or in the whole text.
    fn with(&self, opening: &str, trace: &Traced, changes: &[(Range<usize>, String)], whole: bool) -> String {
        let at = |place: usize| if whole { self.there(place) } else { place };
        let text = if whole { self.whole } else { &self.text };
        let start = trace.spans.first().map_or(0, |span| span.source.start);
        let mut out = opening.to_owned();
        let mut from = at(start);
        for (place, new) in changes {
            out.push_str(text.get(from..at(place.start)).unwrap_or_default());
            out.push_str(new);
            from = at(place.end);
        }
        let end = if whole { self.there(self.text.len()) } else { self.text.len() };
        out.push_str(text.get(from..end).unwrap_or_default());
        out
    }
}

/// How changed words are written.
#[derive(Clone, Copy)]
enum Way {
    /// As they are.
    Typed,
    With(Escapes),
}

/// Where what is hidden in words that go stays.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    /// Between the words around them.
    Here,
    /// At the block's end: some signs hide nothing right beside a word.
    End,
}

/// One stretch of words that changed.
struct Change {
    /// Its place in the source.
    source: Range<usize>,
    /// The new words, without what the place says by itself.
    words: Inline,
    /// What is hidden in the source.
    hidden: Vec<Range<usize>>,
    /// Nothing of the block stands before it, or behind it.
    first: bool,
    last: bool,
}

struct Changes(Vec<Change>);

impl Changes {
    fn of(trace: &Traced, old: &Inline, new: &Inline) -> Option<Self> {
        let mut kept = kept(old, new);
        loop {
            let mut found = Vec::new();
            let mut wider = None;
            for (was, now) in stretches(&kept, old.text.len(), new.text.len()) {
                match change(trace, &was, slice(new, now.clone())) {
                    Found::At(source, words) => {
                        let (first, last) = (now.start == 0, now.end == new.text.len());
                        let hides = |step: &&Step| {
                            step.out.is_empty()
                                && step.source.start < source.end
                                && source.start < step.source.end
                        };
                        let hidden: Vec<Range<usize>> =
                            trace.steps.iter().filter(hides).map(|step| step.source.clone()).collect();
                        let is_whole =
                            |place: &Range<usize>| source.start <= place.start && place.end <= source.end;
                        if !hidden.iter().all(is_whole) {
                            return None;
                        }
                        found.push(Change { source, words, hidden, first, last });
                    }
                    Found::Wider(range) => {
                        wider = Some(range);
                        break;
                    }
                    Found::Nowhere => return None,
                }
            }
            let Some(range) = wider else {
                let is_ordered = found.windows(2).all(|pair| pair[0].source.end <= pair[1].source.start);
                return is_ordered.then_some(Self(found));
            };
            // Fewer bytes are kept each time.
            let before = kept.len();
            kept.retain(|one| !range.contains(&one.old));
            if kept.len() == before {
                return None;
            }
        }
    }

    /// Whether words go that something is hidden in.
    fn hide(&self) -> bool {
        self.0.iter().any(|change| !change.hidden.is_empty())
    }

    /// What is hidden in the source of each change.
    fn hidden(&self, text: &str, prefix: &str) -> Vec<String> {
        let source = |place: &Range<usize>| {
            let source = text.get(place.clone()).unwrap_or_default().trim();
            source.replace("\r\n", "\n").replace('\n', &format!("\n{prefix}"))
        };
        self.0.iter().map(|change| change.hidden.iter().map(source).collect()).collect()
    }

    /// The new text of each place; `end` is where the block's text ends.
    fn written(
        &self,
        way: Way,
        place: Place,
        prefix: &str,
        side: Side,
        hidden: &[String],
        end: usize,
    ) -> Option<Vec<(Range<usize>, String)>> {
        let one = |(change, hidden): (&Change, &String)| {
            let stays = if side == Side::Here { hidden.as_str() } else { "" };
            Some((change.source.clone(), fragment(change, way, place, prefix)? + stays))
        };
        let mut all: Vec<(Range<usize>, String)> =
            self.0.iter().zip(hidden).map(one).collect::<Option<_>>()?;
        if side == Side::End {
            let apart = hidden.iter().filter(|hidden| !hidden.is_empty());
            all.push((end..end, apart.map(|hidden| format!(" {hidden}")).collect()));
        }
        Some(all)
    }
}

/// A character that stays.
struct Kept {
    old: usize,
    new: usize,
    len: usize,
}

/// The characters of the old text that stay, each with its place in the new one.
fn kept(old: &Inline, new: &Inline) -> Vec<Kept> {
    let chars = |inline: &Inline| -> Vec<char> { inline.text.chars().collect() };
    let places = |inline: &Inline| -> Vec<usize> { inline.text.char_indices().map(|(at, _)| at).collect() };
    let marks = |inline: &Inline| -> Vec<usize> {
        let stretches = inline.stretches().enumerate();
        stretches.flat_map(|(at, (text, _))| text.chars().map(move |_| at)).collect()
    };
    let (from, to) = (places(old), places(new));
    let (old_marks, new_marks) = (marks(old), marks(new));
    let same = |o: usize, n: usize| {
        let (a, b) = (&old.marks[old_marks[o]], &new.marks[new_marks[n]]);
        a.style == b.style && a.what == b.what
    };
    let origin = origins(&chars(old), &chars(new));
    let pairs = origin.iter().enumerate().filter_map(|(n, o)| o.map(|o| (o, n)));
    let len = |o: usize| from.get(o + 1).copied().unwrap_or(old.text.len()) - from[o];
    pairs.filter(|(o, n)| same(*o, *n)).map(|(o, n)| Kept { old: from[o], new: to[n], len: len(o) }).collect()
}

/// The stretches of the old and of the new text between what stays.
fn stretches(kept: &[Kept], old: usize, new: usize) -> Vec<(Range<usize>, Range<usize>)> {
    let mut found = Vec::new();
    let (mut o, mut n) = (0, 0);
    for one in kept {
        if one.old > o || one.new > n {
            found.push((o..one.old, n..one.new));
        }
        (o, n) = (one.old + one.len, one.new + one.len);
    }
    if o < old || n < new {
        found.push((o..old, n..new));
    }
    found
}

enum Found {
    /// The place in the source, and the words for it.
    At(Range<usize>, Inline),
    /// Only together with these bytes.
    Wider(Range<usize>),
    Nowhere,
}

/// Where a stretch of the old text is changed in the source.
fn change(trace: &Traced, was: &Range<usize>, words: Inline) -> Found {
    for step in &trace.steps {
        for edge in [was.start, was.end] {
            if !step.exact && step.out.start < edge && edge < step.out.end {
                return Found::Wider(step.out.clone());
            }
        }
    }
    if was.is_empty() { inserted(trace, was.start, words) } else { replaced(trace, was, words) }
}

/// The place of a byte in the source of a step.
fn place(trace: &Traced, step: usize, at: usize) -> usize {
    let step = &trace.steps[step];
    if at >= step.out.end { step.source.end } else { step.source.start + at - step.out.start }
}

fn inserted(trace: &Traced, at: usize, words: Inline) -> Found {
    let left = trace.steps.iter().rposition(|step| step.out.start < at && at <= step.out.end);
    let right = trace.steps.iter().position(|step| step.out.start <= at && at < step.out.end);
    let mut places = Vec::new();
    let mut climb = |step: Option<usize>, is_left: bool| {
        let Some(step) = step else { return };
        let own = place(trace, step, at);
        let (mut span, mut here) = (trace.steps[step].span, own);
        loop {
            places.push((span, here));
            if span == 0 {
                return;
            }
            let open = &trace.spans[span];
            // Further out only at the span's edge.
            let is_edge = if is_left { at == open.out.end } else { at == open.out.start };
            if !is_edge {
                return;
            }
            here = if is_left { open.source.end } else { open.source.start };
            span = open.parent;
        }
    };
    // Behind a line end stands the indentation of the next line.
    let is_joint = left.is_some_and(|left| !trace.steps[left].exact);
    for is_left in if is_joint { [false, true] } else { [true, false] } {
        climb(if is_left { left } else { right }, is_left);
    }
    let is_bare = |words: &Inline| words.marks.iter().all(|mark| mark.style == 0 && mark.what == What::Text);
    let fitting: Vec<(usize, Inline)> =
        places.iter().filter_map(|(span, here)| Some((*here, without_span(&words, trace, *span)?))).collect();
    let best = fitting.iter().position(|(_, words)| is_bare(words)).unwrap_or(0);
    match fitting.into_iter().nth(best) {
        Some((here, words)) => Found::At(here..here, words),
        None => match places.first().filter(|(span, _)| *span > 0) {
            Some((span, _)) => Found::Wider(trace.spans[*span].out.clone()),
            None => Found::Nowhere,
        },
    }
}

fn replaced(trace: &Traced, was: &Range<usize>, words: Inline) -> Found {
    let first = trace.steps.iter().position(|step| step.out.start <= was.start && was.start < step.out.end);
    let last = trace.steps.iter().rposition(|step| step.out.start < was.end && was.end <= step.out.end);
    let (Some(first), Some(last)) = (first, last) else { return Found::Nowhere };
    let path = |step: usize| {
        let mut spans = vec![trace.steps[step].span];
        while let Some(span) = spans.last().copied().filter(|span| *span > 0) {
            spans.push(trace.spans[span].parent);
        }
        spans
    };
    let (start, end) = (path(first), path(last));
    let mut shared = start.iter().copied().find(|span| end.contains(span)).unwrap_or(0);
    let covers = |span: usize| {
        let out = &trace.spans[span].out;
        was.start <= out.start && out.end <= was.end
    };
    while shared > 0 && (without_span(&words, trace, shared).is_none() || words.is_empty() && covers(shared))
    {
        if !covers(shared) {
            return Found::Wider(trace.spans[shared].out.clone());
        }
        shared = trace.spans[shared].parent;
    }
    let Some(words) = without_span(&words, trace, shared) else { return Found::Nowhere };
    // The outermost spans within the shared one that hold an edge are changed as a whole.
    let edge = |path: &[usize]| {
        let at = path.iter().position(|span| *span == shared).unwrap_or(0);
        at.checked_sub(1).and_then(|at| path.get(at).copied())
    };
    let (mut from, mut to) = (place(trace, first, was.start), place(trace, last, was.end));
    for (span, is_start) in [(edge(&start), true), (edge(&end), false)] {
        let Some(span) = span else { continue };
        if !covers(span) {
            return Found::Wider(trace.spans[span].out.clone());
        }
        if is_start {
            from = trace.spans[span].source.start;
        } else {
            to = trace.spans[span].source.end;
        }
    }
    if from > to { Found::Nowhere } else { Found::At(from..to, words) }
}

/// Words without what a span says by itself; `None` where they say less than it.
fn without_span(words: &Inline, trace: &Traced, span: usize) -> Option<Inline> {
    let span = &trace.spans[span];
    let mut out = Inline::default();
    for (text, mark) in words.stretches() {
        if mark.style & span.style != span.style {
            return None;
        }
        let what = match (&span.what, &mark.what) {
            (What::Text, what) => what.clone(),
            (own, what) if own == what => What::Text,
            _ => return None,
        };
        out.push(text, mark.style & !span.style, &what);
    }
    Some(out)
}

/// Part of a text.
fn slice(inline: &Inline, range: Range<usize>) -> Inline {
    let mut out = Inline::default();
    let mut at = 0;
    for (text, mark) in inline.stretches() {
        let (from, to) = (range.start.max(at), range.end.min(at + text.len()));
        if from < to {
            out.push(&text[from - at..to - at], mark.style, &mark.what);
        }
        at += text.len();
    }
    out
}

/// The words of a change as they are written.
fn fragment(change: &Change, way: Way, place: Place, prefix: &str) -> Option<String> {
    let words = &change.words;
    let is_plain = words.marks.iter().all(|mark| mark.style == 0 && mark.what == What::Text);
    let ends_cell = place == Place::Cell && words.text.contains(['|', '\n']);
    match way {
        Way::Typed if is_plain && !ends_cell => {
            return Some(words.text.replace('\n', &format!("\n{prefix}")));
        }
        Way::Typed => return Some(String::new()),
        Way::With(_) => {}
    }
    let Way::With(escapes) = way else { return None };
    let is_text = |mark: Option<&super::super::plain::Mark>| {
        mark.is_some_and(|mark| mark.style == 0 && mark.what == What::Text)
    };
    let blank = |text: &str| text.len() - text.trim_start_matches(' ').len();
    let lead = if !change.first && is_text(words.marks.first()) { blank(&words.text) } else { 0 };
    let rest = &words.text[lead..];
    let trail = if !change.last && is_text(words.marks.last()) {
        rest.len() - rest.trim_end_matches(' ').len()
    } else {
        0
    };
    let middle = slice(words, lead..words.text.len() - trail);
    let mut out = " ".repeat(lead);
    if !middle.is_empty() {
        let place = match place {
            _ if change.first => place,
            Place::Heading | Place::Cell => place,
            _ if middle.text.contains('\n') => Place::Paragraph,
            _ => Place::Heading,
        };
        write_inline(&mut out, &middle, place, prefix, escapes);
    }
    out.extend(std::iter::repeat_n(' ', trail));
    Some(out)
}
