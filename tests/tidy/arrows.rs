//! Data runs one way: no files of the engine, the core or the plan import each other in a circle, and no folder imports a
//! higher one.

use std::collections::{BTreeMap, BTreeSet};

use crate::none;
use crate::source::sources;
use crate::untested;

/// The folders from the lowest up. What lies beside them has its place in the row, too.
const ENGINE: [&str; 8] = ["schedule", "state", "on_core", "content", "observe", "act", "report", "request"];
const CORE: [&str; 12] = [
    "keys", "wants", "plan", "items", "state", "content", "guard", "observe", "act", "schedule", "report",
    "request",
];

type Path = Vec<String>;

/// Each file by the path of its module, with those that it imports.
fn arrows() -> BTreeMap<Path, BTreeSet<Path>> {
    let code: BTreeMap<Path, &str> = sources()
        .iter()
        .filter(|source| ["engine", "core", "plan"].map(Some).contains(&source.module()))
        .filter(|source| !source.path.contains("/tests") && !source.path.ends_with("tests.rs"))
        .map(|source| (module_of(&source.path), untested(source)))
        .collect();
    let known: BTreeSet<&Path> = code.keys().collect();
    let file_of = |path: &[String]| {
        (1..=path.len()).rev().map(|length| path[..length].to_vec()).find(|path| known.contains(path))
    };
    let imports = |(module, code): (&Path, &&str)| {
        let named = paths_in(code, module).into_iter().filter_map(|path| file_of(&path));
        (module.clone(), named.filter(|path| path != module).collect())
    };
    code.iter().map(imports).collect()
}

/// `src/engine/act/push.rs` is `engine::act::push`.
fn module_of(path: &str) -> Path {
    let path = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// What a file names by `use`, `crate::` and `super::`, as paths from the root of the crate.
fn paths_in(code: &str, module: &[String]) -> Vec<Path> {
    let mut found = Vec::new();
    for part in code.split("use ").skip(1) {
        let (tree, _) = part.split_once(';').unwrap_or_default();
        spread(tree, &[], &mut found);
    }
    for start in ["crate::", "super::"] {
        found.extend(code.match_indices(start).map(|(at, _)| {
            let is_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let rest: String = code[at..].chars().take_while(|c| is_of_path(*c)).collect();
            rest.split("::").map(str::to_owned).collect()
        }));
    }
    found.into_iter().filter_map(|path| from_the_root(path, module)).collect()
}

/// The leaves of a tree of imports: `a::{b, c::d}` has two.
fn spread(tree: &str, above: &[String], found: &mut Vec<Path>) {
    let mut depth = 0_i32;
    let is_end = |c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    };
    for leaf in tree.split(is_end).map(str::trim).filter(|leaf| !leaf.is_empty()) {
        let (path, inner) = leaf.split_once('{').unwrap_or((leaf, ""));
        let steps = path.split("::").map(|step| step.split(" as ").next().unwrap_or_default().trim());
        let steps = steps.filter(|step| !step.is_empty() && *step != "self").map(str::to_owned);
        let path: Path = above.iter().cloned().chain(steps).collect();
        match inner.rsplit_once('}') {
            Some((inner, _)) => spread(inner, &path, found),
            None => found.push(path),
        }
    }
}

fn from_the_root(path: Path, module: &[String]) -> Option<Path> {
    let ups = path.iter().take_while(|step| *step == "super").count();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "super" => Some([module.get(..module.len().checked_sub(ups)?)?, &path[ups..]].concat()),
        _ => Some([module, &path].concat()),
    }
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let arrows = arrows();
    let mut left = arrows.clone();
    // A file that imports none of those that are left is in no circle.
    while let Some(free) = left.iter().find(|(_, to)| to.iter().all(|to| !left.contains_key(to))) {
        let free = free.0.clone();
        left.remove(&free);
    }
    // Nor is one that none of them imports.
    loop {
        let named: BTreeSet<&Path> = left.values().flatten().collect();
        let Some(free) = left.keys().find(|file| !named.contains(file)).cloned() else { break };
        left.remove(&free);
    }
    assert!(arrows.len() > 100 && arrows.values().map(BTreeSet::len).sum::<usize>() > 500);
    none(left.keys().map(|file| format!("in a circle: {}", file.join("::"))).collect());
}

#[test]
fn no_folder_imports_a_higher_one() {
    let height = |path: &Path| match (path.first()?.as_str(), path.get(1)?.as_str()) {
        ("engine", folder) => ENGINE.iter().position(|name| *name == folder),
        ("core", folder) => CORE.iter().position(|name| *name == folder),
        _ => None,
    };
    let mut complaints = Vec::new();
    for (from, to) in &arrows() {
        for to in to.iter().filter(|to| to.first() == from.first() && height(to) > height(from)) {
            if height(from).is_some() {
                complaints.push(format!("{} imports {}", from.join("::"), to.join("::")));
            }
        }
    }
    none(complaints);
}

#[test]
fn imports_are_read() {
    let module: Path = ["engine", "act", "push"].map(str::to_owned).to_vec();
    let code = "use crate::a::{b, c::{self, D}};\nuse super::e::F as G;\nfn f() { crate::h::i() }";
    let found: BTreeSet<String> = paths_in(code, &module).iter().map(|path| path.join("::")).collect();
    let expected = ["a::b", "a::c", "a::c::D", "engine::act::e::F", "h::i"];
    assert!(expected.iter().all(|path| found.contains(*path)), "{found:?}");
}
