//! The creations of one kind. Each is in the state from before its request leaves until its outcome is known.

use std::collections::BTreeMap;

use crate::model::{Creation, Draft, Timestamp, Unconfirmed};
use crate::plan::confirm;
use crate::store::{Store, StoreError};

/// The creations of one kind whose outcome is not known, by name.
#[derive(Debug)]
pub(crate) struct Creations<D: Draft>(BTreeMap<D::Key, Creation<D>>);

impl<D: Draft> Default for Creations<D> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<D: Draft> Creations<D> {
    /// Loads the creations of an earlier run. Their requests may have been carried out: the same case as a lost answer. Times in
    /// the future, from a clock that was set back, become now for good: what this run sees first, it sees later than them.
    pub(crate) fn open(store: &mut Store, now: Timestamp) -> Result<Self, StoreError> {
        let mut creations = Self::default();
        for mut creation in store.creations::<D>()? {
            let is_ahead = creation.asked_at > now;
            creation.asked_at = creation.asked_at.min(now);
            let doubt = creation.unconfirmed.get_or_insert(Unconfirmed { since: now, looks: 0 });
            doubt.since = doubt.since.min(now);
            if is_ahead {
                store.save_creation(&creation);
            }
            creations.0.insert(creation.draft.key(), creation);
        }
        Ok(creations)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn contains(&self, key: &D::Key) -> bool {
        self.0.contains_key(key)
    }

    pub(crate) fn get(&self, key: &D::Key) -> Option<&Creation<D>> {
        self.0.get(key)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Creation<D>> {
        self.0.values()
    }

    pub(crate) fn drafts(&self) -> impl Iterator<Item = &D> {
        self.0.values().map(|creation| &creation.draft)
    }

    /// The unconfirmed creations whose drafts are `wanted`.
    pub(crate) fn unconfirmed(&self, wanted: impl Fn(&D) -> bool) -> Vec<Creation<D>> {
        let all = self.0.values().filter(|creation| creation.unconfirmed.is_some());
        all.filter(|creation| wanted(&creation.draft)).cloned().collect()
    }

    /// Stores a creation whose request is about to leave.
    pub(crate) fn begin(&mut self, store: &mut Store, draft: D, now: Timestamp) {
        self.put(store, Creation { draft, asked_at: now, unconfirmed: None });
    }

    /// Removes a creation whose outcome is known.
    pub(crate) fn end(&mut self, store: &mut Store, key: &D::Key) {
        if self.0.remove(key).is_some() {
            store.delete_creation::<D>(key);
        }
    }

    /// Makes a creation unconfirmed: its answer is lost. Returns when the first list that counts may be requested.
    pub(crate) fn lose(&mut self, store: &mut Store, key: &D::Key, now: Timestamp) -> Timestamp {
        let doubt = Unconfirmed { since: now, looks: 0 };
        if let Some(creation) = self.0.get(key).cloned() {
            self.put(store, Creation { unconfirmed: Some(doubt), ..creation });
        }
        confirm::next_look(&doubt)
    }

    /// Notes that a list that was requested at `asked_at` lacks the item. Returns when the next list that counts may be
    /// requested; `None` if the creation was not carried out, which ends it.
    pub(crate) fn not_shown(
        &mut self,
        store: &mut Store,
        key: &D::Key,
        asked_at: Timestamp,
    ) -> Option<Timestamp> {
        let creation = self.0.get(key)?.clone();
        let before = creation.unconfirmed?;
        let Some(doubt) = confirm::not_shown(before, asked_at) else {
            self.end(store, key);
            return None;
        };
        if doubt != before {
            self.put(store, Creation { unconfirmed: Some(doubt), ..creation });
        }
        Some(confirm::next_look(&doubt))
    }

    /// Changes drafts whose source has another name, all at once, because two may have swapped their names. Returns the
    /// old and the new name of each.
    pub(crate) fn follow(
        &mut self,
        store: &mut Store,
        renamed: impl Fn(&D) -> Option<D>,
    ) -> BTreeMap<D::Key, D::Key> {
        let moved: Vec<(D::Key, Creation<D>)> = self
            .0
            .iter()
            .filter_map(|(old, creation)| {
                Some((old.clone(), Creation { draft: renamed(&creation.draft)?, ..creation.clone() }))
            })
            .collect();
        for (old, _) in &moved {
            self.end(store, old);
        }
        let names = moved.iter().map(|(old, creation)| (old.clone(), creation.draft.key())).collect();
        for (_, creation) in moved {
            self.put(store, creation);
        }
        names
    }

    fn put(&mut self, store: &mut Store, creation: Creation<D>) {
        store.save_creation(&creation);
        self.0.insert(creation.draft.key(), creation);
    }
}
