//! What begins in a text, is never closed, and so holds all that follows: a slip of the hand, or a text that is still being typed.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::read::OPTIONS;

/// Something that begins and is never closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unclosed<'a> {
    /// What it is, in words.
    pub what: &'static str,
    /// The line that it begins in, counted from 1.
    pub line: usize,
    /// The text below that line.
    pub rest: &'a str,
}

/// What HTML goes on to the end of a text where its end is missing (CommonMark, "HTML blocks", the first five kinds).
const HTML: [(&str, &str); 8] = [
    ("<!--", "-->"),
    ("<?", "?>"),
    ("<![cdata[", "]]>"),
    ("<pre", "</pre"),
    ("<script", "</script"),
    ("<style", "</style"),
    ("<textarea", "</textarea"),
    ("<!", ">"),
];

/// See [`super::unclosed`].
pub(super) fn unclosed(text: &str) -> Option<Unclosed<'_>> {
    // Most texts have nothing of the kind, and are not parsed for it.
    if !["```", "~~~", "<!", "<?", "<pre", "<PRE", "<s", "<S", "<t", "<T"]
        .iter()
        .any(|sign| text.contains(sign))
    {
        return None;
    }
    let mut last = None;
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => last = Some(("code block", range)),
            Event::Start(Tag::HtmlBlock) => last = Some(("comment", range)),
            _ => {}
        }
    }
    let (what, range) = last?;
    let inside = text.get(range.clone())?;
    if !text.get(range.end..)?.trim().is_empty() {
        return None;
    }
    let what = if what == "comment" { open_html(inside)? } else { open_fence(inside).then_some(what)? };
    let rest = inside.split_once('\n').map_or("", |(_, rest)| rest);
    let line = text.get(..range.start)?.matches('\n').count() + 1;
    Some(Unclosed { what, line, rest })
}

/// Whether the last line of a fenced block does not close it.
fn open_fence(inside: &str) -> bool {
    let run = |line: &str| {
        let line = line.trim_start_matches([' ', '\t', '>']);
        let sign = line.chars().next().filter(|sign| ['`', '~'].contains(sign))?;
        let length = line.chars().take_while(|c| *c == sign).count();
        Some((sign, length, line.trim_start_matches(sign).trim().is_empty()))
    };
    let mut lines = inside.lines();
    let Some((sign, length, _)) = lines.next().and_then(run) else { return false };
    let closes = |line: &str| run(line).is_some_and(|(s, n, alone)| s == sign && n >= length && alone);
    !lines.rfind(|line| !line.trim().is_empty()).is_some_and(closes)
}

/// What kind of HTML is open at its end.
fn open_html(inside: &str) -> Option<&'static str> {
    let low = inside.trim_start_matches([' ', '\t', '>']).to_ascii_lowercase();
    let (begin, end) = HTML.iter().find(|(begin, _)| low.starts_with(begin))?;
    let is_open = !low.get(begin.len()..)?.contains(end);
    is_open.then_some(if *begin == "<!--" { "comment" } else { "HTML" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_never_closed_is_found_and_nothing_else() {
        let check = |text: &str, expected: Option<(&str, usize, &str)>| {
            let found = unclosed(text).map(|found| (found.what, found.line, found.rest));
            assert_eq!(found, expected, "{text:?}");
        };
        check("a\n\n```\nb\n\nc\n", Some(("code block", 3, "b\n\nc\n")));
        check("a\n\n~~~ rust\nb\n```\n", Some(("code block", 3, "b\n```\n")));
        check("a\n\n````\nb\n```\n", Some(("code block", 3, "b\n```\n")));
        check("a\n```", Some(("code block", 2, "")));
        check("- a\n\n  ```\n  b\n", Some(("code block", 3, "  b\n")));
        check("a\n\n<!-- todo\n\nb\n", Some(("comment", 3, "\nb\n")));
        check("<pre>\n\nb\n", Some(("HTML", 1, "\nb\n")));
        for closed in [
            "",
            "a\n\n```\nb\n```\n",
            "```\nb\n```",
            "```\nb\n````  \n\n\n",
            "> ```\n> b\n> ```\n",
            "> ```\n> b\n\nafter\n",
            "- ```\n  b\n\nafter\n",
            "``` a ``` and ``` b",
            "<!-- todo -->\n\nb\n",
            "<!-- children -->\n\nb\n\n<!-- /children -->\n",
            "<!-- block: database db -->\n",
            "<pre>\nb\n</pre>\n",
            "<details>\nb\n",
            "a < b\n",
        ] {
            check(closed, None);
        }
    }
}
