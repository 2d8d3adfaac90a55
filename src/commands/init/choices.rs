//! What a person chooses, by options or by answers: workspaces, stored files, the service.

use std::path::Path;

use anyhow::{Result, bail};

use super::survey::Space;
use super::talk::{self, Talk};
use super::text::Text;
use super::{Args, Around, StorageChoice};
use crate::cli::WrongUsage;
use crate::commands::service;
use crate::config::Config;
use crate::model::StorageMode;

/// Refuses when options are missing and there is no terminal to ask on.
pub(super) fn all_said(
    said: &Args,
    has_config: bool,
    [url, token, root]: [bool; 3],
) -> Result<(), WrongUsage> {
    let defaults = said.yes || has_config;
    let mut missing = Vec::new();
    for (is_there, flag) in [
        (said.base_url.is_some() || url, "--base-url URL"),
        (said.token_file.is_some() || said.token_stdin || token, "--token-file FILE or --token-stdin"),
        (!said.workspaces.is_empty() || defaults, "--workspaces all"),
        (said.root.is_some() || root || said.yes, "--root DIR"),
        (said.storage.is_some() || defaults, "--storage off|backup|two-way"),
        (said.service || said.no_service || defaults, "--service or --no-service"),
    ] {
        if !is_there {
            missing.push(flag);
        }
    }
    let has_defaults = missing.iter().any(|flag| !flag.starts_with("--base") && !flag.starts_with("--token"));
    let defaults =
        if has_defaults { " (--yes uses the defaults for all except address and token)" } else { "" };
    match missing.is_empty() {
        true => Ok(()),
        false => Err(WrongUsage(format!(
            "init has no terminal for its questions, so it needs these options: {}{defaults}",
            missing.join(", ")
        ))),
    }
}

pub(super) fn choose<'s>(
    said: &Args,
    spaces: &'s [Space],
    known: &[String],
    talk: &Talk<'_>,
) -> Result<Vec<&'s Space>> {
    let all = || spaces.iter().collect();
    if said.workspaces.iter().any(|name| name == "all") {
        return Ok(all());
    }
    let named = if said.workspaces.is_empty() { known } else { &said.workspaces };
    if talk.asks && said.workspaces.is_empty() && spaces.len() > 1 {
        let ids = talk::spaces(spaces, known)?;
        return Ok(spaces.iter().filter(|space| ids.contains(&space.id)).collect());
    }
    if let Some(odd) = named.iter().find(|name| !spaces.iter().any(|space| space.is_called(name))) {
        let slugs: Vec<&str> = spaces.iter().map(Space::key).collect();
        bail!(WrongUsage(format!(
            "the token has no access to a workspace {odd:?}; it has access to {}",
            slugs.join(", ")
        )));
    }
    if named.is_empty() {
        return Ok(all());
    }
    Ok(spaces.iter().filter(|space| named.iter().any(|name| space.is_called(name))).collect())
}

pub(super) fn storage(
    said: &Args,
    has_config: bool,
    config: Config,
    text: &mut Text,
    place: &Path,
    around: &Around<'_>,
    talk: &Talk<'_>,
) -> Result<Config> {
    let now = match (config.storage.enabled, config.storage.mode) {
        (false, _) | (true, StorageMode::Off) => StorageChoice::Off,
        (true, StorageMode::Backup) => StorageChoice::Backup,
        (true, StorageMode::TwoWay) => StorageChoice::TwoWay,
    };
    let choice = match said.storage {
        Some(choice) => choice,
        None if talk.asks => talk::storage(now)?,
        None => now,
    };
    if choice == now && (has_config || choice == StorageChoice::Backup) {
        return Ok(config);
    }
    if text.flag("storage", "enabled").unwrap_or(true) != (choice != StorageChoice::Off) {
        text.set("storage", "enabled", choice != StorageChoice::Off)?;
    }
    match choice {
        StorageChoice::Off => {}
        StorageChoice::Backup => text.set("storage", "mode", "backup")?,
        StorageChoice::TwoWay => text.set("storage", "mode", "two-way")?,
    }
    Ok(Config::check(text.as_str(), place, around.env)?)
}

/// Whether the user service is to be installed.
pub(super) fn installs(said: &Args, has_config: bool, talk: &Talk<'_>) -> Result<bool> {
    if said.service || said.no_service || !talk.asks {
        return Ok(said.service);
    }
    if !service::is_available() {
        return Ok(false);
    }
    talk::yes("Start espejo at login (with systemd)?", !has_config)
}
