//! What [`identify`] says for all short histories of a small folder and for random longer ones, and the answers for stored files and
//! canvases.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;
use crate::core::plan::page_files::tests::{World, acts, items_of, known_of, seen_of, worlds};
use crate::model::PageId;

/// The number of histories, and of those in which each file is the page's whose file it is by all acts.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    all: usize,
    right: usize,
}

impl Tally {
    fn count(&mut self, before: &World, after: &World) {
        let (known, seen) = items_of(&known_of(before), &seen_of(after));
        // The history knows the page of each file.
        let pages: BTreeMap<ItemKey, &PageId> = known
            .iter()
            .zip(before.files.values())
            .filter_map(|(item, (_, page))| Some((item.key, page.as_ref()?)))
            .collect();
        let page = |verdict: &Verdict| item(verdict).and_then(|key| pages.get(&key)).copied();
        let found = identify(&known, &seen);
        let mut all = found.iter().zip(after.files.values());
        self.all += 1;
        self.right += usize::from(all.all(|(verdict, (_, owner))| page(verdict) == owner.as_ref()));
    }
}

/// The places of files, and one that is empty at first.
const PLACES: [&str; 4] = ["a.md", "d/b.md", "c.md", "d/e.md"];

/// All folders with up to three files: none, without a page, of a page, of a page and with its id.
fn every_world(mut check: impl FnMut(&World)) {
    for births in [false, true] {
        for number in 0..4_usize.pow(3) {
            let mut world = World { files: BTreeMap::new(), births, clock: 0 };
            for (at, (place, id)) in PLACES.iter().zip(["A", "B", "C"]).enumerate() {
                let kind = number / 4_usize.pow(u32::try_from(at).unwrap()) % 4;
                let file = world.file((kind == 3).then_some(id));
                if kind > 0 {
                    let page = (kind > 1).then(|| PageId::new(id).unwrap());
                    world.files.insert((*place).to_owned(), (file, page));
                }
            }
            check(&world);
        }
    }
}

/// Calls `check` with what one act makes of a folder, for every act that changes something.
fn every_act(world: &World, mut check: impl FnMut(&World)) {
    for (from, to) in PLACES.iter().flat_map(|from| PLACES.map(|to| (*from, to))) {
        // The others are the same act, or need no second path.
        for kind in [0, 2, 3, 4, 6, 7].into_iter().filter(|kind| (*kind > 3) == (from != to)) {
            let mut after = world.clone();
            after.act(kind, from, to);
            if after.files != world.files {
                check(&after);
            }
        }
    }
}

/// The others look like another act: a file without an id that is moved over another, or that swaps places with one.
#[test]
fn most_histories_of_two_acts_are_understood() {
    let mut tally = Tally::default();
    every_world(|before| {
        every_act(before, |after| {
            tally.count(before, after);
            every_act(after, |after| tally.count(before, after));
        });
    });
    assert_eq!(tally, Tally { all: 94_352, right: 73_112 });
}

#[test]
fn most_random_histories_are_understood() {
    let mut tally = Tally::default();
    let mut runner = TestRunner::deterministic();
    let histories = (worlds(), acts(4), acts(8));
    for _ in 0..4_000 {
        let (mut before, first, then) = histories.new_tree(&mut runner).unwrap().current();
        first.into_iter().for_each(|(kind, from, to)| before.act(kind, from, to));
        let mut after = before.clone();
        then.into_iter().for_each(|(kind, from, to)| after.act(kind, from, to));
        tally.count(&before, &after);
    }
    assert_eq!(tally, Tally { all: 4_000, right: 3_680 });
}

proptest! {
    #![proptest_config(crate::model::tests::config())]

    #[test]
    fn no_item_has_two_files_and_the_order_of_the_inputs_does_not_matter(before in worlds(), acts in acts(8)) {
        let mut after = before.clone();
        acts.into_iter().for_each(|(kind, from, to)| after.act(kind, from, to));
        let (mut known, mut seen) = items_of(&known_of(&before), &seen_of(&after));
        let found = identify(&known, &seen);
        let mut items: Vec<ItemKey> = found.iter().filter_map(item).collect();
        let count = items.len();
        items.sort();
        items.dedup();
        prop_assert_eq!(items.len(), count);
        known.reverse();
        seen.reverse();
        let mut again = identify(&known, &seen);
        again.reverse();
        prop_assert_eq!(&again, &found);
        // With the result recorded, a second scan changes nothing.
        seen.reverse();
        let new = 1_000..;
        let recorded: Vec<Known> = seen.iter().zip(&found).zip(new).map(|((file, verdict), new)| Known {
            key: item(verdict).unwrap_or(ItemKey(new)),
            path: file.path.clone(),
            file: Some((file.stamp, file.hash)),
        }).collect();
        let again = identify(&recorded, &seen);
        for (known, verdict) in recorded.iter().zip(&again) {
            prop_assert_eq!(*verdict, Verdict::Is(known.key));
        }
    }
}

fn item(verdict: &Verdict) -> Option<ItemKey> {
    match verdict {
        Verdict::Is(key) => Some(*key),
        Verdict::CopyOf(_) | Verdict::New => None,
    }
}

/// `path object bytes says`, with `-` for what is not known: an item of this key with that file, and the item that it names.
fn parse(line: &str, key: u32) -> (Known, Option<ItemKey>) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [path, object, bytes, says] = words[..] else { panic!("{line:?}") };
    let file = object.parse().ok().map(|inode: u64| {
        let size = if bytes == "tiny" { 5 } else { 100 };
        let born_ns = i64::try_from(inode).unwrap();
        let modified_ns = bytes.bytes().map(i64::from).sum();
        let stamp = Stamp { device: 1, inode, size, modified_ns, changed_ns: 0, born_ns };
        (stamp, Some(ContentHash::of(bytes.as_bytes())))
    });
    let path = MirrorPath::new(path).unwrap();
    (Known { key: ItemKey(key), path, file }, says.parse().ok().map(ItemKey))
}

/// Known files, and seen ones, each with its expected item: a number, `copy` and a number, or `new`.
fn check(story: &str, known: &[&str], seen: &[(&str, &str)]) {
    let known = known.iter().zip(0..).map(|(line, key)| parse(line, key).0);
    let files = seen.iter().map(|(line, _)| {
        let (Known { path, file, .. }, says) = parse(line, 0);
        let (stamp, hash) = file.unwrap();
        Seen { path, stamp, hash, says }
    });
    let found = identify(&known.collect::<Vec<_>>(), &files.collect::<Vec<_>>());
    let shown = found.iter().map(|verdict| match verdict {
        Verdict::Is(key) => key.0.to_string(),
        Verdict::CopyOf(key) => format!("copy {}", key.0),
        Verdict::New => "new".to_owned(),
    });
    let expected: Vec<&str> = seen.iter().map(|(_, expected)| *expected).collect();
    assert_eq!(shown.collect::<Vec<_>>(), expected, "{story}");
}

/// The engine identifies stored files together with its state. The table has its answers, but for three: a file renamed to the
/// path of another that was renamed was taken for an edit of the latter; a new file of equal name and size was a moved one; a
/// file that was moved and then saved anew was followed by its later objects.
#[test]
fn stored_files_have_the_answers_of_their_table() {
    let two = &["x.pdf 1 one -", "y.pdf 2 two -"];
    check("renamed", two, &[("n.pdf 1 one -", "0"), ("y.pdf 2 two -", "1")]);
    check("renamed and edited in place", two, &[("n.pdf 1 new -", "0"), ("y.pdf 2 two -", "1")]);
    check("copied elsewhere, and removed", two, &[("n.pdf 9 one -", "0"), ("y.pdf 2 two -", "1")]);
    check("renamed, another at its place", two, &[("n.pdf 1 one -", "0"), ("x.pdf 9 new -", "new")]);
    check("renamed in a row", two, &[("n.pdf 2 two -", "1"), ("y.pdf 1 one -", "0")]);
    check("swapped: edits of both", two, &[("x.pdf 2 two -", "0"), ("y.pdf 1 one -", "1")]);
    check("saved by renaming", two, &[("x.pdf 9 new -", "0"), ("y.pdf 2 two -", "1")]);
    check("moved over another", two, &[("y.pdf 1 one -", "1")]);
    check("a hard link beside it", two, &[("n.pdf 1 one -", "new"), ("x.pdf 1 one -", "0")]);
    check("equal bytes in two new files", two, &[("m.pdf 8 one -", "new"), ("n.pdf 9 one -", "new")]);
    check("tiny", &["x.pdf 1 tiny -"], &[("n.pdf 9 tiny -", "new")]);
    check("tiny, of the same name", &["x.pdf 1 tiny -"], &[("d/x.pdf 9 tiny -", "0")]);
    check("moved, and saved anew by renaming", two, &[("n.pdf 9 new -", "new"), ("y.pdf 2 two -", "1")]);
}

#[test]
fn canvases_have_the_answers_of_their_table() {
    let two = &["x.canvas 1 one 0", "y.canvas 2 two 1"];
    let check = |story, seen: &[(&str, &str)]| check(story, two, seen);
    check("renamed", &[("n.canvas 1 one 0", "0"), ("y.canvas 2 two 1", "1")]);
    check("swapped", &[("x.canvas 2 two 1", "1"), ("y.canvas 1 one 0", "0")]);
    check("saved under another name", &[("n.canvas 9 new 0", "0"), ("y.canvas 2 two 1", "1")]);
    check("copied", &[("n.canvas 9 one 0", "copy 0"), ("x.canvas 1 one 0", "0")]);
    check("copied over another", &[("x.canvas 1 one 0", "0"), ("y.canvas 2 one 0", "1")]);
    check("its nodes were all replaced", &[("x.canvas 9 new -", "0"), ("y.canvas 2 two 1", "1")]);
    check("moved over by a file of nobody", &[("x.canvas 9 new -", "0")]);
    check(
        "removed, and two files have its nodes",
        &[("m.canvas 8 new 0", "0"), ("n.canvas 9 two 0", "copy 0")],
    );
}

/// Histories that are longer than those above.
#[test]
fn what_no_evidence_decides_is_new() {
    let one = &["d/a.md 1 one 0"];
    check(
        "of equal files that name an item, the first",
        one,
        &[("c.md 8 new 0", "0"), ("d/b.md 9 new 0", "copy 0")],
    );
    let folder = &["p.md 1 one 0", "p/c.md 2 two -"];
    check("replaced in a folder that moved", folder, &[("q.md 1 one 0", "0"), ("q/c.md 9 new -", "new")]);
}

#[test]
fn what_files_say_finds_items_that_have_no_file() {
    let known = &["a.md - - -"];
    check("its file is back elsewhere", known, &[("n.md 1 one 0", "0")]);
    check("of two, the one at its place", known, &[("A.md 1 one 0", "copy 0"), ("a.md 2 one 0", "0")]);
    check("what is at its place and does not name it is new", known, &[("a.md 1 one -", "new")]);
    check("the item that is named is unknown", known, &[("b.md 1 one 7", "copy 7")]);
    // After the state was lost: what espejo would write is known, and has no object.
    let first = &["a.md 0 one -", "b.md 0 two -"];
    check("equal path", first, &[("a.md 1 new -", "0")]);
    check("equal bytes", first, &[("n.md 1 two -", "1")]);
}
