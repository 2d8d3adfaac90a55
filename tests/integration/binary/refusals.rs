//! What espejo says to bad input, over the whole command line and config: the exit code, and one sentence that names the thing,
//! the cause and the mend. The tables are the test; `{dir}` stands for the folder that a case lives in.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use super::bench::{Bench, bare, paragraph, save_bytes};

/// How a command line ends: its words, its exit code, what it says.
type Case<'a> = (&'a str, i32, &'a str);

/// Runs one command line in `dir` and tells what is wrong with how it ended, if anything.
fn complaint(dir: &Path, input: &[u8], env: &[(&str, &str)], (line, code, told): Case<'_>) -> Option<String> {
    let place = dir.to_str().unwrap();
    let mut command = bare(dir);
    // Words are parted by spaces; a word in which one stands is not needed here.
    command.args(line.replace("{dir}", place).split_whitespace());
    command.current_dir(dir).envs(env.iter().copied());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It may have ended without reading.
    drop(child.stdin.take().unwrap().write_all(input));
    let ended = child.wait_with_output().unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    let expected = format!("espejo: {}\n", told.replace("{dir}", place));
    let fits = ended.status.code() == Some(code) && err == expected && ended.stdout.is_empty();
    (!fits).then(|| {
        let out = String::from_utf8_lossy(&ended.stdout);
        let code = ended.status.code();
        format!("$ espejo {line}\n  expected [{code:?}] {expected}  told     [{code:?}] {err}{out}")
    })
}

/// Fails with all complaints at once, so that one run shows the whole list.
fn none(complaints: Vec<Option<String>>) {
    let all: Vec<String> = complaints.into_iter().flatten().collect();
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

const WRONG_WORDS: &[Case<'_>] = &[
    ("stauts", 2, r#"there is no command "stauts"; did you mean "status"?"#),
    ("xyzzy", 2, r#"there is no command "xyzzy"; espejo --help lists the commands"#),
    ("status --jsn", 2, r#"there is no option "--jsn"; did you mean "--json"?"#),
    ("sync --dryrun", 2, r#"there is no option "--dryrun"; did you mean "--dry-run"?"#),
    ("run --xyzzy", 2, r#"there is no option "--xyzzy"; see espejo run --help"#),
    ("run now", 2, r#"unexpected argument "now"; see espejo run --help"#),
    ("list a b", 2, r#"unexpected argument "b"; see espejo list --help"#),
    ("why", 2, r#"there is no command "why"; use espejo status PATH"#),
    ("pull", 2, r#"there is no command "pull"; use espejo sync, or espejo sync PATH for one file"#),
    ("diff --at 3", 2, "<PATH> is missing; see espejo diff --help"),
    ("restore --at 3", 2, "<PATH>... is missing; see espejo restore --help"),
    ("-q -v status", 2, "--quiet and --verbose... cannot be combined"),
    ("status --config", 2, "--config <FILE> needs a value; see espejo --help"),
    ("demo --dir", 2, "--dir <DIR> needs a value; see espejo --help"),
    ("completions", 2, "<SHELL> is missing; see espejo completions --help"),
    ("completions bsh", 2, r#"<SHELL> cannot be "bsh"; did you mean "bash"?"#),
    (
        "completions cmd.exe",
        2,
        r#"<SHELL> cannot be "cmd.exe"; it takes bash, elvish, fish, powershell, zsh"#,
    ),
    ("--log-format xml run", 2, r#"--log-format <FORMAT> cannot be "xml"; it takes text, json"#),
    ("convert to-mrkdown", 2, r#"there is no command "to-mrkdown"; did you mean "to-markdown"?"#),
    (
        "convert to-markdown --base b.json",
        2,
        "--onto <FILE.md> is missing; see espejo convert to-markdown --help",
    ),
    (
        "convert from-markdown --blocks tabel",
        2,
        r#"--blocks names "tabel", which espejo cannot create; did you mean "table"?"#,
    ),
    (
        "convert from-markdown --blocks xyzzy",
        2,
        "--blocks names \"xyzzy\", which espejo cannot create; it can create all, audio, codeBlock, divider, file, image, \
         link, start, table, video",
    ),
    ("convert from-markdown --base none.json", 1, "none.json cannot be read: No such file or directory"),
    ("convert from-markdown --base .", 1, ". cannot be read: Is a directory"),
    (
        "convert to-markdown --base none.json --onto none.md",
        1,
        "none.json cannot be read: No such file or directory",
    ),
    ("search --limit 0 x", 2, "--limit <N> cannot be \"0\"; it takes a number from 1 to 1000"),
    (
        "search plan -draft",
        2,
        "there is no option \"-d\"; words to leave out come after --, as in espejo search -- plan -draft",
    ),
    ("demo --dir /", 1, "the demo does not write into /; choose an empty folder with --dir"),
    (
        "demo --dir /usr/share",
        1,
        "the demo does not write into /usr/share; choose an empty folder with --dir",
    ),
    (
        "status --config /dev/zero",
        2,
        "the config /dev/zero cannot be read: it is not a file; name another with --config",
    ),
    (
        "init --config /dev/zero",
        2,
        "the config /dev/zero cannot be read: it is not a file; name another with --config",
    ),
    (
        "demo --dir {dir}/token",
        1,
        "{dir}/token cannot be used: Not a directory; name another folder with --dir",
    ),
    (
        "status",
        2,
        "there is no config at {dir}/.config/espejo/config.toml; run espejo init, or name another file with --config",
    ),
    (
        "status --config none.toml",
        2,
        "the config none.toml cannot be read: there is no such file; name the right one with --config",
    ),
    (
        "run --config {dir}",
        2,
        "the config {dir} cannot be read: it is a folder; name the file in it with --config",
    ),
    (
        "sync --config none.toml/x.toml",
        2,
        "the config none.toml/x.toml cannot be read: there is no such file; name the right one with --config",
    ),
];

#[test]
fn wrong_words_are_one_sentence_each() {
    let dir = tempfile::tempdir().unwrap();
    save_bytes(&dir.path().join("token"), b"t");
    none(WRONG_WORDS.iter().map(|case| complaint(dir.path(), b"[]", &[], *case)).collect());
}

/// What a whole config says, and what is said to it. `H` stands for the two keys that are needed.
const WRONG_CONFIGS: &[(&str, &str)] = &[
    (
        "",
        r#": base_url is missing; add the service's address, as in base_url = "https://example.com/api/v1""#,
    ),
    (
        "base_url = \"https://example.com\"",
        r#": root is missing; add the folder to mirror into, as in root = "~/Workspace""#,
    ),
    (
        "base_url = https://example.com",
        " line 1: this is not TOML: string values must be quoted, expected literal string",
    ),
    ("[pages", " line 1: this is not TOML: unclosed table, expected `]`"),
    ("H\nroot = \"~/b\"", " line 3: this is not TOML: duplicate key"),
    (
        "H\nroot_dir = \"~/b\"",
        r#" line 3: there is no key "root_dir" at the top level; did you mean "root"?"#,
    ),
    ("H\n[page]", " line 3: there is no section [page]; did you mean [pages]?"),
    (
        "H\n[xyzzy]",
        " line 3: there is no section [xyzzy]; the sections are [limits], [pages], [whiteboards], [presentations], [storage], \
         [notify]",
    ),
    ("H\npages = 3", " line 3: pages is a section: write its keys below a line that says [pages]"),
    (
        "H\n[pages]\nmax_delete = 3",
        r#" line 4: there is no key "max_delete" in [pages]; did you mean "max_deletes"?"#,
    ),
    ("H\nsettle_ms = 3", r#" line 3: there is no key "settle_ms" at the top level; it belongs in [pages]"#),
    (
        "H\n[storage]\nworkspaces = []",
        r#" line 4: there is no key "workspaces" in [storage]; workspaces belongs above the first [section]"#,
    ),
    (
        "H\n[notify]\ndesktp = true",
        r#" line 4: there is no key "desktp" in [notify]; did you mean "desktop"?"#,
    ),
    ("H\n[notify]\ndesktop = \"yes\"", " line 4: desktop in [notify] must be true or false, not text"),
    (
        "H\n[limits]\nrequests_per_minute = 0",
        " line 4: requests_per_minute in [limits] must be a whole number of requests from 2 to 100000",
    ),
    (
        "H\n[limits]\nrequests_per_minute = \"60\"",
        " line 4: requests_per_minute in [limits] must be a whole number of requests from 2 to 100000, not text",
    ),
    (
        "H\n[pages]\nsettle_ms = 5",
        " line 4: settle_ms in [pages] must be a whole number of milliseconds from 10 to 60000",
    ),
    (
        "H\n[pages]\ndelete_grace_seconds = 0",
        " line 4: delete_grace_seconds in [pages] must be a whole number of seconds from 1 to 86400",
    ),
    (
        "H\n[pages]\ndeletes = \"keep\"",
        r#" line 4: deletes in [pages] must be "trash" or "restore", not "keep""#,
    ),
    (
        "H\n[pages]\nmoves = \"move\"",
        r#" line 4: moves in [pages] must be "put-back" or "recreate", not "move""#,
    ),
    (
        "H\n[pages]\nmax_deletes = -1",
        " line 4: max_deletes in [pages] must be a whole number of files from 0 to 1000000",
    ),
    (
        "H\n[pages]\nhistory_days = 0",
        " line 4: history_days in [pages] must be a whole number of days from 1 to 36500",
    ),
    (
        "H\n[pages]\ntrash_days = 1.5",
        " line 4: trash_days in [pages] must be a whole number of days from 1 to 36500, not a decimal number",
    ),
    (
        "H\n[pages]\nblocks = \"table\"",
        r#" line 4: blocks in [pages] must be a list of texts, as in ["one", "two"], not text"#,
    ),
    (
        "H\nworkspaces = [1]",
        r#" line 3: workspaces must be a list of texts, as in ["one", "two"], not a list with something else in it"#,
    ),
    (
        "H\n[whiteboards]\nenabled = 1",
        " line 4: enabled in [whiteboards] must be true or false, not a whole number",
    ),
    (
        "H\n[presentations]\nallow_permanent_deletes = \"no\"",
        " line 4: allow_permanent_deletes in [presentations] must be true or false, not text",
    ),
    (
        "H\n[storage]\nmode = \"both\"",
        r#" line 4: mode in [storage] must be "backup" or "two-way", not "both""#,
    ),
    (
        "H\n[storage]\nworkspace = 3",
        " line 4: workspace in [storage] must be text in quotes, not a whole number",
    ),
    (
        "H\ntoken = \"hunter2\"",
        " line 3: do not put a token into the config; put it into a file that only you can read and name the file with token_file, or set ESPEJO_TOKEN",
    ),
    (
        "base_url = \"http://example.com\"\nroot = \"~/W\"",
        " line 1: base_url must begin with https://, because http would show the token to the network; http is for this \
         machine only (127.0.0.1, ::1, localhost)",
    ),
    (
        "base_url = \"ftp://example.com\"\nroot = \"~/W\"",
        " line 1: base_url must begin with https://, not ftp:",
    ),
    (
        "base_url = \"example.com/api\"\nroot = \"~/W\"",
        " line 1: base_url is not an address; write it as in \"https://example.com/api/v1\"",
    ),
    (
        "base_url = \"https://ana:hunter2@example.com\"\nroot = \"~/W\"",
        " line 1: base_url must not contain a user name or password; the token comes from token_file or ESPEJO_TOKEN",
    ),
    (
        "base_url = \"https://example.com/?key=hunter2\"\nroot = \"~/W\"",
        " line 1: base_url must end with its path; remove the ? or # and the text after it",
    ),
    (
        "base_url = \"https://example.com\"\nroot = \"~\"",
        " line 2: root must be a separate folder, not {dir}; write it as in root = \"~/Workspace\"",
    ),
    (
        "base_url = \"https://example.com\"\nroot = \"/\"",
        " line 2: root must be a separate folder, not /; write it as in root = \"~/Workspace\"",
    ),
    (
        "base_url = \"https://example.com\"\nroot = \"W\"",
        " line 2: root must be a path that begins with / or ~/",
    ),
    (
        "base_url = \"https://example.com\"\nroot = \"~/a/../b\"",
        " line 2: root must not contain .. components; write the full path",
    ),
    (
        "base_url = \"https://example.com\"\nroot = \"~ana/W\"",
        " line 2: root may begin with ~/ but not with another user's ~name",
    ),
    (
        "base_url = \"https://example.com\"\nroot = \"~/s/W\"\nstate_dir = \"~/s\"",
        " line 2: root ({dir}/s/W) and state_dir ({dir}/s) must not contain each other; choose another root",
    ),
    (
        "H\nstate_dir = \"~/W/.state\"",
        " line 2: root ({dir}/W) and state_dir ({dir}/W/.state) must not contain each other; choose another root",
    ),
    ("H\nstate_dir = \"~\"", " line 3: state_dir must be a separate folder, not {dir}"),
    (
        "H\ntoken_file = \"~/W/token\"",
        " line 3: token_file must be outside root, so that the token is never synced",
    ),
    ("H\ntoken_file = \"token\"", " line 3: token_file must be a path that begins with / or ~/"),
    ("H\nroot\u{0}", " line 3: this is not TOML: key with no value, expected `=`"),
];

#[test]
fn wrong_configs_are_refused_with_the_line_and_the_mend() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("c.toml");
    let mut complaints = Vec::new();
    for (text, told) in WRONG_CONFIGS {
        let text = text.replace('H', "base_url = \"https://example.com\"\nroot = \"~/W\"");
        save_bytes(&file, text.as_bytes());
        let told = format!("c.toml{told}");
        complaints.push(complaint(dir.path(), b"", &[], ("status --config c.toml", 2, &told)));
    }
    save_bytes(&file, b"base_url = \"https://h\"\nroot = \"~/caf\xe9\"\n");
    let told = "c.toml line 2: this is not UTF-8 text; save the file as UTF-8";
    complaints.push(complaint(dir.path(), b"", &[], ("sync --config c.toml", 2, told)));
    none(complaints);
}

/// What a token's file holds, its mode, and what is said to it.
const WRONG_TOKENS: &[(&[u8], u32, &str)] = &[
    (b"", 0o600, "the token in {dir}/t is empty: put the access token from the app's settings there"),
    (b"tok\n", 0o644, "others can read the token in {dir}/t: run chmod 600 {dir}/t"),
    (b"tok\n", 0o640, "others can read the token in {dir}/t: run chmod 600 {dir}/t"),
    (
        b"to\nk\n",
        0o600,
        "the token in {dir}/t has more than one line in it: put only the access token there, as the app shows it",
    ),
    (
        b"to k",
        0o600,
        "the token in {dir}/t has a space in it: put only the access token there, as the app shows it",
    ),
    (
        "tokén".as_bytes(),
        0o600,
        "the token in {dir}/t has an invalid character in it: put only the access token there, as the app shows it",
    ),
    (
        b"\xff\xfe",
        0o600,
        "the token in {dir}/t has an invalid character in it: put only the access token there, as the app shows it",
    ),
    (
        b"Bearer tok",
        0o600,
        "the token in {dir}/t has the word Bearer in it: put only the access token there, as the app shows it",
    ),
];

#[test]
fn wrong_tokens_are_told_and_never_shown() {
    let dir = tempfile::tempdir().unwrap();
    let text = |more: &str| {
        format!("base_url = \"http://127.0.0.1:9/api/v1\"\nroot = \"~/W\"\nstate_dir = \"~/s\"\n{more}")
    };
    save_bytes(&dir.path().join("c.toml"), text("token_file = \"~/t\"\n").as_bytes());
    save_bytes(&dir.path().join("none.toml"), text("").as_bytes());
    let token = dir.path().join("t");
    let mut complaints = Vec::new();
    for (bytes, mode, told) in WRONG_TOKENS {
        save_bytes(&token, bytes);
        fs::set_permissions(&token, fs::Permissions::from_mode(*mode)).unwrap();
        for command in ["sync", "run"] {
            let line = format!("{command} --config c.toml");
            complaints.push(complaint(dir.path(), b"", &[], (&line, 2, told)));
        }
    }
    let mut check = |env: &[(&str, &str)], line, told| {
        complaints.push(complaint(dir.path(), b"", env, (line, 2, told)));
    };
    fs::remove_file(&token).unwrap();
    let missing = "the token in {dir}/t cannot be read: No such file or directory; put the access token from the app's settings there";
    check(&[], "sync --config c.toml", missing);
    fs::create_dir(&token).unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o700)).unwrap();
    let folder = "the token in {dir}/t cannot be read: Is a directory; put the access token from the app's settings there";
    check(&[], "sync --config c.toml", folder);
    let none_at_all =
        "no token: set ESPEJO_TOKEN, or token_file in the config, or the systemd credential espejo-token";
    check(&[], "sync --config none.toml", none_at_all);
    let empty = "ESPEJO_TOKEN is empty: put the access token from the app's settings there";
    check(&[("ESPEJO_TOKEN", "")], "sync --config none.toml", empty);
    none(complaints);
    assert!(!dir.path().join("s").exists(), "nothing is made before the token is there");
}

/// Paths and times, with a mirror of one page, `Equipo/Pages/Page.md`.
const WRONG_PLACES: &[Case<'_>] = &[
    ("list /etc", 1, "/etc is not in the mirror {dir}/mirror"),
    ("list ../elsewhere", 1, "../elsewhere is not in the mirror {dir}/mirror"),
    ("list nowhere", 1, "nothing is mirrored at nowhere; espejo list shows what is"),
    ("status /etc/passwd", 1, "/etc/passwd is not in the mirror {dir}/mirror"),
    ("status nowhere.md", 1, "nowhere.md is not mirrored; espejo list shows what is"),
    ("log /etc/passwd", 1, "/etc/passwd is not in the mirror {dir}/mirror"),
    (
        "resolve nowhere.md --mine",
        1,
        "nothing collided or differs at nowhere.md; espejo resolve lists what does",
    ),
    ("diff /etc/passwd", 1, "/etc/passwd is not in the mirror {dir}/mirror"),
    ("diff nowhere.md --at 1", 1, "the history has no version of nowhere.md"),
    (
        "diff Equipo/Pages/Page.md --at tomorrow-ish",
        1,
        "\"tomorrow-ish\" is neither a change nor a version of Equipo/Pages/Page.md, nor a time; espejo log PATH lists them, and a time is like 14:30, yesterday, 2026-05-31, \"2026-05-31 14:30\" or 2h",
    ),
    ("restore /etc/passwd", 1, "/etc/passwd is not in the mirror {dir}/mirror"),
    ("restore nowhere.md --at 1", 1, "the history has no version of nowhere.md"),
    (
        "restore Equipo/Pages/Page.md --at 99:99",
        1,
        "\"99:99\" is neither a change nor a version of Equipo/Pages/Page.md, nor a time; espejo log PATH lists them, and a time is like 14:30, yesterday, 2026-05-31, \"2026-05-31 14:30\" or 2h",
    ),
    ("approve /etc", 1, "/etc is not in the mirror {dir}/mirror"),
    ("approve nowhere.md", 1, "nothing is on hold at nowhere.md; espejo status shows what is"),
    ("approve Equipo/Pages/Page", 1, "nothing is on hold at Equipo/Pages/Page; espejo status shows what is"),
    ("approve {dir}/state", 1, "{dir}/state is not in the mirror {dir}/mirror"),
];

#[test]
fn wrong_places_and_times_are_one_sentence_each() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Page", vec![paragraph("a", "words")]);
    });
    bench.sync();
    let dir = bench.outside("");
    let dir = Path::new(dir.to_str().unwrap().trim_end_matches('/'));
    let here = |(line, code, told): &Case<'_>| {
        let line = format!("--config {{dir}}/config.toml {line}");
        complaint(dir, b"", &[], (&line, *code, told))
    };
    none(WRONG_PLACES.iter().map(here).collect());
    let told = bench.tell(&["approve", "--yes"]);
    assert_eq!((told.code, told.out.as_str()), (0, "nothing is on hold\n"), "{told:?}");
    // Before there is a mirror.
    fs::remove_dir_all(bench.state()).unwrap();
    let no_mirror = "there is no mirror yet: run espejo sync or espejo run first";
    let all = ["diff", "undo", "approve", "restore", "log", "sync Equipo/Pages/Page.md"];
    none(all.iter().map(|line| here(&(line, 1, no_mirror))).collect());
    // A state folder, and then a root, where no folder can be.
    save_bytes(&bench.state(), b"");
    let told =
        "the state folder {dir}/state cannot be used: File exists; fix it, or choose another with state_dir";
    none(["sync", "run"].iter().map(|line| here(&(line, 1, told))).collect());
    fs::remove_file(bench.state()).unwrap();
    fs::remove_dir_all(bench.root()).unwrap();
    save_bytes(&bench.root(), b"");
    let told = "{dir}/mirror cannot be created: File exists; choose another folder or fix this one";
    none(vec![here(&("sync", 1, told))]);
}

const EXPECTED: &str = "expected a block array, a page with content, or either of them as data";

#[test]
fn what_cannot_be_converted_is_said() {
    let dir = tempfile::tempdir().unwrap();
    save_bytes(&dir.path().join("bad.json"), b"{");
    save_bytes(&dir.path().join("empty.json"), b"[]");
    save_bytes(&dir.path().join("bin.md"), b"\xff");
    let check = |input: &[u8], line: &str, told: &str| {
        complaint(dir.path(), input, &[], (&format!("convert {line}"), 1, told))
    };
    let mut complaints = Vec::new();
    for (input, told) in [
        ("", format!("stdin is empty; {EXPECTED}")),
        ("x", "stdin is not the JSON of blocks: expected value at line 1 column 1".to_owned()),
        ("[", "stdin is not the JSON of blocks: EOF while parsing a list at line 1 column 1".to_owned()),
        ("{}", format!("stdin is an object without content; {EXPECTED}")),
        ("3", format!("stdin is a number; {EXPECTED}")),
        ("null", format!("stdin is null; {EXPECTED}")),
        ("\"a\"", format!("stdin is a text; {EXPECTED}")),
        ("[1]", "block 1 in stdin is a number, not an object".to_owned()),
        ("[{\"id\":1}]", format!("block 1 in stdin has no type, so it is no block; {EXPECTED}")),
        ("{\"content\":3}", format!("the content in stdin is a number; {EXPECTED}")),
    ] {
        complaints.push(check(input.as_bytes(), "to-markdown", &told));
    }
    for (input, line, told) in [
        (&b"a\n\xff"[..], "from-markdown", "stdin line 2 is not UTF-8 text; save the file as UTF-8"),
        (
            b"x",
            "from-markdown --base bad.json",
            "bad.json is not the JSON of blocks: EOF while parsing an object at line 1 column 1",
        ),
        (
            b"[]",
            "to-markdown --base empty.json --onto bin.md",
            "bin.md line 1 is not UTF-8 text; save the file as UTF-8",
        ),
        (
            b"[]",
            "to-markdown --base empty.json --onto none.md",
            "none.md cannot be read: No such file or directory",
        ),
        (
            b"---\nid: [\n---\nx",
            "from-markdown",
            "stdin: the front matter is broken in line 3: while parsing a node, did not find expected node content",
        ),
    ] {
        complaints.push(check(input, line, told));
    }
    none(complaints);
}
