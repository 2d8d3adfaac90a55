//! Personal storage on the wire: the four requests under `/storage` and their answers (API document, "Personal file
//! storage"). Pure. The bytes behind a signed link are `download`'s.

use base64::Engine;
use serde::Serialize;
use serde_json::{Map, Value};

use super::entry::{Why, garbled, kind, object, optional, text};
use super::wire::WireRequest;
use crate::model::{
    AttachmentId, FileId, FolderId, Link, Rest, ServiceError, ServiceReply, StorageEffect, StorageFile,
    StorageFolder, StorageListing, StorageReply, parts,
};

/// What a link is good for when the answer does not say (API document, "Limits").
const LINK_SECONDS: f64 = 600.0;

/// What is read of a file; its link, which only one answer has and which is a secret, is not to be kept either.
const FILE_FIELDS: [&str; 8] = [
    "id",
    "folder_id",
    "attachment_id",
    "filename",
    "size_bytes",
    "position",
    "download_url",
    "expires_in_seconds",
];

/// The body of an upload, written without a second copy of the file.
#[derive(Serialize)]
struct UploadBody<'a> {
    workspace_id: &'a str,
    filename: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder_id: Option<&'a str>,
    content_base64: String,
}

/// The request that performs an effect; `None` when the effect is no request.
pub(super) fn request_of(effect: &StorageEffect) -> Option<WireRequest> {
    let plain = |method, path: String, query: String| Some(WireRequest { method, path, query, body: None });
    match effect {
        StorageEffect::List(folder) => {
            let query = folder.as_ref().map_or_else(String::new, |id| format!("folder_id={id}"));
            plain("GET", "/storage".to_owned(), query)
        }
        StorageEffect::AskLink(id) => plain("GET", format!("/storage/{id}"), String::new()),
        StorageEffect::Trash(id) => plain("DELETE", format!("/storage/{id}"), String::new()),
        StorageEffect::Upload { workspace, folder, filename, bytes } => {
            let body = UploadBody {
                workspace_id: workspace.as_str(),
                filename,
                folder_id: folder.as_ref().map(FolderId::as_str),
                content_base64: base64::engine::general_purpose::STANDARD.encode(bytes),
            };
            // Texts only: there is nothing in it that JSON could not say.
            let body = serde_json::to_vec(&body).ok()?;
            Some(WireRequest {
                method: "POST",
                path: "/storage".to_owned(),
                query: String::new(),
                body: Some(body),
            })
        }
        _ => None,
    }
}

/// What the `data` of an answer says.
pub(super) fn read(effect: &StorageEffect, data: &[u8]) -> Result<ServiceReply, ServiceError> {
    let reply = match effect {
        StorageEffect::List(folder) => StorageReply::Listing(listing(data, folder.as_ref())?),
        StorageEffect::AskLink(id) => link(data, id)?,
        StorageEffect::Upload { .. } => {
            let file = object(data).and_then(|map| file(&map));
            StorageReply::Uploaded(file.map_err(|why| garbled(format!("the uploaded file {why}")))?)
        }
        StorageEffect::Trash(id) => trashed(data, id)?,
        _ => return Err(garbled("it does not belong to the request".to_owned())),
    };
    Ok(ServiceReply::Storage(reply))
}

fn listing(data: &[u8], folder: Option<&FolderId>) -> Result<StorageListing, ServiceError> {
    let members = match parts::members(data) {
        Some(Ok(members)) => members,
        _ => return Err(garbled("the folder's “data” is not an object".to_owned())),
    };
    let list = |key: &str| {
        let found = members.iter().rev().find(|(name, _)| name == key).map(|(_, part)| *part);
        match found.and_then(parts::elements) {
            Some(Ok(elements)) => Ok(elements),
            _ => Err(garbled(format!("the folder has no list of {key}"))),
        }
    };
    let mut listing = StorageListing::default();
    let mut seen = std::collections::BTreeSet::new();
    for (index, part) in list("folders")?.into_iter().enumerate() {
        let read = object(part).and_then(|map| self::folder(&map)).and_then(|inner| {
            at_home(inner.parent.as_ref(), folder)?;
            once(&mut seen, inner.id.as_str())?;
            Ok(inner)
        });
        match read {
            Ok(inner) => listing.folders.push(inner),
            Err(why) => listing.skipped.push(format!("folder {} of the list {why}", index + 1)),
        }
    }
    for (index, part) in list("files")?.into_iter().enumerate() {
        let read = object(part).and_then(|map| file(&map)).and_then(|file| {
            at_home(file.folder.as_ref(), folder)?;
            once(&mut seen, file.id.as_str())?;
            Ok(file)
        });
        match read {
            Ok(file) => listing.files.push(file),
            Err(why) => listing.skipped.push(format!("file {} of the list {why}", index + 1)),
        }
    }
    Ok(listing)
}

fn at_home(told: Option<&FolderId>, asked: Option<&FolderId>) -> Result<(), Why> {
    if told == asked { Ok(()) } else { Err("says that it is in another folder".to_owned()) }
}

fn once(seen: &mut std::collections::BTreeSet<String>, id: &str) -> Result<(), Why> {
    if seen.insert(id.to_owned()) { Ok(()) } else { Err(format!("has the id of an entry before it ({id})")) }
}

/// Nothing of this answer may be repeated in an error: it holds the link.
fn link(data: &[u8], id: &FileId) -> Result<StorageReply, ServiceError> {
    let complain = |why: &str| garbled(format!("file {id} {why}"));
    let map = object(data).map_err(|_| complain("is not a valid object"))?;
    let file = file(&map).map_err(|_| complain("has an invalid description"))?;
    if file.id != *id {
        return Err(complain("was requested, but another file came"));
    }
    let Some(Value::String(address)) = map.get("download_url") else {
        return Err(complain("has no download_url"));
    };
    let seconds = map.get("expires_in_seconds").and_then(Value::as_f64).unwrap_or(LINK_SECONDS);
    #[expect(clippy::cast_possible_truncation, reason = "clamped to a day")]
    let good_for_ms = (seconds.clamp(0.0, 86_400.0) * 1_000.0) as i64;
    Ok(StorageReply::Link { file, link: Link::new(address.clone()), good_for_ms })
}

fn trashed(data: &[u8], id: &FileId) -> Result<StorageReply, ServiceError> {
    let map = object(data).map_err(|why| garbled(format!("the result of trashing {id} {why}")))?;
    match map.get("id") {
        Some(Value::String(told)) if told == id.as_str() => Ok(StorageReply::Trashed),
        _ => Err(garbled(format!("the result of trashing {id} is not about that file"))),
    }
}

fn folder(map: &Map<String, Value>) -> Result<StorageFolder, Why> {
    let unusable = |bad: crate::model::BadId| format!("has an id that cannot be used: {:?}", bad.0);
    Ok(StorageFolder {
        id: FolderId::new(text(map, "id")?).map_err(unusable)?,
        parent: optional(map, "parent_folder_id")?.map(FolderId::new).transpose().map_err(unusable)?,
        name: text(map, "name")?.to_owned(),
        position: position(map)?,
    })
}

fn file(map: &Map<String, Value>) -> Result<StorageFile, Why> {
    let unusable = |bad: crate::model::BadId| format!("has an id that cannot be used: {:?}", bad.0);
    Ok(StorageFile {
        id: FileId::new(text(map, "id")?).map_err(unusable)?,
        folder: optional(map, "folder_id")?.map(FolderId::new).transpose().map_err(unusable)?,
        attachment: AttachmentId::new(text(map, "attachment_id")?).map_err(unusable)?,
        filename: text(map, "filename")?.to_owned(),
        size: size(map)?,
        position: position(map)?,
        rest: Rest::of(map, &FILE_FIELDS),
    })
}

fn size(map: &Map<String, Value>) -> Result<u64, Why> {
    match map.get("size_bytes") {
        Some(Value::Number(number)) => match (number.as_u64(), number.as_f64()) {
            (Some(size), _) => Ok(size),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole, not negative, and below 2^53"
            )]
            (None, Some(size)) if size.fract() == 0.0 && (0.0..9e15).contains(&size) => Ok(size as u64),
            _ => Err("has an invalid size_bytes".to_owned()),
        },
        Some(other) => Err(format!("has {} as its size_bytes", kind(other))),
        None => Err("has no size_bytes".to_owned()),
    }
}

fn position(map: &Map<String, Value>) -> Result<f64, Why> {
    match map.get("position") {
        None | Some(Value::Null) => Ok(0.0),
        Some(Value::Number(number)) => Ok(number.as_f64().unwrap_or(0.0)),
        Some(other) => Err(format!("has {} as its position", kind(other))),
    }
}
