//! What status says, compared with the world when both sides agree, nothing goes wrong any more, and everything was looked at
//! once more: nothing waits that is done, nothing is blamed that is not so, and the numbers are those of the world.

use espejo::engine::Summary;
use espejo::model::{Attention, Level, MirrorPath};

use crate::checks::{Failure, broken};
use crate::number;
use crate::run::Run;
use crate::stored::people::root;

/// What is only said while something is wrong with the service, the folder or the agreement of the two.
const WRONG: [&str; 13] = [
    "nothing is written on either side",
    "nothing is sent",
    "read-only: ",
    "nothing is removed",
    "deletions are on hold",
    "the service no longer lists",
    "not sent: ",
    "no page was created",
    "it was not created",
    "it and many other files name pages",
    "the service cannot be reached",
    "cannot be read",
    "permission denied",
];

impl Run {
    /// Whether status tells what is so, at rest.
    pub(crate) fn status_is_true(&self, summary: &Summary) -> Result<(), Failure> {
        let pages = self.service.active().len();
        // Of a whiteboard or slide that is gone on both sides, what held it is still told, and it counts as mirrored.
        let asks_canvases = number("ESPEJO_STATUS") == Some(1);
        let canvases = if !asks_canvases {
            summary.canvases_listed
        } else if self.scene.has_canvases() {
            self.service.canvases().len()
        } else {
            0
        };
        let world = &self.service.world;
        let stored = if self.scene.stored == 0 {
            0
        } else {
            world.storage_files().filter(|file| world.storage_shows(&file.id)).count()
        };
        let is_canvas = |item: &&Attention| {
            // What a guard holds of a list of whiteboards stays held until the user approves.
            item.path.ends_with(".canvas")
                || item.path.ends_with("Whiteboards")
                || item.path.starts_with("Presentations")
        };
        let told = || summary.attention.iter().filter(|item| asks_canvases || !is_canvas(item));
        if let Some(item) = told().find(|item| item.level() == Level::Waiting) {
            return broken("status", format!("{}: {} is told to wait", item.path, item.reason));
        }
        let numbers = [
            ("pages listed", summary.listed, pages),
            ("pages mirrored", summary.mirrored, pages),
            ("pages held", summary.held, 0),
            ("canvases listed", summary.canvases_listed, canvases),
            ("canvases mirrored", if asks_canvases { summary.canvases } else { canvases }, canvases),
            ("stored files listed", summary.storage.listed, stored),
            ("pending", summary.pending, 0),
            ("sending", summary.storage.sending, 0),
            // A copy whose page was gone for a while may be told no more.
            ("conflicts", summary.conflicts.saturating_sub(self.copies_beside()), 0),
        ];
        for (what, told, is) in numbers {
            if told != is {
                return broken("status", format!("{what}: {told} are told, {is} are so"));
            }
        }
        if summary.away || summary.paused.is_some() {
            return broken("status", "the service is told to be away, or espejo to be paused");
        }
        told().try_for_each(|item| self.is_so(item))
    }

    /// Versions that espejo put beside pages and canvases.
    fn copies_beside(&self) -> usize {
        let is_copy = |path: &&MirrorPath| path.name().contains(".conflict-") && !path.is_within(&root());
        self.folder.things.keys().filter(is_copy).count()
    }

    fn is_so(&self, item: &Attention) -> Result<(), Failure> {
        if WRONG.iter().any(|wrong| item.reason.contains(wrong)) {
            return broken("status", format!("it is not so any more: {item:?}"));
        }
        let Ok(path) = MirrorPath::new(&item.path) else { return Ok(()) };
        let is_file = path.components().count() > 2 && !path.is_within(&root());
        if is_file && !self.folder.things.contains_key(&path) {
            return broken("status", format!("about a file that is not there: {item:?}"));
        }
        Ok(())
    }
}
