//! Types of the core own a part of its state: none has so many fields or methods that it cannot be read at once.

use std::collections::BTreeMap;

use crate::none;
use crate::source::{Source, sources};
use crate::untested;

const MOST_FIELDS: usize = 20;
const MOST_METHODS: usize = 60;

/// Types with more methods than that, and how many they may have. These numbers only go down.
const LARGE: [(&str, usize); 4] = [("Engine", 106), ("Store", 133), ("Pages", 142), ("Trees", 85)];

fn core() -> impl Iterator<Item = &'static Source> {
    let folders = ["src/engine/", "src/core/", "src/plan/", "src/store/", "src/model/"];
    sources().iter().filter(move |source| folders.iter().any(|folder| source.path.starts_with(folder)))
}

#[test]
fn no_struct_of_the_core_has_too_many_fields() {
    let complaints = core().flat_map(|source| {
        let structs = items(untested(source), "struct ");
        let large = structs.into_iter().map(|(name, body)| (name, fields(body)));
        large.filter(|(_, fields)| *fields > MOST_FIELDS).map(|(name, fields)| {
            format!("{}: {name} has {fields} fields, more than {MOST_FIELDS}", source.path)
        })
    });
    none(complaints.collect());
}

#[test]
fn no_type_of_the_core_has_too_many_methods() {
    let mut methods: BTreeMap<String, usize> = BTreeMap::new();
    for source in core() {
        for (name, body) in items(untested(source), "impl ") {
            *methods.entry(name).or_default() += body.lines().filter(|line| is_method(line)).count();
        }
    }
    let most: BTreeMap<&str, usize> = LARGE.into_iter().collect();
    let complaints = methods.iter().filter_map(|(name, count)| {
        let most = most.get(name.as_str()).copied().unwrap_or(MOST_METHODS);
        (*count > most).then(|| format!("{name} has {count} methods, more than {most}"))
    });
    none(complaints.collect());
    let slack = most.iter().filter(|(name, most)| methods.get(**name).is_none_or(|count| count + 5 < **most));
    none(
        slack.map(|(name, most)| format!("{name} may have {most} methods and has fewer: lower it")).collect(),
    );
}

/// Lines with code in engine, core and plan, their `if` and `match`, and the tables of the state. These numbers only go down, but for
/// a commit that names an ordinary act of a person or of the service.
const MOST: [(&str, usize); 3] = [("lines", 26_068), ("conditions", 2_028), ("tables", 26)];
/// So far the numbers may be above what there is.
const SLACK: usize = 60;

#[test]
fn engine_and_plan_only_shrink() {
    let decides = |source: &&Source| {
        ["src/engine/", "src/core/", "src/plan/"].iter().any(|folder| source.path.starts_with(folder))
            && !source.path.ends_with("tests.rs")
    };
    let codes: Vec<&str> = sources().iter().filter(decides).map(untested).collect();
    let lines = codes.iter().flat_map(|code| code.lines()).filter(|line| !line.trim().is_empty()).count();
    let words = |code: &str| {
        code.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect::<Vec<_>>()
    };
    let conditions =
        codes.iter().flat_map(|code| words(code)).filter(|word| word == "if" || word == "match").count();
    let tables = crate::source::read("src/store/schema.sql").matches("CREATE TABLE").count();
    let there = [lines, conditions, tables];
    let complaints = MOST.iter().zip(there).filter_map(|((what, most), there)| match there {
        _ if there > *most => Some(format!("{there} {what}, more than {most}")),
        _ if there + SLACK < *most => Some(format!("{there} {what}, and {most} allowed: lower it")),
        _ => None,
    });
    none(complaints.collect());
}

/// The names and bodies of the blocks at the left margin that begin with `keyword`; those of traits for types are left out.
fn items<'a>(code: &'a str, keyword: &str) -> Vec<(String, &'a str)> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find('\n') {
        let line = &rest[..at];
        if let Some((before, after)) = line.split_once(keyword)
            && (before.is_empty() || before.starts_with("pub"))
            && line.ends_with('{')
            && !line.contains(" for ")
        {
            let name = after.chars().take_while(|c| c.is_alphanumeric()).collect();
            let end = rest.find("\n}").unwrap_or(rest.len());
            found.push((name, &rest[at..end]));
        }
        rest = &rest[at + 1..];
    }
    found
}

fn fields(body: &str) -> usize {
    body.lines().filter(|line| is_field(line)).count()
}

/// One level in, and a name with its type.
fn is_field(line: &str) -> bool {
    let Some(text) = line.strip_prefix("    ").filter(|text| !text.starts_with([' ', '#', '/'])) else {
        return false;
    };
    text.split_once(": ").is_some_and(|(name, _)| {
        name.split(' ').next_back().is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
    })
}

fn is_method(line: &str) -> bool {
    let text = line.strip_prefix("    ").filter(|text| !text.starts_with(' ')).unwrap_or_default();
    let is_public = text.starts_with("pub");
    text.starts_with("fn ") || text.starts_with("const fn ") || is_public && text.contains(" fn ")
}

#[test]
fn fields_and_methods_are_counted() {
    let code = "pub(super) struct A<'a> {\n    /// x: y\n    pub(super) one: u8,\n    two: B<'a>,\n}\n\
                impl A<'_> {\n    pub(in crate::x) fn three(&self) {\n        let four: u8 = 1;\n    }\n    fn five() {}\n}\n\
                impl Drop for A<'_> {\n    fn drop(&mut self) {}\n}\n";
    let structs = items(code, "struct ");
    assert_eq!(
        structs.iter().map(|(name, body)| (name.as_str(), fields(body))).collect::<Vec<_>>(),
        [("A", 2)]
    );
    let impls = items(code, "impl ");
    let methods = |body: &str| body.lines().filter(|line| is_method(line)).count();
    assert_eq!(
        impls.iter().map(|(name, body)| (name.as_str(), methods(body))).collect::<Vec<_>>(),
        [("A", 2)]
    );
}
