//! JSON printed as `serde_json` prints its value, without making the value: that takes four times as long, and many
//! times the memory.

use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use super::deep::read_seed;

/// How `serde_json` names a number: the only key of an object whose value is the number's text.
const NUMBER: &str = "$serde_json::private::Number";

/// An object with more keys is left to the usual way: each key is compared with all before it.
const KEYS_MAX: usize = 64;

/// Compact JSON of an array of blocks, as a parsed `Value` would be printed. `None` if it is no such array or an object
/// in it is unusual: it has one key twice, or very many keys.
pub(super) fn blocks(json: &[u8]) -> Option<String> {
    let mut printer = Printer { out: String::with_capacity(json.len()), keys: Vec::new() };
    read_seed(json, Blocks(&mut printer)).ok()?;
    Some(printer.out)
}

struct Printer {
    out: String,
    /// Where the keys of the objects that are open stand in `out`.
    keys: Vec<Range<usize>>,
}

impl Printer {
    /// Text that stood between quotes without an escape. The printer escapes nothing in it either.
    fn plain(&mut self, text: &str) {
        self.out.push('"');
        self.out.push_str(text);
        self.out.push('"');
    }

    fn text<E: Error>(&mut self, text: &str) -> Result<(), E> {
        self.out.push_str(&serde_json::to_string(text).map_err(E::custom)?);
        Ok(())
    }

    /// Prints the entries up to the end of a list.
    fn list<'de, A: SeqAccess<'de>>(
        &mut self,
        mut list: A,
        is_right: impl Fn(Kind) -> bool,
    ) -> Result<(), A::Error> {
        self.out.push('[');
        let begin = self.out.len();
        while let Some(kind) = list.next_element_seed(One(self))? {
            if !is_right(kind) {
                return Err(A::Error::custom("an entry is no block"));
            }
            self.out.push(',');
        }
        self.end(begin, ']');
        Ok(())
    }

    /// Closes what began at `begin`, each entry of which was followed by a comma.
    fn end(&mut self, begin: usize, close: char) {
        if self.out.len() > begin {
            self.out.pop();
        }
        self.out.push(close);
    }
}

/// What was printed.
#[derive(PartialEq)]
enum Kind {
    Text,
    /// An object with a text under `type`.
    Block,
    Other,
}

/// A list of blocks.
struct Blocks<'p>(&'p mut Printer);

impl<'de> DeserializeSeed<'de> for Blocks<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Blocks<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of blocks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        self.0.list(list, |kind| kind == Kind::Block)
    }
}

/// Any value.
struct One<'p>(&'p mut Printer);

impl<'de> DeserializeSeed<'de> for One<'_> {
    type Value = Kind;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Kind, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for One<'_> {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        self.0.out.push_str("null");
        Ok(Kind::Other)
    }

    fn visit_bool<E>(self, is: bool) -> Result<Kind, E> {
        self.0.out.push_str(if is { "true" } else { "false" });
        Ok(Kind::Other)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Kind, E> {
        self.0.out.push_str(Number::from(number).as_str());
        Ok(Kind::Other)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Kind, E> {
        self.0.out.push_str(Number::from(number).as_str());
        Ok(Kind::Other)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Kind, E> {
        self.0.plain(text);
        Ok(Kind::Text)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Kind, E> {
        self.0.text(text)?;
        Ok(Kind::Text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Kind, A::Error> {
        self.0.list(list, |_| true)?;
        Ok(Kind::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Kind, A::Error> {
        let printer = self.0;
        let (begin, first) = (printer.out.len(), printer.keys.len());
        let mut found = Kind::Other;
        printer.out.push('{');
        while let Some(key) = map.next_key_seed(Key(printer))? {
            let Some(key) = key else {
                // What is no object in JSON has this as its first key, and no other follows.
                printer.out.truncate(begin);
                let number: Number = map.next_value::<String>()?.parse().map_err(A::Error::custom)?;
                printer.out.push_str(number.as_str());
                return if printer.keys.len() == first {
                    Ok(found)
                } else {
                    Err(A::Error::custom("a number"))
                };
            };
            let name = &printer.out[key.clone()];
            let is_type = name == "type";
            if printer.keys[first..].iter().any(|other| printer.out[other.clone()] == *name) {
                return Err(A::Error::custom("a key is there twice"));
            }
            printer.keys.push(key);
            if printer.keys.len() - first > KEYS_MAX {
                return Err(A::Error::custom("there are too many keys"));
            }
            printer.out.push(':');
            let kind = map.next_value_seed(One(printer))?;
            if is_type && kind == Kind::Text {
                found = Kind::Block;
            }
            printer.out.push(',');
        }
        printer.keys.truncate(first);
        printer.end(begin + 1, '}');
        Ok(found)
    }
}

/// A key: where its text stands between its quotes, or nothing for the one that names a number.
struct Key<'p>(&'p mut Printer);

impl Key<'_> {
    fn printed<E>(
        self,
        print: impl FnOnce(&mut Printer) -> Result<(), E>,
    ) -> Result<Option<Range<usize>>, E> {
        let from = self.0.out.len() + 1;
        print(self.0)?;
        Ok(Some(from..self.0.out.len() - 1))
    }
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<Range<usize>>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key<'_> {
    type Value = Option<Range<usize>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        if text == NUMBER {
            return Ok(None);
        }
        self.printed(|printer| {
            printer.plain(text);
            Ok(())
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        if text == NUMBER {
            return Ok(None);
        }
        self.printed(|printer| printer.text(text))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::model::tests::any_json;

    /// As it was done before, and is still where this gives up.
    fn usual(json: &str) -> Option<String> {
        let value: Value = serde_json::from_str(json).ok()?;
        let is_block = |block: &Value| block.get("type").is_some_and(Value::is_string);
        value.as_array()?.iter().all(is_block).then(|| value.to_string())
    }

    #[track_caller]
    fn check(json: &str, is_printed: bool) {
        let printed = blocks(json.as_bytes());
        assert_eq!(printed.is_some(), is_printed, "{json}");
        assert!(printed.is_none() || printed == usual(json), "{json}\n{printed:?}\n{:?}", usual(json));
    }

    #[test]
    fn it_prints_what_a_value_of_it_prints() {
        for inside in [
            r#""a":[],"b":{},"c":[ [ ] , { } ]"#,
            r#""n":[1,1.0,-0,-0.00e5,1E+5,123456789012345678901234567890.5]"#,
            r#""s":"\u00e9\/\n\u0007\"\\ \ud83d\ude00 é😀","\u0061\n":null,"t":true,"f":false"#,
            r#""n":{"$serde_json::private::Number":"1"},"m":{"\u0024serde_json::private::Number":"2"}"#,
            r#""type2":"x","":"" ,"deep":[[[{"type":1}]]]"#,
        ] {
            check(&format!(r#"  [ {{"type" : "p" , {inside} }} , {{ {inside},"\u0074ype":"p"}}]  "#), true);
        }
        check("[ ]", true);
    }

    #[test]
    fn what_is_unusual_or_no_list_of_blocks_is_left() {
        for json in [
            "{}",
            "[1]",
            r#"[{"type":1}]"#,
            r#"[{"id":"a"}]"#,
            r#"[{"type":"p","type":"q"}]"#,
            r#"[{"type":"p","a":1,"\u0061":2}]"#,
            r#"[{"type":"p","a":"\ud800"}]"#,
            r#"[{"type":"p"},]"#,
            r#"[{"type":"p"}] x"#,
            r#"[{"type":"p","n":{"a":1,"$serde_json::private::Number":"1"}}]"#,
            r#"[{"type":"p","n":{"$serde_json::private::Number":"x"}}]"#,
            r#"[{"type":"p","n":{"a":1,"\u0024serde_json::private::Number":"1"}}]"#,
        ] {
            check(json, false);
        }
        let keys: Vec<String> = (0..KEYS_MAX).map(|n| format!(r#""k{n}":{n}"#)).collect();
        check(&format!(r#"[{{"type":"p",{}}}]"#, keys.join(",")), false);
        check(&format!(r#"[{{"type":"p",{}}}]"#, keys[1..].join(",")), true);
    }

    proptest::proptest! {
        #[test]
        fn whatever_comes_it_prints_that_or_leaves_it(
            values in proptest::collection::vec(any_json(), 0..6),
            pretty: bool,
        ) {
            let list = Value::Array(
                values.into_iter().map(|inside| serde_json::json!({ "in": inside, "type": "p" })).collect(),
            );
            let json = if pretty { serde_json::to_string_pretty(&list).unwrap() } else { list.to_string() };
            proptest::prop_assert_eq!(blocks(json.as_bytes()), Some(list.to_string()));
        }
    }
}
