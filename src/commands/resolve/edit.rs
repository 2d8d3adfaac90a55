//! A conflict by hand: both versions in one file, with markers where they differ, opened in the user's editor. The file lies
//! in the state directory and stays there until the conflict is settled, so that nothing typed into it is lost.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::Sides;
use crate::cli::child;
use crate::config::Config;
use crate::logging::escape;
use crate::model::{ContentHash, edits};

const FOLDER: &str = "resolve";
const OURS: &str = "<<<<<<< the file now (the service's version)";
const MIDDLE: &str = "=======";
const THEIRS: &str = ">>>>>>> your version";

/// The text as the user left it.
///
/// # Errors
/// One sentence, when there is no editor, it failed, or what it left cannot be taken.
pub(super) fn merged(
    config: &Config,
    sides: &Sides,
    editor: Option<&str>,
    fault: fn(&str) -> Option<String>,
) -> Result<String> {
    let Some(editor) = editor else {
        bail!("no editor is set; set VISUAL or EDITOR, or use --mine, --theirs or --both");
    };
    let file = place(config, sides);
    if !file.exists() {
        write(&file, &marked(sides.file.as_deref().unwrap_or_default(), &sides.copy))?;
    }
    let shown = file.display().to_string();
    // As git does it: the variable may hold options.
    let status = child::command("sh")
        .args(["-c", &format!("{editor} \"$@\""), editor])
        .arg(&file)
        .status()
        .context("the editor cannot be started")?;
    let again = format!(
        "nothing was changed; your text is in {}, and the same command opens it again",
        escape(&shown)
    );
    if !status.success() {
        bail!("the editor failed ({status}); {again}");
    }
    let text = fs::read_to_string(&file).with_context(|| format!("{shown} cannot be read"))?;
    if let Some((at, _)) = text.lines().enumerate().find(|(_, line)| is_marker(line)) {
        bail!("line {} is still a marker; {again}", at + 1);
    }
    match fault(&text) {
        Some(why) => bail!("the text cannot be used: {why}; {again}"),
        None => Ok(text),
    }
}

/// The conflict is settled: what was edited is in the file now.
///
/// # Errors
/// When it cannot be removed.
pub(super) fn forget(config: &Config, sides: &Sides) -> Result<()> {
    let file = place(config, sides);
    fs::remove_file(&file).with_context(|| format!("{} cannot be removed", file.display()))
}

/// The merge file of exactly these two versions, with the file's own name last, by which editors know the language.
pub(super) fn place(config: &Config, sides: &Sides) -> PathBuf {
    let both = format!("{}\0{}", sides.file.as_deref().unwrap_or_default(), sides.copy);
    let key = &ContentHash::of(both.as_bytes()).to_hex()[..16];
    config.state_dir.join(FOLDER).join(key).join(sides.conflict.page_path.name())
}

fn write(file: &Path, text: &str) -> Result<()> {
    let made = || -> std::io::Result<()> {
        if let Some(folder) = file.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
        std::io::Write::write_all(&mut file, text.as_bytes())
    };
    made().with_context(|| format!("{} cannot be written", file.display()))
}

/// Both texts in one, line by line.
fn marked(file: &str, copy: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (file.lines().collect(), copy.lines().collect());
    let mut lines = Vec::new();
    for op in edits(&old, &new) {
        if op.tag() == similar::DiffTag::Equal {
            lines.extend(&old[op.old_range()]);
            continue;
        }
        lines.push(OURS);
        lines.extend(&old[op.old_range()]);
        lines.push(MIDDLE);
        lines.extend(&new[op.new_range()]);
        lines.push(THEIRS);
    }
    lines.join("\n") + "\n"
}

/// Whether a line is one of ours. `=======` alone is a heading's underline in Markdown as well: it counts in no text without
/// the others, which stand around it.
fn is_marker(line: &str) -> bool {
    line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_that_differ_stand_between_markers() {
        let text = marked("a\nb\nc\n", "a\nB\nc\n");
        assert_eq!(text, format!("a\n{OURS}\nb\n{MIDDLE}\nB\n{THEIRS}\nc\n"));
        assert_eq!(text.lines().filter(|line| is_marker(line)).count(), 2);
        assert!(!is_marker(MIDDLE) && !is_marker("> quote"));
        assert_eq!(marked("a\n", "a\n"), "a\n");
    }
}
