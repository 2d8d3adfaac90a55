//! Bad luck, on command: what can go wrong between the service and a caller, once or with a chance from the seed.

use serde_json::{Value, json};

use super::http::{Delivery, HttpRequest, HttpResponse};
use super::rng::Rng;
use crate::model::{FileId, PageId, read_json};

/// One thing that goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// This status with `{ "error": … }`, and nothing done.
    Status {
        /// 401, 403, 429, 500 …
        status: u16,
        /// A `Retry-After` header.
        retry_after: Option<String>,
    },
    /// This status with `{ "error": … }`, although it was done.
    StatusAfter(u16),
    /// This status with this body, and nothing done.
    Answer(u16, Value),
    /// A proxy's page with this status, and nothing done.
    Page(u16),
    /// A redirect to this address, and nothing done.
    Redirect(String),
    /// The request gets lost on its way.
    LostBefore,
    /// The caller hears nothing, and it is done this many milliseconds later, after what the caller asks meanwhile.
    Late(u64),
    /// It is done, and the answer gets lost.
    LostAfter,
    /// It is done, and the answer comes this many milliseconds later.
    Delay(u64),
    /// It is done, and the answer breaks off in the middle, short of its announced length.
    Cut,
    /// It is done, and the answer ends in the middle as if that were its end.
    Short,
    /// It is done; a proxy's page comes with status 200.
    PageWith200,
    /// It is done; bytes that are no text come with status 200.
    Noise,
    /// It is done; the answer is JSON, and each value in `data` has another type than it should.
    WrongType,
    /// It is done; the answer's `content` is null.
    NullContent,
    /// It is done; the answer has no `content`.
    NoContent,
    /// It is done; the answer has about this many bytes.
    Huge(usize),
    /// It is done; the answer's content (or a key of its own, where there is none) is nested this deep.
    Deep(usize),
    /// A list comes empty.
    EmptyList,
    /// A list comes with its first half only.
    ShortList,
    /// A list comes with its second entry spoilt.
    SpoiltEntry,
}

/// When a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    BeforeArrival,
    Instead,
    After,
}

/// Which requests a fault strikes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matcher {
    /// Every request.
    Any,
    /// Requests that ask for no change.
    Reads,
    /// Requests that ask for a change.
    Writes,
    /// Requests of this method.
    Method(String),
    /// Requests of this method to exactly this path.
    Route(String, String),
    /// Requests for this page, whatever the method.
    Page(PageId),
    /// Requests for lists: of workspaces, of pages, of a storage folder.
    Lists,
    /// Downloads from signed links; those of this file where one is named.
    Downloads(Option<FileId>),
}

impl Matcher {
    fn matches(&self, request: &HttpRequest) -> bool {
        match self {
            Self::Any => true,
            Self::Reads => request.method == "GET",
            Self::Writes => request.method != "GET",
            Self::Method(method) => request.method == *method,
            Self::Route(method, path) => request.method == *method && request.path == *path,
            Self::Page(id) => request.path.strip_prefix("/pages/") == Some(id.as_str()),
            Self::Lists => {
                request.method == "GET"
                    && matches!(
                        request.path.as_str(),
                        "/workspaces" | "/pages" | "/storage" | "/whiteboards" | "/presentations"
                    )
            }
            Self::Downloads(file) => request
                .path
                .strip_prefix(super::downloads::PREFIX)
                .is_some_and(|rest| file.as_ref().is_none_or(|file| rest.starts_with(file.as_str()))),
        }
    }
}

/// The bad luck that waits.
#[derive(Debug, Clone)]
pub(super) struct Faults {
    rng: Rng,
    next: Vec<(Matcher, Fault)>,
    chances: Vec<(Matcher, Fault, u16)>,
}

impl Faults {
    pub(super) fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), next: Vec::new(), chances: Vec::new() }
    }

    /// The fault that strikes this request: a waiting one first, then by chance.
    pub(super) fn draw(&mut self, request: &HttpRequest) -> Option<Fault> {
        if let Some(at) = self.next.iter().position(|(matcher, _)| matcher.matches(request)) {
            return Some(self.next.remove(at).1);
        }
        let rng = &mut self.rng;
        self.chances
            .iter()
            .filter(|(matcher, ..)| matcher.matches(request))
            .find(|(.., per_mille)| rng.happens(*per_mille))
            .map(|(_, fault, _)| fault.clone())
    }
}

impl super::World {
    /// The next request that matches meets this fault; further calls queue up.
    pub fn fail_next(&mut self, matcher: Matcher, fault: Fault) {
        self.faults.next.push((matcher, fault));
    }

    /// From now on each request that matches meets this fault with this chance in a thousand.
    pub fn fail_randomly(&mut self, matcher: Matcher, fault: Fault, per_mille: u16) {
        self.faults.chances.push((matcher, fault, per_mille));
    }

    /// No more bad luck, waiting or by chance.
    pub fn calm(&mut self) {
        self.faults.next.clear();
        self.faults.chances.clear();
    }

    /// How many faults of [`Self::fail_next`] still wait for their request.
    #[must_use]
    pub fn faults_waiting(&self) -> usize {
        self.faults.next.len()
    }
}

impl Fault {
    pub(super) fn moment(&self) -> Moment {
        match self {
            Self::LostBefore | Self::Late(_) => Moment::BeforeArrival,
            Self::Status { .. } | Self::Answer(..) | Self::Page(_) | Self::Redirect(_) => Moment::Instead,
            _ => Moment::After,
        }
    }

    /// Does to the answer what the fault does. An answer that is a refusal already keeps its body, unless the fault
    /// is a status of its own, or a cut.
    pub(super) fn spoil(&self, response: &mut HttpResponse) {
        match self {
            Self::LostBefore | Self::Late(_) => {}
            Self::LostAfter => response.delivery = Delivery::Never,
            Self::Delay(ms) => response.delivery = Delivery::After(*ms),
            Self::Cut => response.delivery = Delivery::Cut(response.body.len() / 2),
            Self::Short => response.body.truncate(response.body.len() / 2),
            Self::Status { status, retry_after } => {
                *response =
                    HttpResponse::json(*status, &json!({ "error": format!("Status {status}, on command") }));
                if let Some(value) = retry_after {
                    response.headers.push(("retry-after".to_owned(), value.clone()));
                }
            }
            Self::StatusAfter(status) => {
                *response =
                    HttpResponse::json(*status, &json!({ "error": format!("Status {status}, on command") }));
            }
            Self::Answer(status, body) => *response = HttpResponse::json(*status, body),
            Self::Page(status) => *response = page(*status),
            Self::Redirect(target) => {
                *response = HttpResponse::bytes(302, "text/plain", b"Found".to_vec());
                response.headers.push(("location".to_owned(), target.clone()));
            }
            _ if response.status >= 300 => {}
            Self::PageWith200 => *response = page(200),
            Self::Noise => response.body = (0..2048u32).map(|n| (n * n % 251) as u8 | 0x80).collect(),
            Self::WrongType => with_data(response, |data| each(data, wrong)),
            Self::NullContent => with_data(response, |data| each(data, |page| page["content"] = Value::Null)),
            Self::NoContent => with_data(response, |data| {
                each(data, |page| drop(page.as_object_mut().and_then(|page| page.shift_remove("content"))));
            }),
            Self::Huge(bytes) => with_data(response, |data| {
                let text = "palabra ".repeat(bytes / 8);
                let run = json!({ "type": "text", "text": text, "styles": {} });
                each(data, |page| page["content"] = json!([{ "type": "paragraph", "content": [run] }]));
            }),
            Self::Deep(levels) => deepen(response, *levels),
            Self::EmptyList => with_list(response, Vec::clear),
            Self::ShortList => with_list(response, |list| list.truncate(list.len() / 2)),
            Self::SpoiltEntry => with_list(response, |list| {
                if let Some(entry) = list.get_mut(1) {
                    wrong(entry);
                }
            }),
        }
    }
}

/// What a proxy says when the service is away.
fn page(status: u16) -> HttpResponse {
    let html = "<!DOCTYPE html>\n<html><head><title>Bad gateway</title></head>\n\
                <body><h1>Bad gateway</h1><p>The web server reported a bad gateway error.</p></body></html>\n";
    HttpResponse::bytes(status, "text/html; charset=utf-8", html.as_bytes().to_vec())
}

/// Works on the answer's `data`.
fn with_data(response: &mut HttpResponse, act: impl FnOnce(&mut Value)) {
    if let Ok(mut body) = read_json::<Value>(&response.body) {
        act(&mut body["data"]);
        response.body = body.to_string().into_bytes();
    }
}

/// Works on the answer's `data` where it is a list.
fn with_list(response: &mut HttpResponse, act: impl FnMut(&mut Vec<Value>)) {
    with_data(response, |data| {
        // A storage folder has two lists.
        let lists = match data {
            Value::Array(list) => vec![list],
            Value::Object(map) => map.values_mut().filter_map(Value::as_array_mut).collect(),
            _ => Vec::new(),
        };
        lists.into_iter().for_each(act);
    });
}

/// Works on `data`, or on the first entry of a list.
fn each(data: &mut Value, act: impl Fn(&mut Value)) {
    match data {
        Value::Array(list) => list.first_mut().into_iter().for_each(act),
        page if page.is_object() => act(page),
        _ => {}
    }
}

/// Gives every value of an object another type.
fn wrong(value: &mut Value) {
    if let Value::Object(map) = value {
        for value in map.values_mut() {
            *value = match value {
                Value::String(_) => json!(5),
                Value::Array(_) => json!({ "0": "x" }),
                _ => json!(["x"]),
            };
        }
    }
}

/// Nests by hand: `serde_json` neither reads nor writes this deep.
fn deepen(response: &mut HttpResponse, levels: usize) {
    const MARK: &str = "\"↓ nested here ↓\"";
    with_data(response, |data| each(data, |page| page["content"] = json!(["↓ nested here ↓"])));
    let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let body = String::from_utf8_lossy(&response.body).replacen(MARK, &deep, 1);
    response.body = body.into_bytes();
}
