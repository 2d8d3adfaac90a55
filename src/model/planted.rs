//! Bugs that can be planted in the deciding parts, to verify that the tests find them. Without the feature `planted`
//! there are none, and the compiler removes these checks. `docs/testing.md` says where they are listed.

/// Whether the bug of this name is planted in this thread.
#[cfg(not(feature = "planted"))]
#[must_use]
#[inline(always)]
pub const fn planted(_bug: &str) -> bool {
    false
}

#[cfg(feature = "planted")]
thread_local! {
    static PLANTED: std::cell::Cell<&'static str> = const { std::cell::Cell::new("") };
}

/// Whether the bug of this name is planted in this thread.
#[cfg(feature = "planted")]
#[must_use]
pub fn planted(bug: &str) -> bool {
    let names = PLANTED.get();
    !names.is_empty() && names.split('+').any(|name| name == bug)
}

/// Plants bugs in this thread, instead of the earlier ones: one name, or several joined by `+`; `""` plants none.
#[cfg(feature = "planted")]
pub fn plant(bug: &'static str) {
    PLANTED.set(bug);
}
