//! Search through the real binary: offline over what is mirrored, and at the service, alone and beside a daemon.

use std::fs;

use espejo::emulator::{Contents, HttpRequest, World};
use espejo::model::{Timestamp, WorkspaceId};
use serde_json::{Value, json};

use super::bench::{Bench, DEADLINE, append, paragraph, save, save_bytes, words};

const ALL_ON: &str =
    "[whiteboards]\nenabled = true\n[presentations]\nenabled = true\n[storage]\nenabled = true\n";

fn bench(pages: &str) -> Bench {
    Bench::with(pages, |world, space| {
        for (title, text) in [
            ("Reunión", "El equipo habló del camión rojo"),
            ("Notas", "Las reuniones del equipo de obra duran mucho"),
            ("Roadmap", "What we plan to do next"),
        ] {
            world.app_create(space, None, title, vec![paragraph("a", text)]);
        }
    })
}

impl Bench {
    #[track_caller]
    fn found(&self, arguments: &[&str]) -> Vec<Value> {
        let told = self.tell(&[&["search", "--json"], arguments].concat());
        assert_eq!(told.code, 0, "{arguments:?}: {told:?}");
        serde_json::from_str(&told.out).expect("one JSON array")
    }

    /// The titles that a search finds, in order.
    #[track_caller]
    fn titles(&self, arguments: &[&str]) -> Vec<String> {
        self.found(arguments).iter().map(|one| one["title"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn what_is_mirrored_is_found_offline_as_it_is_in_the_files() {
    let bench = bench("");
    let before = bench.tell(&["search", "equipo"]);
    assert_eq!(before.code, 1, "{before:?}");
    assert!(before.err.starts_with("espejo: there is no mirror yet"), "{before:?}");
    bench.sync();
    bench.forget_requests();
    assert_eq!(bench.titles(&["reunion"]), ["Reunión", "Notas"]);
    assert_eq!(bench.titles(&["camiones"]), ["Reunión"]);
    let hit = &bench.found(&["plan"])[0];
    assert_eq!(
        (&hit["kind"], &hit["path"], &hit["snippet"], &hit["workspace"]),
        (
            &json!("page"),
            &json!("Equipo/Pages/Roadmap.md"),
            &json!("What we plan to do next"),
            &json!("Equipo")
        )
    );
    assert!(hit["rank"].as_f64().unwrap() > 1.0 && hit["id"] == bench.id("Roadmap").as_str(), "{hit}");
    // As one types: what begins so comes after what is there, and its words are marked.
    assert_eq!(bench.titles(&["camio"]), ["Reunión"]);
    let hit = &bench.found(&["nex"])[0];
    assert!(hit["rank"].as_f64().unwrap() < 1.0, "{hit}");
    assert_eq!((&hit["snippet"], &hit["marks"]), (&json!("What we plan to do next"), &json!([[19, 23]])));
    let told = bench.tell(&["search", "-l", "reunion"]);
    let files: Vec<String> =
        ["Reunión.md", "Notas.md"].map(|name| format!("{}\n", bench.page(name).display())).to_vec();
    assert_eq!((told.code, told.out), (0, files.concat()));
    assert_eq!(bench.tell(&["search", "-l", "xilofonista"]).out, "");
    // An edit that nobody has seen yet, then a rename that has not been sent, a file in nobody's list, a deletion.
    append(&bench.page("Notas.md"), "\nTambién compramos bicicletas.\n");
    assert_eq!(bench.titles(&["bicicleta"]), ["Notas"]);
    assert_eq!(bench.requests(), Vec::<String>::new(), "offline is offline");
    let daemon = bench.run_in_step();
    fs::rename(bench.page("Notas.md"), bench.page("Apuntes.md")).unwrap();
    bench.until("the rename travels", || bench.titled("Apuntes").is_some());
    bench.until_in_step();
    let found = bench.found(&["apuntes"]);
    assert_eq!((found.len(), &found[0]["path"]), (1, &json!("Equipo/Pages/Apuntes.md")), "{found:?}");
    assert_eq!(bench.titles(&["notas"]), Vec::<String>::new());
    save(&bench.page("Nueva.md"), "Un velero en el puerto\n");
    bench.until("the new page is found", || bench.titles(&["veleros"]) == ["Nueva"]);
    bench.until_in_step();
    let page = bench.id("Apuntes");
    bench.world().app_trash(&page);
    bench.look_again();
    bench.until("it is in the trash and not found", || bench.titles(&["bicicletas"]).is_empty());
    bench.world().app_restore(&page);
    bench.until("it is found again", || {
        bench.ask("\"full-pass\"");
        bench.titles(&["bicicletas"]) == ["Apuntes"]
    });
    fs::remove_file(bench.page("Reunión.md")).unwrap();
    bench.until("what is deleted is not found", || bench.titles(&["camión"]).is_empty());
    bench.rest(daemon);
}

#[test]
fn the_index_is_kept_up_although_an_upgrade_took_the_running_program_away() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "One", vec![paragraph("a", "words")]);
    });
    let program = bench.outside("espejo");
    fs::copy(env!("CARGO_BIN_EXE_espejo"), &program).unwrap();
    let daemon = bench.run_beneath(&["sh", "-c", "shift; exec \"$HOME/espejo\" \"$@\"", "sh"]);
    bench.until_in_step();
    fs::remove_file(&program).unwrap();
    let index = bench.state().join("search.sqlite3");
    // Half a minute after the start, by itself.
    bench.until_within(2 * DEADLINE, "the index is made", || index.exists());
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn the_index_is_nobodys_loss() {
    let bench = bench("");
    bench.sync();
    assert_eq!(bench.titles(&["equipo"]).len(), 2);
    let index = bench.state().join("search.sqlite3");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(&index).unwrap().permissions().mode() & 0o777, 0o600);
    let whole = fs::read(&index).unwrap();
    for damage in [vec![0x5a; 9_000], Vec::new(), whole[..whole.len() / 2].to_vec(), {
        let mut torn = whole.clone();
        let from = torn.len().min(4_096);
        torn[from..].fill(0xff);
        torn
    }] {
        for ending in ["-wal", "-shm"] {
            drop(fs::remove_file(bench.state().join(format!("search.sqlite3{ending}"))));
        }
        save_bytes(&index, &damage);
        assert_eq!(bench.titles(&["equipo"]).len(), 2);
    }
    // The state goes: search says so, and works again with the state.
    for name in ["espejo.sqlite3", "espejo.sqlite3-wal", "espejo.sqlite3-shm"] {
        drop(fs::remove_file(bench.state().join(name)));
    }
    assert_eq!(bench.tell(&["search", "equipo"]).code, 1);
    bench.sync();
    assert_eq!(bench.titles(&["equipo"]).len(), 2);
    assert!(bench.attention().is_empty(), "{}", bench.attention());
}

#[test]
fn whiteboards_slides_and_stored_files_are_found() {
    let bench = Bench::with(ALL_ON, |world, space| {
        let board = espejo::model::CanvasId::Board(world.app_create_board(space, "Kick-off"));
        world.app_put_element(&board, json!({ "type": "sticky", "content": "comprar tornillos" })).unwrap();
        let deck = world.app_create_deck("Pitch", 960.0, 540.0);
        let slide = world.slides_of(&deck).remove(0);
        let slide = espejo::model::CanvasId::Slide(deck, slide);
        world.app_put_element(&slide, json!({ "type": "text", "content": "Nuestras cifras" })).unwrap();
        world.app_put_file(None, "informe_2026-final.pdf", Contents::Bytes(b"x".to_vec()));
    });
    bench.sync();
    for (words, kind, path) in [
        ("tornillo", "whiteboard", "Equipo/Whiteboards/Kick-off.canvas"),
        ("kick-off", "whiteboard", "Equipo/Whiteboards/Kick-off.canvas"),
        ("cifra", "slide", "Presentations/Pitch.canvas"),
        ("pitch", "presentation", "Presentations/Pitch.canvas"),
        ("informe", "file", "Storage/informe_2026-final.pdf"),
        ("2026-fin", "file", "Storage/informe_2026-final.pdf"),
    ] {
        let found = bench.found(&[words]);
        assert_eq!(found.len(), 1, "{words}: {found:?}");
        assert_eq!((&found[0]["kind"], &found[0]["path"]), (&json!(kind), &json!(path)), "{words}");
        assert_eq!(bench.found(&[words, "--kind", kind]).len(), 1);
        assert_eq!(bench.found(&[words, "--kind", "page"]).len(), 0);
    }
    bench.edit_canvas(&bench.board_file("Kick-off.canvas"), |nodes| {
        nodes[0]["text"] = json!("comprar martillos");
    });
    assert_eq!(bench.found(&["martillo"]).len(), 1, "an edit that was not sent yet");
}

#[test]
fn whatever_is_typed_is_answered_in_words() {
    let bench = bench("");
    bench.sync();
    let long = "ñ".repeat(10_000);
    for typed in [
        "\"equipo",
        "\"",
        "''",
        "a\" b\" \"c",
        "NEAR(",
        "NEAR(a b, 5)",
        "equip*",
        "title:x",
        "{title body}: x",
        "^equipo",
        "a AND (b OR",
        "NOT",
        "a NOT",
        "AND",
        "OR",
        "OR OR",
        "-",
        "- -",
        "--",
        "c++",
        "foo-bar",
        "%",
        "_",
        "\\",
        "';--",
        "🚲",
        "\u{301}",
        "\u{200f}",
        "日本",
        "a\tb\nc",
        "\u{1b}[2J",
        &long,
        "a:b:c",
        "(((((((",
        "\"\"",
        "+-&|!(){}[]^~*?:\\/",
    ] {
        for flags in [&["search", "--"][..], &["search", "--json", "--"]] {
            let told = bench.tell(&[flags, &[typed]].concat());
            assert_eq!(told.code, 0, "{typed:?}: {told:?}");
            assert_eq!(told.err, "", "{typed:?}");
            assert!(!told.out.contains('\u{1b}'), "{typed:?}: {told:?}");
        }
    }
    let many = "a1 ".repeat(100);
    for (typed, why) in [
        (&[""][..], "nothing to search for"),
        (&["  "], "nothing to search for"),
        (&["", " ", "\t"], "nothing to search for"),
        (&["-equipo"], "only excludes"),
        (&["-a", "OR", "-b"], "only excludes"),
        (&[many.as_str()], "more than 64 words"),
    ] {
        for flags in [&["search", "--"][..], &["search", "--remote", "--"]] {
            let told = bench.tell(&[flags, typed].concat());
            assert_eq!((told.code, told.out.as_str()), (2, ""), "{typed:?}: {told:?}");
            assert!(told.err.starts_with("espejo: ") && told.err.contains(why), "{typed:?}: {told:?}");
            assert_eq!(told.err.lines().count(), 1, "{told:?}");
        }
    }
    let told = bench.tell(&["search", "--remote", "x", "--limit", "51"]);
    assert_eq!(told.code, 2, "{told:?}");
    for (flags, why) in [
        (&["--kind", "mail"][..], "not mirrored"),
        (&["--kind", "page", "--kind", "message"], "not mirrored"),
        (&["--remote", "--kind", "slide"], "cannot search for it"),
    ] {
        let told = bench.tell(&[&["search", "x"], flags].concat());
        assert_eq!((told.code, told.out.as_str()), (2, ""), "{told:?}");
        assert!(told.err.contains(why), "{told:?}");
    }
    let none = bench.tell(&["search", "xilofón"]);
    assert_eq!((none.code, none.out.as_str()), (0, "nothing found; --remote asks the service\n"), "{none:?}");
    let plain = bench.tell(&["search", "camión"]);
    assert_eq!(plain.out, "Equipo/Pages/Reunión.md\n    El equipo habló del camión rojo\n");
}

/// What `GET /search` finds, as titles.
/// The titles of the pages that the service finds, in its order, each with its rank.
fn service(world: &mut World, space: &WorkspaceId, query: &str) -> Vec<(String, f64)> {
    let encoded: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let answer = world.answer(
        &HttpRequest {
            method: "GET".to_owned(),
            path: "/search".to_owned(),
            query: format!("workspace_id={space}&limit=50&q={encoded}"),
            authorization: Some(format!("Bearer {}", world.token())),
            body: Vec::new(),
        },
        Timestamp(0),
    );
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let hits = body["data"].as_array().unwrap().iter().filter(|hit| hit["kind"] == "page");
    hits.map(|hit| (hit["title"].as_str().unwrap().to_owned(), hit["rank"].as_f64().unwrap())).collect()
}

/// The order of pages is the service's, but that those whose title says what is asked for come first.
#[test]
fn the_ranking_agrees_with_the_service() {
    let nouns =
        ["plan", "obra", "equipo", "camión", "reunión", "presupuesto", "roadmap", "budget", "mañana", "año"];
    let rest = [
        "rojo", "largo", "hablamos", "después", "the", "team", "compra", "puerta", "ventana", "calle", "de",
        "la", "con",
    ];
    let mut state = 7_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let bench = Bench::new(|world, space| {
        for n in 0..60 {
            let length = 5 + draw(60);
            let text: Vec<&str> = (0..length)
                .map(|_| if draw(14) == 0 { nouns[draw(nouns.len())] } else { rest[draw(rest.len())] })
                .collect();
            let title =
                if draw(5) == 0 { format!("{} {n}", nouns[draw(nouns.len())]) } else { format!("P{n}") };
            world.app_create(space, None, &title, vec![paragraph("a", &text.join(" "))]);
        }
    });
    bench.sync();
    let (mut compared, mut placed) = (0, 0);
    for query in [
        "plan",
        "planes",
        "obras",
        "equipo",
        "camiones",
        "reunion",
        "mañana",
        "año",
        "budget",
        "plan obra",
        "equipo de la obra",
        "plan -obra",
        "\"equipo rojo\"",
        "\"camión rojo\"",
        "budget OR presupuesto",
        "reunión camión OR roadmap team",
        "\"obra largo\" -equipo",
        "roadmap the team",
    ] {
        let found = service(&mut bench.world(), &bench.space, query);
        let theirs: Vec<String> = found.iter().map(|(title, _)| title.clone()).collect();
        assert!(theirs.len() < 50, "{query}: the test set is too large to see all of it");
        let all = bench.found(&["--limit", "200", "--", query]);
        let is_titled =
            |title: &str| all.iter().any(|one| one["title"] == title && one["rank"].as_f64().unwrap() >= 2.0);
        let ours: Vec<String> = all
            .iter()
            .map(|one| one["title"].as_str().unwrap().to_owned())
            // Words of a query may stand in the title and the text together here; the service wants them in one.
            .filter(|title| theirs.contains(title))
            .collect();
        let (mut expected, text): (Vec<String>, Vec<String>) =
            theirs.iter().cloned().partition(|title| is_titled(title));
        expected.extend(text);
        assert_eq!(ours.len(), expected.len(), "{query}: {ours:?} {expected:?}");
        // Equal ranks stand in no order that means anything.
        let rank = |title: &String| {
            all.iter().find(|one| one["title"] == **title).unwrap()["rank"].as_f64().unwrap()
        };
        let their_rank = |title: &String| found.iter().find(|(one, _)| one == title).unwrap().1;
        for (ours, theirs) in ours.iter().zip(&expected) {
            // A query that excludes something has no rank at the service.
            let is_tied = (rank(ours) - rank(theirs)).abs() < 1e-9
                || (their_rank(ours) - their_rank(theirs)).abs() < 1e-6;
            assert!(is_tied, "{query}: {ours} stands where {theirs} should");
        }
        compared += 1;
        placed += ours.len();
    }
    assert!(compared == 18 && placed > 150, "{placed} places");
}

#[test]
fn the_service_is_asked_alone_or_by_the_daemon() {
    let bench = bench("");
    {
        let mut world = bench.world();
        world.app_add_mail("Re: camión", true);
        let chat = world.app_add_conversation(None, None, true);
        world.app_add_message(&chat, "¿y los camiones?").unwrap();
    }
    bench.sync();
    // Not mirrored, so only the service knows.
    let space = bench.space.clone();
    bench.world().app_create(&space, None, "Camión nuevo", vec![paragraph("a", "camión")]);
    let check = || {
        bench.forget_requests();
        let found = bench.found(&["--remote", "camión"]);
        assert_eq!(bench.world().log().entries().filter(|entry| entry.path == "/search").count(), 1);
        let brief: Vec<(&str, &str)> =
            found.iter().map(|one| (one["kind"].as_str().unwrap(), one["title"].as_str().unwrap())).collect();
        assert_eq!(
            brief,
            [("page", "Camión nuevo"), ("page", "Reunión"), ("mail", "Re: camión"), ("message", "Chat")]
        );
        assert_eq!(found[1]["path"], "Equipo/Pages/Reunión.md");
        assert!(found[2]["path"].is_null() && found[3]["parent_id"].is_string(), "{found:?}");
        found
    };
    assert!(check()[0]["path"].is_null());
    let told = bench.tell(&["search", "--remote", "camión", "--limit", "2"]);
    assert_eq!(
        (told.code, told.out.lines().last()),
        (0, Some("top 2 shown; use --limit for more")),
        "{told:?}"
    );
    assert!(told.out.contains("Camión nuevo  page in Equipo, not mirrored\n"), "{told:?}");
    assert_eq!(bench.found(&["--remote", "camión", "--kind", "mail"]).len(), 1);
    let daemon = bench.run_in_step();
    assert_eq!(check()[0]["path"], "Equipo/Pages/Camión nuevo.md");
    bench.world().set_scope("search:read", false);
    let told = bench.tell(&["search", "--remote", "camión"]);
    assert_eq!((told.code, told.err.lines().count()), (1, 1), "{told:?}");
    assert!(told.err.contains("scope search:read") && told.err.contains("omit --remote"), "{told:?}");
    bench.world().set_scope("search:read", true);
    // A refused search is nobody's trouble: the daemon goes on.
    append(&bench.page("Notas.md"), "\nuna cosa más\n");
    bench.until("an edit goes out", || words(&bench.content("Notas")).contains("una cosa más"));
    bench.rest(daemon);
    bench.world().set_scope("search:read", false);
    let told = bench.tell(&["search", "--remote", "camión"]);
    assert!(told.code == 1 && told.err.contains("scope search:read"), "{told:?}");
}

#[test]
fn searches_share_the_limit_with_everything_else() {
    let mut world = World::new(7);
    world.set_limit(Some(12), espejo::emulator::Window::SlidingLog);
    let space = world.add_workspace("Equipo", "equipo");
    world.app_create(&space, None, "Plan", vec![paragraph("a", "plan")]);
    let bench = Bench::over(world, space, 12, "");
    bench.sync();
    let used = bench.world().log().entries().len();
    for _ in used..10 {
        assert_eq!(bench.titles(&["--remote", "plan"]), ["Plan"]);
    }
    // The log of requests is in the state: each search knew of those before it.
    assert_eq!(bench.status()["requests_last_minute"].as_u64(), Some(10));
    assert_eq!(bench.world().log().answered(429), 0);
}

#[test]
fn a_service_that_is_away_is_told_in_one_sentence() {
    let bench = bench("");
    bench.sync();
    let config = fs::read_to_string(bench.outside("config.toml")).unwrap();
    let away: String = config
        .lines()
        .map(|line| {
            if line.starts_with("base_url") {
                "base_url = \"http://127.0.0.1:9/api/v1\"\n".to_owned()
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    save(&bench.outside("config.toml"), &away);
    let told = bench.tell(&["search", "--remote", "camión"]);
    assert_eq!((told.code, told.err.lines().count()), (1, 1), "{told:?}");
    assert!(told.err.contains("cannot be reached") && told.err.contains("omit --remote"), "{told:?}");
    assert_eq!(bench.titles(&["camión"]), ["Reunión"]);
}
