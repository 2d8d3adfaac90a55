//! Blocks for the benches that need a workspace.

use serde_json::{Value, json};

/// A paragraph as the service's editor makes it.
pub(crate) fn paragraph(id: &str, text: &str) -> Value {
    let props = json!({ "backgroundColor": "default", "textColor": "default", "textAlignment": "left" });
    let run = json!({ "type": "text", "text": text, "styles": {} });
    json!({ "id": id, "type": "paragraph", "props": props, "content": [run], "children": [] })
}
