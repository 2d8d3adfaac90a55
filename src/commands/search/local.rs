//! The search without the service: the index is brought up to date with the state and the files, then asked.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::Path;

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget};

use super::texts::{self, Reader};
use super::{Asked, Results, Shown};
use crate::cli::{output, session};
use crate::config::Config;
use crate::search::{Found, Index, IndexError, Match, Query, Source, snippet};
use crate::store::{ReadOnly, Searchable, StoreError};

/// So many texts take no time worth a word.
const SHOWN_FROM: u64 = 300;
/// So many are handed on together.
const AT_ONCE: usize = 256;

/// Files that are not as they were when the state was told of them last: size and time of change now.
type Edited = BTreeMap<String, (u64, i64)>;

pub(super) fn search(config: &Config, asked: &Asked, query: &Query) -> Result<Results> {
    let Some(state) = ReadOnly::open(&config.state_dir)? else {
        bail!("there is no mirror yet: run espejo sync or espejo run first");
    };
    // All of it as it is at one moment, whatever a daemon writes meanwhile.
    state.hold()?;
    // A daemon reads what is saved within moments; without one the files are looked at here.
    let root = (!session::is_running(&config.state_dir)).then_some(config.root.as_path());
    let names = state.workspace_names()?;
    // Nearly always nothing has changed since the last search: what the index says as it is will do then, and it is asked
    // while the files are looked at.
    let (edited, opened) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let index = Index::open(&config.state_dir)?;
            let early = index.search_as_it_is(query, &asked.kinds, asked.limit).ok();
            Ok::<_, IndexError>((index, early))
        });
        let edited = root.map_or_else(|| Ok(Edited::new()), |root| edited(&state, root));
        (edited, asking.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let (edited, (mut index, early)) = (edited?, opened?);
    let as_of = as_of(&state, &edited)?;
    let found = match early {
        Some((Some(same), found)) if same == as_of => found,
        early => {
            // What was found before comparing will do as well if there is no difference.
            let early = early.map(|(_, found)| found);
            let sources = std::thread::scope(|scope| {
                let reading = scope.spawn(|| index.read_ahead());
                let sources = gather(&state, &state.workspace_folders()?, &edited);
                reading.join().unwrap_or_else(|panic| resume_unwind(panic));
                sources
            })?;
            let reader = Reader { state: &state, root: &config.root };
            let look = |index: &mut Index, early| look(index, early, &sources, &as_of, &reader, query, asked);
            match look(&mut index, early) {
                Ok(found) => found,
                Err(error) => {
                    tracing::info!(%error, "the search index is rebuilt");
                    let anew = index.begin_anew();
                    match anew.and_then(|mut index| look(&mut index, None)) {
                        Ok(found) => found,
                        // No space, say: then it is built for this search alone.
                        Err(_) => look(&mut Index::in_memory()?, None)?,
                    }
                }
            }
        }
    };
    let shown = |one: &Match| {
        let name = one.workspace.as_ref().and_then(|id| names.get(id)).cloned();
        Shown {
            title: title_of(one),
            kind: one.kind.clone(),
            id: one.id.clone(),
            workspace_name: name,
            workspace: one.workspace.clone(),
            parent: None,
            snippet: snippet(&one.text, found.query_of(one, query)),
            path: one.path.clone(),
            rank: one.rank,
        }
    };
    let mut notes = Vec::new();
    if found.to_come > 0 {
        let pages = output::count(found.to_come, "page is", "pages are");
        notes.push(format!("{pages} not mirrored yet, searched by title only"));
    }
    Ok(Results { shown: found.matches.iter().map(shown).collect(), more: found.more, notes })
}

/// Brings the index up to date with the state.
pub(super) fn keep_up(config: &Config) -> Result<()> {
    let Some(state) = ReadOnly::open(&config.state_dir)? else { return Ok(()) };
    state.hold()?;
    let as_of = as_of(&state, &Edited::new())?;
    let mut index = Index::open(&config.state_dir)?;
    if index.as_of()?.as_ref() == Some(&as_of) {
        return Ok(());
    }
    let sources = gather(&state, &state.workspace_folders()?, &Edited::new())?;
    let reader = Reader { state: &state, root: &config.root };
    index.refresh(&sources, &as_of, |source| reader.text_of(source))?;
    Ok(())
}

/// Brings the index up to date and asks it, unless it was up to date already and has been asked `early`.
fn look(
    index: &mut Index,
    early: Option<Found>,
    sources: &[Source],
    as_of: &str,
    reader: &Reader<'_>,
    query: &Query,
    asked: &Asked,
) -> Result<Found, IndexError> {
    let bar = ProgressBar::hidden();
    let renewed = index.refresh(sources, as_of, |source| {
        bar.inc(1);
        if bar.position() == SHOWN_FROM {
            // The first search of all reads everything; later ones only what has changed.
            bar.set_length(sources.len() as u64);
            bar.set_message("building the search index");
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

/// The files that were changed since a daemon, or the last sync, looked at them.
fn edited(state: &ReadOnly, root: &Path) -> Result<Edited, StoreError> {
    let mut files = Vec::new();
    state.searchable_files(|path, size, modified| files.push((path.to_owned(), (size, modified))))?;
    let edited = |(path, then): &(String, (u64, i64))| {
        let now = std::fs::symlink_metadata(root.join(path)).ok().filter(std::fs::Metadata::is_file)?;
        let now = texts::stamp_of(&now);
        (now != *then).then(|| (path.clone(), now))
    };
    let hands = std::thread::available_parallelism().map_or(1, NonZero::get);
    let part = files.len().div_ceil(hands).max(AT_ONCE);
    std::thread::scope(|scope| {
        let looking: Vec<_> = files
            .chunks(part)
            .map(|part| scope.spawn(|| part.iter().filter_map(edited).collect::<Vec<_>>()))
            .collect();
        let looked = looking.into_iter().map(|hand| hand.join().unwrap_or_else(|panic| resume_unwind(panic)));
        Ok(looked.flatten().collect())
    })
}

/// As long as this is the same, so is everything that can be found.
fn as_of(state: &ReadOnly, edited: &Edited) -> Result<String, StoreError> {
    // Another hash of them only causes one more comparison.
    let mut hasher = DefaultHasher::new();
    edited.hash(&mut hasher);
    Ok(format!("{} {:x}", state.searchable_mark()?.unwrap_or_default(), hasher.finish()))
}

/// Everything that can be found. It is put together by another hand than the one that reads the state.
fn gather(
    state: &ReadOnly,
    folders: &[(String, String)],
    edited: &Edited,
) -> Result<Vec<Source>, StoreError> {
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::channel::<Vec<Searchable>>();
        let making = scope.spawn(move || {
            let all = receiver.into_iter().flatten();
            all.map(|one| source_of(one, folders, edited)).collect::<Vec<_>>()
        });
        let mut some = Vec::with_capacity(AT_ONCE);
        let read = state.searchable(|one| {
            some.push(one);
            if some.len() == AT_ONCE {
                // A panic of a thread is reported below.
                sender.send(std::mem::replace(&mut some, Vec::with_capacity(AT_ONCE))).ok();
            }
        });
        sender.send(some).ok();
        drop(sender);
        let sources = making.join().unwrap_or_else(|panic| resume_unwind(panic));
        read.map(|()| sources)
    })
}

fn source_of(one: Searchable, folders: &[(String, String)], edited: &Edited) -> Source {
    let Searchable { kind, id, mut title, path, mut workspace, text } = one;
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
    let text = match path.as_ref().and_then(|path| edited.get(path)) {
        Some(stamp) => texts::on_disk(*stamp),
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
