//! What looks like an accident: more going away at once than a person removes by hand. One arithmetic for every kind of
//! item.
//!
//! A guard gives a reason to wait, in one sentence for `status`; it never decides what happens after. Renames are no
//! deletions: callers count only what is gone everywhere.

use crate::model::planted;

/// Losing this many at once, or fewer, is never too large a *part* of the mirror.
const FEW: usize = 3;

/// What is counted, for the sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Pages.
    Page,
    /// Whiteboards, as a list has them.
    Whiteboard,
    /// Presentations, each with all its slides.
    Presentation,
    /// Slides, as a list has them.
    Slide,
    /// What is a canvas file here: whiteboards and slides together.
    Canvas,
    /// Files of the personal storage.
    StoredFile,
}

impl Kind {
    fn one(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Whiteboard => "whiteboard",
            Self::Presentation => "presentation",
            Self::Slide => "slide",
            Self::Canvas => "whiteboard or slide",
            Self::StoredFile => "stored file",
        }
    }

    fn many(self) -> &'static str {
        match self {
            Self::Page => "pages",
            Self::Whiteboard => "whiteboards",
            Self::Presentation => "presentations",
            Self::Slide => "slides",
            Self::Canvas => "whiteboards and slides",
            Self::StoredFile => "stored files",
        }
    }

    /// What of so many is gone from the folder.
    fn part(self, count: usize) -> &'static str {
        match (self, count) {
            (Self::StoredFile, _) => "",
            (Self::Presentation, 1) => "the folder of ",
            (Self::Presentation, _) => "the folders of ",
            (_, 1) => "the file of ",
            _ => "the files of ",
        }
    }
}

/// Why `deleting` items whose files are gone must wait for `espejo approve`; `None` when they may go to the trash.
///
/// `recent` counts what was trashed a short while ago for the same kind of reason, so that an accident that arrives
/// in portions is one accident. `mirrored` counts the items that have files in the mirror, those about to go among
/// them and the recent ones not. `max_deletes` is the config's.
#[must_use]
pub fn mass_deletion(
    kind: Kind,
    deleting: usize,
    recent: usize,
    mirrored: usize,
    max_deletes: usize,
) -> Option<String> {
    if deleting == 0 || planted("guard-off") {
        return None;
    }
    let gone = deleting.saturating_add(recent);
    let all = mirrored.max(deleting).saturating_add(recent);
    let (part, many) = (kind.part(gone), kind.many());
    let lately = match recent {
        0 => String::new(),
        _ => format!(", {recent} of them just before"),
    };
    if gone == all && gone > 1 {
        Some(format!("{part}all {all} mirrored {many} are gone{lately}"))
    } else if gone > max_deletes {
        let items = if gone == 1 { format!("1 {} is", kind.one()) } else { format!("{gone} {many} are") };
        Some(format!("{part}{items} gone{lately}, more than max_deletes = {max_deletes}"))
    } else if is_large_part(gone, all) {
        Some(format!("{part}{gone} of {all} mirrored {many} are gone{lately}, more than a fifth"))
    } else {
        None
    }
}

/// Why items that left the service's list must stay on disk until `espejo approve`; `None` when each of them may be
/// confirmed and moved to the trash.
///
/// `before` counts the mirrored items that the list should have held, `missing` those of them that it does not hold.
/// A list that the caller may not see is empty and no error (API document, "Errors"), so an empty list is held
/// even when the mirror has one item.
#[must_use]
pub fn list_shrank(kind: Kind, before: usize, missing: usize, max_deletes: usize) -> Option<String> {
    let of_all = format!("{missing} of {before} mirrored {} left the service's list at once", kind.many());
    if missing == 0 {
        None
    } else if missing >= before {
        Some(match before.max(missing) {
            1 => format!("the service's list no longer has the only mirrored {}", kind.one()),
            all => format!("the service's list has none of the {all} mirrored {}", kind.many()),
        })
    } else if missing > max_deletes {
        Some(format!("{of_all}, more than max_deletes = {max_deletes}"))
    } else if is_large_part(missing, before) {
        Some(format!("{of_all}, more than a fifth"))
    } else {
        None
    }
}

/// More than a fifth, and more than a few.
fn is_large_part(gone: usize, all: usize) -> bool {
    gone > FEW && gone > all / 5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletions() {
        let check = |deleting, recent, mirrored, max, expected: Option<&str>| {
            let reason = mass_deletion(Kind::Page, deleting, recent, mirrored, max);
            assert_eq!(reason.as_deref(), expected, "{deleting} {recent} {mirrored} {max}");
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
        let said = |kind, deleting, max| mass_deletion(kind, deleting, 1, 30, max).unwrap_or_default();
        assert_eq!(
            said(Kind::Canvas, 6, 10),
            "the files of 7 of 31 mirrored whiteboards and slides are gone, 1 of them just before, more than a fifth"
        );
        assert_eq!(
            said(Kind::Presentation, 5, 3),
            "the folders of 6 presentations are gone, 1 of them just before, more than max_deletes = 3"
        );
        assert_eq!(
            said(Kind::StoredFile, 30, 3),
            "all 31 mirrored stored files are gone, 1 of them just before"
        );
    }

    #[test]
    fn lists() {
        let check = |before, missing, max, expected: Option<&str>| {
            assert_eq!(
                list_shrank(Kind::Page, before, missing, max).as_deref(),
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
