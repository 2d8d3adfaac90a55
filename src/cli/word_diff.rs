//! Where two texts have other words, for people: a few words around each place.

use std::io::Write;

use anyhow::Result;

use crate::cli::output;
use crate::model::edits;

/// Words that are shown around a difference.
const AROUND: usize = 3;
/// Words of one side of a difference that are shown.
const SHOWN: usize = 12;
/// Places of one text that are shown.
const PLACES: usize = 5;

/// One place where the words differ.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    /// A few words before it.
    pub before: Vec<String>,
    /// The words that only the old text has.
    pub old: Vec<String>,
    /// The words that only the new text has.
    pub new: Vec<String>,
    /// A few words after it.
    pub after: Vec<String>,
}

/// Every place where the words differ.
#[must_use]
pub fn places(old: &[String], new: &[String]) -> Vec<Place> {
    let ops = edits(old, new);
    let differs = |op: &&similar::DiffOp| op.tag() != similar::DiffTag::Equal;
    ops.iter()
        .filter(differs)
        .map(|op| {
            let (was, is) = (op.old_range(), op.new_range());
            Place {
                before: new[is.start.saturating_sub(AROUND)..is.start].to_vec(),
                old: old[was].to_vec(),
                new: new[is.clone()].to_vec(),
                after: new[is.end..(is.end + AROUND).min(new.len())].to_vec(),
            }
        })
        .collect()
}

/// Only the places where the new text has words that the old one has not.
#[must_use]
pub fn additions(old: &[String], new: &[String]) -> Vec<Place> {
    let mut all = places(old, new);
    all.retain(|place| !place.new.is_empty());
    all
}

/// Shows the first places, a line each: `[-old-]` goes, `{+new+}` comes.
///
/// # Errors
/// When nothing can be written.
pub fn show(places: &[Place], out: &mut dyn Write) -> Result<()> {
    for place in places.iter().take(PLACES) {
        let mut line = Vec::new();
        if !place.before.is_empty() {
            line.push(output::paint(output::DIM, &place.before.join(" ")));
        }
        if !place.old.is_empty() {
            line.push(output::paint(output::BAD, &format!("[-{}-]", shortened(&place.old))));
        }
        if !place.new.is_empty() {
            line.push(output::paint(output::GOOD, &format!("{{+{}+}}", shortened(&place.new))));
        }
        if !place.after.is_empty() {
            line.push(output::paint(output::DIM, &place.after.join(" ")));
        }
        writeln!(out, "    {}", line.join(" "))?;
    }
    if places.len() > PLACES {
        let more = output::count((places.len() - PLACES) as u64, "more place", "more places");
        writeln!(out, "    … and {more}")?;
    }
    Ok(())
}

fn shortened(words: &[String]) -> String {
    let shown = words.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(" ");
    if words.len() > SHOWN { format!("{shown} …") } else { shown }
}

/// How many words came and went.
#[must_use]
pub fn changed_words(old: &[String], new: &[String]) -> (usize, usize) {
    let ops = edits(old, new);
    let (mut added, mut removed) = (0, 0);
    for op in ops.iter().filter(|op| op.tag() != similar::DiffTag::Equal) {
        added += op.new_range().len();
        removed += op.old_range().len();
    }
    (added, removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_copy_has_and_the_page_has_not_is_shown() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (page, copy, expected) in [
            ("the plan is closed today", "the plan is open today", "the plan is [-closed-] {+open+} today\n"),
            ("one two three four five", "one two three four five", ""),
            ("a word of theirs", "a word", ""),
            ("one", "one two", "one {+two+}\n"),
            ("", "all of it is mine", "{+all of it is mine+}\n"),
            ("a b c d e f g h", "X b c d e f g Y", "[-a-] {+X+} b c d\ne f g [-h-] {+Y+}\n"),
        ] {
            let mut out = anstream::StripStream::new(Vec::new());
            show(&additions(&words(page), &words(copy)), &mut out).unwrap();
            let shown = String::from_utf8(out.into_inner()).unwrap().replace("    ", "");
            assert_eq!(shown, expected, "{page} | {copy}");
        }
        let gone = places(&words("a word of theirs"), &words("a word"));
        assert_eq!((gone.len(), gone[0].old.join(" ").as_str()), (1, "of theirs"));
    }
}
