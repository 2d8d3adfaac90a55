//! The tree as it is read: every source file, also with its comments and literals blanked out.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub(super) struct Source {
    /// Relative to the project, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    /// The text with comments and literals blanked out, line for line.
    pub(super) code: String,
}

impl Source {
    /// The top-level module that a file under `src` belongs to.
    pub(super) fn module(&self) -> Option<&str> {
        self.path.strip_prefix("src/")?.split(['/', '.']).next()
    }
}

pub(super) fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(super) fn read(path: &str) -> String {
    std::fs::read_to_string(project().join(path)).unwrap_or_else(|cause| panic!("{path}: {cause}"))
}

/// Every file with this ending below these folders, in order.
pub(super) fn files(folders: &[&str], ending: &str) -> Vec<String> {
    fn walk(folder: &Path, ending: &str, found: &mut Vec<String>) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                walk(&path, ending, found);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path.strip_prefix(project()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    let mut found = Vec::new();
    for folder in folders {
        walk(&project().join(folder), ending, &mut found);
    }
    found.sort();
    found
}

/// Every source file, read once.
pub(super) fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        let read = |path: String| {
            let text = read(&path);
            Source { code: blank(&text), path, text }
        };
        files(&["src", "tests", "benches", "fuzz"], "rs").into_iter().map(read).collect()
    });
    &SOURCES
}

/// Rust with comments and literals replaced by blanks; line breaks stay.
fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let begins = matches!(c, '/' | '"' | '\'' | 'r' | 'b');
        let length = if begins { literal_length(rest, out.chars().last()) } else { 0 };
        let (taken, left) = rest.split_at(if length == 0 { c.len_utf8() } else { length });
        if length == 0 {
            out.push(c);
        } else {
            out.extend(taken.chars().map(|c| if c == '\n' { c } else { ' ' }));
        }
        rest = left;
    }
    out
}

/// How long the comment, text or character is that begins here; 0 where none does.
fn literal_length(rest: &str, before: Option<char>) -> usize {
    let until =
        |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return until("*/", 2);
    }
    let starts_word = before.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    let raw = rest.strip_prefix("br").or(rest.strip_prefix('r')).filter(|_| starts_word);
    if let Some(raw) = raw.filter(|raw| raw.trim_start_matches('#').starts_with('"')) {
        let marks = &raw[..raw.len() - raw.trim_start_matches('#').len()];
        return until(&format!("\"{marks}"), rest.len() - raw.len() + marks.len() + 1);
    }
    if rest.starts_with('"') {
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        return end.map_or(rest.len(), |(at, _)| at + 1);
    }
    if let Some(inner) = rest.strip_prefix('\'') {
        if inner.starts_with('\\') {
            return until("'", 3);
        }
        let mut chars = inner.chars();
        let first = chars.next().map_or(0, char::len_utf8);
        if chars.next() == Some('\'') {
            return 1 + first + 1;
        }
    }
    0
}

#[test]
fn blanking_leaves_code_only() {
    for (text, code) in [
        ("a // crate::x\nb", "a            \nb"),
        ("a /* b\nc */ d", "a     \n     d"),
        (r#"f("todo!", x)"#, "f(       , x)"),
        (r#"f("a\"b\\", x)"#, "f(        , x)"),
        ("f(r#\"a\"b\"#, x)", "f(        , x)"),
        (r"g('\'', '\\', '\u{1b}', '{', 'a: &'a str)", "g(    ,     ,         ,    , 'a: &'a str)"),
        ("// end", "     "),
    ] {
        assert_eq!(blank(text).trim_end(), code.trim_end(), "{text}");
    }
}
