//! What Markdown hides in the text of a block: comments, and what stands between two `%%` beside white space.

use std::ops::Range;

use pulldown_cmark::Event;

use super::inline::Events;

/// Whether a tag of HTML is a comment that a person wrote.
fn is_comment(html: &str) -> bool {
    const MARKS: [&str; 4] = ["empty", "file", "children", "/children"];
    if html == "<!-- -->" {
        return false;
    }
    let inside = html.strip_prefix("<!--").map(|html| html.trim_end_matches("-->").trim());
    inside.is_some_and(|inside| !MARKS.contains(&inside) && !inside.starts_with("block:"))
}

/// The places in a block that Markdown hides: comments, and what stands between two `%%` beside white space. White space is
/// not doubled by what is hidden in it.
pub(super) fn hidden(text: &str, seen: &str, events: &Events, hides_text: bool) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = events
        .iter()
        .filter(|(event, _)| matches!(event, Event::InlineHtml(html) if is_comment(html)))
        .map(|(_, range)| range.clone())
        .collect();
    if places.is_empty() && !hides_text {
        return places;
    }
    let (Some(first), Some(last)) = (events.first(), events.iter().map(|(_, range)| range.end).max()) else {
        return places;
    };
    let block = first.1.start..last;
    if seen.get(block.clone()).is_some_and(|text| text.contains("%%")) {
        percents(seen, events, &block, &mut places);
    }
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(places.len());
    for mut place in places {
        // A comment inside of another is hidden with that one.
        let end = apart.last().map_or(block.start, |last| last.end);
        if place.end <= end {
            continue;
        }
        with_white_space(text, &block, &mut place);
        place.start = place.start.max(end);
        apart.push(place);
    }
    apart
}

/// Takes white space into a place that would be doubled without it: a line that holds nothing else goes with its line end.
fn with_white_space(text: &str, block: &Range<usize>, place: &mut Range<usize>) {
    const BLANK: [char; 2] = [' ', '\t'];
    let (head, rest) = (&text[block.start..place.start], &text[place.end..block.end]);
    let spaces = rest.len() - rest.trim_start_matches(BLANK).len();
    let line_end = ["\n", "\r\n", "\r"].iter().find(|end| rest[spaces..].starts_with(**end));
    let ends = rest.is_empty() || line_end.is_some() || rest.starts_with("\\\n") || rest.starts_with("\\\r");
    if !ends {
        let before = text[..place.start].chars().next_back();
        match before {
            // One space stands on both sides of it; more of them are the text's own.
            Some(' ' | '\t') if !head.trim_end_matches(BLANK).is_empty() => place.end += spaces.min(1),
            before if before.is_none_or(char::is_whitespace) => place.end += spaces,
            _ => {}
        }
        return;
    }
    let lead = head.trim_end_matches([' ', '\t', '>']);
    let line = lead.strip_suffix('\n').map(|line| line.trim_end_matches('\r'));
    match (line, line_end) {
        (_, Some(end)) if lead.is_empty() => place.end += spaces + end.len(),
        // A break before it is written on the line above.
        (Some(line), _) if !line.ends_with(['\\', ' ']) => place.start = block.start + line.len(),
        _ => place.start = block.start + head.trim_end_matches(BLANK).len(),
    }
}

/// Whether `%%` behind this text may begin a comment.
pub(crate) fn opens_comment(before: &str) -> bool {
    let opens = |c: char| c.is_whitespace() || matches!(c, '(' | '[' | '{' | '"' | '\'');
    before.chars().next_back().is_none_or(opens)
}

/// Adds the pairs of `%%`.
fn percents(text: &str, events: &Events, block: &Range<usize>, places: &mut Vec<Range<usize>>) {
    let mut texts: Vec<Range<usize>> = Vec::new();
    // What is no text, in the order of its starts and in that of its ends.
    let mut starts: Vec<Range<usize>> = Vec::new();
    for (event, range) in events {
        match event {
            Event::Text(text) if text.len() == range.len() => texts.push(range.clone()),
            Event::Text(_) => {}
            _ => starts.push(range.clone()),
        }
    }
    starts.sort_unstable_by_key(|range| range.start);
    let mut stops = starts.clone();
    stops.sort_unstable_by_key(|range| range.end);
    let is_text = |at: usize| {
        let text = texts.get(texts.partition_point(|text| text.end <= at));
        text.is_some_and(|text| text.contains(&at) && at + 2 <= text.end)
    };
    let comments = places.clone();
    let in_comment = |at: usize| {
        let place = comments.get(comments.partition_point(|place| place.end <= at));
        place.is_some_and(|place| place.contains(&at))
    };
    // Whether each event lies inside of a place or outside.
    let fits = |from: usize, to: usize| {
        let begun = &starts[starts.partition_point(|range| range.start < from)..];
        let ended = &stops[stops.partition_point(|range| range.end <= from)..];
        begun.iter().take_while(|range| range.start < to).all(|range| range.end <= to)
            && ended.iter().take_while(|range| range.end < to).all(|range| range.start >= from)
    };
    let ends = |c: Option<char>| {
        c.is_none_or(|c| c.is_whitespace() || c.is_ascii_punctuation() && !matches!(c, '%' | '`'))
    };
    let mut open: Option<usize> = None;
    let mut at = block.start;
    while let Some(next) = text[at..block.end].find("%%").map(|offset| at + offset) {
        at = next + 2;
        if !is_text(next) || in_comment(next) {
            continue;
        }
        if let Some(from) = open {
            let closes = ends(text[at..block.end].chars().next());
            if closes && fits(from, at) {
                places.push(from..at);
                open = None;
                continue;
            }
        }
        if open.is_none() && opens_comment(&text[..next]) {
            open = Some(next);
        }
    }
    places.sort_unstable_by_key(|place| place.start);
}

/// A text of HTML without its comments, and the comments with their places in it.
pub(super) fn visible(text: &str) -> (String, Vec<(usize, Box<str>)>) {
    let (mut shown, mut hidden) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(from) = rest.find("<!--") {
        let Some(len) = rest[from + 4..].find("-->").map(|at| at + 7) else { break };
        let comment = &rest[from..from + len];
        shown.push_str(&rest[..from]);
        rest = &rest[from + len..];
        if !is_comment(comment) {
            shown.push_str(comment);
            continue;
        }
        let mut source = comment.to_owned();
        let spaces = rest.len() - rest.trim_start_matches([' ', '\t', '\n']).len();
        if spaces > 0 && (shown.is_empty() || shown.ends_with([' ', '\n'])) {
            source.push_str(&rest[..spaces]);
            rest = &rest[spaces..];
        }
        hidden.push((shown.len(), source.into()));
    }
    shown.push_str(rest);
    let kept = shown.trim_end().len();
    shown.truncate(kept);
    hidden.iter_mut().for_each(|(at, _)| *at = kept.min(*at));
    (shown, hidden)
}

/// The comments in the source of a table's cell, or of a note.
pub(crate) fn comments(text: &str) -> Vec<Box<str>> {
    places_of_comments(text).into_iter().map(|place| text[place].into()).collect()
}

/// As [`comments`], with the white space before one that ends its line, and with the line end of one that is its line.
pub(super) fn comments_with_lines(text: &str) -> Vec<Box<str>> {
    let widened = |place: Range<usize>| {
        let (before, after) = (&text[..place.start], &text[place.end..]);
        if !after.is_empty() && !after.starts_with('\n') {
            return text[place].into();
        }
        let before = before.trim_end_matches([' ', '\t']);
        text[before.trim_end_matches('\n').len()..place.end].into()
    };
    places_of_comments(text).into_iter().map(widened).collect()
}

fn places_of_comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(['<', '%']).map(|at| from + at) {
        let rest = &text[at..];
        let len = if let Some(inside) = rest.strip_prefix("<!--") {
            inside.find("-->").map(|end| end + 7).filter(|len| is_comment(&rest[..*len]))
        } else if let Some(inside) = rest.strip_prefix("%%").filter(|_| opens_comment(&text[..at])) {
            inside.find("%%").map(|end| end + 4)
        } else {
            None
        };
        from = at + len.unwrap_or(1);
        found.extend(len.map(|len| at..at + len));
    }
    found
}
