//! The service's search as a watch, in the real engine on a clock of its own: used where a page's rank moves with the page's
//! text, if only through a branch of the query that cannot match, and left alone where it does not.

use espejo::emulator::Choices;
use espejo::emulator::ranking::Ranking;
use espejo::model::{Blocks, PageId};
use serde_json::{Value, json};

use crate::run::Run;
use crate::script::Script;

const MINUTE: i64 = 60_000;
const PAGES: usize = 60;

fn paragraph(id: String, text: &str) -> Value {
    let props = json!({ "textColor": "default", "backgroundColor": "default", "textAlignment": "left" });
    let run = json!({ "type": "text", "text": text, "styles": {} });
    json!({ "id": id, "type": "paragraph", "props": props, "content": [run], "children": [] })
}

/// Enough words that every page has for a query to be long, in another order than there.
fn many() -> String {
    let syllables = ["bal", "cor", "dun", "fel", "gir", "mol", "nar", "pun"];
    let word = |n: usize| format!("{}{}{}", syllables[n / 64 % 8], syllables[n / 8 % 8], syllables[n % 8]);
    (0..400).rev().map(word).collect::<Vec<_>>().join(" ")
}

/// Longer than a snippet before anything is the page's own, so that only the rank can move.
fn content(page: usize, saves: usize, has_many: bool) -> Blocks {
    let same = "entre todas las cosas que se dicen en todas las páginas ".repeat(4);
    let own = format!("{}{} y nada más", ["k", "m", "p", "t"][page % 4].repeat(2), 10_000 + page * 37);
    let many = if has_many { many() } else { String::new() };
    let mut blocks: Vec<Value> = [("a", &same), ("m", &many), ("b", &own)]
        .map(|(id, text)| paragraph(format!("{page}-{id}"), text))
        .into();
    blocks.extend((0..saves).map(|save| paragraph(format!("{page}-s{save}"), "otra cosa dicha")));
    blocks
}

struct Watching {
    run: Run,
    pages: Vec<PageId>,
    saves: Vec<usize>,
    has_many: bool,
}

impl Watching {
    fn new(ranking: Ranking) -> Self {
        Self::at(Choices { ranking, ..Choices::default() }, false)
    }

    fn at(choices: Choices, has_many: bool) -> Self {
        let mut scene = Script::draw(11, 0).scene;
        (scene.pages, scene.budget, scene.hints_lost, scene.rest_ms) = (1, 60, 0, 0);
        let mut run = Run::new(scene, false).unwrap();
        let space = run.service.workspace.clone();
        let world = &mut run.service.world;
        world.choose(choices);
        let make =
            |page| world.app_create(&space, None, &format!("Página {page}"), content(page, 0, has_many));
        let pages: Vec<PageId> = (0..PAGES).map(make).collect();
        pages.iter().for_each(|page| run.service.learn(page));
        run.pump().unwrap();
        let mut watching = Self { run, pages, saves: vec![0; PAGES], has_many };
        watching.pass(10 * MINUTE);
        watching
    }

    fn pass(&mut self, ms: i64) {
        self.run.pass_until(self.run.now_ms + ms).unwrap();
    }

    fn save(&mut self, page: usize) {
        self.saves[page] += 1;
        let id = self.pages[page].clone();
        assert!(self.run.service.world.app_edit(&id, content(page, self.saves[page], self.has_many)));
        self.run.service.learn(&id);
    }

    /// Somebody works in one page after the other.
    fn sessions(&mut self, count: usize) {
        for session in 0..count {
            for save in 0..20 {
                self.save(session * 7 % PAGES);
                self.pass(15_000 + 2_000 * save);
            }
            self.pass(5 * MINUTE);
        }
    }

    /// The queries that the service answered with this status or another one, as they were sent.
    fn queries(&self, answered: bool) -> Vec<String> {
        let entries = self.run.service.world.log().entries();
        let searches = entries.filter(|entry| entry.path == "/search" && (entry.status == 200) == answered);
        searches.map(|entry| entry.query.clone()).collect()
    }

    fn asked(&self, path: &str) -> usize {
        self.run.service.world.log().entries().filter(|entry| entry.path == path).count()
    }

    /// How long the first save after a long silence takes to be asked for, in seconds.
    fn noticed_after(&mut self, page: usize) -> i64 {
        self.pass(20 * MINUTE);
        let path = format!("/pages/{}", self.pages[page]);
        let before = self.asked(&path);
        self.save(page);
        let looked = |after: &Self| after.asked(&path) > before;
        (0..600)
            .find(|_| {
                self.pass(1_000);
                looked(self)
            })
            .unwrap_or(600)
    }
}

#[test]
fn the_search_is_watched_where_its_rank_moves() {
    let mut moves = Watching::new(Ranking::default());
    moves.sessions(4);
    let shows = moves.run.engine.as_ref().unwrap().search_shows();
    assert!(shows.is_some_and(|part| part > 0.5), "{shows:?}, {} searches", moves.asked("/search"));
    let late = |world: &mut Watching| [20, 33, 46, 3, 58, 12, 29].map(|page| world.noticed_after(page));
    let watched = late(&mut moves);
    assert!(moves.run.service.world.log().most_in_any_minute() <= 60);
    // What was learned is there after a crash.
    moves.run.die();
    moves.pass(5 * MINUTE);
    assert!(moves.run.engine.as_ref().unwrap().search_shows().is_some());

    let mut still = Watching::new(Ranking::CONSTANT);
    still.sessions(4);
    assert_eq!(still.run.engine.as_ref().unwrap().search_shows(), None);
    let asked = still.asked("/search");
    assert!((1..60).contains(&asked), "{asked} searches");
    still.pass(240 * MINUTE);
    assert!(still.asked("/search") - asked <= 4, "{} more", still.asked("/search") - asked);
    let unwatched = late(&mut still);
    let sum = |late: [i64; 7]| late.iter().sum::<i64>();
    assert!(2 * sum(watched) < sum(unwatched), "{watched:?} with the watch, {unwatched:?} without");
}

#[test]
fn a_service_that_refuses_long_queries_is_asked_shorter_ones_and_no_user_is_told() {
    for status in [414, 500] {
        let longest_search = Some(2_600);
        let choices = Choices { longest_search, long_search_status: status, ..Choices::default() };
        let mut world = Watching::at(choices, true);
        world.sessions(1);
        let (taken, refused) = (world.queries(true), world.queries(false));
        // A failure may be any request's: it is believed when the next one fails too.
        assert!((1..=2).contains(&refused.len()), "{status}: {} refused", refused.len());
        assert!(!taken.is_empty(), "{status}");
        assert!(taken.iter().all(|query| query.contains("%22")), "with fewer words, not with none");
        let summary = world.run.summary().unwrap().unwrap();
        assert!(summary.attention.is_empty() && !summary.away, "{status}: {:?}", summary.attention);
    }
}

/// Of two words that follow each other in a page no query holds both side by side.
#[test]
fn a_query_holds_single_words_and_is_never_longer_than_its_bound() {
    let mut world = Watching::at(Choices::default(), true);
    world.sessions(1);
    let queries = world.queries(true);
    assert!(!queries.is_empty());
    let text = many();
    for query in queries {
        assert!(query.len() < 7_200, "{} bytes", query.len());
        let words: Vec<&str> = query.split("%20").flat_map(|part| part.split("%22")).collect();
        for pair in words.windows(2) {
            assert!(!text.contains(&pair.join(" ")), "{pair:?}");
        }
    }
}
