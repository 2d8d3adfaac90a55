//! `espejo undo`: takes back the last thing that espejo did to a file or to the service, where that can be done.

use std::io::Write;

use anyhow::{Result, bail};

use super::past::{Past, base_path};
use super::{output, put, restore};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon;
use crate::logging::escape;
use crate::markdown::{self, front_matter};
use crate::model::{MirrorPath, Put};
use crate::plan::merge;
use crate::store::{Act, ActKind};

/// Takes the last act back, or says what it would do.
///
/// # Errors
/// One sentence, when there is nothing to take back, it cannot be taken back, or it cannot be written.
pub async fn run(config: &Config, dry_run: bool, out: &mut dyn Write) -> Result<Exit> {
    let past = Past::open(config)?;
    let Some(act) = past.store().last_act()? else {
        bail!("espejo has done nothing yet that could be undone")
    };
    let ago = output::ago(daemon::wall_now().since_ms(act.at));
    let what = escape(&words(&act));
    let undoing = undoing(&past, &act)?;
    let name = output::paint(output::NAME, act.path.as_str());
    if dry_run {
        writeln!(out, "{name}: {what}, {ago}; espejo undo takes that back")?;
        return Ok(Exit::Done);
    }
    let running = put::carry_out(config, undoing.put).await?;
    writeln!(out, "{name}: taken back that {what}, {ago}")?;
    if undoing.stays {
        writeln!(out, "  words that were changed again since stay as they are")?;
    }
    writeln!(out, "  {}; a second espejo undo brings it back", restore::then(running))?;
    Ok(Exit::Done)
}

/// What was done, as the end of a sentence.
fn words(act: &Act) -> String {
    let other = act.other.as_deref().unwrap_or_default();
    match act.kind {
        ActKind::Sent => "an edit of yours was sent".to_owned(),
        ActKind::Retitled => format!("its page was renamed from {other}"),
        ActKind::Made => "a page was made for it".to_owned(),
        ActKind::TrashedThere => "its page went to the service's trash".to_owned(),
        ActKind::Written => "it was written for a page".to_owned(),
        ActKind::Updated => "a change at the service was carried into it".to_owned(),
        ActKind::Renamed => format!("it was renamed from {other}, as its page was"),
        ActKind::PutBack => format!("it was put back from {other}"),
        ActKind::TrashedHere => "it went to .espejo/trash, because its page was gone".to_owned(),
        ActKind::Copied => format!("your version was kept in {other}"),
        ActKind::Restored => "an earlier text was put into it".to_owned(),
        ActKind::NamedBack => format!("its name was put back from {other}"),
        ActKind::Elsewhere => other.to_owned(),
    }
}

/// How an act is taken back.
struct Undoing {
    put: Put,
    /// Whether some of it was changed again since, and stays.
    stays: bool,
}

fn undoing(past: &Past<'_>, act: &Act) -> Result<Undoing> {
    let path = &act.path;
    let cannot = |mend: &str| anyhow::anyhow!("{path}: that {} cannot be undone here; {mend}", words(act));
    match act.kind {
        ActKind::Sent | ActKind::Updated | ActKind::Restored => {
            let undoing = text_back(past, act)?;
            // The guard for emptied files would hold it, and the words would be gone from the file alone.
            if matches!(&undoing.put, Put::Text { text, .. } if text.trim().is_empty()) {
                return Err(cannot(
                    "it would leave the file empty: delete the file to delete its page as well",
                ));
            }
            Ok(undoing)
        }
        ActKind::Renamed | ActKind::NamedBack => name_back(past, act, act.other.as_deref()),
        ActKind::Retitled => {
            let old = act.other.as_deref().unwrap_or_default();
            let name = crate::plan::naming::choose(old, &|_| false, 252);
            let to = path.parent().and_then(|up| up.join(&format!("{}.md", name.stem)).ok());
            name_back(past, act, to.as_ref().map(MirrorPath::as_str))
        }
        ActKind::Made => {
            Err(cannot("the file is yours: delete it, and its page goes to the service's trash"))
        }
        ActKind::Written => Err(cannot("delete the file to move its page to the service's trash")),
        ActKind::TrashedThere => Err(cannot(&format!(
            "the API brings no page back from the trash: restore it in the app, or as a new page with espejo \
             restore {} --at {}",
            output::shell_word(path.as_str()),
            newest(past, path)?
        ))),
        ActKind::TrashedHere => Err(cannot(&format!(
            "its page is gone: restore it in the app, or as a new page with espejo restore {} --at {}",
            output::shell_word(path.as_str()),
            newest(past, path)?
        ))),
        ActKind::PutBack => {
            Err(cannot("the API cannot move pages: move it in the app, or set moves = \"recreate\""))
        }
        ActKind::Copied => Err(cannot("take over what you want to keep, then remove the copy")),
        ActKind::Elsewhere => bail!(
            "{path}: the last thing that espejo did is \u{201c}{}\u{201d}, and only what it did to pages can be taken back; \
             change it back by hand, and restore in the app what went to the service's trash",
            words(act)
        ),
    }
}

/// The number of the last version of what was at a place.
fn newest(past: &Past<'_>, path: &MirrorPath) -> Result<i64> {
    Ok(past.versions(path)?.last().map_or(0, |version| version.number))
}

/// The file's text without what the act brought; what else has been changed since stays.
fn text_back(past: &Past<'_>, act: &Act) -> Result<Undoing> {
    let node = act.page.as_ref().and_then(|id| past.loaded.pages.get(id));
    let path = node.and_then(base_path).unwrap_or(&act.path).clone();
    let Some(present) = past.present(&path)? else {
        bail!("{path} is not there; espejo history shows what it held");
    };
    let is_untouched = act.text_after == Some(present.hash);
    let text_before = act.text_before.map(|hash| past.store().content(hash)).transpose()?.flatten();
    if let (true, Some(bytes)) = (is_untouched, text_before) {
        let text = String::from_utf8(bytes).map_err(|_| {
            anyhow::anyhow!("{path} was not UTF-8 text before; its bytes of then are in .espejo/trash")
        })?;
        let body = act.body_before.map(|hash| past.body(hash)).transpose()?;
        return Ok(Undoing { put: Put::Text { path, expect: Some(present.hash), text, body }, stays: false });
    }
    let (Some(before), Some(after)) = (act.body_before, act.body_after) else {
        bail!("{path} has been changed since; espejo history and espejo restore put back what you choose");
    };
    let merged = merge::merge(&past.body(after)?, &present.blocks, &past.body(before)?);
    let text = present.front().to_owned() + &markdown::patch(present.body(), &present.blocks, &merged.blocks);
    if text == present.text {
        bail!("{path} has nothing left of that: {}", words(act));
    }
    // A text that would be read otherwise than it is meant is not noted as that body.
    let is_sound = front_matter::split(&text).is_ok();
    let body = is_sound.then_some(merged.blocks);
    let stays = !merged.collisions.is_empty();
    Ok(Undoing { put: Put::Text { path, expect: Some(present.hash), text, body }, stays })
}

/// The file under its former name.
fn name_back(past: &Past<'_>, act: &Act, to: Option<&str>) -> Result<Undoing> {
    let node = act.page.as_ref().and_then(|id| past.loaded.pages.get(id));
    let from = node.and_then(|node| node.file.as_ref()).unwrap_or(&act.path).clone();
    let Some(to) = to.and_then(|to| MirrorPath::new(to).ok()) else {
        bail!("the former name of {from} is not known");
    };
    if from == to {
        bail!("{from} has its former name already");
    }
    Ok(Undoing { put: Put::Name { from, to }, stays: false })
}
