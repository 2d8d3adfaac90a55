//! Words from outside, made fit for a message: one line, no control characters, not too long.

/// Most characters that a message takes over from an answer.
const MOST: usize = 300;

/// The words, as they may stand in a message.
pub(super) fn words(text: &str) -> String {
    let mut out = String::new();
    let mut count = 0;
    for word in text.split(|c: char| c.is_whitespace() || unseen(c)).filter(|word| !word.is_empty()) {
        if count > 0 {
            out.push(' ');
            count += 1;
        }
        for c in word.chars() {
            if count >= MOST {
                out.push('…');
                return out;
            }
            out.push(c);
            count += 1;
        }
    }
    out
}

/// The first words of an answer that is not what it should be.
pub(super) fn excerpt(body: &[u8]) -> String {
    const LOOK: usize = 400;
    let text = String::from_utf8_lossy(&body[..body.len().min(LOOK)]);
    let first: String = words(&text).chars().take(80).collect();
    if body.is_empty() { "nothing".to_owned() } else { format!("“{first}…”") }
}

/// Control characters, and those that turn or hide the text around them.
fn unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffd}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_one_tame_line() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(words(text), expected, "{text:?}");
        }
        check("", "");
        check("plain", "plain");
        check("  two\n\twords\r\n", "two words");
        check("a\u{1b}[31mred\u{7}", "a [31mred");
        check("evil\u{202e}txt", "evil txt");
        check(&"x".repeat(300), &"x".repeat(300));
        check(&"x".repeat(301), &format!("{}…", "x".repeat(300)));
        check(&"é ".repeat(400), &format!("{}…", "é ".repeat(150)));
    }

    #[test]
    fn an_excerpt_shows_how_it_begins() {
        assert_eq!(excerpt(b""), "nothing");
        assert_eq!(excerpt(b"<html>\n<p>Hi"), "“<html> <p>Hi…”");
        assert!(excerpt(&[0xff; 5000]).chars().count() < 90);
    }
}
