//! The laws over the corpus: pages as the editor and its users make them.

use std::path::Path;

use serde_json::{Value, json};

use super::super::certain::written_alone;
use super::super::lower::lower_one_by_one;
use super::super::{patch, patched, render, text_of};
use super::{ids, norm, read, without_end};
use crate::markdown::{Allowed, parse};
use crate::model::{BodyJson, LONG_BODY, Page, PageId, PageMeta, WorkspaceId, undescribed};

pub(super) fn documents() -> Vec<(String, Vec<Value>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/markdown/corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let name = document["name"].as_str().unwrap().to_owned();
        (name, document["blocks"].as_array().unwrap().clone())
    };
    files.iter().map(read).collect()
}

fn bytes(blocks: &[Value]) -> String {
    serde_json::to_string(blocks).unwrap()
}

#[test]
fn with_base_every_document_comes_back_byte_for_byte() {
    let documents = documents();
    assert_eq!(documents.len(), 78);
    for (name, blocks) in &documents {
        let text = render(blocks).text;
        assert_eq!(bytes(&read(&text, blocks)), bytes(blocks), "{name}");
        // Not the text that was rendered, so that it is really read.
        for changed in [
            format!("{text}\n\n"),
            format!("\n{text}"),
            text.replace('\n', "\r\n"),
            format!("\u{feff}{text}"),
        ] {
            assert_eq!(bytes(&read(&changed, blocks)), bytes(blocks), "{name}");
        }
    }
}

#[test]
fn a_long_page_is_read_and_written_block_by_block() {
    for (name, blocks) in documents() {
        let alone = lower_one_by_one(blocks.iter().cloned());
        assert_eq!(written_alone(&alone), Some(render(&blocks).text), "{name}");
    }
    let all: Vec<Value> = documents().into_iter().flat_map(|(_, blocks)| blocks).collect();
    let json = BodyJson::of(&all);
    assert!(json.as_str().len() > LONG_BODY);
    assert_eq!(text_of(&json).unwrap(), render(&all).text);
    let few = &all[7..27];
    let (text, at) = (render(few).text, render(&all).text);
    assert_eq!(patched(&text, &BodyJson::of(few), &json).unwrap(), patch(&text, few, &all));
    assert!(at.len() > 10 * text.len());
    let spaced = serde_json::to_string_pretty(&all).unwrap();
    let meta = PageMeta {
        id: PageId::new("p").unwrap(),
        workspace: WorkspaceId::new("w").unwrap(),
        parent: None,
        title: String::new(),
        icon: None,
        position: 0.0,
    };
    let page = Page::of_long(meta, spaced.as_bytes(), None).unwrap();
    assert_eq!(page.json, json);
    assert!(page.telling.len() < all.len() / 2, "{} of {}", page.telling.len(), all.len());
    let learnt = |blocks: &[Value]| {
        let mut allowed = Allowed::documented();
        allowed.learn(blocks);
        format!("{allowed:?}")
    };
    assert_eq!(learnt(&page.telling), learnt(&all));
    assert_eq!(undescribed(&page.telling), undescribed(&all));
}

const DOCUMENTED: [&str; 7] = [
    "paragraph",
    "heading",
    "bulletListItem",
    "numberedListItem",
    "checkListItem",
    "toggleListItem",
    "quote",
];

/// Documented types, styles and default props all over, `textAlignment` on quotes aside.
fn is_documented(blocks: &[Value], quotes_aligned: bool) -> bool {
    blocks.iter().all(|block| {
        let kind = block["type"].as_str().unwrap_or("");
        let mut props =
            json!({"textColor": "default", "backgroundColor": "default", "textAlignment": "left"});
        if kind == "quote" && !quotes_aligned {
            props = json!({"textColor": "default", "backgroundColor": "default"});
        }
        for key in ["level", "checked"] {
            if let Some(value) = block["props"].get(key) {
                props[key] = value.clone();
            }
        }
        let runs = block["content"].as_array().is_some_and(|runs| {
            runs.iter().all(|run| {
                let styles = run["styles"].as_object();
                run["type"] == "text"
                    && run.as_object().unwrap().len() == 3
                    && styles.is_some_and(|styles| {
                        let code = styles.contains_key("code") && styles.len() > 1;
                        let known = ["bold", "italic", "underline", "strike", "code"];
                        !code
                            && styles
                                .iter()
                                .all(|(key, on)| known.contains(&key.as_str()) && *on == json!(true))
                    })
            })
        });
        DOCUMENTED.contains(&kind)
            && block.as_object().unwrap().len() == 5
            && block["props"] == props
            && runs
            && is_documented(block["children"].as_array().unwrap(), quotes_aligned)
    })
}

#[test]
fn without_base_every_documented_document_comes_back_up_to_ids() {
    let mut count = 0;
    for (name, blocks) in documents() {
        let aligned = is_documented(&blocks, true);
        if !aligned && !is_documented(&blocks, false) {
            continue;
        }
        count += 1;
        let mut allowed = Allowed::documented();
        allowed.learn(&blocks);
        let back = parse(&render(&blocks).text, &[], &allowed, &mut ids());
        assert_eq!(norm(&back), norm(without_end(&blocks)), "{name}");
    }
    assert!(count >= 50, "{count}");
}

fn each_text(blocks: &mut [Value], act: &mut dyn FnMut(&mut Value)) {
    for block in blocks {
        act(block);
        if let Some(Value::Array(children)) = block.get_mut("children") {
            each_text(children, act);
        }
    }
}

/// One edit of a block's first text run, for each block in turn.
fn edits(blocks: &[Value]) -> Vec<Vec<Value>> {
    let mut count = 0;
    each_text(&mut blocks.to_vec(), &mut |_| count += 1);
    let mut out = Vec::new();
    for chosen in 0..count {
        let mut at = 0;
        let mut changed = false;
        let mut edited = blocks.to_vec();
        each_text(&mut edited, &mut |block| {
            if at == chosen
                && DOCUMENTED.contains(&block["type"].as_str().unwrap_or(""))
                && let Some(run) = block["content"].as_array_mut().and_then(|runs| runs.first_mut())
                && run["type"] == "text"
                && run["styles"].get("code").is_none()
            {
                let text = run["text"].as_str().unwrap().to_owned();
                // Into the run, and before it only where it has no style that could be left behind.
                let at = text.char_indices().nth(1).map_or(0, |(at, _)| at);
                let plain = run["styles"].as_object().is_some_and(serde_json::Map::is_empty);
                let at = if plain { 0 } else { at };
                run["text"] = json!(format!("{}Edited {}", &text[..at], &text[at..]));
                changed = at > 0 || plain || text.is_empty();
            }
            at += 1;
        });
        if changed {
            out.push(edited);
        }
    }
    out
}

#[test]
fn a_remote_change_of_one_block_leaves_every_other_line() {
    for (name, blocks) in documents().into_iter().filter(|(_, blocks)| blocks.len() < 200) {
        let text = render(&blocks).text;
        for new in edits(&blocks) {
            let patched = patch(&text, &blocks, &new);
            assert_eq!(bytes(&read(&patched, &new)), bytes(&new), "{name}");
            let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
                (text.lines().collect(), patched.lines().collect());
            let head = old_lines.iter().zip(&new_lines).take_while(|(a, b)| a == b).count();
            let tail = old_lines[head..]
                .iter()
                .rev()
                .zip(new_lines[head..].iter().rev())
                .take_while(|(a, b)| a == b)
                .count();
            let changed = new_lines.len() - head - tail;
            assert!(changed <= 6, "{name}: {changed} lines\n{text}\n----\n{patched}");
        }
    }
}

#[test]
fn an_edit_of_one_block_in_the_text_changes_that_block_only() {
    // In what is edited, `code` stands alone (law 6), so the document that mixes it with other styles is another case.
    let fits =
        |(name, blocks): &(String, Vec<Value>)| blocks.len() < 200 && name != "o012-styles-all-combinations";
    for (name, blocks) in documents().into_iter().filter(fits) {
        for new in edits(&blocks) {
            // The file as a person would leave it after the same edit.
            let back = read(&render(&new).text, &blocks);
            assert_eq!(norm(&back), norm(&new), "{name}");
            assert_eq!(ids_of(&back), ids_of(&new), "{name}");
        }
    }
}

fn ids_of(blocks: &[Value]) -> Vec<Value> {
    let mut out = Vec::new();
    each_text(&mut blocks.to_vec(), &mut |block| out.push(block["id"].clone()));
    out
}
