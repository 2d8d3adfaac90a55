//! What the user chose, checked. The config file's own shape lives in `config`; the engine sees only this.

use std::collections::BTreeMap;

/// Settings of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Slugs, ids or names of the workspaces to mirror; empty for all.
    pub workspaces: Vec<String>,
    /// Workspaces by slug, id or name, and which way each goes; those that are not named go both ways.
    pub modes: BTreeMap<String, WorkspaceMode>,
    /// Most requests in any 60 seconds.
    pub requests_per_minute: u32,
    /// Whether polling spends its whole share also where little is to be gained.
    pub eager: bool,
    /// From this many pages on, the service's search may be used as a watch.
    pub watch_from: usize,
    /// Local time's distance from UTC in seconds, for the names of conflict copies.
    pub utc_offset_seconds: i32,
    /// Patterns of what is never synced, in gitignore's syntax.
    pub ignore: Vec<String>,
    /// Everything about pages.
    pub pages: PageSettings,
    /// Everything about whiteboards and presentations.
    pub boards: BoardSettings,
    /// Everything about personal storage.
    pub storage: StorageSettings,
}

/// Which way a workspace goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceMode {
    /// Down and up.
    TwoWay,
    /// What the service has comes down; what is done here stays here.
    Down,
}

/// Settings of personal storage (contract section 5, `[storage]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageSettings {
    /// Whether it is mirrored, and which way.
    pub mode: StorageMode,
    /// Slug, id or name of the workspace that uploads count for; `None` for the first that is not frozen.
    pub workspace: Option<String>,
    /// Larger files are not fetched, in bytes; `None` for no bound.
    pub max_download: Option<u64>,
}

/// Which way storage files go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageMode {
    /// Neither.
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
    /// How long a vanished file may come back before its page is trashed, in milliseconds.
    pub delete_grace_ms: i64,
    /// What a deleted file means.
    pub deletes: Deletes,
    /// What a file moved to another folder means.
    pub moves: Moves,
    /// More deletions than this at once wait for `espejo approve`.
    pub max_deletes: usize,
    /// How long versions are kept, in days.
    pub history_days: u32,
    /// How long the trash is kept, in days.
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
    /// Whether a dashboard's magnets are shown beside its page.
    pub dashboards: bool,
    /// Whether espejo may remove items that cannot be restored: slides, and elements the API cannot create.
    pub permanent_deletes: bool,
}

/// What a deleted file means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletes {
    /// Its page goes to the service's trash.
    Trash,
    /// The file comes back.
    Restore,
}

/// What a file moved to another folder means; the API cannot move pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moves {
    /// The file is put back, and `status` says why.
    PutBack,
    /// A new page is made there and the old one trashed.
    Recreate,
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

impl BoardSettings {
    /// Neither whiteboards nor presentations nor dashboards.
    pub const OFF: Self =
        Self { whiteboards: false, presentations: false, dashboards: false, permanent_deletes: false };
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
            history_days: 90,
            trash_days: 30,
            blocks: Vec::new(),
        }
    }
}
