//! The plain tree: what a page says once everything that Markdown cannot say is left out.
//!
//! Both sides come down to it: `lower` from blocks, `read` from text. Two equal plain trees mean the same page to a
//! reader of the file. It holds no ids and no props beyond those that a line shows.

use std::hash::{Hash, Hasher};
use std::ops::Range;

/// Style bits of a [`Mark`]. The five that the API document names.
pub(super) const BOLD: u8 = 1;
/// See [`BOLD`].
pub(super) const ITALIC: u8 = 2;
/// See [`BOLD`].
pub(super) const STRIKE: u8 = 4;
/// See [`BOLD`].
pub(super) const UNDERLINE: u8 = 8;
/// See [`BOLD`].
pub(super) const CODE: u8 = 16;

/// The documented styles: key in `styles`, bit.
pub(super) const STYLES: [(&str, u8); 5] =
    [("bold", BOLD), ("italic", ITALIC), ("underline", UNDERLINE), ("strike", STRIKE), ("code", CODE)];

/// Stands in `Inline::text` for an inline item that has no text of its own.
pub(super) const ITEM: char = '\u{fffc}';

/// Deepest nesting that is shown and made. JSON readers stop at 128 levels, and a block takes two of them; a table
/// in an answer of the service adds a dozen.
pub(super) const DEPTH_MAX: usize = 56;

/// Text with marks that cover it from first to last byte.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Inline {
    /// The characters.
    pub text: String,
    /// Neighbours differ, none is empty.
    pub marks: Vec<Mark>,
}

/// A stretch of one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// Bytes of the text.
    pub len: usize,
    /// Style bits.
    pub style: u8,
    /// What the stretch is.
    pub what: What,
}

impl Hash for Mark {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // One word for most marks.
        let is_text = matches!(self.what, What::Text);
        state.write_u64((self.len as u64) << 9 | u64::from(is_text) << 8 | u64::from(self.style));
        if !is_text {
            self.what.hash(state);
        }
    }
}

/// What a stretch of text is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// Characters.
    Text,
    /// The text of a link.
    Link(Box<Link>),
    /// An inline item of a kind that has no Markdown, by its label (`#type-hash`); its text is one [`ITEM`].
    Item(Box<str>),
    /// What Markdown hides, as it is written; its text is one [`ITEM`]. Only while a file is spliced: no block has it.
    Hidden(Box<str>),
}

/// Where a link goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Link {
    /// The address.
    pub href: String,
    /// The title, which only files have (as their caption).
    pub title: String,
}

impl Inline {
    /// Text without any style, as far as Markdown can say it.
    pub(super) fn plain(text: &str) -> Self {
        let mut inline = Self::default();
        inline.push(&text.replace('\0', "\u{fffd}"), 0, &What::Text);
        inline
    }

    /// Adds a stretch, joining it with the last one when they are alike.
    pub(super) fn push(&mut self, text: &str, style: u8, what: &What) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        match self.marks.last_mut() {
            Some(last)
                if last.style == style
                    && last.what == *what
                    && !matches!(what, What::Item(_) | What::Hidden(_)) =>
            {
                last.len += text.len();
            }
            _ => {
                if self.marks.is_empty() {
                    // Most have one, and a list that grows by itself has room for four at once.
                    self.marks.reserve_exact(1);
                }
                self.marks.push(Mark { len: text.len(), style, what: what.clone() });
            }
        }
    }

    /// Adds all of `other`.
    pub(super) fn append(&mut self, other: &Self) {
        for (text, mark) in other.stretches() {
            self.push(text, mark.style, &mark.what);
        }
    }

    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The marks with their text.
    pub(super) fn stretches(&self) -> impl Iterator<Item = (&str, &Mark)> {
        let mut from = 0;
        self.marks.iter().map(move |mark| {
            let text = &self.text[from..from + mark.len];
            from += mark.len;
            (text, mark)
        })
    }

    /// Whether any stretch is a link.
    pub(super) fn has_link(&self) -> bool {
        self.marks.iter().any(|mark| matches!(mark.what, What::Link(_)))
    }
}

/// What a block is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A paragraph; empty ones are mostly blank lines.
    Paragraph,
    /// A heading of level 1 to 6.
    Heading(u8),
    /// `- item`.
    Bullet,
    /// `1. item`; a number only when the first of its list does not say 1.
    Number(Option<u64>),
    /// `- [ ] item`, `- [x] item`.
    Check(bool),
    /// `+ item`.
    Toggle,
    /// `> text`.
    Quote,
    /// A fence with its language; the code is the inline text.
    Code(Box<str>),
    /// `---`.
    Divider,
    /// An image, a video or a sound: `![name](url "caption")`; a file: `[name](url "caption")<!-- file -->`.
    Media(Box<Media>),
    /// A table; its words are in the cells, not in the inline text.
    Table(Box<Table>),
    /// A one-line comment that stands for a block, by its label (`TYPE ID`).
    Placeholder(Box<str>),
    /// What Markdown hides (a comment, a reference definition), as it is written. No block has it: it stays in the file.
    Hidden(Box<str>),
    /// `<!-- children -->`; only while reading.
    Open,
    /// `<!-- /children -->`; only while reading.
    Close,
}

impl Kind {
    /// Whether it is written as an item of a Markdown list.
    pub(super) fn is_item(&self) -> bool {
        matches!(self, Self::Bullet | Self::Number(_) | Self::Check(_) | Self::Toggle)
    }

    /// Whether its inline content is styled text that a person edits.
    pub(super) fn has_text(&self) -> bool {
        self.is_item() || matches!(self, Self::Paragraph | Self::Heading(_) | Self::Quote)
    }
}

/// An image, a video, a sound, or a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Media {
    /// A file, which is not shown itself.
    pub file: bool,
    /// Address.
    pub url: String,
    /// Name, shown as the alternative text.
    pub name: String,
    /// Caption, shown as the title.
    pub caption: String,
}

/// A table as GFM has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Table {
    /// Whether the first row is a header; without one GFM still needs a row, which is left empty.
    pub header: bool,
    /// One for each column: `l`eft, `c`entre, `r`ight, or a space for none.
    pub align: Vec<u8>,
    /// All of one width.
    pub rows: Vec<Vec<Inline>>,
}

/// A block of the plain tree.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// What it is.
    pub kind: Kind,
    /// Its own text.
    pub inline: Inline,
    /// Beneath it.
    pub children: Vec<Node>,
    /// Where its own lines are in the text it was read from; without meaning when lowered.
    pub at: Range<usize>,
    /// The end of everything beneath it, in the same text.
    pub end: usize,
    /// Place in the preorder walk.
    pub index: usize,
    /// The number written before an item of an ordered list.
    pub number: u64,
    /// Whether it is the first item of a Markdown list.
    pub list_first: bool,
    /// An empty paragraph that is only a blank line.
    pub blank: bool,
    /// The block of the base that it is, by `Node::index` there.
    pub base: Option<usize>,
    /// A block of the base that hides what is beneath it.
    pub sealed: bool,
    /// Its text is written with every escape that could be needed.
    pub strict: bool,
    /// How it reads when a construct without a documented block is kept as its text.
    pub literal: Option<Box<Literal>>,
    /// What its lines hold besides what they say.
    pub beside: Option<Box<Beside>>,
}

/// What there is in a forest: one walk for all that is asked about it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Census {
    /// One-line comments that stand for blocks.
    pub placeholders: bool,
    /// How many toggles.
    pub toggles: usize,
    /// How many bullets.
    pub bullets: usize,
    /// Empty paragraphs that are only blank lines.
    pub blanks: bool,
    /// What stays in the file.
    pub hidden: bool,
    /// See [`Node::beside`].
    pub beside: bool,
    /// See [`Node::literal`]; a definition may be text as well.
    pub literals: bool,
}

impl Census {
    /// What there is in this one.
    pub(super) fn of(nodes: &[Node]) -> Self {
        let mut holds = Self::default();
        holds.look(nodes);
        holds
    }

    fn look(&mut self, nodes: &[Node]) {
        for node in nodes {
            match &node.kind {
                Kind::Placeholder(_) => self.placeholders = true,
                Kind::Toggle => self.toggles += 1,
                Kind::Bullet => self.bullets += 1,
                Kind::Hidden(source) => {
                    self.hidden = true;
                    self.literals |= source.starts_with('[');
                }
                _ => {}
            }
            self.blanks |= node.blank;
            self.beside |= node.beside.is_some();
            self.literals |= node.literal.is_some();
            self.look(&node.children);
        }
    }
}

/// What stands in a block's lines and is not said by them, and how they were read before that was known.
#[derive(Debug, Clone, Default)]
pub(super) struct Beside {
    /// What Markdown hides, each with the byte of the inline text that it stands before.
    pub hidden: Vec<(usize, Box<str>)>,
    /// Other readings, which hold where the base has them: comments that were sent as text, lines that were joined.
    pub readings: Vec<Inline>,
    /// A reference definition that a link uses: where links are text, it is text as well.
    pub is_used: bool,
}

impl Beside {
    /// Gives what is hidden its places in another reading of the same lines. Its kin there has the same source; what has none
    /// stood before or behind the text.
    pub(super) fn place_in(&mut self, text: &Inline, hidden: &[(usize, Box<str>)]) {
        let mut left = hidden;
        for (at, source) in &mut self.hidden {
            match left.iter().position(|(_, other)| other == source) {
                Some(next) => {
                    *at = left[next].0;
                    left = &left[next + 1..];
                }
                None if *at == 0 => {}
                None => *at = text.text.len(),
            }
        }
    }
}

/// The other reading of a node.
#[derive(Debug, Clone, Default)]
pub(super) struct Literal {
    /// The inline text with links as their source.
    pub inline: Option<Inline>,
    /// The inline text with links to places on this machine as their source.
    pub local: Option<Inline>,
    /// What Markdown hides in `inline`, as in [`Beside::hidden`].
    pub hidden: Vec<(usize, Box<str>)>,
    /// What Markdown hides in `local`.
    pub hidden_in_local: Vec<(usize, Box<str>)>,
    /// The inline text with links whose title the page cannot hold as links.
    pub untitled: Option<Inline>,
    /// Readings that count only where the base has them: what formatters make of bare addresses and of titles.
    pub others: Vec<Inline>,
    /// The marker of a list item whose number cannot be said otherwise: a paragraph beginning with this.
    pub prefix: Option<String>,
    /// The whole construct as the text of a paragraph.
    pub whole: Option<String>,
    /// The table with links as their source, where that differs.
    pub table: Option<Box<Table>>,
    /// The table with links to places on this machine as their source, where that differs.
    pub local_table: Option<Box<Table>>,
    /// Readings of the table that count only where the base has them: comments as text, and bare addresses.
    pub other_tables: Vec<Table>,
    /// What the text of a table that no block can hold says, as one number: formatters write the same otherwise.
    pub said: Option<u64>,
}

impl Node {
    /// A node without text and children.
    pub(super) fn new(kind: Kind, at: Range<usize>) -> Self {
        Self {
            kind,
            inline: Inline::default(),
            children: Vec::new(),
            end: at.end,
            at,
            index: 0,
            number: 1,
            list_first: false,
            blank: false,
            base: None,
            sealed: false,
            strict: false,
            literal: None,
            beside: None,
        }
    }

    /// Whether it stays in the file.
    pub(super) fn is_hidden(&self) -> bool {
        matches!(self.kind, Kind::Hidden(_))
    }

    /// Whether it is an empty paragraph with nothing beneath it.
    pub(super) fn is_void(&self) -> bool {
        self.kind == Kind::Paragraph && self.inline.is_empty() && self.children.is_empty()
    }

    /// Whether `other` says the same in its own lines.
    pub(super) fn same_own(&self, other: &Self) -> bool {
        self.kind == other.kind && self.inline == other.inline
    }
}

/// Whether two forests say the same.
pub(super) fn same_trees(a: &[Node], b: &[Node]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_own(b) && same_trees(&a.children, &b.children))
}

/// Numbers the nodes in preorder and gives how many there are.
pub(super) fn number(nodes: &mut [Node]) -> usize {
    fn walk(nodes: &mut [Node], next: &mut usize) {
        for node in nodes {
            node.index = *next;
            *next += 1;
            walk(&mut node.children, next);
        }
    }
    let mut next = 0;
    walk(nodes, &mut next);
    next
}

/// A hash for telling candidates; equality is always checked afterwards.
pub(super) fn own_hash(kind: &Kind, inline: &Inline) -> u64 {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    kind.hash(&mut hasher);
    inline.hash(&mut hasher);
    hasher.finish()
}

/// FNV-1a over words: the same on every run and machine.
pub(super) struct Fnv(pub u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
        for &byte in chunks.remainder() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        let mut hash = self.0;
        hash ^= hash >> 32;
        hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
        hash ^ (hash >> 32)
    }
}
