//! The API's JSON: a request out of an effect, a reply out of an answer. Pure; all that is known of the wire is here.
//!
//! What the service sends is read leniently where nothing hangs on it (unknown keys, absent optional keys) and
//! strictly where it is evidence: a 404 counts only in the service's own words, an answer must be about the page that
//! was asked for, and a page without a content array is not an empty page. `content` is kept as it was sent: key
//! order, unknown keys, absent keys and the written form of numbers. (Of two equal keys in one object the last
//! counts, as in every browser.)

use serde_json::{Value, json};

use super::text::{excerpt, words};
use super::{boards, entry, search, storage, surrogates};
use crate::model::{
    BodyJson, Effect, ServiceError, ServiceReply, StorageEffect, Timestamp, parts, read_json,
};

/// A request, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireRequest {
    /// `GET`, `POST`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// The path beneath the base URL, with its leading `/`.
    pub path: String,
    /// What follows the `?`, percent-encoded; empty when nothing does.
    pub query: String,
    /// The JSON body, where there is one.
    pub body: Option<Vec<u8>>,
}

/// An answer, as it was received.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WireAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type` header.
    pub content_type: Option<String>,
    /// The `Retry-After` header.
    pub retry_after: Option<String>,
    /// The `Date` header, which a `Retry-After` that names a moment is counted from.
    pub date: Option<String>,
    /// The `Location` header.
    pub location: Option<String>,
    /// The body, decoded; at most a byte longer than [`body_limit`].
    pub body: Vec<u8>,
}

/// The longest answer that is read, in bytes: 16 MiB for one page (a page of 20,000 blocks has about 5), 64 MiB for
/// a list. What is longer is not read to its end and is [`ServiceError::Garbled`].
#[must_use]
pub fn body_limit(effect: &Effect) -> usize {
    match effect {
        Effect::ListWorkspaces | Effect::ListPages { .. } | Effect::Storage(StorageEffect::List(_)) => {
            64 << 20
        }
        Effect::Board(effect) if boards::is_long(effect) => 64 << 20,
        _ => 16 << 20,
    }
}

/// The request that performs an effect; `None` when the effect is no request.
///
/// Ids need no escaping: [`crate::model::PageId::new`] admits nothing that has a meaning in a URL.
#[must_use]
pub fn request_of(effect: &Effect) -> Option<WireRequest> {
    let request = |method, path: String, body: Option<Value>| {
        let body = body.map(|body| body.to_string().into_bytes());
        Some(WireRequest { method, path, query: String::new(), body })
    };
    match effect {
        Effect::ListWorkspaces => request("GET", "/workspaces".to_owned(), None),
        Effect::ListPages { workspace, .. } => Some(WireRequest {
            method: "GET",
            path: "/pages".to_owned(),
            query: format!("workspace_id={workspace}"),
            body: None,
        }),
        Effect::FetchPage(id) => request("GET", format!("/pages/{id}"), None),
        Effect::CreatePage { workspace, parent, title } => {
            let mut body = json!({ "workspace_id": workspace.as_str(), "title": title });
            if let Some(parent) = parent {
                body["parent_page_id"] = json!(parent.as_str());
            }
            request("POST", "/pages".to_owned(), Some(body))
        }
        Effect::UpdatePage { id, title, content } => {
            let title = title.as_ref().map(|title| json!(title).to_string());
            let members = [("title", title.as_deref()), ("content", content.as_ref().map(BodyJson::as_str))];
            let body = object(members.into_iter().filter_map(|(key, json)| Some((key, json?))));
            let path = format!("/pages/{id}");
            Some(WireRequest { method: "PATCH", path, query: String::new(), body: Some(body) })
        }
        Effect::TrashPage(id) => request("DELETE", format!("/pages/{id}"), None),
        Effect::Board(effect) => {
            let (method, path, query, body) = boards::request(effect);
            let body = body.map(|body| body.to_string().into_bytes());
            Some(WireRequest { method, path, query, body })
        }
        Effect::Search(asked) => Some(search::request(asked)),
        Effect::Storage(effect) => storage::request_of(effect),
        Effect::Scan
        | Effect::ReadFile(_)
        | Effect::WriteFile { .. }
        | Effect::Rename { .. }
        | Effect::TrashFile { .. }
        | Effect::RemoveFolder(_)
        | Effect::Work(_) => None,
    }
}

/// An object of members that are JSON already, one of which may be megabytes: they are copied once.
fn object<'a>(members: impl Iterator<Item = (&'static str, &'a str)> + Clone) -> Vec<u8> {
    // Quotes, colon and comma or brace.
    let around = 4;
    let size = members.clone().map(|(key, json)| key.len() + json.len() + around).sum::<usize>() + 2;
    let mut body = Vec::with_capacity(size);
    for (key, json) in members {
        body.push(if body.is_empty() { b'{' } else { b',' });
        for part in ["\"", key, "\":", json] {
            body.extend_from_slice(part.as_bytes());
        }
    }
    body.extend_from_slice(if body.is_empty() { b"{}" } else { b"}" });
    body
}

/// What an answer to `effect` says.
///
/// # Errors
/// Every status but 2xx, and every 2xx whose body is not what the API document promises.
pub fn read_answer(effect: &Effect, answer: &WireAnswer) -> Result<ServiceReply, ServiceError> {
    if !(200..300).contains(&answer.status) {
        return Err(refusal(answer));
    }
    if let Some(body) = surrogates::mended(&answer.body) {
        return read_answer(effect, &WireAnswer { body, ..answer.clone() });
    }
    let limit = body_limit(effect);
    if answer.body.len() > limit {
        return Err(ServiceError::Garbled(format!("it is longer than {} MiB", limit >> 20)));
    }
    if matches!(effect, Effect::Storage(StorageEffect::AskLink(_))) {
        // The words of this answer may be the link: nothing of it is repeated.
        let data = envelope(answer).map_err(|error| match error {
            ServiceError::Garbled(_) => ServiceError::Garbled("the answer with a link is invalid".to_owned()),
            other => other,
        });
        return data.and_then(|data| read_data(effect, data));
    }
    read_data(effect, envelope(answer)?)
}

fn read_data(effect: &Effect, data: &[u8]) -> Result<ServiceReply, ServiceError> {
    match effect {
        Effect::Storage(effect) => storage::read(effect, data),
        Effect::ListWorkspaces => entry::workspaces(data),
        Effect::ListPages { workspace, known } => entry::pages(data, workspace, *known),
        Effect::FetchPage(id) => entry::page(data, id).map(|page| ServiceReply::Page(Box::new(page))),
        Effect::CreatePage { workspace, .. } => entry::created(data, workspace).map(ServiceReply::Meta),
        Effect::UpdatePage { id, .. } => entry::updated(data, id).map(ServiceReply::Meta),
        Effect::TrashPage(id) => entry::trashed(data, id).map(|()| ServiceReply::Trashed),
        Effect::Board(effect) => boards::reply(effect, data).map(ServiceReply::Board),
        Effect::Search(asked) => search::read(asked, data),
        _ => Err(ServiceError::Garbled("it does not belong to the request".to_owned())),
    }
}

/// The bytes of `data` in `{ "data": … }`.
fn envelope(answer: &WireAnswer) -> Result<&[u8], ServiceError> {
    let body = answer.body.as_slice();
    let Some(members) = parts::members(body) else {
        return Err(ServiceError::Garbled(format!("it is not JSON but {}", description(answer))));
    };
    let members = members.map_err(|error| {
        // Cut within a number, the parser complains of the number.
        if error.is_eof() || body.last().is_some_and(|last| b"0123456789+-.eE".contains(last)) {
            ServiceError::Lost(format!("it was cut off after {} bytes", body.len()))
        } else {
            ServiceError::Garbled(format!("it is not valid JSON: {}", words(&error.to_string())))
        }
    })?;
    match members.iter().rev().find(|(key, _)| key == "data") {
        Some((_, data)) => Ok(data),
        // Its keys and not its words, which may be anything, the token with an escape in it included.
        None => {
            let keys: Vec<&str> = members.iter().map(|(key, _)| key.as_str()).take(5).collect();
            let keys = if keys.is_empty() { "nothing".to_owned() } else { words(&keys.join(", ")) };
            Err(ServiceError::Garbled(format!("it has no “data”, but {keys}")))
        }
    }
}

/// What stands under `data`, whatever it is about.
pub(super) fn plain(answer: &WireAnswer) -> Result<Value, ServiceError> {
    if !(200..300).contains(&answer.status) {
        return Err(refusal(answer));
    }
    let data = envelope(answer)?;
    read_json(data).map_err(|error| ServiceError::Garbled(words(&error.to_string())))
}

/// The service's clock, as the answer has it.
pub(super) fn time_of(answer: &WireAnswer) -> Option<Timestamp> {
    let at = jiff::fmt::rfc2822::parse(answer.date.as_deref()?).ok()?;
    Some(Timestamp(at.timestamp().as_millisecond()))
}

/// What a status other than 2xx means.
fn refusal(answer: &WireAnswer) -> ServiceError {
    let status = answer.status;
    let own_words = word_of(&answer.body, "error");
    let message = match &own_words {
        Some(message) if message.is_empty() => "no reason given".to_owned(),
        // The words are the service's: no reader takes them for espejo's advice.
        Some(message) => format!("“{message}”"),
        None => description(answer),
    };
    match status {
        401 => ServiceError::Unauthorized(message),
        403 => ServiceError::Forbidden(message),
        // A 404 is taken for evidence that a page is gone, so a proxy's or a wrong address's 404 must not count.
        404 if own_words.is_some() => ServiceError::NotFound(message),
        404 => ServiceError::Server {
            status,
            message: format!(
                "this is not an answer of the API, so base_url may be wrong or a proxy may be in between: {message}"
            ),
        },
        429 => ServiceError::RateLimited { retry_after_ms: retry_after_ms(answer) },
        // 408 and 425 are 4xx in number only: something on the way was too slow, or wants it later.
        408 | 425 | 500.. => ServiceError::Server { status, message },
        400 if word_of(&answer.body, "code").is_some_and(|code| code == "content_not_editable") => {
            ServiceError::NotEditable(message)
        }
        300..=399 => ServiceError::Rejected { status, message: redirect(answer) },
        _ => ServiceError::Rejected { status, message },
    }
}

/// The service's words at a key of a refusal: `{ "error": <string>, "code": <string> }`, the code rarely.
fn word_of(body: &[u8], key: &str) -> Option<String> {
    let members = parts::members(body)?.ok()?;
    let (_, word) = members.into_iter().rev().find(|(found, _)| found == key)?;
    serde_json::from_slice::<String>(word).ok().map(|word| words(&word))
}

/// A redirect is not followed: its target would get the token.
fn redirect(answer: &WireAnswer) -> String {
    let target = answer.location.as_deref().unwrap_or("");
    // Only the host: the rest of the address may contain a secret.
    let host = target
        .split_once("//")
        .map(|(_, rest)| rest.split(['/', '?', '#', '\\']).next().unwrap_or(""))
        .map(|authority| authority.rsplit('@').next().unwrap_or(""));
    match host {
        Some(host) if !host.is_empty() => {
            format!(
                "it redirects to {}, but the token is sent to base_url only; correct base_url",
                words(host)
            )
        }
        _ => "it redirects elsewhere, but the token is sent to base_url only; correct base_url".to_owned(),
    }
}

/// What came instead: its kind and its first words.
fn description(answer: &WireAnswer) -> String {
    let kind = answer.content_type.as_deref().map_or_else(|| "something".to_owned(), words);
    format!("{kind} that begins {}", excerpt(&answer.body))
}

/// `Retry-After` in milliseconds, at most a day: seconds, or a moment counted from `Date`.
fn retry_after_ms(answer: &WireAnswer) -> Option<i64> {
    const DAY_MS: i64 = 86_400_000;
    let value = answer.retry_after.as_deref()?.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        // `as` clamps what does not fit and makes 0 of a NaN.
        #[expect(clippy::cast_possible_truncation, reason = "clamped to a day before and by the cast")]
        return (seconds >= 0.0).then_some((seconds * 1000.0).min(DAY_MS as f64) as i64);
    }
    let moment = |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|at| at.timestamp().as_millisecond());
    let wait = moment(value)?.saturating_sub(moment(answer.date.as_deref()?)?);
    Some(wait.clamp(0, DAY_MS))
}

#[cfg(test)]
mod tests;
