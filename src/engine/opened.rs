//! Files and folders that somebody opens: what is being read is worth a look now, before it is edited, and what somebody
//! lists is mirrored first. A hint only: most programs that open files are not people.

use std::collections::{BTreeSet, VecDeque};

use super::Engine;
use super::flight::Purpose;
use super::pace::Class;
use crate::model::{CanvasId, Effect, MirrorPath, Node, PageId, Timestamp, folder_of};

/// What was looked at so shortly ago is fresh.
const FRESH_MS: i64 = 20_000;
const MINUTE_MS: i64 = 60_000;
/// More looks than this in a minute are not spent on opened files.
const LOOKS_A_MINUTE: usize = 6;
/// Whoever opens more than this in a minute is no person: a search, an index, a backup.
const PERSONS_OPEN: usize = 30;

/// What was opened lately.
#[derive(Debug, Default)]
pub(super) struct Opened {
    heard: VecDeque<Timestamp>,
    looks: VecDeque<Timestamp>,
    pages: BTreeSet<PageId>,
    canvases: BTreeSet<CanvasId>,
    /// The folder that was listed last.
    folder: Option<MirrorPath>,
}

impl Opened {
    pub(super) fn has_folder(&self) -> bool {
        self.folder.is_some()
    }
}

impl Engine {
    /// Somebody opened the file or folder at `path`.
    pub(super) fn opened(&mut self, path: &MirrorPath) {
        let now = self.now;
        self.opened.heard.push_back(now);
        for times in [&mut self.opened.heard, &mut self.opened.looks] {
            while times.front().is_some_and(|at| now.since_ms(*at) > MINUTE_MS) {
                times.pop_front();
            }
        }
        self.opened.heard.truncate(PERSONS_OPEN + 1);
        if self.opened.heard.len() > PERSONS_OPEN {
            self.opened.pages.clear();
            self.opened.canvases.clear();
            return;
        }
        let is_old = |last: Timestamp| now.since_ms(last) >= FRESH_MS;
        if let Some(page) = self.trees.files.get(path).and_then(|file| file.page.clone()) {
            if self.trees.pages.get(&page).is_some_and(|node| is_old(node.poll.last)) {
                self.opened.pages.insert(page);
            }
        } else if let Some((canvas, last)) = self.canvas_at(path) {
            if is_old(last) {
                self.opened.canvases.insert(canvas);
            }
        } else if !path.is_root() {
            self.opened.folder = Some(path.clone());
        }
    }

    /// A look at what was opened, while it is worth one.
    pub(super) fn next_opened_look(&mut self) -> Option<(Effect, Purpose)> {
        let spent = self.opened.looks.len() >= LOOKS_A_MINUTE
            && self.opened.looks.front().is_some_and(|at| self.now.since_ms(*at) <= MINUTE_MS);
        if spent || self.full_pass.is_some() || !self.pace.allows(Class::List, 1, false, self.now) {
            return None;
        }
        let look = loop {
            if let Some(page) = self.opened.pages.pop_first() {
                let is_polled = self.trees.pages.get(&page).is_some_and(|node| self.is_polled(node));
                if is_polled && self.may_be_looked_at(&page) {
                    let purpose = Purpose::Look { page: page.clone(), class: Class::List, reserve: 0 };
                    break (Effect::FetchPage(page), purpose);
                }
            } else if let Some(canvas) = self.opened.canvases.pop_first() {
                if self.canvas_targets().any(|(id, _)| *id == canvas) {
                    break Self::canvas_look(&canvas, Class::List);
                }
            } else {
                return None;
            }
        };
        self.opened.looks.push_back(self.now);
        Some(look)
    }

    /// Whether a page that was never read belongs into the folder that somebody listed last.
    pub(super) fn is_in_opened_folder(&self, node: &Node) -> bool {
        let Some(opened) = &self.opened.folder else { return false };
        let parent = node.remote.parent.as_ref().and_then(|id| self.trees.pages.get(id));
        parent
            .and_then(|parent| folder_of(parent.file.as_ref()?))
            .is_some_and(|folder| folder.is_within(opened))
    }
}
