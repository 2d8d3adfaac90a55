//! The config, case by case: what is read, what is refused, and in which words.

use std::path::Path;

use super::file::KEYS;
use super::*;
use crate::model::{Deletes, Moves, WorkspaceMode};

const EXAMPLE: &str = include_str!("../../config.example.toml");
const HEAD: &str = "base_url = \"https://example.com/api/v1\"\nroot = \"~/Workspace\"\n";

fn env(name: &str) -> Option<String> {
    (name == "HOME").then(|| "/home/ana".to_owned())
}

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, "config.toml", &env)
}

/// Each text is refused with exactly these words.
fn check_refused(cases: &[(&str, &str)]) {
    for (text, words) in cases {
        match parse(text) {
            Err(refusal) => assert_eq!(refusal.to_string(), *words, "{text}"),
            Ok(config) => panic!("{text}\nwas taken as {config:?}"),
        }
    }
}

/// Each text below the two needed keys is refused with exactly these words.
fn check_refused_below_head(cases: &[(&str, &str)]) {
    for (text, words) in cases {
        check_refused(&[(&format!("{HEAD}{text}"), words)]);
    }
}

fn paths(root: &str, state_dir: &str, token_file: &str) -> Result<Config, ConfigError> {
    parse(&format!(
        "base_url = \"https://example.com\"\nroot = \"{root}\"\nstate_dir = \"{state_dir}\"\n\
         token_file = \"{token_file}\"\n"
    ))
}

#[test]
fn every_default_is_the_models() {
    let config = parse(HEAD).unwrap();
    let expected = Config::new(
        "https://example.com/api/v1".into(),
        "/home/ana/Workspace".into(),
        "/home/ana/.local/state/espejo".into(),
    );
    assert_eq!(config, expected);
    // The engine by itself leaves storage alone.
    let storage = model::StorageSettings { mode: StorageMode::Backup, workspace: None, max_download: None };
    assert_eq!(config.settings(), model::Settings { storage, ..model::Settings::default() });
}

#[test]
fn every_key_reaches_its_place() {
    let text = r#"
base_url = "https://example.com/api/v1/"
root = "/srv/mirror/"
state_dir = "/var/lib/espejo"
token_file = "~/token"
proxy = "http://ana:pw@proxy:3128"
ca_file = "~/ca.pem"
workspaces = ["one", "two"]
ignore = ["drafts/", "*.psd"]
limits.requests_per_minute = 30
[pages]
settle_ms = 1_000
delete_grace_seconds = 5
deletes = "restore"
moves = "recreate"
max_deletes = 0
max_creates = 50
history_days = 7
trash_days = 8
blocks = ["table"]
[whiteboards]
enabled = false
[presentations]
enabled = false
allow_permanent_deletes = true
[storage]
enabled = false
mode = "two-way"
workspace = "equipo"
max_download_mb = 100
[notify]
desktop = true
command = ["mail", "-s", "espejo", "ana"]
[[workspace]]
slug = "one"
mode = "down"
[[workspace]]
slug = "three"
"#;
    let config = parse(text).unwrap();
    let expected = Config {
        base_url: "https://example.com/api/v1".into(),
        root: "/srv/mirror".into(),
        state_dir: "/var/lib/espejo".into(),
        token_file: Some("/home/ana/token".into()),
        proxy: Some("http://ana:pw@proxy:3128".into()),
        ca_file: Some("/home/ana/ca.pem".into()),
        workspaces: vec!["one".into(), "two".into()],
        ignore: vec!["drafts/".into(), "*.psd".into()],
        modes: [("one".to_owned(), WorkspaceMode::Down), ("three".to_owned(), WorkspaceMode::TwoWay)].into(),
        requests_per_minute: 30,
        pages: PageSettings {
            settle_ms: 1_000,
            delete_grace_ms: 5_000,
            deletes: Deletes::Restore,
            moves: Moves::Recreate,
            max_deletes: 0,
            max_creates: 50,
            history_days: 7,
            trash_days: 8,
            blocks: vec!["table".into()],
        },
        whiteboards: Whiteboards { enabled: false },
        presentations: Presentations { enabled: false, allow_permanent_deletes: true },
        storage: Storage {
            enabled: false,
            mode: StorageMode::TwoWay,
            workspace: Some("equipo".into()),
            max_download_mb: 100,
        },
        notify: Notify {
            desktop: true,
            command: ["mail", "-s", "espejo", "ana"].map(str::to_owned).to_vec(),
        },
        warnings: Vec::new(),
    };
    assert_eq!(config, expected);
}

#[test]
fn a_workspace_of_a_table_is_mirrored_and_tables_that_say_nothing_are_refused() {
    let chosen = |text: &str| parse(&format!("{HEAD}{text}")).unwrap().settings().workspaces;
    assert_eq!(chosen("[[workspace]]\nslug = \"a\"\n"), Vec::<String>::new(), "all are");
    assert_eq!(chosen("workspaces = [\"b\"]\n[[workspace]]\nslug = \"a\"\n"), ["b", "a"]);
    check_refused_below_head(&[
        (
            "[[workspace]]\nmode = \"down\"\n",
            r#"config.toml line 3: [[workspace]] needs the workspace's slug, as in slug = "acme""#,
        ),
        (
            "[[workspace]]\nslug = \"a\"\nmode = \"up\"\n",
            r#"config.toml line 5: mode in [workspace] must be "two-way" or "down", not "up""#,
        ),
        (
            "[[workspace]]\nslug = \"a\"\nmod = \"down\"\n",
            r#"config.toml line 5: there is no key "mod" in [workspace]; did you mean "mode"?"#,
        ),
        (
            "[workspace]\nslug = \"a\"\n",
            "config.toml line 3: there may be several of workspace: write [[workspace]], with two brackets",
        ),
        (
            "[[workspace]]\nslug = \"a\"\n[[workspace]]\nslug = \"a\"\n",
            r#"config.toml line 5: there are two [[workspace]] with slug = "a"; one is enough"#,
        ),
        (
            "ignore = [\"a[\"]\n",
            "config.toml line 3: the pattern \"a[\" in ignore cannot be read: unclosed character class; missing ']'",
        ),
    ]);
}

#[test]
fn unknown_keys_are_refused_with_line_and_nearest_key() {
    check_refused_below_head(&[
        (
            "[pages]\nmax_delete = 3\n",
            r#"config.toml line 4: there is no key "max_delete" in [pages]; did you mean "max_deletes"?"#,
        ),
        (
            "\n\n[limits]\nrequests-per-minute = 3\n",
            r#"config.toml line 6: there is no key "requests-per-minute" in [limits]; did you mean "requests_per_minute"?"#,
        ),
        (
            "settle_ms = 3\n",
            r#"config.toml line 3: there is no key "settle_ms" at the top level; it belongs in [pages]"#,
        ),
        (
            "[storage]\nworkspaces = []\n",
            r#"config.toml line 4: there is no key "workspaces" in [storage]; workspaces belongs above the first [section]"#,
        ),
        (
            "[limits]\nhistory_day = 3\n",
            r#"config.toml line 4: there is no key "history_day" in [limits]; did you mean "history_days" in [pages]?"#,
        ),
        (
            "[storage]\nxyzzy = 3\n",
            r#"config.toml line 4: there is no key "xyzzy" in [storage]; there are enabled, mode, workspace, max_download_mb"#,
        ),
        ("[page]\n", "config.toml line 3: there is no section [page]; did you mean [pages]?"),
        (
            "[xyzzy]\nx = 1\n",
            "config.toml line 3: there is no section [xyzzy]; the sections are [limits], [pages], [whiteboards], \
             [presentations], [storage], [notify]",
        ),
        (
            "pages = 3\n",
            "config.toml line 3: pages is a section: write its keys below a line that says [pages]",
        ),
        (
            "[[pages]]\nsettle_ms = 300\n",
            "config.toml line 3: pages is a section: write its keys below a line that says [pages]",
        ),
        // Of several, the first in the file.
        (
            "[storage]\nmod = \"backup\"\n[limits]\nrequest_per_minute = 1\n",
            r#"config.toml line 4: there is no key "mod" in [storage]; did you mean "mode"?"#,
        ),
    ]);
}

#[test]
fn wrong_types_and_ranges_are_refused_with_the_line() {
    check_refused_below_head(&[
        (
            "[pages]\nsettle_ms = \"300\"\n",
            "config.toml line 4: settle_ms in [pages] must be a whole number of milliseconds from 10 to 60000, not text",
        ),
        (
            "[pages]\nsettle_ms = 300.0\n",
            "config.toml line 4: settle_ms in [pages] must be a whole number of milliseconds from 10 to 60000, not a \
             decimal number",
        ),
        (
            "[pages]\ndelete_grace_seconds = -1\n",
            "config.toml line 4: delete_grace_seconds in [pages] must be a whole number of seconds from 1 to 86400",
        ),
        (
            "[limits]\nrequests_per_minute = 0\n",
            "config.toml line 4: requests_per_minute in [limits] must be a whole number of requests from 2 to 100000",
        ),
        (
            "[limits]\nrequests_per_minute = 1\n",
            "config.toml line 4: requests_per_minute in [limits] must be a whole number of requests from 2 to 100000",
        ),
        (
            "[limits]\nrequests_per_minute = 1000000000\n",
            "config.toml line 4: requests_per_minute in [limits] must be a whole number of requests from 2 to 100000",
        ),
        (
            "[limits]\nrequests_per_minute = 1e9\n",
            "config.toml line 4: requests_per_minute in [limits] must be a whole number of requests from 2 to 100000, not a \
             decimal number",
        ),
        (
            "[limits]\nrequests_per_minute = 1_000_000_000\n",
            "config.toml line 4: requests_per_minute in [limits] must be a whole number of requests from 2 to 100000",
        ),
        (
            "[limits]\nrequests_per_minute = 999999999999999999\n",
            "config.toml line 4: requests_per_minute in [limits] must be a whole number of requests from 2 to 100000",
        ),
        (
            "[pages]\ndeletes = \"keep\"\n",
            r#"config.toml line 4: deletes in [pages] must be "trash" or "restore", not "keep""#,
        ),
        (
            "[storage]\nmode = true\n",
            r#"config.toml line 4: mode in [storage] must be "backup" or "two-way", not true or false"#,
        ),
        (
            "[whiteboards]\nenabled = \"yes\"\n",
            "config.toml line 4: enabled in [whiteboards] must be true or false, not text",
        ),
        (
            "workspaces = \"one\"\n",
            r#"config.toml line 3: workspaces must be a list of texts, as in ["one", "two"], not text"#,
        ),
        (
            "workspaces = [\"one\", 2]\n",
            r#"config.toml line 3: workspaces must be a list of texts, as in ["one", "two"], not a list with something else in it"#,
        ),
        (
            "workspaces = [\" \"]\n",
            r#"config.toml line 3: workspaces must be a list of texts, as in ["one", "two"], not a list with an empty text"#,
        ),
    ]);
    check_refused(&[(
        "root = 3\nbase_url = \"https://example.com\"",
        "config.toml line 1: root must be text in quotes, not a whole number",
    )]);
}

#[test]
fn every_key_is_typed() {
    for (section, keys) in KEYS {
        for key in *keys {
            let header = if section.is_empty() { String::new() } else { format!("[{section}]\n") };
            let head: String =
                HEAD.lines().filter(|line| !line.starts_with(key)).map(|line| format!("{line}\n")).collect();
            let refusal = parse(&format!("{head}{header}{key} = 1979-05-27\n")).unwrap_err().to_string();
            assert!(refusal.contains(&format!("{key} ")) && refusal.ends_with("not a date"), "{refusal}");
        }
    }
}

#[test]
fn what_is_no_toml_is_refused_in_one_line() {
    for (text, line) in [
        ("base_url = https://example.com\n", 1),
        ("\n\n[pages\n", 3),
        ("root = \"a\"\nroot = \"b\"\n", 2),
        ("root = \"open\n", 1),
    ] {
        let refusal = parse(text).unwrap_err().to_string();
        assert!(refusal.starts_with(&format!("config.toml line {line}: this is not TOML: ")), "{refusal}");
        assert_eq!(refusal.lines().count(), 1, "{refusal}");
    }
    assert!(parse(&format!("\u{feff}{HEAD}")).is_ok(), "a byte order mark is no content");
    assert!(parse(&HEAD.replace('\n', "\r\n")).is_ok());
}

#[test]
fn what_is_needed_is_asked_for() {
    check_refused(&[
        (
            "",
            r#"config.toml: base_url is missing; add the service's address, as in base_url = "https://example.com/api/v1""#,
        ),
        (
            "base_url = \"https://example.com\"\n",
            r#"config.toml: root is missing; add the folder to mirror into, as in root = "~/Workspace""#,
        ),
    ]);
}

#[test]
fn only_safe_addresses_are_taken() {
    let with = |address: &str| parse(&format!("base_url = {address:?}\nroot = \"~/W\"\n"));
    for (address, taken) in [
        ("https://example.com/api/v1", "https://example.com/api/v1"),
        ("https://EXAMPLE.com/api/v1//", "https://example.com/api/v1"),
        (" https://example.com ", "https://example.com"),
        ("http://127.0.0.1:8080/api/v1", "http://127.0.0.1:8080/api/v1"),
        ("http://127.8.9.10", "http://127.8.9.10"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("http://localhost:8080", "http://localhost:8080"),
    ] {
        assert_eq!(with(address).unwrap().base_url, taken);
    }
    for address in [
        "",
        "example.com/api/v1",
        "http://example.com",
        "http://0.0.0.0",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://localhost@example.com",
        "https://ana:hunter2@example.com",
        "https://example.com/?key=hunter2",
        "https://example.com/#hunter2",
        "ftp://example.com",
        "file:///etc/passwd",
    ] {
        let refusal = with(address).unwrap_err().to_string();
        assert!(refusal.starts_with("config.toml line 1: base_url "), "{refusal}");
        assert!(!refusal.contains("hunter2"), "{refusal}");
    }
}

#[test]
fn a_token_in_the_config_is_refused_and_never_shown() {
    for key in
        ["token", "access_token", "api-key", "API_TOKEN", "password", "pages.token", "ESPEJO_TOKEN", "secret"]
    {
        let refusal = parse(&format!("{HEAD}{key} = \"hunter2\"\n")).unwrap_err().to_string();
        assert_eq!(
            refusal,
            "config.toml line 3: do not put a token into the config; put it into a file that only you can read and name the file with token_file, or set ESPEJO_TOKEN",
            "{key}"
        );
    }
    for text in [
        "token_file = \"hunter2\"",
        "token_file = hunter2",
        "token_file = \"hunter2",
        "base_url = \"hunter2\"",
    ] {
        let text = if text.starts_with("base") { text.to_owned() } else { format!("{HEAD}{text}") };
        let refusal = parse(&text).unwrap_err();
        assert!(!format!("{refusal} {refusal:?}").contains("hunter2"), "{refusal}");
    }
}

#[test]
fn places_that_would_harm_each_other_are_refused() {
    for (root, state_dir, token_file, why) in [
        ("/", "/s", "/t", "root must be a separate folder"),
        ("~", "/s", "/t", "root must be a separate folder"),
        ("/home/ana/", "/s", "/t", "root must be a separate folder"),
        ("/home", "/s", "/t", "root must be a separate folder"),
        ("/etc", "/s", "/t", "root must be a separate folder, not a system folder like /etc"),
        ("/usr/share/notes", "/s", "/t", "root must be a separate folder, not a system folder"),
        ("/var", "/s", "/t", "root must be a separate folder, not a system folder"),
        ("/dev/shm", "/s", "/t", "root must be a separate folder, not a system folder"),
        ("/w", "~/", "/t", "state_dir must be a separate folder"),
        ("/w", "/", "/t", "state_dir must be a separate folder"),
        ("/s/w", "/s", "/t", "must not contain each other"),
        ("/s", "/s", "/t", "must not contain each other"),
        ("/w", "/w/.state", "/t", "must not contain each other"),
        ("/w", "/s", "/w/token", "token_file must be outside root"),
        ("w", "/s", "/t", "root must be a path that begins with / or ~/"),
        ("/w", "s", "/t", "state_dir must be a path that begins with / or ~/"),
        ("/w", "/s", "t", "token_file must be a path that begins with / or ~/"),
        ("~eva/w", "/s", "/t", "not with another user's ~name"),
        ("/a/../w", "/s", "/t", "must not contain .. components"),
        (r"/w\u0000", "/s", "/t", "control characters"),
        ("", "/s", "/t", "root must be a path"),
    ] {
        let refusal = paths(root, state_dir, token_file).unwrap_err().to_string();
        assert!(refusal.contains(why), "{root} {state_dir} {token_file}: {refusal}");
        assert!(refusal.starts_with("config.toml line "), "{refusal}");
    }
    // A name that only begins alike is another place.
    let config = paths("/data/w/./x/", "/data/w-state", "/data/w/xtoken").unwrap();
    assert_eq!(config.root, Path::new("/data/w/x"));
}

#[test]
fn the_environment_names_the_places() {
    let state = |pairs: &[(&str, &str)]| {
        let env =
            |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Config::parse(&HEAD.replace('~', "/srv"), "config.toml", &env).map(|config| config.state_dir)
    };
    for (pairs, expected) in [
        (&[("HOME", "/home/ana")][..], "/home/ana/.local/state/espejo"),
        (&[("HOME", "/home/ana"), ("XDG_STATE_HOME", "/x")], "/x/espejo"),
        // Relative directories do not count.
        (&[("HOME", "/home/ana"), ("XDG_STATE_HOME", "x")], "/home/ana/.local/state/espejo"),
        // systemd's directory is the daemon's own already.
        (&[("HOME", "/root"), ("XDG_STATE_HOME", "/x"), ("STATE_DIRECTORY", "/var/lib/e:/b")], "/var/lib/e"),
    ] {
        assert_eq!(state(pairs).unwrap(), Path::new(expected));
    }
    assert_eq!(
        state(&[]).unwrap_err().to_string(),
        "config.toml: state_dir is missing and HOME is not set; add state_dir = \"/…\""
    );
}

#[test]
fn more_requests_than_the_service_allows_are_warned_of() {
    let warnings = |address: &str, limit: u32| {
        let text =
            format!("base_url = {address:?}\nroot = \"~/W\"\n[limits]\nrequests_per_minute = {limit}\n");
        parse(&text).unwrap().warnings
    };
    assert_eq!(
        warnings("https://example.com", 61),
        ["config.toml: requests_per_minute is 61, but the service allows 60 and refuses the rest"]
    );
    assert!(warnings("https://example.com", 60).is_empty());
    assert!(warnings("http://127.0.0.1:1", 100_000).is_empty());
}

#[test]
fn the_example_names_every_key_with_its_default() {
    let as_it_is = parse(EXAMPLE).unwrap();
    assert_eq!(as_it_is, parse(HEAD).unwrap());

    // `# key = …` is a key commented out; `# Words …` is a comment.
    let uncommented: String = EXAMPLE
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ')) => rest,
            _ => line,
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let table: toml::Table = uncommented.parse().unwrap();
    for (section, keys) in KEYS {
        for key in *keys {
            let there = match *section {
                "" => table.contains_key(*key),
                section => table[section].as_table().unwrap().contains_key(*key),
            };
            assert!(there, "config.example.toml does not name {key} in [{section}]");
        }
    }
    let mut spelt_out = parse(&uncommented).unwrap();
    assert_eq!(spelt_out.token_file.take().as_deref(), Some(Path::new("/home/ana/.config/espejo/token")));
    assert_eq!(spelt_out.proxy.take().as_deref(), Some("http://proxy.example.com:3128"));
    assert_eq!(spelt_out.ca_file.take().as_deref(), Some(Path::new("/home/ana/.config/espejo/ca.pem")));
    assert_eq!(spelt_out.storage.workspace.take().as_deref(), Some("acme"));
    assert_eq!(spelt_out, as_it_is, "a default in config.example.toml is not the code's");
}

#[test]
fn a_root_within_a_mirror_is_refused() {
    let outer = tempfile::tempdir().unwrap();
    let outer = outer.path().canonicalize().unwrap();
    let inner = outer.join("Team/Pages/Copy");
    let refusal = |root: &Path| paths(root.to_str().unwrap(), "/s", "/t").map_err(|error| error.to_string());
    assert!(refusal(&inner).is_ok());
    std::fs::create_dir_all(outer.join(".espejo")).unwrap();
    std::fs::File::create(outer.join(".espejo/marker")).unwrap();
    // The mirror itself, and what lies beside it, may be one.
    assert!(refusal(&outer).is_ok());
    let why = refusal(&inner).unwrap_err();
    assert!(why.contains("is inside the mirror") && why.ends_with("choose a folder outside it"), "{why}");
}

#[test]
fn what_lies_beside_the_system_may_be_a_root() {
    for root in [
        "/srv/notes",
        "/mnt/disk/notes",
        "/var/lib/espejo/notes",
        "/dev/shm/x",
        "/tmp/x",
        "/etcetera",
        "/run/media/ana/usb",
    ] {
        assert!(paths(root, "/s", "/t").is_ok(), "{root}");
    }
    let home = |name: &str| (name == "HOME").then(|| "/usr/home/ana".to_owned());
    assert!(Config::parse(HEAD, "config.toml", &home).is_ok(), "a home may be there");
}

#[test]
fn a_refusal_knows_which_value_it_is_about() {
    let about = |text: &str| parse(text).unwrap_err().is_about(&["base_url", "root"]);
    assert!(about("") && about("base_url = 1\n") && about("base_url = \"https://e.com\"\nroot = \"/\"\n"));
    assert!(!about(&format!("{HEAD}root_dir = 1\n")) && !about(&format!("{HEAD}[pages]\nsettle_ms = 1\n")));
}

#[test]
fn a_config_without_end_is_not_read() {
    for (place, cause) in [("/dev/zero", "it is not a file"), ("/dev/null", "it is not a file")] {
        let told = Config::load(Some(Path::new(place)), &env).unwrap_err().to_string();
        assert_eq!(told, format!("the config {place} cannot be read: {cause}; name another with --config"));
    }
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("large.toml");
    std::fs::File::create(&place).unwrap().set_len(2 << 20).unwrap();
    let told = Config::load(Some(&place), &env).unwrap_err().to_string();
    assert!(told.contains("cannot be read: it is too large for a config; "), "{told}");
    // A pipe is read to its end.
    let (read, mut write) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut write, HEAD.as_bytes()).unwrap();
    drop(write);
    let pipe = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&read));
    assert!(Config::load(Some(Path::new(&pipe)), &env).is_ok());
}
