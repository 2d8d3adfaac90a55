//! What two people do to one page, and what comes of it.

use serde_json::{Value, json};

use super::super::{collision_summary, merge};
use super::{page, runs, show, show_runs};

/// Base, remote, local; then the merged page and the summaries of its collisions.
fn check(base: &str, remote: &str, local: &str, expected: &str, collisions: &[&str]) {
    let merged = merge(&page(base), &page(remote), &page(local));
    assert_eq!(show(&merged.blocks), show(&page(expected)), "\nbase {base}\nremote {remote}\nlocal {local}");
    let found: Vec<String> = merged
        .collisions
        .iter()
        .map(|collision| {
            format!("{}: {}", collision.block.as_deref().unwrap_or("?"), collision_summary(collision))
        })
        .collect();
    assert_eq!(found, collisions, "\nbase {base}\nremote {remote}\nlocal {local}");
}

/// The same for the text of one block.
fn check_text(base: &str, remote: &str, local: &str, expected: &str, collisions: &[&str]) {
    let page = |text: &str| {
        vec![json!({"id": "a", "type": "paragraph", "props": {}, "content": runs(text), "children": []})]
    };
    let merged = merge(&page(base), &page(remote), &page(local));
    let text = show_runs(merged.blocks[0]["content"].as_array().unwrap());
    assert_eq!(text, expected, "base {base:?} remote {remote:?} local {local:?}");
    let found: Vec<String> = merged.collisions.iter().map(collision_summary).collect();
    assert_eq!(found, collisions, "base {base:?} remote {remote:?} local {local:?}");
}

#[test]
fn insertions_of_both_live() {
    check("a: 1\nb: 2", "a: 1\nr: R\nb: 2", "a: 1\nb: 2\nl: L", "a: 1\nr: R\nb: 2\nl: L", &[]);
    check("a: 1\nb: 2", "a: 1\nr: R\nb: 2", "a: 1\nl: L\nb: 2", "a: 1\nr: R\nl: L\nb: 2", &[]);
    check("", "r: R", "l: L", "r: R\nl: L", &[]);
    check("", "x: uno dos", "x: uno dos", "x: uno dos", &[]);
    check("", "r: 1\nx: 2\ns: 3", "l: 4\nx: 2\nm: 5", "r: 1\nl: 4\nx: 2\ns: 3\nm: 5", &[]);
    check("a: 1", "a: 1\n  r: R", "a: 1\n  l: L", "a: 1\n  r: R\n  l: L", &[]);
    check("a: 1", "a: 1\nx: uno dos", "a: 1\nx: uno dos tres", "a: 1\nx: uno dos tres", &[]);
}

#[test]
fn deletions_live_unless_the_other_edited() {
    check("a: 1\nb: 2\nc: 3", "a: 1\nc: 3", "a: 1\nb: 2", "a: 1", &[]);
    check("a: 1\nb: 2", "a: 1", "a: 1\nb: 2 x", "a: 1\nb: 2 x", &[]);
    check("a: 1\nb: 2", "a: 1\nb: 2 x", "a: 1", "a: 1\nb: 2 x", &[]);
    check("a: 1\nb: 2\nc: 3", "b: 2\nc: 3 x", "a: 1", "c: 3 x", &[]);
    check("a: 1\nb[level=1]: 2", "a: 1\nb[level=2]: 2", "a: 1", "a: 1\nb[level=2]: 2", &[]);
    // A moved block that the other side deleted is gone: moving it says nothing new.
    check("a: 1\nb: 2\nc: 3", "b: 2\nc: 3\na: 1", "b: 2\nc: 3", "b: 2\nc: 3", &[]);
}

#[test]
fn children_of_a_deleted_block_live_if_they_are_new_or_edited() {
    let base = "a: 1\np: P\n  q: Q\n  s: S\nb: 2";
    check(base, "a: 1\nb: 2", "a: 1\np: P\n  q: Q x\n  s: S\nb: 2", "a: 1\nq: Q x\nb: 2", &[]);
    check(base, "a: 1\np: P\n  q: Q\n  n: N\n  s: S\nb: 2", "a: 1\nb: 2", "a: 1\nn: N\nb: 2", &[]);
    check(base, "a: 1\np: P\n  q: Q\n    n: N\n  s: S\nb: 2", "a: 1\nb: 2", "a: 1\nn: N\nb: 2", &[]);
    check(base, "a: 1\np: P x\n  q: Q\n  s: S\nb: 2", "a: 1\nb: 2", "a: 1\np: P x\nb: 2", &[]);
    // Taken out before the deletion: not deleted.
    check(base, "a: 1\ns: S\nb: 2", "a: 1\np: P\n  q: Q\n  s: S x\nb: 2", "a: 1\ns: S x\nb: 2", &[]);
    // Moved into what the other deleted.
    check(base, "a: 1\nb: 2", "a: 1\np: P\n  q: Q\n  s: S\n  b: 2", "a: 1\nb: 2", &[]);
}

#[test]
fn moves_of_both_live() {
    let base = "a: 1\nb: 2\nc: 3\nd: 4\ne: 5";
    check(
        base,
        "e: 5\na: 1\nb: 2\nc: 3\nd: 4",
        "a: 1\nc: 3\nd: 4\nb: 2\ne: 5",
        "e: 5\na: 1\nc: 3\nd: 4\nb: 2",
        &[],
    );
    check(
        base,
        "b: 2\na: 1\nc: 3\nd: 4\ne: 5",
        "b: 2\na: 1\nc: 3\nd: 4\ne: 5",
        "b: 2\na: 1\nc: 3\nd: 4\ne: 5",
        &[],
    );
    check(
        base,
        "a: 1 x\nb: 2\nc: 3\nd: 4\ne: 5",
        "b: 2\nc: 3\nd: 4\ne: 5\na: 1",
        "b: 2\nc: 3\nd: 4\ne: 5\na: 1 x",
        &[],
    );
    // One block moved by both: remote's place.
    check(
        base,
        "b: 2\nc: 3\na: 1\nd: 4\ne: 5",
        "b: 2\nc: 3\nd: 4\ne: 5\na: 1",
        "b: 2\nc: 3\na: 1\nd: 4\ne: 5",
        &[],
    );
    // Into another block.
    check(
        base,
        "a: 1\nb: 2\n  c: 3\nd: 4\ne: 5",
        "a: 1\nb: 2\nc: 3\nd: 4\n  e: 5",
        "a: 1\nb: 2\n  c: 3\nd: 4\n  e: 5",
        &[],
    );
    check(
        base,
        "a: 1\nb: 2\n  c: 3\nd: 4\ne: 5",
        "a: 1\nb: 2\nc: 3 x\nd: 4\ne: 5",
        "a: 1\nb: 2\n  c: 3 x\nd: 4\ne: 5",
        &[],
    );
    check(
        base,
        "a: 1\nb: 2\n  c: 3\nd: 4\ne: 5",
        "a: 1\nb: 2\nd: 4\n  c: 3\ne: 5",
        "a: 1\nb: 2\n  c: 3\nd: 4\ne: 5",
        &[],
    );
    // What was put in beside a block that moved away stays where it was put.
    check(
        base,
        "a: 1\nb: 2\nd: 4\ne: 5\nc: 3",
        "a: 1\nb: 2\nc: 3\nn: N\nd: 4\ne: 5",
        "a: 1\nb: 2\nn: N\nd: 4\ne: 5\nc: 3",
        &[],
    );
}

#[test]
fn moves_make_no_ring() {
    check("a: 1\nb: 2", "b: 2\n  a: 1", "a: 1\n  b: 2", "b: 2\n  a: 1", &[]);
    check("a: 1\nb: 2\nc: 3", "b: 2\n  a: 1\nc: 3", "a: 1\n  c: 3\n    b: 2", "b: 2\n  a: 1\n    c: 3", &[]);
    check("a: 1\nb: 2", "b: 2\n  a: 1", "a: 1\n  n: N\n    b: 2", "b: 2\n  a: 1\n    n: N", &[]);
    check("a: 1\nd: D\nb: 2", "b: 2\n  d: D\n    a: 1", "a: 1\n  b: 2", "b: 2\n  a: 1", &[]);
    // Undoing one move closes the next ring.
    let (base, remote) = ("a: 1\nx: X\n  b: 2", "x: X\n  b: 2\n    a: 1");
    check(base, remote, "a: 1\n  b: 2\n  x: X", remote, &[]);
}

#[test]
fn words_of_both_live() {
    check_text(
        "el plan cerrado hoy",
        "el plan abierto hoy",
        "el gran plan cerrado hoy",
        "el gran plan abierto hoy",
        &[],
    );
    check_text("uno dos tres", "uno tres", "uno dos tres cuatro", "uno tres cuatro", &[]);
    check_text("uno dos", "cero uno dos", "uno dos tres", "cero uno dos tres", &[]);
    check_text("uno", "uno, dos", "uno. tres", "uno, dos. tres", &[]);
    check_text("", "hola", "adiós", "hola adiós", &[]);
    check_text("", "hola mundo", "hola mundo", "hola mundo", &[]);
    check_text("a", "a x y", "a x y z", "a x y z", &[]);
    check_text("uno dos tres cuatro", "dos tres cuatro", "uno dos tres", "dos tres", &[]);
    check_text("uno dos tres", "uno", "tres", "", &[]);
    check_text("uno dos", "uno dos!", "¡uno dos", "¡uno dos!", &[]);
    check_text("uno\ndos", "uno\nmedio\ndos", "uno\ndos\ntres", "uno\nmedio\ndos\ntres", &[]);
    check_text("a  b", "a b", "a  b c", "a b c", &[]);
    check_text("我喜欢茶", "我很喜欢茶", "我喜欢绿茶", "我很喜欢绿茶", &[]);
    check_text("hi 👩‍👧 and 🇪🇸", "hi 👩‍👦 and 🇪🇸", "hi 👩‍👧 and 🇫🇷", "hi 👩‍👦 and 🇫🇷", &[]);
    check_text("don't go", "don't stop", "don't ever go", "don't ever stop", &[]);
    check_text("x", "r s", "x s", "r s", &[]);
    check_text("x", "s x", "s l", "s l", &[]);
    check_text("cerrado", "abierto", "abierto ya", "abierto ya", &[]);
    check_text("a b", "a  b", "a   b", "a  b", &[]);
    check_text("dos palabras", "dospalabras", "dos palabras más", "dospalabras más", &[]);
}

#[test]
fn the_same_words_collide() {
    check_text(
        "el plan cerrado hoy",
        "el plan abierto hoy",
        "el plan roto hoy",
        "el plan abierto hoy",
        &["el plan [service: abierto | yours: roto] hoy"],
    );
    check_text(
        "uno dos tres",
        "uno dos cuatro",
        "cero dos cinco",
        "cero dos cuatro",
        &["cero dos [service: cuatro | yours: cinco]"],
    );
    check_text(
        "uno dos tres",
        "uno",
        "uno dos x tres",
        "uno",
        &["uno [service: nothing | yours: dos x tres]"],
    );
    check_text(
        "precio 10.5 hoy",
        "precio 10.6 hoy",
        "precio 11.5 hoy",
        "precio 10.6 hoy",
        &["precio [service: 10.6 | yours: 11.5] hoy"],
    );
    check_text(
        "el 2026-01-31",
        "el 2026-02-28",
        "el 2027-01-31",
        "el 2026-02-28",
        &["el [service: 2026-02-28 | yours: 2027-01-31]"],
    );
    check_text(
        "see https://a.b/c ok",
        "see https://a.b/d ok",
        "see https://x.y/c ok",
        "see https://a.b/d ok",
        &["see [service: https://a.b/d | yours: https://x.y/c] ok"],
    );
    check_text("a -> b", "a => b", "a -- b", "a => b", &["a [service: => | yours: --] b"]);
    check_text(
        "El presupuesto del viaje es alto",
        "Nadie sabe cuánto va a costar",
        "El presupuesto nuevo del viaje es alto",
        "Nadie sabe cuánto va a costar",
        &["[service: Nadie sabe cuánto va a costar | yours: El presupuesto nuevo del viaje es alto]"],
    );
    check(
        "a: uno\nb: dos",
        "a: uno x\nb: tres",
        "a: y uno\nb: cuatro",
        "a: y uno x\nb: tres",
        &["b: [service: tres | yours: cuatro]"],
    );
}

#[test]
fn styles_live_beside_words() {
    check_text("el plan cerrado", "el *plan* cerrado", "el plan abierto", "el *plan* abierto", &[]);
    check_text("el plan cerrado", "*el plan cerrado*", "el plan abierto", "*el plan abierto*", &[]);
    check_text("el plan cerrado", "el plan abierto", "*el plan cerrado*", "*el plan abierto*", &[]);
    check_text("el plan cerrado", "*el plan cerrado*", "el gran plan cerrado", "*el gran plan cerrado*", &[]);
    check_text("el plan cerrado", "*el plan cerrado*", "el plan cerrado hoy", "*el plan cerrado* hoy", &[]);
    check_text("el plan", "el *plan*", "el _plan_", "el *_plan_*", &[]);
    check_text("*el plan*", "el plan", "*el gran plan*", "el gran plan", &[]);
    check_text("el plan", "el `plan`", "el *plan*", "el `plan`", &["el plan [both changed how it looks]"]);
    check_text(
        "ver aquí hoy",
        "ver <http://x|aquí> hoy",
        "ver aquí mañana",
        "ver <http://x|aquí> mañana",
        &[],
    );
    check_text(
        "ver <http://x|aquí> hoy",
        "ver <http://x|allí> hoy",
        "ver <http://y|aquí> hoy",
        "ver <http://y|allí> hoy",
        &[],
    );
    check_text(
        "ver <http://x|aquí>",
        "ver <http://z|aquí>",
        "ver <http://y|aquí>",
        "ver <http://z|aquí>",
        &["ver aquí ([service: http://z | yours: http://y])"],
    );
    check_text(
        "uno dos tres",
        "uno cuatro cinco",
        "uno dos *tres*",
        "uno cuatro cinco",
        &["[service: uno cuatro cinco | yours: uno dos tres]"],
    );
    check_text("a", "a x", "a *x*", "a *x*", &[]);
    check_text("a", "a _x_", "a *x* y", "a *_x_* y", &[]);
    check_text("b", "*x*", "x y", "*x* y", &[]);
    check_text("plan*es*", "plan*es* x", "cero plan*es*", "cero plan*es* x", &[]);
}

#[test]
fn unknown_parts_of_runs_stay_on_their_words() {
    let mention = json!({"type": "mention", "props": {"user": "Ana"}});
    let text = |text: &str| json!({"type": "text", "text": text, "styles": {"textColor": "red"}, "x": 1});
    let page = |content: Value| vec![json!({"id": "a", "content": content})];
    let merged = merge(
        &page(json!([text("hola "), mention, text(" y ya")])),
        &page(json!([text("hola "), mention, text(" y nada")])),
        &page(json!([text("pues hola "), mention, text(" y ya")])),
    );
    assert_eq!(merged.blocks, page(json!([text("pues hola "), mention, text(" y nada")])));
    assert!(merged.collisions.is_empty());
    let other = json!({"type": "mention", "props": {"user": "Eva"}});
    let merged = merge(
        &page(json!([text("hola "), mention])),
        &page(json!([text("hola "), other])),
        &page(json!([text("hola ")])),
    );
    assert_eq!(merged.blocks, page(json!([text("hola "), other])));
    assert_eq!(merged.collisions.len(), 1);
    assert!(merged.collisions[0].remote.contains("Eva") && merged.collisions[0].base.contains("Ana"));
}

#[test]
fn props_and_types_merge_by_key() {
    check(
        "a[level=1,color=red]: x",
        "a[level=2,color=red]: x",
        "a[level=1,color=blue]: x",
        "a[level=2,color=blue]: x",
        &[],
    );
    check(
        "a[level=1]: x",
        "a[level=2]: x y",
        "a[level=3]: z x",
        "a[level=2]: z x y",
        &["a: props.level: [service: 2 | yours: 3]"],
    );
    check("a[level=1]: x", "a: x", "a[level=1]: x y", "a: x y", &[]);
    check(
        "a[level=1]: x",
        "a: x",
        "a[level=2]: x",
        "a: x",
        &["a: props.level: [service: nothing | yours: 2]"],
    );
    check("a: x", "a[type=heading,level=2]: x", "a: x y", "a[type=heading,level=2]: x y", &[]);
    check(
        "a: x",
        "a[type=heading,level=2]: x z",
        "a[type=checkListItem,checked=1]: x y",
        "a[type=heading,level=2]: x z y",
        &["a: type: [service: heading | yours: checkListItem]"],
    );
    check(
        "a: x",
        "a[type=codeBlock]: x",
        "a: *x* y",
        "a[type=codeBlock]: x",
        &["a: [service: x | yours: x y]"],
    );
    check("a: x", "a[type=codeBlock]: x", "a: x y", "a[type=codeBlock]: x y", &[]);
}

#[test]
fn a_text_and_a_thing_are_not_mixed() {
    let text = |text: &str| {
        vec![json!({"id": "a", "type": "paragraph", "props": {}, "content": runs(text), "children": []})]
    };
    let image = vec![json!({"id": "a", "type": "image", "props": {"url": "u"}, "children": []})];
    let merged = merge(&text("x"), &text("x y"), &image);
    assert_eq!(merged.blocks, text("x y"));
    assert_eq!(merged.collisions.len(), 1);
    let merged = merge(&text("x"), &image, &text("x y"));
    assert_eq!(merged.blocks, image);
    assert_eq!((merged.collisions[0].remote.as_str(), merged.collisions[0].local.as_str()), ("u", "x y"));
    assert_eq!(merge(&text("x"), &image, &text("x")).blocks, image);
}

#[test]
fn tables_merge_by_rows_and_cells() {
    let cell = |text: &str| json!({"type": "tableCell", "content": runs(text), "props": {"colspan": 1}});
    let table = |rows: &[&str], widths: Value| {
        let rows: Vec<Value> =
            rows.iter().map(|row| json!({"cells": row.split('|').map(cell).collect::<Vec<_>>()})).collect();
        vec![
            json!({"id": "t", "type": "table", "props": {}, "content": {"type": "tableContent", "columnWidths": widths, "rows": rows}, "children": []}),
        ]
    };
    let none = || json!([null, null]);
    let base = table(&["a|b", "c|d"], none());
    let check = |remote: &[&str], local: &[&str], expected: &[&str], collisions: usize| {
        let merged = merge(&base, &table(remote, none()), &table(local, none()));
        assert_eq!(merged.blocks, table(expected, none()), "{remote:?} {local:?}");
        assert_eq!(merged.collisions.len(), collisions, "{remote:?} {local:?}");
    };
    check(&["a x|b", "c|d"], &["a|b", "c|d y"], &["a x|b", "c|d y"], 0);
    check(&["a|b", "c|d", "r|r"], &["a|b", "c|d y"], &["a|b", "c|d y", "r|r"], 0);
    check(&["a|b", "c|d", "r|r"], &["a|b", "c|d", "l|l"], &["a|b", "c|d", "r|r", "l|l"], 0);
    check(&["a|b"], &["a x|b", "c|d"], &["a x|b"], 0);
    check(&["a|b|n", "c|d|m"], &["a x|b", "c|d"], &["a x|b|n", "c|d|m"], 0);
    check(&["r|b", "c|d"], &["l|b", "c|d"], &["r|b", "c|d"], 1);
    check(&["a|b"], &["a|b", "c|d y"], &["a|b"], 1);
    let merged =
        merge(&base, &table(&["a|b", "c|d"], json!([1, null])), &table(&["a|b", "c|d"], json!([null, 2])));
    assert_eq!(merged.blocks, table(&["a|b", "c|d"], json!([1, 2])));
    let merged = merge(&base, &table(&["r|b", "c|d"], none()), &table(&["l|b", "c|d"], none()));
    assert_eq!(merged.collisions[0].place, "content.rows.0.cells.0.content");
    // What would be no table any more collides as a whole.
    let three = || json!([null, null, null]);
    let wide = table(&["a|b|n", "c|d|m"], three());
    for local in [table(&["a|b", "c|d", "l|l"], none()), table(&["a|b|", "c|d|z"], three())] {
        let merged = merge(&base, &wide, &local);
        assert_eq!((merged.blocks, merged.collisions.len()), (wide.clone(), 1));
    }
}

#[test]
fn odd_blocks_are_not_lost() {
    let text = |text: &str| json!({"type": "paragraph", "content": runs(text)});
    let with_id = |id: Value, words: &str| json!({"id": id, "type": "paragraph", "content": runs(words)});
    let check = |base: &[Value], remote: &[Value], local: &[Value], expected: &[Value]| {
        let merged = merge(base, remote, local);
        assert_eq!(merged.blocks, expected);
        assert!(merged.collisions.is_empty());
    };
    // No ids at all.
    check(
        &[text("a"), text("b")],
        &[text("a x"), text("b")],
        &[text("a"), text("y b")],
        &[text("a x"), text("y b")],
    );
    check(
        &[text("a"), text("b")],
        &[text("a"), text("b"), text("r")],
        &[text("l"), text("a"), text("b")],
        &[text("l"), text("a"), text("b"), text("r")],
    );
    check(
        &[text("a")],
        &[text("a"), text("n")],
        &[text("a"), text("n"), text("m")],
        &[text("a"), text("n"), text("m")],
    );
    check(&[text(""), text("")], &[text(""), text(""), text("")], &[text("")], &[text(""), text("")]);
    // One id twice.
    let same = |words: &str| with_id(json!("s"), words);
    check(
        &[same("a"), same("b")],
        &[same("a r"), same("b")],
        &[same("a"), same("b l")],
        &[same("a r"), same("b l")],
    );
    check(&[same("a")], &[same("a"), same("b")], &[same("a l")], &[same("a l"), same("b")]);
    // Ids that are no texts, and blocks that are no objects.
    check(
        &[with_id(json!(1), "a")],
        &[with_id(json!(1), "a r")],
        &[with_id(json!(1), "l a")],
        &[with_id(json!(1), "l a r")],
    );
    check(
        &[json!("a"), json!(null)],
        &[json!("a"), json!(null), json!(7)],
        &[json!([]), json!("a"), json!(null)],
        &[json!([]), json!("a"), json!(null), json!(7)],
    );
    // Children that are no array, or absent.
    let odd = |children: Value| json!({"id": "p", "x": 1, "children": children});
    check(
        &[odd(json!(null)), text("a")],
        &[odd(json!(null)), text("a r")],
        &[odd(json!([text("n")])), text("a")],
        &[odd(json!([text("n")])), text("a r")],
    );
    // Where there is no place for blocks they come after.
    let nested =
        |children: Value, words: &str| vec![json!({"id": "p", "content": runs(words), "children": children})];
    check(
        &nested(json!([]), "a"),
        &nested(json!([text("n")]), "a r"),
        &nested(json!("odd"), "l a"),
        &[nested(json!("odd"), "l a r").remove(0), text("n")],
    );
    let bare = with_id(json!("b"), "b");
    let mut full = bare.clone();
    full["children"] = json!([text("n")]);
    check(&[bare.clone(), text("a")], &[full.clone(), text("a")], &[bare, text("a l")], &[full, text("a l")]);
}

#[test]
fn key_order_and_number_forms_stay() {
    let read = |text: &str| -> Vec<Value> { serde_json::from_str(text).unwrap() };
    let base = read(
        r#"[{"type":"x","id":"a","n":1.0,"content":[]},{"z":1,"id":"b","y":123456789012345678901234567890}]"#,
    );
    let remote = read(
        r#"[{"type":"x","id":"a","n":1.0,"content":[],"r":1.50},{"z":1,"id":"b","y":123456789012345678901234567890}]"#,
    );
    let local = read(
        r#"[{"l":0.10,"type":"x","id":"a","n":1.0,"content":[]},{"z":2,"id":"b","y":123456789012345678901234567890}]"#,
    );
    let merged = merge(&base, &remote, &local);
    assert_eq!(
        serde_json::to_string(&merged.blocks).unwrap(),
        r#"[{"type":"x","id":"a","n":1.0,"content":[],"r":1.50,"l":0.10},{"z":2,"id":"b","y":123456789012345678901234567890}]"#
    );
}

#[test]
fn summaries_are_one_short_line() {
    let far = "uno dos tres cuatro cinco seis ";
    check_text(
        &format!("{far}x {far}y {far}"),
        &format!("{far}r {far}s {far}"),
        &format!("{far}l {far}m {far}"),
        &format!("{far}r {far}s {far}"),
        &[
            "… tres cuatro cinco seis [service: r | yours: l] uno dos tres cuatro cinco seis [service: s | yours: m] uno dos tres cuatro …",
        ],
    );
    check_text("a\nx", "a\nr\ns", "a\nl", "a\nr\ns", &["a [service: r s | yours: l]"]);
}
