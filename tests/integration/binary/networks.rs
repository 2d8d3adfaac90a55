//! Networks that are in the way: one that asks for a login, a company's proxy, a certificate that is not trusted.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use espejo::emulator::{Fault, Matcher};
use rustix::process::{Pid, Signal, kill_process};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::bench::{Bench, Told, append, paragraph, save, side_by_side, within, words};

fn bench(pages: usize) -> Bench {
    Bench::new(|world, space| {
        for n in 0..pages {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
        }
    })
}

#[test]
fn a_network_that_asks_for_a_login_is_one_outage() {
    let elsewhere = "https://login.example/?to=s3cret".to_owned();
    side_by_side([Fault::Page(511), Fault::PageWith200, Fault::Redirect(elsewhere)], |fault| {
        let bench = bench(40);
        let daemon = bench.run_in_step();
        bench.world().fail_randomly(Matcher::Any, fault.clone(), 1_000);
        append(&bench.page("Page 1.md"), "\nwritten meanwhile\n");
        bench.ask("\"full-pass\"");
        bench.until("it is told", || bench.attention().contains("this network asks for a login"));
        // The cause is named at once to a person who asks for one page.
        let told = bench.tell(&["sync", bench.page("Page 2.md").to_str().unwrap()]);
        assert!(told.code == 1 && told.err.contains("asks for a login"), "{fault:?}: {told:?}");
        let told = bench.attention();
        assert_eq!(told.lines().count(), 1, "{fault:?}: {told}");
        assert!(!told.contains("operator") && !told.contains("base_url"), "{told}");
        let log = bench.log();
        assert_eq!(log.matches("[outage]").count(), 1, "{fault:?}: {log}");
        for other in ["[failing]", "[unclear]", "[refused]", "s3cret"] {
            assert!(!log.contains(other), "{fault:?}: {log}");
        }
        bench.world().calm();
        // The next try may be a minute away; another run makes it at once.
        assert_eq!(daemon.stop().code(), Some(0));
        let daemon = bench.run_in_step();
        assert!(words(&bench.content("Page 1")).contains("written meanwhile"));
        bench.until("nothing is told", || bench.attention().is_empty());
        bench.rest(daemon);
    });
}

/// What a command says on stderr until the test has heard it; the command is ended then.
fn heard(bench: &Bench, arguments: &[&str], words: &str) -> String {
    let mut child = bench.espejo(arguments).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut said = child.stderr.take().unwrap();
    let (lines, told) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(&mut said).lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    let mut all = String::new();
    // A busy machine is slow. Nothing would be said for more than a minute.
    let is_heard = within(Duration::from_secs(20), &mut || {
        all.extend(told.try_iter().map(|line| line + "\n"));
        all.contains(words)
    });
    let is_running = child.try_wait().unwrap().is_none();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    child.wait().unwrap();
    assert!(is_heard && is_running, "{arguments:?}: {is_running}, {all}");
    all
}

#[test]
fn a_sync_says_at_once_what_it_waits_for_and_until_when() {
    let bench = bench(2);
    bench.sync();
    // A port on which nothing listens.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    serve_from(&bench, &format!("http://127.0.0.1:{port}/api/v1"), "");
    let waits = "the service cannot be reached: ";
    for arguments in [&["sync"][..], &["sync", "--dry-run"]] {
        let told = heard(&bench, arguments, waits);
        assert_eq!(told.lines().count(), 1, "{told}");
        let until = told.trim_end().rsplit_once("espejo tries again until ").map(|(_, until)| until);
        assert!(until.is_some_and(|until| until.len() == "14:30:05".len()), "{told}");
    }
    // The daemon's pass is waited for in the same way.
    let daemon = bench.run();
    bench.until("it runs", || bench.status()["state"] == "running" && bench.log().contains("[outage]"));
    heard(&bench, &["sync"], waits);
    drop(daemon);
}

#[test]
fn an_address_that_is_not_the_api_is_one_sentence_and_the_end_of_a_pass() {
    let elsewhere = |to: &str| Fault::Redirect(to.to_owned());
    side_by_side(
        [
            (Fault::Page(404), "correct base_url"),
            (Fault::Status { status: 404, retry_after: None }, "correct base_url"),
            (elsewhere("/somewhere/else"), "correct base_url"),
            (elsewhere("https://login.example/"), "this network asks for a login"),
            (Fault::PageWith200, "this network asks for a login"),
            (Fault::Noise, "check that base_url is the API's address"),
        ],
        |(fault, words)| {
            let bench = bench(3);
            bench.world().fail_randomly(Matcher::Any, fault.clone(), 1_000);
            for arguments in [&["sync"][..], &["sync", "--dry-run"]] {
                let before = bench.requests().len();
                let told = bench.tell(arguments);
                assert_eq!((told.code, told.err.lines().count()), (1, 1), "{fault:?}: {told:?}");
                assert!(told.err.contains(words) && !told.err.contains("operator"), "{fault:?}: {told:?}");
                assert!(bench.requests().len() <= before + 2, "{fault:?}: {:?}", bench.requests());
            }
            bench.world().calm();
            bench.sync();
            assert!(bench.page("Page 2.md").exists(), "{fault:?}");
        },
    );
}

#[test]
fn a_plan_without_the_api_is_one_sentence_and_the_end_of_a_pass() {
    let bench = bench(12);
    bench.world().set_plan_refuses(true);
    let words = "nothing is sent: the service forbids it: “Personal access tokens require the Pro plan”; change the plan";
    let told = bench.tell(&["sync"]);
    assert_eq!((told.code, told.err.lines().count()), (1, 1), "{told:?}");
    assert!(told.err.contains(words), "{told:?}");
    assert!(bench.requests().len() <= 3, "{:?}", bench.requests());
    bench.world().set_plan_refuses(false);
    let daemon = bench.run_in_step();
    // The same when the plan ends under a running daemon, and everything is mirrored.
    bench.world().set_plan_refuses(true);
    append(&bench.page("Page 1.md"), "\nwritten meanwhile\n");
    bench.ask("\"full-pass\"");
    bench.until("it is told", || bench.attention().contains("require the Pro plan"));
    bench.until("it is one sentence", || bench.attention().lines().count() == 1);
    let told = bench.tell(&["sync"]);
    assert!(told.code == 1 && told.err.contains(words), "{told:?}");
    bench.world().set_plan_refuses(false);
    assert_eq!(daemon.stop().code(), Some(0));
    let daemon = bench.run_in_step();
    assert!(super::bench::words(&bench.content("Page 1")).contains("written meanwhile"));
    bench.rest(daemon);
}

/// A network that delivers a PATCH seconds after espejo gave it up: what it undoes is sent again, and no editor is blamed.
#[test]
fn a_request_of_our_own_that_comes_late_is_blamed_on_nobody() {
    let bench = bench(1);
    let daemon = bench.run_in_step();
    // Late enough that both edits are there before.
    let writes = Matcher::Method("PATCH".to_owned());
    bench.world().fail_next(writes, Fault::Late(15_000));
    for line in ["the first line", "the second line"] {
        append(&bench.page("Page 0.md"), &format!("\n{line}\n"));
        bench.until("it is sent", || words(&bench.content("Page 0")).contains(line));
    }
    bench.until("the late one has come", || !words(&bench.content("Page 0")).contains("the second line"));
    // A read of a replica that lags would show the same for a while, so espejo waits.
    bench.until_within(Duration::from_secs(90), "what it undid is sent again", || {
        bench.ask("\"full-pass\"");
        words(&bench.content("Page 0")).contains("the second line")
    });
    bench.until_in_step();
    for line in ["the first line", "the second line"] {
        let page = words(&bench.content("Page 0"));
        assert_eq!((page.matches(line).count(), bench.text("Page 0.md").matches(line).count()), (1, 1));
    }
    assert_eq!(bench.attention(), "", "nobody is blamed");
    assert!(!bench.log().contains("[overwritten]"), "{}", bench.log());
    bench.rest(daemon);
}

/// Reads a request's head and says one thing.
fn answer(stream: impl Read + Write, reply: &str) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
        line.clear();
    }
    // The other side may have gone: it did not trust the certificate.
    drop(stream.get_mut().write_all(reply.as_bytes()));
}

/// A proxy on this machine that asks for a name and a password, until the test's program ends; its address.
pub(super) fn proxy_with_a_login() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream, "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n");
        }
    });
    format!("http://{address}")
}

/// The certificate authority of the service below.
fn authority() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls/ca.pem")
}

/// A service on this machine that shows a certificate of its own authority, and has nothing; its base URL.
fn service_with_a_certificate() -> String {
    let place = authority();
    let file = |name: &str| place.with_file_name(name);
    let chain = CertificateDer::pem_file_iter(file("localhost.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(file("localhost.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let reply = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\nconnection: close\r\n\r\n{\"data\":[]}";
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            thread::spawn(move || answer(rustls::StreamOwned::new(connection, stream), reply));
        }
    });
    format!("https://localhost:{port}/api/v1")
}

/// Gives the config another service, with more lines at its top.
pub(super) fn serve_from(bench: &Bench, base_url: &str, lines: &str) {
    let config = bench.outside("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    let keys = ["base_url", "proxy", "ca_file"];
    let rest = text
        .lines()
        .filter(|line| !keys.iter().any(|key| line.starts_with(key)))
        .collect::<Vec<_>>()
        .join("\n");
    save(&config, &format!("base_url = {base_url:?}\n{lines}\n{rest}\n"));
}

#[test]
fn a_certificate_that_is_not_trusted_is_the_users_to_mend_and_ca_file_mends_it() {
    let bench = bench(1);
    let url = service_with_a_certificate();
    serve_from(&bench, &url, "");
    let daemon = bench.run();
    bench.until("it is told", || bench.attention().contains("certificate"));
    let attention = bench.attention();
    assert!(attention.contains("the certificate of the service is not trusted"), "{attention}");
    assert!(attention.contains("set ca_file in the config"), "{attention}");
    assert_eq!(bench.tell(&["status"]).code, 3);
    let told = bench.tell(&["doctor"]);
    let plain = |told: &Told| told.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain(&told).contains("set ca_file in the config"), "{told:?}");
    assert!(plain(&told).contains("the system's certificate authorities"), "{told:?}");
    // Either way the doctor says what is in force.
    let mut command = bench.espejo(&["doctor"]);
    let told = Told::of(command.env("SSL_CERT_FILE", authority()).output().unwrap());
    assert!(
        plain(&told).contains("accepts the token") && plain(&told).contains("(SSL_CERT_FILE)"),
        "{told:?}"
    );
    serve_from(&bench, &url, &format!("ca_file = {:?}", authority()));
    let told = bench.tell(&["doctor"]);
    assert!(plain(&told).contains("accepts the token") && plain(&told).contains("(ca_file)"), "{told:?}");
    daemon.signal(Signal::HUP);
    bench.until("it is over", || bench.log().contains("resolved: nothing is sent: the certificate"));
    assert_eq!(daemon.stop().code(), Some(0));
    // A file that is none is told in one sentence.
    serve_from(&bench, &url, &format!("ca_file = {:?}", bench.outside("token")));
    let told = bench.tell(&["sync"]);
    assert_eq!((told.code, told.err.lines().count()), (2, 1), "{told:?}");
    assert!(told.err.contains("there is no certificate in it"), "{told:?}");
}

#[test]
fn a_proxy_that_asks_for_a_login_is_the_users_to_mend() {
    let bench = bench(1);
    let proxy = proxy_with_a_login();
    serve_from(&bench, "https://service.invalid/api/v1", &format!("proxy = {proxy:?}"));
    let daemon = bench.run();
    bench.until("it is told", || bench.attention().contains("proxy asks"));
    let attention = bench.attention();
    assert_eq!(bench.tell(&["status"]).code, 3);
    assert!(attention.contains("the proxy asks for a name and a password"), "{attention}");
    assert_eq!(daemon.stop().code(), Some(0));
    // The same by the environment, with a password that is shown nowhere.
    serve_from(&bench, "https://service.invalid/api/v1", "");
    let named = proxy.replace("http://", "http://ana:s3cret@");
    let mut command = bench.espejo(&["doctor"]);
    let told =
        Told::of(command.env("HTTPS_PROXY", &named).env("NO_PROXY", "intra.example").output().unwrap());
    let plain = told.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        plain.contains(&format!("the proxy {proxy} (HTTPS_PROXY), but not for intra.example")),
        "{told:?}"
    );
    assert!(plain.contains("put them into the proxy's address") && !plain.contains("s3cret"), "{told:?}");
}
