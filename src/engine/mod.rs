//! The state machine: it receives events and the time, and returns effects.
//!
//! It never waits, reads a clock, draws a random number, or opens a file or a socket. It stores observations in the
//! three trees. [`crate::plan::decide`] derives the next act of each dirty page. Acts leave as effects, and their
//! answers are observations again. Disk effects run one at a time: they are quick, and no scan or read can then overlap
//! an act. Requests run several at a time, but never two for one page.
//!
//! Invariants: nothing is written on either side before a first complete scan of the mirror; no decision rests on an
//! observation that was requested before the last act on the same page ended; the data that an effect rests on is
//! committed before the effect leaves.

mod act;
mod content;
pub mod machine;
mod observe;
mod on_core;
mod packing;
pub mod polling;
mod report;
mod request;
mod schedule;
mod state;

use std::collections::{BTreeMap, BTreeSet};

pub use crate::core::report::storage::StorageSummary;
pub use crate::plan::place::PAGES;
pub use act::creation_guard::approve_new_files;
pub use content::history::in_own_words;
pub use content::stand_ins::{blocks_in, items_in};
pub use content::text::allowed_in;
pub use packing::pack;
pub use report::attention::Summary;
pub use request::pull::{Checked, Pulled};
pub use schedule::pace::LENT_MS;
pub use state::Engine;
pub use state::activity::{Activity, Way, says_trashed};

use crate::model::{Effect, EffectId, Event, Outcome, PageId, Request, Settings, Timestamp, planted};
use crate::store::{Store, StoreError};
use state::creations::Creations;
use state::{Context, Flight, InFlight, Pages, Purpose, Trees};

impl Engine {
    /// Loads the state from `store`. `seed` is fresh randomness from the caller; the ids of new blocks are derived from
    /// it.
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
        let core = state::on_core::OnCore::open(&mut store, now)?;
        let dashboards = state::dashboards::Dashboards::open(&store)?;
        let sent = if planted("doubt-forgotten") { Vec::new() } else { store.sent()? };
        let sent = sent.into_iter().map(|sent| (sent.page.clone(), sent)).collect();
        let writing = store.writing()?.into_iter().map(|writing| (writing.page.clone(), writing)).collect();
        let creations = Creations::open(&mut store, now)?;
        store.drop_unused_elements();
        store.drop_old_graves(now.plus_ms(-i64::from(settings.pages.history_days) * 86_400_000));
        let pace = schedule::pace::Pace::new(settings.requests_per_minute, store.request_log()?, now);
        store.close_request_log(now.plus_ms(schedule::pace::STRAY_MS));
        store.note_requests_ahead(schedule::pace::noted_ahead(settings.requests_per_minute));
        let first_run = store.meta("adopting")?.is_none();
        if first_run {
            store.set_meta("adopting", "yes");
        }
        let bootstrap = store.meta("adopting")?.as_deref() == Some("yes");
        let root = state::folder::Root::new(&mut store, now, bootstrap)?;
        let is_known = |id: &str| PageId::new(id).is_ok_and(|id| loaded.pages.contains_key(&id));
        let deletions = state::removals::Deletions::open(&mut store, is_known, now)?;
        let answered = state::answered::Answered::open(&store, now)?;
        let former = state::former::FormerPages::open(&loaded, &store)?;
        let retention = state::history::Retention::new(&mut store, now)?;
        let watched = state::watched::Watched::open(&store)?;
        let watch = state::folder::Watching::new(now, store.missing_files()?);
        store.commit()?;
        let context = Context {
            settings,
            store,
            ids: state::ids::Ids::new(seed),
            now,
            tick: 1,
            pace,
            in_flight: InFlight::default(),
            activities: Vec::new(),
            conflicts: state::conflicts::Conflicts::default(),
            deletions,
        };
        let mut loaded = loaded;
        content::faults::retry_faults(loaded.pages.values_mut(), loaded.files.values_mut());
        let pages = Pages {
            dirty: loaded.pages.keys().cloned().collect(),
            trees: Trees::new(loaded, former),
            waiting: BTreeSet::new(),
            fresh: BTreeSet::new(),
            was_quiet: false,
            all_dirty: false,
            batch: state::pages::Batch::default(),
            runtimes: BTreeMap::new(),
            held: BTreeMap::new(),
            retries_until: Timestamp::default(),
            request_queue: state::request_queue::RequestQueue::default(),
            pending_updates: sent,
            pending_writes: writing,
            creations,
            refusals: BTreeMap::new(),
            allowed: BTreeMap::new(),
            answered,
            retention,
            offload: state::offload::Offload::default(),
        };
        let mut engine = Self {
            cx: context,
            pages,
            folder: state::folder::Folder { root, watch },
            uncommitted: state::uncommitted::Uncommitted::default(),
            identity_batches: state::identity_batches::IdentityBatches::default(),
            service: state::health::Health::default(),
            polling: state::polling::Polling::default(),
            watched,
            core,
            dashboards,
            attention: state::messages::AttentionList::default(),
            commands: state::commands::Commands::default(),
        };
        engine.service.paused = engine.cx.store.paused_since()?;
        engine.clamp_times(now);
        engine.pages.trees.drop_unchosen(&engine.cx);
        engine.watched.resume_watch(&engine.pages.trees, &engine.cx)?;
        Ok(engine)
    }

    /// Handles one event. The messages to the user are updated when [`Engine::next_effect`] has no more effects.
    ///
    /// # Errors
    /// [`StoreError`] when what was seen could not be recorded; the driver must stop and start again.
    pub fn handle(&mut self, event: Event, now: Timestamp) -> Result<(), StoreError> {
        self.advance(now);
        if self.identity_batches.is_under_way() {
            if !matches!(event, Event::Asked(_)) {
                self.identity_batches.postpone(event);
                return Ok(());
            }
            // A command gets its answer in this call.
            self.apply_all_batches().map_err(|error| self.cx.store.first_error(error))?;
        }
        self.take(event).map_err(|error| self.cx.store.first_error(error))
    }

    fn take(&mut self, event: Event) -> Result<(), StoreError> {
        let is_asked = matches!(event, Event::Asked(_));
        match event {
            Event::Hint(path) => self.folder.hinted(path, &self.pages.trees, &self.cx),
            Event::Opened(path) => {
                self.opened(&path);
                return Ok(());
            }
            Event::HintAll => {
                self.folder.watch.asked = self.cx.now;
                self.folder.watch.scan_by(self.cx.now);
            }
            Event::Asked(Request::FullPass) => self.begin_full_pass(false),
            Event::Asked(Request::DeepPass) => self.begin_full_pass(true),
            Event::Asked(Request::Approve(paths)) => self.approve(&paths)?,
            Event::Asked(Request::Pull(places)) => self.pull(&places),
            Event::Asked(Request::Put(put)) => self.put(*put),
            Event::Asked(Request::Pause) => self.service.pause(true, &mut self.cx),
            Event::Asked(Request::Resume) => self.service.pause(false, &mut self.cx),
            Event::Asked(Request::Lend(slots)) => drop(self.lend(slots, self.cx.now)?),
            Event::Asked(Request::GiveBack(lent, made)) => self.give_back(&lent, made, self.cx.now)?,
            Event::Asked(Request::Search(search)) => self.commands.searching.search(*search),
            Event::Done { id, outcome } => self.done(id, outcome)?,
            Event::Storage(event) => {
                on_core::core_download_goes_on(self, &event);
                return Ok(());
            }
        }
        self.attention.stir();
        self.pages.batch.stir();
        // A command is acknowledged, so it is committed now. An answer is committed together with what follows from it,
        // before that leaves: until then a crash is the same as an answer that has not come yet.
        if is_asked { self.commit() } else { Ok(()) }
    }

    /// The next effect, if one is possible now. Call until it returns `None`.
    ///
    /// # Errors
    /// [`StoreError`] as [`Engine::handle`].
    pub fn next_effect(&mut self, now: Timestamp) -> Result<Option<(EffectId, Effect)>, StoreError> {
        self.advance(now);
        self.choose_effect().map_err(|error| self.cx.store.first_error(error))
    }

    fn choose_effect(&mut self) -> Result<Option<(EffectId, Effect)>, StoreError> {
        if self.identity_batches.is_under_way() {
            self.apply_batch()?;
        }
        if self.identity_batches.is_under_way() || self.pages.trees.is_far_behind() {
            self.pages.trees.write_rows(&mut self.cx);
            return Ok(None);
        }
        act::remove::count(self);
        let choice = match self.next_disk_effect()? {
            Some(choice) => Some(choice),
            None if !self.pages.batch.is_over() => None,
            None => match on_core::next_core_beside(self)? {
                Some(choice) => Some(choice),
                None => self.next_request()?,
            },
        };
        let Some((effect, purpose)) = choice else {
            self.pages.forget_worked(&self.folder.watch);
            if self.folder.root.state.is_some() {
                self.cx.deletions.note_hold(&mut self.cx.store, self.cx.now);
            }
            self.tend_history()?;
            self.tend_watch()?;
            self.polling.lists.save_positions(&self.pages.trees, &mut self.cx);
            if self.pages.batch.is_over() {
                // What is decided after a part of the pages is in no message yet.
                self.refresh_attention()?;
            }
            let releases = act::durable::awaits_commit(&self.pages);
            if releases {
                self.uncommitted.held_since.get_or_insert(self.cx.now);
            }
            let more_comes = self.cx.in_flight.flights.values().any(|flight| flight.is_repeatable);
            if more_comes && self.uncommitted.may_wait(self.cx.now) {
                return Ok(None);
            }
            self.commit_as(
                self.cx.in_flight.requests_under_way() == 0 && !self.cx.in_flight.is_at_the_disk(),
            )?;
            return if releases { self.choose_effect() } else { Ok(None) };
        };
        self.attention.stir();
        self.cx.in_flight.last_effect += 1;
        self.cx.tick += 1;
        let id = EffectId(self.cx.in_flight.last_effect);
        let is_repeatable = effect.only_looks() || act::durable::is_first_write(&purpose, &self.pages);
        self.cx.note_rename(&purpose);
        let mut rests_on_nothing = is_repeatable;
        if effect.is_request() {
            let (class, reserve) = (purpose.class(), purpose.reserve());
            self.cx.pace.sent(id.0, class, reserve, self.cx.now);
            rests_on_nothing &= self.cx.store.note_request(id.0, self.cx.now)?;
        }
        self.cx
            .in_flight
            .flights
            .insert(id, Flight { purpose, tick: self.cx.tick, sent_at: self.cx.now, is_repeatable });
        if !rests_on_nothing || !self.uncommitted.may_wait(self.cx.now) {
            self.commit_as(!is_repeatable)?;
        }
        tracing::debug!(id = id.0, effect = state::flight::name_of(&effect), "issued");
        Ok(Some((id, effect)))
    }

    /// When to call [`Engine::next_effect`] again if no event comes before.
    #[must_use]
    pub fn next_wakeup(&self, now: Timestamp) -> Option<Timestamp> {
        let now = now.max(self.cx.now);
        let batch_goes_on = !self.pages.batch.is_over() && !self.cx.in_flight.is_at_the_disk();
        if batch_goes_on
            || !self.polling.lists.positions_are_saved()
            || self.pages.trees.is_far_behind()
            || self.identity_batches.is_under_way()
        {
            return Some(now.plus_ms(1));
        }
        let request = self.service.may_ask_more(&self.cx).then(|| self.next_request_due(now));
        let waits = self.pages.retries_until > now;
        let runtimes = waits.then_some(&self.pages.runtimes).into_iter().flat_map(BTreeMap::values);
        let retries = runtimes.map(|runtime| runtime.failing.until).filter(|at| *at > now);
        let (scan, read) = self.folder.watch.next_due(now);
        let all = [scan, self.pages.retention.next_purge()].into_iter().chain(self.uncommitted.held_until());
        let some = [
            read,
            request,
            on_core::next_core_due(self),
            self.next_search_due(now),
            self.next_list_of_needs(),
        ];
        let refused = act::refused::next_refused(&self.pages).filter(|at| *at > self.cx.now);
        // Called after `next_effect` returned `None`: what is due now waits for an answer, not for time to pass, and
        // must not delay the others.
        let soon = |at: Timestamp| if at <= now { now.plus_ms(1_000) } else { at };
        all.chain(some.into_iter().flatten()).chain(retries).chain(refused).map(soon).min()
    }

    /// Drops everything in memory, as a crash does, and returns the store.
    #[must_use]
    pub fn into_store(mut self) -> Store {
        self.cx.store.roll_back();
        self.cx.store
    }

    /// Ends a full pass that is over; polling goes on.
    pub fn end_pass(&mut self) {
        self.polling.full_pass = None;
        self.core.end_pass();
    }

    fn advance(&mut self, now: Timestamp) {
        // If the clock goes back, the engine's time stands still until the clock has caught up.
        self.cx.now = self.cx.now.max(now);
    }

    fn done(&mut self, id: EffectId, outcome: Outcome) -> Result<(), StoreError> {
        let Some(flight) = self.cx.in_flight.flights.remove(&id) else { return Ok(()) };
        self.cx.tick += 1;
        self.cx.rename_answered(&flight.purpose);
        if flight.is_repeatable {
            self.uncommitted.hold_observation(self.cx.now);
        } else {
            self.uncommitted.more_held = true;
        }
        match outcome {
            Outcome::Disk(result) => self.disk_done(flight, result),
            Outcome::Service(result) => {
                self.cx.pace.answered(id.0, self.cx.now);
                self.cx.store.note_answer(
                    id.0,
                    self.cx.now,
                    self.cx.now.plus_ms(-2 * schedule::pace::WINDOW_MS),
                );
                self.service_done(flight, result)
            }
            Outcome::Work(worked) => match flight.purpose {
                Purpose::Work { page, question } => {
                    self.pages.worked(page, question, worked, &self.folder.watch, &mut self.cx);
                    Ok(())
                }
                _ => Ok(()),
            },
            Outcome::Download(result) => on_core::core_download_done(self, &flight, result),
        }
    }
}

impl Engine {
    /// Replaces times in the future by now. They occur if the clock was set back between two runs.
    pub(crate) fn clamp_times(&mut self, now: Timestamp) {
        for node in self.pages.trees.pages.values_mut() {
            node.first_seen = node.first_seen.min(now);
            node.poll.last = node.poll.last.min(now);
            node.poll.life = node.poll.life.min(now);
            node.poll.changes_at = node.poll.changes_at.min(now);
            node.missing_since = node.missing_since.map(|at| at.min(now));
        }
    }
}
