//! `espejo verify`: a full pass that also compares stored files with what was downloaded, and repairs what is missing. Links
//! between pages that lead nowhere are listed.

mod links;

use std::ffi::OsString;
use std::io::Write;

use anyhow::Result;

use super::output;
use super::sync::{self, Screen};
use crate::cli::Exit;
use crate::config::Config;
use crate::model::Request;

/// Checks the mirror. Exit code 3 when something needs the user.
///
/// # Errors
/// One sentence, when the check cannot be made or finished.
pub async fn run(
    config: &Config,
    variable: &dyn Fn(&str) -> Option<OsString>,
    screen: Screen<'_>,
    deep: bool,
    out: &mut dyn Write,
) -> Result<Exit> {
    let quiet = screen.quiet;
    let pass = sync::pass(config, variable, screen, Request::Verify { deep }).await?;
    if !quiet && pass.summary.pass_is_over {
        output::say(out, &words(&pass.summary, deep))?;
        tell(&links::broken(config)?, out)?;
    }
    sync::conclude(&pass, true, out)
}

/// The mirror is in step with broken links, too, so they change no exit code.
fn tell(broken: &[links::Broken], out: &mut dyn Write) -> Result<()> {
    if broken.is_empty() {
        return Ok(());
    }
    let count = output::count(broken.len() as u64, "link between pages leads", "links between pages lead");
    output::say(out, &format!("{count} nowhere:"))?;
    for link in broken {
        let place = crate::logging::escape(&link.place);
        writeln!(out, "  {place}  {}", crate::logging::escape(&link.written))?;
    }
    Ok(())
}

fn words(summary: &crate::engine::Summary, deep: bool) -> String {
    let storage = &summary.storage;
    let mut words = output::count(summary.mirrored as u64, "page", "pages");
    words.push_str(" compared with the service");
    if storage.listed > 0 {
        let files = output::count(storage.files as u64, "stored file", "stored files");
        words.push_str(&format!("; {files} there, {}", output::bytes(storage.bytes)));
        words.push_str(if deep { ", every byte compared" } else { ", by size and time (--deep reads them)" });
    }
    words
}
