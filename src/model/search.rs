//! Queries to the service's search, and its results (API document, "Search").

use std::fmt;

use serde::{Deserialize, Serialize};

use super::WorkspaceId;

/// The most results that one search may ask for (API document, "Limits").
pub const HITS_MAX: u8 = 50;

/// One `GET /search`.
#[derive(Clone, PartialEq, Eq)]
pub struct Search {
    /// The workspace; items that belong to no workspace are found in each one.
    pub workspace: WorkspaceId,
    /// The query as the user typed it; never blank.
    pub words: String,
    /// How many results at most, from 1 to [`HITS_MAX`].
    pub limit: u8,
}

/// Hides the query, because no log may hold it.
impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

/// One result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// `page`, `board`, `whiteboard`, `presentation`, `mail`, `message`, or a kind that the document does not list.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its title; for a message the title of its conversation.
    pub title: String,
    /// The beginning of its text, if it has one.
    pub snippet: Option<String>,
    /// A message's conversation.
    pub parent: Option<String>,
    /// Higher is better.
    pub rank: f64,
}

/// The results of a search, best first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Found {
    /// Each result that could be parsed.
    pub hits: Vec<Hit>,
    /// One sentence for each result that could not be parsed.
    pub skipped: Vec<String>,
}
