-- Everything espejo remembers. What is stored is what was seen; work is derived from it.
--
-- WITHOUT ROWID where rows are short: a search in such a table reads whole rows on its way down, with the pages that a long
-- one runs over onto (sqlite.org/withoutrowid.html, section 4). Tables of long texts have row numbers and an index instead.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE workspaces (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, slug TEXT NOT NULL, role TEXT NOT NULL, frozen INTEGER NOT NULL,
    folder TEXT NOT NULL, present INTEGER NOT NULL, listed_at INTEGER NOT NULL, empty_list INTEGER NOT NULL,
    known_as TEXT NOT NULL, rest TEXT
) WITHOUT ROWID;
-- What a search looks through is as it was for as long as this value is: polling writes rows all the time, and none of that
-- is of interest there. Random, so that no two states, and no older copy of one, are taken for each other.
CREATE TRIGGER workspaces_are_found BEFORE INSERT ON workspaces WHEN NOT EXISTS (
    SELECT 1 FROM workspaces AS was WHERE was.id = new.id
        AND was.folder
        IS new.folder
) BEGIN
    INSERT OR REPLACE INTO meta VALUES ('searchable', hex(randomblob(16)));
END;
CREATE TRIGGER workspaces_are_gone AFTER DELETE ON workspaces BEGIN
    INSERT OR REPLACE INTO meta VALUES ('searchable', hex(randomblob(16)));
END;

-- What the missing files of pages were known by, until they come back or their pages go.
CREATE TABLE missing_files (
    page TEXT PRIMARY KEY, path TEXT NOT NULL,
    device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
    changed INTEGER NOT NULL, born INTEGER NOT NULL, hash BLOB
) WITHOUT ROWID;

-- Bodies by the SHA-256 of their compact JSON, so that equal bodies are kept once.
CREATE TABLE bodies (hash BLOB NOT NULL PRIMARY KEY, json TEXT NOT NULL);

-- Blocks that files show as one-line stand-ins, so that a line cut from one page and pasted into another is the block.
CREATE TABLE stand_ins (id TEXT NOT NULL PRIMARY KEY, workspace TEXT NOT NULL, json TEXT NOT NULL);

CREATE TABLE sent (
    page TEXT PRIMARY KEY, text BLOB NOT NULL, local BLOB NOT NULL, before BLOB NOT NULL, body BLOB NOT NULL,
    title TEXT
) WITHOUT ROWID;

-- Texts on their way into files, each with the body it stands for: after a kill nobody else can tell ours from an edit.
CREATE TABLE writing (page TEXT PRIMARY KEY, text BLOB NOT NULL, body BLOB NOT NULL, icon TEXT) WITHOUT ROWID;

-- Conflict copies; a row lives as long as its file.
CREATE TABLE conflicts (
    path TEXT PRIMARY KEY, page_path TEXT NOT NULL, made_at INTEGER NOT NULL, summary TEXT NOT NULL, text BLOB NOT NULL
) WITHOUT ROWID;

-- What needs a person: derived by the engine, shown by `status` without it.
CREATE TABLE attention (
    path TEXT NOT NULL, reason TEXT NOT NULL, action TEXT NOT NULL, since INTEGER NOT NULL, code TEXT NOT NULL,
    PRIMARY KEY (path, reason)
) WITHOUT ROWID;

-- Told once and shown for a while: acts that were put back, and the like.
CREATE TABLE notices (path TEXT NOT NULL, reason TEXT NOT NULL, action TEXT NOT NULL, at INTEGER NOT NULL, code TEXT NOT NULL,
    PRIMARY KEY (path, reason)) WITHOUT ROWID;

-- The limiter's log: one row a request that may still count at the service.
CREATE TABLE requests (effect INTEGER NOT NULL, sent INTEGER NOT NULL, freed INTEGER);

-- History: every version of a page that was seen. Contents (bodies as JSON, files as bytes) are kept once by SHA-256,
-- deflated where that makes them smaller.
CREATE TABLE history_contents (
    id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, deflated INTEGER NOT NULL,
    bytes BLOB NOT NULL
);
CREATE TRIGGER history_grows AFTER INSERT ON history_contents BEGIN
    UPDATE meta SET value = value + length(new.bytes) WHERE key = 'history_bytes';
END;
CREATE TRIGGER history_shrinks AFTER DELETE ON history_contents BEGIN
    UPDATE meta SET value = value - length(old.bytes) WHERE key = 'history_bytes';
END;

-- `page` is null while a new file is no page yet; `body` and `text` name contents; `wrote` is the hash of the text that was
-- written into the file for `body`.
CREATE TABLE history_versions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, page TEXT, at INTEGER NOT NULL, side INTEGER NOT NULL,
    path TEXT, title TEXT NOT NULL, body INTEGER, text INTEGER, sent INTEGER NOT NULL, wrote BLOB
);
CREATE INDEX history_by_page ON history_versions (page, number);
CREATE INDEX history_by_path ON history_versions (path, number);
CREATE INDEX history_by_body ON history_versions (body);
CREATE INDEX history_by_text ON history_versions (text);

-- What espejo did, for undo; only the last ones.
CREATE TABLE history_acts (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind INTEGER NOT NULL, page TEXT,
    path TEXT NOT NULL, other TEXT, body_before INTEGER, body_after INTEGER, text_before INTEGER,
    text_after BLOB
);
-- The last acts on a page are looked at with each save of its file.
CREATE INDEX history_acts_page ON history_acts (page, number);

-- Texts that a person had put back, each with the body it stands for exactly, colours and ids included.
CREATE TABLE history_meanings (
    text BLOB PRIMARY KEY, body INTEGER NOT NULL, at INTEGER NOT NULL
) WITHOUT ROWID;

-- Elements of a canvas by the SHA-256 of their compact JSON.
CREATE TABLE elements (hash BLOB NOT NULL PRIMARY KEY, json TEXT NOT NULL);

-- Generated files of dashboards: what each was drawn from and what was written.
CREATE TABLE drawn (
    path TEXT PRIMARY KEY, source BLOB NOT NULL, hash BLOB NOT NULL,
    device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
    changed INTEGER NOT NULL, born INTEGER NOT NULL
) WITHOUT ROWID;

-- Elements as they were before espejo deleted them for good. `deck` is the presentation of a slide, else empty; `own` is the id of
-- the whiteboard or the slide.
CREATE TABLE graves (
    deck TEXT NOT NULL, own TEXT NOT NULL, element TEXT NOT NULL, at INTEGER NOT NULL, path TEXT NOT NULL,
    json TEXT NOT NULL, PRIMARY KEY (deck, own, element)
) WITHOUT ROWID;

-- Magnets of dashboard pages.
CREATE TABLE dashboards (page TEXT NOT NULL PRIMARY KEY, json TEXT NOT NULL);

-- The last push to a page that is known no more: an editor that was open before it can still put the old text back,
-- should the page return.
CREATE TABLE left_pushes (
    page TEXT PRIMARY KEY,
    before BLOB NOT NULL, after BLOB NOT NULL, at INTEGER NOT NULL, again INTEGER NOT NULL
) WITHOUT ROWID;

-- Pages whose file may say something that the page does not: `diff` looks through these and no others. Which they are was not
-- written down before.
CREATE TABLE says_more (page TEXT PRIMARY KEY) WITHOUT ROWID;

-- Creations of every kind in one table: what is asked for as JSON, and what is known of its outcome.
CREATE TABLE creations (
    kind TEXT NOT NULL, name TEXT NOT NULL, draft TEXT NOT NULL,
    asked_at INTEGER NOT NULL, lost_at INTEGER, looks INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;

-- A row that is longer than a quarter of a page takes a page of its own in a table without a rowid, beside its key's: read with
-- each scan, and given back and taken anew with each write. With a rowid the row is in one piece, and is changed in place.
CREATE TABLE pages (
    id TEXT NOT NULL PRIMARY KEY, workspace TEXT NOT NULL,
    remote_parent TEXT, remote_title TEXT NOT NULL, remote_icon TEXT, remote_position REAL NOT NULL,
    remote_presence INTEGER NOT NULL, remote_body BLOB,
    base_parent TEXT, base_title TEXT, base_icon TEXT, base_body BLOB, base_text BLOB, base_front_title TEXT,
    base_path TEXT, base_folder_at TEXT,
    file TEXT, missing_since INTEGER, missing_from TEXT, stem TEXT, approved INTEGER NOT NULL, first_seen INTEGER NOT NULL,
    poll_last INTEGER NOT NULL, poll_life INTEGER NOT NULL, poll_changes REAL NOT NULL,
    poll_changes_at INTEGER NOT NULL, poll_gap INTEGER NOT NULL,
    parked_why TEXT, parked_local BLOB, parked_remote BLOB,
    push_before BLOB, push_after BLOB, push_at INTEGER, push_again INTEGER, parked_kind TEXT, parked_class TEXT, parked_since INTEGER
);
CREATE TRIGGER pages_are_found BEFORE INSERT ON pages WHEN NOT EXISTS (
    SELECT 1 FROM pages AS was WHERE was.id = new.id
        AND (was.workspace, was.file, was.remote_title, was.remote_presence, was.base_body, was.base_text)
        IS (new.workspace, new.file, new.remote_title, new.remote_presence, new.base_body, new.base_text)
) BEGIN
    INSERT OR REPLACE INTO meta VALUES ('searchable', hex(randomblob(16)));
END;
CREATE TRIGGER pages_are_gone AFTER DELETE ON pages BEGIN
    INSERT OR REPLACE INTO meta VALUES ('searchable', hex(randomblob(16)));
END;

CREATE TABLE files (
    path TEXT NOT NULL PRIMARY KEY, page TEXT,
    device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
    changed INTEGER NOT NULL, born INTEGER NOT NULL,
    hash BLOB, claims TEXT, disowned TEXT, front_title TEXT, problem TEXT, racy INTEGER NOT NULL, problem_with TEXT
);
CREATE TRIGGER files_are_found BEFORE INSERT ON files WHEN NOT EXISTS (
    SELECT 1 FROM files AS was WHERE was.path = new.path
        AND (was.page, was.hash, was.front_title)
        IS (new.page, new.hash, new.front_title)
) BEGIN
    INSERT OR REPLACE INTO meta VALUES ('searchable', hex(randomblob(16)));
END;
CREATE TRIGGER files_are_gone AFTER DELETE ON files BEGIN
    INSERT OR REPLACE INTO meta VALUES ('searchable', hex(randomblob(16)));
END;

INSERT INTO meta VALUES ('history_bytes', '0');

-- The items of all kinds, as JSON, with the columns that programs need which only read the state; and the acts that are not known
-- to be done.
CREATE TABLE items (
    key INTEGER PRIMARY KEY, json TEXT NOT NULL,
    kind TEXT AS (lower(json ->> '$.kind')), parent INTEGER AS (json ->> '$.parent'), id TEXT AS (json ->> '$.remote.id'), area TEXT AS (json ->> '$.area'),
    name TEXT AS (json ->> '$.remote.name'), presence TEXT AS (json ->> '$.remote.presence'),
    remote TEXT AS (json ->> '$.remote.content'), poll TEXT AS (json ->> '$.remote.poll'),
    base TEXT AS (json ->> '$.base.content'), base_text TEXT AS (json ->> '$.base.text'),
    file TEXT AS (json ->> '$.local.Here.path'), hash TEXT AS (json ->> '$.local.Here.hash'),
    stamp TEXT AS (json ->> '$.local.Here.stamp'), problem TEXT AS (json ->> '$.local.Here.problem'),
    missing TEXT AS (json ->> '$.local.Gone.last.path')
);
-- Most items are files. What asks for the others does not read those.
CREATE INDEX items_by_kind ON items (kind);
CREATE TRIGGER items_are_found BEFORE INSERT ON items WHEN NOT EXISTS (
    SELECT 1 FROM items AS was WHERE was.key = new.key
        AND (was.id, was.area, was.name, was.presence, was.base, was.base_text, was.file, was.hash)
        IS (new.id, new.area, new.name, new.presence, new.base, new.base_text, new.file, new.hash)
) BEGIN
    INSERT OR REPLACE INTO meta VALUES ('searchable', hex(randomblob(16)));
END;
CREATE TRIGGER items_are_gone AFTER DELETE ON items BEGIN
    INSERT OR REPLACE INTO meta VALUES ('searchable', hex(randomblob(16)));
END;
CREATE TABLE journal (key INTEGER PRIMARY KEY, json TEXT NOT NULL);
