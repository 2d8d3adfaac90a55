//! The log on stderr: which lines, and how each is written.
//!
//! One line per event: control characters are written escaped, so that no title can move the cursor or pretend to be
//! another line. Crates below espejo never log below INFO, whatever `RUST_LOG` says: their finer lines may show addresses
//! with signatures in them. In the journal, lines carry its priorities instead of times, which it adds itself. Programs that
//! read logs get one JSON object a line: `time`, `level`, `target`, `message`, and `fields` where there are any.

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal};

use indicatif::MultiProgress;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// This crate's name as a log target.
const ESPEJO: &str = "espejo";

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// To the journal: `<3>`…`<7>` in front, as sd-daemon(3) has it, and no time.
    Journal,
    /// To a terminal: the time of day, and colour if it may be.
    Terminal {
        /// Whether colour may be used.
        colour: bool,
    },
    /// To anything else: date and time.
    Plain,
    /// For programs: one JSON object a line.
    Json {
        /// Whether the journal takes it: its priority stands in front, and it takes that off again.
        journal: bool,
    },
}

impl Style {
    /// The style for this process's stderr. `env` answers for environment variables.
    #[must_use]
    pub fn of_stderr(env: &dyn Fn(&str) -> Option<String>) -> Self {
        let stderr = io::stderr();
        let identity = rustix::fs::fstat(&stderr).ok().map(|stat| (stat.st_dev, stat.st_ino));
        if identity.is_some() && env("JOURNAL_STREAM").and_then(|text| device_and_inode(&text)) == identity {
            return Self::Journal;
        }
        if stderr.is_terminal() {
            let colour = anstream::AutoStream::choice(&stderr) != anstream::ColorChoice::Never;
            return Self::Terminal { colour };
        }
        Self::Plain
    }

    /// The same for programs instead of people.
    #[must_use]
    pub fn as_json(self) -> Self {
        Self::Json { journal: self == Self::Journal }
    }
}

/// Reads `JOURNAL_STREAM`: device and inode in decimal, joined by a colon (systemd.exec(5)). A child of a service may have
/// the variable and another stderr, which is why it is compared.
fn device_and_inode(text: &str) -> Option<(u64, u64)> {
    let (device, inode) = text.split_once(':')?;
    Some((device.parse().ok()?, inode.parse().ok()?))
}

/// Which lines are written: `-q` and `-v` if given, else `RUST_LOG` if it can be read, else every change to a file or
/// page and all that is worse. The second value is a sentence about a `RUST_LOG` that cannot be read.
#[must_use]
pub fn targets(verbose: u8, quiet: bool, rust_log: Option<&str>) -> (Targets, Option<String>) {
    let levels = |own, others| Targets::new().with_target(ESPEJO, own).with_default(others);
    let chosen = match (quiet, verbose) {
        (true, _) => levels(LevelFilter::ERROR, LevelFilter::ERROR),
        (_, 1) => levels(LevelFilter::DEBUG, LevelFilter::WARN),
        (_, 2..) => levels(LevelFilter::TRACE, LevelFilter::INFO),
        (_, 0) => {
            let usual = levels(LevelFilter::INFO, LevelFilter::WARN);
            let Some(text) = rust_log.filter(|text| !text.trim().is_empty()) else { return (usual, None) };
            return match text.parse() {
                Ok(targets) => (targets, None),
                Err(cause) => {
                    let told = format!(
                        "RUST_LOG is ignored because it cannot be read ({cause}); write it as in espejo=debug"
                    );
                    (usual, Some(told))
                }
            };
        }
    };
    (chosen, None)
}

/// Starts logging for the whole process. Lines appear above `progress`'s bars. Only the first call has an effect, and
/// only it answers `true`.
pub fn start(targets: Targets, style: Style, progress: &MultiProgress) -> bool {
    let subscriber = subscriber(targets, style, now, Above(progress.clone()));
    tracing::subscriber::set_global_default(subscriber).is_ok()
}

fn subscriber<W>(
    targets: Targets,
    style: Style,
    now: fn(Style) -> String,
    writer: W,
) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let careful = filter_fn(|meta| *meta.level() <= Level::INFO || is_own(meta.target()));
    let lines = tracing_subscriber::fmt::layer().event_format(Line { style, now }).with_writer(writer);
    tracing_subscriber::registry().with(lines.with_filter(targets.and(careful)))
}

/// The target of lines about what concerns the user.
pub const ATTENTION: &str = "espejo::attention";

fn is_own(target: &str) -> bool {
    target.strip_prefix(ESPEJO).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn now(style: Style) -> String {
    let format = match style {
        Style::Json { .. } => return format!("{:.3}", jiff::Timestamp::now()),
        Style::Plain => "%Y-%m-%d %H:%M:%S",
        Style::Journal | Style::Terminal { .. } => "%H:%M:%S",
    };
    jiff::Zoned::now().strftime(format).to_string()
}

/// What a person is told when the process ends with an error, as `style` has it, on one line.
#[must_use]
pub fn last_words(style: Style, sentence: &str) -> String {
    last_words_at(style, &without_numbers(sentence), now)
}

/// A sentence without the numbers that the system's errors carry: `(os error 2)` says nothing to a person.
#[must_use]
pub fn without_numbers(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once(" (os error ") {
        out.push_str(before);
        rest = match after.split_once(')') {
            Some((number, after)) if number.bytes().all(|byte| byte.is_ascii_digit()) => after,
            _ => {
                out.push_str(" (os error ");
                after
            }
        };
    }
    out + rest
}

fn last_words_at(style: Style, sentence: &str, now: fn(Style) -> String) -> String {
    let name = ESPEJO;
    match style {
        Style::Journal => format!("<3>{}", escape(sentence)),
        Style::Json { journal } => {
            let prefix = if journal { "<3>" } else { "" };
            format!("{prefix}{}", json(&now(style), Level::ERROR, name, sentence, Map::new()))
        }
        Style::Terminal { .. } | Style::Plain => format!("{name}: {}", escape(sentence)),
    }
}

/// An event as a JSON object on one line.
fn json(time: &str, level: Level, target: &str, message: &str, fields: Map<String, Value>) -> String {
    let mut object = Map::new();
    let level = level.as_str().to_ascii_lowercase();
    for (key, value) in [("time", time), ("level", &level), ("target", target), ("message", message)] {
        object.insert(key.to_owned(), Value::from(value));
    }
    if !fields.is_empty() {
        object.insert("fields".to_owned(), Value::Object(fields));
    }
    escape_json(Value::Object(object).to_string())
}

/// JSON text that says the same and that no terminal takes for a command. Beyond ASCII characters stand only within its
/// strings, where each can be written as its number.
#[must_use]
pub fn escape_json(json: String) -> String {
    let acts = |c: char| {
        c >= '\u{7f}' && (commands(c) || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{feff}'))
    };
    let is_plain = json.is_ascii() && !json.contains('\u{7f}');
    if is_plain || !json.contains(acts) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if acts(c) {
            // All of them are below U+10000; writing to a `String` does not fail.
            let _infallible = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a terminal takes a character for more than a letter: it controls, or turns the direction of text.
fn commands(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// Writes one event as one line.
struct Line {
    style: Style,
    now: fn(Style) -> String,
}

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let level = *event.metadata().level();
        let (word, priority, colour) = match level {
            Level::ERROR => ("error: ", 3, anstyle::AnsiColor::Red),
            // Not yellow, which vanishes on a white terminal.
            Level::WARN => ("warning: ", 4, anstyle::AnsiColor::Magenta),
            Level::INFO => ("", 6, anstyle::AnsiColor::White),
            Level::DEBUG => ("debug: ", 7, anstyle::AnsiColor::BrightBlack),
            Level::TRACE => ("trace: ", 7, anstyle::AnsiColor::BrightBlack),
        };
        if let Style::Json { journal } = self.style {
            if journal {
                write!(out, "<{priority}>")?;
            }
            let mut fields = Typed::default();
            event.record(&mut fields);
            let target = event.metadata().target();
            let line = json(&(self.now)(self.style), level, target, &fields.message, fields.rest);
            return writeln!(out, "{line}");
        }
        match self.style {
            Style::Journal | Style::Json { .. } => write!(out, "<{priority}>")?,
            Style::Plain | Style::Terminal { colour: false } => {
                write!(out, "{} {word}", (self.now)(self.style))?
            }
            Style::Terminal { colour: true } => {
                let dim = anstyle::Style::new().dimmed();
                let tint = anstyle::Style::new().fg_color(Some(colour.into()));
                write!(out, "{dim}{}{dim:#} {tint}{word}{tint:#}", (self.now)(self.style))?;
            }
        }
        if event.metadata().target() == ATTENTION {
            let mut fields = Typed::default();
            event.record(&mut fields);
            return writeln!(out, "{}", escape(&concern(&fields)));
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        // Below INFO the reader is looking for a place in the code; above, for what happened.
        if level > Level::INFO {
            write!(out, "{}: ", event.metadata().target())?;
        }
        writeln!(out, "{}{}", fields.message, fields.rest)
    }
}

/// Something that concerns the user, as a sentence: place, reason, mend and code.
fn concern(fields: &Typed) -> String {
    let field = |name: &str| fields.rest.get(name).and_then(Value::as_str).unwrap_or_default();
    let place = match field("path") {
        "" => String::new(),
        path => format!("{path}: "),
    };
    let mend = match field("action") {
        "" => String::new(),
        action => format!("; {action}"),
    };
    format!("{place}{}{mend} [{}]", fields.message, field("code"))
}

/// An event's message and its other fields, escaped.
#[derive(Default)]
struct Fields {
    message: String,
    rest: String,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.record_debug(field, &format_args!("{value}"));
        } else {
            self.record_debug(field, &value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a `String` does not fail.
        let _infallible = match field.name() {
            "message" => write!(Escaped(&mut self.message), "{value:?}"),
            name => write!(Escaped(&mut self.rest), " {name}={value:?}"),
        };
    }
}

/// An event's message and its other fields, as they are.
#[derive(Default)]
struct Typed {
    message: String,
    rest: Map<String, Value>,
}

impl Typed {
    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            ("message", value) => self.message = value.to_string(),
            (name, value) => {
                self.rest.insert(name.to_owned(), value);
            }
        }
    }
}

impl Visit for Typed {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }
}

/// `text` on one line that no terminal takes for a command.
#[must_use]
pub fn escape(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    // Writing to a `String` does not fail.
    let _infallible = Escaped(&mut out).write_str(text);
    out
}

/// Writes control characters, and those that turn the direction of text, as their escapes.
struct Escaped<'a>(&'a mut String);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if commands(c) {
                self.0.extend(c.escape_default());
            } else {
                self.0.push(c);
            }
        }
        Ok(())
    }
}

/// Stderr, with progress bars taken away while a line is written.
struct Above(MultiProgress);

impl<'w> MakeWriter<'w> for Above {
    type Writer = AboveWriter<'w>;

    fn make_writer(&'w self) -> Self::Writer {
        AboveWriter(&self.0)
    }
}

struct AboveWriter<'w>(&'w MultiProgress);

impl io::Write for AboveWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.suspend(|| io::stderr().lock().write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(targets: Targets, style: Style, act: impl FnOnce()) -> String {
        let page = Page::default();
        let pen = page.clone();
        let subscriber = subscriber(targets, style, |_| "12:00:00".to_owned(), move || pen.clone());
        tracing::subscriber::with_default(subscriber, act);
        let bytes = page.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    fn everything() -> Targets {
        Targets::new().with_default(LevelFilter::TRACE)
    }

    fn five_levels() {
        tracing::error!(target: "espejo::x", "broken");
        tracing::warn!(target: "espejo::x", "odd");
        tracing::info!(target: "espejo::x", path = %"a b.md", blocks = 3, "pushed");
        tracing::debug!(target: "espejo::x", "looked");
        tracing::trace!(target: "espejo::x", "ticked");
    }

    #[test]
    fn lines_suit_their_reader() {
        let plain = "12:00:00 error: broken\n12:00:00 warning: odd\n12:00:00 pushed path=a b.md blocks=3\n\
                     12:00:00 debug: espejo::x: looked\n12:00:00 trace: espejo::x: ticked\n";
        assert_eq!(written(everything(), Style::Plain, five_levels), plain);
        assert_eq!(written(everything(), Style::Terminal { colour: false }, five_levels), plain);
        assert_eq!(
            written(everything(), Style::Journal, five_levels),
            "<3>broken\n<4>odd\n<6>pushed path=a b.md blocks=3\n<7>espejo::x: looked\n<7>espejo::x: ticked\n"
        );
        let coloured = written(everything(), Style::Terminal { colour: true }, five_levels);
        assert!(coloured.contains("\u{1b}[31merror: \u{1b}[0m"), "{coloured:?}");
    }

    #[test]
    fn what_concerns_the_user_is_a_sentence_for_people_and_fields_for_programs() {
        let act = || {
            let path = "Equipo/Pages/a.md";
            tracing::error!(target: ATTENTION, code = "not-sent", path, action = "repair it", "not sent: it is empty");
            tracing::info!(target: ATTENTION, code = "not-sent", path = "", over = true, "over: not sent");
        };
        assert_eq!(
            written(everything(), Style::Plain, act),
            "12:00:00 error: Equipo/Pages/a.md: not sent: it is empty; repair it [not-sent]\n\
             12:00:00 over: not sent [not-sent]\n"
        );
        let json = written(everything(), Style::Json { journal: false }, act);
        let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&lines[0]["code"], &lines[0]["path"]), (&"not-sent".into(), &"Equipo/Pages/a.md".into()));
        assert_eq!((&lines[0]["action"], &lines[1]["over"]), (&"repair it".into(), &true.into()));
    }

    #[test]
    fn no_value_makes_a_second_line_or_moves_the_cursor() {
        let title = "a\n<3>fake\u{1b}[2J\u{202e}\u{7}";
        for style in [Style::Journal, Style::Plain, Style::Terminal { colour: false }] {
            let text = written(everything(), style, || {
                tracing::info!(target: "espejo", title, shown = %title, "renamed {title}");
            });
            assert_eq!(text.lines().count(), 1, "{text:?}");
            assert!(!text.trim_end().contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
        }
    }

    #[test]
    fn programs_get_one_object_a_line_and_the_journal_its_priority() {
        let text = written(everything(), Style::Plain.as_json(), five_levels);
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let levels: Vec<&str> = lines.iter().map(|line| line["level"].as_str().unwrap()).collect();
        assert_eq!(levels, ["error", "warn", "info", "debug", "trace"]);
        assert_eq!(
            text.lines().nth(2).unwrap(),
            r#"{"time":"12:00:00","level":"info","target":"espejo::x","message":"pushed","fields":{"path":"a b.md","blocks":3}}"#
        );
        let journal = written(everything(), Style::Journal.as_json(), five_levels);
        let prefixes: Vec<&str> = journal.lines().map(|line| &line[..4]).collect();
        assert_eq!(prefixes, ["<3>{", "<4>{", "<6>{", "<7>{", "<7>{"]);
        // What stands in a title comes back as it was, and no terminal acts on the line.
        let title = "a\n<3>fake\u{1b}[2J\u{202e}\u{7}\u{9b}\"\\";
        let text = written(everything(), Style::Json { journal: false }, || {
            tracing::info!(target: "espejo", title, shown = %title, deep = true, rate = 0.5, "renamed {title}");
        });
        assert_eq!(text.lines().count(), 1, "{text:?}");
        assert!(!text.trim_end().contains(commands), "{text:?}");
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["message"], format!("renamed {title}"));
        assert_eq!(
            line["fields"],
            serde_json::json!({ "title": title, "shown": title, "deep": true, "rate": 0.5 })
        );
        assert!(now(Style::Json { journal: false }).parse::<jiff::Timestamp>().is_ok());
    }

    #[test]
    fn numbers_of_errors_are_left_out() {
        for (sentence, told) in [
            ("a: No such file or directory (os error 2)", "a: No such file or directory"),
            ("b (os error 17): File exists (os error 17); mend it", "b: File exists; mend it"),
            ("c (os error x) (os error 2", "c (os error x) (os error 2"),
            ("", ""),
        ] {
            assert_eq!(without_numbers(sentence), told);
        }
    }

    #[test]
    fn last_words_suit_their_reader() {
        for (style, line) in [
            (Style::Plain, "espejo: no\\ntoken"),
            (Style::Terminal { colour: true }, "espejo: no\\ntoken"),
            (Style::Journal, "<3>no\\ntoken"),
            (
                Style::Json { journal: false },
                r#"{"time":"12:00","level":"error","target":"espejo","message":"no\ntoken"}"#,
            ),
        ] {
            assert_eq!(last_words_at(style, "no\ntoken", |_| "12:00".to_owned()), line);
        }
    }

    #[test]
    fn other_crates_never_log_below_info() {
        let (asked, told) = targets(0, false, Some("trace"));
        assert_eq!(told, None);
        let text = written(asked, Style::Journal, || {
            tracing::debug!(target: "reqwest::connect", "https://example.com/signed?sig=1");
            tracing::trace!(target: "espejos", "nearly our name");
            tracing::info!(target: "reqwest", "seen");
            tracing::trace!(target: "espejo::engine", "seen");
        });
        assert_eq!(text, "<6>seen\n<7>espejo::engine: seen\n");
    }

    #[test]
    fn flags_win_over_rust_log_and_nonsense_is_told() {
        let shows = |verbose, quiet, rust_log: Option<&str>, target: &str| {
            let (targets, _) = targets(verbose, quiet, rust_log);
            [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE]
                .into_iter()
                .take_while(|level| targets.would_enable(target, level))
                .count()
        };
        for (verbose, quiet, rust_log, own, others) in [
            (0, false, None, 3, 2),
            (0, false, Some(""), 3, 2),
            (0, true, None, 1, 1),
            (0, true, Some("trace"), 1, 1),
            (1, false, None, 4, 2),
            (1, false, Some("error"), 4, 2),
            (2, false, None, 5, 3),
            (9, false, None, 5, 3),
            (0, false, Some("warn,espejo::store=debug"), 2, 2),
            (0, false, Some("espejo=loud"), 3, 2),
        ] {
            let found =
                (shows(verbose, quiet, rust_log, "espejo::engine"), shows(verbose, quiet, rust_log, "hyper"));
            assert_eq!(found, (own, others), "{verbose} {quiet} {rust_log:?}");
        }
        let told = targets(0, false, Some("espejo=loud")).1.unwrap();
        assert!(told.starts_with("RUST_LOG is ignored because it cannot be read ("), "{told}");
    }

    #[test]
    fn the_journal_is_known_by_device_and_inode() {
        let stat = rustix::fs::fstat(io::stderr()).unwrap();
        let with =
            |text: String| Style::of_stderr(&move |name| (name == "JOURNAL_STREAM").then(|| text.clone()));
        assert_eq!(with(format!("{}:{}", stat.st_dev, stat.st_ino)), Style::Journal);
        for text in [
            format!("{}:{}", stat.st_dev, stat.st_ino.wrapping_add(1)),
            format!("{}", stat.st_dev),
            String::new(),
            "a:b".to_owned(),
        ] {
            assert_ne!(with(text), Style::Journal);
        }
    }
}
