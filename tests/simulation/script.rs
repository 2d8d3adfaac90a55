//! Scripts: what people and bad luck do, as a list of steps that can be drawn from a seed, printed, read back and cut
//! down. Steps name things by number ("the file number 17, counted round"), so a step keeps a meaning when others go.

use std::fmt;
use std::str::FromStr;

use crate::canvas::{AppCanvas, Canvas, CanvasFault};
use crate::draws::{some_of, weighted};
use crate::luck::Luck;
use crate::owner::Owner;
use crate::stored::{AppStored, Stored, StoredFault};

/// An enum whose variants have a name in scripts and a weight in the draw.
macro_rules! verbs {
    ($(#[$doc:meta])* $name:ident { $($(#[$note:meta])* $variant:ident = $text:literal, $weight:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$note])* $variant,)* }

        impl $name {
            pub(crate) const ALL: &[(Self, &str, u64)] = &[$((Self::$variant, $text, $weight),)*];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Self::ALL.iter().find(|(verb, ..)| verb == self).map_or("", |(_, text, _)| text))
            }
        }

        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                Self::ALL
                    .iter()
                    .find(|(_, name, _)| *name == text)
                    .map(|(verb, ..)| *verb)
                    .ok_or_else(|| format!("no {} is called {text:?}", stringify!($name)))
            }
        }
    };
}
pub(crate) use verbs;

verbs! {
    /// A change of a file's text.
    Edit {
        InsertWord = "insert-word", 24;
        ChangeWord = "change-word", 8;
        DeleteWord = "delete-word", 5;
        AppendParagraph = "append-paragraph", 12;
        InsertParagraph = "insert-paragraph", 8;
        DeleteParagraph = "delete-paragraph", 4;
        MoveParagraph = "move-paragraph", 4;
        InsertItem = "insert-item", 6;
        TickBox = "tick-box", 6;
        RetitleHeading = "retitle-heading", 3;
        /// Another way of writing the same.
        Reformat = "reformat", 4;
        /// The same bytes again.
        Resave = "resave", 3;
    }
}

verbs! {
    /// A way of saving.
    Save {
        InPlace = "in-place", 4;
        /// Empty first, the text a while later.
        Truncate = "truncate", 2;
        /// The first half, and the whole text after a pause in which the file stays open.
        Half = "half", 2;
        /// A temporary file renamed over the old one.
        Replace = "replace", 3;
        Vim = "vim", 3;
        Emacs = "emacs", 1;
        Sed = "sed", 2;
        /// In place, and the modification time set back.
        OldTime = "old-time", 1;
        /// From what the file held some seconds earlier.
        Stale = "stale", 1;
        /// From what the file held a second to fifteen minutes earlier: a program that reads, thinks, and writes.
        FromMemory = "from-memory", 2;
        /// An editor that saves by itself what it holds, again and again, and does not read the file meanwhile.
        Autosave = "autosave", 2;
        /// Two programs that read the same text, and save one after the other.
        TwoPrograms = "two-programs", 1;
    }
}

verbs! {
    /// A change of the tree of files.
    Tree {
        NewFile = "new-file", 10;
        NewOddFile = "new-odd-file", 3;
        NewFolder = "new-folder", 4;
        CopyFile = "copy-file", 4;
        CopyAll = "copy-tree", 1;
        RenameFile = "rename-file", 6;
        RenameBoth = "rename-both", 4;
        RenameFolder = "rename-folder", 2;
        MoveFile = "move-file", 4;
        MoveAll = "move-tree", 2;
        DeleteFile = "delete-file", 4;
        DeleteAll = "delete-tree", 2;
        /// Gone for a few seconds, as in a checkout.
        DeleteAndReturn = "delete-and-return", 3;
        /// Gone for longer than the grace.
        DeleteAndReturnLate = "delete-and-return-late", 1;
        Swap = "swap", 2;
        /// A file that is no page.
        Stray = "stray", 2;
        SettleConflict = "settle-conflict", 4;
        /// Several files as they were some seconds ago, each removed and written anew, as git does it.
        Checkout = "checkout", 2;
        /// A formatter over all files.
        FormatAll = "format-all", 1;
        /// A part of a text is cut out in one save, and pasted in a later one.
        CutAndPaste = "cut-and-paste", 6;
        /// Another tool that syncs this folder puts its own copy beside a file.
        OtherTool = "other-tool", 2;
    }
}

verbs! {
    /// A person in the app.
    App {
        InsertWord = "insert-word", 20;
        ChangeWord = "change-word", 8;
        DeleteWord = "delete-word", 5;
        InsertBlock = "insert-block", 12;
        DeleteBlock = "delete-block", 5;
        MoveBlock = "move-block", 5;
        Nest = "nest", 3;
        Tick = "tick", 5;
        Style = "style", 4;
        Rename = "rename", 7;
        Move = "move", 5;
        NewPage = "new-page", 5;
        NewSubpage = "new-subpage", 4;
        NewOddPage = "new-odd-page", 2;
        Trash = "trash", 4;
        Restore = "restore", 3;
        Icon = "icon", 3;
        /// An editor that was open all the time and saves what it knew, with one more word.
        StaleEditor = "stale-editor", 1;
        /// An editor that was open for a second to twelve minutes saves by itself, keystroke by keystroke, and never reloads.
        OpenEditor = "open-editor", 2;
        /// A picture with a width, which Markdown cannot say.
        InsertImage = "insert-image", 3;
        /// An editor that was open before espejo's last push saves what it had.
        PutBack = "put-back", 3;
    }
}

verbs! {
    /// Bad luck.
    Fault {
        /// The process dies after so many more moments, and starts again.
        Crash = "crash", 14;
        /// The process dies as soon as one more of its changes is carried out, before it hears of that. Drawn in the
        /// place of other deaths only.
        CrashAfterChange = "crash-after-change", 0;
        /// The next requests are not carried out, and time out.
        LostBefore = "lost-before", 6;
        /// The next requests are carried out, and their answers are lost.
        LostAfter = "lost-after", 8;
        /// No network for a while.
        Unreachable = "unreachable", 5;
        /// Answers take long for a while.
        Slow = "slow", 4;
        /// The next requests end with 500, and are not carried out.
        Failing = "failing", 4;
        /// The next requests end with 502, and are carried out.
        FailingAfter = "failing-after", 4;
        /// The next requests end with 429.
        Limited = "limited", 3;
        /// A proxy's page instead of the next answers.
        Garbled = "garbled", 3;
        /// 401 for a while.
        Unauthorized = "unauthorized", 2;
        /// 403 for a while.
        Forbidden = "forbidden", 2;
        /// The list of pages is empty for a while.
        EmptyList = "empty-list", 2;
        /// The list of pages lacks some for a while.
        ShortList = "short-list", 3;
        /// Some pages are not shown at all for a while.
        Hidden = "hidden", 2;
        DiskFull = "disk-full", 2;
        ReadOnly = "read-only", 2;
        Sealed = "sealed", 2;
        NoMarker = "no-marker", 1;
        RootGone = "root-gone", 2;
        /// The machine sleeps.
        Suspend = "suspend", 3;
        /// The machine's clock is set, forward or back.
        ClockStep = "clock-step", 2;
        /// The watcher says it lost events.
        Overflow = "overflow", 3;
        /// A person asks for a full pass.
        FullPass = "full-pass", 2;
    }
}

/// What happens in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// Somebody edits a file.
    Edit(Edit, Save),
    /// Somebody changes the tree of files.
    Tree(Tree),
    /// Somebody works in the app.
    App(App),
    /// Something goes wrong.
    Fault(Fault),
    /// Somebody works in the storage folder.
    Stored(Stored),
    /// Somebody works in the app among their stored files.
    AppStored(AppStored),
    /// Something goes wrong with these alone.
    StoredFault(StoredFault),
    /// Somebody works on canvas files.
    Canvas(Canvas),
    /// Somebody works in the app on whiteboards and presentations.
    AppCanvas(AppCanvas),
    /// Something goes wrong with these alone.
    CanvasFault(CanvasFault),
    /// The owner has espejo do something, or does something to all of the folder.
    Owner(Owner),
}

impl Act {
    /// Who acts, as scripts call them.
    pub(crate) fn who(self) -> &'static str {
        match self {
            Self::Edit(..) => "edit",
            Self::Tree(_) => "tree",
            Self::App(_) => "app",
            Self::Fault(_) => "fault",
            Self::Stored(_) => "stored",
            Self::AppStored(_) => "app-stored",
            Self::StoredFault(_) => "stored-fault",
            Self::Canvas(_) => "canvas",
            Self::AppCanvas(_) => "app-canvas",
            Self::CanvasFault(_) => "canvas-fault",
            Self::Owner(_) => "owner",
        }
    }
}

/// One step: wait, then act. `a` and `b` choose where and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) wait_ms: u32,
    pub(crate) act: Act,
    pub(crate) a: u32,
    pub(crate) b: u32,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{} {} ", self.wait_ms, self.act.who())?;
        match self.act {
            Act::Edit(edit, save) => write!(f, "{edit}/{save}")?,
            Act::Tree(tree) => write!(f, "{tree}")?,
            Act::App(app) => write!(f, "{app}")?,
            Act::Fault(fault) => write!(f, "{fault}")?,
            Act::Stored(verb) => write!(f, "{verb}")?,
            Act::AppStored(verb) => write!(f, "{verb}")?,
            Act::StoredFault(fault) => write!(f, "{fault}")?,
            Act::Canvas(canvas) => write!(f, "{canvas}")?,
            Act::AppCanvas(app) => write!(f, "{app}")?,
            Act::CanvasFault(fault) => write!(f, "{fault}")?,
            Act::Owner(owner) => write!(f, "{owner}")?,
        }
        write!(f, " {} {}", self.a, self.b)
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let parts: Vec<&str> = line.split_whitespace().collect();
        let [wait, who, verb, a, b] = parts[..] else {
            return Err(format!("five words make a step: {line:?}"));
        };
        let number = |text: &str| text.parse::<u32>().map_err(|error| format!("{line:?}: {error}"));
        let act = match who {
            "edit" => {
                let (edit, save) =
                    verb.split_once('/').ok_or_else(|| format!("no way of saving: {line:?}"))?;
                Act::Edit(edit.parse()?, save.parse()?)
            }
            "tree" => Act::Tree(verb.parse()?),
            "app" => Act::App(verb.parse()?),
            "fault" => Act::Fault(verb.parse()?),
            "stored" => Act::Stored(verb.parse()?),
            "app-stored" => Act::AppStored(verb.parse()?),
            "stored-fault" => Act::StoredFault(verb.parse()?),
            "canvas" => Act::Canvas(verb.parse()?),
            "app-canvas" => Act::AppCanvas(verb.parse()?),
            "canvas-fault" => Act::CanvasFault(verb.parse()?),
            "owner" => Act::Owner(verb.parse()?),
            other => return Err(format!("nobody is called {other:?}: {line:?}")),
        };
        Ok(Self { wait_ms: number(wait.trim_start_matches('+'))?, act, a: number(a)?, b: number(b)? })
    }
}

/// What the world is like, beyond what happens in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scene {
    /// Of delivery times, of the engine, and of what is there in the beginning.
    pub(crate) seed: u64,
    /// Pages in the beginning.
    pub(crate) pages: u32,
    /// Requests in any 60 seconds.
    pub(crate) budget: u32,
    /// Of 100 hints, how many never come.
    pub(crate) hints_lost: u32,
    /// Steps of the clock that stamps files, in microseconds; 0 for a nanosecond.
    pub(crate) grain_us: u32,
    /// 1 when the file system keeps birth times.
    pub(crate) births: u32,
    /// 1 when inode numbers come back at once.
    pub(crate) reuse: u32,
    /// Grace of a deletion, in milliseconds.
    pub(crate) grace_ms: u32,
    /// 1 when a file in another folder makes a new page.
    pub(crate) recreate: u32,
    /// How long the world is left alone before the first step, in milliseconds.
    pub(crate) rest_ms: u32,
    /// 1 when the end asks for a full pass; 0 leaves the engine to its own pace.
    pub(crate) pass: u32,
    /// 1 when what a text stands for, and the text of a page, is worked out beside the engine.
    pub(crate) beside: u32,
    /// Stored files in the beginning; 0 when storage is off.
    pub(crate) stored: u32,
    /// 0 for a backup, 1 for both ways.
    pub(crate) stored_mode: u32,
    /// Whiteboards in the beginning; 0 when there are none, ever.
    pub(crate) boards: u32,
    /// Presentations in the beginning; 0 when there are none, ever.
    pub(crate) decks: u32,
    /// 1 when what cannot be brought back may be removed.
    pub(crate) permanent: u32,
    /// Whether a person keeps things out of the mirror for a while.
    pub(crate) ignores: u32,
    /// Whether the workspace goes down only until the end.
    pub(crate) down: u32,
    /// 1 when a second machine mirrors the same workspace.
    pub(crate) two: u32,
    /// How far the service's reads are behind, in milliseconds; 0 when each shows what is there.
    pub(crate) lag_ms: u32,
    /// 1 when two replicas take turns, and only every second read lags.
    pub(crate) turns: u32,
}

impl Scene {
    const KEYS: [&str; 22] = [
        "seed",
        "pages",
        "budget",
        "hints_lost",
        "grain_us",
        "births",
        "reuse",
        "grace_ms",
        "recreate",
        "rest_ms",
        "pass",
        "beside",
        "stored",
        "stored_mode",
        "boards",
        "decks",
        "permanent",
        "ignores",
        "down",
        "two",
        "lag_ms",
        "turns",
    ];

    fn values(&self) -> [u64; 22] {
        [
            self.seed,
            u64::from(self.pages),
            u64::from(self.budget),
            u64::from(self.hints_lost),
            u64::from(self.grain_us),
            u64::from(self.births),
            u64::from(self.reuse),
            u64::from(self.grace_ms),
            u64::from(self.recreate),
            u64::from(self.rest_ms),
            u64::from(self.pass),
            u64::from(self.beside),
            u64::from(self.stored),
            u64::from(self.stored_mode),
            u64::from(self.boards),
            u64::from(self.decks),
            u64::from(self.permanent),
            u64::from(self.ignores),
            u64::from(self.down),
            u64::from(self.two),
            u64::from(self.lag_ms),
            u64::from(self.turns),
        ]
    }

    /// Whether births tell files apart: one in whole seconds is that of many.
    pub(crate) fn has_births(&self) -> bool {
        self.births == 1 && self.grain_us < 1_000_000
    }

    /// Whether one file may pass for another: an inode comes back within one step of the clock, or without a birth.
    pub(crate) fn mistakes_files(&self) -> bool {
        self.reuse == 1 && !self.has_births()
    }

    /// Requests that the service answers in any 60 seconds: each machine has its share.
    pub(crate) fn limit(&self) -> u32 {
        self.budget * (1 + self.two)
    }

    /// The world of a seed.
    fn draw(seed: u64, luck: &mut Luck) -> Self {
        Self {
            seed,
            pages: *luck.pick(&[1, 2, 3, 4, 6, 9, 14]),
            budget: *luck.pick(&[20, 30, 40, 60]),
            hints_lost: *luck.pick(&[0, 0, 10, 30, 60, 100]),
            grain_us: *luck.pick(&[0, 4_000, 10_000, 1_000_000, 2_000_000]),
            births: *luck.pick(&[0, 1, 1]),
            reuse: *luck.pick(&[0, 1, 1]),
            grace_ms: *luck.pick(&[2_000, 10_000, 10_000]),
            recreate: *luck.pick(&[0, 0, 1]),
            rest_ms: *luck.pick(&[0, 500, 30_000, 120_000, 120_000]),
            pass: *luck.pick(&[0, 1, 1]),
            beside: 0,
            stored: 0,
            stored_mode: 0,
            boards: 0,
            decks: 0,
            permanent: 0,
            ignores: u32::from(seed % 8 == 3),
            down: u32::from(seed % 8 == 6),
            two: 0,
            lag_ms: 0,
            turns: 0,
        }
    }
}

/// A whole run: the world, and what happens in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) scene: Scene,
    pub(crate) steps: Vec<Step>,
}

impl Script {
    /// The script of a seed. Half of the verbs are left out of each, so that rare ones get a run to themselves.
    pub(crate) fn draw(seed: u64, count: usize) -> Self {
        let mut luck = Luck::new(seed, 1);
        let scene = Scene::draw(seed, &mut luck);
        let edits = some_of(Edit::ALL, &mut luck);
        let saves = some_of(Save::ALL, &mut luck);
        let trees = some_of(Tree::ALL, &mut luck);
        let apps = some_of(App::ALL, &mut luck);
        let faults = some_of(Fault::ALL, &mut luck);
        let shares = [
            *luck.pick(&[0, 10, 30]),
            *luck.pick(&[0, 5, 15]),
            *luck.pick(&[0, 10, 25]),
            *luck.pick(&[0, 3, 10]),
        ];
        let haste = *luck.pick(&[500, 3_000, 20_000]);
        let mut steps = Vec::with_capacity(count);
        while steps.len() < count {
            let mut roll = luck.below(shares.iter().sum::<u64>().max(1));
            let kind = shares.iter().position(|share| {
                let here = roll < *share;
                roll = roll.saturating_sub(*share);
                here
            });
            let act = match kind {
                Some(0) => Act::Edit(weighted(&edits, &mut luck), weighted(&saves, &mut luck)),
                Some(1) => Act::Tree(weighted(&trees, &mut luck)),
                Some(2) => Act::App(weighted(&apps, &mut luck)),
                Some(_) => Act::Fault(weighted(&faults, &mut luck)),
                None => Act::Edit(Edit::AppendParagraph, Save::Vim),
            };
            let wait = match luck.below(10) {
                0..=3 => luck.below(200),
                4..=8 => luck.below(haste),
                _ => luck.below(90_000),
            };
            let small = |luck: &mut Luck| u32::try_from(luck.below(1_000)).unwrap_or(0);
            let (a, b) = (small(&mut luck), small(&mut luck));
            steps.push(Step { wait_ms: u32::try_from(wait).unwrap_or(0), act, a, b });
        }
        Self { scene, steps }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = Scene::KEYS
            .iter()
            .zip(self.scene.values())
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        writeln!(f, "{}", pairs.join(" "))?;
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl FromStr for Script {
    type Err = String;

    /// Reads what `Display` writes; blank lines and lines that begin with `#` are comments.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let head = lines.next().ok_or("an empty script")?;
        let mut values = [None; Scene::KEYS.len()];
        // Older scripts do not say them.
        values[11..].fill(Some(0));
        for pair in head.split_whitespace() {
            let (key, value) = pair.split_once('=').ok_or_else(|| format!("no value: {pair:?}"))?;
            let place = Scene::KEYS
                .iter()
                .position(|known| *known == key)
                .ok_or_else(|| format!("no key {key:?}"))?;
            values[place] = Some(value.parse::<u64>().map_err(|error| format!("{pair:?}: {error}"))?);
        }
        let of = |key: &str| {
            let place = Scene::KEYS.iter().position(|known| *known == key).unwrap_or(0);
            values[place].ok_or_else(|| format!("{key} is missing"))
        };
        let small = |key: &str| u32::try_from(of(key)?).map_err(|error| format!("{key}: {error}"));
        let scene = Scene {
            seed: of("seed")?,
            pages: small("pages")?,
            budget: small("budget")?,
            hints_lost: small("hints_lost")?,
            grain_us: small("grain_us")?,
            births: small("births")?,
            reuse: small("reuse")?,
            grace_ms: small("grace_ms")?,
            recreate: small("recreate")?,
            rest_ms: small("rest_ms")?,
            pass: small("pass")?,
            beside: small("beside")?,
            stored: small("stored")?,
            stored_mode: small("stored_mode")?,
            boards: small("boards")?,
            decks: small("decks")?,
            permanent: small("permanent")?,
            ignores: small("ignores")?,
            down: small("down")?,
            two: small("two")?,
            lag_ms: small("lag_ms")?,
            turns: small("turns")?,
        };
        Ok(Self { scene, steps: lines.map(str::parse).collect::<Result<_, _>>()? })
    }
}

#[test]
fn scripts_read_back_as_they_were_written() {
    for seed in 0..200 {
        let script = Script::draw(seed, 50);
        assert_eq!(script.to_string().parse(), Ok(script.clone()), "seed {seed}");
        assert_eq!(Script::draw(seed, 50), script, "seed {seed} draws the same again");
    }
    let check = |text: &str, complaint: &str| {
        assert_eq!(text.parse::<Step>().unwrap_err(), complaint);
    };
    check("+1 edit insert-word 1 2", "no way of saving: \"+1 edit insert-word 1 2\"");
    check("+1 tree fell 1 2", "no Tree is called \"fell\"");
    check("+1 nobody is 1 2", "nobody is called \"nobody\": \"+1 nobody is 1 2\"");
}
