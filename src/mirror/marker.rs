//! The marker: the file that says that a folder is a mirror, and whose. It does not open anything itself.
//!
//! A root without it is taken for a disk that is not mounted, or for a folder that is not ours: nothing is written.

/// espejo's own folder at the root; never synced, never named by an effect.
pub const FOLDER: &str = ".espejo";

/// The marker's name in that folder.
pub const FILE: &str = "marker";

const FIRST_LINE: &str = "espejo mirror 1";

/// The marker's text for one mirror. `mirror_id` is one line.
#[must_use]
pub fn text(mirror_id: &str) -> String {
    format!(
        "{FIRST_LINE}\nid: {mirror_id}\n\nespejo syncs this folder with a workspace. Without this file espejo does not touch the folder.\n"
    )
}

/// The mirror id in a marker's text; `None` when it is no marker that this version understands.
#[must_use]
pub fn id(text: &str) -> Option<&str> {
    let mut lines = text.lines();
    if lines.next()? != FIRST_LINE {
        return None;
    }
    lines.next()?.strip_prefix("id: ").filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_names_its_mirror_and_nothing_else_passes_for_one() {
        assert_eq!(id(&text("7f3a-x")), Some("7f3a-x"));
        for other in ["", "7f3a", "espejo mirror 1", "espejo mirror 1\nid: \n", "espejo mirror 2\nid: a\n"] {
            assert_eq!(id(other), None, "{other:?}");
        }
    }
}
