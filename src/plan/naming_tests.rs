//! Tests of naming: tables of titles, and laws for generated titles.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const ROOM: usize = 252;

fn free(_: &str) -> bool {
    false
}

fn stem(title: &str) -> String {
    choose(title, &free, ROOM).stem
}

#[test]
fn titles_become_names_that_can_be_seen() {
    let check = |title: &str, expected: &str| {
        let name = choose(title, &free, ROOM);
        assert_eq!(name.stem, expected, "{title:?}");
        assert_eq!(name.says_title, title == expected, "{title:?}");
        assert!(still_says(&name.stem, title), "{title:?}");
    };
    // Names that each file system accepts stay unchanged.
    for title in [
        "Roadmap",
        "Sin título",
        "¡sí!",
        "1. Plan (2)",
        "año ñandú",
        "日本語",
        "a.b.c",
        "v1.0",
        "x~",
        "#tag",
        "COM",
        "CONTROL",
        "COM10",
        "console.log",
        "a  b",
        "a\u{a0}b",
        "👨‍👩‍👧 familia",
        "❤️ amor",
        "1️⃣ uno",
        "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
        "می‌خواهم",
        "-x",
        "$HOME",
        "100 %",
        "a & b",
        "it's",
        "x.mdx",
        "md",
    ] {
        check(title, title);
    }
    check("", "Sin título");
    check("a/b", "a／b");
    check("../../x", "．.／..／x");
    check("/etc/passwd", "／etc／passwd");
    check("C:\\x", "C：＼x");
    check("<a> \"b\" c|d e*?", "＜a＞ ＂b＂ c｜d e＊？");
    check(".hidden", "．hidden");
    check(".", "．");
    check("..", "．．");
    check("...", "．.．");
    check("etc.", "etc．");
    check(" x", "␣x");
    check("x ", "x␣");
    check("  x\u{3000}", "␣␣x␣");
    check("   ", "␣␣␣");
    check("a\nb\tc\0", "a␊b␉c␀");
    check("a\u{7f}\u{85}\u{9f}b", "a␡␤�b");
    check("a\u{200b}b\u{202e}c\u{feff}", "a�b�c�");
    check("a\u{ad}b\u{2028}c", "a�b␤c");
    check("a\u{200d}b", "a�b");
    check("\u{200d}é", "�é");
    check("a\u{e0041}\u{e0042}", "a��");
    check("CON", "CON_");
    check("con", "con_");
    check("nul.txt", "nul_.txt");
    check("Com1 .x", "Com1_ .x");
    check("LPT¹", "LPT¹_");
    check("CONIN$", "CONIN$_");
    check("aux.", "aux．");
    check("README.md", "README．md");
    check("x.MD", "x．MD");
    check("x.canvas", "x．canvas");
    check("x.md.svg", "x.md．svg");
    check("~$x", "_~$x");
    check("x.conflict-20260131-235959", "x.conflict-20260131-235959_");
    check("x.conflict-20260131-235959-2", "x.conflict-20260131-235959-2_");
    check("x.sync-conflict-20260131-235959-ABCDEFG", "x.sync-conflict-20260131-235959-ABCDEFG_");
    check("x (conflicted copy 2026)", "x (conflicted copy 2026)_");
    check("x_BASE_12", "x_BASE_12_");
}

#[test]
fn a_decomposed_title_is_named_composed_and_kept_exactly() {
    let name = choose("Cancio\u{301}n", &free, ROOM);
    assert_eq!(name, Name { stem: "Canción".to_owned(), says_title: false });
    assert_eq!(title_of("Cancio\u{301}n"), "Canción");
    assert!(still_says("Cancio\u{301}n", "Canción"));
}

#[test]
fn long_titles_are_cut_between_characters() {
    let check = |title: &str, room: usize, expected: &str| {
        let name = choose(title, &free, room);
        assert_eq!(name.stem, expected, "{title:?} in {room}");
        assert!(!name.says_title && still_says(&name.stem, title), "{title:?} in {room}");
    };
    check("abcdefghijklmnopqrst", 16, "abcdefghijklm…");
    check("ñññññññññññññ", 16, "ññññññ…");
    check("hello world. and", 16 - 1, "hello world…");
    check("hello world .  and", 16, "hello world…");
    // No cut separates a combining mark, a family, a flag or a skin tone.
    check("abcdefghijkle\u{332}\u{333}x", 16, "abcdefghijkl…");
    check("abcdef👨‍👩‍👧", 16, "abcdef…");
    check("abcdefgh🇪🇸", 15, "abcdefgh…");
    check("abc🇪🇸🇫🇷", 16, "abc🇪🇸…");
    check("abcdefgh👍🏽", 15, "abcdefgh…");
    // A name that fits exactly is not cut.
    let full = "ñ".repeat(126);
    assert_eq!(choose(&full, &free, 252), Name { stem: full.clone(), says_title: true });
    check(&"ñ".repeat(127), 252, &("ñ".repeat(124) + "…"));
    check(&" ".repeat(400), 252, &("␣".repeat(83) + "…"));
    let marks = format!("a{}", "\u{301}\u{302}".repeat(200));
    assert!(choose(&marks, &free, 16).stem.len() <= 16);
}

#[test]
fn siblings_of_one_title_are_numbered() {
    let mut taken = BTreeSet::new();
    let mut give = |title: &str| {
        let name = choose(title, &|key| taken.contains(key), ROOM);
        assert!(taken.insert(fold(&name.stem)), "{title:?} got a name that was taken");
        (name.stem, name.says_title)
    };
    let cases = [
        ("Plan", "Plan", true),
        ("Plan", "Plan (2)", false),
        ("PLAN", "PLAN (3)", false),
        ("Plan (2)", "Plan (2) (2)", false),
        ("Plan (4)", "Plan (4)", true),
        ("Plan", "Plan (5)", false),
        ("straße", "straße", true),
        ("STRASSE", "STRASSE (2)", false),
        ("STRAẞE", "STRAẞE (3)", false),
        ("caf\u{e9}", "café", true),
        ("cafe\u{301}", "café (2)", false),
        ("ΟΔΟΣ", "ΟΔΟΣ", true),
        ("οδος", "οδος (2)", false),
        ("ﬁn", "ﬁn", true),
        ("fin", "fin (2)", false),
        ("❤", "❤", true),
        ("❤️", "❤️ (2)", false),
        ("a/b", "a／b", false),
        ("a／b", "a／b (2)", false),
        ("", "Sin título", false),
        ("Sin título", "Sin título (2)", false),
    ];
    for (title, stem, says_title) in cases {
        assert_eq!(give(title), (stem.to_owned(), says_title), "{title:?}");
        assert!(still_says(stem, title));
    }
}

#[test]
fn a_thousand_siblings_and_a_small_room() {
    let mut taken = BTreeSet::new();
    let asked = std::cell::Cell::new(0);
    for _ in 0..1000 {
        let name = choose(
            "una página larga",
            &|key| {
                asked.set(asked.get() + 1);
                taken.contains(key)
            },
            16,
        );
        assert!(name.stem.len() <= 16 && still_says(&name.stem, "una página larga"), "{}", name.stem);
        assert!(taken.insert(fold(&name.stem)));
    }
    assert!(asked.get() < 60_000, "{} questions", asked.get());
}

#[test]
fn workspaces_do_not_take_the_names_of_espejo() {
    let check = |name: &str, expected: &str| assert_eq!(folder_name(name, &free, 255).stem, expected);
    check("Equipo", "Equipo");
    check("Storage", "Storage (2)");
    check("PRESENTATIONS", "PRESENTATIONS (2)");
    check(".espejo", "．espejo");
    check("..", "．．");
    check("", "Sin título");
}

#[test]
fn renaming_is_told_from_naming() {
    let check =
        |stem: &str, title: &str, same: bool| assert_eq!(still_says(stem, title), same, "{stem:?} {title:?}");
    check("Plan", "Plan", true);
    check("Plan (2)", "Plan", true);
    check("Plan (17)", "Plan", true);
    check("Plan (1)", "Plan", false);
    check("Plan (02)", "Plan", false);
    check("Plan (+2)", "Plan", false);
    check("Plan(2)", "Plan", false);
    check("plan", "Plan", false);
    check("Plan B", "Plan", false);
    check("Plan", "Plan (2)", false);
    check("Plan (2) (3)", "Plan (2)", true);
    check("…", "Plan", false);
    check("Plan…", "Plan", false);
    check("Pl…", "Plan", true);
    check("a／b", "a/b", true);
    check("a-b", "a/b", false);
    check("a*b", "a*b", true);
    check("a\u{301}*", "á*", true);
}

#[test]
fn a_renamed_file_says_what_its_user_meant() {
    let check = |stem: &str, before: &str, title: &str| assert_eq!(retitled(stem, before), title);
    check("Sprint 4／4", "Sprint 3/4", "Sprint 4/4");
    check("¿Por qué？ Porque sí", "¿Por qué?", "¿Por qué? Porque sí");
    check("何？何", "何？", "何？何");
    check("a：b", "x", "a：b");
    check("a：b？", "a:b", "a:b？");
    check("Cancio\u{301}n", "x", "Canción");
}

#[test]
fn conflict_copies_are_named_after_their_page() {
    let when = WallTime { year: 2026, month: 1, day: 31, hour: 7, minute: 5, second: 9 };
    assert_eq!(conflict_copy("Plan", when, &free, ROOM), "Plan.conflict-20260131-070509.md");
    let taken = |key: &str| key == "plan.conflict-20260131-070509" || key.ends_with("-2");
    assert_eq!(conflict_copy("Plan", when, &taken, ROOM), "Plan.conflict-20260131-070509-3.md");
    let long = conflict_copy(&"ñ".repeat(126), when, &free, ROOM);
    assert!(long.len() <= 255 && is_conflict_copy(&long), "{long}");
    for (name, is) in [
        ("a.conflict-20260131-070509.md", true),
        ("a.conflict-20260131-070509-12.md", true),
        ("a.conflict-20260131-070509", false),
        (".conflict-20260131-070509.md", false),
        ("a.conflict-20260131-07050.md", false),
        ("a.conflict-20260131x070509.md", false),
        ("a.conflict-20260131-070509-.md", false),
        ("a.conflict-20260131-070509x.md", false),
        ("a.conflict-2026013é-070509.md", false),
        ("a.conflict-20260131-07050é.md", false),
    ] {
        assert_eq!(is_conflict_copy(name), is, "{name}");
    }
}

#[test]
fn every_character_folds_to_a_fixed_point() {
    let changes = |c: &char| {
        !c.to_lowercase().eq([*c]) || !c.to_uppercase().eq([*c]) || !std::iter::once(*c).nfd().eq([*c])
    };
    // Hangul syllables decompose by arithmetic and have no case: a sample is enough.
    let hangul = |c: &char| ('가'..='힣').contains(c) && u32::from(*c) % 100 != 0;
    for c in ('\0'..=char::MAX).filter(changes).filter(|c| !hangul(c)) {
        let once = fold(&c.to_string());
        assert_eq!(fold(&once), once, "{c:?} {:x}", u32::from(c));
        // Upper and lower case of one letter have one key.
        for other in [c.to_lowercase().collect::<String>(), c.to_uppercase().collect::<String>()] {
            assert_eq!(fold(&other), once, "{c:?} {:x}", u32::from(c));
        }
    }
}

/// Titles of all kinds, with difficult characters more frequent than in practice.
fn titles() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-zA-Z0-9 ]{0,6}",
        2 => any::<char>().prop_map(String::from),
        4 => prop::sample::select(vec![
            ".", "..", " ", "/", "\\", ":", "~$", "#", "CON", "nul", "COM1", ".md", ".MD", ".canvas", ".svg", "…", " (2)", "(", ")",
            "conflicted copy", ".conflict-20260131-235959", "-2", ".sync-conflict-20260131-235959-ABCDEFG", "_BASE_1",
            "_", "\u{200d}", "\u{fe0f}", "\u{301}", "\u{338}", "<", "=", "é", "ß", "ẞ", "Σ", "İ", "👩", "🇪🇸", "\u{e0041}", "🏴",
            "\u{345}", "\n", "\u{85}", "␣", "．", "한", "\u{1161}", "\u{1100}",
        ]).prop_map(String::from),
        1 => "[ñ]{0,90}",
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(crate::model::tests::config())]

    #[test]
    fn every_name_is_a_page_that_can_be_written_anywhere(
        title in titles(), room in 16_usize..=252, used in prop::collection::btree_set(titles(), 0..3)
    ) {
        let taken: BTreeSet<String> = used.iter().flat_map(|t| [t.clone(), choose(t, &free, room).stem, choose(&title, &free, room).stem]).map(|s| fold(&s)).collect();
        let is_taken = |key: &str| taken.contains(key);
        let name = choose(&title, &is_taken, room);
        let stem = &name.stem;
        prop_assert!(stem.len() <= room);
        prop_assert!(!is_taken(&fold(stem)));
        prop_assert!(ignore::is_page_file(&(stem.clone() + ".md")) && !ignore::is_ignored_folder(stem));
        prop_assert!(!stem.contains(['/', '\\', '<', '>', ':', '"', '|', '?', '*']) && !stem.chars().any(char::is_control));
        prop_assert!(!stem.starts_with('.') && !stem.ends_with('.'));
        prop_assert_eq!(stem.trim(), stem);
        prop_assert_eq!(&stem.nfc().collect::<String>(), stem);
        prop_assert_eq!(name.says_title, title_of(stem) == title);
        prop_assert!(still_says(stem, &title));
        let upper = stem.to_ascii_uppercase();
        let base = upper.split('.').next().unwrap_or("").trim_end();
        prop_assert!(!matches!(base, "CON" | "NUL" | "PRN" | "AUX" | "COM1" | "CONIN$"));
        // A name that espejo chose stays the same if it is chosen again from the title that the file states.
        prop_assert_eq!(&choose(&title_of(stem), &free, room), &Name { stem: stem.clone(), says_title: true });
    }

    #[test]
    fn folding_twice_is_folding_once(title in titles()) {
        let once = fold(&title);
        prop_assert_eq!(&fold(&once), &once);
        prop_assert_eq!(fold(&title.nfc().collect::<String>()), once.clone());
        prop_assert_eq!(fold(&title.nfd().collect::<String>()), once);
    }

    #[test]
    fn conflict_copies_are_conflict_copies(title in titles(), room in 40_usize..=252) {
        let when = WallTime { year: 2026, month: 12, day: 1, hour: 0, minute: 59, second: 60 };
        let name = conflict_copy(&choose(&title, &free, room).stem, when, &free, room);
        prop_assert!(is_conflict_copy(&name) && !ignore::is_page_file(&name) && name.len() <= room + 3, "{}", name);
    }
}

#[test]
fn the_default_title_is_a_name() {
    assert_eq!(stem(NAMELESS), NAMELESS);
}
