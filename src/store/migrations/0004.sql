-- What a page waits for is a value: its kind, and for what the service refused the class and the time. Sentences of earlier
-- versions say which kind they are, this once.
ALTER TABLE pages ADD COLUMN parked_kind TEXT;
ALTER TABLE pages ADD COLUMN parked_class TEXT;
ALTER TABLE pages ADD COLUMN parked_since INTEGER;
UPDATE pages SET parked_since = 0, parked_class = 'content', parked_kind = CASE
    WHEN parked_why LIKE 'its file went back to an earlier version%' THEN 'went-back'
    WHEN parked_why LIKE 'it would not load in the app: %' THEN 'unloadable'
    WHEN parked_local IS NULL AND parked_remote IS NULL THEN 'look'
    WHEN parked_local IS NULL THEN 'deletion'
    ELSE 'edit' END
WHERE parked_why IS NOT NULL;
UPDATE pages SET parked_why = substr(parked_why, length('it would not load in the app: ') + 1) WHERE parked_kind = 'unloadable';
