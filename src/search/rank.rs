//! What a match is worth. A title that is the query comes first, then one that holds it, then the text; among equals what
//! counts is, as at the service, how often the words occur and how near to each other.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::query::{Choice, Query, Term};
use super::words::{Wanted, plain, words};

/// What one occurrence is worth.
const WEIGHT: f64 = 0.1;
/// Of a word that occurs more often than this, the rest adds nothing that could be told apart.
const OCCURRENCES_MAX: usize = 24;

/// Where the words that are asked for stand in a text, and which of their stems they have.
struct Places<'q>(Vec<(usize, &'q str)>);

impl<'q> Places<'q> {
    /// Those of a text.
    fn new(text: &str, query: &Query, wanted: &mut Wanted<'q>) -> Self {
        // Words in a row may stand anywhere; of others what comes after these adds nothing.
        let mut few = if query.has_rows() { usize::MAX } else { wanted.stems().len() };
        let mut counts = vec![0; wanted.stems().len()];
        let mut found = Vec::new();
        for (place, at) in words(text).enumerate() {
            for stem in wanted.of(&text[at]) {
                counts[*stem] += 1;
                few -= usize::from(counts[*stem] == OCCURRENCES_MAX);
                found.push((place, *stem));
            }
            if few == 0 {
                break;
            }
        }
        Self(found.into_iter().map(|(place, stem)| (place, wanted.stems()[stem])).collect())
    }

    fn of(&self, term: &Term) -> Vec<usize> {
        let is_at = |place: usize, stem: &str| {
            let from = self.0.partition_point(|(at, _)| *at < place);
            self.0[from..].iter().take_while(|(at, _)| *at == place).any(|(_, found)| *found == stem)
        };
        let begins = |way: &Vec<String>| {
            let (first, rest) = way.split_first()?;
            let starts = self.0.iter().filter(|(_, stem)| *stem == first.as_str()).map(|(at, _)| *at);
            Some(
                starts
                    .filter(|at| rest.iter().zip(at + 1..).all(|(stem, at)| is_at(at, stem)))
                    .collect::<Vec<_>>(),
            )
        };
        let mut all: Vec<usize> = term.ways.iter().filter_map(begins).flatten().collect();
        all.sort_unstable();
        all.dedup();
        all.truncate(OCCURRENCES_MAX);
        all
    }

    /// Whether all that a choice wants stands in the text.
    fn hold(&self, choice: &Choice) -> bool {
        choice.wanted.iter().all(|term| !self.of(term).is_empty())
    }

    /// Where a word stands that may have any of these stems.
    fn of_word(&self, stems: &BTreeSet<&str>) -> Vec<usize> {
        let mut all: Vec<usize> =
            self.0.iter().filter(|(_, stem)| stems.contains(stem)).map(|(at, _)| *at).collect();
        all.dedup();
        all.truncate(OCCURRENCES_MAX);
        all
    }
}

/// The rank of something with this title and this text.
pub(super) fn rank<'q>(query: &'q Query, title: &str, text: &str, wanted: &mut Wanted<'q>) -> f64 {
    let text = Places::new(text, query, wanted);
    let worth = match query.choices.as_slice() {
        [choice] => worth(choice, &text),
        _ => worth_of_any(query, &text),
    };
    let bare = plain(title);
    let words = Places::new(title, query, wanted);
    let class = if bare.lines().any(|line| line == query.whole) {
        3.0
    } else if bare.contains(&query.whole) || query.choices.iter().any(|choice| words.hold(choice)) {
        2.0
    } else {
        1.0
    };
    class + worth.unwrap_or(0.0)
}

/// What a match of one choice is worth: how often its one word occurs, or how near its words stand to each other.
fn worth(choice: &Choice, text: &Places<'_>) -> Option<f64> {
    if !text.hold(choice) {
        return None;
    }
    let places: Vec<Vec<usize>> = operands(&choice.wanted).iter().map(|stems| text.of_word(stems)).collect();
    Some(match places.as_slice() {
        [one] => often(one.len()),
        several => {
            let pairs =
                several.iter().enumerate().flat_map(|(at, a)| several[at + 1..].iter().map(move |b| (a, b)));
            let miss: f64 = pairs
                .flat_map(|(a, b)| a.iter().flat_map(move |a| b.iter().map(move |b| a.abs_diff(*b))))
                .filter(|distance| *distance > 0)
                .map(|distance| 1.0 - WEIGHT * nearness(distance))
                .product();
            1.0 - miss
        }
    })
}

/// What a match of one of several choices is worth: every word of all of them counts for its part, whether its choice matches
/// or not.
fn worth_of_any(query: &Query, text: &Places<'_>) -> Option<f64> {
    if !query.choices.iter().any(|choice| text.hold(choice)) {
        return None;
    }
    let all = operands(query.choices.iter().flat_map(|choice| &choice.wanted));
    let sum: f64 = all.iter().map(|stems| often(text.of_word(stems).len())).sum();
    Some(sum / all.len() as f64)
}

/// The words of some terms, each once, each with the stems that it may have.
fn operands<'q>(terms: impl IntoIterator<Item = &'q Term>) -> BTreeSet<BTreeSet<&'q str>> {
    let words = terms.into_iter().flat_map(|term| {
        let length = term.ways.iter().map(Vec::len).max().unwrap_or(0);
        (0..length).map(|at| term.ways.iter().filter_map(|way| way.get(at)).map(String::as_str).collect())
    });
    words.collect()
}

/// Each further occurrence adds less, and all of them together stay below the weight.
fn often(occurrences: usize) -> f64 {
    let sum: f64 = (1..=occurrences).map(|n| 1.0 / (n as f64).powi(2)).sum();
    WEIGHT * sum * 6.0 / std::f64::consts::PI.powi(2)
}

/// Close to 1 for neighbours, and nothing worth speaking of from a hundred words on.
fn nearness(distance: usize) -> f64 {
    static NEAR: LazyLock<Vec<f64>> = LazyLock::new(|| {
        let near = |words: u32| 1.0 / (1.005 + 0.05 * (f64::from(words) / 1.5 - 2.0).exp());
        (0..=100).map(|words| near(words).sqrt()).collect()
    });
    NEAR.get(distance).copied().unwrap_or(1e-15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_is_higher() {
        // For each query, (title, text) from the best to the worst.
        for (query, order) in [
            (
                "plan",
                &[
                    ("Plan", ""),
                    ("El plan", "plan plan"),
                    ("Planes", "plan"),
                    ("Planta", ""),
                    ("x", "plan plan"),
                    ("x", "plan"),
                ][..],
            ),
            (
                "plan obra",
                &[
                    ("Obra y plan", ""),
                    ("x", "el plan y la obra, el plan de obra"),
                    ("x", "plan obra"),
                    ("x", "plan a b c d e f obra"),
                ],
            ),
            ("\"plan de obra\"", &[("Un plan de obra", ""), ("x", "plan de obra"), ("x", "de obra plan")]),
        ] {
            let parsed = Query::new(query).unwrap();
            let mut wanted = Wanted::new(parsed.stems());
            let ranks: Vec<f64> =
                order.iter().map(|(title, text)| rank(&parsed, title, text, &mut wanted)).collect();
            assert!(
                ranks.windows(2).all(|pair| pair[0] > pair[1] || pair[0] == pair[1] && pair[0] == 2.0),
                "{query}: {ranks:?}"
            );
            assert!(ranks[0] > ranks[ranks.len() - 1]);
        }
    }

    #[test]
    fn what_comes_after_the_occurrences_that_count_adds_nothing() {
        let worth = |typed: &str, text: &str| {
            let query = Query::new(typed).unwrap();
            rank(&query, "x", text, &mut Wanted::new(query.stems()))
        };
        let enough = "plan obra ".repeat(OCCURRENCES_MAX);
        for typed in ["plan", "plan obra", "plan OR obra"] {
            assert_eq!(worth(typed, &enough), worth(typed, &enough.repeat(3)), "{typed}");
        }
        // Words in a row are found behind any number of them.
        assert!(
            worth("\"plan de obra\"", &format!("{enough} plan de obra")) > worth("\"plan de obra\"", &enough)
        );
    }
}
