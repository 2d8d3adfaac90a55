//! The way to the service: a proxy and certificate authorities that the user named, besides those of the system and the environment
//! (`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`), and what stands in the way so that only the user can remove it.

use std::path::PathBuf;

use reqwest::{Certificate, ClientBuilder, NoProxy, Proxy, Url};

use super::client::ClientError;
use super::text::words;

/// What the config says of the way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Way {
    /// The proxy's address; it may hold a name and a password.
    pub proxy: Option<String>,
    /// Certificate authorities that count besides the system's, in PEM.
    pub ca_file: Option<PathBuf>,
}

impl Way {
    /// The client that goes this way.
    pub(super) fn lead(&self, mut builder: ClientBuilder) -> Result<ClientBuilder, ClientError> {
        if let Some(proxy) = &self.proxy {
            let proxy = Proxy::all(proxy).map_err(|_| ClientError::Proxy)?;
            builder = builder.proxy(proxy.no_proxy(NoProxy::from_env()));
        }
        if let Some(file) = &self.ca_file {
            let failed = |why: String| ClientError::CaFile(file.clone(), why);
            let bytes = std::fs::read(file).map_err(|error| failed(error.to_string()))?;
            let found = Certificate::from_pem_bundle(&bytes).map_err(|error| failed(error.to_string()))?;
            if found.is_empty() {
                return Err(failed("there is no certificate in it".to_owned()));
            }
            builder = builder.tls_certs_merge(found);
        }
        Ok(builder)
    }

    /// The host of the proxy that the config names.
    pub(super) fn proxy_host(&self) -> Option<String> {
        let url = Url::parse(self.proxy.as_deref()?).ok()?;
        url.host_str().map(str::to_owned)
    }
}

/// What stands in the way until the user acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The proxy wants a name and a password.
    ProxyLogin,
    /// The certificate that the service shows, or something in between, is not trusted.
    Certificate(String),
}

impl Obstacle {
    /// The fact.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::ProxyLogin => "nothing is sent: the proxy asks for a name and a password".to_owned(),
            Self::Certificate(why) => {
                format!("nothing is sent: the certificate of the service is not trusted: {why}")
            }
        }
    }

    /// The remedy.
    #[must_use]
    pub fn mend(&self) -> &'static str {
        match self {
            Self::ProxyLogin => {
                "put them into the proxy's address, as in proxy = \"http://NAME:PASSWORD@HOST:PORT\" in the config, or in HTTPS_PROXY"
            }
            Self::Certificate(_) => {
                "if your network inspects connections, set ca_file in the config to its certificate authority; otherwise check the clock and base_url; espejo doctor shows what is in force"
            }
        }
    }

    /// The obstacle that an error comes from, if one is its cause.
    pub(super) fn in_error(error: &reqwest::Error) -> Option<Self> {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(found) = cause {
            // An error of the system's input and output holds another one without naming it as its source.
            if let Some(held) = found.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
                cause = Some(held);
                continue;
            }
            if let Some(error @ rustls::Error::InvalidCertificate(_)) = found.downcast_ref::<rustls::Error>()
            {
                return Some(Self::Certificate(words(&error.to_string())));
            }
            // The type of this one is the library's own.
            if found.to_string() == PROXY_LOGIN {
                return Some(Self::ProxyLogin);
            }
            cause = found.source();
        }
        None
    }
}

/// What hyper-util says of a 407.
const PROXY_LOGIN: &str = "tunnel error: proxy authorization required";
