//! The doctor's look at the way to the service: which proxy and which certificate authorities are in force.

use std::ffi::OsString;

use super::Findings;
use crate::config::Config;

/// Where the proxy for https is found, in this order.
const PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Says what is in force.
pub(super) fn tell(config: &Config, variable: &dyn Fn(&str) -> Option<OsString>, findings: &mut Findings) {
    let value = |name: &str| {
        let text = variable(name)?.to_string_lossy().into_owned();
        Some(text).filter(|text| !text.trim().is_empty())
    };
    let exempt = ["NO_PROXY", "no_proxy"].into_iter().find_map(value);
    let exempt = exempt.map_or_else(String::new, |hosts| format!(", but not for {hosts} (NO_PROXY)"));
    let named = PROXIES.into_iter().find_map(|name| Some((name, value(name)?)));
    let proxy = match (&config.proxy, named) {
        _ if config.is_loopback() => "no proxy, because the service is on this machine".to_owned(),
        (Some(proxy), _) => format!("the proxy {} (proxy in the config){exempt}", without_password(proxy)),
        (None, Some((name, proxy))) => format!("the proxy {} ({name}){exempt}", without_password(&proxy)),
        (None, None) => "no proxy".to_owned(),
    };
    let own = config.ca_file.as_ref().map(|file| format!(" and {} (ca_file)", file.display()));
    let system = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().find_map(|name| Some((name, value(name)?)));
    let authorities = match system {
        Some((name, place)) => format!("certificate authorities from {place} ({name})"),
        None => "the system's certificate authorities".to_owned(),
    };
    findings.ok("network", format!("{proxy}; {authorities}{}", own.unwrap_or_default()));
}

/// A proxy's address as it may be shown.
fn without_password(proxy: &str) -> String {
    match proxy.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            if scheme.is_empty() { host.to_owned() } else { format!("{scheme}://{host}") }
        }
        None => proxy.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_of_a_proxy_is_shown() {
        for (proxy, expected) in [
            ("http://proxy:3128", "http://proxy:3128"),
            ("http://ana:s3c@ret@proxy:3128", "http://proxy:3128"),
            ("ana:s3cret@proxy:3128", "proxy:3128"),
        ] {
            assert_eq!(without_password(proxy), expected);
        }
    }
}
