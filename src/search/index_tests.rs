//! The index on a real disk: what is found, that it follows changes, and that damage to it heals.

use super::*;

fn page(title: &str, text: &str) -> (Source, String) {
    let source = Source {
        key: format!("page:{title}"),
        kind: "page",
        id: Some(title.to_owned()),
        title: title.to_owned(),
        path: Some(format!("Equipo/Pages/{title}.md")),
        workspace: None,
        text: text.as_bytes().to_vec(),
    };
    (source, text.to_owned())
}

fn fill(index: &mut Index, pages: &[(Source, String)]) -> (usize, usize) {
    let sources: Vec<Source> = pages.iter().map(|(source, _)| source.clone()).collect();
    index.refresh(&sources, "", |source| String::from_utf8(source.text.clone()).ok()).unwrap()
}

fn titles(index: &Index, query: &str) -> Vec<String> {
    let query = Query::new(query).unwrap();
    index.search(&query, &[], 20).unwrap().matches.into_iter().map(|found| found.title).collect()
}

fn sample() -> Vec<(Source, String)> {
    vec![
        page("Reunión", "El equipo habla del camión"),
        page("Notas", "Las reuniones del equipo de obra. Corría el año 2026"),
        page("Roadmap", "What we plan to do; the meeting agenda"),
        page("🚲 Taller", "frenos y ruedas"),
        page("100%_libre", "x"),
    ]
}

#[test]
fn words_phrases_choices_and_titles_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Index::open(folder.path()).unwrap();
    assert_eq!(fill(&mut index, &sample()), (5, 0));
    for (query, expected) in [
        ("reunion", &["Reunión", "Notas"][..]),
        ("REUNIONES", &["Reunión", "Notas"]),
        ("camiones", &["Reunión"]),
        ("corria", &["Notas"]),
        ("correr", &["Notas"]),
        ("ano", &[]),
        ("año", &["Notas"]),
        ("Meeting", &["Roadmap"]),
        ("roadm", &["Roadmap"]),
        ("camio", &["Reunión"]),
        ("organizac", &[]),
        ("equipo -camión", &["Notas"]),
        ("equipo -\"de obra\"", &["Reunión"]),
        ("\"equipo de obra\"", &["Notas"]),
        ("\"obra equipo\"", &[]),
        ("frenos OR camión", &["Reunión", "🚲 Taller"]),
        ("de la", &[]),
        ("la reunión de obra", &["Notas"]),
        ("🚲", &["🚲 Taller"]),
        ("%", &["100%_libre"]),
        ("_", &["100%_libre"]),
        ("\"", &[]),
        ("NEAR(equipo obra)", &[]),
        ("title:notas", &[]),
        ("equip*", &["Notas", "Reunión"]),
        ("body : equipo", &[]),
        ("equipo\u{0}de\u{0}obra", &["Notas"]),
        ("a AND NOT b", &[]),
        ("'; DROP TABLE documents; --", &[]),
    ] {
        assert_eq!(titles(&index, query), expected, "{query:?}");
    }
    let long = "ñ".repeat(10_000);
    assert_eq!(titles(&index, &long), Vec::<String>::new());
}

#[test]
fn words_that_are_only_begun_are_found_after_those_that_are_there() {
    let mut index = Index::in_memory().unwrap();
    let mut pages = vec![
        page("Begun in its title: roadmap", ""),
        page("Begun in its text", "the roadmap of the year"),
        page("There", "a road to the sea"),
        page("Road", ""),
        page("Stems", "la organización, de las reuniones"),
        page("Both", "el plan de la obra"),
        page("Half", "el plano del obrador"),
    ];
    fill(&mut index, &pages);
    for (query, expected) in [
        // A title that holds it is the service's own rule.
        ("road", &["Road", "Begun in its title: roadmap", "There", "Begun in its text"][..]),
        ("roadma", &["Begun in its title: roadmap", "Begun in its text"]),
        ("reunio", &["Stems"]),
        ("reunió", &["Stems"]),
        // The stem is shorter than what is typed.
        ("organizac", &["Stems"]),
        ("plan obra", &["Both", "Half"]),
        ("pla obr", &["Half", "Both"]),
        // Rows of words, what is left out, and what begins too much, are as they were.
        ("\"pla de\"", &[]),
        ("road -roadm", &["Road", "There", "Begun in its title: roadmap", "Begun in its text"]),
        ("ro", &["Begun in its title: roadmap", "Road"]),
        ("de la", &["Both", "Stems"]),
    ] {
        let found = titles(&index, query);
        assert_eq!(found, expected, "{query:?}");
    }
    let query = Query::new("roadma").unwrap();
    let found = index.search(&query, &[], 20).unwrap();
    let text = found.matches.iter().find(|found| found.title == "Begun in its text").unwrap();
    assert!(text.rank < 1.0 && found.matches[0].rank >= 2.0, "{found:?}");
    let pieces = crate::search::snippet(&text.text, found.query_of(text, &query));
    assert!(pieces.iter().any(|piece| piece.hit && piece.text == "roadmap"), "{pieces:?}");
    // Where there is enough of what is asked for, nothing else is looked for.
    pages.extend((0..3).map(|n| page(&format!("Road {n}"), "")));
    fill(&mut index, &pages);
    let query = Query::new("road").unwrap();
    let found = index.search(&query, &[], 4).unwrap();
    assert!(found.more && found.matches.iter().all(|found| found.rank >= 2.0), "{found:?}");
}

#[test]
fn it_follows_what_changes_and_touches_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut pages = sample();
    {
        let mut index = Index::open(folder.path()).unwrap();
        fill(&mut index, &pages);
    }
    let mut index = Index::open(folder.path()).unwrap();
    assert_eq!(fill(&mut index, &pages), (0, 0), "nothing changed");
    pages[1] = page("Notas", "ahora habla de bicicletas");
    assert_eq!(fill(&mut index, &pages), (1, 0));
    assert_eq!((titles(&index, "bicicleta"), titles(&index, "obra")), (vec!["Notas".to_owned()], vec![]));
    // A rename: the key stays.
    pages[1].0.title = "Apuntes".to_owned();
    pages[1].0.path = Some("Equipo/Pages/Apuntes.md".to_owned());
    assert_eq!(fill(&mut index, &pages), (1, 0));
    assert_eq!((titles(&index, "apunte"), titles(&index, "notas")), (vec!["Apuntes".to_owned()], vec![]));
    let trashed = pages.remove(0);
    assert_eq!(fill(&mut index, &pages), (0, 1));
    assert_eq!(titles(&index, "camión"), Vec::<String>::new());
    pages.push(trashed);
    assert_eq!(fill(&mut index, &pages), (1, 0));
    assert_eq!(titles(&index, "camión"), ["Reunión"]);
    let check: i64 = index.db.query_row("SELECT count(*) FROM texts", [], |row| row.get(0)).unwrap();
    assert_eq!(check, 5);
    assert!(index.db.execute("INSERT INTO stems(stems) VALUES ('integrity-check')", []).is_ok());
}

#[test]
fn two_of_one_key_and_two_searches_at_once_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let mut pages = sample();
    pages.push(page("Notas", "otra cosa"));
    let mut index = Index::open(folder.path()).unwrap();
    fill(&mut index, &pages);
    assert_eq!(titles(&index, "reunion"), ["Reunión", "Notas"]);
    drop(index);
    remove(&folder.path().join(FILE));
    std::thread::scope(|scope| {
        let search = || {
            let mut index = Index::open(folder.path()).unwrap();
            fill(&mut index, &sample());
            titles(&index, "camión")
        };
        let all: Vec<_> = (0..4).map(|_| scope.spawn(search)).collect();
        for one in all {
            assert_eq!(one.join().unwrap(), ["Reunión"]);
        }
    });
}

#[test]
fn damage_is_nobodys_loss() {
    let whole = {
        let folder = tempfile::tempdir().unwrap();
        let mut index = Index::open(folder.path()).unwrap();
        fill(&mut index, &sample());
        index.db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        std::fs::read(folder.path().join(FILE)).unwrap()
    };
    let mut foreign = whole.clone();
    foreign[68..72].copy_from_slice(&[1, 2, 3, 4]);
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&[0, 0, 1, 0]);
    for (what, bytes) in [
        ("noise", vec![0x5a; 9_000]),
        ("another program's", foreign),
        ("another version's", newer),
        ("nothing", Vec::new()),
        ("short", whole[..100].to_vec()),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::create(folder.path().join(FILE)).unwrap();
        file.write_all(&bytes).unwrap();
        let mut index = Index::open(folder.path()).unwrap();
        assert_eq!(fill(&mut index, &sample()), (5, 0), "{what}");
        assert_eq!(titles(&index, "camión"), ["Reunión"], "{what}");
        assert!(index.size() > 0, "{what}");
    }
    // Damage that only shows when a page of it is read: the one who searches begins anew.
    let folder = tempfile::tempdir().unwrap();
    let mut torn = whole.clone();
    torn[4_096..].fill(0xff);
    std::fs::File::create(folder.path().join(FILE)).unwrap().write_all(&torn).unwrap();
    let mut index = Index::open(folder.path()).unwrap();
    let sources: Vec<Source> = sample().into_iter().map(|(source, _)| source).collect();
    assert!(index.refresh(&sources, "now", |_| None).is_err());
    let mut index = index.begin_anew().unwrap();
    assert_eq!(fill(&mut index, &sample()), (5, 0));
}

#[test]
fn where_nothing_can_be_written_it_lives_in_memory() {
    let mut index = Index::open(Path::new("/proc/nowhere")).unwrap();
    fill(&mut index, &sample());
    assert_eq!((titles(&index, "camión"), index.size()), (vec!["Reunión".to_owned()], 0));
}

#[test]
fn only_the_kinds_that_are_named_and_no_more_than_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Index::open(folder.path()).unwrap();
    let mut many: Vec<_> = (0..30).map(|n| page(&format!("Plan {n}"), "plan")).collect();
    many[3].0.kind = "slide";
    fill(&mut index, &many);
    let query = Query::new("plan").unwrap();
    let found = index.search(&query, &[], 7).unwrap();
    assert_eq!((found.matches.len(), found.more), (7, true));
    let found = index.search(&query, &["slide".to_owned()], 7).unwrap();
    assert_eq!((found.matches.len(), found.more, found.matches[0].title.as_str()), (1, false, "Plan 3"));
}

#[test]
fn it_says_what_it_is_as_of_once_it_holds_every_text() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Index::open(folder.path()).unwrap();
    let query = Query::new("camión").unwrap();
    let as_of = |index: &Index| index.search_as_it_is(&query, &[], 20).unwrap().0;
    assert_eq!(as_of(&index), None);
    let mut sources: Vec<Source> = sample().into_iter().map(|(source, _)| source).collect();
    let text_of = |source: &Source| String::from_utf8(source.text.clone()).ok();
    assert_eq!(index.refresh(&sources, "monday", text_of).unwrap(), (5, 0));
    assert_eq!(as_of(&index).as_deref(), Some("monday"));
    // Nothing is different, but for what it is as of.
    assert_eq!(index.refresh(&sources, "tuesday", text_of).unwrap(), (0, 0));
    assert_eq!(as_of(&index).as_deref(), Some("tuesday"));
    // A text that cannot be read just now has to be asked for again.
    sources[0].text = b"otro camion".to_vec();
    index.refresh(&sources, "wednesday", |_| None).unwrap();
    assert_eq!(as_of(&index), None);
    assert_eq!(titles(&index, "camión"), ["Reunión"]);
    sources[0].path = None;
    index.refresh(&sources, "thursday", text_of).unwrap();
    let (as_of, found) = index.search_as_it_is(&query, &[], 20).unwrap();
    assert_eq!((as_of.as_deref(), found.to_come, found.matches.len()), (Some("thursday"), 1, 1));
}

#[test]
fn words_that_nearly_all_texts_have_are_found_all_the_same() {
    let mut index = Index::in_memory().unwrap();
    fill(&mut index, &[page("Uno", "la casa de la obra que"), page("De la que", ""), page("Dos", "la casa")]);
    assert_eq!(titles(&index, "de la que"), ["De la que", "Uno"]);
    let kinds = ["page".to_owned()];
    let found = index.search(&Query::new("de la que").unwrap(), &kinds, 20).unwrap();
    assert_eq!(found.matches.len(), 2);
}
