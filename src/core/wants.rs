//! The requests that items need, one for each item.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::keys::ItemKey;

/// The request that an item needs. The first ones are more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    /// Its file has changes.
    Send,
    /// It is to be made.
    Create,
    /// It goes to the service's trash.
    Trash,
    /// It must be fetched.
    Fetch,
    /// Its bytes are to be downloaded, or it is to be looked for by its id.
    Download,
}

/// What items need. Thousands of downloads may wait, and what is next is asked after each event: no question walks over them all.
#[derive(Debug, Default)]
pub struct Wants {
    of_item: BTreeMap<ItemKey, Want>,
    by_want: BTreeSet<(Want, ItemKey)>,
}

impl Wants {
    /// What an item needs.
    #[must_use]
    pub fn get(&self, key: ItemKey) -> Option<Want> {
        self.of_item.get(&key).copied()
    }

    /// Replaces what an item needs. Returns what it needed before.
    pub fn insert(&mut self, key: ItemKey, want: Want) -> Option<Want> {
        let before = self.remove(key);
        self.of_item.insert(key, want);
        self.by_want.insert((want, key));
        before
    }

    /// Notes what an item needs that needs nothing yet.
    pub fn insert_new(&mut self, key: ItemKey, want: Want) {
        if self.get(key).is_none() {
            self.insert(key, want);
        }
    }

    /// An item needs nothing any more. Returns what it needed.
    pub fn remove(&mut self, key: ItemKey) -> Option<Want> {
        let want = self.of_item.remove(&key)?;
        self.by_want.remove(&(want, key));
        Some(want)
    }

    /// The items that need something, in the order of their keys.
    pub fn keys(&self) -> impl Iterator<Item = &ItemKey> {
        self.of_item.keys()
    }

    /// The items that need this.
    pub fn of(&self, want: Want) -> impl Iterator<Item = ItemKey> {
        self.by_want.range((want, ItemKey(0))..=(want, ItemKey(u32::MAX))).map(|(_, key)| *key)
    }

    /// All but the downloads, the most urgent first.
    pub fn requests(&self) -> impl Iterator<Item = (Want, ItemKey)> {
        self.by_want.range(..(Want::Download, ItemKey(0))).copied()
    }
}
