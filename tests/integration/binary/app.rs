//! The demo's other side: the app as a web page. Once by plain requests, once in a real browser where one is installed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use espejo::emulator::World;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::bench::{append, bare, within};
use super::needs::find;

const LONG: Duration = Duration::from_secs(60);

/// A running demo.
struct Demo {
    child: Child,
    home: Arc<tempfile::TempDir>,
    /// What it said up to the greeting's end.
    said: String,
    /// The app's address.
    app: String,
}

impl Demo {
    fn start() -> Self {
        Self::start_in(Arc::new(tempfile::tempdir().unwrap()))
    }

    fn start_in(home: Arc<tempfile::TempDir>) -> Self {
        let mut demo = bare(home.path());
        demo.args(["demo", "--dir"]).arg(home.path().join("demo")).stdout(Stdio::piped());
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
        Self { child, home, said, app }
    }

    /// Ends it by this signal, and keeps its folder.
    fn end(self, signal: Signal) -> Arc<tempfile::TempDir> {
        let home = Arc::clone(&self.home);
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        home
    }

    fn page(&self, name: &str) -> PathBuf {
        self.home.path().join("demo/Workspace/Taller Mistral/Pages").join(name)
    }

    /// What its status says needs attention.
    fn attention(&self) -> Value {
        let mut status = bare(self.home.path());
        let config = self.home.path().join("demo/.demo/config.toml");
        let told = status.args(["status", "--json", "--config"]).arg(config).output().unwrap();
        serde_json::from_slice::<Value>(&told.stdout).unwrap()["attention"].take()
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

#[test]
fn a_second_demo_goes_on_where_the_first_ended_also_after_a_kill() {
    let mut demo = Demo::start();
    let space = demo.state()["workspaces"][0]["id"].clone();
    demo.act(&json!({ "act": "page", "workspace": space, "title": "Made in the app" }));
    append(&demo.page("Inicio.md"), "\nfrom the file\n");
    for (signal, words) in [(Signal::TERM, "while it was away"), (Signal::KILL, "after the kill")] {
        let made = demo.page("Made in the app.md");
        assert!(within(LONG, &mut || demo.state().to_string().contains("from the file") && made.exists()));
        // The service is saved within a second or two; a kill may take what is newer.
        let saved = demo.home.path().join("demo/.demo/service.json");
        assert!(within(LONG, &mut || holds(&saved, "from the file")));
        let inicio = demo.page("Inicio.md");
        let home = demo.end(signal);
        append(&inicio, &format!("\n{words}\n"));
        demo = Demo::start_in(home);
        assert!(demo.said.contains("go on where the last demo in this folder ended"), "{}", demo.said);
        assert!(within(LONG, &mut || demo.state().to_string().contains(words)), "{words}");
        assert_eq!(demo.attention(), json!([]), "{words}");
        let beside =
            std::fs::read_dir(inicio.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
        let conflicts = beside.filter(|name| name.to_string_lossy().contains("conflict"));
        assert_eq!(conflicts.count(), 0, "{words}");
    }
    let second = bare(demo.home.path()).args(["demo", "--dir"]).arg(demo.home.path().join("demo")).output();
    let told = String::from_utf8(second.unwrap().stderr).unwrap();
    assert!(told.contains("another demo runs in"), "{told}");
}

#[test]
fn without_a_folder_the_demo_takes_a_temporary_one_and_names_the_way_back() {
    let home = tempfile::tempdir().unwrap();
    let (here, tmp) = (home.path().join("here"), home.path().join("tmp"));
    for dir in [&here, &tmp] {
        std::fs::create_dir(dir).unwrap();
    }
    let mut demo = bare(home.path());
    demo.arg("demo").env("TMPDIR", &tmp).current_dir(&here).stdout(Stdio::piped());
    let mut child = demo.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("Ctrl-C ends the demo") {
        assert!(lines.read_line(&mut said).unwrap() > 0, "the demo ended: {said}");
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    lines.read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success());
    let made: Vec<PathBuf> = std::fs::read_dir(&tmp).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!((made.len(), std::fs::read_dir(&here).unwrap().count()), (1, 0), "{made:?}");
    assert!(made[0].join("Workspace/Taller Mistral/Pages/Inicio.md").exists());
    assert!(said.contains(&format!("demo --dir {}", made[0].display())), "{said}");
}

/// Another user of the machine reaches the port, and knows the program as well as its owner does.
#[test]
fn the_demos_service_takes_no_token_that_can_be_known() {
    let (one, other) = (Demo::start(), Demo::start());
    let scratch = |demo: &Demo| std::fs::read_to_string(demo.home.path().join("demo/.demo/token")).unwrap();
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
        let (chromium, chromedriver) = (find("chromium")?, find("chromedriver")?);
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
        // A browser that is not asked to end outlives its driver, also after a test that failed.
        let end = std::panic::AssertUnwindSafe(|| self.ask("DELETE", "", &json!({})));
        drop(std::panic::catch_unwind(end));
        let _told = kill_process(Pid::from_child(&self.driver), Signal::TERM);
        let _ended = self.driver.wait();
    }
}

#[test]
fn the_demos_app_works_in_a_real_browser() {
    let demo = Demo::start();
    let Some(browser) = Browser::open(demo.home.path()) else { return };
    browser.ask("POST", "/url", &json!({ "url": demo.app }));
    assert!(within(LONG, &mut || browser.run("return document.querySelectorAll('nav a').length").as_u64()
        > Some(20)));
    browser.run("document.querySelector('[data-act=new-page]').click()");
    let has_focus = |label: &str| {
        let label = format!("return document.activeElement.getAttribute('aria-label') === '{label}'");
        within(LONG, &mut || browser.run(&label) == true)
    };
    assert!(has_focus("Title"));
    browser.types("Typed title\u{e007}");
    assert!(has_focus("Paragraph"), "an empty page gets a text to go on in");
    assert!(within(LONG, &mut || browser.run("return document.title") == "Typed title – espejo demo"));
    browser.run("document.querySelector('[data-act=new-box]').click()");
    assert!(has_focus("To-do"));
    browser.types("typed here");
    let file = demo.page("Typed title.md");
    assert!(within(LONG, &mut || holds(&file, "- [ ] typed here")), "{:?}", std::fs::read_to_string(&file));
    browser.run("document.querySelector('main input').click()");
    assert!(within(LONG, &mut || holds(&file, "- [x] typed here")));
    append(&file, "\n*from* the file\n");
    assert!(within(LONG, &mut || browser.shows("from the file")));
    assert_eq!(browser.run("return document.querySelector('main i').textContent"), "from");
    // The block that is typed in stays as it is while changes come in from the file.
    browser.run("document.querySelector('main .checkListItem .text').focus()");
    browser.types(" and more");
    assert!(
        within(LONG, &mut || holds(&file, "- [x] typed here and more")),
        "{:?}",
        std::fs::read_to_string(&file)
    );
    append(&file, "\nand again\n");
    assert!(within(LONG, &mut || browser.shows("and again")));
    assert_eq!(browser.run("return document.activeElement.textContent"), "typed here and more");
    // By keys alone: a new line, and back.
    browser.types("\u{e007}");
    assert!(within(LONG, &mut || browser.run("return document.activeElement.textContent") == ""));
    browser.types("\u{e003}");
    assert!(within(LONG, &mut || browser.run("return document.activeElement.textContent")
        == "typed here and more"));
    trash_and_back(&demo, &browser);
    fits_a_phone(&browser);
    let trouble = browser.ask("POST", "/se/log", &json!({ "type": "browser" }));
    assert_eq!(trouble, json!([]), "nothing is complained of in the console");
}

/// The trash asks first, and gives back. The focus stays where it was.
fn trash_and_back(demo: &Demo, browser: &Browser) {
    let has_focus = |key: &str| {
        let key = format!("return document.activeElement.dataset.key === '{key}'");
        assert!(within(LONG, &mut || browser.run(&key) == true), "{key}");
    };
    let asks = "return document.querySelector('dialog').open";
    let trash = "document.querySelector('[data-act=trash]').focus()";
    browser.run(trash);
    browser.types("\u{e007}");
    assert!(within(LONG, &mut || browser.run(asks) == true));
    browser.types("\u{e00c}");
    assert!(within(LONG, &mut || browser.run(asks) == false));
    has_focus("trash");
    browser.types("\u{e007}");
    assert!(within(LONG, &mut || browser.run(asks) == true));
    // From Cancel, which has the focus, to the other button.
    browser.types("\u{e004}\u{e007}");
    has_focus("restore");
    browser.types("\u{e007}");
    assert!(within(LONG, &mut || browser.shows("typed here and more")));
    // A page comes from a file while a link has the focus.
    browser.run("document.querySelector('nav a[aria-current]').focus()");
    let key = browser.run("return document.activeElement.dataset.key").as_str().unwrap().to_owned();
    super::bench::save(&demo.page("From a file.md"), "words\n");
    let come = "return document.querySelector('nav').innerText.includes('From a file')";
    assert!(within(LONG, &mut || browser.run(come) == true));
    has_focus(&key);
}

/// Everything there is to see is as wide as the window at most, and the contents give way to the page.
fn fits_a_phone(browser: &Browser) {
    let size = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
    let command = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": size });
    browser.ask("POST", "/goog/cdp/execute", &command);
    let fits = "const main = document.querySelector('main'); \
                return innerWidth === 390 && document.documentElement.scrollWidth <= 390 && main.scrollWidth <= 390 \
                && main.getBoundingClientRect().bottom === innerHeight";
    for (icon, shown) in
        [("🏠", ".checkListItem"), ("🖼", ".shape.ellipse"), ("📽", ".canvas"), ("🗂", ".files li")]
    {
        browser.run("document.querySelector('#menu').focus()");
        browser.types("\u{e007}");
        assert!(within(LONG, &mut || browser.run("return nav.contains(document.activeElement)") == true));
        let link = format!(
            "[...document.querySelectorAll('nav a')].find(a => a.textContent.includes('{icon}')).focus()"
        );
        browser.run(&link);
        browser.types("\u{e007}");
        let is_shown = format!("return document.querySelector('main {shown}') !== null");
        assert!(within(LONG, &mut || browser.run(&is_shown) == true), "{icon}");
        assert!(within(LONG, &mut || browser.run(fits) == true), "{icon}");
        assert_eq!(browser.run("return document.activeElement.id"), "main", "{icon}");
        let is_cut = "return [...document.querySelectorAll('.words')].filter(words => getComputedStyle(words).overflow \
                      !== 'visible').length";
        assert_eq!(browser.run(is_cut), 0, "{icon}");
    }
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
