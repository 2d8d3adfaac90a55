//! Front matter: what is read of it, what is refused, and that nothing but espejo's own keys is ever changed.

use proptest::prelude::*;

use super::super::front_matter::{FrontMatter, Split, set, set_beside, split};
use super::super::{Allowed, parse, patch};

fn front(id: Option<&str>, title: Option<&str>, icon: Option<&str>) -> FrontMatter {
    let own = |text: Option<&str>| text.map(str::to_owned);
    FrontMatter { id: own(id), own_id: None, title: own(title), icon: own(icon) }
}

/// Reads `text` as front matter that says `want`, before `body`.
#[track_caller]
fn reads(text: &str, want: [Option<&str>; 3], body: &str) {
    let Split { front: have, body: rest, body_start } = split(text).unwrap();
    assert_eq!(have, Some(front(want[0], want[1], want[2])), "{text:?}");
    assert_eq!(rest, body, "{text:?}");
    assert_eq!(&text[body_start..], body);
}

/// Reads `text` as a body without front matter.
#[track_caller]
fn is_body(text: &str) {
    assert_eq!(split(text), Ok(Split { front: None, body: text, body_start: 0 }), "{text:?}");
}

/// Refuses `text`, naming that line.
#[track_caller]
fn refuses(text: &str, line: usize, why: &str) {
    let error = split(text).unwrap_err();
    assert_eq!(error.line, line, "{text:?}: {error}");
    assert!(error.why.contains(why), "{text:?}: {error}");
    assert!(set(text, Some("p"), None, None).is_err(), "{text:?}");
}

#[test]
fn the_keys_are_read() {
    reads("---\nid: p1\n---\nHello\n", [Some("p1"), None, None], "Hello\n");
    reads("---\nid: p1\ntitle: A b\nicon: 🙂\n---\n", [Some("p1"), Some("A b"), Some("🙂")], "");
    reads("\u{feff}---\nid: p1\n---\nHello", [Some("p1"), None, None], "Hello");
    reads("---\r\nid: p1\r\ntitle: x\r\n---\r\nHello\r\n", [Some("p1"), Some("x"), None], "Hello\r\n");
    reads("--- \nid: p1\n---\t\nHello\n", [Some("p1"), None, None], "Hello\n");
    reads("---\nid: p1\n---", [Some("p1"), None, None], "");
    reads("---\nid: p1\n...\nHello\n\n---\n", [Some("p1"), None, None], "Hello\n\n---\n");
    reads("---\n---\nHello\n", [None; 3], "Hello\n");
    reads("---\ntags: [a, b]\n---\nHello\n", [None; 3], "Hello\n");
    reads("---\nid:\ntitle: ~\nicon: null\n---\n", [None; 3], "");
    reads("---\n# mine\nid: p1 # theirs\n\ntags:\n  - a\n---\n", [Some("p1"), None, None], "");
    reads("---\ntags:\n- id: no\n- title: no\nid: p1\n---\n", [Some("p1"), None, None], "");
    reads("---\n{id: p1, title: T}\n---\n", [Some("p1"), Some("T"), None], "");
    reads("---\nmy notes: x\n---\n", [None; 3], "");
}

#[test]
fn a_value_counts_as_it_is_written() {
    let title = |yaml: &str, want: &str| {
        reads(&format!("---\ntitle: {yaml}\n---\nx\n"), [None, Some(want), None], "x\n");
    };
    for plain in ["no", "012", "1_000", "1.0", "0x1f", "true", "2024-01-01", "a#b", "it's", "a:b", "12:30:00"]
    {
        title(plain, plain);
    }
    title("a # b", "a");
    title("'a # b'", "a # b");
    title("'it''s'", "it's");
    title(r#""a: \"b\" \\ \t\n\u00e9""#, "a: \"b\" \\ \t\né");
    title("|\n  one\n  two", "one\ntwo\n");
    title(">-\n  one\n  two", "one two");
    title("one\n  two", "one two");
    title("\"\"", "");
    title("'null'", "null");
}

#[test]
fn a_body_that_begins_with_a_divider_is_a_body() {
    for text in [
        "",
        "Hello",
        "---",
        "---\n",
        "---\n\nHello\n",
        "---\nHello\n",
        "---\nHello\n---\n",
        "---\n\nHello\n\n---\n\nBye\n",
        "---\n\nNote: to self\n",
        "---\n\n# Heading\n\n---\n",
        "---\n- a\n- b\n---\n",
        "---\n* * *\n---\nx\n",
        "----\nid: p\n",
        " ---\nid: p\n---\n",
        "\n---\nid: p\n---\n",
        "- --\nid: p\n",
        "***\nid: p\n---\n",
        "---\nhttps://a.example\n",
        "---\nSo: it goes, you see, and then\n---x\n"[4..].trim_start(),
        "---\n> a: b\n",
        "---\n**Note**: x\n",
        "---\n# id: p\n",
        "---\n\"Quoted,\" he said: no\n\n---\n",
        "text\n---\nid: p\n---\n",
        "...\nid: p\n...\n",
        "---\n\u{1}\n---\n",
        "---\n[[[[\n---\n",
    ] {
        is_body(text);
    }
}

#[test]
fn broken_front_matter_is_refused() {
    refuses("---\nid: p\nHello", 1, "ends it");
    refuses("---\nid: p\nHello\n\nworld ---\n", 1, "ends it");
    refuses("\u{feff}---\r\nid: p\r\nHello\r\n", 1, "ends it");
    refuses("---\n\nid: p\n\nHello\n", 1, "ends it");
    refuses("---\n# mine\ntags: [a]\n", 1, "ends it");
    refuses("---\ntags:\n", 1, "ends it");
    refuses("---\n\"id\": p\n", 1, "ends it");
    refuses("---\nid: p\n ---\nHello\n", 1, "ends it");
    refuses("---\nid: p\nHello\n---\n", 4, "");
    refuses("---\nid: p\ntags: [a\n---\n", 4, "");
    refuses("---\nid: p\n\ttitle: x\n---\n", 2, "");
    refuses("---\nid: \"p\n---\nHello\n", 2, "");
    refuses("---\nid: a\nid: b\n---\n", 3, "id occurs twice");
    refuses("---\nid: a\ntags: x\ntags: y\n---\n", 4, "tags occurs twice");
    refuses("---\nid: a\n\"id\": b\n---\n", 3, "id occurs twice");
    refuses("---\nid: &a p\n---\n", 2, "anchor");
    refuses("---\nid: p\ntags: &t [x]\nmore: *t\n---\n", 3, "anchor");
    refuses("---\nid: p\nmore: *t\n---\n", 3, "");
    refuses("---\nid: [p]\n---\n", 2, "id must be text");
    refuses("---\nx: 1\ntitle:\n  a: b\n---\n", 3, "title must be text");
    refuses("---\nid: p\n--- x\nid: q\n---\n", 3, "second document");
    refuses("---\nid: p\n--- x\n---\n", 3, "second document");
    refuses("---\nid: p\nnote: |\n  more\n--- # mine\nid: q\n---\n", 5, "second document");
    refuses("---\nid: p\n... # mine\n---\n", 3, "second document");
    let deep = format!("---\nid: p\nx: {}\n---\n", "[".repeat(100_000));
    assert!(split(&deep).is_err());
    let deep = format!("---\nid: p\nx:\n {}y\n---\n", "- ".repeat(5_000));
    assert!(split(&deep).is_ok());
    let large = format!("---\nid: {}\n---\n", "x".repeat(2 << 20));
    refuses(&large, 2, "megabyte");
}

/// `set` turns `before` into `after`, and a second time changes nothing.
#[track_caller]
fn sets(before: &str, wanted: [Option<&str>; 3], after: &str) {
    let [id, title, icon] = wanted;
    let once = set(before, id, title, icon).unwrap();
    assert_eq!(once, after, "{before:?}");
    assert_eq!(set(&once, id, title, icon).unwrap(), once, "{before:?}");
    assert_eq!(split(&once).unwrap().front.unwrap_or_default(), front(id, title, icon));
}

#[test]
fn only_espejos_keys_change() {
    let id = [Some("p1"), None, None];
    sets("Hello\n", id, "---\nid: p1\n---\n\nHello\n");
    sets("", id, "---\nid: p1\n---\n");
    sets("\u{feff}Hello\r\n", id, "\u{feff}---\r\nid: p1\r\n---\r\n\r\nHello\r\n");
    sets("---\n\nHello\n", id, "---\nid: p1\n---\n\n---\n\nHello\n");
    sets("---\ntags: [ a,b ]   # x\n---\nHello\n", id, "---\nid: p1\ntags: [ a,b ]   # x\n---\nHello\n");
    sets("---\nid: old # note\n---\nHello\n", id, "---\nid: p1 # note\n---\nHello\n");
    sets("---\r\nx: 1\r\n---\r\nA", id, "---\r\nid: p1\r\nx: 1\r\n---\r\nA");
    sets("---\n---\nHello\n", id, "---\nid: p1\n---\nHello\n");
    sets("---\nx: 1\n...\nHello\n", id, "---\nid: p1\nx: 1\n...\nHello\n");
    sets("---\nid:   'p1'  # keep\n---\nA", id, "---\nid:   'p1'  # keep\n---\nA");
    let all = [Some("p1"), Some("a: b"), Some("🙂")];
    sets("A\n", all, "---\nid: p1\ntitle: \"a: b\"\nicon: \"🙂\"\n---\n\nA\n");
    sets(
        "---\n# mine\nx:\n  - 1\ntitle: |\n  one\n  two\n\ny: 2\n---\nA\n",
        all,
        "---\nid: p1\n# mine\nx:\n  - 1\ntitle: \"a: b\"\nicon: \"🙂\"\n\ny: 2\n---\nA\n",
    );
    sets("---\nid: p1\ntitle: t\nicon: i\n---\n\nA\n", [None; 3], "A\n");
    sets("---\nid: p1\nx: 1\n---\n\nA\n", [None; 3], "---\nx: 1\n---\n\nA\n");
    sets("---\n# mine\nid: p1\n---\n\nA\n", [None; 3], "---\n# mine\nid:\n---\n\nA\n");
    sets("---\nid: p1\n---\n\n---\nx: 1\n---\n", [None; 3], "---\n---\n\n---\nx: 1\n---\n");
    sets("A\n", [None; 3], "A\n");
    sets("---\nid: p0\n  # mine\nx: 1\n---\n", id, "---\nid: p1\n  # mine\nx: 1\n---\n");
    sets("---\nid: \"p0\n  # in\"\nx: 1\n---\n", id, "---\nid: p1\nx: 1\n---\n");
    sets("---\ntitle: a\n  b\nx: 1\n---\n", id, "---\nid: p1\nx: 1\n---\n");
    let error = set("---\n{id: p1}\n---\n", Some("p2"), None, None).unwrap_err();
    assert!(error.why.contains("braces"), "{error}");
}

#[test]
fn another_programs_id_stays_and_espejos_goes_beside_it() {
    let others = "---\nid: \"2021-x\" # Dendron\ntitle: T\ntags: [a]\n---\n\nA\n";
    let own = others.replace("title:", "espejo-id: p1\ntitle:");
    let put = |text: &str, id: Option<&str>, title: Option<&str>| {
        set_beside(text, id, title, None, &|id| id.starts_with('p')).unwrap()
    };
    assert_eq!(put(others, Some("p1"), Some("T")), own);
    assert_eq!(split(&own).unwrap().front.unwrap().named(), Some("p1"));
    // From then on it needs no knowledge of the other.
    assert_eq!(set(&own, Some("p1"), Some("T"), None).unwrap(), own);
    assert_eq!(set(&own, Some("p2"), Some("T"), None).unwrap(), own.replace("p1", "p2"));
    assert_eq!(put(&own, None, Some("T")), others);
    assert_eq!(put(others, None, Some("U")), others.replace(": T", ": U"));
    // One that a page has is espejo's, and so is the place of none.
    assert_eq!(put("---\nid: p7\n---\nA\n", Some("p1"), None), "---\nid: p1\n---\nA\n");
    assert_eq!(put("---\nid:\nx: 1\n---\nA\n", Some("p1"), None), "---\nid: p1\nx: 1\n---\nA\n");
    assert!(set_beside("---\n{id: x}\n---\nA\n", Some("p1"), None, None, &|_| false).is_err());
}

#[test]
fn bare_is_what_no_reader_takes_for_something_else() {
    let written = |title: &str, yaml: &str| {
        sets("", [None, Some(title), None], &format!("---\ntitle: {yaml}\n---\n"));
    };
    for bare in ["Plan", "Año nuevo", "a-b_c.d", "it's", "2024 plan", "Q1 (draft)", "会議"] {
        written(bare, bare);
    }
    for (title, yaml) in [
        ("no", "\"no\""),
        ("True", "\"True\""),
        ("1_000", "\"1_000\""),
        ("012", "\"012\""),
        ("1e5", "\"1e5\""),
        ("2024-01-01", "\"2024-01-01\""),
        ("~", "\"~\""),
        ("", "\"\""),
        ("- a", "\"- a\""),
        ("a: b", "\"a: b\""),
        ("a #b", "\"a #b\""),
        ("\"q\"", "\"\\\"q\\\"\""),
        ("'q'", "\"'q'\""),
        ("a\\b", "\"a\\\\b\""),
        ("a\nb\r\tc", "\"a\\nb\\r\\tc\""),
        ("\u{0}\u{1b}\u{7f}\u{85}", "\"\\u0000\\u001b\\u007f\\u0085\""),
        (" edge ", "\" edge \""),
        ("---", "\"---\""),
        ("...", "\"...\""),
        ("*a", "\"*a\""),
        ("&a", "\"&a\""),
        ("%a", "\"%a\""),
        ("@a", "\"@a\""),
        ("👩‍👩‍👧", "\"👩‍👩‍👧\""),
    ] {
        written(title, yaml);
    }
}

fn value() -> impl Strategy<Value = Option<String>> {
    let odd = prop::sample::select(vec![
        "\n", "\r\n", "\u{85}", "\u{2028}", "\u{feff}", "---", "...", ": ", " #", "\"", "'", "\\", "\t",
        "\0", "null", "no", "1", "{", "[", "&", "*", "!", "|", ">", "%", "🙂", "é", " ", "id: x", "\u{fffe}",
        "\u{ffff}", "\u{1f}", "-",
    ]);
    let piece = prop_oneof![3 => odd.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from), 1 => "[a-z]{1,4}"];
    prop::option::of(prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat()))
}

fn page() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "---",
        "...",
        "id: p",
        "id: 'q' # c",
        "title: x",
        "title: |",
        "  more",
        "icon: \"🙂\"",
        "tags: [a, b]",
        "# mine",
        "",
        "- item",
        "other:",
        "text",
        "x: {a: b}",
        "\t",
        "note: y",
        "  # in",
        "--- x",
        "a: &b c",
        "\"id\": z",
        "{id: p}",
        "%x",
    ]);
    let eol = prop::sample::select(vec!["\n", "\n", "\n", "\r\n"]);
    let lines = prop::collection::vec((line, eol), 0..9);
    (any::<bool>(), any::<bool>(), lines).prop_map(|(bom, dashes, lines)| {
        let mut text = String::from(if bom { "\u{feff}" } else { "" });
        text.push_str(if dashes { "---\n" } else { "" });
        lines.iter().for_each(|(line, eol)| text.extend([*line, *eol]));
        text
    })
}

/// The lines of the front matter that are the user's: neither espejo's keys nor what belongs to their values.
fn others(text: &str) -> Vec<String> {
    let body = split(text).unwrap().body_start;
    let lines: Vec<&str> = text[..body].lines().collect();
    let inner = lines.get(1..lines.len().max(2) - 1).unwrap_or_default();
    let (mut own, mut block) = (false, false);
    let mut out = Vec::new();
    for line in inner {
        let key = line.trim_start_matches('"');
        if ["id", "title", "icon"].iter().any(|name| key.starts_with(name)) {
            own = true;
            block = line.ends_with('|');
        } else if !line.starts_with([' ', '\t']) && !line.is_empty() || !block && line.trim().starts_with('#')
        {
            own = false;
        }
        if !own {
            out.push((*line).to_owned());
        }
    }
    out.retain(|line| !line.trim().is_empty());
    out
}

proptest! {
    #![proptest_config(crate::model::tests::config())]

    #[test]
    fn what_was_set_is_read_and_nothing_else_changed(text in page(), id in value(), title in value(), icon in value()) {
        let Ok(before) = split(&text) else { return Ok(()) };
        let body = before.body.trim_start_matches('\u{feff}').trim_start_matches(['\n', '\r']).to_owned();
        let (id, title, icon) = (id.as_deref(), title.as_deref(), icon.as_deref());
        let Ok(after) = set(&text, id, title, icon) else { return Ok(()) };
        let now = split(&after).unwrap();
        prop_assert_eq!(now.front.clone().unwrap_or_default(), front(id, title, icon), "{:?} {:?}", text, after);
        prop_assert_eq!(now.body.trim_start_matches('\u{feff}').trim_start_matches(['\n', '\r']), body, "{:?} {:?}", text, after);
        prop_assert_eq!(others(&after), others(&text), "{:?} {:?}", text, after);
        prop_assert_eq!(set(&after, id, title, icon).unwrap(), after);
    }
}

#[test]
fn dividers_that_come_to_stand_at_the_top_are_no_front_matter() {
    let allowed = Allowed::named(&["divider".to_owned()]);
    let written = "Hello\n\n---\n\nid: x\n\n---\n\nEnd\n";
    let mut ids = 0;
    let blocks = parse(written, &[], &allowed, &mut || {
        ids += 1;
        format!("b{ids}")
    });
    for without in 1..3 {
        let text = patch(written, &blocks, &blocks[without..]);
        is_body(&text);
        assert!(text.ends_with("id: x\n\n---\n\nEnd\n"), "{text:?}");
        assert_eq!(parse(&text, &blocks[without..], &allowed, &mut String::new), blocks[without..]);
    }
    // Nor for programs that take whatever stands between two dividers for front matter.
    let words = [&blocks[4..], &blocks[1..2]].concat();
    let moved = [&blocks[1..2], &blocks[4..], &blocks[3..4]].concat();
    assert_eq!(patch("End\n\n---\n", &words, &moved), "***\n\nEnd\n\n---\n");
    assert_eq!(patch("---\n\nEnd\n\n---\n", &moved, &moved[..2]), "---\n\nEnd\n");
    // Where it cannot be mistaken it stays as it is.
    let (old, new) = ([0, 1, 4].map(|n| blocks[n].clone()), [1, 4].map(|n| blocks[n].clone()));
    assert_eq!(patch("Hello\n\n---\n\nEnd\n", &old, &new), "---\n\nEnd\n");
}

#[test]
fn carriage_returns_by_themselves_end_lines_of_front_matter() {
    for text in [
        "---\r\r\ntitle: ñ\r\r\nmío: x\r\r\nid: \"x\"\r\r\n---\r\r\nTexto\r\r\n",
        "---\ntitle: ñ\rid: x\n---\nTexto\n",
    ] {
        let after = set(text, Some("y"), Some("ñ"), None).unwrap();
        let split = split(&after).unwrap();
        assert_eq!(split.front, Some(front(Some("y"), Some("ñ"), None)), "{after:?}");
        assert!(
            after.contains("title: ñ\r") && after.contains("mío: x") == text.contains("mío: x"),
            "{after:?}"
        );
        assert!(split.body.contains("Texto"), "{after:?}");
    }
}
