//! Deleted nodes of a canvas file, back into it: the part of `espejo restore` that is for canvases.

use std::io::Write;

use anyhow::{Context, Result, bail};

use crate::cli::report::Report;
use crate::cli::{Exit, output, put};
use crate::config::Config;
use crate::core::content::compared;
use crate::core::items::Items;
use crate::core::items::rows;
use crate::mirror;
use crate::model::{ContentHash, MirrorPath, Put};
use crate::store::{Grave, ReadOnly};

/// Writes nodes for what espejo deleted from a canvas file back into it, as far as it is kept. They travel like any new node, so their elements are made again, with new ids.
///
/// # Errors
/// One sentence, when there is nothing to bring back or the file cannot be written.
pub(super) async fn run(config: &Config, place: &MirrorPath, out: &mut Report<'_>) -> Result<Exit> {
    let nothing = || format!("espejo has deleted nothing from {place} that it could restore");
    let Some(state) = ReadOnly::open(&config.state_dir)? else { bail!(nothing()) };
    let (graves, items): (Vec<Grave>, Items) = (state.graves(place)?, rows::items(state.store())?);
    if graves.is_empty() {
        bail!(nothing());
    }
    let bytes = mirror::peek(&config.root, place).with_context(|| format!("{place} cannot be read"))?;
    let text = String::from_utf8(bytes.clone()).context("it is not UTF-8 text; repair the file first")?;
    let item = items.at(place);
    let (mut with, mut back) = (text.clone(), 0);
    for grave in graves.iter().rev() {
        // One that is in the file already needs no bringing back.
        let at = (item, grave.slide.as_deref());
        if let Ok(more) = compared::revived(state.store(), &items, at, &with, &grave.element)? {
            with = more;
            back += 1;
        }
    }
    if back == 0 {
        bail!("everything that was deleted from {place} is already in it, or the file is not a canvas");
    }
    let expect = Some(ContentHash::of(&bytes));
    let put = Put::Text { path: place.clone(), expect, text: with, body: None, why: None };
    let running = put::carry_out(config, put).await?;
    let nodes = output::count(back, "deleted node", "deleted nodes");
    writeln!(out, "{nodes} restored in {}", output::name(place))?;
    out.add(place, "restored", None, Some(&nodes));
    writeln!(out, "  {}", put::then(running))?;
    Ok(Exit::Done)
}
