//! Whiteboards and presentations as they are and as they were: what `log`, `diff`, `restore` and `undo` share.

use anyhow::{Result, bail};

use super::past::Past;
use crate::canvas::{Aliases, ids_in};
use crate::core::content::history;
use crate::core::items::Item;
use crate::core::items::Items;
use crate::core::items::rows;
use crate::model::{ContentHash, DiskError, MirrorPath, PageId};
use crate::store::Version;

/// Whether a path is a canvas file's.
#[must_use]
pub fn is_canvas(path: &MirrorPath) -> bool {
    path.name().ends_with(".canvas")
}

/// What the state knows of canvases.
pub struct Canvases<'a> {
    past: &'a Past<'a>,
    items: Items,
}

/// A canvas file as it is now.
pub struct CanvasFile {
    /// What names its bytes.
    pub hash: ContentHash,
    /// All of it.
    pub text: String,
}

impl<'a> Canvases<'a> {
    /// Reads what the state knows.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(past: &'a Past<'a>) -> Result<Self> {
        Ok(Self { past, items: rows::items(past.store())? })
    }

    /// All that is known.
    #[must_use]
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// The canvas whose file is at a path.
    #[must_use]
    pub fn at(&self, place: &MirrorPath) -> Option<&Item> {
        self.items.at(place).filter(|item| !item.kind.is_stored())
    }

    /// The file of what had its file at a path once: where it is now, if it has one.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn place_now(&self, place: &MirrorPath) -> Result<MirrorPath> {
        if self.at(place).is_some() {
            return Ok(place.clone());
        }
        let last = self.past.store().versions_at(place)?.pop().and_then(|version| version.page);
        let item =
            last.and_then(|name| self.items.all().find(|item| history::name(item).as_ref() == Some(&name)));
        let file = item.and_then(|item| item.file()).map(|fact| fact.path.clone());
        Ok(file.unwrap_or_else(|| place.clone()))
    }

    /// Every version of the canvas at a path, oldest first.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn versions(&self, place: &MirrorPath) -> Result<Vec<Version>> {
        let store = self.past.store();
        let here: Option<PageId> = self.at(place).and_then(history::name);
        let mut all = store.versions_at(place)?;
        match here.or_else(|| all.last().and_then(|version| version.page.clone())) {
            Some(name) => {
                all.retain(|version| version.page.is_none());
                all.extend(store.versions_of(&name)?);
            }
            None => all.retain(|version| version.page.is_none()),
        }
        all.sort_by_key(|version| version.number);
        Ok(all)
    }

    /// A canvas file as it is now; `None` where there is none.
    ///
    /// # Errors
    /// One sentence, when it cannot be read or is no text.
    pub fn file(&self, place: &MirrorPath) -> Result<Option<CanvasFile>> {
        let bytes = match self.past.bytes(place) {
            Ok(bytes) => bytes,
            Err(DiskError::Missing(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let hash = ContentHash::of(&bytes);
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(CanvasFile { hash, text })),
            Err(_) => bail!("{place} is not UTF-8 text; repair it, or move it away"),
        }
    }

    /// The ids that a canvas's new nodes got, by those that its user gave them.
    #[must_use]
    pub fn aliases(&self, place: &MirrorPath) -> Aliases {
        let family = self.at(place).into_iter().flat_map(|item| self.items.family(item.key));
        family.flat_map(|item| item.aliases.clone()).collect()
    }
}

/// How many of the nodes of a text a file does not have.
#[must_use]
pub fn made_anew(text: &str, present: &str) -> usize {
    ids_in(text).difference(&ids_in(present)).count()
}
