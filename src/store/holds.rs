//! Why a page waits, as columns of its row.

use rusqlite::Row;

use super::StoreError;
use super::rows::col;
use crate::model::{Hold, Refusal, RefusalClass, Side, Timestamp};

/// The text of a hold that the row keeps.
pub(super) fn said_of(hold: &Hold) -> &str {
    match hold {
        Hold::Internal(Side::File) => "file",
        Hold::Internal(Side::Service) => "service",
        Hold::Unloadable(said) | Hold::Unwritable(said) => said,
        Hold::Edit(refusal) | Hold::Deletion(refusal) | Hold::Fetch(refusal) => &refusal.said,
    }
}

pub(super) fn kind_of(hold: &Hold) -> &'static str {
    match hold {
        Hold::Unloadable(_) => "unloadable",
        Hold::Unwritable(_) => "unwritable",
        Hold::Internal(_) => "internal",
        Hold::Edit(_) => "edit",
        Hold::Deletion(_) => "deletion",
        Hold::Fetch(_) => "look",
    }
}

pub(super) fn hold_of(row: &Row<'_>, said: String) -> Result<Hold, StoreError> {
    let kind: String = row.get(col!(row, "parked_kind"))?;
    let class: Option<String> = row.get(col!(row, "parked_class"))?;
    let since = Timestamp(row.get::<_, Option<i64>>(col!(row, "parked_since"))?.unwrap_or_default());
    let refusal = |said| Refusal::kept(RefusalClass::named(&class.unwrap_or_default()), said, since);
    Ok(match kind.as_str() {
        "unloadable" => Hold::Unloadable(said),
        "unwritable" => Hold::Unwritable(said),
        "internal" => Hold::Internal(if said == "file" { Side::File } else { Side::Service }),
        "edit" => Hold::Edit(refusal(said)),
        // The start of a run is no full pass.
        "deletion" => Hold::Deletion(Refusal { retry_at: Refusal::NEVER, ..refusal(said) }),
        "look" => Hold::Fetch(refusal(said)),
        _ => return Err(StoreError::Row("parked_kind")),
    })
}
