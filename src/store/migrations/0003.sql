-- An upload in doubt is followed by the file that it was read from.
ALTER TABLE storage_uploads ADD COLUMN device INTEGER NOT NULL DEFAULT 0;
ALTER TABLE storage_uploads ADD COLUMN inode INTEGER NOT NULL DEFAULT 0;
ALTER TABLE storage_uploads ADD COLUMN stamp_size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE storage_uploads ADD COLUMN modified INTEGER NOT NULL DEFAULT 0;
ALTER TABLE storage_uploads ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE storage_uploads ADD COLUMN born INTEGER NOT NULL DEFAULT 0;

-- Local files that came back with an older copy of the folder, and when each had last changed. While that is so they are not sent.
CREATE TABLE storage_returned (path TEXT PRIMARY KEY, changed INTEGER NOT NULL) WITHOUT ROWID;
