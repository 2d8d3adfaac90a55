//! Acts: what is decided about an item becomes an effect, and the answer to an effect moves the table.

pub mod answers;
pub mod begin;
pub mod disk;
pub mod requests;
pub mod step;
pub mod transfer;
pub mod upload;
pub mod view;
