//! Titles as file names, and file names as titles (contract section 1, "On disk").
//!
//! A *stem* is a file name without its `.md`, and also the name of the folder that holds the page's subpages.
//! Characters that a stem cannot have are replaced by visible ones, mostly the wide form of the same character (`a/b`
//! becomes `a／b`), and the caller writes the exact title into the front matter. Nothing here reads a disk: the caller
//! supplies which names are taken.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::ignore;
use crate::model::Timestamp;

pub use super::ignore::is_conflict_copy;

/// The name for a page without a title: the service's own default (API document, `POST /pages`).
const NAMELESS: &str = "Sin título";

/// Stands for a part of a title that had to be left out.
const ELLIPSIS: char = '…';

/// Names at the root of the mirror that no workspace may have.
pub(crate) const RESERVED: [&str; 3] = ["Presentations", "Storage", ".espejo"];

/// A name for a page's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The file's name without `.md`.
    pub stem: String,
    /// Whether [`title_of`] the stem is exactly the title. If not, the title must be in the front matter.
    pub says_title: bool,
}

/// A moment in local time, as a file name shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallTime {
    /// The year, 0 to 9999.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 60.
    pub second: u8,
}

impl WallTime {
    /// The wall time at `at`, with this offset from UTC.
    #[must_use]
    pub fn at(at: Timestamp, offset_seconds: i32) -> Self {
        let runtime = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let offset = jiff::tz::Offset::from_seconds(offset_seconds).unwrap_or(jiff::tz::Offset::UTC);
        let civil = offset.to_datetime(runtime);
        Self {
            year: civil.year().unsigned_abs(),
            month: civil.month().unsigned_abs(),
            day: civil.day().unsigned_abs(),
            hour: civil.hour().unsigned_abs(),
            minute: civil.minute().unsigned_abs(),
            second: civil.second().unsigned_abs(),
        }
    }
}

/// The name for a page of this title.
///
/// `taken` is called with [`fold`]ed stems and returns whether a sibling has this name. `room` is the most bytes of
/// the stem: 252 leaves three for `.md` in the 255 that file systems allow; it must be 16 or more.
#[must_use]
pub fn choose(title: &str, taken: &dyn Fn(&str) -> bool, room: usize) -> Name {
    let full = sanitize(title);
    let first = cut(&full, room);
    if !taken(&fold(&first)) {
        let says_title = title_of(&first) == title;
        return Name { stem: first, says_title };
    }
    let numbered = |n: u64| {
        let suffix = format!(" ({n})");
        cut(&full, room.saturating_sub(suffix.len())) + &suffix
    };
    let free = |n: &u64| !taken(&fold(&numbered(*n)));
    let stem = match (2..=32).find(free) {
        Some(n) => numbered(n),
        // For hundreds of siblings with one title any free number is good. A binary search finds one quickly.
        None => {
            let mut high = 64;
            while high < 1 << 40 && !free(&high) {
                high *= 2;
            }
            let mut low = high / 2;
            while low + 1 < high {
                let middle = low + (high - low) / 2;
                if free(&middle) { high = middle } else { low = middle }
            }
            numbered(high)
        }
    };
    let says_title = title_of(&stem) == title;
    Name { stem, says_title }
}

/// A name for a workspace's folder at the root of the mirror: as [`choose`], but never one of espejo's own folders.
#[must_use]
pub fn folder_name(name: &str, taken: &dyn Fn(&str) -> bool, room: usize) -> Name {
    let reserved = RESERVED.map(fold);
    choose(name, &|key| reserved.iter().any(|own| own == key) || taken(key), room)
}

/// The title of a page whose file has this stem and no title in its front matter: the text that the user wrote.
///
/// Only the Unicode form changes, to NFC: some file systems and archives return names decomposed. This is the same
/// text to every reader, but it would differ from the title at the service and in its search.
#[must_use]
pub fn title_of(stem: &str) -> String {
    stem.nfc().collect()
}

/// The title for a file that the user renamed to `stem` when its page was titled `before`.
///
/// As [`title_of`], but the replacements in the old name keep their meaning: `Sprint 3／4` for `Sprint 3/4`, renamed
/// to `Sprint 4／4`, is `Sprint 4/4`.
#[must_use]
pub fn retitled(stem: &str, before: &str) -> String {
    title_of(stem)
        .chars()
        .map(|wide| match REPLACED.iter().find(|(_, shown)| *shown == wide) {
            Some((plain, _)) if before.contains(*plain) && !before.contains(wide) => *plain,
            _ => wide,
        })
        .collect()
}

/// Whether a page's file can have this stem where a stem has this much [`choose`]'s `room`. Folders may have other names: a
/// longer one, or one that makes the file a leftover of a program.
#[must_use]
pub fn can_be(stem: &str, room: usize) -> bool {
    stem.len() <= room && ignore::is_page_file(&format!("{stem}.md"))
}

/// Whether `stem` is exactly the title (users may use characters in names that [`choose`] avoids), or a name that
/// [`choose`] may have given to a page of this title, in any room and with or without a ` (2)`. A file with such a
/// name was not renamed.
#[must_use]
pub fn still_says(stem: &str, title: &str) -> bool {
    let stem = title_of(stem);
    if stem == title {
        return true;
    }
    let full = sanitize(title);
    says(&stem, &full) || without_number(&stem).is_some_and(|stem| says(stem, &full))
}

/// The name of the conflict copy that keeps a local version of the page `stem`: `Stem.conflict-YYYYMMDD-HHMMSS.md`.
///
/// `room` and `taken` are those of [`choose`]: bytes and folded names without `.md`.
#[must_use]
pub fn conflict_copy(stem: &str, when: WallTime, taken: &dyn Fn(&str) -> bool, room: usize) -> String {
    let WallTime { year, month, day, hour, minute, second } = when;
    let mark = format!(".conflict-{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}");
    let mut n = 1_u64;
    loop {
        let suffix = if n == 1 { mark.clone() } else { format!("{mark}-{n}") };
        let name = cut(stem, room.saturating_sub(suffix.len())) + &suffix;
        if !taken(&fold(&name)) {
            return name + ".md";
        }
        n += 1;
    }
}

/// The key for the comparison of names: two names with one key cannot exist in one folder on every file system.
///
/// NFC, full case folding (`ß` is `ss`, `ς` is `σ`; the dotless `ı` is `i`, which is coarser than Unicode and costs
/// at most a ` (2)`), without the joiners and variation selectors that a name may have invisibly. `fold(fold(x)) ==
/// fold(x)`.
#[must_use]
pub fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    // Lower, upper, lower: the only way from `ẞ` to `ss` with the standard library. Decomposition first lets an
    // accented letter fold as its parts do.
    name.nfd()
        .filter(|c| !is_unseen_joiner(*c))
        .flat_map(char::to_lowercase)
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfd()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfc()
        .collect()
}

/// The characters that Windows refuses in a name, and `/`, each with the wide character that replaces it.
const REPLACED: [(char, char); 9] = [
    ('/', '／'),
    ('\\', '＼'),
    (':', '：'),
    ('*', '＊'),
    ('?', '？'),
    ('"', '＂'),
    ('<', '＜'),
    ('>', '＞'),
    ('|', '｜'),
];

/// The title as a stem, before it is cut to its room. `sanitize(sanitize(x)) == sanitize(x)`.
fn sanitize(title: &str) -> String {
    if title.is_empty() {
        return NAMELESS.to_owned();
    }
    let mut stem = visible(title);
    escape_endings(&mut stem);
    escape_device(&mut stem);
    // The mirror would not take these names for a page. A mark at the relevant end makes them usable.
    if stem.starts_with("~$") {
        stem.insert(0, '_');
    }
    if !ignore::is_page_file(&format!("{stem}.md")) || ignore::is_ignored_folder(&stem) {
        stem.push('_');
    }
    stem
}

/// The text with a visible replacement for everything that a file name cannot have, device names aside.
pub(super) fn visible(title: &str) -> String {
    let title: Vec<char> = title.nfc().collect();
    let first = title.iter().position(|c| !c.is_whitespace()).unwrap_or(title.len());
    let last = title.iter().rposition(|c| !c.is_whitespace()).unwrap_or(0);
    let mut stem = String::with_capacity(title.len());
    let mut before = None;
    for (at, &c) in title.iter().enumerate() {
        let edge = at == 0 || at + 1 == title.len();
        let put = match c {
            '.' if edge => '．',
            _ if is_unseen(before, c, title.get(at + 1).copied()) => shown(c),
            _ if c.is_whitespace() && (at < first || at > last) => '␣',
            _ => REPLACED.iter().find(|(plain, _)| *plain == c).map_or(c, |(_, wide)| *wide),
        };
        stem.push(put);
        before = Some(put);
    }
    stem
}

/// Whether `c` has no width, changes the text direction, or is a control character. Joiners and variation selectors
/// inside emoji and inside scripts that need them are part of the title's look, and stay.
fn is_unseen(before: Option<char>, c: char, after: Option<char>) -> bool {
    let joins = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && !c.is_whitespace() && !is_joiner(c));
    match c {
        '\u{200c}' | '\u{200d}' => !(joins(before) && joins(after)),
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
            let keycap = before.is_some_and(|c| c.is_ascii_digit() || c == '#');
            !keycap && (!joins(before) || before.is_some_and(is_unseen_joiner))
        }
        // Tags encode the flags of regions after a black flag.
        '\u{e0020}'..='\u{e007f}' => {
            !before.is_some_and(|c| c == '\u{1f3f4}' || ('\u{e0020}'..='\u{e007e}').contains(&c))
        }
        _ => c.is_control() || is_format(c),
    }
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// The zero-width characters that [`sanitize`] may keep.
fn is_unseen_joiner(c: char) -> bool {
    is_joiner(c)
        || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0020}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Format characters, invisible fillers, line and paragraph separators, and noncharacters.
fn is_format(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// The visible replacement of an invisible character.
fn shown(c: char) -> char {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('�'),
        '\u{7f}' => '␡',
        '\u{85}' | '\u{2028}' | '\u{2029}' => '␤',
        _ => '�',
    }
}

/// A folder of subpages named `x.md` would be in the place of the file of page `x`, and likewise for the other files
/// that espejo writes beside pages: the dot becomes a wide one.
fn escape_endings(stem: &mut String) {
    for ending in [".md", ".canvas", ".svg"] {
        let at = stem.len().wrapping_sub(ending.len());
        if stem.get(at..).is_some_and(|end| end.eq_ignore_ascii_case(ending)) {
            stem.replace_range(at..=at, "．");
        }
    }
}

/// `CON`, `nul.txt` and similar names open a device on Windows, whatever follows the first dot.
pub(super) fn escape_device(stem: &mut String) {
    let base = stem.split('.').next().unwrap_or("").trim_end();
    let upper = base.to_ascii_uppercase();
    let numbered = upper.strip_prefix("COM").or_else(|| upper.strip_prefix("LPT")).is_some_and(|n| {
        matches!(n, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
    });
    if numbered || matches!(&*upper, "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$") {
        let at = base.len();
        stem.insert(at, '_');
    }
}

/// The longest part of `stem` that fits into `room` bytes, with `…` for the rest.
pub(super) fn cut(stem: &str, room: usize) -> String {
    if stem.len() <= room {
        return stem.to_owned();
    }
    let most = stem.floor_char_boundary(room.saturating_sub(ELLIPSIS.len_utf8()));
    let clean = (1..=most).rev().find(|at| stem.is_char_boundary(*at) && is_clean_cut(stem, *at));
    // One base character with hundreds of marks has no clean place to cut.
    let kept = stem[..clean.unwrap_or(most)].trim_end_matches(|c: char| c.is_whitespace() || c == '.');
    format!("{kept}{ELLIPSIS}")
}

/// Whether a reader sees two characters at the two sides of `at`, not two halves of one.
fn is_clean_cut(stem: &str, at: usize) -> bool {
    let is_flag_half = |c: &char| ('\u{1f1e6}'..='\u{1f1ff}').contains(c);
    let Some(next) = stem[at..].chars().next() else { return true };
    let joined = is_combining_mark(next)
        || is_unseen_joiner(next)
        || ('\u{1f3fb}'..='\u{1f3ff}').contains(&next)
        || ('\u{1160}'..='\u{11ff}').contains(&next)
        || stem[..at].ends_with('\u{200d}');
    let odd_flags = is_flag_half(&next) && stem[..at].chars().rev().take_while(is_flag_half).count() % 2 == 1;
    !joined && !odd_flags
}

/// Whether `stem` is `full`, or its beginning with `…`.
pub(super) fn says(stem: &str, full: &str) -> bool {
    stem == full
        || stem
            .strip_suffix(ELLIPSIS)
            .is_some_and(|kept| !kept.is_empty() && kept.len() < full.len() && full.starts_with(kept))
}

/// The stem without its ` (2)`.
pub(super) fn without_number(stem: &str) -> Option<&str> {
    let (before, digits) = stem.strip_suffix(')')?.rsplit_once(" (")?;
    let number: u64 = digits.parse().ok()?;
    (number >= 2 && !digits.starts_with(['0', '+'])).then_some(before)
}

#[cfg(test)]
#[path = "naming_tests.rs"]
mod tests;
