//! How often each act and each fault came by, and how often they came together: a promise is only as good as what it met.

use std::collections::{BTreeMap, BTreeSet};

use crate::canvas::{AppCanvas, Canvas, CanvasFault};
use crate::owner::Owner;
use crate::script::{Act, App, Edit, Fault, Tree};
use crate::stored::{AppStored, Stored, StoredFault};

/// Each act and fault, and each fault before an act of each person, shall come by so often in
const OFTEN: u64 = 50;
/// so many seeds.
const IN_SEEDS: u64 = 1_000;
/// A fault and an act come together when so much time is between them at most.
const TOGETHER_MS: i64 = 60_000;

/// Who acts, and what is done.
type Name = (&'static str, &'static str);

/// What came by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    acts: BTreeMap<Name, u64>,
    /// Acts of a person within a minute after a fault.
    together: BTreeMap<(Name, &'static str), u64>,
    /// When each fault struck last.
    struck_ms: BTreeMap<Name, i64>,
}

impl Tally {
    /// A step was taken.
    pub(crate) fn note(&mut self, act: Act, now_ms: i64) {
        let name = (act.who(), verb_of(act));
        *self.acts.entry(name).or_default() += 1;
        if is_fault(name) {
            self.struck_ms.insert(name, now_ms);
            return;
        }
        for (fault, _) in self.struck_ms.iter().filter(|(_, at)| now_ms - **at <= TOGETHER_MS) {
            *self.together.entry((*fault, name.0)).or_default() += 1;
        }
    }

    /// Adds what came by in another run.
    pub(crate) fn add(&mut self, other: &Self) {
        for (name, count) in &other.acts {
            *self.acts.entry(*name).or_default() += count;
        }
        for (pair, count) in &other.together {
            *self.together.entry(*pair).or_default() += count;
        }
    }

    /// Prints what came by (all of it where that is asked for), and what of it came by too seldom for so many seeds.
    pub(crate) fn report(&self, seeds: u64, is_asked_for: bool) {
        if is_asked_for {
            self.acts.iter().for_each(|((who, verb), count)| println!("{count:>8} {who} {verb}"));
            for (((of, fault), who), count) in &self.together {
                println!("{count:>8} {who} within a minute after {of} {fault}");
            }
        }
        let seldom = self.seldom(seeds);
        if is_asked_for || seeds >= IN_SEEDS {
            let list = seldom.join(", ");
            println!(
                "less than {OFTEN} times in {IN_SEEDS} seeds: {}",
                if list.is_empty() { "none" } else { &list }
            );
        }
    }

    /// What came by less often than it shall, of those who came by at all.
    fn seldom(&self, seeds: u64) -> Vec<String> {
        let is_seldom = |count: u64| count * IN_SEEDS < OFTEN * seeds;
        let present: BTreeSet<&str> = self.acts.keys().map(|(who, _)| *who).collect();
        let names: Vec<Name> = every_name().into_iter().filter(|(who, _)| present.contains(who)).collect();
        let count = |name: &Name| self.acts.get(name).copied().unwrap_or(0);
        let mut seldom: Vec<String> = names
            .iter()
            .filter(|name| is_seldom(count(name)))
            .map(|name| format!("{} {} ({})", name.0, name.1, count(name)))
            .collect();
        let people = present.iter().filter(|who| !who.ends_with("fault") && **who != "owner");
        for who in people {
            for fault in names.iter().filter(|name| is_fault(**name)) {
                let count = self.together.get(&(*fault, *who)).copied().unwrap_or(0);
                if is_seldom(count) {
                    seldom.push(format!("{who} after {} {} ({count})", fault.0, fault.1));
                }
            }
        }
        seldom
    }
}

/// Whether it is bad luck, and no act of a person at work.
fn is_fault((who, verb): Name) -> bool {
    who.ends_with("fault")
        || who == "owner" && Owner::FAULTS.iter().any(|fault| name_in(Owner::ALL, *fault) == verb)
}

fn name_in<T: PartialEq>(all: &[(T, &'static str, u64)], wanted: T) -> &'static str {
    all.iter().find(|(verb, ..)| *verb == wanted).map_or("", |(_, name, _)| *name)
}

fn verb_of(act: Act) -> &'static str {
    match act {
        Act::Edit(edit, _) => name_in(Edit::ALL, edit),
        Act::Tree(tree) => name_in(Tree::ALL, tree),
        Act::App(app) => name_in(App::ALL, app),
        Act::Fault(fault) => name_in(Fault::ALL, fault),
        Act::Stored(verb) => name_in(Stored::ALL, verb),
        Act::AppStored(verb) => name_in(AppStored::ALL, verb),
        Act::StoredFault(fault) => name_in(StoredFault::ALL, fault),
        Act::Canvas(canvas) => name_in(Canvas::ALL, canvas),
        Act::AppCanvas(app) => name_in(AppCanvas::ALL, app),
        Act::CanvasFault(fault) => name_in(CanvasFault::ALL, fault),
        Act::Owner(owner) => name_in(Owner::ALL, owner),
    }
}

fn every_name() -> Vec<Name> {
    fn of<T>(who: &'static str, all: &[(T, &'static str, u64)]) -> Vec<Name> {
        all.iter().map(|(_, name, _)| (who, *name)).collect()
    }
    [
        of("edit", Edit::ALL),
        of("tree", Tree::ALL),
        of("app", App::ALL),
        of("fault", Fault::ALL),
        of("stored", Stored::ALL),
        of("app-stored", AppStored::ALL),
        of("stored-fault", StoredFault::ALL),
        of("canvas", Canvas::ALL),
        of("app-canvas", AppCanvas::ALL),
        of("canvas-fault", CanvasFault::ALL),
        of("owner", Owner::ALL),
    ]
    .concat()
}

#[test]
fn what_came_by_too_seldom_is_named() {
    let mut tally = Tally::default();
    for at in 0..50 {
        tally.note(Act::Fault(Fault::Crash), at * 100_000);
        tally.note(Act::App(App::ALL[0].0), at * 100_000 + if at == 0 { 70_000 } else { 1_000 });
    }
    let (app, crash) = (App::ALL[0].1, "crash");
    assert_eq!(tally.acts.get(&("app", app)), Some(&50));
    assert_eq!(tally.together.get(&(("fault", crash), "app")), Some(&49));
    let seldom = tally.seldom(1_000);
    assert!(seldom.contains(&format!("app after fault {crash} (49)")), "{seldom:?}");
    assert!(!seldom.iter().any(|line| line.starts_with(&format!("app {app} "))), "{seldom:?}");
    assert!(!seldom.iter().any(|line| line.contains("canvas")), "no canvas was in these runs");
}
