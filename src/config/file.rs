//! The keys of the config file, their types and ranges (contract section 5). Paths are still as written.

use std::collections::BTreeMap;

use reqwest::Url;

use super::error::ConfigError;
use super::reader::{Document, Keys, Located};
use super::{Notify, Presentations, Storage, Whiteboards};
use crate::model::{Deletes, IgnoreRules, Moves, PageSettings, Settings, StorageMode, WorkspaceMode};

/// Every key there is.
pub(super) const KEYS: Keys = &[
    ("", &["base_url", "root", "state_dir", "token_file", "proxy", "ca_file", "workspaces", "ignore"]),
    ("limits", &["requests_per_minute"]),
    (
        "pages",
        &[
            "settle_ms",
            "delete_grace_seconds",
            "deletes",
            "moves",
            "max_deletes",
            "max_creates",
            "history_days",
            "trash_days",
            "blocks",
        ],
    ),
    ("whiteboards", &["enabled"]),
    ("presentations", &["enabled", "allow_permanent_deletes"]),
    ("storage", &["enabled", "mode", "workspace", "max_download_mb"]),
    ("notify", &["desktop", "command"]),
];

/// Tables of which there may be several, `[[workspace]]`, and their keys.
const TABLES: Keys = &[("workspace", &["slug", "mode"])];

/// A config file's contents, typed; paths as written.
pub(super) struct FileConfig {
    pub(super) base_url: String,
    pub(super) root: Located<String>,
    pub(super) state_dir: Option<Located<String>>,
    pub(super) token_file: Option<Located<String>>,
    pub(super) proxy: Option<String>,
    pub(super) ca_file: Option<Located<String>>,
    pub(super) workspaces: Vec<String>,
    pub(super) modes: BTreeMap<String, WorkspaceMode>,
    pub(super) ignore: Vec<String>,
    pub(super) requests_per_minute: u32,
    pub(super) pages: PageSettings,
    pub(super) whiteboards: Whiteboards,
    pub(super) presentations: Presentations,
    pub(super) storage: Storage,
    pub(super) notify: Notify,
}

impl FileConfig {
    pub(super) fn parse(text: &str, name: &str) -> Result<Self, ConfigError> {
        let document = Document::parse(text, name, KEYS, TABLES)?;
        let top = document.section("");
        let defaults = Settings::default();

        let base_url = top.text("base_url")?.ok_or_else(|| {
            let what = r#"base_url is missing; add the service's address, as in base_url = "https://example.com/api/v1""#;
            ConfigError::whole(name, what)
        })?;
        let root = top.text("root")?.ok_or_else(|| {
            let what = r#"root is missing; add the folder to mirror into, as in root = "~/Workspace""#;
            ConfigError::whole(name, what)
        })?;
        Ok(Self {
            base_url: check_base_url(&base_url.value)
                .map_err(|what| ConfigError::at(name, base_url.line, what))?,
            root,
            state_dir: top.text("state_dir")?,
            token_file: top.text("token_file")?,
            proxy: match top.text("proxy")? {
                Some(proxy) => {
                    Some(check_proxy(&proxy.value).map_err(|what| ConfigError::at(name, proxy.line, what))?)
                }
                None => None,
            },
            ca_file: top.text("ca_file")?,
            workspaces: top.words("workspaces")?,
            modes: read_modes(&document)?,
            ignore: top.words_that("ignore", &|pattern| {
                IgnoreRules::check(pattern)
                    .map_err(|why| format!("the pattern {pattern:?} in ignore cannot be read: {why}"))
            })?,
            requests_per_minute: document.section("limits").number(
                "requests_per_minute",
                "requests",
                // An edit is a look and a write, back to back.
                2..=100_000,
                defaults.requests_per_minute,
            )?,
            pages: read_pages(&document, defaults.pages)?,
            whiteboards: Whiteboards { enabled: document.section("whiteboards").flag("enabled", true)? },
            presentations: Presentations {
                enabled: document.section("presentations").flag("enabled", true)?,
                allow_permanent_deletes: document
                    .section("presentations")
                    .flag("allow_permanent_deletes", false)?,
            },
            storage: Storage {
                enabled: document.section("storage").flag("enabled", true)?,
                mode: document.section("storage").choice(
                    "mode",
                    [("backup", StorageMode::Backup), ("two-way", StorageMode::TwoWay)],
                    StorageMode::Backup,
                )?,
                workspace: document.section("storage").text("workspace")?.map(|name| name.value),
                max_download_mb: document.section("storage").number(
                    "max_download_mb",
                    "megabytes",
                    0..=10_000_000,
                    0,
                )?,
            },
            notify: Notify {
                desktop: document.section("notify").flag("desktop", false)?,
                command: document.section("notify").words("command")?,
            },
        })
    }
}

fn read_modes(document: &Document<'_>) -> Result<BTreeMap<String, WorkspaceMode>, ConfigError> {
    let mut modes = BTreeMap::new();
    for table in document.tables("workspace") {
        let slug = table.text("slug")?.filter(|slug| !slug.value.trim().is_empty());
        let slug = slug
            .ok_or_else(|| table.lacks(r#"[[workspace]] needs the workspace's slug, as in slug = "acme""#))?;
        let choices = [("two-way", WorkspaceMode::TwoWay), ("down", WorkspaceMode::Down)];
        let mode = table.choice("mode", choices, WorkspaceMode::TwoWay)?;
        if modes.insert(slug.value.clone(), mode).is_some() {
            return Err(table
                .lacks(&format!("there are two [[workspace]] with slug = {:?}; one is enough", slug.value)));
        }
    }
    Ok(modes)
}

fn read_pages(document: &Document<'_>, defaults: PageSettings) -> Result<PageSettings, ConfigError> {
    let pages = document.section("pages");
    // Lower bounds are not zero where zero would lose the protection: an editor that renames a file away for some
    // milliseconds must not trash its page, nor may a version be forgotten on the day it was seen.
    let settle = pages.number("settle_ms", "milliseconds", 10..=60_000, whole(defaults.settle_ms))?;
    let grace = pages.number(
        "delete_grace_seconds",
        "seconds",
        1..=86_400,
        whole(defaults.delete_grace_ms / 1_000),
    )?;
    let most = |key: &str, default: usize| -> Result<usize, ConfigError> {
        let default = u32::try_from(default).unwrap_or(u32::MAX);
        Ok(usize::try_from(pages.number(key, "files", 0..=1_000_000, default)?).unwrap_or(usize::MAX))
    };
    Ok(PageSettings {
        settle_ms: i64::from(settle),
        delete_grace_ms: i64::from(grace) * 1_000,
        deletes: pages.choice(
            "deletes",
            [("trash", Deletes::Trash), ("restore", Deletes::Restore)],
            defaults.deletes,
        )?,
        moves: pages.choice(
            "moves",
            [("put-back", Moves::PutBack), ("recreate", Moves::Recreate)],
            defaults.moves,
        )?,
        max_deletes: most("max_deletes", defaults.max_deletes)?,
        max_creates: most("max_creates", defaults.max_creates)?,
        history_days: pages.number("history_days", "days", 1..=36_500, defaults.history_days)?,
        trash_days: pages.number("trash_days", "days", 1..=36_500, defaults.trash_days)?,
        blocks: pages.words("blocks")?,
    })
}

/// A default that the model keeps as `i64`; the defaults are small and not negative.
fn whole(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The address as the client wants it. Read by the same parser that the client uses, so both see the same host.
/// The sentences never show the address: it may hold a password.
pub(super) fn check_base_url(text: &str) -> Result<String, String> {
    let url = Url::parse(text.trim()).map_err(|cause| {
        // Without a scheme it is a relative one to the parser, which says nothing to a person.
        let cause = if text.contains("://") { format!(" ({cause})") } else { String::new() };
        format!(r#"base_url is not an address{cause}; write it as in "https://example.com/api/v1""#)
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("base_url must not contain a user name or password; the token comes from token_file or ESPEJO_TOKEN"
            .to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(r"base_url must end with its path; remove the ? or # and the text after it".to_owned());
    }
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(&url) => {}
        "http" => {
            return Err(
                "base_url must begin with https://, because http would show the token to the network; http \
                        is for this machine only (127.0.0.1, ::1, localhost)"
                    .to_owned(),
            );
        }
        other => return Err(format!("base_url must begin with https://, not {other}:")),
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// The proxy's address. The sentences never show it: it may hold a password.
fn check_proxy(text: &str) -> Result<String, String> {
    let wrong =
        || r#"proxy must be an address; write it as in proxy = "http://proxy.example.com:3128""#.to_owned();
    let url = Url::parse(text.trim()).map_err(|_| wrong())?;
    match url.scheme() {
        "http" | "https" if url.host_str().is_some() => Ok(text.trim().to_owned()),
        "socks" | "socks4" | "socks5" | "socks5h" => {
            Err("proxy must begin with http:// or https://; espejo speaks no SOCKS".to_owned())
        }
        _ => Err(wrong()),
    }
}

/// Whether an address is on this machine: 127.0.0.0/8, `::1` or `localhost`, by name and without asking DNS.
pub(super) fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
