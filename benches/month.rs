//! Days on end with a large workspace, in virtual time: `cargo bench --bench month [-- DAYS [PAGES]]`, 3 days and 5,000
//! pages when nothing is said, 30 days are a month. The engine works on a real folder (in memory, where the system has
//! one) and on the emulator's world without a network; by day somebody edits on either side every few minutes. For each
//! day: requests, how old looks are, memory and the size of the state. It fails when memory grows, when looks grow
//! older, or when the state grows by more than what was written, and not when it is slow. Memory is that of all this
//! together; Linux only.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench reads the clock and prints")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]

#[path = "shared/blocks.rs"]
mod blocks;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use blocks::paragraph;
use espejo::emulator::{HttpRequest, Window, World};
use espejo::engine::Engine;
use espejo::mirror::Mirror;
use espejo::model::{
    BoardSettings, Effect, EffectId, Event, MirrorPath, Outcome, PageId, ServiceError, ServiceReply,
    Settings, Timestamp,
};
use espejo::service::wire::{self, WireAnswer};
use espejo::store::{ReadOnly, Store};
use serde_json::Value;

const DAY_MS: i64 = 86_400_000;
/// Between eight and six, so often somebody does something.
const DEED_MS: i64 = 6 * 60_000;
const TOP: usize = 50;
const BLOCKS: usize = 10;
/// Days after which nothing may grow any more: the first one mirrors.
const SETTLED: usize = 1;

struct Run {
    engine: Engine,
    world: World,
    mirror: Mirror,
    root: PathBuf,
    clock: Arc<AtomicI64>,
    pages: Vec<PageId>,
    /// What will be answered, and when.
    answers: BTreeMap<(i64, u64), (EffectId, Outcome)>,
    /// The list of pages, until somebody renames one, which nobody does.
    list: Option<ServiceReply>,
    requests: u64,
    deeds: u64,
}

/// What a day came to.
struct Day {
    resident_mb: f64,
    state_mb: f64,
    oldest_min: f64,
}

fn main() {
    let mut words = std::env::args().skip(1).filter_map(|word| word.parse::<usize>().ok());
    let (days, pages) = (words.next().unwrap_or(3), words.next().unwrap_or(5_000));
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let begin = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let state = dir.path().join("state");
    let mut run = Run::new(pages, dir.path(), &state, begin);
    println!("{pages} pages, {days} days");
    let mut all: Vec<Day> = Vec::new();
    for day in 0..days {
        let (started, requests, deeds) = (Instant::now(), run.requests, run.deeds);
        run.until(begin + (day as i64 + 1) * DAY_MS);
        let now = run.now();
        let counts = ReadOnly::open(&state).unwrap().unwrap().counts(now).unwrap();
        let age = |at: Option<Timestamp>| at.map_or(0.0, |at| now.since_ms(at) as f64 / 60_000.0);
        let files = fs::read_dir(&state).unwrap();
        let bytes: u64 = files.map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        let (oldest_min, median_min) = (age(counts.oldest_look), age(counts.median_look));
        let (resident_mb, state_mb) = (resident_mb(), bytes as f64 / 1e6);
        println!(
            "day {:>2}: {:>6} requests, {} changes, {} mirrored; looks {median_min:.0} min old in the middle, {oldest_min:.0} \
             at most; {resident_mb:.1} MB resident, {state_mb:.1} MB of state; {:.1} s",
            day + 1,
            run.requests - requests,
            run.deeds - deeds,
            counts.mirrored,
            started.elapsed().as_secs_f64(),
        );
        all.push(Day { resident_mb, state_mb, oldest_min });
    }
    let mut missed = false;
    let mut goal = |what: &str, value: f64, most: f64| {
        println!("{what}: {value:.2}, at most {most:.2}{}", if value <= most { "" } else { ": MISSED" });
        missed |= value > most;
    };
    if let (Some(first), Some(last)) = (all.get(SETTLED), all.last()) {
        let more = (all.len() - 1 - SETTLED) as f64;
        goal("memory of the last day, of the second's", last.resident_mb / first.resident_mb, 1.1);
        goal("oldest look of the last day, of the second's", last.oldest_min / first.oldest_min, 1.2);
        // A change is some rows and a compressed version or two.
        let each_kb =
            (last.state_mb - first.state_mb) * 1e3 / (more * (10 * 3_600_000 / DEED_MS) as f64).max(1.0);
        goal("growth of the state for each change, kB", each_kb, 20.0);
    }
    std::process::exit(i32::from(missed));
}

impl Run {
    fn new(count: usize, dir: &Path, state: &Path, begin: i64) -> Self {
        let mut world = World::new(1);
        world.set_limit(Some(60), Window::SlidingLog);
        let space = world.add_workspace("Team", "team");
        let mut pages: Vec<PageId> = Vec::new();
        for n in 0..count {
            let parent = (n >= TOP).then(|| pages[n % TOP].clone());
            let content = (0..BLOCKS).map(|at| line(n, at, "as it was made")).collect();
            pages.push(world.app_create(&space, parent.as_ref(), &format!("Page {n:05}"), content));
        }
        let clock = Arc::new(AtomicI64::new(begin));
        let told = Arc::clone(&clock);
        let root = dir.join("mirror");
        let mirror =
            Mirror::with_clock(&root, "bench", true, move || Timestamp(told.load(Ordering::Relaxed)))
                .unwrap();
        let store = Store::open(state).unwrap().store;
        let settings = Settings { boards: BoardSettings::OFF, ..Settings::default() };
        let settings = Settings {
            storage: espejo::model::StorageSettings {
                mode: espejo::model::StorageMode::Off,
                workspace: None,
                max_download: None,
            },
            ..settings
        };
        let engine = Engine::open(store, settings, [7; 32], Timestamp(begin)).unwrap();
        let answers = BTreeMap::new();
        Self { engine, world, mirror, root, clock, pages, answers, list: None, requests: 0, deeds: 0 }
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.clock.load(Ordering::Relaxed))
    }

    fn until(&mut self, end: i64) {
        loop {
            while let Some((id, effect)) = self.engine.next_effect(self.now()).unwrap() {
                self.perform(id, &effect);
            }
            self.engine.take_activities();
            let now = self.now().0;
            let answer = self.answers.first_key_value().map_or(i64::MAX, |((at, _), _)| *at);
            let wake = self.engine.next_wakeup(Timestamp(now)).map_or(i64::MAX, |at| at.0.max(now + 1));
            let deed = (now / DEED_MS + 1) * DEED_MS;
            let next = answer.min(wake).min(deed).min(end);
            self.clock.store(next.max(now), Ordering::Relaxed);
            if next >= end {
                return;
            }
            if next == answer {
                if let Some((_, (id, outcome))) = self.answers.pop_first() {
                    self.engine.handle(Event::Done { id, outcome }, self.now()).unwrap();
                }
            } else if next == deed && (8 * 3_600_000..18 * 3_600_000).contains(&(next % DAY_MS)) {
                self.deed();
            }
        }
    }

    fn perform(&mut self, id: EffectId, effect: &Effect) {
        let (outcome, takes_ms) = match effect.is_request() {
            true => (Outcome::Service(self.ask(effect)), 80),
            false => (Outcome::Disk(self.mirror.perform(effect)), 2),
        };
        self.answers.insert((self.now().0 + takes_ms, id.0), (id, outcome));
    }

    fn ask(&mut self, effect: &Effect) -> Result<ServiceReply, ServiceError> {
        self.requests += 1;
        let is_list = matches!(effect, Effect::ListPages { .. });
        if let Effect::ListPages { known, .. } = effect
            && let Some(list) = &self.list
        {
            // Made and read anew it would be most of the run.
            let is_known = matches!(list, ServiceReply::Pages { hash, .. } if *known == Some(*hash));
            return Ok(if is_known { ServiceReply::PagesAsKnown } else { list.clone() });
        }
        let request = wire::request_of(effect).unwrap();
        let request = HttpRequest {
            method: request.method.to_owned(),
            path: request.path,
            query: request.query,
            authorization: Some(format!("Bearer {}", self.world.token())),
            body: request.body.unwrap_or_default(),
        };
        let response = self.world.answer(&request, self.now());
        if self.world.log().entries().len() > 1_000 {
            self.world.log_mut().clear();
        }
        let header = |name: &str| response.header(name).map(str::to_owned);
        let answer = WireAnswer {
            status: response.status,
            content_type: header("content-type"),
            retry_after: header("retry-after"),
            date: header("date"),
            location: header("location"),
            body: response.body.clone(),
        };
        let reply = wire::read_answer(effect, &answer);
        if is_list {
            self.list = reply.as_ref().ok().cloned();
        }
        reply
    }

    /// A user changes a line, here or there in turn.
    fn deed(&mut self) {
        self.deeds += 1;
        // Some pages are worked at far more than others.
        let n = (self.deeds * self.deeds * 7 + self.deeds / 5) as usize % self.pages.len();
        if self.deeds.is_multiple_of(2) {
            let page = &self.pages[n];
            let mut content = self.world.page(page).unwrap().content.clone();
            if content.len() > 3 {
                content[3] = line(n, 3, &format!("changed in the app for the {}th time", self.deeds));
                assert!(self.world.app_edit(page, content));
            }
            return;
        }
        let place = match n {
            _ if n < TOP => format!("Team/Pages/Page {n:05}.md"),
            _ => format!("Team/Pages/Page {:05}/Page {n:05}.md", n % TOP),
        };
        // It may not be here yet.
        let Ok(text) = fs::read_to_string(self.root.join(&place)) else { return };
        let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with("Mine")).collect();
        let text = format!("{}\n\nMine, number {}.\n", kept.join("\n").trim_end(), self.deeds);
        fs::write(self.root.join(&place), text).unwrap();
        let hint = Event::Hint(MirrorPath::new(&place).unwrap());
        self.engine.handle(hint, self.now()).unwrap();
    }
}

fn resident_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kb.unwrap_or(0.0) / 1_024.0
}

fn line(page: usize, at: usize, words: &str) -> Value {
    let text = format!("Line {at} of page {page}, {words}: some forty letters more, as lines have.");
    paragraph(&format!("{page}-{at}"), &text)
}
