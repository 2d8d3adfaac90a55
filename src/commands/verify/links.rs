//! Links between pages that lead to no file of the mirror. They are text at the service, and nothing here rewrites them.

use std::collections::BTreeSet;

use anyhow::Result;
use percent_encoding::percent_decode_str;
use unicode_normalization::UnicodeNormalization;

use crate::config::Config;
use crate::markdown::{PageTarget, front_matter, page_links};
use crate::mirror::{self, Mirror};
use crate::model::{DiskReply, Effect, EntryKind, MirrorPath};
use crate::store::ReadOnly;

/// A link that leads nowhere.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// The file and the line.
    pub place: String,
    /// The link as it is written.
    pub written: String,
}

/// The broken links of the mirror, by file and line. A file that cannot be read is the pass's to tell of.
///
/// # Errors
/// One sentence, when the state or the folder cannot be read.
pub(super) fn broken(config: &Config) -> Result<Vec<Broken>> {
    let Some(state) = ReadOnly::open(&config.state_dir)? else { return Ok(Vec::new()) };
    let id = state.meta("mirror_id")?.unwrap_or_default();
    let DiskReply::Scan(scan) = Mirror::open(&config.root, &id, false)?.perform(&Effect::Scan)? else {
        return Ok(Vec::new());
    };
    let places = Places::of(scan.entries.iter().map(|entry| entry.path.as_str()));
    let mut found = Vec::new();
    for entry in scan.entries.iter().filter(|entry| entry.kind == EntryKind::File) {
        if entry.path.as_str().ends_with(".md")
            && let Some(text) = text_of(config, &entry.path)
        {
            in_page(entry.path.as_str(), &text, &places, &mut found);
        }
    }
    Ok(found)
}

fn text_of(config: &Config, path: &MirrorPath) -> Option<String> {
    String::from_utf8(mirror::peek(&config.root, path).ok()?).ok()
}

fn in_page(path: &str, text: &str, places: &Places, found: &mut Vec<Broken>) {
    let Ok(split) = front_matter::split(text) else { return };
    let above = split.lines_above(text);
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    for link in page_links(split.body) {
        let leads = match &link.target {
            PageTarget::Path(url) => places.has_path(folder, url),
            PageTarget::Name(name) => places.has_name(name),
        };
        if !leads {
            found.push(Broken { place: format!("{path}:{}", above + link.line), written: link.written });
        }
    }
}

/// What is in the mirror.
#[derive(Default)]
struct Places {
    paths: BTreeSet<String>,
    /// Every end of a path that a name may be, as names compare.
    names: BTreeSet<String>,
}

impl Places {
    fn of<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut places = Self::default();
        for path in paths {
            places.paths.insert(path.nfc().collect());
            let name = folded(path.strip_suffix(".md").unwrap_or(path));
            let starts = name.match_indices('/').map(|(at, _)| at + 1);
            places.names.extend([0].into_iter().chain(starts).map(|at| name[at..].to_owned()));
        }
        places
    }

    /// Whether a path leads to something from a folder, or from the mirror's own as some editors have it.
    fn has_path(&self, folder: &str, url: &str) -> bool {
        let path = url.split(['#', '?']).next().unwrap_or_default();
        let path = percent_decode_str(path).decode_utf8().unwrap_or_else(|_| path.into());
        let is = |path: String| {
            path.is_empty() || self.paths.contains(&path) || self.paths.contains(&format!("{path}.md"))
        };
        [folder, ""].iter().any(|folder| joined(folder, &path).is_some_and(is))
    }

    fn has_name(&self, name: &str) -> bool {
        let name = folded(name.trim_start_matches('/'));
        self.names.contains(name.strip_suffix(".md").unwrap_or(&name)) || is_other_file(&name)
    }
}

/// Names compare without case, as the editors that know them have it.
fn folded(name: &str) -> String {
    name.nfc().collect::<String>().to_lowercase()
}

/// Whether a name that no page has is the name of a file of another kind: those are no links between pages.
fn is_other_file(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    (1..=5).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// A path from a folder, from the mirror's on; `None` where it leaves the mirror.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/").nfc().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_where_editors_follow_it() {
        let places = Places::of(["A.md", "A", "A/B c.md", "A/v2.0.md", "Ñandú.md"].into_iter());
        let check = |text: &str, broken: &[&str]| {
            let mut found = Vec::new();
            in_page("A/B c.md", text, &places, &mut found);
            let found: Vec<String> =
                found.into_iter().map(|one| format!("{} {}", one.place, one.written)).collect();
            assert_eq!(found, broken, "{text}");
        };
        check("[a](../A.md) [b](<B c.md>) [b](B%20c.md#part) [c](A.md) [v](v2.0.md) [f](../A/)\n", &[]);
        check("[[a]] [[A/B C]] [[b c|there]] [[v2.0]] [[x.png]] [[ñandú]] [[/A]]\n", &[]);
        check("---\nid: x\n---\n\n[a](C.md)\n", &["A/B c.md:5 [a](C.md)"]);
        check("[a](../../A.md)\n[[C]]\n", &["A/B c.md:1 [a](../../A.md)", "A/B c.md:2 [[C]]"]);
        check("[[v3.0]] [[B/c]]\n", &["A/B c.md:1 [[v3.0]]", "A/B c.md:1 [[B/c]]"]);
    }
}
