//! Typed reading of TOML with refusals that name the line and the nearest right key.
//!
//! The keys that exist are said once, in `KEYS` of `file`; everything else in the text is refused before any value is read.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::ConfigError;

/// Sections and their keys; the section `""` is the top of the file.
pub(super) type Keys = &'static [(&'static str, &'static [&'static str])];

/// A value and the line it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Located<T> {
    pub(super) line: usize,
    pub(super) value: T,
}

/// A config text that is TOML and holds known sections and keys only.
pub(super) struct Document<'a> {
    text: &'a str,
    file: &'a str,
    top: DeTable<'a>,
}

impl<'a> Document<'a> {
    /// `tables` names those of which there may be several, with their keys.
    pub(super) fn parse(text: &'a str, file: &'a str, keys: Keys, tables: Keys) -> Result<Self, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let top = DeTable::parse(text).map_err(|cause| {
            let line = cause.span().map_or(1, |span| line_of(text, &span));
            let what = cause.message().lines().collect::<Vec<_>>().join(", ");
            ConfigError::at(file, line, format!("this is not TOML: {what}"))
        })?;
        let document = Self { text, file, top: top.into_inner() };
        document.refuse_unknown(keys, tables)?;
        Ok(document)
    }

    /// The keys under `[name]`, or at the top for `""`.
    pub(super) fn section(&self, name: &'static str) -> Section<'_> {
        let table = if name.is_empty() {
            Some(&self.top)
        } else {
            find(&self.top, name).and_then(|value| value.get_ref().as_table())
        };
        Section { document: self, name, table, line: 1 }
    }

    /// Each table under `[[name]]`.
    pub(super) fn tables(&self, name: &'static str) -> Vec<Section<'_>> {
        let array = find(&self.top, name).and_then(|value| value.get_ref().as_array());
        let tables = array.into_iter().flat_map(|array| array.iter());
        let section = |table: &'_ Spanned<DeValue<'a>>| line_of(self.text, &table.span());
        tables
            .filter_map(|value| {
                let table = value.get_ref().as_table()?;
                Some(Section { document: self, name, table: Some(table), line: section(value) })
            })
            .collect()
    }

    /// Refuses the first line, in reading order, with a key or section that does not exist.
    fn refuse_unknown(&self, keys: Keys, tables: Keys) -> Result<(), ConfigError> {
        let mut wrong: Vec<(usize, String)> = Vec::new();
        let mut check = |section: &str, key: &Spanned<std::borrow::Cow<'_, str>>| {
            if !keys_of(keys, section).contains(&key.get_ref().as_ref()) {
                wrong.push((key.span().start, unknown_key(keys, section, key.get_ref())));
            }
        };
        let mut sections = Vec::new();
        for (key, value) in &self.top {
            let name = key.get_ref().as_ref();
            match value.get_ref() {
                DeValue::Array(array) if is_section(tables, name) && array.iter().all(is_table) => {
                    let inside = array.iter().filter_map(|table| table.get_ref().as_table());
                    for inner in inside.flat_map(|table| table.keys()) {
                        if !keys_of(tables, name).contains(&inner.get_ref().as_ref()) {
                            let what = unknown_key(tables, "workspace", inner.get_ref());
                            sections.push((inner.span().start, what));
                        }
                    }
                }
                DeValue::Table(_) if is_section(tables, name) => {
                    let what = format!("there may be several of {name}: write [[{name}]], with two brackets");
                    sections.push((key.span().start, what));
                }
                DeValue::Table(table) if is_section(keys, name) => {
                    for inner in table.keys() {
                        check(name, inner);
                    }
                }
                _ if is_section(keys, name) => {
                    let what = format!("{name} is a section: write its keys below a line that says [{name}]");
                    sections.push((key.span().start, what));
                }
                DeValue::Table(_) if !keys_of(keys, "").contains(&name) => {
                    sections.push((key.span().start, unknown_section(keys, name)));
                }
                _ => check("", key),
            }
        }
        wrong.append(&mut sections);
        match wrong.into_iter().min() {
            None => Ok(()),
            Some((start, what)) => Err(ConfigError::at(self.file, line_of(self.text, &(start..start)), what)),
        }
    }
}

/// One section of a document, read key by key.
pub(super) struct Section<'a> {
    document: &'a Document<'a>,
    name: &'static str,
    table: Option<&'a DeTable<'a>>,
    /// Where it begins, of one that there may be several of.
    line: usize,
}

impl<'a> Section<'a> {
    pub(super) fn text(&self, key: &str) -> Result<Option<Located<String>>, ConfigError> {
        self.read(key, "text in quotes", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool, ConfigError> {
        let found = self.read(key, "true or false", DeValue::as_bool)?;
        Ok(found.map_or(default, |found| found.value))
    }

    /// A whole number of `unit` within `range`.
    pub(super) fn number(
        &self,
        key: &str,
        unit: &str,
        range: RangeInclusive<u32>,
        default: u32,
    ) -> Result<u32, ConfigError> {
        let must = format!("a whole number of {unit} from {} to {}", range.start(), range.end());
        let found = self.read(key, &must, |value| {
            let integer = value.as_integer()?;
            Some(i128::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(i128::MAX))
        })?;
        let Some(Located { line, value }) = found else { return Ok(default) };
        match u32::try_from(value) {
            Ok(number) if range.contains(&number) => Ok(number),
            _ => Err(self.refuse(line, key, &must, None)),
        }
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(
        &self,
        key: &str,
        choices: [(&str, T); 2],
        default: T,
    ) -> Result<T, ConfigError> {
        let must = format!("{:?} or {:?}", choices[0].0, choices[1].0);
        let found = self.read(key, &must, |value| value.as_str().map(str::to_owned))?;
        let Some(Located { line, value }) = found else { return Ok(default) };
        match choices.iter().find(|(word, _)| *word == value) {
            Some((_, chosen)) => Ok(*chosen),
            None => Err(self.refuse(line, key, &must, Some(&format!("{value:?}")))),
        }
    }

    /// A list of texts, none of them empty.
    pub(super) fn words(&self, key: &str) -> Result<Vec<String>, ConfigError> {
        self.words_that(key, &|_| Ok(()))
    }

    /// A list of texts, none of them empty, each of which `check` takes; or it says what is wrong.
    pub(super) fn words_that(
        &self,
        key: &str,
        check: &dyn Fn(&str) -> Result<(), String>,
    ) -> Result<Vec<String>, ConfigError> {
        let must = r#"a list of texts, as in ["one", "two"]"#;
        let found = self.read(key, must, |value| {
            let array = value.as_array()?;
            array.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        })?;
        let Some(Located { line, value }) = found else { return Ok(Vec::new()) };
        if value.iter().any(|word| word.trim().is_empty()) {
            return Err(self.refuse(line, key, must, Some("a list with an empty text")));
        }
        for word in &value {
            check(word).map_err(|what| ConfigError::at(self.document.file, line, what))?;
        }
        Ok(value)
    }

    /// The refusal of a table as a whole.
    pub(super) fn lacks(&self, what: &str) -> ConfigError {
        ConfigError::at(self.document.file, self.line, what)
    }

    fn read<T>(
        &self,
        key: &str,
        must: &str,
        take: impl FnOnce(&DeValue<'a>) -> Option<T>,
    ) -> Result<Option<Located<T>>, ConfigError> {
        let Some(found) = self.table.and_then(|table| find(table, key)) else { return Ok(None) };
        let line = line_of(self.document.text, &found.span());
        match take(found.get_ref()) {
            Some(value) => Ok(Some(Located { line, value })),
            None => Err(self.refuse(line, key, must, Some(kind_of(found.get_ref())))),
        }
    }

    fn refuse(&self, line: usize, key: &str, must: &str, not: Option<&str>) -> ConfigError {
        let place = if self.name.is_empty() { String::new() } else { format!(" in [{}]", self.name) };
        let not = not.map_or(String::new(), |not| format!(", not {not}"));
        ConfigError::at(self.document.file, line, format!("{key}{place} must be {must}{not}"))
    }
}

fn find<'t, 'a>(table: &'t DeTable<'a>, key: &str) -> Option<&'t Spanned<DeValue<'a>>> {
    table.iter().find(|(name, _)| name.get_ref().as_ref() == key).map(|(_, value)| value)
}

fn is_table(value: &Spanned<DeValue<'_>>) -> bool {
    value.get_ref().as_table().is_some()
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    1 + text.as_bytes().iter().take(span.start).filter(|byte| **byte == b'\n').count()
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(array) if array.iter().all(|item| item.get_ref().is_str()) => "a list",
        DeValue::Array(_) => "a list with something else in it",
        DeValue::Table(_) => "a section",
    }
}

fn keys_of(keys: Keys, section: &str) -> &'static [&'static str] {
    keys.iter().find(|(name, _)| *name == section).map_or(&[], |(_, keys)| *keys)
}

fn is_section(keys: Keys, name: &str) -> bool {
    !name.is_empty() && keys.iter().any(|(section, _)| *section == name)
}

fn unknown_section(keys: Keys, name: &str) -> String {
    let names = keys.iter().map(|(section, _)| *section).filter(|section| !section.is_empty());
    match nearest(name, names.clone()) {
        Some(near) => format!("there is no section [{}]; did you mean [{near}]?", short(name)),
        None => {
            let all = names.map(|name| format!("[{name}]")).collect::<Vec<_>>().join(", ");
            format!("there is no section [{}]; the sections are {all}", short(name))
        }
    }
}

/// The sentence for a key that does not exist where it stands. It never shows the value, which may be a token.
fn unknown_key(keys: Keys, section: &str, key: &str) -> String {
    if looks_secret(key) {
        return "do not put a token into the config; put it into a file that only you can read and name the file with token_file, or set ESPEJO_TOKEN"
            .to_owned();
    }
    let place = if section.is_empty() { " at the top level".to_owned() } else { format!(" in [{section}]") };
    let there_is_none = format!("there is no key {:?}{place}", short(key));
    if let Some((home, _)) = keys.iter().find(|(_, names)| names.contains(&key)) {
        return match *home {
            "" => format!("{there_is_none}; {key} belongs above the first [section]"),
            home => format!("{there_is_none}; it belongs in [{home}]"),
        };
    }
    if let Some(near) = nearest(key, keys_of(keys, section).iter().copied()) {
        return format!("{there_is_none}; did you mean {near:?}?");
    }
    for (home, names) in keys {
        if let Some(near) = nearest(key, names.iter().copied()) {
            return match *home {
                "" => format!("{there_is_none}; did you mean {near:?}, above the first [section]?"),
                home => format!("{there_is_none}; did you mean {near:?} in [{home}]?"),
            };
        }
    }
    format!("{there_is_none}; there are {}", keys_of(keys, section).join(", "))
}

fn looks_secret(key: &str) -> bool {
    let key = key.to_lowercase().replace(['-', ' ', '.'], "_");
    key.split('_').any(|part| {
        matches!(part, "token" | "accesstoken" | "apitoken" | "apikey" | "secret" | "password" | "bearer")
    }) && !key.contains("file")
        || key.contains("api_key")
}

/// The candidate most like `word`, if any is like it at all.
fn nearest<'k>(word: &str, candidates: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let word = word.to_lowercase().replace('-', "_");
    candidates
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&word, candidate), candidate))
        .filter(|(likeness, candidate)| {
            let begins = |long: &str, short: &str| short.len() >= 4 && long.starts_with(short);
            *likeness >= 0.6 || begins(&word, candidate) || begins(candidate, &word)
        })
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

fn short(word: &str) -> String {
    word.chars().filter(|c| !c.is_control()).take(40).collect()
}
