//! Words as a search compares them: cut out of a text, in lower case, by their Spanish stem, without accents but for the ñ.

use std::collections::BTreeMap;
use std::ops::Range;

use frostem::{Algorithm, Stemmer};
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Words that say too little for a text to have to hold them. A phrase holds them all the same.
const COMMON: &str = " a al algo ante aquel aquella aquello así aun aunque cada como con contra cual cuando cuyo de del \
    desde donde durante e el él ella ellas ello ellos en entre era eran es esa esas ese eso esos esta está están estas \
    este esto estos fue fueron ha había han has hasta hay he la las le les lo los mas más me mi mis mucho muy nada ni no \
    nos nosotros nuestra nuestro o os otra otro para pero poco por porque pues que qué quien se sea según ser si sí sido \
    sin sobre son su sus también tanto te tiene tienen todo todos tu tú tus u un una unas uno unos y ya yo ";

/// A word longer than this many bytes is cut there: no user types it, and no index need hold it.
const LONGEST: usize = 120;

/// Where the words of a text stand.
pub(super) fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + text[rest..].find(char::is_alphanumeric)?;
        // A mark belongs to the letter before it: decomposed text is the same text.
        let goes_on = |c: char| c.is_alphanumeric() || !c.is_ascii() && canonical_combining_class(c) != 0;
        let length = text[start..].find(|c| !goes_on(c)).unwrap_or(text.len() - start);
        rest = start + length;
        Some(start..rest)
    })
}

/// In lower case and composed, as the stemmer takes it.
pub(super) fn lower(word: &str) -> String {
    if word.is_ascii() {
        return cut(word.to_ascii_lowercase());
    }
    // Letters of Latin-1 are composed, and so are their small ones.
    if word.chars().all(|c| c < LATIN_END) {
        return cut(word.to_lowercase());
    }
    // Nearly every word is composed as it stands, and stays so in lower case.
    if is_nfc_quick(word.chars()) == IsNormalized::Yes {
        let lower = word.to_lowercase();
        if is_nfc_quick(lower.chars()) == IsNormalized::Yes {
            return cut(lower);
        }
    }
    cut(word.nfc().flat_map(char::to_lowercase).nfc().collect())
}

fn cut(mut word: String) -> String {
    if word.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| word.is_char_boundary(*at)).unwrap_or(0);
        word.truncate(end);
    }
    word
}

/// Without accents, but for the ñ, which is a letter of its own.
pub(super) fn plain(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    if let Some(bare) = text.chars().map(bare).collect() {
        return bare;
    }
    let lower: String = text.nfc().flat_map(char::to_lowercase).collect();
    let mut out = String::with_capacity(lower.len());
    for c in lower.nfc() {
        if c.is_ascii() || c == 'ñ' {
            out.push(c);
        } else {
            out.extend(std::iter::once(c).nfd().filter(|c| canonical_combining_class(*c) == 0));
        }
    }
    out
}

/// Below this every letter is one character, also with its accent, and nothing joins the one before it.
const LATIN_END: char = '\u{100}';

/// What [`plain`] makes of a character of Latin-1, wherever it stands; `None` for every other.
fn bare(c: char) -> Option<char> {
    if c.is_ascii() {
        return Some(c.to_ascii_lowercase());
    }
    Some(match c {
        'À'..='Å' | 'à'..='å' => 'a',
        'Ç' | 'ç' => 'c',
        'È'..='Ë' | 'è'..='ë' => 'e',
        'Ì'..='Ï' | 'ì'..='ï' => 'i',
        'Ñ' | 'ñ' => 'ñ',
        'Ò'..='Ö' | 'ò'..='ö' => 'o',
        'Ù'..='Ü' | 'ù'..='ü' => 'u',
        'Ý' | 'ý' | 'ÿ' => 'y',
        'Æ' => 'æ',
        'Ð' => 'ð',
        'Ø' => 'ø',
        'Þ' => 'þ',
        _ if c < LATIN_END => c,
        _ => return None,
    })
}

/// Which words have a stem that is looked for. Of the forms of words that texts are full of each is stemmed once.
pub(super) struct Wanted<'q> {
    wanted: Vec<&'q str>,
    starts: Starts<'q>,
    stems: Stems,
    met: BTreeMap<String, Vec<usize>>,
}

impl<'q> Wanted<'q> {
    /// For these stems, as [`Stems::stem`] makes them.
    pub(super) fn new(stems: impl Iterator<Item = &'q str>) -> Self {
        let mut wanted: Vec<&str> = stems.collect();
        wanted.sort_unstable();
        wanted.dedup();
        let starts = Starts::of(wanted.iter().copied());
        Self { wanted, starts, stems: Stems::new(), met: BTreeMap::new() }
    }

    /// What is looked for, each once.
    pub(super) fn stems(&self) -> &[&'q str] {
        &self.wanted
    }

    /// Which of [`Wanted::stems`] this word of a text has: its stem, and the one it would have without its accents.
    pub(super) fn of(&mut self, word: &str) -> &[usize] {
        if !self.starts.may_be(word) {
            return &[];
        }
        if !self.met.contains_key(word) {
            let lower = lower(word);
            let stem = self.stems.stem(&lower);
            let bare = self.stems.bare_stem(&lower, &stem);
            let is_one =
                |at: &usize| [Some(stem.as_str()), bare.as_deref()].contains(&Some(self.wanted[*at]));
            self.met.insert(word.to_owned(), (0..self.wanted.len()).filter(is_one).collect());
        }
        self.met.get(word).map_or(&[], Vec::as_slice)
    }
}

/// How words begin whose stems may be among some.
struct Starts<'a>(Vec<&'a str>);

impl<'a> Starts<'a> {
    /// Of these stems, as [`Stems::stem`] makes them.
    fn of(stems: impl Iterator<Item = &'a str>) -> Self {
        let start = |stem: &'a str| {
            let end = stem.char_indices().nth(3).map_or(stem.len(), |(at, _)| at);
            &stem[..end]
        };
        Self(stems.map(start).collect())
    }

    /// Whether it is worth stemming a word: but for accents a Spanish stem changes none of the first three letters. Where
    /// that is not easily told it may be.
    fn may_be(&self, word: &str) -> bool {
        self.0.iter().any(|start| {
            let mut letters = word.chars();
            for wanted in start.chars() {
                match letters.next().map(bare) {
                    Some(Some(letter)) if letter == wanted => {}
                    // A mark that may join the letter before it.
                    Some(None) => return true,
                    Some(Some(_)) => return letters.next().is_some_and(|c| c >= LATIN_END),
                    None => return false,
                }
            }
            true
        })
    }
}

/// The stemmer, made once.
pub(super) struct Stems(Stemmer);

impl Stems {
    pub(super) fn new() -> Self {
        Self(Stemmer::new(Algorithm::Spanish))
    }

    /// The stem of a word in lower case.
    pub(super) fn stem(&self, lower: &str) -> String {
        let stem = self.0.stem(lower);
        if stem.is_ascii() { stem.into_owned() } else { plain(&stem) }
    }

    /// The stem of the word as it would be typed without its accents, where that is another one (`corría`, `corria`).
    pub(super) fn bare_stem(&self, lower: &str, stem: &str) -> Option<String> {
        if lower.is_ascii() {
            return None;
        }
        let bare = self.stem(&plain(lower));
        (bare != stem).then_some(bare)
    }
}

/// Whether a word in lower case is too common to insist on.
pub(super) fn is_common(lower: &str) -> bool {
    COMMON.contains(&format!(" {lower} "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_out_whole() {
        for (text, expected) in [
            ("", &[][..]),
            ("  ¿Qué? —dijo—", &["Qué", "dijo"]),
            ("c++ foo-bar a_b informe-2026.pdf", &["c", "foo", "bar", "a", "b", "informe", "2026", "pdf"]),
            ("man\u{303}ana", &["man\u{303}ana"]),
            ("🚲taller", &["taller"]),
            ("\u{301}x", &["x"]),
            ("日本 語", &["日本", "語"]),
        ] {
            let found: Vec<&str> = words(text).map(|at| &text[at]).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn latin_letters_are_the_same_the_short_way() {
        for c in (0..0x100).filter_map(char::from_u32) {
            // A word of the other alphabets beside it takes the long way.
            let long = plain(&format!("{c}\u{436}"));
            assert_eq!(bare(c).map(String::from).unwrap() + "\u{436}", long, "{c:?}");
            let long = lower(&format!("{c}\u{436}"));
            assert_eq!(lower(&c.to_string()) + "\u{436}", long, "{c:?}");
        }
    }

    #[test]
    fn what_has_a_stem_begins_like_it() {
        let stems = Stems::new();
        for word in [
            "ábaco",
            "oírlo",
            "óleo",
            "reuniones",
            "Él",
            "aún",
            "año",
            "AÑOS",
            "e",
            "irse",
            "día",
            "o\u{301}leo",
            "man\u{303}ana",
            "ÁÉÍ",
            "ríe",
            "vía",
            "leí",
            "lié",
            "huí",
            "yéndose",
            "dándoselo",
            "日本",
            "жук",
            "ab",
            "aba",
        ] {
            let lower = lower(word);
            let stem = stems.stem(&lower);
            let bare = stems.bare_stem(&lower, &stem);
            for stem in [Some(stem), bare].into_iter().flatten() {
                assert!(Starts::of([stem.as_str()].into_iter()).may_be(word), "{word}: {stem}");
            }
        }
        assert!(!Starts::of(["reunion"].into_iter()).may_be("recuento"));
    }

    #[test]
    fn stems_join_what_belongs_together_and_keep_apart_what_does_not() {
        let stems = Stems::new();
        let of = |word: &str| stems.stem(&lower(word));
        for (a, b, same) in [
            ("camión", "CAMIONES", true),
            ("reunion", "reunión", true),
            ("correr", "corrían", true),
            ("organización", "organizacion", true),
            ("man\u{303}ana", "mañana", true),
            ("pingüino", "pinguino", true),
            ("año", "ano", false),
            ("plan", "planta", false),
            ("meeting", "MEETING", true),
        ] {
            assert_eq!(of(a) == of(b), same, "{a} {b}: {} {}", of(a), of(b));
        }
        assert_eq!(stems.bare_stem("corría", &of("corría")), Some(of("corria")));
        assert_eq!(stems.bare_stem("reunión", &of("reunión")), None);
        assert_eq!(lower(&"ñ".repeat(500)).len(), LONGEST);
    }
}
