//! Makes pages of new files, each exactly once. The creation is stored before the POST. After a lost answer, espejo
//! looks for the result at the service before it repeats the request.

mod in_vain;
mod refused;

pub(crate) use in_vain::tell_folders_without_page;

use crate::core::items::Verb;
use crate::core::plan::page_files::KnownFile;
use crate::engine::schedule::pace::Class;
use crate::engine::schedule::poll;
use crate::engine::state::{
    Context, Engine, Folder, InFlight, Pages, Purpose, Root, Trees, Watching, Way, named,
};
use crate::model::{
    Agreed, Body, Creation, Effect, LocalFile, MirrorPath, Node, PageDraft, PageId, Presence, RemotePage,
    ServiceError, ServiceReply, Settings, Timestamp, WorkspaceId, folder_of, planted,
};
use crate::plan::adoption::{Adoption, TITLED};
use crate::plan::{Place, filenames, naming, place};
use crate::store::LastSight;

/// The service's title for a page created without one (API document, "POST /pages").
const DEFAULT_TITLE: &str = "Sin título";

/// The path, workspace and parent page of an item that is to be created.
type Target = (MirrorPath, WorkspaceId, Option<PageId>);

impl Engine {
    pub(crate) fn created(&mut self, path: &MirrorPath, result: Result<ServiceReply, ServiceError>) {
        let Some(Creation { draft, asked_at, .. }) = self.pages.creations.get(path).cloned() else {
            return;
        };
        match result {
            Ok(ServiceReply::Meta(meta)) => {
                self.pages.creations.end(&mut self.cx.store, path);
                let id = meta.id.clone();
                let remote = RemotePage::listed(meta);
                self.pages.page_made(
                    &draft,
                    id,
                    remote,
                    Some(asked_at),
                    &mut self.folder.watch,
                    &mut self.cx,
                );
            }
            Err(error) if error.may_have_happened() && !planted("intent-skipped") => {
                let at = self.pages.creations.lose(&mut self.cx.store, path, self.cx.now);
                self.polling.lists.list_by(&draft.workspace, at);
                // It is sent again only after lists have refuted it and the wait is over.
                self.pages.creation_refused(&draft, &error, &mut self.polling.lists, self.cx.now);
            }
            Ok(_) => {
                self.pages.creations.end(&mut self.cx.store, path);
            }
            Err(error) => {
                self.pages.creations.end(&mut self.cx.store, path);
                if let ServiceError::Forbidden(why) = &error {
                    let again = self.pages.was_forbidden(path);
                    let forbidden = &mut self.pages.trees.forbidden;
                    forbidden.refuse(&draft.workspace, Verb::Write, why, again, self.cx.now);
                }
                if matches!(
                    error,
                    ServiceError::Forbidden(_) | ServiceError::Rejected { .. } | ServiceError::NotFound(_)
                ) {
                    self.polling.lists.list_by(&draft.workspace, self.cx.now);
                    self.pages.creation_refused(&draft, &error, &mut self.polling.lists, self.cx.now);
                }
            }
        }
    }

    /// Checks after a page list whether an unconfirmed creation made a page.
    /// `is_whole`: each entry of the list could be read.
    pub(crate) fn confirm_pages(&mut self, workspace: &WorkspaceId, is_whole: bool, asked_at: Timestamp) {
        // A list that lacks known pages is no evidence that the page was not made.
        let is_lacked =
            |node: &Node| node.workspace == *workspace && node.remote.presence == Presence::Unlisted;
        for creation in self.pages.creations.unconfirmed(|draft| draft.workspace == *workspace) {
            let like: Vec<Node> = self
                .pages
                .trees
                .pages
                .values()
                .filter(|node| is_answer_to(node, &creation))
                .cloned()
                .collect();
            let empty = Body::of(Vec::new()).hash;
            let seen: Vec<&Node> = like.iter().filter(|node| node.remote.body.is_some()).collect();
            // An empty one is ours. A single one with content is ours too: a user of the app has begun to write in it,
            // and our text joins theirs.
            let found = seen.iter().find(|node| node.remote.body == Some(empty)).or(match seen[..] {
                [ref only] if like.len() == 1 => Some(only),
                _ => None,
            });
            let draft = &creation.draft;
            if let Some(node) = found {
                self.pages.creations.end(&mut self.cx.store, &draft.path);
                self.pages.page_made(
                    draft,
                    node.id.clone(),
                    node.remote.clone(),
                    None,
                    &mut self.folder.watch,
                    &mut self.cx,
                );
            } else if like.iter().any(|node| node.remote.body.is_none()) {
                // Its body is fetched among the pages never fetched. Then the next list decides.
                self.polling.lists.list_by(workspace, self.cx.now.plus_ms(1_000));
            } else if self.pages.trees.pages.values().any(is_lacked)
                || creation.unconfirmed.is_some_and(|doubt| !doubt.heeds(is_whole, asked_at))
            {
                self.polling.lists.list_by(workspace, self.cx.now.plus_ms(5_000));
            } else if let Some(at) = self.pages.creations.not_shown(&mut self.cx.store, &draft.path, asked_at)
            {
                self.polling.lists.list_by(workspace, at);
            }
            // Otherwise the creation was not carried out: the file is sent again like any new one.
        }
    }
}

/// The number of new files that wait for their pages.
pub(crate) fn waiting(pages: &Pages, folder: &Folder, cx: &Context) -> usize {
    let files = pages.trees.untracked_files.iter().filter(|path| !pages.was_refused(path));
    let is_to_be_made = |file: &&LocalFile| {
        pages.trees.layout().workspace_at(&file.path).is_some_and(|workspace| {
            file.problem.is_none()
                && file.copied_from_page.is_none()
                && is_open(pages, &workspace, file, folder, cx)
        })
    };
    files.filter_map(|path| pages.trees.files.get(path)).filter(is_to_be_made).count()
}

/// Whether a page may be made of this file, as far as its place says.
fn is_open(pages: &Pages, workspace: &WorkspaceId, file: &LocalFile, folder: &Folder, cx: &Context) -> bool {
    // A file that cannot be read may be another one by now.
    let is_shut = folder.root.barrier.covers(&file.path)
        || pages.trees.ignoring.ignores_file(&file.path)
        || pages.trees.read_only(workspace, &cx.settings).is_some()
        || !pages.trees.forbidden.may(workspace, Verb::Write, pages.was_forbidden(&file.path), cx.now);
    let may_be_known = folder.root.bootstrap && pages.trees.may_be_bootstrapped(workspace, file);
    let is_held = pages.trees.orphan_claims_held(file, &folder.root, &cx.settings);
    pages.trees.is_live(workspace) && !(is_shut || may_be_known || is_held)
}

impl Pages {
    /// The next POST, if a new file is ready for one.
    pub(crate) fn next_creation(
        &mut self,
        folder: &mut Folder,
        cx: &mut Context,
    ) -> Option<(Effect, Purpose)> {
        if self.trees.untracked_files.is_empty()
            || self.creations_are_held(&folder.root)
            || !folder.watch.is_quiet(cx.now)
            || !cx.pace.allows(Class::Edit, 2, false, cx.now)
        {
            return None;
        }
        let ready = |(file, (place, workspace, parent)): (&LocalFile, Target)| PageDraft {
            stamp: (place == file.path).then_some(file.stamp),
            title: title_for(&self.trees, &place, file),
            path: place,
            workspace,
            parent,
        };
        // Files that were refused before go last: a file that causes the refusals must not delay the others.
        let (fresh, again) = (self.first_ready(false, folder, cx), || self.first_ready(true, folder, cx));
        let draft = fresh.or_else(again).map(ready)?;
        self.creations.begin(&mut cx.store, draft.clone(), cx.now);
        folder.root.creation_guard.note(draft.path.as_str(), cx);
        let PageDraft { path, workspace, parent, title, .. } = draft;
        Some((Effect::CreatePage { workspace, parent, title }, Purpose::Create { path }))
    }

    /// The first new file for which something can be created, among those that were refused before or among the others.
    fn first_ready(&self, refused: bool, folder: &Folder, cx: &Context) -> Option<(&LocalFile, Target)> {
        let files = self.trees.untracked_files.iter().filter(|path| self.was_refused(path) == refused);
        let files = files.filter_map(|path| self.trees.files.get(path));
        let mut ready = files.filter_map(|file| Some((file, self.ready_to_create(file, folder, cx)?)));
        match refused {
            false => ready.next(),
            true => ready.min_by_key(|(_, (place, ..))| self.refusals.get(place).map(|it| it.tried_at)),
        }
    }

    /// Whether nothing is made until the user approves: too much waits, or the folder is an older copy.
    fn creations_are_held(&self, root: &Root) -> bool {
        root.creation_guard.is_held() || self.retention.folder_is_old.is_some()
    }

    /// Whether a page is about to be made for a file at one of these paths.
    pub(crate) fn is_making(
        &self,
        is_here: &dyn Fn(&MirrorPath) -> bool,
        folder: &Folder,
        cx: &Context,
    ) -> bool {
        let new = self.trees.untracked_files.iter().filter(|path| is_here(path));
        !self.creations_are_held(&folder.root)
            && new
                .filter_map(|path| self.trees.files.get(path))
                .any(|file| self.ready_to_create(file, folder, cx).is_some())
    }

    /// What must be created for this file: its page, or that of the topmost folder above it that has no page yet.
    fn ready_to_create(&self, file: &LocalFile, folder: &Folder, cx: &Context) -> Option<Target> {
        let workspace = self.trees.layout().workspace_at(&file.path)?;
        let sound = file.hash.is_some() && file.problem.is_none() && !folder.watch.is_unread(&file.path);
        if !sound || !is_open(self, &workspace, file, folder, cx) {
            return None;
        }
        let mut place = file.path.clone();
        for _ in 0..200 {
            if self.creations.contains(&place) {
                return None;
            }
            let above = place.parent()?;
            match self.trees.layout().folder_stands_for(&above) {
                Place::Under(parent) => {
                    let title = title_for(&self.trees, &place, file);
                    let made = |parent| in_vain::page_made_for(&self.trees, &place, &workspace, parent);
                    if place != file.path && made(parent.as_ref()).is_some() {
                        return None;
                    }
                    let usable = parent.as_ref().is_none_or(|id| self.trees.is_there(id))
                        && !self.is_refused(&place, parent.as_ref(), cx.now)
                        && !self.is_like_a_creation(&title, &workspace, parent.as_ref())
                        && !self.trees.may_be_its_page(
                            file,
                            &title,
                            &workspace,
                            parent.as_ref(),
                            &folder.root,
                            cx,
                        )
                        && !self.trees.awaits_its_page(&place, &workspace, parent.as_ref());
                    return usable.then_some((place, workspace, parent));
                }
                Place::Elsewhere => {
                    // `X.md` beside the folder `X` is a new file of its own, and goes first.
                    let beside = above.parent().and_then(|up| up.join(&format!("{}.md", above.name())).ok());
                    let is_taken = |path: &MirrorPath| {
                        self.trees.files.contains_key(path)
                            || self.creations.drafts().any(|draft| {
                                // Most are elsewhere, and the folder is cheaper to compare than the path.
                                draft.path.parent() == path.parent()
                                    && self.trees.asked_at(draft).as_ref() == Some(path)
                            })
                    };
                    if beside.as_ref().is_some_and(is_taken) {
                        return None;
                    }
                    place = above;
                }
            }
        }
        None
    }

    /// Binds a page without a file to the file without a page that is its: during the first comparison by the name or title
    /// that the file states, and later beside a folder while the page is empty. The page was made for the folder then,
    /// and the file came meanwhile. Returns whether the page has to wait, or has a file now.
    pub(crate) fn adopt_by_place(&mut self, node: &Node, folder: &mut Folder, cx: &mut Context) -> bool {
        if folder.root.bootstrap {
            return take_up(self, node, &mut folder.watch, cx);
        }
        if node.remote.body != Some(Body::of(Vec::new()).hash) {
            return false;
        }
        let home = self.trees.layout().folder_for_children(&node.workspace, node.remote.parent.as_ref());
        let name = naming::choose(&node.remote.title, &|_| false, 252);
        let path = home.and_then(|home| home.join(&format!("{}.md", name.stem)).ok());
        let Some(path) = path.filter(|path| self.trees.untracked_files.contains(path)) else { return false };
        let Some(file) = self.trees.files.get(&path) else { return false };
        let is_anothers =
            self.trees.names_another(file, &folder.root, cx) || !self.trees.is_beside_its_folder(&path);
        if is_anothers || file.problem.is_some() {
            return false;
        }
        if !folder.watch.is_unread(&path) {
            let draft = PageDraft {
                path,
                workspace: node.workspace.clone(),
                parent: node.remote.parent.clone(),
                title: node.remote.title.to_string(),
                stamp: Some(file.stamp),
            };
            self.page_made(&draft, node.id.clone(), node.remote.clone(), None, &mut folder.watch, cx);
        }
        true
    }

    /// Binds a file or a folder to the page that the service made for it. `answers` is when the answered request was
    /// sent; `None` if the page was found in a list.
    fn page_made(
        &mut self,
        draft: &PageDraft,
        id: PageId,
        remote: RemotePage,
        answers: Option<Timestamp>,
        watch: &mut Watching,
        cx: &mut Context,
    ) {
        let (now, tick) = (cx.now, cx.tick);
        self.end_refusal_of_file(&draft.path, now);
        let empty = Body::of(Vec::new());
        cx.store.keep_body(&empty);
        let first_seen = self.trees.pages.get(&id).map_or(now, |node| node.first_seen);
        let remote = RemotePage { body: remote.body.or(Some(empty.hash)), ..remote };
        let mut node = Node::new(id.clone(), draft.workspace.clone(), remote, first_seen, poll::fresh(now));
        // Without a stamp it is the page of a folder, whatever the folder's name ends with.
        let stem = draft.path.page_stem().filter(|_| draft.stamp.is_some());
        node.stem = Some(stem.unwrap_or(draft.path.name()).into());
        poll::changed(&mut node.poll, now);
        node.poll.last = now;
        let mut missing = None;
        if let Some(stamp) = draft.stamp {
            let file = self.trees.files.get(&draft.path).filter(|file| file.page.is_none());
            node.base = Some(Agreed {
                parent: node.remote.parent.clone(),
                title: node.remote.title.clone(),
                icon: None,
                body: empty.hash,
                text: None,
                front_title: file.and_then(|file| file.front_title.clone()),
                path: self.trees.asked_at(draft).unwrap_or_else(|| draft.path.clone()),
                folder_at: None,
            });
            if file.is_none() {
                // The file went while its page was made: the page is treated like any other whose file was deleted.
                node.missing_since = Some(now);
                node.missing_from = Some(draft.path.clone());
                missing =
                    Some(KnownFile { path: draft.path.clone(), page: Some(id.clone()), stamp, hash: None });
                tracing::debug!(inode = stamp.inode, "the file of a new page is missing");
            }
        }
        self.save_page(node, cx);
        if let Some(file) = missing {
            cx.store.save_missing(&id, &file.path, LastSight { stamp: file.stamp, hash: None });
            watch.missing.insert(id.clone(), file);
        }
        if draft.stamp.is_some() && self.trees.untracked_files.contains(&draft.path) {
            self.bind(&draft.path, &id, true, watch, cx);
            watch.read_by(&draft.path.clone(), now);
        }
        // A list may have shown the page before its POST was answered, and a fetch may say more than that answer.
        let is_fetched = cx.in_flight.is_fetched(&id);
        self.answered.note_made(&id, &mut cx.store, cx.now);
        let runtime = self.runtime(&id);
        let is_known = runtime.seen > 0 || is_fetched;
        runtime.acted = tick.saturating_sub(1);
        runtime.missed = tick;
        runtime.wanted = tick;
        if let Some(asked_at) = answers.filter(|_| !is_known) {
            // The answer to the POST counts as a fetch: the page was empty when it was made, some time after the
            // request.
            runtime.looked = tick + 1;
            runtime.seen = tick + 1;
            runtime.seen_at = asked_at;
        }
        cx.made_was(&id, &draft.path);
        cx.log_activity(Way::Up, &draft.path, "new page");
        self.mark_all_dirty();
    }
}

impl Trees {
    /// Whether a page without a file has this title there, and is empty or not known yet. Then it is this file's page,
    /// see [`Pages::adopt_by_place`].
    fn may_be_its_page(
        &self,
        file: &LocalFile,
        title: &str,
        workspace: &WorkspaceId,
        parent: Option<&PageId>,
        root: &Root,
        cx: &Context,
    ) -> bool {
        let empty = Body::of(Vec::new()).hash;
        let is_it = |node: &Node| {
            filenames::is_same_name(title, &node.remote.title)
                && node.file.is_none()
                && node.base.is_none()
                && node.parked.is_none()
                && node.remote.body.is_none_or(|body| body == empty)
                && self.is_there(&node.id)
        };
        self.is_beside_its_folder(&file.path)
            && !self.names_another(file, root, cx)
            && self.child_nodes(workspace, parent).any(is_it)
    }

    /// Whether a file names an existing page, or one of so many missing pages that all such files are held.
    fn names_another(&self, file: &LocalFile, root: &Root, cx: &Context) -> bool {
        file.claim().is_some_and(|id| self.is_there(id)) || self.orphan_claims_held(file, root, &cx.settings)
    }

    /// Whether a file is held because many files name pages that the service does not list. This looks like lost
    /// access, not like new files.
    pub(crate) fn orphan_claims_held(&self, file: &LocalFile, root: &Root, settings: &Settings) -> bool {
        named::is_stray(file, self) && !root.orphans_approved && {
            let all = self.untracked_files.iter().filter_map(|path| self.files.get(path));
            all.filter(|file| named::is_stray(file, self)).count() > settings.pages.max_deletes
        }
    }

    /// The files in a folder that belong to no page and have no id.
    fn nobodys_in(&self, folder: &MirrorPath) -> Vec<&LocalFile> {
        let inside = self
            .untracked_files
            .iter()
            .filter(|path| path.as_str().rsplit_once('/').is_some_and(|(above, _)| above == folder.as_str()));
        let files = inside.filter_map(|path| self.files.get(path));
        let is_free = |file: &&LocalFile| {
            named::page_in(file, self).is_none()
                && file.problem.is_none()
                && !self.ignoring.ignores_file(&file.path)
        };
        files.filter(is_free).collect()
    }
}

impl Pages {
    /// Whether a page with this title was requested there and no answer has come. With two of them, a lost answer could
    /// not be attributed to one.
    fn is_like_a_creation(&self, title: &str, workspace: &WorkspaceId, parent: Option<&PageId>) -> bool {
        self.creations.drafts().any(|draft| {
            draft.title == title && draft.workspace == *workspace && draft.parent.as_ref() == parent
        })
    }

    /// Whether a creation with an unknown outcome may have made this page. Then the page waits for the outcome.
    pub(crate) fn awaits_creation(&self, node: &Node) -> bool {
        self.creations.all().any(|creation| is_answer_to(node, creation))
    }
}

impl Trees {
    /// Whether a page's file is about to be moved beside the folder `place`: the folder of its parent has another name
    /// now, and the file was written into the old one. Then the folder belongs to that page.
    fn awaits_its_page(&self, place: &MirrorPath, workspace: &WorkspaceId, parent: Option<&PageId>) -> bool {
        let comes = |node: &Node| {
            node.base.as_ref().is_some_and(|base| {
                node.file.as_ref() == Some(&base.path)
                    && base.parent == node.remote.parent
                    && base.path.parent() != place.parent()
                    && !self.is_beside_its_folder(&base.path)
            }) && self.layout().belongs(node).and_then(|path| folder_of(&path)).as_ref() == Some(place)
        };
        self.folders.contains(place) && self.child_nodes(workspace, parent).any(comes)
    }

    fn is_beside_its_folder(&self, path: &MirrorPath) -> bool {
        folder_of(path).is_some_and(|folder| self.folders.contains(&folder))
    }

    /// During the first comparison: whether a listed page may belong to this file.
    fn may_be_bootstrapped(&self, workspace: &WorkspaceId, file: &LocalFile) -> bool {
        let Some(stem) = file.path.page_stem() else { return false };
        file.claim().is_some_and(|id| self.is_there(id))
            || match self.layout().place_of(&file.path) {
                Place::Under(parent) => self.child_nodes(workspace, parent.as_ref()).any(|node| {
                    let title = &node.remote.title;
                    node.file.is_none()
                        && node.base.is_none()
                        && (naming::still_says(stem, title) || file.front_title.as_ref() == Some(title))
                }),
                // The page of the folder, or of one above it, may not have its file yet.
                Place::Elsewhere => {
                    let above = std::iter::successors(file.path.parent(), MirrorPath::parent);
                    let nobodys: Vec<MirrorPath> = above
                        .take_while(|folder| self.layout().folder_stands_for(folder) == Place::Elsewhere)
                        .collect();
                    self.pages.values().any(|node| {
                        node.workspace == *workspace
                            && node.base.is_none()
                            && node.remote.presence == Presence::Listed
                            && nobodys
                                .iter()
                                .any(|folder| naming::still_says(folder.name(), &node.remote.title))
                    })
                }
            }
    }

    /// The path of the file when its page was requested, derived from the title: the file may have been renamed since.
    fn asked_at(&self, draft: &PageDraft) -> Option<MirrorPath> {
        let said = draft.path.page_stem().is_none_or(|stem| naming::still_says(stem, &draft.title));
        let file = self.files.get(&draft.path);
        // A title from the front matter does not depend on the name.
        let in_front = file.is_some_and(|file| file.front_title.as_deref() == Some(&draft.title));
        if said || in_front || draft.stamp.is_none() {
            return Some(draft.path.clone());
        }
        let stem = naming::choose(&draft.title, &|_| false, 252).stem;
        draft.path.parent()?.join(&format!("{stem}.md")).ok()
    }
}

impl InFlight {
    fn is_fetched(&self, id: &PageId) -> bool {
        self.flights
            .values()
            .any(|flight| matches!(&flight.purpose, Purpose::Fetch { page, .. } if page == id))
    }
}

/// The title of what is created at `place`: the file's page, or that of a folder above it.
fn title_for(trees: &Trees, place: &MirrorPath, file: &LocalFile) -> String {
    // A copy brings its page's id and title, which may be an old one.
    let is_copied = || file.copied_from_page.is_some() || named::page_in(file, trees).is_some();
    if *place == file.path { place::title_of_new(file, is_copied()) } else { naming::title_of(place.name()) }
}

/// Binds the files without an id to the pages that they are of, in the folder of this page and in those above it,
/// from the top: where a page's subpages are depends on its file.
fn take_up(pages: &mut Pages, node: &Node, watch: &mut Watching, cx: &mut Context) -> bool {
    let mut line = vec![node.clone()];
    let layout = pages.trees.layout();
    while let Some(above) = line.last().and_then(|page| pages.trees.pages.get(layout.parent_of(page)?))
        && is_without_file(above)
        && line.len() < 200
    {
        line.push(above.clone());
    }
    for page in line.iter().rev() {
        let layout = pages.trees.layout();
        let parent = layout.parent_of(page);
        let Some(home) = layout.folder_for_children(&page.workspace, parent) else { return false };
        let files = pages.trees.nobodys_in(&home);
        if files.iter().any(|file| watch.is_unread(&file.path)) {
            return true;
        }
        let stem_of = |file: &LocalFile| file.path.page_stem().unwrap_or_default().to_owned();
        let is_stated = |file: &LocalFile, page: &Node| file.front_title.as_ref() == Some(&page.remote.title);
        let may_be_its = |file: &&LocalFile| {
            is_stated(file, page) || naming::still_says(&stem_of(file), &page.remote.title)
        };
        if !files.iter().any(may_be_its) {
            continue;
        }
        let mut nameless: Vec<&Node> =
            pages.trees.child_nodes(&page.workspace, parent).filter(|page| is_without_file(page)).collect();
        nameless.sort_by(|a, b| a.remote.position.total_cmp(&b.remote.position));
        let stated = nameless.iter().flat_map(|page| {
            let its = files.iter().filter(|file| is_stated(file, page));
            its.map(|file| (page.id.clone(), file.path.clone()))
        });
        let adoption = Adoption {
            shown: stated.collect(),
            items: nameless.iter().map(|page| (page.id.clone(), page.remote.title.to_string())).collect(),
            files: files.iter().map(|file| (file.path.clone(), stem_of(file))).collect(),
        };
        for (page, path) in adoption.pairs(TITLED, &|_, _| true) {
            pages.bind(&path, &page, true, watch, cx);
        }
    }
    pages.trees.pages.get(&node.id).is_some_and(|node| node.file.is_some())
}

/// Whether a listed page was never compared with a file.
fn is_without_file(node: &Node) -> bool {
    node.file.is_none() && node.base.is_none() && node.remote.presence == Presence::Listed
}

fn is_answer_to(node: &Node, creation: &Creation<PageDraft>) -> bool {
    let draft = &creation.draft;
    let title = if draft.title.is_empty() { DEFAULT_TITLE } else { &draft.title };
    node.base.is_none()
        && node.file.is_none()
        && node.workspace == draft.workspace
        && node.remote.parent == draft.parent
        && filenames::is_same_name(title, &node.remote.title)
        && node.first_seen >= creation.asked_at
}
