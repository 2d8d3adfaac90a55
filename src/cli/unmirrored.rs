//! Why something in the mirror's folder is on this machine only, and what would change that. Names and places tell; the
//! state and the disk have been asked before.

use crate::config::Config;
use crate::core::content::naming::WHITEBOARDS;
use crate::engine::PAGES;
use crate::model::{IGNORE_FILE, MirrorPath, StorageMode};
use crate::plan::{filenames, ignore};

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A socket, a pipe, a device.
    Other,
}

/// What of the mirror a place is measured by.
struct Around<'a> {
    storage: StorageMode,
    /// The folders of the workspaces; empty as long as none is known.
    spaces: &'a [String],
    /// Whether the config names the workspaces that are mirrored.
    is_chosen: bool,
}

/// Why what stands at a place is on this machine only: the end of a sentence, with the mend. `spaces` are the folders of the
/// workspaces.
#[must_use]
pub fn cause(place: &MirrorPath, kind: Kind, config: &Config, spaces: &[String]) -> String {
    let settings = config.settings();
    let is_chosen = !settings.workspaces.is_empty();
    cause_within(place, kind, &Around { storage: settings.storage.mode, spaces, is_chosen })
}

fn cause_within(place: &MirrorPath, kind: Kind, around: &Around<'_>) -> String {
    let parts: Vec<&str> = place.components().collect();
    let [folders @ .., name] = parts.as_slice() else {
        return "it is the mirror itself; espejo list shows what is in it".to_owned();
    };
    if parts[0] == ".espejo" {
        return "it belongs to espejo, and is never synced".to_owned();
    }
    match kind {
        Kind::Link => {
            return "it is a symbolic link, which espejo does not follow; put the file itself there"
                .to_owned();
        }
        Kind::Other => return "it is neither a file nor a folder, so it cannot be sent".to_owned(),
        Kind::File | Kind::Folder => {}
    }
    let hidden = folders.iter().chain((kind == Kind::Folder).then_some(name));
    if let Some(folder) = hidden.into_iter().find(|folder| ignore::is_ignored_folder(folder)) {
        return format!(
            "{folder} is hidden or belongs to a tool, so espejo ignores it; give it another name"
        );
    }
    if let Some(why) = nowhere(&parts, around) {
        return why;
    }
    if kind == Kind::Folder {
        return "a folder is mirrored by its contents; espejo list shows them".to_owned();
    }
    if filenames::is_conflict_copy(name) {
        return "it is a conflict copy, which is never sent; copy what you need from it, then delete it"
            .to_owned();
    }
    if ignore::is_foreign_conflict(name) {
        return "it is a conflict copy of another program; copy what you need from it, then delete it"
            .to_owned();
    }
    if *name == IGNORE_FILE {
        return "it has your patterns for espejo, and is never sent".to_owned();
    }
    if name.starts_with('.') {
        return "it is hidden, and hidden files are not synced; give it a name without the dot".to_owned();
    }
    if ignore::is_ignored(name) {
        return "its name is the name of a temporary file or backup; give it another name".to_owned();
    }
    elsewhere(folders, name, around.storage)
}

/// Why nothing in a folder that looks like a workspace's is synced, if no workspace has it.
fn nowhere(parts: &[&str], around: &Around<'_>) -> Option<String> {
    let [space, area, ..] = parts else { return None };
    let is_space = [PAGES, WHITEBOARDS].contains(area) && !["Storage", "Presentations"].contains(space);
    if !is_space || around.spaces.is_empty() || around.spaces.iter().any(|folder| folder == space) {
        return None;
    }
    let known = around.spaces.join(", ");
    let or = if around.is_chosen {
        "add its workspace to workspaces in the config"
    } else {
        "create a workspace in the app"
    };
    Some(format!(
        "the folder {space} belongs to no workspace that is mirrored, so nothing in it is ever sent; move it into the folder \
         of a workspace ({known}), or {or}"
    ))
}

/// What a file of any usual name lacks in its place.
fn elsewhere(folders: &[&str], name: &str, storage: StorageMode) -> String {
    let is_canvas = name.ends_with(".canvas");
    match folders {
        ["Storage", ..] => match storage {
            StorageMode::Off => "storage is not mirrored; set enabled = true in [storage]",
            StorageMode::Backup => {
                "storage is a backup, so nothing is uploaded; set mode = \"two-way\" in [storage] to upload it"
            }
            StorageMode::TwoWay => "it has not been uploaded yet; espejo status shows what is pending",
        }
        .to_owned(),
        ["Presentations"] if is_canvas => waits_for("presentation", "group"),
        ["Presentations", ..] if is_canvas => {
            "a presentation must be directly in Presentations; move it there".to_owned()
        }
        ["Presentations", ..] => "only .canvas files are presentations; move it into Storage".to_owned(),
        [_, area] if *area == WHITEBOARDS && is_canvas => waits_for("whiteboard", "node"),
        [space, area, ..] if (*area == WHITEBOARDS || *area == PAGES) && is_canvas => {
            format!("a whiteboard must be directly in {space}/{WHITEBOARDS}; move it there")
        }
        [_, area, ..] if *area == WHITEBOARDS => {
            "only .canvas files are whiteboards; move it into Storage".to_owned()
        }
        [_, area, ..] if *area == PAGES && !ignore::is_page_file(name) => {
            "only .md files are pages; move it into Storage, or end its name in .md".to_owned()
        }
        [_, area, ..] if *area == PAGES => waits("page"),
        _ => format!(
            "nothing is synced in this place; move it into a workspace's {PAGES} or {WHITEBOARDS}, Presentations or Storage"
        ),
    }
}

fn waits(what: &str) -> String {
    format!("it is not a {what} yet; espejo status shows what is pending")
}

/// A canvas becomes an item once it has something that the item can be made of.
fn waits_for(what: &str, part: &str) -> String {
    format!("it is not a {what} yet; it becomes one once it has a {part} and has rested")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_and_name_has_its_cause_within() {
        #[track_caller]
        fn check(path: &str, kind: Kind, expected: &str) {
            let spaces = ["Equipo".to_owned()];
            let around = Around { storage: StorageMode::TwoWay, spaces: &spaces, is_chosen: false };
            let said = cause_within(&MirrorPath::new(path).unwrap(), kind, &around);
            assert!(said.contains(expected), "{path}: {said}");
        }
        for (path, expected) in [
            ("Equipo/Pages/Roadmap/Sketch.canvas", "directly in Equipo/Whiteboards; move it there"),
            ("Equipo/Whiteboards/Old/Sketch.canvas", "directly in Equipo/Whiteboards; move it there"),
            ("Presentations/Pitch/Loose.canvas", "directly in Presentations"),
            ("Presentations/notes.txt", "only .canvas files are presentations"),
            ("Equipo/Pages/data.csv", "only .md files are pages"),
            ("Equipo/Pages/New.md", "not a page yet"),
            ("Equipo/Whiteboards/New.canvas", "not a whiteboard yet"),
            ("Equipo/Pages/x.conflict-20260131-235959.md", "it is a conflict copy"),
            ("Storage/.env", "hidden files are not synced"),
            ("Storage/.git/config", ".git is hidden"),
            ("Storage/draft.tmp", "a temporary file or backup"),
            ("Storage/new.pdf", "not been uploaded yet"),
            ("Budget.xlsx", "nothing is synced in this place"),
            ("Notas/Pages/New.md", "belongs to no workspace that is mirrored"),
            ("Notas/Pages/Below/New.md", "into the folder of a workspace (Equipo)"),
            ("Notas/Whiteboards/w.canvas", "or create a workspace in the app"),
            ("Notas/New.md", "nothing is synced in this place"),
            (".espejo/trash/x.md", "belongs to espejo"),
        ] {
            check(path, Kind::File, expected);
        }
        check("Storage/link.pdf", Kind::Link, "a symbolic link");
        check("Storage/pipe", Kind::Other, "neither a file nor a folder");
        check("Storage/node_modules", Kind::Folder, "belongs to a tool");
        check("Storage/New", Kind::Folder, "by its contents");
        check("Equipo/Pages/New", Kind::Folder, "by its contents");
        check("Notas/Pages", Kind::Folder, "belongs to no workspace");
        let place = MirrorPath::new("Notas/Pages/New.md").unwrap();
        let none = Around { storage: StorageMode::TwoWay, spaces: &[], is_chosen: false };
        assert!(cause_within(&place, Kind::File, &none).contains("not a page yet"));
        let chosen = Around { spaces: &["Equipo".to_owned()], is_chosen: true, ..none };
        assert!(cause_within(&place, Kind::File, &chosen).ends_with("to workspaces in the config"));
    }
}
