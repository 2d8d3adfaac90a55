//! What is asked of the service's search, and what it finds (API document, "Search").

use std::fmt;

use serde::{Deserialize, Serialize};

use super::WorkspaceId;

/// The most results that one search may ask for (API document, "Limits").
pub const HITS_MAX: u8 = 50;

/// One `GET /search`.
#[derive(Clone, PartialEq, Eq)]
pub struct Search {
    /// Which workspace; what belongs to none is found in every one.
    pub workspace: WorkspaceId,
    /// What is searched for, as a person typed it; never blank.
    pub words: String,
    /// How many results at most, from 1 to [`HITS_MAX`].
    pub limit: u8,
}

/// No log holds what is searched for.
impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

/// One result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// `page`, `board`, `whiteboard`, `presentation`, `mail`, `message`, or a kind that is newer than the document.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its title; for a message its conversation's.
    pub title: String,
    /// How its text begins, where it has one.
    pub snippet: Option<String>,
    /// A message's conversation.
    pub parent: Option<String>,
    /// Higher is better.
    pub rank: f64,
}

/// What a search found, best first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Found {
    /// Every result that could be understood.
    pub hits: Vec<Hit>,
    /// One sentence for each that could not.
    pub skipped: Vec<String>,
}
