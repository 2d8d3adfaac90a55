//! What people do on either side, one thing at a time, without asking anybody.

use super::world::{Line, OnDisk, TOP, Text, World, words};
use crate::model::{MirrorPath, PageId};

/// Some that names cannot say, some that differ in case only, some that look like a number of espejo's.
const TITLES: [&str; 8] = ["A", "B", "C", "a", "A/B", "A (2)", ".d", "B"];

impl World {
    /// A few pages, some beneath others.
    pub(super) fn grow(&mut self) {
        for _ in 0..1 + self.luck.below(4) {
            let parents: Vec<PageId> = self.pages.keys().cloned().collect();
            let parent = if self.luck.percent(50) { self.luck.pick(&parents) } else { None };
            let title = self.title();
            let lines = (0..self.luck.below(4)).map(|_| self.line()).collect();
            let id = self.page(parent, &title, lines);
            if self.luck.percent(20) {
                self.pages.get_mut(&id).unwrap().icon = Some("i".to_owned());
            }
        }
    }

    fn title(&mut self) -> String {
        self.luck.pick(&TITLES).unwrap().to_owned()
    }

    /// Somebody does something on disk.
    pub(super) fn act_on_disk(&mut self) {
        let paths: Vec<MirrorPath> = self.files.keys().cloned().collect();
        let Some(path) = self.luck.pick(&paths) else { return self.new_file() };
        let what = self.luck.below(24);
        self.tell(|| format!("@ {what} {path}"));
        let mut text = self.files[&path].text.clone();
        match what {
            0..=7 => {
                self.edit(&mut text.lines);
                self.save(path, text);
            }
            8 | 9 => self.new_file(),
            10 | 11 => {
                let to = self.name_in(&path.parent().unwrap());
                let with_folder = self.luck.percent(50);
                self.move_file(&path, &to, with_folder);
            }
            12 | 13 => {
                let folder = self.some_folder();
                let to = if self.luck.percent(50) {
                    folder.join(path.name()).unwrap()
                } else {
                    self.name_in(&folder)
                };
                let with_folder = self.luck.percent(50);
                self.double(words(&text.lines));
                self.move_file(&path, &to, with_folder);
            }
            14 | 15 => {
                let folder = Self::beneath(&path);
                let with_folder = self.luck.percent(50);
                let gone: Vec<MirrorPath> =
                    paths.into_iter().filter(|p| *p == path || with_folder && p.is_within(&folder)).collect();
                for path in gone {
                    self.remove(&path);
                }
            }
            16 => {
                // A copy; a second one is saved by whoever keeps two.
                let to = self.name_in(&path.parent().unwrap());
                if !self.is_taken(&to) {
                    self.copied = true;
                    self.save(to, text);
                }
            }
            17 => {
                text.title = if self.luck.percent(50) { Some(self.title()) } else { None };
                self.save(path, text);
            }
            18 => {
                text.style = text.style.wrapping_add(1);
                self.save(path, text);
            }
            19 => {
                // Nothing is in it any more.
                self.let_go(words(&text.lines));
                let empty = Text::default();
                self.copied = true;
                self.files.get_mut(&path).unwrap().text = empty;
            }
            20 => {
                text.broken = !text.broken;
                self.save(path, text);
            }
            21 => {
                // Two change places.
                let other = self.luck.pick(&paths).unwrap();
                let (a, b) = (self.files[&path].clone(), self.files[&other].clone());
                self.copied = true;
                self.files.insert(path, b);
                self.files.insert(other, a);
            }
            22 => {
                let folder = Self::beneath(&path);
                let up = self.some_folder();
                let to = Self::beneath(&self.name_in(&up));
                let inside = self.files.iter().filter(|(path, _)| path.is_within(&folder));
                let moved: Vec<u32> = inside.flat_map(|(_, file)| words(&file.text.lines)).collect();
                self.double(moved.into_iter());
                self.rename_folder(&folder, &to);
            }
            _ => {
                // The front matter goes, or a copy is no longer wanted.
                if let Some(copy) = self.copies.keys().next().cloned() {
                    let text = self.copies.remove(&copy).unwrap();
                    self.let_go(words(&text.lines));
                } else {
                    text.claims = None;
                    text.title = None;
                    self.copied = true;
                    self.save(path, text);
                }
            }
        }
    }

    fn new_file(&mut self) {
        let folder = if self.luck.percent(20) {
            let up = self.some_folder();
            Self::beneath(&self.name_in(&up))
        } else {
            self.some_folder()
        };
        let path = self.name_in(&folder);
        if !self.is_taken(&path) {
            // By its place it is the file that stood there, whatever that one says where it is now.
            self.copied |= self.left.contains(&path);
            let lines = (0..self.luck.below(3)).map(|_| self.line()).collect();
            self.save(path, Text { lines, ..Text::default() });
        }
    }

    fn some_folder(&mut self) -> MirrorPath {
        let mut folders: Vec<MirrorPath> = self.files.keys().map(Self::beneath).collect();
        folders.push(MirrorPath::new(TOP).unwrap());
        self.luck.pick(&folders).unwrap()
    }

    fn name_in(&mut self, folder: &MirrorPath) -> MirrorPath {
        let title = self.title().replace('/', "／");
        folder.join(&format!("{}.md", title.trim_start_matches('.'))).unwrap()
    }

    fn move_file(&mut self, from: &MirrorPath, to: &MirrorPath, with_folder: bool) {
        self.tell(|| format!("@ moves it to {to}, with its folder: {with_folder}"));
        let (old, new) = (Self::beneath(from), Self::beneath(to));
        if to.is_within(&old) || !self.rename(from, to) {
            return;
        }
        self.copied |= self.left.contains(to) && self.files[to].text.claims.is_none();
        self.left.insert(from.clone());
        if with_folder {
            self.rename_folder(&old, &new);
        }
    }

    fn remove(&mut self, path: &MirrorPath) {
        let OnDisk { text, .. } = self.files.remove(path).unwrap();
        self.let_go(words(&text.lines));
    }

    /// Somebody changes a text.
    fn edit(&mut self, lines: &mut Vec<Line>) {
        let at = self.luck.below(lines.len() + 1);
        let what = self.luck.below(8);
        if at == lines.len() || what == 0 {
            let line = self.line();
            lines.insert(at, line);
            return;
        }
        let place = self.luck.below(lines[at].words.len() + 1);
        match what {
            1 | 2 => {
                let word = self.word();
                lines[at].words.insert(place, word);
            }
            3 | 4 if place < lines[at].words.len() => {
                let new = self.word();
                let old = std::mem::replace(&mut lines[at].words[place], new);
                self.let_go([old].into_iter());
            }
            5 if place < lines[at].words.len() => {
                let old = lines[at].words.remove(place);
                self.let_go([old].into_iter());
            }
            6 => {
                let line = lines.remove(at);
                self.let_go(line.words.into_iter());
            }
            _ => {
                let to = self.luck.below(lines.len());
                lines.swap(at, to);
            }
        }
    }

    /// Somebody does something in the app.
    pub(super) fn act_in_the_app(&mut self) {
        let ids: Vec<PageId> = self.pages.keys().cloned().collect();
        let Some(id) = self.luck.pick(&ids) else { return };
        let what = self.luck.below(20);
        self.tell(|| format!("# {what} {id}"));
        let mut page = self.pages[&id].clone();
        match what {
            0..=6 if !page.trashed => {
                self.edit(&mut page.lines);
                self.pages.insert(id, page);
            }
            7 | 8 if !page.trashed => {
                page.title = self.title();
                self.pages.insert(id, page);
            }
            9 | 10 if !page.trashed => {
                let parent = self.luck.pick(&ids).filter(|_| self.luck.percent(70));
                let below = self.subtree(&id);
                let fits = parent
                    .as_ref()
                    .is_none_or(|parent| !below.contains(parent) && !self.pages[parent].trashed);
                if fits {
                    self.pages.get_mut(&id).unwrap().parent = parent;
                }
            }
            11 if !page.trashed => {
                page.icon = if page.icon.is_none() { Some("j".to_owned()) } else { None };
                self.pages.insert(id, page);
            }
            12 | 13 => self.put_in_trash(&id),
            14 if page.trashed => {
                let orphan = page.parent.as_ref().is_some_and(|up| self.pages[up].trashed);
                for below in self.subtree(&id) {
                    let page = self.pages.get_mut(&below).unwrap();
                    page.trashed = false;
                    let again: Vec<u32> = words(&page.lines).collect();
                    self.double(again.into_iter());
                }
                if orphan {
                    self.pages.get_mut(&id).unwrap().parent = None;
                }
            }
            15 => self.pages.get_mut(&id).unwrap().listed = !page.listed,
            16 => {
                self.double(words(&page.lines));
                self.pages.get_mut(&id).unwrap().visible = !page.visible;
            }
            17 => {
                let parent = if page.trashed || self.luck.percent(50) { None } else { Some(id) };
                let (title, line) = (self.title(), self.line());
                self.page(parent, &title, vec![line]);
            }
            _ => {}
        }
    }
}
