//! Which element of which slide a node's id means. Ids of elements are unique on their slide only, so the same id may mean
//! elements of several slides.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Known;
use super::area::{Area, has_stayed};
use super::written::Written;
use crate::model::id_of;

/// An element and the index of its slide.
pub(super) type Named<'a> = (usize, &'a Value);

/// The elements of a presentation by the ids that nodes may have for them.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    aliased: BTreeMap<&'a str, Vec<Named<'a>>>,
    full: BTreeMap<String, Named<'a>>,
    plain: BTreeMap<&'a str, Vec<Named<'a>>>,
}

/// The id that an element's node has where its own is taken.
pub(super) fn full_name(slide: &str, element: &str) -> String {
    format!("{slide}/{element}")
}

/// An element's own id, out of any id that a node may have for it.
pub(super) fn own_name(raw: &str) -> &str {
    raw.rsplit_once('/').map_or(raw, |(_, element)| element)
}

impl<'a> Names<'a> {
    /// `nodes`: those of the file.
    pub(super) fn new(known: &Known<'a>, written: &Written, nodes: &[Value]) -> Self {
        let here: BTreeSet<&str> = nodes.iter().map(id_of).collect();
        let there: BTreeSet<&str> =
            here.iter().copied().chain(written.ids.iter().map(String::as_str)).collect();
        let mut names = Self::default();
        // What the file was written from comes before what it may have got since.
        for is_base in [true, false] {
            for (index, slide) in known.slides.iter().enumerate() {
                let elements = if is_base { slide.base.unwrap_or_default() } else { slide.shown };
                for element in elements {
                    let full = full_name(slide.id.as_str(), id_of(element));
                    if names.full.contains_key(&full) {
                        continue;
                    }
                    let plain = names.plain.entry(id_of(element)).or_default();
                    // An element that has the long id in the file does not have the short one too.
                    if !there.contains(full.as_str()) && (is_base || plain.is_empty()) {
                        plain.push((index, element));
                    }
                    names.full.insert(full, (index, element));
                }
            }
        }
        for slide in known.slides {
            for (raw, id) in slide.aliases {
                let full = full_name(slide.id.as_str(), id);
                // A node with the earlier id of an element that has a node of its own is another one.
                let is_there = here.contains(id.as_str()) || here.contains(full.as_str());
                if let Some(named) = names.full.get(&full).filter(|_| !is_there) {
                    names.aliased.entry(raw).or_default().push(*named);
                }
            }
        }
        names
    }

    /// The element that an id means. Of several, it is the one whose slide's group the node is in, or else one that stands where it
    /// did, or else the first.
    pub(super) fn find(&self, raw: &str, node: &Value, groups: &BTreeMap<usize, Area>) -> Option<Named<'a>> {
        // A node that became an element of another slide may still have the id of the one that it was before, or the one that
        // both had before they had their own. The one that it was before may be there, too.
        let aliased = self.aliased.get(raw).into_iter().flatten();
        let all = aliased.chain(self.full.get(raw)).chain(self.plain.get(raw).into_iter().flatten());
        let centre = Area::of(node).map(|area| area.centre());
        let is_in = |(slide, _): &&Named<'a>| {
            groups.get(slide).zip(centre).is_some_and(|(group, centre)| group.contains(centre))
        };
        let is_still = |(slide, element): &&Named<'a>| {
            groups.get(slide).is_some_and(|group| has_stayed(node, element, group.origin))
        };
        let found = all.clone().find(is_in).or_else(|| all.clone().find(is_still));
        found.or_else(|| all.clone().next()).copied()
    }

    /// The element that an alias names.
    pub(super) fn aliased(&self, key: &str) -> Option<Named<'a>> {
        self.aliased.get(key)?.first().copied()
    }
}
