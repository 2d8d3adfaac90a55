//! Lines that espejo took for formatting while the service has them otherwise: the file's is sent, or the service's is taken.

use std::io::Write;

use anyhow::{Context, Result, bail};

use super::Way;
use crate::cli::past::Past;
use crate::cli::{Exit, WrongUsage, output, put};
use crate::config::Config;
use crate::logging::escape;
use crate::model::{Blocks, Code, MirrorPath, Node, Put, semantically_equal};
use crate::store::ReadOnly;

/// Settles the lines of one file.
///
/// # Errors
/// One sentence, when none of them differs, the way does not fit, or the file cannot be written.
pub(super) async fn settle(
    config: &Config,
    place: &MirrorPath,
    way: Way,
    out: &mut dyn Write,
) -> Result<Exit> {
    let told =
        ReadOnly::open(&config.state_dir)?.map_or_else(|| Ok(Vec::new()), |state| state.attention())?;
    let differs = told.iter().any(|need| need.code == Code::Difference && need.path == place.as_str());
    match (way, differs) {
        (_, false) => bail!("nothing collided or differs at {place}; espejo resolve lists what does"),
        (Way::Mine, true) => send_at_its_word(config, place, out).await?,
        (Way::Theirs, true) => take_service_version(config, place, out).await?,
        (Way::Both | Way::Edit, true) => {
            let why =
                "is taken for formatting, so --mine sends the file's line or --theirs takes the service's";
            return Err(WrongUsage(format!("a line of {place} {why}")).into());
        }
    }
    Ok(Exit::Done)
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
            why: Some("resolved a line".to_owned()),
        };
        Ok(Self { node, text: present.text, put, blocks })
    }

    fn with(self, text: String, blocks: Blocks) -> Put {
        match self.put {
            Put::Text { path, expect, why, .. } => Put::Text { path, expect, text, body: Some(blocks), why },
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
    writeln!(out, "{} has the service's version now", output::name(place))?;
    if !is_same {
        writeln!(out, "  its old text is kept: espejo undo restores it, espejo log PATH lists it")?;
    }
    Ok(())
}

/// Sends what a file says at its word, where that was taken for formatting.
///
/// # Errors
/// One sentence, when nothing of it can be sent.
async fn send_at_its_word(config: &Config, place: &MirrorPath, out: &mut dyn Write) -> Result<()> {
    let past = Past::open(config)?;
    let agreed = Agreed::read(&past, place)?;
    let said = past.at_its_word(agreed.node, &agreed.text, agreed.blocks.clone())?;
    if semantically_equal(&said, &agreed.blocks) {
        let typed = past.typed(place);
        bail!(
            "the differences in {place} cannot be sent, because the service has no such thing; espejo resolve {} --theirs writes the service's version into the file",
            escape(&typed)
        );
    }
    let text = agreed.text.clone();
    let running = put::carry_out(config, agreed.with(text, said)).await?;
    writeln!(out, "{} is sent as it is", output::name(place))?;
    writeln!(out, "  {}", put::then(running))?;
    Ok(())
}
