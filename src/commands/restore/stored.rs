//! Stored files from the mirror's trash, back into their place.

use std::io::Write;

use anyhow::Result;

use crate::cli::past::Past;
use crate::cli::report::Report;
use crate::cli::{Exit, kept, output};
use crate::config::Config;
use crate::model::MirrorPath;

/// Puts a copy of a stored file back: what was there at a time or after a change, or the newest one.
///
/// # Errors
/// One sentence, when there is none or it cannot be put there.
pub(super) fn run(
    config: &Config,
    past: &Past<'_>,
    place: &MirrorPath,
    at: Option<&str>,
    out: &mut Report<'_>,
) -> Result<Exit> {
    let copy = kept::find(config, past, place, at)?;
    let then = kept::put_back(config, past, place, &copy)?;
    writeln!(out, "{} is restored {}", output::name(place), copy.told())?;
    writeln!(out, "  {then}")?;
    out.add(place, "restored", None, Some(&copy.told()));
    Ok(Exit::Done)
}
