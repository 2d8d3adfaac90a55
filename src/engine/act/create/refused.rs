//! New files of which the service refused to make pages, or failed. Each waits by itself; equal refusals of one place share
//! their next try, which is one file's.

use crate::engine::state::{Lists, Pages, RefusedFile};
use crate::model::{MirrorPath, PageDraft, PageId, Refusal, RefusalClass, ServiceError, Timestamp};

impl RefusedFile {
    /// Whether the same reason keeps both from being made at one place. A failure is no such reason.
    fn is_like(&self, other: &Self) -> bool {
        (&self.workspace, &self.parent) == (&other.workspace, &other.parent)
            && self.refusal.class != RefusalClass::Transient
            && self.error == other.error
    }
}

impl Pages {
    /// Records that the service refused a page there, or failed. It is tried again when something has changed, and from time to
    /// time.
    pub(super) fn creation_refused(
        &mut self,
        draft: &PageDraft,
        error: &ServiceError,
        lists: &mut Lists,
        now: Timestamp,
    ) {
        let untracked_files = &self.trees.untracked_files;
        self.refusals.retain(|path, _| untracked_files.iter().any(|file| file.is_within(path)));
        let (workspace, parent) = (draft.workspace.clone(), draft.parent.clone());
        let before = self.refusals.remove(&draft.path);
        let before = before.filter(|it| (&it.workspace, &it.parent) == (&workspace, &parent));
        let before = before.map(|refused| refused.refusal);
        let refusal = Refusal::new(RefusalClass::of(error), error.to_string(), before.as_ref(), now);
        if refusal.tries == 1 && refusal.class != RefusalClass::Transient {
            lists.ask_for_workspaces_soon(now, true);
        }
        let mut refused = RefusedFile { workspace, parent, refusal, error: error.clone(), tried_at: now };
        for like in self.refusals.values_mut() {
            if like.is_like(&refused) {
                let (from, to) = match like.refusal.rests(now) {
                    true => (&like.refusal, &mut refused.refusal),
                    false => (&refused.refusal, &mut like.refusal),
                };
                to.clone_from(from);
            }
        }
        self.refusals.insert(draft.path.clone(), refused);
    }

    pub(super) fn was_refused(&self, path: &MirrorPath) -> bool {
        self.refusals.keys().any(|refused| path.is_within(refused))
    }

    /// Whether the creation for a file was answered with 403.
    pub(super) fn was_forbidden(&self, path: &MirrorPath) -> bool {
        let mut refusals = self.refusals.iter().filter(|(refused, _)| path.is_within(refused));
        refusals.any(|(_, refused)| refused.refusal.class == RefusalClass::Place)
    }

    /// Whether a refusal rests, or another file is tried for it.
    pub(super) fn is_refused(&self, place: &MirrorPath, parent: Option<&PageId>, now: Timestamp) -> bool {
        let is_tried_for = |refused: &RefusedFile| {
            let mut tried = self.creations.drafts().filter_map(|draft| self.refusals.get(&draft.path));
            tried.any(|tried| tried.is_like(refused))
        };
        self.refusals.get(place).is_some_and(|refused| {
            refused.parent.as_ref() == parent && (refused.refusal.rests(now) || is_tried_for(refused))
        })
    }

    /// Records that a page was made: what the same reason kept from being made is tried again.
    pub(super) fn end_refusal_of_file(&mut self, path: &MirrorPath, now: Timestamp) {
        if let Some(made) = self.refusals.remove(path) {
            let like = self.refusals.values_mut().filter(|it| it.is_like(&made));
            like.for_each(|it| it.refusal.try_at(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::WorkspaceId;

    #[test]
    fn equal_refusals_of_one_place_are_alike_and_failures_are_not() {
        let refused = |parent: &str, error: &ServiceError| RefusedFile {
            workspace: WorkspaceId::new("w").unwrap(),
            parent: PageId::new(parent).ok(),
            refusal: Refusal::kept(RefusalClass::of(error), String::new(), Timestamp(0)),
            error: error.clone(),
            tried_at: Timestamp(0),
        };
        let rejected = |status| ServiceError::Rejected { status, message: "no".to_owned() };
        let one = refused("p", &rejected(400));
        assert!(one.is_like(&refused("p", &rejected(400))));
        assert!(!one.is_like(&refused("q", &rejected(400))));
        assert!(!one.is_like(&refused("p", &rejected(413))));
        let failed = || refused("p", &ServiceError::Server { status: 503, message: "no".to_owned() });
        assert!(!failed().is_like(&failed()));
    }
}
