//! What colleagues do in the meantime: the n-th act is the same in every world that is the same.

use serde_json::{Value, json};

use super::super::pages::PageRecord;
use super::super::world::World;
use super::TEAM_SLUG;
use crate::model::{Blocks, PageId, WorkspaceId};

const NAMES: [&str; 4] = ["Marta", "Lucía", "Tomás", "Ben"];

/// What their own pages are called, with a number.
const NOTES: [&str; 2] = ["Note", "Nota"];

const ACTS: [Act; 12] = [
    Act::Tick,
    Act::Extend,
    Act::Append,
    Act::Tick,
    Act::Note,
    Act::AddItem,
    Act::Tick,
    Act::Extend,
    Act::Rename,
    Act::Append,
    Act::AddItem,
    Act::Tick,
];

#[derive(Debug, Clone, Copy)]
enum Act {
    /// Ticks a box, or unticks it.
    Tick,
    /// Writes on at the end of a line.
    Extend,
    /// Adds a paragraph at the end of a page.
    Append,
    /// Adds an open box below the last one.
    AddItem,
    /// Puts a mark at the end of a note's title, or takes it away. The demo's instructions name other pages.
    Rename,
    /// Makes a page.
    Note,
}

/// The n-th act of the colleagues in the team's workspace, done; told in one line.
pub fn colleague_step(world: &mut World, n: u64) -> String {
    let Some(space) = world.workspaces().iter().find(|space| space.slug == TEAM_SLUG) else {
        return "nobody is at work".to_owned();
    };
    let space = space.id.clone();
    let n = usize::try_from(n % 1_000_000).unwrap_or(0);
    let name = NAMES[n % NAMES.len()];
    // When an act finds nothing to be done on, the next kind of act is tried.
    for turn in 0..ACTS.len() {
        if let Some(told) = perform(world, &space, ACTS[(n + turn) % ACTS.len()], n) {
            return format!("{name} {told}");
        }
    }
    format!("{name} has a coffee")
}

fn perform(world: &mut World, space: &WorkspaceId, act: Act, n: usize) -> Option<String> {
    let fits = |page: &PageRecord| match act {
        Act::Tick | Act::AddItem => page.content.iter().any(|block| is(block, "checkListItem")),
        Act::Extend => page.content.iter().any(extendable),
        Act::Append => true,
        Act::Rename => is_note(page),
        Act::Note => page.parent.is_none(),
    };
    let mut pages: Vec<&PageRecord> =
        world.visible_pages(space).into_iter().filter(|page| fits(page)).collect();
    pages.sort_by_key(|page| page.serial);
    // A stride that visits all pages in turn, and not in their order.
    let page = *pages.get((n * 7 + n / 5) % pages.len().max(1))?;
    let (id, title, english) = (page.id.clone(), page.title.clone(), is_english(page));
    let mut content = page.content.clone();
    let phrase = |spanish: &[&'static str], in_english: &[&'static str]| {
        let phrases = if english { in_english } else { spanish };
        phrases[n % phrases.len()]
    };
    match act {
        Act::Tick => {
            let boxes = content.iter_mut().filter(|block| is(block, "checkListItem"));
            let mut boxes: Vec<&mut Value> = boxes.collect();
            let at =
                boxes.iter().position(|block| block["props"]["checked"] == false).unwrap_or(n % boxes.len());
            let ticked = boxes[at]["props"]["checked"] == false;
            boxes[at]["props"]["checked"] = json!(ticked);
            world.app_edit(&id, content);
            Some(format!("{} a box in “{title}”", if ticked { "ticks" } else { "unticks" }))
        }
        Act::Extend => {
            let mut lines: Vec<&mut Value> = content.iter_mut().filter(|block| extendable(block)).collect();
            let at = n % lines.len();
            let more = phrase(
                &[" (hablado con Marta)", " Hoy no.", " Pendiente de confirmar.", " Mejor el jueves."],
                &[" (agreed with Marta)", " Not today.", " To be confirmed.", " Thursday is better."],
            );
            if let Some(runs) = lines[at]["content"].as_array_mut() {
                runs.push(run(more));
            }
            world.app_edit(&id, content);
            Some(format!("writes on in “{title}”"))
        }
        Act::Append => {
            let text = phrase(
                &[
                    "Ha llegado un paquete sin remitente. Son radios.",
                    "Mañana abrimos a las diez, que hay médico.",
                    "Preguntan si alquilamos tándems. Aún no, pero me gusta la pregunta.",
                ],
                &[
                    "A parcel came without a sender. It is spokes.",
                    "We open at ten tomorrow.",
                    "Somebody asked whether we rent tandems. Not yet, but I like the question.",
                ],
            );
            let block = text_block(world, "paragraph", json!({}), text);
            append(&mut content, block);
            world.app_edit(&id, content);
            Some(format!("adds a paragraph to “{title}”"))
        }
        Act::AddItem => {
            let text = phrase(
                &["Llamar otra vez", "Hacer una foto", "Enseñárselo a Lucía"],
                &["Call again", "Take a picture", "Show it to Lucía"],
            );
            let item = text_block(world, "checkListItem", json!({ "checked": false }), text);
            let last = content.iter().rposition(|block| is(block, "checkListItem"))?;
            content.insert(last + 1, item);
            world.app_edit(&id, content);
            Some(format!("adds a box to “{title}”"))
        }
        Act::Rename => {
            let mark = if english { " (draft)" } else { " (borrador)" };
            let renamed = title.strip_suffix(mark).map_or_else(|| format!("{title}{mark}"), str::to_owned);
            world.app_rename(&id, &renamed);
            Some(format!("renames “{title}” to “{renamed}”"))
        }
        Act::Note => {
            let note = new_note(world, space, &id, english, n);
            Some(format!("makes the page “{note}” under “{title}”"))
        }
    }
}

fn new_note(world: &mut World, space: &WorkspaceId, parent: &PageId, english: bool, n: usize) -> String {
    let title = format!("{} {}", NOTES[usize::from(!english)], n + 1);
    let text = if english { "Before I forget:" } else { "Antes de que se me olvide:" };
    let first = text_block(world, "paragraph", json!({}), text);
    let second = text_block(world, "checkListItem", json!({ "checked": false }), "…");
    world.app_create(space, Some(parent), &title, vec![first, second]);
    title
}

/// At the end, but above the empty paragraph that a page may end in.
fn append(content: &mut Blocks, block: Value) {
    let ends_empty = content.last().is_some_and(|last| is(last, "paragraph") && last["content"] == json!([]));
    content.insert(content.len() - usize::from(ends_empty), block);
}

fn is(block: &Value, kind: &str) -> bool {
    block["type"] == kind
}

/// A line that has words, and few enough that a person would write on.
fn extendable(block: &Value) -> bool {
    let runs = block["content"].as_array().map_or(0, Vec::len);
    (is(block, "paragraph") || is(block, "bulletListItem")) && (1..6).contains(&runs)
}

/// Whether colleagues made it.
fn is_note(page: &PageRecord) -> bool {
    NOTES.iter().any(|note| page.title.strip_prefix(note).is_some_and(|rest| rest.starts_with(' ')))
}

/// By the small words that there are more of.
fn is_english(page: &PageRecord) -> bool {
    // A note has few words.
    if is_note(page) {
        return page.title.starts_with(NOTES[0]);
    }
    let text = Value::Array(page.content.clone()).to_string();
    let count = |words: [&str; 5]| words.iter().map(|word| text.matches(word).count()).sum::<usize>();
    count([" the ", " and ", " is ", " to ", " of "]) > count([" de ", " la ", " el ", " que ", " lo "])
}

fn run(text: &str) -> Value {
    json!({ "type": "text", "text": text, "styles": {} })
}

fn text_block(world: &mut World, kind: &str, own: Value, text: &str) -> Value {
    let mut props = json!({ "backgroundColor": "default", "textColor": "default", "textAlignment": "left" });
    if let (Value::Object(props), Value::Object(own)) = (&mut props, own) {
        props.extend(own);
    }
    json!({ "id": world.ids.uuid(), "type": kind, "props": props, "content": [run(text)], "children": [] })
}
