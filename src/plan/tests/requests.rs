//! What decisions lead to at the service: pushes, deletions and new pages, each on a look of its own.

use super::acts::Fate;
use super::known::{Mirror, Wish, new_node};
use super::world::{World, blocks, hash_of, lines};
use crate::model::{Agreed, ContentHash, MirrorPath, Node, PageId, Presence, Sent, Timestamp};
use crate::plan::{self, Decision, Place, changed_at_the_service, guard, merge, naming};

impl Mirror {
    pub(super) fn push(&mut self, world: &mut World, page: &PageId, faults: bool) {
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
        world.tell(|| format!("    base {was:?}\n    theirs {theirs:?}\n    ours {ours:?}"));
        world.tell(|| format!("    collides at {:?}", merged.collisions));
        if !merged.collisions.is_empty() && self.moment(page).copied != Some(text) {
            let there = world.files.get(&file.path).map(|file| file.text.clone());
            let Some(there) = there.filter(|there| hash_of(there) == text) else {
                // What was saved in between is to be read first.
                return self.scan(world);
            };
            if !self.is_copied(world, &there) {
                let to = self.copy_path(world, &file.path);
                world.copies.insert(to, there);
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
        let file = self.pages.get(page).and_then(|node| self.file(node)).cloned();
        let Some(node) = self.pages.get_mut(page) else { return };
        node.approved = false;
        if let Some(base) = &mut node.base {
            base.body = local;
            base.text = Some(text);
        }
        if let Some(title) = title {
            plan::agree_on_title(node, file.as_ref(), title);
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

    pub(super) fn trash_page(&mut self, world: &mut World, page: &PageId, faults: bool) {
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
        let held = guard::mass_deletion(guard::Kind::Page, count, 0, mirrored, 10).is_some();
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
            match self.placed(|layout| layout.folder_stands_for(&folder)) {
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

pub(super) fn is_answer(node: &Node, wish: &Wish) -> bool {
    node.base.is_none()
        && node.file.is_none()
        && node.remote.parent == wish.parent
        && node.remote.title == wish.title
        && node.first_seen.0 >= wish.asked_at
}
