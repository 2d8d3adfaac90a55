//! What lies behind each kind of item: how files are read and written, where they belong, and how the service is asked.

pub mod bytes;
pub mod canvas;
pub mod compared;
pub mod history;
pub mod listed;
pub mod naming;
pub mod picture;
pub mod presentation;
pub mod service;
pub mod stale;
pub mod versions;
