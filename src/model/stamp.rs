//! The metadata of a file, known without opening it.

use serde::{Deserialize, Serialize};

use super::Timestamp;

/// Metadata that changes when a file does. Equal stamps let a scan skip reading. They are no proof of equal content
/// if the modification time is as recent as the scan (coarse clocks).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(from = "[i64; 6]", into = "[i64; 6]")]
pub struct Stamp {
    /// Device number.
    pub device: u64,
    /// Inode number. File systems reuse it at once (git, tar), so it identifies no file by itself.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since the epoch.
    pub modified_ns: i64,
    /// Status change time, nanoseconds since the epoch.
    pub changed_ns: i64,
    /// Birth time where the file system keeps one, nanoseconds since the epoch; 0 otherwise.
    pub born_ns: i64,
}

/// The six fields in their order. SQLite's integers are signed. Device and inode numbers use all 64 bits on some
/// systems and are only compared, so those from 2^63 on become negative numbers with the same bits.
impl From<Stamp> for [i64; 6] {
    fn from(stamp: Stamp) -> Self {
        let [device, inode, size] = [stamp.device, stamp.inode, stamp.size].map(u64::cast_signed);
        [device, inode, size, stamp.modified_ns, stamp.changed_ns, stamp.born_ns]
    }
}

impl From<[i64; 6]> for Stamp {
    fn from([device, inode, size, modified_ns, changed_ns, born_ns]: [i64; 6]) -> Self {
        let [device, inode, size] = [device, inode, size].map(i64::cast_unsigned);
        Self { device, inode, size, modified_ns, changed_ns, born_ns }
    }
}

/// Identity of a file, independent of its content and its name: device, inode and birth.
pub type FileObject = (u64, u64, i64);

impl Stamp {
    /// An equal stamp of a file that was written less than this before a look may hide a more recent change, in milliseconds.
    pub const RACY_MS: i64 = 2_000;

    /// The file object.
    #[must_use]
    pub fn object(&self) -> FileObject {
        (self.device, self.inode, self.born_ns)
    }

    /// Whether a file found at any path is this one without a later write.
    #[must_use]
    pub fn is_untouched(&self, found: &Self) -> bool {
        let looks = |stamp: &Self| (stamp.object(), stamp.size, stamp.modified_ns);
        looks(found) == looks(self)
    }

    /// Whether a file found at any path is this one. File systems without precise births reuse inode numbers at once.
    /// There, the file must be untouched too.
    #[must_use]
    pub fn is_same_file(&self, found: &Self) -> bool {
        self.object() == found.object() && (found.has_birth() || self.is_untouched(found))
    }

    /// Whether its birth distinguishes it from other files: many files share a birth in whole seconds.
    #[must_use]
    pub fn has_birth(&self) -> bool {
        self.born_ns % 1_000_000_000 != 0
    }

    /// Whether it was modified so shortly before `looked_at` that an equal stamp proves nothing. File systems with two-second
    /// clocks exist (FAT).
    #[must_use]
    pub fn is_racy(&self, looked_at: Timestamp) -> bool {
        [self.rested_ms(looked_at), self.unchanged_ms(looked_at)].iter().any(|ms| ms.abs() < Self::RACY_MS)
    }

    /// Whether it comes from a file system with coarse time steps: FAT has 2 s, exFAT 10 ms. Shorter steps are shorter than the
    /// time between two writes by any program.
    #[must_use]
    pub fn is_coarse(&self) -> bool {
        self.changed_ns % 10_000_000 == 0
    }

    /// Milliseconds between the last write of the file and `looked_at`.
    #[must_use]
    pub fn rested_ms(&self, looked_at: Timestamp) -> i64 {
        looked_at.0.saturating_sub(self.modified_ns / 1_000_000)
    }

    /// The time at which the content was written, in milliseconds, at most `looked_at`. A modification time in the
    /// future was set by a program; the file was written no later than `looked_at`.
    #[must_use]
    pub fn written_at(&self, looked_at: Timestamp) -> Timestamp {
        let modified = self.modified_ns / 1_000_000;
        Timestamp(if modified > looked_at.0 { modified.min(self.changed_ns / 1_000_000) } else { modified })
    }

    /// Time without a change of content, name or permissions before `looked_at`, in milliseconds. `looked_at` is a
    /// time of the clock that dates files.
    #[must_use]
    pub fn unchanged_ms(&self, looked_at: Timestamp) -> i64 {
        looked_at.0.saturating_sub(self.changed_ns / 1_000_000)
    }
}
