//! What the app's page shows, as one JSON value.

use serde_json::{Value, json};

use crate::emulator::pages::PageRecord;
use crate::emulator::workspaces::WorkspaceRecord;
use crate::emulator::world::World;
use crate::model::{CanvasId, PageId};

impl World {
    /// Everything that the page shows, in the service's order:
    /// `{ workspaces: [{ id, name, pages: [{ id, parent, title, icon, content }], trash: [{ id, title, icon }],
    /// boards: [{ id, name, elements }] }], decks: [{ id, name, width, height, slides: [{ id, background, elements }] }],
    /// storage: { folders: [{ id, parent, name }], files: [{ id, folder, name, size, attachment }] } }`.
    #[must_use]
    pub fn app_state(&self) -> Value {
        let member = self.workspaces.iter().filter(|workspace| workspace.member);
        let workspaces: Vec<Value> = member.map(|workspace| self.workspace_state(workspace)).collect();
        json!({ "workspaces": workspaces, "decks": self.decks_state(), "storage": self.storage_state() })
    }

    fn workspace_state(&self, workspace: &WorkspaceRecord) -> Value {
        let page = |page: &PageRecord| {
            json!({
                "id": page.id.as_str(),
                "parent": page.parent.as_ref().map(PageId::as_str),
                "title": page.title,
                "icon": page.icon,
                "content": page.content,
            })
        };
        let pages: Vec<Value> = self.visible_pages(&workspace.id).into_iter().map(page).collect();
        let boards: Vec<Value> = self
            .boards_of(&workspace.id)
            .map(|(board, name)| {
                let elements = self.elements_of(&CanvasId::Board(board.clone()));
                json!({ "id": board.as_str(), "name": name, "elements": elements })
            })
            .collect();
        let mut trash: Vec<&PageRecord> = self.pages().filter(|page| self.is_top_of_trash(page)).collect();
        trash.retain(|page| page.workspace == workspace.id);
        trash.sort_by_key(|page| page.serial);
        let trash: Vec<Value> = trash
            .into_iter()
            .map(|page| json!({ "id": page.id.as_str(), "title": page.title, "icon": page.icon }))
            .collect();
        json!({
            "id": workspace.id.as_str(), "name": workspace.name, "pages": pages, "trash": trash, "boards": boards
        })
    }

    /// Whether a page can be restored by itself: the page above it did not go to the trash with it.
    fn is_top_of_trash(&self, page: &PageRecord) -> bool {
        let above = page.parent.as_ref().and_then(|parent| self.page(parent));
        page.trashed.is_some() && !page.hidden && above.is_none_or(|above| above.trashed != page.trashed)
    }

    fn decks_state(&self) -> Vec<Value> {
        let mut decks: Vec<_> = self.presentations().filter(|deck| !deck.trashed && !deck.hidden).collect();
        decks.sort_by_key(|deck| deck.serial);
        let state = |deck: &crate::emulator::PresentationRecord| {
            let slides: Vec<Value> = deck
                .slides
                .iter()
                .map(|slide| {
                    json!({
                        "id": slide.id.as_str(), "background": slide.background, "elements": slide.elements
                    })
                })
                .collect();
            json!({
                "id": deck.id.as_str(), "name": deck.name, "width": deck.width, "height": deck.height, "slides": slides
            })
        };
        decks.into_iter().map(state).collect()
    }

    fn storage_state(&self) -> Value {
        let folders = self.storage_folders().filter(|folder| self.shows_folder(Some(&folder.id)));
        let folders: Vec<Value> = folders
            .map(|folder| {
                let parent = folder.parent.as_ref().map(crate::model::FolderId::as_str);
                json!({ "id": folder.id.as_str(), "parent": parent, "name": folder.name })
            })
            .collect();
        let files = self.storage_files().filter(|file| self.storage_shows(&file.id));
        let files: Vec<Value> = files
            .map(|file| {
                let folder = file.folder.as_ref().map(crate::model::FolderId::as_str);
                json!({
                    "id": file.id.as_str(),
                    "folder": folder,
                    "name": file.filename,
                    "size": file.size(),
                    "attachment": file.attachment,
                })
            })
            .collect();
        json!({ "folders": folders, "files": files })
    }
}
