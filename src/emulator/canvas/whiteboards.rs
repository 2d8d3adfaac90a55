//! Whiteboards: the seven endpoints under `/whiteboards`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::check_ids;
use super::elements::{self, Sent};
use crate::emulator::http::{Answered, HttpResponse, created, object, ok, parameter, refuse};
use crate::emulator::workspaces::WorkspaceRecord;
use crate::emulator::world::World;
use crate::model::{BoardId, WorkspaceId};

/// A whiteboard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WhiteboardRecord {
    /// Its id.
    pub id: BoardId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// Its name.
    pub name: String,
    /// Its elements by age, each as the document describes it but for `whiteboard_id`.
    pub elements: Vec<Value>,
    /// Whether it is in the trash.
    pub trashed: bool,
    /// Whether the caller may not see it.
    pub hidden: bool,
    /// How many whiteboards were made before it.
    pub serial: u64,
}

impl WhiteboardRecord {
    fn to_json(&self, creator: &str) -> Value {
        json!({
            "id": self.id.as_str(),
            "workspace_id": self.workspace.as_str(),
            "name": self.name,
            "created_by": creator,
        })
    }
}

impl World {
    /// Every whiteboard there is, in the trash or not, by id.
    pub fn whiteboards(&self) -> impl Iterator<Item = &WhiteboardRecord> {
        self.whiteboards.values()
    }

    /// A whiteboard, in the trash or not.
    #[must_use]
    pub fn whiteboard(&self, id: &BoardId) -> Option<&WhiteboardRecord> {
        self.whiteboards.get(id)
    }

    pub(super) fn insert_whiteboard(&mut self, workspace: &WorkspaceId, name: &str) -> BoardId {
        let id = BoardId::new(&self.ids.uuid()).expect("a UUID is a usable id");
        let record = WhiteboardRecord {
            id: id.clone(),
            workspace: workspace.clone(),
            name: if name.is_empty() { "Whiteboard".to_owned() } else { name.to_owned() },
            elements: Vec::new(),
            trashed: false,
            hidden: false,
            serial: self.canvases_made,
        };
        self.canvases_made += 1;
        self.whiteboards.insert(id.clone(), record);
        id
    }

    /// `GET /whiteboards`.
    pub(super) fn list_whiteboards(&self, query: &str) -> Answered {
        let Some(workspace) = parameter(query, "workspace_id") else {
            return refuse(400, "workspace_id is required");
        };
        let mut boards: Vec<&WhiteboardRecord> = self
            .whiteboards
            .values()
            .filter(|board| board.workspace.as_str() == workspace && self.shows_board(board).is_some())
            .collect();
        boards.sort_by_key(|board| board.serial);
        ok(boards.into_iter().map(|board| board.to_json(&self.caller)).collect())
    }

    /// `POST /whiteboards`.
    pub(super) fn create_whiteboard(&mut self, body: &[u8]) -> Answered {
        let body = object(body)?;
        let workspace = match body.get("workspace_id") {
            Some(Value::String(id)) if !id.is_empty() => id,
            _ => return refuse(400, "workspace_id is required"),
        };
        let name = match body.get("name") {
            None | Some(Value::Null) => "",
            Some(Value::String(name)) => name,
            Some(_) => return refuse(400, "name must be a string"),
        };
        let Some(space) = self.membership(workspace).filter(|space| space.role_writes()) else {
            return refuse(400, "The whiteboard could not be created there");
        };
        self.refuse_if_frozen(space)?;
        let id = self.insert_whiteboard(&space.id.clone(), name);
        created(self.whiteboards[&id].to_json(&self.caller))
    }

    /// `DELETE /whiteboards/:id`.
    pub(super) fn trash_whiteboard(&mut self, id: &str) -> Answered {
        check_ids(&[id])?;
        let Some((board, space)) = self.shown_board(id) else {
            return refuse(404, "Whiteboard not found");
        };
        if !space.role_writes() {
            return refuse(403, "Your role does not allow trashing it");
        }
        self.refuse_if_frozen(space)?;
        let id = board.id.clone();
        if let Some(board) = self.whiteboards.get_mut(&id) {
            board.trashed = true;
        }
        ok(json!({ "id": id.as_str(), "papelera": true }))
    }

    /// `GET /whiteboards/:id/elements`.
    pub(super) fn list_board_elements(&self, id: &str) -> Answered {
        let Some((board, _)) = self.shown_board(id) else { return ok(json!([])) };
        let shown = |element| elements::shown(element, "whiteboard_id", id);
        ok(elements::in_order(&board.elements).into_iter().map(shown).collect())
    }

    /// `POST /whiteboards/:id/elements`.
    pub(super) fn create_board_element(&mut self, id: &str, body: &[u8]) -> Answered {
        let body = object(body)?;
        let kind = match body.get("type").and_then(Value::as_str) {
            Some(kind @ ("sticky" | "text" | "rectangle" | "ellipse")) => kind.to_owned(),
            _ => return refuse(400, "type must be one of sticky, text, rectangle, ellipse"),
        };
        let sent = Sent::read(&body)?;
        let Some((board, space)) = self.shown_board(id).filter(|(_, space)| space.role_writes()) else {
            return refuse(400, "The element could not be created");
        };
        self.refuse_if_frozen(space)?;
        let board = board.id.clone();
        let element = sent.into_element(&self.ids.uuid(), &kind, [0, 0, 200, 200], 0);
        let answer = elements::shown(&element, "whiteboard_id", id);
        if let Some(board) = self.whiteboards.get_mut(&board) {
            board.elements.push(element);
        }
        created(answer)
    }

    /// `PATCH /whiteboards/:id/elements/:elementId`.
    pub(super) fn update_board_element(&mut self, id: &str, element: &str, body: &[u8]) -> Answered {
        check_ids(&[id, element])?;
        let sent = elements::read_update(&object(body)?)?;
        let found = self.board_element(id, element)?;
        if sent.content.is_some() && !elements::has_text(found) {
            return Ok(not_editable());
        }
        elements::update(found, sent);
        ok(elements::shown(found, "whiteboard_id", id))
    }

    /// `DELETE /whiteboards/:id/elements/:elementId`.
    pub(super) fn delete_board_element(&mut self, id: &str, element: &str) -> Answered {
        check_ids(&[id, element])?;
        self.board_element(id, element)?;
        if let Some(board) = BoardId::new(id).ok().and_then(|id| self.whiteboards.get_mut(&id)) {
            board.elements.retain(|held| held["id"] != element);
        }
        ok(json!({ "id": element, "papelera": false }))
    }

    /// An element that the caller may change.
    fn board_element(
        &mut self,
        id: &str,
        element: &str,
    ) -> Result<&mut Value, crate::emulator::http::Refusal> {
        let found = self.shown_board(id).filter(|(_, space)| space.role_writes());
        let Some((board, space)) = found else { return refuse(404, "Element not found") };
        self.refuse_if_frozen(space)?;
        let board = board.id.clone();
        let elements = self.whiteboards.get_mut(&board).map(|board| &mut board.elements);
        match elements.and_then(|all| all.iter_mut().find(|held| held["id"] == element)) {
            Some(found) => Ok(found),
            None => refuse(404, "Element not found"),
        }
    }

    /// The whiteboards that the caller sees in a workspace, with their names, oldest first.
    pub(in crate::emulator) fn boards_of(
        &self,
        workspace: &WorkspaceId,
    ) -> impl Iterator<Item = (&BoardId, &str)> {
        let mut boards: Vec<&WhiteboardRecord> = self
            .whiteboards
            .values()
            .filter(|board| board.workspace == *workspace && self.shows_board(board).is_some())
            .collect();
        boards.sort_by_key(|board| board.serial);
        boards.into_iter().map(|board| (&board.id, board.name.as_str()))
    }

    fn shown_board(&self, id: &str) -> Option<(&WhiteboardRecord, &WorkspaceRecord)> {
        let board = self.whiteboards.get(&BoardId::new(id).ok()?)?;
        Some((board, self.shows_board(board)?))
    }

    fn shows_board(&self, board: &WhiteboardRecord) -> Option<&WorkspaceRecord> {
        let space = self.membership(board.workspace.as_str())?;
        (!board.trashed && !board.hidden).then_some(space)
    }
}

/// 400 with a code beside the words.
pub(super) fn not_editable() -> HttpResponse {
    let words = "This element has no editable text";
    HttpResponse::json(400, &json!({ "error": words, "code": elements::NOT_EDITABLE }))
}
