//! The rules of the API document, one by one.

use serde_json::{Value, json};

use super::*;
use crate::model::{PageId, Timestamp, WorkspaceId};

struct Caller {
    world: World,
    space: WorkspaceId,
    now: Timestamp,
}

impl Caller {
    fn new() -> Self {
        let mut world = World::new(7);
        world.set_limit(None, Window::SlidingLog);
        let space = world.add_workspace("Equipo", "equipo");
        Self { world, space, now: Timestamp(0) }
    }

    fn send(&mut self, method: &str, target: &str, body: &str) -> (u16, Value) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let response = self.world.answer(
            &HttpRequest {
                method: method.to_owned(),
                path: path.to_owned(),
                query: query.to_owned(),
                authorization: Some(format!("Bearer {}", self.world.token())),
                body: body.as_bytes().to_vec(),
            },
            self.now,
        );
        (response.status, serde_json::from_slice(&response.body).unwrap())
    }

    #[track_caller]
    fn check(&mut self, method: &str, target: &str, body: &str, status: u16) -> Value {
        let (got, answer) = self.send(method, target, body);
        assert_eq!(got, status, "{method} {target} {body}: {answer}");
        // Either envelope and nothing beside it.
        let map = answer.as_object().unwrap();
        let key = if status < 300 { "data" } else { "error" };
        assert_eq!(map.keys().collect::<Vec<_>>(), [key], "{answer}");
        assert!(status < 300 || map[key].is_string());
        map[key].clone()
    }

    fn page(&mut self, parent: Option<&PageId>, title: &str) -> PageId {
        let space = self.space.clone();
        self.world.app_create(&space, parent, title, Vec::new())
    }

    fn titles(&mut self) -> Vec<String> {
        let target = format!("/pages?workspace_id={}", self.space);
        let list = self.check("GET", &target, "", 200);
        list.as_array().unwrap().iter().map(|page| page["title"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn workspaces_are_listed_with_six_fields() {
    let mut caller = Caller::new();
    let expected = json!([{
        "id": caller.space.as_str(), "name": "Equipo", "slug": "equipo", "plan": "pro", "role": "owner", "frozen": false,
    }]);
    assert_eq!(caller.check("GET", "/workspaces", "", 200), expected);
    let space = caller.space.clone();
    assert!(caller.world.app_freeze_workspace(&space, true));
    assert_eq!(caller.check("GET", "/workspaces", "", 200)[0]["frozen"], json!(true));
    assert!(caller.world.app_leave_workspace(&space));
    assert_eq!(caller.check("GET", "/workspaces", "", 200), json!([]));
}

#[test]
fn ids_are_uuids_of_version_4_and_come_from_the_seed() {
    let ids = |seed| {
        let mut world = World::new(seed);
        let space = world.add_workspace("A", "a");
        (0..50).map(|_| world.app_create(&space, None, "p", Vec::new())).collect::<Vec<_>>()
    };
    assert_eq!(ids(1), ids(1));
    assert_ne!(ids(1), ids(2));
    for id in ids(3) {
        let uuid = uuid::Uuid::try_parse(id.as_str()).unwrap();
        assert_eq!((uuid.get_version_num(), uuid.to_string()), (4, id.to_string()));
    }
}

#[test]
fn creating_a_page() {
    let mut caller = Caller::new();
    let space = caller.space.to_string();
    let body = |extra: Value| {
        let mut body = json!({ "workspace_id": space });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        body.to_string()
    };
    let first = caller.check("POST", "/pages", &body(json!({ "title": "Uno" })), 201);
    let id = first["id"].as_str().unwrap().to_owned();
    let expected = json!({
        "id": id, "workspace_id": space, "parent_page_id": null, "title": "Uno", "icon": null, "position": 0,
    });
    assert_eq!(first.to_string(), expected.to_string());
    assert_eq!(caller.check("POST", "/pages", &body(json!({})), 201)["title"], "Sin título");
    assert_eq!(caller.check("POST", "/pages", &body(json!({ "title": "" })), 201)["title"], "Sin título");
    assert_eq!(caller.check("POST", "/pages", &body(json!({ "title": "  " })), 201)["position"], 3);
    let child = caller.check("POST", "/pages", &body(json!({ "title": "Hija", "parent_page_id": id })), 201);
    assert_eq!((&child["parent_page_id"], &child["position"]), (&json!(id), &json!(0)));
    caller.check("POST", "/pages", &body(json!({ "parent_page_id": null })), 201);
    let child = format!("/pages/{}", child["id"].as_str().unwrap());
    assert_eq!(caller.check("GET", &child, "", 200)["content"], json!([]));

    for bad in ["", "{", "[]", "null", "{}", r#"{"workspace_id":""}"#, r#"{"workspace_id":5}"#] {
        caller.check("POST", "/pages", bad, 400);
    }
    for bad in [
        json!({ "title": 5 }),
        json!({ "title": null }),
        json!({ "parent_page_id": 5 }),
        json!({ "parent_page_id": "" }),
        json!({ "parent_page_id": "00000000-0000-4000-8000-000000000000" }),
        json!({ "workspace_id": "00000000-0000-4000-8000-000000000000" }),
    ] {
        caller.check("POST", "/pages", &body(bad), 400);
    }
    // Under a page of the trash, under a page of another workspace, without the right to.
    caller.check("DELETE", &child, "", 200);
    let trashed = child.strip_prefix("/pages/").unwrap();
    caller.check("POST", "/pages", &body(json!({ "parent_page_id": trashed })), 400);
    let other = caller.world.add_workspace("Other", "other");
    let foreign = caller.world.app_create(&other, None, "F", Vec::new());
    caller.check("POST", "/pages", &body(json!({ "parent_page_id": foreign.as_str() })), 400);
    let own = caller.space.clone();
    caller.world.app_set_role(&own, "viewer");
    caller.check("POST", "/pages", &body(json!({})), 400);
    caller.world.app_set_role(&own, "owner");
    caller.world.app_freeze_workspace(&own, true);
    caller.check("POST", "/pages", &body(json!({})), 403);
    caller.world.app_leave_workspace(&own);
    caller.check("POST", "/pages", &body(json!({})), 400);
}

#[test]
fn listing_pages() {
    let mut caller = Caller::new();
    caller.check("GET", "/pages", "", 400);
    caller.check("GET", "/pages?workspace_id=", "", 400);
    for foreign in ["00000000-0000-4000-8000-000000000000", "x", "a%2Fb"] {
        assert_eq!(caller.check("GET", &format!("/pages?workspace_id={foreign}"), "", 200), json!([]));
    }
    let b = caller.page(None, "b");
    let a = caller.page(None, "a");
    let c = caller.page(Some(&b), "c");
    assert_eq!(caller.titles(), ["b", "c", "a"], "by position, then by age; subpages in the same list");
    caller.world.app_move(&a, None, -0.5);
    assert_eq!(caller.titles(), ["a", "b", "c"]);
    let list = caller.check("GET", &format!("/pages?x=1&workspace_id={}", caller.space.clone()), "", 200);
    assert_eq!(list[0]["position"], json!(-0.5));
    assert!(list[0].get("content").is_none() && list[0].get("nevera").is_none());
    caller.world.app_hide(&b, true);
    assert_eq!(caller.titles(), ["a"]);
    caller.check("GET", &format!("/pages/{c}"), "", 404);
    caller.world.app_hide(&b, false);
    let space = caller.space.clone();
    caller.world.app_leave_workspace(&space);
    assert_eq!(caller.titles(), Vec::<String>::new());
    caller.check("GET", &format!("/pages/{a}"), "", 404);
    caller.world.app_rejoin(&space);
    assert_eq!(caller.titles(), ["a", "b", "c"]);
}

#[test]
fn getting_a_page() {
    let mut caller = Caller::new();
    let page = caller.page(None, "Título");
    caller.world.app_set_icon(&page, Some("🧊"));
    caller.world.app_set_nevera(&page, Some(json!({ "imanes": [], "textos": {} })));
    let expected = json!({
        "id": page.as_str(), "workspace_id": caller.space.as_str(), "parent_page_id": null, "title": "Título",
        "icon": "🧊", "position": 0, "content": [], "nevera": { "imanes": [], "textos": {} },
    });
    assert_eq!(caller.check("GET", &format!("/pages/{page}"), "", 200), expected);
    for unknown in ["00000000-0000-4000-8000-000000000000", "x", "a b", ""] {
        caller.check("GET", &format!("/pages/{unknown}"), "", 404);
    }
}

#[test]
fn updating_a_page() {
    let mut caller = Caller::new();
    let page = caller.page(None, "Antes");
    let target = format!("/pages/{page}");
    let answer = caller.check("PATCH", &target, r#"{"title":"Después"}"#, 200);
    assert_eq!(answer["title"], "Después");
    assert!(answer.get("content").is_none() && answer.get("nevera").is_none());
    caller.check("PATCH", &target, r#"{"content":[1,{"any":"thing"}],"other":1}"#, 200);
    caller.check("PATCH", &target, r#"{"title":"Sólo el título"}"#, 200);
    assert_eq!(caller.world.page(&page).unwrap().content, [json!(1), json!({ "any": "thing" })]);
    caller.check("PATCH", &target, r#"{"title":"x","content":[2]}"#, 200);
    assert_eq!(caller.world.page(&page).unwrap().content, [json!(2)], "the whole body, not a merge");
    assert_eq!(caller.check("PATCH", &target, r#"{"title":""}"#, 200)["title"], "Sin título");
    assert_eq!(caller.check("PATCH", &target, r#"{"title":" "}"#, 200)["title"], " ");
    for bad in [
        "",
        "{",
        "[]",
        "{}",
        r#"{"icon":"x"}"#,
        r#"{"title":5}"#,
        r#"{"title":null}"#,
        r#"{"content":{}}"#,
        r#"{"content":null}"#,
        r#"{"title":"y","content":"[]"}"#,
    ] {
        caller.check("PATCH", &target, bad, 400);
    }
    assert_eq!(caller.world.page(&page).unwrap().title, " ", "a refused PATCH changes nothing");
    caller.check("PATCH", "/pages/unknown", r#"{"title":"x"}"#, 404);
    let space = caller.space.clone();
    caller.world.app_set_role(&space, "viewer");
    caller.check("PATCH", &target, r#"{"title":"x"}"#, 404);
    caller.check("GET", &target, "", 200);
    caller.world.app_set_role(&space, "owner");
    caller.world.app_freeze_workspace(&space, true);
    caller.check("PATCH", &target, r#"{"title":"x"}"#, 403);
    caller.check("DELETE", &target, "", 403);
    caller.world.choose(Choices { frozen_write_status: 400, ..Choices::default() });
    caller.check("PATCH", &target, r#"{"title":"x"}"#, 400);
}

#[test]
fn content_is_stored_as_sent() {
    let mut caller = Caller::new();
    let page = caller.page(None, "p");
    let content = r#"[{"z":1.0,"a":100000000000000000000000000000001,"e":1e-7,"n":null,"t":"é\n"},[],"x"]"#;
    caller.check("PATCH", &format!("/pages/{page}"), &format!(r#"{{"content":{content}}}"#), 200);
    let got = caller.check("GET", &format!("/pages/{page}"), "", 200);
    assert_eq!(got["content"].to_string(), content);
}

#[test]
fn the_trash_takes_the_whole_tree_and_gives_it_back() {
    let mut caller = Caller::new();
    let top = caller.page(None, "top");
    let mid = caller.page(Some(&top), "mid");
    let low = caller.page(Some(&mid), "low");
    let gone = caller.page(Some(&top), "gone before");
    caller.page(None, "other");
    caller.world.app_trash(&gone);
    for bad in ["x", "00000000000040008000000000000000", "{00000000-0000-4000-8000-000000000000}"] {
        caller.check("DELETE", &format!("/pages/{bad}"), "", 400);
    }
    caller.check("DELETE", "/pages/00000000-0000-4000-8000-000000000000", "", 404);
    let answer = caller.check("DELETE", &format!("/pages/{top}"), "", 200);
    assert_eq!(answer, json!({ "id": top.as_str(), "papelera": true }));
    assert_eq!(caller.titles(), ["other"]);
    for page in [&top, &mid, &low] {
        caller.check("DELETE", &format!("/pages/{page}"), "", 404);
        caller.check("PATCH", &format!("/pages/{page}"), r#"{"title":"x"}"#, 404);
        caller.check("GET", &format!("/pages/{page}"), "", 404);
    }
    caller.world.choose(Choices { trashed_page_is_shown: true, ..Choices::default() });
    caller.check("GET", &format!("/pages/{low}"), "", 200);
    caller.check("DELETE", &format!("/pages/{low}"), "", 404);

    assert!(!caller.world.app_edit(&low, vec![]), "nobody edits in the trash");
    assert!(caller.world.app_restore(&top) && !caller.world.app_restore(&top));
    assert_eq!(caller.titles(), ["top", "mid", "low", "other"], "what went before stays in the trash");
    // A page whose parent is not there comes back at the top.
    caller.world.app_trash(&top);
    assert!(caller.world.app_restore(&mid));
    assert_eq!(caller.world.page(&mid).unwrap().parent, None);
    assert_eq!(caller.titles(), ["mid", "low", "other"]);
    assert!(!caller.world.app_purge(&mid), "only what is in the trash");
    assert!(caller.world.app_purge(&top));
    assert_eq!(caller.world.page(&top), None);
}

#[test]
fn pages_never_come_to_lie_under_themselves() {
    let mut caller = Caller::new();
    let top = caller.page(None, "top");
    let low = caller.page(Some(&top), "low");
    let other = caller.world.add_workspace("Other", "other");
    let foreign = caller.world.app_create(&other, None, "F", Vec::new());
    assert!(!caller.world.app_move(&top, Some(&low), 0.0));
    assert!(!caller.world.app_move(&top, Some(&top), 0.0));
    assert!(!caller.world.app_move(&top, Some(&foreign), 0.0));
    assert!(caller.world.app_move(&low, None, 5.0));
    assert!(caller.world.app_move(&top, Some(&low), 0.0));
}

#[test]
fn token_plan_scope_and_route() {
    let mut caller = Caller::new();
    let send = |caller: &mut Caller, authorization: Option<&str>| {
        let request = HttpRequest {
            method: "GET".to_owned(),
            path: "/workspaces".to_owned(),
            authorization: authorization.map(str::to_owned),
            ..HttpRequest::default()
        };
        caller.world.answer(&request, Timestamp(0)).status
    };
    for bad in [
        None,
        Some(""),
        Some("Bearer "),
        Some("Bearer x"),
        Some("emulator-token"),
        Some("Basic emulator-token"),
    ] {
        assert_eq!(send(&mut caller, bad), 401, "{bad:?}");
    }
    assert_eq!(send(&mut caller, Some("Bearer emulator-token")), 200);
    caller.world.set_token("other");
    assert_eq!(send(&mut caller, Some("Bearer emulator-token")), 401);

    let page = caller.page(None, "p");
    for (method, target) in [
        ("GET", "/".to_owned()),
        ("GET", "/nothing".to_owned()),
        ("POST", "/workspaces".to_owned()),
        ("PUT", format!("/pages/{page}")),
        ("GET", format!("/pages/{page}/more")),
        ("DELETE", "/pages".to_owned()),
    ] {
        caller.check(method, &target, "{}", 404);
    }
    caller.world.set_scope("pages:write", false);
    caller.check("PATCH", &format!("/pages/{page}"), r#"{"title":"x"}"#, 403);
    caller.check("POST", "/pages", "{}", 403);
    caller.check("GET", &format!("/pages/{page}"), "", 200);
    caller.world.set_scope("pages:delete", false);
    caller.check("DELETE", &format!("/pages/{page}"), "", 403);
    caller.world.set_scope("pages:delete", true);
    caller.check("DELETE", &format!("/pages/{page}"), "", 200);
    caller.world.set_plan_refuses(true);
    caller.check("GET", "/workspaces", "", 403);
}

#[test]
fn the_limit_holds_and_is_logged() {
    let mut caller = Caller::new();
    caller.world.set_limit(Some(60), Window::SlidingLog);
    for second in 0..75 {
        caller.now = Timestamp(second * 500);
        caller.check("GET", "/workspaces", "", if second < 60 { 200 } else { 429 });
    }
    caller.now = Timestamp(60_000);
    caller.check("GET", "/workspaces", "", 200);
    let log = caller.world.log();
    assert_eq!((log.entries().len(), log.answered(429), log.answered(200)), (76, 15, 61));
    assert_eq!(log.most_in_any_minute(), 75);
    assert_eq!(log.writes().count(), 0);
}

#[test]
fn bad_luck_strikes_as_told() {
    let seen = |fault: Fault, body: &str| {
        let mut caller = Caller::new();
        let page = caller.page(None, "p");
        caller.world.fail_next(Matcher::Writes, fault);
        let request = HttpRequest {
            method: "PATCH".to_owned(),
            path: format!("/pages/{page}"),
            authorization: Some("Bearer emulator-token".to_owned()),
            body: body.as_bytes().to_vec(),
            ..HttpRequest::default()
        };
        let read = HttpRequest { method: "GET".to_owned(), body: Vec::new(), ..request.clone() };
        assert_eq!(caller.world.answer(&read, Timestamp(0)).status, 200, "a read is not struck");
        let response = caller.world.answer(&request, Timestamp(0));
        assert_eq!(caller.world.faults_waiting(), 0);
        let entry = caller.world.log().writes().next_back().unwrap().clone();
        let happened = caller.world.page(&page).unwrap().title == "new";
        assert_eq!(entry.applied, happened);
        (response.status, response.delivery, happened)
    };
    let change = r#"{"title":"new"}"#;
    let status = |status| Fault::Status { status, retry_after: None };
    assert_eq!(seen(status(500), change), (500, Delivery::Whole, false));
    assert_eq!(seen(status(429), change), (429, Delivery::Whole, false));
    assert_eq!(seen(Fault::StatusAfter(500), change), (500, Delivery::Whole, true));
    assert_eq!(seen(Fault::Page(502), change), (502, Delivery::Whole, false));
    assert_eq!(seen(Fault::Redirect("http://x/".to_owned()), change), (302, Delivery::Whole, false));
    assert_eq!(seen(Fault::LostBefore, change), (0, Delivery::Never, false));
    assert_eq!(seen(Fault::LostAfter, change), (200, Delivery::Never, true));
    assert_eq!(seen(Fault::LostAfter, "{}"), (400, Delivery::Never, false));
    assert_eq!(seen(Fault::Delay(5), change), (200, Delivery::After(5), true));
    assert_eq!(seen(Fault::PageWith200, change), (200, Delivery::Whole, true));
    assert_eq!(seen(Fault::PageWith200, "{}"), (400, Delivery::Whole, false));
    assert!(matches!(seen(Fault::Cut, change), (200, Delivery::Cut(_), true)));
}

#[test]
fn bad_luck_by_chance_comes_from_the_seed() {
    let run = |seed, per_mille| {
        let mut world = World::new(seed);
        world.set_limit(None, Window::SlidingLog);
        world.fail_randomly(Matcher::Any, Fault::LostBefore, per_mille);
        let request = HttpRequest {
            method: "GET".to_owned(),
            path: "/workspaces".to_owned(),
            ..HttpRequest::default()
        };
        (0..1000).map(|_| world.answer(&request, Timestamp(0)).status == 0).collect::<Vec<bool>>()
    };
    let lost = |hits: &[bool]| hits.iter().filter(|hit| **hit).count();
    assert_eq!(run(1, 100), run(1, 100));
    assert_ne!(run(1, 100), run(2, 100));
    assert!((50..200).contains(&lost(&run(1, 100))));
    assert_eq!((lost(&run(1, 0)), lost(&run(1, 1000))), (0, 1000));
}
