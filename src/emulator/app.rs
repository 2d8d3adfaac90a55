//! What a user does in the app while espejo looks on: nothing here costs a request or is logged.
//!
//! Each act says whether it could be done.

use serde_json::Value;

use super::world::World;
use crate::model::{Blocks, PageId, WorkspaceId};

impl World {
    /// A user makes a page, last among its siblings; an empty title becomes the default title.
    pub fn app_create(
        &mut self,
        workspace: &WorkspaceId,
        parent: Option<&PageId>,
        title: &str,
        content: Blocks,
    ) -> PageId {
        self.insert_page(workspace, parent.cloned(), title, content)
    }

    /// A user's editor saves this content: the new one, or an old one that it still had open.
    pub fn app_edit(&mut self, page: &PageId, content: Blocks) -> bool {
        self.change(page, |page| page.content = content)
    }

    /// A user renames a page.
    pub fn app_rename(&mut self, page: &PageId, title: &str) -> bool {
        self.change(page, |page| title.clone_into(&mut page.title))
    }

    /// A user moves a page with its subpages within its workspace; refused when it would come to lie under itself
    /// or under a page that is not there.
    pub fn app_move(&mut self, page: &PageId, parent: Option<&PageId>, position: f64) -> bool {
        if let Some(parent) = parent {
            let workspace = self.pages.get(page).map(|page| &page.workspace);
            let fits = self
                .pages
                .get(parent)
                .is_some_and(|parent| parent.trashed.is_none() && Some(&parent.workspace) == workspace);
            if !fits || self.subtree(page).contains(parent) {
                return false;
            }
        }
        self.change(page, |page| {
            page.parent = parent.cloned();
            page.position = position;
        })
    }

    /// A user sets or removes a page's emoji.
    pub fn app_set_icon(&mut self, page: &PageId, icon: Option<&str>) -> bool {
        self.change(page, |page| page.icon = icon.map(str::to_owned))
    }

    /// A user makes a dashboard of a page, or an ordinary page again.
    pub fn app_set_nevera(&mut self, page: &PageId, nevera: Option<Value>) -> bool {
        self.change(page, |page| page.nevera = nevera)
    }

    /// A user moves a page with its subpages to the trash.
    pub fn app_trash(&mut self, page: &PageId) -> bool {
        let active = self.pages.get(page).is_some_and(|page| page.trashed.is_none());
        if active {
            self.put_in_trash(page);
        }
        active
    }

    /// A user takes a page out of the trash, with the subpages that went there with it; at the top of its workspace
    /// when the page above it is not active.
    pub fn app_restore(&mut self, page: &PageId) -> bool {
        if self.pages.get(page).is_none_or(|page| page.trashed.is_none()) {
            return false;
        }
        let parent = self.pages.get(page).and_then(|page| page.parent.clone());
        let orphan = parent.is_some_and(|up| self.pages.get(&up).is_none_or(|up| up.trashed.is_some()));
        for id in self.subtree(page) {
            if let Some(page) = self.pages.get_mut(&id) {
                page.trashed = None;
            }
        }
        if orphan && let Some(page) = self.pages.get_mut(page) {
            page.parent = None;
        }
        true
    }

    /// A user deletes a page in the trash for good, with the subpages that went there with it.
    pub fn app_purge(&mut self, page: &PageId) -> bool {
        let trashed = self.pages.get(page).is_some_and(|page| page.trashed.is_some());
        if trashed {
            for id in self.subtree(page) {
                self.pages.remove(&id);
            }
        }
        trashed
    }

    /// A user takes a page and its subpages from the caller's sight, or gives them back.
    pub fn app_hide(&mut self, page: &PageId, hidden: bool) -> bool {
        let ids = self.subtree(page);
        for id in &ids {
            if let Some(page) = self.pages.get_mut(id) {
                page.hidden = hidden;
            }
        }
        !ids.is_empty()
    }

    /// The list of another workspace shows a page, too; `None` ends it.
    pub fn app_list_also(&mut self, page: &PageId, workspace: Option<&WorkspaceId>) -> bool {
        self.change(page, |page| page.also_in = workspace.cloned())
    }

    /// A page goes to another workspace.
    pub fn app_transfer(&mut self, page: &PageId, workspace: &WorkspaceId) -> bool {
        self.change(page, |page| (page.workspace, page.parent) = (workspace.clone(), None))
    }

    /// The workspace is frozen, or thawed.
    pub fn app_freeze_workspace(&mut self, workspace: &WorkspaceId, frozen: bool) -> bool {
        self.workspace_mut(workspace).map(|workspace| workspace.frozen = frozen).is_some()
    }

    /// A user takes the caller out of a workspace: it leaves the list, its pages list empty and answer 404.
    pub fn app_leave_workspace(&mut self, workspace: &WorkspaceId) -> bool {
        self.workspace_mut(workspace).map(|workspace| workspace.member = false).is_some()
    }

    /// A user lets the caller in again.
    pub fn app_rejoin(&mut self, workspace: &WorkspaceId) -> bool {
        self.workspace_mut(workspace).map(|workspace| workspace.member = true).is_some()
    }

    /// A user gives the caller another role; `viewer` may not write.
    pub fn app_set_role(&mut self, workspace: &WorkspaceId, role: &str) -> bool {
        self.workspace_mut(workspace).map(|workspace| role.clone_into(&mut workspace.role)).is_some()
    }

    /// A user renames a workspace.
    pub fn app_rename_workspace(&mut self, workspace: &WorkspaceId, name: &str) -> bool {
        self.workspace_mut(workspace).map(|workspace| name.clone_into(&mut workspace.name)).is_some()
    }

    /// The slug of a workspace changes.
    pub fn app_set_slug(&mut self, workspace: &WorkspaceId, slug: &str) -> bool {
        self.workspace_mut(workspace).map(|workspace| slug.clone_into(&mut workspace.slug)).is_some()
    }

    /// Changes an active page.
    fn change(&mut self, page: &PageId, act: impl FnOnce(&mut super::PageRecord)) -> bool {
        self.pages.get_mut(page).filter(|page| page.trashed.is_none()).map(act).is_some()
    }
}
