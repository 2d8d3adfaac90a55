//! What is known of both sides, learned by looks, and what the planner is asked with: the engine without its time, its
//! queue and its database.

use std::collections::{BTreeMap, BTreeSet};

use super::world::{Line, Text, World, blocks, hash_of};
use crate::model::{
    ContentHash, Deletes, LocalFile, MirrorPath, Moves, Node, PageId, PollState, Presence, Problem,
    RemotePage, Rest, Sent, Stamp, Timestamp, Workspace, WorkspaceId, WorkspaceNode,
};
use crate::plan::identity::{self, KnownFile, SeenFile, Verdict};
use crate::plan::{self, evidence};

/// What a page shall be made for.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub(super) parent: Option<PageId>,
    pub(super) title: String,
    pub(super) is_file: bool,
    pub(super) asked_at: i64,
}

/// What was being written into a page's file when the answer was lost.
#[derive(Debug, Clone)]
pub(super) struct Writing {
    pub(super) text: ContentHash,
    pub(super) body: ContentHash,
    pub(super) icon: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Moment {
    pub(super) reading: Option<(ContentHash, ContentHash)>,
    pub(super) moved_at: Option<i64>,
    pub(super) copied: Option<ContentHash>,
}

/// What is known.
#[derive(Debug)]
pub(super) struct Mirror {
    pub(super) workspaces: BTreeMap<WorkspaceId, WorkspaceNode>,
    pub(super) pages: BTreeMap<PageId, Node>,
    pub(super) files: BTreeMap<MirrorPath, LocalFile>,
    pub(super) folders: BTreeSet<MirrorPath>,
    pub(super) occupied: BTreeSet<MirrorPath>,
    pub(super) moments: BTreeMap<PageId, Moment>,
    pub(super) bodies: BTreeMap<ContentHash, Vec<Line>>,
    pub(super) sent: BTreeMap<PageId, Sent>,
    pub(super) writing: BTreeMap<PageId, Writing>,
    pub(super) wishes: BTreeMap<MirrorPath, Wish>,
    pub(super) deletes: Deletes,
    pub(super) moves: Moves,
    /// Counts looks and acts.
    pub(super) now: i64,
    pub(super) scanned: i64,
    /// How many scans something must be missing, or rest.
    pub(super) grace: i64,
    /// How much was done to either side.
    pub(super) deeds: usize,
    /// Whether the last act was refused, or not answered.
    pub(super) refused: bool,
}

pub(super) fn workspace() -> WorkspaceId {
    WorkspaceId::new("w").unwrap()
}

impl Mirror {
    pub(super) fn new(deletes: Deletes, moves: Moves) -> Self {
        let seen = Workspace {
            id: workspace(),
            name: "W".to_owned(),
            slug: "w".to_owned(),
            role: "ADMIN".to_owned(),
            frozen: false,
            rest: Rest::default(),
        };
        let node = WorkspaceNode {
            seen,
            folder: "W".to_owned(),
            present: true,
            listed_at: Timestamp(1),
            empty_list: false,
            read_only: None,
        };
        Self {
            workspaces: BTreeMap::from([(workspace(), node)]),
            pages: BTreeMap::new(),
            files: BTreeMap::new(),
            folders: BTreeSet::new(),
            occupied: BTreeSet::new(),
            moments: BTreeMap::new(),
            bodies: BTreeMap::from([(hash_of(&Vec::<Line>::new()), Vec::new())]),
            sent: BTreeMap::new(),
            writing: BTreeMap::new(),
            wishes: BTreeMap::new(),
            deletes,
            moves,
            now: 1,
            scanned: 0,
            grace: 2,
            deeds: 0,
            refused: false,
        }
    }

    pub(super) fn keep(&mut self, lines: &[Line]) -> ContentHash {
        let hash = hash_of(&lines);
        self.bodies.entry(hash).or_insert_with(|| lines.to_vec());
        hash
    }

    pub(super) fn moment(&mut self, page: &PageId) -> &mut Moment {
        self.moments.entry(page.clone()).or_default()
    }

    /// Everything that only this run knew is gone.
    pub(super) fn crash(&mut self) {
        self.moments.clear();
    }

    // Looks at the service.

    pub(super) fn list(&mut self, world: &World) {
        self.now += 1;
        let now = self.now;
        for (id, page) in world.pages.iter().filter(|(_, p)| p.visible && p.listed && !p.trashed) {
            let node = self.pages.entry(id.clone()).or_insert_with(|| new_node(id, now));
            node.remote.parent.clone_from(&page.parent);
            node.remote.title.clone_from(&page.title);
            node.remote.icon.clone_from(&page.icon);
            if node.remote.presence != Presence::Listed {
                node.remote.presence = Presence::Listed;
                node.approved = false;
            }
        }
        for (id, node) in &mut self.pages {
            let listed = world.get(id).is_some_and(|page| page.listed);
            if !listed && node.remote.presence == Presence::Listed {
                node.remote.presence = Presence::Unlisted;
            }
        }
        self.choose_stems();
        self.grant_wishes(world);
    }

    pub(super) fn get(&mut self, world: &mut World, page: &PageId) {
        self.now += 1;
        let Some(mut node) = self.pages.get(page).cloned() else { return };
        let Some(seen) = world.get(page).cloned() else {
            if node.remote.presence == Presence::Listed {
                self.list(world);
            }
            if let Some(node) = self.pages.get_mut(page).filter(|n| n.remote.presence != Presence::Listed) {
                node.remote.presence = Presence::Gone;
            }
            return;
        };
        node.remote.title = seen.title;
        node.remote.parent = seen.parent;
        node.remote.icon = seen.icon;
        node.remote.body = Some(self.keep(&seen.lines));
        if node.remote.presence == Presence::Unlisted {
            node.remote.presence = Presence::Hidden;
        }
        let sent = self.sent.contains_key(page).then(|| node.base.clone());
        self.settle_sent(&mut node);
        if let Some(before) = sent {
            world.tell(|| format!("    written after all: {}", before != node.base));
        }
        self.pages.insert(page.clone(), node);
        self.choose_stems();
    }

    /// Whether a PATCH was carried out whose answer was lost.
    fn settle_sent(&mut self, node: &mut Node) {
        let Some(sent) = self.sent.remove(&node.id) else { return };
        let Some(seen) = node.remote.body else { return };
        let retitled = sent.title.as_ref().is_some_and(|title| node.remote.title == *title);
        let json = |hash: ContentHash| blocks(&self.bodies[&hash]);
        let is_in = if seen == sent.body {
            sent.body != sent.before || retitled
        } else {
            seen != sent.before && evidence::shows_changes(&json(sent.before), &json(sent.body), &json(seen))
        };
        if let (true, Some(base)) = (is_in, &mut node.base) {
            base.body = sent.local;
            base.text = Some(sent.text);
            if let Some(title) = sent.title.filter(|_| retitled) {
                let file = node.file.as_ref().and_then(|path| self.files.get(path));
                plan::agree_on_title(node, file, title);
            }
            self.moment(&node.id).reading = None;
        }
    }

    // Looks at the disk.

    /// A complete look; of the files that changed in place some are read later.
    pub(super) fn scan(&mut self, world: &mut World) {
        self.now += 1;
        self.scanned += 1;
        self.folders = world.folders();
        self.occupied = world.copies.keys().cloned().collect();
        let known: Vec<KnownFile> = self
            .files
            .values()
            .filter(|file| file.page.is_some() || self.is_wished_for(&file.path))
            .map(|file| KnownFile {
                path: file.path.clone(),
                page: file.page.clone(),
                stamp: file.stamp,
                hash: file.hash,
            })
            .collect();
        let mut seen = Vec::new();
        let mut arrivals = Vec::new();
        let mut unread = Vec::new();
        let World { files, luck, .. } = world;
        for (path, file) in &*files {
            let stamp = stamp_of(file.object, &file.text);
            let new = match self.files.get(path) {
                Some(old) if old.stamp == stamp && old.hash.is_some() => old.clone(),
                old => {
                    let new = self.read_text(path, &file.text, stamp, old);
                    let another = old
                        .is_none_or(|old| old.stamp.object() != stamp.object() || old.claims != new.claims);
                    if another || new.page.is_none() || luck.percent(50) {
                        arrivals.push(new.clone());
                    } else {
                        unread.push(path.clone());
                    }
                    new
                }
            };
            let claims = new.claim().cloned();
            seen.push(SeenFile { path: path.clone(), stamp, claims, is_awaited: false, hash: new.hash });
        }
        let told = identity::identify(&known, &seen);
        for file in arrivals {
            if let Some(page) = &file.page {
                self.moment(&page.clone()).reading = None;
            }
            self.files.insert(file.path.clone(), file);
        }
        for path in unread {
            self.files.get_mut(&path).unwrap().hash = None;
        }
        self.apply(&seen, told);
        let bound: Vec<MirrorPath> = self
            .files
            .values()
            .filter(|f| f.page.is_some() && f.hash.is_some())
            .map(|f| f.path.clone())
            .collect();
        for path in bound {
            self.interpret(&path, world);
        }
    }

    fn read_text(&self, path: &MirrorPath, text: &Text, stamp: Stamp, old: Option<&LocalFile>) -> LocalFile {
        let page = old.and_then(|old| old.page.clone());
        let node = page.as_ref().and_then(|id| self.pages.get(id));
        let had_words = node
            .and_then(|node| node.base.as_ref())
            .is_some_and(|base| self.bodies.get(&base.body).is_some_and(|lines| !lines.is_empty()));
        let blank = *text == Text::default();
        let problem = match () {
            () if text.broken => Some(Problem::NotText),
            () if blank && had_words && !node.is_some_and(|node| node.approved) => Some(Problem::Emptied),
            () => None,
        };
        let claims = text.claims.clone().filter(|_| !text.broken);
        let mut file = LocalFile {
            path: path.clone(),
            page,
            stamp,
            hash: Some(hash_of(text)),
            claims,
            disowned: old.and_then(|old| old.disowned.clone()),
            front_title: text.title.clone().filter(|_| !text.broken),
            problem,
            racy: false,
        };
        file.keep_parted(old);
        file
    }

    /// One file is read; something else in its place is told apart by a look at everything.
    pub(super) fn read(&mut self, world: &mut World, path: &MirrorPath) {
        let known = self.files.get(path);
        let file = world.files.get(path).filter(|file| {
            known.is_some_and(|known| {
                known.stamp.inode == stamp_of(file.object, &file.text).inode
                    && known.claims == file.text.claims
            })
        });
        let Some(file) = file else { return self.scan(world) };
        let stamp = stamp_of(file.object, &file.text);
        let new = self.read_text(path, &file.text, stamp, known);
        self.files.insert(path.clone(), new);
        self.interpret(path, world);
    }

    /// What a file stands for.
    fn interpret(&mut self, path: &MirrorPath, world: &World) {
        let Some(file) = self.files.get(path).filter(|file| file.problem.is_none()).cloned() else { return };
        let (Some(page), Some(hash)) = (file.page, file.hash) else { return };
        if let Some(writing) = self.writing.remove(&page)
            && writing.text == hash
            && let Some(base) = self.pages.get_mut(&page).and_then(|node| node.base.as_mut())
        {
            base.body = writing.body;
            base.text = Some(hash);
            base.icon = writing.icon;
            base.front_title = file.front_title;
            return;
        }
        if self.moment(&page).reading.is_none_or(|(text, _)| text != hash) {
            let lines = world.files[path].text.lines.clone();
            let body = self.keep(&lines);
            self.moment(&page).reading = Some((hash, body));
        }
    }

    fn is_wished_for(&self, path: &MirrorPath) -> bool {
        self.wishes.iter().any(|(at, wish)| at == path || !wish.is_file && path.is_within(at))
    }

    fn apply(&mut self, seen: &[SeenFile], told: identity::Identities) {
        for (file, verdict) in seen.iter().zip(&told.verdicts) {
            match verdict {
                Verdict::Moved { from, .. } => {
                    self.follow_wish(from, &file.path);
                    let (old, new) = (World::beneath(from), World::beneath(&file.path));
                    if !self.folders.contains(&old) && self.folders.contains(&new) {
                        self.follow_wish(&old, &new);
                        self.rebase_agreed(&old, &new);
                    }
                }
                Verdict::New { from: Some(from), .. } | Verdict::Copy { from: Some(from), .. } => {
                    self.follow_wish(from, &file.path);
                }
                _ => {}
            }
        }
        for (page, path) in &told.vanished {
            let scanned = self.scanned;
            if let Some(node) = self.pages.get_mut(page).filter(|node| node.file.as_ref() == Some(path)) {
                node.file = None;
                node.missing_since.get_or_insert(Timestamp(scanned));
                node.missing_from = Some(path.clone());
            }
            self.moment(page).reading = None;
        }
        for (file, verdict) in seen.iter().zip(&told.verdicts) {
            match verdict {
                Verdict::Same(page) | Verdict::Moved { page, .. } => self.bind(&file.path, page),
                Verdict::Copy { of, .. } => match self.missing_from(&file.path) {
                    Some(page) => self.bind(&file.path, &page),
                    None => self.unbind(&file.path, Some(of.clone())),
                },
                Verdict::New { claims, .. } => self.new_file(&file.path, claims.as_ref()),
            }
        }
        let there: BTreeSet<&MirrorPath> = seen.iter().map(|file| &file.path).collect();
        self.files.retain(|path, _| there.contains(path));
        for node in self.pages.values_mut() {
            node.file = node.file.take().filter(|path| there.contains(path));
        }
    }

    pub(super) fn bind(&mut self, path: &MirrorPath, page: &PageId) {
        let Some(node) = self.pages.get_mut(page) else { return self.unbind(path, None) };
        let Some(file) = self.files.get_mut(path) else { return };
        if node.file.as_ref() == Some(path)
            && file.page.as_ref() == Some(page)
            && node.missing_since.is_none()
        {
            return;
        }
        file.page = Some(page.clone());
        if file.claims.as_ref().is_some_and(|claims| claims != page) {
            file.disowned.clone_from(&file.claims);
        }
        node.file = Some(path.clone());
        node.missing_since = None;
        node.missing_from = None;
        node.approved = false;
        let moment = self.moment(page);
        moment.reading = None;
        moment.moved_at = None;
    }

    pub(super) fn unbind(&mut self, path: &MirrorPath, copy_of: Option<PageId>) {
        let Some(file) = self.files.get_mut(path) else { return };
        let was = file.page.take();
        if copy_of.is_some() {
            file.disowned = copy_of;
        }
        if let Some(node) = was.and_then(|page| self.pages.get_mut(&page)) {
            node.file = node.file.take().filter(|at| at != path);
        }
    }

    fn new_file(&mut self, path: &MirrorPath, claims: Option<&PageId>) {
        let free = |id: &&PageId| {
            self.pages.get(*id).is_some_and(|node| {
                node.file.as_ref().is_none_or(|file| !self.files.contains_key(file) || file == path)
            })
        };
        if let Some(page) = claims.filter(free) {
            return self.bind(path, &page.clone());
        }
        match self.missing_from(path) {
            Some(page) if claims.is_none_or(|id| self.pages.contains_key(id)) => self.bind(path, &page),
            _ => self.unbind(path, None),
        }
    }

    fn missing_from(&self, path: &MirrorPath) -> Option<PageId> {
        let disowned = self.files.get(path).and_then(|file| file.disowned.as_ref());
        if disowned.is_some_and(|id| self.pages.get(id).is_none_or(|node| node.file.is_none())) {
            return None;
        }
        let missing = || self.pages.values().filter(|n| n.file.is_none() && n.missing_since.is_some());
        let last = missing().find(|n| n.base.is_some() && n.missing_from.as_ref() == Some(path));
        last.or_else(|| missing().find(|n| n.base.as_ref().is_some_and(|base| base.path == *path)))
            .map(|node| node.id.clone())
    }

    pub(super) fn follow_wish(&mut self, from: &MirrorPath, to: &MirrorPath) {
        if let Some(wish) = self.wishes.remove(from) {
            self.wishes.insert(to.clone(), wish);
        }
    }

    pub(super) fn rebase_agreed(&mut self, from: &MirrorPath, to: &MirrorPath) {
        for base in self.pages.values_mut().filter_map(|node| node.base.as_mut()) {
            if let Some(path) = base.path.rebase(from, to) {
                base.path = path;
                base.folder_at = base.folder_at.take().map(|at| at.rebase(from, to).unwrap_or(at));
            }
        }
    }
}

pub(super) fn stamp_of(object: u64, text: &Text) -> Stamp {
    let content = i64::from_be_bytes(hash_of(text).0[..8].try_into().unwrap());
    let object = object + 1;
    Stamp {
        device: 1,
        inode: object,
        size: if *text == Text::default() { 0 } else { 100 },
        modified_ns: content,
        changed_ns: content,
        born_ns: object.cast_signed(),
    }
}

pub(super) fn new_node(id: &PageId, now: i64) -> Node {
    let remote = RemotePage {
        parent: None,
        title: String::new(),
        icon: None,
        position: 0.0,
        presence: Presence::Listed,
        body: None,
    };
    Node::new(id.clone(), workspace(), remote, Timestamp(now), PollState::default())
}
