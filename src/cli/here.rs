//! Paths as they are typed from where the user stands: within the mirror they are shown from the current folder, elsewhere from
//! the mirror's root. Both are understood by every command.

use std::path::Path;
use std::sync::OnceLock;

use crate::daemon::place_in;
use crate::model::MirrorPath;

/// The current folder from the mirror's root, once a command has read its config; none outside the mirror.
static HERE: OnceLock<Option<MirrorPath>> = OnceLock::new();

/// Remembers where the user stands in the mirror at `root`.
pub fn stand(root: &Path) {
    HERE.get_or_init(|| std::env::current_dir().ok().and_then(|here| place_in(root, &here)));
}

/// A path of the mirror, as it is shown.
#[must_use]
pub fn shown(path: &str) -> String {
    if path.is_empty() {
        return "the mirror".to_owned();
    }
    match HERE.get() {
        Some(Some(here)) => from(here, path),
        _ => path.to_owned(),
    }
}

/// `path` from the folder `here`.
fn from(here: &MirrorPath, path: &str) -> String {
    let (here, parts): (Vec<&str>, Vec<&str>) = (here.components().collect(), path.split('/').collect());
    let same = here.iter().zip(&parts).take_while(|(a, b)| a == b).count();
    let rest = &parts[same..];
    let steps: Vec<&str> = here[same..].iter().map(|_| "..").chain(rest.iter().copied()).collect();
    if steps.is_empty() { ".".to_owned() } else { steps.join("/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_from_where_the_user_stands() {
        let here = |folder: &str| MirrorPath::new(folder).unwrap();
        assert_eq!(from(&here("A/Pages"), "A/Pages/B.md"), "B.md");
        assert_eq!(from(&here("A/Pages"), "A/Pages/B/C.md"), "B/C.md");
        assert_eq!(from(&here("A/Pages/B"), "A/Whiteboards/K.canvas"), "../../Whiteboards/K.canvas");
        assert_eq!(from(&here("A/Pages"), "A/Pages"), ".");
        assert_eq!(from(&MirrorPath::root(), "A/Pages/B.md"), "A/Pages/B.md");
    }
}
