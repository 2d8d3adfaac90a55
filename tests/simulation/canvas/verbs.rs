//! What people do with whiteboards and presentations, on disk and in the app, and what goes wrong with them alone.

use std::fmt;
use std::str::FromStr;

use espejo::model::BoardSettings;

use crate::draws::{some_of, weighted};
use crate::luck::Luck;
use crate::script::{Act, Scene, Step, verbs};

verbs! {
    /// A person at the folder.
    Canvas {
        AddNode = "add-node", 14;
        MoveNode = "move-node", 8;
        ResizeNode = "resize-node", 4;
        RetextNode = "retext-node", 12;
        RecolourNode = "recolour-node", 4;
        DeleteNode = "delete-node", 6;
        /// A copy of a node with an id of its own, as Obsidian makes it.
        DuplicateNode = "duplicate-node", 3;
        /// A group, on a whiteboard with an edge, which stay in the file.
        AddGroup = "add-group", 2;
        /// The same, written as Obsidian writes it.
        Resave = "resave", 4;
        /// Cut off in the middle, and mended later.
        Spoil = "spoil", 3;
        /// Empty, and mended later.
        Blank = "blank", 2;
        NewBoard = "new-board", 7;
        CopyBoard = "copy-board", 3;
        RenameBoard = "rename-board", 4;
        /// To a folder where no canvas belongs.
        MoveAway = "move-away", 2;
        DeleteFile = "delete-file", 4;
        /// Gone for a few seconds.
        DeleteAndReturn = "delete-and-return", 3;
        /// Gone for longer than the grace.
        DeleteAndReturnLate = "delete-and-return-late", 1;
        /// Several boards, a few at a time.
        DeleteSome = "delete-some", 3;
        SettleConflict = "settle-conflict", 3;
        /// A picture is removed or painted over.
        TouchPicture = "touch-picture", 2;
        /// A group beside the others of a presentation.
        NewSlide = "new-slide", 6;
        CopySlide = "copy-slide", 2;
        /// A group goes with all that lies in it.
        RemoveSlide = "remove-slide", 2;
        /// A group goes elsewhere with all that lies in it.
        MoveSlide = "move-slide", 3;
        GridSlides = "grid-slides", 2;
        ResizeSlide = "resize-slide", 2;
        /// A group goes alone.
        Ungroup = "ungroup", 2;
        NameSlide = "name-slide", 2;
        /// A node goes into another slide.
        DragNode = "drag-node", 5;
        /// A new node lies in no slide.
        NodeOutside = "node-outside", 2;
        ReorderNodes = "reorder-nodes", 2;
        NewDeck = "new-deck", 4;
        RenameDeck = "rename-deck", 2;
        CopyDeck = "copy-deck", 1;
        DeleteDeck = "delete-deck", 2;
    }
}

verbs! {
    /// A person in the app.
    AppCanvas {
        AddElement = "add-element", 12;
        /// One that the API cannot make.
        AddOdd = "add-odd", 5;
        MoveElement = "move-element", 8;
        ResizeElement = "resize-element", 3;
        RetextElement = "retext-element", 12;
        RestyleElement = "restyle-element", 5;
        DeleteElement = "delete-element", 6;
        NewBoard = "new-board", 4;
        RenameBoard = "rename-board", 5;
        TrashBoard = "trash-board", 3;
        RestoreBoard = "restore-board", 2;
        NewDeck = "new-deck", 3;
        RenameDeck = "rename-deck", 4;
        TrashDeck = "trash-deck", 2;
        RestoreDeck = "restore-deck", 2;
        AddSlide = "add-slide", 5;
        MoveSlide = "move-slide", 3;
        RemoveSlide = "remove-slide", 3;
        Background = "background", 2;
        /// A page becomes a dashboard, another one, or an ordinary page again.
        Dashboard = "dashboard", 3;
    }
}

verbs! {
    /// Bad luck of whiteboards and presentations.
    CanvasFault {
        /// One look at the elements of a canvas answers with none.
        EmptyElements = "empty-elements", 5;
        /// One list of slides answers with none.
        EmptySlides = "empty-slides", 3;
        /// One list of whiteboards, or of presentations, answers with none.
        EmptyBoards = "empty-boards", 3;
        EmptyDecks = "empty-decks", 2;
        /// One element cannot be changed for a while: 500 each time.
        FailingElement = "failing-element", 5;
        /// The next requests about canvases are refused: 403, 404.
        Refused = "refused", 2;
        NotFound = "not-found", 3;
        /// The answers to the next POSTs about canvases get lost.
        LostPost = "lost-post", 5;
        HideBoard = "hide-board", 2;
        HideDeck = "hide-deck", 1;
    }
}

impl Canvas {
    /// Whether it is done to a presentation's file only.
    pub(super) fn is_at_slides(self) -> bool {
        matches!(
            self,
            Self::NewSlide
                | Self::CopySlide
                | Self::RemoveSlide
                | Self::MoveSlide
                | Self::GridSlides
                | Self::ResizeSlide
                | Self::Ungroup
                | Self::NameSlide
                | Self::DragNode
                | Self::NodeOutside
                | Self::ReorderNodes
        )
    }
}

impl Scene {
    /// Whether whiteboards or presentations are in this world.
    pub(crate) fn has_canvases(&self) -> bool {
        self.boards > 0 || self.decks > 0
    }

    /// What the config says of them.
    pub(crate) fn board_settings(&self) -> BoardSettings {
        BoardSettings {
            whiteboards: self.boards > 0,
            presentations: self.decks > 0,
            dashboards: self.has_canvases(),
            permanent_deletes: self.permanent == 1,
        }
    }
}

/// Puts canvases into a world that was drawn without them: from a stream of its own, so that the rest of the draw stays.
pub(crate) fn draw(scene: &mut Scene, steps: &mut [Step]) {
    let mut luck = Luck::new(scene.seed, 20);
    scene.boards = *luck.pick(&[1, 2, 3, 3, 5, 14]);
    scene.decks = *luck.pick(&[1, 1, 2, 3]);
    scene.permanent = *luck.pick(&[0, 0, 1]);
    let canvases = some_of(Canvas::ALL, &mut luck);
    let apps = some_of(AppCanvas::ALL, &mut luck);
    let faults = some_of(CanvasFault::ALL, &mut luck);
    let share = *luck.pick(&[20, 40, 60]);
    let bad = *luck.pick(&[0, 5, 15]);
    let app = *luck.pick(&[20, 40, 60]);
    for step in steps {
        if !luck.chance(share) {
            continue;
        }
        step.act = if luck.chance(bad) {
            Act::CanvasFault(weighted(&faults, &mut luck))
        } else if luck.chance(app) {
            Act::AppCanvas(weighted(&apps, &mut luck))
        } else {
            Act::Canvas(weighted(&canvases, &mut luck))
        };
    }
}
