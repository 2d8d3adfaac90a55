//! `espejo approve`: lets through what a guard holds, in the running daemon or for the next run, after it has said what
//! that does and has asked.

mod effects;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
pub(super) use effects::stored;
use effects::{Effect, Effects};

use crate::cli::{Call, Exit, WrongUsage, session, terminal};
use crate::config::Config;
use crate::daemon::control::{self, Ask};
use crate::model::{Event, MirrorPath, Request};
use crate::store::ReadOnly;

/// Release what is on hold; lists it and asks first
///
/// Changes that look like an accident are on hold: many deletions at once, or a side that is suddenly empty.
/// `espejo status` shows them with the reason. approve lists what it would do, with counts, and asks before it does it;
/// without a terminal it does nothing unless you add --yes, and ends with 2.
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  espejo approve --dry-run\n  espejo approve ~/Workspace/Acme/Pages/Old\n  espejo approve --yes"
)]
pub struct Args {
    /// Only these files and folders [default: everything on hold]
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
    /// Show what would be done, and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Print the result as JSON, and ask nothing
    #[arg(long)]
    pub json: bool,
}

/// Approves what is held at the named places, or everything, once the user agrees.
///
/// # Errors
/// One sentence, when a path is not in the mirror, nothing is on hold at it, there is no terminal to ask on, or the state cannot be used.
pub async fn run(asked: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let config = &call.config()?;
    let out: &mut dyn Write = &mut *call.out;
    let mut places = session::places(config, &asked.paths)?;
    if places.iter().any(MirrorPath::is_root) {
        places.clear();
    }
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
    places: Vec<MirrorPath>,
    out: &mut dyn Write,
) -> Result<()> {
    // What cannot be read is approved by its path, after it was shown with what waits for it.
    let unreadable = if places.is_empty() { held.unreadable() } else { Vec::new() };
    let mut asked = vec![places];
    asked.extend((!unreadable.is_empty()).then_some(unreadable));
    if session::is_running(&config.state_dir) {
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

fn nothing(asked: &Args, out: &mut dyn Write) -> Result<Exit> {
    if !asked.json {
        writeln!(out, "nothing is on hold")?;
    }
    told(&[], asked, false, Exit::Done, out)
}

/// Prints the JSON value, where it was asked for.
fn told(effects: &[Effect], asked: &Args, approved: bool, exit: Exit, out: &mut dyn Write) -> Result<Exit> {
    if asked.json {
        writeln!(out, "{}", effects::as_json(effects, approved))?;
    }
    Ok(exit)
}
