//! The verbs that the service forbids in an area. After a 403 the area rests for that verb, and one try is for all that waits.

use std::collections::BTreeMap;

use crate::model::{Attention, Code, Schedule, Timestamp, WorkspaceId};

/// Waits of an area in which a verb was forbidden.
const WAITS: Schedule = Schedule::new(30_000, 3_600_000);

/// What a write does, as the service permits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// It makes or changes something.
    Write,
    /// It removes something.
    Delete,
}

/// The verbs that the service forbids, by area.
#[derive(Debug, Default)]
pub struct Forbidden {
    rests: BTreeMap<(WorkspaceId, Verb), Rests>,
    /// The ends of waits up to this time were reported.
    reported: Timestamp,
}

/// A verb that the service forbids in an area.
#[derive(Debug)]
struct Rests {
    said: String,
    /// The wait of items that were not refused yet, and of items that were. A single item that is forbidden by itself
    /// delays only the latter.
    waits: [(u32, Timestamp); 2],
}

impl Rests {
    fn until(&self) -> Timestamp {
        self.waits[1].1
    }
}

impl Forbidden {
    /// Records a 403. `again`: the item was refused before. If nothing of the area rests then, the item is forbidden by
    /// itself. Requests that left together are one try.
    pub fn refuse(&mut self, area: &WorkspaceId, verb: Verb, said: &str, again: bool, now: Timestamp) {
        let key = (area.clone(), verb);
        if again && !self.rests.contains_key(&key) {
            return;
        }
        let rests = self.rests.entry(key).or_insert(Rests { said: String::new(), waits: Default::default() });
        said.clone_into(&mut rests.said);
        for (count, until) in rests.waits.iter_mut().skip(usize::from(again)).filter(|wait| wait.1 <= now) {
            *count += 1;
            *until = now.plus_ms(WAITS.wait_ms(*count));
        }
    }

    /// Records that a verb is allowed. Returns whether it rested.
    pub fn allow(&mut self, area: &WorkspaceId, verb: Verb) -> bool {
        self.rests.remove(&(area.clone(), verb)).is_some()
    }

    /// Keeps what rests for something that waits.
    pub fn retain(&mut self, mut waits: impl FnMut(&WorkspaceId, Verb) -> bool) {
        self.rests.retain(|(area, verb), _| waits(area, *verb));
    }

    /// Whether an act may be sent; `again`: it was refused before.
    #[must_use]
    pub fn may(&self, area: &WorkspaceId, verb: Verb, again: bool, now: Timestamp) -> bool {
        let rests = self.rests.get(&(area.clone(), verb));
        rests.is_none_or(|rests| rests.waits[usize::from(again)].1 <= now)
    }

    /// Whether the last such request of an area was forbidden.
    #[must_use]
    pub fn rests(&self, area: &WorkspaceId, verb: Verb) -> bool {
        self.rests.contains_key(&(area.clone(), verb))
    }

    /// The service's message about a verb that is forbidden in an area, and the next try.
    #[must_use]
    pub fn said(&self, area: &WorkspaceId, verb: Verb) -> Option<(&str, Timestamp)> {
        let rests = self.rests.get(&(area.clone(), verb))?;
        Some((&rests.said, rests.until()))
    }

    /// Whether any verb is forbidden anywhere.
    #[must_use]
    pub fn is_any(&self) -> bool {
        !self.rests.is_empty()
    }

    fn ends(&self) -> impl Iterator<Item = Timestamp> {
        let ends = self.rests.values().flat_map(|rests| rests.waits.map(|(_, until)| until));
        ends.filter(|until| *until > self.reported)
    }

    /// Whether a wait has ended since the last call.
    pub fn has_ended(&mut self, now: Timestamp) -> bool {
        let has_ended = self.ends().any(|until| until <= now);
        self.reported = now;
        has_ended
    }

    /// When the next wait ends.
    #[must_use]
    pub fn next_end(&self) -> Option<Timestamp> {
        self.ends().min()
    }

    /// Ends all waits: the next requests are the try.
    pub fn try_again(&mut self, now: Timestamp) {
        let waits = self.rests.values_mut().flat_map(|rests| &mut rests.waits);
        waits.for_each(|(_, until)| *until = now.min(*until));
    }

    /// One message for each verb that is forbidden in an area. `place`: the area's folder and what it holds, in words.
    pub fn needs(
        &self,
        place: impl Fn(&WorkspaceId) -> Option<(String, String)>,
        next_try: &dyn Fn(Timestamp) -> String,
    ) -> Vec<Attention> {
        let need = |((area, verb), rests): (&(WorkspaceId, Verb), &Rests)| {
            let (path, what) = place(area)?;
            let (doing, wait) = match verb {
                Verb::Write => ("writing to", "edits"),
                Verb::Delete => ("removing", "deletions"),
            };
            let reason = format!("read-only: the service forbids {doing} {what}: {}", rests.said);
            let mend = format!("{wait} are pending; {}", next_try(rests.until()));
            Some(Attention::new(Code::ReadOnly, path, reason, mend))
        };
        self.rests.iter().filter_map(need).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(i64) -> Timestamp = Timestamp;

    fn area() -> WorkspaceId {
        WorkspaceId::new("w").unwrap()
    }

    fn refused(again: bool, at: i64, forbidden: &mut Forbidden) {
        forbidden.refuse(&area(), Verb::Delete, "no", again, AT(at));
    }

    #[test]
    fn a_verb_rests_for_all_twice_as_long_after_each_try() {
        let mut forbidden = Forbidden::default();
        refused(false, 0, &mut forbidden);
        refused(false, 5, &mut forbidden);
        let may = |forbidden: &Forbidden, verb, at| forbidden.may(&area(), verb, false, AT(at));
        assert!(!may(&forbidden, Verb::Delete, 29_999) && may(&forbidden, Verb::Delete, 30_000));
        assert!(may(&forbidden, Verb::Write, 1), "other verbs go on");
        assert_eq!(forbidden.next_end(), Some(AT(30_000)));
        assert!(!forbidden.has_ended(AT(29_999)) && forbidden.has_ended(AT(30_000)));
        assert!(!forbidden.has_ended(AT(30_001)) && forbidden.next_end().is_none());
        let mut now = 30_001;
        for wait in [60_000, 120_000, 240_000, 480_000, 960_000, 1_920_000, 3_600_000, 3_600_000] {
            refused(false, now, &mut forbidden);
            assert_eq!(forbidden.next_end(), Some(AT(now + wait)));
            now += wait;
            assert!(forbidden.has_ended(AT(now)));
        }
        refused(false, now, &mut forbidden);
        forbidden.try_again(AT(now + 1));
        assert!(may(&forbidden, Verb::Delete, now + 1));
        assert!(forbidden.allow(&area(), Verb::Delete) && !forbidden.is_any());
    }

    #[test]
    fn an_item_that_is_forbidden_by_itself_delays_no_other() {
        let mut forbidden = Forbidden::default();
        refused(false, 0, &mut forbidden);
        refused(true, 30_000, &mut forbidden);
        refused(true, 90_000, &mut forbidden);
        let may = |forbidden: &Forbidden, again, at| forbidden.may(&area(), Verb::Delete, again, AT(at));
        assert!(may(&forbidden, false, 90_001) && !may(&forbidden, true, 209_999));
        assert!(forbidden.rests(&area(), Verb::Delete), "told steadily");
        forbidden.allow(&area(), Verb::Delete);
        refused(true, 100_000, &mut forbidden);
        assert!(!forbidden.is_any(), "others were allowed meanwhile");
    }
}
