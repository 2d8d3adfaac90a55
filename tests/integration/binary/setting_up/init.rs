//! `espejo init` without a terminal: every question has an option, and what is written works at once.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;

use super::super::bench::{Bench, TOKEN, Told, bare, paragraph, save};

fn bench() -> Bench {
    let bench = Bench::new(|world, space| {
        for title in ["One", "Two"] {
            world.app_create(space, None, title, vec![paragraph("a", "words")]);
        }
        let frozen = world.add_workspace("Archivo", "archivo");
        world.app_freeze_workspace(&frozen, true);
    });
    // These are init's to make.
    for name in ["config.toml", "token"] {
        fs::rename(bench.outside(name), bench.outside(&format!("bench-{name}"))).unwrap();
    }
    bench
}

fn init(home: &Path, stdin: &str, words: &[&str]) -> Told {
    let mut command = bare(home);
    command.arg("init").args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A refusal that comes before anything is read has closed the pipe.
    drop(child.stdin.take().unwrap().write_all(stdin.as_bytes()));
    let told = Told::of(child.wait_with_output().unwrap());
    assert!(!told.out.contains(TOKEN) && !told.err.contains(TOKEN), "the token is shown: {told:?}");
    told
}

#[test]
fn an_unattended_init_writes_a_config_that_mirrors_at_once() {
    let bench = bench();
    let home = bench.home();
    let url = bench.base_url();
    let told = init(home, &format!("{TOKEN}\n"), &["--base-url", &url, "--token-stdin", "--yes"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.out.contains("2 workspaces (Equipo, Archivo)"), "{told:?}");
    assert!(
        told.out.contains("The first sync: 2 pages: about 9 requests, 1 minute at 60 a minute."),
        "{told:?}"
    );
    let uses =
        "espejo uses at most 60 requests a minute, and a third of them where nothing changed for an hour; ";
    assert!(told.out.contains(uses), "{told:?}");
    let token = home.join(".config/espejo/token");
    assert_eq!(fs::metadata(&token).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&token).unwrap(), format!("{TOKEN}\n"));
    let asked = bench.requests();
    assert!(bench.writes().is_empty(), "{asked:?}");

    // The limiter knows of every one of them before anything is mirrored.
    let told = Told::of(bare(home).args(["status", "--json"]).output().unwrap());
    let status: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(status["requests_last_minute"], asked.len(), "{status}");
    let told = Told::of(bare(home).args(["sync", "--quiet"]).output().unwrap());
    assert_eq!(told.code, 0, "a frozen workspace is a note while nothing waits in it: {told:?}");
    assert!(told.out.contains("the workspace Archivo is frozen"), "{told:?}");
    assert!(home.join("Workspace/Equipo/Pages/One.md").exists());
}

#[test]
fn run_again_it_changes_what_was_said_and_nothing_else() {
    let bench = bench();
    let (home, url) = (bench.home(), bench.base_url());
    assert_eq!(
        init(home, TOKEN, &["--base-url", &url, "--token-stdin", "--yes", "--storage", "off"]).code,
        0
    );
    let place = home.join(".config/espejo/config.toml");
    let first = fs::read_to_string(&place).unwrap();
    let mine = first.replace("[pages]", "[pages]  # my own words\nmax_deletes = 4");
    save(&place, &mine);
    // As `--root=~/Elsewhere` comes through most shells.
    let told = init(home, "", &["--workspaces", "equipo", "--root", "~/Elsewhere"]);
    assert_eq!(told.code, 0, "{told:?}");
    let second = fs::read_to_string(&place).unwrap();
    let changed = mine.lines().zip(second.lines()).filter(|(old, new)| old != new).map(|(_, new)| new);
    let changed: Vec<&str> = changed.map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(changed, ["root = \"~/Elsewhere\"", "workspaces = [\"equipo\"]"], "{second}");
    assert_eq!(mine.lines().count(), second.lines().count());
    // And nothing at all where nothing is said.
    assert!(init(home, "", &[]).out.contains("Config unchanged"));
    assert_eq!(fs::read_to_string(&place).unwrap(), second);
}

#[test]
fn of_a_mirror_that_is_there_it_is_told_what_changes() {
    let bench = bench();
    let (home, url) = (bench.home(), bench.base_url());
    let said = ["--base-url", &url, "--token-stdin", "--yes", "--storage", "off", "--workspaces", "equipo"];
    assert!(init(home, TOKEN, &said).out.contains("The first sync: "));
    let told = Told::of(bare(home).args(["sync", "--quiet"]).output().unwrap());
    assert_eq!(told.code, 0, "{told:?}");
    bench.forget_requests();
    let told = init(home, "", &["--yes", "--storage", "two-way", "--workspaces", "all"]);
    let said = "The mirror already exists, with 2 pages; these settings change: workspaces (was equipo, now all), personal files (was left alone, now both ways).";
    assert!(told.code == 0 && told.out.contains(said) && !told.out.contains("first mirror"), "{told:?}");
    assert_eq!(bench.requests(), ["GET /workspaces"], "what it would cost is no question");
    let told = init(home, "", &["--yes"]);
    assert!(
        told.out.contains("with 2 pages; nothing changes.") && told.out.contains("Config unchanged"),
        "{told:?}"
    );
}

#[test]
fn a_folder_with_something_in_it_is_told_of_and_nothing_of_it_is_harmed() {
    let bench = bench();
    let (home, url) = (bench.home(), bench.base_url());
    let root = home.join("Workspace");
    fs::create_dir_all(root.join("Equipo/Pages")).unwrap();
    fs::create_dir_all(root.join("Other")).unwrap();
    save(&root.join("Equipo/Pages/One.md"), "words of my own\n");
    save(&root.join("Equipo/Pages/Two.md"), "words\n");
    save(&root.join("Equipo/Pages/Mine.md"), "a page of mine\n");
    save(&root.join("Other/Left.md"), "left alone\n");
    let told = init(home, TOKEN, &["--base-url", &url, "--token-stdin", "--yes", "--workspaces", "equipo"]);
    assert!(told.code == 0 && told.out.contains("is not empty (2 entries in it)"), "{told:?}");
    let told = Told::of(bare(home).args(["sync", "--quiet"]).output().unwrap());
    assert!(matches!(told.code, 0 | 3), "{told:?}");
    // As was said: the equal one adopted, the other kept beside it, the new one a page, the rest left alone.
    assert_eq!((bench.count("One"), bench.count("Two"), bench.count("Mine")), (1, 1, 1));
    let all: Vec<String> = walk(&root.join("Equipo/Pages"));
    assert!(all.iter().any(|text| text.contains("words of my own")), "{all:?}");
    assert_eq!(fs::read_to_string(root.join("Other/Left.md")).unwrap(), "left alone\n");
    assert_eq!(bench.pages(), 3, "{}", bench.seen());
}

fn walk(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().filter_map(|entry| fs::read_to_string(entry.unwrap().path()).ok()).collect()
}

#[test]
fn what_cannot_be_set_up_is_said_in_a_sentence_and_nothing_is_written() {
    let bench = bench();
    let (home, url) = (bench.home(), bench.base_url());
    save(&home.join("open-token"), TOKEN);
    let site = url.strip_suffix("/api/v1").unwrap().to_owned();
    let is_it = format!("; try {url}\n");
    let closed = "http://127.0.0.1:9/api/v1";
    let open = home.join("open-token");
    let (open, root) = (open.to_str().unwrap(), home.to_str().unwrap());
    for (stdin, words, code, sentence) in [
        (
            "",
            &[][..],
            2,
            "needs these options: --base-url URL, --token-file FILE or --token-stdin, --workspaces all, --root DIR",
        ),
        ("", &["--yes"], 2, "needs these options: --base-url URL, --token-file FILE or --token-stdin"),
        ("", &["--yes", "--base-url", &url], 2, "needs these options: --token-file FILE or --token-stdin"),
        (TOKEN, &["--token-stdin", "--base-url", &url], 2, "--yes uses the defaults"),
        (
            TOKEN,
            &["--yes", "--token-stdin", "--base-url", "http://example.com"],
            2,
            "must begin with https://",
        ),
        (TOKEN, &["--yes", "--token-stdin", "--base-url", "example.com"], 2, "is not an address"),
        ("", &["--yes", "--token-stdin", "--base-url", &url], 2, "is empty"),
        ("two words", &["--yes", "--token-stdin", "--base-url", &url], 2, "has a space in it"),
        ("", &["--yes", "--token-file", open, "--base-url", &url], 2, "chmod 600"),
        ("", &["--yes", "--token-file", "none", "--base-url", &url], 2, "cannot be read"),
        (
            "wrong",
            &["--yes", "--token-stdin", "--base-url", &url],
            1,
            "; copy the access token from the app's settings again",
        ),
        (TOKEN, &["--yes", "--token-stdin", "--base-url", closed], 1, "; check the network connection"),
        (TOKEN, &["--yes", "--token-stdin", "--base-url", &site], 1, &is_it),
        (TOKEN, &["--yes", "--token-stdin", "--base-url", &format!("{url}/pages/x")], 1, &is_it),
        (TOKEN, &["--yes", "--token-stdin", "--base-url", &url, "--root", "/etc"], 2, "not a system folder"),
        (
            TOKEN,
            &["--yes", "--token-stdin", "--base-url", &url, "--workspaces", "x"],
            2,
            "it has access to equipo, archivo",
        ),
        (TOKEN, &["--yes", "--token-stdin", "--base-url", &url, "--root", root], 2, "a separate folder"),
        (
            TOKEN,
            &["--yes", "--token-stdin", "--base-url", &url, "--root", open],
            2,
            "cannot be used as the folder",
        ),
    ] {
        let told = init(home, stdin, words);
        assert_eq!(told.code, code, "{words:?}: {told:?}");
        assert!(told.err.contains(sentence), "{words:?}: {told:?}");
        assert_eq!(told.err.lines().count(), 1, "{words:?}: {told:?}");
        assert!(!home.join(".config").exists() && !home.join(".local").exists(), "{words:?} wrote something");
    }
    fs::create_dir_all(home.join(".config/espejo")).unwrap();
    save(&home.join(".config/espejo/config.toml"), "root = \n");
    let told = init(home, TOKEN, &["--yes", "--token-stdin", "--base-url", &url]);
    assert!(told.code == 2 && told.err.contains("config.toml: this is not TOML"), "{told:?}");
    assert_eq!(fs::read_to_string(home.join(".config/espejo/config.toml")).unwrap(), "root = \n");
}

#[test]
fn a_config_with_an_unknown_key_is_told_before_anything_else() {
    let bench = bench();
    let home = bench.home();
    let place = home.join(".config/espejo/config.toml");
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    let text = format!("base_url = \"{}\"\nroot = \"~/W\"\n[pages]\nsetle_ms = 1\n", bench.base_url());
    save(&place, &text);
    let told = init(home, "", &[]);
    let line = "config.toml line 4: there is no key \"setle_ms\" in [pages]; did you mean \"settle_ms\"?\n";
    assert!(told.code == 2 && told.err.ends_with(line), "{told:?}");
    assert_eq!(fs::read_to_string(&place).unwrap(), text);
    // What init asks for it can mend.
    save(&place, "base_url = \"ftp://a.test\"\nroot = \"/\"\n");
    let told = init(
        home,
        TOKEN,
        &["--yes", "--token-stdin", "--base-url", &bench.base_url(), "--root", "~/Workspace"],
    );
    assert_eq!(told.code, 0, "{told:?}");
}

#[test]
fn a_state_is_not_given_another_root() {
    let bench = bench();
    let (home, url) = (bench.home(), bench.base_url());
    assert_eq!(init(home, TOKEN, &["--base-url", &url, "--token-stdin", "--yes"]).code, 0);
    let sync = || Told::of(bare(home).args(["sync", "--quiet"]).output().unwrap());
    assert_eq!(sync().code, 0);
    let place = home.join(".config/espejo/config.toml");
    let before = fs::read_to_string(&place).unwrap();
    let (new, old) = (home.join("Elsewhere"), home.join("Workspace"));
    let told = init(home, "", &["--root", "~/Elsewhere"]);
    let why = format!(
        "belongs to {}: move that folder to {} first, or, to start again,",
        old.display(),
        new.display()
    );
    assert!(told.code == 2 && told.err.contains(&why) && told.err.lines().count() == 1, "{told:?}");
    assert_eq!(fs::read_to_string(&place).unwrap(), before);
    // As it says.
    fs::rename(&old, &new).unwrap();
    assert_eq!(init(home, "", &["--root", "~/Elsewhere"]).code, 0);
    assert_eq!(sync().code, 0);
    assert!(new.join("Equipo/Pages/One.md").exists() && !old.exists());
}

#[test]
fn a_config_is_written_although_nobody_reads_what_is_said() {
    let bench = bench();
    let url = bench.base_url();
    let token = bench.outside("bench-token");
    let words = ["--base-url", &url, "--token-file", token.to_str().unwrap(), "--yes"];
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = bare(bench.home()).arg("init").args(words).stdin(Stdio::null()).stdout(writer).status();
    assert_eq!(ended.unwrap().code(), Some(0));
    let config = fs::read_to_string(bench.home().join(".config/espejo/config.toml")).unwrap();
    assert!(config.contains(&url), "{config}");
}
