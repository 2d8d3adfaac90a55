//! A panic in a pure step: a fault of espejo that concerns one item. The item waits, and the others go on.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// A pure step panicked. The panic hook has told the place in the source; the payload may quote a user's text and is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a fault of espejo")]
pub struct Fault;

/// Carries out a pure step. What it captures must be whole after a panic: values that the step only reads, and generators of
/// ids.
///
/// # Errors
/// [`Fault`] when the step panics.
pub fn guarded<T>(step: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(step)).map_err(|payload| {
        drop(payload);
        Fault
    })
}

/// Which side of an item a step failed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Its file was read.
    File,
    /// What the service has was read, merged, or made into the file's text.
    Service,
}

impl Side {
    /// The message for the user.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::File => "a fault of espejo while it read this file; the file and the page stay as they are",
            Self::Service => {
                "a fault of espejo while it read what the service has; the file and the page stay as they are"
            }
        }
    }
}

/// With the feature `planted`, the step of this name fails for every text that says so (`fault in NAME`).
#[cfg(feature = "planted")]
pub fn planted_fault(step: &str, text: &dyn Fn() -> String) {
    assert!(!text().contains(&format!("fault in {step}.")), "planted");
}

/// Nothing: the program has no planted faults.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub fn planted_fault(_step: &str, _text: &dyn Fn() -> String) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_fault_and_nothing_else_is() {
        assert_eq!(guarded(|| 3), Ok(3));
        let text = "é";
        assert_eq!(guarded(|| text[text.len() - 1..].len()), Err(Fault));
    }
}
