//! The engine on a real folder and the emulator, in a time that only the test moves.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use espejo::emulator::{HttpRequest, Window, World};
use espejo::engine::Engine;
use espejo::mirror::Mirror;
use espejo::model::{
    Blocks, Effect, EffectId, Event, Outcome, PageId, ServiceError, ServiceReply, Settings, Timestamp,
    WorkspaceId,
};
use espejo::service::wire::{self, WireAnswer};
use espejo::store::Store;
use rusqlite::Connection;
use serde_json::json;

const BEGIN: i64 = 1_750_000_000_000;
const PER_MINUTE: u32 = 6;

fn ask(world: &mut World, effect: &Effect, now: Timestamp) -> Result<ServiceReply, ServiceError> {
    let request = wire::request_of(effect).unwrap();
    let request = HttpRequest {
        method: request.method.to_owned(),
        path: request.path,
        query: request.query,
        authorization: Some(format!("Bearer {}", world.token())),
        body: request.body.unwrap_or_default(),
    };
    let response = world.answer(&request, now);
    let answer = WireAnswer {
        status: response.status,
        content_type: response.header("content-type").map(str::to_owned),
        retry_after: response.header("retry-after").map(str::to_owned),
        date: response.header("date").map(str::to_owned),
        location: response.header("location").map(str::to_owned),
        body: response.body,
    };
    wire::read_answer(effect, &answer)
}

/// A folder, and a service with one workspace.
pub(super) struct Bed {
    pub(super) world: World,
    space: WorkspaceId,
    dir: tempfile::TempDir,
    clock: Arc<AtomicI64>,
    mirror: Mirror,
}

impl Bed {
    fn new(pages: usize) -> Self {
        let mut bed = Self::empty();
        for n in 0..pages {
            let block = json!({ "type": "p", "children": [{ "text": format!("words {n}") }] });
            bed.create(&format!("Page {n}"), serde_json::from_value(json!([block])).unwrap());
        }
        bed
    }

    pub(super) fn create(&mut self, title: &str, content: Blocks) -> PageId {
        self.world.app_create(&self.space, None, title, content)
    }

    #[cfg(feature = "planted")]
    pub(super) fn board(&mut self, name: &str) -> espejo::model::CanvasId {
        espejo::model::CanvasId::Board(self.world.app_create_board(&self.space, name))
    }

    /// A service without a page.
    pub(super) fn empty() -> Self {
        let mut world = World::new(7);
        let space = world.add_workspace("Equipo", "equipo");
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicI64::new(BEGIN));
        let told = Arc::clone(&clock);
        let time = move || Timestamp(told.load(Ordering::Relaxed));
        let mirror = Mirror::with_clock(&dir.path().join("mirror"), "small", true, time).unwrap();
        Self { world, space, dir, clock, mirror }
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp(self.clock.load(Ordering::Relaxed))
    }

    pub(super) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(super) fn pages(&self) -> PathBuf {
        self.dir.path().join("mirror/Equipo/Pages")
    }

    /// What the service has of a page.
    #[cfg(feature = "planted")]
    pub(super) fn content(&self, page: &PageId) -> serde_json::Value {
        serde_json::Value::Array(self.world.page(page).unwrap().content.clone())
    }

    /// The names of the files of pages.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.pages()).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect()
    }

    /// Performs what the engine asks for until `is_over`, at most for six minutes. A request takes 80 ms, an act on disk 2.
    pub(super) fn run(&mut self, engine: &mut Engine, mut is_over: impl FnMut(&Self, &Engine) -> bool) {
        let mut answers: BTreeMap<(i64, u64), (EffectId, Outcome)> = BTreeMap::new();
        let end = self.now().0 + 6 * 60_000;
        while self.now().0 < end && !is_over(self, engine) {
            while let Some((id, effect)) = engine.next_effect(self.now()).unwrap() {
                let (outcome, takes_ms) = if effect.is_request() {
                    let now = self.now();
                    (Outcome::Service(ask(&mut self.world, &effect, now)), 80)
                } else {
                    (Outcome::Disk(self.mirror.perform(&effect)), 2)
                };
                answers.insert((self.now().0 + takes_ms, id.0), (id, outcome));
            }
            let answer = answers.first_key_value().map_or(i64::MAX, |((at, _), _)| *at);
            let wake = engine.next_wakeup(self.now()).map_or(i64::MAX, |at| at.0.max(self.now().0 + 1));
            self.clock.store(answer.min(wake).min(end), Ordering::Relaxed);
            if answer <= self.now().0
                && let Some((_, (id, outcome))) = answers.pop_first()
            {
                engine.handle(Event::Done { id, outcome }, self.now()).unwrap();
            }
        }
    }
}

pub(super) fn engine(store: Store, per_minute: u32, now: Timestamp) -> Engine {
    let settings = Settings { requests_per_minute: per_minute, ..Settings::default() };
    Engine::open(store, settings, [7; 32], now).unwrap()
}

#[test]
fn a_limit_of_six_a_minute_mirrors_a_small_workspace_with_whiteboards_on() {
    let mut bed = Bed::new(12);
    bed.world.set_limit(Some(PER_MINUTE as usize), Window::SlidingLog);
    let mut engine = engine(Store::in_memory().unwrap(), PER_MINUTE, bed.now());
    // Twelve pages at two thirds of six a minute, and the first lists.
    bed.run(&mut engine, |bed, engine| engine.summary(bed.now()).unwrap().mirrored == 12);
    let asked: Vec<&str> = bed.world.log().entries().map(|entry| entry.path.as_str()).collect();
    assert_eq!(engine.summary(bed.now()).unwrap().mirrored, 12, "{asked:?}");
    assert_eq!(bed.files().len(), 12);
}

/// How often another connection has committed since the last call, as far as it can be told: once or not at all.
fn has_committed(state: &Connection, seen: &mut i64) -> bool {
    let version: i64 = state.query_row("PRAGMA data_version", [], |row| row.get(0)).unwrap();
    std::mem::replace(seen, version) != version
}

fn open_state(folder: &Path) -> Connection {
    Connection::open(folder.join("espejo.sqlite3")).unwrap()
}

#[test]
fn a_first_mirror_has_fewer_commits_than_pages_and_a_kill_in_it_costs_no_page() {
    const PAGES: usize = 120;
    let mut bed = Bed::new(PAGES);
    bed.world.set_limit(None, Window::SlidingLog);
    let store = Store::open(&bed.state()).unwrap().store;
    let mut killed = engine(store, 100_000, bed.now());
    let (state, mut seen, mut commits) = (open_state(&bed.state()), 0, 0);
    let agreed = || {
        let all = "SELECT count(*) FROM pages WHERE base_body NOT NULL";
        state.query_row(all, [], |row| row.get::<_, u16>(0)).map(usize::from).unwrap()
    };
    bed.run(&mut killed, |bed, _| {
        commits += usize::from(has_committed(&state, &mut seen));
        bed.files().len() >= PAGES / 2
    });
    let written = bed.files().len();
    assert!(written >= PAGES / 2 && agreed() < written, "{} of {written} are in the state", agreed());
    assert!(commits < written / 2, "{commits} commits for {written} files");
    // As a kill: nothing is committed any more.
    std::mem::forget(killed.into_store());
    // An edit of a file that the state does not know yet.
    let known = "SELECT count(*) FROM pages WHERE base_path = 'Equipo/Pages/' || ?1";
    let is_known = |name: &String| state.query_row(known, [name], |row| row.get::<_, bool>(0)).unwrap();
    let edited = bed.files().into_iter().find(|name| !is_known(name)).unwrap();
    let mut file = OpenOptions::new().append(true).open(bed.pages().join(edited)).unwrap();
    file.write_all(b"\nA line of mine.\n").unwrap();
    let asked = bed.world.log().entries().count();
    let mut engine = engine(Store::open(&bed.state()).unwrap().store, 100_000, bed.now());
    bed.run(&mut engine, |bed, engine| {
        engine.summary(bed.now()).unwrap().mirrored == PAGES && agreed() == PAGES
    });
    // The edited one is kept beside its page's text.
    assert_eq!((agreed(), bed.files().len()), (PAGES, PAGES + 1), "{:?}", bed.files());
    let texts = bed.files().into_iter().map(|name| std::fs::read_to_string(bed.pages().join(name)).unwrap());
    assert_eq!(texts.filter(|text| text.contains("A line of mine.")).count(), 1);
    let writes = bed.world.log().entries().skip(asked).filter(|entry| entry.method != "GET").count();
    assert_eq!(writes, 0);
}
