//! The links of a page to other pages: `[x](Other.md)` and `[[Other]]`. They are text at the service; nothing rewrites them.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

use super::read::{OPTIONS, mask};
use super::shapes::is_local;

/// A link to another page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLink {
    /// The line of the page's body, counted from 1.
    pub line: usize,
    /// As it is written.
    pub written: String,
    /// Where it leads.
    pub target: PageTarget,
}

/// How a link names a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageTarget {
    /// By a path from the folder of its file; percent signs still encode.
    Path(String),
    /// By a name, with as many of its folders before it as were typed.
    Name(String),
}

/// The links to pages in a page's body, in its order. What stands in code, comments and mathematics is none.
#[must_use]
pub fn page_links(body: &str) -> Vec<PageLink> {
    if !body.contains("[[") && !body.contains("](") && !body.contains("]:") {
        return Vec::new();
    }
    let seen = mask(body).text;
    let mut found: Vec<(usize, String, PageTarget)> = Vec::new();
    let mut apart: Vec<Range<usize>> = Vec::new();
    for (event, range) in Parser::new_ext(&seen, OPTIONS).into_offset_iter() {
        let link = match event {
            Event::Start(Tag::Link { dest_url, .. }) => Some(dest_url),
            Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock) | Event::Code(_) | Event::InlineHtml(_) => None,
            _ => continue,
        };
        if apart.last().is_none_or(|last| last.end <= range.start) {
            apart.push(range.clone());
        }
        if let Some(url) = link.filter(|url| is_local(url) && is_page(url)) {
            let written = body.get(range.clone()).unwrap_or_default().lines().next().unwrap_or_default();
            found.push((range.start, written.to_owned(), PageTarget::Path(url.into_string())));
        }
    }
    found.extend(names(&seen, &apart));
    found.sort_by_key(|(at, ..)| *at);
    let (mut line, mut from) = (1, 0);
    let link = |(at, written, target): (usize, String, PageTarget)| {
        line += seen[from..at].matches('\n').count();
        from = at;
        PageLink { line, written, target }
    };
    found.into_iter().map(link).collect()
}

/// The names in double brackets that stand in none of these places.
fn names(text: &str, apart: &[Range<usize>]) -> Vec<(usize, String, PageTarget)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("[[").map(|at| from + at) {
        from = at + 2;
        let before = apart.partition_point(|range| range.start <= at);
        let is_apart = before.checked_sub(1).is_some_and(|last| apart[last].end > at);
        let line = text[from..].lines().next().unwrap_or_default();
        let Some(inside) = line.split_once("]]").map(|(inside, _)| inside) else { continue };
        let name = inside.split(['|', '#', '^']).next().unwrap_or_default().trim_end_matches('\\').trim();
        if is_apart || text[..at].ends_with('\\') || inside.contains('[') || name.is_empty() {
            continue;
        }
        from += inside.len() + 2;
        found.push((at, text[at..from].to_owned(), PageTarget::Name(name.to_owned())));
    }
    found
}

/// Whether an address on this machine is one of a page.
pub(super) fn is_page(url: &str) -> bool {
    let path = url.split(['#', '?']).next().unwrap_or("");
    path.ends_with('/')
        || path.rsplit('/').next().is_some_and(|name| !name.contains('.') || name.ends_with(".md"))
}

#[cfg(test)]
mod tests {
    use super::{PageTarget, page_links};

    #[test]
    fn links_to_pages_are_found_with_their_lines() {
        let body = "[a](A.md) and [[B]]\n\n`[[code]]` [c](c.xlsx) [d](https://d.example) \\[[e]] [[f|g]]\n\n\
                    ```\n[[code]]\n```\n\n%%\n[[hidden]]\n%%\n\n| [[t\\|u]] |\n| --- |\n\n[[#part]] [i](#part)\n\n\
                    - [[B/C#part]] ![[j.png]] [r]\n\n[r]: <My page.md>\n";
        let path = |text: &str| PageTarget::Path(text.to_owned());
        let name = |text: &str| PageTarget::Name(text.to_owned());
        let found: Vec<(usize, PageTarget)> =
            page_links(body).into_iter().map(|link| (link.line, link.target)).collect();
        let want = [
            (1, path("A.md")),
            (1, name("B")),
            (3, name("f")),
            (13, name("t")),
            (18, name("B/C")),
            (18, name("j.png")),
            (18, path("My page.md")),
        ];
        assert_eq!(found, want);
    }
}
