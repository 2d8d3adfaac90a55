//! What a match is worth. A title that is the query comes first, then one that holds it, then the text; among equals what
//! counts is, as at the service, how often the words occur and how near to each other.

use std::sync::LazyLock;

use super::query::{Choice, Query, Term};
use super::words::{Starts, Stems, lower, plain, words};

/// What one occurrence is worth.
const WEIGHT: f64 = 0.1;
/// Of a word that occurs more often than this, the rest adds nothing that could be told apart.
const OCCURRENCES_MAX: usize = 24;

/// The words of a text that may be asked for, each with its place.
pub(super) struct Places(Vec<(usize, String)>);

impl Places {
    /// Only words that begin like something that is asked for are worth stemming.
    pub(super) fn new(text: &str, query: &Query, stems: &Stems) -> Self {
        let starts = Starts::of(query.stems());
        let mut found = Vec::new();
        for (place, at) in words(text).enumerate().filter(|(_, at)| starts.may_be(&text[at.clone()])) {
            let lower = lower(&text[at]);
            let stem = stems.stem(&lower);
            if let Some(bare) = stems.bare_stem(&lower, &stem) {
                found.push((place, bare));
            }
            found.push((place, stem));
        }
        Self(found)
    }

    fn of(&self, term: &Term) -> Vec<usize> {
        let is_at = |place: usize, stem: &str| {
            let from = self.0.partition_point(|(at, _)| *at < place);
            self.0[from..].iter().take_while(|(at, _)| *at == place).any(|(_, found)| found == stem)
        };
        let begins = |way: &Vec<String>| {
            let (first, rest) = way.split_first()?;
            let starts = self.0.iter().filter(|(_, stem)| stem == first).map(|(at, _)| *at);
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
}

/// The rank of something with this title and this text.
pub(super) fn rank(query: &Query, title: &str, text: &Places, stems: &Stems) -> f64 {
    let worth = query.choices.iter().filter_map(|choice| worth(choice, text)).fold(0.0, f64::max);
    let bare = plain(title);
    let words = Places::new(title, query, stems);
    let holds_all = |choice: &Choice| choice.wanted.iter().all(|term| !words.of(term).is_empty());
    let class = if bare.lines().any(|line| line == query.whole) {
        3.0
    } else if bare.contains(&query.whole) || query.choices.iter().any(holds_all) {
        2.0
    } else {
        1.0
    };
    class + worth
}

fn worth(choice: &Choice, text: &Places) -> Option<f64> {
    let places: Vec<Vec<usize>> = choice.wanted.iter().map(|term| text.of(term)).collect();
    if places.iter().any(Vec::is_empty) {
        return None;
    }
    Some(match places.as_slice() {
        // Each further occurrence adds less, and all of them together stay below the weight.
        [one] => {
            let sum: f64 = (1..=one.len()).map(|n| 1.0 / (n as f64).powi(2)).sum();
            WEIGHT * sum * 6.0 / std::f64::consts::PI.powi(2)
        }
        several => {
            let pairs =
                several.iter().enumerate().flat_map(|(at, a)| several[at + 1..].iter().map(move |b| (a, b)));
            let miss: f64 = pairs
                .flat_map(|(a, b)| a.iter().flat_map(move |a| b.iter().map(move |b| a.abs_diff(*b))))
                .map(|distance| 1.0 - WEIGHT * nearness(distance))
                .product();
            1.0 - miss
        }
    })
}

/// Close to 1 for neighbours, and nothing worth speaking of from a hundred words on.
fn nearness(distance: usize) -> f64 {
    static NEAR: LazyLock<Vec<f64>> = LazyLock::new(|| {
        (0..=100).map(|words| 1.0 / (1.005 + 0.05 * (f64::from(words) / 1.5 - 2.0).exp())).collect()
    });
    NEAR.get(distance).copied().unwrap_or(1e-30)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_is_higher() {
        let stems = Stems::new();
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
            let ranks: Vec<f64> = order
                .iter()
                .map(|(title, text)| rank(&parsed, title, &Places::new(text, &parsed, &stems), &stems))
                .collect();
            assert!(
                ranks.windows(2).all(|pair| pair[0] > pair[1] || pair[0] == pair[1] && pair[0] == 2.0),
                "{query}: {ranks:?}"
            );
            assert!(ranks[0] > ranks[ranks.len() - 1]);
        }
    }
}
