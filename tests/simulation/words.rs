//! Words that can be followed: every piece of text that somebody types holds a word that nobody else types, so that
//! "is it still somewhere" has an answer without knowing anything about Markdown or blocks.
//!
//! `w12x` stands in texts, `t12x` in titles and file names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One followed word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Word {
    /// In a text.
    Text(u32),
    /// In a title.
    Title(u32),
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(number) => write!(f, "w{number}x"),
            Self::Title(number) => write!(f, "t{number}x"),
        }
    }
}

/// The followed words in `bytes`, in order, repetitions included.
pub(crate) fn words_in(bytes: &[u8]) -> Vec<Word> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let kind = bytes[at];
        at += 1;
        if kind != b'w' && kind != b't' {
            continue;
        }
        let digits = bytes[at..].iter().take(7).take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 || bytes.get(at + digits) != Some(&b'x') {
            continue;
        }
        let number = bytes[at..at + digits].iter().fold(0, |sum: u32, b| sum * 10 + u32::from(b - b'0'));
        found.push(if kind == b'w' { Word::Text(number) } else { Word::Title(number) });
        at += digits + 1;
    }
    found
}

/// Blocks that stand in files by their id alone: who removes the line removes the words.
#[derive(Debug, Clone, Default)]
pub(crate) struct StandIns(BTreeMap<String, BTreeSet<Word>>);

impl StandIns {
    /// These blocks stand in a page, with these words. Two pages can have blocks of one id.
    pub(crate) fn learn(&mut self, blocks: Vec<(String, Vec<Word>)>) {
        for (id, words) in blocks {
            self.0.entry(id).or_default().extend(words);
        }
    }

    /// Whether a block that stands in files by its id has this word.
    pub(crate) fn holds(&self, word: Word) -> bool {
        self.0.values().any(|words| words.contains(&word))
    }

    /// Every word of a block that stands in files by its id.
    pub(crate) fn all(&self) -> impl Iterator<Item = Word> {
        self.0.values().flatten().copied()
    }

    /// The words in a file, and in the blocks that it names.
    pub(crate) fn words_of(&self, bytes: &[u8]) -> BTreeSet<Word> {
        let mut words: BTreeSet<Word> = words_in(bytes).into_iter().collect();
        for line in String::from_utf8_lossy(bytes).lines() {
            let named = line.trim_end().strip_suffix(" -->").and_then(|line| line.rsplit(' ').next());
            words.extend(named.and_then(|id| self.0.get(id)).into_iter().flatten());
        }
        words
    }
}

/// Who typed what, and what a person took away again.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    texts: u32,
    titles: u32,
    ids: BTreeSet<String>,
    typed: BTreeSet<Word>,
    gone: BTreeSet<Word>,
    twice: BTreeSet<Word>,
    doubted: BTreeSet<Word>,
    collided: BTreeSet<Word>,
}

impl Ledger {
    /// A new word for a text. It is owed once it has been typed somewhere.
    pub(crate) fn text(&mut self) -> Word {
        self.texts += 1;
        Word::Text(self.texts)
    }

    /// A new word for a title.
    pub(crate) fn title(&mut self) -> Word {
        self.titles += 1;
        Word::Title(self.titles)
    }

    /// Whether no other block was made with this id.
    pub(crate) fn mint(&mut self, id: &str) -> bool {
        self.ids.insert(id.to_owned())
    }

    /// These words stand somewhere now, by a person's hand.
    pub(crate) fn typed(&mut self, words: &[Word]) {
        self.typed.extend(words);
    }

    /// A person took `word` away: from now on it may vanish everywhere.
    pub(crate) fn forget(&mut self, word: Word) {
        self.gone.insert(word);
    }

    /// A person made a second one: from now on it may stand in several places.
    pub(crate) fn copy(&mut self, word: Word) {
        self.twice.insert(word);
    }

    /// Its page was put beside itself, and people were told: both sides had changed a text at once.
    pub(crate) fn collide(&mut self, word: Word) {
        self.collided.insert(word);
    }

    /// Whether its page was put beside itself.
    pub(crate) fn has_collided(&self, word: Word) -> bool {
        self.collided.contains(&word)
    }

    /// Whether a person took it away.
    pub(crate) fn may_vanish(&self, word: Word) -> bool {
        self.gone.contains(&word)
    }

    /// Nobody can tell where it belongs: from now on it may stand in several places.
    pub(crate) fn doubt(&mut self, word: Word) {
        self.doubted.insert(word);
    }

    /// Whether a person made a second one, or no evidence says where it belongs.
    pub(crate) fn may_be_twice(&self, word: Word) -> bool {
        self.twice.contains(&word) || self.is_doubted(word)
    }

    /// Whether no person made a second one, and no evidence says where it belongs.
    pub(crate) fn is_doubted(&self, word: Word) -> bool {
        self.doubted.contains(&word) && !self.twice.contains(&word)
    }

    /// The highest number of a word in a text.
    pub(crate) fn texts(&self) -> usize {
        self.texts as usize
    }

    /// Every word that must be somewhere.
    pub(crate) fn owed(&self) -> impl Iterator<Item = Word> {
        self.typed.difference(&self.gone).copied()
    }
}

#[test]
fn words_are_found_wherever_they_stand() {
    let check = |text: &str, expected: &str| {
        let found: Vec<String> = words_in(text.as_bytes()).iter().map(Word::to_string).collect();
        assert_eq!(found.join(" "), expected, "{text:?}");
    };
    check("", "");
    check("w1x", "w1x");
    check("**w12x**,w12x t3x.md", "w12x w12x t3x");
    check("wx w1 1x w1 x ww7xx two tw8x", "w7x w8x");
    check("w1xw2x", "w1x w2x");
    check("w12345678x", "");
}
