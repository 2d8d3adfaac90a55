//! Steps that change something: what is decided, and the request or the write that carries it out.

pub(super) mod answers;
pub(super) mod at_its_word;
pub(super) mod create;
pub(super) mod creation_guard;
pub(super) mod durable;
pub(super) mod place;
pub(super) mod push;
pub(super) mod refused;
pub(super) mod remove;
pub(super) mod renames;
pub(super) mod requests;
pub(super) mod root;
pub(super) mod step;
