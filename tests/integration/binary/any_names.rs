//! Folders and files of any names a disk allows: each is one page, and a pass over them ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use espejo::plan::ignore::is_page_file;
use espejo::plan::naming::title_of;

use super::bench::{Bench, save, words};

/// Of these, names are put together.
const PIECES: [&str; 34] = [
    "README",
    ".md",
    ".md",
    "x",
    "X",
    " ",
    " (2)",
    "(3)",
    ".conflict-20260131-235959",
    "_",
    "~$",
    "~",
    "#",
    "CON",
    "nul.txt",
    ":",
    "a/",
    "\u{e9}",
    "e\u{301}",
    "\u{df}",
    "SS",
    "\n",
    "\u{200d}",
    "\u{2026}",
    ".canvas",
    ".svg",
    "sedAb12Cd",
    "4913",
    ".tmp",
    "_BASE_12",
    " (Ana's conflicted copy 2026)",
    "_conflict-20260131-235959",
    "\u{ff0e}md",
    "*",
];

/// A small generator: the same names in each run, so a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    /// A name that scans enter: no hidden one.
    fn name(&mut self) -> String {
        let mut name = String::new();
        for _ in 0..=self.roll(3) {
            name.push_str(PIECES[self.roll(PIECES.len())].trim_end_matches('/'));
        }
        if self.roll(12) == 0 {
            name = format!("{name}{}", "long ".repeat(51));
            name.truncate(name.floor_char_boundary(255 - self.roll(5)));
        }
        if name.starts_with('.') { format!("a{name}") } else { name }
    }
}

/// The title of each page that is to be, with those of the pages above it, and the words of its file.
type Pages = BTreeMap<(Vec<String>, String), String>;

/// Makes a tree of folders, each with one note at least. Returns how many pages it is to make, and the notes.
fn grow(bench: &Bench, seed: u64, folders: usize) -> (usize, Pages) {
    let mut dice = Dice(seed);
    let mut all: Vec<PathBuf> = vec![PathBuf::new()];
    let (mut pages, mut notes) = (BTreeSet::new(), Pages::new());
    for n in 0..folders {
        let place = all[dice.roll(all.len())].join(dice.name());
        let note = match dice.roll(3) {
            0 => dice.name() + ".md",
            _ => "Note.md".to_owned(),
        };
        let note = if is_page_file(&note) && note.len() < 255 { note } else { "Note.md".to_owned() };
        let (folder, file) = (bench.page("").join(&place), bench.page("").join(&place).join(&note));
        if place.components().count() > 6 || fs::create_dir_all(&folder).is_err() || file.exists() {
            continue;
        }
        save(&file, &format!("words of {n}\n"));
        let titles = |path: &std::path::Path| -> Vec<String> {
            path.iter().map(|name| title_of(name.to_str().unwrap())).collect()
        };
        notes
            .insert((titles(&place), title_of(note.strip_suffix(".md").unwrap())), format!("words of {n}\n"));
        pages.extend(place.ancestors().map(PathBuf::from).filter(|path| *path != PathBuf::new()));
        pages.insert(place.join(note.strip_suffix(".md").unwrap()));
        all.push(place);
    }
    (pages.len(), notes)
}

/// The notes at the service.
fn notes_at(bench: &Bench) -> Pages {
    let world = bench.world();
    let pages: BTreeMap<_, _> =
        world.visible_pages(&bench.space).into_iter().map(|page| (page.id.clone(), page)).collect();
    let mut notes = Pages::new();
    for page in pages.values().filter(|page| !page.content.is_empty()) {
        let mut above = Vec::new();
        let mut at = page.parent.as_ref();
        while let Some(up) = at.and_then(|id| pages.get(id)) {
            above.insert(0, up.title.clone());
            at = up.parent.as_ref();
        }
        notes.insert((above, page.title.clone()), words(&page.content));
    }
    notes
}

#[track_caller]
fn check(seed: u64, folders: usize) {
    let bench = Bench::new(|_, _| {});
    bench.sync();
    let (pages, notes) = grow(&bench, seed, folders);
    bench.sync();
    assert_eq!(notes_at(&bench), notes, "seed {seed}");
    assert_eq!(bench.pages(), pages, "seed {seed}\n{}", bench.seen());
    bench.forget_requests();
    bench.sync();
    assert_eq!(bench.writes(), Vec::<String>::new(), "seed {seed}: a second pass has nothing to do");
}

#[test]
fn folders_and_files_of_any_names_are_one_page_each() {
    let from = std::env::var("ESPEJO_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    for seed in from..from + 6 {
        check(seed, 25);
    }
}

#[test]
fn a_folder_that_is_named_like_a_file_is_one_page() {
    let bench = Bench::new(|_, _| {});
    bench.sync();
    for folder in ["README.md", "x.conflict-20260131-235959", "~$x", "Ana_BASE_12"] {
        fs::create_dir_all(bench.page(folder)).unwrap();
        save(&bench.page(&format!("{folder}/Note.md")), "a note\n");
    }
    bench.sync();
    assert_eq!(bench.pages(), 8, "{}", bench.seen());
    assert_eq!(bench.count("README.md"), 1);
    assert!(bench.page("README.md.md").is_file() && bench.page("README.md/Note.md").is_file());
    bench.forget_requests();
    bench.sync();
    assert_eq!(bench.writes(), Vec::<String>::new());
    assert_eq!(bench.attention(), "");
}

#[test]
fn a_folder_whose_page_is_elsewhere_makes_no_other_page() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Zed", Vec::new());
    });
    // The name of the page's file is taken, so the page is not beside the folder of its name.
    fs::create_dir_all(bench.page("Zed.md")).unwrap();
    bench.sync();
    assert!(bench.page("Zed (2).md").is_file(), "{}", bench.seen());
    fs::remove_dir(bench.page("Zed.md")).unwrap();
    fs::create_dir(bench.page("Zed")).unwrap();
    save(&bench.page("Zed/Note.md"), "a note\n");
    bench.forget_requests();
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 3, "{told:?}");
    assert_eq!(bench.writes(), Vec::<String>::new());
    let attention = bench.attention();
    assert!(
        attention.contains("Equipo/Pages/Zed: not sent: the page that was made for this folder"),
        "{attention}"
    );
    // The mend that it names.
    fs::rename(bench.page("Zed"), bench.page("Zed (2)")).unwrap();
    bench.sync();
    assert_eq!(bench.record(&bench.id("Note")).parent, Some(bench.id("Zed")));
    assert_eq!((bench.pages(), bench.attention()), (2, String::new()));
}
