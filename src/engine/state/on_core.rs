//! The core's state, and the effects that it has under way.

use crate::core::act::begin::Urgency;
use crate::core::plan::policy::Kind;
use crate::core::state::State;
use crate::core::{ItemKey, Seq};
use crate::engine::schedule::pace::Class;
use crate::model::{Timestamp, WorkspaceId};
use crate::store::{Store, StoreError};

/// The core within the engine.
#[derive(Debug)]
pub(crate) struct OnCore {
    pub(crate) state: State,
    /// The number at which the last full pass began.
    pub(crate) pass: Seq,
}

/// An effect of the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfCore {
    /// Its number there; `None` until it is issued.
    pub(crate) sent: Option<Seq>,
    pub(crate) item: Option<ItemKey>,
    pub(crate) is_request: bool,
    /// Whether it neither costs a permit nor changes what a scan sees, so that it runs on a thread of its own.
    pub(crate) is_beside: bool,
    pub(crate) class: Class,
}

impl OfCore {
    pub(crate) fn at_the_disk(sent: Seq) -> Self {
        Self { sent: Some(sent), item: None, is_request: false, is_beside: false, class: Class::Edit }
    }
}

impl OnCore {
    pub(crate) fn open(store: &mut Store, now: Timestamp) -> Result<Self, StoreError> {
        Ok(Self { state: State::open(store, now)?, pass: Seq::default() })
    }

    /// A full pass is over.
    pub(crate) fn end_pass(&mut self) {
        self.state.stored.deep = None;
    }

    pub(crate) fn class_of(urgency: Urgency) -> Class {
        match urgency {
            Urgency::Edit => Class::Edit,
            Urgency::Asked => Class::Asked,
            Urgency::List => Class::List,
            Urgency::Background => Class::Background,
        }
    }

    pub(crate) fn is_item_missing(&self) -> bool {
        let is_open =
            |id: &WorkspaceId| self.state.areas.get(id).is_some_and(|area| area.is_open && area.is_live);
        self.state.items.gone().any(|item| {
            item.kind != Kind::Folder && item.base.is_some() && item.is_listed() && is_open(&item.area)
        })
    }
}
