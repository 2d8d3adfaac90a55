//! What the pages of a made-up workspace say, and what a save changes in it: from a file that tells how common words are
//! and how large edits. The same seed gives the same texts to every policy.

use std::collections::BTreeMap;

use espejo::emulator::ranking::{Query, Ranking, Text};

use crate::workspace::Luck;

/// The file beside the bench, unless `TEXTS` names another one.
const OWN: &str = include_str!("texts.txt");
/// How many words a page has: this in the middle, and so much more or less.
const WORDS: (f64, f64) = (400.0, 0.9);
/// So many saves in a hundred go on at the end of the page.
const AT_END: usize = 35;
/// A snippet, in characters.
const SNIPPET: usize = 140;

/// What is written and how it is edited.
pub(crate) struct Source {
    words: Vec<String>,
    /// How often any word up to here is written.
    reached: Vec<f64>,
    /// Words out, words in, and how often any edit up to here is made.
    edits: Vec<(usize, usize, f64)>,
    rare: f64,
    own: f64,
}

impl Source {
    /// From the file; the line that cannot be read.
    pub(crate) fn read() -> Result<Self, String> {
        let other = std::env::var("TEXTS").ok();
        let text = match &other {
            Some(path) => std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?,
            None => OWN.to_owned(),
        };
        let mut source =
            Self { words: Vec::new(), reached: Vec::new(), edits: Vec::new(), rare: 0.0, own: 0.0 };
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            source.take(line).ok_or_else(|| format!("what is this? {line}"))?;
        }
        if source.words.is_empty() || source.edits.is_empty() {
            return Err("no words, or no edits".to_owned());
        }
        Ok(source)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let parts: Vec<&str> = line.split_whitespace().collect();
        match parts.as_slice() {
            ["rare", part] => self.rare = part.parse::<f64>().ok()? / 100.0,
            ["own", part] => self.own = part.parse::<f64>().ok()? / 100.0,
            ["word", word, count] => {
                self.reached.push(self.reached.last().unwrap_or(&0.0) + count.parse::<f64>().ok()?);
                self.words.push((*word).to_owned());
            }
            ["edit", out, into, count] => {
                let before = self.edits.last().map_or(0.0, |(.., reached)| *reached);
                self.edits.push((out.parse().ok()?, into.parse().ok()?, before + count.parse::<f64>().ok()?));
            }
            _ => return None,
        }
        Some(())
    }
}

/// What a search shows of a page: rank and beginning.
type Mark = Option<(u64, u64)>;

/// A page's text, as it is now.
struct Page {
    words: Vec<Word>,
    version: u64,
    /// The mark, for a version and a query.
    mark: Option<(u64, u64, Mark)>,
}

/// One of the file's words, or one of the workspace's own.
#[derive(Clone, Copy, PartialEq)]
enum Word {
    Common(usize),
    Rare(u64),
}

/// The texts of a workspace, and the service that searches them.
pub(crate) struct Texts<'a> {
    source: &'a Source,
    ranking: Ranking,
    pages: Vec<Page>,
    rare: u64,
    /// The last query of each group of words, and its number.
    queries: BTreeMap<String, (u64, Query)>,
    asked: u64,
}

impl<'a> Texts<'a> {
    pub(crate) fn new(source: &'a Source, ranking: Ranking, pages: usize) -> Self {
        let mut texts =
            Self { source, ranking, pages: Vec::new(), rare: 0, queries: BTreeMap::new(), asked: 0 };
        for page in 0..pages {
            let mut luck = Luck::new(page as u64 ^ 0x7e87);
            let count = (luck.around(WORDS.0, WORDS.1) as usize).clamp(5, 5_000);
            texts.rare += 1;
            let mut words = vec![Word::Rare(texts.rare)];
            words.extend((1..count).map(|_| texts.write(&mut luck)));
            let at = luck.below(words.len());
            words.swap(0, at);
            texts.pages.push(Page { words, version: 0, mark: None });
        }
        texts
    }

    fn write(&mut self, luck: &mut Luck) -> Word {
        if luck.part() < self.source.rare {
            self.rare += 1;
            return Word::Rare(self.rare);
        }
        let all = self.source.reached.last().copied().unwrap_or(0.0);
        let at = luck.part() * all;
        Word::Common(
            self.source.reached.partition_point(|reached| *reached <= at).min(self.source.words.len() - 1),
        )
    }

    /// Save number `number` is one of this page.
    pub(crate) fn save(&mut self, page: usize, number: usize) {
        let mut luck = Luck::new(number as u64 ^ 0x5a7e);
        let source = self.source;
        let at = luck.part() * source.edits.last().map_or(0.0, |(.., reached)| *reached);
        let edit = source.edits.partition_point(|(.., reached)| *reached <= at).min(source.edits.len() - 1);
        let (out, into, _) = source.edits[edit];
        let long = self.pages[page].words.len();
        let place = if luck.below(100) < AT_END { long } else { luck.below(long.max(1)) };
        let mut brought = Vec::new();
        for _ in 0..into {
            let own = luck.part() < source.own && long > 0;
            brought.push(if own { self.pages[page].words[luck.below(long)] } else { self.write(&mut luck) });
        }
        let page = &mut self.pages[page];
        let end = (place + out).min(long);
        // A page is not edited away.
        let end = if long < 20 { place } else { end };
        page.words.splice(place..end, brought);
        page.version += 1;
    }

    /// What a page says.
    pub(crate) fn text(&self, page: usize) -> String {
        let words: Vec<String> = self.pages[page].words.iter().map(|word| self.word(*word)).collect();
        words.join(" ")
    }

    fn word(&self, word: Word) -> String {
        match word {
            Word::Common(at) => self.source.words[at].clone(),
            Word::Rare(number) => rare(number),
        }
    }

    /// A word that only this page has, other than `not`.
    pub(crate) fn own(&self, page: usize, not: Option<&str>) -> Option<String> {
        let rares = self.pages[page].words.iter().filter(|word| matches!(word, Word::Rare(_)));
        rares.map(|word| self.word(*word)).find(|word| Some(word.as_str()) != not)
    }

    pub(crate) fn has(&self, page: usize, word: &str) -> bool {
        self.pages[page].words.iter().any(|one| matches!(one, Word::Rare(number) if rare(*number) == word))
    }

    /// What the service shows of a page in answer to a query.
    pub(crate) fn mark(&mut self, page: usize, asked: &str) -> Option<(u64, u64)> {
        if !self.queries.contains_key(asked) {
            // No caller asks for those that are long gone.
            if self.queries.len() > 2_000 {
                self.queries.clear();
            }
            self.asked += 1;
            self.queries.insert(asked.to_owned(), (self.asked, Query::new(asked)));
        }
        let (number, query) = &self.queries[asked];
        let (number, version) = (*number, self.pages[page].version);
        if let Some((_, _, mark)) = self.pages[page].mark.filter(|(v, n, _)| (*v, *n) == (version, number)) {
            return mark;
        }
        let said = self.text(page);
        let text = Text::new(&said, self.ranking.weight);
        let begins = said
            .chars()
            .take(SNIPPET)
            .fold(0_u64, |hash, c| (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3));
        let mark = query.matches(&text).then(|| (self.ranking.shown(1.0, query, &text).to_bits(), begins));
        self.pages[page].mark = Some((version, number, mark));
        mark
    }
}

/// A word of letters that no file has.
fn rare(mut number: u64) -> String {
    let mut word = String::new();
    number += 5_000;
    while number > 0 {
        word.push(char::from(b"bdfgklmnprtv"[(number % 12) as usize]));
        word.push(char::from(b"aeiou"[(number / 12 % 5) as usize]));
        number /= 60;
    }
    word + "x"
}
