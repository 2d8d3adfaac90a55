//! `espejo convert`: blocks to Markdown and back, with no config, no network and no state.
//!
//! What the laws mean is decided in `markdown`; here input is read and checked for its shape, and refusals get their words.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;

use crate::cli::{Exit, WrongUsage, unknown_block};
use crate::markdown::{self, Allowed, front_matter};
use crate::model::{Blocks, BodyJson, read_json};

/// What input is called in refusals.
const STDIN: &str = "stdin";

/// Convert blocks to Markdown and back, from stdin to stdout
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Args {
    /// Which way.
    #[command(subcommand)]
    pub way: Way,
}

/// The two ways to convert.
#[derive(Debug, Clone, PartialEq, Eq, clap::Subcommand)]
pub enum Way {
    /// Convert blocks (JSON) to Markdown
    ///
    /// Reads a block array, a page object with `content`, or an API answer with `data`, and prints Markdown.
    /// With --base and --onto, it prints FILE.md with only the lines of changed blocks rewritten.
    #[command(
        after_help = "Examples:\n  espejo convert to-markdown < page.json > Page.md\n  espejo convert to-markdown --base old.json --onto Page.md < new.json"
    )]
    ToMarkdown {
        /// The blocks that belong to the file of --onto
        #[arg(long, value_name = "BLOCKS", value_hint = clap::ValueHint::FilePath, requires = "onto")]
        base: Option<PathBuf>,
        /// The Markdown file to merge the changes into; it is read, not written
        #[arg(long, value_name = "FILE.md", value_hint = clap::ValueHint::FilePath, requires = "base")]
        onto: Option<PathBuf>,
    },
    /// Convert Markdown to blocks (JSON)
    ///
    /// Reads Markdown, with or without front matter, and prints a block array. With --base, blocks keep the ids and props of
    /// those blocks. Only documented block types and the types in the base are created, unless --blocks names more.
    #[command(
        after_help = "Examples:\n  espejo convert from-markdown < Page.md\n  espejo convert from-markdown --base old.json --blocks table < Page.md"
    )]
    FromMarkdown {
        /// The blocks that the text was made from
        #[arg(long, value_name = "BLOCKS", value_hint = clap::ValueHint::FilePath)]
        base: Option<PathBuf>,
        /// Undocumented block types that may be created, or `all`
        #[arg(long, value_name = "TYPE,…", value_delimiter = ',')]
        blocks: Vec<String>,
        /// Print the JSON indented
        #[arg(long)]
        pretty: bool,
    },
}

/// Converts what stdin has.
///
/// # Errors
/// One sentence when input is not what it must be, a named file cannot be read, or stdout cannot be written to.
pub fn run(args: &Args) -> Result<Exit> {
    convert(&args.way, &mut std::io::stdin().lock(), &mut std::io::stdout().lock())?;
    Ok(Exit::Done)
}

/// Converts `input`.
///
/// # Errors
/// As for [`run`].
pub fn convert(way: &Way, input: &mut dyn Read, out: &mut dyn Write) -> Result<()> {
    match way {
        Way::ToMarkdown { base, onto } => {
            let change = base.as_deref().zip(onto.as_deref());
            to_markdown(input, change, out)?;
        }
        Way::FromMarkdown { base, blocks, pretty } => {
            if let Some(what) = unknown_block(blocks) {
                return Err(WrongUsage(format!("--blocks {what}")).into());
            }
            let mut ids = Ids::default();
            from_markdown(input, base.as_deref(), blocks, *pretty, &mut || ids.next(), out)?;
        }
    }
    // A full disk behind a pipe or a redirection must not look like success.
    out.flush().context("the output cannot be written")
}

/// Writes the blocks read from `input` as Markdown. With a `change`, that is the second file's text, in which only the
/// lines of blocks that differ from the first file's blocks are rewritten (contract section 2, law 4).
///
/// # Errors
/// As for [`run`].
pub fn to_markdown(input: &mut dyn Read, change: Option<(&Path, &Path)>, out: &mut dyn Write) -> Result<()> {
    let json = read_all(input)?;
    let Some((base, onto)) = change else {
        let text = match markdown::text_of_long(&json, is_block) {
            Some(text) => text,
            None => markdown::render(&parse_blocks(&json, STDIN)?).text,
        };
        return put(out, text.as_bytes());
    };
    let content = content_of(&json, STDIN)?;
    drop(json);
    let base = read_content(base)?;
    let name = onto.display().to_string();
    let file = text_of(read_file(onto)?, &name)?;
    let (head, body) = split(&file, &name)?;
    put(out, head.as_bytes())?;
    put(out, markdown::patched(body, &base, &content)?.as_bytes())
}

/// Writes the Markdown read from `input` as a block array. Blocks named in `may_create`, or every known one for `all`,
/// may be created besides the documented ones and those of the base (law 5). `new_id` names new blocks.
///
/// # Errors
/// As for [`run`].
pub fn from_markdown(
    input: &mut dyn Read,
    base: Option<&Path>,
    may_create: &[String],
    pretty: bool,
    new_id: &mut dyn FnMut() -> String,
    out: &mut dyn Write,
) -> Result<()> {
    let text = text_of(read_all(input)?, STDIN)?;
    let base = base.map(read_content).transpose()?;
    let (_, body) = split(&text, STDIN)?;
    let allowed = Allowed::named(may_create);
    let json = match base {
        Some(base) => markdown::parse_content(body, &base, &allowed, new_id)?.into_string(),
        None => markdown::parse_new(body, &allowed, new_id),
    };
    drop(text);
    let json = match pretty {
        true => serde_json::to_string_pretty(&read_json::<Value>(json.as_bytes())?)
            .context("the blocks cannot be printed")?,
        false => json,
    };
    put(out, crate::logging::escape_json(json).as_bytes())?;
    put(out, b"\n")
}

/// Ids for new blocks: chance for many of them is asked for at once.
#[derive(Default)]
struct Ids(Vec<[u8; 16]>);

impl Ids {
    const AT_ONCE: usize = 256;

    fn next(&mut self) -> String {
        if self.0.is_empty() {
            let mut chance = [0; 16 * Self::AT_ONCE];
            // Where the system has none, the last line of this function says so.
            if SystemRandom::new().fill(&mut chance).is_ok() {
                self.0.extend(chance.as_chunks().0);
            }
        }
        match self.0.pop() {
            Some(bytes) => uuid::Builder::from_random_bytes(bytes).into_uuid().to_string(),
            None => one_id(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a command is a driver: it hands randomness to the parser")]
fn one_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

fn read_all(input: &mut dyn Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).context("stdin cannot be read")?;
    Ok(bytes)
}

fn read_file(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
}

fn read_content(path: &Path) -> Result<BodyJson> {
    content_of(&read_file(path)?, &path.display().to_string())
}

/// As [`parse_blocks`], as JSON. No block of a long array is made a value of.
fn content_of(json: &[u8], name: &str) -> Result<BodyJson> {
    match BodyJson::of_long(json) {
        Some(content) => Ok(content),
        None => Ok(BodyJson::of(&parse_blocks(json, name)?)),
    }
}

fn is_block(value: &Value) -> bool {
    value.get("type").is_some_and(Value::is_string)
}

fn text_of(bytes: Vec<u8>, name: &str) -> Result<String> {
    String::from_utf8(bytes).map_err(|cause| {
        let good = &cause.as_bytes()[..cause.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        anyhow!("{name} line {line} is not UTF-8 text; save the file as UTF-8")
    })
}

/// The front matter, up to and with its closing line, and what follows it.
fn split<'t>(text: &'t str, name: &str) -> Result<(&'t str, &'t str)> {
    let split = front_matter::split(text).map_err(|cause| anyhow!("{name}: {cause}"))?;
    Ok(text.split_at(split.body_start))
}

/// Blocks from what the API, or a file kept of it, may hold: a block array, a page with `content`, or either as `data`.
fn parse_blocks(json: &[u8], name: &str) -> Result<Blocks> {
    const EXPECTED: &str = "expected a block array, a page with content, or either of them as data";
    let json = json.strip_prefix("\u{feff}".as_bytes()).unwrap_or(json);
    if json.trim_ascii().is_empty() {
        bail!("{name} is empty; {EXPECTED}");
    }
    let value: Value =
        read_json(json).map_err(|cause| anyhow!("{name} is not the JSON of blocks: {cause}"))?;
    let inner = match value {
        Value::Object(mut answer) => match answer.remove("data") {
            Some(data) => data,
            None => Value::Object(answer),
        },
        other => other,
    };
    let blocks = match inner {
        Value::Array(blocks) => blocks,
        Value::Object(mut page) => match page.remove("content") {
            Some(Value::Array(blocks)) => blocks,
            Some(other) => bail!("the content in {name} is {}; {EXPECTED}", kind_of(&other)),
            None => bail!("{name} is an object without content; {EXPECTED}"),
        },
        other => bail!("{name} is {}; {EXPECTED}", kind_of(&other)),
    };
    for (index, block) in blocks.iter().enumerate() {
        let number = index + 1;
        match block.as_object() {
            None => bail!("block {number} in {name} is {}, not an object", kind_of(block)),
            Some(_) if !is_block(block) => {
                bail!("block {number} in {name} has no type, so it is no block; {EXPECTED}")
            }
            Some(_) => {}
        }
    }
    Ok(blocks)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn put(out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).context("the output cannot be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = r#"{"id":"a","type":"paragraph","props":{"textColor":"default","backgroundColor":"default","textAlignment":"left"},"content":[{"type":"text","text":"Hello","styles":{}}],"children":[]}"#;

    fn to(input: &str) -> Result<String> {
        let mut out = Vec::new();
        to_markdown(&mut input.as_bytes(), None, &mut out)?;
        Ok(String::from_utf8(out)?)
    }

    fn from(input: &[u8], base: Option<&Path>) -> Result<String> {
        let mut out = Vec::new();
        let mut next = 0;
        let mut new_id = || {
            next += 1;
            format!("new-{next}")
        };
        from_markdown(&mut &*input, base, &[], false, &mut new_id, &mut out)?;
        Ok(String::from_utf8(out)?)
    }

    /// A folder with `base.json` and `Page.md` in it.
    fn folder(base: &str, page: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("base.json", base), ("Page.md", page)] {
            std::fs::File::create(dir.path().join(name)).unwrap().write_all(text.as_bytes()).unwrap();
        }
        dir
    }

    #[test]
    fn blocks_are_found_in_all_that_the_api_gives() {
        for input in [
            format!("[{BLOCK}]"),
            format!("\u{feff}\n[{BLOCK}]\n"),
            format!(r#"{{"id":"p","title":"T","content":[{BLOCK}]}}"#),
            format!(r#"{{"data":[{BLOCK}]}}"#),
            format!(r#"{{"data":{{"id":"p","content":[{BLOCK}],"nevera":null}}}}"#),
        ] {
            assert_eq!(to(&input).unwrap(), "Hello\n", "{input}");
        }
        assert_eq!(to("[]").unwrap(), "");
    }

    #[test]
    fn what_holds_no_blocks_is_refused_in_one_sentence() {
        const EXPECTED: &str = "; expected a block array, a page with content, or either of them as data";
        for (input, words) in [
            ("", format!("stdin is empty{EXPECTED}")),
            (" \n", format!("stdin is empty{EXPECTED}")),
            ("null", format!("stdin is null{EXPECTED}")),
            ("3", format!("stdin is a number{EXPECTED}")),
            ("{}", format!("stdin is an object without content{EXPECTED}")),
            (r#"{"error":"no"}"#, format!("stdin is an object without content{EXPECTED}")),
            (r#"{"data":"x"}"#, format!("stdin is a text{EXPECTED}")),
            (r#"{"content":null}"#, format!("the content in stdin is null{EXPECTED}")),
            ("[1]", "block 1 in stdin is a number, not an object".to_owned()),
            (r#"[{"id":"p"}]"#, format!("block 1 in stdin has no type, so it is no block{EXPECTED}")),
            (
                "[\n  {,}]",
                "stdin is not the JSON of blocks: key must be a string at line 2 column 4".to_owned(),
            ),
            ("[] []", "stdin is not the JSON of blocks: trailing characters at line 1 column 4".to_owned()),
            ("# Hello", "stdin is not the JSON of blocks: expected value at line 1 column 1".to_owned()),
        ] {
            assert_eq!(to(input).unwrap_err().to_string(), words, "{input}");
        }
        let deep = "[".repeat(100_000);
        assert!(to(&deep).unwrap_err().to_string().contains("nested more than 512 levels deep"));
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let dir = folder("[]", "x\n");
        let none = dir.path().join("none.json");
        let refusal = from(b"x", Some(&none)).unwrap_err();
        assert_eq!(refusal.to_string(), format!("{} cannot be read", none.display()));

        let page = dir.path().join("Page.md");
        let refusal = from(b"x", Some(&page)).unwrap_err().to_string();
        assert!(refusal.starts_with(&format!("{} is not the JSON of blocks: ", page.display())), "{refusal}");

        let refusal = from(b"one\ntwo \xff\n", None).unwrap_err().to_string();
        assert_eq!(refusal, "stdin line 2 is not UTF-8 text; save the file as UTF-8");
    }

    #[test]
    fn text_comes_back_with_its_ids_and_new_text_with_new_ones() {
        let dir = folder(&format!("[{BLOCK}]"), "");
        let base = dir.path().join("base.json");
        assert_eq!(from(b"Hello\n", Some(&base)).unwrap(), format!("[{BLOCK}]\n"));
        let refusal = from(b"---\nid: [p\n---\nHello\n", None).unwrap_err().to_string();
        assert!(refusal.starts_with("stdin: the front matter is broken in line "), "{refusal}");
        let without = BLOCK.replace(r#""id":"a""#, r#""id":"new-1""#);
        let blocks: Value =
            serde_json::from_str(&from(b"---\nid: p\ntags: [a]\n---\nHello\n", None).unwrap()).unwrap();
        assert_eq!(blocks, serde_json::from_str::<Value>(&format!("[{without}]")).unwrap());
        assert_eq!(from(b"", None).unwrap(), "[]\n");
    }

    #[test]
    fn a_change_rewrites_its_own_lines_only() {
        let second = BLOCK.replace(r#""id":"a""#, r#""id":"b""#).replace("Hello", "there");
        let page = "---\nid: p\nmine: yes   # kept\n---\n\n*  Hello\n*  there\n";
        let list = |text: &str| format!("[{text}]").replace("paragraph", "bulletListItem");
        let dir = folder(&list(&format!("{BLOCK},{second}")), page);
        let changed = list(&format!("{BLOCK},{}", second.replace("there", "world")));
        let mut out = Vec::new();
        let change = (dir.path().join("base.json"), dir.path().join("Page.md"));
        to_markdown(&mut changed.as_bytes(), Some((&change.0, &change.1)), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), page.replace("there", "world"));
    }
}
