//! The promises about canvases, and what they remember.

use std::collections::{BTreeMap, BTreeSet};

use espejo::model::{
    BoardEffect, CanvasId, ContentHash, DeckId, Effect, Expect, MirrorPath, ServiceError, SlideId, id_of,
};
use serde_json::Value;

use super::nodes::{Nodes, PLAIN, Said, links_of, nodes_of};
use super::people::{is_canvas_file, is_deck_file};
use super::requests::LOOK_TO_WRITE_MS;
use super::slides::{Homes, Sheet, THERE, changes_layout};
use crate::checks::{Failure, broken};
use crate::folder::Folder;
use crate::hands::Hands;
use crate::service::Service;
use crate::users::is_conflict_copy;
use crate::words::{Ledger, Word, words_in};

/// What the service showed of a canvas, and when the engine heard it.
#[derive(Debug, Clone)]
pub(super) struct Look {
    pub(super) elements: Vec<Value>,
    pub(super) at_ms: i64,
}

/// What the checks of canvases remember.
#[derive(Debug, Default)]
pub(crate) struct CanvasChecks {
    pub(super) looks: BTreeMap<CanvasId, Vec<Look>>,
    /// The slides that a presentation's last list showed, and when the engine heard it.
    pub(super) listed: BTreeMap<DeckId, (Vec<SlideId>, i64)>,
    /// The slides that were listed when the last one was asked for.
    before_post: BTreeMap<DeckId, Vec<SlideId>>,
    /// What people did to words in canvas files.
    pub(crate) hands: Hands,
    /// Words that stood in a canvas file at some time.
    pub(super) filed: BTreeSet<Word>,
    /// What any file ever said of a node, leaf by leaf.
    said: BTreeMap<String, BTreeMap<&'static str, BTreeSet<String>>>,
    /// What each file said when it could last be read.
    files: BTreeMap<MirrorPath, Sheet>,
    /// What each file said that was moved away. Another one in its place is the same file, saved anew.
    left: BTreeMap<MirrorPath, Sheet>,
    /// The leaves that a person changed, by the ids and words of their nodes.
    touched: BTreeMap<String, BTreeSet<&'static str>>,
    /// The words that elements were made with, whatever the app has written there since: the node keeps its own id until the
    /// file has been written.
    made_with: BTreeMap<String, Vec<String>>,
    /// Nodes that a person removed.
    pub(super) removed: BTreeSet<String>,
    /// The words of nodes that a person moved into another slide: they are made there and then removed where they were.
    pub(super) dragged: BTreeSet<Word>,
    /// Elements that the app changed since a file last said them.
    pub(super) changed: BTreeSet<String>,
    /// The words of nodes that a person moved into another slide although the app had changed the element: they stay in both.
    pub(super) parted: BTreeSet<Word>,
    /// The words in elements that were made by a request without an answer.
    pub(super) unanswered: BTreeSet<Word>,
    /// Canvases that were not shown at some time.
    pub(super) was_gone: BTreeSet<CanvasId>,
    /// When whiteboards and slides were deleted, and presentations, each with the first canvas that went.
    pub(super) deleted_ms: Vec<(i64, bool, Option<CanvasId>)>,
    /// What was asked for and failed each time: how often, and when last.
    failed: BTreeMap<String, (u32, i64)>,
    /// How often each element was made.
    created: BTreeMap<String, u32>,
    /// How often people drew groups that slides may be made of, and how many slides were made.
    groups_drawn: usize,
    slides_made: usize,
    /// What is allowed by a stated rule (docs/guarantees.md, "What cannot be promised"), and how often it was.
    pub(crate) allowed: Allowed,
}

/// What failed is asked again after this at the earliest, doubled each time,
const PATIENCE_MS: i64 = 400;
/// up to this.
const PATIENCE_MOST_MS: i64 = 60_000;

/// So often people make equal elements.
const CREATED_MOST: u32 = 5;

/// How often each stated rule was used.
pub(crate) type Allowed = BTreeMap<&'static str, u64>;

impl CanvasChecks {
    /// Groups came into a place where they may become slides: all of them if the file is new there. A presentation is made with
    /// a slide, even if its file has no group.
    fn count_groups(&mut self, path: &MirrorPath, before: Option<&Sheet>, now: &Sheet) {
        let is_new = |id: &String| before.is_none_or(|before| !before.there.contains(id));
        let least = usize::from(before.is_none() && is_deck_file(path));
        self.groups_drawn += now.there.iter().filter(|id| is_new(id)).count().max(least);
    }

    /// A slide was made: is there a group for it?
    pub(super) fn slide_made(&mut self) -> Result<(), Failure> {
        self.slides_made += 1;
        if self.slides_made > self.groups_drawn {
            let (made, drawn) = (self.slides_made, self.groups_drawn);
            return broken("once", format!("{made} slides were made, and people drew {drawn} groups"));
        }
        Ok(())
    }

    /// No evidence says which slides were made: each may be made once more.
    pub(crate) fn slides_were_refuted(&mut self) {
        self.slides_made = 0;
    }

    /// A person wrote a file; `is_there`: over another one. `permanent`: a slide whose group went with all its nodes may go, too.
    pub(super) fn person_wrote(
        &mut self,
        (path, is_there): (&MirrorPath, bool),
        bytes: &[u8],
        homes: &Homes,
        permanent: bool,
    ) {
        let before = self.files.get(path).or_else(|| self.left.get(path)).cloned();
        let Some(sheet) = Sheet::of(path, bytes, homes, before.as_ref()) else { return };
        self.left.remove(path);
        self.count_groups(path, before.as_ref().filter(|_| is_there), &sheet);
        let known = before.as_ref().map(|before| &before.nodes);
        let nothing = Said::new();
        let is_in_another = |id: &str, said: &Said| {
            said.get("in").and_then(Value::as_str).is_some_and(|slide| homes.is_foreign(id, slide))
        };
        let adrift = known.map(|before| sheet.adrift(before, homes)).unwrap_or_default();
        for (id, said) in adrift.into_iter().filter_map(|id| sheet.nodes.get_key_value(id)) {
            let is_in_another = is_in_another(id, said);
            for key in keys_of(id, said) {
                self.touched.entry(key.clone()).or_default().extend(["x", "y"]);
                self.removed.extend(is_in_another.then_some(key));
            }
            self.dragged.extend(words_of_node(said).into_iter().filter(|_| is_in_another));
        }
        for (id, said) in &sheet.nodes {
            let was = known.and_then(|before| before.get(id)).unwrap_or(&nothing);
            let leaves: BTreeSet<&'static str> = said
                .iter()
                .filter(|(leaf, value)| was.get(*leaf) != Some(*value))
                .map(|(leaf, _)| *leaf)
                .collect();
            if leaves.is_empty() {
                continue;
            }
            // A further change of a node is tried at once.
            self.failed.retain(|key, _| !key.contains(id.as_str()));
            for key in keys_of(id, said).into_iter().chain(keys_of(id, was)) {
                self.touched.entry(key).or_default().extend(&leaves);
            }
            // It went into another group, or its own group went elsewhere and left it in another one.
            let is_in_another = is_in_another(id, said);
            if is_in_another && leaves.contains("content") {
                // What is typed into a node that is on its way goes along.
                let words = words_in(said["content"].as_str().unwrap_or_default().as_bytes());
                if self.changed.contains(id) {
                    self.parted.extend(&words);
                }
                self.dragged.extend(words);
            }
            let is_moved = leaves.contains("x") || leaves.contains("y");
            let earlier = if was.is_empty() { renamed(known, &sheet, said) } else { Some(was) };
            let is_in_it = |was: &Said| was.get("in") == said.get("in");
            if earlier.is_some_and(|was| !is_in_it(was) || is_moved && is_in_another) {
                self.removed.extend(keys_of(id, earlier.unwrap_or(was)));
                let words = words_of_node(said);
                // The app may have changed what a request without an answer made: it stays.
                let is_unanswered = words.iter().any(|word| self.unanswered.contains(word));
                if self.changed.contains(id) || is_unanswered {
                    self.parted.extend(&words);
                }
                self.dragged.extend(words);
            }
        }
        // What another file has, too, is a copy here, and its slide is the other one's.
        let is_copy = |id: &&String| {
            self.files.iter().any(|(other, sheet)| other != path && sheet.nodes.contains_key(*id))
        };
        let kept: BTreeSet<&String> = match &before {
            Some(before) if !permanent => {
                before.lost_slides(bytes, homes).map(|(id, _)| id).filter(|id| !is_copy(id)).collect()
            }
            _ => BTreeSet::new(),
        };
        let gone = known.into_iter().flatten().filter(|(id, _)| !sheet.nodes.contains_key(*id));
        for (id, said) in gone.filter(|(id, _)| !kept.contains(id)) {
            self.removed.extend(keys_of(id, said));
        }
        self.note_sheet(path, sheet);
    }

    /// The words of the slides that a file lost whole, if it holds this now.
    pub(super) fn words_of_lost_slides(
        &self,
        path: &MirrorPath,
        bytes: &[u8],
        homes: &Homes,
    ) -> BTreeSet<Word> {
        let Some(before) = self.files.get(path).filter(|_| super::nodes::parsed(bytes).is_some()) else {
            return BTreeSet::new();
        };
        let texts = before.lost_slides(bytes, homes).filter_map(|(_, said)| said["content"].as_str());
        texts.flat_map(|text| words_in(text.as_bytes())).collect()
    }

    /// A person removed a file. Where another one has the same nodes, that one counts from now on, as if it had been written
    /// over the one that is gone. Returns the words of nodes on their way to another slide: only the file said where they are.
    pub(super) fn person_removed(&mut self, path: &MirrorPath, folder: &Folder) -> Vec<Word> {
        let Some(gone) = self.files.get(path) else { return Vec::new() };
        let others = self.files.iter().filter(|(other, _)| *other != path && folder.file(other).is_some());
        for (id, said) in others.flat_map(|(_, sheet)| &sheet.nodes) {
            let Some(was) = gone.nodes.get(id) else { continue };
            let leaves = said.iter().filter(|(leaf, value)| was.get(*leaf) != Some(*value));
            let leaves: BTreeSet<&'static str> = leaves.map(|(leaf, _)| *leaf).collect();
            for key in keys_of(id, said) {
                self.touched.entry(key).or_default().extend(&leaves);
            }
        }
        let words = gone.nodes.values().flat_map(words_of_node);
        words.filter(|word| self.dragged.contains(word)).collect()
    }

    /// espejo wrote a file, perhaps before it has seen what the app changed.
    pub(super) fn note_said(&mut self, path: &MirrorPath, bytes: &[u8], service: &Service) {
        if let Some(sheet) = Sheet::of(path, bytes, &service.homes, None) {
            let looks: Vec<(&[Value], &[Value])> = service
                .canvases()
                .iter()
                .filter_map(|canvas| {
                    let look = self.last_look(canvas, i64::MAX)?;
                    Some((service.world.elements_of(canvas), look.elements.as_slice()))
                })
                .collect();
            let element = |of: &[Value], id: &str| of.iter().find(|element| id_of(element) == id).cloned();
            let is_seen = |id: &str| {
                looks
                    .iter()
                    .any(|(now, seen)| element(now, id).is_some_and(|now| element(seen, id) == Some(now)))
            };
            let said: BTreeSet<String> = sheet.nodes.keys().filter(|id| is_seen(id)).cloned().collect();
            self.changed.retain(|id| !said.contains(id));
            self.note_sheet(path, sheet);
        }
    }

    fn note_sheet(&mut self, path: &MirrorPath, sheet: Sheet) {
        for (id, said) in &sheet.nodes {
            // Before it has its element's id, a new node is known by its words.
            for key in keys_of(id, said) {
                let known = self.said.entry(key).or_default();
                for (leaf, value) in said {
                    let place = ["x", "y"].into_iter().zip(THERE).find(|(_, there)| there == leaf);
                    let leaf = place.map_or(*leaf, |(own, _)| own);
                    known.entry(leaf).or_default().insert(value.to_string());
                }
                if said["color"].is_null() {
                    known.entry("color").or_default().insert(Value::from(PLAIN).to_string());
                }
            }
            self.filed.extend(words_in(said["content"].as_str().unwrap_or_default().as_bytes()));
        }
        self.files.insert(path.clone(), sheet);
    }

    /// A person gave a file another place.
    pub(super) fn person_moved(&mut self, from: &MirrorPath, to: &MirrorPath) {
        self.moved(from, to);
        if let Some(sheet) = self.files.get(to).cloned() {
            self.count_groups(to, None, &sheet);
        }
    }

    /// A file has another place.
    pub(super) fn moved(&mut self, from: &MirrorPath, to: &MirrorPath) {
        if let Some(sheet) = self.files.remove(from) {
            self.left.insert(from.clone(), sheet.clone());
            self.files.insert(to.clone(), sheet);
        }
    }

    /// Whether a file has a word in this slide.
    pub(super) fn is_filed_in(&self, word: Word, slide: &str) -> bool {
        let mut nodes = self.files.values().flat_map(|sheet| sheet.nodes.values());
        nodes.any(|said| {
            said.get("in").and_then(Value::as_str) == Some(slide) && words_of_node(said).contains(&word)
        })
    }

    /// Whether some file ever said this of a node.
    pub(super) fn was_said(&self, id: &str, said: &Said, leaf: &str, value: &Value) -> bool {
        keys_of(id, said).into_iter().chain(self.names_of(id)).any(|key| {
            let values = self.said.get(&key).and_then(|known| known.get(leaf));
            values.is_some_and(|values| values.contains(&value.to_string()))
        })
    }

    /// An element was made with this text.
    pub(super) fn element_made(&mut self, id: &str, words: &[Word]) {
        self.made_with.insert(id.to_owned(), words.iter().map(Word::to_string).collect());
    }

    /// What an element's node may be known by: its id, and the words that it was made with.
    fn names_of(&self, id: &str) -> impl Iterator<Item = String> {
        std::iter::once(id.to_owned()).chain(self.made_with.get(id).cloned().unwrap_or_default())
    }

    /// Whether a person removed an element's node.
    pub(super) fn is_removed(&self, id: &str) -> bool {
        self.names_of(id).any(|name| self.removed.contains(&name))
    }

    /// Whether a person changed this of an element on disk.
    pub(super) fn is_touched(&self, id: &str, said: &[&Said], leaf: &str) -> bool {
        let keys = said.iter().flat_map(|said| keys_of(id, said));
        keys.chain(self.names_of(id)).any(|key| self.touched.get(&key).is_some_and(|all| all.contains(leaf)))
    }

    /// These are not shown for a while, or ever again.
    pub(crate) fn gone(&mut self, canvases: &[CanvasId]) {
        self.was_gone.extend(canvases.iter().cloned());
    }

    /// Counts what a stated rule allows.
    pub(crate) fn allow(&mut self, rule: &'static str) {
        *self.allowed.entry(rule).or_default() += 1;
    }

    /// A new process remembers no failures, and a person who asks for everything has them tried again.
    pub(crate) fn forget_failures(&mut self) {
        self.failed.clear();
    }

    /// The process died.
    pub(crate) fn died(&mut self) {
        self.forget_failures();
        self.hands.died();
    }

    /// What the engine saw of a canvas last, as it asked at `asked_ms`.
    pub(super) fn last_look(&self, canvas: &CanvasId, asked_ms: i64) -> Option<&Look> {
        self.looks.get(canvas)?.iter().rev().find(|look| look.at_ms <= asked_ms)
    }

    /// Whether a slide was added in the app after the list that came right before its presentation is trashed.
    pub(super) fn slips_by_list(&self, canvas: &CanvasId, asked_ms: i64) -> bool {
        let CanvasId::Slide(deck, slide) = canvas else { return false };
        let list = self.listed.get(deck).filter(|(_, at)| asked_ms - at <= LOOK_TO_WRITE_MS);
        list.is_some_and(|(slides, _)| !slides.contains(slide))
    }

    /// A list of slides reached the engine: whether it shows one that was not there before the last POST. That one may be
    /// its slide: without an answer the POST has not failed then.
    pub(super) fn slides_listed(&mut self, deck: &DeckId, slides: Vec<SlideId>, now_ms: i64) -> bool {
        let before = self.before_post.get(deck);
        let shows_more = before.is_some_and(|before| slides.iter().any(|slide| !before.contains(slide)));
        if shows_more {
            self.failed.remove(&key_of(&BoardEffect::AddSlide(deck.clone())));
        }
        self.listed.insert(deck.clone(), (slides, now_ms));
        shows_more
    }

    /// An answer reached the engine.
    pub(crate) fn answered(&mut self, effect: &BoardEffect, error: Option<&ServiceError>, now_ms: i64) {
        if !effect.is_write() {
            return;
        }
        let key = key_of(effect);
        if error.is_none() && matches!(effect, BoardEffect::CreateElement { .. }) {
            *self.created.entry(key.clone()).or_default() += 1;
        }
        match error {
            Some(ServiceError::Unreachable(_) | ServiceError::Lost(_) | ServiceError::Server { .. }) => {
                let failed = self.failed.entry(key).or_default();
                *failed = (failed.0 + 1, now_ms);
            }
            _ => drop(self.failed.remove(&key)),
        }
    }

    /// The engine asks for a request about canvases.
    pub(crate) fn asked(&mut self, effect: &BoardEffect, now_ms: i64) -> Result<(), Failure> {
        let key = key_of(effect);
        if let Some(times) = self.created.get(&key).filter(|times| **times > CREATED_MOST) {
            return broken("once", format!("{key} again, after {times} times"));
        }
        if let BoardEffect::AddSlide(deck) = effect {
            let listed = self.listed.get(deck).map(|(slides, _)| slides.clone());
            self.before_post.insert(deck.clone(), listed.unwrap_or_default());
        }
        let Some((times, at)) = self.failed.get(&key).filter(|_| effect.is_write()) else { return Ok(()) };
        // A new slide is asked for without the file that it is for: each file has its own failures.
        let is_of_many = matches!(effect, BoardEffect::AddSlide(_));
        let times = if is_of_many { 1 } else { *times };
        let patience = (PATIENCE_MS << times.saturating_sub(1).min(12)).min(PATIENCE_MOST_MS);
        if now_ms - at < patience {
            return broken(
                "calm",
                format!("{key} asked again {} ms after it failed {times} times", now_ms - at),
            );
        }
        Ok(())
    }

    /// The engine asks for an act on canvas files: is it within its fences, and was nothing taken for gone that is there?
    pub(crate) fn acts(
        &mut self,
        effect: &Effect,
        folder: &Folder,
        service: &Service,
        ledger: &Ledger,
    ) -> Result<(), Failure> {
        match effect {
            Effect::TrashFile { path, .. } if path.name().contains(".conflict-") => {
                broken("fences", format!("{path} is the user's to remove"))
            }
            Effect::TrashFile { path, .. } if is_canvas_file(path) => {
                let Some(file) = folder.file(path) else { return Ok(()) };
                let own = |word: &&Word| !ledger.may_be_twice(**word) && !ledger.may_vanish(**word);
                let words: Vec<Word> = file.words.iter().filter(own).copied().collect();
                let is_in = |there: &[Word], words: &[Word]| {
                    !words.is_empty() && words.iter().all(|word| there.contains(word))
                };
                let holds = |canvas: &CanvasId, words: &[Word]| is_in(service.words_of_canvas(canvas), words);
                let active = service.canvases();
                // As with pages: what is saved as a canvas of its own says what the one that is gone said, but for
                // the links of a copy, of which the service makes no element.
                let links = links_of(&file.bytes);
                let sent: Vec<Word> =
                    file.words.iter().filter(|word| !links.contains(word)).copied().collect();
                // One that the other machine deleted for good and made again from its file.
                let held = |canvas: &CanvasId, words: &[Word]| {
                    service.deleted_slides.get(canvas).is_some_and(|there| is_in(there, words))
                        || holds(canvas, words)
                };
                let is_gone = self.was_gone.iter().any(|canvas| held(canvas, &words) || held(canvas, &sent));
                match active.iter().find(|canvas| holds(canvas, &words)).filter(|_| !is_gone) {
                    Some(canvas) => {
                        broken("absence", format!("{path} is trashed, and {canvas:?} was never gone"))
                    }
                    None => Ok(()),
                }
            }
            // What a person has saved since is not written over: the write is refused.
            Effect::WriteFile { path, expect, .. }
                if folder.file(path).is_some_and(|file| match expect {
                    Expect::Content(hash) => ContentHash::of(&file.bytes) != *hash,
                    Expect::Absent | Expect::AbsentHere => true,
                }) =>
            {
                Ok(())
            }
            Effect::WriteFile { path, bytes, .. } if is_canvas_file(path) => {
                let after = nodes_of(bytes).unwrap_or_default();
                let before = folder.file(path).and_then(|file| nodes_of(&file.bytes)).unwrap_or_default();
                // Copies get ids of their own.
                let is_copy = |said: &Said| {
                    let words = |of: &Said| words_in(of["content"].as_str().unwrap_or_default().as_bytes());
                    let held = words(said);
                    // The app may have added to the text of the new element before the file shows its id.
                    let is_renamed = |(id, now): (&String, &Said)| {
                        let is_grown = !held.is_empty() && held.iter().all(|word| words(now).contains(word));
                        !before.contains_key(id) && (is_grown || now["content"] == said["content"])
                    };
                    after.iter().any(is_renamed) || held.iter().any(|word| ledger.may_be_twice(*word))
                };
                let gone = before.iter().filter(|(id, said)| !after.contains_key(*id) && !is_copy(said));
                let gone: Vec<&String> = gone.map(|(id, _)| id).collect();
                let lays_out = folder.file(path).filter(|_| is_deck_file(path));
                if let Some(what) =
                    lays_out.and_then(|file| changes_layout(&file.bytes, bytes, &service.homes))
                {
                    return broken("invented", format!("{path}: {what}"));
                }
                if gone.is_empty() {
                    return Ok(());
                }
                for canvas in service.canvases() {
                    let elements = service.world.elements_of(&canvas);
                    let there = elements.iter().filter_map(|element| element["id"].as_str());
                    if let Some(id) =
                        there.into_iter().find(|id| gone.iter().any(|gone| gone.as_str() == *id))
                    {
                        return broken(
                            "absence",
                            format!("{path} loses the node {id}, which was never gone"),
                        );
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Whether an act is within what canvases are: files and pictures in their folders, and what shows a dashboard's magnets.
pub(crate) fn may_touch(effect: &Effect, path: &MirrorPath) -> bool {
    let parts: Vec<&str> = path.components().collect();
    let is_ours = |name: &str| name.ends_with(".canvas") || name.ends_with(".svg");
    let is_hidden = parts.iter().any(|part| part.starts_with('.'));
    match (effect, parts.as_slice()) {
        _ if is_hidden => false,
        // What was moved to where none belongs is put back from anywhere, or trashed there once the app has trashed it.
        (Effect::Rename { from, .. }, _) if from == path && is_ours(path.name()) => true,
        // A conflict copy stays beside it.
        (Effect::Rename { from, to }, _) if from.parent() == to.parent() && is_conflict_copy(path) => true,
        (Effect::TrashFile { .. }, _) if path.name().ends_with(".canvas") => true,
        (_, ["Presentations", name]) => name.ends_with(".canvas") || name.ends_with(".html"),
        (_, [_, "Whiteboards", name]) => is_ours(name),
        (Effect::WriteFile { .. } | Effect::TrashFile { .. }, [_, "Pages", .., name]) => is_ours(name),
        _ => false,
    }
}

fn words_of_node(said: &Said) -> Vec<Word> {
    words_in(said.get("content").and_then(Value::as_str).unwrap_or_default().as_bytes())
}

/// What a file said of a node by its element's own id, where an earlier text that still has the node's is saved over it.
fn renamed<'a>(known: Option<&'a Nodes>, sheet: &Sheet, said: &Said) -> Option<&'a Said> {
    let words = words_of_node(said);
    let mut gone = known?.iter().filter(|(id, _)| !sheet.nodes.contains_key(*id));
    gone.find(|(_, was)| !words.is_empty() && words_of_node(was) == words).map(|(_, was)| was)
}

/// What a node is known by: its id, and the words in it.
fn keys_of(id: &str, said: &Said) -> Vec<String> {
    let text = said.get("content").and_then(Value::as_str).unwrap_or_default();
    let words = words_in(text.as_bytes()).into_iter().map(|word| word.to_string());
    std::iter::once(id.to_owned()).chain(words).collect()
}

/// What tells one request from another.
fn key_of(effect: &BoardEffect) -> String {
    match effect {
        BoardEffect::UpdateElement { element, .. } => format!("PATCH {element}"),
        BoardEffect::DeleteElement { element, .. } => format!("DELETE {element}"),
        BoardEffect::CreateElement { canvas, fields } => {
            format!(
                "POST {} on {}",
                fields.get("content").unwrap_or(&Value::Null),
                super::app::canvas_name(canvas)
            )
        }
        other => format!("{other:?}"),
    }
}
