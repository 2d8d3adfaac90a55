//! What a line of the log looks like, for people and for programs.

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
        tracing::info!(target: ATTENTION, code = "not-sent", path = "", over = true, "resolved: not sent");
    };
    assert_eq!(
        written(everything(), Style::Plain, act),
        "12:00:00 error: Equipo/Pages/a.md: not sent: it is empty; repair it [not-sent]\n\
         12:00:00 resolved: not sent [not-sent]\n"
    );
    let json = written(everything(), Style::Json { journal: false }, act);
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&lines[0]["fields"]["code"], &lines[0]["fields"]["path"]),
        (&"not-sent".into(), &"Equipo/Pages/a.md".into())
    );
    assert_eq!(
        (&lines[0]["fields"]["action"], &lines[1]["fields"]["over"]),
        (&"repair it".into(), &true.into())
    );
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
    let with = |text: String| Style::of_stderr(&move |name| (name == "JOURNAL_STREAM").then(|| text.clone()));
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
