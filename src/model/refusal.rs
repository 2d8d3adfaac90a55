//! Requests that the service refused, and when they are tried again. One rule for pages, new files, canvases and
//! stored files.
//!
//! No refusal is final. It ends when the state that it depends on changes; the item's owner reports that. Otherwise
//! the request is tried again at a stated time, in each full pass, and after a restart. Guards, conflicts and
//! unreadable files are no refusals: a user or a change ends them.

use super::{Schedule, ServiceError, Timestamp};

/// The subject of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalClass {
    /// The service is in trouble: 5xx, an answer that cannot be parsed.
    Transient,
    /// The place must not be changed: frozen, plan, scope, role.
    Place,
    /// This content, or this request as it is.
    Content,
}

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;

impl RefusalClass {
    /// The class of this error. A 404 to a write is about the item itself.
    #[must_use]
    pub fn of(error: &ServiceError) -> Self {
        match error {
            ServiceError::Forbidden(_) | ServiceError::Unauthorized(_) => Self::Place,
            ServiceError::Rejected { .. } | ServiceError::NotEditable(_) | ServiceError::NotFound(_) => {
                Self::Content
            }
            _ => Self::Transient,
        }
    }

    const fn schedule(self) -> Schedule {
        match self {
            Self::Transient => Schedule::new(8 * SECOND, 5 * MINUTE),
            Self::Place => Schedule::new(10 * SECOND, 5 * MINUTE),
            Self::Content => Schedule::new(MINUTE, 60 * MINUTE),
        }
    }

    /// Its name in the state.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Place => "place",
            Self::Content => "content",
        }
    }

    /// The class of this name; an unknown name means [`RefusalClass::Content`].
    #[must_use]
    pub fn named(name: &str) -> Self {
        let all = [Self::Transient, Self::Place];
        all.into_iter().find(|class| class.name() == name).unwrap_or(Self::Content)
    }
}

/// A request that the service refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its subject.
    pub class: RefusalClass,
    /// The reason, for users: no decision depends on it.
    pub said: String,
    /// The time of the first refusal.
    pub since: Timestamp,
    /// The number of refusals in a row.
    pub tries: u32,
    /// The time of the next try; [`Refusal::NEVER`] if only a full pass tries again.
    pub retry_at: Timestamp,
}

impl Refusal {
    /// No retry time.
    pub const NEVER: Timestamp = Timestamp(i64::MAX);

    /// A refusal at `now`; `before` is the last refusal of the same request, if there was one.
    #[must_use]
    pub fn new(class: RefusalClass, said: String, before: Option<&Self>, now: Timestamp) -> Self {
        let before = before.filter(|before| before.class == class);
        let tries = before.map_or(0, |before| before.tries).saturating_add(1);
        Self {
            class,
            said,
            since: before.map_or(now, |before| before.since),
            tries,
            retry_at: now.plus_ms(class.schedule().wait_ms(tries)),
        }
    }

    /// A refusal from an earlier run: due at once.
    #[must_use]
    pub fn kept(class: RefusalClass, said: String, since: Timestamp) -> Self {
        Self { class, said, since, tries: 0, retry_at: Timestamp(0) }
    }

    /// Whether the retry time is in the future.
    #[must_use]
    pub fn rests(&self, now: Timestamp) -> bool {
        self.retry_at > now
    }

    /// Sets the retry time to `now`, unless it is earlier.
    pub fn try_at(&mut self, now: Timestamp) {
        self.retry_at = self.retry_at.min(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_states_its_next_try_and_waits_longer_up_to_a_limit() {
        let now = Timestamp(1_000);
        let mut last: Option<Refusal> = None;
        let mut waits = Vec::new();
        for _ in 0..9 {
            let next = Refusal::new(RefusalClass::Content, "no".into(), last.as_ref(), now);
            assert!(next.rests(now) && next.since == now);
            waits.push(next.retry_at.since_ms(now) / MINUTE);
            last = Some(next);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        // Another class starts a new count.
        let other = Refusal::new(RefusalClass::Transient, "500".into(), last.as_ref(), now);
        assert_eq!((other.tries, other.retry_at.since_ms(now)), (1, 8_000));
    }

    #[test]
    fn what_an_earlier_run_left_is_due_and_classes_keep_their_names() {
        for class in [RefusalClass::Transient, RefusalClass::Place, RefusalClass::Content] {
            assert_eq!(RefusalClass::named(class.name()), class);
            assert!(!Refusal::kept(class, String::new(), Timestamp(9)).rests(Timestamp(1)));
        }
    }

    #[test]
    fn a_status_says_what_was_refused() {
        let rejected = |status| ServiceError::Rejected { status, message: String::new() };
        let server = ServiceError::Server { status: 503, message: String::new() };
        for (error, class) in [
            (rejected(400), RefusalClass::Content),
            (rejected(413), RefusalClass::Content),
            (ServiceError::NotFound(String::new()), RefusalClass::Content),
            (ServiceError::Forbidden(String::new()), RefusalClass::Place),
            (server, RefusalClass::Transient),
            (ServiceError::Garbled(String::new()), RefusalClass::Transient),
            (ServiceError::Lost(String::new()), RefusalClass::Transient),
        ] {
            assert_eq!(RefusalClass::of(&error), class, "{error}");
        }
    }
}
