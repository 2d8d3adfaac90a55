//! Decisions of the core. Pure: no clock, no files, no database, no text formats.

pub mod confirm;
pub mod decide;
pub mod identify;
pub mod page_files;
pub mod policy;
