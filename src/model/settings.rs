//! The user's settings, checked. The shape of the config file is in `config`; the engine sees only this.

use std::collections::BTreeMap;

/// Settings of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Slugs, ids or names of the workspaces to mirror; empty for all.
    pub workspaces: Vec<String>,
    /// The direction of workspaces by slug, id or name; the others are synced both ways.
    pub modes: BTreeMap<String, WorkspaceMode>,
    /// Most requests in any 60 seconds.
    pub requests_per_minute: u32,
    /// Whether polling uses its whole share of requests even if little is to be gained.
    pub eager: bool,
    /// The number of pages from which on the service's search may be used as a watch.
    pub watch_from: usize,
    /// Offset of local time from UTC in seconds, for the names of conflict copies.
    pub utc_offset_seconds: i32,
    /// Patterns of paths that are never synced, in gitignore's syntax.
    pub ignore: Vec<String>,
    /// Settings of pages.
    pub pages: PageSettings,
    /// Settings of whiteboards and presentations.
    pub boards: BoardSettings,
    /// Settings of personal storage.
    pub storage: StorageSettings,
}

/// The direction of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceMode {
    /// Down and up.
    TwoWay,
    /// Changes at the service come down; changes in the folder stay there.
    Down,
}

/// Settings of personal storage (contract section 5, `[storage]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageSettings {
    /// Whether it is mirrored, and in which direction.
    pub mode: StorageMode,
    /// Slug, id or name of the workspace that uploads count for; `None` for the first that is not frozen.
    pub workspace: Option<String>,
    /// The largest file that is downloaded, in bytes; `None` for no limit.
    pub max_download: Option<u64>,
}

/// The direction of storage files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageMode {
    /// Not mirrored.
    Off,
    /// Down only.
    Backup,
    /// Down and up.
    TwoWay,
}

/// Settings of pages (contract section 5, `[pages]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSettings {
    /// Quiet time after a save before a file is read, in milliseconds.
    pub settle_ms: i64,
    /// Grace time of a missing file before its page is trashed, in milliseconds.
    pub delete_grace_ms: i64,
    /// The effect of a deleted file.
    pub deletes: Deletes,
    /// The effect of moving a file to another folder.
    pub moves: Moves,
    /// The most deletions at once that need no `espejo approve`.
    pub max_deletes: usize,
    /// The most creations at once that need no `espejo approve`.
    pub max_creates: usize,
    /// Retention of versions, in days.
    pub history_days: u32,
    /// Retention of the trash, in days.
    pub trash_days: u32,
    /// Undocumented block types that may be created.
    pub blocks: Vec<String>,
}

/// Settings of whiteboards and presentations (contract section 5, `[whiteboards]` and `[presentations]`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoardSettings {
    /// Whether whiteboards are mirrored.
    pub whiteboards: bool,
    /// Whether presentations are mirrored.
    pub presentations: bool,
    /// Whether a dashboard's magnets are written beside its page.
    pub dashboards: bool,
    /// Whether espejo may remove items that cannot be restored: slides, and elements the API cannot create.
    pub permanent_deletes: bool,
}

/// The effect of a deleted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletes {
    /// Its page goes to the service's trash.
    Trash,
    /// The file comes back.
    Restore,
}

/// The effect of moving a file to another folder; the API cannot move pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moves {
    /// The file is moved back, and `status` says why.
    PutBack,
    /// A new page is created at the new place, and the old one is trashed.
    Recreate,
}

impl Settings {
    /// Whether a workspace is to be mirrored; `is_called`: whether the config may mean it by a name.
    pub fn chooses(&self, is_called: impl Fn(&str) -> bool) -> bool {
        self.workspaces.is_empty() || self.workspaces.iter().any(|name| is_called(name))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            workspaces: Vec::new(),
            modes: BTreeMap::new(),
            requests_per_minute: 60,
            eager: false,
            watch_from: 30,
            utc_offset_seconds: 0,
            ignore: Vec::new(),
            pages: PageSettings::default(),
            boards: BoardSettings::default(),
            storage: StorageSettings { mode: StorageMode::Off, workspace: None, max_download: None },
        }
    }
}

impl Default for BoardSettings {
    fn default() -> Self {
        Self { whiteboards: true, presentations: true, dashboards: true, permanent_deletes: false }
    }
}

impl Default for PageSettings {
    fn default() -> Self {
        Self {
            settle_ms: 300,
            delete_grace_ms: 10_000,
            deletes: Deletes::Trash,
            moves: Moves::PutBack,
            max_deletes: 10,
            max_creates: 100,
            history_days: 90,
            trash_days: 30,
            blocks: Vec::new(),
        }
    }
}
