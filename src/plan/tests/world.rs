//! Two sides to plan for, as small as they can be: pages, files, and words that are followed one by one. Nothing here
//! knows of plans.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use crate::model::{ContentHash, MirrorPath, PageId, folder_of};
use crate::plan::naming;

/// Where the pages of the only workspace are.
pub(super) const TOP: &str = "W/Pages";

/// Numbers that come from a seed (SplitMix64).
#[derive(Debug, Clone)]
pub(super) struct Luck(pub(super) u64);

impl Luck {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end.max(1) as u64) as usize
    }

    pub(super) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub(super) fn pick<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        if all.is_empty() { None } else { Some(all[self.below(all.len())].clone()) }
    }
}

/// A block: its id, and its words by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Line {
    pub(super) id: u32,
    pub(super) words: Vec<u32>,
}

/// What a file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Text {
    /// Whether it cannot be understood.
    pub(super) broken: bool,
    pub(super) claims: Option<PageId>,
    pub(super) title: Option<String>,
    pub(super) icon: Option<String>,
    /// Of what means nothing.
    pub(super) style: u8,
    pub(super) lines: Vec<Line>,
}

/// A file on disk.
#[derive(Debug, Clone)]
pub(super) struct OnDisk {
    /// What tells it from every other, whatever it is called.
    pub(super) object: u64,
    pub(super) text: Text,
}

/// A page at the service.
#[derive(Debug, Clone)]
pub(super) struct Served {
    pub(super) parent: Option<PageId>,
    pub(super) title: String,
    pub(super) icon: Option<String>,
    pub(super) lines: Vec<Line>,
    pub(super) trashed: bool,
    /// Whether a GET shows it.
    pub(super) visible: bool,
    /// Whether the list has it.
    pub(super) listed: bool,
}

/// Both sides, and what became of every word.
#[derive(Debug)]
pub(super) struct World {
    pub(super) luck: Luck,
    pub(super) pages: BTreeMap<PageId, Served>,
    pub(super) files: BTreeMap<MirrorPath, OnDisk>,
    /// Conflict copies.
    pub(super) copies: BTreeMap<MirrorPath, Text>,
    /// The mirror's trash.
    pub(super) trash: Vec<Text>,
    /// By number, whether somebody has taken the word away.
    pub(super) free: Vec<bool>,
    /// By number, whether somebody has made two of the word.
    pub(super) doubled: Vec<bool>,
    /// Whether somebody has copied a whole file, or taken away what tells whose it is: then words may stand twice.
    pub(super) copied: bool,
    /// Where files were before somebody moved them.
    pub(super) left: BTreeSet<MirrorPath>,
    next: u32,
    /// What happened, if that shall be told.
    pub(super) story: Option<Vec<String>>,
    /// The first promise that was broken.
    pub(super) broken: Option<String>,
}

pub(super) fn hash_of(thing: &impl Hash) -> ContentHash {
    let mut hasher = DefaultHasher::new();
    thing.hash(&mut hasher);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&hasher.finish().to_be_bytes());
    ContentHash(bytes)
}

pub(super) fn blocks(lines: &[Line]) -> Vec<Value> {
    let block = |line: &Line| {
        let text: Vec<String> = line.words.iter().map(|word| format!("w{word}x")).collect();
        let content = if text.is_empty() {
            json!([])
        } else {
            json!([{"type": "text", "text": text.join(" "), "styles": {}}])
        };
        json!({"id": line.id.to_string(), "type": "paragraph", "props": {}, "content": content, "children": []})
    };
    lines.iter().map(block).collect()
}

pub(super) fn lines(blocks: &[Value]) -> Vec<Line> {
    let line = |block: &Value| {
        let mut words = Vec::new();
        for run in block["content"].as_array().unwrap() {
            for word in run["text"].as_str().unwrap().split_whitespace() {
                words.push(word.trim_matches(['w', 'x']).parse().unwrap());
            }
        }
        Line { id: block["id"].as_str().unwrap().parse().unwrap(), words }
    };
    blocks.iter().map(line).collect()
}

pub(super) fn words(lines: &[Line]) -> impl Iterator<Item = u32> {
    lines.iter().flat_map(|line| line.words.iter().copied())
}

impl World {
    pub(super) fn new(seed: u64, tells: bool) -> Self {
        Self {
            luck: Luck(seed),
            pages: BTreeMap::new(),
            files: BTreeMap::new(),
            copies: BTreeMap::new(),
            trash: Vec::new(),
            free: Vec::new(),
            doubled: Vec::new(),
            copied: false,
            left: BTreeSet::new(),
            next: 0,
            story: tells.then(Vec::new),
            broken: None,
        }
    }

    pub(super) fn tell(&mut self, what: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.push(what());
        }
    }

    /// A promise is broken.
    pub(super) fn fail(&mut self, what: impl FnOnce() -> String) {
        if self.broken.is_none() {
            self.broken = Some(what());
        }
    }

    pub(super) fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    pub(super) fn word(&mut self) -> u32 {
        self.free.push(false);
        self.doubled.push(false);
        u32::try_from(self.free.len() - 1).unwrap()
    }

    pub(super) fn line(&mut self) -> Line {
        let length = self.luck.below(4);
        Line { id: self.number(), words: (0..length).map(|_| self.word()).collect() }
    }

    /// Somebody takes these words away.
    pub(super) fn let_go(&mut self, words: impl Iterator<Item = u32>) {
        words.for_each(|word| self.free[word as usize] = true);
    }

    /// Somebody makes two of these words.
    pub(super) fn double(&mut self, words: impl Iterator<Item = u32>) {
        words.for_each(|word| self.doubled[word as usize] = true);
    }

    pub(super) fn page(&mut self, parent: Option<PageId>, title: &str, lines: Vec<Line>) -> PageId {
        let id = PageId::new(&format!("p{}", self.number())).unwrap();
        let title = title.to_owned();
        let page = Served { parent, title, icon: None, lines, trashed: false, visible: true, listed: true };
        self.pages.insert(id.clone(), page);
        id
    }

    /// What a GET shows.
    pub(super) fn get(&self, page: &PageId) -> Option<&Served> {
        self.pages.get(page).filter(|page| page.visible && !page.trashed)
    }

    /// A page with everything beneath it.
    pub(super) fn subtree(&self, page: &PageId) -> Vec<PageId> {
        let mut all = vec![page.clone()];
        let mut at = 0;
        while at < all.len() {
            let below = self.pages.iter().filter(|(_, other)| other.parent.as_ref() == Some(&all[at]));
            let below: Vec<PageId> = below.map(|(id, _)| id.clone()).collect();
            all.extend(below);
            at += 1;
        }
        all
    }

    pub(super) fn put_in_trash(&mut self, page: &PageId) {
        for id in self.subtree(page) {
            if let Some(page) = self.pages.get_mut(&id) {
                page.trashed = true;
            }
        }
    }

    pub(super) fn save(&mut self, path: MirrorPath, text: Text) {
        let object = match self.files.get(&path) {
            // Half of all programs write in place.
            Some(old) if self.luck.percent(50) => old.object,
            _ => u64::from(self.number()),
        };
        if text.claims.is_none() || text.broken {
            // Renamed and saved anew, nothing tells that it is the same file.
            self.double(words(&text.lines));
        }
        self.files.insert(path, OnDisk { object, text });
    }

    /// Whether something in the folder has this name, or one that is the same elsewhere.
    pub(super) fn is_taken(&self, path: &MirrorPath) -> bool {
        let (folder, key) = (path.parent(), naming::fold(path.name()));
        let inside = self.files.keys().chain(self.copies.keys()).filter(|other| other.parent() == folder);
        inside.map(MirrorPath::name).any(|name| naming::fold(name) == key)
    }

    /// Renames a file, as `rename` without replacing does.
    pub(super) fn rename(&mut self, from: &MirrorPath, to: &MirrorPath) -> bool {
        if self.is_taken(to) && naming::fold(from.as_str()) != naming::fold(to.as_str()) {
            return false;
        }
        let Some(file) = self.files.remove(from) else { return false };
        self.files.insert(to.clone(), file);
        true
    }

    /// Renames a folder with everything in it.
    pub(super) fn rename_folder(&mut self, from: &MirrorPath, to: &MirrorPath) -> bool {
        let folders = self.folders();
        if !folders.contains(from) || folders.contains(to) || to.is_within(from) {
            return false;
        }
        let files = std::mem::take(&mut self.files);
        self.files =
            files.into_iter().map(|(path, file)| (path.rebase(from, to).unwrap_or(path), file)).collect();
        let copies = std::mem::take(&mut self.copies);
        self.copies =
            copies.into_iter().map(|(path, text)| (path.rebase(from, to).unwrap_or(path), text)).collect();
        true
    }

    /// Folders with something in them.
    pub(super) fn folders(&self) -> BTreeSet<MirrorPath> {
        let mut folders = BTreeSet::from([MirrorPath::new(TOP).unwrap()]);
        for path in self.files.keys().chain(self.copies.keys()) {
            let mut at = path.parent();
            while let Some(folder) = at.filter(|folder| !folder.is_root()) {
                at = folder.parent();
                if !folders.insert(folder) {
                    break;
                }
            }
        }
        folders
    }

    /// Every word that nobody took away is somewhere.
    pub(super) fn nothing_is_lost(&mut self) {
        let mut found = self.free.clone();
        let pages = self.pages.values().map(|page| &page.lines);
        let texts = self.files.values().map(|file| &file.text).chain(self.copies.values()).chain(&self.trash);
        for lines in pages.chain(texts.map(|text| &text.lines)) {
            words(lines).for_each(|word| found[word as usize] = true);
        }
        if let Some(word) = found.iter().position(|found| !found) {
            self.fail(|| format!("the word {word} is lost"));
        }
    }

    /// Whether each of these words is at the service, in whatever state, or in a conflict copy, or was taken away.
    pub(super) fn are_kept(&self, lines: &[Line]) -> bool {
        let has = |lines: &[Line], word: u32| words(lines).any(|other| other == word);
        words(lines).all(|word| {
            self.free[word as usize]
                || self.pages.values().any(|page| has(&page.lines, word))
                || self.copies.values().any(|text| has(&text.lines, word))
        })
    }

    /// Whether each of these words is in a file or a copy, or was taken away.
    pub(super) fn are_on_disk(&self, lines: &[Line]) -> bool {
        words(lines).all(|word| {
            let mut texts = self.files.values().map(|file| &file.text).chain(self.copies.values());
            self.free[word as usize] || texts.any(|text| words(&text.lines).any(|w| w == word))
        })
    }

    /// The folder of a page that has its file at `path`.
    pub(super) fn beneath(path: &MirrorPath) -> MirrorPath {
        folder_of(path).unwrap()
    }
}
