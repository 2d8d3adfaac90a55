//! Bugs planted in the mirror one at a time: each must be caught by a test above. With the feature `planted`.

use std::panic::catch_unwind;

use super::{effects, hostile, power, races};
use crate::model::plant;

/// Every bug, and what it does.
const BUGS: [(&str, &str); 7] = [
    ("text-not-synced", "a file is renamed into its place before its bytes are durable"),
    ("rename-not-synced", "an act is answered before its names are durable"),
    ("act-not-noted", "a text stands aside and no note says where it belongs"),
    ("swap-unchecked", "what comes out of a swap is believed to be what was expected"),
    ("trash-overwrites", "a file in the trash is replaced by one of the same name"),
    ("link-followed", "a write goes through a symbolic link"),
    ("download-end-trusted", "the last bytes of a download that was broken off are believed"),
];

/// What may catch them.
const CHECKS: [(&str, fn()); 7] = [
    ("power, write", power::a_power_cut_at_any_call_of_a_write_leaves_the_old_text_or_the_new_one),
    ("power, trash", power::a_power_cut_at_any_call_of_a_rename_or_a_trashing_loses_nothing),
    ("power, download", power::a_download_that_a_power_cut_broke_off_ends_with_the_right_bytes),
    ("power, stored", power::a_power_cut_at_any_call_for_a_stored_file_loses_nothing),
    ("save and kill", races::a_save_and_a_kill_at_any_step_of_a_write_lose_nothing),
    ("trash", effects::the_trash_keeps_everything_by_day_and_path),
    ("links", hostile::links_are_refused_at_every_level),
];

#[test]
fn every_bug_planted_in_the_mirror_is_caught() {
    let mut missed = Vec::new();
    for (bug, what) in BUGS {
        let caught = CHECKS.iter().find(|(_, check)| {
            plant(bug);
            let failed = catch_unwind(check).is_err();
            plant("");
            failed
        });
        match caught {
            Some((check, _)) => println!("{bug}: caught by {check}: {what}"),
            None => missed.push(bug),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
