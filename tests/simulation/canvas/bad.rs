//! Bad luck of requests about canvases, and the words that the service has in them.

use std::collections::BTreeMap;

use espejo::emulator::Fault as Mishap;
use espejo::model::{BoardEffect, BoardId, CanvasId, DeckId, Surface, Timestamp, is_creatable};

use super::app::words_of;
use super::verbs::CanvasFault;
use crate::luck::Luck;
use crate::run::Run;
use crate::service::Service;
use crate::words::Word;

/// Two false answers in a row are one too many for anybody: they come at least this far apart.
const APART_MS: i64 = 600_000;

/// What goes wrong with requests about canvases.
#[derive(Debug, Default)]
pub(crate) struct Misfortune {
    /// Kinds of answers that come empty once, and when they last did.
    empty: BTreeMap<&'static str, bool>,
    emptied_ms: BTreeMap<&'static str, i64>,
    /// Elements that cannot be changed, until when.
    failing: BTreeMap<String, i64>,
    refused: u32,
    not_found: u32,
    lost: u32,
    hidden_boards: BTreeMap<BoardId, i64>,
    hidden_decks: BTreeMap<DeckId, i64>,
}

fn kind_of(effect: &BoardEffect) -> &'static str {
    match effect {
        BoardEffect::ListBoards(_) => "boards",
        BoardEffect::ListDecks => "decks",
        BoardEffect::ListSlides(_) => "slides",
        BoardEffect::ListElements(_) => "elements",
        BoardEffect::CreateBoard { .. }
        | BoardEffect::CreateDeck { .. }
        | BoardEffect::AddSlide(_)
        | BoardEffect::CreateElement { .. } => "post",
        _ => "write",
    }
}

impl Misfortune {
    /// The machine slept for so long: no answer came in this time.
    pub(crate) fn slept(&mut self, asleep_ms: i64) {
        self.emptied_ms.values_mut().for_each(|at| *at += asleep_ms);
    }

    /// What goes wrong with this request.
    pub(crate) fn mishap(&mut self, effect: &BoardEffect, now: Timestamp) -> Option<Mishap> {
        let kind = kind_of(effect);
        if let BoardEffect::UpdateElement { element, .. } = effect
            && self.failing.get(element.as_str()).is_some_and(|until| *until > now.0)
        {
            return Some(Mishap::Status { status: 500, retry_after: None });
        }
        if self.empty.remove(kind).is_some() {
            let before = self.emptied_ms.get(kind).copied().unwrap_or(i64::MIN / 2);
            if now.0 - before > APART_MS {
                self.emptied_ms.insert(kind, now.0);
                return Some(Mishap::EmptyList);
            }
        }
        if kind == "post" && take(&mut self.lost) {
            return Some(Mishap::LostAfter);
        }
        let status = |status| Some(Mishap::Status { status, retry_after: None });
        if take(&mut self.refused) {
            return status(403);
        }
        if take(&mut self.not_found) {
            return status(404);
        }
        None
    }
}

fn take(left: &mut u32) -> bool {
    let any = *left > 0;
    *left = left.saturating_sub(1);
    any
}

impl Service {
    /// Reads the words of a canvas again, after something changed it.
    pub(crate) fn learn_canvas(&mut self, canvas: &CanvasId) {
        let words: Vec<Word> = self.world.elements_of(canvas).iter().flat_map(words_of).collect();
        self.canvas_words.insert(canvas.clone(), words);
        self.homes.learn(canvas, self.world.elements_of(canvas));
        for element in self.world.elements_of(canvas) {
            let is_odd = !is_creatable(Surface::Board, element["type"].as_str().unwrap_or_default());
            if is_odd && !self.odd_elements.contains(element) {
                self.odd_elements.push(element.clone());
            }
        }
    }

    /// The words of a canvas.
    pub(crate) fn words_of_canvas(&self, canvas: &CanvasId) -> &[Word] {
        self.canvas_words.get(canvas).map_or(&[], Vec::as_slice)
    }

    /// A request about canvases was carried out.
    pub(crate) fn relearn_canvas(&mut self, effect: &BoardEffect) {
        match effect {
            BoardEffect::CreateElement { canvas, .. }
            | BoardEffect::UpdateElement { canvas, .. }
            | BoardEffect::DeleteElement { canvas, .. } => self.learn_canvas(canvas),
            BoardEffect::CreateDeck { .. } | BoardEffect::AddSlide(_) => {
                self.canvases().iter().for_each(|canvas| self.learn_canvas(canvas));
            }
            BoardEffect::DeleteSlide { deck, slide } => {
                let slide = CanvasId::Slide(deck.clone(), slide.clone());
                let words = self.words_of_canvas(&slide).to_vec();
                self.learn_canvas(&slide);
                self.deleted_slides.insert(slide, words);
            }
            _ => {}
        }
    }

    /// What was hidden for a while is shown again; returned.
    pub(crate) fn show_canvases(&mut self, now_ms: i64) -> Vec<CanvasId> {
        let mut shown = Vec::new();
        let boards: Vec<BoardId> =
            self.canvas.hidden_boards.extract_if(.., |_, until| *until <= now_ms).map(|(id, _)| id).collect();
        for board in boards {
            self.world.app_hide_board(&board, false);
            shown.push(CanvasId::Board(board));
        }
        let decks: Vec<DeckId> =
            self.canvas.hidden_decks.extract_if(.., |_, until| *until <= now_ms).map(|(id, _)| id).collect();
        for deck in decks {
            self.world.app_hide_deck(&deck, false);
            shown.extend(self.canvases_of(&deck));
        }
        shown
    }

    /// No more bad luck with canvases.
    pub(crate) fn heal_canvases(&mut self) -> Vec<CanvasId> {
        let shown = self.show_canvases(i64::MAX);
        self.canvas = Misfortune::default();
        shown
    }
}

impl Run {
    /// Something goes wrong with canvases.
    pub(crate) fn strike_canvases(&mut self, fault: CanvasFault, (a, b): (u32, u32)) {
        let mut luck = Luck::new(u64::from(b), 25);
        let few = 1 + b % 3;
        let until = self.now_ms + [5_000, 20_000, 90_000, 400_000][(b % 4) as usize];
        let bad = &mut self.service.canvas;
        let mut empty = |kind| _ = bad.empty.insert(kind, true);
        match fault {
            CanvasFault::EmptyElements => empty("elements"),
            CanvasFault::EmptySlides => empty("slides"),
            CanvasFault::EmptyBoards => empty("boards"),
            CanvasFault::EmptyDecks => empty("decks"),
            CanvasFault::Refused => bad.refused += few,
            CanvasFault::NotFound => bad.not_found += few,
            CanvasFault::LostPost => bad.lost += few,
            CanvasFault::FailingElement => {
                let canvases = self.service.canvases();
                let all: Vec<String> = canvases
                    .iter()
                    .flat_map(|canvas| self.service.world.elements_of(canvas))
                    .map(|element| element["id"].as_str().unwrap_or_default().to_owned())
                    .collect();
                if !all.is_empty() {
                    let id = luck.pick(&all).clone();
                    self.service.canvas.failing.insert(id, until);
                }
            }
            CanvasFault::HideBoard => {
                let boards = self.service.boards();
                if let Some(board) = boards.get(a as usize % boards.len().max(1)) {
                    let canvas = CanvasId::Board(board.clone());
                    self.back(std::slice::from_ref(&canvas));
                    self.checks.canvas.gone(&[canvas]);
                    self.service.world.app_hide_board(board, true);
                    self.service.canvas.hidden_boards.insert(board.clone(), until);
                }
            }
            CanvasFault::HideDeck => {
                let decks = self.service.decks();
                if let Some(deck) = decks.get(a as usize % decks.len().max(1)) {
                    let slides = self.service.canvases_of(deck);
                    self.back(&slides);
                    self.checks.canvas.gone(&slides);
                    self.service.world.app_hide_deck(deck, true);
                    self.service.canvas.hidden_decks.insert(deck.clone(), until);
                }
            }
        }
    }
}
