//! The rules of personal storage in the API document, one by one, and the signed links beside them.

use serde_json::{Value, json};

use crate::emulator::{Contents, DownloadRequest, HttpRequest, Window, World};
use crate::model::{FileId, Timestamp};

struct Caller {
    world: World,
    space: String,
    now: Timestamp,
}

impl Caller {
    fn new() -> Self {
        let mut world = World::new(7);
        world.set_limit(None, Window::SlidingLog);
        world.set_link_origin("http://here");
        let space = world.add_workspace("Equipo", "equipo").to_string();
        Self { world, space, now: Timestamp(1_000_000) }
    }

    #[track_caller]
    fn check(&mut self, method: &str, target: &str, body: &str, status: u16) -> Value {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let request = HttpRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            authorization: Some(format!("Bearer {}", self.world.token())),
            body: body.as_bytes().to_vec(),
        };
        let response = self.world.answer(&request, self.now);
        let answer: Value = serde_json::from_slice(&response.body).unwrap();
        assert_eq!(response.status, status, "{method} {target} {body}: {answer}");
        answer[if status < 300 { "data" } else { "error" }].clone()
    }

    fn upload(&self, more: Value) -> String {
        let mut body =
            json!({ "workspace_id": self.space, "filename": "a.txt", "content_base64": "aG9sYQ==" });
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        body.to_string()
    }

    fn fetch(&mut self, link: &str, range: Option<&str>) -> (u16, Vec<u8>) {
        let (path, query) = link.strip_prefix("http://here").unwrap().split_once('?').unwrap();
        let request = DownloadRequest {
            path: path.to_owned(),
            query: query.to_owned(),
            authorization: None,
            range: range.map(str::to_owned),
        };
        let response = self.world.download(&request, self.now);
        (response.status, response.body)
    }
}

fn text(text: &str) -> Contents {
    Contents::Bytes(text.as_bytes().to_vec())
}

#[test]
fn folders_are_walked_by_their_id_and_show_what_is_directly_in_them() {
    let mut caller = Caller::new();
    let docs = caller.world.app_make_folder(None, "Docs");
    let inner = caller.world.app_make_folder(Some(&docs), "Inner");
    let file = caller.world.app_put_file(Some(&docs), "a.pdf", text("x"));
    let root = caller.check("GET", "/storage", "", 200);
    assert_eq!(root["files"], json!([]));
    let expected =
        json!([{ "id": docs.as_str(), "parent_folder_id": null, "name": "Docs", "position": 1.0 }]);
    assert_eq!(root["folders"], expected);
    let listed = caller.check("GET", &format!("/storage?folder_id={docs}"), "", 200);
    assert_eq!(listed["folders"][0]["id"], inner.as_str());
    let keys: Vec<&String> = listed["files"][0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "folder_id", "attachment_id", "position", "filename", "mime_type", "size_bytes"]);
    assert_eq!(listed["files"][0]["mime_type"], "application/pdf");
    let empty = json!({ "folders": [], "files": [] });
    for nowhere in ["6f1d4f0e-0000-4000-8000-000000000000", "no-uuid", "%2e%2e"] {
        assert_eq!(caller.check("GET", &format!("/storage?folder_id={nowhere}"), "", 200), empty);
    }
    assert!(caller.world.app_change_folder(&docs, |folder| folder.foreign = true));
    assert_eq!(caller.check("GET", &format!("/storage?folder_id={docs}"), "", 200), empty);
    caller.check("GET", &format!("/storage/{file}"), "", 404);
}

#[test]
fn a_link_is_good_for_ten_minutes_and_needs_no_token() {
    let mut caller = Caller::new();
    let file = caller.world.app_put_file(None, "a.txt", text("hello"));
    let shown = caller.check("GET", &format!("/storage/{file}"), "", 200);
    let keys: Vec<&String> = shown.as_object().unwrap().keys().collect();
    let expected = [
        "id",
        "folder_id",
        "attachment_id",
        "filename",
        "mime_type",
        "size_bytes",
        "download_url",
        "expires_in_seconds",
    ];
    assert_eq!(keys, expected);
    assert_eq!(shown["expires_in_seconds"], 600);
    let link = shown["download_url"].as_str().unwrap().to_owned();
    assert_eq!(caller.fetch(&link, None), (200, b"hello".to_vec()));
    assert_eq!(caller.fetch(&link, Some("bytes=2-")), (206, b"llo".to_vec()));
    assert_eq!(caller.fetch(&link, Some("bytes=5-")).0, 416);
    assert_eq!(caller.fetch(&link.replace("signature=", "signature=0"), None).0, 403);
    caller.now = caller.now.plus_ms(599_000);
    assert_eq!(caller.fetch(&link, None).0, 200);
    caller.now = caller.now.plus_ms(1_000);
    assert_eq!(caller.fetch(&link, None).0, 403);
    assert_eq!(caller.world.log().entries().len(), 1, "downloads are no requests to the API");
    assert_eq!(caller.world.downloads().entries().len(), 6);
}

#[test]
fn uploads_are_taken_by_the_rules() {
    let mut caller = Caller::new();
    let trashed = caller.world.app_make_folder(None, "Old");
    caller.world.app_change_folder(&trashed, |folder| folder.trashed = true);
    let made = caller.check("POST", "/storage", &caller.upload(json!({})), 201);
    assert_eq!((&made["filename"], &made["size_bytes"]), (&json!("a.txt"), &json!(4)));
    let id = FileId::new(made["id"].as_str().unwrap()).unwrap();
    assert_eq!(caller.world.storage_file(&id).unwrap().bytes(), b"hola");
    let big = "A".repeat(4 * 1024 * 1024 + 4);
    for (more, status) in [
        (json!({ "filename": "a.txt" }), 201),
        (json!({ "content_base64": "" }), 201),
        (json!({ "workspace_id": "" }), 400),
        (json!({ "filename": "" }), 400),
        (json!({ "content_base64": null }), 400),
        (json!({ "content_base64": "%%%" }), 400),
        (json!({ "folder_id": "no" }), 400),
        (json!({ "folder_id": "6f1d4f0e-0000-4000-8000-000000000000" }), 404),
        (json!({ "folder_id": trashed.as_str() }), 404),
        (json!({ "filename": "x.HTML" }), 400),
        (json!({ "filename": "x.svg", "mime_type": "image/png" }), 400),
        (json!({ "filename": "x.js" }), 400),
        (json!({ "filename": "x.exe" }), 400),
        (json!({ "filename": "x.sh" }), 400),
        (json!({ "filename": "n".repeat(255) }), 201),
        (json!({ "filename": "n".repeat(256) }), 400),
        (json!({ "workspace_id": "6f1d4f0e-0000-4000-8000-000000000000" }), 400),
        (json!({ "content_base64": big }), 413),
    ] {
        let body = caller.upload(more);
        caller.check("POST", "/storage", &body, status);
    }
    for (sent, stored) in
        [("a/b\\c.txt", "a_b_c.txt"), ("x\u{202e}fdp.txt", "xfdp.txt"), ("a\u{7}b.txt", "ab.txt")]
    {
        let body = caller.upload(json!({ "filename": sent }));
        assert_eq!(caller.check("POST", "/storage", &body, 201)["filename"], stored);
    }
    let body = caller.upload(json!({ "filename": "x.foo", "mime_type": "text/x-foo" }));
    assert_eq!(caller.check("POST", "/storage", &body, 201)["mime_type"], "text/x-foo");
    caller.world.set_storage_room(Some(10));
    let body = caller.upload(json!({}));
    caller.check("POST", "/storage", &body, 400);
}

#[test]
fn what_is_in_the_trash_is_nowhere() {
    let mut caller = Caller::new();
    let docs = caller.world.app_make_folder(None, "Docs");
    let file = caller.world.app_put_file(Some(&docs), "a.txt", text("x"));
    let other = caller.world.app_put_file(Some(&docs), "b.txt", text("x"));
    let done = caller.check("DELETE", &format!("/storage/{file}"), "", 200);
    assert_eq!(done, json!({ "id": file.as_str(), "papelera": true }));
    caller.check("DELETE", &format!("/storage/{file}"), "", 404);
    caller.check("DELETE", "/storage/no-uuid", "", 400);
    caller.check("GET", &format!("/storage/{file}"), "", 404);
    let listed = caller.check("GET", &format!("/storage?folder_id={docs}"), "", 200);
    assert_eq!(listed["files"].as_array().unwrap().len(), 1);
    caller.world.app_change_folder(&docs, |folder| folder.trashed = true);
    caller.check("GET", &format!("/storage/{other}"), "", 404);
    caller.world.app_change_file(&file, |file| file.contents = None);
}
