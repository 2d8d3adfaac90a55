//! The client against the emulator, and against servers that no emulator would be.

use std::sync::Arc;
use std::time::Duration;

use espejo::emulator::{Fault, Matcher, Server, Window, World};
use espejo::model::{BodyJson, Effect, Next, PageId, ServiceError, ServiceReply, WorkspaceId};
use espejo::service::{Client, ClientError, Timeouts};
use secrecy::SecretString;
use serde_json::json;

use super::raw::{Act, Raw, answer, gzip_of_blanks};

const TOKEN: &str = "tok_s3cret-0123456789";

struct Pair {
    server: Server,
    client: Client,
    space: WorkspaceId,
    page: PageId,
}

fn client(base_url: &str) -> Client {
    Client::new(base_url, SecretString::from(TOKEN)).expect("a client")
}

/// A workspace with three pages, the first of which has three blocks.
async fn pair() -> Pair {
    let mut world = World::new(1);
    world.set_limit(None, Window::SlidingLog);
    let space = world.add_workspace("Equipo", "equipo");
    let content = vec![json!({ "id": "a", "type": "paragraph" }), json!({ "id": "b" }), json!({ "id": "c" })];
    let page = world.app_create(&space, None, "Página", content);
    world.app_create(&space, Some(&page), "Hija", Vec::new());
    world.app_create(&space, None, "Otra", Vec::new());
    let server = Server::start(world, TOKEN).await.expect("a server");
    let client = client(&server.base_url());
    Pair { server, client, space, page }
}

impl Pair {
    fn fetch(&self) -> Effect {
        Effect::FetchPage(self.page.clone())
    }

    fn list(&self) -> Effect {
        Effect::ListPages { workspace: self.space.clone(), known: None }
    }

    fn rename(&self, title: &str) -> Effect {
        Effect::UpdatePage { id: self.page.clone(), title: Some(title.to_owned()), content: None }
    }

    fn create(&self, title: &str) -> Effect {
        Effect::CreatePage {
            workspace: self.space.clone(),
            parent: Some(self.page.clone()),
            title: title.to_owned(),
        }
    }
}

#[tokio::test]
async fn the_six_requests() {
    let pair = pair().await;
    let Ok(ServiceReply::Workspaces(spaces)) = pair.client.perform(&Effect::ListWorkspaces).await else {
        panic!()
    };
    assert_eq!((spaces.len(), spaces[0].name.as_str(), &spaces[0].id), (1, "Equipo", &pair.space));

    let Ok(ServiceReply::Pages { pages, skipped, .. }) = pair.client.perform(&pair.list()).await else {
        panic!()
    };
    let titles: Vec<&str> = pages.iter().map(|page| page.title.as_str()).collect();
    assert_eq!((titles, skipped), (vec!["Página", "Hija", "Otra"], vec![]));
    assert_eq!(pages[1].parent.as_ref(), Some(&pair.page));

    let Ok(ServiceReply::Page(page)) = pair.client.perform(&pair.fetch()).await else { panic!() };
    assert_eq!((&page.meta, page.telling.len()), (&pages[0], 3));

    let Ok(ServiceReply::Meta(new)) = pair.client.perform(&pair.create("Nueva / ñ")).await else { panic!() };
    assert_eq!((new.title.as_str(), new.parent.as_ref()), ("Nueva / ñ", Some(&pair.page)));

    let content = vec![json!({ "z": 1, "a": [] })];
    let update = Effect::UpdatePage {
        id: new.id.clone(),
        title: Some("B".to_owned()),
        content: Some(BodyJson::of(&content)),
    };
    let Ok(ServiceReply::Meta(updated)) = pair.client.perform(&update).await else { panic!() };
    assert_eq!((updated.id.clone(), updated.title.as_str()), (new.id.clone(), "B"));
    assert_eq!(pair.server.world().page(&new.id).unwrap().content, content);

    assert_eq!(pair.client.perform(&Effect::TrashPage(new.id.clone())).await, Ok(ServiceReply::Trashed));
    let again = pair.client.perform(&Effect::TrashPage(new.id.clone())).await;
    assert!(matches!(again, Err(ServiceError::NotFound(_))), "{again:?}");
    let methods: Vec<String> =
        pair.server.world().log().entries().map(|entry| entry.method.clone()).collect();
    assert_eq!(methods, ["GET", "GET", "GET", "POST", "PATCH", "DELETE", "DELETE"]);
}

#[tokio::test]
async fn a_request_can_run_beside_the_engine() {
    let pair = pair().await;
    let (client, fetch) = (Arc::new(pair.client), Effect::FetchPage(pair.page));
    let running = tokio::spawn(async move { client.perform(&fetch).await });
    assert!(matches!(running.await, Ok(Ok(ServiceReply::Page(_)))));
}

#[tokio::test]
async fn what_is_no_request_is_not_sent() {
    let pair = pair().await;
    assert!(matches!(
        pair.client.perform(&Effect::Scan).await,
        Err(ServiceError::Rejected { status: 0, .. })
    ));
    assert_eq!(pair.server.world().log().entries().len(), 0);
}

#[tokio::test]
async fn each_fault_is_told_apart_and_harms_one_request() {
    let pair = pair().await;
    let check = async |effect: Effect, fault: Fault, expected: &str, next: Next| {
        let before = pair.server.world().log().entries().len();
        pair.server.world().fail_next(Matcher::Any, fault.clone());
        let error = pair.client.perform(&effect).await.expect_err("a fault");
        let told = error.to_string();
        assert!(told.contains(expected), "{fault:?}: {told}");
        assert_eq!(error.next(), next, "{fault:?}: {told}");
        assert!(told.chars().count() < 450 && !told.chars().any(char::is_control), "{told}");
        // One fault, one request: nothing is tried again by itself; and the next one is served.
        assert_eq!(pair.server.world().log().entries().len(), before + 1, "{fault:?}");
        assert!(pair.client.perform(&pair.fetch()).await.is_ok(), "after {fault:?}");
    };
    let status = |status| Fault::Status { status, retry_after: None };
    check(pair.fetch(), status(400), "rejects it (status 400): “Status 400, on command”", Next::Park).await;
    check(pair.fetch(), status(401), "refuses the token", Next::Stop).await;
    check(pair.fetch(), status(403), "forbids it", Next::Park).await;
    check(pair.fetch(), status(404), "does not show it", Next::LookAgain).await;
    check(pair.fetch(), status(429), "refuses further requests", Next::TryLater).await;
    check(pair.fetch(), status(500), "failed with status 500", Next::TryLater).await;
    check(pair.rename("x"), Fault::StatusAfter(503), "failed with status 503", Next::TryLater).await;
    check(
        pair.fetch(),
        Fault::Page(502),
        "502: text/html; charset=utf-8 that begins “<!DOCTYPE html>",
        Next::TryLater,
    )
    .await;
    check(pair.fetch(), Fault::Page(404), "base_url may be wrong", Next::TryLater).await;
    check(pair.fetch(), Fault::PageWith200, "this network asks for a login (a web page", Next::LookAgain)
        .await;
    check(pair.fetch(), Fault::Page(511), "this network asks for a login (it says so)", Next::TryLater).await;
    for effect in [pair.fetch(), pair.list(), pair.rename("x"), pair.create("x"), Effect::ListWorkspaces] {
        check(effect.clone(), Fault::LostBefore, "(no answer)", Next::LookAgain).await;
        check(effect.clone(), Fault::LostAfter, "(no answer)", Next::LookAgain).await;
        check(effect.clone(), Fault::Cut, "was cut off after", Next::LookAgain).await;
        check(effect.clone(), Fault::Short, "was cut off after", Next::LookAgain).await;
        check(effect, Fault::Noise, "it is not JSON but", Next::Park).await;
    }
    check(pair.fetch(), Fault::WrongType, "the answer is invalid: page", Next::Park).await;
    check(pair.fetch(), Fault::NoContent, "has no content", Next::Park).await;
    check(pair.fetch(), Fault::Huge(60_000_000), "longer than 16 MiB", Next::Park).await;
    check(pair.rename("x"), Fault::Huge(20_000_000), "longer than 16 MiB", Next::Park).await;
    check(pair.list(), Fault::Huge(80_000_000), "longer than 64 MiB", Next::Park).await;
    check(pair.fetch(), Fault::Deep(1_000), "nested more than 512 levels", Next::Park).await;
    check(pair.fetch(), Fault::Deep(100_000), "nested more than 512 levels", Next::Park).await;
    check(Effect::ListWorkspaces, Fault::WrongType, "workspace 1 of the list", Next::Park).await;
}

#[tokio::test]
async fn a_list_loses_only_the_entry_that_is_bad() {
    let pair = pair().await;
    let check = async |fault: Fault, left: &[&str], complaint: Option<&str>| {
        pair.server.world().fail_next(Matcher::Lists, fault.clone());
        let Ok(ServiceReply::Pages { pages, skipped, .. }) = pair.client.perform(&pair.list()).await else {
            panic!("{fault:?}")
        };
        let titles: Vec<&str> = pages.iter().map(|page| page.title.as_str()).collect();
        assert_eq!(titles, left, "{fault:?}");
        assert_eq!(skipped.len(), usize::from(complaint.is_some()), "{fault:?}: {skipped:?}");
        assert!(skipped.iter().all(|told| told.contains(complaint.unwrap_or(""))), "{skipped:?}");
    };
    check(Fault::SpoiltEntry, &["Página", "Otra"], Some("entry 2 of the page list has a number as its id"))
        .await;
    check(Fault::WrongType, &["Hija", "Otra"], Some("entry 1 of the page list")).await;
    check(Fault::Deep(1_000), &["Hija", "Otra"], Some("nested more than 512 levels")).await;
    check(Fault::Huge(60_000_000), &["Página", "Hija", "Otra"], None).await;
    check(Fault::EmptyList, &[], None).await;
    check(Fault::ShortList, &["Página"], None).await;
}

#[tokio::test]
async fn a_retry_hint_is_passed_on() {
    let pair = pair().await;
    pair.server
        .world()
        .fail_next(Matcher::Any, Fault::Status { status: 429, retry_after: Some("7".to_owned()) });
    let error = pair.client.perform(&pair.fetch()).await.unwrap_err();
    assert_eq!(error, ServiceError::RateLimited { retry_after_ms: Some(7000) });
}

#[tokio::test(start_paused = true)]
async fn patience_has_its_limits() {
    let pair = pair().await;
    let start = tokio::time::Instant::now();
    pair.server.world().fail_next(Matcher::Any, Fault::Delay(29_000));
    assert!(pair.client.perform(&pair.fetch()).await.is_ok());
    assert!(start.elapsed() >= Duration::from_secs(29));

    let start = tokio::time::Instant::now();
    pair.server.world().fail_next(Matcher::Any, Fault::Delay(31_000));
    let error = pair.client.perform(&pair.rename("late")).await.unwrap_err();
    assert_eq!(error, ServiceError::Lost("no answer in time".to_owned()));
    assert!(start.elapsed() < Duration::from_secs(31));
    assert_eq!(pair.server.world().page(&pair.page).unwrap().title, "late", "it was done all the same");

    // A byte now and then keeps the connection alive, but not for ever.
    let endless = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    let drip = Raw::start(vec![Act::Drip(endless.clone(), b"x".to_vec(), 5000)]).await;
    let start = tokio::time::Instant::now();
    let error = client(&drip.base_url).perform(&pair.fetch()).await.unwrap_err();
    assert!(matches!(&error, ServiceError::Lost(why) if why.contains("no answer in time")), "{error}");
    let waited = start.elapsed();
    assert!((Duration::from_secs(59)..Duration::from_secs(61)).contains(&waited), "{waited:?}");
    // Without an end, it is read as far as a page may go and no further.
    let flood = Raw::start(vec![Act::Drip(endless, vec![b' '; 1 << 20], 0)]).await;
    let start = tokio::time::Instant::now();
    let error = client(&flood.base_url).perform(&pair.fetch()).await.unwrap_err();
    assert_eq!(error, ServiceError::Garbled("it is longer than 16 MiB".to_owned()));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n".to_vec();
    let drip = Raw::start(vec![Act::Say(head), Act::Close]).await;
    let start = tokio::time::Instant::now();
    let error = client(&drip.base_url).perform(&pair.fetch()).await.unwrap_err();
    assert!(
        matches!(&error, ServiceError::Lost(why) if why.contains("after 0 bytes: no answer in time")),
        "{error}"
    );
    assert!(start.elapsed() <= Duration::from_secs(31), "{:?}", start.elapsed());
}

#[tokio::test]
async fn what_was_never_sent_is_unreachable() {
    let pair = pair().await;
    let base_url = pair.server.base_url();
    let fetch = pair.fetch();
    pair.server.stop().await;
    let error = client(&base_url).perform(&fetch).await.unwrap_err();
    assert!(matches!(&error, ServiceError::Unreachable(why) if why.contains("refused")), "{error:?}");
    assert!(!error.may_have_happened());
    // TLS that does not come about has carried no request either.
    let raw = Raw::start(vec![Act::SayAndClose(answer("200 OK", "", b""))]).await;
    let secure = Client::with_timeouts(
        &raw.base_url.replace("http:", "https:"),
        SecretString::from(TOKEN),
        Timeouts { connect: Duration::from_millis(500), ..Timeouts::default() },
    );
    match secure {
        Ok(secure) => {
            let error = secure.perform(&fetch).await.unwrap_err();
            assert!(matches!(error, ServiceError::Unreachable(_)), "{error:?}");
        }
        // A computer without any CA certificates, which has to run these tests as well.
        Err(error) => assert!(matches!(error, ClientError::Tls(_)), "{error}"),
    }
    assert_eq!(raw.requests().len(), 0);
}

#[tokio::test]
async fn no_redirect_is_followed_and_no_token_leaves() {
    let pair = pair().await;
    let elsewhere = Raw::start(vec![Act::SayAndClose(answer("200 OK", "", b"{\"data\":[]}"))]).await;
    let mut targets = vec![elsewhere.base_url.clone(), format!("{}/pages", pair.server.base_url())];
    targets.push(elsewhere.base_url.replace("127.0.0.1", "localhost"));
    for target in targets {
        for effect in [pair.fetch(), pair.list(), pair.rename("x"), Effect::TrashPage(pair.page.clone())] {
            let before = pair.server.world().log().entries().len();
            pair.server.world().fail_next(Matcher::Any, Fault::Redirect(target.clone()));
            let message = match pair.client.perform(&effect).await {
                Err(ServiceError::Rejected { status: 302, message }) if !target.contains("localhost") => {
                    message
                }
                // Another host: something in between sends its visitors to a login.
                Err(ServiceError::Lost(message)) if target.contains("localhost") => message,
                other => panic!("{target}: {other:?}"),
            };
            assert!(message.contains("it redirects to ") && !message.contains("/api"), "{message}");
            assert_eq!(pair.server.world().log().entries().len(), before + 1);
        }
    }
    for status in
        ["301 Moved", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect", "300 Many"]
    {
        let headers = format!("location: {}\r\n", elsewhere.base_url);
        let raw = Raw::start(vec![Act::Say(answer(status, &headers, b""))]).await;
        assert!(matches!(
            client(&raw.base_url).perform(&pair.rename("x")).await,
            Err(ServiceError::Rejected { status: 300..=308, .. })
        ));
        assert_eq!(raw.requests().len(), 1);
    }
    assert_eq!(elsewhere.requests(), Vec::<String>::new(), "nobody else was asked anything");
}

#[tokio::test]
async fn what_a_request_says_of_us() {
    let raw = Raw::start(vec![Act::Say(answer("200 OK", "", b"{\"data\":[]}"))]).await;
    client(&raw.base_url).perform(&Effect::ListWorkspaces).await.unwrap();
    let requests = raw.requests();
    let mut lines: Vec<&str> =
        requests[0].trim_end().lines().filter(|line| !line.starts_with("host:")).collect();
    lines[1..].sort_unstable();
    assert_eq!(
        lines,
        [
            "GET /api/v1/workspaces HTTP/1.1",
            "accept-encoding: gzip",
            "accept: application/json",
            &format!("authorization: Bearer {TOKEN}"),
            concat!("user-agent: espejo/", env!("CARGO_PKG_VERSION")),
        ]
    );
}

#[tokio::test]
async fn the_token_is_in_no_error_even_when_said_back() {
    let pair = pair().await;
    assert!(!format!("{:?}", pair.client).contains("s3cret"));
    let padding = "x ".repeat(145);
    let bodies = [
        format!("{{\"error\":\"bad token {TOKEN}\"}}"),
        // Where the words are cut to length: no half of it may stay.
        format!("{{\"error\":\"{padding}{TOKEN}\"}}"),
        format!("<html>Authorization: Bearer {TOKEN}"),
        format!("{{\"data\":{{\"id\":\"{TOKEN}\"}}}}"),
        format!("{{\"error\":\"\\u0074{}\"}}", &TOKEN[1..]),
    ];
    for body in &bodies {
        for status in ["200 OK", "400 Bad", "401 No", "403 No", "404 No", "500 Oh", "302 Found"] {
            let headers = format!("location: https://{TOKEN}.example/\r\ncontent-type: {TOKEN}/x\r\n");
            let raw = Raw::start(vec![Act::Say(answer(status, &headers, body.as_bytes()))]).await;
            let error = client(&raw.base_url).perform(&pair.fetch()).await.unwrap_err();
            let told = format!("{error} {error:?}");
            assert!(!told.contains("tok_s3") && !told.contains("s3cret"), "{status} {body}: {told}");
        }
    }
}

#[tokio::test]
async fn nothing_is_ever_sent_twice() {
    let pair = pair().await;
    for effect in [pair.create("Nueva"), pair.rename("x"), pair.fetch()] {
        // A connection that closes on its first request.
        let raw = Raw::start(vec![Act::Close]).await;
        let error = client(&raw.base_url).perform(&effect).await.unwrap_err();
        assert!(matches!(error, ServiceError::Lost(_)), "{error:?}");
        assert_eq!(raw.requests().len(), 1);
        // A connection that was good once, and closes on its second.
        let good = answer("200 OK", "", b"{\"data\":[]}");
        let raw = Raw::start(vec![Act::Say(good), Act::Close]).await;
        let client = client(&raw.base_url);
        client.perform(&Effect::ListWorkspaces).await.unwrap();
        let error = client.perform(&effect).await.unwrap_err();
        assert!(matches!(error, ServiceError::Lost(_)), "{error:?}");
        assert_eq!(raw.requests().len(), 2);
    }
    // Protocol answers that a library might take for an invitation.
    for status in ["408 Request Timeout", "421 Misdirected Request", "425 Too Early", "503 Unavailable"] {
        let raw = Raw::start(vec![Act::SayAndClose(answer(status, "retry-after: 0\r\n", b""))]).await;
        client(&raw.base_url).perform(&pair.create("Nueva")).await.unwrap_err();
        assert_eq!(raw.requests().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn odd_answers_are_told_apart() {
    let pair = pair().await;
    let check = async |bytes: Vec<u8>, expected: Result<(), &str>| {
        let raw = Raw::start(vec![Act::SayAndClose(bytes.clone())]).await;
        let got = client(&raw.base_url).perform(&Effect::ListWorkspaces).await;
        match (got, expected) {
            (Ok(_), Ok(())) => {}
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{words}: {error}"),
            (got, _) => panic!("{}: {got:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(80)])),
        }
    };
    let good = b"{\"data\":[]}";
    check(answer("200 OK", "", good), Ok(())).await;
    check(answer("200 OK", "content-type: text/html\r\n", good), Ok(())).await;
    check([b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), good].concat(), Ok(())).await;
    check(b"HTTP/1.1 200 OK\r\n\r\n{\"data\":[".to_vec(), Err("was cut off after 9 bytes")).await;
    check(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nb\r\n{\"data\":[]}\r\n".to_vec(),
        Err("(no answer)"),
    )
    .await;
    check(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec(), Err("something that begins nothing"))
        .await;
    check(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(), Err("the answer is invalid")).await;
    check(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec(), Err("(no answer)")).await;
    check(b"HTTP/1.1 999 \xff\xff\r\n\r\n".to_vec(), Err("status 999")).await;
    let wide = format!("x-wide: {}\r\n", "w".repeat(2_000_000));
    check(answer("200 OK", &wide, good), Err("(no answer)")).await;
    // A refusal whose words break off is still that refusal.
    check(b"HTTP/1.1 401 No\r\ncontent-length: 999\r\n\r\n{\"err".to_vec(), Err("refuses the token")).await;
    check(answer("400 Bad", "", &vec![b'x'; 30_000_000]), Err("rejects it (status 400)")).await;
    // Compressed: read, and counted decoded.
    let gzip = "content-encoding: gzip\r\n";
    check(answer("200 OK", gzip, &gzip_of_blanks(good, 5000)), Ok(())).await;
    let bomb = gzip_of_blanks(good, 90_000_000);
    assert!(bomb.len() < 600_000);
    check(answer("200 OK", gzip, &bomb), Err("longer than 64 MiB")).await;
    check(answer("200 OK", gzip, &bomb[..bomb.len() / 10]), Err("was cut off")).await;
    check(answer("200 OK", gzip, good), Err("(no answer)")).await;
    let page = pair.fetch();
    let raw = Raw::start(vec![Act::SayAndClose(answer("200 OK", gzip, &bomb))]).await;
    let error = client(&raw.base_url).perform(&page).await.unwrap_err();
    assert_eq!(error, ServiceError::Garbled("it is longer than 16 MiB".to_owned()));
}

#[tokio::test]
async fn localhost_is_this_computer() {
    let pair = pair().await;
    let by_name = client(&pair.server.base_url().replace("127.0.0.1", "localhost"));
    assert!(by_name.perform(&pair.fetch()).await.is_ok());
}

#[test]
fn clients_that_would_give_the_token_away_are_not_made() {
    #[track_caller]
    fn check(base_url: &str, token: &str, words: &str) {
        let error = Client::new(base_url, SecretString::from(token)).expect_err("refused").to_string();
        assert!(error.contains(words) && !error.contains("s3cret"), "{error}");
    }
    check("http://example.com/api/v1", TOKEN, "is plain http");
    check("https://example.com/api/v1", "", "the token is empty");
    check("https://example.com/api/v1", "s3cret\r\nhost: evil", "more than one line");
    check("https://example.com/api/v1", "s3cret s3cret", "a space");
}
