//! Decides by name which files in the mirror are pages, and which are leftovers of editors and other tools.
//!
//! An ignored file stays where it is, and is never read, sent or removed.

use crate::model::{MirrorPath, is_tool_folder};

/// Whether a file of this name stands for a page.
///
/// The extension is exactly `.md`, as in [`crate::model::MirrorPath::page_stem`]: espejo leaves `NOTES.MD` alone,
/// because a page must keep one name on case-sensitive and on case-insensitive file systems.
#[must_use]
pub fn is_page_file(name: &str) -> bool {
    let stem = name.strip_suffix(".md").unwrap_or("");
    !stem.is_empty() && !is_ignored(name) && !is_conflict_copy(name) && !is_foreign_conflict(name)
}

/// Whether a file of a user is in a place where nothing becomes an item of it, whatever workspaces there are. What is hidden,
/// temporary, of a tool, drawn by espejo or a conflict copy is none, nor is what is in the storage.
#[must_use]
pub fn is_in_no_place(path: &MirrorPath) -> bool {
    let parts: Vec<&str> = path.components().collect();
    let [folders @ .., name] = parts.as_slice() else { return false };
    let is_users = !name.starts_with('.')
        && !is_ignored(name)
        && !is_conflict_copy(name)
        && !is_foreign_conflict(name)
        && !folders.iter().any(|folder| is_ignored_folder(folder) || is_tool_folder(folder));
    let is_canvas = name.ends_with(".canvas");
    // One may be left where a board was renamed.
    let is_picture = name.ends_with(".svg") || name.ends_with(".html");
    is_users
        && match folders {
            ["Storage", ..] => false,
            ["Presentations", ..] if is_picture => false,
            ["Presentations"] => !is_canvas,
            [_, "Whiteboards"] => !is_canvas && !is_picture,
            [_, "Pages", ..] => !is_page_file(name),
            _ => true,
        }
}

/// Whether a file of this name is hidden, or a temporary, backup or lock file of a well-known program.
///
/// The names are those that programs were seen to leave: vim (`.x.swp`, `x~`, `4913`), emacs (`.#x`, `#x#`), sed
/// (`sedXXXXXX`), GLib (`.goutputstream-…`), JetBrains, LibreOffice, Word, git's merge tools, macOS, Windows.
#[must_use]
pub fn is_ignored(name: &str) -> bool {
    is_ignored_folder(name)
        || name.ends_with('~')
        || name.starts_with("~$")
        || (name.len() > 1 && name.starts_with('#') && name.ends_with('#'))
        || name == "4913"
        || name == "Thumbs.db"
        || name == "desktop.ini"
        || is_sed_temporary(name)
        || ENDINGS.iter().any(|ending| ends_with_ignoring_case(name, ending))
        || is_merge_tool_part(name)
}

/// Whether scans never enter a folder of this name: a hidden folder (`.git`, `.obsidian`, `.espejo`, `.stversions`
/// …), or a tool's folder (`node_modules`). No page may have such a name, because scans would never see its subpages
/// again.
#[must_use]
pub fn is_ignored_folder(name: &str) -> bool {
    name.starts_with('.') || is_tool_folder(name)
}

/// Whether another sync tool gave this file its name because of a conflict. Such a file is shown to the user, and is
/// never a page of its own.
///
/// Syncthing's `x.sync-conflict-20260131-235959-ABCDEFG.md`, ownCloud's `x_conflict-20260131-235959.md`, and the `x
/// (Ana's conflicted copy 2026-01-31).md` of Dropbox, Nextcloud and others.
#[must_use]
pub fn is_foreign_conflict(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    // Called for each file in each scan: a search for a text takes longer than one for a byte, which few names have.
    if !stem.contains('-') && !stem.ends_with(')') {
        return false;
    }
    if let Some((before, after)) = stem.rsplit_once(".sync-conflict-") {
        let device = after.get(15..).and_then(|rest| rest.strip_prefix('-'));
        let known = device.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_alphanumeric()));
        return !before.is_empty() && is_date_and_time(after.get(..15).unwrap_or("")) && known;
    }
    if let Some((before, after)) = stem.rsplit_once("_conflict-") {
        return !before.is_empty() && is_date_and_time(after);
    }
    stem.ends_with(')')
        && stem.rsplit_once('(').is_some_and(|(before, inside)| {
            !before.is_empty() && inside.to_lowercase().contains("conflicted copy")
        })
}

/// Extensions of temporary and backup files, compared without case.
const ENDINGS: [&str; 9] =
    [".tmp", ".temp", ".swp", ".swo", ".bak", ".part", ".crdownload", "___jb_tmp___", "___jb_old___"];

fn ends_with_ignoring_case(name: &str, ending: &str) -> bool {
    name.len() > ending.len()
        && name.as_bytes()[name.len() - ending.len()..].eq_ignore_ascii_case(ending.as_bytes())
}

/// `sed -i` and emacs' precious files: `sed` or `tmp` and six letters or digits, without extension.
fn is_sed_temporary(name: &str) -> bool {
    let rest = name.strip_prefix("sed").unwrap_or("");
    rest.len() == 6
        && rest.bytes().all(|b| b.is_ascii_alphanumeric())
        && rest.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
}

/// `git mergetool` writes `x_BASE_1234.md` and three similar files beside `x.md` while it runs.
fn is_merge_tool_part(name: &str) -> bool {
    let Some((stem, _)) = name.rsplit_once('.') else { return false };
    let Some((before, number)) = stem.rsplit_once('_') else { return false };
    !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
        && ["_BACKUP", "_BASE", "_LOCAL", "_REMOTE"]
            .iter()
            .any(|part| before.len() > part.len() && before.ends_with(part))
}

/// Whether a file of this name is a conflict copy of a page or a canvas, as [`super::naming::conflict_copy`] names it. It is shown
/// to the user, and is never a page or a canvas itself.
#[must_use]
pub fn is_conflict_copy(name: &str) -> bool {
    let stem = name.strip_suffix(".md").or_else(|| name.strip_suffix(".canvas"));
    // A search for a text takes longer than one for a byte, which few names have.
    let stem = stem.filter(|stem| stem.contains('-'));
    let Some((before, after)) = stem.and_then(|stem| stem.rsplit_once(".conflict-")) else { return false };
    let (moment, number) = after.split_at_checked(15).unwrap_or((after, ""));
    let numbered = number
        .strip_prefix('-')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
    !before.is_empty() && is_date_and_time(moment) && (number.is_empty() || numbered)
}

/// Whether the text is `YYYYMMDD-HHMMSS`, in digits.
pub(crate) fn is_date_and_time(text: &str) -> bool {
    text.len() == 15
        && text.bytes().enumerate().all(|(at, b)| if at == 8 { b == b'-' } else { b.is_ascii_digit() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_told_from_everything_else() {
        let check = |page: bool, names: &[&str]| {
            for name in names {
                assert_eq!(is_page_file(name), page, "{name:?}");
            }
        };
        check(
            true,
            &[
                "Roadmap.md",
                "a.b.md",
                "x~.md",
                "#1#.md",
                "#tag.md",
                "sedentary.md",
                "4913.md",
                "tmp.md",
                "notes.tmp.md",
                "Sin título.md",
                "日本語.md",
                "~x.md",
                "x (2).md",
                "conflict-20260131-235959.md",
                "x.conflict-2026-1.md",
                "x.sync-conflict-rules.md",
                "how we handle a conflicted copy.md",
                "x_BASE.md",
                "a_conflict-y.md",
                "  .md",
                "x.md.md",
            ],
        );
        check(
            false,
            &[
                "",
                ".md",
                "x",
                "x.MD",
                "x.markdown",
                "x.txt",
                "x.md~",
                "x.md.bak",
                ".x.md",
                ".x.md.swp",
                ".#x.md",
                "#x.md#",
                "#x.md#save#",
                "._x.md",
                "~$x.md",
                "x.conflict-20260131-235959.md",
                "x.conflict-20260131-235959-2.md",
                "x.sync-conflict-20260131-235959-ABCDEFG.md",
                "x (conflicted copy 2026-01-31).md",
                "x (Ana's Conflicted Copy 2026-01-31 120000).md",
                "x_conflict-20260131-235959.md",
                "x_BACKUP_12345.md",
                "x_REMOTE_1.md",
            ],
        );
    }

    #[test]
    fn leftovers_are_ignored() {
        let check = |ignored: bool, names: &[&str]| {
            for name in names {
                assert_eq!(is_ignored(name), ignored, "{name:?}");
            }
        };
        check(
            true,
            &[
                ".x.md.swp",
                ".swx",
                "x~",
                "4913",
                ".#x",
                "#x#",
                "##",
                "~",
                "sedAb12Cd",
                "sed123456",
                ".goutputstream-ABC123",
                ".~lock.x#",
                "~$x.docx",
                "x.tmp",
                "X.TMP",
                "x.md.part",
                "x.md___jb_tmp___",
                "x.md___jb_old___",
                ".DS_Store",
                "._x",
                ".stfolder",
                ".git",
                ".espejo",
                "Thumbs.db",
                "x_LOCAL_77.png",
            ],
        );
        check(false, &["x", "x.md", "#", "sedation", "4914", "tmp", "tmp.x", "x.md.txt"]);
        assert!(is_ignored_folder(".trash") && !is_ignored_folder("4913") && !is_ignored_folder("x~"));
    }
}
