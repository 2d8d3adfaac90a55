//! What a report of a fault needs, without names, paths, addresses or the token: versions, which settings are set, how each check
//! ended, numbers, and codes.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;

use super::{Findings, system};
use crate::cli::VERSION;
use crate::config::Config;
use crate::daemon;
use crate::store::ReadOnly;

/// Prints it, as Markdown that can be pasted.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write(config: Option<&Config>, findings: &Findings, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "espejo {VERSION} on {}", system::name())?;
    writeln!(out, "\nChecks:")?;
    for finding in &findings.0 {
        writeln!(out, "- {}: {}", finding.check, finding.level.word())?;
    }
    let Some(config) = config else { return Ok(()) };
    writeln!(out, "\nSettings:")?;
    for line in settings(config) {
        writeln!(out, "- {line}")?;
    }
    match state(config) {
        Ok(lines) => {
            writeln!(out, "\nState:")?;
            for line in lines {
                writeln!(out, "- {line}")?;
            }
        }
        // The check of the state has said why.
        Err(error) => tracing::debug!(%error, "the state is left out of the report"),
    }
    Ok(())
}

/// The settings that change what espejo does, those that name something left out.
fn settings(config: &Config) -> Vec<String> {
    let settings = config.settings();
    vec![
        format!("requests_per_minute = {}", config.requests_per_minute),
        format!("workspaces: {}", if settings.workspaces.is_empty() { "all" } else { "some" }),
        format!("settle_ms = {}", settings.pages.settle_ms),
        format!("deletes = {:?}, moves = {:?}", config.pages.deletes, config.pages.moves),
        format!("max_deletes = {}, max_creates = {}", config.pages.max_deletes, config.pages.max_creates),
        format!("blocks: {}", config.pages.blocks.len()),
        format!("storage: {:?}, enabled: {}", config.storage.mode, config.storage.enabled),
        format!(
            "whiteboards: {}, presentations: {}",
            settings.boards.whiteboards, settings.boards.presentations
        ),
    ]
}

fn state(config: &Config) -> Result<Vec<String>> {
    let Some(state) = ReadOnly::open(&config.state_dir)? else { return Ok(vec!["none yet".to_owned()]) };
    let counts = state.counts(daemon::wall_now())?;
    let (boards, storage) = (state.board_counts()?, state.storage_counts()?);
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    for item in state.attention()? {
        *codes.entry(item.code.name()).or_default() += 1;
    }
    let codes: Vec<String> = codes.iter().map(|(code, count)| format!("{code} ({count})")).collect();
    Ok(vec![
        format!(
            "pages: {} mirrored, {} to come, {} pending",
            counts.mirrored, counts.unmirrored, counts.pending
        ),
        format!("canvases: {} whiteboards, {} presentations", boards.whiteboards, boards.presentations),
        format!("stored files: {}, {} to come", storage.files, storage.missing),
        format!("requests in the last minute: {}", counts.requests_last_minute),
        format!("conflicts: {}", state.conflicts()?.len()),
        format!("messages: {}", if codes.is_empty() { "none".to_owned() } else { codes.join(", ") }),
    ])
}
