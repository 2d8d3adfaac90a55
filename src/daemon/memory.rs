//! Memory that a burst of work took, and that the allocator keeps for the next one, is given back to the system.

use std::time::Duration;

use tokio::time::Instant;

use crate::engine::{Engine, pack};

/// From one time to the next.
const AT_LEAST: Duration = Duration::from_secs(2);
/// Growth in bytes that is worth it: a call takes about a millisecond.
const GROWTH: usize = 1 << 20;
/// Growth in bytes that stays, after which the engine's maps are built anew.
const BURST: usize = 4 << 20;

#[derive(Debug, Default)]
pub(super) struct Memory {
    looked: Option<Instant>,
    /// The resident memory, in bytes, after the last time.
    rests_at: usize,
    /// The least of it since the engine's maps were built anew.
    packed_at: usize,
    /// The process had grown by the last time, or much came back then. What was in use at that moment may be free by now,
    /// and is no growth.
    comes_more: bool,
}

impl Memory {
    /// Gives memory back if the process has grown since the last time, and once more after that, also while something
    /// is under way: after a burst requests may be under way for hours. The allocator is locked meanwhile.
    pub(super) fn give_back_if_grown(&mut self, engine: &mut Engine) {
        if self.looked.is_some_and(|at| at.elapsed() < AT_LEAST) {
            return;
        }
        self.looked = Some(Instant::now());
        let Some(before) = resident() else { return };
        let growth = before.saturating_sub(self.rests_at);
        if growth < GROWTH && !self.comes_more {
            return;
        }
        let begun = Instant::now();
        trim();
        self.rests_at = resident().unwrap_or(before);
        self.packed_at = self.packed_at.min(self.rests_at);
        if self.rests_at - self.packed_at >= BURST {
            pack(engine);
            trim();
            self.rests_at = resident().unwrap_or(before);
            self.packed_at = self.rests_at;
        }
        let back = before.saturating_sub(self.rests_at);
        self.comes_more = growth >= GROWTH || back >= GROWTH;
        let took = begun.elapsed().as_millis();
        tracing::debug!("{} KiB of memory are given back in {took} ms", back >> 10);
    }
}

/// The resident memory of this process in bytes; `None` where the system has no `/proc`.
fn resident() -> Option<usize> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = pages.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size())
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the only way to tell glibc; the standard library has none")]
fn trim() {
    // SAFETY: malloc_trim takes no pointer and may be called from any thread at any time (malloc_trim(3): MT-Safe).
    unsafe { libc::malloc_trim(0) };
}

/// The allocators of other systems give memory back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}
