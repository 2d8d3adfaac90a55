//! What the history knows of one page's versions: which came from which, on either side.

use rusqlite::{OptionalExtension, params};

use super::acts::number_of;
use super::history::side_number;
use super::{Act, ActKind, Side, Store, StoreError};
use crate::model::{ContentHash, MirrorPath, PageId, Timestamp};

/// The most acts of one page that are looked at together.
const LOOKED_AT: i64 = 20;
/// The most versions of one page that are compared.
pub const COMPARED: usize = 20;

/// The writes of espejo that made a page's file hold `text`, one after the other without another program's save between
/// them, oldest first. Only changes of the service count, and a file that was written again after it was away.
///
/// # Errors
/// [`StoreError`] when a row cannot be read.
pub fn writes_up_to(store: &Store, page: &PageId, text: ContentHash) -> Result<Vec<Act>, StoreError> {
    let newest = "a.page = ?1 AND a.kind IN (?2, ?3) ORDER BY a.number DESC LIMIT ?4";
    let [updated, written] = [ActKind::Updated, ActKind::Written].map(number_of);
    let acts = store.acts(newest, params![page.as_str(), updated, written, LOOKED_AT])?;
    let (mut found, mut text) = (Vec::new(), text);
    for act in acts {
        let Some(before) = act.text_before.filter(|_| act.text_after == Some(text)) else { break };
        text = before;
        found.push(act);
    }
    found.reverse();
    Ok(found)
}

/// When espejo last renamed the page's file from `path` because the page was renamed or moved in the app.
///
/// # Errors
/// [`StoreError`] when SQLite refuses.
pub fn renamed_from(
    store: &Store,
    page: &PageId,
    path: &MirrorPath,
) -> Result<Option<Timestamp>, StoreError> {
    let sql = "SELECT at FROM history_acts WHERE page = ?1 AND kind = ?2 AND other = ?3 ORDER BY number DESC";
    let mut query = store.db.prepare_cached(sql)?;
    let values = params![page.as_str(), number_of(ActKind::Renamed), path.as_str()];
    Ok(query.query_row(values, |row| Ok(Timestamp(row.get(0)?))).optional()?)
}

/// The body and the text that a page and its file had when they last agreed.
///
/// # Errors
/// [`StoreError`] when SQLite refuses.
pub fn last_agreed(store: &Store, page: &PageId) -> Result<Option<(ContentHash, ContentHash)>, StoreError> {
    let hashes = store
        .db
        .prepare_cached(
            "SELECT b.hash, coalesce(v.wrote, t.hash) FROM history_versions v
             JOIN history_contents b ON b.id = v.body LEFT JOIN history_contents t ON t.id = v.text
             WHERE v.page = ?1 AND (v.wrote IS NOT NULL OR v.sent AND v.text IS NOT NULL)
             ORDER BY v.number DESC LIMIT 1",
        )?
        .query_row([page.as_str()], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?)))
        .optional()?;
    let Some((body, text)) = hashes else { return Ok(None) };
    Ok(ContentHash::from_slice(&body).zip(ContentHash::from_slice(&text)))
}

/// The bodies of a page that espejo's requests since `since` found and left, oldest first.
///
/// # Errors
/// [`StoreError`] when a row cannot be read.
pub fn states_since(store: &Store, page: &PageId, since: Timestamp) -> Result<Vec<ContentHash>, StoreError> {
    let newest = "a.page = ?1 AND a.kind = ?2 AND a.at >= ?3 ORDER BY a.number DESC LIMIT ?4";
    let acts = store.acts(newest, params![page.as_str(), number_of(ActKind::Sent), since.0, LOOKED_AT])?;
    let mut states: Vec<ContentHash> =
        acts.iter().rev().flat_map(|act| [act.body_before, act.body_after]).flatten().collect();
    states.dedup();
    Ok(states)
}

/// Whether the page is known to have had this body at `by` or before.
///
/// # Errors
/// [`StoreError`] when SQLite refuses.
pub fn has_had(store: &Store, page: &PageId, body: ContentHash, by: Timestamp) -> Result<bool, StoreError> {
    let Some(id) = store.content_id(body)? else { return Ok(false) };
    Ok(store
        .db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM history_versions WHERE page = ?1 AND body = ?2 AND at <= ?3)",
        )?
        .query_row(params![page.as_str(), id, by.0], |row| row.get(0))?)
}

/// The body that the page had when its file held exactly this text, if both are kept.
///
/// # Errors
/// [`StoreError`] when SQLite refuses.
pub fn body_of_text(
    store: &Store,
    page: &PageId,
    text: ContentHash,
) -> Result<Option<ContentHash>, StoreError> {
    let id = store.content_id(text)?;
    let hash: Option<Vec<u8>> = store
        .db
        .prepare_cached(
            "SELECT c.hash FROM history_versions v JOIN history_contents c ON c.id = v.body
             WHERE v.page = ?1 AND (v.text = ?2 AND v.sent OR v.wrote = ?3) ORDER BY v.number DESC LIMIT 1",
        )?
        .query_row(params![page.as_str(), id, text.0], |row| row.get(0))
        .optional()?;
    Ok(hash.and_then(|bytes| ContentHash::from_slice(&bytes)))
}

/// The bodies that a page had since a time, each with whether a save of its file made it, the newest first. At most
/// `most`.
///
/// # Errors
/// [`StoreError`] when SQLite refuses.
pub fn bodies_since(
    store: &Store,
    page: &PageId,
    since: Timestamp,
    most: usize,
) -> Result<Vec<(ContentHash, bool)>, StoreError> {
    let mut query = store.db.prepare_cached(
        "SELECT c.hash, v.side FROM history_versions v JOIN history_contents c ON c.id = v.body
         WHERE v.page = ?1 AND v.at >= ?2 ORDER BY v.number DESC LIMIT ?3",
    )?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let rows = query.query_map(params![page.as_str(), since.0, most], |row| {
        Ok((
            row.get::<_, Vec<u8>>(0)?,
            [Side::File, Side::Merged].map(side_number).contains(&row.get::<_, i64>(1)?),
        ))
    })?;
    let known = |(hash, by_file): (Vec<u8>, bool)| Some((ContentHash::from_slice(&hash)?, by_file));
    rows.filter_map(|row| row.map(known).transpose()).collect::<Result<_, _>>().map_err(Into::into)
}
