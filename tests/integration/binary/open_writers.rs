//! Programs that keep a file open for writing: half a save is not sent.

use std::fs::{self, OpenOptions};
use std::io::Write;

use serde_json::json;

use super::bench::{Bench, append, block, paragraph, words};

fn bench() -> Bench {
    Bench::new(|world, space| {
        let line = |n: usize| {
            block(&n.to_string(), "paragraph", &format!("line {n}"), &json!({ "textColor": "red" }))
        };
        world.app_create(space, None, "Long", (0..14).map(line).collect());
        world.app_create(space, None, "Other", vec![paragraph("a", "other")]);
    })
}

#[test]
fn half_a_save_is_not_sent_while_its_writer_pauses() {
    let bench = bench();
    let daemon = bench.run_in_step();
    bench.forget_requests();
    let whole = bench.text("Long.md").replace("line 12", "line twelve");
    let (first, second) = whole.split_at(whole.find("line 7").unwrap());
    let mut writer = fs::File::create(bench.page("Long.md")).unwrap();
    writer.write_all(first.as_bytes()).unwrap();
    // What is saved later is sent, so the half was read before.
    append(&bench.page("Other.md"), "\nand more\n");
    bench.until("the other edit is sent", || words(&bench.content("Other")).contains("and more"));
    bench.look_again();
    assert_eq!(bench.writes(), [format!("PATCH /pages/{}", bench.id("Other"))]);
    assert_eq!(bench.text("Long.md"), first);
    writer.write_all(second.as_bytes()).unwrap();
    drop(writer);
    bench.until("the whole is sent", || words(&bench.content("Long")).contains("line twelve"));
    bench.until_in_step();
    let id = bench.id("Long");
    assert_eq!(bench.world().log().patches_of(&id).count(), 1);
    let blocks = bench.content("Long");
    for (n, block) in blocks.iter().enumerate() {
        assert_eq!(
            (&block["id"], &block["props"]["textColor"]),
            (&json!(n.to_string()), &json!("red")),
            "{n}"
        );
    }
    assert_eq!(blocks.len(), 14);
    bench.rest(daemon);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long a real daemon waits is what is tested")]
fn what_a_program_keeps_open_is_sent_ten_seconds_after_its_last_write() {
    let bench = bench();
    let daemon = bench.run_in_step();
    bench.forget_requests();
    let mut writer = OpenOptions::new().append(true).open(bench.page("Other.md")).unwrap();
    writer.write_all(b"\nlogged\n").unwrap();
    let written = std::time::Instant::now();
    bench.until("it is sent although it is open", || words(&bench.content("Other")).contains("logged"));
    assert!(written.elapsed().as_millis() >= 9_900, "{:?}", written.elapsed());
    drop(writer);
    bench.until_in_step();
    assert_eq!(bench.writes().len(), 1, "{:?}", bench.writes());
    bench.rest(daemon);
}
