//! Fields that espejo does not use, kept for `espejo export`.

use std::sync::Arc;

use serde_json::{Map, Value};

/// The service's fields of an item that espejo does not parse, as the text of one JSON object: documented ones (a
/// workspace's `plan`, a file's `mime_type`) and unknown ones. No decision depends on them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rest(Option<Arc<str>>);

impl Rest {
    /// The fields of an object that are not in `read`.
    #[must_use]
    pub fn of(object: &Map<String, Value>, read: &[&str]) -> Self {
        let left = object.iter().filter(|(key, _)| !read.contains(&key.as_str()));
        let left: Map<String, Value> = left.map(|(key, value)| (key.clone(), value.clone())).collect();
        Self((!left.is_empty()).then(|| Value::Object(left).to_string().into()))
    }

    /// The fields as stored.
    #[must_use]
    pub fn stored(text: Option<&str>) -> Self {
        Self(text.map(Into::into))
    }

    /// The text to store; `None` if there are no fields.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Appends its fields to those in `read`.
    #[must_use]
    pub fn behind(&self, mut read: Value) -> Value {
        let left = self.text().and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
        if let (Some(read), Some(left)) = (read.as_object_mut(), left) {
            for (key, value) in left {
                read.entry(key).or_insert(value);
            }
        }
        read
    }
}
