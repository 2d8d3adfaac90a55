//! `GET /search` by the rules of the API document.

use serde_json::{Value, json};

use crate::emulator::ranking::Ranking;
use crate::emulator::{Choices, HttpRequest, World};
use crate::model::{Timestamp, WorkspaceId};

fn page(text: &str) -> Vec<Value> {
    let run = json!({ "type": "text", "text": text, "styles": {} });
    vec![json!({ "id": "b", "type": "paragraph", "props": {}, "content": [run], "children": [] })]
}

fn ask(world: &mut World, query: &str) -> (u16, Value) {
    let request = HttpRequest {
        method: "GET".to_owned(),
        path: "/search".to_owned(),
        query: query.to_owned(),
        authorization: Some(format!("Bearer {}", world.token())),
        body: Vec::new(),
    };
    let answer = world.answer(&request, Timestamp(0));
    (answer.status, serde_json::from_slice::<Value>(&answer.body).unwrap())
}

fn world(pages: &[(&str, &str)]) -> (World, WorkspaceId) {
    let mut world = World::new(1);
    world.set_limit(None, crate::emulator::Window::SlidingLog);
    let space = world.add_workspace("Equipo", "equipo");
    for (title, text) in pages {
        world.app_create(&space, None, title, page(text));
    }
    (world, space)
}

fn titles(world: &mut World, space: &WorkspaceId, q: &str) -> Vec<String> {
    let encoded: String = q.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let (status, body) = ask(world, &format!("workspace_id={space}&q={encoded}"));
    assert_eq!(status, 200, "{body}");
    body["data"].as_array().unwrap().iter().map(|hit| hit["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn words_match_by_spanish_rules() {
    let (mut world, space) = world(&[
        ("A", "Las reuniones del equipo fueron largas"),
        ("B", "El camión corría por la carretera"),
        ("C", "The roadmap was discussed at the meeting"),
        ("D", "Año nuevo, equipo de trabajo nuevo"),
    ]);
    for (q, expected) in [
        ("reunión", &["A"][..]),
        ("reunion", &["A"]),
        ("camiones", &["B"]),
        ("correr", &["B"]),
        ("roadmap", &["C"]),
        ("ROADMAP meeting", &["C"]),
        ("ano", &[]),
        ("año", &["D"]),
        ("equipo", &["A", "D"]),
        ("equipo -nuevo", &["A"]),
        ("\"equipo de trabajo\"", &["D"]),
        ("\"trabajo equipo\"", &[]),
        ("camión OR reunión", &["A", "B"]),
        ("camión or meeting", &["B", "C"]),
        ("equipo camión", &[]),
        ("\"equipo de trab", &[]),
        ("\"equipo de trabajo", &["D"]),
        ("carret", &[]),
        ("de la", &[]),
        ("-equipo", &["B", "C"]),
        ("\u{0}", &[]),
    ] {
        let mut found = titles(&mut world, &space, q);
        found.sort();
        assert_eq!(found, expected, "{q:?}");
    }
}

#[test]
fn better_matches_come_first_and_the_title_may_match_alone() {
    let (mut world, space) = world(&[
        ("Once", "plan and other words"),
        ("Thrice", "plan plan, and again plan"),
        ("The PLANetarium", "nothing"),
        ("Far", "plan and then a good many other words and more and more of them until budget"),
        ("Near", "plan budget"),
    ]);
    assert_eq!(titles(&mut world, &space, "plan"), ["Thrice", "Far", "Near", "Once", "The PLANetarium"]);
    assert_eq!(titles(&mut world, &space, "plan budget"), ["Near", "Far"]);
    world.choose(Choices { ranking: Ranking::BY_LENGTH, ..Choices::default() });
    assert_eq!(titles(&mut world, &space, "plan"), ["Near", "Thrice", "Once", "Far", "The PLANetarium"]);
}

#[test]
fn an_edit_moves_the_rank_only_where_length_counts() {
    for by_length in [false, true] {
        let (mut world, space) = world(&[("P", "plan")]);
        world.choose(Choices {
            ranking: if by_length { Ranking::BY_LENGTH } else { Ranking::default() },
            ..Choices::default()
        });
        let q = format!("workspace_id={space}&q=plan");
        let rank = |world: &mut World| ask(world, &q).1["data"][0]["rank"].as_f64().unwrap();
        let before = rank(&mut world);
        let id = world.pages().next().unwrap().id.clone();
        world.app_edit(&id, page("plan and thirty unrelated words more"));
        assert_eq!(rank(&mut world) != before, by_length);
    }
}

#[test]
fn every_kind_is_found_by_its_own_rule() {
    let (mut world, space) = world(&[("Plan", &"palabra ".repeat(40))]);
    let other = world.add_workspace("Otra", "otra");
    world.app_create(&other, None, "Plan ajeno", page("x"));
    world.app_create_board(&space, "Planta");
    world.app_create_board(&other, "Plan de otra");
    let board = world.app_add_board(&space, "Tablero del plan");
    let deck = world.app_create_deck("El plan", 960.0, 540.0);
    let trashed = world.app_create_deck("Plan viejo", 960.0, 540.0);
    world.app_trash_deck(&trashed, true);
    let mail = world.app_add_mail("Re: plan", true);
    world.app_add_mail("Plan secreto", false);
    let chat = world.app_add_conversation(None, None, true);
    let message = world.app_add_message(&chat, "¿Tenemos planes?").unwrap();
    let room = world.app_add_conversation(Some(&space), Some("General"), true);
    world.app_add_message(&room, "mi plan es otro").unwrap();
    let closed = world.app_add_conversation(Some(&space), Some("Cerrada"), false);
    world.app_add_message(&closed, "un plan").unwrap();
    let (_, body) = ask(&mut world, &format!("workspace_id={space}&q=plan"));
    let brief: Vec<(&str, &str)> = body["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (hit["kind"].as_str().unwrap(), hit["title"].as_str().unwrap()))
        .collect();
    assert_eq!(
        brief,
        [
            ("page", "Plan"),
            ("presentation", "El plan"),
            ("whiteboard", "Planta"),
            ("board", "Tablero del plan"),
            ("mail", "Re: plan"),
            ("message", "Chat"),
            ("message", "General"),
        ]
    );
    let hit =
        |kind: &str| body["data"].as_array().unwrap().iter().find(|hit| hit["kind"] == kind).unwrap().clone();
    assert_eq!(hit("page")["snippet"].as_str().unwrap().chars().count(), 140);
    assert_eq!(hit("page")["rank"], json!(1.0));
    assert_eq!(
        hit("board"),
        json!({ "kind": "board", "id": board, "title": "Tablero del plan", "snippet": null, "parent_id": null, "rank": 0.9 })
    );
    assert_eq!((&hit("presentation")["id"], &hit("mail")["id"]), (&json!(deck.as_str()), &json!(mail)));
    assert_eq!((&hit("mail")["rank"], &hit("mail")["snippet"]), (&json!(0.8), &Value::Null));
    let told = hit("message");
    assert_eq!(
        (&told["id"], &told["parent_id"], &told["snippet"]),
        (&json!(message), &json!(chat), &json!("¿Tenemos planes?"))
    );
    assert!(told["rank"].as_f64().unwrap() < 0.2);
    // Presentations appear whichever workspace is searched, one that is not ours included.
    let nowhere = "workspace_id=3f0e2c9a-0000-4000-8000-000000000000&q=plan";
    let (status, body) = ask(&mut world, nowhere);
    assert_eq!((status, body["data"].as_array().unwrap().len()), (200, 3), "{body}");
}

#[test]
fn what_is_not_seen_is_not_found() {
    let (mut world, space) = world(&[("Plan uno", ""), ("Plan dos", ""), ("Plan tres", "")]);
    let ids: Vec<_> = world.visible_pages(&space).iter().map(|page| page.id.clone()).collect();
    world.app_trash(&ids[0]);
    world.app_hide(&ids[1], true);
    assert_eq!(titles(&mut world, &space, "plan"), ["Plan tres"]);
    world.app_leave_workspace(&space);
    assert_eq!(titles(&mut world, &space, "plan"), Vec::<String>::new());
}

#[test]
fn parameters_are_checked_and_the_limit_is_clamped() {
    let names: Vec<String> = (0..60).map(|n| format!("Plan {n}")).collect();
    let pages: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let (mut world, space) = world(&pages);
    for (query, status) in [
        ("q=plan".to_owned(), 400),
        (format!("workspace_id={space}"), 400),
        (format!("workspace_id={space}&q="), 400),
        (format!("workspace_id={space}&q=+%09"), 400),
        (format!("workspace_id={space}&q=plan"), 200),
    ] {
        assert_eq!(ask(&mut world, &query).0, status, "{query}");
    }
    for (limit, count) in [
        ("1", 1),
        ("0", 1),
        ("-7", 1),
        ("7", 7),
        ("50", 50),
        ("51", 50),
        ("1e9", 50),
        ("x", 20),
        ("NaN", 20),
        ("", 20),
    ] {
        let (_, body) = ask(&mut world, &format!("workspace_id={space}&q=plan&limit={limit}"));
        assert_eq!(body["data"].as_array().unwrap().len(), count, "{limit}");
    }
    world.set_scope("search:read", false);
    let (status, body) = ask(&mut world, &format!("workspace_id={space}&q=plan"));
    assert_eq!(status, 403);
    assert!(body["error"].as_str().unwrap().contains("search:read"));
}

#[test]
fn a_query_may_be_too_long() {
    let (mut world, space) = world(&[("Plan", "")]);
    let query = format!("workspace_id={space}&q=plan");
    world.choose(Choices { longest_search: Some(query.len()), ..Choices::default() });
    assert_eq!(ask(&mut world, &query).0, 200);
    assert_eq!(ask(&mut world, &format!("{query}e")).0, 414);
    world.choose(Choices {
        longest_search: Some(query.len()),
        long_search_status: 400,
        ..Choices::default()
    });
    assert_eq!(ask(&mut world, &format!("{query}e")).0, 400);
}
