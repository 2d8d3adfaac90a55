//! Who can read the mirror's folder, by the permissions of the folder and of those around it. Access lists are not looked at.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::Findings;

use crate::cli::output;

/// What counts of one folder.
#[derive(Debug, Clone, Copy)]
struct Door {
    mode: u32,
    group: u32,
}

/// Who can read what is in a folder, besides its owner and root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readers {
    Owner,
    Group,
    Everyone,
}

/// Says who can read the root, and how to change that. Sharing is the user's choice, so nothing is wrong with either.
pub(super) fn tell(root: &Path, findings: &mut Findings) {
    // What cannot be looked at has been told.
    let Ok(real) = root.canonicalize() else { return };
    let doors: Option<Vec<Door>> = real.ancestors().map(door).collect();
    let Some(doors) = doors else { return };
    let Some(first) = doors.first() else { return };
    let place = output::shell_word(&root.display().to_string());
    let group = group_name(first.group);
    findings.ok(
        "readers",
        match readers(&doors) {
            Readers::Owner => {
                format!("only you can read {place}; to let the group {group} read it: chmod 750 {place}")
            }
            Readers::Group => {
                format!("the members of the group {group} can read {place}; to close it: chmod 700 {place}")
            }
            Readers::Everyone => {
                format!("every user of this machine can read {place}; to close it: chmod 700 {place}")
            }
        },
    );
}

fn door(folder: &Path) -> Option<Door> {
    let meta = std::fs::metadata(folder).ok()?;
    Some(Door { mode: meta.mode(), group: meta.gid() })
}

/// `doors` begin with the folder itself and end with `/`. To pass a folder is enough to read a file whose name is known.
fn readers(doors: &[Door]) -> Readers {
    let Some(own) = doors.first().map(|door| door.group) else { return Readers::Owner };
    let passes_all = |group: Option<u32>| {
        doors.iter().all(|door| {
            let bits = if group == Some(door.group) { door.mode >> 3 } else { door.mode };
            bits & 0o1 != 0
        })
    };
    if passes_all(None) {
        Readers::Everyone
    } else if passes_all(Some(own)) {
        Readers::Group
    } else {
        Readers::Owner
    }
}

fn group_name(id: u32) -> String {
    let text = std::fs::read_to_string("/etc/group").unwrap_or_default();
    let named = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_as_closed_as_the_ones_around_it() {
        let door = |mode, group| Door { mode, group };
        for (doors, expected) in [
            (vec![door(0o700, 5), door(0o755, 0)], Readers::Owner),
            (vec![door(0o755, 5), door(0o755, 0)], Readers::Everyone),
            (vec![door(0o711, 5), door(0o755, 0)], Readers::Everyone),
            (vec![door(0o755, 5), door(0o700, 5), door(0o755, 0)], Readers::Owner),
            (vec![door(0o750, 5), door(0o755, 0)], Readers::Group),
            (vec![door(0o755, 5), door(0o750, 5), door(0o755, 0)], Readers::Group),
            (vec![door(0o750, 5), door(0o750, 6), door(0o755, 0)], Readers::Owner),
        ] {
            assert_eq!(readers(&doors), expected, "{doors:?}");
        }
    }
}
