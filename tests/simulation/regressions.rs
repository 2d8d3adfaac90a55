//! Scripts that failed once, in `scripts`, each with the promise that it broke on its first line. A seed means something
//! else after any change to the draw; a script keeps its meaning.

use std::path::Path;

use crate::play::play;
use crate::script::Script;

#[test]
fn what_failed_once_does_not_fail_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/simulation/scripts");
    let mut played = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let (promise, script) = text.split_once('\n').unwrap();
        let promise = promise.strip_prefix("# ").unwrap();
        let script: Script = script.parse().unwrap();
        if let Err(broken) = play(&script, false) {
            let tail = broken.tail.join("\n");
            panic!("{}: {promise}: {}\n{tail}\n{script}", path.display(), broken.failure);
        }
        played += 1;
    }
    assert!(played > 30, "scripts are missing: {played}");
}
