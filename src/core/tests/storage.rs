//! Stored files on the core.
