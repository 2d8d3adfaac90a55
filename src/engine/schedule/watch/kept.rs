//! What the watch keeps across runs, so that the first search after a restart shows what has changed meanwhile: groups
//! with their words and marks. A stale mark costs one fetch, nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Group, Mark, Post, Watch};
use crate::model::{PollState, Timestamp};

#[derive(Serialize, Deserialize)]
struct Kept {
    common: BTreeMap<String, Vec<String>>,
    groups: Vec<KeptGroup>,
    regrouped: i64,
}

#[derive(Serialize, Deserialize)]
struct KeptGroup {
    area: String,
    level: usize,
    words: Vec<String>,
    /// The hash of its last query. If there is none, the first search after the restart sets the marks.
    #[serde(default)]
    hash: u64,
    pages: Vec<KeptPage>,
}

#[derive(Serialize, Deserialize)]
struct KeptPage {
    id: String,
    word: String,
    mark: Option<Mark>,
}

impl<K: Ord + Clone> Watch<K> {
    /// The text that is kept; `None` while the watch does not pay.
    #[must_use]
    pub fn keep(&self, name: impl Fn(&K) -> String) -> Option<String> {
        let page = |page: &K| {
            let post = self.posts.get(page)?;
            let mark = post.mark.filter(|_| post.tests == 0 && !post.alarmed).map(|(mark, _)| mark);
            Some(KeptPage { id: name(page), word: post.word.to_string(), mark })
        };
        let groups = self.groups.iter().filter(|group| !group.pages.is_empty()).map(|group| KeptGroup {
            area: group.area.clone(),
            level: group.level,
            words: group.words.iter().map(|word| word.to_string()).collect(),
            hash: group.query,
            pages: group.pages.iter().filter_map(page).collect(),
        });
        let kept =
            Kept { common: self.common.clone(), groups: groups.collect(), regrouped: self.regrouped.0 };
        serde_json::to_string(&kept).ok().filter(|_| self.is_on())
    }

    /// Loads what an earlier run kept of pages that still exist, and returns these. Unreadable data are dropped.
    pub fn resume(&mut self, kept: &str, page: impl Fn(&str) -> Option<(K, PollState)>) -> Vec<K> {
        let Ok(kept) = serde_json::from_str::<Kept>(kept) else { return Vec::new() };
        let mut resumed = Vec::new();
        self.common = kept.common;
        self.regrouped = Timestamp(kept.regrouped);
        for old in kept.groups {
            let at = self.groups.len();
            let mut group = Group::new(old.area);
            (group.level, group.query) = (old.level, old.hash);
            group.words = old.words.into_iter().map(Arc::from).collect();
            for one in old.pages {
                let Some((id, poll)) = page(&one.id).filter(|(id, _)| !self.posts.contains_key(id)) else {
                    continue;
                };
                let start = Timestamp::default();
                let post = Post {
                    group: at,
                    word: group.take(id.clone(), &Arc::from(one.word)),
                    mark: one.mark.map(|mark| (mark, start)),
                    known: false,
                    tests: 0,
                    from: start,
                    alarmed: false,
                    unmoved: start,
                    sampled: start,
                    poll,
                };
                self.posts.insert(id.clone(), post);
                resumed.push(id);
            }
            self.groups.push(group);
        }
        resumed
    }
}
