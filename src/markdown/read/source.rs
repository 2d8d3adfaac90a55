//! A page's lines as they are written: without the prefixes of what they stand in, and what single ones mean.

use std::borrow::Cow;

use pulldown_cmark::{Event, HeadingLevel, Tag, TagEnd};

/// Where the next tab stop is.
fn tab_stop(columns: usize) -> usize {
    (columns / 4 + 1) * 4
}

/// The columns that a text at the start of a line takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().fold(0, |columns, c| if c == '\t' { tab_stop(columns) } else { columns + 1 })
}

/// Takes up to `width` columns of indentation and `quoted` quote signs off a line.
pub(crate) fn strip(line: &str, width: usize, quoted: usize) -> &str {
    let mut rest = line;
    let mut columns = 0;
    let mut signs = 0;
    while columns < width {
        match rest.bytes().next() {
            Some(b' ') => columns += 1,
            Some(b'\t') => columns = tab_stop(columns),
            Some(b'>') if signs < quoted => {
                signs += 1;
                columns += 1;
            }
            _ => break,
        }
        rest = &rest[1..];
    }
    rest
}

/// Lines joined by `\n`, without the last line end.
pub(super) fn lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").trim_end_matches(['\n', ' ', '\t']).to_owned()
}

/// Code that goes over line ends of two characters: the parser makes a space of each of the two.
pub(super) fn one_space<'c>(source: &str, code: &'c str) -> Cow<'c, str> {
    let mut lines = source.trim_matches('`').split("\r\n").peekable();
    let (mut out, mut rest) = (String::with_capacity(code.len()), code);
    while let Some(line) = lines.next().filter(|_| lines.peek().is_some()) {
        let after = line.char_indices().find_map(|(at, c)| {
            let own = line.get(at..)?;
            let found = rest.strip_prefix(own)?.strip_prefix("  ").map(|rest| (own, rest));
            found.or(if matches!(c, ' ' | '\t' | '>') { None } else { Some(("", "")) })
        });
        let (own, after) = match after {
            Some(("", _)) => return Cow::Borrowed(code),
            Some(found) => found,
            // A line of nothing but what it stands in.
            None => match rest.strip_prefix("  ") {
                Some(rest) => ("", rest),
                None => return Cow::Borrowed(code),
            },
        };
        out.push_str(own);
        out.push(' ');
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The label in `<!-- block: TYPE ID -->`.
pub(super) fn placeholder(text: &str) -> Option<String> {
    let label = text.strip_prefix("<!--")?.strip_suffix("-->")?.trim().strip_prefix("block:")?.trim();
    let mut words = label.split_whitespace();
    let (kind, id) = (words.next()?, words.next()?);
    words.next().is_none().then(|| format!("{kind} {id}"))
}

pub(super) fn is_inline(event: &Event) -> bool {
    match event {
        Event::Text(_)
        | Event::Code(_)
        | Event::SoftBreak
        | Event::HardBreak
        | Event::InlineHtml(_)
        | Event::TaskListMarker(_) => true,
        Event::Start(tag) => {
            matches!(
                tag,
                Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }
            )
        }
        Event::End(tag) => matches!(
            tag,
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image
        ),
        _ => false,
    }
}

pub(super) fn level_of(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
