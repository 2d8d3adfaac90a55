//! What the service shows of uploads whose outcome is unknown.

use serde_json::Value;

use crate::core::content::bytes::{self, NEVER, UPLOADED_AGAIN, is_candidate, list_of, unconfirmed};
use crate::core::content::listed::{ListOf, Listed};
use crate::core::items::{Act, ActState, Base, Deed, Failing, Item, Local, Remote, Version};
use crate::core::keys::{ItemKey, Seq};
use crate::core::observe::entries;
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, Way};
use crate::core::wants::Want;
use crate::model::{ContentHash, MirrorPath, Timestamp, Unsent};

/// The bytes of a file that may be the result of an upload without an answer have come: they tell whether it is.
pub fn settle_candidate(core: &mut Core<'_>, item: &Item, hash: ContentHash) {
    let sent = unconfirmed(core).into_iter().find(|act| {
        let Deed::Create { fields, known, .. } = &act.deed else { return false };
        is_candidate(item, fields, known) && fields.get("hash") == Some(&Value::from(hash.to_hex()))
    });
    if let (Some(act), Some(remote)) = (sent, &item.remote) {
        let made = Listed {
            rest: remote.rest.clone(),
            bytes: remote.bytes.clone(),
            ..Listed::new(Kind::File, &remote.id, remote.name.clone())
        };
        apply_uploaded(core, &act, made, item.parent, None);
    }
}

/// Takes in what the list of a folder says of uploads into it that got no answer. A file that may be the result is downloaded, and
/// its bytes tell; a list without one speaks against the upload.
pub fn confirm_uploads(core: &mut Core<'_>, of: &ListOf, is_whole: bool, (_, asked_at): (Seq, Timestamp)) {
    for act in unconfirmed(core) {
        let Deed::Create { fields, known, .. } = &act.deed else { continue };
        if list_of(core.state, &act).as_ref() != Some(of) {
            continue;
        }
        let hash = fields.get("hash");
        let is_open = |item: &&Item| {
            let other =
                bytes::arrived(core.state, item).is_some_and(|own| hash != Some(&Value::from(own.to_hex())));
            is_candidate(item, fields, known) && item.local == Local::Never && !other
        };
        let items = entries::items_of(core, of);
        match items.iter().filter(|item| item.is_listed()).find(is_open) {
            Some(candidate) => match bytes::arrived(core.state, candidate) {
                Some(hash) => settle_candidate(core, candidate, hash),
                None => {
                    core.state.wanted.insert(candidate.key, Want::Download);
                }
            },
            None => entries::creation_is_lacked(core, act.sent, is_whole, asked_at),
        }
    }
}

/// An upload was carried out. `answered`: the number of its answer; without one a list and the bytes show it.
pub fn apply_uploaded(
    core: &mut Core<'_>,
    act: &Act,
    made: Listed,
    folder: Option<ItemKey>,
    answered: Option<Seq>,
) {
    let Some(item) = core.state.items.get(act.item).cloned() else { return };
    let Deed::Create { fields, .. } = &act.deed else { return };
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let (Ok(path), Some(bytes)) = (MirrorPath::new(text("path")), made.bytes.clone()) else { return };
    let sent_size = fields.get("size").and_then(Value::as_u64).unwrap_or_default();
    if bytes.size != sent_size {
        return was_cut(core, act, bytes.size, sent_size);
    }
    if let Some(twin) = core.state.items.of_id(Kind::File, None, &made.id).filter(|twin| twin.key != item.key)
    {
        let twin = twin.key;
        core.state.forget(twin);
    }
    let now = core.now;
    let hash = ContentHash::from_hex(text("hash"));
    let is_new = item.remote.is_none();
    let mut other = None;
    core.state.items.edit(item.key, |item| {
        let content = bytes.digest();
        if let Some(old) = item.remote.take() {
            match item.base.as_ref().map(|base| base.content) == old.content {
                true => {
                    let (id, content) = (old.id, old.content);
                    item.superseded.push(Version { id, parent: item.parent, content });
                }
                // Another client gave the older version other bytes meanwhile: it is a file of its own.
                false => other = Some((old, item.parent)),
            }
        }
        let mut remote = Remote::new(made.id.clone(), now);
        (remote.name, remote.rest) = (made.name.clone(), made.rest.clone());
        (remote.content, remote.bytes) = (Some(content), Some(bytes.clone()));
        (item.remote, item.parent) = (Some(remote), folder);
        // The app, or the service, may have named it otherwise since.
        item.base = Some(Base { name: text("name").to_owned(), content, text: hash, path: path.clone() });
    });
    if let Some((old, parent)) = other {
        let key = core.state.items.add(Kind::File, item.area.clone(), parent, Local::Never);
        core.state.items.edit(key, |item| item.remote = Some(old));
    }
    bytes::forget_arrived(core.state, item.key);
    let runtime = core.state.runtime(item.key);
    let (row, at) = runtime.bytes.uploads;
    let rests = now.since_ms(at) >= 2 * UPLOADED_AGAIN.wait_ms(row.max(1));
    runtime.bytes.uploads = (if rests { 1 } else { row + 1 }, now);
    let shown = answered.is_none();
    core.state.journal.edit(act.sent, |act| {
        (act.state, act.failing) = (ActState::Done { at: now, shown }, Default::default());
    });
    if let Some(of) = list_of(core.state, act) {
        entries::list_by(core, &of, now);
    }
    core.state.items.dirty.insert(item.key);
    core.tell(Way::Up, &path, if is_new { "uploaded" } else { "new version uploaded" });
}

/// The service stored a part of an upload. What it made is handled as any new file; another try would make one more.
pub(crate) fn was_cut(core: &mut Core<'_>, act: &Act, made: u64, sent: u64) {
    let said = Unsent::Cut { made, sent }.to_string();
    core.state.journal.edit(act.sent, |act| {
        act.state = ActState::Failed;
        act.failing = Failing { count: 1, until: NEVER, said, is_refused: true };
    });
    if let Some(of) = list_of(core.state, act) {
        entries::list_by(core, &of, core.now);
    }
}
