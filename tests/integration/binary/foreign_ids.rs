//! Front matter with an `id` of another program (Dendron, Docusaurus, Zettelkasten): it stays, and espejo's own goes beside it.

use std::fs;

use super::bench::{Bench, append, paragraph, save, words};

const OTHERS: &str = "---\nid: instalar-en-linux\ntitle: Instalar en Linux\ntags: [a]\n---\n\nTexto.\n";

#[test]
fn an_id_of_another_program_stays_and_its_title_counts() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Notes", vec![paragraph("a", "notes")]);
    });
    let daemon = bench.run_in_step();
    save(&bench.page("install.linux.md"), OTHERS);
    let title = "Instalar en Linux";
    bench.until("it is a page", || {
        bench.titled(title).is_some() && words(&bench.content(title)).contains("Texto")
    });
    bench.until_in_step();
    assert_eq!(bench.text("install.linux.md"), OTHERS, "the file may be open");
    let id = bench.id(title);
    let mut blocks = bench.content(title);
    blocks.push(paragraph("b", "M\u{e1}s."));
    bench.world().app_edit(&id, blocks);
    bench.look_again();
    let own = OTHERS.replace("title:", &format!("espejo-id: {id}\ntitle:")) + "\nM\u{e1}s.\n";
    bench.until("the change is here", || bench.text("install.linux.md") == own);
    bench.until_in_step();
    // An edit is one request to see the page and one to change it.
    bench.forget_requests();
    append(&bench.page("install.linux.md"), "\nmine\n");
    bench.until("it is sent", || words(&bench.content(title)).contains("mine"));
    bench.until_in_step();
    assert_eq!(bench.writes(), [format!("PATCH /pages/{id}")]);
    assert!(bench.text("install.linux.md").starts_with(&own));
    // A copy is a page of its own, and has the other program's id too.
    fs::copy(bench.page("install.linux.md"), bench.page("copy.md")).unwrap();
    bench.until("the copy is a page", || bench.titled("copy").is_some());
    bench.until_in_step();
    let copy = bench.id("copy");
    bench.until("it has an id of its own", || {
        let text = bench.text("copy.md");
        text.contains("id: instalar-en-linux\n") && text.contains(&format!("espejo-id: {copy}\n"))
    });
    assert!(bench.text("install.linux.md").contains(&format!("espejo-id: {id}\n")));
    bench.rest(daemon);
}

#[test]
fn ids_of_pages_are_espejos_also_without_the_state_and_others_are_not() {
    let bench = Bench::new(|world, space| {
        for n in 0..4 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
        }
    });
    bench.sync();
    for n in 0..15 {
        save(
            &bench.page(&format!("z{n}.md")),
            &format!("---\nid: 2021070{n}\ntitle: Zettel {n}\n---\n\nzettel {n}\n"),
        );
    }
    bench.sync();
    assert_eq!((bench.pages(), bench.attention()), (19, String::new()), "{}", bench.seen());
    let id = bench.id("Zettel 3");
    bench.world().app_edit(&id, vec![paragraph("a", "zettel 3, edited")]);
    bench.sync();
    assert!(
        bench.text("z3.md").contains(&format!("id: 20210703\nespejo-id: {id}\n")),
        "{}",
        bench.text("z3.md")
    );
    let files = bench.files();
    fs::remove_dir_all(bench.state()).unwrap();
    bench.forget_requests();
    bench.sync();
    assert_eq!(bench.writes(), Vec::<String>::new(), "{}", bench.seen());
    assert_eq!(bench.files(), files);
    // The id of a page that was deleted stays its own: the history knows it.
    let page = bench.id("Page 1");
    let text = bench.text("Page 1.md");
    bench.world().app_trash(&page);
    bench.sync();
    assert!(!bench.page("Page 1.md").exists());
    save(&bench.page("Page 1.md"), &text);
    bench.sync();
    assert_ne!(bench.id("Page 1"), page);
    let stamped = bench.text("Page 1.md");
    assert!(
        !stamped.contains("espejo-id") && stamped.contains(&format!("id: {}\n", bench.id("Page 1"))),
        "{stamped}"
    );
}
