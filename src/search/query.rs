//! What a person's query means. Words must all be there, `OR` (in any case) begins another choice, a quoted phrase is its
//! words in a row, and what follows a minus must not be there. Nothing that can be typed is an error but a query that
//! names nothing to look for.

use super::words::{Stems, is_common, lower, plain, words};

/// More terms than this are no query.
const TERMS_MAX: usize = 64;

/// A query that names nothing to look for, or too much.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Odd {
    /// Nothing but spaces.
    #[error("there is nothing to search for; type a word, as in espejo search meeting")]
    Blank,
    /// Only words that must not be there.
    #[error("-word only excludes; add a word to search for")]
    OnlyExcluded,
    /// More than anybody types.
    #[error("the query has more than {TERMS_MAX} words; remove some")]
    TooLong,
}

/// A query, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// One of these must match.
    pub(super) choices: Vec<Choice>,
    /// The whole of it, for titles that contain it: without accents, in lower case.
    pub(super) whole: String,
}

/// Terms that must all be there, and terms that must not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) wanted: Vec<Term>,
    pub(super) excluded: Vec<Term>,
}

/// A word, or words in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Term {
    /// The words in lower case.
    pub(super) words: Vec<String>,
    /// Their stems, in each way in which they may be meant; the first is the words' own.
    pub(super) ways: Vec<Vec<String>>,
}

impl Query {
    /// Understands what was typed.
    ///
    /// # Errors
    /// [`Odd`], when there is nothing to look for.
    pub fn new(typed: &str) -> Result<Self, Odd> {
        let stems = Stems::new();
        let mut choices = vec![Choice::default()];
        let mut rest = typed;
        let mut count = 0;
        loop {
            rest = rest.trim_start();
            let excluded = rest.len() > 1 && rest.starts_with('-');
            let body = if excluded { &rest[1..] } else { rest };
            let Some(first) = body.chars().next() else { break };
            let (text, after) = match body.strip_prefix('"') {
                // One that is not closed goes to the end.
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => {
                    body.split_at(body.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(body.len()))
                }
            };
            rest = after;
            if first != '"' && !excluded && text.eq_ignore_ascii_case("or") {
                choices.push(Choice::default());
                continue;
            }
            let term = Term::new(text, &stems);
            count += term.words.len();
            if count > TERMS_MAX {
                return Err(Odd::TooLong);
            }
            if let (false, Some(choice)) = (term.words.is_empty(), choices.last_mut()) {
                if excluded { &mut choice.excluded } else { &mut choice.wanted }.push(term);
            }
        }
        if typed.trim().is_empty() {
            return Err(Odd::Blank);
        }
        // What is nothing but accents is looked for as it is.
        let whole = Some(plain(typed.trim())).filter(|whole| !whole.is_empty());
        let whole = whole.unwrap_or_else(|| typed.trim().to_owned());
        let only_excluded = choices.iter().any(|choice| !choice.excluded.is_empty())
            && choices.iter().all(|choice| choice.wanted.is_empty());
        if only_excluded {
            return Err(Odd::OnlyExcluded);
        }
        choices.retain(|choice| !choice.wanted.is_empty());
        choices.iter_mut().for_each(Choice::let_go_of_common_words);
        Ok(Self { choices, whole })
    }

    /// Every stem that is wanted, in any way.
    pub(super) fn stems(&self) -> impl Iterator<Item = &str> {
        let wanted = self.choices.iter().flat_map(|choice| &choice.wanted);
        wanted.flat_map(|term| term.ways.iter().flatten()).map(String::as_str)
    }

    /// Whether only words are wanted that nearly every text has: which has them says nothing of what it is about.
    pub(super) fn says_nothing(&self) -> bool {
        let mut wanted = self.choices.iter().flat_map(|choice| &choice.wanted);
        wanted.all(Term::says_nothing)
    }

    /// Whether words in a row are wanted.
    pub(super) fn has_rows(&self) -> bool {
        self.choices.iter().flat_map(|choice| &choice.wanted).any(|term| term.words.len() > 1)
    }

    /// Every term that is wanted.
    pub(super) fn wanted_mut(&mut self) -> impl Iterator<Item = &mut Term> {
        self.choices.iter_mut().flat_map(|choice| &mut choice.wanted)
    }

    /// Every word that stands by itself, to learn of other stems that it may have.
    pub(super) fn terms_mut(&mut self) -> impl Iterator<Item = &mut Term> {
        self.choices.iter_mut().flat_map(|choice| choice.wanted.iter_mut().chain(&mut choice.excluded))
    }
}

impl Choice {
    /// Beside a word that says something, one that says nothing need not be there.
    fn let_go_of_common_words(&mut self) {
        if !self.wanted.iter().all(Term::says_nothing) {
            self.wanted.retain(|term| !term.says_nothing());
        }
    }
}

impl Term {
    fn new(text: &str, stems: &Stems) -> Self {
        let words: Vec<String> = words(text).map(|at| lower(&text[at])).collect();
        let own: Vec<String> = words.iter().map(|word| stems.stem(word)).collect();
        let bare: Vec<String> = words
            .iter()
            .zip(&own)
            .map(|(word, stem)| stems.bare_stem(word, stem).unwrap_or_else(|| stem.clone()))
            .collect();
        let mut ways = vec![own];
        if ways[0] != bare {
            ways.push(bare);
        }
        Self { words, ways }
    }

    fn says_nothing(&self) -> bool {
        matches!(self.words.as_slice(), [word] if is_common(word))
    }

    /// The single word may have this stem too.
    pub(super) fn may_be(&mut self, stem: String) {
        if self.words.len() == 1 && !self.ways.iter().any(|way| way[0] == stem) {
            self.ways.push(vec![stem]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A query in a few signs: `a b` both, ` | ` a choice, `"` a phrase, `-` excluded.
    fn shape(query: &Query) -> String {
        let term = |term: &Term| match term.words.len() {
            1 => term.words[0].clone(),
            _ => format!("\"{}\"", term.words.join(" ")),
        };
        let choice = |choice: &Choice| {
            let wanted = choice.wanted.iter().map(term);
            wanted
                .chain(choice.excluded.iter().map(|one| format!("-{}", term(one))))
                .collect::<Vec<_>>()
                .join(" ")
        };
        query.choices.iter().map(choice).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn queries_are_understood_as_the_service_does() {
        for (typed, expected) in [
            ("Plan", "plan"),
            ("  plan   presupuesto ", "plan presupuesto"),
            ("\"plan de obra\"", "\"plan de obra\""),
            ("\"plan de", "\"plan de\""),
            ("plan\"de obra\"viejo", "plan \"de obra\" viejo"),
            ("plan OR obra", "plan | obra"),
            ("plan or obra Or casa", "plan | obra | casa"),
            ("a plan OR obra casa", "plan | obra casa"),
            ("OR plan OR", "plan"),
            ("\"or\"", "or"),
            ("plan -obra", "plan -obra"),
            ("plan -\"de obra\"", "plan -\"de obra\""),
            ("plan - obra", "plan obra"),
            ("plan --obra", "plan -obra"),
            ("plan -", "plan"),
            ("plan OR -obra", "plan"),
            ("foo-bar c++", "\"foo bar\" c"),
            ("reunión de la obra", "reunión obra"),
            ("de la", "de la"),
            ("NEAR(a, b)", "\"near a\" b"),
            ("title:x a* ^y {z}", "\"title x\" z"),
            ("'; DROP TABLE docs; --", "drop table docs"),
            ("a AND NOT b", "and not b"),
            ("\u{0}plan\u{0}", "plan"),
            ("🚲", ""),
            ("!!!", ""),
            ("-", ""),
            ("\"\"", ""),
            ("-\"", ""),
        ] {
            let query = Query::new(typed).unwrap_or_else(|odd| panic!("{typed:?}: {odd}"));
            assert_eq!(shape(&query), expected, "{typed:?}");
        }
    }

    #[test]
    fn what_names_nothing_is_refused() {
        let many = "a1 ".repeat(TERMS_MAX + 1);
        for (typed, odd) in [
            ("", Odd::Blank),
            (" \t\n\u{a0}", Odd::Blank),
            ("-plan", Odd::OnlyExcluded),
            ("-plan OR -obra", Odd::OnlyExcluded),
            (many.as_str(), Odd::TooLong),
        ] {
            assert_eq!(Query::new(typed), Err(odd), "{typed:?}");
        }
        assert!(Query::new(&"x".repeat(10_000)).is_ok());
    }

    #[test]
    fn an_accent_more_or_less_is_another_way_to_mean_it() {
        let query = Query::new("corría reunión").unwrap();
        let ways: Vec<usize> = query.choices[0].wanted.iter().map(|term| term.ways.len()).collect();
        assert_eq!(ways, [2, 1]);
        assert_eq!(query.whole, "corria reunion");
    }
}
