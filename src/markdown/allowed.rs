//! Which constructs may be created although the API document does not describe them (law 5).

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::lower::is_label;
use crate::model::DOCUMENTED;

/// What may be created: the documented constructs, and those that were named or seen.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    everything: bool,
    named: BTreeSet<String>,
    learned: Learned,
    items: BTreeMap<String, Value>,
}

/// What pages of a workspace showed. It only grows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Learned {
    types: BTreeMap<String, Seen>,
    inline: BTreeSet<String>,
    styles: BTreeSet<String>,
    start: bool,
    quote_alignment: Option<bool>,
}

/// How a block type looks in this workspace.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Seen {
    /// The props of the first one seen.
    pub props: Map<String, Value>,
    /// Whether it had no `content` key.
    pub no_content: bool,
}

/// Every name that [`Allowed::named`] does something with, besides the documented types.
const NAMES: [&str; 10] =
    ["all", "audio", "codeBlock", "divider", "file", "image", "link", "start", "table", "video"];

impl Allowed {
    /// The first name of a list that nothing can be created for, with the names there are.
    #[must_use]
    pub fn unknown(names: &[String]) -> Option<(&str, &'static [&'static str])> {
        let is_known = |name: &str| NAMES.contains(&name) || DOCUMENTED.contains(&name);
        names.iter().map(String::as_str).find(|name| !is_known(name)).map(|name| (name, &NAMES[..]))
    }

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

    /// The same for a text in which these labels stand for inline items of its workspace: they are themselves in any page.
    #[must_use]
    pub fn with_items(mut self, items: BTreeMap<String, Value>) -> Self {
        self.items = items;
        self
    }

    /// Whether a link with this address has the form of an inline item that the workspace has. A type that was never seen
    /// there makes it an address like any other.
    #[must_use]
    pub fn is_form_of_item(&self, label: &str) -> bool {
        let kind =
            label.strip_prefix('#').and_then(|rest| rest.rsplit_once('-')).map_or("", |(kind, _)| kind);
        is_label(label) && self.learned.inline.contains(kind)
    }

    /// The inline items that a text may name beside those of its page, by their labels.
    pub(super) fn items(&self) -> &BTreeMap<String, Value> {
        &self.items
    }

    /// Adds what a page of this workspace shows; whether anything of it is new.
    pub fn learn(&mut self, blocks: &[Value]) -> bool {
        let before = self.learned.extent();
        self.learned.learn(blocks);
        self.learned.extent() != before
    }

    /// All that was learned, as JSON: a summary, which does not grow with the number of blocks.
    #[must_use]
    pub fn summary(&self) -> String {
        serde_json::json!(self.learned).to_string()
    }

    /// Takes up an earlier summary in place of all that was learned.
    ///
    /// # Errors
    /// What is wrong with the JSON, if it is no summary.
    pub fn take_up(&mut self, summary: &str) -> serde_json::Result<()> {
        self.learned = serde_json::from_str(summary)?;
        Ok(())
    }

    /// Whether a block of this type may be made.
    pub(super) fn block(&self, kind: &str) -> bool {
        self.everything
            || DOCUMENTED.contains(&kind)
            || self.named.contains(kind)
            || self.learned.types.contains_key(kind)
    }

    /// Whether an inline item of this type may be made.
    pub(super) fn inline(&self, kind: &str) -> bool {
        kind == "text" || self.learned.inline.contains(kind) || kind == "link" && self.link()
    }

    /// Whether links may be made.
    pub(super) fn link(&self) -> bool {
        self.everything || self.named.contains("link") || self.learned.inline.contains("link")
    }

    /// Whether a run may have this style.
    pub(super) fn style(&self, key: &str) -> bool {
        is_documented(key) || self.learned.styles.contains(key)
    }

    /// Whether an ordered list may begin with another number than 1.
    pub(super) fn start(&self) -> bool {
        self.everything || self.learned.start || self.named.contains("start")
    }

    /// Whether quotes carry a `textAlignment`: the API document says so, and a workspace may show otherwise.
    pub(super) fn quote_alignment(&self) -> bool {
        self.learned.quote_alignment.unwrap_or(true)
    }

    /// How a block of this type looks here.
    pub(super) fn seen(&self, kind: &str) -> Option<&Seen> {
        self.learned.types.get(kind)
    }
}

impl Learned {
    /// Differs whenever something was added.
    fn extent(&self) -> (usize, usize, usize, bool, Option<bool>) {
        (self.types.len(), self.inline.len(), self.styles.len(), self.start, self.quote_alignment)
    }

    fn learn(&mut self, blocks: &[Value]) {
        for block in blocks {
            self.learn_block(block);
        }
    }

    fn learn_block(&mut self, block: &Value) {
        let (mut kind, mut props, mut content) = (None, None, None);
        for (key, value) in block.as_object().into_iter().flatten() {
            match key.as_str() {
                "type" => kind = value.as_str(),
                "props" => props = value.as_object(),
                "content" => content = Some(value),
                "children" => self.learn(value.as_array().map_or(&[], |children| children)),
                _ => {}
            }
        }
        let Some(kind) = kind else { return };
        let has = |key| props.is_some_and(|props| props.contains_key(key));
        match kind {
            "quote" if self.quote_alignment != Some(true) => {
                self.quote_alignment = Some(has("textAlignment"))
            }
            "numberedListItem" if !self.start => self.start = has("start"),
            _ => {}
        }
        if !DOCUMENTED.contains(&kind) && !self.types.contains_key(kind) {
            let seen = Seen { props: props.cloned().unwrap_or_default(), no_content: content.is_none() };
            self.types.insert(kind.to_owned(), seen);
        }
        match content {
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
            for (key, value) in run.as_object().into_iter().flatten() {
                match (key.as_str(), value) {
                    ("type", Value::String(kind)) if kind != "text" && !self.inline.contains(kind) => {
                        self.inline.insert(kind.clone());
                    }
                    ("styles", Value::Object(styles)) => {
                        for key in styles.keys().filter(|key| !is_documented(key)) {
                            if !self.styles.contains(key) {
                                self.styles.insert(key.clone());
                            }
                        }
                    }
                    ("content", Value::Array(runs)) => self.learn_runs(runs),
                    _ => {}
                }
            }
        }
    }
}

/// What may be created beside a base. Most edits never ask, so the base is looked at when one does.
pub(super) struct Known<'a> {
    allowed: &'a Allowed,
    base: &'a [Value],
    both: OnceCell<Allowed>,
    /// Whether nothing in the text is taken for a formatter's work.
    literally: bool,
}

impl<'a> Known<'a> {
    /// What is allowed, and what `base` shows.
    pub(super) fn new(allowed: &'a Allowed, base: &'a [Value]) -> Self {
        Self { allowed, base, both: OnceCell::new(), literally: false }
    }

    /// The same for a text that is taken at its word.
    pub(super) fn literally(allowed: &'a Allowed, base: &'a [Value]) -> Self {
        Self { literally: true, ..Self::new(allowed, base) }
    }

    /// See [`Allowed::with_items`].
    pub(super) fn items(&self) -> &'a BTreeMap<String, Value> {
        self.allowed.items()
    }

    /// Whether the text is taken at its word.
    pub(super) fn is_literal(&self) -> bool {
        self.literally
    }

    /// Both of it.
    pub(super) fn get(&self) -> &Allowed {
        self.both.get_or_init(|| {
            let mut both = self.allowed.clone();
            both.learn(self.base);
            both
        })
    }
}

fn is_documented(style: &str) -> bool {
    super::plain::STYLES.iter().any(|(name, _)| *name == style)
}
