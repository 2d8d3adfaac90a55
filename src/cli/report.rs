//! What a command did to each file: told to a person at once, or to a program as one JSON value at the end.

use std::io::{self, Write};

use anyhow::Result;
use serde_json::{Value, json};

use super::output;
use crate::model::MirrorPath;

/// Words for a person, which are dropped where a program reads, and what became of each file.
pub struct Report<'a> {
    out: &'a mut dyn Write,
    files: Option<Vec<Value>>,
}

impl<'a> Report<'a> {
    /// A report to `out`; `as_json` for a program.
    pub fn new(out: &'a mut dyn Write, as_json: bool) -> Self {
        Self { out, files: as_json.then(Vec::new) }
    }

    /// Whether a program reads it: then nothing may be asked.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.files.is_some()
    }

    /// What became of a file: `what` in a word or two, the number of the change of the log that it is about, and why.
    pub fn add(&mut self, path: &MirrorPath, what: &str, number: Option<i64>, why: Option<&str>) {
        if let Some(files) = &mut self.files {
            files.push(json!({ "path": path.as_str(), "what": what, "number": number, "why": why }));
        }
    }

    /// Prints the JSON value, where it was asked for.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end(self) -> Result<()> {
        self.files.map_or(Ok(()), |files| output::json(self.out, &files))
    }
}

impl Write for Report<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.files.is_some() { Ok(buf.len()) } else { self.out.write(buf) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
