//! New files of which the service refused to make pages, or failed. Each is tried again from time to time. If a place refuses
//! several in a row, one file is tried for all of them.

use crate::engine::lists::Lists;
use crate::engine::pages::Pages;
use crate::engine::trees::Trees;
use crate::model::{
    MirrorPath, PageDraft, PageId, Refusal, RefusalClass, ServiceError, Timestamp, WorkspaceId,
};
use crate::plan::Place;

/// After so many refusals in a row, the service refuses the place: its other files wait too.
const REFUSED_AT_ONE_PLACE: usize = 3;

/// A creation that the service rejected, or that failed.
#[derive(Debug)]
pub(in super::super) struct RefusedFile {
    pub(in super::super) workspace: WorkspaceId,
    parent: Option<PageId>,
    pub(in super::super) refusal: Refusal,
    /// The reason that the user sees.
    pub(in super::super) why: String,
    /// No page was made at the place since.
    counts: bool,
}

impl RefusedFile {
    fn is_at(&self, workspace: &WorkspaceId, parent: Option<&PageId>) -> bool {
        self.workspace == *workspace && self.parent.as_ref() == parent
    }
}

/// The time until which nothing is created at a place that has refused so many files in a row. Then one file is tried.
fn place_rests_until<'a>(
    refusals: impl Iterator<Item = &'a RefusedFile>,
    workspace: &WorkspaceId,
    parent: Option<&PageId>,
) -> Option<Timestamp> {
    let untils = refusals.filter(|r| r.counts && r.is_at(workspace, parent)).map(|r| r.refusal.retry_at);
    let (count, last) =
        untils.fold((0, Timestamp::default()), |(count, last), until| (count + 1, last.max(until)));
    (count >= REFUSED_AT_ONE_PLACE).then_some(last)
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
        let before = self.refusals.get(&draft.path);
        let before = before.filter(|refused| refused.is_at(&draft.workspace, draft.parent.as_ref()));
        let before = before.map(|refused| &refused.refusal);
        let refusal = Refusal::new(RefusalClass::of(error), error.to_string(), before, now);
        if refusal.tries == 1 && refusal.class != RefusalClass::Transient {
            lists.ask_for_workspaces_soon(now, true);
        }
        let refused = RefusedFile {
            workspace: draft.workspace.clone(),
            parent: draft.parent.clone(),
            why: refusal.said.clone(),
            refusal,
            counts: true,
        };
        self.refusals.insert(draft.path.clone(), refused);
        if self.is_refused_place(&draft.workspace, draft.parent.as_ref(), now) {
            self.tell_who_waits(draft, &error.to_string());
        }
    }
}

impl Pages {
    /// Adds the number of files that were not tried to the last refusal at their place.
    fn tell_who_waits(&mut self, draft: &PageDraft, why: &str) {
        let parent = Place::Under(draft.parent.clone());
        let is_there = |path: &&MirrorPath| {
            self.trees.layout().workspace_at(path).as_ref() == Some(&draft.workspace)
                && self.trees.made_under(path) == parent
        };
        let waiting = self.trees.untracked_files.iter().filter(|path| !self.was_refused(path));
        let who = match waiting.filter(is_there).count() {
            0 => None,
            1 => Some("another new file there waits with it".to_owned()),
            count => Some(format!("{count} other new files there wait with it")),
        };
        let parent = draft.parent.as_ref();
        for (path, refusal) in &mut self.refusals {
            if *path == draft.path {
                refusal.why = who.iter().fold(why.to_owned(), |why, who| format!("{why}; {who}"));
            } else if refusal.is_at(&draft.workspace, parent) {
                refusal.why.clone_from(&refusal.refusal.said);
            }
        }
    }

    pub(super) fn was_refused(&self, path: &MirrorPath) -> bool {
        self.refusals.keys().any(|refused| path.is_within(refused))
    }

    /// Whether the creation for a file was answered with 403.
    pub(super) fn was_forbidden(&self, path: &MirrorPath) -> bool {
        let mut refusals = self.refusals.iter().filter(|(refused, _)| path.is_within(refused));
        refusals.any(|(_, refused)| refused.refusal.class == RefusalClass::Place)
    }

    pub(super) fn is_refused(&self, place: &MirrorPath, parent: Option<&PageId>, now: Timestamp) -> bool {
        self.refusals.get(place).is_some_and(|r| r.parent.as_ref() == parent && r.refusal.rests(now))
    }

    /// Whether the service has refused several files in a row there. When the pause is over, one is tried, and the
    /// others wait for its answer.
    pub(super) fn is_refused_place(
        &self,
        workspace: &WorkspaceId,
        parent: Option<&PageId>,
        now: Timestamp,
    ) -> bool {
        let until = place_rests_until(self.refusals.values(), workspace, parent);
        until.is_some_and(|until| {
            let is_asked =
                |draft: &PageDraft| draft.workspace == *workspace && draft.parent.as_ref() == parent;
            until > now || self.creations.drafts().any(is_asked)
        })
    }

    /// Records that the service makes pages there.
    pub(super) fn place_is_open(&mut self, draft: &PageDraft) {
        self.refusals.remove(&draft.path);
        let parent = draft.parent.as_ref();
        for refusal in self.refusals.values_mut().filter(|r| r.is_at(&draft.workspace, parent)) {
            refusal.counts = false;
        }
    }
}

impl Trees {
    /// The parent of the page that must be created first for a new file.
    fn made_under(&self, path: &MirrorPath) -> Place {
        let folders = std::iter::successors(path.parent(), MirrorPath::parent).take(200);
        let mut stands_for = folders.map(|folder| self.layout().folder_stands_for(&folder));
        stands_for.find(|place| *place != Place::Elsewhere).unwrap_or(Place::Elsewhere)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(parent: Option<&str>, until: i64, counts: bool) -> RefusedFile {
        let refusal = Refusal::kept(RefusalClass::Content, "no".to_owned(), Timestamp(0));
        RefusedFile {
            workspace: WorkspaceId::new("w").unwrap(),
            parent: parent.map(|id| PageId::new(id).unwrap()),
            refusal: Refusal { retry_at: Timestamp(until), ..refusal },
            why: "no".to_owned(),
            counts,
        }
    }

    #[test]
    fn three_refusals_in_a_row_close_their_place_and_no_other() {
        let space = WorkspaceId::new("w").unwrap();
        let parent = PageId::new("p").unwrap();
        let two = [refusal(Some("p"), 5, true), refusal(Some("p"), 9, true)];
        let until = |all: &[&RefusedFile], parent| place_rests_until(all.iter().copied(), &space, parent);
        let (other, past) = (refusal(None, 99, true), refusal(Some("p"), 99, false));
        assert_eq!(until(&[&two[0], &two[1], &other, &past], Some(&parent)), None);
        let third = refusal(Some("p"), 7, true);
        let all = [&two[0], &third, &two[1], &other, &past];
        assert_eq!(until(&all, Some(&parent)), Some(Timestamp(9)));
        assert_eq!(until(&all, None), None);
    }
}
