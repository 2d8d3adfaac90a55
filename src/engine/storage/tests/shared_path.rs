//! Two stored files that had one path here, one after the other.

use super::local::Local;
use super::*;

/// `a` and `b` with the base path of `a`, and `b` with other bytes than `a`; only `a` is there.
fn shared() -> Play {
    let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
    let base = |node: &mut FileNode, inode, bytes: &[u8]| {
        let base = node.base.as_mut().unwrap();
        base.path = path("Storage/a.txt");
        base.stamp.inode = inode;
        base.hash = ContentHash::of(bytes);
    };
    base(play.storage.files.get_mut(&file("b")).unwrap(), 8, b"other");
    base(play.storage.files.get_mut(&file("a")).unwrap(), AS_AGREED.inode, b"first");
    play.scan(&[("Storage/a.txt", AS_AGREED)]);
    assert_eq!(play.local("a"), Local::Same);
    assert!(play.local("b").is_missing());
    play
}

impl Play {
    fn local(&self, id: &str) -> Local {
        self.storage.of(&file(id)).local
    }

    /// The file that a local file is to replace; `None` if it is not to be sent.
    fn replaced(&self) -> Option<&FileId> {
        self.storage.uploads.candidates.get(&path("Storage/a.txt"))?.replaces.as_ref()
    }

    fn hashes(&mut self, id: &str, stamp: Stamp, text: &str) {
        let hash = self.ask(Task::Hash { file: file(id), path: path("Storage/a.txt") });
        self.end(hash, hashed(stamp, text));
        self.with(|storage, cx| storage.next_disk(cx));
    }
}

#[test]
fn an_edit_is_of_the_one_that_did_not_leave() {
    let mut play = shared();
    play.scan(&[("Storage/a.txt", Stamp { size: 6, ..MOVED })]);
    assert!(play.local("b").is_missing());
    assert_eq!(play.replaced(), Some(&file("a")));
}

#[test]
fn what_comes_back_is_the_one_whose_bytes_it_has() {
    for (same, other, text) in [("a", "b", "first"), ("b", "a", "other")] {
        for order in [[same, other], [other, same]] {
            let mut play = shared();
            play.scan(&[]);
            let stamp = Stamp { inode: 9, ..MOVED };
            play.scan(&[("Storage/a.txt", stamp)]);
            order.into_iter().for_each(|id| play.hashes(id, stamp, text));
            assert_eq!(play.local(same), Local::Same, "{order:?}");
            assert_eq!(play.replaced(), None, "{order:?}: it is taken for an edit of {other}");
        }
    }
}
