//! Files of storage in their places: what a download replaces and what is taken away, with another program's saves and kills
//! at every step.

use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;

use super::races::{ABILITIES, NEVER, NOTE, Person, SAVES, STEPS, Save, at_step};
use super::*;
use crate::mirror::sys::Abilities;
use crate::model::{AttachmentId, FileId, Part, StorageEffect, StoredReply};

impl Bed {
    /// A finished download.
    fn fetch(&self, text: &str) -> (Part, ContentHash) {
        let part = Part::of(&FileId::new("f").unwrap(), &AttachmentId::new("a").unwrap(), text.len() as u64);
        let mut open = self.mirror.open_part(&part, text.len() as u64).unwrap();
        self.mirror.write_part(&mut open, text.as_bytes()).unwrap();
        (part, open.finish().unwrap())
    }

    fn stamp(&self, path: &str) -> Stamp {
        self.scan().entries.into_iter().find(|entry| entry.path == at(path)).unwrap().stamp
    }

    /// Places a new stored file.
    pub(super) fn put_stored(&self, path: &str, text: &str) {
        self.place_at(path, &self.fetch(text), None).unwrap();
    }

    fn place(&self, download: &(Part, ContentHash), instead_of: Option<Stamp>) -> Result<Stamp, DiskError> {
        self.place_at(NOTE, download, instead_of)
    }

    fn place_at(
        &self,
        path: &str,
        (part, hash): &(Part, ContentHash),
        instead_of: Option<Stamp>,
    ) -> Result<Stamp, DiskError> {
        let place = StorageEffect::Place { part: part.clone(), hash: *hash, to: at(path), instead_of };
        match self.mirror.perform(&Effect::Storage(place))? {
            DiskReply::Storage(StoredReply::Placed(stamp)) => Ok(stamp),
            other => panic!("{other:?}"),
        }
    }

    fn discard(&self, expect: Stamp) -> Result<(), DiskError> {
        self.finish(&Effect::Storage(StorageEffect::Discard { path: at(NOTE), expect }))
    }

    fn downloads(&self) -> Vec<String> {
        fs::read_dir(self.real(".espejo/downloads"))
            .map(|list| list.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect())
            .unwrap_or_default()
    }
}

type Act = fn(&Bed) -> Result<(), DiskError>;

pub(super) fn replaced(bed: &Bed) -> Result<(), DiskError> {
    let (download, stamp) = (bed.fetch("new"), bed.stamp(NOTE));
    bed.place(&download, Some(stamp)).map(drop)
}

pub(super) fn discarded(bed: &Bed) -> Result<(), DiskError> {
    bed.discard(bed.stamp(NOTE))
}

/// The note is `old`; `act` runs; the person saves at some steps; a kill may come.
fn round(can: Abilities, kill: usize, saves: &[(usize, Save)], act: Act) {
    let mut bed = quick_bed();
    bed.mirror.can = can;
    bed.put(NOTE, "old");
    let person = Arc::new(Mutex::new(Person::new(&bed)));
    // It goes to the trash, whatever becomes of its place.
    person.lock().unwrap().cares_for.insert("old".to_owned());
    let (hand, plan) = (person.clone(), saves.to_vec());
    // The first step is the scan's.
    at_step(&bed, if kill == NEVER { NEVER } else { kill + 1 }, move |step| {
        for (n, (_, how)) in plan.iter().enumerate().filter(|(_, (when, _))| when + 1 == step) {
            hand.lock().unwrap().save(*how, &format!("person {n}"));
        }
    });
    let result = act(&bed);
    *bed.mirror.steps.hook.lock().unwrap() = None;
    let what = format!("{can:?}, saves {saves:?}, kill {kill}: {result:?}");
    bed.restart();
    bed.mirror.can = can;
    assert_eq!(bed.scan().unreadable, [], "{what}");
    let everything = bed.everything();
    for text in &person.lock().unwrap().cares_for {
        let mut there = everything.iter().filter(|(_, there)| *there == text);
        assert!(there.any(|(path, _)| !path.starts_with(".espejo/downloads")), "{what}: {everything:#?}");
    }
    assert!(!everything.keys().any(|path| path.contains(".espejo-tmp-")), "{what}: {everything:#?}");
    assert_eq!(bed.aside(), [""; 0], "{what}: {everything:#?}");
    // Nothing that a person wrote is taken for what the service holds.
    assert!(bed.downloads().iter().all(|text| text == "new"), "{what}: {everything:#?}");
    if kill == NEVER && saves.is_empty() {
        assert_eq!(result, Ok(()), "{what}");
    }
    if kill == NEVER
        && !saves.is_empty()
        && let Some(text) = &person.lock().unwrap().last
    {
        assert_eq!(everything.get(NOTE), Some(text), "{what}: {everything:#?}");
    }
}

fn all_rounds(act: Act) {
    for can in ABILITIES {
        for kill in NEVER..=STEPS {
            round(can, kill, &[], act);
            for one in 1..=STEPS {
                for how in SAVES {
                    round(can, kill, &[(one, how)], act);
                    round(can, kill, &[(one, Save::RenameOver), (one + 1, how)], act);
                    round(can, kill, &[(1, how), (one, Save::RenameOver)], act);
                }
            }
        }
    }
}

#[test]
fn a_save_and_a_kill_at_any_step_of_placing_a_stored_file_lose_nothing() {
    all_rounds(replaced);
}

#[test]
fn a_save_and_a_kill_at_any_step_of_taking_a_stored_file_away_lose_nothing() {
    all_rounds(discarded);
}

#[test]
fn what_the_trash_cannot_take_stays_in_its_place() {
    for can in ABILITIES {
        let mut bed = quick_bed();
        bed.mirror.can = can;
        bed.put(NOTE, "old");
        bed.put(".espejo/trash", "in the way");
        let download = bed.fetch("new");
        let refused = bed.place(&download, Some(bed.stamp(NOTE)));
        if can.exchange {
            assert_eq!(bed.text(NOTE).as_deref(), Some("old"), "{can:?}: {refused:?}");
            assert_eq!(bed.downloads(), ["new"], "{can:?}");
        }
        assert!(refused.is_err(), "{can:?}");
        if can.exchange {
            let refused = bed.discard(bed.stamp(NOTE));
            assert!(refused.is_err() && bed.text(NOTE).as_deref() == Some("old"), "{can:?}: {refused:?}");
        }
        fs::remove_file(bed.real(".espejo/trash")).unwrap();
        bed.restart();
        bed.scan();
        if can.exchange {
            bed.place(&download, Some(bed.stamp(NOTE))).unwrap();
        }
        let everything = bed.everything();
        assert_eq!(everything.get(NOTE).map(String::as_str), Some("new"), "{can:?}: {everything:#?}");
        assert!(everything.iter().any(|(path, text)| path.contains("trash") && text == "old"), "{can:?}");
        assert!(!everything.keys().any(|path| path.contains(".espejo-tmp-")), "{can:?}: {everything:#?}");
    }
}

#[test]
fn a_download_that_was_overwritten_is_fetched_again() {
    let bed = bed();
    bed.put(NOTE, "old");
    let (download, stamp, person) = (bed.fetch("new"), bed.stamp(NOTE), Mutex::new(Person::new(&bed)));
    *bed.mirror.steps.hook.lock().unwrap() = Some(Box::new(move |step| {
        match step {
            "noted" => person.lock().unwrap().save(Save::RenameOver, "first"),
            "swapping back" if person.lock().unwrap().last.as_deref() == Some("first") => {
                person.lock().unwrap().save(Save::RenameOver, "second");
            }
            _ => {}
        }
        false
    }));
    assert_eq!(bed.place(&download, Some(stamp)), Err(DiskError::Missing(at(NOTE))));
    *bed.mirror.steps.hook.lock().unwrap() = None;
    let everything = bed.everything();
    assert_eq!(everything.get(NOTE).map(String::as_str), Some("second"), "{everything:#?}");
    assert!(
        everything.iter().any(|(path, text)| path.contains("trash") && text == "first"),
        "{everything:#?}"
    );
    assert_eq!(bed.downloads(), [""; 0]);
}

#[test]
fn a_stored_file_keeps_its_permissions_when_it_is_replaced() {
    for can in ABILITIES {
        for mode in [0o600, 0o640, 0o755, 0o444] {
            let mut bed = quick_bed();
            bed.mirror.can = can;
            bed.put(NOTE, "old");
            fs::set_permissions(bed.real(NOTE), fs::Permissions::from_mode(mode)).unwrap();
            let download = bed.fetch("new");
            bed.place(&download, Some(bed.stamp(NOTE))).unwrap();
            assert_eq!(bed.text(NOTE).as_deref(), Some("new"));
            let now = fs::metadata(bed.real(NOTE)).unwrap().permissions().mode() & 0o777;
            assert_eq!(now, mode, "{can:?} {now:o} {mode:o}");
        }
    }
}
