//! The mirror's trash, emptied of what has been in it for long enough, beside the loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::mirror::Mirror;
use crate::mirror::lock::Lock;
use crate::model::Timestamp;

/// Empties the trash of days that ended before `before`. `told`: that something stays in it has been told.
pub(super) fn empty(mirror: &Arc<Mirror>, lock: &Arc<Lock>, told: &Arc<AtomicBool>, before: Timestamp) {
    let (mirror, lock, told) = (Arc::clone(mirror), Arc::clone(lock), Arc::clone(told));
    tokio::task::spawn_blocking(move || {
        match mirror.purge_trash(before) {
            Ok(emptied) => {
                if emptied.days > 0 {
                    tracing::info!("old files of {} days are deleted from the trash", emptied.days);
                }
                let first = emptied.stuck.first();
                let was_told = told.swap(first.is_some(), Ordering::Relaxed);
                if let (Some((path, why)), false) = (first, was_told) {
                    let rest = match emptied.stuck.len() - 1 {
                        0 => String::new(),
                        more => format!(" (and {more} more)"),
                    };
                    tracing::warn!(
                        ".espejo/trash/{path}{rest} cannot be deleted although its time is over: {why}; delete it by hand, or change its permissions; the rest of the trash is emptied"
                    );
                }
            }
            // No root, say: the engine tells of that, and the next check comes.
            Err(error) => tracing::debug!(%error, "the trash cannot be cleaned up"),
        }
        drop(lock);
    });
}
