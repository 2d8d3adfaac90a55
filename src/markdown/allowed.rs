//! Which constructs may be created although the API document does not describe them (law 5).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// The documented block types, which may always be created.
pub(super) const DOCUMENTED: [&str; 7] = [
    "paragraph",
    "heading",
    "bulletListItem",
    "numberedListItem",
    "checkListItem",
    "toggleListItem",
    "quote",
];

/// What may be created: the documented constructs, and those that were named or seen.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    everything: bool,
    types: BTreeMap<String, Seen>,
    named: BTreeSet<String>,
    inline: BTreeSet<String>,
    styles: BTreeSet<String>,
    start: bool,
    quote_alignment: bool,
}

/// How a block type looks in this workspace.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The props of the first one seen.
    pub props: Map<String, Value>,
    /// Whether it had no `content` key.
    pub no_content: bool,
}

impl Allowed {
    /// Only what the API document describes.
    #[must_use]
    pub fn documented() -> Self {
        Self::default()
    }

    /// Every construct that this crate knows the shape of.
    #[must_use]
    pub fn all() -> Self {
        Self { everything: true, ..Self::default() }
    }

    /// The documented constructs and the named block types; `link` names links, `start` the first number of a list,
    /// and `all` everything.
    #[must_use]
    pub fn named(names: &[String]) -> Self {
        if names.iter().any(|name| name == "all") {
            return Self::all();
        }
        Self { named: names.iter().cloned().collect(), ..Self::default() }
    }

    /// Adds what a page of this workspace shows.
    pub fn learn(&mut self, blocks: &[Value]) {
        let mut todo: Vec<&Value> = blocks.iter().collect();
        while let Some(block) = todo.pop() {
            if let Some(Value::Array(children)) = block.get("children") {
                todo.extend(children);
            }
            self.learn_block(block);
        }
    }

    fn learn_block(&mut self, block: &Value) {
        let Some(kind) = block.get("type").and_then(Value::as_str) else { return };
        let props = block.get("props").and_then(Value::as_object);
        let has = |key| props.is_some_and(|props| props.contains_key(key));
        match kind {
            "quote" if has("textAlignment") => self.quote_alignment = true,
            "numberedListItem" if has("start") => self.start = true,
            _ => {}
        }
        if !DOCUMENTED.contains(&kind) && !self.types.contains_key(kind) {
            let seen = Seen {
                props: props.cloned().unwrap_or_default(),
                no_content: block.get("content").is_none(),
            };
            self.types.insert(kind.to_owned(), seen);
        }
        match block.get("content") {
            Some(Value::Array(runs)) => self.learn_runs(runs),
            Some(Value::Object(table)) => {
                let rows = table.get("rows").and_then(Value::as_array).into_iter().flatten();
                for cell in rows.filter_map(|row| row.get("cells")?.as_array()).flatten() {
                    let runs = cell.as_array().or_else(|| cell.get("content")?.as_array());
                    runs.into_iter().for_each(|runs| self.learn_runs(runs));
                }
            }
            _ => {}
        }
    }

    fn learn_runs(&mut self, runs: &[Value]) {
        for run in runs {
            let Some(kind) = run.get("type").and_then(Value::as_str) else { continue };
            if kind != "text" && !self.inline.contains(kind) {
                self.inline.insert(kind.to_owned());
            }
            if let Some(Value::Object(styles)) = run.get("styles") {
                for key in
                    styles.keys().filter(|key| !self.styles.contains(*key)).cloned().collect::<Vec<_>>()
                {
                    self.styles.insert(key);
                }
            }
            if let Some(Value::Array(runs)) = run.get("content") {
                self.learn_runs(runs);
            }
        }
    }

    /// Whether a block of this type may be made.
    pub(super) fn block(&self, kind: &str) -> bool {
        self.everything
            || DOCUMENTED.contains(&kind)
            || self.named.contains(kind)
            || self.types.contains_key(kind)
    }

    /// Whether an inline item of this type may be made.
    pub(super) fn inline(&self, kind: &str) -> bool {
        kind == "text" || self.inline.contains(kind) || kind == "link" && self.link()
    }

    /// Whether links may be made.
    pub(super) fn link(&self) -> bool {
        self.everything || self.named.contains("link") || self.inline.contains("link")
    }

    /// Whether a run may have this style.
    pub(super) fn style(&self, key: &str) -> bool {
        super::plain::STYLES.iter().any(|(name, _)| *name == key) || self.styles.contains(key)
    }

    /// Whether an ordered list may begin with another number than 1.
    pub(super) fn start(&self) -> bool {
        self.everything || self.start || self.named.contains("start")
    }

    /// Whether quotes of this workspace carry a `textAlignment`.
    pub(super) fn quote_alignment(&self) -> bool {
        self.quote_alignment
    }

    /// How a block of this type looks here.
    pub(super) fn seen(&self, kind: &str) -> Option<&Seen> {
        self.types.get(kind)
    }
}
