//! The meaning of the answer to a group's search.

use std::collections::BTreeMap;

use super::{GROUP, GROUP_MIN, Mark, Post, Watch};
use crate::model::Timestamp;

/// If more marks than this change at once, and more than a quarter of all, something else than their pages' texts
/// changed them, unless the last search was long ago.
const STORM: usize = 5;
const LONG_MS: i64 = 900_000;

impl<K: Ord + Clone> Watch<K> {
    /// Applies the answer to a group's search that left at `sent`. `full`: it may lack pages.
    pub fn answered(
        &mut self,
        group: usize,
        marks: &BTreeMap<K, (u64, u64)>,
        full: bool,
        sent: Timestamp,
        now: Timestamp,
    ) {
        (self.failures, self.doubted) = (0, false);
        let Some(asked) = self.groups.get_mut(group) else { return };
        asked.under_way = false;
        let (level, pages) = (asked.level, asked.pages.clone());
        let is_fresh = sent.since_ms(asked.before) < LONG_MS;
        self.belief.answered(level, now.since_ms(sent), now);
        let shown: Vec<(K, Mark)> = pages
            .into_iter()
            .filter(|page| self.posts.get(page).is_some_and(|post| post.from <= sent))
            .map(|page| {
                let mark = marks.get(&page).copied();
                (page, mark)
            })
            .collect();
        let storm = self.is_storm(&shown, full, is_fresh);
        if storm {
            self.belief.storm();
            self.since_sample = 0;
        }
        let (mut lost, mut begun) = (Vec::new(), None);
        for (page, mark) in shown {
            let Some(post) = self.posts.get_mut(&page) else { continue };
            if full && mark.is_none() {
                lost.push(page);
                continue;
            }
            if mark.is_none() && post.mark.is_none_or(|(before, _)| before.is_none()) {
                self.leave(&page);
                self.wordless.push(page);
                continue;
            }
            if post.mark.is_none() && self.changed.contains(&page) {
                begun = Some(page.clone());
            }
            let differs = post.mark.is_some_and(|(before, _)| before != mark);
            if differs || post.mark.is_none() {
                post.mark = Some((mark, sent));
            }
            if !differs {
                post.unmoved = sent;
            }
            if storm {
                (post.tests, post.known) = (0, false);
            } else if post.tests > 0 {
                let changes = std::mem::take(&mut post.tests);
                // An unchanged mark also belongs to the text that the fetch found.
                post.known = !differs;
                self.belief.sample(level, changes, differs, post.samples_again(now));
                self.since_sample = 0;
            } else if differs && !std::mem::replace(&mut post.alarmed, true) {
                self.alarms.push_back(page);
            }
        }
        if let Some(page) = begun.filter(|_| !self.is_on()) {
            // A fetch shows that the mark belongs to the known text: then the next change is a sample.
            self.alarms.push_back(page);
        }
        let all = self.groups[group].pages.len();
        if !lost.is_empty() && all > GROUP_MIN {
            let size = if lost.len() > all / 4 { all / 2 } else { all - lost.len() };
            self.shrink(group, size, &lost);
        } else if lost.len() > all / 2 && self.belief.refused(level, now) {
            // So few words cannot fill an answer: the branch that cannot match has matched.
            (self.size, self.regrouped) = (GROUP, Timestamp::default());
        }
    }

    /// Whether the answer is a storm: a rank that changes with an edit anywhere says nothing about its page.
    fn is_storm(&self, shown: &[(K, Mark)], full: bool, is_fresh: bool) -> bool {
        let told = |post: &Post, mark: &Mark| post.mark.filter(|_| !full || mark.is_some());
        let (mut waited, mut moved) = (0, 0);
        for (page, mark) in shown {
            let before =
                self.posts.get(page).filter(|post| post.tests == 0).and_then(|post| told(post, mark));
            if let Some((before, _)) = before {
                waited += 1;
                moved += usize::from(before != *mark);
            }
        }
        let most = if is_fresh { waited / 4 } else { waited * 3 / 4 };
        moved > STORM.max(most)
    }
}
