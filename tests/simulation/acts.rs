//! What people and bad luck do in a run.

use std::collections::BTreeSet;

use espejo::model::{EntryKind, Event, MirrorPath, PageId, Request, RootState};

use crate::blocks::all_words;
use crate::canvas::is_canvas_file;
use crate::checks::Failure;
use crate::folder::Thing;
use crate::news::News;
use crate::run::{Due, Run};
use crate::script::{Act, Step, Tree};
use crate::stored;
use crate::users::{self, Deed, Plan, in_swap, is_page_file};
use crate::words::{Word, words_in};

impl Run {
    /// Takes one step of a script.
    pub(crate) fn step(&mut self, step: &Step) -> Result<(), Failure> {
        self.pass_until(self.now_ms + i64::from(step.wait_ms))?;
        self.turn_to_place_of(step);
        self.copy_stored();
        self.keep_version();
        let picks = (step.a, step.b);
        let plan = match step.act {
            Act::Fault(fault) => {
                self.note(format_args!("= {step}"));
                self.strike(fault, picks)?;
                return self.pump();
            }
            Act::Edit(edit, save) => users::edit((edit, save), picks, &self.folder, &mut self.ledger),
            Act::Tree(Tree::CutAndPaste) => self.cut_and_paste(picks),
            Act::Tree(tree) => users::tree(tree, picks, self.scene.grace_ms, &self.folder, &mut self.ledger),
            Act::App(app) => users::app(app, picks, &self.service, &mut self.ledger),
            Act::Stored(_) | Act::AppStored(_) if self.scene.stored == 0 => None,
            Act::Stored(verb) => stored::people::on_disk(verb, picks, &self.folder, &mut self.stored.bodies),
            Act::AppStored(verb) => {
                stored::people::in_app(verb, picks, &self.service, &mut self.stored.bodies)
            }
            Act::StoredFault(fault) => {
                self.note(format_args!("= {step}"));
                self.strike_stored(fault, picks)?;
                return self.pump();
            }
            Act::Canvas(act) => self.plan_canvas(act, picks),
            Act::AppCanvas(act) => {
                self.note(format_args!("= {step}"));
                self.in_app_canvas(act, picks);
                return self.pump();
            }
            Act::Owner(owner) => {
                self.note(format_args!("= {step}"));
                self.owner_does(owner, picks)?;
                return self.pump();
            }
            Act::CanvasFault(fault) => {
                self.note(format_args!("= {step}"));
                self.strike_canvases(fault, picks);
                return self.pump();
            }
        };
        self.note(format_args!("= {step}{}", if plan.is_none() { ": no place for it" } else { "" }));
        self.schedule(plan.unwrap_or_default());
        self.pass_until(self.now_ms)
    }

    fn schedule(&mut self, plan: Plan) {
        let mut delay = 0;
        for (pause, act) in plan {
            delay += pause;
            if let Deed::WriteOn(open, ..) | Deed::Canvas(crate::canvas::Deed::WriteOn(open, ..)) = &act {
                self.folder.set_open(open.inode, true);
            }
            self.later(delay, Due::Deed(act));
        }
    }

    /// A person does one thing.
    pub(crate) fn carry_out(&mut self, act: Deed) -> Result<(), Failure> {
        let on_disk = act.is_on_disk();
        if on_disk && self.folder.root != RootState::Ready {
            // Nobody can work in a folder that is not there; they come back to it.
            self.postponed.push((self.now_ms, act));
            return Ok(());
        }
        if self.ends_a_swap_to_come(&act) {
            self.later(1_000, Due::Deed(act));
            return Ok(());
        }
        let act = match act {
            Deed::Stored(deed) => return self.carry_out_stored(deed),
            // A conflict copy of a stored file.
            Deed::Unlink(path) if path.is_within(&stored::people::root()) => {
                return self.carry_out_stored(stored::people::StoredDeed::Unlink(path));
            }
            act => act,
        };
        self.mark_changed();
        match act {
            Deed::Canvas(deed) => self.on_canvas_files(deed),
            act if on_disk => self.on_disk(act),
            act => self.in_app(act),
        }
        self.service.keep_state(self.now_ms);
        self.spread_hints();
        Ok(())
    }

    /// A folder that was gone has put off the beginning of a swap, and this is its end.
    fn ends_a_swap_to_come(&self, act: &Deed) -> bool {
        let begins = |due: &Due| matches!(due, Due::Deed(Deed::Rename(_, to)) if in_swap(to));
        matches!(act, Deed::Rename(from, _) if in_swap(from)) && self.queue.values().any(begins)
    }

    fn on_disk(&mut self, act: Deed) {
        let stand_ins = self.service.stand_ins().clone();
        let mut taken: BTreeSet<Word> = stand_ins.words_of(act.held());
        let mut takes = |run: &Self, path: &MirrorPath| {
            for path in run.folder.within(path) {
                let bytes = run.folder.file(&path).map_or(&[][..], |thing| &thing.bytes);
                taken.extend(stand_ins.words_of(bytes));
            }
        };
        let held = words_in(act.held());
        let (unseen, put_back) = (self.unseen(&act), self.put_back_over(&act));
        self.taken_meanwhile(&act).into_iter().for_each(|word| self.ledger.forget(word));
        self.removed_at_old_path(&act).into_iter().for_each(|word| self.ledger.forget(word));
        self.disturbs_return(&act);
        self.may_be_lines_of_their_own(&act);
        let was = self.words_of_pages();
        let mut handled: Vec<Word> = held.clone();
        if let Deed::Rename(from, _) = &act {
            let files = self.folder.within(from).into_iter().filter_map(|path| self.folder.file(&path));
            handled.extend(files.flat_map(|file| file.words.iter().copied()));
        }
        let act = match act {
            Deed::WriteOn(open, path, bytes) => {
                self.folder.set_open(open.inode, false);
                let (file, open) = (EntryKind::File, open.object());
                let is_it = |thing: &Thing| thing.kind == file && thing.stamp.object() == open;
                let at = self.folder.things.iter().find(|(_, thing)| is_it(thing));
                Deed::Write(at.map_or(path, |(at, _)| at.clone()), bytes)
            }
            Deed::Rename(from, to) if in_swap(&from) => {
                // Whoever swaps two files looks for the one that lay aside where its folder has gone.
                let at = self.folder.things.keys().find(|path| in_swap(path)).cloned();
                Deed::Rename(at.unwrap_or(from), to)
            }
            act => act,
        };
        let act = match act {
            Deed::WriteStale { path, bytes, .. } => Deed::WriteBack(path, bytes),
            act => act,
        };
        let place = act.paths().first().map(|path| (*path).clone());
        let is_late = matches!(act, Deed::WriteLate(..));
        let is_saved_back = matches!(act, Deed::WriteBack(..));
        self.trace.text(act.held());
        let (done, line) = match act {
            // Whoever works in a folder that is gone from under him does not make the whole way anew.
            Deed::Write(path, _) if !self.folder.has_way(&path) => (false, format!("writes {path}")),
            Deed::Write(path, bytes) => {
                takes(self, &path);
                self.written_over(&path, &held);
                (self.folder.write(&path, &bytes), format!("writes {path}"))
            }
            Deed::WriteBack(path, bytes) | Deed::WriteLate(path, bytes) => {
                takes(self, &path);
                if is_late || self.folder.file(&path).is_some() {
                    // Whatever has come to its place says something else now, and its own page may have come back.
                    let named = words_in(path.name().as_bytes());
                    held.iter().chain(&named).for_each(|word| self.ledger.copy(*word));
                }
                let done = self.folder.has_parent(&path) && self.folder.write(&path, &bytes);
                (done, format!("writes {path} again"))
            }
            Deed::WriteQuietly(path, bytes) => {
                takes(self, &path);
                let modified = self.folder.file(&path).map(|thing| thing.stamp.modified_ns);
                let done = self.folder.write(&path, &bytes);
                if let Some(modified) = modified {
                    self.folder.set_modified(&path, modified);
                }
                (done, format!("writes {path}, time kept"))
            }
            Deed::Replace(path, bytes) => {
                takes(self, &path);
                (self.folder.replace(&path, &bytes), format!("replaces {path}"))
            }
            Deed::Unlink(path) => {
                takes(self, &path);
                if path.name().contains(".conflict-") {
                    // Who removes a conflict copy has chosen, even in the moment before the file beside it is written.
                    let words = self.folder.file(&path).map(|file| file.words.clone()).unwrap_or_default();
                    words.into_iter().for_each(|word| self.ledger.forget(word));
                }
                (self.folder.unlink(&path), format!("removes {path}"))
            }
            Deed::RemoveTree(path) => {
                takes(self, &path);
                (self.folder.remove_tree(&path), format!("removes {path} and all in it"))
            }
            Deed::Rename(from, to) => {
                let is_backup = to.name().ends_with('~');
                takes(self, &to);
                if is_backup {
                    takes(self, &from);
                }
                if in_swap(&to) || self.folder.things.keys().any(in_swap) {
                    // What the app changed meanwhile in one of two pages that change places is kept there.
                    let files = [&from, &to].into_iter().filter_map(|path| self.folder.file(path));
                    let words: Vec<Word> = files.flat_map(|file| file.words.clone()).collect();
                    words.into_iter().for_each(|word| self.ledger.copy(word));
                }
                if in_swap(&from) {
                    // Left where it lies, it is no page's.
                    takes(self, &from);
                }
                let done = self.folder.rename(&from, &to);
                if done {
                    self.returning.renamed(&from, &to);
                }
                (done, format!("renames {from} to {to}"))
            }
            Deed::MakeFolder(path) => (self.folder.make_folder(&path), format!("makes {path}")),
            Deed::Link(path) => (self.folder.link(&path), format!("links {path}")),
            _ => return,
        };
        self.note(format_args!(
            "@ {line} [{}]{}",
            crate::run::listed(&held),
            if done { "" } else { ": refused" }
        ));
        if done {
            self.ledger.typed(&held);
            self.checks.fates.filed(&held);
            self.note_copies(&held, place.as_ref());
        }
        if done {
            let handled = handled.into_iter().chain(taken.iter().copied());
            let is = self.words_of_pages();
            let told = self.scene.hints_lost == 0 && self.engine.is_some();
            self.checks.hands.did(handled, (&was, &is), told, self.now_ms);
        }
        // What stands in no file any more was taken away, unless somebody still holds it in hand.
        let left = self.words_left();
        // Of two copies, each may be taken away by somebody who sees the other still there.
        let twice = |word: &&Word| !held.contains(word) && self.ledger.may_be_twice(**word);
        let copies: Vec<Word> = taken.iter().filter(twice).copied().collect();
        let taken = taken.union(&put_back).copied().filter(|word| !left.contains(word));
        for word in taken.chain(copies).filter(|word| !unseen.contains(word)) {
            self.ledger.forget(word);
        }
        if is_saved_back {
            self.names_nothing();
        }
    }

    /// A block that one save took from its page, and that another one names again, is put back by the line that stands
    /// for it; beside no page, that line stands for nothing.
    fn names_nothing(&mut self) {
        let pages = self.service.active().into_iter().map(|page| page.id.clone());
        let there: BTreeSet<Word> = pages.flat_map(|id| self.service.words_of(&id).to_vec()).collect();
        let anywhere: BTreeSet<Word> = self.service.words().collect();
        let files = self.folder.things.iter().filter(|(path, _)| is_page_file(path));
        let beside_none = files.filter(|(_, file)| !file.words.iter().any(|word| there.contains(word)));
        let named = beside_none.flat_map(|(_, file)| self.service.stand_ins().words_of(&file.bytes));
        let written: BTreeSet<Word> =
            self.folder.things.values().flat_map(|file| file.words.clone()).collect();
        let gone: Vec<Word> =
            named.filter(|word| !anywhere.contains(word) && !written.contains(word)).collect();
        for word in gone {
            self.ledger.forget(word);
        }
    }

    /// The words in all files that are pages.
    pub(crate) fn words_of_pages(&self) -> BTreeSet<Word> {
        let pages = self.folder.things.iter().filter(|(path, _)| is_page_file(path));
        pages.flat_map(|(_, thing)| thing.words.iter().copied()).collect()
    }

    /// A whole text comes back over what another hand has written meanwhile. What it brings back was gone for those who
    /// looked in between: a paragraph that somebody in the app has changed since then stands beside the one that is back.
    fn written_over(&mut self, path: &MirrorPath, held: &[Word]) {
        let there = self.folder.file(path).map(|file| file.words.clone()).unwrap_or_default();
        if there.iter().all(|word| held.contains(word)) {
            return;
        }
        let known: BTreeSet<Word> = self.service.words().collect();
        let back = held.iter().filter(|word| !there.contains(word) && known.contains(word));
        back.copied().collect::<Vec<Word>>().into_iter().for_each(|word| self.ledger.copy(word));
    }

    /// Words that stand in some file, or in what somebody holds in hand.
    fn words_left(&self) -> BTreeSet<Word> {
        let stand_ins = self.service.stand_ins();
        // What only a backup or another tool's copy names by an id stands nowhere any more: they are no pages.
        let is_page = |path: &MirrorPath| path.page_stem().is_some_and(|stem| !stem.contains("conflict-"));
        let (pages, others): (Vec<_>, Vec<_>) =
            self.folder.things.iter().partition(|(path, _)| is_page(path));
        let pages = pages.into_iter().map(|(_, thing)| thing.bytes.as_slice());
        let mut left: BTreeSet<Word> =
            self.in_hand_texts().chain(pages).flat_map(|bytes| stand_ins.words_of(bytes)).collect();
        left.extend(others.into_iter().flat_map(|(_, thing)| thing.words.iter()));
        left
    }

    /// A person lets go whatever is held. With an emptied file goes what only its lost lines stood for.
    pub(crate) fn approve(&mut self) -> Result<(), Failure> {
        self.note(format_args!("= a person approves whatever is held"));
        self.checks.fates.approved();
        // The person asks for everything anew.
        self.stored.checks.forget_failures();
        let left = self.words_left();
        let stood_for: Vec<Word> =
            self.service.stand_ins().all().filter(|word| !left.contains(word)).collect();
        stood_for.into_iter().for_each(|word| self.ledger.forget(word));
        // Nodes that stand in two files are copies from now on.
        let canvases = self.folder.things.iter().filter(|(path, _)| is_canvas_file(path));
        let mut seen = BTreeSet::new();
        for word in canvases.flat_map(|(_, thing)| thing.words.iter().collect::<BTreeSet<_>>()) {
            if !seen.insert(*word) {
                self.ledger.copy(*word);
            }
        }
        self.tell(Event::Asked(Request::Approve(Vec::new())))
    }

    /// A person lets go what may be in unreadable places: that goes by path only.
    pub(crate) fn approve_by_path(&mut self) -> Result<(), Failure> {
        self.checks.fates.is_approved_by_path = true;
        let tops = self.folder.things.keys().filter(|path| path.components().count() == 1);
        self.tell(Event::Asked(Request::Approve(tops.cloned().collect())))
    }

    /// Whoever saves what stands in another file as well (an editor that was open during a swap) has made a copy, of the name
    /// too.
    fn note_copies(&mut self, held: &[Word], path: Option<&MirrorPath>) {
        let mut seen = BTreeSet::new();
        let things = self.folder.things.values();
        let twice = things
            .flat_map(|thing| thing.words.iter().collect::<BTreeSet<_>>())
            .filter(|word| !seen.insert(**word) && held.contains(word));
        let twice: Vec<Word> = twice.copied().collect();
        let named =
            path.filter(|_| !twice.is_empty()).map_or_else(Vec::new, |path| words_in(path.name().as_bytes()));
        twice.into_iter().chain(named).for_each(|word| self.ledger.copy(word));
    }

    fn in_app(&mut self, act: Deed) {
        let line = match act {
            Deed::SaveInApp(id, content) => {
                let before: BTreeSet<Word> = self.service.words_of(&id).iter().copied().collect();
                let words = all_words(&content);
                let saved = self.service.save(&id, content);
                if saved {
                    self.hear_of_save(&id);
                    self.tell_other(News::Saved(id.clone()));
                    self.ledger.typed(&words);
                    // A page that this one is made anew from still has its words for a while.
                    let anew = self.recreates();
                    let active = self.service.active();
                    let still: BTreeSet<Word> = active
                        .iter()
                        .filter(|page| !anew || page.id == id)
                        .flat_map(|page| self.service.words_of(&page.id))
                        .copied()
                        .collect();
                    let twice = |word: &&Word| !words.contains(word) && self.ledger.may_be_twice(**word);
                    let copies: Vec<Word> = before.iter().filter(twice).copied().collect();
                    for word in before.difference(&still).copied().chain(copies) {
                        self.ledger.forget(word);
                    }
                    // Who works on one of two pages of the same words, of which one was made anew for a file that moved,
                    // keeps that one.
                    let others = self.service.active().into_iter().filter(|page| page.id != id);
                    let others: BTreeSet<Word> =
                        others.flat_map(|page| self.service.words_of(&page.id)).copied().collect();
                    for word in before.intersection(&others) {
                        self.ledger.copy(*word);
                    }
                }
                format!("saves {} [{}]: {saved}", self.named(&id), crate::run::listed(&words))
            }
            Deed::PutBackInApp(number) => match self.put_back_in_app(number) {
                Some(line) => line,
                None => return,
            },
            Deed::RenameInApp(id, title) => {
                let line = format!("renames {} to {title:?}", self.named(&id));
                self.service.world.app_rename(&id, &title);
                self.checks.hands.retitled_ms = self.now_ms;
                self.service.learn(&id);
                line
            }
            Deed::MoveInApp(id, parent) => {
                let under = parent.as_ref().map_or("the top".to_owned(), |parent| self.named(parent));
                let done = self.service.world.app_move(&id, parent.as_ref(), 0.5);
                self.checks.fates.joined(&id, self.now_ms);
                self.tell_other(News::Placed(id.clone()));
                format!("moves {} under {under}: {done}", self.named(&id))
            }
            Deed::CreateInApp(parent, title, content) => {
                let gone = parent.as_ref().is_some_and(|id| {
                    self.service.world.page(id).is_none_or(|page| page.trashed.is_some() || page.hidden)
                });
                let parent = parent.filter(|_| !gone);
                let words = all_words(&content);
                let workspace = self.service.workspace.clone();
                let id = self.service.world.app_create(&workspace, parent.as_ref(), &title, content);
                self.service.learn(&id);
                self.ledger.typed(&words);
                self.checks.fates.joined(&id, self.now_ms);
                self.tell_other(News::Placed(id.clone()));
                format!("creates {} [{}]", self.named(&id), crate::run::listed(&words))
            }
            Deed::TrashInApp(id) => {
                self.service.world.app_trash(&id);
                self.checks.fates.was_gone.extend(self.service.trashed());
                self.tell_other(News::Gone);
                self.names_nothing();
                format!("trashes {}", self.named(&id))
            }
            Deed::RestoreInApp(id) => {
                self.service.world.app_restore(&id);
                self.checks.fates.joined(&id, self.now_ms);
                self.tell_other(News::Back(id.clone()));
                // Meanwhile its file may have become a page of its own.
                let words: Vec<Word> = self
                    .service
                    .active()
                    .iter()
                    .flat_map(|page| self.service.words_of(&page.id))
                    .copied()
                    .collect();
                words.into_iter().for_each(|word| self.ledger.copy(word));
                format!("restores {}", self.named(&id))
            }
            Deed::IconInApp(id, icon) => {
                self.service.world.app_set_icon(&id, icon);
                format!("gives {} the icon {icon:?}", self.named(&id))
            }
            _ => return,
        };
        self.note(format_args!("# {line}"));
    }

    pub(crate) fn named(&self, id: &PageId) -> String {
        let title = self.service.world.page(id).map_or("?", |page| page.title.as_str());
        format!("{title:?} {}", id.as_str().get(..4).unwrap_or(""))
    }
}
