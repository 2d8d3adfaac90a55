//! Moments as people write and read them, in the time zone of the machine.

use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, civil};

use crate::model::Timestamp;

/// How times may be written, for refusals.
pub const EXAMPLES: &str = "14:30, yesterday, 2026-05-31, \"2026-05-31 14:30\" or 2h";

/// A moment in the past that a person wrote: `14:30` (today, or yesterday when that is still to come), `2026-05-31` (the
/// end of that day), `2026-05-31 14:30`, with a zone `2026-05-31T14:30:00Z`, or how long ago: `2h`, `3 days ago`, or
/// a word: `now`, `today`, `yesterday`.
#[must_use]
pub fn parse(text: &str, now: Timestamp) -> Option<Timestamp> {
    Some(parse_in(text, now, &TimeZone::system())?.last)
}

/// As [`parse`], but the beginning of the day, minute or second that was written: for what happened since then.
#[must_use]
pub fn parse_since(text: &str, now: Timestamp) -> Option<Timestamp> {
    Some(parse_in(text, now, &TimeZone::system())?.first)
}

/// The first and the last millisecond that a person may mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Meant {
    first: Timestamp,
    last: Timestamp,
}

fn parse_in(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Meant> {
    let text = text.trim();
    let here = jiff::Timestamp::from_millisecond(now.0).ok()?.to_zoned(zone.clone());
    let told = |first: &jiff::Zoned, last: &jiff::Zoned| {
        let at = |zoned: &jiff::Zoned| Timestamp(zoned.timestamp().as_millisecond());
        Some(Meant { first: at(first), last: at(last) })
    };
    let moment = |at: Timestamp| Meant { first: at, last: at };
    let day = |date: civil::Date| {
        let first = date.to_zoned(zone.clone()).ok()?;
        let last = date.tomorrow().ok()?.to_zoned(zone.clone()).ok()?;
        told(&first, &last.saturating_sub(Span::new().milliseconds(1)))
    };
    match text.to_lowercase().as_str() {
        "now" => return Some(moment(now)),
        "today" => return day(here.date()),
        "yesterday" => return day(here.date().yesterday().ok()?),
        _ => {}
    }
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        let first = Timestamp(at.as_millisecond());
        // A second is meant to its end, as history lists versions by it.
        let last = if text.contains('.') { first } else { first.plus_ms(999) };
        return Some(Meant { first, last });
    }
    // Before the time alone, which jiff reads out of a text with a date too.
    if let Ok(at) = text.parse::<civil::DateTime>() {
        if !text.contains([':', 'T', 't', ' ']) {
            return day(at.date());
        }
        let first = at.to_zoned(zone.clone()).ok()?;
        return told(&first, &first.saturating_add(rest_of(text)));
    }
    // A bare number is no hour: it was meant as the number of a version.
    if text.contains(':')
        && let Ok(time) = text.parse::<civil::Time>()
    {
        let today = here.date().to_datetime(time).to_zoned(zone.clone()).ok()?;
        let past = if today > here { here.yesterday().ok()?.with().time(time).build().ok()? } else { today };
        // A minute is meant to its end, as a day is.
        return told(&past, &past.saturating_add(rest_of(text)));
    }
    let span: Span = text.parse().ok()?;
    let ago = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?.unsigned_abs();
    Some(moment(now.plus_ms(-i64::try_from(ago.as_millis()).ok()?)))
}

/// What is left of the minute or second that was written.
fn rest_of(text: &str) -> Span {
    let ms = if text.contains('.') {
        0
    } else if text.matches(':').count() >= 2 {
        999
    } else {
        59_999
    };
    Span::new().milliseconds(ms)
}

/// A moment as text that sorts and that every program reads.
#[must_use]
pub fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}

/// A moment as people read it here: `2026-05-31 14:30:05`.
#[must_use]
pub fn local(at: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    moment.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A moment of today: `14:30:05`.
#[must_use]
pub fn time_of_day(at: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    moment.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_understood_as_people_write_them() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let at = |text: &str| Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond());
        let now = at("2026-05-31T12:00:00Z");
        for (text, expected) in [
            ("2026-05-31T10:30:00Z", Some("2026-05-31T10:30:00.999Z")),
            ("2026-05-31T10:30:00.5Z", Some("2026-05-31T10:30:00.500Z")),
            ("2026-05-31 10:30", Some("2026-05-31T08:30:59.999Z")),
            ("2026-05-31 10:30:07", Some("2026-05-31T08:30:07.999Z")),
            ("2026-05-30", Some("2026-05-30T21:59:59.999Z")),
            ("2026-05-28 14:30", Some("2026-05-28T12:30:59.999Z")),
            ("2026-05-28T14:30", Some("2026-05-28T12:30:59.999Z")),
            ("2026-05-28 14:30:07", Some("2026-05-28T12:30:07.999Z")),
            ("2025-12-31 23:59", Some("2025-12-31T21:59:59.999Z")),
            ("10:30", Some("2026-05-31T08:30:59.999Z")),
            ("23:15", Some("2026-05-30T21:15:59.999Z")),
            ("2h", Some("2026-05-31T10:00:00Z")),
            ("90 minutes ago", Some("2026-05-31T10:30:00Z")),
            ("3 days", Some("2026-05-28T12:00:00Z")),
            ("2 weeks ago", Some("2026-05-17T12:00:00Z")),
            ("now", Some("2026-05-31T12:00:00Z")),
            ("Yesterday", Some("2026-05-30T21:59:59.999Z")),
            ("tomorrow-ish", None),
            ("", None),
            ("25:00", None),
            ("12", None),
            ("1430", None),
            ("2026", None),
        ] {
            assert_eq!(parse_in(text, now, &zone).map(|meant| meant.last), expected.map(at), "{text}");
        }
    }

    #[test]
    fn what_happened_since_then_is_counted_from_the_beginning() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let at = |text: &str| Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond());
        let now = at("2026-05-31T12:00:00Z");
        for (text, expected) in [
            ("2026-05-31T10:30:00Z", "2026-05-31T10:30:00Z"),
            ("2026-05-28 14:30", "2026-05-28T12:30:00Z"),
            ("2026-05-28 14:30:07", "2026-05-28T12:30:07Z"),
            ("2026-05-30", "2026-05-29T22:00:00Z"),
            ("10:30", "2026-05-31T08:30:00Z"),
            ("23:15", "2026-05-30T21:15:00Z"),
            ("2h", "2026-05-31T10:00:00Z"),
            ("today", "2026-05-30T22:00:00Z"),
            ("yesterday", "2026-05-29T22:00:00Z"),
        ] {
            assert_eq!(parse_in(text, now, &zone).map(|meant| meant.first), Some(at(expected)), "{text}");
        }
    }
}
