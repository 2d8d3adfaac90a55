//! What a machine's checks have to hear of what others did at the service: somebody in the app, or the other machine.

use espejo::model::{BoardEffect, CanvasId, Effect, FileId, PageId, StorageEffect};

use crate::run::Run;

/// Something that was done at the service.
#[derive(Debug, Clone)]
pub(crate) enum News {
    /// A page got another content.
    Saved(PageId),
    /// A page was made, moved or brought back.
    Placed(PageId),
    /// Pages went to the trash.
    Gone,
    /// A page is not shown for a while, and all that are beneath it.
    Hidden(Vec<PageId>),
    /// A page came back from the trash.
    Back(PageId),
    /// Canvases went.
    CanvasesGone(Vec<CanvasId>),
    /// A stored file was renamed, moved or got another content.
    StoredChanged(FileId),
    /// A stored file went to the trash or came back from it.
    StoredTrashed(FileId),
    /// A folder of stored files was renamed or moved.
    FoldersChanged,
}

impl Run {
    /// Something was done at the service, and this machine's own checks know it.
    pub(crate) fn tell_other(&mut self, news: News) {
        if self.other.is_some() {
            self.service.news.push((self.number, news));
        }
    }

    /// A request of this machine was carried out.
    pub(crate) fn tell_of_request(&mut self, effect: &Effect) {
        if self.other.is_none() {
            return;
        }
        let news = match effect {
            Effect::UpdatePage { id, content: Some(_), .. } => News::Saved(id.clone()),
            Effect::CreatePage { .. } => match self.service.newest() {
                Some(id) => News::Placed(id),
                None => return,
            },
            Effect::TrashPage(_) => News::Gone,
            Effect::Board(BoardEffect::TrashBoard(board)) => {
                News::CanvasesGone(vec![CanvasId::Board(board.clone())])
            }
            Effect::Board(BoardEffect::TrashDeck(deck)) => News::CanvasesGone(self.service.canvases_of(deck)),
            Effect::Board(BoardEffect::DeleteSlide { deck, slide }) => {
                News::CanvasesGone(vec![CanvasId::Slide(deck.clone(), slide.clone())])
            }
            Effect::Storage(StorageEffect::Trash(id)) => News::StoredTrashed(id.clone()),
            _ => return,
        };
        self.tell_other(news);
    }

    /// Hears what was done at the service while the other machine was looked at.
    pub(crate) fn hear_news(&mut self) {
        let news: Vec<(usize, News)> = self.service.news.iter().skip(self.heard).cloned().collect();
        self.heard += news.len();
        for (by, news) in news {
            if by != self.number {
                self.hear(news);
            }
        }
        self.note_gone_and_back();
        self.note_evidence();
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Saved(id) => self.hear_of_save(&id),
            News::Placed(id) => self.checks.fates.joined(&id, self.now_ms),
            News::Gone => self.checks.fates.was_gone.extend(self.service.trashed()),
            News::Hidden(family) => {
                self.checks.fates.was_gone.extend(family);
            }
            News::Back(id) => self.checks.fates.joined(&id, self.now_ms),
            News::CanvasesGone(canvases) => self.checks.canvas.gone(&canvases),
            News::StoredChanged(id) => drop(self.stored.checks.worked_on.insert(id)),
            News::StoredTrashed(id) => drop(self.stored.checks.trashed_in_app.insert(id)),
            News::FoldersChanged => self.stored.checks.folders_changed = true,
        }
    }

    /// A page was saved by others.
    pub(crate) fn hear_of_save(&mut self, id: &PageId) {
        self.returning.saved_in_app(id, self.now_ms);
        if self.service.world.page(id).is_some_and(|page| self.checks.fates.is_old(id, &page.content)) {
            // A change undone by hand is taken for an old text that came back.
            self.checks.hands.put_back(id);
        }
        self.checks.fates.changed_in_app(id, &mut self.ledger);
    }
}
