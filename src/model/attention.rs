//! What concerns the user: one code for each thing, and one of three levels for each code. Status, exit codes, log, journal
//! and desktop all go by it.

/// How much something concerns the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The user must act, or it stays as it is. Only this gives exit code 3.
    Act,
    /// The service, the machine or time ends it.
    Waiting,
    /// Something happened, or differs, and nothing has to be done about it.
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
        /// What it is that concerns the user. The names are stable: programs go by them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[$doc])* $code,)* }

        impl Code {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$code,)*];

            /// Its name in the log, in JSON and in the state.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$code => $name,)* }
            }

            /// How much it concerns the user.
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
    /// The mirror's folder is gone, another one, or cannot be used: nothing is written on either side.
    FolderUnusable = "folder-unusable", Act;
    /// Files went missing in the folder, more than a person deletes by hand.
    DeletionsHeld = "deletions-held", Act;
    /// Items left the service, more than a person deletes by hand.
    RemovalsHeld = "removals-held", Act;
    /// The service no longer lists a workspace.
    WorkspaceGone = "workspace-gone", Act;
    /// The config names a workspace that the service does not list.
    UnknownWorkspace = "unknown-workspace", Act;
    /// A file cannot be sent as it is.
    NotSent = "not-sent", Act;
    /// The service refused what was sent.
    Refused = "refused", Act;
    /// A file went back to an earlier version with an older copy of the folder.
    WentBack = "went-back", Act;
    /// The folder is an older copy than the one that was mirrored last.
    FolderOlder = "folder-older", Act;
    /// What the page says cannot be written into its file, or what the file says would not load in the app.
    Unwritable = "unwritable", Act;
    /// Both sides changed the same; the user's version is kept beside the page.
    Conflict = "conflict", Act;
    /// The service shows an item that it no longer lists.
    Unlisted = "unlisted", Act;
    /// Files name pages that the service does not list.
    UnknownPages = "unknown-pages", Act;
    /// Something in the folder cannot be read.
    Unreadable = "unreadable", Act;
    /// The file of what is ignored, or a line of it, cannot be read.
    BadPattern = "bad-pattern", Act;
    /// A stored file cannot be uploaded as it is.
    NotUploaded = "not-uploaded", Act;
    /// The service does not let stored files be read, uploaded or deleted.
    StorageForbidden = "storage-forbidden", Act;
    /// There is no workspace to count uploads for.
    NoWorkspace = "no-workspace", Act;
    /// Downloads wait for room on the disk.
    DiskFull = "disk-full", Act;
    /// Files lie on a disk that is not mounted.
    DiskAway = "disk-away", Act;
    /// Something that is not espejo's stands in a file's place.
    InTheWay = "in-the-way", Act;
    /// The user's version of a stored file is kept beside the service's.
    KeptBeside = "kept-beside", Act;
    /// The service cannot be reached, or fails everything.
    Outage = "outage", Waiting;
    /// One request fails each time.
    Failing = "failing", Waiting;
    /// What the service answers about an item or a list cannot be read.
    Unclear = "unclear", Waiting;
    /// Edits wait in a place that may not be written to.
    ReadOnly = "read-only", Waiting;
    /// A file cannot be written now.
    NotWritten = "not-written", Waiting;
    /// Stored files are larger than what the config lets be fetched.
    NotFetched = "not-fetched", Note;
    /// What is done here in a workspace that is mirrored down only stays here.
    StaysHere = "stays-here", Note;
    /// A place may not be written to, and nothing waits there.
    Frozen = "frozen", Note;
    /// A move or a renaming was undone: the API cannot make it.
    PutBack = "put-back", Note;
    /// A deleted file has come back.
    CameBack = "came-back", Note;
    /// An editor that was open in the app put its old text back; the edit is sent once more.
    Overwritten = "overwritten", Note;
    /// The file says something that its page does not.
    Difference = "difference", Note;
    /// Something of the file stays on this machine.
    OnlyHere = "only-here", Note;
    /// A stored file's bytes changed on the disk by themselves; it is fetched again.
    Damaged = "damaged", Note;
    /// The state is an older copy than the folder: everything is compared anew.
    StateOlder = "state-older", Note;
    /// No picture of a canvas is drawn, as another file stands in its place.
    NoPicture = "no-picture", Note;
    /// Written down by an earlier version, which knew no codes.
    Earlier = "earlier", Note;
}

impl Code {
    /// The code of this name; a name that is not known is of another version.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::ALL.iter().copied().find(|code| code.name() == name).unwrap_or(Self::Earlier)
    }

    /// Whether it stops everything that is sent.
    #[must_use]
    pub fn stops_all(self) -> bool {
        matches!(self, Self::TokenRefused | Self::FolderUnusable)
    }

    /// Whether it tells of something that happened, which `espejo dismiss` puts away for good.
    #[must_use]
    pub fn is_event(self) -> bool {
        matches!(
            self,
            Self::PutBack
                | Self::CameBack
                | Self::Overwritten
                | Self::OnlyHere
                | Self::Damaged
                | Self::StateOlder
                | Self::Earlier
        )
    }

    /// Whether `espejo approve` releases something.
    #[must_use]
    pub fn is_released_by_approval(self) -> bool {
        matches!(
            self,
            Self::DeletionsHeld
                | Self::RemovalsHeld
                | Self::Unlisted
                | Self::UnknownPages
                | Self::WentBack
                | Self::FolderOlder
                | Self::DiskAway
                | Self::Unreadable
        )
    }
}

/// Something that concerns the user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attention {
    /// The file, folder or area, as the user sees it; empty for the mirror as a whole.
    pub path: String,
    /// One sentence: what and why.
    pub reason: String,
    /// What mends it.
    pub action: String,
    /// What it is.
    pub code: Code,
}

impl Attention {
    /// One thing.
    pub fn new(
        code: Code,
        path: impl Into<String>,
        reason: impl Into<String>,
        action: impl Into<String>,
    ) -> Self {
        Self { path: path.into(), reason: reason.into(), action: action.into(), code }
    }

    /// How much it concerns the user.
    #[must_use]
    pub fn level(&self) -> Level {
        self.code.level()
    }
}

/// How many of these the user must act on.
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
}
