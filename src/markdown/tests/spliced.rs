//! One word more from the app, in files as people type them: what the word does not touch keeps its bytes.

use serde_json::{Value, json};

use super::super::{Allowed, parse, patch_for, render_for};
use super::ids;
use super::rewritten::Links;

/// A file, how the text begins that the app adds to, what it adds, and the file afterwards.
struct Case {
    links: Links,
    file: &'static str,
    begins: &'static str,
    adds: &'static str,
    after: &'static str,
}

fn words(runs: &Value) -> String {
    let all = runs.as_array().into_iter().flatten();
    all.map(|run| run["text"].as_str().map_or_else(|| words(&run["content"]), str::to_owned)).collect()
}

/// Adds to the runs that begin so, of a block or of a cell.
fn add(value: &mut Value, begins: &str, adds: &str) {
    let is_runs = value[0]["type"] == "text" || value[0]["type"] == "link";
    let is_it = is_runs && words(value).starts_with(begins);
    match value {
        Value::Array(runs) if is_it => runs.push(json!({"type": "text", "text": adds, "styles": {}})),
        Value::Array(all) => all.iter_mut().for_each(|one| add(one, begins, adds)),
        Value::Object(all) => all.values_mut().for_each(|one| add(one, begins, adds)),
        _ => {}
    }
}

#[track_caller]
fn check(case: &Case) {
    let allowed = case.links.allowed();
    let old = parse(case.file, &[], &allowed, &mut ids());
    let mut new = Value::Array(old.clone());
    add(&mut new, case.begins, case.adds);
    let Value::Array(new) = new else { return };
    assert_ne!(old, new, "{}", case.file);
    let after = patch_for(case.file, &old, &new, &allowed);
    assert_eq!(after, case.after);
    assert_eq!(parse(&after, &new, &allowed, &mut ids()), new, "{after}");
}

#[test]
fn cells_keep_their_signs_links_and_comments() {
    let head = "| a | b |\n|---|---|\n";
    for (row, begins, adds, after) in [
        ("| __n__ y _i_ | x |", "n", " hoy", "| __n__ y _i_ hoy | x |"),
        ("| [r][g] y [g] | x |", "r", " hoy", "| [r][g] y [g] hoy | x |"),
        ("| ver <https://e.org> | x |", "ver", " hoy", "| ver <https://e.org> hoy | x |"),
        ("| `c` <!-- mío --> fin | x |", "c", " hoy", "| `c` <!-- mío --> fin hoy | x |"),
        ("| <!-- mío --> dos | x |", "dos", " hoy", "| <!-- mío --> dos hoy | x |"),
        ("| 1. dos - __a__ | x |", "1. dos", " hoy", "| 1. dos - __a__ hoy | x |"),
        ("| [l](m.md) y <kbd>C</kbd> | x |", "[l]", " hoy", "| [l](m.md) y <kbd>C</kbd> hoy | x |"),
        ("| uno | __x__ |", "uno", " | dos", "| uno \\| dos | __x__ |"),
    ] {
        let file = format!("{head}{row}\n\n[g]: https://e.org/g\n").leak();
        let after = format!("{head}{after}\n\n[g]: https://e.org/g\n").leak();
        check(&Case { links: Links::Blocks, file, begins, adds, after });
    }
}

#[test]
fn a_word_leaves_what_stands_beside_it() {
    for (links, file, begins, adds, after) in [
        // The text of a definition is text: nothing in it is escaped.
        (
            Links::Text,
            "Ver [la guía][g] y [otra].\n\n[g]: https://e.org/g\n[otra]: https://e.org/o\n",
            "[g]:",
            "x",
            "Ver [la guía][g] y [otra].\n\n[g]: https://e.org/gx\n[otra]: https://e.org/o\n",
        ),
        (
            Links::Text,
            "Ver [la guía][g] y [otra].\n\n[g]: https://e.org/g\n[otra]: https://e.org/o\n",
            "[g]:",
            " hoy",
            "Ver [la guía][g] y [otra].\n\n[g]: https://e.org/g hoy\n\n[otra]: https://e.org/o\n",
        ),
        // So is the text of a table where there are no tables.
        (Links::Text, "a | b\n--|--\n__c__ | <b>d</b>\n", "a |", " e", "a | b\n--|--\n__c__ | <b>d</b> e\n"),
        (
            Links::Blocks,
            "Ver [`x`](https://e.org) y __esto__.\n",
            "Ver",
            " Ya.",
            "Ver [`x`](https://e.org) y __esto__. Ya.\n",
        ),
        // One that is none any more shows, and so would the blank lines above it.
        (
            Links::Text,
            "* tres\n\nUno\ndos [a].\n\n\n[a]: https://e.org\n",
            "[a]:",
            " hoy",
            "* tres\n\nUno\ndos [a].\n\n[a]: https://e.org hoy\n",
        ),
        // A list keeps its first number.
        (Links::Text, "3. Uno\n4. Dos\n", "Dos", " y medio", "3. Uno\n4. Dos y medio\n"),
        (Links::Text, "3. Uno\n4. Dos\n", "Uno", " y medio", "3. Uno y medio\n4. Dos\n"),
        // What is hidden between empty paragraphs stays between them.
        (
            Links::Blocks,
            "Uno\n\n\n[z]: <https://e.org> \"T\"\n\n\nDos\n",
            "Uno",
            " más",
            "Uno más\n\n\n[z]: <https://e.org> \"T\"\n\n\nDos\n",
        ),
        (
            Links::Blocks,
            "Uno\n\n\n<!-- a -->\n\n\nDos\n",
            "Dos",
            " más",
            "Uno\n\n\n<!-- a -->\n\n\nDos más\n",
        ),
        // No blank line comes between what may touch.
        (Links::Text, "> uno\n> ```\n> c\n> ```\n", "uno", " más", "> uno más\n> ```\n> c\n> ```\n"),
        (
            Links::Blocks,
            "- a\n\t- b\n\t  k:: v\n\t  - > c\n",
            "b",
            " w",
            "- a\n\t- b\n\t  k:: v w\n\t  - > c\n",
        ),
    ] {
        check(&Case { links, file, begins, adds, after });
    }
}

#[test]
fn a_comment_that_is_like_a_line_of_code_stays() {
    let file = "- <!-- mío -->\n- uno\n\n      <!-- mío -->\n";
    let old = parse(file, &[], &Allowed::all(), &mut ids());
    let mut new = old.clone();
    // Behind the comment white space would be lost: the page is written anew.
    new[0]["content"] = json!([{"type": "text", "text": " más", "styles": {}}]);
    let after = patch_for(file, &old, &new, &Allowed::all());
    assert_eq!(after.matches("<!-- mío -->").count(), 2, "{after}");
    assert_eq!(parse(&after, &new, &Allowed::all(), &mut ids()), new);
}

#[test]
fn formulas_of_several_lines_in_items_are_the_same_elsewhere() {
    for file in [
        "- [ ] $$\n  a_1 \\\\ b\n  $$\n",
        "- $$\n  a_1 \\\\ b\n  $$\n- uno\n",
        "1. $$\n   a_1 \\\\\n   b\n   $$\n",
        "> $$\n> a_1 \\\\ b\n> $$\n",
    ] {
        let blocks = parse(file, &[], &Allowed::all(), &mut ids());
        assert_eq!(render_for(&blocks, &Allowed::all()).text, file);
    }
}

#[test]
fn a_construct_that_is_text_begins_its_item_elsewhere_too() {
    for file in ["- ```js\n  x\n  ```\n\n  - y\n", "- | a | b |\n  |---|---|\n  | 1 | 2 |\n"] {
        let blocks = parse(file, &[], &Allowed::documented(), &mut ids());
        assert_eq!(render_for(&blocks, &Allowed::documented()).text, file);
    }
}

#[test]
fn a_link_of_a_cell_to_this_machine_is_text() {
    let file = "| a                |\n| ---------------- |\n| [l](m.md) y *b* |\n";
    let blocks = parse(file, &[], &Allowed::all(), &mut ids());
    assert_eq!(words(&blocks[0]["content"]["rows"][1]["cells"][0]["content"]), "[l](m.md) y b");
    // Where the page has a link it stays one.
    let link =
        json!([{"type": "link", "href": "m.md", "content": [{"type": "text", "text": "l", "styles": {}}]}]);
    let mut old = blocks;
    old[0]["content"]["rows"][1]["cells"][0]["content"] = link;
    assert_eq!(parse("| a |\n|---|\n| [l](m.md) |\n", &old, &Allowed::all(), &mut ids()), old);
}

#[test]
fn a_definition_that_a_picture_uses_is_sent_where_the_link_around_it_is_text() {
    let file = "[![b][i]][g]\n\n[i]: https://e.org/i.svg\n[g]: https://e.org\n";
    let blocks = parse(file, &[], &Allowed::documented(), &mut ids());
    assert_eq!(super::others::texts(&blocks)[1], "[i]: https://e.org/i.svg");
    // With its address in its place it needs no definition.
    let blocks = parse("Ver ![b][i].\n\n[i]: https://e.org/i.svg\n", &[], &Allowed::documented(), &mut ids());
    assert_eq!(super::others::texts(&blocks), ["Ver ![b](https://e.org/i.svg)."]);
}

#[test]
fn an_item_that_gets_a_text_has_a_line_of_its_own() {
    let file = "* * uno\n  * dos\n* > q\n\nFin\nde todo\n";
    let old = parse(file, &[], &Allowed::all(), &mut ids());
    for (at, after) in [
        (0, "* Más\n  * uno\n  * dos\n* > q\n\nFin\nde todo\n"),
        (1, "* * uno\n  * dos\n* Más\n\n  > q\n\nFin\nde todo\n"),
    ] {
        let mut new = old.clone();
        new[at]["content"] = json!([{"type": "text", "text": "Más", "styles": {}}]);
        assert_eq!(patch_for(file, &old, &new, &Allowed::all()), after);
    }
}

#[test]
fn a_callout_of_several_paragraphs_is_one_callout_elsewhere() {
    for file in [
        "> [!note] Título\n> texto\n>\n> segundo\n> - a\n>\n> fin\n",
        "> [!a]\n> uno\n>\n> dos\n\n> [!b]\n> tres\n>\n> cuatro\n\nfin\n",
        "- x\n\n  > [!a] y\n  >\n  > z\n",
        "> cita\n\n> otra\n",
    ] {
        let blocks = parse(file, &[], &Allowed::all(), &mut ids());
        assert_eq!(render_for(&blocks, &Allowed::all()).text, file);
    }
}

/// The file after the app replaced a part of the text of each block that has it.
fn replaced(links: Links, file: &str, from: &str, to: &str) -> String {
    fn replace(value: &mut Value, from: &str, to: &str) {
        match value {
            Value::String(text) if text.contains(from) => *text = text.replace(from, to),
            Value::Array(all) => all.iter_mut().for_each(|one| replace(one, from, to)),
            Value::Object(all) => all.values_mut().for_each(|one| replace(one, from, to)),
            _ => {}
        }
    }
    let old = parse(file, &[], &links.allowed(), &mut ids());
    let mut new = Value::Array(old.clone());
    replace(&mut new, from, to);
    let Value::Array(new) = new else { return String::new() };
    assert_ne!(old, new, "{file}");
    let after = patch_for(file, &old, &new, &links.allowed());
    assert_eq!(parse(&after, &new, &links.allowed(), &mut ids()), new, "{after}");
    after
}

#[test]
fn what_is_hidden_in_words_that_go_stays_in_its_line() {
    for (file, from, to, after) in [
        (
            "Va *de* <!-- a --> paso <!-- b --> hoy.\n\n* otro\n",
            " paso hoy",
            " paso",
            "Va *de* <!-- a --> paso<!-- b -->.\n\n* otro\n",
        ),
        ("Uno %%a%% dos, tres\n\n* otro\n", "Uno dos,", "Uno,", "Uno, tres %%a%%\n\n* otro\n"),
    ] {
        assert_eq!(replaced(Links::Blocks, file, from, to), after);
    }
}

#[test]
fn a_word_beside_a_line_end_of_an_item_joins_no_lines() {
    let file = "- uno dos\n  tres cuatro\n\n1. a $x_1$\n   b\n";
    let after = "- uno dos\n  y tres cuatro\n\n1. a $x_1$\n   b\n";
    assert_eq!(replaced(Links::Blocks, file, "dos tres", "dos y tres"), after);
    let after = "- uno dos\n  tres cuatro\n\n1. a $x_1$\n   y b\n";
    assert_eq!(replaced(Links::Blocks, file, "$ b", "$ y b"), after);
}

#[test]
fn a_number_behind_to_dos_stays() {
    let file = "Ver\n\n1. [ ] uno\n2. [x] dos\n3. tres\n";
    for links in [Links::Text, Links::Blocks] {
        assert_eq!(replaced(links, file, "Ver", "Ya"), file.replace("Ver", "Ya"));
        assert_eq!(replaced(links, file, "uno", "una"), file.replace("uno", "una"));
    }
}

#[test]
fn a_comment_in_another_is_hidden_with_it() {
    for (file, text) in [
        ("uno %%a <!-- x --> b%% dos\n", "uno dos"),
        ("a %%b%% c %%\nd\n| é<!-- x --> | l |\n%% dos\n", "a c dos"),
    ] {
        let blocks = parse(file, &[], &Allowed::all(), &mut ids());
        assert_eq!(super::others::texts(&blocks), [text]);
        assert_eq!(replaced(Links::Blocks, file, "dos", "dos más"), file.replace("dos", "dos más"));
    }
}

#[test]
fn definitions_are_definitions_elsewhere_where_links_are_text() {
    for file in [
        "Ver [la guía][g] y [otra].\n\n[g]: https://e.org/g\n\n[otra]: <https://e.org/o> \"T\"\n",
        "# Con [g]\n\n- [uno][g] y `c`\n\nFin\n\n[g]: https://e.org/g\n",
        // What no link uses would be hidden there.
        "Ver [g].\n\n[g]: https://e.org/g\n\n\\[h]: https://e.org/h\n",
        "- Ver [la guía][g].\n\n  [g]: https://e.org/g\n\n  [h]: https://e.org/h\n\n- Y [h]\n",
        "> Cita con [q].\n>\n> [q]: https://e.org/q\n\n> [!note] Con [c]\n> - a\n>\n> [c]: https://e.org/c\n",
    ] {
        let allowed = Allowed::documented();
        let blocks = parse(file, &[], &allowed, &mut ids());
        let second = render_for(&blocks, &allowed).text;
        assert_eq!(second, file);
        assert_eq!(parse(&second, &[], &allowed, &mut ids()), blocks);
    }
}

#[test]
fn definitions_stay_as_they_are_where_the_app_takes_what_used_them() {
    let file = "Con [una] y [otra][2].\n\n[una]: https://e.org/1\n[2]: <https://e.org/2> \"Dos\"\n\nFin\nde __esto__.\n";
    let after = &file[file.find("[una]:").unwrap()..];
    for (file, after) in
        [(file.to_owned(), after.to_owned()), (file.replace('\n', "\r\n"), after.replace('\n', "\r\n"))]
    {
        let allowed = Allowed::documented();
        let old = parse(&file, &[], &allowed, &mut ids());
        assert_eq!(old.len(), 4);
        assert_eq!(patch_for(&file, &old, &old[1..], &allowed), after);
        assert_eq!(parse(&after, &old[1..], &allowed, &mut ids()), old[1..]);
    }
}

#[test]
fn the_line_of_a_block_without_markdown_goes_with_it() {
    let block = |kind: &str, id: &str, content: Value| json!({"id": id, "type": kind, "props": {}, "content": content, "children": []});
    let text = |text: &str| block("paragraph", text, json!([{"type": "text", "text": text, "styles": {}}]));
    let base = |id: &str| block("database", id, json!([]));
    let mut under = text("dos");
    under["type"] = json!("bulletListItem");
    under["children"] = json!([base("d2"), text("tres")]);
    let old = [base("d1"), text("uno"), under, base("d3")];
    let file = super::super::render(&old).text;
    for id in ["d1", "d2", "d3"] {
        let mut new = old.to_vec();
        new.retain(|block| block["id"] != id);
        if id == "d2" {
            new[2]["children"] = json!([text("tres")]);
        }
        let line = format!("<!-- block: database {id} -->");
        let after = super::super::patch(&file, &old, &new);
        assert!(file.contains(&line) && !after.contains(&line), "{after}");
        assert_eq!(after.matches("<!-- block: ").count(), 2, "{after}");
        assert_eq!(parse(&after, &new, &Allowed::documented(), &mut ids()), new, "{after}");
    }
}

/// A paragraph that the app puts behind a block.
fn with_a_paragraph(blocks: &[Value], behind: &str) -> Vec<Value> {
    let mut out = Vec::new();
    for block in blocks {
        let mut block = block.clone();
        let is_it = words(&block["content"]).starts_with(behind);
        let children = block["children"].as_array().cloned().unwrap_or_default();
        block["children"] = Value::Array(with_a_paragraph(&children, behind));
        out.push(block);
        if is_it {
            out.push(json!({"id": "new", "type": "paragraph",
                "props": {"textColor": "default", "backgroundColor": "default", "textAlignment": "left"},
                "content": [{"type": "text", "text": "puesto", "styles": {}}], "children": []}));
        }
    }
    out
}

#[test]
fn a_paragraph_that_comes_into_a_callout_leaves_the_rest_of_the_file() {
    let head = "%% nota %%\n\n> [!tip]- Consejo\n";
    let rest = "\n~~~\nx\n~~~\n\n|a|b|\n|-|-|\n|1|2|\n\n*  uno\n*  dos\n";
    for (inside, behind, after) in [
        (
            "> - [ ] tarea\n>   - [x] hecha\n>\n> ```js\n> x\n> ```\n",
            "tarea",
            "\n<!-- children -->\n\n- [ ] tarea\n  - [x] hecha\n\npuesto\n\n```js\nx\n```\n\n<!-- /children -->\n",
        ),
        (
            "> > [!note] dos\n> > - tres\n",
            "[!note]",
            "\n<!-- children -->\n\n> [!note] dos\n> - tres\n\npuesto\n\n<!-- /children -->\n",
        ),
    ] {
        let file = format!("{head}{inside}{rest}");
        let allowed = Allowed::all();
        let old = parse(&file, &[], &allowed, &mut ids());
        let new = with_a_paragraph(&old, behind);
        assert_ne!(old, new);
        let spliced = patch_for(&file, &old, &new, &allowed);
        assert_eq!(spliced, format!("{head}{after}{rest}"));
        assert_eq!(parse(&spliced, &new, &allowed, &mut ids()), new, "{spliced}");
    }
}

/// Makes an item of the paragraph that came.
fn as_item(blocks: &mut Value) {
    for block in blocks.as_array_mut().into_iter().flatten() {
        if block["id"] == "new" {
            block["type"] = json!("bulletListItem");
        }
        as_item(&mut block["children"]);
    }
}

#[test]
fn an_item_that_comes_is_indented_as_its_list() {
    for (file, behind, after) in [
        (
            "- # Uno\n  id:: 6543\n\t- dos\n\t  k:: v\n\t- tres\n- > cita\n  y más\n",
            "dos",
            "- # Uno\n  id:: 6543\n\t- dos\n\t  k:: v\n\t- puesto\n\t- tres\n- > cita\n  y más\n",
        ),
        (
            "# Uno\n\n  - dos\n    y más\n  - tres\n",
            "dos",
            "# Uno\n\n  - dos\n    y más\n  - puesto\n  - tres\n",
        ),
        (
            "- # Uno\n\t- dos\n\t\t- tres\n\t- más\n",
            "tres",
            "- # Uno\n\t- dos\n\t\t- tres\n\t\t- puesto\n\t- más\n",
        ),
    ] {
        let old = parse(file, &[], &Allowed::all(), &mut ids());
        let mut new = Value::Array(with_a_paragraph(&old, behind));
        as_item(&mut new);
        let Value::Array(new) = new else { return };
        let spliced = patch_for(file, &old, &new, &Allowed::all());
        assert_eq!(spliced, after);
        assert_eq!(parse(&spliced, &new, &Allowed::all(), &mut ids()), new, "{spliced}");
    }
}

#[test]
fn code_in_a_callout_that_becomes_text_leaves_the_rest_of_the_file() {
    let head = "Uno\ndos %%mío%%\n\n> [!example]\n";
    let rest = "> Sigue aquí.\n\nTras\n* a\n";
    let file = format!("{head}> ```py\n> x = 1\n> ```\n{rest}");
    let after = format!("{head}\n<!-- children -->\n\nOtro\n\n<!-- /children -->\n\n{rest}");
    assert_eq!(replaced(Links::Text, &file, "```py\nx = 1\n```", "Otro"), after);
}

#[test]
fn an_item_goes_beneath_another_of_its_indented_list() {
    let file = "# T\n\n   - __uno__\n   - dos\n     - tres\n\nFin\nde todo\n";
    let old = parse(file, &[], &Allowed::all(), &mut ids());
    let mut new = old.clone();
    let item = new.remove(2);
    new[1]["children"] = json!([item]);
    let spliced = patch_for(file, &old, &new, &Allowed::all());
    assert_eq!(spliced, "# T\n\n   - __uno__\n     - dos\n       - tres\n\nFin\nde todo\n");
    assert_eq!(parse(&spliced, &new, &Allowed::all(), &mut ids()), new);
}

#[test]
fn where_no_lines_fit_the_list_alone_is_written_anew() {
    let (head, tail) = ("Uno\ndos %%mío%%\n\n* __x__\n\nEntre\nmedias\n\n", "\nTras\n* __e__\n");
    let file = format!("{head}- [ ] a:\n    1. b\n    2. c\n\n      > q\n\n    3. d\n{tail}");
    let old = parse(&file, &[], &Allowed::all(), &mut ids());
    let mut new = old.clone();
    new[3]["children"][1]["type"] = json!("bulletListItem");
    let spliced = patch_for(&file, &old, &new, &Allowed::all());
    let list = "- [ ] a:\n  1. b\n\n  - c\n\n  ```\n  > q\n  ```\n\n  3. d\n";
    assert_eq!(spliced, format!("{head}{list}{tail}"));
    assert_eq!(parse(&spliced, &new, &Allowed::all(), &mut ids()), new);
}

#[test]
fn empty_brackets_at_the_end_of_an_item_are_no_definition() {
    let file =
        "* Uno [#12][]\n\n[#12]: https://e.org/12\n\n* Dos ![i][]\n\n[i]: https://e.org/i\n\nFin\nde todo\n";
    for links in [Links::Text, Links::Blocks] {
        assert_eq!(replaced(links, file, "Uno", "Una"), file.replace("Uno", "Una"));
        assert_eq!(replaced(links, file, "Fin", "El fin"), file.replace("Fin", "El fin"));
    }
}

#[test]
fn a_definition_that_goes_leaves_what_does_not_use_it() {
    let file = "Uno\n__dos__.\n\nVer [`x`] y\n[la guía][g].\n\n* __tres__ [g]\n\n[`x`]: https://e.org/x\n\n[g]: https://e.org/g\n";
    let allowed = Allowed::documented();
    let old = parse(file, &[], &allowed, &mut ids());
    let mut new = old.clone();
    new.retain(|block| !words(&block["content"]).starts_with("[`x`]:"));
    assert_eq!(new.len() + 1, old.len());
    let spliced = patch_for(file, &old, &new, &allowed);
    let after =
        "Uno\n__dos__.\n\nVer \\[\\`x\\`] y \\[la guía]\\[g].\n\n* __tres__ [g]\n\n[g]: https://e.org/g\n";
    assert_eq!(spliced, after);
    assert_eq!(parse(&spliced, &new, &allowed, &mut ids()), new);
}
