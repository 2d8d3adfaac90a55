//! What a canvas file says about whose it is: `"espejo": {"id": "…"}` at the top. Programs may drop it.

use serde_json::{Value, json};

use super::json::{self as spans, quoted};
use super::patch::last;
use super::read::{MARK, OWN_KEY};

/// The id of the whiteboard or presentation that a file says it is.
#[must_use]
pub fn claim(text: &str) -> Option<String> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    let top: Value = serde_json::from_str(text).ok()?;
    let id = top.get(OWN_KEY)?.get("id")?.as_str()?;
    (!id.is_empty()).then(|| id.to_owned())
}

/// A valid file that says this id; every other byte stays.
#[must_use]
pub fn with_claim(text: &str, id: &str) -> String {
    if let Some(unmarked) = text.strip_prefix(MARK) {
        return format!("{MARK}{}", with_claim(unmarked, id));
    }
    if claim(text).as_deref() == Some(id) {
        return text.to_owned();
    }
    let whole = spans::whole(text);
    let top = spans::members(text, &whole);
    let own = json!({ "id": id }).to_string();
    let edit = match (last(&top, OWN_KEY), top.first()) {
        (Some(there), _) if text[there.value.clone()].starts_with('{') => {
            let inside = spans::members(text, &there.value);
            let start = there.value.start + 1;
            match (last(&inside, "id"), inside.is_empty()) {
                (Some(member), _) => (member.value.clone(), quoted(id)),
                (None, is_empty) => {
                    (start..start, format!("\"id\":{}{}", quoted(id), if is_empty { "" } else { "," }))
                }
            }
        }
        (Some(there), _) => (there.value.clone(), own),
        (None, Some(first)) => {
            let space = &text[whole.start + 1..first.whole.start];
            let at = first.whole.start;
            (at..at, format!("{}:{own},{space}", quoted(OWN_KEY)))
        }
        (None, None) => {
            let at = whole.start + 1;
            (at..at, format!("{}:{own}", quoted(OWN_KEY)))
        }
    };
    spans::replaced(text, vec![edit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_written_beside_everything_else_and_read_again() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let out = with_claim(text, "p-1");
            assert_eq!(out, expected);
            assert_eq!(claim(&out).as_deref(), Some("p-1"));
            assert_eq!(with_claim(&out, "p-1"), out);
        }
        check("{}", "{\"espejo\":{\"id\":\"p-1\"}}");
        check("{\n\t\"nodes\":[]\n}\n", "{\n\t\"espejo\":{\"id\":\"p-1\"},\n\t\"nodes\":[]\n}\n");
        check("\u{feff}{\"a\":1}", "\u{feff}{\"espejo\":{\"id\":\"p-1\"},\"a\":1}");
        check("{\"a\":1,\"espejo\":{ }}", "{\"a\":1,\"espejo\":{\"id\":\"p-1\" }}");
        check("{\"espejo\":{\"note\":\"n\"}}", "{\"espejo\":{\"id\":\"p-1\",\"note\":\"n\"}}");
        check(
            "{\"espejo\" : {\"id\": \"p-2\" }, \"x\":[1.50]}",
            "{\"espejo\" : {\"id\": \"p-1\" }, \"x\":[1.50]}",
        );
        check("{\"espejo\":7}", "{\"espejo\":{\"id\":\"p-1\"}}");
        for silent in
            ["", "{", "[]", "{\"espejo\":{}}", "{\"espejo\":{\"id\":3}}", "{\"espejo\":{\"id\":\"\"}}"]
        {
            assert_eq!(claim(silent), None, "{silent}");
        }
    }
}
