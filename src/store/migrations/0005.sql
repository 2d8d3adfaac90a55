-- What concerns the user has a code; '' is what an earlier version wrote.
ALTER TABLE attention ADD COLUMN code TEXT NOT NULL DEFAULT '';
ALTER TABLE notices ADD COLUMN code TEXT NOT NULL DEFAULT '';
