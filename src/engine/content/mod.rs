//! The texts of pages: reading, writing, versions, drawings.

pub(super) mod conflicts;
pub(super) mod dashboards;
pub(super) mod differences;
pub(super) mod downward;
pub(super) mod faults;
pub(super) mod history;
pub(super) mod offload;
pub(super) mod returns;
pub(super) mod stale;
pub(super) mod stand_ins;
pub(super) mod text;
pub(super) mod unsendable;
pub(super) mod writers;
