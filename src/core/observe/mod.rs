//! What the folder and the service show, taken into the table of items.

pub mod entries;
pub mod fetch;
pub mod identity;
pub mod list;
pub mod moved;
pub mod scan;
pub mod storage;
pub mod uploads;
