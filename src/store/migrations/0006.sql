-- Why a file cannot be sent is a value: its kind, and what goes with it. Sentences of earlier versions say which kind they
-- are, this once; what they do not say so stays as it was worded.
ALTER TABLE files ADD COLUMN problem_with TEXT;
UPDATE files SET problem_with = CASE
    WHEN problem LIKE '% is never closed, and all that follows is inside it' AND problem LIKE 'the % in line %' THEN
        CAST(substr(problem, instr(problem, ' in line ') + 9) AS INTEGER) || ' '
            || substr(problem, 5, instr(problem, ' in line ') - 5)
    WHEN problem LIKE 'the front matter is broken in line %: %' THEN
        CAST(substr(problem, length('the front matter is broken in line ') + 1) AS INTEGER) || ' '
            || substr(problem, instr(problem, ': ') + 2)
    WHEN problem LIKE 'it names the page of %, which cannot be read' THEN
        substr(problem, length('it names the page of ') + 1,
            length(problem) - length('it names the page of ') - length(', which cannot be read'))
    WHEN problem IN ('it is empty now, and its page is not', 'it is not UTF-8 text') THEN ''
    ELSE problem END,
problem = CASE
    WHEN problem = 'it is empty now, and its page is not' THEN 'emptied'
    WHEN problem = 'it is not UTF-8 text' THEN 'not-text'
    WHEN problem LIKE '% is never closed, and all that follows is inside it' AND problem LIKE 'the % in line %' THEN 'unclosed'
    WHEN problem LIKE 'the front matter is broken in line %: %' THEN 'front-matter'
    WHEN problem LIKE 'it names the page of %, which cannot be read' THEN 'hidden-claim'
    ELSE 'legacy' END
WHERE problem IS NOT NULL;
ALTER TABLE board_files ADD COLUMN problem_with TEXT;
UPDATE board_files SET problem_with = CASE
    WHEN problem LIKE 'it holds the nodes of another canvas and none of its own; %' THEN ''
    WHEN problem LIKE 'it holds the nodes of % and none of its own; give each its own file back' THEN
        substr(problem, length('it holds the nodes of ') + 1, length(problem) - length('it holds the nodes of ')
            - length(' and none of its own; give each its own file back'))
    WHEN problem IN ('it is empty now, and its canvas is not', 'it is not UTF-8 text') THEN ''
    ELSE problem END,
problem = CASE
    WHEN problem = 'it is empty now, and its canvas is not' THEN 'emptied'
    WHEN problem = 'it is not UTF-8 text' THEN 'not-text'
    WHEN problem LIKE 'it holds the nodes of % and none of its own; give each its own file back' THEN 'others-nodes'
    WHEN problem LIKE 'a node has no id%' OR problem LIKE 'it is no valid JSON: %' OR problem LIKE 'it is no JSON Canvas: %'
        OR problem LIKE 'the node %' OR problem LIKE 'the new node %' THEN 'canvas'
    ELSE 'legacy' END
WHERE problem IS NOT NULL;
