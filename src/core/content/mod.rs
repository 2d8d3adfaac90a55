//! What items contain, and how their files are named. To the rest of the core a content is a digest.

pub mod canvas;
pub mod naming;
pub mod picture;
