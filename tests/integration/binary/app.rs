//! The demo's other side: the app as a web page. Once by plain requests, once in a real browser where one is installed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use espejo::emulator::World;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::bench::{append, bare, within};

const LONG: Duration = Duration::from_secs(60);

/// A running demo.
struct Demo {
    child: Child,
    home: tempfile::TempDir,
    /// The app's address.
    app: String,
}

impl Demo {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut demo = bare(home.path());
        let tmp = home.path().join("tmp");
        std::fs::create_dir(&tmp).unwrap();
        demo.env("TMPDIR", tmp)
            .args(["demo", "--dir"])
            .arg(home.path().join("mirror"))
            .stdout(Stdio::piped());
        let mut child = demo.spawn().unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        while !said.contains("Ctrl-C ends the demo") {
            assert!(lines.read_line(&mut said).unwrap() > 0, "the demo ended: {said}");
        }
        // What it says later must not stop it.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        let app = said.split_whitespace().find(|word| word.contains("/app/"));
        let app = app.unwrap_or_else(|| panic!("no address of the app: {said}")).to_owned();
        Self { child, home, app }
    }

    fn page(&self, name: &str) -> PathBuf {
        self.home.path().join("mirror/Taller Mistral/Pages").join(name)
    }

    fn state(&self) -> Value {
        let (status, body) = ask("GET", &format!("{}state", self.app), "");
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    fn act(&self, what: &Value) -> Value {
        let (status, body) = ask("POST", &format!("{}act", self.app), &what.to_string());
        assert_eq!(status, 200, "{what}: {body}");
        serde_json::from_str(&body).unwrap()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let pid = Pid::from_child(&self.child);
        // It may have ended already; nothing is left to do then.
        let _told = kill_process(pid, Signal::TERM);
        let _ended = self.child.wait();
    }
}

/// One request, and its status and body. The other side may leave the connection open: the body's length says where it ends.
fn ask(method: &str, address: &str, body: &str) -> (u16, String) {
    let mut answer = BufReader::new(send(method, address, body));
    let (mut head, mut length) = (String::new(), None);
    while !head.ends_with("\r\n\r\n") {
        let from = head.len();
        assert!(answer.read_line(&mut head).unwrap() > 0, "{address}: {head:?}");
        let line = head[from..].to_ascii_lowercase();
        length = line.strip_prefix("content-length:").map(|n| n.trim().parse::<usize>().unwrap()).or(length);
    }
    let mut body = vec![0; length.unwrap_or_else(|| panic!("{address}: {head}"))];
    answer.read_exact(&mut body).unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), String::from_utf8(body).unwrap())
}

fn send(method: &str, address: &str, body: &str) -> TcpStream {
    let (host, path) = address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let length = body.len();
    let head = format!(
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream
}

fn holds(file: &Path, text: &str) -> bool {
    std::fs::read_to_string(file).is_ok_and(|there| there.contains(text))
}

#[test]
fn what_is_done_in_the_demos_app_reaches_the_files_and_back() {
    let demo = Demo::start();
    let space = demo.state()["workspaces"][0]["id"].clone();
    let made = demo.act(&json!({ "act": "page", "workspace": space, "title": "Made in the app" }));
    let page = &made["id"];
    let block = &demo.act(&json!({ "act": "block", "page": page, "type": "checkListItem" }))["id"];
    demo.act(&json!({ "act": "text", "page": page, "block": block, "text": "a box" }));
    demo.act(&json!({ "act": "tick", "page": page, "block": block, "checked": true }));
    let file = demo.page("Made in the app.md");
    assert!(within(LONG, &mut || holds(&file, "- [x] a box")), "{:?}", std::fs::read_to_string(&file));
    // A browser that listens is told of what comes from the file.
    let mut events = BufReader::new(send("GET", &format!("{}events", demo.app), ""));
    let mut line = String::new();
    let mut next = || {
        line.clear();
        events.read_line(&mut line).unwrap();
        line.trim_end() == "data: changed"
    };
    assert!((0..40).any(|_| next()), "what there is is told first");
    append(&file, "\nfrom the file\n");
    assert!((0..40).any(|_| next()));
    assert!(within(LONG, &mut || demo.state().to_string().contains("from the file")));
    demo.act(&json!({ "act": "trash", "page": page }));
    assert!(within(LONG, &mut || !file.exists()), "its file goes to the mirror's trash");
    // Without the key there is nothing.
    let base = demo.app.split("/app/").next().unwrap();
    assert_eq!(ask("GET", &format!("{base}/app/0/state"), "").0, 404);
}

/// Another user of the machine reaches the port, and knows the program as well as its owner does.
#[test]
fn the_demos_service_takes_no_token_that_can_be_known() {
    let (one, other) = (Demo::start(), Demo::start());
    let scratch = |demo: &Demo| {
        let folders = std::fs::read_dir(demo.home.path().join("tmp")).unwrap().map(Result::unwrap);
        let token = folders.map(|folder| folder.path().join("token")).find(|path| path.exists());
        std::fs::read_to_string(token.expect("the demo has a token")).unwrap()
    };
    let status = |demo: &Demo, token: &str| {
        let (host, _) = demo.app.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "GET /api/v1/workspaces HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
        )
        .unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status(&one, &scratch(&one)), "200");
    for token in [scratch(&other).as_str(), "espejo-demo-token", World::DEFAULT_TOKEN] {
        assert_eq!(status(&one, token), "401");
    }
}

/// A browser that is driven by way of chromedriver.
struct Browser {
    driver: Child,
    session: String,
}

impl Browser {
    fn open(home: &Path) -> Option<Self> {
        let in_path = |name: &str| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
        };
        let (chromium, chromedriver) = (in_path("chromium")?, in_path("chromedriver")?);
        let mut command = Command::new(chromedriver);
        let mut driver = command.arg("--port=0").env("HOME", home).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(driver.stdout.take().unwrap());
        let mut line = String::new();
        let port = loop {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "chromedriver ended");
            if let Some((_, port)) = line.trim_end().split_once("successfully on port ") {
                break port.trim_end_matches('.').to_owned();
            }
        };
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        let mut browser = Self { driver, session: format!("http://127.0.0.1:{port}") };
        let flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ];
        let options = json!({ "binary": chromium, "args": flags });
        let wanted = json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": options } } });
        let id = browser.ask("POST", "/session", &wanted)["sessionId"].as_str().unwrap().to_owned();
        browser.session = format!("{}/session/{id}", browser.session);
        Some(browser)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = ask(method, &format!("{}{path}", self.session), &body.to_string());
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str::<Value>(&answer).unwrap()["value"].take()
    }

    /// Runs a script in the page.
    fn run(&self, script: &str) -> Value {
        self.ask("POST", "/execute/sync", &json!({ "script": script, "args": [] }))
    }

    fn types(&self, text: &str) {
        let keys =
            text.chars().flat_map(|c| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": c })));
        let keys: Vec<Value> = keys.collect();
        self.ask(
            "POST",
            "/actions",
            &json!({ "actions": [{ "type": "key", "id": "keys", "actions": keys }] }),
        );
    }

    fn shows(&self, text: &str) -> bool {
        let all = self.run("return document.querySelector('main').innerText");
        all.as_str().is_some_and(|all| all.contains(text))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.ask("DELETE", "", &json!({}));
        }
        let _told = kill_process(Pid::from_child(&self.driver), Signal::TERM);
        let _ended = self.driver.wait();
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "it says where it could not be tried")]
fn the_demos_app_works_in_a_real_browser() {
    let demo = Demo::start();
    let Some(browser) = Browser::open(demo.home.path()) else {
        println!("not tried: chromium and chromedriver are not installed");
        return;
    };
    browser.ask("POST", "/url", &json!({ "url": demo.app }));
    assert!(within(LONG, &mut || browser.run("return document.querySelectorAll('nav a').length").as_u64()
        > Some(20)));
    browser.run("document.querySelector('[data-act=new-page]').click()");
    assert!(
        within(LONG, &mut || browser.run("return document.querySelector('h1').textContent") == "New page")
    );
    browser.run("document.querySelector('[data-act=new-box]').click()");
    let focused = "return document.activeElement.className === 'text'";
    assert!(within(LONG, &mut || browser.run(focused) == true));
    browser.types("typed here");
    let file = demo.page("New page.md");
    assert!(within(LONG, &mut || holds(&file, "- [ ] typed here")), "{:?}", std::fs::read_to_string(&file));
    browser.run("document.querySelector('main input').click()");
    assert!(within(LONG, &mut || holds(&file, "- [x] typed here")));
    append(&file, "\n*from* the file\n");
    assert!(within(LONG, &mut || browser.shows("from the file")));
    assert_eq!(browser.run("return document.querySelector('main i').textContent"), "from");
    // The block that is typed in stays as it is while changes come in from the file.
    browser.run("document.querySelectorAll('main .text')[0].focus()");
    browser.types(" and more");
    assert!(
        within(LONG, &mut || holds(&file, "- [x] typed here and more")),
        "{:?}",
        std::fs::read_to_string(&file)
    );
    append(&file, "\nand again\n");
    assert!(within(LONG, &mut || browser.shows("and again")));
    assert_eq!(browser.run("return document.activeElement.textContent"), "typed here and more");
    browser.run("[...document.querySelectorAll('nav a')].find(a => a.textContent.includes('🖼')).click()");
    assert!(within(LONG, &mut || browser
        .run("return document.querySelectorAll('.board div').length")
        .as_u64()
        > Some(3)));
    let trouble = browser.ask("POST", "/se/log", &json!({ "type": "browser" }));
    assert_eq!(trouble, json!([]), "nothing is complained of in the console");
}

#[test]
fn the_demo_fills_no_folder_that_holds_anything_else() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("full");
    std::fs::create_dir(&dir).unwrap();
    super::bench::save(&dir.join("mine.txt"), "mine");
    let refused = bare(home.path()).args(["demo", "--dir"]).arg(&dir).output().unwrap();
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && told.contains("is not empty"), "{told}");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
}
