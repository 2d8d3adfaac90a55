//! Paths in the mirror.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A text that is no path inside the mirror.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a path inside the mirror")]
pub struct BadPath(pub String);

/// A path relative to the mirror's root: components joined by `/`, none of them empty, `.` or `..`, no NUL. The empty
/// path is the root itself. It cannot name an entry outside the root; the edge that opens it refuses symbolic links.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MirrorPath(Arc<str>);

impl Ord for MirrorPath {
    fn cmp(&self, other: &Self) -> Ordering {
        // A path is mostly compared with itself, and that is in memory once.
        if self.is_same_text(other) { Ordering::Equal } else { self.0.cmp(&other.0) }
    }
}

impl PartialOrd for MirrorPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl TryFrom<String> for MirrorPath {
    type Error = BadPath;

    fn try_from(text: String) -> Result<Self, BadPath> {
        Self::new(&text)
    }
}

impl From<MirrorPath> for String {
    fn from(path: MirrorPath) -> Self {
        path.0.as_ref().to_owned()
    }
}

impl Borrow<str> for MirrorPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl MirrorPath {
    /// The root.
    #[must_use]
    pub fn root() -> Self {
        Self("".into())
    }

    /// Reads a relative path.
    ///
    /// # Errors
    /// [`BadPath`] when a component is empty, `.`, `..`, or holds a NUL, or when the path is absolute.
    pub fn new(text: &str) -> Result<Self, BadPath> {
        if text.is_empty() {
            return Ok(Self::root());
        }
        if text.split('/').all(is_component) { Ok(Self(text.into())) } else { Err(BadPath(text.to_owned())) }
    }

    /// This path with one more component.
    ///
    /// # Errors
    /// [`BadPath`] when `name` is not a single usable component.
    pub fn join(&self, name: &str) -> Result<Self, BadPath> {
        self.join_in(name, &mut String::new())
    }

    /// As [`MirrorPath::join`]. `room` is where the text is put together: a scan joins each name with the same one.
    ///
    /// # Errors
    /// [`BadPath`] when `name` is not a single usable component.
    pub fn join_in(&self, name: &str, room: &mut String) -> Result<Self, BadPath> {
        if name.contains('/') || !is_component(name) {
            return Err(BadPath(name.to_owned()));
        }
        if self.is_root() {
            return Ok(Self(name.into()));
        }
        room.clear();
        [&*self.0, "/", name].into_iter().for_each(|part| room.push_str(part));
        Ok(Self(room.as_str().into()))
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether both are the same text in memory, and not copies.
    #[must_use]
    pub fn is_same_text(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether this is `name` in `folder`, of a path that is in that folder.
    #[must_use]
    pub fn is_named_in(&self, folder: &Self, name: &[u8]) -> bool {
        let before = if folder.is_root() { 0 } else { folder.0.len() + 1 };
        self.0.as_bytes().get(before..) == Some(name)
    }

    /// Whether this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The last component; empty for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        // Called for each entry in each scan. Names are too short for a search by words of memory to pay.
        let start = self.0.bytes().rposition(|byte| byte == b'/').map_or(0, |at| at + 1);
        &self.0[start..]
    }

    /// The path one component up; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(match self.0.rsplit_once('/') {
            Some((up, _)) => Self(up.into()),
            None => Self::root(),
        })
    }

    /// The components, first to last.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        // Called for each entry in each scan. Components are too short for a search by words of memory to pay.
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let end = rest.bytes().position(|byte| byte == b'/').unwrap_or(rest.len());
            let part = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or("");
            Some(part).filter(|part| !part.is_empty())
        })
    }

    /// Whether this path is `ancestor` or lies beneath it.
    #[must_use]
    pub fn is_within(&self, ancestor: &Self) -> bool {
        ancestor.is_root()
            || self.0.strip_prefix(&*ancestor.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// This path with its leading `from` replaced by `to`; `None` when it does not lie within `from`.
    #[must_use]
    pub fn rebase(&self, from: &Self, to: &Self) -> Option<Self> {
        if !self.is_within(from) {
            return None;
        }
        let rest = self.0[from.0.len()..].trim_start_matches('/');
        Some(match (to.is_root(), rest.is_empty()) {
            (_, true) => to.clone(),
            (true, false) => Self(rest.into()),
            (false, false) => Self(format!("{}/{rest}", to.0).into()),
        })
    }

    /// The name without a trailing `.md`; `None` when it has no such ending or nothing before it.
    #[must_use]
    pub fn page_stem(&self) -> Option<&str> {
        self.name().strip_suffix(".md").filter(|stem| !stem.is_empty())
    }
}

fn is_component(part: &str) -> bool {
    !part.is_empty() && part != "." && part != ".." && !part.contains('\0')
}

impl fmt::Display for MirrorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for MirrorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_the_root_can_be_named() {
        for text in ["..", "../x", "a/../b", "/etc/passwd", "a//b", "a/", ".", "a/./b", "a\0b"] {
            assert!(MirrorPath::new(text).is_err(), "{text:?}");
        }
        for name in ["..", ".", "", "a/b", "\0"] {
            assert!(MirrorPath::root().join(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn rebasing_moves_whole_components_only() {
        let path = |text| MirrorPath::new(text).unwrap();
        assert_eq!(path("a/b/c").rebase(&path("a/b"), &path("x")), Some(path("x/c")));
        assert_eq!(path("a/b").rebase(&path("a/b"), &path("x/y")), Some(path("x/y")));
        assert_eq!(path("a/bc").rebase(&path("a/b"), &path("x")), None);
        assert_eq!(path("a").rebase(&MirrorPath::root(), &path("x")), Some(path("x/a")));
    }
}
