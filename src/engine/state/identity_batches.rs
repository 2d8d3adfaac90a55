//! The verdicts on a scan while they are applied.

use std::collections::{BTreeMap, VecDeque};

use crate::core::plan::page_files::{Identities, SeenFile, Verdict};
use crate::model::{Event, MirrorPath, Node, PageId, Scan, Stamp, Timestamp};

/// Verdicts that are being applied to the trees.
#[derive(Debug)]
pub(crate) struct IdentityBatch {
    pub(crate) seen: Vec<SeenFile>,
    pub(crate) identities: Identities,
    pub(crate) seen_now: BTreeMap<MirrorPath, Stamp>,
    /// When the files were identified. Files that vanished together have one time, so that one scan at the end of the
    /// grace time is enough.
    pub(crate) at_once: Timestamp,
    pub(crate) step: Step,
    /// Index of the next item of the step.
    pub(crate) at: usize,
    /// The scan that led to the verdicts, and when it began. The rest of it is applied afterwards.
    pub(crate) scan: Option<(Box<Scan>, Timestamp)>,
}

/// All old bindings go before any new one comes, because files may have swapped places.
#[derive(Debug)]
pub(crate) enum Step {
    Follow,
    Vanish,
    Bind(Absent),
    Forget(Vec<MirrorPath>),
}

/// The verdicts that are being applied, and the events that came meanwhile.
#[derive(Debug, Default)]
pub(crate) struct IdentityBatches {
    pub(crate) now: Option<Box<IdentityBatch>>,
    pub(crate) postpone: VecDeque<Event>,
}

impl IdentityBatches {
    pub(crate) fn is_under_way(&self) -> bool {
        self.now.is_some()
    }

    /// Queues an event for afterwards.
    pub(crate) fn postpone(&mut self, event: Event) {
        self.postpone.push_back(event);
    }
}

/// Pages whose files are missing, by their former paths.
#[derive(Debug, Default)]
pub(crate) struct Absent {
    /// By the path at which the file was last seen.
    pub(crate) last: BTreeMap<MirrorPath, Vec<PageId>>,
    /// By the path of the file in the base.
    pub(crate) agreed: BTreeMap<MirrorPath, Vec<PageId>>,
}

impl Absent {
    /// Excludes pages whose file is in `verdicts`: what came to their old paths is another page's.
    pub(crate) fn of<'a>(pages: impl Iterator<Item = &'a Node>, verdicts: &[Verdict]) -> Self {
        let mut missing: BTreeMap<&PageId, &Node> =
            pages.filter(|node| is_missing(node)).map(|node| (&node.id, node)).collect();
        for verdict in verdicts {
            if let Verdict::Same(page) | Verdict::Moved { page, .. } = verdict {
                missing.remove(page);
            }
        }
        let mut absent = Self::default();
        for node in missing.into_values() {
            // A page whose file became another page misses no file.
            let (Some(base), Some(from)) = (&node.base, &node.missing_from) else { continue };
            absent.last.entry(from.clone()).or_default().push(node.id.clone());
            absent.agreed.entry(base.path.clone()).or_default().push(node.id.clone());
        }
        absent
    }
}

pub(crate) fn is_missing(node: &Node) -> bool {
    node.file.is_none() && node.missing_since.is_some()
}
