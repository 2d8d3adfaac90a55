//! Files and folders that are opened. An opened file is fetched now, before the user edits it, and a listed folder is
//! mirrored first. This is only a hint: most programs that open files do not act for a user.

use crate::engine::on_core::{core_fetch, core_item_at, with_saves_of_core};
use crate::engine::schedule::pace::Class;
use crate::engine::state::{Engine, Opened, Purpose, Trees};
use crate::model::{Effect, MirrorPath, Node, Timestamp, folder_of};

/// A page that was fetched less than this ago is fresh.
const FRESH_MS: i64 = 20_000;
const MINUTE_MS: i64 = 60_000;
/// The most fetches a minute for opened files.
const LOOKS_A_MINUTE: usize = 6;
/// If more than this are opened in a minute, a program reads them: a search, an index, a backup.
const PERSONS_OPEN: usize = 30;

impl Engine {
    /// Handles the opening of the file or folder at `path`.
    pub(crate) fn opened(&mut self, path: &MirrorPath) {
        let now = self.cx.now;
        let page = self.pages.trees.files.get(path).and_then(|file| file.page.clone());
        if let Some(runtime) = page.as_ref().and_then(|page| self.pages.runtimes.get_mut(page)) {
            if std::mem::take(&mut runtime.saves.rests) {
                self.pages.dirty.extend(page.clone());
            }
            runtime.saves.opened(now);
        }
        with_saves_of_core(self, path, |saves| saves.opened(now));
        self.commands.opened.heard.push_back(now);
        for times in [&mut self.commands.opened.heard, &mut self.commands.opened.looks] {
            while times.front().is_some_and(|at| now.since_ms(*at) > MINUTE_MS) {
                times.pop_front();
            }
        }
        self.commands.opened.heard.truncate(PERSONS_OPEN + 1);
        if self.commands.opened.heard.len() > PERSONS_OPEN {
            self.commands.opened.pages.clear();
            self.commands.opened.items.clear();
            return;
        }
        let is_old = |last: Timestamp| now.since_ms(last) >= FRESH_MS;
        if let Some(page) = self.pages.trees.files.get(path).and_then(|file| file.page.clone()) {
            if self.pages.trees.pages.get(&page).is_some_and(|node| is_old(node.poll.last)) {
                self.commands.opened.pages.insert(page);
            }
        } else if let Some((item, last)) = core_item_at(self, path) {
            if is_old(last) {
                self.commands.opened.items.insert(item);
            }
        } else if !path.is_root() {
            (self.commands.opened.folder, self.commands.opened.ordered) = (Some(path.clone()), None);
        }
    }

    /// A fetch of an opened item, while it is worth one.
    pub(crate) fn next_opened_fetch(&mut self) -> Option<(Effect, Purpose)> {
        let spent = self.commands.opened.looks.len() >= LOOKS_A_MINUTE
            && self.commands.opened.looks.front().is_some_and(|at| self.cx.now.since_ms(*at) <= MINUTE_MS);
        if spent
            || self.polling.full_pass.is_some()
            || !self.cx.pace.allows(Class::List, 1, false, self.cx.now)
        {
            return None;
        }
        let look = loop {
            if let Some(page) = self.commands.opened.pages.pop_first() {
                let is_polled =
                    self.pages.trees.pages.get(&page).is_some_and(|node| self.pages.trees.is_polled(node));
                if is_polled && self.pages.may_be_fetched(&page, &self.cx) {
                    let purpose = Purpose::Fetch { page: page.clone(), class: Class::List, reserve: 0 };
                    break (Effect::FetchPage(page), purpose);
                }
            } else if let Some(item) = self.commands.opened.items.pop_first() {
                break core_fetch(item, Class::List);
            } else {
                return None;
            }
        };
        self.commands.opened.looks.push_back(self.cx.now);
        Some(look)
    }
}

impl Opened {
    /// Whether a page that was never fetched belongs into the folder that was listed last.
    pub(crate) fn is_in_opened_folder(&self, node: &Node, trees: &Trees) -> bool {
        let Some(opened) = &self.folder else { return false };
        let parent = node.remote.parent.as_ref().and_then(|id| trees.pages.get(id));
        parent
            .and_then(|parent| folder_of(parent.file.as_ref()?))
            .is_some_and(|folder| folder.is_within(opened))
    }
}
