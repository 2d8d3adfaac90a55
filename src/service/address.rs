//! The base URL: where the token may go, and where it may not.

use std::net::{Ipv4Addr, Ipv6Addr};

use reqwest::Url;

/// A base URL that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// The URL, without a slash at its end.
    pub(super) base: String,
    /// Its host, as a parsed URL has it.
    pub(super) host: String,
    /// Whether it is on this computer.
    pub(super) loopback: bool,
    /// Whether it is plain http.
    pub(super) plain: bool,
}

/// Checks a base URL.
///
/// # Errors
/// One sentence that says what is wrong and how to mend it.
pub(super) fn check(base_url: &str) -> Result<Address, String> {
    let url = Url::parse(base_url.trim()).map_err(|error| {
        format!("base_url is not an address ({error}); write it like https://example.com/api/v1")
    })?;
    let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
        return Err("base_url has no host; write it like https://example.com/api/v1".to_owned());
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!(
            "base_url contains a name or password before {host}; remove it, the token is enough"
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!(
            "base_url for {host} contains a ? or #; it must end with its path, such as /api/v1"
        ));
    }
    let loopback = is_loopback(host);
    let plain = match url.scheme() {
        "https" => false,
        "http" if loopback => true,
        "http" => {
            return Err(format!(
                "base_url for {host} is plain http, which shows the token to the network; use https \
                 (plain http is for this computer alone: 127.0.0.1, [::1], localhost)"
            ));
        }
        other => return Err(format!("base_url begins with {other}:, but must begin with https:")),
    };
    let host = host.to_owned();
    Ok(Address { base: url.as_str().trim_end_matches('/').to_owned(), host, loopback, plain })
}

/// Whether a host, as a parsed URL has it, is this computer. `localhost` is made so by the client itself, which does
/// not ask a name server for it.
pub(super) fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match bare {
        Some(six) => six.parse().is_ok_and(|address: Ipv6Addr| address == Ipv6Addr::LOCALHOST),
        None => host == "localhost" || host.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_may_be_used() {
        #[track_caller]
        fn good(text: &str, base: &str, loopback: bool, plain: bool) {
            let host = Url::parse(base).unwrap().host_str().unwrap().to_owned();
            assert_eq!(check(text), Ok(Address { base: base.to_owned(), host, loopback, plain }), "{text}");
        }
        good("https://example.com/api/v1", "https://example.com/api/v1", false, false);
        good(" https://EXAMPLE.com:8443/api/v1// ", "https://example.com:8443/api/v1", false, false);
        good("https://example.com", "https://example.com", false, false);
        good("http://127.0.0.1:8080/api/v1", "http://127.0.0.1:8080/api/v1", true, true);
        good("http://127.9.9.9/", "http://127.9.9.9", true, true);
        good("http://2130706433/x", "http://127.0.0.1/x", true, true);
        good("http://[::1]:3000/api/v1", "http://[::1]:3000/api/v1", true, true);
        good("http://LOCALHOST:3000/api/v1", "http://localhost:3000/api/v1", true, true);
        good("https://localhost/api", "https://localhost/api", true, false);
    }

    #[test]
    fn addresses_that_would_give_the_token_away() {
        #[track_caller]
        fn bad(text: &str, words: &str) {
            let why = check(text).unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
            assert!(!why.contains("secret"), "{text}: {why}");
        }
        for host in [
            "example.com",
            "localhost.example.com",
            "localhost.",
            "127.0.0.1.nip.io",
            "0.0.0.0",
            "10.0.0.1",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[::2]",
            "128.0.0.1",
            "xn--localhost-x9a",
        ] {
            bad(&format!("http://{host}/api/v1"), "plain http");
        }
        bad("ftp://example.com", "begins with ftp:");
        bad("file:///etc/passwd", "has no host");
        bad("example.com/api/v1", "not an address");
        bad("", "not an address");
        bad("https://", "not an address");
        bad("https://me:secret@example.com/api", "before example.com");
        bad("https://secret@example.com/api", "before example.com");
        bad("http://127.0.0.1@example.com/api", "before example.com");
        bad("https://example.com/api?key=secret", "contains a ? or #");
        bad("https://example.com/api#secret", "contains a ? or #");
    }
}
