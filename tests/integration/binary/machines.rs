//! Two machines on one workspace: each its own folder and state, one service and one token. How they share the limit is
//! arithmetic, and tested where that is.

use std::fs;

use espejo::markdown::front_matter;
use rustix::process::Signal;

use super::agreement::is_conflict_copy;
use super::bench::{Bench, append, paragraph, save, words};

fn machines() -> (Bench, Bench) {
    let one = Bench::new(|world, space| {
        for name in ["One", "Two", "Three", "Four"] {
            let blocks = vec![paragraph("a", "the first line"), paragraph("b", "the second line")];
            world.app_create(space, None, name, blocks);
        }
    });
    let two = one.beside();
    (one, two)
}

fn copies(bench: &Bench) -> Vec<String> {
    bench.files().into_keys().filter(|path| is_conflict_copy(path)).collect()
}

/// What every page of the mirror says, without the conflict copies, by path: what must be the same on both. Who made a file
/// finds no `id` put into it.
fn pages(bench: &Bench) -> Vec<(String, String)> {
    let text = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        front_matter::split(&text).unwrap().body.trim().to_owned()
    };
    let all = bench.files().into_iter().filter(|(path, _)| path.ends_with(".md") && !is_conflict_copy(path));
    all.map(|(path, seen)| (path, text(seen.bytes))).collect()
}

fn until_alike(one: &Bench, two: &Bench) {
    one.until_in_step();
    two.until_in_step();
    one.until("both folders are alike", || pages(one) == pages(two));
}

#[test]
fn what_is_done_on_one_machine_comes_to_the_other() {
    let (one, two) = machines();
    let (here, there) = (one.run_in_step(), two.run_in_step());
    until_alike(&one, &two);
    // An edit, a new page with a page below, a new name and a deletion, each from another side.
    append(&one.page("One.md"), "\nfrom the first machine\n");
    save(&two.page("New.md"), "made on the second machine\n");
    fs::create_dir(two.page("New")).unwrap();
    save(&two.page("New/Below.md"), "and one below\n");
    fs::rename(one.page("Two.md"), one.page("Two renamed.md")).unwrap();
    let three = one.id("Three");
    fs::remove_file(two.page("Three.md")).unwrap();
    one.until("the service has all of it", || {
        words(&one.content("One")).contains("from the first")
            && one.titled("Below").is_some_and(|id| !one.record(&id).content.is_empty())
            && one.titled("Two renamed").is_some()
            && one.is_trashed(&three)
    });
    one.look_again();
    two.look_again();
    one.until("the first has the second's", || {
        one.page("New/Below.md").exists() && !one.page("Three.md").exists()
    });
    two.until("the second has the first's", || {
        two.page("Two renamed.md").exists() && two.text("One.md").contains("from the first machine")
    });
    until_alike(&one, &two);
    // Different words of one page, before either has seen the other's; within one moment the limits of the promises hold.
    there.signal(Signal::STOP);
    append(&one.page("One.md"), "\nlast from here\n");
    save(&two.page("One.md"), &two.text("One.md").replace("the first line", "the very first line"));
    one.until("the first one's is sent", || words(&one.content("One")).contains("last from here"));
    there.signal(Signal::CONT);
    one.until("both edits are in", || {
        let page = words(&one.content("One"));
        page.contains("last from here") && page.contains("the very first line")
    });
    one.look_again();
    two.look_again();
    until_alike(&one, &two);
    for bench in [&one, &two] {
        assert_eq!(copies(bench), Vec::<String>::new());
        assert_eq!(bench.attention(), "");
    }
    one.rest(here);
    two.rest(there);
}

#[test]
fn the_same_words_on_two_machines_are_one_conflict_copy() {
    let (one, two) = machines();
    let (here, there) = (one.run_in_step(), two.run_in_step());
    // The second is asleep while the first sends, as a laptop is.
    there.signal(Signal::STOP);
    for (bench, words) in [(&one, "here's"), (&two, "there's")] {
        save(&bench.page("One.md"), &bench.text("One.md").replace("second", words));
    }
    one.until("the first one's is sent", || words(&one.content("One")).contains("here's"));
    there.signal(Signal::CONT);
    two.until("the second keeps its own beside", || copies(&two).len() == 1);
    one.look_again();
    two.look_again();
    until_alike(&one, &two);
    assert_eq!(words(&one.content("One")), "the first line\nthe here's line\n");
    assert_eq!(copies(&one), Vec::<String>::new());
    let copy = copies(&two);
    assert_eq!(copy.len(), 1, "{copy:?}");
    assert!(fs::read_to_string(two.root().join(&copy[0])).unwrap().contains("there's"));
    assert_eq!(two.tell(&["resolve"]).code, 3);
    assert_eq!(one.tell(&["status"]).code, 0);
    one.rest(here);
    drop(there);
}
