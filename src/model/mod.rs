//! The types that every part of espejo shares: plain values, with no behaviour beyond their own invariants.
//!
//! This module reads no clock, file or socket, and imports no other module of the crate.

mod attention;
mod block;
mod board;
mod compact;
mod creation;
mod deep;
mod edits;
mod effect;
mod failure;
mod fault;
mod hash;
mod id;
mod ignoring;
mod page;
pub mod parts;
mod path;
mod planted;
mod problem;
mod put;
mod refusal;
mod rest;
mod schedule;
mod search;
mod settings;
mod stamp;
mod storage;
#[cfg(test)]
pub(crate) mod tests;
mod time;
mod tools;
mod trees;
mod unsent;
mod work;

pub use attention::{Attention, Code, Level, and_others, by_cause, to_act_on};
pub use block::{
    Blocks, BodyJson, DOCUMENTED, LONG_BODY, block_ids, every_block, every_place, has_inline_item, lines,
    one_by_one, semantically_equal, undescribed,
};
pub use board::{
    BoardEffect, BoardReply, CanvasId, Deck, Elements, Fields, Slide, Surface, Whiteboard, elements_hash,
    elements_json, id_of, is_creatable,
};
pub use creation::{Creation, Draft, PageDraft, Unconfirmed};
pub use deep::{NESTED_MAX, levels, read_json};
pub use edits::edits;
pub use effect::{
    ANSWER_MAX_MS, DiskReply, Effect, EffectId, Entry, EntryKind, Event, Expect, FileRead, Hides, Lent,
    Outcome, Request, RootState, Scan, ServiceReply, Unreadable,
};
pub use failure::{ASKS_FOR_LOGIN, DiskError, Next, ServiceError};
pub use fault::{Fault, Side, guarded, planted_fault};
pub use hash::{BadHash, ContentHash};
pub use id::{
    AttachmentId, BadId, BoardId, DeckId, ElementId, FileId, FolderId, PageId, SlideId, WorkspaceId,
};
pub use ignoring::{BadPattern, IGNORE_FILE, IGNORE_FILE_MOST, IgnoreFile, IgnoreRules, Pattern};
pub use page::{Page, PageMeta, Workspace};
pub use path::{BadPath, MirrorPath};
#[cfg(feature = "planted")]
pub use planted::plant;
pub use planted::planted;
pub use problem::{INTERNAL_MEND, Problem};
pub use put::Put;
pub use refusal::{Refusal, RefusalClass};
pub use rest::Rest;
pub use schedule::Schedule;
pub use search::{Found, HITS_MAX, Hit, Search};
pub use settings::{
    BoardSettings, Deletes, Moves, PageSettings, Settings, StorageMode, StorageSettings, WorkspaceMode,
};
pub use stamp::{FileObject, Stamp};
pub use storage::{
    DownloadError, Downloaded, Link, Part, StorageEffect, StorageEvent, StorageFile, StorageFolder,
    StorageListing, StorageReply, StoredReply,
};
pub use time::Timestamp;
pub use tools::{TOOL_FOLDERS, is_tool_folder};
pub use trees::{
    Agreed, Body, Hold, LastPush, LocalFile, Node, Parked, PendingUpdate, PollState, Presence, RemotePage,
    WorkspaceNode, folder_of,
};
pub use unsent::{Unsendable, Unsent};
pub use work::{Job, MergedBody, Work, Worked};
