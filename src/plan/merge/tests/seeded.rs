//! The laws of the merge that need no shrinking, over as many seeded pages as are asked for (`ESPEJO_CASES`): two
//! sides do several things to one page, and what comes out is merged again in every way that can happen later.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::{Merge, Versions, merge};
use super::laws::{act, index, text_block, words};
use crate::model::BodyJson;

const CASES: u64 = 1_500;

/// Numbers that come from a seed (SplitMix64).
struct Luck(u64);

impl Luck {
    fn below(&mut self, end: u16) -> u16 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % u64::from(end)) as u16
    }

    fn acts(&mut self, page: &[Value], who: &str, most: u16) -> Vec<Value> {
        let mut page = page.to_vec();
        for number in 0..self.below(most + 1) {
            let one =
                (self.below(12) as u8, self.below(u16::MAX), self.below(u16::MAX), self.below(u16::MAX));
            act(&mut page, who, usize::from(number), one);
        }
        page
    }
}

/// A page, and what two sides made of it.
fn sides(number: u64) -> [Vec<Value>; 3] {
    let mut luck = Luck(number.wrapping_mul(0x2545_f491_4f6c_dd1d) + 7);
    let base: Vec<Value> = (0..luck.below(7))
        .map(|number| {
            let words: Vec<String> = (0..luck.below(6)).map(|n| format!("b{number}x{n}")).collect();
            text_block(&format!("b{number}"), &words)
        })
        .collect();
    // Nested by moving: what both have in common.
    let base = luck.acts(&base, "o", 3);
    let theirs = luck.acts(&base, "r", 6);
    let ours = luck.acts(&base, "l", 6);
    [base, theirs, ours]
}

/// What is wrong with the merge of this case, if anything is.
fn wrong(base: &[Value], theirs: &[Value], ours: &[Value]) -> Option<&'static str> {
    let merged = merge(base, theirs, ours);
    // With stand-ins for what all have alike it is the same merge.
    let bodies = [base, theirs, ours].map(BodyJson::of);
    let versions = Versions::read(&bodies[0], &bodies[1], &bodies[2]).unwrap();
    let shortened = merge(&versions.base, &versions.remote, &versions.local);
    if versions.print(&shortened.blocks) != BodyJson::of(&merged.blocks)
        || shortened.collisions != merged.collisions
    {
        return Some("stand-ins change the merge");
    }
    let [was, there, here, found] = [base, theirs, ours, &merged.blocks].map(words);
    let told: BTreeSet<String> = merged
        .collisions
        .iter()
        .flat_map(|collision| collision.local.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    if there.difference(&was).any(|word| !found.contains(word)) {
        return Some("a word of the service's is lost");
    }
    if here.difference(&was).any(|word| !found.contains(word) && !told.contains(word)) {
        return Some("a word of the user's is lost");
    }
    if was.iter().any(|word| there.contains(word) && here.contains(word) && !found.contains(word)) {
        return Some("a word that nobody deleted is lost");
    }
    if found.iter().any(|word| !there.contains(word) && !here.contains(word)) {
        return Some("a word is invented");
    }
    // The sides change places: the same blocks and, where nothing collided, the same words.
    let swapped = merge(base, ours, theirs);
    if index(&swapped.blocks).keys().ne(index(&merged.blocks).keys()) {
        return Some("the sides do not have one merge's blocks");
    }
    if swapped.collisions.is_empty() != merged.collisions.is_empty() {
        return Some("it depends on the side whether something collides");
    }
    if merged.collisions.is_empty() && words(&swapped.blocks) != found {
        return Some("the sides do not have one merge's words");
    }
    // The merged page is at the service, and this side's answer was lost: it is merged again, once and twice.
    let whole = Merge { blocks: merged.blocks.clone(), collisions: Vec::new() };
    if merge(base, &merged.blocks, &merged.blocks) != whole || merge(ours, &merged.blocks, ours) != whole {
        return Some("what is merged does not come down as it is");
    }
    let again = merge(base, &merged.blocks, ours);
    if merged.collisions.is_empty() && words(&again.blocks) != found {
        return Some("a second merge makes something else");
    }
    // The order may change once more where both sides moved almost everything; the blocks and what is in them do not.
    let third = merge(base, &again.blocks, ours);
    if merged.collisions.is_empty() && index(&third.blocks) != index(&again.blocks) {
        return Some("merging goes on and on");
    }
    if merge(base, theirs, base).blocks != theirs || merge(base, base, ours).blocks != ours {
        return Some("what one side did alone is not taken whole");
    }
    None
}

#[test]
fn a_merge_loses_nothing_from_either_side_and_has_an_end() {
    let number_of = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, count) = match number_of("ESPEJO_CASE") {
        Some(number) => (number, 1),
        None => (number_of("ESPEJO_FROM").unwrap_or(0), number_of("ESPEJO_CASES").unwrap_or(CASES)),
    };
    for number in first..first + count {
        let [base, theirs, ours] = sides(number);
        if let Some(why) = wrong(&base, &theirs, &ours) {
            let show = |blocks: &[Value]| super::show(blocks);
            let merged = merge(&base, &theirs, &ours);
            panic!(
                "{why}: ESPEJO_CASE={number}\nbase\n{}theirs\n{}ours\n{}merged\n{}{:?}\nagain\n{}",
                show(&base),
                show(&theirs),
                show(&ours),
                show(&merged.blocks),
                merged.collisions,
                show(&merge(&base, &merged.blocks, &ours).blocks),
            );
        }
    }
}
