//! How late changes made in the app are noticed, as espejo itself has measured it: for each change that a fetch found,
//! how long before that the page was last fetched without it.

use std::collections::VecDeque;

use super::belief;

/// The number of changes that are remembered.
const REMEMBERED: usize = 64;
/// Fewer changes say nothing yet.
const ENOUGH: usize = 5;

/// The delays of the latest changes, in seconds each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Delays(VecDeque<u32>);

impl Delays {
    pub(crate) fn add(&mut self, ms: i64) {
        self.0.push_back(u32::try_from((ms.max(0) + 999) / 1_000).unwrap_or(u32::MAX));
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
    }

    /// The delay that half of the changes do not exceed.
    fn usual(&self) -> Option<u32> {
        let mut all: Vec<u32> = self.0.iter().copied().collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().filter(|_| all.len() >= ENOUGH)
    }

    pub(crate) fn write(&self) -> String {
        self.0.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn read(kept: &str) -> Self {
        Self(kept.split(' ').filter_map(|one| one.parse().ok()).take(REMEMBERED).collect())
    }
}

/// How soon changes made in the app are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noticed {
    /// Half of the latest changes were noticed within this many seconds.
    pub seconds: u32,
    /// Whether the service's search shows changes.
    pub search_helps: bool,
}

/// Computed from the stored delays and the stored belief; `None` while too little has been seen.
#[must_use]
pub fn noticed(delays: Option<&str>, learned: Option<&str>) -> Option<Noticed> {
    let seconds = Delays::read(delays?).usual()?;
    Some(Noticed { seconds, search_helps: learned.is_some_and(|line| belief::read(line).pays()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::schedule::watch::belief::Belief;

    #[test]
    fn half_of_the_latest_changes_say_what_is_usual() {
        let mut delays = Delays::default();
        (1..5).for_each(|n| delays.add(n * 1_000));
        assert_eq!(noticed(Some(&delays.write()), None), None, "too few");
        delays.add(60_001);
        assert_eq!(Delays::read(&delays.write()), delays);
        let learned = belief::write(&Belief::of(20.0, 5.0));
        let usual = noticed(Some(&delays.write()), Some(&learned));
        assert_eq!(usual, Some(Noticed { seconds: 3, search_helps: true }));
        (0..REMEMBERED).for_each(|_| delays.add(7_400));
        let usual = noticed(Some(&delays.write()), Some("nothing that can be read"));
        assert_eq!(usual, Some(Noticed { seconds: 8, search_helps: false }));
    }
}
