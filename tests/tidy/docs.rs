//! The documents speak only of what is there: modules, files, tests, commands, keys.

use std::collections::BTreeSet;

use clap::Parser;

use super::none;
use super::source::{Source, files, project, read, sources};

/// The documents outside of `docs`.
const AT_THE_TOP: [&str; 3] = ["README.md", "CONTRIBUTING.md", "SECURITY.md"];

#[test]
fn the_map_names_every_module_and_nothing_else() {
    let map = read("docs/architecture.md");
    let mut complaints = Vec::new();
    let all = sources();
    let modules: BTreeSet<&str> = all.iter().filter_map(Source::module).collect();
    for module in modules.iter().filter(|module| !["main", "lib"].contains(module)) {
        if !map.contains(&format!("`{module}`")) {
            complaints.push(format!("docs/architecture.md does not name `{module}`"));
        }
    }
    for document in files(&["docs"], "md").iter().map(String::as_str).chain(AT_THE_TOP) {
        for word in quoted(&read(document)) {
            let is_path = ["src/", "tests/", "docs/", "packaging/"].iter().any(|top| word.starts_with(top));
            if is_path && !project().join(&word).exists() {
                complaints.push(format!("{document} speaks of {word}, which is not there"));
            }
        }
    }
    none(complaints);
}

/// What people read on two screens.
const MOST_PROMISES: usize = 60;
const MOST_LINES: usize = 130;
const LONGEST_LINE: usize = 200;

#[test]
fn every_promise_names_tests_that_run() {
    let text = read("docs/guarantees.md");
    let (promises, _) = text.split_once("\n## What cannot be promised\n").unwrap();
    let promises: Vec<&str> = promises.lines().filter(|line| line.starts_with("- ")).collect();
    let mut complaints = Vec::new();
    for promise in &promises {
        let (_, last) = promise.rsplit_once(" (").unwrap_or_default();
        let modules = if last.ends_with("`)") { quoted(last) } else { Vec::new() };
        if modules.is_empty() {
            complaints.push(format!("no module of tests: {promise}"));
        }
        let lacking = modules.iter().filter_map(|module| Some((module, missing(module)?)));
        complaints.extend(lacking.map(|(module, what)| format!("{module} {what}: {promise}")));
    }
    let long = text.lines().filter(|line| line.chars().count() > LONGEST_LINE);
    complaints.extend(long.map(|line| format!("longer than {LONGEST_LINE}: {line}")));
    none(complaints);
    let (count, lines) = (promises.len(), text.lines().count());
    assert!((6..=MOST_PROMISES).contains(&count), "docs/guarantees.md has {count} promises");
    assert!(lines <= MOST_LINES, "docs/guarantees.md has {lines} lines, more than {MOST_LINES}");
}

/// What a module that a promise names lacks: itself, or a test that runs. (`no_file_does_what_none_may`: none is ignored.)
fn missing(module: &str) -> Option<&'static str> {
    let homes = ["tests", "tests/integration", "src"].map(|home| format!("{home}/{module}"));
    let is_of = |source: &&Source| {
        let mut rests = homes.iter().filter_map(|home| source.path.strip_prefix(home));
        rests.any(|rest| rest == ".rs" || rest.starts_with('/'))
    };
    let has_tests = |source: &&Source| {
        let tests = ["#[test]", "#[tokio::test"];
        tests.iter().any(|test| source.code.contains(test)) && is_built(&source.path)
    };
    let files: Vec<&Source> = sources().iter().filter(is_of).collect();
    match files.iter().any(has_tests) {
        true => None,
        false if files.is_empty() => Some("does not exist"),
        false => Some("has no test that runs"),
    }
}

/// Whether `cargo test` builds this file: the file above it names it, and not for a feature only.
fn is_built(path: &str) -> bool {
    let module = path.trim_end_matches(".rs").trim_end_matches("/mod");
    let Some((folder, name)) = module.rsplit_once('/') else { return false };
    let above = ["/mod.rs", "/main.rs", "/lib.rs", ".rs"].map(|end| format!("{folder}{end}"));
    let is_named = |source: &Source| {
        let lines: Vec<&str> = source.code.lines().collect();
        let own = ["mod", &format!("{name};")];
        let names = |line: &&str| line.split_whitespace().collect::<Vec<_>>().ends_with(&own);
        let at = lines.iter().position(names);
        at.is_some_and(|at| at == 0 || !lines[at - 1].contains("feature")) && is_built(&source.path)
    };
    ["main", "lib"].contains(&name)
        || folder == "tests"
        || sources().iter().any(|source| above.contains(&source.path) && is_named(source))
}

/// What stands between single backticks, outside of fenced code.
fn quoted(text: &str) -> Vec<String> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|prose| prose.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn commands_in_the_documents_can_be_typed() {
    let mut seen = 0;
    for document in files(&["docs"], "md").iter().map(String::as_str).chain(AT_THE_TOP) {
        let text = read(document);
        let fenced = text.split("```").skip(1).step_by(2).flat_map(str::lines);
        let lines = fenced.map(str::to_owned).chain(quoted(&text));
        for line in lines.filter(|line| line.starts_with("espejo ")) {
            let words = line.split_whitespace().take_while(|word| !["#", "<", ">", "|", "&&"].contains(word));
            // Help and version are "refusals" that end with 0.
            let refusal =
                espejo::commands::Cli::try_parse_from(words).err().filter(|told| told.exit_code() != 0);
            assert!(refusal.is_none(), "{document}: {line}\n{}", refusal.unwrap());
            seen += 1;
        }
    }
    assert!(seen > 3, "the documents show only {seen} commands");
}

#[test]
fn the_example_config_is_taken() {
    let env = |name: &str| (name == "HOME").then(|| "/home/ana".to_owned());
    espejo::config::Config::parse(&read("config.example.toml"), "config.example.toml", &env).unwrap();
}
