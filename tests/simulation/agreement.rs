//! Whether both sides say the same: every page has its one file, in its place, under its name, with its words in order.
//!
//! First blind to espejo's own Markdown: the words that are followed are compared as people would read them. Then with
//! it: the file must stand for exactly the blocks that the page has.

use std::collections::{BTreeMap, BTreeSet};

use espejo::emulator::PageRecord;
use espejo::markdown::{self, Allowed};
use espejo::model::{EntryKind, MirrorPath, PageId, semantically_equal};

use crate::blocks::shown_words;
use crate::checks::{Failure, broken};
use crate::folder::Folder;
use crate::run::listed;
use crate::service::Service;
use crate::text::split_front;
use crate::users::is_page_file;
use crate::words::{Ledger, Word, words_in};

/// A page file as it lies there.
struct Found<'a> {
    path: &'a MirrorPath,
    id: Option<String>,
    title: Option<String>,
    text: String,
    words: Vec<Word>,
}

/// Whether folder and service agree.
pub(crate) fn agree(folder: &Folder, service: &Service) -> Result<(), Failure> {
    let mut files: Vec<Found<'_>> = folder
        .things
        .iter()
        .filter(|(path, thing)| thing.kind == EntryKind::File && is_page_file(path))
        .map(|(path, thing)| found(path, &thing.bytes))
        .collect();
    let mut children: BTreeMap<Option<PageId>, Vec<&PageRecord>> = BTreeMap::new();
    for page in service.active() {
        children.entry(page.parent.clone()).or_default().push(page);
    }
    let top = MirrorPath::new("Team/Pages")
        .map_err(|error| Failure { check: "agreement", what: error.to_string() })?;
    let mut left = vec![(None, top)];
    while let Some((parent, place)) = left.pop() {
        for page in children.remove(&parent).unwrap_or_default() {
            let fits = |file: &Found<'_>| {
                file.path.parent().as_ref() == Some(&place)
                    && file.id.as_deref().is_none_or(|id| id == page.id.as_str())
                    && says(file, &page.title)
                    && file.words == shown_in(file, page)
            };
            // The file that names the page, before one that only looks like it.
            let at = files
                .iter()
                .position(|file| fits(file) && file.id.is_some())
                .or_else(|| files.iter().position(fits));
            let Some(at) = at else {
                return broken("agreement", format!("{}; {}", no_file(page, &place), similar(page, &files)));
            };
            let file = files.remove(at);
            let mut ids = 0;
            let mut fresh = || {
                ids += 1;
                format!("fresh-{ids}")
            };
            let means = markdown::parse(&file.text, &page.content, &Allowed::documented(), &mut fresh);
            if !semantically_equal(&means, &page.content) {
                return broken("agreement", format!("{} does not stand for what its page holds", file.path));
            }
            if let Some(own) = file.path.page_stem().and_then(|stem| place.join(stem).ok()) {
                left.push((Some(page.id.clone()), own));
            }
        }
    }
    if let Some(page) = children.values().flatten().next() {
        return broken("agreement", format!("{:?} hangs in the air at the service", page.title));
    }
    match files.first() {
        Some(extra) => broken("agreement", format!("{} has no page", extra.path)),
        None => Ok(()),
    }
}

/// Whether a word stands twice among the active pages, or twice among the page files, or a title twice, that nobody copied.
/// Returns how many do as no evidence was left.
///
/// One text that a side rewrote for the most part while the other edited it is two texts in the end (the limit "A text
/// that both sides rewrite" in docs/guarantees.md): its words may stand in two unlike lines of one file, and of its page.
pub(crate) fn nothing_doubled(folder: &Folder, service: &Service, ledger: &Ledger) -> Result<usize, Failure> {
    let mut in_doubt = BTreeSet::new();
    let files = folder.things.iter().filter(|(path, _)| is_page_file(path));
    let files =
        files.map(|(path, thing)| (path, split_front(&String::from_utf8_lossy(&thing.bytes)).1.to_owned()));
    let (mut lines, mut rewritten) = (BTreeMap::new(), BTreeSet::new());
    for (path, body) in files {
        for line in body.lines() {
            for word in words_in(line.as_bytes()).into_iter().filter(|word| matches!(word, Word::Text(_))) {
                let Some((other, before)) = lines.insert(word, (path, line.to_owned())) else { continue };
                if ledger.has_collided(word) && other == path && unlike(&before, line) {
                    rewritten.insert(word);
                } else if !ledger.may_be_twice(word) {
                    return broken("doubled", format!("{word} stands in {path} and once more"));
                } else if ledger.is_doubted(word) {
                    in_doubt.insert(word);
                }
            }
        }
    }
    let mut seen = BTreeMap::new();
    for page in service.active() {
        let words = shown_words(&page.content, &|_| true).into_iter();
        for word in words.filter(|word| matches!(word, Word::Text(_))) {
            let Some(other) = seen.insert(word, &page.id) else { continue };
            if !(ledger.may_be_twice(word) || other == &page.id && rewritten.contains(&word)) {
                return broken("doubled", format!("{word} stands in {:?} and once more", page.title));
            }
        }
    }
    let titles = service.active().into_iter().map(|page| page.title.as_str());
    Ok(in_doubt.len() + no_title_doubled(titles, ledger)?)
}

/// Whether two items of one kind have one title with a followed word. Returns how many have as no evidence was left.
pub(crate) fn no_title_doubled<'a>(
    titles: impl Iterator<Item = &'a str>,
    ledger: &Ledger,
) -> Result<usize, Failure> {
    let (mut seen, mut in_doubt) = (BTreeSet::new(), 0);
    for title in titles {
        let words = words_in(title.as_bytes());
        if words.is_empty() || seen.insert(title) {
            continue;
        }
        if !words.iter().any(|word| ledger.may_be_twice(*word)) {
            return broken("doubled", format!("{title:?} is there twice"));
        }
        in_doubt += usize::from(words.iter().all(|word| ledger.is_doubted(*word)));
    }
    Ok(in_doubt)
}

/// Whether two lines have less than half of the longer one's words in common.
fn unlike(a: &str, b: &str) -> bool {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
    let (a, b) = (words(a), words(b));
    2 * a.intersection(&b).count() < a.len().max(b.len())
}

fn found<'a>(path: &'a MirrorPath, bytes: &[u8]) -> Found<'a> {
    let text = String::from_utf8_lossy(bytes);
    let (front, body) = split_front(&text);
    Found {
        path,
        id: named_id(front),
        title: field(front, "title"),
        words: words_in(body.as_bytes()),
        text: body.to_owned(),
    }
}

/// The id in front matter: `espejo-id`, where `id` is another program's.
pub(crate) fn named_id(front: &str) -> Option<String> {
    field(front, "espejo-id").or_else(|| field(front, "id"))
}

fn field(front: &str, key: &str) -> Option<String> {
    let prefix = format!("{key}:");
    let line = front.lines().find(|line| line.starts_with(&prefix))?;
    Some(unquoted(line[prefix.len()..].trim()))
}

/// A YAML scalar on one line.
fn unquoted(scalar: &str) -> String {
    if scalar.starts_with('"') {
        return serde_json::from_str(scalar).unwrap_or_else(|_| scalar.to_owned());
    }
    match scalar.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(inner) => inner.replace("''", "'"),
        None => scalar.to_owned(),
    }
}

fn says(file: &Found<'_>, title: &str) -> bool {
    let stem = file.path.page_stem().unwrap_or_default();
    let numbered = || {
        stem.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")).is_some_and(|(name, _)| name == title)
    };
    match &file.title {
        Some(front) => front == title,
        // A name in another Unicode form is the same name.
        None => {
            stem == title
                || numbered()
                || (!stem.is_ascii() && words_in(stem.as_bytes()) == words_in(title.as_bytes()))
        }
    }
}

/// The words of a page that this file must show.
fn shown_in(file: &Found<'_>, page: &PageRecord) -> Vec<Word> {
    shown_words(&page.content, &|id| file.text.contains(&format!("{id} -->")))
}

fn no_file(page: &PageRecord, place: &MirrorPath) -> String {
    format!("{:?} ({}) has no file in {place}", page.title, page.id)
}

/// What might have been meant, for the message.
fn similar(page: &PageRecord, files: &[Found<'_>]) -> String {
    let near: Vec<String> = files
        .iter()
        .filter(|file| file.id.as_deref() == Some(page.id.as_str()) || says(file, &page.title))
        .map(|file| {
            let (has, wants) = (listed(&file.words), listed(&shown_in(file, page)));
            format!("{} has [{has}], wants [{wants}]", file.path)
        })
        .collect();
    if near.is_empty() { "nothing like it".to_owned() } else { near.join(", ") }
}
