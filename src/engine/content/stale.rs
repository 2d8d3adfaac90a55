//! Saves and reads that did not see what was written last: a program saves the text that it read before espejo wrote into the
//! file; an editor in the app saves the text that it loaded before espejo's request; a read of the service is older than that
//! request.
//!
//! Each is a version of its own with an ancestor of its own (`plan::evidence`). The base of the page goes back to that
//! ancestor, and the merge that follows anyway loses no word of either side.

use crate::engine::state::answered::{LAGS_MS, OVERWRITE_MS};
use crate::engine::state::trees::in_base;
use crate::engine::state::{Context, Needs, Pages, Way};
use crate::model::{
    Blocks, Body, BodyJson, Code, ContentHash, FileRead, LastPush, Node, PageId, Timestamp, guarded, planted,
    read_json,
};
use crate::plan::evidence::{self, Ids};
use crate::plan::merge;
use crate::plan::saves::{Saves, Times, words_of_change};
use crate::store::{Act, StoreError, lineage};

/// When a page is fetched again after a request whose result a read does not show.
const ASKED_AGAIN_MS: [i64; 4] = [1_000, 3_000, 10_000, 30_000];

/// What a fetch shows.
pub(crate) enum Shows {
    /// The present state.
    Present,
    /// A state from before espejo's last request: the read lags.
    Earlier,
    /// A text that was made from this earlier state.
    Stale(ContentHash),
}

/// Goes back to the version that a save was made from, if its author saw none of espejo's writes after it. Returns whether the
/// base has changed: then the file is to be read against it.
pub(crate) fn go_back_to_ancestor(
    pages: &mut Pages,
    page: &PageId,
    look: &FileRead,
    content: &BodyJson,
    cx: &mut Context,
) -> Result<bool, StoreError> {
    let text = ContentHash::of(&look.bytes);
    let Some(node) = pages.trees.pages.get(page).cloned() else { return Ok(false) };
    let (Some(base), false) = (node.base.clone(), pages.pending_updates.contains_key(page)) else {
        return Ok(false);
    };
    // What a user approved is meant, and so is an older copy of the folder.
    if node.approved
        || pages.retention.folder_is_old.is_some()
        || !pages.runtime(page).saves.is_new(text)
        || cx.meaning_put_back(text)?.is_some()
    {
        return Ok(false);
    }
    if pages.runtime(page).saves.is_of_old_path(text) {
        return go_back_at_old_path(pages, page, text, (&base.body, content), cx);
    }
    let Some(agreed) = base.text else { return Ok(false) };
    let writes = lineage::writes_up_to(&cx.store, page, agreed)?;
    let saved = cx.now.plus_ms(-look.stamp.rested_ms(look.clock).max(0));
    let saves = &mut pages.runtime(page).saves;
    let Some((first, ancestor, words)) = unseen_from(&writes, (&base.body, content), (saves, saved), cx)?
    else {
        saves.saw_all();
        return Ok(false);
    };
    let Act { at, number, body_before: Some(before), text_before, .. } = writes[first].clone() else {
        return Ok(false);
    };
    // What was read since then, as a file that moves is, is no earlier text.
    let returns = text_before != Some(text) && cx.store.has_held(page, text, at)?;
    if !saves.is_stale(Times { written: at, saved, now: cx.now }, &words, returns) {
        return Ok(false);
    }
    tracing::debug!(page = %page, "a save that did not see what was written last");
    pages.edit_page(page, in_base(|base| (base.body, base.text) = (before, text_before)), cx);
    pages.runtime(page).parsed = None;
    // The base is named by a row: its blocks must be kept with it.
    cx.store.keep_body(&Body::of(ancestor));
    cx.notice(
        Code::StaleSave,
        look.path.as_str(),
        format!("a program saved an older text of this file; {words} from the app stay"),
        &format!("nothing to do; espejo undo {number} removes them"),
    );
    cx.log_activity(Way::Aside, &look.path, "saved from an older text: merged with what came since");
    Ok(true)
}

/// Goes back to what a text was made from that a program saved at the file's old path: what it saved there before, or any of the
/// versions from before the rename.
fn go_back_at_old_path(
    pages: &mut Pages,
    page: &PageId,
    text: ContentHash,
    (present, content): (&ContentHash, &BodyJson),
    cx: &mut Context,
) -> Result<bool, StoreError> {
    cx.store.keep_body_json(content);
    let before = pages.runtime(page).saves.read_at_old_path(text, content.hash());
    let made = match before {
        // No row names it: it may have been removed.
        Some(before) if cx.store.body(before)?.is_some() => before,
        _ => {
            let bodies = lineage::bodies_since(&cx.store, page, Timestamp::default(), lineage::COMPARED)?;
            let older = bodies.iter().map(|(body, _)| body).skip_while(|body| *body != present).skip(1);
            // The history may be purged: the present version is always kept.
            let all = [present].into_iter().chain(older).map(|body| cx.blocks_of_version(*body));
            let mut versions = all.collect::<Result<Vec<Blocks>, _>>()?;
            versions.reverse();
            let seen = content.blocks().map_err(|_| StoreError::Row("body"))?;
            let made = Body::of(guarded(|| evidence::made_from(&versions, &seen))?);
            cx.store.keep_body(&made);
            made.hash
        }
    };
    pages.edit_page(page, in_base(|base| (base.body, base.text) = (made, None)), cx);
    pages.runtime(page).parsed = None;
    Ok(true)
}

/// Tells of the files that wait for the programs that save old texts into them.
pub(crate) fn tell_stale_editors(pages: &Pages, needs: &mut Needs) {
    for (page, _) in pages.runtimes.iter().filter(|(_, runtime)| runtime.saves.rests) {
        if let Some(path) = pages.trees.pages.get(page).and_then(|node| node.file.as_ref()) {
            needs.tell(
                Code::StaleEditor,
                path.as_str(),
                "a program saved its old text over newer words from the app three times; the page has both",
                "reload the file in that program; espejo then writes what the page has",
            );
        }
    }
}

/// The first of the writes that the author of a content did not see, who saved it at `saved`; the blocks before it, and some
/// words that came since.
fn unseen_from(
    writes: &[Act],
    (present, content): (&ContentHash, &BodyJson),
    (saves, saved): (&Saves, Timestamp),
    cx: &Context,
) -> Result<Option<(usize, Blocks, String)>, StoreError> {
    if writes.last().and_then(|act| act.body_after) != Some(*present) {
        return Ok(None);
    }
    let mut versions = Vec::new();
    for act in writes {
        let Some(before) = act.body_before else { return Ok(None) };
        versions.push(cx.blocks_of_version(before)?);
    }
    versions.push(cx.blocks_of_version(*present)?);
    let (seen, last) = (content.blocks().map_err(|_| StoreError::Row("body"))?, versions.len() - 1);
    let by = |at: usize| if saves.was_read(writes[at].at, saved) { Ids::Matched } else { Ids::Unread };
    let first = guarded(|| evidence::ancestor(&versions, &seen, by))?;
    Ok(first.map(|first| {
        let words = words_of_change(&versions[first], &versions[last]);
        (first, versions.swap_remove(first), words)
    }))
}

impl Context {
    /// The blocks of a version that is kept.
    pub(crate) fn blocks_of_version(&self, hash: ContentHash) -> Result<Blocks, StoreError> {
        match self.store.content(hash)? {
            Some(json) => read_json(&json).map_err(|_| StoreError::Row("version in the history")),
            None => self.store.named_body(hash),
        }
    }

    /// What a fetch of a page shows beside what espejo's last requests left. `is_late`: that is the body of an update that got
    /// no answer and that no read showed.
    pub(crate) fn weigh(
        &self,
        node: &Node,
        (has_shown, is_late): (bool, bool),
        seen: &BodyJson,
    ) -> Result<Shows, StoreError> {
        let recent =
            |push: &&LastPush| self.now.since_ms(push.at) <= OVERWRITE_MS && push.before != push.after;
        let (Some(push), Some(known)) = (node.last_push.as_deref().filter(recent), node.remote.body) else {
            return Ok(Shows::Present);
        };
        if seen.hash() == known || seen.hash() == push.after {
            return Ok(Shows::Present);
        }
        let age = self.now.since_ms(push.at);
        // What was seen since the request came after it, also where another read lagged in between: so did the text that overwrote
        // it, which is noted as what is before the second attempt.
        let is_earlier = is_late
            || seen.hash() == push.before && !push.again
            || lineage::has_had(&self.store, &node.id, seen.hash(), push.at)?;
        // A request of the future is one of an earlier run, whose clock was set back: no read lags for so long.
        if (0..=LAGS_MS[usize::from(has_shown)]).contains(&age) && is_earlier {
            return Ok(Shows::Earlier);
        }
        if is_late {
            // It has what it sent, and lacks what was sent since.
            return Ok(Shows::Stale(seen.hash()));
        }
        let mut states = lineage::states_since(&self.store, &node.id, self.now.plus_ms(-OVERWRITE_MS))?;
        if states.is_empty() {
            states.extend([push.before, push.after]);
        }
        let own = states.len();
        if states.last() != Some(&known) {
            states.push(known);
        }
        let versions =
            states.iter().map(|state| self.blocks_of_version(*state)).collect::<Result<Vec<_>, _>>()?;
        let seen = seen.blocks().map_err(|_| StoreError::Row("body"))?;
        if planted("echo-check-exact") && !versions.contains(&seen) {
            return Ok(Shows::Present);
        }
        let ancestor = guarded(|| evidence::ancestor(&versions, &seen, |_| Ids::Kept))?;
        // What others take back of each other's words after espejo's last request is theirs to decide.
        let ancestor = ancestor.filter(|at| at + 1 < own);
        Ok(ancestor.map_or(Shows::Present, |at| Shows::Stale(states[at])))
    }

    /// Takes out of a page's base what a stale text did not have: it is merged again. Only that, because the file may not have
    /// everything yet that went up with it.
    pub(crate) fn go_back(
        &mut self,
        node: &mut Node,
        known: Option<ContentHash>,
        ancestor: ContentHash,
        seen: &BodyJson,
        by_editor: bool,
    ) -> Result<(), StoreError> {
        if let (Some(base), Some(known)) = (&mut node.base, known) {
            let (after, before) = (self.blocks_of_version(known)?, self.blocks_of_version(ancestor)?);
            let agreed = self.store.named_body(base.body)?;
            let agreed = Body::of(guarded(|| merge::merge(&after, &before, &agreed))?.blocks);
            self.store.keep_body(&agreed);
            (base.body, base.text) = (agreed.hash, None);
        }
        if let Some(push) = &mut node.last_push {
            (push.before, push.again) = (seen.hash(), push.again || by_editor);
        }
        Ok(())
    }
}

/// When a page is fetched again whose read lags, in milliseconds from now.
pub(crate) fn asked_again_in(push: Timestamp, now: Timestamp) -> Option<i64> {
    let age = now.since_ms(push);
    ASKED_AGAIN_MS.iter().find(|at| **at > age).map(|at| at - age)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::plan::confirm;
    use crate::core::plan::confirm::Shows as Shown;
    use crate::core::plan::confirm::State;
    use crate::core::plan::confirm::Verdict;
    use crate::core::plan::confirm::What;
    use crate::core::plan::confirm::confirm;

    /// The core has one rule for every kind and facet. Where a list has shown a new page, a removal or a title, it believes a
    /// later read that shows the old state after 20 s instead of 60 s, as for texts: replicas do not take turns for longer.
    #[test]
    fn the_core_lays_answered_acts_over_reads_as_this_does() {
        let at = Timestamp(1_000_000);
        let (mut same, mut sooner) = (0, 0);
        for (age, has_shown) in (-1..=70_000).step_by(500).flat_map(|age| [(age, false), (age, true)]) {
            let now = at.plus_ms(age);
            let state = State::Done { at, shown: has_shown };
            let lags = |what| confirm(what, state, Shown::Before, now) == Verdict::Lags;
            assert_eq!(lags(What::Change), age <= LAGS_MS[usize::from(has_shown)]);
            assert_eq!(confirm(What::Change, state, Shown::Other, now), Verdict::Foreign);
            for what in [What::Create, What::Change, What::Remove] {
                let lagged = age <= LAGS_MS[0];
                match lags(what) == lagged {
                    true => same += 1,
                    false if has_shown && age > LAGS_MS[1] => sooner += 1,
                    false => panic!("{what:?} {age}"),
                }
            }
            if !has_shown {
                assert_eq!(confirm::read_again_in(state, now), asked_again_in(at, now), "{age}");
            }
        }
        assert_eq!((same, sooner), (606, 240));
    }
}
