//! `espejo conflicts`: what collided, and where both versions are.

use std::io::Write;

use anyhow::Result;

use super::output;
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon;
use crate::store::ReadOnly;

/// Lists the conflict copies.
///
/// # Errors
/// One sentence, when the state cannot be read.
pub fn run(config: &Config, out: &mut dyn Write) -> Result<Exit> {
    let conflicts = match ReadOnly::open(&config.state_dir)? {
        Some(state) => state.conflicts()?,
        None => Vec::new(),
    };
    if conflicts.is_empty() {
        writeln!(out, "no conflicts")?;
        return Ok(Exit::Done);
    }
    let now = daemon::wall_now();
    for conflict in &conflicts {
        let page = config.root.join(conflict.page_path.as_str());
        let copy = config.root.join(conflict.path.as_str());
        let ago = output::ago(now.since_ms(conflict.made_at));
        writeln!(
            out,
            "{}  {}",
            output::paint(output::NAME, &page.display().to_string()),
            output::paint(output::DIM, &ago)
        )?;
        if !conflict.summary.is_empty() {
            writeln!(out, "  {}", conflict.summary)?;
        }
        writeln!(out, "  your version: {}", copy.display())?;
    }
    writeln!(out, "Take over what you want to keep, then remove the copy: that settles it.")?;
    Ok(Exit::NeedsUser)
}
