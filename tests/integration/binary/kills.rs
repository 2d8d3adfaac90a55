//! Killed twenty times (or for as long as `ESPEJO_KILL_SECONDS` says) at random moments, while files are created, edited, renamed and deleted: in the end both sides
//! agree, no page is there twice, and no word is lost.
//!
//! What is done comes from a seed; the moments are the machine's. The short pauses here are part of what is tried, not a
//! way to wait for something.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use espejo::emulator::{Fault, Matcher};

use super::agreement::is_conflict_copy;
use super::bench::{Bench, paragraph, save, words};
use super::down::draws;
use super::state::trashed_files;

const KILLS: usize = 20;
const PAGES: usize = 60;
/// More in a minute would be an accident in the eyes of the guards.
const DELETIONS: usize = 8;

struct User<'a> {
    bench: &'a Bench,
    draw: Box<dyn FnMut(usize) -> usize>,
    /// How many words were written so far; each is written once.
    words: usize,
    /// Those of them that were written, and where.
    written: Vec<(String, String)>,
    deletions: usize,
    may_delete: usize,
}

impl User<'_> {
    fn word(&mut self) -> String {
        self.words += 1;
        format!("w{}x", self.words)
    }

    fn wrote(&mut self, word: &str, how: &str) {
        self.bench.note(&format!("{word} {how}"));
        self.written.push((word.to_owned(), how.to_owned()));
    }

    fn files(&self) -> Vec<PathBuf> {
        let pages =
            self.bench.files().into_keys().filter(|path| path.ends_with(".md") && !is_conflict_copy(path));
        pages.map(|path| self.bench.root().join(path)).collect()
    }

    fn act(&mut self) {
        let files = self.files();
        let file = files[(self.draw)(files.len())].clone();
        let word = self.word();
        match (self.draw)(12) {
            0..=4 => {
                let Ok(mut open) = fs::OpenOptions::new().append(true).open(&file) else { return };
                open.write_all(format!("\n{word}\n").as_bytes()).expect("a write");
                self.wrote(&word, &format!("added to {}", file.display()));
            }
            5 | 6 => {
                // In place, the middle of a save included.
                let Ok(text) = fs::read_to_string(&file) else { return };
                let new = file.with_extension("new");
                save(&new, &format!("{text}\n{word}\n"));
                // Whoever saved in between is overwritten by this editor, as by any other: only an unchanged file is.
                if fs::read_to_string(&file).is_ok_and(|now| now == text) {
                    fs::rename(&new, &file).expect("a rename");
                    self.wrote(&word, &format!("saved over {}", file.display()));
                } else {
                    drop(fs::remove_file(&new));
                }
            }
            7 | 8 => {
                let beside =
                    if (self.draw)(2) == 0 { file.with_extension("") } else { file.with_file_name("") };
                // Where the folder around it has just been renamed, nobody makes the old one anew.
                drop(fs::create_dir(&beside));
                if beside.is_dir() {
                    save(&beside.join(format!("New {word}.md")), &format!("{word} in a new file\n"));
                    self.wrote(&word, &format!("a new file in {}", beside.display()));
                }
            }
            // The title is the one thing that a later rename may take away. Only a file that names its page is renamed: any
            // other may have been saved over since the last scan that a run recorded, and then nothing tells whose it is.
            9 | 10 if fs::read_to_string(&file).is_ok_and(|text| text.starts_with("---\nid: ")) => {
                let new = file.with_file_name(format!("Named {word}.md"));
                let done = fs::rename(&file, &new);
                self.bench.note(&format!("{} renamed to {}: {done:?}", file.display(), new.display()));
            }
            11 if self.deletions < self.may_delete => {
                self.deletions += 1;
                let text = fs::read_to_string(&file).unwrap_or_default();
                if fs::remove_file(&file).is_ok() {
                    self.bench.note(&format!("{} removed", file.display()));
                    // What a person deletes before espejo has seen it is nobody's any more.
                    self.written.retain(|(word, _)| !text.contains(word.as_str()));
                }
            }
            _ => {}
        }
    }

    /// While espejo is away, so that nobody slips between a GET and a PATCH.
    fn act_in_the_app(&mut self) {
        let word = self.word();
        let mut world = self.bench.world();
        let pages: Vec<_> = world.visible_pages(&self.bench.space).into_iter().cloned().collect();
        let page = &pages[(self.draw)(pages.len())];
        if (self.draw)(3) == 0 {
            world.app_rename(&page.id, &format!("{} {word}", page.title));
            self.bench.note(&format!("{:?} {} renamed in the app with {word}", page.title, page.id));
        } else {
            let mut content = page.content.clone();
            content.push(paragraph(&word, &word));
            world.app_edit(&page.id, content);
            drop(world);
            self.wrote(&word, &format!("in the app, in {:?}", page.title));
        }
    }
}

/// How long the test goes on after its first kills, in seconds.
fn more_seconds() -> u64 {
    std::env::var("ESPEJO_KILL_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[test]
#[expect(clippy::print_stdout, reason = "whoever asks for more kills wants to know how many")]
#[expect(clippy::disallowed_methods, reason = "how long another process is tried is a matter of the clock")]
fn killed_twenty_times_nothing_is_lost_and_nothing_is_doubled() {
    let seed = std::env::var("ESPEJO_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let bench = Bench::with("settle_ms = 60\nmax_deletes = 1000", |world, space| {
        let mut draw = draws(seed);
        let mut pages: Vec<espejo::model::PageId> = Vec::new();
        for n in 0..PAGES {
            let parent = (n > 0 && draw(2) == 0).then(|| pages[draw(pages.len())].clone());
            let content = vec![paragraph("a", &format!("p{n}x")), paragraph("b", "more")];
            pages.push(world.app_create(space, parent.as_ref(), &format!("Page {n}"), content));
        }
    });
    bench.run_in_step().stop();
    bench.forget_requests();
    for kind in ["POST", "PATCH", "DELETE"] {
        bench.world().fail_randomly(Matcher::Method(kind.to_owned()), Fault::Delay(30), 500);
        bench.world().fail_randomly(Matcher::Method(kind.to_owned()), Fault::LostAfter, 50);
    }
    let mut user = User {
        bench: &bench,
        draw: Box::new(draws(seed + 1)),
        words: 0,
        written: Vec::new(),
        deletions: 0,
        may_delete: DELETIONS,
    };
    let (begun, goes_on) = (Instant::now(), Duration::from_secs(more_seconds()));
    let mut kills = 0;
    while kills < KILLS || begun.elapsed() < goes_on {
        kills += 1;
        user.may_delete = DELETIONS * (1 + usize::try_from(begun.elapsed().as_secs() / 60).expect("minutes"));
        let daemon = bench.run();
        for _ in 0..3 + (user.draw)(5) {
            user.act();
            pause((user.draw)(120));
        }
        pause((user.draw)(300));
        daemon.kill();
        bench.note("killed");
        for _ in 0..(user.draw)(3) {
            user.act();
            user.act_in_the_app();
        }
    }
    bench.world().calm();
    let written = std::mem::take(&mut user.written);
    let daemon = bench.run();
    bench.look_again();
    // For a minute a list may be older than a page that was made, also if a kill lost the answer to its DELETE.
    let patience = Duration::from_secs(120);
    bench.until_within(patience, "the sides agree", || bench.disagreement().is_none());
    // A kill alone is not taken for an older copy of either side.
    assert!(!bench.log().contains("is an older copy"), "{}", bench.seen());

    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut note = |place: &str, text: &str| {
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| is_a_word(word)) {
            places.entry(word.to_owned()).or_default().push(place.to_owned());
        }
    };
    let records: Vec<_> = bench.world().pages().cloned().collect();
    let mut titles: BTreeMap<&str, usize> = BTreeMap::new();
    for page in &records {
        let live = page.trashed.is_none();
        *titles.entry(&page.title).or_default() += usize::from(live);
        let place = if live { format!("page {}", page.id) } else { "trash".to_owned() };
        note(&place, &words(&page.content));
        note(&format!("title of {place}"), &page.title);
    }
    for path in trashed_files(&bench) {
        note("trash", &fs::read_to_string(path).unwrap());
    }
    for (path, file) in bench.files() {
        if is_conflict_copy(&path) {
            note(&path, &String::from_utf8_lossy(&file.bytes));
        }
    }
    let doubled: Vec<_> = titles.iter().filter(|(_, count)| **count > 1).collect();
    assert!(doubled.is_empty(), "pages twice: {doubled:?}\n{}", bench.seen());
    for (word, places) in &places {
        let live = places.iter().filter(|place| place.starts_with("page ")).count();
        assert!(live <= 1, "{word} stands in {places:?} (seed {seed})\n{}", bench.seen());
    }
    let first = (0..PAGES).map(|n| (format!("p{n}x"), "in the app at first".to_owned()));
    for (word, how) in first.chain(written.iter().cloned()) {
        assert!(places.contains_key(&word), "{word} ({how}) is lost (seed {seed})\n{}", bench.seen());
    }
    assert!(written.len() > KILLS, "the test must write: {written:?}");
    bench.rest(daemon);
    bench.note(&format!("{kills} kills, {} words written, {} deletions", written.len(), user.deletions));
    let figures = bench.log().lines().last().unwrap_or_default().to_owned();
    // Only whoever asks for it sees it: the output of tests that pass is swallowed.
    println!("seed {seed}: {figures}, {} pages, {} requests", records.len(), bench.requests().len());
}

fn is_a_word(word: &str) -> bool {
    let digits = word.strip_prefix(['w', 'p']).and_then(|rest| rest.strip_suffix('x'));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn pause(ms: usize) {
    std::thread::sleep(Duration::from_millis(ms as u64));
}
