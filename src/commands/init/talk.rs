//! The questions of `init`, on a terminal. Ctrl-C in any of them ends it as an error, and the terminal is as before.

use std::io::{self, Write};

use anyhow::{Context, Result};
use secrecy::SecretString;

use super::StorageChoice;
use super::field::Field;
use super::frame::Frame;
use super::survey::Space;

use crate::cli::terminal::Keys;

/// Who is spoken to: a person who can answer, or a log.
pub(super) struct Talk<'a> {
    /// Whether there is a person to ask.
    pub(super) asks: bool,
    pub(super) out: &'a mut dyn Write,
}

impl Talk<'_> {
    pub(super) fn begin(&mut self, again: bool) -> Result<()> {
        if self.asks {
            let words = if again { "espejo: change the settings" } else { "espejo: set up a mirror" };
            cliclack::set_theme(Frame);
            cliclack::intro(words)?;
        }
        Ok(())
    }

    pub(super) fn say(&mut self, words: &str) -> Result<()> {
        let told = if self.asks { cliclack::log::info(lines(words)) } else { writeln!(self.out, "{words}") };
        Ok(told?)
    }

    pub(super) fn warn(&mut self, words: &str) -> Result<()> {
        let told =
            if self.asks { cliclack::log::warning(lines(words)) } else { writeln!(self.out, "{words}") };
        Ok(told?)
    }

    /// What was refused; the question comes again.
    pub(super) fn refuse(&mut self, words: &str) -> Result<()> {
        Ok(cliclack::log::error(lines(words))?)
    }

    pub(super) fn end(&mut self, words: &str) -> Result<()> {
        let told = if self.asks { cliclack::outro(words) } else { writeln!(self.out, "{words}") };
        Ok(told?)
    }
}

/// What is wrong with an answer, beneath its question.
fn fold(words: &str) -> String {
    lines(words).replace('\n', "\n   ")
}

/// Long sentences fit the frame that the questions stand in.
fn lines(words: &str) -> String {
    let width = crate::cli::output::terminal_columns().unwrap_or(80).clamp(40, 100);
    crate::cli::output::wrap(words, width - 4).join("\n")
}

pub(super) fn line(
    question: &str,
    default: Option<&str>,
    check: impl Fn(&str) -> Result<(), String>,
) -> Result<String> {
    typed(&Field { question, default, is_hidden: false }, check)
}

/// A secret, shown as dots.
pub(super) fn secret(question: &str, check: impl Fn(&str) -> Result<(), String>) -> Result<SecretString> {
    let told = typed(&Field { question, default: None, is_hidden: true }, |text| check(text.trim()))?;
    Ok(SecretString::from(told.trim()))
}

fn typed(field: &Field<'_>, check: impl Fn(&str) -> Result<(), String>) -> Result<String> {
    // Keys that come quicker than they are read are not echoed.
    let keys = Keys::take(false).context("the terminal cannot be used")?;
    let told = field.ask(|text| check(text).map_err(|why| fold(&why)));
    drop(keys);
    answered(told)
}

pub(super) fn yes(question: &str, default: bool) -> Result<bool> {
    answered(cliclack::confirm(question).initial_value(default).interact())
}

pub(super) fn spaces(spaces: &[Space], chosen: &[String]) -> Result<Vec<String>> {
    let mut list = cliclack::multiselect("Which workspaces? (Space selects, Enter continues)")
        .required(true)
        .max_rows(12);
    let is_chosen = |space: &&Space| chosen.is_empty() || chosen.iter().any(|name| space.is_called(name));
    list = list.initial_values(spaces.iter().filter(is_chosen).map(|space| space.id.clone()).collect());
    for space in spaces {
        list = list.item(space.id.clone(), format!("{} ({})", space.name, space.hint), "");
    }
    answered(list.interact())
}

pub(super) fn storage(default: StorageChoice) -> Result<StorageChoice> {
    let select = cliclack::select("Sync your personal files?")
        .item(StorageChoice::Backup, "Back them up here; upload nothing", "")
        .item(StorageChoice::TwoWay, "In both directions: upload new and changed files too", "")
        .item(StorageChoice::Off, "Do not sync them", "");
    answered(select.initial_value(default).interact())
}

fn answered<T>(told: io::Result<T>) -> Result<T> {
    told.map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => anyhow::anyhow!("init was cancelled; nothing was written"),
        _ => anyhow::Error::new(error).context("the terminal cannot be used for questions"),
    })
}
