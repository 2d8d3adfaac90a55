//! A save, in whatever way, is one changed block at the service: GET, PATCH, and no more.

use std::fs;
use std::process::Command;

use espejo::model::Blocks;
use serde_json::{Value, json};

use super::bench::{Bench, append, block, paragraph, save, save_bytes, words};

/// Twelve blocks as a real page has them: styles and colours, nesting, blocks and props that nobody has described.
fn twelve() -> Blocks {
    let mut table = json!({ "id": "table", "type": "table", "props": { "textColor": "default" },
        "content": { "type": "tableContent", "columnWidths": [null, 120.0], "rows": [
            { "cells": [[{ "type": "text", "text": "a", "styles": {} }], [{ "type": "text", "text": "b", "styles": {} }]] },
            { "cells": [[{ "type": "text", "text": "1", "styles": {} }], [{ "type": "text", "text": "2", "styles": {} }]] },
        ] }, "children": [] });
    table["extra"] = json!(12_345_678_901_234_567_i64);
    let mut list = block("list", "bulletListItem", "milk", &json!({}));
    list["children"] = json!([block("sub", "bulletListItem", "goat's", &json!({}))]);
    let mut styled = paragraph("styled", "");
    styled["content"] = json!([
        { "type": "text", "text": "plain ", "styles": {} },
        { "type": "text", "text": "bold red", "styles": { "bold": true, "textColor": "red" } },
        { "type": "text", "text": " end", "styles": {} },
    ]);
    vec![
        block("title", "heading", "Un título", &json!({ "level": 1 })),
        paragraph("intro", "The words of the introduction."),
        block(
            "blue",
            "paragraph",
            "A blue line.",
            &json!({ "textColor": "blue", "textAlignment": "center" }),
        ),
        styled,
        list,
        block("done", "checkListItem", "done already", &json!({ "checked": true })),
        block("open", "checkListItem", "still open", &json!({ "checked": false })),
        block("fold", "toggleListItem", "more", &json!({})),
        block("said", "quote", "said somebody", &json!({})),
        table,
        json!({ "id": "db", "type": "database", "props": { "view": "board", "n": 1.50 }, "content": [], "children": [] }),
        paragraph("last", "The last line."),
    ]
}

/// Blocks by id, at the top.
fn equal_blocks(before: &[Value], after: &[Value]) -> usize {
    before.iter().filter(|block| after.contains(block)).count()
}

#[test]
fn a_paragraph_added_to_twelve_blocks_is_a_get_and_a_patch_of_thirteen() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Doce", twelve());
        world.app_create(space, None, "Otra", vec![paragraph("a", "other")]);
    });
    let daemon = bench.run_in_step();
    let before = bench.content("Doce");
    assert_eq!(before, twelve());
    bench.forget_requests();
    append(&bench.page("Doce.md"), "\nUna línea nueva.\n");
    let saved = bench.text("Doce.md");
    bench.until("the edit is sent", || bench.content("Doce").len() == 13);
    bench.until_in_step();
    let path = format!("/pages/{}", bench.id("Doce"));
    assert_eq!(bench.writes(), [format!("PATCH {path}")]);
    let about: Vec<String> = bench.requests().into_iter().filter(|line| line.contains(&path)).collect();
    assert_eq!(about[..2], [format!("GET {path}"), format!("PATCH {path}")]);
    let after = bench.content("Doce");
    assert_eq!(after[..12], before[..], "the twelve are what they were");
    assert_eq!(words(&after[12..]), "Una línea nueva.\n");
    for key in ["id", "type", "props", "content", "children"] {
        assert!(after[12].get(key).is_some(), "{}", after[12]);
    }
    let body = bench.world().log().writes().next().unwrap().json();
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["content"], "the title is not sent along");
    // Byte for byte as it was sent: key order and number forms too.
    assert_eq!(Value::from(after[..12].to_vec()).to_string(), Value::from(before).to_string());
    assert_eq!(bench.text("Doce.md"), saved, "the file is not rewritten under the user's hands");
    bench.rest(daemon);
}

/// One way to change the second of three lines.
struct Way {
    name: &'static str,
    /// A program that must be there.
    needs: Option<&'static str>,
    change: fn(&std::path::Path),
}

fn shell(line: &str, file: &std::path::Path) {
    let status = Command::new("sh").arg("-c").arg(line).arg("sh").arg(file).status().expect("a shell");
    assert!(status.success(), "{line}");
}

fn replaced(file: &std::path::Path) -> String {
    fs::read_to_string(file).unwrap().replace("second", "SECOND")
}

const WAYS: &[Way] = &[
    Way {
        name: "truncated and written",
        needs: None,
        change: |file| {
            let text = replaced(file);
            save(file, &text);
        },
    },
    Way {
        name: "written in two parts",
        needs: None,
        change: |file| {
            let text = replaced(file);
            let (head, rest) = text.split_at(text.len() / 2);
            save(file, head);
            append(file, rest);
        },
    },
    Way {
        name: "renamed over",
        needs: None,
        change: |file| {
            let new = file.with_file_name(".tmp-save");
            save(&new, &replaced(file));
            fs::rename(&new, file).unwrap();
        },
    },
    Way {
        name: "kept as a backup, then written anew",
        needs: None,
        change: |file| {
            let text = replaced(file);
            fs::rename(file, file.with_extension("md~")).unwrap();
            save(file, &text);
        },
    },
    Way {
        name: "removed, then written anew",
        needs: None,
        change: |file| {
            let text = replaced(file);
            fs::remove_file(file).unwrap();
            save(file, &text);
        },
    },
    Way {
        name: "emacs with its lock and its backup",
        needs: None,
        change: |file| {
            let text = replaced(file);
            let lock = file.with_file_name(format!(".#{}", file.file_name().unwrap().to_str().unwrap()));
            std::os::unix::fs::symlink("user@host.1234:5678", &lock).unwrap();
            let auto = file.with_file_name(format!("#{}#", file.file_name().unwrap().to_str().unwrap()));
            save(&auto, &text);
            fs::rename(file, file.with_extension("md~")).unwrap();
            save(file, &text);
            fs::remove_file(&auto).unwrap();
            fs::remove_file(&lock).unwrap();
        },
    },
    Way { name: "sed -i", needs: Some("sed"), change: |file| shell("sed -i s/second/SECOND/ \"$1\"", file) },
    Way {
        name: "perl -pi",
        needs: Some("perl"),
        change: |file| shell("perl -pi -e s/second/SECOND/ \"$1\"", file),
    },
    Way {
        name: "vim",
        needs: Some("vim"),
        change: |file| shell("vim -es -N -u NONE -c '%s/second/SECOND/' -c wq \"$1\" </dev/null", file),
    },
    Way {
        name: "vim that writes a copy and renames",
        needs: Some("vim"),
        change: |file| {
            shell(
                "vim -es -N -u NONE --cmd 'set backup writebackup backupcopy=no' -c '%s/second/SECOND/' -c wq \"$1\" </dev/null",
                file,
            );
        },
    },
    Way {
        name: "emacs",
        needs: Some("emacs"),
        change: |file| {
            shell(
                "emacs -Q --batch \"$1\" --eval '(while (search-forward \"second\" nil t) (replace-match \"SECOND\" t t))' -f save-buffer",
                file,
            );
        },
    },
    Way {
        name: "ed",
        needs: Some("ed"),
        change: |file| shell("printf '%s\\n' ',s/second/SECOND/' w q | ed -s \"$1\"", file),
    },
];

#[test]
fn every_way_of_saving_is_one_changed_block() {
    let there = |program: &str| super::needs::find(program).is_some();
    let ways: Vec<&Way> = WAYS.iter().filter(|way| way.needs.is_none_or(there)).collect();
    let bench = Bench::new(|world, space| {
        for way in &ways {
            let content = vec![
                paragraph("a", "first"),
                block("b", "paragraph", "the second line", &json!({ "textColor": "red" })),
                paragraph("c", "third"),
            ];
            world.app_create(space, None, way.name, content);
        }
    });
    let daemon = bench.run_in_step();
    bench.forget_requests();
    for way in &ways {
        (way.change)(&bench.page(&format!("{}.md", way.name)));
    }
    bench.until("every edit is sent", || {
        ways.iter().all(|way| words(&bench.content(way.name)).contains("SECOND"))
    });
    bench.until_in_step();
    for way in &ways {
        let after = bench.content(way.name);
        assert_eq!(words(&after), "first\nthe SECOND line\nthird\n", "{}", way.name);
        assert_eq!(after[0], paragraph("a", "first"), "{}", way.name);
        assert_eq!(after[2], paragraph("c", "third"), "{}", way.name);
        assert_eq!(after[1]["id"], "b", "{}", way.name);
        assert_eq!(after[1]["props"]["textColor"], "red", "{}", way.name);
        let id = bench.id(way.name);
        assert_eq!(bench.world().log().patches_of(&id).count(), 1, "{}", way.name);
    }
    assert_eq!(bench.writes().len(), ways.len(), "{:?}", bench.writes());
    bench.rest(daemon);
}

#[test]
fn what_means_nothing_new_sends_nothing() {
    type Way = fn(&str) -> String;
    let ways: [(&str, Way); 7] = [
        ("touched", str::to_owned),
        ("CRLF", |text| text.replace('\n', "\r\n")),
        ("stars", |text| text.replace("\n- ", "\n* ")),
        ("no line end", |text| text.trim_end().to_owned()),
        ("front matter of one's own", |text| text.replacen("---\n", "---\ntags: [a, b]\n", 1)),
        ("no front matter", |text| text.splitn(3, "---\n").nth(2).unwrap_or_default().to_owned()),
        ("setext", |text| text.replace("# Un título\n", "Un título\n=========\n")),
    ];
    let bench = Bench::new(|world, space| {
        for (name, _) in ways {
            world.app_create(space, None, name, twelve());
        }
    });
    let daemon = bench.run_in_step();
    bench.forget_requests();
    for (name, way) in ways {
        let path = bench.page(&format!("{name}.md"));
        let text = fs::read_to_string(&path).unwrap();
        let new = way(&text);
        assert!(new != text || name == "touched", "{name} changes nothing");
        save(&path, &new);
    }
    bench.look_again();
    bench.until_in_step();
    for (name, _) in ways {
        assert_eq!(equal_blocks(&twelve(), &bench.content(name)), 12, "{name}");
    }
    assert_eq!(bench.writes(), Vec::<String>::new());
    bench.rest(daemon);
}

#[test]
fn what_cannot_be_a_page_is_not_sent_and_is_told() {
    let bench = Bench::new(|world, space| {
        for name in ["Empty", "Binary", "Broken", "Fine", "Sound", "Front", "Crashed", "Holed"] {
            world.app_create(space, None, name, vec![paragraph("a", "the words")]);
        }
    });
    let daemon = bench.run_in_step();
    bench.forget_requests();
    save(&bench.page("Empty.md"), "");
    save_bytes(&bench.page("Binary.md"), b"\xff\xfe\x00w");
    // A byte order mark alone is no word.
    save(&bench.page("Sound.md"), "\u{feff}");
    save(&bench.page("Broken.md"), "---\nid: [unclosed\n---\nthe words\n");
    let front = bench.text("Front.md").replace("the words\n", "\n");
    save(&bench.page("Front.md"), &front);
    // As a crash of the machine leaves a file: its length is on the disk, its bytes are not, or only some of them.
    let size = bench.text("Crashed.md").len();
    save_bytes(&bench.page("Crashed.md"), &vec![0; size]);
    save(&bench.page("Holed.md"), &bench.text("Holed.md").replace("the words", "the wo\0\0\0"));
    append(&bench.page("Fine.md"), "\nand more\n");
    bench.until("the sound one is sent", || words(&bench.content("Fine")).contains("and more"));
    let names = ["Empty.md", "Sound.md", "Front.md", "Binary.md", "Broken.md", "Crashed.md", "Holed.md"];
    bench.until("they are told of", || {
        let told = bench.attention();
        names.iter().all(|name| told.contains(name))
    });
    for line in bench.attention().lines() {
        let emptied = names[..3].iter().any(|name| line.contains(name));
        assert_eq!(line.contains("espejo approve"), emptied, "{line}");
    }
    assert_eq!(bench.writes(), [format!("PATCH /pages/{}", bench.id("Fine"))]);
    let told = bench.tell(&["status"]);
    assert_eq!(told.code, 3, "{told:?}");
    // Mended, they are sent, and nothing needs the user.
    for name in names {
        save(&bench.page(name), &format!("the words, mended {name}\n"));
    }
    bench.until("the mended ones are sent", || {
        names.iter().all(|name| {
            let title = name.trim_end_matches(".md");
            words(&bench.content(title)).contains(&format!("mended {name}"))
        })
    });
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
}

#[test]
fn front_matter_alone_is_sent_when_it_is_approved_and_nul_is_not() {
    let bench = Bench::new(|world, space| {
        for name in ["Front", "Zeros", "Spacer"] {
            let text = if name == "Spacer" { "" } else { "the words" };
            world.app_create(space, None, name, vec![paragraph("a", text)]);
        }
    });
    let daemon = bench.run_in_step();
    bench.forget_requests();
    let front = bench.text("Front.md").replace("the words\n", "");
    save(&bench.page("Front.md"), &front);
    save(&bench.page("Zeros.md"), "\0\0\0");
    save(&bench.page("Fresh.md"), "new\0\n");
    // A page without a text stays as it is, whatever is put into its front matter.
    save(&bench.page("Spacer.md"), &bench.text("Spacer.md").replacen("id:", "tags: [a]\nid:", 1));
    bench.until("three are held", || {
        let told = bench.attention();
        ["Front.md", "Zeros.md", "Fresh.md"].iter().all(|name| told.contains(name))
    });
    assert!(!bench.attention().contains("Spacer.md"), "{}", bench.attention());
    let approve = |name: &str| bench.tell(&["approve", "--yes", bench.page(name).to_str().unwrap()]);
    assert_eq!(approve("Front.md").code, 0);
    for name in ["Zeros.md", "Fresh.md"] {
        let told = approve(name);
        assert!(
            told.code == 1 && told.err.contains("cannot be approved: not sent: it holds NUL"),
            "{told:?}"
        );
    }
    bench.until("what was approved is sent", || bench.content("Front").is_empty());
    bench.look_again();
    assert_eq!(bench.writes(), [format!("PATCH /pages/{}", bench.id("Front"))]);
    assert_eq!(words(&bench.content("Zeros")), "the words\n");
    assert!(bench.attention().contains("Zeros.md: not sent: it holds NUL"), "{}", bench.attention());
    fs::remove_file(bench.page("Fresh.md")).unwrap();
    save(&bench.page("Zeros.md"), "the words, mended\n");
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.until_in_step();
    bench.rest(daemon);
}

#[test]
fn a_fence_or_comment_that_is_not_closed_yet_takes_no_block_from_its_page() {
    let three =
        || ["one", "two", "three"].map(|id| paragraph(id, &format!("the words of number {id}"))).to_vec();
    let bench = Bench::new(|world, space| {
        for name in ["Fence", "Comment", "Meant", "End"] {
            world.app_create(space, None, name, three());
        }
    });
    let daemon = bench.run_in_step();
    bench.forget_requests();
    let path = |name: &str| bench.page(&format!("{name}.md"));
    let with = |name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(path(name)).unwrap();
        assert!(text.contains(from), "{text}");
        save(&path(name), &text.replace(from, to));
    };
    with("Fence", "the words of number two", "```sh\n\nthe words of number two");
    with("Comment", "the words of number two", "<!-- todo\n\nthe words of number two");
    with("Meant", "the words of number two", "```\nthe words of number two");
    // At the end it holds nothing of the page, and is what CommonMark says.
    with("End", "number three\n", "number three\n\n```\nnew words\n");
    bench.until("three are told of", || {
        let told = bench.attention();
        [("Fence.md", "code block in line 7"), ("Comment.md", "comment in line 7"), ("Meant.md", "line 7")]
            .iter()
            .all(|(name, what)| told.lines().any(|line| line.contains(name) && line.contains(what)))
    });
    bench.until("the fourth is sent", || words(&bench.content("End")).contains("new words"));
    assert_eq!(bench.writes(), [format!("PATCH /pages/{}", bench.id("End"))]);
    // Closed, or approved, it is sent, and what was not touched is what it was.
    with("Fence", "```sh\n\n", "```sh\nls\n```\n\n");
    with("Comment", "<!-- todo", "<!-- todo -->\n\nbeside the comment");
    bench.tell(&["approve", "--yes", "Equipo/Pages/Meant.md"]);
    bench.until("all are sent", || {
        words(&bench.content("Fence")).contains("ls")
            && words(&bench.content("Comment")).contains("beside the comment")
            && words(&bench.content("Meant")).contains("```")
    });
    for name in ["Fence", "Comment"] {
        assert_eq!(equal_blocks(&three(), &bench.content(name)), 3, "{name}");
    }
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
}

#[test]
fn a_file_with_merge_marks_waits_until_they_are_resolved_or_approved() {
    let bench = Bench::new(|world, space| {
        for name in ["Known", "Meant", "Code"] {
            world.app_create(space, None, name, vec![paragraph("a", "the words")]);
        }
    });
    let daemon = bench.run_in_step();
    bench.forget_requests();
    let marks = "<<<<<<< HEAD\nmine\n=======\nyours\n>>>>>>> branch\n";
    append(&bench.page("Meant.md"), &format!("\n{marks}"));
    // git replaces files.
    let aside = bench.outside("aside.md");
    fs::copy(bench.page("Known.md"), &aside).unwrap();
    append(&aside, &format!("\n{marks}"));
    fs::rename(&aside, bench.page("Known.md")).unwrap();
    append(&bench.page("Code.md"), &format!("\n```\n{marks}```\n"));
    for name in ["New", "New and meant"] {
        save(&bench.page(&format!("{name}.md")), &format!("# Words\n\n{marks}"));
    }
    bench.until("four are told of", || {
        let told = bench.attention();
        ["Known.md", "Meant.md", "New.md", "New and meant.md"]
            .iter()
            .all(|name| told.contains(&format!("{name}: not sent: git left merge marks in it")))
    });
    bench.until("the code is sent", || words(&bench.content("Code")).contains("mine"));
    assert_eq!(bench.writes(), [format!("PATCH /pages/{}", bench.id("Code"))]);
    save(&bench.page("Known.md"), "the words\n\nmine and yours\n");
    save(&bench.page("New.md"), "# Words\n\nmine and yours\n");
    bench.tell(&["approve", "--yes", "Equipo/Pages/Meant.md", "Equipo/Pages/New and meant.md"]);
    bench.until("all are sent", || {
        let has = |name: &str, what: &str| {
            bench.titled(name).is_some_and(|id| words(&bench.record(&id).content).contains(what))
        };
        has("Known", "mine and yours")
            && has("New", "mine and yours")
            && has("Meant", "yours")
            && has("New and meant", "yours")
    });
    bench.until("nothing needs the user", || bench.attention().is_empty());
    // Marks that the page has hold no later edit, wherever the file goes.
    append(&bench.page("Meant.md"), "\nmore words\n");
    bench.until("it is sent", || words(&bench.content("Meant")).contains("more words"));
    fs::rename(bench.page("Meant.md"), bench.page("Meant too.md")).unwrap();
    append(&bench.page("Meant too.md"), "\neven more\n");
    bench.until("both are sent", || {
        bench.titled("Meant too").is_some_and(|id| words(&bench.record(&id).content).contains("even more"))
    });
    append(&bench.page("Meant too.md"), &format!("\n{marks}"));
    bench.until("further marks are told of", || {
        bench.attention().contains("Meant too.md: not sent: git left merge marks in it")
    });
    save(&bench.page("Meant too.md"), "resolved\n");
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
    // The same without a daemon.
    save(&bench.page("Later.md"), marks);
    assert_eq!((bench.tell(&["sync"]).code, bench.titled("Later")), (3, None));
    bench.tell(&["approve", "--yes", "Equipo/Pages/Later.md"]);
    assert_eq!(bench.tell(&["sync"]).code, 0);
    assert!(words(&bench.content("Later")).contains("yours"));
}

#[test]
fn the_title_and_the_icon_in_a_new_files_front_matter_are_used_or_told() {
    let bench = Bench::new(|world, space| drop(world.app_create(space, None, "Old", vec![])));
    let daemon = bench.run_in_step();
    bench.forget_requests();
    let text = "---\ntitle: A grand title\nicon: 🎈\ntags: [mine]\n---\n\nthe words\n";
    save(&bench.page("plain.md"), text);
    bench.until("it is a page of that title", || {
        bench.titled("A grand title").is_some_and(|id| !bench.record(&id).content.is_empty())
    });
    bench.until_in_step();
    assert_eq!(
        bench.writes(),
        ["POST /pages".to_owned(), format!("PATCH /pages/{}", bench.id("A grand title"))]
    );
    let told = bench.attention();
    assert!(told.contains("Equipo/Pages/plain.md: its icon stays in this file"), "{told}");
    assert_eq!(std::fs::read_to_string(bench.page("plain.md")).unwrap(), text);
    // What comes from the app leaves both lines, until the app has an icon of its own.
    let id = bench.id("A grand title");
    bench.world().app_edit(&id, vec![paragraph("a", "other words")]);
    bench.tell(&["sync"]);
    let now = std::fs::read_to_string(bench.page("plain.md")).unwrap();
    assert!(now.contains("title: A grand title\nicon: 🎈\n") && now.contains("other words"), "{now}");
    bench.world().app_set_icon(&id, Some("🚲"));
    bench.tell(&["sync"]);
    bench.until("it has the app's", || {
        std::fs::read_to_string(bench.page("plain.md")).unwrap().contains("icon: \"🚲\"\n")
    });
    bench.rest(daemon);
}

#[test]
fn a_file_that_is_titled_in_its_front_matter_is_its_pages_also_without_the_state() {
    let bench = Bench::new(|world, space| drop(world.app_create(space, None, "Old", vec![])));
    bench.sync();
    save(&bench.page("plain.md"), "---\ntitle: A grand title\n---\n\nthe words\n");
    bench.sync();
    let pages = bench.pages();
    std::fs::remove_dir_all(bench.state()).unwrap();
    bench.tell(&["sync"]);
    bench.tell(&["sync"]);
    assert_eq!(bench.pages(), pages, "{}", bench.seen());
    assert!(!bench.page("A grand title.md").exists(), "{}", bench.seen());
}

#[test]
fn a_page_that_takes_the_title_of_its_sibling_takes_its_name_too_with_a_number_and_keeps_it() {
    let bench = Bench::new(|world, space| {
        for title in ["Notas", "Otra", "Tercera", "Cuarta"] {
            world.app_create(space, None, title, vec![paragraph("a", &format!("words of {title}"))]);
        }
    });
    bench.sync();
    let (other, third) = (bench.id("Otra"), bench.id("Tercera"));
    // One in its front matter, one in the app; a title that no name can say, and one that any can.
    let text = bench.text("Otra.md");
    assert!(text.starts_with("---\nid: "), "{text}");
    save(&bench.page("Otra.md"), &text.replacen("---\n", "---\ntitle: Notas\n", 1));
    bench.sync();
    bench.world().app_rename(&third, "Notas");
    bench.sync();
    let text = bench.text("Cuarta.md");
    save(&bench.page("Cuarta.md"), &text.replacen("---\n", "---\ntitle: a/b\n", 1));
    bench.sync();
    let names = || bench.files().into_keys().collect::<Vec<_>>();
    let all = ["Notas (2).md", "Notas (3).md", "Notas.md", "a\u{ff0f}b.md"];
    let all = all.map(|name| format!("Equipo/Pages/{name}"));
    assert!(names().iter().filter(|path| path.ends_with(".md")).eq(all.iter()), "{:?}", names());
    assert_eq!(
        (bench.record(&other).title.as_str(), bench.record(&third).title.as_str()),
        ("Notas", "Notas")
    );
    for (name, words) in [("Notas.md", "Notas"), ("Notas (2).md", "Otra"), ("Notas (3).md", "Tercera")] {
        assert!(bench.text(name).contains(&format!("words of {words}")), "{name}");
    }
    // It rests, also when the sibling is gone.
    std::fs::remove_file(bench.page("Notas.md")).unwrap();
    bench.sync();
    bench.forget_requests();
    let before = bench.files();
    bench.sync();
    assert_eq!((bench.writes(), bench.files()), (Vec::new(), before), "{}", bench.seen());
    assert!(bench.page("Notas (2).md").exists() && bench.page("Notas (3).md").exists());
}
