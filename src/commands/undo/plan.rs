//! How an act is taken back: the change to a file that does so, or why there is none.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::canvas::take_back;
use crate::cli::acts;
use crate::cli::canvases::{Canvases, is_canvas};
use crate::cli::past::{Past, base_path};
use crate::core::content::naming;
use crate::engine::says_trashed;
use crate::markdown::{self, front_matter};
use crate::model::{Blocks, ContentHash, Deletes, MirrorPath, Moves, Node, PageId, Put};
use crate::plan::merge;
use crate::store::{Act, ActKind};

/// How an act is taken back.
pub(super) struct Undoing {
    pub(super) put: Put,
    /// Whether some of it was changed again since, and stays.
    pub(super) stays: bool,
}

/// How an act is taken back.
///
/// # Errors
/// One sentence: why it cannot be, and what can be done instead.
pub(super) fn undoing(past: &Past<'_>, act: &Act) -> Result<Undoing> {
    let path = &act.path;
    if is_canvas(path) {
        return canvas_back(past, act);
    }
    let cannot = |mend: &str| cannot(act, mend);
    match act.kind {
        ActKind::Sent | ActKind::Updated | ActKind::Restored => {
            let undoing = text_back(past, act)?;
            // The guard for emptied files would hold it, and the words would be gone from the file alone.
            if matches!(&undoing.put, Put::Text { text, .. } if text.trim().is_empty()) {
                return Err(cannot("it would leave the file empty: delete the file to delete its page too"));
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
        ActKind::Made => made_back(past, act)?.ok_or_else(|| stays(act)),
        ActKind::Written => Err(cannot("delete the file to move its page to the service's trash")),
        ActKind::TrashedThere => Err(cannot(&format!(
            "the API cannot restore a page from the trash: restore it in the app, or as a new page with espejo restore {} --at {}",
            past.typed(path),
            act.number
        ))),
        ActKind::TrashedHere => Err(cannot(&format!(
            "its page is gone: restore it in the app, or as a new page with espejo restore {} --at {}",
            past.typed(path),
            act.number
        ))),
        ActKind::PutBack => {
            Err(cannot("the API cannot move pages: move it in the app, or set moves = \"recreate\""))
        }
        ActKind::Copied => Err(cannot("resolve the conflict with espejo resolve")),
        ActKind::Elsewhere | ActKind::Came => {
            Err(cannot(&format!("a stored file is put back alone, with espejo undo {}", act.number)))
        }
    }
}

/// The file of a canvas without what the act brought; what else has been changed since stays.
fn canvas_back(past: &Past<'_>, act: &Act) -> Result<Undoing> {
    let other = act.other.as_deref().unwrap_or_default();
    let canvases = Canvases::open(past)?;
    let path = canvases.place_now(&act.path)?;
    let (Some(text_before), Some(text_after)) = (act.text_before, act.text_after) else {
        let is_made = act.kind == ActKind::Elsewhere && naming::says_new(other);
        return Err(cannot(
            act,
            &match () {
                () if says_trashed(other) => {
                    format!(
                        "restore it in the app, or as a new one with espejo restore {}",
                        past.typed(&path)
                    )
                }
                () if is_made => "delete its file to move it to the service's trash".to_owned(),
                () => format!(
                    "its text before that is not kept; espejo log {} lists its versions",
                    past.typed(&path)
                ),
            },
        ));
    };
    let Some(file) = canvases.file(&path)? else {
        bail!("{path} does not exist; espejo log PATH shows its versions");
    };
    let put = |text| {
        let (path, expect, why) = (path.clone(), Some(file.hash), Some(format!("undid #{}", act.number)));
        Put::Text { path, expect, text, body: None, why }
    };
    let gone = || anyhow::anyhow!("the text before #{} is no longer kept", act.number);
    let before = past.kept_text(text_before)?.ok_or_else(gone)?;
    if file.hash == text_after {
        return Ok(Undoing { put: put(before), stays: false });
    }
    let Some(after) = past.kept_text(text_after)? else {
        bail!("{path} has changed since; choose a version with espejo log PATH and espejo restore");
    };
    let taken = take_back(&file.text, &before, &after, &canvases.aliases(&path))
        .map_err(|why| anyhow::anyhow!("{path}: {why}"))?;
    if taken.text == file.text {
        bail!(
            "{path} no longer contains what #{} brought ({})",
            act.number,
            acts::told(act).sentence(&act.path)
        );
    }
    Ok(Undoing { put: put(taken.text), stays: taken.stays })
}

/// The file's text without what the act brought; what else has been changed since stays.
fn text_back(past: &Past<'_>, act: &Act) -> Result<Undoing> {
    let node = act.page.as_ref().and_then(|id| past.loaded.pages.get(id));
    let path = node.and_then(base_path).unwrap_or(&act.path).clone();
    let Some(present) = past.present(&path)? else {
        bail!("{path} does not exist; espejo log PATH shows its versions");
    };
    let put = |text, body| {
        let (path, expect) = (path.clone(), Some(present.hash));
        Put::Text { path, expect, text, body, why: Some(format!("undid #{}", act.number)) }
    };
    let is_untouched = act.text_after == Some(present.hash);
    let text_before = act.text_before.map(|hash| past.store().content(hash)).transpose()?.flatten();
    if let (true, Some(bytes)) = (is_untouched, text_before) {
        let text = String::from_utf8(bytes).map_err(|_| {
            anyhow::anyhow!("{path} was not UTF-8 text before; the old bytes are in .espejo/trash")
        })?;
        let body = act.body_before.map(|hash| past.body(hash)).transpose()?;
        return Ok(Undoing { put: put(text, body), stays: false });
    }
    let before = said(past, node, act.body_before, act.text_before)?;
    let after = said(past, node, act.body_after, act.text_after)?;
    let (Some(before), Some(after)) = (before, after) else {
        bail!("{path} has changed since; choose a version with espejo log PATH and espejo restore");
    };
    let merged = merge::merge(&after, &present.blocks, &before);
    let text = present.front().to_owned() + &markdown::patch(present.body(), &present.blocks, &merged.blocks);
    if text == present.text {
        bail!(
            "{path} no longer contains the text of #{} ({})",
            act.number,
            acts::told(act).sentence(&act.path)
        );
    }
    // A text that would be read otherwise than it is meant is not noted as that body.
    let is_sound = front_matter::split(&text).is_ok();
    let body = is_sound.then_some(merged.blocks);
    let stays = !merged.collisions.is_empty();
    Ok(Undoing { put: put(text, body), stays })
}

/// What a page said before or after an act, by its body or else by its file's text.
fn said(
    past: &Past<'_>,
    node: Option<&Node>,
    body: Option<ContentHash>,
    text: Option<ContentHash>,
) -> Result<Option<Blocks>> {
    if let Some(body) = body {
        return past.body(body).map(Some);
    }
    let Some(text) = text.map(|text| past.kept_text(text)).transpose()?.flatten() else { return Ok(None) };
    let known = node.and_then(|node| node.base.as_ref()).map(|base| past.body(base.body)).transpose()?;
    past.parsed(node, &text, known.unwrap_or_default()).map(Some)
}

/// Why a change of a stored file stays.
pub(super) fn no_copy(act: &Act) -> anyhow::Error {
    cannot(act, "no copy of what was there is in .espejo/trash; change it back in the app")
}

fn cannot(act: &Act, mend: &str) -> anyhow::Error {
    let what = acts::told(act).sentence(&act.path);
    anyhow::anyhow!("#{} cannot be undone here ({what}): {mend}", act.number)
}

/// Why a page that was made here stays.
pub(super) fn stays(act: &Act) -> anyhow::Error {
    cannot(
        act,
        "the page has changed or has subpages: delete the file, and its page goes to the service's trash",
    )
}

/// Whether a page has others beneath it whose files do not go with it.
pub(super) fn has_pages_beneath(past: &Past<'_>, page: &PageId, going: &BTreeSet<PageId>) -> bool {
    let mut pages = past.loaded.pages.values();
    pages.any(|node| {
        node.remote.parent.as_ref() == Some(page) && node.file.is_some() && !going.contains(&node.id)
    })
}

/// The page to the trash with its file, if the app has not changed it since it was made. What lies beneath it is another matter.
/// Where a removed file comes back, or a moved one makes a page anew, the config decides what a page that was made is.
fn made_back(past: &Past<'_>, act: &Act) -> Result<Option<Undoing>> {
    let settings = past.page_settings();
    if settings.deletes != Deletes::Trash || settings.moves != Moves::PutBack {
        return Ok(None);
    }
    let node = act.page.as_ref().and_then(|id| past.loaded.pages.get(id));
    let node = node.filter(|node| node.base.as_ref().is_some_and(|base| node.remote.body == Some(base.body)));
    let Some(path) = node.and_then(|node| node.file.clone()) else { return Ok(None) };
    let agreed = node.and_then(|node| node.base.as_ref()?.text);
    let Some(present) = past.present(&path)?.filter(|present| agreed == Some(present.hash)) else {
        return Ok(None);
    };
    let later = past.store().acts_after(act.number)?;
    let is_edited = later.iter().any(|later| later.page == act.page && later.kind == ActKind::Updated);
    let put = Put::Away { path, expect: present.hash };
    Ok((!is_edited).then_some(Undoing { put, stays: false }))
}

/// The file under its former name.
fn name_back(past: &Past<'_>, act: &Act, to: Option<&str>) -> Result<Undoing> {
    let node = act.page.as_ref().and_then(|id| past.loaded.pages.get(id));
    let from = node.and_then(|node| node.file.as_ref()).unwrap_or(&act.path).clone();
    let Some(to) = to.and_then(|to| MirrorPath::new(to).ok()) else {
        bail!("the former name of {from} is unknown");
    };
    if from == to {
        bail!("{from} already has its former name");
    }
    Ok(Undoing { put: Put::Name { from, to }, stays: false })
}

/// Acts as fewer ones, newest first: the edits of one page in a row are one, from what it said before the first to what it
/// said after the last, and so are its renamings. Each with the number of its first.
pub(super) fn gathered(acts: Vec<Act>) -> Vec<(Act, i64)> {
    let mut all: Vec<(Act, i64)> = Vec::new();
    for act in acts {
        let class = class_of(&act);
        let is_same = |(later, _): &&mut (Act, i64)| {
            let is_one = later.page == act.page && (act.page.is_some() || later.path == act.path);
            is_one && class_of(later) == class
        };
        match all.iter_mut().find(is_same).filter(|_| class != Class::Other) {
            Some((later, first)) => {
                *first = act.number;
                later.body_before = act.body_before;
                later.text_before = act.text_before;
                later.other = act.other;
                later.kind = act.kind;
            }
            None => {
                let first = act.number;
                all.push((act, first));
            }
        }
    }
    all
}

/// Acts of one class can be taken back together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Text,
    Name,
    Other,
}

fn class_of(act: &Act) -> Class {
    match act.kind {
        ActKind::Sent | ActKind::Updated | ActKind::Restored => Class::Text,
        ActKind::Elsewhere | ActKind::Came if act.text_before.is_some() && act.text_after.is_some() => {
            Class::Text
        }
        ActKind::Renamed | ActKind::NamedBack | ActKind::Retitled => Class::Name,
        _ => Class::Other,
    }
}
