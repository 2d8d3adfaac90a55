//! `Effect::WriteFile`: one file replaced or made, whole or not at all, and never over a text that was not expected.
//!
//! The protocol for a file that should hold `expect` (E) and shall hold the new text (N):
//!
//! 1. Look: the bytes are N already, then nothing is written; they are not E, then `Changed`.
//! 2. Note the act; write N to `part`, give it the old file's permissions, sync it; rename `part` to `held`.
//! 3. Swap `held` and the target in one step. Readers see E or N, never nothing and never a half.
//! 4. Look at what came out. E: done, it is retired. Anything else is a person's text (X) that was saved between 1 and 3:
//!    swap again, so that X is back in its place, and keep a copy of it in the trash, because a program that has read N
//!    in the meantime may save over X without having seen it.
//! 5. What comes out now should be N. If it is something else (Y), a person saved over N in the meantime: Y is newer than
//!    X, so swap once more, and so on until what comes out is what went in. Whatever is left over and is neither E nor N
//!    goes to `.espejo/trash`, so that no text is ever lost, and the answer is `Changed`.
//!
//! A kill at any point leaves E, N or a person's text at the target, and [`super::recover`] finishes the rest.
//!
//! What this cannot do: hard links to the old file keep the old text; and a program that opened the old file before step
//! 3 and writes to it later writes to the retired file, which is looked at once more before it is removed.
//!
//! Where the file system cannot swap, the file is taken away, looked at, and the new one put in its place: nothing can
//! be lost either, but the name is free for a moment.

use std::fs::File;

use rustix::fd::AsFd;
use rustix::io::Errno;

use super::act::{Act, Spot, Stopped, at};
use super::aside::{Aside, Note};
use super::read::{self, SIZE_MAX, Thing, whole};
use super::sys::{self, Look};
use super::{beneath, trash};
use crate::model::{ContentHash, DiskError, EntryKind, Expect, MirrorPath, Stamp, planted};

/// Swaps until what comes out is what went in; a program that saves faster than this has each save kept.
pub(super) const SWAPS_MAX: usize = 16;

pub(super) fn write(
    act: &mut Act<'_>,
    path: &MirrorPath,
    bytes: &[u8],
    expect: Expect,
) -> Result<Stamp, DiskError> {
    let (folder, name) = Act::place(path)?;
    if bytes.len() as u64 > SIZE_MAX {
        return Err(DiskError::TooLarge(path.clone(), bytes.len() as u64));
    }
    match expect {
        Expect::Absent => {
            let made = act.make(&folder)?;
            let written = create(act, Spot { dir: &made.dir, name, path }, bytes);
            if written.is_err() {
                made.undo();
            }
            written
        }
        Expect::AbsentHere => {
            let dir = beneath::open_for(act.root.dir.as_fd(), path)?;
            create(act, Spot { dir: &dir, name, path }, bytes)
        }
        Expect::Content(expect) => {
            let dir = beneath::open_for(act.root.dir.as_fd(), path)?;
            let text = Text { bytes, expect, new: ContentHash::of(bytes) };
            replace(act, Spot { dir: &dir, name, path }, text)
        }
    }
}

fn create(act: &mut Act<'_>, spot: Spot<'_>, bytes: &[u8]) -> Result<Stamp, DiskError> {
    let exists = || DiskError::Exists(spot.path.clone());
    match sys::look_at(spot.dir, spot.name) {
        Err(Errno::NOENT) => {}
        Err(error) => return Err(spot.failed(error)),
        Ok(look) if look.kind != EntryKind::File => return Err(exists()),
        // The same write, whose answer was lost, or the same text from elsewhere: there is nothing left to do.
        Ok(_) => match whole(act.open(&spot), spot.path) {
            Ok((there, look, _)) if there == bytes => return Ok(look.stamp),
            _ => return Err(exists()),
        },
    }
    act.try_both(spot, |act, aside| {
        if aside.is_beside() {
            aside.note(&Note::Part { path: spot.path.clone() })?;
        }
        let like = beside(spot);
        let like = like.as_ref().map(|(file, look)| (file, look));
        let (file, look) = write_part(aside, spot, bytes, like)?;
        act.steps.reach("part written")?;
        let put = || sys::rename_new(at(&aside.dir(), &aside.part()), spot.at(), act.can);
        if let Err(error) = act.hands.put(spot.path, put, |_| Some(stamp_of_ours(&file, &look))) {
            aside.drop_part()?;
            aside.forget()?;
            return Err(Stopped::at(spot, error));
        }
        act.steps.reach("put")?;
        spot.sync()?;
        aside.forget()?;
        Ok(stamp_of_ours(&file, &look))
    })
}

/// The file that a conflict copy stands beside: users who may not read the one may not read the other.
fn beside(spot: Spot<'_>) -> Option<(File, Look)> {
    let (stem, rest) = spot.name.rsplit_once(".conflict-")?;
    let ending = rest.find('.').map_or("", |dot| &rest[dot..]);
    let file = File::from(sys::open_file(spot.dir, format!("{stem}{ending}")).ok()?);
    let look = sys::look_of(&file).ok()?;
    (look.kind == EntryKind::File).then_some((file, look))
}

/// Writes our text aside and makes it durable.
fn write_part(
    aside: &Aside,
    spot: Spot<'_>,
    bytes: &[u8],
    like: Option<(&File, &Look)>,
) -> Result<(File, Look), DiskError> {
    let name = aside.part();
    let mode = if like.is_some() { 0o600 } else { 0o644 };
    let file = sys::create_file(aside.dir(), &name, mode).map_err(|error| spot.failed(error))?;
    let filled = || {
        read::write_all(&file, bytes)?;
        if let Some((old, look)) = like {
            sys::carry_over(old, &file, look)?;
        }
        if !planted("text-not-synced") {
            sys::sync_file(&file)?;
        }
        sys::look_of(&file)
    };
    match filled() {
        Ok(look) => Ok((File::from(file), look)),
        Err(error) => {
            aside.drop_part()?;
            Err(spot.failed(error))
        }
    }
}

/// The stamp of our text in its place. The rename moved its change time; if anything else moved too, a program has written
/// to it already, and the stamp from before is answered so that the next scan sees the difference.
fn stamp_of_ours(file: &File, before: &Look) -> Stamp {
    match sys::look_of(file) {
        Ok(now)
            if now.stamp.modified_ns == before.stamp.modified_ns && now.stamp.size == before.stamp.size =>
        {
            now.stamp
        }
        _ => before.stamp,
    }
}

/// What shall stand in a place, and what should stand there now.
#[derive(Clone, Copy)]
struct Text<'a> {
    bytes: &'a [u8],
    expect: ContentHash,
    new: ContentHash,
}

fn replace(act: &mut Act<'_>, spot: Spot<'_>, text: Text<'_>) -> Result<Stamp, DiskError> {
    let (there, look, old) = match whole(act.open(&spot), spot.path) {
        Err(DiskError::TooLarge(..)) => return Err(spot.changed()),
        other => other?,
    };
    if there == text.bytes {
        return Ok(look.stamp);
    }
    if ContentHash::of(&there) != text.expect {
        return Err(spot.changed());
    }
    drop(there);
    act.steps.reach("looked")?;
    act.try_both(spot, |act, aside| {
        // Before the text: what stands beside its target is found again only by the note.
        aside.note(&Note::Swap { path: spot.path.clone(), expect: text.expect, new: text.new })?;
        let (file, ours) = match write_part(aside, spot, text.bytes, Some((&old, &look))) {
            Ok(written) => written,
            Err(error) => {
                aside.forget()?;
                return Err(error.into());
            }
        };
        act.steps.reach("part written")?;
        commit(act, aside, spot, text, (&file, &ours))?;
        spot.sync()?;
        Ok(stamp_of_ours(&file, &ours))
    })
}

/// Steps 3 to 5. `Ok` when our text stands in its place.
fn commit(
    act: &mut Act<'_>,
    aside: &Aside,
    spot: Spot<'_>,
    text: Text<'_>,
    (file, ours): (&File, &Look),
) -> Result<(), Stopped> {
    let rename = |from: String, to: String| {
        sys::rename((aside.dir(), &from), (aside.dir(), &to)).map_err(|error| spot.failed(error))
    };
    rename(aside.part(), aside.held())?;
    act.steps.reach("noted")?;
    let exchange = || sys::exchange(at(&aside.dir(), &aside.held()), spot.at(), act.can);
    match act.hands.put(spot.path, exchange, |_| Some(stamp_of_ours(file, ours))) {
        Some(Ok(())) => {}
        // Nothing moved: `held` is still our own text.
        None => {
            rename(aside.held(), aside.part())?;
            return take_and_put(act, aside, spot, text.expect);
        }
        Some(Err(error)) => {
            rename(aside.held(), aside.part())?;
            aside.drop_part()?;
            aside.forget()?;
            return Err(Stopped::at(spot, error));
        }
    }
    act.steps.reach("swapped")?;
    let settled = settle(act, aside, spot, text, ours.identity());
    if settled.is_err() {
        act.left_over();
    }
    if settled? { Ok(()) } else { Err(spot.changed().into()) }
}

/// After a swap: whether our text may stay. Ends with `held` gone, one way or another.
fn settle(
    act: &Act<'_>,
    aside: &Aside,
    spot: Spot<'_>,
    text: Text<'_>,
    ours: (u64, u64),
) -> Result<bool, DiskError> {
    let held = aside.held();
    let look = || {
        let found = read::thing(aside.dir(), &held, spot.path)?;
        found.ok_or_else(|| DiskError::Missing(spot.path.clone()))
    };
    let mut out = look()?;
    if out.content == Some(text.expect) || planted("swap-unchecked") {
        act.steps.reach("checked")?;
        aside.retire()?;
        return Ok(true);
    }
    let mut placed = Thing { identity: ours, content: Some(text.new) };
    for _ in 0..SWAPS_MAX {
        keep_copy(act, aside, spot);
        act.steps.reach("swapping back")?;
        match sys::exchange(at(&aside.dir(), &held), spot.at(), act.can) {
            Some(Ok(())) => {}
            // What we put there was renamed or removed meanwhile: the name is free for the person's text.
            Some(Err(Errno::NOENT)) => {
                give_back(act, aside, spot)?;
                return Ok(false);
            }
            Some(Err(error)) => return Err(spot.failed(error)),
            None => return Err(spot.failed(Errno::NOTSUP)),
        }
        act.steps.reach("swapped back")?;
        let came = look()?;
        let settled = came == placed;
        (placed, out) = (out, came);
        if settled {
            break;
        }
    }
    spot.sync()?;
    if out.content == Some(text.expect) || out.content == Some(text.new) {
        aside.retire()?;
    } else {
        trash::keep(act, aside.dir(), &held, spot.path)?;
        aside.forget()?;
    }
    Ok(false)
}

/// The way without a swap (see the head of this file).
fn take_and_put(
    act: &mut Act<'_>,
    aside: &Aside,
    spot: Spot<'_>,
    expect: ContentHash,
) -> Result<(), Stopped> {
    aside.forget()?;
    aside.note(&Note::Take { path: spot.path.clone(), expect })?;
    let taken = take(act, aside, spot, expect);
    if !matches!(taken, Ok(true)) {
        aside.drop_part()?;
        return if taken? { Ok(()) } else { Err(spot.changed().into()) };
    }
    act.steps.reach("taken")?;
    let put = sys::rename_new(at(&aside.dir(), &aside.part()), spot.at(), act.can);
    act.steps.reach("put")?;
    match put {
        Ok(()) => Ok(aside.retire()?),
        // A person made a new file in the moment when the name was free; what was taken is the known text.
        Err(Errno::EXIST) => {
            aside.drop_part()?;
            aside.retire()?;
            Err(spot.changed().into())
        }
        Err(error) => {
            let given = give_back(act, aside, spot);
            if given.is_err() {
                act.left_over();
            }
            given?;
            aside.drop_part()?;
            Err(spot.failed(error).into())
        }
    }
}

/// Takes what stands in a place away into `held`. `true` when it is `expect`; otherwise it is back in its place (or in the
/// trash, when something newer stands there) and the act is over. The note is the caller's.
pub(super) fn take(
    act: &mut Act<'_>,
    aside: &Aside,
    spot: Spot<'_>,
    expect: ContentHash,
) -> Result<bool, Stopped> {
    act.steps.reach("noted")?;
    if let Err(error) = sys::rename(spot.at(), (aside.dir(), &aside.held())) {
        aside.forget()?;
        return Err(Stopped::at(spot, error));
    }
    act.steps.reach("taken away")?;
    let checked = match read::thing(aside.dir(), &aside.held(), spot.path) {
        Ok(Some(thing)) if thing.content == Some(expect) => Ok(true),
        Ok(_) => {
            keep_copy(act, aside, spot);
            give_back(act, aside, spot).map(|()| false)
        }
        Err(error) => Err(error),
    };
    if checked.is_err() {
        act.left_over();
    }
    Ok(checked?)
}

/// A person's text stood aside for a moment, in which another program may have read its place. When that program saves
/// what it made of that, it saves over this text without having seen it: so a copy goes to the trash.
pub(super) fn keep_copy(act: &Act<'_>, aside: &Aside, spot: Spot<'_>) {
    if let Err(error) = trash::keep_copy(act, aside.dir(), &aside.held(), spot.path) {
        // The text itself is safe, and giving it back must not wait for a full disk.
        tracing::warn!("no copy of {} in .espejo/{}: {error}", spot.path, trash::FOLDER);
    }
}

/// Puts `held` back to its place, or into the trash when something newer stands there. The act is over then.
pub(super) fn give_back(act: &Act<'_>, aside: &Aside, spot: Spot<'_>) -> Result<(), DiskError> {
    match sys::rename_new(at(&aside.dir(), &aside.held()), spot.at(), act.can) {
        Ok(()) => spot.sync()?,
        Err(Errno::EXIST) => trash::keep(act, aside.dir(), &aside.held(), spot.path)?,
        Err(error) => return Err(spot.failed(error)),
    }
    aside.forget()
}
