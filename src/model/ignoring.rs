//! The user's ignore patterns in gitignore's syntax, from the config's `ignore` and from the file [`IGNORE_FILE`] in
//! the mirror's root. Other modules decide which patterns are in force, and what follows from them.

use std::borrow::Cow;
use std::path::PathBuf;

use ::ignore::gitignore::{Gitignore, GitignoreBuilder};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::{MirrorPath, Stamp};

/// The file in the mirror's root that holds patterns, one on each line. It is never sent.
pub const IGNORE_FILE: &str = ".espejoignore";

/// The largest size of this file in bytes; a larger one is not a list of patterns.
pub const IGNORE_FILE_MOST: usize = 1 << 20;

/// The file of patterns, as a scan found it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum IgnoreFile {
    /// There is none.
    #[default]
    Absent,
    /// Its text and its metadata.
    Text(String, Stamp),
    /// It exists and cannot be read; the reason.
    Unreadable(String),
}

/// A pattern that keeps paths out of the mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Its text as written.
    pub text: String,
    /// Its line in [`IGNORE_FILE`]; `None` for a pattern of the config.
    pub line: Option<usize>,
}

impl Pattern {
    /// The pattern and its source, as part of a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self.line {
            Some(line) => format!("the pattern {:?} in {IGNORE_FILE}, line {line}", self.text),
            None => format!("the pattern {:?} in the config's ignore", self.text),
        }
    }
}

/// A line that is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadPattern {
    /// Its line in [`IGNORE_FILE`].
    pub line: usize,
    /// Why.
    pub why: String,
}

/// Compiled patterns. Those of the file follow those of the config. As in git, the last matching pattern decides, and
/// `!` restores nothing beneath an ignored folder.
#[derive(Debug, Clone)]
pub struct IgnoreRules {
    config: Vec<String>,
    file: String,
    matcher: Gitignore,
    bad: Vec<BadPattern>,
}

impl Default for IgnoreRules {
    fn default() -> Self {
        Self { config: Vec::new(), file: String::new(), matcher: Gitignore::empty(), bad: Vec::new() }
    }
}

impl PartialEq for IgnoreRules {
    fn eq(&self, other: &Self) -> bool {
        (&self.config, &self.file) == (&other.config, &other.file)
    }
}

impl Eq for IgnoreRules {}

impl IgnoreRules {
    /// The rules of these patterns from the config and of this text of the file. Lines that are not patterns have no
    /// effect, see [`IgnoreRules::bad`]; the config's patterns are already checked.
    #[must_use]
    pub fn new(config: &[String], file: &str) -> Self {
        let mut builder = builder();
        let mut bad = Vec::new();
        for pattern in config {
            // A config with a pattern that cannot be read is refused earlier.
            let _added = builder.add_line(None, &composed(pattern)).is_ok();
        }
        let text = file.trim_start_matches('\u{feff}');
        for (at, line) in text.lines().enumerate() {
            if let Err(error) = builder.add_line(Some(PathBuf::from(IGNORE_FILE)), &composed(line)) {
                bad.push(BadPattern { line: at + 1, why: reason(&error) });
            }
        }
        let matcher = builder.build().unwrap_or_else(|error| {
            // Each pattern is valid, but together they are too large to compile.
            bad.push(BadPattern { line: 1, why: reason(&error) });
            Gitignore::empty()
        });
        Self { config: config.to_vec(), file: file.to_owned(), matcher, bad }
    }

    /// Checks whether one pattern can be read.
    ///
    /// # Errors
    /// The reason, in a few words.
    pub fn check(pattern: &str) -> Result<(), String> {
        builder().add_line(None, &composed(pattern)).map(|_| ()).map_err(|error| reason(&error))
    }

    /// Whether nothing is ignored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.matcher.is_empty()
    }

    /// The file's lines that are not patterns.
    #[must_use]
    pub fn bad(&self) -> &[BadPattern] {
        &self.bad
    }

    /// The config's patterns and the file's text, as given to [`IgnoreRules::new`].
    #[must_use]
    pub fn sources(&self) -> (&[String], &str) {
        (&self.config, &self.file)
    }

    /// The pattern that ignores the entry at `path`, or a folder above it.
    #[must_use]
    pub fn pattern_for(&self, path: &MirrorPath, is_folder: bool) -> Option<Pattern> {
        let glob = self.glob_for(path, is_folder)?;
        let line = glob.from().map(|_| {
            // Of two equal lines the last one decides.
            let lines = self.file.trim_start_matches('\u{feff}').lines().enumerate();
            lines
                .filter(|(_, line)| composed(line).trim_end() == glob.original())
                .map(|(at, _)| at + 1)
                .last()
        });
        Some(Pattern { text: glob.original().to_owned(), line: line.map(|line| line.unwrap_or(1)) })
    }

    /// Whether the entry at `path` is ignored.
    #[must_use]
    pub fn ignores(&self, path: &MirrorPath, is_folder: bool) -> bool {
        self.glob_for(path, is_folder).is_some()
    }

    fn glob_for(&self, path: &MirrorPath, is_folder: bool) -> Option<&::ignore::gitignore::Glob> {
        if self.is_empty() || path.is_root() {
            return None;
        }
        let path = composed(path.as_str());
        let above = path.match_indices('/').map(|(at, _)| (&path[..at], true));
        let mut all = above.chain([(&*path, is_folder)]);
        all.find_map(|(path, is_folder)| match self.matcher.matched(path, is_folder) {
            ::ignore::Match::Ignore(glob) => Some(glob),
            ::ignore::Match::None | ::ignore::Match::Whitelist(_) => None,
        })
    }
}

fn builder() -> GitignoreBuilder {
    let mut builder = GitignoreBuilder::new("");
    // In git such a pattern matches nothing; here the user gets a message.
    builder.allow_unclosed_class(false);
    builder
}

/// The text in NFC, because names compare after NFC.
fn composed(text: &str) -> Cow<'_, str> {
    if is_nfc(text) { Cow::Borrowed(text) } else { Cow::Owned(text.nfc().collect()) }
}

fn reason(error: &::ignore::Error) -> String {
    match error {
        ::ignore::Error::Glob { err, .. } => err.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str) -> MirrorPath {
        MirrorPath::new(path).unwrap()
    }

    #[test]
    fn patterns_mean_what_they_mean_to_git() {
        #[track_caller]
        fn check(patterns: &str, ignored: &[&str], kept: &[&str]) {
            let rules = IgnoreRules::new(&[], patterns);
            assert_eq!(rules.bad(), []);
            for (paths, expected) in [(ignored, true), (kept, false)] {
                for path in paths {
                    let (path, is_folder) = match path.strip_suffix('/') {
                        Some(folder) => (folder, true),
                        None => (*path, false),
                    };
                    assert_eq!(rules.ignores(&at(path), is_folder), expected, "{patterns:?} {path}");
                }
            }
        }
        check("", &[], &["a", "a/b.md"]);
        check("# a comment\n\n", &[], &["a comment", "#"]);
        // Without a slash, or with one at its end only, a pattern matches at every depth.
        check("drafts/", &["a/drafts/", "a/drafts/x.md", "drafts/x/y"], &["a/drafts", "a/drafts.md"]);
        check("drafts", &["a/drafts", "a/drafts/x.md"], &["a/drafts.md"]);
        check("*.psd", &["Storage/x.psd", "x.psd"], &["Storage/x.psd.md"]);
        // With a slash anywhere else it is anchored at the root.
        check("drafts/**", &["drafts/x.md"], &["a/drafts/x.md", "drafts/"]);
        check("**/drafts/**", &["a/drafts/x.md", "drafts/x.md"], &["a/drafts.md"]);
        check(
            "/Equipo/Pages/Old",
            &["Equipo/Pages/Old/x.md"],
            &["Equipo/Pages/Old.md", "x/Equipo/Pages/Old"],
        );
        check("Equipo/*/x.md", &["Equipo/Pages/x.md"], &["Equipo/Pages/a/x.md"]);
        // The last one decides, and nothing in an ignored folder is restored.
        check("*.md\n!keep.md", &["a/x.md"], &["a/keep.md"]);
        check("!keep.md\n*.md", &["a/keep.md"], &[]);
        check("drafts/\n!drafts/keep.md", &["drafts/keep.md"], &[]);
        check("drafts/*\n!drafts/keep.md", &["drafts/x.md"], &["drafts/keep.md"]);
        check("a?c.md\n[xy].md\n\\!b.md", &["abc.md", "x.md", "!b.md"], &["ac.md", "z.md", "b.md"]);
        check("\u{feff}one.md\r\ntwo.md  \r\n", &["one.md", "two.md"], &[]);
        // A name written with two code points is the same name.
        check("cafe\u{301}.md", &["caf\u{e9}.md"], &[]);
        check("caf\u{e9}.md", &["cafe\u{301}.md"], &[]);
    }

    #[test]
    fn the_pattern_that_decides_is_named_with_its_place() {
        let config = ["*.psd".to_owned(), "drafts/".to_owned()];
        let rules = IgnoreRules::new(&config, "# mine\n*.tmp.md\n!x.psd\ndrafts/\n*.tmp.md\n");
        let said = |path: &str| rules.pattern_for(&at(path), false).map(|pattern| pattern.sentence());
        assert_eq!(said("Storage/a.psd").as_deref(), Some("the pattern \"*.psd\" in the config's ignore"));
        assert_eq!(said("Storage/x.psd"), None);
        assert_eq!(
            said("E/Pages/a.tmp.md").as_deref(),
            Some("the pattern \"*.tmp.md\" in .espejoignore, line 5")
        );
        assert_eq!(
            said("E/drafts/a/b.md").as_deref(),
            Some("the pattern \"drafts/\" in .espejoignore, line 4")
        );
        assert_eq!(said("E/Pages/a.md"), None);
    }

    #[test]
    fn a_line_that_is_no_pattern_is_named_and_the_others_count() {
        let rules = IgnoreRules::new(&[], "one.md\n[z-a].md\ntwo{.md\nthree.md\nfour[.md\n");
        let lines: Vec<usize> = rules.bad().iter().map(|bad| bad.line).collect();
        assert_eq!(lines, [2, 3, 5]);
        assert!(rules.bad().iter().all(|bad| !bad.why.is_empty() && !bad.why.contains('\n')), "{rules:?}");
        assert!(rules.ignores(&at("one.md"), false) && rules.ignores(&at("three.md"), false));
        assert!(!rules.ignores(&at("two.md"), false));
        assert!(IgnoreRules::check("a/**/b").is_ok() && IgnoreRules::check("a[").is_err());
    }
}
