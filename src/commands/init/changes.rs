//! What a further `init` changes of a mirror that is there already: no first mirror comes then.

use std::path::Path;

use crate::cli::output;
use crate::config::Config;
use crate::model::StorageMode;
use crate::store::{ReadOnly, StoreError};

/// How many pages are mirrored with this state; `None` when no mirror was made with it yet.
///
/// # Errors
/// [`StoreError`] when the state cannot be read.
pub(super) fn mirrored(state_dir: &Path) -> Result<Option<u64>, StoreError> {
    let Some(state) = ReadOnly::open(state_dir)? else { return Ok(None) };
    let pages = state.counts(crate::daemon::wall_now())?.mirrored;
    Ok(Some(pages).filter(|pages| *pages > 0))
}

/// One sentence: what is there, and what becomes different.
pub(super) fn sentence(pages: u64, before: &Config, after: &Config, new_token: bool) -> String {
    let there = format!("The mirror already exists, with {}", output::count(pages, "page", "pages"));
    let changes = changes(before, after, new_token);
    match changes.is_empty() {
        true => format!("{there}; nothing changes."),
        false => format!("{there}; these settings change: {}.", changes.join(", ")),
    }
}

fn changes(before: &Config, after: &Config, new_token: bool) -> Vec<String> {
    let spaces = |config: &Config| match config.workspaces.as_slice() {
        [] => "all".to_owned(),
        some => some.join(" and "),
    };
    let storage = |config: &Config| match (config.storage.enabled, config.storage.mode) {
        (false, _) | (true, StorageMode::Off) => "left alone",
        (true, StorageMode::Backup) => "backed up",
        (true, StorageMode::TwoWay) => "both ways",
    };
    let root = |config: &Config| config.root.display().to_string();
    let pairs = [
        ("the address", before.base_url.clone(), after.base_url.clone()),
        ("the folder", root(before), root(after)),
        ("workspaces", spaces(before), spaces(after)),
        ("personal files", storage(before).to_owned(), storage(after).to_owned()),
    ];
    let mut all: Vec<String> = pairs
        .into_iter()
        .filter(|(_, old, new)| old != new)
        .map(|(what, old, new)| format!("{what} (was {old}, now {new})"))
        .collect();
    if new_token {
        all.push("the access token".to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_named_and_nothing_else() {
        let config = || Config::new("https://a/api/v1".into(), "/a".into(), "/s".into());
        assert_eq!(
            sentence(1, &config(), &config(), false),
            "The mirror already exists, with 1 page; nothing changes."
        );
        let mut after = config();
        after.workspaces = vec!["acme".to_owned()];
        after.storage.mode = StorageMode::TwoWay;
        assert_eq!(
            sentence(1_200, &config(), &after, true),
            "The mirror already exists, with 1,200 pages; these settings change: workspaces (was all, now acme), personal files \
             (was backed up, now both ways), the access token."
        );
    }
}
