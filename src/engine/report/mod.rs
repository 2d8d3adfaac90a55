//! What the user is told.

pub(super) mod attention;
