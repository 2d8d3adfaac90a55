//! The pages of one search, and its query.

use std::sync::Arc;

use super::{AGAIN_FEW_MS, AGAIN_MS, FEW_GROUPS, GROUP_MIN, Group, Post, REGROUP_MS, Watch, belief};
use crate::model::{ContentHash, Timestamp};

/// The longest query, in bytes as it is sent.
const LONGEST: usize = 7_000;
/// How often the activity of a group's pages is computed again.
const WEIGHED_MS: i64 = 60_000;

impl<K: Clone> Group<K> {
    /// Adds a page, by its word. Returns the word as the query has it, so that it is in memory once.
    pub(super) fn take(&mut self, page: K, word: &Arc<str>) -> Arc<str> {
        self.pages.push(page);
        if let Some(known) = self.words.iter().find(|known| *known == word) {
            return Arc::clone(known);
        }
        self.words.push(Arc::clone(word));
        Arc::clone(word)
    }
}

impl<K: Ord + Clone> Watch<K> {
    /// A group of the area with room for a page, other than `not`.
    pub(super) fn room_for(&mut self, area: &str, not: Option<usize>) -> usize {
        let room = |(at, group): (usize, &Group<K>)| {
            group.area == area && group.words.len() < self.size && Some(at) != not
        };
        self.groups.iter().enumerate().position(room).unwrap_or_else(|| {
            self.groups.push(Group::new(area.to_owned()));
            self.groups.len() - 1
        })
    }

    /// The group whose search is likeliest to show something: the activity of its pages, times the square of its last
    /// search's age.
    pub(super) fn worth_asking(&mut self, now: Timestamp) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        let again_ms = if self.groups.len() <= FEW_GROUPS { AGAIN_FEW_MS } else { AGAIN_MS };
        for at in 0..self.groups.len() {
            let group = &self.groups[at];
            let waited = now.since_ms(group.asked);
            if group.under_way || group.pages.is_empty() || waited < again_ms {
                continue;
            }
            if now.since_ms(group.weighed) >= WEIGHED_MS {
                let weight = group
                    .pages
                    .iter()
                    .filter_map(|page| self.posts.get(page))
                    .map(|post| alive(post, now))
                    .sum();
                (self.groups[at].weight, self.groups[at].weighed) = (weight, now);
            }
            let waited = waited as f64 / 1_000.0;
            let worth = self.groups[at].weight * waited * waited;
            if best.is_none_or(|(most, _)| worth > most) {
                best = Some((worth, at));
            }
        }
        best.map(|(_, at)| at)
    }

    /// The area and the query of a group's search. The search leaves now.
    pub fn ask(&mut self, group: usize, now: Timestamp) -> (String, String) {
        self.asked = now;
        self.since_sample += u32::from(!self.is_on());
        self.asks += 1;
        let level = self.belief.choose(now);
        let Some(asked) = self.groups.get_mut(group) else { return Default::default() };
        asked.before = std::mem::replace(&mut asked.asked, now);
        asked.under_way = true;
        let words: Vec<&str> = if asked.pages.is_empty() {
            Vec::new()
        } else {
            asked.words.iter().map(|word| &**word).collect()
        };
        let common = self.common.get(&asked.area).map_or(&[][..], Vec::as_slice);
        let query = query(
            &words,
            common.get(..belief::WORDS[level].min(common.len())).unwrap_or_default(),
            &self.nowhere,
        );
        asked.level = if common.is_empty() { 0 } else { level };
        let hash = hash_of(&query);
        if asked.query != hash {
            asked.query = hash;
            // Marks of another query are not comparable.
            for page in &asked.pages {
                if let Some(post) = self.posts.get_mut(page) {
                    (post.mark, post.known, post.tests) = (None, false, 0);
                }
            }
        }
        (asked.area.clone(), query)
    }

    /// Has the groups formed again as soon as possible.
    pub fn regroup_soon(&mut self) {
        self.regrouped = Timestamp::default();
    }

    /// Forms the groups again, when it is time, so that active pages are together and searched for together.
    pub fn regroup(&mut self, now: Timestamp) -> bool {
        if now.since_ms(self.regrouped) < REGROUP_MS || self.groups.iter().any(|group| group.under_way) {
            return false;
        }
        self.regrouped = now;
        let mut all: Vec<(String, f64, K)> = self
            .posts
            .iter()
            .map(|(page, post)| (self.groups[post.group].area.clone(), -alive(post, now), page.clone()))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        self.groups.clear();
        for (area, _, page) in all {
            let has_room =
                self.groups.last().is_some_and(|group| group.area == area && group.pages.len() < self.size);
            if !has_room {
                self.groups.push(Group::new(area));
            }
            let at = self.groups.len() - 1;
            if let Some(post) = self.posts.get_mut(&page) {
                post.group = at;
                post.word = self.groups[at].take(page, &post.word);
            }
        }
        true
    }

    /// Makes groups smaller, and this one at once: `lost` leave it first.
    pub(super) fn shrink(&mut self, group: usize, size: usize, lost: &[K]) {
        self.size = size.clamp(GROUP_MIN, self.size);
        let Some(crowded) = self.groups.get_mut(group) else { return };
        crowded.pages.sort_by_key(|page| lost.contains(page));
        let moved = crowded.pages.split_off(self.size.min(crowded.pages.len()));
        let left = crowded.pages.iter().filter_map(|page| self.posts.get(page));
        crowded.words = left.map(|post| Arc::clone(&post.word)).collect();
        let area = crowded.area.clone();
        for page in moved {
            let room = self.room_for(&area, Some(group));
            if let Some(post) = self.posts.get_mut(&page) {
                post.group = room;
                post.word = self.groups[room].take(page, &post.word);
            }
        }
    }
}

/// The value of a page's activity for a search: as in the schedule.
fn alive(post: &Post, now: Timestamp) -> f64 {
    let age = now.since_ms(post.poll.life).max(0) as f64 / 1_000.0;
    (1.0 + post.poll.changes) / (age + 600.0).sqrt()
}

/// The pages' words, each an alternative, and a last one that cannot match: a phrase of the most common words, as many
/// as there is room for, and a word that occurs nowhere.
fn query(words: &[&str], common: &[String], nowhere: &str) -> String {
    let mut query = words.join(" OR ");
    if common.is_empty() || words.is_empty() {
        return query;
    }
    let mut phrase = String::new();
    let mut room = LONGEST.saturating_sub(sent_as(&query) + sent_as(" OR \"\"") + sent_as(nowhere));
    for word in common {
        let cost = sent_as(word) + sent_as(" ");
        if cost > room {
            break;
        }
        room -= cost;
        phrase.push_str(word);
        phrase.push(' ');
    }
    query.push_str(&format!(" OR \"{phrase}{nowhere}\""));
    query
}

/// The beginning of a text's hash.
pub(crate) fn hash_of(text: &str) -> u64 {
    ContentHash::of(text.as_bytes()).0.first_chunk().copied().map_or(0, u64::from_le_bytes)
}

/// The number of bytes of a text in a request.
fn sent_as(text: &str) -> usize {
    text.bytes().map(|byte| if byte.is_ascii_alphanumeric() { 1 } else { 3 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_ends_with_a_branch_that_cannot_match_and_has_a_bound() {
        let common = ["plan", "seman"].map(str::to_owned);
        assert_eq!(query(&["freno", "cadena"], &common, "zz"), "freno OR cadena OR \"plan seman zz\"");
        assert_eq!(query(&["freno"], &[], "zz"), "freno");
        assert_eq!(query(&[], &common, "zz"), "");
        let common: Vec<String> = (0..2_000).map(|n| format!("palabrá{n}")).collect();
        let long = query(&["freno"], &common, "zz");
        assert!((LONGEST - 30..=LONGEST).contains(&sent_as(&long)), "{}", sent_as(&long));
        assert!(long.ends_with(" zz\""));
    }
}
