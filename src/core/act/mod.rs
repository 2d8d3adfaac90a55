//! Acts: what is decided about an item becomes an effect, and the answer to an effect moves the table.

pub mod answers;
pub mod disk;
pub mod forbidden;
pub mod history;
pub mod requests;
pub mod stale;
pub mod step;
pub mod transfer;
pub mod upload;
pub mod view;
