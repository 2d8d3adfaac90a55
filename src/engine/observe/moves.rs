//! Moves files and folders to where they belong, and updates the base of their places afterwards.

use crate::engine::state::folder::SCAN_AT_LATEST_MS;
use crate::engine::state::trees::in_base;
use crate::engine::state::{Context, Pages, Purpose, Trees, Watching, Way};
use crate::model::{Code, Effect, LocalFile, MirrorPath, Moves, Node, PageId, folder_of};
use crate::store::StoreError;

type Choice = Option<(Effect, Purpose)>;

impl Pages {
    pub(crate) fn relocated(
        &mut self,
        page: &PageId,
        from: &MirrorPath,
        to: &MirrorPath,
        reverts_move: bool,
        watch: &mut Watching,
        cx: &mut Context,
    ) {
        self.rename_file(from, to, watch, cx);
        self.trees.moved_was(page, from, reverts_move, cx);
        self.trees.folders.extend(to.parent());
        let Some(file) = self.trees.files.get(to).cloned() else { return };
        self.settle_place(page, &file, Some(from), cx);
        self.mark_all_dirty();
        if reverts_move {
            cx.log_activity(Way::Aside, to, format!("moved back from {from}: the service cannot move pages"));
            let mend = match cx.settings.pages.moves {
                Moves::PutBack => "move it in the app, or set moves = \"recreate\" in [pages]",
                Moves::Recreate => "move it in the app: a page with subpages is not recreated elsewhere",
            };
            let why = format!(
                "it was moved to {from} and has been moved back: the service's API cannot move pages"
            );
            cx.notice(Code::PutBack, to.as_str(), why, mend);
        } else {
            cx.log_activity(Way::Down, to, format!("renamed from {from}"));
        }
        if let Some(folder) = from.parent() {
            self.trees.tidy_folder(&folder, cx);
        }
    }

    pub(crate) fn folder_moved(
        &mut self,
        page: &PageId,
        from: &MirrorPath,
        to: &MirrorPath,
        watch: &mut Watching,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        for (old, new) in self.trees.rebase(from, to) {
            self.rename_file(&old, &new, watch, cx);
        }
        self.follow_creations(
            |draft, _| draft.path.is_within(from).then(|| draft.path.rebase(from, to)).flatten(),
            cx,
        );
        // It finds the conflict copies that moved along.
        watch.scan_by(cx.now.plus_ms(SCAN_AT_LATEST_MS));
        self.rebase_agreed(from, to, cx);
        self.edit_page(page, in_base(|base| base.folder_at = None), cx);
        if let Some(up) = from.parent() {
            self.trees.tidy_folder(&up, cx);
        }
        self.mark_all_dirty();
        Ok(())
    }
}

impl Trees {
    /// Removes the folder of a page if it is empty; anything else stays.
    pub(crate) fn tidy_folder(&self, folder: &MirrorPath, cx: &mut Context) {
        let is_root = self
            .layout()
            .workspace_at(folder)
            .and_then(|w| self.layout().pages_root(&w))
            .is_none_or(|root| root == *folder);
        let in_use = self.files.range(folder.clone()..).map(|(path, _)| path).find(|p| p.is_within(folder));
        if !is_root && in_use.is_none() && cx.in_flight.ready.is_none() {
            cx.in_flight.ready =
                Some((Effect::RemoveFolder(folder.clone()), Purpose::RemoveFolder { path: folder.clone() }));
        }
    }
}

impl Pages {
    pub(crate) fn agree_on_place(&mut self, node: &Node, cx: &mut Context) {
        let Some(file) = self.trees.file_of(node).cloned() else { return };
        self.settle_place(&node.id, &file, None, cx);
        self.mark_all_dirty();
    }

    /// Takes the title, parent and path of a file that is where it belongs into the base. The folder of its subpages
    /// follows the file from wherever it is.
    pub(crate) fn settle_place(
        &mut self,
        page: &PageId,
        file: &LocalFile,
        from: Option<&MirrorPath>,
        cx: &mut Context,
    ) {
        let Some(base) = self.trees.pages.get(page).and_then(|node| node.base.clone()) else { return };
        self.runtime(page).moved_at = None;
        let new_folder = folder_of(&file.path);
        let candidates = [base.folder_at, folder_of(&base.path), from.and_then(folder_of)];
        let left_behind = candidates.into_iter().flatten().find(|folder| {
            Some(folder) != new_folder.as_ref()
                && !file.path.is_within(folder)
                && self.trees.folders.contains(folder)
                && !self.trees.layout().is_anothers(folder, page)
        });
        self.edit_page(
            page,
            |node| {
                node.stem = file.path.page_stem().map(Into::into);
                let (title, parent) = (node.remote.title.clone(), node.remote.parent.clone());
                if let Some(base) = &mut node.base {
                    base.title = title;
                    base.parent = parent;
                    base.front_title.clone_from(&file.front_title);
                    base.folder_at = left_behind;
                    base.path = file.path.clone();
                }
            },
            cx,
        );
    }

    pub(crate) fn relocate(&mut self, node: &Node, reverts_move: bool, cx: &mut Context) -> Choice {
        let (Some(from), Some(to)) = (node.file.clone(), self.trees.layout().belongs(node)) else {
            return None;
        };
        if from == to {
            self.agree_on_place(node, cx);
            return None;
        }
        let effect = Effect::Rename { from: from.clone(), to: to.clone() };
        Some((effect, Purpose::Relocate { page: node.id.clone(), from, to, reverts_move }))
    }

    pub(crate) fn move_folder(&mut self, node: &Node, cx: &mut Context) -> Choice {
        let base = node.base.as_ref()?;
        let (from, to) = (base.folder_at.clone()?, folder_of(&base.path)?);
        if to.is_within(&from) || !self.trees.folders.contains(&from) || self.trees.folders.contains(&to) {
            // The folder cannot be moved as a whole: the rest of the old folder is moved file by file.
            self.edit_page(
                &node.id,
                |page| {
                    if let Some(base) = &mut page.base {
                        base.folder_at = None;
                    }
                },
                cx,
            );
            self.mark_all_dirty();
            return None;
        }
        let effect = Effect::Rename { from: from.clone(), to: to.clone() };
        Some((effect, Purpose::MoveFolder { page: node.id.clone(), from, to }))
    }

    /// Changes the places in the base that were in a folder which has moved.
    pub(crate) fn rebase_agreed(&mut self, from: &MirrorPath, to: &MirrorPath, cx: &mut Context) {
        let inside: Vec<PageId> = self
            .trees
            .pages
            .values()
            .filter(|node| node.base.as_ref().is_some_and(|base| base.path.is_within(from)))
            .map(|node| node.id.clone())
            .collect();
        for id in inside {
            let rebased = in_base(|base| {
                base.path = base.path.rebase(from, to).unwrap_or_else(|| base.path.clone());
                base.folder_at = base.folder_at.take().map(|at| at.rebase(from, to).unwrap_or(at));
            });
            self.edit_page(&id, rebased, cx);
        }
    }
}
