//! Messages about this machine that the driver finds, such as a limit of the system. The engine stores them and shows them with its
//! own; it knows no reason by itself.

use crate::engine::state::Engine;
use crate::model::{Attention, Code, MirrorPath, Timestamp};
use crate::store::StoreError;

/// Key in the state: files in places that are not synced, as a JSON array of paths. Commands read it, because reading the folder
/// would count as opening it.
pub const UNSYNCED: &str = "unsynced";

/// Until it is over: a hundred years.
const LASTS_MS: i64 = 100 * 365 * 24 * 3_600_000;

/// Shows a message of this code, a fact and its remedy, until the next call for the code; `None` ends it.
///
/// # Errors
/// [`StoreError`] when the messages cannot be read or stored.
pub fn tell(
    engine: &mut Engine,
    code: Code,
    told: Option<(&str, &str)>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let message = told.map(|(reason, action)| Attention::new(code, "", reason, action));
    let mut known = engine.cx.store.notices()?;
    known.retain(|notice| notice.code == code);
    if known.iter().eq(&message) {
        return Ok(());
    }
    engine.advance(now);
    for notice in &known {
        engine.cx.store.drop_notice(notice);
    }
    if let Some(message) = message {
        engine.cx.store.add_notice(&message, engine.cx.now.plus_ms(LASTS_MS));
    }
    engine.attention.stir();
    engine.commit()
}

/// Notes the files in places that are not synced, as the last scan showed them.
///
/// # Errors
/// [`StoreError`] when they cannot be stored.
pub fn note_unsynced(engine: &mut Engine, paths: &[MirrorPath]) -> Result<(), StoreError> {
    let paths: Vec<&str> = paths.iter().map(MirrorPath::as_str).collect();
    let text = serde_json::Value::from(paths).to_string();
    if engine.cx.store.meta(UNSYNCED)?.as_deref() == Some(text.as_str()) {
        return Ok(());
    }
    engine.cx.store.set_meta(UNSYNCED, &text);
    engine.commit()
}
