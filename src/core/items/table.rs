//! The items with their indexes: by the id at the service, and by the path of the file. Each change goes through
//! [`Items::edit`], which keeps the indexes true and notes the row for the store.

use std::collections::{BTreeMap, BTreeSet};

use super::{Base, Fact, Item, Local};
use crate::core::ItemKey;
use crate::core::plan::policy::Kind;
use crate::model::{MirrorPath, WorkspaceId};

/// All items.
#[derive(Debug, Default)]
pub struct Items {
    rows: BTreeMap<ItemKey, Item>,
    by_id: BTreeMap<(Kind, String), ItemKey>,
    by_path: BTreeMap<MirrorPath, ItemKey>,
    last: u32,
    /// The rows that the store does not have yet.
    pub(super) unsaved: BTreeSet<ItemKey>,
    /// The items that are to be decided about.
    pub dirty: BTreeSet<ItemKey>,
}

impl Items {
    /// The stored items. All of them are to be decided about.
    #[must_use]
    pub fn loaded(items: Vec<Item>) -> Self {
        let mut all = Self::default();
        for item in items {
            all.last = all.last.max(item.key.0);
            all.dirty.insert(item.key);
            all.index(&item);
            all.rows.insert(item.key, item);
        }
        all
    }

    /// An item.
    #[must_use]
    pub fn get(&self, key: ItemKey) -> Option<&Item> {
        self.rows.get(&key)
    }

    /// All items, in the order of their keys.
    pub fn all(&self) -> impl Iterator<Item = &Item> {
        self.rows.values()
    }

    /// The item with this id at the service.
    #[must_use]
    pub fn of_id(&self, kind: Kind, id: &str) -> Option<&Item> {
        self.get(*self.by_id.get(&(kind, id.to_owned()))?)
    }

    /// The item whose file is at this path, or was there when it was last seen.
    #[must_use]
    pub fn at(&self, path: &MirrorPath) -> Option<&Item> {
        self.get(*self.by_path.get(path)?)
    }

    /// Adds an item without a remote side.
    pub fn add(&mut self, kind: Kind, area: WorkspaceId, local: Local) -> ItemKey {
        self.last += 1;
        let key = ItemKey(self.last);
        let (remote, base, picture, wait) = (None, None, None, None);
        let aliases = BTreeMap::new();
        let (approved, is_ignored) = (false, false);
        let item =
            Item { key, kind, area, remote, local, base, aliases, picture, approved, is_ignored, wait };
        self.index(&item);
        self.rows.insert(key, item);
        self.note(key);
        key
    }

    /// Changes an item. A change makes it dirty and is stored.
    pub fn edit<T>(&mut self, key: ItemKey, change: impl FnOnce(&mut Item) -> T) -> Option<T> {
        let before = self.rows.get(&key)?.clone();
        let mut item = before.clone();
        let out = change(&mut item);
        if item != before {
            self.unindex(&before);
            self.index(&item);
            self.rows.insert(key, item);
            self.note(key);
        }
        Some(out)
    }

    /// Changes what is known of an item's file, if the file is there.
    pub fn edit_file(&mut self, key: ItemKey, change: impl FnOnce(&mut Fact)) {
        self.edit(key, |item| {
            if let Local::Here(fact) = &mut item.local {
                change(fact);
            }
        });
    }

    /// Changes an item's base, if it has one.
    pub fn edit_base(&mut self, key: ItemKey, change: impl FnOnce(&mut Base)) {
        self.edit(key, |item| item.base.as_mut().map(change));
    }

    /// Removes an item for good.
    pub fn forget(&mut self, key: ItemKey) {
        if let Some(item) = self.rows.remove(&key) {
            self.unindex(&item);
            self.dirty.remove(&key);
            self.unsaved.insert(key);
        }
    }

    /// Makes all items dirty, because something changed that each of them may depend on.
    pub fn mark_all(&mut self) {
        self.dirty.extend(self.rows.keys().copied());
    }

    fn note(&mut self, key: ItemKey) {
        self.unsaved.insert(key);
        self.dirty.insert(key);
    }

    fn index(&mut self, item: &Item) {
        if let Some(remote) = &item.remote {
            self.by_id.insert((item.kind, remote.id.clone()), item.key);
        }
        if let Some(fact) = item.last_file() {
            // A file that is there counts more than one that was.
            let is_taken = self.at(&fact.path).is_some_and(|other| other.file().is_some());
            if item.file().is_some() || !is_taken {
                self.by_path.insert(fact.path.clone(), item.key);
            }
        }
    }

    fn unindex(&mut self, item: &Item) {
        if let Some(remote) = &item.remote {
            self.by_id.remove(&(item.kind, remote.id.clone()));
        }
        if let Some(fact) = item.last_file().filter(|fact| self.by_path.get(&fact.path) == Some(&item.key)) {
            self.by_path.remove(&fact.path);
        }
    }
}
