//! A run: the engine, its world and a script, moment by moment.
//!
//! Time stands still while something happens and jumps to whatever is due next. Requests reach the service and their
//! answers come back after delays of their own, so several overtake each other; the disk does one thing at a time, bit
//! by bit, while people go on. `acts.rs` has what people and bad luck do in it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use espejo::engine::Engine;
use espejo::model::{
    DiskReply, Effect, EffectId, Event, MirrorPath, Outcome, PageId, PageSettings, RootState, Timestamp,
};
use espejo::plan::ignore::is_ignored;
use espejo::store::Store;
use tracing::Level;

use crate::blocks;
use crate::checks::{Checks, Failure, broken, nothing_lost};
use crate::disk::Job;
use crate::evidence::Evidence;
use crate::folder::{Folder, Traits};
use crate::ignoring::IgnoringWorld;
use crate::luck::Luck;
use crate::news::News;
use crate::owner::{self, OwnerWorld};
use crate::quiet;
use crate::returning::Returning;
use crate::script::Scene;
use crate::service::{Service, Weather};
use crate::stored::{self, StoredWorld, fetch::Beside};
use crate::tally::Tally;
use crate::trace::{Trace, brief_outcome};
use crate::users::{Deed, is_conflict_copy};
use crate::words::{Ledger, Word, words_in};

/// Something that will happen.
#[derive(Debug)]
pub(crate) enum Due {
    /// A request reaches the service.
    Arrive { life: u32, id: EffectId, effect: Effect, asked_ms: i64 },
    /// An answer reaches the engine.
    Answer { life: u32, id: EffectId, outcome: Outcome, looked: Option<(u64, PageId)>, asked: Option<Effect> },
    /// The disk does its next bit.
    Disk { life: u32 },
    /// The watcher says something.
    Hint(Event),
    /// What runs beside the disk's line does its next bit.
    Beside { life: u32, id: EffectId, beside: Beside },
    /// A person does something.
    Deed(Deed),
    /// Bad luck ends.
    Heal(Heal),
    /// The process starts again.
    Start,
    /// Another process makes a request that it was lent.
    Borrowed,
}

/// Bad luck that ends.
#[derive(Debug, Clone)]
pub(crate) enum Heal {
    Weather(Weather),
    Show(PageId),
    Root,
    Full,
    ReadOnly,
    Unseal(u64),
    /// What has this number gets its name back.
    Name(u64, MirrorPath),
    /// A person ends a pause.
    Pause,
}

/// The moment at which every run begins.
pub(crate) const BEGINNING_MS: i64 = 1_750_000_000_000;
/// The busiest minute of many thousand runs has a few hundred.
const HAPPENINGS_A_MINUTE: u32 = 20_000;

/// A run.
pub(crate) struct Run {
    pub(crate) scene: Scene,
    pub(crate) luck: Luck,
    pub(crate) folder: Folder,
    pub(crate) service: Service,
    pub(crate) ledger: Ledger,
    pub(crate) checks: Checks,
    pub(crate) evidence: Evidence,
    pub(crate) stored: StoredWorld,
    pub(crate) owner: OwnerWorld,
    /// Blocks that a person cut out of files and pastes again.
    pub(crate) returning: Returning,
    pub(crate) ignoring: IgnoringWorld,
    /// The workspace goes down only.
    pub(crate) goes_down: bool,
    pub(crate) trace: Trace,
    /// How often each act and fault came by.
    pub(crate) tally: Tally,
    /// How many steps of the script have been begun.
    pub(crate) steps: usize,
    pub(crate) now_ms: i64,
    /// How far the machine's clock is ahead of the true time.
    pub(crate) clock_ms: i64,
    /// Whether the machine's clock was set forward: a process that starts then cannot tell how long the last one is ago.
    pub(crate) clock_jumped: bool,
    /// How far the running process's clock is, which it set by the machine's when it started.
    pub(crate) engine_ms: i64,
    pub(crate) queue: BTreeMap<(i64, u64), Due>,
    /// The process dies after so many more moments.
    pub(crate) dies_in: Option<u32>,
    /// The process dies when so many more of its changes, and one, are carried out.
    pub(crate) dies_after: Option<u32>,
    /// While the process is alive.
    pub(crate) engine: Option<Engine>,
    /// While it is not.
    pub(crate) store: Option<Store>,
    pub(crate) crashes: u32,
    /// Which life of the process this is.
    pub(crate) life: u32,
    pub(crate) disk: VecDeque<(EffectId, Job)>,
    pub(crate) order: u64,
    idle_wakes: u32,
    /// When the last hint was heard.
    hinted: Option<Timestamp>,
    /// The minute of the last happening, and how many there were in it.
    minute: (i64, u32),
    pub(crate) changed: bool,
    /// What people will do once the folder is there again, each with when they would have done it.
    pub(crate) postponed: Vec<(i64, Deed)>,
    /// A pass was asked for and is not over.
    pub(crate) passing: bool,
    /// When a page was made for a file last. A note as young as that follows its file into another folder.
    pub(crate) page_made_ms: i64,
    /// Pages that another one may have been made instead of, for a file that moved. What the app did to them keeps them.
    pub(crate) remade: BTreeSet<PageId>,
    /// The second machine, while this one is looked at.
    pub(crate) other: Option<Box<Self>>,
    /// Which machine this is.
    pub(crate) number: usize,
    /// How much of the service's news its checks have heard.
    pub(crate) heard: usize,
}

impl Run {
    /// The world of a scene, with the engine just started.
    pub(crate) fn new(scene: Scene, loud: bool) -> Result<Self, Failure> {
        let mut luck = Luck::new(scene.seed, 2);
        let mut ledger = Ledger::default();
        let mut service = Service::new(scene.seed, scene.limit());
        let mut pages: Vec<PageId> = Vec::new();
        for _ in 0..scene.pages {
            let parent =
                if pages.is_empty() || luck.chance(45) { None } else { Some(luck.pick(&pages).clone()) };
            let content = blocks::first_content(&mut luck, &mut ledger);
            ledger.typed(&blocks::all_words(&content));
            let title = format!("{} {}", luck.pick(&["Home", "Plan", "Ideas", "Reunión"]), ledger.title());
            let page = service.world.app_create(&service.workspace.clone(), parent.as_ref(), &title, content);
            service.learn(&page);
            pages.push(page);
        }
        if scene.has_canvases() {
            Self::first_canvases(&mut service, &mut ledger, &scene);
        }
        let stored = StoredWorld::new(&scene, &mut service);
        service.set_lag(&scene);
        let mut run = Self::machine(scene, luck, service, loud)?;
        (run.ledger, run.stored) = (ledger, stored);
        run.note_gone_and_back();
        run.start()?;
        if scene.two == 1 {
            run.add_machine()?;
        }
        Ok(run)
    }

    /// A machine with an empty folder, whose process has not begun.
    pub(crate) fn machine(scene: Scene, luck: Luck, service: Service, loud: bool) -> Result<Self, Failure> {
        let traits = Traits {
            grain_ns: i64::from(scene.grain_us).max(0) * 1_000 + i64::from(scene.grain_us == 0),
            births: scene.births == 1,
            reuse_inodes: scene.reuse == 1,
        };
        let mut folder = Folder::new(traits);
        folder.set_clock(BEGINNING_MS);
        Ok(Self {
            scene,
            luck,
            folder,
            service,
            ledger: Ledger::default(),
            checks: Checks::default(),
            evidence: Evidence::default(),
            stored: StoredWorld::default(),
            owner: OwnerWorld::default(),
            returning: Returning::default(),
            ignoring: IgnoringWorld::default(),
            goes_down: scene.down == 1,
            trace: Trace::new(loud),
            tally: Tally::default(),
            steps: 0,
            now_ms: BEGINNING_MS,
            clock_ms: 0,
            engine_ms: 0,
            clock_jumped: false,
            queue: BTreeMap::new(),
            dies_in: None,
            dies_after: None,
            engine: None,
            store: Some(Store::in_memory().map_err(|error| stopped("no database", &error))?),
            crashes: 0,
            life: 0,
            disk: VecDeque::new(),
            order: 0,
            idle_wakes: 0,
            hinted: None,
            minute: (0, 0),
            changed: false,
            postponed: Vec::new(),
            passing: false,
            page_made_ms: i64::MIN / 2,
            remade: BTreeSet::new(),
            other: None,
            number: 0,
            heard: 0,
        })
    }

    /// Lets time go on until `until_ms`, with everything that is due before.
    pub(crate) fn pass_until(&mut self, until_ms: i64) -> Result<(), Failure> {
        let number = self.number;
        loop {
            self.turn_to_next();
            let (due, wake) = self.next_times();
            let next = due.min(wake);
            if next > until_ms {
                self.turn_to(number);
                self.set_now(until_ms);
                return Ok(());
            }
            self.set_now(next);
            if due <= wake {
                if let Some((_, due)) = self.queue.pop_first() {
                    self.happen(due)?;
                    self.idle_wakes = 0;
                    self.is_no_storm()?;
                }
            } else {
                self.idle_wakes += 1;
                if self.idle_wakes > 1_000 {
                    return broken("calm", "the engine wakes up a thousand times for nothing");
                }
            }
            self.pump()?;
            self.end_pass()?;
            if self.idle_wakes > 0 && wake == self.now_ms {
                // A daemon's timer takes a moment too.
                self.set_now(self.now_ms + 1);
            }
        }
    }

    /// When the next thing happens in this machine's world, and when its process wakes by itself.
    pub(crate) fn next_times(&self) -> (i64, i64) {
        let due = self.queue.first_key_value().map_or(i64::MAX, |((at, _), _)| *at);
        let wake = self.engine.as_ref().and_then(|engine| engine.next_wakeup(self.engine_now()));
        (due, wake.map_or(i64::MAX, |at| (at.0 - self.engine_ms).max(self.now_ms)))
    }

    /// Work that begets work for ever is quick enough to never let time go on.
    fn is_no_storm(&mut self) -> Result<(), Failure> {
        let minute = self.now_ms / 60_000;
        let (of, happened) = self.minute;
        self.minute = (minute, if of == minute { happened + 1 } else { 1 });
        if happened > HAPPENINGS_A_MINUTE {
            return broken("calm", format!("over {HAPPENINGS_A_MINUTE} things happen within a minute"));
        }
        Ok(())
    }

    pub(crate) fn set_now(&mut self, now_ms: i64) {
        self.now_ms = self.now_ms.max(now_ms);
        self.folder.set_clock(self.now_ms + self.clock_ms);
    }

    /// What the process takes for now.
    pub(crate) fn engine_now(&self) -> Timestamp {
        Timestamp(self.now_ms + self.engine_ms)
    }

    /// Puts something into the future.
    pub(crate) fn later(&mut self, delay_ms: i64, due: Due) {
        self.order += 1;
        self.queue.insert((self.now_ms + delay_ms, self.order), due);
    }

    /// Notes a line.
    pub(crate) fn note(&mut self, what: std::fmt::Arguments<'_>) {
        let since_ms = self.now_ms - BEGINNING_MS;
        match self.number {
            0 => self.trace.note(since_ms, what),
            _ => self.trace.note(since_ms, format_args!("{what}  (2)")),
        }
    }

    fn happen(&mut self, due: Due) -> Result<(), Failure> {
        match due {
            Due::Arrive { life, id, effect, asked_ms } => self.arrive(life, id, &effect, asked_ms)?,
            Due::Answer { life, outcome, .. }
                if life == self.life && self.stored.copies.folder_came(&outcome) =>
            {
                self.die();
            }
            Due::Answer { life, id, outcome, looked, asked } if life == self.life => {
                self.note(format_args!("  {} ({})", brief_outcome(&outcome), id.0));
                if let Outcome::Disk(Ok(DiskReply::File(look))) = &outcome {
                    self.trace.text(&look.bytes);
                }
                if let Some((number, page)) = looked {
                    self.checks.delivered(number, &page, self.now_ms);
                    self.checks.fates.seen(&page, self.now_ms, &mut self.ledger);
                }
                self.note_outcome(&outcome);
                if let (Some(effect), Outcome::Service(result)) = (asked, &outcome) {
                    self.checks.fates.answered(&effect, result.as_ref().err(), self.now_ms);
                    if let (Effect::Storage(effect), Ok(reply)) = (&effect, result) {
                        self.stored_told(effect, reply);
                    }
                    self.canvas_answered(&effect, result);
                }
                self.tell(Event::Done { id, outcome })?;
                self.moment()?;
            }
            Due::Disk { life } if life == self.life => self.disk_step()?,
            Due::Beside { life, id, beside } if life == self.life => self.beside_step(life, id, beside)?,
            Due::Answer { .. } | Due::Disk { .. } | Due::Beside { .. } => {}
            Due::Hint(event) => self.tell(event)?,
            Due::Deed(act) => self.carry_out(act)?,
            Due::Heal(heal) => self.heal(&heal)?,
            Due::Start => self.start()?,
            Due::Borrowed => self.makes_borrowed_request()?,
        }
        let (pages, stored) = (std::mem::take(&mut self.changed), std::mem::take(&mut self.stored.changed));
        if pages || stored {
            self.note_evidence();
        }
        if pages {
            self.nothing_lost(false)?;
        }
        if stored {
            self.no_body_lost()?;
        }
        Ok(())
    }

    /// Something changed: the words must be counted.
    pub(crate) fn mark_changed(&mut self) {
        self.changed = true;
    }

    /// Whether every word is somewhere. In the end (`is_over`) no block may be left to a line that stands for it.
    pub(crate) fn nothing_lost(&self, is_over: bool) -> Result<(), Failure> {
        // What a person holds in hand, and all that lies on the other machine.
        let in_hand: Vec<&[u8]> = self.in_hand_texts().chain(self.texts_of_other()).collect();
        nothing_lost(&self.folder, &self.service, &in_hand, &self.ledger, is_over)
    }

    /// The texts that people hold in hand.
    pub(crate) fn in_hand_texts(&self) -> impl Iterator<Item = &[u8]> {
        self.deeds_to_come().map(Deed::held)
    }

    /// What people will do.
    pub(crate) fn deeds_to_come(&self) -> impl Iterator<Item = &Deed> {
        let planned =
            self.queue.values().filter_map(|due| if let Due::Deed(act) = due { Some(act) } else { None });
        planned.chain(self.postponed.iter().map(|(_, act)| act))
    }

    /// Tells the engine something, if it is alive to hear it.
    pub(crate) fn tell(&mut self, event: Event) -> Result<(), Failure> {
        let now = self.engine_now();
        // What an editor leaves behind while it saves is no page, and calls for nothing.
        // In the storage folder a scan has its time.
        let calls = |path: &MirrorPath| {
            !path.components().any(is_ignored)
                && !path.is_within(&stored::people::root())
                // What a person ignores calls for nothing either, and rules go a while after their file has changed.
                && self.scene.ignores == 0
        };
        if matches!(&event, Event::Hint(path) if calls(path)) {
            self.hinted = Some(now);
        }
        if let Some(engine) = &mut self.engine {
            engine.handle(event, now).map_err(|error| stopped("handle", &error))?;
            self.listen()?;
        }
        Ok(())
    }

    /// An editor that was open before the last push to some page saves what it has. Returns what that was.
    pub(crate) fn put_back_in_app(&mut self, number: usize) -> Option<String> {
        let app = (&self.service, &mut self.ledger);
        let (id, content) = self.checks.fates.old_text(number, app, self.now_ms)?;
        let words = blocks::all_words(&content);
        if (self.other.is_some() || self.recreates())
            && let Some(page) = self.service.world.page(&id)
        {
            // One machine sends the removed words again, as a new line; if somebody edits their line on the other machine
            // before it hears of that, the edited line is kept too. A page that was made anew may have the only other copy.
            let removed = blocks::all_words(&page.content).into_iter().filter(|word| !words.contains(word));
            removed.for_each(|word| self.ledger.copy(word));
        }
        self.service.save(&id, content);
        self.returning.saved_in_app(&id, self.now_ms);
        self.checks.hands.put_back(&id);
        self.tell_other(News::Saved(id.clone()));
        Some(format!("puts old text back in {} [{}]", self.named(&id), listed(&words)))
    }

    /// Takes effects from the engine until it has no more.
    pub(crate) fn pump(&mut self) -> Result<(), Failure> {
        for _ in 0..10_000 {
            let now = self.engine_now();
            let Some(engine) = &mut self.engine else { return Ok(()) };
            let effect = engine.next_effect(now).map_err(|error| stopped("next_effect", &error))?;
            self.listen()?;
            let Some((id, effect)) = effect else { return self.wakes_for_hints(now) };
            self.idle_wakes = 0;
            self.launch(id, effect)?;
            self.moment()?;
        }
        broken("calm", "ten thousand effects at one moment")
    }

    /// A hint is followed up when the file has settled, whatever else is due: an edit waits for nothing.
    fn wakes_for_hints(&self, now: Timestamp) -> Result<(), Failure> {
        let Some(engine) = self.engine.as_ref().filter(|_| self.hinted == Some(now)) else { return Ok(()) };
        let settled = now.plus_ms(PageSettings::default().settle_ms);
        // What comes back from the disk is acted upon when it is there; long work has its turn in the same line.
        let on_its_way =
            |due: &Due| matches!(due, Due::Answer { outcome: Outcome::Disk(_) | Outcome::Work(_), .. });
        let looks = !self.disk.is_empty() || self.queue.values().any(on_its_way);
        // A root that is not there is looked for at its own pace.
        let looks = looks || self.folder.root != RootState::Ready;
        match engine.next_wakeup(now).filter(|at| !looks && *at > settled) {
            Some(at) => {
                broken("quick", format!("a hint, and the next wake-up {} ms later", at.since_ms(now)))
            }
            None => Ok(()),
        }
    }

    fn launch(&mut self, id: EffectId, effect: Effect) -> Result<(), Failure> {
        let brief = self.brief(&effect);
        self.note(format_args!("> {brief} ({})", id.0));
        if let Effect::WriteFile { bytes, .. } = &effect {
            self.trace.text(bytes);
        }
        if let Effect::UpdatePage { content: Some(content), .. } = &effect {
            let lines: String = blocks::sent(content).iter().map(|block| format!("{block}\n")).collect();
            self.trace.text(lines.as_bytes());
        }
        self.checks.asked(&effect)?;
        self.nothing_asked_in_a_pause(&effect)?;
        self.nothing_ignored_is_touched(&effect)?;
        self.nothing_goes_up(&effect)?;
        self.no_title_is_taken_back(&effect)?;
        self.canvas_asked(&effect)?;
        if effect == Effect::Scan {
            self.evidence.scan_begins(self.now_ms);
            self.stored.checks.scan_ms = self.now_ms;
        }
        self.checks.fates.asked(&effect, &self.folder, &self.service, &self.ledger, self.now_ms)?;
        if let Effect::WriteFile { path, bytes, .. } = &effect {
            self.checks.fates.filed(&words_in(bytes));
            self.returning.written.insert(path.clone(), (self.now_ms, bytes.clone()));
            if is_conflict_copy(path) {
                words_in(bytes).into_iter().for_each(|word| self.ledger.collide(word));
            }
        }
        if let Effect::Storage(effect) = &effect {
            self.stored_asked(effect)?;
        }
        let life = self.life;
        if effect.is_request() {
            let travel =
                if self.luck.chance(5) { self.luck.between(0, 900) } else { self.luck.between(2, 120) };
            let asked_ms = self.now_ms;
            self.later(travel, Due::Arrive { life, id, effect, asked_ms });
        } else if let Effect::Work(job) = &effect {
            let outcome = Outcome::Work(job.run());
            let takes = self.luck.between(0, 400);
            self.later(takes, Due::Answer { life, id, outcome, looked: None, asked: None });
        } else if let Some(beside) = stored::fetch::beside(&effect) {
            let delay = self.luck.between(0, 20);
            self.later(delay, Due::Beside { life, id, beside });
        } else {
            self.disk.push_back((id, Job::begin(effect)));
            if self.disk.len() == 1 {
                self.later(0, Due::Disk { life });
            }
        }
        Ok(())
    }

    fn disk_step(&mut self) -> Result<(), Failure> {
        let Some((id, job)) = self.disk.front_mut() else { return Ok(()) };
        let (id, acts) = (*id, matches!(job, Job::Act(_)));
        let answer = job.step(&mut self.folder);
        let life = self.life;
        if let Some(result) = answer {
            let done = self.disk.pop_front();
            if acts && result.is_ok() {
                self.disk_acted(done.as_ref().map(|(_, job)| job));
            }
            if let Ok(DiskReply::Scan(_)) = &result {
                self.checks.hands.scanned();
                self.checks.canvas.hands.scanned();
            }
            self.spread_hints();
            let outcome = Outcome::Disk(result);
            let travel = self.luck.between(0, 3);
            let changed = acts && matches!(outcome, Outcome::Disk(Ok(_)));
            self.later(travel, Due::Answer { life, id, outcome, looked: None, asked: None });
            if changed && self.dies_of_change() {
                return Ok(());
            }
        }
        if !self.disk.is_empty() {
            let pause = if self.luck.chance(5) { self.luck.between(0, 300) } else { self.luck.between(0, 4) };
            self.later(pause, Due::Disk { life });
        }
        Ok(())
    }

    /// The watcher names what changed: late, twice, or never.
    pub(crate) fn spread_hints(&mut self) {
        for path in std::mem::take(&mut self.folder.touched) {
            // A name that is no path is no path of a hint either: what it lies in is named.
            let path = owner::in_sight(path);
            if self.luck.chance(u64::from(self.scene.hints_lost)) {
                continue;
            }
            let delay = self.luck.between(1, 150);
            self.later(delay, Due::Hint(Event::Hint(path.clone())));
            // Whoever changes a file has often opened it. Drawn from no luck, so that old scripts stay what they were.
            if (self.now_ms / 7 + i64::from(path.as_str().len() as u32)) % 3 == 0 {
                self.later(delay, Due::Hint(Event::Opened(path.clone())));
            }
            if self.luck.chance(8) {
                let delay = self.luck.between(1, 2_000);
                self.later(delay, Due::Hint(Event::Hint(path)));
            }
        }
    }

    /// One moment less to live, where that is counted.
    fn moment(&mut self) -> Result<(), Failure> {
        if runs_out(&mut self.dies_in) {
            self.die();
        }
        Ok(())
    }

    /// One more change is carried out. Whether the process dies of it.
    pub(crate) fn dies_of_change(&mut self) -> bool {
        let dies = runs_out(&mut self.dies_after);
        if dies {
            self.die();
        }
        dies
    }

    /// Hears what the engine logged.
    pub(crate) fn listen(&mut self) -> Result<(), Failure> {
        for (level, line) in quiet::heard() {
            self.trace.aside(format_args!("{level} {line}"));
            if level == Level::ERROR {
                return broken("quiet", line);
            }
        }
        Ok(())
    }
}

/// Counts down, where something is counted. Whether that was the last.
fn runs_out(left: &mut Option<u32>) -> bool {
    let is_last = *left == Some(0);
    *left = left.and_then(|left| left.checked_sub(1));
    is_last
}

/// Words on one line.
pub(crate) fn listed(words: &[Word]) -> String {
    words.iter().map(Word::to_string).collect::<Vec<_>>().join(" ")
}

/// The engine gave up.
pub(crate) fn stopped(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure { check: "engine", what: format!("{what}: {error}") }
}
