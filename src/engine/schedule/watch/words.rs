//! Chooses the word by which the service's search finds a page: one that hardly any other page has. The number of pages
//! with a word is counted by its stem, because the service finds it by that, and roughly, in a table of fixed size. If
//! a word seems too common, it is only not chosen.

use std::collections::BTreeMap;

use frostem::{Algorithm, Stemmer};

const CELLS: usize = 1 << 16;
const LETTERS: std::ops::RangeInclusive<usize> = 4..=24;
const DIGITS: std::ops::RangeInclusive<usize> = 2..=12;
/// A word that more pages than this have does not identify a page.
const OWNERS: u8 = 2;

/// Words of a page, each with the cell in which it is counted: its stem is computed once.
#[derive(Debug)]
pub(crate) struct Words(BTreeMap<String, usize>);

/// The number of pages that each word is in.
#[derive(Debug)]
pub(crate) struct Counts(Vec<u8>);

impl Default for Counts {
    fn default() -> Self {
        Self(vec![0; CELLS])
    }
}

impl Counts {
    /// Counts the words of one more page.
    pub(crate) fn add(&mut self, words: &Words) {
        let mut cells: Vec<usize> = words.0.values().copied().collect();
        cells.sort_unstable();
        cells.dedup();
        for at in cells {
            self.0[at] = self.0[at].saturating_add(1);
        }
    }

    /// The best word to find a page by, other than `not`.
    pub(crate) fn choose<'a>(&self, words: &'a Words, not: Option<&str>) -> Option<&'a str> {
        let words = words.0.iter().map(|(word, cell)| (word.as_str(), *cell));
        let others = words.filter(|(word, _)| Some(*word) != not);
        let rated = others.map(|(word, cell)| (self.0[cell], std::cmp::Reverse(word.len()), word));
        rated.min().filter(|(owners, ..)| *owners <= OWNERS).map(|(.., word)| word)
    }

    /// Whether a page can be found by this word.
    pub(crate) fn is_rare(&self, word: &str) -> bool {
        self.0[cell(&Stemmer::new(Algorithm::Spanish), word)] <= OWNERS
    }
}

fn cell(stemmer: &Stemmer, word: &str) -> usize {
    let stem = stemmer.stem(word);
    let hash = stem.chars().fold(0xcbf2_9ce4_8422_2325_u64, |hash, c| {
        (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 40) as usize % CELLS
}

/// So many bytes of a page have enough words to find it by.
pub(crate) const READ_MAX: usize = 1 << 14;

/// The words in the text of blocks that any search takes for one word each, in lower case: between spaces, and of
/// letters and digits. Only the first [`READ_MAX`] bytes are read.
pub(crate) fn words(lines: &str) -> Words {
    let (begin, rest) = lines.split_at(lines.floor_char_boundary(READ_MAX));
    let end = begin.len() + rest.find(char::is_whitespace).unwrap_or(rest.len());
    let stemmer = Stemmer::new(Algorithm::Spanish);
    let mut words = BTreeMap::new();
    for word in all(&lines[..end]).map(str::to_lowercase) {
        words.entry(word).or_insert_with_key(|word| cell(&stemmer, word));
    }
    Words(words)
}

/// Whether this is one of the words that a page is found by, at any place in its text.
pub(crate) fn has(lines: &str, word: &str) -> bool {
    all(lines).any(|one| one.eq_ignore_ascii_case(word) || !one.is_ascii() && one.to_lowercase() == word)
}

fn all(lines: &str) -> impl Iterator<Item = &str> {
    let bare = lines.split_whitespace().map(|word| word.trim_matches(|c| ",.;:!?¡¿()\"'«»".contains(c)));
    bare.filter(|word| {
        let long = word.chars().count();
        word.chars().all(char::is_alphanumeric)
            && (LETTERS.contains(&long)
                || (word.bytes().all(|b| b.is_ascii_digit()) && DIGITS.contains(&long)))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::lines;

    #[track_caller]
    fn check(block: Value, expected: &[&str]) {
        let found: Vec<String> = words(&lines(&[block])).0.into_keys().collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_long_page_is_found_by_words_of_its_beginning() {
        let long = format!("Jardín {} último", "und ".repeat(READ_MAX / 4));
        assert_eq!(words(&long).0.into_keys().collect::<Vec<_>>(), ["jardín"]);
        assert_eq!(words(&long[..READ_MAX]).0.len(), 1);
        for (word, is_there) in [("jardín", true), ("último", true), ("ultimo", false), ("und", false)] {
            assert_eq!(has(&long, word), is_there, "{word}");
        }
    }

    #[test]
    fn only_what_is_one_word_to_every_search_is_a_word() {
        let say = |text: &str| json!({ "type": "paragraph", "content": [{ "type": "text", "text": text }] });
        check(say("El Jardín, (zanahorias)"), &["jardín", "zanahorias"]);
        check(say("de la y 7 42 2026 a1"), &["2026", "42"]);
        check(say("ana@site.example semi-colon http://x.example/garden snake_case don't"), &[]);
        let run = |text: &str| json!({ "type": "text", "text": text });
        let link = json!({ "type": "link", "href": "x", "content": [run("ahorias")] });
        check(json!({ "content": [run("zan"), link, run(" rojas")] }), &["rojas", "zanahorias"]);
        let row = |a: &str, b: &str| json!({ "cells": [{ "content": [run(a)] }, [run(b)]] });
        check(
            json!({ "content": { "type": "tableContent", "rows": [row("uvas", "peras"), row("higos", "limas")] } }),
            &["higos", "limas", "peras", "uvas"],
        );
        check(json!({ "content": "x", "children": [say("dentro"), say("fuera")] }), &["dentro", "fuera"]);
    }

    #[test]
    fn a_page_gets_a_word_of_its_own_or_none() {
        let mut counts = Counts::default();
        let pages = [
            words("tomate común calabacín"),
            words("tomate común calabacines"),
            words("común calabacín peces"),
        ];
        pages.iter().for_each(|page| counts.add(page));
        assert_eq!(counts.choose(&pages[0], None), Some("tomate"), "two stems that are one count as one");
        assert_eq!(counts.choose(&pages[2], None), Some("peces"));
        assert_eq!(counts.choose(&pages[2], Some("peces")), None, "what all have is nobody's");
        // Short words with one stem.
        let mut counts = Counts::default();
        let pages = [words("tomar pizarra"), words("tomó"), words("tomas"), words("tomamos")];
        pages.iter().for_each(|page| counts.add(page));
        assert_eq!(
            pages.each_ref().map(|page| counts.choose(page, None)),
            [Some("pizarra"), None, None, None]
        );
    }
}
