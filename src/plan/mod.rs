//! Decisions: what the three trees of one page call for. Pure: no clock, no files, no database, no text formats.
//!
//! A page is existence, parent, title and content; each is settled by one small three-way choice: a side that did
//! not change yields, equal is equal, and the rest has a stated policy. [`decide`] gives the *next* act only: after it
//! the world is looked at and decided on again, so no decision rests on one that has not happened yet.

pub mod apart;
pub mod barrier;
pub mod confirm;
pub mod evidence;
pub mod existence;
pub mod filenames;
pub mod guard;
pub mod identity;
pub mod ignore;
pub mod merge;
pub mod names;
pub mod naming;
pub mod place;
pub mod stored;

use existence::{Case, Existence, Here, There, existence};

use crate::model::{ContentHash, Deletes, LocalFile, MirrorPath, Moves, Node, PageId, Presence, planted};

/// What is known of one page at the moment of deciding.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The page in all three trees.
    pub node: &'a Node,
    /// Its file, if it has one.
    pub file: Option<&'a LocalFile>,
    /// The parent that the file's folder says.
    pub local_parent: &'a Place,
    /// The title that the file says.
    pub local_title: &'a str,
    /// The body that the file stands for, once its current content was read.
    pub parsed: Option<ContentHash>,
    /// Where the file belongs by the service's title and parent; `None` while that cannot be said yet.
    pub belongs: Option<&'a MirrorPath>,
    /// Whether the front matter lacks or misstates something that it must say.
    pub front_is_stale: bool,
    /// Whether the file has been missing for the whole grace time.
    pub grace_is_over: bool,
    /// Whether the file has been where it is for the whole grace time.
    pub rests: bool,
    /// Whether what the file says may be sent.
    pub sends: bool,
    /// What a deleted file means.
    pub deletes: Deletes,
    /// What a moved file means.
    pub moves: Moves,
}

/// Which parent a folder stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The top of a workspace, or a page.
    Under(Option<PageId>),
    /// A folder that is no page's (yet), or that lies in another workspace.
    Elsewhere,
}

/// The next act for one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing to do.
    Rest,
    /// Nothing to do until something else is known: a read, a grace time, a parent's place.
    Wait,
    /// Get the page from the service: its body is not known, or it must be confirmed to be gone.
    Look,
    /// Write a file for a page that has none.
    Materialise,
    /// File and page have never been compared and are equal: agree.
    Adopt,
    /// File and page have never been compared and differ: keep the file's version beside, then take the service's.
    KeepBoth,
    /// Read the file to learn what it stands for.
    Read,
    /// The file's bytes changed and its meaning did not: agree on the new bytes.
    AcceptBytes,
    /// Carry the file's changes to the service.
    Push {
        /// The new title, if the file has another.
        title: Option<String>,
    },
    /// Carry the service's changes into the file, or correct its front matter.
    Splice,
    /// Rename the file to where it belongs.
    Relocate {
        /// Whether this undoes a move that the user made.
        reverts_move: bool,
    },
    /// Let the file become a new page, and this page follow the deleted ones.
    Recreate,
    /// A person moved the file and may not be done: wait for it to rest where it is.
    Settle,
    /// Both sides agree on title and parent: note it.
    AgreeOnPlace,
    /// The file has its place; the folder of its subpages follows.
    MoveFolder,
    /// The page is gone and the file was not changed: to the mirror's trash.
    TrashFile,
    /// The page is gone and the file has changes that the service never got: keep it as a conflict copy.
    SetAside,
    /// The file is gone: the page follows, if guards and a fresh look allow it.
    TrashPage,
    /// The file comes back.
    Restore,
    /// Gone on both sides: forget it.
    Forget,
    /// The file says it is a page that is gone: it is a file of its own now.
    Unbind,
}

/// The next act for one page. Total: every state of the three trees has an answer.
#[must_use]
pub fn decide(view: &View<'_>) -> Decision {
    match (existence(&case(view)), view.file) {
        (Existence::Wait, Some(file)) if file.hash.is_none() => Decision::Read,
        (Existence::Wait, _) => Decision::Wait,
        (Existence::Confirm, _) => Decision::Look,
        (Existence::Forget, None) => Decision::Forget,
        (Existence::Forget, Some(file)) => gone_uncompared(view, file),
        (Existence::ComesHere, _) => match view.node.remote.body {
            None => Decision::Look,
            Some(_) => Decision::Materialise,
        },
        (Existence::ComesBack, _) => Decision::Restore,
        (Existence::LeavesHere, _) => Decision::TrashFile,
        (Existence::StaysHere, _) => Decision::SetAside,
        (Existence::LeavesThere, _) => Decision::TrashPage,
        (Existence::Both, Some(file)) if view.node.base.is_some() => both_there(view, file),
        (Existence::Both, Some(file)) => never_compared(view, file),
        (Existence::Both, None) => Decision::Wait,
    }
}

/// A page as every item is seen where its existence is settled.
fn case(view: &View<'_>) -> Case {
    let (base, there) = (view.node.base.as_ref(), presence_of(view.node));
    let here = match view.file {
        None if there == There::Gone || base.is_none() || view.grace_is_over => Here::Missing,
        None => Here::Unclear,
        Some(file) if there == There::Gone && file.hash.is_none() && file.problem.is_none() => Here::Unclear,
        Some(file) if base.is_some_and(|base| base.text.is_some() && base.text == file.hash) => Here::Same,
        Some(_) => Here::Changed,
    };
    let deletes = view.deletes == Deletes::Trash;
    Case { agreed: base.is_some(), here, there, deletes, held_here: false, held_there: false }
}

fn presence_of(node: &Node) -> There {
    match node.remote.presence {
        Presence::Unlisted => There::Unlisted,
        Presence::Gone => There::Gone,
        Presence::Listed | Presence::Hidden if changed_at_the_service(node) => There::Changed,
        Presence::Listed | Presence::Hidden => There::Same,
    }
}

/// A file that says it is a page that is gone. When it holds what was last seen of that page it is its mirror, written
/// in a moment whose end was never noted; what else it may hold is nobody's but a person's.
fn gone_uncompared(view: &View<'_>, file: &LocalFile) -> Decision {
    match (view.node.remote.body, view.parsed) {
        (Some(_), None) if file.problem.is_none() => Decision::Read,
        (Some(body), Some(parsed)) if file.problem.is_none() && body == parsed => Decision::TrashFile,
        _ => Decision::Unbind,
    }
}

fn never_compared(view: &View<'_>, file: &LocalFile) -> Decision {
    if view.node.remote.body.is_none() {
        return Decision::Look;
    }
    if file.problem.is_some() {
        return Decision::Wait;
    }
    match view.parsed {
        None => Decision::Read,
        Some(parsed) if Some(parsed) == view.node.remote.body => Decision::Adopt,
        Some(_) if planted("unequal-adopted") => Decision::Adopt,
        Some(_) => Decision::KeepBoth,
    }
}

/// Whether the service's page is not what both sides agreed on. Deleting would throw that change away.
#[must_use]
pub fn changed_at_the_service(node: &Node) -> bool {
    if planted("delete-beats-edit") {
        return false;
    }
    node.base.as_ref().is_none_or(|base| {
        node.remote.body.is_some_and(|body| body != base.body)
            || node.remote.title != base.title
            || node.remote.parent != base.parent
    })
}

/// Both sides agree on a title that the file says. Where its name said the title before, that name is given up: the file
/// gets one that says the new title. A name that never did, since the front matter bore the title, stays.
pub fn agree_on_title(node: &mut Node, file: Option<&LocalFile>, title: String) {
    let Some(base) = &mut node.base else { return };
    let says =
        |path: &MirrorPath, title: &str| path.page_stem().is_some_and(|stem| naming::still_says(stem, title));
    let old = std::mem::replace(&mut base.title, title);
    if let Some(file) = file {
        base.front_title.clone_from(&file.front_title);
        if says(&base.path, &old) && !says(&file.path, &base.title) {
            node.stem = None;
        }
    }
}

/// Whether the name of a page's file goes with its title: it says the title, or both sides agreed on the two together
/// and the front matter says it.
#[must_use]
pub fn name_goes_with_title(node: &Node, file: &LocalFile) -> bool {
    let title = &node.remote.title;
    let is_agreed = || {
        node.base.as_ref().is_none_or(|base| node.stem.is_some() && base.title == *title)
            && file.front_title.as_ref() == Some(title)
    };
    file.path.page_stem().is_some_and(|stem| naming::still_says(stem, title)) || is_agreed()
}

fn both_there(view: &View<'_>, file: &LocalFile) -> Decision {
    let (Some(base), remote) = (view.node.base.as_ref(), &view.node.remote) else {
        return Decision::Wait;
    };
    if file.problem.is_some() {
        // What the file holds cannot be told apart from an accident: neither side touches the other.
        return Decision::Wait;
    }
    let Some(hash) = file.hash else { return Decision::Read };

    // Parent. The API has no move: a file that a person moved goes back, unless the service agrees with the move. Not
    // at once: whoever swaps two files would find one of them in the way of the second step.
    // A file that lies where it was agreed to lie has not been moved, whatever its folder has come to stand for: a page
    // whose parent was not visible is at the top until that is.
    let elsewhere = match view.local_parent {
        Place::Under(parent) => *parent != base.parent && *parent != remote.parent,
        Place::Elsewhere => true,
    };
    let moved_here = elsewhere && base.path.parent() != file.path.parent();
    if moved_here && view.rests && view.moves == Moves::PutBack {
        return match view.belongs {
            None => Decision::Wait,
            Some(_) => Decision::Relocate { reverts_move: true },
        };
    }

    // Content and title, upwards: one request carries both.
    let mut content = false;
    if base.text != Some(hash) {
        match view.parsed {
            None => return Decision::Read,
            Some(parsed) if parsed == base.body => return Decision::AcceptBytes,
            Some(_) => content = true,
        }
    }
    // A title that changed on both sides is the service's: the file is renamed once more.
    let retitled =
        view.local_title != base.title && view.local_title != remote.title && remote.title == base.title;
    let news = remote.body.is_some_and(|body| body != base.body);
    if (content || retitled) && !view.sends && news {
        // What waits here does not keep out what comes: that is merged into the file.
        return Decision::Splice;
    }
    if content || retitled {
        return Decision::Push { title: retitled.then(|| view.local_title.to_owned()) };
    }

    // Content, downwards.
    if news || remote.icon != base.icon {
        return Decision::Splice;
    }
    // A page that is made anew elsewhere takes everything along: both sides have to agree first.
    if moved_here {
        return if view.rests { Decision::Recreate } else { Decision::Settle };
    }

    // Place.
    match view.belongs {
        None => Decision::Wait,
        Some(path) if *path != file.path && planted("rename-not-followed") => Decision::AgreeOnPlace,
        Some(_) if view.front_is_stale => Decision::Splice,
        Some(path) if *path != file.path => Decision::Relocate { reverts_move: false },
        Some(_) if base.title != remote.title || base.parent != remote.parent || base.path != file.path => {
            Decision::AgreeOnPlace
        }
        Some(_) if base.folder_at.is_some() => Decision::MoveFolder,
        Some(_) => Decision::Rest,
    }
}

#[cfg(test)]
mod tests;
