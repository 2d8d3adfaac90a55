//! Folders in the mirror that are not ours: neither looked into, nor ever the folder of a page.

/// Folders that belong to a tool or to the system: listed as folders, not looked into, and not watched. Compared with
/// the last component, ASCII case aside.
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

/// Whether a folder of this name is listed but not looked into. `.Trash-1000` and its like are another user's desktop
/// trash on a removable disk.
#[must_use]
pub fn is_tool_folder(name: &str) -> bool {
    name.starts_with(".Trash-") || TOOL_FOLDERS.iter().any(|tool| tool.eq_ignore_ascii_case(name))
}
