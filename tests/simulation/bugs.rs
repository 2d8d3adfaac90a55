//! Bugs planted one at a time: each must be caught by a promise that the simulation checks. With the feature `planted`.

use std::sync::atomic::{AtomicU64, Ordering};

use espejo::model::plant;

use crate::play::play;
use crate::script::Script;
use crate::{drawn_with, number, regressions};

/// Every planted bug, and what it does.
const BUGS: &[(&str, &str)] = &[
    ("delete-beats-edit", "a deleted file takes its page along although the page was changed in the app"),
    ("deletes-unseen", "a DELETE is sent without a look at the page before"),
    ("no-grace", "a missing or moved file is acted on at once"),
    ("guard-off", "any number of deletions goes through"),
    ("absence-believed", "a page that a list lacks counts as gone without a look"),
    ("stale-plan", "a PATCH is planned on an old look"),
    ("base-before-answer", "an edit counts as agreed before its answer has come"),
    ("write-not-noted", "a PATCH leaves before it is noted in the store"),
    ("splice-not-noted", "a write to a page's file leaves before it is noted in the store"),
    ("rename-not-noted", "a rename leaves before it is noted in the store"),
    ("intent-skipped", "a POST whose answer was lost is forgotten"),
    ("echo-check-lost", "old text that an open editor puts back is taken for an edit"),
    ("echo-check-exact", "old text that an open editor puts back with a new word in it is taken for an edit"),
    ("no-back-off", "what failed is tried again at once"),
    ("limiter-one-over", "one request too many in a minute"),
    ("merge-drops-insertion", "a block that one side added is left out of a merge"),
    ("collision-without-copy", "the local version of a collision is kept nowhere"),
    ("collision-keeps-local", "the service's version of a collision is overwritten"),
    ("unequal-adopted", "a file and a page that differ count as equal when they first meet"),
    ("splice-over-edit", "a change from the service goes over an edit that was not read yet"),
    ("empty-file-sent", "a file that was emptied empties its page"),
    ("unknown-blocks-dropped", "blocks that the API does not describe get lost on the way through a file"),
    ("id-reused", "two new blocks get one id"),
    ("identity-by-path", "a file that was renamed is known by its path alone"),
    ("copy-is-owner", "a copy of a file counts as the page's file"),
    ("rename-not-followed", "a new title or place at the service is noted, and the file stays"),
    ("doubt-forgotten", "a PATCH in doubt is forgotten at a restart"),
    ("old-look-believed", "a look that is older than our own act on the page is believed"),
    ("unreadable-hides-nothing", "what lies in a folder that cannot be read counts as gone"),
    ("empty-list-not-held+absence-believed", "an empty list is not held, and what it lacks counts as gone"),
    ("folder-left-behind", "a renamed page leaves the folder of its subpages behind"),
];

/// Those of whiteboards and slides, which only a world with some can show.
const CANVAS_BUGS: &[(&str, &str)] = &[
    ("element-base-before-answer", "an edit of an element counts as agreed before its answer has come"),
    ("element-stale-plan", "an edit of a canvas is planned on an old look"),
    ("element-post-forgotten", "a POST of an element whose answer was lost is forgotten"),
    ("element-sent-whole", "an edit of an element sends its place along as it was"),
    ("element-collision-overwrites", "the service's value of a field that both sides changed is overwritten"),
    (
        "element-collision-without-copy",
        "the file of a canvas in which both sides changed a field is kept nowhere",
    ),
    ("empty-canvas-believed", "one empty answer counts for elements, slides and lists"),
    ("board-absence-believed", "a whiteboard or slide that one list lacks counts as gone"),
    (
        "board-post-forgotten",
        "a POST of a whiteboard, slide or presentation whose answer was lost is forgotten",
    ),
    ("canvas-guard-off", "any number of whiteboards is trashed"),
    ("canvas-no-grace", "a canvas whose file is missing is deleted at once"),
    ("canvas-delete-beats-edit", "a deleted file takes its canvas along although it was changed in the app"),
    ("spoilt-file-read-as-empty", "a canvas file that cannot be read counts as one without nodes"),
];

/// Those of stored files.
const STORED_BUGS: &[(&str, &str)] = &[
    ("upload-not-noted", "an upload leaves before it is noted in the store"),
    ("upload-retried-at-once", "an upload that failed is tried again at once"),
    ("download-retried-at-once", "a download that broke off goes on at once"),
    ("stored-guard-off", "any number of stored files is trashed for their deletion here"),
    ("stored-no-grace", "a stored file that is missing is trashed at once"),
    ("stored-absence-believed", "a stored file that a list lacks counts as gone without a look"),
    (
        "replaced-trashed-early",
        "the older version of a stored file is trashed before a list shows the newer one",
    ),
    ("placed-over-edit", "a download takes the place of an edit that was not sent"),
    (
        "stored-edit-discarded",
        "a stored file that was edited here goes with the one that was deleted in the app",
    ),
];

/// Seeds to try for each; the slowest bug is found long before.
const SEEDS: u64 = 20_000;

#[test]
fn every_planted_bug_is_caught() {
    let seeds = number("ESPEJO_SEEDS").unwrap_or(SEEDS);
    let steps = usize::try_from(number("ESPEJO_STEPS").unwrap_or(crate::STEPS)).unwrap();
    let only = std::env::var("ESPEJO_BUG").ok();
    let mut missed = Vec::new();
    let kinds = number("ESPEJO_KINDS").unwrap_or(3);
    let all = BUGS.iter().map(|bug| (bug, kinds)).chain(CANVAS_BUGS.iter().map(|bug| (bug, 2)));
    let all = all.chain(STORED_BUGS.iter().map(|bug| (bug, 3)));
    for ((bug, what), kinds) in all.filter(|((bug, _), _)| only.as_ref().is_none_or(|only| only == bug)) {
        let (next, caught) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    plant(bug);
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= seeds.min(caught.load(Ordering::Relaxed)) {
                            break;
                        }
                        let script = drawn_with(seed, steps, kinds);
                        if play(&script, false).is_ok() {
                            continue;
                        }
                        // Only what fails because of the bug counts.
                        plant("");
                        if play(&script, false).is_ok() {
                            caught.fetch_min(seed, Ordering::Relaxed);
                        }
                        plant(bug);
                    }
                });
            }
        });
        let seed = caught.into_inner();
        if seed == u64::MAX {
            let fails = |script: &Script| {
                plant(bug);
                let is_broken = play(script, false).is_err();
                plant("");
                is_broken && play(script, false).is_ok()
            };
            match regressions::find(fails) {
                Some(script) => println!("{bug}: not caught in {seeds} seeds, but by the script {script}"),
                None => {
                    println!("{bug}: not caught in {seeds} seeds and by no script: {what}");
                    missed.push(*bug);
                }
            }
            continue;
        }
        plant(bug);
        let broken = play(&drawn_with(seed, steps, kinds), false).expect_err("the same seed fails twice");
        plant("");
        println!("{bug}: seed {seed}, step {} of {steps}: {}", broken.step, broken.failure);
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
