//! State.

use std::fs;

use super::bench::Bench;

/// What is in the mirror's trash.
pub(super) fn trashed_files(bench: &Bench) -> Vec<String> {
    fn walk(folder: &std::path::Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                walk(&entry.path(), found);
            } else {
                found.push(entry.path().display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    walk(&bench.root().join(".espejo/trash"), &mut found);
    found
}
