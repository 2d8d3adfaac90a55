//! What scans, reads, lists and fetches show, and which of them is due next.

pub(super) mod barrier;
pub(super) mod disk;
pub(super) mod fetches;
pub(super) mod hints;
pub(super) mod identities;
pub(super) mod identity_batch;
pub(super) mod ignoring;
pub(super) mod lists;
pub(super) mod moves;
pub(super) mod off;
pub(super) mod old_paths;
pub(super) mod opened;
pub(super) mod targets;
pub(super) mod watched;
pub(super) mod workspaces;
