//! A request about canvases reaches the service: is it one that may be?

use std::collections::BTreeSet;

use espejo::model::{
    BoardEffect, BoardReply, CanvasId, Effect, Fields, PageSettings, ServiceError, ServiceReply, id_of,
    is_creatable,
};
use serde_json::{Value, json};

use super::app::words_of;
use super::checks::Look;
use super::nodes::shown;
use super::people::is_canvas_file;
use crate::checks::{Failure, broken};
use crate::disk::Job;
use crate::run::Run;
use crate::words::Word;

/// A write follows a look within this time.
pub(super) const LOOK_TO_WRITE_MS: i64 = 5_000;
/// The looks at all slides of a presentation take their time.
const LOOKS_TO_DELETE_MS: i64 = 120_000;
/// As many looks are remembered of a canvas.
const LOOKS: usize = 6;
/// Deletions within this time are one deletion.
const TOGETHER_MS: i64 = 60_000;

impl Run {
    /// What there is of the canvas that a request changes, before it does.
    pub(crate) fn before_canvas(
        &mut self,
        effect: &BoardEffect,
        asked_ms: i64,
    ) -> Result<Vec<Value>, Failure> {
        let now_ms = self.now_ms;
        let shown = self.service.show_canvases(now_ms);
        if !shown.is_empty() {
            self.back(&shown);
        }
        match effect {
            BoardEffect::TrashBoard(board) => {
                let canvas = CanvasId::Board(board.clone());
                let is_there = self.service.boards().contains(board);
                if is_there {
                    self.deletes_canvases(&[canvas], false, LOOK_TO_WRITE_MS, asked_ms)?;
                }
                Ok(Vec::new())
            }
            BoardEffect::TrashDeck(deck) => {
                if self.service.decks().contains(deck) {
                    let slides = self.service.canvases_of(deck);
                    self.deletes_canvases(&slides, true, LOOKS_TO_DELETE_MS, asked_ms)?;
                }
                Ok(Vec::new())
            }
            BoardEffect::DeleteSlide { deck, slide } => {
                let canvas = CanvasId::Slide(deck.clone(), slide.clone());
                if self.service.canvases().contains(&canvas) {
                    if self.scene.permanent == 0 {
                        return broken(
                            "guard",
                            "a slide is removed for good, which the config does not allow",
                        );
                    }
                    let only = std::slice::from_ref(&canvas);
                    self.deletes_canvases(only, false, LOOK_TO_WRITE_MS, asked_ms)?;
                }
                Ok(self.service.world.elements_of(&canvas).to_vec())
            }
            BoardEffect::UpdateElement { canvas, .. } | BoardEffect::DeleteElement { canvas, .. } => {
                Ok(self.service.world.elements_of(canvas).to_vec())
            }
            _ => Ok(Vec::new()),
        }
    }

    fn deletes_canvases(
        &mut self,
        canvases: &[CanvasId],
        is_deck: bool,
        oldest_ms: i64,
        asked_ms: i64,
    ) -> Result<(), Failure> {
        let filed = self.words_of_canvas_files();
        let mut rules = Vec::new();
        for canvas in canvases {
            let checks = &mut self.checks.canvas;
            let name = super::app::canvas_name(canvas);
            let Some(look) = checks.last_look(canvas, asked_ms) else {
                // A slide that was made and never filled is known to be empty.
                if self.service.words_of_canvas(canvas).is_empty() {
                    continue;
                }
                if is_deck && checks.slips_by_list(canvas, asked_ms) {
                    let words = self.service.words_of_canvas(canvas).to_vec();
                    self.slipped(canvas, words.into_iter(), &[], asked_ms);
                    continue;
                }
                return broken("guard", format!("a DELETE of the {name} without a look at it"));
            };
            let age = asked_ms - look.at_ms;
            if age > oldest_ms {
                return broken("guard", format!("a DELETE of the {name}, {age} ms after the look at it"));
            }
            let unread = look
                .elements
                .iter()
                .flat_map(words_of)
                .find(|word| !checks.filed.contains(word) && !self.ledger.may_vanish(*word));
            if let Some(word) = unread {
                return broken(
                    "edit beats deletion",
                    format!("the {name} is deleted with {word}, which no file has had"),
                );
            }
            // One that went while it was ignored comes back beside the file that it was.
            if self.clock_jumped || self.scene.ignores == 1 {
                continue;
            }
            // What was dragged into another slide is in the file there, and leaves this one.
            let has_left =
                |word: &Word| checks.dragged.contains(word) && !checks.is_filed_in(*word, canvas.own_id());
            let words = self.service.words_of_canvas(canvas).iter().copied();
            let words = words.filter(|word| !has_left(word)).collect();
            // A slide goes as a node does, once its file is at rest.
            let is_file = is_deck || canvas.deck().is_none();
            let grace_ms = if is_file { i64::from(self.scene.grace_ms) } else { 0 };
            rules.extend(checks.hands.deleted(&name, &words, &filed, (asked_ms, grace_ms), &self.ledger)?);
        }
        let (now_ms, checks) = (self.now_ms, &mut self.checks.canvas);
        rules.into_iter().for_each(|rule| checks.allow(rule));
        // A slide goes with its nodes, and those are counted.
        if canvases.iter().any(|canvas| !is_deck && canvas.deck().is_some()) {
            return Ok(());
        }
        // One that is asked for again after a failure is one.
        let first = canvases.first().cloned();
        checks.deleted_ms.retain(|(at, deck, canvas)| {
            now_ms - at < TOGETHER_MS && (*deck != is_deck || canvas.is_none() || *canvas != first)
        });
        checks.deleted_ms.push((now_ms, is_deck, first));
        let sum = checks.deleted_ms.iter().filter(|(_, deck, _)| *deck == is_deck).count();
        let most = PageSettings::default().max_deletes;
        // A large part of all is an accident too. What the app took away may not have been noticed yet, and counts. A
        // presentation counts as one, among presentations.
        let gone = &self.checks.canvas.was_gone;
        let all = if is_deck {
            let gone: BTreeSet<_> = gone.iter().filter_map(CanvasId::deck).collect();
            self.service.decks().len() + gone.len() + sum
        } else {
            self.service.canvases().len() + gone.len() + sum
        };
        let is_many = sum > most || sum > 3 && sum * 5 > all;
        if is_many && !self.checks.fates.is_approved() && !self.clock_jumped {
            return broken(
                "guard",
                format!("{sum} canvases or presentations deleted within a minute, and nobody approved it"),
            );
        }
        Ok(())
    }

    /// A request about canvases was carried out.
    pub(crate) fn after_canvas(
        &mut self,
        effect: &BoardEffect,
        before: &[Value],
        asked_ms: i64,
    ) -> Result<(), Failure> {
        match effect {
            BoardEffect::UpdateElement { canvas, element, fields } => {
                self.patched(canvas, element.as_str(), fields, before, asked_ms)
            }
            BoardEffect::DeleteElement { canvas, element } => {
                self.deleted(canvas, element.as_str(), before, asked_ms)
            }
            BoardEffect::CreateElement { canvas, .. } => self.posted(canvas, asked_ms),
            BoardEffect::CreateDeck { .. } | BoardEffect::AddSlide(_) => self.checks.canvas.slide_made(),
            BoardEffect::DeleteSlide { deck, slide } => {
                let canvas = CanvasId::Slide(deck.clone(), slide.clone());
                self.slipped(&canvas, before.iter().flat_map(words_of), &[], asked_ms);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A PATCH of an element: does it rest on a look, does it change what a person changed and nothing else?
    fn patched(
        &mut self,
        canvas: &CanvasId,
        id: &str,
        fields: &Fields,
        before: &[Value],
        asked_ms: i64,
    ) -> Result<(), Failure> {
        let checks = &self.checks.canvas;
        let name = format!("{} of {}", id.get(..4).unwrap_or(""), super::app::canvas_name(canvas));
        let Some(look) = checks.last_look(canvas, asked_ms) else {
            return broken("guard", format!("a PATCH of {name} without a look at it"));
        };
        let age = asked_ms - look.at_ms;
        if age > LOOK_TO_WRITE_MS {
            return broken("guard", format!("a PATCH of {name}, {age} ms after the look that it rests on"));
        }
        let is_it = |element: &&Value| id_of(element) == id;
        let Some(was) = before.iter().find(is_it) else { return Ok(()) };
        let after = self.service.world.elements_of(canvas).iter().find(is_it).cloned().unwrap_or(json!({}));
        let looked = look.elements.iter().find(is_it);
        if after == *was && looked == Some(was) {
            return broken("calm", format!("a PATCH of {name} that changes nothing"));
        }
        let say = |element: &Value| shown(std::slice::from_ref(element)).remove(id).unwrap_or_default();
        let (old, new) = (say(was), say(&after));
        let seen = looked.map(say).unwrap_or_default();
        for (leaf, value) in &new {
            let is_sent = fields.contains_key(*leaf)
                || *leaf == "color" && fields.get("style").is_some_and(|style| style.get("color").is_some());
            if !is_sent {
                continue;
            }
            if !checks.is_touched(id, &[&old, &new], leaf) {
                return broken("invented", format!("a PATCH of {leaf} of {name}, which nobody has touched"));
            }
            if let Some(shown) = seen.get(leaf)
                && shown != value
                && !checks.was_said(id, &seen, leaf, shown)
            {
                return broken(
                    "overwritten",
                    format!("{leaf} of {name} was {shown} in the app, and is {value} now"),
                );
            }
        }
        self.slipped(canvas, words_of(was).into_iter(), &words_of(&after), asked_ms);
        Ok(())
    }

    fn deleted(
        &mut self,
        canvas: &CanvasId,
        id: &str,
        before: &[Value],
        asked_ms: i64,
    ) -> Result<(), Failure> {
        let name = format!("{} of {}", id.get(..4).unwrap_or(""), super::app::canvas_name(canvas));
        let checks = &self.checks.canvas;
        let Some(was) = before.iter().find(|element| id_of(element) == id) else { return Ok(()) };
        let Some(look) = checks.last_look(canvas, asked_ms) else {
            return broken("guard", format!("a DELETE of {name} without a look at it"));
        };
        let age = asked_ms - look.at_ms;
        if age > LOOK_TO_WRITE_MS {
            return broken("guard", format!("a DELETE of {name}, {age} ms after the look that it rests on"));
        }
        let kind = was["type"].as_str().unwrap_or_default();
        if self.scene.permanent == 0 && !is_creatable(canvas.surface(), kind) {
            return broken("guard", format!("a DELETE of {name}, a {kind}, which nobody can make again"));
        }
        let words = words_of(was);
        let is_asked_for = checks.is_removed(id)
            || words
                .iter()
                .any(|word| self.ledger.may_vanish(*word) || checks.removed.contains(&word.to_string()));
        if !is_asked_for && !self.checks.fates.is_approved() && !words.is_empty() {
            return broken("invented", format!("a DELETE of {name}, whose node nobody has removed"));
        }
        let looked = look.elements.iter().find(|element| id_of(element) == id);
        let unread = looked
            .into_iter()
            .flat_map(words_of)
            .find(|word| !checks.filed.contains(word) && !self.ledger.may_vanish(*word));
        if let Some(word) = unread {
            return broken(
                "edit beats deletion",
                format!("{name} is deleted with {word}, which no file has had"),
            );
        }
        if self.other.is_some() {
            // An edit beats a deletion on each machine by itself.
            words.iter().for_each(|word| self.ledger.copy(*word));
        }
        // Who drags it on meanwhile, or back, has it go on from where it was made.
        let (service, checks) = (&self.service, &self.checks.canvas);
        let goes_on = |word: &Word| {
            service.canvases().into_iter().any(|other| {
                let holds = service.world.elements_of(&other).iter().any(|it| words_of(it).contains(word));
                !holds && other.deck() == canvas.deck() && checks.is_filed_in(*word, other.own_id())
            })
        };
        let over: BTreeSet<Word> = words.iter().filter(|word| !goes_on(word)).copied().collect();
        self.checks.canvas.dragged.retain(|word| !over.contains(word));
        self.slipped(canvas, words.into_iter(), &[], asked_ms);
        Ok(())
    }

    /// Words that the service lost because somebody wrote between a look and the write that rested on it: nobody can
    /// prevent this, for the service has no precondition on writes.
    fn slipped(
        &mut self,
        canvas: &CanvasId,
        before: impl Iterator<Item = Word>,
        after: &[Word],
        asked_ms: i64,
    ) {
        let look = self.checks.canvas.last_look(canvas, asked_ms);
        let seen: Vec<Word> =
            look.into_iter().flat_map(|look| look.elements.iter().flat_map(words_of)).collect();
        for word in before {
            if !after.contains(&word) && !seen.contains(&word) && !self.ledger.may_vanish(word) {
                self.ledger.forget(word);
                self.checks.slipped_between += 1;
            }
        }
    }

    /// An element was made: the only one of its text?
    fn posted(&mut self, canvas: &CanvasId, asked_ms: i64) -> Result<(), Failure> {
        let Some(made) = self.service.world.elements_of(canvas).last().cloned() else { return Ok(()) };
        let words = words_of(&made);
        self.checks.canvas.element_made(id_of(&made), &words);
        // What disappears while it is ignored is let go and mirrored anew.
        if self.scene.ignores == 1 {
            return Ok(());
        }
        for other in self.service.canvases() {
            for element in self.service.world.elements_of(&other) {
                let is_other = id_of(element) != id_of(&made);
                let twice = words_of(element)
                    .into_iter()
                    .find(|word| is_other && words.contains(word) && !self.ledger.may_be_twice(*word))
                    .filter(|word| !self.is_on_its_way(*word, canvas, &other));
                if let Some(word) = twice {
                    return broken("once", format!("an element with {word} is made, and there was one"));
                }
            }
        }
        let look = self.checks.canvas.last_look(canvas, asked_ms);
        let age = look.map(|look| asked_ms - look.at_ms);
        // What espejo has just made is known to be empty.
        if age.is_some_and(|age| age > LOOK_TO_WRITE_MS) {
            return broken(
                "guard",
                format!("a POST of an element {age:?} ms after the look that it rests on"),
            );
        }
        Ok(())
    }

    /// Whether an element of one slide goes to another one of its presentation.
    fn is_on_its_way(&self, word: Word, to: &CanvasId, from: &CanvasId) -> bool {
        from != to
            && from.deck().is_some()
            && from.deck() == to.deck()
            && self.checks.canvas.dragged.contains(&word)
    }

    /// An answer reaches the engine.
    pub(crate) fn canvas_answered(&mut self, effect: &Effect, result: &Result<ServiceReply, ServiceError>) {
        let Effect::Board(effect) = effect else { return };
        self.checks.canvas.answered(effect, result.as_ref().err(), self.now_ms);
        if let (BoardEffect::ListSlides(deck), Ok(ServiceReply::Board(BoardReply::Slides(slides)))) =
            (effect, result)
        {
            let slides = slides.iter().map(|slide| slide.id.clone()).collect();
            if self.checks.canvas.slides_listed(deck, slides, self.now_ms) {
                self.checks.fates.forget_failure(&format!("{:?}", BoardEffect::AddSlide(deck.clone())));
            }
        }
        if let (BoardEffect::ListElements(canvas), Ok(ServiceReply::Board(BoardReply::Elements(elements)))) =
            (effect, result)
        {
            let looks = self.checks.canvas.looks.entry(canvas.clone()).or_default();
            if looks.len() == LOOKS {
                looks.remove(0);
            }
            looks.push(Look { elements: elements.clone(), at_ms: self.now_ms });
        }
    }

    /// The engine asks for an effect.
    pub(crate) fn canvas_asked(&mut self, effect: &Effect) -> Result<(), Failure> {
        match effect {
            Effect::Board(effect) => self.checks.canvas.asked(effect, self.now_ms),
            effect => self.checks.canvas.acts(effect, &self.folder, &self.service, &self.ledger),
        }
    }

    /// An act on the disk was done; without one, half of it may have been.
    pub(crate) fn disk_acted(&mut self, job: Option<&Job>) {
        self.mark_changed();
        self.stored.changed = true;
        let Some(Job::Act(effect)) = job else { return };
        let checks = &mut self.checks.canvas;
        match effect {
            Effect::WriteFile { path, bytes, .. } if is_canvas_file(path) => {
                checks.note_said(path, bytes, &self.service);
            }
            Effect::Rename { from, to } => {
                self.returning.renamed(from, to);
                for path in self.folder.within(to) {
                    if let Some(old) = path.rebase(to, from) {
                        checks.moved(&old, &path);
                    }
                }
            }
            _ => {}
        }
    }
}
