//! Stored files as they were: what espejo replaced or removed is in the mirror's trash, and comes back from there.

use serde_json::Value;

use super::bench::Bench;
use super::storage::{bytes, stored, text};
use super::storage_send::{BOTH, there};

#[test]
fn what_espejo_replaced_or_removed_is_restored_from_the_trash() {
    let (mut old, mut gone) = (None, None);
    let bench = Bench::with(BOTH, |world, _| {
        old = Some(world.app_put_file(None, "plan.txt", bytes("first words")));
        gone = Some(world.app_put_file(None, "gone.txt", bytes("kept words")));
        for n in 0..9 {
            world.app_put_file(None, &format!("{n}.pdf"), bytes("pdf"));
        }
    });
    bench.sync();
    bench.world().app_replace_file(&old.unwrap(), bytes("second words"));
    bench.world().app_change_file(&gone.unwrap(), |file| file.trashed = true);
    bench.sync();
    let plan = stored(&bench, "plan.txt");
    let removed = stored(&bench, "gone.txt");
    bench.until("it is gone", || {
        bench.sync();
        !removed.exists()
    });
    assert_eq!(text(&bench, "plan.txt"), "second words");
    let tell = |arguments: &[&str]| {
        let told = bench.tell(arguments);
        assert_eq!(told.code, 0, "{arguments:?}: {told:?}\n{}", bench.seen());
        told.out
    };
    let log: Vec<Value> = serde_json::from_str(&tell(&["log", plan.to_str().unwrap(), "--json"])).unwrap();
    assert_eq!(
        (log.len(), &log[0]["who"], &log[0]["detail"]),
        (1, &"app".into(), &"new version".into()),
        "{log:?}"
    );
    let number = log[0]["number"].to_string();
    assert!(tell(&["undo", &number, "--dry-run"]).contains("11 bytes"));
    tell(&["undo", &number]);
    assert_eq!(text(&bench, "plan.txt"), "first words");
    bench.sync();
    assert!(there(&bench).contains(&"plan.txt: first words".into()), "{:?}", there(&bench));
    // What was there in between was kept too.
    let told = tell(&["diff", plan.to_str().unwrap(), "--at", &number]);
    assert!(told.contains("-second words") && told.contains("+first words"), "{told}");
    tell(&["restore", plan.to_str().unwrap(), "--at", &number]);
    assert_eq!(text(&bench, "plan.txt"), "second words");
    tell(&["restore", removed.to_str().unwrap()]);
    assert_eq!(text(&bench, "gone.txt"), "kept words");
    bench.sync();
    let shown = there(&bench);
    assert!(
        shown.contains(&"plan.txt: second words".into()) && shown.contains(&"gone.txt: kept words".into()),
        "{shown:?}"
    );
    // What the user uploaded has no copy here, and an older one of the same name is not taken for it.
    let told = bench.tell(&["undo", plan.to_str().unwrap()]);
    assert!(told.code == 1 && told.err.contains("no copy of what was there"), "{told:?}");
    let told = bench.tell(&["restore", stored(&bench, "0.pdf").to_str().unwrap(), "--at", "now"]);
    assert!(told.code == 1 && told.err.contains("0.pdf"), "{told:?}");
}
