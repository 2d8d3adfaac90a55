//! Pages whose blocks are nested deeper than JSON readers usually go: on the smallest stack that a thread has, and through
//! the real binary.

use espejo::markdown::{self, Allowed};
use espejo::model::{Blocks, Effect, PageId, ServiceReply};
use espejo::plan::merge;
use espejo::service::wire::{self, WireAnswer};
use serde_json::{Value, json};

use super::bench::{Bench, Told, save};

/// The levels of blocks that a thread of 2 MiB takes, in a build without optimisation.
const LEVELS: usize = 240;
const STACK: usize = 2 << 20;

/// Items, each beneath the one before.
fn nested(levels: usize) -> Value {
    let item = |n: usize, children: Vec<Value>| {
        json!({
            "id": format!("b{n}"), "type": "bulletListItem", "props": {}, "children": children,
            "content": [{ "type": "text", "text": format!("level {n}"), "styles": {} }],
        })
    };
    (0..levels).rev().fold(None, |below, n| Some(item(n, below.into_iter().collect()))).unwrap_or_default()
}

fn answered(content: &str) -> Result<Blocks, String> {
    let page = PageId::new("p").unwrap();
    let body =
        format!(r#"{{"data":{{"id":"p","workspace_id":"w","title":"T","position":0,"content":{content}}}}}"#);
    let answer = WireAnswer { status: 200, body: body.into_bytes(), ..WireAnswer::default() };
    match wire::read_answer(&Effect::FetchPage(page), &answer) {
        Ok(ServiceReply::Page(page)) => page.json.blocks().map_err(|error| error.to_string()),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

fn with_line(blocks: &Blocks, id: &str) -> Blocks {
    let content = json!([{ "type": "text", "text": format!("line {id}"), "styles": {} }]);
    let line = json!({ "id": id, "type": "paragraph", "props": {}, "children": [], "content": content });
    blocks.iter().cloned().chain([line]).collect()
}

fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap();
}

#[test]
fn deep_nesting_goes_there_and_back_on_a_small_stack() {
    for levels in [56, 64, 100, LEVELS] {
        on_a_small_stack(move || {
            let base = answered(&json!([nested(levels)]).to_string()).unwrap();
            let text = markdown::render(&base).text;
            let mut ids = || panic!("nothing is new");
            assert!(markdown::parse(&text, &base, &Allowed::default(), &mut ids) == base, "{levels}");
            let (remote, local) = (with_line(&base, "theirs"), with_line(&base, "mine"));
            let merged = merge::merge(&base, &remote, &local);
            assert!(merged.collisions.is_empty() && merged.blocks.len() == 3, "{levels}");
            assert!(merged.blocks[0] == base[0], "{levels}");
            assert_eq!(markdown::check_loadable(&merged.blocks, &base, &Allowed::default()), Ok(()));
            let patched = markdown::patch(&text, &base, &merged.blocks);
            assert!(patched.contains("line theirs") && patched.contains("level 1"), "{levels}");
        });
    }
}

#[test]
fn what_is_nested_deeper_is_refused_on_a_small_stack() {
    for levels in [1_000, 5_000, 2_000_000] {
        on_a_small_stack(move || {
            let content = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
            assert!(answered(&content).unwrap_err().contains("nested more than"), "{levels}");
        });
    }
}

#[test]
fn a_page_of_deeply_nested_blocks_is_mirrored_edited_and_converted() {
    let bench = Bench::new(|world, space| {
        for levels in [64, LEVELS] {
            world.app_create(space, None, &format!("Page {levels}"), vec![nested(levels)]);
        }
    });
    bench.sync();
    for levels in [64, LEVELS] {
        let title = format!("Page {levels}");
        let file = bench.page(&format!("{title}.md"));
        let text = bench.text(&format!("{title}.md"));
        assert!(text.contains("level 40"), "{text}");
        save(&file, &text.replacen("level 1\n", "level 1, edited\n", 1));
        bench.sync();
        let content = bench.content(&title);
        let edited = nested(levels).to_string().replacen("\"level 1\"", "\"level 1, edited\"", 1);
        // As texts: what is this deep is compared by a reader with a limit otherwise.
        let there = json!(content).to_string();
        assert!(there == format!("[{edited}]"), "{levels}");
        let blocks = bench.outside("blocks.json");
        save(&blocks, &there);
        let mut convert = bench.espejo(&["convert", "to-markdown"]);
        let told = Told::of(convert.stdin(std::fs::File::open(&blocks).unwrap()).output().unwrap());
        assert_eq!(told.code, 0, "{told:?}");
        assert!(told.out.contains("level 40"), "{levels}");
    }
}
