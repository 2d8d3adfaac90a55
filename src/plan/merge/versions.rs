//! The three versions of a page, read for a merge: a page of thousands of blocks mostly says the same in all three, and
//! what is the same is not parsed.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::{Blocks, BodyJson, ContentHash, block_ids, parts, read_json};

/// Three versions of a page. A top-level block that all three have, byte for byte, is in each list as a stand-in that has
/// nothing but its id. The merge cannot tell: it compares blocks with each other, and knows them by their ids.
#[derive(Debug)]
pub struct Versions<'a> {
    /// What both sides had in common.
    pub base: Blocks,
    /// What the service has.
    pub remote: Blocks,
    /// What the user has.
    pub local: Blocks,
    /// The JSON behind each stand-in, by id.
    whole: BTreeMap<String, &'a str>,
}

/// The ids in a block, of which everything else is skipped.
#[derive(Debug, Deserialize)]
struct Ids<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(default, borrow)]
    children: Vec<Ids<'a>>,
}

impl<'a> Versions<'a> {
    /// Reads three contents.
    ///
    /// # Errors
    /// The parser's error, if one of them was not printed by [`BodyJson::of`].
    pub fn read(base: &'a BodyJson, remote: &'a BodyJson, local: &'a BodyJson) -> serde_json::Result<Self> {
        match Self::condensed([base, remote, local]) {
            Some(versions) => Ok(versions),
            None => Ok(Self {
                base: base.blocks()?,
                remote: remote.blocks()?,
                local: local.blocks()?,
                whole: BTreeMap::new(),
            }),
        }
    }

    /// With stand-ins; `None` if ids do not tell all blocks apart.
    fn condensed(bodies: [&'a BodyJson; 3]) -> Option<Self> {
        let [base, remote, local] = bodies.map(|body| parts_of(body.as_str()));
        let lists = [base?, remote?, local?];
        let mut times: BTreeMap<&str, [u8; 3]> = BTreeMap::new();
        for (version, parts) in lists.iter().enumerate() {
            for part in parts {
                let times = &mut times.entry(part).or_default()[version];
                *times = times.saturating_add(1);
            }
        }
        let (mut whole, mut seen) = (BTreeMap::new(), BTreeSet::new());
        for part in lists.first()?.iter().filter(|part| times.get(**part) == Some(&[1; 3])) {
            let Ok(ids) = serde_json::from_str::<Ids<'_>>(part) else { continue };
            if !ids.are_new(&mut seen) {
                return None;
            }
            whole.insert(ids.id.into_owned(), *part);
        }
        let stood_for: BTreeMap<&str, &str> = whole.iter().map(|(id, part)| (*part, id.as_str())).collect();
        let read = |parts: &[&str]| -> Option<Blocks> {
            let stand_in_or_block = |part: &&str| match stood_for.get(part) {
                Some(id) => Some(json!({ "id": id })),
                None => read_json(part.as_bytes()).ok(),
            };
            parts.iter().map(stand_in_or_block).collect()
        };
        let [base, remote, local] = [read(&lists[0])?, read(&lists[1])?, read(&lists[2])?];
        let versions = Self { base, remote, local, whole };
        let all = [&versions.base, &versions.remote, &versions.local].into_iter().flatten();
        let is_apart = all
            .filter(|block| versions.behind(block).is_none())
            .all(|block| block_ids(std::slice::from_ref(block)).iter().all(|id| !seen.contains(*id)));
        is_apart.then_some(versions)
    }

    /// Whether stand-ins are in the lists.
    #[must_use]
    pub fn has_stand_ins(&self) -> bool {
        !self.whole.is_empty()
    }

    /// The blocks of a list that are no stand-ins.
    #[must_use]
    pub fn without_stand_ins(&self, blocks: &[Value]) -> Blocks {
        blocks.iter().filter(|block| self.behind(block).is_none()).cloned().collect()
    }

    /// The content that consists of these blocks, with what each stand-in stands for.
    #[must_use]
    pub fn print(&self, blocks: &[Value]) -> BodyJson {
        let mut json = String::from("[");
        for block in blocks {
            if json.len() > 1 {
                json.push(',');
            }
            match self.behind(block) {
                Some(part) => json.push_str(part),
                None => json.push_str(&block.to_string()),
            }
        }
        json.push(']');
        json.shrink_to_fit();
        BodyJson::known(ContentHash::of(json.as_bytes()), json)
    }

    fn behind(&self, block: &Value) -> Option<&'a str> {
        let object = block.as_object().filter(|object| object.len() == 1)?;
        self.whole.get(object.get("id")?.as_str()?).copied()
    }
}

impl Ids<'_> {
    /// Adds all ids; `false` if one of them is empty or there already.
    fn are_new(&self, seen: &mut BTreeSet<String>) -> bool {
        !self.id.is_empty()
            && seen.insert(self.id.as_ref().to_owned())
            && self.children.iter().all(|child| child.are_new(seen))
    }
}

/// The JSON of each top-level block.
fn parts_of(json: &str) -> Option<Vec<&str>> {
    let parts = parts::elements(json.as_bytes())?.ok()?;
    parts.into_iter().map(|part| std::str::from_utf8(part).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::merge::merge;

    fn block(id: &str, text: &str, children: &[Value]) -> Value {
        json!({ "id": id, "type": "paragraph", "content": text, "children": children })
    }

    /// What is parsed of a page of a hundred blocks in each version.
    fn parsed(edit: [&dyn Fn(&mut Blocks); 3]) -> [usize; 3] {
        let page: Blocks =
            (0..100).map(|n| block(&format!("b{n}"), "a", &[block(&format!("c{n}"), "b", &[])])).collect();
        let bodies = edit.map(|edit| {
            let mut page = page.clone();
            edit(&mut page);
            BodyJson::of(&page)
        });
        let [base, remote, local] = &bodies;
        let versions = Versions::read(base, remote, local).unwrap();
        let [was, theirs, ours] = bodies.each_ref().map(|body| body.blocks().unwrap());
        let whole = merge(&was, &theirs, &ours);
        let found = merge(&versions.base, &versions.remote, &versions.local);
        assert_eq!(found.collisions, whole.collisions);
        assert_eq!(versions.print(&found.blocks), BodyJson::of(&whole.blocks));
        [&versions.base, &versions.remote, &versions.local].map(|all| versions.without_stand_ins(all).len())
    }

    #[test]
    fn only_what_some_version_says_differently_is_parsed() {
        let nothing = |_: &mut Blocks| {};
        assert_eq!(parsed([&nothing, &nothing, &nothing]), [0; 3]);
        let first = |page: &mut Blocks| page[0]["content"] = json!("theirs");
        let last = |page: &mut Blocks| {
            page[99]["content"] = json!("ours");
            page.insert(50, block("new", "c", &[]));
        };
        assert_eq!(parsed([&nothing, &first, &last]), [2, 2, 3]);
        let moved = |page: &mut Blocks| page.rotate_left(7);
        assert_eq!(parsed([&nothing, &moved, &last]), [1, 1, 2]);
        let nested = |page: &mut Blocks| {
            let block = page.remove(3);
            page[7]["children"] = json!([block]);
        };
        assert_eq!(parsed([&nothing, &nested, &last]), [3, 2, 4]);
    }

    #[test]
    fn a_page_whose_ids_do_not_tell_its_blocks_apart_is_parsed_whole() {
        let nothing = |_: &mut Blocks| {};
        let doubled = |page: &mut Blocks| page[99] = block("x", "", &[block("c5", "d", &[])]);
        assert_eq!(parsed([&nothing, &nothing, &doubled]), [100; 3]);
        assert_eq!(parsed([&doubled, &doubled, &doubled]), [100; 3]);
        // A block without an id is parsed, and is no reason to parse the others.
        let nameless = |page: &mut Blocks| page[9] = json!({ "type": "paragraph", "content": "d" });
        assert_eq!(parsed([&nameless, &nameless, &nameless]), [1; 3]);
    }
}
