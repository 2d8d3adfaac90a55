//! Scripts that failed once. A seed means something else after any change to the draw; a script keeps its meaning.

use crate::play::play;
use crate::script::Script;

/// Each with the promise that it broke.
const SCRIPTS: &[(&str, &str)] = &[];

#[test]
fn what_failed_once_does_not_fail_again() {
    for (promise, text) in SCRIPTS {
        let script: Script = text.parse().unwrap();
        if let Err(broken) = play(&script, false) {
            panic!("{promise}: {}\n{}\n{script}", broken.failure, broken.tail.join("\n"));
        }
    }
}
