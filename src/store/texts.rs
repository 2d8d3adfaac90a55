//! The texts of canvases in the history: versions that have a text alone.

use rusqlite::params;

use super::{Store, StoreError, Version};
use crate::model::{ContentHash, MirrorPath, PageId, Timestamp};

/// The last version of an item, or of a file at this path that belongs to none yet.
///
/// # Errors
/// [`StoreError`] when its row cannot be read.
pub fn last_version(
    store: &Store,
    item: Option<&PageId>,
    path: &MirrorPath,
) -> Result<Option<Version>, StoreError> {
    let newest = "v.number = (SELECT max(number) FROM history_versions WHERE";
    let mut found = match item {
        Some(item) => store.versions(&format!("{newest} page = ?1)"), params![item.as_str()]),
        None => store.versions(&format!("{newest} path = ?1 AND page IS NULL)"), params![path.as_str()]),
    }?;
    Ok(found.pop())
}

/// The text of a version has reached the service.
pub fn note_sent(store: &mut Store, version: i64) {
    store.write("UPDATE history_versions SET sent = 1 WHERE number = ?1", [version]);
}

/// A version has another text from now on; the old one is dropped unless something else refers to it.
pub fn replace_text(store: &mut Store, version: i64, at: Timestamp, text: &[u8], sent: bool) {
    let replaced = store.keep_content(text).and_then(|new| {
        let db = store.turn()?;
        let old: Option<i64> = db
            .prepare_cached("SELECT text FROM history_versions WHERE number = ?1")?
            .query_row([version], |row| row.get(0))?;
        db.prepare_cached("UPDATE history_versions SET text = ?2, at = ?3, sent = ?4 WHERE number = ?1")?
            .execute(params![version, new, at.0, sent])?;
        store.drop_orphans(&old.into_iter().collect::<Vec<_>>())
    });
    store.keep_error(replaced);
}

/// A version's text was written anew as another one that says the same; so was the text after the acts on its file.
pub fn rename_text(
    store: &mut Store,
    path: &MirrorPath,
    (version, before): (i64, Option<ContentHash>),
    after: ContentHash,
    sent: bool,
) {
    let Some(text) = store.keep_or_find(None, Some(after)) else { return };
    store.write(
        "UPDATE history_versions SET text = ?2, sent = ?3 WHERE number = ?1",
        params![version, text, sent],
    );
    store.write(
        "UPDATE history_acts SET text_after = ?3 WHERE path = ?1 AND text_after = ?2",
        params![path.as_str(), before.map(|hash| hash.0), after.0],
    );
    for act in &mut store.acts_elsewhere {
        if act.path == *path && act.text_after == before {
            act.text_after = Some(after);
        }
    }
}
