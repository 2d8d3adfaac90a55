//! Whether the author of a save has seen what espejo wrote into the file before: what programs did with the file tells it.

use serde_json::Value;

use crate::model::{ContentHash, Timestamp, lines};

/// What came so shortly before a save is not taken for deleted by it if it lacks all of that.
const RECENT_MS: i64 = 600_000;
/// The save itself opens the file; so does a backup that an editor makes just before.
const SAVE_MS: i64 = 1_000;
/// The third save from one old text within [`RECENT_MS`] leaves the file as its program wants it.
const TIMES_MOST: u32 = 3;
/// The most words that a message quotes.
const QUOTED_WORDS: usize = 8;

/// What programs did with an item's file in this run.
#[derive(Debug, Clone, Default)]
pub struct Saves {
    /// The times of espejo's writes, each with the first time after it at which another program opened the file.
    writes: Vec<(Timestamp, Option<Timestamp>)>,
    /// The text for which it was decided whether its author saw them.
    decided: Option<ContentHash>,
    /// The text that was saved at an old path last, and the last one of them that was read, with its body.
    at_old_path: Option<ContentHash>,
    old_path_body: Option<(ContentHash, ContentHash)>,
    /// The first of the stale saves that follow one another, and their number.
    since: Timestamp,
    times: u32,
    /// What they lacked, as the user was told.
    lacked: String,
    /// Nothing is written into the file before a program has read it.
    pub rests: bool,
}

/// The times of a save: of what it does not show, of itself, and the present.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// When that was written.
    pub written: Timestamp,
    /// When the file was saved.
    pub saved: Timestamp,
    /// The present time.
    pub now: Timestamp,
}

impl Saves {
    /// A text that a user chose to put into the file.
    #[must_use]
    pub fn chosen(text: ContentHash) -> Self {
        Self { decided: Some(text), ..Self::default() }
    }

    /// Records that espejo wrote the file.
    pub fn wrote(&mut self, now: Timestamp) {
        const MOST: usize = 32;
        if self.writes.len() == MOST {
            self.writes.remove(0);
        }
        self.writes.push((now, None));
        // The same old text may be saved over this, too.
        self.decided = None;
    }

    /// Records that another program opened the file.
    pub fn opened(&mut self, now: Timestamp) {
        self.rests = false;
        for (_, read) in &mut self.writes {
            read.get_or_insert(now);
        }
    }

    /// Records that a text was saved at the path that the file had before espejo renamed it.
    pub fn saved_at_old_path(&mut self, text: ContentHash) {
        (self.at_old_path, self.decided) = (Some(text), None);
    }

    /// Whether this text was saved at an old path. No one knows when its author read the file.
    #[must_use]
    pub fn is_of_old_path(&self, text: ContentHash) -> bool {
        self.at_old_path == Some(text)
    }

    /// The body of the text that was saved at the old path before this one, which has `body`; `None` if there is none.
    pub fn read_at_old_path(&mut self, text: ContentHash, body: ContentHash) -> Option<ContentHash> {
        let before = self.old_path_body.replace((text, body));
        before.filter(|(other, _)| *other != text).map(|(_, body)| body)
    }

    /// Whether the file was read after the write of that time and before a save. What an earlier run wrote counts as read.
    #[must_use]
    pub fn was_read(&self, written: Timestamp, saved: Timestamp) -> bool {
        let mut reads = self.writes.iter().filter(|(at, _)| *at >= written).filter_map(|(_, read)| *read);
        let is_known = self.writes.iter().any(|(at, _)| *at == written);
        !is_known || reads.any(|read| saved.since_ms(read) > SAVE_MS)
    }

    /// Whether a text is decided about for the first time.
    pub fn is_new(&mut self, text: ContentHash) -> bool {
        self.decided.replace(text) != Some(text)
    }

    /// The author of a save saw everything.
    pub fn saw_all(&mut self) {
        self.saw();
        self.writes.clear();
    }

    fn saw(&mut self) {
        (self.times, self.rests) = (0, false);
    }

    /// Whether the author of a save that shows nothing of a write did not see it. `lacked`: some of its words. `returns`: the
    /// file had this text since, so it is no earlier one.
    pub fn is_stale(&mut self, Times { written, saved, now }: Times, lacked: &str, returns: bool) -> bool {
        // What came after the first of them is lacked for the first time.
        let is_again = self.times > 0 && self.lacked == lacked && now.since_ms(self.since) <= RECENT_MS;
        let is_recent = saved.since_ms(written) <= RECENT_MS && !is_again;
        if returns || !is_recent && self.was_read(written, saved) {
            self.saw();
            return false;
        }
        if !is_again {
            (self.times, self.since) = (0, now);
            lacked.clone_into(&mut self.lacked);
        }
        self.times += 1;
        self.rests = self.times >= TIMES_MOST;
        true
    }
}

/// Some of the words that a change added, for a message: of the first line that is new or changed.
#[must_use]
pub fn words_of_change(before: &[Value], after: &[Value]) -> String {
    let (before, after) = (lines(before), lines(after));
    let there: Vec<&str> = before.lines().collect();
    let Some(added) = after.lines().find(|line| !line.trim().is_empty() && !there.contains(line)) else {
        return "changes".to_owned();
    };
    let words: Vec<&str> = added.split_whitespace().collect();
    let more = if words.len() > QUOTED_WORDS { " …" } else { "" };
    format!("“{}{more}”", words[..words.len().min(QUOTED_WORDS)].join(" "))
}
