//! What looks like an accident: more going away at once than a person removes by hand.
//!
//! A guard gives a reason to wait, in one sentence for `status`; it never decides what happens after. Renames are no
//! deletions: callers count only what is gone everywhere.

/// Losing this many at once, or fewer, is never too large a *part* of the mirror.
const FEW: usize = 3;

/// Why `deleting` pages whose files are gone must wait for `espejo approve`; `None` when they may go to the trash.
///
/// `recent` counts what was trashed a short while ago for the same kind of reason, so that an accident that arrives
/// in portions is one accident. `mirrored` counts the pages that have files in the mirror, those about to go among
/// them and the recent ones not. `max_deletes` is the config's.
#[must_use]
pub fn mass_deletion(deleting: usize, recent: usize, mirrored: usize, max_deletes: usize) -> Option<String> {
    if deleting == 0 {
        return None;
    }
    let gone = deleting.saturating_add(recent);
    let all = mirrored.max(deleting).saturating_add(recent);
    let lately = match recent {
        0 => String::new(),
        _ => format!(", {recent} of them just before"),
    };
    if gone == all && gone > 1 {
        Some(format!("the files of all {all} mirrored pages are gone{lately}"))
    } else if gone > max_deletes {
        let files = if gone == 1 {
            "the file of 1 page is".to_owned()
        } else {
            format!("the files of {gone} pages are")
        };
        Some(format!("{files} gone{lately}, more than max_deletes = {max_deletes}"))
    } else if is_large_part(gone, all) {
        Some(format!("the files of {gone} of {all} mirrored pages are gone{lately}, more than a fifth"))
    } else {
        None
    }
}

/// Why pages that left the service's list must stay on disk until `espejo approve`; `None` when each of them may be
/// confirmed and moved to the trash.
///
/// `before` counts the mirrored pages that the list should have held, `missing` those of them that it does not hold.
/// A list that the caller may not see is empty and no error (API document, "Errors"), so an empty list is held
/// even when the mirror has one page.
#[must_use]
pub fn list_shrank(before: usize, missing: usize, max_deletes: usize) -> Option<String> {
    let of_all = format!("{missing} of {before} mirrored pages left the service's list at once");
    if missing == 0 {
        None
    } else if missing >= before {
        Some(match before.max(missing) {
            1 => "the service's list no longer has the only mirrored page".to_owned(),
            all => format!("the service's list has none of the {all} mirrored pages"),
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
            let reason = mass_deletion(deleting, recent, mirrored, max);
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
    }

    #[test]
    fn lists() {
        let check = |before, missing, max, expected: Option<&str>| {
            assert_eq!(list_shrank(before, missing, max).as_deref(), expected, "{before} {missing} {max}");
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
