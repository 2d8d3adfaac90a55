//! Word on the desktop, or to a command of the user's, of what needs a person: conflicts, and what a guard holds. Only where the
//! config asks for it, each thing once, gathered so that many at once are one message. Nothing waits for it, and its failure
//! harms nothing.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::child;
use crate::cli::child::End;
use crate::config::Notify;
use crate::model::{Attention, Code, Level, Timestamp};
use crate::store::Conflict;

/// At most one message in this time.
const PAUSE_MS: i64 = 30_000;
/// How long a program may take for one message: the next ones wait for it.
const LIMIT: Duration = Duration::from_secs(30);
/// How many things a message names; of the rest it says how many.
const NAMED: usize = 3;

/// What has been told, and what is still to tell.
#[derive(Default)]
pub(super) struct Desktop {
    how: Notify,
    /// Everything that needs a person, by what makes it the same thing from one look to the next. `None` before the
    /// first look: what was there already is no news.
    known: Option<BTreeMap<String, Thing>>,
    waiting: BTreeMap<String, Thing>,
    told_at: Option<Timestamp>,
    sending: Option<JoinHandle<()>>,
}

/// One thing that needs a person.
#[derive(Debug, Clone)]
struct Thing {
    text: String,
    json: Value,
}

/// What a desktop shows, and what a command is given.
#[derive(Debug, Clone)]
struct Message {
    title: String,
    body: String,
    json: Value,
}

impl Desktop {
    /// Tells in the ways that the config names.
    #[must_use]
    pub(super) fn new(how: Notify) -> Self {
        Self { how, ..Self::default() }
    }

    /// Looks at what needs a person now, and tells what is new.
    pub(super) fn tell(&mut self, attention: &[Attention], conflicts: &[Conflict], now: Timestamp) {
        // One at a time: a desktop that does not answer gets no second question.
        if self.sending.as_ref().is_some_and(|sending| !sending.is_finished()) {
            return;
        }
        if let Some(message) = self.news(things(attention, conflicts), now) {
            let how = self.how.clone();
            let send = move || {
                if how.desktop {
                    show(&message);
                }
                if !how.command.is_empty() {
                    hand_over(&how.command, &message.json);
                }
            };
            let sent = std::thread::Builder::new().name("desktop".to_owned()).spawn(send);
            self.sending = sent.map_err(|error| tracing::debug!(%error, "no thread for the desktop")).ok();
        }
    }

    fn news(&mut self, all: BTreeMap<String, Thing>, now: Timestamp) -> Option<Message> {
        let Some(known) = &self.known else {
            self.known = Some(all);
            return None;
        };
        // What was settled before it was told is no news any more.
        self.waiting.retain(|key, _| all.contains_key(key));
        let new = all.iter().filter(|(key, _)| !known.contains_key(*key));
        self.waiting.extend(new.map(|(key, thing)| (key.clone(), thing.clone())));
        self.known = Some(all);
        let early = self.told_at.is_some_and(|at| now.since_ms(at) < PAUSE_MS);
        if self.waiting.is_empty() || early {
            return None;
        }
        self.told_at = Some(now);
        let told: Vec<Thing> = std::mem::take(&mut self.waiting).into_values().collect();
        let mut lines: Vec<String> = told.iter().take(NAMED).map(|thing| markup(&thing.text)).collect();
        if told.len() > NAMED {
            lines.push(format!("and {} more; espejo status names them", told.len() - NAMED));
        }
        let title = format!("espejo: {}", crate::cli::output::needs(told.len()));
        let things: Vec<Value> = told.into_iter().map(|thing| thing.json).collect();
        let json = json!({ "title": title, "attention": things });
        Some(Message { title, body: lines.join("\n"), json })
    }
}

/// What is worth a message, by what makes it the same thing: a reason may count, and counts change.
fn things(attention: &[Attention], conflicts: &[Conflict]) -> BTreeMap<String, Thing> {
    let held = attention.iter().filter(|item| item.level() == Level::Act).map(|item| {
        let place = if item.path.is_empty() { String::new() } else { format!("{}: ", item.path) };
        let json = json!({
            "code": item.code.name(),
            "path": item.path,
            "reason": item.reason,
            "action": item.action,
        });
        let text = format!("{place}{}", item.reason);
        (format!("{}\n{}", item.path, item.code.name()), Thing { text, json })
    });
    let collided = conflicts.iter().map(|conflict| {
        let text = format!("{}: {}", conflict.page_path, conflict.cause());
        let json = json!({
            "code": Code::Conflict.name(),
            "path": conflict.page_path.as_str(),
            "reason": conflict.cause(),
            "action": conflict.mend(),
        });
        (conflict.path.to_string(), Thing { text, json })
    });
    held.chain(collided).collect()
}

/// Text that a desktop shows as it is: bodies may be read as markup.
fn markup(text: &str) -> String {
    crate::logging::escape(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn show(message: &Message) {
    let mut command = child::group("notify-send");
    command.args(["--app-name=espejo", "--"]).args([&message.title, &message.body]).stdin(Stdio::null());
    match ended(&mut command, |_| {}) {
        Ok(End::Itself(status)) if status.success() => {}
        Ok(End::Itself(status)) => tracing::debug!(%status, "notify-send did not show a message"),
        Ok(End::Late) => late("notify-send", "desktop = true"),
        Err(error) => tracing::warn!(
            "nothing can be shown on the desktop: notify-send does not run ({error}); install libnotify, or set desktop = false in [notify]"
        ),
    }
}

/// Runs the user's command with the message as one line of JSON on its stdin.
fn hand_over(words: &[String], message: &Value) {
    let Some((program, arguments)) = words.split_first() else { return };
    let mut command = child::group(program);
    command.args(arguments).stdin(Stdio::piped());
    let line = format!("{message}\n");
    match ended(&mut command, |child| write_aside(child, line)) {
        Ok(End::Itself(status)) if status.success() => {}
        Ok(End::Itself(status)) => {
            tracing::warn!("the command of [notify] failed: {program} ended with {status}");
        }
        Ok(End::Late) => late(program, "command"),
        Err(error) => tracing::warn!("the command of [notify] does not run: {program}: {error}"),
    }
}

fn ended(command: &mut Command, feed: impl FnOnce(&mut Child)) -> std::io::Result<End> {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    feed(&mut child);
    child::end_after(child, LIMIT)
}

/// Writes on a thread of its own: a command that reads nothing holds up a long line for ever.
fn write_aside(child: &mut Child, line: String) {
    let Some(mut stdin) = child.stdin.take() else { return };
    let write = move || {
        if let Err(error) = stdin.write_all(line.as_bytes()) {
            // It has no use for it, or has ended.
            tracing::debug!(%error, "the command of [notify] did not read its message");
        }
    };
    if let Err(error) = std::thread::Builder::new().name("desktop-line".to_owned()).spawn(write) {
        tracing::warn!("the command of [notify] gets no message: no thread can be started: {error}");
    }
}

fn late(program: &str, key: &str) {
    let seconds = LIMIT.as_secs();
    tracing::warn!(
        "{program} did not end within {seconds} s and was ended, so that later messages are not held up; find out what it waits for, or change {key} in [notify]"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(keys: &[&str]) -> BTreeMap<String, Thing> {
        keys.iter()
            .map(|key| ((*key).to_owned(), Thing { text: format!("<{key}>"), json: json!(key) }))
            .collect()
    }

    #[test]
    fn each_thing_is_told_once_and_many_at_once_are_one_message() {
        let mut desktop = Desktop::default();
        for (seconds, needs, told) in [
            // What was there at the start is no news.
            (0, &["old"][..], None),
            (5, &["old", "a"], Some("1 thing needs attention|&lt;a&gt;")),
            (10, &["old", "a"], None),
            // Soon after another: gathered, and what settled meanwhile left out.
            (15, &["a", "b", "c"], None),
            (20, &["b", "d"], None),
            (35, &["b", "d"], Some("2 things need attention|&lt;b&gt;\n&lt;d&gt;")),
            (99, &["b", "d"], None),
            // Settled and there again: that is news.
            (100, &["d"], None),
            (
                130,
                &["b", "d", "e", "f", "g"],
                Some(
                    "4 things need attention|&lt;b&gt;\n&lt;e&gt;\n&lt;f&gt;\nand 1 more; espejo status names them",
                ),
            ),
            (200, &[], None),
        ] {
            let message = desktop.news(all(needs), Timestamp(seconds * 1_000));
            let shown = message.map(|Message { title, body, .. }| format!("{title}|{body}"));
            assert_eq!(shown, told.map(|told| format!("espejo: {told}")), "{seconds}");
        }
    }

    #[test]
    fn what_a_guard_holds_is_the_same_thing_while_its_count_changes() {
        let held =
            |count| Attention::new(Code::DeletionsHeld, "", format!("{count} files"), "run espejo approve");
        let other = Attention::new(Code::Outage, "", "the service cannot be reached", "nothing to do");
        let first = things(&[held(11), other.clone()], &[]);
        let second = things(&[held(12), other], &[]);
        assert_eq!(first.len(), 1);
        assert!(first.keys().eq(second.keys()));
    }
}
