//! `espejo dismiss`: puts away notes of what happened, and settles a line that was taken for formatting with the service's
//! version of it. What needs the user is not put away.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::approve::places_of;
use super::control::{self, Ask};
use super::past::Past;
use super::{output, put, restore, run, session};
use crate::cli::Exit;
use crate::config::Config;
use crate::logging::escape;
use crate::model::{
    Attention, Blocks, Code, Event, Level, MirrorPath, Node, Put, Request, semantically_equal,
};
use crate::store::{Conflict, ReadOnly};

/// Puts away what is told of `paths`, or all notes of events.
///
/// # Errors
/// One sentence, when a path is not in the mirror, nothing of it can be put away, or the state cannot be used.
pub async fn run(config: &Config, paths: &[PathBuf], out: &mut dyn Write) -> Result<Exit> {
    let places = places_of(config, paths)?;
    let Some(state) = ReadOnly::open(&config.state_dir)? else {
        bail!("there is no mirror yet: run espejo sync or espejo run first");
    };
    let (told, conflicts) = (state.attention()?, state.conflicts()?);
    drop(state);
    if places.is_empty() {
        return everything(config, &told, out).await;
    }
    let mut all = Vec::new();
    for place in places {
        let here = Here::at(place, &told);
        if here.events.is_empty() && here.differences.is_empty() {
            bail!("{}", here.refusal(&conflicts));
        }
        all.push(here);
    }
    let events: Vec<&Attention> = all.iter().flat_map(|here| here.events.iter().copied()).collect();
    if !events.is_empty() {
        let places: Vec<MirrorPath> =
            events.iter().map(|item| MirrorPath::new(&item.path)).collect::<Result<_, _>>()?;
        put_away(config, places).await?;
        writeln!(out, "{}", count_of(events.len()))?;
    }
    for here in all.iter().filter(|here| !here.differences.is_empty()) {
        take_service_version(config, &here.file, out).await?;
    }
    let left: Vec<&Attention> = all.iter().flat_map(|here| here.acts.iter().copied()).collect();
    for item in &left {
        output::need(out, item.level(), &item.path, &item.reason, &item.action)?;
    }
    Ok(if left.is_empty() { Exit::Done } else { Exit::NeedsUser })
}

fn count_of(notes: usize) -> String {
    format!("{} dismissed", output::count(notes as u64, "note", "notes"))
}

async fn everything(config: &Config, told: &[Attention], out: &mut dyn Write) -> Result<Exit> {
    let notes = told.iter().filter(|item| item.code.is_event()).count();
    match notes {
        0 => writeln!(out, "there is no note to dismiss")?,
        _ => {
            put_away(config, Vec::new()).await?;
            writeln!(out, "{}", count_of(notes))?;
        }
    }
    let differ = told.iter().filter(|item| item.code == Code::Difference).count() as u64;
    if differ > 0 {
        let stay = output::count(
            differ,
            "line is still taken for formatting",
            "lines are still taken for formatting",
        );
        let how = "espejo dismiss FILE writes the service's line into the file, espejo approve FILE sends the file's line";
        output::say(out, &format!("{stay}: {how}"))?;
    }
    Ok(Exit::Done)
}

/// Has the running daemon put the notes of events at these places away, or does it here.
async fn put_away(config: &Config, places: Vec<MirrorPath>) -> Result<()> {
    if run::is_running(&config.state_dir) {
        let ask = Ask::Dismiss(places.iter().map(ToString::to_string).collect());
        return control::ask(&config.state_dir, &ask).await;
    }
    let (mut engine, clock, _lock) = session::hold(config)?.engine(config)?;
    engine.handle(Event::Asked(Request::Dismiss(places)), clock())?;
    Ok(())
}

/// What is told of one place.
struct Here<'a> {
    place: MirrorPath,
    /// The place with a page's ending, where that is what was meant.
    file: MirrorPath,
    events: Vec<&'a Attention>,
    /// Of the file itself, not of what is beneath it.
    differences: Vec<&'a Attention>,
    acts: Vec<&'a Attention>,
    others: Vec<&'a Attention>,
}

impl<'a> Here<'a> {
    fn at(place: MirrorPath, told: &'a [Attention]) -> Self {
        let page = place.parent().and_then(|up| up.join(&format!("{}.md", place.name())).ok());
        let file = page.filter(|page| told.iter().any(|item| item.path == page.as_str()));
        let file = file.unwrap_or_else(|| place.clone());
        let mut here = Self {
            events: Vec::new(),
            differences: Vec::new(),
            acts: Vec::new(),
            others: Vec::new(),
            place,
            file,
        };
        for item in told {
            let Ok(path) = MirrorPath::new(&item.path) else { continue };
            if path.is_root() || !path.is_within(&here.place) && path != here.file {
                continue;
            }
            match item.code {
                code if code.is_event() => here.events.push(item),
                Code::Difference if path == here.file => here.differences.push(item),
                code if code.level() == Level::Act => here.acts.push(item),
                _ => here.others.push(item),
            }
        }
        here
    }

    /// Why nothing here is put away, with what helps instead.
    fn refusal(&self, conflicts: &[Conflict]) -> String {
        let place = escape(self.place.as_str()).to_string();
        let is_here = |path: &MirrorPath| path.is_within(&self.place) || *path == self.file;
        if let Some(item) = self.acts.first() {
            return format!("{}: {}; this cannot be dismissed: {}", item.path, item.reason, item.action);
        }
        if let Some(conflict) = conflicts.iter().find(|conflict| is_here(&conflict.page_path)) {
            let path = &conflict.page_path;
            return format!("{path}: {}; this cannot be dismissed: {}", conflict.cause(), conflict.mend());
        }
        match self.others.first() {
            Some(item) if item.code == Code::Difference => format!(
                "{}: {}; name the file itself: espejo dismiss FILE writes the service's line into the file, espejo approve FILE sends the file's line",
                item.path, item.reason
            ),
            Some(item) => {
                format!("{}: {}; this disappears when it is over: {}", item.path, item.reason, item.action)
            }
            None => format!("there is no message about {place}; espejo status lists the messages"),
        }
    }
}

/// A page's file as both sides agreed on it.
struct Agreed<'a> {
    node: &'a Node,
    text: String,
    put: Put,
    blocks: Blocks,
}

impl<'a> Agreed<'a> {
    /// Reads it, with a change of it that changes nothing.
    fn read(past: &'a Past<'_>, place: &MirrorPath) -> Result<Self> {
        let node = past.page_at(place).with_context(|| format!("{place} is not a page's file"))?;
        let present = past.present(place)?.with_context(|| format!("{place} is not there"))?;
        let Some(base) = node.base.as_ref().filter(|base| base.text == Some(present.hash)) else {
            bail!(
                "{place} has an edit that has not been sent yet; run this again when espejo diff shows no edit"
            );
        };
        let blocks = past.body(base.body)?;
        let put = Put::Text {
            path: place.clone(),
            expect: Some(present.hash),
            text: present.text.clone(),
            body: None,
        };
        Ok(Self { node, text: present.text, put, blocks })
    }

    fn with(self, text: String, blocks: Blocks) -> Put {
        match self.put {
            Put::Text { path, expect, .. } => Put::Text { path, expect, text, body: Some(blocks) },
            other => other,
        }
    }
}

/// Takes the service's version of the lines that were taken for formatting into the file.
async fn take_service_version(config: &Config, place: &MirrorPath, out: &mut dyn Write) -> Result<()> {
    let past = Past::open(config)?;
    let agreed = Agreed::read(&past, place)?;
    let text = past.settled(agreed.node, &agreed.text, &agreed.blocks)?;
    let blocks = agreed.blocks.clone();
    let is_same = text == agreed.text;
    put::carry_out(config, agreed.with(text, blocks)).await?;
    writeln!(out, "{} has the service's version now", output::paint(output::NAME, place.as_str()))?;
    if !is_same {
        writeln!(out, "  its old text is kept: espejo undo restores it, espejo history lists it")?;
    }
    Ok(())
}

/// Sends what a file says at its word, where that was taken for formatting.
///
/// # Errors
/// One sentence, when nothing of it can be sent.
pub(super) async fn send_at_its_word(config: &Config, place: &MirrorPath, out: &mut dyn Write) -> Result<()> {
    let past = Past::open(config)?;
    let agreed = Agreed::read(&past, place)?;
    let said = past.at_its_word(agreed.node, &agreed.text, agreed.blocks.clone())?;
    if semantically_equal(&said, &agreed.blocks) {
        let typed = output::shell_word(&config.root.join(place.as_str()).to_string_lossy());
        bail!(
            "the differences in {place} cannot be sent, because the service has no such thing; espejo dismiss {} writes the service's version into the file",
            escape(&typed)
        );
    }
    let text = agreed.text.clone();
    let running = put::carry_out(config, agreed.with(text, said)).await?;
    writeln!(out, "{} is sent as it is", output::paint(output::NAME, place.as_str()))?;
    writeln!(out, "  {}", restore::then(running))?;
    Ok(())
}
