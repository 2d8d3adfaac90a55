//! Hugo's front matter: TOML between two lines of three plus signs at a page's top. It stays as it is.

/// The title in such front matter, and the byte at which the body starts; `None` where there is none.
pub(super) fn find(text: &str) -> Option<(Option<String>, usize)> {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut at = text.len() - rest.len();
    let mut lines = rest.split_inclusive('\n');
    at += lines.next().filter(|first| first.trim_end() == FENCE && first.ends_with('\n'))?.len();
    let start = at;
    for line in lines {
        let end = at;
        at += line.len();
        if line.trim_end() == FENCE {
            let inside = text.get(start..end)?;
            let is_toml = inside.trim().is_empty() || inside.lines().any(|line| line.contains('='));
            return is_toml.then(|| (title(inside), at));
        }
    }
    None
}

const FENCE: &str = "+++";

fn title(inside: &str) -> Option<String> {
    // What is no TOML has no title, and stays as it is all the same.
    let table: toml_edit::DocumentMut = inside.parse().ok()?;
    table.get("title")?.as_str().map(str::to_owned)
}
