//! The ids in the front matter of files: which are pages', and which another program's (Dendron, Docusaurus, Zettelkasten).
//!
//! An id is a page's if a list, the state or its history knows a page of it, or if it stands under espejo's own key.
//! Another one belongs to the program that wrote it: the file is a file without an id.

use crate::engine::state::former::has_versions;
use crate::engine::state::trees::Trees;
use crate::markdown::front_matter::{self, FrontMatter};
use crate::model::{LocalFile, PageId};
use crate::store::{Store, StoreError};

/// The id that a file names. That of a known page is in memory once.
pub(crate) fn read(
    front: &FrontMatter,
    trees: &mut Trees,
    store: &Store,
) -> Result<Option<PageId>, StoreError> {
    let Some(text) = front.named() else { return Ok(None) };
    if let Some((id, _)) = trees.pages.get_key_value(text) {
        return Ok(Some(id.clone()));
    }
    let Ok(id) = PageId::new(text) else { return Ok(None) };
    if front.own_id.is_some() || !trees.former.0.contains(&id) && has_versions(&id, store)? {
        trees.former.0.insert(id.clone());
    }
    Ok(Some(id))
}

/// Whether an id is a page's.
pub(crate) fn is_pages(id: &str, trees: &Trees) -> bool {
    trees.pages.contains_key(id) || trees.former.0.contains(id)
}

/// The page that a file names.
pub(crate) fn page_in<'f>(file: &'f LocalFile, trees: &Trees) -> Option<&'f PageId> {
    file.claims.as_ref().filter(|id| is_pages(id.as_str(), trees))
}

/// Whether a file names a page that the service does not list: one that was known, or an id of the service's form, which may
/// be that of a page that the token may not see.
pub(crate) fn is_stray(file: &LocalFile, trees: &Trees) -> bool {
    let is_unlisted = |id: &PageId| {
        !trees.pages.contains_key(id)
            && (trees.former.0.contains(id) || uuid::Uuid::try_parse(id.as_str()).is_ok())
    };
    file.copied_from_page.is_none() && file.claims.as_ref().is_some_and(is_unlisted)
}

/// As [`front_matter::set_beside`], with a page's id, and with what is known of others'. A text out of the history may name a
/// page that no file has named since the start. An id that cannot be looked up stays.
pub(crate) fn set(
    text: &str,
    id: &PageId,
    title: Option<&str>,
    icon: Option<&str>,
    (trees, store): (&Trees, &Store),
) -> Result<String, front_matter::BadFrontMatter> {
    let is_former = |id: &str| PageId::new(id).is_ok_and(|id| has_versions(&id, store).unwrap_or(false));
    let is_ours = |id: &str| is_pages(id, trees) || is_former(id);
    front_matter::set_beside(text, Some(id.as_str()), title, icon, &is_ours)
}
