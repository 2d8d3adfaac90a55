//! Whether both sides agree: every listed page has its one file, in the folder of its parent, with its words; and no file
//! is without a page.

use std::collections::BTreeMap;

use espejo::emulator::PageRecord;
use espejo::markdown::{self, Allowed, front_matter};
use espejo::model::{PageId, semantically_equal};
use serde_json::Value;

use super::bench::{Bench, DEADLINE, Daemon, within};

impl Bench {
    /// Waits until both sides agree.
    #[track_caller]
    pub(super) fn until_in_step(&self) {
        let mut why = None;
        let agree = within(DEADLINE, &mut || {
            why = self.disagreement();
            why.is_none()
        });
        assert!(agree, "the sides never agree: {}\n{}", why.unwrap_or_default(), self.seen());
    }

    /// Ends the daemon with manners and proves that everything is at rest: one more full pass writes on neither side.
    #[track_caller]
    pub(super) fn rest(&self, daemon: Daemon) {
        self.until_in_step();
        assert_eq!(daemon.stop().code(), Some(0), "{}", self.seen());
        self.rests();
    }

    /// One more full pass writes on neither side.
    #[track_caller]
    pub(super) fn rests(&self) {
        let files = self.files();
        self.forget_requests();
        let told = self.tell(&["sync"]);
        assert!(matches!(told.code, 0 | 3), "{told:?}\n{}", self.seen());
        assert_eq!(
            self.writes(),
            Vec::<String>::new(),
            "a pass over what is in step writes\n{}",
            self.seen()
        );
        assert_eq!(self.files(), files, "a pass over what is in step touches files");
        assert_eq!(self.disagreement(), None, "{}", self.seen());
    }

    /// Why the two sides do not agree, if so.
    pub(super) fn disagreement(&self) -> Option<String> {
        let told = self.tell(&["list", "--json"]);
        if told.code != 0 {
            return Some(format!("{told:?}"));
        }
        let rows: Vec<Value> = serde_json::from_str(&told.out).expect("one JSON array");
        let mut places: BTreeMap<PageId, String> = BTreeMap::new();
        for row in rows.iter().filter(|row| row["state"] != "not synced") {
            let (Some(id), Some(path)) = (row["id"].as_str(), row["path"].as_str()) else {
                return Some(format!("a row without a page or a file: {row}"));
            };
            if row["state"] != "synced" {
                return Some(format!("not synced: {row}"));
            }
            if places.insert(PageId::new(id).expect("an id"), path.to_owned()).is_some() {
                return Some(format!("a page twice: {row}"));
            }
        }
        let pages: Vec<PageRecord> = {
            let world = self.world();
            let spaces: Vec<_> = world.workspaces().iter().map(|space| space.id.clone()).collect();
            spaces.iter().flat_map(|space| world.visible_pages(space)).cloned().collect()
        };
        if pages.len() != places.len() {
            return Some(format!("{} pages at the service, {} here", pages.len(), places.len()));
        }
        let files = self.files();
        let page_files = files.keys().filter(|path| path.ends_with(".md") && !is_conflict_copy(path)).count();
        if page_files != pages.len() {
            return Some(format!("{} pages, {page_files} files", pages.len()));
        }
        for page in &pages {
            let Some(path) = places.get(&page.id) else {
                return Some(format!("no row for {:?}", page.title));
            };
            let Some(file) = files.get(path) else { return Some(format!("no file {path}")) };
            if let Some(parent) = page.parent.as_ref().and_then(|id| places.get(id)) {
                let folder = parent.strip_suffix(".md").unwrap_or_default();
                if path.rsplit_once('/').map(|(up, _)| up) != Some(folder) {
                    return Some(format!("{path} is not in {folder}"));
                }
            }
            if let Some(why) = differs(page, path, &file.bytes) {
                return Some(why);
            }
        }
        None
    }
}

/// `Title.conflict-YYYYMMDD-HHMMSS.md`.
pub(super) fn is_conflict_copy(path: &str) -> bool {
    path.strip_suffix(".md")
        .and_then(|stem| stem.rsplit_once(".conflict-"))
        .is_some_and(|(_, mark)| mark.len() >= 15 && mark.chars().all(|c| c.is_ascii_digit() || c == '-'))
}

fn differs(page: &PageRecord, path: &str, bytes: &[u8]) -> Option<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Some(format!("{path} is not text")) };
    let Ok(split) = front_matter::split(text) else {
        return Some(format!("{path} has a broken front matter"));
    };
    // A copy names the page it was made from until it is given its own. What has not the form of an id of the service is
    // another program's.
    if let Some(id) = split.front.as_ref().and_then(|front| front.named())
        && id.len() == page.id.as_str().len()
        && id != page.id.as_str()
    {
        return Some(format!("{path} names {id}"));
    }
    let title = split.front.as_ref().and_then(|front| front.title.clone());
    let name = path.rsplit('/').next().unwrap_or_default().strip_suffix(".md").unwrap_or_default();
    if title.as_deref().unwrap_or(name) != page.title {
        return Some(format!("{path} is not titled {:?}", page.title));
    }
    let mut allowed = Allowed::named(&[]);
    allowed.learn(&page.content);
    let mut made = 0;
    let blocks = markdown::parse(split.body, &page.content, &allowed, &mut || {
        made += 1;
        format!("made-{made}")
    });
    (!semantically_equal(&blocks, &page.content)).then(|| {
        format!("{path} says\n{}\nthe page says\n{}", Value::from(blocks), Value::from(page.content.clone()))
    })
}
