//! What is written when a block would not read back: every escape, and then a line that stands for it. The writer
//! has no known fault that would need either, so here they are asked for.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::certain::harden;
use super::super::lower::lower;
use super::super::write::write;
use super::corpus::documents;
use super::formatted::Dice;
use super::read;

/// Writes `blocks` with `chosen` of four blocks hardened this often, and reads them back.
fn check(name: &str, blocks: &[Value], times: usize, share: usize) {
    let mut lowered = lower(blocks);
    let mut dice = Dice(share as u64 * 77 + times as u64);
    let which: BTreeSet<usize> = (0..lowered.values.len()).filter(|_| dice.below(4) < share).collect();
    (0..times).for_each(|_| harden(&mut lowered, &which));
    let text = write(&lowered.nodes, &mut |_, _| {}).text;
    assert_eq!(json!(read(&text, blocks)), json!(blocks), "{name} {times} {share}\n{text}");
    let mut end = blocks.to_vec();
    let last = lowered.nodes.len() - lowered.trailing();
    end.insert(
        last,
        json!({"id": "00000000-0000-4000-8000-000000000001", "type": "paragraph",
        "props": {"textColor": "default", "backgroundColor": "default", "textAlignment": "left"},
        "content": [{"type": "text", "text": "One more", "styles": {}}], "children": []}),
    );
    let more = format!("{text}\nOne more\n");
    assert_eq!(json!(read(&more, blocks)), json!(end), "{name} {times} {share}\n{more}");
}

#[test]
fn a_block_that_would_not_read_back_is_still_itself() {
    for (name, blocks) in documents().into_iter().filter(|(_, blocks)| blocks.len() < 500) {
        for (times, share) in [(1, 2), (1, 4), (2, 2), (2, 4)] {
            check(&name, &blocks, times, share);
        }
    }
}
