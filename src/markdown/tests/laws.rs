//! The laws over generated pages. `ESPEJO_CASES` sets how many; the default keeps `cargo test` quick.

use proptest::prelude::*;

use super::super::certain::written_alone;
use super::super::lower::{lower, lower_one_by_one};
use super::super::patch::patch_alone;
use super::super::plain::{number, same_trees};
use super::super::{Allowed, patch, render};
use super::formatted::Dice;
use super::generate::page;
use super::{ids, norm, read};
use crate::markdown::{parse, with_new_ids};
use crate::model::tests::config;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_was_written_reads_back(blocks in page()) {
        let text = render(&blocks).text;
        let mut allowed = Allowed::documented();
        allowed.learn(&serde_json::json!([{"type": "quote", "props": {"textAlignment": "left"}}]).as_array().unwrap().clone());
        let back = parse(&text, &[], &allowed, &mut ids());
        let mut want = lower(&blocks).nodes;
        while want.last().is_some_and(|node| node.is_void()) {
            want.pop();
        }
        let mut have = lower(&back).nodes;
        number(&mut have);
        prop_assert!(same_trees(&want, &have), "{text}\n{want:#?}\n{have:#?}");
        let again = render(&back).text;
        prop_assert_eq!(again, text);
    }

    #[test]
    fn a_page_is_written_from_one_block_at_a_time(blocks in page()) {
        let text = render(&blocks).text;
        prop_assert_eq!(written_alone(&lower_one_by_one(blocks.into_iter())), Some(text));
    }

    #[test]
    fn with_base_nothing_changes(blocks in page()) {
        let text = render(&blocks).text;
        prop_assert_eq!(&read(&text, &blocks), &blocks);
        prop_assert_eq!(&read(&(text + "\n"), &blocks), &blocks);
    }

    #[test]
    fn a_patch_stands_for_the_new_blocks(old in page(), new in page()) {
        let text = render(&old).text;
        let patched = patch(&text, &old, &new);
        prop_assert_eq!(norm(&read(&patched, &new)), norm(&new));
        let alone = lower_one_by_one(new.iter().cloned());
        let patched = patch_alone(&text, &old, &alone).unwrap();
        prop_assert_eq!(norm(&read(&patched, &new)), norm(&new));
    }
}

/// The text with comments put into it by the dice, and how many.
fn commented(text: &str, dice: &mut Dice) -> (String, usize) {
    let mut count = 0;
    let mut out = String::new();
    for line in text.lines() {
        let lead = &line[..line.len() - line.trim_start_matches([' ', '>']).len()];
        let mut comment = |text: &str| {
            count += 1;
            text.replace('#', &count.to_string())
        };
        // espejo's own comments stand alone on their lines.
        match if line.contains("<!--") { 9 } else { dice.below(12) } {
            0 if !line.is_empty() => out.push_str(&format!("{line}{}", comment(" <!-- øwn # -->"))),
            1 if !line.is_empty() => out.push_str(&format!("{lead}{}\n{line}", comment("<!-- øwn # -->"))),
            2 if line.is_empty() => out.push_str(&comment("\n<!-- own\n\n# -->\n")),
            3 if line.is_empty() => out.push_str(&comment("\n%%\nøwn #\n\n%%\n")),
            4 if !line.is_empty() => out.push_str(&format!("{line}{}", comment(" %%øwn #%%"))),
            5 if line.is_empty() => out.push_str(&comment("\n[øwn #]: /nobody\n")),
            6 if line.contains(' ') => out.push_str(&line.replacen(' ', &comment(" <!-- øwn # --> "), 1)),
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    (out, count)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_a_file_hides_survives_whatever_the_page_becomes(old in page(), new in page(), seed in any::<u64>()) {
        let old = with_new_ids(&old, &mut ids());
        let (text, _) = commented(&render(&old).text, &mut Dice(seed));
        let base = read(&text, &old);
        prop_assert_eq!(&read(&text, &base), &base, "silent: {}", text);
        let own = |text: &str| text.matches("øwn").count();
        let hidden = own(&text) - own(&serde_json::to_string(&base).unwrap());
        // Some blocks stay, some come.
        let mut dice = Dice(seed / 7);
        let mut mixed: Vec<_> = base.iter().filter(|_| dice.below(3) > 0).cloned().collect();
        mixed.splice(..0, new);
        for new in [mixed, Vec::new()] {
            let patched = patch(&text, &base, &new);
            prop_assert_eq!(norm(&read(&patched, &new)), norm(&new), "{}\n----\n{}", text, patched);
            let left = own(&patched) - own(&serde_json::to_string(&new).unwrap());
            prop_assert!(left >= hidden, "{} of {}\n{}\n----\n{}", left, hidden, text, patched);
        }
    }
}

#[test]
fn signs_without_end_are_no_blocks_without_end() {
    for sign in ["> ", "- ", "+ ", "1. ", "> - ", "* 7) "] {
        let text = format!("{}word\n\nafter\n", sign.repeat(20_000));
        let blocks = read(&text, &[]);
        let said = serde_json::to_string(&blocks).unwrap();
        assert!(said.matches("\"children\"").count() < 120, "{sign:?}: so many blocks slow everything down");
        assert!(said.contains("word\"") && said.contains("\"after\""), "{sign:?}");
        assert_eq!(read(&text, &blocks), blocks, "{sign:?}");
        let again = render(&blocks).text;
        assert_eq!(read(&again, &blocks), blocks, "{sign:?}");
        assert_eq!(norm(&read(&again, &[])), norm(&blocks), "{sign:?}");
    }
}

/// The cases of `what_a_file_hides_survives…` in which it was broken.
#[test]
fn what_is_hidden_in_a_text_that_says_its_block_otherwise_has_a_place() {
    let block = |id: &str, text: &str| {
        serde_json::json!({"id": id, "type": "paragraph", "content": [{"type": "text", "text": text, "styles": {}}],
            "props": {"textColor": "default", "backgroundColor": "default", "textAlignment": "left"}, "children": []})
    };
    // White space that a formatter joined in both paragraphs stays at the service, and all places after it are others.
    let base = vec![block("1", "    *\nñ a ñ"), block("2", "é  ñ  ñ")];
    for text in [
        "\\*\\\nñ <!-- øwn --> a ñ\n\né ñ ñ\n",
        "\\*\\\nñ a ñ\n\né ñ <!-- øwn --> ñ\n",
        "\\*\\\nñ %%øwn%% a ñ\n\né <!-- øwn --> ñ ñ\n",
    ] {
        for new in [base.clone(), vec![block("1", "ñ a ñ"), block("2", "é  ñ  ñ")], vec![block("2", "ñ")]]
        {
            let patched = patch(text, &base, &new);
            assert_eq!(patched.matches("øwn").count(), text.matches("øwn").count(), "{text:?} {patched:?}");
        }
    }
}

/// Pages that the laws above were broken by.
#[test]
fn pages_that_broke_a_law_keep_it() {
    let run = |text: &str, code: bool| {
        let styles = if code { serde_json::json!({"code": true}) } else { serde_json::json!({}) };
        serde_json::json!({"type": "text", "text": text, "styles": styles})
    };
    let block = |kind: &str, content: Vec<serde_json::Value>, children: Vec<serde_json::Value>| {
        let props = serde_json::json!({"textColor": "default", "backgroundColor": "default", "textAlignment": "left"});
        serde_json::json!({"id": "1", "type": kind, "props": props, "content": content, "children": children})
    };
    let item = |content, children| block("bulletListItem", content, children);
    let task = |content| {
        let mut task = block("checkListItem", content, vec![]);
        task["props"]["checked"] = false.into();
        task
    };
    let empty = || block("paragraph", vec![], vec![]);
    for (page, text) in [
        // White space before a sign, beside a first character that is escaped.
        (item(vec![run("*\n", false), run(" : *", false)], vec![]), "- \\*\n   : *\n"),
        // A sign of which a part is code is none.
        (block("paragraph", vec![run("*\n:", false), run(" a", true)], vec![]), "\\*\\\n\\:` a`\n"),
        // A break of the term's style is written as such, although its line is one of a definition.
        (block("paragraph", vec![run("a\n", true), run(": é", false)], vec![]), "`a`<br>\n: é\n"),
        // White space before a sign in a task, whose further lines are indented less than its first word.
        (task(vec![run("a\n : b", false)]), "- [ ] a\n   : b\n"),
        // An item is no term of a definition.
        (
            item(vec![run("a\n: a", false)], vec![item(vec![run("a", false)], vec![empty()])]),
            "- a\n  : a\n  - a\n\n    <!-- empty -->\n",
        ),
    ] {
        let page = with_new_ids(&[page], &mut ids());
        assert_eq!(render(&page).text, text);
        assert_eq!(norm(&parse(text, &[], &Allowed::documented(), &mut ids())), norm(&page));
    }
    // A comment in a wide gap takes one space with it.
    let said = |text: &str| read(text, &[])[0]["content"][0]["text"].clone();
    assert_eq!((said("a <!-- b -->  c"), said("a <!-- b --> c")), ("a  c".into(), "a c".into()));
    // An empty line between two definitions that are not used is an empty paragraph as anywhere.
    let text = "A\n\n[b]: /b\n\n\n[c]: /c\n\nB\n";
    let page = read(text, &[]);
    assert_eq!(page.len(), 3, "{page:?}");
    // Where the text has none of the base's blank lines, the empty paragraph that it writes out is not one of them.
    let text = "- <!-- b --> ñ&#32;\n\n\n%%\nc\n\n%%\n\n<!-- empty -->\n\n<!-- children -->\n\n<!-- empty -->\n\n<!-- /children -->\n";
    let parent = block("paragraph", vec![], vec![empty()]);
    let page = with_new_ids(&[item(vec![run("ñ ", false)], vec![]), empty(), parent], &mut ids());
    let base = read(text, &page);
    assert_eq!((base.len(), read(text, &base)), (3, base));
    // One that is written out although it could be a blank line is itself.
    let text = "- é\n\n  <!-- empty -->\n\n  <!-- children -->\n\n  1.\n\n  - ñ\\\n    \\\n    é\n\n  <!-- /children -->\n\n<!-- b\n\n\
        2 -->\n\n  <!-- empty -->\n\n[b]: /b\n\n<!-- empty -->\n\n%%\nc\n\n%%\n\n<!-- children -->\n\n<!-- b\n\n5 -->\n\n#\n\na\n\n\
        <!-- /children -->\n\n- a\n\n  >\n\n  <!-- children -->\n\n<!-- b\n\n6 -->\n\n  <!-- empty -->\n\n<!-- b\n\n7 -->\n\n  \
        <!-- /children -->\n";
    let base = read(text, &[]);
    assert_eq!((base.len(), read(text, &base)), (6, base));
    // A block that the API does not describe stays itself when the empty paragraph behind it comes beneath it.
    let board = serde_json::json!({"id": "b", "type": "board", "content": {"rows": []}, "children": []});
    let page = with_new_ids(&[empty(), item(vec![run("a", false)], vec![])], &mut ids());
    let base = [vec![board.clone()], page.clone()].concat();
    let mut beneath = base.clone();
    beneath[0]["children"] = serde_json::json!([page[0]]);
    beneath.remove(1);
    assert_eq!(read(&render(&beneath).text, &base), beneath);
}
