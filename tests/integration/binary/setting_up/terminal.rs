//! What a person sees: `init` that asks, and `status --watch`.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::process::Signal;

use super::super::bench::{Bench, DEADLINE, TOKEN, bare, paragraph, within};
use super::pty::Terminal;

const ENTER: &str = "\r";
const CTRL_C: &str = "\x03";

fn bench() -> Bench {
    Bench::new(|world, space| {
        world.app_create(space, None, "One", vec![paragraph("a", "words")]);
        world.add_workspace("Casa", "casa");
    })
}

fn init(bench: &Bench) -> Terminal {
    let mut command = bare(bench.home());
    // Without systemd: whether one is here must not matter.
    command.env("PATH", "").args(["--config"]).arg(bench.outside("new.toml")).arg("init");
    Terminal::new(command)
}

#[test]
fn an_init_on_a_terminal_asks_and_asks_again_where_it_is_refused() {
    let bench = bench();
    let mut terminal = init(&bench);
    terminal.until("The service's address");
    terminal.type_in("http://example.com\r");
    terminal.until("must begin with https://");
    terminal.type_in(&"\x7f".repeat(30));
    terminal.type_in(&bench.base_url());
    terminal.type_in(ENTER);
    terminal.until("Your access token");
    terminal.type_in("wrong-token-word\r");
    terminal.until("refuses the token");
    terminal.until("Your access token");
    // As a paste comes: all at once.
    terminal.type_in(&format!("{TOKEN}\r"));
    terminal.until("Equipo, Casa");
    terminal.until("Which workspaces?");
    terminal.until("Casa (owner, pro)");
    // Down, and Casa is not wanted.
    terminal.type_in("\x1b[B");
    terminal.type_in(" ");
    terminal.type_in(ENTER);
    terminal.until("Folder to mirror into");
    // The home directory itself is refused.
    terminal.type_in("~\r");
    terminal.until("a separate folder");
    terminal.until("Folder to mirror into");
    terminal.type_in("~/Espejo\r");
    terminal.until("Sync your personal files?");
    terminal.type_in("\x1b[B\x1b[B");
    terminal.type_in(ENTER);
    terminal.until("The first sync: 1 page");
    terminal.until("Write ");
    assert!(!bench.outside("new.toml").exists(), "written before the last word");
    terminal.type_in(ENTER);
    terminal.until("Start syncing with:");
    assert_eq!(terminal.ended(), 0, "{}", terminal.shown());
    assert!(terminal.is_sane());
    let shown = terminal.shown();
    assert!(!shown.contains(TOKEN) && !shown.contains("wrong-token-word"), "a token was shown: {shown}");
    let text = fs::read_to_string(bench.outside("new.toml")).unwrap();
    for line in [
        "workspaces = [\"equipo\"]",
        "root = \"~/Espejo\"",
        "token_file = \"~/new.token\"",
        "enabled = false",
    ] {
        assert!(text.lines().any(|found| found.starts_with(line)), "{line}\n{text}");
    }
    assert_eq!(fs::metadata(bench.outside("new.token")).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_line_of_init_is_edited_as_in_a_shell() {
    let bench = bench();
    let mut terminal = init(&bench);
    terminal.until("The service's address");
    // Ctrl-U, after a word before which the cursor was moved and one that Ctrl-W took.
    terminal.type_in("garbage\x01more words\x17\x05\x15");
    terminal.type_in(&format!("{}\r", bench.base_url()));
    terminal.until("Your access token");
    terminal.type_in("garbage\x15");
    terminal.type_in("garbage \x1b[1;5Dmore garbage\x17\x17\x05\x17");
    // The end before the beginning; and a newline as a paste may bring it.
    let (begin, end) = TOKEN.split_at(5);
    terminal.type_in(&format!("{end}\x01{begin}\n"));
    terminal.until("Token accepted");
    terminal.until("Which workspaces?");
    terminal.type_in(ENTER);
    terminal.until("Folder to mirror into");
    terminal.type_in(&format!("~/{}\x15~/Short\r", "long ".repeat(40)));
    terminal.until("Sync your personal files?");
    terminal.type_in(ENTER);
    terminal.until("Write ");
    terminal.type_in(ENTER);
    terminal.until("Start syncing with:");
    assert_eq!(terminal.ended(), 0, "{}", terminal.shown());
    assert!(terminal.is_sane());
    assert_eq!(fs::read_to_string(bench.outside("new.token")).unwrap().trim(), TOKEN);
    let text = fs::read_to_string(bench.outside("new.toml")).unwrap();
    assert!(text.contains("root = \"~/Short\""), "{text}");
    assert!(!terminal.shown().contains(TOKEN) && !terminal.shown().contains("garbage \x1b"));
}

#[test]
fn ctrl_d_in_an_empty_line_breaks_off() {
    let bench = bench();
    let mut terminal = init(&bench);
    terminal.until("The service's address");
    terminal.type_in(&format!("{}\r", bench.base_url()));
    terminal.until("Your access token");
    terminal.type_in("x\x15\x04");
    terminal.until("init was cancelled; nothing was written");
    assert_eq!(terminal.ended(), 1);
    assert!(terminal.is_sane());
    assert!(!bench.outside("new.toml").exists() && !bench.outside("new.token").exists());
}

#[test]
fn a_signal_in_a_question_leaves_the_terminal_as_it_was() {
    for signal in [Signal::TERM, Signal::HUP] {
        let bench = bench();
        let mut terminal = init(&bench);
        terminal.until("The service's address");
        let taken = within(DEADLINE, &mut || !terminal.is_sane());
        assert!(taken, "the question takes no keys");
        terminal.signal(signal);
        // By the signal, unless the question was interrupted by it a moment before.
        assert_ne!(terminal.ended(), 0, "{}", terminal.shown());
        assert!(terminal.is_sane());
        assert!(!bench.outside("new.toml").exists());
    }
}

#[test]
fn ctrl_c_in_a_question_writes_nothing_and_leaves_the_terminal_as_it_was() {
    for question in ["The service's address", "Your access token", "Folder to mirror into"] {
        let bench = bench();
        let mut terminal = init(&bench);
        terminal.until("The service's address");
        if question != "The service's address" {
            terminal.type_in(&format!("{}\r", bench.base_url()));
            terminal.until("Your access token");
        }
        if question == "Folder to mirror into" {
            terminal.type_in(&format!("{TOKEN}\r"));
            terminal.until("Which workspaces?");
            terminal.type_in(ENTER);
            terminal.until(question);
        }
        terminal.type_in(CTRL_C);
        terminal.until("init was cancelled; nothing was written");
        assert_eq!(terminal.ended(), 1, "{question}");
        assert!(terminal.is_sane(), "{question}");
        assert!(
            terminal.shown().ends_with("\x1b[?25h") || terminal.shown().contains("\x1b[?25h"),
            "the cursor is back"
        );
        assert!(!bench.outside("new.toml").exists() && !bench.outside("new.token").exists(), "{question}");
    }
}

#[test]
fn status_watches_in_place_and_gives_the_terminal_back() {
    for (keys, signal) in [("q", None), (CTRL_C, None), ("", Some(rustix::process::Signal::TERM))] {
        let bench = bench();
        bench.sync();
        let mut terminal = Terminal::new(bench.espejo(&["status", "--watch"]));
        terminal.until("\x1b[?1049h");
        terminal.until("1 mirrored");
        assert!(!terminal.is_sane(), "keys come one by one");
        // It is drawn again, and shows what has changed.
        assert_eq!(bench.tell(&["pause"]).code, 0);
        terminal.until("paused since");
        match signal {
            Some(signal) => terminal.signal(signal),
            None => terminal.type_in(keys),
        }
        terminal.until("\x1b[?1049l");
        terminal.until("paused since");
        assert_eq!(terminal.ended(), 0, "{}", terminal.shown());
        assert!(terminal.is_sane(), "{keys:?}");
    }
}

#[test]
fn every_line_of_status_fits_eighty_columns_and_no_colour_is_forced() {
    let bench = Bench::new(|world, space| {
        let long =
            "A title that is so long that it would never fit into a line of a terminal of eighty columns";
        world.app_create(space, None, long, vec![paragraph("a", "words")]);
    });
    bench.sync();
    for entry in fs::read_dir(bench.page("")).unwrap() {
        super::super::bench::save(&entry.unwrap().path(), "---\nid: [broken\n---\n");
    }
    assert_eq!(bench.tell(&["sync"]).code, 3);
    let mut command = bench.espejo(&["status"]);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::new(command);
    assert_eq!(terminal.ended(), 3);
    assert!(within(super::super::bench::DEADLINE, &mut || terminal.shown().contains("→")));
    let shown = terminal.shown();
    assert!(!shown.contains('\x1b'), "{shown:?}");
    let longest = shown.lines().map(|line| line.trim_end().chars().count()).max();
    assert!(longest <= Some(80), "{longest:?}\n{shown}");
    // So does what others say, but for the path of what needs the user, which stays whole.
    let target = bench.outside("a folder for an export with a long name");
    for (words, code, said) in [
        (&["sync"][..], 3, "while parsing a flow\r\n    sequence"),
        (&["sync", "--deep"], 3, "while parsing a flow\r\n    sequence"),
        (&["export", target.to_str().unwrap()], 0, "to check every byte"),
    ] {
        let mut command = bench.espejo(words);
        command.env("NO_COLOR", "1");
        let mut terminal = Terminal::new(command);
        assert_eq!(terminal.ended(), code, "{words:?}: {}", terminal.shown());
        assert!(within(DEADLINE, &mut || terminal.shown().contains(said)), "{words:?}: {}", terminal.shown());
    }
    // And plain where there is no terminal.
    let told = bench.tell(&["status"]);
    assert!(
        told.out.starts_with("1 thing needs attention; nothing is lost\n") && !told.out.contains('\x1b'),
        "{told:?}"
    );
}
