//! Workspaces: `GET /workspaces`, and what membership means to every other area.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::http::{Answered, Refusal, ok, refuse};
use super::world::World;
use crate::model::WorkspaceId;

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceRecord {
    /// Its id.
    pub id: WorkspaceId,
    /// Its name.
    pub name: String,
    /// Its slug.
    pub slug: String,
    /// Its plan.
    pub plan: String,
    /// The caller's role; `viewer` may not write.
    pub role: String,
    /// Whether it refuses writes.
    pub frozen: bool,
    /// Whether the caller belongs to it.
    pub member: bool,
}

impl WorkspaceRecord {
    fn to_json(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "name": self.name,
            "slug": self.slug,
            "plan": self.plan,
            "role": self.role,
            "frozen": self.frozen,
        })
    }

    /// Whether the caller's role lets them write.
    pub(super) fn role_writes(&self) -> bool {
        self.role != "viewer"
    }
}

impl World {
    /// Adds a workspace that the caller owns.
    pub fn add_workspace(&mut self, name: &str, slug: &str) -> WorkspaceId {
        let id = WorkspaceId::new(&self.ids.uuid()).expect("a UUID is a usable id");
        self.workspaces.push(WorkspaceRecord {
            id: id.clone(),
            name: name.to_owned(),
            slug: slug.to_owned(),
            plan: "pro".to_owned(),
            role: "owner".to_owned(),
            frozen: false,
            member: true,
        });
        id
    }

    /// Every workspace, oldest first, whether the caller belongs to it or not.
    #[must_use]
    pub fn workspaces(&self) -> &[WorkspaceRecord] {
        &self.workspaces
    }

    /// A workspace that the caller belongs to.
    pub(super) fn membership(&self, id: &str) -> Option<&WorkspaceRecord> {
        self.workspaces.iter().find(|workspace| workspace.id.as_str() == id && workspace.member)
    }

    pub(super) fn workspace_mut(&mut self, id: &WorkspaceId) -> Option<&mut WorkspaceRecord> {
        self.workspaces.iter_mut().find(|workspace| workspace.id == *id)
    }

    /// Refuses a write to a frozen workspace; the status is one of [`super::Choices`].
    pub(super) fn refuse_if_frozen(&self, workspace: &WorkspaceRecord) -> Result<(), Refusal> {
        if workspace.frozen {
            return refuse(self.choices.frozen_write_status, "The workspace is frozen");
        }
        Ok(())
    }

    /// `GET /workspaces`.
    pub(super) fn list_workspaces(&self) -> Answered {
        ok(self
            .workspaces
            .iter()
            .filter(|workspace| workspace.member)
            .map(WorkspaceRecord::to_json)
            .collect())
    }
}
