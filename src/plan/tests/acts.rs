//! What each decision leads to, carried out at once: as the engine does it, with every write naming what it expects.

use super::known::{Mirror, Writing, stamp_of};
use super::requests::is_answer;
use super::world::{Text, World, hash_of};
use crate::model::{
    Agreed, ContentHash, LocalFile, MirrorPath, Moves, Node, PageId, Presence, Timestamp, folder_of,
};
use crate::plan::{Decision, guard, naming, place};

/// More turns for one page without a look is no end.
const TURNS_MAX: usize = 12;

/// What became of an act.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Fate {
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
    pub(super) fn fate(&mut self, world: &mut World, faults: bool) -> Fate {
        if !faults || !world.luck.percent(25) {
            self.deeds += 1;
            return Fate::Done;
        }
        self.deeds += 1;
        let fate = match world.luck.below(6) {
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
        };
        world.tell(|| format!("    {fate:?}"));
        fate
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

    pub(super) fn file(&self, node: &Node) -> Option<&LocalFile> {
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
        let folder_at = self.placed(|layout| layout.waited_folder(node, &file.path));
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
                folder_at,
            });
        }
    }

    pub(super) fn come_back(&mut self, page: &PageId) {
        if let Some(node) = self.pages.get_mut(page).filter(|node| node.file.is_none()) {
            node.base = None;
            node.missing_since = None;
            node.missing_from = None;
            node.approved = false;
        }
    }

    pub(super) fn forget(&mut self, page: &PageId) {
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
        let title = place::front_title_for(&path, &node.remote.title);
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
        let folder_at =
            self.pages.get(page).and_then(|node| self.placed(|layout| layout.waited_folder(node, path)));
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
        let title = place::wanted_front_title(&file, &path, &node.remote.title);
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
            if !world.are_kept(&old.text.lines) {
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

    pub(super) fn is_copied(&self, world: &World, text: &Text) -> bool {
        world.copies.values().any(|copy| copy == text)
    }

    pub(super) fn copy_path(&self, world: &World, beside: &MirrorPath) -> MirrorPath {
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
            // A rename takes whatever is there: another file than was looked at may come back to its page beside it.
            world.copied |= self.file(node).and_then(|known| known.hash) != Some(hash_of(&file.text));
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
            if !world.are_kept(&text.lines) {
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
        let held =
            guard::list_shrank(guard::Kind::Page, mine().count(), mine().filter(left).count(), 10).is_some();
        let Some(node) = self.pages.get_mut(page) else { return false };
        // Somebody lets it through, the next time it is asked.
        !std::mem::replace(&mut node.approved, true) && held
    }
}
