//! Pages as they are and as they were: what `log`, `diff`, `restore` and `undo` share. It reads the state and the
//! files, beside a daemon or without one, and changes nothing.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::canvases::{Canvases, is_canvas};
use super::session;
use crate::config::Config;
use crate::daemon;
use crate::engine::{allowed_in, blocks_in, in_own_words, items_in};
use crate::markdown::{self, Allowed, front_matter};
use crate::mirror;
use crate::model::{
    Blocks, ContentHash, DiskError, MirrorPath, Node, PageId, PageSettings, Put, Stamp, Timestamp, folder_of,
    read_json,
};
use crate::plan::naming;
use crate::store::differing::has_differing_items;
use crate::store::{Loaded, ReadOnly, Side, Store, StoreError, Version};

/// The state, and the folder it is about.
pub struct Past<'a> {
    config: &'a Config,
    state: ReadOnly,
    /// The three trees.
    pub loaded: Loaded,
    /// Since when the folder is an older copy, while the user has not chosen.
    pub older_since: Option<Timestamp>,
}

/// A page's file as it is now.
pub struct Present {
    /// What names its bytes.
    pub hash: ContentHash,
    /// All of it.
    pub text: String,
    /// What it stands for.
    pub blocks: Blocks,
}

impl Present {
    /// The Markdown, without the front matter.
    #[must_use]
    pub fn body(&self) -> &str {
        body_of(&self.text)
    }

    /// The front matter, as it stands.
    #[must_use]
    pub fn front(&self) -> &str {
        &self.text[..self.text.len() - self.body().len()]
    }
}

/// Whether `path` is the page or folder at `place`, or beneath it.
#[must_use]
pub fn is_of(place: &MirrorPath, path: &MirrorPath) -> bool {
    path.is_within(place) || folder_of(place).is_some_and(|folder| path.is_within(&folder))
}

/// Whether a place may be a page's or a folder of pages: espejo keeps no versions of anything else.
#[must_use]
pub fn may_have_versions(place: &MirrorPath) -> bool {
    let is_elsewhere =
        place.components().next().is_some_and(|top| ["Storage", "Presentations"].contains(&top));
    !is_elsewhere && !place.name().ends_with(".canvas")
}

fn opened(config: &Config) -> Result<ReadOnly> {
    ReadOnly::open(&config.state_dir)?.context("there is no mirror yet: run espejo sync or espejo run first")
}

impl<'a> Past<'a> {
    /// What the config says of pages.
    #[must_use]
    pub fn page_settings(&self) -> &PageSettings {
        &self.config.pages
    }

    /// Opens the state.
    ///
    /// # Errors
    /// One sentence, when there is none or it cannot be read.
    pub fn open(config: &'a Config) -> Result<Self> {
        let mut state = opened(config)?;
        let loaded = state.load()?;
        let older_since = state.store().folder_is_old()?;
        Ok(Self { config, state, loaded, older_since })
    }

    /// As [`Past::open`], without the pages whose files hold what was agreed, as far as their stamps tell. Most are.
    ///
    /// # Errors
    /// As [`Past::open`].
    pub fn open_differing(config: &'a Config) -> Result<Self> {
        let mut state = opened(config)?;
        let mut stamps = mirror::Stamps::open(&config.root);
        let loaded = state.load_differing(|path, stamp| stamps.of(path) == Some(stamp))?;
        let older_since = state.store().folder_is_old()?;
        Ok(Self { config, state, loaded, older_since })
    }

    /// Whether a canvas or a stored file may differ from what was agreed; `has_stamp` looks at the file.
    ///
    /// # Errors
    /// One sentence, when the state cannot be read.
    pub fn has_differing_items(&self, has_stamp: impl FnMut(&MirrorPath, Stamp) -> bool) -> Result<bool> {
        Ok(has_differing_items(&self.state, has_stamp)?)
    }

    /// A path of the mirror as it can be typed anywhere.
    #[must_use]
    pub fn typed(&self, path: &MirrorPath) -> String {
        super::output::shell_word(&self.config.root.join(path.as_str()).to_string_lossy())
    }

    /// The store, for reading.
    #[must_use]
    pub fn store(&self) -> &Store {
        self.state.store()
    }

    /// The pages whose files may say something that the page does not.
    ///
    /// # Errors
    /// One sentence, when they cannot be read.
    pub fn says_more(&self) -> Result<BTreeSet<PageId>> {
        Ok(self.state.says_more()?)
    }

    /// Keeps what a file held in the mirror's trash, before it is replaced.
    ///
    /// # Errors
    /// One sentence, when it cannot be kept.
    pub fn keep(&self, place: &MirrorPath, bytes: &[u8]) -> Result<()> {
        let id =
            self.state.meta("mirror_id")?.context("the state has no mirror yet; run espejo sync first")?;
        mirror::trash::keep_bytes(&self.config.root, &id, place, bytes, daemon::wall_now())
            .with_context(|| format!("{place} stays as it is, because its bytes cannot be kept"))
    }

    /// What a person typed, as a page's place in the mirror; `.md` may be left out. The mirror itself is its root.
    ///
    /// # Errors
    /// One sentence, when it is not in the mirror.
    pub fn place(&self, typed: &Path) -> Result<MirrorPath> {
        let place = session::place(self.config, typed)?;
        let with_ending = place.parent().and_then(|up| up.join(&format!("{}.md", place.name())).ok());
        match with_ending {
            Some(page) if place.page_stem().is_none() => {
                let known = self.page_at(&page).is_some() || !self.store().versions_at(&page)?.is_empty();
                Ok(if known { page } else { place })
            }
            _ => Ok(place),
        }
    }

    /// As [`Past::place`], where one page is meant.
    ///
    /// # Errors
    /// One sentence, when it is not in the mirror, or all of it.
    pub fn one_place(&self, typed: &Path) -> Result<MirrorPath> {
        let place = self.place(typed)?;
        if place.is_root() {
            let root = self.config.root.display();
            bail!("{root} is the mirror itself; name a file in it, as espejo list shows them");
        }
        Ok(place)
    }

    /// A place at which something is, or was as far as the state knows.
    ///
    /// # Errors
    /// One sentence, when nothing is known of it.
    pub fn known(&self, place: &MirrorPath) -> Result<()> {
        let is_there = || self.config.root.join(place.as_str()).symlink_metadata().is_ok();
        let is_known = || {
            Ok::<_, StoreError>(
                self.page_at(place).is_some()
                    || self.store().is_above_versions(place)?
                    || !self.store().versions_at(place)?.is_empty()
                    || self.store().acts_after(0)?.iter().any(|act| act.path.is_within(place)),
            )
        };
        if !place.is_root() && !is_there() && !is_known()? {
            bail!(
                "there is nothing at {place}, and the log has nothing of it; espejo list shows what is mirrored"
            );
        }
        Ok(())
    }

    /// The page whose file is here, or was when it was last seen.
    #[must_use]
    pub fn page_at(&self, place: &MirrorPath) -> Option<&Node> {
        let nodes = || self.loaded.pages.values();
        nodes()
            .find(|node| node.file.as_ref() == Some(place))
            .or_else(|| nodes().find(|node| node.file.is_none() && base_path(node) == Some(place)))
    }

    /// Every version of what is, or was, at a place, oldest first.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn versions(&self, place: &MirrorPath) -> Result<Vec<Version>> {
        if is_canvas(place) {
            return Canvases::open(self)?.versions(place);
        }
        let here = self.page_at(place).map(|node| node.id.clone());
        let at_place = self.store().versions_at(place)?;
        let mut pages: BTreeSet<_> = at_place.iter().filter_map(|version| version.page.clone()).collect();
        if here.is_some() {
            // Whatever stood here and lives elsewhere now is not meant.
            pages.retain(|id| !self.loaded.pages.contains_key(id));
            pages.extend(here);
        }
        let mut all: Vec<Version> = at_place.into_iter().filter(|version| version.page.is_none()).collect();
        for page in pages {
            all.extend(self.store().versions_of(&page)?);
        }
        all.sort_by_key(|version| version.number);
        Ok(all)
    }

    /// A page's file as it is now; `None` where there is none.
    ///
    /// # Errors
    /// One sentence, when it cannot be read or is no text.
    pub fn present(&self, place: &MirrorPath) -> Result<Option<Present>> {
        let bytes = match mirror::peek(&self.config.root, place) {
            Ok(bytes) => bytes,
            Err(DiskError::Missing(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let hash = ContentHash::of(&bytes);
        let text = String::from_utf8(bytes)
            .map_err(|_| anyhow::anyhow!("{place} is not UTF-8 text; repair it, or move it away"))?;
        let node = self.page_at(place);
        let blocks = self.meaning(node, &text, hash)?;
        Ok(Some(Present { hash, text, blocks }))
    }

    /// What a text stands for as the file of a page.
    fn meaning(&self, node: Option<&Node>, text: &str, hash: ContentHash) -> Result<Blocks> {
        let base = node.and_then(|node| node.base.as_ref());
        if let Some(base) = base
            && base.text == Some(hash)
        {
            return self.body(base.body);
        }
        if let Some(json) = self.store().meaning_of(hash)? {
            return Ok(read_json(&json)?);
        }
        let known = base.map(|base| self.body(base.body)).transpose()?.unwrap_or_default();
        self.parsed(node, text, known)
    }

    /// The blocks of a text, with the ids and props of the blocks in `known` that it still shows.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn parsed(&self, node: Option<&Node>, text: &str, known: Blocks) -> Result<Blocks> {
        let (known, allowed) = self.terms(node, text, known)?;
        Ok(markdown::parse_taking(body_of(text), known, &allowed, &mut new_id))
    }

    /// As [`Past::parsed`], with the text taken at its word: nothing in it is a formatter's work.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn at_its_word(&self, node: &Node, text: &str, known: Blocks) -> Result<Blocks> {
        let (known, allowed) = self.terms(Some(node), text, known)?;
        Ok(markdown::parse_literally(body_of(text), &known, &allowed, &mut new_id))
    }

    /// The file's text with the page's word where the file was taken for formatting. `known` are the page's blocks.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn settled(&self, node: &Node, text: &str, known: &Blocks) -> Result<String> {
        let allowed = allowed_in(self.store(), &node.workspace, &self.config.pages.blocks)?;
        let body = body_of(text);
        Ok(text[..text.len() - body.len()].to_owned() + &markdown::settled(body, known, &allowed))
    }

    /// What a text is read with: the blocks that are known, with those that stand in it as one line each, and what may be in it.
    fn terms(&self, node: Option<&Node>, text: &str, mut known: Blocks) -> Result<(Blocks, Allowed)> {
        let body = body_of(text);
        let allowed = match node {
            Some(node) => allowed_in(self.store(), &node.workspace, &self.config.pages.blocks)?,
            None => Allowed::named(&self.config.pages.blocks),
        };
        if let Some(node) = node {
            let shown = blocks_in(self.store(), &node.workspace, body, &known)?;
            markdown::add_stand_ins(&mut known, shown);
            let items = items_in(self.store(), &node.workspace, body)?;
            return Ok((known, allowed.with_items(items)));
        }
        Ok((known, allowed))
    }

    /// A body that the state has.
    ///
    /// # Errors
    /// When it is not there, or cannot be read.
    pub fn body(&self, hash: ContentHash) -> Result<Blocks> {
        if let Some(json) = self.store().content(hash)? {
            return Ok(read_json(&json)?);
        }
        self.store().body(hash)?.context("a version of the page is missing from the state")
    }

    /// The text that the history has under a hash; `None` where it has none, or its bytes are no text.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn kept_text(&self, hash: ContentHash) -> Result<Option<String>> {
        Ok(self.store().content(hash)?.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// The file's text of a version, where it was read from a file.
    ///
    /// # Errors
    /// When it cannot be read or is no text.
    pub fn text(&self, version: &Version) -> Result<Option<String>> {
        let Some(hash) = version.text else { return Ok(None) };
        let Some(bytes) = self.store().content(hash)? else { return Ok(None) };
        let text = String::from_utf8(bytes);
        Ok(Some(text.map_err(|_| anyhow::anyhow!("version #{} is not UTF-8 text", version.number))?))
    }

    /// The bytes of a file as they are now.
    ///
    /// # Errors
    /// [`DiskError::Missing`] where there is none, or why it cannot be read.
    pub fn bytes(&self, place: &MirrorPath) -> Result<Vec<u8>, DiskError> {
        mirror::peek(&self.config.root, place)
    }

    /// The words that a version says, in order, whichever side it comes from.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn words(&self, version: &Version) -> Result<Vec<String>> {
        if let Some(body) = version.body {
            return Ok(words_of(&self.body(body)?));
        }
        let Some(hash) = version.text else { return Ok(Vec::new()) };
        // A file that held no text still has a past.
        let Ok(text) = String::from_utf8(self.store().content(hash)?.unwrap_or_default()) else {
            return Ok(Vec::new());
        };
        Ok(match &version.path {
            Some(path) => words_in(path, &text),
            None => page_words(&text),
        })
    }

    /// A version as the text of a file: with the lines of `present` wherever it says the same.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn as_file(&self, version: &Version, present: Option<&Present>) -> Result<String> {
        if let Some(text) = self.text(version)? {
            return Ok(text);
        }
        let Some(body) = version.body else { bail!("version #{} is empty", version.number) };
        let blocks = self.body(body)?;
        Ok(match present {
            Some(present) => {
                present.front().to_owned() + &markdown::patch(present.body(), &present.blocks, &blocks)
            }
            None => {
                let page = version.page.as_ref();
                let own = page.map(|page| in_own_words(self.store(), page, &blocks)).transpose()?.flatten();
                own.unwrap_or_else(|| markdown::render(&blocks).text)
            }
        })
    }

    /// What puts a version into the file at `place`, where the page that it is of has its file, or had it.
    ///
    /// # Errors
    /// One sentence, when the version cannot be a page's text.
    pub fn put(&self, version: &Version, place: &MirrorPath, present: Option<&Present>) -> Result<Put> {
        let node = self.page_at(place);
        let mut text = self.as_file(version, present)?;
        let mut body = version.body.map(|body| self.body(body)).transpose()?;
        if let (None, Some(old)) = (node, &body) {
            // A new page has blocks of its own: the trashed one may come back in the app.
            let new = markdown::with_new_ids(old, &mut new_id);
            let start = front_matter::split(&text).map_or(0, |split| split.body_start);
            text = text[..start].to_owned() + &markdown::patch(&text[start..], old, &new);
            body = Some(new);
        }
        let front = |text: &str, id: Option<&str>, title: Option<&str>, icon: Option<&str>| {
            let is_ours = self.owns_id_in(text)?;
            front_matter::set_beside(text, id, title, icon, &|_| is_ours)
                .map_err(|error| anyhow::anyhow!("version #{}: {error}", version.number))
        };
        let said = |text: &str| Some(front_matter::split(text).ok()?.front.unwrap_or_default());
        let title = said_title(place, &version.title);
        let text = match (present.and_then(|present| said(&present.text)), node) {
            // Which page it is, and what it is called, stays as it is now.
            (Some(now), _) => {
                let text_now = present.map_or("", |present| &present.text);
                let is_ours = now.own_id.is_some() || self.owns_id_in(text_now)?;
                let id = now.named().filter(|_| is_ours);
                front(&text, id, now.title.as_deref(), now.icon.as_deref())?
            }
            (None, Some(node)) => {
                let title = said_title(place, &node.remote.title);
                front(&text, Some(node.id.as_str()), title, node.remote.icon.as_deref())?
            }
            (None, None) => front(&text, None, title, None)?,
        };
        Ok(Put::Text {
            path: place.clone(),
            expect: present.map(|present| present.hash),
            text,
            body,
            why: None,
        })
    }

    /// The text that a page's file held when both sides last agreed.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn agreed_text(&self, node: &Node) -> Result<Option<String>> {
        let Some(base) = &node.base else { return Ok(None) };
        if let Some(bytes) = base.text.map(|hash| self.store().content(hash)).transpose()?.flatten() {
            return Ok(String::from_utf8(bytes).ok());
        }
        let blocks = self.body(base.body)?;
        let own = in_own_words(self.store(), &node.id, &blocks)?;
        let text = own.unwrap_or_else(|| markdown::render(&blocks).text);
        let title = base.front_title.as_deref().or(said_title(&base.path, &base.title));
        let (id, icon, is_ours) = (Some(node.id.as_str()), base.icon.as_deref(), self.owns_id_in(&text)?);
        Ok(front_matter::set_beside(&text, id, title, icon, &|_| is_ours).ok())
    }

    /// Whether an `id` in a text's front matter is a page's, and not another program's.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub fn owns_id_in(&self, text: &str) -> Result<bool> {
        let id = front_matter::split(text).ok().and_then(|split| split.front?.id);
        let Some(id) = id.filter(|id| !id.is_empty()) else { return Ok(true) };
        let Ok(id) = PageId::new(&id) else { return Ok(false) };
        Ok(self.loaded.pages.contains_key(&id) || !self.store().versions_of(&id)?.is_empty())
    }
}

/// A page's text without its front matter.
fn body_of(text: &str) -> &str {
    front_matter::split(text).map_or(text, |split| split.body)
}

/// Where a page's file is, or was when both sides last agreed.
#[must_use]
pub fn base_path(node: &Node) -> Option<&MirrorPath> {
    node.file.as_ref().or(node.base.as_ref().map(|base| &base.path))
}

/// The title that the front matter must say because the name cannot.
fn said_title<'t>(place: &MirrorPath, title: &'t str) -> Option<&'t str> {
    let says = place.page_stem().is_some_and(|stem| naming::still_says(stem, title));
    (!says).then_some(title)
}

/// What a version is called: the hash of its text, or of its body.
#[must_use]
pub fn name_of(version: &Version) -> ContentHash {
    let file = version.text.filter(|_| version.side != Side::Service);
    file.or(version.body).or(version.text).unwrap_or(ContentHash([0; 32]))
}

/// The words of blocks, in order.
#[must_use]
pub fn words_of(blocks: &[serde_json::Value]) -> Vec<String> {
    fn walk(value: &serde_json::Value, words: &mut Vec<String>) {
        match value {
            serde_json::Value::Array(items) => items.iter().for_each(|item| walk(item, words)),
            serde_json::Value::Object(map) => {
                if let Some(text) = map.get("text").and_then(serde_json::Value::as_str) {
                    words.extend(text.split_whitespace().map(str::to_owned));
                }
                map.iter().filter(|(key, _)| *key != "props").for_each(|(_, value)| walk(value, words));
            }
            _ => {}
        }
    }
    let mut words = Vec::new();
    blocks.iter().for_each(|block| walk(block, &mut words));
    words
}

/// The words of a file: of a page without its front matter, or of a canvas.
#[must_use]
pub fn words_in(path: &MirrorPath, text: &str) -> Vec<String> {
    if is_canvas(path) { crate::canvas::words(text) } else { page_words(text) }
}

fn page_words(text: &str) -> Vec<String> {
    words_of(&markdown::parse(body_of(text), &[], &Allowed::all(), &mut String::new))
}

/// An id for a new block.
pub fn new_id() -> String {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&daemon::fresh_seed()[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}
