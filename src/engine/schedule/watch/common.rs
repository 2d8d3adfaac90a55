//! The most common words of a workspace, by their Spanish stems: an edit most likely adds or removes them. They are
//! counted roughly, in a table of bounded size. Of a text only single stems are kept.

use std::borrow::Cow;
use std::collections::BTreeMap;

use frostem::{Algorithm, Stemmer};

/// So many texts show which words are common.
const TEXTS: usize = 300;
/// The most stems that are counted; the rarest go when there are more.
const COUNTED: usize = 8_192;
/// The most words that are ever requested.
pub(crate) const MOST: usize = 1_000;
const LETTERS: std::ops::RangeInclusive<usize> = 3..=16;

/// Words that a Spanish text search drops: they show nothing.
const DROPPED: &str = "algo algunas algunos ante antes aquel aquella como con contra cual cuando del desde donde durante el \
    ella ellas ellos entre era eran eras eres esa esas ese eso esos esta estaba estado estamos estar estas este esto estos \
    estoy está están fue fueron fui ha haber habido había han has hasta hay haya he hemos hubo la las le les lo los me mi mis \
    mucho muchos muy más mí nada ni no nos nosotros nuestra nuestras nuestro nuestros o os otra otras otro otros para pero \
    poco por porque que quien quienes qué se sea ser será sería si sido siente sin sobre sois somos son soy su sus suya suyo \
    sí también tanto te tendrá tenemos tener tenga tengo tenido tenía ti tiene tienen todo todos tu tus tuvo tuya tuyo tú un \
    una uno unos vosotros vuestra vuestro y ya yo él";

/// Words that many texts have.
#[derive(Debug, Clone, Default)]
pub struct Common {
    /// How often each stem is in the texts that were read, and the shortest word that has it. Empty once all texts
    /// have been read and the words taken.
    stems: BTreeMap<String, (u32, String)>,
    texts: usize,
}

impl Common {
    /// Counts one more text, while there are not enough.
    pub fn add(&mut self, text: &str) {
        if self.texts == TEXTS {
            return;
        }
        let stemmer = Stemmer::new(Algorithm::Spanish);
        // A text has most of its words several times, and each is stemmed once.
        let mut words: BTreeMap<Cow<'_, str>, u32> = BTreeMap::new();
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            if LETTERS.contains(&word.chars().count()) && word.chars().all(char::is_alphabetic) {
                let is_lower = word.bytes().all(|byte| byte.is_ascii_lowercase());
                let lower = if is_lower { word.into() } else { Cow::Owned(word.to_lowercase()) };
                *words.entry(lower).or_default() += 1;
            }
        }
        for word in DROPPED.split_ascii_whitespace() {
            words.remove(word);
        }
        self.texts += usize::from(!words.is_empty());
        for (lower, times) in words {
            let stem = stemmer.stem(&lower).into_owned();
            match self.stems.get_mut(&stem) {
                Some((count, shortest)) => {
                    *count += times;
                    if lower.len() < shortest.len() {
                        *shortest = lower.into_owned();
                    }
                }
                None => {
                    // Most stems are found by themselves; of the others a word is kept.
                    let word = if stemmer.stem(&stem) == stem { stem.clone() } else { lower.into_owned() };
                    self.stems.insert(stem, (times, word));
                }
            }
        }
        let mut rare = 1;
        while self.stems.len() > COUNTED {
            self.stems.retain(|_, (count, _)| *count > rare);
            rare *= 2;
        }
    }

    /// The most common words, the most common first: for each stem, what finds it, the stem itself or a word that has
    /// it. `None` if they were taken before and no more texts will be read.
    pub fn take_commonest(&mut self) -> Option<Vec<String>> {
        if self.stems.is_empty() && self.texts == TEXTS {
            return None;
        }
        let mut all: Vec<&(u32, String)> = self.stems.values().collect();
        all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let kept =
            all.into_iter().map(|(_, word)| word).filter(|word| word.len() > 1 && word.as_str() != "or");
        let words = kept.take(MOST).cloned().collect();
        if self.texts == TEXTS {
            self.stems = BTreeMap::new();
        }
        Some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commonest_stems_are_those_of_words_that_count() {
        let mut common = Common::default();
        common.add("El plan de la semana: planes, plan y más planes. Una semana de trabajo, 2026, a1 or");
        common.add("trabajar en la semana");
        let words = common.take_commonest().unwrap();
        assert_eq!(words, ["plan", "semana", "trabaj"]);
        assert_eq!(common.take_commonest(), Some(words), "more texts may follow");
    }

    #[test]
    fn the_table_is_bounded_and_keeps_what_is_common() {
        let mut common = Common::default();
        let letter = |n: usize| char::from(b'a' + u8::try_from(n % 26).unwrap());
        let rare = |n: usize| [n, n / 26, n / 676, n / 17_576].map(letter).iter().collect::<String>();
        for text in 0..TEXTS {
            let rare: String = (0..20).map(|n| format!(" x{}", rare(text * 20 + n))).collect();
            common.add(&format!("reunión{rare}"));
        }
        assert!(common.stems.len() <= COUNTED);
        for _ in 0..TEXTS {
            common.add("informe");
        }
        let words = common.take_commonest().unwrap();
        assert_eq!(words.first().map(String::as_str), Some("reunion"));
        assert_eq!(common.take_commonest(), None, "these are all");
    }
}
