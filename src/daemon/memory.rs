//! Memory that a burst of work took, and that the allocator keeps for the next one, is given back to the system.

use std::time::Duration;

use tokio::time::Instant;

use crate::engine::{Engine, pack};

/// From one time to the next.
const AT_LEAST: Duration = Duration::from_secs(2);
/// Free memory in bytes that is worth it: a call takes about a millisecond.
const FREED: usize = 2 << 20;
/// The engine's maps are built anew if so many bytes more or less are resident than when that was last done: what grew has
/// nodes a third empty, and what was built during a burst lies scattered among what it took.
const BURST: usize = 4 << 20;

#[derive(Debug, Default)]
pub(super) struct Memory {
    looked: Option<Instant>,
    /// The least that was resident and not in use, in bytes, since the last time.
    slack: usize,
    /// The resident memory, in bytes, after the engine's maps were built anew.
    packed_at: usize,
}

impl Memory {
    /// Gives memory back if more of it is free than after the last time, also while something is under way: after a burst
    /// requests may be under way for hours. The allocator is locked meanwhile.
    pub(super) fn give_back_if_freed(&mut self, engine: &mut Engine) {
        if self.looked.is_some_and(|at| at.elapsed() < AT_LEAST) {
            return;
        }
        self.looked = Some(Instant::now());
        let Some(before) = resident() else { return };
        // What was in use at the last time may have become free without any growth.
        let slack = before.saturating_sub(in_use());
        self.slack = self.slack.min(slack);
        if slack < self.slack + FREED {
            return;
        }
        let begun = Instant::now();
        trim();
        let mut now = resident().unwrap_or(before);
        if now.abs_diff(self.packed_at) >= BURST {
            pack(engine);
            trim();
            now = resident().unwrap_or(before);
            self.packed_at = now;
        }
        self.slack = now.saturating_sub(in_use());
        let took = begun.elapsed().as_millis();
        tracing::debug!("{} KiB of memory are given back in {took} ms", before.saturating_sub(now) >> 10);
    }
}

/// The resident memory of this process in bytes; `None` where the system has no `/proc`.
fn resident() -> Option<usize> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = pages.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size())
}

/// What the allocator has given out, in bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the only way to ask glibc; the standard library has none")]
fn in_use() -> usize {
    // SAFETY: mallinfo takes no pointer and locks what it counts. It may not be called beside the first allocation or beside
    // mallopt (mallinfo(3)): the first one was long ago, and nothing here calls mallopt. Its successor with wider numbers is
    // not in every glibc that is in use.
    let told = unsafe { libc::mallinfo() };
    // The numbers are unsigned and wrap.
    (told.uordblks.cast_unsigned() as usize) + (told.hblkhd.cast_unsigned() as usize)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the only way to tell glibc; the standard library has none")]
fn trim() {
    // SAFETY: malloc_trim takes no pointer and may be called from any thread at any time (malloc_trim(3): MT-Safe).
    unsafe { libc::malloc_trim(0) };
}

/// The allocators of other systems give memory back by themselves, and only growth is looked at.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn in_use() -> usize {
    0
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}
