//! From decisions to effects on the folder, and what their answers change. Requests are in `push`, `create`, `remove`.

use super::flight::{Flight, Purpose, Written};
use super::{Engine, Reading, Way};
use crate::markdown::{self, Allowed, front_matter};
use crate::model::{
    Agreed, Body, ContentHash, DiskError, DiskReply, Effect, Expect, FileLook, LocalFile, MirrorPath, Node,
    PageId, Stamp, folder_of,
};
use crate::plan::{self, Decision, View};
use crate::store::{Conflict, StoreError};

/// A page whose state keeps changing without an effect would be a fault of the planner; it must not hang the loop.
const TURNS_MAX: usize = 12;

type Choice = Option<(Effect, Purpose)>;

impl Engine {
    /// The next thing to do on disk.
    pub(super) fn next_disk_effect(&mut self) -> Result<Choice, StoreError> {
        if self.flights.values().any(|flight| !flight.purpose.is_request()) {
            return Ok(None);
        }
        if let Some(choice) = self.ready.take() {
            return Ok(Some(choice));
        }
        if let Some(look) = self.next_look_at_disk() {
            return Ok(Some(look));
        }
        if !self.root.is_ready() {
            return Ok(None);
        }
        for page in self.active.clone() {
            if self.is_busy(&page) || self.moments.get(&page).is_some_and(|m| m.retry_at > self.now) {
                continue;
            }
            if let Some(choice) = self.settle_page(&page)? {
                return Ok(Some(choice));
            }
        }
        Ok(None)
    }

    /// Decides on one page until nothing more can be done for it at once, or an effect is needed.
    fn settle_page(&mut self, page: &PageId) -> Result<Choice, StoreError> {
        for _ in 0..TURNS_MAX {
            let Some(node) = self.trees.pages.get(page).cloned() else {
                self.active.remove(page);
                return Ok(None);
            };
            let decision = if self.is_live(&node.workspace) { self.decide(&node) } else { Decision::Wait };
            tracing::trace!(page = %page, ?decision, "decided");
            self.service.wants.remove(page);
            if !matches!(decision, Decision::Push { .. }) {
                self.drop_reservation(page);
            }
            match decision {
                Decision::Rest | Decision::Wait => {
                    if node.missing_since.is_none() || node.base.is_none() {
                        self.active.remove(page);
                    }
                    return Ok(None);
                }
                Decision::Look | Decision::Push { .. } | Decision::TrashPage => {
                    let tick = self.tick;
                    let moment = self.moment(page);
                    if moment.wanted == 0 {
                        moment.wanted = tick;
                    }
                    self.service.wants.insert(page.clone(), decision);
                    self.active.remove(page);
                    return Ok(None);
                }
                Decision::Adopt => self.adopt(&node)?,
                Decision::AcceptBytes => self.accept_bytes(&node)?,
                Decision::AgreeOnPlace => self.agree_on_place(&node)?,
                Decision::Restore => self.restore(page)?,
                Decision::Forget => self.forget_page(page)?,
                Decision::Unbind => self.let_go(&node)?,
                Decision::Recreate => self.recreate(&node)?,
                Decision::Read => {
                    let Some(path) = node.file.clone() else { return Ok(None) };
                    self.watch.read_by(&path, self.now);
                    self.active.remove(page);
                    return Ok(self.next_look_at_disk());
                }
                Decision::Materialise => return self.materialise(&node),
                Decision::KeepBoth => return self.keep_both(&node),
                Decision::Splice => {
                    let Some(path) = node.file.clone() else { return Ok(None) };
                    return Ok(Some((
                        Effect::ReadFile(path.clone()),
                        Purpose::ReadToSplice { page: page.clone(), path },
                    )));
                }
                Decision::Relocate { puts_back } => return self.relocate(&node, puts_back),
                Decision::MoveFolder => match self.move_folder(&node)? {
                    Some(choice) => return Ok(Some(choice)),
                    None => continue,
                },
                Decision::TrashFile | Decision::SetAside => return self.file_follows(&node, decision),
            }
        }
        tracing::warn!(page = %page, "no end to deciding; it is looked at again later");
        let later = self.now.plus_ms(5_000);
        self.moment(page).retry_at = later;
        Ok(None)
    }

    fn decide(&self, node: &Node) -> Decision {
        let file = self.trees.file_of(node);
        let unread = file.is_some_and(|file| self.watch.is_unread(&file.path));
        if unread {
            return Decision::Wait;
        }
        let both = node.base.is_some() && file.is_some();
        let local_parent = file.map_or(plan::Place::Elsewhere, |file| match self.workspace_at(&file.path) {
            Some(workspace) if workspace == node.workspace => self.place_of(&file.path),
            _ => plan::Place::Elsewhere,
        });
        let local_title = file.map(|file| self.title_said(node, file)).unwrap_or_default();
        let belongs = if both { self.belongs(node) } else { None };
        let front_is_stale = match (file, &belongs) {
            (Some(file), Some(path)) => front_is_stale(file, path, node),
            _ => false,
        };
        let grace = self.settings.pages.delete_grace_ms;
        plan::decide(&View {
            node,
            file,
            local_parent: &local_parent,
            local_title: &local_title,
            meaning: file.and_then(|file| self.meaning_hash(node, file)),
            belongs: belongs.as_ref(),
            front_is_stale,
            grace_is_over: node.missing_since.is_some_and(|since| self.now.since_ms(since) >= grace)
                && self.watch.is_quiet(self.now),
            deletes: self.settings.pages.deletes,
            moves: self.settings.pages.moves,
        })
    }

    fn meaning_hash(&self, node: &Node, file: &LocalFile) -> Option<ContentHash> {
        if let Some(base) = &node.base
            && base.text.is_some()
            && base.text == file.hash
        {
            return Some(base.body);
        }
        let reading = self.moments.get(&node.id)?.reading.as_ref()?;
        (Some(reading.text) == file.hash).then_some(reading.body)
    }

    /// What a file stands for, given what it stood for before.
    pub(super) fn interpret(&mut self, page: &PageId, look: &FileLook) -> Result<(), StoreError> {
        let Some(node) = self.trees.pages.get(page).cloned() else { return Ok(()) };
        let Some(file) = self.trees.files.get(&look.path).cloned() else { return Ok(()) };
        let text_hash = ContentHash::of(&look.bytes);
        let Ok(text) = std::str::from_utf8(&look.bytes) else { return Ok(()) };
        let Ok(split) = front_matter::split(text) else { return Ok(()) };
        // Ids minted for a body that was sent are used again, or a lost answer would double every new block.
        let identity = match (self.sent.get(page), &node.base) {
            (Some(sent), _) => Some(sent.local),
            (None, Some(base)) => Some(base.body),
            (None, None) => node.remote.body,
        };
        let Some(base_hash) = identity else { return Ok(()) };
        let base = self.store.body(base_hash)?.unwrap_or_default();
        let allowed = self.allowed_in(&node);
        let same_as_sent = self.sent.get(page).is_some_and(|sent| sent.text == text_hash);
        let copied = file.disowned.as_ref().filter(|_| base.is_empty());
        let blocks = if same_as_sent {
            base.clone()
        } else if let Some(original) =
            copied.and_then(|id| self.trees.pages.get(id)).and_then(|n| n.base.clone())
        {
            let original = self.store.body(original.body)?.unwrap_or_default();
            let ids = &mut self.ids;
            let parsed = markdown::parse(split.body, &original, &allowed, &mut || ids.next());
            markdown::with_new_ids(&parsed, &mut || ids.next())
        } else {
            let ids = &mut self.ids;
            markdown::parse(split.body, &base, &allowed, &mut || ids.next())
        };
        // Equal in meaning to what was agreed or is at the service: the hash says so whatever the key order.
        let mut body = Body::of(blocks);
        for known in [node.base.as_ref().map(|base| base.body), node.remote.body].into_iter().flatten() {
            let blocks = self.store.body(known)?.unwrap_or_default();
            if crate::model::semantically_equal(&blocks, &body.blocks) {
                body = Body { hash: known, blocks };
                break;
            }
        }
        self.moment(page).reading = Some(Reading { text: text_hash, body: body.hash, blocks: body.blocks });
        Ok(())
    }

    pub(super) fn allowed_in(&self, node: &Node) -> Allowed {
        self.allowed
            .get(&node.workspace)
            .cloned()
            .unwrap_or_else(|| Allowed::named(&self.settings.pages.blocks))
    }

    fn adopt(&mut self, node: &Node) -> Result<(), StoreError> {
        let Some(file) = self.trees.file_of(node).cloned() else { return Ok(()) };
        let Some(body) = node.remote.body else { return Ok(()) };
        let title = node.remote.title.clone();
        self.edit_page(&node.id.clone(), |page| {
            page.stem = file.path.page_stem().map(ToOwned::to_owned);
            page.base = Some(Agreed {
                parent: page.remote.parent.clone(),
                title,
                icon: page.remote.icon.clone(),
                body,
                text: file.hash,
                front_title: file.front_title.clone(),
                path: file.path.clone(),
                folder_at: None,
            });
        })?;
        self.say(Way::Aside, &file.path, "found in the folder, equal to its page");
        self.wake_all();
        Ok(())
    }

    fn accept_bytes(&mut self, node: &Node) -> Result<(), StoreError> {
        let Some(file) = self.trees.file_of(node).cloned() else { return Ok(()) };
        self.edit_page(&node.id.clone(), |page| {
            if let Some(base) = &mut page.base {
                base.text = file.hash;
            }
        })
    }

    fn agree_on_place(&mut self, node: &Node) -> Result<(), StoreError> {
        let Some(file) = self.trees.file_of(node).cloned() else { return Ok(()) };
        self.settle_place(&node.id, &file, None)?;
        self.wake_all();
        Ok(())
    }

    /// The file is where it belongs: title, parent and path are agreed on. The folder of its subpages follows it from
    /// wherever it is.
    fn settle_place(
        &mut self,
        page: &PageId,
        file: &LocalFile,
        from: Option<&MirrorPath>,
    ) -> Result<(), StoreError> {
        let Some(base) = self.trees.pages.get(page).and_then(|node| node.base.clone()) else { return Ok(()) };
        let new_folder = folder_of(&file.path);
        let candidates = [base.folder_at, folder_of(&base.path), from.and_then(folder_of)];
        let left_behind = candidates.into_iter().flatten().find(|folder| {
            Some(folder) != new_folder.as_ref()
                && self.trees.folders.contains(folder)
                && !self.is_anothers(folder, page)
        });
        self.edit_page(page, |node| {
            node.stem = file.path.page_stem().map(ToOwned::to_owned);
            let (title, parent) = (node.remote.title.clone(), node.remote.parent.clone());
            if let Some(base) = &mut node.base {
                base.title = title;
                base.parent = parent;
                base.front_title.clone_from(&file.front_title);
                base.folder_at = left_behind;
                base.path = file.path.clone();
            }
        })
    }

    /// Whether a file beside this folder says that it is not `page`'s.
    fn is_anothers(&self, folder: &MirrorPath, page: &PageId) -> bool {
        let beside = folder.parent().and_then(|up| up.join(&format!("{}.md", folder.name())).ok());
        beside
            .and_then(|path| self.trees.files.get(&path))
            .is_some_and(|file| file.page.as_ref() != Some(page))
    }

    fn restore(&mut self, page: &PageId) -> Result<(), StoreError> {
        self.edit_page(page, |node| {
            node.base = None;
            node.missing_since = None;
            node.approved = false;
        })
    }

    /// The page of a file is gone and they were never agreed on: the file is a new one.
    fn let_go(&mut self, node: &Node) -> Result<(), StoreError> {
        if let Some(path) = &node.file {
            self.unbind(path, Some(node.id.clone()))?;
        }
        self.forget_page(&node.id)
    }

    /// The file becomes a new page where it is now; the old page is treated as one whose file was deleted.
    fn recreate(&mut self, node: &Node) -> Result<(), StoreError> {
        let Some(path) = node.file.clone() else { return Ok(()) };
        self.unbind(&path, Some(node.id.clone()))?;
        let (now, tick) = (self.now, self.tick);
        self.edit_page(&node.id, |page| {
            page.file = None;
            page.missing_since.get_or_insert(now);
        })?;
        self.moment(&node.id).missed = tick;
        Ok(())
    }

    fn materialise(&mut self, node: &Node) -> Result<Choice, StoreError> {
        if self.awaits_intent(node) || self.adopt_by_place(node)? {
            self.active.remove(&node.id);
            return Ok(None);
        }
        let Some(path) = self.belongs(node) else {
            self.active.remove(&node.id);
            return Ok(None);
        };
        let Some(body) = node.remote.body else { return Ok(None) };
        let blocks = self.store.body(body)?.unwrap_or_default();
        let front_title = Self::front_title_for(&path, &node.remote.title);
        let text = markdown::render(&blocks).text;
        let icon = node.remote.icon.as_deref();
        let Ok(text) = front_matter::set(&text, Some(node.id.as_str()), front_title.as_deref(), icon) else {
            self.park(&node.id, "its Markdown cannot be given front matter".to_owned())?;
            return Ok(None);
        };
        let stem = path.page_stem().map(ToOwned::to_owned);
        self.edit_page(&node.id, |page| page.stem = stem)?;
        let written = Written {
            text: ContentHash::of(text.as_bytes()),
            body,
            icon: node.remote.icon.clone(),
            front_title,
            claims: Some(node.id.clone()),
            new: true,
        };
        let purpose = Purpose::Write { page: node.id.clone(), path: path.clone(), written };
        Ok(Some((Effect::WriteFile { path, bytes: text.into_bytes(), expect: Expect::Absent }, purpose)))
    }

    /// Carries the service's body, title and icon into the bytes just read.
    fn splice(&mut self, page: &PageId, look: &FileLook) -> Result<Choice, StoreError> {
        let Some(node) = self.trees.pages.get(page).cloned() else { return Ok(None) };
        let (Some(base), Some(file)) = (node.base.clone(), self.trees.file_of(&node).cloned()) else {
            return Ok(None);
        };
        let hash = ContentHash::of(&look.bytes);
        if file.path != look.path || base.text != Some(hash) {
            // The user saved in between: that is an edit first.
            self.take_in_file(look)?;
            return Ok(None);
        }
        let Ok(text) = std::str::from_utf8(&look.bytes) else { return Ok(None) };
        let Ok(split) = front_matter::split(text) else { return Ok(None) };
        let body = node.remote.body.unwrap_or(base.body);
        let old = self.store.body(base.body)?.unwrap_or_default();
        let new = self.store.body(body)?.unwrap_or_default();
        let mut out = text[..split.body_start].to_owned();
        out.push_str(&markdown::patch(split.body, &old, &new));
        let path = self.belongs(&node).unwrap_or_else(|| file.path.clone());
        let front_title = wanted_front_title(&file, &path, &node.remote.title);
        let stamped = file.claims.is_some()
            || front_title.is_some()
            || node.remote.icon.is_some()
            || split.front.is_some();
        if stamped {
            match front_matter::set(
                &out,
                Some(page.as_str()),
                front_title.as_deref(),
                node.remote.icon.as_deref(),
            ) {
                Ok(text) => out = text,
                Err(error) => {
                    self.park(page, error.to_string())?;
                    return Ok(None);
                }
            }
        }
        let written = Written {
            text: ContentHash::of(out.as_bytes()),
            body,
            icon: node.remote.icon.clone(),
            front_title,
            claims: stamped.then(|| page.clone()),
            new: false,
        };
        if written.text == hash {
            self.written(page, &look.path, written, look.stamp)?;
            return Ok(None);
        }
        let purpose = Purpose::Write { page: page.clone(), path: look.path.clone(), written };
        let effect = Effect::WriteFile {
            path: look.path.clone(),
            bytes: out.into_bytes(),
            expect: Expect::Content(hash),
        };
        Ok(Some((effect, purpose)))
    }

    fn written(
        &mut self,
        page: &PageId,
        path: &MirrorPath,
        what: Written,
        stamp: Stamp,
    ) -> Result<(), StoreError> {
        if !self.trees.pages.contains_key(page) {
            self.watch.scan_by(self.now);
            return Ok(());
        }
        let file = LocalFile {
            path: path.clone(),
            page: Some(page.clone()),
            stamp,
            hash: Some(what.text),
            claims: what.claims.clone(),
            disowned: None,
            front_title: what.front_title.clone(),
            problem: None,
            racy: true,
        };
        self.save_file(file)?;
        self.trees.folders.extend(path.parent());
        let words = if what.new { "new page" } else { "updated from the service" };
        let mut differs = what.new;
        self.edit_page(page, |node| {
            node.file = Some(path.clone());
            node.missing_since = None;
            differs |= node.base.as_ref().is_none_or(|base| base.body != what.body);
            match &mut node.base {
                Some(base) => {
                    base.body = what.body;
                    base.text = Some(what.text);
                    base.icon.clone_from(&what.icon);
                    // The title just written may wait for the rename that goes with it.
                    base.front_title.clone_from(&what.front_title);
                }
                None => {
                    node.base = Some(Agreed {
                        parent: node.remote.parent.clone(),
                        title: node.remote.title.clone(),
                        icon: what.icon,
                        body: what.body,
                        text: Some(what.text),
                        front_title: what.front_title,
                        path: path.clone(),
                        folder_at: None,
                    });
                }
            }
        })?;
        if differs {
            self.say(Way::Down, path, words);
        }
        if what.new {
            self.wake_all();
        }
        Ok(())
    }

    fn relocate(&mut self, node: &Node, puts_back: bool) -> Result<Choice, StoreError> {
        let (Some(from), Some(to)) = (node.file.clone(), self.belongs(node)) else { return Ok(None) };
        if from == to {
            self.agree_on_place(node)?;
            return Ok(None);
        }
        let effect = Effect::Rename { from: from.clone(), to: to.clone() };
        Ok(Some((effect, Purpose::Relocate { page: node.id.clone(), from, to, puts_back })))
    }

    fn relocated(
        &mut self,
        page: &PageId,
        from: &MirrorPath,
        to: &MirrorPath,
        puts_back: bool,
    ) -> Result<(), StoreError> {
        self.rename_file(from, to)?;
        self.trees.folders.extend(to.parent());
        let Some(file) = self.trees.files.get(to).cloned() else { return Ok(()) };
        self.settle_place(page, &file, Some(from))?;
        self.wake_all();
        if puts_back {
            self.say(Way::Aside, to, format!("put back from {from}: the service cannot move pages"));
            self.notice(
                to.as_str(),
                format!("it was moved to {from} and has been put back: the service's API cannot move pages"),
                "move it in the app, or set moves = \"recreate\" in [pages]",
            )?;
        } else {
            self.say(Way::Down, to, format!("renamed from {from}"));
        }
        if let Some(folder) = from.parent() {
            self.tidy_folder(&folder);
        }
        Ok(())
    }

    /// An emptied folder of a page is removed; anything else stays.
    pub(super) fn tidy_folder(&mut self, folder: &MirrorPath) {
        let is_root =
            self.workspace_at(folder).and_then(|w| self.pages_root(&w)).is_none_or(|root| root == *folder);
        let in_use =
            self.trees.files.range(folder.clone()..).map(|(path, _)| path).find(|p| p.is_within(folder));
        if !is_root && in_use.is_none() && self.ready.is_none() {
            self.ready =
                Some((Effect::RemoveFolder(folder.clone()), Purpose::RemoveFolder { path: folder.clone() }));
        }
    }

    fn move_folder(&mut self, node: &Node) -> Result<Choice, StoreError> {
        let Some(base) = &node.base else { return Ok(None) };
        let (Some(from), Some(to)) = (base.folder_at.clone(), folder_of(&base.path)) else { return Ok(None) };
        if from == to || !self.trees.folders.contains(&from) || self.trees.folders.contains(&to) {
            // Nothing to move as a whole: what is left in the old folder is moved file by file.
            self.edit_page(&node.id, |page| {
                if let Some(base) = &mut page.base {
                    base.folder_at = None;
                }
            })?;
            self.wake_all();
            return Ok(None);
        }
        let effect = Effect::Rename { from: from.clone(), to: to.clone() };
        Ok(Some((effect, Purpose::MoveFolder { page: node.id.clone(), from, to })))
    }

    fn folder_moved(&mut self, page: &PageId, from: &MirrorPath, to: &MirrorPath) -> Result<(), StoreError> {
        for (old, new) in self.trees.rebase(from, to) {
            self.rename_file(&old, &new)?;
        }
        self.rebase_agreed(from, to)?;
        self.edit_page(page, |node| {
            if let Some(base) = &mut node.base {
                base.folder_at = None;
            }
        })?;
        self.wake_all();
        Ok(())
    }

    /// What was agreed to be in a folder is agreed to be in it still, wherever it has moved.
    pub(super) fn rebase_agreed(&mut self, from: &MirrorPath, to: &MirrorPath) -> Result<(), StoreError> {
        let inside: Vec<PageId> = self
            .trees
            .pages
            .values()
            .filter(|node| node.base.as_ref().is_some_and(|base| base.path.is_within(from)))
            .map(|node| node.id.clone())
            .collect();
        for id in inside {
            self.edit_page(&id, |node| {
                if let Some(base) = &mut node.base {
                    base.path = base.path.rebase(from, to).unwrap_or_else(|| base.path.clone());
                    base.folder_at = base.folder_at.take().map(|at| at.rebase(from, to).unwrap_or(at));
                }
            })?;
        }
        Ok(())
    }

    fn keep_both(&mut self, node: &Node) -> Result<Choice, StoreError> {
        let Some(from) = node.file.clone() else { return Ok(None) };
        let Some(to) = self.conflict_path(&from) else { return Ok(None) };
        let effect = Effect::Rename { from: from.clone(), to: to.clone() };
        Ok(Some((effect, Purpose::SetAside { page: node.id.clone(), from, to, then_gone: false })))
    }

    pub(super) fn record_conflict(
        &mut self,
        copy: &MirrorPath,
        beside: &MirrorPath,
        text: ContentHash,
        summary: String,
    ) -> Result<(), StoreError> {
        self.trees.occupied.insert(copy.clone());
        let conflict = Conflict {
            path: copy.clone(),
            page_path: beside.clone(),
            made_at: self.now,
            summary: summary.clone(),
            text,
        };
        self.store.save_conflict(&conflict)?;
        self.say(Way::Aside, beside, format!("conflict: your version is kept in {}", copy.name()));
        Ok(())
    }

    /// Takes in the answer to a disk effect.
    pub(super) fn disk_done(
        &mut self,
        flight: Flight,
        result: Result<DiskReply, DiskError>,
    ) -> Result<(), StoreError> {
        let tick = self.tick;
        if let Some(page) = flight.purpose.page().cloned() {
            self.wake(&page);
            if !matches!(flight.purpose, Purpose::ReadToSplice { .. } | Purpose::ReadToCopy { .. }) {
                let moment = self.moment(&page);
                moment.acted = tick;
                if result.is_ok() {
                    moment.failures = 0;
                    moment.held = None;
                }
            }
        }
        match (flight.purpose.clone(), result) {
            (Purpose::Scan, Ok(DiskReply::Scan(scan))) => self.scan_done(&flight, scan),
            (Purpose::Scan, Err(error)) => {
                self.root.state = Some(Err(error.to_string()));
                self.watch.scan_by(self.now.plus_ms(10_000));
                Ok(())
            }
            (Purpose::Read { path }, Ok(DiskReply::File(look))) => self.read_done(&path, Ok(look)),
            (Purpose::Read { path }, Err(error)) => self.read_done(&path, Err(error)),
            (Purpose::ReadToSplice { page, .. }, Ok(DiskReply::File(look))) => {
                self.ready = self.splice(&page, &look)?;
                Ok(())
            }
            (Purpose::ReadToCopy { page, path, summary }, Ok(DiskReply::File(look))) => {
                self.ready = self.copy_of(&page, &path, &look, summary);
                Ok(())
            }
            (Purpose::Write { page, path, written }, Ok(DiskReply::Written(stamp))) => {
                self.written(&page, &path, written, stamp)
            }
            (Purpose::WriteCopy { page, copy, beside, text, summary }, Ok(DiskReply::Written(_))) => {
                self.moment(&page).copied = Some(text);
                self.record_conflict(&copy, &beside, text, summary)
            }
            (Purpose::SetAside { page, from, to, then_gone }, Ok(DiskReply::Finished)) => {
                self.set_aside(&page, &from, &to, then_gone)
            }
            (Purpose::Relocate { page, from, to, puts_back }, Ok(DiskReply::Finished)) => {
                self.relocated(&page, &from, &to, puts_back)
            }
            (Purpose::MoveFolder { page, from, to }, Ok(DiskReply::Finished)) => {
                self.folder_moved(&page, &from, &to)
            }
            (Purpose::TrashFile { page, path }, Ok(DiskReply::Finished)) => self.file_trashed(&page, &path),
            (Purpose::RemoveFolder { path }, Ok(DiskReply::Finished)) => {
                self.trees.folders.remove(&path);
                if let Some(up) = path.parent() {
                    self.tidy_folder(&up);
                }
                Ok(())
            }
            (purpose, Err(error)) => self.disk_act_failed(&purpose, &error),
            (_, Ok(reply)) => {
                self.disk_reply_is_wrong(&reply);
                Ok(())
            }
        }
    }

    fn disk_act_failed(&mut self, purpose: &Purpose, error: &DiskError) -> Result<(), StoreError> {
        let Some(page) = purpose.page().cloned() else { return Ok(()) };
        self.disk_failed(&MirrorPath::root(), error);
        let failures = {
            let moment = self.moment(&page);
            moment.failures += 1;
            moment.failures
        };
        let base_ms = match error {
            DiskError::Changed(_) | DiskError::Exists(_) | DiskError::Missing(_) => 50,
            _ => 2_000,
        };
        let wait = (base_ms << failures.min(8)).min(300_000);
        let now = self.now;
        let moment = self.moment(&page);
        moment.retry_at = now.plus_ms(wait);
        if matches!(
            error,
            DiskError::Denied(..) | DiskError::Full(..) | DiskError::NotOrdinary(_) | DiskError::Io(..)
        ) {
            moment.held = Some(error.to_string());
        }
        Ok(())
    }

    fn copy_of(&mut self, page: &PageId, path: &MirrorPath, look: &FileLook, summary: String) -> Choice {
        let copy = self.conflict_path(path)?;
        let text = ContentHash::of(&look.bytes);
        let effect =
            Effect::WriteFile { path: copy.clone(), bytes: look.bytes.clone(), expect: Expect::Absent };
        Some((effect, Purpose::WriteCopy { page: page.clone(), copy, beside: path.clone(), text, summary }))
    }
}

/// The title that the front matter shall hold: what the name cannot say, or what the user wrote there and is true.
fn wanted_front_title(file: &LocalFile, path: &MirrorPath, title: &str) -> Option<String> {
    Engine::front_title_for(path, title)
        .or_else(|| file.front_title.clone().filter(|written| written == title && *path == file.path))
}

fn front_is_stale(file: &LocalFile, path: &MirrorPath, node: &Node) -> bool {
    let foreign_id = file.claims.as_ref().is_some_and(|claims| *claims != node.id);
    foreign_id || file.front_title != wanted_front_title(file, path, &node.remote.title)
}
