-- Creations of every kind in one table: what is asked for as JSON, and what is known of its outcome.
CREATE TABLE creations (
    kind TEXT NOT NULL, name TEXT NOT NULL, draft TEXT NOT NULL,
    asked_at INTEGER NOT NULL, lost_at INTEGER, looks INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;

INSERT INTO creations SELECT 'page', path,
    json_object('path', path, 'workspace', workspace, 'parent', parent, 'title', title, 'stamp',
        CASE WHEN device IS NULL THEN NULL ELSE json_array(device, inode, size, modified, changed, born) END),
    asked_at, lost_at, looks
FROM intents;

-- Version 1 kept no name for what is made of a file or a folder: it is theirs.
UPDATE board_intents SET node = substr(path, length(rtrim(path, replace(path, '/', ''))) + 1)
WHERE node IS NULL AND kind = 'deck';
UPDATE board_intents
SET node = substr(path, length(rtrim(path, replace(path, '/', ''))) + 1, length(path) - length(rtrim(path, replace(path, '/', ''))) - 7)
WHERE node IS NULL AND kind = 'board';

INSERT INTO creations SELECT 'canvas', name,
    json_object('item', json_object(kind, CASE kind
        WHEN 'board' THEN json_array(workspace, path, node)
        WHEN 'deck' THEN json_array(path, node)
        WHEN 'slide' THEN json_array(deck, path)
        ELSE json_array(CASE deck WHEN '' THEN json_object('board', own) ELSE json_object('slide', json_array(deck, own)) END,
            node, json(fields)) END),
        'before', json(before)),
    asked_at, CASE WHEN lost IS NULL THEN NULL ELSE asked_at END, ifnull(lost, 0)
FROM board_intents;

INSERT INTO creations SELECT 'file', path,
    json_object('path', path, 'folder', folder, 'filename', filename, 'size', size, 'hash', lower(hex(hash)),
        'stamp', json_array(device, inode, stamp_size, modified, changed, born), 'replaces', replaces),
    asked_at, lost_at, 0
FROM storage_uploads;

DROP TABLE intents;
DROP TABLE board_intents;
DROP TABLE storage_uploads;

-- Why a local file is not sent is a value; of what was written before, the sentence is all there is.
UPDATE storage_local SET why = CASE why WHEN '' THEN 'null' ELSE json_object('Legacy', why) END;
