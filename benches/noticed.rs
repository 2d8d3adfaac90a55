//! How late saves in the app reach the folder, for real: `cargo bench --bench noticed [-- MINUTES]`. The real binary on 1,000
//! pages of an emulator that ranks as PostgreSQL does, at the real 60 requests a minute. Mirrors them without hurry, lets
//! espejo learn what a search shows, and then saves thirty pages at random times within 25 minutes (or so many), half of them in
//! the page that was saved last. Prints a histogram; ends with 1 when a save is not noticed, more than 60 requests are made in any
//! 60 s, or the log holds a query.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench reads the clock and prints")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]

#[path = "shared/blocks.rs"]
mod blocks;
#[path = "shared/served.rs"]
mod served;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use blocks::paragraph;
use espejo::emulator::{Server, Window, World};
use espejo::model::PageId;
use serde_json::Value;
use served::{Running, TOKEN, private, serve, stop};

const PAGES: usize = 1_000;
const SAVES: usize = 30;
const LIMIT: usize = 60;
/// While it mirrors, and while it learns.
const UNHURRIED: usize = 100_000;
const LEARNING: usize = 600;
/// Words of a page, and of a save.
const WORDS: usize = 60;
const SAVED: usize = 6;
/// The word that ends each query of the watch.
const IN_QUERIES: &str = "zzqqxx";
/// How common words are; as in the bench of the schedule.
const TEXTS: &str = include_str!("polling/texts.txt");
/// Upper bounds of the histogram, in seconds.
const BOUNDS: [u64; 8] = [5, 10, 20, 40, 60, 120, 300, 3_600];

/// Numbers that only the seed decides.
struct Luck(u64);

impl Luck {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }
}

/// Words, each as often as it is common.
struct Words(Vec<&'static str>);

impl Words {
    fn read() -> Self {
        let mut all = Vec::new();
        for line in TEXTS.lines() {
            if let ["word", word, count] = line.split_whitespace().collect::<Vec<_>>()[..] {
                all.extend(std::iter::repeat_n(word, (count.parse::<f64>().unwrap() / 4.0).ceil() as usize));
            }
        }
        Self(all)
    }

    fn some(&self, count: usize, luck: &mut Luck) -> String {
        let words: Vec<&str> = (0..count).map(|_| self.0[luck.below(self.0.len())]).collect();
        words.join(" ")
    }
}

struct Bed {
    dir: tempfile::TempDir,
    server: Server,
    _serving: tokio::sync::oneshot::Sender<()>,
    pages: Vec<PageId>,
    texts: Vec<Vec<Value>>,
    words: Words,
    luck: Luck,
    saves: usize,
}

/// A save that is not in the folder yet.
struct Waiting {
    page: usize,
    says: String,
    since: Instant,
}

impl Bed {
    fn new() -> Self {
        let (words, mut luck) = (Words::read(), Luck(7));
        let mut world = World::new(1);
        world.set_limit(None, Window::SlidingLog);
        let space = world.add_workspace("Team", "team");
        let mut texts = Vec::new();
        let pages = (0..PAGES)
            .map(|n| {
                let own = n * 37 + 100_000;
                let first = words.some(WORDS / 2, &mut luck);
                let then = format!("{} {own}", words.some(WORDS / 2, &mut luck));
                let content = vec![paragraph(&format!("{n}-a"), &first), paragraph(&format!("{n}-b"), &then)];
                texts.push(content.clone());
                world.app_create(&space, None, &format!("Page {n:04}"), content)
            })
            .collect();
        let (server, serving) = serve(world);
        let dir = tempfile::tempdir().unwrap();
        private(&dir.path().join("token"), TOKEN);
        Self { dir, server, _serving: serving, pages, texts, words, luck, saves: 0 }
    }

    fn espejo(&self, word: &str) -> Command {
        let built = std::env::var_os("ESPEJO_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_espejo").into());
        let mut command = Command::new(built);
        command.arg("--config").arg(self.dir.path().join("config.toml")).arg(word);
        command
    }

    fn run(&self, requests_per_minute: usize) -> Running {
        let at = |name: &str| self.dir.path().join(name);
        let config = format!(
            "base_url = {:?}\nroot = {:?}\nstate_dir = {:?}\ntoken_file = {:?}\n[limits]\nrequests_per_minute = {requests_per_minute}\n",
            self.server.base_url(),
            at("mirror"),
            at("state"),
            at("token"),
        );
        private(&at("config.toml"), &config);
        let log = fs::OpenOptions::new().create(true).append(true).open(at("log")).unwrap();
        let mut command = self.espejo("run");
        command.env("RUST_LOG", "trace");
        Running(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    fn file(&self, n: usize) -> PathBuf {
        self.dir.path().join(format!("mirror/Team/Pages/Page {n:04}.md"))
    }

    fn status(&self) -> Value {
        let output = self.espejo("status").arg("--json").output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
    }

    /// A user writes some words more in the app.
    fn save(&mut self, page: usize) -> Waiting {
        self.saves += 1;
        let says = format!("{} {}", self.words.some(SAVED, &mut self.luck), self.saves);
        self.texts[page].push(paragraph(&format!("{page}-s{}", self.saves), &says));
        assert!(self.server.world().app_edit(&self.pages[page], self.texts[page].clone()));
        Waiting { page, says, since: Instant::now() }
    }

    fn has(&self, waiting: &Waiting) -> bool {
        fs::read_to_string(self.file(waiting.page)).is_ok_and(|text| text.contains(&waiting.says))
    }

    /// Half an hour at most of sessions in a few pages, until espejo says that the search helps.
    fn learn(&mut self) -> bool {
        for session in 0..8 {
            // What the list shows to be alive is looked at, however new the mirror is.
            assert!(self.server.world().app_set_icon(&self.pages[session * 61], Some("🚲")));
        }
        let end = Instant::now() + Duration::from_secs(1_800);
        while Instant::now() < end {
            for session in 0..8 {
                let page = (self.saves / 200 * 8 + session) * 61 % PAGES;
                drop(self.save(page));
                std::thread::sleep(Duration::from_secs(3));
            }
            if self.status().pointer("/freshness/search_helps").and_then(Value::as_bool) == Some(true) {
                return true;
            }
        }
        false
    }

    /// Saves at random times, and how long each took to its file, in seconds.
    fn measure(&mut self, minutes: u64) -> Vec<Option<f64>> {
        let begin = Instant::now();
        let mut times: Vec<u64> =
            (0..SAVES).map(|_| self.luck.below(minutes as usize * 60_000) as u64).collect();
        times.sort_unstable();
        let (mut waiting, mut took) = (Vec::<Waiting>::new(), Vec::new());
        let mut page = 0;
        let last = begin + Duration::from_secs(minutes * 60 + 900);
        while (took.len() < SAVES) && Instant::now() < last {
            let made = waiting.len() + took.len();
            if times.get(made).is_some_and(|at| begin.elapsed() >= Duration::from_millis(*at)) {
                page = if self.luck.below(2) == 0 { self.luck.below(PAGES) } else { page };
                let one = self.save(page);
                waiting.push(one);
            }
            let (there, not): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|one| self.has(one));
            waiting = not;
            for one in there {
                let late = one.since.elapsed().as_secs_f64();
                println!("save {} of page {}: {late:.1} s", took.len() + 1, one.page);
                took.push(Some(late));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        took.extend(waiting.into_iter().map(|_| None));
        took
    }

    /// Searches among the requests.
    fn searches(&self) -> usize {
        self.server.world().log().entries().filter(|entry| entry.path == "/search").count()
    }
}

fn main() -> ExitCode {
    let minutes = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(25);
    let mut bed = Bed::new();
    let daemon = bed.run(UNHURRIED);
    let begin = Instant::now();
    let whole = |bed: &Bed| bed.file(PAGES - 1).exists() && (0..PAGES).all(|n| bed.file(n).exists());
    while !whole(&bed) {
        assert!(begin.elapsed() < Duration::from_secs(900), "it is not mirrored");
        std::thread::sleep(Duration::from_secs(1));
    }
    println!("mirrored after {} s", begin.elapsed().as_secs());
    stop(daemon);
    let daemon = bed.run(LEARNING);
    let learned = bed.learn();
    println!("search helps: {learned}, after {} s and {} saves", begin.elapsed().as_secs(), bed.saves);
    stop(daemon);
    // What it has spent is forgotten on both sides.
    std::thread::sleep(Duration::from_secs(62));
    let (before, since) = (bed.searches(), espejo::daemon::wall_now());
    bed.server.world().set_limit(Some(LIMIT), Window::SlidingLog);
    let daemon = bed.run(LIMIT);
    std::thread::sleep(Duration::from_secs(30));
    let all = bed.measure(minutes);
    println!("{}", bed.status().pointer("/freshness").unwrap_or(&Value::Null));
    println!("{} searches", bed.searches() - before);
    drop(daemon);
    let (most, refused) = {
        let world = bed.server.world();
        let times: Vec<_> = world.log().entries().map(|entry| entry.at).filter(|at| *at >= since).collect();
        let most = (0..times.len())
            .map(|at| times[at..].iter().take_while(|t| t.since_ms(times[at]) < 60_000).count())
            .max();
        (most.unwrap_or(0), world.log().answered(429))
    };
    let says_queries = fs::read_to_string(bed.dir.path().join("log")).unwrap().contains(IN_QUERIES);
    tell(all, most, refused, says_queries)
}

/// Prints what came of it.
fn tell(all: Vec<Option<f64>>, most: usize, refused: usize, says_queries: bool) -> ExitCode {
    let saves = all.len();
    let mut took: Vec<f64> = all.into_iter().flatten().collect();
    took.sort_by(f64::total_cmp);
    let mut from = 0;
    for bound in BOUNDS {
        let count = took.iter().filter(|late| (from as f64..bound as f64).contains(*late)).count();
        println!("{from:>5} to {bound:>4} s: {count:>3} {}", "#".repeat(count));
        from = bound;
    }
    let at =
        |part: f64| took.get((took.len() as f64 * part) as usize).or(took.last()).copied().unwrap_or(0.0);
    println!(
        "{} of {saves} saves: mean {:.1} s, p50 {:.1} s, p90 {:.1} s, max {:.1} s",
        took.len(),
        took.iter().sum::<f64>() / took.len().max(1) as f64,
        at(0.5),
        at(0.9),
        at(1.0)
    );
    println!("at most {most} requests in any 60 s, {refused} refused; a query in the log: {says_queries}");
    let met = took.len() == SAVES && most <= LIMIT && refused == 0 && !says_queries;
    println!("{}", if met { "met" } else { "MISSED" });
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
