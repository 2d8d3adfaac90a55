//! Tests of identity: tables of file histories, and random histories against a model that knows each file's page.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// A file in a test's model: `inode` stands for the file object, `text` for its content, front matter included.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct File {
    object: u64,
    born: i64,
    modified: i64,
    claims: Option<&'static str>,
    text: u64,
}

const PAGES: [&str; 8] = ["A", "B", "C", "D", "E", "F", "G", "H"];

fn path(text: &str) -> MirrorPath {
    MirrorPath::new(text).unwrap()
}

fn page(text: &str) -> PageId {
    PageId::new(text).unwrap()
}

impl File {
    fn stamp(&self) -> Stamp {
        Stamp {
            device: 1,
            inode: self.object,
            size: 100,
            modified_ns: self.modified,
            changed_ns: 0,
            born_ns: self.born,
        }
    }

    fn hash(&self) -> ContentHash {
        ContentHash::of(format!("{:?}{}", self.claims, self.text).as_bytes())
    }

    fn known(&self, at: &str, page: Option<PageId>) -> KnownFile {
        KnownFile { path: path(at), page, stamp: self.stamp(), hash: Some(self.hash()) }
    }

    pub(crate) fn seen(&self, at: &str) -> SeenFile {
        SeenFile {
            path: path(at),
            stamp: self.stamp(),
            claims: self.claims.map(page),
            is_awaited: false,
            hash: Some(self.hash()),
        }
    }
}

/// `path page object[!] claims text`, `-` for none; `!` marks a file system without births, or a reused inode.
fn read(line: &str) -> (String, Option<PageId>, File) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [at, owner, object, claims, text] = words[..] else { panic!("{line:?}") };
    let claims = PAGES.iter().find(|p| **p == claims).copied();
    let (number, born) = match object.strip_suffix('!') {
        Some(number) => (number, 0),
        None => (object, object.parse::<i64>().unwrap()),
    };
    let text: u64 = text.parse().unwrap();
    let modified = i64::try_from(text).unwrap();
    let file = File { object: number.parse().unwrap(), born, modified, claims, text };
    (at.to_owned(), (owner != "-").then(|| page(owner)), file)
}

fn show(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Same(page) => format!("same {page}"),
        Verdict::Moved { page, from } => format!("moved {page} {from}"),
        Verdict::Copy { of, from: None } => format!("copy {of}"),
        Verdict::Copy { of, from: Some(from) } => format!("copy {of} from {from}"),
        Verdict::New { claims, from } => {
            let claims = claims.as_ref().map(|page| format!(" claims {page}")).unwrap_or_default();
            format!("new{claims}{}", from.as_ref().map(|path| format!(" {path}")).unwrap_or_default())
        }
    }
}

/// Known files; then seen files, each with its expected verdict; then the expected vanished files. Order must not
/// matter.
fn check(story: &str, known: &[&str], seen: &[(&str, &str)], gone: &str) {
    let mut known: Vec<KnownFile> = known
        .iter()
        .map(|line| {
            let (at, page, file) = read(line);
            file.known(&at, page)
        })
        .collect();
    let mut files = Vec::new();
    let mut wanted = BTreeMap::new();
    for (line, verdict) in seen {
        let (at, _, file) = read(&line.replacen(' ', " - ", 1));
        files.push(file.seen(&at));
        wanted.insert(at, (*verdict).to_owned());
    }
    for _ in 0..2 {
        let found = identify(&known, &files);
        let verdicts: BTreeMap<String, String> =
            files.iter().zip(&found.verdicts).map(|(file, v)| (file.path.to_string(), show(v))).collect();
        let mut lost: Vec<String> = found.vanished.iter().map(|(page, _)| page.to_string()).collect();
        lost.extend(found.forgotten.iter().map(ToString::to_string));
        lost.sort();
        assert_eq!(verdicts, wanted, "{story}");
        assert_eq!(lost.join(" "), gone, "{story}");
        known.reverse();
        files.reverse();
    }
}

#[test]
fn files_with_an_id_are_known_by_it() {
    let two = &["a A 1 A 1", "b B 2 B 2"];
    check("nothing happened", two, &[("a 1 A 1", "same A"), ("b 2 B 2", "same B")], "");
    check("both were edited, one by renaming", two, &[("a 1 A 3", "same A"), ("b 9 B 4", "same B")], "");
    check("deleted", two, &[("b 2 B 2", "same B")], "A");
    check("emptied tree", two, &[], "A B");
    check("renamed", two, &[("c 1 A 1", "moved A a"), ("b 2 B 2", "same B")], "");
    check("renamed by git, edited", two, &[("c 9 A 7", "moved A a"), ("b 2 B 2", "same B")], "");
    check("copied", two, &[("a 1 A 1", "same A"), ("b 2 B 2", "same B"), ("c 9 A 1", "copy A")], "");
    check("swapped", two, &[("a 2 B 2", "moved B b"), ("b 1 A 1", "moved A a")], "");
    check("swapped by git", two, &[("a 8 B 2", "moved B b"), ("b 9 A 1", "moved A a")], "");
    let one_has_no_id = &["a A 1 A 1", "b B 2 - 2"];
    let by_path = [("a 8 - 2", "same A"), ("b 9 A 1", "same B")];
    check("swapped by git, one without an id", one_has_no_id, &by_path, "");
    let aside = [("a 8 - 5", "same A"), ("b 2 - 2", "same B"), ("c 9 A 1", "copy A")];
    check("copied, and replaced by a text without an id", one_has_no_id, &aside, "");
    let copied = [("a 8 - 2", "same A"), ("b 2 - 2", "same B"), ("c 9 A 1", "copy A")];
    check("copied over another, which has a copy", one_has_no_id, &copied, "");
    check("moved over another", two, &[("a 2 B 2", "moved B b")], "A");
    check("copied over another", two, &[("a 1 B 2", "same A"), ("b 2 B 2", "same B")], "");
    check(
        "renamed, another copied to its place",
        two,
        &[("a 9 B 2", "copy B"), ("b 2 B 2", "same B"), ("c 1 A 1", "moved A a")],
        "",
    );
    check("the id was taken out", two, &[("a 1 - 5", "same A"), ("b 9 - 6", "same B")], "");
    check("the id was replaced by an unknown one", two, &[("a 1 G 5", "same A"), ("b 9 H 6", "same B")], "");
    check(
        "renamed, and another file at the old place",
        two,
        &[("a 9 - 5", "new"), ("b 2 B 2", "same B"), ("c 1 A 1", "moved A a")],
        "",
    );
    check(
        "copied by an editor's backup, then the id taken out",
        two,
        &[("a 9 - 5", "same A"), ("b 2 B 2", "same B"), ("c 8 A 1", "copy A")],
        "",
    );
    check(
        "three in a ring",
        &["a A 1 A 1", "b B 2 B 2", "c C 3 C 3"],
        &[("a 3 C 3", "moved C c"), ("b 1 A 1", "moved A a"), ("c 2 B 2", "moved B b")],
        "",
    );
}

#[test]
fn of_several_claimants_one_is_the_page() {
    let one = &["d/a A 1 A 1"];
    check(
        "the same file wins over the same bytes",
        one,
        &[("x 9 A 1", "copy A"), ("y 1 A 2", "moved A d/a")],
        "",
    );
    check(
        "the same bytes win over the same name",
        one,
        &[("x 8 A 1", "moved A d/a"), ("e/a 9 A 2", "copy A")],
        "",
    );
    check("of equal ones, the first", one, &[("e/a 8 A 2", "copy A"), ("d/b 9 A 2", "moved A d/a")], "");
    check("its own place wins over everything", one, &[("d/a 9 A 5", "same A"), ("x 1 A 1", "copy A")], "");
    check(
        "a new place wins over another page's",
        &["a A 1 A 1", "b B 2 B 2"],
        &[("b 2 A 3", "same B"), ("c 7 A 3", "moved A a")],
        "",
    );
}

#[test]
fn files_without_an_id_are_known_by_place_file_and_content() {
    let two = &["a A 1 - 1", "b B 2 - 2"];
    check("edited", two, &[("a 1 - 3", "same A"), ("b 9 - 4", "same B")], "");
    check("renamed", two, &[("c 1 - 1", "moved A a"), ("b 2 - 2", "same B")], "");
    check("renamed and edited in place", two, &[("c 1 - 5", "moved A a"), ("b 2 - 2", "same B")], "");
    check("renamed by git", two, &[("c 9 - 1", "moved A a"), ("b 2 - 2", "same B")], "");
    check("renamed by git and edited: nothing tells", two, &[("c 9 - 5", "new"), ("b 2 - 2", "same B")], "A");
    check("swapped: the path decides", two, &[("a 2 - 2", "same A"), ("b 1 - 1", "same B")], "");
    check("moved over another: an edit of that one", two, &[("a 2 - 2", "same A")], "B");
    check("copied", two, &[("a 1 - 1", "same A"), ("b 2 - 2", "same B"), ("c 9 - 1", "new")], "");
    check(
        "one gone, two equal ones found",
        two,
        &[("b 2 - 2", "same B"), ("c 8 - 1", "new"), ("d 9 - 1", "new")],
        "A",
    );
    check(
        "a new file saved by renaming a draft over a page",
        &["a A 1 - 1", "b - 2 - 2"],
        &[("a 2 - 2", "same A")],
        "b",
    );
    let unborn = &["a A 1! - 1", "b B 2! - 2"];
    check("no births: renamed", unborn, &[("c 1! - 1", "moved A a"), ("b 2! - 2", "same B")], "");
    check(
        "no births: the inode was given to another file",
        unborn,
        &[("c 1! - 5", "new"), ("b 2! - 2", "same B")],
        "A",
    );
    check("no births: moved over another", unborn, &[("a 2! - 2", "same A")], "B");
    check("no births: given the inode of another that is gone", unborn, &[("a 2! - 5", "same A")], "B");
    let alike = &["a A 1! - 1", "b B 2! - 1"];
    let unpacked = [("a 2! - 1", "same A"), ("b 1! - 1", "same B")];
    check("no births: equal files that were unpacked again in another order", alike, &unpacked, "");
    check(
        "hard links",
        &["a A 1 - 1", "b B 1 - 1"],
        &[("a 1 - 1", "same A"), ("b 1 - 1", "same B"), ("c 1 - 1", "new")],
        "",
    );
    check(
        "hard links, both moved",
        &["a A 1 - 1", "x/b B 1 - 1"],
        &[("d 1 - 1", "moved A a"), ("y/b 1 - 1", "moved B x/b")],
        "",
    );
}

#[test]
fn files_without_a_page_are_followed_too() {
    check("waiting", &["a - 1 - 1"], &[("a 1 - 1", "new")], "");
    check("moved while waiting", &["a - 1 - 1"], &[("b 1 - 2", "new a")], "");
    check("gone while waiting", &["a - 1 - 1"], &[], "a");
    check("a copy waiting", &["a A 1 A 1", "b - 2 A 1"], &[("a 1 A 1", "same A"), ("b 2 A 1", "copy A")], "");
    check(
        "replaced in a folder that moves with its page's file",
        &["p.md A 1 A 1", "p/c.md C 2 - 2"],
        &[("q.md 1 A 1", "moved A p.md"), ("q/c.md 9 - 5", "new")],
        "C",
    );
    check(
        "another's file where a replaced one might have come to",
        &["p.md A 1 A 1", "p/c.md C 2 - 2"],
        &[("q.md 1 A 1", "moved A p.md"), ("q/c.md 9 B 5", "new claims B")],
        "C",
    );
    check(
        "a waiting copy moves",
        &["a A 1 A 1", "b - 2 A 1"],
        &[("a 1 A 1", "same A"), ("d/b 2 A 1", "copy A from b")],
        "",
    );
    check(
        "the original of a waiting copy is deleted",
        &["a A 1 A 1", "b - 2 A 1"],
        &[("b 2 A 1", "moved A a")],
        "b",
    );
    check("an unknown id", &[], &[("a 1 H 1", "new claims H")], "");
    check("an unknown id, twice", &["b - 2 H 1"], &[("a 1 H 1", "copy H"), ("b 2 H 1", "new claims H")], "");
    check(
        "an unknown id in a page's file, and in another",
        &["a A 1 H 1"],
        &[("a 1 H 1", "same A"), ("b 2 H 2", "new claims H")],
        "",
    );
    check(
        "one page in two known files",
        &["a A 1 - 1", "b A 2 - 2"],
        &[("a 1 - 1", "same A"), ("b 2 - 2", "new")],
        "",
    );
}

#[test]
fn small_equal_files_are_not_the_same_file() {
    let small = |at: &str, object: u64, owner: Option<PageId>| {
        let stamp = Stamp { size: 6, ..File { object, born: 1, modified: 0, claims: None, text: 0 }.stamp() };
        let hash = Some(ContentHash::of(b"# Note"));
        (
            KnownFile { path: path(at), page: owner, stamp, hash },
            SeenFile { path: path(at), stamp, claims: None, is_awaited: false, hash },
        )
    };
    let found = identify(&[small("a", 1, Some(page("A"))).0], &[small("b", 2, None).1]);
    assert_eq!(found.verdicts, [Verdict::New { claims: None, from: None }]);
    assert_eq!(found.vanished, [(page("A"), path("a"))]);
}

/// A folder in which the page of each file is known.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) files: BTreeMap<String, (File, Option<PageId>)>,
    pub(crate) births: bool,
    pub(crate) clock: u64,
}

pub(crate) const PLACES: [&str; 9] =
    ["a.md", "b.md", "c.md", "d/a.md", "d/b.md", "d/e/a.md", "f/x.md", "f/y.md", "z.md"];

impl World {
    pub(crate) fn file(&mut self, claims: Option<&'static str>) -> File {
        self.clock += 1;
        // The lowest free inode: file systems reuse numbers at once.
        let used: BTreeSet<u64> = self.files.values().map(|(file, _)| file.object).collect();
        let object = (1..).find(|n| !used.contains(n)).unwrap();
        let now = i64::try_from(self.clock).unwrap();
        File { object, born: if self.births { now } else { 0 }, modified: now, claims, text: self.clock }
    }

    fn edited(&mut self, mut file: File) -> File {
        self.clock += 1;
        file.modified = i64::try_from(self.clock).unwrap();
        file.text = self.clock;
        file
    }

    /// One act of a user or an editor at `from`, towards `to`.
    pub(crate) fn act(&mut self, kind: u8, from: &str, to: &str) {
        let Some((file, owner)) = self.files.get(from).cloned() else {
            if kind == 0 && !self.files.contains_key(from) {
                let file = self.file(None);
                self.files.insert(from.to_owned(), (file, None));
            }
            return;
        };
        let target = self.files.get(to).cloned();
        match (kind, target) {
            (0 | 1, _) => {
                let file = self.edited(file);
                self.files.insert(from.to_owned(), (file, owner));
            }
            (2, _) => {
                let file = self.file(file.claims);
                self.files.insert(from.to_owned(), (file, owner));
            }
            (3, _) => {
                self.files.remove(from);
            }
            (4 | 5, _) => {
                self.files.remove(from);
                self.files.insert(to.to_owned(), (file, owner));
            }
            (6, None) => {
                let copy = self.file(file.claims);
                self.files.insert(to.to_owned(), (File { text: file.text, ..copy }, None));
            }
            (6, Some((over, its_owner))) => {
                let copy = File { claims: file.claims, text: file.text, ..self.edited(over) };
                self.files.insert(to.to_owned(), (copy, its_owner));
            }
            (7, Some(other)) => {
                self.files.insert(to.to_owned(), (file, owner));
                self.files.insert(from.to_owned(), other);
            }
            _ => {}
        }
    }
}

pub(crate) fn worlds() -> impl Strategy<Value = World> {
    (any::<bool>(), prop::collection::vec((0..PLACES.len(), 0..5_u8), 0..7)).prop_map(|(births, places)| {
        let mut world = World { files: BTreeMap::new(), births, clock: 0 };
        for (number, (at, kind)) in places.into_iter().enumerate() {
            let (owner, claims) = match kind {
                0 => (None, None),
                1 | 2 => (Some(page(PAGES[number])), None),
                _ => (Some(page(PAGES[number])), Some(PAGES[number])),
            };
            let file = world.file(claims);
            world.files.entry(PLACES[at].to_owned()).or_insert((file, owner));
        }
        world
    })
}

pub(crate) fn acts(most: usize) -> impl Strategy<Value = Vec<(u8, &'static str, &'static str)>> {
    let place = || prop::sample::select(&PLACES[..]);
    prop::collection::vec((0..8_u8, place(), place()), 1..=most)
}

pub(crate) fn known_of(world: &World) -> Vec<KnownFile> {
    world.files.iter().map(|(at, (file, owner))| file.known(at, owner.clone())).collect()
}

pub(crate) fn seen_of(world: &World) -> Vec<SeenFile> {
    world.files.iter().map(|(at, (file, _))| file.seen(at)).collect()
}

pub(crate) fn items_of(known: &[KnownFile], seen: &[SeenFile]) -> (Vec<Known>, Vec<Seen>) {
    as_items(known, seen, &owners(known))
}

fn owner(verdict: &Verdict) -> Option<PageId> {
    match verdict {
        Verdict::Same(page) | Verdict::Moved { page, .. } => Some(page.clone()),
        Verdict::Copy { .. } | Verdict::New { .. } => None,
    }
}

proptest! {
    #![proptest_config(crate::model::tests::config())]

    #[test]
    fn one_act_is_understood(world in worlds(), (kind, from, to) in acts(1).prop_map(|acts| acts[0])) {
        let mut after = world.clone();
        // A file without an id that is moved over another, or that swaps names with another, looks like a save.
        let pair = [from, to].map(|at| world.files.get(at).map(|(file, _)| file.claims));
        let blind = match (kind, pair) {
            (4 | 5, [Some(None), Some(_)]) => true,
            (7, [Some(one), Some(other)]) => one.is_none() || other.is_none(),
            _ => false,
        };
        if blind {
            return Ok(());
        }
        after.act(kind, from, to);
        let found = identify(&known_of(&world), &seen_of(&after));
        for ((at, (_, expected)), verdict) in after.files.iter().zip(&found.verdicts) {
            prop_assert_eq!(&owner(verdict), expected, "{}: {:?}", at, verdict);
        }
    }

    #[test]
    fn any_row_of_saves_and_moves_of_files_with_ids_is_understood(mut world in worlds(), acts in acts(12)) {
        world.files.retain(|_, (file, _)| file.claims.is_some());
        let mut after = world.clone();
        for (kind, from, to) in acts.into_iter().filter(|(kind, from, _)| !matches!(kind, 3 | 6) && world.files.contains_key(*from)) {
            after.act(if kind == 0 { 1 } else { kind }, from, to);
        }
        let found = identify(&known_of(&world), &seen_of(&after));
        for ((at, (_, expected)), verdict) in after.files.iter().zip(&found.verdicts) {
            prop_assert_eq!(&owner(verdict), expected, "{}: {:?}", at, verdict);
        }
    }

    #[test]
    fn every_file_and_page_is_told_of_once(world in worlds(), acts in acts(8)) {
        let mut after = world.clone();
        for (kind, from, to) in acts {
            after.act(kind, from, to);
        }
        let (mut known, mut seen) = (known_of(&world), seen_of(&after));
        let found = identify(&known, &seen);
        prop_assert_eq!(found.verdicts.len(), seen.len());
        let mut pages: Vec<PageId> = found.verdicts.iter().filter_map(owner).collect();
        pages.extend(found.vanished.iter().map(|(page, _)| page.clone()));
        pages.sort();
        let mut wanted: Vec<PageId> = known.iter().filter_map(|file| file.page.clone()).collect();
        wanted.sort();
        prop_assert_eq!(pages, wanted);
        for (file, verdict) in seen.iter().zip(&found.verdicts) {
            if let Verdict::Moved { from, .. } = verdict {
                prop_assert_ne!(from, &file.path);
            }
        }
        known.reverse();
        seen.reverse();
        let mut again = identify(&known, &seen);
        again.verdicts.reverse();
        again.vanished.reverse();
        again.forgotten.reverse();
        prop_assert_eq!(&again, &found);
        // A second scan, with the first result recorded, changes nothing.
        seen.reverse();
        let settled: Vec<KnownFile> = seen.iter().zip(&found.verdicts).map(|(file, verdict)| KnownFile {
            path: file.path.clone(), page: owner(verdict), stamp: file.stamp, hash: file.hash,
        }).collect();
        for (file, verdict) in settled.iter().zip(identify(&settled, &seen).verdicts) {
            match (&file.page, verdict) {
                (Some(page), verdict) => prop_assert_eq!(verdict, Verdict::Same(page.clone())),
                (None, verdict) => prop_assert_eq!(owner(&verdict), None),
            }
        }
    }
}

#[test]
fn of_copies_of_a_page_that_has_no_file_the_one_at_its_place_is_its_file() {
    let file = |object| File { object, born: 1, modified: 0, claims: Some("H"), text: 1 };
    let (copy, own) = (file(1).seen("Note copy"), SeenFile { is_awaited: true, ..file(2).seen("Note") });
    let found = identify(&[], &[copy, own]);
    let copy = Verdict::Copy { of: page("H"), from: None };
    assert_eq!(found.verdicts, [copy, Verdict::New { claims: Some(page("H")), from: None }]);
}
