//! The client: one request out, one answer in. It does not try again, does not follow redirects, and keeps no state
//! but its connections.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::text::words;
use super::way::{Obstacle, Way};
use super::wire::{self, WireAnswer};
use super::{address, portal, token};
use crate::model::{ANSWER_MAX_MS, Effect, ServiceError, ServiceReply};

/// How long the client waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection, TLS included.
    pub connect: Duration,
    /// For the next bytes of an answer.
    pub read: Duration,
    /// For the whole of a request and its answer.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            read: Duration::from_secs(30),
            total: Duration::from_millis(ANSWER_MAX_MS.unsigned_abs()),
        }
    }
}

/// A client that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The base URL may not be used; the sentence says why and how to mend it.
    #[error("{0}")]
    Address(String),
    /// The token may not be used.
    #[error(transparent)]
    Token(#[from] token::TokenError),
    /// The HTTP library refuses, nearly always for want of certificates.
    #[error(
        "a secure connection is not possible: {0}; install the system's CA certificates (package ca-certificates)"
    )]
    Tls(String),
    /// The config's proxy is no address.
    #[error(
        "proxy in the config is not an address; write it as in proxy = \"http://proxy.example.com:3128\""
    )]
    Proxy,
    /// The config's certificates cannot be read.
    #[error("ca_file {path} cannot be used: {1}; name a file with certificates in PEM form", path = .0.display())]
    CaFile(PathBuf, String),
}

/// The service's client.
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: SecretString,
    upload: Duration,
    /// The service's host.
    host: String,
    /// Whether the service has answered in its own form.
    was_there: AtomicBool,
    /// How many requests were sent.
    sent: AtomicU32,
    /// What stood in the way of the last request.
    obstacle: Mutex<Option<Obstacle>>,
}

/// An idle connection is not used again after this time. Servers close idle ones after 5 s and more, and a request
/// that is sent into a closing connection counts as lost, which costs a look at best.
const IDLE: Duration = Duration::from_secs(4);

/// An upload may take this many times as long as another request.
const UPLOAD_PATIENCE: u32 = 5;

/// What is read of an answer that is no success: the words, not the page around them.
const ERROR_LIMIT: usize = 64 << 10;

impl Client {
    /// A client for the service at `base_url` (https, or plain http on this computer).
    ///
    /// # Errors
    /// [`ClientError`], each a sentence for the user.
    pub fn new(base_url: &str, token: SecretString) -> Result<Self, ClientError> {
        Self::with_timeouts(base_url, token, Timeouts::default())
    }

    /// The same, by the way that the config says.
    ///
    /// # Errors
    /// [`ClientError`], each a sentence for the user.
    pub fn by(
        way: &Way,
        base_url: &str,
        token: SecretString,
        timeouts: Timeouts,
    ) -> Result<Self, ClientError> {
        Self::made(way, base_url, token, timeouts)
    }

    /// The same, with other patience.
    ///
    /// # Errors
    /// [`ClientError`], each a sentence for the user.
    pub fn with_timeouts(
        base_url: &str,
        token: SecretString,
        timeouts: Timeouts,
    ) -> Result<Self, ClientError> {
        Self::made(&Way::default(), base_url, token, timeouts)
    }

    fn made(way: &Way, base_url: &str, token: SecretString, timeouts: Timeouts) -> Result<Self, ClientError> {
        let address = address::check(base_url).map_err(ClientError::Address)?;
        token::check("the token", token.expose_secret())?;
        // Without a provider, building a client panics. An error here says that one is installed already.
        let _installed_before = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("espejo/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            // Neither has a say as long as nothing is followed and HTTP/1.1 is spoken; both are off should that change.
            .referer(false)
            .retry(reqwest::retry::never())
            .connect_timeout(timeouts.connect)
            .read_timeout(timeouts.read)
            .timeout(timeouts.total)
            .pool_idle_timeout(IDLE)
            .https_only(!address.plain);
        builder = way.lead(builder)?;
        if address.loopback {
            // A proxy is another computer, and a name server could say that `localhost` is, too.
            let here = [(Ipv4Addr::LOCALHOST, 0).into(), SocketAddr::from((Ipv6Addr::LOCALHOST, 0))];
            builder = builder.no_proxy().resolve_to_addrs("localhost", &here);
        }
        if address.plain {
            // Plain http needs no certificates, so a computer without any can still run the demo.
            builder = builder.tls_certs_only([]);
        }
        let http = builder.build().map_err(|error| ClientError::Tls(reason(error)))?;
        let host = address.host;
        Ok(Self {
            http,
            base: address.base,
            token,
            upload: timeouts.total * UPLOAD_PATIENCE,
            host,
            was_there: AtomicBool::new(false),
            sent: AtomicU32::new(0),
            obstacle: Mutex::new(None),
        })
    }

    /// Performs one request, once.
    ///
    /// # Errors
    /// [`ServiceError::Unreachable`] when nothing was sent; [`ServiceError::Lost`] when something may have been and no
    /// whole answer came (dropping this future comes to the same); the rest as [`wire::read_answer`] tells them.
    pub async fn perform(&self, effect: &Effect) -> Result<ServiceReply, ServiceError> {
        let Some(request) = wire::request_of(effect) else {
            return Err(ServiceError::Rejected { status: 0, message: "this is no request".to_owned() });
        };
        let method = reqwest::Method::from_bytes(request.method.as_bytes())
            .map_err(|error| ServiceError::Unreachable(error.to_string()))?;
        let mut url = format!("{}{}", self.base, request.path);
        if !request.query.is_empty() {
            url.push('?');
            url.push_str(&request.query);
        }
        let mut builder = self
            .http
            .request(method, url)
            .header(AUTHORIZATION, self.authorization()?)
            .header(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(body) = request.body {
            builder = builder.header(CONTENT_TYPE, HeaderValue::from_static("application/json")).body(body);
            if matches!(effect, Effect::Storage(_)) {
                // Four million bytes on a slow line.
                builder = builder.timeout(self.upload);
            }
        }
        let sent = builder.send().await;
        self.note(&sent);
        let answer = match sent {
            Ok(response) => receive(response, wire::body_limit(effect)).await,
            Err(error) => Err(failure(error)),
        };
        let answer = answer.map_err(|error| self.without_token(error))?;
        let was_there = self.was_there.load(Ordering::Relaxed);
        if let Some(error) = portal::in_between(&answer, &self.host, was_there) {
            return Err(self.without_token(error));
        }
        let (answer, read) = read_beside(effect, answer).await?;
        if read.is_ok() {
            self.was_there.store(true, Ordering::Relaxed);
        }
        read.map_err(|error| {
            // The words of an answer are cut to length: the token goes first, so that no half of it stays.
            let error = wire::read_answer(effect, &self.redacted(answer)).err().unwrap_or(error);
            self.without_token(error)
        })
    }

    /// A plain `GET`; the token is taken out of whatever comes back.
    pub(super) async fn get(&self, path: &str, query: &str) -> Result<WireAnswer, ServiceError> {
        let mark = if query.is_empty() { "" } else { "?" };
        let request = self
            .http
            .get(format!("{}{path}{mark}{query}", self.base))
            .header(AUTHORIZATION, self.authorization()?)
            .header(ACCEPT, HeaderValue::from_static("application/json"));
        let sent = request.send().await;
        self.note(&sent);
        let answer = match sent {
            Ok(response) => receive(response, wire::body_limit(&Effect::ListWorkspaces)).await,
            Err(error) => Err(failure(error)),
        };
        let answer = answer.map_err(|error| self.without_token(error))?;
        // A page or a redirect may mean a wrong address here, which is what the caller is about to find out.
        match portal::in_between(&answer, &self.host, false) {
            Some(error @ ServiceError::Unreachable(_)) => Err(error),
            _ => Ok(self.redacted(answer)),
        }
    }

    /// What stands in the way so that only the user can remove it, as the last request showed.
    #[must_use]
    pub fn obstacle(&self) -> Option<Obstacle> {
        self.obstacle.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many requests were sent so far.
    #[must_use]
    pub fn sent(&self) -> u32 {
        self.sent.load(Ordering::Relaxed)
    }

    fn note(&self, sent: &Result<reqwest::Response, reqwest::Error>) {
        self.sent.fetch_add(1, Ordering::Relaxed);
        let found = sent.as_ref().err().and_then(Obstacle::in_error);
        // An answer in between, and a network that is away, say nothing of it.
        if sent.is_ok() || found.is_some() {
            *self.obstacle.lock().unwrap_or_else(PoisonError::into_inner) = found;
        }
    }

    fn authorization(&self) -> Result<HeaderValue, ServiceError> {
        let mut value = HeaderValue::try_from(format!("Bearer {}", self.token.expose_secret()))
            .map_err(|_| ServiceError::Unauthorized("it cannot stand in a header".to_owned()))?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// The answer of a service (or a proxy) that says the token back, without it.
    fn redacted(&self, mut answer: WireAnswer) -> WireAnswer {
        let token = self.token.expose_secret();
        answer.body = replace_bytes(&answer.body, token.as_bytes(), HIDDEN.as_bytes());
        for header in [&mut answer.content_type, &mut answer.retry_after, &mut answer.location] {
            *header = header.take().map(|value| value.replace(token, HIDDEN));
        }
        answer
    }

    fn without_token(&self, error: ServiceError) -> ServiceError {
        let hide = |text: String| text.replace(self.token.expose_secret(), HIDDEN);
        match error {
            ServiceError::Unreachable(text) => ServiceError::Unreachable(hide(text)),
            ServiceError::Lost(text) => ServiceError::Lost(hide(text)),
            ServiceError::RateLimited { retry_after_ms } => ServiceError::RateLimited { retry_after_ms },
            ServiceError::Server { status, message } => {
                ServiceError::Server { status, message: hide(message) }
            }
            ServiceError::Unauthorized(text) => ServiceError::Unauthorized(hide(text)),
            ServiceError::Forbidden(text) => ServiceError::Forbidden(hide(text)),
            ServiceError::NotFound(text) => ServiceError::NotFound(hide(text)),
            ServiceError::Rejected { status, message } => {
                ServiceError::Rejected { status, message: hide(message) }
            }
            ServiceError::NotEditable(text) => ServiceError::NotEditable(hide(text)),
            ServiceError::Garbled(text) => ServiceError::Garbled(hide(text)),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &self.base).finish_non_exhaustive()
    }
}

const HIDDEN: &str = "[token]";

/// An answer that is longer is read on a thread of its own: a list of ten thousand pages takes tens of milliseconds, for
/// which the loop would stand still.
const LONG: usize = 256 << 10;

/// What an answer says, and the answer.
async fn read_beside(
    effect: &Effect,
    answer: WireAnswer,
) -> Result<(WireAnswer, Result<ServiceReply, ServiceError>), ServiceError> {
    if answer.body.len() < LONG {
        let read = wire::read_answer(effect, &answer);
        return Ok((answer, read));
    }
    let effect = effect.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let read = wire::read_answer(&effect, &answer);
        (answer, read)
    });
    // Only a panic or the end of the program keeps it from ending: then nothing is known of what came.
    reading.await.map_err(|error| ServiceError::Lost(error.to_string()))
}

/// Reads the answer, decoded, up to one byte more than the limit: enough to know that it is longer.
async fn receive(mut response: reqwest::Response, limit: usize) -> Result<WireAnswer, ServiceError> {
    let status = response.status();
    let header = |name: HeaderName| text_of(response.headers(), name);
    let mut answer = WireAnswer {
        status: status.as_u16(),
        content_type: header(CONTENT_TYPE),
        retry_after: header(reqwest::header::RETRY_AFTER),
        date: header(reqwest::header::DATE),
        location: header(reqwest::header::LOCATION),
        body: Vec::new(),
    };
    let most = if status.is_success() { limit + 1 } else { ERROR_LIMIT };
    while answer.body.len() < most {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let room = most - answer.body.len();
                answer.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            }
            Ok(None) => break,
            // A refusal is known by its status, whatever becomes of its words.
            Err(_) if !status.is_success() => break,
            Err(error) => {
                let got = answer.body.len();
                return Err(ServiceError::Lost(format!(
                    "it was cut off after {got} bytes: {}",
                    reason(error)
                )));
            }
        }
    }
    Ok(answer)
}

fn text_of(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// What a request that got no answer means. Only a connection that never came about is sure to have carried nothing.
fn failure(error: reqwest::Error) -> ServiceError {
    if error.is_connect() || error.is_builder() {
        ServiceError::Unreachable(reason(error))
    } else {
        ServiceError::Lost(reason(error))
    }
}

/// The innermost cause, which is the one that says something; never the URL.
pub(super) fn reason(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    words(&cause.to_string())
}

fn replace_bytes(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}
