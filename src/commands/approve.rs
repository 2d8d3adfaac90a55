//! `espejo approve`: lets through what a guard holds, in the running daemon or for the next run.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::control::{self, Ask};
use super::past::base_path;
use super::{dismiss, run, session};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon::place_in;
use crate::model::{
    Attention, CanvasNode, Code, DeckNode, Event, Level, MirrorPath, Node, Presence, Request, Seen, folder_of,
};
use crate::store::{Loaded, LoadedBoards, ReadOnly, StoredStorage};

/// Approves what is held at `paths`, or everything.
///
/// # Errors
/// One sentence, when a path is not in the mirror, nothing is held at it, or the state cannot be used.
pub async fn run(config: &Config, paths: &[PathBuf], out: &mut dyn Write) -> Result<Exit> {
    let mut places = places_of(config, paths)?;
    let Some(mut state) = ReadOnly::open(&config.state_dir)? else {
        bail!("there is no mirror yet: run espejo sync or espejo run first");
    };
    let held = Held::read(&mut state, &config.root)?;
    drop(state);
    for place in &mut places {
        match held.meant(place) {
            Some(meant) => *place = meant,
            None => bail!("nothing is held at {place}; espejo status shows what is"),
        }
    }
    // What was taken for formatting goes by a way of its own: no guard holds it.
    let differing: Vec<MirrorPath> = places.iter().filter(|place| held.differs(place)).cloned().collect();
    for place in &differing {
        dismiss::send_at_its_word(config, place, out).await?;
    }
    places.retain(|place| !differing.contains(place) || held.is_held_too(place));
    if !differing.is_empty() && places.is_empty() {
        return Ok(Exit::Done);
    }
    let done = match (places.is_empty(), held.is_any(), held.attention.is_empty()) {
        (false, ..) | (_, true, _) => "approved",
        (_, _, false) => "nothing is held; espejo retries what was refused",
        (_, _, true) => {
            writeln!(out, "nothing is held")?;
            return Ok(Exit::Done);
        }
    };
    if places.is_empty() && held.attention.iter().any(|need| need.code == Code::Unreadable) {
        writeln!(out, "what may be where espejo cannot read stays: approve it by its path")?;
    }
    if run::is_running(&config.state_dir) {
        control::ask(&config.state_dir, &Ask::Approve(places.iter().map(ToString::to_string).collect()))
            .await?;
        writeln!(out, "{done}; the running espejo continues with it")?;
        return Ok(Exit::Done);
    }
    let (mut engine, clock, _lock) = session::hold(config)?.engine(config)?;
    engine.handle(Event::Asked(Request::Approve(places)), clock())?;
    writeln!(out, "{done}; the next espejo sync or espejo run continues with it")?;
    Ok(Exit::Done)
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

/// What an approval would let through.
struct Held {
    attention: Vec<Attention>,
    /// What left one of the sides, or waits as it is.
    places: Vec<MirrorPath>,
}

impl Held {
    fn read(state: &mut ReadOnly, root: &Path) -> Result<Self> {
        let mut places = pages(&state.load()?);
        places.extend(canvases(&state.boards()?));
        places.extend(stored(&state.storage()?, root));
        Ok(Self { attention: state.attention()?, places })
    }

    fn is_any(&self) -> bool {
        !self.places.is_empty() || self.attention.iter().any(|need| need.code.is_released_by_approval())
    }

    /// The place that a person means by `typed`, where something is held or was refused; `.md` may be left out.
    fn meant(&self, typed: &MirrorPath) -> Option<MirrorPath> {
        let page = typed.parent().and_then(|up| up.join(&format!("{}.md", typed.name())).ok());
        [Some(typed.clone()), page].into_iter().flatten().find(|place| self.is_at(place))
    }

    fn told_of(&self, place: &MirrorPath) -> impl Iterator<Item = &Attention> {
        self.attention.iter().filter(move |need| need.path == place.as_str())
    }

    /// Whether lines of this very file were taken for formatting.
    fn differs(&self, place: &MirrorPath) -> bool {
        self.told_of(place).any(|need| need.code == Code::Difference)
    }

    /// Whether anything but notes is told of this very file.
    fn is_held_too(&self, place: &MirrorPath) -> bool {
        self.places.contains(place) || self.told_of(place).any(|need| need.level() != Level::Note)
    }

    fn is_at(&self, place: &MirrorPath) -> bool {
        let beneath = |path: &MirrorPath| {
            path.is_within(place) || folder_of(place).is_some_and(|folder| path.is_within(&folder))
        };
        self.places.iter().any(beneath)
            || self.attention.iter().any(|need| MirrorPath::new(&need.path).is_ok_and(|path| beneath(&path)))
    }
}

fn pages(loaded: &Loaded) -> Vec<MirrorPath> {
    let waits = |node: &&Node| {
        let file = node.file.as_ref().and_then(|path| loaded.files.get(path));
        let gone = node.remote.presence != Presence::Listed || node.missing_since.is_some();
        node.base.is_some() && (gone || file.is_some_and(|file| file.problem.is_some()))
    };
    loaded.pages.values().filter(waits).filter_map(base_path).cloned().collect()
}

fn canvases(loaded: &LoadedBoards) -> Vec<MirrorPath> {
    let waits = |node: &&CanvasNode| {
        let file = node.file.as_ref().and_then(|path| loaded.files.get(path));
        let gone = node.presence != Presence::Listed || node.missing_since.is_some();
        node.base.is_some() && (gone || file.is_some_and(|file| file.problem.is_some()))
    };
    let place = |node: &CanvasNode| node.file.as_ref().or(node.missing_from.as_ref()).cloned();
    let decks = loaded.decks.values().filter(|deck| {
        deck.listed_at.0 > 0 && (deck.presence != Presence::Listed || deck.missing_since.is_some())
    });
    let folder =
        |deck: &DeckNode| MirrorPath::new(&format!("Presentations/{}", deck.folder.as_deref()?)).ok();
    let canvases = loaded.canvases.values().filter(waits).filter_map(place);
    canvases.chain(decks.filter_map(folder)).collect()
}

/// The stored files and folders that left one of the sides.
pub(super) fn stored(loaded: &StoredStorage, root: &Path) -> Vec<MirrorPath> {
    let left = loaded.files.values().filter(|node| node.replaced_by.is_none()).filter_map(|node| {
        let path = &node.base.as_ref()?.path;
        let is_here = root.join(path.as_str()).symlink_metadata().is_ok();
        (node.seen != Seen::Listed || !is_here).then(|| path.clone())
    });
    let folders = loaded.folders.values().filter(|node| !node.listed).filter_map(|node| node.at.clone());
    left.chain(folders).collect()
}
