//! Text that comes back: what a person cuts out of a file in one save and pastes in a later one is what it was, with its ids and
//! with what Markdown cannot say. And text that stays: what a save did not see, it does not remove.

use std::collections::{BTreeMap, BTreeSet};

use espejo::markdown::{self, Allowed};
use espejo::model::{Blocks, MirrorPath, PageId, semantically_equal};
use serde_json::Value;

use crate::agreement::named_id;
use crate::blocks::{all_words, shown_words};
use crate::checks::{Failure, broken};
use crate::folder::Thing;
use crate::luck::Luck;
use crate::run::Run;
use crate::text::{cut_and_pasted, split_front};
use crate::users::{self, Deed, Plan};
use crate::words::{Word, words_in};

/// What was changed in the app so recently may not be in the file yet, or the file's text not in the page.
const KNOWN_BY_THEN_MS: i64 = 600_000;
/// A save that lacks words is a stale one at least while the first of them is no older than this.
const STALE_MS: i64 = 590_000;
/// So much later than planned a save may come, where two machines take turns.
const LATE_MS: i64 = 1_000;

/// What these checks remember.
#[derive(Debug, Default)]
pub(crate) struct Returning {
    cuts: Vec<Cut>,
    /// When a page was last saved in the app.
    saved_ms: BTreeMap<PageId, i64>,
    /// What espejo last wrote into a file, and when.
    pub(crate) written: BTreeMap<MirrorPath, (i64, Vec<u8>)>,
    /// Until when the mirror's folder was away last: nobody could read what was saved before.
    pub(crate) away_until_ms: i64,
    /// When a file last got a stale save, and what that lacked.
    stale: BTreeMap<MirrorPath, (i64, BTreeSet<Word>)>,
}

/// Parts of a text that were cut out.
#[derive(Debug)]
struct Cut {
    page: PageId,
    path: MirrorPath,
    /// The file's text without them, and with them again.
    texts: [Vec<u8>; 2],
    /// The page's blocks before that, each without what is nested under it.
    before: Vec<Value>,
    words: Vec<Word>,
}

impl Returning {
    /// Something has another name. A program that puts a file aside writes it anew under its old one.
    pub(crate) fn renamed(&mut self, from: &MirrorPath, to: &MirrorPath) {
        let moved = self.written.iter().filter(|(path, _)| path.is_within(from));
        let moved = moved.filter_map(|(path, text)| Some((path.rebase(from, to)?, text.clone())));
        self.written.extend(moved.collect::<Vec<_>>());
    }

    /// A page was saved in the app: its blocks are what they were no more.
    pub(crate) fn saved_in_app(&mut self, page: &PageId, now_ms: i64) {
        self.cuts.retain(|cut| cut.page != *page);
        self.saved_ms.insert(page.clone(), now_ms);
    }

    /// A PATCH was carried out. Once a page has again as many blocks and the same words as before a cut, it has those blocks.
    pub(crate) fn pushed(&mut self, page: &PageId, after: &Blocks) -> Result<(), Failure> {
        let (blocks, words) = (apart(after), sorted(all_words(after)));
        let is_back =
            |cut: &mut Cut| cut.page == *page && cut.before.len() == blocks.len() && cut.words == words;
        for cut in self.cuts.extract_if(.., is_back) {
            // Which of several is meant that differ in nothing but their ids, as two dividers, nothing tells.
            let alike = |one: &Value, other: &Value| {
                let mut one = one.clone();
                one["id"] = other["id"].clone();
                semantically_equal(&[one], std::slice::from_ref(other))
            };
            let is_one = |block: &&Value| cut.before.iter().filter(|other| alike(other, block)).count() == 1;
            for block in cut.before.iter().filter(is_one) {
                let same = blocks.iter().find(|other| other["id"] == block["id"]);
                let is_same = same.is_some_and(|other| {
                    semantically_equal(std::slice::from_ref(other), std::slice::from_ref(block))
                });
                if !is_same {
                    let now = same.map_or("gone".to_owned(), Value::to_string);
                    return broken(
                        "returned",
                        format!("cut out and pasted in {}: {block} is {now}", cut.path),
                    );
                }
            }
        }
        Ok(())
    }
}

impl Run {
    /// A person cuts parts out of a file and pastes them some seconds later.
    pub(crate) fn cut_and_paste(&mut self, (a, b): (u32, u32)) -> Option<Plan> {
        let mut luck = Luck::new(u64::from(b), 9);
        let path = users::nth(&users::page_files(&self.folder), a)?;
        let file = self.folder.file(&path).filter(|thing| !self.folder.is_open(thing.stamp.inode))?;
        let read = file.bytes.clone();
        let text = std::str::from_utf8(&read).ok()?;
        let (without, pasted) = cut_and_pasted(text, &mut luck)?;
        let texts = [without.into_bytes(), pasted.into_bytes()];
        let most_ms = *luck.pick(&[1_000, 5_000, 20_000, 120_000]);
        let age_ms = luck.between(100, most_ms);
        self.note_cut(&path, text, &texts);
        let [without, pasted] = texts;
        // An undo: the text is the earlier one again, and whatever was written after that was not in it.
        let paste = match pasted == read {
            true => Deed::WriteBack(path.clone(), pasted),
            false => Deed::WriteStale { path: path.clone(), bytes: pasted, read: without.clone(), age_ms },
        };
        Some(vec![(0, Deed::Write(path, without)), (age_ms, paste)])
    }

    /// Remembers what a page holds before a part is cut out of its file, if both say the same.
    fn note_cut(&mut self, path: &MirrorPath, text: &str, texts: &[Vec<u8>; 2]) {
        let (front, body) = split_front(text);
        let Some(id) = named_id(front).and_then(|id| PageId::new(&id).ok()) else { return };
        let Some(page) = self.service.world.page(&id).filter(|page| page.trashed.is_none()) else { return };
        let saved_ms = self.returning.saved_ms.get(&id).copied().unwrap_or(i64::MIN / 2);
        let shown = shown_words(&page.content, &|id| body.contains(&format!("{id} -->")));
        let mut ids = 0;
        let mut fresh = || {
            ids += 1;
            format!("fresh-{ids}")
        };
        let means = markdown::parse(body, &page.content, &Allowed::documented(), &mut fresh);
        let is_known = self.now_ms - saved_ms > KNOWN_BY_THEN_MS
            && shown == words_in(body.as_bytes())
            && semantically_equal(&means, &page.content)
            && !self.scene.mistakes_files();
        if is_known {
            let (before, words) = (apart(&page.content), sorted(all_words(&page.content)));
            let (page, path, texts) = (id, path.clone(), texts.clone());
            self.returning.cuts.push(Cut { page, path, texts, before, words });
        }
    }

    /// Something else happens to a file out of which parts were cut.
    pub(crate) fn disturbs_return(&mut self, act: &Deed) {
        let is_own = |cut: &Cut| match act {
            Deed::Write(path, bytes) => *path == cut.path && *bytes == cut.texts[0],
            Deed::WriteStale { path, bytes, .. } | Deed::WriteBack(path, bytes) => {
                *path == cut.path && *bytes == cut.texts[1]
            }
            _ => false,
        };
        let paths = act.paths();
        self.returning.cuts.retain(|cut| is_own(cut) || !paths.iter().any(|path| cut.path.is_within(path)));
    }

    /// A save has another text in lines of a file that espejo wrote within ten minutes before, or without any sign that a
    /// program has read it. Nothing tells such a line from one that the program wrote in the place of a line that it never
    /// saw: espejo keeps both.
    pub(crate) fn may_be_lines_of_their_own(&mut self, act: &Deed) {
        let paths = act.paths();
        let before = paths.iter().find_map(|path| self.folder.file(path)).map(|file| file.bytes.clone());
        let written =
            paths.iter().filter_map(|path| self.returning.written.get(*path)).max_by_key(|(at, _)| *at);
        let Some((written_ms, written)) = written else { return };
        if self.scene.hints_lost == 0 && self.now_ms - written_ms > KNOWN_BY_THEN_MS {
            return;
        }
        // The file may have half of a text for the moment.
        let before = [before.unwrap_or_default(), written.clone()].concat();
        let [before, after] = [&before[..], act.held()].map(String::from_utf8_lossy);
        let known: BTreeSet<&str> = before.lines().collect();
        let changed = after.lines().filter(|line| !known.contains(line));
        let there = words_in(before.as_bytes());
        let words = changed.flat_map(|line| words_in(line.as_bytes())).filter(|word| there.contains(word));
        words.for_each(|word| self.ledger.copy(word));
    }

    /// The words that a save lacks because its program read the file before espejo wrote them into it: nothing says that
    /// a person removed them. A second such save within ten minutes may come from a program that has read them.
    pub(crate) fn unseen(&mut self, act: &Deed) -> BTreeSet<Word> {
        let Deed::WriteStale { path, .. } = act else { return BTreeSet::new() };
        let before_ms = self.returning.stale.get(path).map_or(i64::MIN / 2, |(at, _)| *at);
        let unseen = self.lacked(act, before_ms);
        self.returning.stale.insert(path.clone(), (self.now_ms, unseen.clone()));
        unseen
    }

    /// The words that another program took out of a file while this one held an earlier text: that text does not say whether
    /// they are to be there.
    pub(crate) fn taken_meanwhile(&self, act: &Deed) -> Vec<Word> {
        let Deed::WriteStale { path, bytes, read, age_ms } = act else { return Vec::new() };
        let stand_ins = self.service.stand_ins();
        let (known, held) = (stand_ins.words_of(read), stand_ins.words_of(bytes));
        let there = self.folder.file(path).map(|file| file.words.clone()).unwrap_or_default();
        let kept = known.intersection(&held).copied().filter(|word| !there.contains(word));
        kept.filter(|word| self.checks.hands.has_touched(*word, self.now_ms - age_ms - LATE_MS)).collect()
    }

    /// The words that a program took out of a text that it saves at a path where no file is any more: its page has moved in the
    /// app, and what the program saves is an edit of it. Of two programs the later save wins there, too.
    pub(crate) fn removed_at_old_path(&self, act: &Deed) -> Vec<Word> {
        let Deed::WriteStale { path, bytes, read, age_ms } = act else { return Vec::new() };
        if self.folder.file(path).is_some() {
            return Vec::new();
        }
        let stand_ins = self.service.stand_ins();
        let id = |bytes: &[u8]| named_id(split_front(&String::from_utf8_lossy(bytes)).0);
        let own = id(read);
        let is_own = |thing: &&Thing| own.is_some() && id(&thing.bytes) == own;
        let saved = self.folder.things.values().filter(is_own).flat_map(|thing| thing.words.iter().copied());
        let saved = saved.filter(|word| self.checks.hands.has_touched(*word, self.now_ms - age_ms - LATE_MS));
        let held = stand_ins.words_of(bytes);
        stand_ins.words_of(read).into_iter().chain(saved).filter(|word| !held.contains(word)).collect()
    }

    /// The words that a stale save lacked over which a person puts an earlier text: that is meant, whoever saw the save.
    pub(crate) fn put_back_over(&mut self, act: &Deed) -> BTreeSet<Word> {
        let Deed::WriteBack(path, _) = act else { return BTreeSet::new() };
        self.returning.stale.get_mut(path).map(|(_, lacked)| std::mem::take(lacked)).unwrap_or_default()
    }

    fn lacked(&self, act: &Deed, before_ms: i64) -> BTreeSet<Word> {
        let Deed::WriteStale { path, bytes, read, age_ms } = act else { return BTreeSet::new() };
        let Some(file) = self.folder.file(path) else { return BTreeSet::new() };
        let id = |bytes: &[u8]| named_id(split_front(&String::from_utf8_lossy(bytes)).0);
        let stand_ins = self.service.stand_ins();
        let (known, held) = (stand_ins.words_of(read), stand_ins.words_of(bytes));
        let is_strict = *age_ms <= STALE_MS
            && self.now_ms - before_ms > KNOWN_BY_THEN_MS
            && !self.checks.fates.is_approved()
            && self.scene.ignores + self.scene.down == 0
            && !self.scene.mistakes_files()
            && id(&file.bytes).is_some()
            && id(&file.bytes) == id(read)
            // A text without a word of its own may be one that the file had before: then it is that text again.
            && !held.is_subset(&known);
        if !is_strict {
            return BTreeSet::new();
        }
        // A word that both sides took away: what espejo wrote shows in the save.
        if known.iter().any(|word| !held.contains(word) && !file.words.contains(word)) {
            return BTreeSet::new();
        }
        // Another program saved the file since it was read: of two programs the later save wins.
        let is_saved = |word: &&Word| self.checks.hands.has_touched(**word, self.now_ms - age_ms - LATE_MS);
        if file.words.iter().filter(is_saved).any(|word| !known.contains(word)) {
            return BTreeSet::new();
        }
        let is_unseen =
            |word: &Word| !known.contains(word) && !held.contains(word) && !self.ledger.may_be_twice(*word);
        file.words.iter().copied().filter(is_unseen).collect()
    }
}

/// Every block without what is nested under it.
fn apart(content: &[Value]) -> Vec<Value> {
    let mut found = Vec::new();
    for block in content {
        let mut alone = block.clone();
        alone["children"] = Value::Array(Vec::new());
        found.push(alone);
        found.extend(apart(block["children"].as_array().map_or(&[][..], Vec::as_slice)));
    }
    found
}

fn sorted(mut words: Vec<Word>) -> Vec<Word> {
    words.sort_unstable();
    words
}
