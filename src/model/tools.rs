//! Folders in the mirror that belong to other programs: scans do not enter them, and they are never the folder of a
//! page.

/// Folders of a tool or of the system: listed as folders, neither entered nor watched. Compared with the last
/// component, ignoring ASCII case.
pub const TOOL_FOLDERS: &[&str] = &[
    // Version control.
    ".git",
    ".hg",
    ".svn",
    ".jj",
    ".bzr",
    // Note takers and editors.
    ".obsidian",
    ".logseq",
    ".vscode",
    ".idea",
    ".fleet",
    ".zed",
    ".vim",
    ".zk",
    // Trashes and versions of other programs.
    ".trash",
    ".trashes",
    "$RECYCLE.BIN",
    ".stversions",
    ".stfolder",
    ".sync",
    ".SyncArchive",
    ".dropbox.cache",
    ".tmp.drivedownload",
    ".tmp.driveupload",
    // Systems.
    ".Spotlight-V100",
    ".fseventsd",
    ".TemporaryItems",
    ".DocumentRevisions-V100",
    ".snapshots",
    ".zfs",
    "System Volume Information",
    "lost+found",
    // Packages and caches of development tools.
    "node_modules",
    ".venv",
    ".direnv",
    "__pycache__",
    ".cache",
];

/// Whether a folder of this name is listed but not entered. `.Trash-1000` and similar folders are another user's
/// desktop trash on a removable disk.
#[must_use]
pub fn is_tool_folder(name: &str) -> bool {
    name.starts_with(".Trash-") || TOOL_FOLDERS.iter().any(|tool| tool.eq_ignore_ascii_case(name))
}
