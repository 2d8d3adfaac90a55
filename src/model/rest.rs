//! The fields of a thing that espejo does not work with, kept for `espejo export`.

use std::sync::Arc;

use serde_json::{Map, Value};

/// What the service said of a thing beyond what espejo reads, as the text of one JSON object: documented fields (a
/// workspace's `plan`, a file's `mime_type`) and any other. Nothing is decided by it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rest(Option<Arc<str>>);

impl Rest {
    /// What is left of an object without the fields that are read.
    #[must_use]
    pub fn of(object: &Map<String, Value>, read: &[&str]) -> Self {
        let left = object.iter().filter(|(key, _)| !read.contains(&key.as_str()));
        let left: Map<String, Value> = left.map(|(key, value)| (key.clone(), value.clone())).collect();
        Self((!left.is_empty()).then(|| Value::Object(left).to_string().into()))
    }

    /// As it was stored.
    #[must_use]
    pub fn stored(text: Option<&str>) -> Self {
        Self(text.map(Into::into))
    }

    /// To be stored; `None` when there is nothing.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Its fields behind those that were read.
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
