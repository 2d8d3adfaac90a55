//! What is drawn for a script from luck of its own, so that what else happens in a seed is drawn as ever.

use crate::luck::Luck;
use crate::script::{Act, Fault, Scene, Script};

/// Half of the deaths of some scripts follow a change that the process does not hear of any more, and in a few there are
/// many of those.
pub(crate) fn draw_deaths(script: &mut Script) {
    let mut luck = Luck::new(script.scene.seed, 27);
    let (share, more) = (*luck.pick(&[0, 50, 50, 100]), *luck.pick(&[0, 0, 0, 6]));
    for step in &mut script.steps {
        if step.act == Act::Fault(Fault::Crash) && luck.chance(share) || luck.chance(more) {
            step.act = Act::Fault(Fault::CrashAfterChange);
        }
    }
}

/// Half of the worlds have a service whose reads are behind its writes, in some of them every second one.
pub(crate) fn draw_lag(scene: &mut Scene) {
    let mut luck = Luck::new(scene.seed, 28);
    scene.lag_ms = *luck.pick(&[0, 0, 0, 0, 300, 1_000, 5_000, 20_000]);
    scene.turns = u32::from(scene.lag_ms > 0 && luck.chance(30));
}

/// A draw's table without some of its rows; never empty.
pub(crate) fn some_of<T: Copy>(table: &[(T, &'static str, u64)], luck: &mut Luck) -> Vec<(T, u64)> {
    let mut rows: Vec<(T, u64)> = table
        .iter()
        .filter(|(_, _, weight)| *weight > 0)
        .filter_map(|(verb, _, weight)| luck.chance(65).then_some((*verb, *weight)))
        .collect();
    if rows.is_empty() {
        rows.push((table[0].0, 1));
    }
    rows
}

pub(crate) fn weighted<T: Copy>(rows: &[(T, u64)], luck: &mut Luck) -> T {
    let mut roll = luck.below(rows.iter().map(|(_, weight)| weight).sum());
    for (verb, weight) in rows {
        if roll < *weight {
            return *verb;
        }
        roll -= weight;
    }
    rows[0].0
}
