//! The emulator's HTTP shell: what the plain values of its world cannot show.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use espejo::emulator::{Fault, Matcher, Server, Window, World};
use espejo::model::{Effect, ServiceError, Timestamp};
use espejo::service::Client;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends bytes, gives everything that comes back until the connection closes.
async fn talk(server: &Server, request: &str) -> String {
    let url = server.base_url();
    let address = url.trim_start_matches("http://").trim_end_matches("/api/v1");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    // A reset in the middle of an answer is one of the things to be seen.
    let _read = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer t\r\nconnection: close\r\n\r\n")
}

#[tokio::test]
async fn real_http_on_loopback() {
    let server = Server::start(World::new(1), "t").await.unwrap();
    assert!(server.base_url().starts_with("http://127.0.0.1:") && server.base_url().ends_with("/api/v1"));
    let answer = talk(&server, &get("/api/v1/workspaces")).await.to_lowercase();
    assert!(answer.starts_with("http/1.1 200 ok\r\n"), "{answer}");
    assert!(answer.contains("\r\ncontent-type: application/json; charset=utf-8\r\n"), "{answer}");
    assert!(
        answer.contains("\r\ncontent-length: 11\r\n") && answer.ends_with("\r\n\r\n{\"data\":[]}"),
        "{answer}"
    );
    for path in ["/", "/api/v1", "/workspaces", "/api/v1workspaces", "/api/v2/workspaces", "/api/v1/x"] {
        assert!(talk(&server, &get(path)).await.starts_with("HTTP/1.1 404 "), "{path}");
    }
    let bare = "GET /api/v1/workspaces HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    assert!(talk(&server, bare).await.starts_with("HTTP/1.1 401 "));
}

#[tokio::test]
async fn lost_and_cut_answers_on_the_wire() {
    let server = Server::start(World::new(1), "t").await.unwrap();
    server.world().fail_next(Matcher::Any, Fault::LostAfter);
    assert_eq!(talk(&server, &get("/api/v1/workspaces")).await, "");
    server.world().fail_next(Matcher::Any, Fault::Cut);
    let answer = talk(&server, &get("/api/v1/workspaces")).await;
    assert!(answer.contains("content-length: 11\r\n") && answer.ends_with("\r\n\r\n{\"dat"), "{answer}");
    server.world().fail_next(Matcher::Any, Fault::Short);
    let answer = talk(&server, &get("/api/v1/workspaces")).await;
    assert!(answer.contains("content-length: 5\r\n") && answer.ends_with("\r\n\r\n{\"dat"), "{answer}");
}

#[tokio::test]
async fn a_clock_of_ones_own() {
    let now = Arc::new(AtomicI64::new(0));
    let read = Arc::clone(&now);
    let mut world = World::new(1);
    world.set_limit(Some(2), Window::SlidingLog);
    let clock = Arc::new(move || Timestamp(read.load(Ordering::Relaxed)));
    let server = Server::start_with_clock(world, "t", clock).await.unwrap();
    let client = Client::new(&server.base_url(), SecretString::from("t")).unwrap();
    let mut served = Vec::new();
    for at in [0, 1000, 2000, 59_999, 60_000] {
        now.store(at, Ordering::Relaxed);
        let got = client.perform(&Effect::ListWorkspaces).await;
        assert!(matches!(got, Ok(_) | Err(ServiceError::RateLimited { retry_after_ms: None })), "{got:?}");
        served.push(got.is_ok());
    }
    assert_eq!(served, [true, true, false, false, true]);
    let world = server.world();
    assert_eq!((world.log().answered(429), world.log().most_in_any_minute()), (2, 4));
}

#[tokio::test(start_paused = true)]
async fn a_delayed_answer_delays_no_other() {
    let server = Server::start(World::new(1), "t").await.unwrap();
    let client = Client::new(&server.base_url(), SecretString::from("t")).unwrap();
    server.world().fail_next(Matcher::Any, Fault::Delay(20_000));
    let start = tokio::time::Instant::now();
    let slow = async {
        client.perform(&Effect::ListWorkspaces).await.unwrap();
        start.elapsed()
    };
    let quick = async {
        // After the slow one has arrived.
        while server.world().faults_waiting() > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        client.perform(&Effect::ListWorkspaces).await.unwrap();
        start.elapsed()
    };
    let (slow, quick) = tokio::join!(slow, quick);
    assert!(quick.as_secs() < 2 && slow.as_secs() >= 20, "{quick:?} {slow:?}");
}

#[tokio::test]
async fn stopping_gives_the_world_back_and_the_port_free() {
    let mut world = World::new(1);
    world.add_workspace("Equipo", "equipo");
    let server = Server::start(world, "t").await.unwrap();
    let client = Client::new(&server.base_url(), SecretString::from("t")).unwrap();
    client.perform(&Effect::ListWorkspaces).await.unwrap();
    let world = server.stop().await;
    assert_eq!(world.lock().unwrap().log().entries().len(), 1);
    let error = client.perform(&Effect::ListWorkspaces).await.unwrap_err();
    // The connection that the client kept is reset, or a new one is refused.
    assert!(matches!(error, ServiceError::Unreachable(_) | ServiceError::Lost(_)), "{error:?}");
}
