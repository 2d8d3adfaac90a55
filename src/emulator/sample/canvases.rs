//! The sample's whiteboard and presentation: what a workshop would have pinned to its wall, and what it shows a bank.

use serde_json::json;

use super::super::world::World;
use crate::model::{CanvasId, WorkspaceId};

/// Puts a whiteboard into the workspace, and a presentation beside it.
pub(super) fn fill(world: &mut World, workspace: &WorkspaceId) {
    whiteboard(world, workspace);
    presentation(world);
}

fn whiteboard(world: &mut World, workspace: &WorkspaceId) {
    let board = CanvasId::Board(world.app_create_board(workspace, "Ruta de primavera"));
    let all = [
        json!({ "type": "rectangle", "x": -60, "y": -80, "width": 760, "height": 560,
            "style": { "color": "rgba(191, 219, 254, 0.35)", "stroke": "#60a5fa" } }),
        json!({ "type": "text", "x": -36, "y": -60, "width": 520, "height": 48,
            "content": "Ruta de primavera: ¿qué falta?", "style": { "fontSize": 30, "bold": true } }),
        json!({ "x": 0, "y": 40, "content": "Permiso del ayuntamiento\n(lo lleva Marta)" }),
        json!({ "x": 230, "y": 64, "content": "Mapa con las fuentes de agua 💧", "style": { "color": "#bbf7d0" } }),
        json!({ "x": 460, "y": 40, "content": "Seguro: preguntar si cubre tándems",
            "style": { "color": "#fecaca", "italic": true } }),
        json!({ "x": 115, "y": 262.5, "width": 200, "height": 180,
            "content": "Bocadillos para treinta. Sin gluten: cuatro.", "style": { "color": "#fbcfe8" } }),
        json!({ "type": "ellipse", "x": 380, "y": 280, "width": 260, "height": 140, "content": "12 de abril",
            "style": { "color": "#ddd6fe", "fontSize": 26, "bold": true } }),
        json!({ "type": "media", "x": 760, "y": -80, "width": 320, "height": 220, "content": "foto-cartel.jpg" }),
        json!({ "type": "embed", "x": 760, "y": 180, "width": 320, "height": 120,
            "content": "https://example.com/mapa" }),
        json!({ "type": "connector", "x": 640, "y": 350, "width": 120, "height": -110 }),
    ];
    for mut element in all {
        if element.get("type").is_none() {
            element["type"] = json!("sticky");
        }
        world.app_put_element(&board, element);
    }
}

fn presentation(world: &mut World) {
    let deck = world.app_create_deck("Taller Mistral en diez minutos", 960.0, 540.0);
    let more = [1, 2].map(|at| world.app_insert_slide(&deck, at));
    let slides = world.slides_of(&deck);
    debug_assert!(more.iter().all(Option::is_some));
    let texts = [
        ("Taller Mistral", "Bicicletas que duran.\nDesde 1987, en la calle del Viento.", "#0f172a"),
        (
            "Qué pedimos",
            "Un banco de centrado nuevo.\nTres años para devolverlo.\nY que vengan a verlo.",
            "#ffffff",
        ),
        ("Y ahora, preguntas", "Marta, Lucía, Tomás y Ben", "#fde68a"),
    ];
    for (index, (slide, (title, words, ground))) in slides.iter().zip(texts).enumerate() {
        let canvas = CanvasId::Slide(deck.clone(), slide.clone());
        world.app_set_background(&deck, slide, json!({ "color": ground }));
        world.app_put_element(
            &canvas,
            json!({ "type": "rectangle", "x": 80, "y": 150, "width": 64, "height": 8,
            "style": { "color": "#f97316" } }),
        );
        world.app_put_element(
            &canvas,
            json!({ "type": "text", "x": 80, "y": 64, "width": 800, "height": 80,
            "content": title, "style": { "fontSize": 54, "bold": true } }),
        );
        world.app_put_element(
            &canvas,
            json!({ "type": "text", "x": 80, "y": 190, "width": 560, "height": 200,
            "content": words, "style": { "fontSize": 28, "lineHeight": 1.5 } }),
        );
        if index == 1 {
            world.app_put_element(
                &canvas,
                json!({ "type": "ellipse", "x": 680, "y": 230, "width": 200, "height": 200,
                "content": "4.800 €", "style": { "color": "#bfdbfe", "fontSize": 32, "bold": true } }),
            );
        }
    }
}
