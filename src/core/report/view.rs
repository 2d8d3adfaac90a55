//! Stored files and folders as the state has them, for programs that only read it.

use crate::core::content::{bytes, naming};
use crate::core::items::{Act, ActState, Deed, Item, Items, Listing, rows};
use crate::core::plan::policy::Kind;
use crate::model::{MirrorPath, Timestamp, Unsent};
use crate::store::{CoreTable, ReadOnly, StoreError, core_rows};

/// A stored file or a folder.
#[derive(Debug, Clone)]
pub struct StoredView {
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Its id; `None` for a file that the service does not have.
    pub id: Option<String>,
    /// The id of its folder; `None` at the root.
    pub folder: Option<String>,
    /// Its name at the service, or that of the file.
    pub name: String,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// The id of its content at the service.
    pub attachment: Option<String>,
    /// Its order among its siblings.
    pub position: Option<f64>,
    /// The fields that espejo does not use, as JSON.
    pub rest: Option<String>,
    /// What the lists show of it.
    pub presence: Option<Listing>,
    /// Where it is, or was when it was last seen; else where it belongs.
    pub path: Option<MirrorPath>,
    /// Whether it has been in the folder.
    pub was_here: bool,
    /// Whether the folder has the service's bytes.
    pub is_current: bool,
    /// When the service was last asked about it, or about its folder.
    pub checked_at: Option<Timestamp>,
    /// Whether it is being uploaded.
    pub is_sending: bool,
    /// Why it is not uploaded.
    pub unsent: Option<Unsent>,
}

/// All stored files and folders.
///
/// # Errors
/// [`StoreError`] when a row cannot be read.
pub fn stored(state: &ReadOnly) -> Result<Vec<StoredView>, StoreError> {
    let items = rows::items(state.store())?;
    let journal = core_rows(state.store(), CoreTable::Journal)?;
    let acts: Vec<Act> = journal.iter().filter_map(|row| serde_json::from_str(row).ok()).collect();
    // What is gone on both sides stays known for a while.
    let is_there = |item: &&Item| item.presence().is_some_and(|shown| shown != Listing::Gone);
    let stored =
        items.all().filter(|item| item.kind.is_stored() && (is_there(item) || item.file().is_some()));
    Ok(stored.map(|item| view(&items, &acts, item)).collect())
}

fn view(items: &Items, acts: &[Act], item: &Item) -> StoredView {
    let (remote, fact) = (item.remote.as_ref(), item.last_file());
    let bytes = remote.and_then(|remote| remote.bytes.as_ref());
    let folder = item.parent.and_then(|key| items.get(key));
    let place = || match item.parent {
        None => MirrorPath::new(naming::STORAGE).ok(),
        Some(_) => folder?.file().map(|fact| fact.path.clone()),
    };
    let belongs = || place()?.join(item.name()).ok();
    let mut uploads =
        acts.iter().filter(|act| act.item == item.key && matches!(act.deed, Deed::Create { .. }));
    let listed = match item.kind {
        Kind::Folder => remote.map(|remote| remote.poll.last),
        _ => folder.and_then(|folder| Some(folder.remote.as_ref()?.poll.last)),
    };
    let refused = acts
        .iter()
        .find(|act| act.item == item.key && act.state == ActState::Failed && act.failing.is_refused);
    let unsent = fact.filter(|_| item.remote.is_none()).and_then(|fact| bytes::refusal(items, fact));
    StoredView {
        is_folder: item.kind == Kind::Folder,
        id: remote.map(|remote| remote.id.clone()),
        folder: folder.and_then(|folder| Some(folder.remote.as_ref()?.id.clone())),
        name: remote.map_or_else(
            || fact.map_or("", |fact| fact.path.name()).to_owned(),
            |remote| remote.name.clone(),
        ),
        size: bytes
            .map(|bytes| bytes.size)
            .or_else(|| Some(fact.filter(|_| item.kind == Kind::File)?.stamp.size)),
        attachment: bytes.map(|bytes| bytes.attachment.clone()),
        position: remote.and_then(|remote| remote.position),
        rest: remote.and_then(|remote| remote.rest.clone()),
        presence: item.presence(),
        path: fact.map(|fact| fact.path.clone()).or_else(belongs),
        was_here: item.base.is_some() && fact.is_some(),
        is_current: item.base.is_some() && (item.kind == Kind::Folder || item.agreed() == item.content()),
        checked_at: listed.filter(|at| at.0 > 0),
        is_sending: uploads.any(Act::is_in_doubt),
        unsent: unsent.or_else(|| Some(Unsent::Refused(refused?.failing.said.clone()))),
    }
}
