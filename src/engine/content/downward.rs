//! Changes that come down while nothing may go up: in a workspace that the user mirrors down only, in a frozen one, and
//! in one where the service forbids writes. The user's edits stay in the file, and changes from the app are merged into
//! it. Collisions are kept in a conflict copy, as always.

use std::sync::Arc;

use crate::core::items::Verb;
use crate::engine::state::retry::was_forbidden;
use crate::engine::state::{Context, Pages, Purpose, Trees, Watching, Written, named};
use crate::markdown::{self, front_matter};
use crate::model::{
    Agreed, BodyJson, ContentHash, Effect, Expect, FileRead, Hold, LocalFile, Node, PageId, Settings,
    WorkspaceId, WorkspaceMode, guarded, semantically_equal,
};
use crate::plan::{merge, place};
use crate::store::{PendingWrite, StoreError, blocks_of};

/// A file's text with the front matter that its page needs.
pub(crate) struct Fronted {
    pub(crate) text: String,
    pub(crate) front_title: Option<Arc<str>>,
    pub(crate) claims: Option<PageId>,
}

/// Whether a change of a page in a workspace is not sent: an edit, a new file, a new name, a deletion.
pub(crate) fn stays_here(pages: &Pages, workspace: &WorkspaceId) -> bool {
    let is_its = |id: &PageId| pages.trees.pages.get(id).is_some_and(|node| node.workspace == *workspace);
    let is_new = || {
        let new = pages.trees.untracked_files.iter();
        new.filter_map(|path| pages.trees.layout().workspace_at(path)).any(|at| at == *workspace)
    };
    pages.held.keys().any(is_its) || is_new()
}

impl Pages {
    /// Merges the service's changes into a file with edits that may not be sent. The edits stay in the file.
    pub(crate) fn merge_down(
        &mut self,
        node: &Node,
        (base, file): (&Agreed, &LocalFile),
        look: &FileRead,
        watch: &mut Watching,
        cx: &mut Context,
    ) -> Result<Option<(Effect, Purpose)>, StoreError> {
        let page = &node.id;
        let hash = ContentHash::of(&look.bytes);
        let says = self.parsed(page, file).map(|parsed| parsed.content.clone());
        let (Some(says), Some(remote)) = (says, node.remote.body) else { return Ok(None) };
        let Ok(text) = std::str::from_utf8(&look.bytes) else { return Ok(None) };
        let Ok(split) = front_matter::split(text) else { return Ok(None) };
        let (agreed, theirs) = (cx.store.named_body(base.body)?, cx.store.named_body(remote)?);
        let ours = blocks_of(&says)?;
        let merged = guarded(|| merge::merge(&agreed, &theirs, &ours))?;
        if let Some(first) = merged.collisions.first()
            && self.runtime(page).copied.as_deref() != Some(&hash)
            && !cx.store.conflicts()?.iter().any(|conflict| conflict.text == hash)
        {
            self.keep_present(&look.path, &look.bytes, cx)?;
            return Ok(self.trees.copy_of(page, &look.path, look, merge::collision_summary(first), cx));
        }
        let own = (!semantically_equal(&merged.blocks, &theirs)).then(|| BodyJson::of(&merged.blocks));
        if let Some(own) = &own {
            cx.store.keep_body_json(own);
        }
        let is_edited = own.is_some();
        let to = if is_edited { &merged.blocks } else { &theirs };
        let allowed = self.allowed_in(&node.workspace, cx)?;
        let out = text[..split.body_start].to_owned()
            + &guarded(|| markdown::patch_for(split.body, &ours, to, &allowed))?;
        let own_icon = split.front.as_ref().and_then(|front| front.icon.as_ref());
        let front = (own_icon, split.front.is_some());
        let Some(fronted) = self.fronted(node, (base, file), front, out, cx) else { return Ok(None) };
        let written = Written {
            text: ContentHash::of(fronted.text.as_bytes()),
            body: remote,
            icon: node.remote.icon.clone(),
            front_title: fronted.front_title,
            claims: fronted.claims,
            new: false,
            own,
        };
        if written.text == hash {
            self.written(page, &look.path, written, look.stamp, watch, cx);
            return Ok(None);
        }
        let writing =
            PendingWrite { page: page.clone(), text: written.text, body: remote, icon: written.icon.clone() };
        cx.keep_replaced(&look.bytes);
        cx.store.save_writing(&writing);
        self.pending_writes.insert(page.clone(), writing);
        if is_edited {
            // The text keeps edits that are not sent: it is not the text of the base, whatever the mode is at the next
            // start.
            let unlike = |node: &mut Node| node.base.iter_mut().for_each(|base| base.text = None);
            self.edit_page(page, unlike, cx);
        }
        let purpose = Purpose::Write { page: page.clone(), path: look.path.clone(), written };
        let (path, expect) = (look.path.clone(), Expect::Content(hash));
        Ok(Some((Effect::WriteFile { path, bytes: fronted.text.into_bytes(), expect }, purpose)))
    }

    /// Gives a file's text the front matter that its page needs; `None` if that cannot be written. `front`: the icon in
    /// the file's front matter, and whether the file has any.
    pub(crate) fn fronted(
        &mut self,
        node: &Node,
        (base, file): (&Agreed, &LocalFile),
        (own_icon, has_front): (Option<&String>, bool),
        text: String,
        cx: &mut Context,
    ) -> Option<Fronted> {
        let path = self.trees.layout().belongs(node).unwrap_or_else(|| file.path.clone());
        let front_title = place::wanted_front_title(file, &path, &node.remote.title);
        // An icon that the user wrote stays until the app has another one. The user was told that it cannot be sent.
        let icon = own_icon
            .filter(|own| base.icon == node.remote.icon && base.icon.as_deref() != Some(own.as_str()));
        let icon = icon.map(String::as_str).or(node.remote.icon.as_deref());
        if file.claims.is_none() && front_title.is_none() && icon.is_none() && !has_front {
            return Some(Fronted { text, front_title, claims: None });
        }
        match named::set(&text, &node.id, front_title.as_deref(), icon, (&self.trees, &cx.store)) {
            Ok(text) => Some(Fronted { text, front_title, claims: Some(node.id.clone()) }),
            Err(error) => {
                self.park(&node.id, Hold::Unwritable(error.to_string()), cx);
                None
            }
        }
    }
}

impl Trees {
    /// Whether the user mirrors a workspace down only.
    pub(crate) fn is_down(&self, workspace: &WorkspaceId, settings: &Settings) -> bool {
        self.workspaces.get(workspace).is_some_and(|node| {
            let mut modes = settings.modes.iter().filter(|(name, _)| node.is_called(name));
            modes.any(|(_, mode)| *mode == WorkspaceMode::Down)
        })
    }

    /// Whether an act on a page may be sent: its workspace takes changes, and the service does not forbid the verb.
    pub(crate) fn may(&self, node: &Node, verb: Verb, cx: &Context) -> bool {
        self.read_only(&node.workspace, &cx.settings).is_none()
            && self.forbidden.may(&node.workspace, verb, was_forbidden(node, verb), cx.now)
    }
}
