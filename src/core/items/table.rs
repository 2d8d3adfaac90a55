//! The items with their indexes: by the id at the service, by the path of the file, and by the item that they lie in. Each change goes through
//! [`Items::edit`], which keeps the indexes true and notes the row for the store.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::items::item::{Base, Fact, Item, Local};
use crate::core::keys::{Digest, ItemKey};
use crate::core::plan::policy::Kind;
use crate::model::{ContentHash, MirrorPath, WorkspaceId};

/// All items.
#[derive(Debug, Default)]
pub struct Items {
    rows: BTreeMap<ItemKey, Item>,
    by_id: BTreeMap<(Kind, Option<ItemKey>, String), ItemKey>,
    /// Each item that lies in another one, after that.
    inner: BTreeSet<(ItemKey, ItemKey)>,
    by_path: BTreeMap<MirrorPath, ItemKey>,
    /// The items whose files are gone.
    gone: BTreeSet<ItemKey>,
    /// The items whose content at the service is not known, unless they are ignored.
    unknown: BTreeSet<ItemKey>,
    /// How many items of each area and kind are mirrored.
    mirrored: BTreeMap<(WorkspaceId, Kind), usize>,
    last: u32,
    /// The rows that the store does not have yet.
    pub(super) unsaved: BTreeSet<ItemKey>,
    /// The items of which only the state in the poll schedule changed, which is stored later.
    pub(super) polled: BTreeSet<ItemKey>,
    /// The items that are to be decided about.
    pub dirty: BTreeSet<ItemKey>,
    /// The files of items that have another path since the driver took this: the item, the old path and the new one.
    pub moved: Vec<(ItemKey, MirrorPath, MirrorPath)>,
}

impl Items {
    /// The stored items. All of them are to be decided about.
    #[must_use]
    pub fn loaded(items: Vec<Item>) -> Self {
        let mut all = Self::default();
        for item in items {
            all.last = all.last.max(item.key.0);
            all.dirty.insert(item.key);
            all.index(&item);
            all.rows.insert(item.key, item);
        }
        all
    }

    /// An item.
    #[must_use]
    pub fn get(&self, key: ItemKey) -> Option<&Item> {
        self.rows.get(&key)
    }

    /// All items, in the order of their keys.
    pub fn all(&self) -> impl Iterator<Item = &Item> {
        self.rows.values()
    }

    /// The items whose files are gone, in the order of their keys.
    pub fn gone(&self) -> impl Iterator<Item = &Item> {
        self.gone.iter().filter_map(|key| self.rows.get(key))
    }

    /// The items whose content at the service is not known, in the order of their keys. Ignored ones are not among them.
    pub fn unknown(&self) -> impl Iterator<Item = &Item> {
        self.unknown.iter().filter_map(|key| self.rows.get(key))
    }

    /// How many items are mirrored, by their area and kind: the service lists them, and they were here.
    pub fn mirrored(&self) -> impl Iterator<Item = (&WorkspaceId, Kind, usize)> {
        self.mirrored.iter().map(|((area, kind), number)| (area, *kind, *number))
    }

    /// The items that lie in an item, in the order of their keys.
    pub fn within(&self, key: ItemKey) -> impl Iterator<Item = &Item> {
        let inner = self.inner.range((key, ItemKey(0))..=(key, ItemKey(u32::MAX)));
        inner.filter_map(|(_, key)| self.rows.get(key))
    }

    /// The items that are parts of an item's file, in the order of their keys.
    pub fn inner(&self, key: ItemKey) -> impl Iterator<Item = &Item> {
        self.within(key).filter(|item| item.kind.is_part())
    }

    /// An item, and the parts of its file.
    pub fn family(&self, key: ItemKey) -> impl Iterator<Item = &Item> {
        self.rows.get(&key).into_iter().chain(self.inner(key))
    }

    /// The keys of an item and of what lies in it.
    #[must_use]
    pub fn family_keys(&self, key: ItemKey) -> Vec<ItemKey> {
        self.family(key).map(|item| item.key).collect()
    }

    /// The item with this id at the service, or with an older version of this id. Ids of parts are unique in their item only.
    #[must_use]
    pub fn of_id(&self, kind: Kind, parent: Option<ItemKey>, id: &str) -> Option<&Item> {
        self.get(*self.by_id.get(&(kind, parent.filter(|_| kind.is_part()), id.to_owned()))?)
    }

    /// The item whose file is at this path, or was there when it was last seen.
    #[must_use]
    pub fn at(&self, path: &MirrorPath) -> Option<&Item> {
        self.get(*self.by_path.get(path)?)
    }

    /// The items whose files are beneath a path, or were there when they were last seen.
    pub fn beneath<'a>(&'a self, place: &'a MirrorPath) -> impl Iterator<Item = &'a Item> {
        let paths = self.by_path.range(place.clone()..);
        let beneath = paths.take_while(|(path, _)| path.as_str().starts_with(place.as_str()));
        beneath.filter(|(path, _)| path.is_within(place)).filter_map(|(_, key)| self.get(*key))
    }

    /// Adds an item without a remote side.
    pub fn add(&mut self, kind: Kind, area: WorkspaceId, parent: Option<ItemKey>, local: Local) -> ItemKey {
        self.last += 1;
        let key = ItemKey(self.last);
        let (remote, base, picture, wait) = (None, None, None, None);
        let aliases = BTreeMap::new();
        let (approved, is_ignored, superseded) = (false, false, Vec::new());
        let item = Item {
            key,
            kind,
            area,
            parent,
            remote,
            local,
            base,
            aliases,
            written: Vec::new(),
            picture,
            superseded,
            approved,
            is_ignored,
            wait,
        };
        self.index(&item);
        self.rows.insert(key, item);
        self.note(key);
        key
    }

    /// Changes an item. A change makes it dirty and is stored.
    pub fn edit<T>(&mut self, key: ItemKey, change: impl FnOnce(&mut Item) -> T) -> Option<T> {
        let before = self.rows.get(&key)?.clone();
        let mut item = before.clone();
        let out = change(&mut item);
        if item != before {
            let mut polled = before.clone();
            if let (Some(then), Some(now)) = (&mut polled.remote, &item.remote) {
                then.poll = now.poll;
            }
            self.dirty.insert(key);
            match polled == item {
                true => self.polled.insert(key),
                false => self.unsaved.insert(key),
            };
            if let (Some(from), Some(to)) = (before.last_file(), item.file())
                && from.path != to.path
            {
                self.moved.push((key, from.path.clone(), to.path.clone()));
            }
            self.unindex(&before);
            self.index(&item);
            self.rows.insert(key, item);
        }
        Some(out)
    }

    /// Changes what is known of an item's file, if the file is there.
    pub fn edit_file(&mut self, key: ItemKey, change: impl FnOnce(&mut Fact)) {
        self.edit(key, |item| {
            if let Local::Here(fact) = &mut item.local {
                change(fact);
            }
        });
    }

    /// Both sides agree on a content of an item. `text`: the hash of the file's bytes if they state exactly this content.
    pub fn agree(&mut self, key: ItemKey, content: Digest, text: Option<ContentHash>, path: &MirrorPath) {
        self.edit(key, |item| {
            let new = || Base { name: item.name().to_owned(), content, text, path: path.clone() };
            let base = item.base.clone().unwrap_or_else(new);
            item.base = Some(Base { content, text, ..base });
        });
    }

    /// An item has no file any more, and neither it nor what lies in it has a base.
    pub fn release(&mut self, key: ItemKey) {
        let family = self.family_keys(key);
        for key in family {
            self.edit(key, |item| {
                (item.local, item.base, item.approved) = (Local::Never, None, false);
                item.written.clear();
            });
        }
    }

    /// Removes an item for good.
    pub(crate) fn forget(&mut self, key: ItemKey) {
        if let Some(item) = self.rows.remove(&key) {
            self.unindex(&item);
            self.dirty.remove(&key);
            self.unsaved.insert(key);
        }
    }

    /// Makes all items dirty, because something changed that each of them may depend on.
    pub fn mark_all(&mut self) {
        self.dirty.extend(self.rows.keys().copied());
    }

    fn note(&mut self, key: ItemKey) {
        self.unsaved.insert(key);
        self.dirty.insert(key);
    }

    fn index(&mut self, item: &Item) {
        for id in ids(item) {
            self.by_id.insert(id, item.key);
        }
        self.inner.extend(item.parent.map(|parent| (parent, item.key)));
        if matches!(item.local, Local::Gone { .. }) {
            self.gone.insert(item.key);
        }
        if item.content().is_none() && !item.is_ignored {
            self.unknown.insert(item.key);
        }
        if is_mirrored(item) {
            *self.mirrored.entry((item.area.clone(), item.kind)).or_default() += 1;
        }
        if let Some(fact) = item.last_file() {
            // A file that is there counts more than one that was.
            let is_taken = self.at(&fact.path).is_some_and(|other| other.file().is_some());
            if item.file().is_some() || !is_taken {
                self.by_path.insert(fact.path.clone(), item.key);
            }
        }
    }

    fn unindex(&mut self, item: &Item) {
        for id in ids(item) {
            if self.by_id.get(&id) == Some(&item.key) {
                self.by_id.remove(&id);
            }
        }
        if let Some(parent) = item.parent {
            self.inner.remove(&(parent, item.key));
        }
        self.gone.remove(&item.key);
        self.unknown.remove(&item.key);
        if is_mirrored(item)
            && let Some(number) = self.mirrored.get_mut(&(item.area.clone(), item.kind))
        {
            *number -= 1;
        }
        if let Some(fact) = item.last_file().filter(|fact| self.by_path.get(&fact.path) == Some(&item.key)) {
            self.by_path.remove(&fact.path);
        }
    }
}

fn is_mirrored(item: &Item) -> bool {
    item.base.is_some() && item.is_listed()
}

/// The keys of an item in the index of ids.
fn ids(item: &Item) -> impl Iterator<Item = (Kind, Option<ItemKey>, String)> {
    let parent = item.parent.filter(|_| item.kind.is_part());
    let own = item.remote.iter().map(|remote| &remote.id);
    own.chain(item.superseded.iter().map(|version| &version.id))
        .map(move |id| (item.kind, parent, id.clone()))
}
