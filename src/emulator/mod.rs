//! The service in a box: for `espejo demo` and for the tests.
//!
//! [`World`] is the service's state and rules as the API document tells them, and nothing else: no clock, no socket;
//! the moment is handed in with each request, ids come from a seed. [`Server`] puts a world on a loopback port.
//! One file per area of the API ([`pages`], `workspaces`; the others join beside them), one for what happens in the
//! app (`app`), one for the app as a web page (`web`), one for bad luck ([`Fault`]). It shares only `model` with the rest of the crate, so that a mistake in
//! the client is not repeated here.

mod app;
mod canvas;
mod downloads;
mod faults;
mod http;
mod lag;
mod limit;
mod log;
pub mod pages;
mod rng;
pub mod sample;
mod saved;
mod search;
mod server;
mod storage;
mod uploads;
mod web;
mod workspaces;
mod world;

pub use canvas::{PresentationRecord, SlideRecord, WhiteboardRecord};
pub use downloads::{Contents, DownloadRequest};
pub use faults::{Fault, Matcher};
pub use http::{Delivery, HttpRequest, HttpResponse};
pub use lag::Lag;
pub use limit::Window;
pub use log::{LogEntry, RequestLog};
pub use pages::PageRecord;
pub use saved::Unusable;
pub use server::{Clock, Server};
pub use storage::{FileRecord, FolderRecord};
pub use workspaces::WorkspaceRecord;
pub use world::{Choices, World};

/// How a search ranks, by itself: a bench plays it in virtual time.
pub mod ranking {
    pub use super::search::{Query, Ranking, Text, Weight};
}

#[cfg(test)]
mod tests;
