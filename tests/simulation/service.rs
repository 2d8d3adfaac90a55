//! The service of a run: the emulator's world behind the real wire, with weather between the two, and a memory of
//! what each request was about.

use std::collections::{BTreeMap, VecDeque};

use espejo::emulator::{Delivery, Fault as Mishap, HttpRequest, Lag, Matcher, PageRecord, Window, World};
use espejo::model::{
    Blocks, CanvasId, Effect, PageId, ServiceError, ServiceReply, StorageEffect, Timestamp, WorkspaceId,
};
use espejo::service::wire::{self, WireAnswer};

use crate::blocks::{all_words, undescribed};
use crate::canvas::{Homes, Misfortune};
use crate::news::News;
use crate::script::Scene;
use crate::stored::StoredStrike;
use crate::stored::fetch::BadDownload;
use crate::words::{StandIns, Word, words_in};

/// What strikes requests for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weather {
    Unreachable,
    Slow,
    Unauthorized,
    Forbidden,
    EmptyList,
    ShortList,
}

/// What strikes one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Strike {
    LostBefore,
    LostAfter,
    Failing,
    FailingAfter,
    Limited,
    Garbled,
}

/// What became of a request.
#[derive(Debug)]
pub(crate) struct Answered {
    /// What the caller gets.
    pub(crate) result: Result<ServiceReply, ServiceError>,
    /// How long it takes to get there, beyond the usual.
    pub(crate) delay_ms: i64,
    /// Whether the service did it.
    pub(crate) applied: bool,
    /// Whether 429 came without anybody having planned it.
    pub(crate) over_budget: bool,
    /// Whether it is a list that lacks pages without saying so.
    pub(crate) is_false_list: bool,
}

/// The service.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) world: World,
    pub(crate) workspace: WorkspaceId,
    /// What is going on, and how many causes it has.
    weather: BTreeMap<Weather, u32>,
    strikes: VecDeque<Strike>,
    /// What strikes requests about stored files.
    pub(crate) stored_strikes: VecDeque<StoredStrike>,
    pub(crate) bad_downloads: VecDeque<BadDownload>,
    /// Stored files and folders in the order in which they were made.
    stored_order: BTreeMap<String, usize>,
    words: BTreeMap<PageId, Vec<Word>>,
    /// The words of every canvas, in the trash or not.
    pub(crate) canvas_words: BTreeMap<CanvasId, Vec<Word>>,
    /// The slide of each element.
    pub(crate) homes: Homes,
    /// The words of each slide that a request deleted for good, as they were then.
    pub(crate) deleted_slides: BTreeMap<CanvasId, Vec<Word>>,
    /// Elements that the API cannot make, as they ever were.
    pub(crate) odd_elements: Vec<serde_json::Value>,
    /// What goes wrong with canvases alone.
    pub(crate) canvas: Misfortune,
    /// Every block that ever stood in a page and may stand in files by its id.
    stand_ins: StandIns,
    /// What was done at the service, and by which machine or at which one's side.
    pub(crate) news: Vec<(usize, News)>,
}

/// A caller waits so long for an answer that does not come.
const TIME_OUT_MS: i64 = 30_000;

impl Service {
    /// A service with one workspace.
    pub(crate) fn new(seed: u64, budget: u32) -> Self {
        let mut world = World::new(seed);
        world.set_limit(Some(usize::try_from(budget).unwrap_or(60)), Window::SlidingLog);
        let workspace = world.add_workspace("Team", "team");
        Self {
            world,
            workspace,
            weather: BTreeMap::new(),
            strikes: VecDeque::new(),
            stored_strikes: VecDeque::new(),
            bad_downloads: VecDeque::new(),
            stored_order: BTreeMap::new(),
            words: BTreeMap::new(),
            canvas_words: BTreeMap::new(),
            homes: Homes::default(),
            deleted_slides: BTreeMap::new(),
            odd_elements: Vec::new(),
            canvas: Misfortune::default(),
            stand_ins: StandIns::default(),
            news: Vec::new(),
        }
    }

    /// From now on reads are as far behind as a scene says. Only those of pages: whiteboards, presentations and stored files
    /// have no rule for an older read yet.
    pub(crate) fn set_lag(&mut self, scene: &Scene) {
        let lag = Lag { ms: i64::from(scene.lag_ms), takes_turns: scene.turns == 1, only_pages: true };
        self.world.set_read_lag((scene.lag_ms > 0).then_some(lag));
    }

    /// Something was done in the app: reads that lag show it after a while.
    pub(crate) fn keep_state(&mut self, now_ms: i64) {
        self.world.keep_state(Timestamp(now_ms));
    }

    /// Begins (or ends) one cause of `weather`.
    pub(crate) fn set_weather(&mut self, weather: Weather, on: bool) {
        let causes = self.weather.entry(weather).or_default();
        *causes = if on { *causes + 1 } else { causes.saturating_sub(1) };
    }

    pub(crate) fn is(&self, weather: Weather) -> bool {
        self.weather.get(&weather).is_some_and(|causes| *causes > 0)
    }

    /// The next `count` requests meet `strike`.
    pub(crate) fn strike(&mut self, strike: &Strike, count: u32) {
        self.strikes.extend((0..count).map(|_| strike.clone()));
    }

    /// No more bad luck.
    pub(crate) fn heal(&mut self) {
        self.weather.clear();
        self.strikes.clear();
        self.stored_strikes.clear();
        self.bad_downloads.clear();
        self.world.set_storage_room(None);
        let hidden: Vec<PageId> =
            self.world.pages().filter(|page| page.hidden).map(|page| page.id.clone()).collect();
        for page in hidden {
            self.world.app_hide(&page, false);
        }
    }

    /// A request arrives.
    pub(crate) fn answer(&mut self, effect: &Effect, now: Timestamp) -> Answered {
        let Some(request) = wire::request_of(effect) else {
            let result = Err(ServiceError::Garbled("not a request".to_owned()));
            return Answered { result, delay_ms: 0, applied: false, over_budget: true, is_false_list: false };
        };
        if self.is(Weather::Unreachable) {
            let result = Err(ServiceError::Unreachable("no route to host".to_owned()));
            return Answered {
                result,
                delay_ms: 0,
                applied: false,
                over_budget: false,
                is_false_list: false,
            };
        }
        let mishap = self.mishap(effect, now);
        let planned = matches!(mishap, Some(Mishap::Status { status: 429, .. }));
        let is_false_list = matches!(mishap, Some(Mishap::EmptyList | Mishap::ShortList))
            && !matches!(effect, Effect::Board(_));
        if let Some(mishap) = mishap {
            self.world.fail_next(Matcher::Any, mishap);
        }
        let request = HttpRequest {
            method: request.method.to_owned(),
            path: request.path,
            query: request.query,
            authorization: Some(format!("Bearer {}", self.world.token())),
            body: request.body.unwrap_or_default(),
        };
        let response = self.world.answer(&request, now);
        let applied = self.world.log().entries().next_back().is_some_and(|entry| entry.applied);
        if applied {
            self.relearn(effect);
        }
        let over_budget = response.status == 429 && !planned;
        let answer = WireAnswer {
            status: response.status,
            content_type: response.header("content-type").map(str::to_owned),
            retry_after: response.header("retry-after").map(str::to_owned),
            date: response.header("date").map(str::to_owned),
            location: response.header("location").map(str::to_owned),
            body: response.body,
        };
        let (result, delay_ms) = match response.delivery {
            Delivery::Whole => (wire::read_answer(effect, &answer), 0),
            Delivery::After(ms) => {
                (wire::read_answer(effect, &answer), i64::try_from(ms).unwrap_or(TIME_OUT_MS))
            }
            Delivery::Never | Delivery::Late(_) => {
                (Err(ServiceError::Lost("timed out".to_owned())), TIME_OUT_MS)
            }
            Delivery::Cut(_) => (Err(ServiceError::Lost("the connection was closed".to_owned())), 0),
        };
        Answered { result, delay_ms, applied, over_budget, is_false_list }
    }

    /// What goes wrong with this request, if anything.
    fn mishap(&mut self, effect: &Effect, now: Timestamp) -> Option<Mishap> {
        if let Effect::Board(effect) = effect
            && let Some(mishap) = self.canvas.mishap(effect, now)
        {
            return Some(mishap);
        }
        if let Some(strike) = self.strikes.pop_front() {
            return Some(match strike {
                Strike::LostBefore => Mishap::LostBefore,
                Strike::LostAfter => Mishap::LostAfter,
                Strike::Failing => Mishap::Status { status: 500, retry_after: None },
                Strike::FailingAfter => Mishap::StatusAfter(502),
                Strike::Limited => Mishap::Status { status: 429, retry_after: None },
                Strike::Garbled => Mishap::PageWith200,
            });
        }
        if let Effect::Storage(effect) = effect
            && let Some(mishap) = self.stored_mishap(effect)
        {
            return Some(mishap);
        }
        let list = matches!(effect, Effect::ListPages { .. } | Effect::Storage(StorageEffect::List(_)));
        match () {
            () if self.is(Weather::Unauthorized) => Some(Mishap::Status { status: 401, retry_after: None }),
            () if self.is(Weather::Forbidden) => Some(Mishap::Status { status: 403, retry_after: None }),
            () if list && self.is(Weather::EmptyList) => Some(Mishap::EmptyList),
            () if list && self.is(Weather::ShortList) => Some(Mishap::ShortList),
            () if self.is(Weather::Slow) => Some(Mishap::Delay(9_000)),
            () => None,
        }
    }

    /// What goes wrong with this request about stored files, if it is of the kind that is struck next.
    fn stored_mishap(&mut self, effect: &StorageEffect) -> Option<Mishap> {
        let status = |status| Mishap::Status { status, retry_after: None };
        let mishap = match (self.stored_strikes.front()?, effect) {
            (StoredStrike::EmptyListing, StorageEffect::List(_)) => Mishap::EmptyList,
            (StoredStrike::ShortListing, StorageEffect::List(_)) => Mishap::ShortList,
            (StoredStrike::TooLarge, StorageEffect::Upload { .. }) => status(413),
            (StoredStrike::LinkForbidden, StorageEffect::AskLink(_)) => status(403),
            _ => return None,
        };
        self.stored_strikes.pop_front();
        Some(mishap)
    }

    /// A stored file or folder was made.
    pub(crate) fn note_stored(&mut self, id: &str) {
        let next = self.stored_order.len();
        self.stored_order.entry(id.to_owned()).or_insert(next);
    }

    /// How many stored files and folders were made before this one.
    pub(crate) fn stored_order(&self, id: &str) -> usize {
        self.stored_order.get(id).copied().unwrap_or(usize::MAX)
    }

    fn relearn(&mut self, effect: &Effect) {
        match effect {
            Effect::UpdatePage { id, .. } => self.learn(&id.clone()),
            Effect::CreatePage { .. } => {
                if let Some(page) = self.newest() {
                    self.learn(&page);
                }
            }
            Effect::Board(effect) => self.relearn_canvas(effect),
            _ => {}
        }
    }

    /// A page and all that are beneath it, as far as they are active.
    pub(crate) fn family(&self, id: &PageId) -> Vec<PageId> {
        let mut family = vec![id.clone()];
        let mut at = 0;
        while let Some(parent) = family.get(at).cloned() {
            at += 1;
            let beneath = self.active().into_iter().filter(|page| page.parent.as_ref() == Some(&parent));
            family.extend(beneath.map(|page| page.id.clone()));
        }
        family
    }

    /// The page that was made last.
    pub(crate) fn newest(&self) -> Option<PageId> {
        self.world.pages().max_by_key(|page| page.serial).map(|page| page.id.clone())
    }

    /// Reads the words of a page again, after somebody changed it.
    pub(crate) fn learn(&mut self, id: &PageId) {
        if let Some(page) = self.world.page(id) {
            let mut words = all_words(&page.content);
            words.extend(words_in(page.title.as_bytes()));
            self.words.insert(id.clone(), words);
            self.stand_ins.learn(undescribed(&page.content));
        }
    }

    /// The words of a page.
    pub(crate) fn words_of(&self, id: &PageId) -> &[Word] {
        self.words.get(id).map_or(&[], Vec::as_slice)
    }

    /// The blocks that may stand in files as a line with their id, and the words in them.
    pub(crate) fn stand_ins(&self) -> &StandIns {
        &self.stand_ins
    }

    /// Every word of every page and canvas, in the trash or not.
    pub(crate) fn words(&self) -> impl Iterator<Item = Word> {
        self.words.values().chain(self.canvas_words.values()).flatten().copied()
    }

    /// Active pages, oldest first.
    pub(crate) fn active(&self) -> Vec<&PageRecord> {
        let mut pages: Vec<&PageRecord> = self.world.pages().filter(|page| page.trashed.is_none()).collect();
        pages.sort_by_key(|page| page.serial);
        pages
    }

    /// Pages in the trash, oldest first.
    pub(crate) fn trashed(&self) -> Vec<PageId> {
        let mut pages: Vec<&PageRecord> = self.world.pages().filter(|page| page.trashed.is_some()).collect();
        pages.sort_by_key(|page| page.serial);
        pages.into_iter().map(|page| page.id.clone()).collect()
    }

    /// Somebody in the app saves a content.
    pub(crate) fn save(&mut self, id: &PageId, content: Blocks) -> bool {
        let saved = self.world.app_edit(id, content);
        self.learn(id);
        saved
    }
}
