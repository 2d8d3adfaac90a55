//! Signed links: plain GETs without a token, by a client that never had one. It does not try again and writes nothing:
//! the caller gets the bytes as they come.
//!
//! A link is followed over https only, or over plain http on this computer when the service itself is there (the demo), and
//! to where [`Reach`] lets it lead. Redirects are followed a few times under the same rules, without a `Referer`, so that a
//! signed address is never shown.
//! No error holds an address.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_RANGE, HeaderValue, LOCATION, RANGE};
use reqwest::{Response, StatusCode, Url};

use super::address;
use super::client::{ClientError, reason};
use super::reach::{self, Reach};
use super::way::Way;
use crate::model::{DownloadError, Link};

/// Object stores redirect once at most; more is a mistake of the server.
const REDIRECTS_MAX: usize = 5;
const CONNECT: Duration = Duration::from_secs(10);
/// For the next bytes. There is no limit for the whole: a large file takes as long as it takes.
const READ: Duration = Duration::from_secs(30);

/// The client of signed links.
pub struct Downloader {
    http: reqwest::Client,
    plain: bool,
    reach: Reach,
}

/// The bytes behind a link, as they come.
pub struct Incoming {
    response: Response,
    /// Where in the file they begin: where they were asked for, or 0 when the server begins anew.
    pub from: u64,
    /// How many the whole file has, where the server tells.
    pub whole: Option<u64>,
}

impl Downloader {
    /// A client for the links of the service at `base_url`.
    ///
    /// # Errors
    /// [`ClientError`], each a sentence for the user.
    pub fn new(base_url: &str) -> Result<Self, ClientError> {
        Self::by(&Way::default(), base_url)
    }

    /// The same, by the way that the config says.
    ///
    /// # Errors
    /// [`ClientError`], each a sentence for the user.
    pub fn by(way: &Way, base_url: &str) -> Result<Self, ClientError> {
        let address = address::check(base_url).map_err(ClientError::Address)?;
        let _installed_before = rustls::crypto::ring::default_provider().install_default();
        let plain = address.plain;
        let reach = Reach::new(&address.host, way.proxy_host());
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("espejo/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .dns_resolver(Arc::new(reach.clone()))
            .retry(reqwest::retry::never())
            .no_gzip()
            .connect_timeout(CONNECT)
            .read_timeout(READ)
            .https_only(!plain);
        builder = way.lead(builder)?;
        if address.loopback {
            let here = [(Ipv4Addr::LOCALHOST, 0).into(), SocketAddr::from((Ipv6Addr::LOCALHOST, 0))];
            builder = builder.no_proxy().resolve_to_addrs("localhost", &here);
        }
        if address.plain {
            builder = builder.tls_certs_only([]);
        }
        let http = builder.build().map_err(|error| ClientError::Tls(reason(error)))?;
        Ok(Self { http, plain, reach })
    }

    /// Begins a download of a file of `size` bytes, from byte `from` on where the server can.
    ///
    /// # Errors
    /// [`DownloadError`]; nothing has been read of the body then.
    pub async fn open(&self, link: &Link, from: u64, size: u64) -> Result<Incoming, DownloadError> {
        let response = self.follow(link, from).await?;
        let status = response.status();
        match status {
            StatusCode::OK => {
                let whole = response.content_length();
                told_size(whole, size)?;
                Ok(Incoming { response, from: 0, whole })
            }
            StatusCode::PARTIAL_CONTENT => {
                let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
                let (begins, whole) = range
                    .and_then(content_range)
                    .ok_or_else(|| broken("the server sent a part without its range"))?;
                told_size(whole, size)?;
                if begins != from {
                    return Err(broken("the server sent a different part than requested"));
                }
                Ok(Incoming { response, from, whole })
            }
            // Nothing from here on: what is on disk is not a beginning of this file.
            StatusCode::RANGE_NOT_SATISFIABLE => Err(DownloadError::WrongSize { got: from, size }),
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                Err(broken(format!("the server answered with status {}", status.as_u16())))
            }
            _ if status.is_redirection() => Err(bad("it leads elsewhere")),
            _ if status.is_client_error() => Err(DownloadError::Refused(status.as_u16())),
            _ => Err(broken(format!("the server failed with status {}", status.as_u16()))),
        }
    }

    /// The answer at the end of a link's redirects, each of which must lead where links may.
    async fn follow(&self, link: &Link, from: u64) -> Result<Response, DownloadError> {
        let mut url = Url::parse(link.expose()).map_err(|_| bad("it is not an address"))?;
        for _ in 0..=REDIRECTS_MAX {
            if let Some(why) = refusal(&url, self.plain) {
                return Err(DownloadError::BadLink(why));
            }
            if let Some(refused) = self.reach.refuses(&url).await {
                return Err(bad(refused));
            }
            // What is stored may be compressed itself; what comes must be the stored bytes.
            let identity = HeaderValue::from_static("identity");
            let mut builder = self.http.get(url.clone()).header(ACCEPT_ENCODING, identity);
            if from > 0 {
                builder = builder.header(RANGE, format!("bytes={from}-"));
            }
            let response = builder.send().await.map_err(|error| match reach::refusal_in(&error) {
                Some(refused) => bad(refused),
                None => broken(reason(error)),
            })?;
            let to = response.headers().get(LOCATION).filter(|_| response.status().is_redirection());
            let Some(to) = to else { return Ok(response) };
            let to = to.to_str().ok().and_then(|to| url.join(to).ok());
            url = to.ok_or_else(|| bad("it redirects to an invalid address"))?;
        }
        Err(bad("it redirects too many times"))
    }
}

impl fmt::Debug for Downloader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Downloader").finish_non_exhaustive()
    }
}

impl Incoming {
    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// [`DownloadError::Broken`] when the answer breaks off.
    pub async fn next(&mut self) -> Result<Option<Bytes>, DownloadError> {
        self.response.chunk().await.map_err(|error| broken(reason(error)))
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming").field("from", &self.from).finish_non_exhaustive()
    }
}

/// Only the writer knows how many bytes are here.
fn broken(why: impl Into<String>) -> DownloadError {
    DownloadError::Broken { why: why.into(), got: 0 }
}

fn bad(why: impl fmt::Display) -> DownloadError {
    DownloadError::BadLink(why.to_string())
}

fn told_size(whole: Option<u64>, size: u64) -> Result<(), DownloadError> {
    match whole {
        Some(got) if got != size => Err(DownloadError::WrongSize { got, size }),
        _ => Ok(()),
    }
}

/// Why an address is not gone to.
fn refusal(url: &Url, plain: bool) -> Option<String> {
    let host = url.host_str().unwrap_or("");
    if host.is_empty() {
        return Some("it has no host".to_owned());
    }
    match url.scheme() {
        "https" => None,
        "http" if plain && address::is_loopback(host) => None,
        "http" => Some("it is plain http, which would show the file to the network".to_owned()),
        _ => Some("it is not an https address".to_owned()),
    }
}

/// `bytes 5-9/10` or `bytes 5-9/*`.
fn content_range(value: &str) -> Option<(u64, Option<u64>)> {
    let (range, whole) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (begins, _) = range.split_once('-')?;
    let whole = if whole.trim() == "*" { None } else { Some(whole.trim().parse().ok()?) };
    Some((begins.trim().parse().ok()?, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_only_where_nobody_listens() {
        let check = |text: &str, plain: bool, goes: bool| {
            assert_eq!(refusal(&Url::parse(text).unwrap(), plain).is_none(), goes, "{text}");
        };
        check("https://files.example/x?sig=1", false, true);
        check("https://files.example/x?sig=1", true, true);
        check("http://files.example/x", false, false);
        check("http://files.example/x", true, false);
        check("http://127.0.0.1:80/x", true, true);
        check("http://127.0.0.1:80/x", false, false);
        check("http://169.254.169.254/x", true, false);
        check("file:///etc/passwd", true, false);
        check("data:text/plain,x", true, false);
    }

    #[test]
    fn ranges_are_read() {
        assert_eq!(content_range("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(content_range("bytes 0-9/*"), Some((0, None)));
        for bad in ["", "bytes */10", "bytes 5-9", "items 5-9/10", "bytes x-9/10"] {
            assert_eq!(content_range(bad), None, "{bad}");
        }
    }
}
