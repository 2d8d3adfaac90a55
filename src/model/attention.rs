//! Messages to the user: one code for each kind of message, and one of three levels for each code. Status, exit
//! codes, log, journal and desktop all use these codes.

/// How urgent a message is for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The user must act, or the state does not change. Only this level gives exit code 3.
    Act,
    /// The service, the machine or the passage of time ends it.
    Waiting,
    /// Something happened, or differs, and the user need not do anything.
    Note,
}

impl Level {
    /// Its name in JSON and in `docs/attention.md`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Act => "act",
            Self::Waiting => "waiting",
            Self::Note => "note",
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $name:literal, $level:ident;)*) => {
        /// The kind of a message. The names are stable, because programs depend on them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[$doc])* $code,)* }

        impl Code {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$code,)*];

            /// Its name in the log, in JSON and in the state.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$code => $name,)* }
            }

            /// Its level.
            #[must_use]
            pub fn level(self) -> Level {
                match self { $(Self::$code => Level::$level,)* }
            }
        }
    };
}

codes! {
    /// The service does not accept the token: nothing is sent.
    TokenRefused = "token-refused", Act;
    /// The mirror's folder is missing, is another folder, or cannot be used: nothing is written on either side.
    FolderUnusable = "folder-unusable", Act;
    /// The proxy asks for a login, or the service's certificate is not trusted.
    CannotConnect = "cannot-connect", Act;
    /// More files went missing in the folder than a user deletes by hand.
    DeletionsHeld = "deletions-held", Act;
    /// More new files wait than a user makes by hand.
    CreationsHeld = "creations-held", Act;
    /// More items left the service than a user deletes by hand.
    RemovalsHeld = "removals-held", Act;
    /// The service no longer lists a workspace.
    WorkspaceGone = "workspace-gone", Act;
    /// The config names a workspace that the service does not list.
    UnknownWorkspace = "unknown-workspace", Act;
    /// A file cannot be sent as it is.
    NotSent = "not-sent", Act;
    /// The service refused a request.
    Refused = "refused", Act;
    /// A file went back to an earlier version together with an older copy of the folder.
    WentBack = "went-back", Act;
    /// The folder is an older copy of the one that was mirrored last.
    FolderOlder = "folder-older", Act;
    /// The page's content cannot be written into its file, or the file's content would not load in the app.
    Unwritable = "unwritable", Act;
    /// A program saves an old text over what the app has, again and again: its file waits until a program reads it.
    StaleEditor = "stale-editor", Act;
    /// A step about an item failed by a fault of espejo.
    Internal = "internal", Act;
    /// Both sides changed the same part; the user's version is kept as a conflict copy.
    Conflict = "conflict", Act;
    /// The service shows an item that it no longer lists.
    Unlisted = "unlisted", Act;
    /// Files name pages that the service does not list.
    UnknownPages = "unknown-pages", Act;
    /// Something in the folder cannot be read.
    Unreadable = "unreadable", Act;
    /// The file of ignore patterns, or a line of it, cannot be read.
    BadPattern = "bad-pattern", Act;
    /// A stored file cannot be uploaded as it is.
    NotUploaded = "not-uploaded", Act;
    /// The service does not let stored files be read, uploaded or deleted.
    StorageForbidden = "storage-forbidden", Act;
    /// There is no workspace that uploads can count for.
    NoWorkspace = "no-workspace", Act;
    /// Downloads wait for room on the disk.
    DiskFull = "disk-full", Act;
    /// Files lie on a disk that is not mounted.
    DiskAway = "disk-away", Act;
    /// An entry that is not espejo's has the path of a file.
    InTheWay = "in-the-way", Act;
    /// The user's version of a stored file is kept as a conflict copy.
    KeptBeside = "kept-beside", Act;
    /// The service cannot be reached, or all its answers are failures.
    Outage = "outage", Waiting;
    /// One request fails each time.
    Failing = "failing", Waiting;
    /// The service's answer about an item or a list cannot be read.
    Unclear = "unclear", Waiting;
    /// Edits are pending in a place that espejo may not write to.
    ReadOnly = "read-only", Waiting;
    /// A file cannot be written at present.
    NotWritten = "not-written", Waiting;
    /// Stored files exceed the config's limit for downloads.
    NotFetched = "not-fetched", Note;
    /// Changes in a workspace that is mirrored down only stay on this machine.
    StaysHere = "stays-here", Note;
    /// espejo may not write to a place, and no edit is pending there.
    Frozen = "frozen", Note;
    /// The folder is not watched but scanned, because a limit of the system is met.
    NotWatched = "not-watched", Note;
    /// Two names in a folder differ in case or Unicode form only: not every file system keeps both.
    AlikeNames = "alike-names", Note;
    /// A move or a rename was undone, because the API cannot make it.
    PutBack = "put-back", Note;
    /// A deleted file has come back.
    CameBack = "came-back", Note;
    /// An editor that was open in the app wrote its old text; the edit is sent again.
    Overwritten = "overwritten", Note;
    /// A program saved an older text of a file: what came since stays.
    StaleSave = "stale-save", Note;
    /// The file has content that its page does not have.
    Difference = "difference", Note;
    /// A part of the file stays on this machine.
    OnlyHere = "only-here", Note;
    /// A stored file's bytes changed on the disk without a write; it is downloaded again.
    Damaged = "damaged", Note;
    /// A stored file has another size than the service's list says.
    OddSize = "odd-size", Note;
    /// The state is an older copy than the folder: everything is compared again.
    StateOlder = "state-older", Note;
    /// A workspace that the config names is called otherwise at the service now.
    RenamedWorkspace = "renamed-workspace", Note;
    /// No picture of a canvas is drawn, because another file has its path.
    NoPicture = "no-picture", Note;
    /// Recorded by an earlier version, which had no codes.
    Earlier = "earlier", Note;
}

impl Code {
    /// The code of this name; [`Code::Earlier`] for an unknown name, which another version wrote.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::ALL.iter().copied().find(|code| code.name() == name).unwrap_or(Self::Earlier)
    }

    /// Whether it stops all writes and requests.
    #[must_use]
    pub fn stops_all(self) -> bool {
        matches!(self, Self::TokenRefused | Self::FolderUnusable)
    }

    /// Whether it reports an event.
    #[must_use]
    pub fn is_event(self) -> bool {
        matches!(
            self,
            Self::PutBack
                | Self::CameBack
                | Self::Overwritten
                | Self::OnlyHere
                | Self::Damaged
                | Self::OddSize
                | Self::StateOlder
                | Self::RenamedWorkspace
                | Self::Earlier
        )
    }

    /// Whether `espejo approve` releases what it holds.
    #[must_use]
    pub fn is_released_by_approval(self) -> bool {
        matches!(
            self,
            Self::DeletionsHeld
                | Self::RemovalsHeld
                | Self::CreationsHeld
                | Self::Unlisted
                | Self::UnknownPages
                | Self::WentBack
                | Self::FolderOlder
                | Self::DiskAway
                | Self::Unreadable
                | Self::InTheWay
        )
    }
}

/// A message to the user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attention {
    /// The file, folder or area, as the user sees it; empty for the mirror as a whole.
    pub path: String,
    /// One sentence: the fact and its cause.
    pub reason: String,
    /// What the user can do.
    pub action: String,
    /// Its kind.
    pub code: Code,
}

impl Attention {
    /// A message.
    pub fn new(
        code: Code,
        path: impl Into<String>,
        reason: impl Into<String>,
        action: impl Into<String>,
    ) -> Self {
        Self { path: path.into(), reason: reason.into(), action: action.into(), code }
    }

    /// The message about a folder that is an older copy.
    #[must_use]
    pub fn older_folder() -> Self {
        Self::new(
            Code::FolderOlder,
            "",
            "the folder is an older copy than the one that was mirrored last: what differs is not sent or \
             deleted until you choose, and stored files are fetched again",
            "espejo restore restores the newer texts; espejo approve accepts the files as they are",
        )
    }

    /// Its level.
    #[must_use]
    pub fn level(&self) -> Level {
        self.code.level()
    }
}

/// The messages as a person reads them: those in one folder that differ in nothing but their paths are one, with the number of
/// the others.
#[must_use]
pub fn by_cause(list: &[Attention]) -> Vec<(&Attention, usize)> {
    let folder = |item: &Attention| item.path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let mut causes: Vec<(&Attention, usize)> = Vec::new();
    let mut known: std::collections::BTreeMap<_, usize> = std::collections::BTreeMap::new();
    for item in list {
        let cause = (item.code, &item.reason, &item.action, folder(item));
        match known.get(&cause) {
            Some(at) if cause.3.is_some() => causes[*at].1 += 1,
            _ => {
                known.insert(cause, causes.len());
                causes.push((item, 0));
            }
        }
    }
    causes
}

/// A path, and how many others a message is about.
#[must_use]
pub fn and_others(path: &str, others: usize) -> String {
    match others {
        0 => path.to_owned(),
        _ => format!("{path}, and {others} more there"),
    }
}

/// The number of messages that need the user.
#[must_use]
pub fn to_act_on(list: &[Attention]) -> usize {
    list.iter().filter(|item| item.level() == Level::Act).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_a_name_of_its_own_which_finds_it() {
        for code in Code::ALL {
            assert_eq!(Code::named(code.name()), *code);
        }
        assert_eq!(Code::named(""), Code::Earlier);
        let told = include_str!("../../docs/attention.md");
        for code in Code::ALL {
            let row = format!("| `{}` | {} |", code.name(), code.level().name());
            assert_eq!(told.matches(&row).count(), 1, "{row}");
        }
        assert_eq!(told.matches("\n| `").count(), Code::ALL.len(), "a code that there is not");
        assert!(Code::ALL.iter().filter(|code| code.is_event()).all(|code| code.level() == Level::Note));
        assert!(Code::ALL.iter().filter(|code| code.stops_all()).all(|code| code.level() == Level::Act));
    }

    #[test]
    fn messages_of_one_cause_in_one_folder_are_one() {
        let told = |path: &str, reason: &str| Attention::new(Code::Refused, path, reason, "wait");
        let list =
            [told("A/x.md", "no"), told("A/y.md", "no"), told("A/z.md", "never"), told("B/x.md", "no")];
        let shown: Vec<_> =
            by_cause(&list).into_iter().map(|(item, others)| and_others(&item.path, others)).collect();
        assert_eq!(shown, ["A/x.md, and 1 more there", "A/z.md", "B/x.md"]);
        assert_eq!(by_cause(&[told("x", "no"), told("y", "no")]).len(), 2, "areas");
    }
}
