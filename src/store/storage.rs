//! Rows of personal storage: folders, files, unconfirmed uploads, and local files that the service does not have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use rusqlite::{Row, params};

use super::rows::{col, number, path, poll_of, rest_of, shared, stamp_of, table, upsert};
use super::{Polled, Store, StoreError};
use crate::model::{
    AttachmentId, ContentHash, FileId, FileNode, FolderId, FolderNode, LocalOnly, MirrorPath, Seen,
    StorageFile, StorageFolder, StoredFile, Timestamp, Upload,
};

/// Personal storage at the last commit.
#[derive(Debug, Default)]
pub struct StoredStorage {
    /// Folders by id.
    pub folders: BTreeMap<FolderId, FolderNode>,
    /// Files by id.
    pub files: BTreeMap<FileId, FileNode>,
    /// Local files that are being uploaded.
    pub uploads: BTreeSet<MirrorPath>,
    /// Local files that the service does not have, by path.
    pub local_only: BTreeMap<MirrorPath, LocalOnly>,
    /// Local files that came back with an older copy of the folder, and the change time of each, in nanoseconds.
    pub returned: BTreeMap<MirrorPath, i64>,
}

/// A row of stored files, by its key.
#[derive(Debug, Clone, Copy)]
pub enum StoredRow<'a> {
    /// What [`Store::save_storage_folder`] wrote.
    Folder(&'a FolderId),
    /// What [`Store::save_storage_file`] wrote.
    File(&'a FileId),
    /// What [`Store::save_local_only`] wrote.
    LocalOnly(&'a MirrorPath),
    /// What [`Store::save_returned`] wrote.
    Returned(&'a MirrorPath),
}

static SAVE_FILE: LazyLock<String> = LazyLock::new(|| {
    upsert(
        "storage_files",
        "id folder attachment filename size position seen seen_at stem replaced_by approved base_attachment \
    base_size base_hash base_path device inode stamp_size modified changed born rest racy",
    )
});

impl Store {
    /// Reads all of storage.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn load_storage(&mut self) -> Result<StoredStorage, StoreError> {
        if let Some(loaded) = self.checked.storage.take() {
            return Ok(loaded);
        }
        let db = &self.db;
        // A folder's id is in memory once for all files in it.
        let mut holding = BTreeSet::new();
        let mut loaded = StoredStorage {
            folders: table(db, "SELECT * FROM storage_folders", folder_of, |node| node.remote.id.clone())?,
            files: table(
                db,
                "SELECT * FROM storage_files",
                |row| file_of(row, &mut holding),
                |node| node.remote.id.clone(),
            )?,
            uploads: self.creations::<Upload>()?.into_iter().map(|creation| creation.draft.path).collect(),
            ..StoredStorage::default()
        };
        let mut query = self.db.prepare_cached("SELECT path, size, why FROM storage_local")?;
        let rows = query.query_and_then([], |row| {
            let (size, why): (i64, String) = (row.get(1)?, row.get(2)?);
            Ok::<_, StoreError>(LocalOnly {
                path: path(&row.get::<_, String>(0)?)?,
                size: size.unsigned_abs(),
                why: serde_json::from_str(&why).map_err(|_| StoreError::Row("local file"))?,
            })
        })?;
        for row in rows {
            let item = row?;
            loaded.local_only.insert(item.path.clone(), item);
        }
        let mut query = self.db.prepare_cached("SELECT path, changed FROM storage_returned")?;
        let rows = query
            .query_and_then([], |row| Ok::<_, StoreError>((path(&row.get::<_, String>(0)?)?, row.get(1)?)))?;
        for row in rows {
            let (path, changed) = row?;
            loaded.returned.insert(path, changed);
        }
        // If a list shows a file unchanged, only its folder's row is written.
        let StoredStorage { folders, files, .. } = &mut loaded;
        for node in files.values_mut().filter(|node| node.seen == Seen::Listed) {
            let listed = node.remote.folder.as_ref().and_then(|id| folders.get(id));
            node.seen_at = node.seen_at.max(listed.map_or(node.seen_at, |folder| folder.poll.last));
        }
        Ok(loaded)
    }

    /// Writes one folder.
    pub fn save_storage_folder(&mut self, node: &FolderNode) {
        self.save_no_poll(Polled::Folder(&node.remote.id));
        self.write(
            "INSERT OR REPLACE INTO storage_folders VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)",
            params![
                node.remote.id.as_str(),
                node.remote.parent.as_ref().map(FolderId::as_str),
                node.remote.name,
                node.remote.position,
                node.listed,
                node.stem,
                node.at.as_ref().map(MirrorPath::as_str),
                node.approved,
                node.poll.last.0,
                node.poll.life.0,
                node.poll.changes,
                node.poll.changes_at.0,
                node.poll.gap_ms,
            ],
        );
    }

    /// Writes one file.
    pub fn save_storage_file(&mut self, node: &FileNode) {
        let base = node.base.as_ref();
        let stamp = base.map(|base| <[i64; 6]>::from(base.stamp));
        let part = |i: usize| stamp.map(|stamp| stamp[i]);
        self.write(
            &SAVE_FILE,
            params![
                node.remote.id.as_str(),
                node.remote.folder.as_ref().map(FolderId::as_str),
                node.remote.attachment.as_str(),
                node.remote.filename,
                number(node.remote.size),
                node.remote.position,
                seen_number(node.seen),
                node.seen_at.0,
                node.stem,
                node.replaced_by.as_ref().map(FileId::as_str),
                node.approved,
                base.map(|base| base.attachment.as_str()),
                base.map(|base| number(base.size)),
                base.map(|base| base.hash.0),
                base.map(|base| base.path.as_str()),
                part(0),
                part(1),
                part(2),
                part(3),
                part(4),
                part(5),
                node.remote.rest.text(),
                base.is_some_and(|base| base.racy),
            ],
        );
    }

    /// Deletes a row of stored files.
    pub fn delete_stored(&mut self, row: StoredRow<'_>) {
        let (sql, key) = match row {
            StoredRow::Folder(id) => ("DELETE FROM storage_folders WHERE id = ?1", id.as_str()),
            StoredRow::File(id) => ("DELETE FROM storage_files WHERE id = ?1", id.as_str()),
            StoredRow::LocalOnly(path) => ("DELETE FROM storage_local WHERE path = ?1", path.as_str()),
            StoredRow::Returned(path) => ("DELETE FROM storage_returned WHERE path = ?1", path.as_str()),
        };
        self.write(sql, [key]);
    }

    /// Stores a local file that the service does not have.
    pub fn save_local_only(&mut self, item: &LocalOnly) {
        let why = serde_json::to_string(&item.why).map_err(|_| StoreError::Row("local file"));
        let Some(why) = self.keep_error(why) else { return };
        self.write(
            "INSERT OR REPLACE INTO storage_local VALUES (?1,?2,?3)",
            params![item.path.as_str(), number(item.size), why],
        );
    }

    /// Stores a local file that came back with an older copy of the folder.
    pub fn save_returned(&mut self, path: &MirrorPath, changed_ns: i64) {
        self.write(
            "INSERT OR REPLACE INTO storage_returned VALUES (?1,?2)",
            params![path.as_str(), changed_ns],
        );
    }
}

fn seen_number(seen: Seen) -> i64 {
    match seen {
        Seen::Listed => 0,
        Seen::Unlisted => 1,
        Seen::Gone => 2,
    }
}

fn folder_id(text: &str) -> Result<FolderId, StoreError> {
    FolderId::new(text).map_err(|_| StoreError::Row("storage folder"))
}

fn file_id(text: &str) -> Result<FileId, StoreError> {
    FileId::new(text).map_err(|_| StoreError::Row("storage file"))
}

fn optional<T>(
    row: &Row<'_>,
    column: usize,
    read: impl Fn(&str) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    row.get::<_, Option<String>>(column)?.as_deref().map(read).transpose()
}

fn content_hash(row: &Row<'_>, column: usize) -> Result<ContentHash, StoreError> {
    ContentHash::from_slice(&row.get::<_, Vec<u8>>(column)?).ok_or(StoreError::Row("hash"))
}

fn folder_of(row: &Row<'_>) -> Result<FolderNode, StoreError> {
    Ok(FolderNode {
        remote: StorageFolder {
            id: folder_id(&row.get::<_, String>(col!(row, "id"))?)?,
            parent: optional(row, col!(row, "parent"), folder_id)?,
            name: row.get(col!(row, "name"))?,
            position: row.get(col!(row, "position"))?,
        },
        listed: row.get(col!(row, "listed"))?,
        stem: row.get(col!(row, "stem"))?,
        at: optional(row, col!(row, "at"), path)?,
        approved: row.get(col!(row, "approved"))?,
        poll: poll_of(row)?,
    })
}

fn file_of(row: &Row<'_>, folders: &mut BTreeSet<FolderId>) -> Result<FileNode, StoreError> {
    let attachment = |column: usize| {
        AttachmentId::new(&row.get::<_, String>(column)?).map_err(|_| StoreError::Row("storage file"))
    };
    let shown = attachment(col!(row, "attachment"))?;
    let base = match optional(row, col!(row, "base_path"), path)? {
        None => None,
        Some(path) => Some(StoredFile {
            // Mostly the file is as the service shows it.
            attachment: Some(attachment(col!(row, "base_attachment"))?)
                .filter(|own| *own != shown)
                .unwrap_or_else(|| shown.clone()),
            size: row.get::<_, i64>(col!(row, "base_size"))?.unsigned_abs(),
            hash: content_hash(row, col!(row, "base_hash"))?,
            path,
            stamp: stamp_of(row, col!(row, "stamp_size"))?,
            racy: row.get(col!(row, "racy"))?,
        }),
    };
    Ok(FileNode {
        remote: StorageFile {
            id: file_id(&row.get::<_, String>(col!(row, "id"))?)?,
            folder: shared(folders, row, col!(row, "folder"), folder_id)?,
            attachment: shown,
            filename: row.get(col!(row, "filename"))?,
            size: row.get::<_, i64>(col!(row, "size"))?.unsigned_abs(),
            position: row.get(col!(row, "position"))?,
            rest: rest_of(row)?,
        },
        seen: match row.get::<_, i64>(col!(row, "seen"))? {
            0 => Seen::Listed,
            1 => Seen::Unlisted,
            2 => Seen::Gone,
            _ => return Err(StoreError::Row("storage file")),
        },
        seen_at: Timestamp(row.get(col!(row, "seen_at"))?),
        stem: row.get(col!(row, "stem"))?,
        base,
        replaced_by: optional(row, col!(row, "replaced_by"), file_id)?,
        approved: row.get(col!(row, "approved"))?,
    })
}
