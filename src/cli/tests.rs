//! What may be typed, and what it means.

use clap::CommandFactory;
use clap::error::ErrorKind;

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
    for (line, command) in [
        ("demo", Command::Demo { dir: None }),
        ("demo --dir /tmp/x", Command::Demo { dir: path("/tmp/x") }),
        ("run", Command::Run),
        ("sync --dry-run", Command::Sync { dry_run: true }),
        ("status --json", Command::Status { json: true, watch: false }),
        ("status -w", Command::Status { json: false, watch: true }),
        ("pause", Command::Pause),
        ("resume", Command::Resume),
        ("doctor --json", Command::Doctor { json: true }),
        ("service install", Command::Service { what: ServiceCommand::Install { force: false } }),
        ("service uninstall", Command::Service { what: ServiceCommand::Uninstall { force: false } }),
        ("init", Command::Init(Init::default())),
        (
            "init --base-url https://e.com --token-stdin --workspaces a,b --root /r --storage two-way --service -y",
            Command::Init(Init {
                base_url: Some("https://e.com".into()),
                token_stdin: true,
                workspaces: vec!["a".into(), "b".into()],
                root: path("/r"),
                storage: Some(StorageChoice::TwoWay),
                service: true,
                yes: true,
                ..Init::default()
            }),
        ),
        ("list", Command::List { path: None, json: false }),
        ("why a/b.md --json", Command::Why { path: PathBuf::from("a/b.md"), json: true }),
        ("list a/b --json", Command::List { path: path("a/b"), json: true }),
        ("approve", Command::Approve { paths: vec![], yes: false, dry_run: false, json: false }),
        (
            "approve a b --yes --json",
            Command::Approve { paths: vec!["a".into(), "b".into()], yes: true, dry_run: false, json: true },
        ),
        ("approve --dry-run", Command::Approve { paths: vec![], yes: false, dry_run: true, json: false }),
        ("conflicts", Command::Conflicts { json: false }),
        (
            "resolve a --both",
            Command::Resolve { path: "a".into(), mine: false, theirs: false, both: true, edit: false },
        ),
        ("diff", Command::Diff { path: None, at: None }),
        ("diff a --at 7", Command::Diff { path: path("a"), at: Some("7".to_owned()) }),
        ("history a --json", Command::History { path: "a".into(), json: true }),
        ("restore", Command::Restore { paths: vec![], at: None, yes: false }),
        (
            "restore a --at 2h",
            Command::Restore { paths: vec!["a".into()], at: Some("2h".to_owned()), yes: false },
        ),
        ("undo --dry-run", Command::Undo { what: None, since: None, dry_run: true, yes: false }),
        (
            "undo a --since 2h -y",
            Command::Undo { what: path("a"), since: Some("2h".to_owned()), dry_run: false, yes: true },
        ),
        ("log -f", Command::Log { path: None, since: None, json: false, follow: true }),
        (
            "log a --since 14:00 --json",
            Command::Log { path: path("a"), since: Some("14:00".to_owned()), json: true, follow: false },
        ),
        (
            "search plan obra --kind page --kind slide --limit 5 --json",
            Command::Search {
                files: false,
                words: vec!["plan".to_owned(), "obra".to_owned()],
                remote: false,
                limit: 5,
                kind: vec![Kind::Page, Kind::Slide],
                json: true,
            },
        ),
        (
            "search --remote -- -plan",
            Command::Search {
                files: false,
                words: vec!["-plan".to_owned()],
                remote: true,
                limit: 20,
                kind: vec![],
                json: false,
            },
        ),
        ("export a/b", Command::Export { dir: "a/b".into(), json: false }),
        ("verify", Command::Verify { deep: false }),
        ("verify --deep", Command::Verify { deep: true }),
        ("man", Command::Man),
        ("completions zsh", Command::Completions { shell: clap_complete::Shell::Zsh }),
        ("convert to-markdown", Command::Convert { way: Convert::ToMarkdown { base: None, onto: None } }),
        (
            "convert to-markdown --base b.json --onto f.md",
            Command::Convert { way: Convert::ToMarkdown { base: path("b.json"), onto: path("f.md") } },
        ),
        (
            "convert from-markdown --blocks table,image --base b.json",
            Command::Convert {
                way: Convert::FromMarkdown {
                    base: path("b.json"),
                    blocks: vec!["table".into(), "image".into()],
                    pretty: false,
                },
            },
        ),
    ] {
        assert_eq!(parse(line).unwrap().command, command, "{line}");
    }
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
        "",
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
