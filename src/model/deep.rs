//! JSON that is nested deeper than `serde_json` parses by default.
//!
//! That parser refuses the 128th level, because it recurses; sixty nested blocks are that deep. Nearly all later
//! steps recurse too: a page is printed, merged, compared and dropped level by level. So the levels are counted
//! first, without recursion, and JSON with too many levels is refused before any recursion. All of these steps can
//! take the limit on the smallest stack of a thread (2 MiB, in a build without optimisation).

use std::marker::PhantomData;

use serde::de::{DeserializeOwned, DeserializeSeed, Error};
use serde_json::de::Read;

/// The deepest JSON that is parsed. A block within another is two levels.
pub const NESTED_MAX: usize = 512;

/// The number of nesting levels of a JSON text, whether or not it is valid.
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

/// Moves behind the end of a string.
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

/// Parses JSON of at most [`NESTED_MAX`] levels.
///
/// # Errors
/// The parser's error, or the excess depth.
pub fn read_json<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    read_seed(json, PhantomData::<T>)
}

/// As [`read_json`], of a type that is built from `seed`.
///
/// # Errors
/// As for [`read_json`].
pub(super) fn read_seed<'de, S: DeserializeSeed<'de>>(
    json: &'de [u8],
    seed: S,
) -> serde_json::Result<S::Value> {
    // Each level takes a byte.
    if json.len() > NESTED_MAX && levels(json) > NESTED_MAX {
        return Err(serde_json::Error::custom(format!("it is nested more than {NESTED_MAX} levels deep")));
    }
    // One check of all bytes is quicker than one for each string. Bytes that are not UTF-8 are refused with their
    // position.
    match str::from_utf8(json) {
        Ok(text) => read_all(serde_json::Deserializer::from_str(text), seed),
        Err(_) => read_all(serde_json::Deserializer::from_slice(json), seed),
    }
}

fn read_all<'de, S: DeserializeSeed<'de>, R: Read<'de>>(
    mut reader: serde_json::Deserializer<R>,
    seed: S,
) -> serde_json::Result<S::Value> {
    reader.disable_recursion_limit();
    let value = seed.deserialize(&mut reader)?;
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
