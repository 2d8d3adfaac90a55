//! Whether both sides say the same of canvases: each whiteboard and slide has its one file, in its place, under its name,
//! with its elements, and a picture beside it.

use std::collections::{BTreeMap, BTreeSet};

use espejo::canvas::{self, Aliases, Origins};
use espejo::model::{CanvasId, DeckId, EntryKind, Fields, MirrorPath, id_of};
use espejo::plan::naming;

use super::people::{boards_root, deck_folders, decks_root, is_board_file, is_canvas_file, is_slide_file};
use crate::agreement::no_title_doubled;
use crate::checks::{Failure, broken};
use crate::folder::Folder;
use crate::service::Service;
use crate::words::{Ledger, Word};

/// Whether folder and service agree on canvases.
pub(crate) fn agree(folder: &Folder, service: &Service) -> Result<(), Failure> {
    let all = service.canvases();
    let elements = all.iter().flat_map(|canvas| service.world.elements_of(canvas));
    // Copies of what the API cannot make stay in their files, also when the original is gone.
    let elements = elements.chain(&service.odd_elements);
    let origins: Origins = elements.map(|element| (id_of(element).to_owned(), element.clone())).collect();
    let differs = |canvas: &CanvasId, path: &MirrorPath| -> Option<String> {
        let text = String::from_utf8_lossy(&folder.file(path)?.bytes).into_owned();
        let elements = service.world.elements_of(canvas);
        let mut in_order: Vec<_> = elements.to_vec();
        in_order.sort_by(|a, b| z_index(a).total_cmp(&z_index(b)));
        match canvas::read(&text, canvas.surface(), &in_order, &Aliases::new(), &origins) {
            Ok(mut local) => {
                // What a duplicate with an id of its own looked like may have changed in the app since.
                local.new.retain(|(_, fields)| !is_odd_copy(fields));
                (!local.is_clean()).then(|| format!("{local:?}"))
            }
            Err(why) => Some(why),
        }
    };
    let has_picture = |path: &MirrorPath| {
        let name = path.name().replace(".canvas", ".svg");
        path.parent().and_then(|up| up.join(&name).ok()).is_some_and(|at| folder.things.contains_key(&at))
    };
    let is_file = |path: &&MirrorPath| folder.file(path).is_some();
    let mut files: BTreeSet<&MirrorPath> =
        folder.things.keys().filter(|path| is_board_file(path)).filter(is_file).collect();
    // A new file without a node is no whiteboard yet.
    let text =
        |path: &MirrorPath| folder.file(path).map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
    let has_node = |path: &MirrorPath| text(path).is_some_and(|text| !canvas::ids_in(&text).is_empty());
    files.retain(|path| has_node(path) || has_picture(path));
    // Those that bear their name itself, before those that bear it with a number.
    let mut left = service.boards();
    for exact in [true, false] {
        for board in std::mem::take(&mut left) {
            let name = service.world.whiteboard(&board).map_or("", |board| board.name.as_str());
            let canvas = CanvasId::Board(board.clone());
            let says = |path: &&&MirrorPath| {
                path.name()
                    .strip_suffix(".canvas")
                    .is_some_and(|stem| if exact { stem == name } else { naming::still_says(stem, name) })
            };
            let named: Vec<&MirrorPath> = files.iter().filter(says).copied().collect();
            let Some(path) = named.iter().find(|path| differs(&canvas, path).is_none()) else {
                if exact {
                    left.push(board);
                    continue;
                }
                let why: Vec<String> = named
                    .iter()
                    .map(|path| format!("{path}: {}", differs(&canvas, path).unwrap_or_default()))
                    .collect();
                return broken(
                    "agreement",
                    format!(
                        "the whiteboard {name:?} ({board}) has no file in {}; {}",
                        boards_root(),
                        why.join(", ")
                    ),
                );
            };
            if !has_picture(path) {
                return broken("agreement", format!("{path} has no picture"));
            }
            let path = *path;
            files.remove(path);
        }
    }
    if let Some(extra) = files.first() {
        return broken("agreement", format!("{extra} has no whiteboard"));
    }
    let mut folders: BTreeSet<MirrorPath> = deck_folders(folder).into_iter().collect();
    // Of two with one name, an empty one fits more folders.
    let mut decks = service.decks();
    let count_of = |deck: &DeckId| -> usize {
        service.canvases_of(deck).iter().map(|slide| service.world.elements_of(slide).len()).sum()
    };
    decks.sort_by_key(|deck| std::cmp::Reverse(count_of(deck)));
    for deck in decks {
        let name = service.world.presentation(&deck).map_or("", |deck| deck.name.as_str());
        let slides = service.canvases_of(&deck);
        let digits = slides.len().to_string().len().max(2);
        let mut why = Vec::new();
        let fits = |at: &&MirrorPath, all: &mut Vec<String>| {
            if !naming::still_says(at.name(), name) {
                return false;
            }
            let mut why = Vec::new();
            for (order, slide) in slides.iter().enumerate() {
                let path = at.join(&format!("{:0digits$}.canvas", order + 1)).unwrap();
                match folder.file(&path) {
                    None => why.push(format!("{path} is missing")),
                    Some(_) => why.extend(differs(slide, &path).map(|what| format!("{path}: {what}"))),
                }
                if folder.file(&path).is_some() && !has_picture(&path) {
                    why.push(format!("{path} has no picture"));
                }
            }
            let count = folder.children(at).iter().filter(|path| is_slide_file(path)).count();
            if count != slides.len() {
                why.push(format!("{at} has {count} files for {} slides", slides.len()));
            }
            if !slides.is_empty() && !folder.children(at).iter().any(|path| path.name() == "index.html") {
                why.push(format!("{at} has no index.html"));
            }
            all.extend(why.iter().cloned());
            why.is_empty()
        };
        let found = folders.iter().find(|at| fits(at, &mut why)).cloned();
        match found {
            Some(at) => drop(folders.remove(&at)),
            // One without slides needs no folder.
            None if slides.is_empty() => {}
            None => {
                return broken(
                    "agreement",
                    format!(
                        "the presentation {name:?} ({deck}) has no folder in {}; {}",
                        decks_root(),
                        why.join(", ")
                    ),
                );
            }
        }
    }
    let left = |at: &&MirrorPath| folder.children(at).iter().any(is_slide_file);
    match folders.iter().find(left) {
        Some(extra) => broken("agreement", format!("{extra} has no presentation")),
        None => Ok(()),
    }
}

/// Whether a node says what a file says of an element that the API cannot make.
fn is_odd_copy(fields: &Fields) -> bool {
    let text = fields.get("content").and_then(serde_json::Value::as_str).unwrap_or_default();
    ["**media**", "**connector**", "**embed**"].iter().any(|odd| text.starts_with(odd))
}

fn z_index(element: &serde_json::Value) -> f64 {
    element["z_index"].as_f64().unwrap_or(0.0)
}

/// Whether a word stands twice on canvases, or twice in their files, or a name twice, that nobody copied. Returns how many do
/// as no evidence was left.
pub(crate) fn nothing_doubled(folder: &Folder, service: &Service, ledger: &Ledger) -> Result<usize, Failure> {
    let mut in_doubt = BTreeSet::new();
    let canvases = service.canvases();
    let elements = canvases
        .iter()
        .flat_map(|canvas| service.world.elements_of(canvas).iter().map(move |element| (canvas, element)));
    let mut seen = BTreeMap::new();
    for (canvas, element) in elements {
        for word in super::app::words_of(element).into_iter().collect::<BTreeSet<Word>>() {
            if seen.insert(word, canvas).is_some() {
                in_doubt.insert(word);
                if !ledger.may_be_twice(word) {
                    return broken("doubled", format!("{word} stands in {canvas:?} and once more"));
                }
            }
        }
    }
    let mut seen = BTreeMap::new();
    let is_file = |kind| kind == EntryKind::File;
    for (path, thing) in
        folder.things.iter().filter(|(path, thing)| is_canvas_file(path) && is_file(thing.kind))
    {
        for word in thing.words.iter().collect::<BTreeSet<&Word>>() {
            if let Some(other) = seen.insert(word, path) {
                in_doubt.insert(*word);
                if !ledger.may_be_twice(*word) {
                    return broken("doubled", format!("{word} stands in {path} and in {other}"));
                }
            }
        }
    }
    in_doubt.retain(|word| ledger.is_doubted(*word));
    let boards = service.boards();
    let boards = boards.iter().filter_map(|board| Some(service.world.whiteboard(board)?.name.as_str()));
    let decks = service.decks();
    let decks = decks.iter().filter_map(|deck| Some(service.world.presentation(deck)?.name.as_str()));
    Ok(in_doubt.len() + no_title_doubled(boards, ledger)? + no_title_doubled(decks, ledger)?)
}
