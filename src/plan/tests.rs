//! The planner against two sides that are disturbed at will: grown, agreed, disturbed, then decided on page by page, with
//! every act pretended to succeed, to be refused or to lose its answer, until all rests. Then both sides agree, and no
//! word that nobody took away is lost. A million of these cases are played with `ESPEJO_CASES`, see docs/testing.md.

mod acts;
mod known;
mod people;
mod requests;
mod view;
mod world;

use std::collections::BTreeMap;

use crate::model::{Deletes, MirrorPath, Moves, PageId};
use crate::plan::{Decision, naming};
use known::Mirror;
use world::{TOP, World, words};

const CASES: u64 = 3_000;
/// So many failing cases are named.
const FAILURES_TOLD: usize = 8;
/// Rounds of looks and acts after which everything must be at rest once nobody disturbs it.
const ROUNDS_MAX: usize = 40;

struct Case {
    world: World,
    mirror: Mirror,
    faults: bool,
}

/// Plays one case; what went wrong, and the story if it was asked for.
fn play(number: u64, tells: bool) -> Result<(), String> {
    let mut world = World::new(number.wrapping_mul(0x2545_f491_4f6c_dd1d) + 1, tells);
    let deletes = if number.is_multiple_of(2) { Deletes::Trash } else { Deletes::Restore };
    let moves = if (number / 2).is_multiple_of(2) { Moves::PutBack } else { Moves::Recreate };
    let faults = number / 4 % 2 == 1;
    world.grow();
    let mut case = Case { world, mirror: Mirror::new(deletes, moves), faults };
    case.run();
    let mut story = case.world.story.take().unwrap_or_default().join("\n");
    if tells {
        story = format!("{story}\n{}", scene(&case));
    }
    match case.world.broken {
        None => Ok(()),
        Some(why) => Err(format!("{why}\n{deletes:?} {moves:?}\n{story}")),
    }
}

impl Case {
    fn run(&mut self) {
        self.until_rest(false);
        if self.world.luck.percent(25) {
            self.forget_some();
        }
        // Both sides are disturbed on their own, then both while looks and acts go on.
        for _ in 0..self.world.luck.below(6) {
            self.disturb();
        }
        let faults = self.faults;
        for _ in 0..self.world.luck.below(30) {
            match self.world.luck.below(10) {
                0..=2 => self.disturb(),
                3 => self.mirror.scan(&mut self.world),
                4 => self.mirror.list(&self.world),
                5 => self.mirror.create(&mut self.world, faults),
                _ => {
                    let pages: Vec<PageId> = self.mirror.pages.keys().cloned().collect();
                    if let Some(page) = self.world.luck.pick(&pages) {
                        self.mirror.settle(&mut self.world, &page, faults);
                    }
                }
            }
            self.world.nothing_is_lost();
            if self.world.broken.is_some() {
                return;
            }
        }
        self.world.tell(|| "= everybody rests".to_owned());
        for page in self.world.pages.values_mut() {
            page.listed = true;
        }
        self.until_rest(true);
        if self.world.broken.is_none() && !self.problems().is_empty() {
            self.mend();
            self.until_rest(false);
        }
        self.sides_agree();
    }

    fn problems(&self) -> Vec<MirrorPath> {
        let files = self.mirror.files.values().filter(|file| file.problem.is_some());
        files.map(|file| file.path.clone()).collect()
    }

    /// Somebody mends what could not be understood, and says that what is empty is meant so.
    fn mend(&mut self) {
        for path in self.problems() {
            self.world.tell(|| format!("= mends {path}"));
            if let Some(file) = self.world.files.get_mut(&path) {
                file.text.broken = false;
            }
            let page = self.mirror.files[&path].page.clone();
            if let Some(node) = page.and_then(|page| self.mirror.pages.get_mut(&page)) {
                node.approved = true;
            }
            self.mirror.read(&mut self.world, &path);
        }
    }

    /// Pairs that count as never compared, as after the state was lost.
    fn forget_some(&mut self) {
        self.world.tell(|| "= forgets what was agreed".to_owned());
        let mut luck = self.world.luck.clone();
        for node in self.mirror.pages.values_mut().filter(|node| node.file.is_some()) {
            if luck.percent(50) {
                node.base = None;
            }
        }
        self.mirror.crash();
    }

    fn disturb(&mut self) {
        if self.world.luck.percent(50) {
            self.world.act_on_disk();
        } else {
            self.world.act_in_the_app();
        }
    }

    /// Looks at everything and decides on every page, in any order, until nothing is left to do.
    fn until_rest(&mut self, with_problems: bool) {
        let mut decided: BTreeMap<(PageId, String), usize> = BTreeMap::new();
        let mut quiet = 0;
        for _ in 0..ROUNDS_MAX {
            let before = self.mirror.deeds;
            self.mirror.list(&self.world);
            let mut pages: Vec<PageId> = self.mirror.pages.keys().cloned().collect();
            for page in &pages {
                self.mirror.get(&mut self.world, page);
            }
            self.mirror.scan(&mut self.world);
            self.mirror.create(&mut self.world, false);
            let mut all_rest = true;
            while !pages.is_empty() {
                let page = pages.swap_remove(self.world.luck.below(pages.len()));
                let last = self.mirror.settle(&mut self.world, &page, false);
                all_rest &= last == Decision::Rest;
                if !matches!(last, Decision::Rest | Decision::Wait | Decision::Materialise) {
                    let key = (page, format!("{last:?}"));
                    let times = decided.entry(key.clone()).or_default();
                    *times += 1;
                    if *times > ROUNDS_MAX / 2 {
                        self.world.fail(|| format!("{} is decided again and again on {}", key.1, key.0));
                    }
                }
                self.world.nothing_is_lost();
                if self.world.broken.is_some() {
                    return;
                }
            }
            // What cannot be understood holds itself, what is beneath it, and whoever wants its place.
            let held = with_problems && !self.problems().is_empty();
            quiet = if (all_rest || held) && self.mirror.deeds == before { quiet + 1 } else { 0 };
            // What rests stays at rest, also when its grace time is over.
            if quiet >= if held { 4 } else { 2 } {
                return;
            }
        }
        self.world.fail(|| "it never comes to rest".to_owned());
    }

    /// Every page has its one file, where it belongs, with its words; and every file is a page's.
    fn sides_agree(&mut self) {
        if self.world.broken.is_some() {
            return;
        }
        let why = self.disagreement();
        if let Some(why) = why {
            self.world.fail(|| why);
        }
    }

    fn disagreement(&self) -> Option<String> {
        let (world, mirror) = (&self.world, &self.mirror);
        let mut seen: BTreeMap<u32, &PageId> = BTreeMap::new();
        for (id, page) in world.pages.iter().filter(|(_, page)| page.visible && !page.trashed) {
            let Some(node) = mirror.pages.get(id) else { return Some(format!("{id} is not known")) };
            let Some((path, file)) = node.file.as_ref().and_then(|path| world.files.get_key_value(path))
            else {
                return Some(format!("{id} has no file"));
            };
            if file.text.lines != page.lines {
                return Some(format!("{path} says {:?}, {id} {:?}", file.text.lines, page.lines));
            }
            let says = file.text.title.clone();
            let stem = path.page_stem().unwrap();
            if says.clone().unwrap_or_else(|| naming::title_of(stem)) != page.title {
                return Some(format!("{path} ({says:?}) is not titled {:?}", page.title));
            }
            let above = page.parent.as_ref().filter(|parent| world.get(parent).is_some());
            let folder = match above.map(|parent| mirror.pages[parent].file.as_ref()) {
                None => MirrorPath::new(TOP).unwrap(),
                Some(None) => continue,
                Some(Some(file)) => World::beneath(file),
            };
            if path.parent().as_ref() != Some(&folder) {
                return Some(format!("{path} is not in {folder}"));
            }
            for word in words(&page.lines) {
                let before = seen.insert(word, id).filter(|before| *before != id);
                // What is made anew elsewhere may be kept where it was, too.
                let may_be = world.doubled[word as usize] || world.copied || mirror.moves == Moves::Recreate;
                if before.is_some() && !may_be {
                    return Some(format!("the word {word} stands in two pages"));
                }
            }
        }
        for (path, file) in &world.files {
            let page = mirror.files.get(path).and_then(|file| file.page.as_ref());
            if page.is_none_or(|page| world.get(page).is_none()) {
                return Some(format!("{path} ({:?}) is no page's", file.text));
            }
        }
        None
    }
}

/// Everything there is, for a story.
fn scene(case: &Case) -> String {
    let page = |(id, page): (&PageId, &world::Served)| format!("{id} {page:?}");
    let file = |(path, file): (&MirrorPath, &world::OnDisk)| format!("{path} {:?}", file.text);
    let known = |file: &crate::model::LocalFile| {
        format!("{} is {:?} disowned {:?} {:?}", file.path, file.page, file.disowned, file.problem)
    };
    let node = |node: &crate::model::Node| {
        format!("{} at {:?} {:?} base {:?}", node.id, node.file, node.remote, node.base)
    };
    let mut lines: Vec<String> = case.world.pages.iter().map(page).collect();
    lines.extend(case.world.files.iter().map(file));
    lines.extend(case.mirror.files.values().map(known));
    lines.extend(case.mirror.pages.values().map(node));
    lines.join("\n")
}

fn number_of(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn whatever_is_disturbed_comes_to_rest_and_agrees_and_loses_nothing() {
    if let Some(number) = number_of("ESPEJO_CASE") {
        if let Err(story) = play(number, true) {
            panic!("{story}");
        }
        return;
    }
    let first = number_of("ESPEJO_FROM").unwrap_or(0);
    let mut failed: Vec<(u64, String)> = Vec::new();
    for number in first..first + number_of("ESPEJO_CASES").unwrap_or(CASES) {
        let end = std::panic::catch_unwind(|| play(number, false));
        if let Some(why) = end.unwrap_or_else(|_| Err("a panic".to_owned())).err() {
            failed.push((number, why.lines().next().unwrap_or_default().to_owned()));
            if failed.len() == FAILURES_TOLD {
                break;
            }
        }
    }
    if let Some((number, _)) = failed.first() {
        let told: Vec<String> = failed.iter().map(|(number, why)| format!("case {number}: {why}")).collect();
        let story = play(*number, true).err().unwrap_or_default();
        panic!("{}\nESPEJO_CASE={number} repeats the first:\n{story}", told.join("\n"));
    }
}
