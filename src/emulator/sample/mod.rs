//! The sample of `espejo demo`: the workspaces of a bicycle workshop and of a family, as people would have them, and
//! colleagues who go on working in them.

mod canvases;
mod colleague;
mod files;
mod notation;

pub use colleague::colleague_step;

use serde_json::json;

use super::world::World;
use crate::model::{PageId, WorkspaceId};

const WORKSHOP: &str = include_str!("taller-mistral.txt");
const HOME: &str = include_str!("casa.txt");

/// The slug of the workspace that the colleagues work in; the other one is the user's own.
pub const TEAM_SLUG: &str = "taller-mistral";

/// A world with the sample's two workspaces, and the user's personal files.
#[must_use]
pub fn world(seed: u64) -> World {
    let mut world = World::new(seed);
    let workshop = world.add_workspace("Taller Mistral", TEAM_SLUG);
    fill(&mut world, &workshop, WORKSHOP);
    let home = world.add_workspace("Casa", "casa");
    fill(&mut world, &home, HOME);
    let first = world.visible_pages(&workshop).first().map(|page| page.id.clone());
    if let Some(first) = first {
        make_dashboard(&mut world, &first);
    }
    canvases::fill(&mut world, &workshop);
    files::fill(&mut world);
    world
}

fn fill(world: &mut World, workspace: &WorkspaceId, text: &str) {
    let mut ids = world.ids.clone();
    let sheets = notation::sheets(text, &mut ids);
    world.ids = ids;
    // The page above each depth.
    let mut above: Vec<PageId> = Vec::new();
    for sheet in sheets {
        above.truncate(sheet.depth - 1);
        let page = world.app_create(workspace, above.last(), &sheet.title, sheet.content);
        world.app_set_icon(&page, sheet.icon.as_deref());
        above.push(page);
    }
}

/// Magnets on the team's first page: a clock, a note, the list of sections.
fn make_dashboard(world: &mut World, page: &PageId) {
    let (clock, note, sections) = (world.ids.uuid(), world.ids.uuid(), world.ids.uuid());
    let run = json!({ "type": "text", "text": "El café, hoy, lo trae Tomás.", "styles": {} });
    let props = json!({ "backgroundColor": "default", "textColor": "default", "textAlignment": "left" });
    let block = json!({ "id": world.ids.uuid(), "type": "paragraph", "props": props, "content": [run], "children": [] });
    let nevera = json!({
        "imanes": [
            { "id": clock, "tipo": "reloj", "x": 0, "y": 0, "w": 3, "h": 2 },
            { "id": note, "tipo": "texto", "x": 3, "y": 0, "w": 5, "h": 2, "tono": "amarillo" },
            { "id": sections, "tipo": "secciones", "x": 8, "y": 0, "w": 4, "h": 4 },
        ],
        "textos": { note: [block] },
    });
    world.app_set_nevera(page, Some(nevera));
}

#[cfg(test)]
mod tests;
