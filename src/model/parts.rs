//! Finds the parts of a JSON text without parsing them. An entry that cannot be parsed (nested too deep, half a
//! character, a number out of range) then does not make its neighbours unreadable.
//!
//! The scan is `serde_json`'s own, with a type that ignores all values; it does not recurse at any depth.

use serde::de::IgnoredAny;

/// A parsed key, and the bytes of its value.
type Member<'a> = (String, &'a [u8]);

/// The parts of a JSON array, in order; `None` if these bytes are no array.
///
/// # Errors
/// The parser's error about the array itself.
pub fn elements(bytes: &[u8]) -> Option<serde_json::Result<Vec<&[u8]>>> {
    let inside = open(bytes, b'[')?;
    Some(scan(inside, b']', |rest| {
        let (part, rest) = value(rest)?;
        Ok((part, rest))
    }))
}

/// The keys and values of a JSON object, in order; `None` if these bytes are no object.
///
/// # Errors
/// The parser's error about the object itself.
pub fn members(bytes: &[u8]) -> Option<serde_json::Result<Vec<Member<'_>>>> {
    let inside = open(bytes, b'{')?;
    Some(scan(inside, b'}', |rest| {
        let (key, rest) = value(rest)?;
        let key: String = serde_json::from_slice(key)?;
        let rest = blank(rest);
        let Some(rest) = rest.strip_prefix(b":") else { return Err(broken(rest)) };
        let (part, rest) = value(rest)?;
        Ok(((key, part), rest))
    }))
}

/// The bytes after the opening bracket.
fn open(bytes: &[u8], bracket: u8) -> Option<&[u8]> {
    blank(bytes).strip_prefix(&[bracket])
}

/// Reads items up to the closing bracket, after which nothing may follow.
fn scan<'a, T>(
    mut rest: &'a [u8],
    close: u8,
    mut item: impl FnMut(&'a [u8]) -> serde_json::Result<(T, &'a [u8])>,
) -> serde_json::Result<Vec<T>> {
    let mut items = Vec::new();
    rest = blank(rest);
    if rest.first() != Some(&close) {
        loop {
            let (found, after) = item(rest)?;
            items.push(found);
            rest = blank(after);
            match rest.strip_prefix(b",") {
                Some(more) => rest = more,
                None => break,
            }
        }
    }
    match rest.strip_prefix(&[close]) {
        Some(after) if blank(after).is_empty() => Ok(items),
        Some(after) => Err(broken(blank(after))),
        None => Err(broken(rest)),
    }
}

/// The first value of `bytes`, and the bytes after it.
///
/// # Errors
/// The parser's error about it.
pub fn value(bytes: &[u8]) -> serde_json::Result<(&[u8], &[u8])> {
    let bytes = blank(bytes);
    let mut stream = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    match stream.next() {
        Some(Ok(IgnoredAny)) => Ok(bytes.split_at(stream.byte_offset())),
        Some(Err(error)) => Err(error),
        None => Err(broken(bytes)),
    }
}

fn blank(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|byte| !b" \t\r\n".contains(byte)).unwrap_or(bytes.len());
    &bytes[start..]
}

/// The `serde_json` error for a place with unexpected content.
fn broken(rest: &[u8]) -> serde_json::Error {
    use serde::de::Error;
    if rest.is_empty() {
        // A premature end has an error kind of its own, which only the parser can make.
        serde_json::from_slice::<IgnoredAny>(b"[").err().unwrap_or_else(|| serde_json::Error::custom("end"))
    } else {
        serde_json::Error::custom(
            "a comma, a colon or a closing bracket is missing, or something follows the end",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::any_json;

    #[test]
    fn arrays_come_apart() {
        #[track_caller]
        fn check(json: &str, expected: &[&str]) {
            let parts = elements(json.as_bytes()).unwrap().unwrap();
            let parts: Vec<&str> = parts.into_iter().map(|part| std::str::from_utf8(part).unwrap()).collect();
            assert_eq!(parts, expected, "{json}");
        }
        check("[]", &[]);
        check(" [ ] ", &[]);
        check("[1]", &["1"]);
        check("[1,2.50 , 3e+1]", &["1", "2.50", "3e+1"]);
        check(r#"[ "a,]" , {"b":[1,2]},null,[ ] ]"#, &[r#""a,]""#, r#"{"b":[1,2]}"#, "null", "[ ]"]);
        check(r#"["\ud800",1]"#, &[r#""\ud800""#, "1"]);
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        check(&format!("[1,{deep},2]"), &["1", &deep, "2"]);
    }

    #[test]
    fn objects_come_apart() {
        let parts = members(br#" { "a" : 1, "b\u0063":{"x":"}"} } "#).unwrap().unwrap();
        assert_eq!(parts, [("a".to_owned(), b"1".as_slice()), ("bc".to_owned(), br#"{"x":"}"}"#)]);
        assert_eq!(members(b"{}").unwrap().unwrap(), []);
    }

    #[test]
    fn what_is_broken_is_an_error_and_an_early_end_is_known_as_such() {
        #[track_caller]
        fn check(json: &str, early_end: bool) {
            let error = match elements(json.as_bytes()) {
                Some(result) => result.unwrap_err(),
                None => members(json.as_bytes()).unwrap().unwrap_err(),
            };
            assert_eq!(error.is_eof(), early_end, "{json}: {error}");
        }
        for json in ["[", "[1", "[1,", "[\"a", "[[1]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "[tru"] {
            check(json, true);
        }
        for json in
            ["[1 2]", "[1]]", "[,]", "[1,]", "{\"a\" 1}", "{1:2}", "{\"a\":1}x", "[}", "[1;2]", "[truth]"]
        {
            check(json, false);
        }
    }

    #[test]
    fn other_values_are_neither() {
        for json in ["", "1", "null", "\"[\"", "<html>"] {
            assert!(elements(json.as_bytes()).is_none() && members(json.as_bytes()).is_none(), "{json}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_parts_are_what_the_parser_sees(values in proptest::collection::vec(any_json(), 0..6), pretty: bool) {
            let list = serde_json::Value::from(values.clone());
            let json = if pretty { serde_json::to_string_pretty(&list).unwrap() } else { list.to_string() };
            let read = |part: &[u8]| serde_json::from_slice::<serde_json::Value>(part).unwrap();
            let parts: Vec<_> = elements(json.as_bytes()).unwrap().unwrap().into_iter().map(read).collect();
            proptest::prop_assert_eq!(parts, values.clone());
            for value in values.iter().filter(|value| value.is_object()) {
                let json = value.to_string();
                let parts = members(json.as_bytes()).unwrap().unwrap().into_iter();
                let back: serde_json::Map<_, _> = parts.map(|(key, part)| (key, read(part))).collect();
                proptest::prop_assert_eq!(&serde_json::Value::Object(back), value);
            }
        }

        #[test]
        fn whatever_comes_it_neither_panics_nor_disagrees(bytes in "[\\[\\]{}\",:a1 \\\\-]{0,24}") {
            let value = serde_json::from_str::<serde_json::Value>(&bytes).ok();
            let array = elements(bytes.as_bytes()).is_some_and(|parts| parts.is_ok());
            let object = members(bytes.as_bytes()).is_some_and(|parts| parts.is_ok());
            proptest::prop_assert_eq!(array, value.as_ref().is_some_and(|value| value.is_array()));
            proptest::prop_assert_eq!(object, value.is_some_and(|value| value.is_object()));
        }
    }
}
