//! Names of stored files and folders as names on disk: the rules of [`super::naming`] for files that are not pages,
//! which keep their extension. Also decides which local files may be sent (API document, "Personal file storage").

use unicode_normalization::UnicodeNormalization;

use super::ignore;
use super::naming::{self, WallTime, fold};
use crate::model::{Unsendable, is_tool_folder};

/// The most bytes of a name on common file systems.
const ROOM: usize = 255;
/// The most bytes of an extension, dot included; a longer one counts as part of the name.
const ENDING_MOST: usize = 16;
/// 3 MB: the service's limit for one upload.
pub const UPLOAD_MOST: u64 = 3 * 1024 * 1024;
/// The service's limit for a name, in characters.
const NAME_MOST: usize = 255;

/// A name for a stored file or folder. `taken` is called with [`fold`]ed names.
#[must_use]
pub fn choose(name: &str, folder: bool, taken: &dyn Fn(&str) -> bool) -> String {
    choose_from(name, folder, 1, taken).0
}

/// As [`choose`], with numbers that count from `first`; also returns the number at which the count stopped.
#[must_use]
pub fn choose_from(name: &str, folder: bool, first: u64, taken: &dyn Fn(&str) -> bool) -> (String, u64) {
    let full = whole(name, folder);
    let (stem, ending) = if folder { (full.as_str(), "") } else { split(&full) };
    let numbered = |n: u64| {
        let suffix = if n == 1 { ending.to_owned() } else { format!(" ({n}){ending}") };
        naming::cut(stem, ROOM.saturating_sub(suffix.len())) + &suffix
    };
    let found = (first..u64::MAX).map(|n| (numbered(n), n)).find(|(name, _)| !taken(&fold(name)));
    found.unwrap_or_else(|| (full.clone(), first))
}

/// Whether `stem` is a name that [`choose`] may have given to a stored file or folder, with or without a ` (2)`.
#[must_use]
pub fn still_says(stem: &str, name: &str, folder: bool) -> bool {
    let full = whole(name, folder);
    let ((own, own_ending), (said, ending)) =
        if folder { ((stem, ""), (full.as_str(), "")) } else { (split(stem), split(&full)) };
    own_ending == ending
        && (naming::says(own, said) || naming::without_number(own).is_some_and(|own| naming::says(own, said)))
}

/// The name as the service stores it: slashes become underscores, and invisible characters are removed (API document,
/// `POST /storage`).
#[must_use]
pub fn as_stored(name: &str) -> String {
    let seen = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    name.chars().map(|c| if c == '/' || c == '\\' { '_' } else { c }).filter(seen).collect()
}

/// Whether a name that was sent is the one that the service shows: it may drop invisible characters, trim the ends and join spaces.
#[must_use]
pub fn is_same_name(sent: &str, shown: &str) -> bool {
    let plain = |name: &str| {
        let name: String = as_stored(name).nfc().collect();
        name.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    sent == shown || plain(sent) == plain(shown)
}

fn whole(name: &str, folder: bool) -> String {
    if name.is_empty() {
        return "_".to_owned();
    }
    let mut whole = naming::visible(name);
    naming::escape_device(&mut whole);
    // Scans do not enter a tool's folder.
    if folder && is_tool_folder(&whole) {
        whole.push('_');
    }
    whole
}

/// A name and its extension, dot included.
fn split(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(dot)
            if dot > 0 && name.len() - dot <= ENDING_MOST && !name[dot..].contains(char::is_whitespace) =>
        {
            name.split_at(dot)
        }
        _ => (name, ""),
    }
}

/// The name of the conflict copy that keeps a local version: `Budget.conflict-20260131-235959.xlsx`.
#[must_use]
pub fn conflict_copy(name: &str, when: WallTime, taken: &dyn Fn(&str) -> bool) -> String {
    let WallTime { year, month, day, hour, minute, second } = when;
    let (stem, ending) = split(name);
    let mark = format!(".conflict-{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}");
    let named = |n: u64| {
        let suffix = if n == 1 { format!("{mark}{ending}") } else { format!("{mark}-{n}{ending}") };
        naming::cut(stem, ROOM.saturating_sub(suffix.len())) + &suffix
    };
    (1..u64::MAX).map(named).find(|name| !taken(&fold(name))).unwrap_or_default()
}

/// Whether a name is what [`conflict_copy`] makes.
#[must_use]
pub fn is_conflict_copy(name: &str) -> bool {
    name.split(".conflict-").skip(1).any(|after| {
        let moment = after.get(..15).unwrap_or("");
        let rest = after.get(15..).unwrap_or("");
        ignore::is_date_and_time(moment) && (rest.is_empty() || rest.starts_with(['.', '-']))
    })
}

/// Why a file may not be sent; `None` when the service should take it. `size` is in bytes.
#[must_use]
pub fn refusal(name: &str, size: u64) -> Option<Unsendable> {
    if size > UPLOAD_MOST {
        return Some(Unsendable::TooLarge(size));
    }
    if name.chars().count() > NAME_MOST {
        return Some(Unsendable::LongName);
    }
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default();
    REFUSED.contains(&ending.as_str()).then_some(Unsendable::Ending(ending))
}

/// Whether a local file of this name is a leftover of a program and never sent.
#[must_use]
pub fn is_leftover(name: &str) -> bool {
    ignore::is_ignored(name) || is_conflict_copy(name) || ignore::is_foreign_conflict(name)
}

/// Extensions of HTML, SVG, JavaScript, executables and scripts: the API document names the kinds. The service
/// refuses a file whose extension is missing here, and the user gets the same message.
const REFUSED: [&str; 43] = [
    "html", "htm", "xhtml", "shtml", "hta", "svg", "svgz", "js", "mjs", "cjs", "exe", "dll", "com", "bat",
    "cmd", "msi", "scr", "pif", "cpl", "jar", "app", "apk", "sh", "bash", "zsh", "csh", "ps1", "vbs", "vbe",
    "wsf", "mhtml", "jse", "msp", "deb", "rpm", "dmg", "pkg", "elf", "ksh", "fish", "command", "psm1", "wsh",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_ending_and_can_be_written_anywhere() {
        let check =
            |name: &str, expected: &str| assert_eq!(choose(name, false, &|_| false), expected, "{name:?}");
        check("photo.jpg", "photo.jpg");
        check("notes.md", "notes.md");
        check("drawing.svg", "drawing.svg");
        check("a/b.pdf", "a／b.pdf");
        check("..", "．．");
        check("...", "．.．");
        check(".env", "．env");
        check("../../etc/passwd", "．.／..／etc／passwd");
        check("CON", "CON_");
        check("nul.txt", "nul_.txt");
        check("", "_");
        check("x\u{0}y", "x␀y");
        check(&"a".repeat(255), &"a".repeat(255));
        let long = choose(&format!("{}.pdf", "ñ".repeat(251)), false, &|_| false);
        assert!(long.len() <= 255 && long.ends_with("….pdf"), "{long}");
        assert_eq!(choose("node_modules", true, &|_| false), "node_modules_");
        assert_eq!(choose("v1.2", true, &|key| key == "v1.2"), "v1.2 (2)");
    }

    #[test]
    fn files_of_one_name_are_numbered_before_their_ending() {
        let taken = |key: &str| ["x.pdf", "x (2).pdf"].contains(&key);
        assert_eq!(choose("X.pdf", false, &taken), "X (3).pdf");
        let long = format!("{}.pdf", "a".repeat(251));
        let second = choose(&long, false, &|key| key == long);
        assert!(second.len() <= 255 && second.ends_with(" (2).pdf"), "{second}");
    }

    #[test]
    fn conflict_copies_are_known_again() {
        let when = WallTime { year: 2026, month: 1, day: 31, hour: 23, minute: 59, second: 59 };
        for name in ["Budget.xlsx", "README", ".x", "a.b.c"] {
            let copy = conflict_copy(name, when, &|_| false);
            assert!(is_conflict_copy(&copy) && is_leftover(&copy), "{copy}");
            let second = conflict_copy(name, when, &|key| key == fold(&copy));
            assert!(is_conflict_copy(&second) && second != copy, "{second}");
        }
        assert_eq!(conflict_copy("Budget.xlsx", when, &|_| false), "Budget.conflict-20260131-235959.xlsx");
        for name in ["conflict-20260131-235959.txt", "x.conflict-2026.txt", "x.conflict-resolution.pdf"] {
            assert!(!is_conflict_copy(name), "{name}");
        }
    }

    #[test]
    fn what_the_service_refuses_is_known_here() {
        for (name, size, sent) in [
            ("a.pdf", 0, true),
            ("a.pdf", UPLOAD_MOST, true),
            ("a.pdf", UPLOAD_MOST + 1, false),
            ("a.HTML", 1, false),
            ("a.tar.sh", 1, false),
            ("sh", 1, true),
            ("a.svg", 1, false),
        ] {
            assert_eq!(refusal(name, size).is_none(), sent, "{name} {size}");
        }
    }
}
