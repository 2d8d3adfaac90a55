//! Files that a program has open for writing. Its save may be half done, so it is waited for, within bounds.

use crate::engine::state::folder::UNSETTLED_MAX_MS;
use crate::engine::state::{Context, Trees, Watching};
use crate::markdown::{self, front_matter};
use crate::model::{ContentHash, FileRead, LocalFile, Timestamp};
use crate::store::StoreError;

/// A file that stays open counts this long after its last write.
const OPEN_MAX_MS: i64 = 10_000;

/// Whether a read does not count yet because a program has the file open. Then the next read is due when the program has
/// closed it, which gives a hint, or when a bound is reached.
pub(crate) fn waits(
    look: &FileRead,
    trees: &Trees,
    watch: &mut Watching,
    cx: &Context,
) -> Result<bool, StoreError> {
    let known = trees.files.get(&look.path);
    if !look.is_open || known.is_some_and(|file| file.hash == Some(ContentHash::of(&look.bytes))) {
        return Ok(false);
    }
    let (first, hinted) = *watch.touched.entry(look.path.clone()).or_insert((cx.now, cx.now));
    // Hints are late, or lost; the file knows its last write.
    let written = cx.now.plus_ms(-look.stamp.unchanged_ms(look.clock).max(0));
    let touched = (first, hinted.max(written));
    let mut at = counts_at(touched, false);
    if at <= cx.now && known.map_or(Ok(false), |file| is_beginning(look, file, trees, cx))? {
        at = counts_at(touched, true);
    }
    if at > cx.now {
        watch.unread.insert(look.path.clone(), at);
    }
    Ok(at > cx.now)
}

/// When the text of an open file counts. `touched`: its first write that was not read, and its last one. A text that is a
/// beginning of the former one has the second bound only.
fn counts_at(touched: (Timestamp, Timestamp), is_beginning: bool) -> Timestamp {
    let (first, last) = touched;
    let at_latest = first.plus_ms(UNSETTLED_MAX_MS);
    if is_beginning { at_latest } else { at_latest.min(last.plus_ms(OPEN_MAX_MS)) }
}

/// Whether the text is a beginning of the one that the file had before.
fn is_beginning(look: &FileRead, known: &LocalFile, trees: &Trees, cx: &Context) -> Result<bool, StoreError> {
    if let Some(former) = known.hash.map(|hash| cx.store.content(hash)).transpose()?.flatten() {
        return Ok(former.starts_with(&look.bytes));
    }
    // The history keeps no text that espejo has made of a page.
    let base = known.page.as_ref().and_then(|page| trees.pages.get(page)?.base.as_ref());
    let Some(base) = base else { return Ok(false) };
    let former = markdown::render(&cx.store.named_body(base.body)?).text;
    let text = String::from_utf8_lossy(&look.bytes);
    // The half of a character is shown as one that no text has.
    let text = text.trim_end_matches('\u{fffd}');
    let body = front_matter::split(text).map_or("", |split| split.body);
    Ok(former.trim_start().starts_with(body.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_file_counts_ten_seconds_after_its_last_write_and_a_beginning_a_minute_after_its_first() {
        let at = |first, last, is_beginning| counts_at((Timestamp(first), Timestamp(last)), is_beginning).0;
        assert_eq!(at(1_000, 1_000, false), 11_000);
        assert_eq!(at(1_000, 5_000, false), 15_000);
        assert_eq!(at(1_000, 59_000, false), 61_000);
        assert_eq!(at(1_000, 5_000, true), 61_000);
    }
}
