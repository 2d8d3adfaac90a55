//! The rules by which items are kept out of the mirror.

use std::collections::BTreeSet;

use crate::model::{IgnoreFile, IgnoreRules, MirrorPath, PageId, Timestamp};
use crate::store::{Store, StoreError};

/// Key in the state of the rules in force, as JSON.
pub(crate) const KEY: &str = "ignoring";

/// The rules in force.
#[derive(Debug, Default)]
pub(crate) struct Ignoring {
    /// From the present file.
    pub(crate) rules: IgnoreRules,
    /// From former versions of the file, with the time of their replacement. They stay in force for the grace time, and
    /// while the file has a line that is no pattern.
    pub(crate) former: Vec<(IgnoreRules, Timestamp)>,
    /// Why the file, or a line of it, has no effect, and the remedy.
    pub(crate) trouble: Option<(String, &'static str)>,
    /// A scan of this run has been applied.
    pub(crate) is_begun: bool,
    /// The stored list of items that rest because of the rules.
    pub(crate) written: String,
    /// The stored list of workspaces that are mirrored down only.
    pub(crate) down: String,
    /// Pages that rest because of the rules, by their last decision.
    pub(crate) pages: BTreeSet<PageId>,
}

impl Ignoring {
    /// Whether the item at `path` is ignored.
    pub(crate) fn ignores(&self, path: &MirrorPath, is_folder: bool) -> bool {
        self.all().any(|rules| rules.ignores(path, is_folder))
    }

    /// Whether a file at `path` is ignored.
    pub(crate) fn ignores_file(&self, path: &MirrorPath) -> bool {
        self.ignores(path, false)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all().all(IgnoreRules::is_empty)
    }

    /// Whether the rules are about to change by time alone.
    pub(crate) fn is_changing(&self) -> bool {
        !self.former.is_empty() && self.trouble.is_none()
    }

    /// All rules in force.
    pub(crate) fn all(&self) -> impl Iterator<Item = &IgnoreRules> {
        [&self.rules].into_iter().chain(self.former.iter().map(|(rules, _)| rules))
    }

    /// Loads the rules that were in force in an earlier run. Returns whether there was one.
    pub(crate) fn open(&mut self, store: &Store, now: Timestamp) -> Result<bool, StoreError> {
        let text = store.meta(KEY)?.unwrap_or_default();
        let known: Option<(Vec<String>, Vec<String>)> = serde_json::from_str(&text).unwrap_or_default();
        let Some((config, texts)) = known else { return Ok(false) };
        let mut rules = texts.iter().map(|text| IgnoreRules::new(&config, text));
        self.rules = rules.next().unwrap_or_default();
        self.former = rules.map(|rules| (rules, now)).collect();
        Ok(true)
    }

    /// Applies the file of patterns as it was found at `now`. Returns when the rules may change by time alone.
    /// `is_first`: no run has seen the file before.
    pub(crate) fn take(
        &mut self,
        config: &[String],
        file: &IgnoreFile,
        (clock, now, grace_ms): (Timestamp, Timestamp, i64),
        is_first: bool,
    ) -> Option<Timestamp> {
        self.trouble = None;
        let was = self.rules.sources().1.to_owned();
        let (text, stamp) = match file {
            IgnoreFile::Absent => ("", None),
            IgnoreFile::Text(text, stamp) => (text.as_str(), Some(stamp)),
            IgnoreFile::Unreadable(why) => {
                let reason = format!("it cannot be read: {why}; the earlier rules stay in force");
                self.trouble = Some((reason, "make it a readable text file"));
                (was.as_str(), None)
            }
        };
        for (rules, _) in self.former.iter_mut().filter(|(rules, _)| rules.sources().0 != config) {
            *rules = IgnoreRules::new(config, rules.sources().1);
        }
        if self.rules.sources() != (config, text) {
            if was != text && !is_first {
                self.former.push((IgnoreRules::new(config, &was), now));
            }
            self.rules = IgnoreRules::new(config, text);
        }
        self.former.retain(|(rules, _)| rules.sources().1 != text);
        if let Some(bad) = self.rules.bad().first().filter(|_| self.trouble.is_none()) {
            let others = match self.rules.bad().len() - 1 {
                0 => String::new(),
                1 => ", and one other line is not a pattern either".to_owned(),
                more => format!(", and {more} other lines are not patterns either"),
            };
            let reason = format!(
                "line {} is not a pattern: {}{others}; the other lines count, and the earlier rules stay in force",
                bad.line, bad.why
            );
            self.trouble = Some((reason, "fix the line"));
        }
        // A change long before this run is not the middle of a save.
        let has_rested = stamp.is_some_and(|stamp| !self.is_begun && stamp.rested_ms(clock) >= grace_ms);
        self.is_begun = true;
        let is_good = self.trouble.is_none();
        if is_good {
            self.former.retain(|(_, gone)| !has_rested && now.since_ms(*gone) < grace_ms);
        } else {
            self.former.iter_mut().for_each(|(_, gone)| *gone = now);
        }
        let ends = self.former.iter().map(|(_, gone)| gone.plus_ms(grace_ms));
        ends.min().filter(|_| is_good)
    }

    /// The rules as the next run needs them.
    pub(crate) fn as_json(&self) -> String {
        let texts: Vec<&str> = self.all().map(|rules| rules.sources().1).collect();
        serde_json::json!((self.rules.sources().0, texts)).to_string()
    }
}
