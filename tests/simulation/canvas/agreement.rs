//! Whether both sides say the same of canvases: each whiteboard and presentation has its one file, in its place, under its
//! name, with its elements, and a picture or a page beside it.

use std::collections::{BTreeMap, BTreeSet};

use espejo::canvas::presentation::{self, Known, KnownSlide, Size, SlideState};
use espejo::canvas::{self, Aliases, Origins};
use espejo::model::{CanvasId, DeckId, EntryKind, Fields, MirrorPath, id_of};
use espejo::plan::naming;

use super::nodes::parsed;
use super::people::{boards_root, decks_root, is_board_file, is_canvas_file, is_deck_file};
use super::slides::groups_of;
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
    decks_agree(folder, service, &origins)
}

/// Whether each presentation has its one file, with a group for each slide, and a page beside it.
fn decks_agree(folder: &Folder, service: &Service, origins: &Origins) -> Result<(), Failure> {
    let has_page = |path: &MirrorPath| {
        let name = path.name().replace(".canvas", ".html");
        path.parent().and_then(|up| up.join(&name).ok()).is_some_and(|at| folder.things.contains_key(&at))
    };
    let mut files: BTreeMap<&MirrorPath, String> = BTreeMap::new();
    for path in folder.things.keys().filter(|path| is_deck_file(path)) {
        let Some(file) = folder.file(path) else { continue };
        // A new file without a group is no presentation yet.
        let has_group = parsed(&file.bytes).is_some_and(|doc| !groups_of(&doc).is_empty());
        if has_group || has_page(path) {
            files.insert(path, String::from_utf8_lossy(&file.bytes).into_owned());
        }
    }
    // Of two with one name, an empty one fits more files.
    let mut decks = service.decks();
    let count_of = |deck: &DeckId| -> usize {
        service.canvases_of(deck).iter().map(|slide| service.world.elements_of(slide).len()).sum()
    };
    decks.sort_by_key(|deck| std::cmp::Reverse(count_of(deck)));
    for deck in decks {
        let name = service.world.presentation(&deck).map_or("", |deck| deck.name.as_str());
        let mut why = Vec::new();
        let stem = |path: &MirrorPath| path.name().strip_suffix(".canvas").unwrap_or_default().to_owned();
        let named = files.iter().filter(|(path, _)| naming::still_says(&stem(path), name));
        let found = named.map(|(path, text)| (*path, deck_differs(service, &deck, text, origins))).find(
            |(path, what)| {
                why.extend(what.iter().map(|what| format!("{path}: {what}")));
                what.is_none()
            },
        );
        let Some((path, _)) = found else {
            return broken(
                "agreement",
                format!(
                    "the presentation {name:?} ({deck}) has no file in {}; {}",
                    decks_root(),
                    why.join(", ")
                ),
            );
        };
        if !has_page(path) {
            return broken("agreement", format!("{path} has no page"));
        }
        files.remove(path);
    }
    match files.keys().next() {
        Some(extra) => broken("agreement", format!("{extra} has no presentation")),
        None => Ok(()),
    }
}

/// What a file says of a presentation that is not so.
fn deck_differs(service: &Service, deck: &DeckId, text: &str, origins: &Origins) -> Option<String> {
    let record = service.world.presentation(deck)?;
    let doc = parsed(text.as_bytes())?;
    let ids = service.world.slides_of(deck);
    let elements: Vec<Vec<_>> = service
        .canvases_of(deck)
        .iter()
        .map(|slide| {
            let mut elements = service.world.elements_of(slide).to_vec();
            elements.sort_by(|a, b| z_index(a).total_cmp(&z_index(b)));
            elements
        })
        .collect();
    let none = Aliases::new();
    let slides: Vec<KnownSlide<'_>> = ids
        .iter()
        .zip(&elements)
        .map(|(id, elements)| {
            let base = Some(elements.as_slice());
            KnownSlide { id, base, shown: elements, aliases: &none, is_there: true }
        })
        .collect();
    let size = Size { width: record.width, height: record.height };
    let known = Known { size, slides: &slides, written: None, groups: &none, origins };
    let mut file = match presentation::read(text, &known) {
        Ok(file) => file,
        Err(why) => return Some(why),
    };
    for slide in &mut file.slides {
        if let SlideState::Here(local) = &mut slide.state {
            local.new.retain(|(_, fields)| !is_odd_copy(fields));
        }
    }
    if !file.is_clean() {
        return Some(format!("{file:?}"));
    }
    let groups = groups_of(&doc);
    let nodes = doc["nodes"].as_array().into_iter().flatten();
    let label =
        |id: &str| nodes.clone().find(|node| node["id"] == id).and_then(|node| node["label"].as_str());
    for (id, number) in ids.iter().zip(1u32..) {
        match groups.get(id.as_str()) {
            None => return Some(format!("the slide {id} has no group")),
            Some(frame) if frame[2..] != [record.width, record.height] => {
                return Some(format!("the group {id} has not the size of its slide"));
            }
            Some(_) => {}
        }
        if label(id.as_str()).and_then(|label| label.parse().ok()).is_some_and(|label: u32| label != number) {
            return Some(format!("the group {id} has not the number {number}"));
        }
    }
    None
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
