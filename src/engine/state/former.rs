//! Ids of pages that were known once.

use std::collections::BTreeSet;

use crate::model::PageId;
use crate::store::{Loaded, Store, StoreError};

/// Ids that files name and that only the history knows, or espejo's own key shows to be a page's.
#[derive(Debug, Default)]
pub(crate) struct FormerPages(pub(crate) BTreeSet<PageId>);

impl FormerPages {
    /// Notes a page that is forgotten.
    pub(crate) fn add(&mut self, id: &PageId) {
        self.0.insert(id.clone());
    }

    /// Those among the ids that these files name.
    pub(crate) fn open(loaded: &Loaded, store: &Store) -> Result<Self, StoreError> {
        let named = loaded.files.values().filter_map(|file| file.claims.as_ref());
        let mut former = BTreeSet::new();
        for id in named.filter(|id| !loaded.pages.contains_key(*id)) {
            if has_versions(id, store)? {
                former.insert(id.clone());
            }
        }
        Ok(Self(former))
    }
}

/// Whether the history knows a page of this id.
pub(crate) fn has_versions(id: &PageId, store: &Store) -> Result<bool, StoreError> {
    Ok(!store.versions_of(id)?.is_empty())
}
