//! The difference of two contents, computed from their JSON texts: only the blocks that differ are parsed, not a page
//! of thousands of blocks.

use serde_json::Value;

use crate::model::{Blocks, block_ids, parts, read_json};

/// The most new blocks whose ids are searched for in the common part. With more new blocks, parsing the whole content
/// is better.
const LOOKED_FOR: usize = 8;

/// Two contents without the byte-identical top-level blocks at both ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Apart<'a> {
    /// The blocks of the first content between them.
    pub before: Blocks,
    /// The blocks of the second content between them.
    pub after: Blocks,
    /// The JSON of the common parts, at the beginning and at the end.
    around: [&'a str; 2],
}

impl<'a> Apart<'a> {
    /// Computes the difference of two contents in the form that [`crate::model::Body::json`] prints; `None` if they
    /// must be parsed as a whole.
    #[must_use]
    pub fn of(before: &'a str, after: &str) -> Option<Self> {
        let (old, new) = (before.as_bytes(), after.as_bytes());
        let same = alike(old.iter().zip(new));
        let mut start = 1;
        let mut end = end_of_value(old, start)?;
        // Both texts have this comma, so all bytes before it are equal and the next block begins at the same offset
        // in both.
        while end < same && old.get(end) == Some(&b',') {
            start = end + 1;
            end = end_of_value(old, start)?;
        }
        let same = alike(old.get(start..)?.iter().rev().zip(new.get(start..)?.iter().rev()));
        while end < old.len() - same {
            if old.get(end) != Some(&b',') {
                return None;
            }
            end = end_of_value(old, end + 1)?;
        }
        let new_end = new.len() - (old.len() - end);
        Some(Self {
            before: read(before.get(start..end)?)?,
            // Each range holds whole values, from the start of a value to a comma or the bracket, so any JSON parser
            // finds the same values.
            after: read(after.get(start..new_end)?)?,
            around: [before.get(..start)?, before.get(end..)?],
        })
    }

    /// Whether both contents mean the same.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        crate::model::semantically_equal(&self.before, &self.after)
    }

    /// Whether a block that only one content has may have the id of a block in the common part.
    #[must_use]
    pub fn may_double_an_id(&self) -> bool {
        let known = block_ids(&self.before);
        let new: Vec<&str> = block_ids(&self.after).difference(&known).copied().collect();
        let is_around = |id: &str| {
            let quoted = Value::from(id).to_string();
            self.around.iter().any(|json| json.contains(&quoted))
        };
        new.len() > LOOKED_FOR || new.into_iter().any(is_around)
    }
}

/// The number of equal pairs at the beginning.
fn alike<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> usize {
    pairs.take_while(|(one, other)| one == other).count()
}

/// The offset at which the value that begins at `start` ends.
fn end_of_value(json: &[u8], start: usize) -> Option<usize> {
    let (_, rest) = parts::value(json.get(start..)?).ok()?;
    Some(json.len() - rest.len())
}

fn read(elements: &str) -> Option<Blocks> {
    read_json(format!("[{elements}]").as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::model::Body;

    fn block(number: u32) -> Value {
        // Some blocks have equal ends, and some are not objects.
        match number % 7 {
            0 => json!({ "id": number.to_string(), "text": "ñ]},{\"", "children": [{ "id": "same" }] }),
            1 => json!(number),
            _ => json!({ "id": number.to_string(), "text": "a".repeat(number as usize), "children": [] }),
        }
    }

    fn apart(old: &[u32], new: &[u32]) -> Option<(usize, usize)> {
        let [old, new] = [old, new].map(|numbers| numbers.iter().copied().map(block).collect::<Blocks>());
        let (before, after) = (Body::json(&old), Body::json(&new));
        let apart = Apart::of(&before, &after)?;
        // The common parts and the rest of a content, put together, are that content.
        let [head, tail] = apart.around;
        let whole = |between: &[Value]| {
            let between = Body::json(between);
            format!("{head}{}{tail}", &between[1..between.len() - 1])
        };
        assert_eq!((whole(&apart.before), whole(&apart.after)), (before.clone(), after.clone()));
        assert_eq!(apart.is_equal(), old == new);
        Some((apart.before.len(), apart.after.len()))
    }

    #[test]
    fn only_what_an_edit_touches_is_read() {
        let old: Vec<u32> = (10..40).collect();
        let edited = |place: std::ops::Range<usize>, by: &[u32]| {
            let mut new = old.clone();
            new.splice(place, by.iter().copied());
            apart(&old, &new).unwrap()
        };
        assert_eq!(edited(9..10, &[90]), (1, 1));
        assert_eq!(edited(0..1, &[90]), (1, 1));
        assert_eq!(edited(29..30, &[90]), (1, 1));
        // A neighbour may be parsed as well.
        assert_eq!(edited(9..9, &[90]), (1, 2));
        assert_eq!(edited(0..0, &[90]), (1, 2));
        assert_eq!(edited(30..30, &[90]), (1, 2));
        assert_eq!(edited(9..10, &[]), (2, 1));
        assert_eq!(edited(29..30, &[]), (2, 1));
        assert_eq!(edited(3..25, &[]), (23, 1));
        assert_eq!(edited(0..30, &[]), (30, 0));
        assert_eq!(edited(0..0, &[]), (1, 1));
    }

    #[test]
    fn what_is_no_list_of_blocks_is_left_to_others() {
        for [before, after] in [["[]", "[1]"], ["{}", "{}"], ["", "[]"], ["[1", "[1]"]] {
            assert_eq!(Apart::of(before, after), None, "{before} {after}");
        }
    }

    #[test]
    fn an_id_that_stays_elsewhere_is_seen() {
        let before = r#"[{"id":"a"},{"id":"b","children":[{"id":"c"}]},{"id":"d"}]"#;
        let check = |between: &str, expected| {
            let after = format!(r#"[{{"id":"a"}},{between},{{"id":"d"}}]"#);
            assert_eq!(Apart::of(before, &after).unwrap().may_double_an_id(), expected, "{between}");
        };
        check(r#"{"id":"c","children":[{"id":"b"},{"id":"new"}]}"#, false);
        check(r#"{"id":"a"}"#, true);
        check(r#"{"id":"b","children":[{"id":"d"}]}"#, true);
        let many: Vec<String> = (0..=LOOKED_FOR).map(|number| format!(r#"{{"id":"n{number}"}}"#)).collect();
        check(&many.join(","), true);
    }

    proptest! {
        #[test]
        fn parts_make_up_the_whole(
            old in prop::collection::vec(8_u32..30, 1..12),
            place in 0_usize..12,
            length in 0_usize..4,
            by in prop::collection::vec(8_u32..30, 0..4),
        ) {
            let mut new = old.clone();
            let place = place.min(old.len());
            new.splice(place..(place + length).min(old.len()), by);
            prop_assert!(apart(&old, &new).is_some());
        }
    }
}
