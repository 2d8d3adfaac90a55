//! Decisions: computes the next act for one page from its three trees. Pure: no clock, no files, no database, no text
//! formats.
//!
//! A page consists of existence, parent, title and content. A three-way comparison settles each of them separately: a
//! side that did not change yields, equal values are equal, and each remaining case has a stated policy. [`decide`]
//! returns only the *next* act. After that act, espejo fetches, reads or scans again and decides again, so no
//! decision depends on an act that is not yet done.

pub mod adoption;
pub mod apart;
pub mod barrier;
pub mod confirm;
pub mod evidence;
pub mod existence;
pub mod filenames;
pub mod guard;
pub mod ignore;
pub mod merge;
pub mod names;
pub mod naming;
pub mod place;
pub mod saves;

use existence::{Case, Existence, Here, There, existence};

use crate::model::{ContentHash, Deletes, LocalFile, MirrorPath, Moves, Node, PageId, Presence, planted};

/// The known facts about one page, as input to a decision.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The page in all three trees.
    pub node: &'a Node,
    /// Its file, if it has one.
    pub file: Option<&'a LocalFile>,
    /// The parent that the file's folder stands for.
    pub local_parent: &'a Place,
    /// The title that the file states.
    pub local_title: &'a str,
    /// Hash of the body that the file stands for, after its current content was read and parsed.
    pub parsed: Option<ContentHash>,
    /// Where the file belongs according to the service's title and parent; `None` while this is unknown.
    pub belongs: Option<&'a MirrorPath>,
    /// Whether a required field of the front matter is absent or wrong.
    pub front_is_stale: bool,
    /// Whether the file has been missing for the whole grace time.
    pub grace_is_over: bool,
    /// Whether the file has been at its present path for the whole grace time.
    pub rests: bool,
    /// Whether changes of the file may be sent.
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
    /// A folder that does not (yet) belong to a page, or that lies in another workspace.
    Elsewhere,
}

/// The next act for one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing to do.
    Rest,
    /// Nothing to do until more is known: a read, the end of a grace time, a parent's place.
    Wait,
    /// Fetch the page: its body is unknown, or its absence must be confirmed.
    Fetch,
    /// Write a file for a page that has none.
    Materialise,
    /// File and page were never compared and are equal: record them as the base.
    Adopt,
    /// File and page were never compared and differ: keep the file's version as a conflict copy, then take the
    /// service's.
    KeepBoth,
    /// Read the file to learn what it stands for.
    Read,
    /// The file's bytes changed and its meaning did not: record the new bytes in the base.
    AcceptBytes,
    /// Send the file's changes to the service.
    Push {
        /// The new title, if the file has another one.
        title: Option<String>,
    },
    /// Write the service's changes into the file, or correct its front matter.
    Splice,
    /// Rename the file to where it belongs.
    Relocate {
        /// Whether this undoes a move that the user made.
        reverts_move: bool,
    },
    /// Create a new page from the file, and move the old page to the trash.
    Recreate,
    /// The user moved the file. Users move files in several steps, so espejo waits until the file rests.
    Settle,
    /// Both sides have the same title and parent: record them in the base.
    AgreeOnPlace,
    /// The file is in its place; move the folder of its subpages there too.
    MoveFolder,
    /// The page is gone and the file has no edit: move the file to the mirror's trash.
    TrashFile,
    /// The page is gone and the file has an edit that the service never got: keep the file as a conflict copy.
    SetAside,
    /// The file is gone: move the page to the trash, if the guards and a new fetch allow it.
    TrashPage,
    /// Write the deleted file again.
    Restore,
    /// Gone on both sides: remove the page from the trees.
    Forget,
    /// The front matter names a page that is gone: the file no longer belongs to it.
    Unbind,
}

/// The next act for one page. Total: each state of the three trees has an answer.
#[must_use]
pub fn decide(view: &View<'_>) -> Decision {
    match (existence(&case(view)), view.file) {
        (Existence::Wait, Some(file)) if file.hash.is_none() => Decision::Read,
        (Existence::Wait, _) => Decision::Wait,
        (Existence::Confirm, _) => Decision::Fetch,
        (Existence::Forget, None) => Decision::Forget,
        (Existence::Forget, Some(file)) => gone_uncompared(view, file),
        (Existence::ComesHere, _) => match view.node.remote.body {
            None => Decision::Fetch,
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

/// The input of `existence` for a page.
pub(crate) fn case(view: &View<'_>) -> Case {
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

/// Decides about a file that names a page that is gone. If the file holds the last fetched body, espejo wrote it and
/// stopped before it recorded the write. Any other content is the user's.
fn gone_uncompared(view: &View<'_>, file: &LocalFile) -> Decision {
    match (view.node.remote.body, view.parsed) {
        (Some(_), None) if file.problem.is_none() => Decision::Read,
        (Some(body), Some(parsed)) if file.problem.is_none() && body == parsed => Decision::TrashFile,
        _ => Decision::Unbind,
    }
}

fn never_compared(view: &View<'_>, file: &LocalFile) -> Decision {
    if view.node.remote.body.is_none() {
        return Decision::Fetch;
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

/// Whether the service's page differs from the base. A deletion would lose that change.
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

/// Records a title that both sides have. If the old file name stated the old title, that name is dropped and the file
/// gets a name that states the new title. A name that never stated the title, because the front matter did, stays.
pub fn agree_on_title(node: &mut Node, file: Option<&LocalFile>, title: &str) {
    let title = if *node.remote.title == *title { node.remote.title.clone() } else { title.into() };
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

/// Whether the name of a page's file fits its title: the name states the title, or the base has both and the front
/// matter states the title.
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
        // The content may be an accident: neither side changes the other.
        return Decision::Wait;
    }
    let Some(hash) = file.hash else { return Decision::Read };

    // Parent. The API cannot move pages: a file that the user moved goes back, unless the service has the same move.
    // It does not go back at once, because a user who swaps two files would find one of them in the way of the second
    // step.
    // A file at the path of the base was not moved, even if its folder now stands for another parent: a page whose
    // parent was not visible stays at the top until the parent is visible.
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
    // If the title changed on both sides, the service's wins and the file is renamed again.
    let retitled =
        *view.local_title != *base.title && *view.local_title != *remote.title && remote.title == base.title;
    let news = remote.body.is_some_and(|body| body != base.body);
    if (content || retitled) && !view.sends && news {
        // A pending edit does not block changes of the service: they are merged into the file.
        return Decision::Splice;
    }
    if content || retitled {
        return Decision::Push { title: retitled.then(|| view.local_title.to_owned()) };
    }

    // Content, downwards.
    if news || remote.icon != base.icon {
        return Decision::Splice;
    }
    // A page that is created again elsewhere takes its content along, so both sides must be equal first.
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
pub(crate) mod tests;
