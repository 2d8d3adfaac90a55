//! One plain look at one address, for `init` and `doctor`: whether it answers, what it says, and what time it is there.

use serde_json::Value;

use super::client::Client;
use super::wire;
use crate::model::{ServiceError, Timestamp};

/// What a look showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Glimpse {
    /// What stands under `data`, or why there is nothing.
    pub data: Result<Value, ServiceError>,
    /// The service's clock, to the second.
    pub time: Option<Timestamp>,
}

impl Client {
    /// `GET` of a path beneath the base URL. It is one request, and the caller sees to the limit.
    pub async fn glimpse(&self, path: &str, query: &str) -> Glimpse {
        match self.get(path, query).await {
            Ok(answer) => Glimpse { data: wire::plain(&answer), time: wire::time_of(&answer) },
            Err(error) => Glimpse { data: Err(error), time: None },
        }
    }
}
