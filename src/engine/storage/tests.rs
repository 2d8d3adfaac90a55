//! Tests of answers that cross each other: a list is running while an effect of one of its files ends. Not for whole
//! runs; those are the binary's tests.

mod hidden;
mod lists;
mod placements;
mod shared_path;

use std::collections::BTreeMap;

use super::walk::Walk;
use super::*;
use crate::engine::attention::Needs;
use crate::engine::conflicts::Conflicts;
use crate::engine::context::Context;
use crate::engine::flight::{Flight, InFlight, Purpose};
use crate::engine::folder::{Folder, Root, Watching};
use crate::engine::ids::Ids;
use crate::engine::pace::Pace;
use crate::engine::removals::Deletions;
use crate::engine::trees::Trees;
use crate::model::{
    Attention, ContentHash, EffectId, Entry, EntryKind, RootState, Scan, Stamp, StorageFile, StorageFolder,
    StorageListing, StorageReply, StoredFile, StoredReply, Upload,
};
use crate::plan::guard::Kind;
use crate::plan::stored;

const NOW: Timestamp = Timestamp(1_000_000_000);
const AS_AGREED: Stamp = Stamp { device: 1, inode: 7, size: 5, modified_ns: 10, changed_ns: 10, born_ns: 10 };
/// The stamp of the same file after a rename of ours.
const MOVED: Stamp = Stamp { changed_ns: 20, ..AS_AGREED };

fn file(id: &str) -> FileId {
    FileId::new(id).unwrap()
}

fn path(text: &str) -> MirrorPath {
    MirrorPath::new(text).unwrap()
}

/// A file of the root whose content has this id.
fn shown(id: &str, content: &str) -> StorageFile {
    StorageFile {
        id: file(id),
        folder: None,
        attachment: AttachmentId::new(content).unwrap(),
        filename: format!("{id}.txt"),
        size: 5,
        position: 1.0,
        rest: crate::model::Rest::default(),
    }
}

fn listing(files: &[StorageFile]) -> Outcome {
    let listing = StorageListing { files: files.to_vec(), ..StorageListing::default() };
    Outcome::Service(Ok(ServiceReply::Storage(StorageReply::Listing(listing))))
}

fn service(reply: StorageReply) -> Outcome {
    Outcome::Service(Ok(ServiceReply::Storage(reply)))
}

/// An upload of `new.txt` that has just been sent.
fn upload() -> Upload {
    Upload {
        path: path("Storage/new.txt"),
        folder: None,
        filename: "new.txt".to_owned(),
        size: 5,
        hash: ContentHash::of(b"newer"),
        stamp: Stamp::default(),
        replaces: None,
    }
}

fn hashed(stamp: Stamp, text: &str) -> Outcome {
    let hash = ContentHash::of(text.as_bytes());
    Outcome::Disk(Ok(DiskReply::Storage(StoredReply::Hashed(stamp, hash))))
}

/// Storage in the middle of a full pass, with two files in the root: `a` with a base, and `b`.
struct Play {
    storage: Storage,
    cx: Context,
    trees: Trees,
    folder: Folder,
    /// The disk of the storage folder.
    device: u64,
}

impl Play {
    /// The messages to the user.
    fn told(&self) -> Vec<Attention> {
        let mut needs = Needs::default();
        self.storage.needs(self.cx.now, &|_| String::new(), &mut needs);
        needs.list()
    }

    /// Lists the root with these files and the folder `Docs`.
    fn lists_docs(&mut self, files: &[StorageFile]) -> FolderId {
        let id = FolderId::new("docs").unwrap();
        let docs = StorageFolder { id: id.clone(), parent: None, name: "Docs".to_owned(), position: 1.0 };
        let list = StorageListing { folders: vec![docs], files: files.to_vec(), skipped: Vec::new() };
        let asked = self.ask(Task::Walk(None));
        self.end(asked, service(StorageReply::Listing(list)));
        id
    }

    fn new(mode: StorageMode, stamp: Stamp) -> Self {
        let mut settings = Settings::default();
        settings.storage.mode = mode;
        let mut store = Store::in_memory().unwrap();
        let storage = Storage::open(&mut store, &settings, NOW).unwrap();
        let root = Root::new(&mut store, NOW, false).unwrap();
        let folder = Folder { root, watch: Watching::new(NOW, BTreeMap::new()) };
        let deletions = Deletions::open(&mut store, |_, _| false, NOW).unwrap();
        let cx = Context {
            pace: Pace::new(settings.requests_per_minute, Vec::new(), NOW),
            settings,
            store,
            ids: Ids::new([7; 32]),
            now: NOW,
            tick: 1,
            in_flight: InFlight::default(),
            activities: Vec::new(),
            conflicts: Conflicts::default(),
            deletions,
        };
        let mut play = Self { storage, cx, trees: Trees::default(), folder, device: 1 };
        for (id, stamp) in [("a", stamp), ("b", AS_AGREED)] {
            let remote = shown(id, "one");
            let base = StoredFile {
                attachment: remote.attachment.clone(),
                size: remote.size,
                hash: ContentHash::of(if id == "a" { b"first" } else { b"other" }),
                path: path(&format!("Storage/{id}.txt")),
                stamp: AS_AGREED,
                racy: false,
            };
            let node = FileNode {
                stem: Some(remote.filename.clone()),
                remote,
                seen: Seen::Listed,
                seen_at: NOW,
                base: Some(base),
                replaced_by: None,
                approved: false,
            };
            play.cx.store.save_storage_file(&node);
            play.storage.files.insert(file(id), node);
            play.storage.runtime(&file(id)).local =
                if stamp == AS_AGREED { local::Local::Same } else { local::Local::Suspect(stamp) };
        }
        play.scan(&[("Storage/a.txt", stamp), ("Storage/b.txt", AS_AGREED)]);
        let tick = play.cx.tick;
        play.storage.begin_pass(false, tick, NOW);
        play
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut Storage, &mut Turn<'_>) -> T) -> T {
        let (trees, folder) = (&self.trees, &self.folder);
        let mut cx = Turn { cx: &mut self.cx, trees, folder, order: Some(&[]) };
        act(&mut self.storage, &mut cx)
    }

    fn scan(&mut self, files: &[(&str, Stamp)]) {
        let entry = |at: &str, kind, stamp| Entry { path: path(at), kind, stamp };
        let folder = Stamp { device: self.device, ..Stamp::default() };
        let mut entries = vec![entry("Storage", EntryKind::Folder, folder)];
        entries.extend(files.iter().map(|(at, stamp)| entry(at, EntryKind::File, *stamp)));
        let scan = Scan { root: RootState::Ready, entries, root_identity: (9, 9), ..Scan::default() };
        self.with(|storage, cx| storage.take_scan(cx, &scan, cx.now));
    }

    /// Issues a task, and returns its tick.
    fn ask(&mut self, task: Task) -> (Task, u64) {
        self.cx.tick += 1;
        let (purpose, tick, sent_at) = (Purpose::Storage(task.clone()), self.cx.tick, self.cx.now);
        self.cx
            .in_flight
            .flights
            .insert(EffectId(tick), Flight { purpose, tick, sent_at, is_repeatable: false });
        (task, tick)
    }

    fn end(&mut self, (task, tick): (Task, u64), outcome: Outcome) {
        self.cx.tick += 1;
        self.cx.in_flight.flights.remove(&EffectId(tick));
        let at = self.cx.now;
        self.with(|storage, cx| storage.done(cx, task, (tick, at), outcome));
    }

    /// Lists the root and takes the answer in.
    fn lists(&mut self, files: &[StorageFile]) {
        let asked = self.ask(Task::Walk(None));
        self.end(asked, listing(files));
    }

    /// Whether nothing is left, after all possible disk acts.
    fn is_settled(&mut self) -> bool {
        while let Some((_, task)) = self.with(|storage, cx| storage.next_disk(cx)) {
            self.cx.tick += 1;
            let tick = self.cx.tick;
            self.end((task, tick), Outcome::Disk(Ok(DiskReply::Finished)));
        }
        self.storage.summary(&self.cx.in_flight, self.cx.now).is_settled
    }

    fn request_queue(&self, id: &str) -> Option<stored::Decision> {
        let decision = self.storage.queue.requests.get(&file(id));
        decision.filter(|decision| *decision != stored::Decision::Confirm)
    }

    fn wants_list(&self) -> bool {
        let (now, since) = (self.cx.now, self.storage.lists.pass.unwrap().since);
        let due = |walk: &Walk| walk.due <= now && (walk.wanted.is_some() || walk.looked <= since);
        self.storage.lists.walks.get(&None).is_some_and(due)
    }
}

#[test]
fn news_in_a_list_is_not_lost_over_an_act_that_ends_while_it_is_under_way() {
    let check = |stamp: Stamp, act: Option<Task>, outcome: Outcome, acted_on: &str| {
        let mut play = Play::new(StorageMode::Backup, stamp);
        let list = play.ask(Task::Walk(None));
        if let Some(act) = act.clone() {
            let act = play.ask(act);
            play.end(act, outcome);
        }
        play.end(list, listing(&[shown("a", "two"), shown("b", "one")]));
        assert!(!play.is_settled(), "{act:?}, on {acted_on}");
        let told = play.storage.files[&file("a")].remote == shown("a", "two");
        assert!(told && play.request_queue("a") == Some(stored::Decision::Fetch), "{act:?}, on {acted_on}");
    };
    let finished = || Outcome::Disk(Ok(DiskReply::Finished));
    let hash = |id| Task::Hash { file: file(id), path: path(&format!("Storage/{id}.txt")) };
    let rename = |from: &str| Task::Rename { file: file("a"), from: path(from), to: path("Storage/a.txt") };
    check(AS_AGREED, None, finished(), "nothing");
    check(AS_AGREED, Some(hash("b")), hashed(AS_AGREED, "other"), "another file");
    check(AS_AGREED, Some(hash("a")), hashed(AS_AGREED, "first"), "the file");
    check(MOVED, Some(hash("a")), hashed(MOVED, "first"), "the file, which we had moved");
    check(AS_AGREED, Some(rename("Storage/before.txt")), finished(), "the file");
}

#[test]
fn a_disk_that_is_not_mounted_is_no_deletion() {
    let (b, elsewhere) = (("Storage/b.txt", AS_AGREED), Stamp { device: 2, ..AS_AGREED });
    let told = |play: &Play| {
        let told = play.told().into_iter().map(|item| format!("{}: {}", item.path, item.reason));
        told.filter(|line| line.contains("disk")).collect::<Vec<_>>()
    };
    let after_grace = |play: &mut Play, files: &[(&str, Stamp)]| {
        for _ in 0..2 {
            play.scan(files);
            play.cx.now = play.cx.now.plus_ms(play.cx.settings.pages.delete_grace_ms);
        }
        play.scan(files);
        // A dropped base is downloaded only then.
        for _ in 0..2 {
            play.is_settled();
        }
    };
    let begun = |mode| {
        let mut play = Play::new(mode, AS_AGREED);
        play.lists(&[shown("a", "one"), shown("b", "one")]);
        play
    };
    for (mode, goes) in
        [(StorageMode::Backup, stored::Decision::Fetch), (StorageMode::TwoWay, stored::Decision::TrashThere)]
    {
        let mut play = begun(mode);
        // The rest of its path is an empty folder of another disk.
        play.device = 3;
        after_grace(&mut play, &[]);
        assert_eq!((play.request_queue("a"), play.request_queue("b")), (None, None), "{mode:?}");
        let reason = "2 stored files that belong here cannot be read: their disk is not mounted";
        assert_eq!(told(&play), [format!("Storage: {reason}")]);
        // A general approval does not cover it.
        play.with(|storage, cx| storage.approve(cx, &[]));
        after_grace(&mut play, &[]);
        assert_eq!((play.request_queue("a"), play.request_queue("b")), (None, None), "{mode:?}");
        // Mounted again.
        play.device = 1;
        after_grace(&mut play, &[("Storage/a.txt", AS_AGREED), b]);
        assert_eq!((play.request_queue("a"), told(&play)), (None, Vec::new()), "{mode:?}");
        // And unmounted again, for good.
        play.device = 3;
        after_grace(&mut play, &[b]);
        play.with(|storage, cx| storage.approve(cx, &[path("Storage")]));
        after_grace(&mut play, &[b]);
        assert_eq!((play.request_queue("a"), play.request_queue("b")), (Some(goes), None), "{mode:?}");
        // A renumbered disk is the same disk: a missing file on it was deleted.
        let mut play = begun(mode);
        play.device = 2;
        after_grace(&mut play, &[("Storage/b.txt", elsewhere)]);
        assert_eq!((play.request_queue("a"), told(&play)), (Some(goes), Vec::new()), "{mode:?}");
    }
}

#[test]
fn a_list_from_before_our_own_change_is_followed_by_another() {
    let up = upload();
    let sent = || (Task::Upload(up.path.clone()), service(StorageReply::Uploaded(shown("new", "two"))));
    let trash = || (Task::Trash(file("a")), service(StorageReply::Trashed));
    let (a, b, new) = (|| shown("a", "one"), || shown("b", "one"), || shown("new", "two"));
    let check = |change: (Task, Outcome), list: &[StorageFile], again: bool| {
        let what = format!("{:?} {list:?}", change.0);
        let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
        play.storage.uploads.creations.begin(
            &mut play.cx.store,
            Upload { stamp: AS_AGREED, ..up.clone() },
            NOW,
        );
        let asked = play.ask(Task::Walk(None));
        let (task, outcome) = change;
        let is_upload = matches!(task, Task::Upload(_));
        let task = play.ask(task);
        play.end(task, outcome);
        if !is_upload {
            play.storage.uploads.creations.end(&mut play.cx.store, &up.path);
        }
        play.end(asked, listing(list));
        assert_eq!((play.is_settled(), play.wants_list()), (!again, again), "{what}");
        // A later list is believed, whatever it shows, and it is the last.
        let asked = play.ask(Task::Walk(None));
        let last: Vec<StorageFile> = if is_upload { vec![a(), b(), new()] } else { vec![b()] };
        play.end(asked, listing(&last));
        assert_eq!((play.is_settled(), play.wants_list()), (true, false), "after a younger one: {what}");
    };
    check(sent(), &[a(), b()], true);
    check(sent(), &[a(), b(), new()], true);
    check(trash(), &[a(), b()], true);
    check(trash(), &[b()], false);
}

#[test]
fn what_an_upload_replaced_goes_when_a_younger_list_shows_the_upload() {
    let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
    let asked = play.ask(Task::Walk(None));
    play.with(|storage, cx| {
        storage.edit_file(cx, &file("a"), |node| {
            node.base = None;
            node.replaced_by = Some(file("b"));
        })
    });
    // The state after the answer to an upload.
    play.cx.tick += 1;
    let tick = play.cx.tick;
    play.storage.runtime(&file("b")).acted = tick;
    play.storage.lists.walk_by(None, NOW, tick);
    play.end(asked, listing(&[shown("a", "one"), shown("b", "one")]));
    assert!(!play.is_settled() && play.request_queue("a").is_none() && play.wants_list());
    play.lists(&[shown("a", "one"), shown("b", "one")]);
    assert!(!play.is_settled());
    assert_eq!(play.request_queue("a"), Some(stored::Decision::TrashThere));
    // A read of the bytes on disk changes nothing.
    let hash = play.ask(Task::Hash { file: file("b"), path: path("Storage/b.txt") });
    play.end(hash, hashed(AS_AGREED, "first"));
    assert!(!play.is_settled());
    assert_eq!(play.request_queue("a"), Some(stored::Decision::TrashThere));
}

#[test]
fn a_folder_that_a_list_lacks_is_looked_for_once_more_in_the_same_pass() {
    let mut play = Play::new(StorageMode::Backup, AS_AGREED);
    let both = [shown("a", "one"), shown("b", "one")];
    let id = play.lists_docs(&both);
    let asked = play.ask(Task::Walk(Some(id.clone())));
    play.end(asked, listing(&[]));
    assert!(play.is_settled());
    play.lists(&both);
    assert!(!play.is_settled() && play.wants_list());
    assert!(play.storage.tree.folders.contains_key(&id));
    play.lists(&both);
    assert!(play.is_settled() && !play.wants_list());
    assert!(!play.storage.tree.folders.contains_key(&id), "gone from both lists, and empty");
}

#[test]
fn trouble_is_over_once_a_file_or_folder_gets_on() {
    let mut play = Play::new(StorageMode::Backup, AS_AGREED);
    let both = [shown("a", "one"), shown("b", "one")];
    play.lists(&both);
    assert!(play.is_settled());
    let rename = || Task::Rename { file: file("a"), from: path("Storage/x.txt"), to: path("Storage/a.txt") };
    let refused = || DiskError::Io(path("Storage/a.txt"), "not today".to_owned());
    let make = || Task::MakeFolder { folder: None, path: path("Storage") };
    for _ in 0..4 {
        for task in [rename(), make()] {
            let task = play.ask(task);
            play.end(task, Outcome::Disk(Err(refused())));
        }
    }
    let told = |play: &Play| play.told().len();
    assert_eq!(told(&play), 2);
    for task in [rename(), make()] {
        let task = play.ask(task);
        play.end(task, Outcome::Disk(Ok(DiskReply::Finished)));
    }
    assert_eq!(told(&play), 0);
}

#[test]
fn a_file_that_becomes_nobodys_is_listed_without_another_scan() {
    let edited = Stamp { size: 6, modified_ns: 30, ..MOVED };
    let check = |mode: StorageMode, list: &[StorageFile], gone: bool, expected: (&str, bool)| {
        let mut play = Play::new(mode, AS_AGREED);
        play.scan(&[("Storage/a.txt", edited), ("Storage/b.txt", AS_AGREED)]);
        play.lists(list);
        if gone {
            let id = file("a");
            play.with(|storage, cx| storage.edit_file(cx, &id, |node| node.seen = Seen::Gone));
        }
        play.is_settled();
        let listed: Vec<&str> = play.storage.uploads.local_only.keys().map(MirrorPath::name).collect();
        let sent = !play.storage.uploads.candidates.is_empty();
        let (start, up) = expected;
        assert!(listed.len() == 1 && listed[0].starts_with(start), "{mode:?} {gone}: {listed:?}");
        assert_eq!(sent, up, "{mode:?} {gone}: {listed:?}");
    };
    let renewed = [StorageFile { size: 9, ..shown("a", "two") }, shown("b", "one")];
    check(StorageMode::Backup, &renewed, false, ("a.conflict-", false));
    check(StorageMode::TwoWay, &renewed, false, ("a.conflict-", false));
    check(StorageMode::Backup, &renewed[1..], true, ("a.txt", false));
    check(StorageMode::TwoWay, &renewed[1..], true, ("a.txt", true));
}

#[test]
fn an_upload_goes_right_behind_a_list_and_not_when_that_shows_the_same_name() {
    let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
    let new = path("Storage/new.txt");
    play.storage
        .uploads
        .candidates
        .insert(new.clone(), send::Candidate::new(AS_AGREED, None, Timestamp::default()));
    let ready = send::Ready { path: new.clone(), stamp: AS_AGREED, bytes: b"first".to_vec() };
    play.storage.uploads.ready = Some(ready);
    let first = play.with(|storage, cx| storage.next_upload(cx)).map(|(_, task)| task);
    assert_eq!(first, Some(Task::Walk(None)));
    let list = play.ask(Task::Walk(None));
    assert!(play.with(|storage, cx| storage.next_upload(cx)).is_none(), "it waits for the list");
    play.end(list, listing(&[shown("a", "one"), shown("b", "one"), shown("new", "theirs")]));
    assert!(play.storage.is_awaited(&new), "it is compared first");
    assert!(play.with(|storage, cx| storage.next_upload(cx)).is_none());
    assert!(play.storage.uploads.creations.len() == 0 && play.storage.uploads.ready.is_none());
}

#[test]
fn a_file_that_lies_untouched_where_it_is_wanted_was_moved_there() {
    let there = "Storage/new name.txt";
    let check = |mode, stamp: Stamp, expected: bool| {
        let mut play = Play::new(mode, AS_AGREED);
        let renamed = StorageFile { filename: "new name.txt".to_owned(), ..shown("a", "one") };
        play.scan(&[(there, stamp), ("Storage/b.txt", AS_AGREED)]);
        play.lists(&[renamed, shown("b", "one")]);
        play.is_settled();
        let base = play.storage.files[&file("a")].base.clone().unwrap();
        let sent = play.storage.uploads.candidates.contains_key(&path(there));
        let moved = (base.path, base.stamp, sent) == (path(there), stamp, false);
        assert_eq!(moved, expected, "{mode:?} {stamp:?}");
    };
    for mode in [StorageMode::Backup, StorageMode::TwoWay] {
        check(mode, MOVED, true);
        check(mode, Stamp { modified_ns: 11, ..MOVED }, false);
        check(mode, Stamp { inode: 8, ..MOVED }, false);
    }
}

#[test]
fn what_was_replaced_is_a_file_again_when_its_replacement_is_gone_without_our_doing() {
    let check = |by_us: bool, wanted: Option<stored::Decision>| {
        let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
        play.with(|storage, cx| {
            storage.edit_file(cx, &file("a"), |node| {
                node.base = None;
                node.replaced_by = Some(file("b"));
            })
        });
        if by_us {
            let trash = play.ask(Task::Trash(file("b")));
            play.end(trash, service(StorageReply::Trashed));
        } else {
            play.with(|storage, cx| storage.forget_file(cx, &file("b")));
        }
        play.is_settled();
        assert_eq!(play.request_queue("a"), wanted, "{by_us}");
        // After a restart this is unknown.
        let mut again = Storage::open(&mut play.cx.store, &play.cx.settings, NOW).unwrap();
        assert_eq!(again.files.remove(&file("a")).unwrap().replaced_by, None);
    };
    check(false, Some(stored::Decision::Fetch));
    check(true, Some(stored::Decision::TrashThere));
}

/// An unconfirmed upload of `new.txt`, and the file of that name at the service.
fn lost_upload(play: &mut Play) -> Upload {
    let upload = upload();
    let own = Stamp { inode: 9, ..AS_AGREED };
    play.scan(&[("Storage/a.txt", AS_AGREED), ("Storage/b.txt", AS_AGREED), ("Storage/new.txt", own)]);
    play.storage.uploads.creations.begin(&mut play.cx.store, upload.clone(), NOW);
    upload
}

#[test]
fn another_file_of_the_same_name_and_size_is_fetched_once_and_ends_the_search_for_a_lost_upload() {
    let check = |content: &str, is_it: bool| {
        let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
        let upload = lost_upload(&mut play);
        let sent = play.ask(Task::Upload(upload.path.clone()));
        let lost = ServiceError::Lost("no answer".to_owned());
        play.end(sent, Outcome::Service(Err(lost)));
        let both = [shown("a", "one"), shown("b", "one"), shown("new", "theirs")];
        play.lists(&both);
        play.is_settled();
        assert_eq!(play.request_queue("new"), Some(stored::Decision::Fetch), "it is compared first");
        let attachment = AttachmentId::new("theirs").unwrap();
        let download = play.ask(Task::Download { file: file("new"), attachment, size: 5 });
        let hash = ContentHash::of(content.as_bytes());
        play.end(download, Outcome::Download(Ok(crate::model::Downloaded { hash })));
        assert_eq!(play.storage.uploads.creations.len() == 0, is_it, "{content}");
        play.cx.now = play.cx.now.plus_ms(60_000);
        play.lists(&both);
        assert_eq!(play.storage.uploads.creations.len() == 0, is_it, "{content}: one list proves nothing");
        play.cx.now = play.cx.now.plus_ms(15_000);
        play.lists(&both);
        assert!(play.storage.uploads.creations.len() == 0, "{content}: nothing else looks like it");
        play.with(|storage, cx| storage.next_act_on_files(cx));
        assert_eq!(play.request_queue("new"), None, "{content}: it is not fetched again");
    };
    check("newer", true);
    check("other", false);
}

#[test]
fn an_upload_that_the_service_cut_is_not_sent_again() {
    let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
    let upload = lost_upload(&mut play);
    let sent = play.ask(Task::Upload(upload.path.clone()));
    let cut = StorageFile { size: 3, ..shown("new", "cut") };
    play.end(sent, service(StorageReply::Uploaded(cut)));
    assert!(play.storage.uploads.creations.len() == 0);
    let told = |play: &Play| {
        play.storage.uploads.candidates[&upload.path].refused.clone().map(|unsent| unsent.to_string())
    };
    play.cx.now = play.cx.now.plus_ms(86_400_000);
    play.with(|storage, cx| storage.next_read(cx));
    assert_eq!(told(&play).as_deref(), Some("the service stored 3 bytes instead of 5"));
    play.with(|storage, cx| storage.approve(cx, &[]));
    play.with(|storage, cx| storage.judge_candidates(cx));
    assert_eq!(told(&play), None);
}

#[test]
fn a_file_that_came_back_while_it_was_trashed_is_sent_without_another_scan() {
    let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
    play.lists(&[shown("a", "one"), shown("b", "one")]);
    let trash = play.ask(Task::Trash(file("a")));
    play.end(trash, service(StorageReply::Trashed));
    play.is_settled();
    assert!(play.storage.uploads.candidates.contains_key(&path("Storage/a.txt")));
}

#[test]
fn what_was_taken_away_counts_for_the_guard_after_a_restart() {
    let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
    play.lists(&[shown("a", "one"), shown("b", "one")]);
    play.scan(&[("Storage/b.txt", AS_AGREED)]);
    play.cx.now = play.cx.now.plus_ms(play.cx.settings.pages.delete_grace_ms);
    play.scan(&[("Storage/b.txt", AS_AGREED)]);
    play.is_settled();
    play.lists(&[shown("a", "one"), shown("b", "one")]);
    play.is_settled();
    let next = play.with(|storage, cx| storage.next_trash(cx)).map(|(_, task)| task);
    assert_eq!(next, Some(Task::Trash(file("a"))));
    let count = |play: &mut Play, listed: bool| {
        let now = play.cx.now;
        let again = Deletions::open(&mut play.cx.store, |_, _| listed, now).unwrap();
        again.recent(Kind::StoredFile, |_| listed, now)
    };
    // The removal is unconfirmed: while the file is listed it counts as about to go, and after that as gone.
    assert_eq!((count(&mut play, true), count(&mut play, false)), (0, 1));
    let refused = ServiceError::Forbidden("not today".to_owned());
    let trash = play.ask(Task::Trash(file("a")));
    play.end(trash, Outcome::Service(Err(refused)));
    assert_eq!(count(&mut play, false), 0, "it is certainly there");
}
