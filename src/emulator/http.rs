//! Requests and answers as plain values, and what every area needs to read and write them. Not HTTP itself: the
//! bytes on the wire are `server`'s.

use serde_json::{Map, Value, json};

use crate::model::read_json;

/// A request, as the service sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpRequest {
    /// `GET`, `POST`, `PATCH` or `DELETE`.
    pub method: String,
    /// The path beneath the base URL, with its leading `/`.
    pub path: String,
    /// What follows the `?`, percent-encoded; empty when nothing does.
    pub query: String,
    /// The `Authorization` header.
    pub authorization: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// An answer, and how it gets to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// How it arrives.
    pub delivery: Delivery,
}

/// How an answer gets to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Whole and at once.
    Whole,
    /// Whole, after this many milliseconds.
    After(u64),
    /// Never: the connection closes without a byte.
    Never,
    /// Never, and the request arrives after this many milliseconds.
    Late(u64),
    /// Its first bytes, this many; then the connection closes, though more were announced.
    Cut(usize),
}

impl HttpResponse {
    /// An answer with this JSON as its body.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self::bytes(status, "application/json; charset=utf-8", body.to_string().into_bytes())
    }

    /// An answer with these bytes as its body.
    #[must_use]
    pub fn bytes(status: u16, content_type: &str, body: Vec<u8>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body,
            delivery: Delivery::Whole,
        }
    }

    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A request that is refused: status and words.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) u16, pub(super) String);

/// What an area's rule comes to.
pub(super) type Answered = Result<HttpResponse, Refusal>;

/// `{ "data": … }` with 200.
pub(super) fn ok(data: Value) -> Answered {
    Ok(HttpResponse::json(200, &json!({ "data": data })))
}

/// `{ "data": … }` with 201.
pub(super) fn created(data: Value) -> Answered {
    Ok(HttpResponse::json(201, &json!({ "data": data })))
}

/// A refusal, ready to be returned.
pub(super) fn refuse<T>(status: u16, words: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(status, words.into()))
}

impl Refusal {
    /// `{ "error": … }`.
    pub(super) fn into_response(self) -> HttpResponse {
        HttpResponse::json(self.0, &json!({ "error": self.1 }))
    }
}

/// A query parameter, decoded; `None` when it is absent or empty.
pub(super) fn parameter(query: &str, name: &str) -> Option<String> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| decode(key) == name)
        .map(|(_, value)| decode(value))
        .filter(|value| !value.is_empty())
}

/// A body that must be a JSON object.
pub(super) fn object(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match read_json(body) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => refuse(400, "The body must be a JSON object"),
        Err(_) => refuse(400, "The body is not valid JSON"),
    }
}

/// Percent-decoding, with `+` for a space; what is no valid escape stays as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escape = match rest {
            [b'%', high, low, ..] => hex(*high).zip(hex(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        match escape {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[3..];
            }
            None => {
                bytes.push(if *first == b'+' { b' ' } else { *first });
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        #[track_caller]
        fn check(query: &str, expected: Option<&str>) {
            assert_eq!(parameter(query, "q").as_deref(), expected, "{query:?}");
        }
        check("", None);
        check("q=", None);
        check("q", None);
        check("q=a", Some("a"));
        check("x=1&q=a+b%20c&y=2", Some("a b c"));
        check("q=caf%C3%A9", Some("café"));
        check("q=100%&q=2", Some("100%"));
        check("q=%zz%4", Some("%zz%4"));
    }
}
