//! A dashboard's magnets (API document, "nevera object") as elements, for a canvas file and a picture that are only
//! looked at: the magnets are read-only through the API.

use serde_json::{Value, json};

use crate::model::Elements;

/// Pixels in a column of the 12-column grid, and in a row of it.
const CELL: f64 = 80.0;
const GAP: f64 = 8.0;

/// The magnets as elements, in their order.
#[must_use]
pub fn magnets(nevera: &Value) -> Elements {
    let list = nevera.get("imanes").and_then(Value::as_array);
    list.into_iter().flatten().enumerate().map(|(index, magnet)| element(nevera, magnet, index)).collect()
}

fn element(nevera: &Value, magnet: &Value, index: usize) -> Value {
    let id = magnet.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
    let number = |key: &str| magnet.get(key).and_then(Value::as_f64).filter(|n| n.is_finite()).unwrap_or(0.0);
    let size = |key: &str| (number(key).max(0.25) * CELL - GAP).max(8.0);
    let kind = magnet.get("tipo").and_then(Value::as_str).unwrap_or("?");
    let words = match kind {
        "texto" => {
            let blocks = id.and_then(|id| nevera.get("textos")?.get(id)?.as_array());
            blocks.map_or_else(String::new, |blocks| plain(blocks))
        }
        "reloj" => "🕑 reloj".to_owned(),
        "imagen" => "🖼 imagen".to_owned(),
        "secciones" => "☰ secciones".to_owned(),
        other => other.to_owned(),
    };
    let colour = magnet.get("tono").and_then(Value::as_str).map(tone);
    json!({
        "id": id.map_or_else(|| format!("magnet-{}", index + 1), str::to_owned),
        "type": "sticky",
        "x": number("x") * CELL,
        "y": number("y") * CELL,
        "width": size("w"),
        "height": size("h"),
        "content": words,
        "style": { "color": colour.unwrap_or_else(|| "#e2e8f0".to_owned()) },
    })
}

/// A tone's colour. The document has no list of tones: Spanish names of the app's palette are known here, and CSS.
fn tone(name: &str) -> String {
    match name {
        "amarillo" => "#fde68a",
        "verde" => "#bbf7d0",
        "azul" => "#bfdbfe",
        "rosa" => "#fbcfe8",
        "rojo" => "#fecaca",
        "morado" | "violeta" | "lila" => "#ddd6fe",
        "naranja" => "#fed7aa",
        "blanco" => "#ffffff",
        "gris" => "#e2e8f0",
        css => css,
    }
    .to_owned()
}

/// The words of blocks, one line for each; children indented.
fn plain(blocks: &[Value]) -> String {
    let mut lines = Vec::new();
    let mut left: Vec<(usize, &Value)> = blocks.iter().rev().map(|block| (0, block)).collect();
    while let Some((depth, block)) = left.pop() {
        let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
        let mark = match kind {
            "bulletListItem" | "numberedListItem" | "toggleListItem" => "• ",
            "checkListItem" if block.pointer("/props/checked") == Some(&json!(true)) => "☑ ",
            "checkListItem" => "☐ ",
            _ => "",
        };
        let runs = block.get("content").and_then(Value::as_array).into_iter().flatten();
        let words: String = runs.filter_map(|run| run.get("text").and_then(Value::as_str)).collect();
        lines.push(format!("{}{mark}{words}", "  ".repeat(depth)));
        let children = block.get("children").and_then(Value::as_array).into_iter().flatten();
        let below: Vec<_> = children.map(|child| (depth + 1, child)).collect();
        left.extend(below.into_iter().rev());
    }
    lines.join("\n")
}
