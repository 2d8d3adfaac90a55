//! Inline items that have no Markdown: a text names them by a label, and they are themselves in each page of their workspace.

use serde_json::{Value, json};

use super::bench::{Bench, paragraph, save, words};

fn mention(who: &str) -> Value {
    json!({ "type": "mention", "props": { "user": who }, "content": null })
}

/// `Home` mentions somebody between two words.
fn bench() -> Bench {
    Bench::new(|world, space| {
        let mut asked = paragraph("a", "Ask ");
        asked["content"]
            .as_array_mut()
            .unwrap()
            .extend([mention("u-1"), json!({ "type": "text", "text": " tomorrow", "styles": {} })]);
        world.app_create(space, None, "Home", vec![asked, paragraph("b", "stays here")]);
        world.app_create(space, None, "Other", vec![paragraph("c", "other words")]);
    })
}

/// The mentions of a page.
fn mentions(bench: &Bench, title: &str) -> Vec<Value> {
    let blocks = bench.content(title);
    let runs = blocks.iter().filter_map(|block| block["content"].as_array()).flatten();
    runs.filter(|run| run["type"] == "mention").cloned().collect()
}

/// The link by which the file of `Home` names it.
fn link(bench: &Bench) -> String {
    let text = bench.text("Home.md");
    let from = text.find("[mention](#mention-").unwrap_or_else(|| panic!("{text}"));
    text[from..=from + text[from..].find(')').unwrap()].to_owned()
}

#[test]
fn a_mention_is_itself_where_it_is_pasted() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let link = link(&bench);
    // Into another page, and into a new one, while the first has it no longer.
    let home = bench.text("Home.md");
    save(&bench.page("Home.md"), &home.replace(&link, "no one"));
    bench.until("it is cut", || words(&bench.content("Home")).contains("Ask no one tomorrow"));
    bench.until_in_step();
    save(&bench.page("Other.md"), &format!("{}\nfor {link} too\n", bench.text("Other.md")));
    save(&bench.page("New.md"), &format!("{link}\n\n* also {link}\n"));
    bench.until("it is in the other page", || mentions(&bench, "Other") == [mention("u-1")]);
    bench.until("it is in the new page", || {
        bench.titled("New").is_some() && mentions(&bench, "New") == vec![mention("u-1"); 2]
    });
    bench.until_in_step();
    // And back, over two saves.
    save(&bench.page("Home.md"), &home);
    bench.until("it is back", || mentions(&bench, "Home") == [mention("u-1")]);
    bench.until_in_step();
    assert_eq!(bench.attention(), "");
    assert_eq!(bench.text("Home.md"), home);
    daemon.stop();
}

#[test]
fn a_mention_that_no_page_had_waits_in_its_file() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let before = bench.content("Other");
    // Anchors of a document are links like any other.
    save(
        &bench.page("Anchors.md"),
        "see [above](#mention-guidelines) and [notes](#release-20241105)\n\n`[x](#mention-deadbeef)`\n",
    );
    bench.until("it is made", || bench.titled("Anchors").is_some());
    let text = format!("{}\nnew words, [mention](#mention-deadbeef)\n", bench.text("Other.md"));
    save(&bench.page("Other.md"), &text);
    bench.until("it is told", || {
        bench.attention().contains("#mention-deadbeef in line 7 stands for nothing that this workspace has")
    });
    bench.look_again();
    assert_eq!(bench.content("Other"), before);
    assert_eq!(bench.text("Other.md"), text);
    // Its owner means it.
    let told = bench.tell(&["approve", "--yes", &bench.page("Other.md").display().to_string()]);
    assert_eq!(told.code, 0, "{told:?}");
    bench.until("it is sent as text", || {
        words(&bench.content("Other")).contains("new words, [mention](#mention-deadbeef)")
    });
    bench.until("nothing is told any more", || !bench.attention().contains("deadbeef"));
    daemon.stop();
}
