//! The groups of a presentation's file as espejo last wrote it, and where espejo puts a group.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::area::Area;
use super::{Known, Size};
use crate::model::id_of;

/// At least so many pixels lie between two slides.
const GAP_MIN: f64 = 80.0;

/// The file as it was written.
#[derive(Debug, Clone, Default)]
pub(super) struct Written {
    /// The groups of slides, by the slide's index in [`Known::slides`].
    pub(super) groups: BTreeMap<usize, WrittenGroup>,
    /// The ids of all nodes.
    pub(super) ids: BTreeSet<String>,
    /// Whether this is another text than the file itself.
    pub(super) is_kept: bool,
}

/// A slide's group as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WrittenGroup {
    pub(super) area: Area,
    pub(super) label: Option<usize>,
    /// The number of its slide, from 0.
    pub(super) number: usize,
}

impl Written {
    pub(super) fn new(nodes: &[Value], known: &Known<'_>, is_kept: bool) -> Self {
        let mut written = Self { is_kept, ..Self::default() };
        let ids = group_ids(nodes, known);
        for node in nodes {
            written.ids.insert(id_of(node).to_owned());
            let Some(slide) = ids.get(id_of(node)).copied() else { continue };
            let (Some(area), false) = (Area::of(node), written.groups.contains_key(&slide)) else { continue };
            let label = number_of(node);
            let number = label.and_then(|label| label.checked_sub(1)).unwrap_or(written.groups.len());
            written.groups.insert(slide, WrittenGroup { area, label, number });
        }
        written
    }

    /// Whether a slide's group stood where espejo puts it.
    pub(super) fn is_laid_out(&self, slide: usize) -> bool {
        self.groups.get(&slide).is_some_and(|group| {
            let [width, height] = group.area.size;
            let [x, y] = group.area.origin;
            let [step, below] = slot(Size { width, height }, group.number, 1);
            y == below && x >= 0.0 && x % step == 0.0
        })
    }
}

/// The slides by the ids that their groups may have among these nodes. An id from before a slide had its own counts while no
/// node has the slide's own.
pub(super) fn group_ids<'a>(nodes: &[Value], known: &Known<'a>) -> BTreeMap<&'a str, usize> {
    let there: BTreeSet<&str> = nodes.iter().map(id_of).collect();
    let own: BTreeMap<&str, usize> =
        known.slides.iter().enumerate().map(|(index, slide)| (slide.id.as_str(), index)).collect();
    let earlier = known.groups.iter().filter(|(_, id)| !there.contains(id.as_str()));
    let earlier = earlier.filter_map(|(raw, id)| Some((raw.as_str(), *own.get(id.as_str())?)));
    let mut ids: BTreeMap<&str, usize> = earlier.collect();
    ids.extend(own);
    ids
}

/// The label of a group, if it is a number.
pub(super) fn number_of(group: &Value) -> Option<usize> {
    let label = group.get("label")?.as_str()?.trim();
    label.parse().ok().filter(|_| label.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Where espejo puts the slide with this number: one below the other, in the first column that is free.
#[expect(clippy::cast_precision_loss, reason = "slides are few")]
pub(super) fn slot(size: Size, number: usize, column: usize) -> [f64; 2] {
    let [width, height] = size.whole();
    let gap = (height / 4.0).round().max(GAP_MIN);
    [column as f64 * (width + gap), number as f64 * (height + gap)]
}
