-- The last push to a page that is known no more: an editor that was open before it can still put the old text back,
-- should the page return.
CREATE TABLE left_pushes (
    page TEXT PRIMARY KEY,
    before BLOB NOT NULL, after BLOB NOT NULL, at INTEGER NOT NULL, again INTEGER NOT NULL
) WITHOUT ROWID;
