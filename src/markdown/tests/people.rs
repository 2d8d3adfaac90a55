//! Files as people type them in their editors: what is hidden there is not sent, and another machine's file reads the same.

use serde_json::{Value, json};

use super::super::{Allowed, parse, patch, render};
use super::ids;
use super::typed::{Case, check, outline};

#[test]
fn comments_of_obsidian_are_hidden_wherever_it_hides_them() {
    for (file, sent, other) in [
        ("One %%mine%%, two (%%mine%%)\n", "paragraph \"One , two ()\"", "One , two ()\n"),
        ("Text\n\n%% kanban:settings\n```\n{\"mine\":1}\n```\n%%\n", "paragraph \"Text\"", "Text\n"),
        ("%%mine\n\n- mine\n\nmine%%\n\nText\n", "paragraph \"Text\"", "Text\n"),
        ("Text\n\n%%\n# mine\n```json\n{}\n```\n%%\n", "paragraph \"Text\"", "Text\n"),
        ("One\n%% mine %%\ntwo\n", "paragraph \"One two\"", "One two\n"),
        ("%% mine %%\nOne\n", "paragraph \"One\"", "One\n"),
        ("- a\n  - %% mine %%\n- b\n", "bullet \"a\"\n bullet \"\"\nbullet \"b\"", "- a\n\n  -\n\n- b\n"),
        // Without its end it is text, and so is a number.
        (
            "%% a\n\nText\n\n50%% b\n",
            "paragraph \"%% a\"\nparagraph \"Text\"\nparagraph \"50%% b\"",
            "\\%% a\n\nText\n\n50%% b\n",
        ),
        (
            "- a\n  %% mine\n  mine\n  %%\n- b\n\n  %%\n  mine\n  %%\n\n  c\n",
            "bullet \"a\"\nbullet \"b\"\n paragraph \"c\"",
            "- a\n- b\n\n  c\n",
        ),
        (
            "[a <!-- mine --> b](https://a.example) <!----> c %%mine%%\\\nd\n",
            "paragraph \"[a b](https://a.example) c\\nd\"",
            "\\[a b](https://a.example) c\\\nd\n",
        ),
        ("$$a$$ b %%mine%%\n", "paragraph \"$$a$$ b\"", "$$a$$ b\n"),
        ("One 5%%, 6%% two\n", "paragraph \"One 5%%, 6%% two\"", "One 5%%, 6%% two\n"),
    ] {
        check(&Case { page: "", file, sent, other });
    }
}

#[test]
fn a_comment_on_a_line_of_its_own_leaves_no_line_behind() {
    let file = "> [!note]\n> text <!-- mine -->\n> %% mine %%\n> more\n";
    let sent = "quote \"[!note]\\ntext\\nmore\"";
    let blocks = check(&Case { page: "", file, sent, other: "> [!note]\n> text\n> more\n" });
    let mut new = blocks.clone();
    new[0]["content"][0]["text"] = json!("[!note]\ntext\nmuch more");
    assert_eq!(patch(file, &blocks, &new), file.replace("> more", "> much more"));
    let crlf = file.replace('\n', "\r\n");
    assert_eq!(outline(&parse(&crlf, &[], &Allowed::documented(), &mut ids())), sent);
    assert_eq!(patch(&crlf, &blocks, &new), crlf.replace("> more", "> much more"));
}

#[test]
fn notes_of_several_paragraphs_and_properties_keep_their_lines() {
    for (file, sent) in [
        (
            "Text[^1]\n\n[^1]: One.\n\n    Two **words**.\n\n    - item\n\nAfter\n",
            "paragraph \"Text[^1]\"\nparagraph \"[^1]: One.\\n\\n    Two **words**.\\n\\n    - item\"\nparagraph \"After\"",
        ),
        (
            "!!! note \"T\"\n\n    body\n\n    ```js\n    code\n    ```\n\nAfter\n",
            "paragraph \"!!! note \\\"T\\\"\\n\\n    body\\n\\n    ```js\\n    code\\n    ```\"\nparagraph \"After\"",
        ),
        ("Term\n\n: One\n\n    more\n", "paragraph \"Term\"\nparagraph \": One\\n\\n    more\""),
        (
            "- a\n\n  [^1]: One\n\n      two\n\n- b\n",
            "bullet \"a\"\n paragraph \"[^1]: One\\n\\n    two\"\nbullet \"b\"",
        ),
        ("- a\n  collapsed:: true\n- b\n", "bullet \"a\\ncollapsed:: true\"\nbullet \"b\""),
        ("key:: value\nother:: *value*\n", "paragraph \"key:: value\\nother:: value\""),
    ] {
        check(&Case { page: "", file, sent, other: file });
        // In a workspace with code no part of it is code.
        let all = parse(file, &[], &Allowed::all(), &mut ids());
        assert_eq!(outline(&all), sent);
        assert_eq!(render(&all).text, file);
    }
    // What such a note hides is no part of it.
    check(&Case {
        page: "",
        file: "[^1]: One\n\n    two <!-- mine -->\n\n    %% mine %%\n\n    three\n",
        sent: "paragraph \"[^1]: One\\n\\n    two\\n\\n    three\"",
        other: "[^1]: One\n\n    two\n\n    three\n",
    });
}

/// A change of one block's text in the app: only its line of the file is another.
#[track_caller]
fn one_line(file: &str, from: &str, to: &str) {
    fn change(blocks: &mut [Value], from: &str, to: &str) {
        for block in blocks {
            for run in block["content"].as_array_mut().into_iter().flatten() {
                if run["text"] == from {
                    run["text"] = json!(to);
                }
            }
            change(block["children"].as_array_mut().map_or(&mut [], |list| list), from, to);
        }
    }
    for allowed in [Allowed::documented(), Allowed::all()] {
        let old = parse(file, &[], &allowed, &mut ids());
        let mut new = old.clone();
        change(&mut new, from, to);
        assert_ne!(old, new);
        assert_eq!(patch(file, &old, &new), file.replace(from, to), "{file}");
    }
}

#[test]
fn an_edit_in_the_app_leaves_what_stands_close_below_it() {
    one_line("- a\n- b\n  > [!tip] c\n  > d\n", "b", "be");
    one_line("> a\n> > b\n> > > c\n", "a", "ä");
    one_line("- a\n  <!-- mine -->\n  - b\n", "a", "ä");
    one_line("- a\n  # b\n- c\n", "a", "ä");
    one_line("> %% mine\n>\n> mine %%\n>\n> a\n", "a", "ä");
    one_line("1. a\n\n<!-- mine -->\n\n2. b\n\n   <!-- mine -->\n3. c\n", "a", "ä");
    one_line("Title\n=====\n\ntext\n* * *\nend\n\nb\n", "end", "The end");
}

#[test]
fn code_by_its_indentation_is_changed_in_its_place() {
    let file = "~~~~ js\na\n~~~~\n\n    b\n\n    c\n\n- d\n\n      e\n";
    let old = parse(file, &[], &Allowed::all(), &mut ids());
    let mut new = old.clone();
    new[1]["content"][0]["text"] = json!("b\n\nf");
    new[2]["children"][0]["content"][0]["text"] = json!("g");
    let after = "~~~~ js\na\n~~~~\n\n```\nb\n\nf\n```\n\n- d\n\n  ```\n  g\n  ```\n";
    assert_eq!(patch(file, &old, &new), after);
}
