//! The trees without what is plainly in step, for `diff`: most pages of most mirrors are, and reading all of them costs more
//! than looking at all of their files.

use rusqlite::Connection;

use super::rows::{Loaded, Pool, file_of, hash, page_of, path, stamp_of, table, workspace_of};
use super::{ReadOnly, StoreError};
use crate::model::{ContentHash, MirrorPath, Node, Stamp};

/// The last column: whether the page has an agreed text, at the path where it was agreed, and its file says no more.
const PAGES: &str = "SELECT id, base_path, base_text, base_body IS NOT NULL AND base_text IS NOT NULL
    AND file IS base_path AND id NOT IN (SELECT page FROM says_more) FROM pages";
/// The last column: whether the stamp vouches for the hash. One that was seen right after the write does where the file system's
/// clock is fine ([`Stamp::is_coarse`]): then no other write has the same times.
const FILES: &str = "SELECT path, hash, device, inode, size, modified, changed, born,
    (NOT racy OR changed % 10000000 <> 0) AND hash IS NOT NULL AND page IS NOT NULL FROM files ORDER BY path";
/// Searches for so many rows cost less than reading all.
const FEW: usize = 200;

impl ReadOnly {
    /// The trees without each page whose file has the agreed path and text, says no more than the page, and still has the
    /// stamp with which it was read, by `has_stamp`. It is asked in the order of the paths. The file of such a page is left
    /// out too. If much differs, nothing is left out.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn load_differing(
        &mut self,
        has_stamp: impl FnMut(&MirrorPath, Stamp) -> bool,
    ) -> Result<Loaded, StoreError> {
        match differing(&self.store().db, has_stamp)? {
            Some(loaded) => Ok(loaded),
            None => self.load(),
        }
    }
}

/// Whether the file of a canvas or a stored file is not known to hold what was agreed, or has another stamp now, by `has_stamp`.
///
/// # Errors
/// [`StoreError`] when a row cannot be read.
pub fn has_differing_items(
    state: &ReadOnly,
    mut has_stamp: impl FnMut(&MirrorPath, Stamp) -> bool,
) -> Result<bool, StoreError> {
    let sql = "SELECT file, stamp, hash IS NOT base_text FROM items
        WHERE file IS NOT NULL AND kind <> 'folder' ORDER BY file";
    let mut query = state.store().db.prepare_cached(sql)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let (file, stamp): (String, String) = (row.get(0)?, row.get(1)?);
        let stamp: Option<Stamp> = serde_json::from_str(&stamp).ok();
        let is_seen = stamp.is_some_and(|stamp| path(&file).is_ok_and(|file| has_stamp(&file, stamp)));
        if row.get::<_, bool>(2)? || !is_seen {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `None` if the pages in sync matter too: much differs, or the place of a missing file may be another page's by now.
fn differing(
    db: &Connection,
    mut has_stamp: impl FnMut(&MirrorPath, Stamp) -> bool,
) -> Result<Option<Loaded>, StoreError> {
    let mut settled: Vec<(String, ContentHash, String)> = Vec::new();
    let (mut pages, mut files): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut query = db.prepare_cached(PAGES)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        if row.get(3)? {
            settled.push((row.get(1)?, hash(row, 2)?, row.get(0)?));
        } else {
            pages.push(row.get(0)?);
        }
    }
    settled.sort();
    // Both are in the order of their paths.
    let mut settled = settled.into_iter().peekable();
    let mut in_step: Vec<String> = Vec::new();
    let mut query = db.prepare_cached(FILES)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(0)?.as_str().map_err(|_| StoreError::Row("path"))?;
        while let Some((_, _, id)) = settled.next_if(|(path, ..)| path.as_str() < text) {
            pages.push(id);
        }
        let is_agreed = |agreed: &ContentHash| hash(row, 1).is_ok_and(|hash| hash == *agreed);
        let is_in_step = match settled.peek() {
            Some((there, agreed, _)) if there == text => {
                row.get(8)? && is_agreed(agreed) && has_stamp(&path(text)?, stamp_of(row, 4)?)
            }
            _ => false,
        };
        if is_in_step {
            in_step.extend(settled.next().map(|(path, ..)| path));
        } else {
            files.push(text.to_owned());
        }
    }
    pages.extend(settled.map(|(_, _, id)| id));
    if pages.len() + files.len() > FEW {
        return Ok(None);
    }
    let mut pool = Pool::default();
    let workspaces = table(db, "SELECT * FROM workspaces", workspace_of, |node| node.seen.id.clone())?;
    let mut loaded = Loaded { workspaces, ..Loaded::default() };
    for id in pages {
        let mut query = db.prepare_cached("SELECT * FROM pages WHERE id = ?1")?;
        for node in query.query_and_then([id], |row| page_of(row, &mut pool))? {
            let node = node?;
            loaded.pages.insert(node.id.clone(), node);
        }
    }
    for path in files {
        let mut query = db.prepare_cached("SELECT * FROM files WHERE path = ?1")?;
        for file in query.query_and_then([path], |row| file_of(row, &mut pool))? {
            let file = file?;
            loaded.files.insert(file.path.clone(), file);
        }
    }
    let is_taken = |node: &Node| {
        let was = node.base.as_ref().filter(|_| node.file.is_none());
        was.is_some_and(|base| in_step.binary_search_by(|path| path.as_str().cmp(base.path.as_str())).is_ok())
    };
    Ok(if loaded.pages.values().any(is_taken) { None } else { Some(loaded) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Agreed, LocalFile, PageId, PollState, Presence, RemotePage, Timestamp, WorkspaceId};
    use crate::store::Store;

    fn stamp(inode: u64) -> Stamp {
        Stamp { inode, ..Stamp::default() }
    }

    /// A page whose file is in step, with its number as the inode.
    fn keep(store: &mut Store, number: u64, change: impl FnOnce(&mut Node, &mut LocalFile)) {
        let id = PageId::new(&format!("page-{number}")).unwrap();
        let path = MirrorPath::new(&format!("Team/Pages/{number}.md")).unwrap();
        let text = ContentHash::of(id.as_str().as_bytes());
        let remote = RemotePage {
            parent: None,
            title: "".into(),
            icon: None,
            position: 0.0,
            presence: Presence::Listed,
            body: Some(text),
        };
        let workspace = WorkspaceId::new("team").unwrap();
        let mut node = Node::new(id.clone(), workspace, remote, Timestamp(0), PollState::default());
        node.base = Some(Agreed {
            parent: None,
            title: "".into(),
            icon: None,
            body: text,
            text: Some(text),
            front_title: None,
            path: path.clone(),
            folder_at: None,
        });
        node.file = Some(path.clone());
        let mut file = LocalFile {
            path,
            page: Some(id),
            stamp: stamp(number),
            hash: Some(text),
            claims: None,
            copied_from_page: None,
            front_title: None,
            problem: None,
            racy: false,
        };
        change(&mut node, &mut file);
        store.save_page(&node);
        if node.file.is_some() {
            store.save_file(&file);
        }
    }

    fn differ(store: &Store) -> Option<Vec<String>> {
        // The file of the third page was changed.
        let has_stamp = |_: &MirrorPath, known: Stamp| known != stamp(3);
        let loaded = differing(&store.db, has_stamp).unwrap()?;
        let files: Vec<&str> = loaded.files.keys().map(MirrorPath::as_str).collect();
        let of_pages = loaded.pages.values().filter_map(|node| Some(node.file.as_ref()?.as_str()));
        assert_eq!(files, of_pages.collect::<Vec<_>>());
        Some(loaded.pages.into_keys().map(|id| id.to_string()).collect())
    }

    #[test]
    fn only_what_is_in_step_is_left_out() {
        let mut store = Store::in_memory().unwrap();
        keep(&mut store, 1, |_, _| {});
        keep(&mut store, 2, |_, file| file.racy = true);
        keep(&mut store, 3, |_, _| {});
        keep(&mut store, 4, |_, file| file.hash = Some(ContentHash::of(b"an edit")));
        keep(&mut store, 5, |node, _| {
            node.base.as_mut().unwrap().path = MirrorPath::new("Team/Pages/0.md").unwrap()
        });
        keep(&mut store, 6, |_, _| {});
        store.set_says_more(&PageId::new("page-6").unwrap(), true);
        keep(&mut store, 7, |node, _| node.file = None);
        let expected = ["page-2", "page-3", "page-4", "page-5", "page-6", "page-7"];
        assert_eq!(differ(&store), Some(expected.map(ToOwned::to_owned).to_vec()));
        // The first page's file is where the file of the eighth was.
        keep(&mut store, 8, |node, _| {
            node.file = None;
            node.base.as_mut().unwrap().path = MirrorPath::new("Team/Pages/1.md").unwrap();
        });
        assert_eq!(differ(&store), None);
    }
}
