//! What each decision leads to, carried out at once: as the engine does it, with every write naming what it expects.

use super::mirror::{Mirror, Wish, Writing, front_title_for, new_node, stamp_of, wanted_front_title};
use super::world::{Text, World, blocks, hash_of, lines};
use crate::model::{
    Agreed, ContentHash, LocalFile, MirrorPath, Moves, Node, PageId, Presence, Sent, Timestamp, folder_of,
};
use crate::plan::{Decision, Place, changed_at_the_service, guard, merge, naming};

/// More turns for one page without a look is no end.
const TURNS_MAX: usize = 12;

/// What became of an act.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Done,
    /// Refused, and so told.
    Refused,
    /// Carried out, and its answer lost: with everything that only this run knew.
    LostAfter,
    /// Not carried out, and nothing tells.
    LostBefore,
}

/// What is written, for the record.
struct Written {
    text: Text,
    body: ContentHash,
    title: Option<String>,
}

impl Mirror {
    fn fate(&mut self, world: &mut World, faults: bool) -> Fate {
        if !faults || !world.luck.percent(25) {
            self.deeds += 1;
            return Fate::Done;
        }
        self.deeds += 1;
        match world.luck.below(6) {
            0 | 1 => Fate::LostAfter,
            2 => Fate::LostBefore,
            3 => Fate::Refused,
            4 => {
                // Somebody comes between the plan and the act.
                world.act_on_disk();
                Fate::Done
            }
            _ => {
                self.crash();
                Fate::LostBefore
            }
        }
    }

    /// A disk act that was not answered well: a look tells what is.
    fn look_again(&mut self, world: &mut World, fate: Fate) {
        if fate == Fate::LostAfter {
            self.crash();
        }
        self.refused = true;
        self.scan(world);
        // A new start knows at once of what is gone on both sides.
        let is_gone = |node: &&Node| self.decide(node) == Decision::Forget;
        let gone: Vec<PageId> = self.pages.values().filter(is_gone).map(|node| node.id.clone()).collect();
        gone.iter().for_each(|page| self.forget(page));
    }

    /// Decides on one page until nothing more can be done for it at once. Returns the last decision.
    pub(super) fn settle(&mut self, world: &mut World, page: &PageId, faults: bool) -> Decision {
        for _ in 0..TURNS_MAX {
            let Some(node) = self.pages.get(page).cloned() else { return Decision::Rest };
            let decision = self.decide(&node);
            world.tell(|| format!("  {page} {decision:?}"));
            self.refused = false;
            match &decision {
                Decision::Rest | Decision::Wait => return decision,
                Decision::Settle => {
                    let scanned = self.scanned;
                    self.moment(page).moved_at.get_or_insert(scanned);
                    return decision;
                }
                Decision::Look => {
                    self.get(world, page);
                    return decision;
                }
                Decision::Push { .. } => {
                    self.push(world, page, faults);
                    return decision;
                }
                Decision::TrashPage => {
                    self.trash_page(world, page, faults);
                    return decision;
                }
                Decision::Adopt => self.adopt(&node),
                Decision::AcceptBytes => {
                    let hash = self.file(&node).and_then(|file| file.hash);
                    self.agreed(page, |base| base.text = hash);
                }
                Decision::AgreeOnPlace => {
                    if let Some(file) = self.file(&node).cloned() {
                        self.settle_place(page, &file, None);
                    }
                }
                Decision::Restore => self.come_back(page),
                Decision::Forget => self.forget(page),
                Decision::Unbind => {
                    if let Some(path) = &node.file {
                        self.unbind(path, Some(page.clone()));
                    }
                    self.forget(page);
                }
                Decision::Recreate => {
                    self.get(world, page);
                    if self.pages.get(page).map(|node| self.decide(node)) != Some(Decision::Recreate) {
                        return decision;
                    }
                    self.recreate(&node);
                }
                Decision::Read => {
                    let Some(path) = &node.file else { return decision };
                    self.read(world, path);
                    if self.files.get(path).is_none_or(|file| file.hash.is_none()) {
                        return decision;
                    }
                }
                Decision::Materialise => {
                    if !self.materialise(world, &node, faults) {
                        return decision;
                    }
                }
                Decision::KeepBoth => self.set_aside(world, &node, false, faults),
                Decision::Splice => self.splice(world, &node, faults),
                Decision::Relocate { puts_back } => {
                    if *puts_back && self.moves != Moves::PutBack {
                        world.fail(|| "put back although moves = recreate".to_owned());
                    }
                    self.relocate(world, &node, faults);
                }
                Decision::MoveFolder => self.move_folder(world, &node, faults),
                Decision::TrashFile | Decision::SetAside => {
                    if self.vanishing_is_held(page) {
                        return decision;
                    }
                    if decision == Decision::TrashFile {
                        self.trash_file(world, &node, faults);
                    } else {
                        self.set_aside(world, &node, true, faults);
                    }
                }
            }
            // What was refused is tried again later.
            if self.refused || world.broken.is_some() {
                return decision;
            }
        }
        world.fail(|| format!("no end to deciding on {page}"));
        Decision::Wait
    }

    fn file(&self, node: &Node) -> Option<&LocalFile> {
        node.file.as_ref().and_then(|path| self.files.get(path))
    }

    fn agreed(&mut self, page: &PageId, change: impl FnOnce(&mut Agreed)) {
        if let Some(base) = self.pages.get_mut(page).and_then(|node| node.base.as_mut()) {
            change(base);
        }
    }

    fn adopt(&mut self, node: &Node) {
        let Some(file) = self.file(node).cloned() else { return };
        let Some(body) = node.remote.body else { return };
        if let Some(page) = self.pages.get_mut(&node.id) {
            page.stem = file.path.page_stem().map(str::to_owned);
            page.base = Some(Agreed {
                parent: page.remote.parent.clone(),
                title: page.remote.title.clone(),
                icon: page.remote.icon.clone(),
                body,
                text: file.hash,
                front_title: file.front_title,
                path: file.path,
                folder_at: None,
            });
        }
    }

    fn come_back(&mut self, page: &PageId) {
        if let Some(node) = self.pages.get_mut(page).filter(|node| node.file.is_none()) {
            node.base = None;
            node.missing_since = None;
            node.missing_from = None;
            node.approved = false;
        }
    }

    fn forget(&mut self, page: &PageId) {
        self.pages.remove(page);
        self.moments.remove(page);
        self.sent.remove(page);
        self.writing.remove(page);
    }

    fn recreate(&mut self, node: &Node) {
        let Some(path) = &node.file else { return };
        self.unbind(path, Some(node.id.clone()));
        let scanned = self.scanned;
        if let Some(node) = self.pages.get_mut(&node.id) {
            node.file = None;
            node.missing_since.get_or_insert(Timestamp(scanned));
        }
    }

    // The disk.

    /// Whether anything came of it.
    fn materialise(&mut self, world: &mut World, node: &Node, faults: bool) -> bool {
        let awaited = self.wishes.values().any(|wish| is_answer(node, wish));
        let (Some(path), Some(body), false) = (self.belongs(node), node.remote.body, awaited) else {
            return false;
        };
        let title = front_title_for(&path, &node.remote.title);
        let text = Text {
            broken: false,
            claims: Some(node.id.clone()),
            title: title.clone(),
            icon: node.remote.icon.clone(),
            style: 0,
            lines: self.bodies[&body].clone(),
        };
        let fate = self.fate(world, faults);
        let free = !world.is_taken(&path);
        if free && matches!(fate, Fate::Done | Fate::LostAfter) {
            world.save(path.clone(), text.clone());
        }
        if fate != Fate::Done || !free {
            self.look_again(world, fate);
            return false;
        }
        self.written(world, &node.id, &path, Written { text, body, title });
        true
    }

    fn written(&mut self, world: &World, page: &PageId, path: &MirrorPath, what: Written) {
        self.writing.remove(page);
        let hash = hash_of(&what.text);
        let file = LocalFile {
            path: path.clone(),
            page: Some(page.clone()),
            stamp: stamp_of(world.files[path].object, &what.text),
            hash: Some(hash),
            claims: what.text.claims,
            disowned: None,
            front_title: what.title.clone(),
            problem: None,
            racy: false,
        };
        self.files.insert(path.clone(), file);
        self.folders.extend(path.parent());
        let folder_at = self.pages.get(page).and_then(|node| self.folder_of_another_name(node, path));
        let Some(node) = self.pages.get_mut(page) else { return };
        node.file = Some(path.clone());
        node.missing_since = None;
        node.missing_from = None;
        if let Some(base) = &mut node.base {
            base.body = what.body;
            base.text = Some(hash);
            base.icon.clone_from(&node.remote.icon);
            base.front_title = what.title;
        } else {
            node.stem = path.page_stem().map(str::to_owned);
            node.base = Some(Agreed {
                parent: node.remote.parent.clone(),
                title: node.remote.title.clone(),
                icon: node.remote.icon.clone(),
                body: what.body,
                text: Some(hash),
                front_title: what.title,
                path: path.clone(),
                folder_at,
            });
        }
    }

    /// The folder that has waited for this page, when its file could not have the folder's name.
    fn folder_of_another_name(&self, node: &Node, path: &MirrorPath) -> Option<MirrorPath> {
        let waited = path.parent()?.join(node.stem.as_deref()?).ok()?;
        let is_its = self.folder_stands_for(&waited) == Place::Under(Some(node.id.clone()));
        let differs = folder_of(path).as_ref() != Some(&waited);
        (node.base.is_none() && differs && is_its && self.folders.contains(&waited)).then_some(waited)
    }

    fn splice(&mut self, world: &mut World, node: &Node, faults: bool) {
        let (Some(base), Some(file)) = (&node.base, self.file(node).cloned()) else { return };
        let fate = self.fate(world, faults);
        let old = world.files.get(&file.path).cloned();
        let Some(old) = old.filter(|old| Some(hash_of(&old.text)) == base.text) else {
            // Somebody saved in between: that is an edit first.
            return self.look_again(world, fate);
        };
        let body = node.remote.body.unwrap_or(base.body);
        let path = self.belongs(node).unwrap_or_else(|| file.path.clone());
        let title = wanted_front_title(&file, &path, &node.remote.title);
        let had_front = old.text.claims.is_some() || old.text.title.is_some() || old.text.icon.is_some();
        let stamped = title.is_some() || node.remote.icon.is_some() || had_front;
        let text = Text {
            claims: stamped.then(|| node.id.clone()),
            title: title.clone(),
            icon: node.remote.icon.clone(),
            lines: self.bodies[&body].clone(),
            ..old.text.clone()
        };
        if text != old.text {
            // An edit that the service never got is not written over.
            let kept = |world: &World| world.are_served(&old.text.lines) || self.is_copied(world, &old.text);
            if !kept(world) {
                world.fail(|| format!("an edit of {} is written over", file.path));
            }
            let icon = node.remote.icon.clone();
            self.writing.insert(node.id.clone(), Writing { text: hash_of(&text), body, icon });
            if matches!(fate, Fate::Done | Fate::LostAfter) {
                world.save(file.path.clone(), text.clone());
            }
            if fate != Fate::Done {
                if fate == Fate::Refused {
                    self.writing.remove(&node.id);
                }
                return self.look_again(world, fate);
            }
        }
        self.written(world, &node.id, &file.path, Written { text, body, title });
    }

    fn is_copied(&self, world: &World, text: &Text) -> bool {
        world.copies.values().any(|copy| copy == text)
    }

    fn copy_path(&self, world: &World, beside: &MirrorPath) -> MirrorPath {
        let folder = beside.parent().unwrap();
        let when = naming::WallTime { year: 2026, month: 1, day: 1, hour: 1, minute: 1, second: 1 };
        let taken = |key: &str| {
            let inside = world.copies.keys().filter(|path| path.parent().as_ref() == Some(&folder));
            inside.filter_map(|path| path.page_stem()).any(|stem| naming::fold(stem) == key)
        };
        folder.join(&naming::conflict_copy(beside.page_stem().unwrap(), when, &taken, 252)).unwrap()
    }

    /// The file becomes a conflict copy.
    fn set_aside(&mut self, world: &mut World, node: &Node, then_gone: bool, faults: bool) {
        let Some(path) = node.file.clone() else { return };
        let to = self.copy_path(world, &path);
        let fate = self.fate(world, faults);
        let mut done = false;
        if matches!(fate, Fate::Done | Fate::LostAfter)
            && let Some(file) = world.files.remove(&path)
        {
            world.copies.insert(to, file.text);
            done = true;
        }
        if fate != Fate::Done || !done {
            return self.look_again(world, fate);
        }
        self.files.remove(&path);
        if then_gone {
            self.forget(&node.id);
        } else if let Some(node) = self.pages.get_mut(&node.id) {
            node.file = None;
        }
    }

    fn trash_file(&mut self, world: &mut World, node: &Node, faults: bool) {
        let Some(path) = node.file.clone() else { return };
        let expected = self.file(node).and_then(|file| file.hash);
        let fate = self.fate(world, faults);
        let mut done = false;
        if matches!(fate, Fate::Done | Fate::LostAfter)
            && world.files.get(&path).is_some_and(|file| Some(hash_of(&file.text)) == expected)
        {
            let text = world.files.remove(&path).unwrap().text;
            if !world.are_served(&text.lines) && !self.is_copied(world, &text) {
                world.fail(|| format!("{path} goes to the trash with words that the service never got"));
            }
            world.trash.push(text);
            done = true;
        }
        if fate != Fate::Done || !done {
            return self.look_again(world, fate);
        }
        self.files.remove(&path);
        self.forget(&node.id);
    }

    fn relocate(&mut self, world: &mut World, node: &Node, faults: bool) {
        let (Some(from), Some(to)) = (node.file.clone(), self.belongs(node)) else { return };
        if from != to {
            let fate = self.fate(world, faults);
            let done = matches!(fate, Fate::Done | Fate::LostAfter) && world.rename(&from, &to);
            if fate != Fate::Done || !done {
                return self.look_again(world, fate);
            }
            self.rename_file(&from, &to);
            self.folders = world.folders();
        }
        let Some(file) = self.files.get(&to).cloned() else { return };
        self.settle_place(&node.id, &file, Some(&from));
    }

    fn rename_file(&mut self, from: &MirrorPath, to: &MirrorPath) {
        let Some(mut file) = self.files.remove(from) else { return };
        file.path = to.clone();
        if let Some(node) = file.page.as_ref().and_then(|page| self.pages.get_mut(page)) {
            node.file = Some(to.clone());
        }
        self.files.insert(to.clone(), file);
    }

    fn settle_place(&mut self, page: &PageId, file: &LocalFile, from: Option<&MirrorPath>) {
        let Some(base) = self.pages.get(page).and_then(|node| node.base.clone()) else { return };
        self.moment(page).moved_at = None;
        let new = folder_of(&file.path);
        let candidates = [base.folder_at, folder_of(&base.path), from.and_then(folder_of)];
        let left_behind = candidates.into_iter().flatten().find(|folder| {
            Some(folder) != new.as_ref()
                && !file.path.is_within(folder)
                && self.folders.contains(folder)
                && !self.is_anothers(folder, page)
        });
        let Some(node) = self.pages.get_mut(page) else { return };
        node.stem = file.path.page_stem().map(str::to_owned);
        if let Some(base) = &mut node.base {
            base.title.clone_from(&node.remote.title);
            base.parent.clone_from(&node.remote.parent);
            base.front_title.clone_from(&file.front_title);
            base.folder_at = left_behind;
            base.path = file.path.clone();
        }
    }

    fn move_folder(&mut self, world: &mut World, node: &Node, faults: bool) {
        let Some(base) = &node.base else { return };
        let (Some(from), Some(to)) = (base.folder_at.clone(), folder_of(&base.path)) else { return };
        if !to.is_within(&from) && self.folders.contains(&from) && !self.folders.contains(&to) {
            let fate = self.fate(world, faults);
            let done = matches!(fate, Fate::Done | Fate::LostAfter) && world.rename_folder(&from, &to);
            if fate != Fate::Done || !done {
                return self.look_again(world, fate);
            }
            let inside: Vec<MirrorPath> =
                self.files.keys().filter(|path| path.is_within(&from)).cloned().collect();
            for old in inside {
                let new = old.rebase(&from, &to).unwrap();
                self.rename_file(&old, &new);
            }
            let wished: Vec<MirrorPath> =
                self.wishes.keys().filter(|path| path.is_within(&from)).cloned().collect();
            for old in wished {
                self.follow_wish(&old, &old.rebase(&from, &to).unwrap());
            }
            self.rebase_agreed(&from, &to);
            self.folders = world.folders();
            self.occupied = world.copies.keys().cloned().collect();
        }
        self.agreed(&node.id, |base| base.folder_at = None);
    }

    fn vanishing_is_held(&mut self, page: &PageId) -> bool {
        let left = |node: &&Node| {
            matches!(node.remote.presence, Presence::Unlisted | Presence::Gone) && !node.approved
        };
        let mine = || self.pages.values().filter(|node| node.base.is_some());
        let held = guard::list_shrank(mine().count(), mine().filter(left).count(), 10).is_some();
        let Some(node) = self.pages.get_mut(page) else { return false };
        // Somebody lets it through, the next time it is asked.
        !std::mem::replace(&mut node.approved, true) && held
    }

    // The service.

    fn push(&mut self, world: &mut World, page: &PageId, faults: bool) {
        self.get(world, page);
        let Some(node) = self.pages.get(page).cloned() else { return };
        let Decision::Push { title } = self.decide(&node) else { return };
        let (Some(base), Some(file), Some(before)) =
            (node.base.clone(), self.file(&node).cloned(), node.remote.body)
        else {
            return;
        };
        let Some(local) = self.meaning(&node, &file) else { return };
        let text = file.hash.unwrap_or(local);
        let [was, theirs, ours] = [base.body, before, local].map(|hash| &self.bodies[&hash]);
        let merged = merge::merge(&blocks(was), &blocks(theirs), &blocks(ours));
        if !merged.collisions.is_empty() && self.moment(page).copied != Some(text) {
            let copied = world.files.get(&file.path).map(|file| file.text.clone());
            if let Some(copied) = copied.filter(|copied| hash_of(copied) == text)
                && !self.is_copied(world, &copied)
            {
                let to = self.copy_path(world, &file.path);
                world.copies.insert(to, copied);
            }
            self.moment(page).copied = Some(text);
        }
        let content = lines(&merged.blocks);
        let body = self.keep(&content);
        if body == before && title.is_none() {
            return self.agree_on_local(page, local, text, None);
        }
        let sent = Sent { page: page.clone(), text, local, before, body, title: title.clone() };
        self.sent.insert(page.clone(), sent.clone());
        let fate = self.fate(world, faults);
        let mut found = false;
        if matches!(fate, Fate::Done | Fate::LostAfter)
            && let Some(served) = world.pages.get_mut(page).filter(|page| page.visible && !page.trashed)
        {
            served.lines = content;
            if let Some(title) = &title {
                served.title.clone_from(title);
            }
            found = true;
        }
        match fate {
            Fate::Done if found => {
                self.sent.remove(page);
                if let Some(node) = self.pages.get_mut(page) {
                    node.remote.body = Some(body);
                    if let Some(title) = &title {
                        node.remote.title.clone_from(title);
                    }
                }
                self.agree_on_local(page, sent.local, sent.text, title);
            }
            Fate::Done | Fate::Refused => drop(self.sent.remove(page)),
            Fate::LostAfter => {
                self.crash();
                self.scan(world);
            }
            Fate::LostBefore => {}
        }
    }

    fn agree_on_local(
        &mut self,
        page: &PageId,
        local: ContentHash,
        text: ContentHash,
        title: Option<String>,
    ) {
        let front =
            self.pages.get(page).and_then(|node| self.file(node)).map(|file| file.front_title.clone());
        let Some(node) = self.pages.get_mut(page) else { return };
        node.approved = false;
        if let Some(base) = &mut node.base {
            base.body = local;
            base.text = Some(text);
            if let Some(title) = title {
                base.title = title;
                if let Some(front) = front {
                    base.front_title = front;
                }
            }
        }
    }

    fn is_deleted_here(&self, node: &Node) -> bool {
        node.base.is_some()
            && node.file.is_none()
            && node.remote.presence == Presence::Listed
            && self.grace_is_over(node)
    }

    fn subtree(&self, page: &PageId) -> Vec<PageId> {
        let mut all = vec![page.clone()];
        let mut at = 0;
        while at < all.len() {
            let below = self.pages.values().filter(|node| node.remote.parent.as_ref() == Some(&all[at]));
            let below: Vec<PageId> =
                below.map(|node| node.id.clone()).filter(|id| !all.contains(id)).collect();
            all.extend(below);
            at += 1;
        }
        all
    }

    fn trash_page(&mut self, world: &mut World, page: &PageId, faults: bool) {
        self.list(world);
        for id in self.subtree(page) {
            self.get(world, &id);
        }
        let Some(node) = self.pages.get(page).cloned() else { return };
        if self.decide(&node) != Decision::TrashPage {
            return;
        }
        let parent = node.remote.parent.as_ref().and_then(|parent| self.pages.get(parent));
        if parent.is_some_and(|parent| self.is_deleted_here(parent)) {
            return;
        }
        for id in self.subtree(page) {
            let Some(part) = self.pages.get(&id) else { continue };
            if part.file.is_some() || part.base.is_none() || changed_at_the_service(part) {
                return self.come_back(page);
            }
            if !self.is_deleted_here(part) {
                return;
            }
        }
        let count = self.pages.values().filter(|node| self.is_gone_here(node)).count();
        let mirrored = self.pages.values().filter(|node| node.base.is_some()).count();
        let held = guard::mass_deletion(count, 0, mirrored, 10).is_some();
        if let Some(node) = self.pages.get_mut(page)
            && !std::mem::replace(&mut node.approved, true)
            && held
        {
            return;
        }
        let fate = self.fate(world, faults);
        if matches!(fate, Fate::Done | Fate::LostAfter) && world.get(page).is_some() {
            // What is beneath a page that nobody may see goes along: no look can tell that it is there.
            let beneath = world.subtree(page).into_iter().filter(|id| self.pages.contains_key(id));
            let beneath: Vec<PageId> = beneath.filter(|id| self.subtree(page).contains(id)).collect();
            for id in beneath {
                let lines = world.pages[&id].lines.clone();
                if !world.pages[&id].trashed && world.pages[&id].visible && !world.are_on_disk(&lines) {
                    world.fail(|| format!("{id} is trashed with words that nobody threw away"));
                }
            }
            world.put_in_trash(page);
        }
        if fate == Fate::Done {
            for id in self.subtree(page) {
                self.forget(&id);
            }
        } else if fate == Fate::LostAfter {
            self.crash();
            self.scan(world);
        }
    }

    fn is_gone_here(&self, node: &Node) -> bool {
        node.base.is_some() && node.file.is_none() && node.missing_since.is_some() && !node.approved
    }

    // New files.

    pub(super) fn create(&mut self, world: &mut World, faults: bool) {
        let unbound: Vec<MirrorPath> =
            self.files.values().filter(|file| file.page.is_none()).map(|file| file.path.clone()).collect();
        for path in unbound {
            let Some((place, parent)) = self.place_to_create(&path) else { continue };
            let file = self.files[&path].clone();
            let is_file = place == path;
            let stem = path.page_stem().unwrap();
            let title = match file.front_title {
                _ if !is_file => naming::title_of(place.name()),
                Some(title) if naming::still_says(stem, &title) => title,
                _ => naming::title_of(stem),
            };
            self.now += 1;
            let wish = Wish { parent: parent.clone(), title: title.clone(), is_file, asked_at: self.now };
            world.tell(|| format!("  POST {title:?} for {place}"));
            let fate = self.fate(world, faults);
            let there = parent.as_ref().is_none_or(|id| world.get(id).is_some());
            self.wishes.insert(place.clone(), wish.clone());
            match fate {
                Fate::Done | Fate::LostAfter if there => {
                    let id = world.page(parent, &title, Vec::new());
                    if fate == Fate::Done {
                        self.wishes.remove(&place);
                        self.page_made(&place, &wish, &id);
                    } else {
                        self.crash();
                    }
                }
                Fate::LostAfter | Fate::LostBefore => {}
                Fate::Done | Fate::Refused => drop(self.wishes.remove(&place)),
            }
        }
    }

    fn place_to_create(&self, path: &MirrorPath) -> Option<(MirrorPath, Option<PageId>)> {
        let file = &self.files[path];
        if file.hash.is_none() || file.problem.is_some() || file.page.is_some() {
            return None;
        }
        let mut place = path.clone();
        loop {
            if self.wishes.contains_key(&place) {
                return None;
            }
            let folder = place.parent()?;
            match self.folder_stands_for(&folder) {
                Place::Under(parent) => {
                    let is_there = |id: &PageId| {
                        self.pages.get(id).is_some_and(|node| {
                            matches!(node.remote.presence, Presence::Listed | Presence::Hidden)
                        })
                    };
                    return parent.as_ref().is_none_or(is_there).then_some((place, parent));
                }
                Place::Elsewhere => {
                    let beside = folder.parent()?.join(&format!("{}.md", folder.name())).ok()?;
                    if self.files.contains_key(&beside) || self.wishes.contains_key(&beside) {
                        return None;
                    }
                    place = folder;
                }
            }
        }
    }

    fn page_made(&mut self, path: &MirrorPath, wish: &Wish, id: &PageId) {
        let empty = self.keep(&[]);
        let mut node = self.pages.get(id).cloned().unwrap_or_else(|| new_node(id, self.now));
        node.remote.parent.clone_from(&wish.parent);
        node.remote.title.clone_from(&wish.title);
        node.remote.body = node.remote.body.or(Some(empty));
        node.stem = path.page_stem().or(Some(path.name())).map(str::to_owned);
        let file = self.files.get(path).filter(|file| file.page.is_none()).cloned();
        if wish.is_file {
            node.base = Some(Agreed {
                parent: wish.parent.clone(),
                title: wish.title.clone(),
                icon: None,
                body: empty,
                text: None,
                front_title: file.as_ref().and_then(|file| file.front_title.clone()),
                path: path.clone(),
                folder_at: None,
            });
            if file.is_none() {
                node.missing_since = Some(Timestamp(self.scanned));
                node.missing_from = Some(path.clone());
            }
        }
        self.pages.insert(id.clone(), node);
        if wish.is_file && file.is_some() {
            self.bind(path, id);
        }
    }

    /// After a list: whether POSTs whose answers were lost have made pages.
    pub(super) fn grant_wishes(&mut self, world: &World) {
        for (path, wish) in self.wishes.clone() {
            let made = self.pages.values().find(|node| is_answer(node, &wish)).map(|node| node.id.clone());
            self.wishes.remove(&path);
            if let Some(id) = made.filter(|id| world.get(id).is_some()) {
                let body = self.keep(&world.pages[&id].lines.clone());
                self.pages.get_mut(&id).unwrap().remote.body = Some(body);
                self.page_made(&path, &wish, &id);
            }
        }
    }
}

fn is_answer(node: &Node, wish: &Wish) -> bool {
    node.base.is_none()
        && node.file.is_none()
        && node.remote.parent == wish.parent
        && node.remote.title == wish.title
        && node.first_seen.0 >= wish.asked_at
}
