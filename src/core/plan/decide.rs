//! Decides the next step of one item of any kind. Existence is settled first ([`existence`]), then content, name and parent:
//! a side that did not change yields, equal values are agreed on, and what both sides changed is merged or kept twice.
//!
//! Only the *next* step is decided. After it the item is looked at again, so no decision depends on a step that is not done.

use crate::core::plan::policy::{Change, Orphan, Policy, Update};
use crate::plan::existence::{
    Case as ExistenceInput, Existence, Here as LocalState, There as RemoteState, existence,
};

/// One value of an item, compared with the base on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facet {
    /// The file's.
    pub local: Side,
    /// The service's.
    pub remote: Side,
    /// Whether both sides are equal; `None` if that is unknown. Without a base only this counts.
    pub alike: Option<bool>,
}

/// What one side did to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It is as in the base.
    Same,
    /// It is another one.
    Changed,
    /// It was not read or fetched yet.
    Unknown,
}

/// The three-way choice for one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// Neither side changed it.
    Nothing,
    /// Both sides changed it to the same value.
    Agree,
    /// The file's change is sent.
    Up,
    /// The service's change is written.
    Down,
    /// Both sides changed it, to different values.
    Both,
    /// Both sides changed it; whether to the same value is unknown.
    Unclear,
}

impl Facet {
    /// The value that nobody changed.
    pub const SAME: Self = Self { local: Side::Same, remote: Side::Same, alike: Some(true) };

    fn choice(self) -> Choice {
        match (self.local, self.remote, self.alike) {
            (Side::Changed, Side::Changed, Some(true)) => Choice::Agree,
            (Side::Changed, Side::Changed, Some(false)) => Choice::Both,
            (Side::Changed, Side::Changed, None) => Choice::Unclear,
            (Side::Changed, _, _) => Choice::Up,
            (_, Side::Changed, _) => Choice::Down,
            _ => Choice::Nothing,
        }
    }
}

/// What is known of an item's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// There is none.
    None,
    /// It cannot be read as what it is, or something else is in its place.
    Unreadable,
    /// Its bytes are to be read. A read comes before everything that depends on them.
    Unread,
    /// Its bytes are known.
    Known,
    /// Its bytes differ from the base's, and mean the same.
    Restamped,
    /// Its bytes differ from the base's, and no program wrote them: its stamp is the base's.
    Damaged,
}

/// Whether the file is where it belongs by the service's name and parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lies {
    /// It is there.
    AtHome,
    /// It is elsewhere.
    Away,
    /// Where it belongs is unknown.
    Unknown,
}

/// What is known of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// What can be done to items of its kind.
    pub policy: Policy,
    /// Whether it has a base.
    pub agreed: bool,
    /// Whether it exists in the folder, as far as a deletion is concerned.
    pub local: LocalState,
    /// Whether it exists at the service.
    pub remote: RemoteState,
    /// Whether a guard holds the item that left the service.
    pub held_local: bool,
    /// Whether a guard holds the item that left the folder.
    pub held_remote: bool,
    /// What is known of its file.
    pub file: FileState,
    /// Its content.
    pub content: Facet,
    /// Its name.
    pub name: Facet,
    /// Its parent. The file's counts as changed only if a person moved the file.
    pub parent: Facet,
    /// Where its file is.
    pub lies: Lies,
    /// Whether the file has been at its path for the whole grace time: people move files in several steps.
    pub rests: bool,
    /// Whether the file lacks what espejo writes into it beside the content.
    pub incomplete: bool,
    /// Whether the service changed something that only the service has, as an icon.
    pub adorned: bool,
    /// Whether a part of the agreed place is not in the base yet, as the path.
    pub unrecorded: bool,
    /// Whether the service's present content is at hand.
    pub fetched: bool,
    /// Whether changes of the file may be sent now.
    pub sends: bool,
    /// Whether the outcome of an act on it is unknown, or it may be the outcome of such an act.
    pub in_doubt: bool,
    /// Whether a list shows its present version, if older versions are still to be trashed; `None` without such versions.
    pub superseded: Option<bool>,
}

/// The next step of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Nothing to do.
    Rest,
    /// Nothing to do until more is known or allowed.
    Wait,
    /// Fetch it from the service.
    Fetch,
    /// Read its file.
    Read,
    /// Write the service's version, merged with the file's.
    Write,
    /// Send the file's content and name.
    Send,
    /// Keep the file's version as a conflict copy, then write the service's.
    KeepBoth,
    /// Both sides agree: record it in the base.
    Agree,
    /// Rename the file to where it belongs.
    Rename,
    /// Make the item anew from its file; the old one goes to the trash.
    Recreate,
    /// Move the file to the mirror's trash, and drop the base.
    TrashLocal,
    /// The file becomes a conflict copy, and the item is forgotten.
    SetAside,
    /// The file stays as a new one, and no longer belongs to the item.
    Release,
    /// Move the item to the service's trash.
    TrashRemote,
    /// Move its older versions to the service's trash.
    TrashSuperseded,
    /// It is gone on both sides.
    Forget,
}

/// The next step of one item. Total: each view has an answer.
#[must_use]
pub fn decide(view: &View) -> Step {
    let input = ExistenceInput {
        agreed: view.agreed,
        here: view.local,
        there: view.remote,
        deletes: view.policy.trashes,
        held_here: view.held_local,
        held_there: view.held_remote,
    };
    match existence(&input) {
        Existence::Wait if view.file == FileState::Unread => Step::Read,
        Existence::Wait => Step::Wait,
        Existence::Confirm => Step::Fetch,
        // Until the outcome is known, it is unknown what the item is. The journal has its requests made.
        _ if view.in_doubt => Step::Wait,
        // The item remembers its older versions, so it may not be removed before them.
        _ if view.superseded == Some(true) => Step::TrashSuperseded,
        Existence::LeavesThere if view.superseded.is_some() => Step::Wait,
        Existence::LeavesThere => Step::TrashRemote,
        Existence::Forget if view.local == LocalState::Missing => Step::Forget,
        Existence::Forget => gone_before_the_first_match(view),
        Existence::ComesHere | Existence::ComesBack => write(view),
        Existence::LeavesHere => Step::TrashLocal,
        Existence::StaysHere if view.policy.orphan == Orphan::ConflictCopy => Step::SetAside,
        Existence::StaysHere => Step::Release,
        Existence::Both if view.agreed => both(view),
        Existence::Both => first_match(view),
    }
}

fn write(view: &View) -> Step {
    if view.fetched { Step::Write } else { Step::Fetch }
}

/// Decides about a file that names an item that is gone. If it has what was fetched last, espejo wrote it and was stopped
/// before it recorded that; any other content is the user's.
fn gone_before_the_first_match(view: &View) -> Step {
    match view.content.alike {
        _ if !view.fetched || view.file == FileState::Unreadable => Step::Release,
        None => Step::Read,
        Some(true) => Step::TrashLocal,
        Some(false) => Step::Release,
    }
}

/// Both sides have it, and there is no base.
fn first_match(view: &View) -> Step {
    match view.content.alike {
        _ if !view.fetched => Step::Fetch,
        _ if view.file == FileState::Unreadable => Step::Wait,
        None => Step::Read,
        Some(true) => Step::Agree,
        Some(false) => Step::KeepBoth,
    }
}

/// Both sides have it, and there is a base.
fn both(view: &View) -> Step {
    match view.file {
        FileState::None | FileState::Unreadable => return Step::Wait,
        FileState::Unread => return Step::Read,
        FileState::Damaged => return Step::TrashLocal,
        FileState::Known | FileState::Restamped => {}
    }
    let moved = moved(view);
    if moved == Some(Change::PutBack) && view.rests {
        return if view.lies == Lies::Unknown { Step::Wait } else { Step::Rename };
    }
    match view.content.local {
        Side::Unknown => Step::Read,
        _ if view.file == FileState::Restamped => Step::Agree,
        _ => content(view).unwrap_or_else(|| place(view, moved)),
    }
}

/// What a person did to the file's place that the service cannot do; `None` if the service has the same, or can do it.
fn moved(view: &View) -> Option<Change> {
    let is_moved = matches!(view.parent.choice(), Choice::Up | Choice::Both | Choice::Unclear);
    // Of two new names the service's stays, and the file is renamed.
    let is_renamed = view.name.choice() == Choice::Up && view.policy.rename != Change::Sends;
    is_moved.then_some(view.policy.reparent).or(is_renamed.then_some(view.policy.rename))
}

/// The step for the content and the name, if they differ. One request carries both.
fn content(view: &View) -> Option<Step> {
    let (choice, update) = (view.content.choice(), view.policy.update);
    let is_renamed = view.name.choice() == Choice::Up && view.policy.rename == Change::Sends;
    let is_edited = matches!(choice, Choice::Up | Choice::Both);
    match choice {
        Choice::Agree => Some(Step::Agree),
        Choice::Unclear => Some(if view.fetched { Step::Read } else { Step::Fetch }),
        Choice::Both if !update.merges() => Some(Step::KeepBoth),
        Choice::Up if update == Update::Never => Some(Step::KeepBoth),
        _ if (is_edited || is_renamed) && view.sends => Some(Step::Send),
        // An edit that may not be sent does not keep the service's changes away.
        Choice::Both | Choice::Down => Some(write(view)),
        _ if view.adorned => Some(Step::Write),
        _ => (is_edited || is_renamed).then_some(Step::Wait),
    }
}

/// The step for the place of a file whose content and name are agreed on.
fn place(view: &View, moved: Option<Change>) -> Step {
    if moved.is_some() {
        // What is made anew takes its content along, so both sides are equal first.
        return if view.rests { Step::Recreate } else { Step::Wait };
    }
    let is_agreed = view.name.remote == Side::Same && view.parent.remote == Side::Same && !view.unrecorded;
    match view.lies {
        Lies::Unknown => Step::Wait,
        _ if view.incomplete => Step::Write,
        Lies::Away => Step::Rename,
        Lies::AtHome if !is_agreed => Step::Agree,
        Lies::AtHome if view.superseded.is_some() => Step::Wait,
        Lies::AtHome => Step::Rest,
    }
}

#[cfg(test)]
mod tests;
