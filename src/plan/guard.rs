//! The guards: detect probable accidents, where more items go away at once than a user removes by hand. One
//! computation for each kind of item.
//!
//! A guard gives a reason to wait; it never decides what happens after the wait. Renames are no deletions: callers
//! count only items that are gone everywhere.

use std::fmt;

use crate::model::planted;

/// Up to this many lost items never count as too large a *part* of the mirror.
const FEW: usize = 3;

/// What is counted, for the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Pages.
    Page,
    /// Whiteboards, as in a list.
    Whiteboard,
    /// Presentations, each with all its slides.
    Presentation,
    /// Slides, as in a list.
    Slide,
    /// Items with a canvas file: whiteboards and presentations together.
    Canvas,
    /// Files of the personal storage.
    StoredFile,
    /// Items of several kinds.
    Item,
}

impl Kind {
    fn one(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Whiteboard => "whiteboard",
            Self::Presentation => "presentation",
            Self::Slide => "slide",
            Self::Canvas => "whiteboard or presentation",
            Self::StoredFile => "stored file",
            Self::Item => "item",
        }
    }

    fn many(self) -> &'static str {
        match self {
            Self::Page => "pages",
            Self::Whiteboard => "whiteboards",
            Self::Presentation => "presentations",
            Self::Slide => "slides",
            Self::Canvas => "whiteboards and presentations",
            Self::StoredFile => "stored files",
            Self::Item => "items",
        }
    }

    /// The part of such items that is gone from the folder, as words for the message.
    fn part(self, count: usize) -> &'static str {
        match (self, count) {
            (Self::StoredFile, _) => "",
            (_, 1) => "the file of ",
            _ => "the files of ",
        }
    }
}

/// The condition that made a guard hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// No item would remain.
    All,
    /// More items than the config's `max_deletes`, which is the value.
    MoreThan(usize),
    /// More than a fifth.
    LargePart,
}

/// Why an item needs the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// Items whose files are gone.
    Deletions {
        /// Their kind.
        kind: Kind,
        /// Their number, the recent ones included.
        gone: usize,
        /// The number moved to the trash shortly before.
        recent: usize,
        /// The number of mirrored items, the recent ones included.
        all: usize,
        /// The condition that made the guard hold.
        sign: Sign,
    },
    /// Items that left the service's list.
    List {
        /// Their kind.
        kind: Kind,
        /// Their number.
        missing: usize,
        /// The number of mirrored items.
        before: usize,
        /// The condition that made the guard hold.
        sign: Sign,
    },
    /// The page list of the workspace of this name is empty, and was not empty before.
    EmptyList(String),
    /// Nodes that are gone from a canvas file: their number, and the number of nodes before.
    Nodes(usize, usize),
    /// The folder is not the one that was mirrored last, and files are missing in it: their number, if they are
    /// counted.
    OtherFolder(Option<usize>),
    /// The folder is an older copy of the one that was mirrored last.
    OlderFolder,
}

impl fmt::Display for Guard {
    /// The message for the user.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deletions { kind, gone, recent, all, sign } => {
                let (part, many) = (kind.part(*gone), kind.many());
                let lately = match recent {
                    0 => String::new(),
                    _ => format!(", {recent} of them just before"),
                };
                match sign {
                    Sign::All => write!(f, "{part}all {all} mirrored {many} are gone{lately}"),
                    Sign::MoreThan(most) => {
                        let one = || format!("1 {} is", kind.one());
                        let items = if *gone == 1 { one() } else { format!("{gone} {many} are") };
                        write!(f, "{part}{items} gone{lately}, more than max_deletes = {most}")
                    }
                    Sign::LargePart => {
                        write!(f, "{part}{gone} of {all} mirrored {many} are gone{lately}, more than a fifth")
                    }
                }
            }
            Self::List { kind, missing, before, sign } => {
                let many = kind.many();
                let of_all =
                    || format!("{missing} of {before} mirrored {many} left the service's list at once");
                match sign {
                    Sign::All => match before.max(missing) {
                        1 => write!(f, "the service's list no longer has the only mirrored {}", kind.one()),
                        all => write!(f, "the service's list has none of the {all} mirrored {many}"),
                    },
                    Sign::MoreThan(most) => write!(f, "{}, more than max_deletes = {most}", of_all()),
                    Sign::LargePart => write!(f, "{}, more than a fifth", of_all()),
                }
            }
            Self::EmptyList(name) => write!(f, "the service's page list of {name} is suddenly empty"),
            Self::Nodes(gone, all) => {
                let what = "are missing in the file, and elements have no trash: nothing is sent";
                write!(f, "{gone} of its {all} nodes {what}")
            }
            Self::OtherFolder(missing) => {
                let files = match missing {
                    Some(1) => "1 file is".to_owned(),
                    Some(count) => format!("{count} files are"),
                    None => "files are".to_owned(),
                };
                write!(f, "the mirror's folder is not the same as before, and {files} missing in it")
            }
            Self::OlderFolder => {
                f.write_str("the folder is an older copy than the one that was mirrored last")
            }
        }
    }
}

/// Why `deleting` items whose files are gone must wait for `espejo approve`; `None` if they may go to the trash.
///
/// `recent` is the number of items trashed shortly before for the same kind of reason, so that an accident that
/// arrives in batches is one accident. `mirrored` is the number of items with files in the mirror, including those to
/// be deleted and excluding the recent ones. `max_deletes` is the config's.
#[must_use]
pub fn mass_deletion(
    kind: Kind,
    deleting: usize,
    recent: usize,
    mirrored: usize,
    max_deletes: usize,
) -> Option<Guard> {
    if deleting == 0 || planted("guard-off") {
        return None;
    }
    let gone = deleting.saturating_add(recent);
    let all = mirrored.max(deleting).saturating_add(recent);
    let sign = if gone == all && gone > 1 { Some(Sign::All) } else { sign_of(gone, all, max_deletes) };
    sign.map(|sign| Guard::Deletions { kind, gone, recent, all, sign })
}

/// Whether so many new items wait to be made that `espejo approve` has to say so. `recent` were made lately, so that what is
/// copied in by and by is one accident. `max_creates` is the config's.
#[must_use]
pub fn many_creations(waiting: usize, recent: usize, max_creates: usize) -> bool {
    waiting > 0 && waiting.saturating_add(recent) > max_creates
}

/// Why items that left the service's list must stay on disk until `espejo approve`; `None` if each of them may be
/// confirmed and moved to the trash.
///
/// `before` is the number of mirrored items that the list should hold, `missing` the number of those that it does not
/// hold. If the caller may not see a list, the service sends an empty list and no error (API document, "Errors"), so
/// an empty list is held even if the mirror has one item.
#[must_use]
pub fn list_shrank(kind: Kind, before: usize, missing: usize, max_deletes: usize) -> Option<Guard> {
    let sign = match missing {
        0 => None,
        _ if missing >= before => Some(Sign::All),
        _ => sign_of(missing, before, max_deletes),
    };
    sign.map(|sign| Guard::List { kind, missing, before, sign })
}

fn sign_of(gone: usize, all: usize, max_deletes: usize) -> Option<Sign> {
    let is_many = gone > max_deletes;
    is_many
        .then_some(Sign::MoreThan(max_deletes))
        .or_else(|| is_large_part(gone, all).then_some(Sign::LargePart))
}

/// Whether more than a fifth and more than [`FEW`] items are gone.
fn is_large_part(gone: usize, all: usize) -> bool {
    gone > FEW && gone > all / 5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletions() {
        let check = |deleting, recent, mirrored, max, expected: Option<&str>| {
            let guard = mass_deletion(Kind::Page, deleting, recent, mirrored, max);
            let told = guard.map(|guard| guard.to_string());
            assert_eq!(told.as_deref(), expected, "{deleting} {recent} {mirrored} {max}");
        };
        check(0, 0, 0, 10, None);
        check(0, 99, 1, 10, None);
        check(1, 0, 100, 10, None);
        check(10, 0, 100, 10, None);
        check(11, 0, 100, 10, Some("the files of 11 pages are gone, more than max_deletes = 10"));
        check(
            1,
            10,
            100,
            10,
            Some("the files of 11 pages are gone, 10 of them just before, more than max_deletes = 10"),
        );
        check(3, 0, 4, 10, None);
        check(4, 0, 20, 10, None);
        check(4, 0, 19, 10, Some("the files of 4 of 19 mirrored pages are gone, more than a fifth"));
        check(
            1,
            3,
            15,
            10,
            Some("the files of 4 of 18 mirrored pages are gone, 3 of them just before, more than a fifth"),
        );
        check(1, 3, 17, 10, None);
        check(1, 0, 1, 10, None);
        check(2, 0, 2, 10, Some("the files of all 2 mirrored pages are gone"));
        check(1, 1, 1, 10, Some("the files of all 2 mirrored pages are gone, 1 of them just before"));
        check(1, 0, 5, 0, Some("the file of 1 page is gone, more than max_deletes = 0"));
        check(5, 0, 3, 10, Some("the files of all 5 mirrored pages are gone"));
        check(
            usize::MAX,
            usize::MAX,
            1,
            10,
            Some(&format!(
                "the files of all {0} mirrored pages are gone, {0} of them just before",
                usize::MAX
            )),
        );
        let said = |kind, deleting, max| mass_deletion(kind, deleting, 1, 30, max).unwrap().to_string();
        assert_eq!(
            said(Kind::Canvas, 6, 10),
            "the files of 7 of 31 mirrored whiteboards and presentations are gone, 1 of them just before, more than a fifth"
        );
        assert_eq!(
            said(Kind::Presentation, 5, 3),
            "the files of 6 presentations are gone, 1 of them just before, more than max_deletes = 3"
        );
        assert_eq!(
            said(Kind::StoredFile, 30, 3),
            "all 31 mirrored stored files are gone, 1 of them just before"
        );
    }

    #[test]
    fn one_missing_file_is_one_file() {
        let told = |count| Guard::OtherFolder(count).to_string();
        assert!(told(Some(1)).ends_with("and 1 file is missing in it"));
        assert!(told(Some(2)).ends_with("and 2 files are missing in it"));
        assert!(told(None).ends_with("and files are missing in it"));
    }

    #[test]
    fn lists() {
        let check = |before, missing, max, expected: Option<&str>| {
            assert_eq!(
                list_shrank(Kind::Page, before, missing, max).map(|guard| guard.to_string()).as_deref(),
                expected,
                "{before} {missing} {max}"
            );
        };
        check(0, 0, 10, None);
        check(9, 0, 0, None);
        check(1, 1, 10, Some("the service's list no longer has the only mirrored page"));
        check(5, 5, 99, Some("the service's list has none of the 5 mirrored pages"));
        check(5, 3, 10, None);
        check(5, 4, 10, Some("4 of 5 mirrored pages left the service's list at once, more than a fifth"));
        check(20, 4, 10, None);
        check(
            1000,
            11,
            10,
            Some("11 of 1000 mirrored pages left the service's list at once, more than max_deletes = 10"),
        );
    }
}
