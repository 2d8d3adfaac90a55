//! The state machine: it is told events and the time, and answers with effects.
//!
//! It never waits, reads a clock, draws a random number, or opens a file or a socket. Looks are recorded in the three
//! trees, the next act of each page that is not at rest is derived by [`crate::plan::decide`], and acts leave as
//! effects; their answers are looks again. Disk effects go one at a time (they are quick, and no look can then overlap
//! an act); requests go several at a time, but never two for one page.
//!
//! Invariants: nothing is written on either side before a first complete look at the mirror; nothing is decided on a
//! look that was asked for before the last act on the same page ended; whatever an effect rests on is committed
//! before the effect leaves.

mod act;
mod answers;
mod asked;
mod attention;
mod barrier;
mod beside;
mod boards;
mod conflicts;
mod create;
mod creations;
mod differences;
mod disk;
mod dismissed;
mod downward;
mod durable;
mod flight;
mod happened;
mod hints;
mod history;
mod identities;
mod ids;
mod ignoring;
mod lend;
mod lists;
mod looks;
mod moves;
mod opened;
mod pace;
mod pause;
mod place;
mod poll;
pub mod polling;
mod pull;
mod push;
mod refused;
mod removals;
mod remove;
mod retry;
mod searching;
mod service;
mod shared;
mod storage;
mod tally;
mod targets;
mod telling;
mod text;
mod trees;
mod unsendable;
mod wants;
mod watch;
mod watched;

use std::collections::{BTreeMap, BTreeSet};

pub use crate::plan::place::PAGES;
pub use attention::Summary;
pub use boards::WHITEBOARDS;
pub use happened::{Happening, Way};
pub use history::in_own_words;
pub use lend::LENT_MS;
pub use pull::{Checked, Pulled};
pub use storage::StorageSummary;
pub use text::allowed_in;

use crate::markdown::Allowed;
use crate::model::{
    BodyJson, ContentHash, Effect, EffectId, Event, MirrorPath, Outcome, PageDraft, PageId, Request, Sent,
    Settings, Timestamp, WorkspaceId, folder_of, planted,
};
use crate::store::{Store, StoreError, Writing};
use creations::Creations;
use flight::{Flight, Purpose};
use trees::Trees;

/// How many requests may be under way at once.
const REQUESTS_AT_ONCE: usize = 6;

/// The state machine.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    store: Store,
    ids: ids::Ids,
    trees: Trees,
    now: Timestamp,
    /// Counts effects issued and ended: orders looks and acts where milliseconds cannot.
    tick: u64,
    flights: BTreeMap<EffectId, Flight>,
    last_effect: u64,

    // The folder.
    root: disk::Root,
    watch: disk::Watching,
    telling: telling::Told,
    /// A write whose bytes were just made from a fresh read: goes next.
    ready: Option<(Effect, Purpose)>,

    // The service.
    pace: pace::Pace,
    service: service::Health,
    lists: lists::Lists,
    poll_slot: u64,
    /// Whose turn a look of the background is: pages', canvases' or storage's.
    background_turn: u8,
    /// What pages want of the service.
    wants: wants::Wants,
    sent: BTreeMap<PageId, Sent>,
    /// Writes to files that may have been made although nothing says so.
    writing: BTreeMap<PageId, Writing>,
    /// New files and folders that pages were asked for.
    creations: Creations<PageDraft>,
    /// New files (and folders) that the service would not make pages of.
    refusals: BTreeMap<MirrorPath, create::RefusedFile>,
    allowed: BTreeMap<WorkspaceId, Allowed>,

    // The work.
    /// Pages whose next act is not known to be nothing.
    active: BTreeSet<PageId>,
    /// Pages for which only time and the next scans can change what is to be done, so far as nothing wakes them.
    settling: BTreeSet<PageId>,
    /// Whether nothing in the folder was left to be looked at when that was last asked.
    was_quiet: bool,
    /// All pages are to be among them, and are put there before anything is decided.
    all_woken: bool,
    rounds: act::Rounds,
    /// What is known of pages in this run only.
    moments: BTreeMap<PageId, Moment>,
    /// Why pages wait although there is something to do: few, and asked for again and again.
    held: BTreeMap<PageId, refused::Held>,
    /// No page waits for a time after this one: most of the time none waits, and none is looked through.
    retries_until: Timestamp,
    /// Pages that the service was asked to remove a short while ago.
    removals: removals::Removals,
    full_pass: Option<lists::FullPass>,
    attention: attention::Board,
    conflicts: conflicts::Conflicts,
    boards: boards::Boards,
    happened: Vec<Happening>,
    /// Answered looks at files that are not committed yet, and whether anything else is not.
    looks_held: u32,
    held_since: Option<Timestamp>,
    more_held: bool,
    asked: asked::Asked,
    opened: opened::Opened,
    searching: searching::Searching,
    pulling: pull::Pulling,
    watched: watched::Watched,
    keeping: history::Keeping,
    /// Personal storage, a state machine of its own.
    storage: storage::Storage,
    beside: beside::Beside,
}

/// What personal storage is lent for one turn: parts of the engine that it does not own.
macro_rules! desk {
    ($engine:ident) => {
        $crate::engine::storage::Desk {
            store: &mut $engine.store,
            settings: &$engine.settings,
            workspaces: &$engine.trees.workspaces,
            order: &$engine.lists.order,
            barrier: &$engine.root.barrier,
            ignoring: &$engine.trees.ignoring,
            happened: &mut $engine.happened,
            ids: &mut $engine.ids,
            now: $engine.now,
            file_clock: $engine.watch.file_clock($engine.now),
            tick: $engine.tick,
        }
    };
}
use desk;

/// What is known of one page in this run only.
#[derive(Debug, Clone, Default)]
struct Moment {
    /// When its last act was issued or ended.
    acted: u64,
    /// When its last look was issued, whatever came of it.
    looked: u64,
    /// When the last look that showed it was issued, and when it was answered.
    seen: u64,
    seen_at: Timestamp,
    /// When its file was first found missing.
    missed: u64,
    /// When its file was first seen in another folder than agreed.
    moved_at: Option<Timestamp>,
    /// Since when it wants a request; 0 when it does not.
    wanted: u64,
    /// How often the service has refused to delete it.
    undeletable: u32,
    /// What its file stands for; of most files that is what was agreed on, and nothing is held here.
    reading: Option<Box<Reading>>,
    /// Failures in a row, and until when it waits.
    failing: retry::Failing,
    /// Writes whose outcome is not known, or that are known not to have been carried out.
    writes: retry::Failing,
    /// A slot is reserved for its PATCH.
    reserved: bool,
    /// The file content whose conflict copy has been made.
    copied: Option<ContentHash>,
}

/// What a file stood for when it held `text`.
#[derive(Debug, Clone)]
struct Reading {
    text: ContentHash,
    /// Not as values: thousands of edits can wait at once.
    content: BodyJson,
}

impl Engine {
    /// Takes up what `store` remembers. `seed` is fresh randomness from the caller; ids of new blocks come from it.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub fn open(
        mut store: Store,
        settings: Settings,
        seed: [u8; 32],
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let loaded = store.load()?;
        let stored = storage::Storage::open(&mut store, &settings, now)?;
        let sent = if planted("doubt-forgotten") { Vec::new() } else { store.sent()? };
        let sent = sent.into_iter().map(|sent| (sent.page.clone(), sent)).collect();
        let writing = store.writing()?.into_iter().map(|writing| (writing.page.clone(), writing)).collect();
        let creations = Creations::open(&store, now)?;
        let board_adopting = store.meta("board_adopting")?.as_deref() != Some("no");
        let boards = boards::Boards::open(&mut store, board_adopting, now)?;
        store.drop_unused_elements()?;
        store.drop_old_graves(now.plus_ms(-i64::from(settings.pages.history_days) * 86_400_000))?;
        let pace = pace::Pace::new(settings.requests_per_minute, store.request_log()?, now);
        store.close_request_log(now.plus_ms(pace::STRAY_MS))?;
        store.note_requests_ahead(pace::noted_ahead(settings.requests_per_minute));
        let first_run = store.meta("adopting")?.is_none();
        if first_run {
            store.set_meta("adopting", "yes")?;
        }
        let adopting = store.meta("adopting")?.as_deref() == Some("yes");
        let root = disk::Root::new(&store, now, adopting)?;
        let is_page = |id: &str| PageId::new(id).is_ok_and(|id| loaded.pages.contains_key(&id));
        let removals = removals::Removals::open(&mut store, "removals", removals::RECENT_MS, is_page, now)?;
        let keeping = history::Keeping::new(&mut store, now)?;
        let watched = watched::Watched::open(&store)?;
        let watch = disk::Watching::new(now, store.missing_files()?);
        store.commit()?;
        let active = loaded.pages.keys().cloned().collect();
        let mut engine = Self {
            settings,
            store,
            ids: ids::Ids::new(seed),
            trees: Trees::new(loaded),
            now,
            tick: 1,
            flights: BTreeMap::new(),
            last_effect: 0,
            root,
            watch,
            telling: telling::Told::default(),
            ready: None,
            pace,
            service: service::Health::default(),
            lists: lists::Lists::default(),
            poll_slot: 0,
            background_turn: 0,
            wants: wants::Wants::default(),
            sent,
            writing,
            creations,
            refusals: BTreeMap::new(),
            allowed: BTreeMap::new(),
            active,
            settling: BTreeSet::new(),
            was_quiet: false,
            all_woken: false,
            rounds: act::Rounds::default(),
            moments: BTreeMap::new(),
            held: BTreeMap::new(),
            retries_until: Timestamp::default(),
            removals,
            full_pass: None,
            attention: attention::Board::default(),
            conflicts: conflicts::Conflicts::default(),
            boards,
            happened: Vec::new(),
            looks_held: 0,
            held_since: None,
            more_held: false,
            asked: asked::Asked::default(),
            opened: opened::Opened::default(),
            searching: searching::Searching::default(),
            pulling: pull::Pulling::default(),
            watched,
            keeping,
            storage: stored,
            beside: beside::Beside::default(),
        };
        engine.service.paused = engine.store.paused_since()?;
        engine.clamp_times(now)?;
        engine.drop_unchosen();
        engine.resume_watch()?;
        Ok(engine)
    }

    /// Takes in one event. What needs a person is worked out anew when [`Engine::next_effect`] has nothing more.
    ///
    /// # Errors
    /// [`StoreError`] when what was seen could not be recorded; the driver must stop and start again.
    pub fn handle(&mut self, event: Event, now: Timestamp) -> Result<(), StoreError> {
        self.advance(now);
        if self.telling.is_under_way() {
            if !matches!(event, Event::Asked(_)) {
                self.telling.put_by(event);
                return Ok(());
            }
            // Whoever asks is answered.
            self.tell_all()?;
        }
        self.take(event)
    }

    fn take(&mut self, event: Event) -> Result<(), StoreError> {
        let is_asked = matches!(event, Event::Asked(_));
        match event {
            Event::Hint(path) => self.hinted(path),
            Event::Opened(path) => {
                self.opened(&path);
                return Ok(());
            }
            Event::HintAll => {
                self.watch.asked = self.now;
                self.watch.scan_by(self.now);
            }
            Event::Asked(Request::FullPass) => self.begin_full_pass(false)?,
            Event::Asked(Request::Verify { deep }) => self.begin_full_pass(deep)?,
            Event::Asked(Request::Approve(paths)) => self.approve(&paths)?,
            Event::Asked(Request::Dismiss(places)) => self.dismiss(&places)?,
            Event::Asked(Request::Pull(places)) => self.pull(&places),
            Event::Asked(Request::Put(put)) => self.put(*put),
            Event::Asked(Request::Pause) => self.pause(true)?,
            Event::Asked(Request::Resume) => self.pause(false)?,
            Event::Asked(Request::Lend(slots)) => drop(self.lend(slots, self.now)?),
            Event::Asked(Request::Search(search)) => self.search(*search),
            Event::Done { id, outcome } => self.done(id, outcome)?,
            Event::Storage(event) => {
                self.storage_event(&event);
                return Ok(());
            }
        }
        self.attention.stir();
        self.rounds.stir();
        // Whoever asked is told that it is taken. What was answered is committed with what follows from it, before that
        // leaves: until then it is the case of an answer that has not come yet.
        if is_asked { self.commit() } else { Ok(()) }
    }

    /// The next thing to do, if there is one now. Call until it answers `None`.
    ///
    /// # Errors
    /// [`StoreError`] as [`Engine::handle`].
    pub fn next_effect(&mut self, now: Timestamp) -> Result<Option<(EffectId, Effect)>, StoreError> {
        self.advance(now);
        if self.telling.is_under_way() {
            self.tell_on()?;
        }
        if self.telling.is_under_way() || self.is_far_behind() {
            self.write_rows()?;
            return Ok(None);
        }
        let choice = match self.next_disk_effect()? {
            Some(choice) => Some(choice),
            None if !self.rounds.is_over() => None,
            None => match self.next_beside() {
                Some(choice) => Some(choice),
                None => self.next_request()?,
            },
        };
        let Some((effect, purpose)) = choice else {
            self.forget_worked();
            self.note_holds()?;
            self.tend_history()?;
            self.tend_watch()?;
            self.save_positions()?;
            self.refresh_attention()?;
            let is_looking = self.flights.values().any(|flight| flight.only_looks);
            if !is_looking || !self.may_wait() {
                self.commit_as(self.requests_under_way() == 0 && !self.is_at_the_disk())?;
            }
            return Ok(None);
        };
        self.attention.stir();
        self.last_effect += 1;
        self.tick += 1;
        let id = EffectId(self.last_effect);
        let only_looks = effect.only_looks();
        let mut rests_on_nothing = only_looks;
        if effect.is_request() {
            let (class, reserve) = (purpose.class(), purpose.reserve());
            self.pace.sent(id.0, class, reserve, self.now);
            rests_on_nothing &= self.store.note_request(id.0, self.now)?;
        }
        self.flights.insert(id, Flight { purpose, tick: self.tick, sent_at: self.now, only_looks });
        if !rests_on_nothing || !self.may_wait() {
            self.commit_as(!only_looks)?;
        }
        tracing::debug!(id = id.0, effect = flight::name_of(&effect), "issued");
        Ok(Some((id, effect)))
    }

    /// When to call [`Engine::next_effect`] again if nothing happens before.
    #[must_use]
    pub fn next_wakeup(&self, now: Timestamp) -> Option<Timestamp> {
        let now = now.max(self.now);
        let round_goes_on = !self.rounds.is_over() && !self.is_at_the_disk();
        if round_goes_on || !self.positions_are_saved() || self.is_far_behind() || self.telling.is_under_way()
        {
            return Some(now.plus_ms(1));
        }
        let request = self.may_ask_more().then(|| self.next_request_due(now));
        let waits = self.retries_until > now;
        let moments = waits.then_some(&self.moments).into_iter().flat_map(BTreeMap::values);
        let retries = moments.map(|moment| moment.failing.until).filter(|at| *at > now);
        let (scan, read) = self.watch.next_due(now);
        let all = [scan, self.next_purge(), self.storage.next_due(now)].into_iter().chain(self.held_until());
        let some =
            [read, request, self.next_board_disk_due(), self.next_search_due(now), self.next_list_of_needs()];
        let some = some.into_iter().chain([self.next_refused_due()]);
        // Called after `next_effect` had nothing: what is due now waits for an answer, not for time to pass, and must
        // not keep the others waiting.
        let soon = |at: Timestamp| if at <= now { now.plus_ms(1_000) } else { at };
        all.chain(some.flatten()).chain(retries).map(soon).min()
    }

    /// Lets everything in memory go, as a crash does, and gives the store back.
    #[must_use]
    pub fn into_store(mut self) -> Store {
        self.store.roll_back();
        self.store
    }

    /// Ends a full pass that is over; polling goes on.
    pub fn end_pass(&mut self) {
        self.full_pass = None;
        self.storage.end_pass();
    }

    fn advance(&mut self, now: Timestamp) {
        // A clock that goes back is not believed: time stands still until it has caught up.
        self.now = self.now.max(now);
    }

    fn done(&mut self, id: EffectId, outcome: Outcome) -> Result<(), StoreError> {
        let Some(flight) = self.flights.remove(&id) else { return Ok(()) };
        self.tick += 1;
        if flight.only_looks {
            self.hold_look();
        } else {
            self.more_held = true;
        }
        if let Purpose::Storage(task) = flight.purpose.clone() {
            return self.storage_done(&flight, id, task, outcome);
        }
        match outcome {
            Outcome::Disk(result) => self.disk_done(flight, result),
            Outcome::Service(result) => {
                self.pace.answered(id.0, self.now);
                self.store.note_answer(id.0, self.now, self.now.plus_ms(-2 * pace::WINDOW_MS));
                self.service_done(flight, result)
            }
            Outcome::Work(worked) => match flight.purpose {
                Purpose::Work { page, question } => {
                    self.worked(page, question, worked);
                    Ok(())
                }
                _ => Ok(()),
            },
            Outcome::Download(_) => Ok(()),
        }
    }

    fn moment(&mut self, page: &PageId) -> &mut Moment {
        self.moments.entry(page.clone()).or_default()
    }

    /// Nothing is done for this page before `until`.
    fn put_off(&mut self, page: &PageId, until: Timestamp) {
        self.retries_until = self.retries_until.max(until);
        self.moment(page).failing.until = until;
    }

    fn wake(&mut self, page: &PageId) {
        self.active.insert(page.clone());
    }

    /// Places depend on each other: after one changed, every page is asked again. Only noted: ten thousand files that were
    /// moved at once say so ten thousand times.
    fn wake_all(&mut self) {
        self.all_woken = true;
    }

    /// Whether all pages had to be woken; now they are.
    fn wake_who_must(&mut self) -> bool {
        let all = std::mem::take(&mut self.all_woken);
        if all {
            self.active.extend(self.trees.pages.keys().cloned());
        }
        all
    }

    /// The folder was looked at: who waited for that is asked again.
    fn wake_settling(&mut self) {
        self.active.append(&mut self.settling);
    }

    /// What depends on this page having its file in its place: the pages beneath it on either side.
    fn wake_beneath(&mut self, page: &PageId, file: &MirrorPath) {
        self.active.extend(self.trees.subtree(page));
        if let Some(folder) = folder_of(file) {
            let inside = self.trees.files.range(folder.clone()..).map(|(_, file)| file);
            let inside = inside.take_while(|file| file.path.as_str().starts_with(folder.as_str()));
            self.active.extend(inside.filter_map(|file| file.page.clone()));
        }
    }

    /// Whether an effect in the line of disk effects is under way.
    fn is_at_the_disk(&self) -> bool {
        self.flights.values().any(|flight| flight.purpose.is_disk())
    }

    /// Whether something is being done for exactly this.
    fn is_under_way(&self, purpose: &Purpose) -> bool {
        self.flights.values().any(|flight| flight.purpose == *purpose)
    }

    fn requests_under_way(&self) -> usize {
        self.flights.values().filter(|flight| flight.purpose.is_request()).count()
    }

    fn is_busy(&self, page: &PageId) -> bool {
        self.flights.values().any(|flight| flight.purpose.page() == Some(page))
            || self.ready.as_ref().is_some_and(|(_, purpose)| purpose.page() == Some(page))
    }
}
