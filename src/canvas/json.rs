//! Where the parts of a JSON text lie, so that one value can be replaced and every other byte stays. Not a parser of
//! values: `serde_json` is that, and has accepted the text before anything here looks at it.

use std::ops::Range;

use serde::de::IgnoredAny;

/// A key of an object and where it and its value stand.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) key: String,
    /// From the key's opening quote to the value's end.
    pub(super) whole: Range<usize>,
    pub(super) value: Range<usize>,
}

/// The members of the object at `at`.
pub(super) fn members(text: &str, at: &Range<usize>) -> Vec<Member> {
    let mut found = Vec::new();
    each(text, at, |start, end_of| {
        let key_end = end_of(start);
        let key = serde_json::from_str(&text[start..key_end]).unwrap_or_default();
        let colon = skip(text, key_end) + 1;
        let value = skip(text, colon);
        let end = end_of(value);
        found.push(Member { key, whole: start..end, value: value..end });
        end
    });
    found
}

/// The values of the array at `at`.
pub(super) fn values(text: &str, at: &Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    each(text, at, |start, end_of| {
        let end = end_of(start);
        found.push(start..end);
        end
    });
    found
}

/// The value that the whole text is.
pub(super) fn whole(text: &str) -> Range<usize> {
    skip(text, 0)..text.trim_end().len()
}

/// Calls `item` with the start of each item between the brackets; it answers with the item's end.
fn each(text: &str, at: &Range<usize>, mut item: impl FnMut(usize, &dyn Fn(usize) -> usize) -> usize) {
    let end_of = |start: usize| {
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<IgnoredAny>();
        // The text is valid, so there is a value; a wrong end would only be this one item's.
        drop(stream.next());
        start + stream.byte_offset()
    };
    let mut position = skip(text, at.start + 1);
    while position + 1 < at.end {
        let before = position;
        position = skip(text, item(position, &end_of));
        if text.as_bytes().get(position) == Some(&b',') {
            position = skip(text, position + 1);
        }
        if position <= before {
            return;
        }
    }
}

fn skip(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.bytes().take_while(|byte| b" \t\r\n".contains(byte)).count()
}

/// Replaces parts of a text; the parts do not overlap.
pub(super) fn replaced(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = String::with_capacity(text.len() + 64);
    let mut done = 0;
    for (range, new) in edits {
        out.push_str(&text[done..range.start]);
        out.push_str(&new);
        done = range.end;
    }
    out.push_str(&text[done..]);
    out
}

/// The last `old` in a text replaced.
pub(super) fn replaced_once(text: &str, old: &str, new: &str) -> String {
    match text.rfind(old) {
        Some(at) => replaced(text, vec![(at..at + old.len(), new.to_owned())]),
        None => text.to_owned(),
    }
}

/// A text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_where_they_stand() {
        #[track_caller]
        fn check(text: &str, expected: &[&str]) {
            let at = whole(text);
            let found: Vec<&str> = match text.trim_start().as_bytes()[0] {
                b'[' => values(text, &at).into_iter().map(|range| &text[range]).collect(),
                _ => members(text, &at).into_iter().map(|member| &text[member.value]).collect(),
            };
            assert_eq!(found, expected, "{text}");
        }
        check("[]", &[]);
        check(" [ ] ", &[]);
        check("[1]", &["1"]);
        check("[ 1.50 ,\"a]\", [2,3] ,{\"b\":[1]}]", &["1.50", "\"a]\"", "[2,3]", "{\"b\":[1]}"]);
        check("{}", &[]);
        check("\n{ \"a\" : 1 , \"é\\n\":{\"x\":\"}\"}\n}\n", &["1", "{\"x\":\"}\"}"]);
        let many = members("{\"a\":1,\"b\" :\"x\"}", &(0..16));
        assert_eq!(
            many.iter().map(|m| (m.key.as_str(), m.whole.clone())).collect::<Vec<_>>(),
            [("a", 1..6), ("b", 7..15)]
        );
    }
}
