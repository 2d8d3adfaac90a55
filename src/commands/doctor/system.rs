//! The doctor's looks at the system: kinds of file systems, room on disks, limits of watches.

use std::path::{Path, PathBuf};

use super::{Findings, State};
use crate::cli::output;
use crate::config::Config;
use crate::mirror::marker;
use crate::model::is_tool_folder;

/// Less than this is little for a mirror that grows.
const LITTLE: u64 = 1_000_000_000;
/// With less than this, writing will fail soon.
const NEXT_TO_NOTHING: u64 = 50_000_000;
/// More folders are not counted.
const FOLDERS_MAX: u64 = 2_000_000;

/// File systems that other machines write to, unseen by this one's kernel; by the number of statfs(2).
const NETWORK: [(i64, &str); 10] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFE53_4D42, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0x0102_1997, "9p"),
    (0x00C3_6400, "Ceph"),
    (0x7375_7245, "Coda"),
    (0x5346_414F, "AFS"),
    (0x4750_4653, "GPFS"),
    (0x0BD0_0BD0, "Lustre"),
];
const FUSE: i64 = 0x6573_5546;

/// The system's name and release.
pub(super) fn name() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let name = match std::env::consts::OS {
        "linux" => "Linux",
        "macos" => "macOS",
        other => other,
    };
    format!("{name} {}", release.trim()).trim_end().to_owned()
}

/// The nearest folder that is there.
fn there(path: &Path) -> PathBuf {
    path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/")).to_owned()
}

/// A network file system's name.
fn network(path: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(there(path)).ok()?.f_type;
    if kind == FUSE {
        return Some("FUSE");
    }
    // The field is signed on some systems, and these numbers fill it.
    NETWORK.iter().find(|(number, _)| kind & 0xFFFF_FFFF == *number).map(|(_, name)| *name)
}

/// What kinds of file systems root and state are on.
pub(super) fn kind(config: &Config, findings: &mut Findings) {
    if let Some(kind) = network(&config.root) {
        findings.warn(
            "folder",
            format!(
                "{} is on {kind}: espejo sees changes by other machines within five minutes, not at once",
                config.root.display()
            ),
            "use a root on a local disk; two machines should each have their own mirror",
        );
    }
    if let Some(kind) = network(&config.state_dir) {
        findings.warn(
            "state",
            format!(
                "{} is on {kind}, where SQLite's log and the lock are not safe",
                config.state_dir.display()
            ),
            "set state_dir in the config to a folder on a local disk, before the first run or while espejo is stopped",
        );
    }
}

/// Whether there is room on the disks.
pub(super) fn room(config: &Config, state: Option<&State>, findings: &mut Findings) {
    let to_come = state.map_or(0, |state| state.to_come);
    for (what, path, needed) in [("folder", &config.root, to_come), ("state", &config.state_dir, 0)] {
        let Ok(disk) = rustix::fs::statvfs(there(path)) else { continue };
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let left = format!("{} left for the {what}", output::bytes(free));
        if disk.f_files > 0 && disk.f_favail < 1_000 {
            let what = format!("the disk of the {what} can take only {} files more", disk.f_favail);
            findings.fail("disk", what, "delete files that you do not need");
        } else if free < NEXT_TO_NOTHING {
            findings.fail(
                "disk",
                format!("only {left}"),
                "free some space: nothing is lost, but nothing can be written",
            );
        } else if needed > free {
            let more =
                format!("{left}, and {} of stored files are still to be downloaded", output::bytes(needed));
            findings.fail("disk", more, "free some space, or set [storage] enabled = false");
        } else if free < LITTLE {
            findings.warn("disk", format!("only {left}"), "free some space soon");
        } else {
            findings.ok("disk", left);
        }
    }
}

/// Whether the system lets espejo watch every folder.
pub(super) fn watches(config: Option<&Config>, findings: &mut Findings) {
    let limit = |name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?.trim().parse().ok()
    };
    let (Some(watches), Some(instances)) = (limit("max_user_watches"), limit("max_user_instances")) else {
        return;
    };
    if rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC).is_err() {
        findings.warn(
            "watches",
            format!(
                "the inotify limit for programs ({instances}) is used up: espejo scans the folder every 10 s"
            ),
            "sysctl fs.inotify.max_user_instances=512 (in /etc/sysctl.d for good)",
        );
    }
    let folders = config.map_or(0, |config| folders(&config.root));
    let numbers = format!(
        "{} to watch, {} allowed",
        output::count(folders, "folder", "folders"),
        output::grouped(watches)
    );
    // Editors and file managers watch as well, and all count together.
    if folders.saturating_mul(5) / 4 >= watches {
        findings.warn(
            "watches",
            format!("{numbers}: espejo may have to scan the folder every 10 s"),
            format!(
                "sysctl fs.inotify.max_user_watches={} (in /etc/sysctl.d for good)",
                (folders * 4).max(524_288)
            ),
        );
    } else {
        findings.ok("watches", numbers);
    }
}

/// How many folders a watch on the mirror has.
fn folders(root: &Path) -> u64 {
    let mut count = 0;
    let mut left = vec![root.to_owned()];
    while let Some(folder) = left.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        count += 1;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let own = folder == root && name == marker::FOLDER;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !own && !is_tool_folder(&name.to_string_lossy()) && count < FOLDERS_MAX {
                left.push(entry.path());
            }
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_counted_as_they_are_watched() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(folders(&dir.path().join("none")), 0);
        for path in ["a/b/c", "d", ".espejo/trash", "a/.git/objects"] {
            std::fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        std::os::unix::fs::symlink("/", dir.path().join("link")).unwrap();
        assert_eq!(folders(dir.path()), 5, "the root, a, b, c, d");
    }

    #[test]
    fn local_disks_are_no_network() {
        assert_eq!(network(Path::new("/proc/self")), None);
        assert_eq!(network(Path::new("/proc/none/such")), None);
    }
}
