//! Blocks to the plain tree: what Markdown can say of them.
//!
//! Every block becomes exactly one node, in the same order, so that a node's place names its block. A block whose
//! shape is not the expected one becomes a placeholder; nothing is ever refused.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::ops::Range;

use serde_json::{Map, Value};

use super::columns::Columns;
use super::plain::{self, CODE, Fnv, ITEM, Inline, Kind, Link, Node, STYLES, What};
use super::shapes;

/// The plain tree of some blocks.
pub(super) struct Lowered<'a> {
    /// The tree.
    pub nodes: Vec<Node>,
    /// The block of each node, by `Node::index`.
    pub values: Vec<&'a Value>,
    /// Inline items without Markdown, by label.
    pub items: BTreeMap<String, &'a Value>,
    /// Whether any block has no Markdown.
    pub strange: bool,
}

impl Lowered<'_> {
    /// What has to do with columns in the blocks it was made from: a column has no Markdown.
    pub(super) fn columns(&self, blocks: &[Value]) -> Columns {
        if self.strange { Columns::of(blocks) } else { Columns::default() }
    }

    /// How many empty paragraphs stand at the page's end, where they show nowhere.
    pub(super) fn trailing(&self) -> usize {
        self.nodes.len() - shown(&self.nodes).len()
    }

    /// The labels of its inline items.
    pub(super) fn labels(&self) -> BTreeSet<String> {
        self.items.keys().cloned().collect()
    }
}

/// A page's nodes without the empty paragraphs at its end.
pub(super) fn shown(nodes: &[Node]) -> &[Node] {
    &nodes[..nodes.iter().rposition(|node| !node.is_void()).map_or(0, |last| last + 1)]
}

/// Lowers a page's blocks.
pub(super) fn lower(blocks: &[Value]) -> Lowered<'_> {
    let mut walk = Walk { values: Vec::with_capacity(blocks.len()), ..Walk::default() };
    let nodes = walk.level(blocks, 0);
    Lowered { nodes, values: walk.values, items: walk.items, strange: !walk.labels.is_empty() }
}

/// The plain tree of blocks that were let go.
#[derive(Default)]
pub(super) struct Alone {
    /// The tree.
    pub nodes: Vec<Node>,
    /// The labels of its inline items.
    pub items: BTreeSet<String>,
    /// The id of each node's block, by `Node::index`.
    pub ids: Vec<Option<Box<str>>>,
}

/// Lowers a page's blocks one after the other and lets go of each.
pub(super) fn lower_one_by_one(blocks: impl Iterator<Item = Value>) -> Alone {
    let (mut alone, mut labels, mut counting) = (Alone::default(), BTreeSet::new(), false);
    for block in blocks {
        let mut walk = Walk { before: alone.ids.len(), labels, ..Walk::default() };
        alone.nodes.push(walk.sibling(&block, 0, &mut counting));
        alone.ids.extend(walk.values.iter().map(|block| id_of(block).map(Box::from)));
        alone.items.extend(walk.items.into_keys());
        labels = walk.labels;
    }
    mark_blank(&mut alone.nodes);
    alone
}

impl Alone {
    /// Puts other blocks in the place of the top blocks in `range`, none of which may have a label. Returns `false`, and
    /// changes nothing, if the rest of the page may show something else beside them: labels are made unique in a page,
    /// and numbered lists go on. The nodes' indices and ids are lost.
    pub(super) fn replace(&mut self, range: Range<usize>, after: &[Value]) -> bool {
        let is_number = |node: Option<&Node>| node.is_some_and(|node| matches!(node.kind, Kind::Number(_)));
        let mut counting = is_number(self.nodes[..range.start].last());
        let Some(after) = lower_unlabelled(after, &mut counting) else { return false };
        let was_counting = is_number(self.nodes[..range.end].last());
        if is_number(self.nodes.get(range.end)) && was_counting != counting {
            return false;
        }
        self.nodes.splice(range, after);
        self.nodes.iter_mut().for_each(|node| node.blank = false);
        mark_blank(&mut self.nodes);
        self.ids.clear();
        true
    }
}

/// The nodes of some blocks, if nothing in them has a label. `counting` as for [`Walk::sibling`].
pub(super) fn lower_unlabelled(blocks: &[Value], counting: &mut bool) -> Option<Vec<Node>> {
    let mut walk = Walk::default();
    let nodes: Vec<Node> = blocks.iter().map(|block| walk.sibling(block, 0, counting)).collect();
    (walk.labels.is_empty() && walk.items.is_empty()).then_some(nodes)
}

pub(super) fn id_of(block: &Value) -> Option<&str> {
    quick(block.as_object()?, "id")?.as_str()
}

#[derive(Default)]
pub(super) struct Walk<'a> {
    /// Blocks that were lowered and let go.
    before: usize,
    values: Vec<&'a Value>,
    items: BTreeMap<String, &'a Value>,
    labels: BTreeSet<String>,
}

impl<'a> Walk<'a> {
    fn level(&mut self, blocks: &'a [Value], depth: usize) -> Vec<Node> {
        let mut nodes = Vec::with_capacity(blocks.len());
        let mut counting = false;
        for block in blocks {
            nodes.push(self.sibling(block, depth, &mut counting));
        }
        mark_blank(&mut nodes);
        nodes
    }

    /// The next block of a level; `counting` while the ones before it are items of a numbered list.
    fn sibling(&mut self, block: &'a Value, depth: usize, counting: &mut bool) -> Node {
        let mut node = self.block(block, depth);
        if let Kind::Number(start) = &mut node.kind {
            // The editor counts on through neighbours and looks at `start` only in the first.
            if *counting {
                *start = None;
            }
            *counting = true;
        } else {
            *counting = false;
        }
        node
    }

    fn block(&mut self, block: &'a Value, depth: usize) -> Node {
        let index = self.before + self.values.len();
        self.values.push(block);
        let keys = Keys::of(block);
        let mut node = self.own(&keys).unwrap_or_else(|| Node::new(self.placeholder(block), 0..0));
        node.index = index;
        if let Some(Value::Array(children)) = keys.children {
            if depth + 1 < plain::DEPTH_MAX {
                if !children.is_empty() {
                    node.children = self.level(children, depth + 1);
                }
            } else if !children.is_empty() {
                // Deeper than can be shown: the whole of it stays behind one line.
                node = Node::new(self.placeholder(block), 0..0);
                node.index = index;
                node.sealed = true;
            }
        } else if !block.is_object() || keys.children.is_some_and(|children| !children.is_null()) {
            node.sealed = true;
        }
        node
    }

    /// The block's own kind and text; `None` when it has no Markdown.
    fn own(&mut self, keys: &Keys<'a>) -> Option<Node> {
        if !matches!(keys.children, None | Some(Value::Null | Value::Array(_))) {
            return None;
        }
        let empty = Map::new();
        let props = match keys.props {
            None => &empty,
            Some(props) => props.as_object()?,
        };
        let kind = match keys.kind?.as_str()? {
            "paragraph" => Kind::Paragraph,
            "heading" => Kind::Heading(level(quick(props, "level"))),
            "bulletListItem" => Kind::Bullet,
            "numberedListItem" => Kind::Number(start(quick(props, "start"))),
            "checkListItem" => Kind::Check(is_on(quick(props, "checked"))),
            "toggleListItem" => Kind::Toggle,
            "quote" => Kind::Quote,
            other => {
                let (kind, inline) = shapes::lower(other, props, keys.content, self)?;
                let mut node = Node::new(kind, 0..0);
                node.inline = inline;
                return Some(node);
            }
        };
        let mut node = Node::new(kind, 0..0);
        node.inline = self.content(keys.content)?;
        settle_breaks(&mut node.inline, !matches!(node.kind, Kind::Heading(_)));
        Some(node)
    }

    /// Runs to inline text; `None` for a shape that is none.
    pub(super) fn content(&mut self, content: Option<&'a Value>) -> Option<Inline> {
        let mut inline = Inline::default();
        match content {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => push_text(&mut inline, text, 0, &What::Text),
            Some(Value::Array(runs)) => {
                if runs.len() > 1 {
                    // One allocation for what most pages hold.
                    inline.marks.reserve_exact(runs.len());
                    inline.text.reserve(32 * runs.len());
                }
                for run in runs {
                    self.run(&mut inline, run)?;
                }
            }
            Some(_) => return None,
        }
        Some(inline)
    }

    fn run(&mut self, inline: &mut Inline, run: &'a Value) -> Option<()> {
        if let Value::String(text) = run {
            push_text(inline, text, 0, &What::Text);
            return Some(());
        }
        let object = run.as_object()?;
        let [kind, text, styles] = values_of(object, ["type", "text", "styles"]);
        match kind?.as_str()? {
            "text" => push_text(inline, text?.as_str()?, style(styles)?, &What::Text),
            "link" => match link(object) {
                Some((what, texts)) => {
                    for (text, style) in texts {
                        push_text(inline, text, style, &what);
                    }
                }
                None => self.item(inline, "link", run),
            },
            other => self.item(inline, other, run),
        }
        Some(())
    }

    fn item(&mut self, inline: &mut Inline, kind: &str, run: &'a Value) {
        let label = format!("#{}-{:08x}", name(kind, "item"), short_hash(run));
        inline.push(ITEM.encode_utf8(&mut [0; 4]), 0, &What::Item(label.as_str().into()));
        self.items.insert(label, run);
    }

    /// `TYPE ID`, or `TYPE #hash` where the id cannot stand in a comment or is taken.
    fn placeholder(&mut self, block: &Value) -> Kind {
        let (kind, id) = type_and_id(block);
        let mut label = format!("{kind} {id}");
        if !fits_comment(id) || self.labels.contains(&label) {
            let hash = short_hash(block);
            label = format!("{kind} #{hash:08x}");
            let mut copy = 2;
            while self.labels.contains(&label) {
                label = format!("{kind} #{hash:08x}.{copy}");
                copy += 1;
            }
        }
        self.labels.insert(label.clone());
        Kind::Placeholder(label.into())
    }
}

fn type_and_id(block: &Value) -> (String, &str) {
    let text = |key| block.get(key).and_then(Value::as_str).unwrap_or("");
    (name(text("type"), "unknown"), text("id"))
}

fn fits_comment(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= 128
        && !id.ends_with('-')
        && id.bytes().all(|b| b > b' ' && b != b'>' && b != b'<' && b != 127)
}

/// How often each id is there.
pub(super) fn ids<'a>(values: &[&'a Value]) -> BTreeMap<&'a str, usize> {
    let mut ids = BTreeMap::new();
    for id in values.iter().filter_map(|block| block.get("id")?.as_str()) {
        *ids.entry(id).or_insert(0) += 1;
    }
    ids
}

/// The label of a block that has Markdown but is written as a placeholder: like that of one that has none, but told
/// from the block and its place alone, so that it is found again without writing the page.
pub(super) fn stand_in(block: &Value, index: usize, ids: &BTreeMap<&str, usize>) -> String {
    let (kind, id) = type_and_id(block);
    if fits_comment(id) && ids.get(id) == Some(&1) {
        return format!("{kind} {id}");
    }
    format!("{kind} #{:08x}@{index}", short_hash(block))
}

/// See [`mark_blank`], at every level.
pub(super) fn mark_blank_all(nodes: &mut [Node]) {
    mark_blank(nodes);
    nodes.iter_mut().for_each(|node| mark_blank_all(&mut node.children));
}

/// Marks the empty paragraphs that blank lines can say: those with a sibling that shows on both sides.
fn mark_blank(nodes: &mut [Node]) {
    let Some(last) = nodes.iter().rposition(|node| !node.is_void()) else { return };
    let mut begun = false;
    for node in &mut nodes[..last] {
        node.blank = begun && node.is_void();
        begun = true;
    }
}

/// The address and text of a link; `None` when it has no text or its address cannot stand in one line.
fn link(object: &Map<String, Value>) -> Option<(What, Vec<(&str, u8)>)> {
    let href = object.get("href")?.as_str()?;
    if href.chars().any(|c| c.is_control()) || href.starts_with('#') && href.len() > 9 && is_label(href) {
        return None;
    }
    let mut texts = Vec::new();
    match object.get("content")? {
        Value::String(text) => texts.push((text.as_str(), 0)),
        Value::Array(runs) => {
            for run in runs {
                let run = run.as_object()?;
                if run.get("type")?.as_str()? != "text" {
                    return None;
                }
                texts.push((run.get("text")?.as_str()?, style(run.get("styles"))?));
            }
        }
        _ => return None,
    }
    if texts.iter().all(|(text, _)| text.is_empty()) {
        return None;
    }
    Some((What::Link(Box::new(Link { href: href.to_owned(), title: String::new() })), texts))
}

/// Whether an address looks like the label of an inline item (`#type-0123abcd`).
pub(super) fn is_label(href: &str) -> bool {
    let Some((kind, hash)) = href.strip_prefix('#').and_then(|rest| rest.rsplit_once('-')) else {
        return false;
    };
    !kind.is_empty() && hash.len() == 8 && hash.bytes().all(|b| b.is_ascii_hexdigit())
}

fn style(styles: Option<&Value>) -> Option<u8> {
    match styles {
        None | Some(Value::Null) => Some(0),
        Some(Value::Object(styles)) => Some(documented_bits(styles)),
        Some(_) => None,
    }
}

/// The documented styles that are on.
pub(super) fn documented_bits(styles: &Map<String, Value>) -> u8 {
    let mut bits = 0;
    for (key, on) in styles {
        if *on == Value::Bool(true) {
            bits |= STYLES.iter().find(|(name, _)| name == key).map_or(0, |(_, bit)| *bit);
        }
    }
    bits
}

/// An entry of a small object: looking at each key is quicker than hashing one.
pub(super) fn quick<'v>(object: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    if object.len() > 8 {
        return object.get(key);
    }
    object.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// The entries of a small object. Mostly they stand in this order; else one walk over the few keys is quicker than a look-up
/// of each.
fn values_of<'v, const N: usize>(object: &'v Map<String, Value>, keys: [&str; N]) -> [Option<&'v Value>; N] {
    let mut values = [None; N];
    for (at, (key, value)) in object.iter().enumerate() {
        let is_there = keys.get(at).is_some_and(|expected| key == expected);
        let at = if is_there { Some(at) } else { keys.iter().position(|expected| key == expected) };
        if let Some(at) = at {
            values[at] = Some(value);
        }
    }
    values
}

/// What a block says under the keys that matter; all empty for what is no object.
#[derive(Default)]
struct Keys<'a> {
    kind: Option<&'a Value>,
    props: Option<&'a Value>,
    content: Option<&'a Value>,
    children: Option<&'a Value>,
}

impl<'a> Keys<'a> {
    fn of(block: &'a Value) -> Self {
        let mut keys = Self::default();
        for (key, value) in block.as_object().into_iter().flatten() {
            match key.as_str() {
                "type" => keys.kind = Some(value),
                "props" => keys.props = Some(value),
                "content" => keys.content = Some(value),
                "children" => keys.children = Some(value),
                _ => {}
            }
        }
        keys
    }
}

/// Adds text as far as Markdown can say it: NUL cannot be said at all, a carriage return not inside code.
pub(super) fn push_text(inline: &mut Inline, text: &str, style: u8, what: &What) {
    // The least of all bytes is found quicker than the first of some.
    if text.bytes().fold(u8::MAX, u8::min) > b'\r' || !text.contains(['\0', '\r']) {
        inline.push(text, style, what);
        return;
    }
    for c in text.chars() {
        let (c, style) = match c {
            '\0' => ('\u{fffd}', style),
            '\r' => ('\r', style & !CODE),
            c => (c, style),
        };
        inline.push(c.encode_utf8(&mut [0; 4]), style, what);
    }
}

/// Gives every line break the style that Markdown can show on it: the one that its neighbours share. A single break
/// may also keep the style of one neighbour (`exact`), which has a spelling of its own.
pub(super) fn settle_breaks(inline: &mut Inline, exact: bool) {
    if !inline.text.contains('\n') || inline.marks.len() == 1 && inline.marks[0].style == 0 {
        return;
    }
    let mut chars: Vec<(char, u8, usize)> = Vec::with_capacity(inline.text.len());
    for (index, (text, mark)) in inline.stretches().enumerate() {
        chars.extend(text.chars().map(|c| (c, mark.style, index)));
    }
    let whats: Vec<What> = inline.marks.iter().map(|mark| mark.what.clone()).collect();
    let mut out = Inline::default();
    let mut at = 0;
    while at < chars.len() {
        let (c, style, mark) = chars[at];
        if c != '\n' {
            out.push(c.encode_utf8(&mut [0; 4]), style, &whats[mark]);
            at += 1;
            continue;
        }
        let from = at;
        while at < chars.len() && chars[at].0 == '\n' {
            at += 1;
        }
        let before = from.checked_sub(1).map(|i| &chars[i]);
        let after = chars.get(at);
        let shared = match (before, after) {
            (Some(a), Some(b)) => a.1 & b.1,
            (Some(a), None) | (None, Some(a)) => a.1,
            (None, None) => 0,
        };
        let what = match (before, after) {
            (Some(a), Some(b)) if whats[a.2] == whats[b.2] => &whats[a.2],
            (Some(a), None) | (None, Some(a)) => &whats[a.2],
            _ => &What::Text,
        };
        let what = if matches!(what, What::Item(_)) { &What::Text } else { what };
        let shared = if matches!(what, What::Text) { shared } else { shared & !CODE | shared & CODE };
        let one = exact && at - from == 1 && before.is_some() && after.is_some();
        let kept = one && (before.is_some_and(|a| a.1 == style) || after.is_some_and(|b| b.1 == style));
        let kept = kept && matches!(what, What::Text) && matches!(whats[mark], What::Text);
        for _ in from..at {
            out.push("\n", if kept { style } else { shared }, what);
        }
    }
    *inline = out;
}

fn level(value: Option<&Value>) -> u8 {
    let number = match value {
        Some(Value::Number(number)) => number.as_f64().unwrap_or(1.0),
        Some(Value::String(text)) => text.trim().parse().unwrap_or(1.0),
        _ => 1.0,
    };
    match number {
        n if n >= 6.0 => 6,
        n if n >= 5.0 => 5,
        n if n >= 4.0 => 4,
        n if n >= 3.0 => 3,
        n if n >= 2.0 => 2,
        _ => 1,
    }
}

/// A number that an ordered list can begin with; 1 needs no saying.
pub(super) fn start(value: Option<&Value>) -> Option<u64> {
    value?.as_u64().filter(|&n| n != 1 && n <= 999_999_999)
}

fn is_on(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Bool(on)) => *on,
        Some(Value::Number(number)) => number.as_f64().is_some_and(|n| n != 0.0),
        Some(Value::String(text)) => text == "true",
        _ => false,
    }
}

/// A name reduced to what is safe in a comment or an address.
fn name(text: &str, default: &str) -> String {
    let safe: String = text
        .chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .collect();
    let safe = safe.trim_matches('-').replace("--", "-_");
    if safe.is_empty() { default.to_owned() } else { safe }
}

fn short_hash(value: &Value) -> u32 {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    value.hash(&mut hasher);
    let hash = hasher.finish();
    (hash ^ (hash >> 32)) as u32
}
