//! What a person typed is what arrives: each case is a page as espejo wrote it, the file as a person left it, what is sent, and
//! what another machine's file looks like.

use serde_json::Value;

use super::super::{Allowed, parse, patch, patch_for, render, render_for, told};
use super::corpus::documents;
use super::{ids, read};

/// A case: what the page was, and what became of it.
pub(super) struct Case {
    /// The page's file as espejo wrote it; nothing for a new file.
    pub page: &'static str,
    /// The file as a person left it.
    pub file: &'static str,
    /// What is sent, a line for each block: its type, and its text in quotes; nested blocks are indented.
    pub sent: &'static str,
    /// The file of another machine.
    pub other: &'static str,
}

/// The blocks in short.
pub(super) fn outline(blocks: &[Value]) -> String {
    fn level(blocks: &[Value], indent: usize, out: &mut Vec<String>) {
        for block in blocks {
            let runs = block["content"].as_array().into_iter().flatten();
            let text: String = runs.map(|run| run["text"].as_str().unwrap_or("<>")).collect();
            let kind = block["type"].as_str().unwrap().replace("ListItem", "");
            let checked = if block["props"]["checked"] == true { "x" } else { "" };
            let start = block["props"]["start"].as_u64().map(|start| start.to_string()).unwrap_or_default();
            out.push(format!("{:indent$}{kind}{checked}{start} {text:?}", ""));
            level(block["children"].as_array().map_or(&[], |list| list), indent + 1, out);
        }
    }
    let mut out = Vec::new();
    level(blocks, 0, &mut out);
    out.join("\n")
}

/// Checks a case; the blocks that are sent.
#[track_caller]
pub(super) fn check(case: &Case) -> Vec<Value> {
    let base = parse(case.page, &[], &Allowed::documented(), &mut ids());
    assert_eq!(render(&base).text, case.page, "espejo's own bytes");
    let mut next = 0;
    let mut new_id = || {
        next += 1;
        format!("new {next}")
    };
    let sent = parse(case.file, &base, &Allowed::documented(), &mut new_id);
    assert_eq!(outline(&sent), case.sent, "what is sent for {:?}", case.file);
    assert_eq!(read(case.file, &sent), sent, "silent afterwards: {:?}", case.file);
    assert_eq!(patch(case.file, &sent, &sent), case.file, "the file stays");
    let other = patch(case.page, &base, &sent);
    assert_eq!(other, case.other, "the other machine's file for {:?}", case.file);
    assert_eq!(read(&other, &sent), sent, "silent there as well: {other:?}");
    sent
}

#[test]
fn a_list_that_is_indented_with_tabs_keeps_its_kinds() {
    for (file, sent, other) in [
        ("- a\n\t1. b\n", "bullet \"a\"\n numbered \"b\"", "- a\n  1. b\n"),
        ("+ a\n\t+ b\n", "toggle \"a\"\n toggle \"b\"", "+ a\n  + b\n"),
        ("* a\n\t1. b\n", "bullet \"a\"\n numbered \"b\"", "- a\n  1. b\n"),
        ("- [ ] a\n\t1. b\n", "check \"a\"\n numbered \"b\"", "- [ ] a\n  1. b\n"),
        (
            "- [x] a\n\t- [x] b\n\t\t+ c\n",
            "checkx \"a\"\n checkx \"b\"\n  toggle \"c\"",
            "- [x] a\n  - [x] b\n    + c\n",
        ),
        (
            "1. a\n\t+ b\n\t\t1. c\n\t\t\t- d\n",
            "numbered \"a\"\n toggle \"b\"\n  numbered \"c\"\n   bullet \"d\"",
            "1. a\n   + b\n     1. c\n        - d\n",
        ),
        (
            "- a\r\n\t1. b\r\n\t2. c\r\n",
            "bullet \"a\"\n numbered \"b\"\n numbered \"c\"",
            "- a\n  1. b\n  2. c\n",
        ),
        ("> - a\n>\t1. b\n", "quote \"\"\n bullet \"a\"\n  numbered \"b\"", "> - a\n>   1. b\n"),
        (">\t+ a\n", "quote \"\"\n toggle \"a\"", "> + a\n"),
        (
            "- ñ\n\t+ ñ\n\n\t\ttext\n",
            "bullet \"ñ\"\n toggle \"ñ\"\n  paragraph \"text\"",
            "- ñ\n  + ñ\n\n    text\n",
        ),
    ] {
        check(&Case { page: "", file, sent, other });
    }
}

/// The text as Obsidian indents it: a tab for each level, however wide the marker above is.
pub(super) fn with_tabs(text: &str) -> String {
    let mut out = String::new();
    // Where what is beneath each open item begins: here, and with tabs.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut fence: Option<String> = None;
    for line in text.lines() {
        let rest = line.trim_start_matches(' ');
        let spaces = line.len() - rest.len();
        if rest.is_empty() {
            out.push('\n');
            continue;
        }
        if fence.is_none() {
            open.retain(|(inner, _)| *inner <= spaces);
        }
        let (inner, tabs) = open.last().copied().unwrap_or((0, 0));
        let kept = spaces.saturating_sub(inner);
        out.push_str(&"\t".repeat(tabs));
        out.push_str(&" ".repeat(kept));
        out.push_str(rest);
        out.push('\n');
        let ticks: String = rest.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(end) => {
                if *end == rest {
                    fence = None;
                }
                continue;
            }
            None if ticks.len() > 2 => {
                fence = Some(ticks);
                continue;
            }
            None => {}
        }
        let (mut at, mut column) = (spaces, 4 * tabs + kept);
        let mut rest = rest;
        loop {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let sign = match rest.as_bytes().get(digits) {
                Some(b'-' | b'+') if digits == 0 => 1,
                Some(b'.') if digits > 0 => digits + 1,
                _ => break,
            };
            if rest.len() > sign && !rest[sign..].starts_with(' ') {
                break;
            }
            let width = sign + 1;
            at += width;
            column += width;
            open.push((at, column.div_ceil(4)));
            rest = rest.get(width..).unwrap_or("");
        }
    }
    out
}

#[test]
fn the_tabs_of_obsidian_are_no_edit_of_any_document() {
    let mut changed = 0;
    for (name, blocks) in documents() {
        let text = render(&blocks).text;
        let tabs = with_tabs(&text);
        changed += usize::from(tabs != text);
        assert_eq!(read(&tabs, &blocks), blocks, "{name}\n{tabs}");
    }
    assert!(changed > 10, "{changed}");
}

/// Checks a change of the page in the app: the file with what it hides, before and after.
#[track_caller]
fn comes_down(file: &str, change: impl Fn(&mut Vec<Value>), after: &str) {
    let old = parse(file, &[], &Allowed::documented(), &mut ids());
    let mut new = old.clone();
    change(&mut new);
    let patched = patch(file, &old, &new);
    assert_eq!(patched, after);
    assert_eq!(read(&patched, &new), new);
}

#[test]
fn what_markdown_hides_stays_here() {
    for (file, sent, other) in [
        ("<!-- mine -->\n\nText\n", "paragraph \"Text\"", "Text\n"),
        ("One\n\n<!-- mine\n\nof lines -->\n\nTwo\n", "paragraph \"One\"\nparagraph \"Two\"", "One\n\nTwo\n"),
        ("One <!-- mine --> two\n", "paragraph \"One two\"", "One two\n"),
        ("One two <!-- mine -->\n", "paragraph \"One two\"", "One two\n"),
        ("One<!-- mine --> two\n", "paragraph \"One two\"", "One two\n"),
        ("One <!-- mine\nof lines --> two\n", "paragraph \"One two\"", "One two\n"),
        ("One\n<!-- mine -->\nTwo\n", "paragraph \"One\"\nparagraph \"Two\"", "One\n\nTwo\n"),
        ("<!-- mine --> *Text*\n", "paragraph \"*Text*\"", "\\*Text\\*\n"),
        ("- a <!-- mine -->\n  - b\n", "bullet \"a\"\n bullet \"b\"", "- a\n  - b\n"),
        ("- <!-- mine -->\n  a\n", "bullet \"a\"", "- a\n"),
        ("> <!-- mine -->\n> a\n", "quote \"a\"", "> a\n"),
        ("# Head <!-- mine -->\n", "heading \"Head\"", "# Head\n"),
        ("%% mine %%\n\nText\n", "paragraph \"Text\"", "Text\n"),
        ("%%\nmine\n\n- of lines\n%%\n\nText\n", "paragraph \"Text\"", "Text\n"),
        ("One %%mine%% two\n", "paragraph \"One two\"", "One two\n"),
        ("One %%mine\nof *lines*%% two\n", "paragraph \"One two\"", "One two\n"),
        ("One 50%% and 60%% two\n", "paragraph \"One 50%% and 60%% two\"", "One 50%% and 60%% two\n"),
        ("One %% two\n", "paragraph \"One %% two\"", "One \\%% two\n"),
        ("`a %%b%% c` %% d\n", "paragraph \"a %%b%% c %% d\"", "`a %%b%% c` \\%% d\n"),
        (
            "```\n%%\nb\n%%\n```\n",
            "paragraph \"```\\n%%\\nb\\n%%\\n```\"",
            "\\`\\`\\`\\\n\\%%\\\nb\\\n\\%%\\\n\\`\\`\\`\n",
        ),
        ("`<!-- code -->`\n", "paragraph \"<!-- code -->\"", "`<!-- code -->`\n"),
        ("Text\n\n[nobody]: https://a.example\n", "paragraph \"Text\"", "Text\n"),
        (
            "[used] text\n\n[nobody]: https://a.example\n[used]: https://b.example\n",
            "paragraph \"[used] text\"\nparagraph \"[used]: https://b.example\"",
            "[used] text\n\n\\[used]: https://b.example\n",
        ),
        ("Text\n\n<!-- block: database nowhere -->\n", "paragraph \"Text\"", "Text\n"),
        (
            "One\n\n\n<!-- mine -->\n\nTwo\n",
            "paragraph \"One\"\nparagraph \"\"\nparagraph \"Two\"",
            "One\n\n\nTwo\n",
        ),
        ("1. a\n<!-- mine -->\n2. b\n", "numbered \"a\"\nnumbered \"b\"", "1. a\n2. b\n"),
        (
            "One\r<!-- children -->\r\rTwo\r\r<!-- /children -->\r",
            "paragraph \"One\"\n paragraph \"Two\"",
            "One\n\n<!-- children -->\n\nTwo\n\n<!-- /children -->\n",
        ),
    ] {
        check(&Case { page: "", file, sent, other });
    }
}

#[test]
fn what_markdown_hides_stays_beside_its_block() {
    let says = |text: &str| serde_json::json!([{"type": "text", "text": text, "styles": {}}]);
    let file = "One\n\n<!-- of two -->\nTwo\n\nThree\n\n<!-- after three -->\n";
    comes_down(file, |_| {}, file);
    comes_down(file, |page| page[1]["content"] = says("Second"), &file.replace("Two", "Second"));
    comes_down(
        file,
        |page| page.swap(1, 2),
        "One\n\nThree\n\n<!-- after three -->\n\n<!-- of two -->\nTwo\n",
    );
    comes_down(
        file,
        |page| drop(page.remove(1)),
        "One\n\n<!-- of two -->\n\nThree\n\n<!-- after three -->\n",
    );
    comes_down(file, |page| drop(page.remove(2)), "One\n\n<!-- of two -->\nTwo\n\n<!-- after three -->\n");
    comes_down(file, |page| page.clear(), "<!-- of two -->\n\n<!-- after three -->\n");
    let file = "Some words <!-- mine --> and more\n\n- item <!-- too -->\n";
    comes_down(
        file,
        |page| page[0]["content"] = says("Some new words and more"),
        &file.replace("Some", "Some new"),
    );
    comes_down(
        file,
        |page| page[0]["content"] = says("Some words and much more"),
        &file.replace("and", "and much"),
    );
    comes_down(file, |page| page[1]["content"] = says("an item"), &file.replace("item", "an item"));
    comes_down(file, |page| drop(page.remove(0)), "<!-- mine -->\n\n- item <!-- too -->\n");
    comes_down(file, |page| page[1]["type"] = "paragraph".into(), &file.replace("- item", "item"));
    let file = "- a\n\n  <!-- within -->\n\n  b\n- c\n\n[x]: y\n";
    comes_down(file, |page| page[0]["children"][0]["content"] = says("bb"), &file.replace("  b", "  bb"));
    comes_down(
        file,
        |page| page[0]["children"] = serde_json::json!([]),
        "- a\n\n  <!-- within -->\n- c\n\n[x]: y\n",
    );
    comes_down(file, |page| drop(page.remove(0)), "<!-- within -->\n\n- c\n\n[x]: y\n");
}

#[test]
fn what_was_sent_as_text_once_stays_text() {
    let paragraph = |id: &str, text: &str| {
        serde_json::json!({"id": id, "type": "paragraph", "props":
        {"textColor": "default", "backgroundColor": "default", "textAlignment": "left"},
        "content": [{"type": "text", "text": text, "styles": {}}], "children": []})
    };
    let base = vec![
        paragraph("a", "<!-- sent -->"),
        paragraph("b", "One <!-- sent as well --> two"),
        paragraph("c", "%% sent %%"),
        paragraph("d", "[nobody]: https://a.example"),
        paragraph("e", "Text"),
    ];
    let file = "<!-- sent -->\n\nOne <!-- sent as well --> two\n\n%% sent %%\n\n[nobody]: https://a.example\n\nText\n";
    assert_eq!(read(&format!("{file}\n"), &base), base);
    let mut edited = base.clone();
    edited[4] = paragraph("e", "Text and more");
    assert_eq!(read(&file.replace("Text", "Text and more"), &base), edited);
    assert_eq!(patch(file, &base, &edited), file.replace("Text", "Text and more"));
    // What is written anew is escaped, and a second comment of the same words is one.
    assert_eq!(
        render(&base).text,
        "\\<!-- sent -->\n\nOne \\<!-- sent as well --> two\n\n\\%% sent \\%%\n\n\\[nobody]: https://a.example\n\nText\n"
    );
    assert_eq!(read(&file.replace("Text", "Text\n\n<!-- sent -->"), &base), base);
}

#[test]
fn lines_that_mean_something_elsewhere_are_kept() {
    for (file, sent, other) in [
        ("> [!WARNING]\n> text\n> and **more**\n", "quote \"[!WARNING]\\ntext\\nand more\"", ""),
        (
            "> [!note]- Title\n> text\n>\n> - item\n",
            "quote \"[!note]- Title\\ntext\"\n bullet \"item\"",
            "> [!note]- Title\n> text\n> - item\n",
        ),
        ("$$\na_1 \\\\ b_2\n- c\n= *d*\n$$\n", "paragraph \"$$\\na_1 \\\\\\\\ b_2\\n- c\\n= *d*\\n$$\"", ""),
        ("$$ a_1 \\\\ *b* $$\n", "paragraph \"$$ a_1 \\\\\\\\ *b* $$\"", ""),
        ("- a\n\n  $$\n  x\n  $$\n", "bullet \"a\"\n paragraph \"$$\\nx\\n$$\"", ""),
        (
            "So:\n$$\na \\\\ b\n$$\nand *c*\n",
            "paragraph \"So:\"\nparagraph \"$$\\na \\\\\\\\ b\\n$$\"\nparagraph \"and c\"",
            "So:\n\n$$\na \\\\ b\n$$\n\nand *c*\n",
        ),
        ("# A\n$$ x_1 $$\n", "heading \"A\"\nparagraph \"$$ x_1 $$\"", "# A\n\n$$ x_1 $$\n"),
        (
            "- a\n  $$\n  *x*\n  $$\n- b\n",
            "bullet \"a\"\n paragraph \"$$\\n*x*\\n$$\"\nbullet \"b\"",
            "- a\n\n  $$\n  *x*\n  $$\n\n- b\n",
        ),
        ("::: tip\ntext\n:::\n", "paragraph \"::: tip\\ntext\\n:::\"", ""),
        ("::: tip\n\ntext\n:::\n", "paragraph \"::: tip\"\nparagraph \"text\\n:::\"", ""),
        (
            "!!! note \"Title\"\n    text\n    more\n",
            "paragraph \"!!! note \\\"Title\\\"\\n    text\\n    more\"",
            "",
        ),
        ("Term\n: definition\n:   another\n", "paragraph \"Term\\n: definition\\n:   another\"", ""),
        (
            "Text[^1]\n\n[^1]: note\n[^b]: another note\n",
            "paragraph \"Text[^1]\"\nparagraph \"[^1]: note\\n[^b]: another note\"",
            "",
        ),
        ("[^1]: a note\n    that goes on\n", "paragraph \"[^1]: a note\\n    that goes on\"", ""),
        ("One\ntwo\n", "paragraph \"One two\"", "One two\n"),
    ] {
        check(&Case { page: "", file, sent, other: if other.is_empty() { file } else { other } });
    }
}

#[test]
fn pictures_and_files_of_this_machine_stay_here_and_are_told() {
    let says = |text: &str, sent: &str, lines: &[&str]| {
        let blocks = parse(text, &[], &Allowed::all(), &mut ids());
        assert_eq!(outline(&blocks), sent);
        assert_eq!(parse(text, &blocks, &Allowed::all(), &mut ids()), blocks);
        let found: Vec<String> = told(text, &blocks).iter().map(ToString::to_string).collect();
        assert_eq!(found, lines);
    };
    says(
        "![foto](./foto.png)\n",
        "paragraph \"![foto](./foto.png)\"",
        &["the picture ./foto.png in line 1 is only on this machine, and is sent as text"],
    );
    says("![foto](https://a.example/foto.png)\n", "image \"\"", &[]);
    says(
        "See [this](files/a.xlsx) and [that](https://a.example)\n",
        "paragraph \"See [this](files/a.xlsx) and <>\"",
        &["the file files/a.xlsx in line 1 is only on this machine, and its link is sent as text"],
    );
    says(
        "See [a page](Other.md), [[Other]] and [a part](#part)\n",
        "paragraph \"See [a page](Other.md), [[Other]] and <>\"",
        &[],
    );
    says(
        "[budget](file:///home/a/budget.xlsx)<!-- file -->\n",
        "paragraph \"[budget](file:///home/a/budget.xlsx)<!-- file -->\"",
        &[
            "the file file:///home/a/budget.xlsx in line 1 is only on this machine, and its link is sent as text",
        ],
    );
    // Where it was sent as a picture before, it is one.
    let image = serde_json::json!([{"id": "i", "type": "image", "props": {"name": "foto", "url": "./foto.png", "caption": ""}, "children": []}]);
    let image = image.as_array().unwrap();
    assert_eq!(&read("![foto](./foto.png)\n\n", image), image);
}

#[test]
fn what_cannot_be_sent_as_a_block_comes_back_as_it_was_typed() {
    let typed = "```js\nlet a = [1](2);\n\nb\n```\n\n[esto](https://a.example)\n\n[^1]: nota\n\n- an [item](https://a.example) here\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n---\n\n![a](https://a.example/b.png)\n\n# See [this](https://a.example)\n\n> and `| that\n";
    let (documented, all) = (Allowed::documented(), Allowed::all());
    let blocks = parse(typed, &[], &documented, &mut ids());
    assert_eq!(render_for(&blocks, &documented).text, typed);
    assert_eq!(parse(typed, &blocks, &documented, &mut ids()), blocks);
    // Read in a workspace that knows such blocks, it is what the base has.
    assert_eq!(parse(&format!("{typed}\n"), &blocks, &all, &mut ids()), blocks);
    // Where they are known, the text is escaped; `convert` knows no workspace.
    for text in [render(&blocks).text, render_for(&blocks, &all).text] {
        assert!(text.contains("\\```js") && text.contains("\\[esto](") && text.contains("\\---"), "{text}");
    }
    // On a second machine, by a splice.
    assert_eq!(patch_for("", &[], &blocks, &documented), typed);
    let mut new = blocks.clone();
    new[1]["content"][0]["text"] = serde_json::json!("[that](https://a.example)");
    assert_eq!(patch_for(typed, &blocks, &new, &documented), typed.replace("[esto]", "[that]"));
    // What would be read as something else is escaped all the same.
    for text in ["*a* [b](c)", "a\n---", "[a](b", "``` [b](c) ```", "1. [a](b)", "<!-- a --> [b](c)"] {
        let props = serde_json::json!({"textColor": "default", "backgroundColor": "default", "textAlignment": "left"});
        let block = serde_json::json!({"id": "a", "type": "paragraph", "props": props,
            "content": [{"type": "text", "text": text, "styles": {}}], "children": []});
        let written = render_for(std::slice::from_ref(&block), &documented).text;
        let back = parse(&written, &[], &documented, &mut ids());
        assert_eq!(super::norm(&back), super::norm(&[block]), "{written}");
    }
}

fn coloured(id: &str, kind: &str, text: &str, colour: &str) -> Value {
    serde_json::json!({"id": id, "type": kind, "props":
        {"textColor": "default", "backgroundColor": colour, "textAlignment": "left"},
        "content": [{"type": "text", "text": text, "styles": {"textColor": colour}}], "children": []})
}

fn ids_and_colours(blocks: &[Value]) -> Vec<(String, String, String)> {
    let one = |block: &Value| {
        let run = &block["content"][0]["styles"]["textColor"];
        let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
        (text(&block["id"]), text(&block["props"]["backgroundColor"]), text(run))
    };
    blocks.iter().map(one).collect()
}

#[test]
fn both_halves_of_a_split_keep_the_colours_of_the_whole() {
    let of = |id: &str| (id.to_owned(), "red".to_owned(), "red".to_owned());
    let base = [coloured("a", "paragraph", "One sentence here. Another there.", "red")];
    let text = render(&base).text;
    let back = read(&text.replace(". A", ".\n\nA"), &base);
    let new = back.iter().find(|block| block["id"] != "a").unwrap()["id"].as_str().unwrap();
    assert_eq!(ids_and_colours(&back), [of("a"), of(new)]);
    let back = read(&text.replace("One sentence here.", "One.\n\nsentence here."), &base);
    assert_eq!(ids_and_colours(&back)[1], of("a"));
    // Words that were never in it are as they are typed.
    let back = read(&format!("{text}\nOther words\n"), &base);
    assert_eq!(ids_and_colours(&back)[1].1, "default");
}

#[test]
fn an_item_that_is_joined_with_a_longer_paragraph_below_is_that_item() {
    let mut item = coloured("a", "checkListItem", "Call Ana", "blue");
    item["props"]["checked"] = Value::Bool(true);
    let base =
        [item, coloured("b", "paragraph", "about the very long plan that nobody has read so far", "default")];
    let back = read("- [x] Call Ana about the very long plan that nobody has read so far\n", &base);
    assert_eq!(ids_and_colours(&back), [("a".to_owned(), "blue".to_owned(), "blue".to_owned())]);
}

#[test]
fn a_table_that_moves_while_a_cell_of_it_is_edited_is_itself() {
    let mut base = super::tables::table("Name Amount / Rent 900 / Food 300 / Travel 120");
    base[0]["id"] = Value::from("t");
    base.push(coloured("a", "paragraph", "The first of the texts below", "default"));
    base.push(coloured("b", "paragraph", "The second of them", "default"));
    let text = render(&base).text;
    let (table, rest) = text.split_once("\n\n").unwrap();
    let back = read(&format!("{rest}\n{}\n", table.replace("300", "310")), &base);
    assert_eq!(ids_and_colours(&back).into_iter().map(|found| found.0).collect::<Vec<_>>(), ["a", "b", "t"]);
    assert!(back[2].to_string().contains("310"));
}

#[test]
fn a_quote_is_as_the_api_says_until_the_workspace_shows_otherwise() {
    let quote = |allowed: &Allowed| parse("> a\n", &[], allowed, &mut ids())[0]["props"].clone();
    assert_eq!(quote(&Allowed::documented())["textAlignment"], "left");
    let mut shown = Allowed::documented();
    shown.learn(&[serde_json::json!({"type": "quote", "props": {"textColor": "default"}})]);
    assert_eq!(quote(&shown).get("textAlignment"), None);
    shown.learn(&[serde_json::json!({"type": "quote", "props": {"textAlignment": "left"}})]);
    assert_eq!(quote(&shown)["textAlignment"], "left");
}

#[test]
fn a_reference_with_a_title_is_a_link_as_the_full_form_is() {
    for text in ["[a]\n\n[a]: https://a.example 'b'\n", "[a][b]\n\n[b]: https://a.example (b)\n"] {
        let blocks = parse(text, &[], &Allowed::all(), &mut ids());
        assert_eq!(blocks[0]["content"][0]["href"], "https://a.example", "{text}");
        assert_eq!(parse(text, &blocks, &Allowed::all(), &mut ids()), blocks);
    }
}

#[test]
fn a_bar_in_a_cell_gains_no_backslashes() {
    let text = "| a    |\n| ---- |\n| c\\|d |\n";
    for allowed in [Allowed::documented(), Allowed::all()] {
        let blocks = parse(text, &[], &allowed, &mut ids());
        assert_eq!(render_for(&blocks, &allowed).text, text);
        assert_eq!(
            parse(&render_for(&blocks, &allowed).text, &[], &allowed, &mut ids())[0]["type"],
            blocks[0]["type"]
        );
    }
}
