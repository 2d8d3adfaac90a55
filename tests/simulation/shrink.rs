//! Cuts a failing script down to the steps that matter.

use crate::play::play;
use crate::script::Script;

/// As much may happen in all the runs of one shrinking, in lines of their traces.
const EFFORT: u64 = 400_000;

/// The smallest script found that fails the same check.
pub(crate) fn shrink(script: &Script, check: &str) -> Script {
    let mut best = script.clone();
    let mut spent = 0;
    let mut fails = |candidate: &Script| {
        if spent > EFFORT {
            return false;
        }
        match play(candidate, false) {
            Ok(played) => {
                spent += played.digest.1;
                false
            }
            Err(broken) => {
                spent += broken.lines;
                broken.failure.check == check
            }
        }
    };
    // Steps, in pieces of halving size, until no single one can go.
    let mut size = best.steps.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        let mut cut = false;
        while at < best.steps.len() {
            let mut candidate = best.clone();
            let end = (at + size).min(candidate.steps.len());
            // What comes later stays where it was in time.
            let waited: u32 = candidate.steps.drain(at..end).map(|step| step.wait_ms).sum();
            if let Some(next) = candidate.steps.get_mut(at) {
                next.wait_ms = next.wait_ms.saturating_add(waited);
            }
            if fails(&candidate) {
                best = candidate;
                cut = true;
            } else {
                at += size;
            }
        }
        if !(cut && size == 1) {
            size /= 2;
        }
    }
    for at in 0..best.steps.len() {
        for wait_ms in [0, 500, 5_000, 60_000] {
            let mut candidate = best.clone();
            if candidate.steps[at].wait_ms > wait_ms {
                candidate.steps[at].wait_ms = wait_ms;
                if fails(&candidate) {
                    best = candidate;
                    break;
                }
            }
        }
    }
    let simpler: [fn(&mut Script); 7] = [
        |script| script.scene.hints_lost = 0,
        |script| script.scene.grain_us = 0,
        |script| script.scene.births = 1,
        |script| script.scene.reuse = 0,
        |script| script.scene.budget = 60,
        |script| script.scene.pass = 1,
        |script| script.scene.rest_ms = 120_000,
    ];
    let fewer: Vec<u32> = (1..best.scene.pages).collect();
    for change in simpler {
        let mut candidate = best.clone();
        change(&mut candidate);
        if candidate != best && fails(&candidate) {
            best = candidate;
        }
    }
    for pages in fewer {
        let mut candidate = best.clone();
        candidate.scene.pages = pages;
        if fails(&candidate) {
            best = candidate;
            break;
        }
    }
    best
}
