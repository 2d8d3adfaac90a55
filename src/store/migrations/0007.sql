-- Pages whose file may say something that the page does not: `diff` looks through these and no others. Which they are was not
-- written down before.
CREATE TABLE says_more (page TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO says_more SELECT id FROM pages;
