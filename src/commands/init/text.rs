//! The config's text with some keys changed: everything else stays, comments included. Pure.

use anyhow::{Context, Result};
use toml_edit::{DocumentMut, Item, Table, Value};

/// What a new config begins with.
const EXAMPLE: &str = include_str!("../../../config.example.toml");

/// A config that is being changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text(String);

impl Text {
    /// The text of the config that is there, or of a new one.
    ///
    /// # Errors
    /// When it is no TOML, which must not be guessed at.
    pub(super) fn of(there: Option<String>) -> Result<Self> {
        let text = there.unwrap_or_else(|| EXAMPLE.to_owned());
        parse(&text)?;
        Ok(Self(text))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// A text that a key of a section (`""` for the top) has.
    pub(super) fn word(&self, section: &str, key: &str) -> Option<String> {
        Some(self.value(section, key)?.as_str()?.to_owned())
    }

    /// What a switch says.
    pub(super) fn flag(&self, section: &str, key: &str) -> Option<bool> {
        self.value(section, key)?.as_bool()
    }

    /// A list of texts.
    pub(super) fn words(&self, section: &str, key: &str) -> Option<Vec<String>> {
        let list = self.value(section, key)?;
        Some(list.as_array()?.iter().filter_map(|item| Some(item.as_str()?.to_owned())).collect())
    }

    fn value(&self, section: &str, key: &str) -> Option<Value> {
        let document = parse(&self.0).ok()?;
        let table =
            if section.is_empty() { Some(document.as_table()) } else { document.get(section)?.as_table() };
        table?.get(key)?.as_value().cloned()
    }

    /// Sets a key: in its place where it has one, in the place of the line that shows it commented out, else at the end
    /// of its section.
    ///
    /// # Errors
    /// When the section is something else than a section.
    pub(super) fn set(&mut self, section: &str, key: &str, value: impl Into<Value>) -> Result<()> {
        let mut value = value.into();
        if let Some(before) = self.value(section, key) {
            *value.decor_mut() = before.decor().clone();
            let old = self.0.clone();
            self.put(section, key, value)?;
            if self.0.lines().count() == old.lines().count() {
                let lines = self.0.lines().zip(old.lines());
                let lines =
                    lines.map(|(new, old)| if new == old { new.to_owned() } else { aligned(new, old) });
                self.0 = lines.map(|line| line + "\n").collect();
            }
            return Ok(());
        }
        let mut at = "";
        for (number, line) in self.0.lines().enumerate() {
            if let Some(name) = line.trim().strip_prefix('[').and_then(|rest| rest.split(']').next()) {
                at = name;
            }
            let Some(shown) = line.trim_start().strip_prefix('#').map(str::trim_start) else { continue };
            let Ok(mut one) = shown.parse::<DocumentMut>() else { continue };
            let Some(before) = one.get(key).and_then(Item::as_value).filter(|_| at == section) else {
                continue;
            };
            *value.decor_mut() = before.decor().clone();
            one[key] = Item::Value(value);
            let lines = self.0.lines().enumerate();
            let lines =
                lines.map(
                    |(index, line)| {
                        if index == number { aligned(&one.to_string(), line) } else { line.to_owned() }
                    },
                );
            self.0 = lines.map(|line| line + "\n").collect();
            return Ok(());
        }
        self.put(section, key, value)
    }

    fn put(&mut self, section: &str, key: &str, value: Value) -> Result<()> {
        let mut document = parse(&self.0)?;
        let table = if section.is_empty() {
            document.as_table_mut()
        } else {
            let entry = document.entry(section).or_insert_with(|| Item::Table(Table::new()));
            entry.as_table_mut().with_context(|| format!("{section} in the config is not a section"))?
        };
        match table.get_mut(key) {
            // So that the comment before the key stays.
            Some(item) => *item = Item::Value(value),
            None => drop(table.insert(key, Item::Value(value))),
        }
        self.0 = document.to_string();
        Ok(())
    }
}

/// The line with its comment where the comment was.
fn aligned(line: &str, before: &str) -> String {
    let line = line.trim_end();
    let column = |text: &str| text.rfind("  # ").map(|at| at + 2);
    match (column(line), column(before)) {
        (Some(here), Some(there)) => {
            let (code, comment) = (line[..here].trim_end(), &line[here..]);
            format!("{code:<there$}{comment}", there = there.max(code.len() + 2))
        }
        _ => line.to_owned(),
    }
}

fn parse(text: &str) -> Result<DocumentMut> {
    text.parse::<DocumentMut>().map_err(|error| {
        let first = error.message().lines().next().unwrap_or_default().to_owned();
        anyhow::anyhow!("this is not TOML: {first}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(there: Option<&str>, change: impl FnOnce(&mut Text)) -> String {
        let mut text = Text::of(there.map(ToOwned::to_owned)).unwrap();
        change(&mut text);
        text.0
    }

    /// The lines that differ, as `-` and `+`.
    fn difference(before: &str, after: &str) -> Vec<String> {
        let diff = similar::TextDiff::from_lines(before, after);
        let changes = diff.iter_all_changes().filter(|change| change.tag() != similar::ChangeTag::Equal);
        changes.map(|change| format!("{}{}", change.tag(), change.value().trim_end())).collect()
    }

    #[test]
    fn a_new_config_is_the_example_with_what_was_said_in_its_place() {
        let text = changed(None, |text| {
            text.set("", "base_url", "https://acme.test/api/v1").unwrap();
            text.set("", "token_file", "~/.config/espejo/token").unwrap();
            text.set("", "workspaces", Value::from_iter(["acme", "casa"])).unwrap();
            text.set("storage", "enabled", false).unwrap();
            text.set("storage", "mode", "two-way").unwrap();
        });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), EXAMPLE.lines().count(), "no line more, no line less");
        for (line, comment_of) in [
            ("base_url = \"https://acme.test/api/v1\"", "base_url ="),
            ("token_file = \"~/.config/espejo/token\"", "# token_file ="),
            ("workspaces = [\"acme\", \"casa\"]", "# workspaces ="),
            ("mode = \"two-way\"", "# mode ="),
        ] {
            let comment = EXAMPLE.lines().find(|old| old.starts_with(comment_of)).unwrap();
            let comment = &comment[comment.rfind("  # ").unwrap() + 2..];
            let found = lines.iter().find(|found| found.starts_with(line));
            assert!(found.is_some_and(|found| found.ends_with(comment)), "{line}\n{text}");
        }
        let storage = text.split("[storage]").nth(1).unwrap();
        assert!(storage.contains("\nenabled = false "), "{text}");
        assert!(
            text.contains("[whiteboards]\n# enabled = true"),
            "the other sections stay as they were\n{text}"
        );
    }

    #[test]
    fn what_is_there_stays_comments_and_order_included() {
        let before = "# mine\nroot   = '~/W' # here\nbase_url='https://a.test'\n\n[pages]\n# why\nsettle_ms = 500\n\n# last\n";
        let after = changed(Some(before), |text| {
            text.set("", "root", "~/Other").unwrap();
            text.set("pages", "settle_ms", 300).unwrap();
            text.set("storage", "mode", "two-way").unwrap();
            text.set("", "workspaces", Value::from_iter(["one"])).unwrap();
        });
        assert_eq!(
            difference(before, &after),
            [
                "-root   = '~/W' # here",
                "+root   = \"~/Other\" # here",
                "+workspaces = [\"one\"]",
                "-settle_ms = 500",
                "+settle_ms = 300",
                "+",
                "+[storage]",
                "+mode = \"two-way\"",
            ]
        );
    }

    #[test]
    fn setting_what_it_says_changes_nothing() {
        let once = changed(None, |text| text.set("storage", "mode", "backup").unwrap());
        let twice = changed(Some(&once), |text| text.set("storage", "mode", "backup").unwrap());
        assert_eq!(once, twice);
        let text = Text(once);
        assert_eq!(text.word("storage", "mode").as_deref(), Some("backup"));
        assert_eq!((text.flag("storage", "enabled"), text.words("", "workspaces")), (None, None));
    }

    #[test]
    fn what_is_no_toml_is_not_guessed_at() {
        let told = Text::of(Some("root = \n".to_owned())).unwrap_err().to_string();
        assert!(told.starts_with("this is not TOML: ") && told.lines().count() == 1, "{told}");
    }
}
