//! `GET /search`: every kind of result of the API document, with its rules. How words match stands in `query` and `text`,
//! what a match is worth in `rank`; boards, mail and messages, which the rest of the API does not show, live here and nowhere
//! else.
//!
//! Where the document is silent: the page text is the text of its blocks, a line each, without its title; "better text
//! match" is PostgreSQL's `ts_rank`, as `Choices` has it; a workspace that the caller does not belong to finds what
//! belongs to no workspace; a limit that is no number is the default; mail belongs to no workspace, a conversation may.

mod common;
mod query;
mod rank;
mod text;

use serde_json::{Value, json};

use super::http::{Answered, ok, parameter, refuse};
use super::world::World;
use crate::model::WorkspaceId;
pub use query::Query;
pub use rank::{Ranking, Weight};
pub use text::Text;

/// The longest snippet, in characters.
const SNIPPET: usize = 140;

/// What a search finds that has no area of its own here.
#[derive(Debug, Clone, Default)]
pub(super) struct Elsewhere {
    boards: Vec<Board>,
    mails: Vec<Mail>,
    conversations: Vec<Conversation>,
}

#[derive(Debug, Clone)]
struct Board {
    id: String,
    workspace: WorkspaceId,
    name: String,
}

#[derive(Debug, Clone)]
struct Mail {
    id: String,
    subject: String,
    takes_part: bool,
}

#[derive(Debug, Clone)]
struct Conversation {
    id: String,
    workspace: Option<WorkspaceId>,
    /// `None` for direct messages.
    name: Option<String>,
    takes_part: bool,
    messages: Vec<(String, String)>,
}

/// One result.
struct Found {
    kind: &'static str,
    id: String,
    title: String,
    snippet: Option<String>,
    parent: Option<String>,
    rank: f64,
}

impl Found {
    fn named(kind: &'static str, id: &str, title: &str, rank: f64) -> Self {
        Self { kind, id: id.to_owned(), title: title.to_owned(), snippet: None, parent: None, rank }
    }

    fn to_json(&self) -> Value {
        json!({
            "kind": self.kind,
            "id": self.id,
            "title": self.title,
            "snippet": self.snippet,
            "parent_id": self.parent,
            "rank": self.rank,
        })
    }
}

impl World {
    /// A user makes a board (not a whiteboard), which only a search shows. Its id.
    pub fn app_add_board(&mut self, workspace: &WorkspaceId, name: &str) -> String {
        let id = self.ids.uuid();
        let board = Board { id: id.clone(), workspace: workspace.clone(), name: name.to_owned() };
        self.elsewhere.boards.push(board);
        id
    }

    /// A user begins a thread of mail; the caller takes part in it or does not. Its id.
    pub fn app_add_mail(&mut self, subject: &str, takes_part: bool) -> String {
        let id = self.ids.uuid();
        self.elsewhere.mails.push(Mail { id: id.clone(), subject: subject.to_owned(), takes_part });
        id
    }

    /// A user begins a conversation: in a workspace, or direct messages when it has neither workspace nor name. Its id.
    pub fn app_add_conversation(
        &mut self,
        workspace: Option<&WorkspaceId>,
        name: Option<&str>,
        takes_part: bool,
    ) -> String {
        let id = self.ids.uuid();
        self.elsewhere.conversations.push(Conversation {
            id: id.clone(),
            workspace: workspace.cloned(),
            name: name.map(str::to_owned),
            takes_part,
            messages: Vec::new(),
        });
        id
    }

    /// A user writes a message; its id, unless there is no such conversation.
    pub fn app_add_message(&mut self, conversation: &str, text: &str) -> Option<String> {
        let id = self.ids.uuid();
        let conversation = self.elsewhere.conversations.iter_mut().find(|one| one.id == conversation)?;
        conversation.messages.push((id.clone(), text.to_owned()));
        Some(id)
    }

    /// `GET /search`.
    pub(super) fn search(&self, query: &str) -> Answered {
        if self.choices.longest_search.is_some_and(|longest| query.len() > longest) {
            return refuse(self.choices.long_search_status, "the query is too long");
        }
        let Some(workspace) = parameter(query, "workspace_id") else {
            return refuse(400, "workspace_id is required");
        };
        let asked = parameter(query, "q").unwrap_or_default();
        let asked = asked.trim();
        if asked.is_empty() {
            return refuse(400, "q is required and must not be blank");
        }
        let limit = parameter(query, "limit").and_then(|limit| limit.parse::<f64>().ok());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped before")]
        let limit = limit.filter(|limit| !limit.is_nan()).unwrap_or(20.0).clamp(1.0, 50.0) as usize;
        let mut found = self.found(&workspace, asked);
        found.sort_by(|a, b| b.rank.total_cmp(&a.rank).then_with(|| a.title.cmp(&b.title)));
        ok(found.iter().take(limit).map(Found::to_json).collect())
    }

    fn found(&self, workspace: &str, asked: &str) -> Vec<Found> {
        let query = Query::new(asked);
        let ranking = self.choices.ranking;
        let lower = asked.to_lowercase();
        let contains = |name: &str| name.to_lowercase().contains(&lower);
        let mut found = Vec::new();
        let pages = WorkspaceId::new(workspace).map(|id| self.visible_pages(&id)).unwrap_or_default();
        for page in pages {
            let words = text::of_blocks(&page.content);
            let text = Text::new(&words, ranking.weight);
            let rank = if query.matches(&text) {
                ranking.shown(1.0, &query, &text)
            } else if contains(&page.title) {
                1.0
            } else {
                continue;
            };
            let snippet = Some(words.chars().take(SNIPPET).collect());
            found.push(Found { snippet, ..Found::named("page", page.id.as_str(), &page.title, rank) });
        }
        let here = self.membership(workspace).map(|space| &space.id);
        for board in self.elsewhere.boards.iter().filter(|board| Some(&board.workspace) == here) {
            if contains(&board.name) {
                found.push(Found::named("board", &board.id, &board.name, 0.9));
            }
        }
        let boards = self.whiteboards.values().filter(|board| Some(&board.workspace) == here);
        for board in boards.filter(|board| !board.trashed && !board.hidden && contains(&board.name)) {
            found.push(Found::named("whiteboard", board.id.as_str(), &board.name, 0.9));
        }
        let decks = self.presentations.values().filter(|deck| !deck.trashed && !deck.hidden);
        for deck in decks.filter(|deck| contains(&deck.name)) {
            found.push(Found::named("presentation", deck.id.as_str(), &deck.name, 0.9));
        }
        for mail in self.elsewhere.mails.iter().filter(|mail| mail.takes_part && contains(&mail.subject)) {
            found.push(Found::named("mail", &mail.id, &mail.subject, 0.8));
        }
        let is_open = |one: &&Conversation| {
            one.takes_part && one.workspace.as_ref().is_none_or(|space| Some(space) == here)
        };
        for one in self.elsewhere.conversations.iter().filter(is_open) {
            for (id, words) in &one.messages {
                let text = Text::new(words, ranking.weight);
                if !query.matches(&text) {
                    continue;
                }
                let rank = ranking.shown(0.0, &query, &text);
                found.push(Found {
                    snippet: Some(words.chars().take(SNIPPET).collect()),
                    parent: Some(one.id.clone()),
                    ..Found::named("message", id, one.name.as_deref().unwrap_or("Chat"), rank)
                });
            }
        }
        found
    }
}

#[cfg(test)]
mod rank_tests;
#[cfg(test)]
mod tests;
