//! The driver: one loop that carries effects out and brings events in. It decides nothing.
//!
//! Everything slow runs beside the loop and comes back as an event. Stopping is a crash with good manners: nothing new
//! is begun, what is under way gets a few seconds, and correctness never depends on them.

mod beside;
mod checkpoints;
pub mod control;
mod counting;
mod download;
mod memory;
mod pass;
mod pull;
mod tasks;
mod trash;
mod under_way;
mod watching;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use beside::Beside;
use checkpoints::Checkpoints;
use counting::{CountedFolder, Counting};
pub use pass::{Pass, PassState, stopped};
use pull::Pulls;
pub use pull::{Pull, PullState};
use tasks::{Tasks, failure_of};
use under_way::UnderWay;
use watching::{Checked, Trouble, Watch};

use crate::config;
use crate::engine::{Activity, Engine, Pulled, machine};
use crate::mirror::lock::Lock;
use crate::mirror::{Mirror, marker};
use crate::model::{
    Code, Effect, EffectId, Event, Found, LONG_BODY, Lent, MirrorPath, Outcome, Request, StorageEffect,
    Timestamp,
};
use crate::service::{Client, Downloader, Obstacle};
use crate::store::StoreError;

/// How long what is under way may take when the daemon stops.
const STOP_WITHIN: Duration = Duration::from_secs(5);
/// How often the folder is scanned where it cannot be watched, and how often a watch is checked.
const WATCH_CHECK: Duration = Duration::from_secs(10);
/// How often the trash is looked through for days that are over.
const TRASH_CHECK: Duration = Duration::from_secs(3_600);
/// A turn of the loop that takes longer keeps everything else waiting, and is told of.
const LONG_TURN: Duration = Duration::from_millis(50);
/// After so long nothing else is begun in a turn; the step that is begun last may be a long one.
const TURN_ENDS: Duration = Duration::from_millis(20);
/// How often a client that waits for a pass is told its progress.
const NEWS_EVERY_MS: i64 = 100;
/// A wall clock that is so far from a session was set, and did not drift.
const CLOCK_SET_MS: i64 = 60_000;
const DAY_MS: i64 = 86_400_000;

/// Tells the time: milliseconds since the Unix epoch that never go back and go on through a suspend.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Everything that a run needs.
pub struct Daemon {
    /// The state machine.
    pub engine: Engine,
    /// The edge to the service.
    pub client: Arc<Client>,
    /// The edge to signed links, which knows no token.
    pub downloader: Arc<Downloader>,
    /// The edge to the folder.
    pub mirror: Arc<Mirror>,
    /// The time.
    pub clock: Clock,
    /// How long deleted files are waited for, in milliseconds: a full pass waits with them.
    pub grace_ms: i64,
    /// How many days the mirror's trash is kept.
    pub trash_days: u32,
    /// The config's patterns of what is ignored.
    pub ignore: Vec<String>,
    /// The folder could not be read when the run was counted in it, so whether it is an older copy is not known yet.
    pub awaits_folder: bool,
    /// Whether the run ends when the machine's clock is set, as on a machine without a clock of its own that has
    /// learned the time: history, log and trash are dated by the time of the session's start plus what has passed since.
    pub follows_clock: bool,
    /// The count of this run in the folder and the state; `None` if the folder could not be counted.
    pub count: Option<u64>,
    /// Keeps others out of the folder. An act on disk cannot be called back: each that may write holds the lock, too, so that
    /// no other run begins beside one that outlives its run.
    pub lock: Arc<Lock>,
}

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The shutdown future was ready.
    Stopped,
    /// The observer had seen enough.
    Satisfied,
    /// The folder can be read, and could not be read when the session was opened, or an older copy was put in its place.
    /// Another session compares it with the state before anything in it is believed.
    FolderCame,
    /// The machine's clock was set. Another session dates what comes by it.
    ClockWasSet,
}

/// What the observer is shown after each turn.
pub trait Observer {
    /// Looks at the engine and at what happened since the last turn; `false` ends the loop.
    ///
    /// # Errors
    /// [`StoreError`] when the engine's summary cannot be read; the loop ends with it.
    fn turn(&mut self, engine: &Engine, happened: &[Activity], now: Timestamp) -> Result<bool, StoreError>;

    /// Is told before each turn for how long the longest running effect has not been heard of.
    fn silence(&mut self, _longest: Duration) {}

    /// When [`Observer::turn`] wants to be called again at the latest.
    fn wakeup(&self) -> Option<Duration> {
        None
    }
}

/// A wish from outside the loop, with a way to say what became of it.
#[derive(Debug)]
pub struct Wish {
    /// What is wished for.
    pub request: Request,
    /// Takes the news; the client may stop listening at any time.
    pub news: mpsc::UnboundedSender<News>,
}

/// What became of a wish.
#[derive(Debug, Clone)]
pub enum News {
    /// The engine has taken it in.
    Taken,
    /// How far the full pass is; the last one says how it ended.
    Pass(Box<Pass>, PassState),
    /// How far the pull is; the last one says how it ended.
    Pull(Box<Pulled>, PullState),
    /// What became of a change of a file: done, or one sentence why not.
    Told(Result<(), String>),
    /// These requests may be made.
    Lent(Lent),
    /// What a search at the service found, or one sentence why there is nothing.
    Found(Result<Found, String>),
}

/// A full pass under way, and who waits for it.
struct Asked {
    pass: Pass,
    told_at: Timestamp,
    listeners: Vec<mpsc::UnboundedSender<News>>,
}

impl Daemon {
    /// Runs until `shutdown` is ready or the observer has seen enough. `wishes` come from the control socket.
    ///
    /// # Errors
    /// [`StoreError`] when the state can no longer be recorded: nothing more may be done then.
    pub async fn run(
        mut self,
        wishes: mpsc::UnboundedReceiver<Wish>,
        shutdown: impl Future<Output = ()>,
        observer: &mut impl Observer,
    ) -> Result<Ended, StoreError> {
        let mut under_way = Tasks::default();
        self.engine.work_beside(LONG_BODY);
        let mut counting = Counting::new(Arc::clone(&self.mirror), Arc::clone(&self.lock), self.count);
        let ended = self.turn(&mut under_way, &mut counting, wishes, shutdown, observer).await;
        // What becomes of the rest after an error is not recorded: the same as after a crash. Requests and downloads end with
        // it at once, acts on disk when they are done.
        if let Ok(ended) = ended {
            if ended != Ended::FolderCame {
                counting.end(&mut self.engine, (self.clock)()).await?;
            }
            self.finish(under_way).await?;
        }
        ended
    }

    async fn turn(
        &mut self,
        under_way: &mut Tasks,
        counting: &mut Counting,
        mut wishes: mpsc::UnboundedReceiver<Wish>,
        shutdown: impl Future<Output = ()>,
        observer: &mut impl Observer,
    ) -> Result<Ended, StoreError> {
        let (hints, mut hinted) = mpsc::unbounded_channel();
        let news = hints.clone();
        let mut watch = Watch::new(Arc::clone(&self.mirror), hints);
        let stuck_told = Arc::new(AtomicBool::new(false));
        let mut begun = UnderWay::default();
        let mut checkpoints = Checkpoints::default();
        let mut memory = memory::Memory::default();
        let mut obstacle = None;
        let beside = Arc::new(Beside::new(self.ignore.clone()));
        let mut asked: Option<Asked> = None;
        let mut pulls = Pulls::default();
        let mut putting: VecDeque<mpsc::UnboundedSender<News>> = VecDeque::new();
        let mut searching: VecDeque<mpsc::UnboundedSender<News>> = VecDeque::new();
        let mut check = tokio::time::interval(WATCH_CHECK);
        check.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut trash = tokio::time::interval(TRASH_CHECK);
        trash.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        tokio::pin!(shutdown);
        let (mut woken, mut turn_began) = (Instant::now(), thread_cpu());
        let mut passed_over = false;
        let ended = loop {
            // A step that took long ends the turn: whatever came meanwhile is heard before the next step.
            let mut goes_on = woken.elapsed() >= TURN_ENDS && !passed_over;
            passed_over = goes_on;
            while !goes_on && let Some((id, effect)) = self.engine.next_effect((self.clock)())? {
                begun.begin(id);
                counting.begins(&effect, (self.clock)());
                self.begin(under_way, (&news, &beside), counting.folder(), id, effect);
                goes_on = woken.elapsed() >= TURN_ENDS;
            }
            let sleep = if goes_on {
                Duration::ZERO
            } else {
                let now = (self.clock)();
                for told in self.engine.take_told() {
                    // In the order in which they were asked for; the client may have gone already.
                    drop(putting.pop_front().map(|news| news.send(News::Told(told))));
                }
                for found in self.engine.take_found() {
                    drop(searching.pop_front().map(|news| news.send(News::Found(found))));
                }
                let happened = self.engine.take_activities();
                self.follow_pass(&mut asked, &happened, now)?;
                pulls.follow(&mut self.engine, now);
                observer.silence(begun.silence());
                let count_at = counting.go_on(&happened, &mut self.engine, now)?;
                if !observer.turn(&self.engine, &happened, now)? {
                    break Ended::Satisfied;
                }
                self.sleep(now, count_at, asked.is_some() || pulls.is_any(), observer)
            };
            checkpoints.begin_if_due(&self.engine);
            let spent = std::mem::replace(&mut turn_began, thread_cpu());
            if woken.elapsed() >= LONG_TURN {
                let cpu = turn_began.saturating_sub(spent).as_millis();
                tracing::debug!(
                    "a turn of the loop took {} ms, {cpu} of them CPU",
                    woken.elapsed().as_millis()
                );
            }
            // In this order on purpose: a tie must not be decided by chance.
            tokio::select! {
                biased;
                () = &mut shutdown => break Ended::Stopped,
                Some(done) = under_way.all.join_next_with_id() => {
                    woken = Instant::now();
                    if let Some((id, outcome)) = under_way.answer(done) {
                        begun.end(id);
                        if self.awaits_folder && outcome.shows_folder() {
                            break Ended::FolderCame;
                        }
                        let is_answer = matches!(outcome, Outcome::Service(_));
                        self.engine.handle(Event::Done { id, outcome }, (self.clock)())?;
                        if is_answer {
                            self.tell_obstacle(&mut obstacle)?;
                        }
                        if let Some(found) = beside.news() {
                            let told = found.alike.as_ref().map(|(reason, action)| (reason.as_str(), *action));
                            machine::tell(&mut self.engine, Code::AlikeNames, told, (self.clock)())?;
                            machine::note_unsynced(&mut self.engine, &found.unsynced)?;
                        }
                    }
                }
                Some(noted) = counting.next() => {
                    woken = Instant::now();
                    counting.noted(noted, &mut self.engine)?;
                }
                Some(event) = hinted.recv() => {
                    woken = Instant::now();
                    begun.hear(&event);
                    self.engine.handle(event, (self.clock)())?;
                    while let Ok(event) = hinted.try_recv() {
                        begun.hear(&event);
                        self.engine.handle(event, (self.clock)())?;
                    }
                }
                Some(wish) = wishes.recv() => {
                    woken = Instant::now();
                    if matches!(wish.request, Request::Put(_)) {
                        putting.push_back(wish.news.clone());
                    }
                    if matches!(wish.request, Request::Search(_)) {
                        searching.push_back(wish.news.clone());
                    }
                    self.take_up(wish, &mut asked, &mut pulls)?;
                }
                _ = check.tick() => {
                    woken = Instant::now();
                    // Summer time begins and ends while a daemon runs.
                    self.engine.set_utc_offset(utc_offset_seconds());
                    self.take_in(watch.check())?;
                    if self.follows_clock && was_set(wall_now(), (self.clock)()) {
                        break Ended::ClockWasSet;
                    }
                }
                _ = trash.tick() => {
                    woken = Instant::now();
                    let before = self.engine.believed_time().plus_ms(-i64::from(self.trash_days) * DAY_MS);
                    trash::empty(&self.mirror, &self.lock, &stuck_told, before);
                }
                () = tokio::time::sleep(sleep) => woken = Instant::now(),
            }
            memory.give_back_if_freed(&mut self.engine);
            if counting.folder().went_back() {
                break Ended::FolderCame;
            }
        };
        Ok(ended)
    }

    fn take_up(
        &mut self,
        wish: Wish,
        asked: &mut Option<Asked>,
        pulls: &mut Pulls,
    ) -> Result<(), StoreError> {
        let now = (self.clock)();
        if let Request::Lend(slots) = wish.request {
            let news = match self.engine.lend(slots, now)? {
                Ok(lent) => News::Lent(lent),
                Err(at) => News::Told(Err(at.since_ms(now).to_string())),
            };
            drop(wish.news.send(news));
            return Ok(());
        }
        let passes = matches!(wish.request, Request::FullPass | Request::DeepPass);
        let pulled = matches!(wish.request, Request::Pull(_));
        self.engine.handle(Event::Asked(wish.request), now)?;
        // The client may have gone already; so below.
        drop(wish.news.send(News::Taken));
        if pulled {
            pulls.begin(&self.engine, wish.news, now);
        } else if passes {
            // What the later one means may have been looked at already: the pass begins anew, for all who wait.
            let mut listeners = asked.take().map(|asked| asked.listeners).unwrap_or_default();
            listeners.push(wish.news);
            *asked = Some(Asked { pass: Pass::new(self.grace_ms, now), told_at: now, listeners });
        }
        Ok(())
    }

    /// Tells those who wait how far the pass is. When it has ended, however it did, polling goes on.
    fn follow_pass(
        &mut self,
        asked: &mut Option<Asked>,
        happened: &[Activity],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Some(Asked { pass, told_at, listeners }) = asked else { return Ok(()) };
        if happened.is_empty() && now.since_ms(*told_at) < NEWS_EVERY_MS {
            return Ok(());
        }
        let state = pass.take_in(self.engine.summary(now)?, happened, now);
        *told_at = now;
        for listener in &*listeners {
            drop(listener.send(News::Pass(Box::new(pass.clone()), state)));
        }
        match state {
            PassState::UnderWay => {}
            // Nothing waits for the user here; but what can be looked at still is.
            PassState::Stopped => listeners.clear(),
            PassState::Over | PassState::Stuck => {
                self.engine.end_pass();
                *asked = None;
            }
        }
        Ok(())
    }

    /// Tells what stands in the way to the service, when that is known anew. `told`: what was told last.
    fn tell_obstacle(&mut self, told: &mut Option<Option<Obstacle>>) -> Result<(), StoreError> {
        let found = self.client.obstacle();
        if told.as_ref() == Some(&found) {
            return Ok(());
        }
        let words = found.as_ref().map(|obstacle| (obstacle.reason(), obstacle.mend()));
        let message = words.as_ref().map(|(reason, mend)| (reason.as_str(), *mend));
        machine::tell(&mut self.engine, Code::CannotConnect, message, (self.clock)())?;
        *told = Some(found);
        Ok(())
    }

    /// Tells what a check of the watch found, and scans where there is none.
    fn take_in(&mut self, checked: Checked) -> Result<(), StoreError> {
        let now = (self.clock)();
        if let Some(told) = checked.told {
            let told = told.as_ref().map(|Trouble { reason, action }| (reason.as_str(), action.as_str()));
            machine::tell(&mut self.engine, Code::NotWatched, told, now)?;
        }
        if checked.scans { self.engine.handle(Event::HintAll, now) } else { Ok(()) }
    }

    fn sleep(
        &self,
        now: Timestamp,
        count_at: Option<Timestamp>,
        awaited: bool,
        observer: &impl Observer,
    ) -> Duration {
        let next = self.engine.next_wakeup(now).into_iter().chain(count_at).min();
        let wakeup = next.map_or(60_000, |at| at.since_ms(now));
        let longest = if awaited { NEWS_EVERY_MS } else { 60_000 };
        let engine = Duration::from_millis(wakeup.clamp(1, longest).unsigned_abs());
        observer.wakeup().map_or(engine, |wanted| wanted.min(engine))
    }

    fn begin(
        &self,
        Tasks { all, downloads, failures }: &mut Tasks,
        (news, beside): (&mpsc::UnboundedSender<Event>, &Arc<Beside>),
        folder: &Arc<CountedFolder>,
        id: EffectId,
        effect: Effect,
    ) {
        let failure = failure_of(&effect);
        let task = if let Effect::Storage(StorageEffect::Download { link, part, size }) = effect {
            let tools = download::Tools {
                downloader: Arc::clone(&self.downloader),
                mirror: Arc::clone(&self.mirror),
                lock: Arc::clone(&self.lock),
                news: news.clone(),
            };
            let order = download::Order { id, link, part, size };
            downloads.retain(|download| !download.is_finished());
            let task = all.spawn(async move { (id, Outcome::Download(download::fetch(tools, order).await)) });
            downloads.push(task.clone());
            task
        } else if let Effect::Work(job) = effect {
            all.spawn_blocking(move || (id, Outcome::Work(job.run())))
        } else if effect.is_request() {
            let client = Arc::clone(&self.client);
            let folder = (!effect.only_looks()).then(|| Arc::clone(folder));
            all.spawn(async move {
                let outcome = match counting::may_be_sent(folder).await {
                    Ok(()) => client.perform(&effect).await,
                    Err(error) => Err(error),
                };
                (id, Outcome::Service(outcome))
            })
        } else {
            let mirror = Arc::clone(&self.mirror);
            // Hashing only reads, and may take minutes: nothing waits for it.
            let reads = matches!(effect, Effect::Storage(StorageEffect::Hash(_)));
            let lock = (!reads).then(|| Arc::clone(&self.lock));
            let beside = Arc::clone(beside);
            all.spawn_blocking(move || {
                let outcome = Outcome::Disk(mirror.perform(&effect));
                beside.look(&outcome);
                drop(lock);
                (id, outcome)
            })
        };
        failures.push((task.id(), id, failure));
    }

    async fn finish(&mut self, mut tasks: Tasks) -> Result<(), StoreError> {
        // They are taken up again where they were.
        for download in &tasks.downloads {
            download.abort();
        }
        let all = async {
            while let Some(done) = tasks.all.join_next_with_id().await {
                if let Some((id, outcome)) = tasks.answer(done) {
                    self.engine.handle(Event::Done { id, outcome }, (self.clock)())?;
                }
            }
            Ok::<(), StoreError>(())
        };
        // What does not end in time is like a crash at that moment.
        tokio::time::timeout(STOP_WITHIN, all).await.unwrap_or(Ok(()))?;
        self.engine.end()
    }
}

/// The real clock: the wall's time at the start plus what has passed since on the boot-time clock, which neither goes
/// back nor stops in a suspend.
#[must_use]
pub fn real_clock() -> Clock {
    let start = wall_now();
    let boot = boot_ms();
    Arc::new(move || start.plus_ms(boot_ms() - boot))
}

/// The wall's time.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "drivers are where time comes from")]
pub fn wall_now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Whether the wall's clock was set since `session`, the session's time, began. No time of a session goes back; another session
/// takes no time of the state for a later one than its own.
fn was_set(wall: Timestamp, session: Timestamp) -> bool {
    wall.since_ms(session).abs() > CLOCK_SET_MS
}

/// What this place's time is ahead of UTC at this moment.
#[must_use]
pub fn utc_offset_seconds() -> i32 {
    let now = jiff::Timestamp::from_millisecond(wall_now().0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    jiff::tz::TimeZone::system().to_offset(now).seconds()
}

/// Which start of the machine this is, and what `clock` says of that moment; `None` where the system does not tell.
#[must_use]
pub fn machine_start(clock: &Clock) -> Option<(String, Timestamp)> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some((boot.trim().to_owned(), clock().plus_ms(-boot_ms())))
}

fn boot_ms() -> i64 {
    let clock = rustix::time::ClockId::Boottime;
    let time = rustix::time::clock_gettime(clock);
    time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
}

/// The processor time of this thread so far.
fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// `bytes` of fresh randomness in hex, for a name that nothing has.
#[must_use]
pub fn fresh_tag(bytes: usize) -> String {
    fresh_seed().iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}

/// Fresh randomness for ids.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "drivers are where randomness comes from")]
pub fn fresh_seed() -> [u8; 32] {
    let mut seed = [0; 32];
    for part in seed.chunks_mut(16) {
        part.copy_from_slice(uuid::Uuid::new_v4().as_bytes());
    }
    seed
}

/// `a/../b` is `b`, as a shell has it.
fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

/// A path the user typed, as a place in the mirror: there or gone, by whatever links it is reached. A relative one that leads
/// nowhere into the mirror is taken from its root, but in the folder of another mirror, where that one's file is meant.
#[must_use]
pub fn place_in(root: &Path, typed: &Path) -> Option<MirrorPath> {
    let absolute = without_dots(&std::path::absolute(typed).ok()?);
    let inside = absolute.strip_prefix(root).ok().map(ToOwned::to_owned).or_else(|| {
        let (real_root, real) = (config::real(root), config::real(&absolute));
        real.strip_prefix(real_root).ok().map(ToOwned::to_owned)
    });
    let of_another =
        |here: &Path| here.ancestors().any(|up| up.join(marker::FOLDER).join(marker::FILE).exists());
    let from_root = || {
        let here = config::real(&std::path::absolute(".").ok()?);
        (typed.is_relative() && !of_another(&here)).then(|| typed.to_owned())
    };
    let inside = inside.or_else(from_root)?;
    MirrorPath::new(inside.to_str()?.trim_end_matches('/')).ok()
}
