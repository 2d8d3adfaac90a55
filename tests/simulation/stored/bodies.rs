//! What stored files hold: each body is made by one person, once, and known by its number, so that one that vanishes or
//! stands twice is seen without a look at names or places.

use std::collections::BTreeSet;

/// How many bytes the API takes, and a few more.
const HUGE: u64 = 3 * 1024 * 1024 + 1;

/// Who made what, and what a person took away again.
#[derive(Debug)]
pub(crate) struct Bodies {
    /// How long each is, and how long it is told to be.
    all: Vec<(usize, u64)>,
    owed: BTreeSet<u32>,
    copied: BTreeSet<u32>,
    doubted: BTreeSet<u32>,
}

impl Default for Bodies {
    fn default() -> Self {
        // The empty one is everybody's.
        Self {
            all: vec![(0, 0)],
            owed: BTreeSet::new(),
            copied: BTreeSet::from([0]),
            doubted: BTreeSet::new(),
        }
    }
}

/// The body without a byte.
pub(crate) const EMPTY: u32 = 0;

impl Bodies {
    /// A new body. Many have the same size.
    pub(crate) fn make(&mut self, choice: u32) -> u32 {
        let length = [12, 12, 12, 40, 300][usize::try_from(choice % 5).unwrap_or(0)];
        self.all.push((length, length as u64));
        u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX)
    }

    /// A new body that is too large for the API; only its size is large.
    pub(crate) fn make_huge(&mut self) -> u32 {
        self.all.push((12, HUGE + self.all.len() as u64));
        u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX)
    }

    /// Its bytes.
    pub(crate) fn bytes(&self, number: u32) -> Vec<u8> {
        let (length, _) = self.all.get(number as usize).copied().unwrap_or_default();
        let mut bytes = format!("s{number:05} ").into_bytes();
        bytes.resize(length, b'.');
        bytes
    }

    /// Its size, as the disk and the service tell it.
    pub(crate) fn size(&self, number: u32) -> u64 {
        self.all.get(number as usize).map_or(0, |(_, size)| *size)
    }

    /// Which one these bytes are.
    pub(crate) fn known(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.is_empty() {
            return Some(EMPTY);
        }
        let digits = bytes.strip_prefix(b"s")?.get(..5)?;
        let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
        let length = self.all.get(number as usize)?.0;
        (bytes.len() == length && bytes[6] == b' ' && bytes[7..].iter().all(|byte| *byte == b'.'))
            .then_some(number)
    }

    /// It is somewhere now, by a person's hand.
    pub(crate) fn put(&mut self, number: u32) {
        if number != EMPTY {
            self.owed.insert(number);
        }
    }

    /// A person took it away: from now on it may vanish everywhere.
    pub(crate) fn forget(&mut self, number: u32) {
        self.owed.remove(&number);
    }

    /// From now on it may stand in several places.
    pub(crate) fn copy(&mut self, number: u32) {
        self.copied.insert(number);
    }

    /// Nobody can tell where it belongs: from now on it may stand in several places.
    pub(crate) fn doubt(&mut self, number: u32) {
        self.doubted.insert(number);
    }

    /// Whether a person made a second one, or no evidence says where it belongs.
    pub(crate) fn may_be_twice(&self, number: u32) -> bool {
        self.copied.contains(&number) || self.is_doubted(number)
    }

    /// Whether no person made a second one, and no evidence says where it belongs.
    pub(crate) fn is_doubted(&self, number: u32) -> bool {
        self.doubted.contains(&number) && !self.copied.contains(&number)
    }

    /// Every one that must be somewhere.
    pub(crate) fn owed(&self) -> impl Iterator<Item = u32> {
        self.owed.iter().copied()
    }
}

#[test]
fn bodies_are_known_by_their_bytes() {
    let mut bodies = Bodies::default();
    let mut made: Vec<u32> = (0..6).map(|choice| bodies.make(choice)).collect();
    made.push(bodies.make_huge());
    for number in made {
        assert_eq!(bodies.known(&bodies.bytes(number)), Some(number));
        assert_eq!(bodies.known(&bodies.bytes(number)[1..]), None);
    }
    assert_eq!(bodies.known(b""), Some(EMPTY));
    assert_eq!(bodies.known(b"s99999 ....."), None);
}
