//! Columns: the one place where the editor says what may be a child of what (its columns' list holds columns alone).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::every_place;

const LIST: &str = "columnList";
const COLUMN: &str = "column";

/// A block and what it is a child of: the types of both, and their ids.
type Place = [Option<String>; 4];

/// Where blocks stand that have to do with columns; for most pages nowhere.
#[derive(Debug, Default)]
pub(super) struct Columns(BTreeSet<Place>);

impl Columns {
    /// Those of a page.
    pub(super) fn of(page: &[Value]) -> Self {
        let concerns = |above: Option<&Value>, block| {
            is(block, COLUMN) || is(block, LIST) || above.is_some_and(|above| is(above, LIST))
        };
        let known = every_place(page).filter(|(above, block)| concerns(*above, block));
        Self(known.map(|(above, block)| place(above, block)).collect())
    }

    /// Puts what was written beside columns into the one before it, or else the one behind it: the editor could not load
    /// it there.
    pub(super) fn settle(&self, blocks: &mut [Value]) {
        if self.0.is_empty() {
            return;
        }
        for block in blocks {
            let above = (is(block, LIST), block.get("id").cloned());
            let Some(Value::Array(children)) = block.get_mut("children") else { continue };
            self.settle(children);
            if let (true, id) = above {
                let list = serde_json::json!({"type": LIST, "id": id});
                self.settle_list(&list, children);
            }
        }
    }

    fn settle_list(&self, list: &Value, children: &mut Vec<Value>) {
        if !children.iter().any(|child| is(child, COLUMN)) {
            return;
        }
        let mut early = Vec::new();
        for child in std::mem::take(children) {
            let fits = is(&child, COLUMN) || self.0.contains(&place(Some(list), &child));
            match children.iter_mut().rev().find_map(inside) {
                _ if fits => children.push(child),
                Some(column) => column.push(child),
                None => early.push(child),
            }
        }
        if let Some(column) = children.iter_mut().find_map(inside) {
            column.splice(..0, early);
        } else {
            children.splice(..0, early);
        }
    }

    /// Whether columns and their list stand as the editor demands; what was there before may stay.
    ///
    /// # Errors
    /// What does not, and the mend.
    pub(super) fn check(&self, above: Option<&Value>, block: &Value) -> Result<(), String> {
        let in_list = above.is_some_and(|above| is(above, LIST));
        if in_list == is(block, COLUMN) || self.0.contains(&place(above, block)) {
            Ok(())
        } else if in_list {
            Err("a block is beside the columns of a page; put it into one of them".to_owned())
        } else {
            Err("a column is outside its column list; put its lines back there".to_owned())
        }
    }
}

fn place(above: Option<&Value>, block: &Value) -> Place {
    let of = |block: Option<&Value>, key| Some(block?.get(key)?.as_str()?.to_owned());
    [of(above, "type"), of(Some(block), "type"), of(above, "id"), of(Some(block), "id")]
}

fn is(block: &Value, kind: &str) -> bool {
    block.get("type").is_some_and(|own| own == kind)
}

/// What a column holds.
fn inside(block: &mut Value) -> Option<&mut Vec<Value>> {
    if is(block, COLUMN) { block.get_mut("children")?.as_array_mut() } else { None }
}
