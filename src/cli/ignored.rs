//! The rules of what is ignored, for commands that look by themselves.

use crate::config::Config;
use crate::mirror;
use crate::model::{IGNORE_FILE, IgnoreRules, MirrorPath};

/// The rules of the config and of the file of patterns as it is now. A file that cannot be read has none; `status` tells of it.
#[must_use]
pub fn rules(config: &Config) -> IgnoreRules {
    let file = MirrorPath::new(IGNORE_FILE).ok().and_then(|path| mirror::peek(&config.root, &path).ok());
    let text = file.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    IgnoreRules::new(&config.ignore, &text)
}
