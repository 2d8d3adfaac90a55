//! The search without the service: the index is brought up to date with the state and the files, then asked.

use std::panic::resume_unwind;
use std::path::Path;

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget};

use super::texts::{self, Reader};
use super::{Asked, Results, Shown};
use crate::commands::{output, run};
use crate::config::Config;
use crate::search::{Index, IndexError, Match, Query, Source, snippet};
use crate::store::{ReadOnly, Searchable, StoreError};

/// So many texts take no time worth a word.
const SHOWN_FROM: u64 = 300;
/// So many are handed on together.
const AT_ONCE: usize = 256;

/// The best matches, and whether there are more.
type Found = (Vec<Match>, bool);

pub(super) fn search(config: &Config, asked: &Asked, query: &Query) -> Result<Results> {
    let Some(state) = ReadOnly::open(&config.state_dir)? else {
        bail!("there is no mirror yet: run espejo sync or espejo run first");
    };
    // All of it as it is at one moment, whatever a daemon writes meanwhile.
    state.hold()?;
    // A daemon reads what is saved within moments; without one the files are looked at here.
    let root = (!run::is_running(&config.state_dir)).then_some(config.root.as_path());
    let names = state.workspace_names()?;
    let folders = state.workspace_folders()?;
    // Nearly always nothing has changed since the last search: what the index says as it is will do then, and it is asked
    // while the files are looked at.
    let (gathered, opened) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let index = Index::open(&config.state_dir)?.ahead();
            let early = index.search(query, &asked.kinds, asked.limit).ok();
            Ok::<_, IndexError>((index, early))
        });
        (gather(&state, &folders, root), asking.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let (sources, unread) = gathered?;
    let reader = Reader { state: &state, root: &config.root };
    let (mut index, early) = opened?;
    let found = match look(&mut index, early, &sources, &reader, query, asked) {
        Ok(found) => found,
        Err(error) => {
            tracing::info!(%error, "the search index is built anew");
            let anew = index.begin_anew();
            let found = anew.and_then(|mut index| look(&mut index, None, &sources, &reader, query, asked));
            match found {
                Ok(found) => found,
                // No space, say: then it is built for this search alone.
                Err(_) => look(&mut Index::in_memory()?, None, &sources, &reader, query, asked)?,
            }
        }
    };
    let (matches, more) = found;
    let shown = |found: Match| {
        let name = found.workspace.as_ref().and_then(|id| names.get(id)).cloned();
        Shown {
            title: title_of(&found),
            kind: found.kind,
            id: found.id,
            workspace_name: name,
            workspace: found.workspace,
            parent: None,
            snippet: snippet(&found.text, query),
            path: found.path,
            rank: found.rank,
        }
    };
    let mut notes = Vec::new();
    if unread > 0 {
        let pages = output::count(unread as u64, "page is", "pages are");
        notes.push(format!("{pages} not mirrored yet and found by title only"));
    }
    Ok(Results { shown: matches.into_iter().map(shown).collect(), more, notes })
}

/// Brings the index up to date and asks it, unless it was up to date already and has been asked `early`.
fn look(
    index: &mut Index,
    early: Option<Found>,
    sources: &[Source],
    reader: &Reader<'_>,
    query: &Query,
    asked: &Asked,
) -> Result<Found, IndexError> {
    let bar = ProgressBar::hidden();
    let renewed = index.refresh(sources, |source| {
        bar.inc(1);
        if bar.position() == SHOWN_FROM {
            // The first search of all reads everything; later ones only what has changed.
            bar.set_length(sources.len() as u64);
            bar.set_message("making the search index");
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        reader.text_of(source)
    })?;
    bar.finish_and_clear();
    match early.filter(|_| renewed == (0, 0)) {
        Some(found) => Ok(found),
        None => index.search(query, &asked.kinds, asked.limit),
    }
}

/// Everything that can be found, and how many pages are still to be mirrored. The files are looked at by another hand
/// than the one that reads the state.
fn gather(
    state: &ReadOnly,
    folders: &[(String, String)],
    root: Option<&Path>,
) -> Result<(Vec<Source>, usize), StoreError> {
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::channel::<Vec<Searchable>>();
        let looking = scope.spawn(move || {
            let all = receiver.into_iter().flatten();
            all.map(|one| source_of(one, folders, root)).collect::<Vec<_>>()
        });
        let mut unread = 0;
        let mut some = Vec::with_capacity(AT_ONCE);
        let read = state.searchable(|one| {
            unread += usize::from(one.kind == "page" && one.path.is_none());
            some.push(one);
            if some.len() == AT_ONCE {
                // Whoever has panicked is heard below.
                sender.send(std::mem::replace(&mut some, Vec::with_capacity(AT_ONCE))).ok();
            }
        });
        sender.send(some).ok();
        drop(sender);
        let sources = looking.join().unwrap_or_else(|panic| resume_unwind(panic));
        read.map(|()| (sources, unread))
    })
}

/// `root`: where files are looked at for what the state does not know of.
fn source_of(one: Searchable, folders: &[(String, String)], root: Option<&Path>) -> Source {
    let Searchable { kind, id, mut title, path, mut workspace, text, stamp } = one;
    let stem = path.as_deref().map(texts::stem).unwrap_or_default();
    if title.is_empty() && kind != "slide" {
        stem.clone_into(&mut title);
    } else if kind == "page" && stem != title && !stem.is_empty() {
        // What the file is called counts as well.
        title = format!("{title}\n{stem}");
    }
    if workspace.is_none()
        && let Some(path) = path.as_deref().filter(|_| matches!(kind, "page" | "whiteboard"))
    {
        let folder = path.split('/').next().unwrap_or_default();
        workspace = folders.iter().find(|(_, name)| name == folder).map(|(id, _)| id.clone());
    }
    let on_disk = |root: &Path| {
        let file = std::fs::symlink_metadata(root.join(path.as_deref()?)).ok()?;
        let stamp = stamp.filter(|_| file.is_file())?;
        let now = texts::stamp_of(&file);
        (now != stamp).then_some(now)
    };
    let text = match root.and_then(on_disk) {
        Some(stamp) => texts::on_disk(stamp),
        None => texts::mark(&text),
    };
    let own = id.as_deref().or(path.as_deref()).unwrap_or_default();
    Source { key: format!("{kind}:{own}"), kind, id, title, path, workspace, text }
}

/// A slide has no title of its own: its presentation and its number.
fn title_of(found: &Match) -> String {
    match &found.path {
        Some(path) if found.title.is_empty() => {
            path.trim_start_matches("Presentations/").trim_end_matches(".canvas").to_owned()
        }
        _ => found.title.clone(),
    }
}
