-- The last acts on a page are looked at with each save of its file.
CREATE INDEX IF NOT EXISTS history_acts_page ON history_acts (page, number);
