//! A page of thousands of blocks: what is read and printed of it beside the loop ends as with any other page.

use espejo::model::{Blocks, LONG_BODY};
use serde_json::json;

use super::bench::{Bench, DEADLINE, append, paragraph, save, words};

fn long() -> Blocks {
    let mut blocks: Blocks =
        (0..6_000).map(|n| paragraph(&format!("b{n}"), &format!("Line {n} of a long page."))).collect();
    blocks[3_000] =
        json!({ "id": "db", "type": "database", "props": { "n": 1.50 }, "content": [], "children": [] });
    assert!(serde_json::to_string(&blocks).unwrap().len() > LONG_BODY);
    blocks
}

#[test]
fn a_long_page_goes_both_ways_block_by_block() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Long", long());
    });
    let daemon = bench.run_in_step();
    let before = bench.content("Long");
    let saved = bench.text("Long.md");
    assert!(saved.contains("Line 5999 of a long page.") && saved.contains(" db -->"));

    // A line changed, one taken away, one added: a GET, a PATCH, and all other blocks are what they were.
    bench.forget_requests();
    let mine = saved.replace("Line 17 of", "My line 17 of").replace("Line 40 of a long page.\n\n", "");
    save(&bench.page("Long.md"), &(mine + "\nThe end.\n"));
    let text = bench.text("Long.md");
    bench.until("the edit is sent", || words(&bench.content("Long")).contains("The end."));
    bench.until_in_step();
    assert_eq!(bench.writes().len(), 1, "{:?}", bench.writes());
    let after = bench.content("Long");
    assert_eq!(after.len(), before.len());
    assert_eq!(words(&after[17..18]), "My line 17 of a long page.\n");
    assert_eq!(
        (&after[17]["id"], &after[..17], &after[18..40]),
        (&before[17]["id"], &before[..17], &before[18..40])
    );
    assert_eq!(after[40..before.len() - 1], before[41..]);
    assert_eq!(bench.text("Long.md"), text, "the file is not rewritten under the user's hands");

    // Both sides change it: each keeps its own.
    let id = bench.id("Long");
    let mut theirs = after;
    theirs[5_000]["content"][0]["text"] = json!("Their line.");
    append(&bench.page("Long.md"), "\nAnd mine.\n");
    assert!(bench.world().app_edit(&id, theirs));
    bench.until_within(DEADLINE * 3, "both are here", || {
        let text = bench.text("Long.md");
        let content = words(&bench.content("Long"));
        [text, content].iter().all(|all| all.contains("Their line.") && all.contains("And mine."))
    });
    bench.until_in_step();
    assert_eq!(bench.content("Long")[2_999]["id"], "db");
    assert!(bench.text("Long.md").contains("My line 17 of"));
    bench.rest(daemon);
}
