//! The index of everything mirrored, in a database file of its own beside the state. It holds what the state and the files
//! hold, cut into words; damage to it loses nothing: it is removed and rebuilt. It is brought up to date by who
//! searches, by comparing marks, so that an edit never waits for it and at rest it costs nothing.
//!
//! Who searches may say what all the sources together are as of; as long as that is the same nothing is compared.
//!
//! Full text is SQLite's FTS5 over stems, without the texts themselves; these stand deflated beside it, for ranks and
//! snippets of the few that are shown.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};

use super::query::Query;
use super::words::{Stems, lower, plain, words};

/// "espf": told apart from any other SQLite file.
const APPLICATION_ID: i64 = 0x6573_7066;
/// Counts up whenever what is stored, or what a stem is, changes: an index of another version is built anew.
const VERSION: i64 = 4;
const FILE: &str = "search.sqlite3";
/// What is longer than this many bytes is indexed so far: no page's words are looked for beyond a million letters.
const TEXT_MAX: usize = 1 << 20;

const SCHEMA: &str = "
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY, keyed INTEGER NOT NULL UNIQUE, mark INTEGER NOT NULL, kind TEXT NOT NULL, own TEXT,
        title TEXT NOT NULL, plain TEXT NOT NULL, path TEXT, workspace TEXT
    );
    -- Every search reads all of these, and nothing else of the rows.
    CREATE INDEX marks ON documents (keyed, mark);
    CREATE INDEX to_come ON documents (id) WHERE kind = 'page' AND path IS NULL;
    CREATE TABLE texts (id INTEGER PRIMARY KEY, packed BLOB NOT NULL);
    CREATE VIRTUAL TABLE stems USING fts5(
        title, body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0'
    );
    -- Every word without its accents, with its stem: for words that are typed without them, or only begun.
    CREATE TABLE vocabulary (word TEXT, stem TEXT, PRIMARY KEY (word, stem)) WITHOUT ROWID;
    -- `as of`: what the sources were as of that it was brought up to date with last.
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
";

/// What can go wrong, after everything that can be mended was.
#[derive(Debug, thiserror::Error)]
#[error("the search index {0} cannot be used: {1}; delete it, and espejo rebuilds it")]
pub struct IndexError(PathBuf, rusqlite::Error);

/// Something that can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Names it among all.
    pub key: String,
    /// `page`, `whiteboard`, `presentation`, `slide` or `file`.
    pub kind: &'static str,
    /// Its id at the service, where it has one.
    pub id: Option<String>,
    /// Its title; the first line is the one that is shown.
    pub title: String,
    /// Its place in the mirror.
    pub path: Option<String>,
    /// Its workspace's id.
    pub workspace: Option<String>,
    /// What its text comes from: as long as this is the same, the text is.
    pub text: Vec<u8>,
}

/// The text of a [`Source`]; `None` when it cannot be read just now, and what was indexed before stays.
pub type Text = Option<String>;

/// Something that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// Its kind.
    pub kind: String,
    /// Its id.
    pub id: Option<String>,
    /// Its title.
    pub title: String,
    /// Its place in the mirror.
    pub path: Option<String>,
    /// Its workspace's id.
    pub workspace: Option<String>,
    /// Its text.
    pub text: String,
    /// Higher is better: from 3 for a title that is the query, from 2 for one that holds it, from 1 for its text. Below 1 what
    /// has only words that begin so.
    pub rank: f64,
}

/// What a search has found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The best matches, best first.
    pub matches: Vec<Match>,
    /// Whether there are more.
    pub more: bool,
    /// How many pages have no place in the mirror yet, and no text.
    pub to_come: u64,
    /// The query with its words taken for beginnings, where that was asked as well.
    pub(super) begun: Option<Query>,
}

impl Found {
    /// The query by which something was found, for its snippet: `asked` is what was looked for.
    #[must_use]
    pub fn query_of<'q>(&'q self, found: &Match, asked: &'q Query) -> &'q Query {
        self.begun.as_ref().filter(|_| found.rank < 1.0).unwrap_or(asked)
    }
}

/// A source that is not in the index as it is.
struct Difference<'s> {
    source: &'s Source,
    keyed: i64,
    mark: i64,
    old: Option<i64>,
}

/// The index, opened.
#[derive(Debug)]
pub struct Index {
    pub(super) db: Connection,
    path: PathBuf,
    /// The marks as they were when it was opened, for the first comparison.
    marks: Option<Marks>,
}

/// What is indexed: the hash of its key, its row and its mark, in the order of the hashes.
type Marks = Vec<(i64, i64, i64)>;

impl Index {
    /// Opens the index in `folder`, or makes it; one that is damaged, or of another version, is removed first. Where
    /// nothing can be written it lives in memory and is built each time.
    ///
    /// # Errors
    /// [`IndexError`], when not even that can be done.
    pub fn open(folder: &Path) -> Result<Self, IndexError> {
        let path = folder.join(FILE);
        let file = prepare(&path).or_else(|error| match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                remove(&path);
                prepare(&path)
            }
            _ => Err(error),
        });
        match file {
            Ok(db) => Ok(Self { db, path, marks: None }),
            Err(_) => Self::in_memory(),
        }
    }

    /// One that is built anew each time.
    ///
    /// # Errors
    /// [`IndexError`] when SQLite refuses.
    pub fn in_memory() -> Result<Self, IndexError> {
        let path = PathBuf::from(":memory:");
        let db =
            Connection::open_in_memory().and_then(make).map_err(|error| IndexError(path.clone(), error))?;
        Ok(Self { db, path, marks: None })
    }

    /// Reads what the first comparison needs, so that it can be done while the sources are gathered. A failure shows
    /// there.
    pub fn read_ahead(&mut self) {
        self.marks = marks(&self.db).ok();
    }

    /// Removes what there is and begins anew.
    ///
    /// # Errors
    /// As [`Index::open`].
    pub fn begin_anew(self) -> Result<Self, IndexError> {
        let Self { db, path, .. } = self;
        drop(db);
        remove(&path);
        Self::open(path.parent().unwrap_or(Path::new(".")))
    }

    /// Brings the index up to date: it holds these sources then, and nothing else. `text_of` is asked for the text of each
    /// that is new or has changed. Returns how many those are, and how many went. `as_of` is kept for
    /// [`Index::search_as_it_is`], unless a text could not be read.
    ///
    /// # Errors
    /// [`IndexError`] when SQLite refuses; the index is as it was then.
    pub fn refresh(
        &mut self,
        sources: &[Source],
        as_of: &str,
        mut text_of: impl FnMut(&Source) -> Text,
    ) -> Result<(usize, usize), IndexError> {
        let ahead = self.marks.take();
        let write = || {
            let (changed, gone) = self.differences(sources, ahead)?;
            if changed.is_empty() && gone.is_empty() {
                // Without the note the next search compares once more, and finds as much.
                note_as_of(&self.db, as_of).ok();
                return Ok((0, 0));
            }
            let turn = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
            // Once more: another search may have brought it up to date meanwhile.
            let (changed, gone) = self.differences(sources, None)?;
            let stems = Stems::new();
            let mut vocabulary = BTreeMap::new();
            let mut has_all = true;
            for id in &gone {
                delete(&turn, *id)?;
            }
            for Difference { source, keyed, mark, old } in &changed {
                let text = text_of(source);
                has_all &= text.is_some();
                if let Some(old) = old {
                    if text.is_none() {
                        continue;
                    }
                    delete(&turn, *old)?;
                }
                // A mark that no text has: the text is asked for again the next time.
                let mark = if text.is_none() { 0 } else { *mark };
                insert(&turn, source, (*keyed, mark), &text.unwrap_or_default(), &stems, &mut vocabulary)?;
            }
            let mut note = turn.prepare("INSERT OR IGNORE INTO vocabulary VALUES (?1, ?2)")?;
            for (word, stem) in &vocabulary {
                note.execute([&plain(word), stem])?;
            }
            drop(note);
            note_as_of(&turn, if has_all { as_of } else { "" })?;
            turn.commit()?;
            Ok((changed.len(), gone.len()))
        };
        write().map_err(|error| IndexError(self.path.clone(), error))
    }

    /// What is new or has changed, and the rows whose items are gone.
    fn differences<'s>(
        &self,
        sources: &'s [Source],
        ahead: Option<Marks>,
    ) -> rusqlite::Result<(Vec<Difference<'s>>, Vec<i64>)> {
        let known = ahead.map_or_else(|| marks(&self.db), Ok)?;
        let mut wanted = vec![false; known.len()];
        let mut changed = Vec::new();
        for source in sources {
            let (keyed, mark) = (hashed(&source.key), mark_of(source));
            let at = known.binary_search_by_key(&keyed, |row| row.0).ok();
            if at.is_some_and(|at| std::mem::replace(&mut wanted[at], true)) {
                // Of two with one key the first is the one.
                continue;
            }
            let old = at.map(|at| known[at]);
            if old.is_none_or(|(_, _, same)| same != mark) {
                changed.push(Difference { source, keyed, mark, old: old.map(|(_, id, _)| id) });
            }
        }
        let gone = known.iter().zip(wanted).filter(|(_, wanted)| !wanted).map(|((_, id, _), _)| *id);
        Ok((changed, gone.collect()))
    }

    /// The best matches of these kinds (all, when none is named).
    ///
    /// # Errors
    /// [`IndexError`] when SQLite refuses.
    pub fn search(&self, query: &Query, kinds: &[String], limit: usize) -> Result<Found, IndexError> {
        self.find(query, kinds, limit).map_err(|error| IndexError(self.path.clone(), error))
    }

    /// What the index is as of, as [`Index::refresh`] was told last, and what it finds so.
    ///
    /// # Errors
    /// [`IndexError`] when SQLite refuses.
    pub fn search_as_it_is(
        &self,
        query: &Query,
        kinds: &[String],
        limit: usize,
    ) -> Result<(Option<String>, Found), IndexError> {
        let ask = || {
            // One look for both, whatever another search writes meanwhile.
            let _turn = self.db.unchecked_transaction()?;
            Ok((self.noted_as_of()?, self.find(query, kinds, limit)?))
        };
        ask().map_err(|error| IndexError(self.path.clone(), error))
    }

    /// What the index is as of, as [`Index::refresh`] was told last.
    ///
    /// # Errors
    /// [`IndexError`] when SQLite refuses.
    pub fn as_of(&self) -> Result<Option<String>, IndexError> {
        self.noted_as_of().map_err(|error| IndexError(self.path.clone(), error))
    }

    fn noted_as_of(&self) -> rusqlite::Result<Option<String>> {
        let mut noted = self.db.prepare_cached("SELECT value FROM meta WHERE key = 'as of'")?;
        let as_of: Option<String> = noted.query_row([], |row| row.get(0)).optional()?;
        Ok(as_of.filter(|as_of| !as_of.is_empty()))
    }

    /// How many bytes the index takes.
    #[must_use]
    pub fn size(&self) -> u64 {
        ["", "-wal"]
            .iter()
            .filter_map(|ending| std::fs::metadata(format!("{}{ending}", self.path.display())).ok())
            .map(|file| file.len())
            .sum()
    }
}

fn marks(db: &Connection) -> rusqlite::Result<Marks> {
    let mut query =
        db.prepare_cached("SELECT keyed, id, mark FROM documents INDEXED BY marks ORDER BY keyed")?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

fn note_as_of(db: &Connection, as_of: &str) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR REPLACE INTO meta VALUES ('as of', ?1)")?.execute([as_of])?;
    Ok(())
}

fn mark_of(source: &Source) -> i64 {
    hashed(&(source.kind, &source.id, &source.title, &source.path, &source.workspace, &source.text))
}

fn hashed(what: &impl Hash) -> i64 {
    // It need not be the same in another release: then the index is built anew, once.
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish().cast_signed()
}

fn delete(turn: &Transaction<'_>, id: i64) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM stems WHERE rowid = ?1",
        "DELETE FROM texts WHERE id = ?1",
        "DELETE FROM documents WHERE id = ?1",
    ] {
        turn.prepare_cached(sql)?.execute([id])?;
    }
    Ok(())
}

fn insert(
    turn: &Transaction<'_>,
    source: &Source,
    (keyed, mark): (i64, i64),
    text: &str,
    stems: &Stems,
    vocabulary: &mut BTreeMap<String, String>,
) -> rusqlite::Result<()> {
    let end = (0..=text.len().min(TEXT_MAX)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let text = &text[..end];
    let added = turn
        .prepare_cached(
        "INSERT OR IGNORE INTO documents (keyed, mark, kind, own, title, plain, path, workspace) VALUES (?1,?2,?3,?4,?5,?6,?7,?8)",
    )?
    .execute(params![
        keyed,
        mark,
        source.kind,
        source.id,
        source.title,
        plain(&source.title),
        source.path,
        source.workspace
    ])?;
    if added == 0 {
        // Two of one key: the first is the one.
        return Ok(());
    }
    let id = turn.last_insert_rowid();
    let mut stemmed = |text: &str| {
        let mut all = String::with_capacity(text.len());
        for at in words(text) {
            let word = lower(&text[at]);
            // Of the forms of words that texts are full of each is stemmed once.
            let stem = match vocabulary.get(&word) {
                Some(stem) => stem,
                None => {
                    let stem = stems.stem(&word);
                    vocabulary.entry(word).or_insert(stem)
                }
            };
            all.push_str(stem);
            all.push(' ');
        }
        all
    };
    turn.prepare_cached("INSERT INTO stems (rowid, title, body) VALUES (?1, ?2, ?3)")?.execute(params![
        id,
        stemmed(&source.title),
        stemmed(text)
    ])?;
    if !text.is_empty() {
        turn.prepare_cached("INSERT INTO texts VALUES (?1, ?2)")?.execute(params![id, pack(text)])?;
    }
    Ok(())
}

fn pack(text: &str) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::with_capacity(text.len() / 2), Compression::fast());
    // Writing into memory cannot fail; what did would only have no snippet.
    drop(encoder.write_all(text.as_bytes()));
    encoder.finish().unwrap_or_default()
}

pub(super) fn unpack(packed: &[u8]) -> String {
    let mut text = Vec::new();
    // What is damaged has no snippet.
    drop(DeflateDecoder::new(packed).take(2 * TEXT_MAX as u64).read_to_end(&mut text));
    String::from_utf8(text).unwrap_or_default()
}

fn prepare(path: &Path) -> rusqlite::Result<Connection> {
    // SQLite would make the file readable by everyone; it holds private notes.
    // Where this fails, SQLite says why.
    drop(std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path));
    let db = Connection::open(path)?;
    // Another search may be building it at this moment.
    db.busy_timeout(std::time::Duration::from_secs(60))?;
    db.pragma_update(None, "journal_mode", "wal")?;
    db.pragma_update(None, "synchronous", "normal")?;
    make(db)
}

/// Makes the tables of an empty database; another's, and another version's, is an error.
fn make(db: Connection) -> rusqlite::Result<Connection> {
    let number = |name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    match (number("application_id")?, number("user_version")?) {
        (APPLICATION_ID, VERSION) => {}
        (0, 0) => {
            db.execute_batch(&format!(
                "BEGIN IMMEDIATE; {SCHEMA} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT"
            ))?;
        }
        _ => return Err(damaged()),
    }
    Ok(db)
}

fn damaged() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error { code: ErrorCode::NotADatabase, extended_code: 26 },
        None,
    )
}

/// Removes the file and its companions; what cannot be removed shows when the index is opened.
fn remove(path: &Path) {
    for ending in ["", "-wal", "-shm"] {
        drop(std::fs::remove_file(format!("{}{ending}", path.display())));
    }
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
