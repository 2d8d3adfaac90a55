//! Moves of canvas files by their objects, and the comparison with the core, which has one rule for every kind.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::core::plan::identify::tests::{Tally, as_keys, every_act, every_world};
use crate::core::plan::identify::{Known, Seen as SeenFile, Verdict};
use crate::model::BoardId;
use crate::plan::identity::tests::{World, known_of, seen_of};

#[test]
fn a_file_that_was_moved_is_itself_though_its_place_is_filled() {
    let at = |path: &str| MirrorPath::new(path).unwrap();
    let stamp = |inode, size, born_ns| Stamp { inode, size, born_ns, ..Stamp::default() };
    let check = |born_ns, found: [(&str, u64, u64); 2], expected: &[(&str, &str)]| {
        let known = CanvasFile {
            path: at("P/01.canvas"),
            canvas: None,
            stamp: stamp(1, 50, born_ns),
            hash: None,
            problem: None,
            racy: false,
        };
        let files = BTreeMap::from([(known.path.clone(), known)]);
        let seen = found.map(|(path, inode, size)| (at(path), stamp(inode, size, born_ns)));
        let found = moves(&files, &seen.into());
        let expected: Vec<_> = expected.iter().map(|(from, to)| (at(from), at(to))).collect();
        assert_eq!(found, expected, "born at {born_ns}");
    };
    for born_ns in [7, 0] {
        let moved = &[("P/01.canvas", "P/new.canvas")];
        check(born_ns, [("P/01.canvas", 2, 10), ("P/new.canvas", 1, 50)], moved);
        // A second hard link to it, and two other files.
        check(born_ns, [("P/01.canvas", 1, 50), ("P/new.canvas", 1, 50)], &[]);
        check(born_ns, [("P/01.canvas", 2, 10), ("P/new.canvas", 3, 50)], &[]);
    }
    // Without a birth its number may have been reused for another file.
    check(0, [("P/01.canvas", 2, 50), ("P/new.canvas", 1, 60)], &[]);
    check(7, [("P/01.canvas", 2, 50), ("P/new.canvas", 1, 60)], &[("P/01.canvas", "P/new.canvas")]);
}

/// Which canvas each file is today: the moves by objects first, then the paths, then what a file has of a missing canvas.
fn as_today(known: &[Known], is_draft: &[bool], seen: &[SeenFile]) -> Vec<Verdict> {
    let file = |(item, is_draft): (&Known, &bool)| {
        let (stamp, hash) = item.file?;
        let canvas = (!is_draft).then(|| CanvasId::Board(BoardId::new(&item.key.0.to_string()).unwrap()));
        Some((
            item.path.clone(),
            CanvasFile { path: item.path.clone(), canvas, stamp, hash, problem: None, racy: false },
        ))
    };
    let files: BTreeMap<MirrorPath, CanvasFile> = known.iter().zip(is_draft).filter_map(file).collect();
    let stamps = seen.iter().map(|file| (file.path.clone(), file.stamp)).collect();
    let moves = moves(&files, &stamps);
    let item_at = |path: &MirrorPath| known.iter().position(|item| item.path == *path);
    let by_place = |file: &SeenFile| {
        let came = moves.iter().find(|(_, to)| *to == file.path).and_then(|(from, _)| item_at(from));
        let stayed = item_at(&file.path).filter(|_| moves.iter().all(|(from, _)| *from != file.path));
        match (came, stayed) {
            (Some(came), Some(stayed)) if is_draft[came] && !is_draft[stayed] => Some(stayed),
            (came, stayed) => came.or(stayed),
        }
    };
    let places: Vec<Option<usize>> = seen.iter().map(by_place).collect();
    let mut found: BTreeSet<usize> = places.iter().flatten().copied().collect();
    let verdict = |(file, place): (&SeenFile, &Option<usize>)| {
        let named = known.iter().position(|item| Some(item.key) == file.says);
        match (place, file.says) {
            (Some(item), _) => Verdict::Is(known[*item].key),
            (None, Some(says)) if named.is_some_and(|named| found.insert(named)) => Verdict::Is(says),
            (None, Some(says)) => Verdict::CopyOf(says),
            (None, None) => Verdict::New,
        }
    };
    seen.iter().zip(&places).map(verdict).collect()
}

/// Of two files that name a canvas, the one at its path is its file, and not the object that left: programs save by renaming,
/// and keep the version before under another name. The bytes are the same on both.
const OWN_PATH: &str = "of files that name it, the one at its path";
/// A file was replaced where it lay by one that names another canvas, and that canvas has no file. Its canvas is the one that it
/// names; the path decided.
const NAMED: &str = "what a file says counts more than its path";
/// A file lies at the path of another item that has no other file, and names none that lacks one. It is an edit of that item, as
/// for pages: programs save by renaming. The object decided.
const EDIT: &str = "at another canvas's path a file is an edit";
/// A file that names no canvas has the bytes of a missing one. It is that canvas's.
const BYTES: &str = "equal bytes are evidence";

fn name_of(known: &[Known], seen: &[SeenFile], was: &[Verdict], is: &[Verdict]) -> Option<&'static str> {
    let at = (0..seen.len()).find(|at| was[*at] != is[*at])?;
    let (file, is) = (&seen[at], is[at]);
    let is_there = known.iter().any(|item| item.path == file.path && Verdict::Is(item.key) == is);
    match () {
        () if file.says.is_some_and(|says| [was[at], is].contains(&Verdict::CopyOf(says))) => Some(OWN_PATH),
        () if file.says.is_some_and(|says| is == Verdict::Is(says)) => Some(NAMED),
        () if is_there => Some(EDIT),
        () if was[at] == Verdict::New => Some(BYTES),
        () => None,
    }
}

fn count(tally: &mut Tally, before: &World, after: &World) {
    let files = known_of(before);
    let is_draft: Vec<bool> = files.iter().map(|file| file.page.is_none()).collect();
    let (known, seen, _) = as_keys(&files, &seen_of(after));
    tally.count((before, after), (&known, &seen), &as_today(&known, &is_draft, &seen), name_of);
}

/// Canvas files name their canvas, by an id or by half of its elements. Where one does not, the core takes the text at a path for
/// an edit, as for pages, and a move over another file or a swap is no longer followed.
#[test]
fn the_core_identifies_canvases_as_this_does() {
    let (mut naming, mut silent) = (Tally::default(), Tally::default());
    every_world(|before| {
        let is_silent =
            before.files.values().any(|(file, page)| page.is_some() && file.seen("x").claims.is_none());
        let tally = if is_silent { &mut silent } else { &mut naming };
        every_act(before, |after| {
            count(tally, before, after);
            every_act(after, |after| count(tally, before, after));
        });
    });
    naming.check(33_720, 29_250, &[(OWN_PATH, 708), (NAMED, 414), (EDIT, 3_102), (BYTES, 246)], 1_002);
    silent.check(60_632, 46_598, &[(OWN_PATH, 456), (NAMED, 408), (EDIT, 12_720), (BYTES, 450)], 11_862);
}
