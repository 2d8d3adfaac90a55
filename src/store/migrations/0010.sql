-- A row that is longer than a quarter of a page takes a page of its own in a table without a rowid, beside its key's: read with
-- each scan, and given back and taken anew with each write. With a rowid the row is in one piece, and is changed in place.
CREATE TABLE pages_anew (
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
INSERT INTO pages_anew SELECT * FROM pages ORDER BY id;
DROP TABLE pages;
ALTER TABLE pages_anew RENAME TO pages;
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

CREATE TABLE files_anew (
    path TEXT NOT NULL PRIMARY KEY, page TEXT,
    device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
    changed INTEGER NOT NULL, born INTEGER NOT NULL,
    hash BLOB, claims TEXT, disowned TEXT, front_title TEXT, problem TEXT, racy INTEGER NOT NULL, problem_with TEXT
);
INSERT INTO files_anew SELECT * FROM files ORDER BY path;
DROP TABLE files;
ALTER TABLE files_anew RENAME TO files;
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

CREATE TABLE storage_files_anew (
    id TEXT NOT NULL PRIMARY KEY, folder TEXT, attachment TEXT NOT NULL, filename TEXT NOT NULL, size INTEGER NOT NULL,
    position REAL NOT NULL, seen INTEGER NOT NULL, seen_at INTEGER NOT NULL, stem TEXT, replaced_by TEXT,
    approved INTEGER NOT NULL,
    base_attachment TEXT, base_size INTEGER, base_hash BLOB, base_path TEXT,
    device INTEGER, inode INTEGER, stamp_size INTEGER, modified INTEGER, changed INTEGER, born INTEGER,
    rest TEXT, racy INTEGER NOT NULL DEFAULT 0
);
INSERT INTO storage_files_anew SELECT * FROM storage_files ORDER BY id;
DROP TABLE storage_files;
ALTER TABLE storage_files_anew RENAME TO storage_files;
CREATE TRIGGER storage_files_are_found BEFORE INSERT ON storage_files WHEN NOT EXISTS (
    SELECT 1 FROM storage_files AS was WHERE was.id = new.id
        AND (was.filename, was.base_path, was.replaced_by, was.seen)
        IS (new.filename, new.base_path, new.replaced_by, new.seen)
) BEGIN
    INSERT OR REPLACE INTO meta VALUES ('searchable', hex(randomblob(16)));
END;
CREATE TRIGGER storage_files_are_gone AFTER DELETE ON storage_files BEGIN
    INSERT OR REPLACE INTO meta VALUES ('searchable', hex(randomblob(16)));
END;
