//! Three-way merge of text by words: which words each side changed, and where both changed the same ones.
//!
//! A text is a row of glyphs: characters, and inline objects that are one glyph each. Styles are not looked at here;
//! whoever asks gets ranges and puts the styles back.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::align::align;
use super::regions::{By, Region, regions};

/// One place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Glyph {
    /// A character.
    Char(char),
    /// Something inline that is no text, by its number.
    Object(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Letters and digits; two of them in a row are one word too many.
    Word,
    /// A word that needs no space beside it: an ideograph, an emoji, an inline object.
    Sign,
    /// Punctuation.
    Mark,
    /// Spaces and line breaks.
    Space,
}

#[derive(Debug, Clone)]
struct Token {
    glyphs: Range<usize>,
    /// Equal numbers are equal texts.
    number: u32,
    kind: Kind,
}

/// A part of the merged text, as ranges of glyphs of the texts that it is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Nobody changed the text: three ranges of one length, base, remote, local.
    Kept(Range<usize>, Range<usize>, Range<usize>),
    /// Written by the remote side in place of a range of the base (empty when it was put in).
    Remote(Range<usize>, Range<usize>),
    /// Written by the local side in place of a range of the base.
    Local(Range<usize>, Range<usize>),
    /// Written by both sides alike: two ranges of one length, remote, local.
    Both(Range<usize>, Range<usize>),
    /// Both sides changed the same words, base, remote, local: not merged.
    Collision(Range<usize>, Range<usize>, Range<usize>),
    /// Nobody wrote it: two words met that no side had put together.
    Space,
}

/// What merging two changes of a text gave.
#[derive(Debug)]
pub(super) struct MergedWords {
    /// The merged text, in its order.
    pub(super) pieces: Vec<Piece>,
    /// Where each glyph of the base is in the remote text, if it is still there.
    pub(super) in_remote: Vec<Option<usize>>,
    /// Likewise in the local text.
    pub(super) in_local: Vec<Option<usize>>,
}

/// Merges two changes of a text.
pub(super) fn merge_words(base: &[Glyph], remote: &[Glyph], local: &[Glyph]) -> MergedWords {
    let mut numbers = BTreeMap::new();
    let texts = [base, remote, local].map(|text| tokens(text, &mut numbers));
    let [in_base, in_remote, in_local] = &texts;
    let pairs = [pair_tokens(in_base, in_remote), pair_tokens(in_base, in_local)];
    let mut merger = Merger { texts: &texts, pieces: Vec::new(), word_last: false };
    merger.run([&pairs[0], &pairs[1]]);
    let glyph_places = |pairs: &[(usize, usize)], side: &[Token]| {
        let mut places = vec![None; base.len()];
        for (b, s) in pairs {
            for (from, to) in in_base[*b].glyphs.clone().zip(side[*s].glyphs.clone()) {
                places[from] = Some(to);
            }
        }
        places
    };
    MergedWords {
        in_remote: glyph_places(&pairs[0], in_remote),
        in_local: glyph_places(&pairs[1], in_local),
        pieces: merger.pieces,
    }
}

struct Merger<'a> {
    /// Base, remote, local.
    texts: &'a [Vec<Token>; 3],
    pieces: Vec<Piece>,
    /// Whether the merged text so far ends with a word.
    word_last: bool,
}

impl Merger<'_> {
    fn run(&mut self, pairs: [&[(usize, usize)]; 2]) {
        let regions = regions(self.texts.each_ref().map(Vec::len), pairs[0], pairs[1]);
        for Region { by, base, remote, local } in self.join_shared(regions) {
            match by {
                By::Nobody => self.kept(base.zip(remote).zip(local)),
                By::Remote => self.push_side(&base, 1, &remote, Piece::Remote),
                By::Local => self.push_side(&base, 2, &local, Piece::Local),
                By::Both => self.both_changed(base, remote, local, pairs),
            }
        }
    }

    /// Joins neighbouring changes of the two sides into which both wrote the same word: they are one change, made by
    /// both as far as they agree, and the word would stand there twice.
    fn join_shared(&self, regions: Vec<Region>) -> Vec<Region> {
        let [base, remote, local] = self.texts;
        let mut joined: Vec<Region> = Vec::with_capacity(regions.len());
        // Where the last change is in `joined`, while nothing but spaces and punctuation came after it.
        let mut last: Option<usize> = None;
        for region in regions {
            if region.by == By::Nobody {
                last = last.filter(|_| words(&base[region.base.clone()]).next().is_none());
                joined.push(region);
                continue;
            }
            if let Some(at) = last {
                let whole = Region {
                    by: By::Both,
                    base: joined[at].base.start..region.base.end,
                    remote: joined[at].remote.start..region.remote.end,
                    local: joined[at].local.start..region.local.end,
                };
                let old: BTreeSet<u32> = words(&base[whole.base.clone()]).collect();
                let ours: BTreeSet<u32> = words(&local[whole.local.clone()]).collect();
                if words(&remote[whole.remote.clone()])
                    .any(|word| ours.contains(&word) && !old.contains(&word))
                {
                    joined.truncate(at);
                    joined.push(whole);
                    continue;
                }
            }
            last = Some(joined.len());
            joined.push(region);
        }
        joined
    }

    /// Tokens that nobody changed, by their places in the three texts.
    fn kept(&mut self, places: impl Iterator<Item = ((usize, usize), usize)>) {
        let [base, remote, local] = self.texts;
        for ((b, r), l) in places {
            let glyphs = |tokens: &[Token], at: usize| tokens[at].glyphs.clone();
            self.push(base[b].kind, Piece::Kept(glyphs(base, b), glyphs(remote, r), glyphs(local, l)));
        }
    }

    /// Both sides changed this range, or put something in at this place.
    fn both_changed(
        &mut self,
        base: Range<usize>,
        remote: Range<usize>,
        local: Range<usize>,
        pairs: [&[(usize, usize)]; 2],
    ) {
        let [in_base, in_remote, in_local] = self.texts;
        let (was, theirs, ours) =
            (&in_base[base.clone()], &in_remote[remote.clone()], &in_local[local.clone()]);
        // What each side kept of this range.
        let kept = pairs.map(|pairs| {
            let from = pairs.partition_point(|(b, _)| *b < base.start);
            &pairs[from..pairs.partition_point(|(b, _)| *b < base.end)]
        });
        let place = cover(in_base, &base);
        if visible(theirs) == visible(ours) {
            self.weave(&place, theirs, ours, true, false);
        } else if kept[0].len() == theirs.len() && kept[1].len() == ours.len() {
            // Both only deleted: what neither of them did is still there.
            let mut rest = kept[1].iter().peekable();
            let both = kept[0].iter().filter_map(|(b, r)| {
                while rest.next_if(|(other, _)| other < b).is_some() {}
                rest.next_if(|(other, _)| other == b).map(|(_, l)| ((*b, *r), *l))
            });
            self.kept(both);
        } else if is_agreed_beside(was, theirs, ours) || is_extended(was, ours, theirs) {
            self.weave(&place, theirs, ours, true, false);
        } else if is_agreed_beside(was, ours, theirs) || is_extended(was, theirs, ours) {
            self.weave(&place, theirs, ours, false, true);
        } else if visible(was).is_empty() {
            self.weave(&place, theirs, ours, true, true);
        } else {
            let piece = Piece::Collision(place, cover(in_remote, &remote), cover(in_local, &local));
            // A collision shows remote's words.
            let (first, last) = (theirs.first().map(|t| t.kind), theirs.last().map(|t| t.kind));
            if let (Some(first), Some(last)) = (first, last) {
                self.push(first, piece);
                self.word_last = last == Kind::Word;
            } else {
                self.pieces.push(piece);
            }
        }
    }

    /// Two texts that took one place: what they share, once, and of the rest what either wrote, remote's first, as far
    /// as it is wanted.
    fn weave(
        &mut self,
        place: &Range<usize>,
        theirs: &[Token],
        ours: &[Token],
        with_remote: bool,
        with_local: bool,
    ) {
        let (mut i, mut j) = (0, 0);
        for (next_i, next_j) in pair_tokens(theirs, ours).into_iter().chain([(theirs.len(), ours.len())]) {
            let (there, here) = (&theirs[i..next_i], &ours[j..next_j]);
            for token in there.iter().filter(|_| with_remote) {
                self.push(token.kind, Piece::Remote(place.clone(), token.glyphs.clone()));
            }
            // Spaces of ours, where theirs has something, would only be doubled.
            let doubled = with_remote && !there.is_empty() && visible(here).is_empty();
            for token in here.iter().filter(|_| with_local && !doubled) {
                self.push(token.kind, Piece::Local(place.clone(), token.glyphs.clone()));
            }
            if let (Some(theirs), Some(ours)) = (theirs.get(next_i), ours.get(next_j)) {
                self.push(theirs.kind, Piece::Both(theirs.glyphs.clone(), ours.glyphs.clone()));
            }
            (i, j) = (next_i + 1, next_j + 1);
        }
    }

    fn push_side(
        &mut self,
        base: &Range<usize>,
        side: usize,
        range: &Range<usize>,
        piece: impl Fn(Range<usize>, Range<usize>) -> Piece,
    ) {
        let texts = self.texts;
        let place = cover(&texts[0], base);
        for token in &texts[side][range.clone()] {
            self.push(token.kind, piece(place.clone(), token.glyphs.clone()));
        }
    }

    /// Adds what begins (and ends) with a token of this kind.
    fn push(&mut self, kind: Kind, piece: Piece) {
        // A word is as long as it can be in every text, so two in a row come from two texts.
        if self.word_last && kind == Kind::Word {
            self.pieces.push(Piece::Space);
        }
        self.word_last = kind == Kind::Word;
        self.pieces.push(piece);
    }
}

/// The tokens that two texts share. Words decide; what stands between them belongs together only next to words that
/// do, so that a rewritten phrase is one change and not one around each of its spaces.
fn pair_tokens(a: &[Token], b: &[Token]) -> Vec<(usize, usize)> {
    let places = |tokens: &[Token]| -> Vec<usize> {
        (0..tokens.len()).filter(|at| matches!(tokens[*at].kind, Kind::Word | Kind::Sign)).collect()
    };
    let (places_a, places_b) = (places(a), places(b));
    let pick = |tokens: &[Token], places: &[usize]| -> Vec<u32> {
        places.iter().map(|at| tokens[*at].number).collect()
    };
    let words = align(&pick(a, &places_a), &pick(b, &places_b));
    let mut pairs = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (x, y) in words.into_iter().map(|(x, y)| (places_a[x], places_b[y])).chain([(a.len(), b.len())]) {
        let (mut end_i, mut end_j) = (x, y);
        while i < end_i && j < end_j && a[i].number == b[j].number {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        }
        let from = pairs.len();
        while i < end_i && j < end_j && a[end_i - 1].number == b[end_j - 1].number {
            (end_i, end_j) = (end_i - 1, end_j - 1);
            pairs.push((end_i, end_j));
        }
        pairs[from..].reverse();
        if x < a.len() {
            pairs.push((x, y));
        }
        (i, j) = (x + 1, y + 1);
    }
    pairs
}

/// Everything but spaces.
fn visible(tokens: &[Token]) -> Vec<u32> {
    tokens.iter().filter(|token| token.kind != Kind::Space).map(|token| token.number).collect()
}

/// The words of a text.
fn words(tokens: &[Token]) -> impl Iterator<Item = u32> {
    tokens.iter().filter(|token| matches!(token.kind, Kind::Word | Kind::Sign)).map(|token| token.number)
}

/// Whether `less` is `was` but for what it wrote before or after it alike with `more`.
fn is_agreed_beside(was: &[Token], more: &[Token], less: &[Token]) -> bool {
    let (was, more, less) = (visible(was), visible(more), visible(less));
    let before = less.iter().zip(&more).take_while(|(a, b)| a == b).count();
    let rest = &less[before..];
    let after = rest.iter().rev().zip(more[before..].iter().rev()).take_while(|(a, b)| a == b).count();
    !was.is_empty() && rest[..rest.len() - after] == was[..]
}

/// Whether `long` says what `short` says and something new besides: then both changes live in `long`.
fn is_extended(was: &[Token], short: &[Token], long: &[Token]) -> bool {
    let was: BTreeSet<u32> = visible(was).into_iter().collect();
    let short = visible(short);
    let mut rest = short.iter().peekable();
    let all_new =
        visible(long).iter().all(|number| rest.next_if_eq(&number).is_some() || !was.contains(number));
    !short.is_empty() && all_new && rest.peek().is_none()
}

/// The glyphs that a range of tokens covers; a place when the range is empty.
fn cover(tokens: &[Token], range: &Range<usize>) -> Range<usize> {
    let start =
        tokens.get(range.start).map_or_else(|| tokens.last().map_or(0, |t| t.glyphs.end), |t| t.glyphs.start);
    range
        .end
        .checked_sub(1)
        .filter(|_| !range.is_empty())
        .map_or(start..start, |last| start..tokens[last].glyphs.end)
}

fn tokens(text: &[Glyph], numbers: &mut BTreeMap<Vec<Glyph>, u32>) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let (length, kind) = token_at(&text[start..]);
        let glyphs = start..start + length;
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        let number = *numbers.entry(text[glyphs.clone()].to_vec()).or_insert(next);
        tokens.push(Token { glyphs, number, kind });
        start += length;
    }
    tokens
}

/// The length and kind of the first token of a text that is not empty.
fn token_at(text: &[Glyph]) -> (usize, Kind) {
    let char_at = |at: usize| match text.get(at) {
        Some(Glyph::Char(c)) => Some(*c),
        _ => None,
    };
    let Some(first) = char_at(0) else { return (1, Kind::Sign) };
    let extended = |mut end: usize| {
        while char_at(end).is_some_and(extends)
            || (end > 0
                && char_at(end - 1) == Some('\u{200d}')
                && char_at(end).is_some_and(|c| !c.is_whitespace()))
        {
            end += 1;
        }
        end
    };
    if first == '\n' {
        return (1, Kind::Space);
    }
    if first.is_whitespace() {
        let spaces =
            (1..).take_while(|at| char_at(*at).is_some_and(|c| c.is_whitespace() && c != '\n')).count();
        return (1 + spaces, Kind::Space);
    }
    if is_spaceless(first) || is_sign(first) {
        let flag = |c: Option<char>| c.is_some_and(|c| ('\u{1f1e6}'..='\u{1f1ff}').contains(&c));
        let end = if flag(Some(first)) && flag(char_at(1)) { 2 } else { 1 };
        return (extended(end), Kind::Sign);
    }
    if is_operator(first) {
        let more = (1..).take_while(|at| char_at(*at).is_some_and(is_operator)).count();
        return (1 + more, Kind::Mark);
    }
    if !is_letter(first) {
        return (1, Kind::Mark);
    }
    let mut end = 1;
    while let Some(c) = char_at(end) {
        let before = char_at(end - 1).unwrap_or(' ');
        let after = char_at(end + 1);
        // What belongs together as one value is one word: 3.5, 2026-01-31, 12:30, don't.
        let joins_digits = matches!(c, '.' | ',' | ':' | '/' | '-')
            && before.is_ascii_digit()
            && after.is_some_and(|c| c.is_ascii_digit());
        let joins_letters =
            matches!(c, '\'' | '’') && before.is_alphabetic() && after.is_some_and(char::is_alphabetic);
        if !(is_letter(c) && !is_spaceless(c) || extends(c) || joins_digits || joins_letters) {
            break;
        }
        end += 1;
    }
    // So is an address, without the punctuation that ends the sentence around it.
    if char_at(end) == Some(':') && char_at(end + 1) == Some('/') && char_at(end + 2) == Some('/') {
        end += (end..).take_while(|at| char_at(*at).is_some_and(|c| !c.is_whitespace())).count();
        while char_at(end - 1).is_some_and(|c| {
            matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | ')' | ']' | '}' | '>' | '"' | '\'')
        }) {
            end -= 1;
        }
    }
    (end, Kind::Word)
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Characters that mean something in rows: `->`, `==`, `---`.
fn is_operator(c: char) -> bool {
    matches!(c, '-' | '=' | '<' | '>' | '+' | '*' | '/' | '\\' | '|' | '&' | '^' | '~' | '#' | ':')
}

/// Characters that belong to the one before them.
fn extends(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
        || matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}')
}

/// Scripts that are written without spaces: each character counts as a word.
fn is_spaceless(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{2fdf}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Symbols that mean something by themselves: emoji, currencies, arrows, mathematics.
fn is_sign(c: char) -> bool {
    !c.is_alphanumeric()
        && matches!(c, '\u{20a0}'..='\u{20cf}' | '\u{2100}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '£' | '$' | '%')
}
