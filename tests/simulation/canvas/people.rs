//! People at canvas files: what they do, made from what can be seen at its beginning.

use espejo::model::{EntryKind, MirrorPath, Stamp};

use super::nodes;
use super::slides;
use super::verbs::Canvas;
use crate::folder::Folder;
use crate::luck::Luck;
use crate::users::Plan;
use crate::words::{Ledger, words_in};

/// One thing that happens to canvas files at once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Deed {
    Write(MirrorPath, Vec<u8>),
    /// A write to a place that was there when it was begun: no folder is made for it.
    WriteBack(MirrorPath, Vec<u8>),
    /// A write by a program that has the file with this stamp open: it gets it wherever the file is by now.
    WriteOn(Stamp, MirrorPath, Vec<u8>),
    Replace(MirrorPath, Vec<u8>),
    /// An accident: the file with this stamp at this place holds this now, and nothing was meant by it.
    Spoil(Stamp, MirrorPath, Vec<u8>),
    /// The file with this stamp, wherever it is, holds again what it held before it was spoilt.
    Mend(Stamp, Vec<u8>),
    Unlink(MirrorPath),
    Rename(MirrorPath, MirrorPath),
}

impl Deed {
    /// The text that the person holds in hand until this happens.
    pub(crate) fn held(&self) -> &[u8] {
        match self {
            Self::Write(_, bytes)
            | Self::WriteBack(_, bytes)
            | Self::WriteOn(_, _, bytes)
            | Self::Replace(_, bytes)
            | Self::Mend(_, bytes) => bytes,
            _ => &[],
        }
    }
}

/// Where presentations are.
pub(crate) fn decks_root() -> MirrorPath {
    MirrorPath::new("Presentations").unwrap()
}

/// Where whiteboards are.
pub(crate) fn boards_root() -> MirrorPath {
    MirrorPath::new("Team/Whiteboards").unwrap()
}

/// Whether a person would take this file for a canvas that is kept in step.
pub(crate) fn is_canvas_file(path: &MirrorPath) -> bool {
    is_board_file(path) || is_deck_file(path)
}

fn is_canvas_name(path: &MirrorPath) -> bool {
    path.name().ends_with(".canvas") && !path.name().contains(".conflict-")
}

pub(crate) fn is_board_file(path: &MirrorPath) -> bool {
    path.parent() == Some(boards_root()) && is_canvas_name(path)
}

pub(crate) fn is_deck_file(path: &MirrorPath) -> bool {
    path.parent() == Some(decks_root()) && is_canvas_name(path)
}

fn files(folder: &Folder, wanted: fn(&MirrorPath) -> bool) -> Vec<MirrorPath> {
    let all = folder.things.iter().filter(|(path, thing)| thing.kind == EntryKind::File && wanted(path));
    all.map(|(path, _)| path.clone()).collect()
}

fn nth<T: Clone>(items: &[T], number: u32) -> Option<T> {
    items.get(number as usize % items.len().max(1)).cloned()
}

/// What a person does; `None` where there is no place for it. `kinds`: whether there are whiteboards, presentations.
pub(crate) fn plan(
    act: Canvas,
    (a, b): (u32, u32),
    (boards_on, decks_on): (bool, bool),
    grace_ms: u32,
    folder: &Folder,
    ledger: &mut Ledger,
) -> Option<Plan> {
    let mut luck = Luck::new(u64::from(b), 23);
    let (boards, decks) = (files(folder, is_board_file), files(folder, is_deck_file));
    let all: Vec<MirrorPath> = boards.iter().chain(&decks).cloned().collect();
    let gap = [0, 0, 3, 60, 700][usize::try_from(luck.below(5)).ok()?];
    let bytes_of = |path: &MirrorPath| folder.file(path).map(|thing| thing.bytes.clone());
    let is_whole = |path: &MirrorPath| bytes_of(path).is_some_and(|bytes| nodes::parsed(&bytes).is_some());
    let fresh = |ledger: &mut Ledger, before: &str| format!("{before} {}", ledger.title());
    let copy = |from: &MirrorPath, to: MirrorPath, ledger: &mut Ledger| {
        let bytes = bytes_of(from)?;
        words_in(&bytes).into_iter().for_each(|word| ledger.copy(word));
        Some(Deed::Write(to, bytes))
    };
    let plan: Vec<(i64, Deed)> = match act {
        Canvas::Spoil | Canvas::Blank => {
            let path = nth(&all, a).filter(is_whole)?;
            let bytes = bytes_of(&path)?;
            let spoilt = match act {
                Canvas::Blank => Vec::new(),
                _ if luck.chance(30) => b"<<<<<<< HEAD\n{}\n".to_vec(),
                _ => bytes[..bytes.len() / 2].to_vec(),
            };
            let stamp = folder.file(&path)?.stamp;
            vec![(0, Deed::Spoil(stamp, path, spoilt)), (luck.between(500, 60_000), Deed::Mend(stamp, bytes))]
        }
        Canvas::NewBoard | Canvas::NewDeck => {
            let is_deck = act == Canvas::NewDeck;
            if !(if is_deck { decks_on } else { boards_on }) {
                return None;
            }
            let (place, name) = if is_deck { (decks_root(), "Charla") } else { (boards_root(), "Pizarra") };
            let path = place.join(&format!("{}.canvas", fresh(ledger, name))).ok()?;
            let bytes = if is_deck { slides::new_file } else { nodes::new_file }(&mut luck, ledger);
            match luck.below(3) {
                0 => vec![(0, Deed::Replace(path, bytes))],
                1 => {
                    vec![(0, Deed::Write(path.clone(), b"{}".to_vec())), (gap, Deed::WriteBack(path, bytes))]
                }
                _ => vec![(0, Deed::Write(path, bytes))],
            }
        }
        Canvas::CopyBoard => {
            let from = nth(&boards, a).filter(is_whole)?;
            let name = fresh(ledger, from.name().strip_suffix(".canvas")?.split(' ').next()?);
            vec![(0, copy(&from, boards_root().join(&format!("{name} copia.canvas")).ok()?, ledger)?)]
        }
        Canvas::RenameBoard => {
            let from = nth(&boards, a)?;
            vec![(
                0,
                Deed::Rename(from, boards_root().join(&format!("{}.canvas", fresh(ledger, "Otra"))).ok()?),
            )]
        }
        Canvas::MoveAway => {
            let from = nth(&all, a)?;
            let place = *luck.pick(&["Team", "Team/Pages", "Presentations"]);
            let to = MirrorPath::new(place).ok()?.join(from.name()).ok()?;
            vec![(0, Deed::Rename(from, to))]
        }
        Canvas::DeleteFile => vec![(0, Deed::Unlink(nth(&all, a)?))],
        Canvas::DeleteSome => {
            let count = luck.between(2, 14);
            let chosen = boards.iter().cycle().skip(a as usize % boards.len().max(1)).take(boards.len());
            let few = luck.between(2, 5);
            let pause = luck.between(1_000, 15_000);
            let chosen = chosen.zip(0..count);
            chosen
                .map(|(path, at)| {
                    (if at > 0 && at % few == 0 { pause } else { 0 }, Deed::Unlink(path.clone()))
                })
                .collect()
        }
        Canvas::DeleteAndReturn | Canvas::DeleteAndReturnLate => {
            let path = nth(&all, a).filter(is_whole)?;
            let bytes = bytes_of(&path)?;
            let grace = i64::from(grace_ms);
            let away = if act == Canvas::DeleteAndReturn {
                luck.between(0, grace / 2)
            } else {
                words_in(&bytes).into_iter().for_each(|word| ledger.copy(word));
                luck.between(2 * grace, 60_000)
            };
            vec![(0, Deed::Unlink(path.clone())), (away, Deed::WriteBack(path, bytes))]
        }
        Canvas::SettleConflict => {
            let copies: Vec<MirrorPath> = folder
                .things
                .keys()
                .filter(|path| path.name().ends_with(".canvas") && path.name().contains(".conflict-"))
                .cloned()
                .collect();
            vec![(0, Deed::Unlink(nth(&copies, a)?))]
        }
        Canvas::TouchPicture => {
            let drawn = |path: &MirrorPath| {
                let is_picture = path.name().ends_with(".svg") || path.name().ends_with(".html");
                is_picture && path.components().next() != Some("Storage")
            };
            let path = nth(&files(folder, drawn), a)?;
            if luck.chance(50) {
                vec![(0, Deed::Unlink(path))]
            } else {
                vec![(0, Deed::Write(path, b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec()))]
            }
        }
        Canvas::RenameDeck => {
            let from = nth(&decks, a).filter(is_whole)?;
            let to = decks_root().join(&format!("{}.canvas", fresh(ledger, "Renombrada"))).ok()?;
            if luck.chance(60) {
                vec![(0, Deed::Rename(from, to))]
            } else {
                // One that stays for longer is a copy, for all that can be seen.
                vec![(0, Deed::Write(to, bytes_of(&from)?)), (gap.min(60), Deed::Unlink(from))]
            }
        }
        Canvas::CopyDeck => {
            let from = nth(&decks, a).filter(is_whole)?;
            let to = decks_root().join(&format!("{}.canvas", fresh(ledger, "Duplicada"))).ok()?;
            vec![(0, copy(&from, to, ledger)?)]
        }
        Canvas::DeleteDeck => vec![(0, Deed::Unlink(nth(&decks, a)?))],
        _ => {
            let path = nth(if act.is_at_slides() { &decks } else { &all }, a)?;
            let edited = if is_deck_file(&path) { slides::edited } else { nodes::edited };
            let after = edited(&bytes_of(&path)?, act, &mut luck, ledger)?;
            match luck.below(8) {
                0 | 1 => vec![(0, Deed::Replace(path, after))],
                2 => {
                    let open = folder.file(&path)?.stamp;
                    vec![(0, Deed::Write(path.clone(), Vec::new())), (gap, Deed::WriteOn(open, path, after))]
                }
                3 => {
                    let open = folder.file(&path)?.stamp;
                    vec![(luck.between(500, 20_000), Deed::WriteOn(open, path, after))]
                }
                4 => {
                    let other = path.parent()?.join(&format!("{}.tmp", path.name())).ok()?;
                    vec![(0, Deed::Write(other.clone(), after)), (gap, Deed::Rename(other, path))]
                }
                // Saved by its name, wherever the file has gone by then.
                _ => vec![(0, Deed::WriteBack(path, after))],
            }
        }
    };
    Some(plan.into_iter().map(|(pause, deed)| (pause, crate::users::Deed::Canvas(deed))).collect())
}
