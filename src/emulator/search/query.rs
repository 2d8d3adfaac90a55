//! What is searched for, and whether a text has it: `websearch_to_tsquery`. `OR` in any case between terms, a leading
//! minus, phrases; a phrase that is not closed goes to the end.

use super::text::{Text, stems};

/// What is searched for: one of several groups, each of terms that must all be there or must not be.
#[derive(Debug)]
pub struct Query(Vec<Vec<Term>>);

/// Stems that stand one after the other, each with its distance from the first.
#[derive(Debug)]
struct Term {
    stems: Vec<(u16, String)>,
    excluded: bool,
}

/// What joins the whole query.
pub(super) enum Root {
    /// OR, a single word, or the absence of one.
    Any,
    /// AND, or a phrase's order.
    Together,
}

impl Query {
    /// As a person typed it.
    #[must_use]
    pub fn new(asked: &str) -> Self {
        let mut groups = vec![Vec::new()];
        let mut rest = asked;
        loop {
            rest = rest.trim_start();
            let excluded = rest.starts_with('-') && rest.len() > 1;
            let body = if excluded { &rest[1..] } else { rest };
            let Some(first) = body.chars().next() else { break };
            let (words, after) = if first == '"' {
                body[1..].split_once('"').unwrap_or((&body[1..], ""))
            } else {
                let end = body.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(body.len());
                body.split_at(end)
            };
            rest = after;
            if first != '"' && !excluded && words.eq_ignore_ascii_case("or") {
                groups.push(Vec::new());
                continue;
            }
            let all = stems(words);
            let start = all.iter().position(Option::is_some).unwrap_or(0);
            let stems: Vec<(u16, String)> = all
                .into_iter()
                .enumerate()
                .filter_map(|(at, stem)| Some((u16::try_from(at - start.min(at)).ok()?, stem?)))
                .collect();
            if let (false, Some(group)) = (stems.is_empty(), groups.last_mut()) {
                group.push(Term { stems, excluded });
            }
        }
        groups.retain(|group| !group.is_empty());
        Self(groups)
    }

    /// Whether it finds a text.
    #[must_use]
    pub fn matches(&self, text: &Text) -> bool {
        let has = |term: &Term| {
            let Some((_, first)) = term.stems.first() else { return false };
            let begins = text.places(first).unwrap_or_default();
            begins.iter().any(|begin| {
                term.stems.iter().all(|(away, stem)| {
                    let at = begin.at.saturating_add(*away);
                    text.places(stem).unwrap_or_default().iter().any(|place| place.at == at)
                })
            })
        };
        self.0.iter().any(|group| group.iter().all(|term| has(term) != term.excluded))
    }

    pub(super) fn root(&self) -> Root {
        match self.0.as_slice() {
            [group] => match group.as_slice() {
                [term] if term.stems.len() == 1 || term.excluded => Root::Any,
                _ => Root::Together,
            },
            _ => Root::Any,
        }
    }

    /// Its words, each once, in the service's order.
    pub(super) fn operands(&self) -> Vec<&str> {
        let mut all: Vec<&str> =
            self.0.iter().flatten().flat_map(|term| &term.stems).map(|(_, stem)| stem.as_str()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
