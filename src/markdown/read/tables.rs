//! Tables without outer bars directly below a line of text: GFM ends the paragraph above such a table, and the parser does not.
//!
//! They are read with an empty line before them, and every place is counted without it.

use super::super::plain::Node;

/// A text with an empty line before each such table, and where the lines were put in; `None` where there is none.
pub(super) fn parted(text: &str) -> Option<(String, Vec<(usize, usize)>)> {
    if !text.contains('|') {
        return None;
    }
    let (mut out, mut places) = (String::new(), Vec::new());
    let mut fence: Option<&str> = None;
    let mut before: [&str; 2] = [""; 2];
    // Where the line before begins, and where the text is copied up to.
    let (mut start, mut copied, mut at) = (0, 0, 0);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start_matches([' ', '\t', '>']).trim_end();
        let own = [&line[..line.len() - line.trim_start_matches([' ', '\t', '>']).len()], bare];
        match fence {
            Some(sign) if bare.starts_with(sign) => fence = None,
            Some(_) => {}
            None => fence = ["```", "~~~"].into_iter().find(|sign| bare.starts_with(*sign)),
        }
        if fence.is_none()
            && start > 0
            && is_delimiter(bare)
            && is_head(before[1], bare)
            && own[0] == before[0]
        {
            let above = &text[..start];
            let last = above.trim_end_matches(['\n', '\r']);
            let last = &last[last.rfind('\n').map_or(0, |at| at + 1)..];
            if is_words(last, before[0]) && !above.trim_end_matches(' ').ends_with("\n\n") {
                out.push_str(&text[copied..start]);
                let empty = format!("{}\n", before[0].trim_end());
                places.push((out.len(), empty.len()));
                out.push_str(&empty);
                copied = start;
            }
        }
        before = own;
        start = at;
        at += line.len();
    }
    if places.is_empty() {
        return None;
    }
    out.push_str(&text[copied..]);
    Some((out, places))
}

/// Whether a line parts the head of a table from its rows, without a bar at its start.
fn is_delimiter(line: &str) -> bool {
    line.contains('|')
        && line.contains('-')
        && !line.starts_with('|')
        && line.bytes().all(|b| matches!(b, b'|' | b'-' | b':' | b' ' | b'\t'))
        && line.trim_end_matches('|').split('|').all(|cell| cell.contains('-'))
}

/// Whether a line is the head of the table that the next line begins, without a bar at its start.
fn is_head(line: &str, delimiter: &str) -> bool {
    let cells = |line: &str| {
        let bars = line.match_indices('|').filter(|(at, _)| !line[..*at].ends_with('\\')).count();
        bars + 1 - usize::from(line.ends_with('|'))
    };
    !line.is_empty() && !line.starts_with('|') && cells(line) == cells(delimiter)
}

/// Whether a line is text of a paragraph: nothing that begins or ends another block, and no row of a table.
fn is_words(line: &str, lead: &str) -> bool {
    let Some(words) = line.strip_prefix(lead) else { return false };
    let is_item = || {
        let rest = words.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.starts_with(['.', ')', '-', '+', '*'])
    };
    words.starts_with(|c: char| {
        !c.is_whitespace() && !matches!(c, '#' | '>' | '`' | '~' | '|' | '<' | '=' | ':' | '%' | '$')
    }) && !words.contains('|')
        && !is_item()
}

/// Counts the places of nodes without the lines that were put in.
pub(super) fn put_back(nodes: &mut [Node], places: &[(usize, usize)]) {
    let back = |at: usize| {
        let before = &places[..places.partition_point(|(from, _)| *from < at)];
        // A place within what was put in is where it was put in.
        let last = before.last().map_or(0, |(from, len)| (from + len).saturating_sub(at));
        at + last - before.iter().map(|(_, len)| len).sum::<usize>()
    };
    for node in nodes {
        node.at = back(node.at.start)..back(node.at.end);
        node.end = back(node.end);
        put_back(&mut node.children, places);
    }
}
