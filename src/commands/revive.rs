//! Deleted nodes of a canvas file: what is kept of them, and back into the file. `espejo restore` is for pages and
//! canvases alike; this is its part for canvases.

use anyhow::{Context, Result, bail};

use crate::canvas;
use crate::config::Config;
use crate::mirror::Mirror;
use crate::model::{ContentHash, DiskReply, Effect, Expect, MirrorPath, Surface, Timestamp};
use crate::store::{Grave, ReadOnly};

/// What was deleted from the canvas file at `place`, newest first.
///
/// # Errors
/// One sentence, when the state cannot be read.
pub fn deleted(config: &Config, place: &MirrorPath) -> Result<Vec<Grave>> {
    match ReadOnly::open(&config.state_dir)? {
        Some(state) => Ok(state.graves(place)?),
        None => Ok(Vec::new()),
    }
}

/// Writes nodes for what was deleted from a canvas file since a moment back into it; how many. A running espejo, or the
/// next sync, makes elements of them, with new ids.
///
/// # Errors
/// One sentence, when there is nothing to bring back or the file cannot be written.
pub fn run(config: &Config, mirror: &Mirror, place: &MirrorPath, since: Timestamp) -> Result<usize> {
    let graves: Vec<Grave> = deleted(config, place)?.into_iter().filter(|grave| grave.at >= since).collect();
    if graves.is_empty() {
        bail!("nothing that was deleted from {place} is kept");
    }
    let look = match mirror.perform(&Effect::ReadFile(place.clone())) {
        Ok(DiskReply::File(look)) => look,
        Ok(_) => bail!("{place} cannot be read"),
        Err(error) => bail!("{place} cannot be read: {error}; restore the file first"),
    };
    let mut text =
        String::from_utf8(look.bytes.clone()).context("it is not UTF-8 text; mend the file first")?;
    let slide = place.as_str().starts_with("Presentations/");
    let surface = if slide { Surface::Slide } else { Surface::Board };
    let mut back = 0;
    for grave in graves.iter().rev() {
        // One that is in the file already needs no bringing back.
        if let Ok(with) = canvas::revive(&text, surface, &grave.element) {
            text = with;
            back += 1;
        }
    }
    if back == 0 {
        bail!("everything that was deleted from {place} is in it already, or the file is no canvas");
    }
    let expect = Expect::Content(ContentHash::of(&look.bytes));
    let effect = Effect::WriteFile { path: place.clone(), bytes: text.into_bytes(), expect };
    match mirror.perform(&effect) {
        Ok(_) => Ok(back),
        Err(error) => bail!("{place} cannot be written: {error}; try once more"),
    }
}
