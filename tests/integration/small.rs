//! A small limit: the engine on a real folder and the emulator, in a time that only the test moves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use espejo::emulator::{HttpRequest, Window, World};
use espejo::engine::Engine;
use espejo::mirror::Mirror;
use espejo::model::{Effect, Event, Outcome, ServiceError, ServiceReply, Settings, Timestamp};
use espejo::service::wire::{self, WireAnswer};
use espejo::store::Store;
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

#[test]
fn a_limit_of_six_a_minute_mirrors_a_small_workspace_with_whiteboards_on() {
    let mut world = World::new(7);
    world.set_limit(Some(PER_MINUTE as usize), Window::SlidingLog);
    let space = world.add_workspace("Equipo", "equipo");
    for n in 0..12 {
        let block = json!({ "type": "p", "children": [{ "text": format!("words {n}") }] });
        let content = serde_json::from_value(json!([block])).unwrap();
        world.app_create(&space, None, &format!("Page {n}"), content);
    }
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicI64::new(BEGIN));
    let told = Arc::clone(&clock);
    let root = dir.path().join("mirror");
    let mirror =
        Mirror::with_clock(&root, "small", true, move || Timestamp(told.load(Ordering::Relaxed))).unwrap();
    let settings = Settings { requests_per_minute: PER_MINUTE, ..Settings::default() };
    let mut engine = Engine::open(Store::in_memory().unwrap(), settings, [7; 32], Timestamp(BEGIN)).unwrap();
    let mut answers = BTreeMap::new();
    let now = || Timestamp(clock.load(Ordering::Relaxed));
    // Twelve pages at two thirds of six a minute, and the first lists.
    let end = BEGIN + 6 * 60_000;
    while now().0 < end && engine.summary(now()).unwrap().mirrored < 12 {
        while let Some((id, effect)) = engine.next_effect(now()).unwrap() {
            let (outcome, takes_ms) = if effect.is_request() {
                (Outcome::Service(ask(&mut world, &effect, now())), 80)
            } else {
                (Outcome::Disk(mirror.perform(&effect)), 2)
            };
            answers.insert((now().0 + takes_ms, id.0), (id, outcome));
        }
        let answer = answers.first_key_value().map_or(i64::MAX, |((at, _), _)| *at);
        let wake = engine.next_wakeup(now()).map_or(i64::MAX, |at| at.0.max(now().0 + 1));
        clock.store(answer.min(wake).min(end), Ordering::Relaxed);
        if answer <= now().0
            && let Some((_, (id, outcome))) = answers.pop_first()
        {
            engine.handle(Event::Done { id, outcome }, now()).unwrap();
        }
    }
    let asked: Vec<&str> = world.log().entries().map(|entry| entry.path.as_str()).collect();
    assert_eq!(engine.summary(now()).unwrap().mirrored, 12, "{asked:?}");
    assert_eq!(std::fs::read_dir(root.join("Equipo/Pages")).unwrap().count(), 12);
}
