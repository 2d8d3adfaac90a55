//! In some scenes a person keeps things out of the mirror for a while and then does not any more. What is done meanwhile, on
//! either side, has to come together in the end as if nothing had been ignored, and nothing may be lost by it.

use std::collections::BTreeMap;

use espejo::model::{
    BoardEffect, Effect, IGNORE_FILE, IgnoreRules, MirrorPath, StorageEffect, WorkspaceMode,
};
use espejo::plan::naming;

use crate::checks::{Failure, broken};
use crate::hands::LOOKED_BY_THEN_MS;
use crate::run::Run;
use crate::users::is_conflict_copy;

/// What the file says, one after the other: whole parts of the mirror, so that no name leads from one into another.
const RULES: [&str; 6] = [
    "/*/Pages/\n",
    "",
    "/Storage/\n*.svg\n",
    "*.md\n/*/Whiteboards/\n",
    "# nothing\n",
    "/Presentations/\n*.canvas\n",
];
/// So many steps of a script are taken under the same rules.
const STEPS: usize = 9;
/// Rules that are so old have been seen by every process, whatever was lost or under way; in milliseconds.
const SEEN_MS: i64 = 700_000;

/// What a person keeps out of the mirror.
#[derive(Debug, Default)]
pub(crate) struct IgnoringWorld {
    rules: IgnoreRules,
    since_ms: i64,
}

impl Run {
    /// Before each step.
    pub(crate) fn change_rules(&mut self) {
        if self.scene.ignores == 1 && self.steps.is_multiple_of(STEPS) {
            self.write_rules(RULES[self.steps / STEPS % RULES.len()]);
        }
    }

    /// Nothing is ignored any more.
    pub(crate) fn end_rules(&mut self) {
        if self.scene.ignores == 1 {
            self.write_rules("");
        }
    }

    fn write_rules(&mut self, text: &str) {
        let Ok(path) = MirrorPath::new(IGNORE_FILE) else { return };
        if self.folder.write(&path, text.as_bytes()) {
            self.note(format_args!("@ ignores {:?}", text));
            self.ignoring = IgnoringWorld { rules: IgnoreRules::new(&[], text), since_ms: self.now_ms };
            self.spread_hints();
        }
    }

    /// Whether a file is ignored.
    pub(crate) fn is_ignored(&self, path: &MirrorPath) -> bool {
        self.ignoring.rules.ignores(path, false)
    }

    /// The workspace goes both ways from now on: the process is started anew, with another config.
    pub(crate) fn end_down(&mut self) {
        if std::mem::take(&mut self.goes_down) {
            self.die();
        }
    }

    /// Which way the workspace goes.
    pub(crate) fn modes(&self) -> BTreeMap<String, WorkspaceMode> {
        let down = self.goes_down.then(|| (self.service.workspace.to_string(), WorkspaceMode::Down));
        down.into_iter().collect()
    }

    /// Nothing that is done in a workspace that goes down only is sent.
    pub(crate) fn nothing_goes_up(&self, effect: &Effect) -> Result<(), Failure> {
        let is_sent =
            matches!(effect, Effect::CreatePage { .. } | Effect::UpdatePage { .. } | Effect::TrashPage(_))
                || matches!(
                    effect,
                    Effect::Board(BoardEffect::CreateBoard { .. } | BoardEffect::TrashBoard(_))
                );
        match is_sent && self.goes_down {
            true => broken("down", format!("it goes down only, and something is sent: {effect:?}")),
            false => Ok(()),
        }
    }

    /// A page's file keeps a name that says its title, unless somebody gave a page another title in the app a moment ago.
    pub(crate) fn no_title_is_taken_back(&self, effect: &Effect) -> Result<(), Failure> {
        let Effect::Rename { from, to } = effect else { return Ok(()) };
        if is_conflict_copy(to) {
            return Ok(());
        }
        let is_news = self.now_ms - self.checks.hands.retitled_ms < LOOKED_BY_THEN_MS || self.other.is_some();
        // After a start, only the clock says how long ago a title was sent that a read does not show yet.
        let is_news = is_news || self.clock_jumped;
        let (Some(was), Some(is)) = (from.page_stem().filter(|_| !is_news), to.page_stem()) else {
            return Ok(());
        };
        let pages = self.service.active();
        let is_title = |stem: &str| pages.iter().any(|page| naming::still_says(stem, &page.title));
        // The file of one that was trashed a moment ago still follows its title.
        let mut all = self.service.world.pages();
        match is_title(was) && !all.any(|page| naming::still_says(is, &page.title)) {
            true => broken("calm", format!("{from} has the title of its page, and becomes {to}")),
            false => Ok(()),
        }
    }

    /// No act touches what has been ignored for long.
    pub(crate) fn nothing_ignored_is_touched(&self, effect: &Effect) -> Result<(), Failure> {
        if self.now_ms - self.ignoring.since_ms < SEEN_MS {
            return Ok(());
        }
        let paths: Vec<&MirrorPath> = match effect {
            Effect::WriteFile { path, .. } | Effect::TrashFile { path, .. } => vec![path],
            Effect::Rename { from, to } => vec![from, to],
            Effect::Storage(StorageEffect::Place { to, .. }) => vec![to],
            Effect::Storage(StorageEffect::Discard { path, .. }) => vec![path],
            _ => Vec::new(),
        };
        match paths.into_iter().find(|path| self.ignoring.rules.ignores(path, false)) {
            Some(path) => broken("ignored", format!("{path} is ignored, and is touched: {effect:?}")),
            None => Ok(()),
        }
    }
}
