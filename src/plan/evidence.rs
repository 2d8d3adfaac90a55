//! Evidence about the outcome of a write: whether it was carried out although it is unconfirmed, and whether an
//! editor that never saw it has overwritten it since.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::Value;

use super::merge;
use crate::model::every_block;

/// Whether `seen` shows that the write which changed `before` to `sent` was carried out, with possible later edits by
/// others. Blocks are compared by id, each with its own content and without its children.
///
/// A block that the write created is proof, because nobody else knows its id. Without such a block, each single
/// change must be there: another user may delete the same line or correct the same typo, and a write that counts as
/// carried out is not sent again. A changed block that was edited again since shows its change in its words. The
/// opposite mistake is harmless only while the file has what was sent, because a merge does not repeat a change that
/// both sides made; a file that has its earlier text again would count as unchanged.
#[must_use]
pub fn shows_changes(before: &[Value], sent: &[Value], seen: &[Value]) -> bool {
    let (before, sent, seen) = (by_id(before), by_id(sent), by_id(seen));
    if sent.keys().any(|id| !before.contains_key(id) && seen.contains_key(id)) {
        return true;
    }
    let mut changed = sent.iter().filter(|(id, block)| before.get(*id) != Some(*block)).peekable();
    let mut removed = before.keys().filter(|id| !sent.contains_key(*id)).peekable();
    (changed.peek().is_some() || removed.peek().is_some())
        && changed.all(|(id, block)| match (before.get(id), seen.get(id)) {
            (_, Some(is)) if is == block => true,
            (Some(was), Some(is)) => has_words(was, block, is),
            _ => false,
        })
        && removed.all(|id| !seen.contains_key(id))
}

/// The version that `seen` was made from, if its author saw none of the later ones: an editor or a program that held an old
/// text saved it, perhaps with words of its own. `versions` are in the order of time, and the last one is the present one.
/// The result is the oldest version such that no change after it shows in `seen`, if those changes added words: otherwise
/// there are none to lose. A change that only moves blocks never shows: its result is as likely, and later. `by` tells of each
/// version what the ids say about a text that was made from it.
#[must_use]
pub fn ancestor(versions: &[Vec<Value>], seen: &[Value], by: impl Fn(usize) -> Ids) -> Option<usize> {
    let versions: Vec<Version<'_>> = versions.iter().map(|version| by_id(version)).collect();
    let (last, seen) = (versions.last()?, by_id(seen));
    let is_it = |at: &usize| {
        let (start, by) = (&versions[*at], by(*at));
        // Two changes may cancel each other, as a cut and a paste do: each must be unseen by itself.
        let mut changes = versions[*at..].windows(2);
        unseen(start, (start, last), &seen, by) == Some(true)
            && changes.all(|pair| unseen(start, (&pair[0], &pair[1]), &seen, by).is_some())
    };
    let first = (0..versions.len() - 1).find(is_it)?;
    let changes = |at: &usize| versions[*at] != versions[at + 1];
    (first..versions.len() - 1).find(changes).filter(is_it).or(Some(first))
}

/// What a text was made from whose author may have seen any of the `versions`, in the order of time: of each block the version of
/// which the text lacks the fewest words. A block that came later is left out if the text has none that is made of it: words that
/// are not there were not seen, as far as anything tells.
#[must_use]
pub fn made_from(versions: &[Vec<Value>], text: &[Value]) -> Vec<Value> {
    let (text, all): (_, Vec<_>) = (by_id(text), versions.iter().map(|version| by_id(version)).collect());
    let Some(first) = all.first() else { return Vec::new() };
    let fit = |block: &Own<'_>, is: &Own<'_>| {
        let (words, is) = (words_of(block), words_of(is));
        let both = shared(&words, &is);
        (words.values().sum::<usize>() - both, Reverse(both))
    };
    let own = |id: &str, _: &Value| {
        let seen = match text.get(id) {
            None => first.get(id),
            Some(is) => {
                let its = all.iter().filter_map(|version| version.get(id));
                let its = its.filter(|block| first.contains_key(id) || Ids::Matched.is_made_of(block, is));
                // A block that came later and has all that the text has of it may have grown since.
                let may_be_it = |block: &&Own<'_>| first.contains_key(id) || adds(block, is);
                its.min_by_key(|block| fit(block, is)).map(|block| if may_be_it(&block) { block } else { is })
            }
        };
        seen.map(|seen| seen.iter().map(|(key, value)| ((*key).clone(), (*value).clone())).collect())
    };
    let mut made = rebuilt(&versions[0], &own);
    for (pair, after) in versions.windows(2).zip(&all[1..]) {
        // What a version lacks is no evidence: only what it added is taken.
        let kept = |id: &str, block: &Value| after.contains_key(id).then(|| own(id, block)).flatten();
        let (kept, added) = (rebuilt(&pair[0], &kept), rebuilt(&pair[1], &own));
        if kept != added {
            made = merge::merge(&kept, &added, &made).blocks;
        }
    }
    made
}

/// These blocks with what `own` makes of each by its id. Where that is nothing, the block's children take its place.
fn rebuilt(blocks: &[Value], own: &dyn Fn(&str, &Value) -> Option<Value>) -> Vec<Value> {
    let mut all = Vec::new();
    for block in blocks {
        let within = rebuilt(block["children"].as_array().map_or(&[][..], Vec::as_slice), own);
        match own(block["id"].as_str().unwrap_or_default(), block) {
            Some(mut block) => {
                block["children"] = Value::Array(within);
                all.push(block);
            }
            None => all.extend(within),
        }
    }
    all
}

/// What the ids of blocks say about where a content comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// An editor in the app keeps them: one that has the id of a block has seen the block.
    Kept,
    /// A text has none, so its blocks were matched. One that has words of its own and lacks words of the other block may as
    /// well be a line of its own.
    Matched,
    /// The same where no program has read the file since that version: only a block with each word of the other shows it.
    Unread,
}

impl Ids {
    /// Whether a block `is` made of another one, whose id it has.
    fn is_made_of(self, other: &Own<'_>, is: &Own<'_>) -> bool {
        let (other, is) = (words_of(other), words_of(is));
        match self {
            Self::Kept => true,
            Self::Matched => are_in(&other, &is) || are_in(&is, &other) && has_half(&other, &is),
            Self::Unread => shared(&other, &is) == other.values().sum::<usize>(),
        }
    }
}

/// Whether each of these words is among the others, perhaps with a mistake corrected.
fn are_in(words: &Words, others: &Words) -> bool {
    let is_there = |word: &str| others.keys().any(|(other, _)| other == word || is_corrected(word, other));
    words.keys().all(|(word, _)| is_there(word))
}

/// Whether two words differ as a word and its correction do: they begin and end alike. A number is another number.
fn is_corrected(one: &str, other: &str) -> bool {
    let has_digit = |word: &str| word.contains(|c: char| c.is_ascii_digit());
    let (one, other): (Vec<char>, Vec<char>) = match has_digit(one) || has_digit(other) {
        true => return false,
        false => (one.chars().collect(), other.chars().collect()),
    };
    let shortest = one.len().min(other.len());
    let head = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let tail = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    shortest > 2 && 2 * (head + tail).min(shortest) >= one.len().max(other.len())
}

/// How many of a block's words another one has.
fn shared(words: &Words, other: &Words) -> usize {
    words.iter().map(|(word, count)| other.get(word).copied().unwrap_or(0).min(*count)).sum()
}

/// Whether a change adds words.
fn adds(was: &Own<'_>, sent: &Own<'_>) -> bool {
    let was = words_of(was);
    words_of(sent).iter().any(|(word, count)| was.get(word).is_none_or(|was| was < count))
}

fn has_half(words: &Words, other: &Words) -> bool {
    2 * shared(words, other) >= words.values().sum::<usize>()
}

/// Whether `seen` may come from `start` without the later change from `before` to `sent`: blocks that the change created
/// are absent, and blocks that it removed or changed are as before. Each word that it added or removed occurs as often as
/// before, or its count is further from the sent one. What `start` had already is no sign of the change. If so, returns
/// whether the change added words.
fn unseen(
    start: &Version<'_>,
    (before, sent): (&Version<'_>, &Version<'_>),
    seen: &Version<'_>,
    by: Ids,
) -> Option<bool> {
    let mut adds_words = false;
    // In a text, a block that was removed meanwhile is a new one, or has the id of one that came into its place. So is one that was
    // rewritten, and what its author typed below it may have its id.
    let is_it = |id: &str, is| sent.get(id).is_some_and(|block| block == is || by.is_made_of(block, is));
    let new = seen.iter().filter(|(id, is)| by != Ids::Kept && !is_it(id, is));
    let new: Vec<Words> = new.map(|(_, block)| words_of(block)).collect();
    let is_new = |was: &Own<'_>| {
        let was = words_of(was);
        new.iter().any(|is| has_half(&was, is))
    };
    for (id, block) in sent {
        let first = start.get(id);
        match (before.get(id), seen.get(id)) {
            (Some(was), _) if was == block => {}
            (None, None) => adds_words |= !words_of(block).is_empty(),
            (None, Some(is)) if !by.is_made_of(block, is) => adds_words |= !words_of(block).is_empty(),
            (None, Some(_)) if first.is_some() => {}
            (Some(_), None) if first.is_none() => {}
            (Some(was), None) if !words_of(was).is_empty() && is_new(was) => adds_words |= adds(was, block),
            (Some(was), Some(is)) => {
                let is_back = is_back(first.unwrap_or(was), (was, block), is);
                let is_unlike = || !by.is_made_of(block, is) && !by.is_made_of(was, is);
                let is_other = || is_unlike() && (first.is_none() || is_new(was));
                adds_words |= is_back.or_else(|| is_other().then(|| adds(was, block)))?;
            }
            (None, Some(_)) | (Some(_), None) => return None,
        }
    }
    let is_removed =
        |id: &&&str| !sent.contains_key(**id) && start.contains_key(**id) && !seen.contains_key(**id);
    let mut removed = before.iter().filter(|(id, _)| is_removed(id)).map(|(_, block)| block);
    removed.all(is_new).then_some(adds_words)
}

/// Whether a block `is` free of the changes between what it `was` and what was `sent`, but for what it had at the `start`.
/// If so, returns whether these changes added words.
fn is_back(start: &Own<'_>, (was, sent): (&Own<'_>, &Own<'_>), is: &Own<'_>) -> Option<bool> {
    // A tick or another property is no sign of words: both sides may have set it. Neither is a change of spaces.
    let (mut adds, first) = (false, words_of(start));
    for (word, [was, sent, is]) in changed_words(was, sent, is) {
        let first = first.get(&word).copied().unwrap_or(0);
        if sent > was && is > was.max(first) || sent < was && is < was.min(first) {
            return None;
        }
        adds |= sent > was;
    }
    Some(adds)
}

/// Whether a block `is` one that has all words which the change from what it `was` to what was `sent` added, and none
/// that it removed. The change must have added words: another user may have deleted the same ones.
fn has_words(was: &Own<'_>, sent: &Own<'_>, is: &Own<'_>) -> bool {
    let counts = changed_words(was, sent, is);
    is_other_equal(is, sent)
        && counts.values().any(|[was, sent, _]| sent > was)
        && counts.values().all(|[was, sent, is]| if sent > was { is >= sent } else { is <= sent })
}

/// Whether two blocks are equal apart from their content.
fn is_other_equal(one: &Own<'_>, two: &Own<'_>) -> bool {
    let others = |(key, _): &&(&String, &Value)| *key != "content";
    one.iter().filter(others).eq(two.iter().filter(others))
}

/// How often each word occurs in what a block was, what was sent and what it is. Words that the change from what it
/// was to what was sent leaves alone are left out.
fn changed_words(was: &Own<'_>, sent: &Own<'_>, is: &Own<'_>) -> BTreeMap<Word, [usize; 3]> {
    let all = [was, sent, is].map(words_of);
    let counts = |word: &Word| all.each_ref().map(|words: &Words| words.get(word).copied().unwrap_or(0));
    let words = all[0].keys().chain(all[1].keys()).filter(|word| all[0].get(*word) != all[1].get(*word));
    words.map(|word| (word.clone(), counts(word))).collect()
}

/// A word with its set of styles.
type Word = (String, String);

/// The count of each word in a block.
type Words = BTreeMap<Word, usize>;

fn words_of(own: &Own<'_>) -> Words {
    let mut words = Words::new();
    own.iter().filter(|(key, _)| *key == "content").for_each(|(_, content)| add_words(content, &mut words));
    words
}

/// A part that is not text, such as the address of a link, counts as one word.
fn add_words(content: &Value, words: &mut Words) {
    let mut add = |word: &str, kind: String| *words.entry((word.to_owned(), kind)).or_default() += 1;
    match content {
        Value::Array(parts) => parts.iter().for_each(|part| add_words(part, words)),
        Value::Object(part) => match part.get("text").and_then(Value::as_str) {
            Some(text) => {
                let styles = part.get("styles").map_or_else(String::new, Value::to_string);
                text.split_whitespace().for_each(|word| add(word, styles.clone()));
            }
            None => {
                for (key, value) in part {
                    match value {
                        Value::Array(_) | Value::Object(_) => add_words(value, words),
                        plain => *words.entry((plain.to_string(), key.clone())).or_default() += 1,
                    }
                }
            }
        },
        plain => add(&plain.to_string(), String::new()),
    }
}

/// The fields of a block.
type Own<'a> = Vec<(&'a String, &'a Value)>;

/// All blocks at every level by id, without their children.
type Version<'a> = BTreeMap<&'a str, Own<'a>>;

fn by_id(blocks: &[Value]) -> Version<'_> {
    let described = every_block(blocks).filter_map(|block| {
        let object = block.as_object()?;
        let id = object.get("id")?.as_str()?;
        Some((id, object.iter().filter(|(key, _)| *key != "children").collect()))
    });
    described.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn undoes(before: &[Value], sent: &[Value], seen: &[Value]) -> bool {
        ancestor(&[before.to_vec(), sent.to_vec()], seen, |_| Ids::Kept).is_some()
    }

    #[test]
    fn the_ancestor_is_the_oldest_version_after_which_nothing_shows() {
        let a = ("a", "one two");
        let versions = [
            page(&[a]),
            page(&[a, ("b", "theirs first")]),
            page(&[a, ("b", "theirs first"), ("c", "theirs second")]),
            page(&[("a", "one two three"), ("b", "theirs first"), ("c", "theirs second")]),
        ];
        let check = |seen: &[(&str, &str)], by, expected| {
            assert_eq!(ancestor(&versions, &page(seen), |_| by), expected, "{seen:?}");
        };
        check(&[a], Ids::Kept, Some(0));
        check(&[a, ("x", "mine")], Ids::Kept, Some(0));
        check(&[a, ("b", "theirs first"), ("x", "mine")], Ids::Kept, Some(1));
        check(&[a, ("b", "theirs first, edited")], Ids::Kept, Some(1));
        check(&[a, ("b", "theirs first"), ("c", "theirs second")], Ids::Kept, Some(2));
        check(&[("a", "one two three"), ("b", "theirs first")], Ids::Kept, None);
        let moved =
            [page(&[a, ("b", "x")]), page(&[("b", "x"), a]), page(&[("b", "x"), ("a", "one two three")])];
        assert_eq!(ancestor(&moved, &page(&[("b", "x"), a, ("m", "mine")]), |_| Ids::Matched), Some(1));
        // A line of its own in the place of theirs: a text has no ids, an editor in the app has.
        check(&[a, ("b", "something else of mine")], Ids::Matched, Some(0));
        check(&[a, ("b", "theirs first edited")], Ids::Matched, Some(1));
        check(&[a, ("b", "something else of mine")], Ids::Kept, Some(1));
        // The program's line reads like the colleague's. A corrected word, a word less and a word more are edits of the
        // colleague's line; where no program has read the file since, only a line with each of its words is one.
        for (text, by, expected) in [
            ("mine first", Ids::Matched, 0),
            ("theris first", Ids::Matched, 1),
            ("theris first", Ids::Unread, 0),
            ("first", Ids::Matched, 1),
            ("first", Ids::Unread, 0),
            ("theirs first here", Ids::Matched, 1),
            ("theirs first here", Ids::Unread, 1),
        ] {
            check(&[a, ("b", text)], by, Some(expected));
        }
        // A version that only ticked or removed is told from the next by no words, and none is lost with it.
        let removed = [page(&[a, ("b", "x")]), page(&[a])];
        assert_eq!(ancestor(&removed, &page(&[a, ("b", "x")]), |_| Ids::Kept), None);
        assert_eq!(ancestor(&[page(&[a])], &page(&[a]), |_| Ids::Kept), None);
        // A block was removed beside a new one: in a text from before, it is a new block.
        let replaced = [page(&[a, ("b", "long gone")]), page(&[a, ("c", "theirs")])];
        assert_eq!(ancestor(&replaced, &page(&[a, ("x", "long gone too")]), |_| Ids::Matched), Some(0));
        assert_eq!(ancestor(&replaced, &page(&[a, ("x", "long gone")]), |_| Ids::Kept), None);
        assert_eq!(ancestor(&replaced, &page(&[a, ("x", "mine")]), |_| Ids::Matched), None);
        // Cut and pasted: an editor that loaded in between lacks the block, which the version before the cut had too.
        let moved = [page(&[("b", "x"), a]), page(&[a]), page(&[a, ("b", "x")])];
        assert_eq!(ancestor(&moved, &page(&[("a", "one two mine")]), |_| Ids::Kept), Some(1));
        assert_eq!(ancestor(&moved, &page(&[("b", "x"), ("a", "one two mine")]), |_| Ids::Kept), None);
        // Cut and pasted beside a new line: a program that read the text before the cut has the block, and saw neither.
        let moved = [page(&[("b", "x"), a]), page(&[a]), page(&[a, ("b", "x"), ("c", "theirs")])];
        assert_eq!(ancestor(&moved, &page(&[("b", "x"), a, ("m", "mine")]), |_| Ids::Matched), Some(0));
        assert_eq!(ancestor(&moved, &page(&[a, ("m", "mine")]), |_| Ids::Matched), Some(1));
    }

    #[test]
    fn a_text_was_made_from_what_it_shows_of_each_version() {
        let a = ("a", "one two");
        let versions = [
            page(&[a, ("b", "three")]),
            page(&[a, ("b", "three four")]),
            page(&[a, ("b", "three four five"), ("c", "theirs comes here")]),
        ];
        let check = |text: &[(&str, &str)], expected: &[(&str, &str)]| {
            assert_eq!(made_from(&versions, &page(text)), page(expected), "{text:?}");
        };
        check(&[a, ("b", "three"), ("x", "mine")], &[a, ("b", "three")]);
        // A word that the oldest version has is removed; one that came later was not seen.
        check(&[("a", "one"), ("b", "three")], &[a, ("b", "three")]);
        check(&[("b", "three four mine")], &[a, ("b", "three four")]);
        check(&[a, ("b", "three five")], &[a, ("b", "three")]);
        check(&[a, ("b", "three four five")], &[a, ("b", "three four five")]);
        // A line of its own in the place of theirs, and an edit of theirs.
        check(&[a, ("b", "three"), ("c", "something else of mine")], &[a, ("b", "three")]);
        let [theirs, edited] = ["theirs comes here", "theirs comes here too"].map(|text| ("c", text));
        check(&[a, ("b", "three"), edited], &[a, ("b", "three"), theirs]);
        let shorter = ("c", "theirs comes");
        check(&[a, ("b", "three"), shorter], &[a, ("b", "three"), shorter]);
        assert_eq!(made_from(&[], &page(&[a])), page(&[]));
    }

    fn page(texts: &[(&str, &str)]) -> Vec<Value> {
        texts
            .iter()
            .map(|(id, text)| json!({"id": id, "content": [{"text": text}], "children": []}))
            .collect()
    }

    #[test]
    fn a_new_block_is_proof_and_otherwise_every_change_has_to_be_there() {
        let before = page(&[("a", "1"), ("b", "2")]);
        let check = |sent: &[(&str, &str)], seen: &[(&str, &str)], expected| {
            assert_eq!(shows_changes(&before, &page(sent), &page(seen)), expected, "{sent:?} {seen:?}");
        };
        check(&[("a", "1"), ("b", "2"), ("c", "3")], &[("a", "1!"), ("b", "2"), ("c", "3")], true);
        check(&[("a", "1"), ("b", "2!")], &[("a", "1!"), ("b", "2!")], true);
        check(&[("a", "1")], &[("a", "1!")], true);
        check(&[("a", "1"), ("b", "2!")], &[("a", "1!"), ("b", "2")], false);
        check(&[("a", "1"), ("b", "2"), ("c", "3")], &[("a", "1!"), ("b", "2")], false);
        // Another user removed the same block, and our other change is not there.
        check(&[("a", "1!")], &[("a", "1")], false);
        check(&[("a", "1!"), ("c", "3")], &[("a", "1")], false);
        check(&[("a", "1!")], &[("a", "1!?")], false);
        // A block that we created is there, whatever became of the rest.
        check(&[("a", "1!"), ("c", "3")], &[("c", "3?")], true);
        check(&[("a", "1"), ("b", "2")], &[("a", "1!"), ("b", "2")], false);
    }

    #[test]
    fn a_change_is_seen_in_a_block_that_was_edited_again() {
        let before = page(&[("a", "one two"), ("b", "three")]);
        let check = |sent: &str, seen: &str, expected| {
            let [sent, seen] = [sent, seen].map(|text| page(&[("a", text), ("b", "three")]));
            assert_eq!(shows_changes(&before, &sent, &seen), expected, "{sent:?} {seen:?}");
        };
        check("one ours", "one theirs ours", true);
        check("one two ours", "two ours", true);
        check("one ours", "one theirs", false);
        check("one ours", "one two ours", false);
        check("one two two", "one two theirs", false);
        // Another user may have removed the same word. A change of spaces is no change of words.
        check("one", "one theirs", false);
        check("one  two", "one  two theirs", false);
        let checked = |checked: bool, text: &str| {
            vec![json!({"id": "a", "props": {"checked": checked}, "content": [{"text": text}]})]
        };
        let sent = checked(true, "one ours");
        assert!(shows_changes(&checked(false, "one"), &sent, &checked(true, "one theirs ours")));
        assert!(!shows_changes(&checked(false, "one"), &sent, &checked(false, "one theirs ours")));
    }

    #[test]
    fn an_editor_that_never_saw_the_write_is_told_by_all_of_it_being_undone() {
        let before = page(&[("a", "one two"), ("b", "three")]);
        let check = |sent: &[(&str, &str)], seen: &[(&str, &str)], expected| {
            assert_eq!(undoes(&before, &page(sent), &page(seen)), expected, "{sent:?} {seen:?}");
        };
        let added = [("a", "one two ours"), ("b", "three")];
        // The old text, alone or with text typed elsewhere, in the same block or as a new one.
        check(&added, &[("a", "one two"), ("b", "three")], true);
        check(&added, &[("a", "one two"), ("b", "three four")], true);
        check(&added, &[("a", "one theirs two"), ("b", "three")], true);
        check(&added, &[("a", "one"), ("b", "three"), ("x", "new")], true);
        // Our change is there, in part or as a whole.
        check(&added, &[("a", "two ours"), ("b", "three")], false);
        check(&[("a", "one two ours too"), ("b", "three")], &[("a", "one two too"), ("b", "three")], false);
        check(&[("a", "one two ours"), ("b", "three too")], &[("a", "one two"), ("b", "three too")], false);
        check(&added, &[("b", "three")], false);
        // A removed word is back, and the word in its place is gone.
        check(&[("a", "one ours"), ("b", "three")], &[("a", "one two"), ("b", "3")], true);
        check(&[("a", "one ours"), ("b", "three")], &[("a", "one"), ("b", "3")], false);
        // Blocks.
        check(&[("a", "one two"), ("c", "ours")], &[("a", "one two"), ("b", "three!")], true);
        check(&[("a", "one two"), ("c", "ours")], &[("a", "one two")], false);
        check(&[("a", "one two"), ("b", "three"), ("c", "ours")], &[("a", "!"), ("c", "ours")], false);
        // No words to lose.
        check(&[("a", "one"), ("b", "three")], &[("a", "one two"), ("b", "three four")], false);
        check(&[("a", "one two")], &[("a", "one two"), ("b", "three four")], false);
        check(&[("a", "one two"), ("b", "three")], &[("a", "one"), ("b", "three")], false);
    }

    #[test]
    fn a_text_has_a_block_that_was_rewritten_since_as_a_new_one() {
        let versions = [page(&[("a", "one two"), ("b", "three")]), page(&[("a", "one two"), ("b", "ours")])];
        let check = |seen: &[(&str, &str)], expected| {
            let found = ancestor(&versions, &page(seen), |_| Ids::Matched);
            assert_eq!(found.is_some(), expected, "{seen:?}");
        };
        check(&[("a", "one two"), ("x", "three"), ("y", "new")], true);
        // What was typed below it has its id.
        check(&[("a", "one two"), ("x", "three"), ("b", "new")], true);
        // It was rewritten once more, or removed.
        check(&[("a", "one two"), ("b", "new")], false);
        check(&[("a", "one two"), ("x", "new")], false);
        check(&[("a", "one two"), ("x", "three"), ("b", "ours")], false);
        // An empty line is like none of them.
        let filled = [page(&[("a", "one two"), ("b", "")]), page(&[("a", "one two"), ("b", "ours")])];
        assert_eq!(ancestor(&filled, &page(&[("a", "one two"), ("x", "new")]), |_| Ids::Matched), None);
    }

    #[test]
    fn styles_and_addresses_count_too_and_properties_do_not() {
        let block = |checked: bool, content: Value| {
            vec![json!({"id": "a", "props": {"checked": checked}, "content": content})]
        };
        let plain = json!([{"type": "text", "text": "one two", "styles": {}}]);
        let more = json!([{"type": "text", "text": "one two ours", "styles": {}}]);
        let theirs = json!([{"type": "text", "text": "one two theirs", "styles": {}}]);
        assert!(undoes(
            &block(false, plain.clone()),
            &block(true, more.clone()),
            &block(false, theirs.clone())
        ));
        // Both sides ticked the box: the words that came with one of the ticks are not seen for that.
        assert!(undoes(&block(false, plain.clone()), &block(true, more), &block(true, theirs.clone())));
        let bold = json!([{"type": "text", "text": "one ", "styles": {}}, {"type": "text", "text": "two", "styles": {"bold": true}}]);
        assert!(undoes(&block(false, plain.clone()), &block(false, bold.clone()), &block(false, theirs)));
        assert!(!undoes(&block(false, plain.clone()), &block(false, bold.clone()), &block(false, bold)));
        let link = |to: &str| json!([{"type": "link", "href": to, "content": [{"type": "text", "text": "one", "styles": {}}]}]);
        let both = json!([link("old")[0], plain[0]]);
        assert!(undoes(&block(false, link("old")), &block(false, link("new")), &block(false, both)));
        let table = |cell: &str| json!({"type": "tableContent", "rows": [{"cells": [[{"type": "text", "text": cell, "styles": {}}]]}]});
        assert!(undoes(
            &block(false, table("1")),
            &block(false, table("1 ours")),
            &block(false, table("1 2"))
        ));
    }
}
