//! How alike two texts are, cheaply.

use std::borrow::Cow;
use std::hash::Hasher;

use super::plain::{Fnv, Kind, Node};

/// A block's text, ready for comparing.
pub(super) struct Words<'a> {
    text: Cow<'a, str>,
    words: Vec<u32>,
    /// Bytes of the text.
    pub len: usize,
}

impl<'a> Words<'a> {
    /// The words of a block.
    pub(super) fn of(node: &'a Node) -> Self {
        let mut words = Vec::new();
        let mut text = Cow::Borrowed(node.inline.text.as_str());
        match &node.kind {
            Kind::Table(table) => {
                let cells = table.rows.iter().flatten().map(|cell| cell.text.as_str());
                text = Cow::Owned(cells.collect::<Vec<_>>().join(" "));
            }
            Kind::Media(media) => text = Cow::Borrowed(&media.url),
            _ => {}
        }
        collect(&mut words, &text);
        words.sort_unstable();
        Self { len: text.len(), text, words }
    }
}

fn collect(words: &mut Vec<u32>, text: &str) {
    for word in text.split_whitespace() {
        let mut hasher = Fnv(7);
        hasher.write(word.as_bytes());
        words.push((hasher.finish() >> 32) as u32);
    }
}

/// From 0 (nothing in common) to 1000 (alike): the larger of shared words and of shared beginning and end.
pub(super) fn likeness(a: &Words, b: &Words) -> u32 {
    if a.len == 0 && b.len == 0 && a.words.len() == b.words.len() {
        return 900;
    }
    let total = a.words.len() + b.words.len();
    let by_words = (2000 * common(&a.words, &b.words)).checked_div(total).unwrap_or(0);
    let (x, y) = (a.text.as_bytes(), b.text.as_bytes());
    let head = x.iter().zip(y).take_while(|(a, b)| a == b).count();
    let tail = x[head..].iter().rev().zip(y[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let bytes = (x.len() + y.len()).max(1);
    (by_words.max(2000 * (head + tail) / bytes)).min(1000) as u32
}

fn common(a: &[u32], b: &[u32]) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                count += 1;
                i += 1;
                j += 1;
            }
        }
    }
    count
}
