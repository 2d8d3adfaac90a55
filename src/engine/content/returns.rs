//! Text that comes back: a whole text that the page's file had before, and blocks that a save of the file removed. They are what
//! they were, with their ids, colours, sizes and mentions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::engine::state::Context;
use crate::markdown;
use crate::model::{Blocks, ContentHash, LocalFile, Node, PageId, block_ids, every_block, id_of};
use crate::store::{StoreError, lineage};

/// What a save of the file removed is on offer for so long.
const OFFERED_MS: i64 = 24 * 3_600_000;
/// The most versions that are searched for it, and the most bytes of them.
const VERSIONS_MOST: usize = 20;
const BYTES_MOST: usize = 2 << 20;
/// A block of fewer words returns only beside a neighbour, unless it has an address: a short line may be typed anew.
const WORDS_FEWEST: usize = 3;

impl Context {
    /// The blocks that a text was read as, with what it brings back. `base` is the content that it was read against; it is
    /// loaded only where something may return.
    pub(crate) fn with_returned(
        &mut self,
        node: &Node,
        file: &LocalFile,
        (hash, text): (ContentHash, &str),
        base: ContentHash,
        known: &BTreeSet<String>,
        mut read: Blocks,
    ) -> Result<Blocks, StoreError> {
        // A new file's text may be one of the page that the file names.
        let owner = match node.base {
            Some(_) => Some(&node.id),
            None => file.copied_from_page.as_ref().or(file.claims.as_ref()),
        };
        let Some(owner) = owner.cloned() else { return Ok(read) };
        let is_own = owner == node.id;
        let version = lineage::body_of_text(&self.store, &owner, hash)?;
        let has_new = every_block(&read).any(|block| !known.contains(id_of(block)));
        if version.is_none() && !(is_own && has_new) {
            return Ok(read);
        }
        let base = self.store.named_body(base)?;
        if !was_changed(&base, &read) {
            return Ok(read);
        }
        if let Some(version) = version {
            let version = self.blocks_of_version(version)?;
            // Stand-ins name their blocks: the text must name those that are meant.
            let ids = block_ids(&version);
            if markdown::stand_in_ids(text).all(|id| is_own && ids.contains(id)) {
                let returned = as_version(version, &base);
                return Ok(if is_own { returned } else { self.as_new(&returned) });
            }
        }
        if !is_own || !has_new {
            return Ok(read);
        }
        let before = block_ids(&base);
        let offers = self.offers(&owner, &before)?;
        if offers.is_empty() {
            return Ok(read);
        }
        let remote =
            node.remote.body.map(|body| self.store.named_body(body)).transpose()?.unwrap_or_default();
        let taken: BTreeSet<String> = block_ids(&remote).into_iter().map(str::to_owned).collect();
        let mut taking = Taking { offers, before, taken };
        taking.level(&mut read, &mut || self.ids.next());
        Ok(read)
    }

    fn as_new(&mut self, blocks: &[Value]) -> Blocks {
        markdown::with_new_ids(blocks, &mut || self.ids.next())
    }

    /// The blocks that saves of a page's file removed lately, each by its Markdown, the newest first. What the app removed is
    /// not among them.
    fn offers(&self, page: &PageId, present: &BTreeSet<&str>) -> Result<Offers, StoreError> {
        let since = self.now.plus_ms(-OFFERED_MS);
        let versions = lineage::bodies_since(&self.store, page, since, VERSIONS_MOST)?;
        let (mut offers, mut bytes) = (Offers::new(), 0);
        let mut seen: BTreeSet<String> = present.iter().map(|id| (*id).to_owned()).collect();
        let mut after: Option<(Blocks, bool)> = None;
        for (hash, by_file) in versions {
            let blocks = self.blocks_of_version(hash)?;
            bytes += blocks.iter().map(|block| block.to_string().len()).sum::<usize>();
            if bytes > BYTES_MOST {
                break;
            }
            if let Some((next, by_file)) = &after {
                let left = block_ids(next);
                for block in every_block(&blocks).filter(|block| !left.contains(id_of(block))) {
                    if seen.insert(id_of(block).to_owned()) && *by_file {
                        offers.entry(markdown_of(block)).or_default().push(block.clone());
                    }
                }
            }
            after = Some((blocks, by_file));
        }
        Ok(offers)
    }
}

/// Removed blocks by their Markdown.
type Offers = BTreeMap<String, Vec<Value>>;

struct Taking<'a> {
    offers: Offers,
    before: BTreeSet<&'a str>,
    taken: BTreeSet<String>,
}

impl Taking<'_> {
    /// Puts what returns in the place of new blocks that say the same.
    fn level(&mut self, blocks: &mut [Value], new_id: &mut dyn FnMut() -> String) {
        let is_new: Vec<bool> = blocks.iter().map(|block| !self.before.contains(id_of(block))).collect();
        let texts: Vec<Option<String>> =
            blocks.iter().zip(&is_new).map(|(block, new)| new.then(|| markdown_of(block))).collect();
        let is_offered: Vec<bool> = texts
            .iter()
            .map(|text| {
                text.as_ref().is_some_and(|text| self.offers.get(text).is_some_and(|all| all.len() == 1))
            })
            .collect();
        for at in 0..blocks.len() {
            let beside = |near: Option<usize>| near.and_then(|near| is_offered.get(near)) == Some(&true);
            let returns = is_offered[at]
                && (texts[at].as_deref().is_some_and(is_no_short_line)
                    || beside(at.checked_sub(1))
                    || beside(at.checked_add(1)));
            let offer =
                if returns { texts[at].as_ref().and_then(|text| self.offers.remove(text)) } else { None };
            match offer.and_then(|mut all| all.pop()) {
                Some(block) => {
                    let is_free =
                        block_ids(std::slice::from_ref(&block)).iter().all(|id| !self.taken.contains(*id));
                    blocks[at] = match is_free {
                        true => block,
                        false => markdown::with_new_ids(&[block], new_id).remove(0),
                    };
                }
                None => {
                    if let Some(children) = blocks[at].get_mut("children").and_then(Value::as_array_mut) {
                        self.level(children, new_id);
                    }
                }
            }
        }
    }
}

fn is_no_short_line(text: &str) -> bool {
    text.contains("](") || text.split_whitespace().count() >= WORDS_FEWEST
}

/// A version whose text is back. Blocks that say the same as those of the base are the base's: they may have other colours by
/// now.
fn as_version(version: Blocks, base: &[Value]) -> Blocks {
    let present: BTreeMap<&str, &Value> = base.iter().map(|block| (id_of(block), block)).collect();
    let own = |block: Value| match present.get(id_of(&block)) {
        Some(is) if markdown_of(is) == markdown_of(&block) => (*is).clone(),
        _ => block,
    };
    version.into_iter().map(own).collect()
}

/// Whether a block of the base has other content than before.
fn was_changed(base: &[Value], read: &[Value]) -> bool {
    let present: BTreeMap<&str, &Value> = base.iter().map(|block| (id_of(block), block)).collect();
    read.iter().any(|block| present.get(id_of(block)).is_none_or(|is| *is != block))
}

fn markdown_of(block: &Value) -> String {
    markdown::render(std::slice::from_ref(block)).text
}
