//! Halves of characters in JSON: an escape such as `\ud83d` without its other half is no character. A service in JavaScript
//! sends it where a text was cut inside an emoji, and JSON readers refuse the whole answer for it.

/// The escape of U+FFFD. It is as long as the one that it replaces.
const REPLACEMENT: &[u8] = b"\\ufffd";
const ESCAPE: usize = REPLACEMENT.len();

/// The JSON text with U+FFFD for each half that stands alone; `None` if there is none.
pub(super) fn mended(json: &[u8]) -> Option<Vec<u8>> {
    let (mut mended, mut at) = (None, 0);
    while let Some(found) = json.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        let start = at + found;
        // The byte after a backslash belongs to it, another backslash too.
        at = start + 2;
        match (escaped(json, start), escaped(json, start + ESCAPE)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at = start + 2 * ESCAPE,
            (Some(0xd800..=0xdfff), _) => {
                let mended = mended.get_or_insert_with(|| json.to_vec());
                mended[start..start + ESCAPE].copy_from_slice(REPLACEMENT);
            }
            _ => {}
        }
    }
    mended
}

/// The UTF-16 unit that is escaped at this place.
fn escaped(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    let digits =
        std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_that_stand_alone_are_replaced_and_nothing_else() {
        let check = |json: &str, expected: Option<&str>| {
            let mended = mended(json.as_bytes());
            assert_eq!(mended.as_deref(), expected.map(str::as_bytes), "{json}");
        };
        check(r#"{"a":"plain \n \u00e9 \ud83d\ude00"}"#, None);
        check(r#""\ud83d""#, Some(r#""\ufffd""#));
        check(r#""a \ude00 b \uD83D""#, Some(r#""a \ufffd b \ufffd""#));
        check(r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#));
        // An escaped backslash before a letter is no escape of a character.
        check(r#""\\ud83d""#, None);
        check(r#""\\\ud83d""#, Some(r#""\\\ufffd""#));
        check(r#""\ud8"#, None);
        check(r#""\"#, None);
    }
}
