//! People in the app, at whiteboards and presentations: what they do is done at once.

use espejo::model::{BoardId, CanvasId, DeckId, PageId, SlideId};
use serde_json::{Value, json};

use super::verbs::AppCanvas;
use crate::checks::Failure;
use crate::luck::Luck;
use crate::news::News;
use crate::run::Run;
use crate::service::Service;
use crate::words::{Ledger, Word, words_in};

/// Something in a list, counted round.
fn nth<T: Clone>(items: &[T], number: u32) -> Option<T> {
    items.get(number as usize % items.len().max(1)).cloned()
}

impl Service {
    /// Whiteboards that are there, oldest first.
    pub(crate) fn boards(&self) -> Vec<BoardId> {
        let mut all: Vec<_> =
            self.world.whiteboards().filter(|board| !board.trashed && !board.hidden).collect();
        all.sort_by_key(|board| board.serial);
        all.into_iter().map(|board| board.id.clone()).collect()
    }

    /// Presentations that are there, oldest first.
    pub(crate) fn decks(&self) -> Vec<DeckId> {
        let mut all: Vec<_> =
            self.world.presentations().filter(|deck| !deck.trashed && !deck.hidden).collect();
        all.sort_by_key(|deck| deck.serial);
        all.into_iter().map(|deck| deck.id.clone()).collect()
    }

    fn slides(&self) -> Vec<(DeckId, SlideId)> {
        let of = |deck: DeckId| {
            let slides = self.world.slides_of(&deck);
            slides.into_iter().map(move |slide| (deck.clone(), slide))
        };
        self.decks().into_iter().flat_map(of).collect()
    }

    /// Every canvas that is there.
    pub(crate) fn canvases(&self) -> Vec<CanvasId> {
        let boards = self.boards().into_iter().map(CanvasId::Board);
        boards.chain(self.slides().into_iter().map(|(deck, slide)| CanvasId::Slide(deck, slide))).collect()
    }

    /// What a deck and its slides are called where words are remembered.
    pub(crate) fn canvases_of(&self, deck: &DeckId) -> Vec<CanvasId> {
        let slides = self.world.slides_of(deck);
        slides.into_iter().map(|slide| CanvasId::Slide(deck.clone(), slide)).collect()
    }

    fn trashed_boards(&self) -> Vec<BoardId> {
        self.world.whiteboards().filter(|board| board.trashed).map(|board| board.id.clone()).collect()
    }

    fn trashed_decks(&self) -> Vec<DeckId> {
        self.world.presentations().filter(|deck| deck.trashed).map(|deck| deck.id.clone()).collect()
    }
}

/// The followed words of an element.
pub(crate) fn words_of(element: &Value) -> Vec<Word> {
    words_in(element["content"].as_str().unwrap_or_default().as_bytes())
}

fn new_element(luck: &mut Luck, ledger: &mut Ledger, is_slide: bool) -> Value {
    let kinds: &[&str] = if is_slide {
        &["text", "rectangle", "ellipse"]
    } else {
        &["sticky", "text", "rectangle", "ellipse"]
    };
    let style = match luck.below(4) {
        0 => json!({ "color": "#bbf7d0" }),
        1 => json!({ "fontSize": 24, "fill": "rgb(10, 20, 30)" }),
        _ => json!({}),
    };
    let fraction = if luck.chance(20) { 0.4 } else { 0.0 };
    // On a slide a few stick out.
    let [left, top] = if is_slide && luck.chance(80) { [-50, -30] } else { [-400, -400] };
    json!({
        "type": luck.pick(kinds),
        "content": format!("Nota {}", ledger.text()),
        "x": luck.between(left, 400) as f64 + fraction,
        "y": luck.between(top, 400),
        "width": luck.between(80, 400),
        "height": luck.between(40, 300),
        "style": style,
    })
}

fn odd_element(luck: &mut Luck, ledger: &mut Ledger) -> Value {
    let word = ledger.text();
    let content = match luck.below(3) {
        0 => ("embed", format!("https://example.com/{word}")),
        1 => ("media", format!("https://example.com/{word}.png")),
        _ => ("connector", format!("a {word} b")),
    };
    json!({ "type": content.0, "content": content.1, "x": luck.between(-400, 400), "y": 10, "width": 120, "height": 90 })
}

impl Run {
    /// Puts whiteboards and presentations into a new world.
    pub(crate) fn first_canvases(service: &mut Service, ledger: &mut Ledger, scene: &crate::script::Scene) {
        let mut luck = Luck::new(scene.seed, 22);
        let workspace = service.workspace.clone();
        let mut canvases = Vec::new();
        for _ in 0..scene.boards {
            let name = format!("{} {}", luck.pick(&["Kick-off", "Retro", "Mapa"]), ledger.title());
            canvases.push(CanvasId::Board(service.world.app_create_board(&workspace, &name)));
        }
        for _ in 0..scene.decks {
            let name = format!("{} {}", luck.pick(&["Pitch", "Informe"]), ledger.title());
            let deck = service.world.app_create_deck(&name, 960.0, 540.0);
            for _ in 0..luck.below(3) {
                service.world.app_insert_slide(&deck, 99);
            }
            canvases.extend(service.canvases_of(&deck));
        }
        for canvas in canvases {
            for _ in 0..luck.below(6) {
                let element = if luck.chance(20) {
                    odd_element(&mut luck, ledger)
                } else {
                    new_element(&mut luck, ledger, canvas.deck().is_some())
                };
                ledger.typed(&words_of(&element));
                service.world.app_put_element(&canvas, element);
            }
            service.learn_canvas(&canvas);
        }
    }

    /// Somebody works in the app.
    pub(crate) fn in_app_canvas(&mut self, act: AppCanvas, (a, b): (u32, u32)) {
        let done = self.app_canvas(act, (a, b));
        let line = done.unwrap_or_else(|| "finds no place for it".to_owned());
        self.note(format_args!("# {line}"));
        self.mark_changed();
    }

    fn app_canvas(&mut self, act: AppCanvas, (a, b): (u32, u32)) -> Option<String> {
        let mut luck = Luck::new(u64::from(b), 24);
        let workspace = self.service.workspace.clone();
        let (boards_on, decks_on) = (self.scene.boards > 0, self.scene.decks > 0);
        let title = |ledger: &mut Ledger, before: &str| format!("{before} {}", ledger.title());
        Some(match act {
            AppCanvas::NewBoard => {
                let name = boards_on.then(|| title(&mut self.ledger, "Muro"))?;
                let board = self.service.world.app_create_board(&workspace, &name);
                self.app_puts(&CanvasId::Board(board), false, &mut luck);
                format!("makes the whiteboard {name:?}")
            }
            AppCanvas::RenameBoard => {
                let board = nth(&self.service.boards(), a)?;
                let name = match luck.below(6) {
                    0 => title(&mut self.ledger, "Q3/Q4:"),
                    1 => "Igual".to_owned(),
                    _ => title(&mut self.ledger, "Tablero"),
                };
                self.service.world.app_rename_board(&board, &name);
                format!("renames a whiteboard to {name:?}")
            }
            AppCanvas::TrashBoard => {
                let board = nth(&self.service.boards(), a)?;
                self.service.world.app_trash_board(&board, true);
                self.canvases_go(vec![CanvasId::Board(board.clone())]);
                format!("trashes the whiteboard {}", &board.as_str()[..4])
            }
            AppCanvas::RestoreBoard => {
                let board = nth(&self.service.trashed_boards(), a)?;
                self.service.world.app_trash_board(&board, false);
                self.back(&[CanvasId::Board(board.clone())]);
                format!("restores the whiteboard {}", &board.as_str()[..4])
            }
            AppCanvas::NewDeck => {
                let name = decks_on.then(|| title(&mut self.ledger, "Clase"))?;
                let deck = self.service.world.app_create_deck(&name, 1280.0, 720.0);
                for canvas in self.service.canvases_of(&deck) {
                    self.app_puts(&canvas, false, &mut luck);
                }
                format!("makes the presentation {name:?}")
            }
            AppCanvas::RenameDeck => {
                let deck = nth(&self.service.decks(), a)?;
                let name = title(&mut self.ledger, "Ponencia");
                self.service.world.app_rename_deck(&deck, &name);
                format!("renames a presentation to {name:?}")
            }
            AppCanvas::TrashDeck => {
                let deck = nth(&self.service.decks(), a)?;
                let slides = self.service.canvases_of(&deck);
                self.service.world.app_trash_deck(&deck, true);
                self.canvases_go(slides);
                format!("trashes the presentation {}", &deck.as_str()[..4])
            }
            AppCanvas::RestoreDeck => {
                let deck = nth(&self.service.trashed_decks(), a)?;
                let slides = self.service.canvases_of(&deck);
                self.service.world.app_trash_deck(&deck, false);
                self.back(&slides);
                format!("restores the presentation {}", &deck.as_str()[..4])
            }
            AppCanvas::AddSlide => {
                let deck = nth(&self.service.decks(), a)?;
                let at = usize::try_from(luck.below(4)).ok()?;
                let slide = self.service.world.app_insert_slide(&deck, at)?;
                self.app_puts(&CanvasId::Slide(deck, slide), luck.chance(60), &mut luck);
                format!("inserts a slide at {at}")
            }
            AppCanvas::MoveSlide => {
                let deck = nth(&self.service.decks(), a)?;
                let count = self.service.world.slides_of(&deck).len() as u64;
                let (from, to) = (luck.below(count) as usize, luck.below(count) as usize);
                self.service.world.app_move_slide(&deck, from, to);
                format!("moves the slide {from} to {to}")
            }
            AppCanvas::RemoveSlide => {
                let (deck, slide) = nth(&self.service.slides(), a)?;
                // A presentation without slides is none.
                if self.service.world.slides_of(&deck).len() < 2 {
                    return None;
                }
                let canvas = CanvasId::Slide(deck.clone(), slide.clone());
                let elements = self.service.world.elements_of(&canvas).to_vec();
                let words: Vec<Word> = elements.iter().flat_map(words_of).collect();
                words.iter().for_each(|word| self.ledger.forget(*word));
                self.service.world.app_remove_slide(&deck, &slide);
                self.service.learn_canvas(&canvas);
                self.canvases_go(vec![canvas]);
                format!("removes the slide {} [{}]", &slide.as_str()[..4], crate::run::listed(&words))
            }
            AppCanvas::Background => {
                let (deck, slide) = nth(&self.service.slides(), a)?;
                let colour = luck.pick(&["#ffffff", "#112233", "#fde68a"]);
                self.service.world.app_set_background(&deck, &slide, json!({ "color": colour }));
                format!("gives a slide the background {colour}")
            }
            AppCanvas::Dashboard => {
                let pages: Vec<PageId> = self.service.active().iter().map(|page| page.id.clone()).collect();
                let page = nth(&pages, a)?;
                let nevera = luck.chance(70).then(|| {
                    json!({ "magnets": [{ "id": "m1", "x": luck.between(0, 9), "y": 1, "w": 2, "h": 2, "text": "imán" }] })
                });
                self.service.world.app_set_nevera(&page, nevera);
                "makes a dashboard of a page, or none".to_owned()
            }
            AppCanvas::AddElement | AppCanvas::AddOdd => {
                let canvas = nth(&self.service.canvases(), a)?;
                let words = self.app_puts(&canvas, act == AppCanvas::AddOdd, &mut luck);
                format!("adds an element to {} [{}]", canvas_name(&canvas), crate::run::listed(&words))
            }
            _ => {
                let canvas = nth(&self.service.canvases(), a)?;
                let elements = self.service.world.elements_of(&canvas).to_vec();
                let element = nth(&elements, u32::try_from(luck.below(97)).ok()?)?;
                self.app_edits(act, &canvas, &element, &mut luck)?
            }
        })
    }

    fn app_edits(
        &mut self,
        act: AppCanvas,
        canvas: &CanvasId,
        element: &Value,
        luck: &mut Luck,
    ) -> Option<String> {
        let id = element["id"].as_str()?.to_owned();
        let before = words_of(element);
        let checks = &mut self.checks.canvas;
        checks.changed.insert(id.clone());
        // A node that goes into another slide goes there, and the element that the app changed meanwhile stays.
        let parts = before.iter().any(|word| checks.dragged.contains(word));
        before.iter().filter(|_| parts).for_each(|word| self.ledger.copy(*word));
        let mut put = |fields: Value| self.service.world.app_edit_element(canvas, &id, fields);
        let what = match act {
            AppCanvas::MoveElement => {
                let most = if canvas.deck().is_some() && luck.chance(80) {
                    [-50, 600, 400]
                } else {
                    [-900, 900, 900]
                };
                put(json!({ "x": luck.between(most[0], most[1]), "y": luck.between(most[0], most[2]) }));
                "moves".to_owned()
            }
            AppCanvas::ResizeElement => {
                put(json!({ "width": luck.between(40, 800) }));
                "resizes".to_owned()
            }
            AppCanvas::RestyleElement => {
                let style = match luck.below(3) {
                    0 => json!({ "fontSize": luck.between(8, 60) }),
                    1 => json!({ "stroke": "#0000ff", "bold": luck.chance(50) }),
                    _ => json!({ "color": luck.pick(&["#ddd6fe", "#010203", "tomato"]) }),
                };
                put(json!({ "style": style }));
                format!("restyles {style}")
            }
            AppCanvas::RetextElement => {
                let is_text =
                    matches!(element["type"].as_str(), Some("sticky" | "text" | "rectangle" | "ellipse"));
                let text = element["content"].as_str()?;
                let word = self.ledger.text();
                let content = match luck.below(3) {
                    _ if !is_text => format!("https://example.com/{word}"),
                    0 => format!("Nueva {word}"),
                    1 => format!("{text} más {word}"),
                    _ => format!("{word} {text}"),
                };
                self.ledger.typed(&[word]);
                put(json!({ "content": content }));
                let after = words_in(content.as_bytes());
                let gone = before.iter().filter(|word| !after.contains(word));
                gone.for_each(|word| self.ledger.forget(*word));
                format!("retexts to {content:?}")
            }
            AppCanvas::DeleteElement => {
                self.service.world.app_remove_element(canvas, &id);
                before.iter().for_each(|word| self.ledger.forget(*word));
                if self.other.is_some() {
                    // An edit beats a deletion on each machine by itself.
                    before.iter().for_each(|word| self.ledger.copy(*word));
                }
                "deletes".to_owned()
            }
            _ => return None,
        };
        self.service.learn_canvas(canvas);
        let words = crate::run::listed(&before);
        Some(format!("{what}: the element {} [{words}] of {}", &id[..4], canvas_name(canvas)))
    }

    fn app_puts(&mut self, canvas: &CanvasId, is_odd: bool, luck: &mut Luck) -> Vec<Word> {
        let element = if is_odd {
            odd_element(luck, &mut self.ledger)
        } else {
            new_element(luck, &mut self.ledger, canvas.deck().is_some())
        };
        let words = words_of(&element);
        self.ledger.typed(&words);
        self.service.world.app_put_element(canvas, element);
        self.service.learn_canvas(canvas);
        words
    }

    /// Whether both sides agree.
    pub(crate) fn agree(&self) -> Result<(), Failure> {
        crate::agreement::agree(&self.folder, &self.service)?;
        if self.scene.has_canvases() { super::agree(&self.folder, &self.service) } else { Ok(()) }
    }

    /// Canvases come back: meanwhile their files may have become canvases of their own.
    pub(crate) fn back(&mut self, canvases: &[CanvasId]) {
        for canvas in canvases {
            let name = match canvas {
                CanvasId::Board(board) => self.service.world.whiteboard(board).map(|board| &board.name),
                CanvasId::Slide(deck, _) => self.service.world.presentation(deck).map(|deck| &deck.name),
            };
            let name = name.map_or_else(Vec::new, |name| words_in(name.as_bytes()));
            for word in self.service.words_of_canvas(canvas).iter().copied().chain(name) {
                self.ledger.copy(word);
            }
        }
    }

    fn canvases_go(&mut self, canvases: Vec<CanvasId>) {
        self.checks.canvas.gone(&canvases);
        self.tell_other(News::CanvasesGone(canvases));
    }
}

/// A canvas in a few letters.
pub(crate) fn canvas_name(canvas: &CanvasId) -> String {
    let own = canvas.own_id().get(..4).unwrap_or("");
    if canvas.deck().is_some() { format!("slide {own}") } else { format!("board {own}") }
}
