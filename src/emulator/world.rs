//! The state of the service, and the way of a request through it: bad luck, token, scope, limit, route.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;

use super::canvas::{PresentationRecord, WhiteboardRecord};
use super::downloads::Downloads;
use super::faults::{Faults, Moment};
use super::http::{Answered, HttpRequest, HttpResponse, refuse};
use super::limit::{Limit, Window};
use super::log::{LogEntry, RequestLog};
use super::pages::PageRecord;
use super::rng::Rng;
use super::search::Ranking;
use super::storage::Storage;
use super::workspaces::WorkspaceRecord;
use crate::model::{BoardId, DeckId, PageId, Timestamp, read_json};

/// The service as one caller sees it.
#[derive(Debug, Clone)]
pub struct World {
    pub(super) ids: Rng,
    pub(super) token: String,
    pub(super) choices: Choices,
    pub(super) workspaces: Vec<WorkspaceRecord>,
    pub(super) pages: BTreeMap<PageId, PageRecord>,
    /// How many pages were ever made: the order among equal positions.
    pub(super) pages_made: u64,
    pub(super) whiteboards: BTreeMap<BoardId, WhiteboardRecord>,
    pub(super) presentations: BTreeMap<DeckId, PresentationRecord>,
    /// How many whiteboards and presentations were ever made.
    pub(super) canvases_made: u64,
    /// The caller's own user id.
    pub(super) caller: String,
    pub(super) storage: Storage,
    pub(super) downloads: Downloads,
    pub(super) elsewhere: super::search::Elsewhere,
    pub(super) faults: Faults,
    limit: Limit,
    plan_refuses: bool,
    scopes_missing: BTreeSet<String>,
    log: RequestLog,
    pub(super) past: super::lag::Past,
    /// What the app's address must hold, once there is an app.
    pub(super) app_key: Option<String>,
}

/// What the API document leaves open, each with the more plausible choice as its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choices {
    /// Whether `GET /pages/:id` shows a page that is in the trash. Default: no, it answers 404.
    pub trashed_page_is_shown: bool,
    /// The status of a write to a frozen workspace. Default: 403.
    pub frozen_write_status: u16,
    /// What a match of a search is worth. Default: as PostgreSQL ranks where nothing else is asked of it.
    pub ranking: Ranking,
    /// The longest query string of a search, in bytes as they are sent. Default: any.
    pub longest_search: Option<usize>,
    /// The status of a search that is longer. Default: 414.
    pub long_search_status: u16,
    /// Whether names are kept without spaces around them and with single spaces and composed letters within, and numbers of
    /// elements whole. Default: no, as they are sent.
    pub tidies: bool,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            trashed_page_is_shown: false,
            frozen_write_status: 403,
            ranking: Ranking::default(),
            longest_search: None,
            long_search_status: 414,
            tidies: false,
        }
    }
}

impl World {
    /// An empty service. Its ids come from the seed; its token is [`World::DEFAULT_TOKEN`]; its limit is 60 requests
    /// in any 60 seconds.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            ids: Rng::new(seed),
            token: Self::DEFAULT_TOKEN.to_owned(),
            choices: Choices::default(),
            workspaces: Vec::new(),
            pages: BTreeMap::new(),
            pages_made: 0,
            whiteboards: BTreeMap::new(),
            presentations: BTreeMap::new(),
            canvases_made: 0,
            caller: Rng::new(seed ^ 0xca11).uuid(),
            storage: Storage::default(),
            downloads: Downloads::default(),
            elsewhere: super::search::Elsewhere::default(),
            // A sequence of its own: bad luck must not change the ids.
            faults: Faults::new(seed ^ 0xfa17),
            limit: Limit::new(Some(60), Window::SlidingLog),
            plan_refuses: false,
            scopes_missing: BTreeSet::new(),
            log: RequestLog::default(),
            past: super::lag::Past::default(),
            app_key: None,
        }
    }

    /// The token of a new world.
    pub const DEFAULT_TOKEN: &'static str = "emulator-token";

    /// The token that the service takes.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// From now on the service takes this token and no other.
    pub fn set_token(&mut self, token: &str) {
        token.clone_into(&mut self.token);
    }

    /// Chooses what the API document leaves open.
    pub fn choose(&mut self, choices: Choices) {
        self.choices = choices;
    }

    /// Sets the limit (`None` for none) and the window it counts over, and forgets what was counted.
    pub fn set_limit(&mut self, per_minute: Option<usize>, window: Window) {
        self.limit = Limit::new(per_minute, window);
    }

    /// Whether a request that was refused with 429 counts against the limit as well. Default: no.
    pub fn count_refused(&mut self, counts: bool) {
        self.limit.counts_refused = counts;
    }

    /// Whether the caller's plan has no API: everything is 403.
    pub fn set_plan_refuses(&mut self, refuses: bool) {
        self.plan_refuses = refuses;
    }

    /// Takes a scope (such as `pages:write`) from the token, or gives it back.
    pub fn set_scope(&mut self, scope: &str, granted: bool) {
        if granted {
            self.scopes_missing.remove(scope);
        } else {
            self.scopes_missing.insert(scope.to_owned());
        }
    }

    /// Every request seen.
    #[must_use]
    pub fn log(&self) -> &RequestLog {
        &self.log
    }

    /// The log, to clear it.
    pub fn log_mut(&mut self) -> &mut RequestLog {
        &mut self.log
    }

    /// Answers a request that arrives now.
    pub fn answer(&mut self, request: &HttpRequest, now: Timestamp) -> HttpResponse {
        let mut entry = LogEntry::new(request, now);
        let fault = self.faults.draw(request);
        let response = if fault.as_ref().is_some_and(|fault| fault.moment() == Moment::BeforeArrival) {
            let delivery = match fault {
                Some(super::Fault::Late(ms)) => super::Delivery::Late(ms),
                _ => super::Delivery::Never,
            };
            HttpResponse { delivery, ..HttpResponse::bytes(0, "", Vec::new()) }
        } else {
            let instead = fault.as_ref().filter(|fault| fault.moment() == Moment::Instead);
            let mut response = match self.admit(request, now) {
                Err(refusal) => refusal.into_response(),
                Ok(()) => match instead {
                    // Nothing is done; what is said instead comes below.
                    Some(_) => HttpResponse::bytes(500, "", Vec::new()),
                    None => self.routed(request, now),
                },
            };
            entry.applied = response.status < 300;
            if let Some(fault) = &fault {
                fault.spoil(&mut response);
            }
            response
        };
        entry.status = response.status;
        entry.delivery = response.delivery;
        self.log.push(entry);
        response
    }

    /// Carries a request out. A read may lag.
    fn routed(&mut self, request: &HttpRequest, now: Timestamp) -> HttpResponse {
        let route =
            |world: &mut Self| world.route(request, now).unwrap_or_else(super::http::Refusal::into_response);
        self.keep_state(now);
        if request.method == "GET" {
            return self.behind(&request.path, route);
        }
        let response = route(self);
        self.keep_state(now);
        response
    }

    /// Token, limit, plan and scope, in this order: a caller that is not known is not counted either.
    fn admit(&mut self, request: &HttpRequest, now: Timestamp) -> Result<(), super::http::Refusal> {
        let bearer = request.authorization.as_deref().and_then(|header| header.strip_prefix("Bearer "));
        if bearer != Some(self.token.as_str()) {
            return refuse(401, "Invalid or missing access token");
        }
        if !self.limit.admits(now) {
            return refuse(429, "Too many requests");
        }
        if self.plan_refuses {
            return refuse(403, "Personal access tokens require the Pro plan");
        }
        if let Some(scope) = scope_of(request).filter(|scope| self.scopes_missing.contains(scope)) {
            return refuse(403, format!("The token lacks the scope {scope}"));
        }
        Ok(())
    }

    fn route(&mut self, request: &HttpRequest, now: Timestamp) -> Answered {
        let tidied = self.choices.tidies.then(|| tidied(request));
        let request = tidied.as_ref().unwrap_or(request);
        let segments: Vec<&str> = request.path.trim_start_matches('/').split('/').collect();
        match (request.method.as_str(), segments.as_slice()) {
            ("GET", ["workspaces"]) => self.list_workspaces(),
            ("GET", ["pages"]) => self.list_pages(&request.query),
            ("POST", ["pages"]) => self.create_page(&request.body),
            ("GET", ["pages", id]) => self.get_page(id),
            ("PATCH", ["pages", id]) => self.update_page(id, &request.body),
            ("DELETE", ["pages", id]) => self.trash_page(id),
            ("GET", ["search"]) => self.search(&request.query),
            ("GET", ["storage"]) => self.list_storage(&request.query),
            ("POST", ["storage"]) => self.upload_file(&request.body),
            ("GET", ["storage", id]) => self.get_storage_file(id, now),
            ("DELETE", ["storage", id]) => self.trash_file(id),
            _ => match self.route_canvas(request, &segments) {
                Some(answered) => answered,
                None => refuse(404, "Not found"),
            },
        }
    }
}

/// A request with its names and numbers as a service that tidies keeps them.
fn tidied(request: &HttpRequest) -> HttpRequest {
    let mut request = request.clone();
    let Ok(mut body) = read_json::<Map<String, Value>>(&request.body) else { return request };
    for (key, value) in &mut body {
        *value = match (key.as_str(), &*value) {
            ("title" | "name" | "filename", Value::String(name)) => {
                name.split_whitespace().collect::<Vec<_>>().join(" ").nfc().collect::<String>().into()
            }
            #[expect(clippy::cast_possible_truncation, reason = "places are at most 100,000")]
            ("x" | "y" | "width" | "height", Value::Number(number)) => {
                number.as_f64().map_or(Value::Null, |number| Value::from(number.round() as i64))
            }
            _ => continue,
        };
    }
    request.body = Value::Object(body).to_string().into_bytes();
    request
}

/// The scope that a request needs (API document, "Summary"); `None` for workspaces, whose scope it does not tell.
fn scope_of(request: &HttpRequest) -> Option<String> {
    let area = request.path.trim_start_matches('/').split('/').next().unwrap_or("");
    if area == "workspaces" {
        return None;
    }
    let act = match request.method.as_str() {
        "GET" => "read",
        "DELETE" => "delete",
        _ => "write",
    };
    Some(format!("{area}:{act}"))
}
