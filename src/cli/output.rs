//! How things are said to people: counts, sizes, times, colour. It prints nothing itself.
//!
//! Colour is written freely and taken out again by `anstream` where it does not belong (pipes, `NO_COLOR`), so callers never
//! ask whether there may be colour. `--json` output passes through [`json`] alone.

use std::io;

use anstyle::{AnsiColor, Style};

use super::here;
use crate::model::{Attention, Level, MirrorPath};

/// All is well.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Something waits or deserves a look. Not yellow, which vanishes on a white terminal.
pub const ODD: Style = AnsiColor::Magenta.on_default();
/// Something is wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Beside the point.
pub const DIM: Style = Style::new().dimmed();
/// The name of a thing.
pub const NAME: Style = Style::new().bold();

/// `text` in `style`; what a terminal could take for a command in it is escaped.
#[must_use]
pub fn paint(style: Style, text: &str) -> String {
    format!("{style}{}{style:#}", crate::logging::escape(text))
}

/// A path of the mirror as a name, from where the user stands.
#[must_use]
pub fn name(path: &MirrorPath) -> String {
    paint(NAME, &here::shown(path.as_str()))
}

/// Writes a value for programs, as indented JSON. No terminal that shows it takes a title in it for a command.
///
/// # Errors
/// When `out` takes no more.
pub fn json(out: &mut dyn io::Write, value: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = crate::logging::escape_json(serde_json::to_string_pretty(value)?);
    Ok(writeln!(out, "{text}")?)
}

/// Whether what is written to stdout keeps its colours.
#[must_use]
pub fn paints() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// How many columns the terminal behind stdout has; `None` where there is none.
#[must_use]
pub fn terminal_columns() -> Option<usize> {
    columns_of(io::stdout())
}

/// How many columns a terminal has; `None` where it is none.
#[must_use]
pub fn columns_of(terminal: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// How many columns a text takes in a terminal, near enough: emoji and East Asian characters take two.
#[must_use]
pub fn columns(text: &str) -> usize {
    let wide = |c| {
        matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f000}'..='\u{3fffd}')
    };
    let none = |c| matches!(c, '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}');
    text.chars()
        .map(|c| match c {
            // Makes an emoji of what stands before it.
            '\u{fe0f}' => 1,
            c if none(c) => 0,
            c if wide(c) => 2,
            _ => 1,
        })
        .sum()
}

/// A text in lines of at most `width` columns; a word that is longer stays whole.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let full = lines
            .last()
            .is_some_and(|line| !line.is_empty() && columns(line).saturating_add(1 + columns(word)) > width);
        if full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// A path in at most this many columns: what is too long loses its beginning, whole names first, for a person knows a
/// file by its end.
#[must_use]
pub fn shortened(path: &str, most: usize) -> String {
    if columns(path) <= most {
        return path.to_owned();
    }
    let fits = |tail: &&str| columns(tail) < most;
    let names = path.match_indices('/').map(|(at, _)| &path[at..]);
    let letters = path.char_indices().map(|(at, _)| &path[at..]);
    let tail = names.into_iter().find(fits).or_else(|| letters.into_iter().find(fits)).unwrap_or_default();
    format!("…{tail}")
}

/// A word that a shell takes as it stands.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// A number with its word: `1 page`, `1,204 pages`.
#[must_use]
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// A number with its digits in groups of three: `1,204`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size in decimal units, as the service counts: `512 bytes`, `1.2 kB`, `3 MB`. Rounded down, so that a file over a
/// limit never looks as if it met it by less than it does.
#[must_use]
pub fn bytes(size: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let Some((unit, name)) = UNITS.into_iter().find(|(unit, _)| size >= *unit) else {
        return count(size, "byte", "bytes");
    };
    let (whole, tenth) = (size / unit, size % unit * 10 / unit);
    if whole >= 10 || tenth == 0 { format!("{whole} {name}") } else { format!("{whole}.{tenth} {name}") }
}

/// A stretch of time in its two largest units: `850 ms`, `42 s`, `3 min`, `1 h 20 min`, `2 d 3 h`. Negative is zero.
#[must_use]
pub fn duration(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    let pair = |unit: i64, name: &str, part: i64, part_name: &str| {
        let (whole, rest) = (seconds / unit, seconds % unit / part);
        if rest == 0 { format!("{whole} {name}") } else { format!("{whole} {name} {rest} {part_name}") }
    };
    match seconds {
        0 => format!("{} ms", ms.max(0)),
        1..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => pair(3_600, "h", 60, "min"),
        _ => pair(86_400, "d", 3_600, "h"),
    }
}

/// How long ago something was: `just now`, `3 min ago`, `2 d ago`. The clock may have been set back since: that is now.
#[must_use]
pub fn ago(ms: i64) -> String {
    match ms {
        ..5_000 => "just now".to_owned(),
        _ => format!("{} ago", largest(ms)),
    }
}

/// When something will be: `now`, `in 20 s`, `in 3 min`.
#[must_use]
pub fn until(ms: i64) -> String {
    match ms {
        ..1_000 => "now".to_owned(),
        _ => format!("in {}", largest(ms)),
    }
}

/// The largest unit alone; who reads `2 d ago` does not want the minutes.
fn largest(ms: i64) -> String {
    match ms / 1_000 {
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// The sign before something that concerns the user.
#[must_use]
pub fn mark(level: Level) -> String {
    match level {
        Level::Act => paint(ODD.bold(), "!").to_string(),
        Level::Waiting => paint(DIM, "…").to_string(),
        Level::Note => paint(DIM, "·").to_string(),
    }
}

/// What needs a person, as three lines: where, why, and what mends it.
///
/// # Errors
/// When `out` takes no more.
pub fn need(out: &mut dyn io::Write, level: Level, place: &str, why: &str, mend: &str) -> io::Result<()> {
    let place = here::shown(place);
    let width = terminal_columns().unwrap_or(usize::MAX).saturating_sub(4);
    writeln!(out, "{} {}", mark(level), paint(NAME, &place))?;
    for line in wrap(&crate::logging::escape(&crate::logging::without_numbers(why)), width) {
        writeln!(out, "    {line}")?;
    }
    for line in wrap(mend, width) {
        writeln!(out, "    {}", paint(DIM, &line))?;
    }
    Ok(())
}

/// Writes a sentence, in a terminal in lines that it does not have to break.
///
/// # Errors
/// When `out` takes no more.
pub fn say(out: &mut dyn io::Write, text: &str) -> io::Result<()> {
    let lines = wrap(text, terminal_columns().unwrap_or(usize::MAX));
    lines.into_iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// How many things need a person: `1 thing needs attention`.
#[must_use]
pub fn needs(number: usize) -> String {
    match number {
        1 => "1 thing needs attention".to_owned(),
        _ => format!("{} things need attention", grouped(number as u64)),
    }
}

/// What is said of acts. They end whether or not anybody reads along: the first error is kept until then, and what would
/// be written after it is let go.
#[derive(Debug)]
pub struct Words<W> {
    out: W,
    error: Option<io::Error>,
}

impl<W: io::Write> Words<W> {
    /// Words to `out`.
    pub fn to(out: W) -> Self {
        Self { out, error: None }
    }

    /// How it ended: what was done, unless it could not be told. A reader who has seen enough is no error.
    ///
    /// # Errors
    /// The error of the acts themselves, else of the telling.
    pub fn end<T>(self, acts: anyhow::Result<T>) -> anyhow::Result<T> {
        let done = acts?;
        match self.error {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(anyhow::Error::new(error).context("it is done, but the output failed"))
            }
            _ => Ok(done),
        }
    }
}

impl<W: io::Write> io::Write for Words<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.error.is_some() {
            return Ok(bytes.len());
        }
        match self.out.write(bytes) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.error = Some(error);
                Ok(bytes.len())
            }
            other => other,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.error.is_none() {
            self.error = self.out.flush().err();
        }
        Ok(())
    }
}

/// Whether an error only says that the reader of a pipe has seen enough (`espejo list | head`), which is success.
#[must_use]
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// What concerns the user, for programs.
#[must_use]
pub fn attention_json(item: &Attention) -> serde_json::Value {
    serde_json::json!({
        "path": item.path, "reason": item.reason, "action": item.action,
        "code": item.code.name(), "level": item.level().name(),
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn numbers_carry_their_words() {
        for (number, text) in
            [(0, "0 pages"), (1, "1 page"), (2, "2 pages"), (999, "999 pages"), (1_000, "1,000 pages")]
        {
            assert_eq!(count(number, "page", "pages"), text);
        }
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn sizes_are_short_and_never_rounded_up() {
        for (size, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1_000, "1 kB"),
            (1_299, "1.2 kB"),
            (3_000_000, "3 MB"),
            (3_999_999, "3.9 MB"),
            (19_999_999, "19 MB"),
            (u64::MAX, "18446744 TB"),
        ] {
            assert_eq!(bytes(size), text);
        }
    }

    #[test]
    fn times_are_said_as_people_say_them() {
        const S: i64 = 1_000;
        for (ms, span, past, future) in [
            (i64::MIN, "0 ms", "just now", "now"),
            (-5, "0 ms", "just now", "now"),
            (850, "850 ms", "just now", "now"),
            (4_999, "4 s", "just now", "in 4 s"),
            (42 * S, "42 s", "42 s ago", "in 42 s"),
            (60 * S, "1 min", "1 min ago", "in 1 min"),
            (239 * S, "3 min", "3 min ago", "in 3 min"),
            (3_600 * S, "1 h", "1 h ago", "in 1 h"),
            (4_800 * S, "1 h 20 min", "1 h ago", "in 1 h"),
            (47 * 3_600 * S, "1 d 23 h", "47 h ago", "in 47 h"),
            (51 * 3_600 * S, "2 d 3 h", "2 d ago", "in 2 d"),
        ] {
            assert_eq!((duration(ms), ago(ms), until(ms)), (span.into(), past.into(), future.into()), "{ms}");
        }
        assert!(duration(i64::MAX).contains(" d "));
    }

    #[test]
    fn long_paths_lose_their_beginning() {
        for (path, most, expected) in [
            ("a/b.md", 6, "a/b.md"),
            ("one/two/three.md", 15, "…/two/three.md"),
            ("one/two/three.md", 13, "…/three.md"),
            ("one/two/three.md", 8, "…hree.md"),
            ("one/two/ñ🚲.md", 9, "…/ñ🚲.md"),
            ("one/two/ñ🚲.md", 7, "…ñ🚲.md"),
            ("x", 0, "…"),
        ] {
            let short = shortened(path, most);
            assert_eq!(short, expected, "{path} {most}");
            assert!(columns(&short) <= most.max(1), "{short}");
        }
        for (text, width) in [("", 0), ("mayo ☀️", 7), ("cafe\u{301}", 4), ("日本", 4), ("🚲", 2)] {
            assert_eq!(columns(text), width, "{text}");
        }
    }

    #[test]
    fn shell_words_come_through_a_shell_as_they_were() {
        for word in [
            "plain.md",
            "/a/b-c",
            "",
            "two words",
            "it's",
            "$(x)",
            "`x`",
            "a\\b",
            "ñ.md",
            "~",
            "-rf",
            "#",
            "a\nb",
        ] {
            let line = format!("printf %s {}", shell_word(word));
            let told = std::process::Command::new("sh").arg("-c").arg(&line).output().unwrap();
            assert_eq!(String::from_utf8(told.stdout).unwrap(), word, "{line}");
        }
    }

    #[test]
    fn a_title_cannot_colour_or_clear_the_screen() {
        assert_eq!(paint(NAME, "a\u{1b}[2Jb"), "\u{1b}[1ma\\u{1b}[2Jb\u{1b}[0m");
        let mut piped = anstream::StripStream::new(Vec::new());
        io::Write::write_all(&mut piped, paint(BAD, "gone").as_bytes()).unwrap();
        assert_eq!(piped.into_inner(), b"gone");
    }

    #[test]
    fn json_for_programs_keeps_each_value_and_shows_no_command() {
        let title =
            "\u{7f}\u{9b}2J\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}\u{feff} ñ 👩\u{200d}🚀 \\u0041 \"\n\u{1b}";
        let mut out = Vec::new();
        json(&mut out, &serde_json::json!({ title: [title] })).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text.split('"').nth(1).unwrap().split(' ').next().unwrap(),
            r"\u007f\u009b2J\u202e\u2066\u200f\u061c\u2028\ufeff"
        );
        assert!(text.contains("ñ 👩\u{200d}🚀"), "{text}");
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read, serde_json::json!({ title: [title] }));
    }

    #[test]
    fn a_closed_pipe_is_found_below_its_context() {
        let broken =
            |kind| Err::<(), _>(io::Error::from(kind)).context("writing").context("list").unwrap_err();
        assert!(is_closed_pipe(&broken(io::ErrorKind::BrokenPipe)));
        assert!(!is_closed_pipe(&broken(io::ErrorKind::StorageFull)));
    }

    /// Takes one line, and then fails in one way for ever.
    struct Full(bool, io::ErrorKind);

    impl io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.0, true) { Err(self.1.into()) } else { Ok(bytes.len()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn acts_end_before_an_error_of_the_output_counts() {
        use io::Write;
        let told = |kind, acts: anyhow::Result<u8>| {
            let mut words = Words::to(Full(false, kind));
            for _ in 0..3 {
                writeln!(words, "done").unwrap();
            }
            words.end(acts)
        };
        assert_eq!(told(io::ErrorKind::BrokenPipe, Ok(3)).unwrap(), 3);
        let error = told(io::ErrorKind::StorageFull, Ok(3)).unwrap_err();
        assert!(error.to_string().contains("but the output failed"), "{error:#}");
        let error = told(io::ErrorKind::StorageFull, Err(anyhow::anyhow!("not done"))).unwrap_err();
        assert_eq!(error.to_string(), "not done");
    }
}
