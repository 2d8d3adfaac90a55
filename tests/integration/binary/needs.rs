//! Programs that a test needs beside espejo. `.ci/run` installs them and says so, and then a missing one fails the test; elsewhere the test says
//! what it does not try.

use std::io::Write;
use std::path::PathBuf;

/// Where `program` is installed; `None` where it is not.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("ESPEJO_EVERY_PROGRAM").is_none(),
            "{program} is not installed; .ci/run installs it"
        );
        not_tried(&format!("{program} is not installed"));
    }
    found
}

/// Says it past the capture of the test's own output, which is shown only for tests that fail.
pub(super) fn not_tried(why: &str) {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    // Nobody may listen.
    drop(writeln!(std::io::stderr(), "not tried in {test}: {why}"));
}
