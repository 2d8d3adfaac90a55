//! The place of a text that a person wants to see: about 140 characters around the words that were found, as pieces, so that
//! the caller can mark the words.

use super::query::Query;
use super::words::{Wanted, words};

/// As long as the service's snippets.
const LENGTH: usize = 140;
/// How many characters stand before the first word that was found.
const BEFORE: usize = 30;
/// Of a text with more words that were found, the best place is among those around the first ones.
const HITS_MAX: usize = 200;

/// A piece of a snippet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it says, on one line.
    pub text: String,
    /// Whether it is a word that was searched for.
    pub hit: bool,
}

/// The pieces of the best place of `text`, its beginning where no word of the query is in it; none for an empty text.
#[must_use]
pub fn snippet(text: &str, query: &Query) -> Vec<Piece> {
    let hits = hits(text, query);
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let char_at = |byte: usize| chars.partition_point(|(at, _)| *at < byte);
    let within = |from: usize| {
        let until = char_at(hits[from].0) + LENGTH - BEFORE;
        let inside = hits[from..].iter().take_while(|(at, ..)| char_at(*at) < until);
        let mut different: Vec<&str> = inside.map(|(.., stem)| *stem).collect();
        different.sort_unstable();
        different.dedup();
        different.len()
    };
    // The first of those places that show the most different words.
    let best = (0..hits.len().min(HITS_MAX)).rev().max_by_key(|from| within(*from));
    let first = best.map_or(0, |from| char_at(hits[from].0));
    let mut start = first.saturating_sub(BEFORE);
    if start > 0 {
        // Not in the middle of a word.
        let space = chars[start..first].iter().position(|(_, c)| c.is_whitespace());
        start += space.map_or(0, |space| space + 1);
    }
    let mut end = (start + LENGTH).min(chars.len());
    if end < chars.len() {
        let space = chars[first.max(start)..end].iter().rposition(|(_, c)| c.is_whitespace());
        end = space.filter(|space| *space > 0).map_or(end, |space| first.max(start) + space);
    }
    let byte = |at: usize| chars.get(at).map_or(text.len(), |(byte, _)| *byte);
    let (from, to) = (byte(start), byte(end));
    let mut pieces = Vec::new();
    let mut push = |words: &str, hit: bool| {
        let line = one_line(words);
        if !line.is_empty() {
            pieces.push(Piece { text: line, hit });
        }
    };
    if start > 0 {
        push("…", false);
    }
    let mut at = from;
    for (begin, end, _) in hits.iter().filter(|(begin, end, _)| *begin >= from && *end <= to) {
        push(&text[at..*begin], false);
        push(&text[*begin..*end], true);
        at = *end;
    }
    push(&text[at..to], false);
    if end < chars.len() {
        push("…", false);
    }
    pieces
}

fn hits<'q>(text: &str, query: &'q Query) -> Vec<(usize, usize, &'q str)> {
    let mut wanted = Wanted::new(query.stems());
    let found = words(text).filter_map(|at| {
        let stem = *wanted.of(&text[at.clone()]).first()?;
        Some((at.start, at.end, stem))
    });
    let found: Vec<_> = found.take(HITS_MAX + LENGTH).collect();
    found.into_iter().map(|(start, end, stem)| (start, end, wanted.stems()[stem])).collect()
}

/// Every run of blanks and what cannot be seen as one space, and the end of a line as a dot between spaces; those at the
/// ends stay, for pieces are joined again.
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !(c.is_whitespace() || c.is_control()) {
            out.push(c);
        } else if c == '\n' && !out.ends_with("· ") {
            out.truncate(out.trim_end().len());
            out.push_str(" · ");
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The snippet with its hits in brackets.
    fn shown(text: &str, query: &str) -> String {
        let piece = |piece: &Piece| if piece.hit { format!("[{}]", piece.text) } else { piece.text.clone() };
        snippet(text, &Query::new(query).unwrap()).iter().map(piece).collect()
    }

    #[test]
    fn the_place_with_the_words_is_shown() {
        let long = "palabra ".repeat(100);
        for (text, query, expected) in [
            ("", "x", String::new()),
            ("Nada que ver", "plan", "Nada que ver".to_owned()),
            ("Las reuniones\n\ndel  equipo", "reunión", "Las [reuniones] · del equipo".to_owned()),
            ("Corría, corria", "corría", "[Corría], [corria]".to_owned()),
            ("man\u{303}ana", "mañana", "[man\u{303}ana]".to_owned()),
            ("a\u{1b}[2Jplan", "plan", "a [2Jplan".to_owned()),
        ] {
            assert_eq!(shown(text, query), expected, "{text:?}");
        }
        let far = shown(&format!("{long}aquí está el plan de obra y {long}"), "obra plan");
        assert!(far.starts_with('…') && far.ends_with('…') && far.contains("[plan] de [obra]"), "{far}");
        assert!(far.chars().count() <= LENGTH + 8, "{far}");
        let both = shown(&format!("plan {long} plan obra {long}"), "plan obra");
        assert!(both.contains("[plan] [obra]"), "the place with both: {both}");
        let unbroken = shown(&"x".repeat(9_000), &"x".repeat(9_000));
        assert!(unbroken.chars().count() <= LENGTH + 4, "{unbroken}");
        assert!(shown(&"🚲".repeat(300), "🚲").ends_with('…'));
    }
}
