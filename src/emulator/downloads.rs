//! Signed links and the bytes behind them: not part of the API, served from the same host without any `Authorization`.
//!
//! A link names a file's content and when it ends; its signature is a hash that only the emulator can make. An expired or wrong
//! link is refused with 403, as object stores do. A `Range` of the form `bytes=N-` is served unless the world is told that
//! it knows none.

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::faults::Moment;
use super::http::{Delivery, HttpResponse};
use super::log::LogEntry;
use super::storage::{FileRecord, LINK_SECONDS};
use super::world::World;
use super::{HttpRequest, RequestLog};
use crate::model::Timestamp;

/// The path that signed links begin with, on the server's own host.
pub(super) const PREFIX: &str = "/signed/";

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Contents {
    /// These bytes.
    Bytes(#[serde(with = "super::saved::base64_text")] Vec<u8>),
    /// This many bytes that a seed makes: nothing is kept of them.
    Made {
        /// What they come from.
        seed: u64,
        /// How many.
        len: u64,
    },
}

impl Contents {
    /// How many bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Made { len, .. } => *len,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes from `from` up to `to`.
    #[must_use]
    pub fn slice(&self, from: u64, to: u64) -> Vec<u8> {
        let at = |index: u64| usize::try_from(index).unwrap_or(usize::MAX);
        match self {
            Self::Bytes(bytes) => bytes[at(from).min(bytes.len())..at(to).min(bytes.len())].to_vec(),
            Self::Made { seed, len } => {
                let to = to.min(*len);
                let mut out = Vec::with_capacity(at(to.saturating_sub(from)) + 8);
                for block in from / 8..to.div_ceil(8) {
                    let mixed = (seed ^ block.wrapping_mul(0x9e37_79b9_7f4a_7c15))
                        .wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    out.extend_from_slice(&(mixed ^ (mixed >> 29)).to_le_bytes());
                }
                let start = at(from % 8).min(out.len());
                out.drain(..start);
                out.truncate(at(to.saturating_sub(from)));
                out
            }
        }
    }
}

/// A request for the bytes behind a signed link.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DownloadRequest {
    /// The path on the host, with its leading `/`.
    pub path: String,
    /// What follows the `?`.
    pub query: String,
    /// The `Authorization` header, which should not be there.
    pub authorization: Option<String>,
    /// The `Range` header.
    pub range: Option<String>,
}

impl World {
    /// Where signed links point to, such as `http://127.0.0.1:4321`. A server sets its own address.
    pub fn set_link_origin(&mut self, origin: &str) {
        origin.clone_into(&mut self.storage.origin);
    }

    /// Whether downloads can be taken up in the middle. Default: yes.
    pub fn serve_ranges(&mut self, serves: bool) {
        self.downloads.ranges = serves;
    }

    /// Every download. Its entries' `body` is the `Range` header.
    #[must_use]
    pub fn downloads(&self) -> &RequestLog {
        &self.downloads.log
    }

    /// The log of downloads, to clear it.
    pub fn downloads_mut(&mut self) -> &mut RequestLog {
        &mut self.downloads.log
    }

    /// How many downloads carried an `Authorization` header: there should be none.
    #[must_use]
    pub fn downloads_with_a_token(&self) -> usize {
        self.downloads.authorized
    }

    pub(super) fn signed_link(&self, file: &FileRecord, now: Timestamp) -> String {
        let ends = now.0.div_euclid(1_000) + LINK_SECONDS;
        let signature = self.signature(file.id.as_str(), &file.attachment, ends);
        format!(
            "{}{PREFIX}{}/{}?ends={ends}&signature={signature}",
            self.storage.origin, file.id, file.attachment
        )
    }

    fn signature(&self, id: &str, attachment: &str, ends: i64) -> String {
        let text = format!("{}|{id}|{attachment}|{ends}", self.token);
        digest(&SHA256, text.as_bytes()).as_ref()[..12].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Serves a signed link.
    pub fn download(&mut self, request: &DownloadRequest, now: Timestamp) -> HttpResponse {
        let as_http = HttpRequest {
            method: "GET".to_owned(),
            path: request.path.clone(),
            query: String::new(),
            authorization: None,
            body: request.range.clone().unwrap_or_default().into_bytes(),
        };
        let mut entry = LogEntry::new(&as_http, now);
        self.downloads.authorized += usize::from(request.authorization.is_some());
        let fault = self.faults.draw(&as_http);
        let mut response = self.serve(request, now);
        entry.applied = response.status < 300;
        if let Some(fault) = fault {
            if fault.moment() == Moment::BeforeArrival {
                response.delivery = Delivery::Never;
            }
            fault.spoil(&mut response);
        }
        entry.status = response.status;
        entry.delivery = response.delivery;
        self.downloads.log.push(entry);
        response
    }

    fn serve(&self, request: &DownloadRequest, now: Timestamp) -> HttpResponse {
        let refused = |status: u16, words: &str| {
            HttpResponse::bytes(status, "application/xml", format!("<Error>{words}</Error>").into_bytes())
        };
        let mut parts = request.path.trim_start_matches(PREFIX).split('/');
        let (id, attachment) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let value = |name: &str| super::http::parameter(&request.query, name).unwrap_or_default();
        let ends: i64 = value("ends").parse().unwrap_or(0);
        if value("signature") != self.signature(id, attachment, ends) {
            return refused(403, "SignatureDoesNotMatch");
        }
        if now.0.div_euclid(1_000) >= ends {
            return refused(403, "Request has expired");
        }
        let file = self.storage_files().find(|file| file.id.as_str() == id && file.attachment == attachment);
        let Some(contents) = file.and_then(|file| file.contents.as_ref()) else {
            return refused(404, "NoSuchKey");
        };
        let all = contents.len();
        let from = request
            .range
            .as_deref()
            .filter(|_| self.downloads.ranges)
            .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<u64>().ok());
        let Some(from) = from else {
            return HttpResponse::bytes(200, "application/octet-stream", contents.slice(0, all));
        };
        if from >= all {
            let mut response = refused(416, "InvalidRange");
            response.headers.push(("content-range".to_owned(), format!("bytes */{all}")));
            return response;
        }
        let mut response = HttpResponse::bytes(206, "application/octet-stream", contents.slice(from, all));
        response.headers.push(("content-range".to_owned(), format!("bytes {from}-{}/{all}", all - 1)));
        response
    }
}

/// What the world keeps of downloads.
#[derive(Debug, Clone)]
pub(super) struct Downloads {
    log: RequestLog,
    authorized: usize,
    ranges: bool,
}

impl Default for Downloads {
    fn default() -> Self {
        Self { log: RequestLog::default(), authorized: 0, ranges: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_bytes_are_the_same_from_wherever_they_are_read() {
        let made = Contents::Made { seed: 9, len: 1_003 };
        let whole = made.slice(0, 1_003);
        assert_eq!(whole.len(), 1_003);
        for (from, to) in [(0, 1), (1, 9), (7, 8), (8, 16), (500, 1_003), (1_002, 5_000), (1_003, 1_003)] {
            let end = usize::try_from(to).unwrap().min(1_003);
            assert_eq!(made.slice(from, to), whole[usize::try_from(from).unwrap()..end], "{from} {to}");
        }
        assert_ne!(Contents::Made { seed: 10, len: 1_003 }.slice(0, 64), whole[..64]);
    }
}
