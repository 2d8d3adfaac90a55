//! How quick the converter is: `cargo bench --bench markdown`. Prints blocks per second over a page of 20,000 blocks,
//! and each as a multiple of the Markdown parser's own pass over the same text, which is timed in turn with it; then the
//! peak of memory of `espejo convert` as a multiple of the JSON's size, and its CPU for one changed line, on Linux. Ends with 1
//! when a goal for these is missed.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench reads the clock and prints")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use espejo::markdown::{Allowed, parse, parse_new, parse_taking, patch, render};
use pulldown_cmark::{Options, Parser};
use serde_json::{Value, json};

fn page(count: usize) -> Vec<Value> {
    (0..count)
        .map(|at| {
            let kind = ["paragraph", "bulletListItem", "paragraph", "heading", "checkListItem"][at % 5];
            let mut props =
                json!({"textColor": "default", "backgroundColor": "default", "textAlignment": "left"});
            match kind {
                "heading" => props["level"] = json!(2),
                "checkListItem" => props["checked"] = json!(false),
                _ => {}
            }
            let text = format!("Line {at} of a page with some words, ");
            json!({"id": format!("{at:08}"), "type": kind, "props": props, "content": [
                {"type": "text", "text": text, "styles": {}},
                {"type": "text", "text": "bold ones", "styles": {"bold": true}},
                {"type": "text", "text": " too.", "styles": {}}], "children": []})
        })
        .collect()
}

/// How long an act takes, in seconds; the clock stops before the result is dropped.
fn time<T>(act: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    let result = black_box(act());
    let seconds = start.elapsed().as_secs_f64();
    drop(result);
    seconds
}

/// The parser's own pass over a text, which it reads alone.
fn pass(text: &str) -> usize {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(text, options).into_offset_iter().map(|event| drop(black_box(event))).count()
}

/// Seconds of an act, and of the parser's own pass.
type Pair = (f64, f64);

/// The shortest of some runs, and that of the parser's own pass over `text`, which takes turns with them.
fn best<T>(text: &str, mut act: impl FnMut() -> T) -> Pair {
    let shorter = |a: Pair, b: Pair| (a.0.min(b.0), a.1.min(b.1));
    (0..RUNS).map(|_| (time(&mut act), time(|| pass(text)))).fold((f64::MAX, f64::MAX), shorter)
}

const RUNS: usize = 15;

/// Parsing beside a base that is given away takes so many of the parser's own passes, at most. It is told and fails no run:
/// it lies within a machine's noise.
const PASSES: f64 = 4.0;

/// Peak of memory, of the JSON's size, at most.
const MEMORY: f64 = 10.0;

/// CPU of `espejo convert` where one line of 20,000 blocks was changed, in milliseconds, at most: the middle of some runs.
const EDIT_MS: f64 = 200.0;
const EDITS: usize = 11;
const EDITED: usize = 20_000;

/// CPU of all children that ended, in milliseconds, in steps of 10.
fn children_ms() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // What follows the name in parentheses begins with the third field; `cutime` and `cstime` are the 16th and 17th.
    let after = stat.rsplit_once(')').unwrap().1.split_whitespace().skip(13).take(2);
    after.map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() * 10.0
}

/// CPU of one run of `espejo convert`, in milliseconds.
fn cpu(words: &[&str], input: &Path) -> f64 {
    let before = children_ms();
    let mut command = Command::new(env!("CARGO_BIN_EXE_espejo"));
    command.arg("convert").args(words).stdin(File::open(input).unwrap()).stdout(Stdio::null());
    assert!(command.status().unwrap().success(), "{words:?}");
    children_ms() - before
}

/// The most that `espejo convert` ever had in memory, in bytes: asked for when it has begun to write, which is last.
fn peak(words: &[&str], input: &Path) -> f64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_espejo"));
    command.arg("convert").args(words).stdin(File::open(input).unwrap()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0]).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kb: f64 = line.split_whitespace().next().unwrap().parse().unwrap();
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    assert!(child.wait().unwrap().success(), "{words:?}");
    kb * 1_024.0
}

/// Whether each way of `convert` keeps to its memory, and one changed line to its CPU.
fn convert(count: usize) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let (blocks, mut new) = (page(count), page(count));
    new[777]["content"][0]["text"] = json!("Changed elsewhere ");
    let (json, text) = (Value::Array(blocks).to_string(), render(&page(count)).text);
    fs::write(at("base.json"), &json).unwrap();
    fs::write(at("new.json"), Value::Array(new).to_string()).unwrap();
    fs::write(at("edited.md"), text.replace("Line 777 ", "Line seven hundred ")).unwrap();
    fs::write(at("page.md"), text).unwrap();
    let [base, page] = ["base.json", "page.md"].map(|name| at(name).to_str().unwrap().to_owned());
    let ways = [
        ("to-markdown", vec!["to-markdown"], "base.json"),
        ("to-markdown onto a file", vec!["to-markdown", "--base", &base, "--onto", &page], "new.json"),
        ("from-markdown", vec!["from-markdown"], "page.md"),
        ("from-markdown with a base", vec!["from-markdown", "--base", &base], "edited.md"),
    ];
    ways.iter().fold(true, |all, (name, words, input)| {
        let peak = peak(words, &at(input));
        let times = peak / json.len() as f64;
        let met = |is: bool| if is { "met" } else { "MISSED" };
        println!(
            "convert {name}, {count} blocks: {:.0} MB, {times:.1} x the JSON; at most {MEMORY}: {}",
            peak / 1e6,
            met(times <= MEMORY)
        );
        let all = all && times <= MEMORY;
        if count != EDITED || !words.contains(&"--base") {
            return all;
        }
        let mut runs: Vec<f64> = (0..EDITS).map(|_| cpu(words, &at(input))).collect();
        runs.sort_by(f64::total_cmp);
        let middle = runs[EDITS / 2];
        println!(
            "  CPU for its one changed line: {middle:.0} ms; at most {EDIT_MS}: {}",
            met(middle <= EDIT_MS)
        );
        all && middle <= EDIT_MS
    })
}

/// Twice the input takes so many times as long, at most.
const TWICE: f64 = 2.3;
const GROWTHS: usize = 7;

/// A construct in which a text grows: its name, how many of it are measured, and a text of so many.
type Growth = (&'static str, usize, fn(usize) -> String);

fn grown() -> Vec<Growth> {
    vec![
        ("comments in one paragraph", 20_000, |n| {
            (0..n).map(|at| format!("word {at} <!-- c --> ")).collect::<String>() + "\n"
        }),
        ("comments of Obsidian in one paragraph", 20_000, |n| {
            (0..n).map(|at| format!("word {at} %%c%% ")).collect::<String>() + "\n"
        }),
        ("comments of Obsidian on lines", 10_000, |n| {
            (0..n).map(|at| format!("Text {at}\n\n%%\nc\n%%\n\n")).collect()
        }),
        ("signs of Obsidian without end", 10_000, |n| (0..n).map(|at| format!("%% open {at}\n\n")).collect()),
        ("blocks of mathematics", 10_000, |n| {
            (0..n).map(|at| format!("Text {at}\n\n$$\na_{at} \\\\ b\n$$\n\n")).collect()
        }),
        ("mathematics beside text", 10_000, |n| {
            (0..n).map(|at| format!("Text {at}\n$$\na_{at}\n$$\nmore\n\n")).collect()
        }),
        ("formulas in one paragraph", 20_000, |n| {
            (0..n).map(|_| "in $a_{i} \\cap b_{j}$ and ".to_owned()).collect::<String>() + "\n"
        }),
        ("dollars in one paragraph", 20_000, |n| {
            (0..n).map(|_| "it costs $5 or *more* ".to_owned()).collect::<String>() + "\n"
        }),
        ("definitions that are used", 5_000, |n| {
            (0..n).map(|at| format!("See [a{at}].\n\n[a{at}]: https://example.org/{at}\n\n")).collect()
        }),
    ]
}

/// How long a construct takes to read and to splice one word into, so often and twice as often, in seconds.
fn doubled(count: usize, text: fn(usize) -> String) -> [Pair; 2] {
    let allowed = Allowed::all();
    let mut id = 0;
    let mut read = |text: &str| {
        parse(text, &[], &allowed, &mut || {
            id += 1;
            id.to_string()
        })
    };
    let pages = [count, 2 * count].map(|count| {
        let text = text(count);
        let blocks = read(&text);
        let mut new = blocks.clone();
        new[0]["content"]
            .as_array_mut()
            .unwrap()
            .push(json!({"type": "text", "text": " more", "styles": {}}));
        (text, blocks, new)
    });
    // The two take turns, so that what else the machine does falls on both.
    let mut times = [(f64::MAX, f64::MAX); 2];
    for _ in 0..GROWTHS {
        for ((text, blocks, new), best) in pages.iter().zip(&mut times) {
            best.0 = best.0.min(time(|| read(text)));
            best.1 = best.1.min(time(|| patch(text, blocks, new)));
        }
    }
    times
}

/// Whether each way of a construct's growth takes time in proportion: reading, and a splice of one word. Where it does not, the
/// next doubling is measured as well and the lesser of the two counts: an algorithm that grows too fast does so there even more,
/// while a step of the allocator or of a cache lies in one of them.
fn grows_evenly() -> bool {
    let ratios = |[one, two]: [Pair; 2]| (two.0 / one.0, two.1 / one.1);
    grown().into_iter().fold(true, |all, (name, count, text)| {
        let times = doubled(count, text);
        let (mut reading, mut splicing) = ratios(times);
        let next = if reading > TWICE || splicing > TWICE { " and twice that" } else { "" };
        if !next.is_empty() {
            let (other, another) = ratios(doubled(2 * count, text));
            (reading, splicing) = (reading.min(other), splicing.min(another));
        }
        let met = reading <= TWICE && splicing <= TWICE;
        println!(
            "{name}, {count}{next}: {:.0} ms to read, {:.0} ms to splice; twice as many take {reading:.1} and {splicing:.1} times as long; at most {TWICE}: {}",
            times[0].0 * 1e3,
            times[0].1 * 1e3,
            if met { "met" } else { "MISSED" }
        );
        all && met
    })
}

/// A splice of one word into a page of 10 MB, in seconds, at most.
const LONG_SPLICE: f64 = 3.0;

fn long_splice() -> bool {
    let part = "# Part\n\nText with **bold**, `code`, [a link](https://example.org/a) and $a_{i}$, in\ntwo lines <!-- here -->.\n\n* one\n* two\n  - three\n\n> [!note] A callout\n> - with a list\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\nrun\n```\n\n";
    let text = part.repeat(10_000_000 / part.len());
    let allowed = Allowed::all();
    let mut id = 0;
    let blocks = parse(&text, &[], &allowed, &mut || {
        id += 1;
        id.to_string()
    });
    let mut new = blocks.clone();
    let middle = blocks.len() / 2;
    let at = (middle..).find(|at| blocks[*at]["type"] == "paragraph").unwrap();
    new[at]["content"].as_array_mut().unwrap().push(json!({"type": "text", "text": " more", "styles": {}}));
    let seconds = time(|| patch(&text, &blocks, &new));
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let json = Value::Array(blocks).to_string();
    fs::write(at("base.json"), &json).unwrap();
    fs::write(at("new.json"), Value::Array(new).to_string()).unwrap();
    fs::write(at("page.md"), text).unwrap();
    let (base, page) = (at("base.json"), at("page.md"));
    let words = ["to-markdown", "--base", &base, "--onto", &page];
    let times = peak(&words, Path::new(&at("new.json"))) / json.len() as f64;
    let met = |is: bool| if is { "met" } else { "MISSED" };
    println!(
        "splice of one word into 10 MB of mixed text: {seconds:.1} s; at most {LONG_SPLICE}: {}",
        met(seconds <= LONG_SPLICE)
    );
    println!("  its memory: {times:.1} x the JSON; at most {MEMORY}: {}", met(times <= MEMORY));
    seconds <= LONG_SPLICE && times <= MEMORY
}

fn main() -> ExitCode {
    // `cargo bench --bench markdown -- NAME` runs the one whose name begins so.
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    let count = 20_000;
    let blocks = page(count);
    let text = render(&blocks).text;
    let edited = text.replace("Line 777 ", "Line seven hundred ");
    let mut new = blocks.clone();
    new[777]["content"][0]["text"] = json!("Changed elsewhere ");
    let allowed = Allowed::documented();
    let read = |text: &str, base: &[Value]| {
        let mut next = 0;
        parse(text, base, &allowed, &mut || {
            next += 1;
            next.to_string()
        })
    };
    let (once, wanted) =
        (text.as_str(), |name: &str| only.as_ref().is_none_or(|only| name.starts_with(only)));
    let report = |name: &str, count: usize, (seconds, pass): Pair| {
        let (rate, times) = (count as f64 / seconds, seconds / pass);
        println!("{name}: {rate:.0} blocks/s, {times:.1} x the parser's own pass over as much text");
        times
    };
    let half = count / 2;
    let half_text = render(&blocks[..half]).text.replace("Line 777 ", "Line seven hundred ");
    // Text that takes escapes is read again after it was written.
    let mut marked = blocks.clone();
    marked.iter_mut().for_each(|block| block["content"][0]["text"] = json!("1. Ends *with* a_mark [x] "));
    let render_it = || best(once, || render(&blocks));
    let render_marked = || best(once, || render(&marked));
    let clone_it = || best(once, || blocks.clone());
    let with_base = || best(once, || read(&edited, &blocks));
    let taking = || {
        let mut given = vec![blocks.clone(); RUNS];
        let mut id = || "new".to_owned();
        best(once, || parse_taking(&edited, given.pop().unwrap_or_default(), &allowed, &mut id))
    };
    let without = || best(once, || read(once, &[]));
    let printed = || best(once, || parse_new(once, &allowed, &mut || "new".to_owned()));
    let half_of_it = || best(&half_text, || read(&half_text, &blocks[..half]));
    let patch_it = || best(once, || patch(once, &blocks, &new));
    let measures: [(&str, usize, &dyn Fn() -> Pair); 9] = [
        ("render", count, &render_it),
        ("render of text that takes escapes", count, &render_marked),
        ("copying the blocks", count, &clone_it),
        ("parse with base", count, &taking),
        ("parse with base and a copy", count, &with_base),
        ("parse without base", count, &without),
        ("parse without base, printed", count, &printed),
        ("half of it with base", half, &half_of_it),
        ("patch", count, &patch_it),
    ];
    for (name, count, measure) in measures {
        if wanted(name) {
            let times = report(name, count, measure());
            if name == "parse with base" {
                println!("{name}: at most {PASSES}: {}", if times <= PASSES { "met" } else { "missed" });
            }
        }
    }
    let mut met = true;
    if wanted("growth") {
        met &= grows_evenly();
    }
    if wanted("long splice") {
        met &= long_splice();
    }
    if wanted("convert") {
        met &= [EDITED, 80_000].map(convert) == [true, true];
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
