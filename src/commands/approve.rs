//! `espejo approve`: lets through what a guard holds, in the running daemon or for the next run, after it has said what
//! that does and has asked.

mod effects;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
pub(super) use effects::stored;
use effects::{Effect, Effects};

use super::control::{self, Ask};
use super::{WrongUsage, dismiss, run, session, terminal};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon::place_in;
use crate::model::{Event, MirrorPath, Request};
use crate::store::ReadOnly;

/// What was asked for.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Files and folders; everything that is held without any.
    pub paths: Vec<PathBuf>,
    /// Ask no question.
    pub yes: bool,
    /// Only show it.
    pub dry_run: bool,
    /// As one JSON value.
    pub json: bool,
}

/// Approves what is held at the named places, or everything, once the user agrees.
///
/// # Errors
/// One sentence, when a path is not in the mirror, nothing is on hold at it, there is no terminal to ask on, or the state cannot be used.
pub async fn run(config: &Config, asked: &Asked, out: &mut dyn Write) -> Result<Exit> {
    let mut places = places_of(config, &asked.paths)?;
    let mut held = read(config)?;
    for place in &mut places {
        match held.meant(place) {
            Some(meant) => *place = meant,
            None => bail!("nothing is on hold at {place}; espejo status shows what is"),
        }
        if let Some(why) = held.cannot(place) {
            bail!("{place} cannot be approved: {why}");
        }
    }
    loop {
        let effects = held.at(&places);
        if effects.is_empty() && places.is_empty() {
            return nothing(asked, out);
        }
        if !asked.json {
            effects::show(&effects, out)?;
        }
        if asked.dry_run {
            return told(&effects, asked, false, Exit::Done, out);
        }
        if asked.yes {
            break;
        }
        let alone = "nothing was approved: add --yes to approve this without a question";
        if asked.json {
            told(&effects, asked, false, Exit::Usage, out)?;
        }
        if asked.json || !terminal::can_ask() {
            return Err(WrongUsage::because(alone).into());
        }
        terminal::agreed("Approve this?", alone, "nothing was approved")?;
        // More may have been held while the user was reading: the user did not agree to that.
        held = read(config)?;
        if held.at(&places) == effects {
            break;
        }
        writeln!(out, "this has changed meanwhile:")?;
    }
    let effects = held.at(&places);
    let mut nowhere = std::io::sink();
    carry_out(config, &held, places, if asked.json { &mut nowhere } else { out }).await?;
    told(&effects, asked, true, Exit::Done, out)
}

/// Releases it, and says what happens next.
async fn carry_out(
    config: &Config,
    held: &Effects,
    mut places: Vec<MirrorPath>,
    out: &mut dyn Write,
) -> Result<()> {
    // What was taken for formatting goes by a way of its own: no guard holds it.
    let differing: Vec<MirrorPath> = places.iter().filter(|place| held.differs(place)).cloned().collect();
    for place in &differing {
        dismiss::send_at_its_word(config, place, out).await?;
    }
    places.retain(|place| !differing.contains(place) || held.is_held_too(place));
    if !differing.is_empty() && places.is_empty() {
        return Ok(());
    }
    // What cannot be read is approved by its path, after it was shown with what waits for it.
    let unreadable = if places.is_empty() { held.unreadable() } else { Vec::new() };
    let mut asked = vec![places];
    asked.extend((!unreadable.is_empty()).then_some(unreadable));
    if run::is_running(&config.state_dir) {
        for places in asked {
            let ask = Ask::Approve(places.iter().map(ToString::to_string).collect());
            control::ask(&config.state_dir, &ask).await?;
        }
        writeln!(out, "approved; the running espejo carries it out now")?;
    } else {
        let (mut engine, clock, _lock) = session::hold(config)?.engine(config)?;
        for places in asked {
            engine.handle(Event::Asked(Request::Approve(places)), clock())?;
        }
        writeln!(out, "approved; the next espejo sync or espejo run carries it out")?;
    }
    Ok(())
}

fn read(config: &Config) -> Result<Effects> {
    let Some(mut state) = ReadOnly::open(&config.state_dir)? else {
        bail!("there is no mirror yet: run espejo sync or espejo run first");
    };
    Effects::read(&mut state, &config.root, config.pages.deletes)
}

fn nothing(asked: &Asked, out: &mut dyn Write) -> Result<Exit> {
    if !asked.json {
        writeln!(out, "nothing is on hold")?;
    }
    told(&[], asked, false, Exit::Done, out)
}

/// Prints the JSON value, where it was asked for.
fn told(effects: &[Effect], asked: &Asked, approved: bool, exit: Exit, out: &mut dyn Write) -> Result<Exit> {
    if asked.json {
        writeln!(out, "{}", effects::as_json(effects, approved))?;
    }
    Ok(exit)
}

/// What was typed, as places in the mirror; none where the mirror itself is among them.
///
/// # Errors
/// One sentence, when one is not in the mirror.
pub(super) fn places_of(config: &Config, paths: &[PathBuf]) -> Result<Vec<MirrorPath>> {
    let mut places: Vec<MirrorPath> = Vec::new();
    for path in paths {
        match place_in(&config.root, path) {
            Some(place) => places.push(place),
            None => bail!("{} is not in the mirror {}", path.display(), config.root.display()),
        }
    }
    if places.iter().any(MirrorPath::is_root) {
        places.clear();
    }
    Ok(places)
}
