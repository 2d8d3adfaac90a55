//! JSON that is nested deeper than `serde_json` reads by itself.
//!
//! That parser refuses the 128th level, since it reads by recursion; sixty nested blocks are that deep. So does nearly all that
//! follows: a page is printed, merged, compared and dropped level by level. Here the levels are counted first, without
//! recursion, and what has too many is refused before anything recurses over it. The limit is what all of that can take on
//! the smallest stack that a thread has (2 MiB, in a build without optimisation).

use serde::de::{DeserializeOwned, Error};
use serde_json::de::Read;

/// The deepest JSON that is read. A block within another is two levels.
pub const NESTED_MAX: usize = 512;

/// How deep a JSON text is nested, whether or not it is valid.
#[must_use]
pub fn levels(json: &[u8]) -> usize {
    let (mut level, mut deepest) = (0_usize, 0);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_text(&mut bytes),
            b'[' | b'{' => {
                level += 1;
                deepest = deepest.max(level);
            }
            b']' | b'}' => level = level.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Goes on behind the end of a text.
fn skip_text(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                let _escaped = bytes.next();
            }
            _ => {}
        }
    }
}

/// Reads JSON of at most [`NESTED_MAX`] levels.
///
/// # Errors
/// What is wrong with it.
pub fn read_json<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    if levels(json) > NESTED_MAX {
        return Err(serde_json::Error::custom(format!("it is nested more than {NESTED_MAX} levels deep")));
    }
    // One look at all of it is quicker than one at each text; what is no UTF-8 is refused with its place.
    match str::from_utf8(json) {
        Ok(text) => read_all(serde_json::Deserializer::from_str(text)),
        Err(_) => read_all(serde_json::Deserializer::from_slice(json)),
    }
}

fn read_all<'de, T: DeserializeOwned, R: Read<'de>>(
    mut reader: serde_json::Deserializer<R>,
) -> serde_json::Result<T> {
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[test]
    fn levels_are_counted_outside_of_texts_only() {
        for (json, expected) in [
            ("1", 0),
            ("[]", 1),
            ("[[],{\"a\":[]}]", 3),
            ("[\"[[[\"]", 1),
            (r#"["\"[[","\\",[]]"#, 2),
            (r#"{"[{":"]"}"#, 1),
            ("]][", 1),
        ] {
            assert_eq!(levels(json.as_bytes()), expected, "{json}");
        }
    }

    #[test]
    fn what_is_deep_is_read_and_what_is_deeper_is_refused_without_recursion() {
        for depth in [1, 127, 128, NESTED_MAX] {
            assert_eq!(read_json::<Value>(nested(depth).as_bytes()).unwrap().to_string(), nested(depth));
        }
        for depth in [NESTED_MAX + 1, 5_000, 3_000_000] {
            assert!(read_json::<Value>(nested(depth).as_bytes()).is_err());
        }
        assert!(read_json::<Value>(b"[1] 2").is_err());
    }
}
