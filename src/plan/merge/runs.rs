//! Runs of styled text as glyphs with inks, and back.
//!
//! An *ink* is everything about a character that is not the character: the run that it is in without its text, and
//! the link around that. Keys that nobody described are part of it, so they stay on the text they were on.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value, json};

use super::words::{Glyph, Piece, merge_words};

/// A text as runs have it.
#[derive(Debug, Default)]
struct Text {
    glyphs: Vec<Glyph>,
    /// One for each glyph.
    inks: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq)]
struct Ink {
    /// The link around the run, with empty content.
    link: Option<Value>,
    /// The run, with empty text.
    run: Value,
}

/// Merges three styles of a text: base, remote, local. Also returns whether they collide.
pub(super) type MergeStyles = fn(&Value, &Value, &Value) -> (Option<Value>, bool);

/// Inks and inline objects by their numbers.
#[derive(Debug)]
struct Palette {
    merge_styles: MergeStyles,
    inks: Vec<Ink>,
    ink_numbers: BTreeMap<String, u32>,
    objects: Vec<Value>,
    object_numbers: BTreeMap<String, u32>,
    /// What merging three inks gave: base, remote, local.
    merged: BTreeMap<(u32, u32, u32), (u32, bool)>,
}

/// What merging runs gave.
#[derive(Debug)]
pub(super) struct MergedRuns {
    /// The runs.
    pub(super) runs: Vec<Value>,
    /// Whether both sides changed the same words, or the same style of the same words: remote's are in `runs`.
    pub(super) collided: bool,
}

/// Whether this array is text: runs, and what else stands in a line of text.
pub(super) fn are_runs(array: &[Value]) -> bool {
    let is_run = |item: &Value| matches!(item.get("type").and_then(Value::as_str), Some("text" | "link"));
    !array.is_empty() && array.iter().all(is_run)
}

/// Merges two changes of a text with its styles.
pub(super) fn merge_runs([base, remote, local]: [&[Value]; 3], merge_styles: MergeStyles) -> MergedRuns {
    let mut palette = Palette {
        merge_styles,
        inks: Vec::new(),
        ink_numbers: BTreeMap::new(),
        objects: Vec::new(),
        object_numbers: BTreeMap::new(),
        merged: BTreeMap::new(),
    };
    let [base, remote, local] = [base, remote, local].map(|runs| palette.read(runs));
    let merged = merge_words(&base.glyphs, &remote.glyphs, &local.glyphs);
    let mut writer = Writer { palette, out: Text::default(), collided: false, around: None };
    for piece in merged.pieces {
        match piece {
            Piece::Kept(b, r, l) => {
                for ((b, r), l) in b.zip(r).zip(l) {
                    writer.put(remote.glyphs[r], base.inks[b], remote.inks[r], local.inks[l]);
                }
            }
            Piece::Remote(place, range) => {
                let around = writer.look_around(&place, true, &base, &local, &merged.in_local);
                for at in range {
                    let ink = remote.inks[at];
                    let (was, other) = around.for_ink(ink);
                    writer.put(remote.glyphs[at], was, ink, other);
                }
                writer.collided |= around == Around::Mixed;
            }
            Piece::Local(place, range) => {
                let around = writer.look_around(&place, false, &base, &remote, &merged.in_remote);
                for at in range {
                    let ink = local.inks[at];
                    let (was, other) = around.for_ink(ink);
                    writer.put(local.glyphs[at], was, other, ink);
                }
                writer.collided |= around == Around::Mixed;
            }
            Piece::Both(r, l) => {
                for (r, l) in r.zip(l) {
                    let shared = writer.palette.shared(remote.inks[r], local.inks[l]);
                    writer.put(remote.glyphs[r], shared, remote.inks[r], local.inks[l]);
                }
            }
            Piece::Collision(_, range, _) => {
                for at in range {
                    writer.out.push(remote.glyphs[at], remote.inks[at]);
                }
                writer.collided = true;
            }
            Piece::Space => {
                let ink = writer.out.inks.last().copied().unwrap_or(NO_INK);
                writer.out.push(Glyph::Char(' '), ink);
            }
        }
    }
    MergedRuns { runs: writer.palette.write(&writer.out), collided: writer.collided }
}

/// The ink of what is no character.
const NO_INK: u32 = u32::MAX;

/// What the other side did to the style of the text that a side wrote into.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Around {
    /// Nothing.
    Plain,
    /// All of it was changed: base's and the other side's inks.
    Changed(Vec<(u32, u32)>),
    /// Some of what was replaced was changed: there is nothing left to put that on.
    Mixed,
}

impl Around {
    /// The base's and the other side's ink to merge a written character's ink with.
    fn for_ink(&self, ink: u32) -> (u32, u32) {
        match self {
            Self::Changed(pairs) => {
                pairs.iter().find(|(was, _)| *was == ink).or(pairs.first()).copied().unwrap_or((ink, ink))
            }
            Self::Plain | Self::Mixed => (ink, ink),
        }
    }
}

struct Writer {
    palette: Palette,
    out: Text,
    collided: bool,
    /// The last answer of [`Writer::look_around`]: the words of one change come one by one.
    around: Option<(Range<usize>, bool, Around)>,
}

impl Writer {
    fn put(&mut self, glyph: Glyph, base: u32, remote: u32, local: u32) {
        let (ink, clash) = self.palette.merge(base, remote, local);
        self.collided |= clash;
        self.out.push(glyph, ink);
    }

    /// What the other side did to the style of the range `place` of the base, or of both its neighbours when it is
    /// only a place.
    fn look_around(
        &mut self,
        place: &Range<usize>,
        by_remote: bool,
        base: &Text,
        other: &Text,
        in_other: &[Option<usize>],
    ) -> Around {
        if let Some((at, side, around)) = &self.around
            && (at, *side) == (place, by_remote)
        {
            return around.clone();
        }
        let inks = |at: usize| -> Option<(u32, u32)> {
            let is_char = matches!(base.glyphs.get(at), Some(Glyph::Char(_)));
            let there = in_other.get(at).copied().flatten();
            there.filter(|_| is_char).map(|there| (base.inks[at], other.inks[there]))
        };
        let pairs: Vec<Option<(u32, u32)>> = if place.is_empty() {
            vec![place.start.checked_sub(1).and_then(inks), inks(place.start)]
        } else {
            place.clone().map(inks).filter(Option::is_some).collect()
        };
        let changed = |pair: &Option<(u32, u32)>| pair.is_some_and(|(was, now)| was != now);
        let around = if !pairs.iter().any(changed) {
            Around::Plain
        } else if pairs.iter().all(changed) {
            let mut pairs: Vec<_> = pairs.into_iter().flatten().collect();
            pairs.sort_unstable();
            pairs.dedup();
            Around::Changed(pairs)
        } else if place.is_empty() {
            Around::Plain
        } else {
            Around::Mixed
        };
        self.around = Some((place.clone(), by_remote, around.clone()));
        around
    }
}

impl Text {
    fn push(&mut self, glyph: Glyph, ink: u32) {
        self.glyphs.push(glyph);
        self.inks.push(ink);
    }
}

impl Palette {
    fn read(&mut self, runs: &[Value]) -> Text {
        let mut text = Text::default();
        for run in runs {
            if self.read_run(&mut text, None, run) {
                continue;
            }
            let inner = run.get("content").and_then(Value::as_array);
            match (run.get("type").and_then(Value::as_str), inner) {
                (Some("link"), Some(inner)) if inner.iter().all(|run| text_of(run).is_some()) => {
                    let shell = with(run, "content", Value::Array(Vec::new()));
                    for run in inner {
                        self.read_run(&mut text, Some(&shell), run);
                    }
                }
                _ => {
                    let next = number(self.objects.len());
                    let object = *self.object_numbers.entry(run.to_string()).or_insert(next);
                    if object == next {
                        self.objects.push(run.clone());
                    }
                    text.push(Glyph::Object(object), NO_INK);
                }
            }
        }
        text
    }

    /// Reads a text run; `false` when it is something else.
    fn read_run(&mut self, text: &mut Text, link: Option<&Value>, run: &Value) -> bool {
        let Some(characters) = text_of(run) else { return false };
        let ink = Ink { link: link.cloned(), run: with(run, "text", Value::String(String::new())) };
        let ink = self.ink(ink);
        for c in characters.chars() {
            text.push(Glyph::Char(c), ink);
        }
        true
    }

    fn ink(&mut self, ink: Ink) -> u32 {
        let name = format!("{}{}", ink.link.as_ref().map(Value::to_string).unwrap_or_default(), ink.run);
        let next = number(self.inks.len());
        let found = *self.ink_numbers.entry(name).or_insert(next);
        if found == next {
            self.inks.push(ink);
        }
        found
    }

    /// The ink that text had before, as far as can be known, when both sides wrote it: what their inks have in common.
    fn shared(&mut self, remote: u32, local: u32) -> u32 {
        if remote == local {
            return remote;
        }
        let ink = |number: u32| self.inks.get(number as usize);
        let (Some(theirs), Some(ours)) = (ink(remote), ink(local)) else { return remote };
        let link = theirs.link.as_ref().filter(|link| Some(*link) == ours.link.as_ref()).cloned();
        let ink = Ink { link, run: common(&theirs.run, &ours.run) };
        self.ink(ink)
    }

    /// The ink of text whose style both sides may have changed, and whether they did so in different ways.
    fn merge(&mut self, base: u32, remote: u32, local: u32) -> (u32, bool) {
        if remote == local || base == local {
            return (remote, false);
        }
        if base == remote {
            return (local, false);
        }
        if let Some(known) = self.merged.get(&(base, remote, local)) {
            return *known;
        }
        let ink = |number: u32| self.inks.get(number as usize);
        let (Some(was), Some(theirs), Some(ours)) = (ink(base), ink(remote), ink(local)) else {
            return (remote, false);
        };
        let (run, mut clash) = (self.merge_styles)(&was.run, &theirs.run, &ours.run);
        let link = match (&was.link, &theirs.link, &ours.link) {
            (was, theirs, ours) if was == ours || theirs == ours => theirs.clone(),
            (was, theirs, ours) if was == theirs => ours.clone(),
            (_, theirs, _) => {
                clash = true;
                theirs.clone()
            }
        };
        let ink = Ink { link, run: run.unwrap_or_else(|| theirs.run.clone()) };
        // The editor refuses code together with anything else.
        let result = if is_mixed_code(&ink) && !is_mixed_code(theirs) && !is_mixed_code(ours) {
            (remote, true)
        } else {
            (self.ink(ink), clash)
        };
        self.merged.insert((base, remote, local), result);
        result
    }

    fn write(&self, text: &Text) -> Vec<Value> {
        let plain = Ink { link: None, run: json!({"type": "text", "text": "", "styles": {}}) };
        let mut runs: Vec<Value> = Vec::new();
        // The link that the last of `runs` is, while runs are added to it.
        let mut open: Option<&Value> = None;
        let mut at = 0;
        while at < text.glyphs.len() {
            if let Glyph::Object(object) = text.glyphs[at] {
                runs.extend(self.objects.get(object as usize).cloned());
                open = None;
                at += 1;
                continue;
            }
            let number = text.inks[at];
            let characters: String = text.glyphs[at..]
                .iter()
                .zip(&text.inks[at..])
                .map_while(|(glyph, ink)| match glyph {
                    Glyph::Char(c) if *ink == number => Some(*c),
                    _ => None,
                })
                .collect();
            at += characters.chars().count();
            let ink = self.inks.get(number as usize).unwrap_or(&plain);
            let run = with(&ink.run, "text", Value::String(characters));
            match (&ink.link, runs.last_mut()) {
                (Some(link), Some(last)) if open == Some(link) => {
                    if let Some(inner) = last.get_mut("content").and_then(Value::as_array_mut) {
                        inner.push(run);
                    }
                }
                (Some(link), _) => {
                    runs.push(with(link, "content", Value::Array(vec![run])));
                    open = self.inks.get(number as usize).and_then(|ink| ink.link.as_ref());
                }
                (None, _) => {
                    runs.push(run);
                    open = None;
                }
            }
        }
        runs
    }
}

fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(NO_INK)
}

fn text_of(run: &Value) -> Option<&str> {
    (run.get("type")?.as_str()? == "text").then(|| run.get("text")?.as_str()).flatten()
}

/// A copy of an object with another value under `key`, in the same place.
fn with(object: &Value, key: &str, value: Value) -> Value {
    let copy = |(name, old): (&String, &Value)| {
        (name.clone(), if name == key { value.clone() } else { old.clone() })
    };
    Value::Object(
        object.as_object().map(|map| map.iter().map(copy).collect::<Map<_, _>>()).unwrap_or_default(),
    )
}

/// What two objects have in common.
fn common(a: &Value, b: &Value) -> Value {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a.clone() };
    let both = a.iter().filter_map(|(key, value)| {
        let other = b.get(key)?;
        (value == other || (value.is_object() && other.is_object()))
            .then(|| (key.clone(), common(value, other)))
    });
    Value::Object(both.collect())
}

/// Whether text of this ink is code and something else besides.
fn is_mixed_code(ink: &Ink) -> bool {
    let Some(styles) = ink.run.get("styles").and_then(Value::as_object) else { return false };
    let is_on = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
    let on = styles.iter().filter(|(_, value)| is_on(value)).count();
    styles.get("code").is_some_and(is_on) && (on > 1 || ink.link.is_some())
}
