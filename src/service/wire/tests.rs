//! Tables: effects to requests, answers to replies.

use serde_json::{Value, json};

use super::*;
use crate::model::{
    BodyJson, ContentHash, LONG_BODY, Next, Page, PageId, PageMeta, Rest, Workspace, WorkspaceId,
};

const PAGE: &str = "00000000-0000-4000-8000-000000000001";
const SPACE: &str = "00000000-0000-4000-8000-00000000000a";

fn page_id() -> PageId {
    PageId::new(PAGE).unwrap()
}

fn space() -> WorkspaceId {
    WorkspaceId::new(SPACE).unwrap()
}

fn fetch() -> Effect {
    Effect::FetchPage(page_id())
}

fn list() -> Effect {
    Effect::ListPages { workspace: space(), known: None }
}

fn create() -> Effect {
    Effect::CreatePage { workspace: space(), parent: None, title: "T".to_owned() }
}

fn update() -> Effect {
    Effect::UpdatePage { id: page_id(), title: None, content: Some(BodyJson::of(&[json!({})])) }
}

fn trash() -> Effect {
    Effect::TrashPage(page_id())
}

fn meta() -> PageMeta {
    PageMeta {
        id: page_id(),
        workspace: space(),
        parent: None,
        title: "T".to_owned(),
        icon: None,
        position: 0.0,
    }
}

fn answer(status: u16, body: &str) -> WireAnswer {
    let content_type = if body.starts_with('<') { "text/html; charset=utf-8" } else { "application/json" };
    WireAnswer {
        status,
        content_type: Some(content_type.to_owned()),
        body: body.as_bytes().to_vec(),
        ..WireAnswer::default()
    }
}

/// A page's JSON with these keys changed; a `null` in `remove` position is kept, so absence has its own list.
fn page_json(changes: Value, remove: &[&str]) -> String {
    let mut page = json!({
        "id": PAGE, "workspace_id": SPACE, "parent_page_id": null, "title": "T", "icon": null, "position": 0,
        "content": [], "nevera": null,
    });
    for (key, value) in changes.as_object().unwrap() {
        page[key] = value.clone();
    }
    for key in remove {
        page.as_object_mut().unwrap().shift_remove(*key);
    }
    page.to_string()
}

fn read(effect: &Effect, status: u16, body: &str) -> Result<ServiceReply, ServiceError> {
    read_answer(effect, &answer(status, body))
}

#[test]
fn effects_become_requests() {
    #[track_caller]
    fn check(effect: Effect, method: &str, path: &str, query: &str, body: Option<&str>) {
        let request = request_of(&effect).unwrap();
        assert_eq!((request.method, request.path.as_str(), request.query.as_str()), (method, path, query));
        let sent = request.body.map(|body| String::from_utf8(body).unwrap());
        assert_eq!(sent.as_deref(), body);
        assert!(effect.is_request());
    }
    let one = format!("/pages/{PAGE}");
    check(Effect::ListWorkspaces, "GET", "/workspaces", "", None);
    check(list(), "GET", "/pages", &format!("workspace_id={SPACE}"), None);
    check(fetch(), "GET", &one, "", None);
    check(create(), "POST", "/pages", "", Some(&format!(r#"{{"workspace_id":"{SPACE}","title":"T"}}"#)));
    let child =
        Effect::CreatePage { workspace: space(), parent: Some(page_id()), title: "a/\"b\"".to_owned() };
    let body = format!(r#"{{"workspace_id":"{SPACE}","title":"a/\"b\"","parent_page_id":"{PAGE}"}}"#);
    check(child, "POST", "/pages", "", Some(&body));
    let both =
        Effect::UpdatePage { id: page_id(), title: Some("N".to_owned()), content: Some(BodyJson::of(&[])) };
    check(both, "PATCH", &one, "", Some(r#"{"title":"N","content":[]}"#));
    let title = Effect::UpdatePage { id: page_id(), title: Some(String::new()), content: None };
    check(title, "PATCH", &one, "", Some(r#"{"title":""}"#));
    check(trash(), "DELETE", &one, "", None);
    assert_eq!(request_of(&Effect::Scan), None);
    assert!(!Effect::Scan.is_request());
}

#[test]
fn content_goes_back_as_it_came() {
    let blocks = r#"[{"zeta":1.0,"alpha":1E5,"id":"b","n":123456789012345678901234567890,"e":-0.00,"x":null,"props":{"b":1,"a":[{}]},"t":"\u00e9\ud83d\ude00"}]"#;
    let body =
        format!(r#"{{"data":{{"content":{blocks},"id":"{PAGE}","workspace_id":"{SPACE}","title":"T"}}}}"#);
    let Ok(ServiceReply::Page(page)) = read(&fetch(), 200, &body) else { panic!("no page") };
    let effect = Effect::UpdatePage { id: page_id(), title: None, content: Some(page.json) };
    let sent = String::from_utf8(request_of(&effect).unwrap().body.unwrap()).unwrap();
    // Only the escapes are spelt out; the text is the same.
    let expected = blocks.replace(r"\u00e9\ud83d\ude00", "é😀").replace("1E5", "1E+5");
    assert_eq!(sent.replace("1E5", "1E+5").replace("1e+5", "1E+5"), format!(r#"{{"content":{expected}}}"#));
}

#[test]
fn half_an_emoji_makes_no_answer_unreadable() {
    let page = page_json(json!({ "title": "T HALF", "content": [{ "id": "b", "text": "a HALF b" }] }), &[]);
    let body = format!(r#"{{"data":{}}}"#, page.replace("HALF", r"\ud83d"));
    let Ok(ServiceReply::Page(page)) = read(&fetch(), 200, &body) else { panic!("no page") };
    assert_eq!(page.meta.title, "T \u{fffd}");
    assert!(page.json.as_str().contains("a \u{fffd} b"), "{}", page.json.as_str());
}

#[test]
fn a_content_of_null_is_told_from_an_empty_one() {
    for (content, is_null) in [(json!(null), true), (json!([]), false)] {
        let body = format!(r#"{{"data":{}}}"#, page_json(json!({ "content": content }), &[]));
        let Ok(ServiceReply::Page(page)) = read(&fetch(), 200, &body) else { panic!("no page") };
        assert_eq!((page.json.as_str(), page.is_null), ("[]", is_null));
    }
}

#[test]
fn good_answers_are_read() {
    #[track_caller]
    fn check(effect: &Effect, data: &str, expected: ServiceReply) {
        for status in [200, 201] {
            assert_eq!(
                read(effect, status, &format!(r#"{{"data":{data}}}"#)),
                Ok(expected.clone()),
                "{data}"
            );
        }
    }
    let page = |meta, content, nevera| ServiceReply::Page(Box::new(Page::new(meta, content, nevera)));

    check(&Effect::ListWorkspaces, "[]", ServiceReply::Workspaces(vec![]));
    let full = Workspace {
        id: space(),
        name: "Équipo".to_owned(),
        slug: "eq".to_owned(),
        role: "owner".to_owned(),
        frozen: true,
        rest: Rest::stored(Some(r#"{"plan":"pro","new":[]}"#)),
    };
    let json = format!(
        r#"[{{"id":"{SPACE}","name":"Équipo","slug":"eq","plan":"pro","role":"owner","frozen":true,"new":[]}}]"#
    );
    check(&Effect::ListWorkspaces, &json, ServiceReply::Workspaces(vec![full.clone()]));
    let bare =
        Workspace { slug: String::new(), role: String::new(), frozen: false, rest: Rest::default(), ..full };
    check(
        &Effect::ListWorkspaces,
        &format!(r#"[{{"id":"{SPACE}","name":"Équipo"}}]"#),
        ServiceReply::Workspaces(vec![bare]),
    );

    let hash = |data: &str| ContentHash::of(data.trim().as_bytes());
    let empty = ServiceReply::Pages { pages: vec![], skipped: vec![], hash: hash("[ ]") };
    check(&list(), " [ ] ", empty);
    let listed = page_json(json!({}), &["content", "nevera"]);
    let listed = format!("[{listed}]");
    let one = ServiceReply::Pages { pages: vec![meta()], skipped: vec![], hash: hash(&listed) };
    check(&list(), &listed, one);
    let known = Effect::ListPages { workspace: space(), known: Some(hash(&listed)) };
    check(&known, &listed, ServiceReply::PagesAsKnown);

    check(&fetch(), &page_json(json!({}), &[]), page(meta(), vec![], None));
    check(
        &fetch(),
        &page_json(json!({}), &["nevera", "icon", "parent_page_id", "position"]),
        page(meta(), vec![], None),
    );
    check(
        &fetch(),
        &page_json(json!({ "nevera": { "imanes": [] }, "content": [{ "type": "x" }, 5], "more": 1 }), &[]),
        page(meta(), vec![json!({ "type": "x" }), json!(5)], Some(json!({ "imanes": [] }))),
    );
    let odd = PageMeta {
        parent: Some(PageId::new("up").unwrap()),
        title: "  \u{202e}a\nb ".to_owned(),
        icon: Some("🗺️".to_owned()),
        position: 2.5,
        ..meta()
    };
    let json = json!({ "parent_page_id": "up", "title": odd.title, "icon": "🗺️", "position": 2.5 });
    check(&fetch(), &page_json(json, &[]), page(odd, vec![], None));
    check(
        &fetch(),
        &page_json(json!({ "title": null }), &[]),
        page(PageMeta { title: String::new(), ..meta() }, vec![], None),
    );
    check(&fetch(), &page_json(json!({ "icon": 7 }), &[]), page(meta(), vec![], None));

    check(&create(), &page_json(json!({}), &["content", "nevera"]), ServiceReply::Meta(meta()));
    check(&update(), &page_json(json!({}), &["content", "nevera"]), ServiceReply::Meta(meta()));
    check(&trash(), &format!(r#"{{"id":"{PAGE}","papelera":true}}"#), ServiceReply::Trashed);
}

#[test]
fn one_bad_entry_harms_no_other() {
    #[track_caller]
    fn check(entry: &str, complaint: &str) {
        let good = page_json(json!({}), &[]);
        let other = page_json(json!({ "id": "other" }), &[]);
        let body = format!(r#"{{"data":[{good},{entry},{other}]}}"#);
        let Ok(ServiceReply::Pages { pages, skipped, .. }) = read(&list(), 200, &body) else {
            panic!("{entry}")
        };
        let ids: Vec<&str> = pages.iter().map(|page| page.id.as_str()).collect();
        assert_eq!(ids, [PAGE, "other"], "{entry}");
        assert_eq!(skipped.len(), 1, "{entry}");
        assert!(skipped[0].starts_with("entry 2 of the page list "), "{}", skipped[0]);
        assert!(skipped[0].contains(complaint), "{} lacks {complaint}", skipped[0]);
    }
    let with = |changes| page_json(changes, &[]);
    check("null", "null instead of an object");
    check("[]", "an array instead of an object");
    check("{}", "has no id");
    check(&with(json!({ "id": 5 })), "a number as its id");
    check(&with(json!({ "id": "../../etc" })), "an id that cannot be used: \"../../etc\"");
    check(&with(json!({ "id": "" })), "an id that cannot be used");
    check(&with(json!({ "id": PAGE })), "an entry before it");
    check(&with(json!({ "id": "x", "workspace_id": "elsewhere" })), "(elsewhere)");
    check(&page_json(json!({ "id": "x" }), &["workspace_id"]), "(id x) has no workspace_id");
    check(&page_json(json!({ "id": "x" }), &["title"]), "(id x) has no title");
    check(&with(json!({ "id": "x", "title": ["a"] })), "(id x) has an array as its title");
    check(&with(json!({ "id": "x", "parent_page_id": 7 })), "a number as its parent_page_id");
    check(&with(json!({ "id": "x", "parent_page_id": "a b" })), "an id that cannot be used");
    check(&with(json!({ "id": "x", "position": "a0" })), "a text as its position");
    check(&format!(r#"{{"id":"x","deep":{}{}}}"#, "[".repeat(5_000), "]".repeat(5_000)), "512 levels");
}

#[test]
fn what_is_no_evidence_is_refused() {
    #[track_caller]
    fn check(effect: &Effect, body: &str, complaint: &str) {
        match read(effect, 200, body) {
            Err(ServiceError::Garbled(why)) => {
                assert!(why.contains(complaint), "{why:?} lacks {complaint:?}")
            }
            other => panic!("{body:.200}: {other:?}"),
        }
    }
    let fetched = |changes, remove: &[&str]| format!(r#"{{"data":{}}}"#, page_json(changes, remove));
    // Not the service's JSON at all.
    let html = "<!DOCTYPE html>\n<html><head><title>Sign in</title>";
    check(
        &list(),
        html,
        "text/html; charset=utf-8 that begins “<!DOCTYPE html> <html><head><title>Sign in</title>",
    );
    check(&fetch(), "", "that begins nothing");
    check(&fetch(), "\u{fffd}\u{0}\u{1}", "that begins");
    check(&fetch(), "null", "not JSON but");
    check(&fetch(), "[]", "not JSON but");
    check(&fetch(), "{}", "no “data”, but nothing");
    check(&fetch(), r#"{"error":"x","more":1}"#, "no “data”, but error, more");
    check(&fetch(), r#"{"data":{}}x"#, "not valid JSON");
    // A list that is none is not an empty list.
    for data in ["null", "{}", "\"\"", "0"] {
        check(&list(), &format!(r#"{{"data":{data}}}"#), "is not a list");
        check(&Effect::ListWorkspaces, &format!(r#"{{"data":{data}}}"#), "is not a list");
    }
    // A workspace that cannot be read must not look as if it were gone.
    check(
        &Effect::ListWorkspaces,
        &format!(r#"{{"data":[{{"id":"{SPACE}","name":"A"}},{{"id":"b"}}]}}"#),
        "workspace 2 of the list has no name",
    );
    check(&Effect::ListWorkspaces, r#"{"data":[{"id":"a","name":"A"},{"id":"a","name":"B"}]}"#, "twice");
    check(&Effect::ListWorkspaces, r#"{"data":[{"id":"a/b","name":"A"}]}"#, "cannot be used");
    // A page without content is not an empty page.
    check(&fetch(), &fetched(json!({}), &["content"]), "has no content");
    check(&fetch(), &fetched(json!({ "content": {} }), &[]), "has an object as its content");
    check(&fetch(), &fetched(json!({ "content": "[]" }), &[]), "has a text as its content");
    // Another page's answer.
    check(&fetch(), &fetched(json!({ "id": "other" }), &[]), "page other came");
    check(&update(), &fetched(json!({ "id": "other" }), &[]), "page other came");
    check(&trash(), r#"{"data":{"id":"other","papelera":true}}"#, "not about that page");
    check(&trash(), r#"{"data":[]}"#, "an array instead of an object");
    check(&create(), &fetched(json!({ "workspace_id": "b" }), &[]), "in another workspace");
    // Too deep, unreadable, unkeepable.
    let deep =
        format!(r#"{{"data":{{"id":"{PAGE}","content":{}{}}}}}"#, "[".repeat(5_000), "]".repeat(5_000));
    check(&fetch(), &deep, "nested more than 512 levels deep");
    for key in [r#""$serde_json::private::Number":"#, r#""\u0024serde_json::private::Number" :"#] {
        let body =
            fetched(json!({ "content": ["here"] }), &[]).replace("\"here\"", &format!(r#"{{{key}"1"}}"#));
        check(&fetch(), &body, "cannot keep");
    }
}

#[test]
fn a_text_that_names_the_unkeepable_key_is_kept() {
    let text =
        json!({ "text": "{\"$serde_json::private::Number\": 1}", "b": ["$serde_json::private::Number"] });
    let body =
        json!({ "data": { "id": PAGE, "workspace_id": SPACE, "title": "T", "content": [text] } }).to_string();
    let Ok(ServiceReply::Page(page)) = read(&fetch(), 200, &body) else {
        panic!("{:?}", read(&fetch(), 200, &body))
    };
    assert_eq!(page.telling, [text]);
}

#[test]
fn what_breaks_off_is_lost_wherever_it_does() {
    let body = format!(r#"{{"data":{}}}"#, page_json(json!({ "content": [{ "a": "é", "n": 1.5 }] }), &[]));
    let body = body.as_bytes();
    for end in 1..body.len() {
        let answer = WireAnswer { body: body[..end].to_vec(), ..answer(200, "") };
        let error = read_answer(&fetch(), &answer).unwrap_err();
        assert!(matches!(error, ServiceError::Lost(_)), "{end}: {error:?}");
        assert!(error.may_have_happened());
    }
}

#[test]
fn sizes_are_capped_just_so() {
    for (effect, limit) in [(fetch(), 16 << 20), (list(), 64 << 20)] {
        assert_eq!(body_limit(&effect), limit);
        let data = if limit > 20 << 20 { "[]".to_owned() } else { page_json(json!({}), &[]) };
        let mut answer = answer(200, &format!(r#"{{"data":{data}}}"#));
        answer.body.resize(limit, b' ');
        assert!(read_answer(&effect, &answer).is_ok());
        answer.body.push(b' ');
        let error = read_answer(&effect, &answer).unwrap_err();
        assert_eq!(error, ServiceError::Garbled(format!("it is longer than {} MiB", limit >> 20)));
    }
}

#[test]
fn statuses_say_who_acts_next() {
    #[track_caller]
    fn check(status: u16, body: &str, expected: ServiceError, next: Next) {
        for effect in [fetch(), list(), create(), update(), trash(), Effect::ListWorkspaces] {
            let error = read(&effect, status, body).unwrap_err();
            assert_eq!(error, expected, "{effect:?}");
            assert_eq!(error.next(), next);
        }
    }
    let said = r#"{"error":"No\n puede\u0007 ser"}"#;
    let words = || "“No puede ser”".to_owned();
    check(400, said, ServiceError::Rejected { status: 400, message: words() }, Next::Park);
    check(401, said, ServiceError::Unauthorized(words()), Next::Stop);
    check(403, said, ServiceError::Forbidden(words()), Next::Park);
    check(404, said, ServiceError::NotFound(words()), Next::LookAgain);
    check(413, said, ServiceError::Rejected { status: 413, message: words() }, Next::Park);
    check(409, said, ServiceError::Rejected { status: 409, message: words() }, Next::Park);
    check(429, said, ServiceError::RateLimited { retry_after_ms: None }, Next::TryLater);
    for status in [408, 425, 500, 502, 503, 504, 521, 599] {
        check(status, said, ServiceError::Server { status, message: words() }, Next::TryLater);
    }
    check(
        304,
        said,
        ServiceError::Rejected {
            status: 304,
            message: "it redirects elsewhere, but the token is sent to base_url only; correct base_url"
                .to_owned(),
        },
        Next::Park,
    );
    check(
        400,
        r#"{"error":""}"#,
        ServiceError::Rejected { status: 400, message: "no reason given".to_owned() },
        Next::Park,
    );
    let html = "<html><h1>Bad gateway";
    let shown = || "text/html; charset=utf-8 that begins “<html><h1>Bad gateway…”".to_owned();
    check(502, html, ServiceError::Server { status: 502, message: shown() }, Next::TryLater);
    check(403, html, ServiceError::Forbidden(shown()), Next::Park);
    check(401, html, ServiceError::Unauthorized(shown()), Next::Stop);
    check(429, html, ServiceError::RateLimited { retry_after_ms: None }, Next::TryLater);
}

#[test]
fn a_404_in_other_words_is_no_evidence() {
    for body in [
        "<html>404",
        "",
        "{}",
        r#"{"message":"no route"}"#,
        r#"{"error":{"code":404}}"#,
        "[]",
        r#"{"error":"cut"#,
    ] {
        let error = read(&fetch(), 404, body).unwrap_err();
        assert!(matches!(error, ServiceError::Server { status: 404, .. }), "{body}: {error:?}");
        assert_eq!(error.next(), Next::TryLater);
    }
}

#[test]
fn a_redirect_names_its_host_and_nothing_more() {
    #[track_caller]
    fn check(location: Option<&str>, expected: &str) {
        let answer = WireAnswer { location: location.map(str::to_owned), ..answer(302, "") };
        let Err(ServiceError::Rejected { status: 302, message }) = read_answer(&fetch(), &answer) else {
            panic!()
        };
        assert_eq!(
            message,
            format!("it redirects {expected}, but the token is sent to base_url only; correct base_url")
        );
    }
    check(Some("https://evil.example/x?sig=secret"), "to evil.example");
    check(Some("//evil.example:8443?sig=secret"), "to evil.example:8443");
    check(Some("https://user:secret@evil.example#f"), "to evil.example");
    check(Some("/login?next=secret"), "elsewhere");
    check(Some("https://"), "elsewhere");
    check(None, "elsewhere");
}

#[test]
fn retry_after_is_read_in_both_forms() {
    #[track_caller]
    fn check(value: &str, date: Option<&str>, expected: Option<i64>) {
        let answer = WireAnswer {
            retry_after: Some(value.to_owned()),
            date: date.map(str::to_owned),
            ..answer(429, r#"{"error":"x"}"#)
        };
        let error = read_answer(&fetch(), &answer).unwrap_err();
        assert_eq!(error, ServiceError::RateLimited { retry_after_ms: expected }, "{value}");
    }
    check("0", None, Some(0));
    check(" 12 ", None, Some(12_000));
    check("1.5", None, Some(1500));
    check("-3", None, None);
    check("NaN", None, None);
    check("soon", None, None);
    check("99999999999999999999", None, Some(86_400_000));
    check("inf", None, Some(86_400_000));
    let moment = "Fri, 20 Nov 2026 10:00:30 GMT";
    check(moment, Some("Fri, 20 Nov 2026 10:00:00 GMT"), Some(30_000));
    check(moment, Some("Fri, 20 Nov 2026 10:01:00 GMT"), Some(0));
    check(moment, None, None);
}

#[test]
fn messages_stay_short() {
    let long = format!(r#"{{"error":"{}"}}"#, "word ".repeat(10_000));
    let Err(ServiceError::Rejected { message, .. }) = read(&update(), 400, &long) else { panic!() };
    assert_eq!(message.chars().count(), 303);
    let Err(error) = read(&fetch(), 200, &"x".repeat(100_000)) else { panic!() };
    assert!(error.to_string().chars().count() < 300, "{error}");
}

#[test]
fn a_long_page_is_read_like_any_other() {
    let block = r#"{"zeta":1.0,"id":"b","type":"paragraph","content":[{"text":"words"}]}"#;
    let content = format!("[{}]", vec![block; LONG_BODY / block.len() + 1].join(","));
    let body = |content: &str, title: &str| {
        let others = format!(r#""id":"{PAGE}","workspace_id":"{SPACE}","title":{title},"nevera":{{"a":1}}"#);
        format!(r#"{{"data":{{"content":{content},{others}}}}}"#)
    };
    let Ok(ServiceReply::Page(long)) = read(&fetch(), 200, &body(&content, "\"T\"")) else {
        panic!("no page")
    };
    let short = format!("[{block}]");
    let Ok(ServiceReply::Page(short)) = read(&fetch(), 200, &body(&short, "\"T\"")) else {
        panic!("no page")
    };
    assert_eq!((&long.meta, &long.nevera), (&short.meta, &short.nevera));
    assert_eq!(long.json.as_str(), content);
    assert_eq!(long.telling, short.telling, "one of each shape");
    let updated = read(&update(), 200, &body(&content, "\"T\""));
    assert_eq!(updated, Ok(ServiceReply::Meta(long.meta)));
    // Long or not, the complaint is the same.
    let wrong = |content: &str| read(&fetch(), 200, &body(content, "7")).unwrap_err().to_string();
    assert_eq!(wrong(&content), wrong("[]"));
    let no_list = format!(r#"{{"a":"{}"}}"#, "a".repeat(LONG_BODY));
    let no_list = read(&fetch(), 200, &body(&no_list, "\"T\"")).unwrap_err().to_string();
    assert!(no_list.contains("as its content instead of an array"), "{no_list}");
}
