//! Versions that a state has been given time to gather, put there between two runs of the daemon: each page's first one, so
//! many times over with other words, an hour apart.

use std::io::{Read, Write};
use std::path::Path;

use espejo::model::ContentHash;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rusqlite::{Connection, params};

/// Every page has so many versions afterwards.
pub(crate) fn grow(state: &Path, versions: usize, words: &str) {
    let mut db = Connection::open(state.join("espejo.sqlite3")).unwrap();
    let turn = db.transaction().unwrap();
    let sql = "SELECT v.page, v.at, v.title, c.deflated, c.bytes FROM history_versions v
        JOIN history_contents c ON c.id = v.body WHERE v.page NOT NULL GROUP BY v.page";
    let first: Vec<(String, i64, String, bool, Vec<u8>)> = {
        let mut query = turn.prepare(sql).unwrap();
        let rows =
            query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)));
        rows.unwrap().map(Result::unwrap).collect()
    };
    let mut number = 0;
    for (page, at, title, deflated, bytes) in first {
        let mut json = String::new();
        match deflated {
            true => ZlibDecoder::new(&bytes[..]).read_to_string(&mut json).unwrap(),
            false => (&bytes[..]).read_to_string(&mut json).unwrap(),
        };
        for version in 1..versions {
            let json = json.replace(words, &format!("as it was {version} hours before"));
            let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
            packed.write_all(json.as_bytes()).unwrap();
            let packed = packed.finish().unwrap();
            let hash = ContentHash::of(json.as_bytes());
            turn.prepare_cached(
                "INSERT INTO history_contents (hash, size, deflated, bytes) VALUES (?1, ?2, 1, ?3)",
            )
            .unwrap()
            .execute(params![hash.0, i64::try_from(json.len()).unwrap(), packed])
            .unwrap();
            let content = turn.last_insert_rowid();
            // Older than what the daemon numbered from 1 on.
            number -= 1;
            turn.prepare_cached(
                "INSERT INTO history_versions (number, page, at, side, title, body, sent)
                 VALUES (?1, ?2, ?3, 0, ?4, ?5, 0)",
            )
            .unwrap()
            .execute(params![number, page, at - version as i64 * 3_600_000, title, content])
            .unwrap();
        }
    }
    turn.commit().unwrap();
}
