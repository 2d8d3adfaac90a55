//! What an approval does, item by item, read from the state before anything is approved.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::output;
use crate::cli::past::base_path;
use crate::core::items::Item;
use crate::core::items::Items;
use crate::core::items::Listing;
use crate::core::items::Local;
use crate::core::items::rows;
use crate::core::report::view;
use crate::core::report::view::StoredView;
use crate::logging::escape;
use crate::model::{Agreed, Attention, Code, Deletes, MirrorPath, Node, Presence, folder_of};
use crate::store::{Loaded, ReadOnly};

/// Paths of one kind that are shown on a terminal.
const SHOWN: usize = 10;

/// What an approval does to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// It goes to the service's trash: its file is gone.
    Trash,
    /// Its file goes to the mirror's trash: the service does not have it any more.
    Remove,
    /// Its file is sent as it is.
    Send,
    /// A new page is made of its file.
    Create,
    /// The new files in it become pages, whiteboards or presentations.
    Make,
    /// What is held about it goes on.
    Release,
    /// What the service refused is sent again.
    Retry,
}

impl What {
    const ALL: [Self; 7] =
        [Self::Trash, Self::Remove, Self::Send, Self::Create, Self::Make, Self::Release, Self::Retry];

    fn name(self) -> &'static str {
        match self {
            Self::Trash => "trash",
            Self::Remove => "remove",
            Self::Send => "send",
            Self::Create => "create",
            Self::Make => "make",
            Self::Release => "release",
            Self::Retry => "retry",
        }
    }

    /// The headline over so many items.
    fn headline(self, items: &str, one: bool) -> String {
        let (go, are, files, them) =
            if one { ("goes", "is", "its file is", "it") } else { ("go", "are", "their files are", "them") };
        match self {
            Self::Trash => format!("{items} {go} to the service's trash, because {files} gone"),
            Self::Remove => {
                format!("{items} {go} to .espejo/trash, because the service no longer has {them}")
            }
            Self::Send => format!("{items} {are} sent as {files} now"),
            Self::Create => format!("{items} {are} made anew, because the service does not list {them}"),
            Self::Make => format!("the new files in {items} become pages or whiteboards"),
            Self::Release => format!("{items} {are} released"),
            Self::Retry => format!("{items} {are} tried again"),
        }
    }
}

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Page,
    Canvas,
    Presentation,
    Stored,
    Folder,
    Other,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Page, Self::Canvas, Self::Presentation, Self::Stored, Self::Folder, Self::Other];

    /// Its name, and that of several.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Page => ("page", "pages"),
            Self::Canvas => ("canvas", "canvases"),
            Self::Presentation => ("presentation", "presentations"),
            Self::Stored => ("stored file or folder", "stored files and folders"),
            Self::Folder => ("folder", "folders"),
            Self::Other => ("other item", "other items"),
        }
    }
}

/// One item, and what an approval does to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Effect {
    what: What,
    kind: Kind,
    /// As the user sees it; empty for the mirror as a whole.
    path: String,
    /// Why it waits, where the headline does not say it.
    why: Option<String>,
}

/// Everything that an approval does, and the messages of the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Effects {
    pub(super) all: Vec<Effect>,
    attention: Vec<Attention>,
}

impl Effects {
    pub(super) fn read(state: &mut ReadOnly, root: &Path, deletes: Deletes) -> Result<Self> {
        let attention = state.attention()?;
        let loaded = state.load()?;
        let is_old = state.store().folder_is_old()?.is_some();
        let mut all = pages(&loaded, deletes, is_old);
        if attention.iter().any(|need| need.code == Code::UnknownPages) {
            all.extend(unknown(&loaded));
        }
        let items = rows::items(state.store())?;
        if attention.iter().any(|need| need.code == Code::CreationsHeld) {
            all.extend(new_files(&loaded, &items));
        }
        all.extend(canvases(&items));
        let storage = view::stored(state)?;
        let left = |(path, what): (MirrorPath, What)| Effect {
            what,
            kind: Kind::Stored,
            path: path.to_string(),
            why: None,
        };
        all.extend(left_sides(&storage, root).into_iter().map(left));
        for need in &attention {
            let what = match need.code {
                Code::Refused | Code::Failing | Code::NotUploaded | Code::ReadOnly => What::Retry,
                code if code.is_released_by_approval() => What::Release,
                _ => continue,
            };
            let is_listed = all.iter().any(|effect| effect.is_at(&need.path));
            // One that is about the whole mirror stands for the items that are listed.
            let stands_for_all = need.path.is_empty() && need.code != Code::CreationsHeld;
            if !(is_listed || stands_for_all && !all.is_empty()) {
                all.push(Effect::told(what, need));
            }
        }
        all.sort();
        all.dedup();
        Ok(Self { all, attention })
    }

    /// Those at and beneath these places; without places all but what is on a disk that is away, or has
    /// something in its way.
    pub(super) fn at(&self, places: &[MirrorPath]) -> Vec<Effect> {
        let is_away = |effect: &&Effect| {
            let by_path = |need: &&Attention| matches!(need.code, Code::DiskAway | Code::InTheWay);
            let mut needs = self.attention.iter().filter(by_path);
            needs.any(|need| effect.is_at(&need.path))
        };
        let all = self.all.iter();
        if places.is_empty() {
            return all.filter(|effect| !is_away(effect)).cloned().collect();
        }
        let is_asked = |effect: &&Effect| places.iter().any(|place| effect.is_at(place.as_str()));
        // What was taken for formatting is sent only if the file itself is named.
        let differing = places.iter().flat_map(|place| self.told_of(place));
        let differing = differing.filter(|need| need.code == Code::Difference);
        all.filter(is_asked).cloned().chain(differing.map(|need| Effect::told(What::Send, need))).collect()
    }

    /// The place that a person means by `typed`, where something is held or was refused; `.md` may be left out.
    pub(super) fn meant(&self, typed: &MirrorPath) -> Option<MirrorPath> {
        let page = typed.parent().and_then(|up| up.join(&format!("{}.md", typed.name())).ok());
        [Some(typed.clone()), page]
            .into_iter()
            .flatten()
            .find(|place| !self.at(std::slice::from_ref(place)).is_empty() || self.cannot(place).is_some())
    }

    fn told_of(&self, place: &MirrorPath) -> impl Iterator<Item = &Attention> {
        self.attention.iter().filter(move |need| need.path == place.as_str())
    }

    /// The reason why what was told of this very file cannot be approved.
    pub(super) fn cannot(&self, place: &MirrorPath) -> Option<&str> {
        let is_listed = || self.all.iter().any(|effect| effect.is_at(place.as_str()));
        let told = self.told_of(place).find(|need| need.code == Code::NotSent)?;
        (!is_listed()).then_some(told.reason.as_str())
    }

    /// The places that espejo cannot read, which are approved by their paths.
    pub(super) fn unreadable(&self) -> Vec<MirrorPath> {
        let places = self.attention.iter().filter(|need| need.code == Code::Unreadable);
        places.filter_map(|need| MirrorPath::new(&need.path).ok()).filter(|path| !path.is_root()).collect()
    }
}

impl Effect {
    /// What an approval does to what a message names.
    fn told(what: What, need: &Attention) -> Self {
        let kind = if what == What::Send { Kind::Page } else { Kind::Other };
        Self { what, kind, path: need.path.clone(), why: Some(need.reason.clone()) }
    }

    /// Whether the item is at a place in the mirror or beneath it, or beneath the folder of the page that is there.
    fn is_at(&self, place: &str) -> bool {
        let (Ok(own), Ok(place)) = (MirrorPath::new(&self.path), MirrorPath::new(place)) else {
            return false;
        };
        let folder = || folder_of(&place).is_some_and(|folder| own.is_within(&folder));
        !place.is_root() && (own.is_within(&place) || folder())
    }
}

/// Prints what is done to which items, with counts.
pub(super) fn show(effects: &[Effect], out: &mut dyn Write) -> Result<()> {
    for what in What::ALL {
        for kind in Kind::ALL {
            let these: Vec<&Effect> =
                effects.iter().filter(|effect| effect.what == what && effect.kind == kind).collect();
            if these.is_empty() {
                continue;
            }
            let (one, many) = kind.names();
            let items = output::count(these.len() as u64, one, many);
            writeln!(out, "{}", what.headline(&items, these.len() == 1))?;
            for effect in these.iter().take(SHOWN) {
                let path = if effect.path.is_empty() { "the whole mirror" } else { &effect.path };
                let why = effect.why.iter().fold(String::new(), |_, why| format!(": {}", escape(why)));
                writeln!(out, "    {}{why}", output::paint(output::NAME, &escape(path)))?;
            }
            if these.len() > SHOWN {
                writeln!(out, "    … and {} more", output::grouped((these.len() - SHOWN) as u64))?;
            }
        }
    }
    Ok(())
}

/// The same as one JSON value.
pub(super) fn as_json(effects: &[Effect], approved: bool) -> Value {
    let one = |effect: &Effect| json!({ "what": effect.what.name(), "kind": effect.kind.names().0, "path": effect.path, "reason": effect.why });
    json!({ "approved": approved, "effects": effects.iter().map(one).collect::<Vec<_>>() })
}

fn pages(loaded: &Loaded, deletes: Deletes, is_old: bool) -> Vec<Effect> {
    let of = |node: &Node| {
        let path = base_path(node)?.to_string();
        let file = node.file.as_ref().and_then(|path| loaded.files.get(path));
        let problem = file.and_then(|file| file.problem.as_ref()).filter(|problem| problem.may_be_meant());
        let differs = |base: &Agreed| file.is_some_and(|file| file.hash.is_some() && file.hash != base.text);
        let (what, why) = match problem {
            _ if node.base.is_none() || node.approved => return None,
            _ if node.remote.presence != Presence::Listed => (What::Remove, None),
            _ if node.missing_since.is_some() && deletes == Deletes::Trash => (What::Trash, None),
            Some(problem) => (What::Send, Some(problem.sentence("page"))),
            None if is_old && node.base.as_ref().is_some_and(differs) => (What::Send, None),
            None => return None,
        };
        Some(Effect { what, kind: Kind::Page, path, why })
    };
    // A new file has its content approved.
    let new = loaded.files.values().filter(|file| file.page.is_none());
    let new = new.filter_map(|file| {
        let problem = file.problem.as_ref().filter(|problem| problem.may_be_meant())?;
        let why = Some(problem.sentence("page"));
        Some(Effect { what: What::Send, kind: Kind::Page, path: file.path.to_string(), why })
    });
    loaded.pages.values().filter_map(of).chain(new).collect()
}

/// The new files, by their folders.
fn new_files(loaded: &Loaded, items: &Items) -> Vec<Effect> {
    let pages = loaded.files.values().filter(|file| file.page.is_none() && file.problem.is_none());
    let is_new = |item: &&Item| item.remote.is_none() && !item.kind.is_stored();
    let canvases = items.all().filter(is_new).filter_map(Item::file);
    let canvases = canvases.filter(|file| file.problem.is_none());
    let paths = pages.map(|file| &file.path).chain(canvases.map(|file| &file.path));
    let mut folders: BTreeMap<MirrorPath, u64> = BTreeMap::new();
    for folder in paths.filter_map(MirrorPath::parent) {
        *folders.entry(folder).or_default() += 1;
    }
    let one = |(folder, count): (MirrorPath, u64)| Effect {
        what: What::Make,
        kind: Kind::Folder,
        path: folder.to_string(),
        why: Some(output::count(count, "new file", "new files")),
    };
    folders.into_iter().map(one).collect()
}

/// The files that name pages which the service does not list.
fn unknown(loaded: &Loaded) -> impl Iterator<Item = Effect> {
    let files = loaded.files.values().filter(|file| file.page.is_none() && file.copied_from_page.is_none());
    let stray = files.filter(|file| file.claims.as_ref().is_some_and(|id| !loaded.pages.contains_key(id)));
    stray.map(|file| Effect { what: What::Create, kind: Kind::Page, path: file.path.to_string(), why: None })
}

fn canvases(items: &Items) -> Vec<Effect> {
    let of = |item: &Item| {
        let last = item.last_file()?;
        let problem = last.problem.as_ref().filter(|problem| problem.may_be_meant());
        let (what, why) = match (&item.local, problem) {
            _ if item.base.is_none() || item.approved => return None,
            _ if !item.is_listed() => (What::Remove, None),
            (Local::Gone { .. }, _) => (What::Trash, None),
            (_, Some(problem)) => (What::Send, Some(problem.sentence("canvas"))),
            (_, None) => return None,
        };
        let kind = if item.kind.inner().is_some() { Kind::Presentation } else { Kind::Canvas };
        Some(Effect { what, kind, path: last.path.to_string(), why })
    };
    items.all().filter(|item| !item.kind.is_stored()).filter_map(of).collect()
}

/// The stored files and folders that left one of the sides, and what an approval does to each.
fn left_sides(stored: &[StoredView], root: &Path) -> Vec<(MirrorPath, What)> {
    let left = stored.iter().filter(|item| item.id.is_some() && item.was_here).filter_map(|item| {
        let path = item.path.clone()?;
        let is_here = || root.join(path.as_str()).symlink_metadata().is_ok();
        match item.presence {
            Some(Listing::Listed) if item.is_folder || is_here() => None,
            Some(Listing::Listed) => Some((path, What::Trash)),
            _ => Some((path, What::Remove)),
        }
    });
    left.collect()
}

/// The stored files and folders that left one of the sides.
pub(in crate::commands) fn stored(stored: &[StoredView], root: &Path) -> Vec<MirrorPath> {
    left_sides(stored, root).into_iter().map(|(path, _)| path).collect()
}
