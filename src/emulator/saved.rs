//! A world as bytes, so that a demo goes on where it ended. It holds what users see and what decides over new ids; limits, bad
//! luck, logs, the token and the app's key belong to one run and are set again.

use serde::{Deserialize, Serialize};

use super::canvas::{PresentationRecord, WhiteboardRecord};
use super::pages::PageRecord;
use super::rng::Rng;
use super::storage::{FileRecord, FolderRecord};
use super::workspaces::WorkspaceRecord;
use super::world::World;

/// Counts up when a field changes its meaning or its name.
const FORMAT: u32 = 1;

/// Why bytes are no world.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// They are damaged.
    #[error("it is damaged ({0})")]
    Damaged(#[from] serde_json::Error),
    /// They are of another version.
    #[error("another version of espejo wrote it")]
    OtherVersion,
}

/// Read first: the rest of another format may look different.
#[derive(Deserialize)]
struct Head {
    format: u32,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    format: u32,
    /// How many steps the colleagues have made.
    steps: u64,
    ids: Rng,
    caller: String,
    pages_made: u64,
    canvases_made: u64,
    uploads: u64,
    workspaces: Vec<WorkspaceRecord>,
    pages: Vec<PageRecord>,
    whiteboards: Vec<WhiteboardRecord>,
    presentations: Vec<PresentationRecord>,
    folders: Vec<FolderRecord>,
    files: Vec<FileRecord>,
}

impl World {
    /// This world as bytes, with the number of steps that the colleagues have made.
    ///
    /// # Errors
    /// When a part of it cannot be written as JSON, which no part of a world is known to do.
    pub fn to_saved(&self, steps: u64) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Saved {
            format: FORMAT,
            steps,
            ids: self.ids.clone(),
            caller: self.caller.clone(),
            pages_made: self.pages_made,
            canvases_made: self.canvases_made,
            uploads: self.storage.uploads,
            workspaces: self.workspaces.clone(),
            pages: self.pages.values().cloned().collect(),
            whiteboards: self.whiteboards.values().cloned().collect(),
            presentations: self.presentations.values().cloned().collect(),
            folders: self.storage.folders.values().cloned().collect(),
            files: self.storage.files.values().cloned().collect(),
        })
    }

    /// The world that [`World::to_saved`] wrote, and the number of steps.
    ///
    /// # Errors
    /// When the bytes are damaged or of another version.
    pub fn from_saved(bytes: &[u8]) -> Result<(Self, u64), Unusable> {
        if read::<Head>(bytes)?.format != FORMAT {
            return Err(Unusable::OtherVersion);
        }
        let saved: Saved = read(bytes)?;
        let mut world = Self::new(0);
        world.ids = saved.ids;
        world.caller = saved.caller;
        world.pages_made = saved.pages_made;
        world.canvases_made = saved.canvases_made;
        world.workspaces = saved.workspaces;
        world.pages = saved.pages.into_iter().map(|page| (page.id.clone(), page)).collect();
        world.whiteboards = saved.whiteboards.into_iter().map(|board| (board.id.clone(), board)).collect();
        world.presentations = saved.presentations.into_iter().map(|deck| (deck.id.clone(), deck)).collect();
        world.storage.uploads = saved.uploads;
        world.storage.folders = saved.folders.into_iter().map(|folder| (folder.id.clone(), folder)).collect();
        world.storage.files = saved.files.into_iter().map(|file| (file.id.clone(), file)).collect();
        Ok((world, saved.steps))
    }
}

/// Blocks may be nested deeper than the reader's usual limit.
fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Bytes in JSON: a text a third longer instead of a list of numbers.
pub(super) mod base64_text {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(in crate::emulator) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&BASE64_STANDARD.encode(bytes))
    }

    pub(in crate::emulator) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        BASE64_STANDARD.decode(String::deserialize(from)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Contents, sample};
    use super::*;

    #[test]
    fn a_saved_world_goes_on_as_if_nothing_had_happened() {
        let mut world = sample::world(3);
        for n in 0..30 {
            sample::colleague_step(&mut world, n);
        }
        let space = world.workspaces()[0].id.clone();
        let odd =
            vec![json!({ "id": "n", "zeta": 1.0, "alpha": 123_456_789_012_345_678_901_234_567_890_u128 })];
        let trashed = world.app_create(&space, None, "Gone", odd);
        world.app_trash(&trashed);
        world.app_put_file(None, "bytes.bin", Contents::Bytes(vec![0, 255, 10]));
        let (mut again, steps) = World::from_saved(&world.to_saved(30).unwrap()).unwrap();
        assert_eq!(steps, 30);
        assert_eq!(again.to_saved(30).unwrap(), world.to_saved(30).unwrap());
        assert!(again.pages().eq(world.pages()) && again.storage_files().eq(world.storage_files()));
        assert_eq!(again.app_state(), world.app_state());
        for n in steps..steps + 30 {
            assert_eq!(sample::colleague_step(&mut again, n), sample::colleague_step(&mut world, n));
        }
        assert!(again.pages().eq(world.pages()), "new ids are the same, too");
    }

    #[test]
    fn what_is_no_world_is_refused() {
        let bytes = sample::world(3).to_saved(0).unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        let refused = |bytes: &[u8]| World::from_saved(bytes).unwrap_err().to_string();
        assert!(refused(&bytes[..bytes.len() / 2]).starts_with("it is damaged"));
        assert!(refused(b"").starts_with("it is damaged"));
        let newer = text.replacen("\"format\":1", "\"format\":2", 1);
        assert_eq!(refused(newer.as_bytes()), "another version of espejo wrote it");
    }

    #[test]
    fn blocks_nested_deeper_than_usual_are_read_again() {
        let mut block = json!({ "id": "end", "children": [] });
        for _ in 0..200 {
            block = json!({ "id": "n", "children": [block] });
        }
        let mut world = World::new(1);
        let space = world.add_workspace("Team", "team");
        world.app_create(&space, None, "Deep", vec![block]);
        let (again, _) = World::from_saved(&world.to_saved(0).unwrap()).unwrap();
        assert!(again.pages().eq(world.pages()));
    }
}
