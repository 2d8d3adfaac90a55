//! Where a signed link may lead. What a link names is the service's word, and it must not make espejo ask in this computer or
//! its network: addresses that are not of the public network are gone to only where the service's own host is in the same
//! range. An address is checked when it is connected to, so that a name cannot mean another one by then.
//!
//! Behind a proxy the proxy resolves the names of links; here only their literal addresses are checked then.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Where reqwest finds the proxy for https.
const PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Addresses that are not of the public network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    Loopback,
    LinkLocal,
    Private,
    /// Behind a provider's address translation.
    Shared,
    Multicast,
    /// Unspecified or reserved.
    Nowhere,
}

impl Range {
    /// `None` for an address of the public network.
    pub(super) fn of(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(four) => Self::of_four(four),
            IpAddr::V6(six) => match four_within(six) {
                Some(four) => Self::of_four(four),
                None => Self::of_six(six),
            },
        }
    }

    fn of_four(address: Ipv4Addr) -> Option<Self> {
        let [first, second, ..] = address.octets();
        match first {
            0 | 240..=255 => Some(Self::Nowhere),
            100 if (64..128).contains(&second) => Some(Self::Shared),
            _ if address.is_loopback() => Some(Self::Loopback),
            _ if address.is_link_local() => Some(Self::LinkLocal),
            _ if address.is_private() => Some(Self::Private),
            _ if address.is_multicast() => Some(Self::Multicast),
            _ => None,
        }
    }

    fn of_six(address: Ipv6Addr) -> Option<Self> {
        match address.segments() {
            _ if address.is_loopback() => Some(Self::Loopback),
            _ if address.is_unspecified() => Some(Self::Nowhere),
            [0xff00..=0xffff, ..] => Some(Self::Multicast),
            [0xfe80..=0xfebf, ..] => Some(Self::LinkLocal),
            // Unique local, site-local, and the local form of address translation.
            [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] | [0x64, 0xff9b, 1, ..] => Some(Self::Private),
            _ => None,
        }
    }
}

/// The IPv4 address that an IPv6 address stands for: mapped, compatible, translated, or by 6to4.
fn four_within(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let four = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => four(high, low),
        _ => None,
    }
}

/// An address that is not gone to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refused(Range);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Range::Loopback => "it leads to this computer, and the service is not there",
            Range::LinkLocal => "it leads to a link-local address, and the service has none",
            Range::Private => "it leads into a private network, and the service is not in one",
            Range::Shared => "it leads into a provider's internal network, and the service is not in one",
            Range::Multicast => "it leads to a multicast address",
            Range::Nowhere => "it leads to an address that no server has",
        })
    }
}

impl std::error::Error for Refused {}

/// What may be reached, by the service's own host.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    base: Arc<str>,
    /// Hosts of proxies, which a user has named.
    proxies: Arc<[String]>,
}

impl Reach {
    /// For the links of the service at this host, as a parsed URL has it.
    pub(super) fn new(base_host: &str, proxy: Option<String>) -> Self {
        let host_of = |name: &&str| {
            let text = std::env::var(name).ok()?;
            let url = Url::parse(&text).or_else(|_| Url::parse(&format!("http://{text}"))).ok()?;
            Some(bare(url.host_str()?).to_owned())
        };
        Self {
            base: bare(base_host).into(),
            proxies: PROXIES.iter().filter_map(host_of).chain(proxy).collect(),
        }
    }

    /// Why an address in a URL is not gone to; what a name means is found when it is resolved.
    pub(super) async fn refuses(&self, url: &Url) -> Option<Refused> {
        let host = bare(url.host_str()?);
        let range = if is_localhost(host) { Some(Range::Loopback) } else { Range::of(host.parse().ok()?) };
        let range = range?;
        (!self.is_service_in(range).await).then_some(Refused(range))
    }

    async fn is_service_in(&self, range: Range) -> bool {
        if is_localhost(&self.base) {
            return range == Range::Loopback;
        }
        match self.base.parse() {
            Ok(address) => Range::of(address) == Some(range),
            Err(_) => lookup(&self.base)
                .await
                .is_ok_and(|all| all.iter().any(|it| Range::of(it.ip()) == Some(range))),
        }
    }

    /// What a name means, without what is not gone to.
    async fn resolve_name(
        &self,
        name: &str,
    ) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
        let found = lookup(name).await?;
        if self.proxies.iter().any(|proxy| proxy == name) || *self.base == *name {
            return Ok(found);
        }
        let (mut may, mut refused) = (Vec::new(), None);
        for address in found {
            match Range::of(address.ip()) {
                Some(range) if !self.is_service_in(range).await => refused = Some(Refused(range)),
                _ => may.push(address),
            }
        }
        match refused {
            Some(refused) if may.is_empty() => Err(refused.into()),
            _ => Ok(may),
        }
    }
}

impl Resolve for Reach {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.clone();
        Box::pin(async move {
            let found = reach.resolve_name(name.as_str()).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The refusal that an error comes from, if one is its cause.
pub(super) fn refusal_in(error: &reqwest::Error) -> Option<Refused> {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref::<Refused>() {
            return Some(*refused);
        }
        cause = inner.source();
    }
    None
}

async fn lookup(name: &str) -> std::io::Result<Vec<SocketAddr>> {
    Ok(tokio::net::lookup_host((name, 0)).await?.collect())
}

fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn is_localhost(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    host == "localhost" || host.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_range() {
        let check = |expected: Option<Range>, addresses: &[&str]| {
            for text in addresses {
                assert_eq!(Range::of(text.parse().unwrap()), expected, "{text}");
            }
        };
        check(
            Some(Range::Loopback),
            &["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::127.0.0.1"],
        );
        check(Some(Range::Loopback), &["64:ff9b::127.0.0.1", "2002:7f00:1::", "::ffff:0:127.0.0.1"]);
        check(Some(Range::LinkLocal), &["169.254.169.254", "fe80::1", "febf::1", "::ffff:169.254.169.254"]);
        check(Some(Range::LinkLocal), &["64:ff9b::a9fe:a9fe"]);
        check(
            Some(Range::Private),
            &["10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1"],
        );
        check(Some(Range::Private), &["fc00::1", "fdff::1", "fec0::1", "::ffff:10.0.0.1", "64:ff9b:1::1"]);
        check(Some(Range::Shared), &["100.64.0.1", "100.127.255.255", "64:ff9b::100.64.0.1"]);
        check(Some(Range::Multicast), &["224.0.0.1", "239.255.255.255", "ff02::1"]);
        check(
            Some(Range::Nowhere),
            &["0.0.0.0", "0.1.2.3", "255.255.255.255", "240.0.0.1", "::", "::ffff:0.0.0.0"],
        );
        check(None, &["1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.0.0.1"]);
        check(None, &["128.0.0.1", "169.253.0.1", "169.255.0.1", "172.15.0.1", "172.32.0.1", "192.167.0.1"]);
        check(
            None,
            &["2001:db8::1", "2606:4700::1111", "64:ff9b::1.1.1.1", "::ffff:1.1.1.1", "2002:101:101::"],
        );
    }

    #[tokio::test]
    async fn a_link_leads_where_the_service_is_and_into_the_public_network() {
        let refused = async |base: &str, url: &str| {
            let reach = Reach::new(Url::parse(base).unwrap().host_str().unwrap(), None);
            reach.refuses(&Url::parse(url).unwrap()).await.map(|refused| refused.0)
        };
        let public = "https://203.0.113.9/api";
        for (base, url, expected) in [
            (public, "https://169.254.169.254/x", Some(Range::LinkLocal)),
            (public, "https://2852039166/x", Some(Range::LinkLocal)),
            (public, "https://[::ffff:a9fe:a9fe]/x", Some(Range::LinkLocal)),
            (public, "https://127.0.0.1/x", Some(Range::Loopback)),
            (public, "https://localhost/x", Some(Range::Loopback)),
            (public, "https://some.localhost./x", Some(Range::Loopback)),
            (public, "https://10.1.2.3/x", Some(Range::Private)),
            (public, "https://[fd00::1]/x", Some(Range::Private)),
            (public, "https://0.0.0.0/x", Some(Range::Nowhere)),
            (public, "https://files.example/x", None),
            (public, "https://198.51.100.7/x", None),
            ("https://10.0.0.1/api", "https://192.168.1.1/x", None),
            ("https://10.0.0.1/api", "https://127.0.0.1/x", Some(Range::Loopback)),
            ("https://10.0.0.1/api", "https://169.254.169.254/x", Some(Range::LinkLocal)),
            ("http://127.0.0.1:80/api", "http://127.0.0.1:81/x", None),
            ("http://[::1]/api", "http://localhost/x", None),
            ("http://localhost/api", "http://127.0.0.1/x", None),
            ("http://127.0.0.1/api", "https://10.0.0.1/x", Some(Range::Private)),
        ] {
            assert_eq!(refused(base, url).await, expected, "{base} {url}");
        }
    }

    #[tokio::test]
    async fn a_name_that_means_this_computer_is_not_connected_to() {
        let found = Reach::new("203.0.113.9", None).resolve_name("localhost").await.unwrap_err();
        assert_eq!(found.downcast_ref(), Some(&Refused(Range::Loopback)));
        assert!(!Reach::new("127.0.0.1", None).resolve_name("localhost").await.unwrap().is_empty());
        assert!(!Reach::new("localhost", None).resolve_name("localhost").await.unwrap().is_empty());
        // A proxy is where the user said.
        let reach = Reach { base: "203.0.113.9".into(), proxies: ["localhost".to_owned()].into() };
        assert!(!reach.resolve_name("localhost").await.unwrap().is_empty());
    }
}
