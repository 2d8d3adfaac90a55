//! What a match is worth: PostgreSQL's `ts_rank`, its numbers of 32 bits included, so that what moves there moves here.
//!
//! A query whose root is OR (or a single word) is worth the sum over *all* its words, those of an alternative that does not
//! match included, through their number; a text's length counts only where [`Ranking::normalization`] says so.
//! The root AND (or a phrase) is worth the nearness of its words to each other.

use super::query::{Query, Root};
use super::text::{Place, Text};

/// How pages and messages are ranked: the API document only says that a better match ranks higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ranking {
    /// Whether each match is worth the same, whatever it holds. Default: no.
    pub constant: bool,
    /// Which of the four weights the words of a text have. Default: the lowest.
    pub weight: Weight,
    /// PostgreSQL's bits: 1 and 2 divide by the text's length (logarithm, or itself), 8 and 16 the same of its different
    /// words, 32 by the rank and one. Default: none.
    pub normalization: u8,
    /// To how many decimals a rank is rounded. Default: it is not.
    pub decimals: Option<u8>,
}

/// What one occurrence of a word is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weight {
    /// 1.
    A,
    /// 0.4.
    B,
    /// 0.2.
    C,
    /// 0.1.
    #[default]
    D,
}

impl Weight {
    fn worth(self) -> f32 {
        match self {
            Self::A => 1.0,
            Self::B => 0.4,
            Self::C => 0.2,
            Self::D => 0.1,
        }
    }
}

impl Ranking {
    /// A longer text is worth less, so that nearly every edit moves its rank.
    pub const BY_LENGTH: Self = Self { constant: false, weight: Weight::D, normalization: 2, decimals: None };
    /// No edit moves a rank.
    pub const CONSTANT: Self = Self { constant: true, weight: Weight::D, normalization: 0, decimals: None };

    /// What the service shows as the rank of a match: `base` and what the match is worth.
    #[must_use]
    pub fn shown(self, base: f64, query: &Query, text: &Text) -> f64 {
        let worth = if self.constant { 0.1 } else { f64::from(self.worth(query, text)) };
        match self.decimals {
            None => base + worth,
            Some(decimals) => {
                let scale = 10_f64.powi(i32::from(decimals));
                ((base + worth) * scale).round() / scale
            }
        }
    }

    /// `ts_rank(text, query, normalization)`.
    pub(super) fn worth(self, query: &Query, text: &Text) -> f32 {
        let all = query.operands();
        if text.is_empty() || all.is_empty() {
            return 0.0;
        }
        let worth = match query.root() {
            Root::Together if all.len() > 1 => nearness(&all, text),
            _ => sum(&all, text),
        };
        self.normalized(if worth < 0.0 { 1e-20 } else { worth }, text)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the service's numbers have 32 bits")]
    fn normalized(self, mut worth: f32, text: &Text) -> f32 {
        let by = |worth: f32, divisor: f64| (f64::from(worth) / divisor) as f32;
        let log = |count: usize| ((count + 1) as f64).ln() / 2_f64.ln();
        if self.normalization & 1 != 0 {
            worth = by(worth, log(text.len()));
        }
        if self.normalization & 2 != 0 {
            worth /= text.len() as f32;
        }
        if self.normalization & 8 != 0 {
            worth /= text.different() as f32;
        }
        if self.normalization & 16 != 0 {
            worth = by(worth, log(text.different()));
        }
        if self.normalization & 32 != 0 {
            worth /= worth + 1.0;
        }
        worth
    }
}

/// Each word's occurrences, a further one for less: the sum of 1/n² has a bound, which makes it at most the weight.
#[expect(clippy::cast_possible_truncation, reason = "the service's numbers have 32 bits")]
fn sum(all: &[&str], text: &Text) -> f32 {
    let mut worth = 0_f32;
    for places in all.iter().filter_map(|stem| text.places(stem)) {
        let (mut each, mut best, mut best_at) = (0_f32, -1_f32, 0_usize);
        for (at, place) in places.iter().enumerate() {
            let weight = place.weight.worth();
            each += weight / ((at + 1) * (at + 1)) as f32;
            if weight > best {
                (best, best_at) = (weight, at);
            }
        }
        let counted = best + each - best / ((best_at + 1) * (best_at + 1)) as f32;
        worth = (f64::from(worth) + f64::from(counted) / 1.644_934_066_85) as f32;
    }
    worth / all.len() as f32
}

/// How near each two words stand; below 0 where no two of them are there.
#[expect(clippy::cast_possible_truncation, reason = "the service's numbers have 32 bits")]
fn nearness(all: &[&str], text: &Text) -> f32 {
    let mut worth = -1_f32;
    let found: Vec<&[Place]> = all.iter().filter_map(|stem| text.places(stem)).collect();
    for (at, second) in found.iter().enumerate() {
        for first in &found[..at] {
            for (a, b) in second.iter().flat_map(|a| first.iter().map(move |b| (a, b))) {
                let away = a.at.abs_diff(b.at);
                if away == 0 {
                    continue;
                }
                let near = f64::from(a.weight.worth() * b.weight.worth() * by_distance(away)).sqrt() as f32;
                worth = if worth < 0.0 {
                    near
                } else {
                    (1.0 - (1.0 - f64::from(worth)) * (1.0 - f64::from(near))) as f32
                };
            }
        }
    }
    worth
}

/// Close to 1 for neighbours, and nothing worth speaking of from a hundred words on.
#[expect(clippy::cast_possible_truncation, reason = "the service's numbers have 32 bits")]
fn by_distance(words: u16) -> f32 {
    if words > 100 { 1e-30 } else { (1.0 / (1.005 + 0.05 * (f64::from(words) / 1.5 - 2.0).exp())) as f32 }
}
