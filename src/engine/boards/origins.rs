//! The origins of copied nodes: a copied file or node keeps the ids of its source elements, and these ids lead to the
//! properties that JSON Canvas cannot express.

use std::collections::BTreeSet;

use crate::canvas::{self, Aliases, Origins};
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::model::{CanvasId, ContentHash, Elements, id_of};
use crate::store::StoreError;

impl Boards {
    /// The elements of other canvases whose ids the nodes of this file have. They are computed once for each content
    /// of the file, so that a copy stays a copy while the first of its nodes are created.
    pub(super) fn origins_of(
        &mut self,
        canvas: &CanvasId,
        text: &str,
        hash: ContentHash,
        base: &Elements,
        names: &Aliases,
        cx: &Context,
    ) -> Result<Origins, StoreError> {
        if let Some((_, found)) = self.runtime_of(canvas).origins.as_ref().filter(|(of, _)| *of == hash) {
            return Ok(found.clone());
        }
        let ids = canvas::strange_ids(text, base, names);
        let mut found = Origins::new();
        if !ids.is_empty() {
            for other in self.canvases.values().filter(|other| other.id != *canvas) {
                let agreed = other.base.as_ref().map(|base| base.elements);
                let seen = other.remote.filter(|seen| Some(*seen) != agreed);
                for element in [agreed, seen].into_iter().flatten().map(|hash| cx.store.elements(hash)) {
                    let theirs = element?.into_iter().map(|element| (id_of(&element).to_owned(), element));
                    found.extend(theirs.filter(|(id, _)| ids.contains(id)));
                }
            }
        }
        for id in ids {
            // The element of a node that was cut out of another file, or of a file that comes back, is gone already.
            if !found.contains_key(&id)
                && let Some((_, element)) = cx.store.buried(&id)?
            {
                found.insert(id, element);
            }
        }
        self.runtime_of(canvas).origins = Some((hash, found.clone()));
        Ok(found)
    }

    /// The canvas itself, the canvases that it was copied from, and their sources. A copy holds their nodes, and none
    /// of its own until new ids are written into the file; nodes that the API cannot create stay for ever.
    pub(super) fn copied_from(
        &self,
        canvas: &CanvasId,
        cx: &Context,
    ) -> Result<BTreeSet<CanvasId>, StoreError> {
        let mut from = BTreeSet::from([canvas.clone()]);
        let mut next = vec![canvas.clone()];
        while let Some(names) = next.pop().map(|canvas| self.names.get(&canvas)) {
            let Some(names) = names else { continue };
            for other in self.canvases.values().filter(|other| other.base.is_some()) {
                let theirs = cx.elements_at(other.base.as_ref().map(|base| base.elements))?;
                let is_copied = theirs.iter().any(|element| names.contains_key(id_of(element)));
                if is_copied && from.insert(other.id.clone()) {
                    next.push(other.id.clone());
                }
            }
        }
        Ok(from)
    }

    /// Whether the file of a canvas that this one was copied from is at its place.
    pub(super) fn original_is_here(&self, canvas: &CanvasId, cx: &Context) -> Result<bool, StoreError> {
        let from = self.copied_from(canvas, cx)?;
        let mut others = from.iter().filter(|id| *id != canvas).filter_map(|id| self.canvases.get(id));
        Ok(others.any(|other| other.file.is_some()))
    }
}
