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
mod tests;
