//! Content of a file that its page cannot have. The user is told once, or until file and page agree.

use crate::engine::content::stand_ins::blocks_in;
use crate::engine::content::text::JSON_OF_TEXT;
use crate::engine::state::{Context, Offload, Root, Trees, named};
use crate::markdown;
use crate::markdown::front_matter::Split;
use crate::model::{Attention, BodyJson, Code, LocalFile, MirrorPath, Node, guarded};
use crate::store::{StoreError, blocks_of};

/// A notice with this lifetime is shown until it is over: a hundred years.
const LASTS_MS: i64 = 100 * 365 * 24 * 3_600_000;

impl Trees {
    /// Reports that an icon in a file is not sent (API document, "PATCH /pages/:id": title and content).
    pub(crate) fn tell_of_icon(&self, file: &LocalFile, icon: Option<String>, root: &Root, cx: &mut Context) {
        let node = file.page.as_ref().and_then(|id| self.pages.get(id));
        let is_known = match node {
            Some(node) => {
                let agreed = node.base.as_ref().and_then(|base| base.icon.as_deref());
                icon.is_none() || icon.as_deref() == node.remote.icon.as_deref() || icon.as_deref() == agreed
            }
            // The file's page will be known in a moment.
            None => icon.is_none() || root.bootstrap || named::page_in(file, self).is_some(),
        };
        if is_known {
            return;
        }
        let why = "its icon stays in this file: the API cannot set a page's icon".to_owned();
        cx.notice(Code::OnlyHere, file.path.as_str(), why, "set it in the app");
    }
}

impl Offload {
    /// Reports each line of a file that its page cannot have, until file and page agree or the file is saved again.
    pub(crate) fn tell_differences(
        &self,
        node: &Node,
        path: &MirrorPath,
        text: &str,
        split: &Split<'_>,
        content: &BodyJson,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        // A long file would take too much of a turn; `diff` compares it.
        if self.is_long(split.body.len() * JSON_OF_TEXT) {
            cx.store.set_says_more(&node.id, true);
            return Ok(());
        }
        let above = split.lines_above(text);
        let mut blocks = blocks_of(content)?;
        // In a file that became another page, a line names its block by the id that the block had in the page before.
        let stand_ins = blocks_in(&cx.store, &node.workspace, split.body, &blocks)?;
        markdown::add_stand_ins(&mut blocks, stand_ins);
        let differences = guarded(|| markdown::told(split.body, &blocks))?;
        cx.store.set_says_more(&node.id, !differences.is_empty());
        for mut told in differences {
            told.line += above;
            let (code, shown) = match told.what.lasts() {
                true => (Code::Difference, cx.now.plus_ms(LASTS_MS)),
                false => (Code::OnlyHere, cx.now),
            };
            let notice = Attention::new(code, path.as_str(), told.to_string(), told.what.mend());
            cx.store.add_notice(&notice, shown);
        }
        Ok(())
    }
}
