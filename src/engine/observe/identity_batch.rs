//! Applies the identities that a complete scan led to, in batches: half of a large tree may have come, gone or moved at
//! once, and a turn of the loop must be short.
//!
//! To the rest of the engine this happens at one moment: nothing is decided, requested or committed before the last
//! batch, and events that come meanwhile are queued. A kill in between is a kill before the scan.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::plan::page_files::{Identities, SeenFile, Verdict};
use crate::engine::state::identity_batches::Step;
use crate::engine::state::{Absent, Context, Engine, IdentityBatch, IdentityBatches, Pages, Watching};
use crate::model::{MirrorPath, Scan, Stamp, Timestamp, planted};
use crate::store::StoreError;

/// Changes applied in one turn, which takes about twenty milliseconds. Few in debug builds, so that tests of small
/// folders have several batches.
const TOLD_AT_ONCE: usize = if cfg!(debug_assertions) { 5 } else { 150 };

impl Engine {
    /// Applies the rest of a scan once its files have been identified, usually now.
    pub(crate) fn batches_applied(&mut self, scan: Scan, sent_at: Timestamp) -> Result<(), StoreError> {
        match &mut self.identity_batches.now {
            Some(telling) => telling.scan = Some((Box::new(scan), sent_at)),
            None => self.scan_resolved(&scan, sent_at)?,
        }
        Ok(())
    }

    /// Applies all batches, for a caller that cannot wait.
    pub(crate) fn apply_all_batches(&mut self) -> Result<(), StoreError> {
        while self.identity_batches.is_under_way() {
            self.apply_batch()?;
        }
        Ok(())
    }

    /// Applies one batch. After the last one, the queued events are handled.
    pub(crate) fn apply_batch(&mut self) -> Result<(), StoreError> {
        let Some(mut telling) = self.identity_batches.now.take() else { return Ok(()) };
        let mut left = TOLD_AT_ONCE;
        while left > 0 {
            if self.pages.apply_match(&mut telling, &mut left, &mut self.folder.watch, &mut self.cx) {
                continue;
            }
            telling.at = 0;
            telling.step = match telling.step {
                Step::Follow => Step::Vanish,
                Step::Vanish => {
                    Step::Bind(Absent::of(self.pages.trees.pages.values(), &telling.identities.verdicts))
                }
                Step::Bind(_) => {
                    let seen: BTreeSet<&MirrorPath> = telling.seen.iter().map(|file| &file.path).collect();
                    let all = self.pages.trees.files.keys();
                    Step::Forget(all.filter(|path| !seen.contains(path)).cloned().collect())
                }
                Step::Forget(_) => {
                    self.folder.watch.last_seen = telling.seen_now;
                    if let Some((scan, sent_at)) = telling.scan {
                        self.scan_resolved(&scan, sent_at)?;
                    }
                    while !self.identity_batches.is_under_way()
                        && let Some(event) = self.identity_batches.postpone.pop_front()
                    {
                        self.take(event)?;
                    }
                    return Ok(());
                }
            };
        }
        self.identity_batches.now = Some(telling);
        Ok(())
    }
}

impl Pages {
    /// Applies the next verdict of a step, and takes it from what is `left` for this turn if it changes anything.
    /// `false`: the step is over.
    fn apply_match(
        &mut self,
        telling: &mut IdentityBatch,
        left: &mut usize,
        watch: &mut Watching,
        cx: &mut Context,
    ) -> bool {
        let IdentityBatch { seen, identities, at_once, step, at, .. } = telling;
        let next = *at;
        *at += 1;
        match step {
            Step::Follow => {
                let (Some(file), Some(verdict)) = (seen.get(next), identities.verdicts.get(next)) else {
                    return false;
                };
                match verdict {
                    Verdict::Moved { from, .. } => {
                        self.follow_creation(from, &file.path, cx);
                        self.follow_folder(from, &file.path, cx);
                        self.follow_folder_creations(from, &file.path, cx);
                        *left -= 1;
                    }
                    Verdict::New { from: Some(from), .. } | Verdict::Copy { from: Some(from), .. } => {
                        self.follow_creation(from, &file.path, cx);
                        self.follow_folder_creations(from, &file.path, cx);
                        *left -= 1;
                    }
                    _ => {}
                }
            }
            Step::Vanish => {
                let Some((page, path)) = identities.vanished.get(next) else { return false };
                if !watch.missing.contains_key(page) {
                    self.file_vanished(page, path, *at_once, watch, cx);
                    *left -= 1;
                }
            }
            Step::Bind(absent) => {
                let (Some(file), Some(verdict)) = (seen.get(next), identities.verdicts.get(next)) else {
                    return false;
                };
                match verdict {
                    Verdict::Same(page) => {
                        if !self.bind_anew(&file.path, page, false, watch, cx) {
                            return true;
                        }
                    }
                    Verdict::Moved { page, .. } => self.bind(&file.path, page, true, watch, cx),
                    // A copy of another page's file, put where this page's file was, is the content of this page now.
                    Verdict::Copy { of, .. } if planted("copy-is-owner") => {
                        self.bind(&file.path, of, true, watch, cx);
                    }
                    Verdict::Copy { of, .. } => match self.trees.missing_from(absent, &file.path) {
                        Some(page) => self.bind(&file.path, &page, true, watch, cx),
                        None => self.unbind(&file.path, Some(of.clone()), cx),
                    },
                    Verdict::New { claims, .. } => {
                        self.new_file(absent, &file.path, claims.as_ref(), watch, cx)
                    }
                }
                *left -= 1;
            }
            Step::Forget(gone) => {
                let Some(path) = gone.get(next) else { return false };
                self.trees.forget_file(path, watch, cx);
                self.mark_all_dirty();
                *left -= 1;
            }
        }
        true
    }
}

impl IdentityBatches {
    pub(crate) fn begin_batches(
        &mut self,
        seen: Vec<SeenFile>,
        identities: Identities,
        seen_now: BTreeMap<MirrorPath, Stamp>,
        now: Timestamp,
    ) {
        let (step, at_once) = (Step::Follow, now);
        let telling = IdentityBatch { seen, identities, seen_now, at_once, step, at: 0, scan: None };
        self.now = Some(Box::new(telling));
    }
}
