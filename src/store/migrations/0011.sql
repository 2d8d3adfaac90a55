-- The size of the history is counted with each content. The index for its sum was one to three pages more to write with each
-- version of a page.
INSERT OR REPLACE INTO meta SELECT 'history_bytes', coalesce(sum(length(bytes)), 0) FROM history_contents;
DROP INDEX history_by_size;
CREATE TRIGGER history_grows AFTER INSERT ON history_contents BEGIN
    UPDATE meta SET value = value + length(new.bytes) WHERE key = 'history_bytes';
END;
CREATE TRIGGER history_shrinks AFTER DELETE ON history_contents BEGIN
    UPDATE meta SET value = value - length(old.bytes) WHERE key = 'history_bytes';
END;
