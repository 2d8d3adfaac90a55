//! Memory that a burst of work took, and that the allocator keeps for the next one, is given back to the system.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

/// From one time to the next.
const AT_LEAST: Duration = Duration::from_secs(20);
/// Growth in bytes that is worth it. What a quiet minute takes is used again in the next one.
const GROWTH: usize = 4 << 20;

#[derive(Default)]
pub(super) struct Memory {
    last: Option<(Instant, JoinHandle<Option<usize>>)>,
    /// The resident memory, in bytes, after the last time.
    rests_at: usize,
}

impl Memory {
    /// Gives memory back beside the loop if the process has grown since the last time. For a moment when nothing is
    /// under way: the allocator is locked meanwhile.
    pub(super) async fn give_back_if_grown(&mut self) {
        match self.last.take() {
            Some((begun, run)) if !run.is_finished() || begun.elapsed() < AT_LEAST => {
                self.last = Some((begun, run));
                return;
            }
            Some((_, run)) => self.rests_at = run.await.ok().flatten().unwrap_or(usize::MAX),
            None => {}
        }
        if resident().is_some_and(|now| now.saturating_sub(self.rests_at) >= GROWTH) {
            let run = tokio::task::spawn_blocking(|| {
                trim();
                resident()
            });
            self.last = Some((Instant::now(), run));
        }
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
    let is_less = unsafe { libc::malloc_trim(0) } == 1;
    tracing::trace!(is_less, "memory is given back");
}

/// The allocators of other systems give memory back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}
