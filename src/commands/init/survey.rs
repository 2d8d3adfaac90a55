//! What `init` learns from the service: whether the token is taken, which workspaces there are, and what the first
//! mirror will cost. Every request counts in the limiter.

use std::time::Duration;

use anyhow::{Result, bail};
use secrecy::SecretString;
use serde_json::Value;

use crate::cli::{output, permits, session};
use crate::config::Config;
use crate::daemon::control::Loan;
use crate::model::ServiceError;
use crate::service::{Client, Timeouts};

/// A service that does not answer within this time is told of, and not waited for.
const PATIENCE: Timeouts = Timeouts {
    connect: Duration::from_secs(8),
    read: Duration::from_secs(20),
    total: Duration::from_secs(30),
};

/// A workspace as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Space {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) slug: String,
    /// `owner, pro`, and `frozen` if it is.
    pub(super) hint: String,
}

impl Space {
    fn of(value: &Value) -> Option<Self> {
        let text = |key: &str| crate::logging::escape(value[key].as_str().unwrap_or_default());
        let mut hint = vec![text("role"), text("plan")];
        hint.retain(|word| !word.is_empty());
        if value["frozen"] == true {
            hint.push("frozen: read-only".to_owned());
        }
        let id = value["id"]
            .as_str()
            .filter(|id| id.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)))?;
        Some(Self { id: id.to_owned(), name: text("name"), slug: text("slug"), hint: hint.join(", ") })
    }

    /// Whether a person may mean it by this.
    pub(super) fn is_called(&self, name: &str) -> bool {
        [&self.id, &self.slug, &self.name].into_iter().any(|own| own == name)
    }

    /// What the config calls it.
    pub(super) fn key(&self) -> &str {
        if self.slug.is_empty() { &self.id } else { &self.slug }
    }
}

/// What will be mirrored, as far as lists show it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) spaces: u64,
    pub(super) pages: u64,
    pub(super) boards: u64,
    pub(super) decks: u64,
    pub(super) files: u64,
    pub(super) folders: u64,
    /// Whether something could not be counted.
    pub(super) is_partial: bool,
}

impl Cost {
    /// Requests that the first mirror takes at least: a page, a whiteboard, a stored file or a folder is one each, and
    /// so are lists. A presentation is one and one more for each slide, of which it has two or more as a rule.
    pub(super) fn requests(&self) -> u64 {
        1 + 2 * self.spaces + self.pages + self.boards + 1 + 3 * self.decks + 1 + self.folders + self.files
    }

    /// In words, with the minutes at this pace.
    pub(super) fn words(&self, per_minute: u32) -> String {
        let mut parts = vec![output::count(self.pages, "page", "pages")];
        for (number, one, many) in [
            (self.boards, "whiteboard", "whiteboards"),
            (self.decks, "presentation", "presentations"),
            (self.files, "stored file", "stored files"),
            (self.folders, "folder whose files are not counted", "folders whose files are not counted"),
        ] {
            if number > 0 {
                parts.push(output::count(number, one, many));
            }
        }
        let (requests, minutes) = (self.requests(), self.requests().div_ceil(u64::from(per_minute.max(1))));
        let more = if self.is_partial || self.folders > 0 || self.decks > 0 { "at least " } else { "about " };
        format!(
            "{}: {more}{}, {} at {per_minute} a minute",
            parts.join(", "),
            output::count(requests, "request", "requests"),
            output::count(minutes, "minute", "minutes"),
        )
    }
}

/// Asks the service, and keeps count.
pub(super) struct Asker {
    /// Whose limiter counts.
    limiter: Config,
    /// Requests made so far.
    pub(super) made: u32,
}

impl Asker {
    pub(super) fn new(limiter: Config) -> Self {
        Self { limiter, made: 0 }
    }

    pub(super) fn client(&self, base_url: &str, token: &SecretString) -> Result<Client> {
        Ok(Client::by(&session::way(&self.limiter), base_url, token.clone(), PATIENCE)?)
    }

    /// One request, when the limiter allows it.
    async fn ask(&mut self, client: &Client, path: &str, query: &str) -> Result<Result<Value, ServiceError>> {
        if self.made + 1 >= self.limiter.requests_per_minute.max(2) {
            bail!("init has used this minute's requests; run it again in a minute");
        }
        let loan = match permits::wait_for(&self.limiter, 1, Duration::from_secs(70)).await? {
            Loan::Given(lent) => lent,
            Loan::Later(wait) => {
                bail!("this minute's requests are used up; run espejo init again {}", output::until(wait))
            }
        };
        self.made += 1;
        let data = client.glimpse(path, query).await.data;
        permits::give_back(&self.limiter, loan, 1).await;
        Ok(data)
    }

    /// The workspaces that the token sees; the refusal of the service is the inner error.
    ///
    /// # Errors
    /// One sentence, when nothing may be asked now.
    pub(super) async fn workspaces(&mut self, client: &Client) -> Result<Result<Vec<Space>, ServiceError>> {
        Ok(match self.ask(client, "/workspaces", "").await? {
            Ok(Value::Array(list)) => Ok(list.iter().filter_map(Space::of).collect()),
            Ok(_) => Err(ServiceError::Garbled("the workspaces are not a list".to_owned())),
            Err(error) => Err(error),
        })
    }

    /// Counts what there is by the lists alone. What does not answer is left out and said to be.
    ///
    /// # Errors
    /// One sentence, when nothing may be asked now.
    pub(super) async fn cost(&mut self, client: &Client, spaces: &[Space], config: &Config) -> Result<Cost> {
        let mut cost = Cost { spaces: spaces.len() as u64, ..Cost::default() };
        let length = |value: &Value| value.as_array().map_or(0, |list| list.len() as u64);
        let room = |made: u32| made + 4 < config.requests_per_minute;
        for space in spaces {
            if !room(self.made) {
                cost.is_partial = true;
                break;
            }
            let query = format!("workspace_id={}", space.id);
            match self.ask(client, "/pages", &query).await? {
                Ok(list) => cost.pages += length(&list),
                Err(_) => cost.is_partial = true,
            }
            if config.whiteboards.enabled {
                match self.ask(client, "/whiteboards", &query).await? {
                    Ok(list) => cost.boards += length(&list),
                    Err(_) => cost.is_partial = true,
                }
            }
        }
        if config.presentations.enabled {
            match self.ask(client, "/presentations", "").await? {
                Ok(list) => cost.decks = length(&list),
                Err(_) => cost.is_partial = true,
            }
        }
        if config.storage.enabled {
            match self.ask(client, "/storage", "").await? {
                Ok(list) => (cost.files, cost.folders) = (length(&list["files"]), length(&list["folders"])),
                Err(_) => cost.is_partial = true,
            }
        }
        Ok(cost)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_mirror_is_counted_and_said_in_minutes() {
        for (cost, requests, words) in [
            (
                Cost { spaces: 1, pages: 1, ..Cost::default() },
                6,
                "1 page: about 6 requests, 1 minute at 60 a minute",
            ),
            (
                Cost { spaces: 2, pages: 1_204, boards: 3, files: 40, ..Cost::default() },
                1_254,
                "1,204 pages, 3 whiteboards, 40 stored files: about 1,254 requests, 21 minutes at 60 a minute",
            ),
            (
                Cost { spaces: 1, pages: 10, decks: 2, folders: 1, ..Cost::default() },
                22,
                "10 pages, 2 presentations, 1 folder whose files are not counted: at least 22 requests, 1 minute at 60 a minute",
            ),
        ] {
            assert_eq!((cost.requests(), cost.words(60).as_str()), (requests, words));
        }
    }

    #[test]
    fn a_workspace_is_shown_with_what_matters_and_nothing_that_harms() {
        let value = json!({ "id": "1-a", "name": "A\u{1b}[2J", "slug": "a", "role": "viewer", "plan": "pro", "frozen": true });
        let space = Space::of(&value).unwrap();
        assert_eq!(space.hint, "viewer, pro, frozen: read-only");
        assert!(!space.name.contains('\u{1b}') && space.is_called("a") && space.is_called("1-a"));
        assert_eq!(Space::of(&json!({ "id": "x&y=1" })), None);
    }
}
