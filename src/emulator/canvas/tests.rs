//! The rules of the API document for whiteboards and presentations, one by one.

use serde_json::{Value, json};

use crate::emulator::{HttpRequest, Window, World};
use crate::model::{CanvasId, Timestamp, WorkspaceId};

struct Caller {
    world: World,
    space: WorkspaceId,
}

impl Caller {
    fn new() -> Self {
        let mut world = World::new(7);
        world.set_limit(None, Window::SlidingLog);
        let space = world.add_workspace("Equipo", "equipo");
        Self { world, space }
    }

    #[track_caller]
    fn check(&mut self, method: &str, target: &str, body: Value, status: u16) -> Value {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = HttpRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            authorization: Some(format!("Bearer {}", self.world.token())),
            body,
        };
        let response = self.world.answer(&request, Timestamp(0));
        let answer: Value = serde_json::from_slice(&response.body).unwrap();
        assert_eq!(response.status, status, "{method} {target}: {answer}");
        if status < 300 { answer["data"].clone() } else { answer }
    }

    fn board(&mut self) -> (String, CanvasId) {
        let space = self.space.clone();
        let id = self.world.app_create_board(&space, "Board");
        (format!("/whiteboards/{id}"), CanvasId::Board(id))
    }

    fn slide(&mut self) -> (String, String, CanvasId) {
        let deck = self.world.app_create_deck("Talk", 960.0, 540.0);
        let slide = self.world.slides_of(&deck)[0].clone();
        let path = format!("/presentations/{deck}");
        (path.clone(), format!("{path}/slides/{slide}"), CanvasId::Slide(deck, slide))
    }
}

const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

#[test]
fn whiteboards_are_made_listed_and_trashed() {
    let mut caller = Caller::new();
    let list = format!("/whiteboards?workspace_id={}", caller.space);
    caller.check("GET", "/whiteboards", Value::Null, 400);
    assert_eq!(
        caller.check("GET", &format!("/whiteboards?workspace_id={NOBODY}"), Value::Null, 200),
        json!([])
    );
    caller.check("POST", "/whiteboards", json!({ "name": "x" }), 400);
    caller.check("POST", "/whiteboards", json!({ "workspace_id": NOBODY }), 400);
    let space = caller.space.to_string();
    let made = caller.check("POST", "/whiteboards", json!({ "workspace_id": space }), 201);
    let keys: Vec<&String> = made.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "workspace_id", "name", "created_by"]);
    assert_eq!(made["name"], "Whiteboard");
    caller.check("POST", "/whiteboards", json!({ "workspace_id": space, "name": "Second" }), 201);
    let names = |list: Value| list.as_array().unwrap().iter().map(|b| b["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names(caller.check("GET", &list, Value::Null, 200)), ["Whiteboard", "Second"], "oldest first");
    let path = format!("/whiteboards/{}", made["id"].as_str().unwrap());
    caller.check("DELETE", "/whiteboards/nonsense", Value::Null, 400);
    caller.check("DELETE", &format!("/whiteboards/{NOBODY}"), Value::Null, 404);
    let space = caller.space.clone();
    caller.world.app_set_role(&space, "viewer");
    caller.check("DELETE", &path, Value::Null, 403);
    caller.world.app_set_role(&space, "owner");
    assert_eq!(
        caller.check("DELETE", &path, Value::Null, 200),
        json!({ "id": made["id"], "papelera": true })
    );
    caller.check("DELETE", &path, Value::Null, 404);
    assert_eq!(names(caller.check("GET", &list, Value::Null, 200)), ["Second"]);
    assert_eq!(
        caller.check("GET", &format!("{path}/elements"), Value::Null, 200),
        json!([]),
        "not visible is empty"
    );
}

#[test]
fn board_elements_have_their_defaults_and_limits() {
    let mut caller = Caller::new();
    let (path, _) = caller.board();
    let all = format!("{path}/elements");
    let made = caller.check("POST", &all, json!({ "type": "sticky" }), 201);
    for (key, value) in [("x", 0), ("y", 0), ("width", 200), ("height", 200), ("z_index", 0)] {
        assert_eq!(made[key], json!(value), "{key}");
    }
    assert_eq!((&made["content"], &made["style"]), (&json!(""), &json!({})));
    for body in [
        json!({}),
        json!({ "type": "media" }),
        json!({ "type": "connector" }),
        json!({ "type": "text", "x": "1" }),
        json!({ "type": "text", "width": 0 }),
        json!({ "type": "text", "content": 1 }),
        json!({ "type": "text", "style": [] }),
    ] {
        caller.check("POST", &all, body, 400);
    }
    caller.check("POST", &format!("/whiteboards/{NOBODY}/elements"), json!({ "type": "text" }), 400);
    let style = json!({ "color": "#fff", "shadow": 1, "fontSize": 2, "bold": true, "fill": "x".repeat(101), "stroke": [] });
    let kept = caller.check("POST", &all, json!({ "type": "text", "style": style }), 201);
    assert_eq!(kept["style"], json!({ "color": "#fff", "fontSize": 2, "bold": true }));
}

#[test]
fn a_patch_changes_what_it_names_and_nothing_else() {
    let mut caller = Caller::new();
    let (path, canvas) = caller.board();
    let id = caller
        .world
        .app_put_element(
            &canvas,
            json!({ "type": "sticky", "x": 1.50, "content": "a", "style": { "color": "red", "bold": true } }),
        )
        .unwrap();
    let media = caller.world.app_put_element(&canvas, json!({ "type": "media" })).unwrap();
    let at = format!("{path}/elements/{id}");
    let now = caller.check("PATCH", &at, json!({ "y": -7, "style": { "bold": false, "odd": 1 } }), 200);
    assert_eq!((&now["y"], &now["x"], &now["content"]), (&json!(-7), &json!(1.50), &json!("a")));
    assert_eq!(
        now["style"],
        json!({ "color": "red", "bold": false }),
        "keys are merged, unknown ones left out"
    );
    for body in [
        json!({}),
        json!({ "title": "x" }),
        json!({ "x": "1" }),
        json!({ "x": 100_000.5 }),
        json!({ "width": 0 }),
        json!({ "height": -1 }),
        json!({ "content": null }),
        json!({ "style": "red" }),
    ] {
        caller.check("PATCH", &at, body, 400);
    }
    caller.check("PATCH", &at, json!({ "x": -100_000 }), 200);
    caller.check("PATCH", "/whiteboards/x/elements/y", json!({ "x": 1 }), 400);
    caller.check("PATCH", &format!("{path}/elements/{NOBODY}"), json!({ "x": 1 }), 404);
    let refused =
        caller.check("PATCH", &format!("{path}/elements/{media}"), json!({ "content": "x", "x": 5 }), 400);
    assert_eq!(refused["code"], "content_not_editable");
    caller.check("PATCH", &format!("{path}/elements/{media}"), json!({ "x": 5, "width": 9 }), 200);
    let space = caller.space.clone();
    caller.world.app_set_role(&space, "viewer");
    caller.check("PATCH", &at, json!({ "x": 1 }), 404);
    caller.check("DELETE", &at, Value::Null, 404);
    caller.check("POST", &format!("{path}/elements"), json!({ "type": "text" }), 400);
    caller.world.app_set_role(&space, "owner");
    assert_eq!(caller.check("DELETE", &at, Value::Null, 200), json!({ "id": id, "papelera": false }));
    caller.check("DELETE", &at, Value::Null, 404);
}

#[test]
fn elements_are_listed_back_to_front() {
    let mut caller = Caller::new();
    let (path, canvas) = caller.board();
    for (z, text) in [(5, "front"), (-1, "back"), (5, "newer"), (0, "middle")] {
        caller.world.app_put_element(&canvas, json!({ "content": text, "z_index": z }));
    }
    let list = caller.check("GET", &format!("{path}/elements"), Value::Null, 200);
    let words: Vec<&Value> = list.as_array().unwrap().iter().map(|element| &element["content"]).collect();
    assert_eq!(words, ["back", "middle", "front", "newer"]);
    assert!(list.as_array().unwrap().iter().all(|element| element["whiteboard_id"].is_string()));
}

#[test]
fn presentations_come_with_a_blank_slide_and_grow_at_the_end() {
    let mut caller = Caller::new();
    let made = caller.check("POST", "/presentations", json!({}), 201);
    assert_eq!(
        (&made["name"], &made["canvas_width"], &made["canvas_height"]),
        (&json!("Presentación"), &json!(960), &json!(540))
    );
    caller.check("POST", "/presentations", json!({ "folder_id": NOBODY }), 400);
    let path = format!("/presentations/{}", made["id"].as_str().unwrap());
    let slides = caller.check("GET", &format!("{path}/slides"), Value::Null, 200);
    assert_eq!(slides.as_array().unwrap().len(), 1);
    let new = caller.check("POST", &format!("{path}/slides"), Value::Null, 201);
    assert_eq!((&new["position"], &new["presentation_id"]), (&json!(1), &made["id"]));
    caller.check("POST", &format!("/presentations/{NOBODY}/slides"), Value::Null, 400);
    assert_eq!(caller.check("GET", &format!("/presentations/{NOBODY}/slides"), Value::Null, 200), json!([]));
    let first = format!("{path}/slides/{}", slides[0]["id"].as_str().unwrap());
    assert_eq!(caller.check("DELETE", &first, Value::Null, 200)["papelera"], json!(false));
    caller.check("DELETE", &first, Value::Null, 404);
    caller.check("GET", &format!("{first}/elements"), Value::Null, 404);
    let left = caller.check("GET", &format!("{path}/slides"), Value::Null, 200);
    assert_eq!((&left[0]["id"], &left[0]["position"]), (&new["id"], &json!(0)));
    assert_eq!(caller.check("DELETE", &path, Value::Null, 200)["papelera"], json!(true));
    caller.check("DELETE", &path, Value::Null, 404);
    assert_eq!(caller.check("GET", "/presentations", Value::Null, 200), json!([]));
    assert_eq!(caller.check("GET", &format!("{path}/slides"), Value::Null, 200), json!([]));
}

#[test]
fn slide_elements_have_their_own_defaults() {
    let mut caller = Caller::new();
    let (deck, slide, canvas) = caller.slide();
    let all = format!("{slide}/elements");
    let text = caller.check("POST", &all, json!({}), 201);
    assert_eq!(text["type"], "text");
    assert_eq!((&text["x"], &text["width"], &text["height"]), (&json!(80), &json!(600), &json!(80)));
    assert_eq!((&text["style"], &text["z_index"]), (&json!({ "fontSize": 32 }), &json!(0)));
    let shape = caller.check("POST", &all, json!({ "type": "ellipse" }), 201);
    assert_eq!((&shape["width"], &shape["height"], &shape["style"]), (&json!(300), &json!(200), &json!({})));
    assert_eq!(shape["z_index"], json!(1), "in front of all others");
    let own = caller.check("POST", &all, json!({ "style": { "fontSize": 12 } }), 201);
    assert_eq!(own["style"], json!({ "fontSize": 12 }));
    caller.check("POST", &all, json!({ "type": "sticky" }), 400);
    caller.check("POST", "/presentations/x/slides/y/elements", json!({}), 400);
    caller.check("POST", &format!("{deck}/slides/{NOBODY}/elements"), json!({}), 404);
    let image = caller.world.app_put_element(&canvas, json!({ "type": "image" })).unwrap();
    let refused = caller.check("PATCH", &format!("{all}/{image}"), json!({ "content": "x" }), 400);
    assert_eq!(refused["code"], "content_not_editable");
    caller.check("PATCH", &format!("{all}/{image}"), json!({ "x": 3 }), 200);
    let CanvasId::Slide(id, _) = &canvas else { return };
    caller.world.app_share_deck(id, true);
    caller.check("POST", &all, json!({}), 400);
    caller.check("PATCH", &format!("{all}/{image}"), json!({ "x": 4 }), 404);
    caller.check("DELETE", &format!("{all}/{image}"), Value::Null, 404);
    caller.check("POST", &format!("{deck}/slides"), Value::Null, 400);
    caller.check("DELETE", &deck, Value::Null, 404);
    caller.world.app_share_deck(id, false);
    caller.check("DELETE", &format!("{all}/{image}"), Value::Null, 200);
}

#[test]
fn scopes_hold_for_each_area() {
    let mut caller = Caller::new();
    let (path, _) = caller.board();
    caller.world.set_scope("whiteboards:write", false);
    caller.check("POST", &format!("{path}/elements"), json!({ "type": "text" }), 403);
    caller.check("GET", &format!("{path}/elements"), Value::Null, 200);
    caller.world.set_scope("presentations:read", false);
    caller.check("GET", "/presentations", Value::Null, 403);
    caller.check("POST", "/presentations", json!({}), 201);
}
