//! Another program writes at the worst moment, and a kill comes at the worst moment: every combination, one after the
//! other, on file systems of every ability. No text of a person is ever lost.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::os::unix::fs::symlink;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::mirror::sys::Abilities;

pub(super) const NOTE: &str = "a/Plan.md";

/// What file systems can do: everything, no swap, no refusal of taken names, neither, and a disk of its own.
pub(super) const ABILITIES: [Abilities; 5] = [
    Abilities { one_disk: true, exchange: true, no_replace: true },
    Abilities { one_disk: true, exchange: false, no_replace: true },
    Abilities { one_disk: true, exchange: true, no_replace: false },
    Abilities { one_disk: true, exchange: false, no_replace: false },
    Abilities { one_disk: false, exchange: true, no_replace: true },
];

/// The ways in which programs save.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Save {
    /// Truncate and write: VS Code, nano, `>`.
    InPlace,
    /// A temporary file over the old one: sed -i, GNOME.
    RenameOver,
    /// The old one out of the way, a new one in its place: vim, emacs.
    Backup,
    /// `>>`.
    Append,
}

pub(super) const SAVES: [Save; 4] = [Save::InPlace, Save::RenameOver, Save::Backup, Save::Append];

/// A person with an editor, who knows nothing of espejo.
pub(super) struct Person {
    note: PathBuf,
    /// Everything that was saved and not overwritten or removed by the person's own later act.
    pub(super) cares_for: BTreeSet<String>,
    /// What the person saved last.
    pub(super) last: Option<String>,
}

impl Person {
    pub(super) fn new(bed: &Bed) -> Self {
        Self { note: bed.real(NOTE), cares_for: BTreeSet::new(), last: None }
    }

    pub(super) fn save(&mut self, how: Save, text: &str) {
        let there = fs::read_to_string(&self.note).ok();
        if how != Save::Append
            && let Some(there) = &there
        {
            self.cares_for.remove(there);
        }
        let beside = |ending: &str| self.note.with_extension(ending);
        let mut now = text.to_owned();
        match how {
            Save::InPlace => put(&self.note, text),
            Save::RenameOver => {
                put(&beside("tmp"), text);
                fs::rename(beside("tmp"), &self.note).unwrap();
            }
            Save::Backup => {
                let moved = fs::rename(&self.note, beside("md~")).is_ok();
                put(&self.note, text);
                if moved {
                    fs::remove_file(beside("md~")).unwrap();
                }
            }
            Save::Append => {
                let mut file = OpenOptions::new().append(true).create(true).open(&self.note).unwrap();
                file.write_all(text.as_bytes()).unwrap();
                if let Some(there) = there {
                    self.cares_for.remove(&there);
                    now = there + text;
                }
            }
        }
        self.last = Some(now.clone());
        self.cares_for.insert(now);
    }

    fn remove(&mut self) {
        if let Ok(there) = fs::read_to_string(&self.note) {
            self.cares_for.remove(&there);
            fs::remove_file(&self.note).unwrap();
        }
    }
}

/// Has `act` happen when the steps have been reached the given number of times; kills after `kill` steps.
pub(super) fn at_step(bed: &Bed, kill: usize, mut act: impl FnMut(usize) + Send + 'static) {
    let mut count = 0;
    *bed.mirror.steps.hook.lock().unwrap() = Some(Box::new(move |_| {
        count += 1;
        act(count);
        count == kill
    }));
}

/// More steps than any act has without meddling.
pub(super) const STEPS: usize = 8;

pub(super) const NEVER: usize = 0;

/// One round: the note is `old`; `effect` runs; the person saves at some steps; a kill may come.
fn round(
    can: Abilities,
    kill: usize,
    saves: &[(usize, Option<Save>)],
    effect: &dyn Fn(&Bed) -> Result<(), DiskError>,
    what: &str,
) {
    let mut bed = quick_bed();
    bed.mirror.can = can;
    bed.put(NOTE, "old");
    let person = Arc::new(Mutex::new(Person::new(&bed)));
    if what == "trash" {
        // What goes to the trash is kept there; what is replaced is known to the writer.
        person.lock().unwrap().cares_for.insert("old".to_owned());
    }
    let (hand, plan) = (person.clone(), saves.to_vec());
    at_step(&bed, kill, move |step| {
        for (at, how) in
            plan.iter().enumerate().filter(|(_, (when, _))| *when == step).map(|(at, (_, how))| (at, how))
        {
            match how {
                Some(how) => hand.lock().unwrap().save(*how, &format!("person {at}")),
                None => hand.lock().unwrap().remove(),
            }
        }
    });
    let result = effect(&bed);
    *bed.mirror.steps.hook.lock().unwrap() = None;
    let what = format!("{what}, {can:?}, saves {saves:?}, kill {kill}: {result:?}");
    bed.restart();
    bed.mirror.can = can;
    assert_eq!(bed.scan().unreadable, [], "{what}");

    let everything = bed.everything();
    for text in &person.lock().unwrap().cares_for {
        assert!(everything.values().any(|there| there == text), "{what}\n{text:?} is lost: {everything:#?}");
    }
    // Nothing half-done is left, and no text that was never written.
    let aside = bed.aside();
    assert!(aside.iter().all(|name| name.ends_with(".done") || name.ends_with(".note")), "{what}: {aside:?}");
    let count = |ending| aside.iter().filter(|name| name.ends_with(ending)).count();
    assert_eq!(count(".done"), count(".note"), "{what}: {aside:?}");
    bed.later(60);
    bed.scan();
    assert_eq!(bed.aside(), [""; 0], "{what}");
    let everything = bed.everything();
    for text in &person.lock().unwrap().cares_for {
        assert!(
            everything.values().any(|there| there == text),
            "{what}\n{text:?} is swept away: {everything:#?}"
        );
    }
    // The person finds the last text where it was saved.
    if kill == NEVER
        && let Some((_, Some(_))) = saves.last()
        && let Some(text) = person.lock().unwrap().last.clone()
    {
        assert_eq!(everything.get(NOTE), Some(&text), "{what}: {everything:#?}");
    }
    if let [(_, Some(_))] = saves
        && let Some(text) = person.lock().unwrap().cares_for.iter().find(|text| *text != "old")
    {
        assert_eq!(everything.get(NOTE), Some(text), "{what}: {everything:#?}");
    }
    if saves.is_empty() && !what.contains("trash") {
        let there = &everything[NOTE];
        assert!(there == "new" || there == "old", "{what}: {everything:#?}");
        assert!(kill != NEVER || there == "new", "{what}");
    }
}

/// Every pair of save and step, every kill.
fn all_rounds(effect: &dyn Fn(&Bed) -> Result<(), DiskError>, what: &str) {
    for can in ABILITIES {
        for kill in NEVER..=STEPS {
            round(can, kill, &[], effect, what);
            for step in 1..=STEPS {
                for how in SAVES {
                    round(can, kill, &[(step, Some(how))], effect, what);
                }
                round(can, kill, &[(step, None)], effect, what);
            }
        }
    }
}

#[test]
pub(super) fn a_save_and_a_kill_at_any_step_of_a_write_lose_nothing() {
    all_rounds(&|bed| bed.replace(NOTE, "old", "new").map(drop), "write");
}

#[test]
fn a_save_and_a_kill_at_any_step_of_a_trashing_lose_nothing() {
    all_rounds(&|bed| bed.trash(NOTE, "old"), "trash");
}

#[test]
fn two_and_three_saves_during_one_write_lose_nothing() {
    let effect: &dyn Fn(&Bed) -> Result<(), DiskError> = &|bed| bed.replace(NOTE, "old", "new").map(drop);
    for can in [ABILITIES[0], ABILITIES[1]] {
        for kill in [NEVER, 5, 6, 7, 8] {
            for one in 1..=STEPS {
                for two in one..=STEPS {
                    for how in [Save::InPlace, Save::RenameOver, Save::Backup] {
                        round(can, kill, &[(one, Some(Save::RenameOver)), (two, Some(how))], effect, "write");
                        round(can, kill, &[(one, Some(how)), (two, None), (two, Some(how))], effect, "write");
                    }
                }
            }
        }
    }
}

#[test]
fn a_new_file_gives_way_to_one_that_appears_meanwhile() {
    for can in ABILITIES {
        for kill in NEVER..=3 {
            for step in 1..=2 {
                let mut bed = quick_bed();
                bed.mirror.can = can;
                let note = bed.real(NOTE);
                at_step(&bed, kill, move |count| {
                    if count == step && !note.exists() {
                        put(&note, "person");
                    }
                });
                let result = bed.write(NOTE, "new", Expect::Absent);
                let what = format!("{can:?}, kill {kill}, step {step}: {result:?}");
                bed.restart();
                bed.scan();
                let expected = match (step, kill) {
                    (1, _) => Some("person"),
                    (_, 1) => None,
                    _ => Some("new"),
                };
                assert_eq!(bed.text(NOTE).as_deref(), expected, "{what}");
                if kill == NEVER && step == 1 {
                    assert_eq!(result, Err(DiskError::Exists(at(NOTE))), "{what}");
                }
                assert_eq!(bed.aside(), [""; 0], "{what}");
            }
        }
    }
}

#[test]
fn a_save_and_a_kill_at_any_step_of_a_rename_lose_nothing() {
    for can in ABILITIES {
        for kill in NEVER..=3 {
            for (step, how) in (0..=3).flat_map(|step| SAVES.map(|how| (step, how))) {
                let mut bed = bed_with(can);
                let person = Arc::new(Mutex::new(Person::new(&bed)));
                let hand = person.clone();
                at_step(&bed, kill, move |count| {
                    if count == step {
                        hand.lock().unwrap().save(how, "person");
                    }
                });
                let result = bed.rename(NOTE, "a/Other.md");
                *bed.mirror.steps.hook.lock().unwrap() = None;
                bed.restart();
                bed.mirror.can = can;
                bed.scan();
                let everything = bed.everything();
                let what = format!("{can:?}, kill {kill}, {how:?} at {step}: {result:?} {everything:#?}");
                for text in &person.lock().unwrap().cares_for {
                    assert!(everything.values().any(|there| there == text), "{what}");
                }
                assert!(everything.contains_key("a/Other.md"), "{what}");
                assert!(!everything.keys().any(|path| path.contains(".espejo-tmp-")), "{what}");
                assert_eq!(bed.aside(), [""; 0], "{what}");
                if kill == NEVER {
                    assert_eq!(result, Ok(()), "{what}");
                    assert!(step > 0 || !everything.contains_key(NOTE), "{what}");
                }
            }
        }
    }
}

/// The way of a case-only rename where both names are one, which most file systems here are not: walked directly.
#[test]
fn a_rename_in_two_steps_ends_at_one_of_its_names() {
    for folder in [false, true] {
        for kill in NEVER..=2 {
            // What a person makes at the new name, at the old one, or neither, while the thing stands aside.
            for made in [None, Some("a/plan.md"), Some(NOTE)] {
                let mut bed = quick_bed();
                let inside = if folder { "/Sub.md" } else { "" };
                bed.put(&format!("{NOTE}{inside}"), "old");
                let real = made.map(|path| bed.real(path));
                at_step(&bed, kill, move |step| {
                    if let Some(real) = real.as_ref().filter(|_| step == 1) {
                        put(real, "person");
                    }
                });
                {
                    let (root, mut bench) = bed.mirror.ready().unwrap();
                    let mut act = bed.mirror.act(&root, &mut bench);
                    let dir = crate::mirror::sys::open_folder(&root.dir, "a").unwrap();
                    let (from, to) = (at(NOTE), at("a/plan.md"));
                    let result = crate::mirror::moves::by_way_of_aside(&mut act, &from, &dir, &to, &dir);
                    assert_eq!(result.is_ok(), kill == NEVER && made != Some("a/plan.md"), "{result:?}");
                }
                *bed.mirror.steps.hook.lock().unwrap() = None;
                bed.restart();
                bed.scan();
                let everything = bed.everything();
                let what = format!("folder {folder}, kill {kill}, made {made:?}: {everything:#?}");
                let count = |text| everything.values().filter(|there| *there == text).count();
                assert_eq!((count("old"), count("person")), (1, usize::from(made.is_some())), "{what}");
                assert!(
                    everything.iter().any(|(path, text)| text == "old" && path.starts_with("a/")),
                    "{what}"
                );
                assert_eq!(bed.aside(), [""; 0], "{what}");
            }
        }
    }
}

#[test]
fn a_program_that_keeps_the_old_file_open_loses_nothing() {
    for (step, expected) in [("looked", "old, late"), ("swapped", "old, late"), ("checked", "old, late")] {
        let bed = bed();
        bed.put(NOTE, "old");
        let mut file = OpenOptions::new().append(true).open(bed.real(NOTE)).unwrap();
        *bed.mirror.steps.hook.lock().unwrap() = Some(Box::new(move |now| {
            if now == step {
                file.write_all(b", late").unwrap();
            }
            false
        }));
        let result = bed.replace(NOTE, "old", "new");
        *bed.mirror.steps.hook.lock().unwrap() = None;
        bed.later(60);
        bed.scan();
        let everything = bed.everything();
        assert!(everything.values().any(|text| text == expected), "{step}: {result:?} {everything:#?}");
        assert_eq!(result.is_ok(), step == "checked", "{step}: {result:?}");
    }
}

#[test]
fn a_program_that_saves_over_what_it_never_saw_loses_nothing() {
    for can in [ABILITIES[0], ABILITIES[4]] {
        let bed = bed_with(can);
        let (note, mut read) = (bed.real(NOTE), String::new());
        *bed.mirror.steps.hook.lock().unwrap() = Some(Box::new(move |now| {
            match now {
                "looked" => put(&note, "person"),
                // The person's text stands aside at this moment, and a program reads ours.
                "swapped" => read = fs::read_to_string(&note).unwrap(),
                "swapped back" => put(&note, &format!("{read}, program")),
                _ => {}
            }
            false
        }));
        assert_eq!(bed.replace(NOTE, "old", "new"), Err(DiskError::Changed(at(NOTE))));
        assert_eq!(bed.text(NOTE).unwrap(), "new, program");
        assert!(bed.everything().values().any(|text| text == "person"), "{:#?}", bed.everything());
    }
}

#[test]
fn a_link_or_folder_that_takes_the_files_place_is_left_as_it_is() {
    for can in ABILITIES {
        for step in 1..=4 {
            for link in [true, false] {
                let bed = bed_with(can);
                put(&bed.outside().join("secret"), "old");
                let (note, secret) = (bed.real(NOTE), bed.outside().join("secret"));
                at_step(&bed, NEVER, move |count| {
                    if count != step || !note.exists() {
                        return;
                    }
                    fs::remove_file(&note).unwrap();
                    if link {
                        symlink(&secret, &note).unwrap();
                    } else {
                        put(&note.join("inside"), "person");
                    }
                });
                let result = bed.replace(NOTE, "old", "new");
                let what = format!("{can:?}, step {step}, link {link}: {result:?}");
                assert_eq!(fs::read_to_string(bed.outside().join("secret")).unwrap(), "old", "{what}");
                let look = fs::symlink_metadata(bed.real(NOTE)).unwrap();
                assert!(look.is_symlink() == link && look.is_dir() != link, "{what}");
                assert_eq!(bed.text("a/Plan.md/inside").is_some(), !link, "{what}");
            }
        }
    }
}

fn bed_with(can: Abilities) -> Bed {
    let mut bed = quick_bed();
    bed.mirror.can = can;
    bed.put(NOTE, "old");
    bed
}

#[test]
fn a_folder_that_is_swapped_for_a_link_leads_nowhere() {
    for step in 1..=5 {
        for effect in 0..3 {
            let bed = bed_with(ABILITIES[0]);
            let (folder, away, outside) = (bed.real("a"), bed.real("b"), bed.outside());
            at_step(&bed, NEVER, move |count| {
                if count == step {
                    fs::rename(&folder, &away).unwrap();
                    symlink(&outside, &folder).unwrap();
                }
            });
            let result = match effect {
                0 => bed.replace(NOTE, "old", "new").map(drop),
                1 => bed.trash(NOTE, "old"),
                _ => bed.write("a/New.md", "new", Expect::Absent).map(drop),
            };
            let outside: Vec<_> = fs::read_dir(bed.outside()).unwrap().collect();
            assert!(outside.is_empty(), "step {step}, effect {effect}: {result:?} {outside:?}");
        }
    }
}

/// A program that adds lines to the note, always in the same way, once in each of the mirror's rounds, at a moment that
/// differs each time. Returns how many.
fn add_lines(note: &Path, how: Save, round: &AtomicUsize, rounds: usize) -> usize {
    let (mut lines, mut seen, mut chance) = (0, 0, 1_u64);
    while seen < rounds {
        let now = round.load(Ordering::SeqCst);
        if now == seen {
            std::hint::spin_loop();
            continue;
        }
        seen = now;
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        for _ in 0..(chance >> 48) {
            std::hint::spin_loop();
        }
        let line = format!("person {lines}\n");
        // Nothing is created: where a name is gone for a moment, a program that makes a new note of one line is
        // another story (told above).
        match how {
            Save::Append => match OpenOptions::new().append(true).open(note) {
                Ok(mut file) => file.write_all(line.as_bytes()).unwrap(),
                Err(_) => continue,
            },
            _ => match fs::read_to_string(note) {
                Ok(base) => {
                    put(&note.with_extension("tmp"), &format!("{base}{line}"));
                    fs::rename(note.with_extension("tmp"), note).unwrap();
                }
                Err(_) => continue,
            },
        }
        lines += 1;
    }
    lines
}

/// `ESPEJO_ROUNDS` sets how often, for each kind of file system and of program.
#[test]
#[expect(clippy::print_stdout, reason = "the figures are worth seeing with --nocapture")]
fn many_writes_against_a_program_that_never_rests_lose_no_line() {
    let rounds = std::env::var("ESPEJO_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    for (can, how) in [
        (ABILITIES[0], Save::RenameOver),
        (ABILITIES[0], Save::Append),
        (ABILITIES[1], Save::RenameOver),
        (ABILITIES[1], Save::Append),
    ] {
        let bed = bed_with(can);
        bed.put(NOTE, "old\n");
        let (note, round) = (bed.real(NOTE), Arc::new(AtomicUsize::new(0)));
        let theirs = round.clone();
        let person = std::thread::spawn(move || add_lines(&note, how, &theirs, rounds));
        let (mut written, mut refused) = (0, 0);
        for count in 1..=rounds {
            let look = bed.read(NOTE);
            round.store(count, Ordering::SeqCst);
            let Ok(look) = look else { continue };
            let mut bytes = look.bytes.clone();
            bytes.extend_from_slice(format!("mirror {count}\n").as_bytes());
            let expect = Expect::Content(ContentHash::of(&look.bytes));
            match bed.mirror.perform(&Effect::WriteFile { path: at(NOTE), bytes, expect }) {
                Ok(_) => written += 1,
                Err(DiskError::Changed(_) | DiskError::Missing(_)) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        let lines = person.join().unwrap();
        bed.later(60);
        bed.scan();
        assert_eq!(bed.aside(), [""; 0]);
        let everything = bed.everything();
        let found: BTreeSet<&str> = everything.values().flat_map(|text| text.lines()).collect();
        let lost: Vec<_> = (0..lines).filter(|line| !found.contains(&*format!("person {line}"))).collect();
        let figures = format!(
            "{can:?}, {how:?}: {lines} lines, {written} written, {refused} refused, {} kept in the trash",
            everything.len() - 2
        );
        assert!(lost.is_empty(), "{figures}, lost: {lost:?}");
        println!("{figures}");
    }
}
