//! Markdown that people and other programs write, as input: it reads to blocks that load, keeps its words, and stays.
//!
//! The specifications' own examples are run from a file that `ESPEJO_SPEC` names (a JSON array of `{name, markdown}`):
//! their texts are under a licence of their own and do not belong in here. `ESPEJO_DUMP` names a file for what they
//! read to, one JSON line each, so that an editor can be asked to load it.

use std::collections::BTreeMap;
use std::io::Write as _;

use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::{Value, json};

use super::super::{check_loadable, patch};
use super::corpus::documents;
use super::formatted::Dice;
use super::scale::bytes;
use super::{grow, ids, read};
use crate::markdown::{Allowed, parse, render};

/// One or more for each construct of `CommonMark` and GFM, and for where they meet.
const INPUTS: [&str; 97] = [
    "a\tb\n\n\tcode\n\n- \ttab\n",
    "- a\n\n\tparagraph beneath\n\n\t\tcode beneath\n",
    "***\n---\n___\n",
    "- - -\n *  *  *\n",
    "- a\n- ***\n- b\n",
    "# one\n## two\n### three\n#### four\n##### five\n###### six\n####### seven\n",
    "#\n## ##\n### three ###   \n",
    "  # indented\n    # code\n",
    "one\n===\n\ntwo\n---\n\nthree\nlines\n=\n",
    "> quote\n---\n\n- item\n---\n",
    "    code\n\n      more\n\n    end\n",
    "```rust\nfn a() {}\n```\n",
    "~~~~ a b\n~~~\n~~~~\n",
    "```\nnever closed\n\nend",
    "- ```\n  in an item\n  ```\n\n  behind it\n",
    "> ```\n> in a quote\n\nbehind it\n",
    "<div>\n\n*inside*\n\n</div>\n",
    "<script>\nlet a = 1 < 2;\n\n</script>\nbehind it\n",
    "<!-- a comment\n\nof many lines -->\n\nbehind it\n",
    "<?php echo 1 ?>\n\n<!DOCTYPE html>\n\n<![CDATA[ a\n\nb ]]>\n",
    "<a href=\"x\">\ntag alone\n</a>\n",
    "[a]: /address \"title\"\n\n[a] and [b][a] and [a][]\n",
    "[a]: <b c>\n'a title\nof two lines'\n\n[a]\n",
    "> [a]: /address\n\n[a]\n",
    "- [a]: /address\n- [a]\n",
    "one\ntwo\n\n\n\nthree\n",
    "one  \ntwo\\\nthree\n",
    "> one\nlazy\n>\n> two\n",
    "> one\n\n> two\n",
    "> # heading\n> - item\n>   1. deep\n>\n> text\n",
    ">\n>\n> late\n",
    ">>> three\n> one\n",
    "- one\n- two\n\n  beneath\n- three\n",
    "- one\n\n\n- two\n\n\n\n- three\n",
    "* a\n+ b\n- c\n",
    "1. a\n2. b\n10. c\n\n7) d\n8) e\n",
    "0. zero\n1. one\n",
    "003. three\n",
    "123456789. nine\n1234567890. ten\n",
    "-\n- \n-   \n- a\n",
    "-\n  late\n",
    "-\n\n  too late\n",
    "1.\n2. b\n3.\n",
    "- - a\n  - b\n- 1. c\n",
    "- > quote\n  > more\n- # heading\n-     code\n",
    "   - a\n  - b\n - c\n- d\n",
    "- a\n - b\n  - c\n   - d\n    - e\n",
    "- a\n\n      code\n\n    text\n",
    "text\n- list\ntext\n1. list\ntext\n2. no list\n",
    "- [ ] open\n- [x] done\n- [X] done\n- [] none\n- [x]\n- [ ]\n",
    "- [ ] a\n  - [x] b\n    - [ ] c\n1. [x] numbered\n+ [ ] plus\n",
    "- [ ]\n  late\n",
    "`code` ``a ` b`` ` `` ` ``` `` ```\n",
    "`a\nb` ` ` `  ` ` a `\n",
    "`open *emphasis*\n",
    "*a* _b_ **c** __d__ ***e*** ___f___\n",
    "*a **b** c* **a *b* c** *a**b**c*\n",
    "a*b*c a_b_c a**b**c a__b__c\n",
    "** a ** * b * _ c _\n",
    "*(a)* **\"b\"**c **中文。**中文\n",
    "****a**** *****b***** **a*\n",
    "*a `*` b* *a <b title=\"*\"> c* *a [*](b) c*\n",
    "~~a~~ ~b~ ~~~c~~~ a~~b~~c ~~ d ~~\n",
    "[a](/b) [c](</d e> \"f\") [](g) [h]()\n",
    "[a *b* `c`](d) [![e](f)](g) [h [i] j](k)\n",
    "[a](b\nc) [a] (b) [a](b 'c\nd')\n",
    "[a](javascript:b) [a](#b) [a](?c=d&e) [a](b\\)c) [a](b(c)d)\n",
    "![a](b) ![c *d*](e \"f\") ![](g)\n",
    "![alone](a.png)\n\n![clip](a.mp4 \"b\")\n\n- ![in an item](c.png)\n\n> ![in a quote](d.png)\n",
    "[a.pdf](a.pdf \"b\")<!-- file -->\n\n- [c](d)<!-- file -->\n\n[](e)<!-- file -->\n\nf [g](h)<!-- file -->\n",
    "<https://a.example> <a@b.example> https://a.example www.a.example\n",
    "<b>a</b> <b/> <b c='d'> </b > <!-- e --> <?f?> <!G> <![CDATA[h]]>\n",
    "<u>a *b*</u> <u>c <u>d </u> </u> </u> e</u>\n",
    "a<br>b<br/>c<br />\nd\n",
    "&amp; &copy; &#35; &#x22; &nosuch; &#0; &#1234567890; &auml\n",
    "\\* \\# \\a \\\\ \\& \\\n",
    "&#42;a&#42; &#10; &#9;a &#32;\n",
    "| a | b |\n| --- | :-: |\n| 1 | 2 |\n| 3 |\n| 4 | 5 | 6 |\n",
    "a | b\n-|-\n`|` | \\|\n*c* | [d](e)\n",
    "| a |\n| - |\n> quote\n",
    "- | a |\n  | - |\n  | b |\n",
    "| | |\n|-|-|\n| a | b |\n",
    "| a |\n|---|---|\n",
    "a[^1]\n\n[^1]: note\n",
    "---\ntitle: no front matter\n---\n",
    "$$\nmath\n$$\n\n$a$\n",
    "term\n: definition\n",
    "> [!NOTE]\n> a callout\n",
    "<!-- children -->\n\nlost\n\n<!-- /children -->\n",
    "a\n\n<!-- children -->\n\nnever closed\n",
    "a\n\n<!-- /children -->\n\nb\n",
    "- a\n\n<!-- children -->\n\nb\n\n<!-- /children -->\n",
    "<!-- block: database nowhere -->\n\n<!-- empty -->\n\n<!-- -->\n",
    "[mention](#mention-0123abcd)\n",
    "\u{feff}# with a mark\r\n\r\n- and\r\n- these line ends\r\n",
    "a\rb\r\rc\0d\u{b}e\u{c}f\u{85}g\u{2028}h\n",
    "",
];

fn words(text: &str) -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *out.entry(word.to_owned()).or_insert(0) += 1;
    }
    out
}

/// What a reader of the text sees, with addresses.
fn seen(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let (mut out, mut hidden) = (String::new(), false);
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Html(html) if hidden || html.trim_start().starts_with("<!--") => {
                hidden = !html.contains("-->");
            }
            Event::Text(text) | Event::Code(text) => out.push_str(&text),
            Event::Html(html) | Event::InlineHtml(html)
                if !html.trim().starts_with("<!--") && !html.contains("<br") && !html.contains("u>") =>
            {
                out.push_str(&html);
            }
            Event::Start(Tag::Strong | Tag::Emphasis | Tag::Strikethrough) | Event::InlineHtml(_) => {}
            _ => out.push(' '),
        }
    }
    out
}

fn told(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
        }
        Value::Array(list) => list.iter().for_each(|item| told(item, out)),
        Value::Object(object) => {
            for (key, item) in object {
                if matches!(key.as_str(), "text" | "url" | "name" | "caption" | "href") {
                    told(item, out);
                } else if matches!(key.as_str(), "content" | "children" | "rows" | "cells" | "props") {
                    told(item, out);
                    if matches!(key.as_str(), "content" | "children" | "cells") {
                        out.push(' ');
                    }
                }
            }
        }
        _ => {}
    }
}

fn same_but_ids(a: &[Value], b: &[Value]) -> bool {
    let bare = |blocks: &[Value]| super::norm(super::without_end(blocks)).to_string();
    bare(a) == bare(b)
}

/// What is wrong with a text as input, if anything is.
fn wrong(markdown: &str, allowed: &Allowed, dump: &mut dyn FnMut(&[Value])) -> Option<String> {
    let blocks = parse(markdown, &[], allowed, &mut ids());
    dump(&blocks);
    if let Err(why) = check_loadable(&blocks, &[], allowed) {
        return Some(why);
    }
    let mut said = String::new();
    told(&json!(blocks), &mut said);
    let said = words(&said);
    // Letters next to each other may be one word here and two there.
    let letters = |words: &BTreeMap<String, usize>| -> BTreeMap<char, usize> {
        let mut out = BTreeMap::new();
        for (word, count) in words {
            word.chars().for_each(|c| *out.entry(c).or_insert(0) += count);
        }
        out
    };
    let (have, want) = (letters(&said), letters(&words(&seen(markdown))));
    if let Some((c, _)) = want.iter().find(|(c, count)| have.get(c).is_none_or(|have| have < count)) {
        return Some(format!("{c:?} is lost: {}", json!(blocks)));
    }
    if read(markdown, &blocks) != blocks {
        return Some(format!("not silent: {} {}", json!(blocks), json!(read(markdown, &blocks))));
    }
    let text = render(&blocks).text;
    let again = parse(&text, &[], allowed, &mut ids());
    if !same_but_ids(&again, &blocks) {
        return Some(format!("unstable: {text:?}\n{}\n{}", json!(blocks), json!(again)));
    }
    if render(&again).text != text {
        return Some(format!("rendered otherwise: {text:?} {:?}", render(&again).text));
    }
    for seed in 0..4 {
        let new = grow::changed(&blocks, &mut Dice(seed * 977 + markdown.len() as u64));
        let patched = patch(markdown, &blocks, &new);
        if bytes(&read(&patched, &new)) != bytes(&new) {
            return Some(format!("a patch: {patched:?}\n{}\n{}", json!(new), json!(read(&patched, &new))));
        }
    }
    None
}

fn run(inputs: &[(String, String)]) {
    let mut dumped = std::env::var_os("ESPEJO_DUMP").map(|path| std::fs::File::create(path).unwrap());
    let mut failures = Vec::new();
    for (name, markdown) in inputs {
        for (kind, allowed) in [("documented", Allowed::documented()), ("all", Allowed::all())] {
            let name = format!("{name} {kind}");
            let mut dump = |blocks: &[Value]| {
                if let Some(file) = &mut dumped {
                    writeln!(file, "{}", json!({"name": name, "blocks": blocks})).unwrap();
                }
            };
            if let Some(why) = wrong(markdown, &allowed, &mut dump) {
                failures.push(format!("{name}: {markdown:?}\n{why}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n====\n"));
}

#[test]
fn every_construct_reads_to_blocks_that_load_and_stay() {
    let mut inputs: Vec<(String, String)> =
        INPUTS.iter().enumerate().map(|(at, text)| (format!("input {at}"), (*text).to_owned())).collect();
    if let Ok(path) = std::env::var("ESPEJO_SPEC") {
        let spec: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let text = |example: &Value, key: &str| example[key].as_str().unwrap().to_owned();
        inputs = spec.as_array().unwrap().iter().map(|e| (text(e, "name"), text(e, "markdown"))).collect();
    }
    run(&inputs);
}

#[test]
fn the_documents_as_input_load_and_stay() {
    let texts = documents().into_iter().filter(|(_, blocks)| blocks.len() < 200);
    run(&texts.map(|(name, blocks)| (name, render(&blocks).text)).collect::<Vec<_>>());
}
