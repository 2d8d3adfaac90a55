//! A page's lines as they are written: without the prefixes of what they stand in, and what single ones mean.

use pulldown_cmark::{Event, HeadingLevel, Tag, TagEnd};

/// Takes up to `width` columns of indentation and `quoted` quote signs off a line.
pub(super) fn strip(line: &str, width: usize, quoted: usize) -> &str {
    let mut rest = line;
    let mut columns = 0;
    let mut signs = 0;
    while columns < width {
        match rest.bytes().next() {
            Some(b' ') => columns += 1,
            Some(b'\t') => columns += 4,
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
