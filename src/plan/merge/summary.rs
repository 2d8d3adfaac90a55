//! A collision in one line, for people.

use super::words::{Glyph, Piece, merge_words};

/// Most words that are shown before and after a collision.
const AROUND_WORDS: usize = 4;

/// A short word diff: `el plan [service: cerrado | yours: abierto] hoy`, after the place if it is not the text.
///
/// One line, however the texts are; what is far from every collision is left out as `…`.
#[must_use]
pub fn collision_summary(collision: &Collision) -> String {
    let glyphs = |text: &str| text.chars().map(Glyph::Char).collect::<Vec<_>>();
    let (base, remote, local) =
        (glyphs(&collision.base), glyphs(&collision.remote), glyphs(&collision.local));
    let text = |glyphs: &[Glyph]| -> String {
        let char = |glyph: &Glyph| match glyph {
            Glyph::Char(c) => *c,
            Glyph::Object(_) => ' ',
        };
        glyphs.iter().map(char).collect()
    };
    // Plain text, and between its pieces the collisions.
    let mut plain = vec![String::new()];
    let mut collided = Vec::new();
    for piece in merge_words(&base, &remote, &local).pieces {
        let more = match piece {
            Piece::Kept(_, range, _) | Piece::Remote(_, range) | Piece::Both(range, _) => {
                text(&remote[range])
            }
            Piece::Local(_, range) => text(&local[range]),
            Piece::Space => " ".to_owned(),
            Piece::Collision(_, theirs, ours) => {
                collided.push(between(&text(&remote[theirs]), &text(&local[ours])));
                plain.push(String::new());
                continue;
            }
        };
        if let Some(last) = plain.last_mut() {
            last.push_str(&more);
        }
    }
    let (words, only_style) = if collided.is_empty() {
        (between(&collision.remote, &collision.local), collision.remote == collision.local)
    } else {
        (String::new(), false)
    };
    let line = if only_style {
        format!("{} [both changed how it looks]", shorten(&collision.remote, true, false))
    } else if collided.is_empty() {
        words
    } else {
        let last = plain.len() - 1;
        let pieces = plain.iter().enumerate().map(|(at, text)| shorten(text, at == 0, at == last));
        let marks = collided.into_iter().chain([String::new()]);
        pieces.zip(marks).map(|(text, mark)| text + &mark).collect()
    };
    match &*collision.place {
        "" | "content" => line.trim().to_owned(),
        place => format!("{place}: {}", line.trim()),
    }
}

fn between(remote: &str, local: &str) -> String {
    let side = |text: &str| match text.split_whitespace().collect::<Vec<_>>().join(" ") {
        empty if empty.is_empty() => "nothing".to_owned(),
        text => text,
    };
    let edge = |touches: fn(&str) -> bool| if touches(remote) || touches(local) { " " } else { "" };
    let lead = edge(|text| text.starts_with(char::is_whitespace));
    let trail = edge(|text| text.ends_with(char::is_whitespace));
    format!("{lead}[service: {} | yours: {}]{trail}", side(remote), side(local))
}

/// Keeps the words at the ends that touch a collision, on one line.
fn shorten(text: &str, is_first: bool, is_last: bool) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let lead = if text.starts_with(char::is_whitespace) { " " } else { "" };
    let trail = if text.ends_with(char::is_whitespace) && !words.is_empty() { " " } else { "" };
    let shown = match (is_first, is_last) {
        (true, false) if words.len() > AROUND_WORDS => {
            format!("… {}", words[words.len() - AROUND_WORDS..].join(" "))
        }
        (false, true) if words.len() > AROUND_WORDS => format!("{} …", words[..AROUND_WORDS].join(" ")),
        (false, false) if words.len() > 2 * AROUND_WORDS => {
            format!("{} … {}", words[..AROUND_WORDS].join(" "), words[words.len() - AROUND_WORDS..].join(" "))
        }
        _ => words.join(" "),
    };
    let lead = if is_first { "" } else { lead };
    let trail = if is_last { "" } else { trail };
    format!("{lead}{shown}{trail}")
}

/// A place where both sides changed the same words, or the same value to different ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// The block's id; `None` if it has none.
    pub block: Option<String>,
    /// Where in the block: `content`, `props.level`, `content.rows.1.cells.0.content`; empty for type and content
    /// together.
    pub place: String,
    /// What stood there when both agreed, as text.
    pub base: String,
    /// What the service has, which stays.
    pub remote: String,
    /// What the user has, which is not in the merged page as far as it collides.
    pub local: String,
}
