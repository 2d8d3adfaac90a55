//! The documents speak only of what is there: modules, files, tests, commands, keys.

use std::collections::BTreeSet;

use clap::Parser;

use super::none;
use super::source::{Source, files, project, read, sources};

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
    for document in files(&["docs"], "md").iter().map(String::as_str).chain(["README.md"]) {
        for word in quoted(&read(document)) {
            let is_path = ["src/", "tests/", "docs/", "packaging/"].iter().any(|top| word.starts_with(top));
            if is_path && !project().join(&word).exists() {
                complaints.push(format!("{document} speaks of {word}, which is not there"));
            }
        }
    }
    none(complaints);
}

#[test]
fn every_promise_names_a_test_that_exists() {
    let all = sources();
    let tests: BTreeSet<&str> = all.iter().flat_map(|source| test_names(&source.code)).collect();
    let mut complaints = Vec::new();
    let mut rows = 0;
    let text = read("docs/guarantees.md");
    for row in text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Promise")) {
        rows += 1;
        let last = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
        let names = quoted(last);
        if names.is_empty() {
            complaints.push(format!("no test: {row}"));
        }
        let missing = names.iter().filter(|name| !tests.contains(name.as_str()));
        complaints.extend(missing.map(|name| format!("there is no test {name}: {row}")));
    }
    assert!(rows > 5, "docs/guarantees.md has only {rows} promises");
    none(complaints);
}

/// The functions that follow a `#[test]`, attributes between them allowed.
fn test_names(code: &str) -> impl Iterator<Item = &str> {
    code.split("#[test]").skip(1).chain(code.split("#[tokio::test").skip(1)).filter_map(|after| {
        let (_, name) = after.split_once("fn ")?;
        name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
    })
}

/// What stands between single backticks, outside of fenced code.
fn quoted(text: &str) -> Vec<String> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|prose| prose.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn commands_in_the_documents_can_be_typed() {
    let mut seen = 0;
    for document in files(&["docs"], "md").iter().map(String::as_str).chain(["README.md"]) {
        let text = read(document);
        let fenced = text.split("```").skip(1).step_by(2).flat_map(str::lines);
        let lines = fenced.map(str::to_owned).chain(quoted(&text));
        for line in lines.filter(|line| line.starts_with("espejo ")) {
            let words = line.split_whitespace().take_while(|word| !["#", "<", ">", "|", "&&"].contains(word));
            // Help and version are "refusals" that end with 0.
            let refusal = espejo::cli::Cli::try_parse_from(words).err().filter(|told| told.exit_code() != 0);
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
