//! Mutates texts from outside without end and holds their readers against their laws.
//!
//! `cargo run --release --manifest-path fuzz/Cargo.toml --bin readers -- [SECONDS] [SEED] [READER]`: texts are grown from the
//! corpus in `tests/fixtures/fuzz`, spliced, cut and peppered. A failure is printed with its seed; put its text into the corpus.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a command that is timed and prints")]

mod laws;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const BITS: [&str; 28] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "\\",
    "\n",
    "---\n",
    "\r\n",
    "\t",
    "#",
    "=",
    "'",
    "\"\"\"",
    "null",
    "-1",
    "1e999",
    "\\u0000",
    "\u{feff}",
    "\u{202e}",
    "\0",
    "é",
    "id: ",
    "\"id\":\"a\"",
    "[[workspace]]\n",
    "~",
];

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) as usize) % limit.max(1)
    }

    /// A place between two characters.
    fn place(&mut self, text: &str) -> usize {
        let mut at = self.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    fn part<'t>(&mut self, text: &'t str) -> &'t str {
        let (one, other) = (self.place(text), self.place(text));
        &text[one.min(other)..one.max(other)]
    }
}

fn mutated(corpus: &[String], dice: &mut Dice) -> String {
    let mut text = corpus[dice.below(corpus.len())].clone();
    for _ in 0..1 + dice.below(8) {
        let at = dice.place(&text);
        match dice.below(4) {
            0 => text.insert_str(at, BITS[dice.below(BITS.len())]),
            1 => {
                let other = dice.below(corpus.len());
                let other = dice.part(&corpus[other]).to_owned();
                text.insert_str(at, &other);
            }
            2 => text = text.replacen(&dice.part(&text).to_owned(), "", 1),
            _ => {
                let again = dice.part(&text).to_owned();
                text.insert_str(at, &again);
            }
        }
        // Long texts are slow, and find no more.
        if text.len() > 4_000 {
            text = dice.part(&text).to_owned();
        }
    }
    text
}

fn corpus(reader: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/fuzz").join(reader);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut texts: Vec<String> =
        entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).collect();
    texts.sort();
    texts.push(String::new());
    texts
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| args.get(at).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    let (seconds, seed) = (number(0, 60), number(1, 1));
    let chosen = |(name, _): &&laws::Reader| args.get(2).is_none_or(|only| only == name);
    let readers: Vec<(laws::Reader, Vec<String>)> =
        laws::READERS.iter().filter(chosen).map(|reader| (*reader, corpus(reader.0))).collect();
    if readers.is_empty() {
        println!("no such reader");
        return ExitCode::FAILURE;
    }
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (start, mut count, mut failures) = (Instant::now(), 0u64, 0);
    std::panic::set_hook(Box::new(|_| {}));
    while start.elapsed() < Duration::from_secs(seconds) && failures < 10 {
        for ((name, law), corpus) in &readers {
            count += 1;
            let text = mutated(corpus, &mut dice);
            let wrong = catch_unwind(AssertUnwindSafe(|| law(&text)));
            if let Some(why) = wrong.unwrap_or_else(|_| Some("a panic".to_owned())) {
                failures += 1;
                println!("{name}: {text:?}\n{why}\n");
            }
        }
    }
    println!("{count} texts, {failures} failures, seed {seed}, {} s", start.elapsed().as_secs());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
