//! Styled text to Markdown, exact under CommonMark's flanking rules.
//!
//! Delimiters nest, longest stretch outermost. Where a delimiter would not be seen as one, because of what stands
//! on its outer side, an empty comment is put between; white space on its inner side becomes an entity. A character
//! counts as punctuation unless it surely is a letter or digit, so readers with older tables agree.

use super::super::plain::{BOLD, CODE, ITALIC, Inline, Link, STRIKE, UNDERLINE, What};
use super::super::read::{keeps_lines, sign};
use super::escape::{Scan, Site, escape, is_plain};
use super::solid::{code_span, destination, item_text, title};

/// What kind of line the text goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A paragraph.
    Paragraph,
    /// A quote.
    Quote,
    /// The text of a list item.
    Item,
    /// A heading: one line, no block can begin in it.
    Heading,
    /// A cell of a table.
    Cell,
    /// The name of an image, inside its brackets.
    Label,
}

impl Place {
    /// Whether block starts are looked for at the start of its lines.
    pub(super) fn is_block(self) -> bool {
        matches!(self, Self::Paragraph | Self::Quote | Self::Item)
    }

    fn one_line(self) -> bool {
        !self.is_block()
    }
}

/// How much of a text is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// Nothing: the text is read again, and only counts when it says the same.
    Bare,
    /// What could mean something beside the block's own text.
    Minimal,
    /// Everything that could mean something anywhere.
    Strict,
}

/// A style or link that is opened and closed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wrap<'a> {
    Link(&'a Link),
    Style(u8),
}

/// A piece that needs the same wraps from end to end.
#[derive(Debug, Clone, Copy)]
struct Piece<'a> {
    text: &'a str,
    style: u8,
    code: bool,
    link: Option<&'a Link>,
    item: Option<&'a str>,
    hidden: Option<&'a str>,
    /// For a line break: which neighbour's style it has, when it is not what both share.
    belongs: Belongs,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Belongs {
    Both,
    Before,
    After,
}

/// Writes `inline`; `prefix` begins each further line. `true` when it took more than calm text does.
pub(crate) fn write_inline(
    out: &mut String,
    inline: &Inline,
    place: Place,
    prefix: &str,
    escapes: Escapes,
) -> bool {
    if place != Place::Label && escapes != Escapes::Strict && calm(out, inline, place) {
        return false;
    }
    let pieces = pieces(inline);
    let scan = Scan::of(inline, escapes);
    let start = out.len();
    let told = pieces.iter().all(|piece| piece.text != "\n" || piece.belongs == Belongs::Both);
    let lines = told && place.is_block() && keeps_its_lines(inline, place);
    let mut writer =
        Writer { out, pieces: &pieces, scan, place, prefix, lines, italic: "*", open: Vec::new() };
    if !writer.run() {
        // A star would be taken for the end of another one: tell them apart.
        writer.out.truncate(start);
        writer.scan.underscores = true;
        writer.italic = "_";
        writer.open.clear();
        writer.run();
    }
    true
}

/// Whether a text has a line that means more to other programs than to Markdown, and lines that can be written as such.
fn keeps_its_lines(inline: &Inline, place: Place) -> bool {
    if !inline.text.contains('\n') || !inline.text.contains(['!', ':', '?']) {
        return false;
    }
    let text = &inline.text;
    // How far the text is plain from a place on: a sign is written as such within that alone.
    let plain = |at: usize| {
        let mut end = 0;
        for mark in &inline.marks {
            end += mark.len;
            if end > at && !(mark.style == 0 && matches!(mark.what, What::Text)) {
                return at.max(end - mark.len);
            }
        }
        end
    };
    let mut from = 0;
    let mut kept = false;
    for (at, line) in text.split('\n').enumerate() {
        let inner = line.trim_start_matches(' ');
        // An empty line would end the block, and white space at a line's end means nothing there.
        if inner.is_empty() || inner.starts_with(char::is_whitespace) || line.ends_with(char::is_whitespace) {
            return false;
        }
        let start = from + line.len() - inner.len();
        let written = &text[start..plain(start).min(from + line.len())];
        kept |= keeps_lines(written, at == 0, place == Place::Quote);
        if at == 0 && inner.len() < line.len() {
            return false;
        }
        from += line.len() + 1;
    }
    kept && !text.contains('\r')
}

/// Writes text that needs no thought: no character that Markdown knows, and styles that stand alone between white
/// space or punctuation, with a letter or digit at both of their inner edges.
fn calm(out: &mut String, inline: &Inline, place: Place) -> bool {
    if !is_plain(&inline.text) || place == Place::Heading && inline.text.ends_with('#') {
        return false;
    }
    if let [mark] = inline.marks.as_slice()
        && mark.style == 0
        && mark.what == What::Text
    {
        out.push_str(&inline.text);
        return true;
    }
    let start = out.len();
    let mut styled_before = false;
    let mut rest = inline.text.as_str();
    for mark in &inline.marks {
        let (text, after) = rest.split_at(mark.len);
        rest = after;
        if mark.what != What::Text {
            break;
        }
        let delimiter = match mark.style {
            0 => "",
            BOLD => "**",
            ITALIC => "*",
            STRIKE => "~~",
            CODE => "`",
            _ => break,
        };
        if !delimiter.is_empty() {
            let edges = text.starts_with(is_word) && text.ends_with(is_word);
            let alone = !styled_before
                && (out.len() == start || out.ends_with(is_outside))
                && (after.is_empty() || after.starts_with(is_outside));
            if !edges || !alone {
                break;
            }
        }
        out.push_str(delimiter);
        out.push_str(text);
        out.push_str(delimiter);
        styled_before = !delimiter.is_empty();
        if after.is_empty() {
            return true;
        }
    }
    out.truncate(start);
    false
}

fn pieces(inline: &Inline) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece> = Vec::with_capacity(inline.marks.len());
    for (text, mark) in inline.stretches() {
        let (link, item, hidden) = match &mark.what {
            What::Text => (None, None, None),
            What::Link(link) => (Some(&**link), None, None),
            What::Item(label) => (None, Some(&**label), None),
            What::Hidden(source) => (None, None, Some(&**source)),
        };
        let base = Piece {
            text: "",
            style: mark.style & !CODE,
            code: mark.style & CODE != 0,
            link,
            item,
            hidden,
            belongs: Belongs::Both,
        };
        for part in text.split_inclusive('\n') {
            let (words, line) = part.strip_suffix('\n').map_or((part, false), |words| (words, true));
            if !words.is_empty() {
                pieces.push(Piece { text: words, ..base });
            }
            if line {
                pieces.push(Piece { text: "\n", ..base });
            }
        }
    }
    for at in 0..pieces.len() {
        if pieces[at].text != "\n" {
            continue;
        }
        let before = pieces[..at].iter().rev().find(|piece| piece.text != "\n").copied();
        let after = pieces[at + 1..].iter().find(|piece| piece.text != "\n").copied();
        let key = |piece: &Piece| (piece.style, piece.code);
        if let (Some(a), Some(b)) = (before, after) {
            let own = key(&pieces[at]);
            let shared = (a.style & b.style, a.code && b.code);
            if own != shared {
                pieces[at].belongs = if own == key(&a) { Belongs::Before } else { Belongs::After };
            }
            pieces[at].style = shared.0;
        }
        pieces[at].code = false;
    }
    pieces
}

struct Writer<'a, 'o> {
    out: &'o mut String,
    pieces: &'a [Piece<'a>],
    scan: Scan,
    place: Place,
    prefix: &'a str,
    /// Its lines mean something to other programs: they are written as lines.
    lines: bool,
    italic: &'static str,
    /// Lengths of the runs of stars that open ones come from.
    open: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Open(Wrap<'a>),
    Close(Wrap<'a>),
}

impl<'a> Writer<'a, '_> {
    /// Writes everything; `false` when a run of stars that opens could be read as closing.
    fn run(&mut self) -> bool {
        let steps = self.steps();
        let mut line_start = true;
        let mut first_line = true;
        let mut text = String::new();
        let mut clear = true;
        if self.place.is_block() && !self.scan.bare && self.is_definition() {
            self.out.push_str("<u></u>");
        }
        for (at, piece) in self.pieces.iter().enumerate() {
            text.clear();
            let is_break = piece.text == "\n";
            let ends_line = at + 1 == self.pieces.len() || self.pieces[at + 1].text == "\n";
            if is_break {
                self.line_break(&mut text, at, has_mark(&steps[at], true));
            } else if let Some(source) = piece.hidden {
                lines_of(&mut text, source, self.prefix);
            } else if let Some(label) = piece.item {
                text.push('[');
                text.push_str(item_text(label));
                text.push_str("](");
                text.push_str(label);
                text.push(')');
            } else if piece.code {
                code_span(&mut text, piece.text, self.place);
            } else {
                let site = Site {
                    line_start,
                    first_line,
                    line_end: ends_line,
                    block_end: at + 1 == self.pieces.len(),
                    mark_before: has_mark(&steps[at], true),
                    mark_after: has_mark(&steps[at + 1], false),
                    in_link: piece.link.is_some() || self.place == Place::Label,
                    link_after: self.pieces.get(at + 1).is_some_and(|next| {
                        next.item.is_some() || next.link.is_some() && next.link != piece.link
                    }),
                };
                // A delimiter before it stands at the line's start instead.
                let site =
                    Site { line_start: line_start && (steps[at].is_empty() || text_edge(piece)), ..site };
                let place =
                    if steps[at].is_empty() { self.place } else { Place::Heading.or_cell(self.place) };
                let mut words = piece.text;
                let mut site = site;
                if self.lines && line_start && steps[at].is_empty() {
                    // White space and the sign are part of what the line means.
                    let inner = if first_line { words } else { words.trim_start_matches(' ') };
                    let mut raw = words.len() - inner.len();
                    if keeps_lines(inner, first_line, place == Place::Quote) {
                        raw += sign(inner);
                    }
                    text.push_str(&words[..raw]);
                    words = &words[raw..];
                    site.line_start &= raw == 0 || inner.len() == words.len();
                }
                escape(&mut text, words, &self.scan, site, place);
            }
            clear &= self.flush(&steps[at], text.chars().next(), line_start);
            self.out.push_str(&text);
            // A break at the edge of a block is an entity and begins no line.
            let breaks = is_break && text.contains('\n');
            first_line &= !breaks;
            // A tag that says where the break belongs stands at the line's start instead.
            line_start = breaks && !text.ends_with("<br>");
        }
        self.flush(&steps[self.pieces.len()], None, false) && clear
    }

    /// Whether the text would begin as a link definition, through code in a link that nothing can escape.
    fn is_definition(&self) -> bool {
        self.pieces.first().is_some_and(|piece| piece.link.is_some())
            && self.pieces.iter().any(|piece| piece.code && piece.text.contains("]:"))
    }

    /// What is opened and closed before each piece, and after the last.
    fn steps(&self) -> Vec<Vec<Step<'a>>> {
        let mut steps = Vec::with_capacity(self.pieces.len() + 1);
        let mut open: Vec<Wrap<'a>> = Vec::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            let mut here = Vec::new();
            if let Some(keep) = open.iter().position(|wrap| !needs(piece, *wrap)) {
                here.extend(open.drain(keep..).rev().map(Step::Close));
            }
            let mut wanted: Vec<(usize, Wrap<'a>)> = Vec::new();
            if let Some(link) = piece.link {
                wanted.push((0, Wrap::Link(link)));
            }
            for bit in [UNDERLINE, STRIKE, BOLD, ITALIC] {
                if piece.style & bit != 0 {
                    wanted.push((0, Wrap::Style(bit)));
                }
            }
            wanted.retain(|(_, wrap)| !open.contains(wrap));
            for (reach, wrap) in &mut wanted {
                *reach = self.pieces[at..].iter().take_while(|next| needs(next, *wrap)).count();
            }
            wanted.sort_by_key(|(reach, _)| std::cmp::Reverse(*reach));
            for (_, wrap) in wanted {
                open.push(wrap);
                here.push(Step::Open(wrap));
            }
            steps.push(here);
        }
        steps.push(open.into_iter().rev().map(Step::Close).collect());
        steps
    }

    /// Writes delimiters between two pieces, with separators where they would not be seen as such.
    fn flush(&mut self, steps: &[Step<'a>], next: Option<char>, line_start: bool) -> bool {
        let mut clear = true;
        let mut at = 0;
        let mut fresh = line_start || self.out.is_empty();
        while at < steps.len() {
            let Some(mark) = self.delimiter(steps[at]) else {
                self.solid(steps[at]);
                fresh = false;
                at += 1;
                continue;
            };
            let opens = matches!(steps[at], Step::Open(_));
            let mut end = at + 1;
            while end < steps.len()
                && matches!(steps[end], Step::Open(_)) == opens
                && self.delimiter(steps[end]).is_some_and(|other| other.starts_with(&mark[..1]))
            {
                end += 1;
            }
            let mut before = if fresh { None } else { self.out.chars().next_back() };
            let after = match steps.get(end) {
                Some(step) => self.first_char(*step),
                None => next,
            };
            if opens {
                let merges = before == mark.chars().next();
                let apart = mark == "_" || !after.is_none_or(is_word);
                if merges || apart && !before.is_none_or(is_outside) {
                    self.out.push_str("<!-- -->");
                    before = Some('>');
                }
            }
            if mark.starts_with('*') {
                clear &= self.count(&steps[at..end], opens, before, after);
            }
            for step in &steps[at..end] {
                let mark = self.delimiter(*step).unwrap_or("");
                self.out.push_str(mark);
            }
            let apart = mark == "_" || !before.is_none_or(is_word);
            if !opens && apart && !after.is_none_or(is_outside) {
                self.out.push_str("<!-- -->");
            }
            fresh = false;
            at = end;
        }
        clear
    }

    /// Keeps count of open stars; `false` when a run that opens can also close one of them.
    fn count(&mut self, steps: &[Step], opens: bool, before: Option<char>, after: Option<char>) -> bool {
        if !opens {
            self.open.truncate(self.open.len().saturating_sub(steps.len()));
            return true;
        }
        let length: usize = steps.iter().filter_map(|step| self.delimiter(*step)).map(str::len).sum();
        let only_opens = before.is_none_or(char::is_whitespace)
            || before.is_some_and(is_outside) && after.is_some_and(is_word);
        // CommonMark's rule of three keeps runs apart whose lengths add up to a multiple of it.
        let three = |n: usize| n.is_multiple_of(3);
        let apart = |open: &usize| three(open + length) && !(three(*open) && three(length));
        let clear = only_opens || self.open.iter().all(apart);
        self.open.extend(steps.iter().map(|_| length));
        clear
    }

    fn delimiter(&self, step: Step) -> Option<&'static str> {
        let (Step::Open(wrap) | Step::Close(wrap)) = step;
        match wrap {
            Wrap::Style(BOLD) => Some("**"),
            Wrap::Style(ITALIC) => Some(self.italic),
            Wrap::Style(STRIKE) => Some("~~"),
            _ => None,
        }
    }

    fn first_char(&self, step: Step) -> Option<char> {
        match (self.delimiter(step), step) {
            (Some(mark), _) => mark.chars().next(),
            (None, Step::Open(Wrap::Link(_))) => Some('['),
            (None, Step::Close(Wrap::Link(_))) => Some(']'),
            (None, _) => Some('<'),
        }
    }

    fn solid(&mut self, step: Step<'a>) {
        match step {
            Step::Open(Wrap::Link(_)) => self.out.push('['),
            Step::Close(Wrap::Link(link)) => {
                self.out.push_str("](");
                destination(self.out, &link.href, self.place);
                if !link.title.is_empty() {
                    self.out.push(' ');
                    title(self.out, &link.title, self.place);
                }
                self.out.push(')');
            }
            Step::Open(Wrap::Style(_)) => self.out.push_str("<u>"),
            Step::Close(Wrap::Style(_)) => self.out.push_str("</u>"),
        }
    }

    /// `opened`: a delimiter stands right before it, which would not open before white space.
    fn line_break(&self, text: &mut String, at: usize, opened: bool) {
        let piece = &self.pieces[at];
        let real = |pieces: &[Piece]| pieces.iter().any(|piece| piece.text != "\n");
        if !real(&self.pieces[..at]) || !real(&self.pieces[at + 1..]) {
            text.push_str("&#10;");
        } else if self.lines {
            text.push('\n');
            text.push_str(self.prefix);
        } else if self.place.one_line() {
            text.push_str("<br>");
        } else {
            match piece.belongs {
                Belongs::Both => text.push('\\'),
                Belongs::Before => text.push_str("<br>"),
                Belongs::After if opened => text.push_str("<!-- -->"),
                Belongs::After => {}
            }
            text.push('\n');
            text.push_str(self.prefix);
            if piece.belongs == Belongs::After {
                text.push_str("<br>");
            }
        }
    }
}

/// Writes lines; what follows the last one goes on behind it.
fn lines_of(out: &mut String, source: &str, prefix: &str) {
    let lines: Vec<&str> = source.split('\n').collect();
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            let is_blank = line.is_empty() && at + 1 < lines.len();
            out.push('\n');
            out.push_str(if is_blank { prefix.trim_end() } else { prefix });
        }
        out.push_str(line);
    }
}

impl Place {
    /// Text behind a delimiter begins no block; in a cell it is still in a cell.
    fn or_cell(self, place: Self) -> Self {
        if place == Self::Cell || place == Self::Heading { place } else { self }
    }
}

fn text_edge(piece: &Piece) -> bool {
    piece.text.starts_with([' ', '\t', '\u{feff}'])
}

fn needs(piece: &Piece, wrap: Wrap) -> bool {
    match wrap {
        Wrap::Link(link) => piece.link == Some(link),
        Wrap::Style(bit) => piece.style & bit != 0,
    }
}

/// Whether a delimiter of emphasis opens (or closes) among these.
fn has_mark(steps: &[Step], opens: bool) -> bool {
    steps.iter().any(|step| match step {
        Step::Open(Wrap::Style(BOLD | ITALIC | STRIKE)) => opens,
        Step::Close(Wrap::Style(BOLD | ITALIC | STRIKE)) => !opens,
        _ => false,
    })
}

/// Surely neither white space nor punctuation, whichever table a reader has.
fn is_word(c: char) -> bool {
    c.is_alphanumeric()
}

/// Surely white space or punctuation.
fn is_outside(c: char) -> bool {
    c.is_ascii_punctuation() || matches!(c, ' ' | '\n' | '\t')
}
