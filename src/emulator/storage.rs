//! Personal file storage: the four endpoints under `/storage`, with every rule that the API document has for them, and
//! what a user does to it in the app. The bytes behind a signed link are `downloads`'; what may be uploaded is
//! `uploads`'.
//!
//! Where the document is silent: a folder in the trash takes its files and folders with it; the words of a refusal; 3 MB
//! are 3 × 1024 × 1024 bytes; a taken name is taken again (no endpoint renames, so two files may share one); an upload
//! into a frozen workspace, or by a viewer, is one that "may not upload files in that workspace"; a file that the caller
//! may not see is as one that does not exist; an id that is no UUID is 400 for DELETE and for an upload's folder, which the
//! document says so of, and 404 elsewhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::downloads::Contents;
use super::http::{Answered, Refusal, created, object, ok, parameter, refuse};
use super::uploads;
use super::world::World;
use crate::model::{FileId, FolderId, Timestamp, WorkspaceId};

/// How long a signed link is good for, in seconds (API document, "Limits").
pub(super) const LINK_SECONDS: i64 = 600;

/// A folder of the caller's storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FolderRecord {
    /// Its id.
    pub id: FolderId,
    /// The folder it is in; `None` at the root.
    pub parent: Option<FolderId>,
    /// Its name.
    pub name: String,
    /// Its order among its siblings.
    pub position: f64,
    /// Whether it was put into the trash itself.
    pub trashed: bool,
    /// Whether it is not the caller's (any more).
    pub foreign: bool,
}

/// A file of the caller's storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its id.
    pub id: FileId,
    /// The folder it is in; `None` at the root.
    pub folder: Option<FolderId>,
    /// What it holds now, by id: another one when it was replaced in the app.
    pub attachment: String,
    /// Its name.
    pub filename: String,
    /// Its type.
    pub mime_type: String,
    /// Its order among its siblings.
    pub position: f64,
    /// What it holds; `None` for a file without stored content.
    pub contents: Option<Contents>,
    /// A `size_bytes` that is not true, where one is told.
    pub told_size: Option<u64>,
    /// Whether it was put into the trash itself.
    pub trashed: bool,
    /// Whether it is not the caller's (any more).
    pub foreign: bool,
    /// How many uploads came before it; `None` for a file that was made in the app.
    pub uploaded: Option<u64>,
}

impl FileRecord {
    /// Its size, as the service tells it.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.told_size.unwrap_or_else(|| self.contents.as_ref().map_or(0, Contents::len))
    }

    /// What it holds.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.contents.as_ref().map_or_else(Vec::new, |contents| contents.slice(0, contents.len()))
    }
}

/// The caller's storage.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Storage {
    pub(super) folders: BTreeMap<FolderId, FolderRecord>,
    pub(super) files: BTreeMap<FileId, FileRecord>,
    /// What the plan allows, in bytes.
    pub(super) room: Option<u64>,
    pub(super) uploads: u64,
    /// Where signed links point to: the server's own address.
    pub(super) origin: String,
}

impl World {
    /// Every folder, in the trash or not, by id.
    pub fn storage_folders(&self) -> impl Iterator<Item = &FolderRecord> {
        self.storage.folders.values()
    }

    /// Every file, in the trash or not, by id.
    pub fn storage_files(&self) -> impl Iterator<Item = &FileRecord> {
        self.storage.files.values()
    }

    /// A file, in the trash or not.
    #[must_use]
    pub fn storage_file(&self, id: &FileId) -> Option<&FileRecord> {
        self.storage.files.get(id)
    }

    /// Whether a file is where the caller sees it: neither it nor a folder around it is in the trash or belongs to another user.
    #[must_use]
    pub fn storage_shows(&self, id: &FileId) -> bool {
        self.storage
            .files
            .get(id)
            .is_some_and(|file| !file.trashed && !file.foreign && self.shows_folder(file.folder.as_ref()))
    }

    /// The plan takes no more than this many bytes of files in all; `None` for no end.
    pub fn set_storage_room(&mut self, bytes: Option<u64>) {
        self.storage.room = bytes;
    }

    /// A user makes a folder in the app.
    pub fn app_make_folder(&mut self, parent: Option<&FolderId>, name: &str) -> FolderId {
        let id = FolderId::new(&self.ids.uuid()).expect("a UUID is a usable id");
        let position = self.next_position(parent);
        let (parent, name) = (parent.cloned(), name.to_owned());
        let folder = FolderRecord { id: id.clone(), parent, name, position, trashed: false, foreign: false };
        self.storage.folders.insert(id.clone(), folder);
        id
    }

    /// A user puts a file there in the app, which takes any name and size.
    pub fn app_put_file(&mut self, folder: Option<&FolderId>, filename: &str, contents: Contents) -> FileId {
        self.insert_file(folder, filename, uploads::mime_type(filename, None), contents)
    }

    fn insert_file(
        &mut self,
        folder: Option<&FolderId>,
        filename: &str,
        mime_type: String,
        contents: Contents,
    ) -> FileId {
        let id = FileId::new(&self.ids.uuid()).expect("a UUID is a usable id");
        let file = FileRecord {
            id: id.clone(),
            folder: folder.cloned(),
            attachment: self.ids.uuid(),
            filename: filename.to_owned(),
            mime_type,
            position: self.next_position(folder),
            contents: Some(contents),
            told_size: None,
            trashed: false,
            foreign: false,
            uploaded: None,
        };
        self.storage.files.insert(id.clone(), file);
        id
    }

    /// A user replaces what a file holds: it gets another attachment.
    pub fn app_replace_file(&mut self, id: &FileId, contents: Contents) -> bool {
        let attachment = self.ids.uuid();
        self.change_file(id, |file| {
            file.attachment = attachment;
            file.contents = Some(contents);
        })
    }

    /// A user changes a file in any way: its name, its folder, its trash.
    pub fn app_change_file(&mut self, id: &FileId, act: impl FnOnce(&mut FileRecord)) -> bool {
        self.change_file(id, act)
    }

    /// A user changes a folder in any way.
    pub fn app_change_folder(&mut self, id: &FolderId, act: impl FnOnce(&mut FolderRecord)) -> bool {
        self.storage.folders.get_mut(id).map(act).is_some()
    }

    fn change_file(&mut self, id: &FileId, act: impl FnOnce(&mut FileRecord)) -> bool {
        self.storage.files.get_mut(id).map(act).is_some()
    }

    fn next_position(&self, folder: Option<&FolderId>) -> f64 {
        let files = self.storage.files.values().filter(|file| file.folder.as_ref() == folder);
        let folders = self.storage.folders.values().filter(|inner| inner.parent.as_ref() == folder);
        files.map(|file| file.position).chain(folders.map(|inner| inner.position)).fold(0.0, f64::max) + 1.0
    }

    pub(super) fn shows_folder(&self, folder: Option<&FolderId>) -> bool {
        let mut at = folder;
        // More levels than there are folders would be a loop.
        for _ in 0..=self.storage.folders.len() {
            let Some(id) = at else { return true };
            match self.storage.folders.get(id) {
                Some(folder) if !folder.trashed && !folder.foreign => at = folder.parent.as_ref(),
                _ => return false,
            }
        }
        false
    }

    /// `GET /storage`.
    pub(super) fn list_storage(&self, query: &str) -> Answered {
        let folder = match parameter(query, "folder_id").map(|id| FolderId::new(&id)) {
            None => None,
            Some(Ok(id)) => Some(id),
            Some(Err(_)) => return ok(json!({ "folders": [], "files": [] })),
        };
        if !self.shows_folder(folder.as_ref()) {
            return ok(json!({ "folders": [], "files": [] }));
        }
        let mut folders: Vec<&FolderRecord> = self.storage.folders.values().collect();
        folders.retain(|inner| inner.parent == folder && !inner.trashed && !inner.foreign);
        folders.sort_by(|a, b| a.position.total_cmp(&b.position));
        let mut files: Vec<&FileRecord> = self.storage.files.values().collect();
        files.retain(|file| file.folder == folder && !file.trashed && !file.foreign);
        files.sort_by(|a, b| a.position.total_cmp(&b.position));
        let folders: Vec<Value> = folders.into_iter().map(folder_json).collect();
        let files: Vec<Value> = files.into_iter().map(|file| file_json(file, true)).collect();
        ok(json!({ "folders": folders, "files": files }))
    }

    /// `GET /storage/:id`.
    pub(super) fn get_storage_file(&self, id: &str, now: Timestamp) -> Answered {
        let file = self.shown_file(id).filter(|file| file.contents.is_some());
        let Some(file) = file else { return refuse(404, "File not found") };
        let mut value = file_json(file, false);
        value["download_url"] = json!(self.signed_link(file, now));
        value["expires_in_seconds"] = json!(LINK_SECONDS);
        ok(value)
    }

    /// `POST /storage`.
    pub(super) fn upload_file(&mut self, body: &[u8]) -> Answered {
        let body = object(body)?;
        let text = |key: &str| match body.get(key) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text.as_str()),
            _ => refuse(400, format!("{key} is required")),
        };
        let workspace = text("workspace_id")?;
        let filename = uploads::cleaned(text("filename")?);
        let content = match body.get("content_base64") {
            // An empty file is an empty text.
            Some(Value::String(text)) => text,
            _ => return refuse(400, "content_base64 is required"),
        };
        let folder = match body.get("folder_id") {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) if is_uuid(id) => match FolderId::new(id) {
                Ok(id) => Some(id),
                Err(_) => return refuse(400, "folder_id is not a valid id"),
            },
            Some(_) => return refuse(400, "folder_id is not a valid id"),
        };
        let bytes = uploads::decoded(content)?;
        if bytes.len() > uploads::MOST {
            return refuse(413, "The file is over 3 MB");
        }
        uploads::check_name(&filename)?;
        if folder.is_some() && !self.shows_folder(folder.as_ref()) {
            return refuse(404, "Folder not found");
        }
        let may = self.membership(workspace).is_some_and(|space| space.role_writes() && !space.frozen);
        if WorkspaceId::new(workspace).is_err() || !may {
            return refuse(400, "You may not upload files in that workspace");
        }
        let used: u64 = self.storage.files.values().map(FileRecord::size).sum();
        if self.storage.room.is_some_and(|room| used + bytes.len() as u64 > room) {
            return refuse(400, "The file does not fit the plan's storage");
        }
        let declared = body.get("mime_type").and_then(Value::as_str);
        let mime = uploads::mime_type(&filename, declared);
        let id = self.insert_file(folder.as_ref(), &filename, mime, Contents::Bytes(bytes));
        self.storage.uploads += 1;
        let count = self.storage.uploads;
        self.change_file(&id, |file| file.uploaded = Some(count));
        created(file_json(&self.storage.files[&id], true))
    }

    /// `DELETE /storage/:id`.
    pub(super) fn trash_file(&mut self, id: &str) -> Answered {
        if !is_uuid(id) {
            return refuse(400, "The file id is not valid");
        }
        let Some(id) = self.shown_file(id).map(|file| file.id.clone()) else {
            return refuse(404, "File not found");
        };
        self.change_file(&id, |file| file.trashed = true);
        ok(json!({ "id": id.as_str(), "papelera": true }))
    }

    fn shown_file(&self, id: &str) -> Option<&FileRecord> {
        let id = FileId::new(id).ok()?;
        self.storage.files.get(&id).filter(|_| self.storage_shows(&id))
    }
}

fn is_uuid(id: &str) -> bool {
    id.len() == 36 && uuid::Uuid::try_parse(id).is_ok()
}

fn folder_json(folder: &FolderRecord) -> Value {
    json!({
        "id": folder.id.as_str(),
        "parent_folder_id": folder.parent.as_ref().map(FolderId::as_str),
        "name": folder.name,
        "position": folder.position,
    })
}

/// A file as a listing shows it; without its position, as the single-file answer does.
fn file_json(file: &FileRecord, listed: bool) -> Value {
    let mut value = json!({
        "id": file.id.as_str(),
        "folder_id": file.folder.as_ref().map(FolderId::as_str),
        "attachment_id": file.attachment,
    });
    if listed {
        value["position"] = json!(file.position);
    }
    value["filename"] = json!(file.filename);
    value["mime_type"] = json!(file.mime_type);
    value["size_bytes"] = json!(file.size());
    value
}

/// Refusals are shared with `uploads`.
pub(super) type Checked = Result<(), Refusal>;

#[cfg(test)]
#[path = "storage_tests.rs"]
mod tests;
