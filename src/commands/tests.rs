//! What may be typed, and what it means.

use std::path::PathBuf;

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::search::Kind;
use super::*;

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("espejo").chain(line.split_whitespace()))
}

#[test]
fn the_definition_holds_together() {
    Cli::command().debug_assert();
}

#[test]
fn lines_mean_what_they_say() {
    let path = |text: &str| Some(PathBuf::from(text));
    let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
    for (line, command) in [
        ("demo", Command::Demo(demo::Args::default())),
        ("demo --dir /tmp/x", Command::Demo(demo::Args { dir: path("/tmp/x") })),
        ("run", Command::Run(run::Args {})),
        ("sync --dry-run", Command::Sync(sync::Args { dry_run: true, ..Default::default() })),
        ("sync --deep --json", Command::Sync(sync::Args { deep: true, json: true, ..Default::default() })),
        ("sync a b", Command::Sync(sync::Args { paths: paths(&["a", "b"]), ..Default::default() })),
        ("status --json", Command::Status(status::Args { json: true, ..Default::default() })),
        ("status -w", Command::Status(status::Args { watch: true, ..Default::default() })),
        ("status -s", Command::Status(status::Args { short: true, ..Default::default() })),
        (
            "status a --json",
            Command::Status(status::Args { paths: paths(&["a"]), json: true, ..Default::default() }),
        ),
        ("pause", Command::Pause(pause::Pause {})),
        ("resume", Command::Resume(pause::Resume {})),
        ("doctor --json", Command::Doctor(doctor::Args { json: true, report: false })),
        (
            "service install",
            Command::Service(service::Args { what: service::What::Install { force: false } }),
        ),
        (
            "service uninstall",
            Command::Service(service::Args { what: service::What::Uninstall { force: false } }),
        ),
        ("init", Command::Init(init::Args::default())),
        (
            "init --base-url https://e.com --token-stdin --workspaces a,b --root /r --storage two-way --service -y",
            Command::Init(init::Args {
                base_url: Some("https://e.com".into()),
                token_stdin: true,
                workspaces: vec!["a".into(), "b".into()],
                root: path("/r"),
                storage: Some(init::StorageChoice::TwoWay),
                service: true,
                yes: true,
                ..Default::default()
            }),
        ),
        ("list a/b --json", Command::List(list::Args { path: path("a/b"), json: true })),
        ("approve", Command::Approve(approve::Args::default())),
        (
            "approve a b --yes --json",
            Command::Approve(approve::Args {
                paths: paths(&["a", "b"]),
                yes: true,
                dry_run: false,
                json: true,
            }),
        ),
        ("resolve", Command::Resolve(resolve::Args::default())),
        (
            "resolve a --both",
            Command::Resolve(resolve::Args { path: path("a"), both: true, ..Default::default() }),
        ),
        (
            "diff a --at 7",
            Command::Diff(diff::Args { path: path("a"), at: Some("7".to_owned()), json: false }),
        ),
        ("restore", Command::Restore(restore::Args::default())),
        (
            "restore a --at 2h",
            Command::Restore(restore::Args {
                paths: paths(&["a"]),
                at: Some("2h".to_owned()),
                ..Default::default()
            }),
        ),
        (
            "undo a --since 2h -y",
            Command::Undo(undo::Args {
                what: path("a"),
                since: Some("2h".to_owned()),
                yes: true,
                ..Default::default()
            }),
        ),
        ("log -f", Command::Log(log::Args { follow: true, ..Default::default() })),
        (
            "log a --since 14:00 -n 3 --json",
            Command::Log(log::Args {
                path: path("a"),
                since: Some("14:00".to_owned()),
                number: Some(3),
                json: true,
                follow: false,
            }),
        ),
        (
            "search plan obra --kind page --kind slide --limit 5 --json",
            Command::Search(search::Args {
                words: vec!["plan".to_owned(), "obra".to_owned()],
                limit: 5,
                kind: vec![Kind::Page, Kind::Slide],
                json: true,
                ..Default::default()
            }),
        ),
        (
            "search --remote -- -plan",
            Command::Search(search::Args {
                words: vec!["-plan".to_owned()],
                remote: true,
                limit: 20,
                ..Default::default()
            }),
        ),
        ("export a/b", Command::Export(export::Args { dir: "a/b".into(), json: false })),
        ("man", Command::Man(man::Args {})),
        ("completions zsh", Command::Completions(completions::Args { shell: clap_complete::Shell::Zsh })),
        (
            "convert to-markdown --base b.json --onto f.md",
            Command::Convert(convert::Args {
                way: convert::Way::ToMarkdown { base: path("b.json"), onto: path("f.md") },
            }),
        ),
        (
            "convert from-markdown --blocks table,image --base b.json",
            Command::Convert(convert::Args {
                way: convert::Way::FromMarkdown {
                    base: path("b.json"),
                    blocks: vec!["table".into(), "image".into()],
                    pretty: false,
                },
            }),
        ),
    ] {
        assert_eq!(parse(line).unwrap().command, Some(command), "{line}");
    }
    assert_eq!(parse("").unwrap().command, None);
}

#[test]
fn what_goes_for_every_command_may_stand_anywhere() {
    for line in ["--config c.toml -vv status", "status --config c.toml -v -v", "-vv status --config=c.toml"] {
        let global = parse(line).unwrap().global;
        let config = Some("c.toml".into());
        assert_eq!(global.config, config, "{line}");
        assert!(global.verbose == 2 && !global.quiet, "{line}");
    }
    assert!(parse("list -q").unwrap().global.quiet);
}

#[test]
fn wrong_usage_ends_with_2_and_help_with_0() {
    for line in [
        "sing",
        "status --jsn",
        "run now",
        "-q -v status",
        "convert",
        "convert sideways",
        "convert to-markdown --base b.json",
        "convert to-markdown --onto f.md",
        "completions cmd.exe",
        "status --json --watch",
        "service",
        "service restart",
        "init --token-file t --token-stdin",
        "init --service --no-service",
        "init --storage sideways",
        "init --token secret",
        "search",
        "search x --limit 0",
        "search x --limit 1001",
        "search x --limit many",
        "search x --kind cards",
        "export",
        "export a b",
        "sync a --dry-run",
        "sync a --deep",
        "status a --watch",
        "resolve --mine",
        "resolve a --mine --theirs",
        "resolve a --mine --json",
    ] {
        let refusal = parse(line).unwrap_err();
        assert_eq!(refusal.exit_code(), i32::from(Exit::Usage.code()), "{line}");
    }
    for (line, kind) in [
        ("--help", ErrorKind::DisplayHelp),
        ("list -h", ErrorKind::DisplayHelp),
        ("help", ErrorKind::DisplayHelp),
        ("help resolve", ErrorKind::DisplayHelp),
        ("--version", ErrorKind::DisplayVersion),
    ] {
        let told = parse(line).unwrap_err();
        assert_eq!((told.kind(), told.exit_code()), (kind, 0), "{line}");
    }
}

/// Every command says what it is for and shows an example that can be typed.
#[test]
fn examples_in_the_help_parse() {
    fn walk(command: &clap::Command, seen: &mut usize) {
        for sub in command.get_subcommands() {
            assert!(sub.get_about().is_some_and(|about| !about.to_string().is_empty()), "{}", sub.get_name());
            if sub.has_subcommands() {
                walk(sub, seen);
                continue;
            }
            let help = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<_> = help
                .lines()
                .map(|line| line.trim_start_matches("Example:").trim_start_matches("Examples:").trim())
                .filter(|line| !line.is_empty())
                .collect();
            assert!(!examples.is_empty(), "{} has no example", sub.get_name());
            for example in examples {
                // A wrapped line cannot be typed as it stands.
                assert!(example.chars().count() <= 78, "{example}");
                let words: Vec<_> = example
                    .split_whitespace()
                    .take_while(|word| !["<", ">", "|", "&&"].contains(word))
                    .collect();
                Cli::try_parse_from(&words).unwrap_or_else(|refusal| panic!("{example}: {refusal}"));
                *seen += 1;
            }
        }
    }
    let mut seen = 0;
    walk(&Cli::command(), &mut seen);
    assert!(seen >= 11, "{seen} examples");
}

#[test]
fn wrong_usage_is_one_sentence_with_the_mend() {
    for (line, told) in [
        ("stauts", r#"there is no command "stauts"; did you mean "status"?"#),
        ("xyzzy", r#"there is no command "xyzzy"; espejo --help lists the commands"#),
        ("convert to-mrkdown", r#"there is no command "to-mrkdown"; did you mean "to-markdown"?"#),
        ("status --jsn", r#"there is no option "--jsn"; did you mean "--json"?"#),
        ("status --xyzzy", r#"there is no option "--xyzzy"; see espejo status --help"#),
        ("run now", r#"unexpected argument "now"; see espejo run --help"#),
        ("export", "<DIR> is missing; see espejo export --help"),
        ("why x.md", r#"there is no command "why"; use espejo status PATH"#),
        ("history x.md", r#"there is no command "history"; use espejo log PATH"#),
        ("push", r#"there is no command "push"; use espejo sync"#),
        ("-q -v status", "--quiet and --verbose... cannot be combined"),
        ("demo --dir", "--dir <DIR> needs a value; see espejo --help"),
        ("completions bsh", r#"<SHELL> cannot be "bsh"; did you mean "bash"?"#),
        (
            "completions cmd.exe",
            r#"<SHELL> cannot be "cmd.exe"; it takes bash, elvish, fish, powershell, zsh"#,
        ),
        ("search --limit 0 x", r#"--limit <N> cannot be "0"; it takes a number from 1 to 1000"#),
        ("search --limit ten x", r#"--limit <N> cannot be "ten"; it takes a number from 1 to 1000"#),
        ("search --jsn x", r#"there is no option "--jsn"; did you mean "--json"?"#),
        (
            "search -draft plan",
            r#"there is no option "-d"; words to leave out come after --, as in espejo search -- plan -draft"#,
        ),
        ("--log-format xml run", r#"--log-format <FORMAT> cannot be "xml"; it takes text, json"#),
    ] {
        let words = std::iter::once("espejo").chain(line.split_whitespace());
        let error = Cli::try_parse_from(words).unwrap_err();
        assert_eq!(misunderstood(&error).as_deref(), Some(told), "{line}");
    }
    for line in ["--help", "convert", "--version"] {
        let words = std::iter::once("espejo").chain(line.split_whitespace());
        assert_eq!(misunderstood(&Cli::try_parse_from(words).unwrap_err()), None, "{line}");
    }
}
