//! Stored files as they were: the copies in the mirror's trash, which has what espejo replaced and removed.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::past::Past;
use super::{output, when};
use crate::config::Config;
use crate::core::act::disk::takes_away;
use crate::daemon;
use crate::mirror::trash;
use crate::model::{MirrorPath, StorageMode, Timestamp};
use crate::store::{Act, ActKind};

/// A stored file that was replaced or removed here.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The copy.
    pub file: PathBuf,
    /// When it came into the trash.
    pub until: Timestamp,
    /// Its size in bytes.
    pub size: u64,
}

/// The copies of what was at a path, oldest first.
#[must_use]
pub fn all(config: &Config, place: &MirrorPath) -> Vec<Kept> {
    let kept = |file: PathBuf| {
        let meta = file.symlink_metadata().ok()?;
        // A file that is moved or made has this time as that of its last change.
        let until = Timestamp(meta.ctime() * 1_000 + meta.ctime_nsec() / 1_000_000);
        Some(Kept { size: meta.len(), file, until })
    };
    let mut all: Vec<Kept> = trash::copies(&config.root, place).into_iter().filter_map(kept).collect();
    all.sort_by_key(|kept| kept.until);
    all
}

/// The copy that a person means: the newest one, or what was there at a time or after a change of the log.
///
/// # Errors
/// One sentence, when there is none.
pub fn find(config: &Config, past: &Past<'_>, place: &MirrorPath, at: Option<&str>) -> Result<Kept> {
    let mut copies = all(config, place);
    let Some(typed) = at.map(str::trim) else {
        return copies.pop().with_context(|| format!(".espejo/trash has no copy of {place}"));
    };
    let number = typed.strip_prefix('#').unwrap_or(typed).parse::<i64>().ok();
    let act = number.map(|number| past.store().act(number)).transpose()?.flatten();
    let moment = match act {
        Some(act) if act.path == *place => {
            if let Some(own) = replaced_by(&copies, &act) {
                copies.remove(own);
            }
            act.at
        }
        Some(act) => bail!("#{} is not about {place}; espejo log PATH lists its changes", act.number),
        None => match when::parse(typed, daemon::wall_now()) {
            Some(moment) => moment,
            None => bail!(
                "{typed:?} is neither a change of {place} nor a time; a time is like {}",
                when::EXAMPLES
            ),
        },
    };
    let found = copies.into_iter().find(|kept| kept.until > moment);
    found.with_context(|| {
        format!("what {place} was then is what it is now, or no copy of it is in .espejo/trash")
    })
}

/// A change is logged at most so long before or after what it replaced or removed goes to the trash. The log's times are those of
/// the session's clock, which a slewed wall clock leaves behind.
const APART_MS: i64 = 60_000;

/// The copy of what a change of the app replaced or removed, if it is kept.
#[must_use]
pub fn before(config: &Config, change: &Act) -> Option<Kept> {
    let mut copies = all(config, &change.path);
    replaced_by(&copies, change).map(|own| copies.swap_remove(own))
}

/// Which of the copies is that of what a change of the app replaced or removed: the one whose time is nearest.
fn replaced_by(copies: &[Kept], change: &Act) -> Option<usize> {
    let replaces = change.kind == ActKind::Came && change.other.as_deref().is_some_and(takes_away);
    let apart = |kept: &Kept| change.at.since_ms(kept.until).abs();
    let (own, nearest) = copies.iter().enumerate().min_by_key(|(_, kept)| apart(kept))?;
    (replaces && apart(nearest) < APART_MS).then_some(own)
}

/// Puts a copy back into its place; what is there now goes to the trash. Returns what becomes of it, as a sentence.
///
/// # Errors
/// One sentence, when it cannot be put there.
pub fn put_back(config: &Config, past: &Past<'_>, place: &MirrorPath, kept: &Kept) -> Result<&'static str> {
    let target = config.root.join(place.as_str());
    let copy = kept.file.display();
    let told = || format!("{place} cannot be put back from {copy}");
    if target.symlink_metadata().is_ok() {
        if config.storage.mode != StorageMode::TwoWay {
            bail!("{place} stays as it is, because Storage is a backup (storage.mode): its copy is {copy}");
        }
        let now = past.bytes(place)?;
        if now == std::fs::read(&kept.file).with_context(told)? {
            return Ok("it already has these bytes");
        }
        past.keep(place, &now)?;
    }
    let folder = target.parent().with_context(told)?;
    std::fs::create_dir_all(folder).with_context(told)?;
    let part = folder.join(format!(".{}.{}", place.name(), daemon::fresh_tag(6)));
    let placed = std::fs::copy(&kept.file, &part).and_then(|_| {
        let file = std::fs::File::options().write(true).open(&part)?;
        file.sync_all()?;
        std::fs::rename(&part, &target)
    });
    if placed.is_err() {
        // The copy is still in the trash.
        drop(std::fs::remove_file(&part));
    }
    placed.with_context(told)?;
    Ok(match config.storage.mode {
        StorageMode::TwoWay => "it is uploaded like any new file",
        _ => "it stays here only, because Storage is a backup (storage.mode)",
    })
}

impl Kept {
    /// What it is, for a person.
    #[must_use]
    pub fn told(&self) -> String {
        format!("as it was until {} ({})", when::local(self.until), output::bytes(self.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_of_a_change_is_found_although_the_log_is_behind_the_wall_clock() {
        let root = tempfile::tempdir().unwrap();
        let place = MirrorPath::new("Storage/plan.txt").unwrap();
        let folder = root.path().join(".espejo/trash/2026-01-01/Storage");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::File::create(folder.join("plan.txt")).unwrap();
        let config = Config::new(String::new(), root.path().to_owned(), root.path().join("state"));
        let until = all(&config, &place)[0].until;
        let change = |ms| Act {
            number: 1,
            at: until.plus_ms(ms),
            kind: ActKind::Came,
            page: None,
            path: place.clone(),
            other: Some("new version".to_owned()),
            body_before: None,
            body_after: None,
            text_before: None,
            text_after: None,
        };
        let found = |ms| before(&config, &change(ms)).is_some();
        assert_eq!([-70_000, -9_000, 0, 9_000, 70_000].map(found), [false, true, true, true, false]);
    }
}
