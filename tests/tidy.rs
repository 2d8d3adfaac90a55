//! The shape of the project as a test: who may import whom, how files open and how long they are, what no file may do, and
//! that the documents speak of things that exist. It reads the source as text and judges no behaviour.

#![expect(clippy::unwrap_used, reason = "a tree that cannot be read has failed the test")]

#[path = "tidy/arrows.rs"]
mod arrows;
#[path = "tidy/docs.rs"]
mod docs;
#[path = "tidy/reasons.rs"]
mod reasons;
#[path = "tidy/shape.rs"]
mod shape;
#[path = "tidy/source.rs"]
mod source;

use std::collections::{BTreeMap, BTreeSet};

use source::{Source, project, sources};

/// Which modules of the crate each module may name. What is not in the table may not exist.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("markdown", &["model"]),
    ("canvas", &["model"]),
    ("plan", &["model"]),
    ("core", &["model", "canvas", "plan", "store"]),
    ("store", &["model"]),
    ("search", &["model"]),
    ("engine", &["model", "markdown", "canvas", "plan", "core", "store"]),
    ("mirror", &["model"]),
    ("service", &["model"]),
    ("emulator", &["model"]),
    ("config", &["model"]),
    ("logging", &[]),
    ("daemon", &["model", "markdown", "canvas", "plan", "store", "engine", "mirror", "service", "config"]),
    (
        "cli",
        &[
            "model", "markdown", "canvas", "plan", "core", "store", "search", "engine", "mirror", "service",
            "config", "logging", "daemon",
        ],
    ),
];

/// On top: they may name everything, and nothing above may name them.
const ON_TOP: &[&str] = &["commands", "main", "lib"];

/// What reaches for the world. These modules are told instead.
const PURE: &[&str] = &["model", "markdown", "canvas", "plan", "core", "engine"];
const WORLD: &[&str] = &[
    "tokio::",
    "reqwest::",
    "hyper::",
    "notify::",
    "rustix::",
    "std::fs",
    "std::net",
    "std::env",
    "std::thread",
    "std::process",
    "SystemTime",
    "Instant",
    "::now(",
    "new_v4",
    "SystemRandom",
];

const LONGEST: usize = 600;

/// Fails with every complaint at once, so that one run shows the whole list.
fn none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn modules_import_only_what_they_may() {
    let all = sources();
    let modules: BTreeSet<&str> = all.iter().filter_map(Source::module).collect();
    let table: BTreeMap<&str, &[&str]> = MAY_IMPORT.iter().copied().collect();
    let mut complaints = Vec::new();
    for source in all {
        let Some(own) = source.module().filter(|own| !ON_TOP.contains(own)) else { continue };
        let Some(allowed) = table.get(own) else {
            complaints.push(format!("{}: {own} is not in the table of imports", source.path));
            continue;
        };
        for named in named_modules(source, &modules) {
            if named != own && !allowed.contains(&named.as_str()) {
                complaints.push(format!("{}: {own} may not import {named}", source.path));
            }
        }
        if PURE.contains(&own) {
            let reached = WORLD.iter().filter(|word| untested(source).contains(**word));
            complaints.extend(reached.map(|word| format!("{}: {own} is pure, but says {word}", source.path)));
        }
    }
    none(complaints);
}

/// A file's code without its tests, which come last; nothing where the file is all tests.
fn untested(source: &Source) -> &str {
    if source.path.contains("/tests") {
        return "";
    }
    source.code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// The top-level modules that a file names, by `crate::x`, `crate::{x, y}`, or enough `super`s.
fn named_modules(source: &Source, modules: &BTreeSet<&str>) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    let mut note = |word: &str| {
        let word: String =
            word.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if modules.contains(word.as_str()) {
            named.insert(word);
        }
    };
    for (at, _) in source.code.match_indices("crate::") {
        let after = &source.code[at + "crate::".len()..];
        note(after);
        if after.starts_with('{') {
            let mut depth = 0;
            for (index, c) in after.char_indices() {
                depth += i32::from(c == '{') - i32::from(c == '}');
                if depth == 0 {
                    break;
                }
                if depth == 1 && (c == '{' || c == ',') {
                    note(&after[index + 1..]);
                }
            }
        }
    }
    // `super::x` is a neighbour where the module's own folder has an `x`, and climbs to the crate's root otherwise.
    let folder = project().join("src").join(source.module().unwrap_or_default());
    for (at, _) in source.code.match_indices("super::") {
        let after = &source.code[at + "super::".len()..];
        let word: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let is_neighbour = folder.join(format!("{word}.rs")).exists() || folder.join(&word).is_dir();
        if !is_neighbour {
            note(after);
        }
    }
    named
}

#[test]
fn files_open_with_a_header_and_stay_short() {
    let mut complaints = Vec::new();
    for source in sources() {
        if !source.text.starts_with("//! ") {
            complaints.push(format!("{} does not open with //!", source.path));
        }
        let lines = source.text.lines().count();
        if lines > LONGEST {
            complaints.push(format!("{} has {lines} lines, more than {LONGEST}", source.path));
        }
    }
    none(complaints);
}

/// The calls that change names on the disk: `sys` makes them and records them, so that tests can cut the power after each.
const NAME_CALLS: [&str; 6] =
    ["::renameat", "::unlinkat", "::mkdirat", "::symlinkat", "::linkat", "OFlags::CREATE"];

#[test]
fn only_one_file_changes_names_on_the_disk() {
    let edge = sources().iter().filter(|source| source.path.starts_with("src/mirror/"));
    let others = edge.filter(|source| source.path != "src/mirror/sys.rs" && !source.path.contains("/tests"));
    let complaints = others.flat_map(|source| {
        let made = NAME_CALLS.iter().filter(|call| source.code.contains(**call));
        made.map(|call| format!("{}: {call} belongs in sys.rs", source.path))
    });
    none(complaints.collect());
}

#[test]
fn every_program_is_started_without_the_token() {
    let others = sources().iter().filter(|source| source.path.starts_with("src/"));
    let others = others.filter(|source| source.path != "src/cli/child.rs");
    let starts = others.filter(|source| untested(source).contains("Command::new("));
    none(starts.map(|source| format!("{}: programs are started by cli::child", source.path)).collect());
}

#[test]
fn no_file_does_what_none_may() {
    let to_do = ["TO", "DO"].concat();
    let everywhere = ["todo!", "unimplemented!", "dbg!", "#[ignore", "#[allow(", "#![allow("];
    let outside_main = ["println!", "eprintln!", "print!(", "eprint!(", "process::exit", "process::abort"];
    let mut complaints = Vec::new();
    for source in sources() {
        let mut words: Vec<&str> =
            everywhere.iter().copied().filter(|word| source.code.contains(word)).collect();
        if source.path.starts_with("src/") && source.path != "src/main.rs" {
            words.extend(outside_main.iter().filter(|word| untested(source).contains(**word)));
        }
        if source.text.contains(&to_do) {
            words.push("a note of work left");
        }
        complaints.extend(words.into_iter().map(|word| format!("{}: {word}", source.path)));
    }
    none(complaints);
}
