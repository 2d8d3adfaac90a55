-- A base that was recorded within a coarse time step of the last change is compared by its bytes, after a restart too.
ALTER TABLE storage_files ADD COLUMN racy INTEGER NOT NULL DEFAULT 0;
