//! What may happen to stored files, and how a script comes by it: from luck of its own, so that what happens to pages in a
//! seed is drawn as ever.

use crate::draws::{some_of, weighted};
use crate::luck::Luck;
use crate::script::{Act, Fault, Script, Step};
use crate::stored::{AppStored, Stored, StoredFault};

/// Faults of all kinds that are drawn among these steps, besides those of their own.
const FAULTS: &[(Fault, &str, u64)] = &[
    (Fault::Crash, "", 10),
    (Fault::LostBefore, "", 2),
    (Fault::LostAfter, "", 6),
    (Fault::Failing, "", 2),
    (Fault::Unreachable, "", 2),
];

/// Gives a script its stored files, and people who work with them.
pub(crate) fn add(script: &mut Script) {
    let mut luck = Luck::new(script.scene.seed, 21);
    script.scene.stored = *luck.pick(&[1, 3, 6, 14]);
    script.scene.stored_mode = u32::from(luck.chance(60));
    let disk = some_of(Stored::ALL, &mut luck);
    let app = some_of(AppStored::ALL, &mut luck);
    let faults = some_of(FAULTS, &mut luck);
    let own_faults = some_of(StoredFault::ALL, &mut luck);
    let share = *luck.pick(&[10, 25, 40]);
    let shares = [*luck.pick(&[0, 10, 30]), *luck.pick(&[1, 10, 20]), *luck.pick(&[0, 3, 10])];
    let haste = *luck.pick(&[500, 3_000, 20_000]);
    let count = script.steps.len();
    let mut steps = Vec::with_capacity(2 * count);
    for step in std::mem::take(&mut script.steps) {
        while luck.chance(share) {
            let roll = luck.below(shares.iter().sum());
            let act = match roll {
                roll if roll < shares[0] => Act::Stored(weighted(&disk, &mut luck)),
                roll if roll < shares[0] + shares[1] => Act::AppStored(weighted(&app, &mut luck)),
                _ if luck.chance(50) => Act::Fault(weighted(&faults, &mut luck)),
                _ => Act::StoredFault(weighted(&own_faults, &mut luck)),
            };
            let wait = match luck.below(10) {
                0..=3 => luck.below(200),
                4..=8 => luck.below(haste),
                _ => luck.below(60_000),
            };
            let small = |luck: &mut Luck| u32::try_from(luck.below(1_000)).unwrap_or(0);
            let (a, b) = (small(&mut luck), small(&mut luck));
            steps.push(Step { wait_ms: u32::try_from(wait).unwrap_or(0), act, a, b });
        }
        steps.push(step);
    }
    steps.truncate(count);
    script.steps = steps;
}
