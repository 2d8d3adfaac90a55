//! What the index is asked: the service's own rule first, and after it what only begins with the words.

use rusqlite::{OptionalExtension, params};

use super::index::{Found, Index, Match, unpack};
use super::query::{Query, Term};
use super::rank::rank;
use super::words::{Wanted, plain};

/// What is shorter than this many letters begins too many words.
const BEGINNING_MIN: usize = 3;
/// A beginning stands for so many stems at most, those of the shortest words.
const BEGUN_MAX: i64 = 16;
/// Of the texts that match, the best by a first, rough order are ranked exactly.
const RANKED_MAX: usize = 64;

impl Index {
    pub(super) fn find(&self, query: &Query, kinds: &[String], limit: usize) -> rusqlite::Result<Found> {
        let mut query = query.clone();
        let mut other = self.db.prepare_cached("SELECT stem FROM vocabulary WHERE word = ?1")?;
        for term in query.terms_mut().filter(|term| term.words.len() == 1) {
            let stems: Vec<String> =
                other.query_map([plain(&term.words[0])], |row| row.get(0))?.collect::<Result<_, _>>()?;
            stems.into_iter().for_each(|stem| term.may_be(stem));
        }
        let most = RANKED_MAX.max(limit.saturating_mul(2));
        let mut ids = self.with_stems(&query, kinds, most)?;
        ids.extend(self.with_title(&query, kinds, most)?);
        ids.sort_unstable();
        ids.dedup();
        let mut matches = self.all_ranked(&ids, &query)?;
        // What begins so comes after all that the service would find, and only where that leaves room.
        let begun = if matches.len() < limit { self.begun(&query)? } else { None };
        if let Some(begun) = &begun {
            let mut others = self.with_stems(begun, kinds, most + ids.len())?;
            others.sort_unstable();
            others.retain(|id| ids.binary_search(id).is_err());
            let below_all = |found: Match| Match { rank: found.rank / (1.0 + found.rank), ..found };
            matches.extend(self.all_ranked(&others, begun)?.into_iter().map(below_all));
        }
        matches.sort_by(|a, b| {
            b.rank.total_cmp(&a.rank).then_with(|| (&a.title, &a.path).cmp(&(&b.title, &b.path)))
        });
        let more = matches.len() > limit;
        matches.truncate(limit);
        let mut to_come = self.db.prepare_cached(
            "SELECT count(*) FROM documents INDEXED BY to_come WHERE kind = 'page' AND path IS NULL",
        )?;
        let to_come = to_come.query_row([], |row| row.get::<_, i64>(0))?.unsigned_abs();
        Ok(Found { matches, more, to_come, begun })
    }

    /// The query with every word that is wanted taken for the beginning of one; `None` where that finds no more.
    fn begun(&self, query: &Query) -> rusqlite::Result<Option<Query>> {
        if query.says_nothing() {
            return Ok(None);
        }
        let mut begun = query.clone();
        let mut longer = self.db.prepare_cached(
            "SELECT stem FROM vocabulary WHERE word > ?1 AND word < ?1 || char(0x10ffff)
             GROUP BY stem ORDER BY min(length(word)), stem LIMIT ?2",
        )?;
        for term in begun.wanted_mut() {
            let [word] = term.words.as_slice() else { continue };
            let word = plain(word);
            if word.chars().count() >= BEGINNING_MIN {
                let stems: Vec<String> = longer
                    .query_map(params![word, BEGUN_MAX], |row| row.get(0))?
                    .collect::<Result<_, _>>()?;
                stems.into_iter().for_each(|stem| term.may_be(stem));
            }
        }
        Ok((begun != *query).then_some(begun))
    }

    /// What has the words of a query, the best by a first, rough order.
    fn with_stems(&self, query: &Query, kinds: &[String], most: usize) -> rusqlite::Result<Vec<i64>> {
        let mut ids = Vec::new();
        let expression = expression(query);
        if expression.is_empty() {
            return Ok(ids);
        }
        // Where every kind is wanted, none is looked up for the thousands that are not shown; and where all have the
        // words, none is the better for them.
        let mut found = self.db.prepare_cached(match (kinds.is_empty(), query.says_nothing()) {
            (true, true) => "SELECT rowid, '' FROM stems WHERE stems MATCH ?1",
            (true, false) => {
                "SELECT rowid, '' FROM stems WHERE stems MATCH ?1 AND rank MATCH 'bm25(8.0, 1.0)' ORDER BY rank"
            }
            (false, true) => {
                "SELECT d.id, d.kind FROM stems JOIN documents d ON d.id = stems.rowid WHERE stems MATCH ?1"
            }
            (false, false) => {
                "SELECT d.id, d.kind FROM stems JOIN documents d ON d.id = stems.rowid
                 WHERE stems MATCH ?1 ORDER BY bm25(stems, 8.0, 1.0)"
            }
        })?;
        let mut rows = found.query([expression])?;
        while let Some(row) = rows.next()? {
            if kinds.is_empty() || kinds.contains(&row.get(1)?) {
                ids.push(row.get::<_, i64>(0)?);
            }
            if ids.len() >= most {
                break;
            }
        }
        Ok(ids)
    }

    /// What has the whole query in its title.
    fn with_title(&self, query: &Query, kinds: &[String], most: usize) -> rusqlite::Result<Vec<i64>> {
        let mut titled = self.db.prepare_cached(
            "SELECT id, kind FROM documents WHERE instr(plain, ?1) > 0 ORDER BY length(plain) LIMIT ?2",
        )?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut rows = titled.query(params![query.whole, most])?;
        let mut ids = Vec::new();
        while let Some(row) = rows.next()? {
            if kinds.is_empty() || kinds.contains(&row.get(1)?) {
                ids.push(row.get(0)?);
            }
        }
        Ok(ids)
    }

    fn all_ranked(&self, ids: &[i64], query: &Query) -> rusqlite::Result<Vec<Match>> {
        let mut wanted = Wanted::new(query.stems());
        ids.iter().map(|id| self.ranked(*id, query, &mut wanted)).collect()
    }

    fn ranked<'q>(&self, id: i64, query: &'q Query, wanted: &mut Wanted<'q>) -> rusqlite::Result<Match> {
        let text = self
            .db
            .prepare_cached("SELECT packed FROM texts WHERE id = ?1")?
            .query_row([id], |row| row.get::<_, Vec<u8>>(0))
            .optional()?
            .map(|packed| unpack(&packed))
            .unwrap_or_default();
        let mut row = self
            .db
            .prepare_cached("SELECT kind, own, title, path, workspace FROM documents WHERE id = ?1")?;
        row.query_row([id], |row| {
            let titles: String = row.get(2)?;
            Ok(Match {
                kind: row.get(0)?,
                id: row.get(1)?,
                title: titles.lines().next().unwrap_or_default().to_owned(),
                path: row.get(3)?,
                workspace: row.get(4)?,
                rank: rank(query, &titles, &text, wanted),
                text,
            })
        })
    }
}

/// The query as FTS5 takes it. Every stem is quoted, so that nothing typed is an operator there.
fn expression(query: &Query) -> String {
    let way = |way: &Vec<String>| format!("\"{}\"", way.join(" "));
    let term = |term: &Term| format!("({})", term.ways.iter().map(way).collect::<Vec<_>>().join(" OR "));
    let choices = query.choices.iter().map(|choice| {
        let wanted = choice.wanted.iter().map(term).collect::<Vec<_>>().join(" AND ");
        let excluded: String = choice.excluded.iter().map(|one| format!(" NOT {}", term(one))).collect();
        format!("(({wanted}){excluded})")
    });
    choices.collect::<Vec<_>>().join(" OR ")
}
